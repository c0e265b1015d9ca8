"""From limits on likelihoods to limits on levels of sums over outcomes.

All limits on likelihoods hold at once, so that every sum of them holds with them: a sum of column
maxima is at least that of the largest lower limits, and at most that of the largest upper limits.
So it is with column minima, and with what a hypothesis has in excess of e^ε times another one. Such
limits are wider than those of a single ratio, by the number of outcomes that are counted. A
partition with few groups may say more: putting outcomes together never raises a sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..privacy.average import MaximalCostLeakage, MaximalLeakage
from ..privacy.notion import AverageNotion, DeltaNotion
from ..privacy.sums import SumConstraint, SumLimits
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
    parts: tuple[tuple[SumConstraint, NDArray[np.intp], NDArray[np.intp]], ...]

    @property
    def pairs(self) -> tuple[()]:
        """None: no single ratio is bounded."""
        return ()


def sum_limits(asked: AskedSum, lower: Array, upper: Array) -> SumLimits:
    """Limits on the level of a notion from limits ``(H, M)`` on likelihoods of all outcomes."""
    best = SumLimits(0.0, 0.0, 0, "", "")
    highest = 0.0
    for constraint, over, under in asked.parts:
        sides = (lower[over], upper[over]), (lower[under], upper[under])
        for found in constraint.limits(*sides):
            highest = max(highest, found.upper)
            if found.lower > best.lower or not best.over:
                best = found
    return SumLimits(best.lower, highest, best.output, best.over, best.under)


def unbounded_sum(asked: AskedSum) -> float:
    """The largest level that a kernel can have, whatever is reported."""
    return max(constraint.largest for constraint, _, _ in asked.parts)
