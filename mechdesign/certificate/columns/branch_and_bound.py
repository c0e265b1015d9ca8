"""Branch and bound on reduced values: max F(d) − ⟨prices, d⟩ over the extreme columns of a family.

A search finds columns whose reduced value exceeds a floor, or proves that there are none. What
makes the problem hard is a sum of convex functions; a chord above each of them leaves a continuous
knapsack ([Dantzig1957]), and branching makes the chords shorter ([FalkSoland1969]). Nodes are kept
in blocks, as rows of arrays, and those of a block are relaxed together.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import clock
from .families import Columns, Family, LiftFamily, StaircaseFamily

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

_BLOCK = 1024
_TINY = 1e-12
_CELLS, _FINE_CELLS, _REFINEMENTS = 64, 4096, 2


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Attributes
    ----------
    columns, values : columns above the floor and their reduced values, best first
    upper : proven upper bound on the reduced value of every column (at least the floor)
    complete : whether everything was searched, so that ``upper`` is the floor or, up to rounding,
        the best value
    """

    columns: Columns | None
    values: Vector
    upper: float
    complete: bool

    @property
    def count(self) -> int:
        """Number of columns found."""
        return len(self.values)

    @classmethod
    def of(cls, met: list[tuple[Columns, Vector]], upper: float, complete: bool) -> Found:
        """Batches of columns and their values, sorted."""
        met = [batch for batch in met if len(batch[1])]
        if not met:
            return cls(None, np.empty(0), upper, complete)
        values = np.concatenate([v for _, v in met])
        order = np.argsort(-values, kind="stable")
        columns = Columns.join([c for c, _ in met]).take(order)
        return cls(columns, values[order], max(upper, float(values.max())), complete)


@dataclass
class WorkLimit:
    """How long a search may take: nodes, and a moment on the :mod:`~mechdesign.clock`."""

    nodes: float = math.inf
    deadline: float = math.inf

    def moment(self, share: float) -> float:
        """The moment at which a share of the time that is left has passed."""
        now = clock.now()
        return now + share * max(self.deadline - now, 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return clock.now() > self.deadline


class LiftNodes(NamedTuple):
    """Nodes of a search over lifts in a box; groups are in the order of the search.

    Attributes
    ----------
    least, most : ``(B, G)`` bounds on the symbols of each group at their upper bound
    barred : ``(B, G)`` groups without the symbol that lies between its bounds
    part : ``(B,)`` group of that symbol where it is fixed, else −1
    start, end : ``(B,)`` interval of the mass above its lower bound
    """

    least: Vector
    most: Vector
    barred: Mask
    part: Places
    start: Vector
    end: Vector


class StairNodes(NamedTuple):
    """Nodes of a search over staircases; groups are in the order of the search.

    Attributes
    ----------
    least, most : ``(B, G)`` bounds on the symbols of each group at the upper value
    start, end : ``(B,)`` interval of their mass P
    """

    least: Vector
    most: Vector
    start: Vector
    end: Vector


Nodes = TypeVar("Nodes", LiftNodes, StairNodes)


@dataclass(frozen=True, eq=False)
class Filling:
    """Groups filled in the order of the search up to a mass, the last one rounded down.

    Attributes
    ----------
    counts : ``(B, G)`` symbols at the upper bound
    full : ``(B,)`` how many groups are full
    last : ``(B,)`` the group that is partly filled (the last one where all are full)
    whole : ``(B,)`` symbols beyond its least that are filled in it
    over : ``(B,)`` mass left over by rounding down
    """

    counts: Vector
    full: Places
    last: Places
    whole: Vector
    over: Vector


class Search(ABC, Generic[Nodes]):
    """Branch and bound at one vector of prices, for columns above one level.

    Attributes
    ----------
    order : groups in the order in which they are filled
    density : reduced value or price per mass of one symbol of each, in that order
    units : mass that one symbol takes, in that order
    floor : what the search must exceed for a column to be above the level
    tiny : mass that counts as nothing
    """

    order: Places
    density: Vector
    units: Vector
    floor: float
    tiny: float

    @abstractmethod
    def root(self) -> Nodes:
        """Nodes that hold every column."""

    @abstractmethod
    def expand(
        self, nodes: Nodes
    ) -> tuple[list[tuple[Columns, Vector]], list[tuple[Nodes, Vector]], float]:
        """Columns above the floor met on the way, children with upper bounds, and the largest
        bound of the nodes that are closed.

        Children hold whatever their parent holds. Nodes that hold no column above the floor have
        no children; no more have those whose relaxation is a column up to rounding, and what such
        a node may hold beyond that column is told by its bound.
        """

    @abstractmethod
    def as_reduced(self, found: Found) -> Found:
        """What was searched for, turned into reduced values per output mass."""

    def run(self, wanted: int, limit: WorkLimit) -> Found:
        """Search until nothing above the floor is left, or enough is found, or time is up."""
        heap: list[tuple[float, int, Nodes]] = [(-math.inf, 0, self.root())]
        met: list[tuple[Columns, Vector]] = []
        count = visited = ticks = 0
        upper = self.floor
        while heap and count < wanted and visited < limit.nodes and not limit.is_over:
            _, _, nodes = heapq.heappop(heap)
            visited += len(nodes[0])
            columns, children, closed = self.expand(nodes)
            met += columns
            upper = max(upper, closed)
            count += sum(len(values) for _, values in columns)
            if not children:
                continue
            joined, bounds = _joined(children)
            order = np.argsort(-bounds)
            for start in range(0, len(order), _BLOCK):
                chosen = order[start : start + _BLOCK]
                ticks -= 1  # among equal bounds the newest first, which is the deepest
                heapq.heappush(heap, (-float(bounds[chosen[0]]), ticks, _taken(joined, chosen)))
        return Found.of(met, max([upper, *(-key for key, _, _ in heap[:1])]), not heap)

    def filled(self, least: Vector, mass: Vector, most: Vector, target: Vector) -> Filling:
        """What is filled up to a target, from the cumulative mass ``(B, G + 1)`` of the groups."""
        rows, g = np.arange(len(target)), len(self.order)
        full = (mass[:, 1:] <= target[:, None] + self.tiny).sum(axis=1)
        last = np.minimum(full, g - 1)
        extra = np.where(full < g, np.maximum(target - mass[rows, last], 0.0), 0.0)
        whole = np.floor(extra / self.units[last] + _TINY)
        counts = np.where(np.arange(g)[None, :] < full[:, None], most, least)
        counts[rows, last] = np.where(full < g, least[rows, last] + whole, counts[rows, last])
        return Filling(counts, full, last, whole, extra - whole * self.units[last])

    def in_groups(self, table: Vector) -> Vector:
        """Numbers of groups in the order of the search, brought into the order of the groups."""
        back = np.empty_like(table)
        back[..., self.order] = table
        return back


def _taken(nodes: Nodes, chosen: Places) -> Nodes:
    """A copy of some nodes."""
    return type(nodes)._make(part[chosen] for part in nodes)


def _joined(parts: list[tuple[Nodes, Vector]]) -> tuple[Nodes, Vector]:
    """Nodes and their bounds as one."""
    nodes, bounds = zip(*parts, strict=True)
    columns = (np.concatenate(same) for same in zip(*nodes, strict=True))
    return type(nodes[0])._make(columns), np.concatenate(bounds)


def _branched(
    nodes: Nodes, bound: Vector, filling: Filling, chosen: Places
) -> list[tuple[Nodes, Vector]]:
    """Children in which the last group has no more symbols at the upper bound, or one more."""
    k, rows = filling.last[chosen], np.arange(len(chosen))
    fewer, more = _taken(nodes, chosen), _taken(nodes, chosen)
    fewer.most[rows, k] = filling.counts[chosen, k]
    more.least[rows, k] = filling.counts[chosen, k] + 1
    return [(fewer, bound[chosen]), (more, bound[chosen])]


def _split(
    nodes: Nodes, bound: Vector, chosen: Places, place: Vector
) -> list[tuple[Nodes, Vector]]:
    """Children with the interval of a node cut at a place."""
    below = _taken(nodes, chosen)._replace(end=place[chosen])
    above = _taken(nodes, chosen)._replace(start=place[chosen])
    return [(below, bound[chosen]), (above, bound[chosen])]


class _LiftRelaxed(NamedTuple):
    """Relaxations: which nodes can hold a column, what no column in them exceeds, the filling and
    the reduced value of its counts, and the mass of the symbol between its bounds.
    """

    possible: Mask
    bound: Vector
    filling: Filling
    fixed: Vector
    carried: Vector


class LiftSearch(Search[LiftNodes]):
    """Lifts in a box: max F(d) − ⟨prices, d⟩ over Σ p d = 0, low ≤ d ≤ high.

    F is convex and separable, so an extreme column has all symbols but one at a bound. In the
    relaxation every symbol's curve is replaced by its chord: a knapsack, filled in the order of
    reduced value per mass, with at most one symbol partly filled. Branch on that one: it stays
    low, is at its upper bound, or lies between; then its interval is split at the filling, where
    the chord is exact.
    """

    def __init__(self, family: LiftFamily, prices: Vector, level: float) -> None:
        """``prices`` per deviation of one symbol of each group, ``(G,)``."""
        self.family, self.floor = family, level
        p = family.groups.masses
        reduced = p * (family.at_high - family.at_low) - prices * family.span
        self.order = o = np.argsort(-reduced / family.units, kind="stable")
        self.units, self.reduced = family.units[o], reduced[o]
        self.density = self.reduced / self.units
        self.p, self.price, self.sizes = p[o], prices[o], family.groups.sizes[o]
        low, at_low = family.low[o], family.at_low[o]
        #: Reduced value with every symbol at its lower bound.
        self.base = float((self.sizes * self.p) @ at_low - (self.sizes * self.price) @ low)
        self.tiny = _TINY * family.capacity
        # What is left over counts as nothing where it is small beside the symbol it would go to.
        self.negligible = np.clip(1e-9 * self.units, 1e-3 * self.tiny, self.tiny)

    def root(self) -> LiftNodes:
        """One node."""
        g = len(self.order)
        least, barred = np.zeros((1, g)), np.zeros((1, g), bool)
        most = self.sizes[None, :].copy()
        return LiftNodes(least, most, barred, np.full(1, -1), np.zeros(1), np.zeros(1))

    def between(self, j: Places, amount: Vector) -> Vector:
        """Reduced value of a mass above the lower bound of one symbol of group j."""
        return self.family.between(self.order[j], amount) - self.price[j] * (amount / self.p[j])

    def relax(self, nodes: LiftNodes) -> _LiftRelaxed:
        """Chords and a continuous knapsack."""
        least, most, _, part, start, end = nodes
        rows, g = np.arange(len(part)), len(self.order)
        fixed_part = part >= 0
        j = np.where(fixed_part, part, 0)
        at_start = np.where(fixed_part, self.between(j, start), 0.0)
        at_end = np.where(fixed_part, self.between(j, end), 0.0)
        length = end - start
        slope = np.where(length > 0, (at_end - at_start) / np.where(length > 0, length, 1), -1e300)
        free = (most - least) * self.units
        mass = np.zeros((len(rows), g + 1))
        np.cumsum(free, axis=1, out=mass[:, 1:])
        value = np.zeros((len(rows), g + 1))
        np.cumsum(free * self.density, axis=1, out=value[:, 1:])
        left = self.family.capacity - least @ self.units - start
        place = np.searchsorted(-self.density, -slope, side="left")
        carried = np.clip(left - mass[rows, place], 0, length)
        rest = left - carried
        possible = (rest >= -self.tiny) & (rest <= mass[:, -1] + self.tiny)
        rest = np.clip(rest, 0, mass[:, -1])
        f = self.filled(least, mass, most, rest)
        f.over[f.over < self.negligible[f.last]] = 0.0
        base = self.base + least @ self.reduced
        fixed = base + value[rows, f.full] + f.whole * self.reduced[f.last]
        chords = at_start + np.where(length > 0, slope, 0.0) * carried
        # The value is concave in the mass filled, so the tangent at the group nearest to being
        # filled lies above it, on whichever side of a rounding the mass is.
        tangent = value[rows, f.full] + (rest - mass[rows, f.full]) * self.density[f.last]
        return _LiftRelaxed(possible, base + tangent + chords, f, fixed, carried)

    def as_reduced(self, found: Found) -> Found:
        """As it is."""
        return found

    def expand(self, nodes: LiftNodes) -> Any:
        """Relax every node, take the columns that rounding gives, and branch."""
        r = self.relax(nodes)
        alive = r.possible & (r.bound > self.floor)
        if not alive.any():
            return [], [], self.floor
        rows, even = np.arange(len(alive)), r.filling.over == 0
        barred = nodes.barred[rows, r.filling.last]
        met = self._columns(nodes, r, alive, even, barred)
        children = self._children(nodes, r, alive & ~even, barred)
        length, amount = nodes.end - nodes.start, nodes.start + r.carried
        tiny = np.maximum(np.minimum(self.tiny, 1e-6 * length), 8 * np.spacing(nodes.end))
        inside = (nodes.part >= 0) & even & (r.carried > tiny) & (r.carried < length - tiny)
        split = np.flatnonzero(alive & inside)
        if split.size:
            children += _split(nodes, r.bound, split, amount)
        closed = float(r.bound[alive & even & ~inside].max(initial=self.floor))
        return met, children, closed

    def _columns(
        self, nodes: LiftNodes, r: _LiftRelaxed, alive: Mask, even: Mask, barred: Mask
    ) -> list[tuple[Columns, Vector]]:
        """Relaxed points rounded to columns: what is left goes to the symbol between its bounds."""
        k, over, named = r.filling.last, r.filling.over, nodes.part >= 0
        j, amount = np.where(named, nodes.part, 0), nodes.start + r.carried
        both, uneven = amount + over, alive & named & ~even
        # (which nodes, part, its mass, whether one more symbol of group k is at its upper bound)
        choices = [
            (alive & ~named & (even | ~barred), np.where(even, -1, k), over, 0),
            (alive & named & even, j, amount, 0),
            (uneven & (both <= self.units[j]), j, both, 0),
            (uneven & (both >= self.units[k]), j, both, 1),
        ]
        met = []
        for which, part, carries, up in choices:
            chosen = np.flatnonzero(which)
            kk, pp = k[chosen], part[chosen]
            carried = np.where(pp >= 0, carries[chosen] - up * self.units[kk], 0.0)
            values = r.fixed[chosen] + up * self.reduced[kk]
            values = values + np.where(pp >= 0, self.between(np.maximum(pp, 0), carried), 0.0)
            good = np.flatnonzero(values > self.floor)
            if not good.size:
                continue
            table = r.filling.counts[chosen[good]]
            table[np.arange(len(good)), kk[good]] += up
            group = np.where(pp[good] >= 0, self.order[np.maximum(pp[good], 0)], -1)
            met.append((Columns(self.in_groups(table), group, carried[good]), values[good]))
        return met

    def _children(
        self, nodes: LiftNodes, r: _LiftRelaxed, uneven: Mask, barred: Mask
    ) -> list[tuple[LiftNodes, Vector]]:
        """Group k has no more symbols at its upper bound than it has, or one more, or has the
        symbol between.
        """
        chosen = np.flatnonzero(uneven)
        children = _branched(nodes, r.bound, r.filling, chosen)
        for child, _ in children:
            child.barred[np.arange(len(chosen)), r.filling.last[chosen]] = True
        chosen = np.flatnonzero(uneven & (nodes.part < 0) & ~barred)
        k, over = r.filling.last[chosen], r.filling.over[chosen]
        for start, end in ((0.0 * over, over), (over, self.units[k])):
            child = _taken(nodes, chosen)._replace(part=k.copy(), start=start, end=end)
            child.most[np.arange(len(chosen)), k] -= 1
            children.append((child, r.bound[chosen]))
        kept = []
        for child, bounds in children:
            fine = np.flatnonzero((child.least <= child.most).all(axis=1))
            if fine.size:
                kept.append((_taken(child, fine), bounds[fine]))
        return kept


class _StairRelaxed(NamedTuple):
    """Relaxations: as for lifts, with the interval of P in reach, the best P, and the quadratic
    there.
    """

    possible: Mask
    bound: Vector
    filling: Filling
    start: Vector
    end: Vector
    target: Vector
    smooth: Vector


class StaircaseSearch(Search[StairNodes]):
    """Staircases: max F(P(S)) − ⟨prices, d(S)⟩ over sets S of symbols at the upper value.

    A column exceeds ``level`` if and only if its excess (reduced value − level)(1 + cP) is
    positive, with r − 1 = c. The excess is linear in S but for a function of the mass P, a sum of
    functions each linear in P times convex in 1 + cP. On an interval of P the convex ones lie
    below their chords, which gives a concave quadratic above the function that touches it at both
    ends. The relaxation fills symbols in the order of price per mass until the slope of the
    quadratic is used up. Branch on the one symbol that is partly filled, or split the interval.
    """

    def __init__(self, family: StaircaseFamily, prices: Vector, level: float) -> None:
        self.family, self.level, self.floor = family, level, 0.0
        c, p = family.excess, family.groups.masses
        self.order = np.argsort(prices / p, kind="stable")
        self.p = self.units = p[self.order]
        self.sizes = family.groups.sizes[self.order]
        self.cost = c * prices[self.order]
        self.density = self.cost / self.p
        #: What the prices of all symbols add per unit of P, as lower values fall when P grows.
        self.slope = c * float(family.groups.sizes @ prices)
        self.tiny = _TINY * family.capacity

    def root(self, cells: int = _CELLS) -> StairNodes:
        """Every set, with the range of P cut into cells."""
        cuts = np.linspace(0, self.family.capacity, cells + 1)
        least = np.zeros((cells, len(self.order)))
        most = np.repeat(self.sizes[None, :], cells, axis=0)
        return StairNodes(least, most, cuts[:-1], cuts[1:])

    def exact(self, mass: Vector) -> Vector:
        """Excess of a set of mass P, apart from its costs."""
        scale = 1 + self.family.excess * mass
        return np.asarray(scale * (self.family.value_at(mass) - self.level) + self.slope * mass)

    def quadratic(self, start: Vector, end: Vector) -> tuple[Vector, Vector, Vector]:
        """Coefficients a, b, c of a concave a + b(P − start) + c(P − start)² above ``exact``."""
        f, total = self.family, self.family.capacity
        length = end - start
        per_length = np.where(length > 0, 1 / np.where(length > 0, length, 1.0), 0.0)
        low, high = 1 + f.excess * start, 1 + f.excess * end
        ends = []
        for mass, scale in ((start, low), (end, high)):
            up, down = f.deviation(mass)
            ends.append((scale * f.curve(up), scale * f.curve(down)))
        (up0, down0), (up1, down1) = ends
        up_slope, down_slope = (up1 - up0) * per_length, (down1 - down0) * per_length
        # P·(up0 + up_slope·x) + (total − P)·(down0 + down_slope·x), x = P − start
        constant = start * up0 + (total - start) * down0
        linear = up0 - down0 + start * up_slope + (total - start) * down_slope
        square = np.minimum(up_slope - down_slope, 0.0)
        constant = constant - self.level * low + self.slope * start
        linear = linear - self.level * f.excess + self.slope
        return constant, linear, square

    def relax(self, nodes: StairNodes) -> _StairRelaxed:
        """A concave quadratic above the curve, and a continuous filling."""
        least, most, start, end = nodes
        rows, g = np.arange(len(start)), len(self.order)
        mass0 = least @ self.p
        start, end = np.maximum(start, mass0), np.minimum(end, most @ self.p)
        possible = start <= end + self.tiny
        end = np.maximum(end, start)
        a, b, c = self.quadratic(start, end)
        free = (most - least) * self.p
        mass = np.zeros((len(rows), g + 1))
        np.cumsum(free, axis=1, out=mass[:, 1:])
        mass += mass0[:, None]
        costs = np.zeros((len(rows), g + 1))
        np.cumsum(free * self.density, axis=1, out=costs[:, 1:])
        costs += (least @ self.cost)[:, None]
        # Fill while a symbol brings more than it costs: slope at its far end above its density.
        slope = b[:, None] + 2 * c[:, None] * (mass[:, 1:] - start[:, None])
        filled = (slope >= self.density).sum(axis=1)
        k = np.minimum(filled, g - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = start + np.where(c < 0, (self.density[k] - b) / (2 * c), np.inf)
        turn = np.where(c < 0, turn, np.where(b >= self.density[k], np.inf, -np.inf))
        target = np.clip(turn, mass[rows, filled], mass[rows, np.minimum(filled + 1, g)])
        target = np.clip(target, start, end)
        f = self.filled(least, mass, most, target)
        x = target - start
        smooth = a + (b + c * x) * x
        # Costs are convex in the mass filled: a tangent lies below them, however P was rounded.
        linear = costs[rows, f.full] + (target - mass[rows, f.full]) * self.density[f.last]
        return _StairRelaxed(possible, smooth - linear, f, start, end, target, smooth)

    def as_reduced(self, found: Found) -> Found:
        """The excess is (reduced value − level)(1 + cP), and 1 + cP is at least 1."""
        upper = self.level + max(found.upper, 0.0)
        if found.columns is None:
            return Found.of([], upper, found.complete)
        scale = 1 + self.family.excess * self.family.mass(found.columns)
        values = self.level + found.values / scale
        return Found.of([(found.columns, values)], upper, found.complete)

    def expand(self, nodes: StairNodes) -> Any:
        """Relax every node, take the rounded sets, and branch where the quadratic is tight; else
        split its interval.
        """
        r = self.relax(nodes)
        alive = r.possible & (r.bound > self.floor)
        if not alive.any():
            return [], [], self.floor
        f, even = r.filling, r.filling.over < self.tiny
        met = []
        for up, chosen in ((0, np.flatnonzero(alive)), (1, np.flatnonzero(alive & ~even))):
            table = f.counts[chosen]
            table[np.arange(len(chosen)), f.last[chosen]] += up
            values = self.exact(table @ self.p) - table @ self.cost
            good = np.flatnonzero(values > self.floor)
            if good.size:
                met.append((Columns.whole(self.in_groups(table[good])), values[good]))
        slack = r.smooth - self.exact(r.target)
        inside = (r.target > r.start + self.tiny) & (r.target < r.end - self.tiny)
        loose = (even | (slack > 0.5 * r.bound)) & inside
        split, divided = alive & loose, alive & ~loose & ~even
        narrowed = nodes._replace(start=r.start, end=r.end)
        children: list[tuple[StairNodes, Vector]] = []
        if split.any():
            children += _split(narrowed, r.bound, np.flatnonzero(split), r.target)
        if divided.any():
            children += _branched(narrowed, r.bound, f, np.flatnonzero(divided))
        closed = float(r.bound[alive & ~split & ~divided].max(initial=self.floor))
        return met, children, closed


def make_search(family: Family, prices: Vector, level: float) -> LiftSearch | StaircaseSearch:
    """The search over a family, at prices per deviation of one symbol of each group, ``(G,)``."""
    if isinstance(family, LiftFamily):
        return LiftSearch(family, prices, level)
    assert isinstance(family, StaircaseFamily)
    return StaircaseSearch(family, prices, level)


def universal_bound(family: Family) -> float:
    """What no column exceeds, whatever sets there are: the relaxation at equal prices."""
    prices = np.zeros(len(family.groups))
    if isinstance(family, LiftFamily):
        search = LiftSearch(family, prices, 0.0)
        return float(search.relax(search.root()).bound.max())
    assert isinstance(family, StaircaseFamily)
    level = float(family.value_at(np.array([family.finest_target]))[0])
    stairs = StaircaseSearch(family, prices, level)
    nodes, most = stairs.root(_FINE_CELLS), 0.0
    for _ in range(_REFINEMENTS):
        bound = stairs.relax(nodes).bound
        most = max(float(bound.max()), 0.0)
        chosen = np.flatnonzero(bound > 0)
        if not chosen.size:
            break
        # Cells whose bound is positive are cut again; of the others the level is the bound.
        few = _taken(nodes, np.repeat(chosen, _CELLS))
        cuts = np.tile(np.arange(_CELLS) / _CELLS, chosen.size)
        length = few.end - few.start
        start = few.start + cuts * length
        end = np.where(cuts + 1 / _CELLS < 1, few.start + (cuts + 1 / _CELLS) * length, few.end)
        nodes = few._replace(start=start, end=end)
    return level + most
