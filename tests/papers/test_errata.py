"""Errata: each printed statement fails on its counterexample, each corrected one holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from checks import refused
from scipy import integrate, stats

import mechdesign as md
from mechdesign.errors import UnknownNameError
from mechdesign.papers import (
    catalogue,
    claims,
    disclosure_prevention_errata,
    general_alphabets,
    measurements,
    pointwise_maximal_cost_errata,
)
from mechdesign.papers.claims import Counterexample, at_most

ERRATA = md.theory.errata()


def number(name, place=0, corrected=False):
    example = catalogue.find_erratum(name).counterexamples()[place]
    return (example.corrected if corrected else example.printed).found


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.id)
def test_counterexamples_refute_the_printed_and_bear_out_the_corrected(entry):
    examples = entry.counterexamples()
    assert examples
    for example in examples:
        # What is loose is true: its instances must not refute what the paper says.
        assert example.refutes is (entry.kind != "loose"), example
        assert example.leaves_room is (entry.kind == "loose"), example
        assert example.mends, example
    assert entry.stands
    assert entry.kind in ("false", "gap", "misprint", "loose")
    assert min(len(entry.printed), len(entry.corrected), len(entry.place)) > 5
    assert min(len(entry.quotation), len(entry.reading), len(entry.proof)) > 5


def test_a_kind_agrees_with_the_reading_that_saves_a_statement():
    """What some reading saves is not called false, and what nothing saves says so."""
    for entry in ERRATA:
        if entry.kind == "loose":
            assert "no mistake" in entry.reading, entry.id
    assert [entry.id for entry in ERRATA if entry.kind == "false"] == ["E3a", "E3b", "E3c", "E8"]


def test_errata_that_were_taken_back_stay_away():
    """E12 judged a bound that its paper itself calls unbounded; E18 a proof that is right."""
    assert not {"E12", "E18"} & {entry.id for entry in ERRATA}


def test_a_true_statement_would_not_be_listed():
    """A control: where the printed claim holds, or the corrected one fails, the entry falls."""
    fine, wrong = at_most(1.0, 2.0), at_most(2.0, 1.0)
    assert not Counterexample(fine, fine).refutes
    assert not Counterexample(wrong, wrong).mends
    assert not claims.Erratum("E0", "", "", "false", "", "", lambda: [(fine, fine)]).stands
    assert not claims.Erratum("E0", "", "", "false", "", "", lambda: [(wrong, wrong)]).stands
    assert not claims.Erratum("E0", "", "", "false", "", "", list).stands
    # A statement that is called loose and is false, or met with equality, falls as well.
    assert claims.Erratum("E0", "", "", "loose", "", "", lambda: [(fine, fine)]).stands
    for printed in (wrong, at_most(2.0, 2.0)):
        assert not claims.Erratum(
            "E0", "", "", "loose", "", "", lambda p=printed: [(p, fine)]
        ).stands


def test_all_groups_are_there():
    groups = {int("".join(c for c in entry.id if c.isdigit())) for entry in ERRATA}
    assert groups == set(range(1, 25)) - {12, 18}
    assert {entry.source for entry in ERRATA} == {
        "GrosseID",
        "SaeidianPMC",
        "SaeidianDisclosure",
        "NuradhaGoldfeld",
    }
    refused(lambda: catalogue.find_erratum("E99"), error=UnknownNameError)
    refused(
        lambda: claims.erratum(
            "E0",
            source="",
            place="",
            kind="odd",
            printed="",
            corrected="",
            quotation="",
            reading="",
            proof="",
        ),
        error=UnknownNameError,
    )


# The numbers, once more, by other means


def test_diagonal_of_the_misprinted_condition():
    assert number("E1") == pytest.approx(1 - math.e / 2)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 4), 0.125, Fraction(1, 3)])
@pytest.mark.parametrize("outcome", [0, 1, 7, 300])
def test_infinite_alphabet_agrees_with_its_closed_forms_exactly(share, outcome):
    a, mass = Fraction(share), Fraction(1, 2 ** (outcome + 1))
    found = general_alphabets.release_or_draw_outcome(share, outcome)
    assert found.probability == mass
    assert found.pmc_ratio == 1 / a
    assert found.pml_ratio == a + (1 - a) / mass
    assert found.spread == 1 + (1 - a) / (a * mass)
    # Finite truncations by brute force come nearer and nearer, from either side.
    for size in (outcome + 20, outcome + 40):
        p = [Fraction(1, 2 ** (k + 1)) for k in range(size)]
        likelihoods = [a * mass + (1 - a) * (x == outcome) for x in range(size)]
        inside = sum(q * v for q, v in zip(p, likelihoods, strict=True))
        assert 0 < found.probability - inside == (1 - sum(p)) * a * mass


def test_outcomes_of_an_infinite_alphabet_that_rule_symbols_out_leak_infinitely():
    half, rest = Fraction(1, 2), Fraction(0)
    found = general_alphabets.CountableOutcome({0: half, 3: Fraction(1)}, rest)
    assert found.probability == half * half + Fraction(1, 16)
    assert found.pmc_ratio is None
    assert found.spread is None
    assert found.pml_ratio == 1 / found.probability
    assert general_alphabets.log_ratio(None) == math.inf
    assert general_alphabets.log_ratio(Fraction(2) ** 20000) == pytest.approx(20000 * math.log(2))


def test_mistakes_about_infinite_alphabets_are_named():
    refused(lambda: general_alphabets.release_or_draw_outcome(0.0, 1), "between 0 and 1")
    refused(lambda: general_alphabets.release_or_draw_outcome(math.nan, 1), "between 0 and 1")
    refused(lambda: general_alphabets.release_or_draw_outcome("x", 1), "between 0 and 1")
    refused(lambda: general_alphabets.release_or_draw_outcome(0.5, -1), "symbols 0, 1, 2")
    refused(lambda: general_alphabets.release_or_draw_outcome(0.5, True), "symbols 0, 1, 2")


def test_density_on_the_unit_interval_by_quadrature():
    def density(y):
        inner = integrate.quad(lambda x: 2 / x, y, min(1.0, 4 * y / 3))[0]
        return 0.5 + inner

    ys = np.linspace(0.01, 0.999, 60)
    costs = [math.log(density(y) / 0.5) for y in ys]
    assert max(costs) == pytest.approx(math.log1p(4 * math.log(4 / 3)))
    assert max(costs) == pytest.approx(0.7658, abs=1e-4)
    assert integrate.quad(density, 0, 1, points=[0.75])[0] == pytest.approx(1.0)


@pytest.mark.slow
def test_gaussian_tail_by_quadrature():
    def cost(y):
        average = (stats.norm.pdf(y - 1) + stats.norm.pdf(y + 1)) / 2
        return math.log(average / min(stats.norm.pdf(y - 1), stats.norm.pdf(y + 1)))

    ys = np.linspace(-12, 12, 24001)
    hits = np.array([cost(y) >= 1 for y in ys])
    weights = (stats.norm.pdf(ys - 1) + stats.norm.pdf(ys + 1)) / 2
    found = float((weights * hits).sum() * (ys[1] - ys[0]))
    assert pointwise_maximal_cost_errata.gaussian_tail(1.0) == pytest.approx(found, abs=1e-3)
    assert found > stats.norm.sf(1, loc=0.5, scale=math.sqrt(8)) + 0.1


def test_gaussian_domination_fails_for_a_uniform_secret_as_well():
    xs = np.linspace(-1, 1, 801)
    ys = np.linspace(-9, 9, 18001)
    likelihoods = stats.norm.pdf(ys[:, None] - xs)
    average = integrate.trapezoid(likelihoods, xs, axis=1) / 2
    cost = np.log(average / np.minimum(likelihoods[:, 0], likelihoods[:, -1]))
    found = integrate.trapezoid(average * (cost >= 1), ys)
    assert found == pytest.approx(0.604, abs=2e-3)
    assert found > stats.norm.sf(1, loc=0.5, scale=math.sqrt(8)) + 0.1


def test_jensen_numbers():
    assert number("E6a", corrected=True) == pytest.approx(0.62011, abs=1e-5)


def test_noise_of_the_corrected_exponent():
    entropy = 0.5 * math.log(2 * math.pi * math.e * 0.01)
    b = math.exp(2 * entropy - 1) / (2 * math.pi)
    assert b == pytest.approx(0.01)
    noise = (0.02 - math.exp(0.2) * b) / (math.exp(0.2) - 1)
    assert noise == pytest.approx(0.03517, abs=1e-5)
    assert number("E7") == pytest.approx(0.347, abs=1e-3)


def test_released_rare_bit():
    assert number("E8") == 1.0
    information = -(0.01 * math.log(0.01) + 0.99 * math.log(0.99))
    assert information == pytest.approx(0.0560, abs=1e-4)


def test_information_of_a_mixture_by_quadrature():
    def integrand(y):
        parts = [0.3 * stats.norm.pdf(y, 0, 0.8), 0.7 * stats.norm.pdf(y, 1, 0.8)]
        return sum(
            part * math.log(part / weight / sum(parts))
            for part, weight in zip(parts, (0.3, 0.7), strict=True)
        )

    found = measurements.mixture_information([0.0, 1.0], [0.3, 0.7], 0.64)
    assert found == pytest.approx(integrate.quad(integrand, -7, 8)[0], rel=1e-6)


def test_both_answers_of_the_query():
    assert number("E11b") == pytest.approx(-stats.binom.logcdf(0, 200, 0.3))
    assert number("E11b") == pytest.approx(71.3, abs=0.05)


def test_one_answer_of_an_exact_query_leaks_at_least_log_2():
    tails = stats.binom.cdf(40, 200, 0.5), stats.binom.sf(40, 200, 0.5)
    assert number("E14") == pytest.approx(-math.log(min(tails)))
    # Where one answer settles everybody's value, the corrected statement does not speak.
    assert disclosure_prevention_errata.surest_posterior(5, 0, Fraction(3, 10), 0) == 1
    assert disclosure_prevention_errata.surest_posterior(5, 4, Fraction(3, 10), 1) == 1
    assert disclosure_prevention_errata.surest_posterior(5, 1, Fraction(3, 10), 0) < 1


def test_first_entry_leaks_less_than_the_free_lunch_level():
    assert number("E15") == pytest.approx(math.log(5))
    assert catalogue.find_erratum("E15").counterexamples()[0].printed.claimed == pytest.approx(
        math.log(9)
    )


def test_reports_that_leak_more_than_the_sum():
    pml, pmc = (example.printed for example in catalogue.find_erratum("E16").counterexamples())
    assert pml.found == pytest.approx(-math.log(0.02))
    assert pml.claimed == pytest.approx(-2 * math.log(0.51))
    assert pmc.found == pytest.approx(-math.log(2 * 0.04 / 0.68))
    assert pmc.claimed == pytest.approx(-2 * math.log(0.4))


def test_constant_is_disclosed():
    assert not catalogue.find_erratum("E17").counterexamples()[0].printed.found


def test_quantised_mean_at_an_edge_by_the_binomial_sum():
    for place, n in enumerate((25, 125, 301)):
        above = sum(math.comb(n, k) for k in range((n + 1) // 2, n + 1)) / 2**n
        assert number("E21", place) == pytest.approx(-math.log(max(above, 1 - above)))


def test_jensen_bounds_the_counting_query():
    for t in (0.01, 0.5, 3.0):
        for c in (0.0, 0.2, 0.49):
            assert t - math.log(1 - c + c * math.exp(t)) <= (1 - c) * t


def test_loose_statements_are_judged_by_what_the_papers_say():
    """That something is enough, not that nothing less is."""
    for entry in ERRATA:
        if entry.kind == "loose":
            assert "least" not in entry.printed, entry.id
    assert catalogue.find_erratum("E13").printed == "ε-LIP implies 2ε-LDP."


def test_ends_without_mass_leak_less_than_the_printed_bound():
    assert number("E22") == pytest.approx(1.433781, abs=5e-7)
    assert number("E22") == pytest.approx(math.log((1 + math.exp(2)) / 2))
    assert catalogue.find_erratum("E22").counterexamples()[0].printed.claimed == 2
    assert number("E22", 2) == pytest.approx(math.log((1 + math.e) / 2))


def test_queries_of_bounded_reach_have_the_variance_of_a_regular_simplex_at_most():
    """Jung's theorem, for random points two of which are Δ apart at most, under random masses."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 3, 5):
        most = d / (2 * (d + 1))
        corners = np.eye(d + 1) * math.sqrt(0.5)
        for points in (corners, *rng.normal(size=(60, d + 2, d)), *rng.uniform(size=(60, 20, d))):
            points = points / max(np.linalg.norm(points[:, None] - points, axis=2).max(), 1e-9)
            masses = rng.dirichlet(np.full(len(points), 0.5))
            mean = masses @ points
            assert masses @ ((points - mean) ** 2).sum(axis=1) <= most + 1e-12
        # A control: equal masses on the corners of a regular simplex have just that, and the
        # bound of one dimension less does not hold for them.
        spread = ((corners - corners.mean(axis=0)) ** 2).sum(axis=1).mean()
        assert spread == pytest.approx(most)
        assert spread > (d - 1) / (2 * d) + 1e-3
        # The noise that the corollary prints is (d + 1)/d times as much as is enough for them.
        enough = md.noise.gaussian_variance(spread, 0.3, d)
        printed = md.noise.gaussian_variance_for_dp(1.0, 0.3, d)
        assert printed / enough == pytest.approx((d + 1) / d)


def test_the_lower_level_that_pml_implies_is_the_larger_one_on_two_symbols_or_more():
    """p/(1 − t(1 − p)) ≥ t, in rationals, for every p up to ½ and t ≥ 1 of high privacy."""
    for top in range(1, 51):
        p = Fraction(top, 100)
        for step in range(1, 40):
            t = 1 + (1 / (1 - p) - 1) * Fraction(step, 40)
            assert p / (1 - t * (1 - p)) > t
    # A control: above ½, which no least mass of two is, it fails; and so does part 2 of it.
    p, t = Fraction(3, 4), Fraction(2)
    assert p / (1 - t * (1 - p)) < t
    levels = [math.log((1 - math.exp(-low) * 0.9) / 0.1) / low for low in (0.1, 5.0)]
    assert levels[0] > 1 > levels[1]


def test_edges_of_the_region_of_the_figure_imply():
    edge, inside = catalogue.find_erratum("E24").counterexamples()[0], 0.9
    assert edge.corrected.claimed == pytest.approx(inside * edge.corrected.found, rel=1e-6)
    assert str(edge.printed.about).startswith("ε_l = ε_l*")
