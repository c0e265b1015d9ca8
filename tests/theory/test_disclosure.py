"""Disclosure: what outcomes settle, for whom, and at which level; how to pick one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import counts, kernels, priors, sizes

import mechdesign as md
from mechdesign.errors import KernelError, LevelError, PriorError
from mechdesign.papers import derived, disclosure_prevention
from mechdesign.papers.catalogue import find_theorem

T = md.theory
ZERO_MASS = pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")


@st.composite
def cases(draw, low=2, zeros=True):
    """A prior, a mechanism and a feature, exact, zeros among their entries."""
    prior = draw(priors(low))
    mechanism = md.Mechanism(draw(kernels(len(prior), draw(sizes(1, 4)), zeros)), prior.labels)
    channel = md.Mechanism(draw(kernels(len(prior), draw(sizes(1, 4)))), prior.labels)
    if draw(st.booleans()):
        values = draw(st.lists(st.integers(0, 2), min_size=len(prior), max_size=len(prior)))
        channel = T.feature(prior, lambda label: values[prior.labels.index(label)])
    return prior, mechanism, channel


def settled(prior, mechanism, channel):
    """Outcomes with one possible value, from exact posterior masses."""
    found = {}
    for y, outcome in enumerate(mechanism.outputs):
        masses = [
            sum(
                prior.mass(x) * int(mechanism.weights[x, y]) * int(channel.weights[x, u])
                for x in range(len(prior))
            )
            for u in range(channel.shape[1])
        ]
        if sum(m > 0 for m in masses) == 1:
            found[outcome] = channel.outputs[next(u for u, m in enumerate(masses) if m > 0)]
    return found


def level(prior, mechanism):
    return md.PML(math.inf).check(mechanism, prior).achieved[0]


@given(cases())
def test_disclosures_are_certain_posteriors(case):
    prior, mechanism, channel = case
    found = {d.outcome: d.value for d in T.disclosures(mechanism, prior, channel)}
    assert found == settled(prior, mechanism, channel)
    assert T.discloses(mechanism, prior, channel) == bool(found)


@given(cases(), st.data())
def test_what_one_adversary_learns_all_learn(case, data):
    prior, mechanism, channel = case
    other = md.Prior.from_counts(data.draw(counts(len(prior))), prior.labels)
    assert T.disclosures(mechanism, prior, channel) == T.disclosures(mechanism, other, channel)


@ZERO_MASS
def test_an_adversary_who_rules_symbols_out_may_learn_more():
    prior, known = md.Prior([0.5, 0.3, 0.2]), md.Prior([0.5, 0.5, 0])
    mechanism = md.Mechanism([[0.5, 0.5], [0, 1], [0.5, 0.5]])
    first = T.feature(prior, [0])
    assert not T.discloses(mechanism, prior, first)
    assert T.disclosures(mechanism, known, first) == (T.Disclosure(0, True),)


@given(cases(), st.floats(0, 4))
def test_pml_below_the_entropy_discloses_nothing(case, epsilon):
    prior, mechanism, channel = case
    own = level(prior, mechanism)
    entropy = T.feature_entropy(prior, channel)
    for eps in (own, epsilon):
        hidden = T.hidden_above(eps, prior, [channel])[0]
        assert hidden == (entropy > eps) or entropy == pytest.approx(eps, abs=1e-12)
        if hidden and eps >= own:
            assert not T.discloses(mechanism, prior, channel)
    left = -np.log(T.feature_posterior(mechanism, prior, channel).max(axis=0))
    q = mechanism.output_distribution(prior)
    assert left[q > 0].min() >= T.remaining_entropy_bound(own, entropy) - 1e-9


def test_the_comparison_with_the_entropy_is_exact():
    prior = md.Prior.uniform(2)
    bit = T.feature(prior, [0])
    assert T.hidden_above(math.nextafter(math.log(2), 0), prior, [bit]) == [True]
    assert T.hidden_above(math.nextafter(math.log(2), 1), prior, [bit]) == [False]
    assert T.hidden_above(math.inf, prior, [bit]) == [False]
    refused(lambda: T.hidden_above(math.nan, prior, [bit]), "at least 0", error=LevelError)


@given(cases())
def test_the_price_of_a_feature_is_exact(case):
    prior, mechanism, channel = case
    price = T.disclosure_price(prior, channel)
    assert price >= T.feature_entropy(prior, channel) - 1e-12
    if T.is_deterministic(prior, channel):
        assert price == pytest.approx(T.feature_entropy(prior, channel), abs=1e-12)
    if T.discloses(mechanism, prior, channel):
        assert level(prior, mechanism) >= price - 1e-9
    if 0 < price < math.inf:
        made = T.disclosing_mechanism(prior, channel)
        assert made.mechanism.is_exact
        assert level(prior, made.mechanism) == pytest.approx(price, abs=1e-9)
        found = T.disclosures(made.mechanism, prior, channel)
        assert T.Disclosure("disclosed", made.value) in found
    else:
        refused(lambda: T.disclosing_mechanism(prior, channel), error=KernelError)


@given(cases())
def test_with_a_feature_an_easier_one_is_disclosed(case):
    prior, mechanism, channel = case
    for found in T.disclosures(mechanism, prior, channel):
        if T.is_constant(prior, channel):
            refused(lambda v=found.value: T.easier_feature(prior, channel, v), "positive")
            continue
        easier = T.easier_feature(prior, channel, found.value)
        exact = T.pushforward(prior, channel), T.pushforward(prior, easier)
        top = [Fraction(max(p.weights), p.total) for p in exact]
        assert top[1] > top[0]
        assert found in T.disclosures(mechanism, prior, easier)


def test_shares_below_the_threshold_are_refused():
    prior = md.Prior([0.7, 0.2, 0.1])
    channel = T.feature(prior, lambda label: label)
    # (0.7 − 0.1)/(1 − 0.1) = 2/3.
    refused(lambda: T.easier_feature(prior, channel, 2, 0.66), "above 0.666667")
    assert T.feature_entropy(prior, T.easier_feature(prior, channel, 2, 0.67)) < -math.log(0.7)
    refused(lambda: T.easier_feature(prior, channel, 2, 1.0), "below 1")
    refused(lambda: T.easier_feature(prior, channel, "x"), "'x'")


@given(cases(zeros=False))
def test_finite_capacity_prevents_every_disclosure(case):
    prior, mechanism, channel = case
    capacity = T.leakage_capacity(mechanism)
    assert capacity == pytest.approx(md.LDP(1).measure(mechanism, prior)[0], abs=1e-9)
    if not T.is_constant(prior, channel):
        assert not T.discloses(mechanism, prior, channel)
    left = T.least_uncertainty(mechanism, prior)
    assert left >= T.uncertainty_bound(prior, capacity) * (1 - 1e-6)
    assert left > 0


@given(cases())
def test_infinite_capacity_needs_the_cheapest_level(case):
    prior, mechanism, channel = case
    threshold = -math.log1p(-prior.pmin)
    if T.leakage_capacity(mechanism, prior) == math.inf:
        assert level(prior, mechanism) >= threshold - 1e-12
        assert T.least_uncertainty(mechanism, prior) == 0
        assert T.most_entropy_disclosed(mechanism, prior) > 0
    cheap, dear = T.cheapest_disclosure(prior), T.dearest_disclosure(prior)
    assert level(prior, cheap.mechanism) == pytest.approx(threshold, abs=1e-9)
    assert level(prior, dear.mechanism) == pytest.approx(-math.log(prior.pmin), abs=1e-9)
    assert T.discloses(cheap.mechanism, prior, cheap.feature)
    if not T.is_constant(prior, channel):
        assert T.disclosure_price(prior, channel) >= threshold - 1e-12


@given(cases())
def test_the_most_entropy_disclosed_bounds_what_is(case):
    prior, mechanism, channel = case
    most = T.most_entropy_disclosed(mechanism, prior)
    assert most <= level(prior, mechanism) + 1e-12
    if T.discloses(mechanism, prior, channel):
        assert T.feature_entropy(prior, channel) <= most + 1e-12
    left = T.compatible_symbols(mechanism, prior)
    masses = [sum(prior[x] for x in symbols) for symbols in left.values()]
    assert most == pytest.approx(-math.log(min(masses)), abs=1e-9)


@given(cases())
def test_singling_out_needs_the_entropy_of_the_secret(case):
    prior, mechanism, _ = case
    alone = {y: s[0] for y, s in T.compatible_symbols(mechanism, prior).items() if len(s) == 1}
    assert {d.outcome: d.value for d in T.singles_out(mechanism, prior)} == alone
    if alone:
        assert level(prior, mechanism) >= prior.min_entropy() - 1e-12


def test_tiny_atoms_have_exact_prices():
    prior = md.Prior([1e-12, 1 - 1e-12])
    cheap = T.cheapest_disclosure(prior)
    assert cheap.epsilon == pytest.approx(1e-12, rel=1e-3)
    assert level(prior, cheap.mechanism) == pytest.approx(1e-12, rel=1e-3)
    assert T.dearest_disclosure(prior).epsilon == pytest.approx(12 * math.log(10))
    assert T.uncertainty_bound(prior, 0) == pytest.approx(1e-12, rel=1e-3)
    for call in (T.cheapest_disclosure, T.dearest_disclosure):
        refused(lambda call=call: call(md.Prior([1.0])), "two symbols", error=PriorError)
    refused(lambda: T.uncertainty_bound(md.Prior([1.0]), 1), "two symbols", error=PriorError)
    refused(lambda: T.uncertainty_bound(prior, math.nan), "capacity", error=LevelError)


# Features


def test_features_are_made_from_functions_mappings_and_questions():
    prior = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    by_question = T.feature(prior, {"a", "b"})
    assert by_question.outputs == (True, False)
    assert by_question.kernel.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert T.feature(["a", "b", "c"], lambda s: s in "ab") == by_question
    mapping = {"a": "x", "b": "x", "c": "y"}
    assert T.feature(md.Mechanism(np.eye(3), ["a", "b", "c"]), mapping).outputs == ("x", "y")
    assert T.feature_entropy(prior, by_question) == pytest.approx(-math.log(0.8))
    refused(lambda: T.feature(prior, ["d"]), "'d'", error=KernelError)
    refused(lambda: T.feature(prior, {"a": 1}), "'b'", error=KernelError)
    refused(lambda: T.feature(prior, "a"), "columns are named", error=KernelError)
    refused(lambda: T.feature(3, ["a"]), "list of symbols", error=KernelError)
    refused(lambda: T.feature(prior, lambda s: [s]), "hashable", error=KernelError)
    refused(lambda: T.feature(prior, lambda s: math.nan), "NaN", error=KernelError)
    refused(lambda: T.feature_entropy([0.5, 0.5], by_question), "a Prior", error=PriorError)
    other = T.feature([0, 1, 2], [0])
    refused(lambda: T.feature_entropy(prior, other), "inputs", error=KernelError)


def test_a_feature_is_one_thing_to_notions_and_to_theory():
    """Mapping, mapping of masses, and channel: any of them, wherever a feature is asked for."""
    prior = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    kernel = md.Mechanism([[0.5, 0.5], [0.25, 0.75], [1, 0]], prior.labels)
    plain = {"a": "x", "b": "x", "c": "y"}
    mixed = {"c": {"y": 3, "x": 1}, "a": {"x": 2}, "b": {"x": 0.5, "y": 0.5}}
    table = md.Mechanism([[0.25, 0.75], [0, 1], [0.5, 0.5]], ["c", "a", "b"], ["y", "x"])
    channel = md.Mechanism([[1, 0], [0.5, 0.5], [0.25, 0.75]], prior.labels, ["x", "y"])
    assert md.FeaturePML(0.5, T.feature(prior, plain)) == md.FeaturePML(0.5, plain)
    refused(lambda: T.feature_leakage(kernel, prior, table), "same symbols", error=KernelError)
    for feature in (mixed, channel):
        assert T.feature_entropy(prior, feature) == pytest.approx(-math.log(0.7))
        leaked = T.feature_leakage(kernel, prior, feature)
        # P(x|y) and P(y|y) from the joint distribution of value and outcome, by hand.
        first = np.array([0.2875 + 0.05, 0.0375 + 0.15]) / 0.525
        assert leaked[0] == pytest.approx(np.log(first / [0.7, 0.3]).max())
        for notion in (md.FeaturePML(0.5, feature), md.FeaturePML(0.5, channel)):
            assert notion.leakage(kernel.kernel, prior) == pytest.approx(leaked)
            level = notion.check(kernel, prior).achieved[0]
            assert level == pytest.approx(leaked.max(), abs=1e-12)
    assert T.discloses(kernel, prior, {"a": 0, "b": 0, "c": 0})
    refused(lambda: T.feature_entropy(prior, {"a": 1, "b": 2}), "'c'", error=KernelError)
    refused(lambda: T.feature_entropy(prior, {"a": {"x": -1}}), "masses", error=KernelError)


@given(cases())
def test_the_channel_of_a_feature_has_its_leakage(case):
    prior, mechanism, channel = case
    masses = T.pushforward(prior, channel)
    through = T.feature_channel(mechanism, prior, channel)
    found = T.feature_leakage(mechanism, prior, channel)
    inner = masses.probabilities > 0
    q = mechanism.output_distribution(prior)
    direct = np.log(through.kernel[inner].max(axis=0)[q > 0] / q[q > 0])
    assert found[q > 0] == pytest.approx(np.maximum(direct, 0), abs=1e-9)
    assert found.max() == pytest.approx(md.PML(1).measure(through, masses)[0], abs=1e-7)
    assert (T.feature_posterior(mechanism, prior, channel).sum(axis=0)).tolist() == pytest.approx(
        [1] * mechanism.shape[1]
    )


# How to pick ε


@given(cases(), st.data())
def test_the_picked_level_hides_what_was_asked(case, data):
    prior, mechanism, channel = case
    price = T.disclosure_price(prior, channel)
    if price == 0:
        refused(lambda: T.pick_epsilon(prior, [channel]), "min-entropy", error=LevelError)
        return
    choice = T.pick_epsilon(prior, {"it": channel}, {"all": T.feature(prior, lambda s: s)})
    assert choice.below == price
    assert choice.binding == "it"
    if price < math.inf:
        assert choice.largest == math.nextafter(price, 0)
        made = T.disclosing_mechanism(prior, channel)
        # The level that is named is certainly below the one at which the feature is disclosed.
        assert md.PML(choice.largest).check(made.mechanism, prior).verdict is md.Verdict.NO
    if md.PML(choice.largest).check(mechanism, prior).verdict is md.Verdict.YES:
        assert not T.discloses(mechanism, prior, channel)
    assert choice.nothing_below <= choice.singling_out + 1e-12 or len(prior) == 1


def test_a_design_at_the_picked_level_discloses_nothing_hidden():
    prior = md.Prior([0.4, 0.3, 0.2, 0.1], ["flu", "cold", "asthma", "cancer"])
    hide = {"cancer": T.feature(prior, ["cancer"]), "lungs": T.feature(prior, ["flu", "asthma"])}
    reveal = {"anything but cancer": T.feature(prior, ["flu", "cold", "asthma"])}
    choice = T.pick_epsilon(prior, hide, reveal)
    assert choice.binding == "cancer"
    assert choice.below == pytest.approx(-math.log(0.9))
    found = md.design(prior, md.utility.Hamming(), md.PML(choice.largest))
    for feature in hide.values():
        assert not T.disclosures(found, prior, feature)
    text = str(choice)
    assert "cancer decides" in text
    assert "may go, but cannot" in text
    lungs = T.pick_epsilon(prior, [hide["lungs"]], [T.feature(prior, ["flu", "cold", "asthma"])])
    assert [line.possible for line in lungs.features] == [True, None]


def test_a_single_value_can_be_hidden():
    """That a visit was for cancer stays hidden, while that it was not may come out."""
    prior = md.Prior([0.4, 0.3, 0.2, 0.1], ["flu", "cold", "asthma", "cancer"])
    cancer = T.feature(prior, ["cancer"])
    either, yes = T.pick_epsilon(prior, [cancer]), T.pick_epsilon(prior, [(cancer, True)])
    assert either.below == pytest.approx(-math.log(0.9))
    assert yes.below == pytest.approx(-math.log(0.1))
    assert yes.features[0].entropy == pytest.approx(-math.log(0.1))
    made = T.disclosing_mechanism(prior, cancer, True)
    assert made.epsilon == yes.below
    assert md.PML(yes.largest).check(made.mechanism, prior).verdict is md.Verdict.NO
    allowed = T.pick_epsilon(prior, [(cancer, True)], {"no": (cancer, False)})
    assert [line.possible for line in allowed.features] == [True, None]
    refused(lambda: T.pick_epsilon(prior, [(cancer, "maybe")]), "'maybe'", error=KernelError)
    refused(lambda: T.pick_epsilon(prior, [3]), "a Mechanism", error=KernelError)


def test_a_remainder_can_be_asked_for():
    prior = md.Prior.uniform(8)
    secret = T.feature(prior, lambda s: s)
    choice = T.pick_epsilon(prior, [secret], remaining=1.0)
    assert choice.below == pytest.approx(math.log(8) - 1)
    refused(lambda: T.pick_epsilon(prior, [secret], remaining=3.0), "more than 3", error=LevelError)
    refused(lambda: T.pick_epsilon(prior, [secret], remaining=-1), "remaining", error=LevelError)
    refused(lambda: T.pick_epsilon(prior, []), "at least one", error=LevelError)


def test_the_example_of_the_page_about_levels_hides_what_it_says():
    page = Path(__file__).parents[2] / "notebooks" / "site" / "do" / "choose-a-level.md"
    first, second = page.read_text(encoding="utf-8").split("```python\n")[1:3]
    names = {}
    exec(first.split("```")[0] + second.split("```")[0], names)
    assert names["choice"].below == pytest.approx(math.log(2))
    assert T.disclosures(names["found"], names["prior"], names["lungs"]) == ()
    assert names["cold"].leakage > 0


# Counting queries


def binomial_tail(n, m, p):
    """P(count > m), exactly."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(m + 1, n + 1))


@pytest.mark.slow
@given(st.integers(1, 40), st.data())
def test_both_answers_of_a_threshold_query(n, data):
    m = data.draw(st.integers(0, n - 1))
    p = data.draw(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
    yes = binomial_tail(n, m, p)
    query = T.threshold_query(n, m, float(p))
    assert query.yes == pytest.approx(-math.log(yes), rel=1e-9, abs=1e-15)
    assert query.no == pytest.approx(-math.log(1 - yes), rel=1e-9, abs=1e-15)
    assert query.yes <= query.yes_bound + 1e-12
    assert query.no <= query.no_bound + 1e-12
    assert query.epsilon >= math.log(2) - 1e-12
    # Posterior of one person's bit from the exact joint distribution.
    for answer, mass in ((True, yes), (False, 1 - yes)):
        above = binomial_tail(n - 1, m - 1, p) if m else Fraction(1)
        with_it, without = above, binomial_tail(n - 1, m, p)
        ratio = max(with_it, without) if answer else max(1 - with_it, 1 - without)
        found = T.person_leakage(n, m, float(p), answer)
        assert found == pytest.approx(math.log(ratio / mass), rel=1e-9, abs=1e-12)
        assert T.answer_leakage(n, m, float(p), answer) >= found - 1e-12


def test_the_printed_example():
    query = T.threshold_query(200, 0, 0.3)
    assert query.no == pytest.approx(71.33498878774648)
    assert query.yes < 1e-30
    assert query.no_discloses
    assert query.yes_is_covered
    assert not query.no_is_covered
    wide = T.threshold_query(1000, 200, (0.3, 0.7))
    assert wide.entropy == pytest.approx(-math.log(0.7))
    assert wide.yes == T.threshold_query(1000, 200, 0.3).yes
    assert wide.no == T.threshold_query(1000, 200, 0.7).no
    assert T.threshold_query(2000, 0, 0.5).no == pytest.approx(2000 * math.log(2))


def test_the_curves_of_the_printed_figure():
    def printed(n, a, p):
        kl = a * math.log(a / p) + (1 - a) * math.log((1 - a) / (1 - p))
        return -math.log(1 - math.exp(-n * kl))

    for n, p in product((200, 500), (0.3, 0.5)):
        assert T.chernoff_bound(n, 0.25, p) == pytest.approx(printed(n, 0.25, p), rel=1e-9)
    assert T.chernoff_bound(2000, 0.01, 0.5) == pytest.approx(
        math.exp(-2000 * (0.01 * math.log(0.02) + 0.99 * math.log(1.98))), rel=1e-9
    )
    assert T.chernoff_bound(10, 0.0, 0.5) == pytest.approx(-math.log(1 - 2**-10))
    assert T.chernoff_bound(10, 0.5, 0.5) == math.inf


@given(st.integers(1, 12), st.floats(0.02, 2), st.floats(0.01, 0.49))
def test_the_laplace_bound_against_a_grid(n, scale, margin):
    bound = T.laplace_count_bound(n, scale, margin)
    for p in (margin, 0.5, 1 - margin):
        y = np.linspace(-1, 2, 31)
        weights = [math.comb(n - 1, k) * p**k * (1 - p) ** (n - 1 - k) for k in range(n)]
        one, zero = (
            sum(w * np.exp(-np.abs(y - (k + d) / n) / scale) for k, w in enumerate(weights))
            for d in (1, 0)
        )
        direct = np.log(np.maximum(one, zero) / (p * one + (1 - p) * zero))
        found = T.laplace_count_leakage(n, scale, p, y)
        assert found == pytest.approx(direct, abs=1e-9)
        assert found.max() <= bound + 1e-9
    assert bound <= T.laplace_count_simple_bound(n, scale, margin) + 1e-12
    assert T.laplace_count_leakage(n, scale, margin, 5.0)[0] == pytest.approx(bound, abs=1e-9)


def test_quantised_means():
    die = md.Prior.uniform([1, 2, 3, 4, 5, 6])
    found = T.quantised_mean(die, 2, [1, 3, 5, 6.5])
    # Sums below 6, from 6 to 9, and from 10 on.
    assert found.probabilities == pytest.approx([10 / 36, 20 / 36, 6 / 36])
    assert found.labels == (2.0, 4.0, 5.75)
    far = [T.quantised_mean(die, n, [1, 3, 4, 7]).min_entropy() for n in (1, 10, 60)]
    assert far[0] > far[1] > far[2]
    refused(lambda: T.quantised_mean(die, 2, [1, 3]), "cells", error=PriorError)
    refused(lambda: T.quantised_mean(die, 0, [1, 7]), "at least 1", error=PriorError)
    refused(lambda: T.quantised_mean(die, 2, [7, 1]), "rising", error=PriorError)
    words = md.Prior.uniform(["a", "b"])
    refused(lambda: T.quantised_mean(words, 2, [1, 2]), "numbers", error=PriorError)


def test_numbers_out_of_range_are_told():
    refused(lambda: T.threshold_query(10, 10, 0.3), "at most 9", error=LevelError)
    refused(lambda: T.threshold_query(10, -1, 0.3), "at least 0", error=LevelError)
    refused(lambda: T.threshold_query(10, 3, 1.0), "from 0 to 1", error=LevelError)
    refused(lambda: T.threshold_query(10, 3, (0.7, 0.3)), "rising", error=LevelError)
    refused(lambda: T.threshold_query(10, 3, math.nan), "from 0 to 1", error=LevelError)
    refused(lambda: T.laplace_count_bound(10, 0), "above 0", error=LevelError)
    refused(lambda: T.laplace_count_bound(10, 0.1, 0.5), "to 0.5", error=LevelError)
    refused(lambda: T.person_leakage(10, 3, math.nan, True), "from 0 to 1", error=LevelError)
    refused(lambda: T.chernoff_bound(10, math.nan, 0.5), error=LevelError)


# The checks in the register can fail


@pytest.mark.slow
@for_each(
    ("module", "name", "broken", "result"),
    [
        (disclosure_prevention, "disclosures", lambda m, p, f: (), "PML-Thm-3.4"),
        (disclosure_prevention, "disclosures", lambda m, p, f: (), "PML-Prop-3.8"),
        (disclosure_prevention, "easier_feature", lambda p, f, v: f, "PML-Prop-3.6"),
        (disclosure_prevention, "easier_feature", T.feature_channel, "PML-Prop-3.6"),
        (disclosure_prevention, "hidden_above", lambda e, p, f: [True], "PML-Thm-3.5"),
        (disclosure_prevention, "singles_out", lambda m, p: (1,), "PML-Cor-3.10"),
        (
            disclosure_prevention,
            "quantised_mean",
            lambda p, n, e: T.quantised_mean(p, 1, e),
            "PML-Ex-3.1",
        ),
        (disclosure_prevention, "chernoff_bound", lambda n, a, p: a - p, "PML-Fig-1"),
        (disclosure_prevention, "laplace_count_simple_bound", lambda n, b, c: 0.0, "PML-Sec-4.1"),
        (
            derived,
            "person_leakage",
            lambda n, m, p, a: T.person_leakage(n, m, 1 - p, a),
            "D-Counting-2",
        ),
    ],
)
def test_a_wrong_function_is_found_out(monkeypatch, module, name, broken, result):
    check = find_theorem(result)
    assert check.check(5, instances=15).ok
    monkeypatch.setattr(module, name, broken)
    try:
        ok = check.check(5, instances=15).ok
    except md.MechdesignError:
        ok = False
    assert not ok
