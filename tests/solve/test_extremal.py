"""Closed forms for sub-convex utilities: where they hold, and what they are optimal for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_columns import CURVES, best_value, vertices_of

import mechdesign as md
from mechdesign.certificate.columns.branch_and_bound import universal_bound
from mechdesign.certificate.columns.families import make_family
from mechdesign.errors import GapWarning, NoMethodError, PriorError
from mechdesign.exact import Verdict
from mechdesign.program.problem import state_problem

UTILITIES = [md.utility.MutualInformation(), md.utility.TotalVariation(), md.utility.ChiSquare()]
INFORMATION = UTILITIES[0]

PRIORS = st.lists(st.integers(1, 60), min_size=3, max_size=7).map(
    lambda counts: md.Prior.from_counts(counts)
)


def is_private(mechanism, prior, notion):
    return notion.check(mechanism, prior).verdict is Verdict.YES


@pytest.mark.slow
@given(
    prior=PRIORS, share=st.floats(0.05, 0.95), which=st.sampled_from(["PML", "PMC", "LIP", "ALIP"])
)
@settings(max_examples=60)
def test_in_the_simplex_regimes_the_closed_form_is_best_for_three_utilities(prior, share, which):
    """One kernel against column generation for mutual information, total variation and χ²."""
    pmin = prior.pmin
    edge = -math.log(1 - pmin)
    implied = math.log(pmin / (1 - math.exp(share * edge) * (1 - pmin)))
    notion = {
        "PML": md.PML(share * edge),
        "PMC": md.PMC(4 * share),
        "LIP": md.LIP(math.log((1 - pmin) / pmin) + share),
        "ALIP": md.ALIP(implied + 1, share * edge),
    }[which]
    found = md.extremal(prior, notion)
    assert found.optimal_for == "optimal for every sub-convex utility at once"
    assert is_private(found.mechanism, prior, notion)
    for utility in UTILITIES:
        generated = md.design(prior, utility, notion, solver="column-generation")
        value = utility.value(found.mechanism, prior)
        assert value == pytest.approx(generated.value, rel=1e-8)
        assert value <= generated.bound * (1 + 1e-9)
        chosen = md.design(prior, utility, notion)
        assert chosen.method in ("extremal-pml", "extremal-pmc")
        assert chosen.scope == found.optimal_for


def test_no_kernel_is_said_to_serve_all_utilities_whose_rarest_outcomes_are_lost():
    """Multiples of 2⁻⁵³ cannot hold what PMC lets a symbol of mass 3e-26 have; mutual information
    does not feel it, and much of χ² is gone.
    """
    rare = md.Prior.from_counts([0.52, 0.24, 0.24, 3e-26])
    found = md.extremal(rare, md.PMC(1))
    assert found.name == "extremal-pmc"
    assert found.optimal_for.startswith("optimal for every sub-convex utility but for its rounding")
    with pytest.warns(GapWarning):
        assert md.design(rare, md.utility.ChiSquare(), md.PMC(1)).gap > 0.3
    informed = md.design(rare, md.utility.MutualInformation(), md.PMC(1))
    assert informed.status == "optimal"
    assert informed.scope == ""
    assert "scope" not in repr(informed)
    for weights in ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2, 1e-6]):
        prior = md.Prior.from_counts(weights)
        scope = "optimal for every sub-convex utility at once"
        assert md.extremal(prior, md.PMC(1)).optimal_for == scope
        assert md.design(prior, md.utility.MutualInformation(), md.PMC(1)).scope == scope


@for_each("epsilon", [0.3, 1, 2, 4])
@for_each("n", [3, 6, 10])
def test_subset_selection_for_a_uniform_prior(n, epsilon):
    """The size is one of the two nearest to N(εe^ε − e^ε + 1)/(e^ε − 1)²."""
    prior = md.Prior.uniform(n)
    found = md.extremal(prior, md.LDP(epsilon))
    size = int(found.name.split()[-1])
    e = math.exp(epsilon)
    b = n * (epsilon * e - e + 1) / (e - 1) ** 2
    assert size in (max(math.floor(b), 1), max(math.ceil(b), 1))
    kernel = found.mechanism.kernel
    assert (np.isclose(kernel, kernel.max()).sum(axis=0) == size).all()
    best = best_value(
        prior.probabilities,
        CURVES["MutualInformation"],
        vertices_of(prior.probabilities, "LDP", [epsilon]),
    )
    assert INFORMATION.value(found.mechanism, prior) == pytest.approx(best, rel=1e-9)


def test_where_there_is_no_closed_form_the_reasons_are_told():
    with pytest.raises(NoMethodError, match="the prior is not uniform"):
        md.extremal(md.Prior([0.5, 0.3, 0.2]), md.LIP(0.4))
    with pytest.raises(NoMethodError, match="a bound on lifts and an LDP level both bind"):
        md.extremal(md.Prior([0.5, 0.3, 0.2]), [md.LIP(0.4), md.LDP(0.5)])


@for_each("epsilon", [0.0, 0.5, 2.0, 30.0])
def test_randomised_response(epsilon):
    prior = md.Prior([0.5, 0.3, 0.2])
    mechanism = md.randomised_response(prior, epsilon)
    e = math.exp(epsilon)
    assert is_private(mechanism, prior, md.LDP(epsilon))
    np.testing.assert_allclose(
        np.diag(mechanism.kernel)[-1], e / (e + 2), rtol=1e-9
    ) if epsilon else None
    assert md.audit(mechanism, prior).ldp == pytest.approx(
        epsilon, abs=1e-9 if epsilon < 10 else 0.01
    )


def test_binary_mechanism():
    prior = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    mechanism = md.binary_mechanism(prior, 1.0, ["a"])
    high = math.e / (1 + math.e)
    np.testing.assert_allclose(mechanism.kernel[0], [high, 1 - high], atol=1e-12)
    np.testing.assert_allclose(mechanism.kernel[1], [1 - high, high], atol=1e-12)
    assert mechanism.outputs == ("a", "not a")
    refused(lambda: md.binary_mechanism(prior, 1.0, ["d"]), "some but not all", error=PriorError)
    refused(lambda: md.binary_mechanism(prior, 1.0, []), "some but not all", error=PriorError)


# The window and the universal bounds


@pytest.mark.slow
@given(prior=PRIORS, e=st.floats(0.05, 3), which=st.sampled_from(["PML", "LIP", "LDP"]))
@settings(max_examples=60)
def test_windows_are_private_mixtures_below_the_universal_bound(prior, e, which):
    notion = getattr(md, which)(e)
    mechanism = md.window_mechanism(prior, notion)
    assert is_private(mechanism, prior, notion)
    assert mechanism.shape[1] <= 2 * len(prior)
    problem = state_problem(prior, INFORMATION, notion)
    family = make_family(prior, problem.program.sides, INFORMATION.excess)
    best = md.design(prior, INFORMATION, notion)
    assert INFORMATION.value(mechanism, prior) <= best.value * (1 + 1e-9)
    assert best.value <= universal_bound(family) * (1 + 1e-9)


# PML regions


@given(prior=PRIORS, level=st.floats(0, 4))
def test_most_zeros_is_what_a_posterior_can_do(prior, level):
    """k symbols can be ruled out if and only if the rest has mass at least e^-ε."""
    k = md.pml_regions(prior).most_zeros(level)
    masses = sorted(prior.probabilities)
    e = math.exp(level)
    assert e * sum(masses[k:]) >= 1 - 1e-9
    if k < len(masses) - 1:
        assert e * sum(masses[k + 1 :]) <= 1 + 1e-9


def test_the_edges_of_regions_are_exact():
    prior = md.Prior([0.5, 0.5])
    (edge,) = md.pml_regions(prior).levels
    assert edge == pytest.approx(math.log(2))
    assert md.pml_regions(prior).most_zeros(edge) == 1
    assert md.pml_regions(prior).most_zeros(math.nextafter(math.log(2), 0)) == 0
    assert md.pml_regions(prior).most_zeros(math.inf) == 1
    assert "region" in str(md.pml_regions(prior))
