"""Semidefinite relaxations of pricing, and bounds that they prove.

A column r of a two-sided cone, with s = min r under LDP and s = pᵀr under bounds on the lift, has
products of non-negative numbers that are themselves non-negative::

    (r_x − l_x s)(h_x s − r_x),   (r_x − l_x s)(r_z − l_z s),   …

Under LDP the first are zero at extreme columns. A quadratic form that is at most v (πᵀr)² less a
combination of them, by a matrix S ⪰ 0, is at most v at every column with πᵀr = 1 ([Shor1987]). The
least v is found by a barrier method in the coefficients; other products come in as cuts, where the
moments of the relaxation violate them (:mod:`.cuts`). Nothing is trusted of
all this but the coefficients: :class:`Majorant` writes S anew and proves S ⪰ −c by a Cholesky
factor in floats, whose rounding is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import SolverError
from .barrier import Barrier, curvature, log_determinant
from .cuts import Cuts, violated
from .forms import UNIT, Array, FloatBox, Form

# A point of the middle of the path has a μ above this share of the values that matter.
_MIDDLE = 1e-3


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Columns with πᵀr = 1 as r = 1 + scale·(basis ξ), and the least value s under LDP.

    Attributes
    ----------
    basis : ``(n, n - 1)`` orthonormal, orthogonal to π·scale
    scale : ``(n,)``
    low, high : ``(n, d)`` rows: r_x − l_x s and h_x s − r_x in units of the span, on (1, ξ[, s]);
        where truth and prior differ one more for pᵀr itself, without which it has no bounds
    mass : ``(d,)`` pᵀr
    binary : whether one of low and high is zero at extreme columns
    """

    basis: Array
    scale: Array
    low: Array
    high: Array
    mass: Array
    binary: bool

    @classmethod
    def of(cls, box: FloatBox, truth: Array, ratios: tuple[float, float]) -> Coordinates:
        """The coordinates of a box; ``ratios`` are the ends of πᵀr of columns with pᵀr = 1."""
        n, binary = len(box.p), box.weights is None
        scale = np.where(box.span > 0, box.span, 1.0)
        basis = _complement(truth * scale)
        moved = scale[:, None] * basis
        mass = np.concatenate([[1.0], box.p @ moved])
        if np.array_equal(truth, box.p):
            mass[1:] = 0.0
        if binary:  # s = 1 + scale·ŝ, r = s (1 + scale t)
            ratio = 1 + scale[0]
            low = np.column_stack([np.zeros(n), basis, np.full(n, -1.0)])
            high = np.column_stack([np.ones(n), -basis, np.full(n, ratio)])
            return cls(basis, scale, low, high, np.append(mass, 0.0), binary)
        least, most = box.base, box.base + box.span
        low = (np.column_stack([np.ones(n), moved]) - np.outer(least, mass)) / scale[:, None]
        high = (np.outer(most, mass) - np.column_stack([np.ones(n), moved])) / scale[:, None]
        # The constants 1 − l and h − 1 without cancellation.
        low[:, 0], high[:, 0] = box.below / scale, box.above / scale
        if ratios[0] < ratios[1]:
            one, two = (mass - np.eye(1, n)[0] / r for r in reversed(ratios))
            low, high = np.vstack([low, one]), np.vstack([high, -two])
        return cls(basis, scale, low, high, mass, binary)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.mass)

    @cached_property
    def places(self) -> Array:
        """Weights of s and of t s on the coordinates, ``(n + 1, d)``."""
        unit = self.mass
        if self.binary:
            unit = np.eye(self.size)[0] + self.scale[0] * np.eye(self.size)[-1]
        return np.vstack([unit, self.low[: len(self.scale)]])

    def factors(self, cuts: Cuts) -> tuple[Array, Array]:
        """Both factors of each product as rows."""
        return cuts.one @ self.places, cuts.two @ self.places

    def violated(self, moments: Array, known: Cuts) -> Cuts:
        """The products that second moments of the coordinates violate most, but for those known."""
        return violated(self.places @ moments @ self.places.T, known, whole=self.binary)

    def square(self, parts: tuple[float, Array, Array]) -> Array:
        """rᵀGr from 1ᵀG1, G1 and G, ``(d, d)``."""
        constant, image, matrix = parts
        moved = self.scale[:, None] * self.basis
        k = 1 + self.basis.shape[1]
        found = np.zeros((self.size, self.size))
        found[0, 0] = constant
        found[0, 1:k] = found[1:k, 0] = image @ moved
        found[1:k, 1:k] = moved.T @ matrix @ moved
        return found

    def row(self, total: float, weights: Array) -> Array:
        """Weights of r as weights of the coordinates; ``total`` is their sum."""
        found = np.zeros(self.size)
        found[0] = total
        found[1 : 1 + self.basis.shape[1]] = (weights * self.scale) @ self.basis
        return found


def _complement(normal: Array) -> Array:
    """An orthonormal basis of what is orthogonal to a vector, ``(n, n - 1)``: a reflection."""
    n = len(normal)
    v = normal / np.linalg.norm(normal)
    sign = 1.0 if v[0] >= 0 else -1.0
    v = v.copy()
    v[0] += sign
    reflection = np.eye(n) - np.outer(v, v) * (2 / (v @ v))
    return reflection[:, 1:]


def starts(coordinates: Coordinates) -> Iterator[Array]:
    """Multipliers of the products of one symbol, to try until they are concave together."""
    c, n = coordinates, len(coordinates.scale)
    # Orthogonal to the basis, and of the sign of the truth.
    normal = np.abs(1 - c.basis @ (c.basis.T @ np.ones(n)))
    share = 1.0
    for _ in range(60):
        y = normal / normal.sum() + share / n
        yield np.append(y, 1 / share) if len(c.low) > n else y
        share /= 2


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A point of the barrier method: the form is at most v less the products with multipliers.

    Attributes
    ----------
    value : v
    chords : ``(n,)`` multipliers of the products of one symbol
    cuts, multipliers : other products
    moments : ``(d, d)`` second moments of the coordinates, near a worst distribution of columns
    """

    value: float
    chords: Array
    cuts: Cuts
    multipliers: Array
    moments: Array


class Relaxation(Barrier):
    """min v such that v E₀₀ − Q − Σ y_k sym(a_k b_kᵀ) ⪰ 0, y ≥ 0 but for chords under LDP.

    Parameters
    ----------
    coordinates : of the columns
    form : Q, ``(d, d)``
    size : of the values that matter
    """

    fall, enough, ridge, kept = 0.2, 0.1, 1e-15, 8

    def __init__(self, coordinates: Coordinates, form: Array, size: float) -> None:
        n = len(coordinates.low)
        super().__init__(coordinates, 1 + n if coordinates.binary else 1, 1 + n)
        self.form = form
        self.unit = max(float(np.abs(form).max()), 1e-300)
        self.x = self._start()
        self.mu = self.value / (coordinates.size + 1)
        self.middle = _MIDDLE * size / coordinates.size
        self._before = self.mu, self.x

    @property
    def value(self) -> float:
        """V."""
        return float(self.x[0])

    def _slack(self, x: Array) -> Array:
        product = (self.one * x[1:, None]).T @ self.two
        slack = -self.form - (product + product.T) / 2
        slack[0, 0] += x[0]
        return slack

    def _start(self) -> Array:
        """Multipliers within the interior: the products of one symbol are concave together."""
        c = self.coordinates
        for y in starts(c):
            product = (c.low * y[:, None]).T @ c.high
            curved = -(product + product.T)[1:, 1:] / 2
            least = np.linalg.eigvalsh(curved)[0]
            if least > 0:
                break
        else:
            raise SolverError("no multipliers with which the relaxation is bounded were found")
        y = y * (2 * max(float(np.linalg.eigvalsh(self.form[1:, 1:])[-1]), self.unit) / least)
        x = np.append(float(np.abs(self.form[0]).sum() + y.sum()), y)
        while log_determinant(self._slack(x)) == -math.inf:
            x[0] *= 2
        x[0] *= 2
        return x

    @property
    def least(self) -> float:
        """What v is at least, up to how well the point is centred."""
        return self.value - 2 * self.mu * (self.coordinates.size + len(self.x) - 1)

    def inner(self, x: Array) -> float:
        """v/μ − log det S."""
        return float(x[0]) / self.mu - log_determinant(self._slack(x))

    def derivatives(self) -> tuple[Array, Array]:
        """Of v/μ − log det S."""
        inverse = np.linalg.inv(self._slack(self.x))
        slopes, block = curvature(inverse, self.one, self.two)
        left, right = self.one @ inverse[0], self.two @ inverse[0]
        gradient = np.append(1 / self.mu - inverse[0, 0], slopes)
        hessian = np.empty((len(gradient), len(gradient)))
        hessian[1:, 1:], hessian[0, 0] = block, inverse[0, 0] ** 2
        hessian[0, 1:] = hessian[1:, 0] = -left * right
        return gradient, hessian

    @property
    def moments(self) -> Array:
        """S⁻¹, with mass one."""
        moments = np.linalg.inv(self._slack(self.x))
        return np.asarray(moments / moments[0, 0])

    @property
    def point(self) -> Relaxed:
        """Where the method stands."""
        own, more = np.split(self.x[1:], [self.before - 1])
        return Relaxed(self.value, own, self.cuts, more, self.moments)


@dataclass(frozen=True, eq=False)
class Majorant:
    """rᵀGr − (πᵀr)(λᵀr + δ pᵀr) ≤ v (πᵀr)² − Σ products − zᵀSz with z = (1, t), for every column.

    Attributes
    ----------
    level : δ
    value : v
    slack : ``(n + 1, n + 1)`` S
    chords : multipliers of t_x (1 − t_x), and of (1 − πᵀr/most)(πᵀr/least − 1) where they differ
    multipliers : ``(m,)`` of the cuts
    below : −zᵀSz is at most this, all rounding included
    rounding : what rounding alone may add to the right side
    """

    level: float
    value: float
    slack: Array
    chords: Array
    multipliers: Array
    below: float
    rounding: float

    @classmethod
    def of(
        cls,
        form: Form,
        box: FloatBox,
        level: float,
        found: Relaxed,
        ratios: tuple[float, float],
    ) -> Majorant:
        """From multipliers of any quality; those that must not be negative are cut off."""
        n = len(form.linear)
        chords = found.chords if box.weights is None else np.maximum(found.chords, 0.0)
        multipliers = np.maximum(found.multipliers, 0.0)
        truth = np.concatenate([[form.truth[0]], form.truth[1]])
        price = np.concatenate([[form.price[0]], form.price[1]])
        mass = np.concatenate([[1.0], np.zeros(n)])
        if form.mass is not None:
            mass = np.concatenate([[form.mass[0]], form.mass[1]])
        charged = price + level * mass
        slack = found.value * np.outer(truth, truth) + _symmetric(np.outer(truth, charged))
        slack[0, 0] -= form.constant
        slack[0, 1:] -= form.linear / 2
        slack[1:, 0] -= form.linear / 2
        slack[1:, 1:] -= form.square
        unit, cuts = np.eye(n + 1), found.cuts
        for weights, one, two in (
            (chords[:n], unit[1:], unit[0] - unit[1:]),
            (multipliers, cuts.one, cuts.two),
        ):
            slack -= _symmetric((one * weights[:, None]).T @ two)
        for weight in chords[n:].tolist():
            one, two = mass - truth / ratios[1], truth / ratios[0] - mass
            slack -= weight * _symmetric(np.outer(one, two))
        size = abs(form.constant) + np.abs(form.linear).sum() + np.abs(form.square).sum()
        size += truth.sum() * (np.abs(price).sum() + abs(level) * mass.sum())
        size += abs(found.value) * truth.sum() ** 2
        size += 4 * np.abs(chords[:n]).sum()
        # Whole coefficients are exact; sums of so many products are not.
        both = np.abs(cuts.one).sum(axis=1) * np.abs(cuts.two).sum(axis=1)
        size += (1 + len(cuts) / 32) * float(multipliers @ both)
        size += (
            float(chords[n:].sum()) * (1 + truth.sum() / ratios[1]) * (1 + truth.sum() / ratios[0])
        )
        if box.weights is not None:
            normal = np.concatenate([[-box.capacity], box.weights])
            added = _decoupled(slack, normal)
            slack = slack + _symmetric(np.outer(added, normal))
            size += np.abs(added).sum() * np.abs(normal).sum()
        slack = _symmetric(slack)
        rounding = 64 * UNIT * float(size)
        short = _shortfall(slack) * (n + 1)
        return cls(level, found.value, slack, chords, multipliers, short, rounding)


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + matrix.T) / 2)


def _decoupled(matrix: Array, normal: Array) -> Array:
    """A y with which matrix + sym(y normalᵀ) does not couple the normal and is positive on it.

    It is the same form on what is orthogonal to the normal, where all columns are.
    """
    square = float(normal @ normal)
    image = matrix @ normal
    own = float(normal @ image) / square
    size = float(np.abs(np.diagonal(matrix)).max())
    return np.asarray((-2 * image + (own + size) * normal) / square)


def _shortfall(matrix: Array) -> float:
    """A number c with matrix + c·I positive semi-definite, proved by a Cholesky factor in floats.

    A factor of A that is found is one of a matrix that differs by at most (n + 1) u/(1 − …) times
    the trace of A ([Rump2006]).
    """
    n = len(matrix)
    trace = float(np.abs(np.diagonal(matrix)).sum())
    doubt = 4 * (n + 3) * UNIT * trace
    shift = 0.0
    for power in range(40):
        try:
            np.linalg.cholesky(matrix + shift * np.eye(n))
        except np.linalg.LinAlgError:
            shift = doubt * 4.0**power
            continue
        return shift + 2 * doubt + 4 * (n + 3) * UNIT * n * shift
    return math.inf


def relaxed_bound(majorant: Majorant, ratios: Sequence[float]) -> float:
    """An upper bound on the reduced value of every column.

    Parameters
    ----------
    ratios : the least and the largest πᵀr of columns with pᵀr = 1, outwards
    """
    least, most = ratios
    value = majorant.value * (most if majorant.value > 0 else least)
    # Columns under LDP are priced at s = 1, where πᵀr and pᵀr are at least one.
    added = value + (majorant.below + majorant.rounding) / min(least, 1.0)
    return math.nextafter(
        majorant.level + added + 8 * UNIT * (abs(majorant.level) + abs(added)), math.inf
    )
