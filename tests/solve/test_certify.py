"""Kernels from anywhere: certified private, never above a bound, refused with a message."""

from __future__ import annotations

import math
import warnings

import naive
import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from random_designs import MAKERS

import mechdesign as md
from mechdesign.errors import CertificateError, KernelError
from mechdesign.exact import Verdict
from mechdesign.solve import Duals

PRIOR = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
HAMMING = md.utility.Hamming()
IDENTITY = np.eye(3)


def is_sound(told, best):
    """Private by the exact check, and its bound above what designs reach."""
    assert told.method == "given"
    assert all(check.verdict is Verdict.YES for check in told.certificate.checks)
    assert told.bound >= told.value
    assert told.bound >= best.value - 1e-12
    assert 0 <= told.certificate.repair.mixed <= 1
    return True


# Repair


@for_each("name", MAKERS)
def test_a_kernel_that_leaks_all_is_repaired_for_every_notion(name):
    for number in range(3):
        rng = np.random.default_rng([71, list(MAKERS).index(name), number])
        n = int(rng.integers(2, 5))
        masses = (rng.dirichlet(np.ones(n)) + 0.05).tolist()
        prior = md.Prior.from_counts(masses)
        notion = MAKERS[name](rng, n, masses)[0]
        notion = notion.with_levels(*[float(rng.uniform(0.1, 2))] * len(notion.levels))
        told = md.certify(np.eye(n), prior, HAMMING, notion)
        assert is_sound(told, md.design(prior, HAMMING, notion))
        if told.certificate.repair.mixed:
            lost = 1 - told.value
            assert told.certificate.repair_loss == pytest.approx(lost, abs=1e-12)


def test_an_infinitely_leaking_kernel_loses_no_more_than_it_must():
    """The identity, with the same constant mass for all outcomes, is randomised response."""
    for level in (0.01, 0.5, 1, 4):
        told = md.certify(IDENTITY, PRIOR, HAMMING, md.LDP(level), duals=Duals())
        share = 3 / (math.exp(level) + 2)
        assert told.certificate.repair.mixed == pytest.approx(share, rel=1e-9)
        assert not told.certificate.repair.constant
        expected = md.randomised_response(PRIOR, level).kernel
        np.testing.assert_allclose(told.mechanism.kernel, expected, atol=1e-9)
        assert told.certificate.repair_loss == pytest.approx(1 - told.value, abs=1e-12)


def test_a_kernel_of_a_solver_in_floats_is_made_exactly_private():
    """The adversary: a kernel whose floats break e^ε in the last digit, as a naive LP leaves it."""
    top = math.e / (math.e + 2)
    kernel = np.full((3, 3), (1 - top) / 2) + (top - (1 - top) / 2) * IDENTITY
    kernel[0, 0] += 3e-9
    kernel[0, 1] -= 4e-9
    notion = md.LDP(1)
    assert md.audit(kernel, PRIOR, notion).verdict is not Verdict.YES
    told = md.certify(kernel, PRIOR, HAMMING, notion)
    assert told.certificate.checks[0].verdict is Verdict.YES
    assert 0 < told.certificate.repair.mixed < 1e-7
    assert told.value == pytest.approx(top, abs=1e-7)


# Bounds


def dual_prices(prior, gains, rows):
    """Row prices of the dense dual program: min Σ λ with C − λ ≤ Σ z a, z ≥ 0, by HiGHS."""
    from scipy.optimize import linprog

    n, m = gains.shape
    r = len(rows)
    matrix = np.zeros((n * m, n + r * m))
    for y in range(m):
        for x in range(n):
            matrix[y * n + x, x] = -1
            for i, row in enumerate(rows):
                matrix[y * n + x, n + i * m + y] = -row[x]
    cost = np.r_[np.ones(n), np.zeros(r * m)]
    right = -(prior.probabilities[:, None] * gains).T.ravel()
    limits = [(None, None)] * n + [(0, None)] * (r * m)
    answer = linprog(cost, A_ub=matrix, b_ub=right, bounds=limits, method="highs")
    assert answer.status == 0
    return answer.x[:n]


@for_each("name", naive.ROWS)
def test_row_prices_of_a_dense_program_prove_its_optimum(name):
    for number in range(4):
        rng = np.random.default_rng([72, number])
        n, m = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        prior = md.Prior.from_counts(rng.integers(1, 9, n).tolist())
        gains = rng.uniform(-1, 1, (n, m))
        level = [float(rng.uniform(0.1, 2)) for _ in range(2 if name == "alip" else 1)]
        rows = naive.ROWS[name](prior.probabilities, *level)
        prices = dual_prices(prior, gains, rows)
        notion = md.privacy.NOTIONS[name](*level)
        utility = md.utility.Matrix(gains)
        found = md.design(prior, utility, notion)
        told = md.certify(found.mechanism, prior, utility, notion, duals=prices)
        assert told.bound == pytest.approx(found.value, abs=1e-7)
        assert told.certificate.solver == "given, bounded by given duals"


@given(
    duals=st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3),
    notion=st.sampled_from(
        [md.LDP(1), md.PML(0.4), md.DP(1, [("a", "b")]), md.MaximalLeakage(0.3)]
    ),
)
def test_bad_duals_give_valid_bounds(duals, notion):
    best = md.design(PRIOR, HAMMING, notion)
    told = md.certify(best.mechanism, PRIOR, HAMMING, notion, duals=duals)
    assert best.value <= told.bound <= 1.0 + 1e-12


@for_each(
    "duals",
    [
        [0.1, 0.2],
        [0.1, 0.2, math.nan],
        [0.1, 0.2, math.inf],
        [1j, 0, 0],
        Duals(np.array([0, 0, math.nan])),
        Duals(None, ((np.zeros((2, 2)),),)),
        Duals(None, None, ((np.zeros(2),),)),
    ],
)
def test_duals_of_other_shapes_are_refused(duals):
    refused(lambda: md.certify(IDENTITY, PRIOR, HAMMING, md.LDP(1), duals=duals))


# Kernels in every form


def test_labels_are_matched_with_the_prior():
    kernel = np.array([[0.6, 0.4, 0.0], [0.1, 0.9, 0.0], [0.2, 0.2, 0.6]])
    asked = (HAMMING, md.LDP(30), Duals())
    plain = md.certify(kernel, PRIOR, *asked)
    moved = ["c", "a", "b"]
    rows = [PRIOR.labels.index(x) for x in moved]
    forms = [
        md.Mechanism(kernel[rows][:, rows], moved, moved),
        pd.DataFrame(kernel[rows][:, rows], index=moved, columns=moved),
        md.Mechanism(kernel),
        plain,
        kernel.tolist(),
    ]
    for form in forms:
        told = md.certify(form, PRIOR, *asked)
        assert told.value == pytest.approx(plain.value, abs=1e-9)
        assert told.mechanism.inputs == PRIOR.labels
    assert plain.value == pytest.approx(0.3 + 0.27 + 0.12, abs=1e-6)


def test_values_of_cvxpy_variables():
    cvxpy = pytest.importorskip("cvxpy")
    kernel = cvxpy.Variable((3, 3))
    refused(lambda: md.certify(kernel, PRIOR, HAMMING, md.LDP(1)), "solve", error=KernelError)
    asked = md.constraints(kernel, PRIOR, md.LDP(1))
    value = PRIOR.probabilities @ cvxpy.diag(kernel)
    cvxpy.Problem(cvxpy.Maximize(value), asked).solve(solver="CLARABEL")
    told = md.certify(kernel, PRIOR, HAMMING, md.LDP(1), duals=asked[0].dual_value)
    assert told.gap < 1e-6
    assert told.certificate.bound_source == "prices"


@for_each(
    ("kernel", "words"),
    [
        (np.eye(2), ["3 rows", "2"]),
        (np.ones((3, 2)) / 2, ["3 columns", "outputs="]),
        (np.full((3, 3), math.nan), ["nan"]),
        (IDENTITY - 0.01, ["-0.01 in row 0, column 1"]),
        (np.zeros((3, 3)), ["sum 0"]),
        ([[1], [1, 2], [1]], ["array of numbers"]),
        ("kernel", ["'kernel'"]),
        (None, ["shape"]),
        (md.Mechanism(np.eye(3), ["a", "b", "d"]), ["'d'"]),
    ],
)
def test_what_is_no_kernel_is_refused(kernel, words):
    refused(lambda: md.certify(kernel, PRIOR, HAMMING, md.LDP(1)), *words, error=KernelError)


def test_symbols_without_mass_keep_their_rows_where_they_may():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = md.Prior([0.5, 0.0, 0.5])
    near, far = [0.5, 0.4, 0.1], [0.0, 0.0, 1.0]
    for utility in (HAMMING, md.utility.MutualInformation()):
        for row, kept in ((near, True), (far, False)):
            kernel = np.array([[0.4, 0.4, 0.2], row, [0.3, 0.4, 0.3]])
            told = md.certify(kernel, prior, utility, md.LDP(1.2), outputs=[0, 1, 2])
            assert told.certificate.checks[0].verdict is Verdict.YES
            assert np.allclose(told.mechanism.kernel[1], row, atol=1e-12) is kept


class Liar(md.PML, register=False):
    """Its bounds ask nothing; its check does."""

    def constraints(self, prior):
        """Nothing."""
        return md.PML(math.inf).constraints(prior)


def test_a_kernel_that_fails_its_exact_check_is_withheld_with_numbers():
    with pytest.raises(CertificateError, match="likelihood ratio of 'c' to the prior is 5") as told:
        md.certify(IDENTITY, PRIOR, HAMMING, Liar(0.5))
    assert told.value.evidence


# Files


@for_each("utility", [HAMMING, md.utility.ChiSquare()])
@for_each("duals", [None, [0.2, 0.2, 0.1]])
def test_certified_kernels_are_saved_loaded_and_audited(utility, duals, tmp_path):
    told = md.certify(IDENTITY, PRIOR, utility, [md.LDP(1), md.PML(0.5)], duals=duals)
    md.save(told, tmp_path / "m.json")
    again = md.load(tmp_path / "m.json")
    assert again.method == "given"
    assert again.certificate.solver == told.certificate.solver
    assert again.mechanism == told.mechanism
    assert (again.value, again.bound, again.gap) == (told.value, told.bound, told.gap)
    assert str(again.certificate.repair) == str(told.certificate.repair)
    assert repr(again) == repr(told)
    assert md.audit(again.mechanism, again.prior, again.notions).verdict is Verdict.YES
