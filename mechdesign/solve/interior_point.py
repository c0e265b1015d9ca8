"""A structured interior-point method for two-sided column cones.

For outputs y with columns k_y and scales t_y, solves::

    maximise    Σ_y ⟨c_y, k_y⟩
    subject to  Σ_y k_y = 1                                    (prices λ)
                s¹ = k_y − l·t_y ≥ 0                           (weights z¹)
                s² = h·t_y − k_y ≥ 0                           (weights z²)
                t_y = pᵀk_y   where the lift is bounded        (weight θ_y)

which covers PML (l = 0), PMC with PML, LIP and ALIP through the link t = pᵀk, and LDP without it.
With D = z¹/s¹ + z²/s² the Newton system of a column is diagonal plus rank one (plus one more for
the link), so eliminating all columns leaves an N×N system in λ: symmetric rank-M updates and one
Cholesky factorisation per iteration, O(N²M) in all.

Elimination without cancellation. Put w = (l z¹/s¹ + h z²/s²)/D, v = p/D, β = pᵀv, κ = 1 − pᵀw,
r = w + (κ/β) v and γ = (h−l)² Σ (z¹/s¹)(z²/s²)/D + κ²/β. Then the block of column y is::

    [diag(1/D) − v vᵀ/β] + r rᵀ/γ        with the link,      diag(1/D) + w wᵀ/α   without it.

The bracket is the covariance of the column given pᵀk = 0. Near a vertex all of β comes from the
one free symbol, and 1/D − v²/β there is a difference of huge equal numbers; it is computed as
(1/D)·(Σ over the other symbols of p²/D)/β instead, and that symbol's step from pᵀΔk = 0.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cones import TwoSided

Array = NDArray[np.float64]

# Entries per block: a dozen arrays of this size stay in the processor's cache.
_BLOCK = 32768
_ITERATIONS = 200
_STALLED = 25
# Steps shorter than this lead nowhere.
_STUCK = 1e-8
# Second-order terms beyond this multiple of the target are cut off.
_CLIP = 5.0
# An output with less than this share of the average mass has vanished; below this gap none is
# dropped any more.
_VANISHED = 0.02
_LATE = 3e-4
# Row sums this close to one are left to the repair; at most so many steps are spent on more.
_ROWS = 1e-10
_RESTORING = 3
# Relative additions to the diagonal of the Newton system, tried in turn.
_RAISED = (0.0, 1e-15, 1e-14, 1e-13, 1e-12)


@cache
def _thread_controller() -> Any:
    import scipy.linalg  # noqa: F401  (its linear algebra must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Linear algebra in one thread while the context lasts.

    The method alternates small matrix products with passes over blocks; threads that spin between
    the products slow it down by factors of 2 to 70 (measured on two cores).
    """
    limited: AbstractContextManager[Any] = _thread_controller().limit(limits=1, user_api="blas")
    return limited


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """Result of the method on some outputs.

    Attributes
    ----------
    columns : ``(m, N)`` columns of the outputs that were kept
    outputs : their positions
    prices : ``(N,)`` prices of the rows
    iterations : Newton steps taken
    gap : sum of all complementarity products at the end
    converged : whether gap and dual residual reached the tolerance
    """

    columns: Array
    outputs: NDArray[np.intp]
    prices: Array
    iterations: int
    gap: float
    converged: bool


def solve_columns(
    p: Array,
    c: Array,
    sides: TwoSided,
    tolerance: float,
    outputs: NDArray[np.intp],
    *,
    screen: bool = True,
) -> InteriorPoint:
    """Solve for some outputs; those that vanish are left out on the way.

    Parameters
    ----------
    p : ``(N,)`` prior
    c : ``(M, N)`` worth of each output, one row per output, of order one or less
    sides : lift bounds, or a ratio; not both
    tolerance : complementarity at which to stop
    outputs : positions of the M outputs
    screen : whether outputs that vanish may be left out
    """
    state = _State(p, c, sides, outputs)
    best, since, converged, taken = math.inf, 0, False, 0
    for iteration in range(_ITERATIONS):
        gap = state.gap()
        converged = gap <= tolerance and state.residual <= tolerance
        if converged:
            break
        if gap < 0.7 * best:
            best, since = gap, 0
        since += 1
        if since > _STALLED:
            break
        try:
            moved = state.iterate(gap)
        except np.linalg.LinAlgError:
            break
        taken = iteration + 1
        if moved < _STUCK:
            break
        # Late, there is no room left to make up for what a dropped output carried.
        if screen and iteration >= 3 and gap > _LATE:
            state.drop_vanished(gap)
    state.restore_rows()
    columns = np.maximum(state.s1 + state.lower * state.t[:, None], 0.0)
    return InteriorPoint(columns, state.outputs, state.prices, taken, state.gap(), converged)


def _cholesky(system: Array) -> tuple[Array, bool]:
    """Factor of the lower triangle, its diagonal raised by as little as makes it definite.

    With many outputs of equal worth the matrix is singular to working precision near the end;
    refinement makes up for what is added. Raises ``LinAlgError`` when nothing small helps.
    """
    from scipy.linalg import cho_factor

    diagonal = system.diagonal().copy()
    places = np.arange(len(system))
    for raised in _RAISED:
        system[places, places] = diagonal * (1 + raised)
        try:
            return cho_factor(system, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            # Raise the diagonal further.
            continue
    raise np.linalg.LinAlgError("the Newton system is not positive definite")


class _State:
    """The iterate, and one predictor-corrector step."""

    def __init__(self, p: Array, c: Array, sides: TwoSided, outputs: NDArray[np.intp]) -> None:
        m, n = c.shape
        self.p, self.c, self.outputs = p, c, outputs
        self.link = sides.has_lift_sides
        if self.link:
            self.lower, self.upper = sides.lower, sides.upper
            self.t = np.full(m, 1 / m)
        else:
            # Any scale of t describes the same cone; the middle one keeps numbers small.
            self.lower, self.upper = sides.ratio**-0.5, sides.ratio**0.5
            self.t = np.full(m, 2 / m / (self.lower + self.upper))
        s1, s2 = 1 / m - self.lower * self.t[0], self.upper * self.t[0] - 1 / m
        self.s1, self.s2 = np.full((m, n), s1), np.full((m, n), s2)
        self.prices = c.mean(axis=0)
        spread = float(np.abs(c - self.prices).mean()) or 1.0
        mu = 10 * spread * min(s1, s2)
        self.z1, self.z2 = np.full((m, n), mu / s1), np.full((m, n), mu / s2)
        self.theta = np.full(m, n * (self.lower * mu / s1 - self.upper * mu / s2))
        if not self.link:
            self.theta = np.zeros(m)
        # The Newton steps shrink the dual residual by one minus the dual step, nothing else does.
        tilt = self.theta[0] * p if self.link else 0.0
        residual = c - self.prices + (mu / s1 - mu / s2) - tilt
        self.residual = float(np.abs(residual).max(axis=0).sum())
        self._resize()

    def _resize(self) -> None:
        m, n = self.c.shape
        step = max(1, _BLOCK // n)
        self.blocks = [slice(i, min(i + step, m)) for i in range(0, m, step)]
        self.inverse, self.r = np.empty((m, n)), np.empty((m, n))
        self.dk, self.final = np.empty((m, n)), np.empty((m, n))
        self.e1, self.e2 = np.empty((m, n)), np.empty((m, n))
        self.gamma, self.beta, self.kappa = np.empty(m), np.ones(m), np.zeros(m)
        self.pivot = np.zeros(m, dtype=np.intp)
        self.dt, self.extra = np.empty(m), np.zeros(m)

    def gap(self) -> float:
        """Sum of all complementarity products."""
        total = 0.0
        for b in self.blocks:
            total += float(np.vdot(self.s1[b], self.z1[b]) + np.vdot(self.s2[b], self.z2[b]))
        return total

    # One iteration

    def iterate(self, gap: float) -> float:
        """One predictor-corrector step; returns the shorter of the two step lengths."""
        m, n = self.c.shape
        mu = gap / (2 * m * n)
        self._factorise()
        self._direction(corrected=False)
        self._correct(mu, self._predict(mu))
        return self._step(mu)

    def restore_rows(self) -> None:
        """Pure centring steps until the rows sum to one again: the last steps lose digits."""
        m, n = self.c.shape
        for _ in range(_RESTORING):
            off = float(np.abs(self._row_residual()).max())
            if off <= _ROWS:
                return
            before = self.s1.copy(), self.s2.copy(), self.t
            mu = self.gap() / (2 * m * n)
            try:
                self._factorise()
            except np.linalg.LinAlgError:
                return
            self.e1.fill(0.0)
            self.e2.fill(0.0)
            self._correct(mu, 1.0)
            self._step(mu)
            if float(np.abs(self._row_residual()).max()) > off:
                self.s1, self.s2, self.t = before
                return

    def _step(self, mu: float) -> float:
        """Solve for the targets in e1 and e2 and move; returns the shorter step length."""
        self._direction(corrected=True)
        primal, dual = self._lengths()
        # Closer to the boundary as the end nears.
        damping = min(0.995, max(0.9, 1 - 10 * mu))
        primal, dual = min(1.0, damping * primal), min(1.0, damping * dual)
        self._advance(primal, dual)
        return min(primal, dual)

    def _factorise(self) -> None:
        """Blocks of the eliminated columns, and the Cholesky factor of their sum."""
        from scipy.linalg.blas import dsyrk

        p, (_, n) = self.p, self.c.shape
        width = self.upper - self.lower
        diagonal = np.zeros(n)
        scaled, tilted = np.empty_like(self.r), (np.empty_like(self.r) if self.link else None)
        for b in self.blocks:
            d1, d2 = self.z1[b] / self.s1[b], self.z2[b] / self.s2[b]
            inverse = np.divide(1.0, d1 + d2, out=self.inverse[b])
            d2 *= inverse
            gamma = width**2 * np.einsum("yx,yx->y", d1, d2)
            w = np.multiply(d2, width, out=self.r[b])
            w += self.lower
            if tilted is not None:
                v = inverse * p
                share = v * p
                beta = share.sum(axis=1)
                rows = np.arange(len(beta))
                pivot = share.argmax(axis=1)
                share[rows, pivot] = 0.0
                rest = share.sum(axis=1)
                share[rows, pivot] = beta - rest
                factor = 1.0 - share / beta[:, None]
                factor[rows, pivot] = rest / beta
                diagonal += np.einsum("yx,yx->x", inverse, factor)
                kappa = 1.0 - w @ p
                w += (kappa / beta)[:, None] * v
                gamma += kappa**2 / beta
                np.multiply(v, (beta**-0.5)[:, None], out=tilted[b])
                self.beta[b], self.kappa[b], self.pivot[b] = beta, kappa, pivot
            else:
                diagonal += inverse.sum(axis=0)
            self.gamma[b] = gamma
            np.multiply(w, (gamma**-0.5)[:, None], out=scaled[b])
        system = dsyrk(1.0, scaled.T, lower=1)
        places = np.arange(n)
        diagonal += system[places, places]
        if tilted is not None:
            system = dsyrk(-1.0, tilted.T, beta=1.0, c=system, lower=1, overwrite_c=1)
        system[places, places] = diagonal
        self.factor = _cholesky(system)

    def _direction(self, *, corrected: bool) -> None:
        """Steps dk, dt, dλ, dθ of the Newton system, with refinement of the row sums."""
        from scipy.linalg import cho_solve

        p = self.p
        target = self._row_residual()
        rf, vf = np.empty_like(self.t), np.zeros_like(self.t)
        total = np.zeros(len(p))
        for b in self.blocks:
            f = self.c[b] - self.prices
            if self.link:
                f -= self.theta[b][:, None] * p
            if corrected:
                f += self.e1[b]
                f -= self.e2[b]
            rf[b] = np.einsum("yx,yx->y", self.r[b], f)
            x = np.multiply(f, self.inverse[b], out=self.dk[b])
            total += x.sum(axis=0)
            if self.link:
                vf[b] = x @ p
        sought = (self.extra if corrected else 0.0) - self.theta
        step = np.zeros(len(p))
        total += ((rf - sought) / self.gamma) @ self.r
        if self.link:
            total -= p * ((vf / self.beta) @ self.inverse)
        change = cho_solve(self.factor, total - target, check_finite=False)
        last = math.inf
        for _ in range(4):
            step += change
            rf -= self.r @ change
            if self.link:
                vf -= self.inverse @ (p * change)
            self.dt = (rf - sought) / self.gamma
            total = self._apply(change, vf)
            residual = total - target
            error = float(np.abs(residual).max())
            # The predictor only suggests how much to centre; it needs no more digits.
            if not corrected or error <= 1e-14 or error > 0.5 * last:
                break
            last = error
            change = cho_solve(self.factor, residual, check_finite=False)
        self.dprices = step
        self.dtheta = (vf - self.kappa * self.dt) / self.beta if self.link else np.zeros_like(rf)

    def _apply(self, change: Array, vf: Array) -> Array:
        """Move ``dk`` by a change of prices; returns the row sums of the finished step.

        ``dk`` holds f/D between calls, ``final`` the finished step.
        """
        p = self.p
        total = np.zeros(len(p))
        for b in self.blocks:
            inverse, x = self.inverse[b], self.dk[b]
            x -= inverse * change
            done = self.final[b]
            if self.link:
                np.multiply(inverse, p, out=done)
                done *= (-vf[b] / self.beta[b])[:, None]
                done += x
                rows, pivot = np.arange(len(done)), self.pivot[b]
                done[rows, pivot] = 0.0
                done[rows, pivot] = -(done @ p) / p[pivot]
                done += self.r[b] * self.dt[b][:, None]
            else:
                np.multiply(self.r[b], self.dt[b][:, None], out=done)
                done += x
            total += done.sum(axis=0)
        return total

    def _row_residual(self) -> Array:
        return 1.0 - self.s1.sum(axis=0) - self.lower * self.t.sum()

    def _predict(self, mu: float) -> float:
        """The centring that the affine direction suggests.

        Leaves s z q (1 + q), the second-order term, in e1 and e2.
        """
        low = high = 0.0
        linear = square = 0.0
        for b in self.blocks:
            for side, (s, z, e) in enumerate(
                ((self.s1[b], self.z1[b], self.e1[b]), (self.s2[b], self.z2[b], self.e2[b]))
            ):
                q = self._slack_step(b, side)
                q /= s
                low, high = min(low, float(q.min())), max(high, float(q.max()))
                np.multiply(s, z, out=e)
                e *= q
                linear += float(e.sum())
                square += float(np.vdot(e, q))
                q += 1.0
                e *= q
        primal = min(1.0, -1 / low) if low < -1 else 1.0
        # The affine step of z is −z(1 + q).
        dual = min(1.0, 1 / (1 + high))
        m, n = self.c.shape
        total = 2 * m * n * mu
        after = (
            total + primal * linear - dual * (total + linear) - primal * dual * (linear + square)
        )
        return max(after / total, 0.0) ** 3

    def _correct(self, mu: float, centring: float) -> None:
        """Corrected targets, divided by the slacks: (σμ + second order)/s, in e1 and e2."""
        cap = _CLIP * max(centring, 0.1) * mu
        aim = centring * mu
        for b in self.blocks:
            for s, e in ((self.s1[b], self.e1[b]), (self.s2[b], self.e2[b])):
                np.clip(e, -cap, cap, out=e)
                e += aim
                e /= s
            self.extra[b] = self.lower * self.e1[b].sum(axis=1) - self.upper * self.e2[b].sum(
                axis=1
            )

    def _slack_step(self, b: slice, side: int) -> Array:
        if side == 0:
            return self.final[b] - (self.lower * self.dt[b])[:, None]
        return (self.upper * self.dt[b])[:, None] - self.final[b]

    def _lengths(self) -> tuple[float, float]:
        """Longest primal and dual steps; leaves the new weights in e1 and e2."""
        low, fall = 0.0, 0.0
        for b in self.blocks:
            for side, (s, z, e) in enumerate(
                ((self.s1[b], self.z1[b], self.e1[b]), (self.s2[b], self.z2[b], self.e2[b]))
            ):
                q = self._slack_step(b, side)
                q /= s
                low = min(low, float(q.min()))
                q *= z
                e -= q
                # e is now the full-step weight z + dz.
                fall = min(fall, float((e / z).min()) - 1.0)
        return (-1 / low if low < 0 else math.inf), (-1 / fall if fall < 0 else math.inf)

    def _advance(self, primal: float, dual: float) -> None:
        for b in self.blocks:
            for side, (s, z, e) in enumerate(
                ((self.s1[b], self.z1[b], self.e1[b]), (self.s2[b], self.z2[b], self.e2[b]))
            ):
                step = self._slack_step(b, side)
                step *= primal
                s += step
                z *= 1 - dual
                e *= dual
                z += e
        self.former = self.t
        self.t = self.t + primal * self.dt
        self.residual *= 1 - dual
        self.prices = self.prices + dual * self.dprices
        self.theta = self.theta + dual * self.dtheta

    # Screening

    def drop_vanished(self, before: float) -> None:
        """Leave out outputs of vanishing mass; the next steps make up for what they carried.

        An output vanishes when its mass is far below the average *and* falls as fast as the gap
        does; an output that stays, however rare, keeps its mass.

        Merging them into another output would keep the rows exact but puts their slacks on one
        column, whose complementarity products it spoils: measured, it costs iterations.
        """
        m = len(self.c)
        falls = min(self.gap() / before, 1.0) ** 0.5
        keep = (self.t > _VANISHED * float(self.t.sum()) / m) | (self.t > falls * self.former)
        if keep.sum() > 0.9 * m:
            return
        # Never more than a third at once: a single odd step should not decide.
        spared = np.argsort(self.t)[m // 3 :]
        keep[spared] = True
        for name in ("s1", "s2", "z1", "z2", "c", "t", "theta", "former", "outputs"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[keep]))
        self._resize()
