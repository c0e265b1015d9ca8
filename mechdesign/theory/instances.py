"""Random instances for the checks of results, and plain measurements in floating point.

The measurements are written from the definitions and share nothing with the exact checks.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..prior import Prior
from ..privacy.notion import NOTIONS, LikelihoodBound

Array = NDArray[np.float64]


def draw_prior(rng: Generator, low: int = 2, high: int = 5) -> Prior:
    """A prior of full support on a few symbols: uniform now and then, never very skewed."""
    n = int(rng.integers(low, high + 1))
    if rng.uniform() < 0.2:
        return Prior.uniform(n)
    masses = rng.dirichlet(np.ones(n)) + 0.02
    return Prior.from_counts(masses)


def draw_kernel(rng: Generator, n: int, m: int | None = None) -> Array:
    """A positive kernel, from nearly constant to nearly deterministic."""
    outputs = int(rng.integers(2, 6)) if m is None else m
    own = rng.dirichlet(np.full(outputs, rng.choice([0.4, 1.0, 4.0])), n) + 1e-3
    own /= own.sum(axis=1, keepdims=True)
    share = rng.uniform(0.05, 1.0)
    return share * own + (1 - share) * rng.dirichlet(np.ones(outputs))


def draw_level(rng: Generator, low: float = 0.05, high: float = 2.0) -> float:
    """A level whose logarithm is uniform."""
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def draw_high_privacy(rng: Generator, prior: Prior) -> float:
    """A PML level in the high-privacy regime ε < log 1/(1−pmin), not at its end."""
    return float(rng.uniform(0.05, 0.95) * -math.log1p(-prior.pmin))


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


def measure(name: str, kernel: Array, prior: Prior) -> tuple[float, ...]:
    """What a kernel leaks in a quantity of the conversions, one number per level."""
    if name == "maximalleakage":
        return (maximal_leakage(kernel),)
    if name == "maximalcostleakage":
        return (maximal_cost_leakage(kernel),)
    if name == "miprivacy":
        return (mutual_information(prior.probabilities, kernel),)
    notion = NOTIONS[name]
    assert issubclass(notion, LikelihoodBound)
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
