"""``plan``: how many reports an error needs, or what error a number of reports gives; its inverse,
the smallest level at which so many reports keep an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleError, InputError, UntoldError
from ..kernel import is_small
from ..labels import Label, short_names
from ..mechanism import Mechanism, kernel_of, mechanism_of
from ..notebook import Tabular
from ..numeric import finite_number, truth_value
from ..prior import Prior
from ..privacy.free_level import as_family
from ..release._identifiability import FEWEST, ask, ask_as_designed, designed_question
from ..roots import LevelSearch, Probe
from ..solve._design import Design, find_design
from ..subsets import SubsetSelection
from ..utility.estimation import Asked, Estimation
from ..utility.questions import Question
from .assurance import ASSURANCE, MOST, NEAR, ROUNDING, Expected, Promise
from .references import CONFIDENCE, asked_for, refuse_other_than
from .widest import Widest, narrowest

Vector = NDArray[np.float64]

#: Reports that errors are shown for where no number is asked for.
REPORTS = 1000
# Kernels with more inputs or outputs are shown without errors: a decomposition takes too long.
_MOST_SHOWN = 500
#: What stands in place of the errors of larger ones.
NOT_SHOWN = (
    f"Errors of estimates are shown up to {_MOST_SHOWN} inputs and outputs; for more of them "
    "`mechdesign plan`, or md.plan, computes the errors of any number of reports."
)
# Precisions of levels that can be asked for; that of kernels themselves is a thousandth.
_PRECISIONS = 1e-6, 0.5


@dataclass(frozen=True)
class Plan(Tabular):
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
    standard_errors, open_errors : ``(F,)`` standard errors of the estimates, and of an open survey
        of as many people
    values : ``(F,)`` the answers at the assumed distribution, ``None`` without one
    design : the design that the plan is for, if it is for one
    best : with ``best=True`` the same plan for the kernel of the narrowest widest interval that was
        found under the same notions
    fewest : with ``best=True`` how many reports every kernel under these notions takes at least
        before all standard errors are as small as in normal intervals within ± ``error``, or
        within the widest one of ``best`` where reports are given, proved; ``None`` where floats
        cannot tell some answer of ``best``
    """

    labels: tuple[Label, ...]
    reports: float
    errors: Vector
    without_privacy: float
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
        # Without any error everything is known before anybody is asked.
        return self.reports / self.without_privacy if self.errors.any() else 1.0

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each label."""
        return [
            {"label": label, "error": float(error)}
            for label, error in zip(self.labels, self.errors, strict=True)
        ]

    def __repr__(self) -> str:
        where = "assumed" if self.assumed else "worst"
        told = "some answers are not told, however many reports there are"
        if math.isfinite(self.cost):
            told = (
                f"an open survey needs {self.without_privacy} (privacy costs {self.cost:.3g} times)"
            )
        rate = f"{100 * self.confidence:g} % intervals in {100 * self.assured:g} % of surveys"
        lines = [f"{self._size}, {rate} at the {where} distribution; {told}"]
        lines += [
            f"{name:<28}  ± " + (f"{error:.5f}" if math.isfinite(error) else "∞")
            for name, error in zip(short_names(self.labels, 28), self.errors, strict=True)
        ]
        if self.best is not None and self.best.design is not None:
            asked = ", ".join(map(str, self.best.design.notions))
            largest = self.best.errors.max(initial=0, where=np.isfinite(self.best.errors))
            lines.append(
                f"the kernel of the narrowest widest interval under {asked}: {self.best._size} "
                f"for ± {largest:.5f}"
                + ("" if self.fewest is None else f"; every kernel takes at least {self.fewest}")
            )
        return "\n".join(lines)

    @property
    def _size(self) -> str:
        return f"{self.reports if math.isfinite(self.reports) else 'no number of'} reports"


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
        Of the shares of a subset selection only the largest error is told.
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
    asked = Promise(error, reports, confidence, assurance)
    if (error is None) == (reports is None):
        raise InputError(
            "plan",
            expected="either an error or a number of reports",
            got="neither" if error is None else "both",
            remedy="pass error=0.01 or reports=10_000",
        )
    best = truth_value(best, "best")
    assumed = None if truth_value(worst, "worst") else (prior or getattr(mechanism, "prior", None))
    kernel = kernel_of(mechanism)
    if assumed is not None:
        kernel.check_prior(assumed)
    if isinstance(kernel, SubsetSelection):
        refuse_other_than(best=(best, False))
    only: dict[str, Any] = {"feature": (feature, None), "by": (by, "symbols")}
    if isinstance(kernel, SubsetSelection) and not (asked_for(only) and is_small(kernel)):
        refuse_other_than(**only)
        both = _largest_of_many(kernel, assumed, asked)
        return _sized(("the share of largest error",), both, assumed)
    question = ask_as_designed(mechanism, feature, by, hidden=best)
    made = _planned(mechanism, question, assumed, asked)
    if not best:
        return made
    if assumed is None:
        raise InputError(
            "best plan",
            expected="an assumed distribution",
            got="the worst one of each label",
            remedy="pass prior=…, without worst=True",
        )
    known, of, required = assumed, feature, getattr(mechanism, "requirements", ())
    if isinstance(mechanism, Design):
        known, privacy = mechanism.prior, mechanism.notions if privacy is None else privacy
    if of is None and question.labels != kernel.inputs:
        of = question.weights.T

    def designed(goal: Estimation) -> Design:
        return find_design(known, goal, privacy, subject_to=required)

    least = narrowest(designed, question, assumed, asked, of)
    other = _planned(least.design, question, assumed, asked)
    widest = float(other.errors.max()) if error is None else error
    if np.isinf(other.errors).any():  # rows too close for floats to tell apart
        return replace(made, best=other)
    normal = least.bound * (asked.quantile / widest) ** 2 if widest else 0
    fewest = max(1, math.ceil(normal * (1 - ROUNDING)))
    return replace(made, best=other, fewest=int(min(fewest, other.reports)))


def _planned(mechanism: Any, question: Question, assumed: Prior | None, asked: Promise) -> Plan:
    """The plan for one kernel; infinite where no number of reports suffices."""
    own = mechanism if isinstance(mechanism, Design) else None
    return _sized(question.labels, asked.expected(mechanism, question, assumed), assumed, own)


def _sized(
    labels: tuple[Label, ...],
    expected: tuple[Expected, Expected],
    assumed: Prior | None,
    design: Design | None = None,
) -> Plan:
    """Reports and errors for intervals of what is told, and for those of an open survey."""
    intervals, plain = expected
    asked = intervals.asked
    error, reports = asked.error, asked.reports or math.inf
    if error is not None:
        reports = intervals.reports(error, FEWEST)
    n = reports if math.isfinite(reports) else MOST
    errors = intervals.errors(n)
    largest = float(errors.max())
    if math.isinf(largest):
        largest = error or float(plain.errors(n).max())
    return Plan(
        labels,
        reports,
        errors,
        plain.reports(largest * (1 + ROUNDING), 1) if largest else 1,
        asked.confidence,
        asked.assurance,
        assumed,
        np.sqrt(intervals.variances / n),
        np.sqrt(plain.variances / n),
        None if assumed is None else plain.answers + plain.origin,
        design,
    )


def errors_to_show(mechanism: Any, prior: Prior, reports: int) -> Plan | None:
    """What a number of reports gives at a prior, before any is collected.

    The plan for the frequency of every symbol, and what else a design for estimates is about;
    errors that no number of reports brings down are infinite. ``None`` where that takes too long:
    then :data:`NOT_SHOWN`.
    """
    kernel = mechanism_of(mechanism)
    if max(kernel.shape) > _MOST_SHOWN:
        return None
    kernel.check_prior(prior)
    question, more = ask(kernel, hidden=True), designed_question(mechanism)
    if more is not None:
        new = [label not in question.labels for label in more.labels]
        question = Question(
            (*question.labels, *compress(more.labels, new)),
            np.hstack([question.weights, more.weights[:, new]]),
        )
    return _planned(mechanism, question, prior, Promise(None, reports))


def _largest_of_many(
    mechanism: SubsetSelection, assumed: Prior | None, asked: Promise
) -> tuple[Expected, Expected]:
    """Intervals of the share whose variance is the largest, and of an open survey.

    Its reports are counted as those of a kernel of two outputs whose scores have the same second
    moment, given the symbol, and given the others.
    """
    share = plain = 0.5
    variance, alike = mechanism.worst_variance, [len(mechanism.inputs)] * 2
    own = variance + 0.75
    if assumed is not None:
        p = assumed.probabilities
        variances = mechanism.variances(p)
        alike = [int((v >= NEAR * v.max()).sum()) for v in (variances, p * (1 - p))]
        x = variances.argmax()
        share, plain, variance = p[x], p[(p * (1 - p)).argmax()], variances[x]
        own = mechanism.variances(np.arange(len(p)) == x)[x] + 1
    others = (variance + share**2 - share * own) / max(1 - share, ROUNDING)
    middle = (own - others) / 2
    half = math.sqrt(middle**2 + others)
    v, scores = np.eye(2)[:, :1], middle + half * np.array([[1.0], [-1.0]])
    first = np.clip((v - scores[1]) / (2 * half), 0, 1)
    return (
        Expected(
            *(asked, np.hstack([first, 1 - first]), v, scores, np.array([share, 1 - share])),
            alike=alike[0],
        ),
        Expected(asked, np.eye(2), v, v, np.array([plain, 1 - plain]), alike=alike[1]),
    )


@dataclass(frozen=True, eq=False)
class SmallestForReports:
    """The smallest level at which a number of reports keeps an error, between two numbers.

    Attributes
    ----------
    family : the notion as a function of the level, as it is written
    asked : reports, error, confidence and assurance
    level : a level in nats at which every interval of ``design`` is within ± ``error``
    below : a level at which every kernel has a share whose standard error is too large for a normal
        interval of that width, as the bound of designs proves; 0 where that is so at level zero,
        and ``None`` where level zero suffices or nothing is proved. Intervals of estimates are
        wider than normal ones, by little where reports are many, so that levels between ``below``
        and ``level`` may be too small as well.
    design : the certified design at ``level``
    plan : the intervals that it has with so many reports
    error_below : at ``below`` every kernel has a share whose normal interval has at least this
        half-width, its standard error times the normal quantile; ``None`` where none lets every
        share be estimated and does the rest
    steps : how many levels were designed for
    """

    family: str
    asked: Promise
    level: float
    below: float | None
    design: Design
    plan: Plan
    error_below: float | None
    steps: int

    def __repr__(self) -> str:
        asked, below = self.asked, f"below {self.below!r}: "
        if self.below is None:
            below = "no smaller one: it is reached at level zero"
            if self.level:
                below = "no smaller one was proved to be too small"
        elif self.error_below is None:
            below += "no kernel lets every share be estimated and does the rest, proved"
        else:
            below += (
                "every kernel has a share whose standard error makes "
                f"± {self.error_below:.6g} or more of a normal interval, proved"
            )
        return (
            f"Smallest level of {self.family} at which {asked.reports} reports keep every "
            f"{100 * asked.confidence:g} % interval within ± {asked.error:.12g} in "
            f"{100 * asked.assurance:g} % of surveys\nlevel {self.level!r}: "
            f"± {float(self.plan.errors.max()):.6g} at most, by a certified design "
            f"({self.design.method})\n{below}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Probe(Probe):
    """A kernel with its intervals; none where what is asked clashes or nothing is told."""

    found: Widest | None = None
    failure: InfeasibleError | UntoldError | None = None


def smallest_for_reports(
    notion: Any,
    prior: Prior,
    *,
    reports: int,
    error: float,
    confidence: float = CONFIDENCE,
    assurance: float = ASSURANCE,
    subject_to: Any = (),
    precision: float = 1e-3,
    time_limit: float | None = None,
    progress: bool = False,
) -> SmallestForReports:
    """The smallest level of a notion at which ``reports`` keep every interval within ± ``error``.

    The inverse of :func:`plan` at the prior: at ``level`` a certified kernel does that, and at
    ``below`` the standard errors of every kernel are too large for normal intervals of that width.
    Kernels are those whose largest standard error is the smallest, found to a thousandth. Intervals
    are computed in floats, as in :func:`plan`.

    Parameters
    ----------
    notion : class, text or function
        A notion with one level left free, as for :func:`smallest`.
    prior, subject_to, time_limit : as for :func:`design`
    reports, error, confidence, assurance : as for :func:`plan`, both of the first two
    precision : float
        How far ``below`` may be under ``level``, as a share of it. Where no bound decides between
        the two, they are farther apart.
    progress : bool
        Show the number of levels on standard error.

    Raises
    ------
    InfeasibleError
        When no level does, as an open survey of so many people does not, or requirements forbid.
    LevelError
        For what is no notion with a free level.
    InputError
        For numbers without meaning, and what :func:`design` raises.
    """
    asked, family = Promise(error, reports, confidence, assurance), as_family(notion)
    share = finite_number(precision, "precision", *_PRECISIONS)
    known = prior.restricted()
    question = Question(known.labels, np.eye(len(known)))

    def probe(level: float) -> _Probe:
        notions = family.at(level)

        def designed(goal: Any) -> Design:
            return find_design(known, goal, notions, time_limit=time_limit, subject_to=subject_to)

        try:
            found = narrowest(designed, question, known, asked)
        except (InfeasibleError, UntoldError) as failure:
            return _Probe(level=level, misses=getattr(failure, "is_proved", True), failure=failure)
        # Kernels are the best only as far as it takes to decide, so that a secant would mislead.
        misses = found.bound > asked.largest_variance
        return _Probe(level=level, reaches=found.intervals.keeps, misses=misses, found=found)

    search = LevelSearch(probe, progress=progress)
    low, high = search.narrowed(share)
    if high.found is None or not high.reaches:
        _, everything = asked.expected(Mechanism(question.weights, known.labels), question, known)
        raise high.failure or InfeasibleError(
            f"at no level of {family.name} that was tried {reports} reports keep every interval "
            f"within ± {error:.12g}; an open survey of as many people has one of "
            f"± {everything.errors(reports).max():.4g}; ask for a larger error or more reports",
            (family.name,),
        )
    below = None
    if low is not None and low.found is not None:
        below = asked.quantile * math.sqrt(low.found.bound / reports)
    design = high.found.design
    return SmallestForReports(
        family.name,
        asked,
        high.level,
        None if low is None else low.level,
        design,
        plan(design, reports=reports, confidence=confidence, assurance=assurance),
        below,
        len(search.probes),
    )
