"""Random instances that the checks of results draw from: priors, kernels, features, outcomes.

Masses and likelihoods stay away from zero and leakages from zero, so that a claim that is 1% too
strong shows; the tests go to the extremes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..mechanism import Mechanism
from ..prior import Prior
from ..theory.adversaries import Observation, observe
from ..theory.leakage import quiet_prior
from .general_alphabets import TiltedLaw

Array = NDArray[np.float64]


def some_masses(rng: Generator, size: int) -> Array:
    """A distribution with masses of different sizes, none below 1% of the average."""
    masses: NDArray[np.float64] = 0.99 * rng.dirichlet(np.ones(size)) + 0.01 / size
    return masses


def some_prior(rng: Generator, size: int | None = None) -> Prior:
    """A prior of full support over 2 to 5 symbols, or as many as asked."""
    n = int(rng.integers(2, 6)) if size is None else size
    return Prior.from_counts(some_masses(rng, n))


def some_kernel(rng: Generator, rows: int, columns: int, zeros: bool = False) -> Array:
    """Rows that differ; with ``zeros``, about every third entry is zero."""
    kernel = 0.98 * rng.dirichlet(np.full(columns, 0.7), rows) + 0.02 / columns
    if zeros:
        keep = rng.random((rows, columns)) < 0.65
        keep[np.arange(rows), rng.integers(columns, size=rows)] = True
        kernel = np.where(keep, kernel, 0)
    found: NDArray[np.float64] = kernel / kernel.sum(axis=1, keepdims=True)
    return found


def some_mechanism(
    rng: Generator, prior: Prior, outputs: int | None = None, zeros: bool = False
) -> Mechanism:
    """A mechanism on the symbols of a prior, with 2 to 4 outputs or as many as asked."""
    m = int(rng.integers(2, 5)) if outputs is None else outputs
    return Mechanism(some_kernel(rng, len(prior), m, zeros), prior.labels)


def some_feature(rng: Generator, prior: Prior, values: int | None = None) -> Mechanism:
    """A feature of the secret, deterministic or randomised, with 2 to 4 values or as many."""
    k = int(rng.integers(2, 5)) if values is None else values
    if rng.random() < 0.5:
        table = np.eye(k)[rng.integers(k, size=len(prior))]
    else:
        table = some_kernel(rng, len(prior), k, zeros=bool(rng.random() < 0.5))
    return Mechanism(table, prior.labels)


def some_outcome(rng: Generator, zeros: bool = False) -> Observation:
    """A random outcome: of a random mechanism under a random prior."""
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior, zeros=zeros)
    return observe(mechanism, prior, int(rng.integers(mechanism.shape[1])))


def feature_like(rng: Generator, outcome: Observation, values: int) -> Mechanism:
    """A randomised feature with so many values of the secret that an outcome is about."""
    table = rng.dirichlet(np.full(values, rng.choice([0.1, 1.0])), len(outcome.prior))
    return Mechanism(table, outcome.symbols)


def some_tilted(rng: Generator, slope: float | None = None) -> TiltedLaw:
    """A secret on the interval, with a density, with atoms, with neither, or with all of these."""
    s = float(rng.choice([-1, 1]) * rng.uniform(0.5, 3)) if slope is None else slope
    kind = rng.integers(4)
    if kind == 0:
        return TiltedLaw(s)
    if kind == 1:
        return TiltedLaw(s, 0.0, 1.0)
    places = np.sort(rng.uniform(0, 1, 3)).tolist()
    shares = some_masses(rng, 5 if kind == 3 else 3).tolist()
    atoms = dict(zip(places, shares, strict=False))
    uniform, cantor = shares[3:] if kind == 3 else (0.0, 0.0)
    return TiltedLaw(s, uniform, cantor, atoms)


def another_prior(rng: Generator, prior: Prior) -> Prior:
    """Another prior over the same symbols."""
    return Prior.from_counts(some_masses(rng, len(prior)), prior.labels)


def crossing_priors(rng: Generator) -> tuple[Prior, Prior, Mechanism]:
    """Priors on {0, 1} and on {2}, and a mechanism that tells symbol 2 from the others."""
    share = float(rng.uniform(0.3, 0.7))
    first = quiet_prior([share, 1 - share, 0], (0, 1, 2))
    second = quiet_prior([0, 0, 1], (0, 1, 2))
    low = rng.uniform(0.05, 0.2)
    column = np.array([low, low, 0.9])
    return first, second, Mechanism(np.column_stack([column, 1 - column]))


def mild_prior(rng: Generator, low: int = 2, high: int = 5) -> Prior:
    """A prior of full support on a few symbols: uniform now and then, never very skewed."""
    n = int(rng.integers(low, high + 1))
    if rng.uniform() < 0.2:
        return Prior.uniform(n)
    masses = rng.dirichlet(np.ones(n)) + 0.02
    return Prior.from_counts(masses)


def positive_kernel(rng: Generator, n: int, m: int | None = None) -> Array:
    """A positive kernel, from nearly constant to nearly deterministic."""
    outputs = int(rng.integers(2, 6)) if m is None else m
    own = rng.dirichlet(np.full(outputs, rng.choice([0.4, 1.0, 4.0])), n) + 1e-3
    own /= own.sum(axis=1, keepdims=True)
    share = rng.uniform(0.05, 1.0)
    return share * own + (1 - share) * rng.dirichlet(np.ones(outputs))


def some_level(rng: Generator, low: float = 0.05, high: float = 2.0) -> float:
    """A level whose logarithm is uniform."""
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def some_high_privacy_level(rng: Generator, prior: Prior) -> float:
    """A PML level in the high-privacy regime ε < log 1/(1−pmin), not at its end."""
    return float(rng.uniform(0.05, 0.95) * -math.log1p(-prior.pmin))
