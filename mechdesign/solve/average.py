"""What budgets need beside a solver: a bound that holds for any dual numbers, and a repair.

Weak duality: φ is the largest of its linear minorants, φ(k) ≥ ⟨w, k⟩, so for τ ≥ 0 and minorants
w_y every feasible kernel is worth at most τ·limit + Σ_x max_y (c_xy − τ w_yx), plus what the other
notions price. What makes w a minorant is a simple inequality for each φ, which is enforced on
whatever numbers a solver returns.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR_BITS, Verdict, exp_upper
from ..mechanism import Mechanism
from ..privacy.averaging import AverageNotion
from ..privacy.budgets import Budget, Excess, Information, Peak, Trough
from .bounds import BEYOND, multiplier_pull, rows_bound
from .cones import inner_factor
from .methods import Duals
from .problem import AnyProblem, Problem
from .repair import repair_kernel, to_weights

_ROUNDS = 60
# Multipliers below this share of the range of gains may be noise.
_NOISE = 1e-9
#: Likelihood ratios above this are designed for as if they were this, at a loss of its inverse.
LARGEST_FACTOR = 1e7
_UNIT = 2.0**-52

#: Dual numbers of a budget: τ and weights, see :func:`minorants`.
BudgetDuals = tuple[NDArray[np.float64], ...]


def problem_budgets(problem: Problem) -> list[Budget] | None:
    """Budgets of all notions outside the likelihood family; ``None`` if one has none."""
    found: list[Budget] = []
    for notion in problem.others:
        if not isinstance(notion, AverageNotion):
            return None
        found.extend(b for b in notion.budgets(problem.inner) if not b.is_vacuous)
    return found


def tables_of(budget: Information) -> tuple[NDArray[np.float64], ...]:
    """P(x|a,c), P(x|c) and P(a,c) for each row, and P(a,c)/P(c)."""
    joint = np.array(budget.joint, dtype=float)
    groups = np.array(budget.groups)
    weights = joint.sum(axis=1)
    totals = np.bincount(groups, weights)
    common = np.stack([joint[groups == c].sum(axis=0) for c in range(len(totals))])
    whole = common[groups] / totals[groups][:, None]
    return joint / weights[:, None], whole, weights, weights / totals[groups]


# Bounding


def average_bound(problem: Problem, duals: Duals) -> Fraction | None:
    """The Lagrangian with budgets and bounds on ratios priced; ``None`` without duals for it."""
    found = best_averages(problem, duals)
    return None if found is None else found[0]


def best_averages(
    problem: Problem, duals: Duals
) -> tuple[Fraction, list[Budget], list[BudgetDuals]] | None:
    """The bound of :func:`average_bound`, and the dual numbers of each budget that gave it."""
    budgets = problem_budgets(problem)
    if not budgets or duals.averages is None or len(duals.averages) != len(budgets):
        return None
    # A solver's noise on multipliers that should be zero costs a factor e^ε: without it, too.
    floors = (0.0, _NOISE * problem.gain_range, math.inf)
    tried = [[_above(numbers, floor) for numbers in duals.averages] for floor in floors]
    bounds = [_priced(problem, budgets, duals, numbers) for numbers in tried]
    best = min(range(len(bounds)), key=bounds.__getitem__)
    return bounds[best], budgets, tried[best]


def _above(numbers: BudgetDuals, floor: float) -> BudgetDuals:
    """Dual numbers with multipliers up to a floor left out."""
    return (np.where(numbers[0] > floor, numbers[0], 0.0), *numbers[1:])


def _priced(
    problem: Problem, budgets: list[Budget], duals: Duals, averages: list[BudgetDuals]
) -> Fraction:
    pull, size, terms = multiplier_pull(problem, duals.multipliers or ())
    limits: list[float] = []
    for budget, numbers in zip(budgets, averages, strict=True):
        constant, more, magnitude = minorants(budget, numbers)
        limits.append(constant)
        pull = pull + more
        size = size + magnitude
        terms += 4 * magnitude.shape[0] + 64
    if not np.isfinite(limits).all():
        return BEYOND
    spent = sum(Fraction(v) + 16 * Fraction(_UNIT) * abs(Fraction(v)) for v in limits)
    return rows_bound(problem, pull, size, terms) + spent


def minorants(
    budget: Budget, numbers: BudgetDuals
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """τ·limit, the pull Σ τ w and its size, from dual numbers made into true minorants."""
    first = np.where(np.isfinite(numbers[0]), np.maximum(numbers[0], 0.0), 0.0)
    if isinstance(budget, Peak):
        # ⟨w, k⟩ ≤ τ max k for w ≥ 0 with Σ w ≤ τ.
        tau = float(first.sum(axis=0).max()) * (1 + _UNIT * len(first))
        pull = budget.points.matrix.T @ first
        # No sum of column maxima exceeds the number of rows.
        return tau * min(exp_upper(budget.epsilon), len(budget.points)), pull, pull
    if isinstance(budget, Trough):
        # −⟨v, k⟩ ≤ −τ min k for v ≥ 0 with Σ v ≥ τ.
        tau = float(first.sum(axis=0).min()) * (1 - _UNIT * len(first))
        least = math.nextafter(1 / exp_upper(budget.epsilon), 0.0)
        pull = budget.points.matrix.T @ first
        return -tau * least, -pull, pull
    if isinstance(budget, Excess):
        # ⟨s (μ − e^ε ν), k⟩ ≤ τ max((μ − e^ε ν)ᵀk, 0) for 0 ≤ s ≤ τ.
        factor = exp_upper(budget.epsilon)
        if math.isinf(factor):
            first = np.zeros_like(first)
            factor = 1.0
        first = first * min(1.0, inner_factor(budget.epsilon) / factor, LARGEST_FACTOR / factor)
        over = budget.over.matrix.T @ first
        under = factor * (budget.under.matrix.T @ first)
        return math.fsum(first.max(axis=1)) * budget.delta, over - under, over + under
    assert isinstance(budget, Information)
    # Σ p_a log(r_a) l_a ≤ Σ p_a l_a log(l_a/l_c) for every k just when Σ (p_a/p_c) r_a ≤ 1.
    tau = float(first.ravel()[0])
    given, _, weights, shares = tables_of(budget)
    groups = np.array(budget.groups)
    logs = np.clip(np.where(np.isfinite(numbers[1]), numbers[1], 0.0), -600.0, 600.0)
    for c in set(budget.groups):
        part = logs[groups == c]
        top = part.max(axis=0)
        total = np.log((shares[groups == c][:, None] * np.exp(part - top)).sum(axis=0)) + top
        logs[groups == c] = part - total - 1e-14
    scaled = tau * weights[:, None]
    return (
        tau * budget.epsilon,
        given.T @ (scaled * logs),
        given.T @ (scaled * np.abs(logs)),
    )


# Repairing


def keep_budgets(
    problem: AnyProblem, weights: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float]:
    """Weights that keep every budget as well, by mixing in a constant kernel; and its share.

    Mixing keeps everything the likelihood family asks and lowers every budget in proportion, as a
    constant kernel spends least. The smallest share that passes is found by doubling and halving.
    """
    if not problem.others:
        return weights, 0.0
    if _kept(problem, weights):
        return weights, 0.0
    kernel = np.ldexp(weights.astype(float), -DENOMINATOR_BITS)
    constant = np.broadcast_to(problem.inner.probabilities @ kernel, kernel.shape)
    share, found = 2.0**-50, None
    for _ in range(_ROUNDS):
        tried = _mixed(problem, kernel, constant, share)
        if tried is not None:
            found = tried
            break
        if share == 1:
            break
        share = min(2 * share, 1.0)
    if found is None:
        return to_weights(problem.constant_kernel), 1.0
    low, high = share / 2, share
    for _ in range(8):
        middle = (low + high) / 2
        tried = _mixed(problem, kernel, constant, middle)
        if tried is None:
            low = middle
        else:
            high, found = middle, tried
    return found, high


def _mixed(
    problem: AnyProblem, kernel: NDArray[np.float64], constant: NDArray[np.float64], share: float
) -> NDArray[np.int64] | None:
    mixed = (1 - share) * kernel + share * constant
    weights, _ = repair_kernel(mixed, problem.inner, problem.bounds)
    return weights if _kept(problem, weights) else None


def _kept(problem: AnyProblem, weights: NDArray[np.int64]) -> bool:
    mechanism = Mechanism.from_weights(weights, DENOMINATOR_BITS, problem.inner.labels)
    # Symbols of zero mass are not among the inner ones, though notions may name them: budgets are
    # asked, as check() would object.
    return all(
        notion.check(mechanism, problem.inner).verdict is Verdict.YES
        if not isinstance(notion, AverageNotion)
        else all(b.spent(mechanism).verdict is Verdict.YES for b in notion.budgets(problem.inner))
        for notion in problem.others
    )
