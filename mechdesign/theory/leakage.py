"""What each outcome of a mechanism leaks, about the secret and about its features.

A leakage is ℓ(X→y) = log max K/q, or with ``risk_averse`` Λ(X→y) = log q/min K, for a kernel K and
its output distribution q under a prior. A feature U is a channel P(U|X): what one would release to
disclose it. Properties of the leakages (curvature in the prior, pre- and post-processing) come as
both sides of an (in)equality, so that a user can see how much room there is. Sources:
[SaeidianDisclosure] Sections 2 and 3, [SaeidianPMC] Lemma 1, [Saeidian2023PML] Lemma 1.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelError, LevelError, ZeroMassWarning, quote
from ..exact import dot
from ..labels import listing, tidy
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior, as_prior
from ..privacy.features import channel_of
from .validation import number


def output_position(mechanism: Mechanism, outcome: Any) -> int:
    """Position of an output label; raises :class:`KernelError` when there is none."""
    try:
        return mechanism.outputs.index(tidy(outcome))
    except (ValueError, TypeError):
        raise KernelError(
            "outcome",
            expected="one of " + listing(mechanism.outputs),
            got=quote(outcome),
            remedy="name an output of the mechanism by its label",
        ) from None


def quiet_prior(weights: Any, labels: Any) -> Prior:
    """A prior from integer weights, without a warning for zero masses that are meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return Prior.from_counts(weights, labels)


def condition(prior: Prior, channel: Mechanism, outcome: Any) -> Prior:
    """P(X|Z=z), exact: the prior after outcome z of a channel.

    Symbols that z rules out stay in the alphabet with zero mass. Raises :class:`KernelError` for an
    outcome that has probability zero.

    >>> flip = Mechanism([[.75, .25], [.25, .75]])
    >>> condition(Prior([.5, .5]), flip, 0).probabilities
    array([0.75, 0.25])
    """
    channel = mechanism_of(channel, "channel of the side information")
    channel.check_prior(prior)
    z = output_position(channel, outcome)
    masses = [w * int(k) for w, k in zip(prior.weights, channel.weights[:, z], strict=True)]
    if not any(masses):
        raise KernelError(
            "side information",
            expected="an outcome of positive probability",
            got=f"{quote(channel.outputs[z])}, which no symbol of positive mass produces",
            remedy="condition on an outcome that can occur",
        )
    return quiet_prior(masses, prior.labels)


def pushforward(prior: Prior, channel: Mechanism) -> Prior:
    """P(U) of a feature U with channel P(U|X), exact where the channel's rows are."""
    channel = mechanism_of(channel, "feature")
    channel.check_prior(prior)
    return quiet_prior(dot(prior.weights, channel.weights), channel.outputs)


def check_feature(value: Any, prior: Prior) -> Mechanism:
    """A feature of the secret that a prior is about, as its channel.

    Raises :class:`KernelError` for other symbols, :class:`PriorError` for what is no prior.
    """
    return channel_of(value, as_prior(prior).labels)


def feature_entropy(prior: Prior, feature: Mechanism) -> float:
    """H∞(P_U) = −log max_u P(U=u) in nats ([SaeidianDisclosure] Definition 2.1).

    >>> feature_entropy(Prior([.5, .25, .25]), Mechanism([[1, 0], [1, 0], [0, 1]]))
    0.2876820724517809
    """
    return max(0.0, pushforward(prior, check_feature(feature, prior)).min_entropy())


def is_constant(prior: Prior, feature: Mechanism) -> bool:
    """Whether the feature has one value with probability one, decided exactly."""
    masses = pushforward(prior, check_feature(feature, prior)).weights
    return sum(m > 0 for m in masses) == 1


def is_deterministic(prior: Prior, feature: Mechanism) -> bool:
    """Whether each symbol of positive mass has one value, decided exactly."""
    rows = check_feature(feature, prior).weights[prior.support]
    return bool((np.asarray(rows != 0).sum(axis=1) == 1).all())


def feature_posterior(mechanism: Mechanism, prior: Prior, feature: Mechanism) -> NDArray[Any]:
    """P(U|Y), a ``(U, M)`` array with one distribution per outcome."""
    mechanism = mechanism_of(mechanism)
    found = check_feature(feature, prior)
    posterior: NDArray[np.float64] = found.kernel.T @ mechanism.posterior(prior)
    return posterior


def feature_channel(mechanism: Mechanism, prior: Prior, feature: Mechanism) -> Mechanism:
    """P(Y|U): the mechanism that the secret's release is for a feature of it.

    A value of probability zero gets the row P(Y). Feed it, with ``theory.pushforward(prior,
    feature)`` as prior, to an audit to see what leaks about the feature.
    """
    mechanism = mechanism_of(mechanism)
    found = check_feature(feature, prior)
    p = prior.probabilities
    masses = p @ found.kernel
    given = np.where(masses > 0, p[:, None] * found.kernel / np.where(masses > 0, masses, 1), 0)
    given[:, masses <= 0] = p[:, None]
    rows = given.T @ mechanism.kernel
    return Mechanism(rows, found.outputs, mechanism.outputs, normalise=True)


def outcome_leakage(
    mechanism: Mechanism, prior: Prior, *, risk_averse: bool = False
) -> NDArray[np.float64]:
    """ℓ(X→y) for every outcome, ``(M,)`` in nats; with ``risk_averse`` Λ(X→y).

    Zero for outcomes of probability zero; Λ is ``inf`` where an outcome rules a symbol out.

    >>> outcome_leakage(Mechanism([[.5, .5], [.25, .75]]), Prior([.5, .5])).round(4)
    array([0.2877, 0.1823])
    """
    mechanism = mechanism_of(mechanism)
    q = mechanism.output_distribution(prior)
    return _against(mechanism.kernel[prior.support], q, risk_averse)


def feature_leakage(
    mechanism: Mechanism, prior: Prior, feature: Mechanism, *, risk_averse: bool = False
) -> NDArray[np.float64]:
    """ℓ(U→y) for every outcome, ``(M,)`` in nats; with ``risk_averse`` Λ(U→y) instead.

    Never more than ℓ(X→y) and Λ(X→y): both are closed under pre-processing
    ([SaeidianDisclosure] Section 2.3; [SaeidianPMC] Remark 2).
    """
    mechanism = mechanism_of(mechanism)
    channel = feature_channel(mechanism, prior, feature).kernel
    masses = prior.probabilities @ check_feature(feature, prior).kernel
    return _against(channel[masses > 0], mechanism.output_distribution(prior), risk_averse)


def _against(
    rows: NDArray[np.float64], q: NDArray[np.float64], risk_averse: bool
) -> NDArray[np.float64]:
    """Log of the largest likelihood of each outcome over q, or of q over the smallest one."""
    live = q > 0
    safe = np.where(live, q, 1.0)
    if risk_averse:
        with np.errstate(divide="ignore"):
            found = np.log(safe) - np.log(np.where(live, rows.min(axis=0), 1.0))
    else:
        found = np.log(np.where(live, rows.max(axis=0), 1.0)) - np.log(safe)
    return np.maximum(found, 0.0)


@dataclass(frozen=True, eq=False)
class TwoSides:
    """Both sides of a property, one entry per outcome, in nats.

    Attributes
    ----------
    left, right : arrays of the same shape
    relation : ``"=="``, ``"<="`` or ``">="``: how left relates to right
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    relation: str

    @property
    def room(self) -> float:
        """How far the property is from failing (for an equality, minus the largest difference)."""
        with np.errstate(invalid="ignore"):
            apart = np.where(self.left == self.right, 0.0, self.right - self.left)
        if self.relation == "==":
            return -float(np.abs(apart).max())
        return float((apart if self.relation == "<=" else -apart).min())


def mixed_prior(first: Prior, second: Prior, share: float) -> Prior:
    """θ·first + (1 − θ)·second, over the same symbols."""
    share = number(share, "share", 0, 1)
    if as_prior(first).labels != as_prior(second).labels:
        raise LevelError(
            "mixture of priors",
            expected="two priors over the same symbols",
            got=f"{first.labels[:3]} and {second.labels[:3]}",
            remedy="give both the same labels in the same order",
        )
    masses = share * first.probabilities + (1 - share) * second.probabilities
    return quiet_prior(masses, first.labels)


def prior_curvature(
    mechanism: Mechanism, first: Prior, second: Prior, share: float, *, risk_averse: bool = False
) -> TwoSides:
    """How leakage under a mixture of priors relates to the mixture of leakages.

    Λ(X→y) is concave in the prior ([SaeidianPMC] Lemma 1.4). ℓ(X→y) is convex among priors of one
    support, because −log q is; across supports it need not be, because a mixture may make a
    symbol possible that one of the two rules out.
    """
    kind = {"risk_averse": risk_averse}
    mixed = outcome_leakage(mechanism, mixed_prior(first, second, share), **kind)
    ends = np.zeros(len(mixed))
    for weight, prior in ((share, first), (1 - share, second)):
        if weight > 0:
            ends = ends + weight * outcome_leakage(mechanism, prior, **kind)
    return TwoSides(mixed, ends, ">=" if risk_averse else "<=")


def pre_processing(
    mechanism: Mechanism, prior: Prior, feature: Mechanism, *, risk_averse: bool = False
) -> TwoSides:
    """A feature Z of the secret, Z − X − Y: no outcome tells more about Z than about X.

    [SaeidianPMC] Lemma 1.5, Remark 2; [GrosseID] Remark 1; [Saeidian2023PML] Lemma 1.
    """
    left = feature_leakage(mechanism, prior, feature, risk_averse=risk_averse)
    return TwoSides(left, outcome_leakage(mechanism, prior, risk_averse=risk_averse), "<=")


def post_processing(
    mechanism: Mechanism, channel: Mechanism, prior: Prior, *, risk_averse: bool = False
) -> TwoSides:
    """X − Y − Z: an outcome z leaks at most what the worst y that may have led to it does.

    Stronger than [SaeidianPMC] Lemma 1.6, which compares the largest over z with the largest over
    y: lift averages over y, so the bound holds for each z with the y's that can produce it.
    """
    mechanism, channel = mechanism_of(mechanism), mechanism_of(channel)
    before = outcome_leakage(mechanism, prior, risk_averse=risk_averse)
    after = outcome_leakage(mechanism @ channel, prior, risk_averse=risk_averse)
    q = mechanism.output_distribution(prior)
    leads = (channel.kernel > 0) & (q > 0)[:, None]
    right = np.where(leads, before[:, None], 0.0).max(axis=0)
    return TwoSides(after, right, "<=")


def expected_exponential(mechanism: Mechanism, prior: Prior) -> tuple[float, float]:
    """Log E[e^{ℓ(X→Y)}] and −log E[e^{−Λ(X→Y)}], in nats.

    They are maximal leakage and maximal cost leakage ([Issa2020]): the averages over outcomes that
    belong to the two pointwise measures.
    """
    mechanism = mechanism_of(mechanism)
    q = mechanism.output_distribution(prior)
    live = q > 0
    up = outcome_leakage(mechanism, prior)[live]
    down = outcome_leakage(mechanism, prior, risk_averse=True)[live]
    low = math.fsum(q[live] * np.exp(-down))
    return math.log(math.fsum(q[live] * np.exp(up))), -math.log(low) if low > 0 else math.inf
