"""Sub-convex utilities where the allowed posteriors fill a simplex: its vertices win, whatever μ.

A sub-convex utility is a mean of a convex function F of the posterior. If the posteriors that are
allowed fill a simplex around the prior, there is one way to write the prior as a mixture of its
vertices, and by convexity no other mixture is worth more, for any F.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .closed_form import two_edges
from .cones import TwoSided, two_sided
from .methods import Candidate, Duals, Method
from .problem import SublinearProblem

Vector = NDArray[np.float64]

EVERY = "optimal for every sub-convex utility at once"
ALMOST = (
    "optimal for every sub-convex utility but for its rounding, which is too coarse for the rarest "
    "outcomes; design() has the gap for one utility"
)


def simplex_kernel(problem: SublinearProblem, *, inner: bool) -> tuple[Vector, str] | None:
    """The kernel on the vertices of the posteriors, and which case it is; ``None`` in no such case.

    ``inner`` chooses factors for design or, slightly larger, for bounds.
    """
    n = len(problem.inner)
    if problem.others:
        return None
    if not problem.bounds or n == 1:
        return np.eye(n), RevealAll.name
    if n == 2:
        return two_edges(problem, inner=inner), TwoEdges.name
    sides = two_sided(problem.bounds, problem.inner, inner=inner)
    if sides is None:
        return None
    p, pmin = problem.inner.probabilities, problem.inner.pmin
    if sides.lower == 0 and sides.ratio == math.inf and sides.upper * pmin >= 1:
        return np.eye(n), RevealAll.name  # no lift exceeds 1/pmin
    if min(sides.upper, sides.ratio) == 1 or sides.lower == 1:
        return np.ones((n, 1)), Nothing.name
    if upper_side_rules(sides, pmin):
        h = sides.upper
        kernel = np.tile(h * p, (n, 1))
        np.fill_diagonal(kernel, 1 - h * (1 - p))
        return np.maximum(kernel, 0.0), ExtremalPML.name
    if lower_side_rules(sides, pmin):
        kernel = np.tile(sides.lower * p, (n, 1))
        kernel[np.diag_indices(n)] += 1 - sides.lower
        return kernel, ExtremalPMC.name
    return None


def upper_side_rules(sides: TwoSided, pmin: float) -> bool:
    """Whether h (1 − pmin) ≤ 1, so that lifts up to h fill a simplex, and nothing else bites."""
    h = sides.upper
    if h == math.inf or h * (1 - pmin) > 1:
        return False
    least = (1 - h * (1 - pmin)) / pmin
    return sides.lower <= least * (1 + 1e-12) and sides.ratio * least >= h * (1 - 1e-12)


def lower_side_rules(sides: TwoSided, pmin: float) -> bool:
    """Whether lifts from l on, which always fill a simplex, leave the other bounds slack."""
    low = sides.lower
    if low == 0:
        return False
    largest = (1 - low * (1 - pmin)) / pmin
    return sides.upper >= largest * (1 - 1e-12) and sides.ratio * low >= largest * (1 - 1e-12)


class _Simplex(Method):
    """A case in which the posteriors fill a simplex."""

    scope = EVERY
    condition = ""

    def refusal(self, problem: SublinearProblem) -> str | None:
        """Applies when its case is the one at hand."""
        if problem.others:
            return problem.not_a_bound
        found = simplex_kernel(problem, inner=True)
        return None if found is not None and found[1] == self.name else self.condition

    def solve(self, problem: SublinearProblem) -> Candidate:
        """The vertices, each with the mass that makes their mean the prior."""
        found = simplex_kernel(problem, inner=True)
        assert found is not None
        return Candidate(found[0], Duals(), "closed form (simplex of posteriors)")


class RevealAll(_Simplex):
    """No bound asks anything of any kernel."""

    name = "reveal-all"
    reason = "the bounds ask nothing that a kernel could break, so every symbol is revealed"
    condition = "there are privacy bounds to satisfy"


class Nothing(_Simplex):
    """A level of zero: one output."""

    name = "reveal-nothing"
    reason = "a level that is zero to working precision leaves only kernels with equal rows"
    condition = "every level is above zero"


class TwoEdges(_Simplex):
    """Two symbols: a cone in the plane has two edges."""

    name = "two-edges"
    reason = "two symbols: the allowed posteriors are an interval, and its ends win"
    source = "GrosseID Example 1"
    condition = "there are not two symbols"


class ExtremalPML(_Simplex):
    """Lifts at most e^ε with e^ε (1 − pmin) ≤ 1: symbol j is least likely at outcome j."""

    name = "extremal-pml"
    reason = (
        "e^ε(1 − pmin) ≤ 1: the posteriors fill a simplex; K[i,j] = e^ε p_j off the diagonal and "
        "1 − e^ε (1 − p_i) on it"
    )
    source = "GrosseID Corollary 4, SaeidianPMC Corollary 5"
    condition = "e^ε(1 − pmin) is above 1, or another bound is stricter than what PML implies"


class ExtremalPMC(_Simplex):
    """Lifts at least l: symbol j is raised at outcome j."""

    name = "extremal-pmc"
    reason = (
        "a lower bound on the lift alone: the posteriors fill a simplex; K[i,j] = l p_j, and "
        "1 − l more on the diagonal"
    )
    condition = "there is no lower bound on the lift, or another bound is stricter than it implies"


SIMPLICES: tuple[Method, ...] = (RevealAll(), Nothing(), TwoEdges(), ExtremalPML(), ExtremalPMC())
