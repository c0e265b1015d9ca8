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
from mechdesign.solve.interior_point.newton import Newton, StructuredOptions
from mechdesign.solve.interior_point.pricing import best_columns
from mechdesign.solve.interior_point.screening import Screen, central_columns
from mechdesign.solve.interior_point.structured import (
    central_point,
    cone_of,
    relative_targets,
    solve_columns,
    warm_point,
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


def begun(kind, p, c, options=None, **keywords):
    """The iteration at its central start."""
    targets = relative_targets(c, 0.5)
    start = central_point(c, cone_of(SIDES[kind]), targets, 3.0)
    return Newton(p, c, targets, start, options or StructuredOptions(), **keywords)


def started(kind, steps, n=12, m=9, seed=0, **keywords):
    state = begun(kind, *objectives(seed, n, m), **keywords)
    for _ in range(steps):
        state.iterate(state.gap())
    return state


def assert_consistent(point, p):
    """Strictly inside, both slacks of one column, and t = pᵀk where the lift is bounded."""
    assert point.slacks.min() > 0
    np.testing.assert_allclose(
        point.slacks.sum(axis=0),
        (point.cone.upper - point.cone.lower) * point.scales[:, None] * np.ones(len(p)),
        rtol=1e-9,
    )
    if point.cone.linked:
        np.testing.assert_allclose(point.columns @ p, point.scales, rtol=1e-9)


@kinds
@for_each("steps", [0, 1, 5])
def test_points_stay_inside_and_consistent(kind, steps):
    state = started(kind, steps)
    assert_consistent(state.point, state.p)
    np.testing.assert_allclose(state.point.columns.sum(axis=0), 1, atol=1e-12)


@kinds
def test_outputs_that_step_on_their_own_leave_rows_to_the_next_steps(kind):
    """Rows are off by what is said to be missing, and in order where the iteration ends."""
    own = StructuredOptions(own_entries=0)
    state, largest = started(kind, 0, n=40, m=60, options=own), 0.0
    for _ in range(8):
        state.iterate(state.gap())
        assert_consistent(state.point, state.p)
        missing = 1 - state.point.columns.sum(axis=0)
        np.testing.assert_allclose(state.row_residual(), missing, atol=1e-12)
        largest = max(largest, float(np.abs(missing).max()))
    assert largest > 1e-6  # a control: some did
    while state.gap() > 1e-9:
        state.iterate(state.gap())
    np.testing.assert_allclose(state.point.columns.sum(axis=0), 1, atol=1e-8)
    assert state.lack <= 1e-8


@kinds
def test_the_residual_is_what_it_says(kind):
    """It is only updated by step lengths; measured afresh it is the same."""
    state = started(kind, 4)
    z, point = state.point.multipliers, state.point
    off = state.c - point.prices + z[0] - z[1] - point.link[:, None] * state.p
    cone = point.cone
    unbalanced = cone.lower * z[0].sum(axis=1) - cone.upper * z[1].sum(axis=1) - point.link
    fresh = np.abs(off).max(axis=0).sum() + np.abs(unbalanced).max() * point.scales.sum()
    assert state.residual == pytest.approx(fresh, rel=1e-6, abs=1e-13)


@kinds
def test_products_start_at_their_targets(kind):
    """What symbol x's products come to is in proportion to its target."""
    rng = np.random.default_rng(1)
    p, c = objectives(1, 8, 6)
    c = c * 10.0 ** -rng.uniform(0, 3, 8)
    targets = relative_targets(c, 0.5)
    assert targets.mean() == pytest.approx(1)
    assert targets.max() > 5 * targets.min()
    point = begun(kind, p, c).point
    products = (point.slacks * point.multipliers).mean(axis=(0, 1))
    np.testing.assert_allclose(products / products.mean(), targets, rtol=1e-12)


def test_targets_have_a_floor_and_exist_when_nothing_is_at_stake():
    c = np.zeros((4, 3))
    np.testing.assert_array_equal(relative_targets(c, 0.5), 1)
    c[0] = [1.0, 1e-8, 1e-300]
    targets = relative_targets(c, 0.5)
    assert targets[1] / targets[0] == pytest.approx(1e-4)
    assert targets[2] / targets[0] == pytest.approx(1e-6)


@kinds
@for_each("steps", [2, 5])
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
    assert np.abs(state.row_residual()).max() > 1e-8
    state.restore_rows()
    assert np.abs(state.row_residual()).max() <= 1e-10
    assert_consistent(state.point, p)
    assert state.gap() == pytest.approx(gap, rel=0.01)


@kinds
def test_a_restoration_that_makes_it_worse_is_taken_back_whole(kind):
    state = started(kind, 3)
    state.point.slacks[:, 0, 0] *= 1 + 1e-3
    before = state.point.on(np.ones(9, dtype=bool))
    state.gamma *= -1e-6  # scales move far and the wrong way
    state.restore_rows()
    for name in ("slacks", "multipliers", "scales", "prices", "link"):
        np.testing.assert_array_equal(getattr(state.point, name), getattr(before, name))


# Outputs that leave and return


@kinds
@for_each("spread", [0, 6])
def test_columns_that_return_are_about_where_the_central_path_has_them(kind, spread):
    """Inside, with the mass asked for, stationary, and with products near their targets."""
    rng = np.random.default_rng(3)
    p = 10.0 ** -rng.uniform(0, spread, 20)
    p /= p.sum()
    reduced = p * rng.normal(size=(5, 20)) * 10.0 ** -rng.uniform(0, spread, (5, 1))
    masses, products = 10.0 ** -rng.uniform(1, 5, 5), 10.0 ** -rng.uniform(6, 8, 20)
    point = central_columns(reduced, p, cone_of(SIDES[kind]), masses, products)
    assert_consistent(point, p)
    np.testing.assert_array_equal(point.scales, masses)
    z = point.multipliers
    assert z.min() > 0
    np.testing.assert_allclose(
        reduced - point.link[:, None] * p, z[1] - z[0], rtol=1e-9, atol=1e-14
    )
    share = point.slacks * z / products
    assert np.quantile(share, 0.01) > 0.3
    assert np.quantile(share, 0.99) < 3


@kinds
def test_who_leaves_makes_room_and_who_returns_takes_it(kind):
    state = started(kind, 5, n=12, m=30)
    whole = state.point.scales.sum()
    kept = np.arange(30) >= 10
    c = state.c
    state.keep(kept)
    assert_consistent(state.point, state.p)
    assert state.point.scales.sum() == pytest.approx(whole, rel=1e-12)
    masses = np.full(10, 1e-3 * whole)
    reduced = c[:10] - state.point.prices
    back = central_columns(reduced, state.p, state.point.cone, masses, np.full(12, 1e-8))
    state.add(c[:10], back)
    assert_consistent(state.point, state.p)
    assert state.point.scales.sum() == pytest.approx(whole, rel=1e-12)
    np.testing.assert_array_equal(state.c, np.r_[c[kept], c[:10]])
    while state.gap() > 1e-9:
        state.iterate(state.gap())
    np.testing.assert_allclose(state.point.columns.sum(axis=0), 1, atol=1e-8)
    # Optimal on all outputs, whoever left and returned.
    whole_way = started(kind, 0, n=12, m=30)
    while whole_way.gap() > 1e-9:
        whole_way.iterate(whole_way.gap())
    values = [float((s.c * s.point.columns).sum()) for s in (state, whole_way)]
    assert values[0] == pytest.approx(values[1], abs=1e-7)


@kinds
def test_what_vanished_by_its_price_does_not_return(kind):
    """Outputs with nothing to offer leave and stay outside."""
    p, c = objectives(0, 12, 30)
    worse = np.arange(30) % 2 == 0
    c[worse] -= 0.5 * p
    state = begun(kind, p, c)
    screen = Screen(state, np.arange(30), SIDES[kind])
    while state.gap() > 1e-4:
        state.iterate(state.gap())
    screen.drop_vanished()
    left = set(range(30)) - set(screen.outputs)
    assert set(np.flatnonzero(worse)) <= left
    while state.gap() > 1e-6:
        state.iterate(state.gap())
        screen.bring_back(state.gap())
        assert not set(np.flatnonzero(worse)) & set(screen.outputs)


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
@given(factor=st.floats(0.02, 8))
def test_a_start_under_other_levels_is_inside(kind, factor):
    p, _, found = solved(kind)
    point = warm_point(cone_of(moved(kind, factor)), found.warm_start.point)
    assert_consistent(point, p)
    assert point.multipliers.min() > 0


@kinds
@for_each("factor", [0.1, 0.9, 1.1, 4.0])
def test_a_warm_start_ends_where_the_centre_leads(kind, factor):
    p, c, found = solved(kind)
    cone, outputs = cone_of(moved(kind, factor)), np.arange(len(c))
    near = solve_columns(p, c, cone, outputs, warm_start=found.warm_start)
    cold = solve_columns(p, c, cone, outputs)
    values = [float((c[f.outputs] * f.columns).sum()) for f in (near, cold)]
    assert values[0] == pytest.approx(values[1], abs=1e-8)


@kinds
def test_a_warm_start_takes_fewer_steps(kind):
    p, c, found = solved(kind, 3, 30, 30)
    cone, outputs = cone_of(moved(kind, 1.05)), np.arange(30)
    near = solve_columns(p, c, cone, outputs, warm_start=found.warm_start)
    cold = solve_columns(p, c, cone, outputs)
    assert near.converged
    assert near.iterations < cold.iterations


def test_a_warm_start_on_fewer_outputs():
    _, _, found = solved("upper")
    part = found.warm_start.on(np.array([1, 4, 7]))
    np.testing.assert_array_equal(part.outputs, [1, 4, 7])
    np.testing.assert_array_equal(part.point.slacks, found.warm_start.point.slacks[:, [1, 4, 7]])
    assert part.on(np.array([1, 2])) is None


@pytest.mark.parametrize("change", [(md.LDP, md.PML), (md.PML, md.LDP), (md.PML, md.LIP)])
def test_a_warm_start_of_another_kind_does_no_harm(change):
    first, second = change
    prior = md.Prior.from_counts(np.random.default_rng(0).dirichlet(np.ones(30)))
    utility = md.utility.Matrix(np.random.default_rng(1).random((30, 30)))
    before = Structured().solve(state_problem(prior, utility, first(1.0)).program)
    program = state_problem(prior, utility, second(1.0)).program
    near, cold = Structured().solve(program, before), Structured().solve(program)
    values = [float((program.objective * c.kernel).sum()) for c in (near, cold)]
    assert values[0] == pytest.approx(values[1], abs=1e-7)


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


@kinds
@for_each("block", [40, 10**6])
def test_steps_in_blocks_change_nothing(kind, block):
    whole, cut = started(kind, 5), started(kind, 5, block=block)
    np.testing.assert_allclose(cut.point.columns, whole.point.columns, rtol=1e-7)
    np.testing.assert_allclose(cut.point.prices, whole.point.prices, rtol=1e-7, atol=1e-12)
