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

from ...errors import SolverError
from .barrier import Barrier, curvature, log_determinant
from .forms import Array, FloatBox
from .relaxation import Coordinates, Relaxed, starts

_RANK = 1e-11
# A point of the middle of the path has a μ above this share of the first.
_MIDDLE = 0.1


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


class DesignBarrier(Barrier):
    """Barrier method for the dual of the relaxed design; f is minus its value.

    Parameters
    ----------
    box : the columns
    truth : π, ``(n,)``
    loss : A, ``(n, n)``, positive semi-definite
    ratios : the ends of πᵀr of columns with pᵀr = 1
    """

    fall, enough, ridge = 0.15, 0.3, 1e-13

    def __init__(
        self, box: FloatBox, truth: Array, loss: Array, ratios: tuple[float, float]
    ) -> None:
        c, n = Coordinates.of(box, truth, ratios), len(truth)
        super().__init__(c, len(c.low) if c.binary else 0, len(c.low))
        moved = c.scale[:, None] * c.basis
        # Rows of the inverse of (1, T): the truth, and what takes r to ξ.
        self.back = np.linalg.inv(np.column_stack([np.ones(n), moved]))[1:].T
        asked = self.back.T @ loss @ self.back
        shares, vectors = np.linalg.eigh((asked + asked.T) / 2)
        some = shares > _RANK * shares[-1]
        self.root = vectors[:, some] * np.sqrt(shares[some])
        self.of_root = (vectors[:, some] / np.sqrt(shares[some])).T
        self.truth = truth
        self.x = self._start()
        self.mu = abs(self._value(self.x)[0]) / (c.size + n)
        self.middle = _MIDDLE * self.mu
        self._before = self.mu, self.x

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

    def inner(self, x: Array) -> float:
        """Minus the value over μ, less log det M without its first row."""
        value, _ = self._value(x)
        return -value / self.mu - log_determinant(self._matrix(x)[1:, 1:])

    def last(self, accuracy: float) -> float:
        """μ at which the value is within a share of ``accuracy`` of the largest."""
        return super().last(accuracy * abs(self._value(self.x)[0]))

    def derivatives(self) -> tuple[Array, Array]:
        """Of :meth:`inner`."""
        parts = self._parts(self.x)
        assert parts is not None
        matrix, schur, onto = parts
        f = self.root.shape[1]
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
        slopes, block = curvature(np.linalg.inv(matrix[1:, 1:]), self.one[:, 1:], self.two[:, 1:])
        return slopes - gradient / self.mu, block + hessian / self.mu

    @property
    def moments(self) -> Array:
        """Second moments of z under the relaxed measure."""
        parts = self._parts(self.x)
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
        parts = self._parts(self.x)
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
            Relaxed(0.0, self.x[:n], self.cuts, self.x[n:], parts[0]),
        )
