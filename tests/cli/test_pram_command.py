"""``mechdesign pram``: matrix, report and release from a terminal."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.release.ledger import Ledger
from mechdesign.tables.matrices import read_matrix

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

LABELS = ["a", "b", "c, d"]


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file with 300 records in two strata."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(300)],
            "sex": rng.choice(["f", "m"], 300),
            "x": rng.choice(LABELS, 300, p=[0.5, 0.3, 0.2]),
        }
    )
    frame.to_csv("people.csv", index=False)
    return frame


@pytest.fixture
def run(people, capsys):
    def call(*arguments):
        capsys.readouterr()
        code = main(["pram", *map(str, arguments)])
        return code, *capsys.readouterr()

    return call


def test_a_matrix_is_found_shown_and_saved(run):
    code, out, err = run(
        *("people.csv", "--column", "x", "-p", "pml:0.8", "--invariant", "--matrix", "m.csv"),
        *("--zero", '"c, d",a', "--diagonal", "a=0.4,b=0.2"),
    )
    assert code == 0
    assert "Customary matrices at the same level" in out
    assert "two-stage, invariant" in out
    assert "after, largest" in out
    assert "records unchanged" in out
    assert "warning: the frequencies of 'x' were counted in the table" in err
    matrix, rows, columns = read_matrix("m.csv")
    assert rows == columns == LABELS
    assert matrix[2, 0] == 0
    assert matrix[0, 0] >= 0.4
    assert matrix[1, 1] >= 0.2
    prior = md.Prior.from_csv("people.csv", "x").probabilities
    assert prior @ matrix == pytest.approx(prior, abs=1e-12)
    # What is there stays, unless it may go.
    assert run("people.csv", "--column", "x", "-p", "pml:0.8", "--matrix", "m.csv")[0] == 2
    again = ("people.csv", "--column", "x", "-p", "pml:0.8", "--matrix", "m.csv", "--force")
    assert run(*again)[0] == 0


def test_a_table_is_published_by_stratum_with_a_key(run, people, tmp_path):
    asked = (
        *("people.csv", "--column", "x", "-p", "pml:0.8", "--strata", "sex", "--zero", "b,a"),
        *("--row", "id", "--key", "secret.key", "--ledger", "book.jsonl"),
    )
    code, out, err = run(*asked, "--json", "-o", "out.csv", "--risk", "risk.csv")
    assert code == 0, err
    body = json.loads(out)
    assert [part["stratum"] for part in body["strata"]] == ["f", "m"]
    assert body["receipt"]["notions"] == ["PML(0.8) within each stratum of 'sex'"]
    assert {part["status"] for part in body["strata"]} == {"optimal"}
    assert [row["matrix"] for row in body["strata"][0]["customary"]][-1] == "sdcMicro"
    made = pd.read_csv("out.csv")
    assert made[["id", "sex"]].equals(people[["id", "sex"]])
    assert set(made["x"]) <= set(LABELS)
    assert not ((people["x"] == "b") & (made["x"] == "a")).any()
    assert 0.3 < (made["x"] == people["x"]).mean() < 1
    for name in ("secret.key", "risk.csv"):
        assert stat.S_IMODE(os.stat(name).st_mode) == 0o600
    risk = pd.read_csv("risk.csv")
    assert len(risk) == 300
    assert risk["guessed"].sum() == body["published"]["correct"]
    assert risk["after"].max() == pytest.approx(body["published"]["largest"], rel=1e-12)
    (entry,) = Ledger("book.jsonl").releases()
    assert entry["column"] == "x"
    # The same key gives the same values again, and no second release.
    assert run(*asked, "-o", "again.csv")[0] == 0
    assert {row["kernel"] for row in Ledger("book.jsonl").releases()} == {entry["kernel"]}
    assert pd.read_csv("again.csv").equals(made)
    # Values that were published are no secrets to randomise once more.
    code, _, err = run("out.csv", "--column", "x", "-p", "pml:0.8", "-o", "twice.csv")
    assert (code, os.path.exists("twice.csv")) == (2, False)
    assert "the secret itself" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "x"], "at least one notion"),
        (["--column", "y", "-p", "pml:1"], "column of people.csv"),
        (["--column", "x", "-p", "pml:1", "--zero", "a"], "zero:X,Y"),
        (["--column", "x", "-p", "pml:1", "--zero", "a,z"], "'z'"),
        (["--column", "x", "-p", "pml:1", "--diagonal", "much"], "diagonal:a=0.6,b=0.5"),
        (["--column", "x", "-p", "pml:1", "--diagonal", "1.5"], "from 0 to 1"),
        (["--column", "x", "-p", "pml:1", "--pattern", "people.csv"], "matrix people.csv"),
        (["--column", "x", "-p", "pml:1", "--pattern", "small.csv"], "one row for each symbol"),
        (["--column", "x", "-p", "pml:1", "--require", "nothing"], "requirement"),
        (["--column", "x", "-p", "pml:1", "--strata", "x"], "another column"),
        (["--column", "x", "-p", "pml:1", "--pooled"], "add strata="),
        (["--column", "x", "-p", "pml:1", "--risk", "r.csv"], "--output with it"),
        (["--column", "x", "-p", "pml:1", "--missing", "no"], "policy for missing values"),
        (["--column", "x", "-p", "pml:1", "-o", "people.csv", "--force"], "another file"),
        (
            ["--column", "x", "-p", "pml:1", "-o", "o.csv", "--key", "m.csv", "--matrix", "m.csv"],
            "keep the key where nobody else reads",
        ),
    ],
)
def test_mistakes_get_one_line(run, arguments, message):
    with open("small.csv", "w") as file:
        file.write("input,a,b\na,1,0\nb,0,1\n")
    code, out, err = run("people.csv", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--matrix", "people.csv"], "--matrix: expected another file than that of the table"),
        (["--pattern", "p.csv", "--matrix", "p.csv"], "another file than that of --pattern"),
        (["-o", "o.csv", "--matrix", "./o.csv"], "--output: expected another file"),
        (["-o", "o.csv", "--risk", "o.csv"], "--risk: expected another file than that of --output"),
        (["-o", "people.csv"], "--output: expected another file than that of the table"),
    ],
)
def test_no_file_takes_the_place_of_another(run, people, arguments, message):
    """With --force a matrix in the place of the table would be all that is left of it."""
    pattern = 'input,a,b,"c, d"\na,1,1,1\nb,1,1,1\n"c, d",1,1,1\n'
    Path("p.csv").write_text(pattern)
    code, out, err = run("people.csv", "--column", "x", "-p", "pml:1", *arguments, "--force")
    assert (code, out) == (2, "")
    assert message in err
    assert pd.read_csv("people.csv").equals(people)
    assert Path("p.csv").read_text() == pattern
    assert not os.path.exists("o.csv")
