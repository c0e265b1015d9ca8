"""On standard error: how far work is, and how long it has taken where nobody can say how far."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

#: Seconds before anything is said.
PATIENCE = 2.0


@contextmanager
def waiting(label: str, *, show: bool, limit: float | None = None) -> Iterator[None]:
    """Say every second how long the block has taken, in one line that goes when it ends.

    Nothing is said in the first two seconds, and nothing at all unless ``show`` is set. ``limit``
    are the seconds after which the search in the block comes to its end.
    """
    if not show:
        yield
        return
    stream, ended, start = sys.stderr, threading.Event(), time.monotonic()
    at_most = "" if limit is None else f", the search ends after {limit:g} s"

    def speak() -> None:
        pause, written = PATIENCE, 0
        while not ended.wait(pause):
            text = f"{label}, {time.monotonic() - start:.0f} s{at_most} (Ctrl-C stops)"
            stream.write("\r" + text.ljust(written) + "\r")
            stream.flush()
            pause, written = 1.0, len(text)
        if written:
            stream.write("\r" + " " * written + "\r")
            stream.flush()

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()


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
