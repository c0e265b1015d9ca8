"""Counts of labels, and matrices, of columns of any library and of text files."""

from __future__ import annotations

import io
import math
from fractions import Fraction
from functools import partial

import checks
import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st

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
    "pandas": lambda v: pd.Series(v),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "pandas frame column": lambda v: pd.DataFrame({"x": v, "y": 1})["x"],
    "polars": lambda v: pl.Series("x", v),
    "polars frame column": lambda v: pl.DataFrame({"x": v})["x"],
    "pyarrow table column": lambda v: pa.table({"x": v})["x"],
    "pyarrow array": lambda v: pa.array(v),
    "list": list,
    "tuple": tuple,
    "generator": lambda v: (x for x in v),
}
CATEGORIES = ["c", "z", "b", "a"]
EMPTY_CATEGORY = {
    "pandas": lambda v: pd.Series(v, dtype=pd.CategoricalDtype(CATEGORIES)),
    "polars": lambda v: pl.Series(v, dtype=pl.Enum(CATEGORIES)),
    "pyarrow": lambda v: pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(
                [None if x is None else CATEGORIES.index(x) for x in v], CATEGORIES
            )
        ]
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
    assert counts == COUNTS
    assert list(counts) == ["a", "b", "c"]
    assert {type(label) for label in counts} == {str}
    prior = Prior.from_data(COLUMNS[kind](VALUES))
    assert prior == Prior.from_counts(COUNTS)
    assert prior.mass(1) == Fraction(3, 5)


@pytest.mark.parametrize("kind", EMPTY_CATEGORY)
def test_an_empty_category_stays_in_order_and_is_named(kind):
    with pytest.warns(ZeroMassWarning, match=r"1 of 4 symbols have zero mass \('z'\)"):
        prior = Prior.from_data(EMPTY_CATEGORY[kind](VALUES))
    assert prior.labels == ("c", "z", "b", "a")
    assert [prior.mass(i) for i in range(4)] == [Fraction(1, 5), 0, Fraction(3, 5), Fraction(1, 5)]


def test_categories_of_another_column_do_not_leak_in():
    pl.Series(["zebra"], dtype=pl.Categorical)
    assert Prior.from_data(pl.Series(["b", "a"], dtype=pl.Categorical)).has_full_support


@for_each("kind", COLUMNS)
def test_missing_values_are_counted_and_refused_or_dropped(kind):
    if kind == "pandas frame column":
        values = [*VALUES, None, None]
    else:
        values = [None, *VALUES, None]
    found = refused(
        lambda: Prior.from_data(COLUMNS[kind](values)),
        "no missing values",
        "2 of 7 rows without a value",
        "fill them in, or make them a symbol like any other with missing='category'",
        "missing='drop'",
        "--missing drop",
    )
    assert found.subject == "column"
    assert count_labels(COLUMNS[kind](values), missing="drop") == COUNTS


@pytest.mark.parametrize("kind", EMPTY_CATEGORY)
def test_missing_categories_are_counted_too(kind):
    column = EMPTY_CATEGORY[kind]([*VALUES, None])
    refused(lambda: count_labels(column), "1 of 6")
    assert count_labels(column, missing="drop") == {"c": 1, "z": 0, "b": 3, "a": 1}


@for_each(
    "column",
    [
        [1.0, math.nan],
        np.array([1.0, np.nan]),
        pd.Series([1.0, np.nan]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(pd.to_datetime(["2020-01-01", None])),
        pl.Series([1.0, math.nan]),
        pl.Series([1, None]),
        pa.chunked_array([[1, None]]),
    ],
)
def test_every_kind_of_blank_is_missing(column):
    refused(lambda: count_labels(column), "1 of 2")
    assert len(count_labels(column, missing="drop")) == 1


@for_each(
    "column",
    [
        np.array([2, 1, 2]),
        pd.Series([2, 1, 2]),
        pl.Series([2, 1, 2]),
        pa.chunked_array([[2, 1, 2]]),
    ],
)
def test_numbers_become_plain_sorted_labels(column):
    counts = count_labels(column)
    assert list(counts.items()) == [(1, 1), (2, 2)]
    assert {type(label) for label in counts} == {int}


def test_booleans_and_mixed_types():
    assert count_labels(pd.Series([True, False, True])) == {False: 1, True: 2}
    assert count_labels(["b", 1, "a", 2, 1]) == {1: 2, 2: 1, "a": 1, "b": 1}
    assert list(count_labels(["b", 1, "a", 2, 1])) == [1, 2, "a", "b"]


@for_each(
    ("column", "words"),
    [
        ([], ["at least one value", "0 rows"]),
        ([[1], [2]], ["column", "not hashable, such as lists"]),
        ("abc", ["str", "select one column"]),
        (5, ["int"]),
        (None, ["NoneType"]),
        (np.eye(2), ["ndarray"]),
        (np.array(3), ["column"]),
        (pd.DataFrame({"x": [1, 2, 2], "y": [1, 1, 1]}), ["select one column"]),
        (pl.DataFrame({"x": [1, 2, 2]}), ["select"]),
        (pa.table({"x": [1, 2, 2]}), ["Table", "select one column"]),
        ({"a": 3, "b": 1}, ["column"]),
    ],
)
def test_what_is_no_column_is_refused(column, words):
    refused(lambda: Prior.from_data(column), *words)


def test_nothing_but_missing_values_is_refused_even_when_dropped():
    refused(lambda: count_labels([None, math.nan], missing="drop"), "none in 2 rows")


@pytest.mark.parametrize("policy", ["dorp", "", None, "Error"])
def test_unknown_policy_for_missing_values(policy, write):
    path = write("x\na\n")
    refused(lambda: count_labels(["a"], missing=policy), "drop, error", error=UnknownNameError)
    refused(
        lambda: count_labels(path, ["x"], missing=policy), "drop, error", error=UnknownNameError
    )


@given(st.lists(st.integers(-3, 3), min_size=1))
def test_counting_is_counting(values):
    assert count_labels(values) == {v: values.count(v) for v in sorted(set(values))}
    assert count_labels(pl.Series(values)) == count_labels(values)


# CSV files


def test_one_line_per_person(write):
    path = write("name,vote\nann,yes\nbob,no\ncid,yes\n")
    assert count_labels(path, ["vote"]) == {"no": 1, "yes": 2}
    assert Prior.from_csv(path, "vote") == Prior.from_counts({"no": 1, "yes": 2})
    assert Prior.from_csv(str(path), "vote") == Prior.from_csv(path, "vote")


def test_one_line_per_group_with_exact_weights(write):
    path = write("vote,people\nyes,0.1\nno,2\nyes,1/3\n")
    assert count_labels(path, ["vote"], weights="people") == {
        "no": 2,
        "yes": Fraction(1, 10) + Fraction(1, 3),
    }


def test_groups_of_weight_zero_stay_as_symbols_without_mass(write):
    path = write("vote,people\nyes,3\nno,0\n")
    with pytest.warns(ZeroMassWarning, match="'no'"):
        assert Prior.from_csv(path, "vote", weights="people").labels == ("no", "yes")


def test_same_prior_from_csv_and_from_frames(write):
    text = "x,n\nb,1\na,2\nb,5\n"
    path = write(text)
    frame = pd.read_csv(io.StringIO(text))
    for column in (frame["x"], pl.read_csv(io.StringIO(text))["x"]):
        assert Prior.from_data(column) == Prior.from_csv(path, "x")
    assert Prior.from_data(frame["n"]) == Prior.from_csv(path, "n")


def test_number_labels_quotes_spaces_and_marks(write):
    assert count_labels(write("x\n2\n10\n2\n"), ["x"]) == {2: 2, 10: 1}
    assert list(count_labels(write("x\n2\n10\n2\n"), ["x"])) == [2, 10]
    assert count_labels(write("x\n2\n0.5\n"), ["x"]) == {0.5: 1, 2.0: 1}
    assert count_labels(write("x\n007\n7\n"), ["x"]) == {"007": 1, "7": 1}
    assert count_labels(write('x,y\n"a, b",1\n a ,2\na,3\n'), ["x"]) == {"a, b": 1, "a": 2}
    assert count_labels(write("\ufeffx\nß\n"), ["x"]) == {"ß": 1}
    assert count_labels(write("x\r\na\r\nb\r\n"), ["x"]) == {"a": 1, "b": 1}


def test_shipped_tables_by_name_bring_their_weights():
    assert count_labels("titanic", ["class"]) == {"1st": 325, "2nd": 285, "3rd": 706, "crew": 885}
    assert Prior.from_csv("titanic", "class").mass(3) == Fraction(885, 2201)


@pytest.mark.parametrize("blank", ["", "  ", "NA", "n/a", "NaN", "null", "None"])
def test_missing_cells_are_counted_and_refused_or_dropped(write, blank):
    path = write(f"x,y\na,1\n{blank},2\n{blank},3\nb,4\n")
    found = refused(
        lambda: Prior.from_csv(path, "x"), "2 of 4 rows without a value", "--missing drop"
    )
    assert found.subject == "column 'x' of table.csv"
    assert count_labels(path, ["x"], missing="drop") == {"a": 1, "b": 1}


def test_words_for_a_missing_value_are_named_where_a_file_has_them(write):
    """A diagnosis of "none" is an answer to whoever wrote the file."""
    said = "2 of 4 rows without a value (1 of them spelled NA, N/A, NaN, null or none)"
    refused(lambda: count_labels(write('x\na\nnone\n" "\nb\n'), ["x"]), said, "in another way")
    found = refused(lambda: count_labels(write("x,y\na,1\n,2\n"), ["x"]), "1 of 2")
    assert "spelled" not in str(found)


def test_a_column_of_blanks_is_refused(write):
    refused(lambda: count_labels(write("x,y\n,1\n,2\n"), ["x"], missing="drop"), "none in 2 rows")


@pytest.mark.parametrize("wanted", ["klass", "Class", "zzz"])
def test_missing_column_names_the_columns_and_the_nearest(wanted):
    found = refused(
        lambda: Prior.from_csv("titanic", wanted), "age", "survived", error=UnknownNameError
    )
    if wanted != "zzz":
        assert found.remedy == "did you mean 'class'?"


def test_missing_column_of_weights(write):
    refused(
        lambda: count_labels(write("x,n\na,1\n"), ["x"], weights="m"),
        "'m'",
        error=UnknownNameError,
    )


@pytest.mark.parametrize("count", ["", "x", "-1", "nan", "inf", "1/0"])
def test_bad_counts_name_line_and_cell(write, count):
    path = write(f"x,n\na,1\nb,{count}\n")
    refused(
        lambda: count_labels(path, ["x"], weights="n"),
        "'n' of table.csv",
        "count in every row, got ",
    )


def test_files_that_cannot_be_read(write, tmp_path):
    refused(lambda: count_labels(tmp_path / "no.csv", ["x"]), "existing file", "no.csv")
    refused(lambda: count_labels("titanik", ["x"]), "shipped table", "titanik")
    refused(lambda: count_labels(tmp_path / "none", ["x"]), "existing file")
    refused(lambda: count_labels(write("{}", "d.json"), ["x"]), "name the table", "saved design")
    refused(lambda: count_labels("a" * 300, ["x"]), "readable file")
    refused(lambda: count_labels(write(""), ["x"]), "an empty file")
    refused(lambda: count_labels(write("x,y\n"), ["x"]), "at least one row")
    refused(lambda: count_labels(write(b"x\n\xff\xfe\n"), ["x"]), "UTF-8")
    refused(lambda: read_matrix(write(b"x,a\n\xff,1\n")), "UTF-8")


def test_numbers_of_absurd_length_do_not_crash(write):
    digits = "1" * 5000
    counts = count_labels(write(f"x\n{digits}\n2\n"), ["x"])
    assert sum(counts.values()) == 2


def test_a_large_file_is_streamed(write):
    lines = ["x"] + ["a" if i % 4 else "b" for i in range(40_000)]
    assert count_labels(write("\n".join(lines)), ["x"]) == {"a": 30_000, "b": 10_000}


# Matrices


def test_matrix_with_labels(write):
    matrix, rows, columns = read_matrix(write("u,lo,hi\na,1,0.25\n\nb,-2e3,0\n"))
    assert matrix.tolist() == [[1.0, 0.25], [-2000.0, 0.0]]
    assert rows == ["a", "b"]
    assert columns == ["lo", "hi"]
    _, rows, columns = read_matrix(write("u,0,1\n0,1,2\n1.5,1,2\n"))
    assert (rows, columns) == ([0.0, 1.5], [0, 1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["an empty file"]),
        ("u,a,b\n", ["1 line"]),
        ("u\na\n", ["label first"]),
        ("u,a,b\nx,1\n", ["3 cells in every row", "got 2, in line 2"]),
        ("u,a,b\nx,1,2,3\n", ["3 cells in every row", "got 4, in line 2"]),
        ("u,a,b\nx,1,2\ny,1,two\n", ["numbers in line 3", "other text in cell 3"]),
        ("u,a,b\nx,1,\n", ["numbers in line 2", "other text in cell 3"]),
        ("u;a;b\nx;1;0\ny;0;0,25\n", ["numbers in line 3", "decimal comma in cell 3", "0.5"]),
        ("u,a,b\nx,1/0,1\n", ["numbers in line 2", "a fraction over zero in cell 2"]),
    ],
)
def test_bad_matrices_name_line_and_cell(write, text, words):
    refused(lambda: read_matrix(write(text)), *words)


@pytest.mark.parametrize("path", [None, 3, "a\0b"])
def test_what_is_no_path_is_named(path):
    from mechdesign import Prior

    with pytest.raises(DataError):
        Prior.from_csv(path, "x")


def test_a_header_with_a_name_twice_is_refused(tmp_path):
    from mechdesign import Prior

    table = tmp_path / "t.csv"
    table.write_text("x,x\n1,2\n")
    with pytest.raises(DataError, match="more than once"):
        Prior.from_csv(table, "x")


# Groups of rows


def test_counts_in_groups_are_those_of_a_cross_table(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"s": rng.integers(0, 3, 80), "x": rng.choice(list("abc"), 80)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = pd.crosstab(frame["s"], frame["x"]).to_dict("index")
    assert count_labels(frame, ["x"], by="s") == expected
    assert count_labels(pl.DataFrame(frame), ["x"], by="s") == expected
    assert count_labels(tmp_path / "t.csv", ["x"], by="s") == expected
    assert list(count_labels(tmp_path / "t.csv", ["x"], by="s")) == [0, 1, 2]


def test_every_group_has_every_value_and_weights_count():
    found = count_labels("titanic", ["class"], by="age")
    assert found["child"]["crew"] == 0
    assert list(found["child"]) == list(found["adult"]) == ["1st", "2nd", "3rd", "crew"]
    total = {x: found["child"][x] + found["adult"][x] for x in found["child"]}
    assert total == count_labels("titanic", ["class"])


def test_rows_without_a_group_are_refused_and_without_a_value_by_the_policy(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("s,x\nf,a\n,b\nm,b\n")
    with pytest.raises(DataError, match=r"column 's' of t.csv: expected a group in every row"):
        count_labels(path, ["x"], by="s")
    with pytest.raises(DataError, match="1 of 3 rows"):
        count_labels({"x": ["a", "b", "b"], "s": ["f", None, "m"]}, ["x"], by="s")
    table = {"x": ["a", None, "b"], "s": ["f", "f", "m"]}
    assert count_labels(table, ["x"], by="s", missing="drop") == {
        "f": {"a": 1, "b": 0},
        "m": {"a": 0, "b": 1},
    }
    with pytest.raises(DataError, match="as many values in each, got 3 and 2"):
        count_labels({"x": ["a", "b", "b"], "s": ["f", "m"]}, ["x"], by="s")
    with pytest.raises(UnknownNameError):
        count_labels(path, ["x"], by="z")
