"""Searches between two points: for roots, for the least share that passes, for the smallest level.

A level search ends between a level that provably misses what is asked and one that reaches it: what
is designed at a level, and what is asked, is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import LevelError
from .exact import LARGEST_LEVEL
from .progress import counter

Vector = NDArray[np.float64]
Found = TypeVar("Found")

# Steps after which a bracket is narrowed no further; bisection alone takes 52.
_STEPS = 80


def crossings(
    function: Callable[[Vector, NDArray[np.intp]], Vector],
    inside: Vector,
    outside: Vector,
    tolerance: float = 1e-9,
) -> Vector:
    """Where each of K functions leaves what is at least zero, from inside to outside.

    Inverse quadratic interpolation where that is safe, else bisection [Chandrupatla1997]. The
    functions need not be continuous: what comes back lies within the tolerance of a place where the
    sign changes.

    Parameters
    ----------
    function : values at points ``(J,)`` of the functions at positions ``(J,)``
    inside, outside : ``(K,)`` points; a function that is not below zero outside has that as its end
    tolerance : of a root, relative to the distance of the two points
    """
    a, b = outside.astype(float), inside.astype(float)
    places = np.arange(len(a))
    fa, fb = function(a, places), function(b, places)
    found = np.where(fa >= 0, a, b)
    places = np.flatnonzero((fa < 0) & (fb >= 0) & (a != b))
    a, b, fa, fb = a[places], b[places], fa[places], fb[places]
    width = np.abs(b - a)
    t = np.full(len(places), 0.5)
    for _ in range(_STEPS):
        if not places.size:
            break
        x = a + t * (b - a)
        fx = function(x, places)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        near = np.abs(fa) < np.abs(fb)
        best = np.where(near, a, b)
        limit = tolerance * width / np.maximum(np.abs(b - a), np.finfo(float).tiny)
        done = (limit > 0.5) | (fx == 0)
        found[places[done]] = best[done]
        with np.errstate(divide="ignore", invalid="ignore"):
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            smooth = (1 - np.sqrt(1 - xi) < phi) & (phi < np.sqrt(xi))
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
                fc - fb
            )
        t = np.where(smooth & np.isfinite(step), step, 0.5)
        t = np.clip(t, np.minimum(limit, 0.5), 1 - np.minimum(limit, 0.5))
        keep = ~done
        places, width, t = places[keep], width[keep], t[keep]
        a, b, c, fa, fb, fc = a[keep], b[keep], c[keep], fa[keep], fb[keep], fc[keep]
    found[places] = a
    return found


def least_passing(
    passes: Callable[[float], Found | None],
    least: float,
    growth: float,
    narrowings: int,
    enough: float = 0.0,
) -> tuple[float, Found] | None:
    """About the least share up to one that passes, and what it gives; ``None`` where none does.

    Parameters
    ----------
    passes : what a share gives, ``None`` where it does not pass
    least : the share that is tried first
    growth : by how much the next one is larger
    narrowings : how often the one that passes is narrowed, as long as it is above ``enough``
    """
    share, found = least, passes(least)
    while found is None:
        if share >= 1:
            return None
        share = min(growth * share, 1.0)
        found = passes(share)
    low = share / growth
    for _ in range(narrowings):
        if share <= enough:
            break
        middle = math.sqrt(low * share)
        tried = passes(middle)
        if tried is None:
            low = middle
        else:
            share, found = middle, tried
    return share, found


# Evaluations of one search; what points are relative to where they are smaller; how far a secant
# may lead; the first step back from just above, in units of the precision, and by how much others
# are longer.
_EVALUATIONS, _SMALL, _FAR, _BACK, _LONGER = 60, 1e-3, 4.0, 0.9, 16.0


def narrowed(
    below: Callable[[float], float | None],
    low: float,
    value: float,
    slope: float,
    most: float,
    precision: float,
) -> tuple[float, float | None]:
    """Two points around where a function that rises ceases to be below zero; ``most`` and ``None``
    where it is below zero up to there.

    A tangent and then secants through the last two points below lead to just above where they reach
    zero, and longer and longer steps back end below. Where a secant does not lead between the two
    points, one halves.

    Parameters
    ----------
    below : its value below zero, ``None`` at all other points
    low, value, slope : a point below, its value, and about how fast that rises
    precision : relative to the points
    """
    high, back = math.inf, math.inf
    for _ in range(_EVALUATIONS):
        room = precision * max(low, _SMALL)
        if high - low <= room:
            break
        root = low - value / slope + room / 2 if slope > 0 else math.inf
        tried = (low + high) / 2
        if high == math.inf:
            tried = min(root, max(low + 1, _FAR * low), most)
        elif low < root < high:
            tried = root
        elif back < math.inf:
            tried = max(high - back * room, tried)
        found = below(tried)
        if found is None:
            high, back = tried, _BACK if tried == root else _LONGER * back
        else:
            slope, back = (found - value) / (tried - low), math.inf
            low, value = tried, found
            if low >= most:
                return low, None
    return low, high


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
        self._advance: Callable[[int], None] = lambda _: None
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
        return (None, high) if low is None else self.between(low, high, precision)

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

    def between(self, low: Known, high: Known, precision: float) -> tuple[Known, Known]:
        """The two narrowed, from one that misses what is asked and one that reaches it."""
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
