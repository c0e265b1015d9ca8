"""Estimates of shares, with their errors and moments, in closed form.

With τ_t the share of the reports that are of type t, the share of group i is estimated by
Σ β_it τ_t, and that of its symbol x by the mean over reports of its *score*

    β_it / v + (v − 1)/v · c_t (ρ(s) − 1),        s the residue of x at the report,

where v is the number of points of the group's space and Σ_t α_it c_t κ_t = 1 for each class of
directions, κ the second moment. The weights are the best for the masses. All residues of other
groups are uniform whatever the symbol is, and characters of the points balance those of its own, so
that the estimate is unbiased for every distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..exact import DENOMINATOR
from .parts import Floats, Integers
from .report_types import Layout, ReportType


class _Group:
    """The scores of the symbols of one group, all exact.

    Attributes
    ----------
    widths : how many points are alike from each digit on, the lowest first
    totals : β of each type over the number of points
    scores : of types that split the group (v − 1)/v · c for each class of directions
    values : ``(k,)`` that the score of a symbol has
    given : ``(k, 1 + m + G)`` chances of these where the secret is the symbol, where it is another
        one of the group that differs from it in a digit and in none above, and where it is one of
        each group whose residues are independent
    second : mean squares of the score in these cases
    """

    def __init__(
        self, i: int, size: int, types: Sequence[ReportType], chances: Any, often: Any, totals: Any
    ) -> None:
        parts = {t: one.split[i] for t, one in enumerate(types) if i in one.split}
        spaces = {part.slot[:2] for part in parts.values()}
        if len(spaces) != (size > 1):
            raise ValueError("a group whose symbols are alike, or in several spaces")
        ((q, m),) = spaces or {(1, 0)}
        v = q**m
        self.size, self.widths = size, [q**c for c in range(m)]
        self.totals, self.scores = totals / v, dict[int, list[Fraction]]()
        told = [
            sum(chances[t, i] ** 2 * part.moment(c, 2) / often[t] for t, part in parts.items())
            for c in range(m)
        ]
        if not all(told):
            raise ValueError("a group whose symbols are alike in a class")
        values, given = list[Any](), list[Any]()
        for t, row in enumerate(chances):
            if t not in parts:
                values.append(self.totals[t])
                given.append([row[i]] * (m + 1) + [*row])
                continue
            self.scores[t] = [Fraction(v - 1, v) * row[i] / often[t] / each for each in told]
            for c, score in enumerate(self.scores[t]):
                share = Fraction((q - 1) * q ** (m - 1 - c), v - 1)
                for value, count in zip(parts[t].values[c], parts[t].sizes, strict=True):
                    even = share * count / q
                    own = even * value
                    # Cut apart by the digit in which they differ, the same below it.
                    cut = (share * count - own) / (q - 1)
                    related = [own] * (c + 1) + [cut] + [even] * (m - 1 - c)
                    values.append(self.totals[t] + score * (value - 1))
                    given.append([row[i] * chance for chance in related] + [*(row * even)])
        self.values, self.given = np.array(values), np.array(given)
        self.second = self.values**2 @ self.given

    @property
    def pairs(self) -> list[int]:
        """Pairs of symbols that are the same, and that differ in each digit and in none above."""
        n = self.size
        agree = [(n // w) * w * w + (n % w) ** 2 for w in self.widths]
        return [n, *(b - a for a, b in pairwise([*agree, n * n]))][: len(agree) + 1]

    def masses(self, own: Floats) -> list[Floats]:
        """For each symbol the mass of those, where symbols have some mass."""
        n, cells = self.size, [own]
        for w in self.widths[1:]:
            cells.append(np.repeat(np.add.reduceat(own, np.arange(0, n, w)), w)[:n])
        cells += [np.full(n, own.sum())] * (n > 1)
        return [own, *np.diff(cells, axis=0)]

    def others(self, i: int, shares: Any) -> Any:
        """The mean square of the score over other groups, with so much mass each."""
        return (
            shares @ self.second[len(self.widths) + 1 :] - shares[i] * self.second[i - len(shares)]
        )


class Scores:
    """Estimates and errors of a mixture of types.

    Raises ``ValueError`` where some symbols of a group, or groups, cannot be told apart.
    """

    def __init__(self, layout: Layout, types: Sequence[ReportType]) -> None:
        from flint import fmpq, fmpq_mat

        self._layout, self._types = layout, types
        rows = np.array([[Fraction(w, DENOMINATOR) for w in one.chances] for one in types])
        # How often each type comes where symbols have their masses.
        often = rows @ np.array(layout.shares)
        exact, weighted = (
            fmpq_mat([[fmpq(a.numerator, a.denominator) for a in row] for row in table.tolist()])
            for table in (rows, rows / often[:, None])
        )
        matrix = weighted.transpose() * exact
        if matrix.det() == 0:
            raise ValueError("groups that types do not tell apart")
        totals = (matrix.inv() * weighted.transpose()).tolist()
        self.groups = [
            _Group(i, n, types, rows, often, np.array([Fraction(int(x.p), int(x.q)) for x in row]))
            for i, (n, row) in enumerate(zip(layout.sizes, totals, strict=True))
        ]

    @cached_property
    def risk(self) -> Fraction:
        """N times the squared error summed over the symbols, which have their masses."""
        total, shares = Fraction(0), np.array(self._layout.shares)
        for i, (group, mass) in enumerate(zip(self.groups, self._layout.masses, strict=True)):
            inside = sum(n * v for n, v in zip(group.pairs, group.second, strict=False))
            total += group.size * (group.others(i, shares) - mass**2) + mass * inside
        return total

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share at a distribution, ``(N,)``."""
        found, rows = np.empty(len(truth)), self._layout.rows
        shares = np.array([truth[each].sum() for each in rows])
        for i, group in enumerate(self.groups):
            masses = group.masses(own := truth[rows[i]])
            inside = sum(m * float(v) for m, v in zip(masses, group.second, strict=False))
            found[rows[i]] = inside + float(group.others(i, shares)) - own**2
        return np.maximum(found, 0.0)

    @cached_property
    def worst(self) -> float:
        """The largest n times the variance of any share's estimate over all distributions.

        With share p of the symbol, the others add most where all of them are of one group, and in
        its own differ from it in the same digit; what is left is concave in p.
        """
        worst = Fraction(0)
        for i, group in enumerate(self.groups):
            same, *others = np.delete(group.second, i - len(self.groups))
            most = max(others, default=same)
            share = min(max((same - most) / 2, Fraction(0)), Fraction(1))
            worst = max(worst, share * same + (1 - share) * most - share**2)
        return float(worst)

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Moments of scores given the secret, see :meth:`.SubsetSelection.score_moments`."""
        g = len(self.groups)
        own, other = np.zeros((5, g)), np.zeros((5, g, g))
        for i, group in enumerate(self.groups):
            values, given = group.values.astype(float), group.given.astype(float)
            pairs = np.array(group.pairs[1:], dtype=float)
            if group.size > 1:
                given[:, i - g] = given[:, 1 : 1 + len(pairs)] @ pairs / pairs.sum()
            own[:, i] = _moments(values, 1.0) @ given[:, 0]
            other[:, i] = _moments(values, 0.0) @ given[:, -g:]
        return own, other

    def shares_of(self, offsets: Sequence[int], reports: Integers, counts: Integers) -> Floats:
        """Estimates of all shares, ``(N,)``, from distinct reports in rising order."""
        ends = np.searchsorted(reports, offsets)
        spans = [slice(a, b) for a, b in pairwise(ends.tolist())]
        often = np.array([counts[span].sum() for span in spans]) / counts.sum()
        found = np.empty(len(self._layout.group))
        for i, (rows, group) in enumerate(zip(self._layout.rows, self.groups, strict=True)):
            sums = np.zeros(len(rows))
            for t, scores in group.scores.items():
                part, one, span = self._types[t].split[i], self._types[t], spans[t]
                directions, numbers, shifts = one.of_group(reports[span] - offsets[t], i)
                table = [
                    [float(score * (value - 1)) for value in values]
                    for score, values in zip(scores, part.values, strict=True)
                ]
                sums += part.transform(directions.at(numbers), shifts, counts[span], table)
            found[rows] = often @ group.totals.astype(float) + sums / counts.sum()
        return found


def _moments(values: Floats, mean: float) -> Floats:
    """Powers up to three, and third ones of what is above and below a mean, ``(5, K)``."""
    sides = [np.maximum(sign * (values - mean), 0) ** 3 for sign in (1, -1)]
    return np.array([values, values**2, values**3, *sides])
