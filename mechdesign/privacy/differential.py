"""Notions that compare the likelihoods of two symbols, whatever the prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..prior import Prior
from .hypotheses import Bound, Hypotheses
from .notion import LikelihoodBound


@dataclass(frozen=True)
class LDP(LikelihoodBound):
    """ε-local differential privacy: P(y|x) ≤ e^ε P(y|x') for every y and every pair of symbols.

    It does not depend on the prior, so symbols of zero mass count as well. Source: [Duchi2013];
    [GrosseID] Definition 4.
    """

    epsilon: float
    references: ClassVar = ("Duchi2013", "Kairouz2016", "GrosseID")

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, δ_x') for every ordered pair."""
        points = Hypotheses.points(prior)
        return [Bound(points, points, self.epsilon)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """Log max_x P(y|x) − log min_x P(y|x), an ``(M,)`` array in nats."""
        top, low = kernel.max(axis=0), kernel.min(axis=0)
        with np.errstate(divide="ignore"):
            return np.log(np.where(top > 0, top, 1.0)) - np.log(np.where(top > 0, low, 1.0))
