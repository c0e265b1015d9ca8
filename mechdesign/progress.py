"""On standard error: how far work is, and how long it has taken where nobody can say how far."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

#: Seconds before anything is said.
PATIENCE = 2.0
# A gap that grows by so much is that of another search.
_ANEW = 10.0
# Gaps that are heard before anything is foretold.
_ENOUGH = 3

# The wait that is shown, of which searches speak, and how many bars have the line instead.
_waits: list[_Wait] = []
_bars = 0


class _Stage:
    """A part of the work: how much of it is done, and the seconds after which it ends."""

    def __init__(self, label: str, total: int | None, limit: float | None) -> None:
        self.label, self.total, self.limit = label, total, limit
        self.started, self.done = time.monotonic(), 0

    def remaining(self, now: float) -> float | None:
        """Seconds to its end, if what is left takes as long as what is done."""
        if self.total is None or not 0 < self.done < self.total:
            return None
        return max((now - self.started) * (self.total / self.done - 1), 1.0)

    def left(self, now: float) -> float | None:
        """Seconds that its limit leaves."""
        return None if self.limit is None else max(self.started + self.limit - now, 0.0)

    def text(self) -> str:
        """Its name, and the part of it that is done."""
        if not self.total:
            return self.label
        return f"{self.label} {min(self.done / self.total, 1):.0%}"


class _Wait:
    """How long a block has taken, how far its search is, and how long that may still take."""

    def __init__(self, label: str, limit: float | None) -> None:
        self.label, self.limit, self.started = label, limit, time.monotonic()
        self.heard: list[tuple[float, float]] = []
        self.wanted = 0.0
        self.stages: tuple[_Stage, ...] = ()  # each in the one before

    def hear(self, gap: float, wanted: float) -> None:
        """Note a gap that a search has reached, and the one at which it ends."""
        if not (math.isfinite(gap) and gap > 0 < wanted):
            return
        if self.heard and gap > _ANEW * self.heard[-1][1]:
            self.heard = []
        self.heard.append((time.monotonic(), gap))
        self.wanted = wanted

    def remaining(self, now: float) -> float | None:
        """Seconds to the wanted gap, if it falls by the same factor in the same time."""
        heard = self.heard  # another thread puts a new list in its place
        if len(heard) < _ENOUGH:
            return None
        (began, first), (last, gap) = heard[0], heard[-1]
        if not (self.wanted < gap < first and last > began):
            return None
        pace = math.log(first / gap) / (last - began)
        return max(math.log(gap / self.wanted) / pace - (now - last), 1.0)

    def text(self, now: float, columns: int) -> str:
        """One line of at most so many columns: what matters least is left out first."""
        parts = {0: f"{self.label}, {now - self.started:.0f} s", 3: " (Ctrl-C stops)"}
        stages = self.stages  # another thread puts others in their place
        left = self.remaining(now)
        if left is None and stages:
            left = stages[-1].remaining(now)
        ends = [math.inf if self.limit is None else self.started + self.limit - now]
        ends += [end for end in (one.left(now) for one in stages) if end is not None]
        if stages:
            parts[1] = f": {', '.join(one.text() for one in stages)}"
        if left is not None and left <= min(ends):
            parts[2] = f", about {_duration(left)} more"
        elif len(ends) > 1:
            parts[2] = f", ends within {_duration(min(ends))}"
        elif self.limit is not None:
            parts[2] = f", the search ends after {self.limit:g} s"
        shorter = {3: "", 1: f": {stages[-1].text()}" if stages else ""}
        for place, text in (*shorter.items(), (1, ""), (2, "")):
            if len("".join(parts.values())) > columns:
                parts[place] = text
        return "".join(parts[place] for place in sorted(parts))[:columns]


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@contextmanager
def stage(label: str, *, total: int | None = None, limit: float | None = None) -> Iterator[None]:
    """Tell who waits what the block does: a part of the work that :func:`waiting` is about.

    ``total`` is what :func:`advance` counts up to, ``limit`` the seconds after which the search in
    the block comes to its end. It costs next to nothing, and nobody hears it unless :func:`waiting`
    shows a line.
    """
    if not _waits:
        yield
        return
    wait = _waits[-1]
    before = wait.heard, wait.stages
    # A gap of another search says nothing about this one.
    wait.heard, wait.stages = [], (*wait.stages, _Stage(label, total, limit))
    try:
        yield
    finally:
        wait.heard, wait.stages = before


def advance(amount: int = 1) -> None:
    """Tell who waits that so much more of the present :func:`stage` is done."""
    if _waits and _waits[-1].stages:
        _waits[-1].stages[-1].done += amount


def approaching(gap: float, wanted: float) -> None:
    """Tell who waits that a search has this gap (or error), and ends at that one.

    It costs next to nothing, and nobody hears it unless :func:`waiting` shows a line.
    """
    if _waits:
        _waits[-1].hear(gap, wanted)


@contextmanager
def waiting(label: str, *, show: bool, limit: float | None = None) -> Iterator[None]:
    """Say every second how long the block has taken, in one line that goes when it ends.

    Nothing is said in the first two seconds, nor while a bar of :func:`counter` has the line, and
    nothing at all unless ``show`` is set. What searches tell by :func:`approaching` becomes an
    estimate of the time to come. ``limit`` are the seconds after which the search in the block
    comes to its end.
    """
    if not show:
        yield
        return
    stream, ended, wait = sys.stderr, threading.Event(), _Wait(label, limit)

    def speak() -> None:
        from shutil import get_terminal_size

        pause, written = PATIENCE, 0
        while not ended.wait(pause):
            if _bars:
                continue
            text = wait.text(time.monotonic(), get_terminal_size().columns - 1)
            stream.write("\r" + text.ljust(written) + "\r")
            stream.flush()
            pause, written = 1.0, len(text)
        if written:
            stream.write("\r" + " " * written + "\r")
            stream.flush()

    speaker = threading.Thread(target=speak, daemon=True)
    _waits.append(wait)
    speaker.start()
    try:
        yield
    finally:
        _waits.remove(wait)
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

    global _bars
    _bars += 1
    try:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda amount: bar.advance(task, amount)
    finally:
        _bars -= 1
