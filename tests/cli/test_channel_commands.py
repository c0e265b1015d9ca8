"""``envelope`` and ``contraction``: what Python gives, from a terminal."""

from __future__ import annotations

import json

import pytest

import mechdesign as md

KERNEL = md.Mechanism([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])
PRIOR = [0.2, 0.3, 0.5]


@pytest.fixture
def run(run):
    md.save(KERNEL, "kernel.json")
    md.save(md.design(md.Prior(PRIOR), md.utility.Hamming(), md.PML(0.4)), "design.json")
    return run


@pytest.mark.parametrize("more", [[], ["--risk-averse"]], ids=["pml", "pmc"])
def test_an_envelope_is_that_of_python(run, more):
    code, out, _ = run(
        *(
            "research",
            "envelope",
            "kernel.json",
            "--prior",
            ".2,.3,.5",
            "--levels",
            ".1,.5",
            "--json",
        ),
        *("--probability", ".3", *more),
    )
    assert code == 0
    found = json.loads(out)
    same = md.leakage_envelope(KERNEL, PRIOR, [0.1, 0.5], risk_averse=bool(more))
    assert [p["at_most"] for p in found["points"]] == pytest.approx(list(same.at_most))
    assert [p["before"] for p in found["points"]] == pytest.approx(list(same.before))
    assert found["level_at_probability"] == pytest.approx(same.level_at(0.3))
    assert found["largest"] == pytest.approx(same.largest)


def test_a_design_brings_its_prior_and_a_picture_is_written_once(run, tmp_path):
    code, out, err = run("research", "envelope", "design.json", "-o", "curve.svg")
    assert code == 0
    assert "largest leakage" in out
    assert "saved curve.svg" in err
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert run("research", "envelope", "design.json", "-o", "curve.svg")[0] == 2
    assert run("research", "envelope", "design.json", "-o", "curve.svg", "--force")[0] == 0


def test_a_contraction_is_that_of_python(run):
    code, out, _ = run("research", "contraction", "kernel.json", "--json", "--error", ".01")
    assert code == 0
    found, same = json.loads(out), md.contraction(KERNEL)
    assert found["at_most"] == same.at_most
    assert found["information"] == same.information
    assert (found["reports"]["needed"], found["reports"]["sufficient"]) == pytest.approx(
        same.reports_to_estimate(0.01)
    )


def test_the_worst_kernel_of_notions(run):
    asked = [
        "research",
        "contraction",
        "ldp:1",
        "pml:.5",
        "--prior",
        ".2,.3,.5",
        "--level",
        ".1",
        "--json",
    ]
    code, out, _ = run(*asked)
    assert code == 0
    same = md.contraction([md.LDP(1), md.PML(0.5)], md.Prior(PRIOR), level=0.1)
    assert json.loads(out)["at_most"] == pytest.approx(same.at_most)
    assert json.loads(out)["reports"] is None


def test_reports_that_tell_two_distributions_apart(run):
    tell = ["--tell", ".6,.4,0", "--tell", ".4,.4,.2", "--error", ".1"]
    code, out, _ = run("research", "contraction", "kernel.json", *tell)
    fewest, enough = md.contraction(KERNEL).reports_to_tell([0.6, 0.4, 0], [0.4, 0.4, 0.2], 0.1)
    assert code == 0
    assert f"apart: {int(fewest):,} or more" in " ".join(out.split())
    assert f"{int(enough):,} suffice" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["research", "envelope", "kernel.json"], "--prior"),
        (["research", "envelope", "design.json", "--levels", "x"], "0.1,0.5,1"),
        (["research", "envelope", "design.json", "--levels=-1"], "level"),
        (["research", "envelope", "design.json", "--probability", "nan"], "from 0 to 1"),
        (["research", "envelope", "design.json", "-p", "pml:1"], "--risk-averse"),
        (["research", "envelope", "design.json", "-o", "curve.txt"], ".svg"),
        (["research", "contraction", "ldp:1"], "--prior"),
        (["research", "contraction", "none.json"], "none.json"),
        (["research", "contraction", "kernel.json", "--tell", ".5,.3,.2"], "two distributions"),
        (
            [
                "research",
                "contraction",
                "kernel.json",
                "--tell",
                "a",
                "--tell",
                "b",
                "--error",
                ".1",
            ],
            "--tell",
        ),
        (["research", "contraction", "kernel.json", "--error", "0"], "above 0"),
        (["research", "contraction", "kernel.json", "--level", "nan"], "from 0 to 512"),
        (["research", "contraction", "pml:x", "--prior", ".5,.5"], "pml"),
    ],
)
def test_bad_input_is_one_line_that_helps(run, arguments, said):
    code, out, err = run(*arguments)
    assert code == 2
    assert not out
    assert said in err
    assert len(err.strip().splitlines()) == 1
