"""Newton steps for one two-sided cone: every column is eliminated in closed form.

For outputs y with columns k_y and scales t_y the problem is::

    maximise    Σ_y ⟨c_y, k_y⟩
    subject to  Σ_y k_y = 1                                    (prices λ)
                s¹ = k_y − l·t_y ≥ 0                           (multipliers z¹)
                s² = h·t_y − k_y ≥ 0                           (multipliers z²)
                t_y = pᵀk_y   where the lift is bounded        (multiplier θ_y)

With D = z¹/s¹ + z²/s² the Newton system of a column is diagonal plus rank one (plus one more for
the link t = pᵀk), so eliminating all columns leaves an N×N system in λ, a diagonal plus terms of
rank M, which :mod:`.systems` factorises: O(N²M) per iteration, O(NM²) where M is small.

Elimination without cancellation. Put w = (l z¹/s¹ + h z²/s²)/D, v = p/D, β = pᵀv, κ = 1 − pᵀw,
r = w + (κ/β) v and γ = (h−l)² Σ (z¹/s¹)(z²/s²)/D + κ²/β. Then the block of column y is::

    [diag(1/D) − v vᵀ/β] + r rᵀ/γ        with the link,      diag(1/D) + w wᵀ/α   without it.

The bracket is the covariance of the column given pᵀk = 0. Near a vertex all of β comes from the
one free symbol, and 1/D − v²/β there is a difference of huge equal numbers; it is computed as
(1/D)·(Σ over the other symbols of p²/D)/β instead, and that symbol's step from pᵀΔk = 0.

The path followed is a weighted one: the targets of the products s·z of symbol x are μ·w_x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .predictor_corrector import Array, Options, centring_parameter, longest_step
from .systems import System, factorise, work_reduced


@dataclass(frozen=True)
class StructuredOptions(Options):
    """Heuristics of the method.

    Attributes
    ----------
    start : first multipliers, as a multiple of the mean deviation of the objective
    target_power : targets of the products are the range of a symbol's objective to this power
    clip : second-order terms are cut off at this multiple of the targets, as in [Gondzio1996]
    restores_rows : whether a step at the end restores the row sums
    own_steps : an output may step this many times as far as the one that is held back most …
    own_steps_until : … until the gap is at most this …
    own_entries : … in kernels of at least so many entries: it is less sure, and small ones are fast
    vanished : outputs below this share of the mass of those in use are dropped on the way
    drop_until : gap below which none is dropped: no room is left to make up for what it carried
    leaves_again : those that returned are dropped below this share of the mass of others dropped
    crowd_until : steps after which light outputs leave too, where too many are carried
    return_from : gap from which on outputs return that would not have vanished by their price
    warm_gap : the first point with at most this gap is kept as a warm start
    warm_entries : entries of the largest kernel for which it is kept
    """

    tolerance: float = 3e-11
    start: float = 10.0
    target_power: float = 0.5
    clip: float = 5.0
    restores_rows: bool = True
    own_steps: float = 2.0
    own_steps_until: float = 1e-4
    own_entries: int = 20_000
    vanished: float = 0.05
    drop_until: float = 1e-6
    leaves_again: float = 0.2
    crowd_until: int = 3
    return_from: float = 1e-4
    warm_gap: float = 1e-2
    warm_entries: int = 30_000


@dataclass(frozen=True)
class Cone:
    """Columns with l·t ≤ k ≤ h·t, and t = pᵀk where they are linked."""

    lower: float
    upper: float
    linked: bool


@dataclass(eq=False)
class Point:
    """An iterate for m outputs: ``(2, m, n)`` slacks s and multipliers z of both sides,
    ``(m,)`` scales t and multipliers θ of the link (zeros without it), ``(n,)`` prices λ.
    """

    cone: Cone
    slacks: Array
    multipliers: Array
    scales: Array
    link: Array
    prices: Array

    @property
    def columns(self) -> Array:
        """The ``(m, n)`` columns k."""
        found: Array = self.slacks[0] + self.cone.lower * self.scales[:, None]
        return found

    def on(self, kept: NDArray[np.bool_]) -> Point:
        """A copy on some of the outputs."""
        return replace(
            self,
            slacks=np.ascontiguousarray(self.slacks[:, kept]),
            multipliers=np.ascontiguousarray(self.multipliers[:, kept]),
            scales=self.scales[kept],
            link=self.link[kept],
        )

    def grow(self, factor: float) -> None:
        """Multiply all columns, which leaves them in the cone and their products alike."""
        self.slacks *= factor
        self.scales = self.scales * factor


class Newton:
    """Predictor-corrector iterations from a point, which they change.

    Parameters
    ----------
    p : ``(n,)`` prior
    c : ``(m, n)`` objective of each output, of order one or less
    targets : ``(n,)`` positive w, with mean one
    point : where to start; strictly inside, with t = pᵀk where the lift is bounded
    block : entries per block: what a pass touches stays in the processor's cache
    """

    # Arrays beside those for the slacks, and vectors of each output's scales in the system.
    _OWN = 3
    _VECTORS = 1

    def __init__(
        self,
        p: Array,
        c: Array,
        targets: Array,
        point: Point,
        options: StructuredOptions,
        block: int = 65536,
    ) -> None:
        self.p, self.c, self.targets, self.point, self.options = p, c, targets, point, options
        self.eliminations, self.block, self.square_masses = 0, block, p * p
        self._residuals()
        self._own_steps = c.size >= options.own_entries
        #: What the rows lacked before the last step, times the ranges of their objectives.
        self.lack, self.stakes = 0.0, np.ptp(c, axis=0)
        self._arrays = np.empty((self._OWN + 2 * len(point.slacks), *c.shape))
        self._resize()

    def _residuals(self) -> None:
        """The Newton steps shrink them by one minus the dual step, nothing else does."""
        point, z, cone = self.point, self.point.multipliers, self.point.cone
        stationarity = self.c - point.prices + z[0] - z[1] - point.link[:, None] * self.p
        balance = cone.lower * z[0].sum(axis=1) - cone.upper * z[1].sum(axis=1) - point.link
        self._stationarity = float(np.abs(stationarity).max(axis=0).sum())
        self._balance = float(np.abs(balance).max())

    def _resize(self) -> None:
        m, n = self.c.shape
        step = max(1, self.block // n)
        self.blocks = [slice(i, min(i + step, m)) for i in range(0, m, step)]
        sides, own = len(self.point.slacks), self._OWN
        self.work = np.empty((sides, min(step, m), n))
        self.inverse, self.r, self.dk = self._arrays[:3, :m]
        #: Steps of the slacks; second-order terms, then targets over slacks, then new multipliers.
        self.ds = self._arrays[own : own + sides, :m]
        self.e = self._arrays[own + sides :, :m]
        # The steps of the slacks are not in use while the system is formed.
        self.vectors = self.ds
        if work_reduced(n, self._VECTORS * m, m if self.point.cone.linked else 0, 0) < 1:
            self.vectors = np.empty((self._VECTORS + 1, m, n))
        self.gamma, self.beta, self.kappa = np.empty(m), np.ones(m), np.zeros(m)
        self.rf, self.vf, self.dt, self.extra = np.empty(m), np.zeros(m), np.empty(m), np.zeros(m)
        self.pivot = np.zeros(m, dtype=np.intp)
        self.row, self.ones = np.arange(m), np.ones(max(m, n))
        self.system: System | None = None

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all outputs but some."""
        before = self.point.scales.sum()
        self.point, self.c = self.point.on(kept), np.ascontiguousarray(self.c[kept])
        self.point.grow(before / self.point.scales.sum())
        self._resize()

    def add(self, c: Array, point: Point) -> None:
        """Take in outputs, for which the others make room."""
        now, m = self.point, len(self.c) + len(c)
        if m > self._arrays.shape[1]:
            self._arrays = np.empty((len(self._arrays), m, len(self.p)))
        now.grow(1 - point.scales.sum() / now.scales.sum())
        self.c = np.concatenate([self.c, c])
        self.point = replace(
            now,
            slacks=np.concatenate([now.slacks, point.slacks], axis=1),
            multipliers=np.concatenate([now.multipliers, point.multipliers], axis=1),
            scales=np.r_[now.scales, point.scales],
            link=np.r_[now.link, point.link],
        )
        self._residuals()
        self._resize()

    def restart(self, c: Array, point: Point) -> None:
        """Go on from another point, on outputs of the objectives ``(m, n)``."""
        if len(c) > self._arrays.shape[1]:
            self._arrays = np.empty((len(self._arrays), *c.shape))
        self.c, self.point, self.lack = c, point, 0.0
        self._residuals()
        self._resize()

    def gap(self) -> float:
        """Sum of all complementarity products."""
        return float(np.vdot(self.point.slacks, self.point.multipliers))

    @property
    def residual(self) -> float:
        """What the stationarity of columns and of scales is off by, in units of the objective."""
        return self._stationarity + self._balance * float(self.point.scales.sum())

    def row_residual(self) -> Array:
        """How much the row sums lack."""
        sums: Array = self.ones[: len(self.c)] @ self.point.slacks[0]
        return (1.0 - self.point.cone.lower * self.point.scales.sum()) - sums

    def iterate(self, gap: float) -> float:
        """One predictor-corrector step; returns the shorter of the two step lengths."""
        mu = gap / self.point.slacks.size
        self._factorise()
        self._affine_direction()
        self._corrected_targets(mu, self._centring_parameter(mu))
        self._corrector_direction()
        share = self.options.step_share
        falls, longest = self._longest_steps()
        primal = min(1.0, share * longest_step(float(falls.min())))
        dual = min(1.0, share * longest)
        steps = np.full(len(falls), primal)
        if self._own_steps and gap > self.options.own_steps_until:
            # Few outputs hold all others back. Rows are off for it until the next steps.
            own = share / np.maximum(-falls, share)
            np.minimum(own, self.options.own_steps * primal, out=steps)
        self.lack *= 1 - primal
        self._advance(steps, dual)
        return min(primal, dual)

    def restore_rows(self) -> None:
        """A step of columns alone after which rows sum to one again: the last steps lose digits.

        It goes by the last system that was factorised, so it is small beside the slacks.
        """
        if self.system is None:
            return
        self.missing = self.row_residual()
        for part in (self.dk, self.rf, self.vf):
            part.fill(0.0)
        self._solve(np.zeros_like(self.extra))
        before, low = self.point, min(float(self._relative_steps(b).min()) for b in self.blocks)
        step = min(1.0, 0.9 * longest_step(low))
        slacks = before.slacks + step * self.ds
        self.point = replace(before, slacks=slacks, **self._scales_after(step))
        if not np.abs(self.row_residual()).max() <= np.abs(self.missing).max():
            self.point = before

    def _factorise(self) -> None:
        """Blocks of the eliminated columns, and the factors of their sum."""
        p, point, cone, (m, n) = self.p, self.point, self.point.cone, self.c.shape
        self.eliminations += m
        width = cone.upper - cone.lower
        diagonal = np.zeros(n)
        scaled, tilted = self.vectors
        for b in self.blocks:
            d1, d2 = d = self.work[:, : b.stop - b.start]
            np.divide(point.multipliers[:, b], point.slacks[:, b], out=d)
            inverse = np.add(d1, d2, out=self.inverse[b])
            np.divide(1.0, inverse, out=inverse)
            d2 *= inverse
            gamma = width**2 * np.einsum("yx,yx->y", d1, d2)
            w = np.multiply(d2, width, out=self.r[b])
            w += cone.lower
            if cone.linked:
                beta, own = self._covariances(b, d2)
                diagonal += own
                kappa = 1.0 - w @ p
                v = np.multiply(inverse, p, out=d1)
                w += np.multiply(v, (kappa / beta)[:, None], out=d2)
                gamma += kappa**2 / beta
                np.multiply(v, (beta**-0.5)[:, None], out=tilted[b])
                self.kappa[b] = kappa
            else:
                diagonal += self.ones[: len(inverse)] @ inverse
            self.gamma[b] = gamma
            np.multiply(w, (gamma**-0.5)[:, None], out=scaled[b])
        if not cone.linked:
            self.system = factorise(
                diagonal, scaled, self.options.regularisation, p=p, roots=self.beta
            )
            return
        self.system = factorise(
            self.ones[:m] @ self.inverse,
            scaled,
            self.options.regularisation,
            own=diagonal,
            down=tilted,
            p=p,
            roots=np.sqrt(self.beta),
        )

    def _covariances(self, b: slice, share: Array) -> tuple[Array, Array]:
        """β of every column of a block and the sum of the diagonals of their covariances.

        The symbol with most of β is the pivot: what its entry has left comes from the others.
        """
        inverse, rows = self.inverse[b], self.row[: len(share)]
        np.multiply(inverse, self.square_masses, out=share)
        pivot = share.argmax(axis=1)
        most = share[rows, pivot]
        share[rows, pivot] = 0.0
        rest = share @ self.ones[: share.shape[1]]
        beta: Array = rest + most
        share *= (-1 / beta)[:, None]
        share += 1.0
        share[rows, pivot] = rest / beta
        self.beta[b], self.pivot[b] = beta, pivot
        diagonal: Array = np.einsum("yx,yx->x", inverse, share)
        return beta, diagonal

    def _balanced(self, b: slice, step: Array) -> None:
        """The step of the columns of a block with pᵀΔk = 0, of which the pivot's entry follows."""
        p, rows, pivot = self.p, self.row[: len(step)], self.pivot[b]
        np.multiply(self.inverse[b], p, out=step)
        step *= (-self.vf[b] / self.beta[b])[:, None]
        step += self.dk[b]
        step[rows, pivot] = 0.0
        step[rows, pivot] = -(step @ p) / p[pivot]

    def _affine_direction(self) -> None:
        """The step towards products of zero."""
        p, point = self.p, self.point
        for b in self.blocks:
            f, other = self.work[:, : b.stop - b.start]
            np.subtract(self.c[b], point.prices, out=f)
            if point.cone.linked:
                f -= np.multiply(point.link[b][:, None], p, out=other)
            np.einsum("yx,yx->y", self.r[b], f, out=self.rf[b])
            x = np.multiply(f, self.inverse[b], out=self.dk[b])
            if point.cone.linked:
                np.dot(x, p, out=self.vf[b])
        self._miss()
        self._solve(-point.link)

    def _miss(self) -> None:
        """What the rows lack, and what that amounts to."""
        self.missing = self.row_residual()
        self.lack = float(np.abs(self.missing) @ self.stakes)
        self.dprices = np.zeros(len(self.p))

    def _corrector_direction(self) -> None:
        """The step towards the corrected targets, from the affine one."""
        for b in self.blocks:
            f = np.subtract(self.e[0, b], self.e[1, b], out=self.work[0, : b.stop - b.start])
            self.rf[b] += np.einsum("yx,yx->y", self.r[b], f)
            f *= self.inverse[b]
            self.dk[b] += f
            if self.point.cone.linked:
                self.vf[b] += f @ self.p
        self._solve(self.extra - self.point.link)

    def _solve(self, scale_side: Array) -> None:
        """Solve for dλ and substitute back: dt, dθ and the steps of both slacks.

        ``dk``, ``rf`` and ``vf`` hold f/D, rᵀf and vᵀf for the right-hand side f of the columns,
        less what ``dprices`` takes off it. Rows still missing after the affine direction are made
        up for by the corrector's, which therefore needs no refinement.
        """
        assert self.system is not None
        p, cone = self.p, self.point.cone
        lack = self.ones[: len(self.c)] @ self.dk - self.missing
        lack += ((self.rf - scale_side) / self.gamma) @ self.r
        if cone.linked:
            lack -= p * ((self.vf / self.beta) @ self.inverse)
        change = self.system.solve(lack)
        self.dprices += change
        self.rf -= self.r @ change
        self.dt = (self.rf - scale_side) / self.gamma
        if cone.linked:
            self.vf -= self.inverse @ (p * change)
            self.dlink = (self.vf - self.kappa * self.dt) / self.beta
        for b in self.blocks:
            inverse, x, (first, second) = self.inverse[b], self.dk[b], self.ds[:, b]
            other = self.work[0, : len(x)]
            x -= np.multiply(inverse, change, out=other)
            if cone.linked:
                self._balanced(b, first)
                first += np.multiply(self.r[b], self.dt[b][:, None], out=other)
            else:
                np.multiply(self.r[b], self.dt[b][:, None], out=first)
                first += x
            np.subtract((cone.upper * self.dt[b])[:, None], first, out=second)
            first -= (cone.lower * self.dt[b])[:, None]

    def _relative_steps(self, b: slice) -> Array:
        """Δs/s of a block, in the working array."""
        return np.divide(
            self.ds[:, b], self.point.slacks[:, b], out=self.work[:, : b.stop - b.start]
        )

    def _centring_parameter(self, mu: float) -> float:
        """σ of the affine direction; leaves s z q (1 + q), the second-order term, in ``e``."""
        low = high = linear = square = 0.0
        for b in self.blocks:
            q, e, s = self._relative_steps(b), self.e[:, b], self.point.slacks[:, b]
            low, high = min(low, float(q.min())), max(high, float(q.max()))
            np.multiply(s, self.point.multipliers[:, b], out=e)
            e *= q
            linear += float(e.sum())
            square += sum(float(np.vdot(*pair)) for pair in zip(e, q, strict=True))
            q += 1.0
            e *= q
        # The affine step of z is −z(1 + q).
        primal, dual = (min(1.0, longest_step(change)) for change in (low, -1.0 - high))
        gap = self.ds.size * mu
        affine = gap + primal * linear - dual * (gap + linear) - primal * dual * (linear + square)
        return centring_parameter(affine, gap)

    def _corrected_targets(self, mu: float, sigma: float) -> None:
        """Corrected targets over the slacks: (σμ + second order)/s, in ``e``."""
        target = mu * self.targets
        cap = self.options.clip * target
        for b in self.blocks:
            e = self.e[:, b]
            np.minimum(e, cap, out=e)
            np.maximum(e, -cap, out=e)
            e += sigma * target
            e /= self.point.slacks[:, b]
            self._extra_of(b, e @ self.ones[: e.shape[2]])

    def _extra_of(self, b: slice, sums: Array) -> None:
        """What targets of the slacks bring to the side of the scales."""
        cone, (first, second) = self.point.cone, sums
        self.extra[b] = cone.lower * first - cone.upper * second

    def _scales_after(self, step: Array | float) -> dict[str, Any]:
        """The scales after a step."""
        return {"scales": self.point.scales + step * self.dt}

    def _shrink(self, dual: float) -> None:
        self._stationarity *= 1 - dual
        self._balance *= 1 - dual

    def _longest_steps(self) -> tuple[Array, float]:
        """The least Δs/s of each output and the longest dual step; leaves the new multipliers in
        ``e``.
        """
        low, fall = np.zeros(len(self.c)), 0.0
        for b in self.blocks:
            q, e, z = self._relative_steps(b), self.e[:, b], self.point.multipliers[:, b]
            np.minimum(q.min(axis=2).min(axis=0), 0.0, out=low[b])
            q *= z
            e -= q
            # e is now the full-step multiplier z + dz.
            np.divide(e, z, out=q)
            fall = min(fall, float(q.min()) - 1.0)
        return low, longest_step(fall)

    def _advance(self, primal: Array, dual: float) -> None:
        point = self.point
        for b in self.blocks:
            s, z, e = point.slacks[:, b], point.multipliers[:, b], self.e[:, b]
            steps = primal[b][:, None]
            s += np.multiply(self.ds[:, b], steps, out=self.work[:, : b.stop - b.start])
            z *= 1 - dual
            e *= dual
            z += e
        self._shrink(dual)
        for name, value in self._scales_after(primal).items():
            setattr(point, name, value)
        point.prices = point.prices + dual * self.dprices
        if point.cone.linked:
            point.link = point.link + dual * self.dlink
