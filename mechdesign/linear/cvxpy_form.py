"""What a program asks of a kernel, as cvxpy constraints on an expression of its shape."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError, quote
from ..privacy.sums import ConicRows, SumConstraint
from ..program.program import Cone, LinearProgram
from ..requirement.base import Limit
from .compiled import EQUATION, limit_rows

Array = NDArray[np.float64]

# What Clarabel is asked for first; its own settings are tried next.
_ACCURATE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
# Convex constraints are solved for with this room, or half of their tolerance where that is less.
_ROOM = 1e-9
# Kernels inside of all that is asked: room that is enough, and room that is a solver's noise.
_ENOUGH, _NOISE = 0.25, 1e-8


def kernel_constraints(
    kernel: Any,
    cone: Cone,
    sums: Sequence[SumConstraint],
    zeros: NDArray[np.bool_] | None,
    limits: Sequence[Limit],
    room: Any = 0.0,
) -> list[Any]:
    """Rows that sum to one first; then signs, rows of the cone, sums, zeros and limits.

    Parameters
    ----------
    kernel : affine expression, ``(n, M)``
    room : how far inside of every inequality, in units of its coefficients
    """
    import cvxpy as cp

    n, m = kernel.shape
    found = [cp.sum(kernel, axis=1) == 1]
    if zeros is None:
        found.append(kernel >= room)
    else:
        flat = cp.vec(kernel, order="F")
        gone = zeros.ravel(order="F")
        found += [flat[np.flatnonzero(~gone)] >= room, flat[np.flatnonzero(gone)] == 0]
    if cone.count:
        found.append(_columns(cp, cone, kernel, n, m, zeros, room) <= 0)
    for constraint in sums:
        found += _sum(cp, constraint, kernel, n, m, room)
    return found + _limits(cp, limits, kernel, room)


def program_constraints(program: LinearProgram, kernel: Any, room: Any = 0.0) -> list[Any]:
    """All that a program asks, convex constraints of one's own inside of their tolerance."""
    found = kernel_constraints(
        kernel, program.cone, program.sums, program.forbidden, program.limits, room
    )
    for requirement in program.convex:
        for expression in requirement.on_kernel(kernel):
            found.append(expression + room <= aimed(requirement.tolerance))
    return found


def aimed(tolerance: float) -> float:
    """What convex constraints of one's own are solved for, with room for rounding."""
    return max(tolerance / 2, tolerance - _ROOM)


def solve_kernel(program: LinearProgram, objective: Any, solver: str = "CLARABEL") -> Array:
    """The kernel that maximises a concave function of a variable, ``(n, M)``, which ``objective``
    makes of it; raises :class:`SolverError` where the solver stops without one.
    """
    import cvxpy as cp

    kernel = cp.Variable(program.shape)
    task = cp.Problem(cp.Maximize(objective(kernel)), program_constraints(program, kernel))
    return solved_kernel(task, kernel, solver, str(program))


def inner_kernel(program: LinearProgram) -> Array:
    """A kernel with as much room to all that is asked as it leaves, up to a limit.

    Raises :class:`SolverError` where the solver finds none.
    """
    import cvxpy as cp

    kernel, room = cp.Variable(program.shape), cp.Variable()
    asked = program_constraints(program, kernel, room)
    most = _ENOUGH / program.shape[1]
    task = cp.Problem(cp.Maximize(room), [*asked, room <= most])
    found = solved_kernel(task, kernel, "CLARABEL", str(program))
    if not (room.value is not None and room.value > _NOISE):
        raise SolverError(f"no kernel lies inside of all that is asked of {program}")
    return found


def cvxpy_distance(kernel: Any, other: Array) -> Any:
    """Σ |K − K₀| as a cvxpy expression."""
    import cvxpy as cp

    return cp.sum(cp.abs(kernel - other))


def least_violation(program: LinearProgram) -> tuple[float, Array]:
    """How far convex constraints of one's own must be broken, at least, where everything else
    holds, and a kernel that breaks them no farther.
    """
    import cvxpy as cp

    kernel, over = cp.Variable(program.shape), cp.Variable()
    asked = kernel_constraints(
        kernel, program.cone, program.sums, program.forbidden, program.limits
    )
    for requirement in program.convex:
        asked += [e <= over for e in requirement.on_kernel(kernel)]
    task = cp.Problem(cp.Minimize(over), [*asked, over >= -1])
    found = solved_kernel(task, kernel, "CLARABEL", str(program))
    return float(over.value), found


def solved_kernel(task: Any, kernel: Any, solver: str, what: str) -> Array:
    """The value of a kernel after a cvxpy problem was solved."""
    import cvxpy as cp

    tried: list[str] = []
    for options in (_ACCURATE, {}) if solver == "CLARABEL" else ({},):
        try:
            with warnings.catch_warnings():
                # Inaccurate solutions are judged by the certificate, not by a warning.
                warnings.simplefilter("ignore", UserWarning)
                task.solve(solver=solver, **options)
        except cp.error.SolverError as failure:
            tried.append(str(failure))
            continue
        if task.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) and kernel.value is not None:
            return np.asarray(kernel.value, dtype=float)
        tried.append(f"status {quote(task.status)}")
    raise SolverError(f"{solver}, through cvxpy, found no kernel for {what}: {'; '.join(tried)}")


def _columns(
    cp: Any,
    cone: Cone,
    kernel: Any,
    n: int,
    m: int,
    zeros: NDArray[np.bool_] | None = None,
    room: Any = 0.0,
) -> Any:
    """Rows of the cone at every column, ``(rows, M)``; room where some entry may be."""
    rows = cone.matrix().tocsc()
    total = rows[:, :n] @ kernel
    if cone.auxiliaries:
        total += rows[:, n:] @ cp.Variable((cone.auxiliaries, m), nonneg=True)
    if isinstance(room, float):
        return total
    heights = abs(rows).max(axis=1).toarray().ravel()
    asked = np.repeat(heights[:, None], m, axis=1)
    if zeros is not None:
        asked *= (abs(rows[:, :n]) @ (~zeros).astype(float)) > 0
    return total + room * asked


def _sum(
    cp: Any, constraint: SumConstraint, kernel: Any, n: int, m: int, room: Any = 0.0
) -> list[Any]:
    """The epigraph of a sum over outcomes: linear rows first, then cones."""
    epigraph = constraint.epigraph(n, m)
    point = cp.vec(kernel, order="F")
    if epigraph.size:
        own = cp.Variable(epigraph.size, nonneg=epigraph.is_signed)
        point = cp.hstack([point, own])
    right = np.asarray(epigraph.right)
    rows = epigraph.rows.tocsr() @ point
    found = [rows <= right if isinstance(room, float) else rows + room <= right]
    return found + [_cone(cp, rows, rows.matrix.tocsr() @ point) for rows in epigraph.cones]


def _cone(cp: Any, rows: ConicRows, values: Any) -> Any:
    count = rows.matrix.shape[0] // rows.dimension
    parts = cp.reshape(values, (count, rows.dimension), order="C")
    if rows.kind == "exponential":
        return cp.ExpCone(parts[:, 0], parts[:, 1], parts[:, 2])
    if rows.kind == "power":
        return cp.PowCone3D(parts[:, 0], parts[:, 1], parts[:, 2], rows.alpha)
    return cp.SOC(parts[:, 0], parts[:, 1:], axis=1)


def _limits(cp: Any, limits: Iterable[Limit], kernel: Any, room: Any) -> list[Any]:
    """Limits on sums over entries, scaled to a largest coefficient of one."""
    n, m = kernel.shape
    point, found = cp.vec(kernel, order="F"), []
    rows, low, high, _ = limit_rows(list(limits), n, n * m)
    same = high - low <= EQUATION
    for chosen, sign, ends in (
        (np.isfinite(high) & ~same, 1, high),
        (np.isfinite(low) & ~same, -1, -low),
    ):
        if chosen.any():
            found.append(sign * rows[chosen] @ point + room <= ends[chosen])
    if same.any():
        found.append(rows[same] @ point == (low + high)[same] / 2)
    return found
