"""What a program asks of a kernel, as cvxpy constraints on an expression of its shape."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError, quote
from ..privacy.sums import ConicRows
from ..program.program import LinearProgram
from .compiled import compile_program

Array = NDArray[np.float64]

# What Clarabel is asked for first; its own settings are tried next.
_ACCURATE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
# Convex constraints are solved for with this room, or half of their tolerance where that is less.
_ROOM = 1e-9
# Kernels inside of all that is asked: room that is enough, and room that is a solver's noise.
_ENOUGH, _NOISE = 0.25, 1e-8


def kernel_constraints(program: LinearProgram, kernel: Any, room: Any = 0.0) -> list[Any]:
    """Rows that sum to one first; then signs, zeros, rows of the cone and sums, cones and limits.

    Parameters
    ----------
    program : of which the objective and convex constraints of one's own are left out
    kernel : affine expression, ``(n, M)``
    room : how far inside of every inequality, in units of its coefficients
    """
    import cvxpy as cp

    compiled = compile_program(program.without_objective)
    n, m = program.shape
    outputs, symbols = np.divmod(compiled.variables, compiled.block)
    is_entry = (outputs < m) & (symbols < n)
    entries = cp.vec(kernel, order="F")
    places = outputs[is_entry] * n + symbols[is_entry]
    zeros = np.setdiff1d(np.arange(n * m), places)
    signed = np.flatnonzero(~is_entry & compiled.is_signed)
    free = np.flatnonzero(~is_entry & ~compiled.is_signed)
    order = np.concatenate([np.flatnonzero(is_entry), signed, free])
    parts = [entries[places]]
    parts += [cp.Variable(len(signed), nonneg=True)] if len(signed) else []
    parts += [cp.Variable(len(free))] if len(free) else []
    point = cp.hstack(parts)

    def at(matrix: Any) -> Any:
        return matrix.tocsc()[:, order].tocsr() @ point

    found = [cp.sum(kernel, axis=1) == 1, parts[0] >= room]
    if len(zeros):
        found.append(entries[zeros] == 0)
    if compiled.below.shape[0]:
        heights = abs(compiled.below).max(axis=1).toarray().ravel()
        found.append(at(compiled.below) + room * heights <= compiled.right)
    found += [_cone(cp, rows, at(rows.matrix)) for rows in compiled.cones]
    low, high, same = compiled.low, compiled.high, compiled.is_equation
    for chosen, sign, ends in (
        (np.isfinite(high) & ~same, 1, high),
        (np.isfinite(low) & ~same, -1, -low),
    ):
        if chosen.any():
            found.append(sign * at(compiled.limits[chosen]) + room <= ends[chosen])
    if same.any():
        found.append(at(compiled.limits[same]) == (low + high)[same] / 2)
    return found


def program_constraints(program: LinearProgram, kernel: Any, room: Any = 0.0) -> list[Any]:
    """All that a program asks, convex constraints of one's own inside of their tolerance."""
    found = kernel_constraints(program, kernel, room)
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
    asked = kernel_constraints(program, kernel)
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


def _cone(cp: Any, rows: ConicRows, values: Any) -> Any:
    count = rows.matrix.shape[0] // rows.dimension
    parts = cp.reshape(values, (count, rows.dimension), order="C")
    if rows.kind == "exponential":
        return cp.ExpCone(parts[:, 0], parts[:, 1], parts[:, 2])
    if rows.kind == "power":
        return cp.PowCone3D(parts[:, 0], parts[:, 1], parts[:, 2], rows.alpha)
    return cp.SOC(parts[:, 0], parts[:, 1:], axis=1)
