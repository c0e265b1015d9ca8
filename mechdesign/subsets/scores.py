"""Estimates of shares, with their errors and moments, in closed form.

With τ_t the share of the reports that are of type t, the share of group i is estimated by
Σ β_it τ_t, and that of its symbol x by the mean over reports of its *score*

    β_it / v + (v − 1)/v · c_t (ρ(s) − 1),        s the residue of x at the report,

where v is the number of points of the group's family and Σ_t α_it c_t κ_t = 1 for each class of
directions, κ the second moment. The weights are the best for the masses. All residues of other
groups are uniform whatever the symbol is, and characters of the points balance those of its own, so
that the estimate is unbiased for every distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from operator import mul

import numpy as np

from ..exact import DENOMINATOR
from .family import AffineFamily, Floats, Integers
from .report_types import Layout, ReportType

_ZERO = Fraction(0)
Row = list[Fraction]


class _Group:
    """The scores of the symbols of one group, all exact.

    Attributes
    ----------
    family : of the group, ``None`` for a symbol alone
    parts : of each type that splits the group
    totals : β of each type over the number of points
    scores : of such types (v − 1)/v · c for each class of directions
    values : that the score of a symbol has
    chances : of these for a secret of each group, with residues that are independent
    related : where the secret is the symbol, then where it is one of its group that differs from it
        first in each digit, counted from the highest
    """

    def __init__(
        self,
        i: int,
        size: int,
        types: Sequence[ReportType],
        chances: list[Row],
        often: Row,
        totals: Row,
    ) -> None:
        self.parts = {t: one.split[i] for t, one in enumerate(types) if i in one.split}
        families = [part.family for part in self.parts.values()]
        if size > 1 and not families:
            raise ValueError("a group whose symbols are alike")
        if len({(family.points, family.powers) for family in families}) > 1:
            raise ValueError("families of a group that differ")
        self.family, self.size = families[0] if families else None, size
        v, m = (self.family.points, self.family.dimension) if self.family else (1, 0)
        self.totals, self.scores = [total / v for total in totals], dict[int, Row]()
        told = [
            sum(
                (
                    chances[t][i] ** 2 * part.profiles[c].moment(2) / often[t]
                    for t, part in self.parts.items()
                ),
                _ZERO,
            )
            for c in range(m)
        ]
        if not all(told):
            raise ValueError("a group whose symbols are alike in a class")
        self.values, self.chances = Row(), [Row() for _ in chances[0]]
        self.related = [Row() for _ in range(m + 1)]
        for t, row in enumerate(chances):
            part = self.parts.get(t)
            if part is None:
                self._add(i, self.totals[t], row, [Fraction(1)] * (m + 1), Fraction(1))
                continue
            self.scores[t] = [Fraction(v - 1, v) * row[i] / often[t] / each for each in told]
            for c, (profile, score) in enumerate(zip(part.profiles, self.scores[t], strict=True)):
                share = Fraction(*part.family.class_share(c))
                for value, count in profile.values:
                    even = share * Fraction(count, profile.base)
                    own = even * value
                    # Cut apart by the digit in which they differ, the same below it.
                    cut = (share * count - own) / (profile.base - 1)
                    related = [own, *([even, cut, own][(k <= c) + (k < c)] for k in range(m))]
                    self._add(i, self.totals[t] + score * (value - 1), row, related, even)

    def _add(self, i: int, value: Fraction, row: Row, related: Row, even: Fraction) -> None:
        self.values.append(value)
        for chances, chance in zip(self.chances, row, strict=True):
            chances.append(chance * even)
        for chances, chance in zip(self.related, related, strict=True):
            chances.append(row[i] * chance)

    @cached_property
    def second(self) -> tuple[Row, Row]:
        """Mean squares of the score, as :attr:`chances` and :attr:`related` are."""
        squares = [value**2 for value in self.values]
        chances, related = (
            [sum(map(mul, squares, each), _ZERO) for each in rows]
            for rows in (self.chances, self.related)
        )
        return chances, related

    @property
    def pairs(self) -> list[int]:
        """Pairs of symbols that are the same, and that differ first in each digit."""
        n, powers = self.size, self.family.powers if self.family else (1,)
        agree = [(n // w) * w * w + (n % w) ** 2 for w in powers]
        return [n, *(b - a for a, b in pairwise(agree))]


class Scores:
    """Estimates and errors of a mixture of types.

    Raises ``ValueError`` where some symbols of a group, or groups, cannot be told apart.
    """

    def __init__(self, layout: Layout, types: Sequence[ReportType]) -> None:
        from flint import fmpq, fmpq_mat

        self._layout, self._types = layout, types
        rows = [[Fraction(w, DENOMINATOR) for w in one.chances] for one in types]
        # How often each type comes where symbols have their masses.
        often = [sum(map(mul, row, layout.shares), _ZERO) for row in rows]
        exact, weighted = (
            fmpq_mat([[fmpq(a.numerator, a.denominator) for a in row] for row in table])
            for table in (rows, [[a / q for a in row] for row, q in zip(rows, often, strict=True)])
        )
        matrix = weighted.transpose() * exact
        if matrix.det() == 0:
            raise ValueError("groups that types do not tell apart")
        totals = (matrix.inv() * weighted.transpose()).tolist()
        self.groups = [
            _Group(i, n, types, rows, often, [Fraction(int(x.p), int(x.q)) for x in row])
            for i, (n, row) in enumerate(zip(layout.sizes, totals, strict=True))
        ]

    @cached_property
    def risk(self) -> Fraction:
        """N times the squared error summed over the symbols, which have their masses."""
        total = -self._layout.certain
        for i, (group, mass) in enumerate(zip(self.groups, self._layout.masses, strict=True)):
            chances, related = group.second
            others = [share * (j != i) for j, share in enumerate(self._layout.shares)]
            total += group.size * sum(map(mul, chances, others), _ZERO)
            total += mass * sum(map(mul, group.pairs, related), _ZERO)
        return total

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share at a distribution, ``(N,)``."""
        found, rows = np.empty(len(truth)), self._layout.rows
        shares = np.array([truth[each].sum() for each in rows])
        for i, group in enumerate(self.groups):
            (chances, (same, *others)), own = group.second, truth[rows[i]]
            value = float(same) * own - own**2
            value += float(shares @ [float(c) * (j != i) for j, c in enumerate(chances)])
            inner = own
            for k, each in enumerate(others):
                outer = np.full(len(own), shares[i])
                if k + 1 < len(others):
                    assert isinstance(group.family, AffineFamily)
                    outer = group.family.cell_masses(own, k + 1)
                value += float(each) * (outer - inner)
                inner = outer
            found[rows[i]] = value
        return np.maximum(found, 0.0)

    @cached_property
    def worst(self) -> float:
        """The largest n times the variance of any share's estimate over all distributions.

        With share p of the symbol, the others add most where all of them are of one group, and in
        its own differ from it in the same digit; what is left is concave in p.
        """
        worst = _ZERO
        for i, group in enumerate(self.groups):
            chances, (same, *others) = group.second
            most = max([*others, *(c for j, c in enumerate(chances) if j != i)], default=same)
            share = min(max((same - most) / 2, _ZERO), Fraction(1))
            worst = max(worst, share * same + (1 - share) * most - share**2)
        return float(worst)

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Moments of scores given the secret, see :meth:`.SubsetSelection.score_moments`."""
        g = len(self.groups)
        own, other = np.zeros((5, g)), np.zeros((5, g, g))
        for i, group in enumerate(self.groups):
            values, chances, related = (
                np.array(part, dtype=float) for part in (group.values, group.chances, group.related)
            )
            own[:, i] = _moments(values, 1.0) @ related[0]
            if group.size > 1:
                pairs = np.array(group.pairs[1:], dtype=float)
                chances[i] = pairs / pairs.sum() @ related[1:]
            other[:, i] = _moments(values, 0.0) @ chances.T
        return own, other

    def shares_of(self, offsets: Sequence[int], reports: Integers, counts: Integers) -> Floats:
        """Estimates of all shares, ``(N,)``, from distinct reports in rising order."""
        total = float(counts.sum())
        ends = np.searchsorted(reports, np.array(offsets, dtype=np.int64))
        spans = [slice(a, b) for a, b in pairwise(ends.tolist())]
        often = np.array([counts[span].sum() for span in spans]) / total
        found = np.empty(len(self._layout.group))
        for i, (rows, group) in enumerate(zip(self._layout.rows, self.groups, strict=True)):
            sums = np.zeros(len(rows))
            for t, part in group.parts.items():
                own = self._types[t].of_group(reports[spans[t]] - offsets[t], i)
                met, places = np.unique(own, return_inverse=True)
                if not len(met):
                    continue
                times = np.bincount(places, counts[spans[t]]).astype(np.int64)
                table = np.array(
                    [
                        (profile.ratios - profile.ratios.mean()) * float(score)
                        for profile, score in zip(part.profiles, group.scores[t], strict=True)
                    ]
                )
                sums += part.family.transform(met, times, table)
            found[rows] = often @ [float(b) for b in group.totals] + sums / total
        return found


def _moments(values: Floats, mean: float) -> Floats:
    """Powers up to three, and third ones of what is above and below a mean, ``(5, K)``."""
    sides = [np.maximum(sign * (values - mean), 0) ** 3 for sign in (1, -1)]
    return np.array([values, values**2, values**3, *sides])
