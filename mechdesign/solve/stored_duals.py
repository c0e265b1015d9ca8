"""Parts of dual variables as plain values of a file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import read_integer


def sparse_out(matrix: NDArray[np.float64]) -> dict[str, Any]:
    """A matrix by its finite entries other than zero."""
    rows, columns = np.nonzero(np.where(np.isfinite(matrix), matrix, 0.0))
    return {
        "shape": list(matrix.shape),
        "rows": rows.tolist(),
        "columns": columns.tolist(),
        "values": matrix[rows, columns].tolist(),
    }


def sparse_in(part: dict[str, Any], most: int) -> NDArray[np.float64]:
    """The inverse of :func:`sparse_out`, for matrices of at most so many entries."""
    rows, columns = (read_integer(size) for size in part["shape"])
    if not (rows > 0 and columns > 0 and rows * columns <= most):
        raise ValueError(f"dual variables of shape {rows}×{columns}, where {most} entries fit")
    matrix = np.zeros((rows, columns))
    matrix[part["rows"], part["columns"]] = part["values"]
    return matrix


def numbers_in(part: dict[str, Any], name: str, *shape: int) -> NDArray[np.float64] | None:
    """Finite numbers of a shape; ``None`` where there are none."""
    if part.get(name) is None:
        return None
    found = np.array(part[name], dtype=float)
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"dual variables {name} of shape {found.shape} in place of {shape}")
    return found


def entries_of(part: dict[str, Any]) -> int:
    """How many entries a matrix has."""
    rows, columns = (read_integer(size) for size in part["shape"])
    return max(rows, 0) * max(columns, 0)
