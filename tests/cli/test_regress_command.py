"""Regressions on the command line give what Python gives, and answer bad input in one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.cli import main

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], ["no", "yes"])


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(8)
    secret = rng.random(900) < 0.4
    frame = pd.DataFrame(
        {
            "answer": np.where(rng.random(900) < np.where(secret, 0.75, 0.25), "yes", "no"),
            "cost": (2 + secret + rng.normal(size=900)).round(3),
            "event": np.where(rng.random(900) < np.where(secret, 0.7, 0.4), "ill", "healthy"),
            "age": rng.integers(18, 80, 900),
            "sex": rng.choice(["f", "m"], 900),
            "weight": rng.uniform(1, 3, 900).round(2),
            "block": rng.integers(0, 50, 900),
        }
    )
    frame.to_csv(tmp_path / "reports.csv", index=False)
    frame.to_parquet(tmp_path / "reports.parquet")
    (tmp_path / "kernel.csv").write_text("input,no,yes\n0,0.75,0.25\n1,0.25,0.75\n")
    return frame, tmp_path


def run(files, *options, name="reports.csv"):
    folder = files[1]
    where = [str(folder / "kernel.csv"), str(folder / name), "--column", "answer"]
    return main(["regress", *where, *options])


COVARIATES = ["--covariate", "age", "--covariate", "sex"]


@pytest.mark.parametrize("name", ["reports.csv", "reports.parquet"])
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--response", "cost"], {"response": "cost"}),
        (
            ["--response", "cost", "--weights", "weight", "--clusters", "block"],
            {"response": "cost", "weights": "weight", "clusters": "block"},
        ),
        (
            ["--response", "event", "--family", "logistic", "--reference", "1"],
            {"response": "event", "family": "logistic", "reference": 1},
        ),
        (
            ["--response", "answer", "--family", "logistic"],
            {"response": "answer", "family": "logistic"},
        ),
    ],
    ids=["linear", "survey", "logistic", "response"],
)
def test_files_give_what_frames_give(files, name, options, named, capsys):
    assert run(files, *options, *COVARIATES, "--json", name=name) == 0
    shown = json.loads(capsys.readouterr().out)
    expected = md.regress(files[0], FLIP, "answer", covariates=["age", "sex"], **named)
    assert [row["label"] for row in shown["rows"]] == list(expected.labels)
    for row, told, p in zip(shown["rows"], expected.rows(), expected.pvalues, strict=True):
        assert row["estimate"] == pytest.approx(told["estimate"], rel=1e-4, abs=1e-6)
        assert row["error"] == pytest.approx(told["error"], rel=1e-4)
        assert row["p"] == pytest.approx(p, rel=1e-3, abs=1e-9)
    assert shown["errors_by"] == expected.errors_by


def test_a_table_for_people(files, capsys):
    assert run(files, "--response", "cost") == 0
    told = capsys.readouterr()
    assert "linear regression of cost on 900 reports" in told.out
    assert "answer=1" in told.out
    assert "no receipt" in told.err


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (["--response", "nothing"], "column"),
        (["--response", "sex"], "900 rows without one"),
        (["--response", "cost", "--family", "logistic"], "two different values"),
        (["--response", "cost", "--covariate", "answer"], "different names"),
        (["--response", "answer"], "at least one"),
        (["--response", "cost", "--reference", "none"], "'none'"),
        (["--response", "cost", "--weights", "sex"], "900 rows without one"),
        (["--response", "cost", "--family", "probit"], "family"),
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
