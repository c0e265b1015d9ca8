"""A progress bar on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def track(steps: Iterable[T], label: str, *, show: bool) -> Iterator[T]:
    """The steps one by one, with a bar that shows how many are done if ``show`` is set."""
    total = len(steps) if isinstance(steps, Sized) else None
    with counter(total, label, show=show) as advance:
        for step in steps:
            yield step
            advance(1)


@contextmanager
def counter(total: int | None, label: str, *, show: bool) -> Iterator[Callable[[int], None]]:
    """A function to call with how much more is done; a bar shows it if ``show`` is set.

    ``total`` may be unknown.
    """
    if not show:
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda amount: bar.advance(task, amount)
