"""The sparse program on Clarabel, called directly: the general method for large problems."""

from __future__ import annotations

import numpy as np

from ..errors import SolverError
from .linear_program import LinearMethod, compile_program
from .methods import Candidate, Duals
from .problem import Problem


class Clarabel(LinearMethod):
    """Interior point on the sparse program; finds good eliminations for bounds of any kind."""

    name = "clarabel"
    reason = (
        "the general sparse linear program, bounds of any kind: Clarabel called directly is the "
        "fastest general solver above a few hundred kernel entries"
    )
    source = "GoulartChen2024"

    def solve(self, problem: Problem) -> Candidate:
        """Minimise −cost·v with ``equal @ v = 1``, ``below @ v ≤ 0``, ``v ≥ 0``.

        Raises :class:`SolverError` when Clarabel stops without a solution.
        """
        import clarabel
        from scipy import sparse

        program = compile_program(problem)
        size, equalities = program.cost.size, program.equal.shape[0]
        inequalities = program.below.shape[0] + size
        matrix = sparse.vstack([program.equal, program.below, -sparse.eye_array(size)])
        right = np.concatenate([np.ones(equalities), np.zeros(inequalities)])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix((size, size)),
            -program.cost,
            sparse.csc_matrix(matrix),
            right,
            [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(inequalities)],
            settings,
        ).solve()
        status = str(solution.status)
        if status not in ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"):
            raise SolverError(
                f"Clarabel stopped with {status} on {problem}; try solver='highs-ipm'"
            )
        weights = np.array(solution.z)
        kernel, prices, multipliers = program.invert(
            np.array(solution.x),
            weights[:equalities],
            weights[equalities : equalities + program.below.shape[0]],
        )
        details = {"iterations": str(solution.iterations), "status": status}
        return Candidate(kernel, Duals(prices, multipliers), "Clarabel", details)
