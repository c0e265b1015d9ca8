"""Closed forms: their kernels come out of the general solver, and they refuse outside their regime.

With l = e^-ε_l and h = e^ε_u: in the regime h (1 - pmin) < 1 the PML kernel is
K[i, j] = h p_j - (h - 1) 1{i = j} ([GrosseID] Corollary 4), and the PMC kernel is
K[i, j] = l p_j + (1 - l) 1{i = j} at any level ([SaeidianPMC] Corollary 5). Both are the only
optimum of gains 1{x = y}/p_x, with a minus for PML.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, slow_but
from strategies import random_gains, random_level, random_masses

import mechdesign as md
from mechdesign.errors import NoMethodError
from mechdesign.program.problem import state_problem
from mechdesign.solve.choice import find_method
from mechdesign.solve.closed_form import CLOSED_FORMS

SEEDS = range(20)
NOTIONS = ("PML", "PMC", "LIP", "ALIP", "LDP")


def prior_away_from_zero(rng, n):
    while True:
        p = rng.dirichlet(np.full(n, 3.0))
        if p.min() > 5e-3:
            return md.Prior.from_counts(p)


def pml_edge(prior):
    """The level log 1/(1 - pmin) where the high-privacy regime ends."""
    return -math.log1p(-prior.pmin)


def least_lower_level(prior, upper):
    """ε_l*(ε_u) = log pmin/(1 - e^ε_u (1 - pmin))."""
    return math.log(prior.pmin / (1 - math.exp(upper) * (1 - prior.pmin)))


def assert_kernel(found, expected, order, tolerance=1e-8):
    """The kernel is the expected one with output ``j`` at place ``order.index(j)``."""
    np.testing.assert_allclose(found.mechanism.kernel, expected[:, order], rtol=0, atol=tolerance)


# The kernels of the papers, out of the general solver


@for_each("solver", ["highs-simplex", "auto"])
@for_each("seed", SEEDS)
def test_pml_kernel_in_the_high_privacy_regime(seed, solver):
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(3, 9))
    prior = prior_away_from_zero(rng, n)
    p, order = prior.probabilities, rng.permutation(n)
    epsilon = float(rng.uniform(0.1, 0.95)) * pml_edge(prior)
    h = math.exp(epsilon)
    expected = h * p[None, :] - (h - 1) * np.eye(n)
    assert expected.min() > 0
    gains = -(np.eye(n) / p[:, None])[:, order]
    found = md.design(prior, md.utility.Matrix(gains), md.PML(epsilon), solver=solver)
    assert found.method == ("pml-high-privacy" if solver == "auto" else solver)
    assert_kernel(found, expected, order)
    np.testing.assert_allclose(found.mechanism.output_distribution(prior), p[order], atol=1e-8)


@for_each("solver", ["highs-simplex", "auto"])
@for_each("seed", SEEDS)
def test_pmc_kernel_at_any_level(seed, solver):
    rng = np.random.default_rng([2, seed])
    n = int(rng.integers(3, 9))
    prior = prior_away_from_zero(rng, n)
    p, order = prior.probabilities, rng.permutation(n)
    epsilon = random_level(rng, 0.01, 6)
    low = math.exp(-epsilon)
    expected = low * p[None, :] + (1 - low) * np.eye(n)
    gains = (np.eye(n) / p[:, None])[:, order]
    found = md.design(prior, md.utility.Matrix(gains), md.PMC(epsilon), solver=solver)
    assert found.method == ("pmc" if solver == "auto" else solver)
    assert_kernel(found, expected, order)
    # Its PML level is exactly ε_u*(ε_l) = log (1 - l (1 - pmin))/pmin.
    (leaked,) = md.PML(math.inf).measure(found.mechanism, prior)
    assert leaked == pytest.approx(math.log((1 - low * (1 - prior.pmin)) / prior.pmin), abs=1e-7)


# Each closed form against the general solver


def binary_problem(rng):
    kind = ("dirichlet", "uniform", "atom 1e-9", "atom 1e-4")[rng.integers(4)]
    prior = md.Prior.from_counts(random_masses(rng, 2, kind))
    u = random_gains(rng, 2, int(rng.integers(1, 6)))
    notions = []
    for name in rng.choice(NOTIONS, rng.integers(1, 4)):
        cls = getattr(md, name)
        notions.append(cls.at(*(random_level(rng, 1e-2, 8) for _ in cls.level_fields)))
    return prior, u, notions


def pmc_problem(rng):
    n, m = (int(k) for k in rng.integers(2, 9, 2))
    prior = prior_away_from_zero(rng, n)
    lower = random_level(rng, 1e-2, 5)
    highest = math.log((1 - math.exp(-lower) * (1 - prior.pmin)) / prior.pmin) * 1.001
    notions = [
        [md.PMC(lower)],
        [md.ALIP(lower, highest)],
        [md.PMC(lower), md.LDP(lower + highest), md.LIP(max(lower, highest))],
    ][rng.integers(3)]
    return prior, random_gains(rng, n, m), notions


def pml_problem(rng):
    n, m = (int(k) for k in rng.integers(2, 9, 2))
    prior = prior_away_from_zero(rng, n)
    upper = float(rng.uniform(0.05, 0.95)) * pml_edge(prior)
    lower = least_lower_level(prior, upper) * 1.001
    notions = [
        [md.PML(upper)],
        [md.ALIP(lower, upper)],
        [md.PML(upper), md.LDP((lower + upper) * 1.001), md.PML(2 * upper)],
    ][rng.integers(3)]
    return prior, random_gains(rng, n, m), notions


def symmetric_problem(rng):
    n = int(rng.integers(2, 9))
    best, other = sorted(rng.uniform(-1, 1, 2), reverse=True)
    gains = np.full((n, n), other)
    np.fill_diagonal(gains, best)
    notions = []
    for name in rng.choice(NOTIONS, rng.integers(1, 4)):
        cls = getattr(md, name)
        notions.append(cls.at(*(random_level(rng, 1e-2, 8) for _ in cls.level_fields)))
    return md.Prior.uniform(n), gains, notions


def constant_problem(rng):
    n, m = (int(k) for k in rng.integers(2, 9, 2))
    prior = prior_away_from_zero(rng, n)
    cls = getattr(md, rng.choice(NOTIONS))
    levels = [0.0] * len(cls.level_fields)
    if len(levels) == 2 and rng.random() < 0.5:
        levels[rng.integers(2)] = 1.0
    return prior, random_gains(rng, n, m), [cls(*levels), md.PML(0.7)]


def unconstrained_problem(rng):
    n, m = int(rng.choice([1, 4])), int(rng.integers(1, 6))
    cls = getattr(md, rng.choice(NOTIONS))
    level = math.inf if n > 1 else float(rng.choice([0.0, 0.5, math.inf]))
    return prior_away_from_zero(rng, n), random_gains(rng, n, m), [cls.at(level)]


def recognition_problem(rng):
    """Weighted accuracy; LDP, or lower bounds on the lift that leave the rest enough mass."""
    n = int(rng.integers(3, 9))
    prior = prior_away_from_zero(rng, n)
    gains = np.diag(rng.uniform(0.5, 2, n)) + rng.normal(size=(n, 1))
    level = random_level(rng, 1e-2, 5)
    if rng.random() < 0.5:
        return prior, gains[:, rng.permutation(n)], [md.LDP(level), md.LDP(2 * level)]
    # A lower side at a tenth of the upper one: columns are nearly those of PMC.
    return prior, np.eye(n), [md.ALIP(0.1 * level, level)]


INSTANCES = {
    "unconstrained": unconstrained_problem,
    "constant": constant_problem,
    "binary": binary_problem,
    "pmc": pmc_problem,
    "pml-high-privacy": pml_problem,
    "symmetric": symmetric_problem,
    "recognition": recognition_problem,
}


@for_each("seed", slow_but(4, range(30)))
@for_each("name", INSTANCES)
def test_closed_form_agrees_with_the_general_solver(name, seed):
    rng = np.random.default_rng([6, list(INSTANCES).index(name), seed])
    prior, gains, notions = INSTANCES[name](rng)
    utility = md.utility.Matrix(gains)
    formula = md.design(prior, utility, notions, solver=name)
    general = md.design(prior, utility, notions, solver="highs-simplex")
    assert formula.method == name
    assert formula.value == pytest.approx(general.value, rel=0, abs=1e-9)
    assert formula.bound == pytest.approx(general.bound, rel=0, abs=1e-9)
    assert formula.gap < 1e-8
    assert find_method(name) in CLOSED_FORMS


# Outside their regime


def high_privacy_refusal(prior, *notions):
    problem = state_problem(prior, md.utility.Hamming(), notions)
    return find_method("pml-high-privacy").refusal(problem.program)


def test_erratum_the_regime_needs_a_logarithm():
    """p = (.5, .5), ε = 1 satisfies ε < 1/(1 - pmin) as printed, but the diagonal is -.359."""
    prior, notion = md.Prior([0.5, 0.5]), md.PML(1.0)
    assert notion.epsilon < 1 / (1 - prior.pmin)
    assert 1 - math.e * (1 - prior.pmin) == pytest.approx(-0.359, abs=1e-3)
    assert "above 1" in high_privacy_refusal(prior, notion)
    with pytest.raises(NoMethodError, match="pml-high-privacy"):
        md.design(prior, md.utility.Hamming(), notion, solver="pml-high-privacy")
    # The answer in truth: at ε >= log 2 nothing is asked of this prior.
    assert md.design(prior, md.utility.Hamming(), notion).value == pytest.approx(1.0)


def test_pmc_form_is_refused_when_another_side_is_stricter():
    prior, method = md.Prior([0.5, 0.3, 0.2]), find_method("pmc")
    lower = 0.4
    upper = math.log((1 - math.exp(-lower) * (1 - prior.pmin)) / prior.pmin)

    def refusal(*notions):
        return method.refusal(state_problem(prior, md.utility.Hamming(), notions).program)

    assert refusal(md.PMC(lower)) is None
    assert refusal(md.ALIP(lower, upper * 1.001)) is None
    assert "upper bound" in refusal(md.ALIP(lower, upper * 0.999))
    assert refusal(md.PMC(lower), md.LDP((lower + upper) * 1.001)) is None
    assert "LDP" in refusal(md.PMC(lower), md.LDP((lower + upper) * 0.999))
    assert "an upper bound on the lift alone" in refusal(md.PML(1.0))
    assert "zero" in refusal(md.PMC(0.0))
