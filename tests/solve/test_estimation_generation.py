"""Estimation designs whose columns are too many to mix at once, and extreme rays of cones."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from checks import for_each, slow_but
from estimation_cases import designed, harmonic

import mechdesign as md
from mechdesign.certificate.estimation import symmetric_bound
from mechdesign.errors import GapWarning
from mechdesign.program.problem import state_problem
from mechdesign.solve.estimation import generation
from mechdesign.solve.estimation.master import optimal_masses
from mechdesign.solve.estimation.method import listed
from mechdesign.utility import Estimation


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


def test_a_search_that_is_cut_short_says_how_good_its_kernel_is(counted_clock):
    with pytest.warns(GapWarning, match="a longer search"):
        found = md.design(harmonic(16), Estimation(), md.LDP(1), time_limit=0.01)
    assert found.certificate.gap_is_known
    assert 1e-6 < found.gap < 1


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


# Extreme rays of cones


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
