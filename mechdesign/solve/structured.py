"""The structured method: interior point on the outputs that matter, the rest priced afterwards."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..certificate.bounds import supports
from ..errors import SolverError
from .interior_point import Memory, one_thread, solve_columns
from .method import Candidate, Duals, Method, handles_linear
from .program import LinearProgram, TwoSided

#: Complementarity at which the interior point stops, as a share of the utility range.
TOLERANCE = 3e-9
#: Largest e^ε it is used for; beyond, squares of it would drown the rest.
LARGEST_FACTOR = 1e7
_READD = 1e-8
_READD_ENTRIES = 40_000
_USED = 1e-9
_ROUNDS = 20


class Structured(Method):
    """Interior point for one two-sided cone, eliminating columns; see :mod:`.interior_point`."""

    name = "structured"
    handles = handles_linear("upper lift", "lift", "ratio", "lower lift", "free", "lift and ratio")
    reason = (
        "the bounds form one two-sided cone: a structured interior-point method eliminates every "
        "column and factorises one N×N matrix per iteration"
    )
    source = "Mehrotra1992"

    def condition(self, problem: LinearProgram) -> str | None:
        """Applies to a finite upper lift bound with or without a lower one, or to a ratio."""
        if problem.shape[0] < 2:
            return "there is only one symbol"
        sides = problem.sides
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

    def solve(self, problem: LinearProgram) -> Candidate:
        """Solve, price the outputs that were left out, and repeat with those that would pay.

        The objective is shifted row by row and divided by the utility range.
        """
        return _Run(problem).solve(None)

    def solve_near(self, problem: LinearProgram, neighbour: Candidate) -> Candidate:
        """Start from a point that a neighbour passed early on its way.

        Where it kept none: from the outputs that it used and those that nearly paid at its prices.
        """
        run = _Run(problem)
        memory = neighbour.warm_start
        if isinstance(memory, Memory) and run.fits(memory):
            found = run.solve(memory.outputs, memory)
            if found.details["converged"] == str(True):
                return found
        prices = neighbour.duals.prices
        if prices is None or neighbour.kernel.shape != problem.shape:
            return run.solve(None)
        used = np.flatnonzero(run.p @ neighbour.kernel > _USED)
        scaled = (prices - run.shift) / run.width
        values = supports((run.worth - scaled).T, run.p, run.sides)
        near = np.argsort(-values, kind="stable")[: max(20, len(used))]
        return run.solve(np.union1d(used, near))


class _Run:
    """One problem in the units of the interior point: worth per unit of kernel over the range."""

    def __init__(self, problem: LinearProgram) -> None:
        sides = problem.sides
        assert sides is not None
        self.problem, self.sides = problem, sides
        self.p = problem.prior.probabilities
        self.width = problem.gain_range or 1.0
        self.shift = problem.objective.max(axis=1)
        self.worth = np.ascontiguousarray((problem.objective - self.shift[:, None]).T) / self.width

    def fits(self, memory: Memory) -> bool:
        """Whether a point is one of this problem under other levels."""
        point, (m, n) = memory.point, self.worth.shape
        return (
            point.link == self.sides.has_lift_sides
            and point.slacks.shape[2] == n
            and int(memory.outputs.max()) < m
        )

    def solve(self, start: NDArray[np.intp] | None, memory: Memory | None = None) -> Candidate:
        """Rounds of solving and pricing, from all outputs or from a few."""
        m = len(self.worth)
        active = np.arange(m) if start is None else start
        iterations, kept = 0, None
        for turn in range(_ROUNDS):
            # Outputs are screened once; what is brought back stays, so that rounds end.
            screen = turn == 0 and len(active) == m
            with one_thread():
                found = solve_columns(
                    self.p,
                    self.worth[active],
                    self.sides,
                    TOLERANCE,
                    active,
                    screen=screen,
                    memory=memory,
                )
            kept = kept or found.memory
            iterations += found.iterations
            if len(found.outputs) == m:
                break
            paying = _paying(self.worth, found.prices, self.p, self.sides, found.outputs)
            if not len(paying):
                break
            active = np.union1d(found.outputs, paying)
            # What is brought back was there when the point was remembered.
            memory = None if kept is None else kept.on(active)
        if not np.isfinite(found.columns).all() or not np.isfinite(found.prices).all():
            raise SolverError(
                f"the structured method broke down on {self.problem}; try solver='highs-ipm'"
            )
        kernel = np.zeros(self.problem.shape)
        kernel[:, found.outputs] = found.columns.T
        return Candidate(
            kernel,
            Duals(found.prices * self.width + self.shift),
            "structured interior point",
            {"iterations": str(iterations), "converged": str(found.converged)},
            kept,
        )


def _paying(
    worth: NDArray[np.float64],
    prices: NDArray[np.float64],
    p: NDArray[np.float64],
    sides: TwoSided,
    kept: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Outputs left out whose best column would pay at these prices, the best ones first."""
    values = supports((worth - prices).T, p, sides)
    left = np.setdiff1d(np.arange(len(worth)), kept)
    paying = left[values[left] > values[kept].max() + _READD]
    order = np.argsort(-values[paying], kind="stable")
    return paying[order[: max(20, len(kept), _READD_ENTRIES // len(p))]]
