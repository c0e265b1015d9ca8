"""One outcome of a mechanism, seen by someone who knows the prior and perhaps some side fact."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelError, UtilityError, ZeroMassWarning, quote
from ..exact import dot
from ..labels import Label, listing, tidy
from ..mechanism import Mechanism
from ..prior import Prior


@dataclass(frozen=True, eq=False)
class Observation:
    """What an adversary knows before and after one outcome y.

    Attributes
    ----------
    outcome : label of y
    symbols : labels of the N symbols
    prior : (N,) masses before y (given the side fact, when there is one)
    likelihood : (N,) P(y|x)
    posterior : (N,) masses after y; the prior when y has probability zero
    """

    outcome: Label
    symbols: tuple[Label, ...]
    prior: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    posterior: NDArray[np.float64]

    @property
    def support(self) -> NDArray[np.intp]:
        """Positions of the symbols with positive prior mass."""
        return np.flatnonzero(self.prior > 0)

    @property
    def probability(self) -> float:
        """P(Y = y)."""
        return float(self.prior @ self.likelihood)

    @property
    def lift(self) -> NDArray[np.float64]:
        """P(x|y)/P(x), ``(N,)``; 1 for symbols or outcomes of probability zero."""
        lift = np.ones(len(self.prior))
        q = self.probability
        if q > 0:
            lift[self.support] = self.likelihood[self.support] / q
        return lift

    @property
    def leakage(self) -> float:
        """ℓ(X→y) = D∞(posterior ‖ prior) in nats ([Saeidian2023PML] Theorem 1)."""
        return max(0.0, math.log(self.lift[self.support].max()))

    @property
    def cost(self) -> float:
        """Λ(X→y) = D∞(prior ‖ posterior) in nats; may be infinite ([SaeidianPMC] Theorem 1)."""
        low = float(self.lift[self.support].min())
        return math.inf if low == 0 else max(0.0, -math.log(low))


def observe(
    mechanism: Mechanism, prior: Prior, outcome: Any, *, given: tuple[Mechanism, Any] | None = None
) -> Observation:
    """What outcome y of a mechanism tells someone who holds a prior.

    Parameters
    ----------
    mechanism : the kernel P(Y|X), or a design
    prior : over the mechanism's inputs
    outcome : label of an output
    given : (channel, z), optional
        A side fact known before: outcome z of another channel P(Z|X), with Z independent of Y given
        X. What is measured is then conditional leakage ([SaeidianPMC] Corollary 2;
        [SaeidianDisclosure] Definition 2.5). For a second mechanism that depends on z, pass the
        one that z selects.

    Raises
    ------
    KernelError
        When the prior is over other symbols, or no output bears the label.

    Examples
    --------
    >>> flip = Mechanism([[.75, .25], [.25, .75]])
    >>> seen = observe(flip, Prior([.5, .5]), 0)
    >>> round(seen.leakage, 4), round(seen.cost, 4)
    (0.4055, 0.6931)
    """
    mechanism = as_mechanism(mechanism)
    mechanism.check_prior(prior)
    if given is not None:
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise KernelError(
                "side fact",
                expected="a channel and one of its outcomes",
                got=type(given).__name__,
                remedy="write given=(channel, z)",
            )
        prior = condition(prior, *given)
    y = output_position(mechanism, outcome)
    p = prior.probabilities
    likelihood = mechanism.kernel[:, y]
    q = float(p @ likelihood)
    posterior = p * likelihood / q if q > 0 else p
    return Observation(mechanism.outputs[y], mechanism.inputs, p, likelihood, posterior)


def condition(prior: Prior, channel: Mechanism, outcome: Any) -> Prior:
    """P(X|Z=z), exact: the prior after outcome z of a channel.

    Symbols that z rules out stay in the alphabet with zero mass. Raises :class:`KernelError` for an
    outcome that has probability zero.

    >>> flip = Mechanism([[.75, .25], [.25, .75]])
    >>> condition(Prior([.5, .5]), flip, 0).probabilities
    array([0.75, 0.25])
    """
    channel = as_mechanism(channel, "channel of the side fact")
    channel.check_prior(prior)
    z = output_position(channel, outcome)
    masses = [w * int(k) for w, k in zip(prior.weights, channel.weights[:, z], strict=True)]
    if not any(masses):
        raise KernelError(
            "side fact",
            expected="an outcome of positive probability",
            got=f"{quote(channel.outputs[z])}, which no symbol of positive mass produces",
            remedy="condition on an outcome that can occur",
        )
    return quiet_prior(masses, prior.labels)


def quiet_prior(weights: Any, labels: Any) -> Prior:
    """A prior from integer weights, without a warning for zero masses that are meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return Prior.from_counts(weights, labels)


def as_observation(value: Any) -> Observation:
    """An observation; raises :class:`UtilityError` for anything else."""
    if not isinstance(value, Observation):
        raise UtilityError(
            "what is seen",
            expected="an Observation",
            got=type(value).__name__,
            remedy="use theory.observe(mechanism, prior, outcome)",
        )
    return value


def as_mechanism(value: Any, subject: str = "mechanism") -> Mechanism:
    """A mechanism, or that of a design; raises :class:`KernelError` for anything else."""
    found = getattr(value, "mechanism", value)
    if not isinstance(found, Mechanism):
        raise KernelError(
            subject,
            expected="a Mechanism",
            got=type(value).__name__,
            remedy="wrap it: md.Mechanism(kernel, inputs, outputs)",
        )
    return found


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


def pushforward(prior: Prior, channel: Mechanism) -> Prior:
    """P(U) of a feature U with channel P(U|X), exact where the channel's rows are."""
    channel = as_mechanism(channel, "feature")
    channel.check_prior(prior)
    return quiet_prior(dot(prior.weights, channel.weights), channel.outputs)


def possible(mechanism: Mechanism, prior: Prior) -> NDArray[np.bool_]:
    """Which pairs (x, y) can occur, ``(N, M)``: positive mass and positive likelihood, exactly."""
    mechanism.check_prior(prior)
    alive = np.array([w > 0 for w in prior.weights])
    return np.asarray(mechanism.weights != 0, dtype=bool) & alive[:, None]
