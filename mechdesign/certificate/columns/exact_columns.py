"""Every extreme column of a cone in rationals, for few symbols.

A column is written by the deviations d = k/q − 1 of its lifts from one. Masses and levels are
exact, and so are the columns: at masses of 1e-30 floats can tell neither which sets of symbols at
their upper lift bound fit, nor what they leave to the one that lies between its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...prior import Prior
from ...privacy.constraint import Rounding
from ...program.program import Cone, Program, SublinearProgram, TwoSided
from .families import LARGEST_RATIO, LiftFamily, StaircaseFamily, make_family

Vector = NDArray[np.float64]
#: Deviations of one column from the constant one.
Deviations = tuple[Fraction, ...]
#: A vector in integers: a ray of a cone, or a row of its inequalities.
Integers = tuple[int, ...]


@dataclass(frozen=True)
class LiftBox:
    """Deviations of lifts in [l, h], with mean zero under the prior.

    Attributes
    ----------
    masses : of the symbols
    low, high : ends of the deviation of each symbol, as far as the others leave room for them
    units : what going from the lower to the upper end takes of the mean, in units of 1/scale
    capacity : what there is to take with every symbol at its lower end, in the same units
    scale : a common denominator, so that sums over sets of symbols are of integers
    """

    masses: tuple[Fraction, ...]
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    units: tuple[int, ...]
    capacity: int
    scale: int

    @classmethod
    def of(cls, prior: Prior, sides: TwoSided) -> LiftBox:
        """The box that bounds on the lift leave under a prior."""
        upper = None if sides.upper == math.inf else Fraction(sides.upper)
        return cls.within(prior, Fraction(sides.lower), upper)

    @classmethod
    def within(cls, prior: Prior, lower: Fraction, upper: Fraction | None) -> LiftBox:
        """The box of lifts between two ends, the upper one ``None`` for no bound."""
        masses = tuple(prior.mass(x) for x in range(len(prior)))
        below, above = 1 - lower, None if upper is None else upper - 1
        # What one symbol gains is lost by the others, so the ends may be out of its reach.
        room = [1 / p - 1 for p in masses]
        low = tuple(-below if above is None else -min(below, above * r) for r in room)
        high = tuple(below * r if above is None else min(above, below * r) for r in room)
        units = [p * (b - a) for p, a, b in zip(masses, low, high, strict=True)]
        capacity = -sum(p * a for p, a in zip(masses, low, strict=True))
        scale = math.lcm(capacity.denominator, *(u.denominator for u in units))
        whole = tuple(int(u * scale) for u in units)
        return cls(masses, low, high, whole, int(capacity * scale), scale)

    def between(self, symbol: int, left: int) -> Fraction | None:
        """The deviation of a symbol that takes what is left; ``None`` where it cannot."""
        if not 0 <= left <= self.units[symbol]:
            return None
        return self.low[symbol] + Fraction(left, self.scale) / self.masses[symbol]

    def columns(self) -> Iterator[Deviations]:
        """Lifts at the ends of [l, h] but for one symbol, which takes what is left."""
        n = len(self.masses)
        for j in range(n):
            others = [x for x in range(n) if x != j]
            for ends in product((False, True), repeat=n - 1):
                upper = [x for x, up in zip(others, ends, strict=True) if up]
                deviation = self.between(j, self.capacity - sum(self.units[x] for x in upper))
                if deviation is not None:
                    column = list(self.low)
                    for x in upper:
                        column[x] = self.high[x]
                    column[j] = deviation
                    yield tuple(column)


class Staircase(NamedTuple):
    """A column of two values, in proportion r : 1.

    Attributes
    ----------
    upper : which symbols have the upper value
    mass : their prior mass
    high, low : deviations of lifts there and elsewhere
    """

    upper: tuple[bool, ...]
    mass: Fraction
    high: Fraction
    low: Fraction

    @property
    def deviations(self) -> Deviations:
        """Of every symbol."""
        return tuple(self.high if up else self.low for up in self.upper)


def staircases(prior: Prior, ratio: Fraction) -> Iterator[Staircase]:
    """The staircase of every set of symbols but the empty one and that of all, which are constant.

    They are the extreme columns under a bound on the ratio alone ([Kairouz2016]).
    """
    above, below = (ratio - 1).as_integer_ratio()
    whole, symbols = prior.total, range(len(prior))
    for bits, weight in enumerate(subset_sums(prior.weights)):
        if 0 < bits < (1 << len(prior)) - 1:
            scale = below * whole + above * weight
            yield Staircase(
                tuple(bool(bits >> x & 1) for x in symbols),
                Fraction(weight, whole),
                Fraction(above * (whole - weight), scale),
                Fraction(-above * weight, scale),
            )


def subset_sums(values: Iterable[Any]) -> list[Any]:
    """The sum over every set of places, whose bits are the position."""
    sums: list[Any] = [0]
    for value in values:
        sums += [value + one for one in sums]
    return sums


def listed_columns(prior: Prior, sides: TwoSided) -> Iterator[Deviations]:
    """Every extreme column, some twice.

    For few symbols: there are up to n 2^(n−1) of them, twice that and 2^n more where lift bounds
    and a ratio both bind.
    """
    family = make_family(prior, sides, np.abs)
    if isinstance(family, StaircaseFamily):
        ratio = Fraction(min(sides.ratio, LARGEST_RATIO))
        return (found.deviations for found in staircases(prior, ratio))
    if isinstance(family, LiftFamily):
        return LiftBox.of(prior, sides).columns()
    return _bounded_staircases(prior, sides)


def _bounded_staircases(prior: Prior, sides: TwoSided) -> Iterator[Deviations]:
    """Extreme columns where bounds l, h on the lift and a ratio r both bind.

    With t the least lift of a column, either the ratio asks nothing, or all lifts are t or r t, or
    t is l or h/r, so that all but one are at max(l, t) or min(h, r t).
    """
    ratio, lower = Fraction(min(sides.ratio, LARGEST_RATIO)), Fraction(sides.lower)
    upper = None if sides.upper == math.inf else Fraction(sides.upper)
    ends = set[tuple[Fraction, Fraction]]()
    if lower * ratio >= 1:
        ends.add((lower, lower * ratio if upper is None else min(upper, lower * ratio)))
    if upper is not None and upper <= ratio:
        ends.add((max(lower, upper / ratio), upper))
    for low, high in sorted(ends):
        for column in LiftBox.within(prior, low, high).columns():
            # An end that the ratio makes is none where nothing is at the other.
            if (high == upper or low - 1 in column) and (low == lower or high - 1 in column):
                yield column
    for found in staircases(prior, ratio):
        if 1 + found.low >= lower and (upper is None or 1 + found.high <= upper):
            yield found.deviations


def columns_of_cone(cone: Cone, sides: TwoSided | None, rounding: Rounding) -> Iterator[Deviations]:
    """Every extreme column of a cone: by the sides that its rows amount to, or without any by the
    rows themselves, whose factors are rounded as asked.

    Columns that no kernel can have are left out: the columns of one add up to ones, so that where
    these meet a row with equality every column does.

    Raises :class:`SolverError` for rows too many to list.
    """
    if sides is not None:
        return listed_columns(cone.prior, sides)
    rows = cone.inequalities(rounding)
    rays = extreme_rays(rows, len(cone.prior))
    tight = [row for row in rows if sum(row) == 0]
    met = [ray for ray in rays if not any(sum(map(mul, row, ray)) for row in tight)]
    return columns_of_rays(cone.prior, met)


def columns_of_rays(prior: Prior, rays: Sequence[Sequence[int]]) -> Iterator[Deviations]:
    """Rays of a cone of likelihoods, as deviations."""
    for ray in rays:
        mass = sum(w * k for w, k in zip(prior.weights, ray, strict=True))
        if mass:
            yield tuple(Fraction(k * prior.total - mass, mass) for k in ray)


def extreme_rays(rows: Sequence[Integers], n: int) -> list[Integers]:
    """Extreme rays of {k ≥ 0, a·k ≥ 0 for each row a} for n symbols, in integers: the double
    description method ([FukudaProdon1996]).

    Rows are taken in one after the other; rays on either side of one are joined where they are
    adjacent, that is where no third ray meets all the inequalities that both meet with equality.
    """
    rays = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    # Bits of the inequalities that a ray meets with equality; the first n are k ≥ 0.
    tight = [((1 << n) - 1) & ~(1 << i) for i in range(n)]
    for number, row in enumerate(rows):
        bit = 1 << (n + number)
        values = [sum(a * k for a, k in zip(row, ray, strict=True)) for ray in rays]
        above = [i for i, v in enumerate(values) if v > 0]
        on = [i for i, v in enumerate(values) if v == 0]
        below = [i for i, v in enumerate(values) if v < 0]
        new_rays = [rays[i] for i in above + on]
        new_tight = [tight[i] for i in above] + [tight[i] | bit for i in on]
        meeting = _meeting(tight, n + number) if above and below else []
        every = (1 << len(rays)) - 1
        for i, j in product(above, below):
            common = tight[i] & tight[j]
            if common.bit_count() < n - 2 or not _only_two(common, meeting, every):
                continue
            ray = [values[i] * b - values[j] * a for a, b in zip(rays[i], rays[j], strict=True)]
            divisor = math.gcd(*ray)
            new_rays.append(tuple(v // divisor for v in ray))
            new_tight.append(common | bit)
        rays, tight = new_rays, new_tight
    return rays


def _meeting(tight: Sequence[int], count: int) -> list[int]:
    """For each of some inequalities the rays that meet it with equality, as bits."""
    found = [0] * count
    for number, bits in enumerate(tight):
        one = 1 << number
        while bits:
            lowest = bits & -bits
            found[lowest.bit_length() - 1] |= one
            bits ^= lowest
    return found


def _only_two(common: int, meeting: Sequence[int], rays: int) -> bool:
    """Whether no more than two of some rays meet all of some inequalities with equality."""
    while common and rays.bit_count() > 2:
        lowest = common & -common
        rays &= meeting[lowest.bit_length() - 1]
        common ^= lowest
    return rays.bit_count() == 2


#: Symbols up to which extreme columns of two-sided cones, and of any cone, are listed.
MOST_SYMBOLS, MOST_SYMBOLS_ANY = 12, 6

# Room below e^ε for their kernels, of which the weights are rounded to multiples of 2^-53.
_ROOM = 2e-15


def too_large(program: Program, sides: TwoSided | None) -> str | None:
    """Why the extreme columns of a problem are not listed, or ``None``."""
    n = len(program.prior)
    two = sides is not None
    most = MOST_SYMBOLS if two else MOST_SYMBOLS_ANY
    if n <= most:
        return None
    kind = "these bounds" if two else "bounds of this kind"
    return (
        f"{n} symbols are above the {most} up to which extreme columns under {kind} are listed; an "
        "f-information under PML, PMC, LIP, ALIP or LDP is solved by column generation at any size"
    )


def vertex_bound(
    program: SublinearProgram, sides: TwoSided | None, prices: Vector
) -> tuple[float, float]:
    """Max μ(v) − ⟨prices, v − 1⟩ over all extreme columns, and the size of the numbers in it."""
    columns = with_constant(program.cone, sides, Rounding.OUTSIDE)
    deviations = np.array(columns, dtype=float)
    values = program.lifted_values(deviations)
    reduced = values - deviations @ prices
    size = np.abs(values) + np.abs(deviations) @ np.abs(prices)
    return float(reduced.max()), float(size.max())


def with_constant(cone: Cone, sides: TwoSided | None, rounding: Rounding) -> list[Deviations]:
    """Every extreme column of a cone, some twice; the constant column is the first."""
    return [(Fraction(0),) * len(cone.prior), *columns_of_cone(cone, sides, rounding)]


def near_sides(cone: Cone) -> TwoSided | None:
    """Sides of a cone with less room than solvers in floats need, as listed columns are exact but
    for the rounding of weights; ``None`` for a cone of another kind.
    """
    inner, outer = cone.two_sided(Rounding.INSIDE), cone.two_sided(Rounding.OUTSIDE)
    if inner is None or outer is None:
        return None

    def between(near: float, far: float) -> float:
        if not math.isfinite(far) or near == far:
            return near
        excess = abs(far - 1)
        room = min(_ROOM * max(far, 1.0), 1e-3 * excess)
        return near + max(1 - room / abs(far - near), 0.0) * (far - near)

    return TwoSided(
        between(inner.lower, outer.lower),
        between(inner.upper, outer.upper),
        between(inner.ratio, outer.ratio),
    )
