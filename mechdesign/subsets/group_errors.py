"""Estimates of shares of symbols in groups, and their errors, in closed form.

With τ_t the share of the reports that are of type t, the share of group i is estimated by
Σ β_it τ_t, and that of its symbol x by

    Σ β_it τ_t / v + (v − 1)/v · mean of c_t (ρ(s) − 1),        s the residue of x at the report,

where v is the number of points of the group's family and Σ_t α_it c_t κ_t = 1 for each class of
directions, κ the second moment. The weights are the best for the prior. All residues of other
groups are uniform whatever the symbol is, so that the estimate is unbiased for every distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..exact import DENOMINATOR
from .family import AffineFamily, Floats, Integers
from .report_types import Layout, ReportType

Table = list[list[Fraction]]


@dataclass(frozen=True)
class _Weights:
    """What the estimates of one group are made of, all exact.

    Attributes
    ----------
    points : v
    powers : sizes of the cells of its symbols
    totals : β of each type
    scores : c of each type that splits the group and each class of directions
    constants : of the variance, for a share of each group
    slopes : of the variance, for each class
    """

    points: int
    powers: tuple[int, ...]
    totals: list[Fraction]
    scores: dict[int, list[Fraction]]
    constants: list[Fraction]
    slopes: list[Fraction]


class GroupErrors:
    """Estimates and errors of a mixture of types.

    Raises ``ValueError`` where some symbols of a group, or groups, cannot be told apart.
    """

    def __init__(self, layout: Layout, types: Sequence[ReportType]) -> None:
        self._layout, self._types = layout, types
        chances = [[Fraction(w, DENOMINATOR) for w in one.chances] for one in types]
        # How often each type comes where symbols have their prior masses.
        self._often = [
            sum((a * s for a, s in zip(row, layout.shares, strict=True)), Fraction(0))
            for row in chances
        ]
        self._chances = chances
        self._totals = self._between()
        self.groups = [self._weights(i) for i in range(len(layout.sizes))]

    def _between(self) -> Table:
        """β of each group and type."""
        from flint import fmpq, fmpq_mat

        g = len(self._layout.sizes)
        rows = [
            [
                sum(
                    (a[i] * a[j] / q for a, q in zip(self._chances, self._often, strict=True)),
                    Fraction(0),
                )
                for j in range(g)
            ]
            for i in range(g)
        ]
        matrix = fmpq_mat(g, g, [fmpq(x.numerator, x.denominator) for row in rows for x in row])
        if matrix.det() == 0:
            raise ValueError("groups that types do not tell apart")
        inverse = matrix.inv()
        exact = [
            [Fraction(int(inverse[i, j].p), int(inverse[i, j].q)) for j in range(g)]
            for i in range(g)
        ]
        return [
            [
                sum((x * b for x, b in zip(row, a, strict=True)), Fraction(0)) / q
                for a, q in zip(self._chances, self._often, strict=True)
            ]
            for row in exact
        ]

    def _weights(self, i: int) -> _Weights:
        split = {t: one.part(i) for t, one in enumerate(self._types) if i in one.split}
        totals = self._totals[i]
        if self._layout.sizes[i] > 1 and not split:
            raise ValueError("a group whose symbols are alike")
        family = next(iter(split.values())).family if split else None
        kinds = {(part.family.points, part.family.powers) for part in split.values()}
        if len(kinds) > 1:
            raise ValueError("families of a group that differ")
        v = 1 if family is None else family.points
        powers = (1,) if family is None else tuple(family.powers)
        away = Fraction(v - 1, v)
        scores: dict[int, list[Fraction]] = {t: [] for t in split}
        spread = {t: Fraction(0) for t in split}
        slopes = []
        for c in range(len(powers) - 1):
            assert family is not None
            share = Fraction(*family.class_share(c))
            told = sum(
                (
                    self._chances[t][i] ** 2 * part.profiles[c].moment(2) / self._often[t]
                    for t, part in split.items()
                ),
                Fraction(0),
            )
            if not told:
                raise ValueError("a group whose symbols are alike in a class")
            slope = Fraction(0)
            for t, part in split.items():
                second, third = part.profiles[c].moment(2), part.profiles[c].moment(3)
                score = away * self._chances[t][i] / self._often[t] / told
                scores[t].append(score)
                spread[t] += share * score**2 * second
                slope += self._chances[t][i] * (
                    score**2 * third + 2 * totals[t] / v * score * second
                )
            slopes.append(share * slope)
        constants = [
            sum(
                (
                    self._chances[t][j] * ((totals[t] / v) ** 2 + spread.get(t, Fraction(0)))
                    for t in range(len(self._types))
                ),
                Fraction(0),
            )
            for j in range(len(self._layout.sizes))
        ]
        return _Weights(v, powers, totals, scores, constants, slopes)

    @cached_property
    def risk(self) -> Fraction:
        """N times the squared error summed over the symbols, which have their prior masses."""
        layout, total = self._layout, -self._layout.certain
        for n, mass, group in zip(layout.sizes, layout.masses, self.groups, strict=True):
            parts = zip(layout.shares, group.constants, strict=True)
            total += n * sum((share * constant for share, constant in parts), Fraction(0))
            # Pairs of symbols whose digits agree from a position on.
            pairs = [(n // w) * w * w + (n % w) ** 2 for w in group.powers]
            for c, slope in enumerate(group.slopes):
                q = group.powers[c + 1] // group.powers[c]
                total += slope * mass * (pairs[c] - Fraction(pairs[c + 1] - pairs[c], q - 1))
        return total

    def variances(self, truth: Floats) -> Floats:
        """N times the variance of the estimate of each share at a distribution, ``(N,)``."""
        layout, found = self._layout, np.empty(len(truth))
        shares = np.array([truth[rows].sum() for rows in layout.rows])
        for i, (rows, group) in enumerate(zip(layout.rows, self.groups, strict=True)):
            own = truth[rows]
            value = np.full(len(rows), float(shares @ [float(c) for c in group.constants]))
            inner = own
            for c, slope in enumerate(group.slopes):
                q = group.powers[c + 1] // group.powers[c]
                outer = shares[i] if c + 1 == len(group.slopes) else self._cells(i, own, c + 1)
                value += float(slope) * (inner - (outer - inner) / (q - 1))
                inner = np.asarray(outer)
            found[rows] = value - own**2
        return np.maximum(found, 0.0)

    def _cells(self, i: int, masses: Floats, c: int) -> Floats:
        family = next(one.part(i).family for one in self._types if i in one.split)
        assert isinstance(family, AffineFamily)
        return family.cell_masses(masses, c)

    @cached_property
    def worst(self) -> float:
        """The largest n times the variance of any share's estimate over all distributions."""
        worst = Fraction(0)
        for i, group in enumerate(self.groups):
            base, slopes = group.constants[i], group.slopes
            same = base + sum(slopes, Fraction(0))
            others = [c for j, c in enumerate(group.constants) if j != i]
            for k in range(len(slopes)):
                q = group.powers[k + 1] // group.powers[k]
                others.append(base + sum(slopes[k + 1 :], -slopes[k] / (q - 1)))
            most = max(others, default=same)
            share = min(max((same - most) / 2, Fraction(0)), Fraction(1))
            worst = max(worst, share * same + (1 - share) * most - share**2)
        return float(worst)

    def shares_of(self, offsets: Sequence[int], reports: Integers, counts: Integers) -> Floats:
        """Estimates of all shares, ``(N,)``, from distinct reports in rising order."""
        total = float(counts.sum())
        ends = np.searchsorted(reports, np.array(offsets, dtype=np.int64))
        parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
        often = np.array([counts[part].sum() for part in parts]) / total
        found = np.empty(len(self._layout.group))
        for i, (rows, group) in enumerate(zip(self._layout.rows, self.groups, strict=True)):
            mean = float(often @ [float(b) for b in group.totals]) / group.points
            sums = np.zeros(len(rows))
            for t, scores in group.scores.items():
                one, part = self._types[t], parts[t]
                own = one.of_group(reports[part] - offsets[t], i)
                met, places = np.unique(own, return_inverse=True)
                if not len(met):
                    continue
                times = np.bincount(places, counts[part]).astype(np.int64)
                inner = one.part(i)
                table = np.array(
                    [
                        (profile.ratios - profile.ratios.mean()) * float(score)
                        for profile, score in zip(inner.profiles, scores, strict=True)
                    ]
                )
                sums += inner.family.transform(met, times, table)
            found[rows] = mean + sums / total
        return found
