"""Blocks of a Newton system by Cholesky factors: graphs of any kind.

The block of an output with column k is H = Gᵀ diag(θ) G for the rows G of its pairs, θ = z/s. Next
to all of what makes it large lies across k, while kᵀHk = Σ s z falls to zero. So the coordinate of
the largest entry r is replaced by the length along k: with T the identity whose column r is k,
TᵀHT has (Hk)_x = (Gᵀz)_x and kᵀHk = Σ s z in row r, which are known without cancellation, and is a
grounded Laplacian elsewhere.

With mixtures P of symbols among the nodes H = EᵀLE for the Laplacian L of all nodes and E = (1, P)
above each other: the part of L on the symbols and a matrix of small rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Arcs, Array, Rows

#: Relative additions to the diagonal that are tried in turn.
REGULARISATION = (1e-14, 1e-12, 1e-10, 1e-8)


class Dense:
    """The blocks of some outputs.

    Parameters
    ----------
    n : symbols
    m : outputs
    rows : how symbols are added up in the row sums
    """

    def __init__(self, n: int, m: int, rows: Rows) -> None:
        self.n, self.m, self.rows = n, m, rows
        self.factors: Any = np.empty((m, n, n))
        self._whole = self.factors
        # The same memory with half the digits.
        self._rough = self.factors.reshape(-1).view(np.float32)[: m * n * n].reshape(m, n, n)
        self.pivots = np.zeros(m, dtype=np.intp)

    def set_arcs(self, arcs: Arcs) -> None:
        """The pairs whose bounds are taken into account."""
        n, u, v = self.n, arcs.over, arcs.under
        pairs = np.flatnonzero(arcs.between)
        place = np.minimum(u, v)[pairs] * n + np.maximum(u, v)[pairs]
        first = u[pairs] < v[pairs]
        self._ways = [(pairs[way], place[way]) for way in (first, ~first)]
        self._arcs = arcs
        if len(arcs.mixtures):
            # Entries of the Laplacian between mixtures and symbols, and among mixtures.
            mixed = np.flatnonzero((u >= 0) & ~arcs.between)
            rows = np.concatenate([u[mixed], v[mixed]]) - n
            columns, which = np.concatenate([v[mixed], u[mixed]]), np.tile(mixed, 2)
            kept = rows >= 0
            self._mixed = (rows * arcs.nodes + columns)[kept], which[kept]

    def eliminate(
        self,
        ratios: Array,
        k: Array,
        reduced: Array,
        products: Array,
        sides: Array,
        counts: Array,
        total: Array,
        is_rough: bool,
    ) -> Array:
        """Factor all blocks, and do with each factor what is to be done while it is at hand.

        Parameters
        ----------
        ratios : ``(A, m)`` z/s of every pair
        k : ``(n, m)`` columns
        reduced : ``(n, m)`` Gᵀz
        products : ``(m,)`` Σ s z
        sides : ``(n, m)`` right-hand sides f
        counts : ``(m,)`` how many outputs each stands for
        total : Σ_y count_y A H_y⁻¹ Aᵀ is added to one triangle of it, for the row sums A
        is_rough : whether to work with half the digits, in half the time

        Returns
        -------
        ``(n, m)`` H_y⁻¹ f_y

        Raises
        ------
        LinAlgError
            Where a block is not positive definite to working precision.
        """
        self.factors = self._rough if is_rough else self._whole
        self.k, self.pivots = np.ascontiguousarray(k.T), k.argmax(axis=0)
        every = (self._arcs.squares @ ratios).T
        off = -(self._arcs.factors[:, None] * ratios).T
        diagonal, of_mixtures = every[:, : self.n], every[:, self.n :]
        found = self._in_lengths(sides)
        inverse = (_Whole if self.rows.is_whole else _Sums)(self, counts, total)
        for y in range(self.m):
            more = self._of_mixtures(off[y], of_mixtures[y])
            self._factorise(y, diagonal[y], off[y], more, reduced[:, y], float(products[y]))
            found[y : y + 1] = self._solved(self.factors[y : y + 1], found[y : y + 1])
            inverse.add(y)
        inverse.finish()
        return self._in_columns(found)

    def _of_mixtures(self, off: Array, diagonal: Array) -> Array | None:
        """What mixtures add to a block, one triangle of it."""
        mixtures = self._arcs.mixtures
        if not len(mixtures):
            return None
        (places, which), count = self._mixed, len(mixtures)
        entries = np.bincount(places, off[which], count * self._arcs.nodes)
        entries = entries.reshape(count, self._arcs.nodes)
        among = entries[:, self.n :] + np.diag(diagonal)
        product = mixtures.T @ (entries[:, : self.n] + among @ mixtures / 2)
        return np.triu(product + product.T)

    def _factorise(
        self,
        y: int,
        diagonal: Array,
        off: Array,
        more: Array | None,
        reduced: Array,
        last: float,
    ) -> None:
        block, r, n = self.factors[y], int(self.pivots[y]), self.n
        flat = block.reshape(-1)
        for added in REGULARISATION:
            flat.fill(0.0)
            (one, places), (other, others) = self._ways
            flat[places] = off[one]
            flat[others] += off[other]
            flat[:: n + 1] = diagonal
            if more is not None:
                block += more
            block[:r, r], block[r, r:] = reduced[:r], reduced[r:]
            block[r, r] = last
            flat[:: n + 1] *= 1 + added
            # What is the upper triangle here is the lower one of the transpose.
            if not self._routine("potrf")(block.T, lower=1, clean=0, overwrite_a=1)[1]:
                return
        raise np.linalg.LinAlgError("the block of an output is not positive definite")

    def solve(self, sides: Array) -> Array:
        """H_y⁻¹ f_y for ``(n, m)`` right-hand sides f."""
        return self._in_columns(self._solved(self.factors, self._in_lengths(sides)))

    def _routine(self, name: str) -> Any:
        """The routine of LAPACK or BLAS for as many digits as the factors have."""
        from scipy.linalg import blas, lapack

        letter = "s" if self.factors.dtype == np.float32 else "d"
        return getattr(blas if name == "trsm" else lapack, letter + name)

    def _solved(self, factors: Any, sides: Array) -> Array:
        """Solutions for right-hand sides in lengths, one for each factor."""
        solve, found = self._routine("potrs"), np.empty(sides.shape)
        for y, (factor, side) in enumerate(zip(factors, sides, strict=True)):
            found[y] = solve(factor.T, side.astype(factor.dtype), lower=1)[0]
        return found

    def _in_lengths(self, sides: Array) -> Array:
        """Tᵀf of right-hand sides, one a row."""
        found = np.array(sides.T, order="C")
        found[np.arange(self.m), self.pivots] = np.einsum("yx,xy->y", self.k, sides)
        return found

    def _in_columns(self, found: Array) -> Array:
        """Tx of solutions x, one a row, in place; one a column."""
        every = np.arange(self.m)
        along = found[every, self.pivots]
        found[every, self.pivots] = 0.0
        found += along[:, None] * self.k
        return found.T


class _Whole:
    """The sum of all inverses: T B Tᵀ, with B the inverse of a block in lengths.

    What the row of the pivot in B adds lies along k on one side.
    """

    def __init__(self, blocks: Dense, counts: Array, total: Array) -> None:
        self.blocks, self.counts, self.total = blocks, counts, total
        self.beside = np.empty((blocks.m, blocks.n))
        self.sum = np.zeros((blocks.n, blocks.n), dtype=blocks.factors.dtype)

    def add(self, y: int) -> None:
        """Add one triangle of the inverse of a block but for what lies along its column."""
        r, factor = int(self.blocks.pivots[y]), self.blocks.factors[y].copy()
        inverse = self.blocks._routine("potri")(factor.T, lower=1, overwrite_c=1)[0].T
        row = np.concatenate([inverse[:r, r], inverse[r, r:]])
        own, row[r] = float(row[r]), 0.0
        self.beside[y] = row + (own / 2) * self.blocks.k[y]
        inverse[:r, r] = inverse[r, r:] = 0.0
        inverse *= self.counts[y]
        self.sum += inverse

    def finish(self) -> None:
        """Add what lies along the columns."""
        product = (self.blocks.k * self.counts[:, None]).T @ self.beside
        self.total += self.sum
        self.total += product
        self.total += product.T


class _Sums:
    """The sum of all inverses where symbols are added up: half of each is solved for."""

    def __init__(self, blocks: Dense, counts: Array, total: Array) -> None:
        self.blocks, self.counts, self.total = blocks, counts, total
        self.sums = blocks.rows.add_up(blocks.k.T)
        self.side = np.empty((blocks.rows.size, blocks.n), dtype=blocks.factors.dtype)

    def add(self, y: int) -> None:
        """Add the inverse of one block."""
        side = self.side
        side.fill(0.0)
        side[self.blocks.rows.orbits, np.arange(self.blocks.n)] = 1.0
        side[:, self.blocks.pivots[y]] = self.sums[:, y]
        factor, solve = self.blocks.factors[y], self.blocks._routine("trsm")
        half = solve(1.0, factor.T, side.T, lower=1)
        self.total += self.counts[y] * (half.T @ half)

    def finish(self) -> None:
        """Nothing is left."""
