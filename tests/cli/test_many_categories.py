"""More than a hundred categories on the command line: designed, shown, applied, estimated from."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import GapWarning

SLOW = pytest.mark.slow


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MECHDESIGN_LEDGER", str(tmp_path / "ledger"))
    (tmp_path / "words.csv").write_text("\n".join(["word", *(f"w{i}" for i in range(300))]) + "\n")
    truth = 1 / np.arange(1.0, 301)
    rows = np.random.default_rng(1).choice(300, 4000, p=truth / truth.sum())
    with open(tmp_path / "people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "word"])
        writer.writerows([i, f"w{x}"] for i, x in enumerate(rows))
    return tmp_path


def run(capsys, *arguments):
    code = main(list(arguments))
    found = capsys.readouterr()
    return code, found.out, found.err


SOLVER = ["--solver", "subset-selection"]
DESIGN = ["design", "-u", "estimation"]
WORDS = [*DESIGN, "words.csv", "--column", "word", "--max-symbols", "300", "-p", "ldp:3"]


def made(capsys, *more):
    code, out, _ = run(capsys, *WORDS, "-o", "s.json", *more)
    assert code == 0
    return out


def test_it_is_made_and_shown(place, capsys):
    assert "300 symbols" in made(capsys)
    code, out, _ = run(capsys, "check", "s.json")
    assert code == 0
    assert "of any kernel at least" in out
    code, out, _ = run(capsys, "check", "s.json", "--json")
    assert json.loads(out)["labels"][:2] == ["w0", "w1"]
    code, _, err = run(capsys, *WORDS, "-o", "s.json")
    assert code == 2
    assert "exists" in err
    code, out, _ = run(capsys, *DESIGN, "--prior", "uniform:1_000_000", "-p", "pml:1", "--json")
    assert json.loads(out)["symbols"] == 1_000_000


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_from_a_file_to_estimates(place, capsys, kind):
    made(capsys)
    # Under a key of its own each run would draw anew, and some of them another second place.
    Path("release.key").write_text("mechdesign-key-1 " + "07" * 32 + "\n")
    Path("release.key").chmod(0o600)
    if kind == "parquet":
        pd.read_csv("people.csv").to_parquet("people.parquet")
    arguments = ["apply", "s.json", f"people.{kind}", "--column", "word", "-o", f"reports.{kind}"]
    code, out, _ = run(capsys, *arguments, "--row", "id", "--key", "release.key")
    assert code == 0
    assert "LDP(3)" in out
    code, out, _ = run(
        capsys, "estimate", "s.json", f"reports.{kind}", "--column", "word", "--top", "2", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert [row["label"] for row in found["rows"]] == ["w0", "w1"]
    assert found["receipt"]["notions"] == ["LDP(3)"]
    assert abs(found["rows"][0]["estimate"] - 0.159) < 6 * found["rows"][0]["error"]
    code, out, _ = run(capsys, "estimate", "s.json", f"reports.{kind}", "--column", "word")
    assert code == 0
    assert "300 symbols from 4000 reports" in out
    code, out, _ = run(
        capsys, "estimate", "s.json", f"reports.{kind}", "--column", "word", "--json"
    )
    assert len(json.loads(out)["rows"]) == 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*DESIGN, "--prior", "uniform:many", "-p", "ldp:1"], "uniform:1_000_000"),
        ([*DESIGN, "--prior", "uniform:999999999", "-p", "ldp:1"], "uniform:1_000_000"),
        ([*DESIGN, "--prior", "uniform:300", "-p", "maximalleakage:1"], "into bins"),
        (
            [*DESIGN, "--prior", "0.1,0.9", "-p", "ldp:1", *SOLVER, "--outputs", "2"],
            "leave out of=",
        ),
        ([*WORDS, "--csv", "k.csv"], "matrix"),
        ([*DESIGN, "words.csv", "--column", "word", "-p", "ldp:3"], "each in several rows"),
        ([*DESIGN, "people.csv", "-p", "ldp:3"], "--column with the column of the secret"),
        (["estimate", "s.json", "people.csv", "--column", "word"], "integers"),
        (["estimate", "s.json", "people.csv", "--column", "id"], "raw data"),
        (["estimate", "s.json", "people.csv", "--column", "id", "--plot", "a.svg"], "--plot"),
        (["estimate", "s.json", "people.csv", "--column", "id", "--by", "blocks"], "by for a"),
        (["report", "s.json", "-o", "a.svg"], "matrix"),
        (["report", "s.json", "-o", "a.html"], "matrix"),
        (["compose", "s.json", "s.json", "--prior", "0.5,0.5"], ""),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_what_cannot_be_is_said(place, capsys, arguments, message):
    made(capsys)
    code, out, err = run(capsys, *arguments)
    assert "Traceback" not in out + err
    assert message in err
    assert code == 2 or arguments[0] == "compose"


@pytest.mark.parametrize(
    ("label", "size", "rows"),
    [
        (lambda i: f"D{i:03}", 105, lambda i: 1000 // (i + 1)),  # rare ones in a few rows
        (lambda i: f"D{i}", 101, lambda i: 900 * 100 if not i else 100),  # an atom of .9
        (lambda i: 10_000 + i, 150, lambda i: 1 if i == 3 else 7),  # numbers, one of them once
        (lambda i: date(2020, 1, 1) + timedelta(i), 120, lambda _: 5),  # dates, all alike
        pytest.param(lambda i: f"N{i}", 5000, lambda i: 3 + 9000 // (i + 1), marks=SLOW),
    ],
    ids=["names", "atom", "numbers", "dates", "5000"],
)
def test_any_categories_are_designed_for_and_estimated(place, capsys, label, size, rows):
    """From the file and from a frame the same design, and under one key the same reports."""
    labels = [label(i) for i in range(size)]
    column = [labels[i] for i in range(size) for _ in range(rows(i))]
    frame = pd.DataFrame({"id": np.arange(len(column)), "dest": column})
    frame.to_csv("many.csv", index=False)
    asked = [*DESIGN, "many.csv", "--column", "dest", "-p", "ldp:1", "-o", "d.json"]
    code, out, err = run(capsys, *asked, "--public", "p.json")
    assert code == 0, err
    assert "method subset-selection" in out
    most = {"max_symbols": size}
    if isinstance(labels[0], date):  # text of a file becomes dates where labels are
        frame["dest"] = frame["dest"].map(str)
    prior = md.Prior.from_data(frame, "dest", **most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = md.design(prior, md.utility.Estimation(), md.LDP(1))
    saved = md.load("d.json")
    assert saved == found
    assert (saved.value, saved.bound, saved.gap) == (found.value, found.bound, found.gap)
    assert found.value <= found.bound <= 0
    assert found.gap < 0.02
    applied = ["apply", "p.json", "many.csv", "--column", "dest", "-o", "r.csv"]
    assert run(capsys, *applied, "--row", "id", "--key", "release.key")[0] == 0
    again = md.privatize(frame, "dest", found, row="id", key=md.release_key("release.key"))
    assert pd.read_csv("r.csv")["dest"].tolist() == again["dest"].tolist()
    code, out, err = run(capsys, "estimate", "d.json", "r.csv", "--top", "3", "--json")
    assert code == 0, err
    told = md.estimate(again, found, "dest")
    loss = ((told.values - prior.probabilities) ** 2).sum()
    assert loss == pytest.approx(found.risk / len(column), rel=0.6)


def test_two_columns_with_many_combinations_are_one_secret(place, capsys):
    """Their names stand in the file and in what others have of it."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.binomial(12, 0.4, 9000) for name in ("a", "b")})
    frame.to_csv("two.csv", index_label="id")
    asked = [*DESIGN, "two.csv", "--column", "a", "--column", "b", "-p", "ldp:2", "-o", "d.json"]
    assert run(capsys, *asked, "--public", "p.json")[0] == 0
    found = md.load("d.json")
    assert (found.method, found.schema.names) == ("subset-selection", ("a", "b"))
    applied = ["apply", "p.json", "two.csv", "--row", "id", "--key", "release.key"]
    for name in ("r.csv", "again.csv"):
        assert run(capsys, *applied, "-o", name)[0] == 0
    assert Path("r.csv").read_bytes() == Path("again.csv").read_bytes()
    told = md.estimate("r.csv", found, "a_b")
    truth = found.prior.probabilities
    assert ((told.values - truth) ** 2).sum() == pytest.approx(found.risk / 9000, rel=0.6)


def test_an_identity_is_refused_and_no_value_is_quoted(place, capsys):
    """What is nearly as many values as rows is no category, and a row of a table no symbol."""
    rows = [f"{i},secret{i % 1900}\n" for i in range(2000)]
    (place / "ids.csv").write_text("id,name\n" + "".join(rows))
    for asked in (["--column", "name"], ["--column", "id"], [], ["--column", "id,name"]):
        code, out, err = run(capsys, *DESIGN, "ids.csv", *asked, "-p", "ldp:1")
        assert code == 2
        assert "secret" not in (out + err).replace("column of the secret", "").replace(
            "no secret", ""
        )
        assert "column" in err


def test_others_get_its_groups_and_chances_without_the_counts(place, capsys):
    """The public file was the whole one, and everybody could read both."""
    (place / "masses.json").write_text(
        json.dumps({"a": 0.3846, "b": 0.1154, "c": 0.3846, "d": 0.1154})
    )
    arguments = [*DESIGN, "--prior", "masses.json", "-p", "ldp:1", "-o", "g.json"]
    arguments += SOLVER
    code, _, err = run(capsys, *arguments, "--public", "p.json")
    assert code == 0
    assert "[MD809]" in err
    assert "saved p.json" in err
    code, _, err = run(capsys, "check", "g.json", "--public", "q.json")
    assert code == 0
    assert (place / "p.json").read_text() == (place / "q.json").read_text()
    assert [(place / name).stat().st_mode & 0o077 for name in ("g.json", "p.json")] == [0, 0o044]
    assert "0.3846" in (place / "g.json").read_text()
    assert not any(n in (place / "p.json").read_text() for n in ("3846", "1154", "prior"))
    (place / "few.csv").write_text("x\n" + "a\nb\nc\nc\n" * 200)
    for command in (
        ["apply", "g.json", "few.csv", "--column", "x", "-o", "r.csv"],
        ["estimate", "p.json", "r.csv", "--column", "x"],
        ["estimate", "g.json", "r.csv", "--column", "x"],
        ["plan", "p.json", "--error", "0.1"],
        ["audit", "p.json"],
        ["compose", "p.json", "g.json"],
        ["check", "p.json", "--public", "again.json"],
    ):
        code, _, err = run(capsys, *command)
        assert code == 0, (command, err)
    assert (place / "again.json").read_text() == (place / "p.json").read_text()
    kept = [*place.rglob("*.json.gz")]
    assert kept
    assert all(b"3846" not in gzip.decompress(file.read_bytes()) for file in kept)
