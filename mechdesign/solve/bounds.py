"""Upper bounds on the optimum by weak duality, recomputed from dual numbers of any quality.

Neither bound below believes the solver: any prices and any non-negative multipliers give a true
upper bound, better duals give a better one. Bounds are rational numbers. What each row of gains
has in common is worth exactly p_x times as much and is taken out first, so that gains may lie far
from zero. Prices are evaluated in rationals for the outputs that can be the maximum, which floats
with an allowance for their rounding single out; multipliers in floats with such an allowance.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..privacy.hypotheses import Bound
from ..privacy.prior_sets import PriorSet
from .cones import TwoSided, outer_factors, two_sided
from .methods import Duals, Multipliers
from .problem import Problem
from .rational import column_supremum, difference, mean_of

_UNIT = 2.0**-52
# Entries that are evaluated in rationals; beyond, the allowance for rounding stays in the bound.
_EXACT_ENTRIES = 40_000
# A sum or product of floats that underflows is off by less than this.
_SMALLEST = 2.0**-1074
#: A bound that floats cannot hold: larger than any of them.
BEYOND = Fraction(2) ** 1100
# Entries per block: what a block needs stays in the processor's cache.
_BLOCK = 8192


def upper_bound(problem: Problem, duals: Duals) -> tuple[Fraction, str]:
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


def trivial_bound(problem: Problem) -> Fraction:
    """Σ_x p_x max_y u_xy: what could be had without privacy."""
    return mean_of(problem.inner, problem.gains.max(axis=1))


def multiplier_bound(problem: Problem, multipliers: tuple[Multipliers, ...]) -> Fraction:
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
    size = problem.inner.probabilities[:, None] * above_least(problem)[1]
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


def above_least(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least gain of each row, ``(n,)``, and the nearest floats to what is above it."""
    least = problem.gains.min(axis=1)
    return least, problem.gains - least[:, None]


def rows_bound(
    problem: Problem, pull: NDArray[np.float64], size: NDArray[np.float64], terms: int
) -> Fraction:
    """Σ_x max_y (c_xy − pull_xy), with room for the rounding of sums of so many terms.

    Infinite, as a fraction beyond every float, where the numbers are too large for floats.
    """
    least, above = above_least(problem)
    rows = (problem.inner.probabilities[:, None] * above - pull).max(axis=1)
    rounding = _UNIT * terms * float(size.max(axis=1).sum()) + terms * len(rows) * _SMALLEST
    if not (np.isfinite(rows).all() and math.isfinite(rounding)):
        return BEYOND
    # The sum of the rows and the product above are rounded themselves.
    rounding += 4 * _UNIT * rounding
    return mean_of(problem.inner, least) + sum(map(Fraction, rows.tolist())) + Fraction(rounding)


def price_bound(problem: Problem, prices: NDArray[np.float64], sides: TwoSided) -> Fraction:
    """⟨λ, 1⟩ + max_y sup{⟨c_y − λ, k⟩ : k in the cone, pᵀk = 1}, by greedy support functions.

    The prices are per mass, λ_x = p_x π_x for floats π, so that c_xy − λ_x = p_x (u_xy − π_x)
    without any rounding.
    """
    p = problem.inner.probabilities
    with np.errstate(over="ignore"):
        per_mass = prices / p
        high, low = difference(problem.gains, per_mass[:, None])
    if not (np.isfinite(high).all() and np.isfinite(low).all()):
        return BEYOND
    largest = max(float(np.abs(high).max()), _SMALLEST)
    # Scaled by a power of two to about one, where nothing under- or overflows.
    power = -int(np.frexp(largest)[1])
    found = supports(p[:, None] * np.ldexp(high, power), p, sides)
    margin = 4 * _UNIT * (len(p) + 8)  # of numbers of size at most one
    base = mean_of(problem.inner, per_mass)
    best = np.flatnonzero(found >= found.max() - 2 * margin)
    if len(best) * len(p) > _EXACT_ENTRIES or not np.isfinite(found).all():
        top = Fraction(float(found.max())) + Fraction(margin)
        return base + top / Fraction(2) ** power
    return base + max(_exact_support(problem, high[:, y], low[:, y], sides) for y in best.tolist())


def _exact_support(
    problem: Problem, high: NDArray[np.float64], low: NDArray[np.float64], sides: TwoSided
) -> Fraction:
    values = [
        Fraction(a) + Fraction(b) if b else Fraction(a)
        for a, b in zip(high.tolist(), low.tolist(), strict=True)
    ]
    return column_supremum(problem.inner, values, sides.lower, sides.upper, sides.ratio)


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
    """sup{⟨w, k⟩ : l ≤ k ≤ h, pᵀk = 1} per row: a continuous knapsack, filled from the top.

    By weak duality with the worth of the critical symbol as the price of mass: any price gives an
    upper bound, so rounding that picks another symbol does no harm.
    """
    room = (sides.upper - sides.lower) * p[order]
    ranked = _sorted(worth, order)
    critical = (np.cumsum(room, axis=1) < 1 - sides.lower).sum(axis=1)
    price = ranked[np.arange(len(rows)), np.minimum(critical, len(p) - 1)]
    ranked -= price[:, None]
    np.maximum(ranked, 0.0, out=ranked)
    ranked *= room
    common = sides.lower * (rows.sum(axis=1) - price * p.sum())
    return np.asarray(price + common + ranked.sum(axis=1))


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


def _sorted(rows: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    return rows[np.arange(len(rows))[:, None], order]


def _clean(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0)
