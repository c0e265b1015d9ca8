"""Words in two parts: the outcome is that of the whole word, and no bit is drawn twice.

Tables of bytes, which need less of a word, are switched off here; ``test_byte_table.py`` has them.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st
from strategies import exact_mechanism, kernels, sizes

from mechdesign.release.sampler import AliasTable
from mechdesign.release.words import SeededWords, SystemWords, Words

BITS = 53


class Split(Words):
    """Words of a list, in parts; remembers which were asked for as a whole."""

    source, for_production, in_parts = "a test", False, True

    def __init__(self, words):
        super().__init__()
        self.words = np.array(words, dtype=np.uint64)
        self.whole: list[int] = []

    def next_words(self, number):
        raise AssertionError("words are drawn in parts here")

    def next_leading(self, number, bits):
        found = self.words[self.position : self.position + number]
        return (found >> np.uint64(64 - bits)).astype(f"u{bits // 8}")

    def following(self, positions, drawn, bits):
        assert drawn + bits == 64
        assert not set(self.whole).intersection(positions.tolist())
        self.whole += positions.tolist()
        return self.words[positions] & np.uint64((1 << bits) - 1)

    def more_bits(self, position):
        raise AssertionError("no draw of this test is undecided")


class Whole(Split):
    """The same words, each at once."""

    in_parts = False

    def next_words(self, number):
        return self.words[self.position : self.position + number]


def edges(table):
    """Words about every threshold of a table, for each symbol: one below, on it, one above."""
    top = 1 << (64 - table.shift)
    codes, words = [], []
    for x, row in enumerate(table.thresholds.tolist()):
        for bucket, threshold in enumerate(row):
            scaled = threshold << (64 - table.bits)
            for low in {0, scaled - 1, scaled, scaled + 1, scaled + (1 << 30), top - 1}:
                if 0 <= low < top:
                    codes.append(x)
                    words.append(bucket * top + low)
    return np.array(codes), words


def same(table, codes, words):
    split = Split(words)
    table._entries = None
    np.testing.assert_array_equal(table.draw(codes, split), table.draw(codes, Whole(words)))
    return split


@given(st.data())
def test_outcomes_at_every_threshold_are_those_of_whole_words(data):
    n, m = data.draw(sizes(1, 4)), data.draw(sizes(1, 9))
    table = AliasTable(exact_mechanism(data.draw(kernels(n, m)), bits=BITS))
    same(table, *edges(table))


@for_each("m", [1, 2, 3, 128, 129, 255, 256, 257, 300, 1000])
def test_outcomes_of_large_kernels_are_those_of_whole_words(m):
    rng = np.random.default_rng(m)
    table = AliasTable(exact_mechanism(rng.dirichlet(np.full(m, 0.3), 2), bits=BITS))
    same(table, *edges(table))
    words = rng.integers(0, 1 << 64, 40_000, dtype=np.uint64)
    split = same(table, rng.integers(0, 2, len(words)), words)
    # As many as leave the outcome open: one of the parts that a bucket is cut into.
    bits = 8 if table.shift <= 3 else 16 if table.shift <= 8 else 32
    assert len(split.whole) < len(words) / (1 << (bits - table.shift)) * 2 + 20


def test_a_leading_part_on_the_threshold_decides_nothing():
    """A control: with the other bits of the word the outcome goes either way."""
    table = AliasTable(exact_mechanism(np.array([[0.3, 0.7]]), bits=BITS))
    codes, words = edges(table)
    split = same(table, codes, words)
    assert split.whole
    lead = np.array(words, dtype=np.uint64) >> np.uint64(48)
    drawn = table.draw(codes, Whole(words))
    assert any(len(set(drawn[lead == value].tolist())) == 2 for value in np.unique(lead))


def test_the_system_keeps_the_leading_bits_and_draws_the_others():
    words = SystemWords()
    position, leading = words.claim(1000, words.next_leading, 16)
    assert (position, leading.dtype, words.position) == (0, np.uint16, 1000)
    others = words.following(np.arange(1000), 16, 48)
    # 48 further bits: no two rows agree in them.
    assert others.max() < 1 << 48
    assert len(np.unique(others)) == 1000
    assert not np.array_equal(others, words.following(np.arange(1000), 16, 48))
    byte = words.following(np.arange(1000), 8, 8)
    assert (byte.dtype, len(byte), len(np.unique(byte)) > 200) == (np.uint8, 1000, True)


def test_words_of_a_seed_come_whole():
    """Their position decides, so that reports of a seed stay what they were."""
    assert not SeededWords(1).in_parts
    with pytest.raises(NotImplementedError, match="parts"):
        SeededWords(1).next_leading(1, 16)
