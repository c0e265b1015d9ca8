"""Pricing columns with lifts in a box: max F(d) − ⟨prices, d⟩ over Σ p d = 0, low ≤ d ≤ high.

F is convex and separable, so an extreme column raises some symbols fully, at most one in part and
leaves the rest low. In the relaxation every symbol's curve is replaced by its chord: a continuous
knapsack, filled in the order of worth per mass, with at most one symbol partly filled. Branch on
that one: it stays low, is raised, or is the partly raised symbol of the column; then its interval
is split at the filling, where the chord is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .branching import Nodes, Relaxed, Search
from .columns import Columns, LiftFamily

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class LiftRelaxed(Relaxed):
    """Also the worth of the counts alone, and what the partly raised symbol carries."""

    fixed: NDArray[np.float64]
    carried: NDArray[np.float64]


class LiftSearch(Search):
    """Branch and bound for one vector of prices.

    A node is ``(least, most, barred, part, start, end)``: bounds on the raised symbols of each
    group, groups that cannot be the partly raised one, that one where it is settled (else −1), and
    the interval of the mass it carries. Groups are in the order of worth per mass.
    """

    def __init__(self, family: LiftFamily, prices: NDArray[np.float64]) -> None:
        """``prices`` per deviation of one symbol of each group, ``(G,)``."""
        self.family, self.prices = family, prices
        p = family.groups.masses
        worth = p * (family.at_high - family.at_low) - prices * family.span
        self.order = np.argsort(-worth / family.units, kind="stable")
        o = self.order
        self.units, self.worth = family.units[o], worth[o]
        self.density = self.worth / self.units
        self.p, self.low, self.at_low = p[o], family.low[o], family.at_low[o]
        self.price, self.sizes = prices[o], family.groups.sizes[o]
        self.base = float(
            (self.sizes * self.p) @ self.at_low - (self.sizes * self.price) @ self.low
        )
        self.tiny = _TINY * family.capacity
        # What is left over counts as nothing where it is small beside the symbol it would go to.
        self.negligible = np.clip(1e-9 * self.units, 1e-3 * self.tiny, self.tiny)

    def root(self) -> Nodes:
        """Anything."""
        g = len(self.order)
        return (
            np.zeros((1, g)),
            self.sizes[None, :].copy(),
            np.zeros((1, g), bool),
            np.full(1, -1),
            np.zeros(1),
            np.zeros(1),
        )

    def settled(self, nodes: Nodes, b: int) -> int | None:
        """The group of the partly raised symbol."""
        part = int(nodes[3][b])
        return int(self.order[part]) if part >= 0 else None

    def partial(self, j: NDArray[np.intp], amount: NDArray[np.float64]) -> NDArray[np.float64]:
        """Worth of handing a mass to one symbol of group j, above leaving it low."""
        d = amount / self.p[j]
        curve = self.family.curve(self.low[j] + d)
        return np.asarray(self.p[j] * (curve - self.at_low[j]) - self.price[j] * d)

    def relax(self, nodes: Nodes) -> LiftRelaxed:
        """Chords and a continuous knapsack."""
        least, most, _, part, start, end = nodes
        rows, g = np.arange(len(part)), len(self.order)
        settled = part >= 0
        j = np.where(settled, part, 0)
        at_start = np.where(settled, self.partial(j, start), 0.0)
        at_end = np.where(settled, self.partial(j, end), 0.0)
        length = end - start
        slope = np.where(length > 0, (at_end - at_start) / np.where(length > 0, length, 1), -1e300)
        free = (most - least) * self.units
        mass = np.zeros((len(rows), g + 1))
        np.cumsum(free, axis=1, out=mass[:, 1:])
        worth = np.zeros((len(rows), g + 1))
        np.cumsum(free * self.density, axis=1, out=worth[:, 1:])
        left = self.family.capacity - least @ self.units - start
        place = np.searchsorted(-self.density, -slope, side="left")
        carried = np.clip(left - mass[rows, place], 0, length)
        rest = left - carried
        possible = (rest >= -self.tiny) & (rest <= mass[:, -1] + self.tiny)
        rest = np.clip(rest, 0, mass[:, -1])
        critical = (mass[:, 1:] <= rest[:, None] + self.tiny).sum(axis=1)
        k = np.minimum(critical, g - 1)
        extra = np.where(critical < g, np.maximum(rest - mass[rows, k], 0.0), 0.0)
        whole = np.floor(extra / self.units[k] + _TINY)
        over = extra - whole * self.units[k]
        over = np.where(over < self.negligible[k], 0.0, over)
        fixed = self.base + least @ self.worth + worth[rows, critical] + whole * self.worth[k]
        chords = at_start + np.where(length > 0, slope, 0.0) * carried
        counts = np.where(np.arange(g)[None, :] < critical[:, None], most, least)
        counts[rows, k] = np.where(critical < g, least[rows, k] + whole, counts[rows, k])
        # Worth is concave in the mass filled, so the tangent at the group nearest to being filled
        # lies above it, on whichever side of a rounding the mass is.
        tangent = worth[rows, critical] + (rest - mass[rows, critical]) * self.density[k]
        bound = self.base + least @ self.worth + tangent + chords
        return LiftRelaxed(possible, bound, counts, critical, over, fixed, carried)

    def expand(self, nodes: Nodes, floor: float) -> Any:
        """Relax every node, take the columns that rounding gives, and branch."""
        _, _, barred, part, start, end = nodes
        r = self.relax(nodes)
        alive = r.possible & (r.bound > floor)
        if not alive.any():
            return [], [], floor
        rows, g = np.arange(len(part)), len(self.order)
        settled, even, length = part >= 0, r.over == 0, end - start
        k = np.minimum(r.critical, g - 1)
        j = np.where(settled, part, 0)
        amount = start + r.carried
        bound, over, counts, fixed, carried = r.bound, r.over, r.counts, r.fixed, r.carried
        met = self._columns(
            floor, counts, fixed, k, over, even, alive, (settled, j, amount, barred[rows, k])
        )
        children = self._children(
            nodes, bound, k, counts[rows, k], over, alive & ~even, settled, barred[rows, k]
        )
        tiny = np.maximum(np.minimum(self.tiny, 1e-6 * length), 8 * np.spacing(end))
        inside = settled & even & (carried > tiny) & (carried < length - tiny)
        split = np.flatnonzero(alive & inside)
        closed = float(bound[alive & even & ~inside].max(initial=floor))
        if split.size:
            below, above = ([part[split] for part in nodes] for _ in range(2))
            below[5] = amount[split]
            above[4] = amount[split]
            children += [(tuple(below), bound[split]), (tuple(above), bound[split])]
        return met, children, closed

    def _columns(
        self,
        floor: float,
        counts: NDArray[np.float64],
        fixed: NDArray[np.float64],
        k: NDArray[np.intp],
        over: NDArray[np.float64],
        even: NDArray[np.bool_],
        alive: NDArray[np.bool_],
        settled_part: tuple[Any, ...],
    ) -> list[tuple[Columns, NDArray[np.float64]]]:
        """Relaxed points rounded to columns: what is left goes to the partly raised symbol."""
        settled, j, amount, barred = settled_part
        # (which nodes, part, what it carries, whether one more symbol of group k is raised)
        choices = [
            (alive & ~settled & (even | ~barred), np.where(even, -1, k), over, False),
            (alive & settled & even, j, amount, False),
            (alive & settled & ~even & (amount + over <= self.units[j]), j, amount + over, False),
            (alive & settled & ~even & (amount + over >= self.units[k]), j, amount + over, True),
        ]
        met = []
        for which, part, carries, up in choices:
            chosen = np.flatnonzero(which)
            if not chosen.size:
                continue
            kk, pp = k[chosen], part[chosen]
            carried = carries[chosen] - (self.units[kk] if up else 0.0)
            carried = np.where(pp >= 0, carried, 0.0)
            values = fixed[chosen] + (self.worth[kk] if up else 0.0)
            values = values + np.where(pp >= 0, self.partial(np.maximum(pp, 0), carried), 0.0)
            good = np.flatnonzero(values > floor)
            if not good.size:
                continue
            table = counts[chosen[good]]
            if up:
                table[np.arange(len(good)), kk[good]] += 1
            sorted_back = np.empty_like(table)
            sorted_back[:, self.order] = table
            named = np.where(pp[good] >= 0, self.order[np.maximum(pp[good], 0)], -1)
            met.append((Columns(sorted_back, named, carried[good]), values[good]))
        return met

    def _children(
        self,
        nodes: Nodes,
        bound: NDArray[np.float64],
        k: NDArray[np.intp],
        whole: NDArray[np.float64],
        over: NDArray[np.float64],
        uneven: NDArray[np.bool_],
        settled: NDArray[np.bool_],
        barred: NDArray[np.bool_],
    ) -> list[tuple[Nodes, NDArray[np.float64]]]:
        """Group k raises no more than it does, or one more, or has the partly raised symbol."""
        children: list[tuple[Nodes, NDArray[np.float64]]] = []
        chosen = np.flatnonzero(uneven)
        if chosen.size:
            fewer, more = ([part[chosen] for part in nodes] for _ in range(2))
            rows, kk = np.arange(len(chosen)), k[chosen]
            fewer[1][rows, kk] = whole[chosen]
            more[0][rows, kk] = whole[chosen] + 1
            fewer[2][rows, kk] = more[2][rows, kk] = True
            children += [(tuple(fewer), bound[chosen]), (tuple(more), bound[chosen])]
        chosen = np.flatnonzero(uneven & ~settled & ~barred)
        if chosen.size:
            rows, kk = np.arange(len(chosen)), k[chosen]
            for start, end in ((0.0 * over[chosen], over[chosen]), (over[chosen], self.units[kk])):
                child = [part[chosen] for part in nodes]
                child[1][rows, kk] -= 1
                child[3], child[4], child[5] = kk.copy(), start, end
                children.append((tuple(child), bound[chosen]))
        kept = []
        for grown, bounds in children:
            fine = (grown[0] <= grown[1]).all(axis=1)
            kept.append((tuple(part[fine] for part in grown), bounds[fine]))
        return kept
