"""Which subsets are drawn how often, where symbols come in a few groups of equal mass.

A *type* says how many symbols of each group a column raises. Permuting the symbols of a group at
random changes neither levels nor, as the risk is convex, the least risk, so that a kernel is a
measure w on types. With m_i the mean of the entries of a column over group i and s_i their variance
there, the information has one eigenvalue on the contrasts inside of a group, S_i = Σ w s_i, and
M = Σ w m mᵀ between groups. The program is

    minimise Σ_i within_i / S_i + Σ_i between_i (M⁻¹)_ii    over w ≥ 0 with Σ w m_i = 1 for each i.

Columns that keep the bounds and have Σ_i mass_i m_i = 1 lie between those of two levels (bounds on
the ratio: level and c times the level) and those of two ends and one entry between them (bounds on
the lift). Types are priced by search, and bounded by halving boxes of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..exact import float_at_least, float_at_most
from .profile import LiftBounds

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Relative accuracy of the optimum; of the master problem, and rounds of it.
_TOLERANCE, _MASTER, _LOST, _NEWTON, _ROUNDS = 1e-9, 1e-12, 1e4, 60, 60
# How much the path is centred, and how far a step goes towards its end.
_CENTRE, _STEP = 0.1, 0.98
# Singular values below this, relatively, are zero.
_DEPENDENT = 1e-11
# Boxes that are halved before a bound is left as it is, and types that are kept of each pass.
_MOST_BOXES, _KEPT = 300_000, 20
# Curvature that counts, and how far outside of a face a point is still looked at.
_FLAT, _SLACK = 1e-12, 1e-6
# Types that a search starts from: points of a grid; moves that each makes.
_GRID, _CLIMBS = 2000, 60
# Shares of a type that count.
_USED = 1e-9
# Rounding of floats in sums of a few products, relative to their terms.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Groups:
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
    def of_symbols(cls, sizes: Sequence[int], masses: Sequence[Fraction]) -> Groups:
        """Each symbol a cell of its own."""
        n = np.array(sizes, dtype=float)
        return cls(
            np.array(sizes, dtype=np.int64),
            np.array([float(n * mass) for n, mass in zip(sizes, masses, strict=True)]),
            (n - 1) ** 2 / n,
            1 / n,
        )


@dataclass(frozen=True)
class TwoLevels:
    """Columns of the levels a and c·a, with a between ends: bounds on the ratio alone."""

    ratio: float
    least: float
    most: float

    def moments(self, groups: Groups, counts: Floats, free: int) -> tuple[Floats, Floats]:
        """Means and variances inside of groups, ``(n, g)`` each."""
        raised = counts / groups.cells
        entries = 1 + (self.ratio - 1) * raised
        scale = 1 / (entries @ groups.masses)[:, None]
        return entries * scale, raised * (1 - raised) * ((self.ratio - 1) * scale) ** 2


@dataclass(frozen=True)
class TwoEnds:
    """Columns of two ends and at most one cell between them: bounds on the lift."""

    low: float
    high: float

    def moments(self, groups: Groups, counts: Floats, free: int) -> tuple[Floats, Floats]:
        """Means and variances inside of groups; the count of group ``free`` need not be whole."""
        means = self.low + (self.high - self.low) * counts / groups.cells
        spreads = (self.high - means) * (means - self.low)
        part = counts[:, free] - np.floor(counts[:, free])
        spreads[:, free] -= (self.high - self.low) ** 2 * part * (1 - part) / groups.cells[free]
        return means, np.maximum(spreads, 0.0)


Shape = TwoLevels | TwoEnds


def shapes_of(bounds: LiftBounds, least_mass: Fraction, *, outside: bool) -> tuple[Shape, ...]:
    """The columns that are extreme among those that keep bounds.

    ``outside`` rounds bounds so that none is left out, else so that all keep them.
    """
    up, down = (float_at_least, float_at_most) if outside else (float_at_most, float_at_least)
    low = min(bounds.lower, Fraction(1))
    high = (1 - low * (1 - least_mass)) / least_mass
    if bounds.upper is not None:
        high = max(min(high, bounds.upper), Fraction(1))
    if bounds.ratio is None or high <= bounds.ratio * low:
        return (TwoEnds(down(low), up(high)),)
    c = bounds.ratio
    found: list[Shape] = [TwoLevels(up(c), down(low), up(high / c))]
    if low > 0:
        found.append(TwoEnds(down(low), up(c * low)))
    if bounds.upper is not None:
        found.append(TwoEnds(down(high / c), up(high)))
    return tuple(found)


@dataclass(frozen=True)
class Types:
    """Types of columns, one row each.

    Attributes
    ----------
    shapes : kinds of columns
    shape : which of them
    counts : raised cells of each group; of group ``free`` not always a whole number
    free : the group of the cell in the middle
    """

    shapes: tuple[Shape, ...]
    shape: Integers
    counts: Floats
    free: Integers

    def __len__(self) -> int:
        return len(self.shape)

    def __getitem__(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Types:
        return Types(self.shapes, self.shape[rows], self.counts[rows], self.free[rows])

    @classmethod
    def joined(cls, parts: Iterable[Types]) -> Types:
        """All types of several, each once."""
        parts = list(parts)
        rows = np.concatenate(
            [np.column_stack([part.shape, part.free, part.counts]) for part in parts]
        )
        _, first = np.unique(np.round(rows, 9), axis=0, return_index=True)
        rows = rows[np.sort(first)]
        kinds, free = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        return cls(parts[0].shapes, kinds, rows[:, 2:], free)

    def moments(self, groups: Groups) -> tuple[Floats, Floats]:
        """Means and variances inside of groups, ``(n, g)`` each."""
        means, spreads = np.empty(self.counts.shape), np.empty(self.counts.shape)
        for k, shape in enumerate(self.shapes):
            for j in range(self.counts.shape[1]):
                rows = (self.shape == k) & (self.free == j)
                if rows.any():
                    means[rows], spreads[rows] = shape.moments(groups, self.counts[rows], j)
        return means, spreads


@dataclass(frozen=True)
class Prices:
    """What a column is worth: Σ inside_i² cells_i s_i + mᵀ Q m − λᵀm, with Q of ``across``.

    For every choice of them the risk is at least the constant less the largest worth of a type.
    """

    inside: Floats
    across: Floats
    row: Floats

    def quadratic(self, groups: Groups) -> Floats:
        """Q."""
        return (self.across * groups.between) @ self.across.T

    def worth(self, groups: Groups, means: Floats, spreads: Floats) -> Floats:
        """Of columns, ``(n,)``."""
        curved = np.einsum("ni,ij,nj->n", means, self.quadratic(groups), means)
        return np.asarray(spreads @ self.inside**2 + curved - means @ self.row)

    def constant(self, groups: Groups) -> float:
        """What the worth of types is taken from."""
        inside = 2 * np.sqrt(groups.within) @ self.inside
        return float(inside + 2 * groups.between @ np.diag(self.across) - self.row.sum())


@dataclass(frozen=True)
class Mixture:
    """Types with their shares.

    Attributes
    ----------
    types, shares : as they are drawn for the prior
    value : the objective
    prices : what proves it, see :func:`least_objective`
    """

    types: Types
    shares: Floats
    value: float
    prices: Prices


# The program


def best_mixture(
    groups: Groups, shapes: tuple[Shape, ...], *, tolerance: float = _TOLERANCE
) -> Mixture | None:
    """The best mixture of types, ``None`` where symbols cannot be told apart."""
    types = _start(groups, shapes)
    if not len(types):
        return None
    for _ in range(_ROUNDS):
        means, spreads = types.moments(groups)
        solved = _master(groups, means, spreads)
        if solved is None:
            return None
        shares, prices = solved
        value = objective(groups, means, spreads, shares)
        most = float(prices.worth(groups, means, spreads).max()) + tolerance * value
        few = _fewest(means, spreads, shares)
        used = types[np.flatnonzero(few)]
        found = _worth_more(groups, prices, _climbed(groups, prices, used), most)
        if not len(found):
            priced = _priced(groups, prices, shapes, most, tolerance * value)
            if priced is None or not len(priced):
                break
            found = priced
        types = Types.joined([used, found])
    return Mixture(used, few[few > 0], value, prices)


def least_objective(
    groups: Groups, shapes: tuple[Shape, ...], prices: Prices, tolerance: float = _TOLERANCE
) -> float:
    """What the objective is at least, from any prices.

    It is told to ``tolerance``, relatively, where that takes few steps.
    """
    constant = prices.constant(groups)
    most = tolerance * abs(constant)
    limit = most
    for k, j in _kinds(groups, shapes):
        top, _ = _Form.of(groups, prices, shapes[k], j).relaxed(most)
        if top > most:
            top = min(top, _halved(groups, prices, shapes, k, j, most, most)[0])
        limit = max(limit, top)
    return constant - limit - _ROUNDING * abs(constant)


def objective(groups: Groups, means: Floats, spreads: Floats, shares: Floats) -> float:
    """The risk of a mixture, but for what does not depend on it."""
    inside, across = shares @ spreads, np.linalg.inv((means.T * shares) @ means)
    told = groups.within > 0
    return float((groups.within[told] / inside[told]).sum() + groups.between @ np.diag(across))


def _worth_more(groups: Groups, prices: Prices, types: Types, most: float) -> Types:
    """The types that are worth most, of those that are worth more."""
    worth = prices.worth(groups, *types.moments(groups))
    best = np.argsort(-worth, kind="stable")[:_KEPT]
    return types[best[worth[best] > most]]


def _start(groups: Groups, shapes: tuple[Shape, ...]) -> Types:
    """Types of a grid over the counts of all groups."""
    g = len(groups.cells)
    each = max(2, int(_GRID ** (1 / g)))
    axes = [np.unique(np.round(np.linspace(0, n, min(each, n + 1)))) for n in groups.cells.tolist()]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, g).astype(np.float64)
    parts = []
    for k, j in _kinds(groups, shapes):
        types = Types(shapes, np.full(len(grid), k), grid, np.full(len(grid), j))
        types, possible = _placed(groups, types)
        parts.append(types[possible])
    return Types.joined(parts)


def _placed(groups: Groups, types: Types) -> tuple[Types, NDArray[np.bool_]]:
    """Types in which the count of group ``free`` makes the mean one, and which of them are any."""
    counts = types.counts.copy()
    possible = np.ones(len(types), dtype=bool)
    for k, shape in enumerate(types.shapes):
        rows = np.flatnonzero(types.shape == k)
        if isinstance(shape, TwoLevels):
            means = (1 + (shape.ratio - 1) * counts[rows] / groups.cells) @ groups.masses
            scale = 1 / np.where(means == 0, math.inf, means)  # of counts below zero
            possible[rows] = (scale >= shape.least) & (scale <= shape.most)
            continue
        possible[rows] = shape.high > shape.low
        if shape.high <= shape.low:
            continue
        for j, cells in enumerate(groups.cells.tolist()):
            mine = rows[types.free[rows] == j]
            raised = groups.masses * counts[mine] / groups.cells
            rest = (1 - shape.low) / (shape.high - shape.low) - np.delete(raised, j, 1).sum(axis=1)
            found = rest / groups.masses[j] * cells
            near = np.round(found)
            counts[mine, j] = np.where(np.abs(found - near) <= _USED, near, found)
    possible &= ((counts >= 0) & (counts <= groups.cells)).all(axis=1)
    return Types(types.shapes, types.shape, counts, types.free), possible


def _climbed(groups: Groups, prices: Prices, types: Types) -> Types:
    """What types become when counts are changed, one at a time, while they are worth more."""
    steps = 2.0 ** np.arange(int(groups.cells.max()).bit_length())
    unit = np.eye(len(groups.cells))
    moves = np.concatenate([sign * step * unit for sign in (1, -1) for step in steps])
    met = [types]
    for _ in range(_CLIMBS):
        origin = np.repeat(np.arange(len(types)), len(moves))
        near = types[origin]
        counts = np.floor(near.counts) + np.tile(moves, (len(types), 1))
        near, possible = _placed(groups, Types(near.shapes, near.shape, counts, near.free))
        near, origin = near[possible], origin[possible]
        worth = prices.worth(groups, *near.moments(groups))
        own = prices.worth(groups, *types.moments(groups))
        best = own + _ROUNDING * float(np.abs(own).max())
        np.maximum.at(best, origin, worth)
        better = (worth >= best[origin]) & (worth > own[origin])
        if not better.any():
            break
        types = Types.joined([near[better]])
        types = _worth_more(groups, prices, types, -np.inf)
        met.append(types)
    return Types.joined(met)


# The master problem


def _master(groups: Groups, means: Floats, spreads: Floats) -> tuple[Floats, Prices] | None:
    """The best shares of given types and the prices that prove it, along a primal-dual path.

    ``None`` where the types do not tell all symbols apart.
    """
    n, g = means.shape
    told = groups.within > 0
    w, z, level, unit = np.full(n, 1 / n), np.zeros(n), np.zeros(g), 0.0
    best, found = np.inf, None
    inside = w @ spreads
    if not (inside[told] > 0).all() or np.linalg.matrix_rank((means.T * w) @ means) < g:
        return None
    for _ in range(_NEWTON):
        inside = np.where(told, w @ spreads, 1.0)
        across = np.linalg.inv((means.T * w) @ means)
        across = (across + across.T) / 2
        curved = (across * groups.between) @ across
        rate = np.where(told, groups.within / inside**2, 0.0)
        gain = spreads @ rate + np.einsum("ni,ij,nj->n", means, curved, means)
        if not unit:
            # Everything is measured in the risk of the start.
            unit = float(w @ gain)
            z = np.full(n, unit)
        gap = float(w @ z)
        dual = -gain - means @ level - z
        primal = w @ means - 1
        # Near its end the path is lost to rounding, and what came before is kept.
        off = max(gap / unit, float(np.abs(dual).max()) / unit, float(np.abs(primal).max()))
        if off < best:
            best, found = off, (w, Prices(np.sqrt(rate), across, -level))
        if off <= _MASTER or off > _LOST * best:
            break
        # The Hessian is a product of features, as few as there are moments.
        left, right = (_half(one) for one in (curved, across))
        pairs = np.einsum("ni,nj->nij", means @ left, means @ right).reshape(n, g * g)
        alone = spreads[:, told] * np.sqrt(2 * rate[told] / inside[told])
        features = np.column_stack([alone, np.sqrt(2) * pairs])
        ratio, k = w / z, features.shape[1]
        centre = _CENTRE * gap / n / w
        pull = centre - z - dual
        both = np.column_stack([features, -means])
        system = (both.T * ratio) @ both
        system[:k, :k] += np.eye(k)
        rest = (both.T * ratio) @ pull
        rest[k:] -= primal
        scale = 1 / np.sqrt(np.diag(system))
        scaled = system * scale[:, None] * scale
        moved = scale * np.linalg.lstsq(scaled, scale * rest, rcond=1e-15)[0]
        dw = ratio * (pull - both @ moved)
        dz = centre - z - z / w * dw
        longest = max(float((-dw / w).max()), float((-dz / z).max()), _STEP)
        step = _STEP / longest
        w, z, level = w + step * dw, z + step * dz, level + step * moved[k:]
    return found


def _half(matrix: Floats) -> Floats:
    """A factor of a matrix that is positive semidefinite."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def _fewest(means: Floats, spreads: Floats, shares: Floats) -> Floats:
    """Shares of few types with the same moments [Caratheodory1911]."""
    g = means.shape[1]
    upper = np.triu_indices(g)
    squares = np.einsum("ni,nj->nij", means, means)[:, upper[0], upper[1]]
    moments = np.column_stack([means, spreads, squares])
    moments = moments / np.maximum(np.abs(moments).max(axis=0), np.finfo(float).tiny)
    found = np.where(shares > _USED, shares, 0.0)
    while True:
        # More than there are moments are dependent; the smallest ones go first.
        used = np.flatnonzero(found)
        used = used[np.argsort(found[used], kind="stable")][: moments.shape[1] + 1]
        _, values, rows = np.linalg.svd(moments[used].T, full_matrices=True)
        if int((values > _DEPENDENT * values[0]).sum()) == len(used):
            return found
        step = rows[-1] if (rows[-1] > 0).any() else -rows[-1]
        lengths = np.where(step > 0, found[used] / np.where(step > 0, step, 1.0), np.inf)
        at = int(np.argmin(lengths))
        found[used] = np.maximum(found[used] - lengths[at] * step, 0.0)
        found[used[at]] = 0.0


# Pricing


def _priced(
    groups: Groups, prices: Prices, shapes: tuple[Shape, ...], most: float, wanted: float
) -> Types | None:
    """Types that are worth more than ``most``, to ``wanted`` the best; ``None`` for none."""
    found, left = [], []
    for k, j in _kinds(groups, shapes):
        top, points = _Form.of(groups, prices, shapes[k], j).relaxed(most)
        if top > most:
            found.append(_beside(groups, shapes, k, j, points))
            left.append((k, j))
    if found and len(met := _worth_more(groups, prices, Types.joined(found), most)):
        return met
    found += [_halved(groups, prices, shapes, k, j, most, wanted)[1] for k, j in left]
    return _worth_more(groups, prices, Types.joined(found), most) if found else None


def _kinds(groups: Groups, shapes: tuple[Shape, ...]) -> list[tuple[int, int]]:
    """Shapes, each with every group that a cell between its ends may be in."""
    return [
        (k, j)
        for k, shape in enumerate(shapes)
        for j in range(1 if isinstance(shape, TwoLevels) else len(groups.cells))
    ]


def _typed(
    groups: Groups, shapes: tuple[Shape, ...], kind: int, free: int, counts: Floats
) -> Types:
    """Types of one kind by the counts that move; those that are none are left out."""
    n, g = len(counts), len(groups.cells)
    whole = np.zeros((n, g))
    whole[:, _moving(g, shapes[kind], free)] = counts
    types, possible = _placed(
        groups, Types(shapes, np.full(n, kind), whole, np.full(n, free, dtype=np.int64))
    )
    return types[possible]


def _moving(g: int, shape: Shape, free: int) -> list[int]:
    """Groups whose counts may be chosen."""
    return [i for i in range(g) if isinstance(shape, TwoLevels) or i != free]


def _beside(
    groups: Groups, shapes: tuple[Shape, ...], kind: int, free: int, points: Floats
) -> Types:
    """Types of whole counts around points, which are shares of cells."""
    points = points * groups.cells[_moving(len(groups.cells), shapes[kind], free)]
    corners = np.array(list(product((0, 1), repeat=points.shape[1]))).reshape(-1, points.shape[1])
    counts = (np.floor(points)[:, None, :] + corners).reshape(-1, points.shape[1])
    return _typed(groups, shapes, kind, free, counts)


def _halved(
    groups: Groups,
    prices: Prices,
    shapes: tuple[Shape, ...],
    kind: int,
    free: int,
    most: float,
    wanted: float,
) -> tuple[float, Types]:
    """The limit and the best types of one kind, by halving boxes of counts."""
    moving = _moving(len(groups.cells), shapes[kind], free)
    form = _Form.of(groups, prices, shapes[kind], free)
    lower = np.zeros((1, len(moving)))
    upper = groups.cells[moving][None, :].astype(float)
    kept, looked, limit = [_typed(groups, shapes, kind, free, lower)], 0, most
    while len(lower):
        looked += len(lower)
        middle, half = (lower + upper) / 2, (upper - lower) / 2
        # A type in each box, or near it.
        inside = _typed(groups, shapes, kind, free, np.floor(middle))
        worth = prices.worth(groups, *inside.moments(groups))
        if len(worth):
            kept.append(inside[np.argsort(-worth)[:_KEPT]])
            most = max(most, float(worth.max()) + wanted)
        cells = groups.cells[moving]
        top, rate = form.tops(middle / cells, half / cells, most)
        open_ = top > most
        single = (upper == lower).all(axis=1)
        if (open_ & single).any():
            # One type, whose worth is known but for rounding.
            one = _typed(groups, shapes, kind, free, lower[open_ & single])
            own = prices.worth(groups, *one.moments(groups)) + form.rounding
            limit = max(limit, float(own.max(initial=-np.inf)))
        open_ &= ~single
        if looked > _MOST_BOXES:
            return max(limit, most, float(top[open_].max(initial=-np.inf))), Types.joined(kept)
        lower, upper, rate = lower[open_], upper[open_], rate[open_]
        if not len(lower):
            break
        side = np.argmax(np.where(upper > lower, rate, -1.0), axis=1)
        row = np.arange(len(lower))
        cut = np.floor((lower[row, side] + upper[row, side]) / 2)
        left, right = upper.copy(), lower.copy()
        left[row, side], right[row, side] = cut, cut + 1
        lower, upper = np.concatenate([lower, right]), np.concatenate([left, upper])
    return max(limit, most), Types.joined(kept)


@dataclass(frozen=True)
class _Form:
    """The worth of a type as xᵀAx + bᵀx + c, where x are the counts that move, as shares.

    For ends it is that but for the cell between them. For two levels the worth is the form over the
    square of Σ mass β, where β is one at the lower level.

    Attributes
    ----------
    square, linear, constant : A, b and c
    start, row : an affine function of x: Σ mass β, or the raised share of the group that is not
        moved
    ends : what the function has to be between
    is_over : whether the form is to be divided by the square of the function
    rounding : what floats may be off by
    """

    square: Floats
    linear: Floats
    constant: float
    start: float
    row: Floats
    ends: tuple[float, float]
    is_over: bool
    rounding: float

    @classmethod
    def of(cls, groups: Groups, prices: Prices, shape: Shape, free: int) -> _Form:
        """The form for all types of one kind."""
        g, rate, masses = len(groups.cells), prices.inside**2, groups.masses
        curved, row = prices.quadratic(groups), prices.row
        most = shape.ratio if isinstance(shape, TwoLevels) else shape.high
        size = float(np.abs(curved).sum() + np.abs(row).sum() + rate.sum()) * max(most, 1.0) ** 2
        if isinstance(shape, TwoLevels):
            d = shape.ratio - 1
            whole = curved - (np.outer(row, masses) + np.outer(masses, row)) / 2
            least = 0.0 if shape.most == np.inf else 1 / shape.most
            largest = np.inf if shape.least == 0 else 1 / shape.least
            return cls(
                d * d * (whole - np.diag(rate)),
                2 * d * whole.sum(axis=1) + d * d * rate,
                float(whole.sum()),
                1.0,
                d * masses,
                (max(least, 1.0), min(largest, shape.ratio)),
                True,
                _ROUNDING * size,
            )
        low, d = shape.low, shape.high - shape.low
        others = [i for i in range(g) if i != free]
        start, turned = np.zeros(g), np.zeros((g, len(others)))
        start[free] = (1 - low) / d / masses[free] if d > 0 else -1.0
        turned[others, range(len(others))] = 1.0
        turned[free] = -masses[others] / masses[free]
        square = d * d * (curved - np.diag(rate))
        linear = 2 * d * low * curved.sum(axis=1) - d * row + d * d * rate
        constant = low * low * float(curved.sum()) - low * float(row.sum())
        return cls(
            turned.T @ square @ turned,
            turned.T @ (2 * square @ start + linear),
            float(start @ square @ start + linear @ start + constant),
            float(start[free]),
            turned[free],
            (0.0, 1.0),
            False,
            _ROUNDING * size,
        )

    def less(self, most: float) -> tuple[Floats, Floats, float]:
        """The form that is above zero where a type is worth more than ``most``."""
        if not self.is_over:
            return self.square, self.linear, self.constant - most
        return (
            self.square - most * np.outer(self.row, self.row),
            self.linear - 2 * most * self.start * self.row,
            self.constant - most * self.start**2,
        )

    def tops(self, middle: Floats, half: Floats, most: float) -> tuple[Floats, Floats]:
        """What no type of each box is worth more than, and how much each side adds to that.

        Where that is not above ``most``, only this is told.
        """
        square, linear, constant = self.less(most)
        slope = linear + 2 * middle @ square
        value = constant + (middle @ linear) + ((middle @ square) * middle).sum(axis=1)
        bend = np.abs(square)
        np.fill_diagonal(bend, np.maximum(np.diag(square), 0.0))
        rate = half * (np.abs(slope) + half @ bend)
        top = value + rate.sum(axis=1) + self.rounding
        at, reach = self.start + middle @ self.row, half @ np.abs(self.row)
        least, largest = self.ends
        if self.is_over:
            top = np.where(top > 0, top / np.maximum(at - reach, least) ** 2, 0.0)
        outside = (at + reach < least - _USED) | (at - reach > largest + _USED)
        return np.where(outside, -np.inf, most + top), rate

    def relaxed(self, most: float) -> tuple[float, Floats]:
        """What no type is worth more than if cells may be raised in part, and where that is.

        The largest value over a polytope is where the slope is zero along a face, on which the form
        is concave, and there no value is above a tangent plane.
        """
        square, linear, constant = self.less(most)
        k, (least, largest) = len(linear), self.ends
        scale = float(np.abs(square).max(initial=0.0))
        flat, slack = _FLAT * scale, _SLACK
        values, points = [-np.inf], [np.zeros(k)]
        for pattern in product((0.0, 1.0, None), repeat=k):
            moving = [i for i, side in enumerate(pattern) if side is None]
            corner = np.array([0.5 if side is None else side for side in pattern])
            for end in (None, least, largest):
                point, basis = corner.copy(), np.eye(k)[:, moving]
                if end is not None:
                    row = self.row[moving]
                    if not row.any():
                        continue
                    point[moving] += row * (end - self.start - self.row @ point) / (row @ row)
                    basis = basis @ np.linalg.svd(row[None, :])[2][1:].T
                if basis.shape[1]:
                    bent = 2 * basis.T @ square @ basis
                    if np.linalg.eigvalsh(bent)[-1] > -flat:
                        continue
                    slope = basis.T @ (linear + 2 * square @ point)
                    point = point - basis @ np.linalg.solve(bent, slope)
                at = self.start + self.row @ point
                inside = (point >= -slack).all() and (point <= 1 + slack).all()
                if not inside or not least - slack <= at <= largest + slack:
                    continue
                slope = basis.T @ (linear + 2 * square @ point)
                value = constant + linear @ point + point @ square @ point
                values.append(float(value + 2 * np.abs(slope).sum()))
                points.append(np.clip(point, 0.0, 1.0))
        top = max(values) + self.rounding + k * flat
        if self.is_over:
            top = max(top, 0.0) / least**2
        order = np.argsort(values)[::-1][:_KEPT]
        return most + top, np.array(points)[order]
