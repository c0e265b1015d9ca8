"""Noise is never rounded down, what it promises is never rounded up to look better, and every level
has an answer or an error that says what to do."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import mechdesign as md
from mechdesign import noise
from mechdesign.errors import LevelError, MechdesignError, PriorError
from mechdesign.noise import GaussianNoise, LaplaceMean, Law, RandomisedResponse, quantise
from mechdesign.privacy import databases

COIN = md.Prior([0.5, 0.5], [0, 1])
LEVELS = st.floats(1e-3, 5.0)
DIMENSIONS = [1, 2, 3, 7]


def just_above(found, exact):
    """A float at or above a decimal, and next to it."""
    assert Decimal(found) >= exact
    assert Decimal(math.nextafter(found, -math.inf)) < exact * (1 + Decimal("1e-50"))


# Amounts of noise in d dimensions


@for_each("d", DIMENSIONS)
@given(st.floats(0.01, 100.0), LEVELS)
def test_gaussian_noise_on_a_gaussian_query_leaks_the_level_in_every_dimension(d, total, epsilon):
    """log det(Σ + σ²I)/2 − log det(σ²I)/2 is ε for equal variances, and less for unequal ones."""
    variance = noise.gaussian_variance(total, epsilon, d)

    def information(covariance):
        both = np.linalg.slogdet(covariance + variance * np.eye(d))[1]
        return (both - np.linalg.slogdet(variance * np.eye(d))[1]) / 2

    assert information(np.eye(d) * total / d) == pytest.approx(epsilon, rel=1e-9)
    shares = np.arange(1, d + 1) / (d * (d + 1) / 2)
    assert information(np.diag(total * shares)) <= epsilon * (1 + 1e-9)


@for_each("d", DIMENSIONS)
@given(st.floats(0.01, 10.0), st.floats(0.05, 0.95), LEVELS)
def test_the_entropy_power_bound_is_attained_in_every_dimension(d, total, share, epsilon):
    """f(X) Gaussian given g with variance V: I = log det(A + σ²)/2 − log det(V + σ²)/2 is ε."""
    given_secret = share * total
    entropy = d / 2 * math.log(2 * math.pi * math.e * given_secret / d)
    variance = noise.gaussian_variance_given_secret(total, entropy, epsilon, d)

    def logdet(spread):
        return np.linalg.slogdet((spread / d + variance) * np.eye(d))[1] / 2

    if variance == 0:
        assert d / 2 * math.log(1 / share) <= epsilon * (1 + 1e-9)
    else:
        assert logdet(total) - logdet(given_secret) == pytest.approx(epsilon, rel=1e-7)
    assert variance <= noise.gaussian_variance(total, epsilon, d)


def entropy(density, scale):
    """Differential entropy by quadrature."""
    value = integrate.quad(
        lambda x: special.entr(density(x)), -60 * scale, 60 * scale, points=[0], limit=400
    )
    return value[0]


@for_each("d", DIMENSIONS)
@for_each("epsilon", [0.2, 1.0, 4.0])
def test_laplace_noise_meets_the_largest_entropy_in_every_dimension(d, epsilon):
    """Of all laws of d sums with mean distances s/d + B, Laplace has most: that is ε above Z."""
    deviation = 0.7
    b = noise.laplace_scale(deviation, epsilon, d)
    wide = b + deviation / d
    most = entropy(stats.laplace(scale=wide).pdf, wide)
    own = entropy(stats.laplace(scale=b).pdf, b)
    assert d * (most - own) == pytest.approx(epsilon, rel=1e-7)


@for_each("d", DIMENSIONS)
@for_each("epsilon", [0.2, 1.0])
def test_laplace_noise_on_independent_bits_keeps_the_level(d, epsilon):
    """d fair bits, each released with its own noise: d times what one tells, by quadrature."""
    b = noise.laplace_scale(d * 0.5, epsilon, d)
    one = noise.noisy_information(COIN, float, float, ("laplace", b))
    assert 0 < d * one <= epsilon


@for_each("d", DIMENSIONS)
@given(st.floats(0.1, 10.0), LEVELS)
def test_gaussian_noise_for_neighbours_is_that_of_their_largest_variance(d, width, epsilon):
    """Two databases at distance Δ, equally likely, have variance Δ²/4; any number, at most Δ²/2."""
    found = noise.gaussian_variance_for_dp(width, epsilon, d)
    assert found == pytest.approx(noise.gaussian_variance(width**2 / 2, epsilon, d), rel=1e-12)
    # Vertices of a simplex with edges Δ come near it.
    k = 50
    corners = np.eye(k) * width / math.sqrt(2)
    assert np.linalg.norm(corners[0] - corners[1]) == pytest.approx(width)
    assert ((corners - corners.mean(axis=0)) ** 2).sum(axis=1).mean() == pytest.approx(
        width**2 / 2 * (1 - 1 / k)
    )


@given(st.floats(1e-12, 1e12), st.floats(1e-6, 50.0), st.integers(1, 9))
def test_noise_is_never_rounded_down(size, epsilon, d):
    with localcontext() as context:
        context.prec = 90
        s, e = Decimal(size), Decimal(epsilon)
        just_above(noise.gaussian_variance(size, epsilon, d), s / (d * ((2 * e / d).exp() - 1)))
        just_above(noise.laplace_scale(size, epsilon, d), s / (d * ((e / d).exp() - 1)))
        just_above(
            noise.gaussian_variance_for_dp(size, epsilon, d),
            s * s / (2 * d * ((2 * e / d).exp() - 1)),
        )
        if epsilon <= 1:
            expected = 2 * (Decimal("1.25") * 1024).ln() * s * s / e**2
            just_above(noise.classical_gaussian_variance(size, epsilon, 2**-10), expected)


@given(st.floats(1e-9, 3.0), st.floats(0, 1), st.integers(2, 9))
def test_information_of_approximate_privacy_is_never_rounded_down(epsilon, delta, values):
    found = noise.information_from_approximate(epsilon, delta, values)
    with localcontext() as context:
        context.prec = 90
        share = 1 - 2 * (1 - Decimal(delta)) / (Decimal(epsilon).exp() + 1)
        exact = Decimal(values).ln()
        if share <= Decimal("0.5"):
            binary = -share * share.ln() - (1 - share) * (1 - share).ln() if share > 0 else 0
            exact = min(exact, 2 * binary + 2 * share * Decimal(values + 1).ln())
        just_above(found, exact)


def test_a_number_that_is_no_float_counts_with_its_exact_value():
    third = Fraction(1, 3)
    assert Fraction(noise.laplace_scale(third, 1)) > third / Fraction(math.e - 1) * (1 - 2**-50)
    assert noise.gaussian_variance(third, 1) >= noise.gaussian_variance(float(third), 1)


# Spreads


def test_a_rare_far_value_counts_in_the_spread_of_a_query():
    prior = md.Prior.from_counts({0: 10**18 - 1, 1: 1})
    spread, deviation = noise.query_spread(prior, lambda x: 1e9 * x + 1e16)
    mass = Fraction(1, 10**18)
    exact = mass * (1 - mass) * 10**18
    assert 0 <= Fraction(spread) - exact <= exact / 2**50
    assert 0 <= Fraction(deviation) ** 2 - exact <= exact / 2**50


# The Wasserstein mechanism


def test_a_tiny_atom_far_away_counts_in_full():
    atom = 4e-15
    assert noise.wasserstein_infinity([0, 100], [1, 0], [1 - atom, atom]) == 100
    assert noise.wasserstein_infinity([0, 100], [1, 0], [1, 5e-324]) == 100
    counts = {0: 10**15, 1: 10**15 - 4, 100: 4}
    prior = md.Prior.from_counts(counts)
    notion = md.Pufferfish(0.5, {"a": [0], "b": [1, 100]})
    assert noise.wasserstein_scale(prior, notion) == 200


def test_the_scale_is_rounded_up():
    prior = md.Prior.uniform([0, 1])
    for epsilon in (3.0, 0.7, 1e-3, 49.0):
        scale = noise.wasserstein_scale(prior, md.Pufferfish(epsilon, {"a": [0], "b": [1]}))
        assert Fraction(scale) * Fraction(epsilon) >= 1
        assert Fraction(math.nextafter(scale, 0)) * Fraction(epsilon) < 1


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_distance_of_integer_masses_is_that_of_their_copies(rows):
    """Every unit of mass written out, both laws sorted, is the monotone coupling."""
    x, a, b = (list(column) for column in zip(*rows, strict=True))
    if not sum(a) or not sum(b):
        refused(lambda: noise.wasserstein_infinity(x, a, b), "non-negative masses")
        return

    def copies(masses, times):
        pairs = sorted(zip(x, masses, strict=True))
        return [v for v, m in pairs for _ in range(m * times)]

    left, right = copies(a, sum(b)), copies(b, sum(a))
    expected = max(abs(u - v) for u, v in zip(left, right, strict=True))
    assert noise.wasserstein_infinity(x, a, b) == expected
    tenths = [Fraction(m, 10) for m in a]
    assert noise.wasserstein_infinity(x, tenths, b) == expected


# Gaussian noise next to nothing


def log_uniform(low, high, y, sigma):
    """Log of the density of uniform plus Gaussian at y, in closed form."""
    near, far = sorted((abs(y - low) / sigma, abs(y - high) / sigma))
    if low < y < high:
        inside = math.log1p(-special.ndtr(-near) - special.ndtr(-far))
        return inside - math.log(high - low)
    tail = special.log_ndtr(-near)
    return tail + math.log1p(-math.exp(special.log_ndtr(-far) - tail)) - math.log(high - low)


@pytest.mark.parametrize(
    ("sigma", "y", "expected"), [(0.01, 5, 99988.71021), (0.001, 2, 3999985.49134)]
)
def test_narrow_gaussian_noise_far_out(sigma, y, expected):
    assert GaussianNoise(Law.uniform(-1, 1), sigma).pmc(y) == pytest.approx(expected, abs=1e-4)


@for_each("sigma", [2.0, 0.1, 0.01, 1e-3, 1e-6, 1e-12, 1e-100])
@for_each("y", [-7.0, -1.0, 0.3, 1.0, 1.0001, 5.0])
def test_gaussian_noise_of_any_width_on_a_uniform(y, sigma):
    found = GaussianNoise(Law.uniform(-1, 1), sigma)
    log_f = log_uniform(-1.0, 1.0, y, sigma)
    nearest = min(max(y, -1.0), 1.0)
    top = -(((y - nearest) / sigma) ** 2) / 2 - math.log(sigma * math.sqrt(2 * math.pi))
    low = -((max(abs(y + 1), abs(y - 1)) / sigma) ** 2) / 2 - math.log(
        sigma * math.sqrt(2 * math.pi)
    )
    size = 1e-12 * (1 + abs(top) + abs(low))
    assert found.pmc(y) == pytest.approx(log_f - low, abs=size)
    assert found.pml(y) == pytest.approx(top - log_f, abs=size)


def test_the_work_of_an_integral_grows_with_the_logarithm_of_the_noise():
    """Counted in values of the density, where halving everything would need 1e12 of them."""
    seen = []

    def density(x):
        seen.append(np.size(x))
        return np.full(np.shape(x), 0.5)

    law = Law(-1.0, 1.0, density=density)
    for sigma in (1.0, 1e-3, 1e-6, 1e-12):
        seen.clear()
        GaussianNoise(law, sigma).pmc(5.0)
        assert sum(seen) < 100_000


@for_each("t", [1e-12, 1e-6, 1.0, 1e4, 1e8])
def test_cumulants_of_a_uniform_keep_their_digits(t):
    """Log E e^{tX} on [0, 1] is t/2 + t²/24 for small t, and t − log t for large t."""
    found = Law.uniform(0, 1).log_mgf_from(0.0, t)
    expected = t / 2 + t * t / 24 - t**4 / 2880 if t < 1 else t + math.log(-math.expm1(-t) / t)
    assert found == pytest.approx(expected, rel=1e-11)


def test_levels_of_tiny_size_are_kept_by_the_noise():
    """At ε = 1e-14 a logarithm of one plus something loses all digits; no noise would be fatal."""
    for law in (Law.uniform(0, 1), Law.two_point(0.3)):
        for make, level in ((LaplaceMean.for_pmc, "sup_pmc"), (LaplaceMean.for_pml, "sup_pml")):
            found = make(law, 5, 1e-14)
            assert found.scale > 1e12
            assert 0.99e-14 < getattr(found, level)() <= 1e-14


def test_a_point_mass_is_never_revealed():
    found = GaussianNoise(Law.finite([1.0], [1.0]), 0.5)
    assert found.pmc(9.0) == found.pml(-9.0) == 0
    assert found.tail(0.1) == 0
    assert found.tail(0.0) == 1


# Means of very many entries


def test_counts_of_very_many_people_in_closed_form():
    n, p, b = 100_001, 0.3, 2e-5
    found = LaplaceMean.count(n, p, b).pml(0.3)
    s = np.arange(n)
    weight = stats.binom.logpmf(s, n - 1, p)
    zero, one = (special.logsumexp(weight - np.abs(0.3 - (s + d) / n) / b) for d in (0, 1))
    expected = max(zero, one) - np.logaddexp(math.log(1 - p) + zero, math.log(p) + one)
    assert found == pytest.approx(expected, abs=1e-9)


def test_too_many_entries_are_refused_before_any_are_added():
    law = Law.finite([0.0, 1.0, math.pi], [1, 1, 1])
    for entries in (10**9, 10**15):
        refused(lambda n=entries: LaplaceMean(law, n, 0.1).pml(0.3), "different sums")
        refused(lambda n=entries: LaplaceMean.count(n, 0.3, 0.1).pmc(0.3), "different sums")
    refused(lambda: LaplaceMean(law, 10**400, 0.1), "1/(nb)", error=LevelError)


def test_masses_too_small_for_floats_do_not_vanish():
    """The chance that 600 of 600 have a property of chance 1e-3 is 1e-1800, and y asks for it."""
    found = LaplaceMean.count(601, 1e-3, 1e-4)
    value = found.pmc(1.0)
    assert math.isfinite(value)
    assert 0 <= value <= found.sup_pmc()


@given(st.integers(1, 100), st.floats(0, 0.49), st.floats(1e-9, 50.0))
def test_the_scale_for_a_class_is_safe(n, c, epsilon):
    b = LaplaceMean.class_scale(n, c, epsilon)
    if b == 0:
        assert c * Decimal(epsilon).exp() >= 1 if not c else Decimal(c) * Decimal(epsilon).exp() > 1
    else:
        assert LaplaceMean.class_bound(n, c, b) <= epsilon
        assert LaplaceMean.class_bound(n, c, b) == pytest.approx(epsilon, rel=1e-9)


# Randomised response


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.floats(1e-9, 900))
def test_randomised_response_is_exactly_as_private_as_it_says(counts, r):
    prior = md.Prior.from_counts(counts)
    response = RandomisedResponse(prior, r)
    kernel = response.mechanism()
    for notion, name in ((md.LDP, "ldp"), (md.PML, "pml"), (md.PMC, "pmc"), (md.LIP, "lip")):
        level = response.level(name)
        (achieved,) = notion(level).check(kernel, prior).achieved
        assert str(notion(level).check(kernel, prior).verdict) == "yes"
        assert achieved == pytest.approx(level, rel=1e-9, abs=1e-12)


@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=6),
    st.sampled_from(["ldp", "pml", "pmc", "lip", "maximal_leakage"]),
    st.floats(0, 0.99),
)
def test_calibrated_randomised_response_keeps_the_level(counts, name, share):
    prior = md.Prior.from_counts(counts)
    limits = {"pml": -math.log(min(prior.probabilities)), "maximal_leakage": math.log(len(counts))}
    level = share * limits.get(name, 5.0)
    found = RandomisedResponse.at(prior, name, level)
    assert found.level(name) <= level
    assert found.level(name) == pytest.approx(level, rel=1e-9, abs=1e-15)


@for_each("r", [700.0, 1000.0, 1e5, 1e308])
def test_levels_of_an_extreme_response(r):
    response = RandomisedResponse(COIN, r)
    assert response.level("pmc") == pytest.approx(r - math.log(2), rel=1e-12)
    assert response.level("pml") == pytest.approx(math.log(2), rel=1e-12)
    assert response.level("maximal_leakage") == pytest.approx(math.log(2), rel=1e-12)
    # Its kernel is no identity, which would have no finite level.
    assert str(md.LDP(r).check(response.mechanism(), COIN).verdict) == "yes"


# Quantisation and integration


def test_noise_without_bounds_rules_no_interval_out():
    for kind in ("laplace", "gaussian"):
        kernel = quantise((kind, 1e-4), [0, 1], [0.5]).kernel
        assert (kernel > 0).all()
    bounded = quantise(stats.uniform(-1, 2), [0, 5], [2.5]).kernel
    np.testing.assert_array_equal(bounded, np.eye(2))


@for_each("kind", ["laplace", "gaussian"])
@for_each("scale", [1e-2, 1e-4, 1e-9, 1e-200])
def test_information_through_next_to_no_noise_is_the_entropy(kind, scale):
    prior = md.Prior([0.5, 0.3, 0.2], [0, 1, 5])
    found = noise.noisy_information(prior, float, float, (kind, scale))
    entropy = -sum(p * math.log(p) for p in (0.5, 0.3, 0.2))
    assert found == pytest.approx(entropy, rel=2e-4)


# Formulas of the theory


def test_bounds_of_the_theory_are_rounded_to_the_safe_side():
    with localcontext() as context:
        context.prec = 90
        for n, b, c in ((100, 0.02, 0.4), (3, 0.7, 0.1), (7, 1e-3, 0.25)):
            t, margin = 1 / (n * Decimal(b)), Decimal(c)
            found = md.theory.laplace_count_bound(n, b, c)
            just_above(found, t - (1 - margin + margin * t.exp()).ln())
            assert found == LaplaceMean.class_bound(n, c, b)
            simple = (1 - margin) * t + margin**2 * t * t / 2
            just_above(md.theory.laplace_count_simple_bound(n, b, c), simple)
        prior = md.Prior([0.7, 0.3])
        for capacity in (0.1, 1.0, 40.0):
            low = Decimal(int(prior.weights[1])) / Decimal(int(prior.weights[0]))
            exact = (1 + low / Decimal(capacity).exp()).ln()
            just_above(-md.theory.uncertainty_bound(prior, capacity), -exact)
    kernel = RandomisedResponse(COIN, 1000.0).mechanism()
    assert md.theory.leakage_capacity(kernel) == pytest.approx(1000, rel=1e-12)


@for_each("scale", [5e-324, 1e-300, 1e-9, 1.0, 1e300])
def test_counting_queries_of_any_scale(scale):
    bound = md.theory.laplace_count_bound(3, scale, 0.3)
    assert 0 <= bound <= -math.log(0.3) * (1 + 1e-15)
    assert md.theory.laplace_count_bound(3, scale) >= 1 / 3 / scale * (1 - 1e-12)
    assert md.theory.laplace_count_simple_bound(3, scale) >= bound
    found = md.theory.laplace_count_leakage(3, scale, 0.4, [-1e300, 0.0, 0.5, 1.0, 1e300])
    assert np.isfinite(found).all()
    assert found[0] == found[1]
    assert found[3] == found[4]
    assert found.max() <= md.theory.laplace_count_bound(3, scale, 0.4) + 1e-9


def test_a_correlated_database_for_absurd_levels():
    assert md.theory.correlated_database(5e-324, 1e300).entries == 1


# Whatever the level

EXTREME = [0, 5e-324, 1e-300, 1e-9, 0.5, 1, 37, 400, 709, 710, 1000, 2001, 1e5, 1e150, 1e300]
EXTREME += [1.7e308, math.inf, -1, math.nan]
NUMBERS = st.sampled_from(EXTREME)
SIZES = st.sampled_from([0, 1, 2, 7, 1000, 10**9, 10**400])
LAWS = st.sampled_from(
    [
        Law.uniform(-1, 1),
        Law.uniform(0, 1e-200),
        Law.uniform(-1e200, 1e200),
        Law.beta(3, 3, -1, 1),
        Law.two_point(0.3),
        Law.two_point(1e-300),
        Law.finite([0, 0.5], [1, 1], -1, 5),
        Law.finite([1], [1]),
    ]
)
PRIORS = st.sampled_from(
    [COIN, md.Prior([1 - 1e-12, 1e-12], [0, 1]), md.Prior([1.0], [0]), md.Prior.uniform(3)]
)
RESPONSES = st.sampled_from(["ldp", "pml", "pmc", "lip", "maximal_leakage"])
NOISE = st.tuples(st.sampled_from(["laplace", "gaussian"]), NUMBERS)
CALLS = {
    "gaussian_variance": (noise.gaussian_variance, NUMBERS, NUMBERS, SIZES),
    "laplace_scale": (noise.laplace_scale, NUMBERS, NUMBERS, SIZES),
    "given the secret": (noise.gaussian_variance_given_secret, NUMBERS, NUMBERS, NUMBERS, SIZES),
    "for dp": (noise.gaussian_variance_for_dp, NUMBERS, NUMBERS, SIZES),
    "classical": (noise.classical_gaussian_variance, NUMBERS, NUMBERS, NUMBERS),
    "comparison": (lambda e, t, s: noise.classical_comparison([e], t, s), *[NUMBERS] * 3),
    "variation": (noise.variation_from_information, NUMBERS, NUMBERS, NUMBERS),
    "approximate": (noise.information_from_approximate, NUMBERS, NUMBERS, SIZES, SIZES),
    "spread": (lambda p, s: noise.query_spread(p, lambda x: x * s)[0], PRIORS, NUMBERS),
    "information": (
        lambda p, s, z: noise.noisy_information(p, lambda x: x * s, float, z, None, 50),
        *(PRIORS, NUMBERS, NOISE),
    ),
    "distance": (lambda v, m: noise.wasserstein_infinity([0, v], [1, 0], [1, m]), NUMBERS, NUMBERS),
    "response": (lambda p, n, r: RandomisedResponse(p, r).level(n), PRIORS, RESPONSES, NUMBERS),
    "kernel of a response": (lambda p, r: RandomisedResponse(p, r).mechanism(), PRIORS, NUMBERS),
    "calibrated response": (
        lambda p, n, r: RandomisedResponse.at(p, n, r).level(n),
        *(PRIORS, RESPONSES, NUMBERS),
    ),
    "quantised": (lambda z, v, e: quantise(z, [0, v], [e]), NOISE, NUMBERS, NUMBERS),
    "uniform": (lambda a, b: Law.uniform(a, b).mean, NUMBERS, NUMBERS),
    "beta": (lambda a, b: Law.beta(a, b).mean, NUMBERS, NUMBERS),
    "finite": (lambda a, b: Law.finite([0, a], [1, b]).mean, NUMBERS, NUMBERS),
    "cumulants": (lambda law, t: law.cgf(t), LAWS, NUMBERS.filter(math.isfinite)),
    "class bound": (LaplaceMean.class_bound, SIZES, NUMBERS, NUMBERS),
    "class scale": (LaplaceMean.class_scale, SIZES, NUMBERS, NUMBERS),
    "mean": (lambda law, n, b: LaplaceMean(law, n, b).sup_pml(), LAWS, SIZES, NUMBERS),
    "mean cost": (lambda law, n, b: LaplaceMean(law, n, b).sup_pmc(), LAWS, SIZES, NUMBERS),
    "mean dp": (lambda law, n, b: LaplaceMean(law, n, b).dp_level(), LAWS, SIZES, NUMBERS),
    "outcome": (lambda law, n, b, y: LaplaceMean(law, n, b).pml(y), LAWS, SIZES, NUMBERS, NUMBERS),
    "cost": (lambda law, n, b, y: LaplaceMean(law, n, b).pmc(y), LAWS, SIZES, NUMBERS, NUMBERS),
    "density": (lambda law, b, y: LaplaceMean(law, 2, b).density(y), LAWS, NUMBERS, NUMBERS),
    "calibrated mean": (lambda law, e: LaplaceMean.for_pmc(law, 3, e).scale, LAWS, NUMBERS),
    "gaussian": (lambda law, s, y: GaussianNoise(law, s).pmc(y), LAWS, NUMBERS, NUMBERS),
    "gaussian pml": (lambda law, s, y: GaussianNoise(law, s).pml(y), LAWS, NUMBERS, NUMBERS),
    "gaussian bounds": (
        lambda law, s, y, cgf: GaussianNoise(law, s).pmc_bounds(y, with_cgf=cgf)[1],
        *(LAWS, NUMBERS, NUMBERS, st.booleans()),
    ),
    "tail": (lambda law, s, e: GaussianNoise(law, s).tail(e), LAWS, NUMBERS, NUMBERS),
    "tail bound": (lambda law, s, e: GaussianNoise(law, s).tail_bound(e), LAWS, NUMBERS, NUMBERS),
}


@pytest.mark.slow
@for_each("name", CALLS)
def test_extreme_numbers_have_an_answer_or_an_error_in_words(name):
    """At least one call in 100 is answered, of most functions every second one."""
    call, *kinds = CALLS[name]
    answers = 0

    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(data=st.data())
    def ask(data):
        nonlocal answers
        arguments = [data.draw(kind) for kind in kinds]
        try:
            found = call(*arguments)
            answers += 1
        except MechdesignError as problem:
            found = str(problem)
        if isinstance(found, str):
            assert "\n" not in found
            assert "expected" in found
        assert not isinstance(found, float) or not math.isnan(found)

    ask()
    assert answers > 0


@pytest.mark.parametrize("law", [Law.uniform(-1, 1), Law.two_point(0.3)])
def test_numbers_of_entries_above_all_floats_are_divided_exactly(law):
    mean = LaplaceMean(law, 10**400, 1e-300)
    assert mean.rate == pytest.approx(1e-100, rel=1e-12)
    assert 0 < mean.sup_pml() <= 1.01e-100
    with pytest.raises(LevelError, match=r"different sums|finitely many"):
        mean.pml(0.3)
    with pytest.raises(LevelError, match="different sums"):
        LaplaceMean(Law.finite([1], [1]), 10**400, 1e-300).pml(0.3)


def test_cumulants_of_values_far_from_the_ends_of_their_domain_are_numbers():
    law = Law.finite([0, 0.5], [1, 1], -1, 5)
    assert law.cgf(1.7e308) == law.cgf(-1.7e308) == pytest.approx(1.7e308 / 4, rel=1e-12)


def test_values_that_cannot_say_what_they_are_are_named_by_their_kind():
    huge = 10**5000
    prior = md.Prior([0.5, 0.5], [0, huge])
    pair = md.Pufferfish(1.0, {"low": [0], "high": [huge]})
    refused(lambda: noise.wasserstein_scale(prior, pair), "query", error=LevelError)
    for call in (
        lambda: noise.gaussian_variance(huge, -huge),
        lambda: noise.classical_gaussian_variance(1, 0.5, huge),
        lambda: noise.wasserstein_infinity([huge], [-huge], [1]),
        lambda: Law.two_point(huge),
        lambda: GaussianNoise.for_tail(Law.uniform(0, 1), 1, huge),
        lambda: noise.quantise(huge, [0, 1], [0]),
        lambda: noise.RandomisedResponse(prior, huge),
        lambda: noise.RandomisedResponse.at(prior, "pmc", huge),
    ):
        with pytest.raises(MechdesignError, match=r"a int of|a list"):
            call()


def test_more_noise_than_floats_hold_is_refused():
    refused(lambda: noise.gaussian_variance(1e300, 1e-300), "larger level", error=LevelError)
    refused(lambda: Law.beta(1e300, 1e300), "parameters", error=PriorError)
    assert noise.gaussian_variance(1, 400) == pytest.approx(math.exp(-800), abs=1e-320)
    assert noise.laplace_scale(1, 1000) == 5e-324  # more than there need be, and not none
    assert noise.gaussian_variance(1, 1e300) == 5e-324
    assert noise.information_from_approximate(1000, 0.1, 2) == pytest.approx(math.log(2))


def test_counts_prior_and_law_agree_for_many_people():
    n = 40
    counts = databases.counts_prior(n, 0.3)
    law = Law.from_prior(counts)
    assert law.mean == pytest.approx(0.3 * n, rel=1e-12)


def test_far_from_a_law_of_two_values_the_nearer_one_is_the_nearest():
    law = Law.finite([0, 1], [1, 1e-300])
    assert GaussianNoise(law, 1e-9).tail(1e150) == pytest.approx(0.0, abs=1e-290)
