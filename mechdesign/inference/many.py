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
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..kernel import MatrixKernel, outer
from ..labels import Label, counted, listing
from ..mechanism import mechanism_of
from ..release.receipts import Receipt, trace
from ..release.reports import Sample, sample_of
from ..schema import Schema
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan
from ..subsets import SubsetSelection
from ..utility.questions import Question
from .estimator import Options, answered
from .intervals import Answers, Mixed, Sampling
from .likelihood import Fitted, chance_of_distance
from .references import check_confidence, prior_of, reference_of, weights_note
from .results import GroupEstimates, joined_notes
from .rows import Rows
from .surveys import Drawn, Survey, check_single, design_covariance, drawn_by

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

    labels: Sequence[Label]
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
    def lower(self) -> Vector:  # type: ignore[override]  # found when it is asked for
        """Lower confidence limits, each alone, inside [0, 1]."""
        return self._limits[0]

    @cached_property
    def upper(self) -> Vector:  # type: ignore[override]
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
        chance = self.answers.tails(none, which, above, tail)
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


def _share_path(first: Vector, own: Any, others: Any) -> Mixed:
    """The path of shares ``(N,)``, first as given, from second and third moments of scores and
    third central ones of either side, of those who count and of all others.
    """
    ends = np.zeros_like(first), np.ones_like(first)
    parts = zip((others, own), ends, strict=True)
    bottom, top = (np.stack([m[0], m[1], v, v, m[2], m[3]]) for m, v in parts)
    return Mixed(first, *ends, first * top + (1 - first) * bottom, bottom, top)


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
    n, fixed = sample.size, float(options.target == "sample")
    known, note = trace(reports, column, mechanism, receipt, n)
    codes, counts = sample.totals()
    fit = _fit_of_directions(mechanism, codes, counts)
    options.judge(fit)
    values = mechanism.shares_of(codes, counts)
    shares = np.clip(values, 0.0, 1.0)
    shares /= max(1.0, float(shares.sum()))
    # What remains where the secrets are fixed and only reports are random.
    variance = mechanism.variances(shares) - fixed * shares * (1 - shares)
    errors = np.sqrt(np.maximum(variance, 0) / n)
    remedy = "md.plan (mechdesign plan) says how many would"
    _warn_of_errors(errors, n, f"the {len(values)} shares", remedy)
    # Moments given the symbol itself, and given others, mixed over their groups by the shares.
    groups, (own, other) = np.asarray(mechanism.layout.group), mechanism.score_moments()
    is_own = np.eye(own.shape[1])[groups]
    rest = np.maximum(shares @ is_own - shares[:, None] * is_own, 0)
    # Where nobody else is seen, others are alike.
    rest[~rest.any(axis=1)] = is_own.sum(axis=0)
    given = np.einsum("kng,ng->kn", other[1:, groups], rest / rest.sum(axis=1, keepdims=True))
    answers = Answers(
        values, _share_path(shares, own[1:, groups], given), Sampling(n, fraction=fixed)
    )
    told = n, options.confidence, options.target, fit, answers, known, note
    return ManyEstimates(mechanism.inputs, values, errors, *told)


def _fit_of_directions(mechanism: SubsetSelection, codes: Integers, counts: Integers) -> float:
    """A p-value for the hypothesis that the mechanism made the reports.

    Directions have the same chances whatever the symbols are; raw data and other mechanisms'
    reports mostly lie elsewhere. They are held against chance in groups.
    """
    lines, directions, counts = mechanism.directions_of(codes, counts)
    groups = min(_GROUPS, lines)
    ends = np.array([-(-k * lines // groups) for k in range(groups + 1)])
    place = np.searchsorted(ends, directions, side="right") - 1
    share, expected = np.bincount(place, counts, groups) / counts.sum(), np.diff(ends) / lines
    used = share > 0
    distance = float((share[used] * np.log(share[used] / expected[used])).sum())
    return chance_of_distance(int(counts.sum()) * distance, groups)


# Combinations of values


def columns_of(designed: Any, column: Any) -> dict[Any, Any]:
    """What reports in columns are drawn from, by name, of a plan or of a mapping from each; nothing
    for other kernels.
    """
    if not isinstance(designed, (KernelPlan, Mapping)):
        return {}
    names = [column] if isinstance(column, str) else column
    if column is None:
        names = designed.names if isinstance(designed, KernelPlan) else designed
    names = Schema(tuple(names)).names
    if isinstance(designed, Mapping) and (unknown := set(names) - set(designed)):
        raise UnknownNameError("column", min(unknown), map(str, designed))
    return {name: designed[name] for name in names}


def large_columns(designed: Any, column: Any) -> list[Any] | None:
    """Columns whose reports together are too many for one kernel; else ``None``."""
    designs = columns_of(designed, column)
    entries = math.prod(math.prod(mechanism_of(one).shape) for one in designs.values())
    return list(designs) if len(designs) > 1 and entries > MOST_ENTRIES else None


@dataclass(frozen=True, eq=False)
class Columns:
    """Reports in a column, or in several that were drawn independently of each other.

    Attributes
    ----------
    designs, questions : of each
    sample : the reports of each person, and what stands beside them
    method : of estimation
    """

    designs: Mapping[Any, Any]
    questions: Sequence[Question]
    sample: Sample
    method: str

    @cached_property
    def kernels(self) -> list[MatrixKernel]:
        """That of each column."""
        return list(map(MatrixKernel.of, self.designs.values()))

    @cached_property
    def fitted(self) -> list[Fitted]:
        """What the reports of each column alone are likeliest from."""
        pairs = zip(self.kernels, self.sample.places.values(), strict=True)
        return [
            Fitted.of(kernel.matrix, np.bincount(at, self.sample.repeats, kernel.matrix.shape[1]))
            for kernel, at in pairs
        ]

    @cached_property
    def references(self) -> list[Vector]:
        """``(N,)``, where weights of the reports of each column are best."""
        if self.method == "likelihood":
            return [one.likely for one in self.fitted]
        return list(map(reference_of, self.designs.values(), self.kernels))

    @cached_property
    def scores(self) -> list[Vector]:
        """``(M, F)`` weights of the reports of each column."""
        return list(map(MatrixKernel.scores, self.kernels, self.questions, self.references))

    @property
    def question(self) -> Question:
        """What is asked of all columns together."""
        if len(self.questions) == 1:
            return self.questions[0]
        labels = tuple(product(*(question.labels for question in self.questions)))
        return Question(labels, outer(*(question.weights for question in self.questions)))

    def judge(self, options: Options) -> None:
        """Refuse reports of a column that its kernel makes next to never."""
        for name, one in zip(self.designs, self.fitted, strict=True):
            several = f"reports in column {quote(name)}"
            options.judge(one.fit, several if len(self.designs) > 1 else "reports")

    def answered(
        self,
        options: Options,
        survey: Survey | None = None,
        question: Question | None = None,
        truth: Any = None,
        note: str = "",
        **told: Any,
    ) -> GroupEstimates:
        """All columns as one kernel, which must not be too large; asked something else together
        than each alone where a ``question`` is named.
        """
        whole, flat, fitted = self.whole
        scores, reference = outer(*self.scores), outer(*self.references)
        if truth is not None:
            reference = reference_of(None, whole, truth)
        if truth is not None or question is not None:
            scores = whole.scores(question or self.question, reference)
        question = question or self.question
        if len(self.designs) == 1 and truth is None and self.method == "inversion":
            (designed,) = self.designs.values()
            note = joined_notes([note, weights_note(designed, question, scores, fitted.likely)])
        prior = outer(*map(prior_of, self.designs.values(), self.kernels))
        parts = whole, question, scores, flat, fitted, options
        return answered(*parts, prior=prior, survey=survey, note=note, **told)

    @cached_property
    def whole(self) -> tuple[MatrixKernel, Sample, Fitted]:
        """All columns as one, which must not be too large."""
        if len(self.kernels) == 1:
            return self.kernels[0], self.sample, self.fitted[0]
        whole = MatrixKernel.product(self.kernels, list(self.designs))
        sizes = [kernel.matrix.shape[1] for kernel in self.kernels]
        codes = np.ravel_multi_index(list(self.sample.places.values()), sizes)
        flat = replace(self.sample, places={"": codes})
        return whole, flat, Fitted.of(whole.matrix, flat.tally(math.prod(sizes)))

    def many(self, options: Options, survey: Survey, note: str) -> ManyEstimates:
        """Shares of all combinations of values, by products of weights.

        Raises :class:`DataError` for too many combinations, and for weights, strata, clusters or a
        population that cannot be used; :class:`InputError` for questions that are no shares.
        """
        self.check_shares()
        cells = math.prod(len(question.labels) for question in self.questions)
        if cells > _MOST_CELLS:
            raise DataError(
                "joint table",
                expected=f"at most {_MOST_CELLS:,} combinations of values",
                got=f"{cells:,}",
                remedy=f"estimate fewer columns at a time, such as column={[*self.designs][:2]!r}",
            )
        answers, errors = self.answers(survey, options.target)
        n, fit = self.sample.size, min(one.fit for one in self.fitted)
        _warn_of_errors(errors, n, f"{cells} combinations", "estimate fewer columns at a time")
        told = n, options.confidence, options.target, fit, answers, None, note
        return ManyEstimates(self.question.labels, answers.estimates, errors, *told)

    def check_shares(self) -> None:
        """Refuse questions that are not about shares."""
        for name, question in zip(self.designs, self.questions, strict=True):
            if not np.isin(question.weights, (0, 1)).all():
                raise InputError(
                    "columns",
                    expected="shares to estimate of each, where there are so many combinations",
                    got=f"other weighted sums of column {quote(name)}, {listing(question.labels)}",
                    remedy="group its values by a feature (--feature), or estimate fewer columns "
                    f"at a time, such as column={[name]!r}",
                )

    def answers(self, survey: Survey, target: str) -> tuple[Answers, Vector]:
        """What is unbiased for the share of each combination, and standard errors: the diagonal of
        what :mod:`.surveys` writes down, or for simple samples the variance of scores.
        """
        drawn, n = drawn_by(survey, self.sample), self.sample.repeats
        total = drawn.population if survey.weighting != "hajek" else None
        share = drawn.weights / (total or drawn.weights @ n)
        drawn = replace(drawn, weights=share)
        heavy, fixed, seen = n * share**2, float(target == "sample"), None
        values, squares = self._sums(n * share), self._sums(heavy, 2)
        shares, how = np.clip(values, 0, 1), Sampling(1 / heavy.sum(), fraction=fixed)
        # Of people at random, or of these people, whose values are what they are.
        variance = squares - heavy.sum() * (shares if fixed else shares**2)
        # What mechanisms leave of one person's scores at least, whatever the secrets are.
        least = [one[2].min(axis=0) for one in map(MatrixKernel.moments, self.kernels, self.scores)]
        known = heavy.sum() * np.maximum(outer(*least) - shares, 0)
        if survey.asked:
            # Values are 0 or 1: z² − z is without bias for the variance that mechanisms leave.
            variance, how = np.maximum(squares - self._sums(heavy), known), drawn.sampling(target)
            if np.ptp(share) > 0:
                plain = heavy.sum() * (self._sums(n * share, 2) - values)
                more = np.divide(variance, plain, out=np.ones_like(plain), where=plain > known)
                how = replace(how, noise=more)
            if not fixed:
                check_single(drawn, survey.strata)
                between = self._between(drawn, 0 * values if total else values)
                variance = seen = between + how.fraction * variance
        answers = Answers(values, self._path(), replace(how, variance=seen))
        return answers, np.sqrt(np.maximum(variance, known))

    def _sums(self, mass: Vector, power: int = 1) -> Vector:
        """Σ mass · score^power over rows, of each combination."""
        places = list(self.sample.places.values())
        return contracted(mass, places, [a**power for a in self.scores])

    def _between(self, drawn: Drawn, centre: Vector) -> Vector:
        """``(F,)`` variances for who was asked, some at a time."""
        rows, cells = len(drawn.weights), len(centre)
        if rows * cells > _MOST_SCORES:
            raise DataError(
                "joint table of a survey",
                expected=f"at most {_MOST_SCORES // cells:,} different rows with {cells:,} "
                "combinations of values",
                got=f"{rows:,}",
                remedy="estimate fewer columns at a time",
            )
        found, sizes = np.zeros(cells), [a.shape[1] for a in self.scores]
        for start in range(0, cells, _AT_ONCE):
            some = np.arange(start, min(start + _AT_ONCE, cells))
            z, at = np.ones((rows, 1)), np.unravel_index(some, sizes)
            for a, places, k in zip(self.scores, self.sample.places.values(), at, strict=True):
                z = z * a[places][:, k]
            z = drawn.weights[:, None] * (z - centre[some])
            found[some] = np.diagonal(design_covariance(z, drawn))
        return np.maximum(found, 0)

    def _path(self) -> Mixed:
        """The path of shares of combinations: moments are products over the columns.

        Those who count have, in each column, the symbol of largest moments among those that count;
        all others are as the columns alone say, as if they were independent.
        """
        total, share = np.ones((3, 5, 1)), outer(np.ones(1))
        parts = zip(self.kernels, self.questions, self.scores, self.fitted, strict=True)
        for kernel, question, a, fitted in parts:
            v, p = question.weights, fitted.likely
            by_symbol = kernel.moments(a)
            top = np.where(v > 0, by_symbol, -np.inf).max(axis=1)
            each = np.stack([top, p @ by_symbol, by_symbol.min(axis=1)])
            total = np.einsum("ska,skb->skab", total, each).reshape(3, 5, -1)
            share = outer(share, p @ v)
        own, others, least = total
        # What all have together is of those who count and of all others.
        rest = (others - share * own) / np.maximum(1 - share, 1e-12)
        rest[[2, 4]] = np.maximum(rest, least)[[2, 4]]
        return _share_path(share, _sided(own, 1), _sided(rest, 0))


def _sided(raw: Vector, value: int) -> list[Vector]:
    """Second and third moments, and third central ones of either side, from the raw ones of order 0
    to 4 ``(5, F)`` of scores of one mean.

    Those of one side are bounded by those of both, E|d|³ ≤ √(E d² · E d⁴).
    """
    _, _, second, third, fourth = raw
    noise, skewed = second - value, third - 3 * value * second + 2 * value
    spread = fourth - 4 * value * third + 6 * value * second - 3 * value
    both = np.sqrt(np.maximum(noise, 0) * np.maximum(spread, 0))
    both = np.maximum(both, np.abs(skewed))
    return [second, third, (both + skewed) / 2, (both - skewed) / 2]


def contracted(
    share: Vector, places: Sequence[NDArray[np.int64]], weights: Sequence[Vector]
) -> Vector:
    """Σ_r share_r ⊗_i weights_i[places_i[r]] over rows r, as a vector of all combinations.

    >>> weights = [np.eye(2), np.array([[1, 2], [3, 4]])]
    >>> contracted(np.ones(1), [np.array([0]), np.array([1])], weights)
    array([3., 4., 0., 0.])
    """
    # Rows of the columns that are still to be taken in, each once, with sums over the others.
    rest: Any
    rest, group = np.unique(np.column_stack(places), axis=0, return_inverse=True)
    known: Any = np.bincount(group.ravel(), share, len(rest))[:, None]
    for own in weights:
        here, rest = rest[:, 0], rest[:, 1:]
        rest, group = np.unique(rest, axis=0, return_inverse=True)
        wide = np.zeros((len(rest), len(own), known.shape[1]))
        wide[group.ravel(), here] = known
        known = np.tensordot(wide, own, (1, 0)).reshape(len(rest), -1)
    return np.asarray(known[0])
