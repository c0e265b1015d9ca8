"""cvxpy: any solver that it knows, by name ([DiamondBoyd2016])."""

from __future__ import annotations

import warnings

import numpy as np

from ...errors import SolverError, quote
from ..linear_program import compile_program
from ..method import Candidate, Method, handles_general
from ..program import LinearProgram
from .linearised import Linearised


class Cvxpy(Method):
    """The sparse program handed to a solver that cvxpy knows, by name."""

    reason = "asked for by name"
    handles = handles_general(convex=True)

    def __init__(self, solver: str) -> None:
        self.solver = solver.upper()
        self.name = f"cvxpy-{self.solver}"  # type: ignore[misc]

    def solve(self, program: LinearProgram) -> Candidate:
        """Through cvxpy with the solver's default settings.

        Raises :class:`SolverError` when it stops without a solution.
        """
        import cvxpy

        if program.convex:
            return Linearised(self.solver).solve(program)

        compiled = compile_program(program)
        point = cvxpy.Variable(compiled.cost.size, nonneg=True)
        equal = compiled.equal @ point == 1
        constraints = [equal]
        below = None
        if compiled.below.shape[0]:
            below = compiled.below @ point <= compiled.right
            constraints.append(below)
        ends = {
            "same": compiled.is_equation,
            "upper": np.isfinite(compiled.high) & ~compiled.is_equation,
            "lower": np.isfinite(compiled.low) & ~compiled.is_equation,
        }
        asked = {}
        for side, chosen in ends.items():
            if chosen.any():
                values = compiled.limits[chosen] @ point
                low, high = compiled.low[chosen], compiled.high[chosen]
                asked[side] = {
                    "same": values == (low + high) / 2,
                    "upper": values <= high,
                    "lower": values >= low,
                }[side]
        constraints += asked.values()
        task = cvxpy.Problem(cvxpy.Maximize(compiled.cost @ point), constraints)
        try:
            with warnings.catch_warnings():
                # Inaccurate solutions are judged by the certificate, not by a warning.
                warnings.simplefilter("ignore", UserWarning)
                task.solve(solver=self.solver)
        except cvxpy.error.SolverError as failure:
            raise SolverError(
                f"{self.solver} failed on {program}: {failure}; try another solver"
            ) from failure
        if point.value is None or equal.dual_value is None:
            raise SolverError(
                f"{self.solver} stopped with status {quote(task.status)}; try another solver"
            )
        rows = np.zeros(0) if below is None else np.asarray(below.dual_value)
        limits = np.zeros(len(compiled.low))
        for side, constraint in asked.items():
            sign = -1.0 if side == "lower" else 1.0
            limits[ends[side]] += sign * np.asarray(constraint.dual_value)
        kernel, duals = compiled.invert(
            np.asarray(point.value), np.asarray(equal.dual_value), rows, (), limits
        )
        return Candidate(kernel, duals, f"cvxpy {self.solver}", {"status": str(task.status)})


def installed_solvers() -> list[str]:
    """Names of the solvers that an installed cvxpy has; empty without cvxpy."""
    try:
        import cvxpy
    except ImportError:
        return []
    return list(cvxpy.installed_solvers())
