"""``mechdesign certify``: a kernel of any tool becomes a design that shows, audits and loads."""

from __future__ import annotations

import json
import math

import pytest

import mechdesign as md
from mechdesign.cli import main

IDENTITY = "input,a,b,c\na,1,0,0\nb,0,1,0\nc,0,0,1\n"
PRIOR = ("--prior", "a=0.5,b=0.3,c=0.2")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Runs the command line in a folder with a kernel that leaks everything."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.csv").write_text(IDENTITY)

    def call(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return call


def test_a_certified_kernel_is_saved_shown_and_audited(run):
    code, out, err = run("certify", "k.csv", *PRIOR, "-u", "hamming", "-p", "ldp:1", "-o", "m.json")
    assert (code, err) == (0, "saved m.json\n")
    for fragment in ("given", "0.64 of constant mass mixed in", "upper bound", "yes: exact check"):
        assert fragment in out, fragment
    loaded = md.load("m.json")
    assert loaded.method == "given"
    assert loaded.value == pytest.approx(math.e / (math.e + 2))
    assert {*out.splitlines()} <= {*run("check", "m.json")[1].splitlines()}
    assert run("audit", "m.json")[0] == 0
    assert run("audit", "k.csv", *PRIOR, "-p", "ldp:1")[0] == 1  # a control


def test_a_saved_design_brings_what_it_was_made_for(run):
    prior = md.Prior([0.5, 0.3, 0.2])
    found = md.design(prior, md.utility.Distance("absolute"), md.PML(0.3))
    md.save(found, "m.json")
    code, out, _ = run("certify", "m.json", "--json")
    assert code == 0
    certificate = json.loads(out)["certificate"]
    assert (certificate["value"], certificate["bound"]) == (found.value, found.bound)
    assert certificate["repair"]["mixed"] == 0
    tighter = json.loads(run("certify", "m.json", "-p", "pml:0.1", "--json")[1])
    assert tighter["certificate"]["repair"]["mixed"] > 0.1


def test_requirements_of_a_saved_design_are_kept(run):
    """A kernel that is certified without them, and bounded without them, is another promise."""
    more = ("--require", "invariant", "-o", "inv.json")
    assert run("design", *PRIOR, "-p", "pml:0.5", *more)[0] == 0
    designed = md.load("inv.json")
    code, out, _ = run("certify", "inv.json", "-o", "again.json")
    assert code == 0
    assert "the marginal is kept" in out
    again = md.load("again.json")
    assert again.requirements == designed.requirements != ()
    assert again.bound == pytest.approx(designed.bound, abs=1e-9)
    others = run("certify", "inv.json", "--require", "at-most:a,a,0.6", "--json")[1]
    (asked,) = json.loads(others)["requirements"]
    assert (asked["name"], asked["parameters"]["high"]) == ("Entry", 0.6)


@pytest.mark.parametrize(
    ("arguments", "code", "fragment"),
    [
        (("k.csv", *PRIOR), 2, "--privacy"),
        (("k.csv", "-p", "ldp:1"), 2, "prior"),
        (("k.csv", "--prior", "0.5,0.5", "-p", "ldp:1"), 2, "3"),
        (("k.csv", *PRIOR, "-p", "ldp:1", "-u", "nothing"), 2, "nothing"),
        (("k.csv", *PRIOR, "-p", "ldp:1", "--outputs", "a,b"), 2, "columns"),
        (("k.csv", *PRIOR, "-p", "ldp:1", "-o", "k.csv"), 2, "--force"),
        (("bad.csv", *PRIOR, "-p", "ldp:1"), 2, "sum"),
        (("absent.csv", *PRIOR, "-p", "ldp:1"), 2, "absent.csv"),
    ],
)
def test_what_cannot_be_certified_is_one_line(run, arguments, code, fragment, tmp_path):
    (tmp_path / "bad.csv").write_text("input,a,b\na,0.5,0.1\nb,0.2,0.8\nc,1,0\n")
    found, out, err = run("certify", *arguments)
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert fragment in err, err


def test_outputs_that_are_no_symbols_ask_for_a_utility(run, tmp_path):
    (tmp_path / "words.csv").write_text("input,low,high\na,0.7,0.3\nb,0.3,0.7\n")
    asked = ("certify", "words.csv", "--prior", "0.5,0.5", "-p", "ldp:1")
    code, out, err = run(*asked)
    assert (code, out) == (2, "")
    assert err.startswith("error: --utility: ")
    for part in ("mutual-information", "CSV matrix of gains", "--outputs", "'low'", "'a'", "MD104"):
        assert part in err, part
    assert "--utility" in run("doctor", "MD104")[1]
    assert run(*asked, "-u", "mutual-information")[0] == 0
    assert run(*asked, "--outputs", "a,b")[0] == 0
    assert "Hamming" in run(*asked, "-u", "hamming")[2]  # named, so not left out


@pytest.mark.parametrize("utility", ["mutual-information", "hamming"])
def test_a_repair_that_merges_outputs_says_which_and_what_that_cost(run, tmp_path, utility):
    (tmp_path / "rare.csv").write_text(
        "input,a,b,c\na,0.6,0.39999,0.00001\nb,0.4,0.6,0\nc,0.4,0.6,0\n"
    )
    code, out, err = run("certify", "rare.csv", *PRIOR, "-p", "ldp:0.5", "-u", utility)
    assert code == 0
    assert "1 outcome merged" in out
    said = next(line for line in err.splitlines() if line.startswith("merged into the most"))
    assert ": 'c'; the row of 'a' changed most, by 1e-05; utility lost: " in said
    assert "merged" not in run("certify", "k.csv", *PRIOR, "-p", "ldp:0.5")[2]
