"""Conversions from outside the package: chained, tested as results, and refused where wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest

import mechdesign as md
from mechdesign.errors import InputError, LevelError
from mechdesign.theory import conversion, find_theorem
from mechdesign.theory.rules import RULES, Refused


@pytest.fixture
def register(monkeypatch):
    """Registers LDP(ε) ⇒ PML(factor · ε) and forgets it afterwards."""
    from mechdesign.papers.claims import THEOREMS

    def made(function, name="Mine-1"):
        monkeypatch.setitem(THEOREMS, name, None)
        monkeypatch.delitem(THEOREMS, name)
        monkeypatch.setitem(RULES, name, None)
        monkeypatch.delitem(RULES, name)
        conversion(name, [md.LDP], md.PML, statement="ε-LDP is ε-PML.")(function)

    return made


PRIOR = md.Prior([0.5, 0.3, 0.2])


def test_it_is_chained_and_tested(register):
    register(lambda setting, ldp: (Fraction(1, 1000),))
    found = md.implications(md.LDP(1.0), PRIOR)[md.PML]
    assert found.levels == (0.001,)
    assert [step.id for step in found.derivation] == ["Mine-1"]
    assert not find_theorem("Mine-1").check(0, instances=3).ok  # it is false
    register(lambda setting, ldp: ldp)
    assert find_theorem("Mine-1").check(0, instances=3).ok


def test_one_that_contradicts_others_is_an_error(register):
    """In a circle each round would give less than the one before."""
    register(lambda setting, ldp: (ldp[0] / 1000,))
    with pytest.raises(LevelError, match="levels that settle"):
        md.implications(md.LDP(1.0), PRIOR)


def test_one_that_never_applies_ends_its_check(register):
    def never(setting, ldp):
        raise Refused("never")

    register(never)
    with pytest.raises(InputError, match="at least one claim"):
        find_theorem("Mine-1").check(0)


@pytest.mark.parametrize("bad", [0.5, (float("nan"),), (-1,), ("a",), (1, 2), None, [1]])
def test_levels_that_are_none_are_refused(register, bad):
    register(lambda setting, ldp: bad)
    with pytest.raises(LevelError, match="levels of conversion Mine-1"):
        md.implications(md.LDP(Fraction(1, 2)), PRIOR)


def test_an_identifier_of_the_papers_is_taken():
    with pytest.raises(LevelError, match=r"PMC-Thm-4\.1, registered in mechdesign"):
        conversion("PMC-Thm-4.1", [md.LDP], md.PML, statement="")(lambda setting, ldp: ldp)


@pytest.mark.parametrize("premise", [md.LDP(1), int, md.FeaturePML])
def test_premises_are_classes_of_notions(premise):
    with pytest.raises(LevelError, match="notion of a conversion"):
        conversion("Mine-2", [premise], md.PML, statement="")
