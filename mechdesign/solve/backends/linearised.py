"""Convex constraints of one's own: the kernel by cvxpy, the dual variables by linearisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...certificate.cuts import Linearisation, linearise
from ...certificate.feasible import solved
from ...certificate.repair import clean_kernel
from ...errors import SolverError
from ..cvxpy_form import inner_kernel, solve_kernel
from ..least_program import LeastProgram
from ..linear_program import compile_program
from ..method import EVERY_CONE, Candidate, Duals, Method, handles_general
from ..program import LinearProgram

Array = NDArray[np.float64]

# The linear program may exceed the value found by this share of the range of gains.
_TIGHT = 1e-8
_ROUNDS, _HALVINGS = 60, 20
# Shares of a kernel inside, at which functions have gradients where they have none at the optimum.
_INWARDS = (0.0, 1e-8, 1e-5)


class Linearised(Method):
    """The kernel by cvxpy; the linear program with constraints linearised there proves its value.

    Where a function has a kink at the optimum, one gradient is not enough: it is linearised at the
    answers of the linear programs too, and where the way to them from inside leaves the set
    (cutting planes, [Kelley1960]).
    """

    name = "linearised"
    reason = "convex constraints of one's own, solved through cvxpy and bounded by linearisation"
    source = "Kelley1960"
    handles = handles_general(sums=EVERY_CONE, convex=True)

    def __init__(self, solver: str = "CLARABEL") -> None:
        self.solver = solver

    def condition(self, program: LinearProgram) -> str | None:
        """There must be such constraints."""
        return None if program.convex else "there are no convex constraints of one's own"

    def solve(self, program: LinearProgram) -> Candidate:
        """Raises :class:`SolverError` where cvxpy's solver stops without a kernel."""
        import cvxpy

        kernel = solve_kernel(program, lambda K: _objective(cvxpy, program, K), self.solver)
        cleaned = clean_kernel(kernel)
        name = f"cvxpy {self.solver}"
        try:
            inside = inner_kernel(program)
        except SolverError:
            inside = None  # what is asked has no interior; the repair will see
        duals, rounds = _bounded(program, cleaned, inside)
        return Candidate(kernel, duals, name, {"linear programs": str(rounds)}, inside=inside)


def _objective(cp: Any, program: LinearProgram, kernel: Any) -> Any:
    """What is maximised of a cvxpy expression, scaled to about one."""
    if isinstance(program, LeastProgram):
        scale = program.largest_rise or 1.0
        parts = zip(program.alternatives, program.bases, program.rises, strict=True)
        values = [
            base / scale + cp.sum(cp.multiply(rise / scale, kernel[one.symbols]))
            for one, base, rise in parts
        ]
        return cp.min(cp.hstack(values))
    scale = float(np.abs(program.objective).max()) or 1.0
    return cp.sum(cp.multiply(program.objective / scale, kernel))


def _bounded(program: LinearProgram, best: Array, inside: Array | None) -> tuple[Duals, int]:
    """Dual variables of the best linearisation found, and how many were solved."""
    points = [best]
    if inside is not None:
        points = [(1 - share) * best + share * inside for share in _INWARDS]
    value, width = program.value(best), program.gain_range or 1.0
    cut, found = linearise(program, points), Duals()
    for number in range(1, _ROUNDS + 1):
        try:
            point, duals = _solved(cut)
        except SolverError:
            return found, number  # bounds of earlier ones hold
        found = cut.duals(program.convex, duals)
        kernel = clean_kernel(point)
        if program.value(kernel) - value <= _TIGHT * width + _allowed(program, found):
            return found, number
        if all(requirement.is_kept(kernel) for requirement in program.convex):
            return found, number
        cut = cut.with_point(program.convex, kernel)
        if inside is not None:
            cut = cut.with_point(program.convex, _leaving(program, inside, kernel))
    return found, _ROUNDS


def _allowed(program: LinearProgram, duals: Duals) -> float:
    """What the tolerance of the constraints adds to the bound."""
    pairs = zip(program.convex, duals.convex or (), strict=True)
    return sum(requirement.tolerance * float(eta.sum()) for requirement, (_, eta) in pairs)


def _solved(cut: Linearisation) -> tuple[Array, Duals]:
    compiled = compile_program(cut.program)
    kernel, duals = compiled.invert(*solved(compiled))
    return kernel, duals


def _leaving(program: LinearProgram, inside: Array, outside: Array) -> Array:
    """Where the way from a kernel inside to one outside leaves what the constraints allow."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        point = (1 - middle) * inside + middle * outside
        kept = all(requirement.is_kept(point) for requirement in program.convex)
        low, high = (middle, high) if kept else (low, middle)
    found: Any = (1 - high) * inside + high * outside
    return np.asarray(found)
