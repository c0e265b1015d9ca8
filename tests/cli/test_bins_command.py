"""Columns of numbers on the command line: bins are chosen, kept, applied and estimated from."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import InputError


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MECHDESIGN_LEDGER", str(tmp_path / "ledger"))
    rng = np.random.default_rng(1)
    with open(tmp_path / "people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "pay", "sex"])
        pays = np.round(rng.lognormal(8, 1, 2000), 2)
        for i, (age, pay) in enumerate(zip(rng.integers(0, 100, 2000), pays, strict=True)):
            writer.writerow([i, age, pay, "fm"[i % 2]])
    with open(tmp_path / "others.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["pay"])
        writer.writerows([pay] for pay in np.round(rng.lognormal(8, 1, 500), 2))
    return tmp_path


def run(capsys, *arguments):
    code = main(list(arguments))
    found = capsys.readouterr()
    return code, found.out, found.err


def test_from_numbers_to_a_mean(place, capsys):
    code, _, err = run(
        capsys, "design", "people.csv", "--column", "age", "--bins", "0,20,40,60,inf", "-u",
        "estimation", "-p", "ldp:2", "-o", "m.json",
    )  # fmt: skip
    assert code == 0, err
    bins = md.load("m.json").prior.schema.bins_of("age")
    assert bins == md.bins(edges=[0, 20, 40, 60, float("inf")], whole=True)
    code, _, err = run(
        capsys, "apply", "m.json", "people.csv", "--column", "age", "-o", "told.csv", "--seed", "1"
    )
    assert code == 0, err
    with open("told.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    outputs = set(md.load("m.json").mechanism.outputs)
    assert {row["age"] for row in rows} <= outputs
    ask = ["estimate", "m.json", "told.csv", "--column", "age", "--mean", "--quantile", "0.5"]
    code, out, err = run(capsys, *ask, "--ends", "0..120", "--json")
    assert code == 0, err
    mean, median = json.loads(out)["numbers"]
    assert mean["least"] < mean["lower"] < mean["value"] < mean["upper"] < mean["most"] <= 120
    assert median["what"] == "quantile 0.5"
    # Beyond an open end there may be anything.
    code, out, err = run(capsys, *ask)
    assert (code, out) == (2, "")
    assert "'60 or more' without an end; say the least and the largest" in err
    assert "--ends 0..120" in err
    code, out, _ = run(capsys, *ask, "--ends", "0..120")
    assert "mean " in out
    assert "wherever in their bins" in out
    code, out, _ = run(capsys, *ask, "--ends", "0..120", "--histogram", "--json")
    shown = json.loads(out)
    assert len(shown["numbers"]) == 2
    shares = [row["estimate"] for row in shown["rows"]]
    assert [bar["share"] for bar in shown["histogram"]] == pytest.approx(shares)
    assert [bar["from"] for bar in shown["histogram"]] == [0, 20, 40, 60]
    assert shown["histogram"][-1]["density"] is None
    code, out, _ = run(capsys, *ask[:-3], "--histogram")
    assert "4 bins" in out


def test_dates_in_every_table_have_one_design_and_a_mean(place, capsys):
    """Text with points and without, timestamps, and dates of a spreadsheet with their numbers."""
    days = pd.date_range("1950-01-01", "1999-12-31", 400)
    frame = pd.DataFrame({"born": days, "day": days.strftime("%d.%m.%Y"), "on": days.date})
    frame.to_csv("t.csv", index=False)
    frame.to_csv("semi.csv", index=False, sep=";")
    frame.to_parquet("t.parquet")
    asked = ["-u", "estimation", "-p", "ldp:1", "-o", "m.json", "--force", "--bins"]
    for stated, labels in {
        "1950-01-01,1975-01-01,31.12.1999": (
            "1950-01-01 to 1974-12-31",
            "1975-01-01 to 1999-12-31",
        ),
        "year,1950,1980,2000": ("1950 to 1979", "1980 to 2000"),
        "k:2,1950-01-01..1999-12-31": ("1950-01-01 to 1974-12-31", "1975-01-01 to 1999-12-31"),
        "weekday": md.bins(of="weekday").labels,
    }.items():
        found = []
        for path, column in (
            ("t.csv", "born"), ("t.csv", "day"), ("semi.csv", "on"), ("t.parquet", "born"),
            ("t.parquet", "day"), ("t.parquet", "on"),
        ):  # fmt: skip
            code, _, err = run(capsys, "design", path, "--column", column, *asked, stated)
            assert (code, err) == (0, "saved m.json\n"), (stated, path, column)
            found.append((md.load("m.json").prior.labels, md.load("m.json").prior.weights))
        assert found == found[:1] * len(found)
        assert found[0][0] == labels
        seed = ["--column", "on", "--seed", "1", "--force"]
        for path, end in (("semi.csv", "csv"), ("t.parquet", "parquet")):
            assert run(capsys, "apply", "m.json", path, *seed, "-o", f"told.{end}")[0] == 0
        told = [md.tables.reading.read_columns(f"told.{end}", ["on"]) for end in ("csv", "parquet")]
        assert told[0] == told[1]
        ask = ["estimate", "m.json", "told.csv", "--column", "on", "--histogram", "--json"]
        code, out, err = run(capsys, *ask, *(["--mean"] if stated != "weekday" else []))
        assert code == 0, err
        shown = json.loads(out)
        assert [bar["label"] for bar in shown["histogram"]] == list(labels)
        if stated != "weekday":
            assert str(shown["numbers"][0]["value"])[:2] == "19"
    code, out, err = run(capsys, *ask, "--mean")
    assert (code, out) == (2, "")
    code, out, err = run(capsys, *ask[:-2], "--ends", "1950-01-01..31.12.1999", "--quantile", "0.5")
    assert code == 2
    assert "weekday, which comes again" in err


def test_edges_are_chosen_from_others_or_with_a_warning(place, capsys):
    ask = ["design", "people.csv", "--column", "pay", "--bins", "quantiles:4", "-p", "ldp:1"]
    code, _, err = run(capsys, *ask, "-o", "a.json")
    assert code == 0
    assert "no notion covers" in err
    code, _, err = run(capsys, *ask, "--bins-from", "others.csv", "-o", "b.json")
    assert code == 0
    assert "no notion covers" not in err
    origins = [md.load(f"{name}.json").prior.schema.bins_of("pay").origin for name in "ab"]
    assert origins == ["the secrets", "a separate sample"]


@pytest.mark.parametrize(
    "more",
    [
        ["--bins", "0,10,5"],
        ["--bins", "0,50"],
        ["--bins", "a,b"],
        ["--bins", "2020-01-01,2021-01-01"],
        ["--bins", "2020-01-01,2021-02-30"],
        ["--bins", "month"],
        ["--bins", "year,month"],
        ["--bins", ""],
        ["--bins", "quantiles:x"],
        ["--bins", "quantiles:2.5"],
        ["--bins", "quartiles:4"],
        ["--bins", "k:4,5"],
        ["--bins", "0,nan,100"],
        ["--bins", "0,1e999999999,2"],
        ["--bins", "pay=0,50"],
        ["--bins", "0,50,100", "--bins", "0,20,100"],
        ["--bins-from", "others.csv"],
        ["--bins", "quantiles:4", "--bins-from", "nowhere.csv"],
        ["--bins", "quantiles:4", "--bins-from", "others.csv"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_read_is_one_line_and_nothing_is_written(place, capsys, more):
    before = sorted(path.name for path in place.iterdir())
    code, out, err = run(
        capsys, "design", "people.csv", "--column", "age", *more, "-p", "ldp:1", "-o", "m.json"
    )
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err
    assert sorted(path.name for path in place.iterdir()) == before


def test_a_number_in_no_bin_writes_nothing_and_is_not_quoted(place, capsys):
    code, *_ = run(
        capsys, "design", "people.csv", "--column", "age", "--bins", "0,50,120", "-p", "ldp:1",
        "-o", "m.json",
    )  # fmt: skip
    assert code == 0
    (place / "wrong.csv").write_text("age\n30\n77731\n12.5\nzzsecret\n")
    code, _, err = run(capsys, "apply", "m.json", "wrong.csv", "--column", "age", "-o", "out.csv")
    assert code == 2
    assert "whole numbers from 0 to 120" in err
    assert "3 other values" in err
    assert "7773" not in err
    assert "zzsecret" not in err
    assert not (place / "out.csv").exists()


@pytest.mark.parametrize(
    "more",
    [["--ends", "0..1"], ["--mean", "--ends", "0"], ["--quantile", "2"], ["--mean"]],
    ids=" ".join,
)
def test_answers_that_cannot_be_given_are_refused(place, capsys, more):
    md.save(md.design(md.Prior([0.5, 0.5], ["f", "m"]), None, md.LDP(2)), "m.json")
    code, out, err = run(capsys, "estimate", "m.json", "people.csv", "--column", "sex", *more)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1 or "warning" in err


def test_bins_have_an_ordered_utility_by_default_everywhere(place, capsys):
    ages = ["people.csv", "--column", "age", "--bins", "0,30,60,100"]
    code, out, err = run(capsys, "compare", *ages, "--levels", "1", "--notion", "ldp", "--json")
    assert code == 0, err
    assert "absolute" in out
    code, out, err = run(
        capsys, "smallest", *ages, "--notion", "ldp", "--at-least", "-12", "--json"
    )
    assert code == 0, err
    code, plain, _ = run(
        capsys,
        "smallest",
        *ages,
        "--notion",
        "ldp",
        "--at-least",
        "-12",
        "-u",
        "absolute",
        "--json",
    )
    assert json.loads(out)["level"] == json.loads(plain)["level"]
    prior = md.Prior.from_csv("people.csv", "age", bins=md.bins(edges=[0, 30, 60, 100]))
    distance = md.utility.Distance("absolute")
    (found,) = md.sweep(prior, None, [md.LDP(1)])
    assert repr(found.utility) == repr(distance)
    assert md.smallest(md.LDP, prior, None, at_least=-12).design.utility.spec == distance.spec
    table = md.compare(prior, None, [md.LDP], [1])
    assert [repr(one) for one in table.utilities.values()] == [repr(distance)]
    # A control: symbols without an order, and priors of both kinds.
    sexes = md.Prior.from_csv("people.csv", "sex")
    assert md.sweep(sexes, None, [md.LDP(1)])[0].utility.spec == "hamming"
    with pytest.raises(InputError, match="without an order"):
        md.compare([prior, sexes], None, [md.LDP], [1])


CHOSEN = ("--column", "pay", "--bins", "quantiles:4")


def test_edges_chosen_by_the_secrets_are_warned_of_once_designed(place, capsys):
    code, out, err = run(capsys, "design", "people.csv", *CHOSEN, "-p", "ldp:1")
    assert code == 0
    assert "Certificate" in out
    assert err.count("no notion covers what they say about people") == 1
    assert "--bins 0,18,65" in err
    assert "edges=" not in err


# Columns that are hardly meant as they are


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    rows = 400
    pd.DataFrame(
        {
            "identity": [f"p{i:04d}" for i in range(rows)],
            "number": range(rows),
            "age": rng.integers(20, 42, rows),
            "children": rng.integers(0, 5, rows),
            "town": [f"town {i}" for i in rng.integers(0, 30, rows)],
            "sex": rng.choice(["f", "m"], rows),
        }
    ).to_csv("t.csv", index=False)


@pytest.mark.parametrize(
    ("column", "options", "hints"),
    [
        ("age", (), True),
        ("age", ("--json",), True),
        ("age", ("--bins", "0,30,inf"), False),
        ("age", ("--max-symbols", "30"), False),
        ("children", (), False),
        ("town", (), False),
    ],
)
def test_many_different_numbers_are_a_hint_at_bins(crowd, capsys, column, options, hints):
    assert main(["design", "t.csv", "--column", column, "-p", "ldp:1", *options]) == 0
    told = capsys.readouterr().err
    assert ("hint: column 'age' has 22 different numbers" in told) is hints
    assert ("--bins 0,18,65,120" in told) is hints
