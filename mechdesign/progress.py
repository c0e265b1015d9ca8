"""A progress bar on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def track(items: Sequence[T] | Iterable[T], label: str, *, show: bool) -> Iterator[T]:
    """The items one by one, with a bar that shows how many are done if ``show`` is set."""
    if not show:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=label, console=Console(stderr=True), transient=True)


@contextmanager
def counter(total: int | None, label: str, *, show: bool) -> Iterator[Callable[[int], None]]:
    """A bar that is told how much more is done; ``total`` may be unknown."""
    if not show:
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda amount: bar.advance(task, amount)
