"""Noise on the real line against direct numerical integration and against kernels."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

import mechdesign as md
from mechdesign.errors import KernelError, LevelError, PriorError, UnknownNameError
from mechdesign.noise import (
    GaussianNoise,
    LaplaceMean,
    Law,
    RandomisedResponse,
    counting_edges,
    quantise,
)
from mechdesign.privacy import databases

CHANCES = st.floats(0.02, 0.98)


# Counts: Proposition 4.6 and beyond


def binomial(n, p):
    return np.array([math.comb(n, s) * p**s * (1 - p) ** (n - s) for s in range(n + 1)])


def count_likelihoods(n, p, b, y):
    """f(y | D_i = 0), f(y | D_i = 1), f(y) without shared code."""
    rest = binomial(n - 1, p)
    given = [
        sum(w * math.exp(-abs(y - (d + s) / n) / b) for s, w in enumerate(rest)) for d in (0, 1)
    ]
    return *given, sum(w * math.exp(-abs(y - s / n) / b) for s, w in enumerate(binomial(n, p)))


@given(st.integers(1, 12), CHANCES, st.floats(0.05, 3.0), st.floats(-1, 2))
def test_counts_at_every_outcome(n, p, b, y):
    zero, one, whole = count_likelihoods(n, p, b, y)
    found = LaplaceMean.count(n, p, b)
    assert found.pml(y) == pytest.approx(math.log(max(zero, one) / whole), abs=1e-10)
    assert found.pmc(y) == pytest.approx(math.log(whole / min(zero, one)), abs=1e-10)
    assert found.density(y) == pytest.approx(whole / (2 * b), rel=1e-10)


@given(st.integers(1, 30), st.floats(0, 0.49), st.floats(0.02, 3.0))
def test_proposition_46_is_a_tight_bound(n, c, b):
    bound = LaplaceMean.class_bound(n, c, b)
    assert bound == pytest.approx(
        1 / (n * b) - math.log(1 - c + c * math.exp(1 / (n * b))), abs=1e-10
    )
    for p in np.linspace(max(c, 1e-6), 1 - max(c, 1e-6), 7):
        count = LaplaceMean.count(n, float(p), b)
        levels = count.pml(np.linspace(-1, 2, 61))
        assert levels.max() <= count.sup_pml() + 1e-12
        assert count.sup_pml() <= bound + 1e-12
    # Attained in the limit, above all possible counts.
    assert LaplaceMean.count(n, max(c, 1e-40), b).pml(2.0) == pytest.approx(bound, abs=1e-9)
    # The simplified bound of the proposition.
    assert bound <= (1 - c) / (n * b) + c**2 / (2 * n**2 * b**2) + 1e-12


@given(st.integers(1, 500), st.floats(0, 0.49), st.floats(0.01, 0.7))
def test_the_scale_for_a_class_gives_the_level_back(n, c, epsilon):
    b = LaplaceMean.class_scale(n, c, epsilon)
    if b == 0:
        assert c * math.exp(epsilon) >= 1
    else:
        assert LaplaceMean.class_bound(n, c, b) == pytest.approx(epsilon, rel=1e-9)


def test_the_likelihood_of_a_count_need_not_be_unimodal_around_the_chance():
    """The gap in the published argument: more peaks than one (n = 2, b = .05, p = .3)."""
    density = LaplaceMean.count(2, 0.3, 0.05).density(np.linspace(-0.5, 1.5, 401))
    peaks = (np.diff(np.sign(np.diff(density))) < 0).sum()
    assert peaks > 1


# Means: Example 5

LAWS = {
    "uniform": (Law.uniform(-1, 3), stats.uniform(-1, 4)),
    "beta": (Law.beta(2, 5, 0, 2), stats.beta(2, 5, 0, 2)),
    "steep beta": (Law.beta(0.5, 0.7), stats.beta(0.5, 0.7)),
    "triangle": (Law.of(stats.triang(0.3)), stats.triang(0.3)),
}


def expectation(name, function, kinks=()):
    """By Gauss-Jacobi quadrature, or of the density between kinks by adaptive quadrature."""
    _, distribution = LAWS[name]
    low, high = distribution.support()
    if name.endswith("beta") and not kinks:
        a, b = distribution.args[:2]
        nodes, weights = special.roots_jacobi(60, b - 1, a - 1)
        x = low + (high - low) * (1 + nodes) / 2
        return float(weights @ np.array([function(v) for v in x]) / weights.sum())
    peak = low + 0.3 * (high - low)
    cuts = sorted({low, high, *(k for k in (*kinks, peak) if low < k < high)})
    nodes, weights = np.polynomial.legendre.leggauss(40)
    total = 0.0
    for a, b in pairwise(cuts):
        x = a + (b - a) * (nodes + 1) / 2
        values = distribution.pdf(x) * [function(v) for v in x]
        total += float(weights @ values) * (b - a) / 2
    return total


@for_each("t", [-3.0, -0.2, 0.01, 1.0, 4.0])
@for_each("name", LAWS)
def test_cumulants(name, t):
    law, _ = LAWS[name]
    mean = expectation(name, lambda x: x)
    assert law.mean == pytest.approx(mean, abs=1e-10)
    expected = math.log(expectation(name, lambda x: math.exp(t * (x - mean))))
    assert law.cgf(t) == pytest.approx(expected, abs=1e-10)


@for_each("n", [1, 7])
@for_each("b", [0.2, 1.0])
@for_each("name", LAWS)
def test_largest_cost_of_a_mean(name, b, n):
    law, distribution = LAWS[name]
    t = 1 / (n * b)
    low, high = distribution.support()
    above = math.log(expectation(name, lambda x: math.exp(t * (x - low))))
    below = math.log(expectation(name, lambda x: math.exp(t * (high - x))))
    found = LaplaceMean(law, n, b)
    assert found.sup_pmc() == pytest.approx(max(above, below), abs=1e-10)
    # The published form, with cumulant generating functions.
    mu = law.mean
    printed = max((mu - low) * t + law.cgf(t), (high - mu) * t + law.cgf(-t))
    assert found.sup_pmc() == pytest.approx(printed, abs=1e-10)
    assert found.sup_pmc() <= found.dp_level() + 1e-12


def test_largest_cost_of_a_uniform_mean():
    n, b, width = 5, 0.3, 4.0
    expected = math.log(n * b / width * math.expm1(width / (n * b)))
    assert LaplaceMean(Law.uniform(-1, 3), n, b).sup_pmc() == pytest.approx(expected, abs=1e-10)


@for_each("y", [-2.0, 0.1, 0.7, 1.3, 5.0])
@for_each("name", ["uniform", "beta", "triangle"])
def test_one_entry_with_a_density(name, y):
    law, distribution = LAWS[name]
    b = 0.6
    low, high = distribution.support()
    mean = expectation(name, lambda x: math.exp(-abs(y - x) / b), [y])
    nearest, farthest = min(max(y, low), high), max(abs(y - low), abs(y - high))
    found = LaplaceMean(law, 1, b)
    assert found.pml(y) == pytest.approx(-abs(y - nearest) / b - math.log(mean), abs=1e-10)
    assert found.pmc(y) == pytest.approx(math.log(mean) + farthest / b, abs=1e-10)
    assert found.pml(y) <= found.sup_pml() + 1e-10
    assert found.pmc(y) <= found.sup_pmc() + 1e-10


@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0.1, 2.0))
def test_means_of_values(seed, n, b):
    """Every database written out."""
    rng = np.random.default_rng(seed)
    values = np.unique(rng.integers(0, 7, int(rng.integers(2, 4)))) / 2.0
    p = rng.dirichlet(np.ones(len(values)))
    found = LaplaceMean(Law.finite(values, p), n, b)
    y = float(rng.uniform(-2, 5))
    given = np.zeros(len(values))
    for rest in np.ndindex(*[len(values)] * (n - 1)):
        chosen = list(rest)
        total = values[chosen].sum()
        given += p[chosen].prod() * np.exp(-np.abs(y - (values + total) / n) / b)
    whole = p @ given
    assert found.pml(y) == pytest.approx(math.log(given.max() / whole), abs=1e-10)
    assert found.pmc(y) == pytest.approx(math.log(whole / given.min()), abs=1e-10)
    assert found.pml(y) <= found.sup_pml() + 1e-12
    assert found.pmc(y) <= found.sup_pmc() + 1e-12
    ends = LaplaceMean(Law.finite(values, p), n, b)
    far = max(ends.pmc(-50.0), ends.pmc(50.0))
    assert far == pytest.approx(ends.sup_pmc(), abs=1e-9)


def test_the_worst_value_may_lie_inside():
    """Two clusters at the ends and a rare value between them: the rare one gives most away."""
    law = Law.finite([0.0, 0.5, 1.0], [0.495, 0.01, 0.495])
    noise = LaplaceMean(law, 1, 0.2)
    assert noise.sup_pml() == pytest.approx(noise.pml(0.5), abs=1e-12)
    assert noise.sup_pml() > max(noise.pml(-9.0), noise.pml(9.0)) + 0.1


@pytest.mark.slow
@for_each("epsilon", [0.01, 0.3, 1.2])
@for_each("name", LAWS)
def test_calibration_gives_the_level_back(name, epsilon):
    law, _ = LAWS[name]
    for make, level in ((LaplaceMean.for_pmc, "sup_pmc"), (LaplaceMean.for_pml, "sup_pml")):
        if level == "sup_pml" and name != "uniform":
            continue
        noise = make(law, 9, epsilon)
        assert epsilon * (1 - 1e-7) <= getattr(noise, level)() <= epsilon
    assert LaplaceMean.for_pmc(law, 9, epsilon).scale < (law.high - law.low) / (9 * epsilon)


def test_a_sample_stands_for_its_law():
    rng = np.random.default_rng(0)
    draws = rng.beta(2, 5, 4000)
    empirical = LaplaceMean(Law.sample(draws, 0, 1), 3, 0.4)
    exact = LaplaceMean(Law.beta(2, 5), 3, 0.4)
    assert empirical.sup_pmc() == pytest.approx(exact.sup_pmc(), abs=0.02)


# Gaussian noise: Example 6

CENTRED = {
    "uniform": Law.uniform(-1, 1),
    "signs": Law.two_point(0.5, -1, 1),
    "beta": Law.beta(3, 3, -1, 1),
}


@for_each("sigma", [0.3, 1.0, 4.0])
@for_each("y", [-3.0, -0.4, 0.0, 0.9, 6.0])
@for_each("name", CENTRED)
def test_gaussian_cost_at_every_outcome(name, y, sigma):
    law = CENTRED[name]
    noise = GaussianNoise(law, sigma)

    def density(x):
        return math.exp(-((y - x) ** 2 - (abs(y) - 1) ** 2) / (2 * sigma**2))

    if law.values is None:
        pdf = (lambda x: 0.5) if name == "uniform" else stats.beta(3, 3, -1, 2).pdf
        mean = integrate.quad(
            lambda x: pdf(x) * density(x), -1, 1, epsabs=0, epsrel=1e-12, limit=400, points=[0]
        )[0]
    else:
        mean = (density(-1) + density(1)) / 2
    least = min(density(-1), density(1))
    assert noise.pmc(y) == pytest.approx(math.log(mean / least), abs=1e-10)
    low, high = noise.pmc_bounds(y)
    assert low - 1e-12 <= noise.pmc(y) <= high + 1e-12
    tight = noise.pmc_bounds(y, with_cgf=True)
    assert low - 2e-12 <= tight[0] - 1e-12 <= noise.pmc(y) <= tight[1] + 1e-12 <= high + 2e-12
    nearest = (
        min((-1, 1), key=lambda x: abs(x - y)) if law.values is not None else np.clip(y, -1, 1)
    )
    assert noise.pml(y) == pytest.approx(max(0, math.log(density(nearest) / mean)), abs=1e-10)


def test_published_lower_bounds_hold_for_laws_without_mass_at_the_ends():
    """X = ±½ on [−1, 1]: Λ(X → 2) is log((1 + e²)/2), below the printed A|y|/σ² = 2."""
    law = Law(-1.0, 1.0, np.array([-0.5, 0.5]), np.array([0.5, 0.5]))
    for finer in (False, True):
        low, high = GaussianNoise(law, 1.0).pmc_bounds(2.0, with_cgf=finer)
        true = math.log((1 + math.exp(2)) / 2)
        assert low <= true + 1e-12
        assert true < GaussianNoise(law, 1.0).pmc(2.0) <= high
        assert GaussianNoise(Law.finite(law.values, law.masses), 1.0).pmc(2.0) == (
            pytest.approx(true)
        )
    # A control: with as little mass at the ends as can be, the printed bound holds and is given.
    ends = Law.finite([-1, -0.5, 0.5, 1], [1e-9, 1, 1, 1e-9])
    assert GaussianNoise(ends, 1.0).pmc_bounds(2.0)[0] == 2.0 < GaussianNoise(ends, 1.0).pmc(2.0)


@pytest.mark.slow
@for_each("name", CENTRED)
@for_each("level", [0.6, 1.0, 3.0, 8.0])
def test_gaussian_tail_is_exact_and_below_the_published_bound(name, level):
    law, sigma = CENTRED[name], 1.0
    noise = GaussianNoise(law, sigma)
    found = noise.tail(level)
    assert found <= noise.tail_bound(level) + 1e-12
    # By integration over outcomes on a fine grid.
    y = np.linspace(-12, 12, 4001)
    if law.values is None:
        x = np.linspace(-1, 1, 801)
        w = np.full(801, 0.5) if name == "uniform" else stats.beta(3, 3, -1, 2).pdf(x)
        f = integrate.trapezoid(w * stats.norm.pdf(y[:, None] - x), x, axis=1)
    else:
        f = (stats.norm.pdf(y - 1) + stats.norm.pdf(y + 1)) / 2
    reached = np.log(f) - stats.norm.logpdf(np.abs(y) + 1) >= level
    assert found == pytest.approx(integrate.trapezoid(f * reached, y), abs=5e-3)


def test_the_published_remark_on_domination_does_not_hold():
    """A = σ = 1: P(Λ ≥ 1) is above what a Gaussian of mean r/2 and variance 4r(r + 1) has."""
    for law in CENTRED.values():
        assert GaussianNoise(law, 1.0).tail(1.0) > 0.6
    assert stats.norm(0.5, math.sqrt(8)).sf(1.0) == pytest.approx(0.43, abs=5e-3)


@pytest.mark.slow
def test_gaussian_calibration_by_tail():
    for law in (CENTRED["signs"], CENTRED["uniform"]):
        noise = GaussianNoise.for_tail(law, 1.0, 1e-3)
        assert 0.5e-3 < noise.tail(1.0) <= 1e-3
        assert GaussianNoise(law, noise.sigma * 0.9).tail(1.0) > 1e-3


# Randomised response: Example 3


@given(st.integers(0, 10**6), st.integers(2, 7), st.floats(0.01, 8.0))
def test_randomised_response_under_all_notions(seed, n, r):
    rng = np.random.default_rng(seed)
    prior = md.Prior.from_counts(rng.integers(1, 20, n).tolist())
    response = RandomisedResponse(prior, r)
    report = md.audit(response.mechanism(), prior)
    for name in ("ldp", "pml", "pmc", "lip", "maximal_leakage"):
        assert response.level(name) == pytest.approx(getattr(report, name), abs=1e-10)
    for name in ("ldp", "pml", "pmc", "maximal_leakage"):
        again = RandomisedResponse.at(prior, name, response.level(name))
        assert again.response == pytest.approx(r, rel=1e-6)
    both = RandomisedResponse.at(prior, "lip", response.level("lip"))
    assert both.response == pytest.approx(r, rel=1e-6)


# Quantisation


@given(st.integers(2, 12), CHANCES, st.floats(0.05, 1.0))
def test_rounded_noisy_counts_leak_less_than_the_noisy_count(n, p, b):
    counts = databases.counts_prior(n, p)
    kernel = quantise(("laplace", n * b), counts, counting_edges(n), outputs=range(n + 1))
    exact = LaplaceMean.count(n, p, b)
    for notion, level in ((md.FeaturePML, exact.sup_pml()), (md.FeaturePMC, exact.sup_pmc())):
        entry = notion(math.inf, databases.entry_of(n))
        assert entry.measure(kernel, counts)[0] <= level + 1e-9
    dp = md.DP(math.inf, "adjacent").measure(kernel, counts)[0]
    assert dp <= exact.dp_level() + 1e-6


def test_fine_intervals_leak_as_much():
    n, p, b = 4, 0.3, 0.2
    counts = databases.counts_prior(n, p)
    edges = np.linspace(-1, 2, 601)
    kernel = quantise(("laplace", b), counts, edges, locations=np.arange(n + 1) / n)
    entry = md.FeaturePML(math.inf, databases.entry_of(n))
    exact = LaplaceMean.count(n, p, b)
    assert entry.measure(kernel, counts)[0] == pytest.approx(exact.sup_pml(), abs=1e-9)
    middles = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(
        entry.leakage(kernel.kernel, counts)[1:-1], exact.pml(middles), atol=5e-3
    )


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=9, unique=True), st.floats(0.1, 5))
def test_quantised_rows_are_probabilities_of_intervals(edges, scale):
    edges = np.sort(edges)
    if (np.diff(edges) <= 0).any():
        return
    for noise, law in (
        (("laplace", scale), stats.laplace(scale=scale)),
        (("gaussian", scale), stats.norm(scale=scale)),
        (stats.logistic(scale=scale), stats.logistic(scale=scale)),
    ):
        kernel = quantise(noise, [0, 1.5], edges)
        for x, row in zip((0, 1.5), kernel.kernel, strict=True):
            cuts = law.cdf(np.concatenate([[-np.inf], edges - x, [np.inf]]))
            np.testing.assert_allclose(row, np.diff(cuts), atol=1e-12)


def test_far_intervals_keep_their_digits():
    kernel = quantise(("laplace", 1.0), [0], [-60, -50, 50, 60]).kernel[0]
    expected = (math.exp(-50) - math.exp(-60)) / 2
    assert kernel[1] == pytest.approx(expected, rel=1e-12)
    assert kernel[3] == pytest.approx(expected, rel=1e-12)
    assert kernel[4] == pytest.approx(math.exp(-60) / 2, rel=1e-12)


# Bad input

UNIT = Law.uniform(0, 1)
REFUSED = {
    "masses": (lambda: Law.finite([0, 1], [1, -1]), PriorError, "non-negative"),
    "nan": (lambda: Law.finite([0, math.nan], [1, 1]), PriorError, "finite"),
    "empty": (lambda: Law.sample([]), PriorError, "values"),
    "domain": (lambda: Law.sample([0, 3], 0, 1), PriorError, "around all values"),
    "ends": (lambda: Law.uniform(1, 0), PriorError, "low < high"),
    "unbounded": (lambda: Law.of(stats.norm()), PriorError, "cut it off"),
    "no law": (lambda: Law.of(3), PriorError, "scipy.stats"),
    "labels": (lambda: Law.from_prior(md.Prior([0.5, 0.5], ["a", "b"])), PriorError, "numbers"),
    "chance": (lambda: Law.two_point(1.5), PriorError, "probability"),
    "scale": (lambda: LaplaceMean(UNIT, 3, 0), LevelError, "positive"),
    "scale nan": (lambda: LaplaceMean(UNIT, 3, math.nan), LevelError, "positive"),
    "entries": (lambda: LaplaceMean(UNIT, 0, 1.0), LevelError, "whole number"),
    "mean": (lambda: LaplaceMean(UNIT, 3, 1.0).pml(0.5), LevelError, "Law.sample"),
    "outcome": (lambda: LaplaceMean(UNIT, 1, 1.0).pml(math.inf), LevelError, "sup_pml"),
    "least": (lambda: LaplaceMean.class_bound(3, 0.5, 1.0), LevelError, "1/2"),
    "level": (lambda: LaplaceMean.for_pmc(UNIT, 3, 0), LevelError, "positive"),
    "text": (lambda: LaplaceMean.for_pmc(UNIT, 3, "1"), LevelError, "nats"),
    "sigma": (lambda: GaussianNoise(UNIT, -1), LevelError, "positive"),
    "bounds": (lambda: GaussianNoise(UNIT, 1).pmc_bounds(1), LevelError, "mean 0"),
    "supremum": (lambda: GaussianNoise(UNIT, 1).pmc(math.inf), LevelError, "tail"),
    "tail": (lambda: GaussianNoise.for_tail(UNIT, 1, 2), LevelError, "probability"),
    "response": (lambda: RandomisedResponse(md.Prior.uniform(2), math.inf), LevelError, "finite"),
    "notion": (
        lambda: RandomisedResponse(md.Prior.uniform(2), 1).level("pmx"),
        UnknownNameError,
        "pm",
    ),
    "reach": (
        lambda: RandomisedResponse.at(md.Prior.uniform(2), "pml", 1),
        LevelError,
        "no response reaches",
    ),
    "edges": (lambda: quantise(("laplace", 1), [0, 1], [1, 0]), KernelError, "increasing"),
    "locations": (lambda: quantise(("laplace", 1), ["a"], [0]), KernelError, "locations="),
    "noise": (lambda: quantise("laplace", [0, 1], [0]), KernelError, "scipy.stats"),
}


@for_each("name", REFUSED)
def test_bad_input(name):
    make, error, word = REFUSED[name]
    refused(make, word, error=error)
