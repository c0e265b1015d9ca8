"""The structured interior-point method: where it starts, when it stops, which outputs it keeps.

The steps themselves are in :mod:`.newton`.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .newton import Newton, Point
from .program import TwoSided

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_ITERATIONS = 200
_STALLED = 25
# Steps shorter than this lead nowhere.
_STUCK = 1e-8
# An output with less than this share of the average mass has vanished; below this gap none is
# dropped any more.
_VANISHED = 0.02
_LATE = 3e-4
# Products of slack and weight aim at numbers in proportion to the square root of what is at stake
# for a symbol, but to no less than this share of the largest.
_LEAST_AIM = 1e-6
# A neighbour starts from the first point with at most this gap, unless the arrays are large.
_REMEMBERED = 5e-3
_REMEMBERED_ENTRIES = 250_000
# A slack starts at no less than this share of what the neighbour's has of the centre's.
_INSIDE = 0.1


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
    memory : where the search for a neighbour may start
    """

    columns: Array
    outputs: Places
    prices: Array
    iterations: int
    gap: float
    converged: bool
    memory: Memory | None


@dataclass(frozen=True, eq=False)
class Memory:
    """An early point on the way to a solution, still well inside: its outputs and its gap."""

    point: Point
    outputs: Places
    gap: float

    def on(self, outputs: Places) -> Memory | None:
        """The point on some outputs, ``None`` where it knows less than these."""
        kept = np.isin(self.outputs, outputs)
        if kept.sum() < len(outputs):
            return None
        old = self.point
        point = replace(
            old,
            slacks=old.slacks[:, kept],
            weights=old.weights[:, kept],
            scales=old.scales[kept],
            theta=old.theta[kept],
        )
        return Memory(point, self.outputs[kept], self.gap)


def solve_columns(
    p: Array,
    c: Array,
    sides: TwoSided,
    tolerance: float,
    outputs: Places,
    *,
    screen: bool = True,
    memory: Memory | None = None,
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
    memory : of a problem with nearby levels on the same outputs
    """
    aims = _aims(c)
    point = _central(c, sides, aims) if memory is None else _near(sides, memory)
    state = Newton(p, c, aims, point)
    remember = c.size <= _REMEMBERED_ENTRIES
    memory = None
    best, since, converged, taken = math.inf, 0, False, 0
    for iteration in range(_ITERATIONS):
        gap = state.gap()
        converged = gap <= tolerance and state.residual <= tolerance
        if converged:
            break
        # A point that was itself remembered has not been centred at these levels yet.
        if remember and memory is None and gap <= _REMEMBERED and iteration:
            memory = Memory(state.point.copy(), outputs, gap)
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
        if screen and iteration >= 3 and gap > _LATE and (memory is not None or not remember):
            outputs = _without_vanished(state, outputs, gap)
    state.restore_rows()
    columns = np.maximum(state.point.columns, 0.0)
    prices = state.point.prices
    return InteriorPoint(columns, outputs, prices, taken, state.gap(), converged, memory)


def _aims(c: Array) -> Array:
    """What the products of each symbol aim at, relative to their mean.

    What is at stake for a symbol is the range of its worth. With equal aims the rare symbols would
    only be decided once the gap is as small as their stakes; iterations fall by a third.
    """
    aims: Array = np.sqrt(np.ptp(c, axis=0))
    largest = float(aims.max())
    if largest == 0:
        return np.ones(len(aims))
    aims = np.maximum(aims, _LEAST_AIM * largest)
    return aims / aims.mean()


def _central(c: Array, sides: TwoSided, aims: Array) -> Point:
    """All outputs alike, each telling nothing; products in proportion to the aims."""
    m, n = c.shape
    link = sides.has_lift_sides
    if link:
        lower, upper, scale = sides.lower, sides.upper, 1 / m
    else:
        # Any scale of t describes the same cone; the middle one keeps numbers small.
        lower, upper = sides.ratio**-0.5, sides.ratio**0.5
        scale = 2 / m / (lower + upper)
    slacks = np.array([1 / m - lower * scale, upper * scale - 1 / m])
    prices = c.mean(axis=0)
    spread = float(np.abs(c - prices).mean()) or 1.0
    weights = 10 * spread * float(slacks.min()) * aims / slacks[:, None]
    theta = lower * math.fsum(weights[0]) - upper * math.fsum(weights[1]) if link else 0.0
    shape = (2, m, n)
    return Point(
        lower,
        upper,
        link,
        np.broadcast_to(slacks[:, None, None], shape).copy(),
        np.broadcast_to(weights[:, None, :], shape).copy(),
        np.full(m, scale),
        prices,
        np.full(m, theta),
    )


def _near(sides: TwoSided, memory: Memory) -> Point:
    """The remembered point under other levels: its columns, where need be mixed with the centre.

    Row sums and the link stay as they were or nearly so; the first steps mend the duals.
    """
    old = memory.point
    if sides.has_lift_sides:
        lower, upper = sides.lower, sides.upper
    else:
        lower, upper = sides.ratio**-0.5, sides.ratio**0.5
    t, columns = old.scales, old.columns
    slacks = np.stack([columns - lower * t[:, None], upper * t[:, None] - columns])
    centre = np.array([1 - lower, upper - 1])[:, None, None] * t[:, None]
    former = np.array([1 - old.lower, old.upper - 1])[:, None, None] * t[:, None]
    least = _INSIDE * np.minimum(old.slacks / former, 1.0) * centre
    with np.errstate(divide="ignore", invalid="ignore"):
        lack = np.where(slacks < least, (least - slacks) / (centre - slacks), 0.0)
    mixed = lack.max(axis=(0, 2))[:, None]
    slacks += mixed * (centre - slacks)
    theta = old.theta
    if old.link:
        theta = lower * old.weights[0].sum(axis=1) - upper * old.weights[1].sum(axis=1)
    return Point(
        lower, upper, old.link, slacks, old.weights.copy(), t.copy(), old.prices.copy(), theta
    )


def _without_vanished(state: Newton, outputs: Places, before: float) -> Places:
    """Leave out outputs of vanishing mass; the next steps make up for what they carried.

    An output vanishes when its mass is far below the average *and* falls as fast as the gap
    does; an output that stays, however rare, keeps its mass.

    Merging them into another output would keep the rows exact but puts their slacks on one
    column, whose complementarity products it spoils: measured, it costs iterations.
    """
    t = state.point.scales
    m = len(t)
    vanishing = t <= _VANISHED * float(t.sum()) / m
    if vanishing.sum() < 0.1 * m:
        return outputs
    falls = min(state.gap() / before, 1.0) ** 0.5
    keep = ~vanishing | (t > falls * state.former)
    if keep.sum() > 0.9 * m:
        return outputs
    # Never more than a third at once: a single odd step should not decide.
    keep[np.argsort(t)[m // 3 :]] = True
    state.keep(keep)
    return outputs[keep]
