"""Regressions on the command line give what Python gives, and answer bad input in one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], ["no", "yes"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("regress"), np.random.default_rng(8)
    secret, more = rng.random(900) < 0.4, rng.random((2, 900))
    frame = {
        "answer": np.where(more[0] < 0.25 + 0.5 * secret, "yes", "no"),
        "event": np.where(more[1] < 0.4 + 0.3 * secret, "ill", "healthy"),
        "cost": (2 + secret + rng.normal(size=900)).round(3),
        "age": rng.integers(18, 80, 900),
        "block": rng.integers(0, 50, 900),
    }
    frame = pd.DataFrame(frame)
    frame.to_csv(folder / "reports.csv", index=False)
    frame.to_parquet(folder / "reports.parquet")
    (folder / "kernel.csv").write_text("input,no,yes\n0,0.75,0.25\n1,0.25,0.75\n")
    return frame, folder


def run(files, *options, name="reports.csv"):
    where = [str(files[1] / each) for each in ("kernel.csv", name)]
    return main(["regress", *where, "--column", "answer", *options])


@for_each("name", ["reports.csv", "reports.parquet"])
@for_each(("options", "named"), [
        (["cost", "--weights", "age", "--clusters", "block", "--confidence", "0.9"],
         {"weights": "age", "clusters": "block", "confidence": 0.9}),
        (["event", "--family", "logistic", "--reference", "1", "--covariate", "age"],
         {"family": "logistic", "reference": 1, "covariates": ["age"]}),
        (["answer", "--family", "logistic", "--covariate", "age"],
         {"family": "logistic", "covariates": ["age"]}),
    ])  # fmt: skip
def test_files_give_what_frames_give(files, name, options, named, capsys):
    assert run(files, "--response", *options, "--json", name=name) == 0
    shown = json.loads(capsys.readouterr().out)
    expected = md.regress(files[0], FLIP, "answer", response=options[0], **named)
    assert [row["label"] for row in shown["rows"]] == list(expected.labels)
    for row, told, p in zip(shown["rows"], expected.rows(), expected.pvalues, strict=True):
        for part in ("estimate", "error", "lower", "upper"):
            assert row[part] == pytest.approx(told[part], rel=1e-4, abs=1e-6)
        assert row["p"] == pytest.approx(p, rel=1e-3, abs=1e-9)
    assert (shown["reference"], shown["column"]) == (expected.reference, "answer")


def test_a_table_for_people(files, capsys):
    assert run(files, "--response", "cost") == 0
    told = capsys.readouterr()
    assert "linear regression of cost on 900 reports" in told.out
    assert "answer=1" in told.out
    assert "no receipt" in told.err


@for_each(("options", "fragment"), [
        (["nothing"], "column"),
        (["cost", "--covariate", "answer"], "different names"),
        (["cost", "--reference", "none"], "'none'"),
        (["cost", "--reference", "0", "--reference", "1"], "it once"),
        (["cost", "--family", "probit"], "family"),
    ])  # fmt: skip
def test_what_cannot_be_used_is_answered_in_one_line(files, options, fragment, capsys):
    assert run(files, "--response", *options) == 2
    told = capsys.readouterr()
    errors = [line for line in told.err.splitlines() if line.startswith("error")]
    assert (told.out, len(errors)) == ("", 1)
    assert fragment in errors[0]
