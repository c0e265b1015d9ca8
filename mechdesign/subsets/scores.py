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

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
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
    totals : β of each type over the number of points
    types, values : ``(k,)`` of each value that the score of a symbol has, and that value
    given : ``(k, 1 + G)`` chances of these where the secret is the symbol, and where it is another
        one of each group, in the mean over all others of the own one
    second : mean squares of the score in these cases
    """

    def __init__(self, i: int, n: int, types: Sequence[ReportType], tables: Any) -> None:
        chances, often, totals = tables
        parts = [one.parts.get(i) for one in types]
        spaces = {(part.base, part.dimension) for part in parts if part is not None}
        if len(spaces) != (n > 1):
            raise ValueError("a group whose symbols are alike, or in several spaces")
        ((q, m),) = spaces or {(2, 0)}
        v, self.totals = q**m, totals[i] / q**m
        # How often two symbols have one residue at directions of each class: where they differ in
        # lower digits alone, and by chance where in higher ones.
        agree = [(n // q**c) * q ** (2 * c) + (n % q**c) ** 2 for c in range(m + 1)]
        same = [(a - n + Fraction(n * n - b, q)) / (n * n - n) for a, b in pairwise(agree)]
        # Values of ρ at each class, with how often it and they come, and in the end that of no
        # class that tells symbols apart.
        weights, told, atoms = chances[:, i] / often, [Fraction(0)] * m, list[Any]()
        for t, (one, part) in enumerate(zip(types, parts, strict=True)):
            rest = Fraction(1)
            rows = [zip(row, part.sizes, strict=True) for row in part.values] if part else []
            for c, row in enumerate(rows):
                share = one.class_share(i, c)
                rest -= share
                for rho, count in row:
                    atoms.append((t, c, rho, share * count / q))
                    told[c] += chances[t, i] * weights[t] * atoms[-1][-1] * (rho - 1) ** 2
            atoms.append((t, m, Fraction(1), rest))
        if not all(told):
            raise ValueError("a group whose symbols are alike in a class")
        values, given = list[Any](), list[Any]()
        for t, c, rho, even in atoms:
            score, inside = Fraction(0), Fraction(n > 1)
            if c < m:
                score = weights[t] * (q - 1) * q ** (m - 1 - c) * (rho - 1) / v / told[c]
                inside = same[c] * rho + (1 - same[c]) * (q - rho) / (q - 1)
            values.append(self.totals[t] + score)
            given.append(even * np.array([rho * chances[t, i], *chances[t]]))
            given[-1][1 + i] *= inside
        self.types = np.array([t if c < m else -1 for t, c, *_ in atoms])
        self.values, self.given = np.array(values), np.array(given)
        self.second = self.values**2 @ self.given

    def variance(self, i: int, own: Any, shares: Any, second: Any) -> Any:
        """N times the variance of the estimate of a symbol's share."""
        return own * (second[0] - second[1 + i] - own) + shares @ second[1:]


class Scored:
    """Estimates and errors of a mixture of types.

    Raises ``ValueError`` where some symbols of a group, or groups, cannot be told apart.
    """

    def __init__(self, layout: Layout, types: Sequence[ReportType]) -> None:
        from flint import fmpq, fmpq_mat

        self.layout, self.types = layout, tuple(types)
        chances = np.array([[Fraction(w, DENOMINATOR) for w in one.chances] for one in types])
        # How often each type comes where symbols have their masses.
        often = chances @ layout.shares
        weighted = (chances / often[:, None]).T
        matrix, right = (
            fmpq_mat([[fmpq(a.numerator, a.denominator) for a in row] for row in table.tolist()])
            for table in (weighted @ chances, weighted)
        )
        if matrix.det() == 0:
            raise ValueError("groups that types do not tell apart")
        rows = matrix.solve(right).tolist()
        totals = np.array([[Fraction(int(x.p), int(x.q)) for x in row] for row in rows])
        tables = chances, often, totals
        self._groups = [_Group(i, n, types, tables) for i, n in enumerate(layout.sizes)]

    @cached_property
    def offsets(self) -> list[int]:
        """Where the reports of each type begin, and where those of the last one end."""
        return [0, *accumulate(one.reports for one in self.types)]

    @cached_property
    def risk_exact(self) -> Fraction:
        """N times the squared error summed over the symbols, which have their masses."""
        total, layout = Fraction(0), self.layout
        for i, (group, n) in enumerate(zip(self._groups, layout.sizes, strict=True)):
            total += n * group.variance(i, layout.masses[i], np.array(layout.shares), group.second)
        return total

    def risk_at(self, truth: Iterable[float]) -> float:
        """The risk where symbols have the given shares."""
        return float(self.variances(np.array([*truth], dtype=float)).sum())

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share, where they are as given, ``(N,)``."""
        truth, rows = np.asarray(truth, dtype=float), self.layout.rows
        found, shares = np.empty(len(truth)), np.array([truth[each].sum() for each in rows])
        for i, group in enumerate(self._groups):
            second = group.second.astype(float)
            found[rows[i]] = group.variance(i, truth[rows[i]], shares, second)
        return np.maximum(found, 0.0)

    @cached_property
    def worst_variance(self) -> float:
        """The largest n times the variance of any share's estimate, over all distributions.

        With share p of the symbol, the others add most where all of them are of one group; what is
        left is concave in p.
        """
        own, other = (moments[1] for moments in self.score_moments())
        most = other.max(axis=1)
        share = np.clip((own - most) / 2, 0, 1)
        return float((share * own + (1 - share) * most - share**2).max())

    def score_moments(self) -> tuple[Floats, Floats]:
        """Moments of the score of a symbol, whose mean :meth:`shares_of` is, given the secret.

        Raw moments of order one to three, and E (a − v)₊³ and E (a − v)₋³ for the value v that is
        estimated: one where the symbol is the secret, zero elsewhere.

        Returns
        -------
        own : ``(5, G)``
            Where the secret is the symbol, by its group.
        other : ``(5, G, G)``
            Where it is another one, by the group of the symbol and that of the secret. In one group
            it is the mean over all other symbols, of which each has the same where classes of
            directions have equal profiles: wherever a group fills its space, and under bounds on
            ratios alone.
        """
        found = list[Floats]()
        for group in self._groups:
            values, given = group.values.astype(float), group.given.astype(float)
            powers, g = [values, values**2, values**3], len(self._groups)
            for mean, chances in ((1.0, given[:, :1]), (0.0, given[:, -g:])):
                sides = [np.maximum(sign * (values - mean), 0) ** 3 for sign in (1, -1)]
                found.append(np.array([*powers, *sides]) @ chances)
        return np.hstack(found[::2]), np.stack(found[1::2], axis=1)

    def shares_of(self, reports: Integers, counts: Integers) -> Floats:
        """Unbiased estimates of all shares, from distinct reports in rising order."""
        spans = [slice(*ends) for ends in pairwise(np.searchsorted(reports, self.offsets).tolist())]
        often = np.array([counts[span].sum() for span in spans]) / counts.sum()
        found = np.empty(len(self.layout.group))
        for rows, group in zip(self.layout.rows, self._groups, strict=True):
            found[rows] = often @ group.totals.astype(float)
        for t, (one, span) in enumerate(zip(self.types, spans, strict=True)):
            for i, drawn in one.drawn(reports[span] - self.offsets[t]).items():
                part, group = one.parts[i], self._groups[i]
                own = group.values[group.types == t] - group.totals[t]
                table = own.astype(float).reshape(part.dimension, -1)
                sums = part.transform(*drawn, counts[span], table)
                found[self.layout.rows[i]] += sums / counts.sum()
        return found
