"""Coefficients of contraction against random pairs, naive programs and the values of the field."""

import math

import numpy as np
import pytest
from checks import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

import mechdesign as md
from mechdesign.errors import KernelError, LevelError, PriorError


def stick(mu, nu, level):
    return np.maximum(mu - math.exp(level) * nu, 0).sum()


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_no_two_distributions_keep_more(level):
    rng = np.random.default_rng(3)
    for _ in range(10):
        kernel = rng.dirichlet(np.ones(4), 3)
        found = md.contraction(kernel, level=level)
        assert found.gap <= 1e-15
        kept = [
            stick(mu @ kernel, nu @ kernel, level) - found.at_most * stick(mu, nu, level)
            for mu, nu in rng.dirichlet(np.full(3, 0.4), (200, 2))
        ]
        assert max(kept) <= 1e-12
        x, other = found.pair
        reached = stick(kernel[x], kernel[other], level)
        assert found.at_least == pytest.approx(reached, abs=1e-12)


def naive(prior, sides, level):
    """The largest coefficient of kernels with two outcomes whose columns satisfy linear sides."""
    n = len(prior)
    best = 0.0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            cost = np.zeros(n)
            cost[i], cost[j] = -1, math.exp(level)
            # k satisfies the sides, and so does 1 − k.
            rows = np.vstack([sides, -sides])
            right = np.concatenate([np.zeros(len(sides)), -sides.sum(axis=1)])
            found = linprog(cost, rows, right, bounds=(0, 1), method="highs")
            best = max(best, -found.fun)
    return best


def sides_of(notion, prior):
    """Rows A k ≤ 0 of a column."""
    n, factor = len(prior), math.exp(notion.levels[0])
    if isinstance(notion, md.LDP):
        return np.array(
            [np.eye(n)[x] - factor * np.eye(n)[z] for x in range(n) for z in range(n) if x != z]
        )
    above = np.eye(n) - factor * prior
    below = prior - factor * np.eye(n)
    if isinstance(notion, md.PML):
        return above
    return below if isinstance(notion, md.PMC) else np.vstack([above, below])


@for_each("level", [0.0, 0.4])
@for_each("notion", [md.LDP(1), md.PML(0.5), md.PMC(0.7), md.LIP(0.3), md.PML(1e-4), md.LDP(12)])
def test_the_worst_kernel_of_a_notion(notion, level):
    masses = np.array([0.5, 0.3, 0.2])
    found = md.contraction(notion, md.Prior(masses), level=level)
    assert found.at_least <= found.at_most
    assert found.gap <= 1e-9
    assert found.at_most == pytest.approx(naive(masses, sides_of(notion, masses), level), abs=1e-7)
    x, other = (found.kernel.inputs.index(label) for label in found.pair)
    kernel = found.kernel.kernel
    assert stick(kernel[x], kernel[other], level) == pytest.approx(found.at_least, abs=1e-9)
    assert md.audit(found.kernel, masses, notion).checks[0].verdict is md.Verdict.YES


@given(st.floats(0.01, 8), st.integers(2, 5))
def test_local_differential_privacy_keeps_tanh_of_half_its_level(epsilon, n):
    found = md.contraction(md.LDP(epsilon), md.Prior.uniform(n))
    assert found.at_most == pytest.approx(math.tanh(epsilon / 2), abs=1e-9)


def test_what_lists_and_averages_keep_is_less_than_each_alone():
    prior = md.Prior([0.5, 0.3, 0.2])
    both = md.contraction([md.PML(0.5), md.LDP(0.6)], prior).at_most
    assert (
        both
        <= min(md.contraction(notion, prior).at_least for notion in (md.PML(0.5), md.LDP(0.6)))
        + 1e-9
    )
    assert md.contraction(md.MaximalLeakage(0.3), prior).at_most == pytest.approx(math.exp(0.3) - 1)


def test_fewer_reports_than_the_bound_cannot_tell():
    """Exact errors of the best test from binomial reports stay above the bound's."""
    flip = np.array([[0.6, 0.4], [0.4, 0.6]])
    mu, nu = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    entropy = (mu * np.log(mu / nu)).sum()
    needed = md.contraction(flip).reports_at_least(entropy, 0.5)
    assert binomial_errors(math.ceil(needed) - 1, (mu @ flip)[1], (nu @ flip)[1]) >= 0.5
    many = binomial_errors(math.ceil(12 * needed), (mu @ flip)[1], (nu @ flip)[1])
    assert many < 0.5, "the control"


def binomial_errors(n, first, second):
    """Both errors of the best test from so many reports of two values, added up."""
    counts = np.arange(n + 1)
    return np.minimum(binom.pmf(counts, n, first), binom.pmf(counts, n, second)).sum()


@for_each("seed", range(6))
def test_no_two_distributions_keep_more_information(seed):
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.full(4, 0.6), 3)
    kept = md.contraction(kernel).information
    shares = []
    for mu, nu in rng.dirichlet(np.ones(3), (300, 2)):
        nu = (1 - 10.0 ** -rng.uniform(0, 3)) * mu + 10.0 ** -rng.uniform(0, 3) * nu
        nu /= nu.sum()
        for distance in (entropy, hellinger):
            shares.append(distance(mu @ kernel, nu @ kernel) / distance(mu, nu))
    assert max(shares) <= kept + 1e-6
    assert max(shares) > 0.2 * kept, "the control: the coefficient is near what is kept"


def entropy(mu, nu):
    return (mu * np.log(mu / nu)).sum()


def hellinger(mu, nu):
    return ((np.sqrt(mu) - np.sqrt(nu)) ** 2).sum()


@settings(max_examples=20)
@given(st.floats(0.01, 8), st.integers(2, 4))
def test_local_differential_privacy_keeps_the_square_of_information(epsilon, n):
    found = md.contraction(md.LDP(epsilon), md.Prior.uniform(n))
    assert found.information == pytest.approx(math.tanh(epsilon / 2) ** 2, rel=1e-8, abs=1e-11)
    assert found.affinity == pytest.approx(1 / math.cosh(epsilon / 2), rel=1e-8)


@for_each("notion", [md.LDP(1), md.PML(0.5), md.LIP(0.3), md.MaximalLeakage(0.3)])
def test_no_kernel_of_a_notion_has_less_affinity(notion):
    prior = md.Prior([0.5, 0.3, 0.2])
    found = md.contraction(notion, prior)
    rng = np.random.default_rng(0)
    least = 1.0
    for _ in range(5):
        gains = md.utility.Matrix(rng.random((3, 4)) / prior.probabilities[:, None])
        rows = np.sqrt(md.design(prior, gains, notion).mechanism.kernel)
        least = min(least, (rows @ rows.T).min())
        assert found.affinity <= least
    assert found.affinity >= 0
    assert least < 1 - 1e-4, "the control: these kernels tell something"


def test_a_coefficient_above_total_variation_is_a_delta():
    kernel = md.Mechanism([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.2, 0.6, 0.2]])
    found = md.contraction(kernel, level=0.5)
    prior = md.Prior.uniform(3)
    deltas = [found.at_most + 1e-12, found.at_most - 1e-6]
    checks = md.audit(kernel, prior, [md.ApproximateLDP(0.5, delta) for delta in deltas]).checks
    assert [str(check.verdict) for check in checks] == ["yes", "no"]


@pytest.mark.slow
@for_each("error", [0.05, 0.3, 0.7])
@for_each("shift", [0.02, 0.2, 0.5])
def test_reports_to_tell_enclose_the_best_test(error, shift):
    """The exact error of the best test, from binomial reports."""
    flip = np.array([[0.6, 0.4], [0.4, 0.6]])
    mu, nu = np.array([0.5 + shift / 2, 0.5 - shift / 2]), np.array([0.5 - shift / 2] * 2)
    nu[1] = 1 - nu[0]
    of_kernel = md.contraction(flip)
    fewest, enough = of_kernel.reports_to_tell(mu, nu, error)
    of_notion = md.contraction(md.LDP(math.log(1.5)), md.Prior.uniform(2))
    assert of_notion.reports_to_tell(mu, nu, error)[0] == pytest.approx(fewest, abs=1)
    exact = next(n for n in doubled() if binomial_errors(n, (mu @ flip)[1], (nu @ flip)[1]) < error)
    assert fewest <= exact
    assert binomial_errors(int(enough), (mu @ flip)[1], (nu @ flip)[1]) <= error
    assert fewest > exact / 40, "the control: the bound is no trifle"
    without = md.contraction(np.eye(2)).reports_to_tell(mu, nu, error)[1]
    assert without < enough, "reports that tell everything need fewer"


def doubled():
    n = 1
    while True:
        yield n
        n = math.ceil(n * 1.05)


@for_each("n", [2, 3, 6])
@for_each("epsilon", [0.5, 2.0])
def test_reports_to_estimate_enclose_what_linear_estimates_take(n, epsilon):
    kernel = md.randomised_response(md.Prior.uniform(n), epsilon)
    found = md.contraction(kernel)
    for error in (0.1, 1e-3):
        fewest, enough = found.reports_to_estimate(error)
        assert fewest <= enough
        # The risk of the unbiased estimate at the least favourable of many distributions.
        inverse = np.linalg.inv(kernel.kernel)
        rng = np.random.default_rng(1)
        risks = []
        for p in [*rng.dirichlet(np.full(n, 0.5), 200), np.full(n, 1 / n)]:
            q = p @ kernel.kernel
            risks.append((q * (inverse**2).sum(axis=1)).sum() - (p**2).sum())
        assert max(risks) / enough <= error * (1 + 1e-9)
        assert fewest <= max(risks) / error * (1 + 1e-9) + 1
    assert fewest > enough / (40 * n), "the control: the bound is no trifle"
    of_notion = md.contraction(md.LDP(epsilon), md.Prior.uniform(n))
    assert of_notion.reports_to_estimate(1e-3)[0] <= fewest


def test_a_constant_kernel_never_tells():
    found = md.contraction([[0.5, 0.5], [0.5, 0.5]])
    fewest, enough = found.reports_to_tell([1, 0], [0, 1], 0.5)
    assert fewest > 1e9
    assert enough == math.inf
    assert found.reports_to_estimate(0.01)[1] == math.inf


@pytest.mark.parametrize("notion", [md.LDP(0.8), md.LIP(0.4), md.PML(0.2)], ids=str)
def test_no_kernel_of_a_notion_is_guessed_better(notion):
    prior = md.Prior([0.5, 0.3, 0.2])
    found = md.contraction(notion, prior)
    rng = np.random.default_rng(2)
    gains = md.utility.Matrix(rng.random((3, 3)) / prior.probabilities[:, None])
    kernels = [found.kernel, md.design(prior, gains, notion).mechanism]
    for reports in (0, 1, 3):
        least = found.guess_error_after(prior, reports)
        assert 0 < least <= 0.5
        for kernel in kernels:
            joint = prior.probabilities[:, None] * power(kernel.kernel, reports)
            assert least <= 1 - joint.max(axis=0).sum() + 1e-12
    assert found.guess_error_after(prior, 10**6) < 1e-3


def power(kernel, reports):
    """Likelihoods of all sequences of so many reports."""
    found = np.ones((len(kernel), 1))
    for _ in range(reports):
        found = (found[:, :, None] * kernel[:, None, :]).reshape(len(kernel), -1)
    return found


def test_nothing_is_told_apart_without_a_report():
    """Both kinds of error then add up to one, however well one report tells."""
    found = md.contraction(np.eye(2))
    assert found.reports_to_tell([1, 0], [0, 1], 0.1) == (1, 1)
    assert found.reports_to_tell([0.9, 0.1], [0.1, 0.9], 0.9)[0] == 1


def test_symbols_without_mass_are_left_out():
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([0.5, 0.5, 0])
    kernel = [[0.5, 0.5], [0.4, 0.6], [1, 0]]
    assert md.contraction(kernel, prior).at_most == pytest.approx(0.1)
    assert md.contraction(kernel).at_most == pytest.approx(0.6)
    assert md.contraction(md.LDP(1), prior).at_most == pytest.approx(math.tanh(0.5))


def test_bad_input_is_refused():
    with pytest.raises(KernelError, match="a prior"):
        md.contraction(md.LDP(1))
    with pytest.raises(KernelError, match="two symbols"):
        md.contraction([[0.5, 0.5]])
    for level in (-1, math.nan, "1", 1e6):
        with pytest.raises(LevelError):
            md.contraction([[1, 0], [0, 1]], level=level)
    found = md.contraction([[1, 0], [0, 1]], level=1)
    with pytest.raises(LevelError, match="total variation"):
        found.reports_at_least(0.1, 0.5)
    found = md.contraction([[1, 0], [0, 1]])
    for told, error in ((-1, 0.5), (0.1, 1), (math.nan, 0.5)):
        with pytest.raises(LevelError):
            found.reports_at_least(told, error)
    for error in (0, 1, math.nan, "1"):
        with pytest.raises(LevelError):
            found.reports_to_tell([0.5, 0.5], [0.4, 0.6], error)
    with pytest.raises(PriorError):
        found.reports_to_tell([0.5, 0.5], [0.4, 0.3, 0.3], 0.5)
    for error in (0, math.inf, math.nan):
        with pytest.raises(LevelError):
            found.reports_to_estimate(error)
    for reports in (-1, 0.5, math.nan):
        with pytest.raises(LevelError):
            found.guess_error_after([0.5, 0.5], reports)
