"""Adversaries: every construction attains what it says, and nothing exceeds the bounds."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import kernels, priors, sizes

import mechdesign as md
from mechdesign.errors import KernelError, UtilityError
from mechdesign.papers import derived, disclosure_prevention, pointwise_maximal_cost
from mechdesign.papers.catalogue import find_theorem

T = md.theory


@st.composite
def observations(draw, zeros=True, low=2):
    """An outcome of positive probability, with its prior and kernel."""
    prior = draw(priors(low))
    kernel = draw(kernels(len(prior), draw(sizes(1, 4)), zeros))
    mechanism = md.Mechanism(kernel, prior.labels)
    live = np.flatnonzero(mechanism.output_distribution(prior) > 0)
    return T.observe(mechanism, prior, draw(st.sampled_from(live.tolist())))


@st.composite
def tables(draw, rows, low=1, high=5, zero=True):
    columns = draw(st.integers(low, high))
    entry = st.one_of(st.integers(0 if zero else 1, 9), st.floats(1e-6, 1.0))
    return np.array(
        draw(st.lists(st.lists(entry, min_size=columns, max_size=columns),
                      min_size=rows, max_size=rows)), dtype=float)  # fmt: skip


def features_of(draw, observed):
    table = draw(tables(len(observed.prior), 1, 5))
    table[table.sum(axis=1) == 0] = 1
    return md.Mechanism(table / table.sum(axis=1, keepdims=True), observed.symbols, normalise=True)


def leakages(observed):
    """ℓ and Λ symbol by symbol, in plain Python."""
    ratios = [(a / p) for a, p in zip(observed.posterior, observed.prior, strict=True) if p > 0]
    low = min(ratios)
    return math.log(max(ratios)), math.inf if low == 0 else -math.log(low)


@given(observations())
def test_the_leakages_are_those_of_the_posterior(observed):
    up, down = leakages(observed)
    assert observed.leakage == pytest.approx(up, abs=1e-9)
    assert observed.cost == pytest.approx(down, abs=1e-9)
    assert observed.posterior.sum() == pytest.approx(1)


@given(observations(), st.data())
def test_no_gain_exceeds_the_leakage_and_one_attains_it(observed, data):
    gain = data.draw(tables(len(observed.prior)))
    if (observed.prior @ gain).max() > 0:
        assert T.gain_leakage(observed, gain) <= observed.leakage + 1e-9
    assert T.gain_leakage(observed, T.worst_gain(observed)) == pytest.approx(
        observed.leakage, abs=1e-9
    )


@given(observations(), st.integers(2, 6), st.data())
def test_few_values_leak_what_the_greedy_feature_does(observed, values, data):
    attack = T.worst_guess(observed, values)
    assert attack.feature.shape[1] == values
    assert T.guess_leakage(observed, attack.feature) == pytest.approx(attack.attained, abs=1e-9)
    assert attack.attained + attack.error == pytest.approx(observed.leakage, abs=1e-9)
    assert T.worst_guess(observed, values + 1).attained >= attack.attained - 1e-9
    feature = features_of(data.draw, observed)
    if feature.shape[1] <= values:
        assert T.guess_leakage(observed, feature) <= attack.attained + 1e-9
    assert T.guess_leakage(observed, feature) <= observed.leakage + 1e-9


@given(observations(), st.data())
def test_guesses_and_gains_have_one_leakage(observed, data):
    feature = features_of(data.draw, observed)
    found = T.gain_leakage(observed, T.gain_of_feature(feature))
    assert found == pytest.approx(T.guess_leakage(observed, feature), abs=1e-9)
    gain = data.draw(tables(len(observed.prior), 1, 4, zero=False)) + 0.05
    made = T.feature_of_gain(observed, gain)
    assert T.guess_leakage(observed, made) == pytest.approx(
        T.gain_leakage(observed, gain), abs=1e-9
    )


@given(observations(), st.data())
def test_no_cost_exceeds_the_pmc_and_one_attains_it(observed, data):
    cost = data.draw(tables(len(observed.prior)))
    before, after = (observed.prior @ cost).min(), (observed.posterior @ cost).min()
    if before > 0 or after > 0:
        assert T.cost_leakage(observed, cost) <= observed.cost + 1e-9
    assert T.cost_leakage(observed, T.worst_cost(observed)) == pytest.approx(
        observed.cost, abs=1e-9
    )


@given(observations(), st.data())
def test_misses_and_costs_have_one_leakage(observed, data):
    feature = features_of(data.draw, observed)
    table = feature.kernel
    before, after = 1 - (observed.prior @ table).max(), 1 - (observed.posterior @ table).max()
    if after > 1e-6:
        found = T.miss_leakage(observed, feature)
        assert found == pytest.approx(math.log(before / after), abs=1e-7)
    cost = data.draw(tables(len(observed.prior), 1, 4, zero=False))
    made = T.feature_of_cost(observed, cost)
    assert made.shape[1] == 2
    found, wanted = T.miss_leakage(observed, made), T.cost_leakage(observed, cost)
    assert found == pytest.approx(wanted, abs=1e-9)


@given(observations())
def test_two_values_attain_the_pmc_and_so_do_enough_splits(observed):
    attack = T.worst_miss(observed)
    assert attack.feature.shape[1] <= 2
    assert attack.attained == pytest.approx(observed.cost, abs=1e-9)
    star = observed.support[observed.lift[observed.support].argmin()]
    rest = np.delete(observed.prior, star).sum()
    if observed.prior[star] / rest < 500:
        splits = max(1, math.ceil(observed.prior[star] / rest))
        assert T.worst_miss(observed, splits).attained == pytest.approx(observed.cost, abs=1e-9)
    assert T.worst_miss(observed, 1).attained <= observed.cost + 1e-9


@given(observations(), st.floats(0.01, 3))
def test_a_partition_comes_within_its_step(observed, step):
    found = T.cost_leakage(observed, T.partition_cost(observed, step))
    assert found <= observed.cost + 1e-9
    assert found >= observed.cost - step - 1e-9


@given(observations(), st.sampled_from([0.5, 1.0, 2.0]), st.data())
def test_no_guesswork_falls_by_more_than_the_pmc(observed, moment, data):
    feature = features_of(data.draw, observed)
    assert T.guesswork_leakage(observed, feature, moment) <= observed.cost + 1e-9
    attack = T.worst_guesswork(observed, 64, moment=moment)
    assert attack.attained <= observed.cost + 1e-9
    error = T.guesswork_error(observed, 64, moment)
    if error < math.inf:
        assert attack.attained == pytest.approx(observed.cost - error, abs=1e-9)
        assert T.guesswork_error(observed, 640, moment) <= error + 1e-15


def test_the_error_of_guesswork_for_millions_of_splits_is_an_upper_bound():
    observed = T.observe(md.Mechanism([[0.9, 0.1], [0.5, 0.5]]), md.Prior([0.6, 0.4]), 1)
    below, above = (T.guesswork_error(observed, k) for k in (1_000_000, 1_000_001))
    assert above == pytest.approx(below, rel=1e-5)
    assert T.guesswork_error(observed, 10**40) < 1e-38


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.sampled_from([1.0, 2.0, 0.5]))
def test_guesswork_is_the_best_of_all_orders(weights, moment):
    if not any(weights):
        weights = [1] * len(weights)
    p = np.array(weights) / sum(weights)
    best = min(
        sum(p[v] * (rank + 1) ** moment for rank, v in enumerate(order))
        for order in permutations(range(len(p)))
    )
    assert T.guesswork(p, moment) == pytest.approx(best)
    assert (p @ T.guesswork_cost(len(p), moment)).min() == pytest.approx(best)


@given(observations(), st.floats(1, 40), st.sampled_from([1.0, 1.5, 2.0, 4.0]))
def test_named_losses_fall_by_no_more_than_the_pmc(observed, alpha, power):
    if (observed.posterior > 0).sum() > 1:
        for order in (1.0, alpha, math.inf):
            assert T.alpha_leakage(observed, order) <= observed.cost + 1e-7
        values = np.arange(len(observed.prior)) ** 2.0
        assert T.power_leakage(observed, values, power) <= observed.cost + 1e-7


def test_alpha_losses_meet_their_neighbours():
    p = [0.5, 0.3, 0.2]
    entropy = -sum(x * math.log(x) for x in p)
    assert T.alpha_loss(p, 1) == pytest.approx(entropy)
    assert T.alpha_loss(p, 1 + 1e-7) == pytest.approx(entropy, rel=1e-5)
    assert T.alpha_loss(p, 1e9) == pytest.approx(0.5, rel=1e-6)
    assert T.alpha_loss(p, math.inf) == pytest.approx(0.5)
    assert T.alpha_loss([1 - 1e-12, 1e-12], 2) == pytest.approx(2e-12, rel=1e-3)
    assert T.alpha_loss([1.0, 0.0], 3) == 0


@for_each("power", [1.0, 1.3, 2.0, 5.0])
def test_the_least_distance_is_found(power):
    p, v = np.array([0.2, 0.5, 0.3]), np.array([-3.0, 1.0, 40.0])
    grid = np.linspace(-3, 40, 200_001)
    best = (p[:, None] * np.abs(v[:, None] - grid) ** power).sum(axis=0).min()
    assert T.power_loss(p, v, power) == pytest.approx(best, rel=1e-5)


def test_the_unit_of_values_does_not_matter():
    mechanism = md.Mechanism([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    observed = T.observe(mechanism, md.Prior([0.6, 0.3, 0.1]), 0)
    found = [T.power_leakage(observed, np.array([0, 1, 3]) * u, 3.0) for u in (1e-200, 1, 1e250)]
    assert found == pytest.approx([found[1]] * 3)


@given(priors(), st.data())
def test_maximal_cost_leakage_bounds_every_average(prior, data):
    mechanism = md.Mechanism(data.draw(kernels(len(prior), data.draw(sizes(1, 4)))), prior.labels)
    total = sum(min(row) for row in mechanism.kernel.T)
    found = T.maximal_cost_leakage(mechanism, prior)
    assert found == (math.inf if total == 0 else pytest.approx(-math.log(total), abs=1e-9))
    cost = data.draw(tables(len(prior), zero=False))
    assert T.average_cost_leakage(mechanism, prior, cost) <= found + 1e-9
    assert found <= T.expected_cost(mechanism, prior) + 1e-9
    assert T.expected_cost(mechanism, prior) <= T.maximal_realizable_cost(mechanism, prior) + 1e-9
    assert md.audit(mechanism, prior).maximal_cost_leakage == pytest.approx(found, abs=1e-9)


def test_side_facts_change_the_prior():
    prior = md.Prior([0.5, 0.3, 0.2])
    side = md.Mechanism([[1, 0], [1, 0], [0, 1]])
    mechanism = md.Mechanism([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]])
    observed = T.observe(mechanism, prior, 0, given=(side, 0))
    assert observed.prior == pytest.approx([0.625, 0.375, 0])
    assert observed.leakage == pytest.approx(math.log(0.5 / (0.625 * 0.5 + 0.375 * 0.25)))
    assert observed.cost == pytest.approx(math.log((0.625 * 0.5 + 0.375 * 0.25) / 0.25))
    refused(lambda: T.condition(prior, md.Mechanism([[1, 0]] * 3), 1), "positive probability")
    refused(lambda: T.observe(mechanism, prior, "z"), "one of 0, 1")


# At the edges


def test_one_symbol_leaks_nothing():
    observed = T.observe(md.Mechanism([[0.3, 0.7]]), md.Prior([1.0]), 1)
    assert (observed.leakage, observed.cost) == (0, 0)
    assert T.worst_guess(observed).attained == 0
    assert T.worst_miss(observed).attained == 0
    assert T.worst_guesswork(observed).attained == 0
    assert T.gain_leakage(observed, T.worst_gain(observed)) == 0


def test_outcomes_that_cannot_occur_teach_nothing():
    observed = T.observe(md.Mechanism([[1, 0], [1, 0]]), md.Prior([0.5, 0.5]), 1)
    assert (observed.leakage, observed.cost) == (0, 0)
    assert observed.posterior == pytest.approx(observed.prior)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
def test_symbols_without_mass_do_not_count():
    prior = md.Prior([0.5, 0.5, 0])
    mechanism = md.Mechanism([[0.5, 0.5], [0.25, 0.75], [1, 0]])
    observed = T.observe(mechanism, prior, 0)
    assert observed.leakage == pytest.approx(math.log(0.5 / 0.375))
    assert T.gain_leakage(observed, T.worst_gain(observed)) == pytest.approx(observed.leakage)
    assert T.worst_guess(observed).attained == pytest.approx(observed.leakage)
    assert T.cost_leakage(observed, T.worst_cost(observed)) == pytest.approx(observed.cost)
    assert T.worst_miss(observed).attained == pytest.approx(observed.cost)


def test_tiny_atoms_have_a_worst_feature_with_few_values_or_a_clear_refusal():
    prior = md.Prior([1e-12, 1 - 1e-12])
    observed = T.observe(md.Mechanism([[0.9, 0.1], [0.1, 0.9]]), prior, 0)
    assert observed.leakage == pytest.approx(math.log(9), rel=1e-9)
    refused(lambda: T.worst_guess(observed), "at most 10000 values", "1e+12", error=KernelError)
    attack = T.worst_guess(observed, 1000)
    assert attack.attained == pytest.approx(0, abs=1e-8)
    assert attack.error == pytest.approx(observed.leakage, rel=1e-6)
    assert T.gain_leakage(observed, T.worst_gain(observed)) == pytest.approx(observed.leakage)
    assert T.worst_miss(observed).attained == pytest.approx(observed.cost, abs=1e-9)


def test_an_infinite_cost_has_a_feature_that_attains_it():
    prior = md.Prior([0.3, 0.3, 0.4])
    observed = T.observe(md.Mechanism([[0, 1], [0.5, 0.5], [0.5, 0.5]]), prior, 0)
    assert observed.cost == math.inf
    assert T.worst_miss(observed).attained == math.inf
    assert T.worst_miss(observed).error == 0
    guess = T.worst_guesswork(observed, 100)
    assert guess.attained > 1
    assert guess.error == math.inf
    refused(lambda: T.worst_guesswork(observed), "values", error=KernelError)


def test_mistakes_are_told():
    observed = T.observe(md.Mechanism([[0.9, 0.1], [0.1, 0.9]]), md.Prior([0.5, 0.5]), 0)
    refused(lambda: T.gain_leakage(observed, [[1, 2, 3]]), "2 rows", error=UtilityError)
    refused(lambda: T.gain_leakage(observed, [[1], [-1]]), "non-negative", error=UtilityError)
    refused(lambda: T.gain_leakage(observed, [[math.nan], [1]]), "finite", error=UtilityError)
    refused(lambda: T.gain_leakage(observed, [["a"], [1]]), "rows", error=UtilityError)
    refused(lambda: T.gain_leakage(observed, [[0], [0]]), "positive", error=UtilityError)
    refused(lambda: T.cost_leakage(observed, [[0], [0]]), "positive", error=UtilityError)
    refused(lambda: T.worst_guess(observed, 0), "at least 1", error=UtilityError)
    refused(lambda: T.worst_guess(observed, 2.5), "whole number", error=UtilityError)
    refused(lambda: T.guesswork([0.5, 0.5], -1), "moment", error=UtilityError)
    refused(lambda: T.guesswork_cost(12), "at most 7 values", error=UtilityError)
    refused(lambda: T.alpha_loss([0.5, 0.5], 0.5), "at least 1", error=UtilityError)
    refused(lambda: T.power_loss([0.5, 0.5], [1], 2), "2 finite numbers", error=UtilityError)
    refused(lambda: T.power_loss([0.5, 0.5], [1, 2], 0.5), "at least 1", error=UtilityError)
    refused(lambda: T.partition_cost(observed, 0), "above 0", error=UtilityError)
    refused(lambda: T.observe([[1, 0]], md.Prior([1.0]), 0), "a Mechanism", error=KernelError)
    three = md.Mechanism([[1], [1], [1]])
    refused(lambda: T.guess_leakage(observed, three), "inputs", error=KernelError)
    refused(lambda: T.gain_leakage(three, np.eye(2)), "theory.observe", error=UtilityError)
    refused(lambda: T.guesswork(["a"]), "sum 1", error=UtilityError)
    refused(lambda: T.alpha_loss([0.5, 0.9], 2), "sum 1", error=UtilityError)
    # Not built at all, rather than out of memory.
    refused(lambda: T.worst_guess(observed, 10**9), "1000000", error=UtilityError)
    refused(lambda: T.worst_miss(observed, 10**9), "1000000", error=UtilityError)
    refused(lambda: T.observe(three, md.Prior.uniform(3), 0, given=three), "(channel, z)")
    point = T.observe(md.Mechanism([[1, 0], [0, 1]]), md.Prior([0.5, 0.5]), 0)
    refused(lambda: T.feature_of_gain(point, [[0], [1]]), "after the outcome", error=UtilityError)


def test_a_design_can_be_observed():
    prior = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    found = md.design(prior, md.utility.Hamming(), md.PML(0.3))
    worst = max(T.observe(found, prior, y).leakage for y in found.mechanism.outputs)
    assert worst == pytest.approx(0.3, abs=1e-9)


# The checks in the register can fail


@for_each(
    ("name", "broken", "result"),
    [
        ("worst_gain", lambda observed: np.eye(len(observed.prior)), "PML-Thm-2.4"),
        ("guess_leakage", lambda observed, f: observed.leakage + 0.01, "PML-Def-2.3"),
        ("feature_of_gain", lambda observed, g: T.worst_miss(observed).feature, "PML-Sec-2.3.1"),
        ("cost_of_feature", lambda f: f.kernel, "PMC-Thm-2"),
        ("partition_cost", lambda observed, step: np.ones((len(observed.prior), 1)), "PMC-Thm-3"),
        ("power_leakage", lambda observed, values, power: observed.cost + 0.01, "PMC-Ex-1"),
        ("reduced_cost", lambda feature, cost: feature.kernel @ cost**2, "PMC-Prop-2"),
        ("guesswork_error", lambda observed, k, moment=1.0: 0.0, "PMC-Def-10"),
        ("worst_miss", lambda observed, k=None: T.worst_guess(observed, 2), "D-Misses-1"),
    ],
)
def test_a_wrong_function_is_found_out(monkeypatch, name, broken, result):
    files = {"PML": disclosure_prevention, "PMC": pointwise_maximal_cost, "D": derived}
    check = find_theorem(result)
    assert check.check(5, instances=5).ok
    monkeypatch.setattr(files[result.split("-")[0]], name, broken)
    assert not check.check(5, instances=5).ok
