"""Upper bounds on the optimum by weak duality, recomputed from dual numbers of any quality.

Neither bound below believes the solver: any prices and any non-negative multipliers give a true
upper bound, better duals give a better one. Each comes with an allowance for its own floating
point rounding, so that it is a bound in exact arithmetic too.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..privacy.hypotheses import Bound
from ..privacy.prior_sets import PriorSet
from .cones import TwoSided, outer_factors, two_sided
from .methods import Duals, Multipliers
from .problem import Problem

_UNIT = 2.0**-52
# Entries per block: what a block needs stays in the processor's cache.
_BLOCK = 8192


def upper_bound(problem: Problem, duals: Duals) -> tuple[float, str]:
    """The smallest of the bounds that dual numbers give, and which of them gave it."""
    found = [(trivial_bound(problem), "best output of every symbol")]
    if duals.multipliers is not None:
        found.append((multiplier_bound(problem, duals.multipliers), "multipliers"))
    sides = two_sided(problem.bounds, problem.inner, inner=False)
    if duals.prices is not None and sides is not None and np.isfinite(duals.prices).all():
        found.append((price_bound(problem, duals.prices, sides), "prices"))
        clamped = clamped_prices(problem, duals.prices)
        if not np.array_equal(clamped, duals.prices):
            found.append((price_bound(problem, clamped, sides), "prices"))
    return min(found)


def clamped_prices(problem: Problem, prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Prices kept within what a row can be worth, give or take the utility range.

    A solver leaves an absolute error on every price; on a symbol of mass 1e-20 that is a price per
    mass of 1e8, and the bound would have to allow for the rounding of such numbers.
    """
    p, width = problem.inner.probabilities, problem.gain_range
    low = p * (problem.gains.min(axis=1) - width)
    high = p * (problem.gains.max(axis=1) + width)
    return np.clip(prices, low, high)


def trivial_bound(problem: Problem) -> float:
    """Σ_x p_x max_y u_xy: what could be had without privacy."""
    terms = problem.objective.max(axis=1)
    return math.fsum(terms) + _UNIT * len(terms) * float(_sizes(problem.objective).sum())


def multiplier_bound(problem: Problem, multipliers: tuple[Multipliers, ...]) -> float:
    """Σ_x max_y (c_xy − pull_xy), the Lagrangian with every privacy bound priced.

    For a bound that pairs every μ with every ν, weights a_μ and b_ν with Σ b ≥ e^ε Σ a make
    Σ a_μ μᵀk − Σ b_ν νᵀk ≤ 0 on the cone; a is scaled so that this holds. For a set of priors b is
    a multiple of one of them. What is left of the
    problem is Σ_y K_xy = 1, K ≥ 0, whose optimum is the maximum of each row.
    """
    return rows_bound(problem, *multiplier_pull(problem, multipliers))


def multiplier_pull(
    problem: Problem, multipliers: tuple[Multipliers, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """What the priced bounds take off the gains, ``(n, M)``, its size, and the number of terms."""
    n, m = problem.shape
    pull = np.zeros((n, m))
    size = np.abs(problem.objective)
    for bound, weights in zip(problem.bounds, multipliers, strict=True):
        a, b = true_multipliers(bound, weights)
        is_set = isinstance(bound.under, PriorSet)
        plus, minus = bound.over.matrix.T @ a, b if is_set else bound.under.matrix.T @ b
        pull += plus - minus
        size += plus + minus
    return pull, size, sum(len(b.over) + len(b.under) for b in problem.bounds) + n + 8


def true_multipliers(
    bound: Bound, weights: Multipliers
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights a of the μ and b of the ν that price a bound, made from dual numbers of any kind.

    With Σ b = e^ε Σ a for bounds on all pairs, and b = e^ε a pair by pair for matched ones, up to
    rounding to the safe side. For a set of priors b is ``(N, M)``, a multiple of one of them.
    """
    factors = outer_factors(bound)
    a = _clean(weights[0])
    if bound.pairing == "all":
        b = _clean(weights[1])
        b = bound.under.inside(b) if isinstance(bound.under, PriorSet) else b
        allowed = b.sum(axis=0) / factors[0] * (1 - 8 * _UNIT * (len(a) + len(b)))
        total = a.sum(axis=0)
        uniform = np.full_like(a, 1 / len(a))
        return np.where(total > 0, a / np.where(total > 0, total, 1.0), uniform) * allowed, b
    if np.isinf(factors).any():
        a = np.where(np.isinf(factors)[:, None], 0.0, a)
        factors = np.where(np.isinf(factors), 1.0, factors)
    return a, a * np.broadcast_to(factors, len(a))[:, None]


def rows_bound(
    problem: Problem, pull: NDArray[np.float64], size: NDArray[np.float64], terms: int
) -> float:
    """Σ_x max_y (c_xy − pull_xy), with room for the rounding of sums of so many terms."""
    rows = (problem.objective - pull).max(axis=1)
    return math.fsum(rows) + _UNIT * terms * float(size.max(axis=1).sum())


def price_bound(problem: Problem, prices: NDArray[np.float64], sides: TwoSided) -> float:
    """⟨λ, 1⟩ + max_y sup{⟨c_y − λ, k⟩ : k in the cone, pᵀk = 1}, by greedy support functions."""
    p = problem.inner.probabilities
    best = float(supports(problem.objective - prices[:, None], p, sides).max())
    size = np.abs(prices).sum() + float((_sizes(problem.gains) + np.abs(prices / p)).max())
    return math.fsum(prices) + best + _UNIT * (len(p) + 8) * float(size)


def supports(
    w: NDArray[np.float64], p: NDArray[np.float64], sides: TwoSided
) -> NDArray[np.float64]:
    """sup{⟨w_y, k⟩ : k in the cone, pᵀk = 1} for each column of an ``(n, M)`` array, ``(M,)``.

    An upper bound on it where the cone has both lift sides and a ratio: the smaller of the two.
    """
    n, m = w.shape
    step = max(1, _BLOCK // n)
    parts = [_supports(w[:, y : y + step], p, sides) for y in range(0, m, step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _supports(
    w: NDArray[np.float64], p: NDArray[np.float64], sides: TwoSided
) -> NDArray[np.float64]:
    # Rows of contiguous memory sort several times faster; ties may fall either way.
    rows = np.ascontiguousarray(w.T)
    worth = rows / p
    if sides.ratio == math.inf and not sides.has_lift_sides:
        return worth.max(axis=1)
    if sides.ratio == math.inf and sides.upper == math.inf:
        return _pmc_support(rows, worth, sides)
    order = np.argsort(-worth, axis=1)
    found = []
    if sides.has_lift_sides and sides.upper == math.inf:
        found.append(_pmc_support(rows, worth, sides))
    elif sides.has_lift_sides:
        found.append(_lift_support(rows, worth, order, p, sides))
    if sides.ratio < math.inf:
        found.append(_ratio_support(rows, order, p, sides.ratio))
    return found[0] if len(found) == 1 else np.minimum(*found)


def _pmc_support(
    rows: NDArray[np.float64], worth: NDArray[np.float64], sides: TwoSided
) -> NDArray[np.float64]:
    """sup{⟨w, k⟩ : l ≤ k, pᵀk = 1} per row: all that is free goes to the best symbol."""
    return sides.lower * rows.sum(axis=1) + (1 - sides.lower) * worth.max(axis=1)


def _lift_support(
    rows: NDArray[np.float64],
    worth: NDArray[np.float64],
    order: NDArray[np.intp],
    p: NDArray[np.float64],
    sides: TwoSided,
) -> NDArray[np.float64]:
    """sup{⟨w, k⟩ : l ≤ k ≤ h, pᵀk = 1} per row: a continuous knapsack, filled from the top."""
    left = 1 - sides.lower
    room = (sides.upper - sides.lower) * p[order]
    fill = room - np.cumsum(room, axis=1)
    fill += left
    np.minimum(fill, room, out=fill)
    np.maximum(fill, 0.0, out=fill)
    # Rounding may leave a trace of mass unplaced; the best symbol takes it.
    missing = np.maximum(left - fill.sum(axis=1), 0.0)
    best = worth.max(axis=1)
    fill *= _sorted(worth, order)
    return sides.lower * rows.sum(axis=1) + fill.sum(axis=1) + missing * np.maximum(best, 0.0)


def _ratio_support(
    rows: NDArray[np.float64],
    order: NDArray[np.intp],
    p: NDArray[np.float64],
    ratio: float,
) -> NDArray[np.float64]:
    """sup{⟨w, k⟩ : max k ≤ r min k, pᵀk = 1} per row: the best threshold on w/p."""
    gained = np.cumsum(_sorted(rows, order), axis=1)
    mass = np.cumsum(p[order], axis=1)
    total = rows.sum(axis=1)
    # Divided through by r, so that large ratios stay finite.
    low = 1 / ratio
    gained *= 1 - low
    gained += (low * total)[:, None]
    mass *= 1 - low
    mass += low * p.sum()
    gained /= mass
    return np.maximum(gained.max(axis=1), total / p.sum())


def _sizes(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest absolute value of each row, without a second matrix."""
    found: NDArray[np.float64] = np.maximum(matrix.max(axis=1), -matrix.min(axis=1))
    return found


def _sorted(rows: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    return rows[np.arange(len(rows))[:, None], order]


def _clean(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0)
