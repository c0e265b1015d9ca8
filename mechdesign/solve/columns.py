"""Extreme columns of two-sided cones: what they look like, what they are worth, how they combine.

A column is written by the deviations d = k/q − 1 of its lifts from one, so that nothing is lost
when levels are small. Symbols of equal mass form a group; by symmetry the prices of a group can be
taken equal, and a column is then known by how many symbols of each group it raises.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..prior import Prior
from .program import TwoSided

Vector = NDArray[np.float64]
Curve = Callable[[Vector], Vector]


#: Ratios above this are as good as none; design keeps below, bounds do not look at them.
LARGEST_RATIO = 1e100
_CUTS = 4097


@dataclass(frozen=True, eq=False)
class Groups:
    """Symbols of equal mass, together.

    Attributes
    ----------
    masses : ``(G,)`` mass of one symbol of each group
    sizes : ``(G,)`` number of symbols
    others : ``(G,)`` mass of all symbols but one of the group; 1 − mass would lose all its digits
        where an atom is nearly one
    members : positions of the symbols of each group
    """

    masses: Vector
    sizes: Vector
    others: Vector
    members: tuple[NDArray[np.intp], ...]

    @classmethod
    def of(cls, prior: Prior) -> Groups:
        """Groups of a prior, by exact equality of masses."""
        found: dict[int, list[int]] = {}
        for i, weight in enumerate(prior.weights):
            found.setdefault(weight, []).append(i)
        members = tuple(np.array(places) for places in found.values())
        p = prior.probabilities
        return cls(
            np.array([p[places[0]] for places in members]),
            np.array([float(len(places)) for places in members]),
            np.array([(prior.total - weight) / prior.total for weight in found]),
            members,
        )

    def __len__(self) -> int:
        return len(self.members)

    def spread(self, values: Vector) -> Vector:
        """A value of each group, handed to its symbols: ``(…, G)`` to ``(…, n)``."""
        size = sum(len(places) for places in self.members)
        spread = np.empty((*values.shape[:-1], size))
        for g, places in enumerate(self.members):
            spread[..., places] = values[..., g, None]
        return spread

    def average(self, values: Vector) -> Vector:
        """Mean over the symbols of each group: ``(n,)`` to ``(G,)``."""
        return np.array([values[places].mean() for places in self.members])


@dataclass(frozen=True, eq=False)
class Columns:
    """C extreme columns: ``counts`` raised symbols of each group, and for some one symbol of group
    ``part`` (else −1) that carries the mass ``amount`` above its lower bound.
    """

    counts: Vector
    part: NDArray[np.intp]
    amount: Vector

    def __len__(self) -> int:
        return len(self.part)

    @classmethod
    def join(cls, parts: list[Columns]) -> Columns:
        """Several batches as one."""
        return cls(
            np.concatenate([c.counts for c in parts]),
            np.concatenate([c.part for c in parts]),
            np.concatenate([c.amount for c in parts]),
        )

    def take(self, places: NDArray[np.intp]) -> Columns:
        """Some of them."""
        return Columns(self.counts[places], self.part[places], self.amount[places])


class Family(ABC):
    """The extreme columns of one cone for one prior and one convex function F of the lifts.

    Attributes
    ----------
    groups : the symbols
    reach : ``(G,)`` largest deviation of a lift from one, either way
    curve : F, as a function of deviations
    """

    groups: Groups
    reach: Vector
    curve: Curve

    @abstractmethod
    def averages(self, columns: Columns) -> Vector:
        """Mean deviation of each group in each column, ``(C, G)``."""

    @abstractmethod
    def worths(self, columns: Columns) -> Vector:
        """F of each column, per unit of output mass, ``(C,)``."""

    @abstractmethod
    def levels(self, columns: Columns, i: int) -> list[tuple[float, float, float]]:
        """Deviations of column i in each group: lowered, raised, and that of the part."""

    @property
    @abstractmethod
    def size(self) -> float:
        """An upper bound on |F| over the cone, for rounding allowances."""

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The steepest chord of F from or to the ends of the deviations, per unit of deviation."""

    @property
    @abstractmethod
    def room(self) -> float:
        """Mass times deviation that a column hands out: what sums of it are rounded to."""

    def patterns(self, columns: Columns, i: int) -> Iterator[tuple[float, Vector]]:
        """Columns over the n symbols whose mixture treats equal symbols alike, with their shares.

        The raised symbols of each group rotate together: with u running from 0 to 1, group g of m
        symbols starts at position ⌊u m⌋, so that there are at most n different columns.
        """
        sizes = [len(places) for places in self.groups.members]
        counts, part = columns.counts[i], int(columns.part[i])
        turning = [m for g, m in enumerate(sizes) if (0 < counts[g] < m) or (g == part and m > 1)]
        steps = sorted({(k, m) for m in turning for k in range(m)}, key=lambda s: s[0] / s[1])
        starts = sorted({k * (_common(turning) // m) for k, m in steps}) or [0]
        whole = _common(turning)
        levels = self.levels(columns, i)
        for begin, end in zip(starts, [*starts[1:], whole], strict=True):
            deviations = np.empty(sum(sizes))
            for g, places in enumerate(self.groups.members):
                m, raised = sizes[g], int(counts[g])
                low, high, partly = levels[g]
                row = np.full(m, low)
                shift = begin * m // whole if m in turning else 0
                row[(np.arange(raised) + shift) % m] = high
                if g == part:
                    row[(raised + shift) % m] = partly
                deviations[places] = row
            yield (end - begin) / whole, deviations


def _common(sizes: list[int]) -> int:
    return math.lcm(*sizes) if sizes else 1


class LiftFamily(Family):
    """Columns with lifts in [l, h]: at an extreme point all but one symbol are at a bound.

    The bounds of a symbol are tightened to what the others leave it.
    """

    def __init__(self, groups: Groups, below: float, above: float, curve: Curve) -> None:
        """``below`` = 1 − l and ``above`` = h − 1 (which may be infinite)."""
        self.groups, self.curve = groups, curve
        self.below, self.above = below, above
        p = groups.masses
        room = groups.others / p
        with np.errstate(over="ignore"):  # beyond all floats is as good as no bound
            lowest = above * room if above < math.inf else np.full(len(p), np.inf)
        self.low = -np.minimum(below, lowest)
        self.high = np.minimum(above, below * room)
        self.span = self.high - self.low
        #: Mass that raising one symbol takes, and mass there is to hand out.
        self.units = p * self.span
        self.capacity = -float((groups.sizes * p) @ self.low)
        self.at_low, self.at_high = curve(self.low), curve(self.high)
        self.reach = np.maximum(-self.low, self.high)

    def averages(self, columns: Columns) -> Vector:
        """Mean deviation of each group in each column, ``(C, G)``."""
        found = self.low + columns.counts * self.span / self.groups.sizes
        rows = np.flatnonzero(columns.part >= 0)
        j = columns.part[rows]
        found[rows, j] += columns.amount[rows] / self.groups.masses[j] / self.groups.sizes[j]
        return np.asarray(found)

    def worths(self, columns: Columns) -> Vector:
        """F of each column, ``(C,)``."""
        p, m = self.groups.masses, self.groups.sizes
        worth = (m - columns.counts) @ (p * self.at_low) + columns.counts @ (p * self.at_high)
        rows = np.flatnonzero(columns.part >= 0)
        j = columns.part[rows]
        partly = self.curve(self.low[j] + columns.amount[rows] / p[j])
        worth[rows] += p[j] * (partly - self.at_low[j])
        return np.asarray(worth)

    def levels(self, columns: Columns, i: int) -> list[tuple[float, float, float]]:
        """Lowered, raised and partly raised deviation of each group."""
        part = self.low + columns.amount[i] / self.groups.masses
        return list(zip(self.low.tolist(), self.high.tolist(), part.tolist(), strict=True))

    @property
    def steepest(self) -> float:
        """From or to the bounds of any symbol."""
        return _steepest(self.low, self.high, self.at_low, self.at_high)

    @property
    def room(self) -> float:
        """The capacity."""
        return self.capacity

    @property
    def size(self) -> float:
        """An upper bound on |F| over the cone."""
        p, m = self.groups.masses, self.groups.sizes
        return float((m * p) @ np.maximum(np.abs(self.at_low), np.abs(self.at_high)))


class StaircaseFamily(Family):
    """Columns with max k ≤ r·min k: an extreme one takes two values, 1 and r ([Kairouz2016])."""

    def __init__(self, groups: Groups, excess: float, curve: Curve) -> None:
        """``excess`` = r − 1."""
        self.groups, self.excess, self.curve = groups, excess, curve
        p = groups.masses
        self.total = float(groups.sizes @ p)
        # No lift leaves [1/r, r], nor exceeds what mass 1 allows.
        self.reach = np.minimum(excess, 1 / p)

    def mass(self, columns: Columns) -> Vector:
        """Prior mass of the raised symbols, ``(C,)``."""
        return np.asarray(columns.counts @ self.groups.masses)

    def deviation(self, mass: Vector, rest: Vector | None = None) -> tuple[Vector, Vector]:
        """Deviations of raised and of lowered lifts, for raised mass P and the rest of the mass."""
        scale = 1 + self.excess * mass
        left = self.total - mass if rest is None else rest
        return self.excess * left / scale, -self.excess * mass / scale

    def worth_of(self, mass: Vector) -> Vector:
        """F of a staircase whose raised symbols have mass P."""
        up, down = self.deviation(mass)
        return np.asarray(mass * self.curve(up) + (self.total - mass) * self.curve(down))

    def averages(self, columns: Columns) -> Vector:
        """Mean deviation of each group in each column, ``(C, G)``."""
        up, down = self.deviation(self.mass(columns))
        share = columns.counts / self.groups.sizes
        return np.asarray(down[:, None] + share * (up - down)[:, None])

    def worths(self, columns: Columns) -> Vector:
        """F of each column, ``(C,)``."""
        return self.worth_of(self.mass(columns))

    def levels(self, columns: Columns, i: int) -> list[tuple[float, float, float]]:
        """Lowered and raised deviation, the same in each group."""
        up, down = self.deviation(self.mass(columns.take(np.array([i]))))
        return [(float(down[0]), float(up[0]), float(down[0]))] * len(self.groups)

    @property
    def best_mass(self) -> float:
        """The mass P whose staircases are worth most, whatever sets there are."""
        cuts = np.linspace(0, self.total, _CUTS)
        return float(cuts[np.argmax(self.worth_of(cuts))])

    def _ends(self) -> tuple[Vector, Vector]:
        """The least and the largest deviation of any column, and F there."""
        low = -self.excess / (1 + self.excess)
        high = min(self.excess, 1 / float(self.groups.masses.min()))
        ends = np.array([low, high])
        return ends, self.curve(ends)

    @property
    def steepest(self) -> float:
        """From or to the ends of what any column can have."""
        ends, worths = self._ends()
        return _steepest(ends[:1], ends[1:], worths[:1], worths[1:])

    @property
    def room(self) -> float:
        """All mass at the excess."""
        return self.total * self.excess

    @property
    def size(self) -> float:
        """An upper bound on |F| over the cone."""
        return float(np.abs(self._ends()[1]).max())


def _steepest(low: Vector, high: Vector, at_low: Vector, at_high: Vector) -> float:
    slopes = [
        np.abs(rise) / np.where(run > 0, run, 1.0)
        for rise, run in ((at_low, -low), (at_high, high), (at_high - at_low, high - low))
    ]
    return float(np.max(slopes))


def make_family(prior: Prior, sides: TwoSided, curve: Curve) -> Family | None:
    """The extreme columns of a two-sided cone; ``None`` where lift bounds and a ratio both bite."""
    groups = Groups.of(prior)
    if sides.ratio == math.inf:
        return LiftFamily(groups, 1 - sides.lower, sides.upper - 1, curve)
    r, pmin = sides.ratio, prior.pmin
    # A ratio of at most r keeps lifts between these two.
    if sides.upper >= 1 / (pmin + (1 - pmin) / r) and sides.lower * (pmin + r * (1 - pmin)) <= 1:
        return StaircaseFamily(groups, min(r, LARGEST_RATIO) - 1, curve)
    if sides.lower > 0 and sides.upper <= r * sides.lower:
        return LiftFamily(groups, 1 - sides.lower, sides.upper - 1, curve)
    return None
