"""The program of bounds on likelihood ratios alone, as the columns of a matrix for a solver.

What :mod:`.compiled` compiles, where nothing else is asked: the same variables and rows in
the same order, so that solvers end at the same vertex, without a library of sparse matrices, which
takes longer to start, and on a few symbols to use, than the program takes to solve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..program.duals import Duals
from ..program.program import LinearProgram
from ..program.worst import LeastProgram

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Columns:
    """A sparse matrix column by column, by the names that SciPy has for the same."""

    shape: tuple[int, int]
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    data: Array

    def tocsc(self) -> Columns:
        """It is."""
        return self


@dataclass(frozen=True, eq=False)
class PlainProgram:
    """Maximise ``cost · v`` over v ≥ 0 with ``lower ≤ matrix @ v ≤ upper``.

    Attributes
    ----------
    program : what it was made from
    cost, matrix, lower, upper : the n equalities first, then the rows of the cone, output by output
    scale, shift : the objective is that of the program less ``shift`` per row, over ``scale``
    """

    program: LinearProgram
    cost: Array
    matrix: Columns
    lower: Array
    upper: Array
    scale: float
    shift: Array

    def invert(self, point: Array, duals: Array) -> tuple[Array, Duals]:
        """Kernel and dual variables of the program, from values of variables and duals of rows."""
        (n, m), cone = self.program.shape, self.program.cone
        kernel = point.reshape(m, -1)[:, :n].T
        rows = np.maximum(duals[n:], 0.0) * self.scale
        multipliers = cone.split(rows.reshape(m, cone.count).T)
        return kernel, Duals(duals[:n] * self.scale + self.shift, multipliers)


def is_plain(program: LinearProgram) -> bool:
    """Whether a program maximises one function under bounds on likelihood ratios alone."""
    return not (isinstance(program, LeastProgram) or program.sums or program.is_restricted)


def plain_program(program: LinearProgram) -> PlainProgram:
    """The matrix of a program that :func:`is_plain`: the columns of one output, repeated."""
    (n, m), cone = program.shape, program.cone
    size, count = n + cone.auxiliaries, cone.count
    values, rows, columns = cone.entries_of_matrix()
    # Above the rows of the cone an identity: every kernel entry stands in the sum of its row.
    values = np.concatenate([np.ones(n), values])
    rows = np.concatenate([np.arange(n), rows + n])
    columns = np.concatenate([np.arange(n), columns])
    order = np.lexsort((rows, columns))
    values, rows, columns = values[order], rows[order], columns[order]
    steps = np.where(rows < n, 0, count)
    indices = (rows + steps * np.arange(m)[:, None]).ravel()
    filled = np.concatenate([[0], np.cumsum(np.tile(np.bincount(columns, minlength=size), m))])
    matrix = Columns(
        (n + m * count, m * size),
        filled.astype(np.int32),
        indices.astype(np.int32),
        np.tile(values, m),
    )
    shift = program.objective.max(axis=1)
    shifted = program.objective - shift[:, None]
    scale = float(np.abs(shifted).max()) or 1.0
    cost = np.zeros((m, size))
    cost[:, :n] = shifted.T / scale
    ends = np.ones(n), np.full(m * count, -np.inf), np.zeros(m * count)
    lower, upper = np.concatenate([ends[0], ends[1]]), np.concatenate([ends[0], ends[2]])
    return PlainProgram(program, cost.ravel(), matrix, lower, upper, scale, shift)
