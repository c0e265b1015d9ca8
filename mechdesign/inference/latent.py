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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_MOST_NUMBERS = 4_000_000
# Gradient of the log-likelihood per report at which the search ends, and its steps.
_GRADIENT, _STEPS = 1e-11, 500


@dataclass(frozen=True)
class Latent:
    """What is seen of each row.

    Attributes
    ----------
    chances : ``(R, S, Q)`` of the reports of each row, for each symbol and value of the response
    public : ``(R, C)``
    values : ``(S, F)`` columns of the design of the response for each symbol
    mass : ``(R,)`` weight times number of people
    """

    chances: Vector
    public: Vector
    values: Vector
    mass: Vector

    @property
    def size(self) -> int:
        """Number of coefficients of the response, β."""
        return (self.chances.shape[2] - 1) * (self.public.shape[1] + self.values.shape[1])

    @property
    def parameters(self) -> int:
        """Number of all coefficients, β and then α symbol by symbol."""
        return self.size + (len(self.values) - 1) * self.public.shape[1]

    def people(self, coefficients: Vector) -> Vector:
        """``(S,)`` how many have each symbol."""
        ahead, _ = _logit(self.public, coefficients[self.size :], len(self.values))
        return np.asarray(self.mass @ np.exp(ahead))

    def parts(self, coefficients: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Log-likelihoods ``(R,)``, scores of one person of each row ``(R, P)``, the information
        ``(P, P)`` of known secrets, and what is missing of it.
        """
        step = max(1, _MOST_NUMBERS // (self.chances[0].size * (1 + self.parameters)))
        starts = range(0, len(self.chances), step)
        found = [self._part(coefficients, slice(at, at + step)) for at in starts]
        values, scores, known, missing = zip(*found, strict=True)
        return np.concatenate(values), np.concatenate(scores), sum(known), sum(missing)

    def _part(self, coefficients: Vector, rows: slice) -> tuple[Vector, Vector, Vector, Vector]:
        from scipy.linalg import block_diag
        from scipy.special import logsumexp

        c, chances, mass = self.public[rows], self.chances[rows], self.mass[rows]
        _, symbols, levels = chances.shape
        design = [c[:, None].repeat(symbols, axis=1), np.tile(self.values, (len(c), 1, 1))]
        response, of_response = _logit(
            np.concatenate(design, axis=2), coefficients[: self.size], levels
        )
        secret, of_secret = _logit(c, coefficients[self.size :], symbols)
        with np.errstate(divide="ignore"):
            joint = np.log(chances) + response + secret[:, :, None]
        best = logsumexp(joint, axis=(1, 2))
        posterior = mass[:, None, None] * np.exp(joint - best[:, None, None])
        both = [of_response, of_secret[:, :, None].repeat(levels, axis=2)]
        scores = np.concatenate(both, axis=3)
        mean = np.einsum("rsq,rsqp->rp", np.exp(joint - best[:, None, None]), scores)
        known = (
            _gram(of_response, posterior.sum(axis=2)[:, :, None] * np.exp(response)),
            _gram(of_secret, mass[:, None] * np.exp(secret)),
        )
        return best, mean, block_diag(*known), _gram(scores, posterior) - _gram(mean, mass)


def _logit(design: Vector, coefficients: Vector, count: int) -> tuple[Vector, Vector]:
    """Logarithms ``(…, L)`` of the probabilities of a multinomial logit whose first value has
    coefficients of zero, and the score ``(…, L, P)`` of each value.
    """
    from scipy.special import log_softmax

    slopes = coefficients.reshape(count - 1, design.shape[-1])
    ahead = log_softmax(design @ np.pad(slopes, ((1, 0), (0, 0))).T, axis=-1)
    told = np.eye(count)[:, 1:] - np.exp(ahead)[..., None, 1:]
    scores = told[..., None] * design[..., None, None, :]
    return ahead, scores.reshape(*ahead.shape, coefficients.size)


def _gram(of: Vector, weight: Vector) -> Vector:
    """Σ weight · of ofᵀ."""
    axes = tuple(range(weight.ndim))
    return np.asarray(np.tensordot(weight[..., None] * of, of, (axes, axes)))


def maximise_latent(observed: Latent) -> Vector:
    """The coefficients of largest likelihood, by Newton steps that are shortened towards those of
    known secrets until the likelihood rises; where it rises without end, some that are far out.
    """
    mass, total = observed.mass, observed.mass.sum()
    at = np.zeros(observed.parameters)
    short, end = 1.0, observed.parts(at)
    for _ in range(_STEPS):
        values, scores, known, missing = end
        slope = mass @ scores
        if np.abs(slope).max() <= _GRADIENT * total:
            break
        damped = (1 + short) * known - missing + 1e-12 * total * np.eye(len(at))
        following = at + np.linalg.solve(damped, slope)
        tried = observed.parts(following)
        # Near the maximum rounding decides about the last digits.
        if mass @ (tried[0] - values) >= -1e-13 * abs(mass @ values):
            at, short, end = following, short / 10, tried
        else:
            short = max(10 * short, 0.01)
    return at
