"""Pricing: the columns of the largest reduced value F(d) − ⟨prices, d⟩, or proof that none exceeds
a level.

Branch and bound with a small budget finds improving columns fast. Where it does not end, meeting in
the middle settles the matter exactly if its lists are short enough; else perturbed orders of the
symbols give more columns, and branch and bound goes on for as long as the time allows. What each of
these buys is measured by ``python -m benchmarks ablation``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .branch_and_bound import Budget, Found, LiftSearch, Search, StaircaseSearch
from .families import Columns, Family, LiftFamily, StaircaseFamily
from .subsets import Halves, Remainder

Vector = NDArray[np.float64]
Places = NDArray[np.intp]

_QUICK = 30_000
# Nodes for a symbol where there are so few that their columns could be listed instead.
_QUICK_EACH = 500
_PER_REMAINDER = 6
_CUTS = 4097
_SEED = 7
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
        symbols, groups = self.family.groups.symbols, np.arange(len(self.units))
        n = len(symbols)
        parts = []
        for order in (symbols, symbols[::-1], self.rng.permutation(symbols)):
            ends = np.concatenate([[0.0], np.cumsum(np.tile(self.units[order], 2))])
            start = np.arange(n)
            end = np.searchsorted(ends, ends[start] + self.target, "right") - 1
            end = np.minimum(end, start + n - 1)
            counts = np.array(
                [self._counts(order[np.arange(a, b) % n]) for a, b in zip(start, end, strict=True)]
            )
            last = order[end % n]
            if isinstance(self.family, LiftFamily):
                left = np.maximum(ends[start] + self.target - ends[end], 0.0)
                parts.append(Columns(counts, last, left))
            else:
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
                found.append(self._completed(order[surely], order[choice]))
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
            found.append(self._completed(order[:low], order[low : low + _CHOICE]))
        return Columns.join([self._none, *found])

    def _without_some(self) -> Places:
        """Symbols that take up most of the mass leave no choice beside them: mostly left out."""
        large = self.units[self.symbols] > 0.5 * self.target
        kept = self.symbols[~large | (self.rng.random(len(self.symbols)) < _WITH_LARGE)]
        return kept if kept.size else self.symbols

    def _completed(self, surely: Places, choice: Places) -> Columns:
        """The few subsets of a choice that come nearest to the mass that other symbols leave.

        What is missing under lift bounds goes to the symbol that loses least by it.
        """
        family, counts = self.family, self._counts(surely)
        left = self.target - float(counts @ self.units)
        halves = Halves(self.units[choice], left)
        found = []
        for members, missing in halves.nearest(left, _PER_CHOICE) if halves.is_short else ():
            table = counts + self._counts(choice[members])
            if not isinstance(family, LiftFamily):
                found.append(Columns.whole(table[None, :]))
                continue
            spare = np.flatnonzero((table < family.groups.sizes) & (self.units >= missing))
            if spare.size:
                chord = (family.at_high - family.at_low)[spare] / family.span[spare] * missing
                loss = chord - family.between(spare, np.full(len(spare), missing))
                part = spare[[np.argmin(loss)]]
                found.append(Columns(table[None, :], part, np.array([missing])))
        return Columns.join([self._none, *found])

    def _counts(self, symbols: Places) -> Vector:
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


class Pricer(ABC):
    """Prices columns of one family; keeps what does not depend on prices."""

    def __init__(self, family: Family, techniques: Techniques) -> None:
        self.family, self.techniques = family, techniques
        self.heuristics = Heuristics(family)
        symbols = family.groups.symbols
        #: The group of each symbol that can be at its upper bound.
        self.symbols = symbols[family.units[symbols] <= family.capacity * (1 + 1e-12)]

    def first(self) -> Columns:
        """Columns to start with, whatever the prices."""
        runs = self.heuristics.runs()
        return Columns.join([runs, self.heuristics.fitted()]) if self.techniques.fitted else runs

    def improve(self, prices: Vector, level: float, wanted: int, budget: Budget) -> Found:
        """Columns above ``level`` by quick means, and a bound on all columns.

        Parameters
        ----------
        prices : per deviation of one symbol of each group, ``(G,)``
        level : what the reduced value of a column must exceed
        wanted : columns to stop at
        """
        search, floor = self.make_search(prices, level), self.floor(level)
        nodes = min(_QUICK, _QUICK_EACH * len(self.symbols), budget.nodes)
        found = search.run(floor, wanted, Budget(nodes, budget.deadline))
        if found.complete:
            return self.as_reduced(found, level)
        if self.techniques.halves and self.halves.is_short:
            if found.count < max(wanted // 2, 1):
                found = self._by_halves(search, floor, budget)
            return self.as_reduced(found, level)
        more = self.perturbed(search, prices, level) if self.techniques.perturbed else None
        if more is not None and more.columns is not None:
            found = _joined(found, more, 4 * wanted)
        return self.as_reduced(found, level)

    def prove(self, prices: Vector, level: float, budget: Budget) -> Found:
        """Prove that no column is above ``level``, or find one that is."""
        found = self.improve(prices, level, 1, budget)
        if found.complete or found.count:
            return found
        return self.branch(prices, level, 1, budget)

    def branch(self, prices: Vector, level: float, wanted: int, budget: Budget) -> Found:
        """Branch and bound alone."""
        search = self.make_search(prices, level)
        return self.as_reduced(search.run(self.floor(level), wanted, budget), level)

    @cached_property
    def halves(self) -> Halves:
        """The lists of both halves of the symbols; may be too long."""
        return Halves(self.family.units[self.symbols], self.family.capacity)

    def _by_halves(self, search: Any, floor: float, budget: Budget) -> Found:
        values, remainders, parts = self.remainders(search)
        wanted = _PER_REMAINDER if len(remainders) > 1 else 20 * _PER_REMAINDER
        found, upper, complete = self.halves.search(values, remainders, floor, wanted, budget)
        if not found:
            return Found.nothing(upper, complete)
        groups = len(self.family.groups)
        counts = np.array(
            [np.bincount(self.symbols[s.members], minlength=groups).astype(float) for s in found]
        )
        part = np.array([parts[s.remainder] for s in found])
        amount = np.array([max(remainders[s.remainder].end - s.mass, 0.0) for s in found])
        columns = Columns(counts, part, np.where(part >= 0, amount, 0.0))
        return Found(columns, np.array([s.value for s in found]), upper, complete)

    @abstractmethod
    def make_search(self, prices: Vector, level: float) -> Search[Any]:
        """Branch and bound at given prices."""

    @abstractmethod
    def floor(self, level: float) -> float:
        """What the search must exceed for a column to be above the level."""

    @abstractmethod
    def as_reduced(self, found: Found, level: float) -> Found:
        """What was searched for, turned into reduced values per output mass, best first."""

    @abstractmethod
    def remainders(self, search: Any) -> tuple[Vector, list[Remainder], list[int]]:
        """For halves: the value of each symbol, the remainders, and the part that each is for."""

    def perturbed(self, search: Search[Any], prices: Vector, level: float) -> Found | None:
        """Columns above the level from perturbed orders of the symbols, where that helps."""
        return None

    @abstractmethod
    def flat_bound(self) -> float:
        """What no column exceeds, whatever the prior: the relaxation at equal prices."""


def _joined(first: Found, second: Found, most: int) -> Found:
    """Columns of two searches, the best of them; the bound of the first."""
    parts = [part for part in (first, second) if part.columns is not None]
    columns = Columns.join([part.columns for part in parts if part.columns is not None])
    values = np.concatenate([part.values for part in parts])
    best = np.argsort(-values, kind="stable")[:most]
    return Found(columns.take(best), values[best], first.upper, False)


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


class LiftPricer(Pricer):
    """Columns with lifts in a box."""

    family: LiftFamily

    def make_search(self, prices: Vector, level: float) -> LiftSearch:
        """Branch and bound at given prices."""
        return LiftSearch(self.family, prices)

    def floor(self, level: float) -> float:
        """The level itself."""
        return level

    def as_reduced(self, found: Found, level: float) -> Found:
        """As it is, best first."""
        if found.columns is None:
            return found
        order = np.argsort(-found.values, kind="stable")
        columns, values = found.columns.take(order), found.values[order]
        return Found(columns, values, max(found.upper, float(values[0])), found.complete)

    def flat_bound(self) -> float:
        """Chords at equal prices: the knapsack relaxation."""
        search = LiftSearch(self.family, np.zeros(len(self.family.groups)))
        mass = np.concatenate([[0.0], np.cumsum(search.sizes * search.units)])
        value = np.concatenate([[0.0], np.cumsum(search.sizes * search.reduced)])
        return search.base + float(np.interp(self.family.capacity, mass, value))

    def perturbed(self, search: Search[Any], prices: Vector, level: float) -> Found | None:
        """Columns of exactly the right mass, of symbols of nearly the largest reduced value."""
        density = search.in_groups(search.density)
        columns = self.heuristics.perturbed(density, len(self.symbols))
        averages = self.family.averages(columns)
        values = self.family.values(columns) - averages @ (prices * self.family.groups.sizes)
        good = np.flatnonzero(values > level)
        return Found(columns.take(good), values[good], np.inf, False) if good.size else None

    def remainders(self, search: LiftSearch) -> tuple[Vector, list[Remainder], list[int]]:
        """Every group in turn has the symbol between its bounds."""
        place = np.argsort(search.order)
        last = {int(g): i for i, g in enumerate(self.symbols)}
        groups = range(len(self.family.groups))
        remainders: list[Remainder] = [
            _Between(search, int(place[g]), last.get(g, -1)) for g in groups
        ]
        return search.in_groups(search.reduced)[self.symbols], remainders, list(groups)


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


class StaircasePricer(Pricer):
    """Staircase columns."""

    family: StaircaseFamily

    def make_search(self, prices: Vector, level: float) -> StaircaseSearch:
        """Branch and bound on the excess over the level."""
        return StaircaseSearch(self.family, prices, level)

    def floor(self, level: float) -> float:
        """No excess."""
        return 0.0

    def as_reduced(self, found: Found, level: float) -> Found:
        """The excess is (reduced value − level)(1 + cP), and 1 + cP is at least 1."""
        upper = level + max(found.upper, 0.0)
        if found.columns is None:
            return Found.nothing(upper, found.complete)
        scale = 1 + self.family.excess * self.family.mass(found.columns)
        values = level + found.values / scale
        order = np.argsort(-values, kind="stable")
        upper = max(upper, level + float(found.values.max()))
        return Found(found.columns.take(order), values[order], upper, found.complete)

    def flat_bound(self) -> float:
        """Max F(P) over all P, whatever sets there are, by quadratics above it on fine cells."""
        cuts = np.linspace(0, self.family.capacity, _CUTS)
        level = float(self.family.value_at(cuts).max())
        search = StaircaseSearch(self.family, np.zeros(len(self.family.groups)), level)
        a, b, c = search.quadratic(cuts[:-1], cuts[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = np.where(c < 0, -b / (2 * c), np.where(b > 0, np.inf, 0.0))
        x = np.clip(turn, 0, np.diff(cuts))
        return level + max(float((a + (b + c * x) * x).max()), 0.0)

    def remainders(self, search: StaircaseSearch) -> tuple[Vector, list[Remainder], list[int]]:
        """One remainder: the excess by the mass at the upper value."""
        most = float(self.family.units[self.symbols].sum())
        return -search.in_groups(search.cost)[self.symbols], [_Excess(search, most)], [-1]


def make_pricer(family: Family, techniques: Techniques = Techniques()) -> Pricer:
    """The pricer of a family."""
    if isinstance(family, LiftFamily):
        return LiftPricer(family, techniques)
    assert isinstance(family, StaircaseFamily)
    return StaircasePricer(family, techniques)
