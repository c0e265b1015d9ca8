"""The relaxed design: a lower bound on the risk of every kernel, before any column is known.

Of a measure on columns r with πᵀr = 1 and mean one the risk needs second moments only, and those of
every private measure satisfy the products of :mod:`.relaxation` on average. With z = (1, ξ)
or (1, ξ, s), r = 1 + Tξ, and M(y) = −Σ y_k sym(a_k b_kᵀ)::

    minimise  tr(LᵀC⁻¹L)   over moments with ⟨sym(a_k b_kᵀ), moments⟩ ≥ 0
    maximise  2 tr((LᵀM̃L)^½) + M̃₀₀   over y ≥ 0, M̃ the Schur complement of s in M(y)

The dual is smooth and has one variable for each product. It gives the V and λ of
:class:`.QuadraticPricing` at which no column has a reduced value that its relaxations do not
show, so that the bound of pricing is next to zero there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ... import clock
from ...errors import SolverError
from .cuts import Cuts
from .forms import Array, FloatBox
from .relaxation import Coordinates, Relaxed, solution, starts

_MOST_NEWTON, _CENTRED = 40, 0.3
_FALL, _FIRST, _RESTART = 0.15, 1.0, 0.1
_RANK = 1e-11


@dataclass(frozen=True, eq=False)
class RelaxedDesign:
    """What the relaxed design says.

    Attributes
    ----------
    inverse : ``(n, n)`` V, in the place of the inverse of the information matrix
    prices : ``(n,)`` λ
    value : 2 tr(AV) − Σλ, which bounds the risk up to the reduced value of columns at V and λ
    point : multipliers of products with which no column has a reduced value at V and λ
    """

    inverse: Array
    prices: Array
    value: float
    point: Relaxed


class DesignBarrier:
    """Barrier method for the dual of the relaxed design.

    Parameters
    ----------
    box : the columns
    truth : π, ``(n,)``
    loss : A, ``(n, n)``, positive semi-definite
    ratios : the ends of πᵀr of columns with pᵀr = 1
    """

    def __init__(
        self, box: FloatBox, truth: Array, loss: Array, ratios: tuple[float, float]
    ) -> None:
        self.coordinates = c = Coordinates.of(box, truth, ratios)
        n = len(truth)
        moved = c.scale[:, None] * c.basis
        # Rows of the inverse of (1, T): the truth, and what takes r to ξ.
        self.back = np.linalg.inv(np.column_stack([np.ones(n), moved]))[1:].T
        asked = self.back.T @ loss @ self.back
        shares, vectors = np.linalg.eigh((asked + asked.T) / 2)
        some = shares > _RANK * shares[-1]
        self.root = vectors[:, some] * np.sqrt(shares[some])
        self.of_root = (vectors[:, some] / np.sqrt(shares[some])).T
        self.truth = truth
        self.free = len(c.low) if c.binary else 0
        self.cuts, self.one, self.two = Cuts.none(n), c.low, c.high
        self.y = self._start()
        value, _ = self._value(self.y)
        self.mu = _FIRST * abs(value) / (c.size + n)
        # Cuts are taken in from here: near the end of the path there is no room to move.
        self._middle = _RESTART * self.mu
        self._before = self.mu, self.y

    def _start(self) -> Array:
        for y in starts(self.coordinates):
            if self._parts(y) is not None:
                break
        else:
            raise SolverError("no multipliers with which the relaxation is bounded were found")
        _, (root, corner) = self._value(y)
        return np.asarray(y * (root / max(-corner, 1e-300)) ** 2)

    def _matrix(self, y: Array) -> Array:
        product = (self.one * y[:, None]).T @ self.two
        return np.asarray(-(product + product.T) / 2)

    def _parts(self, y: Array) -> tuple[Array, Array, Array] | None:
        """M, M̃ and what takes (1, ξ) to z; ``None`` outside of the domain."""
        matrix = self._matrix(y)
        try:
            np.linalg.cholesky(matrix[1:, 1:])
        except np.linalg.LinAlgError:
            return None
        k = len(self.truth)
        onto = np.eye(self.coordinates.size)[:, :k]
        if self.coordinates.binary:
            onto[k] = -matrix[k, :k] / matrix[k, k]
        return matrix, onto.T @ matrix @ onto, onto

    def _value(self, y: Array) -> tuple[float, tuple[float, float]]:
        parts = self._parts(y)
        if parts is None:
            return -math.inf, (0.0, 0.0)
        inner = self.root.T @ parts[1][1:, 1:] @ self.root
        root = float(np.sqrt(np.maximum(np.linalg.eigvalsh(inner), 0.0)).sum())
        corner = float(parts[1][0, 0])
        return 2 * root + corner, (root, corner)

    def _merit(self, y: Array) -> float:
        value, _ = self._value(y)
        positive = y[self.free :]
        if value == -math.inf or positive.min(initial=1.0) <= 0:
            return -math.inf
        determinant = float(np.linalg.slogdet(self._matrix(y)[1:, 1:])[1])
        return value / self.mu + determinant + float(np.log(positive).sum())

    def maximise(self, accuracy: float, deadline: float = math.inf) -> None:
        """Follow the central path until the value is within a share of ``accuracy`` of the largest,
        or time is up.
        """
        while True:
            last = accuracy * abs(self._value(self.y)[0]) / (self.coordinates.size + len(self.y))
            self._centre(deadline)
            if self.mu > self._middle:
                self._before = self.mu, self.y
            if self.mu <= last or clock.now() > deadline:
                return
            self.mu = max(self.mu * _FALL, last)

    def _centre(self, deadline: float) -> None:
        for _ in range(_MOST_NEWTON):
            gradient, hessian = self._derivatives()
            size = np.sqrt(np.maximum(np.diagonal(hessian), 1e-200))
            scaled = hessian / size / size[:, None]
            scaled[np.diag_indices_from(scaled)] += 1e-13
            step = solution(scaled, gradient / size)
            if step is None:
                return
            step /= size
            decrement = math.sqrt(max(float(gradient @ step), 0.0))
            if not self._move(step, decrement) or decrement < _CENTRED:
                return
            if clock.now() > deadline:
                return

    def _move(self, step: Array, decrement: float) -> bool:
        falling = step[self.free :] / self.y[self.free :]
        length = min(1.0, 0.95 / max(float(-falling.min(initial=0.0)), 1e-300))
        now = self._merit(self.y)
        while length > 1e-10:
            y = self.y + length * step
            if self._merit(y) >= now + 0.3 * length * decrement**2 - 1e-12 * abs(now):
                self.y = y
                return True
            length *= 0.6
        return False

    def _derivatives(self) -> tuple[Array, Array]:
        """Of the barrier function over μ, and minus the second ones."""
        parts = self._parts(self.y)
        assert parts is not None
        matrix, schur, onto = parts
        k, f = len(self.y), self.root.shape[1]
        inner = self.root.T @ schur[1:, 1:] @ self.root
        squares, turn = np.linalg.eigh((inner + inner.T) / 2)
        omega = np.sqrt(np.maximum(squares, 1e-30 * squares[-1]))
        one, two = self.one @ onto, self.two @ onto
        first, second = one[:, 1:] @ self.root @ turn, two[:, 1:] @ self.root @ turn
        gradient = -(one[:, 0] * two[:, 0] + (first * second / omega).sum(axis=1))
        weight = 1 / np.sqrt(np.outer(omega, omega) * (omega[:, None] + omega))
        rows, columns = np.triu_indices(f)
        share = weight[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2))
        table = first[:, rows] * second[:, columns] + first[:, columns] * second[:, rows]
        table *= share / 2
        hessian = table @ table.T
        if self.coordinates.binary:
            # The Schur complement is itself curved: −2 gᵀXg/M_ss with g = Pᵀ D e_s.
            last = len(self.truth)
            e1, e2 = self.one[:, last], self.two[:, last]
            corner = (e1 * two[:, 0] + e2 * one[:, 0]) / 2
            rest = (e1[:, None] * second + e2[:, None] * first) / 2 / np.sqrt(omega)
            bent = np.column_stack([corner, rest])
            hessian += 2 / matrix[last, last] * (bent @ bent.T)
        gradient, hessian = gradient / self.mu, hessian / self.mu
        inverse = np.linalg.inv(matrix[1:, 1:])
        inverse = (inverse + inverse.T) / 2
        left, right = inverse @ self.one[:, 1:].T, inverse @ self.two[:, 1:].T
        mixed = self.one[:, 1:] @ right
        hessian += ((self.one[:, 1:] @ left) * (self.two[:, 1:] @ right) + mixed * mixed.T) / 2
        gradient -= np.diagonal(mixed)
        positive = self.y[self.free :]
        gradient[self.free :] += 1 / positive
        places = np.arange(self.free, k)
        hessian[places, places] += 1 / positive**2
        return gradient, hessian

    def cut(self) -> int:
        """Add the products that the moments violate most; how many."""
        new = self.coordinates.violated(self.moments, self.cuts)
        if not len(new):
            return 0
        cuts = self.cuts.join(new)
        self.mu, y = self._before
        one, two = self.coordinates.factors(cuts)
        self.one = np.vstack([self.coordinates.low, one])
        self.two = np.vstack([self.coordinates.high, two])
        self.cuts = cuts
        added = np.full(len(new), self.mu)
        while self._parts(np.concatenate([y, added])) is None:
            added *= 0.3
        self.y = np.concatenate([y, added])
        return len(new)

    @property
    def moments(self) -> Array:
        """Second moments of z under the relaxed measure."""
        parts = self._parts(self.y)
        assert parts is not None
        matrix, schur, onto = parts
        inner = self.root.T @ schur[1:, 1:] @ self.root
        squares, turn = np.linalg.eigh((inner + inner.T) / 2)
        half = self.root @ turn / np.maximum(squares, 1e-30 * squares[-1]) ** 0.25
        found = np.zeros_like(schur)
        found[0, 0] = 1.0
        found[1:, 1:] = half @ half.T
        moments = onto @ found @ onto.T
        moments[1:, 1:] += self.mu * np.linalg.inv(matrix[1:, 1:])
        return np.asarray(moments)

    @property
    def design(self) -> RelaxedDesign:
        """V and λ where the method stands."""
        parts = self._parts(self.y)
        assert parts is not None
        schur = parts[1]
        inner = self.root.T @ schur[1:, 1:] @ self.root
        squares, turn = np.linalg.eigh((inner + inner.T) / 2)
        omega = np.sqrt(np.maximum(squares, 1e-30 * squares[-1]))
        image = schur[1:, 1:] @ self.root @ (turn / omega) @ turn.T
        inverse = self.back @ image @ self.of_root @ self.back.T
        prices = -schur[0, 0] * self.truth - 2 * (self.back @ schur[1:, 0])
        n = len(self.coordinates.low)
        return RelaxedDesign(
            inverse,
            prices,
            2 * float(omega.sum()) + float(schur[0, 0]),
            Relaxed(0.0, self.y[:n], self.cuts, self.y[n:], parts[0]),
        )
