"""Reports of a subset selection: drawn exactly, repeatable by key, the same in every library."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from listed_words import Listed
from scipy.stats import chi2

import mechdesign as md
from mechdesign.errors import DataError, RepeatWarning
from mechdesign.exact import DENOMINATOR
from mechdesign.release import subset_reports
from mechdesign.release.subset_reports import SubsetTable
from mechdesign.release.words import SeededWords
from mechdesign.subsets import SubsetSelection
from mechdesign.subsets._subset_selection import make_family
from mechdesign.subsets.selection import asked_bounds

CASES = [(5, 5, 1, md.LDP(1)), (8, 3, 2, md.LIP(1)), (7, 2, 3, md.PML(0.8)), (5, 5, 1, md.LDP(4))]


def made(size, base, dimension, notion):
    found = make_family(size, base, dimension, asked_bounds([notion]))
    return SubsetSelection(size, [notion], *found)


def p_value(counts, expected):
    """Of Pearson's statistic; cells that cannot occur must be empty."""
    possible = expected > 0
    assert not counts[~possible].any()
    total = counts.sum()
    want = expected[possible] * total
    statistic = ((counts[possible] - want) ** 2 / want).sum()
    return float(chi2.sf(statistic, possible.sum() - 1))


def row(selection, symbol):
    return np.array([float(selection.probability(symbol, y)) for y in selection.outputs])


@for_each("case", CASES)
@for_each("source", ["seed", "entropy", "key"])
def test_reports_have_the_probabilities_of_the_kernel(case, source):
    selection, n = made(*case), 60_000
    symbol = len(selection.inputs) - 2
    if source == "key":
        import pandas as pd

        table = pd.DataFrame({"id": range(n), "x": symbol})
        drawn = md.privatize(table, "x", selection, row="id", key=bytes(range(40)))["x"].to_numpy()
    else:
        sampler = md.Sampler(selection, rng=5 if source == "seed" else None)
        drawn = sampler.draw_codes(np.full(n, symbol))
    counts = np.bincount(drawn, minlength=len(selection.outputs))
    least = 1e-6 if source == "entropy" else 1e-3
    assert p_value(counts, row(selection, symbol)) > least
    # A control: the row of another symbol does not fit.
    other = row(selection, 0)
    possible = (other > 0) | (counts == 0)
    assert not possible.all() or p_value(counts, other) < 1e-9


def test_one_word_decides_one_thing():
    """Direction, level and residue, each at the ends of its range."""
    selection = made(5, 5, 1, md.LDP(1))
    (profile,) = selection.profiles
    q, full = selection.family.base, 1 << 64

    class Several(Listed):
        def next_several(self, number, each):
            return self.words[: number * each].reshape(number, each)

    def residue_at(level_word, residue_word):
        words = Several([0, level_word, residue_word])
        report = SubsetTable(selection).draw(np.array([3]), words)
        found, _ = selection.family.residues(report, np.array([3]))
        return int(found[0])

    shift = 64 - 53
    assert residue_at(0, 0) == 0
    assert residue_at((profile.high << shift) - 1, profile.count - 1) == profile.count - 1
    assert residue_at(profile.high << shift, 0) == profile.count
    assert residue_at(((profile.high + profile.middle) << shift) - 1, 7) == profile.count
    assert residue_at((profile.high + profile.middle) << shift, 0) == profile.count + 1
    assert residue_at(full - 1, q - profile.count - 2) == q - 1


def test_words_of_few_bits_are_rejected_and_leave_no_bias(monkeypatch):
    """With 5 bits for one of 24 directions every fourth row needs further bytes."""
    selection, n = made(25, 5, 2, md.LIP(1)), 40_000
    table = SubsetTable(selection, bits=5)
    drawn = table.draw(np.full(n, 2), SeededWords(7))
    counts = np.bincount(drawn, minlength=len(selection.outputs))
    assert p_value(counts, row(selection, 2)) > 1e-3

    def modulo(limits, words, spare, bits):
        """A control: without rejection."""
        return (words >> np.uint64(64 - bits)).astype(np.int64) % limits

    monkeypatch.setattr(subset_reports, "below", modulo)
    drawn = SubsetTable(selection, bits=5).draw(np.full(n, 2), SeededWords(7))
    counts = np.bincount(drawn, minlength=len(selection.outputs))
    assert p_value(counts, row(selection, 2)) < 1e-9


def test_the_level_is_decided_by_53_bits_exactly():
    """Weights of the levels add up to what a word of 53 bits can be."""
    selection = made(8, 3, 2, md.LIP(1))
    for i, profile in enumerate(selection.profiles):
        share = Fraction(profile.high, DENOMINATOR)
        have = sum(
            selection.probability(x, y) * selection.family.size
            for x in [0]
            for y in selection.outputs
            if selection.family.residues(np.array([y]), np.array([x]))[1][0] == i
            and selection.family.residues(np.array([y]), np.array([x]))[0][0] < profile.count
        )
        assert have / selection.family.size == share * Fraction(*selection.family.class_share(i))


# Identities


def people(n=400, size=1000, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"id": np.arange(n), "x": rng.integers(0, size, n)})


def test_keyed_reports_are_the_same_in_any_order_and_library():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    selection, key, table = md.subset_selection(1000, md.LDP(1)), bytes(range(32)), people()
    one = md.privatize(table, "x", selection, row="id", key=key)["x"].tolist()
    shuffled = table.sample(frac=1, random_state=1)
    again = (
        md.privatize(shuffled, "x", selection, row="id", key=key).sort_values("id")["x"].tolist()
    )
    arrow = md.privatize(pa.Table.from_pandas(table), "x", selection, row="id", key=key)
    batches = [pa.RecordBatch.from_pandas(table[i : i + 90]) for i in range(0, 400, 90)]
    parts = list(md.privatize(batches, "x", selection, row="id", key=key))
    polars = md.privatize(pl.from_pandas(table), "x", selection, row="id", key=key)
    lazy = md.privatize(pl.from_pandas(table).lazy(), "x", selection, row="id", key=key).collect()
    assert one == again == arrow["x"].to_pylist() == polars["x"].to_list() == lazy["x"].to_list()
    assert one == [value for part in parts for value in part["x"].to_pylist()]
    other = md.privatize(table, "x", selection, row="id", key=bytes(range(1, 33)))["x"].tolist()
    assert sum(a == b for a, b in zip(one, other, strict=True)) < 20
    rest = md.privatize(table[100:], "x", selection, row="id", key=key)["x"].tolist()
    assert rest == one[100:]


def test_another_symbol_under_the_same_key_gets_another_report():
    """A shared direction would let two reports be compared residue by residue."""
    selection, table = md.subset_selection(1000, md.LDP(1)), people(2000)
    one = md.privatize(table, "x", selection, row="id", key=bytes(range(40)))["x"].to_numpy()
    changed = table.assign(x=(table["x"] + 1) % 1000)
    two = md.privatize(changed, "x", selection, row="id", key=bytes(range(40)))["x"].to_numpy()
    base = selection.family.base
    assert np.mean(one // base == two // base) < 0.02


def test_a_seed_gives_the_same_reports_however_a_table_is_cut():
    pa = pytest.importorskip("pyarrow")
    selection, table = md.subset_selection(1000, md.PML(1)), people()
    whole = md.privatize(table, "x", selection, rng=3)["x"].tolist()
    batches = [pa.RecordBatch.from_pandas(table[i : i + 70]) for i in range(0, 400, 70)]
    parts = md.privatize(batches, "x", selection, rng=3)
    assert whole == [value for part in parts for value in part["x"].to_pylist()]


def test_labels_of_text_and_null_reports():
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


def test_several_rows_about_one_person_are_warned_of():
    pd = pytest.importorskip("pandas")
    selection = md.subset_selection(50, md.LDP(1))
    table = pd.DataFrame({"who": [1, 1, 2] * 4, "x": range(12)})
    with pytest.warns(RepeatWarning, match=r"LDP\(8\) at most"):
        md.privatize(table, "x", selection, person="who")


@pytest.mark.parametrize("position", range(3))
def test_few_words_meet_no_two_people(position):
    """Directions, levels and residues of different rows are independent: all pairs occur."""
    selection = made(5, 5, 1, md.LDP(1))
    drawn = md.Sampler(selection, rng=position).draw_codes(np.zeros(40_000, dtype=int))
    pairs = Counter(zip(drawn[::2].tolist(), drawn[1::2].tolist(), strict=True))
    chances = row(selection, 0)
    expected = np.outer(chances, chances).ravel()
    size = len(selection.outputs)
    counts = np.array([pairs[a, b] for a in range(size) for b in range(size)])
    assert p_value(counts, expected) > 1e-3
    assert math.isclose(expected.sum(), 1)


def test_engines_give_the_same_reports():
    duckdb, dd = pytest.importorskip("duckdb"), pytest.importorskip("dask.dataframe")
    selection, key, table = md.subset_selection(1000, md.LDP(1)), bytes(range(32)), people(300)
    want = md.privatize(table, "x", selection, row="id", key=key)["x"].tolist()
    duck = md.privatize(duckdb.from_df(table), "x", selection, row="id", key=key)
    assert duck.order("id").df()["x"].tolist() == want
    parts = md.privatize(dd.from_pandas(table, npartitions=3), "x", selection, row="id", key=key)
    assert parts.compute().sort_values("id")["x"].tolist() == want
    one, two = (md.estimate(made, selection, "x").values for made in (duck, parts))
    assert one == pytest.approx(two)
