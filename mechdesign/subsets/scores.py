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
from typing import Any, NamedTuple

import numpy as np

from ..utility.survey import as_fraction, as_rational
from .parts import Floats, Integers
from .report_types import Layout, ReportType

_ONE = Fraction(1)


class _Scores(NamedTuple):
    """Those of the symbols of one group, all exact.

    Attributes
    ----------
    totals : β of each type over the number of points
    tables : for each type what is added at each class of directions, and level of the residue
    values : ``(k,)`` that the score of a symbol has
    given : ``(1 + G, k)`` chances of these where the secret is the symbol, and where it is another
        one of each group, in the mean over all others of the own one
    """

    totals: Any
    tables: list[Any]
    values: Any
    given: Any


def _scores(
    layout: Layout, types: Sequence[ReportType], i: int, weights: Any, totals: Any
) -> _Scores:
    """Those of a group, from its chances over how often each type comes, and its β."""
    n, parts = layout.sizes[i], [one.parts[i] for one in types if i in one.parts]
    spaces = {(part.base, part.dimension) for part in parts}
    if len(spaces) != (n > 1):
        raise ValueError("a group whose symbols are alike, or in several spaces")
    ((q, m),) = spaces or {(2, 0)}
    v, residues = q**m, [one.residues(i) for one in types]
    told = np.array([0 * _ONE] * m + [_ONE])
    for one, weight, (rho, even) in zip(types, weights, residues, strict=True):
        told[-len(rho) :] += one.means[i] * weight * (even * (rho - 1) ** 2).sum(axis=1)
    if not told.all():
        raise ValueError("a group whose symbols are alike in a class")
    scales = [(q - 1) * q ** (m - 1 - c) / (told[c] * v) for c in range(m)]
    # How often two symbols have one residue at directions of each class: where they differ in
    # lower digits alone, and by chance where in higher ones.
    agree = [(n // q**c) * q ** (2 * c) + (n % q**c) ** 2 for c in range(m + 1)]
    same = [(a - n + Fraction(n * n - b, q)) / (n * n - n) for a, b in pairwise(agree)]
    classes = np.array([[*scales, _ONE], [*same, _ONE]])[..., None]
    tables, given, totals = list[Any](), list[Any](), totals / v
    for one, weight, (rho, even) in zip(types, weights, residues, strict=True):
        scale, equal = classes[:, -len(rho) :]
        tables.append(weight * scale * (rho - 1))
        met = np.multiply.outer([one.means[i], *one.means], even)
        met[0] *= rho
        met[1 + i] *= (equal * rho + (1 - equal) * (q - rho) / (q - 1)) * (n > 1)
        given.append(met.reshape(len(met), -1))
    values = [(total + table).ravel() for total, table in zip(totals, tables, strict=True)]
    return _Scores(totals, tables, np.concatenate(values), np.hstack(given))


class Scored:
    """Estimates and errors of a mixture of types.

    Raises ``ValueError`` where some symbols of a group, or groups, cannot be told apart.
    """

    def __init__(self, layout: Layout, types: Sequence[ReportType]) -> None:
        from flint import fmpq_mat

        self.layout, self.types = layout, tuple(types)
        chances = np.array([one.means for one in types])
        # Over how often each type comes where symbols have their masses.
        weighted = (chances / (chances @ layout.shares)[:, None]).T
        matrix, right = (
            fmpq_mat(*table.shape, list(map(as_rational, table.ravel())))
            for table in (weighted @ chances, weighted)
        )
        if matrix.det() == 0:
            raise ValueError("groups that types do not tell apart")
        totals = np.array(list(map(as_fraction, matrix.solve(right).entries())))
        totals = totals.reshape(weighted.shape)
        pairs = enumerate(zip(weighted, totals, strict=True))
        self._scores = [_scores(layout, self.types, i, *pair) for i, pair in pairs]
        #: Mean squares of scores, by group of the symbol.
        self._second = np.array([one.given @ one.values**2 for one in self._scores])

    @cached_property
    def offsets(self) -> list[int]:
        """Where the reports of each type begin, and where those of the last one end."""
        return [0, *accumulate(one.reports for one in self.types)]

    @cached_property
    def risk_exact(self) -> Fraction:
        """N times the squared error summed over the symbols, which have their masses."""
        layout = self.layout
        found = _variances(self._second, layout.masses, layout.shares, slice(None))
        # Masses inside of a group differ in their squares alone.
        return Fraction(found @ layout.sizes + layout.shares @ layout.masses - layout.certain)

    def risk_at(self, truth: Iterable[float]) -> float:
        """The risk where symbols have the given shares."""
        return float(self.variances(np.array([*truth], dtype=float)).sum())

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share, where they are as given, ``(N,)``."""
        group, truth = self.layout.group, np.asarray(truth, dtype=float)
        shares = np.bincount(group, truth, len(self._scores))
        found = _variances(self._second.astype(float), truth, shares, group)
        return np.maximum(found, 0.0)

    @cached_property
    def worst_variance(self) -> float:
        """The largest n times the variance of any share's estimate, over all distributions.

        With share p of the symbol, the others add most where all of them are of one group; what is
        left is concave in p.
        """
        own, most = self._second[:, 0], self._second[:, 1:].max(axis=1)
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
        for one in self._scores:
            values, given = one.values.astype(float), one.given.T.astype(float)
            for mean, chances in ((1.0, given[:, 0]), (0.0, given[:, 1:])):
                sides = [np.maximum(sign * (values - mean), 0) ** 3 for sign in (1, -1)]
                found.append(np.array([values, values**2, values**3, *sides]) @ chances)
        return np.stack(found[::2], axis=1), np.stack(found[1::2], axis=1)

    def shares_of(self, reports: Integers, counts: Integers) -> Floats:
        """Unbiased estimates of all shares, from distinct reports in rising order."""
        spans = [slice(*ends) for ends in pairwise(np.searchsorted(reports, self.offsets).tolist())]
        often, found = counts / counts.sum(), np.empty(len(self.layout.group))
        shares = np.array([often[span].sum() for span in spans])
        for rows, scores in zip(self.layout.rows, self._scores, strict=True):
            found[rows] = shares @ scores.totals.astype(float)
        for t, (one, span) in enumerate(zip(self.types, spans, strict=True)):
            for i, drawn in one.drawn(reports[span] - self.offsets[t]).items():
                table = self._scores[i].tables[t].astype(float)
                found[self.layout.rows[i]] += one.parts[i].transform(*drawn, often[span], table)
        return found


def _variances(second: Any, own: Any, shares: Any, group: Any) -> Any:
    """N times variances of estimates, of symbols that have such shares and are in such groups."""
    alone = second[:, 0] - second[:, 1:].diagonal()
    return own * (alone[group] - own) + (second[:, 1:] @ shares)[group]
