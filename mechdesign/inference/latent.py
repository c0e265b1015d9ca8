"""Logistic regression where variables are known by their reports only: the likelihood over symbols.

A person with public covariates c has the secret x with probability π_x(c) ∝ exp(α_xᵀc) (zero for
the first symbol), the response r = 1 with probability σ(βᵀ(c, V_x)), and the report y with
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
    likelihoods : ``(R, n)`` of the reports of each row for each of the ``S`` symbols; where the
        response is reported too, for each symbol with the response 0 and then with the response 1
    public : ``(R, C)`` with a first column of ones
    values : ``(S, F)`` columns of the design of the response for each symbol
    response : ``(R, 1)``, or ``(1, n)``, of 0 and 1; ``None`` where the symbol is the response
    mass : ``(R,)`` weight times number of people
    """

    likelihoods: Vector
    public: Vector
    values: Vector
    response: Vector | None
    mass: Vector

    @property
    def size(self) -> int:
        """Number of coefficients of the response, β."""
        return 0 if self.response is None else self.public.shape[1] + self.values.shape[1]

    @property
    def parameters(self) -> int:
        """Number of all coefficients, β and then α symbol by symbol."""
        return self.size + (len(self.values) - 1) * self.public.shape[1]

    def parts(
        self, coefficients: Vector, weights: Vector | None = None
    ) -> tuple[Vector, Vector, Vector, Vector]:
        """Log-likelihoods ``(R,)``, scores of one person of each row ``(R, P)``, the information
        ``(P, P)`` of known secrets, and what is missing of it.

        ``weights`` ``(R, n)`` take the place of the posterior of the secret.
        """
        step = max(1, _MOST_NUMBERS // (self.likelihoods.shape[1] * (1 + self.parameters)))
        starts = range(0, len(self.likelihoods), step)
        found = [self._part(coefficients, slice(at, at + step), weights) for at in starts]
        values, scores, known, missing = zip(*found, strict=True)
        return np.concatenate(values), np.concatenate(scores), sum(known), sum(missing)

    def _part(
        self, coefficients: Vector, rows: slice, weights: Vector | None
    ) -> tuple[Vector, Vector, Vector, Vector]:
        from scipy.special import log_softmax, logsumexp

        c, v, mass = self.public[rows], self.values, self.mass[rows]
        width, size, symbols = c.shape[1], self.size, len(v)
        ahead = np.zeros((len(c), symbols))
        ahead[:, 1:] = c @ coefficients[size:].reshape(symbols - 1, width).T
        ahead = log_softmax(ahead, axis=1)
        shares = np.exp(ahead)[:, 1:]
        with np.errstate(divide="ignore"):
            joint = np.log(self.likelihoods[rows])
        twice = joint.shape[1] // symbols
        joint = joint + np.tile(ahead, twice)
        error = np.zeros_like(joint)
        if self.response is not None:
            ahead = np.tile(v @ coefficients[width:size], twice) + (c @ coefficients[:width])[:, None]
            response = self.response[rows] if len(self.response) > 1 else self.response
            joint += response * ahead - np.logaddexp(0, ahead)
            error = response - 0.5 * (1 + np.tanh(ahead / 2))
        values = logsumexp(joint, axis=1)
        g = np.exp(joint - values[:, None]) if weights is None else weights[rows]

        def by_symbol(of: Vector) -> Vector:
            return np.asarray(of.reshape(len(c), twice, symbols).sum(axis=1))

        chances, errors = by_symbol(g), by_symbol(g * error)
        beta = np.hstack([errors.sum(axis=1)[:, None] * c, errors @ v])[:, :size]
        alpha = (chances[:, 1:] - shares)[:, :, None] * c[:, None]
        scores = np.hstack([beta, alpha.reshape(len(c), -1)])
        known, missing = np.zeros((2, scores.shape[1], scores.shape[1]))
        known[size:, size:] = _curvature(shares, c, mass)
        missing[size:, size:] = _curvature(chances[:, 1:], c, mass)
        if size:
            chance = (response - error) * (1 - response + error)
            for total, weight in ((known, chance), (missing, error**2)):
                each = mass[:, None] * by_symbol(g * weight)
                cross = c.T @ (each @ v)
                total[:width, :width] = (each.sum(axis=1)[:, None] * c).T @ c
                total[:width, width:size], total[width:size, :width] = cross, cross.T
                total[width:size, width:size] = (each.sum(axis=0)[:, None] * v).T @ v
            missing[:size, :size] -= (mass[:, None] * beta).T @ beta
            for k in range(1, symbols):
                apart = np.hstack([errors[:, [k]] * c, errors[:, [k]] * v[k]])
                apart -= chances[:, [k]] * beta
                place = slice(size + (k - 1) * width, size + k * width)
                missing[:size, place] = (mass[:, None] * apart).T @ c
                missing[place, :size] = missing[:size, place].T
        return values, scores, known, missing


def _curvature(shares: Vector, public: Vector, mass: Vector) -> Vector:
    """Σ mass (diag π − π πᵀ) ⊗ c cᵀ."""
    others, width = shares.shape[1], public.shape[1]
    flat = (shares[:, :, None] * public[:, None]).reshape(len(public), -1)
    found = -(mass[:, None] * flat).T @ flat
    blocks = found.reshape(others, width, others, width)
    for k in range(others):
        blocks[k, :, k] += ((mass * shares[:, k])[:, None] * public).T @ public
    return found


@dataclass(frozen=True)
class Fit:
    """Coefficients of largest likelihood.

    Attributes
    ----------
    coefficients : ``(P,)``
    information : ``(P, P)`` observed
    known : ``(P, P)`` the information, had secrets been told
    scores : ``(R, P)`` of one person of each row
    value : log-likelihood
    steps : of the search
    free : positions of coefficients that have no finite estimate
    """

    coefficients: Vector
    information: Vector
    known: Vector
    scores: Vector
    value: float
    steps: int
    free: list[int]


def maximise_latent(observed: Latent, start: Vector) -> Fit:
    """The coefficients of largest likelihood, by a trust region with the exact Hessian.

    Raises :class:`DataError` where the search ends before a maximum.
    """
    from scipy.optimize import minimize

    mass = observed.mass / observed.mass.sum()
    kept: dict[bytes, tuple[float, Vector, Vector]] = {}

    def at(coefficients: Vector) -> tuple[float, Vector, Vector]:
        key = coefficients.tobytes()
        if key not in kept:
            kept.clear()
            values, scores, known, missing = observed.parts(coefficients)
            hessian = (known - missing) / observed.mass.sum()
            kept[key] = -float(mass @ values), -(mass @ scores), hessian
        return kept[key]

    found: Any = minimize(
        lambda coefficients: at(coefficients)[:2],
        start,
        jac=True,
        hess=lambda coefficients: at(coefficients)[2],
        method="trust-exact",
        options={"gtol": _GRADIENT, "maxiter": _STEPS},
    )
    coefficients = np.asarray(found.x, dtype=float)
    values, scores, known, missing = observed.parts(coefficients)
    best = float(observed.mass @ values)
    free = _free_coefficients(observed, coefficients, known - missing, best)
    slope = float(np.abs(mass @ scores).max())
    if slope > 1e-6 and not free:
        raise DataError(
            "logistic regression",
            expected="a likelihood with a maximum",
            got=f"a slope of {slope:.1g} per report after {found.nit} steps",
            remedy="leave out covariates, or bring them to similar sizes",
        )
    return Fit(coefficients, known - missing, known, scores, best, int(found.nit), free)


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
    _, vectors = np.linalg.eigh(information)
    for direction in vectors.T[:3]:
        size = np.abs(direction) / np.abs(direction).max()
        step = _FAR * direction / np.abs(direction).max()
        ends = (observed.parts(coefficients + sign * step)[0] for sign in (1, -1))
        if any(best - float(observed.mass @ end) < _FLAT for end in ends):
            return np.flatnonzero(size > 0.3).tolist()
    return []
