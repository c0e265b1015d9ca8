"""Requirements on the command line: texts, designs, audits, comparisons, and what is impossible."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign import require
from mechdesign.cli import main
from mechdesign.cli.requirements import REQUIREMENT_TEXTS, read_requirements
from mechdesign.errors import InputError
from mechdesign.storage import from_json

PRIOR = ("--prior", "a=0.5,b=0.3,c=0.2")
ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
NUMBERS = md.Prior([0.5, 0.3, 0.2], [0, 1, 2])
MATRIX = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Rows and columns in another order than the symbols.
    rows = ["x,c,a,b", "b,1,1,0", "a,2,0,1", "c,0,3,1"]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "v.json").write_text('{"a": 0, "b": 1, "c": 2}')


# What the texts mean


SAME = {
    "zero:a,b": require.zero("a", "b"),
    " zero : a , b ": require.zero("a", "b"),
    "zero:*,b": require.zero(None, "b"),
    "zero:farther=1": require.zero(farther_than=1),
    "zero:farther=1,m.csv": require.zero(farther_than=1, distance=MATRIX),
    "pattern:m.csv": require.zero(pattern=MATRIX),
    "at-least:a,a,0.5": require.at_least("a", "a", 0.5),
    "at-most:a,*,0.5": require.at_most("a", None, 0.5),
    "diagonal:0.6": require.diagonal(0.6),
    "diagonal:0.3,0.6": require.diagonal(0.3, 0.6),
    "cost:m.csv,0.3": require.cost(MATRIX, 0.3),
    "cost:m.csv,0.3,each": require.cost(MATRIX, 0.3, each=True),
    "cost:hamming,0.3": require.cost(1 - np.eye(3), 0.3),
    "invariant": require.invariant(),
    "invariant:1e-9": require.invariant(1e-9),
    "output:a,0.1,0.3": require.output("a", 0.1, 0.3),
    "output:a,0.1": require.output("a", 0.1),
    "equal-error:a+b|c,0.01": require.equal_error([["a", "b"], ["c"]], 0.01),
    "unbiased:a=0,b=1,c=2": require.unbiased({"a": 0, "b": 1, "c": 2}),
    "unbiased:v.json": require.unbiased({"a": 0, "b": 1, "c": 2}),
    "monotone": require.monotone(),
    "outputs:2": require.outputs(2),
    "Symmetric:1e-9": require.symmetric(1e-9),
    "rows:m.csv,<=,1.5": require.rows(MATRIX, "<=", 1.5, name="m.csv <= 1.5"),
    "every-output:a=1,b=-2": require.every_output({"a": 1, "b": -2}),
    "ratio:a,b,2": require.ratio("a", "b", 2),
    "posterior:a,0.1,0.6": require.posterior("a", 0.1, 0.6),
    "posterior: a+b , *, 0.9": require.posterior(["a", "b"], at_most=0.9),
    "apart:a+c": require.apart("a", "c"),
    "lift:c,0.5,*": require.lift("c", at_least=0.5),
    "lift:c,0.5,2": require.lift("c", 0.5, 2),
    "mechdesign.requirement:Within:1": require.zero(farther_than=1),
}


@for_each("text", SAME)
def test_a_text_means_what_python_says(text):
    assert read_requirements([text], ABC) == [SAME[text]]


def test_every_kind_of_text_is_read_above():
    kinds = {text.partition(":")[0].strip().lower() for text in SAME}
    assert kinds >= set(REQUIREMENT_TEXTS)


def test_labels_that_are_numbers_or_hold_commas():
    numbers = read_requirements(["zero:1,2", "unbiased", "cost:absolute,1"], NUMBERS)
    assert numbers[0] == require.zero(1, 2)
    assert numbers[1] == require.unbiased({0: 0, 1: 1, 2: 2})
    assert numbers[2] == require.cost(abs(np.subtract.outer(range(3), range(3))), 1)
    odd = md.Prior([0.5, 0.5], ["a,b", "*"])
    assert read_requirements(['zero:"a,b",*'], odd) == [require.zero("a,b", "*")]


BAD = {
    "zero:a": "got 'a'",
    "zero:a,b,c": "zero:X,Y",
    "zero:q,b": "expected one of *, a, b, c, got 'q'",
    "zero:a,q": "output of a requirement",
    "zro:a,b": "did you mean 'zero'",
    "flor:crew": "unbiased, zero, got 'flor', and no module named 'flor' is found either",
    "floor:a": "expected one of apart, at-least",
    "": "requirement",
    ":": "requirement",
    "at-least:a,a,x": "got 'x'",
    "at-least:a,a,2": "from 0 to 1",
    "at-least:a,a,nan": "number",
    "cost:nofile.csv,3": "which is no file",
    "cost:m.csv": "cost:FILE.csv",
    "cost:m.csv,1,all": "cost:FILE.csv",
    "invariant:0": "at least 1e-14",
    "invariant:1,2": "invariant:1e-9",
    "output:*,0.1,0.2": "output:Y",
    "equal-error:a+b,0.1": "equal-error:a+b|c,0.01",
    "zero:*,*": "expected zero:X,Y",
    "equal-error:a+q|c,0.1": "got 'q'",
    "unbiased": "no numbers",
    "outputs:2.5": "outputs:3",
    "outputs:0": "positive whole number",
    "outputs:inf": "outputs:3",
    "outputs:": "outputs:3",
    "unbiased:a=0,b=1,c": "unbiased:a=0",
    "rows:m.csv,<<,1": "senses <=, >=, ==",
    "pattern:v.json": "v.json",
    "ratio:a,b": "ratio:X,Z,2",
    "ratio:a,q,2": "got 'q'",
    "ratio:a,b,0.5": "a factor of at least one",
    "posterior:a": "posterior:X,0.1,0.4",
    "posterior:a,*,*": "at_least, at_most or both",
    "posterior:a+q,*,0.4": "got 'q'",
    "posterior:a,x,0.4": "got 'x'",
    "posterior:a,*,nan": "number",
    "lift:a,2,1": "swap them",
    "apart:a": "at least two",
    "apart:a,b": "apart:X+Z",
    "mechdesign.requirement:Within": "missing 1 required positional argument",
    "mechdesign.requirement:Within:1,2,3,4": "one for each of its fields",
    "mechdesign.requirement:Nothing": "requirement in mechdesign.requirement",
    "math:sqrt": "derives from Requirement",
    "no.such:Thing": "module",
    'zero:"a\nb': "zero",
}


@for_each("text", BAD)
def test_a_text_that_means_nothing_is_refused_in_one_line(text, capsys):
    refused(lambda: _of_design(text), BAD[text], error=InputError)
    assert main(["design", *PRIOR, "-p", "pml:1", "--require", text]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1


def _of_design(text):
    asked = read_requirements([text], ABC)
    md.design(ABC, md.utility.Hamming(), md.PML(1), subject_to=asked)


# What the commands do with them


def run(capsys, *arguments):
    code = main(list(arguments))
    return code, *capsys.readouterr()


def test_a_design_holds_them_and_says_so(capsys):
    asked = ("--require", "invariant", "--require", "at-least:a,a,0.6")
    code, said, _ = run(capsys, "design", *PRIOR, "-p", "ldp:1", *asked, "-o", "d.json")
    assert code == 0
    assert "at least 0.6" in said
    assert "What the requirements cost" in said
    found = md.load("d.json")
    assert found.requirements == (require.invariant(), require.at_least("a", "a", 0.6))
    code, shown, _ = run(capsys, "check", "d.json")
    assert code == 0
    assert "yes: exact check, room of" in shown
    code, text, _ = run(capsys, "check", "d.json", "--json")
    content = json.loads(text)
    assert {row["end"] for row in content["requirement_prices"]} == {"lower"}
    assert from_json(content).mechanism == found.mechanism


def test_an_audit_says_verdict_and_excess(capsys):
    assert main(["design", *PRIOR, "-p", "pml:1", "--require", "invariant", "-o", "d.json"]) == 0
    capsys.readouterr()
    assert run(capsys, "audit", "d.json")[0] == 0
    code, said, _ = run(capsys, "audit", "d.json", "--require", "diagonal:0.9")
    assert code == 1
    assert "no  (broken by" in said
    code, text, _ = run(capsys, "audit", "d.json", "--require", "diagonal:0.9", "--json")
    (entry,) = json.loads(text)["requirements"]
    found = md.load("d.json").mechanism.kernel
    assert entry["verdict"] == "no"
    assert entry["excess"] == pytest.approx(0.9 - found.diagonal().min(), abs=1e-12)
    assert json.loads(text)["verdict"] == "no"


# What is impossible


def test_the_impossible_has_an_exit_code_and_a_proof(capsys):
    asked = ("design", *PRIOR, "-p", "ldp:1", "--require", "diagonal:0.9")
    code, said, err = run(capsys, *asked, "-o", "proof.json")
    assert (code, said) == (4, "")
    assert "saved the proof" in err
    assert "in place of LDP(1) a level of 2.89037" in err
    proof = md.load("proof.json")
    assert proof.bound < 0
    assert proof.clash == ("LDP(1)", str(require.diagonal(0.9)))
    code, shown, _ = run(capsys, "check", "proof.json")
    assert code == 0
    assert shown.startswith("No kernel of 3 inputs × 3 outputs satisfies all of\n  LDP(1)\n")
    code, _, err = run(capsys, "audit", "proof.json")
    assert code == 2
    assert "expected a kernel, got the proof that none satisfies LDP(1)" in err
    code, _, err = run(capsys, *asked, "-o", "proof.json")
    assert code == 2  # the file exists


def test_the_impossible_as_json(capsys):
    asked = ("design", *PRIOR, "-p", "ldp:1", "--require", "diagonal:0.9", "--json")
    code, text, err = run(capsys, *asked)
    assert code == 4
    assert err.startswith("error: no kernel satisfies")
    content = json.loads(text)
    assert content["kind"] == "infeasible"
    assert content["clash"] == ["LDP(1)", str(require.diagonal(0.9))]
    assert content["smallest_levels"] == {"LDP(1)": pytest.approx(2.89037177, rel=1e-6)}
    assert content["below_zero"] > 0
    with open("printed.json", "w") as file:
        file.write(text)
    assert md.load("printed.json").bound < 0


def test_no_finite_level_is_said_so(capsys):
    asked = ("design", *PRIOR, "-p", "ldp:1", "--require", "zero:a,a", "--require", "diagonal:0.1")
    code, text, err = run(capsys, *asked, "--json")
    assert code == 4
    assert "together (proved" in err
    assert "LDP" not in err  # it has no part in it
    assert not any(math.isnan(v) for v in json.loads(text)["smallest_levels"].values())
