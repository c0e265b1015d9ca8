"""The smallest level that reaches what is asked, between one that provably misses it and one that
does not: what is designed at a level, and what is asked, is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..errors import LevelError
from ..exact import LARGEST_LEVEL
from ..progress import counter

# Levels are told apart down to this, whatever their size.
_CLOSEST = 1e-12
# Levels tried between the two, and on the way down to one that provably misses what is asked.
_MOST_STEPS, _MOST_HALVINGS = 200, 60
# Steps of the secant after which one halves the interval where it has shrunk by less than that.
_PATIENCE = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class Probe:
    """What is known at a level; nothing where it neither reaches what is asked nor misses it.

    Attributes
    ----------
    level : in nats
    reaches : a kernel that was found reaches what is asked
    misses : no kernel does, proved
    excess : by how much the kernel that was found is above what is asked, negative below, on a
        scale on which that grows about evenly with the level; ``None`` where that is not known
    """

    level: float
    reaches: bool = False
    misses: bool = False
    excess: float | None = None


Known = TypeVar("Known", bound=Probe)


class LevelSearch(Generic[Known]):
    """Levels that reach what is asked and levels that miss it, narrowed.

    Parameters
    ----------
    ask : function
        What is known at a level; raises :class:`LevelError` for one that the notion does not take.
    progress : bool
        Show the number of levels on standard error.

    Attributes
    ----------
    probes : what was found, in the order of asking
    """

    def __init__(self, ask: Callable[[float], Known], *, progress: bool = False) -> None:
        self._ask, self._progress = ask, progress
        self.probes: list[Known] = []

    def narrowed(self, precision: float) -> tuple[Known | None, Known]:
        """A level that misses what is asked and one that reaches it.

        They are no farther apart than ``precision`` times the second, but for levels that nothing
        is known at. The first is ``None`` where the smallest level reaches what is asked, the only
        one tried then, and where none is known to miss it. The second does not reach it where none
        does: it is the largest then.
        """
        with counter(None, "levels", show=self._progress) as self._advance:
            return self._narrowed(precision)

    def _narrowed(self, precision: float) -> tuple[Known | None, Known]:
        first = self._smallest()
        if first.reaches:
            return None, first
        high = self._reaching(max(first.level, 0.5))
        if not high.reaches:
            return None, high
        low, high = self._missing(high)
        return (None, high) if low is None else self._between(low, high, precision)

    def _probe(self, level: float) -> Known:
        found = self._ask(level)
        self._advance(1)
        self.probes.append(found)
        return found

    def _smallest(self) -> Known:
        """Level zero, or the smallest that the notion takes, as far as that is tried."""
        level = 0.0
        while True:
            try:
                return self._probe(level)
            except LevelError:
                if level > 1:
                    raise
            level = max(16 * level, 1e-9)

    def _reaching(self, level: float) -> Known:
        """A finite level that reaches what is asked, or the largest."""
        try:
            most = self._probe(math.inf)
        except LevelError:  # the notion takes finite levels alone
            most = None
        if most is not None and not most.reaches:
            return most
        while True:
            found = self._probe(level)
            if found.reaches or level >= LARGEST_LEVEL:
                return found
            level = min(2 * level, float(LARGEST_LEVEL))

    def _missing(self, high: Known) -> tuple[Known | None, Known]:
        """A level that provably misses what is asked, if need be below all that were tried."""
        missing = [probe for probe in self.probes if probe.misses]
        if missing:
            return max(missing, key=lambda probe: probe.level), high
        level = high.level
        for _ in range(_MOST_HALVINGS):
            level /= 2
            found = self._probe(level)
            if found.misses:
                return found, high
            if found.reaches:
                high = found
        return None, high

    def _between(self, low: Known, high: Known, precision: float) -> tuple[Known, Known]:
        weights, last = [1.0, 1.0], 0
        slow, width = 0, high.level - low.level
        for _ in range(_MOST_STEPS):
            room = max(precision * high.level, _CLOSEST)
            if high.level - low.level <= room:
                break
            between = self._undecided(low, high)
            if between:
                gaps = (min(between) - low.level, high.level - max(between))
                if max(gaps) <= room:
                    break
                level = low.level + gaps[0] / 2 if gaps[0] > gaps[1] else high.level - gaps[1] / 2
            else:
                level = _estimate(low, high, weights, room, halve=slow >= _PATIENCE)
            if not low.level < level < high.level:
                break
            found = self._probe(level)
            # An end that stays a second time loses half of its weight (Illinois).
            if found.reaches:
                high, weights = found, [weights[0] / 2 if last > 0 else 1.0, 1.0]
                last = 1
            elif found.misses:
                low, weights = found, [1.0, weights[1] / 2 if last < 0 else 1.0]
                last = -1
            now = high.level - low.level
            slow, width = (0, now) if now <= width / 2 else (slow + 1, width)
        return low, high

    def _undecided(self, low: Known, high: Known) -> list[float]:
        unknown = (probe.level for probe in self.probes if not (probe.reaches or probe.misses))
        return [level for level in unknown if low.level < level < high.level]


def _estimate(low: Probe, high: Probe, weights: list[float], room: float, *, halve: bool) -> float:
    """The next level: by the secant of excesses whose ends that stay lose weight, or the middle.

    At least half of the room from either end, so that the ends close in from both sides.
    """
    middle = (low.level + high.level) / 2
    if halve or low.excess is None or high.excess is None:
        return middle
    missing, spare = -weights[0] * low.excess, weights[1] * high.excess
    if not (missing > 0 and spare >= 0 and math.isfinite(missing + spare)):
        return middle
    level = low.level + (high.level - low.level) * missing / (missing + spare)
    near = min(room, high.level - low.level) / 2
    return min(max(level, low.level + near), high.level - near)
