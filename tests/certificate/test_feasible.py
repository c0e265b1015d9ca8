"""Repair under requirements: what it returns satisfies everything exactly, or it refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from plain_requirements import WISHES, faults, names, random_case
from random_designs import MAKERS

import mechdesign as md
from mechdesign.certificate.feasible import (
    repair_required,
    roomiest_kernel,
    satisfies,
)
from mechdesign.errors import CertificateError, InfeasibleError
from mechdesign.exact import DENOMINATOR_BITS, to_weights
from mechdesign.program.problem import state_problem

PRIOR = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
HAMMING = md.utility.Hamming()
HEAVY = ("MIPrivacy", "MIPufferfish")
NOTIONS = [name for name in MAKERS if name not in HEAVY]


def drawn(number, seed=5):
    """A case that limits or zeros restrict, and its problem."""
    rng = np.random.default_rng([seed, number])
    name = NOTIONS[number % len(NOTIONS)]
    wishes = [wish for wish in WISHES if wish != "every_output"]
    chosen = names(rng, wishes[number % len(wishes)], 1 + number % 2)
    while True:
        case = random_case(rng, (name,), chosen, most=4, low=0.4, rare=0.2)
        utility = md.utility.Matrix(case.gains, list(case.outputs))
        problem = state_problem(
            case.prior, utility, list(case.notions), None, None, case.requirements
        )
        if problem.program.is_restricted:
            return rng, case, problem


def wild(rng, shape):
    """Kernels that solvers could come back with, if all goes wrong."""
    n, m = shape
    return {
        "random": rng.dirichlet(np.ones(m), n),
        "sparse": rng.dirichlet(np.full(m, 0.05), n),
        "deterministic": np.eye(n, m) + (np.arange(n)[:, None] >= m) * np.eye(1, m),
        "negative": rng.dirichlet(np.ones(m), n) + rng.normal(0, 0.1, (n, m)),
        "not normalised": rng.uniform(0.4, 3, (n, m)),
        "tiny": np.eye(n, m) * 1e-300 + rng.dirichlet(np.full(m, 0.05), n) ** 20 + 0.5 / m,
    }


def is_right(case, weights):
    assert not faults(case, weights.tolist(), DENOMINATOR_BITS), str(case)


@for_each("number", slow_but(8, range(48)))
def test_what_repair_returns_satisfies_everything(number):
    rng, case, problem = drawn(number)
    program = problem.program
    for kernel in wild(rng, program.shape).values():
        try:
            weights, repair = repair_required(program, kernel)
        except CertificateError:
            continue
        is_right(case, weights)
        assert 0 <= repair.inside <= 1
        # Constant mass breaks zeros and floors: none is mixed in, and none is spoken of.
        assert repair.constant or repair.mixed == 0
        if repair.inside:
            assert str(repair).endswith("of a kernel inside of all that is asked mixed in")
            assert "constant" not in str(repair)


@for_each("number", slow_but(4, range(0, 72, 3)))
def test_a_kernel_that_is_said_to_lie_inside_is_not_believed(number):
    rng, case, problem = drawn(number)
    program = problem.program
    kernels = wild(rng, program.shape)
    for inside in kernels.values():
        try:
            weights, _ = repair_required(program, kernels["random"], inside)
        except CertificateError:
            continue
        is_right(case, weights)


@pytest.mark.slow
def test_repair_finds_something_wherever_a_design_does():
    found = 0
    for number in range(60):
        rng, case, problem = drawn(number)
        try:
            case.design()
        except InfeasibleError:
            continue
        weights, _ = repair_required(problem.program, wild(rng, case.shape)["random"])
        is_right(case, weights)
        found += 1
    assert found > 20


def test_small_violations_cost_little():
    for size in (1e-12, 1e-9, 1e-6):
        for asked in (md.require.invariant(), md.require.symmetric(), md.require.zero("a", "c")):
            found = md.design(PRIOR, HAMMING, md.PML(1.2), subject_to=asked)
            problem = state_problem(PRIOR, HAMMING, md.PML(1.2), None, None, asked)
            noise = np.random.default_rng(1).normal(0, size, (3, 3))
            weights, _ = repair_required(problem.program, found.mechanism.kernel + noise)
            lost = np.ldexp(weights.astype(float), -DENOMINATOR_BITS) - found.mechanism.kernel
            assert abs(lost).max() < 100 * size


def test_every_breach_is_seen():
    """A control for what all the above rests on inside the package."""
    asked = [md.require.zero("a", "c"), md.require.at_least("b", "b", 0.25)]
    problem = state_problem(
        PRIOR, HAMMING, [md.PML(1.2), md.MaximalLeakage(0.5)], None, None, asked
    )
    program = problem.program
    good, _ = repair_required(program, np.full((3, 3), 1 / 3))
    assert satisfies(program, good)
    zero, floor, cone = good.copy(), good.copy(), good.copy()
    zero[0, 2], zero[0, 0] = 1, zero[0, 0] - 1
    quarter = 1 << (DENOMINATOR_BITS - 2)
    floor[1, 0] += floor[1, 1] - quarter + 1
    floor[1, 1] = quarter - 1
    cone[2] = [0, 0, 1 << DENOMINATOR_BITS]
    for bad in (zero, floor, cone):
        assert (bad.sum(axis=1) == 1 << DENOMINATOR_BITS).all()
        assert not satisfies(program, bad)


def test_entries_without_room_are_zeros():
    """What is asked together may leave an entry nothing but zero, where solvers leave traces."""
    pattern = np.ones((4, 4))
    pattern[1, 0] = 0.0
    asked = [md.require.zero(pattern=pattern), md.require.monotone()]
    prior = md.Prior.from_counts([27, 9, 22, 18])
    found = md.design(prior, HAMMING, md.MIPrivacy(0.8913), subject_to=asked)
    assert not found.mechanism.weights[1:, 0].any()
    assert found.gap < 1e-6


def test_the_roomiest_kernel_has_room():
    for asked in (md.require.monotone(), md.require.at_least(None, None, 0.1)):
        problem = state_problem(PRIOR, HAMMING, md.PML(0.5), None, None, asked)
        kernel = roomiest_kernel(problem.program)
        weights = to_weights(kernel)
        assert satisfies(problem.program, weights)
        for limit in problem.program.limits:
            value = limit.exactly(weights, DENOMINATOR_BITS)
            ends = [limit.high - value] if limit.high is not None else []
            ends += [value - limit.low] if limit.low is not None else []
            assert min(ends) > Fraction(1, 100)


def test_too_little_room_is_refused_with_a_remedy():
    """x = 1/3 has no weights over 2**53, within nothing."""
    thirds = np.zeros((3, 3))
    thirds[0, 0] = 3.0
    asked = [
        md.require.rows(thirds, "<=", 1.0, name="one third at most"),
        md.require.rows(thirds, ">=", 1.0, name="one third at least"),
    ]
    with pytest.raises(CertificateError, match="allow a larger tolerance"):
        md.design(PRIOR, HAMMING, md.PML(0.5), subject_to=asked)
