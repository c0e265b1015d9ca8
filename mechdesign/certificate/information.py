"""Upper bounds for sub-convex utilities, proved afresh from prices.

For prices λ per deviation of a lift, every mixture of columns with mean deviation zero has a value
of at most max F(d) − ⟨λ, d⟩ over the cone, and a convex function is largest at an extreme column.
With few symbols all of these are written down, in ball arithmetic: nothing is left to a search or
to rounding. With more of them the maximum is by an exact search in floats, whose rounding is
allowed for. Closed forms are enclosed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import clock
from ..prior import Prior
from ..privacy.constraint import Rounding
from ..program.duals import Duals
from ..program.enclosures import (
    CUT_SHORT,
    Enclosure,
    as_ball,
    edges_enclosure,
    enclosed,
    enclosed_floats,
    revealed_enclosure,
    simplex_enclosures,
    sums_up,
)
from ..program.program import SEARCHING, SublinearProgram, TwoSided
from ..utility.sublinear import FInformation
from ..utility.survey import as_rational
from .columns.branch_and_bound import WorkLimit, universal_bound
from .columns.exact_columns import (
    MOST_SYMBOLS_ANY,
    LiftBox,
    columns_of_rays,
    extreme_rays,
    staircases,
    subset_sums,
    too_large,
    vertex_bound,
)
from .columns.families import LARGEST_RATIO, Curve, Family, LiftFamily, StaircaseFamily, make_family
from .columns.pricing import Pricer
from .shape import kernel_of_sides, sides_outside, simplex_of_sides

_UNIT = 2.0**-52
# Gaps to prove, the finest that succeeds counts; nodes allowed for each.
_STEPS = ((2.5e-10, 100_000), (1e-8, 100_000), (4.5e-7, 1_000_000), (9e-7, math.inf))
# Groups above which branch and bound goes alone, for fewer nodes.
_MANY = 100

# What other bounds, which are enclosed in balls over exact masses, do not rest on.
_IN_FLOATS = "in floats with an allowance for their rounding"

#: Symbols up to which the extreme columns of a two-sided cone are listed for a bound.
MOST_LISTED = 10

_Vector = Sequence[Fraction]
#: A bound and where it comes from.
Found = tuple[Fraction, str]


def sublinear_bound(program: SublinearProgram, duals: Duals, value: float) -> Found | None:
    """The smallest of what can be proved, and how; ``None`` where nothing finite can be."""
    found = _enclosed([revealed_enclosure(program.utility, program.prior)], "every symbol revealed")
    closed = _closed_bounds(program)
    if closed is None:
        # A closed form is the optimum; a search has nothing to gain there.
        found += _priced_bounds(program, duals, value)
    return min([*found, *(closed or [])], default=None)


def _enclosed(parts: list[Enclosure | None], source: str) -> list[Found]:
    return [(part.high, source) for part in parts if part is not None]


def _closed_bounds(program: SublinearProgram) -> list[Found] | None:
    """Bounds of cones whose posteriors fill a simplex; ``None`` where that is not what they do.

    Nothing beside the value of revealing every symbol, where that is allowed.
    """
    source = "vertices of a simplex"
    prior, utility = program.prior, program.utility
    if program.sums or program.unexpressed:
        return None
    sides = sides_outside(program.cone)
    if len(prior) == 2:
        # In rationals, as floats lose the shares of two edges that nearly coincide.
        rays = extreme_rays(program.cone.inequalities(Rounding.OUTSIDE), 2)
        return _enclosed([edges_enclosure(utility, prior, rays)], source)
    if not sums_up(utility):
        kernel = None if sides is None else kernel_of_sides(sides, prior)
        if kernel is None:
            return None
        return _enclosed([enclosed_floats(program.column_values(kernel), len(prior))], source)
    if len(prior) == 1:
        return [(Fraction(0), source)]
    if sides is None or simplex_of_sides(sides, prior) is None:
        return None
    if sides.is_constant:
        return [(Fraction(0), source)]  # lifts of one alone, and F(0) = 0
    return _enclosed(simplex_enclosures(utility, prior, sides.lower, sides.upper), source)


def _priced_bounds(program: SublinearProgram, duals: Duals, value: float) -> list[Found]:
    prices = duals.prices
    with np.errstate(over="ignore"):
        if prices is not None and not np.isfinite(prices / program.prior.probabilities).all():
            prices = None
    if sums_up(program.utility):
        listed = [] if prices is None else _listed(program, prices)
        if listed:
            return _enclosed(listed, "prices, over all extreme columns")
        sides = sides_outside(program.cone)
        if sides is not None and not LARGEST_RATIO < sides.ratio < math.inf:
            searched = _searched_bounds(program, program.utility, sides, prices, value)
            if searched:
                return searched
    sides = sides_outside(program.cone)
    if prices is None or too_large(program, sides) is not None:
        return []
    bound, size = vertex_bound(program, sides, prices)
    rounding = 8 * _UNIT * (len(program.prior) + 8) * size + _curve_rounding(program)
    return _finite([(bound + rounding, f"prices, over all extreme columns {_IN_FLOATS}")])


def _listed(program: SublinearProgram, prices: NDArray[np.float64]) -> list[Enclosure | None]:
    """Bounds over all extreme columns at the prices, and at moderate ones where these differ."""
    found = [listed_bound(program, prices)]
    sides = sides_outside(program.cone)
    family = None if sides is None else make_family(program.prior, sides, _curve_of(program))
    if found[0] is not None and family is not None and math.isfinite(family.steepest):
        groups = family.groups
        near = groups.spread(moderate_prices(family, groups.average(prices))[0])
        if not np.allclose(near, prices, rtol=1e-9, atol=0):
            found.append(listed_bound(program, near))
    return found if any(part is not None for part in found) else []


def _curve_of(program: SublinearProgram) -> Curve:
    assert isinstance(program.utility, FInformation)
    return program.utility.finite_or_more


def _finite(found: list[tuple[float, str]]) -> list[Found]:
    return [(Fraction(bound), source) for bound, source in found if math.isfinite(bound)]


def _curve_rounding(program: SublinearProgram) -> float:
    """Rounding of a curve given as a function: its offset and slope at one are taken off, which
    leaves few digits where lifts stay near one.
    """
    if not sums_up(program.utility):
        return 0.0
    p = program.prior.probabilities
    sides = sides_outside(program.cone) or TwoSided(0.0, math.inf, math.inf)
    if len(p) == 1 or sides.lower == 1 or min(sides.upper, sides.ratio) == 1:
        return 0.0  # constant kernels alone, and f(1) is taken off exactly
    above = np.minimum(sides.upper, 1 / (p + (1 - p) / sides.ratio)) - 1
    # Without a ratio there is no such lower bound, also where a mass is one to working precision.
    least = 1 / (p + sides.ratio * (1 - p)) if sides.ratio < math.inf else 0 * p
    below = 1 - np.maximum(sides.lower, least)
    room = 1 / p - 1  # what one symbol gains or loses is lost or gained by the others
    with np.errstate(over="ignore"):  # beyond all floats is as good as no bound
        above, below = np.minimum(above, below * room), np.minimum(below, above * room)
    sizes = [program.utility.cancelled(d) for d in (-below, above)]
    return 16 * _UNIT * float(p @ np.maximum(*sizes))


def _searched_bounds(
    program: SublinearProgram,
    utility: FInformation,
    sides: TwoSided,
    prices: NDArray[np.float64] | None,
    value: float,
) -> list[Found]:
    family = make_family(program.prior, sides, utility.finite_or_more)
    if family is None or not (math.isfinite(family.size) and math.isfinite(family.steepest)):
        return []
    pricer = Pricer(family)
    groups = family.groups
    curve = _curve_rounding(program)
    flat = universal_bound(family) + _rounding(family, utility, 0.0) + curve
    found = [(flat, f"universal bound (equal prices), {_IN_FLOATS}")]
    if prices is None:
        return _finite(found)
    prices, steepest = moderate_prices(family, groups.average(prices))
    priced = float(groups.sizes @ (np.abs(prices) * family.reach))
    slack = _rounding(family, utility, priced + family.room * steepest) + curve
    deadline = clock.now() + (1 - SEARCHING) * program.time_limit
    for step, nodes in _STEPS:
        if flat <= value + step * abs(value):
            break
        level = value + step * abs(value)
        if len(groups) > _MANY:
            # Nodes cost as much as there are groups, and a search that is not over soon never is.
            limit = WorkLimit(nodes * (_MANY / len(groups)) ** 2, deadline)
            proof = pricer.branch(prices, level, 1, limit)
        else:
            proof = pricer.prove(prices, level, WorkLimit(nodes, deadline))
        ended = not proof.complete and clock.now() > deadline
        how = CUT_SHORT if ended else "by exhaustive search"
        found.append((proof.upper + slack, f"prices, {how} {_IN_FLOATS}"))
        if proof.complete and not proof.count:
            break
    return _finite(found)


def moderate_prices(
    family: Family, prices: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Prices per mass brought near their median, and how steep a column can then be per mass.

    Any prices give a bound. A solver leaves an absolute error on each; on a symbol of mass 1e-30
    that is a price per mass which no chord of the curve is as steep as, and sums of masses, which
    floats do not know to that accuracy, would have to be known.
    """
    p = family.groups.masses
    per_mass = prices / p
    order = np.argsort(per_mass, kind="stable")
    mass = np.cumsum((family.groups.sizes * p)[order])
    middle = per_mass[order[min(int(np.searchsorted(mass, mass[-1] / 2)), len(p) - 1)]]
    reach = 4 * family.steepest
    per_mass = np.clip(per_mass, middle - reach, middle + reach)
    return p * per_mass, family.steepest + float(np.abs(per_mass).max())


def _rounding(family: Family, utility: FInformation, priced: float) -> float:
    """Rounding of F(d) − ⟨λ, d⟩ for any column, from the sizes that its terms can have.

    Every term is off by a few units in the last place of the largest that it can be, as masses,
    deviations and prices are; sums of n of them by n more.
    """
    n = float(family.groups.sizes.sum())
    own = utility.roundings + 8 * (n + 8)
    return _UNIT * (own * family.size + 8 * (n + 8) * priced)


# Over all extreme columns


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
    from flint import arb

    costs = subset_sums(map(as_rational, prices))
    deviations: list[Fraction] = []
    parts = []
    for found, cost in zip(staircases(prior, ratio), costs[1:-1], strict=True):
        mass, high, low = map(as_rational, found[1:])
        deviations += [found.high, found.low]
        parts.append((mass, cost * high + (costs[-1] - cost) * low))

    def total(curve: list[Any]) -> Any:
        return _largest(
            [
                arb(p) * curve[2 * i] + arb(1 - p) * curve[2 * i + 1] - arb(cost)
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
