"""Designs for estimates on the command line: questions, weights and truths as texts and files."""

from __future__ import annotations

import json

import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.utility import Estimation

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
ASKED = ["design", "--prior", "a=0.5,b=0.3,c=0.2", "-p", "pml:0.6"]


@for_each(
    ("options", "text", "question"),
    [
        ([], None, Estimation()),
        (["--of", "a=1,b=0,c=2"], None, Estimation([[1, 0, 2]])),
        (["--of", "FILE"], '{"a": 1, "b": 0, "c": 2}', Estimation([[1, 0, 2]])),
        (["--of", "FILE"], '{"a": "x", "b": "y", "c": "x"}', Estimation([[1, 0, 1], [0, 1, 0]])),
        (["--of", "FILE"], '[{"a": 1, "b": 0, "c": 2}]', Estimation([[1, 0, 2]])),
        (
            ["--of", "FILE", "--of-weights", "1,3"],
            "[[1, 0, 2], [0, 1, 0]]",
            Estimation([[1, 0, 2], [0, 1, 0]], [1, 3]),
        ),
        (["--of", '{"a": 1, "b": 0, "c": 2}'], None, Estimation([[1, 0, 2]])),
        (["--of", ' {"a":"x","b":"y","c":"x"}'], None, Estimation([[1, 0, 1], [0, 1, 0]])),
        (["--of", "[[1, 0, 2], [0, 1, 0]]"], None, Estimation([[1, 0, 2], [0, 1, 0]])),
        (["--truth", '{"c": 6, "a": 0, "b": 2}'], None, Estimation(truth=[1, 4, 12])),
        (["--truth", "[1, 2, 3]"], None, Estimation(truth=[1, 2, 3])),
        (["--truth", "a=1,b=2,c=3"], None, Estimation(truth=[1, 2, 3])),
        (["--truth", "1,2,3"], None, Estimation(truth=[1, 2, 3])),
        (["--truth", "0,1,2"], None, Estimation(truth=[1, 2, 4])),
        (["--truth", "FILE"], '{"c": 6, "a": 0, "b": 2}', Estimation(truth=[1, 4, 12])),
        (["--truth", "FILE"], '{"c": 0.5, "a": 0.25, "b": 0.25}', Estimation(truth=[1, 1, 2])),
    ],
)
def test_what_is_asked_is_what_is_designed_for(tmp_path, options, text, question):
    given = tmp_path / "asked.json"
    if text is not None:
        given.write_text(text)
    options = [str(given) if option == "FILE" else option for option in options]
    kept = tmp_path / "design.json"
    assert main([*ASKED, "-u", "estimation", *options, "-o", str(kept)]) == 0
    found = md.load(kept)
    assert found.certificate.is_optimal
    best = md.design(ABC, question, md.PML(0.6)).risk
    assert found.risk == pytest.approx(best, rel=1e-9)


@for_each(
    "options",
    [
        ["-u", "hamming", "--of", "a=1,b=0,c=2"],
        ["-u", "estimation", "--of", "a=x"],
        ["-u", "estimation", "--of", "a=1,b=0"],
        ["-u", "estimation", "--of", "a=1,b=0,d=2"],
        ["-u", "estimation", "--of", "a=1,b=0,c=2,a=3"],
        ["-u", "estimation", "--of", '{"a": 1, "b": 0, "c": NaN}'],
        ["-u", "estimation", "--of", '{"a": 1, "b": 0, "a": 2}'],
        ["-u", "estimation", "--of", "[" * 100_000 + "]"],
        ["-u", "estimation", "--of", '{"a": 1, "b": }'],
        ["-u", "estimation", "--truth", "a=1,b=2,c=3,b=3"],
        ["-u", "estimation", "--truth", '{"a": 1, "b": "two", "c": 3}'],
        ["-u", "estimation", "--truth", "[1, 2, [3]]"],
        ["-u", "estimation", "--of-weights", "1,x"],
        ["-u", "estimation", "--of-weights", "1,2"],
        ["-u", "estimation", "--truth", "a=1,b=2"],
        ["-u", "estimation", "--truth", "0,0.2,0.8"],
    ],
)
def test_what_cannot_be_asked_is_refused(options, capsys):
    assert main([*ASKED, *options]) == 2
    assert "expected" in capsys.readouterr().err


def test_what_every_output_must_satisfy_is_asked(capsys):
    asked = [*ASKED, "-u", "estimation", "--require"]
    for text in ("ratio:a,b,1.5", "posterior:b+c,*,0.6", "lift:a,0.9,*"):
        assert main([*asked, text]) == 0
        assert "optimal" in capsys.readouterr().out
    assert main([*asked, "zero:a,b"]) == 2
    assert "posterior, ratio and every_output ask it of every output" in capsys.readouterr().err
    told = ["design", "--prior", "a=0.5,b=0.3,c=0.2", "-u", "estimation", "--require", "apart:a+b"]
    assert main([*told, "-p", "pml:1"]) == 0
    assert "no output is reported for two of 'a', 'b'" in capsys.readouterr().out
    assert main([*told, "-p", "pml:0.1"]) == 2
    assert "raise the level" in capsys.readouterr().err


def test_messages_name_the_option_that_is_meant(capsys, tmp_path):
    table = tmp_path / "s.csv"
    table.write_text("job\na\nb\nb\nc\n", encoding="utf-8")
    known = ["design", str(table), "--column", "job", "-p", "pml:0.6", "-u", "estimation"]
    assert main([*known, "--weights", "1,1,1"]) == 2
    assert "--of-weights" in capsys.readouterr().err
    for asked in ("4,5", "x"):
        assert main([*ASKED, "-u", "estimation", "--outputs", asked]) == 2
        assert "--require outputs:4" in capsys.readouterr().err
    assert main([*ASKED, "-u", "hamming", "--outputs", "2"]) == 2
    assert "--require outputs:2" in capsys.readouterr().err
    assert main([*ASKED, "-u", "estimation", "--truth", "any;1,2,3"]) == 2
    assert "or any alone" in capsys.readouterr().err
    assert main([*ASKED, "-u", "estimation", "--of-weights", "1e300,1,1"]) == 2
    assert "1e+60" in capsys.readouterr().err


def test_symbols_of_a_joint_table_are_named_as_they_are_shown(tmp_path):
    """As in messages, and as JSON; counts of the truth, too, which knew them by position alone."""
    table, kept = tmp_path / "t.csv", tmp_path / "design.json"
    table.write_text("x,y,n\n1,a,5\n1,b,3\n2,a,2\n", encoding="utf-8")
    known = md.Prior.from_csv(table, ["x", "y"], weights="n")
    found = []
    for names in (["(1, 'a')", "(1, 'b')", "(2, 'a')"], ['[1, "a"]', '[1, "b"]', '[2, "a"]']):
        of, truth = (json.dumps(dict(zip(names, v, strict=True))) for v in ([1, 0, 2], [4, 3, 3]))
        command = ["design", str(table), "--column", "x", "--column", "y", "--weights", "n"]
        command += ["-p", "pml:0.6", "-u", "estimation", "--of", of, "--truth", truth]
        assert main([*command, "-o", str(kept), "--force"]) == 0
        found.append(md.load(kept).risk)
    best = md.design(known, Estimation([[1, 0, 2]], truth=[4, 3, 3]), md.PML(0.6)).risk
    assert found == pytest.approx([best, best], rel=1e-9)
