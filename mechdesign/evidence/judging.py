"""From counts to verdicts: limits on every level, p-values, how many reports would tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..labels import Label
from ..progress import advance, stage
from .findings import LevelLimits, SampleFinding, SampleVerdict, evidence_of, shown, shown_p
from .hypotheses import Asked, Pairs, Questions, downward, upward
from .limits import STEPS, Array, Error, likelihood_limits
from .sums import AskedSum, Reach

# Logarithms of the smallest p-value, and halvings of what is left.
_LEAST_LOG, _HALVINGS = -690.0, 24
#: Halvings of limits where no verdict that is told hangs on them.
ROUGH = 30
# How many times as many reports are considered, as a power of two, and steps that refine it.
_DOUBLINGS, _REFINED = 24, 6
# Outcomes that are looked at to say how many reports would tell.
_LOOKED_AT = 40
# From so many reports on, where half of them are unlike all others, more of them would be too.
_MANY_ALONE = 100


@dataclass(frozen=True, eq=False)
class Evidence:
    """Counts of reports, in stages, and what is asked of them.

    The numbers of reports of a stage may depend on those before it, and on nothing in the stage
    itself, so that the limits of each hold on their own; each stage is given the same error.

    Attributes
    ----------
    questions : hypotheses and pairs
    stages : ``(N, M)`` counts of each stage
    planned : number of stages that the error is divided between
    known : number of outcomes where they are all stated, else ``None``
    is_whole : whether counted outcomes are all that the mechanism tells: stated, not grouped
    is_grouped : whether groups of reports are counted
    """

    questions: Questions
    stages: tuple[Array, ...]
    planned: int
    known: int | None
    is_whole: bool
    is_grouped: bool = False

    @property
    def pooled(self) -> Array:
        """Counts of all stages together."""
        found: Array = np.sum(self.stages, axis=0)
        return found

    @property
    def is_too_fine(self) -> bool:
        """Whether reports are hardly ever the same, as numbers with a fraction are."""
        if self.is_grouped or self.known is not None:
            return False
        times = self.pooled.sum(axis=0)
        total = float(times.sum())
        return total >= _MANY_ALONE and int((times == 1).sum()) >= total / 2

    def _error(self, alpha: float) -> Error:
        sides = 2 * len(self.questions.hypotheses) * self.planned
        return Error(alpha / max(1, sides), self.known)

    def limits(self, alpha: float, steps: int = STEPS) -> tuple[Array, Array]:
        """Limits ``(H, M)`` on all likelihoods that hold together at a total error."""
        return self._limits(alpha, self.stages, range(len(self.questions.hypotheses)), steps)

    def _limits(
        self, alpha: float, stages: Sequence[Array], which: Sequence[int], steps: int
    ) -> tuple[Array, Array]:
        hypotheses = [self.questions.hypotheses[h] for h in which]
        error = self._error(alpha)
        found = [
            likelihood_limits(counts, totals, hypotheses, error, steps)
            for counts, totals in zip(stages, self._totals, strict=True)
        ]
        return np.max([low for low, _ in found], axis=0), np.min([up for _, up in found], axis=0)

    @property
    def _totals(self) -> list[Array]:
        return [counts.sum(axis=1) for counts in self.stages]

    def p_value(self, asked: Asked | AskedSum, found: Sequence[Judged]) -> float:
        """The smallest total error at which a notion is above one of its levels, rounded up."""
        claims = asked.notion.levels
        if isinstance(asked, AskedSum):
            return _least_error(
                lambda log: _above(asked.reaches(*self.limits(math.exp(log), ROUGH))[0], claims[0])
            )
        both = zip(asked.pairs, found, claims, strict=True)
        return min(self._p_value(pairs, one.reach, claimed) for pairs, one, claimed in both)

    def _p_value(self, pairs: Pairs, place: Reach, claimed: float) -> float:
        """The same of one pair at one outcome."""
        if place.pair < 0 or claimed == math.inf:
            advance(_HALVINGS)
            return 1.0
        which = [int(pairs.over[place.pair]), int(pairs.under[place.pair])]
        one = pairs.part(slice(place.pair, place.pair + 1))
        column = [counts[:, [place.output]] for counts in self.stages]

        def breaks(log: float) -> bool:
            lower, upper = self._limits(math.exp(log), column, which, ROUGH)
            ratio = np.array([lower[0, 0] / upper[1, 0]])
            return downward(float(one.levels(ratio)[0])) > claimed

        return _least_error(breaks)

    def estimates(self, smoothed: float = 0.0) -> Array:
        """Frequencies of all hypotheses, ``(H, M)``, with so many reports added to each outcome."""
        counts = self.pooled
        totals = np.maximum(counts.sum(axis=1) + 2 * smoothed, 1e-300)
        hypotheses = self.questions.hypotheses
        return np.array([found.estimate(counts + smoothed, totals) for found in hypotheses])

    def times(self, factor: float) -> Evidence:
        """What so many times as many reports with the same frequencies would be, in one stage."""
        return replace(self, stages=(self.pooled * factor,), planned=1)

    def of_outcomes(self, outcomes: NDArray[np.intp]) -> Evidence:
        """The evidence of some outcomes; all others make one more."""
        stages = tuple(
            np.concatenate(
                [counts[:, outcomes], np.delete(counts, outcomes, axis=1).sum(axis=1)[:, None]],
                axis=1,
            )
            for counts in self.stages
        )
        return replace(self, stages=stages)


def _least_error(breaks: Callable[[float], bool]) -> float:
    """The smallest error, of which ``breaks`` takes the logarithm, that is enough; 1 if none is."""
    if not breaks(0.0):
        advance(_HALVINGS)
        return 1.0
    low, high = _LEAST_LOG, 0.0
    for _ in range(_HALVINGS):
        advance()
        middle = (low + high) / 2
        low, high = (low, middle) if breaks(middle) else (middle, high)
    return math.exp(high)


@dataclass(frozen=True)
class Judged:
    """Limits on one level of a notion, rounded outwards.

    ``upper_of_counted`` is about the outcomes that were counted, ``upper`` about all.
    """

    reach: Reach
    lower: float
    upper: float
    upper_of_counted: float

    @classmethod
    def of(cls, reach: Reach, *, is_whole: bool) -> Judged:
        """From what a level may be, of all outcomes or of those that were counted."""
        counted = upward(reach.upper)
        upper = counted if is_whole else max(counted, upward(reach.unbounded))
        return cls(reach, downward(reach.lower), upper, counted)


def _above(reach: Reach, claimed: float) -> bool:
    return downward(reach.lower) > claimed


Found = tuple[Asked | AskedSum, list[Judged], SampleVerdict]


def _judged(evidence: Evidence, asked: Asked | AskedSum, lower: Array, upper: Array) -> Found:
    """Violated above a claim, consistent at or below all of them."""
    reaches = asked.reaches(lower, upper)
    found = [Judged.of(reach, is_whole=evidence.is_whole) for reach in reaches]
    claims = list(zip(asked.notion.levels, found, strict=True))
    verdict = SampleVerdict.CANNOT_TELL
    if any(one.lower > claimed for claimed, one in claims):
        verdict = SampleVerdict.VIOLATED
    elif all(one.upper <= claimed for claimed, one in claims):
        verdict = SampleVerdict.CONSISTENT
    return asked, found, verdict


def judge(evidence: Evidence, alpha: float, steps: int = STEPS) -> list[Found]:
    """Every notion that is asked, at a total error; fewer halvings give wider limits."""
    lower, upper = evidence.limits(alpha, steps)
    return [_judged(evidence, asked, lower, upper) for asked in evidence.questions.asked]


def findings(
    evidence: Evidence, alpha: float, outputs: Sequence[Label]
) -> tuple[SampleFinding, ...]:
    """What the evidence says about every notion, with p-values and reasons."""
    found = judge(evidence, alpha)
    levels = sum(len(judged) for _, judged, _ in found)
    with stage("p-values", total=_HALVINGS * levels):
        return tuple(_finding(evidence, alpha, outputs, *each) for each in found)


def _finding(
    evidence: Evidence,
    alpha: float,
    outputs: Sequence[Label],
    asked: Asked | AskedSum,
    judged: list[Judged],
    verdict: SampleVerdict,
) -> SampleFinding:
    frequencies, notion = evidence.estimates(), asked.notion
    estimates = asked.reaches(frequencies, frequencies)
    levels = tuple(
        LevelLimits(
            field,
            claimed,
            one.lower,
            one.upper,
            one.upper_of_counted,
            estimate.lower,
            outputs[one.reach.output],
            one.reach.over,
            one.reach.under,
            one.reach.scale,
            one.reach.has_scales,
        )
        for field, claimed, one, estimate in zip(
            notion.level_fields, notion.levels, judged, estimates, strict=True
        )
    )
    p_value = evidence.p_value(asked, judged)
    needed = None
    if verdict is SampleVerdict.CANNOT_TELL and not evidence.is_too_fine:
        needed = reports_needed(evidence, asked, alpha)
    reason = _reason(evidence, verdict, levels, p_value, needed)
    return SampleFinding(notion, verdict, levels, p_value, needed, reason)


def reports_needed(evidence: Evidence, asked: Asked | AskedSum, alpha: float) -> int | None:
    """About how many reports would settle a notion, if frequencies stayed as they are."""
    total = float(evidence.pooled.sum())
    outcomes = evidence.stages[0].shape[1]
    if outcomes > _LOOKED_AT and isinstance(asked, Asked):
        evidence = evidence.of_outcomes(_interesting(evidence, asked))

    def settles(factor: float) -> bool:
        advance()
        more = evidence.times(factor)
        verdict = _judged(more, asked, *more.limits(alpha, ROUGH))[2]
        return verdict is not SampleVerdict.CANNOT_TELL

    with stage("reports that would tell", total=_DOUBLINGS // 2 + _REFINED):
        power = next((k for k in range(2, _DOUBLINGS + 1, 2) if settles(2.0**k)), None)
        if power is None:
            return None
        low, high = float(power - 2), float(power)
        for _ in range(_REFINED):
            middle = (low + high) / 2
            low, high = (low, middle) if settles(2.0**middle) else (middle, high)
    number = total * 2.0**high
    size = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / size) * size


def _interesting(evidence: Evidence, asked: Asked) -> NDArray[np.intp]:
    """The outcomes at which the smoothed frequencies give the largest levels."""
    found = evidence.estimates(0.5)
    top = np.zeros(found.shape[1])
    for pairs in asked.pairs:
        for part in pairs.parts(found.shape[1]):
            top = np.maximum(top, part.levels(found[part.over] / found[part.under]).max(axis=0))
    return np.sort(np.argsort(-top, kind="stable")[: _LOOKED_AT - 1])


def _reason(
    evidence: Evidence,
    verdict: SampleVerdict,
    levels: Sequence[LevelLimits],
    p_value: float,
    needed: int | None,
) -> str:
    if verdict is SampleVerdict.VIOLATED:
        worst = max(levels, key=lambda level: level.lower - level.claimed)
        return (
            f"the level is at least {shown(worst.lower)} at {evidence_of(worst)} "
            f"(p-value {shown_p(p_value)})"
        )
    if verdict is SampleVerdict.CONSISTENT:
        return "every upper limit is at or below what is claimed"
    over = [level for level in levels if level.upper > level.claimed]
    worst = max(over, key=lambda level: level.upper - level.claimed)
    text = f"nothing contradicts it, but a level up to {shown(worst.upper)} is not excluded"
    if worst.upper == math.inf:
        text = "nothing contradicts it, but no level is excluded"
    if all(level.upper_of_counted <= level.claimed for level in levels):
        text = "what was counted is consistent, but "
        if evidence.is_grouped:
            return text + "groups of reports do not show what a report tells beyond its group"
        return text + (
            "outcomes that never occurred may tell anything; state all outcomes with outputs= "
            "(--outputs)"
        )
    if evidence.is_too_fine:
        return f"{text}; hardly any report occurs twice: put them into groups with partition="
    if needed is not None:
        return f"{text}; about {needed:,} reports would tell, if frequencies stay as they are"
    if not evidence.is_whole and all(level.estimate <= level.claimed for level in levels):
        why = "groups are counted" if evidence.is_grouped else "not all outcomes are stated"
        return f"{text}; samples cannot show it to be kept, as {why}"
    return f"{text}; no number of reports that is worth trying would tell"
