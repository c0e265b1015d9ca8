"""Pricing: the column worth most at given prices, or proof that none is worth more than a level.

Three searches work together: branch and bound with a small budget finds improving columns fast; if
it finds none, the search by halves settles the matter exactly where its lists are short enough;
else halves over the symbols nearest to the critical price look for columns around the most
promising nodes, and branch and bound goes on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .branching import Budget, Found, Nodes, Relaxed, Search
from .columns import Columns, Family, LiftFamily, StaircaseFamily
from .exhausting import Exhaustion
from .halves import Curved, Halves, Pick
from .lift_search import LiftSearch
from .seeding import columns_along
from .staircase_search import StaircaseSearch

Vector = NDArray[np.float64]

_QUICK = 30_000
# Nodes for a symbol where there are so few that their columns could be listed instead.
_QUICK_EACH = 500
_LISTED = 24
_DEPTH, _NODES = 3, 4
_PER_CURVE = 6
_CUTS = 4097
_SEED = 11


class Pricer(ABC):
    """Prices columns of one family; keeps what does not depend on prices."""

    def __init__(self, family: Family, units: Vector, capacity: float) -> None:
        """``units`` is the mass that raising a symbol takes, ``capacity`` all there is."""
        self.family, self.units, self.capacity = family, units, capacity
        self.rng = np.random.default_rng(_SEED)
        groups = family.groups
        items = np.repeat(np.arange(len(groups)), groups.sizes.astype(int))
        #: One item for each symbol that can be raised.
        self.items = items[units[items] <= capacity * (1 + 1e-12)]

    def improve(self, prices: Vector, level: float, wanted: int, budget: Budget) -> Found:
        """Columns with F − ⟨prices, d⟩ above ``level`` by quick means, and a bound on all columns.

        Parameters
        ----------
        prices : per deviation of one symbol of each group, ``(G,)``
        level : what a column must exceed
        wanted : columns to stop at
        """
        search = self.make_search(prices, level)
        nodes = min(_QUICK, _QUICK_EACH * len(self.items), budget.nodes)
        quick = Budget(nodes, budget.deadline)
        found = search.run(self.floor(level), wanted, quick)
        if found.complete:
            return self.as_worth(found, level)
        if self.halves.is_short:
            if found.count < max(wanted // 2, 1):
                nothing = np.zeros(len(self.family.groups))
                items = self.items
                found = self._by_halves(search, self.halves, items, nothing, None, level, budget)
            return self.as_worth(found, level)
        parts = [found, self.varied(search, prices, level)]
        if sum(part.count for part in parts) < max(wanted // 2, 1):
            parts += self._near_critical(search, level, budget)
        parts = [part for part in parts if part.columns is not None]
        if not parts:
            return self.as_worth(found, level)
        columns = Columns.join([part.columns for part in parts if part.columns is not None])
        values = np.concatenate([part.values for part in parts])
        best = self.as_worth(Found(columns, values, found.upper, False), level)
        few = np.arange(min(len(best.values), 4 * wanted))
        assert best.columns is not None
        return Found(best.columns.take(few), best.values[few], best.upper, False)

    def settle(self, prices: Vector, level: float, budget: Budget) -> Found:
        """The columns above ``level`` that are worth most, with every symbol as the partial one.

        Exact where the lists of sets are short once a few large symbols are settled; else
        incomplete, with what was found.
        """
        search = self.make_search(prices, level)
        nothing = np.zeros(len(self.family.groups))
        worth, curves, parts = self.curves(search, self.items, nothing, None)
        per_curve = _PER_CURVE if len(curves) > 1 else 20 * _PER_CURVE
        exhaustion = Exhaustion(self.units[self.items], worth, self.floor(level), per_curve)
        picks: list[Pick] = []
        complete = True
        for number, curve in enumerate(curves):
            found = exhaustion.search(curve, number, budget)
            if found is None:
                complete = False
                break
            picks += found
        upper = max([exhaustion.upper, *(pick.value for pick in picks)]) if complete else np.inf
        found_columns = self._as_found(picks, curves, parts, self.items, nothing, upper, complete)
        return self.as_worth(found_columns, level)

    def prove(self, prices: Vector, level: float, budget: Budget) -> Found:
        """Prove that no column is worth more than ``level``, or find one that is."""
        found = self.improve(prices, level, 1, budget)
        if found.complete or found.count:
            return found
        settled = self.settle(prices, level, Budget(deadline=budget.moment(0.25)))
        if settled.complete or settled.count:
            return settled
        return self.branch(prices, level, 1, budget)

    def branch(self, prices: Vector, level: float, wanted: int, budget: Budget) -> Found:
        """Branch and bound alone."""
        search = self.make_search(prices, level)
        return self.as_worth(search.run(self.floor(level), wanted, budget), level)

    @cached_property
    def halves(self) -> Halves:
        """The lists of halves over all items; may be too long."""
        return Halves(self.units[self.items], self.capacity)

    @abstractmethod
    def make_search(self, prices: Vector, level: float) -> Search:
        """Branch and bound at given prices."""

    @abstractmethod
    def floor(self, level: float) -> float:
        """What the search must exceed for a column to be worth more than the level."""

    @abstractmethod
    def as_worth(self, found: Found, level: float) -> Found:
        """What was searched for, turned into worth per output mass, best first."""

    @abstractmethod
    def curves(
        self, search: Search, items: NDArray[np.intp], raised: Vector, part: int | None
    ) -> tuple[Vector, Sequence[Curved], Sequence[int]]:
        """For halves: worth of each item, the curves to search, the part that each is for."""

    def varied(self, search: Search, prices: Vector, level: float) -> Found:
        """Columns above the level from perturbed orders of the symbols, where that helps."""
        return Found(None, np.empty(0), np.inf, False)

    @abstractmethod
    def flat_bound(self) -> float:
        """What no column exceeds, whatever the prior: the relaxation at equal prices."""

    def _near_critical(self, search: Search, level: float, budget: Budget) -> list[Found]:
        """Columns near the relaxations of the first few nodes of the tree.

        Symbols far from the critical one in worth per mass stay as the relaxation has them; among
        the nearest, and a few others for variety, the best set is found by halves.
        """
        found: list[Found] = []
        nodes = search.root()
        for depth in range(_DEPTH):
            relaxed = search.relax(nodes)
            for b in np.flatnonzero(relaxed.possible):
                for near in (_LISTED, _LISTED // 2):
                    if budget.is_over:
                        return found
                    part = self._around(search, nodes, relaxed, int(b), near, level, budget)
                    if part is not None:
                        found.append(part)
            if depth + 1 < _DEPTH:
                children = search.expand(nodes, self.floor(level))[1]
                if not children:
                    break
                bounds = np.concatenate([bound for _, bound in children])
                best = np.argsort(-bounds, kind="stable")[:_NODES]
                nodes = tuple(
                    np.concatenate([child[i] for child, _ in children])[best]
                    for i in range(len(nodes))
                )
        return found

    def _around(
        self,
        search: Search,
        nodes: Nodes,
        relaxed: Relaxed,
        b: int,
        near: int,
        level: float,
        budget: Budget,
    ) -> Found | None:
        least, most = nodes[0][b], nodes[1][b]
        k = min(int(relaxed.critical[b]), len(search.order) - 1)
        free = np.repeat(np.arange(len(most)), (most - least).astype(int))
        if not free.size:
            return None
        distance = np.abs(search.density[free] - search.density[k]) * search.units[free]
        ranked = np.argsort(distance, kind="stable")
        others = self.rng.permutation(ranked[near:])[: _LISTED - near]
        chosen = free[np.sort(np.concatenate([ranked[:near], others]))]
        listed = np.bincount(chosen, minlength=len(most))
        raised = np.empty(len(most))
        # Of what is raised in a group, the symbols that are not listed stay raised.
        raised[search.order] = np.clip(relaxed.counts[b], least, most - listed)
        items = search.order[chosen]
        room = self.capacity - float(raised @ self.units)
        if room <= 0:
            return None
        halves = Halves(self.units[items], room)
        part = search.settled(nodes, b)
        return self._by_halves(search, halves, items, raised, part, level, budget)

    def _by_halves(
        self,
        search: Search,
        halves: Halves,
        items: NDArray[np.intp],
        raised: Vector,
        part: int | None,
        level: float,
        budget: Budget,
    ) -> Found:
        worth, curves, parts = self.curves(search, items, raised, part)
        per_curve = _PER_CURVE if len(curves) > 1 else 20 * _PER_CURVE
        picks, upper, complete = halves.search(worth, curves, self.floor(level), per_curve, budget)
        return self._as_found(picks, curves, parts, items, raised, upper, complete)

    def _as_found(
        self,
        picks: list[Pick],
        curves: Sequence[Curved],
        parts: Sequence[int],
        items: NDArray[np.intp],
        raised: Vector,
        upper: float,
        complete: bool,
    ) -> Found:
        if not picks:
            return Found(None, np.empty(0), upper, complete)
        counts = np.array([raised + _count(items, pick, len(raised)) for pick in picks])
        chosen = np.array([parts[pick.curved] for pick in picks])
        amount = np.array([max(curves[pick.curved].end - pick.mass, 0.0) for pick in picks])
        columns = Columns(counts, chosen, np.where(chosen >= 0, amount, 0.0))
        return Found(columns, np.array([pick.value for pick in picks]), upper, complete)


def _count(items: NDArray[np.intp], pick: Pick, groups: int) -> Vector:
    return np.bincount(items[pick.raised], minlength=groups).astype(float)


class _Carried(Curved):
    """A symbol of a group carries what the raised ones leave of the capacity."""

    def __init__(
        self, search: LiftSearch, j: int, without: int, capacity: float, base: float
    ) -> None:
        self.search, self.j, self.without, self.base = search, np.array([j]), without, base
        self.start, self.end = max(capacity - float(search.units[j]), 0.0), capacity

    def exact(self, mass: Vector) -> Vector:
        carried = np.clip(self.end - mass, 0.0, self.search.units[self.j])
        return self.base + self.search.partial(np.repeat(self.j, len(mass)), carried)

    def line(self, start: float, end: float) -> tuple[float, float]:
        # What is carried is worth a convex function of the mass: its chord lies above it.
        low, high = self.exact(np.array([start, end]))
        if not end > start:  # an atom so small that its range is below working precision
            return 0.0, float(max(low, high))
        slope = (high - low) / (end - start)
        return float(slope), float(low - slope * start)


class LiftPricer(Pricer):
    """Columns with lifts in a box."""

    family: LiftFamily

    def __init__(self, family: LiftFamily) -> None:
        super().__init__(family, family.units, family.capacity)

    def make_search(self, prices: Vector, level: float) -> LiftSearch:
        """Branch and bound at given prices."""
        return LiftSearch(self.family, prices)

    def floor(self, level: float) -> float:
        """The level itself."""
        return level

    def as_worth(self, found: Found, level: float) -> Found:
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
        worth = np.concatenate([[0.0], np.cumsum(search.sizes * search.worth)])
        return search.base + float(np.interp(self.family.capacity, mass, worth))

    def varied(self, search: Search, prices: Vector, level: float) -> Found:
        """Sets of exactly the right mass, of symbols that are worth most give or take a little."""
        density = np.empty(len(prices))
        density[search.order] = search.density
        columns = columns_along(self.family, density, len(self.items), self.rng)
        if not len(columns):
            return Found(None, np.empty(0), np.inf, False)
        averages = self.family.averages(columns)
        values = self.family.worths(columns) - averages @ (prices * self.family.groups.sizes)
        good = np.flatnonzero(values > level)
        if not good.size:
            return Found(None, np.empty(0), np.inf, False)
        return Found(columns.take(good), values[good], np.inf, False)

    def curves(
        self, search: Search, items: NDArray[np.intp], raised: Vector, part: int | None
    ) -> tuple[Vector, Sequence[Curved], Sequence[int]]:
        """Every group in turn has the partly raised symbol, or the one that is settled."""
        assert isinstance(search, LiftSearch)
        place = np.argsort(search.order)
        worth = search.worth[place]
        base = search.base + float(raised @ worth)
        capacity = self.capacity - float(raised @ self.units)
        last = {int(g): i for i, g in enumerate(items)}
        listed = np.bincount(items, minlength=len(raised))
        curves, parts = [], []
        for g in range(len(raised)) if part is None else [part]:
            spare = raised[g] + listed[g] < self.family.groups.sizes[g]
            if spare or g in last:
                without = -1 if spare else last[g]
                curves.append(_Carried(search, int(place[g]), without, capacity, base))
                parts.append(g)
        return worth[items], curves, parts


class _Stairs(Curved):
    """The excess of a staircase over a level, as a function of the raised mass."""

    def __init__(self, search: StaircaseSearch, mass: float, cost: float, most: float) -> None:
        self.search, self.mass, self.cost = search, mass, cost
        self.start, self.end, self.without = 0.0, most, -1

    def exact(self, mass: Vector) -> Vector:
        return np.asarray(self.search.exact(mass + self.mass) - self.cost)

    def line(self, start: float, end: float) -> tuple[float, float]:
        low, high = np.array([start + self.mass]), np.array([end + self.mass])
        a, b, c = (float(v[0]) for v in self.search.quadratic(low, high))
        middle = (end - start) / 2
        # The tangent of a concave quadratic lies above it.
        slope = b + 2 * c * middle
        return slope, a - c * middle * middle - slope * start - self.cost


class StaircasePricer(Pricer):
    """Staircase columns."""

    family: StaircaseFamily

    def __init__(self, family: StaircaseFamily) -> None:
        super().__init__(family, family.groups.masses, family.total)

    def make_search(self, prices: Vector, level: float) -> StaircaseSearch:
        """Branch and bound on the excess over the level."""
        return StaircaseSearch(self.family, prices, level)

    def floor(self, level: float) -> float:
        """No excess."""
        return 0.0

    def as_worth(self, found: Found, level: float) -> Found:
        """The excess is (worth − level)(1 + cP), and 1 + cP is at least 1."""
        upper = level + max(found.upper, 0.0)
        if found.columns is None:
            return Found(None, found.values, upper, found.complete)
        scale = 1 + self.family.excess * self.family.mass(found.columns)
        values = level + found.values / scale
        order = np.argsort(-values, kind="stable")
        upper = max(upper, level + float(found.values.max()))
        return Found(found.columns.take(order), values[order], upper, found.complete)

    def flat_bound(self) -> float:
        """Max F(P) over all P, whatever sets there are, by quadratics above it on fine cells."""
        cuts = np.linspace(0, self.family.total, _CUTS)
        level = float(self.family.worth_of(cuts).max())
        search = StaircaseSearch(self.family, np.zeros(len(self.family.groups)), level)
        a, b, c = search.quadratic(cuts[:-1], cuts[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = np.where(c < 0, -b / (2 * c), np.where(b > 0, np.inf, 0.0))
        x = np.clip(turn, 0, np.diff(cuts))
        return level + max(float((a + (b + c * x) * x).max()), 0.0)

    def curves(
        self, search: Search, items: NDArray[np.intp], raised: Vector, part: int | None
    ) -> tuple[Vector, Sequence[Curved], Sequence[int]]:
        """One curve: the excess by the raised mass."""
        assert isinstance(search, StaircaseSearch)
        cost = search.cost[np.argsort(search.order)]
        most = float(self.units[items].sum())
        curve = _Stairs(search, float(raised @ self.units), float(raised @ cost), most)
        return -cost[items], [curve], [-1]


def make_pricer(family: Family) -> Pricer:
    """The pricer of a family."""
    if isinstance(family, LiftFamily):
        return LiftPricer(family)
    assert isinstance(family, StaircaseFamily)
    return StaircasePricer(family)
