"""Newton steps for bounds over a graph, and which of its arcs they know of.

For outputs y with columns k_y and the rows G of the arcs the problem is::

    maximise    Σ_y m_y ⟨c_y, k_y⟩
    subject to  Σ_y m_y A k_y = |o|        (prices λ)
                s_y = G k_y ≥ 0            (multipliers z_y)

with A the sum over each orbit o of symbols and m_y the number of outputs that y stands for; both
are the identity where no symmetry is used. Eliminating the columns, with θ = z/s and
H_y = Gᵀ diag(θ) G, leaves (Σ_y m_y A H_y⁻¹ Aᵀ) Δλ = Σ_y m_y A H_y⁻¹ f_y − residual of the rows.

Each output starts with the shortest arcs. The others limit its steps as well, so that its column
is inside all bounds at every step; one that the column comes near is taken in, with a product
below the mean μ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..interior_point.predictor_corrector import (
    SHORTEST,
    Iterate,
    Options,
    Stopping,
    centring_parameter,
    cholesky,
    follow,
    longest_step,
)
from .dense import Dense
from .graph import Arcs, Array, Places, Rows

# Slacks above this share of w k_v are computed from columns; those below have lost digits there.
_CLEAR = 1e-9
_LEAST = 1e-16
# Row sums that are met up to this need no refinement.
_SMALL_LACK = 1e-13
# With fewer symbols half the digits save no time.
_MANY = 128
# Gaps that count as converged when rounding lets them come no closer, and what it leaves open for
# each product.
_ACCEPTED, _ROUNDING = 1e-7, 2e-14
# Gaps below which points are kept, and steps without progress counted.
_KEPT = 1e-5


@dataclass(frozen=True)
class GraphOptions(Options):
    """Heuristics of the method.

    Attributes
    ----------
    start : first multipliers, as a multiple of the mean deviation of the objective
    clip : second-order terms are cut off at this multiple of the target, as in [Gondzio1996]
    near : arcs whose slack is below this share of that of a constant column are taken in
    blocking : the same at the end
    balance : products fall no more while stationarity is off by more than so many times their sum
    centring : share of them that is aimed at then
    rough : gap above which the blocks are factored with half the digits
    floor : gap that is aimed at, as a share of the tolerance
    entering : products of arcs that are taken in, as a share of the mean
    largest : their multipliers at most, as a share of the mean one of their output
    block : entries of slacks that a block of outputs has at first
    """

    tolerance: float = 1e-8
    patience: int = 4
    start: float = 10.0
    clip: float = 5.0
    near: float = 0.2
    blocking: float = 0.1
    balance: float = 1e3
    centring: float = 0.5
    rough: float = 1e-3
    floor: float = 0.2
    entering: float = 0.1
    largest: float = 0.01
    block: int = 20_000


class Block:
    """Some outputs: their columns, slacks and multipliers."""

    def __init__(
        self,
        c: Array,
        counts: Array,
        outputs: Places,
        arcs: Arcs,
        first: NDArray[np.bool_],
        elimination: Dense,
        start: tuple[float, float],
        options: GraphOptions,
    ) -> None:
        self.c, self.counts, self.outputs, self.options = c, counts, outputs, options
        self.all, self.elimination = arcs, elimination
        entry, product = start
        self.k = np.full(c.shape, entry)
        self.known = np.flatnonzero(first)
        self.slacks = arcs.on(self.known).matrix @ self.k
        self.z = product / self.slacks
        self.live = np.ones(self.slacks.shape, dtype=bool)
        # Whether all arcs are taken in at all outputs.
        self.is_whole = len(self.known) == len(arcs)
        # Nothing is near at the start, where all arcs have the room of a constant column.
        self.near = np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        self._changed()

    def _changed(self) -> None:
        self.arcs = self.all.on(self.known)
        self.rows = np.full(len(self.all), -1)
        self.rows[self.known] = np.arange(len(self.known))
        self.elimination.set_arcs(self.arcs)

    def refresh(self, mu: float) -> tuple[float, int]:
        """Slacks from columns, new arcs, Gᵀz; the sum of products and how many there are."""
        fresh, scale = self.arcs.matrix @ self.k, self.arcs.largest(self.k)
        kept = np.maximum(self.slacks, _LEAST * scale)
        self.slacks = np.where(fresh > _CLEAR * scale, fresh, kept)
        if len(self.near[0]):
            self._take_in(mu)
        self.reduced = self.arcs.transposed @ self.z
        self.products = np.einsum("ay,ay->y", self.slacks, self.z)
        return float(self.products @ self.counts), int(self.live.sum(axis=0) @ self.counts)

    def _take_in(self, mu: float) -> None:
        """Make bounds of the arcs that are near."""
        # Of an output that vanishes they would be large: no more than a share of those it has.
        most = self.options.largest * self.z.sum(axis=0) / self.live.sum(axis=0)
        arcs, outputs = self.near
        taken = np.unique(arcs[self.rows[arcs] < 0])
        if len(taken):
            self.known = np.concatenate([self.known, taken])
            shape = len(taken), len(self.counts)
            self.slacks = np.concatenate([self.slacks, self.all.on(taken).matrix @ self.k])
            self.live = np.concatenate([self.live, np.zeros(shape, dtype=bool)])
            self.z = np.concatenate([self.z, np.zeros(shape)])
            self._changed()
        rows = self.rows[arcs]
        product = self.options.entering * mu / self.slacks[rows, outputs]
        self.z[rows, outputs] = np.minimum(product, most[outputs])
        self.live[rows, outputs] = True

    def highest(self) -> Array:
        """The largest c + Gᵀz of each symbol."""
        found: Array = (self.c + self.reduced).max(axis=1)
        return found

    def eliminate(self, prices: Array, total: Array, is_rough: bool) -> None:
        """Factor, add all inverses to a matrix, and begin the direction towards products of
        zero with H⁻¹f.
        """
        self.ratios = self.z / self.slacks
        weights = self.ratios, self.k, self.reduced, self.products
        sides = self.c - prices[:, None]
        self.dk = self.elimination.eliminate(*weights, sides, self.counts, total, is_rough)

    def less(self, change: Array) -> Array:
        """Take H⁻¹ of a change of the prices off the direction; what it adds to the row sums."""
        sides = np.repeat(change[:, None], len(self.counts), axis=1)
        self.dk -= self.elimination.solve(sides)
        found: Array = self.dk @ self.counts
        return found

    def changes(self, targets: Array | float) -> tuple[float, float]:
        """Steps of slacks and multipliers for targets over slacks; least changes relative to both,
        over all arcs for the slacks.
        """
        self.ds = self.arcs.matrix @ self.dk
        self.dz = targets - self.z - self.ratios * self.ds
        low = float((self.ds / self.slacks).min())
        if self.is_whole:
            return low, float((self.dz / self.z).min())
        self.dz[~self.live] = 0.0
        fall = float(np.divide(self.dz, self.z, where=self.live, out=np.zeros_like(self.z)).min())
        return low, fall

    def look(self, step: float, test: Any) -> float:
        """The longest step up to this one at which no slack is negative, of the arcs that are not
        taken in either; those that are near after a step of that length are noted.

        Parameters
        ----------
        step : at which slacks of the arcs that are taken in are positive
        test : rows that are negative where an arc is near, for all arcs
        """
        if self.is_whole:
            return step
        k = self.k + step * self.dk
        arcs, outputs = np.divmod(np.flatnonzero(test @ k < 0), k.shape[1])
        rows = self.rows[arcs]
        # The last row stands for arcs that are not known.
        new = (rows < 0) | ~self.live[rows, outputs]
        arcs, outputs = self.near = arcs[new], outputs[new]
        over, under = self.all.over[arcs], self.all.under[arcs]
        paired, factors = (over >= 0).astype(float), self.all.factors[arcs]
        nodes = map(self.all.at_nodes, (k, self.k))
        at = [factors * v[under, outputs] - paired * v[over, outputs] for v in nodes]
        crossed = at[0] <= 0
        if not crossed.any():
            return step
        before, after = at[1][crossed], at[0][crossed]
        return step * float((before / (before - after)).min())

    def inner_products(self) -> Array:
        """Σ s dz, Σ ds z and Σ ds dz."""
        pairs = (self.slacks, self.dz), (self.ds, self.z), (self.ds, self.dz)
        return np.array([np.einsum("ay,ay->y", a, b) @ self.counts for a, b in pairs])

    def correct(self, target: float, mu: float) -> Array:
        """Targets with second-order terms over the slacks; Σ m H⁻¹ Gᵀ of them."""
        cap = self.options.clip * mu
        second = np.clip(-self.ds * self.dz, -cap, cap)
        self.targets = (target + second) / self.slacks
        if not self.is_whole:
            self.targets[~self.live] = 0.0
        self.dk += self.elimination.solve(self.arcs.transposed @ self.targets)
        found: Array = self.dk @ self.counts
        return found

    def advance(self, primal: float, dual: float) -> None:
        """Move."""
        self.k += primal * self.dk
        self.slacks += primal * self.ds
        self.z += dual * self.dz


@dataclass(frozen=True, eq=False)
class Point:
    """Where the iterations came nearest: columns, multipliers of arcs, prices, and the gap."""

    columns: Array
    arcs: Places
    outputs: Places
    values: Array
    prices: Array
    gap: float


class Newton(Iterate):
    """Predictor-corrector iterations over blocks of outputs.

    Parameters
    ----------
    c : ``(n, m)`` objective of each output, of order one or less
    counts : ``(m,)`` how many outputs each stands for
    arcs : all bounds
    first : ``(A,)`` those that come in from the start
    rows : how symbols are added up in the row sums
    """

    def __init__(
        self,
        c: Array,
        counts: Array,
        arcs: Arcs,
        first: NDArray[np.bool_],
        rows: Rows,
        options: GraphOptions,
        block: int,
    ) -> None:
        m = c.shape[1]
        self.rows, self.counts, self.options = rows, counts, options
        self.c = c
        means = rows.add_up(c @ counts) / rows.sizes / counts.sum()
        self.prices = means[rows.orbits]
        deviation = float(np.abs(c - self.prices[:, None]).mean()) or 1.0
        entry = 1 / counts.sum()
        least = min(1.0, float(arcs.factors[arcs.over >= 0].min()) - 1) * entry
        start = entry, options.start * deviation * least
        step = max(1, min(block, m))
        self.blocks = [
            Block(
                np.ascontiguousarray(c[:, i : i + step]),
                counts[i : i + step],
                np.arange(i, min(i + step, m)),
                arcs,
                first,
                Dense(len(c), min(step, m - i), rows),
                start,
                options,
            )
            for i in range(0, m, step)
        ]
        self.mu, self.tolerance = 0.0, options.tolerance
        self._is_rough = len(c) >= _MANY
        self.best: Point | None = None
        # What tells near arcs, in general and at the end.
        self._tests = arcs.shrunk(options.near), arcs.shrunk(options.blocking)

    def _each(self, work: Callable[[Block], Any]) -> list[Any]:
        """The results for all blocks, in their order."""
        return [work(b) for b in self.blocks]

    def _sum(self, parts: Iterable[Array]) -> Array:
        """Sums over orbits of what blocks contribute."""
        total: Array = self.rows.add_up(sum(parts, np.zeros(len(self.prices))))
        return total

    def run(self) -> tuple[int, bool]:
        """Step until the tolerance is reached or no more digits come; steps, and whether it was."""
        # While arcs come in, errors rise and fall; nearer the end they only rise where digits
        # are lost.
        stopping = Stopping(self.options.tolerance, self.options.patience, enough=_KEPT)
        taken, converged = follow(self, stopping)
        return taken, converged or self._is_near()

    def _is_near(self) -> bool:
        return self.best is not None and self.best.gap <= _ACCEPTED

    def error(self) -> float:
        """What the bound of the multipliers leaves open: Σ_x max_y (c + Gᵀz) less the value."""
        found = self._each(lambda b: b.refresh(self.mu))
        self.gap = math.fsum(gap for gap, _ in found)
        products = sum(count for _, count in found)
        self.mu = self.gap / products
        self.tolerance = max(self.options.tolerance, _ROUNDING * products)
        top = np.maximum.reduce(self._each(lambda b: b.highest()))
        largest = np.full(self.rows.size, -np.inf)
        np.maximum.at(largest, self.rows.orbits, top)
        value = math.fsum(float((b.c * b.k).sum(axis=0) @ b.counts) for b in self.blocks)
        self.lack = self.rows.sizes - self._sum(b.k @ b.counts for b in self.blocks)
        bound = float(self.rows.sizes @ largest)
        missing = float(np.abs(self.lack).max())
        open_gap = max(bound - value, 0.0) + missing
        if not math.isfinite(open_gap):
            return math.inf
        self.open_gap = open_gap
        if open_gap < _KEPT and (self.best is None or open_gap < self.best.gap):
            self.best = self._point(open_gap)
        # In units of the tolerance that rounding allows.
        return open_gap * self.options.tolerance / self.tolerance

    def _look(self, primal: float) -> float:
        """A step such that all arcs are kept to; those near then come in next.

        At the end that is fewer, as an arc that comes in disturbs stationarity by its z; but those
        left out stop short the steps that are to come.
        """
        test = self._tests[self.gap < 10 * self.tolerance]
        while True:
            step = primal
            limit = float(min(self._each(lambda b, step=step: b.look(step, test))))  # type: ignore[misc]
            if limit >= primal or primal < SHORTEST:
                return primal
            primal = max(0.0, self.options.step_share * limit)

    def _point(self, gap: float) -> Point:
        arcs, outputs, values = [], [], []
        for b in self.blocks:
            places, columns = np.nonzero(b.z)
            arcs.append(b.known[places])
            outputs.append(b.outputs[columns])
            values.append(b.z[places, columns])
        return Point(
            np.concatenate([b.k for b in self.blocks], axis=1),
            np.concatenate(arcs),
            np.concatenate(outputs),
            np.concatenate(values),
            self.prices.copy(),
            gap,
        )

    def point(self) -> Point:
        """The best point so far."""
        return self._point(math.inf) if self.best is None else self.best

    def _factor(self) -> Array:
        """Eliminate all columns, and factor what is left. Raises ``LinAlgError``."""
        system = np.zeros((self.rows.size, self.rows.size))
        for b in self.blocks:
            b.eliminate(self.prices, system, self._is_rough)
        return cholesky(system.T, self.options.regularisation)

    def step(self) -> float:
        """One predictor-corrector step; the shorter of both step lengths."""
        from scipy.linalg.lapack import dpotrs

        options = self.options
        if self.stalled and self._is_near():
            return 0.0
        self._is_rough &= self.open_gap > options.rough
        try:
            factor = self._factor()
        except np.linalg.LinAlgError:
            if not self._is_rough:
                raise
            self._is_rough = False
            factor = self._factor()

        def change_of(sums: Array) -> Array:
            """The change of the prices after which rows lack nothing."""
            found: Array = dpotrs(factor, sums - self.lack, lower=1)[0][self.rows.orbits]
            return found

        change = change_of(self._sum(b.dk @ b.counts for b in self.blocks))
        sums = self._sum(self._each(lambda b: b.less(change)))
        low, fall = map(min, zip(*self._each(lambda b: b.changes(0.0)), strict=True))
        primal, dual = (min(1.0, longest_step(v)) for v in (low, fall))
        first, second, third = sum(self._each(lambda b: b.inner_products()))
        affine = self.gap + dual * first + primal * second + primal * dual * third
        # Products far below the tolerance would only cost digits.
        enough = min(1.0, options.floor * self.tolerance / self.gap)
        if self.open_gap > options.balance * self.gap:
            enough = max(enough, options.centring)
        sigma = max(centring_parameter(affine, self.gap), enough)
        sums = self._sum(self._each(lambda b: b.correct(sigma * self.mu, self.mu)))
        for _ in range(2):
            if float(np.abs(sums - self.lack).max()) < _SMALL_LACK:
                break
            more = change_of(sums)
            change = change + more
            sums = self._sum(self._each(lambda b, more=more: b.less(more)))  # type: ignore[misc]
        low, fall = map(min, zip(*self._each(lambda b: b.changes(b.targets)), strict=True))
        share = options.step_share
        primal, dual = (min(1.0, share * longest_step(v)) for v in (low, fall))
        primal = self._look(primal)
        self._each(lambda b: b.advance(primal, dual))
        self.prices = self.prices + dual * change
        return min(primal, dual)
