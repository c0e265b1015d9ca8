"""The best mixture of listed columns by the simplex method, with as many digits as masses need.

In units of the largest entry of a column, with worths c and shares v::

    maximise  Σ c v   subject to   Σ v k_x = 1 for each symbol x,  v ≥ 0

A solver in floats loses columns that only rare symbols tell apart, and prices by the same digits.
Here all numbers have hundreds or thousands of bits, so that the basis it ends with is the best one:
its prices leave no column a gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Column = Sequence[Fraction]

# A mixture has at most n columns of share at most one: with no column of more reduced cost than
# this share of the value over n, nothing above this share is missing.
_TOLERANCE = 1e-14
_LEAST_BITS = 256
_PIVOTS_PER_SYMBOL = 60


@dataclass(frozen=True, eq=False)
class Mixture:
    """The best mixture.

    Attributes
    ----------
    kernel : ``(n, C)`` columns times their shares
    prices : ``(n,)`` of deviations: worth − ⟨prices, d⟩ is at most the value, for every column
    pivots : how many columns entered the basis
    """

    kernel: Vector
    prices: Vector
    pivots: int


def best_mixture(columns: Sequence[Column], worths: Vector, order: Iterable[int]) -> Mixture:
    """The mixture of columns worth most.

    Parameters
    ----------
    columns : deviations of lifts from one; the first is the constant column, the others extreme
    worths : of each column per unit of output mass, ``(C,)``
    order : positions of columns that are likely to be used, the likeliest first
    """
    from flint import ctx

    bits = _bits(columns)
    with ctx.workprec(2 * bits):
        return _Program(columns, worths, bits).solve(list(order))


def _bits(columns: Sequence[Column]) -> int:
    """Bits that tell the columns of any basis apart: determinants may be that small."""
    n = len(columns[0])
    bits = _LEAST_BITS
    for x in range(n):
        entries = [abs(column[x]) for column in columns if column[x]]
        if entries:
            largest, least = max(entries), min(entries)
            for size in (largest, least):
                bits += abs(size.numerator.bit_length() - size.denominator.bit_length())
    return 2 * bits


class _Program:
    def __init__(self, columns: Sequence[Column], worths: Vector, bits: int) -> None:
        from flint import arb, arb_mat

        self.columns, self.bits = columns, bits
        # Where a cone has no interior, some of the rows say what all of them say.
        _, self.rows = self._independent(range(len(columns)))
        self.size = len(self.rows)
        self.tops = [_ball(1 + max(column)) for column in columns]
        self.costs = [
            arb(worth) / top for worth, top in zip(worths.tolist(), self.tops, strict=True)
        ]
        entries = [
            _ball(1 + column[x]) / top
            for column, top in zip(columns, self.tops, strict=True)
            for x in self.rows
        ]
        self.table = arb_mat(len(columns), self.size, entries)
        self.ones = arb_mat(self.size, 1, [1] * self.size)

    def solve(self, likely: list[int]) -> Mixture:
        basis = self._first_basis(likely)
        target = self._perturbed(basis)
        pivots = 0
        while True:
            prices = self._transposed(basis).solve(self._column([self.costs[b] for b in basis]))
            entering = self._entering(prices, basis)
            if entering is None or pivots == _PIVOTS_PER_SYMBOL * self.size:
                return self._mixture(basis, prices, pivots)
            matrix = self._transposed(basis).transpose()
            shares = _entries(matrix.solve(target))
            step = _entries(matrix.solve(self._column(self._row(entering))))
            ratios = [
                (s / w, i) for i, (s, w) in enumerate(zip(shares, step, strict=True)) if w > 0
            ]
            least, leaving = ratios[0]  # some entry falls, as all columns have row sums to give
            for ratio, i in ratios[1:]:
                if ratio < least:
                    least, leaving = ratio, i
            basis[leaving] = entering
            pivots += 1

    def _mixture(self, basis: list[int], prices: Any, pivots: int) -> Mixture:
        shares = self._shares(basis)
        parts = []
        for number, share in zip(basis, shares, strict=True):
            if share > 0:
                factor = share / self.tops[number]
                parts.append([_float(factor * _ball(1 + d)) for d in self.columns[number]])
        of_deviations = np.zeros(len(self.columns[0]))
        of_deviations[self.rows] = [_float(v) for v in _entries(prices)]
        return Mixture(np.array(parts).T, of_deviations, pivots)

    def _entering(self, prices: Any, basis: list[int]) -> int | None:
        """The column of largest reduced cost, unless that is nothing beside the value."""
        value = _float(sum(_entries(prices)))
        asked = _entries(self.table * prices)
        reduced = np.array([_float(c - a) for c, a in zip(self.costs, asked, strict=True)])
        reduced[basis] = -math.inf
        best = int(np.argmax(reduced))
        return best if reduced[best] > _TOLERANCE * abs(value) / self.size else None

    def _first_basis(self, likely: list[int]) -> list[int]:
        """Likely columns where they make a mixture, else the constant column and likely ones."""
        rest = range(len(self.columns))
        basis, _ = self._independent([*likely, *rest])
        if any(s < 0 for s in self._shares(basis)):
            basis, _ = self._independent([0, *likely, *rest])
        return basis

    def _independent(self, order: Iterable[int]) -> tuple[list[int], list[int]]:
        """The first columns that are linearly independent, and rows that tell it, exactly."""
        basis: list[int] = []
        rows: list[int] = []
        reduced: list[list[Fraction]] = []
        for number in dict.fromkeys(order):
            row = [1 + d for d in self.columns[number]]
            for place, other in zip(rows, reduced, strict=True):
                if row[place]:
                    factor = row[place] / other[place]
                    row = [a - factor * b for a, b in zip(row, other, strict=True)]
            place = next((x for x, v in enumerate(row) if v), -1)
            if place >= 0:
                basis.append(number)
                rows.append(place)
                reduced.append(row)
            if len(basis) == len(row):
                break
        return basis, rows

    def _shares(self, basis: list[int]) -> list[Any]:
        return _entries(self._transposed(basis).transpose().solve(self.ones))

    def _perturbed(self, basis: list[int]) -> Any:
        """Row sums a trace above one, so that no basis is degenerate and no step is of length zero.

        They are those of the first basis with a trace added to each share.
        """
        from flint import arb

        traces = [arb(i + 2).sqrt() * arb(2) ** -self.bits for i in range(self.size)]
        shares = [
            (s if s > 0 else arb(0)) + t for s, t in zip(self._shares(basis), traces, strict=True)
        ]
        return self._transposed(basis).transpose() * self._column(shares)

    def _row(self, number: int) -> list[Any]:
        return [self.table[number, x] for x in range(self.size)]

    def _transposed(self, basis: list[int]) -> Any:
        from flint import arb_mat

        return arb_mat(self.size, self.size, [v for b in basis for v in self._row(b)])

    def _column(self, values: list[Any]) -> Any:
        from flint import arb_mat

        return arb_mat(self.size, 1, values)


def _ball(value: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _entries(matrix: Any) -> list[Any]:
    found: list[Any] = matrix.entries()
    return found


def _float(value: Any) -> float:
    return float(value.mid())
