"""Exact pricing where halves are too long for all symbols: settle large symbols first.

Whether a large symbol is raised is branched on until the rest has short lists, of sets raised or of
sets left low, whichever are fewer. Intervals of the raised mass that the relaxation rules out are
never listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .branching import Budget
from .halves import Curved, Halves, Knapsack, Pick

Vector = NDArray[np.float64]

_CELLS = 8
# Cells that are not ruled out are cut again, into this many.
_FINER = (4, 4)
_DEPTH = 12
_LONGEST = 1 << 16


class _Rest(Curved):
    """A curve as a function of the raised (or the lowered) mass of the symbols still free."""

    without = -1

    def __init__(
        self, curve: Curved, start: float, end: float, base: float, shift: float, sign: int
    ) -> None:
        """The raised mass is ``shift + sign·mass``; ``base`` is what is settled already."""
        self.curve, self.base, self.shift, self.sign = curve, base, shift, sign
        ends = (start - shift) * sign, (end - shift) * sign
        self.start, self.end = max(min(ends), 0.0), max(ends)

    def exact(self, mass: Vector) -> Vector:
        return self.base + self.curve.exact(self.shift + self.sign * mass)

    def line(self, start: float, end: float) -> tuple[float, float]:
        first, last = sorted((self.shift + self.sign * start, self.shift + self.sign * end))
        slope, offset = self.curve.line(first, last)
        return self.sign * slope, self.base + offset + slope * self.shift


@dataclass
class _Node:
    free: NDArray[np.intp]
    raised: tuple[int, ...]
    start: float
    end: float
    depth: int


class Exhaustion:
    """One pricing problem: item masses and worths, and the curves to search."""

    def __init__(self, masses: Vector, worth: Vector, floor: float, per_curve: int) -> None:
        self.masses, self.worth, self.floor, self.per_curve = masses, worth, floor, per_curve
        self.by_size = np.argsort(-masses, kind="stable")
        self.upper = floor

    def search(self, curve: Curved, number: int, budget: Budget) -> list[Pick] | None:
        """The best sets for a curve; ``None`` when it could not be settled."""
        free = self.by_size[self.by_size != curve.without]
        stack = [_Node(free, (), curve.start, curve.end, 0)]
        picks: list[Pick] = []
        while stack:
            if budget.is_over:
                return None
            node = stack.pop()
            for start, end in self._alive(curve, node):
                found = self._leaf(curve, node, start, end, number)
                if found is not None:
                    picks += found
                    continue
                if node.depth >= _DEPTH or not node.free.size:
                    return None
                largest, rest = int(node.free[0]), node.free[1:]
                for raised in (node.raised, (*node.raised, largest)):
                    stack.append(_Node(rest, raised, start, end, node.depth + 1))
        picks.sort(key=lambda pick: -pick.value)
        return picks[: self.per_curve]

    def _alive(self, curve: Curved, node: _Node) -> list[tuple[float, float]]:
        """Runs of intervals of the raised mass that may hold sets above the floor."""
        fill = Knapsack(self.masses[node.free], self.worth[node.free])
        settled = list(node.raised)
        mass, base = float(self.masses[settled].sum()), float(self.worth[settled].sum())
        runs: list[tuple[float, float]] = []
        start = max(node.start, mass)
        end = min(node.end, mass + float(fill.mass[-1]))
        if start > end + 1e-15:
            return []
        cells = list(pairwise(np.linspace(start, max(end, start), _CELLS + 1)))
        for finer in (*_FINER, 1):
            kept = []
            for low, high in cells:
                if high > low:
                    slope, offset = curve.line(low, high)
                else:
                    slope, offset = 0.0, float(curve.exact(np.array([low]))[0])
                bound = base + offset + slope * mass + fill.most(slope, low - mass, high - mass)
                if not bound <= self.floor:
                    kept += list(pairwise(np.linspace(low, high, finer + 1)))
            cells = kept
        for low, high in cells:
            if runs and runs[-1][1] >= low:
                runs[-1] = (runs[-1][0], high)
            else:
                runs.append((low, high))
        return runs

    def _leaf(
        self, curve: Curved, node: _Node, start: float, end: float, number: int
    ) -> list[Pick] | None:
        """All sets by halves; ``None`` where the lists are too long."""
        settled = list(node.raised)
        mass, base = float(self.masses[settled].sum()), float(self.worth[settled].sum())
        masses, worth = self.masses[node.free], self.worth[node.free]
        total = float(masses.sum())
        room, spare = end - mass, total - (start - mass)
        lowered = spare < room
        halves = Halves(masses, spare if lowered else room, _LONGEST)
        if not halves.is_short:
            return None
        if lowered:
            rest = _Rest(curve, start, end, base + float(worth.sum()), mass + total, -1)
        else:
            rest = _Rest(curve, start, end, base, mass, 1)
        if rest.end <= rest.start:
            rest.end = np.nextafter(rest.start, np.inf) + 1e-300
        found, upper, _ = halves.search(
            -worth if lowered else worth, [rest], self.floor, self.per_curve, Budget()
        )
        self.upper = max(self.upper, upper)
        picks = []
        for pick in found:
            raised = np.zeros(len(self.masses), bool)
            raised[settled] = True
            raised[node.free] = ~pick.raised if lowered else pick.raised
            joint = mass + (total - pick.mass if lowered else pick.mass)
            picks.append(Pick(raised, joint, pick.value, number))
        return picks
