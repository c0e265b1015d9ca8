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
from numpy.typing import NDArray

from ... import clock
from ...errors import SolverError
from .cuts import Cuts, violated
from .forms import UNIT, Array, FloatBox, Form

_MOST_NEWTON, _CENTRED = 40, 0.3
_FALL, _RESTART, _ENOUGH = 0.2, 1e-3, 0.1
# Cuts that are kept, for each symbol.
_KEPT = 8


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


class Relaxation:
    """min v such that v E₀₀ − Q − Σ y_k sym(a_k b_kᵀ) ⪰ 0, y ≥ 0 but for chords under LDP.

    Parameters
    ----------
    coordinates : of the columns
    form : Q, ``(d, d)``
    size : of the values that matter
    """

    def __init__(self, coordinates: Coordinates, form: Array, size: float) -> None:
        self.coordinates, self.form = coordinates, form
        n = len(coordinates.low)
        self.free = n if coordinates.binary else 0
        self.cuts = Cuts.none(len(coordinates.scale))
        self.one, self.two = coordinates.low, coordinates.high
        self.unit = max(float(np.abs(form).max()), 1e-300)
        self.value, self.y = self._start()
        self.mu = self.value / (coordinates.size + 1)
        # A point of the path from which cuts are taken in: near the end there is no room to move.
        self._middle = _RESTART * size / coordinates.size
        self._before = self.mu, self.value, self.y

    def _slack(self, value: float, y: Array) -> Array:
        product = (self.one * y[:, None]).T @ self.two
        slack = -self.form - (product + product.T) / 2
        slack[0, 0] += value
        return slack

    def _start(self) -> tuple[float, Array]:
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
        value = float(np.abs(self.form[0]).sum() + y.sum())
        while not _is_positive(self._slack(value, y)):
            value *= 2
        return 2 * value, y

    def minimise(self, accuracy: float, deadline: float = math.inf) -> None:
        """Follow the central path until v is within ``accuracy`` of the least, or time is up."""
        last = accuracy / (self.coordinates.size + len(self.y))
        while True:
            self._centre(deadline)
            if self.mu > self._middle:
                self._before = self.mu, self.value, self.y
            if self.mu <= last or clock.now() > deadline:
                return
            self.mu = max(self.mu * _FALL, last)

    @property
    def least(self) -> float:
        """What v is at least, up to how well the point is centred."""
        return self.value - 2 * self.mu * (self.coordinates.size + len(self.y))

    def _centre(self, deadline: float) -> None:
        """Newton's method on v/μ − log det S − Σ log y."""
        one, two, free = self.one, self.two, self.free
        k = len(self.y)
        for _ in range(_MOST_NEWTON):
            inverse = np.linalg.inv(self._slack(self.value, self.y))
            inverse = (inverse + inverse.T) / 2
            left, right = inverse @ one.T, inverse @ two.T
            mixed = one @ right
            hessian = np.empty((k + 1, k + 1))
            hessian[1:, 1:] = ((one @ left) * (two @ right) + mixed * mixed.T) / 2
            hessian[0, 1:] = hessian[1:, 0] = -left[0] * right[0]
            hessian[0, 0] = inverse[0, 0] ** 2
            gradient = np.empty(k + 1)
            gradient[0] = 1 / self.mu - inverse[0, 0]
            gradient[1:] = np.diagonal(mixed)
            positive = self.y[free:]
            gradient[1 + free :] -= 1 / positive
            places = np.arange(1 + free, k + 1)
            hessian[places, places] += 1 / positive**2
            scale = np.sqrt(np.maximum(np.diagonal(hessian), 1e-200))
            scaled = hessian / scale / scale[:, None]
            scaled[np.diag_indices_from(scaled)] += 1e-15
            step = solution(scaled, -gradient / scale)
            if step is None:
                return
            step /= scale
            decrement = math.sqrt(max(-float(gradient @ step), 0.0))
            if not self._move(step, decrement) or decrement < _CENTRED:
                return
            if clock.now() > deadline:
                return

    def _merit(self, value: float, y: Array) -> float:
        """The barrier function, infinite outside of the interior."""
        positive = y[self.free :]
        if positive.min(initial=1.0) <= 0:
            return math.inf
        try:
            factor = np.linalg.cholesky(self._slack(value, y))
        except np.linalg.LinAlgError:
            return math.inf
        determinant = 2 * float(np.log(np.diagonal(factor)).sum())
        return value / self.mu - determinant - float(np.log(positive).sum())

    def _move(self, step: Array, decrement: float) -> bool:
        falling = step[1 + self.free :] / self.y[self.free :]
        length = min(1.0, 0.95 / max(float(-falling.min(initial=0.0)), 1e-300))
        now = self._merit(self.value, self.y)
        rounding = 1e-12 * (abs(self.value) / self.mu + len(self.y))
        while length > 1e-10:
            value, y = float(self.value + length * step[0]), self.y + length * step[1:]
            # A step that only just stays inside would leave no room for the next ones.
            if self._merit(value, y) <= now - _ENOUGH * length * decrement**2 + rounding:
                self.value, self.y = value, y
                return True
            length *= 0.6
        return False

    @property
    def point(self) -> Relaxed:
        """Where the method stands."""
        moments = np.linalg.inv(self._slack(self.value, self.y))
        n = len(self.coordinates.low)
        return Relaxed(self.value, self.y[:n], self.cuts, self.y[n:], moments / moments[0, 0])

    def cut(self) -> int:
        """Add the products that the moments violate most, drop those that do not matter; how many
        were added.
        """
        n = len(self.coordinates.low)
        new = self.coordinates.violated(self.point.moments, self.cuts)
        if not len(new):
            return 0
        kept = np.sort(np.argsort(-self.y[n:], kind="stable")[: _KEPT * n])
        self.mu, self.value, self.y = self._before
        if len(kept) < len(self.cuts):
            self._keep(kept)
        self._set(self.cuts.join(new))
        added = np.full(len(new), self.mu)
        while not _is_positive(self._slack(self.value, np.concatenate([self.y, added]))):
            added *= 0.3
        self.y = np.concatenate([self.y, added])
        return len(new)

    def _keep(self, kept: NDArray[np.intp]) -> None:
        """Drop the other cuts, where that leaves a point of the interior."""
        n = len(self.coordinates.low)
        cuts, y = self.cuts, np.concatenate([self.y[:n], self.y[n:][kept]])
        self._set(cuts.take(kept))
        if _is_positive(self._slack(self.value, y)):
            self.y = y
        else:
            self._set(cuts)

    def _set(self, cuts: Cuts) -> None:
        c, self.cuts = self.coordinates, cuts
        one, two = c.factors(cuts)
        self.one, self.two = np.vstack([c.low, one]), np.vstack([c.high, two])


def solution(matrix: Array, right: Array) -> Array | None:
    """The solution of linear equations; ``None`` where floats have none."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return None
    try:
        found = np.asarray(np.linalg.solve(matrix, right), dtype=float)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


def _is_positive(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


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
