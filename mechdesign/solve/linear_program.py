"""The general sparse program of a linear objective, compiled once for every backend.

Per output y the variables are the column k = K[:, y] and the auxiliaries t of the cone; constraints
on sums over outcomes bring variables v of their own::

    maximise    Σ_y ⟨c_y, k_y⟩
    subject to  Σ_y k_y = 1,   k ≥ 0,   t ≥ 0
                A k_y + B t_y ≤ 0                rows of the cone, inside e^ε
                k_xy = 0                         where that is asked
                R (K, v) ≤ right,   S (K, v) in cones     epigraphs of the sums

so that the program has O(NM) non-zeros for point masses and the prior, never O(N²M). Compiling and
:meth:`SparseProgram.invert` are a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..privacy.sums import ConicRows, Epigraph, SumDuals
from .method import Duals
from .program import LinearProgram

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SparseProgram:
    """Maximise ``cost · v`` with ``equal @ v = 1``, ``below @ v ≤ right``, cones, and signs.

    Attributes
    ----------
    program : what it was compiled from
    cost, equal, below, right : over the variables: output by output the n kernel entries and the
        auxiliaries, then those of the sums
    cones : rows that lie in cones
    is_signed : which variables are non-negative
    is_zero : which variables must be zero
    block : number of variables of one output
    scale, shift : the objective is that of the program less ``shift`` per row, over ``scale``
    """

    program: LinearProgram
    cost: Array
    equal: Any
    below: Any
    right: Array
    cones: tuple[ConicRows, ...]
    is_signed: NDArray[np.bool_]
    is_zero: NDArray[np.bool_]
    block: int
    scale: float
    shift: Array

    def invert(
        self, point: Array, prices: Array, duals: Array, cone_duals: Sequence[Array] = ()
    ) -> tuple[Array, Duals]:
        """Kernel and dual variables of the program from those of the compiled one.

        Parameters
        ----------
        point : values of the variables
        prices, duals : dual variables of the equalities and of the inequalities
        cone_duals : for each entry of ``cones`` an array (cones, dimension)
        """
        n, m = self.program.shape
        kernel = point[: m * self.block].reshape(m, self.block)[:, :n].T
        rows = np.maximum(duals, 0.0) * self.scale
        count = self.program.cone.count
        multipliers = self.program.cone.split(rows[: m * count].reshape(m, count).T)
        found: list[SumDuals] = []
        start, first = m * count, 0
        for constraint in self.program.sums:
            epigraph = constraint.epigraph(n, m)
            stop, last = start + len(epigraph.right), first + len(epigraph.cones)
            cones = [z * self.scale for z in cone_duals[first:last]]
            found.append(constraint.duals(rows[start:stop], cones, kernel))
            start, first = stop, last
        sums = tuple(found) if found else None
        return kernel, Duals(prices * self.scale + self.shift, multipliers, sums)


def compile_program(program: LinearProgram) -> SparseProgram:
    """The sparse program; :meth:`SparseProgram.invert` is its way back.

    The objective is shifted per row by its maximum, which no kernel can tell, and scaled to one.
    """
    from scipy import sparse

    n, m = program.shape
    auxiliaries = program.cone.auxiliaries
    block, size = program.cone.matrix(), n + auxiliaries
    identity = sparse.hstack([sparse.eye_array(n), sparse.csr_array((n, auxiliaries))])
    shift = program.objective.max(axis=1)
    shifted = program.objective - shift[:, None]
    scale = float(np.abs(shifted).max()) or 1.0
    cost = np.zeros((m, size))
    cost[:, :n] = shifted.T / scale
    equal = sparse.hstack([identity] * m).tocsr()
    below = sparse.block_diag([block] * m).tocsr()
    right = np.zeros(below.shape[0])
    epigraphs = [constraint.epigraph(n, m) for constraint in program.sums]
    own = sum(epigraph.size for epigraph in epigraphs)
    zero = np.zeros((m, size), dtype=bool)
    if program.forbidden is not None:
        zero[:, :n] = program.forbidden.T
    is_zero = np.concatenate([zero.ravel(), np.zeros(own, dtype=bool)])
    if not epigraphs:
        signed = np.ones(m * size, dtype=bool)
        return SparseProgram(
            program, cost.ravel(), equal, below, right, (), signed, is_zero, size, scale, shift
        )
    rows, cones = _placed(epigraphs, n, m, size)
    return SparseProgram(
        program,
        np.concatenate([cost.ravel(), np.zeros(own)]),
        sparse.hstack([equal, sparse.csr_array((n, own))]).tocsr(),
        sparse.vstack(
            [sparse.hstack([below, sparse.csr_array((below.shape[0], own))]), *rows]
        ).tocsr(),
        np.concatenate([right, *(epigraph.right for epigraph in epigraphs)]),
        cones,
        np.concatenate(
            [np.ones(m * size, bool), *(np.full(e.size, e.is_signed) for e in epigraphs)]
        ),
        is_zero,
        size,
        scale,
        shift,
    )


def _placed(
    epigraphs: Sequence[Epigraph], n: int, m: int, block: int
) -> tuple[list[Any], tuple[ConicRows, ...]]:
    """Rows of epigraphs over all variables: kernel entries to their places, own ones to the end."""
    from scipy import sparse

    place = (np.arange(m)[:, None] * block + np.arange(n)).ravel()
    pick = sparse.csr_array((np.ones(n * m), (np.arange(n * m), place)), shape=(n * m, m * block))
    own = sum(epigraph.size for epigraph in epigraphs)
    start = 0
    rows: list[Any] = []
    cones: list[ConicRows] = []

    def wide(matrix: Any, size: int, before: int) -> Any:
        matrix = matrix.tocsc()
        empty = [(matrix.shape[0], count) for count in (before, own - before - size)]
        return sparse.hstack(
            [
                matrix[:, : n * m] @ pick,
                sparse.csr_array(empty[0]),
                matrix[:, n * m :],
                sparse.csr_array(empty[1]),
            ]
        )

    for epigraph in epigraphs:
        rows.append(wide(epigraph.rows, epigraph.size, start))
        for cone in epigraph.cones:
            matrix = wide(cone.matrix, epigraph.size, start).tocsr()
            cones.append(ConicRows(cone.kind, matrix, cone.dimension, cone.alpha))
        start += epigraph.size
    return rows, tuple(cones)
