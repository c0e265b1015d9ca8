"""A subset selection on the command line: made, shown, applied, estimated, planned, audited."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MECHDESIGN_LEDGER", str(tmp_path / "ledger"))
    (tmp_path / "words.txt").write_text("\n".join(f"w{i}" for i in range(300)) + "\n\n")
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


def made(capsys, *more):
    code, out, _ = run(
        capsys, "subset-selection", "words.txt", "-p", "ldp:3", "-o", "s.json", *more
    )
    assert code == 0
    return out


def test_it_is_made_and_shown(place, capsys):
    assert "300 symbols" in made(capsys)
    code, out, _ = run(capsys, "show", "s.json")
    assert code == 0
    assert "least risk of any kernel" in out
    code, out, _ = run(capsys, "show", "s.json", "--json")
    assert json.loads(out)["labels"][:2] == ["w0", "w1"]
    code, _, err = run(capsys, "subset-selection", "words.txt", "-p", "ldp:3", "-o", "s.json")
    assert code == 2
    assert "exists" in err
    code, out, _ = run(capsys, "subset-selection", "1_000_000", "-p", "pml:1", "--json")
    assert json.loads(out)["symbols"] == 1_000_000


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_from_a_file_to_estimates(place, capsys, kind):
    made(capsys)
    # Under a key of its own each run would draw anew, and some of them another second place.
    Path("release.key").write_text("mechdesign-key-1 " + "07" * 32 + "\n")
    Path("release.key").chmod(0o600)
    if kind == "parquet":
        pytest.importorskip("pandas").read_csv("people.csv").to_parquet("people.parquet")
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


def test_files_have_the_reports_of_data_frames(place, capsys):
    pd = pytest.importorskip("pandas")
    made(capsys)
    arguments = ["apply", "s.json", "people.csv", "--column", "word", "-o", "reports.csv"]
    assert run(capsys, *arguments, "--row", "id", "--key", "release.key")[0] == 0
    table = pd.read_csv("people.csv", dtype=str)
    key = md.release_key("release.key")
    again = md.privatize(table, "word", md.load("s.json"), row="id", key=key)
    assert pd.read_csv("reports.csv")["word"].tolist() == again["word"].tolist()


def test_a_second_release_says_what_both_add_up_to(place, capsys):
    made(capsys)
    arguments = ["apply", "s.json", "people.csv", "--column", "word", "--row", "id"]
    assert run(capsys, *arguments, "--key", "a.key", "-o", "one.csv")[0] == 0
    _, _, err = run(capsys, *arguments, "--key", "a.key", "-o", "same.csv")
    assert "released" not in err
    _, _, err = run(capsys, *arguments, "--key", "b.key", "-o", "two.csv")
    assert "LDP(6) at most" in err


def test_plans(place, capsys):
    made(capsys)
    code, out, _ = run(capsys, "plan", "s.json", "--error", "0.01", "--json")
    assert code == 0
    assert json.loads(out)["reports"] == md.plan(md.load("s.json"), error=0.01).reports


def test_audits(place, capsys):
    made(capsys)
    code, out, _ = run(capsys, "audit", "s.json", "--json")
    assert code == 0
    assert json.loads(out)["checks"][0]["verdict"] == "yes"
    code, out, _ = run(capsys, "audit", "s.json", "-p", "ldp:2", "-p", "pmc:4")
    assert code == 1
    assert "no" in out
    assert run(capsys, "audit", "s.json", "--prior", "0.5,0.5")[0] == 2


@pytest.mark.slow
def test_symbols_of_a_few_masses(place, capsys):
    masses = {f"w{i}": (0.1 if i < 5 else 0.5 / 295) for i in range(300)}
    (place / "masses.json").write_text(json.dumps(masses))
    asked = ["subset-selection", "--prior", "masses.json", "-p", "pml:1", "-o", "g.json"]
    code, out, _ = run(capsys, *asked)
    assert code == 0
    assert "300 symbols in 2 groups" in out
    assert md.load("g.json").risk == md.subset_selection(md.Prior(masses), md.PML(1)).risk
    code, out, _ = run(capsys, "audit", "g.json", "--json")
    assert code == 0
    assert json.loads(out)["checks"][0]["verdict"] == "yes"
    asked = ["apply", "g.json", "people.csv", "--column", "word", "-o", "told.csv", "--seed", "1"]
    assert run(capsys, *asked)[0] == 0
    code, out, _ = run(capsys, "estimate", "g.json", "told.csv", "--column", "word", "--json")
    assert code == 0
    # The largest share, 1/H(300), is among those that stand out of the noise.
    assert "w0" in out
    code, out, _ = run(capsys, "plan", "g.json", "--error", "0.01", "--json")
    assert json.loads(out)["reports"] == md.plan(md.load("g.json"), error=0.01).reports


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["subset-selection", "-p", "ldp:1"], "how many symbols"),
        (["subset-selection", "10", "--prior", "3,1,1", "-p", "ldp:1"], "both"),
        (
            ["subset-selection", "--prior", "0.05,0.2,0.1,0.15,0.25,0.12,0.13", "-p", "ldp:1"],
            "at most 6 masses",
        ),
        (["subset-selection", "1", "-p", "ldp:1"], "2 to"),
        (["subset-selection", "nothing.txt", "-p", "ldp:1"], "nothing.txt"),
        (["subset-selection", "10"], "--privacy"),
        (["subset-selection", "10", "-p", "maximalleakage:1"], "another kind"),
        (["estimate", "s.json", "people.csv", "--column", "word"], "integers"),
        (["estimate", "s.json", "people.csv", "--column", "id"], "raw data"),
        (["estimate", "s.json", "people.csv", "--column", "id", "--plot", "a.svg"], "--plot"),
        (["estimate", "s.json", "people.csv", "--column", "id", "--by", "blocks"], "by for a"),
        (["plot", "s.json", "-o", "a.svg"], "matrix"),
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


def test_top_is_for_subset_selections(place, capsys):
    md.save(md.Mechanism([[0.75, 0.25], [0.25, 0.75]]), "flip.json")
    arguments = ["estimate", "flip.json", "people.csv", "--column", "id", "--top", "3"]
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert "--top" in err


def test_others_get_its_groups_and_chances_without_the_counts(place, capsys):
    """The public file was the whole one, and everybody could read both."""
    (place / "masses.json").write_text(
        json.dumps({"a": 0.3846, "b": 0.1154, "c": 0.3846, "d": 0.1154})
    )
    arguments = ["subset-selection", "--prior", "masses.json", "-p", "ldp:1", "-o", "g.json"]
    code, _, err = run(capsys, *arguments, "--public", "p.json")
    assert code == 0
    assert "[MD809]" in err
    assert "saved p.json" in err
    code, _, err = run(capsys, "show", "g.json", "--public", "q.json")
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
        ["show", "p.json", "--public", "again.json"],
    ):
        code, _, err = run(capsys, *command)
        assert code == 0, (command, err)
    assert (place / "again.json").read_text() == (place / "p.json").read_text()
    kept = [*place.rglob("*.json.gz")]
    assert kept
    assert all(b"3846" not in gzip.decompress(file.read_bytes()) for file in kept)
