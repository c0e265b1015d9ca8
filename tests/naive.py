"""Naive formulations: dense linear programs with every pair written out, on plain arrays.

Nothing here imports the package. Each inequality (μᵀk)_y ≤ e^ε (νᵀk)_y is divided by e^ε, so that
coefficients stay at most one in size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Row = NDArray[np.float64]


def pml_rows(p: Row, epsilon: float) -> list[Row]:
    """e^-ε k_x ≤ Σ p k for every x."""
    return [math.exp(-epsilon) * _point(len(p), x) - p for x in range(len(p))]


def pmc_rows(p: Row, epsilon: float) -> list[Row]:
    """e^-ε Σ p k ≤ k_x for every x."""
    return [math.exp(-epsilon) * p - _point(len(p), x) for x in range(len(p))]


def lip_rows(p: Row, epsilon: float) -> list[Row]:
    """Both sides at one level."""
    return pml_rows(p, epsilon) + pmc_rows(p, epsilon)


def alip_rows(p: Row, epsilon_l: float, epsilon_u: float) -> list[Row]:
    """Both sides, each at its level."""
    return pmc_rows(p, epsilon_l) + pml_rows(p, epsilon_u)


def ldp_rows(p: Row, epsilon: float) -> list[Row]:
    """e^-ε k_x ≤ k_x' for every ordered pair."""
    n = len(p)
    return [
        math.exp(-epsilon) * _point(n, x) - _point(n, other)
        for x in range(n)
        for other in range(n)
        if x != other
    ]


def ratio_rows(pairs: Iterable[tuple[Row, Row, float]]) -> list[Row]:
    """e^-ε μᵀk ≤ νᵀk for listed triples (μ, ν, ε)."""
    return [math.exp(-level) * np.asarray(mu) - np.asarray(nu) for mu, nu, level in pairs]


ROWS = {"pml": pml_rows, "pmc": pmc_rows, "lip": lip_rows, "alip": alip_rows, "ldp": ldp_rows}


def optimum(p: Row, u: NDArray[np.float64], rows: list[Row]) -> float:
    """Max Σ p_x u_xy K_xy over kernels whose columns k all satisfy ``row @ k <= 0``."""
    n, m = u.shape
    cost = -(p[:, None] * u).ravel()
    sums = np.zeros((n, n * m))
    for x in range(n):
        sums[x, x * m : (x + 1) * m] = 1.0
    privacy = np.zeros((len(rows) * m, n * m))
    for r, row in enumerate(rows):
        for y in range(m):
            privacy[r * m + y, y::m] = row
    answer = linprog(
        cost,
        A_ub=privacy if rows else None,
        b_ub=np.zeros(len(privacy)) if rows else None,
        A_eq=sums,
        b_eq=np.ones(n),
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    return -float(answer.fun)


def _point(n: int, x: int) -> Row:
    row = np.zeros(n)
    row[x] = 1.0
    return row
