"""Repair: from any kernel to integer weights that satisfy every bound exactly, at little cost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    cone_of,
    kernels,
    levels,
    notions,
    priors,
    random_kernel,
    sizes,
)

import mechdesign as md
from mechdesign.certificate.repair import (
    Repair,
    clean_kernel,
    corrections,
    repair_kernel,
)
from mechdesign.errors import CertificateError
from mechdesign.exact import Verdict, to_weights
from mechdesign.privacy import Bound, Hypotheses
from mechdesign.privacy.constraint import check_bound
from mechdesign.privacy.rows import cone_rows
from mechdesign.program.program import Cone

#: What the weights of each row add up to.
DENOMINATOR_BITS, DENOMINATOR = 53, 2**53


def bounds_of(privacy, prior):
    asked = [privacy] if isinstance(privacy, md.PrivacyNotion) else privacy
    return tuple(b for notion in asked for b in notion.bounds(prior) if not b.is_vacuous)


def verdicts(weights, bounds):
    mechanism = md.Mechanism.from_weights(weights, DENOMINATOR_BITS)
    return [check_bound(b, mechanism).verdict for b in bounds]


@st.composite
def damaged(draw, low=1e-4, high=30.0):
    """A cone, its bounds, and a kernel that need not satisfy them."""
    prior = draw(priors())
    kernel = draw(kernels(len(prior), draw(sizes(1, 5))))
    asked = draw(st.lists(notions(low, high), min_size=1, max_size=2))
    return cone_of(asked, prior), bounds_of(asked, prior), kernel


# Integer weights


@given(st.data())
def test_weights_are_the_kernel_rounded(data):
    n, m = data.draw(sizes(1, 6)), data.draw(sizes(1, 6))
    kernel = data.draw(kernels(n, m))
    weights = to_weights(kernel)
    assert weights.dtype == np.int64
    assert (weights >= 0).all()
    assert (weights.sum(axis=1) == DENOMINATOR).all()
    assert (weights[kernel == 0] == 0).all()
    largest = kernel.argmax(axis=1)
    for x, row in enumerate(kernel):
        for y, value in enumerate(row):
            off = abs(int(weights[x, y]) - Fraction(value) * DENOMINATOR)
            # The largest entry of a row takes what its floats do not add up to.
            assert off < (1 if y != largest[x] else 2 * m)


def test_clean_kernel_cuts_and_normalises():
    kernel = np.array([[0.6, 0.5, -1e-9], [0.25, 0.25, 0.25]])
    found = clean_kernel(kernel)
    np.testing.assert_allclose(found, [[6 / 11, 5 / 11, 0], [1 / 3] * 3])
    assert kernel[0, 2] == -1e-9  # a fresh array


@for_each(
    ("kernel", "message"),
    [
        ([[np.nan, 1], [0, 1]], "not finite"),
        ([[np.inf, 1], [0, 1]], "not finite"),
        ([[0.2, 0.1], [0, 1]], "sums to 0.3"),
        ([[-1, 1e-3], [0, 1]], "sums to"),
    ],
)
def test_kernels_without_usable_numbers(kernel, message):
    with pytest.raises(CertificateError, match=message):
        clean_kernel(np.array(kernel, dtype=float))


# What an outcome needs


@given(damaged())
def test_corrections_are_zero_just_where_the_check_says_yes(case):
    cone, bounds, kernel = case
    weights = to_weights(kernel)
    needed = corrections(weights, cone)
    assert (needed >= 0).all()
    satisfied = all(v is Verdict.YES for v in verdicts(weights, bounds))
    assert satisfied is not bool((needed > 0).any())
    # And outcome by outcome.
    for y in range(weights.shape[1]):
        column = np.stack([weights[:, y], DENOMINATOR - weights[:, y]], axis=1)
        alone = corrections(column, cone)[0]
        assert alone == needed[y]


@for_each("level", [0.0, 1e-300, 1e-100, 1e-50, 1e-20, 1e-12, 1e-4])
@for_each("cls", [md.PML, md.PMC, md.LDP])
def test_corrections_see_a_violation_at_any_level(cls, level):
    """However little a level allows, unequal rows need a correction."""
    prior = md.Prior([0.5, 0.3, 0.2])
    weights = to_weights(np.array([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]]))
    assert verdicts(weights, bounds_of(cls(level), prior)) == [Verdict.NO]
    assert (corrections(weights, cone_of(cls(level), prior)) > 0).any()


def test_a_correction_is_no_more_than_it_must_be():
    """c = (a - F b)/(F - 1) makes the worst pair just fit: the amount is right within rounding."""
    prior = md.Prior([0.5, 0.3, 0.2])
    kernel = np.array([[0.6, 0.4], [0.3, 0.7], [0.3, 0.7]])
    factor = math.exp(0.5)
    needed = corrections(to_weights(kernel), cone_of(md.LDP(0.5), prior))
    expected = [(0.6 - factor * 0.3) / (factor - 1), (0.7 - factor * 0.4) / (factor - 1)]
    np.testing.assert_allclose(needed, np.maximum(expected, 0), rtol=1e-12, atol=1e-14)


# The repair


@pytest.mark.parametrize("keep_rare", [False, True])
@given(damaged())
def test_every_repaired_kernel_passes(keep_rare, case):
    cone, bounds, kernel = case
    weights, repair = repair_kernel(kernel, cone, keep_rare=keep_rare)
    assert weights.shape == kernel.shape
    assert (weights >= 0).all()
    assert (weights.sum(axis=1) == DENOMINATOR).all()
    assert all(v is Verdict.YES for v in verdicts(weights, bounds))
    assert 0 <= repair.mixed <= 1


@pytest.mark.parametrize("keep_rare", [False, True])
@given(damaged(low=1e-18, high=1e-4))
def test_every_repaired_kernel_passes_at_minute_levels(keep_rare, case):
    cone, bounds, kernel = case
    weights, _ = repair_kernel(kernel, cone, keep_rare=keep_rare)
    assert all(v is Verdict.YES for v in verdicts(weights, bounds))


@for_each("level", [0.0, 5e-324, 1e-100, 1e-30])
def test_levels_at_or_next_to_zero_leave_equal_rows(level):
    prior = md.Prior([0.5, 0.3, 0.2])
    kernel = random_kernel(np.random.default_rng(3), 3, 4)
    for notion in (md.PML(level), md.PMC(level), md.LIP(level), md.LDP(level)):
        bounds = bounds_of(notion, prior)
        weights, repair = repair_kernel(kernel, cone_of(notion, prior))
        assert (weights == weights[0]).all()
        assert repair.constant
        assert str(repair) == "replaced by a constant kernel"
        assert all(v is Verdict.YES for v in verdicts(weights, bounds))


@pytest.mark.slow
@given(st.data())
def test_feasible_kernels_are_only_rounded(data):
    prior = data.draw(priors())
    kernel = data.draw(kernels(len(prior), data.draw(sizes(2, 4)), zeros=False))
    # One unit of 2^-53 must be little beside every entry and the room of 1e-3.
    kernel = 0.999 * kernel + 0.001 / kernel.shape[1]
    notion = data.draw(notions())
    measured = max(notion.measure(md.Mechanism(kernel), prior))
    roomy = notion.with_levels(*[measured + 1e-3] * len(notion.levels))
    weights, repair = repair_kernel(kernel, cone_of(roomy, prior))
    assert repair == Repair((), 0.0, 1)
    assert str(repair) == "rounding alone"
    np.testing.assert_allclose(np.ldexp(weights.astype(float), -53), kernel, rtol=0, atol=1e-14)


@given(damaged(low=0.05, high=5.0), levels(1e-14, 1e-6))
def test_a_small_violation_costs_little(case, size):
    """A feasible kernel, moved by δ, is repaired by at most about 2 e^ε δ/(e^ε - 1) per outcome."""
    cone, bounds, kernel = case
    good, _ = repair_kernel(kernel, cone)
    start = np.ldexp(good.astype(float), -DENOMINATOR_BITS)
    moved = clean_kernel(start + size * kernel)
    weights, _ = repair_kernel(moved, cone)
    least = min(b.epsilon for b in bounds)
    allowed = 6 * start.shape[1] * size / -math.expm1(-least) + 1e-12
    assert np.abs(np.ldexp(weights.astype(float), -DENOMINATOR_BITS) - start).max() < allowed


def test_a_negligible_outcome_is_merged():
    """An outcome so rare that mixing would outweigh it goes to the most frequent one."""
    prior = md.Prior([0.5, 0.3, 0.2])
    rare = 1e-12
    kernel = np.array([[0.5, 0.5 - rare, rare], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    weights, repair = repair_kernel(kernel, cone_of(md.LDP(0.1), prior))
    assert repair.merged == (2,)
    assert repair.mixed == 0
    assert (weights[:, 2] == 0).all()
    assert "1 outcome merged" in str(repair)
    np.testing.assert_allclose(weights[:, :2] / DENOMINATOR, 0.5, atol=1e-11)


@pytest.mark.parametrize("mass", [4e-16, 1e-17, 1e-28])
def test_a_rare_outcome_can_be_kept(mass):
    """PMC lets the rarest symbol have an outcome of its own; rounded to the nearest, its entries
    break the level, and mixing would outweigh it.
    """
    prior, factor = md.Prior.from_counts([0.6, 0.4, mass]), math.exp(0.1)
    p = prior.probabilities
    kernel = np.tile(p / factor, (3, 1)) + (1 - 1 / factor) * (1 - 1e-12) * np.eye(3)
    bounds, cone = bounds_of(md.PMC(0.1), prior), cone_of(md.PMC(0.1), prior)
    _, merged = repair_kernel(kernel, cone)
    weights, kept = repair_kernel(kernel, cone, keep_rare=True)
    assert 2 in merged.merged
    assert kept.merged == ()
    assert all(v is Verdict.YES for v in verdicts(weights, bounds))
    np.testing.assert_allclose(weights / DENOMINATOR, kernel, rtol=0, atol=1e-11)
    assert weights[2, 2] > 0.09 * DENOMINATOR


def test_a_merged_outcome_goes_to_the_most_frequent_one():
    prior, rare = md.Prior([0.5, 0.3, 0.2]), 1e-6
    kernel = np.array([[0.6, 0.4, 0.0], [0.45, 0.55 - rare, rare], [0.6, 0.4, 0.0]])
    weights, repair = repair_kernel(kernel, cone_of(md.LDP(0.5), prior))
    assert repair == Repair((2,), 0.0, 2)
    merged = kernel[:, :2] + [[0, 0], [rare, 0], [0, 0]]
    np.testing.assert_allclose(weights[:, :2] / DENOMINATOR, merged, rtol=0, atol=1e-15)


def test_a_frequent_outcome_is_mixed():
    prior, epsilon = md.Prior([0.5, 0.3, 0.2]), 0.1
    over = 1e-9
    kernel = np.array([[0.5 + over, 0.5 - over]] + [[0.5 * math.exp(-epsilon)] * 2] * 2)
    kernel[:, 1] = 1 - kernel[:, 0]
    weights, repair = repair_kernel(kernel, cone_of(md.LDP(epsilon), prior))
    assert repair.merged == ()
    assert over / math.expm1(epsilon) < repair.mixed < 2 * over / math.expm1(epsilon)
    assert "of constant mass mixed in" in str(repair)
    assert verdicts(weights, bounds_of(md.LDP(epsilon), prior)) == [Verdict.YES]


def test_a_hopeless_kernel_becomes_constant():
    """Half and half at level zero: the output distribution is what is kept."""
    prior = md.Prior([0.5, 0.25, 0.25])
    bounds = bounds_of(md.PML(0.0), prior)
    weights, repair = repair_kernel(np.eye(3), cone_of(md.PML(0.0), prior))
    assert repair.constant
    assert repair.mixed == 1
    np.testing.assert_array_equal(weights, np.repeat([[2, 1, 1]], 3, axis=0) * DENOMINATOR // 4)
    assert verdicts(weights, bounds) == [Verdict.YES]


def test_matched_pairs_are_repaired_at_their_own_level():
    prior = md.Prior([0.4, 0.3, 0.3], [0, 1, 3])
    over, under = Hypotheses.points(prior, [0, 1, 1, 2]), Hypotheses.points(prior, [1, 0, 2, 1])
    bound = Bound(over, under, 0.3, pairing="matched", scales=(1, 1, 2, 2))
    rng = np.random.default_rng(8)
    for _ in range(20):
        kernel = random_kernel(rng, 3, 3)
        weights, repair = repair_kernel(kernel, Cone(prior, (cone_rows(bound),)))
        assert verdicts(weights, (bound,)) == [Verdict.YES]
        used = weights[:, weights.any(axis=0)]
        rough = np.log(used[[0, 1, 1, 2]] / used[[1, 0, 2, 1]]).max(axis=1)
        assert (rough <= 0.3 * np.array([1, 1, 2, 2]) + 1e-12).all()
        # What was mixed in is needed: with nothing, some pair would fail.
        assert repair.mixed == 0 or verdicts(to_weights(kernel), (bound,)) == [Verdict.NO]


def test_repaired_designs_keep_their_zeros():
    """Zeros of an optimum are not filled up by rounding: PML above log 1/(1 - pmin) has some."""
    found = md.design(md.Prior([0.1, 0.2, 0.3, 0.4]), md.utility.Hamming(), md.PML(0.6))
    assert (found.mechanism.weights == 0).sum() >= 4
    assert found.certificate.repair.mixed == 0
