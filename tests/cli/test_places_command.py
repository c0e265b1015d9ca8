"""``mechdesign places``: from visits to reports of raw points, and what it refuses."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main

BOUNDS = "59.29,17.97,59.37,18.15"
ASKED = ["--level", "ln2", "--within", "800", "--bounds", BOUNDS, "--cells", "2x3"]


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(2)
    points = rng.normal([59.33, 18.06], [0.008, 0.015], (120, 2))
    path = tmp_path / "visits.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "lat", "lon"])
        writer.writerows([f"p{i}", repr(a), repr(b)] for i, (a, b) in enumerate(points.tolist()))
    return path


NAMED = ["--latitude", "lat", "--longitude", "lon"]


def test_from_visits_to_reports_and_back(visits, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MECHDESIGN_LEDGER", str(tmp_path / "ledger"))
    saved, reports = tmp_path / "town.json", tmp_path / "reports.csv"
    asked = ["places", str(visits), *ASKED, *NAMED, "-o", str(saved)]
    assert main([*asked, "--picture", str(tmp_path / "town.svg")]) == 0
    said = capsys.readouterr().out
    assert "m off on average" in said
    assert "2×3 places" in said
    assert (tmp_path / "town.svg").read_text(encoding="utf-8").startswith("<?xml")
    found = md.load(saved)
    town = md.places.of(found)
    assert town.shape == (2, 3)
    assert found.gap <= 1e-6
    assert main(["apply", str(saved), str(visits), "-o", str(reports)]) == 0
    rows = list(csv.DictReader(reports.read_text(encoding="utf-8").splitlines()))
    assert [row["who"] for row in rows] == [f"p{i}" for i in range(120)]
    assert {(float(r["lat"]), float(r["lon"])) for r in rows} <= set(town.labels)
    assert main(["audit", str(saved)]) == 0
    assert main(["verify", str(saved)]) == 0
    assert main(["report", str(saved), "--kind", "places", "-o", str(tmp_path / "m.png")]) == 0


def test_places_along_roads(visits, tmp_path, capsys):
    named = "name,latitude,longitude\na,59.32,18.04\nb,59.335,18.06\nc,59.34,18.09\n"
    (tmp_path / "points.csv").write_text(named)
    (tmp_path / "roads.csv").write_text("from,to,metres\na,b,2500\nb,c,3000\n")
    _, *rest = visits.read_text(encoding="utf-8").splitlines()
    visits.write_text("\n".join(["who,latitude,longitude", *rest]), encoding="utf-8")
    asked = ["--level", "0.7", "--within", "800", "--points", str(tmp_path / "points.csv")]
    asked += ["--roads", str(tmp_path / "roads.csv"), "--reach", "9000"]
    assert main(["places", str(visits), *asked, "-o", str(tmp_path / "roads.json")]) == 0
    assert "3 places" in capsys.readouterr().out
    town = md.places.of(md.load(tmp_path / "roads.json"))
    np.testing.assert_allclose(town.distances[0], [0, 2500, 5500])


WRONG = {
    "roads": (["--roads", "nowhere.csv"], "--points"),
    "level": (["--level", "ln0"], "--level"),
    "infinite level": (["--level", "lots"], "--level"),
    "cells": (["--cells", "2x3x4"], "--cells"),
    "bounds": (["--bounds", "1,2,3"], "bounds"),
    "no bounds": (["--bounds", "a,b,c,d"], "--bounds"),
    "both": (["--points", "nowhere.csv"], "both"),
    "reach": (["--reach", "5"], "--points"),
    "side": (["--side", "500"], "both"),
    "outside": (["--bounds", "59.32,18.0,59.33,18.1"], "outside"),
    "columns": (["--latitude", "nope"], "nope"),
    "loss": (["--loss", "miles"], "metres"),
    "reports": (["--reports", "dots"], "cell"),
    "hide": (["--hide", "1e9"], "without a report"),
    "within": (["--within", "0"], "within"),
    "added": (["--added", "-1"], "added"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_line_and_nothing_written(name, visits, tmp_path, capsys):
    more, match = WRONG[name]
    before = sorted(tmp_path.iterdir())
    asked = ["places", str(visits), *ASKED, *NAMED, "-o", str(tmp_path / "a.json"), *more]
    assert main(asked) == 2
    told = capsys.readouterr()
    assert match in told.err
    assert told.err.count("\n") == 1
    assert "Traceback" not in told.err

    assert not told.out
    assert sorted(tmp_path.iterdir()) == before
