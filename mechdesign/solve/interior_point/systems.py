"""The system in the prices that is left of all columns, factorised the cheaper way.

Its matrix is ``S = Δ − Σ_y v_y v_yᵀ + Σ_y u_y u_yᵀ`` with a diagonal Δ, vectors u of the scales
and, where columns are linked to their masses, v of the links. Either all of S is formed and
factorised: N³/3 and N² for each vector. Or, with few vectors, prices are eliminated first::

    [ Δ   V   U ] λ     b         θ = −Vᵀλ,  τ = Uᵀλ
    [ Vᵀ  1   0 ] θ  =  0
    [ Uᵀ  0  −1 ] τ     0

Prices whose diagonal is small beside what the scales add to it stay, as their symbols have no entry
that is free; eliminating them would take differences of huge equal numbers. What is left of the
block of θ is a graph's Laplacian between outputs, so that its diagonal follows from the other
entries without cancellation; all the rest are sums of squares.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .predictor_corrector import Array, cholesky

#: Prices stay whose diagonal is below this share of what the scales add to it.
_SMALL = 1e-6


#: What its calls cost beside those of the other, in multiplications.
_CALLS = 1e6


class System(Protocol):
    """A factorised S."""

    def solve(self, b: Array) -> Array:
        """λ with Sλ = b."""


class Whole:
    """S formed and factorised as it is.

    Parameters
    ----------
    diagonal : ``(n,)`` of Δ less the squares of all v
    up : ``(k, n)`` vectors u
    down : ``(m, n)`` vectors v, ``None`` for none
    regularisation : relative addition to the diagonal
    """

    def __init__(
        self, diagonal: Array, up: Array, down: Array | None, regularisation: float
    ) -> None:
        from scipy.linalg.blas import dsyrk

        system = dsyrk(1.0, up.T, lower=1)
        places = np.arange(len(diagonal))
        diagonal = diagonal + system[places, places]
        if down is not None:
            system = dsyrk(-1.0, down.T, beta=1.0, c=system, lower=1, overwrite_c=1)
        system[places, places] = diagonal
        self.factor = cholesky(system, regularisation)

    def solve(self, b: Array) -> Array:
        """λ with Sλ = b."""
        from scipy.linalg.lapack import dpotrs

        found: Array = dpotrs(self.factor, b, lower=1)[0]
        return found


class Reduced:
    """Most prices eliminated first, then τ, then θ with the prices that stayed.

    Parameters
    ----------
    diagonal : ``(n,)`` of Δ
    up : ``(k, n)`` vectors u; divided by the roots of the diagonal in place
    down : ``(m, n)`` vectors v, likewise, ``None`` for none
    stays : ``(n,)`` prices that stay
    p : ``(n,)`` prior; Δ p = Σ_y roots_y v_y and pᵀv_y = roots_y
    roots : ``(m,)``
    regularisation : relative addition to the diagonals
    """

    def __init__(
        self,
        diagonal: Array,
        up: Array,
        down: Array | None,
        stays: NDArray[np.intp],
        p: Array,
        roots: Array,
        regularisation: float,
    ) -> None:
        from scipy.linalg.blas import dsymv, dsyrk, dtrsm

        self.stays, self.up, self.down = stays, up, down
        # Zero for those that stay.
        self.root = diagonal.copy()
        self.root[stays] = np.inf
        self.root **= -0.5
        kept, k = len(stays), len(up)
        across = up[:, stays]
        size = kept + (0 if down is None else len(down))
        dual = np.zeros((size, size), order="F")
        dual[np.arange(kept), np.arange(kept)] = diagonal[stays]
        up *= self.root
        if down is not None:
            links = down[:, stays]
            down *= self.root
            own = dsyrk(-1.0, down.T, trans=1, lower=1)
            np.fill_diagonal(own, 0.0)
            own.flat[:: len(own) + 1] = (links @ p[stays] - dsymv(1.0, own, roots, lower=1)) / roots
            dual[kept:, kept:], dual[kept:, :kept] = own, links
            across = np.concatenate([across, -(up @ down.T)], axis=1)
        scales = dsyrk(1.0, up.T, trans=1, lower=1)
        scales.flat[:: k + 1] += 1.0
        self.scales = cholesky(scales, regularisation)
        self.across = np.empty((k, 0))
        if size:
            self.across = dtrsm(1.0, self.scales, across, lower=1)
            dual = dsyrk(1.0, self.across, trans=1, beta=1.0, c=dual, lower=1, overwrite_c=1)
            self.dual = cholesky(dual, regularisation)

    def solve(self, b: Array) -> Array:
        """λ with Sλ = b."""
        from scipy.linalg.blas import dtrsv
        from scipy.linalg.lapack import dpotrs

        kept, root = len(self.stays), self.root
        side = b * root
        y = dtrsv(self.scales, self.up @ side, lower=1)
        if self.across.size:
            right = b[self.stays]
            if self.down is not None:
                right = np.concatenate([right, -(self.down @ side)])
            dual = dpotrs(self.dual, right - y @ self.across, lower=1)[0]
            y += self.across @ dual
        found: Array = side - dtrsv(self.scales, y, lower=1, trans=1) @ self.up
        if self.down is not None:
            found -= dual[kept:] @ self.down
        found *= root
        if kept:
            found[self.stays] = dual[:kept]
        return found


def factorise(
    diagonal: Array,
    up: Array,
    regularisation: float,
    *,
    own: Array | None = None,
    down: Array | None = None,
    p: Array,
    roots: Array,
) -> System:
    """The cheaper of both. ``up`` and ``down`` are used up.

    Parameters
    ----------
    own : diagonal of Δ less the squares of all v, computed without cancellation; the others as
        :class:`Reduced` has them
    """
    n, m = len(diagonal), 0 if down is None else len(down)
    if work_reduced(n, len(up), m, 0) < 1:
        stays = np.flatnonzero(diagonal < _SMALL * np.einsum("yx,yx->x", up, up))
        if work_reduced(n, len(up), m, len(stays)) < 1:
            return Reduced(diagonal, up, down, stays, p, roots, regularisation)
    return Whole(diagonal if own is None else own, up, down, regularisation)


def work_reduced(n: int, k: int, m: int, kept: int) -> float:
    """Work of :class:`Reduced` relative to :class:`Whole`: multiplications and many small calls."""
    size = m + kept
    whole = n * n * (k + m) + n**3 / 3
    left = n * (k * k + m * m + 2 * k * m) + (k**3 + size**3) / 3 + k * k * size + k * size * size
    return (left + _CALLS) / whole
