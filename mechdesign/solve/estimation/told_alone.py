"""Kernels of few outputs that tell what is asked and nothing else, exactly in integers.

Where some frequencies are left open, few outputs answer only if rows of the kernel are related
exactly as what is asked says: K = G C, where the columns of G span all that is asked, and what is
the same for all people. Reports are then those of a kernel C about φ = Gᵀπ alone. With G in
integers and C over 2⁵³ the weights keep the relation whatever the digits of C are.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ...certificate.repair import repair_kernel
from ...exact import DENOMINATOR, common_integers
from ...program.program import EstimationProgram
from ...utility.survey import as_fraction, as_rational
from .descent import descend, risk_of

Vector = NDArray[np.float64]

_SEED = 17
# Starts at random, how far inside of the bounds they are, and weights of the barrier.
_STARTS, _INSIDE, _WEIGHTS = 12, 0.9, (1e-2, 1e-4, 1e-6)
# Shares of a constant kernel that are mixed in until weights keep the bounds.
_MIXED = tuple(10.0**-k for k in range(13, 3, -1))
# The largest integers of G: finer relations are not kept by weights.
_LARGEST = 1 << 24


def told_alone(
    program: EstimationProgram, bounds: Vector, most: int, in_time: Callable[[], bool]
) -> Vector | None:
    """The best kernel of so many outputs that is found among those that tell what is asked alone;
    ``None`` where the relation needs finer digits than weights have.

    Parameters
    ----------
    bounds : ``(R, n)`` rows a with a·k ≥ 0 for every column k
    """
    asked = _spanning(program)
    if asked is None:
        return None
    spans = asked.astype(float)
    inner = np.linalg.pinv(spans)
    truth = program.survey.masses @ spans
    loss = inner @ program.survey.losses @ inner.T
    rows = bounds @ spans
    rng = np.random.default_rng(_SEED)
    found: list[tuple[float, int, Vector]] = []
    for number in range(_STARTS):
        start = _start(rows, most, rng)
        if np.linalg.matrix_rank(start) < len(start):
            continue
        kernel = descend(start, rows, truth, loss, in_time, _WEIGHTS[number % len(_WEIGHTS)])
        found.append((risk_of(kernel, truth, loss), number, kernel))
        if not in_time():
            break
    for _, _, kernel in sorted(found, key=lambda each: each[:2]):
        weights = _weights(program, asked, kernel)
        if weights is not None:
            return weights / DENOMINATOR
    return None


def _spanning(program: EstimationProgram) -> NDArray[np.int64] | None:
    """G in integers, ``(n, k)``; its first column is ones."""
    from flint import fmpq_mat

    loss, n = program.survey.loss, len(program.prior)
    ones = (Fraction(1),) * n
    table = fmpq_mat(n + 1, n, [as_rational(v) for row in (ones, *loss) for v in row])
    echelon, rank = table.rref()
    rows = [[as_fraction(echelon[i, x]) for x in range(n)] for i in range(rank)]
    # Ones are the sum of the rows times their entries at the pivots, that is of all rows.
    found = [np.ones(n, dtype=object)]
    for row in rows[1:]:
        whole = np.array(common_integers(tuple(row))[0], dtype=object)
        whole = whole - min(whole)
        found.append(whole // gcd(*whole.tolist()))
    spans = np.array(found).T
    return None if spans.max() > _LARGEST else spans.astype(np.int64)


def _start(rows: Vector, most: int, rng: np.random.Generator) -> Vector:
    """A kernel C inside of all bounds; the constant ones have a first row alone."""
    shares = rng.dirichlet(np.full(most, 3.0))
    away = rng.normal(size=(rows.shape[1], most))
    away /= np.maximum(np.abs(rows).max(axis=0), 1e-300)[:, None]
    away[0] = 0.0
    away -= np.outer(away.sum(axis=1), shares)
    room, change = np.outer(rows[:, 0], shares), rows @ away
    falling = change < 0
    kernel = _INSIDE * float((room[falling] / -change[falling]).min()) * away
    kernel[0] += shares
    return kernel


def _weights(
    program: EstimationProgram, asked: NDArray[np.int64], kernel: Vector
) -> NDArray[np.int64] | None:
    """Weights over 2⁵³ that keep the bounds and the relation; ``None`` where none are near."""
    shares = (program.survey.masses @ asked) @ kernel
    for mixed in _MIXED:
        inner = (1 - mixed) * kernel
        inner[0] += mixed * shares
        whole = np.rint(inner * DENOMINATOR).astype(np.int64)
        largest = int(shares.argmax())
        whole[:, largest] -= whole.sum(axis=1)
        whole[0, largest] += DENOMINATOR
        weights = asked @ whole
        if weights.min() < 0:
            continue
        kept, _ = repair_kernel(weights / DENOMINATOR, program.cone, keep_rare=True)
        if (kept == weights).all():
            return weights
    return None
