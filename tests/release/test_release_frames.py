"""What is kept of a table, what is refused, what it then says."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
from checks import for_each, refused
from libraries import arrow

import mechdesign as md
from mechdesign.errors import DataError, InputError, RepeatWarning, UnknownNameError
from mechdesign.release.receipts import (
    kernel_fingerprint,
    public_fingerprint,
    receipts_from_text,
    receipts_of,
    schema_receipts,
)
from mechdesign.release.words import SeededWords
from mechdesign.tables.reading import read_columns

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.Hamming(), md.LDP(2))
ROWS = 20_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"id": np.arange(ROWS), "x": rng.choice(LABELS, ROWS), "z": 1.5},
        index=np.arange(ROWS)[::-1] * 2,
    )


def test_reports_are_those_of_the_sampler_and_most_rows_keep_their_value(table):
    made = md.privatize(table, "x", FOUND, rng=5)["x"]
    assert made.tolist() == md.Sampler(FOUND, SeededWords(5, "x")).draw(table["x"].tolist())
    fresh = md.privatize(table, "x", FOUND)["x"]
    kept = np.diagonal(FOUND.mechanism.kernel).mean()
    assert (fresh == table["x"]).mean() == pytest.approx(kept, abs=0.05)


def test_a_part_of_a_lazy_frame_is_a_part_of_the_whole(table):
    """Filters and slices must not reach below the draws, or rows would get other words."""
    lazy = md.privatize(pl.from_pandas(table).lazy(), "x", FOUND)
    whole, chosen = lazy.collect(), pl.col("id") % 7 == 3
    assert lazy.collect(engine="streaming").equals(whole)
    assert not md.privatize(pl.from_pandas(table).lazy(), "x", FOUND).collect().equals(whole)
    for part in (
        lambda f: f.filter(chosen),
        lambda f: f.filter(pl.col("x") == "b"),
        lambda f: f.slice(1234, 50),
        lambda f: f.sort("z", "id", descending=True).tail(9),
        lambda f: f.select("x"),
    ):
        assert part(lazy).collect().equals(part(whole))


def test_everything_else_is_as_it_was(table):
    made = md.privatize(table, "x", FOUND, rng=1)
    assert list(made.columns) == ["id", "x", "z"]
    pd.testing.assert_index_equal(made.index, table.index)
    pd.testing.assert_frame_equal(made[["id", "z"]], table[["id", "z"]])
    assert "mechdesign" not in table.attrs
    assert (table["x"] != made["x"]).any()
    frame = pl.from_pandas(table)
    drawn = md.privatize(frame, "x", FOUND, rng=1)
    assert drawn.schema == frame.schema
    assert drawn.drop("x").equals(frame.drop("x"))
    record = arrow(table)
    kept = md.privatize(record, "x", FOUND, rng=1)
    assert kept.schema.remove_metadata() == record.schema.remove_metadata()
    assert kept.drop(["x"]).equals(record.drop(["x"]))


NUMBERS = md.design(md.Prior([0.5, 0.3, 0.2], [1, 2, 3]), md.utility.Hamming(), md.LDP(2))


@for_each(
    "dtype", ["int8", "uint16", "int64", "float32", "float64", "Int32", "int16[pyarrow]", "object"]
)
def test_number_types_are_kept(dtype):
    frame = pd.DataFrame({"x": pd.Series([1, 2, 3, 1, 2, 3], dtype=dtype)})
    made = md.privatize(frame, "x", NUMBERS, rng=1)
    assert made["x"].dtype == frame["x"].dtype
    assert set(made["x"]) <= {1, 2, 3}
    if dtype == "object":
        return
    polars = pl.from_pandas(frame)
    assert md.privatize(polars, "x", NUMBERS, rng=1).schema == polars.schema


def test_categories_become_those_of_the_outputs():
    frame = pd.DataFrame(
        {"x": pd.Categorical(["a", "b"], categories=["c", "b", "a"], ordered=True)}
    )
    coarse = FOUND.mechanism.merge(lambda y: "rest" if y in "ab" else y)
    made = md.privatize(frame, "x", coarse, rng=1)["x"]
    assert list(made.cat.categories) == ["rest", "c"]
    assert not made.cat.ordered
    same = md.privatize(frame, "x", FOUND, rng=1)["x"]
    assert list(same.cat.categories) == ["c", "b", "a"]
    assert same.cat.ordered


def test_outputs_of_other_types_take_a_type_of_their_own():
    frame, rows = pd.DataFrame({"x": [0, 1, 1, 0]}), [[0.5, 0.5], [0.25, 0.75]]
    to_text = md.Mechanism(rows, outputs=["low", "high"])
    assert set(md.privatize(frame, "x", to_text)["x"]) <= {"low", "high"}
    assert md.privatize(pl.from_pandas(frame), "x", to_text)["x"].dtype == pl.String
    pairs = md.Mechanism(rows, outputs=[("a", 1), ("b", 2)])
    assert set(md.privatize(arrow(frame), "x", pairs)["x"].to_pylist()) <= {'["a", 1]', '["b", 2]'}
    assert set(md.privatize(frame, "x", pairs)["x"]) <= {("a", 1), ("b", 2)}
    small = pa.table({"x": pa.array([0, 1], pa.int8())})
    big = md.privatize(small, "x", md.Mechanism(rows, outputs=[0, 1000]))
    assert big["x"].type == pa.int64()


def test_labels_of_several_types_stay_as_they_are():
    for values in (["x", None], ["x", 1], [datetime.date(2024, 1, 1), "x"]):
        mechanism = md.Mechanism([[0, 1], [1, 0]], values, values)
        frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        assert md.privatize(frame, "x", mechanism)["x"].tolist() == values[::-1]


# Policies


HOLES = {"x": ["a", None, "zz", "b"], "who": [1, 1, 2, 3]}


@for_each("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_policies_for_what_is_no_input(make):
    exact = md.Mechanism(np.eye(3), LABELS, LABELS)

    def column(**policy):
        made = md.privatize(make(HOLES), "x", exact, **policy)["x"]
        values = made.to_pylist() if hasattr(made, "to_pylist") else made.to_list()
        return [None if v is None or v != v else v for v in values]

    assert column(missing="keep", unseen="null") == ["a", None, None, "b"]
    assert column(missing="replace", unseen="null", replacement="c") == ["a", "c", None, "b"]
    assert column(missing="replace", unseen="replace", replacement="c") == ["a", "c", "c", "b"]
    said = "1 other value in 1 of the 4 rows read, first in row 3"
    assert "zz" not in str(refused(lambda: column(missing="keep"), said))
    with md.show_values():
        refused(lambda: column(missing="keep"), "'zz'", error=DataError)
    for policy, said, error in (
        ({}, "1 in the 4 rows read", DataError),
        ({"missing": "drop"}, "keep", UnknownNameError),
        ({"unseen": "keep"}, "replace", UnknownNameError),
        ({"missing": "replace"}, "stands in", InputError),
        ({"missing": "replace", "replacement": "q"}, "'q'", DataError),
        ({"replacement": "a"}, "'a' alone", InputError),
    ):
        refused(lambda policy=policy: column(**policy), said, error=error)
    # Rows that are not reported do not shift the others.
    whole, holed = (make({"x": [value, "b", "c"] * 50}) for value in ("a", None))
    drawn = [
        [*read_columns(md.privatize(t, "x", FOUND, missing="keep", rng=1), ["x"])[0]]
        for t in (whole, holed)
    ]
    assert drawn[1] == [None if i % 3 == 0 else x for i, x in enumerate(drawn[0])]


def test_columns_may_have_any_name():
    """Names that a library reads as a pattern; a zero byte, with which polars would end in a panic
    of Rust; an empty one.
    """
    names = ["^a.*$", "ab", "*", "rows", "a.b", "a\0b", ""]
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    data = {name: ["no"] * (i + 12) + ["yes"] * (20 - i) for i, name in enumerate(names)}
    for make in (pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table):
        for i, name in enumerate(names):
            counts = {"no": i + 12, "yes": 20 - i}
            found = md.estimate(make(data), flip, name)
            assert found["no"] == pytest.approx(md.estimate(counts, flip)["no"])
            prior = md.Prior.from_data(make(data), columns=[name])
            assert prior == md.Prior.from_counts(counts)
            same = md.privatize(pd.DataFrame({name: data[name]}), name, flip, rng=1)[name]
            made = read_columns(md.privatize(make(data), name, flip, rng=1), names)
            expected = {**data, name: same.tolist()}
            assert dict(zip(names, made, strict=True)) == expected


# Refusals


def test_bad_tables_are_named(table):
    twice = table.rename(columns={"z": "x"})
    for given, column, said, error in (
        (table, "y", ("'y'", "id, x, z"), UnknownNameError),
        (pl.from_pandas(table).lazy(), "y", ("'y'",), UnknownNameError),
        (table, "id", ("type str", "type int"), DataError),
        (pd.DataFrame({"x": [True, False]}), "x", ("type bool",), DataError),
        (table["x"], "x", ("Series",), DataError),
        ({"x": ["a"]}, "x", ("dict",), DataError),
        (np.array(["a"]), "x", ("ndarray",), DataError),
        (["a"], "x", ("Arrow batches",), DataError),
        (twice, "x", ("'x' more than once",), DataError),
        (pd.DataFrame({"x": [["a"], ["b"]]}), "x", ("one value per row",), DataError),
        *(
            (make(table.iloc[:0]), "x", ("at least one row",), DataError)
            for make in (lambda f: f, pl.from_pandas, arrow)
        ),
    ):
        call = lambda t=given, c=column: list(md.privatize(t, c, FOUND))  # noqa: E731
        refused(call, *said, error=error)
    refused(
        lambda: md.privatize(pd.DataFrame({"x": [True]}), "x", NUMBERS), "bool", error=DataError
    )


# Receipts


def test_tables_name_the_mechanism_that_made_them(table):
    for make in (lambda f: f, arrow):
        receipt = receipts_of(md.privatize(make(table), "x", FOUND))["x"]
        assert receipt.kernel == kernel_fingerprint(FOUND.mechanism)
        assert receipt.design == public_fingerprint(FOUND.mechanism, FOUND.notions)
        assert receipt.notions == ("LDP(2)",)
        assert receipt.for_production
        assert receipt.rows == ROWS
    reader = md.privatize(arrow(table).to_reader(), "x", FOUND, rng=1)
    receipt = schema_receipts(reader.schema)["x"]
    assert not receipt.for_production
    assert "not for production" in receipt.source


def test_two_columns_keep_both_receipts():
    frame = pd.DataFrame({"x": LABELS, "y": LABELS})
    both = md.privatize(md.privatize(frame, "x", FOUND), "y", FOUND.mechanism)
    found = receipts_of(both)
    assert set(found) == {"x", "y"}
    assert found["y"].design is None
    record = md.privatize(md.privatize(arrow(frame), "x", FOUND), "y", FOUND)
    assert set(receipts_of(record)) == {"x", "y"}


def test_reports_are_not_privatised_again(table):
    for make in (lambda f: f, arrow):
        made = md.privatize(make(table), "x", FOUND)
        refused(lambda m=made: md.privatize(m, "x", FOUND), "reports", error=DataError)


def test_receipts_of_another_schema_are_refused():
    receipt = receipts_of(md.privatize(pd.DataFrame({"x": LABELS}), "x", FOUND))["x"].to_json()
    refused(
        lambda: receipts_from_text(json.dumps({"x": {**receipt, "schema": 99}})),
        "version 1",
        "99",
        error=DataError,
    )
    for text in ("{", "[]", '{"x": 1}', '{"x": {"schema": 1}}'):
        refused(lambda t=text: receipts_from_text(t), "mechdesign", error=DataError)


def test_fingerprints_tell_kernels_apart():
    mechanism = FOUND.mechanism
    wider = md.Mechanism.from_weights(
        mechanism.weights.astype(object) * 4,
        mechanism.bits + 2,
        mechanism.inputs,
        mechanism.outputs,
    )
    assert kernel_fingerprint(wider) == kernel_fingerprint(mechanism)
    weights = mechanism.weights.copy()
    weights[0, :2] += [1, -1]
    others = [
        md.Mechanism.from_weights(weights, mechanism.bits, mechanism.inputs, mechanism.outputs),
        md.Mechanism.from_weights(mechanism.weights, mechanism.bits, list("xyz")),
    ]
    for other in others:
        assert kernel_fingerprint(other) != kernel_fingerprint(mechanism)


# Persons


@for_each("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_several_rows_of_one_person_are_warned_of(make):
    rows = {"x": ["a", "b", "c", "a"], "who": [1, 1, 2, 1]}
    with pytest.warns(RepeatWarning, match=r"one person has 3 rows; 3 reports together: LDP\(6\)"):
        md.privatize(make(rows), "x", FOUND, person="who")
    md.privatize(make({"x": LABELS, "who": [1, 2, 3]}), "x", FOUND, person="who")
    other = lambda: md.privatize(make(rows), "x", FOUND, person="whom")  # noqa: E731
    refused(other, "'whom'", error=UnknownNameError)


def test_a_value_like_a_label_is_not_told_together_with_its_row():
    """Which label a value is like and which row has it would tell the secret of that row."""
    found = md.design(md.Prior([0.5, 0.5], ["yes", "no"]), md.utility.Hamming(), md.LDP(1))
    with pytest.raises(DataError) as caught:
        md.privatize(pd.DataFrame({"x": ["no", "no", "YES"]}), "x", found)
    assert "one differs from 'yes' by letter case" in str(caught.value)
    assert "row 3" not in str(caught.value)
    with pytest.raises(DataError, match="first in row 3"):
        md.privatize(pd.DataFrame({"x": ["no", "no", "perhaps"]}), "x", found)
