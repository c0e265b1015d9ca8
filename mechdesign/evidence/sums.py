"""From limits on likelihoods to limits on levels of sums over outcomes.

All limits on likelihoods hold at once, so that every sum of them holds with them: a sum of column
maxima is at least that of the largest lower limits, and at most that of the largest upper limits.
So it is with column minima, and with what a hypothesis has in excess of e^ε times another one. Such
limits are wider than those of a single ratio, by the number of outcomes that are counted. A
partition with few groups may say more: putting outcomes together never raises a sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..privacy.average import MaximalCostLeakage, MaximalLeakage
from ..privacy.notion import AverageNotion, DeltaNotion
from ..privacy.sums import ColumnMaxima, ColumnMinima, HockeyStick, least_level
from .limits import Array

#: Notions that bound sums and have limits.
SUMS = (MaximalLeakage, MaximalCostLeakage, DeltaNotion)


@dataclass(frozen=True, eq=False)
class AskedSum:
    """A notion that bounds sums over outcomes.

    Attributes
    ----------
    notion : one of :data:`SUMS`
    parts : its sums, each with the positions of its hypotheses among all, both sides of pairs where
        it compares pairs
    """

    notion: AverageNotion
    parts: tuple[tuple[Any, NDArray[np.intp], NDArray[np.intp]], ...]

    @property
    def pairs(self) -> tuple[()]:
        """None: no single ratio is bounded."""
        return ()


@dataclass(frozen=True)
class SumLimits:
    """Limits on a level, and what the lower one compares, mostly at which outcome."""

    lower: float
    upper: float
    output: int
    over: str
    under: str


def sum_limits(asked: AskedSum, lower: Array, upper: Array) -> SumLimits:
    """Limits on the level of a notion from limits ``(H, M)`` on likelihoods of all outcomes."""
    best = SumLimits(0.0, 0.0, 0, "", "")
    highest = 0.0
    for constraint, over, under in asked.parts:
        for found in _limits(constraint, over, under, lower, upper):
            highest = max(highest, found.upper)
            if found.lower > best.lower or not best.over:
                best = found
    return SumLimits(best.lower, highest, best.output, best.over, best.under)


def unbounded_sum(asked: AskedSum) -> float:
    """The largest level that a kernel can have, whatever is reported."""
    sizes = [len(over) for constraint, over, _ in asked.parts if type(constraint) is ColumnMaxima]
    return math.log(max(sizes)) if len(sizes) == len(asked.parts) else math.inf


def _limits(
    constraint: Any,
    over: NDArray[np.intp],
    under: NDArray[np.intp],
    lower: Array,
    upper: Array,
) -> list[SumLimits]:
    low, high = lower[over], upper[over]
    if isinstance(constraint, ColumnMaxima):
        least, most = low.max(axis=0), high.max(axis=0)
        y = int((least - high.min(axis=0)).argmax())
        first, last = (math.log(max(1.0, math.fsum(v))) for v in (least, most))
        return [SumLimits(first, last, y, "the sum of column maxima", "one")]
    if isinstance(constraint, ColumnMinima):
        least, most = low.min(axis=0), high.min(axis=0)
        y = int((low.max(axis=0) - most).argmax())
        first, last = (_cost(math.fsum(v)) for v in (most, least))
        return [SumLimits(first, last, y, "one", "the sum of column minima")]
    assert isinstance(constraint, HockeyStick)
    found = []
    for k, (a, b) in enumerate(zip(over, under, strict=True)):
        found.append(
            SumLimits(
                least_level(lower[a], upper[b], constraint.delta),
                least_level(upper[a], lower[b], constraint.delta),
                int((lower[a] - upper[b]).argmax()),
                constraint.over.names[k],
                constraint.under.names[k],
            )
        )
    return found


def _cost(common: float) -> float:
    return max(0.0, -math.log(common)) if common > 0 else math.inf
