"""The general sparse program of a linear objective, compiled once for every backend.

Per output y the variables are the column k = K[:, y] and the auxiliaries t of the cone; constraints
on sums over outcomes bring variables v of their own::

    maximise    Σ_y ⟨c_y, k_y⟩
    subject to  Σ_y k_y = 1,   k ≥ 0,   t ≥ 0
                A k_y + B t_y ≤ 0                rows of the cone, inside e^ε
                R (K, v) ≤ right,   S (K, v) in cones     epigraphs of the sums
                low ≤ L K ≤ high                 limits, scaled to a largest coefficient of one

so that the program has O(NM) non-zeros for point masses and the prior, never O(N²M). Variables that
must be zero, and rows without entries, are left out. Compiling and :meth:`SparseProgram.invert` are
a pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..privacy.sums import ConicRows, Epigraph, SumDuals
from ..program.duals import Duals
from ..program.program import LinearProgram
from ..program.worst import LeastProgram
from ..requirement.base import Limit

Array = NDArray[np.float64]

#: Rows that a sparse program may have; so many take some 10 GB before anything is factorised.
MOST_ROWS = 10**8

# Limits are solved for with this room, as a share of their largest coefficient, for rounding.
_ROOM = 1e-13
#: Limits that leave less than this share of it are solved for as equations.
EQUATION = 1e-8


@dataclass(frozen=True, eq=False)
class SparseProgram:
    """Maximise ``cost · v`` with ``equal @ v = 1``, ``below @ v ≤ right``, cones, limits, signs.

    Attributes
    ----------
    program : what it was compiled from
    cost, equal, below, right : over the variables: output by output the n kernel entries and the
        auxiliaries, then those of the sums
    cones : rows that lie in cones
    limits, low, high : ``low ≤ limits @ v ≤ high``, with infinite ends where nothing is asked
    is_signed : which variables are non-negative
    variables, rows : which of all variables, and of all rows ``below``, there are
    block : number of variables of one output, of those there would be
    scale, shift : the objective is that of the program less ``shift`` per row, over ``scale``
    limit_scales : what the limits were divided by
    """

    program: LinearProgram
    cost: Array
    equal: Any
    below: Any
    right: Array
    cones: tuple[ConicRows, ...]
    limits: Any
    low: Array
    high: Array
    is_signed: NDArray[np.bool_]
    variables: NDArray[np.intp]
    rows: NDArray[np.intp]
    block: int
    scale: float
    shift: Array
    limit_scales: Array

    @property
    def is_equation(self) -> NDArray[np.bool_]:
        """Which limits leave too little room to be two inequalities."""
        return np.asarray(self.high - self.low <= EQUATION)

    def invert(
        self,
        point: Array,
        prices: Array,
        duals: Array,
        cone_duals: Sequence[Array] = (),
        limit_duals: Array | None = None,
    ) -> tuple[Array, Duals]:
        """Kernel and dual variables of the program from those of the compiled one.

        Parameters
        ----------
        point : values of the variables
        prices, duals : dual variables of the equalities and of the inequalities
        cone_duals : for each entry of ``cones`` an array (cones, dimension)
        limit_duals : of the limits, positive for their upper and negative for their lower ends
        """
        n, m = self.program.shape
        count = self.program.cone.count
        kernel = self.kernel(point)
        heights = [constraint.epigraph(n, m) for constraint in self.program.sums]
        total = m * count + sum(len(epigraph.right) for epigraph in heights)
        rows = np.zeros(total)
        rows[self.rows] = np.maximum(duals[: len(self.rows)], 0.0) * self.scale
        multipliers = self.program.cone.split(rows[: m * count].reshape(m, count).T)
        found: list[SumDuals] = []
        start, first = m * count, 0
        for constraint, epigraph in zip(self.program.sums, heights, strict=True):
            stop, last = start + len(epigraph.right), first + len(epigraph.cones)
            cones = [z * self.scale for z in cone_duals[first:last]]
            found.append(constraint.duals(rows[start:stop], cones, kernel))
            start, first = stop, last
        sums = tuple(found) if found else None
        limits = None
        if limit_duals is not None and len(self.limit_scales):
            count = len(self.limit_scales)
            limits = limit_duals[:count] * self.scale / self.limit_scales
        mixture = None
        if isinstance(self.program, LeastProgram):
            mixture = duals[len(self.rows) :][: len(self.program.alternatives)]
        prices = prices * self.scale + self.shift
        return kernel, Duals(prices, multipliers, sums, limits=limits, mixture=mixture)

    def kernel(self, point: Array) -> Array:
        """The kernel ``(n, M)`` among the values of the variables, zero where there are none."""
        n, m = self.program.shape
        whole = np.zeros(max(m * self.block, int(self.variables.max(initial=-1)) + 1))
        whole[self.variables] = point[: len(self.variables)]
        return whole[: m * self.block].reshape(m, self.block)[:, :n].T

    def extended(
        self,
        cost: Array,
        new: int,
        *,
        equal: Any = None,
        below: Any = None,
        limits: Any = None,
        rows: tuple[Any, Array] | None = None,
    ) -> SparseProgram:
        """The program with further variables v′ ≥ 0, which do not belong to the kernel.

        Parameters
        ----------
        cost : of all variables
        new : how many are new
        equal, below, limits : their columns in the rows there are, none where left out
        rows : further rows over all variables and their right-hand sides
        """
        from scipy import sparse

        def wide(matrix: Any, columns: Any) -> Any:
            if columns is None:
                columns = sparse.csr_array((matrix.shape[0], new))
            return sparse.hstack([matrix, columns]).tocsr()

        lower, right = wide(self.below, below), self.right
        if rows is not None:
            lower = sparse.vstack([lower, rows[0]]).tocsr()
            right = np.concatenate([right, rows[1]])
        return replace(
            self,
            cost=cost,
            equal=wide(self.equal, equal),
            below=lower,
            right=right,
            cones=tuple(replace(cone, matrix=wide(cone.matrix, None)) for cone in self.cones),
            limits=wide(self.limits, limits),
            is_signed=np.concatenate([self.is_signed, np.ones(new, dtype=bool)]),
            scale=1.0,
            shift=np.zeros_like(self.shift),
        )


def too_many_rows(program: LinearProgram) -> str | None:
    """Why a sparse program would not fit into memory, or ``None`` where it may."""
    rows = sum(part.count for part in program.cone.parts) * program.shape[1]
    if rows <= MOST_ROWS:
        return None
    return f"its bounds are {rows:,} rows, more than the {MOST_ROWS:,} that fit into memory"


def compile_program(program: LinearProgram) -> SparseProgram:
    """The sparse program; :meth:`SparseProgram.invert` is its way back.

    The objective is shifted per row by its maximum, which no kernel can tell, and scaled to one.
    Where the least of several linear functions is maximised, a last variable is at most each.
    """
    compiled = _compiled(program)
    return _with_least(compiled, program) if isinstance(program, LeastProgram) else compiled


def _with_least(compiled: SparseProgram, program: LeastProgram) -> SparseProgram:
    """The program with a further variable t ≥ 0, the objective, and t ≤ f_i(K) for each function.

    What the functions have in common is taken off, so that t is what the least is above it, and
    all are divided by what t can be at most. A function that lies farther above binds never.
    """
    from scipy import sparse

    scale = program.largest_rise or 1.0
    bases = [min(base / scale, 1.0) for base in program.bases]
    rows, columns, entries = [], [], []
    for i, (one, rise) in enumerate(zip(program.alternatives, program.rises, strict=True)):
        x, y = np.nonzero(rise)
        rows.append(np.full(len(x), i))
        columns.append(y * compiled.block + one.symbols[x])
        entries.append(-rise[x, y] / scale)
    places = np.concatenate(rows), np.concatenate(columns)
    width = max(int(compiled.variables.max()) + 1, program.shape[1] * compiled.block)
    shape = len(program.alternatives), width
    matrix = sparse.csr_array((np.concatenate(entries), places), shape=shape)
    matrix = matrix.tocsc()[:, compiled.variables]
    least = sparse.csr_array(np.ones((len(program.alternatives), 1)))
    cost = np.concatenate([np.zeros(compiled.cost.size), [1.0]])
    asked = sparse.hstack([matrix, least]).tocsr(), np.array(bases)
    return replace(compiled.extended(cost, 1, rows=asked), scale=scale)


def _compiled(program: LinearProgram) -> SparseProgram:
    """The program with a linear objective, zero for a program of another kind."""
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
    signed = np.ones(m * size, dtype=bool)
    cones: tuple[ConicRows, ...] = ()
    flat = cost.ravel()
    if epigraphs:
        rows, cones = _placed(epigraphs, n, m, size)
        wide = sparse.hstack([below, sparse.csr_array((below.shape[0], own))])
        flat = np.concatenate([flat, np.zeros(own)])
        equal = sparse.hstack([equal, sparse.csr_array((n, own))]).tocsr()
        below = sparse.vstack([wide, *rows]).tocsr()
        right = np.concatenate([right, *(epigraph.right for epigraph in epigraphs)])
        signed = np.concatenate([signed, *(np.full(e.size, e.is_signed) for e in epigraphs)])
    limits, low, high, limit_scales = limit_rows(program.limits, size, m * size + own)
    found = SparseProgram(
        program,
        flat,
        equal,
        below,
        right,
        cones,
        limits,
        low,
        high,
        signed,
        np.arange(m * size + own),
        np.arange(below.shape[0]),
        size,
        scale,
        shift,
        limit_scales,
    )
    return found if program.forbidden is None else _without(found, program.forbidden, own)


def limit_rows(limits: Sequence[Limit], block: int, size: int) -> tuple[Any, Array, Array, Array]:
    """Rows of limits over all variables, their ends, and what they were divided by.

    Entry (x, y) of the kernel stands at the place ``y * block + x`` of ``size`` variables.
    """
    from scipy import sparse

    count = len(limits)
    coefficients = [limit.coefficients for limit in limits]
    scales = np.array([np.abs(c).max(initial=0.0) or 1.0 for c in coefficients])
    low, high = np.full(count, -math.inf), np.full(count, math.inf)
    for j, limit in enumerate(limits):
        if limit.low is not None:
            low[j] = float(limit.low / Fraction(float(scales[j])))
        if limit.high is not None:
            high[j] = float(limit.high / Fraction(float(scales[j])))
    room = np.minimum(_ROOM, np.where(np.isfinite(high - low), (high - low) / 4, _ROOM))
    lengths = [len(c) for c in coefficients]
    data = [c / s for c, s in zip(coefficients, scales, strict=True)]
    places = [limit.outputs * block + limit.symbols for limit in limits]
    matrix = sparse.csr_array(
        (
            np.concatenate([np.zeros(0), *data]),
            (
                np.repeat(np.arange(count), lengths),
                np.concatenate([np.zeros(0, dtype=np.intp), *places]),
            ),
        ),
        shape=(count, size),
    )
    return matrix, low + room, high - room, scales


def _without(found: SparseProgram, forbidden: NDArray[np.bool_], own: int) -> SparseProgram:
    """The program without the variables that must be zero, and the rows that then are empty.

    Outputs that every symbol is forbidden have no auxiliaries either.
    """
    n, m = forbidden.shape
    kept = np.ones((m, found.block), dtype=bool)
    kept[:, :n] = ~forbidden.T
    kept[forbidden.all(axis=0)] = False
    columns = np.flatnonzero(np.concatenate([kept.ravel(), np.ones(own, dtype=bool)]))
    below = found.below.tocsc()[:, columns].tocsr()
    filled = np.diff(below.indptr) > 0
    rows = np.flatnonzero(filled | (found.right < 0))
    cones = tuple(replace(c, matrix=c.matrix.tocsc()[:, columns].tocsr()) for c in found.cones)
    return replace(
        found,
        cost=found.cost[columns],
        equal=found.equal.tocsc()[:, columns].tocsr(),
        below=below[rows],
        right=found.right[rows],
        cones=cones,
        limits=found.limits.tocsc()[:, columns].tocsr(),
        is_signed=found.is_signed[columns],
        variables=columns,
        rows=rows,
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
