"""Closed forms for utilities where each output is the right one for at most one symbol.

Gains b_x + a_x·1{y = y(x)} with a ≥ 0, no output right for two symbols: accuracy under any prior,
weighted accuracy, accuracy over a list of outputs. With c_x = p_x a_x what is at stake is
Σ_x c_x K[x, y(x)], and only the symbols of largest stake are ever told apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .cones import TwoSided
from .methods import Candidate, Duals, Method
from .problem import Problem

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# Conditions of the closed form that hold up to this share of what they compare are taken to hold.
_ROUNDING = 1e-13


class Recognition(Method):
    """Accuracy under any prior, where a relaxation that treats outputs one by one is attained."""

    name = "recognition"
    reason = (
        "each output is right for one symbol at most: the symbols of largest stake are told apart "
        "as far as the bounds allow, and all others are treated alike"
    )
    source = "Kairouz2016 for LDP with a uniform prior"

    def refusal(self, problem: Problem) -> str | None:
        """Applies to LDP, and to bounds on the lift while the other symbols have enough mass."""
        sides = problem.sides
        if sides is None or problem.others:
            return "the notions are not bounds on the lift or between all symbols"
        if sides.has_lift_sides and sides.ratio < math.inf:
            return "bounds on the lift and on ratios together have no closed form"
        if sides.lower == 1 or sides.upper == 1 or sides.ratio == 1:
            return "a level of zero leaves nothing to tell apart"
        if sides.upper == math.inf and sides.ratio == math.inf:
            return "there is no upper bound on the lift"
        task = _Task.of(problem)
        if task is None:
            return "some output is worth something to two symbols, or a symbol likes two outputs"
        if sides.has_lift_sides and _under_lift(task, problem.inner.probabilities, sides) is None:
            return "the symbols that are not told apart have too little mass to hide the others"
        return None

    def solve(self, problem: Problem) -> Candidate:
        """LDP: randomised response on the k symbols of largest stake, k by the largest value

        r (c_1 + … + c_k)/(r − 1 + k); any other symbol sends each of the k outputs equally often.
        Bounds on the lift: see :func:`_under_lift`.
        """
        task, sides, p = _Task.of(problem), problem.sides, problem.inner.probabilities
        assert task is not None
        assert sides is not None
        if sides.has_lift_sides:
            plan = _under_lift(task, p, sides)
            assert plan is not None
        else:
            plan = _under_ratio(task, sides.ratio)
        kernel = np.zeros(problem.shape)
        kernel[:, task.right[plan.used]] = plan.rows
        base = p * problem.gains.min(axis=1)
        return Candidate(kernel, Duals(plan.prices + base), "closed form (recognition)")


@dataclass(frozen=True, eq=False)
class _Task:
    """What is at stake for each symbol, and which output is right for it (-1 for none)."""

    stakes: Array
    right: Places

    @classmethod
    def of(cls, problem: Problem) -> _Task | None:
        """The stakes of a problem, or ``None`` when gains are of another kind."""
        gains = problem.gains
        least = gains.min(axis=1)
        above = gains > least[:, None]
        if not 0 < np.count_nonzero(above) <= min(gains.shape):
            return None
        rows, columns = np.nonzero(above)
        if len(set(rows.tolist())) < len(rows) or len(set(columns.tolist())) < len(rows):
            return None
        n = len(gains)
        stakes, right = np.zeros(n), np.full(n, -1)
        stakes[rows] = problem.inner.probabilities[rows] * (gains[rows, columns] - least[rows])
        right[rows] = columns
        return cls(stakes, right)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Symbols whose outputs are used, the ``(n, k)`` kernel on those outputs, and prices."""

    used: Places
    rows: Array
    prices: Array


def _under_ratio(task: _Task, ratio: float) -> _Plan:
    """Columns with max k ≤ r·min k.

    The prices are λ_x = max(0, (c_x − Λ/r)/(1 − 1/r)), with Λ their sum: every column then pays
    at most nothing, whether its symbol is told apart or not.
    """
    c = task.stakes
    order = np.argsort(-c, kind="stable")
    counts = np.arange(1, len(c) + 1)
    # Only outputs that are right for some symbol exist.
    values = (np.cumsum(c[order]) / (1 + (counts - 1) / ratio))[: np.count_nonzero(c)]
    k = int(values.argmax()) + 1
    used = order[:k]
    right = 1 / (1 + (k - 1) / ratio)
    rows = np.full((len(c), k), 1 / k)
    rows[used] = right / ratio
    rows[used, np.arange(k)] = right
    prices = np.maximum((c - values[k - 1] / ratio) / (1 - 1 / ratio), 0.0)
    return _Plan(used, rows, prices)


def _under_lift(task: _Task, p: Array, sides: TwoSided) -> _Plan | None:
    """Columns with l·q ≤ k_x ≤ h·q, q = pᵀk; ``None`` where the relaxation is not attained.

    An output of mass q is right with probability at most s·q, s_x = min(h, (1 − l(1−p_x))/p_x),
    and at most 1 − l(1 − q). The relaxation that asks nothing else fills q from the largest
    c_x s_x: outputs are full at q = (1−l)/(s−l), at most one is filled in part. Where c_x s_x
    falls below the largest l c_x, that symbol's output takes what is left instead.

    With τ the slope where filling stops, δ_x = (c_x s_x − τ)/(p_x (s_x − l)) for the full outputs
    and 0 for the others, the prices λ_x = p_x (τ − l Σ p δ + δ_x) prove the relaxation's value to
    be a bound. It is attained when the symbols without a full output can bear what outputs need.
    """
    low, high, c = sides.lower, sides.upper, task.stakes
    n, largest = len(c), int(c.argmax())
    alone = (1 - low * (1 - p)) / p
    most = np.minimum(high, alone)
    slope, room = c * most, (1 - low) / (most - low)
    order = np.argsort(-slope, kind="stable")
    order = order[: np.count_nonzero(slope > low * c[largest])]
    filled = np.cumsum(room[order])
    k = int(np.searchsorted(filled, 1.0, side="right"))
    full = order[:k]
    q = room[full]
    rest = max(1.0 - math.fsum(q), 0.0)
    last, tau = None, low * c[largest]
    if k < len(order):
        last, tau = int(order[k]), slope[order[k]]
    elif k == n:
        tau = slope[order[-1]]
    elif largest not in full:
        return None
    delta = np.zeros(n)
    delta[full] = (slope[full] - tau) / (p[full] * (most[full] - low))
    prices = p * (tau - low * math.fsum(p * delta) + delta)

    others = np.ones(n, dtype=bool)
    others[full] = False
    hidden, told = math.fsum(p[others]), math.fsum(p[full])
    # What full outputs need, per unit of their mass, from all symbols without a full output.
    share = 1 - p[full] * high - low * (told - p[full])
    need = q * np.where(alone[full] <= high, low * hidden, share)
    if last is None:
        more = np.where(full == largest, rest, 0.0)
        q, need = q + more, need + more * (1 - low * told)
    rows = np.empty((n, k))
    rows[full] = low * q
    rows[full, np.arange(k)] = 1 - low * (1 - q)
    if k == n:
        return _Plan(full, rows, prices)
    if last is None:
        rows[others] = need / hidden
        return _Plan(full, rows, prices) if _inside(rows[others][0], q, sides) else None

    # The last output is right for a symbol that is told apart in part; the remaining ones are
    # alike, so that two rows share what the full outputs need.
    others[last] = False
    column = np.full((n, 1), low * rest)
    column[last] = right = most[last] * rest
    mass = math.fsum(p[others])
    if mass == 0:
        rows[last] = need / p[last]
        inside = bool(alone[last] <= high) and _inside(rows[last], q, sides)
    else:
        if alone[last] > high:
            column[others] = rest * (1 - low * told - p[last] * high) / mass
        sums = np.array([1 - right, 1 - column[others][0, 0]])
        two = _shared(need, q, np.array([p[last], mass]), sums, sides)
        if two is None:
            return None
        rows[last], rows[others] = two
        inside = _inside(column[others][0], np.array([rest]), sides)
    return _Plan(np.append(full, last), np.hstack([rows, column]), prices) if inside else None


def _shared(need: Array, q: Array, masses: Array, sums: Array, sides: TwoSided) -> Array | None:
    """Two rows K with Σ masses·K = need and given sums, inside l·q ≤ K ≤ h·q, ``(2, k)``.

    The row of less mass goes a common share of the way from its lower to its upper ends, and the
    other row follows: the other way round, a small mass would blow up what rounding leaves.
    """
    light = int(masses.argmin())
    small, large = masses[light], masses[1 - light]
    lower = np.maximum(sides.lower * q, (need - sides.upper * large * q) / small)
    upper = np.minimum(sides.upper * q, (need - sides.lower * large * q) / small)
    span = math.fsum(upper) - math.fsum(lower)
    part = (sums[light] - math.fsum(lower)) / span if span > 0 else 0.0
    if (lower > upper + _ROUNDING * q).any() or not -_ROUNDING <= part <= 1 + _ROUNDING:
        return None
    rows = np.empty((2, len(q)))
    rows[light] = lower + min(max(part, 0.0), 1.0) * (upper - lower)
    rows[1 - light] = (need - small * rows[light]) / large
    return rows if _inside(rows[1 - light], q, sides) else None


def _inside(entries: Array, q: Array, sides: TwoSided) -> bool:
    """Whether entries of columns of mass q keep the bounds on the lift, up to rounding."""
    slack = _ROUNDING * q
    inside = (entries >= sides.lower * q - slack) & (entries <= sides.upper * q + slack)
    return bool(inside.all())
