"""Whether any kernel does what is asked, decided in rationals: a simplex method with Bland's rule.

The program is written out from plain numbers: every pair of hypotheses at every output, every row
of every requirement. e^ε enters by a rational below or above it. Tableaus are of integers over one
common denominator, so that nothing is ever rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from plain_check import Asked, Row, exp_between, guesses, pairs_of, point, secret_pairs
from plain_requirements import Case, PlainRow

DIGITS = 30
Terms = dict[int, Fraction]


@dataclass
class Rows:
    """Σ a x = b and Σ a x ≤ b over variables x ≥ 0."""

    variables: int
    equal: list[tuple[Terms, Fraction]] = field(default_factory=list)
    below: list[tuple[Terms, Fraction]] = field(default_factory=list)

    def new(self, count: int) -> int:
        """Place of the first of some more variables."""
        self.variables += count
        return self.variables - count


def is_feasible(rows: Rows) -> bool:
    """Phase one of the simplex method."""
    table, columns = _integers(rows)
    count = len(table) - 1
    basis = [-1] * count  # artificial variables, which never come back
    for i, j in columns.pop("slack"):
        basis[i] = j
    names: list[int] = columns.pop("names")
    denominator = 1
    while True:
        entering = min(
            (j for j in range(len(names)) if table[-1, j] > 0 and names[j] >= 0),
            key=names.__getitem__,
            default=None,
        )
        if entering is None:
            return bool(table[-1, -1] == 0)
        leaving = None
        for i in range(count):
            if table[i, entering] > 0:
                if leaving is None:
                    leaving = i
                    continue
                left = table[i, -1] * table[leaving, entering]
                right = table[leaving, -1] * table[i, entering]
                if left < right or (left == right and basis[i] < basis[leaving]):
                    leaving = i
        assert leaving is not None, "phase one is bounded"
        pivot = table[leaving, entering]
        row, column = table[leaving].copy(), table[:, entering].copy()
        table = (table * pivot - np.outer(column, row)) // denominator
        table[leaving] = row
        table[:, entering] = -column
        table[leaving, entering] = denominator
        denominator = pivot
        basis[leaving], names[entering] = names[entering], basis[leaving]


def _integers(rows: Rows) -> tuple[Any, dict[str, Any]]:
    """The tableau with the sum of the artificial variables as its last row."""
    surplus = sum(b < 0 for _, b in rows.below)
    width = rows.variables + surplus
    table = np.zeros((len(rows.equal) + len(rows.below) + 1, width + 1), dtype=object)
    slack, artificial = [], []
    extra, name = rows.variables, rows.variables + surplus
    for i, (terms, right) in enumerate([*rows.equal, *rows.below]):
        common = math.lcm(right.denominator, *(a.denominator for a in terms.values()))
        sign = -1 if right < 0 else 1
        for j, a in terms.items():
            table[i, j] = sign * int(a * common)
        table[i, -1] = sign * int(right * common)
        if i >= len(rows.equal) and right < 0:
            table[i, extra] = -1
            extra += 1
            artificial.append(i)
        elif i < len(rows.equal):
            artificial.append(i)
        else:
            slack.append((i, name))
            name += 1
    for i in artificial:
        table[-1] += table[i]
    return table, {"slack": slack, "names": list(range(width))}


# What a case asks


@dataclass(frozen=True)
class Give:
    """By how much what is asked is eased: factors e^ε and ends of limits; both may be negative.

    Equations are not made narrower.
    """

    factor: Fraction = Fraction(1)
    ends: Fraction = Fraction(0)


def factor_of(level: Fraction, above: bool, give: Give) -> Fraction:
    """A rational on one side of e^level."""
    if level == 0:
        return max(Fraction(1), give.factor)
    return max(exp_between(level, DIGITS)[above] * give.factor, Fraction(1))


def rows_of(case: Case, *, above: bool, give: Give = Give()) -> Rows:
    """The program of a case; raises ``KeyError`` for a notion that has no rational rows."""
    n, m = case.shape
    p = list(case.masses)
    found = Rows(n * m)
    for x in range(n):
        found.equal.append(({x * m + y: Fraction(1) for y in range(m)}, Fraction(1)))
    for asked in case.asked:
        pairs = pairs_of(asked, p)
        if pairs is None:
            SUMS[asked.name](found, asked, p, m, above, give)
            continue
        seen = set()
        for over, under, level in pairs:
            factor = factor_of(level, above, give)
            row = tuple(a - factor * b for a, b in zip(over, under, strict=True))
            if row in seen or not any(v > 0 for v in row):
                continue
            seen.add(row)
            for y in range(m):
                terms = {x * m + y: v for x, v in enumerate(row) if v}
                found.below.append((terms, Fraction(0)))
    for row in case.rows:
        _add(found, row, m, give)
    return found


def _add(found: Rows, row: PlainRow, m: int, give: Give) -> None:
    ends = give.ends * max(map(abs, row.entries.values()), default=Fraction(0))
    if ends < 0 and (row.is_equation or 0 in (row.low, row.high)):
        ends = Fraction(0)
    for sign, end in ((1, row.high), (-1, row.low)):
        if end is not None:
            terms = {x * m + y: sign * a for (x, y), a in row.entries.items() if a}
            found.below.append((terms, sign * end + ends))


def _peak(found: Rows, asked: Asked, p: Row, m: int, above: bool, give: Give) -> None:
    first = found.new(m)
    for x, y in ((x, y) for x in range(len(p)) if p[x] for y in range(m)):
        found.below.append(({x * m + y: Fraction(1), first + y: Fraction(-1)}, Fraction(0)))
    most = factor_of(Fraction(asked.levels[0]), above, give)
    found.below.append(({first + y: Fraction(1) for y in range(m)}, most))


def _trough(found: Rows, asked: Asked, p: Row, m: int, above: bool, give: Give) -> None:
    first = found.new(m)
    for x, y in ((x, y) for x in range(len(p)) if p[x] for y in range(m)):
        found.below.append(({x * m + y: Fraction(-1), first + y: Fraction(1)}, Fraction(0)))
    least = 1 / factor_of(Fraction(asked.levels[0]), above, give)
    found.below.append(({first + y: Fraction(-1) for y in range(m)}, -least))


def _guess(found: Rows, asked: Asked, p: Row, m: int, above: bool, give: Give) -> None:
    first = found.new(m)
    for row, y in ((row, y) for row in guesses(asked, p) for y in range(m)):
        terms = {x * m + y: -v for x, v in enumerate(row) if v}
        found.below.append(({**terms, first + y: Fraction(1)}, Fraction(0)))
    least = 1 / factor_of(Fraction(asked.levels[0]), above, give)
    found.below.append(({first + y: Fraction(-1) for y in range(m)}, -least))


def _excess(
    found: Rows, asked: Asked, pairs: Iterator[tuple[Row, Row]], m: int, above: bool, give: Give
) -> None:
    factor = factor_of(Fraction(asked.levels[0]), above, give)
    for over, under in pairs:
        first = found.new(m)
        for y in range(m):
            terms = {
                x * m + y: a - factor * b
                for x, (a, b) in enumerate(zip(over, under, strict=True))
                if a or b
            }
            found.below.append(({**terms, first + y: Fraction(-1)}, Fraction(0)))
        limit = max(Fraction(asked.more["delta"]) + give.ends, Fraction(0))
        found.below.append(({first + y: Fraction(1) for y in range(m)}, limit))


SUMS: dict[str, Any] = {
    "MaximalLeakage": _peak,
    "MaximalCostLeakage": _trough,
    "InferenceCost": _guess,
    "ApproximateLDP": lambda found, asked, p, m, above, give: _excess(
        found,
        asked,
        ((point(len(p), a), point(len(p), b)) for a, b in permutations(range(len(p)), 2)),
        m,
        above,
        give,
    ),
    "ApproximatePufferfish": lambda found, asked, p, m, above, give: _excess(
        found, asked, secret_pairs(asked, p), m, above, give
    ),
}


def may_be_possible(case: Case) -> bool:
    """Whether there is a kernel with e^ε replaced by a rational above it."""
    return is_feasible(rows_of(case, above=True))


def is_possible(case: Case) -> bool:
    """Whether there is a kernel with e^ε replaced by a rational below it."""
    return is_feasible(rows_of(case, above=False))


def is_near_boundary(case: Case, off: Fraction) -> bool:
    """Whether easing everything by a share makes a kernel possible, and narrowing it none."""
    wider, narrower = (Give(1 + sign * off, sign * off) for sign in (1, -1))
    return is_feasible(rows_of(case, above=True, give=wider)) and not is_feasible(
        rows_of(case, above=False, give=narrower)
    )
