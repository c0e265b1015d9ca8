"""Blocks of a Newton system by Cholesky factors: graphs of any kind.

The block of an output with column k is H = Gᵀ diag(θ) G for the rows G of its pairs, θ = z/s. Next
to all of what makes it large lies across k, while kᵀHk = Σ s z falls to zero. So the coordinate of
the largest entry r is replaced by the length along k: with T the identity whose column r is k,
TᵀHT has (Hk)_x = (Gᵀz)_x and kᵀHk = Σ s z in row r, which are known without cancellation, and is a
grounded Laplacian elsewhere.
"""

from __future__ import annotations

import numpy as np

from . import lapack
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
        self.factors = np.empty((m, n, n))
        self.pivots = np.zeros(m, dtype=np.intp)

    def set_arcs(self, arcs: Arcs) -> None:
        """The pairs whose bounds are taken into account."""
        n, u, v = self.n, arcs.over, arcs.under
        pairs = np.flatnonzero(u >= 0)
        place = np.minimum(u, v)[pairs] * n + np.maximum(u, v)[pairs]
        first = u[pairs] < v[pairs]
        self._ways = [(pairs[way], place[way]) for way in (first, ~first)]
        self._arcs = arcs

    def factorise(self, ratios: Array, k: Array, reduced: Array, products: Array) -> None:
        """Factor all blocks.

        Parameters
        ----------
        ratios : ``(A, m)`` z/s of every pair
        k : ``(n, m)`` columns
        reduced : ``(n, m)`` Gᵀz
        products : ``(m,)`` Σ s z
        """
        self.k, self.pivots = np.ascontiguousarray(k.T), k.argmax(axis=0)
        diagonal = (self._arcs.squares @ ratios).T
        off = -(self._arcs.factors[:, None] * ratios).T
        for y in range(self.m):
            self._factorise(y, diagonal[y], off[y], reduced[:, y], float(products[y]))

    def _factorise(self, y: int, diagonal: Array, off: Array, reduced: Array, last: float) -> None:
        block, r, n = self.factors[y], int(self.pivots[y]), self.n
        flat = block.reshape(-1)
        for added in REGULARISATION:
            flat.fill(0.0)
            (one, places), (other, more) = self._ways
            flat[places] = off[one]
            flat[more] += off[other]
            flat[:: n + 1] = diagonal
            block[:r, r], block[r, r:] = reduced[:r], reduced[r:]
            block[r, r] = last
            flat[:: n + 1] *= 1 + added
            if lapack.factorise(block):
                return
        raise np.linalg.LinAlgError("the block of an output is not positive definite")

    def add_inverses(self, counts: Array, total: Array) -> None:
        """Add Σ_y count_y A H_y⁻¹ Aᵀ, for the row sums A, to one triangle of a matrix."""
        if self.rows.is_whole:
            self._add_whole(counts, total)
            return
        size, sums = self.rows.size, self.rows.add_up(self.k.T)
        side = np.empty((size, self.n))
        for y in range(self.m):
            side.fill(0.0)
            side[self.rows.orbits, np.arange(self.n)] = 1.0
            side[:, self.pivots[y]] = sums[:, y]
            lapack.half_solve(self.factors[y], side)
            total += counts[y] * (side @ side.T)

    def _add_whole(self, counts: Array, total: Array) -> None:
        beside = np.empty((self.m, self.n))
        inverse = np.empty((self.n, self.n))
        for y in range(self.m):
            r = int(self.pivots[y])
            np.copyto(inverse, self.factors[y])
            lapack.invert(inverse)
            beside[y, :r], beside[y, r:] = inverse[:r, r], inverse[r, r:]
            last = beside[y, r]
            inverse[:r, r] = inverse[r, r:] = 0.0
            beside[y, r] = 0.0
            beside[y] += last / 2 * self.k[y]
            if counts[y] != 1:
                inverse *= counts[y]
            total += inverse
        product = (self.k * counts[:, None]).T @ beside
        total += product
        total += product.T

    def solve(self, sides: Array) -> Array:
        """H_y⁻¹ f_y for ``(n, m)`` right-hand sides f."""
        found, every = np.ascontiguousarray(sides.T), np.arange(self.m)
        found[every, self.pivots] = np.einsum("yx,xy->y", self.k, sides)
        for y in range(self.m):
            lapack.solve(self.factors[y], found[y : y + 1])
        along = found[every, self.pivots]
        found[every, self.pivots] = 0.0
        found += along[:, None] * self.k
        return found.T
