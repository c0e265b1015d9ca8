"""Basic solutions: fewer columns with the same sums, by exchanges that start from any solution.

Of more columns than conditions some can be left out, one after the other, with the masses of the
others moved along what changes no sum (Carathéodory). A basis of the columns says how: the masses
of its members follow a column that leaves, and where one of them would fall below zero first, that
one leaves and the column takes its place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Places = NDArray[np.intp]

# Columns that are taken out before the others learn of the new basis.
_CHUNK = 192
# Rank, relative to the largest column; entries of the basis that are taken for zero.
_RANK, _NOTHING = 1e-11, 1e-12
# The smallest eigenvalue of products of columns, over the largest, above which none is a
# combination of others: far above rounding, so that it is sure.
_INDEPENDENT = 1e-9
# How near to the first member of the basis others must run out to be exchanged instead.
_NEAR = 1e-9
# Masses that count, relative to those at first; how far sums may be off, relative to their parts.
_LEFT, _SAME = 1e-9, 1e-12
# Steps of refinement of masses.
_REFINED = 2


def basic_solution(rows: Vector, masses: Vector) -> Vector | None:
    """Masses with the same sums, of no more columns than there are independent conditions.

    Parameters
    ----------
    rows : ``(k, M)`` what each column adds to each of the sums
    masses : ``(M,)`` positive

    Returns
    -------
    masses ``(M,)`` with ``rows @ masses`` as before, to about 1e-12 of its parts; ``None`` where
    every column is needed or the conditions are too near to dependent
    """
    from scipy.linalg import qr, solve_triangular

    # In units of the masses at first: all are one, and rare columns are last into the basis.
    weighed = rows * masses
    size = np.sqrt((weighed**2).sum(axis=1))
    weighed = weighed[size > 0] / size[size > 0, None]
    if _are_independent(weighed):
        return None
    triangle, order = qr(weighed, mode="r", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diagonal(triangle))
    rank = int((diagonal > _RANK * diagonal[0]).sum())
    if rank >= len(masses):
        return None
    triangle = triangle[:rank]
    table = solve_triangular(triangle[:, :rank], triangle[:, rank:], check_finite=False)
    basis = _Basis(order[:rank].copy(), np.ones(rank))
    rest = order[rank:]
    while len(rest):
        now, table = table[:, :_CHUNK], table[:, _CHUNK:]
        exchanged, entered = basis.absorb(now.copy(), rest[:_CHUNK])
        rest = rest[_CHUNK:]
        if len(exchanged):
            # The new basis in terms of the old one differs in the columns that were exchanged.
            change = now[:, entered]
            inner = change[exchanged]
            change[exchanged, np.arange(len(exchanged))] -= 1
            table = table - change @ np.linalg.solve(inner, table[exchanged])
    return _polished(weighed, masses, basis)


def _are_independent(columns: Vector) -> bool:
    """Whether columns surely are; that is told far sooner than which of them are combinations."""
    k, count = columns.shape
    if count > k:
        return False
    length = np.sqrt((columns**2).sum(axis=0))
    if not (length > 0).all():
        return False
    scaled = columns / length
    values = np.linalg.eigvalsh(scaled.T @ scaled)
    return bool(values[0] > _INDEPENDENT * values[-1])


class _Basis:
    """Columns whose masses follow from the sums."""

    def __init__(self, places: Places, shares: Vector) -> None:
        self.places, self.shares = places, shares

    def absorb(self, table: Vector, outside: Places) -> tuple[Places, Places]:
        """Take columns out, or into the basis in the place of others.

        Parameters
        ----------
        table : ``(r, c)`` the columns as combinations of the basis; overwritten
        outside : ``(c,)`` which columns they are

        Returns
        -------
        places of the basis whose members were exchanged at least once, and which of the columns
        took them
        """
        holders = np.full(len(self.places), -1, dtype=np.intp)
        for j in range(len(outside)):
            column = table[:, j].copy()
            i, step = self._leaving(column)
            self.shares = np.maximum(self.shares - step * column, 0.0)
            if i < 0:
                continue
            self.shares[i] = 1.0 + step
            self.places[i], holders[i] = outside[j], j
            # Column j becomes a member, so that the later ones are told in the new basis.
            later = table[:, j + 1 :]
            row = later[i] / column[i]
            column[i] -= 1
            later -= np.outer(column, row)
        found = np.flatnonzero(holders >= 0)
        return found, holders[found]

    def _leaving(self, column: Vector) -> tuple[int, float]:
        """Which member of the basis runs out as a column of mass one grows by a step.

        Minus one and minus one where the column itself runs out first.
        """
        down, low = self._first(-column)
        if low >= 1.0:
            return -1, -1.0
        up, high = self._first(column)
        if up >= 0 and abs(column[up]) > abs(column[down]):
            return up, high
        return down, -low

    def _first(self, column: Vector) -> tuple[int, float]:
        """The member that runs out first, of those next to it the one with the largest entry."""
        falling = np.flatnonzero(column > _NOTHING)
        if not len(falling):
            return -1, np.inf
        steps = self.shares[falling] / column[falling]
        near = falling[steps <= steps.min() + _NEAR]
        i = int(near[np.argmax(column[near])])
        return i, float(self.shares[i] / column[i])


def _polished(weighed: Vector, masses: Vector, basis: _Basis) -> Vector | None:
    """The masses of a basis to the last digits; ``masses`` are those at first."""
    from scipy.linalg import qr_multiply, solve_triangular

    target = weighed.sum(axis=1)
    most = np.abs(weighed).sum(axis=1)
    places = basis.places[basis.shares > _LEFT]
    columns = weighed[:, places]
    # The columns of a basis are independent: no singular values are needed, which take far longer.
    turned, triangle = qr_multiply(columns, target, mode="right")
    if np.abs(np.diagonal(triangle)).min() == 0:
        return None
    shares = solve_triangular(triangle, turned, check_finite=False)
    for _ in range(_REFINED):
        left = columns.T @ (target - columns @ shares)
        left = solve_triangular(triangle, left, trans="T", check_finite=False)
        shares = shares + solve_triangular(triangle, left, check_finite=False)
    off = np.abs(columns @ shares - target)
    if shares.min() <= 0 or (off > _SAME * len(weighed) * most).any():
        return None
    found = np.zeros(weighed.shape[1])
    found[places] = shares * masses[places]
    return found
