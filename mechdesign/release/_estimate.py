"""``estimate``: frequencies of the secret, with error bars, from reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    DataError,
    InputError,
    MisfitWarning,
    PrecisionWarning,
    quote,
    warn,
)
from ..mechanism import mechanism_of
from ..subsets import SubsetSelection
from ..utility.estimation import Asked
from ..utility.questions import Question
from ._identifiability import ask_as_designed, report_weights
from .codes import check_choice
from .counts import count_reports
from .estimates import Estimate
from ..inference.likelihood import Convergence, fit_of, maximise
from .mode_wise import estimate_combinations, large_columns
from .pilots import shrunk_truth
from .receipts import trace
from .references import (
    CONFIDENCE,
    check_confidence,
    prior_of,
    reference_of,
    refuse_other_than,
    weights_note,
)
from .samples import Sample, read_sample
from .several_estimates import one_kernel
from .subset_estimates import ManyEstimates, estimate_many
from .survey import GroupEstimates, Noise, Survey, check_plain, estimate_groups

_CHOICES = {
    "method of estimation": ("inversion", "likelihood"),
    "intervals": ("delta", "bootstrap"),
    "target": ("population", "sample"),
    "what to do about a misfit": ("error", "warn"),
}
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
    intervals: str = "delta",
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
        has no covariances (:class:`mechdesign.release.subset_estimates.ManyEstimates`); so are
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
    intervals : {"delta", "bootstrap"}
        Normal limits, or limits from reports simulated at the estimate.
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
        are then those of the design, with Student's t for the clusters (or people) less the strata
        [Saerndal1992].
    population : size, or mapping from stratum to size, optional
        Of a finite population, the sample included, in clusters where there are any. What asking
        fewer than all adds to the error shrinks with it; what the mechanism adds does not. Without
        weights everyone stands for the same share of the stratum.
    weighting : {"hajek", "horvitz-thompson"}
        Shares of the sum of weights, or totals over the population, which must be known.

    Returns
    -------
    Estimate, ManyEstimates or GroupEstimates
        A :class:`mechdesign.release.survey.SurveyEstimate` where any of these is asked, and one for
        each group with ``by_group``.

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
    survey = Survey(weights, strata, clusters, by_group, population, weighting)
    if isinstance(mechanism, SubsetSelection):
        refuse_other_than(method=(method, "inversion"), feature=(feature, None))
        refuse_other_than(by=(by, "symbols"), intervals=(intervals, "delta"), truth=(truth, None))
        given: dict[str, Any] = {each: (getattr(survey, each), None) for each in survey.asked}
        refuse_other_than(**given)
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
        options.update(by=(by, "symbols"))
        options.update(intervals=(intervals, "delta"), truth=(truth, None))
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
    beside = survey.columns if survey.asked else None
    read = one_kernel(reports, mechanism, column, receipt, missing, beside)
    reports, mechanism, column, receipt = read.reports, read.mechanism, read.column, read.receipt
    found = mechanism_of(mechanism)
    resamples, generator = bootstrap_options(resamples, rng)
    sample = None
    if survey.asked or isinstance(reports, Sample):
        check_plain(method, intervals)
        sample = read_sample(reports, found, column, survey.columns, missing)
        counts = sample.tally(found)
    else:
        counts = count_reports(reports, found, column, missing=missing)
    question = ask_as_designed(mechanism, feature, by)
    n = int(counts.sum())
    carried = None if isinstance(reports, Sample) else column
    known, note = trace(reports, carried, found, receipt, n)
    note = note if read.note is None else read.note
    f = counts / n
    likely, gap, steps = maximise(found.kernel, f[None, :])
    p = likely[0]
    fit = fit_of(found.kernel, f, p, n, float(gap[0]))
    judge_fit(fit, misfit)
    reference = reference_of(mechanism, found, truth) if method == "inversion" else p
    on_reports = report_weights(found, question, reference)
    if method == "inversion" and truth is None:
        told = weights_note(mechanism, question, on_reports, p)
        note = "; ".join(filter(None, (note, told)))
    if sample is not None:
        groups = estimate_groups(
            sample,
            survey,
            found,
            question,
            Noise(found, question, on_reports, reference),
            prior_of(mechanism, found),
            confidence=confidence,
            target=target,
            bounded=fit >= _MISFIT,
            fit=fit,
            receipt=known,
            note=note,
        )
        for each in groups.estimates:
            warn_of_errors(each, question)
        return groups if by_group is not None else groups.estimates[0]
    straight, centre = f @ on_reports, p @ question.weights
    covariances = covariance(found.kernel, p, on_reports, question.weights, n, target)
    errors = np.sqrt(np.diagonal(covariances))
    again = None
    if intervals == "bootstrap":
        drawn = sampled_frequencies(found.kernel, p, n, target, resamples, generator)
        if method == "inversion":
            again = drawn @ on_reports
        else:
            again = maximise(found.kernel, drawn)[0] @ question.weights
    errors, lower, upper = limits(straight, centre, errors, again, method, confidence)
    lower, upper = within(question, fit, lower, upper)
    shrunk = shrunk_truth(found.inputs, p, prior_of(mechanism, found), [(found.kernel, f, n)])
    made = Estimate(
        question.labels,
        straight if method == "inversion" else centre,
        errors,
        lower,
        upper,
        covariances,
        n,
        method,
        intervals,
        confidence,
        target,
        p,
        Convergence(steps, float(gap[0])),
        fit,
        known,
        note,
        shrunk,
        found.schema,
    )
    warn_of_errors(made, question)
    return made


def within(question: Question, fit: float, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Limits inside of what answers can be, unless reports fit none."""
    if fit < _MISFIT:
        return lower, upper
    low, high = question.weights.min(axis=0), question.weights.max(axis=0)
    return np.clip(lower, low, high), np.clip(upper, low, high)


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


# Errors and limits: the delta method and the bootstrap


def covariance(
    kernel: NDArray[np.float64],
    p: NDArray[np.float64],
    weights: NDArray[np.float64],
    question: NDArray[np.float64],
    reports: int,
    target: str,
) -> NDArray[np.float64]:
    """Covariance ``(F, F)`` of Σ_y a_y f_y when people are distributed as ``p``.

    About the population, each report is a draw from pᵀK; about the sample, the secrets are fixed
    and only the mechanism is random.
    """
    q = p @ kernel
    second = weights.T @ (q[:, None] * weights)
    if target == "population":
        mean = p @ question
        fixed = np.outer(mean, mean)
    else:
        fixed = question.T @ (p[:, None] * question)
    found = (second - fixed) / reports
    # Rounding may leave a variance of nothing slightly below zero.
    np.fill_diagonal(found, np.maximum(np.diagonal(found), 0.0))
    return found


def normal_limits(
    values: NDArray[np.float64], errors: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values ± z · errors."""
    from scipy.stats import norm

    z = float(norm.isf((1 - confidence) / 2))
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


def limits(
    straight: NDArray[np.float64],
    centre: NDArray[np.float64],
    errors: NDArray[np.float64],
    again: NDArray[np.float64] | None,
    method: str,
    confidence: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Standard errors, and lower and upper confidence limits.

    Parameters
    ----------
    straight, centre : estimates by inversion, and at the distribution of largest likelihood
    errors : standard errors by the delta method
    again : ``(B, …)`` estimates simulated at that distribution, ``None`` for normal limits
    """
    if again is None:
        lower, upper = normal_limits(straight, errors, confidence)
    else:
        errors, tail = again.std(axis=0, ddof=1), (1 - confidence) / 2
        lower, upper = np.quantile(again, [tail, 1 - tail], axis=0)
        if method == "inversion":
            # The errors of the simulation, turned around the estimate.
            lower, upper = straight - (upper - centre), straight - (lower - centre)
    if method == "likelihood":
        # They hold the estimate.
        lower, upper = np.minimum(lower, centre), np.maximum(upper, centre)
    return errors, lower, upper
