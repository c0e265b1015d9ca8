"""Blocks of a Newton system where the graph is a line, or several: O(n) per output.

In units of the column, with D = diag(k), D H D is the Laplacian of conductances c = Σ w θ k_u k_v
plus the diagonal of κ = k (Gᵀz). Eliminating from one end leaves κ̃' = κ' + c κ̃/(c + κ̃), two
conductances in series, without cancellation. The inverse X of D H D has
X_ij = ρ_i ρ_i+1 … ρ_j−1 X_jj for i < j with ρ = c/(c + κ̃), so that the sum of all inverses is
made of products of blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Arcs, Array, Places, Rows

# Symbols of a block of the sum of inverses.
_SIZE = 40
# Pivots stay above this share of what was added up in them.
_PIVOT = 1e-15


def line_order(arcs: Arcs) -> Places | None:
    """An order in which arcs join consecutive symbols alone; ``None`` where there is none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if len(arcs.mixtures):
        return None
    paired = arcs.over >= 0
    n, u, v = arcs.symbols, arcs.over[paired], arcs.under[paired]
    pairs = np.unique(np.minimum(u, v) * n + np.maximum(u, v))
    ends = np.concatenate([pairs // n, pairs % n])
    if np.bincount(ends, minlength=1).max() > 2:
        return None
    graph = csr_array((np.ones(len(pairs)), (pairs // n, pairs % n)), shape=(n, n))
    if n - connected_components(graph, directed=False)[0] != len(pairs):
        return None  # there is a cycle
    beside: list[list[int]] = [[] for _ in range(n)]
    for a, b in zip((pairs // n).tolist(), (pairs % n).tolist(), strict=True):
        beside[a].append(b)
        beside[b].append(a)
    order: list[int] = []
    reached = [False] * n
    for start in range(n):
        at: int | None = start if len(beside[start]) < 2 and not reached[start] else None
        while at is not None:
            reached[at] = True
            order.append(at)
            at = next((b for b in beside[at] if not reached[b]), None)
    return np.array(order)


class Path:
    """The blocks of some outputs; see :class:`.dense.Dense` for what its methods take.

    Parameters
    ----------
    order : in which arcs join consecutive symbols alone
    m : outputs
    """

    def __init__(self, order: Places, m: int, rows: Rows) -> None:
        self.order, self.m, self.n, self.rows = order, m, len(order), rows
        self.back = np.argsort(order)

    def set_arcs(self, arcs: Arcs) -> None:
        """The pairs whose bounds are taken into account."""
        from scipy.sparse import csr_array

        paired = np.flatnonzero(arcs.over >= 0)
        u, v = self.back[arcs.over[paired]], self.back[arcs.under[paired]]
        shape = self.n, len(arcs)
        ones = np.ones(len(paired))
        self._joins: Any = csr_array((ones, (np.minimum(u, v), paired)), shape=shape)
        self._arcs = arcs

    def eliminate(
        self,
        ratios: Array,
        k: Array,
        reduced: Array,
        products: Array,
        sides: Array,
        counts: Array,
        total: Array,
        is_rough: bool = False,
    ) -> Array:
        """Eliminate from one end, with all digits; as :meth:`.dense.Dense.eliminate`."""
        self._factorise(ratios, k, reduced)
        self._add_inverses(counts, total)
        return self.solve(sides)

    def _factorise(self, ratios: Array, k: Array, reduced: Array) -> None:
        arcs = self._arcs
        self.k = k[self.order]
        over = np.where(arcs.over >= 0, arcs.over, 0)
        c = self._joins @ (arcs.factors[:, None] * ratios * k[over] * k[arcs.under])
        kappa = (k * reduced)[self.order]
        least = _PIVOT * np.abs(kappa)
        self.d, self.rho = np.empty_like(c), np.empty_like(c)
        rest = kappa[0]
        for i in range(self.n):
            self.d[i] = np.maximum(c[i] + rest, least[i] + _PIVOT * c[i])
            self.rho[i] = c[i] / self.d[i]
            if i + 1 < self.n:
                rest = kappa[i + 1] + self.rho[i] * rest
        if not np.isfinite(self.d).all() or not (self.d > 0).all():
            raise np.linalg.LinAlgError("the block of an output is not positive definite")
        self.own = 1 / self.d
        for i in range(self.n - 2, -1, -1):
            self.own[i] += self.rho[i] ** 2 * self.own[i + 1]

    def _add_inverses(self, counts: Array, total: Array) -> None:
        """Add the sum of all inverses to one triangle of a matrix."""
        n = self.n
        found = np.zeros((n, n))
        right = self.k * self.own
        left = self.k * counts
        for a in range(0, n, _SIZE):
            b = min(a + _SIZE, n)
            # Within the block, and from each of its symbols to its end.
            ahead = left[a:b].copy()
            for j in range(a, b):
                found[a : j + 1, j] = ahead[: j + 1 - a] @ right[j]
                ahead[: j + 1 - a] *= self.rho[j]
            for first in range(b, n, _SIZE):
                last = min(first + _SIZE, n)
                beyond = np.empty((last - first, self.m))
                run = np.ones(self.m)
                for j in range(first, last):
                    beyond[j - first] = run * right[j]
                    run = run * self.rho[j]
                found[a:b, first:last] = ahead @ beyond.T
                ahead *= run
        found += np.triu(found, 1).T
        whole = found[np.ix_(self.back, self.back)]
        total += self.rows.add_up(self.rows.add_up(whole).T)

    def solve(self, sides: Array) -> Array:
        """H_y⁻¹ f_y for ``(n, m)`` right-hand sides f."""
        x = sides[self.order] * self.k
        for i in range(self.n - 1):
            x[i + 1] += self.rho[i] * x[i]
        x /= self.d
        for i in range(self.n - 2, -1, -1):
            x[i] += self.rho[i] * x[i + 1]
        x *= self.k
        found: Array = x[self.back]
        return found
