"""Logistic regression where one variable is known by its report only: the likelihood over symbols.

A person with public covariates c has the secret x with probability π_x(c) ∝ exp(α_xᵀ(1, c)) (zero
for the first symbol), the response r = 1 with probability σ(βᵀ(1, V_x, c)), and the report y with
probability K[x, y]. What is seen is (c, r, y), or (c, y) where the secret is the response itself:

    L_i(α, β) = Σ_x π_x(c_i) K[x, y_i] P(r_i | x, c_i).

Where the response is privatised beside the covariate x, the sum runs over both, and the likelihood
of the report is that of x and r.

With the score s_x of a person whose secret is known, and the posterior g_x of the secret, gradient
and Hessian are E_g s and E_g ∂s + E_g s sᵀ − (E_g s)(E_g s)ᵀ [Louis1982].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..labels import listing

Vector = NDArray[np.float64]

_MOST_NUMBERS = 4_000_000
# Gradient of the log-likelihood per report at which the search ends, and its steps.
_GRADIENT, _STEPS = 1e-9, 500
# A direction along which so large a step changes the log-likelihood by so little has no estimate.
_FAR, _FLAT = 5.0, 0.01


@dataclass(frozen=True)
class Latent:
    """What is seen of each row.

    Attributes
    ----------
    likelihoods : ``(R, N)`` K[x, y] of the report of each row
    public : ``(R, C)`` with a first column of ones
    values : ``(N, F)`` columns of the design of the response for each symbol; none where the secret
        is the response
    response : ``(R,)`` of 0 and 1, or ``None``
    mass : ``(R,)`` weight times number of people
    doubled : whether the first half of likelihoods and values is for the response 0 and the other
        for the response 1, which is known by its report only
    """

    likelihoods: Vector
    public: Vector
    values: Vector
    response: Vector | None
    mass: Vector
    doubled: bool = False

    @property
    def secrets(self) -> int:
        """Number of symbols x."""
        return self.likelihoods.shape[1] // (2 if self.doubled else 1)

    @property
    def size(self) -> int:
        """Number of coefficients of the response, β."""
        has_response = self.response is not None or self.doubled
        return self.public.shape[1] + self.values.shape[1] if has_response else 0

    @property
    def parameters(self) -> int:
        """Number of all coefficients, β and then α symbol by symbol."""
        return self.size + (self.secrets - 1) * self.public.shape[1]

    def parts(self, coefficients: Vector, *, second: bool = True) -> tuple[Vector, Vector, Vector]:
        """Log-likelihoods ``(R,)``, scores ``(R, P)`` and Hessian ``(P, P)`` (zero if not asked).

        The Hessian is that of Σ mass · log-likelihood; scores are of one person of each row.
        """
        rows, n = self.likelihoods.shape
        p = self.parameters
        step = max(1, _MOST_NUMBERS // (n * p))
        found = [
            self._part(coefficients, slice(start, start + step), second)
            for start in range(0, rows, step)
        ]
        return (
            np.concatenate([value for value, _, _ in found]),
            np.concatenate([score for _, score, _ in found]),
            sum((hessian for _, _, hessian in found), np.zeros((p, p))),
        )

    def _part(
        self, coefficients: Vector, rows: slice, second: bool
    ) -> tuple[Vector, Vector, Vector]:
        likelihoods, public = self.likelihoods[rows], self.public[rows]
        count, n = likelihoods.shape
        size, width = self.size, public.shape[1]
        secrets = self.secrets
        # Of each place the symbol; the response makes two of them of each.
        symbols = np.tile(np.arange(secrets), n // secrets)
        alpha = coefficients[size:].reshape(secrets - 1, width)
        ahead = np.hstack([np.zeros((count, 1)), public @ alpha.T])
        top = ahead.max(axis=1, keepdims=True)
        shares = np.exp(ahead - top)
        total = shares.sum(axis=1, keepdims=True)
        shares = shares / total
        with np.errstate(divide="ignore"):
            joint = (ahead - top - np.log(total))[:, symbols] + np.log(likelihoods)
        scores = np.zeros((count, n, coefficients.size))
        hessian = np.zeros((coefficients.size, coefficients.size))
        if size:
            design = np.empty((count, n, size))
            design[:, :, :1] = 1
            design[:, :, 1 : 1 + self.values.shape[1]] = self.values
            design[:, :, 1 + self.values.shape[1] :] = public[:, None, 1:]
            linear = design @ coefficients[:size]
            response = np.repeat([[0.0, 1.0]], secrets, axis=1)
            if self.response is not None:
                response = self.response[rows][:, None]
            joint = joint + response * linear - np.logaddexp(0, linear)
            chance = 0.5 * (1 + np.tanh(linear / 2))
            scores[:, :, :size] = (response - chance)[:, :, None] * design
        best = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - best)
        evidence = posterior.sum(axis=1, keepdims=True)
        posterior = posterior / evidence
        values = (best + np.log(evidence))[:, 0]
        known = np.eye(secrets)[symbols][None, :, 1:] - shares[:, None, 1:]
        scores[:, :, size:] = (known[:, :, :, None] * public[:, None, None, :]).reshape(
            count, n, -1
        )
        mean = np.einsum("ix,ixp->ip", posterior, scores)
        if second:
            mass = self.mass[rows]
            weight = mass[:, None] * posterior
            flat = (np.sqrt(weight)[:, :, None] * scores).reshape(-1, coefficients.size)
            hessian = flat.T @ flat - (mass[:, None] * mean).T @ mean
            if size:
                curved = np.sqrt(weight * chance * (1 - chance))[:, :, None] * design
                curved = curved.reshape(-1, size)
                hessian[:size, :size] -= curved.T @ curved
            hessian[size:, size:] -= self._curvature(shares[:, 1:], public, mass)
        return values, mean, hessian

    @staticmethod
    def _curvature(shares: Vector, public: Vector, mass: Vector) -> Vector:
        """Σ mass (diag π − π πᵀ) ⊗ c cᵀ, without the first symbol."""
        others, width = shares.shape[1], public.shape[1]
        variances = shares[:, :, None] * np.eye(others) - shares[:, :, None] * shares[:, None, :]
        found = np.einsum("i,ikl,ia,ib->kalb", mass, variances, public, public, optimize=True)
        return np.asarray(found.reshape(others * width, others * width))


@dataclass(frozen=True)
class Fit:
    """Coefficients of largest likelihood.

    Attributes
    ----------
    coefficients : ``(P,)``
    information : ``(P, P)`` observed
    scores : ``(R, P)`` of one person of each row
    value : log-likelihood
    steps : of the search
    free : positions of coefficients that have no finite estimate
    """

    coefficients: Vector
    information: Vector
    scores: Vector
    value: float
    steps: int
    free: list[int]


def maximise_latent(observed: Latent, start: Vector) -> Fit:
    """The coefficients of largest likelihood, by a trust region with the exact Hessian.

    Raises :class:`DataError` where the search ends before a maximum.
    """
    from scipy.optimize import minimize

    total = float(observed.mass.sum())
    known: dict[bytes, tuple[float, Vector, Vector]] = {}

    def at(coefficients: Vector) -> tuple[float, Vector, Vector]:
        key = coefficients.tobytes()
        if key not in known:
            known.clear()
            values, scores, hessian = observed.parts(coefficients)
            slope = -(observed.mass @ scores) / total
            known[key] = -float(observed.mass @ values) / total, slope, -hessian / total
        return known[key]

    found: Any = minimize(
        lambda coefficients: at(coefficients)[0],
        start,
        jac=lambda coefficients: at(coefficients)[1],
        hess=lambda coefficients: at(coefficients)[2],
        method="trust-exact",
        options={"gtol": _GRADIENT, "maxiter": _STEPS},
    )
    coefficients = np.asarray(found.x, dtype=float)
    values, scores, hessian = observed.parts(coefficients)
    best = float(observed.mass @ values)
    free = _free_coefficients(observed, coefficients, -hessian, best)
    slope = float(np.abs(observed.mass @ scores).max()) / total
    if slope > 1e-6 and not free:
        raise DataError(
            "logistic regression",
            expected="a likelihood with a maximum",
            got=f"a slope of {slope:.1g} per report after {found.nit} steps",
            remedy="leave out covariates, or bring them to similar sizes",
        )
    return Fit(coefficients, -hessian, scores, best, int(found.nit), free)


def refuse_free(fit: Fit, names: list[str]) -> None:
    """Raise :class:`DataError` for coefficients without a finite estimate, with their names."""
    if fit.free:
        told = [names[i] for i in fit.free]
        raise DataError(
            "logistic regression",
            expected="reports that bound every coefficient",
            got=f"none for {listing(told[:6])}: the likelihood rises, or stays, however far they "
            "go (a symbol or value with one response only, or one that does not occur)",
            remedy="merge symbols in a feature, leave out covariates, or collect more reports",
        )


def _free_coefficients(
    observed: Latent, coefficients: Vector, information: Vector, best: float
) -> list[int]:
    """Coefficients of a direction along which the likelihood hardly changes."""
    _, vectors = np.linalg.eigh(information)
    for direction in vectors.T[:3]:
        step = _FAR * direction / np.abs(direction).max()
        drops = [
            best
            - float(observed.mass @ observed.parts(coefficients + sign * step, second=False)[0])
            for sign in (1, -1)
        ]
        if min(drops) < _FLAT:
            return np.flatnonzero(np.abs(direction) > 0.3 * np.abs(direction).max()).tolist()
    return []
