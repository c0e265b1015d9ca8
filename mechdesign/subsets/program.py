"""Which subsets are drawn how often, where symbols come in a few groups of equal mass.

A *type* says how many symbols of each group a column raises. Permuting the symbols of a group at
random changes neither levels nor, as the risk is convex, the least risk, so that a kernel is a
measure w on types. With m_i the mean of the entries of a column over group i and s_i their variance
there, the information has one eigenvalue on the contrasts inside of a group, S_i = Σ w s_i, and
M = Σ w m mᵀ between groups. The program is

    minimise Σ_i within_i / S_i + Σ_i between_i (M⁻¹)_ii    over w ≥ 0 with Σ w m_i = 1 for each i.

Its dual has a convex quadratic bound for each type, so that a conic solver finds shares and prices
of some types; others are searched, and bounded, by halving boxes of counts.

Types are rows of arrays: for each group how many of its cells are raised, with the part of one that
is between the values, then the value of the others and that of the raised ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..certificate.lifts import LiftBounds
from ..exact import float_at_least, float_at_most
from .parts import Floats
from .report_types import Layout

# Accuracy of the conic solver, rounds of the program, shares of a type that count in it and in
# weights, and how much more sums of means do than other moments.
_CONIC, _ROUNDS, _USED, _TOLD, _SURE = 1e-12, 60, 1e-9, 1e-7, 1e4
# Weights of errors between groups that floats still tell beside those inside, relatively.
_LEAST_BETWEEN = 1e-9
# Boxes that are looked at before a bound is left as it is, types that are kept of each pass, and
# how much of what a better type is worth the next one has to add.
_MOST_BOXES, _KEPT, _MORE = 300_000, 20, 0.1
# Types that the program starts from, about.
_START = 200
# Rounding of floats in sums of a few products, relative to their terms; the least divisor.
_ROUNDING, _TINY = 1e-13, 1e-300


class Prices(NamedTuple):
    """What a column is worth: Σ inside_i² s_i + mᵀ Q m − rowᵀ m, with Q of ``across``.

    For every choice of them the risk is at least the constant less the largest worth of a type.
    """

    inside: Floats
    across: Floats
    row: Floats


class Kind(NamedTuple):
    """Two ends of the entries of columns, and either the ratio of the two values that they have, or
    the group that an entry between the ends may be in.
    """

    low: float
    high: float
    ratio: float | None
    free: int | None


class Mixture(NamedTuple):
    """Types with their means over groups, how often they come, the prices that prove it, and the
    risk.
    """

    types: Floats
    means: Floats
    shares: Floats
    prices: Prices
    risk: float


class Program:
    """The program for groups with so many cells.

    Parameters
    ----------
    layout : the groups
    bounds : of entries
    outside : whether floats are beyond the bounds, for what is to be proved, or inside of them
    plan : for each group in how many cells its symbols are among how many dimensions; each is a
        cell where it is left out
    """

    def __init__(
        self,
        layout: Layout,
        bounds: LiftBounds,
        plan: Sequence[tuple[int, int]] = (),
        *,
        outside: bool,
    ) -> None:
        cells, dimensions = np.array(plan or [(n, 1) for n in layout.sizes], dtype=float).T
        n, v = np.array(layout.sizes), cells**dimensions
        self.cells, self.masses = cells, np.array(layout.shares, dtype=float)
        self.certain = float(layout.certain)
        # Weights of errors inside of groups, and of the groups' shares.
        self.within, self.between = n * (1 - 1 / v) ** 2, n / v**2
        # To what share of it the objective is told, of few and of many symbols.
        self.tolerance = 1e-9 if n.sum() <= 5000 else 1e-6
        up, down = (float_at_least, float_at_most) if outside else (float_at_most, float_at_least)
        self.kinds = [
            Kind(down(low), up(high), None if ratio is None else up(ratio), free)
            for low, high, ratio in bounds.shapes(min(layout.masses))
            for free in ([None] if ratio else range(len(n)))
        ]

    def moments(self, types: Floats) -> tuple[Floats, Floats]:
        """Means and variances inside of groups, ``(n, g)`` each."""
        counts, low, high = np.split(types, [-2, -1], axis=1)
        step, part = high - low, counts % 1
        means = low + step * counts / self.cells
        spreads = (high - means) * (means - low) - step**2 * part * (1 - part) / self.cells
        return means, np.maximum(spreads, 0.0)

    def worth(self, prices: Prices, types: Floats) -> Floats:
        """Of columns, ``(n,)``."""
        means, spreads = self.moments(types)
        rows = (means @ prices.across) ** 2 @ self.between
        return np.asarray(spreads @ prices.inside**2 + rows - means @ prices.row)

    def constant(self, prices: Prices) -> float:
        """What the worth of types is taken from."""
        inside = np.sqrt(self.within) @ prices.inside + self.between @ np.diag(prices.across)
        return float(2 * inside - prices.row.sum())

    def best(self) -> Mixture | None:
        """The best mixture of types, ``None`` where symbols cannot be told apart."""
        from scipy.optimize import nnls

        each = max(3, round(_START ** (1 / len(self.cells))))
        axes = [np.unique(np.round(np.linspace(0, n, each))) for n in self.cells]
        grid = np.array([*product(*axes)])
        types = _joined(self._placed(kind, grid) for kind in self.kinds)
        for _ in range(_ROUNDS):
            if (solved := self._master(types)) is None:
                return None
            shares, prices = solved
            wanted = self.tolerance * self.constant(prices)
            most = float(self.worth(prices, types).max()) + wanted
            _, found = self.search(prices, most, wanted)
            used, shares = types[shares > _USED], shares[shares > _USED]
            if not len(found):
                break
            types = _joined([used, found])
        means, spreads = self.moments(used)
        if len(self.cells) == 1:
            shares = np.eye(len(used))[spreads.argmax()]
        # Few types with the same moments, and means of one whatever the solver left.
        squares = np.einsum("ti,tj->tij", means - 1, means - 1).reshape(len(used), -1)
        table = np.hstack([spreads, squares])
        table = np.hstack([_SURE * means, table / np.maximum(np.abs(table).max(axis=0), _TINY)])
        right, kept = shares @ table, np.arange(len(used))
        right[: len(self.cells)] = _SURE
        for _ in range(2):
            shares, _ = nnls(table[kept].T, right)
            kept, shares = kept[shares > _TOLD], shares[shares > _TOLD]
        risk = self.constant(prices) - self.certain
        return Mixture(used[kept], means[kept], shares, prices, risk)

    def least(self, prices: Prices) -> float:
        """What the objective is at least, from any prices: tightly where that takes few steps."""
        constant = self.constant(prices)
        wanted = self.tolerance * abs(constant)
        limit, _ = self.search(prices, wanted, wanted)
        return constant - limit - _ROUNDING * abs(constant)

    def _master(self, types: Floats) -> tuple[Floats, Prices] | None:
        """The best shares of given types and the prices that prove it; ``None`` where some symbols
        are not told apart.

        The dual: the constant of prices is largest such that no type is worth more than nothing, a
        convex quadratic bound for each; its multipliers are the shares.
        """
        import clarabel
        from scipy import sparse

        means, spreads = self.moments(types)
        n, g = means.shape
        if not n or (self.within * ~spreads.any(axis=0)).any():
            return None
        # Everything is measured in the risk of all types equally often.
        inside = self.within / np.maximum(spreads.mean(axis=0), _TINY)
        unit = float(inside.sum()) or float(self.between.sum())
        within = np.sqrt(self.within / unit)
        between = np.sqrt(np.maximum(self.between / unit, _LEAST_BETWEEN))

        def cone(variables: Floats) -> Floats:
            """Inside, across times between row by row, and the row: first is above the norm of
            all others.
            """
            inside, across, row = np.split(variables, [g, -g])
            worth, rest = means @ row, [np.sqrt(spreads) * inside, means @ across.reshape(g, g)]
            return np.column_stack([1 + worth, 1 - worth, 2 * np.hstack(rest)]).ravel()

        cost = -np.concatenate([2 * within, 2 * np.diag(between).ravel(), -np.ones(g)])
        right = cone(0 * cost)
        settings = clarabel.DefaultSettings()
        settings.verbose = settings.equilibrate_enable = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _CONIC
        found = clarabel.DefaultSolver(
            sparse.csc_matrix((cost.size, cost.size)),
            cost,
            sparse.csc_matrix(np.array([right - cone(each) for each in np.eye(cost.size)]).T),
            right,
            [clarabel.SecondOrderConeT(2 + 2 * g)] * n,
            settings,
        ).solve()
        x, z = np.array(found.x), np.array(found.z).reshape(n, -1)
        shares = np.maximum(z[:, 0] - z[:, 1], 0.0)
        if not np.isfinite(x).all() or not (shares > _USED).any():
            return None
        inside, across, row = np.split(x, [g, -g])
        across = across.reshape(g, g) / between
        return shares, Prices(inside * np.sqrt(unit), across, row * unit)

    def _placed(self, kind: Kind, counts: Floats) -> Floats:
        """The types of given counts, of which that of the free group makes the mean one."""
        low, high, ratio, free = kind
        counts, values = counts.copy(), np.full((len(counts), 2), [low, high])
        if ratio is not None:
            values[:, 0] = 1 / (1 + (ratio - 1) * counts / self.cells @ self.masses)
            values[:, 1] = ratio * values[:, 0]
        else:
            counts[:, free] = 0
            rest = (1 - low) / max(high - low, _TINY) - counts / self.cells @ self.masses
            found = rest / self.masses[free] * self.cells[free]
            near = np.round(found)
            counts[:, free] = np.where(np.abs(found - near) <= _USED, near, found)
        fits = (low <= values[:, 0]) & (values[:, 0] < values[:, 1]) & (values[:, 1] <= high)
        fits &= ((counts >= 0) & (counts <= self.cells)).all(axis=1)
        return np.hstack([counts, values])[fits]

    def search(self, prices: Prices, most: float, wanted: float) -> tuple[float, Floats]:
        """A limit of the worth of types, and the best ones worth more than ``most``, by halving
        boxes.

        The limit is at most ``wanted`` above the best worth, or above ``most``, and a tenth of what
        the best is worth more than that, unless there are too many boxes.
        """
        limit, kept, sides = most, [np.zeros((0, len(self.cells) + 2))], np.arange(len(self.cells))
        for kind in self.kinds:
            boxes = np.array([[0 * self.cells], [np.where(sides == kind.free, 0, self.cells)]])
            looked = 0
            while boxes.size:
                inside = self._placed(kind, np.floor(boxes.mean(axis=0)))
                worth = self.worth(prices, inside)
                kept.append(inside[np.argsort(-worth)[:_KEPT]][: (worth > most).sum()])
                best = float(worth.max(initial=-np.inf))
                if best > most:
                    limit = max(limit, best + wanted + _MORE * (best - most))
                # A box of one type is known.
                boxes = boxes[:, (boxes[1] > boxes[0]).any(axis=1)]
                over = self._tops(prices, kind, limit, *boxes)
                looked += len(over)
                if looked > _MOST_BOXES:
                    limit += max(0.0, float(over.max(initial=0.0)))
                    break
                # Halves of the widest side.
                boxes = boxes[:, over > 0]
                widest = ((boxes[1] - boxes[0]) / self.cells).argmax(axis=1)
                side, cut = sides == widest[:, None], np.floor(boxes.mean(axis=0))
                upper, lower = np.where(side, [cut, cut + 1], boxes[::-1])
                boxes = np.hstack([[boxes[0], upper], [lower, boxes[1]]])
        found = _joined(kept)
        return limit, found[np.argsort(-self.worth(prices, found), kind="stable")[:_KEPT]]

    def _tops(
        self, prices: Prices, kind: Kind, most: float, lower: Floats, upper: Floats
    ) -> Floats:
        """How much more than ``most`` a type of each box may be worth.

        With means m that are affine in the shares x of raised cells it is a quadratic form in x,
        over (masses · m)², which is one at least, where the columns are not scaled.
        """
        masses, inside, each = self.masses, prices.inside**2, np.eye(len(self.cells))
        first, last, watched = kind.low, kind.high, masses
        low, high, ratio, free = kind
        if ratio is not None:
            # The lower value is one over masses · m.
            first, last, low, high = ratio / high, 1 / max(low, _TINY), 1.0, ratio
        start, turn = low + 0 * masses, (high - low) * each
        if free is not None:
            watched, start[free] = each[free], low + (1 - low) / masses[free]
            turn[free] = (low - high) / masses[free] * masses
            turn[:, free] = 0
        prices_row = np.outer(prices.row, masses)
        curved = (prices.across * self.between) @ prices.across.T - np.diag(inside)
        curved -= (prices_row + prices_row.T) / 2 + most * np.outer(masses, masses)
        linear = (low + high) * inside
        rounding = _ROUNDING * float(np.abs(curved).sum() + linear.sum()) * max(high, 1.0) ** 2
        square, toward = turn.T @ curved @ turn, turn.T @ (2 * curved @ start + linear)
        constant = (start @ curved + linear) @ start - low * high * inside.sum() + rounding
        middle, half = (upper + lower) / 2 / self.cells, (upper - lower) / 2 / self.cells
        slope, bend = np.abs(toward + 2 * middle @ square), np.diag(square)
        # Along each side a parabola, whose top may be inside.
        reach = np.where(bend < 0, np.minimum(half, slope / np.maximum(-2 * bend, _TINY)), half)
        rate = (slope + bend * reach) * reach + half * (half @ np.abs(square - np.diag(bend)))
        value = constant + ((toward + middle @ square) * middle + rate).sum(axis=1)
        at, spare = watched @ start + middle @ (watched @ turn), half @ np.abs(watched @ turn)
        outside = (at + spare < first - _USED) | (at - spare > last + _USED)
        return np.where(outside, -np.inf, value)


def _joined(parts: Iterable[Floats]) -> Floats:
    """All types of several arrays, each once."""
    whole = np.vstack([*parts])
    _, first = np.unique(np.round(whole, 9), axis=0, return_index=True)
    return whole[np.sort(first)]
