"""From a solver's kernel to weights that satisfy requirements exactly, beside every bound.

Mixing with constant kernels would break zeros and limits. Here a kernel is first moved onto its
equations and limits by the least change, relative to its entries; what rounding still breaks is
mended by mixing in a kernel that lies inside of everything that is asked, by the least share that
passes the exact check. Equations hold within their tolerance throughout.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError, SolverError
from ..exact import DENOMINATOR_BITS, Verdict
from ..mechanism import Mechanism
from ..solve.backends.clarabel import solve_cones
from ..solve.backends.highs import solve_rows
from ..solve.cvxpy_form import inner_kernel
from ..solve.linear_program import SparseProgram, compile_program
from ..solve.program import LinearProgram
from .repair import Repair, clean_kernel, corrections, to_weights, without_forbidden

Array = NDArray[np.float64]

# Shares of the inner kernel: the first, by how much the next is larger, how often the one that
# passes is narrowed.
_LEAST_SHARE, _GROWTH, _NARROWINGS = 2.0**-50, 16.0, 3
# Least changes onto equations are repeated, as floats lose digits in each.
_PASSES = 4
# Kernels are moved inside of limits by this share of their coefficients, for rounding.
_MARGIN = 2.0**-51
# The inner kernel: room that is enough, as a share of what an even kernel has, and searches for it.
_ENOUGH, _SEARCHES = 0.25, 4
# Room below this is a solver's noise.
_NOISE = 1e-8
_CONE_TOLERANCE = 1e-10


def repair_required(
    program: LinearProgram, kernel: Array, inside: Array | None = None
) -> tuple[NDArray[np.int64], Repair]:
    """Integer weights over 2⁵³ that satisfy cone, zeros, limits and sums exactly, near a kernel.

    Parameters
    ----------
    inside : a kernel well inside of all of them, where one is known

    Raises :class:`CertificateError` where none is found.
    """
    start = moved(program, clean_kernel(without_forbidden(program, kernel)))
    weights = to_weights(start)
    if satisfies(program, weights):
        return weights, Repair((), 0.0, 1)
    rounds = 1
    for inner in _inner_kernels(program, inside):
        share, found = _LEAST_SHARE, None
        while share < 1 and found is None:
            found = _mixed(program, start, inner, share)
            rounds += 1
            share *= _GROWTH
        if found is None:
            share, found = _GROWTH, _mixed(program, start, inner, 1.0)
        if found is not None:
            low, high = share / _GROWTH**2, min(share / _GROWTH, 1.0)
            for _ in range(_NARROWINGS):
                middle = float(np.sqrt(low * high))
                tried = _mixed(program, start, inner, middle)
                low, high, found = (middle, high, found) if tried is None else (low, middle, tried)
            return found, Repair((), high, rounds + _NARROWINGS)
    raise CertificateError(
        f"no weights over 2**53 were found that satisfy all that is asked of {program}: it leaves "
        "too little room for rounding; allow a larger tolerance or a slightly larger level"
    )


def _inner_kernels(program: LinearProgram, inside: Array | None) -> Any:
    if inside is not None:
        yield moved(program, clean_kernel(without_forbidden(program, inside)))
    try:
        inner = inner_kernel(program) if program.convex else roomiest_kernel(program)
        yield moved(program, clean_kernel(without_forbidden(program, inner)))
    except SolverError as failure:
        raise CertificateError(
            f"no kernel inside of all that is asked was found for {program}: {failure}"
        ) from failure


def _mixed(
    program: LinearProgram, kernel: Array, inner: Array, share: float
) -> NDArray[np.int64] | None:
    weights = to_weights((1 - share) * kernel + share * inner)
    return weights if satisfies(program, weights) else None


def satisfies(program: LinearProgram, weights: NDArray[np.int64]) -> bool:
    """Whether weights over 2⁵³ satisfy zeros, limits, cone and sums, exactly."""
    if program.forbidden is not None and weights[program.forbidden].any():
        return False
    if not all(limit.is_kept(weights, DENOMINATOR_BITS) for limit in program.limits):
        return False
    kernel = np.ldexp(weights.astype(float), -DENOMINATOR_BITS)
    if not all(convex.is_kept(kernel) for convex in program.convex):
        return False
    if corrections(weights, program.cone).any():
        return False
    mechanism = Mechanism.from_weights(weights, DENOMINATOR_BITS, program.prior.labels)
    return all(c.evaluate(mechanism).verdict is Verdict.YES for c in program.sums)


def moved(program: LinearProgram, kernel: Array) -> Array:
    """The kernel moved onto equations and broken limits by the least change, relative to entries.

    Zeros stay zeros. Where an entry would become negative it stays as it was.
    """
    from scipy import sparse
    from scipy.sparse.linalg import lsqr

    if not program.limits:
        return kernel
    n, m = program.shape
    rows, low, high, size = _rows(program)
    margin = np.minimum(_MARGIN * size, (high - low) / 4)
    rights = np.arange(n)
    sums = sparse.csr_array(
        (np.ones(n * m), (np.repeat(rights, m), np.arange(n * m))), shape=(n, n * m)
    )
    found = kernel.ravel()
    for _ in range(_PASSES):
        values = rows @ found
        target = np.clip(values, low + margin, high - margin)
        active = np.flatnonzero((values != target) | (high - low <= 1e-8))
        if not (values != target).any():
            break
        matrix = sparse.vstack([sums, rows[active]]).tocsr()
        residual = np.concatenate([1 - sums @ found, (target - values)[active]])
        scale = np.sqrt(found)
        step = scale * lsqr(matrix * scale, residual, atol=1e-15, btol=1e-15)[0]
        tried = found + step
        if not np.isfinite(tried).all():
            break
        found = np.where(tried < 0, found, tried)
    return found.reshape(n, m)


def _rows(program: LinearProgram) -> tuple[Any, Array, Array, Array]:
    """Limits as sparse rows over the kernel row by row, their ends, and sizes of coefficients."""
    from scipy import sparse

    n, m = program.shape
    limits = program.limits
    values = [limit.coefficients for limit in limits]
    places = [limit.symbols * m + limit.outputs for limit in limits]
    rows = np.repeat(np.arange(len(limits)), [len(v) for v in values])
    matrix = sparse.csr_array(
        (np.concatenate(values), (rows, np.concatenate(places))), shape=(len(limits), n * m)
    )
    low = np.array([-np.inf if limit.low is None else float(limit.low) for limit in limits])
    high = np.array([np.inf if limit.high is None else float(limit.high) for limit in limits])
    ends = np.where(np.isfinite(low), abs(low), 0) + np.where(np.isfinite(high), abs(high), 0)
    return matrix, low, high, abs(matrix).sum(axis=1) + ends


def roomiest_kernel(program: LinearProgram) -> Array:
    """A kernel with room to every row of the cone, limit and entry, as far as there is any.

    First the least room of all is maximised; where that is nothing, the sum of the rooms, each up
    to a limit, again and again for those that have none yet, and the kernels found are averaged.
    """
    compiled = compile_program(program)
    found, room = _with_room(compiled, None)
    if room.min(initial=1.0) > _NOISE:
        return found
    kernels, total = [found], room
    for _ in range(_SEARCHES):
        kernel, room = _with_room(compiled, total <= _NOISE)
        if not (room[total <= _NOISE] > _NOISE).any():
            break
        kernels.append(kernel)
        total = total + room
        if total.min() > _NOISE:
            break
    return np.asarray(np.mean(kernels, axis=0))


def _with_room(compiled: SparseProgram, wanted: NDArray[np.bool_] | None) -> tuple[Array, Array]:
    """A kernel of most room, and the rooms: of all alike, or of those wanted, up to a limit."""
    from scipy import sparse

    program = compiled.program
    n, m = program.shape
    size = compiled.cost.size
    entry = np.flatnonzero(
        (compiled.variables < m * compiled.block) & (compiled.variables % compiled.block < n)
    )
    loose = np.flatnonzero(~compiled.is_equation & np.isfinite(compiled.high))
    bottom = np.flatnonzero(~compiled.is_equation & np.isfinite(compiled.low))
    below = compiled.below
    heights = np.maximum(abs(below).max(axis=1).toarray().ravel(), 1e-300) if below.shape[0] else []
    blocks = [
        (below, compiled.right, np.asarray(heights)),
        (compiled.limits[loose], compiled.high[loose], np.ones(len(loose))),
        (-compiled.limits[bottom], -compiled.low[bottom], np.ones(len(bottom))),
        (-sparse.eye_array(size).tocsr()[entry], np.zeros(len(entry)), np.ones(len(entry))),
    ]
    matrix = sparse.vstack([block for block, _, _ in blocks]).tocsr()
    right = np.concatenate([values for _, values, _ in blocks])
    scales = np.concatenate([values for _, _, values in blocks])
    count, most = matrix.shape[0], _ENOUGH / m
    if wanted is None:
        new = 1
        columns = sparse.csr_array(scales[:, None])
        gains = np.ones(1)
    else:
        chosen = np.flatnonzero(wanted)
        new = len(chosen)
        columns = sparse.csr_array((scales[chosen], (chosen, np.arange(new))), shape=(count, new))
        gains = np.ones(new)
    ends = sparse.hstack([sparse.csr_array((new, size)), sparse.eye_array(new)])
    asked = sparse.vstack([sparse.hstack([matrix, columns]), ends]).tocsr()
    bare = replace(
        compiled,
        below=compiled.below[:0],
        right=compiled.right[:0],
        rows=compiled.rows[:0],
        limits=compiled.limits[compiled.is_equation],
        low=compiled.low[compiled.is_equation],
        high=compiled.high[compiled.is_equation],
    )
    cost = np.concatenate([np.zeros(size), gains])
    asked_for = asked, np.concatenate([right, np.full(new, most)])
    point = solved(bare.extended(cost, new, rows=asked_for))[0]
    kernel = clean_kernel(compiled.kernel(point[:size]))
    return kernel, (right - matrix @ point[:size]) / scales


def solved(compiled: SparseProgram) -> tuple[Any, ...]:
    """What :meth:`SparseProgram.invert` takes, by HiGHS, or by Clarabel where there are cones."""
    if compiled.cones:
        return solve_cones(compiled, _CONE_TOLERANCE)[0]
    order = ("simplex", "ipm") if compiled.cost.size <= 20_000 else ("ipm", "simplex")
    return solve_rows(compiled, order)[0]
