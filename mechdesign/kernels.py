"""What may be handed in as a kernel: arrays and data frames, checked at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import KernelError
from .labels import Label

#: Row sums may be off from one by this much.
ROW_TOLERANCE = 1e-6
#: Entries down to minus this are taken as zero: solvers leave such dust behind.
NEGATIVE_TOLERANCE = 1e-9


def frame_index(kernel: Any) -> list[Label] | None:
    """Row labels of a pandas frame, unless they are just 0 … N-1."""
    index = getattr(kernel, "index", None)
    if not hasattr(kernel, "columns") or index is None:
        return None
    labels = list(index)
    return None if labels == list(range(len(labels))) else labels


def check_kernel(kernel: ArrayLike, normalise: bool) -> NDArray[np.float64]:
    """The kernel as floats, or a :class:`KernelError` that says what is wrong with it."""
    try:
        if np.iscomplexobj(kernel):
            raise TypeError
        matrix = np.array(kernel, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise KernelError(
            "kernel",
            expected="an N×M array of numbers",
            got=f"a {type(kernel).__name__} that cannot be read as one",
            remedy="give rows of equal length that hold numbers only; of a design, its .mechanism",
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise KernelError(
            "kernel",
            expected="an N×M array",
            got=f"shape {matrix.shape}",
            remedy="give one row per input",
        )
    matrix = np.where((matrix < 0) & (matrix >= -NEGATIVE_TOLERANCE), 0.0, matrix)
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        i, j = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))[0]
        raise KernelError(
            "kernel",
            expected="non-negative finite probabilities",
            got=f"{matrix[i, j]} in row {i}, column {j}",
            remedy="correct the entry",
        )
    if normalise and matrix.max() > 1:
        # A power of two that keeps the sums of rows finite.
        matrix = np.ldexp(matrix, -int(np.frexp(matrix.max())[1]))
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1)
    if normalise:
        if (sums <= 0).any():
            raise KernelError(
                "kernel",
                expected="rows with a positive sum",
                got=f"row {int(np.argmin(sums))} of zeros",
                remedy="correct the row",
            )
        return matrix / sums[:, None]
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > ROW_TOLERANCE:
        raise KernelError(
            "kernel",
            expected="rows with sum 1 (within 1e-6)",
            got=f"sum {sums[worst]:.9g} in row {worst}",
            remedy="correct the row, or pass normalise=True (--normalise) for rounded numbers",
        )
    return matrix
