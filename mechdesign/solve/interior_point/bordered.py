"""Newton steps for one two-sided cone under zeros and limits: the border of the eliminated system.

The problem of :mod:`.newton` over the entries that may be positive, with limits beside the rows::

    maximise    Σ_y ⟨c_y, k_y⟩
    subject to  Σ_y k_y = 1                                    (prices λ)
                s¹ = k_y − l·t_y ≥ 0,   s² = h·t_y − k_y ≥ 0   (multipliers z¹, z²)
                t_y = pᵀk_y   where the lift is bounded        (multiplier θ_y)
                s = ±(k_xy − v) ≥ 0   for single entries       (multipliers z)
                s = ±(a·k + b·t − v) ≥ 0, or equal to zero     (duals η)

A limit on a single entry adds to the diagonal D of its column and nothing else. Columns are
eliminated as in :mod:`.newton`, where α has (h−l)² d¹d² + d (l² d¹ + h² d²) over D for the addition
d; what is left is one system in λ and η together. Rows that weigh a whole column in
proportion to p are rows in t, where nothing cancels.

Iterates need not satisfy rows, link and limits; steps shrink what they lack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .newton import Cone, StructuredOptions
from .predictor_corrector import Array, Iterate, centring_parameter, cholesky, longest_step

Places = NDArray[np.intp]

# Solutions of a direction with iterative refinement, at most; it ends at this share of what rows
# and limits lack by now, or at the other number.
_SOLUTIONS, _REFINED, _EXACT = 5, 1e-3, 1e-12
# Steps to the central path that a point inside may take, and what it may lack of rows and limits.
_CENTRINGS, _FEASIBLE = 40, 1e-9
# Coefficients from this share of all places on are multiplied as a dense matrix.
_DENSE = 0.1


class Entries:
    """The entries that may be positive, output by output.

    Attributes
    ----------
    symbols, outputs : ``(E,)`` positions, sorted by output; every one of m outputs has some
    shape : symbols n and outputs m
    starts, heights : ``(m,)`` where each output begins, and how many entries it has
    """

    def __init__(self, symbols: Places, outputs: Places, shape: tuple[int, int]) -> None:
        from scipy import sparse

        self.symbols, self.outputs, self.shape = symbols, outputs, shape
        (n, m), count = shape, len(symbols)
        self.starts = np.searchsorted(outputs, np.arange(m))
        self.heights = np.diff(np.append(self.starts, count))
        self._places = outputs * n + symbols
        # Several times faster than np.bincount.
        ends = np.arange(count + 1)
        self._sums = sparse.csc_array((np.ones(count), symbols, ends), shape=(n, count))

    def spread(self, values: Array) -> Array:
        """A number of each output at its entries."""
        return np.repeat(values, self.heights)

    def by_output(self, values: Array) -> Array:
        """Sums over each output, ``(m,)``."""
        found: Array = np.add.reduceat(values, self.starts)
        return found

    def by_symbol(self, values: Array) -> Array:
        """Sums over each symbol, ``(n,)``."""
        found: Array = self._sums @ values
        return found

    def dense(self, values: Array) -> Array:
        """Values as ``(m, n)``, zero elsewhere."""
        found = np.zeros((self.shape[1], self.shape[0]))
        found.ravel()[self._places] = values
        return found


@dataclass(frozen=True, eq=False)
class Singles:
    """Limits on single entries: sign·(k − value) ≥ 0 at positions among the entries."""

    places: Places
    signs: Array
    values: Array


class Rows:
    """Limits on sums: J rows over entries and scales, equal to a value or between two.

    Parameters
    ----------
    entries : which there are
    matrix : ``(J, E)`` sparse
    scales : ``(J, m)`` coefficients of t
    equations : ``(J,)`` whether a row is an equation, with its value in ``low``
    low, high : ``(J,)``, infinite where nothing is asked
    """

    def __init__(
        self,
        entries: Entries,
        matrix: Any,
        scales: Array,
        equations: NDArray[np.bool_],
        low: Array,
        high: Array,
    ) -> None:
        self.entries, self.scales, self.equations = entries, scales, equations
        self.count, self.low = len(low), low
        #: Which row each slack belongs to, its sign and value.
        uppers = np.flatnonzero(~equations & np.isfinite(high))
        lowers = np.flatnonzero(~equations & np.isfinite(low))
        self.rows = np.concatenate([uppers, lowers])
        self.signs = np.concatenate([-np.ones(len(uppers)), np.ones(len(lowers))])
        self.values = np.concatenate([high[uppers], low[lowers]])
        coordinates = matrix.tocoo()
        row, self._column = coordinates.coords
        self._data, (n, m) = coordinates.data, entries.shape
        self._by_output = row * m + entries.outputs[self._column]
        self._by_symbol = row * n + entries.symbols[self._column]
        self._is_dense = matrix.nnz >= _DENSE * max(self.count * len(entries.symbols), 1)
        self._matrix = matrix.toarray() if self._is_dense else matrix.tocsr()
        self._transposed = self._matrix.T if self._is_dense else matrix.T.tocsr()

    def times(self, k: Array, t: Array) -> Array:
        """a·k + b·t of each row."""
        found: Array = self._matrix @ k + self.scales @ t
        return found

    def transposed(self, eta: Array) -> Array:
        """Σ_j η_j a_j on the entries."""
        found: Array = self._transposed @ eta
        return found

    def products(self, weights: Array) -> tuple[Array, Array]:
        """Σ a_j w over each output ``(J, m)`` and over each symbol ``(J, n)``."""
        n, m = self.entries.shape
        terms = self._data * weights[self._column]
        by_output = np.bincount(self._by_output, terms, self.count * m).astype(float)
        by_symbol = np.bincount(self._by_symbol, terms, self.count * n).astype(float)
        return by_output.reshape(self.count, m), by_symbol.reshape(self.count, n)

    def gram(self, weights: Array) -> Array:
        """A diag(w) Aᵀ, ``(J, J)``."""
        if self._is_dense:
            dense: Array = (self._matrix * weights) @ self._matrix.T
            return dense
        weighted = self._matrix.copy()
        weighted.data *= weights[self._matrix.indices]
        found: Array = (weighted @ self._transposed).toarray()
        return found


@dataclass(eq=False)
class Slack:
    """Slacks and multipliers of one kind, and what their definitions lack: ``lack`` = value − s."""

    s: Array
    z: Array
    target: Array | float
    lack: Array
    ds: Array
    e: Array

    @staticmethod
    def of(s: Array, mu: float, target: Array | float) -> Slack:
        """With products of μ times the targets."""
        zero = np.zeros_like(s)
        return Slack(s, mu * target / s, target, zero, zero, zero)


class Bordered(Iterate):
    """Predictor-corrector iterations under zeros and limits.

    Parameters
    ----------
    p : ``(n,)`` prior
    c : ``(E,)`` objective at the entries, of order one or less
    cone : of every column
    targets : ``(n,)`` positive, with mean one: of the products of each symbol
    options : heuristics
    """

    def __init__(
        self,
        p: Array,
        c: Array,
        cone: Cone,
        entries: Entries,
        singles: Singles,
        rows: Rows,
        targets: Array,
        options: StructuredOptions,
    ) -> None:
        self.p, self.c, self.cone, self.entries = p, c, cone, entries
        self.singles, self.rows, self.options = singles, rows, options
        self.px, self.places = p[entries.symbols], np.arange(entries.shape[1])
        self._start(targets)
        self.best: tuple[Array, Array, Array, Array] | None = None
        self.least = np.inf
        self._early: tuple[Any, ...] | None = None
        self._measure()

    def _start(self, targets: Array) -> None:
        entries, cone, rows = self.entries, self.cone, self.rows
        n, m = entries.shape
        size = n / len(entries.symbols)
        k = np.full(len(entries.symbols), size)
        self.t = np.full(m, size if cone.linked else 2 * size / (cone.lower + cone.upper))
        counts = np.bincount(entries.symbols, minlength=n)
        self.prices = entries.by_symbol(self.c) / counts
        deviation = float(np.abs(self.c - self.prices[entries.symbols]).mean()) or 1.0
        low = k - cone.lower * entries.spread(self.t)
        high = cone.upper * entries.spread(self.t) - k
        mu = self.options.start * deviation * float(min(low.min(), high.min()))
        at = targets[entries.symbols]
        self.low, self.high = Slack.of(low, mu, at), Slack.of(high, mu, at)
        singles = self.singles
        found = singles.signs * (k[singles.places] - singles.values)
        room = 0.5 * size
        self.single = Slack.of(np.maximum(found, room), mu, at[singles.places])
        found = rows.signs * (rows.times(k, self.t)[rows.rows] - rows.values)
        scale = np.maximum(np.abs(rows.values), size)
        self.row = Slack.of(np.maximum(found, 0.1 * scale), mu, 1.0)
        self.free = np.zeros(rows.count)
        self.link = np.zeros(m)
        if cone.linked:
            self.link = entries.by_output(cone.lower * self.low.z - cone.upper * self.high.z)

    @property
    def slacks(self) -> tuple[Slack, Slack, Slack, Slack]:
        """Of both sides of the cone, of single entries and of rows."""
        return self.low, self.high, self.single, self.row

    @property
    def k(self) -> Array:
        """The kernel at the entries."""
        found: Array = self.low.s + self.cone.lower * self.entries.spread(self.t)
        return found

    @property
    def eta(self) -> Array:
        """Duals of the rows, positive for upper and negative for lower ends."""
        rows = self.rows
        return self.free - np.bincount(rows.rows, rows.signs * self.row.z, rows.count)

    def _measure(self) -> None:
        """Residuals of everything, and the gap."""
        entries, cone, rows, singles = self.entries, self.cone, self.rows, self.singles
        k, eta = self.k, self.eta
        self.missing = 1.0 - entries.by_symbol(k)
        values = rows.times(k, self.t)
        self.off = np.where(rows.equations, rows.low - values, 0.0)
        if cone.linked:
            self.unlinked = entries.by_output(self.px * k) - self.t
        else:
            self.unlinked = np.zeros(len(self.t))
        self.single.lack = singles.signs * (k[singles.places] - singles.values) - self.single.s
        self.row.lack = rows.signs * (values[rows.rows] - rows.values) - self.row.s
        #: Stationarity without the multipliers of slacks.
        self.f = self.c - self.prices[entries.symbols] - rows.transposed(eta)
        if cone.linked:
            self.f -= self.px * entries.spread(self.link)
        self.side = rows.scales.T @ eta - self.link
        both = self.f + self.low.z - self.high.z
        np.add.at(both, singles.places, singles.signs * self.single.z)
        balance = self.side + entries.by_output(cone.lower * self.low.z - cone.upper * self.high.z)
        worst = entries.dense(np.abs(both)).max(axis=0)
        self.dual = float(worst.sum()) + float(np.abs(balance).max()) * float(self.t.sum())
        self.primal = max(
            float(np.abs(part).max(initial=0.0))
            for part in (self.missing, self.off, self.unlinked, self.single.lack, self.row.lack)
        )
        self.gap = float(sum(np.vdot(part.s, part.z) for part in self.slacks))

    def error(self) -> float:
        """Gap and residuals; keeps the best point, and the first whose gap is small."""
        found = max(self.gap, self.dual, self.primal)
        if found < self.least:
            self.least = found
            self.best = self.k, self.prices, self.eta, self.single.z.copy()
        if self._early is None and self.gap <= self.options.warm_gap:
            self._early = self._state()
        return found

    def _state(self) -> tuple[Any, ...]:
        """What a step changes; steps make new arrays."""
        slacks = tuple((part.s, part.z) for part in self.slacks)
        return slacks, self.t, self.prices, self.link, self.free

    def inside(self) -> Array | None:
        """A point inside of everything, ``None`` where none was passed; iterations end with it.

        The first whose gap was small, brought closer to the central path and on rows and limits.
        """
        if self._early is None:
            return None
        slacks, self.t, self.prices, self.link, self.free = self._early
        for part, (s, z) in zip(self.slacks, slacks, strict=True):
            part.s, part.z = s, z
        self._measure()
        for _ in range(_CENTRINGS):
            if self.primal <= _FEASIBLE:
                return self.k
            try:
                self.step(centring=1.0)
            except np.linalg.LinAlgError:
                break
        return self.k if self.primal <= _FEASIBLE else None

    def step(self, centring: float | None = None) -> float:
        """One predictor-corrector step; returns the shorter of the two step lengths.

        ``centring`` takes the place of the centring parameter.
        """
        mu = self.gap / sum(part.s.size for part in self.slacks)
        self._factorise()
        self._direction(False)
        self._corrected_targets(mu, centring)
        self._direction(True)
        primal, dual = self._longest()
        share = self.options.step_share
        primal, dual = min(1.0, share * primal), min(1.0, share * dual)
        for part in self.slacks:
            part.s = part.s + primal * part.ds
            part.z = (1 - dual) * part.z + dual * part.e
        self.t = self.t + primal * self.dt
        self.prices = self.prices + dual * self.dprices
        self.link = self.link + dual * self.dlink
        self.free = self.free + dual * np.where(self.rows.equations, self.deta, 0.0)
        self._measure()
        return min(primal, dual)

    def _factorise(self) -> None:
        from scipy.linalg.blas import dsyrk

        entries, cone, rows, singles = self.entries, self.cone, self.rows, self.singles
        n, m = entries.shape
        y, places = entries.outputs, self.places
        low, high = cone.lower, cone.upper
        d1, d2 = self.low.z / self.low.s, self.high.z / self.high.s
        own = np.bincount(singles.places, self.single.z / self.single.s, len(d1))
        inverse = 1.0 / (d1 + d2 + own)
        # w − l and h − w, where both sides cancel near a vertex.
        self.above = ((high - low) * d2 - low * own) * inverse
        self.below = ((high - low) * d1 + high * own) * inverse
        inner = (high - low) ** 2 * d1 * d2
        if len(singles.places):
            inner += own * (low * low * d1 + high * high * d2)
        alpha = entries.by_output(inner * inverse)
        self.w = w = (low * d1 + high * d2) * inverse
        self.inverse, self.v = inverse, inverse * self.px
        self.beta, self.kappa = np.ones(m), np.zeros(m)
        if cone.linked:
            share = self.v * self.px
            most = np.maximum.reduceat(share, entries.starts)
            largest = np.flatnonzero(share == most[y])
            pivot = largest[np.searchsorted(y[largest], places)]
            share[pivot] = 0.0
            rest = entries.by_output(share)
            self.pivot, self.beta = pivot, rest + most
            share = 1.0 - share / entries.spread(self.beta)
            share[pivot] = rest / self.beta
            diagonal = entries.by_symbol(inverse * share)
            self.kappa = 1.0 - entries.by_output(w * self.px)
            self.r = w + self.v * entries.spread(self.kappa / self.beta)
            self.gamma = alpha + self.kappa**2 / self.beta
        else:
            diagonal = entries.by_symbol(inverse)
            self.r, self.gamma = w, alpha
        r = entries.dense(self.r * entries.spread(self.gamma**-0.5))
        system = np.zeros((n + rows.count, n + rows.count), order="F")
        core = dsyrk(1.0, r.T, lower=1)
        diagonal += core.diagonal()
        if cone.linked:
            v = entries.dense(self.v * entries.spread(self.beta**-0.5))
            core = dsyrk(-1.0, v.T, beta=1.0, c=core, lower=1, overwrite_c=1)
        np.fill_diagonal(core, diagonal)
        system[:n, :n] = core
        strength = np.bincount(rows.rows, self.row.z / self.row.s, rows.count)
        #: What each row gives way by, per unit of its dual; equations do not.
        self.give = np.where(rows.equations, 0.0, 1.0 / np.where(rows.equations, 1.0, strength))
        if rows.count:
            ar = (rows.products(self.r)[0] + rows.scales) * self.gamma**-0.5
            across = rows.products(inverse)[1] + ar @ r
            corner = rows.gram(inverse) + ar @ ar.T
            if cone.linked:
                av = rows.products(self.v)[0] * self.beta**-0.5
                across -= av @ v
                corner -= av @ av.T
            corner.flat[:: rows.count + 1] += self.give
            system[n:, :n], system[n:, n:] = across, corner
        self.factor = cholesky(system, self.options.regularisation)

    def _direction(self, corrected: bool) -> None:
        """The affine direction, or the one towards the targets in ``e``."""
        entries, cone, rows, singles = self.entries, self.cone, self.rows, self.singles
        f, side = self.f.copy(), self.side
        changes = -self.single.z * self.single.lack / self.single.s
        gains = -self.row.z - self.row.z * self.row.lack / self.row.s
        if corrected:
            f += self.low.e - self.high.e
            changes += self.single.e
            gains += self.row.e
            side = side + entries.by_output(cone.lower * self.low.e - cone.upper * self.high.e)
        f += np.bincount(singles.places, singles.signs * changes, len(f))
        goal = np.bincount(rows.rows, rows.signs * gains, rows.count) * self.give
        goal = np.where(rows.equations, self.off, goal)
        self.shape, self.dt, self.dlink = self._columns(f, side, self.unlinked)
        self.dprices, self.deta = np.zeros(len(self.p)), np.zeros(rows.count)
        enough = max(_REFINED * self.primal, _EXACT)
        # The affine direction only gives the centring parameter and the second-order terms.
        for solution in range(_SOLUTIONS if corrected else 1):
            dk = self.shape + self.w * entries.spread(self.dt)
            lack = entries.by_symbol(dk) - self.missing
            short = rows.times(dk, self.dt) - goal - self.give * self.deta
            off = max(float(np.abs(lack).max()), float(np.abs(short).max(initial=0.0)))
            if solution and off <= enough:
                break
            self._take(lack, short)
        self.low.ds = self.above * entries.spread(self.dt) + self.shape
        self.high.ds = self.below * entries.spread(self.dt) - self.shape
        dk = self.shape + self.w * entries.spread(self.dt)
        self.single.ds = singles.signs * dk[singles.places] + self.single.lack
        # Rows that bind move by what they give way; the sum over all entries would cancel.
        binding = (self.give < 1.0) & ~rows.equations
        change = np.where(binding, goal + self.give * self.deta, rows.times(dk, self.dt))
        self.row.ds = rows.signs * change[rows.rows] + self.row.lack

    def _take(self, lack: Array, short: Array) -> None:
        """Solve for the change of prices and duals, and substitute it back."""
        from scipy.linalg.lapack import dpotrs

        n = len(self.p)
        change = dpotrs(self.factor, np.concatenate([lack, short]), lower=1)[0]
        dprices, deta = change[:n], change[n:]
        f = -dprices[self.entries.symbols] - self.rows.transposed(deta)
        shape, dt, dlink = self._columns(f, self.rows.scales.T @ deta, np.zeros(len(self.t)))
        self.shape, self.dt, self.dlink = self.shape + shape, self.dt + dt, self.dlink + dlink
        self.dprices, self.deta = self.dprices + dprices, self.deta + deta

    def _columns(self, f: Array, side: Array, unlinked: Array) -> tuple[Array, Array, Array]:
        """The step for right-hand sides at prices that stay: Δk − w Δt, Δt and Δθ."""
        entries = self.entries
        rf = entries.by_output(self.r * f)
        x = self.inverse * f
        if not self.cone.linked:
            dt = (rf - side) / self.gamma
            return x, dt, np.zeros(len(dt))
        vf = entries.by_output(self.v * f)
        dt = (rf + self.kappa / self.beta * unlinked - side) / self.gamma
        dlink = (vf + unlinked - self.kappa * dt) / self.beta
        x -= self.v * entries.spread(vf / self.beta)
        x[self.pivot] = 0.0
        x[self.pivot] = -entries.by_output(x * self.px) / self.px[self.pivot]
        x += self.v * entries.spread((self.kappa * dt - unlinked) / self.beta)
        return x, dt, dlink

    def _corrected_targets(self, mu: float, centring: float | None) -> None:
        """Corrected targets over the slacks, (σμ + second order)/s, in ``e``."""
        primal, dual = np.inf, np.inf
        affine = linear = square = gap = 0.0
        for part in self.slacks:
            q = part.ds / part.s
            primal = min(primal, longest_step(float(q.min(initial=0.0))))
            dual = min(dual, longest_step(-1.0 - float(q.max(initial=-1.0))))
            part.e = part.s * part.z * q
            gap += float(np.vdot(part.s, part.z))
            linear += float(part.e.sum())
            square += float(np.vdot(part.e, q))
            part.e *= 1.0 + q
        primal, dual = min(1.0, primal), min(1.0, dual)
        # The affine step of z is −z(1 + q).
        affine = gap + primal * linear - dual * (gap + linear) - primal * dual * (linear + square)
        sigma = centring_parameter(affine, gap) if centring is None else centring
        for part in self.slacks:
            target = mu * part.target
            cap = self.options.clip * target
            # np.clip takes ten times as long with ends that are arrays.
            np.minimum(part.e, cap, out=part.e)
            np.maximum(part.e, -cap, out=part.e)
            part.e += sigma * target
            part.e /= part.s

    def _longest(self) -> tuple[float, float]:
        """Longest primal and dual steps; leaves the multipliers of the full step in ``e``."""
        low = fall = 0.0
        for part in self.slacks:
            q = part.ds / part.s
            low = min(low, float(q.min(initial=0.0)))
            part.e = part.e - part.z * q
            fall = min(fall, float((part.e / part.z).min(initial=1.0)) - 1.0)
        return longest_step(low), longest_step(fall)
