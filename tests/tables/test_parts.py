"""Columns part by part: results in order, and the codes and reports of a column read as one."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from checks import for_each, pairwise_cases

import mechdesign as md
from mechdesign.errors import DataError
from mechdesign.release.codes import ABSENT, Policy
from mechdesign.release.codings import Binned, Names
from mechdesign.release.receipts import receipts_of
from mechdesign.tables import parts as parts_module
from mechdesign.tables.parts import ROWS, parts_of, side_by_side

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

LABELS = ["b", "a", "c"]


# Order, ends and errors


def test_parts_are_all_rows_once():
    for rows in (0, 1, 9, 10, 11, 30):
        found = [i for part in parts_of(rows, 10) for i in range(rows)[part]]
        assert found == list(range(rows))


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_results_come_in_the_order_of_the_parts(workers, monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr(parts_module, "processors", lambda: 1)

    def work(part):
        # The first is held up until another has been made, where there is another thread.
        if part == 0 and workers == 3:
            assert gate.wait(60)
        elif part == 1:
            gate.set()
        return part * part

    assert list(side_by_side(work, range(50), workers)) == [i * i for i in range(50)]
    here = threading.current_thread()
    assert list(side_by_side(lambda _: threading.current_thread(), [0], workers)) == [here]


def test_few_are_made_ahead_and_none_after_an_error_or_the_last_that_is_taken():
    met = []

    def work(part):
        met.append(part)
        if part == 5:
            raise KeyError(part)

    with pytest.raises(KeyError):
        list(side_by_side(work, range(1000), 2))
    assert len(met) < 20
    met.clear()
    taken = side_by_side(met.append, range(1000), 2)
    next(taken)
    taken.close()
    assert len(met) < 20


# Codes


@pytest.fixture
def short_parts(monkeypatch):
    """Parts of seven rows, so that a short column has many."""
    monkeypatch.setattr("mechdesign.release.codings.ROWS", 7)


def encoded(encoder, column, first=0):
    return encoder.codes(lambda _: column, first)


VALUES = {
    "inputs": ["a", "b", "c", "b"] * 30,
    "nulls": ["a", None, "c", "b"] * 30,
    "one null, late": ["a", "b"] * 60 + [None],
    "unseen": ["a", "b", "z", "c"] * 30,
    "unseen, late": ["a", "b"] * 60 + ["z"],
    "both": ["a", "z", None, "y"] * 30,
    "none at all": [],
}
KINDS = {
    "text": lambda values: pa.array(values, pa.string()),
    "large": lambda values: pa.array(values, pa.large_string()),
    "view": lambda values: pa.array(values, pa.string_view()),
    "dictionary": lambda values: pa.array(values, pa.string()).dictionary_encode(),
    "narrow": lambda values: pa.array(values, pa.dictionary(pa.uint8(), pa.string())),
    "dictionary with what no row has": lambda values: pa.array(
        ["nobody", *values], pa.string()
    ).dictionary_encode()[1:],
    "slice": lambda values: pa.array(["q", *values, "q"], pa.string())[1:-1],
    "chunks": lambda values: pa.chunked_array(
        [pa.array(values[start : start + 13], pa.string()) for start in range(0, len(values), 13)],
        pa.string(),
    ),
    "chunks of dictionaries": lambda values: pa.chunked_array(
        [
            pa.array(values[start : start + 13], pa.string()).dictionary_encode()
            for start in range(0, len(values), 13)
        ],
        pa.dictionary(pa.int32(), pa.string()),
    ),
}
POLICIES = {
    "error": Policy(),
    "keep": Policy(missing="keep"),
    "null": Policy(unseen="null"),
    "keep and null": Policy(missing="keep", unseen="null"),
    "replace": Policy(missing="replace", unseen="replace", replacement="c"),
}


def naive(values, policy):
    """Codes by the policy value by value, or the kind of value that is refused."""
    found = []
    for value in values:
        if value in LABELS:
            found.append(LABELS.index(value))
            continue
        chosen = policy.missing if value is None else policy.unseen
        if chosen == "error":
            return "missing" if value is None or None in values else "other"
        found.append(LABELS.index("c") if chosen == "replace" else ABSENT)
    return found


@pytest.mark.usefixtures("short_parts")
@for_each("kind, values, policy", pairwise_cases(KINDS, VALUES, POLICIES))
def test_codes_of_parts_are_those_of_each_value(kind, values, policy):
    column, policy = KINDS[kind](VALUES[values]), POLICIES[policy]
    encoder = Names(["x"], LABELS, policy)
    expected = naive(VALUES[values], policy)
    if isinstance(expected, list):
        assert encoded(encoder, column).tolist() == expected
        return
    with pytest.raises(DataError) as problem:
        encoded(encoder, column, 1000)
    # All rows are told of, those of other parts too, as where the column is read as one.
    with pytest.raises(DataError) as whole:
        encoded(Names(["x"], LABELS, policy), column.to_pylist(), 1000)
    assert str(problem.value) == str(whole.value)


@pytest.mark.usefixtures("short_parts")
def test_missing_values_are_an_input_where_one_is_null():
    encoder = Names(["x"], ["a", None, "b"], Policy())
    for kind in KINDS.values():
        assert encoded(encoder, kind(["b", None, "a"] * 20)).tolist() == [2, 1, 0] * 20


@pytest.mark.usefixtures("short_parts")
def test_cells_of_text_files_match_by_their_text():
    encoder = Names(["x"], [1, "2.0", "a"], Policy(), texts=True)
    column = pa.array(["1", "1.0", " a ", "2.0", "a", "1"] * 10)
    assert encoded(encoder, column).tolist() == [0, 0, 2, 1, 2, 0] * 10
    # In a data frame text is no number.
    with pytest.raises(DataError):
        encoded(Names(["x"], [1, "a"], Policy()), pa.array(["1", "a"] * 10))


@pytest.mark.usefixtures("short_parts")
def test_a_number_is_never_the_label_of_a_bin():
    """Text that is equal to a label lies in the bin that its number says."""
    bins = md.bins(edges=[0, 1, 2, 10], labels=["5", "x", "y"])
    encoder = Binned("n", ("5", "x", "y"), Policy(), bins, texts=True)
    column = pa.array(["5", "0.5", "1.5", "x"] * 10)
    assert encoded(encoder, column).tolist() == [2, 0, 1, 1] * 10


# Reports


@for_each("rows", [1, ROWS + 1, (1 << 20) + 5])
def test_reports_and_receipts_do_not_depend_on_the_size_of_parts(rows, monkeypatch):
    found = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1.5))
    codes = np.random.default_rng(rows).integers(0, 3, rows)
    table = pa.record_batch({"x": pa.array(LABELS).take(pa.array(codes))})
    whole = md.privatize(table, "x", found, rng=5)
    monkeypatch.setattr(parts_of, "__defaults__", (rows + 1,))
    monkeypatch.setattr("mechdesign.release.codings.ROWS", rows + 1)
    again = md.privatize(table, "x", found, rng=5)
    assert type(whole) is type(table)
    assert whole.equals(again)
    assert receipts_of(whole)["x"] == receipts_of(again)["x"]
    assert whole.schema.field("x").type == pa.string()
    whole.validate(full=True)


@pytest.mark.slow
def test_more_outputs_than_two_bytes_number():
    size = 70_000
    weights = np.ones((2, size), dtype=np.int64)
    weights[[0, 1], [-1, 0]] += (1 << 53) - size
    kernel = md.Mechanism.from_weights(weights, 53, ["a", "b"], [f"v{i}" for i in range(size)])
    for rng in (None, 1):
        table = pa.table({"x": ["a", None, "b"] * 100})
        made = md.privatize(table, "x", kernel, missing="keep", rng=rng)
        assert made["x"].to_pylist() == [f"v{size - 1}", None, "v0"] * 100
