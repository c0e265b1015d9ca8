"""Draws a byte at a time: all words give the certified weights, and none is drawn twice."""

from __future__ import annotations

import os
import threading
from itertools import accumulate

import numpy as np
import pytest
from checks import for_each
from false_alarms import usual
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from strategies import exact_mechanism, kernels, random_kernel, sizes

import mechdesign as md
from mechdesign.release.byte_table import ByteTable
from mechdesign.release.sampler import AliasTable
from mechdesign.release.words import SystemWords, Words

# Bits of a word that a table reads, and those behind its two bytes.
BITS, REST = 56, 40
DESIGNS = [
    md.design(md.Prior([0.1, 0.2, 0.3, 0.4]), md.utility.Hamming(), notion).mechanism
    for notion in (md.PML(0.5), md.LDP(1), md.LIP(0.4), md.LDP(1e-4), md.LDP(30))
]


class Script(Words):
    """Words of 56 bits that a test chose; notes which bits of each were read."""

    source, for_production, in_parts = "a test", False, True

    def __init__(self, words):
        super().__init__()
        self.words = np.array(words, dtype=np.uint64)
        self.read = np.zeros(len(self.words), dtype=int)

    def next_words(self, number):
        raise AssertionError("words are drawn in parts here")

    def next_leading(self, number, bits):
        return self._bits(np.arange(self.position, self.position + number), 0, bits)

    def following(self, positions, drawn, bits):
        return self._bits(np.asarray(positions), drawn, bits)

    def _bits(self, positions, drawn, bits):
        assert (self.read[positions] == drawn).all(), "bits are read in their order, once"
        self.read[positions] += bits
        words = self.words[positions] >> np.uint64(BITS - drawn - bits)
        found = words & np.uint64((1 << bits) - 1)
        return found.astype(np.uint8) if bits == 8 else found

    def more_bits(self, position):
        raise AssertionError("no draw of this test is undecided")


def outcome_of(weights, word):
    """The outcome of a word of 56 bits by the definition, in Python's integers."""
    cells, rests = zip(*(divmod(w, 1 << 48) for w in weights), strict=True)
    number = word >> 48
    if number < sum(cells):
        return next(y for y, end in enumerate(accumulate(cells)) if number < end)
    number = ((number - sum(cells)) << 8) + ((word >> 40) & 255)
    smaller, last = zip(*(divmod(r, 1 << 40) for r in rests), strict=True)
    if number < sum(smaller):
        return next(y for y, end in enumerate(accumulate(smaller)) if number < end)
    number = ((number - sum(smaller)) << 40) + (word & ((1 << 40) - 1))
    return next(y for y, end in enumerate(accumulate(last)) if number < end)


def scaled(mechanism):
    """Weights over 2^56, as Python's integers."""
    return [[int(w) << (BITS - mechanism.bits) for w in row] for row in mechanism.weights]


def words_of_outcomes(table, symbols, outcomes):
    """How many of the 2^56 words have each outcome, counted off the tables: for every first byte,
    every second byte behind an open cell, and every number behind both.
    """
    found = np.zeros((symbols, outcomes + 1), dtype=object)
    ends = 0
    for x in range(symbols):
        first = np.bincount(table.first[256 * x : 256 * (x + 1)], minlength=256)
        inner = table.second[256 * ends : 256 * (ends + first[255])]
        ends += int(first[255])
        second = np.bincount(inner, minlength=256)
        # What is behind open cells of both: exactly all numbers below the last sum.
        assert int(table._sums[x, -1]) == int(second[255]) << REST
        third = np.diff(table._sums[x], prepend=0)
        assert third.min() >= 0
        for y in range(outcomes):
            parts = (int(first[y]) << 48, int(second[y]) << REST, int(third[y]))
            found[x, y] = sum(parts)
    assert len(table.second) == 256 * ends
    return found[:, :outcomes].tolist()


def table_of(mechanism):
    weights = mechanism.weights.astype(np.int64)
    return ByteTable(weights, mechanism.bits)


def words_behind(table, x):
    """Words whose two bytes leave the outcome of a symbol open, about every change behind them."""
    first = table.first[256 * x : 256 * (x + 1)]
    start = int(np.count_nonzero(table.first[: 256 * x] == 255))
    inner = table.second[256 * start : 256 * (start + int((first == 255).sum()))]
    leaves, smaller = int((first != 255).sum()), int((inner != 255).sum())
    sums = [0, *table._sums[x].tolist()]
    near = {s + d for s in sums for d in (-1, 0, 1)}
    base = (leaves << 48) + (smaller << 40)
    return [base + number for number in sorted(near) if 0 <= number < sums[-1]]


# All words together


LARGE = [(1, 1, 1.0), (2, 1, 1.0), (100, 100, 0.2), (3, 255, 1.0), (40, 129, 5.0), (5, 200, 1e6)]
KERNELS = [
    exact_mechanism(np.random.default_rng(n * m).dirichlet(np.full(m, even), n), bits=53)
    for n, m, even in LARGE
]


@for_each("mechanism", [*DESIGNS, *KERNELS])
def test_all_words_together_are_the_certified_weights(mechanism):
    assert mechanism.bits == 53
    table = table_of(mechanism)
    assert words_of_outcomes(table, *mechanism.shape) == scaled(mechanism)
    # Every remainder is less than one cell, so that fewer than M are open.
    m = mechanism.shape[1]
    assert (table._open < max(m, 1)).all()
    assert (table._sums[:, -1] >> REST < max(m, 1)).all()


@given(st.data())
def test_all_words_are_the_weights_of_any_kernel_and_number_of_bits(data):
    n, m = data.draw(sizes(1, 5)), data.draw(sizes(1, 9))
    bits = data.draw(st.integers(4, 56))
    mechanism = exact_mechanism(data.draw(kernels(n, m)), bits=min(bits, 53))
    table = ByteTable(mechanism.weights.astype(np.int64), mechanism.bits)
    assert words_of_outcomes(table, n, m) == scaled(mechanism)


def test_one_cell_and_one_unit_that_moved_are_seen():
    """A control: the count notices a single smaller cell, and a single one of 2^56 words."""
    mechanism = DESIGNS[0]
    table = table_of(mechanism)
    table.second[0] = (int(table.second[0]) + 1) % 4
    assert words_of_outcomes(table, *mechanism.shape) != scaled(mechanism)
    table = table_of(mechanism)
    x, y = next((x, y) for x in range(4) for y in range(3) if table._sums[x, y])
    table._sums[x, y] -= 1
    assert words_of_outcomes(table, *mechanism.shape) != scaled(mechanism)


# What is drawn is what the tables say


@for_each("mechanism", DESIGNS)
def test_every_first_and_second_byte_gives_what_the_definition_says(mechanism):
    table, weights = table_of(mechanism), scaled(mechanism)
    # All of them for one symbol, and every tenth second byte for the others.
    for x in range(4):
        leads = (256 * a + b for a in range(256) for b in range(0, 256, 10 if x else 1))
        leads = [(lead << 40) | 0x5A5A5A5A5A for lead in leads]
        words = leads + words_behind(table, x)
        script = Script(words)
        drawn = table.draw(np.full(len(words), x), script)[1]
        assert drawn.tolist() == [outcome_of(weights[x], word) for word in words]
        # No more of a word is read than is needed.
        assert set(script.read.tolist()) <= {8, 16, 56}
        is_open = table.first[256 * x : 256 * (x + 1)] == 255
        read = script.read[: len(leads)]
        assert ((read > 8) == np.repeat(is_open, len(leads) // 256)).all()
        assert (script.read[len(leads) :] == 56).all()


def test_reports_do_not_depend_on_how_a_column_is_cut():
    rng = np.random.default_rng(1)
    mechanism = exact_mechanism(random_kernel(rng, 7, 30), bits=53)
    words = rng.integers(0, 1 << 56, 200_000, dtype=np.uint64)
    codes = rng.integers(0, 7, len(words))
    whole = AliasTable(mechanism).draw(codes, Script(words))
    table, script = AliasTable(mechanism), Script(words)
    table.prepare(len(words), script)
    parts = np.split(codes, [1, 1, 17, 65_536, 65_537, 150_000])
    np.testing.assert_array_equal(whole, np.concatenate([table.draw(p, script) for p in parts]))
    for kind in (np.int8, np.uint8, np.int16, np.int32, np.int64):
        np.testing.assert_array_equal(
            whole, AliasTable(mechanism).draw(codes.astype(kind), Script(words))
        )


@for_each(("n", "m"), [(256, 3), (257, 3), (300, 2), (2, 255)])
def test_positions_of_many_symbols_do_not_run_over(n, m):
    rng = np.random.default_rng(n)
    mechanism = exact_mechanism(rng.dirichlet(np.ones(m), n), bits=53)
    weights = scaled(mechanism)
    words = rng.integers(0, 1 << 56, 3 * n, dtype=np.uint64)
    codes = np.tile(np.arange(n), 3)
    drawn = table_of(mechanism).draw(codes, Script(words))[1].tolist()
    assert drawn == [outcome_of(weights[x], int(w)) for x, w in zip(codes, words, strict=True)]


@for_each(("n", "m"), [(2, 256), (2, 300), (400, 200), (70_000, 2)])
def test_kernels_that_are_too_large_are_drawn_by_thresholds(n, m):
    weights = np.full((n, m), (1 << 53) // m, dtype=np.int64)
    weights[:, 0] += (1 << 53) - weights.sum(axis=1)
    assert ByteTable.entries(weights, 53) is None


# Entropy


@for_each("m", [2, 9, 100, 255])
def test_reports_of_the_system_follow_the_kernel_and_no_other(m):
    """Not repeatable, so the threshold is one that chance does not reach."""
    mechanism = exact_mechanism(np.random.default_rng(m).dirichlet(np.full(m, 5.0), 2), bits=53)
    codes = np.repeat([0, 1], 300_000)
    table = AliasTable(mechanism)
    assert table._draws_bytes(len(codes))
    drawn = table.draw(codes, SystemWords())
    for x in range(2):
        counts = np.bincount(drawn[codes == x], minlength=m)
        expected = mechanism.kernel[x] * counts.sum()
        assert chi2.sf(((counts - expected) ** 2 / expected).sum(), m - 1) > 1e-9
        # The control: half of the outcomes a twentieth less often.
        moved = expected * np.where(np.arange(m) < m // 2, 0.95, 1)
        moved *= expected.sum() / moved.sum()
        assert chi2.sf(((counts - moved) ** 2 / moved).sum(), m - 1) < 1e-9


@pytest.fixture
def asked(monkeypatch):
    """How many bytes were asked of the system, each time."""
    found, real = [], os.urandom

    def urandom(number):
        found.append(number)
        return real(number)

    monkeypatch.setattr("mechdesign.release.words.os.urandom", urandom)
    return found


def test_a_report_takes_a_byte_and_rarely_more(asked):
    mechanism = DESIGNS[1]
    rows = 1 << 18
    AliasTable(mechanism).draw(np.zeros(rows, dtype=np.int8), SystemWords())
    assert sum(number == 1 << 16 for number in asked) == 4
    assert sum(asked) < 1.1 * rows


def test_nothing_is_drawn_ahead_and_nothing_is_left_of_a_draw_that_was_stopped(monkeypatch):
    """Bytes are asked for when they are needed; those of a draw that fails are never handed on."""
    mechanism, real, calls = DESIGNS[1], os.urandom, []

    def urandom(number):
        calls.append(real(number))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return calls[-1]

    monkeypatch.setattr("mechdesign.release.words.os.urandom", urandom)
    table, words = AliasTable(mechanism), SystemWords()
    with pytest.raises(KeyboardInterrupt):
        table.draw(np.zeros(1 << 18, dtype=np.int8), words)
    before = len(calls)
    drawn = table.draw(np.zeros(1 << 16, dtype=np.int8), words)
    assert len(calls) > before
    # They are those of the bytes that were asked for now.
    first = np.frombuffer(calls[before], dtype=np.uint8)
    settled = table._by_bytes.first[first] != 255
    np.testing.assert_array_equal(drawn[settled], table._by_bytes.first[first][settled])
    assert not any(isinstance(part, (bytes, np.ndarray)) for part in vars(words).values())


def test_threads_get_bits_of_their_own(asked):
    mechanism = exact_mechanism(random_kernel(np.random.default_rng(2), 3, 40), bits=53)
    table, words, rows = AliasTable(mechanism), SystemWords(), 1 << 17
    found: list[np.ndarray] = []
    draw = lambda: found.append(table.draw(np.zeros(rows, dtype=int), words))  # noqa: E731
    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert words.position == 4 * rows
    assert sum(number == 1 << 16 for number in asked) == 8
    low, high = usual(rows, float((mechanism.kernel[0] ** 2).sum()))
    for i in range(4):
        for j in range(i):
            assert low <= np.sum(found[i] == found[j]) <= high


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_does_not_draw_what_its_parent_draws():
    mechanism, rows = DESIGNS[1], 4096
    table, words = AliasTable(mechanism), SystemWords()
    table.draw(np.zeros(rows, dtype=int), words)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, table.draw(np.zeros(rows, dtype=int), words).tobytes())
        os._exit(0)
    mine = table.draw(np.zeros(rows, dtype=int), words)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reading, rows), dtype=np.uint8)
    os.close(reading)
    os.close(writing)
    assert len(theirs) == rows
    low, high = usual(rows, float((mechanism.kernel[0] ** 2).sum()))
    assert low <= np.sum(mine == theirs) <= high


def test_no_rows_take_no_entropy(asked):
    assert len(AliasTable(DESIGNS[0]).draw(np.empty(0, dtype=int), SystemWords())) == 0
    assert not asked
