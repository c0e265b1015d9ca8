"""Numbers in a database lie in the bins that they lie in for Python."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from postgres import MISSING, find_programs, running_cluster

import mechdesign as md
from mechdesign.devices.bins_sql import place_in_bins
from mechdesign.errors import UnknownNameError

pd = pytest.importorskip("pandas")
duckdb = pytest.importorskip("duckdb")

needs_postgresql = pytest.mark.skipif(find_programs() is None, reason=MISSING)

THIRDS = [Fraction(-7, 3), Fraction(-1, 3), 0, Fraction(1, 3), Fraction(22, 7)]
BINS = {
    "left": md.bins(edges=[-1.5, 0, 0.1, 0.3, 0.7, 1, 60]),
    "right": md.bins(edges=[-1.5, 0, 0.1, 0.3, 0.7, 1, 60], closed="right"),
    "open": md.bins(edges=[-math.inf, -0.5, 0.1, 65, math.inf]),
    "all": md.bins(edges=[-math.inf, math.inf]),
    "no decimals": md.bins(edges=THIRDS),
    "no decimals, right": md.bins(edges=THIRDS, closed="right"),
    "whole": md.bins(edges=[-3, 0, 18, 65], whole=True),
    "whole, right, open": md.bins(edges=[-3, 0, 18, math.inf], whole=True, closed="right"),
    "near": md.bins(edges=[0, 0.1, Decimal("0.10000000000000001"), 0.2]),
    "large": md.bins(edges=[-1e300, -(2**63), 2**53 + 1, 2**63 - 1, 1e300]),
    "small": md.bins(edges=[-1, -5e-324, 0, 5e-324, 1e-45, 1]),
}


def floats_of(bins, dtype):
    """Every edge in a type with the numbers one and two units beside it, and special ones."""
    with np.errstate(over="ignore", under="ignore"):
        edges = np.array([float(edge) for edge in bins.edges]).astype(dtype)
        edges = [*edges, dtype(0), -dtype(0), dtype(math.inf), np.finfo(dtype).max]
        found = set()
        for edge in edges:
            down, up = (np.nextafter(edge, dtype(end)) for end in (-math.inf, math.inf))
            steps = [np.nextafter(down, dtype(-math.inf)), np.nextafter(up, dtype(math.inf))]
            found |= {float(x) for x in (edge, -edge, down, up, *steps)}
    return [*sorted(found), math.nan, None]


def decimals_of(bins, digits):
    """Decimals at and beside every edge."""
    found = {Decimal(0)}
    for edge in bins.edges:
        if math.isfinite(edge) and abs(edge) < 10**15:
            scaled = Fraction(edge) * 10**digits
            for near in range(math.floor(scaled) - 1, math.ceil(scaled) + 2):
                found.add(Decimal(near).scaleb(-digits))
    return [*sorted(found), None]


def integers_of(bins, bits):
    """Whole numbers around every edge, and the ends of the type."""
    most = (1 << (bits - 1)) - 1
    found = {0, 1, most, -most}
    for edge in bins.edges:
        if math.isfinite(edge):
            near = math.floor(edge)
            found |= {x for x in range(near - 2, near + 4) if -most <= x <= most}
    return [*sorted(found), None]


def expected(bins, values, dtype=None):
    """By `privatize`: what the identity reports, or why there is no report."""
    labels = {label: i for i, label in enumerate(bins.labels)}
    eye = md.Mechanism(np.eye(len(bins) + 1), [*bins.labels, None], [*bins.labels, "none"])
    if dtype is None:
        column = np.empty(len(values), dtype=object)
        column[:] = values
    else:
        column = np.array([math.nan if v is None else v for v in values], dtype=dtype)
    table = pd.DataFrame({"x": column})
    told = md.privatize(table, "x", eye.with_schema({"x": bins}), unseen="null")["x"].tolist()
    return [-2 if pd.isna(y) else labels.get(y, -1) for y in told]


def cases(bins):
    """Name of a type in DuckDB and in PostgreSQL, its values, and their places."""
    for ours, theirs, dtype in (
        ("FLOAT", "real", np.float32),
        ("DOUBLE", "double precision", np.float64),
    ):
        values = floats_of(bins, dtype)
        yield ours, theirs, values, expected(bins, values, dtype)
    for ours, theirs, bits in (
        ("SMALLINT", "smallint", 16),
        ("BIGINT", "bigint", 64),
        ("HUGEINT", "numeric", 128),
    ):
        values = integers_of(bins, bits)
        yield ours, theirs, values, expected(bins, values)
    for digits in (1, 3, 20):
        values = decimals_of(bins, digits)
        yield f"DECIMAL(38, {digits})", f"numeric(50, {digits})", values, expected(bins, values)
    texts = [*bins.labels, "1", "", None]
    yield "VARCHAR", "text", texts, expected(bins, texts)


def written(value):
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"'{value!r}'"
    return f"'{value}'"


@for_each("name", slow_but(2, BINS))
def test_duckdb_places_numbers_as_python_does(name):
    bins, seen = BINS[name], set()
    for kind, _, values, places in cases(bins):
        rows = ", ".join(f"({i}, {written(v)}::{kind})" for i, v in enumerate(values))
        place = md.bins_to_sql(bins, 'a "number"', "duckdb")
        asked = f'SELECT {place} FROM (VALUES {rows}) AS t(i, "a ""number""") ORDER BY i'
        told = [row[0] for row in duckdb.connect().execute(asked).fetchall()]
        wrong = [x for x in zip(values, told, places, strict=True) if x[1] != x[2]]
        assert not wrong, (kind, wrong)
        seen |= set(told)
    assert seen >= {-2, -1, *range(len(bins))}


@pytest.fixture(scope="module")
def cluster():
    with running_cluster() as found:
        yield found


@pytest.mark.slow
@needs_postgresql
@for_each("name", BINS)
def test_postgresql_places_numbers_as_python_does(cluster, name):
    bins, seen = BINS[name], set()
    for _, kind, values, places in cases(bins):
        rows = ", ".join(f"({i}, {written(v)}::{kind})" for i, v in enumerate(values))
        place = md.bins_to_sql(bins, "x", "postgresql")
        asked = f"SELECT place FROM (SELECT i, {place} AS place FROM (VALUES {rows}) AS t(i, x)) s"
        told = [int(row[0]) for row in cluster.rows(asked + " ORDER BY i")]
        wrong = [x for x in zip(values, told, places, strict=True) if x[1] != x[2]]
        assert not wrong, (kind, wrong)
        seen |= set(told)
    special = "SELECT x FROM (VALUES ('NaN'::numeric), (NULL), ('Infinity')) AS t(x)"
    place = place_in_bins(bins, "x", "postgresql")
    assert cluster.rows(f"SELECT {place} FROM ({special}) AS t") == [["-1"], ["-1"], ["-2"]]
    assert seen >= {-2, -1, *range(len(bins))}


# Draws


def script(folder, mechanism, **options):
    path = folder / "draw.sql"
    md.export(mechanism, path, to="sql", dialect="postgresql", overwrite=True, **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def ages(cluster):
    made = md.bins(edges=[0, 18, 65, 120], whole=True)
    cluster.do("DROP SCHEMA IF EXISTS survey CASCADE; CREATE SCHEMA survey;")
    return made


@needs_postgresql
@pytest.mark.parametrize("kind", ["integer", "double precision", "numeric", "text"])
def test_reports_are_those_of_the_bin_of_each_number(cluster, ages, tmp_path, kind):
    inputs = [*ages.labels, None]
    eye = md.Mechanism(np.eye(4), inputs, ["child", "adult", "old", "none"])
    text = script(tmp_path, eye.with_schema({"age": ages}), table="survey.people", keep=["id"])
    numbers = ["0", "17", "18", "64", "65", "120", None]
    if kind == "text":
        numbers = ["0 to 17", "0 to 17", "18 to 64", "18 to 64", *["65 to 120"] * 2, None]
    rows = ", ".join(f"({i}, {written(x)}::{kind})" for i, x in enumerate(numbers))
    cluster.do(f"CREATE TABLE survey.people AS SELECT * FROM (VALUES {rows}) AS t(id, age);")
    cluster.do(text)
    told = cluster.rows("SELECT age FROM survey.people_reports ORDER BY id")
    words = ["child", "child", "adult", "adult", "old", "old", "none"]
    assert [row[0] for row in told] == words
    assert cluster.rows("SELECT DISTINCT input FROM survey.people_reports_kernel ORDER BY 1") == [
        *[[label] for label in ages.labels],
        [None],
    ]


@needs_postgresql
@pytest.mark.parametrize("number", ["121", "-1", "17.5", "NULL", "'NaN'", "'Infinity'"])
def test_numbers_in_no_bin_stop_it(cluster, ages, tmp_path, number):
    """Missing ones, too, where the kernel has no input for them, as `privatize` does."""
    flip = md.Mechanism(np.eye(3), ages.labels, ages.labels).with_schema({"age": ages})
    text = script(tmp_path, flip, table="survey.people", keep=None)
    cluster.do(
        "CREATE TABLE survey.people (age double precision);"
        f"INSERT INTO survey.people VALUES (3), ({number}), (70);"
    )
    code, said = cluster.run(text)
    assert code != 0
    assert "got other values in 1 of 3 rows" in said
    found = cluster.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'survey'")
    assert found == [["people"]]
    value = np.nan if number == "NULL" else float(number.strip("'"))
    with pytest.raises(md.errors.DataError):
        md.privatize(pd.DataFrame({"age": [3, value, 70]}), "age", flip)


@needs_postgresql
def test_a_binned_column_beside_another(cluster, ages, tmp_path):
    labels = [(age, sex) for age in ages.labels for sex in ("f", "m")]
    eye = md.Mechanism(np.eye(6), labels, labels).with_schema({"age": ages, "sex": None})
    text = script(tmp_path, eye, table="survey.people", keep=["id"])
    cluster.do(
        "CREATE TABLE survey.people (id int, sex text, age real);"
        "INSERT INTO survey.people VALUES (1, 'm', 17), (2, 'f', 18), (3, 'm', 120);"
    )
    cluster.do(text)
    told = cluster.rows("SELECT id, age, sex FROM survey.people_reports ORDER BY id")
    assert told == [["1", "0 to 17", "m"], ["2", "18 to 64", "f"], ["3", "65 to 120", "m"]]


def test_what_is_refused():
    bins = BINS["left"]
    refused(lambda: md.bins_to_sql(bins, "x", "sqlite"), "dialect", error=UnknownNameError)
    refused(lambda: md.bins_to_sql([0, 1], "x", "duckdb"), "Bins")
    refused(lambda: md.bins_to_sql(bins, "x" * 64, "duckdb"), "column")


def test_bins_of_dates_are_refused_by_name_before_anything_is_warned_of(tmp_path):
    table = {"day": ["2020-01-02", "2020-05-03", "2020-07-04", "2020-12-31", "2020-11-30"]}
    prior = md.Prior.from_data(pd.DataFrame(table), "day", bins=md.bins(of="quarter"))
    made = md.design(prior, md.utility.Hamming(), md.PML(0.5))
    asked = {"dialect": "postgresql", "table": "t", "column": "day"}
    for options in ({"to": "javascript"}, {"to": "sql", **asked}):
        refused(lambda o=options: md.export(made, tmp_path / "f", **o), "bins of column 'day'")
