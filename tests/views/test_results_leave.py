"""Results leave as data frames, and as files for a spreadsheet, a paper or a page."""

from __future__ import annotations

import csv
import json

import narwhals as nw
import pandas as pd
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import InputError

PRIOR = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
DESIGN = md.design(PRIOR, md.utility.Estimation(), md.LDP(1))
REPORTS = list("abacbbcabc") * 60
TABLE = {"x": REPORTS, "y": ["u", "v"] * 300, "z": [1.0, 1.0, 2.0, 3.0] * 150}


def results():
    """One of each kind that has rows."""
    one = md.estimate(REPORTS, DESIGN)
    grouped = md.estimate(pd.DataFrame(TABLE), DESIGN, "x", by_group="y")
    numbers = md.Prior([0.5, 0.5], [(0, 1), (1, 2)])
    return {
        "shares": one,
        "groups": grouped,
        "difference": grouped.difference("u", "v"),
        "plan": md.plan(DESIGN, error=0.05),
        "trial": md.try_out(PRIOR, people=100, rng=1),
        "audit": md.audit(DESIGN.mechanism, PRIOR),
        "samples": md.audit_samples(REPORTS, REPORTS, md.LDP(1)),
        "prices": md.binding(md.design(PRIOR, md.utility.Hamming(), md.PML(0.5))),
        "frontier": md.compare(PRIOR, md.utility.Hamming(), [md.LDP], [0.5, 1]),
        "tuples": md.estimate(["(0, 1)", "(1, 2)"] * 50, md.randomised_response(numbers, 1)),
    }


RESULTS = results()


@for_each(("name", "backend"), [(n, b) for n in RESULTS for b in ("pandas", "polars", "pyarrow")])
def test_frames_hold_the_rows(name, backend):
    rows = RESULTS[name].rows()
    frame = nw.from_native(RESULTS[name].to_frame(backend), eager_only=True)
    assert frame.columns == list(rows[0])
    assert len(frame) == len(rows)
    for row, found in zip(rows, frame.iter_rows(named=True), strict=True):
        for key, value in row.items():
            if isinstance(value, float) and value == value:
                assert found[key] == value, (key, value)


def test_other_backends_are_refused():
    for backend in ("numpy", "dask", 3):
        with pytest.raises(InputError, match="'pandas', 'polars' or 'pyarrow', installed"):
            RESULTS["shares"].to_frame(backend)


def read(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    md.save(DESIGN, "d.json")
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([list(TABLE), *zip(*TABLE.values(), strict=True)])
    return tmp_path


COMMANDS = {
    "audit d.json": "level",
    "audit t.csv --column x --reported y -p ldp:1": "estimate",
    "plan d.json --error 0.05": "error",
    "regress d.json t.csv --column x --response z": "estimate",
    "try t.csv --column x --seed 1": "true",
    "estimate d.json t.csv --column x": "estimate",
}


def test_every_command_that_prints_a_table_saves_it(place, capsys):
    for line, column in COMMANDS.items():
        typed = line.split()
        assert main([*typed, "-o", "out.csv", "--force"]) in (0, 1), line
        said = capsys.readouterr()
        assert "saved out.csv" in said.err
        rows = read(place / "out.csv")
        assert column in rows[0], (line, rows[0])
        for ending, sign in (("tex", "tabular"), ("html", "<table")):
            assert main([*typed, "-o", f"out.{ending}", "--force"]) in (0, 1)
            assert sign in (place / f"out.{ending}").read_text(encoding="utf-8")
        capsys.readouterr()
        # Without --force nothing is replaced, and nothing is computed first.
        assert main([*typed, "-o", "out.csv"]) == 2
        assert "out.csv" in capsys.readouterr().err
        assert main([*typed, "-o", "out.txt"]) == 2
        assert ".csv, .tex, .html" in capsys.readouterr().err


def test_the_ledger_is_saved(place, capsys):
    asked = ["--column", "x", "-o", "r.csv"]
    assert main(["apply", "d.json", "t.csv", *asked]) == 0
    assert main(["ledger", "-o", "l.csv"]) == 0
    capsys.readouterr()
    row = read(place / "l.csv")[0]
    assert row["column"] == "x"
    assert main(["ledger", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["kernel"] == row["kernel"]
