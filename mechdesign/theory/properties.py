"""Properties of PML and PMC: additivity, convexity in the prior, processing, composition.

Sources: [SaeidianPMC] Lemma 1 and [Saeidian2023PML] Lemma 1. Every function gives both sides of its
(in)equality, so that a user can see how much room there is. K stands for the kernel, p for the
prior; a leakage is ℓ(X→y) = log max K/q, or with ``risk_averse`` Λ(X→y) = log q/min K.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelError, LevelError, quote
from ..mechanism import Mechanism
from ..prior import Prior, as_prior
from .features import feature_leakage
from .inputs import listed, number
from .observation import as_mechanism, condition, quiet_prior


def outcome_leakage(
    mechanism: Mechanism, prior: Prior, *, risk_averse: bool = False
) -> NDArray[np.float64]:
    """ℓ(X→y) for every outcome, ``(M,)`` in nats; with ``risk_averse`` Λ(X→y).

    Zero for outcomes of probability zero; Λ is ``inf`` where an outcome rules a symbol out.

    >>> outcome_leakage(Mechanism([[.5, .5], [.25, .75]]), Prior([.5, .5])).round(4)
    array([0.2877, 0.1823])
    """
    mechanism = as_mechanism(mechanism)
    q = mechanism.output_distribution(prior)
    rows, live = mechanism.kernel[prior.support], q > 0
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


def additivity(parts: list[tuple[Mechanism, Prior]], *, risk_averse: bool = False) -> TwoSides:
    """Independent secrets, released independently: the leakage of the tuple is the sum.

    [SaeidianPMC] Lemma 1.3. Left is measured on the product mechanism under the product prior;
    right is the sum, for every tuple of outcomes.
    """
    mechanism, prior = product_of(parts)
    total = np.zeros(1)
    for part, own in parts:
        single = outcome_leakage(as_mechanism(part), own, risk_averse=risk_averse)
        total = (total[:, None] + single).ravel()
    # A tuple that cannot occur teaches nothing, whatever its parts would.
    total = np.where(mechanism.output_distribution(prior) > 0, total, 0.0)
    return TwoSides(outcome_leakage(mechanism, prior, risk_averse=risk_averse), total, "==")


def product_of(parts: list[tuple[Mechanism, Prior]]) -> tuple[Mechanism, Prior]:
    """The mechanism and the prior of independent secrets, exact; symbols are nested pairs."""
    parts = listed(parts, "product of mechanisms", "pairs (mechanism, prior)", KernelError)
    if not parts or not all(isinstance(part, tuple) and len(part) == 2 for part in parts):
        raise KernelError(
            "product of mechanisms",
            expected="at least one mechanism, each with its prior",
            got="none" if not parts else type(parts[0]).__name__,
            remedy="pass [(mechanism, prior), …]",
        )
    for part, own in parts:
        as_mechanism(part).check_prior(own)
    mechanism, prior = as_mechanism(parts[0][0]), parts[0][1]
    for other, own in parts[1:]:
        weights = [a * b for a in prior.weights for b in own.weights]
        labels = [(a, b) for a in prior.labels for b in own.labels]
        mechanism, prior = mechanism.product(as_mechanism(other)), quiet_prior(weights, labels)
    return mechanism, prior


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
    mechanism, channel = as_mechanism(mechanism), as_mechanism(channel)
    before = outcome_leakage(mechanism, prior, risk_averse=risk_averse)
    after = outcome_leakage(mechanism @ channel, prior, risk_averse=risk_averse)
    q = mechanism.output_distribution(prior)
    leads = (channel.kernel > 0) & (q > 0)[:, None]
    right = np.where(leads, before[:, None], 0.0).max(axis=0)
    return TwoSides(after, right, "<=")


Then = Mechanism | Mapping[Any, Mechanism] | Callable[[Any], Mechanism]


def adaptive(first: Mechanism, then: Then) -> Mechanism:
    """Run a mechanism, then one chosen by its outcome, on the same secret; exact.

    Parameters
    ----------
    first : kernel P(Y1|X)
    then : the second mechanism, or a mapping or function from the first outcome to it

    Returns
    -------
    The kernel P(Y1, Y2|X) with pairs as outputs.

    Raises
    ------
    KernelError
        When an outcome has no second mechanism, or one with other inputs.

    Examples
    --------
    >>> m = Mechanism([[.75, .25], [.25, .75]], outputs=["a", "b"])
    >>> adaptive(m, {"a": m, "b": Mechanism([[1], [1]], outputs=["stop"])}).outputs
    (('a', 'a'), ('a', 'b'), ('b', 'stop'))
    """
    first = as_mechanism(first)
    seconds = [_second(then, label, first) for label in first.outputs]
    bits = max(m.bits for m in seconds)
    columns, outputs = [], []
    for y, second in enumerate(seconds):
        scale = 1 << (bits - second.bits)
        own = first.weights[:, y].astype(object)[:, None]
        columns.append(own * second.weights.astype(object) * scale)
        outputs += [(first.outputs[y], z) for z in second.outputs]
    weights = np.concatenate(columns, axis=1)
    return Mechanism.from_weights(weights, first.bits + bits, first.inputs, outputs, check=False)


def _second(then: Then, outcome: Any, first: Mechanism) -> Mechanism:
    found: Any = then
    if isinstance(then, Mapping):
        found = then.get(outcome)
    elif callable(then) and not isinstance(then, Mechanism):
        found = then(outcome)
    found = getattr(found, "mechanism", found)
    if not isinstance(found, Mechanism) or found.inputs != first.inputs:
        raise KernelError(
            f"second mechanism after outcome {quote(outcome)}",
            expected=f"a Mechanism with the inputs {first.inputs[:4]}",
            got=type(found).__name__ if not isinstance(found, Mechanism) else "other inputs",
            remedy="give one mechanism on the same secret for every outcome",
        )
    return found


def composition(
    first: Mechanism, then: Then, prior: Prior, *, risk_averse: bool = False
) -> TwoSides:
    """ℓ(X→y1, y2) ≤ ℓ(X→y1) + ℓ(X→y2|y1), for every pair of outcomes.

    [SaeidianPMC] Lemma 1.7; [Saeidian2023PML] Lemma 1. The second term is conditional: it is
    measured under the posterior after y1, and may exceed what the second mechanism leaks under the
    prior. The sum of the two PML (or PMC) levels is therefore no bound, even for independent
    mechanisms; see :func:`~mechdesign.theory.account`.
    """
    first = as_mechanism(first)
    joint = outcome_leakage(adaptive(first, then), prior, risk_averse=risk_averse)
    alone = outcome_leakage(first, prior, risk_averse=risk_averse)
    q = first.output_distribution(prior)
    right = []
    for y, label in enumerate(first.outputs):
        second = _second(then, label, first)
        if q[y] > 0:
            after = condition(prior, first, label)
            right.append(alone[y] + outcome_leakage(second, after, risk_averse=risk_averse))
        else:
            right.append(np.zeros(second.shape[1]))
    return TwoSides(joint, np.concatenate(right), "<=")


def conditional_outcome_leakage(
    mechanism: Mechanism | Mapping[Any, Mechanism] | Callable[[Any], Mechanism],
    prior: Prior,
    channel: Mechanism,
    outcome: Any,
    *,
    risk_averse: bool = False,
) -> NDArray[np.float64]:
    """ℓ(X→y|z) or Λ(X→y|z) for every y, given outcome z of a channel P(Z|X), in nats.

    [SaeidianPMC] Definition 12, Corollary 2; [SaeidianDisclosure] Definition 2.5. When the
    mechanism depends on z, give a mapping or a function from z to the kernel P(Y|X, Z=z).
    """
    channel = as_mechanism(channel, "channel of the side fact")
    second = _second(mechanism, outcome, channel)
    return outcome_leakage(second, condition(prior, channel, outcome), risk_averse=risk_averse)


def expected_exponential(mechanism: Mechanism, prior: Prior) -> tuple[float, float]:
    """Log E[e^{ℓ(X→Y)}] and −log E[e^{−Λ(X→Y)}], in nats.

    They are maximal leakage and maximal cost leakage ([Issa2020]): the averages over outcomes that
    belong to the two pointwise measures.
    """
    mechanism = as_mechanism(mechanism)
    q = mechanism.output_distribution(prior)
    live = q > 0
    up = outcome_leakage(mechanism, prior)[live]
    down = outcome_leakage(mechanism, prior, risk_averse=True)[live]
    low = math.fsum(q[live] * np.exp(-down))
    return math.log(math.fsum(q[live] * np.exp(up))), -math.log(low) if low > 0 else math.inf
