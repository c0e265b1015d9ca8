"""The one estimate: unbiased answers to a question from reports of a kernel, with their intervals.

Weights of reports a with K a = V make Σ f_y a_y an unbiased answer. Its covariance is that of the
scores a_y of rows as they were drawn, and no less than the noise that the kernel is known to add;
its interval inverts the distribution of a coin that has their moments (:mod:`.intervals`). Whatever
is estimated is such an answer: joint tables are questions to the product of kernels, rounds are one
report of a mixture of theirs, groups are questions about some of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, MisfitWarning, PrecisionWarning, quote, warn
from ..exact import is_whole
from ..kernel import MatrixKernel
from ..release.codes import check_choice
from ..release.reports import Sample
from ..utility.questions import Question
from .intervals import Sampling
from .likelihood import Convergence, Fitted, maximise
from .observed import Observed, answers_of, roots
from .pilots import shrunk_truth
from .references import CONFIDENCE, rate_of
from .results import Estimate, GroupEstimates
from .surveys import Survey, Units, check_single, drawn_by, groups_of, student_limits

Vector = NDArray[np.float64]

PLAN_TELLS = "md.plan (mechdesign plan) says how many would"
# Tosses of a coin on its rarer side from which on normal limits are given where they are asked for.
_FEW_EVENTS = 30
# Estimates from reports that fit the mechanism with a smaller probability are refused.
_MISFIT = 1e-6
MISFIT_REMEDY = (
    "check that it made them, that nobody changed them and that they are no raw data; "
    "misfit='warn' (--misfit warn) estimates all the same"
)


@dataclass(frozen=True, eq=False)
class Options:
    """What estimates are asked for, checked.

    Raises :class:`UnknownNameError` or :class:`InputError` for options without a meaning.
    """

    method: str = "inversion"
    intervals: str = "binomial"
    confidence: float = CONFIDENCE
    target: str = "population"
    misfit: str = "error"
    by: str = "symbols"
    resamples: int = 1000
    rng: Any = None

    def __post_init__(self) -> None:
        check_choice("method of estimation", self.method, ("inversion", "likelihood"))
        check_choice("intervals", self.intervals, ("binomial", "delta", "bootstrap"))
        check_choice("target", self.target, ("population", "sample"))
        check_choice("what to do about a misfit", self.misfit, ("error", "warn"))
        check_choice("what to estimate (by)", self.by, ("symbols", "blocks"))
        object.__setattr__(self, "confidence", rate_of(self.confidence))
        if not is_whole(self.resamples, 2):
            raise InputError(
                "resamples",
                expected="an integer of at least 2",
                got=quote(self.resamples),
                remedy="pass 1000, or leave it out",
            )
        try:
            object.__setattr__(self, "rng", np.random.default_rng(self.rng))
        except Exception:  # numpy asks the value what it is, which may fail in any way
            raise InputError(
                "rng of the bootstrap",
                expected="a non-negative integer or a NumPy generator",
                got=quote(self.rng),
                remedy="pass for example rng=1",
            ) from None

    @property
    def told(self) -> dict[str, Any]:
        """What estimates say of themselves."""
        names = ("method", "intervals", "confidence", "target")
        return {name: getattr(self, name) for name in names}

    def judge(self, fit: float, name: str = "reports") -> None:
        """Refuse reports, or warn of them, that the mechanism makes next to never.

        ``fit`` bounds the probability of such reports whatever the secrets are, so that of a
        million honest estimates at most one is refused.
        """
        if fit >= _MISFIT:
            return
        if self.misfit == "error":
            raise DataError(
                name,
                expected="reports of this mechanism",
                got=f"some that it makes with probability {fit:.1g} at most, whatever the secrets "
                "are",
                remedy=MISFIT_REMEDY,
            )
        warn(
            f"such {name} have probability {fit:.1g} at most from this mechanism, whatever the "
            "distribution of the secret; check that it made them and that nobody changed them",
            MisfitWarning,
        )


def answered(
    kernel: MatrixKernel,
    question: Question,
    scores: Vector,
    sample: Sample,
    fitted: Fitted,
    options: Options,
    *,
    prior: Vector,
    survey: Survey | None = None,
    spread: Vector | None = None,
    kind: Any = Estimate,
    **told: Any,
) -> GroupEstimates:
    """The question answered from the rows of a sample, for each group of it, of one group for all.

    Parameters
    ----------
    scores : ``(M, F)`` weights of reports, with K a = V
    fitted : what all reports together say of the secrets
    prior : ``(N,)``, what the shrunk distribution is drawn to
    spread : covariance ``(F, F)`` of what people count for, if it is not that of one kernel
    kind, told : what the estimates are, and what they say of the reports

    Raises :class:`DataError` for weights, strata, clusters or a population that cannot be used.
    """
    survey, matrix, is_drawn = survey or Survey(), kernel.matrix, options.target == "population"
    drawn, by_design = drawn_by(survey, sample), bool(survey.asked)
    if by_design and is_drawn:
        check_single(drawn, survey.strata)
    names, places = groups_of(survey, sample, drawn)
    # Totals of weights that are left to chance stay as they are.
    origin = question.origin * (survey.weighting == "hajek")
    scores, values = scores - origin, question.weights - origin
    total = drawn.population if survey.weighting != "hajek" else None
    units = Units(sample, drawn, places, scores, total)
    likely, ways = fitted.likely[None], [fitted.convergence]
    if by_design:
        likely, gaps, steps = maximise(matrix, units.frequencies)
        ways = [Convergence(steps, gap) for gap in gaps.tolist()]
    heavy = likely
    if any(np.ptp(part.weights) > 0 for part in units.parts):
        heavy = maximise(matrix, units.squared)[0]
    seen = []
    for i, part in enumerate(units.parts):
        how = part.sampling(options.target)
        if not by_design:
            how = Sampling(how.size, fraction=how.fraction)
        between = units.between(i, i)[0] if by_design and is_drawn else None
        parts = units.frequencies[i], likely[i], heavy[i], scores, values, how, origin
        of_all = between, float(part.weights @ part.repeats), spread
        seen.append(Observed(matrix, *parts, *of_all, options.method == "likelihood"))
    ends = np.reshape(answers_of(seen).limits(1 - options.confidence), (2, len(seen), -1))
    made = []
    for i, one in enumerate(seen):
        people, effective = int(units.parts[i].repeats.sum()), float(one.sampling.size)
        like_people = one.frequencies, max(1, round(effective))
        made.append(
            kind(
                question.labels,
                *_with_limits(one, people, ends[:, i], options),
                one.covariance,
                people,
                distribution=one.likely,
                convergence=ways[i],
                shrunk=shrunk_truth(kernel, one.likely, prior, *like_people),
                schema=kernel.schema,
                noise=roots(one.noise),
                strata=len(drawn.units),
                clusters=0 if drawn.clusters is None else int(drawn.units.sum()),
                freedom=float(one.sampling.freedom),
                effective=effective,
                weighting=survey.weighting,
                group=names[i],
                by_design=by_design,
                observed=one,
                fit=fitted.fit,
                **options.told,
                **told,
            )
        )

    def cross(i: int, j: int) -> tuple[Vector, int]:
        if i == j:
            return made[i].covariance, 0
        # Of these people reports are drawn one by one, whoever lives together.
        return units.between(i, j) if is_drawn else (np.zeros_like(made[i].covariance), 0)

    return GroupEstimates(survey.by_group or "", tuple(names), tuple(made), cross)


def _with_limits(
    observed: Observed, reports: int, ends: Vector, options: Options
) -> tuple[Vector, Vector, Vector, Vector]:
    """Answers, their errors and limits as asked for: the one interval where others would fail."""
    values, errors, (lower, upper) = observed.estimates, roots(observed.covariance), ends
    if options.intervals != "binomial":
        answers = answers_of([observed])
        former = student_limits(values, errors, options.confidence, np.inf)
        if options.intervals == "bootstrap":
            drawn, centre = (
                _simulated(observed, reports, options),
                observed.likely @ observed.values,
            )
            again = drawn @ observed.scores
            if observed.is_likely:
                again = maximise(observed.kernel, drawn)[0] @ observed.values
            errors = np.maximum(again.std(axis=0, ddof=1), roots(observed.noise))
            tail = (1 - options.confidence) / 2
            low, high = np.quantile(again, [tail, 1 - tail], axis=0) - centre
            # The errors of the simulation, turned around an unbiased estimate.
            former = (low, high) if observed.is_likely else (-high, -low)
            former = values + former[0], values + former[1]
        many = answers.events() >= _FEW_EVENTS
        # At an end of what is possible they would have no width.
        many &= (answers.low < values) & (values < answers.high)
        lower, upper = np.where(many, np.clip(former, answers.low, answers.high), ends)
    if observed.is_likely:
        lower, upper = np.minimum(lower, values), np.maximum(upper, values)
    return values, errors, lower, upper


def _simulated(observed: Observed, reports: int, options: Options) -> Vector:
    """Simulated frequencies of reports, ``(B, M)``, at the likeliest distribution."""
    people, rows = np.array([reports]), observed.likely[None] @ observed.kernel
    if options.target == "sample":
        # Integers near the expected numbers, largest remainders first.
        expected, rows = observed.likely * reports, observed.kernel
        people = np.floor(expected).astype(int)
        people[np.argsort(people - expected)[: reports - people.sum()]] += 1
    drawn = [
        options.rng.multinomial(count, row / row.sum(), options.resamples)
        for count, row in zip(people, rows, strict=True)
        if count
    ]
    return np.sum(drawn, axis=0) / reports


def warn_of_half(reports: int, what: str, half: float, remedy: str = PLAN_TELLS) -> None:
    """Warn of what has errors of ± ``half``, which say next to nothing."""
    warn(
        f"{reports} reports say next to nothing about {what} ± {half:.2g}); {remedy}",
        PrecisionWarning,
    )


def warn_of_errors(made: Estimate) -> None:
    """Warn of answers that so many reports leave open, and of a likelihood short of its maximum."""
    width = np.ptp(made.observed.values, axis=0)
    blind = made.errors * 1.96 >= width / 2
    if blind.any() and width.any():
        names = [label for label, b in zip(made.labels, blind, strict=True) if b]
        of_all = f"{len(names)} of {len(made.labels)} numbers (such as {names[0]!r}:"
        warn_of_half(made.reports, of_all, 1.96 * float(made.errors[blind][0]))
    if not made.convergence.converged and made.method == "likelihood":
        warn(
            f"the likelihood is within {made.convergence.gap:.1g} nats per report of its maximum, "
            "not closer; the estimate may move in its last digits",
            PrecisionWarning,
        )
