"""The structured method: interior point on the outputs that matter, the rest priced afterwards."""

from __future__ import annotations

import math

import numpy as np

from ..errors import SolverError
from .bounds import supports
from .cones import TwoSided, two_sided
from .interior_point import solve_columns
from .methods import Candidate, Duals, Method
from .problem import Problem

#: Complementarity at which the interior point stops, as a share of the utility range.
TOLERANCE = 3e-9
#: Largest e^ε it is used for; beyond, squares of it would drown the rest.
LARGEST_FACTOR = 1e7
_READD = 1e-8
_ROUNDS = 20


class Structured(Method):
    """Interior point for one two-sided cone, eliminating columns; see :mod:`.interior_point`."""

    name = "structured"
    reason = (
        "the bounds form one two-sided cone: a structured interior-point method eliminates every "
        "column and factorises one N×N matrix per iteration"
    )
    source = "Mehrotra1992"

    def refusal(self, problem: Problem) -> str | None:
        """Applies to a finite upper lift bound with or without a lower one, or to a ratio."""
        if problem.unbounded:
            return f"{problem.unbounded[0]} is not a bound on likelihood ratios"
        if problem.shape[0] < 2:
            return "there is only one symbol"
        sides = two_sided(problem.bounds, problem.inner, inner=True)
        if sides is None:
            return "the bounds are of another kind than one two-sided cone"
        if sides.has_lift_sides and sides.ratio < math.inf:
            return "bounds on the lift and on ratios together are not one two-sided cone"
        if sides.has_lift_sides and sides.upper == math.inf:
            return "a lower bound on the lift alone has a closed form"
        if not sides.has_lift_sides and sides.ratio == math.inf:
            return "there is no bound"
        if min(sides.upper, sides.ratio) == 1 or sides.lower == 1:
            return "a level of zero has a closed form"
        if (sides.upper if sides.has_lift_sides else sides.ratio) > LARGEST_FACTOR:
            return f"e^ε is above {LARGEST_FACTOR:g}, too wide for this method's arithmetic"
        return None

    def solve(self, problem: Problem) -> Candidate:
        """Solve, price the outputs that were left out, and repeat with those that would pay.

        The objective is shifted row by row and divided by the utility range.
        """
        sides = two_sided(problem.bounds, problem.inner, inner=True)
        assert sides is not None
        p = problem.inner.probabilities
        width = problem.gain_range or 1.0
        shift = problem.objective.max(axis=1)
        worth = np.ascontiguousarray((problem.objective - shift[:, None]).T) / width
        m = problem.shape[1]
        active = np.arange(m)
        iterations = 0
        for turn in range(_ROUNDS):
            # Outputs are screened once; what is brought back stays, so that rounds end.
            found = solve_columns(p, worth[active], sides, TOLERANCE, active, screen=turn == 0)
            iterations += found.iterations
            if len(found.outputs) == m:
                break
            paying = _paying(worth, found.prices, p, sides, found.outputs)
            if not len(paying):
                break
            active = np.union1d(found.outputs, paying)
        if not np.isfinite(found.columns).all() or not np.isfinite(found.prices).all():
            raise SolverError(
                f"the structured method broke down on {problem}; try solver='highs-ipm'"
            )
        kernel = np.zeros(problem.shape)
        kernel[:, found.outputs] = found.columns.T
        return Candidate(
            kernel,
            Duals(found.prices * width + shift),
            "structured interior point",
            {"iterations": str(iterations)},
        )


def _paying(
    worth: np.ndarray, prices: np.ndarray, p: np.ndarray, sides: TwoSided, kept: np.ndarray
) -> np.ndarray:
    """Outputs left out whose best column would pay at these prices, the best ones first."""
    values = supports((worth - prices).T, p, sides)
    left = np.setdiff1d(np.arange(len(worth)), kept)
    paying = left[values[left] > values[kept].max() + _READD]
    order = np.argsort(-values[paying], kind="stable")
    return paying[order[: max(20, len(kept))]]
