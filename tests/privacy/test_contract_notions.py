"""The contract of privacy notions: every registered notion keeps it, broken ones fail it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from checks import for_each, slow_but
from hypothesis import given
from hypothesis import strategies as st
from notion_contract import (
    CONTRACT,
    COSTLY,
    compiled_program_agrees_with_the_measurement,
    constant_kernels_leak_nothing,
    designs_stay_within_their_level,
    exact_levels_agree_with_the_measurement,
    feasible_kernels_mix,
    merging_outputs_leaks_no_more,
    methods_agree,
    relabelling_changes_nothing,
    verdicts_are_monotone_in_the_level,
)
from strategies import notions, plain_notions

import mechdesign as md
from mechdesign.errors import CertificateError, LevelError, UnknownNameError
from mechdesign.exact import Verdict
from mechdesign.privacy import NOTIONS, Bound, Hypotheses, as_notions, parse_notion
from mechdesign.program.duals import Candidate
from mechdesign.solve import closed_form


@for_each("part", slow_but(lambda part: part not in COSTLY, CONTRACT))
@for_each("cls", plain_notions())
def test_registered_notion(cls, part):
    part(cls)


# Notions that are broken on purpose: each names the parts of the contract that catch it.


@dataclass(frozen=True)
class TwiceTheLevel(md.PML, register=False):
    """Compiles and checks at twice the level that it measures."""

    def bounds(self, prior):
        return [replace(b, epsilon=2 * self.epsilon) for b in super().bounds(prior)]


@dataclass(frozen=True)
class HalfTheLevel(md.LDP, register=False):
    """Asks for more than it says."""

    def bounds(self, prior):
        return [replace(b, epsilon=self.epsilon / 2) for b in super().bounds(prior)]


@dataclass(frozen=True)
class MeasuresTooFew(md.LDP, register=False):
    """Its measurement forgets the pairs of the last symbol."""

    def leakage(self, kernel, prior):
        return super().leakage(kernel[:-1], prior)


@dataclass(frozen=True)
class ComparesTooFew(md.PML, register=False):
    """Its bounds forget the last symbol."""

    def bounds(self, prior):
        points = Hypotheses.points(prior, range(len(prior) - 1))
        return [Bound(points, Hypotheses.prior(prior), self.epsilon)]


@dataclass(frozen=True)
class FirstSymbolOnly(md.LikelihoodBound, register=False):
    """Consistent, but protects whichever symbol happens to come first."""

    epsilon: float

    def bounds(self, prior):
        return [Bound(Hypotheses.points(prior, [0]), Hypotheses.prior(prior), self.epsilon)]

    def leakage(self, kernel, prior):
        q = prior.probabilities @ kernel
        lift = kernel[0] / np.where(q > 0, q, 1.0)
        return np.log(np.maximum(lift, 1.0))


@dataclass(frozen=True)
class NeverNothing(md.PMC, register=False):
    """Measures a leak where there is none."""

    def leakage(self, kernel, prior):
        return super().leakage(kernel, prior) + 0.1


@dataclass(frozen=True)
class SharedAmongOutputs(md.PML, register=False):
    """Divides by the number of outcomes, so that having more of them seems safer."""

    def leakage(self, kernel, prior):
        return super().leakage(kernel, prior) / kernel.shape[1]


@dataclass(frozen=True)
class StrictWhenLarge(md.LIP, register=False):
    """Says no to levels that are too generous."""

    def check(self, mechanism, prior):
        found = super().check(mechanism, prior)
        too_large = self.epsilon > 3 * max(self.measure(mechanism, prior))
        return replace(found, verdict=Verdict.NO) if too_large else found


@dataclass(frozen=True)
class OneRelease(md.LDP, register=False):
    """Allows kernels that always report one outcome, whichever: a set that does not mix."""

    def check(self, mechanism, prior):
        found = super().check(mechanism, prior)
        used = (mechanism.kernel > 0).any(axis=0).sum()
        return found if used == 1 else replace(found, verdict=Verdict.NO)


BROKEN = {
    TwiceTheLevel: (
        designs_stay_within_their_level,
        compiled_program_agrees_with_the_measurement,
    ),
    HalfTheLevel: (compiled_program_agrees_with_the_measurement,),
    MeasuresTooFew: (
        compiled_program_agrees_with_the_measurement,
        exact_levels_agree_with_the_measurement,
        relabelling_changes_nothing,
    ),
    ComparesTooFew: (
        designs_stay_within_their_level,
        compiled_program_agrees_with_the_measurement,
        exact_levels_agree_with_the_measurement,
        relabelling_changes_nothing,
    ),
    FirstSymbolOnly: (relabelling_changes_nothing,),
    NeverNothing: (constant_kernels_leak_nothing, exact_levels_agree_with_the_measurement),
    SharedAmongOutputs: (
        merging_outputs_leaks_no_more,
        exact_levels_agree_with_the_measurement,
        compiled_program_agrees_with_the_measurement,
    ),
    StrictWhenLarge: (verdicts_are_monotone_in_the_level,),
    OneRelease: (feasible_kernels_mix, designs_stay_within_their_level),
}


@for_each(("cls", "part"), [(cls, part) for cls, parts in BROKEN.items() for part in parts])
def test_broken_notion_fails(cls, part):
    with pytest.raises((AssertionError, CertificateError)):
        part(cls)


def test_every_part_of_the_contract_catches_something():
    caught = {part for parts in BROKEN.values() for part in parts}
    # The agreement of methods is broken by a method, in the test below.
    assert caught | {methods_agree} == set(CONTRACT)


def test_broken_method_fails_the_agreement(monkeypatch):
    def solve(self, program):
        good = original(self, program)
        return Candidate(program.constant_kernel, good.duals, "wrong")

    original = closed_form.AnyPMC.solve
    monkeypatch.setattr(closed_form.AnyPMC, "solve", solve)
    with pytest.raises(AssertionError):
        methods_agree(md.PMC)


def test_broken_notion_is_never_designed():
    with pytest.raises(CertificateError, match="do not say the same"):
        md.design(md.Prior([0.5, 0.3, 0.2]), md.utility.Hamming(), TwiceTheLevel(0.4))


# Levels, names and registration


@for_each("level", [-0.1, math.nan, -math.inf, "0.5", None, True, [1, 2], 1j])
@for_each("cls", plain_notions())
def test_a_level_is_a_non_negative_number(cls, level):
    for place in range(len(cls.level_fields)):
        levels = [0.5] * len(cls.level_fields)
        levels[place] = level
        with pytest.raises(LevelError, match="expected a non-negative number of nats"):
            cls(*levels)


@given(notions())
def test_spec_names_the_notion_exactly(notion):
    assert parse_notion(notion.spec) == notion


@given(notions(), st.floats(0, 5))
def test_levels_can_be_replaced(notion, level):
    other = notion.with_levels(*[level] * len(notion.levels))
    assert type(other) is type(notion)
    assert set(other.levels) == {level}
    assert type(notion).at(level) == other


@for_each(
    ("text", "error", "message"),
    [
        ("pnl:0.5", UnknownNameError, "did you mean 'pml'"),
        ("pml", LevelError, "as in pml:0.5"),
        ("pml:", LevelError, "1 level"),
        ("pml:1,2", LevelError, "1 level"),
        ("alip:1", LevelError, "2 levels"),
        ("ldp:much", LevelError, "'much'"),
        ("ldp:-1", LevelError, "non-negative"),
        ("ldp:nan", LevelError, "non-negative"),
    ],
)
def test_bad_specs(text, error, message):
    with pytest.raises(error, match=message):
        parse_notion(text)


@for_each("privacy", [0.5, "pml:0.5", None, [], [md.PML(1), 2], md.PML])
def test_privacy_must_be_notions(privacy):
    with pytest.raises(LevelError, match="privacy: expected a notion"):
        as_notions(privacy)


def test_lists_of_notions_keep_their_order():
    asked = [md.PML(1), md.LDP(2)]
    assert as_notions(iter(asked)) == tuple(asked)


def test_a_taken_name_is_refused():
    with pytest.raises(LevelError, match="name that is not taken"):
        type("PML", (md.LDP,), {"__module__": "elsewhere"})
    assert NOTIONS["pml"] is md.PML
