"""The bound that prices give for a sub-convex utility, over all extreme columns in rationals.

For prices λ per deviation of a lift, a mixture of columns with mean deviation zero has a value of
at most max F(d) − ⟨λ, d⟩ over the cone, and a convex function is largest at an extreme column. With
few symbols all of these can be written down: nothing is left to a search or to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..prior import Prior
from ..privacy.constraint import Rounding
from ..solve.column_generation.exact_columns import (
    LiftBox,
    columns_of_rays,
    extreme_rays,
    staircases,
)
from ..solve.column_generation.families import LiftFamily, StaircaseFamily, make_family
from ..solve.column_generation.vertices import MOST_SYMBOLS_ANY
from ..solve.program import SublinearProgram, TwoSided
from ..utility.sublinear import FInformation
from .enclosures import Enclosure, as_ball, enclosed
from .shape import sides_outside

#: Symbols up to which the extreme columns of a two-sided cone are listed for a bound.
MOST_LISTED = 10

_Vector = Sequence[Fraction]


def listed_bound(program: SublinearProgram, prices: NDArray[np.float64]) -> Enclosure | None:
    """Max F(d) − ⟨λ, d⟩ over the extreme columns; ``None`` where there are too many of them."""
    assert isinstance(program.utility, FInformation)
    prior, n = program.prior, len(program.prior)
    exact = [Fraction(v) for v in prices.tolist()]
    sides = sides_outside(program.cone)
    family = None if sides is None else make_family(prior, sides, np.abs)
    if n <= MOST_LISTED and sides is not None and isinstance(family, StaircaseFamily):
        return _over_staircases(program.utility, prior, Fraction(sides.ratio), exact)
    if n <= MOST_LISTED and sides is not None and isinstance(family, LiftFamily):
        return _over_a_box(program.utility, prior, sides, exact)
    if n > MOST_SYMBOLS_ANY:
        return None
    rays = extreme_rays(program.cone.inequalities(Rounding.OUTSIDE), n)
    return _over_rays(program.utility, prior, rays, exact)


def _largest(balls: Sequence[Any]) -> Any:
    best = balls[0]
    for ball in balls[1:]:
        best = best.max(ball)
    return best


def _over_rays(
    utility: FInformation, prior: Prior, rays: Sequence[Sequence[int]], prices: _Vector
) -> Enclosure | None:
    n, masses = len(prior), [prior.mass(i) for i in range(len(prior))]
    columns = list(columns_of_rays(prior, rays))
    costs = [sum(a * d for a, d in zip(prices, column, strict=True)) for column in columns]

    def total(curve: list[Any]) -> Any:
        p = [as_ball(m) for m in masses]
        return _largest(
            [
                sum((a * f for a, f in zip(p, curve[i * n : (i + 1) * n], strict=True)), as_ball(0))
                - as_ball(cost)
                for i, cost in enumerate(costs)
            ]
        )

    return enclosed(utility, [d for column in columns for d in column], total)


def _over_staircases(
    utility: FInformation, prior: Prior, ratio: Fraction, prices: _Vector
) -> Enclosure | None:
    """Every set of symbols: lifts r/(1 + (r − 1)P) on it and 1/(1 + (r − 1)P) elsewhere."""
    whole = sum(prices)
    deviations: list[Fraction] = []
    parts = []
    for found in staircases(prior, ratio):
        cost = sum((v for v, up in zip(prices, found.upper, strict=True) if up), Fraction(0))
        deviations += [found.high, found.low]
        parts.append((found.mass, cost * found.high + (whole - cost) * found.low))

    def total(curve: list[Any]) -> Any:
        return _largest(
            [
                as_ball(p) * curve[2 * i] + as_ball(1 - p) * curve[2 * i + 1] - as_ball(cost)
                for i, (p, cost) in enumerate(parts)
            ]
        )

    return enclosed(utility, deviations, total)


def _over_a_box(
    utility: FInformation, prior: Prior, sides: TwoSided, prices: _Vector
) -> Enclosure | None:
    """Lifts in [l, h]: every symbol in turn carries what the others leave, each at an end."""
    box, n = LiftBox.of(prior, sides), len(prior)
    partial: list[tuple[int, int, Fraction]] = []
    for j in range(n):
        left = [box.capacity]
        for x in range(n):
            left += [] if x == j else [value - box.units[x] for value in left]
        ends = (box.between(j, value) for value in left)
        partial += [(j, number, d) for number, d in enumerate(ends) if d is not None]

    def total(curve: list[Any]) -> Any:
        def term(x: int, deviation: Fraction, f: Any) -> Any:
            return as_ball(box.masses[x]) * f - as_ball(prices[x] * deviation)

        at_low = [term(x, box.low[x], curve[x]) for x in range(n)]
        at_high = [term(x, box.high[x], curve[n + x]) for x in range(n)]
        best = None
        sums: list[Any] = []
        of = -1
        for (j, number, deviation), f in zip(partial, curve[2 * n :], strict=True):
            if j != of:
                of, sums = j, _all_sums(at_low, at_high, j)
            ball = sums[number] + term(j, deviation, f)
            best = ball if best is None else best.max(ball)
        return best

    return enclosed(utility, [*box.low, *box.high, *(d for _, _, d in partial)], total)


def _all_sums(at_low: list[Any], at_high: list[Any], but: int) -> list[Any]:
    """Sums with every set of the symbols but one at the upper bound, in the order of their bits."""
    sums = [as_ball(0)]
    for x, (lower, upper) in enumerate(zip(at_low, at_high, strict=True)):
        if x != but:
            sums = [s + lower for s in sums] + [s + upper for s in sums]
    return sums
