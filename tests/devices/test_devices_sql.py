"""Reports that PostgreSQL draws itself: its kernel and draws, names and labels, and refusals."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import uuid

import numpy as np
import pytest
from checks import for_each, refused
from false_alarms import are_usual
from postgres import MISSING, find_programs, running_cluster

import mechdesign as md
from mechdesign.cli import main
from mechdesign.devices.sql import intervals
from mechdesign.errors import KernelError, UnknownNameError
from mechdesign.exact import DENOMINATOR_BITS
from mechdesign.release.codes import cell_text
from mechdesign.release.receipts import receipts_from_text

duckdb = pytest.importorskip("duckdb")

needs_postgresql = pytest.mark.skipif(find_programs() is None, reason=MISSING)

LABELS = ["no", "yes", "perhaps"]
ONE = 1 << DENOMINATOR_BITS
ZERO = md.Mechanism.from_weights(
    [[2, 1, 1, 0], [0, 3, 0, 1], [1, 1, 1, 1]], 2, LABELS, [*LABELS, "never"]
)
HOSTILE = [
    *("'; DROP TABLE people; --", 'a"b', "back\\slash'", "\\", "line\nbreak\r\ttab", "😀", ""),
    *("$mechdesign$", "$$", "%", ":name", "-- no comment", "/*", "NULL", "é", "e\u0301", "1", " 1"),
    *("</script>", "__proto__", "{}", "$1", "?", "\u2028"),
]


@pytest.fixture(scope="module")
def cluster():
    with running_cluster() as found:
        yield found


def script(folder, mechanism, table="people", column="x", **options):
    path = folder / "draw.sql"
    md.export(
        mechanism,
        path,
        to="sql",
        dialect="postgresql",
        table=table,
        column=column,
        overwrite=True,
        **options,
    )
    return path.read_text(encoding="utf-8")


def fill(cluster, table, rows, kinds="id bigint, x text"):
    """A new table with rows of texts and numbers."""

    def cell(value):
        if value is None:
            return "NULL"
        text = str(value).replace("\\", "\\\\").replace("'", "''")
        return f"E'{text}'"

    names = cluster.rows(
        "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname NOT IN "
        "('pg_catalog', 'information_schema')"
    )
    for (name,) in names:
        cluster.do(f"DROP TABLE IF EXISTS {name} CASCADE;")
    listed = ", ".join("(" + ", ".join(map(cell, row)) + ")" for row in rows)
    cluster.do(f"CREATE TABLE {table} ({kinds});")
    if rows:
        cluster.do(f"INSERT INTO {table} VALUES {listed};")


def tables(cluster):
    found = cluster.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {name for (name,) in found}


# The kernel and the draws


def chosen(word):
    """A UUID of version 4 whose 53 bits that decide are a word."""
    digits = f"{word << 3:014x}"
    return str(uuid.UUID(f"{digits[:12]}4{digits[12:]}1{'8':0<16}"))


@needs_postgresql
def test_a_word_lies_in_the_interval_of_its_output(cluster, tmp_path):
    """Words at every end of an interval, and the first and the last of all."""
    ends = {low for _, _, low, _ in intervals(ZERO)} | {high for *_, high in intervals(ZERO)}
    words = sorted({w for end in ends for w in (end - 1, end) if 0 <= w < ONE} | {0, 1, ONE - 1})
    rows = [(f"{label} {w}", label, chosen(w)) for label in LABELS for w in words]
    fill(cluster, "people", rows, "id text, x text, chosen uuid")
    text = script(tmp_path, ZERO, keep=["id"])
    assert text.count("pg_catalog.gen_random_uuid()") == 1
    cluster.do(text.replace("pg_catalog.gen_random_uuid()", "t.chosen"))
    told = dict(cluster.rows("SELECT id, x FROM people_reports"))
    expected = {
        f"{label} {w}": next(
            y for x, y, low, high in intervals(ZERO) if x == label and low <= w < high
        )
        for label in LABELS
        for w in words
    }
    assert told == expected


@needs_postgresql
def test_draws_have_the_chances_of_the_kernel(cluster, tmp_path):
    each = 30_000
    fill(cluster, "people", [])
    cluster.do(
        f"INSERT INTO people SELECT i, (ARRAY['no', 'yes', 'perhaps'])[1 + i % 3] "
        f"FROM generate_series(0, {3 * each - 1}) AS i;"
    )
    text = script(tmp_path, ZERO, keep=["id"])

    def is_as_drawn():
        rows = cluster.rows(
            "SELECT p.x, r.x, count(*) FROM people p JOIN people_reports r USING (id) GROUP BY 1, 2"
        )
        counts = {(x, y): int(count) for x, y, count in rows}
        seen = np.array([[counts.get((x, y), 0) for y in ZERO.outputs] for x in LABELS])
        assert (seen.sum(axis=1) == each).all()
        return are_usual(seen, ZERO.kernel)

    cluster.do(text)
    assert is_as_drawn()
    # The control: where a tenth of the words is zero, it is found out.
    cluster.do("DROP TABLE people_reports, people_reports_kernel;")
    biased = text.replace(
        " AS word FROM drawn", " & CASE WHEN random() < .1 THEN 0 ELSE -1 END AS word FROM drawn"
    )
    assert biased != text
    cluster.do(biased)
    assert not is_as_drawn()


@needs_postgresql
def test_every_row_has_one_word_of_its_own(cluster, tmp_path):
    """Were the word drawn again for each interval, rows would get none or several reports."""
    labels = list(range(40))
    wide = md.Mechanism(np.full((40, 64), 1 / 64), labels, list(range(64)))
    fill(cluster, "people", [], "id bigint, x integer")
    cluster.do("INSERT INTO people SELECT i, i % 40 FROM generate_series(1, 4000) AS i;")
    with pytest.warns(md.errors.UntoldWarning):
        text = script(tmp_path, wide, keep=["id"])
    cluster.do("SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0;" + text)
    found = cluster.rows(
        "SELECT count(*), count(DISTINCT id), count(DISTINCT x) FROM people_reports"
    )
    assert found == [["4000", "4000", "64"]]
    # The control: without the materialised words, and with an expression in their place.
    cluster.do("DROP TABLE people_reports, people_reports_kernel;")
    lazy = re.sub(
        r"t\.word\b",
        "(('x' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12))::bit(48)::bigint << 5)",
        text,
    )
    code, said = cluster.run(lazy)
    assert code != 0
    assert "expected one for each row" in said
    assert "people_reports" not in tables(cluster)


# Names and labels


@needs_postgresql
def test_hostile_labels_and_names_stay_what_they_are(cluster, tmp_path):
    identity = md.Mechanism(np.eye(len(HOSTILE)), HOSTILE, HOSTILE)
    table, column, kept = 'od"d.ta;ble\\', 'x"; DROP TABLE people; --', "$mechdesign$ 'é"
    fill(
        cluster,
        '"od""d.ta;ble\\"',
        [(i, label) for i, label in enumerate(HOSTILE)],
        '"$mechdesign$ \'é" bigint, "x""; DROP TABLE people; --" text',
    )
    for setting in ("on", "off"):
        text = script(tmp_path, identity, '"od""d.ta;ble\\"', column, keep=[kept], into="told")
        cluster.do(f"SET standard_conforming_strings = {setting};\n{text}")
        told = cluster.rows("SELECT * FROM told")
        assert {int(i): x for x, i in told} == dict(enumerate(HOSTILE))
        note = cluster.rows("SELECT obj_description('told'::regclass)")[0][0]
        receipt = receipts_from_text(json.dumps(json.loads(note)["receipts"]))[column]
        assert receipt.source == "PostgreSQL (gen_random_uuid)"
        assert receipt.for_production
        assert table in tables(cluster)
        cluster.do("DROP TABLE told, told_kernel;")


#: Inputs with the type of their column, outputs with the type that theirs gets.
TYPES = [
    ([0, 1, -5], "integer", ["a", "b", "c"], "text"),
    ([2**53 + 1, 2**53, -(2**62)], "bigint", [1, 2**40, 3], "bigint"),
    ([2**70, 10**30, 0], "numeric", [2**80, 1, 2], "numeric"),
    ([True, False], "boolean", [True, False], "boolean"),
    ([0.1, 1.5, 1e300], "double precision", [0.1, 2, 3], "double precision"),
    ([1, 0.5, float("inf")], "double precision", [("a", 1), ("b", None), ("c",)], "text"),
    (["a", None, "b"], "text", ["a", "b", "c"], "text"),
    ([1, None], "bigint", ["a", "b"], "text"),
]


@for_each(("labels", "kind", "outputs", "made"), TYPES)
@needs_postgresql
def test_labels_of_each_type_are_found_and_keep_it(cluster, tmp_path, labels, kind, outputs, made):
    identity = md.Mechanism(np.eye(len(labels)), labels, outputs)
    rows = [(i, "Infinity" if v == float("inf") else v) for i, v in enumerate(labels)]
    fill(cluster, "people", rows, f"id bigint, x {kind}")
    cluster.do(script(tmp_path, identity, keep="id"))
    told = cluster.rows("SELECT x::text, pg_typeof(x) FROM people_reports ORDER BY id")
    shown = [str(y).lower() if isinstance(y, bool) else cell_text(y) for y in outputs]
    assert told == [[text, made] for text in shown]


PAIRS = [(town, sick) for town in ("a", "b", None) for sick in (True, False)]


@needs_postgresql
@pytest.mark.parametrize("has_tuples", [True, False])
def test_several_columns_are_the_parts_of_tuples(cluster, tmp_path, has_tuples):
    told = [(f"{town}", int(sick)) for town, sick in PAIRS]
    outputs = told if has_tuples else [f"{town} {sick}" for town, sick in told]
    kernel = md.Mechanism(np.eye(len(PAIRS)), PAIRS, outputs).with_schema(["town", "sick"])
    rows = [(i, *pair) for i, pair in enumerate(PAIRS)]
    fill(cluster, "people", rows, "id bigint, town text, sick boolean")
    for column in (None, ["town", "sick"]):
        cluster.do(script(tmp_path, kernel, column=column, keep=["id"]))
        names = "town, sick" if has_tuples else "town_sick"
        found = cluster.rows(f"SELECT {names} FROM people_reports ORDER BY id")
        assert found == [
            [f"{part}" for part in (label if has_tuples else (label,))] for label in outputs
        ]
        note = json.loads(cluster.rows("SELECT obj_description('people_reports'::regclass)")[0][0])
        assert list(note["receipts"]) == ["town, sick"]
        cluster.do("DROP TABLE people_reports, people_reports_kernel;")
    fill(cluster, "people", [(1, "a", None)], "id bigint, town text, sick boolean")
    code, message = cluster.run(script(tmp_path, kernel, column=None))
    assert code != 0
    assert "got other values in 1 of 1 rows" in message


@needs_postgresql
def test_a_schema_is_named_before_the_dot(cluster, tmp_path):
    fill(cluster, "people", [])
    cluster.do(
        "DROP SCHEMA IF EXISTS survey CASCADE; CREATE SCHEMA survey;"
        "CREATE TABLE survey.people (x text); INSERT INTO survey.people VALUES ('no');"
    )
    cluster.do(script(tmp_path, ZERO, "survey.people"))
    assert len(cluster.rows("SELECT x FROM survey.people_reports")) == 1
    assert "people_reports" not in tables(cluster)
    cluster.do("DROP SCHEMA survey CASCADE;")


# Nothing is written on bad input


@needs_postgresql
def test_values_that_are_no_inputs_stop_everything_and_are_not_quoted(cluster, tmp_path):
    text = script(tmp_path, ZERO, keep=["id"])
    for rows, said in (
        ([(1, "no"), (2, "my secret"), (3, None)], "got other values in 2 of 3 rows"),
        ([(1, "No")], "got other values in 1 of 1 rows"),
        ([(1, "no ")], "got other values in 1 of 1 rows"),
        ([], "expected at least one row, got none"),
    ):
        fill(cluster, "people", rows)
        code, message = cluster.run(text)
        assert code != 0
        assert said in message
        assert "secret" not in message
        assert tables(cluster) == {"people"}


@needs_postgresql
def test_a_second_run_fails_and_leaves_the_first(cluster, tmp_path):
    fill(cluster, "people", [(i, LABELS[i % 3]) for i in range(50)])
    text = script(tmp_path, ZERO, keep=["id"])
    cluster.do(text)
    first = sorted(cluster.rows("SELECT id, x FROM people_reports"))
    code, message = cluster.run(text)
    assert code != 0
    assert "already exists" in message
    assert sorted(cluster.rows("SELECT id, x FROM people_reports")) == first


@needs_postgresql
def test_functions_of_others_are_not_called(cluster, tmp_path):
    """A function of the same name in a schema that comes first takes no part."""
    fill(cluster, "people", [(i, "perhaps") for i in range(200)])
    cluster.do(
        "CREATE SCHEMA trap; CREATE FUNCTION trap.gen_random_uuid() RETURNS uuid LANGUAGE sql AS "
        "$$ SELECT '00000000-0000-4000-8000-000000000000'::uuid $$;"
    )
    cluster.do(
        "SET search_path = trap, pg_catalog, public;" + script(tmp_path, ZERO, "public.people")
    )
    assert len(cluster.rows("SELECT DISTINCT x FROM people_reports")) == 4
    cluster.do("DROP SCHEMA trap CASCADE;")


# Refusals


def test_duckdb_has_no_secure_source_and_is_refused(tmp_path):
    """What is said of it is true: whoever knows the seed knows its UUIDs."""
    base = duckdb.connect()
    for function in ("uuid()", "gen_random_uuid()", "random()"):
        found = []
        for _ in range(2):
            base.execute("SELECT setseed(0.25)")
            found.append(base.execute(f"SELECT {function}").fetchall())
        assert found[0] == found[1], function
    path = tmp_path / "draw.sql"
    asked = {"to": "sql", "table": "people", "column": "x"}
    said = refused(lambda: md.export(ZERO, path, dialect="duckdb", **asked), "setseed")
    assert "md.privatize(relation, …)" in said.remedy
    refused(lambda: md.export(ZERO, path, dialect="sqlite", **asked), "secure source")
    refused(lambda: md.export(ZERO, path, dialect="oracle", **asked), error=UnknownNameError)
    assert not path.exists()


def test_a_column_of_a_plan_is_that_of_its_design(tmp_path):
    priors = {"job": md.Prior([0.6, 0.4], ["a", "b"]), "sex": md.Prior([0.5, 0.5], ["f", "m"])}
    plan = md.plan_columns(priors, total=md.LDP(2))
    # The tables of several columns stand beside each other.
    text = script(tmp_path, plan, column="sex")
    into = "people_sex_reports"
    assert text == script(tmp_path, plan["sex"], column="sex", into=into)
    assert f'CREATE TABLE "{into}" AS' in text
    assert "people_sex_reports" not in script(tmp_path, plan, column="job")
    for column in (None, ["job", "sex"]):
        refused(lambda column=column: script(tmp_path, plan, column=column), "--column job")
    refused(lambda: script(tmp_path, plan, column="age"), error=UnknownNameError)


def test_bad_input_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "draw.sql"
    good = {"to": "sql", "dialect": "postgresql", "table": "people", "column": "x"}

    def tried(mechanism=ZERO, error=md.errors.InputError, **changed):
        found = refused(lambda: md.export(mechanism, path, **{**good, **changed}), error=error)
        assert not path.exists()
        return str(found)

    for name in ("dialect", "table", "column"):
        assert "expected it beside --to sql" in tried(**{name: None})
    # The names of new tables would be cut at 57 letters.
    for table in ("", ".", "a..b", "a.", 'a"b', '"a', "x" * 57, "x" * 64, "é" * 32, "a\0b", 3):
        tried(table=table)
    for keep in (["x"], ["id", "id"], [""], 3):
        tried(keep=keep)
    tried(into="people")
    for column in ([], ""):
        tried(column=column)
    tried(column=["x", "y"], error=KernelError)  # the inputs are no pairs
    pairs = md.Mechanism(np.eye(2), [("a", 1), ("b", 1)], ["a", "b"])
    tried(pairs, column=["x", "y"], keep=["x_y"])
    tried(pairs, column=["x", "x"])
    tried(pairs, column=["x", "y", "z"], error=KernelError)
    refused(lambda: md.export(ZERO, path, to="javascript", table="people"), "--to sql")
    third = md.Mechanism([[1 / 3, 2 / 3], [0.5, 0.5]], ["a", "b"], ["a", "b"])
    assert "md.certify" in tried(third, KernelError)
    for labels in ([1, "1"], ["a\0", "b"], [("a", 1), ("b", 2)], [0.5, 2**60 + 1], [True, 2]):
        tried(md.Mechanism(np.eye(2), labels, ["a", "b"]), KernelError)
    tried(md.Mechanism(np.eye(2), ["a", "b"], ["a", None]), KernelError)


@pytest.mark.parametrize("bits", [53, 54, 60])
def test_weights_of_53_bits_are_taken_and_finer_ones_refused(bits):
    kernel = md.Mechanism.from_weights([[1, (1 << bits) - 1]], bits, ["a"], ["a", "b"])
    if bits > DENOMINATOR_BITS:
        refused(lambda: list(intervals(kernel)), "md.certify", error=KernelError)
    else:
        assert list(intervals(kernel)) == [("a", "a", 0, 1), ("a", "b", 1, ONE)]


def test_from_a_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    md.save(ZERO, "m.json")
    words = ["export", "m.json", "--to", "sql", "--table", "people", "--column", "x"]
    more = ["--dialect", "postgresql", "--keep", "id", "--keep", "town", "--into", "told"]
    assert main([*words, *more, "-o", "draw.sql"]) == 0
    assert capsys.readouterr().err == "saved draw.sql\n"
    text = (tmp_path / "draw.sql").read_text()
    assert 'SELECT k.output AS "x", t.c1 AS "id", t.c2 AS "town"' in text
    for arguments in ([*words, "-o", "a.sql"], [*words, "--dialect", "duckdb", "-o", "a.sql"]):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert said.count("\n") == 1
    assert not (tmp_path / "a.sql").exists()


@needs_postgresql
@pytest.mark.parametrize("table", ["people", "o\"dd.my 'table"])
def test_the_header_says_how_to_estimate_from_the_reports(
    cluster, tmp_path, monkeypatch, capsys, table
):
    found = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.Estimation(), md.LDP(1))
    md.save(found, tmp_path / "x.json")
    schema, _, name = table.rpartition(".")
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name) if part)
    if schema:
        cluster.do(f"DROP SCHEMA IF EXISTS {quoted.partition('.')[0]} CASCADE;")
        cluster.do(f"CREATE SCHEMA {quoted.partition('.')[0]};")
    fill(cluster, quoted, [(i, LABELS[i % 3]) for i in range(600)])
    text = script(tmp_path, found, table=quoted)
    cluster.do(text)
    head = text.partition("\nBEGIN")[0].splitlines()
    assert all(line.startswith("--") for line in head)
    steps = [line.removeprefix("--").strip() for line in head if line.startswith("--   ")]
    *copies, estimate = steps
    environment = {**os.environ, "PGHOST": str(cluster.folder), "PGUSER": "test"}
    environment |= {"PGDATABASE": "postgres", "PATH": f"{cluster.psql.parent}:{os.environ['PATH']}"}
    for step in copies:
        subprocess.run(step, shell=True, check=True, cwd=tmp_path, env=environment)
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(estimate)
    assert program == "mechdesign"
    assert main([w.replace("DESIGN", "x.json") for w in words]) == 0
    said = capsys.readouterr()
    assert "600 reports" in said.out
    assert "no receipt" not in said.out + said.err
    kernel = json.loads((tmp_path / "receipt.json").read_text())["receipts"]["x"]["kernel"]
    assert f"kernel {kernel[:12]}…" in head[0]
    other = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.Estimation(), md.LDP(2))
    md.save(other, tmp_path / "other.json")
    assert main([w.replace("DESIGN", "other.json") for w in words]) == 2
    assert f"reports of another (kernel {kernel[:12]}…" in capsys.readouterr().err
