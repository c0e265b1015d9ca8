"""The certificate: what it says is so, and what does not pass is never returned."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, pairwise_cases
from hypothesis import given
from hypothesis import strategies as st
from strategies import gain_matrices, kernels, notions, plain_notions, priors, sizes

import mechdesign as md
from mechdesign.certificate import certificate as certificates
from mechdesign.certificate.certificate import certify, fingerprint
from mechdesign.certificate.repair import Repair
from mechdesign.errors import (
    CertificateError,
    GapWarning,
    PriorError,
    UtilityError,
    ZeroMassWarning,
)
from mechdesign.exact import Verdict, exp_bounds, float_at_least, to_weights
from mechdesign.privacy import Bound, Hypotheses
from mechdesign.program.duals import Candidate, Duals
from mechdesign.program.problem import state_problem
from mechdesign.solve import closed_form
from mechdesign.solve.backends import HighsSimplex

#: What the weights of each row of a design add up to.
DENOMINATOR = 2**53
PRIOR = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
HAMMING = md.utility.Hamming()
CLASSES = plain_notions()
each_notion = for_each("cls", CLASSES)


def with_repair(monkeypatch, weights):
    """Make the repair return given weights instead of private ones."""
    monkeypatch.setattr(
        certificates, "repair_kernel", lambda *_: (np.asarray(weights), Repair((), 0.0, 1))
    )


# A kernel that fails is withheld


@each_notion
def test_a_failed_check_withholds_the_kernel(monkeypatch, cls):
    with_repair(monkeypatch, to_weights(np.eye(3)))
    with pytest.raises(CertificateError, match="failed its exact check and is withheld") as caught:
        md.design(PRIOR, HAMMING, cls.at(0.5))
    (check,) = caught.value.evidence
    assert check.notion == cls.at(0.5)
    assert check.verdict is Verdict.NO
    assert check.output in PRIOR.labels
    assert repr(check.output) in check.evidence
    assert check.evidence in str(caught.value)


def test_one_weight_too_many_is_seen(monkeypatch):
    """Exactly on the bound in floats, one unit of 2⁻⁵³ above it in integers."""
    level = 1.0
    factor = Fraction(exp_bounds(Fraction(level))[0])
    small = int(DENOMINATOR / (1 + factor))
    for off, fails in ((-2, False), (2, True)):
        top = int(factor * small) + off
        weights = np.array([[top, DENOMINATOR - top], [small, DENOMINATOR - small]])
        with_repair(monkeypatch, weights)
        if not fails:
            found = md.design(md.Prior.uniform(2), HAMMING, md.LDP(level))
            np.testing.assert_array_equal(found.mechanism.weights, weights)
            continue
        with pytest.raises(CertificateError) as caught:
            md.design(md.Prior.uniform(2), HAMMING, md.LDP(level))
        ratio = caught.value.evidence[0].ratio
        assert factor < ratio < factor * (1 + Fraction(1, 10**15))


def test_evidence_names_every_notion_that_failed(monkeypatch):
    with_repair(monkeypatch, to_weights(np.eye(3)))
    asked = [md.LDP(0.5), md.PML(10), md.PMC(0.1)]
    with pytest.raises(CertificateError) as caught:
        md.design(PRIOR, HAMMING, asked)
    assert [check.notion for check in caught.value.evidence] == [md.LDP(0.5), md.PMC(0.1)]


def test_an_undecided_check_is_not_a_yes(monkeypatch):
    original = md.PML.check

    def undecided(self, mechanism, prior):
        return replace(original(self, mechanism, prior), verdict=Verdict.UNDECIDED)

    monkeypatch.setattr(md.PML, "check", undecided)
    with pytest.raises(CertificateError, match="is undecided"):
        md.design(PRIOR, HAMMING, md.PML(0.5))


@pytest.mark.parametrize("kernel", [np.full((3, 3), np.nan), np.zeros((3, 3))])
def test_a_method_without_an_answer(monkeypatch, kernel):
    problem = state_problem(PRIOR, HAMMING, md.PML(0.5))
    with pytest.raises(CertificateError, match="the solver returned"):
        certify(problem, Candidate(kernel, Duals(), "nonsense"))


@dataclass(frozen=True)
class Underrated(md.PML, register=False):
    """bounds() asks for less than leakage() measures."""

    def bounds(self, prior):
        points = Hypotheses.points(prior, [0])
        return [Bound(points, Hypotheses.prior(prior), self.epsilon)]


def test_a_notion_at_odds_with_itself_is_withheld():
    with pytest.raises(CertificateError, match=r"bounds\(\) and leakage\(\)") as caught:
        md.design(PRIOR, HAMMING, Underrated(0.2))
    measured = float(re.search(r"gives ([0-9.e+-]+) nats", str(caught.value))[1])
    assert measured > 0.3
    # At a level where both say the same, it goes through.
    assert md.design(PRIOR, HAMMING, Underrated(3.0)).value == pytest.approx(1.0)


# What a certificate says is so


@given(st.data())
def test_certificate_of_any_design(data):
    prior = data.draw(priors())
    gains = data.draw(gain_matrices(len(prior), data.draw(sizes(1, 5))))
    asked = data.draw(st.lists(notions(), min_size=1, max_size=3))
    utility = md.utility.Matrix(gains)
    found = md.design(prior, utility, asked)
    told, width = found.certificate, np.ptp(gains)
    assert tuple(check.notion for check in told.checks) == tuple(asked)
    for notion, check, measured in zip(asked, told.checks, told.measured, strict=True):
        assert check.verdict is Verdict.YES
        assert all(a <= e for a, e in zip(check.achieved, notion.levels, strict=True))
        np.testing.assert_allclose(check.achieved, measured, rtol=0, atol=1e-9)
    mean = sum(
        prior.mass(x) * Fraction(float(gains[x][y])) * int(weight)
        for (x, y), weight in np.ndenumerate(found.mechanism.weights)
    )
    assert found.value == told.value == float(mean / 2**found.mechanism.bits)
    assert found.value == pytest.approx(utility.value(found.mechanism, prior), abs=1e-12)
    assert told.bound >= told.value
    if width > 0:
        assert told.gap == pytest.approx((told.bound - told.value) / width, abs=1e-15)
    else:
        assert told.gap == 0
    assert found.gap == told.gap < 1e-6
    assert told.is_optimal
    assert found.status == "optimal"
    best_constant = (prior.probabilities @ gains).max()
    if told.gain_gap is None:
        assert told.bound - best_constant <= 1e-10 * max(width, 1)
    else:
        gain = told.bound - best_constant
        assert told.gain_gap == pytest.approx((told.bound - told.value) / gain, abs=1e-9)
    assert 0 <= told.repair_loss <= 1e-7
    weights = found.mechanism.weights
    assert found.mechanism.bits == 53
    assert (weights.sum(axis=1) == DENOMINATOR).all()
    assert found.mechanism.is_exact
    assert "yes" in repr(found)


@given(st.data())
def test_any_candidate_is_made_private_and_bounded(data):
    """A method is trusted in nothing: any kernel and no duals still give a true certificate."""
    prior = data.draw(priors())
    n, m = len(prior), data.draw(sizes(1, 4))
    gains, notion = data.draw(gain_matrices(n, m)), data.draw(notions())
    problem = state_problem(prior, md.utility.Matrix(gains), notion)
    candidate = Candidate(data.draw(kernels(n, m)), Duals(), "anything")
    mechanism, told = certify(problem, candidate)
    assert notion.check(mechanism, prior).verdict is Verdict.YES
    best = md.design(prior, md.utility.Matrix(gains), notion)
    assert told.value <= best.bound
    assert told.bound >= best.value
    assert told.gap >= (best.value - told.value) / (np.ptp(gains) or 1.0) - 1e-12
    solved = float((problem.program.objective * candidate.kernel).sum())
    expected = max(solved - told.value, 0) / (np.ptp(gains) or 1.0)
    assert told.repair_loss == pytest.approx(expected if np.ptp(gains) else 0.0, abs=1e-12)


def test_a_large_gap_is_warned_about(monkeypatch):
    def lazy(self, program):
        return Candidate(program.constant_kernel, Duals(), "lazy")

    monkeypatch.setattr(closed_form.AnyPMC, "solve", lazy)
    with pytest.warns(GapWarning, match="another solver may do better"):
        found = md.design(PRIOR, HAMMING, md.PMC(0.5), solver="pmc")
    assert found.value == pytest.approx(0.5)
    assert found.bound == pytest.approx(1.0)
    assert found.gap == pytest.approx(0.5)
    assert found.status == "private, gap 0.5"
    assert not found.certificate.is_optimal


def test_another_method_makes_up_for_a_poor_one(monkeypatch):
    """Left to choose, a design with a large gap is tried again with the next method."""

    def lazy(self, program):
        return Candidate(program.constant_kernel, Duals(), "lazy")

    expected = md.design(PRIOR, HAMMING, md.PMC(0.5))
    monkeypatch.setattr(closed_form.AnyPMC, "solve", lazy)
    found = md.design(PRIOR, HAMMING, md.PMC(0.5))
    assert found.method != "pmc"
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    assert found.status == "optimal"


def test_the_best_value_and_the_best_bound_are_put_together(monkeypatch):
    """One method with a good kernel, another with good duals: together they are a proof."""
    good = closed_form.AnyPMC().solve(state_problem(PRIOR, HAMMING, md.PMC(0.5)).program)

    def kernel_only(self, program):
        return Candidate(good.kernel, Duals(), "kernel only")

    def duals_only(self, program):
        return Candidate(program.constant_kernel, good.duals, "duals only")

    monkeypatch.setattr(closed_form.AnyPMC, "solve", kernel_only)
    monkeypatch.setattr(HighsSimplex, "solve", duals_only)
    found = md.design(PRIOR, HAMMING, md.PMC(0.5))
    assert found.method == "pmc"
    assert found.gap < 1e-12


def test_duals_are_kept_so_that_the_bound_can_be_recomputed():
    from mechdesign.certificate.bounds import upper_bound

    for privacy in (md.PML(0.3), md.PMC(1.0), md.LDP(0.4), [md.LIP(0.3), md.LDP(0.4)]):
        found = md.design(PRIOR, HAMMING, privacy)
        problem = state_problem(PRIOR, HAMMING, privacy)
        again, source = upper_bound(problem.program, found.certificate.duals)
        assert source == found.certificate.bound_source
        # The exact bound, rounded up to a float.
        assert found.certificate.bound == float_at_least(again)


def test_fingerprint_tells_designs_apart():
    mechanism = md.design(PRIOR, HAMMING, md.PML(0.3)).mechanism
    asked = (md.PML(0.3),)
    base = fingerprint(PRIOR, mechanism, asked)
    assert base == md.design(PRIOR, HAMMING, md.PML(0.3)).certificate.fingerprint
    moved = mechanism.weights.copy()
    moved[0, 0] -= 1
    moved[0, 1] += 1
    renamed = md.Mechanism.from_weights(mechanism.weights, 53, PRIOR.labels, ["a", "b", "d"])
    nudged = md.Mechanism.from_weights(moved, 53, PRIOR.labels, PRIOR.labels)
    others = {
        fingerprint(md.Prior([0.5, 0.25, 0.25], ["a", "b", "c"]), mechanism, asked),
        fingerprint(md.Prior([0.5, 0.3, 0.2], ["a", "b", "d"]), mechanism, asked),
        fingerprint(PRIOR, nudged, asked),
        fingerprint(PRIOR, renamed, asked),
        fingerprint(PRIOR, mechanism, (md.PML(0.30000000000000004),)),
        fingerprint(PRIOR, mechanism, (md.PMC(0.3),)),
        fingerprint(PRIOR, mechanism, (md.PML(0.3), md.PML(0.3))),
    }
    assert len(others | {base}) == 8


# Symbols of zero mass


@each_notion
def test_zero_mass(cls):
    with pytest.warns(ZeroMassWarning, match=r"1 of 4 symbols have zero mass \('c'\)"):
        prior = md.Prior([0.5, 0.3, 0.0, 0.2], labels=["a", "b", "c", "d"])
    found = md.design(prior, HAMMING, cls.at(0.7))
    inner = md.design(prior.restricted(), HAMMING, cls.at(0.7), outputs=prior.labels)
    assert found.value == inner.value
    weights = found.mechanism.weights
    assert found.mechanism.inputs == prior.labels
    assert (weights.sum(axis=1) == DENOMINATOR).all()
    np.testing.assert_array_equal(weights[[0, 1, 3]], inner.mechanism.weights)
    # Its row is a copy of the support row that serves it best.
    best = int(np.argmax(weights[[0, 1, 3], 2]))
    np.testing.assert_array_equal(weights[2], weights[[0, 1, 3]][best])
    check = found.certificate.checks[0]
    assert check.verdict is Verdict.YES
    assert found.certificate.measured[0] == pytest.approx(check.achieved, abs=1e-9)


@pytest.mark.parametrize("kind", ["first", "last", "many"])
def test_zero_mass_anywhere(kind):
    masses = {"first": [0, 2, 3, 1], "last": [2, 3, 1, 0], "many": [0, 0, 5, 0]}[kind]
    with pytest.warns(ZeroMassWarning, match=f"{masses.count(0)} of 4"):
        prior = md.Prior.from_counts(masses)
    gains = np.random.default_rng(1).uniform(-1, 1, (4, 5))
    for cls in CLASSES:
        found = md.design(prior, md.utility.Matrix(gains), cls.at(0.5))
        rows = found.mechanism.kernel[prior.support]
        assert (found.mechanism.weights.sum(axis=1) == DENOMINATOR).all()
        for x in np.flatnonzero(np.array(masses) == 0):
            copied = found.mechanism.kernel[x]
            assert any((copied == row).all() for row in rows)
            assert copied @ gains[x] == pytest.approx((rows @ gains[x]).max(), abs=1e-12)


# Edges


@each_notion
@for_each("level", [0.0, 1e-4, 0.5, 800.0, math.inf])
def test_one_symbol(cls, level):
    for solver in ("auto", "highs-simplex", "highs-ipm"):
        found = md.design(
            md.Prior([1.0]), md.utility.Matrix([[0.2, 0.9, -1]]), cls.at(level), solver=solver
        )
        assert found.value == pytest.approx(0.9)
        assert found.gap < 1e-9
        assert found.certificate.checks[0].achieved == (0.0,) * len(cls.level_fields)


@each_notion
@for_each("level", [0.0, 1e-4, 0.5, 30.0, 800.0, math.inf])
def test_one_output(cls, level):
    utility = md.utility.Matrix([[1.0], [2.0], [4.0]])
    for solver in ("auto", "highs-simplex", "highs-ipm"):
        if math.isinf(level) and solver != "auto":
            continue
        found = md.design(PRIOR, utility, cls.at(level), solver=solver)
        assert found.value == pytest.approx(1.9)
        assert found.gap < 1e-9
        assert found.certificate.gain_gap is None
        assert (found.mechanism.kernel == 1).all()


@each_notion
def test_level_zero_leaves_constant_kernels(cls):
    for solver in ("auto", "highs-simplex", "highs-ipm"):
        found = md.design(PRIOR, HAMMING, cls.at(0.0), solver=solver)
        assert (found.mechanism.weights == found.mechanism.weights[0]).all()
        assert found.value == pytest.approx(0.5, abs=1e-9)
        assert found.bound == pytest.approx(0.5, abs=1e-9)
        assert found.certificate.checks[0].achieved == (0.0,) * len(cls.level_fields)


@each_notion
def test_infinite_level_asks_nothing(cls):
    found = md.design(PRIOR, HAMMING, cls.at(math.inf))
    np.testing.assert_array_equal(found.mechanism.kernel, np.eye(3))
    assert found.certificate.checks[0].verdict is Verdict.YES


@for_each(
    "counts, level, cls",
    pairwise_cases(
        [[1, 1], [2, 1], [1, 1, 1], [5, 3, 2], [1, 1, 1, 1], [4, 3, 2, 1], [1, 10**9, 10**9]],
        [1e-4, 1e-2, 1.0, 10.0, 30.0, 300.0, 700.0, 800.0],
        CLASSES,
    ),
)
def test_levels_from_tiny_to_absurd(cls, level, counts):
    prior = md.Prior.from_counts(counts)
    found = md.design(prior, HAMMING, cls.at(level))
    assert found.certificate.checks[0].verdict is Verdict.YES
    assert found.gap < 1e-6
    assert found.certificate.repair_loss < 1e-7
    if level >= 30:
        assert found.value == pytest.approx(1.0, abs=1e-7)


@for_each(
    "kernel",
    [
        [[1.0, 5e-324], [0.5, 0.5]],
        [[1.0, 1e-310], [0.5, 0.5]],
        [[1.0, 1e-300], [0.5, 0.5]],
        [[1.0, 0.0], [0.5, 0.5]],
    ],
)
@each_notion
def test_checks_of_kernels_with_hardly_any_mass(cls, kernel):
    """Ratios beyond the range of floats are decided like any other."""
    mechanism, prior = md.Mechanism(kernel), md.Prior([0.5, 0.5])
    check = cls.at(0.5).check(mechanism, prior)
    assert check.verdict is Verdict.NO
    assert check.achieved[-1] > 0.5


@each_notion
def test_priors_beyond_the_range_of_floats(cls):
    """Masses down to 1e-199 are designed for; every smaller one is refused with its remedy."""
    for tail in (10**30, 10**199):
        found = md.design(md.Prior.from_counts([1, tail, tail]), HAMMING, cls.at(0.4))
        assert found.certificate.checks[0].verdict is Verdict.YES
        assert found.gap < 1e-9
    for tail in (10**201, 10**310, 10**400):
        with pytest.raises(PriorError, match=r"at least 1e-200.*give the symbol zero mass"):
            md.design(md.Prior.from_counts([1, tail, tail]), HAMMING, cls.at(0.4))


@each_notion
def test_gains_near_the_largest_float(cls):
    """Gains up to 1e150 are designed for; all larger ones are refused with their remedy."""
    for gains in (np.diag([1e150, -1e150, 1e150]), 1e149 * np.eye(3)):
        found = md.design(PRIOR, md.utility.Matrix(gains), cls.at(0.5))
        assert found.certificate.checks[0].verdict is Verdict.YES
        assert found.value <= found.bound <= found.value * (1 + 1e-9)
    for gains in (np.diag([1.7e308, -1.7e308, 1.7e308]), 1e308 * np.eye(3), 1.1e150 * np.eye(3)):
        with pytest.raises(UtilityError, match=r"at most 1e\+150.*divide the gains"):
            md.design(PRIOR, md.utility.Matrix(gains), cls.at(0.5))
