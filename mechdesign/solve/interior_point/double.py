"""Newton steps for a cone that bounds the lift and the ratios of a column at once.

For outputs y with columns k_y, masses q_y and middles t_y the problem is that of :mod:`.newton`
with the slacks of both kinds of bounds, each beside its own scale::

    k_y − a·t_y ≥ 0,  b·t_y − k_y ≥ 0     where ratios are at most b/a; no other bound on t
    h·q_y − k_y ≥ 0,  k_y − l·q_y ≥ 0     where the lift is bounded, q_y = pᵀk_y  (multiplier θ_y)

The Newton system of a column is then diagonal plus two of rank one and the link. As the last step
but one, two by two systems are left; in the directions "the whole column" and "t alone" these are
sums of terms of one sign. Eliminating all columns leaves an N×N system in the prices as before,
from two updates of rank M for the scales and one for the link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .newton import Newton, Point
from .predictor_corrector import Array
from .systems import factorise


@dataclass(frozen=True)
class DoubleCone:
    """Columns with a·t ≤ k ≤ b·t for some t, and l·q ≤ k ≤ h·q with q = pᵀk.

    ``lower`` is l, zero for none, ``upper`` is h, infinite for none; ``low`` and ``high`` are a, b.
    """

    lower: float
    upper: float
    low: float
    high: float

    linked = True

    @property
    def sides(self) -> tuple[tuple[float, float, bool], ...]:
        """Of each kind of slack its sign, its bound, and whether that is one on the lift."""
        found = [(1.0, self.low, False), (-1.0, self.high, False)]
        if self.upper < math.inf:
            found.append((-1.0, self.upper, True))
        if self.lower > 0:
            found.append((1.0, self.lower, True))
        return tuple(found)


@dataclass(eq=False)
class DoublePoint(Point):
    """An iterate as :class:`.Point`, ``scales`` being the masses q, with the ``(m,)`` middles t."""

    cone: DoubleCone  # type: ignore[assignment]
    middles: Array

    @property
    def columns(self) -> Array:
        """The ``(m, n)`` columns k."""
        found: Array = self.slacks[0] + self.cone.low * self.middles[:, None]
        return found

    def on(self, kept: NDArray[np.bool_]) -> DoublePoint:
        """A copy on some of the outputs."""
        found = super().on(kept)
        assert isinstance(found, DoublePoint)
        return replace(found, middles=self.middles[kept])

    def grow(self, factor: float) -> None:
        """Take all columns so many times."""
        super().grow(factor)
        self.middles = self.middles * factor


def central_double(c: Array, cone: DoubleCone, targets: Array, start: float) -> DoublePoint:
    """All outputs alike and uninformative; products in proportion to the targets."""
    m, n = c.shape
    mass, middle = 1 / m, 2 / m / (cone.low + cone.high)
    slacks = np.array(
        [
            sign * (1 / m - bound * (mass if is_lift else middle))
            for sign, bound, is_lift in cone.sides
        ]
    )
    prices = c.mean(axis=0)
    deviation = float(np.abs(c - prices).mean()) or 1.0
    multipliers = start * deviation * float(slacks.min()) * targets / slacks[:, None]
    link = math.fsum(
        sign * bound * math.fsum(z)
        for (sign, bound, is_lift), z in zip(cone.sides, multipliers, strict=True)
        if is_lift
    )
    shape = (len(slacks), m, n)
    return DoublePoint(
        cone,
        np.broadcast_to(slacks[:, None, None], shape).copy(),
        np.broadcast_to(multipliers[:, None, :], shape).copy(),
        np.full(m, mass),
        np.full(m, link),
        prices,
        np.full(m, middle),
    )


class DoubleNewton(Newton):
    """Predictor-corrector iterations as :class:`.Newton`, for a :class:`DoubleCone`."""

    point: DoublePoint
    _OWN = 4
    _VECTORS = 2

    def _residuals(self) -> None:
        z, point = self.point.multipliers, self.point
        stationarity = self.c - point.prices - point.link[:, None] * self.p
        balances = [np.zeros(len(self.c)), -point.link]
        for (sign, bound, is_lift), side in zip(point.cone.sides, z, strict=True):
            stationarity += sign * side
            balances[is_lift] = balances[is_lift] + sign * bound * side.sum(axis=1)
        self._stationarity = float(np.abs(stationarity).max(axis=0).sum())
        self._balance = float(np.abs(balances[1]).max())
        self._middle_balance = float(np.abs(balances[0]).max())

    def _resize(self) -> None:
        super()._resize()
        m = len(self.c)
        self.tilt, self.spare = self._arrays[3, :m], np.empty_like(self.work[0])
        #: Steps q and t, and what stands on their side; factors of the two by two systems.
        self.two, self.g = np.zeros((2, m)), np.zeros((2, m))
        self.rf, self.kappa, self.extra = np.zeros((2, m)), np.zeros((2, m)), np.zeros((2, m))
        self.square = np.ones((3, m))
        self.slope = np.ones(m)

    @property
    def residual(self) -> float:
        """What the stationarity of columns and of both scales is off by."""
        return super().residual + self._middle_balance * float(self.point.middles.sum())

    def row_residual(self) -> Array:
        """How much the row sums lack."""
        sums: Array = self.ones[: len(self.c)] @ self.point.slacks[0]
        return (1.0 - self.point.cone.low * self.point.middles.sum()) - sums

    def _factorise(self) -> None:
        p, point, (m, n) = self.p, self.point, self.c.shape
        self.eliminations += m
        diagonal = np.zeros(n)
        self.slope = point.middles / point.scales
        first, second, tilted = self.vectors[:3]
        for b in self.blocks:
            d = self.work[:, : b.stop - b.start]
            np.divide(point.multipliers[:, b], point.slacks[:, b], out=d)
            inverse = np.sum(d, axis=0, out=self.inverse[b])
            np.divide(1.0, inverse, out=inverse)
            columns, middles, gammas = self._scale_blocks(d, inverse, b)
            beta, own = self._covariances(b, d[0])
            diagonal += own
            v = np.multiply(inverse, p, out=d[0])
            kappa = np.stack([1.0 - columns @ p, -(middles @ p)])
            for w, number in zip((columns, middles), kappa, strict=True):
                w += np.multiply(v, (number / beta)[:, None], out=d[1])
            whole, cross, alone = gammas
            alone += kappa[1] ** 2 / beta
            cross += kappa[0] * kappa[1] / beta
            whole += kappa[0] ** 2 / beta
            # Cholesky factors of (alone, cross; cross, whole).
            low = np.sqrt(alone)
            across = cross / low
            left = np.maximum(whole - across**2, 1e-15 * whole)
            self.square[:, b] = low, across, np.sqrt(left)
            np.multiply(v, (beta**-0.5)[:, None], out=tilted[b])
            np.divide(middles, low[:, None], out=first[b])
            np.multiply(first[b], across[:, None], out=second[b])
            np.subtract(columns, second[b], out=second[b])
            second[b] /= self.square[2, b][:, None]
            self.kappa[:, b] = kappa
        self.system = factorise(
            self.ones[:m] @ self.inverse,
            self.vectors[:2].reshape(2 * m, n),
            self.options.regularisation,
            own=diagonal,
            down=tilted,
            p=p,
            roots=np.sqrt(self.beta),
        )

    def _scale_blocks(
        self, d: Array, inverse: Array, b: slice
    ) -> tuple[Array, Array, tuple[Array, Array, Array]]:
        """Columns per unit of "the whole column" and of t alone, in ``r`` and ``tilt``, and the
        curvatures of both: of pairs of slacks, d_i d_j (difference of their bounds)² / Σ d.
        """
        columns, middles, sides = self.r[b], self.tilt[b], self.point.cone.sides
        # What each bound is for the whole column, relative to its mass.
        heights = [bound if is_lift else bound * self.slope[b] for _, bound, is_lift in sides]
        whole, cross, alone = (np.zeros(len(inverse)) for _ in range(3))
        for i, (_, bound, is_lift) in enumerate(sides):
            term = np.multiply(d[i], inverse, out=self.spare[: len(inverse)])
            height = bound if is_lift else bound * self.slope[b][:, None]
            if i == 0:
                np.multiply(term, height, out=columns)
                np.multiply(term, bound, out=middles)
            else:
                columns += term * height
                if not is_lift:
                    middles += bound * term
            for j, (_, other, is_lift_too) in enumerate(sides[:i]):
                product = np.einsum("yx,yx->y", term, d[j])
                apart = heights[i] - heights[j]
                whole += product * apart**2
                if is_lift and not is_lift_too:
                    cross -= product * other * apart
                    alone += product * other**2
                elif not is_lift:
                    cross += product * (bound - other) * apart
                    alone += product * (bound - other) ** 2
        return columns, middles, (whole, cross, alone)

    def _affine_direction(self) -> None:
        p, point = self.p, self.point
        for b in self.blocks:
            f, other = self.work[:2, : b.stop - b.start]
            np.subtract(self.c[b], point.prices, out=f)
            f -= np.multiply(point.link[b][:, None], p, out=other)
            np.einsum("yx,yx->y", self.r[b], f, out=self.rf[0, b])
            np.einsum("yx,yx->y", self.tilt[b], f, out=self.rf[1, b])
            x = np.multiply(f, self.inverse[b], out=self.dk[b])
            np.dot(x, p, out=self.vf[b])
        self._miss()
        self._solve(np.stack([-point.link, np.zeros(len(self.c))]))

    def _corrector_direction(self) -> None:
        for b in self.blocks:
            f, other = self.work[:2, : b.stop - b.start]
            f.fill(0.0)
            for (sign, _, _), e in zip(self.point.cone.sides, self.e[:, b], strict=True):
                f += np.multiply(e, sign, out=other)
            self.rf[0, b] += np.einsum("yx,yx->y", self.r[b], f)
            self.rf[1, b] += np.einsum("yx,yx->y", self.tilt[b], f)
            f *= self.inverse[b]
            self.dk[b] += f
            self.vf[b] += f @ self.p
        self._solve(np.stack([self.extra[0] - self.point.link, self.extra[1]]))

    def _scale_steps(self, scale_side: Array) -> Array:
        """Steps of q and of t alone, from what stands on the side of q and of t."""
        low, across, left = self.square
        whole = self.rf[0] - scale_side[0] - self.slope * scale_side[1]
        alone = (self.rf[1] - scale_side[1]) / low
        whole = (whole - across * alone) / left**2
        return np.stack([whole, (alone - across * whole) / low])

    def _solve(self, scale_side: Array) -> None:
        assert self.system is not None
        p, sides = self.p, self.point.cone.sides
        lack = self.ones[: len(self.c)] @ self.dk - self.missing
        whole, alone = self._scale_steps(scale_side)
        lack += whole @ self.r
        lack += alone @ self.tilt
        lack -= p * ((self.vf / self.beta) @ self.inverse)
        change = self.system.solve(lack)
        self.dprices += change
        self.rf[0] -= self.r @ change
        self.rf[1] -= self.tilt @ change
        whole, alone = self._scale_steps(scale_side)
        self.dt, self.dmiddle = whole, self.slope * whole + alone
        self.vf -= self.inverse @ (p * change)
        self.dlink = (self.vf - self.kappa[0] * whole - self.kappa[1] * alone) / self.beta
        for b in self.blocks:
            inverse, x, steps = self.inverse[b], self.dk[b], self.ds[:, b]
            first, other = steps[0], self.work[0, : len(x)]
            x -= np.multiply(inverse, change, out=other)
            self._balanced(b, first)
            first += np.multiply(self.r[b], whole[b][:, None], out=other)
            first += np.multiply(self.tilt[b], alone[b][:, None], out=other)
            for i in range(len(sides) - 1, -1, -1):
                sign, bound, is_lift = sides[i]
                moved = bound * (self.dt[b] if is_lift else self.dmiddle[b])[:, None]
                np.subtract(first, moved, out=steps[i])
                if sign < 0:
                    np.negative(steps[i], out=steps[i])

    def _extra_of(self, b: slice, sums: Array) -> None:
        self.extra[:, b] = 0.0
        for (sign, bound, is_lift), total in zip(self.point.cone.sides, sums, strict=True):
            self.extra[0 if is_lift else 1, b] += sign * bound * total

    def _scales_after(self, step: Array | float) -> dict[str, Any]:
        point = self.point
        return {
            "scales": point.scales + step * self.dt,
            "middles": point.middles + step * self.dmiddle,
        }

    def _shrink(self, dual: float) -> None:
        super()._shrink(dual)
        self._middle_balance *= 1 - dual
