"""The register of results: every check passes, and every check can fail."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from checks import for_each, refused

from mechdesign.errors import InputError, UnknownNameError
from mechdesign.papers import catalogue, claims
from mechdesign.papers.claims import Theorem, at_least, at_most, equal, holds
from mechdesign.theory.rules import RULES

RESULTS = catalogue.known_theorems()


def made(check, tight=False):
    return Theorem("X-Thm-1", "a statement", "", "none", tight, (), check)


def test_claims_hold_and_fail_as_they_say():
    assert at_most(1.0, 1.0).excess() <= 0
    assert at_most(1.1, 1.0).excess() == pytest.approx(0.1)
    assert at_most(0.9, 1.0).excess() < 0
    assert at_least(0.9, 1.0).excess() == pytest.approx(0.1)
    assert equal(1.0, 1.0).excess() == 0
    assert equal(0.9, 1.0).excess() > 0.09
    assert equal(1.1, 1.0).excess() > 0.09
    assert holds(True).excess() == 0
    assert holds(False).excess() > 0
    assert at_most(math.inf, math.inf).excess() == 0
    assert at_most(math.inf, 1.0).excess() == math.inf
    assert at_most(1.0, math.inf).excess() == -math.inf
    assert at_least(math.inf, 1.0).excess() == -math.inf


@pytest.mark.parametrize("make", [at_most, at_least, equal])
def test_not_a_number_never_passes(make):
    assert make(math.nan, 1.0).excess() == math.inf
    assert make(1.0, math.nan).excess() == math.inf


@pytest.mark.parametrize("claimed", [2.0, -2.0])
def test_a_perturbation_makes_a_claim_stronger(claimed):
    assert at_most(claimed, claimed).excess(0.01) == pytest.approx(0.01, rel=0.02)
    assert at_least(claimed, claimed).excess(0.01) == pytest.approx(0.01, rel=0.02)
    assert equal(claimed, claimed).excess(0.01) == pytest.approx(0.01, rel=0.02)
    assert at_most(0.0, 0.0, scale=1.0).excess(0.01) == pytest.approx(0.01)
    assert holds(True).excess(0.01) == 0


def test_a_wrong_result_is_found_out():
    outcome = made(lambda rng: [at_most(rng.uniform(), 0.5)]).check(0, instances=20)
    assert not outcome.ok
    assert outcome.claims == 20
    assert outcome.worst.found > 0.9


def test_checks_repeat_with_their_seed():
    result = made(lambda rng: [at_most(rng.uniform(), 2.0)])
    assert result.check(3) == result.check(3)
    assert result.check(3) == result.check(np.random.default_rng(3))
    assert result.check(3) != result.check(4)


def test_a_check_without_claims_is_no_check():
    refused(lambda: made(lambda rng: []).check(0), "at least one claim")


def test_a_check_that_never_ends_is_stopped_and_fails():
    def endless(rng):
        while True:
            yield at_most(0.0, 1.0)

    outcome = made(endless).check(0)
    assert not outcome.ok
    assert "100,000 claims" in outcome.worst.about

    def spinning(rng):
        yield at_most(0.0, 1.0)
        while True:
            pass

    outcome = made(spinning).check(0, seconds=0.05)
    assert not outcome.ok
    assert "0.05 s of processor time" in outcome.worst.about
    # The next one has its time for itself.
    assert made(lambda rng: [at_most(0.0, 1.0)]).check(0, seconds=0.05).ok


def test_identifiers_are_not_taken_twice(monkeypatch):
    monkeypatch.setattr(claims, "THEOREMS", {})
    first = made(lambda rng: [holds(True)])
    claims.add(first)
    claims.add(first)

    def elsewhere(rng):
        return [holds(True)]

    elsewhere.__module__ = "another.file"
    refused(lambda: claims.add(made(elsewhere)), "X-Thm-1", error=InputError)


def test_results_are_found_by_name_in_any_case():
    for result in RESULTS:
        assert catalogue.find_theorem(result.id.lower()) is result
    refused(lambda: catalogue.find_theorem("PMC-Thm-44"), error=UnknownNameError)


def test_names_are_distinct_and_there_are_many():
    names = [name for result in RESULTS for name in (result.id, *result.also)]
    assert len(set(names)) == len(names)
    assert len(RESULTS) >= 45
    assert sum(result.tight for result in RESULTS) >= 30


def test_every_published_conversion_is_a_result():
    known = {result.id: result for result in RESULTS}
    for rule in RULES.values():
        assert known[rule.id].statement == rule.statement
        assert known[rule.id].tight == rule.tight


def test_every_paper_has_results():
    found = Counter(result.id.split("-")[0] for result in RESULTS)
    assert found == {"ID": 7, "PMC": 56, "PML": 41, "PP": 26, "D": 36}


def test_results_and_errata_are_in_the_file_of_their_paper():
    files = {
        "ID": "information_density",
        "PMC": "pointwise_maximal_cost",
        "PML": "disclosure_prevention",
        "PP": "pufferfish_mutual_information",
        "D": "derived",
    }
    sources = {
        "GrosseID": "ID",
        "SaeidianPMC": "PMC",
        "SaeidianDisclosure": "PML",
        "NuradhaGoldfeld": "PP",
    }
    conversions = {rule.id for rule in RULES.values()}
    for result in RESULTS:
        if result.id not in conversions:
            home = result.claims.__module__.split(".")[-1]
            assert home.startswith(files[result.id.split("-")[0]])
    for entry in catalogue.errata():
        home = f"{files[sources[entry.source]]}_errata"
        assert entry.instances.__module__.split(".")[-1] == home


@for_each("result", RESULTS)
def test_every_result_says_what_it_is(result):
    assert len(result.statement) > 15
    assert result.conditions
    assert result.source or result.id.startswith("D-")


@for_each("result", RESULTS)
def test_every_result_holds(result):
    outcome = result.check(1, instances=8)
    assert outcome.ok, outcome


@pytest.mark.slow
@for_each("result", RESULTS)
def test_two_percent_break_every_result_or_it_says_why_not(result):
    """A result without a reason for slack fails when its claims are made 2% stronger."""
    broken = [not result.check(seed, share=0.02, instances=2).ok for seed in range(3)]
    if result.slack:
        assert not all(broken), "the reason for slack is no longer one"
        assert len(result.slack) > 20
    else:
        assert all(broken)


def test_few_results_have_slack():
    assert [r.id for r in RESULTS if r.slack] == ["PML-Prop-3.6", "PML-Rem-B.1"]


@pytest.mark.slow
@for_each("result", [r for r in RESULTS if r.tight])
def test_one_percent_breaks_every_tight_result(result):
    """The check of a tight result sees a claim that is 1% too strong, on every instance."""
    for seed in range(8):
        outcome = result.check(seed, share=0.01)
        assert not outcome.ok, (seed, outcome)
