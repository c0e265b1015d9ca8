"""The small program of one column: what row prices alone say of the pairs of hypotheses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..linear.highs import Model

Array = NDArray[np.float64]


def column_duals(
    rows: Any, p: Array, residual: Array, zeros: NDArray[np.bool_] | None = None
) -> Array:
    """Dual variables of the rows at the best column for each residual, ``(rows, M)``.

    Entries of these columns are zero where ``zeros``, ``(n,)``, says so.
    """
    from scipy import sparse

    count, size = rows.shape
    mass = np.zeros((1, size))
    mass[0, : len(p)] = p
    most = np.full(size, np.inf)
    if zeros is not None:
        most[: len(p)][zeros] = 0.0
    model = Model()
    model.load(
        np.zeros(size),
        sparse.vstack([rows, sparse.csr_array(mass)]),
        np.append(np.full(count, -np.inf), 1.0),
        np.append(np.zeros(count), 1.0),
        most=most,
    )
    found = np.zeros((count, residual.shape[1]))
    for y, values in enumerate(residual.T):
        scale = float(np.abs(values).max()) or 1.0
        cost = np.zeros(size)
        cost[: len(p)] = values / scale
        model.set_cost(cost)
        answer = model.run()
        if answer.duals is None:
            raise SolverError(
                f"the program of one column was not solved (HiGHS: {answer.status}), so the prices "
                "of its constraints are not known; design again with solver='highs-simplex', which "
                "finds them itself"
            )
        found[:, y] = np.maximum(answer.duals[:count], 0.0) * scale
    return found
