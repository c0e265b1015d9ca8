"""Linearisations of convex constraints of one's own: what dual variables of theirs prove.

For a convex g, any kernel K₀ and any multipliers η ≥ 0, every kernel K with g(K) ≤ t satisfies
⟨Σ η ∇g(K₀), K⟩ ≤ Σ η (t − g(K₀)) + ⟨Σ η ∇g(K₀), K₀⟩, which is a limit like any other. Values and
gradients are cvxpy's, in floats, with room for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError, SolverError
from ..linear.compiled import compile_program
from ..linear.cvxpy_form import least_violation
from ..linear.solvers import solved
from ..program.duals import Duals
from ..program.program import LinearProgram, Program
from ..requirement.base import Limit
from ..requirement.convex import ROUNDING, Convex
from .repair import clean_kernel

Array = NDArray[np.float64]
#: Kernels at which each convex constraint is linearised, and multipliers of its functions there.
ConvexDuals = tuple[tuple[Array, Array], ...]

# Functions this far below zero, for gradients of size one, are not linearised: they do not bind.
_NEAR = 1e-3
# Violations below this prove nothing.
_NOISE = 1e-9
# Linear programs that are tried for a proof that there is nothing.
_ROUNDS = 40


def linearised(requirement: Convex, point: Array, multipliers: Array) -> Limit | None:
    """The limit that multipliers of the functions prove at a kernel; ``None`` where cvxpy has no
    finite value or gradient of one that is priced.
    """
    values, slopes = requirement.values(point), requirement.gradients(point)
    return _limit(requirement, point, values, slopes, multipliers)


def _limit(
    requirement: Convex, point: Array, values: Array, slopes: Any, multipliers: Array
) -> Limit | None:
    used = np.flatnonzero(multipliers > 0)
    values, slopes, eta = values[used], slopes[used], multipliers[used]
    total = np.asarray(eta @ slopes).ravel()
    sizes = np.asarray(eta @ abs(slopes)).ravel()
    size = float(sizes.sum() + eta @ abs(values) + eta.sum() * requirement.tolerance)
    end = float(eta @ (requirement.tolerance - values) + total @ point.ravel())
    end += ROUNDING * (len(used) + 4) * size
    if not (len(used) and math.isfinite(end) and np.isfinite(total).all()):
        return None
    x, y = np.divmod(np.arange(total.size), point.shape[1])
    return Limit(x, y, total, None, Fraction(end), str(requirement)).without_zeros()


def priced_cuts(program: LinearProgram, duals: Duals) -> tuple[LinearProgram, Duals]:
    """The program with a limit, of price one, in place of what dual variables linearise."""
    found = []
    for requirement, (points, multipliers) in zip(program.convex, duals.convex or (), strict=True):
        for point, eta in zip(points, multipliers, strict=True):
            limit = linearised(requirement, point, np.where(np.isfinite(eta), eta, 0.0))
            if limit is not None:
                found.append(limit)
    prices = np.zeros(len(program.limits)) if duals.limits is None else duals.limits
    prices = np.concatenate([prices, np.ones(len(found))])
    bare = replace(program, convex=(), limits=(*program.limits, *found))
    return bare, replace(duals, convex=None, limits=prices)


def fitting_cuts(program: Program, given: Any) -> ConvexDuals | None:
    """Dual variables of convex constraints as arrays; ``None`` for those of other shapes."""
    convex = program.convex if isinstance(program, LinearProgram) else ()
    try:
        pairs = [(np.asarray(k, dtype=float), np.asarray(eta, dtype=float)) for k, eta in given]
    except (TypeError, ValueError):
        return None
    if len(pairs) != len(convex):
        return None
    for requirement, (points, eta) in zip(convex, pairs, strict=True):
        shape = (len(eta), *requirement.shape) if eta.ndim == 2 else ()
        if points.shape != shape or eta.shape[1] != requirement.count:
            return None
        if not np.isfinite(points).all():
            return None
    return tuple(pairs)


@dataclass(frozen=True, eq=False)
class Linearisation:
    """A program whose convex constraints are linearised at kernels.

    Attributes
    ----------
    program : without convex constraints, with their linearisations as further limits
    points : the kernels
    rows : of each further limit the constraint, the kernel and the function
    """

    program: LinearProgram
    points: tuple[Array, ...]
    rows: tuple[tuple[int, int, int], ...]

    def duals(self, convex: Sequence[Convex], found: Duals) -> Duals:
        """Dual variables of the program that was linearised, from those of the linear one."""
        limits = np.zeros(len(self.program.limits)) if found.limits is None else found.limits
        count = len(limits) - len(self.rows)
        eta = [np.zeros((len(self.points), requirement.count)) for requirement in convex]
        for (j, k, i), price in zip(self.rows, limits[count:].tolist(), strict=True):
            eta[j][k, i] = max(price, 0.0)
        parts = []
        for multipliers in eta:
            used = np.flatnonzero(multipliers.any(axis=1))
            points = np.array([self.points[k] for k in used]).reshape(-1, *self.program.shape)
            parts.append((points, multipliers[used]))
        return replace(found, limits=limits[:count], convex=tuple(parts))

    def with_point(self, convex: Sequence[Convex], point: Array) -> Linearisation:
        """The program with convex constraints linearised at one more kernel, where they nearly
        bind.
        """
        limits, rows = list(self.program.limits), list(self.rows)
        for j, requirement in enumerate(convex):
            values, slopes = requirement.values(point), requirement.gradients(point)
            sizes = np.asarray(abs(slopes).sum(axis=1)).ravel()
            for i in np.flatnonzero(values >= -_NEAR * (1 + sizes)).tolist():
                eta = np.eye(1, requirement.count, i)[0]
                limit = _limit(requirement, point, values, slopes, eta)
                if limit is not None:
                    limits.append(limit)
                    rows.append((j, len(self.points), i))
        found = replace(self.program, limits=tuple(limits))
        return Linearisation(found, (*self.points, point), tuple(rows))


def linearise(program: LinearProgram, points: Sequence[Array]) -> Linearisation:
    """The program with convex constraints linearised at kernels, where they nearly bind."""
    found = Linearisation(replace(program, convex=()), (), ())
    for point in points:
        found = found.with_point(program.convex, point)
    return found


def least_slack_of_cuts(
    program: LinearProgram, least_slack: Callable[[LinearProgram], Duals | None]
) -> Duals | None:
    """Dual variables of the least total slack of a linearisation; ``None`` where none is needed.

    Convex constraints are linearised where they are broken least, and then where that leaves
    kernels that break them.
    """
    found = least_slack(replace(program, convex=()))
    if found is not None:
        return found
    try:
        over, point = least_violation(program)
    except SolverError:
        return None  # nothing is proved
    if over <= max(requirement.tolerance for requirement in program.convex) + _NOISE:
        return None
    cut = linearise(program, [point])
    for _ in range(_ROUNDS):
        found = least_slack(cut.program)
        if found is not None:
            return cut.duals(program.convex, found)
        try:
            compiled = compile_program(cut.program)
            point = clean_kernel(compiled.kernel(solved(compiled)[0]))
        except (SolverError, CertificateError):
            return None
        if all(requirement.is_kept(point) for requirement in program.convex):
            return None
        cut = cut.with_point(program.convex, point)
    return None
