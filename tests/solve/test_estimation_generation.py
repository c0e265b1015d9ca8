"""Estimation designs whose columns are too many to mix at once, and extreme rays of cones."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from checks import for_each, slow_but
from estimation_cases import designed, harmonic

import mechdesign as md
from mechdesign.certificate.columns.exact_columns import extreme_rays
from mechdesign.certificate.estimation import symmetric_bound
from mechdesign.certificate.quadratic import cuts as pricing_cuts
from mechdesign.certificate.quadratic.cuts import Cuts
from mechdesign.certificate.quadratic.pricing import QuadraticPricing
from mechdesign.errors import GapWarning, NoMethodError, UntoldError
from mechdesign.program.problem import state_problem
from mechdesign.solve.estimation import generation
from mechdesign.solve.estimation.master import optimal_masses
from mechdesign.solve.estimation.method import listed
from mechdesign.utility import Estimation


def best_subsets(n, level):
    e = math.exp(level)
    return min(
        (n - 1) ** 2 * (d * e + n - d) ** 2 / (n * (e - 1) ** 2 * d * (n - d)) for d in range(1, n)
    )


@pytest.mark.parametrize(("n", "level"), slow_but(1, [(11, 2.0), (12, 0.5), (14, 1.0)]))
def test_equal_masses_under_ldp_have_the_risk_of_the_best_subsets(n, level):
    prior = md.Prior.uniform(n)
    found = md.design(prior, Estimation(), md.LDP(level), solver="optimal-experiment")
    assert found.certificate.is_optimal
    assert found.risk == pytest.approx(best_subsets(n, level), rel=1e-6)
    assert designed(prior, md.LDP(level)).risk == pytest.approx(found.risk, rel=1e-6)
    if (n, level) == (12, 0.5):
        assert found.risk == pytest.approx(159.07, abs=0.005)


@for_each(
    "notion", [md.LDP(1), md.PML(1), md.PML(0.2), md.LIP(0.5), md.PMC(0.5), md.ALIP(0.3, 0.8)]
)
def test_permutations_of_one_column_are_optimal_where_symbols_count_alike(notion):
    for n in (2, 5, 6):
        prior = md.Prior.uniform(n)
        orbit = designed(prior, notion)
        mixed = md.design(prior, Estimation(), notion, solver="optimal-experiment")
        assert orbit.method == "orbit"
        assert orbit.risk == pytest.approx(mixed.risk, rel=1e-9)
        kernel = orbit.mechanism.kernel
        # A basic solution may weigh the permutations unequally; each output is still one of them.
        shapes = np.sort(kernel / kernel.sum(axis=0), axis=0)
        assert np.allclose(shapes, shapes[:, :1], rtol=1e-9, atol=1e-12)


@for_each(
    "notion",
    slow_but(lambda notion: notion == md.PMC(1), [md.LIP(3), md.PML(1), md.PMC(1), md.LIP(0.5)]),
)
def test_fifty_symbols_that_count_alike_are_proved_by_symmetry(notion):
    found = designed(md.Prior.uniform(50), notion)
    assert found.certificate.is_optimal
    assert found.certificate.bound_source == "symmetry"
    for n in (3, 5):
        prior = md.Prior.uniform(n)
        program = state_problem(prior, Estimation(), notion).program
        best = md.design(prior, Estimation(), notion, solver="optimal-experiment")
        assert float(symmetric_bound(program)) == pytest.approx(best.value, rel=1e-9)
    told = state_problem(harmonic(5), Estimation(), notion).program
    assert symmetric_bound(told) is None


@pytest.mark.slow
def test_a_hundred_symbols_that_count_alike_have_the_risk_of_the_best_subsets():
    found = md.design(md.Prior.uniform(100), Estimation(), md.LDP(1), solver="orbit")
    assert found.method == "orbit"
    assert found.mechanism.shape[1] <= 5000
    assert found.risk == pytest.approx(best_subsets(100, 1.0), rel=1e-9)


def test_permutations_are_not_taken_where_anything_tells_symbols_apart():
    four = md.Prior.uniform(4)
    for prior, asked in (
        (harmonic(4), Estimation()),
        (four, Estimation(truth=[1, 1, 1, 2])),
        (four, Estimation(weights=[1, 1, 1, 2])),
        (four, Estimation([[1, -1, 0, 0]])),
        (harmonic(4), Estimation(truth=[1, 1, 1, 1])),
    ):
        assert md.explain(prior, asked, md.LDP(1)).method.name == "optimal-experiment"
    alike = Estimation([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], [2, 2, 2, 2])
    assert md.explain(four, alike, md.LDP(1)).method.name == "orbit"
    both = [md.LDP(1), md.PML(0.6)]
    assert md.explain(four, Estimation(), both).method.name == "optimal-experiment"


@for_each("notion", slow_but(1, [md.PML(0.5), md.LIP(1), md.PMC(0.7), md.LDP(1.5)]))
def test_generated_columns_do_as_well_as_all_of_them(notion):
    prior = harmonic(11)
    program = state_problem(prior, Estimation(), notion).program
    every = listed(program)
    best = optimal_masses(
        every.deviations,
        every.shares,
        prior.probabilities,
        program.survey.masses,
        program.survey.losses,
    )
    found = designed(prior, notion)
    assert found.certificate.solver == "interior point over some columns"
    assert found.risk == pytest.approx(best.risk, rel=1e-7)


@pytest.mark.slow
def test_questions_and_truths_of_many_symbols():
    n = 13
    groups = [[1] * 5 + [0] * 8, [0] * 5 + [1] * 4 + [0] * 4]
    two = designed(harmonic(n), md.LDP(1), groups)
    assert two.mechanism.shape[1] < n
    assert Estimation().risk(two.mechanism, two.prior) == math.inf
    away = designed(harmonic(n), md.PML(1), truth=list(range(1, n + 1)))
    # The best kernel for the prior is not the best one there.
    usual = designed(harmonic(n), md.PML(1))
    asked = Estimation(truth=list(range(1, n + 1)))
    assert asked.risk(usual.mechanism, usual.prior) > away.risk * 1.001


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e-4, 20.0])
def test_extreme_levels_of_many_symbols(level):
    found = designed(harmonic(12), md.LDP(level))
    if level > 1:
        open_risk = 1 - sum(found.prior.probabilities**2)
        assert found.risk == pytest.approx(open_risk, rel=1e-4)


def test_bounds_of_several_kinds_together_are_listed():
    both = designed(harmonic(8), [md.LDP(1), md.PML(0.6)])
    assert both.certificate.bound_source == "prices, over all extreme columns"
    assert both.risk > designed(harmonic(8), md.LDP(1)).risk
    assert both.risk > designed(harmonic(8), md.PML(0.6)).risk
    near = designed(harmonic(8), md.MetricPrivacy(1, "absolute"))
    assert near.risk < designed(harmonic(8), md.LDP(1)).risk


@pytest.mark.slow
def test_what_is_not_proved_is_said():
    with pytest.warns(GapWarning, match="the value"):
        found = md.design(harmonic(12), Estimation(), [md.LDP(1), md.PML(0.6)], time_limit=5)
    assert 0 < found.gap < 1
    assert found.risk >= -found.bound >= designed(harmonic(12), md.LDP(1)).risk * 0.5


def test_a_search_that_is_cut_short_says_how_good_its_kernel_is(counted_clock):
    with pytest.warns(GapWarning, match="a longer search"):
        found = md.design(harmonic(16), Estimation(), md.LDP(1), time_limit=0.01)
    assert found.certificate.gap_is_known
    assert 1e-6 < found.gap < 1


def test_more_symbols_than_can_be_mixed_are_refused():
    with pytest.raises(NoMethodError, match="above the 200"):
        md.explain(md.Prior.uniform(201), Estimation(), md.LDP(1), solver="optimal-experiment")


@pytest.mark.slow
def test_twenty_symbols_are_solved_with_proof():
    found = md.design(harmonic(20), Estimation(), md.LDP(1), time_limit=120)
    assert found.risk <= 65.3538012
    assert found.gap <= 1e-6
    assert found.certificate.bound_source == "prices, by exhaustive search"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("notion", "n"), [(md.LDP(1), 40), (md.PML(1), 30), (md.LIP(2), 50)], ids=str
)
def test_many_symbols_are_solved_to_a_ten_thousandth(notion, n, monkeypatch):
    """In six rounds, however long these take."""
    monkeypatch.setattr(generation, "_ROUNDS", 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = md.design(harmonic(n), Estimation(), notion, time_limit=10_000)
    assert 0 <= found.gap <= 1e-4


def test_bounds_know_that_sums_of_symbols_are_whole(monkeypatch):
    """Without that they leave a few thousandths under LDP."""
    program = state_problem(harmonic(20), Estimation(), md.LDP(1)).program
    pricing = QuadraticPricing(program.cone, program.survey.truth)
    best, losses = 65.3538012, program.survey.losses
    assert best * (1 - 1e-6) <= pricing.relaxed(losses).value <= best
    monkeypatch.setattr(pricing_cuts, "_sums", lambda moments: Cuts.none(len(moments) - 1))
    assert pricing.relaxed(losses).value <= best * (1 - 1e-3)


def test_the_sum_of_all_symbols_is_whole_too():
    """Where that alone is not whole, no change of the sum is found to be worse."""
    drawn = md.Prior.from_counts(np.random.default_rng(20261122).dirichlet(np.ones(50)))
    program = state_problem(drawn, Estimation(), md.LDP(1)).program
    pricing = QuadraticPricing(program.cone, program.survey.truth)
    assert 175.3215 <= pricing.relaxed(program.survey.losses).value <= 175.3226


# Extreme rays of cones


def rays_by_brute_force(rows, n):
    """Every direction that n − 1 independent inequalities leave, among them k ≥ 0."""
    every = [*np.eye(n, dtype=int).tolist(), *map(list, rows)]
    found = set()
    for some in combinations(every, n - 1):
        table = np.array(some, dtype=float)
        _, values, vectors = np.linalg.svd(table)
        if n > 1 and (len(values) < n - 1 or values[-1] < 1e-9):
            continue
        ray = vectors[-1]
        for sign in (1, -1):
            k = sign * ray
            if all(np.dot(row, k) >= -1e-9 for row in every):
                k = k / np.abs(k).max()
                found.add(tuple(np.round(k, 6).tolist()))
    return found


@for_each("seed", slow_but(4, range(8)))
def test_extreme_rays_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    rows = []
    for _ in range(int(rng.integers(1, 6))):
        # Rows that the constant ray satisfies, as those of privacy notions.
        row = rng.integers(-4, 5, n)
        row[0] += max(0, 1 - int(row.sum()))
        rows.append(tuple(int(v) for v in row))
    ours = {
        tuple(round(float(Fraction(v, max(ray))), 6) for v in ray) for ray in extreme_rays(rows, n)
    }
    assert ours == rays_by_brute_force(rows, n)


@pytest.mark.parametrize("n", [3, 6, 20])
def test_symmetry_bounds_lists_of_notions_too(n):
    notions = [md.LDP(1), md.PML(0.5)]
    prior = md.Prior.uniform(n)
    bound = symmetric_bound(state_problem(prior, Estimation(), notions).program)
    alone = [symmetric_bound(state_problem(prior, Estimation(), one).program) for one in notions]
    assert bound <= min(alone) * (1 - Fraction(1, 10**12))
    if n < 10:
        assert md.design(prior, Estimation(), notions).value <= bound


def test_a_search_cut_short_is_as_good_as_subset_selection():
    # Under LDP subset selection of equal masses is a kernel for every prior.
    n = 40
    prior = harmonic(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = md.design(prior, Estimation(), md.LDP(1), time_limit=0.05)
    odds, d = math.e, round(n / (1 + math.e))
    # How likely a report holds the symbol itself, and another one.
    rate = odds * d / (odds * d + n - d)
    other = (rate * (d - 1) + (1 - rate) * d) / (n - 1)
    p = prior.probabilities
    held = p * rate + (1 - p) * other
    least = float((held * (1 - held)).sum() / (rate - other) ** 2)
    assert found.risk <= least * (1 + 1e-9)
    assert -found.bound <= found.risk


@pytest.mark.parametrize("notion", [md.LDP(0), md.PML(0)], ids=str)
def test_kernels_of_one_column_end_the_search(notion):
    """However many columns are drawn they are the same, and no mixture of them answers."""
    with pytest.raises(UntoldError):
        md.design(harmonic(14), Estimation(), notion)
