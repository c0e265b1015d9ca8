"""Logistic regressions of variables that are known by their reports only: sums over symbols.

A person with public covariates c has the secret x with probability π_x(c) ∝ exp(α_xᵀc), zero for
the first symbol, the response r with probability ∝ exp(β_rᵀ(c, V_x)), zero for the first value, and
reports with probabilities K[x, r]. What is seen is c and the reports:

    L(α, β) = Σ_x Σ_r π_x(c) P(r | x, c) K[x, r].

With the score s of a person whose secrets are known, and their posterior g, the gradient is E_g s,
and the observed information is that of known secrets less the covariance of s under g, which the
mechanism hides [Louis1982].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_MOST_NUMBERS = 4_000_000
# Gradient of the log-likelihood per report at which the search ends, and its steps.
_GRADIENT, _STEPS = 1e-11, 500


def parts(
    at: Vector, chances: Vector, public: Vector, mass: Vector, values: Vector
) -> list[Vector]:
    """Log-likelihoods of rows ``(R,)``, scores ``(R, P)`` of one person of each, the information
    ``(P, P)`` of known secrets and what is left of it, and people of each symbol, ``(S,)``.

    Parameters
    ----------
    at : ``(P,)`` coefficients, of each response and then of each symbol
    chances : ``(R, S, Q)`` of the reports of each row, for each symbol and value of the response
    public : ``(R, C)``
    mass : ``(R,)`` weight times number of people
    values : ``(S, F)`` columns of the design of the response for each symbol
    """
    from scipy.linalg import block_diag
    from scipy.special import logsumexp

    step = 1 + _MOST_NUMBERS // (chances[0].size * (1 + len(at)))
    if len(mass) > step:
        starts = range(0, len(mass), step)
        blocks = (slice(k, k + step) for k in starts)
        found = (parts(at, chances[b], public[b], mass[b], values) for b in blocks)
        of_rows, mean, *sums = zip(*found, strict=True)
        return [
            np.concatenate(of_rows),
            np.concatenate(mean),
            *(np.sum(part, axis=0) for part in sums),
        ]
    _, symbols, levels = chances.shape
    design = [public[:, None].repeat(symbols, axis=1), values[None].repeat(len(mass), axis=0)]
    both = np.concatenate(design, axis=2)
    size = (levels - 1) * both.shape[2]
    response, of_response = _logit(both, at[:size], levels)
    secret, of_secret = _logit(public, at[size:], symbols)
    with np.errstate(divide="ignore"):
        joint = np.log(chances) + response + secret[:, :, None]
    best = logsumexp(joint, axis=(1, 2))
    posterior = np.exp(joint - best[:, None, None])
    scores = np.concatenate([of_response, of_secret[:, :, None].repeat(levels, axis=2)], axis=3)
    mean = np.einsum("rsq,rsqp->rp", posterior, scores)
    heavy = mass[:, None, None] * posterior
    known = block_diag(
        _gram(of_response, heavy.sum(axis=2, keepdims=True) * np.exp(response)),
        _gram(of_secret, mass[:, None] * np.exp(secret)),
    )
    hidden = _gram(scores, heavy) - _gram(mean, mass)
    return [best, mean, known, known - hidden, heavy.sum(axis=(0, 2))]


def _logit(design: Vector, coefficients: Vector, count: int) -> tuple[Vector, Vector]:
    """Logarithms ``(…, L)`` of the probabilities of a multinomial logit whose first value has
    coefficients of zero, and the score ``(…, L, P)`` of each value.
    """
    from scipy.special import log_softmax

    slopes = coefficients.reshape(count - 1, design.shape[-1])
    ahead = log_softmax(design @ np.pad(slopes, ((1, 0), (0, 0))).T, axis=-1)
    told = np.eye(count)[:, 1:] - np.exp(ahead)[..., None, 1:]
    scores = told[..., None] * design[..., None, None, :]
    return ahead, scores.reshape(*ahead.shape, slopes.size)


def _gram(of: Vector, weight: Vector) -> Vector:
    """Σ weight · of ofᵀ."""
    axes = tuple(range(weight.ndim))
    return np.asarray(np.tensordot(weight[..., None] * of, of, (axes, axes)))


def maximise_latent(size: int, *observed: Vector) -> list[Vector]:
    """So many coefficients of largest likelihood of what :func:`parts` takes, with what it returns
    there, by Newton steps that are shortened towards those of known secrets until the likelihood
    rises; where it rises without end, some that are far out.
    """
    mass, at, short = observed[2], np.zeros(size), 1.0
    end, total = parts(at, *observed), mass.sum()
    for _ in range(_STEPS):
        of_rows, scores, known, information, _ = end
        slope = mass @ scores
        if np.abs(slope).max() <= _GRADIENT * total:
            break
        curved = information + short * known + 1e-12 * total * np.eye(size)
        following = at + np.linalg.solve(curved, slope)
        tried = parts(following, *observed)
        # Near the maximum rounding decides about the last digits.
        if mass @ (tried[0] - of_rows) >= -1e-13 * abs(mass @ of_rows):
            at, short, end = following, short / 10, tried
        else:
            short = max(10 * short, 0.01)
    return [at, *end]
