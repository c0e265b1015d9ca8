"""Clarabel: conic programs by interior point ([GoulartChen2024])."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from ...privacy.sums import ConicRows
from ...progress import stage
from ..linear_program import SparseProgram, compile_program, too_many_rows
from ..method import EVERY_CONE, Candidate, Handles, Method, handles_general
from ..program import LinearProgram

Array = NDArray[np.float64]

# Rows that sum to less are no rows of a kernel, off by rounding.
_NEAR_A_KERNEL = 0.5
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

    def condition(self, program: LinearProgram) -> str | None:
        """Applies where the rows of all bounds fit into memory."""
        return too_many_rows(program)

    def solve(self, program: LinearProgram) -> Candidate:
        """The compiled program, at the tolerance of the method.

        Raises :class:`SolverError` when Clarabel stops without a solution.
        """
        compiled = compile_program(program)
        found, details = solve_cones(compiled, self.tolerance)
        return Candidate(*compiled.invert(*found), "Clarabel", details)


def solve_cones(
    compiled: SparseProgram, tolerance: float
) -> tuple[tuple[Array, Array, Array, list[Array], Array], dict[str, str]]:
    """A compiled program on Clarabel: what :meth:`SparseProgram.invert` takes, and details.

    Minimises −cost·v with ``equal @ v = 1``, ``below @ v ≤ right``, cones, limits and signs.
    Raises :class:`SolverError` when it stops without a solution.
    """
    import clarabel
    from scipy import sparse

    size, equalities = compiled.cost.size, compiled.equal.shape[0]
    signs = sparse.eye_array(size).tocsr()[compiled.is_signed]
    same = np.flatnonzero(compiled.is_equation)
    upper = np.setdiff1d(np.flatnonzero(np.isfinite(compiled.high)), same)
    lower = np.setdiff1d(np.flatnonzero(np.isfinite(compiled.low)), same)
    middle = (compiled.low[same] + compiled.high[same]) / 2
    blocks = [
        (compiled.equal, np.ones(equalities)),
        (compiled.limits[same], middle),
        (compiled.below, compiled.right),
        (compiled.limits[upper], compiled.high[upper]),
        (-compiled.limits[lower], -compiled.low[lower]),
        (-signs, np.zeros(signs.shape[0])),
        *((-c.matrix, np.zeros(c.matrix.shape[0])) for c in compiled.cones),
    ]
    ends = np.cumsum([0, *(len(right) for _, right in blocks)])
    cones = [
        clarabel.ZeroConeT(int(ends[2])),
        clarabel.NonnegativeConeT(int(ends[6] - ends[2])),
        *(cone for rows in compiled.cones for cone in _cones(rows)),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((size, size)),
        -compiled.cost,
        sparse.csc_matrix(sparse.vstack([matrix for matrix, _ in blocks])),
        np.concatenate([right for _, right in blocks]),
        cones,
        settings,
    )
    with stage("Clarabel"):
        solution = solver.solve()
    status = str(solution.status)
    if status not in _USABLE:
        raise SolverError(
            f"Clarabel stopped with {status} on {compiled.program}; try another solver or other "
            "levels"
        )
    z = np.split(np.array(solution.z), ends[1:-1])
    limit_duals = np.zeros(len(compiled.low))
    limit_duals[same] = z[1]
    limit_duals[upper] += np.maximum(z[3], 0.0)
    limit_duals[lower] -= np.maximum(z[4], 0.0)
    cone_duals = [
        part.reshape(-1, rows.dimension) for part, rows in zip(z[6:], compiled.cones, strict=True)
    ]
    details = {"iterations": str(solution.iterations), "status": status}
    return (np.array(solution.x), z[0], z[2], cone_duals, limit_duals), details


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

    def solve(self, program: LinearProgram) -> Candidate:
        """The compiled program; the best constant kernel where Clarabel gets near no kernel at all,
        which happens at levels of 1e-10, and the bound says what that costs.
        """
        found = super().solve(program)
        asks_more = bool(program.limits) or program.forbidden is not None or bool(program.convex)
        if asks_more or float(found.kernel.sum(axis=1).min()) >= _NEAR_A_KERNEL:
            return found
        constant = np.zeros_like(found.kernel)
        constant[:, int(np.argmax(program.prior.probabilities @ program.gains))] = 1.0
        return replace(found, kernel=constant)
