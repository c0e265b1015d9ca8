"""``estimate``: frequencies of the secret, with error bars, from reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, MisfitWarning, PrecisionWarning, quote, warn
from ..mechanism import Mechanism
from ..release._identifiability import ask_as_designed, rank_of, report_weights
from ..release.codes import check_choice
from ..release.reports import Sample, asked_of
from ..subsets import SubsetSelection
from ..utility.estimation import Asked
from ..utility.questions import Question
from .intervals import Sampling
from .likelihood import Convergence, fit_of, maximise
from .many import ManyEstimates, estimate_combinations, estimate_many, large_columns
from .observed import Observed, answers_of
from .pilots import shrunk_truth
from .references import (
    CONFIDENCE,
    check_confidence,
    prior_of,
    reference_of,
    refuse_other_than,
    weights_note,
)
from .results import Estimate, GroupEstimates
from .surveys import Survey, Units, at_least, check_plain, check_single, drawn_by, groups_of

Vector = NDArray[np.float64]

_CHOICES = {
    "method of estimation": ("inversion", "likelihood"),
    "intervals": ("binomial", "delta", "bootstrap"),
    "target": ("population", "sample"),
    "what to do about a misfit": ("error", "warn"),
}
# Tosses of a coin on its rarer side from which on normal limits are given where they are asked for.
_FEW_EVENTS = 30
# Estimates from reports that fit the mechanism with a smaller probability are refused.
_MISFIT = 1e-6
MISFIT_REMEDY = (
    "check that it made them, that nobody changed them and that they are no raw data; "
    "misfit='warn' (--misfit warn) estimates all the same"
)


@overload
def estimate(
    reports: Any,
    mechanism: SubsetSelection,
    column: str | Sequence[str] | None = None,
    **options: Any,
) -> ManyEstimates: ...


@overload
def estimate(
    reports: Any,
    mechanism: Any,
    column: str | Sequence[str] | None = None,
    *,
    by_group: str,
    **options: Any,
) -> GroupEstimates: ...


@overload
def estimate(
    reports: Any, mechanism: Any, column: str | Sequence[str] | None = None, **options: Any
) -> Estimate: ...


def estimate(  # type: ignore[misc]  # the options stand once, here
    reports: Any,
    mechanism: Any,
    column: Any = None,
    *,
    method: str = "inversion",
    feature: Asked = None,
    by: str = "symbols",
    intervals: str = "binomial",
    confidence: float = CONFIDENCE,
    target: str = "population",
    missing: str = "error",
    resamples: int = 1000,
    rng: Any = None,
    receipt: Any = None,
    misfit: str = "error",
    truth: Any = None,
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    by_group: str | None = None,
    population: Any = None,
    weighting: str = "hajek",
) -> Estimate | ManyEstimates | GroupEstimates:
    """The distribution of the secret, estimated from reports of a mechanism.

    Parameters
    ----------
    reports : table with ``column``, column of reports, or mapping from output to count
        Any table that :func:`privatize` takes. A receipt that it carries must name this mechanism.
    mechanism : Mechanism, Design, SubsetSelection or plan for several columns
        A design's prior only tunes the variance of the inversion; it never biases it. With one for
        :class:`mechdesign.utility.Estimation` the weights are those that it is optimal for.
        Reports of a subset selection are estimated from by inversion alone, and what comes back
        has no covariances (:class:`mechdesign.inference.many.ManyEstimates`); so are
        those of many columns of a plan, whose combinations of values and reports are over 400,000,
        with all options of a survey but ``by_group``.
    method : {"inversion", "likelihood"}
        Weights on reports that are unbiased for every distribution [Warner1965], or the
        distribution of largest likelihood [Cover1984], which stays in the simplex and says how far
        from the maximum it is.
    feature : function or mapping of inputs, list of them, or (F, N) array, optional
        Numbers ask for the mean; other values for the frequency of each. Rows of an array are
        weighted sums of frequencies. When left out, the questions that a design was made for
        (``of``), whole or in its public form, else every frequency; of several columns of a plan
        the products of what their designs ask.
    by : {"symbols", "blocks"}
        Blocks are the finest groups that a mechanism with equal rows can still tell apart.
    intervals : {"binomial", "delta", "bootstrap"}
        The one interval that holds at rare answers and few reports
        (:mod:`mechdesign.inference.intervals`). The others are for comparison with what other
        software prints: normal limits, or limits from reports simulated at the estimate. Both
        collapse where few informative reports fall; where these stand for fewer than 30 tosses of
        a coin on either side they are not given, and the first is.
    confidence : float between 0 and 1
        For each interval alone.
    target : {"population", "sample"}
        What is asked: the distribution that people were drawn from, or the frequencies among
        exactly those who reported. The second is known better.
    missing : {"error", "drop", "category"}
        Null reports. They are an answer of their own where the mechanism has the input ``None``,
        which ``Prior.from_data(column, missing="category")`` gives it.
    resamples, rng : number of simulated samples and seed or generator of the bootstrap
    receipt : Receipt or path of a file with one, optional
        What :func:`privatize` wrote (``receipt=``), where the table carries none any more. Without
        any, :attr:`Estimate.note` says that it could not be told who made the reports.
    misfit : {"error", "warn"}
        Reports that this mechanism makes with a probability below one in a million, whatever the
        secrets are: refused, or estimated from with a warning. Raw data is mostly found that way;
        reports of a mechanism with more noise fit and are not.
    truth : Prior, mapping from symbol to mass or count, or N numbers, optional
        The distribution at which the variance of the inversion is least, such as a pilot's; the
        truth or prior of the design when left out, uniform for a mechanism.
    weights, strata, clusters, by_group : name of a column of the table, optional
        For how many people each one stands (zero or more); how the sample was drawn: strata, and
        clusters within them, drawn alike; and groups, each of which is estimated on its own. Errors
        are then those of the design [Saerndal1992], with Student's t for the clusters (or people)
        less the strata, or fewer where few of them weigh most [Satterthwaite1946].
    population : size, or mapping from stratum to size, optional
        Of a finite population, the sample included, in clusters where there are any. What asking
        fewer than all adds to the error shrinks with it; what the mechanism adds does not. Without
        weights everyone stands for the same share of the stratum.
    weighting : {"hajek", "horvitz-thompson"}
        Shares of the sum of weights, or totals over the population, which must be known.

    Returns
    -------
    Estimate, ManyEstimates or GroupEstimates
        One :class:`mechdesign.Estimate` for each group with ``by_group``.

    Raises
    ------
    DataError
        For reports that the mechanism cannot produce or did not make, fewer than 10 of them, and
        for a question that its reports cannot answer, with the blocks that they can.
    InputError, UnknownNameError
        For options without a meaning.

    Warns
    -----
    PrecisionWarning
        When an interval says nothing.
    MisfitWarning
        With ``misfit="warn"``, when such reports are next to impossible from this mechanism.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> round(md.estimate({"no": 6000, "yes": 4000}, flip)["no"], 6)
    0.7
    """
    check_options(method, intervals, target, misfit, confidence)
    if not isinstance(column, (str, int, list, tuple)) and column is not None:
        raise InputError(
            "column",
            expected="the name of the column of reports, or a list of them",
            got=quote(column),
            remedy="leave it out for reports without a table",
        )
    survey = Survey(weights, strata, clusters, by_group, population, weighting)
    if isinstance(mechanism, SubsetSelection):
        refuse_other_than(method=(method, "inversion"), feature=(feature, None))
        refuse_other_than(by=(by, "symbols"), truth=(truth, None))
        given: dict[str, Any] = {each: (getattr(survey, each), None) for each in survey.asked}
        refuse_other_than(**given, intervals=(intervals, "binomial"))
        check_choice("policy for missing reports", missing, ("error", "drop"))
        many = estimate_many(
            reports,
            mechanism,
            column,
            confidence=confidence,
            target=target,
            missing=missing,
            receipt=receipt,
        )
        judge_fit(many.fit, misfit)
        return many
    if (names := large_columns(mechanism, column)) is not None:
        options: dict[str, Any] = {"method": (method, "inversion"), "feature": (feature, None)}
        options.update(by=(by, "symbols"), intervals=(intervals, "binomial"), truth=(truth, None))
        remedy = f"estimate fewer of them at a time, such as column={names[:1]!r}"
        refuse_other_than("so many columns at once", remedy, **options)
        many, fits = estimate_combinations(
            reports,
            mechanism,
            names,
            survey=survey,
            confidence=confidence,
            target=target,
            missing=missing,
            receipt=receipt,
        )
        for name, fit in fits.items():
            judge_fit(fit, misfit, f"reports in column {quote(name)}")
        return replace(many, fit=min(fits.values()))
    bootstrap = bootstrap_options(resamples, rng)
    if survey.asked:
        check_plain(method, intervals)
    read = asked_of(reports, mechanism, column, receipt, missing, survey.columns)
    mechanism, found, sample, note = read.designed, read.kernel, read.sample, read.note
    question = ask_as_designed(mechanism, feature, by)
    n, counts = sample.size, sample.tally(len(found.outputs))
    likely, gap, _ = maximise(found.kernel, counts[None, :] / n)
    fit = fit_of(found.kernel, counts / n, likely[0], n, float(gap[0]))
    judge_fit(fit, misfit)
    reference = reference_of(mechanism, found, truth) if method == "inversion" else likely[0]
    scores = report_weights(found, question, reference)
    if method == "inversion" and truth is None:
        told = weights_note(mechanism, question, scores, likely[0])
        note = "; ".join(filter(None, (note, told)))
    asked = AskedReports(
        found,
        question,
        scores,
        prior_of(mechanism, found),
        method=method,
        intervals=intervals,
        confidence=confidence,
        target=target,
        fit=fit,
        receipt=read.receipt,
        note=note,
        bootstrap=bootstrap,
    )
    groups = asked.estimates(sample, survey)
    for each in groups.estimates:
        warn_of_errors(each, question)
    return groups if by_group is not None else groups.estimates[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Options:
    """What estimates say of themselves, as asked or known.

    ``kernel`` is that of all rounds, where reports are not of the mechanism alone.
    """

    method: str = "inversion"
    intervals: str = "binomial"
    confidence: float = CONFIDENCE
    target: str = "population"
    fit: float = 1.0
    receipt: Any = None
    note: str = ""
    kernel: Vector | None = None
    bootstrap: tuple[int, np.random.Generator] | None = None


@dataclass(frozen=True, eq=False)
class AskedReports(_Options):
    """A kernel with a question and scores of its reports: what all estimates come from.

    Attributes
    ----------
    mechanism, question : what made the reports, and what is asked
    scores : ``(M, F)`` with K a = V
    prior : ``(N,)``, what the shrunk distribution is drawn to
    """

    mechanism: Mechanism
    question: Question
    scores: Vector
    prior: Vector

    @property
    def matrix(self) -> Vector:
        """``(N, M)``, what makes the reports."""
        return self.mechanism.kernel if self.kernel is None else self.kernel

    @cached_property
    def rank(self) -> int:
        """Number of independent combinations of frequencies that reports tell."""
        if self.kernel is None:
            return rank_of(self.mechanism)
        return int(np.linalg.matrix_rank(self.kernel))

    def of_frequencies(
        self,
        frequencies: Vector,
        likely: Vector,
        reports: int,
        gap: float = 0.0,
        steps: int = 0,
        spread: Vector | None = None,
    ) -> Estimate:
        """From frequencies ``(M,)`` of a simple sample, and the distribution of most likelihood.

        ``spread`` is the covariance of what people count for, if it is not that of one kernel.
        """
        noise, own = covariances(self.matrix, self.scores, self.question.weights, likely)
        whole = own if spread is None else spread
        fixed = float(self.target == "sample")
        observed = Observed(
            self.matrix,
            frequencies,
            likely,
            self.scores,
            self.question.weights,
            Sampling(reports, fraction=fixed),
            (noise + (1 - fixed) * whole) / reports,
        )
        return replace(self.estimate(observed, reports, gap, steps), noise=_roots(noise / reports))

    def estimates(self, sample: Sample, survey: Survey) -> GroupEstimates:
        """Estimates of each group of a sample, of one group for all.

        Raises :class:`DataError` for weights, strata, clusters or a population that cannot be used.
        """
        drawn = drawn_by(survey, sample)
        if self.target == "population" and survey.asked:
            check_single(drawn, survey.strata)
        names, places = groups_of(survey, sample, drawn)
        total = drawn.population if survey.weighting != "hajek" else None
        units = Units(sample, drawn, places, self.scores, total)
        likely, gap, steps = maximise(self.matrix, units.frequencies)
        seen_of, noises = [], []
        for i in range(len(names)):
            part = units.parts[i]
            own = part.sampling(self.target)
            if not survey.asked:
                own = Sampling(own.size, fraction=own.fraction)
            noise, spread = (
                part / own.size
                for part in covariances(self.matrix, self.scores, self.question.weights, likely[i])
            )
            seen = None
            if not survey.asked:
                covariance = noise + (self.target == "population") * spread
            elif self.target == "sample":
                covariance = noise
            else:
                between = units.between(i, i)[0]
                seen = between + own.fraction * noise
                covariance = at_least(between, (1 - own.fraction) * noise) + own.fraction * noise
            noises.append(_roots(noise))
            seen_of.append(
                Observed(
                    self.matrix,
                    units.frequencies[i],
                    likely[i],
                    self.scores,
                    self.question.weights,
                    own,
                    covariance,
                    seen,
                    float(part.weights @ part.repeats),
                )
            )
        count = len(self.question.labels)
        ends = np.reshape(answers_of(seen_of).limits(1 - self.confidence), (2, -1, count))
        made = []
        for i, name in enumerate(names):
            one = self.estimate(
                seen_of[i],
                int(units.parts[i].repeats.sum()),
                float(gap[i]),
                steps,
                (ends[0, i], ends[1, i]),
            )
            made.append(
                replace(
                    one,
                    noise=noises[i],
                    strata=len(drawn.units),
                    clusters=0 if drawn.clusters is None else int(drawn.units.sum()),
                    weighting=survey.weighting,
                    group=name,
                    by_design=bool(survey.asked),
                )
            )
        return GroupEstimates(survey.by_group or "", tuple(names), tuple(made), units.between)

    def estimate(
        self,
        observed: Observed,
        reports: int,
        gap: float,
        steps: int,
        ends: tuple[Vector, Vector] | None = None,
    ) -> Estimate:
        """The answers with their intervals, whose ends may be known."""
        p, f = observed.likely, observed.frequencies
        values, errors = observed.estimates, _roots(observed.covariance)
        lower, upper = ends or observed.answers().limits(1 - self.confidence)
        if self.intervals != "binomial" or self.method == "likelihood":
            centre = p @ self.question.weights
            if self.intervals != "binomial":
                answers = observed.answers()
                many = answers.events() >= _FEW_EVENTS
                errors, *former = self._former_limits(values, centre, errors, observed, reports)
                former = [np.clip(end, answers.path.low, answers.path.high) for end in former]
                lower, upper = (
                    np.where(many, end, own)
                    for end, own in zip(former, (lower, upper), strict=True)
                )
            if self.method == "likelihood":
                values = centre
                lower, upper = np.minimum(lower, centre), np.maximum(upper, centre)
        effective = float(observed.sampling.size)
        rounds = [(self.matrix, f, max(1, round(effective)))]
        return Estimate(
            self.question.labels,
            values,
            errors,
            lower,
            upper,
            observed.covariance,
            reports,
            self.method,
            self.intervals,
            self.confidence,
            self.target,
            p,
            Convergence(steps, gap),
            self.fit,
            self.receipt,
            self.note,
            shrunk_truth(self.mechanism.inputs, p, self.prior, rounds, self.rank),
            self.mechanism.schema,
            freedom=float(observed.sampling.freedom),
            effective=effective,
            observed=observed,
        )

    def _former_limits(
        self, straight: Vector, centre: Vector, errors: Vector, observed: Observed, reports: int
    ) -> tuple[Vector, Vector, Vector]:
        """Standard errors and limits of normal intervals or of a bootstrap, as other software has
        them.
        """
        if self.intervals == "delta":
            return errors, *normal_limits(straight, errors, self.confidence)
        assert self.bootstrap is not None
        kernel, p = self.matrix, observed.likely
        drawn = sampled_frequencies(kernel, p, reports, self.target, *self.bootstrap)
        if self.method == "inversion":
            again = drawn @ self.scores
        else:
            again = maximise(kernel, drawn)[0] @ self.question.weights
        errors, tail = again.std(axis=0, ddof=1), (1 - self.confidence) / 2
        lower, upper = np.quantile(again, [tail, 1 - tail], axis=0)
        if self.method == "inversion":
            # The errors of the simulation, turned around the estimate.
            lower, upper = straight - (upper - centre), straight - (lower - centre)
        return errors, lower, upper


def covariances(kernel: Vector, a: Vector, v: Vector, likely: Vector) -> tuple[Vector, Vector]:
    """Covariances ``(F, F)`` of one report's scores ``(M, F)``: what the mechanism leaves, and what
    the values ``(N, F)`` of people vary who are distributed so.
    """
    q = likely @ kernel
    square, mean = v.T @ (likely[:, None] * v), likely @ v
    return a.T @ (q[:, None] * a) - square, square - np.outer(mean, mean)


def _roots(covariance: Vector) -> Vector:
    """Standard errors of a covariance, whose variances rounding may leave below zero."""
    return np.asarray(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))


def check_options(method: Any, intervals: Any, target: Any, misfit: Any, confidence: Any) -> None:
    """Raise :class:`UnknownNameError` or :class:`InputError` for options without a meaning."""
    for (name, known), value in zip(
        _CHOICES.items(), (method, intervals, target, misfit), strict=True
    ):
        check_choice(name, value, known)
    check_confidence(confidence)


def warn_of_errors(made: Estimate, question: Question) -> None:
    """Warn of answers that so many reports leave open, and of a likelihood short of its maximum."""
    width = question.weights.max(axis=0) - question.weights.min(axis=0)
    blind = made.errors * 1.96 >= width / 2
    if blind.any() and (width > 0).any():
        names = [label for label, b in zip(made.labels, blind, strict=True) if b]
        half = 1.96 * float(made.errors[blind][0])
        warn(
            f"{made.reports} reports say next to nothing about {len(names)} of "
            f"{len(made.labels)} numbers (such as {names[0]!r}: ± {half:.2g}); "
            "md.plan (mechdesign plan) says how many reports would",
            PrecisionWarning,
        )
    if not made.convergence.converged and made.method == "likelihood":
        warn(
            f"the likelihood is within {made.convergence.gap:.1g} nats per report of its maximum, "
            "not closer; the estimate may move in its last digits",
            PrecisionWarning,
        )


# Whether the mechanism made the reports


def judge_fit(fit: float, misfit: str, name: str = "reports") -> None:
    """Refuse reports, or warn of them, that the mechanism makes next to never.

    ``fit`` bounds the probability of such reports whatever the secrets are, so that of a million
    honest estimates at most one is refused.
    """
    if fit >= _MISFIT:
        return
    if misfit == "warn":
        warn(
            f"such {name} have probability {fit:.1g} at most from this mechanism, whatever the "
            "distribution of the secret; check that it made them and that nobody changed them",
            MisfitWarning,
        )
        return
    raise DataError(
        name,
        expected="reports of this mechanism",
        got=f"some that it makes with probability {fit:.1g} at most, whatever the secrets are",
        remedy=MISFIT_REMEDY,
    )


# Intervals of other software


def normal_limits(
    values: NDArray[np.float64], errors: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values ± z · errors."""
    from scipy.special import ndtri

    z = -float(ndtri((1 - confidence) / 2))
    return values - z * errors, values + z * errors


def bootstrap_options(resamples: Any, rng: Any) -> tuple[int, np.random.Generator]:
    """Number of simulated samples and their generator, checked.

    Raises :class:`InputError` for fewer than 2 samples, or something that is no seed.
    """
    whole = isinstance(resamples, (int, np.integer)) and not isinstance(resamples, bool)
    if not whole or resamples < 2:
        raise InputError(
            "resamples",
            expected="an integer of at least 2",
            got=quote(resamples),
            remedy="pass 1000, or leave it out",
        )
    try:
        return int(resamples), np.random.default_rng(rng)
    except Exception:  # numpy asks the value what it is, which may fail in any way
        raise InputError(
            "rng of the bootstrap",
            expected="a non-negative integer or a NumPy generator",
            got=quote(rng),
            remedy="pass for example rng=1",
        ) from None


def sampled_frequencies(
    kernel: NDArray[np.float64],
    p: NDArray[np.float64],
    reports: int,
    target: str,
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Simulated frequencies of reports, ``(B, M)``, at the distribution ``p``."""
    if target == "population":
        q = p @ kernel
        return rng.multinomial(reports, q / q.sum(), resamples) / reports
    people = whole_numbers(p * reports)
    total = np.zeros((resamples, kernel.shape[1]))
    for count, row in zip(people, kernel, strict=True):
        if count:
            total += rng.multinomial(count, row / row.sum(), resamples)
    return total / people.sum()


def whole_numbers(expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers near the expected numbers with the same sum, largest remainders first."""
    floor = np.floor(expected).astype(np.int64)
    rest = round(float(expected.sum())) - int(floor.sum())
    floor[np.argsort(floor - expected)[:rest]] += 1
    return floor
