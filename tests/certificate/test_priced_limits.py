"""Bounds under limits: true whatever dual variables of limits are, tight for good ones."""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import chain, count

import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st
from plain_requirements import WISHES, names, random_case
from random_designs import MAKERS

import mechdesign as md
from mechdesign import clock
from mechdesign.certificate.bounds import upper_bound
from mechdesign.certificate.infeasible import prove_infeasible
from mechdesign.errors import InfeasibleError, MechdesignError, ZeroMassWarning
from mechdesign.program.duals import Duals
from mechdesign.program.problem import state_problem

ABC = ["a", "b", "c"]
R = md.require
ASKED = {
    "invariant": R.invariant(),
    "floors": R.at_least(None, None, 0.05),
    "cost": R.cost(1 - np.eye(3), 0.45),
    "monotone": R.monotone(),
    "equal error": R.equal_error([["a"], ["b", "c"]], 0.01),
    "rows": R.rows(np.arange(9.0).reshape(3, 3) / 9, "==", 1.3),
    "zero and share": [R.zero("a", "c"), R.output("b", 0.2, 0.6)],
}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ZeroMassWarning)
    PRIORS = {
        "usual": md.Prior([0.5, 0.3, 0.2], labels=ABC),
        "tiny": md.Prior.from_counts([10**12, 3 * 10**11, 1], ABC),
        "zero": md.Prior.from_counts([3, 2, 0], ABC),
    }
NOTIONS = {
    "PML": md.PML(1.2),
    "DP": md.DP(2.0, [("a", "b"), ("b", "c")]),
    "sums": md.MaximalLeakage(0.6),
}
GAINS = np.array([[1.0, 0.2, -0.3], [0.1, 0.9, 0.4], [-0.5, 0.3, 0.8]])


def designed(prior, notion, asked):
    utility = md.utility.Matrix(GAINS, ABC)
    try:
        found = md.design(prior, utility, notion, subject_to=asked)
    except InfeasibleError:
        return None
    problem = state_problem(prior, utility, notion, None, None, asked)
    return found, problem


def exact_value(prior, weights):
    return sum(
        prior.mass(x) * Fraction(float(GAINS[x, y])) * Fraction(int(w), 1 << 53)
        for x, row in enumerate(weights)
        for y, w in enumerate(row)
    )


def numbers():
    """Dual variables of any sign and size, and what is no number."""
    return st.one_of(
        st.floats(-2, 2),
        st.floats(-40, 40).map(lambda k: math.copysign(math.exp(abs(k)), k)),
        st.sampled_from([0.0, -0.0, 1e-300, 1e150, -1e150, 1e308, math.inf, -math.inf, math.nan]),
    )


@functools.cache
def found_designs():
    """What is designed of each requirement, prior and notion, where there is a kernel."""
    made = {
        (name, prior, notion): designed(PRIORS[prior], NOTIONS[notion], ASKED[name])
        for name in ASKED
        for prior in PRIORS
        for notion in NOTIONS
    }
    return {key: value for key, value in made.items() if value is not None}


def test_enough_of_them_can_be_designed():
    assert len(found_designs()) > 40
    assert {key[1] for key in found_designs()} == set(PRIORS)


@for_each("key", found_designs)
def test_good_dual_variables_give_tight_bounds(key):
    found, _ = found_designs()[key]
    assert found.gap < 1e-6
    assert found.value <= found.bound


@given(st.data())
def test_bounds_hold_for_any_dual_variables_of_limits(data):
    key = data.draw(st.sampled_from(list(found_designs())))
    found, problem = found_designs()[key]
    value = exact_value(found.prior, found.mechanism.weights.tolist())
    duals = found.certificate.duals
    assert (duals.offset, duals.power) == (0.0, 0)
    count = len(problem.program.limits)
    eta = np.array(data.draw(st.lists(numbers(), min_size=count, max_size=count)), dtype=float)
    bound, _ = upper_bound(problem.program, replace(duals, limits=eta))
    assert bound >= value
    if data.draw(st.booleans()):
        prices = np.array(data.draw(st.lists(numbers(), min_size=3, max_size=3)), dtype=float)
        bound, _ = upper_bound(problem.program, Duals(prices[problem.kept], limits=eta))
        assert bound >= value


@given(st.data())
def test_nothing_that_is_possible_is_proved_impossible(data):
    """With any dual variables a utility of zero is not below zero where there is a kernel."""
    key = data.draw(st.sampled_from(list(found_designs())))
    found, problem = found_designs()[key]
    program = replace(problem.program, stated=np.zeros(problem.program.shape))
    count = len(program.limits)
    eta = np.array(data.draw(st.lists(numbers(), min_size=count, max_size=count)), dtype=float)
    duals = found.certificate.duals
    scale = data.draw(st.floats(-3, 3))
    prices = None if duals.prices is None else scale * duals.prices
    multipliers = duals.multipliers
    if multipliers is not None:
        multipliers = tuple(tuple(scale * block for block in part) for part in multipliers)
    bound, _ = upper_bound(program, Duals(prices, multipliers, duals.sums, limits=eta))
    assert bound >= 0


@for_each("key", found_designs)
def test_no_proof_is_found_where_there_is_a_kernel(key):
    assert prove_infeasible(found_designs()[key][1]) is None


@pytest.mark.slow
def test_no_proof_is_found_where_there_is_a_kernel_for_many():
    possible = 0
    for number in range(200):
        rng = np.random.default_rng([8, number])
        notion, wish = list(MAKERS)[number % len(MAKERS)], list(WISHES)[number % len(WISHES)]
        case = random_case(rng, (notion,), names(rng, wish, 1 + number % 3), most=4, rare=0.3)
        try:
            case.design()
        except MechdesignError:
            continue
        utility = md.utility.Matrix(case.gains, list(case.outputs))
        asked = list(case.notions), None, None, case.requirements
        assert prove_infeasible(state_problem(case.prior, utility, *asked)) is None, str(case)
        possible += 1
    assert possible > 100


# What clashes


def test_a_clash_among_very_many_parts_is_found():
    n = 40
    prior = md.Prior.from_counts(range(1, n + 1))
    floors = [R.at_least(x, x, 0.02) for x in range(n)]
    shares = [R.output(x, 0.0, 0.9) for x in range(n)]
    both = [R.at_least(3, 5, 0.7), R.at_most(3, 5, 0.6)]
    with pytest.raises(InfeasibleError) as caught:
        md.design(prior, md.utility.Hamming(), md.PML(2), subject_to=[*floors, *both, *shares])
    assert sorted(caught.value.clash) == sorted(map(str, both))
    assert caught.value.levels == {}


def test_a_level_is_told_for_each_notion_of_a_clash():
    prior = PRIORS["usual"]
    with pytest.raises(InfeasibleError) as caught:
        md.design(
            prior,
            md.utility.Hamming(),
            [md.PML(0.2), md.LDP(5)],
            subject_to=R.diagonal(at_least=0.6),
        )
    assert caught.value.clash[0] == "PML(0.2)"
    level = caught.value.levels["PML(0.2)"]
    free = md.design(
        prior,
        md.utility.Hamming(),
        [md.PML(level * (1 + 1e-6)), md.LDP(5)],
        subject_to=R.diagonal(at_least=0.6),
    )
    assert free.mechanism.kernel.diagonal().min() >= 0.6


@for_each("readings", [1, 2, 5, 9])
def test_without_time_a_clash_is_told_as_undecided_and_never_as_possible(readings, monkeypatch):
    """After some readings the clock runs away: everything after that is said not to be decided."""
    times = chain([0.0] * readings, count(50.0, 50.0))
    monkeypatch.setattr(clock, "now", lambda: next(times))
    with pytest.raises(InfeasibleError) as caught:
        md.design(
            PRIORS["usual"],
            md.utility.Hamming(),
            md.PML(0.2),
            subject_to=[R.diagonal(at_least=0.6), R.output("b", 0, 0.99)],
        )
    assert caught.value.proof.bound < 0
    assert "which level would do in place of PML(0.2) was not decided" in str(caught.value)
    assert caught.value.levels == {}
    if readings < 9:
        assert "whether fewer clash was not decided in time" in str(caught.value)
    else:
        assert len(caught.value.clash) == 2


def test_levels_that_only_a_tolerance_allows_are_not_told():
    """Unbiased ends are reported as themselves; 1e-12 of room needs a level of 27 and more."""
    values = {"a": 0, "b": 1, "c": 2}
    with pytest.raises(InfeasibleError) as caught:
        md.design(PRIORS["usual"], md.utility.Hamming(), md.LDP(1), subject_to=R.unbiased(values))
    assert caught.value.levels == {}
    assert "would do in place of LDP(1) was not decided" in str(caught.value)
