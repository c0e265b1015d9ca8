"""Levels by symbol and by pair: published kernels, what is told and what is not, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from strategies import random_gains

import mechdesign as md
from mechdesign.errors import LevelError
from mechdesign.exact import Verdict

E = math.exp


def value(prior, gains, kernel):
    return float((prior.probabilities[:, None] * gains * kernel).sum())


def hamming_optimum(prior, notion):
    found = md.design(prior, md.utility.Hamming(), notion)
    assert found.certificate.checks[0].verdict is Verdict.YES
    assert found.bound == pytest.approx(found.value, abs=1e-9)
    return found


# Published kernels


def test_one_sensitive_answer_is_mangats_randomised_response():
    """Who has it says so; who has not says so with probability 1 − e^-ε, and else lies."""
    prior = md.Prior([0.5, 0.5], ["ill", "well"])
    for epsilon in (0.1, 1.0, 3.0):
        found = hamming_optimum(prior, md.UtilityOptimisedLDP(epsilon, ["ill"]))
        published = [[1, 0], [E(-epsilon), 1 - E(-epsilon)]]
        np.testing.assert_allclose(found.mechanism.kernel, published, atol=1e-9)


def utility_optimised(n, sensitive, epsilon):
    """Utility-optimised randomised response, with sensitive symbols first."""
    one = 1 / (sensitive + E(epsilon) - 1)
    kernel = np.zeros((n, n))
    kernel[:, :sensitive] = one
    kernel[range(sensitive), range(sensitive)] = E(epsilon) * one
    for x in range(sensitive, n):
        kernel[x, x] = 1 - sensitive * one
    return kernel


@for_each(("n", "sensitive"), [(3, 1), (4, 2), (6, 3), (5, 5)])
def test_utility_optimised_randomised_response_is_optimal_where_it_should_be(n, sensitive):
    """Uniform prior, and a level at which every sensitive symbol is reported as such."""
    epsilon, prior = 2.0, md.Prior.uniform(n)
    notion = md.UtilityOptimisedLDP(epsilon, range(sensitive))
    kernel = utility_optimised(n, sensitive, epsilon)
    assert md.audit(kernel, prior, notion).checks[0].achieved[0] == pytest.approx(epsilon)
    best = hamming_optimum(prior, notion).value
    assert best == pytest.approx(value(prior, np.eye(n), kernel), abs=1e-9)
    # And no worse than what protects all symbols.
    every = hamming_optimum(prior, md.LDP(epsilon)).value
    assert best == pytest.approx(every) if sensitive == n else best > every + 0.01


@pytest.mark.parametrize(("forward", "back"), [(0.3, 1.2), (1.0, 1.0), (2.0, 0.5)])
def test_two_symbols_with_a_level_each_way(forward, back):
    """Both ratios at their levels: the randomised response of two symbols, bent to one side."""
    prior = md.Prior.uniform(2)
    found = hamming_optimum(prior, md.ContextAwareLDP(1, [(0, 1, forward), (1, 0, back)]))
    lie = (E(back) - 1) / (E(forward + back) - 1)
    kernel = np.array([[E(forward) * lie, 1 - E(forward) * lie], [lie, 1 - lie]])
    np.testing.assert_allclose(found.mechanism.kernel, kernel, atol=1e-9)


# What utility-optimised local differential privacy tells openly


@for_each("number", slow_but(4, range(12)))
def test_a_kernel_is_a_merging_of_protected_and_invertible_outcomes(number):
    rng = np.random.default_rng([5, number])
    n, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.1, 2))
    prior = md.Prior.from_counts(rng.integers(1, 9, n).tolist())
    some = rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist()
    notion = md.UtilityOptimisedLDP(epsilon, some)
    found = md.design(prior, md.utility.Matrix(random_gains(rng, n, 4)), notion)
    split = notion.split(found)
    protected = split.kernel[:, :4]
    assert (protected.max(axis=0) <= protected.min(axis=0) * E(epsilon) * (1 + 1e-12)).all()
    for y in range(4, split.shape[1]):
        _, x = split.outputs[y]
        assert x not in some
        assert np.flatnonzero(split.kernel[:, y]).tolist() == [x]
    # Merged again it is the same kernel, and the split one is never worse.
    assert md.refines(split, found.mechanism, tolerance=0)
    assert notion.check(split, prior).verdict is Verdict.YES


# One way is one way


def test_a_pair_is_protected_the_way_it_is_named():
    prior = md.Prior.uniform(2)
    kernel = [[1.0, 0.0], [0.5, 0.5]]
    there, back = md.ContextAwareLDP(1, [(0, 1)]), md.ContextAwareLDP(1, [(1, 0)])
    report = md.audit(kernel, prior, [there, back])
    assert [check.verdict for check in report.checks] == [Verdict.YES, Verdict.NO]
    assert report.checks[0].achieved == (pytest.approx(math.log(2)),)
    assert report.checks[1].achieved == (math.inf,)


def test_blocks_are_told_apart_and_their_symbols_are_not():
    prior = md.Prior.uniform(4)
    found = hamming_optimum(prior, md.ContextAwareLDP.blocks(1, [[0, 1], [2, 3]]))
    kernel = found.mechanism.kernel
    assert kernel[:2, 2:].max() == kernel[2:, :2].max() == 0
    assert found.value == pytest.approx(E(1) / (1 + E(1)))


def test_large_factors_are_explained_without_overflow():
    """A product of kernels has ratios that no float holds, at a level that is small."""
    flip = md.Mechanism([[0.999, 0.001], [0.001, 0.999]])
    many = md.theory.repeated(flip, 300)
    check = md.ContextAwareLDP(1, [(0, 1, 1e4)]).check(many, md.Prior.uniform(2))
    assert check.verdict is Verdict.YES
    assert "e^2072" in check.evidence


# Bad input


@for_each(
    "make",
    [
        lambda: md.SymbolPML(1, {}),
        lambda: md.SymbolPML(1, "abc"),
        lambda: md.SymbolPML(1, {"a": 0}),
        lambda: md.SymbolPML(1, {"a": True}),
        lambda: md.SymbolPML(1, [("a", 1), ("a", 2)]),
        lambda: md.SymbolPML(1, {"a": 1}).bounds(md.Prior([0.5, 0.5], ["a", "b"])),
        lambda: md.InputDiscriminativeLDP(1, [1]).bounds(md.Prior.uniform(2)),
        lambda: md.ContextAwareLDP(1, [(0, 0)]),
        lambda: md.ContextAwareLDP(1, np.ones((2, 2))),
        lambda: md.ContextAwareLDP(1, [(0, 1, 0)]),
        lambda: md.ContextAwareLDP(1, [(0, 9)]).bounds(md.Prior.uniform(2)),
        lambda: md.ContextAwareLDP.matrix(1, [[0, 1], [1, 0]], ["a"]),
        lambda: md.ContextAwareLDP.blocks(1, "ab"),
        lambda: md.ContextAwareLDP(1, [([0], [1])]),
        lambda: md.UtilityOptimisedLDP(1, "hiv"),
        lambda: md.UtilityOptimisedLDP(1, ["hiv"]).bounds(md.Prior.uniform(2)),
    ],
)
def test_mistakes_are_refused(make):
    with pytest.raises(LevelError, match=r"expected .+, got "):
        make()


def test_levels_in_a_list_are_sent_to_the_notion_that_takes_them():
    refused(lambda: md.PML([0.5, 1.0]), "SymbolPML")
