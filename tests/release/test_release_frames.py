"""What is kept of a table, what is refused, what it then says."""

from __future__ import annotations

import datetime
import json
import warnings

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


def test_lazy_frames_give_the_same_reports_each_time(table):
    lazy = md.privatize(pl.from_pandas(table).lazy(), "x", FOUND)
    assert lazy.collect().equals(lazy.collect())
    other = md.privatize(pl.from_pandas(table).lazy(), "x", FOUND)
    assert not lazy.collect().equals(other.collect())


def test_a_part_of_a_lazy_frame_is_a_part_of_the_whole(table):
    """Filters and slices must not reach below the draws, or rows would get other words."""
    lazy = md.privatize(pl.from_pandas(table).lazy(), "x", FOUND)
    whole = lazy.collect()
    chosen = pl.col("id") % 7 == 3
    assert lazy.filter(chosen).collect().equals(whole.filter(chosen))
    assert lazy.filter(pl.col("x") == "b").collect().equals(whole.filter(pl.col("x") == "b"))
    assert lazy.slice(1234, 50).collect().equals(whole.slice(1234, 50))
    assert (
        lazy.sort("z", "id", descending=True)
        .tail(9)
        .collect()
        .equals(whole.sort("z", "id", descending=True).tail(9))
    )
    assert lazy.select("x").collect().equals(whole.select("x"))
    assert lazy.collect(engine="streaming").equals(whole)


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
    frame = pd.DataFrame({"x": [0, 1, 1, 0]})
    to_text = md.Mechanism([[0.5, 0.5], [0.25, 0.75]], outputs=["low", "high"])
    assert set(md.privatize(frame, "x", to_text)["x"]) <= {"low", "high"}
    assert md.privatize(pl.from_pandas(frame), "x", to_text)["x"].dtype == pl.String
    pairs = md.Mechanism([[0.5, 0.5], [0.25, 0.75]], outputs=[("a", 1), ("b", 2)])
    assert set(md.privatize(arrow(frame), "x", pairs)["x"].to_pylist()) <= {'["a", 1]', '["b", 2]'}
    assert set(md.privatize(frame, "x", pairs)["x"]) <= {("a", 1), ("b", 2)}
    big = md.Mechanism([[0.5, 0.5], [0.25, 0.75]], outputs=[0, 1000])
    small = pa.table({"x": pa.array([0, 1], pa.int8())})
    assert md.privatize(small, "x", big)["x"].type == pa.int64()


def test_labels_of_many_types():
    day = datetime.date(2024, 1, 1)
    for values in ([True, False], [day, day.replace(day=2)], [1.5, 2.5], ["x", None], ["x", 1]):
        mechanism = md.Mechanism([[0, 1], [1, 0]], values, values)
        frame = pd.DataFrame({"x": pd.Series([values[0], values[1], values[0]], dtype=object)})
        made = md.privatize(frame, "x", mechanism)["x"].tolist()
        assert made == [values[1], values[0], values[1]]


def test_a_bool_is_no_number():
    frame = pd.DataFrame({"x": [True, False]})
    refused(lambda: md.privatize(frame, "x", md.Mechanism(np.eye(2))), "type bool", error=DataError)


# Policies


HOLES = {"x": ["a", None, "zz", "b"], "who": [1, 1, 2, 3]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_policies_for_what_is_no_input(make):
    exact = md.Mechanism(np.eye(3), LABELS, LABELS)

    def column(**policy):
        made = md.privatize(make(HOLES), "x", exact, **policy)["x"]
        values = made.to_pylist() if hasattr(made, "to_pylist") else made.to_list()
        return [None if v is None or v != v else v for v in values]

    assert column(missing="keep", unseen="null") == ["a", None, None, "b"]
    assert column(missing="replace", unseen="null", replacement="c") == ["a", "c", None, "b"]
    assert column(missing="replace", unseen="replace", replacement="c") == ["a", "c", "c", "b"]
    refused(lambda: column(), "missing", "1 in the 4 rows read", error=DataError)
    found = refused(
        lambda: column(missing="keep"), "1 other value in 1 of the 4 rows read, first in row 3"
    )
    assert "zz" not in str(found)
    with md.show_values():
        refused(lambda: column(missing="keep"), "'zz'", error=DataError)
    refused(lambda: column(missing="drop"), "keep", error=UnknownNameError)
    refused(lambda: column(unseen="keep"), "replace", error=UnknownNameError)
    refused(lambda: column(missing="replace"), "stands in", error=InputError)
    refused(lambda: column(missing="replace", replacement="q"), "'q'", error=DataError)
    refused(lambda: column(replacement="a"), "'a' alone", error=InputError)


def test_rows_that_are_not_reported_do_not_shift_the_others():
    frame = pd.DataFrame({"x": ["a", "b", "c"] * 50})
    holed = frame.copy()
    holed.loc[::7, "x"] = None
    whole = md.privatize(frame, "x", FOUND, rng=1)["x"]
    part = md.privatize(holed, "x", FOUND, missing="keep", rng=1)["x"]
    kept = holed["x"].notna()
    assert part[kept].tolist() == whole[kept].tolist()
    assert part[~kept].isna().all()


def test_nan_is_missing():
    frame = pd.DataFrame({"x": [1.0, np.nan]})
    refused(lambda: md.privatize(frame, "x", NUMBERS), "missing", error=DataError)


def test_columns_may_have_any_name():
    """Names that a library reads as a pattern, or that the counting could have used itself; a zero
    byte, with which polars would end in a panic of Rust; an empty one.
    """
    names = ["^a.*$", "ab", "*", "rows", "rows_", "_mechdesign_rows", "number", "a.b", "a\0b", ""]
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
    data = {name: ["no"] * (i + 12) + ["yes"] * (20 - i) for i, name in enumerate(names)}
    for make in (pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table):
        for i, name in enumerate(names):
            found = md.estimate(make(data), flip, name)
            assert found["no"] == pytest.approx(
                md.estimate({"no": i + 12, "yes": 20 - i}, flip)["no"]
            )
            prior = md.Prior.from_data(make(data), columns=[name])
            assert prior == md.Prior.from_counts({"no": i + 12, "yes": 20 - i})
            same = md.privatize(pd.DataFrame({name: data[name]}), name, flip, rng=1)[name]
            made = md.privatize(make(data), name, flip, rng=1)
            made = made.collect() if hasattr(made, "collect") else made
            if not isinstance(made, pa.Table):
                made = pa.table({other: pa.array(made[other]) for other in names})
            assert made.column(name).to_pylist() == same.tolist()
            others = [other for other in names if other != name]
            assert all(made.column(other).to_pylist() == data[other] for other in others)


# Refusals


def test_bad_tables_are_named(table):
    exact = FOUND
    refused(lambda: md.privatize(table, "y", exact), "'y'", "id, x, z", error=UnknownNameError)
    refused(lambda: md.privatize(table, "id", exact), "type str", "type int", error=DataError)
    refused(lambda: md.privatize(table["x"], "x", exact), "Series", error=DataError)
    refused(lambda: md.privatize({"x": ["a"]}, "x", exact), "dict", error=DataError)
    refused(lambda: md.privatize(np.array(["a"]), "x", exact), "ndarray", error=DataError)
    refused(lambda: list(md.privatize(["a"], "x", exact)), "Arrow batches", error=DataError)
    twice = table.rename(columns={"z": "x"})
    refused(lambda: md.privatize(twice, "x", exact), "'x' more than once", error=DataError)
    lists = pd.DataFrame({"x": [["a"], ["b"]]})
    refused(lambda: md.privatize(lists, "x", exact), "one value per row", error=DataError)
    for make in (lambda f: f, pl.from_pandas, arrow):
        empty = make(table.iloc[:0])
        refused(lambda e=empty: md.privatize(e, "x", exact), "at least one row", error=DataError)
    lazy = pl.from_pandas(table).lazy()
    refused(lambda: md.privatize(lazy, "y", exact), "'y'", error=UnknownNameError)


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


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_several_rows_of_one_person_are_warned_of(make):
    rows = {"x": ["a", "b", "c", "a"], "who": [1, 1, 2, 1]}
    with pytest.warns(RepeatWarning, match=r"one person has 3 rows; 3 reports together: LDP\(6\)"):
        md.privatize(make(rows), "x", FOUND, person="who")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        md.privatize(make({"x": LABELS, "who": [1, 2, 3]}), "x", FOUND, person="who")
    refused(
        lambda: md.privatize(make(rows), "x", FOUND, person="whom"),
        "'whom'",
        error=UnknownNameError,
    )


def test_a_value_like_a_label_is_not_told_together_with_its_row():
    """Which label a value is like and which row has it would tell the secret of that row."""
    found = md.design(md.Prior([0.5, 0.5], ["yes", "no"]), md.utility.Hamming(), md.LDP(1))
    with pytest.raises(DataError) as caught:
        md.privatize(pd.DataFrame({"x": ["no", "no", "YES"]}), "x", found)
    assert "one differs from 'yes' by letter case" in str(caught.value)
    assert "row 3" not in str(caught.value)
    with pytest.raises(DataError, match="first in row 3"):
        md.privatize(pd.DataFrame({"x": ["no", "no", "perhaps"]}), "x", found)
