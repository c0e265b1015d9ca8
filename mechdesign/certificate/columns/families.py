"""Extreme columns of two-sided cones: what they look like, their values, how they combine.

A column is written by the deviations d = k/q − 1 of its lifts from one, so that nothing is lost
when levels are small. Symbols of equal mass form a group; by symmetry the prices of a group can be
taken equal, and a column is then known by how many symbols of each group it has at their upper
lift bound. Staircases are the extreme columns under LDP by [Kairouz2016].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...prior import Prior
from ...program.program import SublinearProgram, TwoSided
from ...utility.sublinear import FInformation

Vector = NDArray[np.float64]
Curve = Callable[[Vector], Vector]

#: Ratios above this are as good as none; design keeps below, bounds do not look at them.
LARGEST_RATIO = 1e100
_CUTS = 4097
# Cuts around the best one, and how often they are made finer.
_FINE_CUTS, _FINER = 129, 3


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

    @cached_property
    def symbols(self) -> NDArray[np.intp]:
        """The group of every symbol, group by group, ``(n,)``."""
        return np.repeat(np.arange(len(self)), self.sizes.astype(int))

    def spread(self, values: Vector) -> Vector:
        """A value of each group, handed to its symbols: ``(…, G)`` to ``(…, n)``."""
        spread = np.empty((*values.shape[:-1], len(self.symbols)))
        for g, places in enumerate(self.members):
            spread[..., places] = values[..., g, None]
        return spread

    def average(self, values: Vector) -> Vector:
        """Mean over the symbols of each group: ``(n,)`` to ``(G,)``."""
        return np.array([values[places].mean() for places in self.members])


@dataclass(frozen=True, eq=False)
class Columns:
    """C extreme columns: ``counts`` symbols of each group at their upper lift bound, and for some
    columns one symbol of group ``part`` (else −1) with the mass ``amount`` above its lower bound.
    """

    counts: Vector
    part: NDArray[np.intp]
    amount: Vector

    def __len__(self) -> int:
        return len(self.part)

    @classmethod
    def whole(cls, counts: Vector) -> Columns:
        """Columns without a symbol between its bounds."""
        return cls(counts, np.full(len(counts), -1), np.zeros(len(counts)))

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
    units : ``(G,)`` mass that one symbol takes when it goes from its lower to its upper bound
    capacity : mass there is to take
    room : mass times deviation that a column hands out: what sums of it are rounded to
    """

    groups: Groups
    reach: Vector
    curve: Curve
    units: Vector
    capacity: float
    room: float

    @property
    @abstractmethod
    def target(self) -> float:
        """The mass that columns of the largest value take, whatever the prices."""

    @abstractmethod
    def averages(self, columns: Columns) -> Vector:
        """Mean deviation of each group in each column, ``(C, G)``."""

    @abstractmethod
    def values(self, columns: Columns) -> Vector:
        """F of each column, per unit of output mass, ``(C,)``."""

    @abstractmethod
    def levels(self, columns: Columns, i: int) -> list[tuple[float, float, float]]:
        """Deviations of column i in each group: at the lower bound, at the upper, and between."""

    @property
    @abstractmethod
    def size(self) -> float:
        """An upper bound on |F| over the cone, for rounding allowances."""

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The steepest chord of F from or to the ends of the deviations, per unit of deviation."""

    def patterns(self, columns: Columns, i: int) -> Iterator[tuple[float, Vector]]:
        """Columns over the n symbols whose mixture treats equal symbols alike, with their shares.

        The symbols at the upper bound rotate together through each group: with u running from 0 to
        1, group g of m symbols starts at position ⌊u m⌋, so that at most n columns differ.
        """
        sizes = [len(places) for places in self.groups.members]
        counts, part = columns.counts[i], int(columns.part[i])
        turning = {m for g, m in enumerate(sizes) if (0 < counts[g] < m) or (g == part and m > 1)}
        whole = math.lcm(*turning)
        starts = sorted({k * (whole // m) for m in turning for k in range(m)}) or [0]
        levels = self.levels(columns, i)
        for begin, end in zip(starts, [*starts[1:], whole], strict=True):
            deviations = np.empty(sum(sizes))
            for g, places in enumerate(self.groups.members):
                m, above = sizes[g], int(counts[g])
                low, high, between = levels[g]
                row = np.full(m, low)
                shift = begin * m // whole if m in turning else 0
                row[(np.arange(above) + shift) % m] = high
                if g == part:
                    row[(above + shift) % m] = between
                deviations[places] = row
            yield (end - begin) / whole, deviations


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
        self.units = p * self.span
        self.capacity = self.room = -float((groups.sizes * p) @ self.low)
        self.at_low, self.at_high = curve(self.low), curve(self.high)
        self.reach = np.maximum(-self.low, self.high)

    @property
    def target(self) -> float:
        """Deviations have mean zero, so every column takes all there is."""
        return self.capacity

    def averages(self, columns: Columns) -> Vector:
        """Mean deviation of each group in each column, ``(C, G)``."""
        found = self.low + columns.counts * self.span / self.groups.sizes
        rows = np.flatnonzero(columns.part >= 0)
        j = columns.part[rows]
        found[rows, j] += columns.amount[rows] / self.groups.masses[j] / self.groups.sizes[j]
        return np.asarray(found)

    def values(self, columns: Columns) -> Vector:
        """F of each column, ``(C,)``."""
        p, m = self.groups.masses, self.groups.sizes
        value = (m - columns.counts) @ (p * self.at_low) + columns.counts @ (p * self.at_high)
        rows = np.flatnonzero(columns.part >= 0)
        j = columns.part[rows]
        value[rows] += self.between(j, columns.amount[rows])
        return np.asarray(value)

    def between(self, j: NDArray[np.intp], amount: Vector) -> Vector:
        """What one symbol of group j adds to F with a mass above its lower bound."""
        p = self.groups.masses[j]
        return np.asarray(p * (self.curve(self.low[j] + amount / p) - self.at_low[j]))

    def levels(self, columns: Columns, i: int) -> list[tuple[float, float, float]]:
        """Deviations of each group at its bounds, and of a symbol between them."""
        between = self.low + columns.amount[i] / self.groups.masses
        return list(zip(self.low.tolist(), self.high.tolist(), between.tolist(), strict=True))

    @property
    def steepest(self) -> float:
        """From or to the bounds of any symbol."""
        return _steepest(self.low, self.high, self.at_low, self.at_high)

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
        self.units = groups.masses
        self.capacity = float(groups.sizes @ groups.masses)
        self.room = self.capacity * excess
        # No lift leaves [1/r, r], nor exceeds what mass 1 allows.
        self.reach = np.minimum(excess, 1 / groups.masses)

    def mass(self, columns: Columns) -> Vector:
        """Prior mass of the symbols at the upper value, ``(C,)``."""
        return np.asarray(columns.counts @ self.groups.masses)

    def deviation(self, mass: Vector) -> tuple[Vector, Vector]:
        """Deviations at the upper and at the lower value, for the mass P at the upper one."""
        scale = 1 + self.excess * mass
        return self.excess * (self.capacity - mass) / scale, -self.excess * mass / scale

    def value_at(self, mass: Vector) -> Vector:
        """F of a staircase whose symbols at the upper value have mass P."""
        up, down = self.deviation(mass)
        return np.asarray(mass * self.curve(up) + (self.capacity - mass) * self.curve(down))

    def averages(self, columns: Columns) -> Vector:
        """Mean deviation of each group in each column, ``(C, G)``."""
        up, down = self.deviation(self.mass(columns))
        share = columns.counts / self.groups.sizes
        return np.asarray(down[:, None] + share * (up - down)[:, None])

    def values(self, columns: Columns) -> Vector:
        """F of each column, ``(C,)``."""
        return self.value_at(self.mass(columns))

    def levels(self, columns: Columns, i: int) -> list[tuple[float, float, float]]:
        """The two deviations, the same in each group."""
        up, down = self.deviation(self.mass(columns.take(np.array([i]))))
        return [(float(down[0]), float(up[0]), float(down[0]))] * len(self.groups)

    @cached_property
    def target(self) -> float:
        """The mass P whose staircases have the largest value, whatever sets there are."""
        cuts = np.linspace(0, self.capacity, _CUTS)
        return float(cuts[np.argmax(self.value_at(cuts))])

    @cached_property
    def finest_target(self) -> float:
        """The target to nine digits."""
        best, reach = self.target, self.capacity / (_CUTS - 1)
        for _ in range(_FINER):
            cuts = np.clip(best + reach * np.linspace(-1, 1, _FINE_CUTS), 0, self.capacity)
            best = float(cuts[np.argmax(self.value_at(cuts))])
            reach *= 4 / _FINE_CUTS
        return best

    def _ends(self) -> tuple[Vector, Vector]:
        """The least and the largest deviation of any column, and F there."""
        low = -self.excess / (1 + self.excess)
        high = min(self.excess, 1 / float(self.groups.masses.min()))
        ends = np.array([low, high])
        return ends, self.curve(ends)

    @property
    def steepest(self) -> float:
        """From or to the ends of what any column can have."""
        ends, values = self._ends()
        return _steepest(ends[:1], ends[1:], values[:1], values[1:])

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
    """The extreme columns of a two-sided cone; ``None`` where lift bounds and a ratio both bind."""
    groups = Groups.of(prior)
    r, pmin = sides.ratio, prior.pmin
    # A ratio of at most r keeps lifts between these two.
    if (
        r < math.inf
        and sides.upper >= 1 / (pmin + (1 - pmin) / r)
        and sides.lower * (pmin + r * (1 - pmin)) <= 1
    ):
        return StaircaseFamily(groups, min(r, LARGEST_RATIO) - 1, curve)
    if r == math.inf or (sides.lower > 0 and sides.upper <= r * sides.lower):
        return LiftFamily(groups, 1 - sides.lower, sides.upper - 1, curve)
    return None


def family_of(program: SublinearProgram) -> Family | str:
    """The extreme columns that solve a problem, or the reason why it has none of a family."""
    if not isinstance(program.utility, FInformation):
        return f"{program.utility!r} is not an f-information, so columns cannot be priced"
    if program.sides is None:
        return "the bounds are not one box of lifts or one LDP level"
    family = make_family(program.prior, program.sides, program.utility.excess)
    if family is None:
        return "a bound on lifts and an LDP level both bind, which has other extreme columns"
    return family


def bounded_family_of(program: SublinearProgram) -> Family | str:
    """As :func:`family_of`, of lift boxes only those with an upper side."""
    family = family_of(program)
    if isinstance(family, LiftFamily) and not np.isfinite(family.above):
        return "there is no upper bound on the lift, and then posteriors fill a simplex"
    return family


def beyond_floats(program: SublinearProgram) -> str:
    """What is said where no float holds the value of a column."""
    return (
        f"{program}: the value of an extreme column is above the largest float; merge the symbols "
        "of smallest mass"
    )
