"""Products of two linear functions that no extreme column makes negative, and which of them second
moments violate most.

The functions have whole coefficients on (1, t), where extreme columns under LDP have t in {0, 1}^n
and those under bounds on the lift lie in [0, 1]^n. Those of one symbol each::

    t_x t_z,   t_x (1 − t_z),   (1 − t_x)(1 − t_z)

hold for both ([SheraliAdams1990]). Under LDP every sum cᵀt with whole c is a whole number, and of
two neighbouring ones not both lie on one side of it ([BorosHammer1993])::

    (cᵀt − k)(cᵀt − k − 1)

Sums matter where the best number of symbols above the lower end is not whole, c = 1, and near it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .forms import Array

# Products below this count as violated; cuts of either kind added at once, for each symbol.
_VIOLATED, _PAIRS, _SUMS = -1e-4, 3, 1
# The largest coefficient of a sum, the steps of a search for one, and how much better each must be.
_LARGEST, _STEPS, _BETTER = 4, 100, 1e-9
# Directions of least spread, and the sizes of their multiples, that are rounded to sums.
_DIRECTIONS, _SIZES = 4, (0.5, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Products, in the order of their multipliers.

    Attributes
    ----------
    one, two : ``(m, n + 1)`` whole coefficients of both factors on (1, t)
    """

    one: Array
    two: Array

    @classmethod
    def none(cls, n: int) -> Cuts:
        """No cuts of n symbols."""
        return cls(np.zeros((0, n + 1)), np.zeros((0, n + 1)))

    @classmethod
    def sums(cls, coefficients: Array, wholes: Array) -> Cuts:
        """(cᵀt − k)(cᵀt − k − 1) for rows c, ``(m, n)``, and k, ``(m,)``."""
        return cls(*(np.column_stack([-k, coefficients]) for k in (wholes, wholes + 1)))

    def __len__(self) -> int:
        return len(self.one)

    def take(self, places: NDArray[np.intp]) -> Cuts:
        """Some of them."""
        return Cuts(self.one[places], self.two[places])

    def join(self, other: Cuts) -> Cuts:
        """These, then others."""
        return Cuts(np.vstack([self.one, other.one]), np.vstack([self.two, other.two]))

    @property
    def keys(self) -> list[bytes]:
        """What tells them apart."""
        both = np.hstack([self.one, self.two]).astype(np.int64)
        return [row.tobytes() for row in both]

    def without(self, known: Cuts) -> Cuts:
        """Those that are not among others."""
        old = set(known.keys)
        return self.take(np.array([i for i, k in enumerate(self.keys) if k not in old], dtype=int))


def violated(moments: Array, known: Cuts, *, whole: bool) -> Cuts:
    """The products that second moments of (1, t) violate most, but for those known.

    Parameters
    ----------
    moments : ``(n + 1, n + 1)``, not necessarily of mass one
    known : cuts that are there already
    whole : whether t is 0 or 1 at every extreme column
    """
    found = _pairs(moments).without(known)
    return found.join(_sums(moments).without(known)) if whole else found


def _pairs(moments: Array) -> Cuts:
    """Products of one symbol each, the worst first."""
    n = len(moments) - 1
    unit = np.eye(n + 1)
    sides = np.vstack([unit[1:], unit[0] - unit[1:]])  # t, then 1 − t
    upper, off = np.triu_indices(n, 1), np.nonzero(~np.eye(n, dtype=bool))
    one = np.concatenate([upper[0], off[0], n + upper[0]])
    two = np.concatenate([upper[1], n + off[1], n + upper[1]])
    size = (sides @ moments @ sides.T)[one, two]
    places = np.argsort(size, kind="stable")[: _PAIRS * n]
    places = places[size[places] < _VIOLATED]
    return Cuts(sides[one[places]], sides[two[places]])


def _sums(moments: Array) -> Cuts:
    """Products of neighbouring sums, the worst first: coefficients are changed by one as long as
    that makes them worse, from sums that vary little.
    """
    n = len(moments) - 1
    if moments[0, 0] <= 0:
        return Cuts.none(n)
    second, mean = moments[1:, 1:] / moments[0, 0], moments[0, 1:] / moments[0, 0]
    _, vectors = np.linalg.eigh(second - np.outer(mean, mean))
    least = vectors[:, :_DIRECTIONS].T
    least = least / np.median(np.abs(least), axis=1).clip(1e-3)[:, None]
    starts = [np.ones((1, n)), np.eye(n), *(np.round(size * least) for size in _SIZES)]
    c = np.unique(np.clip(np.vstack(starts), -_LARGEST, _LARGEST), axis=0)
    change = np.vstack([np.eye(n), -np.eye(n)])
    sign, own = np.repeat([1.0, -1.0], n), np.tile(np.diagonal(second), 2)
    found: dict[bytes, tuple[float, Array, float]] = {}

    def keep(value: float, row: Array, k: float) -> None:
        if row[np.flatnonzero(row)[0]] < 0:  # the same product
            row, k = 0 - row, -k - 1
        found[row.tobytes()] = value, row, k

    values, wholes = _neighbouring(np.einsum("ij,ij->i", c @ second, c), c @ mean)
    for i in np.flatnonzero(values < _VIOLATED).tolist():
        keep(float(values[i]), c[i], float(wholes[i]))
    for _ in range(_STEPS):
        image = c @ second
        squares = np.einsum("ij,ij->i", image, c)
        others = squares[:, None] + 2 * sign * np.tile(image, 2) + own
        near, wholes = _neighbouring(others, (c @ mean)[:, None] + sign * np.tile(mean, 2))
        near[np.abs(c[:, None, :] + change).max(axis=2) > _LARGEST] = np.inf
        for i, j in np.argwhere(near < _VIOLATED).tolist():
            keep(float(near[i, j]), c[i] + change[j], float(wholes[i, j]))
        best = near.argmin(axis=1)
        rows = np.arange(len(c))
        better = near[rows, best] < values - _BETTER
        if not better.any():
            break
        c, values = c[better] + change[best[better]], near[rows, best][better]
        c, first_of = np.unique(c, axis=0, return_index=True)
        values = values[first_of]
    worst = sorted(found.values(), key=lambda each: each[0])[: _SUMS * n]
    if not worst:
        return Cuts.none(n)
    return Cuts.sums(np.array([row for _, row, _ in worst]), np.array([k for _, _, k in worst]))


def _neighbouring(squares: Array, means: Array) -> tuple[Array, Array]:
    """The mean of (cᵀt − k)(cᵀt − k − 1) at the k that makes it least, and that k."""
    k = np.floor(means)
    return squares - (2 * k + 1) * means + k * (k + 1), k
