"""The contract of utilities: what every registered utility keeps, and broken ones fail."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from checks import for_each
from strategies import exact_mechanism, random_gains, random_kernel

import mechdesign as md
from mechdesign.errors import PriorError, UtilityError
from mechdesign.program.problem import state_problem
from mechdesign.utility import UTILITIES, LinearUtility

ROUNDS = 20


def hamming(rng, n):
    return md.utility.Hamming()


def matrix(rng, n):
    return md.utility.Matrix(random_gains(rng, n, int(rng.integers(2, 7))))


def distance(rng, n):
    return md.utility.Distance(str(rng.choice(["absolute", "squared", "discrete"])))


def bayes_gain(rng, n):
    return md.utility.BayesGain(random_gains(rng, n, 4), ["wait", "act", "ask", "leave"])


EXAMPLES = {
    "hamming": hamming,
    "matrix": matrix,
    "distance": distance,
    "bayesgain": bayes_gain,
}


def instances(make, seed):
    for number in range(ROUNDS):
        rng = np.random.default_rng([seed, number])
        n = int(rng.integers(2, 7))
        prior = md.Prior.from_counts(rng.integers(1, 9, n).tolist())
        utility = make(rng, n)
        outputs = utility.output_labels(prior)
        kernels = [
            exact_mechanism(random_kernel(rng, n, len(outputs)), prior.labels, outputs)
            for _ in range(2)
        ]
        yield rng, prior, utility, outputs, kernels


def value_is_the_expected_gain(make):
    """value = Σ p(x) K(x, y) u(x, y), term by term."""
    for _, prior, utility, outputs, (mechanism, _) in instances(make, 1):
        gains = utility.gains(prior, outputs)
        assert gains.shape == (len(prior), len(outputs))
        expected = sum(
            prior.probabilities[x] * mechanism.kernel[x, y] * gains[x, y]
            for x in range(len(prior))
            for y in range(len(outputs))
        )
        assert utility.value(mechanism, prior) == pytest.approx(expected, abs=1e-12)


def value_is_linear_in_the_kernel(make):
    """The value of a mixture is the mixture of the values."""
    for rng, prior, utility, _, (first, second) in instances(make, 2):
        share = int(rng.integers(1, 32)) / 32
        mixed = utility.value(first.mix(second, share), prior)
        apart = [utility.value(k, prior) for k in (first, second)]
        assert mixed == pytest.approx((1 - share) * apart[0] + share * apart[1], abs=1e-12)


def gains_follow_the_labels(make):
    """Asking for the outputs in another order permutes the columns."""
    for rng, prior, utility, outputs, _ in instances(make, 3):
        order = rng.permutation(len(outputs))
        moved = utility.gains(prior, [outputs[j] for j in order])
        if type(utility) is md.utility.Matrix:
            assert moved.shape == utility.u.shape  # columns without names stay in place
            continue
        np.testing.assert_array_equal(moved, utility.gains(prior, outputs)[:, order])


def designs_report_their_own_value(make):
    """A design reports the utility's own value of its kernel, between constants and the bound."""
    for _, prior, utility, outputs, _ in instances(make, 4):
        found = md.design(prior, utility, md.PML(0.5))
        gains = utility.gains(prior, outputs)
        assert found.value == pytest.approx(utility.value(found.mechanism, prior), abs=1e-12)
        assert found.bound >= found.value
        assert found.value >= (prior.probabilities @ gains).max() - 1e-9
        assert found.mechanism.outputs == tuple(outputs)


def without_privacy_every_symbol_gets_its_best_output(make):
    """At an infinite level the optimum is Σ p max_y u."""
    for _, prior, utility, outputs, _ in instances(make, 5):
        best = prior.probabilities @ utility.gains(prior, outputs).max(axis=1)
        assert md.design(prior, utility, md.LDP(np.inf)).value == pytest.approx(best, abs=1e-12)


def more_privacy_gains_no_more(make):
    """The optimum grows with the level."""
    for _, prior, utility, _, _ in instances(make, 6):
        values = [md.design(prior, utility, md.LIP(e)).value for e in (0.0, 0.1, 0.5, 2.0)]
        assert all(b >= a - 1e-9 for a, b in pairwise(values))


CONTRACT = (
    value_is_the_expected_gain,
    value_is_linear_in_the_kernel,
    gains_follow_the_labels,
    designs_report_their_own_value,
    without_privacy_every_symbol_gets_its_best_output,
    more_privacy_gains_no_more,
)


def test_every_registered_utility_has_an_example():
    linear = {
        name
        for name, cls in UTILITIES.items()
        if issubclass(cls, LinearUtility) and cls.__module__.startswith("mechdesign.")
    }
    assert linear == set(EXAMPLES)


@for_each("part", CONTRACT)
@for_each("name", EXAMPLES)
def test_registered_utility(name, part):
    part(EXAMPLES[name])


# Broken on purpose


class WrongSign(md.utility.Hamming, register=False):
    def value(self, mechanism, prior):
        return -super().value(mechanism, prior)


class Squared(md.utility.Hamming, register=False):
    def value(self, mechanism, prior):
        return super().value(mechanism, prior) ** 2


class IgnoresLabels(md.utility.Hamming, register=False):
    def gains(self, prior, outputs):
        return np.eye(len(prior), len(outputs))


class GrowsWithUse(md.utility.Hamming, register=False):
    calls = 0

    def gains(self, prior, outputs):
        GrowsWithUse.calls += 1
        return super().gains(prior, outputs) / GrowsWithUse.calls


@for_each(
    ("cls", "part"),
    [
        (WrongSign, value_is_the_expected_gain),
        (WrongSign, designs_report_their_own_value),
        (Squared, value_is_the_expected_gain),
        (Squared, value_is_linear_in_the_kernel),
        (IgnoresLabels, gains_follow_the_labels),
        (GrowsWithUse, without_privacy_every_symbol_gets_its_best_output),
        (GrowsWithUse, more_privacy_gains_no_more),
    ],
)
def test_broken_utility_fails(cls, part):
    with pytest.raises(AssertionError):
        part(lambda rng, n: cls())


# Each utility by its definition


def test_bayes_gain_is_what_an_optimal_decoder_gains():
    """Merging outcomes by the action they lead to loses nothing: a decoder on top adds nothing."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        prior = md.Prior.from_counts(rng.integers(1, 9, 4).tolist())
        gains = rng.uniform(0, 1, (4, 3))
        found = md.design(prior, md.utility.BayesGain(gains), md.PML(0.6))
        decoded = (found.mechanism.joint(prior).T @ gains).max(axis=1).sum()
        assert decoded == pytest.approx(found.value, abs=1e-9)


# Shape, scale, and what cannot be used


def test_shifts_and_scales_pass_through():
    rng = np.random.default_rng(1)
    prior = md.Prior([0.4, 0.35, 0.15, 0.1])
    gains = rng.uniform(-1, 1, (4, 6))
    base = md.design(prior, md.utility.Matrix(gains), md.LDP(0.8))
    for scale, shift in ((3.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, -5.0), (2.0, 7.0)):
        other = md.design(prior, md.utility.Matrix(scale * gains + shift), md.LDP(0.8))
        expected = scale * base.value + shift
        assert other.value == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)
        assert other.gap < 1e-9


def test_outputs_can_be_chosen():
    prior = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    found = md.design(prior, md.utility.Hamming(), md.PML(0.3), outputs=["a", "c"])
    assert found.mechanism.outputs == ("a", "c")
    table = md.utility.Matrix(np.eye(3), outputs=["x", "y", "z"])
    kept = md.design(prior, table, md.PML(0.3), outputs=["z", "x"])
    np.testing.assert_array_equal(table.gains(prior, kept.mechanism.outputs), np.eye(3)[:, [2, 0]])


def test_what_is_not_a_problem():
    prior, utility, notion = md.Prior.uniform(2), md.utility.Hamming(), md.PML(1)
    with pytest.raises(PriorError, match="expected a Prior"):
        state_problem([0.5, 0.5], utility, notion)
    with pytest.raises(UtilityError, match="the class"):
        state_problem(prior, md.utility.Hamming, notion)
    with pytest.raises(UtilityError, match="expected a utility"):
        state_problem(prior, np.eye(2), notion)

    class Odd(md.utility.Utility, register=False):
        def value(self, mechanism, prior):
            return 0.0

    with pytest.raises(UtilityError, match="linear utility"):
        state_problem(prior, Odd(), notion)
