"""The interior point from inside: starts, weighted targets, row sums, warm starts, pricing."""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.program.problem import state_problem
from mechdesign.program.program import TwoSided
from mechdesign.solve.interior_point import Structured
from mechdesign.solve.interior_point.pricing import best_columns
from mechdesign.solve.interior_point.structured import (
    cone_of,
    solve_columns,
)

SIDES = {
    "ratio": TwoSided(0.0, np.inf, 2.7),
    "upper": TwoSided(0.0, 2.7, np.inf),
    "both": TwoSided(0.3, 2.7, np.inf),
}
kinds = for_each("kind", SIDES)


def objectives(seed, n, m):
    """A prior, and objectives of outputs of order one or less."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n))
    return p, p * (rng.random((m, n)) - 1)


# Outputs that leave and return


# Warm starts


def solved(kind, seed=0, n=12, m=9):
    p, c = objectives(seed, n, m)
    found = solve_columns(p, c, cone_of(SIDES[kind]), np.arange(m))
    assert found.converged
    assert found.warm_start is not None
    point = found.warm_start.point
    assert 3e-9 < np.vdot(point.slacks, point.multipliers) <= 2e-2
    return p, c, found


def moved(kind, factor):
    sides = SIDES[kind]
    if kind == "ratio":
        return TwoSided(0.0, np.inf, sides.ratio**factor)
    return TwoSided(sides.lower**factor if sides.lower else 0.0, sides.upper**factor, np.inf)


@kinds
def test_a_warm_start_takes_fewer_steps(kind):
    p, c, found = solved(kind, 3, 30, 30)
    cone, outputs = cone_of(moved(kind, 1.05)), np.arange(30)
    near = solve_columns(p, c, cone, outputs, warm_start=found.warm_start)
    cold = solve_columns(p, c, cone, outputs)
    assert near.converged
    assert near.iterations < cold.iterations


def test_a_warm_start_over_other_symbols_is_not_used():
    rng = np.random.default_rng(2)
    small, large = (
        state_problem(
            md.Prior.from_counts(rng.dirichlet(np.ones(n))),
            md.utility.Matrix(rng.random((n, 30))),
            md.PML(1),
        ).program
        for n in (10, 30)
    )
    near = Structured().solve(large, Structured().solve(small))
    assert near.details["converged"] == "True"


# Duals are only good once the scales balance, too


def test_it_does_not_stop_before_scales_balance():
    n = 100
    p = np.full(n, 0.01 / (n - 1))
    p[0] = 0.99
    found = md.design(
        md.Prior.from_counts(p), md.utility.Hamming(), md.LDP(10), solver="structured"
    )
    assert found.gap <= 1e-8


# Pricing of outputs that were left out


@kinds
@given(seed=st.integers(0, 10**6), n=st.integers(1, 9), decades=st.integers(0, 12))
def test_prices_agree_with_a_linear_program(kind, seed, n, decades):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n)) * 10.0 ** -rng.uniform(0, decades, n)
    p /= p.sum()
    sides, reduced = SIDES[kind], p * rng.normal(size=(3, n))
    found = best_columns(reduced, p, sides)
    cone = cone_of(sides)
    # Over masses p_x k_x and t: l t ≤ k ≤ h t, where t = pᵀk = 1 or is free.
    rows = np.block([[np.eye(n), -cone.upper * p[:, None]], [-np.eye(n), cone.lower * p[:, None]]])
    equal = [[1.0] * n + [0.0]] + ([[0.0] * n + [1.0]] if cone.linked else [])
    for w, support in zip(reduced, found, strict=True):
        best = linprog([*(-w / p), 0], rows, np.zeros(2 * n), equal, np.ones(len(equal)), (0, None))
        assert support == pytest.approx(-best.fun, abs=1e-6)
