"""Constraints of one's own in cvxpy: linear ones exactly, convex ones in floats, all bounded."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from hypothesis import given, settings
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.certificate.bounds import upper_bound
from mechdesign.errors import (
    InfeasibleError,
    NoMethodError,
    RequirementError,
    StorageError,
)
from mechdesign.exact import Verdict
from mechdesign.program.problem import state_problem
from mechdesign.requirement import Sums
from mechdesign.solve import Duals

cp = pytest.importorskip("cvxpy")

PRIOR = md.Prior([0.4, 0.35, 0.25], labels=["a", "b", "c"])
N = len(PRIOR)
P = PRIOR.probabilities
EVEN = np.full((N, N), 1 / N)
HAMMING = md.utility.Hamming()
own = md.require.cvxpy

LINEAR = {
    "entry": lambda K: K[0, 0] <= 0.4,
    "elementwise": lambda K: K >= 0.15,
    "equation": lambda K: P @ K == P,
    "symmetric": lambda K: K == K.T,
    "products": lambda K: np.array([[1.0, -2.0, 0.5]]) @ K @ np.array([1.0, 0.0, -1.0]) <= 0.1,
    "kron": lambda K: cp.kron(np.eye(2), K) <= 0.6,
    "cones": lambda K: [cp.constraints.NonNeg(K[0] - 0.2), cp.constraints.Zero(K[0, 1] - K[1, 0])],
    "zero": lambda K: K[0, 2] == 0,
}
CURVED = {
    "frobenius": lambda K: cp.norm(K - EVEN, "fro") <= 0.4,
    "squares": lambda K: [cp.square(K) <= 0.25],
    "sum of squares": lambda K: cp.sum_squares(K - EVEN) <= 0.2,
    "norm one": lambda K: cp.norm1(K - EVEN) <= 0.8,
    "largest": lambda K: cp.max(cp.abs(K - EVEN)) <= 0.15,
    "steps": lambda K: [cp.abs(K[x] - K[x + 1]) <= 0.2 for x in range(N - 1)],
    "divergence": lambda K: cp.sum(cp.multiply(P[:, None], cp.kl_div(K, EVEN))) <= 0.05,
    "entropy": lambda K: cp.sum(cp.entr(K), axis=1) >= 0.9 * math.log(N),
    "second-order cone": lambda K: cp.SOC(0.65 + 0 * K[0, 0], K[0]),
    "semidefinite": lambda K: K + K.T - 0.35 * np.eye(N) >> 0,
    "exponential cone": lambda K: cp.ExpCone(K[0] - 1.2, K[0] + 1, K[1] + 0.9),
    "with linear ones": lambda K: [cp.norm(K[1]) <= 0.65, K[2] <= 0.5, K[0, 1] == 0.3],
}
NOTIONS = [md.PML(0.6), [md.LIP(1), md.MaximalLeakage(0.35)], md.LDP(1.1)]
GAINS = np.eye(N) + 0.2 * np.random.default_rng(3).uniform(-1, 1, (N, N))
UTILITY = md.utility.Matrix(GAINS)


def dense(notions, K):
    """What the notions ask, naively."""
    asked = [cp.sum(K, axis=1) == 1, K >= 0]
    for notion in notions if isinstance(notions, list) else [notions]:
        if isinstance(notion, md.MaximalLeakage):
            asked.append(cp.sum(cp.max(K, axis=0)) <= math.exp(notion.epsilon))
            continue
        factor = math.exp(notion.epsilon)
        if isinstance(notion, md.LDP):
            asked += [K[x] <= factor * K[z] for x in range(N) for z in range(N) if x != z]
            continue
        asked += [K[x] <= factor * (P @ K) for x in range(N)]
        if isinstance(notion, md.LIP):
            asked += [K[x] * factor >= P @ K for x in range(N)]
    return asked


def optimum(notions, function):
    K = cp.Variable((N, N))
    given = function(K)
    asked = dense(notions, K) + (given if isinstance(given, list) else [given])
    value = cp.sum(cp.multiply(P[:, None] * GAINS, K))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return cp.Problem(cp.Maximize(value), asked).solve(solver="CLARABEL")


def is_satisfied(function, kernel, tolerance):
    """Whether cvxpy's own violation of what was asked is within a tolerance."""
    K = cp.Variable((N, N), value=kernel)
    given = function(K)
    for constraint in given if isinstance(given, list) else [given]:
        if isinstance(constraint, cp.constraints.ExpCone):
            x, y, z = (argument.value for argument in constraint.args)
            over = y * np.exp(x / y) - z  # cvxpy measures this one by a solver
        else:
            over = constraint.violation()
        if not np.max(over) <= tolerance:
            return False
    return True


@for_each("notions", slow_but(1, NOTIONS))
@for_each("name", [*LINEAR, *CURVED])
def test_the_optimum_is_that_of_a_dense_program(name, notions):
    function = {**LINEAR, **CURVED}[name]
    best = optimum(notions, function)
    if not math.isfinite(best):
        with pytest.raises(InfeasibleError):
            md.design(PRIOR, UTILITY, notions, subject_to=own(function))
        return
    found = md.design(PRIOR, UTILITY, notions, subject_to=own(function, name=name))
    assert found.value == pytest.approx(best, abs=1e-6)
    assert found.value <= found.bound <= found.value + 1e-6
    assert found.certificate.rests_on_floats == (name in CURVED)
    assert all(kept.verdict is Verdict.YES for kept in found.certificate.kept)
    assert is_satisfied(function, found.mechanism.kernel, 1e-8)
    assert optimum(notions, lambda K: []) >= best - 1e-7


# Linear ones


@for_each("name", LINEAR)
def test_linear_ones_are_sums_over_entries_that_are_checked_exactly_and_saved(name, tmp_path):
    found = md.design(PRIOR, HAMMING, md.PML(0.8), subject_to=own(LINEAR[name], name="mine"))
    assert all(isinstance(r, Sums) for r in found.requirements)
    assert "mine" in repr(found)
    md.save(found, tmp_path / "found.json")
    again = md.load(tmp_path / "found.json")
    assert again.requirements == found.requirements
    assert (again.value, again.bound) == (found.value, found.bound)
    told = md.certify(np.eye(N), PRIOR, HAMMING, md.PML(0.8), subject_to=again.requirements)
    assert told.bound == pytest.approx(found.bound, abs=1e-9)


def test_coefficients_are_those_that_were_written():
    a = np.random.default_rng(1).integers(-4, 5, (N, N)) / 8
    (asked,) = own(lambda K: cp.sum(cp.multiply(a, K)) <= 0.25).stated(PRIOR, PRIOR.labels)
    (limit,) = asked.limits(PRIOR, PRIOR.labels)
    matrix = np.zeros((N, N))
    matrix[limit.symbols, limit.outputs] = limit.values
    np.testing.assert_array_equal(matrix, a)
    assert (limit.low, float(limit.high)) == (None, 0.25)
    mechanism = md.Mechanism(EVEN, PRIOR.labels, PRIOR.labels, normalise=True)
    excess, _ = asked.excess(mechanism, PRIOR)
    assert float(excess) == pytest.approx(a.sum() / N - 0.25, abs=1e-12)


SUMS = {
    "shape": (3, 3),
    "places": ((0, 1),),
    "values": ((1.0, 2.0),),
    "sense": "<=",
    "right": (1.0,),
}


@for_each(
    "wrong",
    [
        {"shape": (0, 3)},
        {"places": ((0, 9),)},
        {"places": ((0, 0),)},
        {"places": ((0,),)},
        {"values": ((1.0, math.nan),)},
        {"right": (1.0, 2.0)},
        {"sense": ">="},
        {"tolerance": 1e-20},
    ],
)
def test_sums_over_entries_refuse_what_has_no_meaning(wrong):
    Sums(**SUMS)
    refused(lambda: Sums(**{**SUMS, **wrong}), error=RequirementError)


def test_sums_over_entries_are_asked_of_kernels_of_one_shape():
    refused(
        lambda: md.design(PRIOR, HAMMING, md.PML(1), ["a", "b"], subject_to=Sums(**SUMS)),
        "(3, 2)",
        error=RequirementError,
    )


# Convex ones: bounds


@pytest.mark.slow
@given(
    name=st.sampled_from(["frobenius", "steps", "divergence", "squares"]),
    data=st.data(),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=30)
def test_wrong_duals_still_bound(name, data, seed):
    """Any kernels and any multipliers, as every gradient lies below a convex function."""
    asked = own(CURVED[name])
    found = best_of(name)
    problem = state_problem(PRIOR, HAMMING, md.PML(0.6), None, None, asked)
    (convex,) = problem.program.convex
    rng = np.random.default_rng(seed)
    count = data.draw(st.integers(0, 3))
    points = rng.dirichlet(np.full(N, 0.5), (count, N))
    size = data.draw(st.sampled_from([1e-3, 1.0, 30.0, 1e12]))
    eta = size * rng.uniform(-1, 1, (count, convex.count))
    good = found.certificate.duals
    wrong = Duals(good.prices, good.multipliers, limits=good.limits, convex=((points, eta),))
    bound, _ = upper_bound(problem.program, wrong)
    assert bound >= found.value - 1e-12
    again = upper_bound(problem.program, good)[0]
    assert float(again) == pytest.approx(found.bound, abs=1e-12)


BEST = {}


def best_of(name):
    if name not in BEST:
        BEST[name] = md.design(PRIOR, HAMMING, md.PML(0.6), subject_to=own(CURVED[name]))
    return BEST[name]


def test_without_its_duals_the_bound_is_that_of_the_notions():
    found, free = best_of("frobenius"), md.design(PRIOR, HAMMING, md.PML(0.6))
    asked = own(CURVED["frobenius"])
    again = md.certify(
        found.mechanism, PRIOR, HAMMING, md.PML(0.6), found.certificate.duals, subject_to=asked
    )
    assert again.bound == found.bound < free.bound - 1e-3
    told = md.certify(found.mechanism, PRIOR, HAMMING, md.PML(0.6), Duals(), subject_to=asked)
    assert told.bound >= free.bound
    for convex in (((np.zeros((1, 2, 2)), np.zeros((1, 1))),), ((EVEN[None], np.zeros((1, 4))),)):
        wrong = Duals(convex=convex)
        refused(
            lambda wrong=wrong: md.certify(
                EVEN, PRIOR, HAMMING, md.PML(0.6), wrong, subject_to=asked
            )
        )


def test_what_clashes_is_proved():
    """Every kernel whose entries are this even has an accuracy below the floors."""
    even = own(lambda K: cp.norm(K - EVEN, "fro") <= 0.2, name="nearly even")
    asked = [even, md.require.diagonal(0.6)]
    for make in (
        lambda: md.design(PRIOR, HAMMING, md.PML(0.9), subject_to=asked),
        lambda: md.certify(EVEN, PRIOR, HAMMING, md.PML(0.9), subject_to=asked),
    ):
        with pytest.raises(InfeasibleError) as caught:
            make()
        assert caught.value.proof.bound < 0
        assert len(caught.value.clash) == 2
        assert "nearly even" in str(caught.value)
        assert "in floats" in str(caught.value)
    apart = [own(lambda K: [K[0, 0] >= 0.6, K[1, 0] <= 0.3]), md.LDP(0.1)]
    with pytest.raises(InfeasibleError):
        md.design(PRIOR, HAMMING, apart[1], subject_to=apart[0])


def test_symbols_without_mass_and_other_outputs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = md.Prior([0.5, 0.5, 0.0], labels=["a", "b", "c"])
    asked = own(lambda K: cp.norm(K[2] - np.array([0.2, 0.2, 0.6])) <= 0.1)
    found = md.design(prior, HAMMING, md.PML(1), subject_to=asked)
    assert np.linalg.norm(found.mechanism.kernel[2] - [0.2, 0.2, 0.6]) <= 0.1 + 1e-8
    narrow = own(lambda K: cp.norm(K[:, 1]) <= 0.5)
    found = md.design(PRIOR, HAMMING, md.PML(1), ["a", "b"], subject_to=narrow)
    assert np.linalg.norm(found.mechanism.kernel[:, 1]) <= 0.5 + 1e-8
    assert found.gap < 1e-6


def test_other_methods_refuse():
    asked = own(CURVED["frobenius"])
    with pytest.raises(NoMethodError, match="convex constraints of one's own"):
        md.design(PRIOR, HAMMING, md.PML(0.6), solver="highs-simplex", subject_to=asked)
    with pytest.raises(NoMethodError, match="no convex constraints"):
        md.design(PRIOR, HAMMING, md.PML(0.6), solver="linearised")


def test_in_a_problem_of_ones_own():
    """Ours in theirs, and theirs in ours, have one optimum."""
    asked = [own(CURVED["frobenius"]), md.require.output("a", 0.4)]
    K = cp.Variable((N, N))
    constraints = md.constraints(K, PRIOR, md.PML(0.6), subject_to=asked)
    value = cp.Problem(cp.Maximize(P @ cp.diag(K)), constraints).solve(solver="CLARABEL")
    found = md.design(PRIOR, HAMMING, md.PML(0.6), subject_to=asked)
    assert value == pytest.approx(found.value, abs=1e-6)
    again = md.constraints(K, PRIOR, md.PML(0.6), subject_to=found.requirements)
    value = cp.Problem(cp.Maximize(P @ cp.diag(K)), again).solve(solver="CLARABEL")
    assert value == pytest.approx(found.value, abs=1e-6)
    wide = cp.Variable((N, 5))
    md.constraints(wide, PRIOR, md.PML(0.6), subject_to=own(lambda K: cp.norm(K) <= 2))


# What is refused


OTHER = cp.Variable((N, N), name="other")
PARAMETER = cp.Parameter(name="level", value=0.3)


@for_each(
    ("function", "words"),
    [
        (lambda K: cp.norm(K) >= 1, ["convex"]),
        (lambda K: cp.square(K) == 1, ["convex"]),
        (lambda K: K <= OTHER, ["another variable, other"]),
        (lambda K: K <= PARAMETER, ["a parameter, level"]),
        (lambda K: cp.Constant(1) <= 2, ["without it"]),
        (lambda K: "K <= 1", ["constraints"]),
        (lambda K: cp.norm_inf(K) <= 0.5, ["gradients", "cvxpy.max(cvxpy.abs(K))"]),
        (lambda K: cp.PowCone3D(K[0], K[1], K[2], 0.3), ["PowCone3D"]),
    ],
)
def test_what_is_not_convex_or_not_on_the_kernel_is_refused(function, words):
    for make in (
        lambda: md.design(PRIOR, HAMMING, md.PML(1), subject_to=own(function)),
        lambda: md.constraints(cp.Variable((N, N)), PRIOR, md.PML(1), subject_to=own(function)),
    ):
        refused(make, *words, error=RequirementError)


def test_other_arguments_are_refused():
    refused(lambda: own([cp.Variable(2) <= 1]), "a function", error=RequirementError)
    for tolerance in (0, -1, 1e-15, math.nan, "1"):
        refused(lambda t=tolerance: own(CURVED["steps"], tolerance=t), error=RequirementError)
    refused(
        lambda: md.design(PRIOR, HAMMING, md.PML(1), subject_to=CURVED["steps"]),
        "cvxpy any convex one",
        error=RequirementError,
    )
    refused(
        lambda: md.design(
            PRIOR, md.utility.MutualInformation(), md.PML(1), subject_to=own(CURVED["steps"])
        ),
        error=RequirementError,
    )


def test_what_is_not_linear_cannot_be_saved(tmp_path):
    with pytest.raises(StorageError, match="save the mechanism alone"):
        md.save(best_of("frobenius"), tmp_path / "found.json")
    assert not list(tmp_path.iterdir())
    md.save(best_of("frobenius").mechanism, tmp_path / "kernel.json")


def test_gradients_that_are_none_are_found_out():
    """The adversary: a bound that rests on a gradient which lies above its function."""
    from cvxpy.atoms.elementwise.elementwise import Elementwise

    class Turned(Elementwise):
        """x², with the gradient −2x."""

        def numeric(self, values):
            return values[0] ** 2

        def sign_from_args(self):
            return True, False

        def is_atom_convex(self):
            return True

        def is_atom_concave(self):
            return False

        def is_incr(self, idx):
            return False

        def is_decr(self, idx):
            return False

        def _grad(self, values):
            size = self.args[0].size
            return [Elementwise.elemwise_grad_to_diag(-2 * values[0], size, size)]

    refused(
        lambda: md.design(PRIOR, HAMMING, md.PML(1), subject_to=own(lambda K: Turned(K) <= 0.5)),
        "gradients",
        error=RequirementError,
    )


def test_level_zero_leaves_equal_rows():
    """No kernel lies inside of equations between all rows, and none is needed."""
    prior, near = md.Prior([0.5, 0.3, 0.2]), 0.3

    def asked(kernel):
        return [cp.sum_squares(kernel - 1 / 3) <= near]

    found = md.design(prior, HAMMING, md.LDP(0), subject_to=own(asked))
    row = found.mechanism.kernel[0]
    assert (found.mechanism.kernel == row).all()
    # Equal rows r maximise p·r over 3 |r - 1/3|² ≤ 0.3: along p less its mean.
    p = prior.probabilities - 1 / 3
    assert found.value == pytest.approx(1 / 3 + np.sqrt(near / 3) * np.linalg.norm(p), abs=1e-6)
    assert found.gap < 1e-6
