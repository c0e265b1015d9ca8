"""Which outputs would pay: the most that a column of a two-sided cone gains at given prices.

The method's own support functions. The certificate has others; neither relies on the other's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..program import TwoSided

Array = NDArray[np.float64]


def best_columns(reduced: Array, p: Array, sides: TwoSided, block: int = 8192) -> Array:
    """max{⟨w_y, k⟩ : k in the cone, pᵀk = 1} for each row of ``(m, n)`` reduced costs, ``(m,)``.

    The cone bounds the lift from above, and maybe from below, or it bounds a ratio; not both.
    Rows are taken in blocks of so many entries, which stay in the processor's cache.
    """
    support = _lift_support if sides.has_lift_sides else _ratio_support
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
