"""The sampler: thresholds are the certified integers, draws follow them, and controls fail."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from listed_words import Listed
from scipy.stats import chi2
from strategies import exact_mechanism, kernels, random_kernel, sizes

import mechdesign as md
from mechdesign.errors import DataError, InputError, KernelError
from mechdesign.release.sampler import AliasTable
from mechdesign.release.words import GeneratorWords, SeededWords, SystemWords, words_from

PRIOR = md.Prior([0.1, 0.2, 0.3, 0.4], ["a", "b", "c", "d"])


NOTIONS = (md.PML(0.5), md.LDP(1), md.LIP(0.4), md.ALIP(0.8, 0.3), md.LDP(1e-4), md.LDP(30))
NAMES = [str(notion) for notion in NOTIONS]
DESIGNS = [md.design(PRIOR, md.utility.Hamming(), notion).mechanism for notion in NOTIONS]


def weights_of(table):
    """How many of the ``2^bits`` leading parts of a word give each outcome.

    A last column counts the undecided parts where there are any.
    """
    capacity = 1 << (table.bits - table.shift)
    rows = np.arange(len(table.thresholds))[:, None]
    found = table.thresholds.copy()
    np.add.at(found, (rows, table.aliases), capacity - table.thresholds)
    used = table.outcomes + (table.rest is not None)
    assert not found[:, used:].any()
    return found[:, :used]


def every_part(mechanism, bits, low):
    """Counts of each outcome when every leading part of a word occurs once, for each symbol."""
    table = AliasTable(mechanism, bits)
    words = [(part << (64 - bits)) | low for part in range(1 << bits)]
    found = []
    for code in range(mechanism.shape[0]):
        drawn = table.draw(np.full(len(words), code), Listed(words))
        found.append(np.bincount(drawn, minlength=table.outcomes))
    return np.array(found)


# The thresholds are the weights


LARGE = [
    exact_mechanism(np.random.default_rng(n * m).dirichlet(np.full(m, 0.2), n), bits=53)
    for n, m in [(1, 1), (2, 1), (100, 100), (3, 1000), (40, 129)]
]


@for_each("mechanism", [*DESIGNS, *LARGE])
def test_thresholds_add_up_to_the_certified_weights(mechanism):
    assert mechanism.bits == 53
    np.testing.assert_array_equal(weights_of(AliasTable(mechanism)), mechanism.weights)


@given(st.data())
def test_thresholds_add_up_to_the_weights(data):
    n, m = data.draw(sizes(1, 5)), data.draw(sizes(1, 9))
    mechanism = exact_mechanism(data.draw(kernels(n, m)), bits=53)
    np.testing.assert_array_equal(weights_of(AliasTable(mechanism)), mechanism.weights)


def test_a_threshold_off_by_one_is_seen():
    """A control: the sum notices a single unit of 2**-53."""
    mechanism = DESIGNS[0]
    table = AliasTable(mechanism)
    x, bucket = np.argwhere(table.aliases != np.arange(table.aliases.shape[1]))[0]
    table.thresholds[x, bucket] -= 1
    assert (weights_of(table) != mechanism.weights).any()


@given(st.data())
def test_every_word_of_a_small_kernel_gives_each_outcome_its_weight(data):
    n, m = data.draw(sizes(1, 3)), data.draw(sizes(1, 6))
    bits = data.draw(st.integers(4, 9))
    mechanism = exact_mechanism(data.draw(kernels(n, m)), bits=bits)
    low = data.draw(st.integers(0, 2 ** (64 - bits) - 1))
    np.testing.assert_array_equal(every_part(mechanism, bits, low), mechanism.weights)


# Kernels over another denominator


@given(st.data())
def test_leading_part_and_undecided_part_make_up_the_exact_probability(data):
    rows = data.draw(
        st.lists(st.lists(st.integers(0, 2**70), min_size=3, max_size=3), min_size=2, max_size=2)
    )
    rows = [row if any(row) else [1, 0, 0] for row in rows]
    bits = max(sum(row) for row in rows).bit_length()
    mechanism = md.Mechanism.from_weights(np.array(rows, dtype=object), bits, check=False)
    table = AliasTable(mechanism, 8)
    found = weights_of(table)
    for x, row in enumerate(rows):
        for y in range(3):
            chance = Fraction(int(found[x, y]), 256)
            if table.rest is not None and any(table.rest[x]):
                share = Fraction(int(table.rest[x, y]), sum(map(int, table.rest[x])))
                chance += Fraction(int(found[x, 3]), 256) * share
            assert chance == Fraction(row[y], sum(row))


@for_each("rng", [1, np.random.default_rng(1), None])
def test_undecided_words_are_settled_with_the_right_chances(rng):
    thirds = md.Mechanism.from_weights(np.array([[1, 1, 1]]), 2, check=False)
    table = AliasTable(thirds, bits=3)
    assert weights_of(table)[0].tolist() == [2, 2, 2, 2]
    drawn = table.draw(np.zeros(60_000, dtype=int), words_from(rng))
    counts = np.bincount(drawn, minlength=3)
    assert len(counts) == 3
    assert chi2.sf(((counts - 20_000) ** 2 / 20_000).sum(), 2) > 1e-4


def test_products_are_sampled_exactly_although_their_denominator_is_larger():
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    pair = md.design(PRIOR, md.utility.Hamming(), md.LDP(1)).mechanism.product(flip)
    table = AliasTable(pair)
    assert pair.bits > 53
    whole = weights_of(table)[:, : pair.shape[1]]
    exact = pair.weights // (1 << (pair.bits - 53))
    np.testing.assert_array_equal(whole, exact.astype(np.int64))


# Draws


def p_values(mechanism, codes, drawn):
    """Chi-square p-value of each row of a kernel."""
    found = []
    for x in range(mechanism.shape[0]):
        counts = np.bincount(drawn[codes == x], minlength=mechanism.shape[1])
        expected = mechanism.kernel[x] * counts.sum()
        live = expected > 0
        assert not counts[~live].any()
        statistic = ((counts - expected)[live] ** 2 / expected[live]).sum()
        found.append(chi2.sf(statistic, max(live.sum() - 1, 1)))
    return np.array(found)


def sampled(mechanism, rng, per_row=200_000):
    codes = np.tile(np.arange(mechanism.shape[0]), per_row)
    return codes, md.Sampler(mechanism, rng).draw_codes(codes)


@for_each("rng", [11, np.random.default_rng(11)])
@for_each("mechanism", DESIGNS)
def test_every_row_follows_its_weights(mechanism, rng):
    assert p_values(mechanism, *sampled(mechanism, rng)).min() > 1e-4


def test_words_of_the_operating_system_follow_the_weights():
    """Not repeatable, so the threshold is one that chance does not reach."""
    mechanism = exact_mechanism(random_kernel(np.random.default_rng(5), 6, 9), bits=53)
    assert p_values(mechanism, *sampled(mechanism, None)).min() > 1e-10


@for_each("mechanism", DESIGNS)
def test_a_kernel_changed_by_one_per_cent_is_found_out(mechanism):
    """The control for the two tests above: entries of one row moved by 1 %."""
    changed = mechanism.kernel.copy()
    y = int(changed[3].argmax())
    other = (y + 1) % 4 if changed[3, (y + 1) % 4] > 0 else int(np.argsort(changed[3])[-2])
    moved = 0.01 * max(changed[3, y], 0.1)
    changed[3, [y, other]] += [-moved, moved]
    codes, drawn = sampled(md.Mechanism(changed), 11)
    if mechanism.kernel[3, other] == 0:
        with pytest.raises(AssertionError):
            p_values(mechanism, codes, drawn)
    else:
        assert p_values(mechanism, codes, drawn)[3] < 1e-4


# Words


def test_words_do_not_depend_on_how_they_are_cut():
    whole = SeededWords(3, "x").take(40_000)
    words = SeededWords(3, "x")
    parts = [words.take(n) for n in (1, 0, 7, 9_000, 16_384, 14_608)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(SeededWords(3, "x").at(30_000).take(100), whole[30_000:30_100])


def test_a_seed_gives_what_its_generator_gives():
    np.testing.assert_array_equal(
        words_from(5).take(100), words_from(np.random.default_rng(5)).take(100)
    )


def test_columns_under_one_seed_get_words_of_their_own():
    assert (SeededWords(1, "a").take(50) != SeededWords(1, "b").take(50)).all()


def test_production_is_marked():
    assert (SystemWords().take(8) != SystemWords().take(8)).all()
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    assert md.Sampler(flip).for_production
    for rng in (1, np.int64(1), np.random.default_rng(1)):
        sampler = md.Sampler(flip, rng)
        assert not sampler.for_production
        assert "not for production" in repr(sampler)
    assert isinstance(words_from(np.random.default_rng(1)), GeneratorWords)


@for_each("rng", [1, np.random.default_rng(1), None])
@for_each("limit", [1, 2, 3, 255, 256, 257, 10**30])
def test_integers_below_a_limit(rng, limit):
    words = words_from(rng)
    found = [words.below(limit, position) for position in range(50)]
    assert min(found) >= 0
    assert max(found) < limit
    if limit > 1:
        assert len(set(found)) > 1


# The door


def test_labels_in_labels_out():
    mechanism = md.Mechanism([[0, 1], [1, 0]], ["x", "y"], [("p", 1), None])
    assert md.Sampler(mechanism).draw(["x", "y", "x"]) == [None, ("p", 1), None]
    assert md.Sampler(mechanism).draw([]) == []


def test_refusals():
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    sampler = md.Sampler(flip)
    refused(lambda: sampler.draw("no"), "symbols", "a single str", error=DataError)
    found = refused(lambda: sampler.draw(["no", "maybe"]), "1 other value", error=DataError)
    assert "maybe" not in str(found)
    refused(lambda: sampler.draw([0, 1]), "type str", "type int", error=DataError)
    refused(lambda: sampler.draw_codes([0, 2]), "0 to 1", error=DataError)
    refused(lambda: sampler.draw_codes([-1, 0]), "-1", error=DataError)
    refused(lambda: sampler.draw_codes([0.5]), "float64", error=DataError)
    refused(lambda: sampler.draw_codes([[0]]), "(1, 1)", error=DataError)
    refused(lambda: md.Sampler([[1.0]]), "Mechanism", error=KernelError)
    for rng in (-1, "seed", 1.5, True):
        refused(lambda rng=rng: md.Sampler(flip, rng), "rng", error=InputError)
