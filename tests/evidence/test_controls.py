"""Mechanisms that are known to be broken are found; those that are known to be sound are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from false_alarms import SURE, usual

import mechdesign as md
from mechdesign import SampleVerdict
from mechdesign.evidence.controls import controls

ALL = controls()
BROKEN = [control for control in ALL if not control.keeps_claim]
SOUND = [control for control in ALL if control.keeps_claim]
by_name = {"ids": lambda control: control.name}


def audited(control, seed, calls=None):
    return md.audit_samples(
        control.inputs,
        control.sampler(np.random.default_rng(seed)),
        control.claim,
        outputs=control.outputs,
        partition=control.partition,
        calls=calls or control.calls,
        batch=True,
        seed=seed,
    )


@pytest.mark.parametrize("control", BROKEN, **by_name)
def test_each_broken_mechanism_is_found(control):
    found = audited(control, 0)
    assert found.verdict is SampleVerdict.VIOLATED
    (finding,) = found.findings
    assert finding.p_value < 0.05
    assert max(level.lower for level in finding.levels) > control.claim.epsilon


@pytest.mark.parametrize("control", SOUND, **by_name)
def test_no_sound_mechanism_is_accused(control):
    found = audited(control, 0)
    assert found.verdict is SampleVerdict.CANNOT_TELL  # each has just the level that it claims
    assert found.findings[0].p_value > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("control", BROKEN, **by_name)
def test_broken_mechanisms_are_found_nearly_always(control):
    repetitions = 40
    found = sum(
        audited(control, seed).verdict is SampleVerdict.VIOLATED for seed in range(repetitions)
    )
    assert found >= 0.95 * repetitions


# What only the kernel shows


# Mechanisms of another library


@pytest.fixture(scope="module")
def library():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    return dp


def columns(counts):
    """Inputs and reports with these counts."""
    told = [x for x, row in counts.items() for number in row.values() for _ in range(number)]
    return told, [y for row in counts.values() for y, number in row.items() for _ in range(number)]


def verdicts(inputs, reports, levels, **options):
    claims = [md.LDP(level) for level in levels]
    found = md.audit_samples(inputs, reports, claims, SURE, **options)
    return [str(finding.verdict) for finding in found.findings]


def drawn(mechanism, inputs, each):
    told = [x for x in inputs for _ in range(each)]
    return told, [mechanism(x) for x in told]


RESPONSE = {"levels": [math.log(3), math.log(3) + 0.7, math.log(3) - 0.7], "outputs": list("abc")}


@pytest.mark.slow
def test_randomised_response_of_opendp_keeps_its_level_and_no_smaller_one(library):
    response = library.m.make_randomized_response(categories=["a", "b", "c"], prob=0.6)
    assert response.map(1) == pytest.approx(math.log(3))
    inputs, reports = drawn(response, "abc", 4000)
    assert verdicts(inputs, reports, **RESPONSE) == ["cannot tell", "consistent", "violated"]


NOISE = {"levels": [1.0, 0.4], "partition": [0.5]}


def test_usual_counts_have_the_verdicts_that_are_asked_of_these_libraries():
    """What their chances of a false alarm rest on: limits of a pair are monotone in its counts."""
    fewest, most = usual(4000, 0.2)
    for other, place, verdict in ((fewest, 1, "consistent"), (most, 2, "violated")):
        # A row has 4000 reports, so that its own are further off than is usual.
        own = 4000 - 2 * other
        counts = {x: {y: own if x == y else other for y in "abc"} for x in "abc"}
        assert verdicts(*columns(counts), **RESPONSE)[place] == verdict
        assert not usual(4000, 0.6)[0] <= own <= usual(4000, 0.6)[1]
    tail = 1 / (1 + math.e)
    for below, above in ((1 - tail, tail), (0.5, math.exp(-1) / 2)):
        (few, _), (_, many) = usual(6000, below), usual(6000, above)
        counts = {0: {0: few, 1: 6000 - few}, 1: {0: many, 1: 6000 - many}}
        assert verdicts(*columns(counts), **NOISE)[1] == "violated"


@pytest.mark.slow
def test_integer_noise_of_opendp_keeps_its_level_and_no_smaller_one(library):
    space = library.atom_domain(T=int), library.absolute_distance(T=int)
    noise = library.m.make_laplace(*space, scale=1.0)
    assert noise.map(1) == 1
    inputs, reports = drawn(noise, [0, 1], 6000)
    assert verdicts(inputs, reports, **NOISE) == ["cannot tell", "violated"]


@pytest.mark.slow
def test_float_noise_of_opendp_hides_its_lowest_bits(library):
    """The very test that finds noise in floats of one's own finds nothing here."""
    space = library.atom_domain(T=float, nan=False), library.absolute_distance(T=float)
    noise = library.m.make_laplace(*space, scale=1.0)
    inputs, reports = drawn(noise, [0.0, 1.0], 6000)
    assert verdicts(inputs, reports, [noise.map(1.0)], partition="tree") == ["cannot tell"]
    assert verdicts(inputs, reports, **NOISE | {"partition": [0.0]})[1] == "violated"
