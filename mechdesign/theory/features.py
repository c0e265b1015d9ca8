"""Features of a secret: random variables U with U − X − Y, given by a channel P(U|X).

A feature is a :class:`~mechdesign.Mechanism` from the symbols to the values of U: what one would
release to disclose it. Sources: [SaeidianDisclosure] Sections 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelError, is_iterable, quote
from ..labels import Label, listing, tidy
from ..mechanism import Mechanism
from ..prior import Prior, as_prior
from .observation import Observation, as_mechanism, pushforward


def feature(
    symbols: Prior | Mechanism | Iterable[Any],
    what: Callable[[Any], Any] | Mapping[Any, Any] | Iterable[Any],
) -> Mechanism:
    """A deterministic feature of the secret, as the channel P(U|X).

    Parameters
    ----------
    symbols : a prior, a mechanism (its inputs), or the labels of the symbols
    what : function or mapping from symbol to value, or a collection of symbols
        A collection is a question: the value is True for the symbols in it, False otherwise.

    Raises
    ------
    KernelError
        When a mapping misses a symbol, or a collection names what is no symbol.

    Examples
    --------
    >>> ages = Prior([.5, .3, .2], labels=["young", "middle", "old"])
    >>> feature(ages, ["old"]).outputs
    (True, False)
    >>> feature(ages, {"young": 0, "middle": 0, "old": 1}).kernel
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])

    A randomised feature is any mechanism with the symbols as inputs.
    """
    labels = _symbols(symbols)
    values: list[Label]
    if callable(what):
        values = [tidy(what(label)) for label in labels]
        names = _distinct(values)
    elif isinstance(what, Mapping):
        missing = [label for label in labels if label not in what]
        if missing:
            raise _unusable(
                f"a value for each of {listing(labels)}", f"none for {quote(missing[0])}"
            )
        values = [tidy(what[label]) for label in labels]
        names = _distinct(values)
    elif is_iterable(what) and not isinstance(what, (str, bytes)):
        chosen = [tidy(label) for label in what]
        strange = [label for label in chosen if label not in labels]
        if strange:
            raise _unusable(f"a collection of symbols among {listing(labels)}", quote(strange[0]))
        values, names = [label in chosen for label in labels], [True, False]
    else:
        raise _unusable("a function, a mapping or a collection of symbols", quote(what))
    if any(value != value for value in values):
        raise _unusable("a value for every symbol", "NaN, which equals nothing")
    table = np.zeros((len(labels), len(names)), dtype=np.int64)
    table[np.arange(len(labels)), [names.index(v) for v in values]] = 1
    return Mechanism.from_weights(table, 0, labels, names)


def _symbols(symbols: Any) -> tuple[Label, ...]:
    if isinstance(symbols, Prior):
        return symbols.labels
    if isinstance(symbols, Mechanism):
        return symbols.inputs
    if isinstance(symbols, (str, bytes)) or not is_iterable(symbols):
        raise _unusable("a prior, a mechanism or a list of symbols", quote(symbols))
    return tuple(tidy(s) for s in symbols)


def _distinct(values: list[Label]) -> list[Label]:
    try:
        return list(dict.fromkeys(values))
    except TypeError:
        raise _unusable("hashable values such as text or numbers", quote(values[0])) from None


def _unusable(expected: str, got: str) -> KernelError:
    return KernelError(
        "feature",
        expected=expected,
        got=got,
        remedy="say which value the feature has for every symbol",
    )


def check_feature(value: Any, secret: Prior | Observation) -> Mechanism:
    """A feature of the secret that a prior or an observation is about, or an error.

    Raises :class:`KernelError` for other symbols, :class:`PriorError` for what is no prior.
    """
    symbols = secret.symbols if isinstance(secret, Observation) else as_prior(secret).labels
    found = as_mechanism(value, "feature")
    if found.inputs != symbols:
        raise KernelError(
            "feature",
            expected=f"a channel with the inputs {listing(symbols)}",
            got=f"inputs {listing(found.inputs)}",
            remedy="build it on the same symbols in the same order: theory.feature(prior, …)",
        )
    return found


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
    mechanism = as_mechanism(mechanism)
    found = check_feature(feature, prior)
    posterior: NDArray[np.float64] = found.kernel.T @ mechanism.posterior(prior)
    return posterior


def feature_channel(mechanism: Mechanism, prior: Prior, feature: Mechanism) -> Mechanism:
    """P(Y|U): the mechanism that the secret's release is for a feature of it.

    A value of probability zero gets the row P(Y). Feed it, with ``theory.pushforward(prior,
    feature)`` as prior, to an audit to see what leaks about the feature.
    """
    mechanism = as_mechanism(mechanism)
    found = check_feature(feature, prior)
    p = prior.probabilities
    masses = p @ found.kernel
    given = np.where(masses > 0, p[:, None] * found.kernel / np.where(masses > 0, masses, 1), 0)
    given[:, masses <= 0] = p[:, None]
    rows = given.T @ mechanism.kernel
    return Mechanism(rows, found.outputs, mechanism.outputs, normalise=True)


def feature_leakage(
    mechanism: Mechanism, prior: Prior, feature: Mechanism, *, risk_averse: bool = False
) -> NDArray[np.float64]:
    """ℓ(U→y) for every outcome, ``(M,)`` in nats; with ``risk_averse`` Λ(U→y) instead.

    Never more than ℓ(X→y) and Λ(X→y): both are closed under pre-processing
    ([SaeidianDisclosure] Section 2.3; [SaeidianPMC] Remark 2).
    """
    mechanism = as_mechanism(mechanism)
    channel = feature_channel(mechanism, prior, feature).kernel
    masses = prior.probabilities @ check_feature(feature, prior).kernel
    rows, q = channel[masses > 0], mechanism.output_distribution(prior)
    live = np.where(q > 0, q, 1.0)
    if risk_averse:
        low = rows.min(axis=0)
        with np.errstate(divide="ignore"):
            cost = np.where(q > 0, np.log(live) - np.log(low), 0.0)
        return np.maximum(cost, 0.0)
    top = np.where(q > 0, rows.max(axis=0), 1.0)
    return np.maximum(np.where(q > 0, np.log(top) - np.log(live), 0.0), 0.0)


def shannon_or_zero(distribution: NDArray[np.float64]) -> float:
    """Shannon entropy of a distribution in nats."""
    live = distribution[distribution > 0]
    return max(0.0, -math.fsum(live * np.log(live)))
