"""Random instances that the checks of results draw from: priors, kernels, features, outcomes.

Masses and likelihoods stay away from zero and leakages from zero, so that a claim that is 1% too
strong shows; the tests go to the extremes.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..mechanism import Mechanism
from ..prior import Prior
from .observation import Observation, observe


def some_masses(rng: Generator, size: int) -> NDArray[np.float64]:
    """A distribution with masses of different sizes, none below 1% of the average."""
    masses: NDArray[np.float64] = 0.99 * rng.dirichlet(np.ones(size)) + 0.01 / size
    return masses


def some_prior(rng: Generator, size: int | None = None) -> Prior:
    """A prior of full support over 2 to 5 symbols, or as many as asked."""
    n = int(rng.integers(2, 6)) if size is None else size
    return Prior.from_counts(some_masses(rng, n))


def some_kernel(
    rng: Generator, rows: int, columns: int, zeros: bool = False
) -> NDArray[np.float64]:
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


def some_sight(rng: Generator, zeros: bool = False) -> Observation:
    """An outcome of a random mechanism, seen with a random prior."""
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior, zeros=zeros)
    return observe(mechanism, prior, int(rng.integers(mechanism.shape[1])))
