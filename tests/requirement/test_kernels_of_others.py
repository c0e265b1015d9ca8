"""Requirements in cvxpy problems and on kernels from anywhere: the set that designs are made in."""

from __future__ import annotations

import math
import warnings

import dense_programs
import numpy as np
import plain_requirements
import pytest
from checks import for_each, refused, slow_but
from hypothesis import given
from hypothesis import strategies as st
from plain_requirements import random_case
from random_designs import MAKERS

import mechdesign as md
from mechdesign.errors import InfeasibleError, KernelError, RequirementError
from mechdesign.exact import Verdict
from mechdesign.solve import Duals

cvxpy = pytest.importorskip("cvxpy")

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1], labels=["a", "b", "c", "d"])
N = len(PRIOR)
HAMMING = md.utility.Hamming()
APART = 1.0 - np.eye(N)
BAND = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) <= 2

WISHES = {
    "zero": md.require.zero("a", "d"),
    "pattern": md.require.zero(pattern=BAND),
    "floors": md.require.diagonal(0.3),
    "cost": md.require.cost(APART, 0.62),
    "invariant": md.require.invariant(),
    "share": md.require.output("d", 0.2, 0.3),
    "monotone": md.require.monotone(),
    "symmetric": md.require.symmetric(),
    "everywhere": md.require.every_output({"a": 1, "b": -0.5, "c": -0.6}),
    "several": [md.require.diagonal(0.28), md.require.zero("d", "a"), md.require.output("b", 0.3)],
}
NOTIONS = {"pml": md.PML(0.8), "lip": md.LIP(1.2), "leakage": md.MaximalLeakage(0.5)}


@for_each("number", slow_but(20, range(120)))
def test_the_optimum_is_that_of_a_dense_program_and_of_the_design(number):
    rng = np.random.default_rng([81, number])
    names = list(MAKERS)
    wish = list(plain_requirements.WISHES)[number % len(plain_requirements.WISHES)]
    case = random_case(rng, (names[number % len(names)],), (wish,), most=4)
    asked, privacy = [w.requirement for w in case.wishes], list(case.notions)
    theirs = dense_programs.optimum(case.masses, case.gains, case.asked, case.rows)
    K = cvxpy.Variable(np.shape(case.gains))
    named = md.constraints(K, case.prior, privacy, subject_to=asked, outputs=case.outputs)
    value = cvxpy.sum(cvxpy.multiply(case.prior.probabilities[:, None] * case.gains, K))
    ours = cvxpy.Problem(cvxpy.Maximize(value), named).solve(solver="CLARABEL")
    utility = md.utility.Matrix(case.gains, case.outputs)
    if theirs is None:
        assert not math.isfinite(ours)
        even = np.full(K.shape, 1 / K.shape[1])
        with pytest.raises(InfeasibleError):
            md.certify(even, case.prior, utility, privacy, subject_to=asked)
        return
    assert ours == pytest.approx(theirs, abs=1e-6)
    told = md.certify(K.value, case.prior, utility, privacy, subject_to=asked)
    assert told.value == pytest.approx(theirs, abs=1e-5)
    assert told.bound == pytest.approx(theirs, abs=1e-6)
    assert all(kept.verdict is Verdict.YES for kept in told.certificate.kept)
    assert told.requirements == md.require.as_requirements(asked)


def test_columns_need_names_where_they_are_not_the_symbols():
    K = cvxpy.Variable((N, 2))
    asked = md.require.at_most("a", "yes", 0.3)
    refused(
        lambda: md.constraints(K, PRIOR, md.PML(1), subject_to=asked),
        "outputs=",
        error=RequirementError,
    )
    named = md.constraints(K, PRIOR, md.PML(1), subject_to=asked, outputs=["yes", "no"])
    most = cvxpy.Problem(cvxpy.Maximize(K[0, 0]), named).solve(solver="CLARABEL")
    assert most == pytest.approx(0.3, abs=1e-6)
    refused(
        lambda: md.constraints(K, PRIOR, md.PML(1), subject_to=asked, outputs=["yes"]),
        error=KernelError,
    )
    everywhere = md.require.every_output({"a": 1, "b": -1})
    md.constraints(K, PRIOR, md.PML(1), subject_to=everywhere)
    refused(lambda: md.constraints(K, PRIOR, md.PML(1), subject_to="invariant"))


# Kernels from anywhere


@for_each("wish", WISHES)
@for_each("start", slow_but(1, ["identity", "mirrored", "even"]))
def test_a_kernel_far_from_all_that_is_asked_is_repaired(wish, start):
    asked = WISHES[wish]
    kernel = {"identity": np.eye(N), "mirrored": np.eye(N)[::-1], "even": np.full((N, N), 1 / N)}[
        start
    ]
    privacy = [md.PML(0.8), md.MaximalLeakage(0.55)]
    best = md.design(PRIOR, HAMMING, privacy, subject_to=asked)
    told = md.certify(kernel, PRIOR, HAMMING, privacy, subject_to=asked)
    assert told.value <= best.value + 1e-9
    assert told.bound == best.bound
    assert all(check.verdict is Verdict.YES for check in told.certificate.checks)
    assert all(kept.verdict is Verdict.YES for kept in told.certificate.kept)
    again = md.certify(told.mechanism, PRIOR, HAMMING, privacy, subject_to=asked)
    assert (again.mechanism.weights == told.mechanism.weights).all()
    assert str(again.certificate.repair) == "rounding alone"


@pytest.mark.slow
def test_wishes_that_no_kernel_satisfies_are_an_error_with_its_proof():
    for duals in (None, Duals(), [0.1] * N):
        for asked in (md.require.diagonal(0.9), md.require.zero("a")):
            with pytest.raises(InfeasibleError) as caught:
                md.certify(np.eye(N), PRIOR, HAMMING, md.LDP(1), duals, subject_to=asked)
            assert caught.value.proof.bound < 0


numbers = st.floats(-1e3, 1e3) | st.just(0.0) | st.floats(-1e300, 1e300)


@pytest.mark.slow
@given(
    wish=st.sampled_from(["floors", "cost", "invariant", "share", "monotone", "symmetric"]),
    notion=st.sampled_from(["pml", "lip", "leakage"]),
    data=st.data(),
)
def test_wrong_duals_of_limits_still_bound(wish, notion, data):
    asked, privacy = WISHES[wish], NOTIONS[notion]
    best = md.design(PRIOR, HAMMING, privacy, subject_to=asked)
    good = best.certificate.duals
    count = len(good.limits)
    limits = np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)))
    prices = data.draw(st.sampled_from([good.prices, np.zeros(N), good.prices + 0.1]))
    wrong = Duals(prices, good.multipliers, good.sums, good.offset, good.power, limits)
    told = md.certify(best.mechanism, PRIOR, HAMMING, privacy, wrong, subject_to=asked)
    assert best.value <= told.bound <= 1 + 1e-12


def test_duals_of_the_limits_prove_the_bound_again():
    asked = WISHES["invariant"]
    best = md.design(PRIOR, HAMMING, md.PML(0.5), subject_to=asked)
    good = best.certificate.duals
    again = md.certify(best.mechanism, PRIOR, HAMMING, md.PML(0.5), good, subject_to=asked)
    assert again.bound == best.bound
    without = Duals(good.prices, good.multipliers)
    looser = md.certify(best.mechanism, PRIOR, HAMMING, md.PML(0.5), without, subject_to=asked)
    assert looser.bound > best.bound + 1e-6
    for limits in (np.zeros(1), np.full(N, math.nan), np.full(N, math.inf)):
        wrong = Duals(good.prices, good.multipliers, limits=limits)
        refused(
            lambda wrong=wrong: md.certify(
                best.mechanism, PRIOR, HAMMING, md.PML(0.5), wrong, subject_to=asked
            )
        )


def test_symbols_without_mass_keep_their_rows_where_requirements_hold_with_them():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = md.Prior([0.5, 0.5, 0.0], labels=["a", "b", "c"])
    kernel = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.3, 0.3, 0.4]])
    asked = md.require.at_least("c", "c", 0.4)
    told = md.certify(kernel, prior, HAMMING, md.PML(1), subject_to=asked)
    np.testing.assert_allclose(told.mechanism.kernel, kernel, atol=1e-15)
    least = md.require.diagonal({"c": 0.6})
    told = md.certify(kernel, prior, HAMMING, md.PML(1), subject_to=least)
    assert told.mechanism.kernel[2, 2] >= 0.6
