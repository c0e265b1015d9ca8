"""``plan``: how many reports an error needs, or what error a number of reports gives."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GapWarning, InputError, PriorError, quote
from ..labels import Label, short_names
from ..mechanism import mechanism_of
from ..numeric import finite_number
from ..prior import Prior
from ..release._identifiability import (
    FEWEST,
    ask,
    ask_as_designed,
    designed_question,
    hidden_answers,
    report_weights,
)
from ..solve._design import Design, find_design
from ..subsets import SubsetSelection
from ..utility.estimation import Asked, Estimation
from ..utility.questions import Question
from .assurance import Expected, normal_quantile
from .references import (
    CONFIDENCE,
    check_confidence,
    reference_of,
    refuse_other_than,
)
from .widest import narrowest

Vector = NDArray[np.float64]

# Errors and numbers of reports beyond these are slips, and would leave the floats.
_LEAST = 1e-12
#: Share of surveys whose intervals are as narrow as is said, where nothing is asked.
ASSURANCE = 0.9
#: Reports that errors are shown for where no number is asked for.
REPORTS = 1000
# Kernels with more inputs or outputs are shown without errors: a decomposition takes too long.
_MOST_SHOWN = 500
#: What stands in place of the errors of larger ones.
NOT_SHOWN = (
    f"Errors of estimates are shown up to {_MOST_SHOWN} inputs and outputs; for more of them "
    "`mechdesign plan`, or md.plan, computes the errors of any number of reports."
)
# Answers with a variance of this share of the largest are among those whose intervals are the
# widest.
_NEAR = 0.9
# Relative rounding of errors.
_ROUNDING = 1e-9
_REMEDY = "pass the half-width that intervals should have, such as 0.01"


@dataclass(frozen=True)
class Plan:
    """Reports and errors that belong together.

    Attributes
    ----------
    labels : what is estimated
    reports : how many reports, so that every interval is within ± the error asked, and at least the
        10 that an estimate takes; infinite where no number suffices, with ``best=True``
    errors : ``(F,)`` half-widths of the intervals with so many reports: how far the ends of an
        interval are from the estimate that it holds
    without_privacy : how many people an open survey would need for the same largest error
    confidence : of each interval
    assured : in what share of surveys all intervals are that narrow
    assumed : the distribution that the numbers are for; ``None`` for the worst one of each label
    design : the design that the plan is for, where it is one for estimates
    best : with ``best=True`` the same plan for the kernel of the narrowest widest interval that was
        found under the same notions
    fewest : with ``best=True`` how many reports every kernel under these notions takes at least
        before all standard errors are as small as in normal intervals within ± ``error``, or
        within the widest one of ``best`` where reports are given, proved; ``None`` where floats
        cannot tell some answer of ``best``
    values : ``(F,)`` the answers at the assumed distribution, ``None`` without one
    standard_errors, open_errors : ``(F,)`` standard errors of the estimates, and of an open survey
        of as many people
    """

    labels: tuple[Label, ...]
    reports: float
    errors: Vector
    without_privacy: int
    confidence: float
    assured: float
    assumed: Prior | None
    standard_errors: Vector
    open_errors: Vector
    values: Vector | None = None
    design: Design | None = None
    best: Plan | None = None
    fewest: int | None = None

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
        rate = f"{100 * self.confidence:g} % intervals in {100 * self.assured:g} % of surveys"
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
    assurance: float = ASSURANCE,
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
        Half-width of the intervals of :func:`estimate` for a population, or a number of reports.
    prior : Prior, optional
        The distribution to assume; a design's own when left out.
    worst : bool
        Plan for the least favourable distribution of each label instead; so does a bare mechanism
        without a prior.
    assurance : float
        In what share of surveys all intervals shall be within the error; reports are counted so
        that it is kept also for rare answers. With .5, reports come out just as expected, which
        about half of the surveys keep.
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
        For an error or a number of reports without meaning, such as an error of 1 of a share, or
        neither or both of them; for ``best`` at the worst distribution, or without notions or a
        prior.
    DataError
        For a question that the reports cannot answer.
    MechdesignError
        With ``best``, what :func:`design` raises.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> md.plan(flip, error=.02).reports
    9704
    """
    size = Promise(error, reports, confidence, assurance)
    if (error is None) == (reports is None):
        raise InputError(
            "plan",
            expected="either an error or a number of reports",
            got="neither" if error is None else "both",
            remedy="pass error=0.01 or reports=10_000",
        )
    for name, value in {"worst": worst, "best": best}.items():
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(
                name, expected="True or False", got=quote(value), remedy=f"pass {name}=True"
            )
    assumed = None if worst else (prior or getattr(mechanism, "prior", None))
    if isinstance(mechanism, SubsetSelection):
        refuse_other_than(feature=(feature, None), by=(by, "symbols"), best=(bool(best), False))
        return _largest_of_many(mechanism, assumed, size)
    found = mechanism_of(mechanism)
    question = ask_as_designed(mechanism, feature, by, hidden=bool(best))
    if assumed is not None:
        found.check_prior(assumed)
    if best:
        _check_best(mechanism, assumed, privacy)
    made = _planned(mechanism, question, assumed, size, hidden=bool(best))
    if not best:
        return made
    assert assumed is not None
    known = mechanism.prior if isinstance(mechanism, Design) else assumed
    asked = feature
    if feature is None and question.labels != found.inputs:
        asked = question.weights.T
    notions = mechanism.notions if privacy is None else privacy
    required = mechanism.requirements if isinstance(mechanism, Design) else ()

    def designed(weights: Vector) -> Design:
        goal = Estimation(asked, weights=weights, truth=assumed)
        with warnings.catch_warnings():
            # How much is left is what ``fewest`` says.
            warnings.simplefilter("ignore", GapWarning)
            return find_design(known, goal, notions, subject_to=required)

    least = narrowest(
        len(question.labels), designed, lambda one: variances_of(one, question, assumed, size)
    )
    other = _planned(least.design, question, assumed, size)
    if np.isinf(other.errors).any():  # rows too close for floats to tell apart
        return replace(made, best=other)
    fewest = 1
    if widest := float(other.errors.max()) if error is None else error:
        normal = Fraction(normal_quantile(1 - confidence)) / Fraction(float(widest))
        fewest = math.ceil(normal**2 * least.bound * (1 - Fraction(_ROUNDING)))
    return replace(made, best=other, fewest=int(min(max(1, fewest), other.reports)))


@dataclass(frozen=True)
class Promise:
    """An error or a number of reports, the other one left out, and how sure they shall be."""

    error: float | None
    reports: int | None
    confidence: float = CONFIDENCE
    assurance: float = ASSURANCE

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        finite_number(self.assurance, "assurance", 0.5, 0.9999, remedy="pass 0.9 for 90 %")
        if self.error is not None:
            finite_number(self.error, "error of a plan", _LEAST, 1 / _LEAST, remedy=_REMEDY)
        n, most = self.reports, 1e15
        whole = isinstance(n, (int, np.integer)) and not isinstance(n, bool)
        if n is not None and not (whole and 1 <= n <= most):
            raise InputError(
                "reports of a plan",
                expected=f"a positive integer up to {most:g}",
                got=quote(n, 40),
                remedy="pass how many reports there will be, such as 10_000",
            )

    def check_error(self, question: Question) -> None:
        """Refuse errors as large as answers are far apart, which every interval is within."""
        farthest = float(np.ptp(question.weights, axis=0).max()) or 1.0
        if self.error is not None and self.error >= farthest:
            raise InputError(
                "error of a plan",
                expected=f"less than {farthest:g}, as far apart as answers can be",
                got=quote(self.error, 40),
                remedy=_REMEDY,
            )

    def expected(
        self, kernel: Vector, values: Vector, scores: Vector, masses: Vector | None
    ) -> Expected:
        """At masses of symbols, or at those of each answer where its variance is the largest."""
        pairs = zip((kernel @ scores**2).T, values.T, strict=True)
        each = [_least_favourable(*pair) if masses is None else masses for pair in pairs]
        truths = np.reshape(each, (-1, len(kernel)))
        found = Expected(kernel, values, scores, truths, 1 - self.confidence, self.assurance)
        # Answers whose intervals are about the widest share what may fail; of two symbols, both
        # have one interval.
        near = int((found.variances >= _NEAR * found.variances.max(initial=0)).sum())
        if masses is None or len(values) == 2 or self.assurance == 0.5 or not near:
            return found
        return replace(found, assurance=1 - (1 - self.assurance) / near)


def told_by(
    mechanism: Any, question: Question, prior: Prior | None, asked: Promise, *, hidden: bool = True
) -> tuple[NDArray[np.bool_], Expected, Expected]:
    """Which answers reports tell, ``(F,)``, the intervals of these, and all of an open survey.

    Where none is ``hidden`` that is not looked for.
    """
    found, v = mechanism_of(mechanism), question.weights
    scores = report_weights(found, question, reference_of(mechanism, found))
    untold = hidden_answers(found, question) if hidden else []
    told = np.array([label not in untold for label in question.labels])
    masses = None if prior is None else np.asarray(prior.probabilities)
    intervals = asked.expected(found.kernel, v[:, told], scores[:, told], masses)
    return told, intervals, asked.expected(np.eye(len(v)), v, v, masses)


def variances_of(mechanism: Any, question: Question, prior: Prior | None, asked: Promise) -> Vector:
    """``(F,)`` n times the variance of each answer, infinite where one of them is not told."""
    told, found, _ = told_by(mechanism, question, prior, asked)
    return found.variances if told.all() else np.full(len(told), math.inf)


def _planned(
    mechanism: Any,
    question: Question,
    assumed: Prior | None,
    asked: Promise,
    *,
    hidden: bool = True,
) -> Plan:
    """The plan for one kernel; infinite where no number of reports suffices."""
    asked.check_error(question)
    found = told_by(mechanism, question, assumed, asked, hidden=hidden)
    made = _sized(question.labels, *found, assumed, asked)
    own = isinstance(mechanism, Design) and isinstance(mechanism.utility, Estimation)
    return replace(made, design=mechanism if own else None)


def _sized(
    labels: tuple[Label, ...],
    told: NDArray[np.bool_],
    intervals: Expected,
    plain: Expected,
    assumed: Prior | None,
    asked: Promise,
) -> Plan:
    """Reports and errors for intervals of what is told, and for those of an open survey."""
    reports: float = math.inf
    if asked.reports is not None:
        reports = int(asked.reports)
    elif told.all():
        assert asked.error is not None
        reports = intervals.reports(asked.error, FEWEST)
    errors, spread = np.full((2, len(labels)), math.inf)
    spread[told] = np.sqrt(intervals.variances / reports)
    errors[told] = intervals.errors(reports) if told.any() and reports < math.inf else 0
    if asked.error is not None:
        errors[told] = np.minimum(errors[told], asked.error)
    largest = float(errors.max())
    if math.isinf(largest):
        largest = asked.error or float(plain.errors(reports).max())
    without = plain.reports(largest * (1 + _ROUNDING), 1) if largest else 1
    return Plan(
        labels,
        reports,
        errors,
        without,
        asked.confidence,
        asked.assurance,
        assumed,
        spread,
        np.sqrt(plain.variances / reports),
        None if assumed is None else plain.answers,
    )


def expected_errors(mechanism: Any, prior: Prior, reports: int) -> Plan:
    """What a number of reports gives at a prior, before any is collected.

    The plan for the frequency of every symbol, and what else a design for estimates is about;
    errors that no number of reports brings down are infinite.
    """
    found, asked = mechanism_of(mechanism), Promise(None, reports)
    found.check_prior(prior)
    question = ask(found, hidden=True)
    more = designed_question(mechanism)
    if more is not None:
        kept = [label not in question.labels for label in more.labels]
        labels = tuple(np.array(more.labels, object)[kept].tolist())
        question = Question(
            question.labels + labels, np.hstack([question.weights, more.weights[:, kept]])
        )
    return _planned(mechanism, question, prior, asked)


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


def _largest_of_many(mechanism: SubsetSelection, assumed: Prior | None, asked: Promise) -> Plan:
    """The plan for the share whose variance is the largest.

    Its reports are counted as those of a kernel of two outputs with the same variance at every
    share of the symbol.
    """
    if assumed is None:
        share = plain = 0.5
        middle, half = 0.5, math.sqrt(mechanism.worst_variance)
    elif assumed.labels != tuple(mechanism.inputs):
        raise PriorError(
            "prior of a plan",
            expected=f"one over the {len(mechanism.inputs)} symbols, in their order",
            got=f"{len(assumed)} others",
            remedy="give it the labels of the subset selection",
        )
    else:
        p = np.asarray(assumed.probabilities)
        x = int(mechanism.variances(p).argmax())
        alone = np.arange(len(p)) == x
        others = np.where(alone, 0, p if p[x] < 1 else 1)
        one, none = (mechanism.variances(q / q.sum())[x] for q in (alone, others))
        share, plain = float(p[x]), float(p[(p * (1 - p)).argmax()])
        middle = (one - none + 1) / 2
        half = math.sqrt(middle**2 + none)
    v, scores = np.array([[1.0], [0.0]]), np.array([[middle + half], [middle - half]])
    first = np.clip((v - scores[1]) / (2 * half), 0, 1)
    intervals, open_survey = (
        asked.expected(kernel, v, given, np.array([t, 1 - t]))
        for kernel, given, t in (
            (np.hstack([first, 1 - first]), scores, share),
            (np.eye(2), v, plain),
        )
    )
    labels = ("the share of largest error",)
    return _sized(labels, np.array([True]), intervals, open_survey, assumed, asked)


def _least_favourable(second: Vector, v: Vector) -> Vector:
    """The p of the largest Σ p_x s_x − (Σ p_x v_x)².

    At a given mean the first part is largest on at most two symbols, so pairs suffice, of the
    largest one for each value.
    """
    order = np.lexsort((second, v))
    some = order[np.append(np.diff(v[order]) != 0, True)]
    s, u = second[some], v[some]
    step = u - u[:, None]
    slope = s - s[:, None] - 2 * u[:, None] * step
    share = np.clip(slope / (2 * np.where(step == 0, np.inf, step) ** 2), 0, 1)
    value = s[:, None] * (1 - share) + share * s - (u[:, None] + share * step) ** 2
    i, j = np.unravel_index(value.argmax(), value.shape)
    found = np.zeros(len(v))
    found[some[i]] += 1 - share[i, j]
    found[some[j]] += share[i, j]
    return found
