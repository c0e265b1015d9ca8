"""Upper bounds for sub-convex utilities, proved afresh from prices.

For prices λ per deviation of a lift, every mixture of columns with mean deviation zero is worth at
most max F(d) − ⟨λ, d⟩ over the cone. With few symbols the maximum is taken over all extreme columns
in ball arithmetic, with more of them by an exact search in floats, whose rounding is allowed for.
Closed forms are enclosed.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..utility.sublinear import FInformation
from . import clock
from .column_generation.branch_and_bound import Budget, universal_bound
from .column_generation.exact_columns import extreme_rays
from .column_generation.families import LARGEST_RATIO, Curve, Family, make_family
from .column_generation.method import SEARCHING
from .column_generation.pricing import Pricer
from .column_generation.vertices import inequalities, too_large, vertex_bound
from .cones import TwoSided, two_sided
from .enclosures import (
    Enclosure,
    edges_enclosure,
    enclosed_floats,
    revealed_enclosure,
    simplex_enclosures,
    sums_up,
)
from .listing import listed_bound
from .methods import Duals
from .problem import SublinearProblem
from .simplex import simplex_kernel

_UNIT = 2.0**-52
# Gaps to prove, the finest that succeeds counts; nodes spent on each.
_STEPS = ((2.5e-10, 100_000), (1e-8, 100_000), (4.5e-7, 1_000_000), (9e-7, math.inf))

# What other bounds, which are enclosed in balls over exact masses, do not rest on.
_IN_FLOATS = "in floats with an allowance for their rounding"

#: A bound and where it comes from.
Found = tuple[Fraction, str]


def sublinear_bound(problem: SublinearProblem, duals: Duals, value: float) -> Found | None:
    """The smallest of what can be proved, and how; ``None`` where nothing finite can be."""
    found = _enclosed([revealed_enclosure(problem.utility, problem.inner)], "every symbol revealed")
    closed = _closed_bounds(problem)
    if closed is None:
        # A closed form is the optimum; a search has nothing to gain there.
        found += _priced_bounds(problem, duals, value)
    return min([*found, *(closed or [])], default=None)


def _enclosed(parts: list[Enclosure | None], source: str) -> list[Found]:
    return [(part.high, source) for part in parts if part is not None]


def _closed_bounds(problem: SublinearProblem) -> list[Found] | None:
    """Bounds of cones whose posteriors fill a simplex; ``None`` where that is not what they do.

    Nothing beside what revealing every symbol is worth, where that is allowed.
    """
    source = "vertices of a simplex"
    prior, utility = problem.inner, problem.utility
    if problem.others:
        return None
    if len(prior) == 2:
        # In rationals, as floats lose the shares of two edges that nearly coincide.
        rays = extreme_rays(inequalities(problem, inner=False), 2)
        return _enclosed([edges_enclosure(utility, prior, rays)], source)
    if not sums_up(utility):
        simplex = simplex_kernel(problem, inner=False)
        if simplex is None:
            return None
        return _enclosed([enclosed_floats(problem.worths(simplex[0]), len(prior))], source)
    if len(prior) == 1:
        return [(Fraction(0), source)]
    sides = two_sided(problem.bounds, prior, inner=False)
    if sides is None or simplex_kernel(problem, inner=False) is None:
        return None
    if min(sides.upper, sides.ratio) == 1 or sides.lower == 1:
        return [(Fraction(0), source)]  # lifts of one alone, and F(0) = 0
    return _enclosed(simplex_enclosures(utility, prior, sides.lower, sides.upper), source)


def _priced_bounds(problem: SublinearProblem, duals: Duals, value: float) -> list[Found]:
    prices = duals.prices
    if prices is not None and not np.isfinite(prices).all():
        prices = None
    if sums_up(problem.utility):
        listed = [] if prices is None else _listed(problem, prices)
        if listed:
            return _enclosed(listed, "prices, over all extreme columns")
        sides = two_sided(problem.bounds, problem.inner, inner=False)
        if sides is not None and not LARGEST_RATIO < sides.ratio < math.inf:
            searched = _searched_bounds(problem, problem.utility, sides, prices, value)
            if searched:
                return searched
    if prices is None or too_large(problem) is not None:
        return []
    bound, size = vertex_bound(problem, prices)
    rounding = 8 * _UNIT * (len(problem.inner) + 8) * size + _curve_rounding(problem)
    return _finite([(bound + rounding, f"prices, over all extreme columns {_IN_FLOATS}")])


def _listed(problem: SublinearProblem, prices: NDArray[np.float64]) -> list[Enclosure | None]:
    """Bounds over all extreme columns at the prices, and at moderate ones where these differ."""
    found = [listed_bound(problem, prices)]
    sides = two_sided(problem.bounds, problem.inner, inner=False)
    family = None if sides is None else make_family(problem.inner, sides, _curve_of(problem))
    if found[0] is not None and family is not None and math.isfinite(family.steepest):
        groups = family.groups
        near = groups.spread(moderate_prices(family, groups.average(prices))[0])
        if not np.allclose(near, prices, rtol=1e-9, atol=0):
            found.append(listed_bound(problem, near))
    return found if any(part is not None for part in found) else []


def _curve_of(problem: SublinearProblem) -> Curve:
    assert isinstance(problem.utility, FInformation)
    return problem.utility.finite_or_more


def _finite(found: list[tuple[float, str]]) -> list[Found]:
    return [(Fraction(bound), source) for bound, source in found if math.isfinite(bound)]


def _curve_rounding(problem: SublinearProblem) -> float:
    """Rounding of a curve given as a function: its offset and slope at one are taken off, which
    leaves few digits where lifts stay near one.
    """
    if not sums_up(problem.utility):
        return 0.0
    p, sides = problem.inner.probabilities, problem.sides or TwoSided(0.0, math.inf, math.inf)
    if len(p) == 1 or sides.lower == 1 or min(sides.upper, sides.ratio) == 1:
        return 0.0  # constant kernels alone, and f(1) is taken off exactly
    above = np.minimum(sides.upper, 1 / (p + (1 - p) / sides.ratio)) - 1
    # Without a ratio there is no such lower bound, also where a mass is one to working precision.
    least = 1 / (p + sides.ratio * (1 - p)) if sides.ratio < math.inf else 0 * p
    below = 1 - np.maximum(sides.lower, least)
    room = 1 / p - 1  # what one symbol gains or loses is lost or gained by the others
    with np.errstate(over="ignore"):  # beyond all floats is as good as no bound
        above, below = np.minimum(above, below * room), np.minimum(below, above * room)
    sizes = [problem.utility.cancelled(d) for d in (-below, above)]
    return 16 * _UNIT * float(p @ np.maximum(*sizes))


def _searched_bounds(
    problem: SublinearProblem,
    utility: FInformation,
    sides: TwoSided,
    prices: NDArray[np.float64] | None,
    value: float,
) -> list[Found]:
    family = make_family(problem.inner, sides, utility.finite_or_more)
    if family is None or not (math.isfinite(family.size) and math.isfinite(family.steepest)):
        return []
    pricer = Pricer(family)
    groups = family.groups
    curve = _curve_rounding(problem)
    flat = universal_bound(family) + _rounding(family, utility, 0.0) + curve
    found = [(flat, f"universal bound (equal prices), {_IN_FLOATS}")]
    if prices is None:
        return _finite(found)
    prices, steepest = moderate_prices(family, groups.average(prices))
    priced = float(groups.sizes @ (np.abs(prices) * family.reach))
    slack = _rounding(family, utility, priced + family.room * steepest) + curve
    deadline = clock.now() + (1 - SEARCHING) * problem.time_limit
    for step, nodes in _STEPS:
        if flat <= value + step * abs(value):
            break
        level = value + step * abs(value)
        proof = pricer.prove(prices, level, Budget(nodes, deadline))
        found.append((proof.upper + slack, f"prices, by exhaustive search {_IN_FLOATS}"))
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
