"""The restricted master program, which mixes columns, and the mixtures that come out of it.

With columns c of value F_c and deviations d_c, and shares q ([GilmoreGomory1961])::

    maximise  Σ q_c F_c   subject to  Σ q_c = 1,  Σ q_c d_c = 0,  q ≥ 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from ...linear.highs import Model

Vector = NDArray[np.float64]

# Deviations of rare symbols reach from −1 to 1e12; rows are scaled so that −1 still counts.
_LARGEST_SCALE = 1e4
# Entries of a column up to this are handed to HiGHS as they are.
_LARGEST_ENTRY = 1e9
# Entries below this are nothing beside the one that every column has.
_FORGOTTEN = 1e-9
_NEGLIGIBLE = 1e-14


@dataclass(frozen=True, eq=False)
class Mixture:
    """An optimum of the restricted program.

    Attributes
    ----------
    value : Σ q F
    prices : ``(rows,)`` duals of Σ q d = 0: F − ⟨prices, d⟩ is at most the value for every column
    shares : ``(C,)`` q, in the order in which columns were added
    """

    value: float
    prices: Vector
    shares: Vector

    @property
    def used(self) -> NDArray[np.intp]:
        """Columns whose share is not negligible."""
        return np.flatnonzero(self.shares > _NEGLIGIBLE)


class Master:
    """The program on HiGHS, warm from one call to the next.

    Parameters
    ----------
    reach : ``(rows,)`` largest deviation in each row; rows are divided by it, within limits
    unit : size of the values, which are divided by it
    """

    def __init__(self, reach: Vector, unit: float) -> None:
        self._unit, self._scales = max(unit, 1e-300), _row_scales(reach)
        self._model = Model(threads=1, small_matrix_value=_FORGOTTEN)
        self._model.add_rows(np.array([1.0, *np.zeros(len(reach))]))
        self._column_scales = np.empty(0)

    def __len__(self) -> int:
        return len(self._column_scales)

    def add(self, values: Vector, deviations: Vector) -> None:
        """Columns of the given values and ``(C, rows)`` deviations.

        HiGHS refuses entries above 1e15 and forgets those below 1e-9, so a column of large entries
        is divided by a scale.
        """
        values, rows = values / self._unit, deviations / self._scales
        largest = np.maximum(np.abs(rows).max(axis=1, initial=0.0), np.abs(values))
        scale = 1 / np.maximum(largest / _LARGEST_ENTRY, 1.0)
        entries = np.concatenate([np.ones((len(rows), 1)), rows], axis=1) * scale[:, None]
        self._model.add_columns(values * scale, entries)
        self._column_scales = np.concatenate([self._column_scales, scale])

    def solve(self) -> Mixture:
        """The best mixture. Raises :class:`SolverError` unless it is found."""
        found = self._model.run()
        if found.point is None or found.duals is None:
            raise SolverError(f"HiGHS stopped on the program over columns: {found.status}")
        prices = found.duals[1:] * self._unit / self._scales
        return Mixture(found.value * self._unit, prices, found.point * self._column_scales)


def _row_scales(reach: Vector) -> Vector:
    return np.clip(reach, 1e-300, _LARGEST_SCALE)


def basic_mixture(values: Vector, table: Vector, reach: Vector) -> Mixture:
    """The best mixture of ``(C, n)`` columns, with no more columns than rows."""
    master = Master(reach, float(np.abs(values).max()))
    master.add(values, table)
    return master.solve()


def merged(table: Vector, shares: Vector) -> tuple[Vector, Vector]:
    """Columns that are the same to working precision, as one with their joint share."""
    reach = np.maximum(np.abs(table).max(axis=0), 1e-300)
    _, first, place = np.unique(
        np.round(table / reach, 12), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    place = rank[place.ravel()]
    joint = np.bincount(place, weights=shares).astype(float)
    means = table[first[order]]
    if len(joint) < len(shares):
        sums = np.zeros_like(means)
        np.add.at(sums, place, shares[:, None] * table)
        several = (np.bincount(place) > 1) & (joint > 0)
        means[several] = sums[several] / joint[several, None]
    return means, joint


def mixed_kernel(table: Vector, shares: Vector) -> Vector:
    """The ``(n, C)`` kernel of ``(C, n)`` columns of deviations with their shares."""
    return (shares[:, None] * (1 + table)).T


def exact_shares(table: Vector, guess: Vector) -> Vector:
    """Shares of ``(C, n)`` columns of deviations, corrected so that Σ q = 1 and Σ q d = 0 hold to
    the last digits.
    """
    scale = _row_scales(np.abs(table).max(axis=0))
    rows = np.vstack([np.ones(len(table)), (table / scale).T])
    target = np.zeros(len(rows))
    target[0] = 1.0
    shares = guess
    for _ in range(3):
        missing = target - rows @ shares
        if float(np.abs(missing).max()) < 1e-15:
            break
        step, *_ = np.linalg.lstsq(rows, missing, rcond=None)
        shares = np.maximum(shares + step, 0.0)
    return np.asarray(shares)
