"""One survey walks through every form of table, from design to estimate, with the same outcome."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from engines import needed, spark_session
from test_reading import packed, workbook

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError
from mechdesign.tables import files
from mechdesign.tables.reading import open_table, read_columns

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

JOBS = {"Büro; Verkauf": 56, "Lehre": 37, 'Leitung, "oben"': 15, "Sonstige": 12}
ROWS = [
    (7 * i, job, 20 + i % 40) for i, job in enumerate(j for j, n in JOBS.items() for _ in range(n))
]
NAMES = ["id", "job", "age"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)


def text(sep):
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=sep).writerows([NAMES, *ROWS])
    return buffer.getvalue()


def halves(folder):
    """Two files of one table."""
    folder.mkdir()
    for i, part in enumerate((FRAME[:50], FRAME[50:])):
        part.to_parquet(folder / f"{i}.parquet")


def stream(path):
    table = pa.Table.from_pandas(FRAME)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=32)


# How a table is written, how it is named, and the ending of its reports.
FORMS = {
    "a.csv": (lambda p: p.write_bytes(text(",").encode("utf-8-sig")), "", ".csv"),
    "b.csv": (lambda p: p.write_bytes(text(";").encode("latin-1")), "", ".parquet"),
    "c.tsv.gz": (lambda p: packed(p, text("\t").encode()), "", ".feather"),
    "d.csv.zst": (lambda p: packed(p, text("|").encode("utf-16")), "", ".csv.gz"),
    "e.parquet": (lambda p: FRAME.to_parquet(p), "", ".arrows"),
    "f.feather": (lambda p: FRAME.to_feather(p), "", ".tsv"),
    "g.xlsx": (lambda p: workbook(p, [NAMES, *ROWS]), "", ".parquet"),
    "h.arrows": (stream, "", ".csv.zst"),
    "i": (halves, "", ""),
    "j": (halves, "*.parquet", ""),
    "k.csv": (lambda p: p.write_text(text(",")), "-", ".csv"),
}
FRAMES = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "polars, lazy": lambda: pl.from_pandas(FRAME).lazy(),
    "Arrow": lambda: pa.Table.from_pandas(FRAME),
    "Arrow batches": lambda: pa.Table.from_pandas(FRAME).to_batches(50),
    "DuckDB": lambda: needed("duckdb").from_arrow(pa.Table.from_pandas(FRAME)),
    "Dask": lambda: needed("dask.dataframe").from_pandas(FRAME, npartitions=2),
    "Spark": lambda: spark_session().createDataFrame(FRAME),
}


def run(*words):
    assert main([str(word) for word in words]) == 0, words


SPARK = [pytest.mark.slow, pytest.mark.filterwarnings("default", "ignore::ResourceWarning")]


@pytest.mark.parametrize("is_spark", [False, pytest.param(True, marks=SPARK)])
def test_a_survey_in_every_form_has_one_design_and_one_set_of_reports(
    is_spark, tmp_path, capsys, monkeypatch
):
    """Of the command line and of Python: 7 and "7" are one person, who has one report."""
    key, saved = tmp_path / "key", tmp_path / "m.json"
    md.release_key(key)
    expected = md.design(md.Prior.from_counts(JOBS), md.utility.Estimation(), md.LDP(1.5))
    by_key = {"row": "id", "key": key}
    drawn = md.privatize(FRAME, "job", expected, **by_key)["job"].tolist()
    shares = md.estimate(drawn, expected).values.tolist()
    asked = ["--column", "job", "-p", "ldp:1.5", "-u", "estimation", "--output", saved, "--force"]
    estimates = []
    for name, (write, pattern, ending) in FORMS.items() if not is_spark else ():
        path, out = tmp_path / name, tmp_path / f"out-{name}{ending}"
        write(path)
        said = ["--encoding", "latin-1"] if name == "b.csv" else []
        table = path / pattern if "*" in pattern else pattern or path
        files._copied_input.cache_clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text(";").encode())))
        run("design", table, *asked, *said)
        assert md.load(saved).mechanism == expected.mechanism
        ledger = ["--ledger", tmp_path / f"{name}.ledger", "--row", "id", "--key", key]
        source = path if pattern == "-" else table
        run("apply", saved, source, "--column", "job", "-o", out, *ledger, *said)
        reports, ids = read_columns(out, ["job", "id"])
        assert (reports, [*map(int, ids)]) == (drawn, FRAME["id"].tolist()), name
        capsys.readouterr()
        run("estimate", saved, out, "--column", "job", "--json")
        told = json.loads(capsys.readouterr().out)
        estimates.append([told[part] for part in ("rows", "kernel", "reports", "shrunk")])
        # The same in Python, and of several files.
        encoding = said[-1] if said else None
        parts = [*path.iterdir()] if path.is_dir() else table
        assert md.Prior.from_data(table, "job", encoding=encoding) == expected.prior
        assert md.Prior.from_data(parts, "job", encoding=encoding) == expected.prior
        assert md.estimate(out, expected, "job").values.tolist() == pytest.approx(shares)
    assert estimates == estimates[:1] * len(estimates)
    assert all([row["estimate"] for row in each[0]] == pytest.approx(shares) for each in estimates)
    for name in FRAMES:
        if (name == "Spark") == is_spark:
            made = md.privatize(FRAMES[name](), "job", expected, **by_key)
            made = list(made) if name == "Arrow batches" else made
            assert read_columns(made, ["job"]) == [drawn], name
            assert md.Prior.from_data(FRAMES[name](), "job") == expected.prior
            assert md.estimate(made, expected, "job").values.tolist() == pytest.approx(shares)
            if is_spark:
                made.sparkSession.stop()
    files._copied_input.cache_clear()


def test_reports_that_are_symbols_keep_the_categories_and_their_order(tmp_path):
    """A design of a file has sorted labels; low < medium < high is what the column says."""
    levels = ["low", "medium", "high"]
    values = ["high", "low", "medium", "low"] * 9
    made = md.design(md.Prior.uniform(sorted(levels)), md.utility.Hamming(), md.LDP(3), levels)
    frame = pd.DataFrame({"x": pd.Categorical(values, levels, ordered=True)})
    coded = pa.DictionaryArray.from_arrays([levels.index(v) for v in values], levels, ordered=True)
    table = pa.table({"x": pa.chunked_array([coded[:5], coded[5:]])})
    for given in (frame, pl.DataFrame({"x": values}, {"x": pl.Enum(levels)}), table):
        out = md.privatize(given, "x", made, rng=1)["x"]
        kind = given.schema.field("x").type if given is table else given["x"].dtype
        assert (out.type if given is table else out.dtype) == kind
        assert md.Prior.from_data(out).labels == tuple(levels)
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    for name in ("o.parquet", "o.csv", "o.tsv.gz"):
        out = tmp_path / name
        md.privatize_file(tmp_path / "t.parquet", out, "x", made, ledger=False, rng=1)
        assert md.Prior.from_data(out, "x").labels == tuple(levels)
        assert open_table(out).schema.field("x").type.ordered
        assert md.estimate(out, made, "x").values.sum() == pytest.approx(1)
    # The note beside a text file tells it. What was not written with it is refused, quoted nowhere.
    note = Path(f"{out}.receipt.json")
    told = json.loads(note.read_text())
    assert told["types"] == {"x": {"ordered": levels}}
    for wrong in ({"ordered": ["low", "high"]}, {"ordered": ["a", "a"]}, {"ordered": [1]}, {}, 7):
        note.write_text(json.dumps(told | {"types": {"x": wrong}}))
        with pytest.raises(DataError, match="expected") as refused:
            md.Prior.from_data(out, "x")
        assert "medium" not in str(refused.value)


def test_frames_of_text_have_the_labels_of_a_design_of_dates_times_and_decimals(tmp_path):
    """pandas reads dates as text, decimals as floats, and integers as floats where some miss."""
    columns = {
        "day": [dt.date(2024, 2, 29), dt.date(1999, 1, 1), dt.date(2024, 3, 1)],
        "at": [dt.datetime(2024, 2, 29, 12, 30), dt.datetime(2024, 2, 29), dt.datetime(1999, 1, 1)],
        "zoned": [dt.datetime(2024, 2, 29, hour, tzinfo=dt.UTC) for hour in (0, 5, 7)],
        "clock": [dt.time(8), dt.time(9, 30), dt.time(23, 59, 59)],
        "paid": [Decimal("0.10"), Decimal("1.25"), Decimal("7")],
        "n": [1, 2, 30],
    }
    table = {"id": range(30)} | {name: values * 10 for name, values in columns.items()}
    frame, key = pd.DataFrame(table), md.release_key(tmp_path / "key")
    frame.to_csv(tmp_path / "t.csv", index=False)
    read, parsed = (
        pd.read_csv(tmp_path / "t.csv", parse_dates=dates) for dates in ([], ["day", "at"])
    )
    for name, labels in columns.items():
        made = md.randomised_response(md.Prior.uniform(labels), 2)
        out = md.privatize(frame, name, made, row="id", key=key)
        drawn = out[name].tolist()
        for other in (read, parsed, pl.from_pandas(read), pa.Table.from_pandas(parsed)):
            again = md.privatize(other, name, made, row="id", key=key)
            assert [*map(made.outputs.index, read_columns(again, [name])[0])] == [
                *map(made.outputs.index, drawn)
            ], (name, type(other))
        expected = md.estimate(out, made, name).values
        out.to_csv(tmp_path / "out.csv", index=False)
        reports = pd.read_csv(tmp_path / "out.csv")
        if name == "n":
            reports[name] = reports[name].astype(float)
        md.save_receipt(out, tmp_path / "said.json", overwrite=True)
        for said in (tmp_path / "said.json", None):
            told = md.estimate(reports, made, name, receipt=said)
            assert told.values.tolist() == expected.tolist()
        for wrong in ("2024-02-30", "snan", "", "x", 5.5, b"1"):
            with pytest.raises(DataError, match="expected"):
                md.privatize(pd.DataFrame({name: [wrong]}), name, made)


def test_every_command_is_told_how_text_is_written(tmp_path, capsys):
    """The same table in two forms, of which one has to be told."""
    rows = [
        (who, job, said, 1 + who % 3, 59 + who % 7 / 10, 18 + who % 5 / 10)
        for who, (_, job, _) in enumerate(ROWS)
        for said in [("née", "ja")[who % 2]]
    ]
    names = ["who", "job", "answer", "n", "latitude", "longitude"]
    plain, odd, kernel = tmp_path / "plain.csv", tmp_path / "odd.csv", tmp_path / "m.json"
    for path, sep, encoding in ((plain, ",", "utf-8"), (odd, "~", "latin-1")):
        with open(path, "w", encoding=encoding, newline="") as file:
            csv.writer(file, delimiter=sep).writerows([names, *rows])
    md.save(md.randomised_response(md.Prior.uniform(["née", "ja"]), 1), kernel)
    asked = {
        "design": ["--column", "job", "-p", "ldp:1"],
        "compare": ["--column", "answer", "-n", "ldp", "-n", "pml", "--levels", "1"],
        "design ": ["--column", "job", "--column", "answer", "--total", "ldp:2"],
        "estimate": ["--column", "answer", "--by-group", "job"],
        "regress": ["--column", "answer", "--response", "n"],
        "audit": ["--column", "answer", "--reported", "answer", "-p", "ldp:9"],
        "places": ["--level", "ln2", "--within", "9000", "--bounds", "58,17,61,20", "--cells", "2"],
        "pram": ["--column", "answer", "-p", "ldp:1"],
    }
    files = {"estimate": 1, "regress": 1}
    for command, options in asked.items():
        told = []
        for path, form in ((plain, []), (odd, ["--sep", "~", "--encoding", "latin-1"])):
            tables = [kernel, *[path] * files[command]] if command in files else [path]
            code = main([*map(str, [command.strip(), *tables, *options, *form, "--json"])])
            said = capsys.readouterr()
            # So few reports prove no level, which is what the command ends with.
            assert code == (1 if command == "audit" else 0), (command, said.err)
            told.append(json.loads(said.out.replace("odd.csv", "plain.csv")))
        assert told[0] == told[1], command
