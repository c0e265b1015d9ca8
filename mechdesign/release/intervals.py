"""Errors and confidence limits of estimates: the delta method and the bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quote


def covariance(
    kernel: NDArray[np.float64],
    p: NDArray[np.float64],
    weights: NDArray[np.float64],
    question: NDArray[np.float64],
    reports: int,
    target: str,
) -> NDArray[np.float64]:
    """Covariance ``(F, F)`` of Σ_y a_y f_y when people are distributed as ``p``.

    About the population, each report is a draw from pᵀK; about the sample, the secrets are fixed
    and only the mechanism is random.
    """
    q = p @ kernel
    second = weights.T @ (q[:, None] * weights)
    if target == "population":
        mean = p @ question
        fixed = np.outer(mean, mean)
    else:
        fixed = question.T @ (p[:, None] * question)
    found = (second - fixed) / reports
    # Rounding may leave a variance of nothing slightly below zero.
    np.fill_diagonal(found, np.maximum(np.diagonal(found), 0.0))
    return found


def normal_limits(
    values: NDArray[np.float64], errors: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values ± z · errors."""
    from scipy.stats import norm

    z = float(norm.isf((1 - confidence) / 2))
    return values - z * errors, values + z * errors


def bootstrap_options(resamples: Any, rng: Any) -> tuple[int, np.random.Generator]:
    """Number of simulated samples and their generator, checked.

    Raises :class:`InputError` for fewer than 2 samples, or something that is no seed.
    """
    whole = isinstance(resamples, (int, np.integer)) and not isinstance(resamples, bool)
    if not whole or resamples < 2:
        raise InputError(
            "resamples",
            expected="an integer of at least 2",
            got=quote(resamples),
            remedy="pass 1000, or leave it out",
        )
    try:
        return int(resamples), np.random.default_rng(rng)
    except Exception:  # numpy asks the value what it is, which may fail in any way
        raise InputError(
            "rng of the bootstrap",
            expected="a non-negative integer or a NumPy generator",
            got=quote(rng),
            remedy="pass for example rng=1",
        ) from None


def sampled_frequencies(
    kernel: NDArray[np.float64],
    p: NDArray[np.float64],
    reports: int,
    target: str,
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Simulated frequencies of reports, ``(B, M)``, at the distribution ``p``."""
    if target == "population":
        q = p @ kernel
        return rng.multinomial(reports, q / q.sum(), resamples) / reports
    people = whole_numbers(p * reports)
    total = np.zeros((resamples, kernel.shape[1]))
    for count, row in zip(people, kernel, strict=True):
        if count:
            total += rng.multinomial(count, row / row.sum(), resamples)
    return total / people.sum()


def whole_numbers(expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers near the expected numbers with the same sum, largest remainders first."""
    floor = np.floor(expected).astype(np.int64)
    rest = round(float(expected.sum())) - int(floor.sum())
    floor[np.argsort(floor - expected)[:rest]] += 1
    return floor


def bootstrap_limits(
    values: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quantiles of ``(B, F)`` simulated values."""
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(values, [tail, 1 - tail], axis=0)
    return lower, upper
