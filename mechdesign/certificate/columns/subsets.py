"""Subsets of up to some forty symbols, by meeting in the middle ([HorowitzSahni1974]).

The symbols are dealt into two halves, and the subsets of each half are listed with their masses. A
column is a pair of entries of the lists; what depends on the joint mass P is bounded by a line on
each of a few intervals of P, which makes the bound a sum of one term from each half. The best
partner within an interval is then a range maximum over the sorted list, and only pairs whose bound
exceeds the floor are looked at one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .branch_and_bound import WorkLimit

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]
Keys = NDArray[np.int64]

# Longest list of one half.
_LONGEST = 1 << 17
_CELLS = 8
_PAIRS = 200_000
_FINEST = 1e-9
_TINY = 1e-14


class Remainder(ABC):
    """What a reduced value has beyond the sum over the symbols of a subset, by their mass.

    Attributes
    ----------
    start, end : range of the mass P of the subset
    without : position among the symbols of one that the subset must not hold, or −1
    """

    start: float
    end: float
    without: int

    @abstractmethod
    def exact(self, mass: Vector) -> Vector:
        """The function itself."""

    @abstractmethod
    def line(self, start: float, end: float) -> tuple[float, float]:
        """Slope and offset of a line above the function on an interval."""


@dataclass(frozen=True)
class Subset:
    """A subset met: its members, their joint mass, its value, and the remainder it is for."""

    members: Mask
    mass: float
    value: float
    remainder: int


class Halves:
    """Both lists for given masses of symbols; made once and searched at many prices.

    Attributes
    ----------
    sides : positions of the symbols in each half
    lists : for each half the masses of its subsets, ascending, and the subsets as bits of integers
    is_short : whether the lists fit; without lists there is nothing to search
    """

    def __init__(self, masses: Vector, most: float) -> None:
        """``most`` is the largest joint mass of interest."""
        self.masses = masses
        order = np.argsort(-masses, kind="stable")
        self.sides = (order[::2], order[1::2])
        self.lists: list[tuple[Vector, Keys]] = []
        for side in self.sides:
            found = _subsets(masses[side], most)
            if found is None:
                break
            self.lists.append(found)
        self.is_short = len(self.lists) == 2

    @cached_property
    def tables(self) -> list[Vector]:
        """The subsets of each half as rows of 0 and 1."""
        return [
            _members(keys, len(side)).astype(float)
            for side, (_, keys) in zip(self.sides, self.lists, strict=True)
        ]

    def search(
        self,
        values: Vector,
        remainders: Sequence[Remainder],
        floor: float,
        wanted: int,
        limit: WorkLimit,
    ) -> tuple[list[Subset], float, bool]:
        """Subsets above ``floor``; a proven upper bound; whether the search was complete.

        Parameters
        ----------
        values : of each symbol in the subset
        remainders : what to add for the joint mass; each is searched on its own
        wanted : subsets to bring back for each
        """
        fill = _Knapsack(self.masses, values)
        sums = [table @ values[side] for side, table in zip(self.sides, self.tables, strict=True)]
        found: list[Subset] = []
        upper = floor
        for number, remainder in enumerate(remainders):
            if limit.is_over:
                return found, np.inf, False
            best, above = self._search_one(remainder, fill, sums, floor, wanted)
            upper = max(upper, above, *(value for value, *_ in best))
            for value, mass, *pair in best:
                members = np.zeros(len(self.masses), bool)
                for side, table, row in zip(self.sides, self.tables, pair, strict=True):
                    members[side] = table[row] > 0
                found.append(Subset(members, mass, value, number))
        return found, upper, True

    def _search_one(
        self, remainder: Remainder, fill: _Knapsack, sums: list[Vector], floor: float, wanted: int
    ) -> tuple[list[tuple[float, float, int, int]], float]:
        (mass_a, _), (mass_b, _) = self.lists
        allowed = [self._without(remainder.without, side) for side in (0, 1)]
        rows = np.flatnonzero(allowed[0])
        mass_a, sum_a = mass_a[rows], sums[0][rows]
        cuts = np.linspace(remainder.start, remainder.end, _CELLS + 1)
        stack = list(pairwise(cuts))
        best: list[tuple[float, float, int, int]] = []
        upper, tiny = floor, _TINY * max(abs(remainder.end), 1.0)
        while stack:
            start, end = stack.pop()
            slope, offset = remainder.line(start, end)
            if fill.most(slope, start, end) + offset <= floor:
                continue
            own = sum_a + slope * mass_a + offset
            other = np.where(allowed[1], sums[1] + slope * mass_b, -np.inf)
            first = np.searchsorted(mass_b, start - mass_a - tiny, "left")
            last = np.searchsorted(mass_b, end - mass_a + tiny, "right")
            bound = own + _range_maxima(other, first, last)
            live = np.flatnonzero(bound > floor)
            if not live.size:
                continue
            if int((last - first)[live].sum()) > _PAIRS:
                if end - start > _FINEST * max(abs(remainder.end), 1e-300):
                    stack += list(pairwise(np.linspace(start, end, 5)))
                    continue
                # Very many subsets of one mass: their best bound stands for all but the first few.
                live = live[np.argsort(-bound[live], kind="stable")]
                upper = max(upper, float(bound[live[0]]))
                live = live[np.cumsum((last - first)[live]) <= _PAIRS]
            width = (last - first)[live]
            left = np.repeat(live, width)
            within = np.arange(left.size) - np.repeat(np.cumsum(width) - width, width)
            right = first[left] + within
            near = own[left] + other[right] > floor
            left, right = left[near], right[near]
            mass = np.clip(mass_a[left] + mass_b[right], remainder.start, remainder.end)
            values = sum_a[left] + sums[1][right] + remainder.exact(mass)
            good = np.flatnonzero(values > floor)
            good = good[np.argsort(-values[good], kind="stable")[:wanted]]
            best += [
                (float(values[i]), float(mass[i]), int(rows[left[i]]), int(right[i])) for i in good
            ]
        best.sort(key=lambda found: -found[0])
        return best[:wanted], upper

    def _without(self, symbol: int, side: int) -> Mask:
        place = np.flatnonzero(self.sides[side] == symbol)
        if not place.size:
            return np.ones(len(self.lists[side][0]), bool)
        return np.asarray(self.tables[side][:, place[0]] == 0)

    def nearest(self, target: float, count: int) -> list[tuple[Mask, float]]:
        """Members of the subsets whose mass comes nearest to a target from below, and what is
        missing.
        """
        (left, first), (right, second) = self.lists
        place = np.searchsorted(right, target - left, "right") - 1
        missing = np.where(place >= 0, target - left - right[np.maximum(place, 0)], np.inf)
        found = []
        for i in np.argsort(missing, kind="stable")[:count]:
            if np.isfinite(missing[i]):
                members = np.zeros(len(self.masses), bool)
                members[self.sides[0]] = _members(first[i], len(self.sides[0]))
                members[self.sides[1]] = _members(second[place[i]], len(self.sides[1]))
                found.append((members, max(float(missing[i]), 0.0)))
        return found


class _Knapsack:
    """The relaxation in which symbols may be in the subset in part, by its mass."""

    def __init__(self, masses: Vector, values: Vector) -> None:
        density = values / masses
        order = np.argsort(-density, kind="stable")
        self.density = density[order]
        self.mass = np.concatenate([[0.0], np.cumsum(masses[order])])
        self.value = np.concatenate([[0.0], np.cumsum(values[order])])

    def most(self, slope: float, start: float, end: float) -> float:
        """Max over mass P in an interval of value(P) + slope·P; −inf where it is out of reach."""
        start, end = max(start, 0.0), min(end, float(self.mass[-1]))
        if start > end + 1e-15:
            return -np.inf
        best = self.mass[np.searchsorted(-self.density, slope)]
        mass = min(max(float(best), start), end)
        return float(np.interp(mass, self.mass, self.value)) + slope * mass


def _subsets(masses: Vector, most: float) -> tuple[Vector, Keys] | None:
    """Masses of all subsets up to ``most``, ascending, and their members as bits."""
    if len(masses) > 62:
        return None
    sums, keys = np.zeros(1), np.zeros(1, np.int64)
    for i, mass in enumerate(masses):
        fits = sums + mass <= most * (1 + 1e-12)
        sums = np.concatenate([sums, sums[fits] + mass])
        keys = np.concatenate([keys, keys[fits] | (1 << i)])
        if len(sums) > _LONGEST:
            return None
    order = np.argsort(sums, kind="stable")
    return sums[order], keys[order]


def _members(keys: Keys, count: int) -> Mask:
    """Bits of integers ``(…,)``, ``(…, count)``."""
    return np.asarray((keys[..., None] >> np.arange(count)) & 1, dtype=bool)


def _range_maxima(values: Vector, first: NDArray[np.intp], last: NDArray[np.intp]) -> Vector:
    """max(values[first:last]) for each pair, −inf where empty: a sparse table, level by level."""
    found = np.full(len(first), -np.inf)
    width = last - first
    level = np.zeros(len(first), int)
    filled = width > 0
    level[filled] = np.frexp(width[filled].astype(float))[1] - 1
    table = values
    top = int(level.max(initial=0))
    for step in range(top + 1):
        here = np.flatnonzero(filled & (level == step))
        if here.size:
            found[here] = np.maximum(table[first[here]], table[last[here] - (1 << step)])
        if step < top:
            table = np.maximum(table[: len(table) - (1 << step)], table[(1 << step) :])
    return found
