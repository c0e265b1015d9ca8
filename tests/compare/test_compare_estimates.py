"""Comparisons of how many reports estimates need: tables, verdicts, pictures, the command line."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest
from checks import refused

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import InputError
from mechdesign.utility import Estimation
from mechdesign.views.pages import comparison_page

PRIOR = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
OPEN = 1 - 0.5**2 - 0.3**2 - 0.2**2
LEVELS = [0.0, 0.5, 1.0]


@pytest.fixture(scope="module")
def found():
    goals = {"estimation": Estimation(), "hamming": md.utility.Hamming()}
    return md.compare(PRIOR, goals, [md.PML, md.LIP, md.LDP], LEVELS)


@pytest.fixture(scope="module")
def part(found):
    return found.select(utility="estimation")


def test_points_are_designs_and_level_zero_has_none(part):
    assert [point.target for point in part] == [0.5, 1.0] * 3
    for point in part:
        alone = md.design(PRIOR, Estimation(), getattr(md, point.notion)(point.target))
        assert point.risk == -point.value == pytest.approx(alone.risk, rel=1e-9)
        assert point.least_risk == -point.bound <= point.risk
        assert point.kept == pytest.approx(OPEN / point.risk, rel=1e-12)
        assert point.kept <= point.kept_bound <= 1
        assert point.loss == pytest.approx(point.risk - OPEN, rel=1e-9)
    assert [(m.notion, m.target) for m in part.missing] == [(n, 0.0) for n in part.notions]
    assert all("answer what is to be estimated" in m.reason for m in part.missing)


def test_an_open_survey_is_at_its_worst_truth_where_kernels_are():
    asked = Estimation({"a": 1, "b": 0, "c": 0}, truth="any")
    (point,) = md.compare(md.Prior([0.9, 0.05, 0.05], ["a", "b", "c"]), asked, [md.PML], [0.05])
    assert point.kept == pytest.approx(0.25 / point.risk, rel=1e-9)
    assert point.loss == pytest.approx(point.risk - 0.25, rel=1e-9)


def test_tables_show_risks_and_stay_as_they_were_elsewhere(found, part):
    lines = part.pivot()[1]
    assert lines[0] == [0.0, None, None, None]
    assert lines[2][1] == part.points[1].risk > 0
    rows = list(csv.DictReader(io.StringIO(found.csv_text())))
    assert [float(r["risk"]) for r in rows[:6]] == [p.risk for p in part]
    assert {r["risk"] for r in rows[6:]} == {""}
    hamming = found.select(utility="hamming")
    assert "risk" not in hamming.columns
    assert hamming.pivot()[1][2][1] == hamming.points[2].value
    assert "squared error × reports by epsilon" in repr(part)
    assert "squared error × reports" in part._repr_html_()
    assert "squared error" not in repr(hamming) + hamming._repr_html_()


def test_verdicts_speak_of_reports_and_what_is_saved_is_proved(part):
    said = part.verdict
    assert said[0].startswith("Which needs the fewest reports at the same level? PML does at all 2")
    assert "an open survey needs" in said[1]
    assert "could be gained" not in " ".join(said)
    values = {(p.notion, p.target): p for p in part}
    for ranking in part.rankings:
        best, second = (values[name, ranking.target] for name in ranking.order[:2])
        assert ranking.leaders == ("PML",)
        assert ranking.lead == pytest.approx(1 - best.risk / second.least_risk, rel=1e-9)
        assert ranking.lead <= 1 - best.risk / second.risk + 1e-12
    widest = max(ranking.lead for ranking in part.rankings)
    assert f"at least {widest:.1%} fewer reports" in " ".join(said)


def test_leaders_are_told_apart_where_risks_are_large():
    """At small levels the share that an open survey needs is below what shares are rounded to."""
    known = md.compare(PRIOR, Estimation(), [md.PML, md.LIP, md.LDP], [1e-3])
    assert max(p.kept for p in known) < 1e-6 * 10
    assert known.rankings[0].leaders == ("PML",)
    same = md.compare(PRIOR, Estimation(), {"one": md.LIP, "two": md.LIP}, [1.0])
    assert same.rankings[0].leaders == ("one", "two")
    assert "one and two need the same and the fewest" in same.verdict[0]


def test_levels_that_cost_the_same_reports():
    needed = 2 * OPEN  # twice those of an open survey
    known = md.compare(PRIOR, Estimation(), [md.PML, md.LDP], [needed - OPEN], match="loss")
    assert len(known) == 2
    for point in known:
        assert point.risk <= needed * (1 + 1e-9)
        assert point.risk == pytest.approx(needed, rel=1e-4)
    assert known.points[0].epsilon < known.points[1].epsilon


def test_pictures_have_a_logarithmic_axis_for_risks_alone(found, part):
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = md.plot_frontiers(part)
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "squared error × reports"
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_allclose(lines["PML"].get_ydata(), [p.risk for p in part][:2])
    np.testing.assert_allclose(lines["open survey"].get_ydata(), OPEN)
    ax.figure.canvas.draw()
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert "1" in names
    assert not any("$" in name for name in names)
    grid = md.plot_frontiers(found)
    assert [panel.get_yscale() for panel in grid[:, 0]] == ["log", "linear"]
    assert [panel.get_ylabel() for panel in grid[:, 0]] == ["squared error × reports", "utility"]
    assert md.plot_frontiers(part, quantity="kept").get_yscale() == "linear"
    refused(lambda: md.plot_frontiers(found, quantity="risk"), "hamming", error=InputError)
    plt.close("all")


def test_the_page_and_the_command_line_say_the_same(part, tmp_path, capsys):
    pytest.importorskip("jinja2")
    page = comparison_page(part)
    assert "fewer reports, proved" in page
    assert "at least" in page
    arguments = ["compare", "--prior", "a=0.5,b=0.3,c=0.2", "-u", "estimation", "-n", "pml"]
    arguments += ["-n", "ldp", "--levels", "0.5,1"]
    picture = tmp_path / "reports.svg"
    assert main([*arguments, "--json", "-o", str(picture)]) == 0
    shown = json.loads(capsys.readouterr().out)
    risks = {(p["notion"], p["target"]): p["risk"] for p in shown["points"]}
    assert risks["PML", 1.0] == pytest.approx(part.points[1].risk, rel=1e-9)
    assert all(math.isfinite(value) for value in risks.values())
    assert "open survey" in picture.read_text(encoding="utf-8")
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "squared error × reports" in out
    assert "Which needs the fewest reports" in out
