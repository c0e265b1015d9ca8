"""Pricing staircase columns: max F(P(S)) − ⟨prices, d(S)⟩ over sets S of raised symbols.

Per unit of the lower value a column with r − 1 = c is worth G(P) = (1 + cP) F(P), a sum of
functions each linear in P times convex in the mass 1 + cP. On an interval of P the convex ones lie
below their chords, which gives a concave quadratic above G that touches it at both ends. The
relaxation fills symbols in the order of price per mass until the quadratic's slope is used up.
Branch on the one symbol that is partly filled, or split the interval of P.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .branching import Nodes, Relaxed, Search
from .columns import Columns, StaircaseFamily

_TINY = 1e-12
_CELLS = 64


@dataclass(frozen=True, eq=False)
class StaircaseRelaxed(Relaxed):
    """Also the interval of P that is in reach, the best P, and the quadratic there."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    target: NDArray[np.float64]
    smooth: NDArray[np.float64]


class StaircaseSearch(Search):
    """Branch and bound for one vector of prices; searches the excess of worth over a floor.

    A column is worth more than ``level`` if and only if its excess (worth − level)(1 + cP) is
    positive. A node is ``(least, most, start, end)``: bounds on the raised symbols of each group,
    and the interval of P. Groups are in the order of price per mass.
    """

    def __init__(self, family: StaircaseFamily, prices: NDArray[np.float64], level: float) -> None:
        self.family, self.level = family, level
        c = family.excess
        p = family.groups.masses
        self.order = np.argsort(prices / p, kind="stable")
        self.p = self.units = p[self.order]
        self.sizes = family.groups.sizes[self.order]
        self.cost = c * prices[self.order]
        self.density = self.cost / self.p
        self.pull = c * float(family.groups.sizes @ prices)
        self.tiny = _TINY * family.total

    def root(self) -> Nodes:
        """Every set, with the range of P cut into cells."""
        cuts = np.linspace(0, self.family.total, _CELLS + 1)
        return (
            np.zeros((_CELLS, len(self.order))),
            np.repeat(self.sizes[None, :], _CELLS, axis=0),
            cuts[:-1],
            cuts[1:],
        )

    def exact(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Excess of a set of mass P, apart from its costs."""
        scale = 1 + self.family.excess * mass
        return np.asarray(scale * (self.family.worth_of(mass) - self.level) + self.pull * mass)

    def quadratic(
        self, start: NDArray[np.float64], end: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients a, b, c of a concave a + b(P − start) + c(P − start)² above ``exact``."""
        f, total = self.family, self.family.total
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
        constant = constant - self.level * low + self.pull * start
        linear = linear - self.level * f.excess + self.pull
        return constant, linear, square

    def relax(self, nodes: Nodes) -> StaircaseRelaxed:
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
        # Fill while a symbol is worth more than it costs: slope at its far end above its density.
        slope = b[:, None] + 2 * c[:, None] * (mass[:, 1:] - start[:, None])
        filled = (slope >= self.density).sum(axis=1)
        k = np.minimum(filled, g - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = start + np.where(c < 0, (self.density[k] - b) / (2 * c), np.inf)
        turn = np.where(c < 0, turn, np.where(b >= self.density[k], np.inf, -np.inf))
        target = np.clip(turn, mass[rows, filled], mass[rows, np.minimum(filled + 1, g)])
        target = np.clip(target, start, end)
        critical = (mass[:, 1:] <= target[:, None] + self.tiny).sum(axis=1)
        k = np.minimum(critical, g - 1)
        extra = np.where(critical < g, np.maximum(target - mass[rows, k], 0.0), 0.0)
        whole = np.floor(extra / self.p[k] + _TINY)
        over = extra - whole * self.p[k]
        x = target - start
        smooth = a + (b + c * x) * x
        # Costs are convex in the mass filled: a tangent lies below them, however P was rounded.
        spent = costs[rows, critical] + (target - mass[rows, critical]) * self.density[k]
        bound = smooth - spent
        counts = np.where(np.arange(g)[None, :] < critical[:, None], most, least)
        counts[rows, k] = np.where(critical < g, least[rows, k] + whole, counts[rows, k])
        return StaircaseRelaxed(possible, bound, counts, critical, over, start, end, target, smooth)

    def expand(self, nodes: Nodes, floor: float) -> Any:
        """Relax every node, take the rounded sets, and branch."""
        least, most, _, _ = nodes
        r = self.relax(nodes)
        alive = r.possible & (r.bound > floor)
        if not alive.any():
            return [], [], floor
        rows, g = np.arange(len(least)), len(self.order)
        even = r.over < self.tiny
        k = np.minimum(r.critical, g - 1)
        counts = r.counts
        met = []
        for up in (False, True):
            chosen = np.flatnonzero(alive & ~even) if up else np.flatnonzero(alive)
            if not chosen.size:
                continue
            table = counts[chosen]
            if up:
                table[np.arange(len(chosen)), k[chosen]] += 1
            values = self.exact(table @ self.p) - table @ self.cost
            good = np.flatnonzero(values > floor)
            if good.size:
                met.append((self._columns(table[good]), values[good]))
        slack = r.smooth - self.exact(r.target)
        narrowed = (least, most, r.start, r.end)
        inside = (r.target > r.start + self.tiny) & (r.target < r.end - self.tiny)
        loose = (even | (slack > 0.5 * (r.bound - floor))) & inside
        split, divided = alive & loose, alive & ~loose & ~even
        children = self._children(narrowed, r.bound, r.target, k, counts[rows, k], split, divided)
        closed = float(r.bound[alive & ~split & ~divided].max(initial=floor))
        return met, children, closed

    def _columns(self, table: NDArray[np.float64]) -> Columns:
        back = np.empty_like(table)
        back[:, self.order] = table
        n = len(back)
        return Columns(back, np.full(n, -1), np.zeros(n))

    def _children(
        self,
        nodes: Nodes,
        bound: NDArray[np.float64],
        target: NDArray[np.float64],
        k: NDArray[np.intp],
        whole: NDArray[np.float64],
        split: NDArray[np.bool_],
        divided: NDArray[np.bool_],
    ) -> list[tuple[Nodes, NDArray[np.float64]]]:
        """Split the interval where the quadratic is what is loose; elsewhere branch on group k."""
        children: list[tuple[Nodes, NDArray[np.float64]]] = []
        chosen = np.flatnonzero(split)
        if chosen.size:
            below, above = ([part[chosen] for part in nodes] for _ in range(2))
            below[3] = target[chosen]
            above[2] = target[chosen]
            children += [(tuple(below), bound[chosen]), (tuple(above), bound[chosen])]
        chosen = np.flatnonzero(divided)
        if chosen.size:
            fewer, more = ([part[chosen] for part in nodes] for _ in range(2))
            rows, kk = np.arange(len(chosen)), k[chosen]
            fewer[1][rows, kk] = whole[chosen]
            more[0][rows, kk] = whole[chosen] + 1
            children += [(tuple(fewer), bound[chosen]), (tuple(more), bound[chosen])]
        return children
