"""Plain measurements in floating point, and kernels in closed form, for the checks of results.

They are written from the definitions and share nothing with the exact checks.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.notion import NOTIONS, LikelihoodBound
from ..theory.leakage import feature_posterior, outcome_leakage

Array = NDArray[np.float64]


# Kernels


def towards_constant(kernel: Array, share: float) -> Array:
    """The kernel mixed with the constant kernel on the mean of its rows."""
    return (1 - share) * kernel + share * kernel.mean(axis=0)


def high_privacy_kernel(prior: Prior, epsilon: float) -> Array:
    """e^ε p_j off the diagonal and 1 − e^ε(1−p_i) on it: the optimal PML mechanism there."""
    p = prior.probabilities
    kernel = np.tile(math.exp(epsilon) * p, (len(p), 1))
    kernel[np.diag_indices(len(p))] = 1 - math.exp(epsilon) * (1 - p)
    return kernel


def release_or_draw(prior: Prior, epsilon: float) -> Array:
    """With probability 1 − e^-ε the secret, else an independent draw from the prior."""
    least = math.exp(-epsilon)
    p = prior.probabilities
    return least * np.tile(p, (len(p), 1)) + (1 - least) * np.eye(len(p))


def randomised_response(n: int, epsilon: float) -> Array:
    """The secret with e^ε times the probability of each other symbol; negative levels shun it."""
    kernel = np.ones((n, n)) + (math.exp(epsilon) - 1) * np.eye(n)
    return kernel / kernel.sum(axis=1, keepdims=True)


# Measurements


def measure(name: str, kernel: Array, prior: Prior) -> tuple[float, ...]:
    """What a kernel leaks in a quantity of the conversions, one number per level."""
    if name == "maximalleakage":
        return (maximal_leakage(kernel),)
    if name == "maximalcostleakage":
        return (maximal_cost_leakage(kernel),)
    if name == "miprivacy":
        return (mutual_information(prior.probabilities, kernel),)
    notion = NOTIONS[name]
    if not issubclass(notion, LikelihoodBound):
        return notion.at(1.0).measure(Mechanism(kernel), prior)
    found = np.atleast_2d(notion.at(1.0).leakage(kernel, prior))
    return tuple(float(row.max()) for row in found)


def maximal_leakage(kernel: Array) -> float:
    """Log Σ_y max_x P(y|x)."""
    return max(0.0, math.log(kernel.max(axis=0).sum()))


def maximal_cost_leakage(kernel: Array) -> float:
    """−log Σ_y min_x P(y|x)."""
    least = kernel.min(axis=0).sum()
    return math.inf if least == 0 else max(0.0, -math.log(least))


def mutual_information(p: Array, kernel: Array) -> float:
    """I(X; Y) in nats."""
    joint = p[:, None] * kernel
    flat = p[:, None] * joint.sum(axis=0)
    live = joint > 0
    return max(0.0, float((joint[live] * np.log(joint[live] / flat[live])).sum()))


def divergence(first: Array, second: Array) -> float:
    """D∞(first ‖ second), from its definition."""
    live = first > 0
    if (second[live] == 0).any():
        return math.inf
    return float(np.log(first[live] / second[live]).max())


def pml_level(mechanism: Mechanism, prior: Prior) -> float:
    """max_y ℓ(X→y)."""
    return float(outcome_leakage(mechanism, prior).max())


def posterior_entropies(mechanism: Mechanism, prior: Prior, channel: Mechanism) -> Array:
    """H∞(U|Y=y) for the outcomes that can occur, in floats."""
    q = mechanism.output_distribution(prior)
    top = feature_posterior(mechanism, prior, channel).max(axis=0)[q > 0]
    found: Array = -np.log(np.minimum(top, 1.0))
    return found


def gaussian_information(total: float, rest: float, noise: float) -> float:
    """I(g; f + N(0, noise)) for jointly Gaussian f, g: Var f = ``total``, Var(f|g) = ``rest``."""
    return 0.5 * math.log((total + noise) / (rest + noise))


def mixture_information(atoms: list[float], masses: list[float], noise: float) -> float:
    """I(f; f + N(0, noise)) for f on finitely many atoms, by the trapezoidal rule."""
    from scipy.integrate import trapezoid

    spread = math.sqrt(noise)
    y = np.linspace(min(atoms) - 10 * spread, max(atoms) + 10 * spread, 20001)
    likelihoods = [
        np.exp(-((y - a) ** 2) / (2 * noise)) / math.sqrt(2 * math.pi * noise) for a in atoms
    ]
    average = sum(m * d for m, d in zip(masses, likelihoods, strict=True))
    terms = [
        m * trapezoid(np.where(d > 1e-300, d * np.log(np.maximum(d, 1e-300) / average), 0.0), y)
        for m, d in zip(masses, likelihoods, strict=True)
    ]
    return float(sum(terms))
