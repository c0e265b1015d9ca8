"""Exact pricing by halves: all sets of up to some forty symbols, as pairs of two halves' sets.

The symbols are dealt into two halves, and the sets of each half are listed with their masses. A
column is a pair of lists' entries; what depends on the joint mass P is bounded by a line on each of
a few intervals of P, which makes the bound a sum of one term from each half. The best partner
within an interval is then a range maximum over the sorted list, and only pairs whose bound exceeds
the floor are looked at one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .branching import Budget

Vector = NDArray[np.float64]

#: Longest list of one half.
LONGEST = 1 << 17
_CELLS = 8
_PAIRS = 200_000
_FINEST = 1e-9
_TINY = 1e-14


class Curved(ABC):
    """What a column is worth beyond the sum over its raised symbols, by their mass."""

    #: Range of the mass P of the raised symbols.
    start: float
    end: float
    #: Position among the items that must not be raised, or −1.
    without: int

    @abstractmethod
    def exact(self, mass: Vector) -> Vector:
        """The function itself."""

    @abstractmethod
    def line(self, start: float, end: float) -> tuple[float, float]:
        """Slope and offset of a line above the function on an interval."""


@dataclass(frozen=True)
class Pick:
    """A set met: raised items, their joint mass, its worth, and which function it is for."""

    raised: NDArray[np.bool_]
    mass: float
    value: float
    curved: int


class Halves:
    """Both lists for given item masses; made once and searched for many prices."""

    def __init__(self, masses: Vector, most: float, longest: int = LONGEST) -> None:
        """``most`` is the largest joint mass of interest; ``is_short`` says whether lists fit."""
        self.masses = masses
        order = np.argsort(-masses, kind="stable")
        self.sides = (order[::2], order[1::2])
        self.lists: list[tuple[Vector, NDArray[np.int64]]] = []
        for side in self.sides:
            found = _subsets(masses[side], most, longest)
            if found is None:
                break
            self.lists.append(found)
        self.is_short = len(self.lists) == 2
        if self.is_short:
            self.member = [
                ((keys[:, None] >> np.arange(len(side))) & 1).astype(float)
                for side, (_, keys) in zip(self.sides, self.lists, strict=True)
            ]

    def search(
        self,
        worth: Vector,
        curves: Sequence[Curved],
        floor: float,
        per_curve: int,
        budget: Budget,
    ) -> tuple[list[Pick], float, bool]:
        """Sets worth more than ``floor``; a proven upper bound; whether the search was complete.

        Parameters
        ----------
        worth : of raising each item
        curves : what to add for the joint mass; each is searched on its own
        per_curve : sets to bring back for each
        """
        fill = Knapsack(self.masses, worth)
        sums = [m @ worth[side] for m, side in zip(self.member, self.sides, strict=True)]
        picks: list[Pick] = []
        upper = floor
        for number, curved in enumerate(curves):
            if budget.is_over:
                return picks, np.inf, False
            best, above = self._search_one(curved, fill, sums, floor, per_curve)
            upper = max(upper, above, *(value for value, *_ in best))
            for value, mass, left, right in best:
                raised = np.zeros(len(self.masses), bool)
                raised[self.sides[0]] = self.member[0][left] > 0
                raised[self.sides[1]] = self.member[1][right] > 0
                picks.append(Pick(raised, mass, value, number))
        return picks, upper, True

    def _search_one(
        self, curved: Curved, fill: Knapsack, sums: list[Vector], floor: float, wanted: int
    ) -> tuple[list[tuple[float, float, int, int]], float]:
        (mass_a, _), (mass_b, _) = self.lists
        allowed = [self._without(curved.without, side) for side in (0, 1)]
        rows = np.flatnonzero(allowed[0])
        mass_a, sum_a = mass_a[rows], sums[0][rows]
        cuts = np.linspace(curved.start, curved.end, _CELLS + 1)
        stack = list(pairwise(cuts))
        best: list[tuple[float, float, int, int]] = []
        upper, tiny = floor, _TINY * max(abs(curved.end), 1.0)
        while stack:
            start, end = stack.pop()
            slope, offset = curved.line(start, end)
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
            count = int((last - first)[live].sum())
            if count > _PAIRS:
                if end - start > _FINEST * max(abs(curved.end), 1e-300):
                    cuts = np.linspace(start, end, 5)
                    stack += list(pairwise(cuts))
                    continue
                # Very many sets of one mass: their best bound stands for all but the first few.
                live = live[np.argsort(-bound[live], kind="stable")]
                upper = max(upper, float(bound[live[0]]))
                live = live[np.cumsum((last - first)[live]) <= _PAIRS]
            width = (last - first)[live]
            left = np.repeat(live, width)
            within = np.arange(left.size) - np.repeat(np.cumsum(width) - width, width)
            right = first[left] + within
            near = own[left] + other[right] > floor
            left, right = left[near], right[near]
            mass = np.clip(mass_a[left] + mass_b[right], curved.start, curved.end)
            values = sum_a[left] + sums[1][right] + curved.exact(mass)
            good = np.flatnonzero(values > floor)
            good = good[np.argsort(-values[good], kind="stable")[:wanted]]
            best += [
                (float(values[i]), float(mass[i]), int(rows[left[i]]), int(right[i])) for i in good
            ]
        best.sort(key=lambda pick: -pick[0])
        return best[:wanted], upper

    def _without(self, item: int, side: int) -> NDArray[np.bool_]:
        place = np.flatnonzero(self.sides[side] == item)
        if not place.size:
            return np.ones(len(self.lists[side][0]), bool)
        return np.asarray(self.member[side][:, place[0]] == 0)


class Knapsack:
    """The relaxation in which items may be raised in part, by the mass raised."""

    def __init__(self, masses: Vector, worth: Vector) -> None:
        density = worth / masses
        order = np.argsort(-density, kind="stable")
        self.density = density[order]
        self.mass = np.concatenate([[0.0], np.cumsum(masses[order])])
        self.worth = np.concatenate([[0.0], np.cumsum(worth[order])])

    def most(self, slope: float, start: float, end: float) -> float:
        """Max over mass P in an interval of worth(P) + slope·P; −inf where it is out of reach."""
        start, end = max(start, 0.0), min(end, float(self.mass[-1]))
        if start > end + 1e-15:
            return -np.inf
        best = self.mass[np.searchsorted(-self.density, slope)]
        mass = min(max(float(best), start), end)
        return float(np.interp(mass, self.mass, self.worth)) + slope * mass


def _subsets(masses: Vector, most: float, longest: int) -> tuple[Vector, NDArray[np.int64]] | None:
    """Masses of all subsets up to ``most``, sorted, with their members as bits."""
    if len(masses) > 62:
        return None
    sums, keys = np.zeros(1), np.zeros(1, np.int64)
    for i, mass in enumerate(masses):
        fits = sums + mass <= most * (1 + 1e-12)
        sums = np.concatenate([sums, sums[fits] + mass])
        keys = np.concatenate([keys, keys[fits] | (1 << i)])
        if len(sums) > longest:
            return None
    order = np.argsort(sums, kind="stable")
    return sums[order], keys[order]


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
