"""A DuckDB relation is answered with its reports, whatever else the connection knows."""

from __future__ import annotations

import secrets

import pytest
from checks import refused

import mechdesign as md
from mechdesign.errors import DataError

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.Hamming(), md.LDP(2))
KEY = md.ReleaseKey(bytes(range(32)))
PEOPLE = "SELECT i AS id, ['a', 'b', 'c'][1 + i % 3] AS x FROM range(300) t(i)"
# Names that the library used, that its code or DuckDB uses, and that the README uses.
NAMES = [
    "reports", "mechdesign_source", "mechdesign", "relation", "made", "table_", "view", "name",
    "scope", "ask", "text", "convert", "release", "frame", "source", "people", "df", "arrow",
]  # fmt: skip


def rows(table, **options):
    return md.privatize(table, "x", FOUND, **options).fetchall()


def expected(**options):
    table = duckdb.connect().sql(PEOPLE).to_arrow_table()
    made = md.privatize(table, "x", FOUND, **options)
    return list(zip(made["id"].to_pylist(), made["x"].to_pylist(), strict=True))


@pytest.fixture
def base():
    return duckdb.connect()


def hostile(kind, place, name):
    body = f"SELECT id, 'RAW' AS x FROM ({PEOPLE})"
    return f'CREATE {place} {kind} "{name}" AS {body}'


@pytest.mark.parametrize("place", ["", "TEMP"])
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_no_table_or_view_of_the_user_is_taken_for_the_reports(base, kind, place):
    for name in NAMES:
        base.execute(hostile(kind, place, name))
    base.execute(f"CREATE TABLE secret AS {PEOPLE}")
    truth = base.table("secret").fetchall()
    for table in (base.table("secret"), base.sql("FROM secret"), base.sql(PEOPLE)):
        found = rows(table, rng=1)
        assert found == expected(rng=1)
        assert found != truth
    # What the user has is as it was.
    assert {row[1] for name in NAMES for row in base.sql(f'FROM "{name}"').fetchall()} == {"RAW"}


def test_other_schemas_and_databases_in_the_search_path(base):
    base.execute("CREATE SCHEMA other")
    base.execute("ATTACH ':memory:' AS far")
    for name in NAMES:
        base.execute(f"CREATE TABLE other.\"{name}\" AS SELECT 0 AS id, 'RAW' AS x")
        base.execute(f"CREATE TABLE far.\"{name}\" AS SELECT 0 AS id, 'RAW' AS x")
    base.execute("SET search_path = 'other,far,main'")
    assert rows(base.sql(PEOPLE), rng=1) == expected(rng=1)


def test_variables_of_the_caller_are_not_taken_for_the_reports(base):
    reports = mechdesign_source = relation = table = made = pa.table({"id": [0], "x": ["RAW"]})
    base.execute("SET python_scan_all_frames = true")
    assert rows(base.sql(PEOPLE), rng=1) == expected(rng=1)
    assert all(part is made for part in (reports, mechdesign_source, relation, table))


def test_a_random_name_cannot_be_foreseen(base, monkeypatch):
    taken, usual = [], secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda n: taken.append(usual(n)) or taken[-1])
    for _ in range(3):
        rows(base.sql(PEOPLE))
    # Other libraries draw shorter ones.
    names = [name for name in taken if len(name) == 32]
    assert len(names) == len(set(names)) == 6


def test_a_name_that_is_taken_is_found_out(base, monkeypatch):
    """A control for the tests above: with a name that can be foreseen the user's table wins."""
    names, usual = iter(["view_of_ours", "reports"]), secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda n: next(names) if n == 16 else usual(n))
    base.execute(hostile("TABLE", "", "mechdesign_reports"))
    assert rows(base.sql(PEOPLE), rng=1) != expected(rng=1)


def test_connections_that_take_no_table_are_said_so_before_anything_is_drawn(base):
    base.execute("SET python_enable_replacements = false")
    before = base.sql("SELECT view_name FROM duckdb_views()").fetchall()
    refused(lambda: rows(base.sql(PEOPLE)), "python_enable_replacements = true", error=DataError)
    assert base.sql("SELECT view_name FROM duckdb_views()").fetchall() == before
    base.execute("SET python_enable_replacements = true")
    assert rows(base.sql(PEOPLE), rng=1) == expected(rng=1)
    # Which switches replacement scans off as well, whatever their own setting says.
    base.execute("SET enable_external_access = false")
    refused(lambda: rows(base.sql(PEOPLE)), "enable_external_access", error=DataError)


def test_text_that_duckdb_hands_over_as_views(base):
    base.execute("SET produce_arrow_string_view = true")
    base.execute("SET arrow_output_version = '1.5'")
    assert rows(base.sql(PEOPLE), row="id", key=KEY) == expected(row="id", key=KEY)


def test_nothing_of_ours_stays_on_the_connection(base):
    md.privatize(base.sql(PEOPLE), "x", FOUND)
    for catalog in ("duckdb_views() WHERE NOT internal", "duckdb_tables()"):
        assert base.sql(f"SELECT * FROM {catalog}").fetchall() == []


def test_relations_in_a_transaction_and_of_a_database_that_is_read_only(tmp_path):
    path = str(tmp_path / "people.db")
    with duckdb.connect(path) as base:
        base.execute(f"CREATE TABLE people AS {PEOPLE}")
        base.execute("BEGIN")
        assert rows(base.table("people"), rng=1) == expected(rng=1)
        base.execute("COMMIT")
    with duckdb.connect(path, read_only=True) as base:
        try:
            assert rows(base.table("people"), rng=1) == expected(rng=1)
        except DataError as problem:  # versions before 2 make a view of every relation
            assert "to_arrow_table" in str(problem)  # noqa: PT017


def test_relations_go_on_as_relations(base):
    base.execute(f"CREATE TABLE people AS {PEOPLE}")
    made = md.privatize(base.table("people"), "x", FOUND, row="id", key=KEY)
    truth = dict(expected(row="id", key=KEY))
    base.execute("CREATE TABLE visits AS SELECT id, id % 5 AS n FROM people")
    joined = made.set_alias("m").join(base.table("visits").set_alias("v"), "id")
    assert {row[0]: row[1] for row in joined.project("id, x").fetchall()} == truth
    made.create("kept")
    assert dict(base.table("kept").fetchall()) == truth
    assert md.estimate(made, FOUND, "x").reports == 300
    # The source may change or go; the reports stay.
    base.execute("DROP TABLE people")
    assert dict(made.fetchall()) == truth


def test_columns_of_one_name_are_refused(base):
    refused(lambda: rows(base.sql("SELECT 1 AS id, 2 AS id, 'a' AS x")), "'id'", error=DataError)
    refused(lambda: rows(base.sql("SELECT 1 AS id, 'b' AS x, 'a' AS x")), "'x'", error=DataError)


def test_identities_of_duckdb_types(base):
    for kind in ("TINYINT", "UINTEGER", "HUGEINT", "DECIMAL(9, 2)"):
        table = base.sql(f"SELECT id::{kind} AS id, x FROM ({PEOPLE}) WHERE id < 100")
        assert rows(table, row="id", key=KEY) == expected(row="id", key=KEY)[:100]
    texts = rows(base.sql(f"SELECT uuid() AS id, x FROM ({PEOPLE})"), row="id", key=KEY)
    frame = pa.table({"id": [str(i) for i, _ in texts], "x": [LABELS[i % 3] for i in range(300)]})
    made = md.privatize(frame, "x", FOUND, row="id", key=KEY)
    assert [x for _, x in texts] == made["x"].to_pylist()
