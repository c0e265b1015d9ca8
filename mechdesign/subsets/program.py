"""Which subsets are drawn how often, where symbols come in a few groups of equal mass.

A *type* says how many symbols of each group a column raises. Permuting the symbols of a group at
random changes neither levels nor, as the risk is convex, the least risk, so that a kernel is a
measure w on types. With m_i the mean of the entries of a column over group i and s_i their variance
there, the information has one eigenvalue on the contrasts inside of a group, S_i = Σ w s_i, and
M = Σ w m mᵀ between groups. The program is

    minimise Σ_i within_i / S_i + Σ_i between_i (M⁻¹)_ii    over w ≥ 0 with Σ w m_i = 1 for each i.

Its dual has a convex quadratic bound for each type, so that a conic solver finds shares and prices
of some types; others are searched, and bounded, by halving boxes of counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exact import float_at_least, float_at_most
from .bounds import LiftBounds

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Two ends of the entries of columns, and the ratio of two values, see :class:`.bounds.Shape`.
Ends = tuple[float, float, float | None]

# Accuracy of the conic solver, rounds of the program, and shares of a type that count in it and
# in weights.
_CONIC, _ROUNDS, _USED, _TOLD = 1e-12, 60, 1e-9, 1e-7
# Weights of errors between groups that floats still tell beside those inside, relatively.
_LEAST_BETWEEN = 1e-9
# Boxes that are looked at before a bound is left as it is, types that are kept of each pass, and
# how much of what a better type is worth the next one has to add.
_MOST_BOXES, _KEPT, _MORE = 300_000, 20, 0.1
# Types that the program starts from, about.
_START = 200
# Rounding of floats in sums of a few products, relative to their terms.
_ROUNDING = 1e-13


class Groups(NamedTuple):
    """What the program knows of groups, one entry for each.

    Attributes
    ----------
    cells : parts of equal size of a group that are raised or not
    masses : of whole groups, with sum one
    within : weights of the errors inside of a group
    between : weights of the errors of the groups' shares
    """

    cells: Integers
    masses: Floats
    within: Floats
    between: Floats

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        masses: Sequence[Fraction],
        cells: Sequence[int],
        points: Sequence[int],
    ) -> Groups:
        """Groups of so many symbols, one of them of some mass, in cells among so many points."""
        n, v = np.array(sizes, dtype=float), np.array(points, dtype=float)
        whole = np.array([float(k * mass) for k, mass in zip(sizes, masses, strict=True)])
        return cls(np.array(cells, dtype=np.int64), whole, n * ((v - 1) / v) ** 2, n / v**2)


@dataclass(frozen=True)
class Types:
    """Types of columns, one row each.

    Attributes
    ----------
    counts : raised cells of each group, with the part of one that is between the values
    low, high : values of the others and of the raised ones, ``(n, 1)``
    """

    counts: Floats
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, rows: Any) -> Types:
        return Types(self.counts[rows], self.low[rows], self.high[rows])

    @classmethod
    def joined(cls, parts: Iterable[Types]) -> Types:
        """All types of several, each once."""
        whole = np.vstack([np.hstack([part.counts, part.low, part.high]) for part in parts])
        _, first = np.unique(np.round(whole, 9), axis=0, return_index=True)
        whole = whole[np.sort(first)]
        return cls(whole[:, :-2], whole[:, -2:-1], whole[:, -1:])

    def moments(self, groups: Groups) -> tuple[Floats, Floats]:
        """Means and variances inside of groups, ``(n, g)`` each."""
        step, part = self.high - self.low, self.counts - np.floor(self.counts)
        means = self.low + step * self.counts / groups.cells
        spreads = (self.high - means) * (means - self.low)
        return means, np.maximum(spreads - step**2 * part * (1 - part) / groups.cells, 0.0)


@dataclass(frozen=True)
class Prices:
    """What a column is worth: Σ inside_i² s_i + mᵀ Q m − rowᵀ m, with Q of ``across``.

    For every choice of them the risk is at least the constant less the largest worth of a type.
    """

    inside: Floats
    across: Floats
    row: Floats

    def quadratic(self, groups: Groups) -> Floats:
        """Q."""
        return (self.across * groups.between) @ self.across.T

    def worth(self, groups: Groups, types: Types) -> Floats:
        """Of columns, ``(n,)``."""
        means, spreads = types.moments(groups)
        curved = np.einsum("ni,ij,nj->n", means, self.quadratic(groups), means)
        return np.asarray(spreads @ self.inside**2 + curved - means @ self.row)

    def constant(self, groups: Groups) -> float:
        """What the worth of types is taken from."""
        inside = 2 * np.sqrt(groups.within) @ self.inside
        return float(inside + 2 * groups.between @ np.diag(self.across) - self.row.sum())


class Mixture(NamedTuple):
    """Types, how often they come for the prior, and the prices that prove it the best."""

    types: Types
    shares: Floats
    prices: Prices


def float_shapes(bounds: LiftBounds, least_mass: Fraction, *, outside: bool) -> list[Ends]:
    """The extreme columns, with floats beyond the bounds or inside of them."""
    up, down = (float_at_least, float_at_most) if outside else (float_at_most, float_at_least)
    return [
        (down(low), up(high), None if ratio is None else up(ratio))
        for low, high, ratio in bounds.shapes(least_mass)
    ]


# The program


def best_mixture(groups: Groups, shapes: Sequence[Ends], tolerance: float) -> Mixture | None:
    """The best mixture of types, ``None`` where symbols cannot be told apart."""
    each = max(3, round(_START ** (1 / len(groups.cells))))
    axes = [np.unique(np.round(np.linspace(0, n, min(each, n + 1)))) for n in groups.cells]
    grid = np.array(list(product(*axes)))
    types = Types.joined([_placed(groups, *kind, grid) for kind in _kinds(groups, shapes)])
    for _ in range(_ROUNDS):
        solved = _master(groups, types)
        if solved is None:
            return None
        shares, prices = solved
        worth, wanted = prices.worth(groups, types), tolerance * prices.constant(groups)
        _, found = search(groups, shapes, prices, float(worth.max()) + wanted, wanted, _MORE)
        used = types[shares > _USED]
        if not len(found):
            break
        types = Types.joined([used, found])
    few = _fewest(groups, used, shares[shares > _USED])
    used, few = used[few > _TOLD], few[few > _TOLD]
    # Means are one but for the accuracy of solvers, and for types that weights hardly tell.
    means, _ = used.moments(groups)
    few += np.linalg.lstsq(means.T, 1 - few @ means)[0]
    return Mixture(used, few, prices)


def least_objective(
    groups: Groups, shapes: Sequence[Ends], prices: Prices, tolerance: float
) -> float:
    """What the objective is at least, from any prices.

    It is told to ``tolerance``, relatively, where that takes few steps.
    """
    constant = prices.constant(groups)
    wanted = tolerance * abs(constant)
    limit, _ = search(groups, shapes, prices, wanted, wanted, 0.0)
    return constant - limit - _ROUNDING * abs(constant)


def _master(groups: Groups, types: Types) -> tuple[Floats, Prices] | None:
    """The best shares of given types and the prices that prove it; ``None`` where some symbols
    are not told apart.

    The dual: the constant of prices is largest such that no type is worth more than nothing, a
    convex quadratic bound for each; its multipliers are the shares.
    """
    import clarabel
    from scipy import sparse

    means, spreads = types.moments(groups)
    (n, g), told = means.shape, groups.within > 0
    if not len(types) or not spreads[:, told].max(axis=0).all():
        return None
    # Everything is measured in the risk of all types equally often.
    unit = float(groups.within[told] @ (1 / spreads[:, told].mean(axis=0)))
    unit = unit or float(groups.between.sum())
    within = np.sqrt(groups.within / unit)
    between = np.sqrt(np.maximum(groups.between / unit, _LEAST_BETWEEN))
    # Variables: inside, across times between row by row, and the row.
    cost = -np.concatenate([2 * within, 2 * np.diag(between).ravel(), -np.ones(g)])
    eye = np.eye(g)
    blocks = np.zeros((n, 2 + 2 * g, cost.size))
    blocks[:, 0, -g:], blocks[:, 1, -g:] = -means, means
    blocks[:, 2 : 2 + g, :g] = -2 * np.sqrt(spreads)[:, :, None] * eye
    blocks[:, 2 + g :, g:-g] = -2 * np.einsum("ni,jk->njik", means, eye).reshape(n, g, g * g)
    right = np.tile(np.concatenate([[1.0, 1.0], np.zeros(2 * g)]), n)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _CONIC
    found = clarabel.DefaultSolver(
        sparse.csc_matrix((cost.size, cost.size)),
        cost,
        sparse.csc_matrix(blocks.reshape(-1, cost.size)),
        right,
        [clarabel.SecondOrderConeT(2 + 2 * g)] * n,
        settings,
    ).solve()
    x, z = np.array(found.x), np.array(found.z).reshape(n, -1)
    shares = np.maximum(z[:, 0] - z[:, 1], 0.0)
    across = x[g:-g].reshape(g, g) / between
    if not np.isfinite(x).all() or not (shares > _USED).any():
        return None
    return shares, Prices(x[:g] * np.sqrt(unit), across, x[-g:] * unit)


def _fewest(groups: Groups, types: Types, shares: Floats) -> Floats:
    """Shares of few types with the same moments: those of a vertex; the best type of one group."""
    from scipy.optimize import linprog

    means, spreads = types.moments(groups)
    if means.shape[1] == 1:
        return np.eye(len(shares))[spreads.argmax()]
    upper = np.triu_indices(means.shape[1])
    squares = np.einsum("ni,nj->nij", means, means)[:, upper[0], upper[1]]
    moments = np.column_stack([means, spreads, squares])
    moments = (moments / np.maximum(np.abs(moments).max(axis=0), 1e-300)).T
    found = linprog(np.zeros(len(shares)), A_eq=moments, b_eq=moments @ shares, method="highs-ds")
    return shares if found.status else found.x


# Types by their counts


def _kinds(groups: Groups, shapes: Sequence[Ends]) -> list[tuple[Ends, int | None]]:
    """Shapes, each with every group that an entry between its ends may be in."""
    free = range(len(groups.cells))
    return [(s, j) for s in shapes for j in (free if s[2] is None else (None,))]


def _placed(groups: Groups, ends: Ends, free: int | None, counts: Floats) -> Types:
    """The types of given counts, of which that of group ``free`` makes the mean one."""
    (low, high, ratio), counts = ends, counts.copy()
    if ratio is not None:
        values = 1 / (1 + (ratio - 1) * counts / groups.cells @ groups.masses)
        fits = (values >= low) & (ratio * values <= high)
        return Types(counts, values[:, None], ratio * values[:, None])[fits]
    if high <= low:
        return Types(counts, counts[:, :1], counts[:, :1])[:0]
    assert free is not None
    counts[:, free] = 0
    rest = (1 - low) / (high - low) - counts / groups.cells @ groups.masses
    found = rest / groups.masses[free] * groups.cells[free]
    near = np.round(found)
    counts[:, free] = np.where(np.abs(found - near) <= _USED, near, found)
    fits = (counts[:, free] >= 0) & (counts[:, free] <= groups.cells[free])
    same = np.ones((len(counts), 1))
    return Types(counts, low * same, high * same)[fits]


def search(
    groups: Groups,
    shapes: Sequence[Ends],
    prices: Prices,
    most: float,
    wanted: float,
    more: float,
) -> tuple[float, Types]:
    """A limit of the worth of types, and the best ones worth more than ``most``, by halving boxes.

    The limit is at most ``wanted`` above the best worth, or above ``most``, and ``more`` times what
    the best is worth more than that, unless there are too many boxes.
    """
    limit, best, kept = most, most, list[Types]()
    for ends, free in _kinds(groups, shapes):
        moving = [i for i in range(len(groups.cells)) if i != free]
        cells, looked = groups.cells[moving], 0
        lower, upper = np.zeros((1, len(moving))), cells[None].astype(float)
        while len(lower):
            counts = np.zeros((len(lower), len(groups.cells)))
            counts[:, moving] = np.floor((lower + upper) / 2)
            inside = _placed(groups, ends, free, counts)
            worth = prices.worth(groups, inside)
            good = np.argsort(-worth)[:_KEPT]
            kept.append(inside[good[worth[good] > most]])
            best = max(best, float(worth.max(initial=-np.inf)))
            if best > most:
                limit = max(limit, best + wanted + more * (best - most))
            # A box of one type is known.
            open_ = (upper > lower).any(axis=1)
            lower, upper = lower[open_], upper[open_]
            over, rate = _tops(
                groups,
                prices,
                ends,
                free,
                limit,
                (lower + upper) / 2 / cells,
                (upper - lower) / 2 / cells,
            )
            looked += len(lower)
            if looked > _MOST_BOXES:
                limit += max(0.0, float(over.max(initial=0.0)))
                break
            lower, upper, rate = (part[over > 0] for part in (lower, upper, rate))
            row = np.arange(len(lower))
            side = np.argmax(np.where(upper > lower, rate, -1.0), axis=1) if len(row) else row
            cut = np.floor((lower[row, side] + upper[row, side]) / 2)
            left, right = upper.copy(), lower.copy()
            left[row, side], right[row, side] = cut, cut + 1
            lower, upper = np.concatenate([lower, right]), np.concatenate([left, upper])
    found = Types.joined(kept)
    return limit, found[np.argsort(-prices.worth(groups, found), kind="stable")[:_KEPT]]


def _tops(
    groups: Groups,
    prices: Prices,
    ends: Ends,
    free: int | None,
    most: float,
    middle: Floats,
    half: Floats,
) -> tuple[Floats, Floats]:
    """How much more than ``most`` a type of each box may be worth, and what each side adds to that.

    With means m that are affine in the shares x of raised cells it is a quadratic form in x, over
    (masses · m)², which is one at least, where the columns are not scaled.
    """
    masses, inside, g = groups.masses, prices.inside**2, len(groups.cells)
    low, high, ratio = ends
    if ratio is not None:
        # The lower value is one over masses · m.
        first, last = ratio / high, np.inf if low == 0 else 1 / low
        low, high, start, turn, watched = 1.0, ratio, np.ones(g), (ratio - 1) * np.eye(g), masses
    else:
        assert free is not None
        first, last, watched = low, high, np.eye(g)[free]
        start, turn = np.full(g, low), (high - low) * np.eye(g)
        turn = np.delete(turn - np.outer(watched, masses) * (high - low) / masses[free], free, 1)
        start[free] = (1 - low * (1 - masses[free])) / masses[free]
    curved = prices.quadratic(groups) - np.diag(inside) - most * np.outer(masses, masses)
    curved -= (np.outer(prices.row, masses) + np.outer(masses, prices.row)) / 2
    linear = (low + high) * inside
    rounding = _ROUNDING * float(np.abs(curved).sum() + linear.sum()) * max(high, 1.0) ** 2
    square, toward = turn.T @ curved @ turn, turn.T @ (2 * curved @ start + linear)
    constant = start @ curved @ start + linear @ start - low * high * inside.sum()
    slope = np.abs(toward + 2 * middle @ square)
    value = constant + middle @ toward + ((middle @ square) * middle).sum(axis=1)
    bend = np.diag(square)
    peak = slope * half + bend * half**2
    within = slope < -2 * bend * half
    peak[within] = (slope**2 / np.where(bend < 0, -4 * bend, 1.0))[within]
    rate = peak + half * (half @ np.abs(square - np.diag(bend)))
    at, reach = watched @ start + middle @ (watched @ turn), half @ np.abs(watched @ turn)
    outside = (at + reach < first - _USED) | (at - reach > last + _USED)
    return np.where(outside, -np.inf, value + rate.sum(axis=1) + rounding), rate
