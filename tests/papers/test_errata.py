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
    disclosure_prevention,
    pointwise_maximal_cost,
    pufferfish_mutual_information,
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
        assert example.refutes, example
        assert example.mends, example
    assert entry.stands
    assert entry.kind in ("false", "misprint", "loose", "incomplete")
    assert min(len(entry.printed), len(entry.corrected), len(entry.place)) > 5


def test_a_true_statement_would_not_be_listed():
    """A control: where the printed claim holds, or the corrected one fails, the entry falls."""
    fine, wrong = at_most(1.0, 2.0), at_most(2.0, 1.0)
    assert not Counterexample(fine, fine).refutes
    assert not Counterexample(wrong, wrong).mends
    assert not claims.Erratum("E0", "", "", "false", "", "", lambda: [(fine, fine)]).stands
    assert not claims.Erratum("E0", "", "", "false", "", "", lambda: [(wrong, wrong)]).stands
    assert not claims.Erratum("E0", "", "", "false", "", "", list).stands


def test_all_groups_are_there():
    groups = {int("".join(c for c in entry.id if c.isdigit())) for entry in ERRATA}
    assert set(range(1, 19)) <= groups
    assert {entry.source for entry in ERRATA} == {
        "GrosseID",
        "SaeidianPMC",
        "SaeidianDisclosure",
        "NuradhaGoldfeld",
    }
    refused(lambda: catalogue.find_erratum("E99"), error=UnknownNameError)
    refused(
        lambda: claims.erratum("E0", source="", place="", kind="odd", printed="", corrected=""),
        error=UnknownNameError,
    )


# The numbers, once more, by other means


def test_diagonal_of_the_misprinted_condition():
    assert number("E1") == pytest.approx(1 - math.e / 2)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 4), 0.125])
def test_truncations_agree_with_their_closed_forms_exactly(share):
    a = Fraction(share)
    rows = pointwise_maximal_cost.truncations(share, (2, 3, 7, 30))
    for row in rows:
        pmin = Fraction(1, 2 ** (row["n"] - 1))
        assert row["PMC"] == 1 / a
        assert row["PML"] == a + (1 - a) / pmin
        assert row["LDP"] == 1 + (1 - a) / (a * pmin)
    assert rows[-1]["PML"] > 1000 * rows[0]["PML"]


def test_truncations_name_their_mistakes():
    refused(lambda: pointwise_maximal_cost.truncations(0.0), "between 0 and 1")
    refused(lambda: pointwise_maximal_cost.truncations(Fraction(1, 3)), "dyadic")
    refused(lambda: pointwise_maximal_cost.truncations(0.5, [1]), "2 symbols")


def test_density_on_the_unit_interval_by_quadrature():
    def density(y):
        inner = integrate.quad(lambda x: 2 / x, y, min(1.0, 4 * y / 3))[0]
        return 0.5 + inner

    ys = np.linspace(0.01, 0.999, 60)
    costs = [math.log(density(y) / 0.5) for y in ys]
    assert max(costs) == pytest.approx(math.log1p(4 * math.log(4 / 3)))
    assert max(costs) == pytest.approx(0.7658, abs=1e-4)
    assert integrate.quad(density, 0, 1, points=[0.75])[0] == pytest.approx(1.0)


def test_gaussian_tail_by_quadrature():
    def cost(y):
        average = (stats.norm.pdf(y - 1) + stats.norm.pdf(y + 1)) / 2
        return math.log(average / min(stats.norm.pdf(y - 1), stats.norm.pdf(y + 1)))

    ys = np.linspace(-12, 12, 24001)
    hits = np.array([cost(y) >= 1 for y in ys])
    weights = (stats.norm.pdf(ys - 1) + stats.norm.pdf(ys + 1)) / 2
    found = float((weights * hits).sum() * (ys[1] - ys[0]))
    assert pointwise_maximal_cost.gaussian_tail(1.0) == pytest.approx(found, abs=1e-3)
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

    found = pufferfish_mutual_information.mixture_information([0.0, 1.0], [0.3, 0.7], 0.64)
    assert found == pytest.approx(integrate.quad(integrand, -7, 8)[0], rel=1e-6)


def test_both_answers_of_the_query():
    assert number("E11b") == pytest.approx(-stats.binom.logcdf(0, 200, 0.3))
    assert number("E11b") == pytest.approx(71.3, abs=0.05)


def test_one_answer_of_an_exact_query_leaks_at_least_log_2():
    tails = stats.binom.cdf(40, 200, 0.5), stats.binom.sf(40, 200, 0.5)
    assert number("E14") == pytest.approx(-math.log(min(tails)))
    # Where one answer settles everybody's value, the corrected statement does not speak.
    assert disclosure_prevention.surest_posterior(5, 0, Fraction(3, 10), 0) == 1
    assert disclosure_prevention.surest_posterior(5, 4, Fraction(3, 10), 1) == 1
    assert disclosure_prevention.surest_posterior(5, 1, Fraction(3, 10), 0) < 1


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


def test_constant_is_disclosed_and_two_values_attain():
    assert not catalogue.find_erratum("E17").counterexamples()[0].printed.found
    # P(wrong) before and after, for the question "is it x*?" put so that x* splits evenly enough.
    assert number("E18") == pytest.approx(math.log(0.8 / (0.16 / 0.3)))
