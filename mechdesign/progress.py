"""A progress bar on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
