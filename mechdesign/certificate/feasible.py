"""From a solver's kernel to weights that satisfy requirements exactly, beside every bound.

Mixing with constant kernels would break zeros and limits. Here a kernel is first moved onto its
equations and limits by the least change, relative to its entries; what rounding still breaks is
mended by mixing in a kernel that lies inside of everything that is asked, by the least share that
passes the exact check. Equations hold within their tolerance throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError, SolverError
from ..exact import DENOMINATOR_BITS, Verdict, to_weights
from ..linear.compiled import SparseProgram, compile_program
from ..linear.cvxpy_form import cvxpy_distance, inner_kernel, solve_kernel
from ..linear.solvers import solved
from ..mechanism import Mechanism
from ..program.duals import Duals
from ..program.program import LinearProgram
from ..roots import least_passing
from .repair import Repair, clean_kernel, corrections, joined, without_forbidden

Array = NDArray[np.float64]

# Shares of the inner kernel: the first, by how much the next is larger, how often the one that
# passes is narrowed.
_LEAST_SHARE, _GROWTH, _NARROWINGS = 2.0**-50, 64.0, 3
# A share that costs next to nothing is not narrowed.
_CHEAP = 1e-9
# Least changes onto equations are repeated, as floats lose digits in each.
_PASSES = 4
# Kernels are moved inside of limits by this share of their coefficients, for rounding.
_MARGIN = 2.0**-51
# Limits whose ends are closer are equations.
_NARROW = 1e-8
_UNIT = 2.0**-52
# The inner kernel: room that is enough, as a share of what an even kernel has, and searches for it.
_ENOUGH, _SEARCHES = 0.25, 4
# Room below this is a solver's noise.
_NOISE = 1e-8
# Total slack below this proves nothing.
_LEAST_SLACK = 1e-15
# Rows up to which normal equations are solved, and eigenvalues of theirs that count as zero.
_DIRECT, _SINGULAR = 1000, 1e-13


def repair_required(
    program: LinearProgram, kernel: Array, inside: Array | None = None
) -> tuple[NDArray[np.int64], Repair]:
    """Integer weights over 2⁵³ that satisfy cone, zeros, limits and sums exactly, near a kernel.

    Parameters
    ----------
    inside : a kernel well inside of all of them, where one is known

    Raises :class:`CertificateError` where none is found.
    """
    if program.most_outputs is not None:
        # Those that occur most; the others are forbidden from here on.
        order = np.argsort(-kernel.sum(axis=0), kind="stable")
        program = program.without_outputs(order[program.most_outputs :].tolist())
    allowed = _allowed(program, kernel)
    weights = to_weights(allowed)
    if satisfies(program, weights):
        return weights, Repair((), 0.0, 1)
    stays = _keeps_limits(program, weights)
    start = moved(program, allowed)
    weights = to_weights(start)
    for near in (weights, _without_holes(program, weights)):
        if satisfies(program, near):
            return near, Repair((), 0.0, 1)
    # Moving costs digits that entries of 1e-11 need; what keeps its limits may stay where it is.
    starts = [allowed, start] if stays and not np.array_equal(start, allowed) else [start]
    rounds = 1
    failures: list[SolverError] = []
    for inner in _inner_kernels(program, inside, failures):
        found: list[tuple[float, NDArray[np.int64]]] = []
        for tried in starts:
            mixed, more = _least_mixture(program, tried, inner)
            rounds += more
            if mixed is not None:
                found.append(mixed)
                if mixed[0] <= _CHEAP:
                    break
        if found:
            share, weights = min(found, key=lambda pair: pair[0])
            return weights, Repair((), 0.0, rounds, inside=share)
    # At level zero rows are the same to the last bit, which no rounding of different ones gives.
    even = np.broadcast_to(program.prior.probabilities @ start, start.shape)
    weights = to_weights(even.copy())
    if satisfies(program, weights):
        return weights, Repair((), 1.0, rounds, constant=True)
    if failures:
        raise CertificateError(
            f"no kernel inside of all that is asked was found for {program}: {failures[-1]}"
        ) from failures[-1]
    raise CertificateError(
        f"no weights over 2**53 were found that satisfy all that is asked of {program}: it leaves "
        "too little room for rounding; allow a larger tolerance or a slightly larger level"
    )


def _least_mixture(
    program: LinearProgram, start: Array, inner: Array
) -> tuple[tuple[float, NDArray[np.int64]] | None, int]:
    """About the least share of an inner kernel with which another passes, and the weights; how
    often that was tried.
    """
    tried: list[float] = []
    for kept, other in _without_traces(program, start, inner):

        def mixed(share: float, pair: tuple[Array, Array] = (kept, other)) -> Any:
            tried.append(share)
            return _mixed(program, *pair, share)

        found = least_passing(mixed, _LEAST_SHARE, _GROWTH, _NARROWINGS, _CHEAP)
        if found is not None:
            return found, len(tried)
    return None, len(tried)


def _allowed(program: LinearProgram, kernel: Array) -> Array:
    """A clean kernel without what it has at forbidden entries; rows that had nothing else are even
    over what is allowed.
    """
    found = without_forbidden(program, clean_kernel(kernel))
    if program.forbidden is not None:
        empty = found.sum(axis=1) == 0
        found[empty] = ~program.forbidden[empty]
        found /= np.maximum(found.sum(axis=1), 1e-300)[:, None]
    return found


def _without_holes(program: LinearProgram, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weights with one in place of zero where others have the output: bounds on likelihood ratios
    ask for no more than that where they ask for less than what can be told from zero.
    """
    holes = (weights == 0) & weights.any(axis=0)
    if program.forbidden is not None:
        holes &= ~program.forbidden
    found = weights + holes
    found[np.arange(len(found)), weights.argmax(axis=1)] -= holes.sum(axis=1)
    return found


def _without_traces(
    program: LinearProgram, kernel: Array, inner: Array
) -> Iterator[tuple[Array, Array]]:
    """Both kernels as they are, then without entries that have no room: what is asked together may
    leave them no value but zero, where a solver leaves traces.
    """
    yield kernel, inner
    traces = (inner > 0) & (inner <= _NOISE)
    if traces.any():
        without = (clean_kernel(np.where(traces, 0.0, k)) for k in (kernel, inner))
        yield tuple(moved(program, k) for k in without)  # type: ignore[misc]


def _inner_kernels(
    program: LinearProgram, inside: Array | None, failures: list[SolverError]
) -> Iterator[Array]:
    """Kernels inside of what is asked; where no solver finds one, why not goes to ``failures``."""
    if inside is not None:
        yield moved(program, _allowed(program, inside))
    try:
        inner = inner_kernel(program) if program.convex else roomiest_kernel(program)
        yield moved(program, clean_kernel(without_forbidden(program, inner)))
    except SolverError as failure:
        failures.append(failure)


def _mixed(
    program: LinearProgram, kernel: Array, inner: Array, share: float
) -> NDArray[np.int64] | None:
    weights = to_weights(_at_fixed(program, (1 - share) * kernel + share * inner))
    return weights if satisfies(program, weights) else None


def satisfies(program: LinearProgram, weights: NDArray[np.int64]) -> bool:
    """Whether weights over 2⁵³ satisfy zeros, limits, cone and sums, exactly."""
    if program.forbidden is not None and weights[program.forbidden].any():
        return False
    if not _keeps_limits(program, weights):
        return False
    kernel = np.ldexp(weights.astype(float), -DENOMINATOR_BITS)
    if not all(convex.is_kept(kernel) for convex in program.convex):
        return False
    if corrections(weights, program.cone).any():
        return False
    mechanism = Mechanism.from_weights(weights, DENOMINATOR_BITS, program.prior.labels)
    return all(c.evaluate(mechanism).verdict is Verdict.YES for c in program.sums)


def _keeps_limits(program: LinearProgram, weights: NDArray[np.int64]) -> bool:
    """Whether weights satisfy every limit: by floats where these decide it, else exactly."""
    if not program.limits:
        return True
    rows, low, high, size = program.limit_rows
    values = rows @ np.ldexp(weights.ravel().astype(float), -DENOMINATOR_BITS)
    # Entries are at most one; each term, product and end is rounded, and so is each partial sum.
    error = _UNIT * (np.diff(rows.indptr) + 8) * size
    if ((values < low - error) | (values > high + error)).any():
        return False
    near = np.flatnonzero(~((values >= low + error) & (values <= high - error)))
    return all(program.limits[j].is_kept(weights, DENOMINATOR_BITS) for j in near.tolist())


def moved(program: LinearProgram, kernel: Array) -> Array:
    """The kernel moved onto equations and broken limits by the least change, relative to entries.

    Zeros stay zeros. Where an entry would become negative it stays as it was.
    """
    if not program.limits:
        return kernel
    n, m = program.shape
    rows, low, high, size = program.limit_rows
    narrow = high - low <= _NARROW
    # Rounding to weights spends some of what an equation may be off.
    margin = np.where(narrow, (high - low) / 4, np.minimum(_MARGIN * size, (high - low) / 4))
    middle = (low[narrow] + high[narrow]) / 2
    found = kernel.ravel()
    for _ in range(_PASSES):
        values = rows @ found
        target = np.clip(values, low + margin, high - margin)
        active = np.flatnonzero((values != target) | narrow)
        missing = 1 - found.reshape(n, m).sum(axis=1)
        if not ((values != target).any() or (abs(missing) > m * _UNIT).any()):
            break
        # Those that are off go to the middle: equations may depend on each other, and their ends
        # do not agree. The others stay, as what is asked may need the room that they have.
        target[narrow] = np.where(values[narrow] == target[narrow], values[narrow], middle)
        step = _least_change(rows[active], found, missing, (target - values)[active])
        tried = found + step
        if not np.isfinite(tried).all():
            break
        found = np.where(tried < 0, found, tried)
    return _at_fixed(program, found.reshape(n, m))


def _least_change(rows: Any, kernel: Array, missing: Array, lacking: Array) -> Array:
    """The step d, least in Σ d²/k, after which rows of the kernel and limits lack nothing.

    By its normal equations where these are few, with a round of iterative refinement.
    """
    from scipy import sparse
    from scipy.sparse.linalg import lsqr

    n, count = len(missing), len(lacking)
    m = len(kernel) // n
    sums = sparse.csr_array(
        (np.ones(n * m), np.arange(n * m), np.arange(0, n * m + 1, m)), shape=(n, n * m)
    )
    matrix = sparse.vstack([sums, rows]).tocsr()
    residual = np.concatenate([missing, lacking])
    if n + count > _DIRECT:
        scale = np.sqrt(kernel)
        found: Array = scale * lsqr(matrix * scale, residual, atol=1e-15, btol=1e-15)[0]
        return found
    weighted = matrix * kernel
    normal = (weighted @ matrix.T).toarray()
    size = np.sqrt(normal.diagonal())
    size[size == 0] = 1.0
    values, vectors = np.linalg.eigh(normal / np.outer(size, size))
    kept = values > _SINGULAR * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    step = np.zeros(len(kernel))
    for _ in range(2):
        short = (residual - matrix @ step) / size
        step += weighted.T @ (vectors @ ((vectors.T @ short) / values) / size)
    return step


def _at_fixed(program: LinearProgram, kernel: Array) -> Array:
    """A kernel whose single entries lie between their ends, to the last bit."""
    for limit in program.limits:
        if len(limit.values) == 1 and limit.coefficients[0] == 1:
            place = limit.symbols[0], limit.outputs[0]
            low, high = limit.ends
            kernel[place] = min(max(kernel[place], low), high)
    return kernel


def roomiest_kernel(program: LinearProgram) -> Array:
    """A kernel with room to every row of the cone, limit and entry, as far as there is any.

    First the least room of all is maximised; where that is nothing, the sum of the rooms, each up
    to a limit, again and again for those that have none yet, and the kernels found are averaged.
    """
    compiled = compile_program(program.without_objective)
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


def slack_duals(program: LinearProgram, seconds: float = math.inf) -> Duals | None:
    """Dual variables of the least total slack; ``None`` where there is hardly any, or no answer, as
    within ``seconds`` of a solver.
    """
    from scipy import sparse

    compiled = compile_program(program)
    n, limits, size = compiled.equal.shape[0], len(compiled.low), compiled.cost.size
    # Rows that no kernel of zeros satisfies need slack as much as limits do.
    short = np.flatnonzero(compiled.right < 0)
    parts = n, 2 * limits, len(short)
    ends = sparse.hstack([-sparse.eye_array(limits), sparse.eye_array(limits)])
    eased = sparse.csr_array(
        (-np.ones(len(short)), (short, np.arange(len(short)))),
        shape=(compiled.below.shape[0], len(short)),
    )

    def placed(columns: Any, which: int) -> Any:
        rows = columns.shape[0]
        blocks = [sparse.csr_array((rows, count)) for count in parts]
        blocks[which] = columns
        return sparse.hstack(blocks)

    new = sum(parts)
    asked = compiled.extended(
        np.concatenate([np.zeros(size), -np.ones(new)]),
        new,
        equal=placed(sparse.eye_array(n), 0),
        limits=placed(ends, 1),
        below=placed(eased, 2),
    )
    try:
        point, *rest = solved(asked, seconds)
    except SolverError:
        return None  # nothing is proved
    if float(np.maximum(point[size:], 0).sum()) <= _LEAST_SLACK:
        return None
    return asked.invert(point, *rest)[1]


# Kernels from anywhere, which may be far from all that is asked

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
