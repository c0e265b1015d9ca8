"""Upper bounds on the optimum by weak duality, recomputed from dual numbers of any quality.

Neither bound below believes the solver: any prices and any non-negative multipliers give a true
upper bound, better duals give a better one. Each comes with an allowance for its own floating
point rounding, so that it is a bound in exact arithmetic too.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..privacy.prior_sets import PriorSet
from .cones import TwoSided, outer_factors, two_sided
from .methods import Duals, Multipliers
from .problem import Problem

_UNIT = 2.0**-52


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
    return math.fsum(terms) + _UNIT * len(terms) * float(
        np.abs(problem.objective).max(axis=1).sum()
    )


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
        factors = outer_factors(bound)
        over, a = bound.over.matrix, _clean(weights[0])
        under = bound.under
        is_set = isinstance(under, PriorSet)
        if bound.pairing == "all":
            b = _clean(weights[1])
            b = under.inside(b) if isinstance(under, PriorSet) else b
            allowed = b.sum(axis=0) / factors[0] * (1 - 8 * _UNIT * (len(a) + len(b)))
            total = a.sum(axis=0)
            uniform = np.full_like(a, 1 / len(a))
            a = np.where(total > 0, a / np.where(total > 0, total, 1.0), uniform) * allowed
        else:
            if np.isinf(factors).any():
                a = np.where(np.isinf(factors)[:, None], 0.0, a)
                factors = np.where(np.isinf(factors), 1.0, factors)
            b = a * np.broadcast_to(factors, len(a))[:, None]
        plus, minus = over.T @ a, b if is_set else under.matrix.T @ b
        pull += plus - minus
        size += plus + minus
    return pull, size, sum(len(b.over) + len(b.under) for b in problem.bounds) + n + 8


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
    size = np.abs(prices).sum() + float((np.abs(problem.gains) + np.abs(prices / p)[:, None]).max())
    return math.fsum(prices) + best + _UNIT * (len(p) + 8) * float(size)


def supports(
    w: NDArray[np.float64], p: NDArray[np.float64], sides: TwoSided
) -> NDArray[np.float64]:
    """sup{⟨w_y, k⟩ : k in the cone, pᵀk = 1} for each column of an ``(n, M)`` array, ``(M,)``.

    An upper bound on it where the cone has both lift sides and a ratio: the smaller of the two.
    """
    found = []
    if sides.has_lift_sides:
        found.append(_lift_support(w, p, sides))
    if sides.ratio < math.inf:
        found.append(_ratio_support(w, p, sides.ratio))
    if not found:
        found.append((w / p[:, None]).max(axis=0))
    return np.min(np.stack(found), axis=0)


def _lift_support(
    w: NDArray[np.float64], p: NDArray[np.float64], sides: TwoSided
) -> NDArray[np.float64]:
    """sup{⟨w, k⟩ : l ≤ k ≤ h, pᵀk = 1} per column: a continuous knapsack, filled from the top."""
    worth = w / p[:, None]
    base = sides.lower * w.sum(axis=0)
    left = 1 - sides.lower
    if sides.upper == math.inf:
        return base + left * worth.max(axis=0)
    order = np.argsort(-worth, axis=0, kind="stable")
    room = (sides.upper - sides.lower) * p[order]
    before = np.cumsum(room, axis=0) - room
    fill = np.clip(left - before, 0.0, room)
    # Rounding may leave a trace of mass unplaced; the best symbol takes it.
    missing = np.maximum(left - fill.sum(axis=0), 0.0)
    sorted_worth = np.take_along_axis(worth, order, axis=0)
    return base + (fill * sorted_worth).sum(axis=0) + missing * np.maximum(sorted_worth[0], 0.0)


def _ratio_support(
    w: NDArray[np.float64], p: NDArray[np.float64], ratio: float
) -> NDArray[np.float64]:
    """sup{⟨w, k⟩ : max k ≤ r min k, pᵀk = 1} per column: the best threshold on w/p."""
    order = np.argsort(-(w / p[:, None]), axis=0, kind="stable")
    gained = np.cumsum(np.take_along_axis(w, order, axis=0), axis=0)
    mass = np.cumsum(p[order], axis=0)
    # Divided through by r, so that large ratios stay finite.
    low = 1 / ratio
    values = (low * w.sum(axis=0) + (1 - low) * gained) / (low * p.sum() + (1 - low) * mass)
    return np.maximum(values.max(axis=0), w.sum(axis=0) / p.sum())


def _clean(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0)
