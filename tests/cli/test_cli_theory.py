"""``mechdesign research convert`` and ``mechdesign research theorems``."""

from __future__ import annotations

import json
import math

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.papers import claims
from mechdesign.papers.catalogue import known_theorems
from mechdesign.papers.claims import Theorem, at_most


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def read(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


PRIOR = ("--prior", "a=0.5,b=0.3,c=0.2")


def test_convert_prints_the_level_and_the_result(run):
    code, out, err = run("research", "convert", "pml:0.1", "--to", "ldp", *PRIOR)
    assert code == 0
    assert not err
    assert "0.645906616058" in out
    assert "ID-Cor-3" in out
    assert "PMC" not in out.replace("SaeidianPMC", "")


def test_convert_as_json(run):
    code, out, _ = run("research", "convert", "pml:0.1", "lip:0.4", *PRIOR, "--json")
    assert code == 0
    found = read(out)
    assert found["given"] == ["pml:0.1", "lip:0.4"]
    assert found["prior"]["labels"] == ["a", "b", "c"]
    prior = md.Prior([0.5, 0.3, 0.2])
    levels = {entry["name"]: entry["levels"] for entry in found["implied"]}
    want = md.implications([md.PML(0.1), md.LIP(0.4)], prior)
    assert levels == {entry.name: list(entry.levels) for entry in want.found}


def test_convert_tight_with_a_witness(run):
    code, out, _ = run(
        "research", "convert", "lip:1", "--to", "ldp", "--tight", "--prior", ".5,.5", "--json"
    )
    assert code == 0
    entry = read(out)["implied"][0]["levels"][0]
    assert entry["level"] == pytest.approx(math.log(2 * math.e - 1))
    witness = entry["witness"]
    rows = [[int(v) for v in row] for row in witness["weights"]]
    kernel = md.Mechanism.from_weights(rows, witness["denominator_bits"])
    assert md.LIP(1.0).check(kernel, md.Prior([0.5, 0.5])).verdict is md.Verdict.YES
    code, out, _ = run("research", "convert", "lip:1", "--tight", "--prior", ".5,.5")
    assert code == 0
    assert "1.4898801256" in out
    for name in ("PML", "PMC", "LIP", "ALIP", "LDP"):
        assert name in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["research", "convert", "pml", *PRIOR], "pml:0.5"),
        (["research", "convert", "pml:0.1"], "--prior"),
        (["research", "convert", "pml:-1", *PRIOR], "non-negative"),
        (["research", "convert", "pml:0.1", "--to", "ldpp", *PRIOR], "'LDP'"),
        (["research", "convert", "pml:0.1", "--to", "ldpp", "--tight", *PRIOR], "'ldp'"),
        (["research", "convert", *PRIOR], "NOTION:LEVEL"),
        (["research", "theorems", "shwo"], "'show'"),
        (["research", "theorems", "show"], "identifier"),
        (["research", "theorems", "show", "PMC-Thm-44"], "did you mean"),
        (["research", "theorems", "show", "E99"], "erratum: expected one of E1,"),
        (
            [
                "research",
                "convert",
                "pml:0.1",
                "--to",
                "miprivacy",
                "--tight",
                "--prior",
                "0.5,0.5",
            ],
            "(--tight)",
        ),
        (["research", "convert", "dp:0.1", "--prior", "0.5,0.5"], "as in dp:0.5,NEIGHBOURS"),
        (["research", "convert", "robustpml:0.1", "--prior", "0.5,0.5"], "use it in Python"),
        (["research", "theorems", "check"], "--all"),
        (["research", "theorems", "check", "ID-Cor-3", "--all"], "both"),
        (["research", "theorems", "check", "--all", "--instances", "0"], "1 to 100,000 instances"),
        (["research", "theorems", "list", "ID-Cor-3"], "theorems show ID-Cor-3"),
    ],
)
def test_mistakes_are_one_line(run, arguments, message):
    code, out, err = run(*arguments)
    assert code == 2
    assert not out
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_theorems_are_listed(run):
    code, out, _ = run("research", "theorems", "--json")
    assert code == 0
    ids = [entry["id"] for entry in read(out)]
    assert ids == [result.id for result in known_theorems()]
    code, out, _ = run("research", "theorems", "list")
    assert code == 0
    assert all(name in out for name in ids)
    assert f"{len(ids)} results" in out


def test_theorems_are_shown(run):
    code, out, _ = run("research", "theorems", "show", "id-prop-1", "E7")
    assert code == 0
    assert "PMC-Thm-4.1" in out
    assert "ε_u < log 1/(1−pmin)" in out
    assert "0.346574 <= 0.1 fails; corrected: 0.1 == 0.1 holds" in out
    code, out, _ = run("research", "theorems", "show", "E7", "ID-Cor-3", "--json")
    first, second = read(out)
    assert first["stands"] is True
    assert second["source"] == "GrosseID"


def test_all_results_behind_a_numbered_statement_are_checked_once(run):
    code, out, _ = run("research", "theorems", "check", "pmc-lem-1", "PMC-Lem-1.3", "--json")
    assert code == 0
    names = [f"PMC-Lem-1.{k}" for k in range(1, 8)]
    assert [entry["id"] for entry in read(out)] == [*names, "PMC-Lem-1-General"]


def test_a_result_that_fails_is_reported(run, monkeypatch):
    """A control: a false result fails the command."""
    wrong = Theorem(
        "X-Thm-1", "Two is one.", "", "none", False, (), lambda rng: [at_most(2.0, 1.0, "two")]
    )
    monkeypatch.setitem(claims.THEOREMS, wrong.id, wrong)
    code, out, _ = run("research", "theorems", "check", "X-Thm-1", "ID-Cor-3")
    assert code == 1
    assert "1 failed: X-Thm-1" in out
    code, out, _ = run("research", "theorems", "check", "X-Thm-1", "--json")
    assert code == 1
    assert read(out)[0]["holds"] is False
