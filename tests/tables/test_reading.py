"""Every table that an office has is opened by one function: forms of files, types, hostile ones."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections import Counter
from decimal import Decimal
from functools import partial
from pathlib import Path

import checks
import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.errors import DataError, InputError, UnknownNameError
from mechdesign.tables.counting import count_labels, distinct_rows
from mechdesign.tables.reading import open_table, read_columns
from mechdesign.tables.text import Dialect

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

refused = partial(checks.refused, error=DataError)

NAMES = ["id", "job", "note", "paid"]
ROWS = [
    [1, "nurse", "a, b; c", 0.5],
    [2, "clerk", 'says "no"', 1.25],
    [3, "nurse", "two\nlines", 2.0],
    [4, "Lehrer über Ähren", "", 3.75],
]
COLUMNS = dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True))
JOBS = {"Lehrer über Ähren": 1, "clerk": 1, "nurse": 2}


def text_of(sep=",", end="\n", rows=ROWS, names=NAMES):
    buffer = io.StringIO()
    import csv

    writer = csv.writer(buffer, delimiter=sep, lineterminator=end)
    writer.writerows([names, *rows])
    return buffer.getvalue()


def workbook(path, rows):
    """A workbook with one sheet, as small as can be."""

    def cell(value):
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, (int, float)):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t xml:space="preserve">{value}</t></is></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    sheet = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        f'<Override PartName="/xl/s.xml" ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="s" sheetId="1" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="a" Type="{office}/worksheet" Target="s.xml"/></Relationships>',
        "xl/s.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def packed(path, content):
    with pa.output_stream(str(path), compression="detect") as file:
        file.write(content)


def arrow(path, new):
    table = pa.table(COLUMNS)
    with new(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


def parquet(path):
    from pyarrow import parquet as files

    files.write_table(pa.table(COLUMNS), path, row_group_size=3)


FORMS = {
    "sep.csv": lambda p: p.write_text("sep=;\n" + text_of(";")),
    "b.csv": lambda p: p.write_text(text_of(";", "\r\n")),
    "h.csv.gz": lambda p: packed(p, text_of().encode()),
    "i.csv.zst": lambda p: packed(p, text_of().encode()),
    "j.parquet": parquet,
    "k.feather": lambda p: arrow(p, pa.ipc.new_file),
    "l.arrows": lambda p: arrow(p, pa.ipc.new_stream),
    "m.xlsx": lambda p: workbook(p, [NAMES, *ROWS]),
    "no ending": lambda p: p.write_text(text_of()),
}
FRAMES = {
    "mapping": lambda: COLUMNS,
    "arrow batch": lambda: pa.record_batch(COLUMNS),
    "arrow reader": lambda: pa.table(COLUMNS).to_reader(max_chunksize=2),
    "generator": lambda: (batch for batch in pa.table(COLUMNS).to_batches(max_chunksize=2)),
}


def form(name, folder):
    path = folder / name
    FORMS[name](path)
    return path


@for_each("name", FORMS)
def test_every_form_of_file_is_read_alike(name, tmp_path):
    path = form(name, tmp_path)
    assert count_labels(path, ["job"]) == JOBS
    table = open_table(path)
    assert list(table.names) == NAMES
    (cells,) = read_columns(table.batches(), ["note"])
    assert [cell or "" for cell in cells] == COLUMNS["note"]
    prior = md.Prior.from_csv(path, ["job", "paid"])
    assert prior == md.Prior.from_data(COLUMNS, ["job", "paid"])


@for_each("name", FRAMES)
def test_every_table_in_memory_is_read_alike(name):
    assert count_labels(FRAMES[name](), ["job"]) == JOBS
    assert md.Prior.from_data(FRAMES[name](), ["job", "id"]).labels[1] == ("clerk", 2)
    refused(lambda: count_labels(FRAMES[name](), ["jobs"]), "did you mean", error=UnknownNameError)


def test_several_files_are_one_table(tmp_path):
    for number, row in enumerate(ROWS):
        (tmp_path / f"{number}.csv").write_text(text_of(rows=[row]))
    (tmp_path / "_notes.txt").write_text("no table")
    assert count_labels(sorted(map(str, tmp_path.glob("*.csv"))), ["job"]) == JOBS
    assert count_labels([tmp_path / "0.csv"], ["job"]) == {"nurse": 1}
    (tmp_path / "3.csv").write_text("id,work\n1,nurse\n")
    refused(lambda: count_labels(tmp_path, ["job"]), error=UnknownNameError)


# What is found, and what is said


def test_the_separator_is_found_or_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    for text, found in (
        ("a;b\n1,5;2\n", ";"),
        ("a,b;c\n1;2,3;4\n", ","),
        ("a,b;c\n1,2;3\n", None),
        ("one column\nx\n", ","),
        ('"a,b"\t"c"\n"d,e"\tf\n', "\t"),
        ("a,b\n1,2,3\n", ","),
    ):
        path.write_text(text)
        if found is None:
            refused(lambda: open_table(path), "part alike", "--sep")
        else:
            assert open_table(path).dialect.sep == found
    path.write_text("a~b\n1~2\n")
    assert open_table(path, Dialect(sep="~")).names == ["a", "b"]
    assert open_table(path, Dialect(sep="tab")).names == ["a~b"]
    for sep in ("", "ab", '"', "\n", 3, "é"):
        refused(lambda sep=sep: Dialect(sep=sep), "one sign", error=InputError)
    for encoding in ("klingon", "hex", 3):
        refused(lambda e=encoding: Dialect(encoding=e), "latin-1", error=UnknownNameError)


def test_a_wrong_encoding_is_refused_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(text_of().encode("latin-1"))
    said = refused(lambda: count_labels(path, ["id"]), "UTF-8", "in line 6", "--encoding latin-1")
    assert "Lehrer" not in str(said)
    path.write_bytes(text_of().encode("utf-16-le"))
    refused(lambda: count_labels(path, ["id"]), "zero byte in line 1", "utf-16")
    assert count_labels(path, ["job"], dialect=Dialect(encoding="utf-16-le")) == JOBS
    path.write_bytes(("x\n" + "aé" * 300_000 + "\n").encode() + b"\xff\n")
    refused(lambda: count_labels(path, ["x"]), "in line 3")


# Hostile files: one line each, that quotes no cell


SECRET = "secret"
HOSTILE = {
    "too few cells": ("a,b\n1,2\nsecret\n", "2 cells in every row", "got 1, in line 3"),
    "too many cells": ('a,b\n"x\ny",2\nsecret,3,4\n', "got 3, in line 4"),
    "short after a long column": ("a,b\n" + "1,2\n" * 300_000 + "secret\n", "in line 300002"),
    "an open quote at the end": ('a,b\n1,2\n3,"secret\n4,5\n', "quotes that are closed"),
    "an open quote in a single column": ('a\n1\n"secret\n4\n', "quotes that are closed"),
    "an open quote amid a row": ('a,b\n1,2\n"secret,3\n4,5\n', "2 cells", "in line 3"),
    "a zero byte": ("a,b\n1,2\nsecret\0,3\n", "a zero byte in line 3"),
    "no rows": ("a,b\n", "at least one row"),
    "nothing": ("", "an empty file"),
    "blank lines": ("\n\n\n", "an empty file"),
    "a name twice": ("a,a\nsecret,2\n", "more than once"),
    "a name of 200,000 signs": ("a,b" + "c" * 200_000 + "\n1,2\n", "131,072 signs"),
}


@for_each("name", HOSTILE)
def test_hostile_text_is_refused_in_one_line(name, tmp_path):
    text, *words = HOSTILE[name]
    (tmp_path / "t.csv").write_bytes(text.encode())
    said = refused(lambda: count_labels(tmp_path / "t.csv", ["a"]), *words)
    assert SECRET not in str(said)
    assert len(str(said)) < 400


def test_large_cells_mixed_line_ends_and_many_columns_are_read(tmp_path):
    path = tmp_path / "t.csv"
    cell = "y" * 10_000_000
    path.write_text(f'a,b\n1,2\n"{cell}\n",3\r\n4,5\r6,7')
    assert [*map(len, read_columns(path, ["a"])[0])] == [1, 10_000_001, 1, 1]
    assert read_columns(path, ["b"]) == [["2", "3", "5", "7"]]
    names = [f"c{i}" for i in range(10_000)]
    path.write_text(",".join(names) + "\n" + ",".join("x" for _ in names) + "\n")
    assert read_columns(path, ["c9999", "c0"]) == [["x"], ["x"]]
    path.write_text(f"a,b\n1,2\n{cell}\n")
    refused(lambda: read_columns(path, ["a"]), "got 1, in line 3")
    path.write_text(f"a,b\n1,2\n{cell},1\n")
    refused(lambda: count_labels(path, ["a"]), "at most 10,000 signs, each")
    path.write_text("a,b\n" + "z" * (1 << 27) + ",1\n")
    refused(lambda: read_columns(path, ["b"]), "67,108,864 bytes, got a longer one")


def test_damaged_files_are_refused(tmp_path, monkeypatch):
    for name in ("h.csv.gz", "i.csv.zst", "j.parquet", "k.feather", "l.arrows", "m.xlsx"):
        path = form(name, tmp_path)
        whole = path.read_bytes()
        for size in (len(whole) // 2, len(whole) - 3):
            path.write_bytes(whole[:size])
            refused(lambda path=path: count_labels(path, ["job"]), f"table {name}")
    path = form("m.xlsx", tmp_path)
    monkeypatch.setattr("mechdesign.tables.reading._LARGEST_SHEET", 500)
    refused(lambda: count_labels(path, ["job"]), "at most 500 bytes, unpacked")
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w") as archive:
        archive.writestr("a.txt", "a")
    refused(lambda: count_labels(tmp_path / "x.xlsx", ["a"]), "a workbook")
    (tmp_path / "x.sav").write_bytes(b"$FL2 something")
    refused(lambda: count_labels(tmp_path / "x.sav", ["a"]), ".parquet", "convert it")


# Types keep their meaning

DAY, TIME = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4)
VALUES = {
    "bool": [False, True, True],
    "int8": [1, -2, 1],
    "uint64": [2**63, 1, 1],
    "float64": [0.5, -1.5, 0.5],
    "string": ["b", "a", "b"],
    "date32": [DAY, DAY, dt.date(1999, 12, 31)],
    "timestamp[us]": [TIME, TIME, dt.datetime(1999, 1, 1)],
    "decimal128(5, 2)": [Decimal("1.50"), Decimal("-2.25"), Decimal("1.50")],
    "binary": [b"x", b"\0", b"x"],
    "time64[us]": [dt.time(1, 2), dt.time(1, 2), dt.time(3)],
    "null ints": [1, None, 1],
}
KINDS = {"decimal128(5, 2)": pa.decimal128(5, 2), "null ints": pa.int32()}
ENTRIES = {
    "arrow": lambda a: pa.table({"x": a}),
    "arrow chunks": lambda a: pa.table({"x": pa.chunked_array([a[:1], a[1:]])}),
    "arrow dictionary": lambda a: pa.table({"x": a.dictionary_encode()}),
    "pandas": lambda a: pa.table({"x": a}).to_pandas(),
    "pandas arrow": lambda a: pa.table({"x": a}).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas arrow dictionary": lambda a: pa.table({"x": a.dictionary_encode()}).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
    "polars": lambda a: pl.from_arrow(pa.table({"x": a})),
    "polars lazy": lambda a: pl.from_arrow(pa.table({"x": a})).lazy(),
    "duckdb": lambda a: duckdb.from_arrow(pa.table({"x": a})),
    "mapping": lambda a: {"x": a.to_pylist()},
    "parquet": lambda a: pa.table({"x": a}),
    "feather": lambda a: pa.table({"x": a}),
}


def kind_of(table):
    """The type of a column, as its library calls it."""
    if isinstance(table, Path):
        return open_table(table).schema.field("x").type
    if isinstance(table, duckdb.DuckDBPyRelation):
        return table.dtypes[0]
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    return table["x"].type if isinstance(table, pa.Table) else table["x"].dtype


def entered(entry, array, folder):
    made = ENTRIES[entry](array)
    if entry not in ("parquet", "feather"):
        return made
    from pyarrow import feather
    from pyarrow import parquet as files

    path = folder / f"x.{entry}"
    (files.write_table if entry == "parquet" else feather.write_feather)(made, path)
    return path


def check_text(source, out, kernel, options):
    """Reports in a text file are read back by the types that stand in its receipt."""
    path = out.with_suffix(".csv")
    md.privatize_file(source, path, "x", kernel, **options)
    drawn, kept = read_columns(path, ["x"])[0], read_columns(out, ["x"])[0]
    assert drawn == kept
    assert [*map(type, drawn)] == [*map(type, kept)]
    found = [md.estimate(one, kernel, "x", missing="drop").values for one in (path, out)]
    assert found[0].tolist() == found[1].tolist()
    assert md.Prior.from_data(path, "x", missing="drop") == md.Prior.from_data(
        out, "x", missing="drop"
    )


@for_each(("kind", "entry"), [(kind, entry) for kind in VALUES for entry in ENTRIES])
def test_every_type_through_every_entry_keeps_its_values(kind, entry, tmp_path):
    if entry.endswith("dictionary") and kind == "null ints" and entry.startswith("pandas"):
        return  # pandas has no such type
    values = VALUES[kind]
    array = pa.array(values, KINDS.get(kind) or pa.type_for_alias(kind.split(" ")[0]))
    found = count_labels(entered(entry, array, tmp_path), ["x"], missing="drop")
    expected = {v: values.count(v) for v in values if v is not None}
    assert found == expected
    known = {type(v) for v in expected} | {pd.Timestamp}
    if (kind, entry) == ("null ints", "pandas"):
        known.add(float)
    assert {type(label) for label in found} <= known
    if entry == "mapping":
        return
    # Reports that are symbols have the type of the column, and can be estimated from.
    entered_again = entered(entry, pa.chunked_array([array] * 5).combine_chunks(), tmp_path)
    there = count_labels(entered_again, ["x"], missing="drop")
    labels = [*there, *([2] if kind == "null ints" else [])]
    kernel = md.randomised_response(md.Prior.uniform(labels), 2)
    if isinstance(entered_again, Path):
        out = tmp_path / f"out{entered_again.suffix}"
        options = {"rng": 1, "ledger": False, "missing": "keep"}
        md.privatize_file(entered_again, out, "x", kernel, **options)
        if kind != "binary":
            check_text(entered_again, out, kernel, options)
    else:
        out = md.privatize(entered_again, "x", kernel, rng=1, missing="keep")
    assert kind_of(out) == kind_of(entered_again)
    (reports,) = read_columns(out, ["x"])
    assert {value for value in reports if value is not None and value == value} <= set(labels)
    assert md.estimate(out, kernel, "x", missing="drop").reports == sum(there.values())


def test_receipts_whose_types_do_not_fit_are_refused(tmp_path):
    path, note = tmp_path / "t.csv", tmp_path / "t.csv.receipt.json"
    path.write_text("x,n\n2020-01-02,1\n'-1,2\n")
    for told, words in (
        ('{"types": {"x": "date32[day]"}}', ["values of type date32[day]", "must not be edited"]),
        ('{"types": {"x": "date33"}}', ["types of columns", "something else"]),
        ('{"types": ["x"]}', ["types of columns"]),
        ('{"types": {"x": 1}}', ["types of columns"]),
        ("[]", ["types of columns"]),
        ("{", ["types of columns"]),
    ):
        note.write_text(told)
        refused(lambda: read_columns(path, ["x"]), *words)
    note.write_text('{"types": {"n": "int64", "gone": "bool"}}')
    assert read_columns(path, ["x", "n"]) == [["2020-01-02", "'-1"], [1, 2]]


def test_chunks_of_other_dictionaries_and_integers_of_128_bits_are_read():
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), levels, ordered=True)
        for places, levels in (([1, 0, 0], ["low", "high"]), ([0, 1], ["never", "low"]))
    ]
    assert count_labels(pa.chunked_array(chunks)) == {"low": 3, "high": 1, "never": 1}
    assert count_labels(pl.Series([2**100, 1, 1], dtype=pl.Int128)) == {1: 2, 2**100: 1}


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.none() | st.text(max_size=1))),
    st.integers(1, 4),
)
def test_distinct_rows_are_those_of_a_counter(rows, size):
    parts = [
        [np.array(a), list(b), list(c)]
        for a, b, c in (zip(*rows[i : i + size], strict=True) for i in range(0, len(rows), size))
    ]
    assert distinct_rows(parts, "xyz").counts == Counter(rows)
    assert distinct_rows([part[:1] for part in parts], "x").counts == Counter(
        row[:1] for row in rows
    )
