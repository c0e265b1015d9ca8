"""Vertex enumeration: every extreme column listed, for few symbols and any sublinear utility.

Independent of pricing, so that it checks column generation; and the only method for column
functions that are not sums over symbols. The best mixture is found by the simplex method with as
many digits as the masses need: a solver in floats loses columns that only rare symbols tell apart,
and prices by the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...certificate.columns.exact_columns import (
    Deviations,
    near_sides,
    too_large,
    with_constant,
)
from ...certificate.columns.families import beyond_floats
from ...errors import SolverError
from ...privacy.constraint import Rounding
from ...program.duals import Candidate, Duals
from ...program.program import SublinearProgram
from ..method import SUBLINEAR, Method
from .master import basic_mixture, exact_shares, merged, mixed_kernel

Vector = NDArray[np.float64]

#: Symbols up to which their best mixture is found with all digits.
MOST_SYMBOLS_EXACT = 10
# A mixture has at most n columns of share at most one: with no column of more reduced value than
# this share of the value over n, nothing above this share is missing.
_TOLERANCE = 1e-14
_LEAST_BITS = 256
_PIVOTS_PER_SYMBOL = 60
# How often the bits of a basis that seems singular are doubled.
_DOUBLINGS = 5


class Vertices(Method):
    """Any sublinear utility, any bounds, few symbols."""

    name = "vertices"
    features = SUBLINEAR
    reason = "few symbols: every extreme column is listed and a linear program mixes the best"
    source = "Kairouz2016"

    def condition(self, program: SublinearProgram) -> str | None:
        """Applies up to a stated number of symbols."""
        return too_large(program, program.sides)

    def lateness(self, program: SublinearProgram) -> int:
        """Last."""
        return 2

    def solve(self, program: SublinearProgram) -> Candidate:
        """One linear program over all extreme columns, exact where they are few.

        The exact prices are those of the cone that bounds are for: where levels are tiny and some
        masses are tinier, those of the cone for design prove little for it.
        """
        if len(program.prior) <= MOST_SYMBOLS_EXACT:
            inner = _best_of(program, Rounding.INSIDE)
            outer = _best_of(program, Rounding.OUTSIDE)
            details = {"pivots": str(inner.pivots + outer.pivots)}
            solver = "vertex enumeration, exact simplex"
            return Candidate(inner.kernel, Duals(outer.prices), solver, details)
        columns = with_constant(program.cone, program.sides, Rounding.INSIDE)
        table = np.array(columns, dtype=float)
        found = basic_mixture(_finite_values(program, table), table, np.abs(table).max(axis=0))
        kept, shares = merged(table[found.used], found.shares[found.used])
        kernel = mixed_kernel(kept, exact_shares(kept, shares))
        details = {"columns": str(len(table))}
        return Candidate(kernel, Duals(found.prices), "vertex enumeration and HiGHS", details)


def _best_of(program: SublinearProgram, rounding: Rounding) -> ExactMixture:
    inside = rounding is Rounding.INSIDE
    sides = near_sides(program.cone) if inside else program.cone.two_sided(rounding)
    columns = list(dict.fromkeys(with_constant(program.cone, sides, rounding)))
    table = np.array(columns, dtype=float)
    values = _finite_values(program, table)
    try:
        shares = basic_mixture(values, table, np.abs(table).max(axis=0)).shares
    except SolverError:
        shares = np.zeros(len(columns))  # only a hint of where to start
    likely = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
    return best_mixture(columns, values, likely)


def _finite_values(program: SublinearProgram, deviations: Vector) -> Vector:
    values = program.lifted_values(deviations)
    if not np.isfinite(values).all():
        raise SolverError(beyond_floats(program))
    return values


# The simplex method with all digits, in units of the largest entry of a column, with values c and
# shares v: maximise Σ c v subject to Σ v k_x = 1 for each symbol x, v ≥ 0


@dataclass(frozen=True, eq=False)
class ExactMixture:
    """The best mixture of listed columns.

    Attributes
    ----------
    kernel : ``(n, C)`` columns times their shares
    prices : ``(n,)`` of deviations: value − ⟨prices, d⟩ is at most the optimum, for every column
    pivots : how many columns entered the basis
    """

    kernel: Vector
    prices: Vector
    pivots: int


def best_mixture(
    columns: Sequence[Deviations], values: Vector, order: Iterable[int]
) -> ExactMixture:
    """The mixture of columns of the largest value, by the revised simplex method in balls.

    Numbers have hundreds or thousands of bits, so that the basis it ends with is the best one: its
    prices leave no column a reduced value. A perturbed right-hand side keeps it from cycling
    ([Charnes1952]).

    Parameters
    ----------
    columns : deviations of lifts from one; the first is the constant column, the others extreme
    values : of each column per unit of output mass, ``(C,)``
    order : positions of columns that are likely to be used, the likeliest first
    """
    from flint import ctx

    bits, likely = _bits(columns), list(order)
    for doubled in range(_DOUBLINGS):
        try:
            with ctx.workprec(2 * bits << doubled):
                return _Program(columns, values, bits << doubled).solve(likely)
        except ZeroDivisionError:  # a basis that so many bits do not tell from a singular one
            continue
    raise SolverError(
        f"the best mixture of {len(columns)} columns needs more than {bits << _DOUBLINGS} bits"
    )


def _bits(columns: Sequence[Deviations]) -> int:
    """Bits that tell the columns of any basis apart: determinants may be that small."""
    bits = _LEAST_BITS
    for deviations in zip(*columns, strict=True):
        entries = [abs(d) for d in deviations if d]
        for size in (max(entries), min(entries)) if entries else ():
            bits += abs(size.numerator.bit_length() - size.denominator.bit_length())
    return 2 * bits


class _Program:
    def __init__(self, columns: Sequence[Deviations], values: Vector, bits: int) -> None:
        from flint import arb, arb_mat

        self.columns, self.bits = columns, bits
        # Where a cone has no interior, some of the rows say what all of them say.
        _, self.rows = self._independent(range(len(columns)))
        self.size = len(self.rows)
        self.tops = [_ball(1 + max(column)) for column in columns]
        self.costs = [
            arb(value) / top for value, top in zip(values.tolist(), self.tops, strict=True)
        ]
        entries = [
            _ball(1 + column[x]) / top
            for column, top in zip(columns, self.tops, strict=True)
            for x in self.rows
        ]
        self.table = arb_mat(len(columns), self.size, entries)
        self.ones = arb_mat(self.size, 1, [1] * self.size)

    def solve(self, likely: list[int]) -> ExactMixture:
        basis = self._first_basis(likely)
        target = self._perturbed(basis)
        pivots = 0
        while True:
            prices = self._transposed(basis).solve(self._column([self.costs[b] for b in basis]))
            entering = self._entering(prices, basis)
            if entering is None or pivots == _PIVOTS_PER_SYMBOL * self.size:
                return self._mixture(basis, prices, pivots)
            matrix = self._transposed(basis).transpose()
            shares = matrix.solve(target).entries()
            step = matrix.solve(self._column(self._row(entering))).entries()
            ratios = [
                (s / w, i) for i, (s, w) in enumerate(zip(shares, step, strict=True)) if w > 0
            ]
            least, leaving = ratios[0]  # some entry falls, as all columns have row sums to give
            for ratio, i in ratios[1:]:
                if ratio < least:
                    least, leaving = ratio, i
            basis[leaving] = entering
            pivots += 1

    def _mixture(self, basis: list[int], prices: Any, pivots: int) -> ExactMixture:
        parts = []
        for number, share in zip(basis, self._shares(basis), strict=True):
            if share > 0:
                factor = share / self.tops[number]
                parts.append([_float(factor * _ball(1 + d)) for d in self.columns[number]])
        of_deviations = np.zeros(len(self.columns[0]))
        of_deviations[self.rows] = [_float(v) for v in prices.entries()]
        return ExactMixture(np.array(parts).T, of_deviations, pivots)

    def _entering(self, prices: Any, basis: list[int]) -> int | None:
        """The column of largest reduced value, unless that is nothing beside the value."""
        value = _float(sum(prices.entries()))
        priced = (self.table * prices).entries()
        reduced = np.array([_float(c - a) for c, a in zip(self.costs, priced, strict=True)])
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

    def _shares(self, basis: list[int]) -> Any:
        return self._transposed(basis).transpose().solve(self.ones).entries()

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


def _float(value: Any) -> float:
    return float(value.mid())
