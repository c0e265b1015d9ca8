"""From a given kernel, which may be far from all that is asked, to one near it that satisfies it.

Where requirements are asked beside privacy, constant kernels may break them, so that none is mixed
in: the kernel of least distance Σ |K − K₀| takes the place of one that is too far for the repair.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError, SolverError
from ..exact import DENOMINATOR_BITS
from ..solve.cvxpy_form import cvxpy_distance, solve_kernel
from ..solve.linear_program import compile_program
from ..solve.program import LinearProgram
from .feasible import repair_required, solved
from .repair import Repair, clean_kernel, joined

Array = NDArray[np.float64]

#: A kernel that needs more mass of others than this did not break its bounds by rounding alone.
FAR = 1e-6
# Least mass that a symbol must keep where others are forbidden to it, to be repaired as it is.
_LEFT = 0.5


def repair_given(program: LinearProgram, kernel: Array) -> tuple[NDArray[np.int64], Repair]:
    """Integer weights over 2⁵³ that satisfy all that is asked, near a kernel from anywhere.

    One that is far is repaired as it is, and the nearest one too; that of higher value is kept.
    Raises :class:`CertificateError` where none is found.
    """
    given = clean_kernel(kernel)
    found, failures = [], []
    zeros = np.zeros(given.shape, dtype=bool) if program.forbidden is None else program.forbidden
    lost = float(np.where(zeros, given, 0.0).sum(axis=1).max())
    if lost < _LEFT:
        try:
            weights, repair = repair_required(program, given)
            found.append((weights, _moved(repair, lost)))
        except CertificateError as failure:
            failures.append(failure)
    if not found or found[0][1].moved > FAR:
        try:
            nearest = nearest_kernel(program, given)
            weights, repair = repair_required(program, nearest)
            found.append(
                (weights, _moved(repair, float(abs(nearest - given).sum(axis=1).max()) / 2))
            )
        except SolverError as failure:
            failures.append(CertificateError(f"no kernel near the given one was found: {failure}"))
        except CertificateError as failure:
            failures.append(failure)
    if not found:
        raise failures[-1]
    return max(found, key=lambda pair: program.enclose(pair[0], DENOMINATOR_BITS).low)


def _moved(repair: Repair, share: float) -> Repair:
    """What the repair of a kernel did after a share of the mass of a symbol was moved."""
    return replace(repair, inside=0.0, moved=joined(share, repair.inside))


def nearest_kernel(program: LinearProgram, kernel: Array) -> Array:
    """The kernel of least Σ |K − K₀| among those that satisfy all that is asked, in floats.

    Raises :class:`SolverError` where no solver finds it.
    """
    from scipy import sparse

    if program.convex:
        return clean_kernel(solve_kernel(program, lambda K: -cvxpy_distance(K, kernel)))
    compiled = compile_program(program)
    (n, m), size = program.shape, compiled.cost.size
    outputs, symbols = np.divmod(compiled.variables, compiled.block)
    entries = np.flatnonzero((symbols < n) & (outputs < m))
    asked = kernel[symbols[entries], outputs[entries]]
    pick = sparse.eye_array(size).tocsr()[entries]
    apart = sparse.eye_array(len(entries))
    rows = sparse.vstack([sparse.hstack([pick, -apart]), sparse.hstack([-pick, -apart])]).tocsr()
    cost = np.concatenate([np.zeros(size), -np.ones(len(entries))])
    extended = compiled.extended(cost, len(entries), rows=(rows, np.concatenate([asked, -asked])))
    return clean_kernel(compiled.kernel(solved(extended)[0][:size]))
