"""Logistic regression where variables are known by their reports only: the likelihood over symbols.

A person with public covariates c has the secret x with probability π_x(c) ∝ exp(α_xᵀc) (zero for
the first symbol), the response r = 1 with probability σ(βᵀ(V_x, c)), and the report y with
probability K[x, y]. What is seen is (c, r, y), or (c, y) where the secret is the response itself:

    L_i(α, β) = Σ_x π_x(c_i) K[x, y_i] P(r_i | x, c_i).

Where the response is privatised beside the covariate x, the sum runs over both, and the likelihood
of the report is that of x and r.

With the score s_x of a person whose secret is known, and the posterior g_x of the secret, the
gradient is E_g s, and the observed information is that of known secrets less the covariance of s
under g, which the mechanism hides [Louis1982].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..labels import listing

Vector = NDArray[np.float64]

_MOST_NUMBERS = 4_000_000
# Gradient of the log-likelihood per report at which the search ends, and its steps.
_GRADIENT, _STEPS = 1e-11, 500
# A direction along which so large a step changes the log-likelihood by so little has no estimate.
_FAR, _FLAT = 5.0, 0.01


@dataclass(frozen=True)
class Latent:
    """What is seen of each row.

    Attributes
    ----------
    likelihoods : ``(R, n)`` of the reports of each row for each of the ``S`` symbols; where there
        is a response beside them, for each symbol with the response 0 and then with the response 1
    public : ``(R, C)`` with a first column that is constant
    values : ``(S, F)`` columns of the design of the response for each symbol
    mass : ``(R,)`` weight times number of people
    """

    likelihoods: Vector
    public: Vector
    values: Vector
    mass: Vector

    @property
    def size(self) -> int:
        """Number of coefficients of the response, β."""
        alone = self.likelihoods.shape[1] == len(self.values)
        return 0 if alone else self.public.shape[1] + self.values.shape[1]

    @property
    def parameters(self) -> int:
        """Number of all coefficients, β and then α symbol by symbol."""
        return self.size + (len(self.values) - 1) * self.public.shape[1]

    def parts(self, coefficients: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """Log-likelihoods ``(R,)``, scores of one person of each row ``(R, P)``, the information
        ``(P, P)`` of known secrets, and what is missing of it.
        """
        step = max(1, _MOST_NUMBERS // (self.likelihoods.shape[1] * (1 + self.parameters)))
        starts = range(0, len(self.likelihoods), step)
        found = [self._part(coefficients, slice(at, at + step)) for at in starts]
        values, scores, known, missing = zip(*found, strict=True)
        return np.concatenate(values), np.concatenate(scores), sum(known), sum(missing)

    def _part(self, coefficients: Vector, rows: slice) -> tuple[Vector, Vector, Vector, Vector]:
        from scipy.special import expit, log_softmax, logsumexp

        c, mass, size, symbols = self.public[rows], self.mass[rows], self.size, len(self.values)
        ahead = np.zeros((len(c), symbols))
        ahead[:, 1:] = c @ coefficients[size:].reshape(symbols - 1, -1).T
        ahead = log_softmax(ahead, axis=1)
        shares = np.exp(ahead)
        with np.errstate(divide="ignore"):
            joint = np.log(self.likelihoods[rows])
        twice = joint.shape[1] // symbols
        joint += np.tile(ahead, twice)
        scores = np.empty((*joint.shape, len(coefficients)))
        known = np.zeros((len(coefficients),) * 2)
        if size:
            design = np.empty((*joint.shape, size))
            after = 1 + self.values.shape[1]
            design[:, :, :1], design[:, :, after:] = c[:, None, :1], c[:, None, 1:]
            design[:, :, 1:after] = np.tile(self.values, (twice, 1))
            response = np.repeat([0.0, 1.0], symbols)
            ahead = design @ coefficients[:size]
            joint += response * ahead - np.logaddexp(0, ahead)
            chance = expit(ahead)
            scores[:, :, :size] = (response - chance)[:, :, None] * design
        best = logsumexp(joint, axis=1)
        posterior = np.exp(joint - best[:, None])
        told = np.tile(np.eye(symbols), twice).T[:, 1:] - shares[:, None, 1:]
        scores[:, :, size:] = (told[:, :, :, None] * c[:, None, None]).reshape(*joint.shape, -1)
        mean = np.einsum("rn,rnp->rp", posterior, scores)
        missing = _gram(scores, mass[:, None] * posterior) - _gram(mean, mass)
        known[size:, size:] = _gram(scores[:, :symbols, size:], mass[:, None] * shares)
        if size:
            known[:size, :size] = _gram(design, mass[:, None] * posterior * chance * (1 - chance))
        return best, mean, known, missing


def _gram(of: Vector, weight: Vector) -> Vector:
    """Σ weight · of ofᵀ."""
    size = of.shape[-1]
    return np.asarray((weight[..., None] * of).reshape(-1, size).T @ of.reshape(-1, size))


@dataclass(frozen=True)
class Fit:
    """Coefficients of largest likelihood.

    Attributes
    ----------
    coefficients : ``(P,)``
    scores : ``(R, P)`` of one person of each row
    known, information : ``(P, P)``, had secrets been told, and observed
    value : log-likelihood
    free : positions of coefficients that have no finite estimate
    """

    coefficients: Vector
    scores: Vector
    known: Vector
    information: Vector
    value: float
    free: list[int]


def maximise_latent(observed: Latent, start: Vector) -> Fit:
    """The coefficients of largest likelihood, by Newton steps that are shortened towards those of
    known secrets until the likelihood rises.

    Raises :class:`DataError` where the search ends before a maximum.
    """
    mass, total = observed.mass, observed.mass.sum()
    at, short, end = start, 1.0, observed.parts(start)
    for _ in range(_STEPS):
        values, scores, known, missing = end
        best, slope = float(mass @ values), mass @ scores
        if np.abs(slope).max() <= _GRADIENT * total:
            break
        damped = (1 + short) * known - missing + 1e-12 * total * np.eye(len(at))
        following = at + np.linalg.solve(damped, slope)
        tried = observed.parts(following)
        # Near the maximum rounding decides about the last digits.
        if float(mass @ tried[0]) >= best - 1e-13 * abs(best):
            at, short, end = following, short / 10, tried
        else:
            short = max(10 * short, 0.01)
    information = known - missing
    free = _free_coefficients(observed, at, information, best)
    left = float(np.abs(slope).max() / total)
    if not left <= 1e-6 and not free:
        raise DataError(
            "logistic regression",
            expected="a likelihood with a maximum",
            got=f"a slope of {left:.1g} per report after {_STEPS} steps",
            remedy="leave out covariates, or bring them to similar sizes",
        )
    return Fit(at, scores, known, information, best, free)


def refuse_free(fit: Fit, names: list[str]) -> None:
    """Raise :class:`DataError` for coefficients without a finite estimate, with their names."""
    if fit.free:
        raise DataError(
            "logistic regression",
            expected="reports that bound every coefficient",
            got=f"none for {listing([names[i] for i in fit.free[:6]])}: the likelihood rises, or "
            "stays, however far they go (a symbol or value with one response only, or one that "
            "does not occur)",
            remedy="merge symbols in a feature, leave out covariates, or collect more reports",
        )


def _free_coefficients(
    observed: Latent, coefficients: Vector, information: Vector, best: float
) -> list[int]:
    """Coefficients of a direction along which the likelihood hardly changes."""
    for direction in np.linalg.eigh(information)[1].T[:3]:
        step = direction / np.abs(direction).max()
        ends = (observed.parts(coefficients + far * step)[0] for far in (_FAR, -_FAR))
        if any(best - float(observed.mass @ end) < _FLAT for end in ends):
            return np.flatnonzero(np.abs(step) > 0.3).tolist()
    return []
