"""The interior point from inside: starts, weighted aims, row sums, and what neighbours remember."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.certificate import bounds
from mechdesign.solve import interior_point, newton
from mechdesign.solve.interior_point import solve_columns
from mechdesign.solve.newton import Newton
from mechdesign.solve.problem import state_problem
from mechdesign.solve.program import TwoSided
from mechdesign.solve.structured import Structured

SIDES = {
    "ratio": TwoSided(0.0, np.inf, 2.7),
    "upper": TwoSided(0.0, 2.7, np.inf),
    "both": TwoSided(0.3, 2.7, np.inf),
}
kinds = pytest.mark.parametrize("kind", SIDES)


def worths(seed, n, m):
    """A prior, and worth of outputs of order one or less."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n))
    return p, p * (rng.random((m, n)) - 1)


def started(kind, steps, n=12, m=9, seed=0):
    p, c = worths(seed, n, m)
    aims = interior_point._aims(c)
    state = Newton(p, c, aims, interior_point._central(c, SIDES[kind], aims))
    for _ in range(steps):
        state.iterate(state.gap())
    return state


def assert_consistent(point, p):
    """Strictly inside, both slacks of one column, and t = pᵀk where the lift is bounded."""
    assert point.slacks.min() > 0
    np.testing.assert_allclose(
        point.slacks.sum(axis=0),
        (point.upper - point.lower) * point.scales[:, None] * np.ones(len(p)),
        rtol=1e-9,
    )
    if point.link:
        np.testing.assert_allclose(point.columns @ p, point.scales, rtol=1e-9)


@kinds
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_points_stay_inside_and_consistent(kind, steps):
    state = started(kind, steps)
    assert_consistent(state.point, state.p)
    np.testing.assert_allclose(state.point.columns.sum(axis=0), 1, atol=1e-12)


@kinds
def test_the_residual_is_what_it_says(kind):
    """It is only updated by step lengths; measured afresh it is the same."""
    state = started(kind, 4)
    z, point = state.point.weights, state.point
    off = state.c - point.prices + z[0] - z[1] - point.theta[:, None] * state.p
    unbalanced = point.lower * z[0].sum(axis=1) - point.upper * z[1].sum(axis=1) - point.theta
    fresh = np.abs(off).max(axis=0).sum() + np.abs(unbalanced).max() * point.scales.sum()
    assert state.residual == pytest.approx(fresh, rel=1e-6, abs=1e-13)


@kinds
def test_products_follow_their_aims(kind):
    """On the way, what symbol x's products come to is in proportion to its aim."""
    rng = np.random.default_rng(1)
    p, c = worths(1, 8, 6)
    c = c * 10.0 ** -rng.uniform(0, 3, 8)
    aims = interior_point._aims(c)
    assert aims.mean() == pytest.approx(1)
    assert aims.max() > 5 * aims.min()
    state = Newton(p, c, aims, interior_point._central(c, SIDES[kind], aims))
    products = (state.point.slacks * state.point.weights).mean(axis=(0, 1))
    np.testing.assert_allclose(products / products.mean(), aims, rtol=1e-12)


def test_aims_have_a_floor_and_exist_when_nothing_is_at_stake():
    c = np.zeros((4, 3))
    np.testing.assert_array_equal(interior_point._aims(c), 1)
    c[0] = [1.0, 1e-8, 1e-300]
    aims = interior_point._aims(c)
    assert aims.min() / aims.max() == pytest.approx(interior_point._LEAST_AIM)


@kinds
@pytest.mark.parametrize("steps", [2, 5])
def test_row_sums_are_restored(kind, steps):
    state = started(kind, steps)
    point, p = state.point, state.p
    # Two rows are off, the link is kept.
    shift = np.zeros_like(point.slacks[0])
    least = 1e-4 * (point.slacks[:, :, :2] * p[:2]).min(axis=(0, 2))
    shift[:, 0], shift[:, 1] = least / p[0], -least / p[1]
    point.slacks[0] += shift
    point.slacks[1] -= shift
    gap = state.gap()
    off = np.abs(state.rows_off()).max()
    assert off > newton._ROWS
    state.restore_rows()
    assert np.abs(state.rows_off()).max() <= newton._ROWS
    assert_consistent(state.point, p)
    assert state.gap() == pytest.approx(gap, rel=0.01)


@kinds
def test_a_restoration_that_makes_it_worse_is_taken_back_whole(kind, monkeypatch):
    state = started(kind, 3)
    state.point.slacks[:, 0, 0] *= 1 + 1e-3
    before = state.point.copy()

    def wrong(self, sought, accuracy):
        self.dt = -0.5 * self.point.scales
        self.ds[0] = -0.5 * self.point.columns

    monkeypatch.setattr(Newton, "_refine", wrong)
    state.restore_rows()
    for name in ("slacks", "weights", "scales", "prices", "theta"):
        np.testing.assert_array_equal(getattr(state.point, name), getattr(before, name))


# What a neighbour remembers


def remembered(kind, seed=0, n=12, m=9):
    p, c = worths(seed, n, m)
    found = solve_columns(p, c, SIDES[kind], 3e-9, np.arange(m))
    assert found.converged
    assert found.memory is not None
    assert 3e-9 < found.memory.gap <= interior_point._REMEMBERED
    return p, c, found


def moved(kind, factor):
    sides = SIDES[kind]
    if kind == "ratio":
        return TwoSided(0.0, np.inf, sides.ratio**factor)
    return TwoSided(sides.lower**factor if sides.lower else 0.0, sides.upper**factor, np.inf)


@kinds
@given(factor=st.floats(0.02, 8))
def test_a_start_under_other_levels_is_inside(kind, factor):
    p, _, found = remembered(kind)
    point = interior_point._near(moved(kind, factor), found.memory)
    assert_consistent(point, p)
    assert point.weights.min() > 0


@kinds
@pytest.mark.parametrize("factor", [0.1, 0.9, 1.1, 4.0])
def test_from_memory_it_ends_where_it_ends_from_the_centre(kind, factor):
    p, c, found = remembered(kind)
    sides, outputs = moved(kind, factor), np.arange(len(c))
    near = solve_columns(p, c, sides, 3e-9, outputs, memory=found.memory)
    cold = solve_columns(p, c, sides, 3e-9, outputs)
    worth = [float((c[f.outputs] * f.columns).sum()) for f in (near, cold)]
    assert worth[0] == pytest.approx(worth[1], abs=1e-8)


@kinds
def test_from_memory_it_takes_fewer_steps(kind):
    p, c, found = remembered(kind, 3, 30, 30)
    sides, outputs = moved(kind, 1.05), np.arange(30)
    near = solve_columns(p, c, sides, 3e-9, outputs, memory=found.memory)
    cold = solve_columns(p, c, sides, 3e-9, outputs)
    assert near.converged
    assert near.iterations < cold.iterations


def test_memory_on_fewer_outputs():
    _, _, found = remembered("upper")
    part = found.memory.on(np.array([1, 4, 7]))
    np.testing.assert_array_equal(part.outputs, [1, 4, 7])
    np.testing.assert_array_equal(part.point.slacks, found.memory.point.slacks[:, [1, 4, 7]])
    assert part.on(np.array([1, 2])) is None


@pytest.mark.parametrize("change", [(md.LDP, md.PML), (md.PML, md.LDP), (md.PML, md.LIP)])
def test_a_memory_of_another_kind_does_no_harm(change):
    first, second = change
    prior = md.Prior.from_counts(np.random.default_rng(0).dirichlet(np.ones(30)))
    utility = md.utility.Matrix(np.random.default_rng(1).random((30, 30)))
    before = Structured().solve(state_problem(prior, utility, first(1.0)).program)
    program = state_problem(prior, utility, second(1.0)).program
    near, cold = Structured().solve_near(program, before), Structured().solve(program)
    worth = [float((program.objective * c.kernel).sum()) for c in (near, cold)]
    assert worth[0] == pytest.approx(worth[1], abs=1e-7)


def test_a_neighbour_over_other_symbols_is_not_used():
    rng = np.random.default_rng(2)
    small, large = (
        state_problem(
            md.Prior.from_counts(rng.dirichlet(np.ones(n))),
            md.utility.Matrix(rng.random((n, 30))),
            md.PML(1),
        ).program
        for n in (10, 30)
    )
    near = Structured().solve_near(large, Structured().solve(small))
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


# Support functions in blocks


@pytest.mark.parametrize("block", [1, 7, 50, 10**6])
@kinds
def test_blocks_change_nothing(kind, block, monkeypatch):
    p, c = worths(5, 9, 23)
    whole = bounds.supports(c.T, p, SIDES[kind])
    monkeypatch.setattr(bounds, "_BLOCK", block)
    np.testing.assert_allclose(bounds.supports(c.T, p, SIDES[kind]), whole, rtol=1e-13)


@kinds
@pytest.mark.parametrize("block", [40, 10**6])
def test_steps_in_blocks_change_nothing(kind, block, monkeypatch):
    whole = started(kind, 5)
    monkeypatch.setattr(newton, "_BLOCK", block)
    cut = started(kind, 5)
    np.testing.assert_allclose(cut.point.columns, whole.point.columns, rtol=1e-7)
    np.testing.assert_allclose(cut.point.prices, whole.point.prices, rtol=1e-7, atol=1e-12)
