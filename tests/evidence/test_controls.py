"""Mechanisms that are known to be broken are found; those that are known to be sound are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

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


def test_there_are_controls_on_both_sides():
    assert len(BROKEN) >= 8
    assert len(SOUND) >= 4
    assert len({control.name for control in ALL}) == len(ALL)


def test_a_sound_sparse_vector_answers_once():
    control = next(c for c in SOUND if c.name == "sparse vector")
    draw = control.sampler(np.random.default_rng(1))
    for x in control.inputs:
        assert {sum(v == 1 for v in report) for report in draw(x, 5000)} == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("control", BROKEN, **by_name)
def test_broken_mechanisms_are_found_nearly_always(control):
    repetitions = 60
    found = sum(
        audited(control, seed).verdict is SampleVerdict.VIOLATED for seed in range(repetitions)
    )
    assert found >= 0.95 * repetitions


# What only the kernel shows


def line_program(size, level):
    """The kernel of least mean absolute error on a line under metric privacy, as HiGHS has it."""
    cost = np.abs(np.arange(size)[:, None] - np.arange(size)).astype(float).ravel() / size
    factor = math.exp(level)
    rows, columns, values, count = [], [], [], 0
    for x in range(size - 1):
        for y in range(size):
            for a, b in ((x, x + 1), (x + 1, x)):
                rows += [count, count]
                columns += [a * size + y, b * size + y]
                values += [1.0, -factor]
                count += 1
    below = csr_array((values, (rows, columns)), shape=(count, size * size))
    equal = np.kron(np.eye(size), np.ones(size))
    found = linprog(
        cost, below, np.zeros(count), equal, np.ones(size), method="highs-ipm"
    ).x.reshape(size, size)
    found[found < 1e-9] = 0.0
    return found / found.sum(axis=1, keepdims=True)


def test_a_solver_that_cuts_off_small_weights_is_seen_by_its_kernel_alone():
    """Line(1) of 24 symbols, as in the recorded cases where another library's kernels leak without
    bound: the weights that were cut off are too rare to be missed in any sample.
    """
    size = 24
    kernel = line_program(size, 1.0)
    prior = md.Prior.uniform(size)
    notion = md.DP(1 + 1e-6, "adjacent")
    exact = md.audit(kernel, prior, notion)
    assert str(exact.verdict) == "no"
    assert exact.dp == math.inf
    rng = np.random.default_rng(0)

    def draw(x, number):
        return rng.choice(size, size=number, p=kernel[x]).tolist()

    found = md.audit_samples(range(size), draw, notion, calls=60_000, batch=True)
    assert found.verdict is SampleVerdict.CANNOT_TELL
    # A control: the repaired kernel of the same problem is proved private.
    design = md.design(prior, md.utility.Distance("absolute"), md.DP(1, "adjacent"))
    assert str(md.audit(design.mechanism, prior, notion).verdict) == "yes"


# Mechanisms of another library


@pytest.fixture(scope="module")
def library():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    return dp


@pytest.mark.slow
def test_randomised_response_of_opendp_keeps_its_level_and_no_smaller_one(library):
    response = library.m.make_randomized_response(categories=["a", "b", "c"], prob=0.6)
    level = response.map(1)
    found = md.audit_samples(
        ["a", "b", "c"],
        response,
        [md.LDP(level), md.LDP(level + 0.4), md.LDP(level - 0.4)],
        outputs=["a", "b", "c"],
        calls=12_000,
    )
    assert [str(finding.verdict) for finding in found.findings] == [
        "cannot tell",
        "consistent",
        "violated",
    ]


@pytest.mark.slow
def test_integer_noise_of_opendp_keeps_its_level_and_no_smaller_one(library):
    space = library.atom_domain(T=int), library.absolute_distance(T=int)
    noise = library.m.make_laplace(*space, scale=1.0)
    level = noise.map(1)
    found = md.audit_samples([0, 1], noise, [md.LDP(level), md.LDP(level - 0.3)], calls=12_000)
    assert [str(finding.verdict) for finding in found.findings] == ["cannot tell", "violated"]


@pytest.mark.slow
def test_float_noise_of_opendp_hides_its_lowest_bits(library):
    """The very test that finds noise in floats of one's own finds nothing here."""
    space = library.atom_domain(T=float, nan=False), library.absolute_distance(T=float)
    noise = library.m.make_laplace(*space, scale=1.0)
    found = md.audit_samples(
        [0.0, 1.0], noise, md.LDP(noise.map(1.0)), partition="tree", calls=12_000
    )
    assert found.verdict is SampleVerdict.CANNOT_TELL
    assert found.findings[0].levels[0].lower > 0.5
