"""Clarabel: conic programs by interior point ([GoulartChen2024])."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...errors import SolverError
from ...privacy.sums import ConicRows
from ..linear_program import compile_program
from ..method import EVERY_CONE, Candidate, Handles, Method, handles_general
from ..program import LinearProgram

_USABLE = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")


class Clarabel(Method):
    """Interior point on the sparse program; finds good eliminations for bounds of any kind."""

    name = "clarabel"
    reason = (
        "the general sparse linear program, bounds of any kind: Clarabel called directly is the "
        "fastest general solver above a few hundred kernel entries"
    )
    source = "GoulartChen2024"
    handles: Handles = handles_general()
    tolerance: ClassVar[float] = 1e-9

    def solve(self, program: LinearProgram) -> Candidate:
        """Minimise −cost·v with ``equal @ v = 1``, ``below @ v ≤ right``, cones and signs.

        Raises :class:`SolverError` when Clarabel stops without a solution.
        """
        import clarabel
        from scipy import sparse

        compiled = compile_program(program)
        size, equalities = compiled.cost.size, compiled.equal.shape[0]
        inequalities = compiled.below.shape[0]
        # v ≥ 0, and −v ≥ 0 beside it where a variable is zero.
        identity = sparse.eye_array(size).tocsr()
        zeros = identity[compiled.is_zero]
        signs = (
            sparse.vstack([identity[compiled.is_signed], -zeros])
            if zeros.shape[0]
            else (identity[compiled.is_signed])
        )
        matrices = [compiled.equal, compiled.below, -signs, *(-c.matrix for c in compiled.cones)]
        right = [np.ones(equalities), compiled.right, np.zeros(signs.shape[0])]
        right += [np.zeros(c.matrix.shape[0]) for c in compiled.cones]
        cones = [
            clarabel.ZeroConeT(equalities),
            clarabel.NonnegativeConeT(inequalities + signs.shape[0]),
            *(cone for rows in compiled.cones for cone in _cones(rows)),
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = self.tolerance
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix((size, size)),
            -compiled.cost,
            sparse.csc_matrix(sparse.vstack(matrices)),
            np.concatenate(right),
            cones,
            settings,
        ).solve()
        status = str(solution.status)
        if status not in _USABLE:
            raise SolverError(
                f"Clarabel stopped with {status} on {program}; try another solver or other levels"
            )
        z = np.array(solution.z)
        cone_duals, start = [], equalities + inequalities + signs.shape[0]
        for rows in compiled.cones:
            stop = start + rows.matrix.shape[0]
            cone_duals.append(z[start:stop].reshape(-1, rows.dimension))
            start = stop
        kernel, duals = compiled.invert(
            np.array(solution.x),
            z[:equalities],
            z[equalities : equalities + inequalities],
            cone_duals,
        )
        details = {"iterations": str(solution.iterations), "status": status}
        return Candidate(kernel, duals, "Clarabel", details)


def _cones(rows: ConicRows) -> list[Any]:
    import clarabel

    count = rows.matrix.shape[0] // rows.dimension
    if rows.kind == "exponential":
        return [clarabel.ExponentialConeT()] * count
    if rows.kind == "power":
        return [clarabel.PowerConeT(rows.alpha)] * count
    return [clarabel.SecondOrderConeT(rows.dimension)] * count


class EpigraphClarabel(Clarabel):
    """Sums over outcomes whose epigraphs are any cones."""

    name = "epigraph-clarabel"
    reason = "sums over outcomes as epigraphs, mutual information by exponential cones"
    handles = handles_general(sums=EVERY_CONE, needs_sums=True)
    tolerance = 1e-10
