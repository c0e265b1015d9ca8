"""Noise for Pufferfish privacy: calibrations by integration, errata, the Wasserstein baseline."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from checks import refused
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import linprog
from strategies import random_kernel

import mechdesign as md
from mechdesign import noise
from mechdesign.errors import LevelError
from mechdesign.privacy import databases

LEVELS = st.floats(0.02, 1.5)


def random_rows(rng, n=3):
    rows = list(itertools.product((0, 1), repeat=n))
    return md.Prior.from_counts(rng.integers(1, 9, len(rows)).tolist(), rows)


@pytest.mark.slow
@given(st.integers(0, 10**6), LEVELS)
def test_calibrated_noise_keeps_the_information(seed, epsilon):
    """Theorem 3 and Remark 6 on databases of three bits, by integration of the densities."""
    rng = np.random.default_rng(seed)
    prior = random_rows(rng)
    weights = rng.uniform(-1, 1, 3)

    def query(row):
        return float(weights @ row)

    for i in range(3):

        def private(row, i=i):
            return row[i]

        for public in (None, lambda row, i=i: row[:i] + row[i + 1 :]):
            variance, deviation = noise.query_spread(prior, query, [public])
            sigma = math.sqrt(noise.gaussian_variance(variance, epsilon))
            scale = noise.laplace_scale(deviation, epsilon)
            for kind in (("gaussian", sigma), ("laplace", scale)):
                found = noise.noisy_information(prior, query, private, kind, public, 4000)
                assert found <= epsilon + 1e-6


def test_information_of_noise_against_entropies():
    """A fair bit plus Gaussian noise: h(Y) − h(Z), on another grid."""
    prior, sigma = md.Prior.uniform([0, 1]), 0.7
    y = np.linspace(-10, 11, 200_001)
    f = sum(np.exp(-((y - m) ** 2) / (2 * sigma**2)) for m in (0, 1))
    f /= 2 * sigma * math.sqrt(2 * math.pi)
    entropy = -(f * np.log(f)).sum() * (y[1] - y[0])
    expected = entropy - 0.5 * math.log(2 * math.pi * math.e * sigma**2)
    found = noise.noisy_information(prior, float, float, ("gaussian", sigma))
    assert found == pytest.approx(expected, abs=1e-9)


def between_kinks(prior, query, private, b):
    """The information under Laplace noise by quadrature from value to value, in floats."""
    values, p = [query(x) / b for x in prior.labels], prior.probabilities
    keys = [private(x) for x in prior.labels]
    mass = {key: sum(m for m, k in zip(p, keys, strict=True) if k == key) for key in keys}

    def integrand(y):
        parts = dict.fromkeys(mass, 0.0)
        for v, m, key in zip(values, p, keys, strict=True):
            parts[key] += m * math.exp(-abs(y - v)) / 2
        joint = sum(parts.values())
        return sum(v * math.log(v / mass[k] / joint) for k, v in parts.items())

    kinks = sorted({min(values) - 45, *values, max(values) + 45})
    pieces = itertools.pairwise(kinks)
    return sum(
        quad(integrand, *piece, epsabs=1e-15, epsrel=1e-11, limit=200)[0] for piece in pieces
    )


BITS = md.Prior.from_counts([49, 21, 21, 9], list(itertools.product((0, 1), repeat=2)))


def test_information_under_laplace_noise_keeps_its_digits_across_kinks():
    """Each was off in the fifth to seventh digit by trapezoids; the first was above log 2."""

    def first(row):
        return row[0]

    assert noise.noisy_information(BITS, sum, first, ("laplace", 0.01)) == pytest.approx(
        0.31974249, abs=5e-9
    )
    assert noise.noisy_information(BITS, sum, first, ("laplace", 0.8)) == pytest.approx(
        between_kinks(BITS, sum, first, 0.8), rel=1e-12
    )
    # A control: the value of before is not within what is asked.
    assert between_kinks(BITS, sum, first, 0.8) != pytest.approx(0.080162261, rel=1e-6)
    # What little remains under much noise keeps its digits: half the variance over b².
    far = noise.noisy_information(BITS, sum, sum, ("laplace", 1e100))
    assert far == pytest.approx(0.42 / 2 * 1e-200, rel=1e-12)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(-40, 40), st.integers(0, 2)), min_size=2),
    st.floats(0.05, 20.0),
)
def test_information_under_laplace_noise_agrees_with_quadrature_between_kinks(rows, b):
    prior = md.Prior.from_counts([w for w, _, _ in rows], [(i, *r) for i, r in enumerate(rows)])
    functions = (lambda x: x[2] / 8, lambda x: x[3])
    found = noise.noisy_information(prior, *functions, ("laplace", b))
    assert found == pytest.approx(between_kinks(prior, *functions, b), rel=1e-8, abs=1e-13)


@given(
    st.sampled_from(["laplace", "gaussian"]),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6, unique=True),
    st.floats(1e-3, 1e3),
)
def test_information_never_exceeds_the_entropy_of_the_secret(kind, values, scale):
    prior = md.Prior.uniform(values)
    for private, most in ((float, len(values)), (lambda v: v > values[0], 2), (lambda v: 0, 1)):
        assert (
            0
            <= noise.noisy_information(prior, float, private, (kind, scale), None, 2)
            <= (math.log(most))
        )


def test_labels_far_apart_are_told_apart_by_their_entropy():
    coin = md.Prior.uniform([0, 1e4])
    for kind in ("laplace", "gaussian"):
        assert noise.noisy_information(coin, float, float, (kind, 0.01)) == math.log(2)
        huge = md.Prior.uniform([-1e308, 1e308])
        assert noise.noisy_information(huge, float, float, (kind, 1e-300)) == math.log(2)
    # Clusters that only meet others far away: as many points as each needs.
    three = md.Prior.uniform([0, 5, 2000])
    near = noise.noisy_information(md.Prior.uniform([0, 5, 200]), float, float, ("gaussian", 1))
    assert noise.noisy_information(three, float, float, ("gaussian", 1)) == pytest.approx(
        near, rel=1e-14
    )
    refused(
        lambda: noise.noisy_information(coin, lambda x: [x, x], float, ("laplace", 1)), "vector"
    )


@given(st.floats(0.01, 1.0), st.floats(0.05, 0.95), LEVELS)
def test_corrected_theorem_4_on_gaussian_queries(total, share, epsilon):
    """f(X) Gaussian given g: the information is log((A + σ²)/(V + σ²))/2, and ε where σ > 0."""
    given_secret = share * total
    entropy = 0.5 * math.log(2 * math.pi * math.e * given_secret)
    variance = noise.gaussian_variance_given_secret(total, entropy, epsilon)
    information = 0.5 * math.log((total + variance) / (given_secret + variance))
    assert information <= epsilon + 1e-12
    if variance > 0:
        assert information == pytest.approx(epsilon, abs=1e-9)
    assert variance <= noise.gaussian_variance(total, epsilon)


def test_printed_theorem_4_allows_too_little_noise():
    a, v, epsilon = 0.02, 0.01, 0.1
    h = 0.5 * math.log(2 * math.pi * math.e * v)
    printed = math.exp(h / 2 - 1) / (2 * math.pi)
    assert (a - math.exp(2 * epsilon) * printed) / math.expm1(2 * epsilon) < 0
    assert 0.5 * math.log(a / v) == pytest.approx(0.347, abs=1e-3)
    assert noise.gaussian_variance_given_secret(a, h, epsilon) == pytest.approx(0.03517, abs=5e-6)


def test_free_privacy_of_weakly_correlated_secrets():
    """ρ = .1 is free at ε = .00503: no noise is needed once ε ≥ −log(1 − ρ²)/2."""
    h = 0.5 * math.log(2 * math.pi * math.e * 0.99)
    free = -0.5 * math.log(0.99)
    assert noise.gaussian_variance_given_secret(1.0, h, free * 1.001) == 0
    assert noise.gaussian_variance_given_secret(1.0, h, free * 0.999) > 0


@pytest.mark.parametrize("n", [1, 5, 40])
def test_means_of_independent_entries(n):
    """Remark 5, corrected: σ² = s/(n²(e^{2ε} − 1)) and b = √s/(n(e^ε − 1)) with entries public."""
    s, epsilon = 0.3, 0.2
    assert noise.gaussian_variance(s / n**2, epsilon) == pytest.approx(
        s / (n**2 * math.expm1(2 * epsilon))
    )
    assert noise.laplace_scale(math.sqrt(s) / n, epsilon) == pytest.approx(
        math.sqrt(s) / (n * math.expm1(epsilon))
    )


@given(st.floats(0.1, 3.0), LEVELS)
def test_corollary_1_and_the_sharper_variance(width, epsilon):
    loose = noise.gaussian_variance_for_dp(width, epsilon)
    assert noise.gaussian_variance(width**2 / 4, epsilon) == pytest.approx(loose / 2)


@given(st.floats(1e-3, 0.2), st.floats(0.05, 1.0))
def test_comparison_with_the_classical_mechanism(epsilon, target):
    """Less noise just below the threshold (sensitivity does not matter)."""
    (row,) = noise.classical_comparison([epsilon], target)
    assert (row["sigma_mi"] < row["sigma_classical"]) is (target < row["threshold"])


# What a guarantee implies


def information(p, kernel):
    q = p @ kernel
    return float((p[:, None] * kernel * np.log(kernel / q)).sum())


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 5))
def test_implications_of_theorem_1(seed, n, m):
    rng = np.random.default_rng(seed)
    p, kernel = rng.dirichlet(np.ones(n)), random_kernel(rng, n, m)
    kernel = kernel / kernel.sum(axis=1, keepdims=True)
    found = information(p, kernel)
    # ε-privacy of all pairs implies information at most ε.
    assert found <= np.log(kernel.max(axis=0) / kernel.min(axis=0)).max() + 1e-12
    for a, b in itertools.permutations(range(n), 2):
        apart = np.abs(kernel[a] - kernel[b]).sum() / 2
        assert apart <= noise.variation_from_information(found, p[a], p[b]) + 1e-12
    # (ε, δ)-privacy with the least δ for some ε bounds the information.
    for epsilon in (0.0, 0.2, 0.7):
        delta = max(
            np.maximum(kernel[a] - math.exp(epsilon) * kernel[b], 0).sum()
            for a in range(n)
            for b in range(n)
        )
        bound = noise.information_from_approximate(epsilon, float(delta), n, m)
        assert found <= bound + 1e-9
        assert bound <= math.nextafter(math.log(min(n, m)), math.inf)
    # Few outputs tell little, whatever the level.
    assert noise.information_from_approximate(3, 0.2, 10, 2) == pytest.approx(math.log(2))
    assert noise.information_from_approximate(3, 0.2, 10) == pytest.approx(math.log(10))


def test_the_published_variation_bound_fails_for_one_prior():
    """Θ = {Ber(.01)}, M = X: information .056, total variation 1."""
    p = np.array([0.99, 0.01])
    i = float(-(p * np.log(p)).sum())
    assert i == pytest.approx(0.0560, abs=1e-4)
    assert math.sqrt(2 * i) < 0.34
    assert noise.variation_from_information(i, *p) == 1.0


# The Wasserstein mechanism and the best one

FLU = md.Prior([0.1, 0.15, 0.5, 0.15, 0.1])


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_distance_is_the_best_coupling(seed, n):
    """W∞ by feasibility of transport plans within a distance."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.choice(12, n, replace=False)).astype(float)
    a, b = (rng.multinomial(12, rng.dirichlet(np.ones(n))) for _ in range(2))
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    d = np.abs(x[:, None] - x[None]).ravel()
    feasible = [
        limit
        for limit in np.unique(d)
        if linprog(
            np.zeros(n * n),
            A_eq=sums,
            b_eq=np.r_[a, b] / 12,
            bounds=[(0, v) for v in (d <= limit) * 1.0],
        ).status
        == 0
    ]
    assert noise.wasserstein_infinity(x, a, b) == min(feasible)


def test_flu_example():
    """Whether one of four related people has the flu: scale 2/ε, where group privacy needs 4/ε."""
    one = md.Pufferfish.of_feature(1.0, databases.entry_of(4))
    given_sick = next(m for _, _, _, m in one.hypotheses(FLU))
    np.testing.assert_allclose(
        np.array(given_sick, dtype=float) * 2, [0, 0.075, 0.5, 0.225, 0.2], atol=1e-12
    )
    assert noise.wasserstein_scale(FLU, one) == 2.0


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_best_mechanism_beats_the_wasserstein_mechanism(epsilon):
    one = md.Pufferfish.of_feature(epsilon, databases.entry_of(4))
    scale = noise.wasserstein_scale(FLU, one)
    rounded = noise.quantise(("laplace", scale), FLU, noise.counting_edges(4), outputs=range(5))
    assert one.measure(rounded, FLU)[0] <= epsilon + 1e-9
    loss = md.utility.Distance("absolute")
    best = md.design(FLU, loss, one)
    assert best.certificate.is_optimal
    # Even with the best remap of its outcomes.
    joint = rounded.joint(FLU)
    remapped = (-np.abs(np.subtract.outer(np.arange(5), np.arange(5))).T @ joint).max(axis=0).sum()
    assert best.value > loss.value(rounded, FLU) + 1e-3
    assert best.value > remapped + 1e-3


def test_secrets_with_chances_are_features():
    one = md.Pufferfish.of_feature(0.5, databases.entry_of(4))
    found = md.design(FLU, md.utility.Hamming(), one)
    joint = found.mechanism.joint(FLU)
    chance = np.arange(5) / 4
    sick, healthy = chance @ joint / 0.5, (1 - chance) @ joint / 0.5
    live = sick + healthy > 0
    assert np.abs(np.log(sick[live] / healthy[live])).max() <= 0.5 + 1e-9


REFUSED = {
    "variance": (lambda: noise.gaussian_variance(-1, 1), "positive"),
    "level": (lambda: noise.gaussian_variance(1, 0), "positive"),
    "dimension": (lambda: noise.gaussian_variance(1, 1, 0), "whole number"),
    "entropy": (lambda: noise.gaussian_variance_given_secret(1, -math.inf, 1), "gaussian_variance"),
    "classical": (lambda: noise.classical_gaussian_variance(1, 2, 0.1), "at most 1"),
    "comparison": (lambda: noise.classical_comparison([0.6], 1), "below 1/2"),
    "query": (lambda: noise.query_spread(FLU, lambda x: math.nan), "finite"),
    "values": (lambda: noise.variation_from_information(0.1, 0, 1), "above 0"),
    "delta": (lambda: noise.information_from_approximate(0.1, 2, 2), "δ"),
    "text": (
        lambda: noise.wasserstein_scale(
            md.Prior([0.5, 0.5], ["a", "b"]), md.Pufferfish(1, {"a": ["a"], "b": ["b"]})
        ),
        "query=",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input(name):
    make, word = REFUSED[name]
    refused(make, word, error=LevelError)
