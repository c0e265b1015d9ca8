"""Comparisons of notions: points, table, plot, command line."""

from __future__ import annotations

import csv
import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign import storage
from mechdesign.cli import main
from mechdesign.errors import InputError, LevelError
from mechdesign.privacy.free_level import as_families
from mechdesign.solve._sweep import Walk
from mechdesign.views.pages import comparison_page

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])
LEVELS = [0.1, 0.5, 1.0]
COLUMNS = (
    *("prior", "utility", "notion", "target", "attained", "epsilon", "privacy"),
    *("value", "bound", "gap", "loss", "kept", "achieved_pml", "achieved_ldp", "implied_ldp"),
    *("mutual_information", "method"),
)


@pytest.fixture(scope="module")
def found():
    return md.compare(PRIOR, md.utility.Hamming(), [md.PML, md.LIP, md.LDP], LEVELS)


def test_each_point_is_the_design(found):
    assert len(found) == 9
    for point in found:
        notion = getattr(md, point.notion)(point.epsilon)
        alone = md.design(PRIOR, md.utility.Hamming(), notion)
        assert point.value == pytest.approx(alone.value, abs=1e-9)
        assert point.bound >= point.value
        assert point.design.notions == (notion,)


def test_table_and_rows(found):
    header, lines = found.pivot()
    assert header == ["epsilon", "PML", "LIP", "LDP"]
    assert [line[0] for line in lines] == LEVELS
    assert lines[1][1] == found.frontier("PML")[1][1]
    assert tuple(found.rows()[0]) == COLUMNS
    assert "PML" in repr(found)
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_table_is_a_frame_of_any_library(found, backend):
    import narwhals as nw

    frame = nw.from_native(found.to_frame(backend), eager_only=True)
    assert tuple(frame.columns) == COLUMNS
    assert frame["value"].to_list() == [p.value for p in found]
    assert frame["privacy"].to_list()[0] == "pml:0.1"


def test_the_csv_reads_back_the_same(found, tmp_path):
    found.to_csv(tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["bound"]) for row in rows] == [p.bound for p in found]
    with pytest.raises(md.errors.StorageError):
        found.to_csv(tmp_path / "t.csv")


def test_functions_of_the_level():
    def both(level):
        return [md.LDP(level), md.PML(level)]

    found = md.compare(
        PRIOR, md.utility.Hamming(), [both, lambda e: md.ALIP(2 * e, e), md.ALIP], [0.5]
    )
    assert found.notions == ("both", "notion 2", "ALIP")
    named = md.compare(PRIOR, md.utility.Hamming(), {"mine": both, "yours": md.PML}, [0.5])
    assert named.notions == ("mine", "yours")
    assert found.points[2].design.notions == (md.ALIP(0.5, 0.5),)


@for_each(
    ("notions", "levels"),
    [
        ([], [1]),
        ([md.PML], []),
        ([md.PML(1)], [1]),
        (["pml", md.PML], [1]),
        ([md.DP], [1]),
        ([md.PML], [1, 1]),
        ([lambda e: "nothing"], [1]),
    ],
)
def test_bad_input(notions, levels):
    with pytest.raises(LevelError):
        md.compare(PRIOR, md.utility.Hamming(), notions, levels)


@for_each(
    ("prior", "utility"),
    [("x", md.utility.Hamming()), (PRIOR, "hamming"), ([], md.utility.Hamming()), (PRIOR, {})],
)
def test_bad_priors_and_utilities(prior, utility):
    with pytest.raises(InputError, match="expected a"):
        md.compare(prior, utility, md.PML, [1])


def test_one_notion_will_do_and_levels_are_a_list():
    assert len(md.compare(PRIOR, md.utility.Hamming(), md.PML, [0.5])) == 1
    assert len(md.compare(PRIOR, md.utility.Hamming(), md.PML)) == 20
    with pytest.raises(LevelError, match="list of levels"):
        md.compare(PRIOR, md.utility.Hamming(), [md.PML], 0.5)
    with pytest.raises(LevelError, match="epsilon, ldp, pml, loss"):
        md.compare(PRIOR, md.utility.Hamming(), [md.PML], [0.5], match="level")


# Matched levels

NOTIONS = [md.PML, md.LIP, "alip:2e,e", md.PMC, md.LDP]


def test_matched_by_implied_ldp():
    """Each guarantee implies LDP at the target, and hardly less; checked by the conversion."""
    found = md.compare(PRIOR, md.utility.Hamming(), NOTIONS, [0.3, 1.2], match="ldp")
    assert len(found) == 10
    for point in found:
        implied = md.convert(point.design.notions, md.LDP, PRIOR).epsilon
        assert implied <= point.target
        assert implied == pytest.approx(point.target, rel=1e-6)
        assert point.achieved_ldp <= point.target
    # LDP asks for exactly that, so none can give more.
    best = {p.target: p.bound for p in found.select("LDP")}
    assert all(p.value <= best[p.target] + 1e-12 for p in found)
    assert "none can give more than LDP" in " ".join(found.verdict)


@pytest.mark.slow
def test_matched_by_achieved_pml():
    found = md.compare(PRIOR, md.utility.Hamming(), NOTIONS, [0.4, 0.8], match="pml")
    for point in found:
        assert md.audit(point.design.mechanism, PRIOR).pml <= point.target
        assert point.attained == md.audit(point.design.mechanism, PRIOR).pml
    # What stays below the target does so because more at the level would be above it.
    for point in found:
        if point.attained < point.target * 0.99:
            notion = next(f for f in as_families(NOTIONS) if f.name == point.notion)
            more = md.design(PRIOR, md.utility.Hamming(), notion.at(point.epsilon * (1 + 1e-4)))
            assert md.audit(more.mechanism, PRIOR).pml > point.target


def test_matched_by_loss():
    losses = [0.1, 0.35]
    found = md.compare(PRIOR, md.utility.Hamming(), NOTIONS, losses, match="loss")
    for point in found:
        assert 1 - point.value <= point.target + 1e-12
        assert 1 - point.value == pytest.approx(point.target, abs=1e-5)
        # A level a little lower loses more.
        notion = next(f for f in as_families(NOTIONS) if f.name == point.notion)
        less = md.design(PRIOR, md.utility.Hamming(), notion.at(point.epsilon * (1 - 1e-3)))
        assert 1 - less.value > point.target
    assert any("least pointwise maximal leakage" in line for line in found.verdict)
    assert found.rankings == ()


@pytest.mark.slow
def test_losses_are_chosen_for_each_utility():
    goals = [md.utility.Hamming(), md.utility.MutualInformation()]
    found = md.compare(PRIOR, goals, [md.PML], match="loss")
    for utility, most in (("Hamming", 0.6), ("MutualInformation", 1.2798542)):
        targets = [p.target for p in found.select(utility=utility)]
        assert len(targets) == 20
        assert max(targets) == pytest.approx(most * 0.975)


@for_each("match", slow_but(2, ["epsilon", "loss", "ldp", "pml"]))
@for_each("prior", [md.Prior([1.0]), md.Prior([0.5, 0.5]), md.Prior([1 - 1e-12, 1e-12])])
def test_small_alphabets_and_the_ends_of_the_scale(match, prior):
    levels = [0.0, 1e-4, 30.0] if match != "loss" else [0.0, 1e-9, 1.0]
    found = md.compare(prior, md.utility.Hamming(), [md.PML, md.PMC, md.LDP], levels, match=match)
    assert len(found) == 9
    for point in found:
        assert point.bound >= point.value
        assert point.attained <= point.target + 1e-12 or match == "epsilon"
        assert all(str(c.verdict) == "yes" for c in point.design.certificate.checks)
    assert found.verdict


def test_targets_that_nothing_meets_are_said():
    found = md.compare(PRIOR, md.utility.Hamming(), [md.LDP, "miprivacy"], [0.5], match="ldp")
    assert [(m.notion, m.target) for m in found.missing] == [("MIPrivacy", 0.5)]
    assert [p.notion for p in found] == ["LDP"]
    assert any("MIPrivacy has no point" in line for line in found.verdict)
    assert found.notions == ("LDP", "MIPrivacy")
    assert found.pivot()[1][0][2] is None


# Several priors and utilities

PRIORS = {"even": md.Prior([0.25] * 4), "skewed": PRIOR}


def test_several_priors_and_utilities():
    goals = [md.utility.Hamming(), md.utility.Distance("absolute")]
    found = md.compare(PRIORS, goals, [md.PML, md.LDP], [0.5, 1.0])
    assert len(found) == 16
    assert found.panels == (
        ("even", "Hamming"),
        ("even", "Distance(absolute)"),
        ("skewed", "Hamming"),
        ("skewed", "Distance(absolute)"),
    )
    part = found.select(prior="skewed", utility="Hamming")
    alone = md.compare(PRIOR, md.utility.Hamming(), [md.PML, md.LDP], [0.5, 1.0])
    assert [p.value for p in part] == [p.value for p in alone]
    assert found.frontier("PML", "skewed", "Hamming") == alone.frontier("PML")
    with pytest.raises(InputError, match="one prior and one utility"):
        found.frontier("PML")
    with pytest.raises(InputError, match="did you mean 'PML'"):
        found.select("PMl")
    listed = md.compare([PRIOR, PRIORS["even"]], md.utility.Hamming(), md.PML, [0.5])
    assert tuple(listed.priors) == ("prior 1", "prior 2")


# The verdict


def test_the_verdict_is_what_the_certificates_prove(found):
    for ranking in found.rankings:
        group = {p.notion: p for p in found if p.target == ranking.target}
        values = [group[name].value for name in ranking.order]
        assert values == sorted(values, reverse=True)
        others = [group[name].bound for name in ranking.order if name not in ranking.leaders]
        room = 1 - max(PRIOR.probabilities)
        if others:
            lead = (group[ranking.order[0]].value - max(others)) / room
            assert ranking.lead == pytest.approx(lead, abs=1e-9)
            assert lead > 0
    text = " ".join(found.verdict)
    assert "LIP implies PML" in text
    assert "LDP implies PML and LIP" in text
    assert "PML implies" not in text


def test_equal_notions_lead_together():
    """Without a lower bound, ALIP is PML."""
    found = md.compare(PRIOR, md.utility.Hamming(), ["pml", "alip:inf,e", "ldp"], [0.5, 0.9])
    assert all(set(r.leaders) == {"PML", "ALIP(inf, ε)"} and r.lead > 0 for r in found.rankings)
    assert "PML and ALIP(inf, ε) give the same and the most" in found.verdict[0]


def test_a_false_lead_would_show(found):
    """A control: with bounds that reach further, nothing is proved, and nobody leads alone."""
    loose = tuple(replace(p, kept_bound=p.kept + 1) for p in found)
    rankings = replace(found, points=loose).rankings
    assert len(rankings) == 3
    assert all(len(r.leaders) == 3 and r.lead == 0 for r in rankings)


def test_gaps_are_warned_of_once():
    prior = md.Prior(np.arange(1, 13) / 78)
    with pytest.warns(md.errors.GapWarning, match="of 2 points") as warned:
        loose = md.compare(prior, md.utility.Hamming(), [md.LIP], [0.3, 0.9], solver="OSQP")
    assert len(warned) == 1
    assert all(p.bound > p.value for p in loose)


# Going on where it was stopped


def test_a_stopped_comparison_goes_on(found, tmp_path, monkeypatch):
    asked = (PRIOR, md.utility.Hamming(), [md.PML, md.LIP, md.LDP])
    half = md.compare(*asked, LEVELS[:2], resume=tmp_path / "kept")
    assert len(list((tmp_path / "kept").iterdir())) == 6
    made = []
    step = Walk.step
    monkeypatch.setattr(
        Walk, "step", lambda self, problem: made.append(problem) or step(self, problem)
    )
    whole = md.compare(*asked, LEVELS, resume=tmp_path / "kept")
    assert len(made) == 3
    assert [p.value for p in whole] == pytest.approx([p.value for p in found], abs=1e-9)
    assert [p.value for p in half] == [p.value for p in whole if p.target < 1]
    # Another prior, utility, solver or set of outputs is another question.
    md.compare(md.Prior([0.1, 0.2, 0.3, 0.4]), asked[1], md.PML, [0.1], resume=tmp_path / "kept")
    md.compare(PRIOR, md.utility.Distance("absolute"), md.PML, [0.1], resume=tmp_path / "kept")
    md.compare(PRIOR, asked[1], md.PML, [0.1], solver="highs-ipm", resume=tmp_path / "kept")
    md.compare(PRIOR, asked[1], md.PML, [0.1], [0, 1], resume=tmp_path / "kept")
    assert len(made) == 7


def test_what_is_read_back_is_proved_again(tmp_path):
    asked = (PRIOR, md.utility.Hamming(), md.PML, [0.5])
    md.compare(*asked, resume=tmp_path)
    (file,) = tmp_path.iterdir()
    content = json.loads(file.read_text())
    other = md.design(PRIOR, md.utility.Hamming(), md.PML(0.7))
    for altered in (
        {**content, "method": "mine"},  # the digest no longer fits
        storage.to_json(other),  # a sound design, but of another question
    ):
        file.write_text(json.dumps(altered))
        with pytest.raises(md.errors.StorageError):
            md.compare(*asked, resume=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(md.errors.StorageError, match="cannot be made"):
        md.compare(*asked, resume=tmp_path / "file" / "folder")


# Pictures and pages


@pytest.fixture
def pyplot():
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_the_plot_has_a_line_per_notion(found, pyplot):
    axes = md.plot_frontiers(found)
    assert [line.get_label() for line in axes.get_lines()] == ["PML", "LIP", "LDP"]
    assert list(axes.get_lines()[0].get_xdata()) == LEVELS
    assert list(axes.get_lines()[1].get_ydata()) == found.frontier("LIP")[1]
    assert "nats" in axes.get_xlabel()
    assert md.plot_frontiers(found, ax=axes) is axes


def test_panels_of_a_plot(pyplot):
    goals = [md.utility.Hamming(), md.utility.MutualInformation()]
    found = md.compare(PRIORS, goals, [md.PML, md.LDP], [0.5, 1.0])
    grid = md.plot_frontiers(found)
    assert grid.shape == (2, 2)
    assert "MutualInformation" in grid[1, 0].get_title()
    assert md.plot_frontiers(found, ax=grid.ravel()).shape == (2, 2)
    with pytest.raises(InputError, match="2 × 2 axes"):
        md.plot_frontiers(found, ax=grid[0, 0])
    with pytest.raises(InputError, match="value"):
        md.plot_frontiers(found, quantity="price")


def test_infinite_numbers_are_drawn_at_an_edge(pyplot):
    found = md.compare(PRIOR, md.utility.Hamming(), [md.PML, md.LDP], [0.5, 1.5, float("inf")])
    axes = md.plot_frontiers(found, quantity="achieved_ldp")
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [t.get_text() for t in ticks][-1] == "∞"
    x = np.concatenate([line.get_xdata() for line in axes.get_lines()])
    y = np.concatenate([line.get_ydata() for line in axes.get_lines()])
    assert np.isfinite(x.astype(float)).all()
    assert np.isfinite(y.astype(float)).all()


def test_nothing_to_draw(pyplot):
    found = md.compare(PRIOR, md.utility.Hamming(), "miprivacy", [0.5], match="ldp")
    with pytest.raises(InputError, match="no point"):
        md.plot_frontiers(found)


def test_the_page_holds_everything_itself(found):
    page = comparison_page(found)
    assert page == comparison_page(found)
    for line in found.verdict:
        assert html.escape(line, quote=False) in html.unescape(page).replace("&", "&amp;")
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "")
    assert "<script" not in page
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names))


def test_labels_cannot_write_into_the_page():
    prior = md.Prior([0.5, 0.5], labels=["<script>alert(1)</script>", "b & c"])
    page = comparison_page(md.compare({"<b>x</b>": prior}, md.utility.Hamming(), md.PML, [0.5]))
    assert "<script" not in page
    assert "<b>x" not in page
    assert "b &amp; c" in page


# Command line

ASKED = ["compare", "--prior", ".5,.3,.2"]


def test_command_line(capsys, tmp_path):
    plot = tmp_path / "frontiers.png"
    arguments = [*ASKED, "--notion", "pml", "--levels", "0.1:1:3", "--json"]
    assert main([*arguments, "--output", str(plot)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [p["epsilon"] for p in printed["points"]] == pytest.approx([0.1, 0.55, 1.0])
    assert printed["match"] == "epsilon"
    assert printed["verdict"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main([*arguments, "--output", str(plot)]) == 2
    assert main(ASKED) == 0
    printed = capsys.readouterr().out
    assert "epsilon" in printed
    assert "Verdict" in printed


@for_each(
    "arguments",
    [
        ["--levels", "a,b"],
        ["--levels", "1:2"],
        ["--levels", "-1"],
        ["--notion", "pmk"],
        ["--match", "value"],
        ["--output", "nowhere/f.png"],
        ["--output", "f.docx"],
        ["--jobs", "0"],
    ],
)
def test_command_line_refuses(capsys, monkeypatch, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    assert main([*ASKED, *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
