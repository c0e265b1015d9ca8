"""Counts of labels, and matrices, of columns of any library and of text files."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import checks
import numpy as np
import pytest
from checks import for_each

from mechdesign import Prior
from mechdesign.errors import DataError, UnknownNameError, ZeroMassWarning
from mechdesign.tables.counting import count_labels
from mechdesign.tables.matrices import read_matrix

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

VALUES = ["b", "a", "b", "c", "b"]
COUNTS = {"a": 1, "b": 3, "c": 1}
COLUMNS = {
    "pandas": pd.Series,
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "polars": pl.Series,
    "pyarrow table column": lambda v: pa.table({"x": v})["x"],
    "pyarrow array": pa.array,
    "list": list,
    "generator": lambda v: (x for x in v),
}
CATEGORIES = ["c", "z", "b", "a"]
CATEGORICAL = {
    "pandas": lambda v: pd.Series(v, dtype=pd.CategoricalDtype(CATEGORIES)),
    "polars": lambda v: pl.Series(v, dtype=pl.Enum(CATEGORIES)),
    "pyarrow": lambda v: pa.DictionaryArray.from_arrays(
        [None if x is None else CATEGORIES.index(x) for x in v], CATEGORIES
    ),
}
refused = partial(checks.refused, error=DataError)


@pytest.fixture
def write(tmp_path):
    def put(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return put


# Columns of data frames


@for_each("kind", COLUMNS)
def test_columns_of_every_library_are_counted_alike(kind):
    counts = count_labels(COLUMNS[kind](VALUES))
    assert list(counts.items()) == list(COUNTS.items())
    assert {type(label) for label in counts} == {str}
    assert Prior.from_data(COLUMNS[kind](VALUES)).mass(1) == Fraction(3, 5)
    values = [None, *VALUES, None]
    found = refused(
        lambda: Prior.from_data(COLUMNS[kind](values)),
        "2 of 7 rows without a value",
        "fill them in, or make them a symbol like any other with missing='category'",
        "--missing drop",
    )
    assert found.subject == "column"
    assert count_labels(COLUMNS[kind](values), missing="drop") == COUNTS


@for_each("kind", CATEGORICAL)
def test_an_empty_category_stays_in_order_and_is_named(kind):
    with pytest.warns(ZeroMassWarning, match=r"1 of 4 symbols have zero mass \('z'\)"):
        prior = Prior.from_data(CATEGORICAL[kind](VALUES))
    assert prior.labels == ("c", "z", "b", "a")
    column = CATEGORICAL[kind]([*VALUES, None])
    refused(lambda: count_labels(column), "1 of 6")
    assert count_labels(column, missing="drop") == {"c": 1, "z": 0, "b": 3, "a": 1}
    pl.Series(["zebra"], dtype=pl.Categorical)
    assert Prior.from_data(pl.Series(["b", "a"], dtype=pl.Categorical)).has_full_support


@for_each(
    "column",
    [
        [1.0, math.nan],
        np.array([1.0, np.nan]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(pd.to_datetime(["2020-01-01", None])),
        pl.Series([1.0, math.nan]),
    ],
)
def test_every_kind_of_blank_is_missing(column):
    refused(lambda: count_labels(column), "1 of 2")
    assert len(count_labels(column, missing="drop")) == 1
    refused(lambda: count_labels(column[1:], missing="drop"), "none in 1 row")
    refused(lambda: count_labels(column, missing="dorp"), "drop, error", error=UnknownNameError)


def test_mixed_types_are_sorted_by_type():
    counts = count_labels(["b", 1, "a", 2, 1])
    assert [*map(str, counts)] == ["1", "2", "a", "b"]


@for_each(
    ("column", "words"),
    [
        ([], ["at least one value", "0 rows"]),
        ([[1], [2]], ["column", "not hashable, such as lists"]),
        ("abc", ["str", "select one column"]),
        (None, ["NoneType"]),
        (np.eye(2), ["ndarray"]),
        (pd.DataFrame({"x": [1, 2, 2]}), ["select one column"]),
        (pa.table({"x": [1, 2, 2]}), ["Table", "select one column"]),
        ({"a": 3, "b": 1}, ["column"]),
    ],
)
def test_what_is_no_column_is_refused(column, words):
    refused(lambda: Prior.from_data(column), *words)


# Text files


def test_lines_for_groups_have_exact_weights(write):
    path = write("vote,people\nyes,0.1\nno,2\nyes,1/3\n")
    assert count_labels(path, ["vote"], weights="people") == {
        "no": 2,
        "yes": Fraction(1, 10) + Fraction(1, 3),
    }
    path = write("vote,people\nyes,3\nno,0\n")
    with pytest.warns(ZeroMassWarning, match="'no'"):
        assert Prior.from_csv(path, "vote", weights="people").labels == ("no", "yes")
    refused(lambda: count_labels(path, ["vote"], weights="m"), "'m'", error=UnknownNameError)
    assert Prior.from_csv("titanic", "class").mass(3) == Fraction(885, 2201)
    for count in ("", "x", "-1", "nan", "inf", "1/0"):
        path = write(f"x,n\na,1\nb,{count}\n")
        said = ["'n' of table.csv", "count in every row, got "]
        refused(lambda path=path: count_labels(path, ["x"], weights="n"), *said)


@for_each(
    ("text", "counts"),
    [
        ("x\n2\n10\n2\n", {2: 2, 10: 1}),
        ("x\n2\n0.5\n", {0.5: 1, 2.0: 1}),
        ("x\n007\n7\n", {"007": 1, "7": 1}),
        ('x,y\n"a, b",1\n a ,2\na,3\n', {"a": 2, "a, b": 1}),
        ("\ufeffx\nß\n", {"ß": 1}),
        (f"x\n{'1' * 5000}\n2\n", {"1" * 5000: 1, "2": 1}),
    ],
)
def test_number_labels_quotes_spaces_and_marks(write, text, counts):
    assert list(count_labels(write(text), ["x"]).items()) == list(counts.items())


@for_each("blank", ["", "  ", "NA", "n/a", "NaN", "null", "None"])
def test_missing_cells_are_counted_and_refused_or_dropped(write, blank):
    path = write(f"x,y\na,1\n{blank},2\n{blank},3\nb,4\n")
    found = refused(lambda: Prior.from_csv(path, "x"), "2 of 4 rows without a value")
    assert found.subject == "column 'x' of table.csv"
    # A diagnosis of "none" is an answer to whoever wrote the file.
    said = "(2 of them spelled NA, N/A, NaN, null or none)"
    assert (said in str(found)) == bool(blank.strip())
    assert count_labels(path, ["x"], missing="drop") == {"a": 1, "b": 1}
    refused(lambda: count_labels(write(f"x,y\n{blank},1\n"), ["x"], missing="drop"), "none in 1")


def test_files_that_cannot_be_read(write, tmp_path):
    asked = refused(lambda: count_labels("titanic", ["Class"]), "age", error=UnknownNameError)
    assert asked.remedy == "did you mean 'class'?"
    refused(lambda: count_labels(tmp_path / "no.csv", ["x"]), "existing file", "no.csv")
    refused(lambda: count_labels("titanik", ["x"]), "shipped table", "titanik")
    refused(lambda: count_labels(write("{}", "d.json"), ["x"]), "name the table", "saved design")
    refused(lambda: count_labels("a" * 300, ["x"]), "readable file")
    refused(lambda: count_labels(write("x,y\n"), ["x"]), "at least one row")
    refused(lambda: read_matrix(write(b"x,a\n\xff,1\n")), "UTF-8")
    for path in (None, 3, "a\0b"):
        refused(lambda path=path: Prior.from_csv(path, "x"))


# Matrices


def test_matrix_with_labels(write):
    matrix, rows, columns = read_matrix(write("u,lo,hi\na,1,0.25\n\nb,-2e3,0\n"))
    assert matrix.tolist() == [[1.0, 0.25], [-2000.0, 0.0]]
    assert (rows, columns) == (["a", "b"], ["lo", "hi"])
    _, rows, columns = read_matrix(write("u,0,1\n0,1,2\n1.5,1,2\n"))
    assert (rows, columns) == ([0.0, 1.5], [0, 1])


@for_each(
    ("text", "words"),
    [
        ("u,a,b\n", ["1 line"]),
        ("u\na\n", ["label first"]),
        ("u,a,b\nx,1\n", ["3 cells in every row", "got 2, in line 2"]),
        ("u,a,b\nx,1,2\ny,1,two\n", ["numbers in line 3", "other text in cell 3"]),
        ("u,a,b\nx,1,\n", ["numbers in line 2", "other text in cell 3"]),
        ("u;a;b\nx;1;0\ny;0;0,25\n", ["numbers in line 3", "decimal comma in cell 3", "0.5"]),
        ("u,a,b\nx,1/0,1\n", ["numbers in line 2", "a fraction over zero in cell 2"]),
    ],
)
def test_bad_matrices_name_line_and_cell(write, text, words):
    refused(lambda: read_matrix(write(text)), *words)


# Groups of rows


def test_counts_in_groups_are_those_of_a_cross_table(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"s": rng.integers(0, 3, 80), "x": rng.choice(list("abc"), 80)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = pd.crosstab(frame["s"], frame["x"]).to_dict("index")
    for source in (frame, tmp_path / "t.csv"):
        assert count_labels(source, ["x"], by="s") == expected
    found = count_labels("titanic", ["class"], by="age")
    assert found["child"]["crew"] == 0
    total = {x: found["child"][x] + found["adult"][x] for x in found["child"]}
    assert list(total.items()) == list(count_labels("titanic", ["class"]).items())


def test_rows_without_a_group_are_refused_and_without_a_value_by_the_policy(write):
    path = write("s,x\nf,a\n,b\nm,b\n")
    refused(lambda: count_labels(path, ["x"], by="s"), "'s' of table.csv: expected a group", "1 of")
    table = {"x": ["a", None, "b"], "s": ["f", "f", "m"]}
    assert count_labels(table, ["x"], by="s", missing="drop") == {
        "f": {"a": 1, "b": 0},
        "m": {"a": 0, "b": 1},
    }
    table["s"] = ["f", "m"]
    refused(lambda: count_labels(table, ["x"], by="s"), "as many values in each, got 3 and 2")
    refused(lambda: count_labels(path, ["x"], by="z"), error=UnknownNameError)
