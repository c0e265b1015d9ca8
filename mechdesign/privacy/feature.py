"""Notions about a feature of the secret, or for an adversary who knows one.

A feature U of the secret X is a function of it, or any random variable given by P(U|X), with
U − X − Y. What an outcome tells about U, in place of X, is measured by the same ratios:

==============  ==========================================  =========================
notion          asks for every outcome y                    pairs of hypotheses
==============  ==========================================  =========================
FeaturePML      max_u log P(u|y)/P(u) ≤ ε                   (P(X|u), prior)
FeaturePMC      max_u log P(u)/P(u|y) ≤ ε                   (prior, P(X|u))
ConditionalPML  max_{z,x} log P(x|y,z)/P(x|z) ≤ ε           (δ_x, P(X|z))
ConditionalPMC  max_{z,x} log P(x|z)/P(x|y,z) ≤ ε           (P(X|z), δ_x)
==============  ==========================================  =========================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import quote
from ..labels import Label
from ..prior import Prior
from .constraint import Bound, Hypotheses
from .features import checked_feature, joint_masses, tabulated
from .notion import LikelihoodBound, factor


@dataclass(frozen=True)
class _OfFeature(LikelihoodBound, register=False):
    """What the notions of a feature share."""

    epsilon: float
    feature: Any
    needs: ClassVar = ("feature",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "feature", checked_feature(self.feature))

    @classmethod
    def from_function(
        cls, epsilon: float, function: Callable[[Any], Any], labels: Iterable[Label]
    ) -> Self:
        """The feature ``function(label)``, tabulated over the given labels."""
        return cls(epsilon, tabulated(function, labels))

    def _given(self, prior: Prior) -> Hypotheses:
        joint = joint_masses(self.feature, prior)
        return Hypotheses.mixtures(joint.values(), [f"the feature at {quote(u)}" for u in joint])

    def _log_lift(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """Log P(u|y)/P(u), ``(U, M)``, from the joint distribution of U and Y."""
        joint: dict[Any, Any] = {}
        for label, p, row in zip(prior.labels, prior.probabilities, kernel, strict=True):
            if p > 0:
                chances = dict(self.feature)[label]
                total = float(sum(mass for _, mass in chances))
                for value, mass in chances:
                    share = p * float(mass) / total
                    joint[value] = joint.get(value, 0.0) + np.append(share * row, share)
        table = np.array([part for part in joint.values() if part[-1] > 0])
        both, alone = table[:, :-1], table[:, -1:]
        q = both.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(q > 0, np.log(both) - np.log(q) - np.log(alone), 0.0)


@dataclass(frozen=True)
class FeaturePML(_OfFeature):
    """ε-PML of a feature U of the secret: P(u|y) ≤ e^ε P(u) for every value u and outcome y.

    An entry of a database, or a sensitive column S of which the released data X only tells
    something (S − X − Y). It is at most the PML of the secret itself.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    feature : mapping from label to value, or to a mapping of values to masses P(u|x)
        Masses may be ``Fraction``; each row is divided by its exact sum.

    Source: [Saeidian2023PML]; [SaeidianDisclosure] Section 4 for entries.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.4, .1, .3, .2], [("f", 0), ("f", 1), ("m", 0), ("m", 1)])
    >>> sex = md.FeaturePML.from_function(.2, lambda row: row[0], prior.labels)
    >>> found = md.design(prior, md.utility.Hamming(), sex)
    >>> found.value > md.design(prior, md.utility.Hamming(), md.PML(.2)).value
    True
    """

    references: ClassVar = ("Saeidian2023PML", "SaeidianDisclosure")

    @property
    def in_words(self) -> str:
        """What it promises about an adversary."""
        return (
            "Whatever an adversary wants to know of the feature, no report multiplies what they "
            f"can expect by more than {factor(self.epsilon)}; no value of the feature becomes more "
            "likely by more than that factor. Nothing is promised of the secret beyond the feature."
        )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(P(X|u), prior) for every value u."""
        return [Bound(self._given(prior), Hypotheses.prior(prior), self.epsilon)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """max_u log P(u|y)/P(u), an ``(M,)`` array in nats."""
        return np.maximum(self._log_lift(kernel, prior).max(axis=0), 0.0)


@dataclass(frozen=True)
class FeaturePMC(_OfFeature):
    """ε-PMC of a feature U of the secret: P(u) ≤ e^ε P(u|y) for every value u and outcome y.

    Parameters are those of :class:`FeaturePML`. Source: [SaeidianPMC].
    """

    references: ClassVar = ("SaeidianPMC",)

    @property
    def in_words(self) -> str:
        """What it promises about an adversary."""
        return (
            "Whatever non-negative cost an adversary has of missing the feature, no report divides "
            f"what they must expect by more than {factor(self.epsilon)}; no value of the feature "
            "becomes less likely by more than that factor. Nothing is promised of the secret "
            "beyond the feature."
        )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(prior, P(X|u)) for every value u."""
        return [Bound(Hypotheses.prior(prior), self._given(prior), self.epsilon)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """max_u log P(u)/P(u|y), an ``(M,)`` array in nats."""
        return np.maximum((-self._log_lift(kernel, prior)).max(axis=0), 0.0)


@dataclass(frozen=True)
class _GivenSide(LikelihoodBound, register=False):
    """What the notions for an adversary with side information share."""

    epsilon: float
    side: Any
    needs: ClassVar = ("side",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "side", checked_feature(self.side, "side information"))

    @classmethod
    def from_function(
        cls, epsilon: float, function: Callable[[Any], Any], labels: Iterable[Label]
    ) -> Self:
        """Side information ``function(label)``, tabulated over the given labels."""
        return cls(epsilon, tabulated(function, labels))

    def _groups(self, prior: Prior) -> list[tuple[Hypotheses, Hypotheses]]:
        """Point masses and the conditional prior, for each value of the side information."""
        return [
            (
                Hypotheses.points(prior, [x for x, mass in enumerate(row) if mass]),
                Hypotheses.mixtures([row], [f"the prior given {quote(z)}"]),
            )
            for z, row in joint_masses(self.side, prior, "side information").items()
        ]

    def _densities(
        self, kernel: NDArray[np.float64], prior: Prior
    ) -> Iterable[NDArray[np.float64]]:
        """Log P(x|y,z)/P(x|z) for each z, over the symbols that z allows."""
        weights: dict[Any, NDArray[np.float64]] = {}
        for x, label in enumerate(prior.labels):
            if prior.weights[x]:
                chances = dict(self.side)[label]
                total = float(sum(mass for _, mass in chances))
                for z, mass in chances:
                    part = weights.setdefault(z, np.zeros(len(prior)))
                    part[x] += prior.probabilities[x] * float(mass) / total
        for weight in weights.values():
            live = weight > 0
            if live.any():
                rows = kernel[live]
                q = weight[live] @ rows / weight.sum()
                with np.errstate(divide="ignore", invalid="ignore"):
                    yield np.where(q > 0, np.log(rows) - np.log(q), 0.0)


@dataclass(frozen=True)
class ConditionalPML(_GivenSide):
    """ε-PML given side information Z: P(x|y,z) ≤ e^ε P(x|z) for every x, y and z (Z − X − Y).

    Parameters
    ----------
    epsilon : float
        Level in nats.
    side : mapping from label to value, or to a mapping of values to masses P(z|x)
        What the adversary knows of the secret beforehand.

    Source: [Saeidian2023PML].
    """

    references: ClassVar = ("Saeidian2023PML",)

    @property
    def in_words(self) -> str:
        """What it promises about an adversary."""
        return (
            "An adversary who knows the side information already multiplies what they can expect "
            f"by at most {factor(self.epsilon)} through any report, whatever they are after."
        )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, P(X|z)) for every z and every x that z allows."""
        return [Bound(points, given, self.epsilon) for points, given in self._groups(prior)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """max_{z,x} log P(x|y,z)/P(x|z), an ``(M,)`` array in nats."""
        found = [density.max(axis=0) for density in self._densities(kernel, prior)]
        return np.maximum(np.max(found, axis=0), 0.0)


@dataclass(frozen=True)
class ConditionalPMC(_GivenSide):
    """ε-PMC given side information Z: P(x|z) ≤ e^ε P(x|y,z) for every x, y and z (Z − X − Y).

    Parameters are those of :class:`ConditionalPML`. Source: [SaeidianPMC].
    """

    references: ClassVar = ("SaeidianPMC",)

    @property
    def in_words(self) -> str:
        """What it promises about an adversary."""
        return (
            "An adversary who knows the side information already divides any non-negative cost by "
            f"at most {factor(self.epsilon)} through any report."
        )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(P(X|z), δ_x) for every z and every x that z allows."""
        return [Bound(given, points, self.epsilon) for points, given in self._groups(prior)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """max_{z,x} log P(x|z)/P(x|y,z), an ``(M,)`` array in nats."""
        found = [(-density).max(axis=0) for density in self._densities(kernel, prior)]
        return np.maximum(np.max(found, axis=0), 0.0)
