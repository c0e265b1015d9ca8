"""The smallest level of a value: proved from both sides, against closed forms and dense programs.

The adversary: a level that is not enough, one below at which the value is reached after all, and a
notion whose values fall as its level grows.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from checks import for_each, refused, slow_but
from strategies import PRIOR_KINDS, random_gains, random_masses

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import InfeasibleError, InputError, LevelError
from mechdesign.program.problem import state_problem
from mechdesign.utility import Hamming, Matrix

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
FAMILIES = {"pml": md.PML, "pmc": md.PMC, "lip": md.LIP, "ldp": md.LDP, "alip": "alip:2e,e"}


def rows_at(name, p, level):
    return naive.alip_rows(p, 2 * level, level) if name == "alip" else naive.ROWS[name](p, level)


def assert_proved(found, target):
    design = found.design
    problem = state_problem(
        design.prior, design.utility, design.notions, None, None, design.requirements
    )
    enclosed = problem.enclose(design.mechanism)
    assert enclosed.low >= Fraction(target)
    assert all(check.verdict is md.Verdict.YES for check in design.certificate.checks)
    if found.below is not None:
        assert found.below < found.level
        assert (found.bound_below is None) == (found.infeasible_below is not None)
        assert found.bound_below is None or found.bound_below < target


@for_each("number", slow_but(4, range(8)))
@for_each("name", FAMILIES)
def test_dense_programs_agree_on_both_sides(name, number):
    rng = np.random.default_rng([81, list(FAMILIES).index(name), number])
    n = int(rng.integers(2, 6))
    p = random_masses(rng, n, PRIOR_KINDS[number % 3])
    prior, u = md.Prior.from_counts(p), random_gains(rng, n, int(rng.integers(2, 6)))
    low = float((p @ u).max())
    high = float((p[:, None] * u).max(axis=1).sum())
    # Of all that can be gained, as much as finite levels of each notion can give.
    target = low + rng.uniform(0.1, 0.6) * (high - low)
    if high - low < 1e-6:
        target = low
    try:
        found = md.smallest(FAMILIES[name], prior, Matrix(u), at_least=target)
    except InfeasibleError:
        assert naive.optimum(p, u, rows_at(name, p, 40.0)) < target + 1e-7
        return
    assert_proved(found, target)
    assert naive.optimum(p, u, rows_at(name, p, found.level)) >= target - 1e-8
    if found.below is not None:
        assert found.level - found.below <= 1e-6 * found.level
        assert naive.optimum(p, u, rows_at(name, p, found.below)) <= target + 1e-8


def test_the_level_of_randomised_response():
    # Accuracy of uniform randomised response: e^ε / (e^ε + n − 1).
    prior = md.Prior.uniform(4)
    found = md.smallest(md.LDP, prior, Hamming(), at_least=0.6, precision=1e-9)
    expected = math.log(0.6 * 3 / 0.4)
    assert found.below < expected + 1e-12
    assert found.level > expected - 1e-12
    assert found.level == pytest.approx(expected, rel=2e-9)
    assert found.steps < 60


@for_each(
    "family",
    [
        md.MaximalLeakage,
        md.MIPrivacy,
        "pml:e+ldp:2e",
        lambda level: md.ApproximateLDP(level, 0.01),
        lambda level: [md.PML(level), md.MaximalLeakage(level)],
        lambda level: md.RobustPML(level, [ABC]),
    ],
)
def test_other_families(family):
    found = md.smallest(family, ABC, Hamming(), at_least=0.7, precision=1e-4)
    assert_proved(found, 0.7)
    assert found.level - found.below <= 1e-4 * found.level


def test_a_level_at_which_something_else_becomes_possible():
    # P(a | a) ≥ 0.9 under PML: possible from log(1/(…)) on, where the value is reached at once.
    floor = md.require.at_least("a", "a", 0.9)
    found = md.smallest(md.PML, ABC, Hamming(), at_least=0.4, subject_to=floor)
    assert found.infeasible_below is not None or found.below is None
    other = md.require.diagonal(0.7)
    found = md.smallest(md.LDP, ABC, Hamming(), at_least=0.5, subject_to=other)
    assert found.bound_below is None
    assert found.infeasible_below.bound < 0
    assert found.design.mechanism.kernel.diagonal().min() >= 0.7
    # Three symbols at 0.7 each take e^ε = 0.7/0.15.
    assert found.level == pytest.approx(math.log(0.7 / 0.15), rel=2e-6)
    assert "the rest of what is asked" in repr(found)
    assert_proved(found, 0.5)


def test_never_reached():
    with pytest.raises(InfeasibleError, match=r"1\.1 at least is not reached at any level of LDP"):
        md.smallest(md.LDP, ABC, Hamming(), at_least=1.1)
    with pytest.raises(InfeasibleError, match="level 2000"):
        md.smallest(md.LDP, ABC, Hamming(), at_least=1.0)
    reached = md.smallest(md.PML, ABC, Hamming(), at_least=1.0)
    assert reached.level == pytest.approx(math.log(5), rel=1e-5)
    with pytest.raises(InfeasibleError, match=r"pml|PML"):
        md.smallest("pml:e+ldp:0.5", ABC, Hamming(), at_least=0.9)


def test_values_that_fall_are_refused():
    found = refused(
        lambda: md.smallest(lambda e: md.LDP(abs(e - 1)), ABC, Hamming(), at_least=0.7),
        "fall",
        error=LevelError,
    )
    assert "at most" in found.got


def test_what_is_refused():
    refused(lambda: md.smallest(md.LDP(1), ABC, Hamming(), at_least=0.7), error=LevelError)
    refused(lambda: md.smallest([md.LDP, md.PML], ABC, Hamming(), at_least=0.7), "2 notions")
    refused(lambda: md.smallest(md.LDP, ABC, Hamming(), at_least=0.7, solver="all"), "all")
    for precision in (0, 1, math.nan, -1e-3, "x"):
        refused(
            lambda p=precision: md.smallest(md.LDP, ABC, Hamming(), at_least=0.7, precision=p),
            "precision",
        )
    with pytest.raises(InputError):
        md.smallest(md.LDP, ABC, "hamming", at_least=0.7)


def test_the_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["smallest", "--prior", "a=0.5,b=0.3,c=0.2", "-n", "ldp", "--at-least", "0.7"]
    assert main([*asked, "-o", "d.json"]) == 0
    said = capsys.readouterr()
    assert "Smallest level of LDP" in said.out
    assert "saved d.json" in said.err
    found = md.smallest(md.LDP, ABC, Hamming(), at_least=0.7)
    assert md.load("d.json").value == found.design.value
    assert main([*asked, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["level"], content["below"]) == (found.level, found.below)
    assert content["bound_below"] < 0.7 <= content["value"]
    assert main([*asked[:-1], "1.5"]) == 4
    assert "not reached" in capsys.readouterr().err
    assert main([*asked, "-u", "worst-symbol:hamming", "--require", "diagonal:0.5"]) == 0
    assert "worst" in capsys.readouterr().out.lower()
    assert main([*asked[:-1], "nan"]) == 2
