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

_ONE = Fraction(1)


class _Group:
    """The scores of the symbols of one group, all exact.

    Attributes
    ----------
    widths : how many points are alike from each digit on, the lowest first
    totals : β of each type over the number of points
    types, values : ``(k,)`` of each value that the score of a symbol has, and that value
    given : ``(k, 1 + m + G)`` chances of these where the secret is the symbol, where it is another
        one of the group that differs from it in a digit and in none above, and where it is one of
        each group, in the mean over all others of the own one
    second : mean squares of the score in these cases
    """

    def __init__(self, i: int, layout: Layout, types: Sequence[ReportType], tables: Any) -> None:
        n, (chances, often, totals) = layout.sizes[i], tables
        spaces = {(one.parts[i].base, one.parts[i].dimension) for one in types if i in one.parts}
        if len(spaces) != (n > 1):
            raise ValueError("a group whose symbols are alike, or in several spaces")
        ((q, m),) = spaces or {(2, 0)}
        v, self.widths = q**m, [q**c for c in range(m)]
        self.totals, directions = totals[i] / v, [(q - 1) * w for w in reversed(self.widths)]
        # Each ρ with its type and class, and its chance where residues are independent.
        atoms = []
        for t, one in enumerate(types):
            part = one.parts.get(i)
            for c, row in enumerate(part.values if part else [[_ONE]]):
                for rho, count in zip(row, part.sizes if part else [1], strict=True):
                    even = Fraction(directions[c] * count, (v - 1) * q) if part else _ONE
                    atoms.append((t, c, rho, even))
        weights, told = chances[:, i] / often, [Fraction(0)] * max(m, 1)
        for t, c, rho, even in atoms:
            told[c] += chances[t, i] * weights[t] * even * (rho - 1) ** 2
        if not all(told[:m]):
            raise ValueError("a group whose symbols are alike in a class")
        values, given = list[Any](), list[Any]()
        for t, c, rho, even in atoms:
            score = directions[c] * weights[t] / v / told[c] * (rho - 1) if rho != 1 else 0
            values.append(self.totals[t] + score)
            # Cut apart by the digit in which they differ, the same below it.
            inside = [rho] * (c + 1) + [(q - rho) / (q - 1)] + [_ONE] * (m - 1 - c)
            row = [chances[t, i] * each for each in inside[: m + 1]]
            given.append([each * even for each in (*row, *chances[t])])
        self.types = np.array([t for t, *_ in atoms])
        self.values, self.given = np.array(values), np.array(given)
        agree = [(n // w) * w * w + (n % w) ** 2 for w in self.widths]
        pairs = np.array([Fraction(b - a, n * n - n) for a, b in pairwise([*agree, n * n])][:m])
        self.given[:, m + 1 + i] = self.given[:, 1 : m + 1] @ pairs if m else 0
        self.second = self.values**2 @ self.given


class Scores:
    """Estimates and errors of a mixture of types.

    Raises ``ValueError`` where some symbols of a group, or groups, cannot be told apart.
    """

    def __init__(self, layout: Layout, types: Sequence[ReportType]) -> None:
        from flint import fmpq, fmpq_mat

        self._layout, self._types = layout, types
        chances = np.array([[Fraction(w, DENOMINATOR) for w in one.chances] for one in types])
        # How often each type comes where symbols have their masses.
        often = chances @ np.array(layout.shares)
        exact, weighted = (
            fmpq_mat([[fmpq(a.numerator, a.denominator) for a in row] for row in table.tolist()])
            for table in (chances, chances / often[:, None])
        )
        matrix = weighted.transpose() * exact
        if matrix.det() == 0:
            raise ValueError("groups that types do not tell apart")
        rows = (matrix.inv() * weighted.transpose()).tolist()
        totals = np.array([[Fraction(int(x.p), int(x.q)) for x in row] for row in rows])
        tables = chances, often, totals
        self._groups = [_Group(i, layout, types, tables) for i in range(len(layout.sizes))]

    @cached_property
    def risk(self) -> Fraction:
        """N times the squared error summed over the symbols, which have their masses."""
        total = Fraction(0)
        for i, (group, n) in enumerate(zip(self._groups, self._layout.sizes, strict=True)):
            mass, others = self._layout.masses[i], np.array(self._layout.shares)
            others[i] -= mass
            outside = others @ group.second[-len(others) :]
            total += n * (mass * group.second[0] + outside - mass**2)
        return total

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share at a distribution, ``(N,)``."""
        found, rows = np.empty(len(truth)), self._layout.rows
        shares = np.array([truth[each].sum() for each in rows])
        for i, group in enumerate(self._groups):
            own, second = truth[rows[i]], group.second.astype(float)
            outside = np.delete(shares, i) @ np.delete(second[-len(shares) :], i)
            value, inner = second[0] * own + outside - own**2, own
            for k, width in enumerate([*group.widths[1:], len(truth)][: len(group.widths)]):
                outer = np.add.reduceat(own, np.arange(0, len(own), width)).repeat(width)[
                    : len(own)
                ]
                value += second[k + 1] * (outer - inner)
                inner = outer
            found[rows[i]] = value
        return np.maximum(found, 0.0)

    @cached_property
    def worst(self) -> float:
        """The largest n times the variance of any share's estimate over all distributions.

        With share p of the symbol, the others add most where all of them are of one group, and in
        its own differ from it in the same digit; what is left is concave in p.
        """
        worst = Fraction(0)
        for same, *others in (group.second for group in self._groups):
            most = max(others)
            share = min(max((same - most) / 2, Fraction(0)), _ONE)
            worst = max(worst, share * same + (1 - share) * most - share**2)
        return float(worst)

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Moments of scores given the secret, see :meth:`.SubsetSelection.score_moments`."""
        own, other = list[Floats](), list[Floats]()
        for group in self._groups:
            values, given = group.values.astype(float), group.given.astype(float)
            for mean, rows in ((1.0, own), (0.0, other)):
                sides = [np.maximum(sign * (values - mean), 0) ** 3 for sign in (1, -1)]
                rows.append(np.array([values, values**2, values**3, *sides]) @ given)
        g = len(self._groups)
        return np.array([m[:, 0] for m in own]).T, np.stack([m[:, -g:] for m in other], axis=1)

    def shares_of(self, offsets: Sequence[int], reports: Integers, counts: Integers) -> Floats:
        """Estimates of all shares, ``(N,)``, from distinct reports in rising order."""
        ends, total = np.searchsorted(reports, offsets), counts.sum()
        spans = [slice(a, b) for a, b in pairwise(ends.tolist())]
        often = np.array([counts[span].sum() for span in spans]) / total
        found = np.empty(len(self._layout.group))
        for i, (rows, group) in enumerate(zip(self._layout.rows, self._groups, strict=True)):
            found[rows] = often @ group.totals.astype(float)
            for t, (one, span) in enumerate(zip(self._types, spans, strict=True)):
                if i in one.parts:
                    drawn, shifts = one.of_group(reports[span] - offsets[t], i)
                    scores = (group.values[group.types == t] - group.totals[t]).astype(float)
                    table = scores.reshape(one.parts[i].dimension, -1)
                    sums = one.parts[i].transform(drawn, shifts, counts[span], table)
                    found[rows] += sums / total
        return found
