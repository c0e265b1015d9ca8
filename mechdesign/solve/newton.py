"""The iterate of the structured interior-point method, and its predictor-corrector steps.

For outputs y with columns k_y and scales t_y the problem is::

    maximise    Σ_y ⟨c_y, k_y⟩
    subject to  Σ_y k_y = 1                                    (prices λ)
                s¹ = k_y − l·t_y ≥ 0                           (weights z¹)
                s² = h·t_y − k_y ≥ 0                           (weights z²)
                t_y = pᵀk_y   where the lift is bounded        (weight θ_y)

With D = z¹/s¹ + z²/s² the Newton system of a column is diagonal plus rank one (plus one more for
the link), so eliminating all columns leaves an N×N system in λ: symmetric rank-M updates and one
Cholesky factorisation per iteration, O(N²M) in all.

Elimination without cancellation. Put w = (l z¹/s¹ + h z²/s²)/D, v = p/D, β = pᵀv, κ = 1 − pᵀw,
r = w + (κ/β) v and γ = (h−l)² Σ (z¹/s¹)(z²/s²)/D + κ²/β. Then the block of column y is::

    [diag(1/D) − v vᵀ/β] + r rᵀ/γ        with the link,      diag(1/D) + w wᵀ/α   without it.

The bracket is the covariance of the column given pᵀk = 0. Near a vertex all of β comes from the
one free symbol, and 1/D − v²/β there is a difference of huge equal numbers; it is computed as
(1/D)·(Σ over the other symbols of p²/D)/β instead, and that symbol's step from pᵀΔk = 0.

The path followed is a weighted one: products s·z of symbol x aim at μ·w_x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# Entries per block: what a pass touches stays in the processor's cache.
_BLOCK = 65536
# Second-order terms beyond this multiple of the target, or of this centring, are cut off.
_CLIP = 10.0
_CENTRING = 0.3
# Row sums this close to one are left to the repair; at most so many steps are spent on more.
_ROWS = 1e-10
_RESTORING = 3
# Relative additions to the diagonal of the Newton system, tried in turn.
_RAISED = (0.0, 1e-15, 1e-14, 1e-13, 1e-12)
# Row sums this accurate need no further refinement, nor, early on, when they are this share of the
# gap, as every step mends what is left of them; so many rounds are enough.
_ACCURATE = 1e-14
_ACCURATE_SHARE = 1e-7
_REFINEMENTS = 4


@dataclass(eq=False)
class Point:
    """An iterate for m outputs.

    Attributes
    ----------
    lower, upper : l and h
    link : whether t = pᵀk
    slacks, weights : ``(2, m, n)`` s and z of both sides
    scales : ``(m,)`` t
    prices : ``(n,)`` λ
    theta : ``(m,)`` weights of the link; zeros without it
    """

    lower: float
    upper: float
    link: bool
    slacks: Array
    weights: Array
    scales: Array
    prices: Array
    theta: Array

    @property
    def columns(self) -> Array:
        """The ``(m, n)`` columns k."""
        found: Array = self.slacks[0] + self.lower * self.scales[:, None]
        return found

    def copy(self) -> Point:
        """The same point in memory of its own."""
        arrays = {
            f.name: getattr(self, f.name).copy()
            for f in fields(self)
            if isinstance(getattr(self, f.name), np.ndarray)
        }
        return replace(self, **arrays)


def cholesky(system: Array) -> Array:
    """Factor of the lower triangle, its diagonal raised by as little as makes it definite.

    With many outputs of equal worth the matrix is singular to working precision near the end;
    refinement makes up for what is added. Raises ``LinAlgError`` when nothing small helps.
    """
    from scipy.linalg.lapack import dpotrf

    diagonal, places = None, np.arange(len(system))
    for raised in _RAISED:
        if raised:
            diagonal = system.diagonal().copy() if diagonal is None else diagonal
            system[places, places] = diagonal * (1 + raised)
        factor, failed = dpotrf(system, lower=1, clean=0)
        if not failed:
            found: Array = factor
            return found
    raise np.linalg.LinAlgError("the Newton system is not positive definite")


class Newton:
    """Predictor-corrector steps from a point, which they change.

    Parameters
    ----------
    p : ``(n,)`` prior
    c : ``(m, n)`` worth of each output
    aims : ``(n,)`` positive w, with mean one
    point : where to start; strictly inside, with t = pᵀk where the lift is bounded
    """

    def __init__(self, p: Array, c: Array, aims: Array, point: Point) -> None:
        self.p, self.c, self.aims, self.point = p, c, aims, point
        z = point.weights
        off = c - point.prices + z[0] - z[1] - point.theta[:, None] * p
        unbalanced = point.lower * z[0].sum(axis=1) - point.upper * z[1].sum(axis=1) - point.theta
        # The Newton steps shrink both by one minus the dual step, nothing else does.
        self._off = float(np.abs(off).max(axis=0).sum())
        self._unbalanced = float(np.abs(unbalanced).max())
        self.former = point.scales
        self._resize()

    def _resize(self) -> None:
        m, n = self.c.shape
        step = max(1, _BLOCK // n)
        self.blocks = [slice(i, min(i + step, m)) for i in range(0, m, step)]
        self.work = np.empty((2, min(step, m), n))
        self.inverse, self.r, self.dk = np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
        #: Steps of the slacks, and targets of the weights.
        self.ds, self.e = np.empty((2, m, n)), np.empty((2, m, n))
        self.gamma, self.beta, self.kappa = np.empty(m), np.ones(m), np.zeros(m)
        self.rf, self.vf, self.dt, self.extra = np.empty(m), np.zeros(m), np.empty(m), np.zeros(m)
        self.pivot = np.zeros(m, dtype=np.intp)
        self.row, self.ones = np.arange(m), np.ones(max(m, n))
        self.factor: Array | None = None

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Leave out all outputs but some."""
        point = self.point
        point.slacks = np.ascontiguousarray(point.slacks[:, kept])
        point.weights = np.ascontiguousarray(point.weights[:, kept])
        point.scales, point.theta = point.scales[kept], point.theta[kept]
        self.c, self.former = np.ascontiguousarray(self.c[kept]), self.former[kept]
        self._resize()

    def gap(self) -> float:
        """Sum of all complementarity products."""
        return float(np.vdot(self.point.slacks, self.point.weights))

    @property
    def residual(self) -> float:
        """What the stationarity of columns and of scales is off by, in units of the objective."""
        return self._off + self._unbalanced * float(self.point.scales.sum())

    def rows_off(self) -> Array:
        """How much the row sums lack."""
        sums: Array = self.ones[: len(self.c)] @ self.point.slacks[0]
        return (1.0 - self.point.lower * self.point.scales.sum()) - sums

    # One iteration

    def iterate(self, gap: float) -> float:
        """One predictor-corrector step; returns the shorter of the two step lengths."""
        mu = gap / self.point.slacks.size
        self._factorise()
        self._suggest()
        self._correct(mu, self._predict(mu))
        return self._step(mu, max(_ACCURATE, _ACCURATE_SHARE * gap))

    def restore_rows(self) -> None:
        """Steps of columns alone until rows sum to one again: the last steps lose digits.

        They go by the last system that was factorised, so they are small beside the slacks.
        """
        if self.factor is None:
            try:
                self._factorise()
            except np.linalg.LinAlgError:
                return
        for _ in range(_RESTORING):
            self.missing = self.rows_off()
            off = float(np.abs(self.missing).max())
            if off <= _ROWS:
                return
            for part in (self.dk, self.rf, self.vf):
                part.fill(0.0)
            self.dprices = np.zeros(len(self.p))
            self._refine(np.zeros(len(self.c)), _ACCURATE)
            self._spread()
            low = min(float((self.ds[:, b] / self.point.slacks[:, b]).min()) for b in self.blocks)
            step = min(1.0, -0.9 / low) if low < 0 else 1.0
            before = self.point.slacks, self.point.scales
            self.point.slacks = self.point.slacks + step * self.ds
            self.point.scales = self.point.scales + step * self.dt
            if not float(np.abs(self.rows_off()).max()) <= off:
                self.point.slacks, self.point.scales = before
                return

    def _step(self, mu: float, accuracy: float) -> float:
        """Solve for the targets in ``e`` and move; returns the shorter step length."""
        self._settle(accuracy)
        primal, dual = self._lengths()
        # Closer to the boundary as the end nears.
        damping = min(0.995, max(0.9, 1 - 10 * mu))
        primal, dual = min(1.0, damping * primal), min(1.0, damping * dual)
        self._advance(primal, dual)
        return min(primal, dual)

    def _factorise(self) -> None:
        """Blocks of the eliminated columns, and the Cholesky factor of their sum."""
        from scipy.linalg.blas import dsyrk

        p, point, (_, n) = self.p, self.point, self.c.shape
        width, square = point.upper - point.lower, p * p
        diagonal = np.zeros(n)
        # The steps of the slacks are not in use yet.
        scaled, tilted = self.ds
        for b in self.blocks:
            d1, d2 = d = self.work[:, : b.stop - b.start]
            np.divide(point.weights[:, b], point.slacks[:, b], out=d)
            inverse = np.add(d1, d2, out=self.inverse[b])
            np.divide(1.0, inverse, out=inverse)
            d2 *= inverse
            gamma = width**2 * np.einsum("yx,yx->y", d1, d2)
            w = np.multiply(d2, width, out=self.r[b])
            w += point.lower
            if point.link:
                share = np.multiply(inverse, square, out=d2)
                rows = self.row[: len(share)]
                pivot = share.argmax(axis=1)
                most = share[rows, pivot]
                share[rows, pivot] = 0.0
                rest = share @ self.ones[:n]
                beta = rest + most
                share *= (-1 / beta)[:, None]
                share += 1.0
                share[rows, pivot] = rest / beta
                diagonal += np.einsum("yx,yx->x", inverse, share)
                kappa = 1.0 - w @ p
                v = np.multiply(inverse, p, out=d1)
                w += np.multiply(v, (kappa / beta)[:, None], out=d2)
                gamma += kappa**2 / beta
                np.multiply(v, (beta**-0.5)[:, None], out=tilted[b])
                self.beta[b], self.kappa[b], self.pivot[b] = beta, kappa, pivot
            else:
                diagonal += self.ones[: len(inverse)] @ inverse
            self.gamma[b] = gamma
            np.multiply(w, (gamma**-0.5)[:, None], out=scaled[b])
        system = dsyrk(1.0, scaled.T, lower=1)
        places = np.arange(n)
        diagonal += system[places, places]
        if point.link:
            system = dsyrk(-1.0, tilted.T, beta=1.0, c=system, lower=1, overwrite_c=1)
        system[places, places] = diagonal
        self.factor = cholesky(system)

    def _suggest(self) -> None:
        """The affine step, towards products of zero; it needs no more digits than it gets."""
        p, point = self.p, self.point
        for b in self.blocks:
            f, other = self.work[:, : b.stop - b.start]
            np.subtract(self.c[b], point.prices, out=f)
            if point.link:
                f -= np.multiply(point.theta[b][:, None], p, out=other)
            np.einsum("yx,yx->y", self.r[b], f, out=self.rf[b])
            x = np.multiply(f, self.inverse[b], out=self.dk[b])
            if point.link:
                np.dot(x, p, out=self.vf[b])
        self.missing = self.rows_off()
        self.dprices = np.zeros(len(p))
        self._refine(-point.theta, None)
        self._spread()

    def _settle(self, accuracy: float) -> None:
        """The step towards the targets in ``e``, from the affine one."""
        for b in self.blocks:
            f = np.subtract(self.e[0, b], self.e[1, b], out=self.work[0, : b.stop - b.start])
            self.rf[b] += np.einsum("yx,yx->y", self.r[b], f)
            f *= self.inverse[b]
            self.dk[b] += f
            if self.point.link:
                self.vf[b] += f @ self.p
        self._refine(self.extra - self.point.theta, accuracy)
        self._spread()

    def _refine(self, sought: Array, accuracy: float | None) -> None:
        """Steps dλ, dt, dθ and, in ``ds[0]``, dk, with refinement of the row sums.

        Without an accuracy nothing is refined, and dθ is left out.
        """
        from scipy.linalg.lapack import dpotrs

        assert self.factor is not None
        p, link, ones = self.p, self.point.link, self.ones[: len(self.c)]
        lack = ones @ self.dk + ((self.rf - sought) / self.gamma) @ self.r - self.missing
        if link:
            lack -= p * ((self.vf / self.beta) @ self.inverse)
        last = math.inf
        for _ in range(_REFINEMENTS):
            change = dpotrs(self.factor, lack, lower=1)[0]
            self.dprices += change
            self.rf -= self.r @ change
            if link:
                self.vf -= self.inverse @ (p * change)
            self.dt = (self.rf - sought) / self.gamma
            self._apply(change)
            if accuracy is None:
                return
            lack = ones @ self.ds[0] - self.missing
            error = float(np.abs(lack).max())
            if error <= accuracy or error > 0.5 * last:
                break
            last = error
        if link:
            self.dtheta = (self.vf - self.kappa * self.dt) / self.beta

    def _apply(self, change: Array) -> None:
        """Move ``dk``, which holds f/D, by a change of prices; finish the step in ``ds[0]``."""
        p = self.p
        for b in self.blocks:
            inverse, x, done = self.inverse[b], self.dk[b], self.ds[0, b]
            other = self.work[0, : len(x)]
            x -= np.multiply(inverse, change, out=other)
            if self.point.link:
                np.multiply(inverse, p, out=done)
                done *= (-self.vf[b] / self.beta[b])[:, None]
                done += x
                rows, pivot = self.row[: len(done)], self.pivot[b]
                done[rows, pivot] = 0.0
                done[rows, pivot] = -(done @ p) / p[pivot]
                done += np.multiply(self.r[b], self.dt[b][:, None], out=other)
            else:
                np.multiply(self.r[b], self.dt[b][:, None], out=done)
                done += x

    def _spread(self) -> None:
        """From dk to the steps of both slacks."""
        first, second = self.ds
        np.subtract((self.point.upper * self.dt)[:, None], first, out=second)
        first -= (self.point.lower * self.dt)[:, None]

    def _predict(self, mu: float) -> float:
        """The centring that the affine direction suggests.

        Leaves s z q (1 + q), the second-order term, in ``e``.
        """
        low = high = linear = square = 0.0
        for b in self.blocks:
            q, e, s = self.work[:, : b.stop - b.start], self.e[:, b], self.point.slacks[:, b]
            np.divide(self.ds[:, b], s, out=q)
            low, high = min(low, float(q.min())), max(high, float(q.max()))
            np.multiply(s, self.point.weights[:, b], out=e)
            e *= q
            linear += float(e.sum())
            square += float(np.vdot(e[0], q[0]) + np.vdot(e[1], q[1]))
            q += 1.0
            e *= q
        primal = min(1.0, -1 / low) if low < -1 else 1.0
        # The affine step of z is −z(1 + q).
        dual = min(1.0, 1 / (1 + high))
        total = self.ds.size * mu
        after = (
            total + primal * linear - dual * (total + linear) - primal * dual * (linear + square)
        )
        return max(after / total, 0.0) ** 3

    def _correct(self, mu: float, centring: float) -> None:
        """Corrected targets, divided by the slacks: (σμ + second order)/s, in ``e``."""
        cap = _CLIP * max(centring, _CENTRING) * mu * self.aims
        floor, aim = -cap, centring * mu * self.aims
        for b in self.blocks:
            e = self.e[:, b]
            np.minimum(e, cap, out=e)
            np.maximum(e, floor, out=e)
            e += aim
            e /= self.point.slacks[:, b]
            first, second = e @ self.ones[: e.shape[2]]
            self.extra[b] = self.point.lower * first - self.point.upper * second

    def _lengths(self) -> tuple[float, float]:
        """Longest primal and dual steps; leaves the new weights in ``e``."""
        low = fall = 0.0
        for b in self.blocks:
            q, e, z = self.work[:, : b.stop - b.start], self.e[:, b], self.point.weights[:, b]
            np.divide(self.ds[:, b], self.point.slacks[:, b], out=q)
            low = min(low, float(q.min()))
            q *= z
            e -= q
            # e is now the full-step weight z + dz.
            np.divide(e, z, out=q)
            fall = min(fall, float(q.min()) - 1.0)
        return (-1 / low if low < 0 else math.inf), (-1 / fall if fall < 0 else math.inf)

    def _advance(self, primal: float, dual: float) -> None:
        point = self.point
        for b in self.blocks:
            s, z, e = point.slacks[:, b], point.weights[:, b], self.e[:, b]
            s += np.multiply(self.ds[:, b], primal, out=self.work[:, : b.stop - b.start])
            z *= 1 - dual
            e *= dual
            z += e
        self.former = point.scales
        self._off *= 1 - dual
        self._unbalanced *= 1 - dual
        point.scales = point.scales + primal * self.dt
        point.prices = point.prices + dual * self.dprices
        if point.link:
            point.theta = point.theta + dual * self.dtheta
