"""Notions that compare the posterior of the secret with its prior, outcome by outcome.

With lift(x, y) = P(x|y)/P(x) = K[x,y]/q[y] and i = log lift, all leakages in nats:

======  =====================================  ===========================
notion  asks for every outcome y               pairs of hypotheses (μ, ν)
======  =====================================  ===========================
PML     max_x i(x;y) ≤ ε                       (δ_x, prior)
PMC     max_x −i(x;y) ≤ ε                      (prior, δ_x)
LIP     −ε ≤ i(x;y) ≤ ε                        both
ALIP    −ε_l ≤ i(x;y) ≤ ε_u                    both, each at its level
======  =====================================  ===========================

x runs over the symbols of positive mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..exact import Verdict, compare_with_exp, log_upper
from ..prior import Prior, as_prior
from .constraint import Array, Bound, Hypotheses
from .notion import LikelihoodBound, checked_level


def log_lift(kernel: Array, prior: Prior) -> Array:
    """Log K[x,y]/q[y] on the support, ``(n, M)``; 0 for outcomes of probability zero."""
    p = prior.probabilities[prior.support]
    rows = kernel[prior.support]
    q = p @ rows
    used = q > 0
    found = np.zeros(rows.shape)
    with np.errstate(divide="ignore"):
        found[:, used] = np.log(rows[:, used]) - np.log(q[used])
    return found


@dataclass(frozen=True)
class PML(LikelihoodBound):
    """ε-pointwise maximal leakage: max_x log P(x|y)/P(x) ≤ ε for every outcome y.

    No adversary, whatever gain function or randomised function of the secret is after, gains more
    than a factor e^ε from any outcome ([Saeidian2023PML]; [GrosseID] Definition 3).
    """

    epsilon: float
    references: ClassVar = ("Saeidian2023PML", "GrosseID", "SaeidianDisclosure")
    promise = (
        "Whatever an adversary is after (the secret, any function of it, any non-negative gain "
        "that they name), no report multiplies what they can expect by more than "
        "{factor}. No value becomes more likely by more than that factor. A "
        "value may become much less likely, or be ruled out, unless the level is below "
        "log 1/(1 − p), where p is the prior probability of the rarest value."
    )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, prior) for every x of positive mass."""
        points = Hypotheses.points(prior, prior.support)
        return [Bound(points, Hypotheses.prior(prior), self.epsilon)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """ℓ(X→y) = max_x i(x;y), an ``(M,)`` array in nats."""
        return np.maximum(log_lift(kernel, prior).max(axis=0), 0.0)


@dataclass(frozen=True)
class PMC(LikelihoodBound):
    """ε-pointwise maximal cost: max_x log P(x)/P(x|y) ≤ ε for every outcome y.

    No adversary that minimises a non-negative cost lowers it by more than a factor e^ε
    ([SaeidianPMC]; [GrosseID] Theorem 2).
    """

    epsilon: float
    references: ClassVar = ("SaeidianPMC", "GrosseID")
    promise = (
        "Whatever non-negative cost an adversary wants to keep low (missing the secret, a "
        "distance to it, any other), no report divides what they must expect by more than "
        "{factor}. No value becomes less likely by more than that factor, so "
        "none is ruled out. How likely a value may become is bounded only by what the others "
        "keep."
    )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(prior, δ_x) for every x of positive mass."""
        points = Hypotheses.points(prior, prior.support)
        return [Bound(Hypotheses.prior(prior), points, self.epsilon)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Λ(X→y) = max_x −i(x;y), an ``(M,)`` array in nats."""
        return np.maximum((-log_lift(kernel, prior)).max(axis=0), 0.0)


@dataclass(frozen=True)
class LIP(LikelihoodBound):
    """ε-local information privacy: |i(x;y)| ≤ ε for every x and y ([Jiang2020]; [GrosseID])."""

    epsilon: float
    references: ClassVar = ("Jiang2020", "duPinCalmon2012", "GrosseID")
    promise = (
        "After every report each value is at most so many times more or less likely than "
        "before: {factor}. So no adversary multiplies a gain or divides a cost "
        "by more than that factor, whatever they are after."
    )

    def bounds(self, prior: Prior) -> list[Bound]:
        """The pairs of PML and of PMC."""
        return PML(self.epsilon).bounds(prior) + PMC(self.epsilon).bounds(prior)

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """max_x |i(x;y)|, an ``(M,)`` array in nats."""
        return np.abs(log_lift(kernel, prior)).max(axis=0)


@dataclass(frozen=True)
class ALIP(LikelihoodBound):
    """(ε_l, ε_u)-asymmetric local information privacy: −ε_l ≤ i(x;y) ≤ ε_u for every x and y.

    Source: [Zarrabian2022]; [GrosseID] Definition 2. An infinite ε_l leaves PML, an infinite ε_u
    leaves PMC.
    """

    epsilon_l: float
    epsilon_u: float
    level_fields: ClassVar = ("epsilon_l", "epsilon_u")
    references: ClassVar = ("Zarrabian2022", "Zarrabian2023", "GrosseID")
    promise = (
        "After every report no value is more likely than before by more than "
        "{factor}, and none less likely by more than "
        "{lower}. So no adversary multiplies a gain by more than the first "
        "factor or divides a cost by more than the second, whatever they are after."
    )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(prior, δ_x) at ε_l and (δ_x, prior) at ε_u."""
        points, whole = Hypotheses.points(prior, prior.support), Hypotheses.prior(prior)
        return [
            Bound(whole, points, self.epsilon_l, parameter=0),
            Bound(points, whole, self.epsilon_u, parameter=1),
        ]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """max_x −i(x;y) and max_x i(x;y), a ``(2, M)`` array in nats."""
        density = log_lift(kernel, prior)
        return np.maximum(np.stack([(-density).max(axis=0), density.max(axis=0)]), 0.0)


@dataclass(frozen=True)
class PMLRegions:
    """The levels at which one more symbol can be ruled out by an outcome under PML.

    At level ε a posterior is at most e^ε times the prior, so the symbols that stay possible have
    mass at least e^-ε. With masses sorted upwards, k symbols can be ruled out if and only if
    ε ≥ ε_k = −log(1 − (p_1 + … + p_k)).

    Attributes
    ----------
    prior : the prior, on its support
    levels : ε_1 ≤ … ≤ ε_{N−1} in nats, rounded up
    """

    prior: Prior
    levels: tuple[float, ...]

    def most_zeros(self, epsilon: float) -> int:
        """How many symbols one outcome may rule out at a level; decided exactly."""
        epsilon = checked_level(epsilon, "level")
        if epsilon == math.inf:
            return len(self.levels)
        count = 0
        for ratio in _ratios(self.prior):
            if compare_with_exp(ratio, epsilon) is not Verdict.YES:
                break
            count += 1
        return count

    def region(self, epsilon: float) -> int:
        """Number of the region that a level lies in: k + 1 where k symbols may be ruled out."""
        return self.most_zeros(epsilon) + 1

    def prevents_absolute_disclosure(self, epsilon: float) -> bool:
        """Whether every symbol stays possible after every outcome of every mechanism at the level.

        So in the first region, ε < log 1/(1 − pmin), where PML implies a finite LDP level.
        """
        return self.most_zeros(epsilon) == 0

    def __str__(self) -> str:
        lines = ["region  levels in nats        symbols an outcome may rule out"]
        edges = [0.0, *self.levels, math.inf]
        for k in range(len(self.levels) + 1):
            lines.append(f"{k + 1:>6}  [{edges[k]:.6g}, {edges[k + 1]:.6g})".ljust(32) + f"{k}")
        return "\n".join(lines)


def pml_regions(prior: Prior) -> PMLRegions:
    """The privacy regions of a prior ([GrosseID]).

    Raises :class:`PriorError` for what is no prior. Symbols of zero mass are left out.

    >>> regions = pml_regions(Prior([.1, .2, .3, .4]))
    >>> [round(level, 4) for level in regions.levels]
    [0.1054, 0.3567, 0.9163]
    >>> regions.region(.2), regions.most_zeros(.2), regions.prevents_absolute_disclosure(.05)
    (2, 1, True)
    """
    inner = as_prior(prior).restricted()
    return PMLRegions(inner, tuple(max(0.0, log_upper(ratio)) for ratio in _ratios(inner)))


def _ratios(prior: Prior) -> list[Fraction]:
    """1/(1 − sum of the k smallest masses) for k = 1 … N − 1, exact."""
    left, ratios = prior.total, []
    for weight in sorted(prior.weights)[:-1]:
        left -= weight
        ratios.append(Fraction(prior.total, left))
    return ratios
