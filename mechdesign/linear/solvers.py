"""Which solver a program goes to when nobody chose one; Clarabel ([GoulartChen2024])."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..privacy.sums import ConicRows
from ..program.duals import Candidate
from ..program.program import LinearProgram
from ..progress import stage
from .compiled import SparseProgram, compile_program
from .highs import solve_columns, solve_rows
from .plain import is_plain, plain_program
from .refined import is_small, solve_refined

Array = NDArray[np.float64]

_USABLE = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")
_CONE_TOLERANCE = 1e-10


def highs_candidate(program: LinearProgram, order: Sequence[str] = ("simplex", "ipm")) -> Candidate:
    """The optimum by HiGHS, with one algorithm after the other; raises :class:`SolverError`."""
    if is_plain(program):
        plain = plain_program(program)
        point, dual_values, solver, details = solve_columns(
            program, plain.cost, (plain.matrix, plain.lower, plain.upper), order
        )
        return Candidate(*plain.invert(point, dual_values), f"HiGHS {solver}", details)
    compiled = compile_program(program)
    found, solver, details = solve_rows(compiled, order)
    return Candidate(*compiled.invert(*found), f"HiGHS {solver}", details)


def clarabel_candidate(program: LinearProgram, tolerance: float = _CONE_TOLERANCE) -> Candidate:
    """The optimum by Clarabel; raises :class:`SolverError`."""
    compiled = compile_program(program)
    found, details = solve_cones(compiled, tolerance)
    return Candidate(*compiled.invert(*found), "Clarabel", details)


def solved_candidate(program: LinearProgram) -> Candidate:
    """The optimum by HiGHS, or by Clarabel where sums bring cones; raises :class:`SolverError`."""
    has_cones = any(constraint.cones for constraint in program.sums)
    return (clarabel_candidate if has_cones else highs_candidate)(program)


def solved(compiled: SparseProgram, seconds: float = math.inf) -> tuple[Any, ...]:
    """What :meth:`SparseProgram.invert` takes, by HiGHS, refined where the program is small, or by
    Clarabel where there are cones; HiGHS stops after ``seconds``.
    """
    if compiled.cones:
        return solve_cones(compiled, _CONE_TOLERANCE)[0]
    if is_small(compiled.program):
        try:
            return solve_refined(compiled)[0]
        except SolverError:
            pass  # up to the tolerance of the solver there may be a point all the same
    order = ("simplex", "ipm") if compiled.cost.size <= 20_000 else ("ipm", "simplex")
    return solve_rows(compiled, order, seconds)[0]


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
