"""Requirements in cvxpy problems and on kernels from anywhere: the set that designs are made in."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from hypothesis import given
from hypothesis import strategies as st

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
VALUES = dict(zip(PRIOR.labels, (0.0, 1.0, 2.0, 3.0), strict=True))

#: Each with what it asks, written out naively for a dense program, for K and the masses p.
WISHES = {
    "zero": (md.require.zero("a", "d"), lambda K, p: [K[0, 3] == 0]),
    "pattern": (md.require.zero(pattern=BAND), lambda K, p: [K[0, 3] == 0, K[3, 0] == 0]),
    "floors": (md.require.diagonal(0.3), lambda K, p: [cvxpy.diag(K) >= 0.3]),
    "ceiling": (md.require.at_most(None, "a", 0.35), lambda K, p: [K[:, 0] <= 0.35]),
    "cost": (
        md.require.cost(APART, 0.62),
        lambda K, p: [p @ cvxpy.sum(cvxpy.multiply(APART, K), axis=1) <= 0.62],
    ),
    "each": (
        md.require.cost(APART, 0.72, each=True),
        lambda K, p: [cvxpy.sum(cvxpy.multiply(APART, K), axis=1) <= 0.72],
    ),
    "invariant": (md.require.invariant(), lambda K, p: [p @ K == p]),
    "share": (md.require.output("d", 0.2, 0.3), lambda K, p: [p @ K[:, 3] >= 0.2]),
    "monotone": (
        md.require.monotone(),
        lambda K, p: [
            cvxpy.sum(K[x + 1, y:]) >= cvxpy.sum(K[x, y:]) for x in range(3) for y in range(1, 4)
        ],
    ),
    "symmetric": (md.require.symmetric(), lambda K, p: [K == K.T]),
    "everywhere": (
        md.require.every_output({"a": 1, "b": -0.5, "c": -0.6}),
        lambda K, p: [K[0] <= 0.5 * K[1] + 0.6 * K[2]],
    ),
    "several": (
        [md.require.diagonal(0.28), md.require.zero("d", "a"), md.require.output("b", 0.3)],
        lambda K, p: [cvxpy.diag(K) >= 0.28, K[3, 0] == 0, p @ K[:, 1] >= 0.3],
    ),
}


def below(K, p, level):
    """PML, densely."""
    return [K[x] <= math.exp(level) * (p @ K) for x in range(N)]


def between(K, p, level):
    """LIP, densely."""
    lower = [K[x] >= math.exp(-level) * (p @ K) for x in range(N)]
    return [*below(K, p, level), *lower]


def leaking(K, p, level):
    """Maximal leakage, densely."""
    return [cvxpy.sum(cvxpy.max(K, axis=0)) <= math.exp(level)]


NOTIONS = {
    "pml": (md.PML(0.8), lambda K, p: below(K, p, 0.8)),
    "lip": (md.LIP(1.2), lambda K, p: between(K, p, 1.2)),
    "leakage": (md.MaximalLeakage(0.5), lambda K, p: leaking(K, p, 0.5)),
    "both": (
        [md.PML(0.7), md.MaximalLeakage(0.6)],
        lambda K, p: [*below(K, p, 0.7), *leaking(K, p, 0.6)],
    ),
}


def gains_of(seed):
    return np.eye(N) + 0.3 * np.random.default_rng([81, seed]).uniform(-1, 1, (N, N))


def optimum(gains, constraints, K):
    value = cvxpy.sum(cvxpy.multiply(PRIOR.probabilities[:, None] * gains, K))
    return cvxpy.Problem(cvxpy.Maximize(value), constraints).solve(solver="CLARABEL")


@for_each("notion", slow_but(1, NOTIONS))
@for_each("wish", WISHES)
def test_the_optimum_is_that_of_a_dense_program_and_of_the_design(wish, notion):
    gains = gains_of(len(wish) + len(notion))
    asked, dense = WISHES[wish]
    privacy, naive = NOTIONS[notion]
    K, p = cvxpy.Variable((N, N)), PRIOR.probabilities
    ours = optimum(gains, md.constraints(K, PRIOR, privacy, subject_to=asked), K)
    kernel = K.value
    rows = [cvxpy.sum(K, axis=1) == 1, K >= 0]
    theirs = optimum(gains, [*rows, *naive(K, p), *dense(K, p)], K)
    if not math.isfinite(theirs):
        assert not math.isfinite(ours)
        with pytest.raises(InfeasibleError):
            md.certify(kernel_of_all(), PRIOR, HAMMING, privacy, subject_to=asked)
        return
    assert ours == pytest.approx(theirs, abs=1e-6)
    utility = md.utility.Matrix(gains)
    told = md.certify(kernel, PRIOR, utility, privacy, subject_to=asked)
    assert told.value == pytest.approx(theirs, abs=1e-5)
    assert told.bound == pytest.approx(theirs, abs=1e-6)
    assert all(kept.verdict is Verdict.YES for kept in told.certificate.kept)
    assert told.requirements == md.require.as_requirements(asked)


def kernel_of_all():
    return np.full((N, N), 1 / N)




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
    asked = WISHES[wish][0]
    kernel = {"identity": np.eye(N), "mirrored": np.eye(N)[::-1], "even": kernel_of_all()}[start]
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
    asked, privacy = WISHES[wish][0], NOTIONS[notion][0]
    best = md.design(PRIOR, HAMMING, privacy, subject_to=asked)
    good = best.certificate.duals
    count = len(good.limits)
    limits = np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)))
    prices = data.draw(st.sampled_from([good.prices, np.zeros(N), good.prices + 0.1]))
    wrong = Duals(prices, good.multipliers, good.sums, good.offset, good.power, limits)
    told = md.certify(best.mechanism, PRIOR, HAMMING, privacy, wrong, subject_to=asked)
    assert best.value <= told.bound <= 1 + 1e-12


def test_duals_of_the_limits_prove_the_bound_again():
    asked = WISHES["invariant"][0]
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


