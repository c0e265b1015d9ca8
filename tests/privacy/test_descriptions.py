"""Descriptions of notions: what each promises about an adversary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from checks import for_each
from family_notions import MAKERS

import mechdesign as md
from mechdesign.privacy.notion import NOTIONS, factor

AVERAGES = [md.ApproximateLDP(0.5, 0.1), md.MaximalLeakage(0.5), md.MaximalCostLeakage(0.5)]


def test_every_notion_has_words_of_its_own():
    for name in set(md.__all__) & {c.__name__ for c in NOTIONS.values()}:
        assert getattr(md, name).promise, name


def test_the_factor_is_in_the_description():
    family = [make(0.5) for make in MAKERS.values()]
    for notion in (*family, md.PML(0.5), md.PMC(0.5), md.LIP(0.5), md.LDP(0.5), *AVERAGES):
        assert "a factor 1.649 (e^0.5)" in notion.description
        assert notion.description.endswith(".")
        assert "{" not in notion.description
    above, below = md.ALIP(9, 0.5).description.split(", and ")
    assert factor(0.5) in above
    assert factor(9) in below
    assert "plus 0.1." in AVERAGES[0].description
    assert "0.5 nats (0.721 bits)" in md.MIPrivacy(0.5).description
    assert "0.5 nats" in md.MIPufferfish(0.5, [{0: (0, 0), 1: (1, 0)}]).description


def test_what_small_levels_imply_is_not_denied():
    """PML below log 1/(1 − pmin) bounds how unlikely a value becomes, and from there on not."""
    prior = md.Prior([0.6, 0.3, 0.1])
    edge = -math.log1p(-0.1)
    assert md.convert(md.PML(0.99 * edge), to=md.PMC, prior=prior).epsilon < math.inf
    with pytest.warns(md.errors.NoGuaranteeWarning, match="a witness shows it"):
        md.convert(md.PML(1.01 * edge), to=md.PMC, prior=prior, tight=True)
    assert "unless the level is below log 1/(1 − p)" in md.PML(0.1).description


@for_each("level", [5e-324, 1e-12, 1e-4, 0.3, 1.0, 7.0, 199.0])
def test_factors_are_rounded_up(level):
    shown = factor(level).split()[2]
    assert Fraction(shown) >= Fraction(math.exp(level))
    assert float(shown) - 1 <= math.expm1(level) * 1.01 + 1e-13


def test_a_notion_without_a_description_is_shown_by_its_documentation():
    @dataclass(frozen=True)
    class Silent(md.PML, register=False):
        """Asks what PML asks.

        And more is said here.
        """

        promise = ""

    @dataclass(frozen=True)
    class Nameless(md.PML, register=False):
        promise = ""

    assert Silent(0.5).description == "Asks what PML asks."
    assert "it has no description" in Nameless(0.5).description
