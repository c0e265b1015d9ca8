"""Comparisons of notions: points, table, plot, command line."""

from __future__ import annotations

import json

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import LevelError

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])
LEVELS = [0.1, 0.5, 1.0]


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


def test_stricter_notions_allow_less(found):
    """At the same level LIP asks more than PML does."""
    pml, lip = found.frontier("PML")[1], found.frontier("LIP")[1]
    assert all(a >= b - 1e-9 for a, b in zip(pml, lip, strict=True))


def test_table_and_rows(found):
    header, lines = found.pivot()
    assert header == ["epsilon", "PML", "LIP", "LDP"]
    assert [line[0] for line in lines] == LEVELS
    assert lines[1][1] == found.frontier("PML")[1][1]
    assert set(found.rows()[0]) == {"notion", "epsilon", "value", "bound", "gap", "method"}
    assert "PML" in repr(found)
    assert "<table>" in found._repr_html_()


def test_functions_of_the_level():
    def both(level):
        return [md.LDP(level), md.PML(level)]

    found = md.compare(
        PRIOR, md.utility.Hamming(), [both, lambda e: md.ALIP(2 * e, e), md.ALIP], [0.5]
    )
    assert found.notions == ("both", "notion 2", "ALIP")
    assert found.points[2].design.notions == (md.ALIP(0.5, 0.5),)


@pytest.mark.parametrize(
    ("notions", "levels"), [([], [1]), ([md.PML], []), ([md.PML(1)], [1]), (["pml"], [1])]
)
def test_bad_input(notions, levels):
    with pytest.raises(LevelError):
        md.compare(PRIOR, md.utility.Hamming(), notions, levels)


def test_the_plot_has_a_line_per_notion(found):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    axes = md.plot_frontiers(found)
    assert [line.get_label() for line in axes.get_lines()] == ["PML", "LIP", "LDP"]
    assert list(axes.get_lines()[0].get_xdata()) == LEVELS
    assert "nats" in axes.get_xlabel()
    assert md.plot_frontiers(found, ax=axes) is axes
    pyplot.close("all")


def test_command_line(capsys, tmp_path):
    plot = tmp_path / "frontiers.png"
    words = ["compare", "--prior", ".5,.3,.2", "--notion", "pml", "--levels", "0.1:1:3", "--json"]
    assert main([*words, "--plot", str(plot)]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [p["epsilon"] for p in points] == pytest.approx([0.1, 0.55, 1.0])
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main([*words, "--plot", str(plot)]) == 2
    assert main(["compare", "--prior", ".5,.3,.2"]) == 0
    assert "epsilon" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["--levels", "a,b"],
        ["--levels", "1:2"],
        ["--levels", "1:2:0"],
        ["--levels", "-1"],
        ["--notion", "pmk"],
        ["--plot", "nowhere/f.png"],
        ["--plot", "f.docx"],
    ],
)
def test_command_line_refuses(capsys, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "--prior", ".5,.3,.2", *words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")


def test_one_notion_will_do_and_levels_are_a_list():
    assert len(md.compare(PRIOR, md.utility.Hamming(), md.PML, [0.5])) == 1
    with pytest.raises(LevelError, match="list of levels"):
        md.compare(PRIOR, md.utility.Hamming(), [md.PML], 0.5)


@pytest.mark.parametrize("spec", ["pml:1_0", "alip:1,,2", "pml:", "pml:1,"])
def test_spellings_that_are_no_levels(spec):
    from mechdesign.privacy import parse_notion

    with pytest.raises(LevelError):
        parse_notion(spec)
