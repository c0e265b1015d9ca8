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

from ..errors import DataError, InputError, UnknownNameError, quote
from ..exact import is_whole
from ..kernel import MatrixKernel, outer
from ..labels import Label, counted, listing
from ..mechanism import kernel_of
from ..release._identifiability import ask
from ..release.receipts import Receipt, trace
from ..release.reports import Sample, sample_of
from ..schema import Schema
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan
from ..subsets import SubsetSelection
from ..utility.questions import Question
from .estimator import Options, answered, warn_of_half
from .intervals import Answers, Mixed, Sampling
from .likelihood import Fitted, fit_of
from .references import prior_of, rate_of, reference_of, weights_note
from .results import ALL, THESE, GroupEstimates, joined_notes
from .rows import Limited, Rows, number_rows, sides_of
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
class ManyEstimates(Limited, Rows):
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
    _ends = ()

    @cached_property
    def _limits(self) -> tuple[Vector, Vector]:
        return self.limits(side=self.side, together=self.together)

    @property
    def lower(self) -> Vector:  # type: ignore[override]  # found when it is asked for
        """Lower confidence limits, inside [0, 1]."""
        return self._limits[0]

    @property
    def upper(self) -> Vector:  # type: ignore[override]
        """Upper confidence limits, inside [0, 1]."""
        return self._limits[1]

    def top(self, count: int = 10) -> list[dict[str, Any]]:
        """The symbols of largest estimates, largest first, one plain dictionary each.

        Symbols that are chosen for their estimates are mostly overestimated. Their intervals hold
        with the confidence for all N symbols at once (Bonferroni), and so for those chosen; they
        are wider than those of :attr:`lower`, :attr:`upper` and :meth:`rows`, each alone.
        """
        if not is_whole(count, 1):
            raise InputError(
                "count", expected="a positive integer", got=quote(count), remedy="pass 10"
            )
        count = min(int(count), len(self.labels))
        return self._together(np.argpartition(-self.values, count - 1)[:count], self.confidence)

    def present(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """The symbols whose shares are above zero, all of them at once with this confidence.

        Their intervals hold for all N symbols at once, as in :meth:`top`.
        """
        confidence = rate_of(confidence)
        which, tail = np.flatnonzero(self.values > 0), (1 - confidence) / 2 / len(self.labels)
        chance = self.answers.tails(np.zeros(len(which)), which, which >= 0, tail)
        return self._together(which[chance < tail], confidence)

    def _together(self, places: NDArray[Any], confidence: float) -> list[dict[str, Any]]:
        """Rows of some symbols, largest first, with intervals that hold for all at once."""
        places = places[np.argsort(-self.values[places], kind="stable")]
        sides = sides_of(self.side)
        ends = self.answers.limits((1 - confidence) / len(self.labels), places, sides)
        rows = number_rows(self.values[places], self.errors[places], *ends)
        pairs = zip(places.tolist(), rows, strict=True)
        return [{"label": self.labels[i], **row} for i, row in pairs]

    _shown = top

    def _head(self) -> str:
        return self.describe(together=True)

    def describe(self, *, together: bool = False) -> str:
        """Number of symbols and reports and what the intervals are about, in one line: those of
        each symbol alone, or of :meth:`top`, which hold together.
        """
        symbols, reports = counted(len(self.labels), "symbol"), counted(self.reports, "report")
        about = f" for {ALL if self.target == 'population' else THESE}"
        at_once = f", of all {symbols} at once (Bonferroni)" if together else ""
        return f"unbiased inversion for {symbols} from {reports}; {self.told_rate(about)}{at_once}"

    def remarks(self) -> list[str]:
        """Nothing, as so many shares are mostly moved inside of what is possible."""
        return []


def _warn_of_errors(errors: Vector, reports: int, what: str, *remedy: str) -> None:
    """Warn of errors that say next to nothing."""
    if (typical := 1.96 * float(np.median(errors))) >= 0.5:
        warn_of_half(reports, f"{what} (", typical, *remedy)


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
    _warn_of_errors(errors, n, f"the {len(values)} shares")
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
    total, expected = int(counts.sum()), np.diff(ends)[None] / lines
    return fit_of(expected, np.bincount(place, counts, groups) / total, np.ones(1), total)


# Combinations of values


def columns_of(designed: Any, column: Any) -> dict[Any, Any]:
    """What reports in columns are drawn from, by name, of a plan or of a mapping from each; nothing
    for other kernels.
    """
    if not isinstance(designed, (KernelPlan, Mapping)):
        return {}
    known = designed.names if isinstance(designed, KernelPlan) else tuple(designed)
    names = [column] if isinstance(column, str) else known if column is None else column
    names = Schema.of(names).names
    if unknown := set(names) - set(known):
        raise UnknownNameError("column", min(unknown), map(str, known))
    return {name: designed[name] for name in names}


def large_columns(designed: Any, column: Any) -> list[Any] | None:
    """Columns whose reports together are too many for one kernel; else ``None``."""
    designs = columns_of(designed, column)
    entries = math.prod(math.prod(kernel_of(one).shape) for one in designs.values())
    return list(designs) if len(designs) > 1 and entries > MOST_ENTRIES else None


class Columns:
    """Reports in a column, or in several that were drawn independently of each other.

    Attributes
    ----------
    designs, questions : of each
    sample : the reports of each person, and what stands beside them
    options : what is asked for
    kernels : that of each column
    fitted : what the reports of each column alone are likeliest from
    references : ``(N,)``, where weights of the reports of each column are best

    Raises :class:`DataError` for reports of a column that its kernel makes next to never.
    """

    def __init__(
        self,
        designs: Mapping[Any, Any],
        questions: Sequence[Question],
        sample: Sample,
        options: Options,
    ) -> None:
        self.designs, self.questions = designs, questions
        self.sample, self.options = sample, options
        self.kernels = list(map(MatrixKernel.of, designs.values()))
        self.fitted, self.references = [], []
        for (name, design), kernel in zip(designs.items(), self.kernels, strict=True):
            counts = np.bincount(sample.places[name], sample.repeats, kernel.matrix.shape[1])
            one, several = Fitted.of(kernel.matrix, counts), f"reports in column {quote(name)}"
            options.judge(one.fit, several if len(designs) > 1 else "reports")
            is_likely = options.method == "likelihood"
            self.fitted.append(one)
            self.references.append(one.likely if is_likely else reference_of(design, kernel))

    @cached_property
    def scores(self) -> list[Vector]:
        """``(M, F)`` weights of the reports of each column."""
        return list(map(MatrixKernel.scores, self.kernels, self.questions, self.references))

    def answered(
        self,
        survey: Survey,
        feature: Any = None,
        by: str = "symbols",
        truth: Any = None,
        note: str = "",
        **told: Any,
    ) -> GroupEstimates:
        """All columns as one kernel, which must not be too large; asked something else together
        than each alone where a ``feature`` is named, or blocks.
        """
        whole, fitted, flat = self.kernels[0], self.fitted[0], self.sample
        question, is_joint = self.questions[0], len(self.kernels) > 1
        if is_joint:
            whole = MatrixKernel.product(self.kernels, list(self.designs))
            counts = flat.tally(*(kernel.matrix.shape[1] for kernel in self.kernels))
            codes = np.ravel_multi_index(list(flat.places.values()), counts.shape)
            flat = replace(flat, places={"": codes})
            fitted = Fitted.of(whole.matrix, counts.ravel())
            question = Question(self.labels, outer(*(each.weights for each in self.questions)))
        is_asked = is_joint and (feature is not None or by != "symbols")
        if is_asked:
            question = ask(whole, feature, by)
        if truth is not None:
            scores = whole.scores(question, reference_of(None, whole, truth))
        elif is_asked:
            scores = whole.scores(question, outer(*self.references))
        else:
            scores = outer(*self.scores)
        if truth is None and not is_joint and self.options.method == "inversion":
            (designed,) = self.designs.values()
            note = joined_notes([note, weights_note(designed, question, scores, fitted.likely)])
        prior = outer(*map(prior_of, self.designs.values(), self.kernels))
        parts = whole, question, scores, flat, fitted, self.options
        return answered(*parts, prior=prior, survey=survey, note=note, **told)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Combinations of what is asked of each column."""
        return tuple(product(*(question.labels for question in self.questions)))

    def many(self, survey: Survey, note: str = "") -> ManyEstimates:
        """Shares of all combinations of values, by products of weights.

        Standard errors are the diagonal of what :mod:`.surveys` writes down, or for simple samples
        the variance of scores.

        Raises :class:`DataError` for too many combinations, and for weights, strata, clusters or a
        population that cannot be used; :class:`InputError` for questions that are no shares.
        """
        cells = math.prod(len(question.labels) for question in self.questions)
        for name, question in zip(self.designs, self.questions, strict=True):
            if not np.isin(question.weights, (0, 1)).all():
                raise InputError(
                    "columns",
                    expected="shares to estimate of each, where there are so many combinations",
                    got=f"other weighted sums of column {quote(name)}, {listing(question.labels)}",
                    remedy="group its values by a feature (--feature), or estimate fewer columns "
                    f"at a time, such as column={[name]!r}",
                )
        if cells > _MOST_CELLS:
            raise DataError(
                "joint table",
                expected=f"at most {_MOST_CELLS:,} combinations of values",
                got=f"{cells:,}",
                remedy=f"estimate fewer columns at a time, such as column={[*self.designs][:2]!r}",
            )
        options, drawn, n = self.options, drawn_by(survey, self.sample), self.sample.repeats
        total = drawn.population if survey.weighting != "hajek" else None
        share = drawn.weights / (total or drawn.weights @ n)
        drawn = replace(drawn, weights=share)
        heavy, fixed, seen = n * share**2, float(options.target == "sample"), None
        values, squares = self._sums(n * share), self._sums(heavy, 2)
        shares, how = np.clip(values, 0, 1), Sampling(1 / heavy.sum(), fraction=fixed)
        # Of people at random, or of these people, whose values are what they are.
        variance = squares - heavy.sum() * (shares if fixed else shares**2)
        # What mechanisms leave of one person's scores at least, whatever the secrets are.
        least = [one[2].min(axis=0) for one in map(MatrixKernel.moments, self.kernels, self.scores)]
        known = heavy.sum() * np.maximum(outer(*least) - shares, 0)
        if survey.asked:
            # Values are 0 or 1: z² − z is without bias for the variance that mechanisms leave.
            variance = np.maximum(squares - self._sums(heavy), known)
            how = drawn.sampling(options.target)
            if np.ptp(share) > 0:
                plain = heavy.sum() * (self._sums(n * share, 2) - values)
                more = np.divide(variance, plain, out=np.ones_like(plain), where=plain > known)
                how = replace(how, noise=more)
            if not fixed:
                check_single(drawn, survey.strata)
                between = self._between(drawn, 0 * values if total else values)
                variance = seen = between + how.fraction * variance
        errors, size = np.sqrt(np.maximum(variance, known)), self.sample.size
        _warn_of_errors(errors, size, f"{cells} combinations", "estimate fewer columns at a time")
        told = size, options.confidence, options.target, min(one.fit for one in self.fitted)
        answers = Answers(values, self._path(), replace(how, variance=seen))
        return ManyEstimates(self.labels, values, errors, *told, answers, note=note)

    def _sums(self, mass: Vector, power: int = 1) -> Vector:
        """Σ mass · score^power over rows, of each combination."""
        # Rows of the columns that are still to be taken in, with sums over the others.
        rest, known = np.column_stack(list(self.sample.places.values())), mass[:, None]
        for own in self.scores:
            here, rest = rest[:, 0], rest[:, 1:]
            rest, group = np.unique(rest, axis=0, return_inverse=True)
            wide = np.zeros((len(rest), len(own), known.shape[1]))
            np.add.at(wide, (group.ravel(), here), known)
            known = np.tensordot(wide, own**power, (1, 0)).reshape(len(rest), -1)
        return np.asarray(known[0])

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
        places, found = self.sample.places.values(), []
        sides = [a[at] for a, at in zip(self.scores, places, strict=True)]
        shape = [side.shape[1] for side in sides]
        for some in np.split(np.arange(cells), range(_AT_ONCE, cells, _AT_ONCE)):
            parts = zip(sides, np.unravel_index(some, shape), strict=True)
            z = math.prod(side[:, k] for side, k in parts) - centre[some]
            found.append(np.diagonal(design_covariance(drawn.weights[:, None] * z, drawn)))
        return np.maximum(np.concatenate(found), 0)

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
