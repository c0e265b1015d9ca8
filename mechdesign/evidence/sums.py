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


@dataclass(frozen=True)
class Reach:
    """How large a level may be where limits on likelihoods hold.

    Attributes
    ----------
    lower, upper : of the outcomes that were counted
    unbounded : the largest that it can be, whatever is reported
    output, over, under : the outcome and the hypotheses with the largest lower limit
    pair : the position of these two among those compared, -1 for none
    scale : what the level is multiplied by for these two
    has_scales : whether some pair multiplies the level by something else than 1
    """

    lower: float
    upper: float
    unbounded: float
    output: int
    over: str
    under: str
    pair: int = -1
    scale: float = 1.0
    has_scales: bool = False


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

    def reaches(self, lower: Array, upper: Array) -> list[Reach]:
        """Of its one level, from limits ``(H, M)`` on likelihoods of all outcomes."""
        best, highest = SumLimits(0.0, 0.0, 0, "", ""), 0.0
        for constraint, over, under in self.parts:
            sides = (lower[over], upper[over]), (lower[under], upper[under])
            for found in constraint.limits(*sides):
                highest = max(highest, found.upper)
                if found.lower > best.lower or not best.over:
                    best = found
        most = max(constraint.largest for constraint, _, _ in self.parts)
        return [Reach(best.lower, highest, most, best.output, best.over, best.under)]
