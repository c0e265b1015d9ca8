"""Sample surveys on the command line: weights, strata, clusters, groups, populations in files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.cli import main

KERNEL = [[0.75, 0.25], [0.25, 0.75]]
FLIP = md.Mechanism(KERNEL, ["no", "yes"], ["no", "yes"])


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "answer": rng.choice(["no", "yes"], 400, p=[0.6, 0.4]),
            "weight": rng.uniform(1, 3, 400).round(2),
            "stratum": rng.choice([1, 2], 400),
            "block": rng.integers(0, 30, 400),
            "sex": rng.choice(["f", "m"], 400),
        }
    )
    frame["block"] += 100 * frame["stratum"]  # which blocks lie in
    frame.to_csv(tmp_path / "reports.csv", index=False)
    frame.to_parquet(tmp_path / "reports.parquet")
    (tmp_path / "kernel.csv").write_text("input,no,yes\nno,0.75,0.25\nyes,0.25,0.75\n")
    (tmp_path / "sizes.json").write_text('{"1": 5000, "2": 4000}')
    return frame, tmp_path


def run(files, *options, name="reports.csv"):
    folder = files[1]
    where = [str(folder / "kernel.csv"), str(folder / name), "--column", "answer"]
    return main(["estimate", *where, *options])


@pytest.mark.parametrize("name", ["reports.csv", "reports.parquet"])
def test_files_give_what_frames_give(files, name, capsys):
    options = ["--weights", "weight", "--strata", "stratum", "--clusters", "block"]
    assert run(files, *options, "--by-group", "sex", "--json", name=name) == 0
    shown = json.loads(capsys.readouterr().out)
    names = {"weights": "weight", "strata": "stratum", "clusters": "block", "by_group": "sex"}
    expected = md.estimate(files[0], FLIP, "answer", **names)
    assert [part["group"] for part in shown["groups"]] == ["f", "m"]
    for part, each in zip(shown["groups"], expected.estimates, strict=True):
        for row, told in zip(part["rows"], each.rows(), strict=True):
            assert row["estimate"] == pytest.approx(told["estimate"])
            assert row["error"] == pytest.approx(told["error"])
            assert 0 < row["noise"] < row["error"]
        assert part["clusters"] == each.clusters > 30
    difference = expected.difference("m", "f")
    assert shown["differences"][0]["groups"] == ["m", "f"]
    assert shown["differences"][0]["rows"][1]["error"] == pytest.approx(difference.errors[1])


@pytest.mark.parametrize("sizes", ["1=5000,2=4000", "FILE"])
def test_the_population_of_each_stratum(files, sizes, capsys):
    sizes = sizes.replace("FILE", str(files[1] / "sizes.json"))
    assert run(files, "--strata", "stratum", "--population", sizes, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    options = {"strata": "stratum", "population": {1: 5000, 2: 4000}}
    expected = md.estimate(files[0], FLIP, "answer", **options)
    assert shown["rows"][0]["error"] == pytest.approx(expected.errors[0])
    assert shown["strata"] == 2


def test_tables_for_people(files, capsys):
    assert run(files, "--weights", "weight", "--by-group", "sex") == 0
    shown = capsys.readouterr().out
    assert "sex f" in shown
    assert "m minus f" in shown
    weighting = ["--weighting", "horvitz-thompson", "--population", "800"]
    assert run(files, "--weights", "weight", *weighting) == 0
    assert "of equal weight" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (["--population", "x"], "whole numbers"),
        (["--population", "300"], "at least as many people"),
        (["--population", "1=5,2=6", "--strata", "stratum"], "in every stratum"),
        (["--weights", "sex"], "400 rows without one"),
        (["--weights", "no"], "column"),
        (["--by", "sex"], "--by-group"),
        (["--by-group", "answer"], "noise"),
        (["--by-group", "sex", "--plot", "x.svg"], "leave out --by-group"),
        (["--weights", "weight", "--method", "likelihood"], "'inversion'"),
        (["--weights", "weight", "--with", "x", "--with-column", "y"], "--weights"),
        (["--weighting", "horvitz-thompson"], "population="),
        (["--missing", "category"], "an input None"),
    ],
)
def test_what_cannot_be_used_is_answered_in_one_line(files, options, fragment, capsys):
    assert run(files, *options) == 2
    told = capsys.readouterr()
    assert not told.out
    errors = [line for line in told.err.splitlines() if line.startswith("error")]
    assert len(errors) == 1
    assert fragment in errors[0]
    assert "Traceback" not in told.err


def test_missing_answers_as_a_category(tmp_path, capsys):
    rng = np.random.default_rng(6)
    answers = rng.choice(["no", "yes", ""], 2000, p=[0.5, 0.3, 0.2])
    pd.DataFrame({"id": range(2000), "v": answers}).to_csv(tmp_path / "t.csv", index=False)
    table, made, out = (str(tmp_path / name) for name in ("t.csv", "d.json", "r.csv"))
    category = ["--missing", "category"]
    asked = ["-u", "hamming", "-p", "ldp:2", "-o", made]
    assert main(["design", table, "--column", "v", *category, *asked]) == 0
    assert md.load(made).mechanism.outputs == ("no", "yes", None)
    assert main(["apply", made, table, "--column", "v", "-o", out]) == 0
    capsys.readouterr()
    assert main(["estimate", made, out, "--column", "v", *category, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["label"] for row in rows] == ["no", "yes", None]
    assert rows[2]["estimate"] == pytest.approx(0.2, abs=0.08)
