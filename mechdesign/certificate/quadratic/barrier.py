"""A barrier method over multipliers of products, into which cuts come on the way.

What is minimised is f(x)/μ − log det M(x) − Σ log x_k over the multipliers that must be positive,
where M is linear in x, as μ falls. Products that the moments of a point violate come in as cuts
from a point in the middle of the path: near its end there is no room to move.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from ... import clock
from .cuts import Cuts
from .forms import Array

_MOST_NEWTON, _CENTRED, _SHORTER, _SHORTEST = 40, 0.3, 0.6, 1e-10
_ROUNDING = 1e-12


class Barrier(ABC):
    """Iterations over unknowns x: first those that are free, then positive multipliers, of which
    the last are those of the cuts.

    Parameters
    ----------
    coordinates : of the columns
    free : how many unknowns are free
    before : how many unknowns there are without cuts
    """

    #: Factor of μ from one centre to the next, share of the promised decrease that a step must
    #: bring, relative addition to the diagonal of a system, and how many cuts for each symbol stay.
    fall: ClassVar[float]
    enough: ClassVar[float]
    ridge: ClassVar[float]
    kept: ClassVar[float] = math.inf

    mu: float
    x: Array
    #: μ above which a point is one of the middle.
    middle: float

    def __init__(self, coordinates: Any, free: int, before: int) -> None:
        self.coordinates, self.free, self.before = coordinates, free, before
        self._set(Cuts.none(len(coordinates.scale)))

    def _set(self, cuts: Cuts) -> None:
        c, self.cuts = self.coordinates, cuts
        one, two = c.factors(cuts)
        self.one, self.two = np.vstack([c.low, one]), np.vstack([c.high, two])

    @abstractmethod
    def inner(self, x: Array) -> float:
        """f(x)/μ − log det M(x), infinite outside of the domain."""

    @abstractmethod
    def derivatives(self) -> tuple[Array, Array]:
        """Gradient and second derivatives of :meth:`inner`."""

    @property
    @abstractmethod
    def moments(self) -> Array:
        """Second moments of the coordinates, near a worst distribution of columns."""

    def last(self, accuracy: float) -> float:
        """μ at which f is within so much of the least."""
        return accuracy / (self.coordinates.size + len(self.one))

    def follow(self, accuracy: float, deadline: float = math.inf) -> None:
        """Follow the central path until f is within ``accuracy`` of the least, or time is up."""
        while True:
            last = self.last(accuracy)
            self._centre(deadline)
            if self.mu > self.middle:
                self._before = self.mu, self.x
            if self.mu <= last or clock.now() > deadline:
                return
            self.mu = max(self.mu * self.fall, last)

    def _centre(self, deadline: float) -> None:
        """Newton's method."""
        for _ in range(_MOST_NEWTON):
            gradient, hessian = self.derivatives()
            positive = self.x[self.free :]
            gradient[self.free :] -= 1 / positive
            hessian.flat[self.free * (len(gradient) + 1) :: len(gradient) + 1] += 1 / positive**2
            scale = np.sqrt(np.maximum(np.diagonal(hessian), 1e-200))
            scaled = hessian / scale / scale[:, None]
            scaled[np.diag_indices_from(scaled)] += self.ridge
            step = solution(scaled, -gradient / scale)
            if step is None:
                return
            step /= scale
            decrement = math.sqrt(max(-float(gradient @ step), 0.0))
            if not self._move(step, decrement) or decrement < _CENTRED:
                return
            if clock.now() > deadline:
                return

    def _merit(self, x: Array) -> float:
        positive = x[self.free :]
        if positive.min(initial=1.0) <= 0:
            return math.inf
        return self.inner(x) - float(np.log(positive).sum())

    def _move(self, step: Array, decrement: float) -> bool:
        falling = step[self.free :] / self.x[self.free :]
        length = min(1.0, 0.95 / max(float(-falling.min(initial=0.0)), 1e-300))
        now = self._merit(self.x)
        while length > _SHORTEST:
            x = self.x + length * step
            # A step that only just stays inside would leave no room for the next ones.
            least = self.enough * length * decrement**2 - _ROUNDING * (abs(now) + len(x))
            if self._merit(x) <= now - least:
                self.x = x
                return True
            length *= _SHORTER
        return False

    def cut(self) -> int:
        """Add the products that the moments violate most, drop those that do not matter; how many
        were added.
        """
        new = self.coordinates.violated(self.moments, self.cuts)
        if not len(new):
            return 0
        most = min(self.kept * len(self.coordinates.low), len(self.cuts))
        kept = np.sort(np.argsort(-self.x[self.before :], kind="stable")[: int(most)])
        self.mu, self.x = self._before
        if len(kept) < len(self.cuts):
            cuts, x = self.cuts, np.append(self.x[: self.before], self.x[self.before :][kept])
            self._set(cuts.take(kept))
            if math.isinf(self.inner(x)):
                self._set(cuts)
            else:
                self.x = x
        self._set(self.cuts.join(new))
        added = np.full(len(new), self.mu)
        while math.isinf(self.inner(np.append(self.x, added))):
            added *= 0.3
        self.x = np.append(self.x, added)
        return len(new)


def curvature(inverse: Any, one: Array, two: Array) -> tuple[Array, Array]:
    """Of −log det M for M = … − Σ x_k sym(a_k b_kᵀ) at M⁻¹, the gradient and second derivatives."""
    inverse = (inverse + inverse.T) / 2
    left, right = inverse @ one.T, inverse @ two.T
    mixed = one @ right
    return np.diagonal(mixed).copy(), ((one @ left) * (two @ right) + mixed * mixed.T) / 2


def solution(matrix: Array, right: Array) -> Array | None:
    """The solution of linear equations; ``None`` where floats have none."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return None
    try:
        found = np.asarray(np.linalg.solve(matrix, right), dtype=float)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


def log_determinant(matrix: Array) -> float:
    """Log det of a positive definite matrix, −∞ for another."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return -math.inf
    return 2 * float(np.log(np.diagonal(factor)).sum())
