"""Joint priors: combinations of values of several columns, from tables and files."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, PriorError, UnknownNameError, ZeroMassWarning

ROWS = {"class": ["b", "a", "b", "b"], "sex": ["m", "f", "f", "m"], "age": [1, 2, 2, 1]}
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "arrow": pa.table,
    "mapping": dict,
}
BOTH = ["class", "sex"]


@for_each("kind", MAKERS)
def test_priors_of_columns_of_any_table(kind, tmp_path):
    table = MAKERS[kind](ROWS)
    prior = md.Prior.from_data(table, BOTH)
    assert prior.labels == (("a", "f"), ("b", "f"), ("b", "m"))
    assert prior.weights == (1, 1, 2)
    assert prior.schema.names == ("class", "sex")
    for names in ("sex", ["sex"]):
        alone = md.Prior.from_data(table, names)
        assert alone == md.Prior.from_data(ROWS["sex"])
        assert alone.schema.names == ("sex",)
    pd.DataFrame(ROWS).to_csv(tmp_path / "t.csv", index=False)
    for columns in (["age", "sex"], ["sex", "class", "age"]):
        own = md.Prior.from_csv(tmp_path / "t.csv", columns)
        assert own == md.Prior.from_data(table, columns)
    for columns, problem in (
        (["class", "sax"], UnknownNameError),
        (["class", "class"], InputError),
        ([], InputError),
        ([1, 2], InputError),
        (3, InputError),
    ):
        with pytest.raises(problem):
            md.Prior.from_data(table, columns)


def test_marginals_are_the_priors_of_the_columns():
    prior = md.Prior.from_data(ROWS, ["class", "sex", "age"])
    for name in ("class", "sex", "age"):
        alone = md.Prior.from_data(ROWS, name)
        assert prior.marginal(name).reordered(alone.labels) == alone
        assert prior.marginal([name]).schema == alone.schema
    two = prior.marginal(["sex", "class"])
    assert two["m", "b"] == two.marginal("sex")["f"] == 0.5
    assert two.schema.names == ("sex", "class")
    with pytest.raises(UnknownNameError, match=r"'clas'.*did you mean 'class'"):
        prior.marginal("clas")
    with pytest.raises(PriorError, match="columns are named"):
        md.Prior([0.5, 0.5]).marginal("sex")
    titanic = md.Prior.from_csv("titanic", BOTH)
    assert titanic.marginal("sex") == md.Prior.from_csv("titanic", "sex")


def test_categories_keep_their_order_and_all_combinations_come_on_request():
    frame = pd.DataFrame(ROWS)
    frame["class"] = pd.Categorical(frame["class"], ["c", "b", "a"], ordered=True)
    assert md.Prior.from_data(frame, BOTH).labels == (("b", "f"), ("b", "m"), ("a", "f"))
    with pytest.warns(ZeroMassWarning, match="3 of 6"):
        whole = md.Prior.from_data(frame, BOTH, all_combinations=True)
    assert whole.weights == (0, 0, 1, 2, 1, 0)


def test_rows_with_a_missing_value_are_refused_or_dropped(tmp_path):
    frame = pd.DataFrame({"x": ["a", None, "b"], "y": ["c", "d", None]})
    with pytest.raises(DataError, match="2 of 3 rows"):
        md.Prior.from_data(frame, ["x", "y"])
    assert md.Prior.from_data(frame, ["x", "y"], missing="drop").labels == (("a", "c"),)
    (tmp_path / "t.csv").write_text("x,y\n1,a\nn/a,b\n2,\n2,a\n7x,\n")
    with pytest.raises(DataError, match="3 of 5 rows"):
        md.Prior.from_csv(tmp_path / "t.csv", ["x", "y"])
    kept = md.Prior.from_csv(tmp_path / "t.csv", ["x", "y"], missing="drop")
    assert kept.labels == (("1", "a"), ("2", "a"))  # 7x makes a text of the column


def test_a_tuple_is_no_text_that_looks_like_one():
    texts = md.Prior.from_data({"x": ["('a', 'f')", "('b', 'f')"]}, "x")
    with pytest.raises(PriorError, match="tuples of 2"):
        texts.with_schema(BOTH)
    with pytest.raises(PriorError):
        md.Prior.from_data(ROWS, BOTH)["('a', 'f')"]


def test_what_makes_no_combinations_is_refused():
    for table in ([1, 2], "no such file", pd.Series([1, 2]), None):
        with pytest.raises(DataError, match="table"):
            md.Prior.from_data(table, BOTH)
    measured = {"x": [i / 7 for i in range(200)], "y": ["a", "b"] * 100}
    with pytest.raises(DataError, match=r"'x'.*different values"):
        md.Prior.from_data(measured, ["x", "y"])
    with pytest.raises(DataError, match="at most 2 different combinations"):
        md.Prior.from_data(ROWS, BOTH, max_symbols=2)


def test_the_command_line_repeats_the_column(tmp_path, capsys):
    path = tmp_path / "m.json"
    asked = ["design", "titanic", "--column", "class", "--column", "sex", "-p", "ldp:1"]
    assert main([*asked, "-o", str(path)]) == 0
    assert md.load(path).prior == md.Prior.from_csv("titanic", BOTH)
    assert md.load(path).mechanism.schema.names == ("class", "sex")
    capsys.readouterr()
    assert main([*asked, "--column", "sex"]) == 2
    assert "more than once" in capsys.readouterr().err
