"""Reports of a subset selection: drawn exactly, repeatable by key, the same in every library."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from checks import for_each
from listed_words import Listed
from scipy.stats import chi2

import mechdesign as md
from mechdesign.errors import DataError, RepeatWarning
from mechdesign.release import subset_reports
from mechdesign.release.subset_reports import SubsetTable
from mechdesign.release.words import SeededWords
from mechdesign.subsets import SubsetSelection
from mechdesign.subsets.choice import types_of
from mechdesign.subsets.report_types import Layout


@cache
def made(symbols, notion, *plan):
    """Of a space, of permutations with masses, and of groups."""
    if not plan:
        prior = symbols if isinstance(symbols, int) else md.Prior.from_counts(symbols)
        return md.subset_selection(prior, notion, tolerance=0)
    layout = Layout(np.zeros(symbols, dtype=int))
    *_, (_, _, types) = types_of(layout, [notion], plan)
    return SubsetSelection(range(symbols), [notion], layout, types)


CASES = [
    (5, md.LDP(1), (5, 1)),
    (8, md.LIP(1), (3, 2)),
    (5, md.LDP(4), (5, 1)),
    (12, md.PML(1.2)),
    ((4, 2, 2, 1, 1, 1), md.LIP(0.7)),
]


def fits(drawn, selection, symbol, least):
    """Whether Pearson's statistic does not speak against reports about a symbol."""
    chances = np.array([float(selection.probability(symbol, y)) for y in selection.outputs])
    counts, used = np.bincount(drawn, minlength=len(chances)), chances > 0
    if counts[~used].any():
        return False
    want = chances[used] * len(drawn)
    return chi2.sf(((counts[used] - want) ** 2 / want).sum(), used.sum() - 1) > least


@for_each("case", CASES)
@for_each("source", ["seed", "entropy", "key"])
def test_reports_have_the_probabilities_of_the_kernel(case, source):
    selection, n = made(*case), 40_000
    symbol = len(selection.inputs) - 2
    if source == "key":
        import pandas as pd

        table = pd.DataFrame({"id": range(n), "x": symbol})
        drawn = md.privatize(table, "x", selection, row="id", key=bytes(range(40)))["x"].to_numpy()
    else:
        sampler = md.Sampler(selection, rng=5 if source == "seed" else None)
        drawn = sampler.draw_codes(np.full(n, symbol))
    assert fits(drawn, selection, symbol, 1e-6 if source == "entropy" else 1e-3)
    # A control: the row of another symbol does not fit.
    assert not fits(drawn, selection, 0, 1e-9)


def test_one_word_decides_one_thing():
    """Direction, level and residue, each at the ends of its range."""
    selection = made(*CASES[0])
    (one,) = selection.types
    part, full = one.parts[0], 1 << 64
    ((high, middle),), count, q = part.weights, part.count, part.base

    class Several(Listed):
        def next_several(self, number, each):
            return self.words[: number * each].reshape(number, each)

    def residue_at(level_word, residue_word):
        words = Several([0, level_word, residue_word])
        drawn, shifts = one.drawn(SubsetTable(selection).draw(np.array([3]), words))[0]
        return int((drawn[0, 0] * 3 + shifts[0]) % q)

    shift = 64 - 53
    assert residue_at(0, 0) == 0
    assert residue_at((high << shift) - 1, count - 1) == count - 1
    assert residue_at(high << shift, 0) == count
    assert residue_at(((high + middle) << shift) - 1, 7) == count
    assert residue_at((high + middle) << shift, 0) == count + 1
    assert residue_at(full - 1, q - count - 2) == q - 1


def test_words_decide_on_placements_with_exactly_their_masses():
    directions = made(12, md.PML(1.2)).types[0].slots[0]
    ends, total = np.cumsum(directions.masses).tolist(), sum(directions.masses)
    assert any((end << 64) % total for end in ends)
    for b, end in enumerate(ends[:-1]):
        cut = (end << 64) // total
        inside = (end << 64) - cut * total  # of its `total` parts, those before the end
        words = np.zeros((3, 2), dtype=np.uint64)
        words[:, 1] = cut - 1, cut, cut + 1
        for part, place in ((0, b), (inside - 1, b), (inside, b + 1), (total - 1, b + 1)):
            if part >= 0 and inside:
                bits = 8 * ((total.bit_length() + 7) // 8) - (total - 1).bit_length()

                def spare(row, part=part << bits):
                    """The bytes of a number, for the one that is cut alone."""
                    assert row == 1
                    return iter([part.to_bytes(64, "little")])

                found = subset_reports.directions_of(directions, words, spare)
                assert (found // directions.each).tolist() == [b, place, b + 1]


def test_words_of_few_bits_are_rejected_and_leave_no_bias(monkeypatch):
    """With 5 bits for one of 24 directions every fourth row needs further bytes."""
    for case in (CASES[-1], (25, md.LIP(1), (5, 2))):
        selection, codes = made(*case), np.full(40_000, 2)
        assert fits(SubsetTable(selection, bits=5).draw(codes, SeededWords(7)), selection, 2, 1e-4)

    def modulo(limits, words, spare, bits):
        """A control: without rejection."""
        return (words >> np.uint64(64 - bits)).astype(np.int64) % limits

    monkeypatch.setattr(subset_reports, "below", modulo)
    assert not fits(SubsetTable(selection, bits=5).draw(codes, SeededWords(7)), selection, 2, 1e-9)


def test_reports_of_different_rows_are_independent():
    selection = made(*CASES[0])
    drawn = md.Sampler(selection, rng=1).draw_codes(np.zeros(40_000, dtype=int))
    pairs = Counter(zip(drawn[::2].tolist(), drawn[1::2].tolist(), strict=True))
    chances = np.array([float(selection.probability(0, y)) for y in selection.outputs])
    expected = np.outer(chances, chances).ravel() * len(drawn) / 2
    counts = np.array([pairs[a, b] for a in selection.outputs for b in selection.outputs])
    assert chi2.sf(((counts - expected) ** 2 / expected).sum(), expected.size - 1) > 1e-3
    assert math.isclose(expected.sum(), len(drawn) / 2)


# Identities


def people(n=400, size=1000):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    return pd.DataFrame({"id": np.arange(n), "x": rng.integers(0, size, n)})


def test_keyed_reports_are_the_same_in_any_order_and_library():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    duckdb, dd = pytest.importorskip("duckdb"), pytest.importorskip("dask.dataframe")
    selection, table = md.subset_selection(1000, md.LDP(1)), people()

    def drawn(source, key=bytes(range(32))):
        return md.privatize(source, "x", selection, row="id", key=key)

    one = drawn(table)["x"].tolist()
    batches = [pa.RecordBatch.from_pandas(table[i : i + 90]) for i in range(0, 400, 90)]
    duck, dask = drawn(duckdb.from_df(table)), drawn(dd.from_pandas(table, npartitions=3))
    for found in (
        drawn(table.sample(frac=1, random_state=1)).sort_values("id")["x"].tolist(),
        drawn(pa.Table.from_pandas(table))["x"].to_pylist(),
        [value for part in drawn(batches) for value in part["x"].to_pylist()],
        drawn(pl.from_pandas(table))["x"].to_list(),
        drawn(pl.from_pandas(table).lazy()).collect()["x"].to_list(),
        duck.order("id").df()["x"].tolist(),
        dask.compute().sort_values("id")["x"].tolist(),
    ):
        assert found == one
    assert drawn(table[100:])["x"].tolist() == one[100:]
    other = drawn(table, bytes(range(1, 33)))["x"].tolist()
    assert sum(a == b for a, b in zip(one, other, strict=True)) < 20
    values = [md.estimate(reports, selection, "x").values for reports in (duck, dask)]
    assert values[0] == pytest.approx(values[1])
    # A shared direction would let two reports of one row be compared residue by residue.
    changed = drawn(table.assign(x=(table["x"] + 1) % 1000))["x"].to_numpy()
    base = selection.types[0].parts[0].base
    assert np.mean(np.array(one) // base == changed // base) < 0.02


@for_each("symbols", [1000, (2,) * 500 + (1,) * 500])
def test_a_seed_gives_the_same_reports_however_a_table_is_cut(symbols):
    pa = pytest.importorskip("pyarrow")
    selection, table = made(symbols, md.LDP(3)), people()
    whole = md.privatize(table, "x", selection, rng=3)["x"].tolist()
    batches = [pa.RecordBatch.from_pandas(table[i : i + 70]) for i in range(0, 400, 70)]
    parts = md.privatize(batches, "x", selection, rng=3)
    assert whole == [value for part in parts for value in part["x"].to_pylist()]


def test_labels_of_text_null_reports_and_several_rows_of_one_person():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    selection = md.subset_selection([f"w{i}" for i in range(50)], md.LDP(2))
    table = pd.DataFrame({"x": ["w1", None, "w49"] * 10})
    pandas = md.privatize(table, "x", selection, missing="keep", rng=1)
    polars = md.privatize(pl.from_pandas(table), "x", selection, missing="keep", rng=1)
    assert pandas["x"].isna().tolist() == [False, True, False] * 10
    assert pandas["x"].dropna().astype(int).tolist() == polars["x"].drop_nulls().to_list()
    assert polars["x"].null_count() == 10
    with pytest.raises(DataError, match="1 other value"):
        md.privatize(pd.DataFrame({"x": ["w50"]}), "x", selection)
    several = pd.DataFrame({"who": [1, 1, 2] * 4, "x": [f"w{i}" for i in range(12)]})
    with pytest.warns(RepeatWarning, match=r"LDP\(16\) at most"):
        md.privatize(several, "x", selection, person="who")
