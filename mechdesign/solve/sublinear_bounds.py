"""Upper bounds for sub-convex utilities, proved afresh from prices.

For prices λ per deviation of a lift, every mixture of columns with mean deviation zero is worth at
most max F(d) − ⟨λ, d⟩ over the cone; the maximum is bounded by an exact search.
"""

from __future__ import annotations

import math

import numpy as np

from ..utility.sublinear import FInformation
from . import clock
from .branching import Budget
from .column_generation import SEARCHING
from .columns import LARGEST_RATIO, make_family
from .cones import TwoSided, two_sided
from .methods import Duals
from .pricing import make_pricer
from .problem import SublinearProblem
from .simplex import simplex_kernel
from .vertices import too_large, vertex_bound

_UNIT = 2.0**-52
# Gaps to prove, the finest that succeeds counts; nodes spent on each.
_STEPS = ((2.5e-10, 100_000), (1e-8, 100_000), (4.5e-7, 1_000_000), (9e-7, math.inf))


def sublinear_bound(problem: SublinearProblem, duals: Duals, value: float) -> tuple[float, str]:
    """The smallest of what can be proved, and how."""
    found = [(_revealed_bound(problem), "every symbol revealed")]
    simplex = simplex_kernel(problem, inner=False)
    if simplex is not None:
        worths = problem.worths(simplex[0])
        rounding = 8 * _UNIT * (len(problem.inner) + 8) * float(np.abs(worths).sum())
        rounding += _curve_rounding(problem)
        return min([*found, (math.fsum(worths) + rounding, "vertices of a simplex")])
    searched: list[tuple[float, str]] = []
    sides = problem.sides
    if sides is not None and LARGEST_RATIO < sides.ratio < math.inf:
        return min(found)
    if isinstance(problem.utility, FInformation):
        searched = _searched_bounds(problem, duals, value)
    if not searched and duals.prices is not None and too_large(problem) is None:
        bound, size = vertex_bound(problem, duals.prices)
        rounding = 8 * _UNIT * (len(problem.inner) + 8) * size
        rounding += _curve_rounding(problem)
        searched = [(bound + rounding, "prices, over all extreme columns")]
    return min([*found, *searched])


def _revealed_bound(problem: SublinearProblem) -> float:
    rounding = _UNIT * (len(problem.inner) + 8) * abs(problem.revealed_value)
    return problem.revealed_value + rounding + _curve_rounding(problem)


def _curve_rounding(problem: SublinearProblem) -> float:
    """Rounding of a curve given as a function: its offset and slope at one are taken off, which
    leaves few digits where lifts stay near one.
    """
    if not isinstance(problem.utility, FInformation):
        return 0.0
    p, sides = problem.inner.probabilities, problem.sides or TwoSided(0.0, math.inf, math.inf)
    if len(p) == 1 or sides.lower == 1 or min(sides.upper, sides.ratio) == 1:
        return 0.0  # constant kernels alone, and f(1) is taken off exactly
    above = np.minimum(sides.upper, 1 / (p + (1 - p) / sides.ratio)) - 1
    below = 1 - np.maximum(sides.lower, 1 / (p + sides.ratio * (1 - p)))
    room = 1 / p - 1  # what one symbol gains or loses is lost or gained by the others
    above, below = np.minimum(above, below * room), np.minimum(below, above * room)
    with np.errstate(over="ignore"):
        sizes = [problem.utility.cancelled(d) for d in (-below, above)]
    return 16 * _UNIT * float(p @ np.maximum(*sizes))


def _searched_bounds(
    problem: SublinearProblem, duals: Duals, value: float
) -> list[tuple[float, str]]:
    assert isinstance(problem.utility, FInformation)
    sides = two_sided(problem.bounds, problem.inner, inner=False)
    family = None if sides is None else make_family(problem.inner, sides, problem.utility.excess)
    if family is None:
        return []
    pricer = make_pricer(family)
    groups = family.groups
    rounding = 8 * _UNIT * (len(problem.inner) + 8)
    curve = _curve_rounding(problem)
    flat = pricer.flat_bound() + rounding * family.size + curve
    found = [(flat, "universal bound (equal prices)")]
    if duals.prices is None or not np.isfinite(duals.prices).all():
        return found
    prices = groups.average(duals.prices)
    slack = rounding * (family.size + float(groups.sizes @ (np.abs(prices) * family.reach))) + curve
    deadline = clock.now() + (1 - SEARCHING) * problem.time_limit
    for step, nodes in _STEPS:
        if flat <= value + step * abs(value):
            break
        level = value + step * abs(value)
        proof = pricer.prove(prices, level, Budget(nodes, deadline))
        found.append((proof.upper + slack, "prices, by exhaustive search"))
        if proof.complete and not proof.count:
            break
    return found
