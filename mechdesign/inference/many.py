"""Shares of many symbols, or of combinations of values of many columns, from reports.

Reports of the columns of a plan are drawn independently, so that scores of them all are products of
scores of each: with K_i a_i = I the product of a_i(y_i) is unbiased for the combination of values,
whatever the columns have to do with each other. Tables are made one column at a time, of the rows
that came. Moments of scores are products as well, so that the interval of any of millions of shares
is found when it is asked for; the secrets of all others are taken to be what columns alone say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, quote, warn
from ..kernel import outer
from ..labels import Label, counted
from ..mechanism import mechanism_of
from ..release._identifiability import ask_as_designed, report_weights
from ..release.receipts import Receipt, trace
from ..release.reports import Sample, kernels_of, note_of_plan, sample_of
from ..schema import Schema
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan
from ..subsets import SubsetSelection
from .estimator import Options
from .intervals import CUBE, DOWN, SECOND, SQUARE, THIRD, UP, Answers, Mixed, Sampling
from .likelihood import Fitted, chance_of_distance
from .references import check_confidence, reference_of, refuse_other_than
from .results import Rows
from .surveys import Drawn, Survey, check_single, design_covariance, drawn_by, freedom_of

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]

# Cells of the largest table of estimates.
_MOST_CELLS = 1 << 22
# Scores of rows of a survey for all cells, of which so many are worked with at a time.
_MOST_SCORES, _AT_ONCE = 1 << 36, 16
# Groups of directions whose counts are held against chance.
_GROUPS = 64


@dataclass(frozen=True, eq=False, repr=False)
class ManyEstimates(Rows):
    """Shares of many symbols, or of combinations of values, each with its standard error.

    Attributes
    ----------
    labels : the symbols
    values : ``(N,)`` unbiased estimates, which may lie outside [0, 1]
    errors : ``(N,)`` standard errors
    reports : number of reports
    confidence, target : as asked
    fit : p-value of the hypothesis that this mechanism made the reports, rather too large
    answers : what intervals are made of
    receipt : the receipt that says so, ``None`` where none came with the reports
    note : what could not be told of where the reports came from, a sentence or nothing
    """

    labels: tuple[Label, ...]
    values: Vector
    errors: Vector
    reports: int
    confidence: float
    target: str
    fit: float
    answers: Answers
    receipt: Receipt | None = None
    note: str = ""

    method = "inversion"
    _caption = "largest estimates ± one standard error"

    @cached_property
    def _limits(self) -> tuple[Vector, Vector]:
        return self.answers.limits(1 - self.confidence)

    @cached_property
    def lower(self) -> Vector:
        """Lower confidence limits, each alone, inside [0, 1]."""
        return self._limits[0]

    @cached_property
    def upper(self) -> Vector:
        """Upper confidence limits, each alone, inside [0, 1]."""
        return self._limits[1]

    def top(self, count: int = 10) -> list[dict[str, Any]]:
        """The symbols of largest estimates, largest first, one plain dictionary each.

        Symbols that are chosen for their estimates are mostly overestimated. Their intervals hold
        with the confidence for all N symbols at once (Bonferroni), and so for those chosen; they
        are wider than those of :attr:`lower`, :attr:`upper` and :meth:`rows`, each alone.
        """
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise InputError(
                "count", expected="a positive integer", got=quote(count), remedy="pass 10"
            )
        count = min(int(count), len(self.labels))
        return self._together(np.argpartition(-self.values, count - 1)[:count], self.confidence)

    def present(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """The symbols whose shares are above zero, all of them at once with this confidence.

        Their intervals hold for all N symbols at once, as in :meth:`top`.
        """
        check_confidence(confidence)
        which, tail = np.flatnonzero(self.values > 0), (1 - confidence) / 2 / len(self.labels)
        none, above = np.zeros(len(which)), np.ones(len(which), dtype=bool)
        chance = self.answers.tails(none, which, above, self.answers.quantile_ratio(tail))
        return self._together(which[chance < tail], confidence)

    def _together(self, places: NDArray[Any], confidence: float) -> list[dict[str, Any]]:
        """Rows of some symbols, largest first, with intervals that hold for all at once."""
        places = places[np.argsort(-self.values[places], kind="stable")]
        alpha = (1 - confidence) / len(self.labels)
        return self._rows(places, *self.answers.limits(alpha, places))

    _shown = top

    def _head(self) -> str:
        return self.describe(together=True)

    def describe(self, *, together: bool = False) -> str:
        """Number of symbols and reports and what the intervals are about, in one line: those of
        each symbol alone, or of :meth:`top`, which hold together.
        """
        about = "all who might be asked" if self.target == "population" else "those who reported"
        return (
            f"unbiased inversion for {counted(len(self.labels), 'symbol')} from "
            f"{counted(self.reports, 'report')}; "
            f"{100 * self.confidence:g} % intervals for {about}"
            + (f", of all {len(self.labels)} symbols at once (Bonferroni)" if together else "")
        )

    def closing(self) -> list[str]:
        """What could not be told."""
        return [self.note] if self.note else []


def _warn_of_errors(errors: Vector, reports: int, what: str, remedy: str) -> None:
    """Warn of errors that say next to nothing."""
    typical = 1.96 * float(np.median(errors))
    if typical >= 0.5:
        warn(
            f"{reports} reports say next to nothing about {what} (± {typical:.2g}); {remedy}",
            PrecisionWarning,
        )


def _share_path(first: Vector, own: Vector, others: Vector) -> Mixed:
    """The path of shares ``(N,)``, first as given, from moments ``(6, N)`` of scores of those who
    count, and of all others.
    """
    base = first * own + (1 - first) * others
    return Mixed(first, np.zeros_like(first), np.ones_like(first), base, others, own)


# Subset selections


def estimate_selection(
    reports: Any,
    mechanism: SubsetSelection,
    column: Any,
    options: Options,
    missing: str,
    receipt: Any,
) -> ManyEstimates:
    """:func:`estimate` for reports of a subset selection, with every option checked."""
    sample = sample_of(reports, {column: mechanism}, (), missing)
    n, is_drawn = sample.size, options.target == "population"
    known, note = trace(reports, column, mechanism, receipt, n)
    codes, counts = sample.totals()
    fit = _fit_of_directions(mechanism, codes, counts)
    options.judge(fit)
    values = mechanism.shares_of(codes, counts)
    shares = np.clip(values, 0.0, 1.0)
    shares /= max(1.0, float(shares.sum()))
    # What remains where the secrets are fixed and only reports are random.
    variance = mechanism.variances(shares) - (0 if is_drawn else shares * (1 - shares))
    errors = np.sqrt(np.maximum(variance, 0) / n)
    remedy = "md.plan (mechdesign plan) says how many would"
    _warn_of_errors(errors, n, f"the {len(values)} shares", remedy)
    # Moments given the symbol itself, and given others, mixed over their groups by the shares.
    groups = np.asarray(mechanism.layout.group)
    own, other = mechanism.score_moments()
    mass = np.bincount(groups, shares, own.shape[1])
    rest = np.maximum(mass - shares[:, None] * (np.arange(len(mass)) == groups[:, None]), 0)
    # Where nobody else is seen, others are alike.
    sizes = np.bincount(groups, minlength=len(mass))
    rest = np.where(rest.sum(axis=1, keepdims=True) > 0, rest, sizes)
    rest /= rest.sum(axis=1, keepdims=True)
    given = own[:, groups], np.einsum("kng,ng->kn", other[:, groups, :], rest)
    parts = [
        np.stack([m[1], m[2], np.full(len(shares), v), np.full(len(shares), v), m[3], m[4]])
        for m, v in zip(given, (1.0, 0.0), strict=True)
    ]
    answers = Answers(values, _share_path(shares, *parts), Sampling(n, fraction=1.0 - is_drawn))
    told = n, options.confidence, options.target, fit, answers, known, note
    return ManyEstimates(mechanism.inputs, values, errors, *told)


def _fit_of_directions(mechanism: SubsetSelection, codes: Integers, counts: Integers) -> float:
    """A p-value for the hypothesis that the mechanism made the reports.

    Directions have the same chances whatever the symbols are; raw data and other mechanisms'
    reports mostly lie elsewhere. They are held against chance in groups.
    """
    family, directions, counts = mechanism.directions_of(codes, counts)
    total, lines = int(counts.sum()), family.directions
    groups = min(_GROUPS, lines)
    ends = [-(-k * lines // groups) for k in range(groups + 1)]
    place = np.searchsorted(ends, directions, side="right") - 1
    share = np.bincount(place, counts, groups) / total
    expected = np.diff([family.share_below(end) for end in ends[:-1]] + [1.0])
    used = share > 0
    distance = float((share[used] * np.log(share[used] / expected[used])).sum())
    return chance_of_distance(total * distance, groups)


# Combinations of values


def large_columns(designed: Any, column: Any) -> list[str] | None:
    """The columns of a plan whose reports together are too many for one kernel; else ``None``."""
    if not isinstance(designed, KernelPlan) or isinstance(column, str):
        return None
    names = list(designed.names) if column is None else list(Schema(tuple(column)).names)
    shapes = [kernel.shape for kernel in kernels_of(designed, names).values()]
    is_large = math.prod(n * m for n, m in shapes) > MOST_ENTRIES
    return names if is_large else None


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Scores of reports of several columns, of which those of a combination are products.

    Attributes
    ----------
    kernels, values, scores : of each column, ``(N, M)``, ``(N, F)`` and ``(M, F)``
    places : of each column ``(R,)`` positions of the reports of each row
    """

    kernels: Sequence[Vector]
    values: Sequence[Vector]
    scores: Sequence[Vector]
    places: Sequence[Integers]

    def sums(self, mass: Vector, power: int = 1) -> Vector:
        """Σ mass · score^power over rows, of each combination."""
        return contracted(mass, self.places, [a**power for a in self.scores])

    def noise(self, shares: Vector) -> Vector:
        """``(F,)`` variance that the mechanisms leave of one person's scores at least, whatever the
        secrets are that have these shares.
        """
        pairs = zip(self.kernels, self.scores, strict=True)
        least = [(kernel @ a**2).min(axis=0, keepdims=True) for kernel, a in pairs]
        return np.maximum(outer(*least)[0] - shares, 0)

    def simple(self, mass: Vector, n: int, is_drawn: bool) -> tuple[Vector, Vector, Sampling]:
        """Answers and their errors from shares of rows of n people, and how these came to be."""
        values = self.sums(mass)
        shares = np.clip(values, 0.0, 1.0)
        # Of people at random, or of these people, whose values are what they are.
        variance = self.sums(mass, 2) - (shares**2 if is_drawn else shares)
        errors = np.sqrt(np.maximum(variance, self.noise(shares)) / n)
        return values, errors, Sampling(n, fraction=1.0 - is_drawn)

    def drawn(
        self, sample: Sample, drawn: Drawn, survey: Survey, is_drawn: bool
    ) -> tuple[Vector, Vector, Sampling]:
        """The same of a survey: Σ w z / Σ w (or Σ w z / N) of each combination, with the diagonal
        of what :mod:`.surveys` writes down.
        """
        n, w = sample.repeats.astype(float), drawn.weights
        ratio = survey.weighting == "hajek"
        share = w / (float(w @ n) if ratio else float(drawn.population or 0))
        squares, heavy = float(share**2 @ n), n * share**2
        values = self.sums(n * share)
        fraction = float(heavy @ drawn.fractions[drawn.strata]) / squares if is_drawn else 1.0
        known = squares * self.noise(np.clip(values, 0, 1))
        # Values are 0 or 1: z² − z is without bias for the variance that the mechanism leaves.
        variance = noise = np.maximum(self.sums(heavy, 2) - self.sums(heavy), known)
        seen, clusters = None, 1.0
        if is_drawn:
            self._check_work(len(n), len(values))
            seen = fraction * noise
            for start in range(0, len(values), _AT_ONCE):
                some = np.arange(start, min(start + _AT_ONCE, len(values)))
                z = self._of_rows(some) - (values[some] if ratio else 0)
                spread = design_covariance(share[:, None] * z, sample.repeats, drawn)
                seen[some] += np.maximum(np.diagonal(spread), 0)
            variance = np.maximum(seen, known)
            if drawn.clusters is not None:
                sizes = np.bincount(drawn.clusters, share * n)
                clusters = float(sizes @ sizes) / squares
        skewness = float(share**3 @ n) / squares**2
        freedom = freedom_of(drawn, "population" if is_drawn else "sample")
        how = Sampling(1 / squares, skewness, fraction, seen, clusters, freedom)
        return values, np.sqrt(variance), how

    def _of_rows(self, some: NDArray[Any]) -> Vector:
        """``(R, K)`` scores of rows for some of the combinations."""
        sizes = [a.shape[1] for a in self.scores]
        found: Any = 1.0
        for a, at, k in zip(self.scores, self.places, np.unravel_index(some, sizes), strict=True):
            found = found * a[at][:, k]
        return np.asarray(found)

    def _check_work(self, rows: int, cells: int) -> None:
        """Refuse so many rows and combinations that their errors would take hours."""
        if rows * cells > _MOST_SCORES:
            raise DataError(
                "joint table of a survey",
                expected=f"at most {_MOST_SCORES // cells:,} different rows with {cells:,} "
                "combinations of values",
                got=f"{rows:,}",
                remedy="estimate fewer columns at a time",
            )

    def path(self, likely: Sequence[Vector]) -> Mixed:
        """The path of shares of combinations: moments are products over the columns.

        Those who count have, in each column, the symbol of largest moments among those that count;
        all others are as the columns alone say, as if they were independent.
        """
        own, others, least = (np.ones((5, 1)) for _ in range(3))
        share: Vector = np.ones(1)
        for kernel, v, a, p in zip(self.kernels, self.values, self.scores, likely, strict=True):
            by_symbol = np.stack([kernel @ a**k for k in range(5)])
            top = np.where(v > 0, by_symbol, -np.inf).max(axis=1)
            given = np.einsum("n,knf->kf", p, by_symbol)
            own, others, least = (
                np.einsum("ka,kb->kab", one, more).reshape(5, -1)
                for one, more in ((own, top), (others, given), (least, by_symbol.min(axis=1)))
            )
            share = np.asarray(np.kron(share, p @ v), dtype=float)
        # What all have together is of those who count and of all others.
        rest = (others - share * own) / np.maximum(1 - share, 1e-12)
        rest[[2, 4]] = np.maximum(rest, least)[[2, 4]]
        return _share_path(share, _central(own, 1.0), _central(rest, 0.0))


def _central(raw: Vector, value: float) -> Vector:
    """The six moments from the raw ones of order 0 to 4 ``(5, F)`` of scores of one mean.

    Third moments of one side are bounded by those of both, E|d|³ ≤ √(E d² · E d⁴).
    """
    second, third, fourth = raw[2], raw[3], raw[4]
    noise = np.maximum(second - value**2, 0)
    skewed = third - 3 * value * second + 2 * value**3
    spread = np.maximum(fourth - 4 * value * third + 6 * value**2 * second - 3 * value**4, 0)
    both = np.maximum(np.sqrt(noise * spread), np.abs(skewed))
    found = np.zeros((6, raw.shape[1]))
    found[SECOND], found[THIRD], found[SQUARE], found[CUBE] = second, third, value, value
    found[UP], found[DOWN] = (both + skewed) / 2, (both - skewed) / 2
    return found


def estimate_combinations(
    reports: Any,
    designs: Mapping[str, Any],
    survey: Survey,
    options: Options,
    missing: str,
    receipt: Any,
) -> ManyEstimates:
    """Shares of all combinations of values of columns, by products of weights; of designs for
    shares of features, those of their combinations.

    Raises :class:`DataError` for reports that are none of the plan's, fewer than 10 of them, too
    many combinations, and for weights, strata, clusters or a population that cannot be used;
    :class:`InputError` for groups, and for designs for questions that are no shares.
    """
    first, is_drawn = list(designs)[:1], options.target == "population"
    remedy = f"estimate fewer of them at a time, such as column={first!r}"
    if survey.by_group is not None:
        refuse_other_than("so many columns at once", remedy, by_group=(survey.by_group, None))
    kernels = {name: mechanism_of(designed) for name, designed in designs.items()}
    asked = {name: ask_as_designed(designed) for name, designed in designs.items()}
    for name, question in asked.items():
        if not np.isin(question.weights, (0, 1)).all():
            raise InputError(
                "columns",
                expected="shares to estimate of each, where there are so many combinations",
                got=f"column {quote(name)}, whose design asks for other weighted sums",
                remedy=remedy,
            )
    cells = math.prod(len(question.labels) for question in asked.values())
    if cells > _MOST_CELLS:
        raise DataError(
            "joint table",
            expected=f"at most {_MOST_CELLS:,} combinations of values",
            got=f"{cells:,}",
            remedy=remedy,
        )
    note = note_of_plan(reports, kernels, receipt)
    sample = sample_of(reports, kernels, sorted(set(survey.columns)), missing)
    n, scores, fits = sample.size, [], []
    for name, kernel in kernels.items():
        scores.append(report_weights(kernel, asked[name], reference_of(designs[name], kernel)))
        counts = np.bincount(sample.places[name], sample.repeats, kernel.shape[1])
        fits.append(Fitted.of(kernel.kernel, counts))
        options.judge(fits[-1].fit, f"reports in column {quote(name)}")
    columns = ColumnScores(
        [kernel.kernel for kernel in kernels.values()],
        [question.weights for question in asked.values()],
        scores,
        list(sample.places.values()),
    )
    if survey.asked:
        drawn = drawn_by(survey, sample)
        if is_drawn:
            check_single(drawn, survey.strata)
        values, errors, how = columns.drawn(sample, drawn, survey, is_drawn)
    else:
        values, errors, how = columns.simple(sample.repeats / n, n, is_drawn)
    _warn_of_errors(errors, n, f"{cells} combinations", "estimate fewer columns at a time")
    answers = Answers(values, columns.path([one.likely for one in fits]), how)
    fit = min(one.fit for one in fits)
    told = n, options.confidence, options.target, fit, answers, None, note
    labels = tuple(product(*(question.labels for question in asked.values())))
    return ManyEstimates(labels, values, errors, *told)


def contracted(
    share: Vector, places: Sequence[NDArray[np.int64]], weights: Sequence[Vector]
) -> Vector:
    """Σ_r share_r ⊗_i weights_i[places_i[r]] over rows r, as a vector of all combinations.

    >>> weights = [np.eye(2), np.array([[1, 2], [3, 4]])]
    >>> contracted(np.ones(1), [np.array([0]), np.array([1])], weights)
    array([3., 4., 0., 0.])
    """
    # Rows of the columns that are still to be taken in, each once, with sums over the others.
    rest, group = np.unique(np.column_stack(places), axis=0, return_inverse=True)
    sums = np.bincount(group.ravel(), share, len(rest))
    known: Vector = np.asarray(sums, dtype=np.float64)[:, None]
    for own in weights:
        here, rest = rest[:, 0], rest[:, 1:]
        group = np.zeros(len(rest), dtype=np.int64)
        if rest.shape[1]:
            rest, group = np.unique(rest, axis=0, return_inverse=True)
            group = group.ravel()
        made = np.zeros((int(group.max()) + 1, known.shape[1], own.shape[1]))
        for report in np.unique(here):
            rows = np.flatnonzero(here == report)
            made[group[rows]] += known[rows][:, :, None] * own[report]
        known = made.reshape(len(made), -1)
    return np.asarray(known[0])
