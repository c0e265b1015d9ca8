"""``plan``: how many reports an error needs, or what error a number of reports gives."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GapWarning, InputError, PriorError, quote
from ..inference.references import (
    CONFIDENCE,
    check_confidence,
    reference_of,
    refuse_other_than,
)
from ..labels import Label, short_names
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from ..solve._design import Design, find_design
from ..subsets import SubsetSelection
from ..utility.estimation import Asked, Estimation
from ..utility.questions import Question
from ._identifiability import (
    FEWEST,
    ask,
    ask_as_designed,
    designed_question,
    hidden_answers,
    report_weights,
)
from .widest import narrowest

# Errors and numbers of reports beyond these are slips, and would leave the floats.
_LEAST = 1e-12
#: Reports that errors are shown for where no number is asked for.
REPORTS = 1000
# Kernels with more inputs or outputs are shown without errors: a decomposition takes too long.
_MOST_SHOWN = 500
#: What stands in place of the errors of larger ones.
NOT_SHOWN = (
    f"Errors of estimates are shown up to {_MOST_SHOWN} inputs and outputs; for more of them "
    "`mechdesign plan`, or md.plan, computes the errors of any number of reports."
)
# Numbers of reports that rounding alone puts above a whole number are that number.
_SLIGHTLY_LESS = 1 - 1e-12
# Relative rounding of errors.
_ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True)
class Plan:
    """Reports and errors that belong together.

    Attributes
    ----------
    labels : what is estimated
    reports : how many reports, so that every half-width is at most the error asked, and at least
        the 10 that an estimate takes; infinite where no number suffices, with ``best=True``
    errors : ``(F,)`` half-widths of the intervals with so many reports
    without_privacy : how many people an open survey would need for the same largest error
    confidence : of each interval
    assumed : the distribution that the numbers are for; ``None`` for the worst one of each label
    design : the design that the plan is for, where it is one for estimates
    best : with ``best=True`` the same plan for the kernel of the narrowest widest interval that was
        found under the same notions
    fewest : with ``best=True`` how many reports every kernel under these notions takes at least
        before no interval is wider than ± ``error``, or than the widest one of ``best`` where
        reports are given, proved; ``None`` where floats cannot tell some answer of ``best``
    values : ``(F,)`` the answers at the assumed distribution, ``None`` without one
    open_errors : ``(F,)`` standard errors of an open survey of as many people
    """

    labels: tuple[Label, ...]
    reports: float
    errors: NDArray[np.float64]
    without_privacy: int
    confidence: float
    assumed: Prior | None
    design: Design | None = None
    best: Plan | None = None
    fewest: int | None = None
    values: NDArray[np.float64] | None = None
    open_errors: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """``(F,)`` standard errors of the estimates."""
        return self.errors / math.sqrt(_Size(None, None, self.confidence).z2)

    @property
    def cost(self) -> float:
        """How many times as many people privacy takes."""
        if not np.isfinite(self.errors).all():
            return math.inf
        if not self.errors.any():
            return 1.0  # everything is known before anybody is asked
        return self.reports / self.without_privacy

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each label."""
        return [
            {"label": label, "error": float(error)}
            for label, error in zip(self.labels, self.errors, strict=True)
        ]

    def __repr__(self) -> str:
        where = "at the assumed distribution" if self.assumed else "at the worst distribution"
        told = (
            f"an open survey needs {self.without_privacy} (privacy costs {self.cost:.3g} times)"
            if math.isfinite(self.cost)
            else "some answers are not told, however many reports there are"
        )
        rate = f"{100 * self.confidence:g} % intervals"
        lines = [f"{_number(self.reports)} reports, {rate} {where}; {told}"]
        lines += [
            f"{name:<28}  ± " + (f"{error:.5f}" if math.isfinite(error) else "∞")
            for name, error in zip(short_names(self.labels, 28), self.errors, strict=True)
        ]
        if self.best is not None:
            assert self.best.design is not None
            asked = ", ".join(map(str, self.best.design.notions))
            errors = self.best.errors
            largest = float(errors[np.isfinite(errors)].max(initial=0.0))
            lines.append(
                f"the kernel of the narrowest widest interval under {asked}: "
                f"{_number(self.best.reports)} reports for ± {largest:.5f}"
                + ("" if self.fewest is None else f"; every kernel takes at least {self.fewest}")
            )
        return "\n".join(lines)


def _number(reports: float) -> str:
    return f"{reports}" if math.isfinite(reports) else "no number of"


def plan(
    mechanism: Any,
    *,
    error: float | None = None,
    reports: int | None = None,
    prior: Prior | None = None,
    worst: bool = False,
    confidence: float = CONFIDENCE,
    feature: Asked = None,
    by: str = "symbols",
    best: bool = False,
    privacy: Any = None,
) -> Plan:
    """How many reports keep every interval within ± ``error``, or what ``reports`` give.

    Parameters
    ----------
    mechanism : Mechanism, Design, its public form, or SubsetSelection
        Of a subset selection only the largest error of any share is told.
    error, reports : exactly one of the two
        Half-width of the intervals by inversion (population, delta method), or a number of reports.
    prior : Prior, optional
        The distribution to assume; a design's own when left out.
    worst : bool
        Plan for the least favourable distribution of each label instead; so does a bare mechanism
        without a prior.
    confidence, feature, by : as in :func:`estimate`; a design for questions, or its public form, is
        planned for these
    best : bool
        Also design the kernel whose widest interval of the same answers is the narrowest, under the
        same notions, and plan with it: :class:`mechdesign.utility.Estimation` with the weights of
        the answers that make it so, found in up to a minute to 0.1 % where designs are fast;
        ``fewest`` tells how much is left. Answers that the reports of ``mechanism`` cannot tell
        have infinite errors then.
    privacy : notion or list of them, optional
        With ``best``: what that kernel satisfies; the notions of the design when left out.

    Raises
    ------
    InputError
        For an error or a number of reports without meaning, or neither or both of them; for
        ``best`` at the worst distribution, or without notions or a prior.
    DataError
        For a question that the reports cannot answer.
    MechdesignError
        With ``best``, what :func:`design` raises.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> md.plan(flip, error=.02).reports
    9604
    """
    check_confidence(confidence)
    if (error is None) == (reports is None):
        raise InputError(
            "plan",
            expected="either an error or a number of reports",
            got="neither" if error is None else "both",
            remedy="pass error=0.01 or reports=10_000",
        )
    check_numbers(error, reports)
    if not isinstance(worst, (bool, np.bool_)):
        raise InputError(
            "worst", expected="True or False", got=quote(worst), remedy="pass worst=True"
        )
    if not isinstance(best, (bool, np.bool_)):
        raise InputError("best", expected="True or False", got=quote(best), remedy="pass best=True")
    assumed = None if worst else (prior or getattr(mechanism, "prior", None))
    size = _Size(error, reports, confidence)
    if isinstance(mechanism, SubsetSelection):
        refuse_other_than(feature=(feature, None), by=(by, "symbols"), best=(bool(best), False))
        return _sized(*_largest_of_many(mechanism, assumed), assumed, size)
    found = mechanism_of(mechanism)
    question = ask_as_designed(mechanism, feature, by, hidden=bool(best))
    if assumed is not None:
        found.check_prior(assumed)
    if best:
        _check_best(mechanism, assumed, privacy)
    made = _planned(mechanism, question, assumed, size)
    if not best:
        return made
    assert assumed is not None
    known = mechanism.prior if isinstance(mechanism, Design) else assumed
    asked = feature
    if feature is None and question.labels != found.inputs:
        asked = question.weights.T
    notions = mechanism.notions if privacy is None else privacy
    required = mechanism.requirements if isinstance(mechanism, Design) else ()
    count = len(question.labels)

    def designed(weights: NDArray[np.float64]) -> Design:
        goal = Estimation(asked, weights=weights, truth=assumed)
        with warnings.catch_warnings():
            # How much is left is what ``fewest`` says.
            warnings.simplefilter("ignore", GapWarning)
            return find_design(known, goal, notions, subject_to=required)

    least = narrowest(count, designed, lambda one: told_variances(one, question, assumed)[0])
    other = _planned(least.design, question, assumed, size)
    if np.isinf(other.errors).any():  # rows too close for floats to tell apart
        return replace(made, best=other)
    widest = float(other.errors.max()) if error is None else error
    fewest = 1
    if widest:
        needed = Fraction(size.z2) * least.bound / Fraction(float(widest)) ** 2
        fewest = math.ceil(needed * (1 - _ROUNDING))
    return replace(made, best=other, fewest=max(1, fewest))


@dataclass(frozen=True)
class _Size:
    """An error or a number of reports, one of which is ``None``."""

    error: float | None
    reports: int | None
    confidence: float

    @property
    def z2(self) -> float:
        """The square of the normal quantile."""
        from scipy.stats import norm

        return float(norm.isf((1 - self.confidence) / 2)) ** 2


def _planned(mechanism: Any, question: Question, assumed: Prior | None, size: _Size) -> Plan:
    """The plan for one kernel; infinite where no number of reports suffices."""
    private, plain = told_variances(mechanism, question, assumed)
    made = _sized(question.labels, private, plain, assumed, size)
    own = isinstance(mechanism, Design) and isinstance(mechanism.utility, Estimation)
    return replace(
        made,
        design=mechanism if own else None,
        values=None if assumed is None else np.asarray(assumed.probabilities @ question.weights),
        open_errors=np.sqrt(plain / made.reports),
    )


def largest_variance(reports: int, error: float, confidence: float) -> float:
    """Of one report's contribution, the largest with which so many reports keep an error."""
    return reports * error**2 / _Size(None, None, confidence).z2 / _SLIGHTLY_LESS


def open_error(prior: Prior, reports: int, confidence: float) -> float:
    """Half-width of the widest interval of a frequency from an open survey of as many people."""
    p = np.asarray(prior.probabilities)
    return math.sqrt(_Size(None, None, confidence).z2 * float((p * (1 - p)).max()) / reports)


def told_variances(
    mechanism: Any, question: Question, assumed: Prior | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variance of one report's contribution, infinite where it is not told, and without privacy."""
    found = mechanism_of(mechanism)
    weights = report_weights(found, question, reference_of(mechanism, found))
    private, plain = _variances(found, question, weights, assumed)
    hidden = hidden_answers(found, question)
    return np.where([label in hidden for label in question.labels], math.inf, private), plain


def _sized(
    labels: tuple[Label, ...],
    private: NDArray[np.float64],
    plain: NDArray[np.float64],
    assumed: Prior | None,
    size: _Size,
) -> Plan:
    """Reports and errors for variances of one report's contribution, infinite where untold."""
    told = np.isfinite(private)
    reports: float
    if size.reports is not None:
        reports = int(size.reports)
    elif not told.all():
        reports = math.inf
    else:
        assert size.error is not None
        needed = size.z2 * float(private.max()) / size.error**2
        reports = max(FEWEST, math.ceil(needed * _SLIGHTLY_LESS))
    widths = np.where(told, np.sqrt(size.z2 * np.where(told, private, 0.0) / reports), math.inf)
    largest = float(widths.max())
    if math.isinf(largest):
        largest = size.error or math.sqrt(size.z2 * float(plain.max()) / reports)
    open_survey = 1
    if largest:
        open_survey = math.ceil(size.z2 * float(plain.max()) / largest**2 * _SLIGHTLY_LESS)
    return Plan(labels, reports, widths, max(1, open_survey), size.confidence, assumed)


def expected_errors(mechanism: Any, prior: Prior, reports: int) -> Plan:
    """What a number of reports gives at a prior, before any is collected.

    The plan for the frequency of every symbol, and what else a design for estimates is about;
    errors that no number of reports brings down are infinite.
    """
    check_numbers(None, reports)
    found = mechanism_of(mechanism)
    found.check_prior(prior)
    question = ask(found, hidden=True)
    more = designed_question(mechanism)
    if more is not None:
        labels = tuple(label for label in more.labels if label not in question.labels)
        kept = [label in labels for label in more.labels]
        question = Question(
            question.labels + labels, np.hstack([question.weights, more.weights[:, kept]])
        )
    return _planned(mechanism, question, prior, _Size(None, reports, CONFIDENCE))


def errors_to_show(mechanism: Any, prior: Prior, reports: int) -> Plan | None:
    """:func:`expected_errors`, or ``None`` where that takes too long: then :data:`NOT_SHOWN`."""
    if max(mechanism_of(mechanism).shape) > _MOST_SHOWN:
        return None
    return expected_errors(mechanism, prior, reports)


def _check_best(mechanism: Any, assumed: Prior | None, privacy: Any) -> None:
    """Refuse what no best kernel can be designed for."""
    missing = (
        (assumed is None, "an assumed distribution", "none", "pass prior=…, without worst=True"),
        (
            privacy is None and not isinstance(mechanism, Design),
            "notions that the best kernel satisfies",
            "a kernel without any",
            "pass a design, or privacy=md.LDP(1)",
        ),
    )
    for is_missing, expected, got, remedy in missing:
        if is_missing:
            raise InputError("best plan", expected=expected, got=got, remedy=remedy)


def check_numbers(error: Any, reports: Any) -> None:
    """Refuse errors and numbers of reports that are none, or that nobody could need."""
    known = isinstance(error, (int, float, np.number)) and not isinstance(error, bool)
    if error is not None and not (known and _LEAST <= error <= 1 / _LEAST):
        raise InputError(
            "error of a plan",
            expected=f"a positive number from {_LEAST:g} to {1 / _LEAST:g}",
            got=f"{quote(error, 40)}",
            remedy="pass the half-width that intervals should have, such as 0.01",
        )
    whole = isinstance(reports, (int, np.integer)) and not isinstance(reports, bool)
    if reports is not None and not (whole and 1 <= reports <= 1 / _LEAST**2):
        raise InputError(
            "reports of a plan",
            expected=f"a positive integer up to {1 / _LEAST**2:g}",
            got=f"{quote(reports, 40)}",
            remedy="pass how many reports there will be, such as 10_000",
        )


def _largest_of_many(
    mechanism: SubsetSelection, assumed: Prior | None
) -> tuple[tuple[Label, ...], NDArray[np.float64], NDArray[np.float64]]:
    """The largest variance of one report's contribution to a share, with and without privacy."""
    labels = ("the share of largest error",)
    if assumed is None:
        return labels, np.array([mechanism.worst_variance]), np.array([0.25])
    if assumed.labels != tuple(mechanism.inputs):
        raise PriorError(
            "prior of a plan",
            expected=f"one over the {len(mechanism.inputs)} symbols, in their order",
            got=f"{len(assumed)} others",
            remedy="give it the labels of the subset selection",
        )
    p = np.asarray(assumed.probabilities)
    plain = p * (1 - p)
    return labels, mechanism.variances(p).max(keepdims=True), plain.max(keepdims=True)


def _variances(
    mechanism: Mechanism,
    question: Question,
    weights: NDArray[np.float64],
    assumed: Prior | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variance of one report's contribution, with and without privacy, for each label."""
    second = mechanism.kernel @ weights**2
    v = question.weights
    if assumed is not None:
        p = np.asarray(assumed.probabilities)
        mean = p @ v
        # Rounding may leave a variance of nothing slightly below zero.
        return np.maximum(p @ second - mean**2, 0), np.maximum(p @ v**2 - mean**2, 0)
    private = np.array([_largest(second[:, k], v[:, k]) for k in range(v.shape[1])])
    plain = (v.max(axis=0) - v.min(axis=0)) ** 2 / 4
    return private, plain


def _largest(second: NDArray[np.float64], v: NDArray[np.float64]) -> float:
    """Largest value over p of Σ p_x s_x − (Σ p_x v_x)².

    At a given mean the first part is largest on at most two symbols, so pairs suffice.
    """
    best = max(float((second - v**2).max()), 0.0)
    for i in range(len(v)):
        step = v - v[i]
        slope = second - second[i] - 2 * v[i] * step
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(step != 0, slope / (2 * step**2), np.where(slope > 0, 1.0, 0.0))
        share = np.clip(share, 0, 1)
        value = second[i] + share * (second - second[i]) - (v[i] + share * step) ** 2
        best = max(best, float(value.max()))
    return best
