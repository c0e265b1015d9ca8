"""Notions that take more than levels, written on the command line."""

from __future__ import annotations

from dataclasses import make_dataclass

import pytest
from checks import for_each
from typer.testing import CliRunner

import mechdesign as md
from mechdesign.cli.application import application
from mechdesign.errors import LevelError, UnknownNameError
from mechdesign.privacy import parse_notion
from mechdesign.privacy.notion import NOTIONS

WRITTEN = {
    "dp:1.0,adjacent": md.DP(1, "adjacent"),
    "metricprivacy:0.5,absolute": md.MetricPrivacy(0.5, "absolute"),
    "approximateldp:1.0,0.1": md.ApproximateLDP(1, 0.1),
    "entrypml:0.1,3,0.3": md.EntryPML(0.1, 3, 0.3),
}


@for_each("text", WRITTEN)
def test_what_a_notion_needs_follows_its_level(text):
    assert parse_notion(text) == WRITTEN[text]
    assert WRITTEN[text].spec == text


@for_each("text", WRITTEN)
def test_the_command_line_designs_and_audits_them(text, tmp_path):
    table = tmp_path / "counts.csv"
    table.write_text("n\n" + "\n".join("0122333") + "\n")
    file = str(tmp_path / "found.json")
    asked = ["design", str(table), "--column", "n", "--utility", "absolute", "--privacy", text]
    run = CliRunner().invoke(application(), [*asked, "--output", file])
    assert run.exit_code == 0, run.output
    assert CliRunner().invoke(application(), ["audit", file, "--privacy", text]).exit_code == 0
    assert md.load(file).notions == (WRITTEN[text],)


@for_each(
    ("text", "error", "said"),
    [
        ("dp:1", LevelError, "dp:0.5,NEIGHBOURS"),
        ("dp:1,near", UnknownNameError, "adjacent"),
        ("entrypml:.1,x,.3", LevelError, "whole number for entries"),
        ("entrypml:.1,3,y", LevelError, "number for low"),
        ("approximateldp:1,nan", LevelError, "from 0 to 1"),
        ("robustpml:1", LevelError, "use it in Python"),
    ],
)
def test_mistakes_are_explained(text, error, said):
    with pytest.raises(error, match=said):
        parse_notion(text)


@pytest.fixture
def own():
    """Registers a notion with parameters and forgets it afterwards."""

    def made(needs, written):
        fields = [("epsilon", float), *((name, object) for name in needs)]
        space = {"needs": needs, "written": written, "__module__": __name__}
        space |= dict.fromkeys(("bounds", "leakage"))
        NOTIONS.pop("shaped", None)
        return make_dataclass(
            "Shaped", fields, bases=(md.LikelihoodBound,), namespace=space, frozen=True
        )

    yield made
    NOTIONS.pop("shaped", None)


def pairs(text):
    """Delicate symbols and their groups, as in ``a=b+c``."""
    return tuple((s, tuple(group.split("+"))) for s, group in [text.split("=")])


def test_parameters_of_ones_own_are_read_as_the_class_says(own):
    own(("times", "groups"), (int, pairs))
    found = parse_notion("shaped:0.5,3,a=b+c")
    assert (found.epsilon, found.times, found.groups) == (0.5, 3, (("a", ("b", "c")),))
    with pytest.raises(LevelError, match="text that is read for groups, got 'a'"):
        parse_notion("shaped:0.5,3,a")
    with pytest.raises(LevelError, match="a whole number for times"):
        parse_notion("shaped:0.5,x,a=b")


def test_parameters_that_nothing_reads_are_said(own):
    own(("groups",), ())
    with pytest.raises(LevelError, match=r"in the class how text is read: written = \(str,\)"):
        parse_notion("shaped:0.5,a")
    own(("times", "groups"), (int,))
    with pytest.raises(LevelError, match=r"written of Shaped: .* got 1 of 2"):
        parse_notion("shaped:0.5,3,a=b")
    with pytest.raises(LevelError) as refused:
        parse_notion("robustpml:1")
    assert "written" not in str(refused.value)
