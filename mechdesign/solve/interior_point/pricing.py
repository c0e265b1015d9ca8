"""Which outputs would pay: the most that a column of a two-sided cone gains at given prices.

The method's own support functions. The certificate has others; neither relies on the other's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...program.program import TwoSided

Array = NDArray[np.float64]


def best_columns(reduced: Array, p: Array, sides: TwoSided, block: int = 8192) -> Array:
    """max{⟨w_y, k⟩ : k in the cone, pᵀk = 1} for each row of ``(m, n)`` reduced costs, ``(m,)``.

    The cone bounds the lift from above, and maybe from below, or it bounds a ratio, or both.
    Rows are taken in blocks of so many entries, which stay in the processor's cache.
    """
    support = _lift_support if sides.has_lift_sides else _ratio_support
    if sides.shape == "lift and ratio":
        support = _joint_support
    size = max(1, block // len(p))
    parts = [support(reduced[i : i + size], p, sides) for i in range(0, len(reduced), size)]
    return np.concatenate(parts)


def _lift_support(reduced: Array, p: Array, sides: TwoSided) -> Array:
    """A continuous knapsack: every entry at l, then the best per mass filled up to h in turn."""
    order = np.argsort(-reduced / p, axis=1)
    room = (sides.upper - sides.lower) * p[order]
    before = np.cumsum(room, axis=1) - room
    share = np.clip((1 - sides.lower * p.sum() - before) / room, 0.0, 1.0)
    lifts = sides.lower + (sides.upper - sides.lower) * share
    return np.einsum("yx,yx->y", np.take_along_axis(reduced, order, axis=1), lifts)


def _ratio_support(reduced: Array, p: Array, sides: TwoSided) -> Array:
    """Entries are 1 or r: Newton's method on max Σ (w − vp) k over v, whose root is the support.

    The function is convex and falls, so v rises to the root in finitely many steps
    [Dinkelbach1967].
    """
    value = reduced.sum(axis=1) / p.sum()
    while True:
        column = np.where(reduced > value[:, None] * p, sides.ratio, 1.0)
        better = np.einsum("yx,yx->y", reduced, column) / (column @ p)
        if not (better > value).any():
            return value
        value = np.maximum(value, better)


def _joint_support(reduced: Array, p: Array, sides: TwoSided) -> Array:
    """The best of all columns with two values, or with three where one end of t is met.

    With t the least entry, columns are t, then min(h, r t) on the best per mass, as much of these
    as mass one allows. In between of such columns the value is linear in t.
    """
    h, r = sides.upper, sides.ratio
    least = max(sides.lower, 1 / r)
    order = np.argsort(-reduced / p, axis=1)
    ranked, mass = np.take_along_axis(reduced, order, axis=1), np.cumsum(p[order], axis=1)
    gained, total, whole = np.cumsum(ranked, axis=1), reduced.sum(axis=1)[:, None], p.sum()
    t = 1 / (whole + (r - 1) * mass)
    found = np.where((t >= least) & (r * t <= h), t * (total + (r - 1) * gained), -np.inf)
    best = found.max(axis=1)
    if h < np.inf:
        fits = h * mass <= 1
        t = (1 - h * mass) / np.where(fits, whole - mass, 1.0)
        fits &= (t >= max(least, h / r)) & (t <= 1)
        found = np.where(fits, t * (total - gained) + h * gained, -np.inf)
        best = np.maximum(best, found.max(axis=1))
    y = np.arange(len(reduced))
    for t in {least, min(max(h / r, least), 1.0)}:
        high = min(h, r * t)
        room = (1 - t * whole) / (high - t) if high > t else 0.0
        full = (mass <= room).sum(axis=1)
        last = np.minimum(full, len(p) - 1)
        before = np.where(full > 0, gained[y, full - 1], 0.0)
        held = np.where(full > 0, mass[y, full - 1], 0.0)
        part = np.maximum(room - held, 0.0) / p[order[y, last]]
        top = before + np.where(full < len(p), np.minimum(part, 1.0), 0.0) * ranked[y, last]
        best = np.maximum(best, t * total[:, 0] + (high - t) * top)
    return np.maximum(best, total[:, 0] / whole)
