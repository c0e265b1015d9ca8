"""What notions say of themselves in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

import mechdesign as md
from mechdesign.privacy.notion import NOTIONS, factor


@pytest.mark.parametrize("name", sorted(set(md.__all__) & {c.__name__ for c in NOTIONS.values()}))
def test_every_notion_has_words_of_its_own(name):
    assert getattr(md, name).in_words is not md.PrivacyNotion.in_words


@pytest.mark.parametrize(
    "notion",
    [
        md.PML(0.5),
        md.PMC(0.5),
        md.LIP(0.5),
        md.ALIP(9, 0.5),
        md.LDP(0.5),
        md.FreeLunch(0.5),
        md.DP(0.5, "adjacent"),
        md.MetricPrivacy(0.5, "absolute"),
        md.EntryPML(0.5, 3, 0.3),
        md.RobustPML(0.5, [md.Prior([0.5, 0.5])]),
        md.FeaturePML(0.5, {0: 0, 1: 1}),
        md.FeaturePMC(0.5, {0: 0, 1: 1}),
        md.ConditionalPML(0.5, {0: 0, 1: 1}),
        md.ConditionalPMC(0.5, {0: 0, 1: 1}),
        md.Pufferfish(0.5, {"a": [0], "b": [1]}),
        md.ApproximatePufferfish(0.5, 0.1, {"a": [0], "b": [1]}),
        md.ApproximateLDP(0.5, 0.1),
        md.MaximalLeakage(0.5),
        md.MaximalCostLeakage(0.5),
    ],
    ids=lambda notion: type(notion).__name__,
)
def test_the_factor_is_in_the_words(notion):
    assert "a factor 1.649 (e^0.5)" in notion.in_words
    assert notion.in_words.endswith(".")


def test_what_small_levels_imply_is_not_denied():
    """PML below log 1/(1 − pmin) bounds how unlikely a value becomes, and from there on not."""
    prior = md.Prior([0.6, 0.3, 0.1])
    edge = -math.log1p(-0.1)
    assert md.convert(md.PML(0.99 * edge), to=md.PMC, prior=prior).epsilon < math.inf
    with pytest.warns(md.errors.NoGuaranteeWarning, match="a witness shows it"):
        md.convert(md.PML(1.01 * edge), to=md.PMC, prior=prior, tight=True)
    assert "unless the level is below log 1/(1 − p)" in md.PML(0.1).in_words
    # PMC always bounds how likely one becomes, and robust PML over all priors is LDP.
    assert md.convert(md.PMC(0.5), to=md.PML, prior=prior).epsilon < math.log(10)
    for notion in (md.PMC(0.5), md.RobustPML.floor(0.5, 0.0)):
        assert "not bounded" not in notion.in_words


def test_averages_are_said_to_be_averages():
    assert "0.5 nats (0.721 bits)" in md.MIPrivacy(0.5).in_words
    assert "0.5 nats" in md.MIPufferfish(0.5, [{0: (0, 0), 1: (1, 0)}]).in_words


@pytest.mark.parametrize("level", [5e-324, 1e-12, 1e-4, 0.3, 1.0, 7.0, 199.0])
def test_factors_are_rounded_up(level):
    shown = factor(level).split()[2]
    assert Fraction(shown) >= Fraction(math.exp(level))
    assert float(shown) - 1 <= math.expm1(level) * 1.01 + 1e-13


def test_a_notion_without_words_is_shown_by_its_documentation():
    @dataclass(frozen=True)
    class Silent(md.PML, register=False):
        """Asks what PML asks.

        And more is said here.
        """

        in_words = md.PrivacyNotion.in_words

    @dataclass(frozen=True)
    class Nameless(md.PML, register=False):
        in_words = md.PrivacyNotion.in_words

    assert Silent(0.5).in_words == "Asks what PML asks."
    assert "nothing is said" in Nameless(0.5).in_words
