"""Columns of a box and what pricing asks of them, as polynomials in the box.

Extreme columns under LDP take two values, those under bounds on the lift lie at an end of an
interval but for one symbol. Both are r = 1 + low + span·t with t in [0, 1]: a ray of the cone for
every t in {0, 1}^n under LDP; under bounds on the lift a column with pᵀr = 1 where wᵀt equals the
capacity. Everything is written by deviations of r from one, so that small levels lose no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...prior import Prior
from ...program.program import TwoSided
from ..columns.exact_columns import LiftBox
from ..columns.families import LARGEST_RATIO, LiftFamily, StaircaseFamily, make_family

Array = NDArray[np.float64]

#: Half the distance from one to the next float.
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class ColumnBox:
    """Columns r = 1 + low + span·t for t in [0, 1]^n, exactly.

    Attributes
    ----------
    masses : p of each symbol
    low, span : deviations at t = 0, and how far they reach
    units, capacity, scale : wᵀt = W in integers over one scale, for bounds on the lift; ``None``
        under LDP, where every t gives a ray
    """

    masses: tuple[Fraction, ...]
    low: tuple[Fraction, ...]
    span: tuple[Fraction, ...]
    units: tuple[int, ...] | None = None
    capacity: int = 0
    scale: int = 1

    @classmethod
    def of(cls, prior: Prior, sides: TwoSided) -> ColumnBox | None:
        """The box of a two-sided cone; ``None`` where bounds on lifts and a ratio both bind."""
        family = make_family(prior, sides, np.abs)
        n = len(prior)
        if isinstance(family, StaircaseFamily):
            masses = tuple(prior.mass(x) for x in range(n))
            excess = Fraction(min(sides.ratio, LARGEST_RATIO)) - 1
            return cls(masses, (Fraction(0),) * n, (excess,) * n)
        if isinstance(family, LiftFamily):
            box = LiftBox.of(prior, sides)
            span = tuple(b - a for a, b in zip(box.low, box.high, strict=True))
            return cls(box.masses, box.low, span, box.units, box.capacity, box.scale)
        return None

    def __len__(self) -> int:
        return len(self.masses)

    @property
    def is_lift(self) -> bool:
        """Whether columns have pᵀr = 1 by a condition on t."""
        return self.units is not None

    def completed(self, t: Array) -> Array:
        """Places t, ``(n, m)``, one symbol with exactly what the others leave of the capacity.

        Where that does not fit, another symbol takes the rest. Under LDP the constant column has
        two places, of which one is kept.
        """
        found = t.copy()
        if self.units is None:
            found[:, t.all(axis=0)] = 0.0  # constant as well
            return found
        for i in range(t.shape[1]):
            column = found[:, i]
            between = np.flatnonzero((column > 0) & (column < 1))
            column[between] = np.round(column[between])
            left = self.capacity - sum(self.units[x] for x in np.flatnonzero(column).tolist())
            if len(between) and column[between[0]]:
                column[between[0]], left = 0.0, left + self.units[between[0]]
            for x in [*between.tolist(), *self._largest_first]:
                unit = self.units[x]
                if not left:
                    break
                if column[x] == 0 and left > 0:
                    column[x] = min(left / unit, 1.0) if unit else 0.0
                    left -= min(left, unit)
                elif column[x] == 1 and left < 0:
                    column[x] = max((unit + left) / unit, 0.0) if unit else 1.0
                    left += min(-left, unit)
        return found

    @cached_property
    def _largest_first(self) -> list[int]:
        assert self.units is not None
        return sorted(range(len(self.units)), key=lambda x: -self.units[x])  # type: ignore[index]

    def column(self, t: Sequence[Fraction]) -> list[Fraction]:
        """r, exactly, with pᵀr = 1."""
        r = [1 + a + b * v for a, b, v in zip(self.low, self.span, t, strict=True)]
        mass = sum(p * v for p, v in zip(self.masses, r, strict=True))
        return [v / mass for v in r]


@dataclass(frozen=True, eq=False)
class FloatBox:
    """A box in floats, for searches.

    Attributes
    ----------
    p, base, span : ``(n,)``, r = base + span·t
    below, above : ``(n,)`` 1 − r at t = 0 and r − 1 at t = 1
    weights : ``(n,)`` of wᵀt = capacity; ``None`` under LDP
    capacity : at most the sum of the weights
    """

    p: Array
    base: Array
    span: Array
    below: Array
    above: Array
    weights: Array | None
    capacity: float

    @classmethod
    def of(cls, box: ColumnBox) -> FloatBox:
        """The nearest floats."""
        p, low, span = (np.array(v, dtype=float) for v in (box.masses, box.low, box.span))
        base = np.array([1 + v for v in box.low], dtype=float)
        above = np.array([a + b for a, b in zip(box.low, box.span, strict=True)], dtype=float)
        if box.units is None:
            return cls(p, base, span, -low, above, None, 0.0)
        weights = np.array([u / box.scale for u in box.units])
        return cls(p, base, span, -low, above, weights, box.capacity / box.scale)

    def places(self, columns: Array) -> Array:
        """Places t of columns of the box, ``(n, m)``, up to rounding."""
        if self.weights is None:
            least, most = columns.min(axis=0), columns.max(axis=0)
            return np.asarray((columns > (least + most) / 2).astype(float))
        span = np.where(self.span > 0, self.span, 1.0)[:, None]
        t = (columns / (self.p @ columns) - self.base[:, None]) / span
        return self.filled(np.clip(t, 0.0, 1.0))

    def filled(self, keys: Array) -> Array:
        """Places t with symbols at their upper end in the order of falling keys, ``(n, m)``, as far
        as the capacity reaches.
        """
        assert self.weights is not None
        order = np.argsort(-keys, axis=0, kind="stable")
        w = self.weights[order]
        left = self.capacity - (np.cumsum(w, axis=0) - w)
        t = np.zeros_like(keys)
        share = np.where(w > 0, left / np.where(w > 0, w, 1.0), left > 0)
        np.put_along_axis(t, order, np.clip(share, 0.0, 1.0), axis=0)
        return t

    def columns(self, t: Array) -> Array:
        """The columns r with pᵀr = 1 at places ``t``, ``(n, m)``."""
        r = self.base[:, None] + self.span[:, None] * t
        return np.asarray(r / (self.p @ r))


@dataclass(frozen=True, eq=False)
class Form:
    """rᵀGr, πᵀr, pᵀr and λᵀr as polynomials in t, each coefficient a nearest float.

    Attributes
    ----------
    constant, linear, square : of rᵀGr, (), ``(n,)``, ``(n, n)``
    truth, mass, price : constant and linear part of πᵀr, pᵀr and λᵀr; ``mass`` is ``None`` where
        pᵀr = 1
    """

    constant: float
    linear: Array
    square: Array
    truth: tuple[float, Array]
    mass: tuple[float, Array] | None
    price: tuple[float, Array]

    def parts(self, t: Array) -> tuple[Array, Array, Array | float, Array]:
        """rᵀGr, πᵀr, pᵀr and λᵀr of every column of ``t``, ``(n, m)``."""
        squares = self.constant + self.linear @ t + (t * (self.square @ t)).sum(axis=0)
        truth = self.truth[0] + self.truth[1] @ t
        mass = 1.0 if self.mass is None else self.mass[0] + self.mass[1] @ t
        return squares, truth, mass, self.price[0] + self.price[1] @ t

    def values(self, t: Array) -> Array:
        """(rᵀGr/πᵀr − λᵀr)/pᵀr, ``(m,)``."""
        squares, truth, mass, price = self.parts(t)
        return np.asarray((squares / truth - price) / mass)

    def rounding(self, truth: Array | float, mass: Array | float) -> Array | float:
        """What the values of columns with such πᵀr and pᵀr are off by, at most.

        A few units in the last place for each of the terms, of which none exceeds its coefficient,
        and as much for the quotients.
        """
        squares = abs(self.constant) + np.abs(self.linear).sum() + np.abs(self.square).sum()
        prices = abs(self.price[0]) + np.abs(self.price[1]).sum()
        factor = 16 * (len(self.linear) + 8) * UNIT
        return factor * (squares / truth + prices) / mass


@dataclass(frozen=True, eq=False)
class Question:
    """What is priced: G, λ and the truth π, in rationals.

    Attributes
    ----------
    square : G, a matrix of python-flint
    prices, truth : λ and π
    """

    square: Any
    prices: tuple[Fraction, ...]
    truth: tuple[Fraction, ...]

    @classmethod
    def of(cls, square: Any, prices: Any, truth: Sequence[Fraction]) -> Question:
        """From arrays of floats, which are read as the rationals that they are, or of Fractions."""
        from flint import fmpq_mat

        n = len(truth)
        entries = [_quotient(_fraction(v)) for row in np.asarray(square) for v in row]
        exact = tuple(_fraction(v) for v in np.asarray(prices))
        matrix = fmpq_mat(n, n, entries)
        # Products of floats are symmetric up to rounding alone.
        return cls((matrix + matrix.transpose()) / 2, exact, tuple(truth))

    def on(self, box: ColumnBox) -> Form:
        """As polynomials in t."""
        base = [1 + v for v in box.low]
        n = len(base)
        image = _column(self.square * _matrix(base))
        constant = sum((a * b for a, b in zip(base, image, strict=True)), Fraction(0))
        linear = np.array([float(2 * s * v) for s, v in zip(box.span, image, strict=True)])
        square = np.empty((n, n))
        spans = [_quotient(s) for s in box.span]
        for x in range(n):
            for z in range(x + 1):
                product = spans[x] * spans[z] * self.square[x, z]
                square[x, z] = square[z, x] = _nearest(product)
        mass = None if box.is_lift else self._affine(box.masses, base, box.span)
        return Form(
            float(constant),
            linear,
            square,
            self._affine(self.truth, base, box.span),
            mass,
            self._affine(self.prices, base, box.span),
        )

    @staticmethod
    def _affine(
        weights: Sequence[Fraction], base: Sequence[Fraction], span: Sequence[Fraction]
    ) -> tuple[float, Array]:
        constant = sum((a * b for a, b in zip(weights, base, strict=True)), Fraction(0))
        return float(constant), np.array([float(a * s) for a, s in zip(weights, span, strict=True)])

    @cached_property
    def centred(self) -> tuple[float, Array, Array]:
        """1ᵀG1, G1 and G, each entry a nearest float."""
        n = len(self.prices)
        image = _column(self.square * _matrix([Fraction(1)] * n))
        matrix = np.array([_nearest(v) for v in self.square.entries()]).reshape(n, n)
        return float(sum(image)), np.array([float(v) for v in image]), matrix

    def value(self, column: Sequence[Fraction]) -> Fraction:
        """rᵀGr/(πᵀr) − λᵀr of a column with pᵀr = 1, exactly."""
        image = _column(self.square * _matrix(column))
        squares = sum((a * b for a, b in zip(column, image, strict=True)), Fraction(0))
        truth = sum((a * b for a, b in zip(self.truth, column, strict=True)), Fraction(0))
        price = sum((a * b for a, b in zip(self.prices, column, strict=True)), Fraction(0))
        return squares / truth - price

    def classes(self, masses: Sequence[Fraction]) -> list[list[int]]:
        """Symbols that may be exchanged two by two without any difference, exactly."""
        n, g = len(masses), self.square
        found: list[list[int]] = []
        for x in range(n):
            for group in found:
                z = group[0]
                same = masses[x] == masses[z] and self.truth[x] == self.truth[z]
                same = same and self.prices[x] == self.prices[z] and g[x, x] == g[z, z]
                if same and all(g[x, y] == g[z, y] for y in range(n) if y not in (x, z)):
                    group.append(x)
                    break
            else:
                found.append([x])
        return found


def _fraction(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(float(value))


def _quotient(value: Fraction) -> Any:
    from flint import fmpq

    return fmpq(value.numerator, value.denominator)


def _nearest(value: Any) -> float:
    return int(value.p) / int(value.q)


def _matrix(column: Sequence[Fraction]) -> Any:
    from flint import fmpq_mat

    return fmpq_mat(len(column), 1, [_quotient(v) for v in column])


def _column(matrix: Any) -> list[Fraction]:
    return [Fraction(int(v.p), int(v.q)) for v in matrix.entries()]
