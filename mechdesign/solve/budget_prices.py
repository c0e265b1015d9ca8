"""Prices of budgets: of constraints on a sum over outcomes, for notions that average."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exact import exp_upper
from ..mechanism import Mechanism
from ..privacy.averaging import AverageNotion, least_level
from ..privacy.budgets import Budget, Excess, Information, Peak, Trough
from ..privacy.notion import PrivacyNotion
from .average import BudgetDuals, best_averages, minorants
from .methods import Duals
from .problem import Problem

Array = NDArray[np.float64]
# A δ of which this share or less is left is used up.
_USED_UP = 1e-6


@dataclass(frozen=True)
class BudgetPrice:
    """What a budget's limit is worth; see :class:`.shadow_prices.PricedConstraint`."""

    notion: PrivacyNotion
    over: str
    under: str
    slack: float
    price: float
    per_nat: float


def budget_weights(
    problem: Problem, duals: Duals, mechanism: Mechanism
) -> tuple[list[BudgetPrice], Array]:
    """Prices of every budget, and what they take off the gains, ``(n, M)``."""
    pull = np.zeros(problem.shape)
    found = best_averages(problem, duals)
    prices: list[BudgetPrice] = []
    if found is None:
        return prices, pull
    _, budgets, numbers = found
    inner = Mechanism.from_weights(
        mechanism.weights[problem.kept], mechanism.bits, problem.inner.labels, mechanism.outputs
    )
    owners = [
        notion
        for notion in problem.others
        if isinstance(notion, AverageNotion)
        for budget in notion.budgets(problem.inner)
        if not budget.is_vacuous
    ]
    for notion, budget, duals_of_it in zip(owners, budgets, numbers, strict=True):
        pull += minorants(budget, duals_of_it)[1]
        prices += _prices(notion, budget, duals_of_it, inner)
    return prices, pull


def _prices(
    notion: PrivacyNotion, budget: Budget, numbers: BudgetDuals, inner: Mechanism
) -> list[BudgetPrice]:
    first = np.where(np.isfinite(numbers[0]), np.maximum(numbers[0], 0.0), 0.0)
    if isinstance(budget, Excess):
        return _excess_prices(notion, budget, first, inner)
    spent = budget.spent(inner)
    slack = max(budget.epsilon - spent.level, 0.0)
    if isinstance(budget, Peak):
        # Σ_y max_x K[x,y] ≤ e^ε
        price = float(first.sum(axis=0).max())
        per_nat = price * math.exp(budget.epsilon)
    elif isinstance(budget, Trough):
        # −Σ_y min_x K[x,y] ≤ −e^-ε
        price = float(first.sum(axis=0).min())
        per_nat = price * math.exp(-budget.epsilon)
    else:
        assert isinstance(budget, Information)
        price = per_nat = float(first.ravel()[0])
    return [BudgetPrice(notion, spent.over, spent.under, slack, price, per_nat)]


def _excess_prices(
    notion: PrivacyNotion, budget: Excess, shares: Array, inner: Mechanism
) -> list[BudgetPrice]:
    """Σ_y max((μᵀK)_y − e^ε (νᵀK)_y, 0) ≤ δ: the price is that of δ."""
    over: Array = budget.over.matrix @ inner.kernel
    under: Array = budget.under.matrix @ inner.kernel
    factor = exp_upper(budget.epsilon)
    found = []
    for i in np.flatnonzero(shares.any(axis=1)).tolist():
        # Where all of δ is used on what ν rules out, no level is too small: δ is what binds.
        spent = float(np.maximum(over[i] - factor * under[i], 0.0).sum())
        used_up = spent >= budget.delta * (1 - _USED_UP)
        slack = 0.0 if used_up else budget.epsilon - least_level(over[i], under[i], budget.delta)
        found.append(
            BudgetPrice(
                notion,
                budget.over.names[i],
                budget.under.names[i],
                max(slack, 0.0),
                float(shares[i].max()),
                factor * float(shares[i] @ under[i]),
            )
        )
    return found
