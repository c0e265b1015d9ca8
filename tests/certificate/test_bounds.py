"""Upper bounds: true for any dual numbers, tight for good ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import (
    cone_of,
    levels,
    notions,
    problems,
    random_gains,
    random_level,
    random_masses,
)

import mechdesign as md
from mechdesign.certificate.bounds import multiplier_bound, price_bound, trivial_bound, upper_bound
from mechdesign.certificate.repair import repair_kernel
from mechdesign.exact import exp_bounds
from mechdesign.privacy import Bound, Hypotheses
from mechdesign.privacy.constraint import Rounding, inner_factor
from mechdesign.privacy.rows import cone_rows
from mechdesign.program import rational
from mechdesign.program.duals import Duals
from mechdesign.program.problem import state_problem
from mechdesign.program.program import Cone, TwoSided
from mechdesign.solve.choice import choose

HUGE = Fraction(10) ** 9


def exact_value(program, weights):
    """Σ p u K in rationals, on the exact prior."""
    prior = program.prior
    return sum(
        prior.mass(x) * Fraction(float(program.gains[x, y])) * Fraction(int(w), 2**53)
        for x, row in enumerate(weights)
        for y, w in enumerate(row)
    )


def best_known(problem):
    """Exact value of a private kernel within 1e-6 of the optimum, and the duals that came along."""
    program = problem.program
    candidate = choose(problem).method.solve(program)
    weights, _ = repair_kernel(candidate.kernel, program.cone)
    return exact_value(program, weights), candidate.duals


def dual_numbers(size=6.0):
    """Numbers of any sign, over many orders of magnitude."""
    return st.one_of(
        st.floats(-2, 2),
        st.tuples(st.sampled_from([-1, 1]), st.floats(-12, size)).map(lambda t: t[0] * 10 ** t[1]),
        st.just(0.0),
    )


@st.composite
def duals_for(draw, program, entry=None):
    entry = entry or dual_numbers()
    n, m = program.shape

    def array(*shape):
        count = math.prod(shape)
        return np.array(draw(st.lists(entry, min_size=count, max_size=count))).reshape(shape)

    multipliers = tuple(
        tuple(array(*numbers.shape) for numbers in part) for part in program.cone.no_duals(m)
    )
    return Duals(array(n), multipliers)


# Any dual numbers give a true bound


@given(st.data())
def test_any_duals_bound_the_optimum(data):
    problem = data.draw(problems())
    reached, good = best_known(problem)
    program = problem.program
    duals = data.draw(duals_for(program))
    bound, _ = upper_bound(program, duals)
    assert Fraction(bound) >= reached
    # So does each bound on its own, near the good ones and far from them.
    assert Fraction(trivial_bound(program)) >= reached
    assert Fraction(multiplier_bound(program, duals.multipliers)) >= reached
    sides = program.cone.two_sided(Rounding.OUTSIDE)
    assert Fraction(price_bound(program, duals.prices, sides)) >= reached
    if good.prices is not None:
        near = good.prices * (1 + 1e-3 * np.tanh(duals.prices))
        assert Fraction(price_bound(program, near, sides)) >= reached


@given(st.data())
def test_matched_pairs_with_any_multipliers(data):
    prior = md.Prior.from_counts([3, 1, 2], [0, 1, 3])
    epsilon = data.draw(levels(1e-3, 5))
    over, under = Hypotheses.points(prior, [0, 1, 1, 2]), Hypotheses.points(prior, [1, 0, 2, 1])

    class Line(md.LikelihoodBound, register=False):
        epsilon = 1.0

        def bounds(self, prior):
            return [Bound(over, under, epsilon, pairing="matched", scales=(1, 1, 2, 2))]

        def leakage(self, kernel, prior):
            return np.zeros(kernel.shape[1])

    gains = np.array([[1.0, 0, -1], [0, 1, 0], [-1, 0.5, 1]])
    problem = state_problem(prior, md.utility.Matrix(gains), Line())
    reached, good = best_known(problem)
    duals = data.draw(duals_for(problem.program))
    bound, source = upper_bound(problem.program, duals)
    assert Fraction(bound) >= reached
    assert source in ("best output of every symbol", "multipliers")
    tight, source = upper_bound(problem.program, good)
    assert source == "multipliers"
    assert Fraction(tight) - reached < Fraction(1e-9)


@for_each("bad", [math.nan, math.inf, -math.inf, -1.0, 1e300, -1e300])
def test_numbers_that_make_no_sense_still_bound(bad):
    prior, utility = md.Prior([0.5, 0.3, 0.2]), md.utility.Distance("absolute")
    problem = state_problem(prior, utility, md.LIP(0.3))
    reached, good = best_known(problem)
    for spoil in (np.full_like(good.prices, bad), np.append(good.prices[:-1], bad)):
        bound, _ = upper_bound(problem.program, Duals(spoil, None))
        assert reached <= Fraction(bound) <= HUGE
    spoiled = tuple(tuple(np.full_like(w, bad) for w in weights) for weights in good.multipliers)
    bound, _ = upper_bound(problem.program, Duals(None, spoiled))
    assert reached <= Fraction(bound) <= HUGE


def test_without_duals_the_bound_is_what_needs_no_privacy():
    asked = state_problem(md.Prior([0.5, 0.3, 0.2]), md.utility.Hamming(), md.LIP(0.3))
    trivial = trivial_bound(asked.program)
    assert upper_bound(asked.program, Duals()) == (trivial, "best output of every symbol")
    assert trivial == pytest.approx(1.0, abs=1e-12)


# Good ones are tight


@given(problems(low=1e-2, high=10))
def test_duals_of_a_solution_are_tight(problem):
    reached, duals = best_known(problem)
    program = problem.program
    bound, _ = upper_bound(program, duals)
    assert Fraction(bound) - reached <= Fraction(1e-8) * max(1, Fraction(program.gain_range))


def precise(level):
    return sum(exp_bounds(Fraction(level))) / 2


@for_each("seed", slow_but(4, range(60)))
def test_bounds_hold_in_exact_arithmetic(seed):
    """Where a formula gives the optimum exactly, the float bound is at or above it."""
    rng = np.random.default_rng([21, seed])
    n, m = int(rng.integers(2, 8)), int(rng.integers(2, 8))
    kind = ("dirichlet", "zipf", "uniform", "atom 1e-9")[seed % 4]
    prior = md.Prior.from_counts(random_masses(rng, n, kind))
    gains = random_gains(rng, n, m)
    p = [prior.mass(x) for x in range(n)]
    u = [[Fraction(float(v)) for v in row] for row in gains]
    mean = [sum(p[x] * u[x][y] for x in range(n)) for y in range(m)]
    level = random_level(rng, 1e-3, 20)
    low = 1 / precise(level)
    pmc = sum(p[x] * max(low * mean[y] + (1 - low) * u[x][y] for y in range(m)) for x in range(n))
    upper = -math.log1p(-prior.pmin) * float(rng.uniform(0.1, 0.99))
    high = precise(upper)
    pml = sum(p[x] * max(high * mean[y] - (high - 1) * u[x][y] for y in range(m)) for x in range(n))
    for notion, optimum in ((md.PMC(level), pmc), (md.PML(upper), pml)):
        for solver in ("auto", "highs-simplex"):
            asked = state_problem(prior, md.utility.Matrix(gains), notion)
            found = md.design(prior, md.utility.Matrix(gains), notion, solver=solver)
            assert Fraction(found.bound) >= optimum
            assert exact_value(asked.program, found.mechanism.weights) <= optimum
            assert Fraction(found.bound) - optimum < Fraction(1e-8)


# Factors


@given(levels(1e-17, 2000))
def test_outer_factors_are_never_below_the_level(level):
    lo, hi = exp_bounds(Fraction(level))
    points = Hypotheses.points(md.Prior.uniform(2))
    (outer,) = Bound(points, points, level).factors(Rounding.OUTSIDE)
    assert outer == math.inf or Fraction(outer) >= lo
    if level < 600:
        assert outer < float(hi) * (1 + 1e-15)


@given(levels(1e-17, 2000))
def test_inner_factors_are_never_above_the_level(level):
    lo, hi = exp_bounds(Fraction(level))
    inner = inner_factor(level)
    assert 1 <= Fraction(inner) <= hi
    if 1e-3 < level < 600:
        assert inner > float(lo) * (1 - 1e-9)


@given(notions(low=1e-2, high=5))
def test_two_sided_cones_are_recognised_by_their_pairs(notion):
    prior = md.Prior.from_counts([5, 3, 2])
    sides = cone_of(notion, prior).two_sided(Rounding.OUTSIDE)
    name, top = type(notion).__name__, notion.levels[-1]
    expected = TwoSided(
        math.exp(-notion.levels[0]) if name in ("PMC", "LIP", "ALIP") else 0.0,
        math.exp(top) if name in ("PML", "LIP", "ALIP") else math.inf,
        math.exp(top) if name in ("LDP", "FreeLunch") else math.inf,
    )
    assert sides.lower == pytest.approx(expected.lower, rel=1e-14)
    assert sides.upper == pytest.approx(expected.upper, rel=1e-14)
    assert sides.ratio == pytest.approx(expected.ratio, rel=1e-14)


def test_other_pairs_are_not_a_two_sided_cone():
    prior = md.Prior.from_counts([5, 3, 2])
    points, whole = Hypotheses.points(prior), Hypotheses.prior(prior)
    some = Hypotheses.points(prior, [0, 1])
    other = Hypotheses.mixtures([[1, 1, 1]])
    for bound in (
        Bound(some, whole, 1.0),
        Bound(points, other, 1.0),
        Bound(points, points, 1.0, pairing="matched"),
    ):
        assert outside(bound, prior) is None
    assert outside(Bound(whole, whole, 1.0), prior) == TwoSided(0, math.inf, math.inf)


def outside(bound, prior):
    return Cone(prior, (cone_rows(bound),)).two_sided(Rounding.OUTSIDE)


# Support functions against a program for one column


def column_supremum(w, p, lower, upper, ratio):
    """sup ⟨w, k⟩ over l ≤ k ≤ h, max k ≤ r min k, pᵀk = 1, by a dense program."""
    n = len(p)
    rows = []
    if ratio < math.inf:
        rows = [np.eye(n)[i] / ratio - np.eye(n)[j] for i in range(n) for j in range(n) if i != j]
    answer = linprog(
        -w,
        A_ub=np.array(rows) if rows else None,
        b_ub=np.zeros(len(rows)) if rows else None,
        A_eq=p[None, :],
        b_eq=[1.0],
        bounds=(lower, None if upper == math.inf else upper),
    )
    assert answer.status == 0
    return -answer.fun


@for_each("seed", slow_but(4, range(40)))
def test_greedy_supports_are_the_supremum_of_a_column(seed):
    rng = np.random.default_rng([22, seed])
    n = int(rng.integers(2, 7))
    prior = md.Prior.from_counts(random_masses(rng, n, "dirichlet"))
    p = prior.probabilities
    gains, prices = rng.uniform(-1, 1, (n, 1)), rng.uniform(-0.5, 0.5, n)
    low, high, ratio = (random_level(rng, 0.05, 4) for _ in range(3))
    for notion, limits in (
        (md.PML(high), (0, math.exp(high), math.inf)),
        (md.PMC(low), (math.exp(-low), math.inf, math.inf)),
        (md.ALIP(low, high), (math.exp(-low), math.exp(high), math.inf)),
        (md.LDP(ratio), (0, math.inf, math.exp(ratio))),
    ):
        problem = state_problem(prior, md.utility.Matrix(gains), notion)
        sides = problem.program.cone.two_sided(Rounding.OUTSIDE)
        w = problem.program.objective[:, 0] - prices
        expected = math.fsum(prices) + column_supremum(w, p, *limits)
        assert price_bound(problem.program, prices, sides) == pytest.approx(expected, abs=1e-8)


@for_each("zeros", [False, True])
@for_each(
    "sides", [TwoSided(0.0, 2.5, math.inf), TwoSided(0.2, 3.0, math.inf), TwoSided(0, math.inf, 4)]
)
def test_columns_that_nearly_tie_are_all_compared_exactly(sides, zeros):
    # All suprema agree to fifteen digits; the largest is among those that floats cannot tell apart.
    rng = np.random.default_rng(6)
    n, m = 12, 40
    prior = md.Prior.from_counts(rng.random(n) + 0.05)
    gains = rng.random((n, 1)) * (1 + 1e-15 * rng.integers(-2, 3, (n, m)))
    subject_to = md.require.zero(0, 0) if zeros and not sides.lower else ()
    utility = md.utility.Matrix(gains.tolist(), list(range(m)))
    program = state_problem(prior, utility, md.PML(2), subject_to=subject_to).program
    prices = rng.random(n) * prior.probabilities
    per_mass = prices / program.prior.probabilities
    high, low = rational.difference(gains, per_mass[:, None])
    suprema = [
        rational.column_supremum(
            prior, high[:, y], low[:, y], sides.lower, sides.upper, sides.ratio
        )
        for y in range(program.forbidden is not None, m)
    ]
    assert len(set(suprema)) > 10
    assert price_bound(program, prices, sides) == rational.mean_of(prior, per_mass) + max(suprema)
