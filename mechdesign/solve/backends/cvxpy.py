"""cvxpy: any solver that it knows, by name ([DiamondBoyd2016])."""

from __future__ import annotations

import warnings

import numpy as np

from ...errors import SolverError, quote
from ..linear_program import compile_program
from ..method import Candidate, Method, handles_general
from ..program import LinearProgram


class Cvxpy(Method):
    """The sparse program handed to a solver that cvxpy knows, by name."""

    reason = "asked for by name"
    handles = handles_general()

    def __init__(self, solver: str) -> None:
        self.solver = solver.upper()
        self.name = f"cvxpy-{self.solver}"  # type: ignore[misc]

    def solve(self, program: LinearProgram) -> Candidate:
        """Through cvxpy with the solver's default settings.

        Raises :class:`SolverError` when it stops without a solution.
        """
        import cvxpy

        compiled = compile_program(program)
        point = cvxpy.Variable(compiled.cost.size, nonneg=True)
        equal = compiled.equal @ point == 1
        constraints = [equal]
        below = None
        if compiled.below.shape[0]:
            below = compiled.below @ point <= compiled.right
            constraints.append(below)
        if compiled.is_zero.any():
            constraints.append(point[np.flatnonzero(compiled.is_zero)] == 0)
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
        kernel, duals = compiled.invert(np.asarray(point.value), np.asarray(equal.dual_value), rows)
        return Candidate(kernel, duals, f"cvxpy {self.solver}", {"status": str(task.status)})


def installed_solvers() -> list[str]:
    """Names of the solvers that an installed cvxpy has; empty without cvxpy."""
    try:
        import cvxpy
    except ImportError:
        return []
    return list(cvxpy.installed_solvers())
