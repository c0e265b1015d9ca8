"""Pricing: the columns of the largest reduced value F(d) − ⟨prices, d⟩, or proof that none exceeds
a level.

Branch and bound within a small limit finds improving columns fast. Where it does not end, meeting
in the middle decides exactly if its lists are short enough; else perturbed orders of the symbols
give more columns, and branch and bound goes on for as long as the time allows. What each of
these buys is measured by ``python -m benchmarks ablation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .branch_and_bound import Found, LiftSearch, StaircaseSearch, WorkLimit, make_search
from .families import Columns, Family, LiftFamily
from .subsets import Halves, Remainder

Vector = NDArray[np.float64]
Places = NDArray[np.intp]

_QUICK = 30_000
# Nodes for a symbol where there are so few that their columns could be listed instead.
_QUICK_EACH = 500
_PER_REMAINDER = 6
_SEED = 7
# Share of a mass that is rounding of its sum.
_ROUNDING = 1e-14
# Symbols that a column is completed from, and columns from each choice.
_CHOICE, _PER_CHOICE = 26, 3
_PER_SYMBOL, _MOST_ORDERS = 5, 2000
# How often a symbol that takes up most of the mass is tried at its upper bound.
_WITH_LARGE = 0.2


@dataclass(frozen=True)
class Techniques:
    """What is used beside branch and bound.

    Attributes
    ----------
    halves : meeting in the middle, where its lists are short enough
    perturbed : columns from perturbed orders of the symbols, where they are not
    fitted : first columns that are fitted to the mass which the best columns take
    """

    halves: bool = True
    perturbed: bool = True
    fitted: bool = True


class Heuristics:
    """Columns found without proof.

    At equal prices the best columns are those whose symbols at the upper lift bound have just the
    right mass, and meeting in the middle comes very near to it. For priors without large atoms such
    columns alone often reach what no column can exceed.
    """

    def __init__(self, family: Family) -> None:
        self.family, self.units, self.target = family, family.units, family.target
        self.rng = np.random.default_rng(_SEED)
        symbols = family.groups.symbols
        self.symbols = symbols[self.units[symbols] <= self.target * (1 + 1e-12)]

    def runs(self) -> Columns:
        """From each symbol on, in a few orders, symbols at the upper bound while there is mass.

        Staircases have no symbol between its bounds: the last one is at either, both are taken.
        """
        symbols = self.family.groups.symbols
        n, start = len(symbols), np.arange(len(symbols))
        parts = []
        for order in (symbols, symbols[::-1], self.rng.permutation(symbols)):
            ends = np.concatenate([[0.0], np.cumsum(np.tile(self.units[order], 2))])
            end = np.searchsorted(ends, ends[start] + self.target, "right") - 1
            end = np.minimum(end, start + n - 1)
            runs = [order[np.arange(a, b) % n] for a, b in zip(start, end, strict=True)]
            counts, last = np.array([self.counts(run) for run in runs]), order[end % n]
            if isinstance(self.family, LiftFamily):
                left = np.maximum(ends[start] + self.target - ends[end], 0.0)
                parts.append(Columns(counts, last, left))
            else:
                groups = np.arange(len(self.units))
                parts += [Columns.whole(counts), Columns.whole(counts + (groups == last[:, None]))]
        return Columns.join(parts)

    def fitted(self) -> Columns:
        """Runs of random orders, their far ends made to fit the mass.

        The runs of one order follow each other around the circle, so that together they have every
        symbol at its upper bound about as often as they must.
        """
        found: list[Columns] = []
        for _ in range(_MOST_ORDERS if len(self.units) >= 3 and len(self.symbols) >= 2 else 0):
            order = self.rng.permutation(self._without_some())
            for surely, choice in _around(self.units[order], self.target):
                found.append(self.completed(order[surely], order[choice], self.target))
            if sum(map(len, found)) >= _PER_SYMBOL * len(self.family.groups.symbols):
                break
        return Columns.join([self._none, *found])

    def perturbed(self, density: Vector, count: int) -> Columns:
        """Columns of the right mass with symbols of nearly the largest reduced value.

        Parameters
        ----------
        density : reduced value per mass of each group, ``(G,)``
        count : how many perturbed orders to try
        """
        spread = float(np.std(density))
        found = []
        for _ in range(count):
            some = self._without_some()
            noise = spread * 10 ** self.rng.uniform(-2, 0.3) * self.rng.normal(size=len(some))
            order = some[np.argsort(-(density[some] + noise), kind="stable")]
            end = int(np.searchsorted(np.cumsum(self.units[order]), self.target, "right"))
            low = max(0, end - _CHOICE // 2)
            found.append(self.completed(order[:low], order[low : low + _CHOICE], self.target))
        return Columns.join([self._none, *found])

    def _without_some(self) -> Places:
        """Symbols that take up most of the mass leave no choice beside them: mostly left out."""
        large = self.units[self.symbols] > 0.5 * self.target
        kept = self.symbols[~large | (self.rng.random(len(self.symbols)) < _WITH_LARGE)]
        return kept if kept.size else self.symbols

    def completed(
        self,
        surely: Places,
        choice: Places,
        target: float,
        most: int = _PER_CHOICE,
        among: Places | None = None,
    ) -> Columns:
        """The few subsets of a choice that come nearest to the mass that other symbols leave.

        What is missing under lift bounds goes to the symbol that loses least by it, of all or
        ``among`` some groups.
        """
        family, counts = self.family, self.counts(surely)
        left = target - float(counts @ self.units)
        if abs(left) <= _ROUNDING * target:
            left = 0.0
        halves = Halves(self.units[choice], left)
        found = []
        for members, missing in halves.nearest(left, most) if halves.is_short else ():
            table = counts + self.counts(choice[members])
            if missing == 0 or not isinstance(family, LiftFamily):
                found.append(Columns.whole(table[None, :]))
                continue
            fits = (table < family.groups.sizes) & (self.units >= missing)
            spare = np.flatnonzero(fits) if among is None else among[fits[among]]
            if spare.size:
                chord = (family.at_high - family.at_low)[spare] / family.span[spare] * missing
                loss = chord - family.between(spare, np.full(len(spare), missing))
                part = spare[[np.argmin(loss)]]
                found.append(Columns(table[None, :], part, np.array([missing])))
        return Columns.join([self._none, *found])

    def counts(self, symbols: Places) -> Vector:
        """How many symbols of each group are among some, ``(G,)``."""
        return np.bincount(symbols, minlength=len(self.units)).astype(float)

    @property
    def _none(self) -> Columns:
        return Columns.whole(np.empty((0, len(self.units))))


def _around(masses: Vector, target: float) -> Iterator[tuple[Places, Places]]:
    """Positions surely at the upper bound, and those to choose from, for runs around the circle."""
    n = len(masses)
    ends = np.concatenate([[0.0], np.cumsum(np.tile(masses, 2))])
    total = ends[n]
    count = max(int(total / target), 1)
    for k in range(count):
        start = int(np.searchsorted(ends, k * total / count))
        end = int(np.searchsorted(ends, ends[start] + target, "right")) - 1
        end = min(end, start + n)
        # Half of those to choose from lie on either side of the end of the run.
        low = max(start, min(end - _CHOICE // 2, start + n - _CHOICE))
        high = min(low + _CHOICE, start + n)
        yield np.arange(start, low) % n, np.arange(low, high) % n


class Pricer:
    """Prices columns of one family; keeps what does not depend on prices."""

    def __init__(self, family: Family, techniques: Techniques | None = None) -> None:
        self.family, self.techniques = family, techniques or Techniques()
        self.heuristics = Heuristics(family)
        symbols = family.groups.symbols
        #: The group of each symbol that can be at its upper bound.
        self.symbols = symbols[family.units[symbols] <= family.capacity * (1 + 1e-12)]

    @cached_property
    def halves(self) -> Halves:
        """The lists of both halves of the symbols; may be too long."""
        return Halves(self.family.units[self.symbols], self.family.capacity)

    def first(self) -> Columns:
        """Columns to start with, whatever the prices."""
        runs = self.heuristics.runs()
        return Columns.join([runs, self.heuristics.fitted()]) if self.techniques.fitted else runs

    def improve(self, prices: Vector, level: float, wanted: int, limit: WorkLimit) -> Found:
        """Columns above ``level`` by quick means, and a bound on all columns.

        Parameters
        ----------
        prices : per deviation of one symbol of each group, ``(G,)``
        level : what the reduced value of a column must exceed
        wanted : columns to stop at
        """
        search = make_search(self.family, prices, level)
        nodes = min(_QUICK, _QUICK_EACH * len(self.symbols), limit.nodes)
        found = search.run(wanted, WorkLimit(nodes, limit.deadline))
        if not found.complete and self.techniques.halves and self.halves.is_short:
            if found.count < max(wanted // 2, 1):
                found = self._by_halves(search, limit)
        elif not found.complete and self.techniques.perturbed and isinstance(search, LiftSearch):
            found = self._with_perturbed(found, search, prices)
        return search.as_reduced(found)

    def prove(self, prices: Vector, level: float, limit: WorkLimit) -> Found:
        """Prove that no column is above ``level``, or find one that is."""
        found = self.improve(prices, level, 1, limit)
        if found.complete or found.count:
            return found
        return self.branch(prices, level, 1, limit)

    def branch(self, prices: Vector, level: float, wanted: int, limit: WorkLimit) -> Found:
        """Branch and bound alone."""
        search = make_search(self.family, prices, level)
        return search.as_reduced(search.run(wanted, limit))

    def _by_halves(self, search: LiftSearch | StaircaseSearch, limit: WorkLimit) -> Found:
        """The best columns by meeting in the middle."""
        remainders: list[Remainder]
        if isinstance(search, LiftSearch):  # every group in turn has the symbol between its bounds
            values, parts = search.reduced, list(range(len(self.family.groups)))
            last = {int(g): i for i, g in enumerate(self.symbols)}
            place = np.argsort(search.order)
            remainders = [_Between(search, int(place[g]), last.get(g, -1)) for g in parts]
        else:
            values, parts = -search.cost, [-1]
            remainders = [_Excess(search, float(self.halves.masses.sum()))]
        wanted = _PER_REMAINDER if len(remainders) > 1 else 20 * _PER_REMAINDER
        found, upper, complete = self.halves.search(
            search.in_groups(values)[self.symbols], remainders, search.floor, wanted, limit
        )
        if not found:
            return Found.of([], upper, complete)
        counts = np.array([self.heuristics.counts(self.symbols[s.members]) for s in found])
        part = np.array([parts[s.remainder] for s in found])
        amount = np.array([max(remainders[s.remainder].end - s.mass, 0.0) for s in found])
        columns = Columns(counts, part, np.where(part >= 0, amount, 0.0))
        return Found.of([(columns, np.array([s.value for s in found]))], upper, complete)

    def _with_perturbed(self, found: Found, search: LiftSearch, prices: Vector) -> Found:
        """Also columns from perturbed orders of the symbols."""
        density = search.in_groups(search.density)
        columns = self.heuristics.perturbed(density, len(self.symbols))
        averages = self.family.averages(columns)
        values = self.family.values(columns) - averages @ (prices * self.family.groups.sizes)
        good = np.flatnonzero(values > search.floor)
        met = [] if found.columns is None else [(found.columns, found.values)]
        return Found.of([*met, (columns.take(good), values[good])], found.upper, False)


class _Between(Remainder):
    """A symbol of a group takes what the others leave of the capacity."""

    def __init__(self, search: LiftSearch, j: int, without: int) -> None:
        self.search, self.j, self.without = search, np.array([j]), without
        capacity = search.family.capacity
        self.start, self.end = max(capacity - float(search.units[j]), 0.0), capacity

    def exact(self, mass: Vector) -> Vector:
        left = np.clip(self.end - mass, 0.0, self.search.units[self.j])
        return self.search.base + self.search.between(np.repeat(self.j, len(mass)), left)

    def line(self, start: float, end: float) -> tuple[float, float]:
        # The value of what is left is a convex function of the mass: its chord lies above it.
        low, high = self.exact(np.array([start, end]))
        if not end > start:  # an atom so small that its range is below working precision
            return 0.0, float(max(low, high))
        slope = (high - low) / (end - start)
        return float(slope), float(low - slope * start)


class _Excess(Remainder):
    """The excess of a staircase over a level, as a function of the mass at the upper value."""

    def __init__(self, search: StaircaseSearch, most: float) -> None:
        self.search, self.start, self.end, self.without = search, 0.0, most, -1

    def exact(self, mass: Vector) -> Vector:
        return self.search.exact(mass)

    def line(self, start: float, end: float) -> tuple[float, float]:
        a, b, c = (float(v[0]) for v in self.search.quadratic(np.array([start]), np.array([end])))
        middle = (end - start) / 2
        # The tangent of a concave quadratic lies above it.
        slope = b + 2 * c * middle
        return slope, a - c * middle * middle - slope * start
