"""Entries and priors that are only known to lie in a set: what decides, and which methods."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.errors import NoMethodError
from mechdesign.exact import dot
from mechdesign.privacy import databases

LOSS = md.utility.Distance("absolute")
PAIR = md.Prior.uniform(2)


def entry_leakage(kernel, chances):
    """Largest log P(y | D_1 = d)/P(y) over d and y, by listing all databases."""
    n = len(chances)
    given = np.zeros((2, kernel.shape[1]))
    whole = np.zeros(kernel.shape[1])
    for bits in itertools.product((0, 1), repeat=n):
        others = np.prod([c if b else 1 - c for b, c in zip(bits[1:], chances[1:], strict=True)])
        given[bits[0]] += others * kernel[sum(bits)]
        first = chances[0] if bits[0] else 1 - chances[0]
        whole += first * others * kernel[sum(bits)]
    seen = whole > 0
    return float(np.log(np.maximum(given[:, seen], 1e-300) / whole[seen]).max())


@for_each(("low", "high"), [(0, None), (0, 0.5), (0.3, 1), (0, 1), (0.2, 0.6)])
def test_chances_near_an_end_that_excludes_a_value_are_covered(low, high):
    notion = md.EntryPML(0.4, 4, low, high)
    found = md.design(databases.counts_prior(4, 0.5), LOSS, notion)
    rng = np.random.default_rng(0)
    top = 1 if high is None else high
    for _ in range(200):
        # Beta draws crowd at both ends of the range.
        chances = low + (top - low) * rng.beta(0.1, 0.1, 4)
        chances = np.clip(chances, max(low, 1e-9), min(top, 1 - 1e-9))
        assert entry_leakage(found.mechanism.kernel, chances) <= 0.4 + 1e-9


def test_entries_of_any_chance_ask_for_differential_privacy_of_counts():
    prior = databases.counts_prior(6, 0.5)
    entries = md.design(prior, LOSS, md.EntryPML(0.7, 6, 0))
    assert entries.value == pytest.approx(
        md.design(prior, LOSS, md.DP(0.7, "adjacent")).value, abs=1e-9
    )
    identity = md.Mechanism(np.eye(7), range(7), range(7))
    (achieved,) = md.EntryPML(0.7, 6, 0).measure(identity, prior)
    assert achieved == np.inf


def test_entries_that_are_certain_ask_for_nothing():
    prior = databases.counts_prior(3, 0.5)
    for chance in (0, 1):
        with pytest.raises(md.errors.LevelError, match="asks nothing of any pair"):
            md.design(prior, md.utility.Hamming(), md.EntryPML(0.1, 3, chance, chance))


def test_many_dense_bounds_are_solved_to_a_vertex():
    """A sparse interior point method fills up; that of HiGHS ends with a crossover."""
    prior = databases.counts_prior(30, 0.5)
    found = md.design(prior, LOSS, md.EntryPML(0.1, 30, 0.3))
    assert (found.method, found.certificate.gap < 1e-11) == ("highs-ipm", True)
    assert "clarabel" in found.choice.also


def test_likelihoods_of_large_masses_are_exact():
    """Numbers of a million bits together are multiplied in another way than short ones."""
    rng = np.random.default_rng(1)
    masses = [[(int(v) << 60_000) + 1 for v in row] for row in rng.integers(1, 99, (3, 5))]
    weights = rng.integers(0, 2**50, (5, 4))
    weights[:, 2] = 0
    weights[:, 3] = 2**53 - weights[:, :2].sum(axis=1)
    mechanism = md.Mechanism.from_weights(weights, 53)
    hypotheses = md.Hypotheses.mixtures(masses)
    found = hypotheses.likelihoods(mechanism)
    for row, likelihoods in zip(masses, found.tolist(), strict=True):
        products = [v * hypotheses.total for v in dot(row, weights)]
        assert [v * sum(row) for v in likelihoods] == products


def sets(rng):
    """A robust notion of each kind over a few symbols, and its prior."""
    n = int(rng.integers(3, 6))
    prior = md.Prior(rng.dirichlet(np.ones(n) * 2))
    p = prior.probabilities
    ranges = {
        x: (max(0.0, v - rng.uniform(0, 0.2)), min(1.0, v + rng.uniform(0, 0.3)))
        for x, v in zip(prior.labels, p, strict=True)
    }
    yield prior, md.RobustPML.floor(0.5, float(rng.uniform(0, 1 / n)))
    yield prior, md.RobustPML.box(0.5, ranges)
    yield prior, md.RobustPML.ball(0.5, prior, float(rng.uniform(0, 1.9)))


@for_each("seed", slow_but(4, range(8)))
def test_corners_of_sets_of_priors_attain_every_minimum(seed):
    rng = np.random.default_rng(seed)
    for prior, notion in sets(rng):
        under = notion.bounds(prior)[0].under
        corners = under.vertices()
        assert all(sum(c) == under.total and min(c) >= 0 for c in corners)
        for _ in range(20):
            column = rng.integers(0, 5, len(prior)).tolist()
            reached = [sum(a * b for a, b in zip(c, column, strict=True)) for c in corners]
            assert min(reached) == under.least(column)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
@pytest.mark.parametrize("utility", [md.utility.MutualInformation(), md.utility.TotalVariation()])
def test_sublinear_utilities_with_sets_of_priors(utility):
    for prior, notion in sets(np.random.default_rng(3)):
        found = md.design(prior, utility, notion)
        assert found.status == "optimal"
        assert found.certificate.checks[0].verdict is md.Verdict.YES
        (vertices,) = (b.under for b in notion.bounds(prior))
        corners = [md.Prior.from_counts(c) for c in set(vertices.vertices())]
        again = md.design(prior, utility, md.RobustPML(0.5, corners))
        assert found.value == pytest.approx(again.value, abs=1e-8)
    with pytest.raises(NoMethodError, match="7 symbols are above the 6"):
        md.design(md.Prior.uniform(7), utility, md.RobustPML.floor(1, 0.1))


def test_sublinear_utilities_with_average_notions_are_refused_with_advice():
    with pytest.raises(NoMethodError, match="use a linear utility") as refusal:
        md.design(md.Prior.uniform(3), md.utility.MutualInformation(), md.MaximalLeakage(0.5))
    assert str(refusal.value).count("is not a bound on likelihood ratios") == 1


@pytest.mark.parametrize("tiny", [1e-12, 1e-7])
def test_mutual_information_is_bounded_tightly_beside_a_tiny_mass(tiny):
    prior = md.Prior([tiny, 0.3, 0.7 - tiny])
    found = md.design(prior, md.utility.Hamming(), md.MIPrivacy(1e-3))
    assert found.status == "optimal"
    assert found.gap < 1e-8


@for_each(
    ("make", "said"),
    [
        (lambda: md.RobustPML.from_counts(1, {"a": -1, "b": 3}), "whole numbers"),
        (lambda: md.RobustPML.from_counts(1, [1, 2]), "a mapping"),
        (lambda: md.RobustPML(1, [0.5, 0.5]), "Prior"),
        (lambda: databases.counts_prior(5, float("nan")), "a probability"),
        (lambda: md.noise.noisy_information(PAIR, int, int, ("cauchy", 1.0)), "laplace"),
    ],
)
def test_mistakes_with_sets_and_noise_are_explained(make, said):
    with pytest.raises(md.errors.InputError, match=said):
        make()
