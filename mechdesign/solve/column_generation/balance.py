"""Shares of given columns whose mean deviation is zero, without a linear program.

Of all such shares those of the largest entropy are positive wherever they can be, and a few steps
of Newton's method find them::

    minimise  Σ q log(q/w)   subject to  Σ q = 1,  Σ q d = 0
    dual      minimise  log Σ w exp⟨λ, d⟩,   q ∝ w exp⟨λ, d⟩
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...errors import SolverError

Vector = NDArray[np.float64]

_STEPS = 60
# Mean deviation that counts as zero, in units of the largest deviation of a symbol.
_ZERO = 1e-14
# Where the mean can no longer be told from zero by the dual value, whole steps are taken.
_DECREASE, _SHORTEST = 1e-4, 1e-6
_RIDGE = 1e-12


def balanced_shares(table: Vector, weights: Vector, deadline: float) -> Vector:
    """Shares q of ``(C, n)`` columns with Σ q = 1 and Σ q d = 0, near positive weights.

    Raises :class:`SolverError` where no positive shares are found.
    """
    table = table / np.maximum(np.abs(table).max(axis=0), 1e-300)
    logs = np.log(weights)
    value, shares = _dual(logs)
    lowest = float(logs.min() - 1)
    for _ in range(_STEPS):
        mean = shares @ table
        if float(np.abs(mean).max()) <= _ZERO:
            return shares
        # No shares are further from the weights than all on the rarest column.
        if value < lowest or clock.now() > deadline:
            break
        hessian = (shares[:, None] * table).T @ table - np.outer(mean, mean)
        hessian.flat[:: len(mean) + 1] += _RIDGE * np.trace(hessian) / len(mean)
        try:
            step = np.linalg.solve(hessian, -mean)
        except np.linalg.LinAlgError:
            break
        decrement = float(-(mean @ step))
        if not decrement >= 0:
            break
        length = 1.0 if decrement < 1 else 1 / (1 + np.sqrt(decrement))
        along = table @ step
        while True:
            next_value, next_shares = _dual(logs + length * along)
            if next_value <= value - _DECREASE * length * decrement + 1e-13:
                break
            length /= 2
            if length < _SHORTEST:
                break
        logs = logs + length * along
        value, shares = next_value, next_shares
    raise SolverError("no positive shares make the mean of the columns that were fitted constant")


def _dual(logs: Vector) -> tuple[float, Vector]:
    most = float(logs.max())
    weights = np.exp(logs - most)
    total = float(weights.sum())
    return most + float(np.log(total)), weights / total
