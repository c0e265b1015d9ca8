"""Files and the command line: streamed, whole or not at all, named by their receipts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, refused
from entropy import draws_decide_nothing

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, StorageError, UnknownNameError
from mechdesign.release.receipts import file_receipts, kernel_fingerprint, public_fingerprint
from mechdesign.release.reports import sample_of
from mechdesign.storage import seal
from mechdesign.tables.reading import open_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

LABELS = ["1st", "2nd", "3rd", "crew"]
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1.5))
KEY = md.release_key()
NOTES = ["", "plain", 'with "quotes"', "comma, here", "two\nlines", "ünïcode", "007"]


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A folder with a table as CSV and as Parquet, and the design as a file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "id": [f"{i:05d}" for i in range(3000)],
            "class": rng.choice(LABELS, 3000),
            "note": rng.choice(NOTES, 3000),
        }
    )
    frame.to_csv("people.csv", index=False)
    frame.to_parquet("people.parquet", row_group_size=1000)
    md.save(FOUND, "design.json")
    return frame


@pytest.fixture
def run(people, capsys):
    def call(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


def folder(tmp_path):
    return sorted(p.name for p in tmp_path.iterdir())


# In Python


@for_each("name", ["people.csv", "people.parquet"])
def test_receipts_of_files_name_the_mechanism(people, name):
    target = "reports" + name[6:]
    receipt = md.privatize_file(name, target, "class", FOUND)
    found = file_receipts(target)["class"]
    assert found == receipt
    assert found.kernel == kernel_fingerprint(FOUND.mechanism)
    assert found.design == public_fingerprint(FOUND.mechanism, FOUND.notions)
    assert found.rows == len(md.count_reports(target, FOUND, "class")) == 3000
    other = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1.4))
    refused(lambda: sample_of(target, {"class": other}), "another", error=DataError)
    refused(lambda: md.privatize_file(target, "x" + target, "class", FOUND), "reports")
    if name == "people.csv":
        file = Path(target)
        file.write_text(file.read_text().replace("crew", "1st", 1))
        refused(lambda: md.count_reports(target, FOUND, "class"), "other contents")
        Path("reports.csv.receipt.json").write_text("{}")
        refused(lambda: md.count_reports(target, FOUND, "class"), "receipt")


def test_counts_of_a_file_are_those_of_labels(tmp_path):
    """Cells of a text file name labels by their text, and blank ones are missing reports."""
    texts = md.Mechanism(np.eye(2), ["none", "b"], ["none", "b"])
    numbers, path = md.Mechanism(np.eye(3), [1, 2, 3], [1, 2, 3]), tmp_path / "r.csv"
    path.write_text("n,w\n1,b\n1.0, b\n2,none\nNA,none\n2,\n")
    told = sample_of(path, {"n": numbers, "w": texts}, missing="drop", fewest=0)
    assert told.tally(3, 2).tolist() == [[0, 2], [1, 0], [0, 0]]
    refused(lambda: sample_of(path, {"w": texts}), "got 1 row without", error=DataError)
    path.write_text("n\n1\n4\n5\n")
    found = refused(lambda: sample_of(path, {"n": numbers}), "2 other values", error=DataError)
    assert "4" not in str(found)


def test_parquet_files_keep_their_other_columns_types_and_statistics(tmp_path):
    """Random reports of every kind stand in every row group; the other columns keep theirs."""
    table = pa.table(
        {
            "n": pa.array([1, None] * 500, pa.int8()),
            "x": pa.array([LABELS[i % len(LABELS)] for i in range(1000)]),
            "when": pa.array([1, 2] * 500, pa.timestamp("us", tz="UTC")),
            "nested": [{"x": i, "list": [i]} for i in range(1000)],
        }
    )
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source, compression="zstd", row_group_size=300)
    md.privatize_file(source, target, "x", FOUND, ledger=False)
    with pq.ParquetFile(target) as made:
        assert made.schema_arrow.remove_metadata() == table.schema
        metadata, leaves = made.metadata, len(made.schema)
        assert made.read().drop_columns("x").equals(table.drop_columns("x"))
    told = {}
    for group in range(metadata.num_row_groups):
        for i in range(leaves):
            column = metadata.row_group(group).column(i)
            told.setdefault(column.path_in_schema, set()).add(column.is_stats_set)
            assert column.compression == "ZSTD"
    assert told == {"x": {False}, **{path: {True} for path in told if path != "x"}}
    assert {path.partition(".")[0] for path in told} == set(table.schema.names)


@for_each(
    "labels, before, after",
    [
        (["a", "b"], 'x,y\na,"1,5"\nNA,2\n,3\nb,4\n', 'x,y\na,"1,5"\n,2\n,3\nb,4\n'),
        (["a", "b"], "x\na\nb\n", None),
        ([1.0, 2.5], "x,y\n1,a\n2.5,b\n 1.0 ,c\n", "x,y\n1,a\n2.5,b\n1,c\n"),
    ],
)
def test_cells_of_text_are_read_by_value_and_written_as_they_were(tmp_path, labels, before, after):
    exact = md.Mechanism(np.eye(2), labels, labels)
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text(before)
    if "NA" in before:
        call = lambda: md.privatize_file(source, target, "x", exact)  # noqa: E731
        refused(call, "2 in the 4 rows read", error=DataError)
    md.privatize_file(source, target, "x", exact, missing="keep", ledger=False)
    assert target.read_text() == (after or before)


def test_bad_files_leave_nothing_behind(people, tmp_path):
    (tmp_path / "empty.csv").write_text("class,y\n")
    (tmp_path / "ragged.csv").write_text("class,y\n1st,2\n1st\n")
    (tmp_path / "no.parquet").write_text("this is no Parquet")
    pq.write_table(pa.table({"class": pa.array([], pa.string())}), "empty.parquet")
    before = folder(tmp_path)
    usual = {"source": "people.csv", "target": "out.csv", "column": "class", "mechanism": FOUND}
    for asked, said, error in (
        ({"column": "clas"}, ("'clas'",), UnknownNameError),
        ({"column": "id"}, ("3000 other values", "row 1;"), DataError),
        ({"column": "id", "show_values": True}, ("'00000'",), DataError),
        ({"target": "out.xlsx"}, ("ends in .csv",), DataError),
        ({"source": "people.sav"}, (".parquet",), DataError),
        ({"source": "gone.csv"}, ("existing file",), DataError),
        ({"source": "people.parquet", "column": "id"}, (), DataError),
        ({"missing": "replace", "replacement": "5th"}, ("'5th'",), DataError),
        ({"person": "whom"}, ("'whom'",), UnknownNameError),
        ({"source": "empty.csv"}, ("at least one row",), DataError),
        ({"source": "empty.parquet"}, ("at least one row",), DataError),
        ({"source": "ragged.csv"}, ("ragged.csv",), DataError),
        ({"source": "no.parquet"}, ("no.parquet",), DataError),
    ):
        refused(lambda a=asked: md.privatize_file(**{**usual, **a}), *said, error=error)
    for target, said in (("people.csv", "exists"), ("no/such/folder.csv", "folder")):
        with pytest.raises(StorageError, match=said):
            md.privatize_file(**{**usual, "target": target})
    assert folder(tmp_path) == before


def test_a_value_that_turns_up_late_leaves_nothing_behind(tmp_path):
    """Batches that were already written disappear with the rest."""
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    values = ["1st"] * 200_000 + ["surprise"]
    pq.write_table(pa.table({"x": values}), source)
    message = "1 other value in 1 of the 200001 rows read, first in row 200001"
    found = refused(lambda: md.privatize_file(source, target, "x", FOUND), message, error=DataError)
    assert "surprise" not in str(found)
    assert folder(tmp_path) == ["a.parquet"]


@pytest.mark.slow
def test_progress_is_shown_on_standard_error(people):
    script = """
import mechdesign as md
md.privatize_file("people.csv", "out.csv", "class", md.load("design.json"), progress=True)
"""
    shown = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={
            **draws_decide_nothing(),
            "FORCE_COLOR": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(md.__file__).parents[1]), *sys.path]),
        },
    )
    assert "privatising" in shown.stderr
    assert shown.stdout == ""


# Large files


@pytest.mark.slow
def test_an_interrupted_release_leaves_nothing_behind(tmp_path):
    md.save(FOUND, tmp_path / "d.json")
    codes = pa.array(np.random.default_rng(0).integers(0, 4, 6_000_000))
    pq.write_table(pa.table({"x": pa.array(LABELS).take(codes)}), tmp_path / "a.parquet")
    before = folder(tmp_path)
    arguments = ["apply", "d.json", "a.parquet", "--column", "x", "-o", "b.parquet"]
    for _ in range(5):
        work = subprocess.Popen(
            [sys.executable, "-m", "mechdesign", *arguments],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**draws_decide_nothing(), "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        deadline = time.monotonic() + 300
        while folder(tmp_path) == before and work.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        work.send_signal(signal.SIGINT)
        _, err = work.communicate(timeout=300)
        if "b.parquet" not in folder(tmp_path):
            break
        # All was written before the signal came, so nothing was interrupted: try again.
        for name in set(folder(tmp_path)) - set(before):
            (tmp_path / name).unlink()
    assert work.returncode == 130
    assert "interrupted; nothing was written" in err
    assert folder(tmp_path) == before


# The command line


def test_apply_and_estimate(run, people, tmp_path):
    asked = ["--column", "class", "-o", "r.csv"]
    code, out, err = run("apply", "design.json", "people.csv", *asked)
    assert code == 0
    assert out.startswith("3000 reports of 'class': LDP(1.5), kernel ")
    assert "random words: operating system" in out
    assert "saved r.csv" in err
    estimate = ["estimate", "design.json", "r.csv", "--column", "class"]
    code, out, err = run(*estimate, "--json")
    assert code == 0
    rows = {row["label"]: row for row in json.loads(out)["rows"]}
    truth = people["class"].value_counts(normalize=True)
    for label in LABELS:
        assert abs(rows[label]["estimate"] - truth[label]) < 6 * rows[label]["error"]
    code, out, err = run(*estimate, "--plot", "e.png")
    assert (code, "saved e.png" in err) == (0, True)
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    assert run(*estimate, "--plot", "e.png")[0] == 2  # it exists now
    assert run(*estimate, "--plot", "e.png", "--force")[0] == 0
    assert run(*estimate, "--plot", "e.txt")[0] == 2
    (tmp_path / "f.json").write_text(json.dumps({x: x == "crew" for x in LABELS}))
    for options, said in (
        (["--by", "blocks"], "unbiased inversion from 3000 reports"),
        (
            ["--feature", "f.json", "--method", "likelihood", "--intervals", "bootstrap"],
            "converged",
        ),
    ):
        code, out, _ = run(*estimate, *options)
        assert (code, said in out) == (0, True)
    code, out, _ = run(
        "apply", "design.json", "people.csv", *asked, "--force", "--seed", 3, "--json"
    )
    assert (code, json.loads(out)["for_production"]) == (0, False)
    assert run("compose", "design.json", "--times", 3)[1] == "3 reports together: LDP(4.5)\n"
    (tmp_path / "r.csv").unlink()
    code, _, err = run(*estimate)
    assert (code, "got r.csv; check the path" in err) == (2, True)


def test_mistakes_on_the_command_line(run, people, tmp_path):
    content = json.loads((tmp_path / "design.json").read_text())
    row = content["mechanism"]["weights"][0]
    row[0], row[1] = str(int(row[0]) + 2**40), str(int(row[1]) - 2**40)
    (tmp_path / "edited.json").write_text(json.dumps(content))
    (tmp_path / "sealed.json").write_text(json.dumps(seal(content)))
    before = folder(tmp_path)
    apply = ["apply", "design.json", "people.csv", "--column"]
    into = ["people.csv", "--column", "class", "-o", "x.csv"]
    estimate = ["estimate", "design.json", "people.csv", "--column"]
    for arguments, message in [
        ([*apply, "clas", "-o", "x.csv"], "did you mean 'class'?"),
        ([*apply, "id", "-o", "x.csv"], "inputs of the mechanism"),
        ([*apply, "class", "-o", "people.csv"], "exists"),
        ([*apply, "class", "-o", "people.csv", "--force"], "another file"),
        ([*apply, "class", "-o", "x.csv", "--seed", -1], "rng"),
        ([*apply, "class", "-o", "x.csv", "--missing", "drop"], "replace"),
        (["apply", "no.json", *into], "no.json"),
        (["apply", "edited.json", *into], "edited"),
        (["apply", "sealed.json", *into], "altered"),
        ([*estimate, "id"], "outputs of the mechanism"),
        ([*estimate, "x"], "'x'"),
        ([*estimate, "class", "--method", "q"], "'q'"),
        (["plan", "design.json"], "neither"),
        (["plan", "design.json", "--error", "0"], "at least 1e-07"),
    ]:
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err, err
    assert folder(tmp_path) == before


def long_file(path, **columns):
    """A file that is read in several parts, with wide cells so that they are short."""
    rows = len(next(iter(columns.values())))
    pd.DataFrame({**columns, "note": ["n" * 200] * rows}).to_csv(path, index=False)
    assert len(list(open_table(path).batches())) > 1


def test_identities_that_come_again_are_counted_in_the_whole_file(tmp_path):
    rows = 20_000
    values = [["1st", "2nd", "3rd"][i // 3 % 3] for i in range(rows)]
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    long_file(source, x=values, who=[f"p{i % 3}" for i in range(rows)])
    for who, said in (
        ({"row": "who"}, "19997 rows whose identity came before, of the 20000 rows read"),
        ({"person": "who", "key": KEY}, "several for 3 of them in the 20000 rows read"),
    ):
        call = lambda w=who: md.privatize_file(source, target, "x", FOUND, **w)  # noqa: E731
        refused(call, said, error=DataError)
    assert folder(tmp_path) == ["a.csv"]


def test_rows_without_a_value_are_told_with_the_rows_that_were_read(tmp_path):
    """Those in later parts are not known yet, and no part is told as if it were the file."""
    rows = 20_000
    values = ["1st"] * rows
    for i in (3, 5, rows - 1):
        values[i] = ""
    long_file(tmp_path / "a.csv", x=values)
    read = next(open_table(tmp_path / "a.csv").batches()).num_rows
    message = f"2 in the {read} rows read"
    refused(
        lambda: md.privatize_file(tmp_path / "a.csv", tmp_path / "b.csv", "x", FOUND),
        message,
        error=DataError,
    )
