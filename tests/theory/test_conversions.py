"""Implications: never weaker than a path of published results, never stronger than the tight."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import levels, plain_notions, priors, random_kernel, random_level

import mechdesign as md
from mechdesign.errors import LevelError, NoGuaranteeWarning, UnknownNameError
from mechdesign.exact import rounded_up
from mechdesign.papers.catalogue import find_theorem
from mechdesign.papers.tightness import tightness_report
from mechdesign.theory import tight_conversion
from mechdesign.theory.conversions import family_rules
from mechdesign.theory.rules import RULES

CLASSES = {
    "pml": md.PML,
    "pmc": md.PMC,
    "lip": md.LIP,
    "alip": md.ALIP,
    "ldp": md.LDP,
    "freelunch": md.FreeLunch,
}
FAMILY = tuple(CLASSES)


# The published conversions once more, in plain floats; None where one does not apply.


def l_star(p, u):
    rest = 1 - math.exp(u) * (1 - p)
    return math.log(p / rest) if rest > 0 else None


def u_star(p, low):
    return math.log((1 - math.exp(-low) * (1 - p)) / p)


def published(name, at, p):
    """Every conversion of one step: pairs of a target and its levels."""
    if name == "pml":
        low = l_star(p, at[0])
        if low is None:
            return []
        return [
            ("pmc", (low,)),
            ("alip", (low, at[0])),
            ("lip", (max(low, at[0]),)),
            ("ldp", (low + at[0],)),
        ]
    if name == "pmc":
        high = u_star(p, at[0])
        return [
            ("pml", (high,)),
            ("alip", (at[0], high)),
            ("lip", (max(at[0], high),)),
            ("ldp", (at[0] + high,)),
        ]
    if name == "lip":
        return [
            ("pml", at),
            ("pmc", at),
            ("alip", (at[0], at[0])),
            ("ldp", (2 * at[0],)),
        ]
    if name == "alip":
        return [
            ("pmc", at[:1]),
            ("pml", at[1:]),
            ("lip", (max(at),)),
            ("ldp", (sum(at),)),
        ]
    if name == "freelunch":
        return [("ldp", at)]
    first = math.log(p + math.exp(at[0]) * (1 - p))
    second = -math.log(p + math.exp(-at[0]) * (1 - p))
    return [
        ("pmc", (first,)),
        ("pml", (second,)),
        ("alip", (first, second)),
        ("lip", (max(first, second),)),
        ("freelunch", at),
    ]


def paths(name, at, p, visited=()):
    """What every path without repetition leads to."""
    yield name, at
    for target, found in published(name, at, p):
        if target not in (*visited, name):
            yield from paths(target, found, p, (*visited, name))


def cases(count):
    """Random priors and notions, levels in and beyond the high-privacy regime."""
    rng = np.random.default_rng(20)
    for _ in range(count):
        n = int(rng.integers(2, 7))
        masses = np.full(n, 1 / n) if rng.uniform() < 0.2 else rng.dirichlet(np.ones(n))
        prior = md.Prior.from_counts(masses)
        name = str(rng.choice(FAMILY))
        limit = -math.log1p(-prior.pmin)
        low = random_level(rng, 1e-3, 3)
        high = float(rng.uniform(0.02, 0.98) * limit) if rng.uniform() < 0.5 else low
        at = (low, random_level(rng, 1e-3, 3)) if name == "alip" else (high,)
        yield prior, name, at


@pytest.mark.slow
def test_implications_lie_between_every_path_and_the_tight_level():
    reached = 0
    for prior, name, at in cases(500):
        notion = CLASSES[name](*at)
        found = md.implications(notion, prior)
        p = prior.pmin
        for target, path in paths(name, notion.levels, p):
            for got, level in zip(found[target].levels, path, strict=True):
                # The plain formulas lose digits where ε_u nears log 1/(1−pmin).
                assert got <= level * (1 + 1e-8) + 1e-12, (prior, notion, target)
                reached += 1
        for target, cls in CLASSES.items():
            tight = tight_conversion(notion, cls, prior)
            for got, entry in zip(found[target].levels, tight.levels, strict=True):
                assert got >= entry.attained, (prior, notion, target)
    assert reached > 5000


def test_the_test_above_can_fail():
    """A control: a level moved by one percent leaves the interval on one of its sides."""
    prior = md.Prior([0.5, 0.3, 0.2])
    level = md.implications(md.PML(0.1), prior)[md.LDP].levels[0]
    path = dict(paths("pml", (0.1,), prior.pmin))["ldp"][0]
    attained = tight_conversion(md.PML(0.1), md.LDP, prior).levels[0].attained
    assert level * 1.01 > path * (1 + 1e-8)
    assert level * 0.99 < attained


@given(priors(), st.integers(0, 10**6), st.sampled_from(FAMILY))
def test_every_implied_guarantee_holds_exactly(prior, seed, name):
    """A random kernel meets its own levels, so it meets all that they imply, decided exactly."""
    mechanism = md.Mechanism(random_kernel(np.random.default_rng(seed), len(prior), 3))
    mechanism = md.Mechanism.from_weights(
        np.column_stack(
            [mechanism.weights[:, :2], (1 << mechanism.bits) - mechanism.weights[:, :2].sum(axis=1)]
        ),
        mechanism.bits,
    )
    assert mechanism.is_exact
    own = CLASSES[name].at(1.0).check(mechanism, prior).achieved
    for entry in md.implications(CLASSES[name](*own), prior).found:
        if entry.notion is not None and not entry.reason:
            assert entry.notion.check(mechanism, prior).verdict is md.Verdict.YES, entry


@given(priors(), levels(1e-4, 10), levels(1e-4, 10))
def test_more_is_known_from_two_guarantees_than_from_one(prior, first, second):
    both = md.implications([md.PML(first), md.PMC(second)], prior)
    for single in (md.PML(first), md.PMC(second)):
        alone = md.implications(single, prior)
        for entry in both.found:
            assert all(a <= b for a, b in zip(entry.levels, alone[entry.name].levels, strict=True))
    assert both[md.ALIP].levels[0] <= second
    assert both[md.ALIP].levels[1] <= first


@given(priors(), levels(1e-4, 5), st.sampled_from(FAMILY))
def test_implied_levels_grow_with_the_level(prior, level, name):
    cls = CLASSES[name]
    less, more = (md.implications(cls.at(v), prior) for v in (level, level * 1.1))
    for entry in less.found:
        assert all(a <= b for a, b in zip(entry.levels, more[entry.name].levels, strict=True))


@given(priors(), levels(1e-4, 5), st.sampled_from(FAMILY))
def test_derivations_are_chains_of_known_results(prior, level, name):
    notion = CLASSES[name].at(level)
    found = md.implications(notion, prior)
    ids = {rule.id for rule in RULES.values()}
    for entry in found.found:
        known = {str(notion)} | {str(CLASSES[name](*notion.levels))}
        seen = []
        for step in entry.derivation:
            assert step.id in ids
            assert find_theorem(step.id).source == step.source
            seen.append(step)
            assert len(set(seen)) == len(seen)
            known.add(step.conclusion)
        if entry.derivation:
            assert entry.derivation[-1].conclusion == str(entry)
        assert bool(entry.reason) == (math.inf in entry.levels)


def test_reasons_name_the_condition():
    prior = md.Prior([0.5, 0.3, 0.2])
    found = md.implications(md.PML(0.3), prior)
    assert found[md.PML].levels == (0.3,)
    for cls in (md.PMC, md.LIP, md.ALIP, md.LDP):
        assert math.inf in found[cls].levels
        assert "log 1/(1−pmin) = 0.223144" in found[cls].reason
    with pytest.warns(NoGuaranteeWarning, match="may rule a symbol out"):
        assert md.convert(md.PML(0.3), to=md.LDP, prior=prior) == md.LDP(math.inf)
    with pytest.warns(NoGuaranteeWarning, match="a witness shows it"):
        assert md.convert(md.PML(0.3), to=md.LDP, prior=prior, tight=True) == md.LDP(math.inf)


def test_a_symbol_without_mass_is_bound_by_ldp_only():
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([0.5, 0.5, 0.0])
    found = md.implications(md.PML(0.1), prior)
    assert found[md.PMC].levels[0] == md.convert(md.PML(0.1), md.PMC, md.Prior([0.5, 0.5])).epsilon
    assert found[md.LDP].levels == (math.inf,)
    assert "zero mass" in found[md.LDP].reason
    assert tight_conversion(md.PML(0.1), md.LDP, prior).target.epsilon == math.inf
    assert md.implications(md.LDP(0.1), prior)[md.PML].levels[0] < 0.1


def test_two_guarantees_that_cross_are_joined():
    prior = md.Prior([0.4, 0.3, 0.3])
    found = md.implications([md.ALIP(0.1, 0.9), md.ALIP(0.5, 0.05)], prior)
    assert found[md.ALIP].levels == (0.1, 0.05)
    assert "PMC-Def-5.3" in [step.id for step in found[md.ALIP].derivation]


def test_average_quantities():
    prior = md.Prior([0.1, 0.2, 0.3, 0.4])
    found = md.implications(md.LIP(0.3), prior)
    # ε·tanh(ε/2) bounds what the best LIP mechanism releases, 0.0379631396.
    assert found["MIPrivacy"].levels[0] <= 0.3 * math.tanh(0.15) * (1 + 1e-12)
    assert found["miprivacy"].levels[0] >= 0.0379631396
    assert md.implications(md.LDP(1.0), prior)["MIPrivacy"].levels[0] >= 0.1219734732
    assert md.implications(md.PML(50.0), prior)["PML"].levels[0] == pytest.approx(math.log(10))
    released = md.implications(md.PML(50.0), prior)["MIPrivacy"].levels[0]
    assert released == pytest.approx(prior.entropy())


@for_each("level", [0.0, 1e-4, 1.0, 30.0, 700.0, 5000.0, math.inf])
@for_each("masses", [[1.0], [0.5, 0.5], [1e-12, 0.3, 0.7 - 1e-12]])
@for_each("cls", plain_notions())
def test_extremes(masses, level, cls):
    assert cls.__name__.lower() in FAMILY
    prior = md.Prior(masses)
    notion = cls.at(level)
    found = md.implications(notion, prior)
    for target in CLASSES.values():
        tight = tight_conversion(notion, target, prior)
        for got, entry in zip(found[target].levels, tight.levels, strict=True):
            assert not math.isnan(got)
            assert got >= entry.attained
            assert entry.level >= entry.attained
            assert entry.witness is not None
            # Numbers e^2000 and beyond are not formed, so there a witness falls short.
            if level <= 2000 or level == math.inf:
                assert entry.gap <= 1e-9 * max(1.0, entry.attained), (notion, target)
    if level == 0:
        assert all(set(entry.levels) <= {0.0} for entry in found.found)


def test_an_unknown_source_implies_only_what_always_holds():
    class Odd(md.PML, register=False):
        pass

    prior = md.Prior([0.5, 0.5])
    found = md.implications(Odd(0.1), prior)
    assert found[md.PML].levels[0] == pytest.approx(math.log(2))
    assert "no published result leads from Odd(0.1) to LDP" in found[md.LDP].reason


def test_conversions_to_average_notions_return_them():
    prior = md.Prior([0.1, 0.2, 0.3, 0.4])
    found = md.convert(md.LIP(0.3), md.MIPrivacy, prior)
    assert isinstance(found, md.MIPrivacy)
    assert found.epsilon == pytest.approx(0.3 * math.tanh(0.15))
    assert md.implications(md.LIP(0.3), prior)[md.MIPrivacy].notion == found
    assert md.convert(md.MIPrivacy(0.1), md.MIPrivacy, prior) == md.MIPrivacy(0.1)
    # Maximal leakage bounds it, and so does the entropy, beyond which a level says nothing.
    assert md.convert(md.MaximalLeakage(0.1), md.MIPrivacy, prior) == md.MIPrivacy(0.1)
    most = md.convert(md.MIPrivacy(50.0), md.MIPrivacy, prior).epsilon
    assert most == pytest.approx(prior.entropy())
    for target in (md.MaximalLeakage, md.MaximalCostLeakage, md.MIPrivacy):
        design = md.design(prior, md.utility.Hamming(), md.LDP(0.5)).mechanism
        implied = md.convert(md.LDP(0.5), target, prior)
        assert implied.check(design, prior).verdict is md.Verdict.YES


def test_reasons_point_to_the_tight_conversion():
    prior = md.Prior.uniform(range(3))
    reason = md.implications(md.DP(0.1, "adjacent"), prior)[md.LDP].reason
    assert reason.endswith("to LDP; a tight conversion decides it")
    found = md.convert(md.DP(0.1, "adjacent"), md.LDP, prior, tight=True)
    assert found.epsilon == pytest.approx(0.2)
    assert "decides" not in md.implications(md.MIPrivacy(0.1), prior)[md.LDP].reason


def test_mistakes_are_named():
    prior = md.Prior([0.5, 0.5])
    refused(lambda: md.convert(md.PML(0.1), md.LDP, [0.5, 0.5]), "a Prior", error=LevelError)
    refused(lambda: md.convert(md.PML, md.LDP, prior), "without a level", error=LevelError)
    refused(lambda: md.convert(0.1, md.LDP, prior), error=LevelError)
    refused(lambda: md.convert(md.PML(0.1), "ldp", prior), "md.LDP", error=LevelError)
    refused(lambda: md.convert(md.PML(0.1), int, prior), "md.LDP", error=LevelError)
    refused(lambda: md.convert(md.PML(0.1), int, prior, tight=True), "md.LDP", error=LevelError)
    refused(lambda: md.convert(md.PML(0.1), md.LDP, 3, tight=True), "a Prior", error=LevelError)
    refused(lambda: md.implications(md.PML(0.1), prior)["ldpp"], "'LDP'", error=UnknownNameError)
    refused(lambda: tightness_report(prior, math.nan), error=LevelError)
    refused(lambda: tightness_report([0.5, 0.5], 0.1), "a Prior", error=LevelError)
    refused(lambda: md.convert(md.PML(0.1), prior, md.LDP), "md.LDP", error=LevelError)
    refused(lambda: md.plot_regions([0.5, 0.5]), "a Prior", error=LevelError)


def test_implications_read_as_a_mapping_and_as_text():
    found = md.implications(md.PMC(0.2), md.Prior([0.5, 0.3, 0.2]))
    assert set(found) >= {"PML", "LDP", "MIPrivacy"}
    assert md.LDP in found
    assert "nothing" not in found
    assert len(found) == len(list(found))
    assert found[md.LDP].notion == md.LDP(found["ldp"].levels[0])
    text = str(found)
    assert "PMC(0.2) implies" in text
    assert "[PMC-Thm-4.2, SaeidianPMC]" in text


@given(st.floats(1e-12, 1e6), st.integers(1, 15))
def test_shown_levels_are_rounded_up(level, digits):
    assert float(rounded_up(level, digits)) >= level
    assert float(rounded_up(level, digits)) <= level * (1 + 10.0 ** (1 - digits))


# Which conversions are tight


def test_tightness_for_a_prior():
    report = tightness_report(md.Prior([0.5, 0.3, 0.2]), 0.15)
    assert {row.id for row in report} == {rule.id for rule in family_rules()}
    assert len(report) == len(report.rows())
    assert {row.verdict for row in report} == {"tight"}
    for row in report:
        assert row.excess <= 1e-12


def test_loose_conversions_are_found():
    coin = tightness_report(md.Prior([0.5, 0.5]), 1.0)
    loose = {row.id for row in coin if row.verdict == "loose"}
    assert {"ID-Sec-3C.1", "ID-Sec-3C.2"} <= loose
    assert coin["ID-Sec-3C.1"].excess == pytest.approx(2 - math.log(2 * math.e - 1))
    # Beyond log 2, PML says nothing about a fair coin: a witness rules a face out.
    assert coin["PMC-Thm-4.1"].verdict == "nothing follows"
    assert math.inf in coin["PMC-Thm-4.1"].published.levels


@pytest.mark.slow
@given(priors(2, 5), levels(0.01, 3))
def test_conversions_marked_tight_are_tight(prior, level):
    tight = {rule.id for rule in RULES.values() if rule.tight}
    for row in tightness_report(prior, level):
        if row.id in tight:
            assert row.verdict != "loose", row


def test_no_warning_where_something_follows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in FAMILY:
            found = md.convert(CLASSES[name].at(0.05), to=md.LDP, prior=md.Prior([0.5, 0.3, 0.2]))
            assert found.epsilon < 0.5
