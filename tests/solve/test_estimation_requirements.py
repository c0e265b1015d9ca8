"""Designs for estimates with requirements on every output alike: optimum, proof, refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from estimation_cases import ABC
from naive_estimates import best_mixture, faces_of, naive_minimax, naive_optimum

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.errors import (
    CertificateError,
    RequirementError,
    UntoldError,
)
from mechdesign.exact import Verdict
from mechdesign.storage import from_json, to_json
from mechdesign.utility import Estimation

R = md.require


def designed(prior, notion, requirements, *asked, **more):
    """A design that is optimal, and whose kernel keeps everything, exactly."""
    found = md.design(prior, Estimation(*asked, **more), notion, subject_to=requirements)
    assert found.certificate.is_optimal, found
    assert all(check.verdict is Verdict.YES for check in found.certificate.kept)
    audit = md.audit(found.mechanism, prior, notion, requirements=requirements)
    assert all(check.verdict is Verdict.YES for check in audit.kept)
    return found


def columns(found):
    kernel = found.mechanism.kernel
    return kernel / (found.prior.probabilities @ kernel)


# Against a program over all extreme columns that shares nothing with ours


def wish(rng, p):
    """A requirement, and its rows a in Σ_x a_x r_x ≤ 0."""
    n, form = len(p), int(rng.integers(0, 5))
    x, z = (int(v) for v in rng.choice(n, 2, replace=False))
    unit = np.eye(n)
    if form == 0:
        most = round(float(rng.uniform(1.02, 2.5)), 3)
        return R.ratio(x, z, most), [unit[x] - most * unit[z]]
    if form == 1:
        a = np.round(rng.normal(size=n), 2)
        a[x] = abs(a[x]) + 0.1
        a[z] -= a.sum() + round(float(rng.uniform(0.01, 1)), 2)
        return R.every_output(dict(enumerate(a.tolist()))), [a]
    group = rng.choice(n, int(rng.integers(1, n)), replace=False).tolist()
    inside, share = np.isin(np.arange(n), group), p[group].sum()
    low, high = share * rng.uniform(0.3, 0.98), share + (1 - share) * rng.uniform(0.02, 0.5)
    low, high = (None, high) if form == 2 else (low, None) if form == 3 else (low, high)
    rows = [] if high is None else [p * (inside - high)]
    rows += [] if low is None else [p * (low - inside)]
    if rng.integers(0, 2):
        return R.posterior(group, low, high), rows
    ends = (None if v is None else float(v / share) for v in (low, high))
    return R.lift(group, *ends), rows


def agree(seed):
    rng = np.random.default_rng([20261126, seed])
    n = int(rng.integers(3, 7))
    prior = md.Prior.from_counts(np.maximum(rng.dirichlet(np.full(n, 2.0)), 0.02))
    p = np.asarray(prior.probabilities)
    kind = str(rng.choice(["LDP", "PML", "PMC", "LIP", "ALIP"]))
    levels = [float(rng.choice([0.3, 1.0, 2.0])) for _ in range(1 + (kind == "ALIP"))]
    asked = [wish(rng, p) for _ in range(int(rng.integers(1, 3)))]
    requirements, rows = [w for w, _ in asked], [row for _, part in asked for row in part]
    truths, form = [p], int(rng.integers(0, 4))
    if form:
        truths = list(rng.dirichlet(np.full(n, 5.0), size=1 + (form == 3)))
    given = None if not form else truths[0] if form < 3 else truths
    question = np.eye(n) if rng.integers(0, 2) else rng.normal(size=(2, n))
    found = designed(prior, getattr(md, kind)(*levels), requirements, question, truth=given)
    if form == 3:
        naive = naive_minimax(p, kind, levels, truths, question.T, rows)
    else:
        naive = naive_optimum(p, kind, levels, truths[0], question.T, rows)
    assert found.risk == pytest.approx(naive, rel=1e-6), seed
    assert -found.bound <= naive * (1 + 1e-6), seed
    states = {fact["state"] for fact in verify.check(json.dumps(to_json(found)).encode()).claims}
    assert states == {"proved"}, seed


@for_each("seed", slow_but(4, range(12)))
def test_a_naive_program_finds_the_same(seed):
    agree(seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@for_each("seed", range(12, 60))
def test_a_naive_program_finds_the_same_on_many(seed):
    agree(seed)


# What they mean


@for_each("notion", [md.LDP(1), md.PML(0.7), md.LIP(0.5), [md.LDP(1), md.PMC(0.5)]])
def test_what_is_asked_binds_and_costs(notion):
    free = md.design(ABC, Estimation(), notion).risk
    p = ABC.probabilities
    for requirement, value, end in (
        (R.ratio("a", "b", 1.2), lambda r: r[0] / r[1], 1.2),
        (R.posterior("c", at_most=0.25), lambda r: p[2] * r[2], 0.25),
        (R.posterior(["b", "c"], at_most=0.6), lambda r: p[1:] @ r[1:], 0.6),
        (R.lift("a", at_most=1.1), lambda r: r[0], 1.1),
        (R.lift(["a"], at_least=0.9), lambda r: -r[0], -0.9),
    ):
        found = designed(ABC, notion, requirement)
        assert value(columns(found)).max() == pytest.approx(end, rel=1e-9)
        assert found.risk > free * 1.001


def test_lifts_of_all_symbols_are_pml():
    found = designed(ABC, md.LDP(20), [R.lift(x, at_most=1.5) for x in "abc"])
    assert found.risk == pytest.approx(
        md.design(ABC, Estimation(), md.PML(math.log(1.5))).risk, rel=1e-7
    )


@for_each(
    "implied",
    [
        R.ratio("a", "b", math.e * 1.001),
        R.ratio("a", "b", 1e30),
        R.posterior("c", at_most=1.0),
        R.posterior("c", at_least=0.0),
        R.posterior(["a", "b", "c"], at_least=1, at_most=1),
        R.lift("a", 0.0, 1e30),
        R.every_output({"a": 1e-30, "b": -1e30}),
    ],
)
def test_what_the_notion_implies_costs_nothing(implied):
    free = md.design(ABC, Estimation(), md.LDP(1)).risk
    assert designed(ABC, md.LDP(1), implied).risk == pytest.approx(free, rel=1e-9)


# More symbols than are listed


# Proofs


@pytest.mark.parametrize("name", ["risk", "requirement"])
def test_a_file_with_less_asked_is_refuted(name):
    found = designed(ABC, md.LDP(1), R.posterior("c", at_most=0.25))
    content = to_json(found)
    assert from_json(json.loads(json.dumps(content))).risk == found.risk
    (part,) = content["requirements"]
    if name == "risk":
        content["certificate"]["bound"] *= 1.01
    else:
        part["parameters"]["high"] = 0.24
    claims = verify.check(json.dumps(content).encode()).claims
    refuted = {fact["claim"] for fact in claims if fact["state"] == "refuted"}
    asked = {"risk": "bound", "requirement": "requirement: Posterior("}[name]
    assert any(claim.startswith(asked) for claim in refuted)


# Symbols that share no output


def keeps(found, *pairs):
    kernel = found.mechanism.kernel
    return all((kernel[x] * kernel[z] == 0).all() for x, z in pairs)


def agree_apart(seed):
    """Whether there was a kernel; it is the best one."""
    rng = np.random.default_rng([20261128, seed])
    n, level = int(rng.integers(3, 7)), float(rng.choice([0.4, 0.8, 1.5, 2.5]))
    prior = md.Prior.from_counts(np.maximum(rng.dirichlet(np.full(n, 3.0)), 0.03))
    p = np.asarray(prior.probabilities)
    every = [(x, z) for z in range(n) for x in range(z)]
    pairs = [every[i] for i in rng.choice(len(every), int(rng.integers(1, 4)), replace=False)]
    truth = p if rng.integers(0, 2) else rng.dirichlet(np.full(n, 5.0))
    question = np.eye(n) if rng.integers(0, 2) else rng.normal(size=(2, n))
    columns = faces_of(p, math.exp(level), pairs)
    naive = best_mixture(columns, truth, question.T) if len(columns) else math.inf
    asked = [R.apart(x, z) for x, z in pairs]
    if naive == math.inf:
        refused(
            lambda: md.design(prior, Estimation(question), md.PML(level), subject_to=asked),
            "raise the level",
            error=RequirementError,
        )
        return False
    found = designed(prior, md.PML(level), asked, question, truth=truth)
    assert found.risk == pytest.approx(naive, rel=1e-6), seed
    assert -found.bound <= naive * (1 + 1e-6), seed
    assert keeps(found, *pairs)
    states = {fact["state"] for fact in verify.check(json.dumps(to_json(found)).encode()).claims}
    assert states == {"proved"}, seed
    return True


def test_apart_agrees_with_a_naive_program_over_faces():
    assert {agree_apart(seed) for seed in range(12)} == {True, False}


@pytest.mark.slow
@for_each("seed", range(12, 80))
def test_apart_agrees_with_a_naive_program_on_many(seed):
    agree_apart(seed)


def test_apart_is_checked_on_kernels_of_others():
    wrong = [[0.6, 0.4], [0.1, 0.9], [0.4, 0.6]]
    (check,) = md.audit(
        md.Mechanism(wrong, list("abc"), list("uv")), ABC, md.PML(2), requirements=R.apart("a", "b")
    ).kept
    assert check.verdict is Verdict.NO
    assert check.excess == pytest.approx(0.4)
    with pytest.raises(CertificateError, match="no output is reported for two"):
        md.certify(wrong, ABC, Estimation(), md.PML(2), subject_to=R.apart("a", "b"))
    right = [[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.2, 0.8]]
    found = md.certify(right, ABC, Estimation(), md.PML(2), subject_to=R.apart("a", "b"))
    assert keeps(found, (0, 1))
    assert found.bound == pytest.approx(designed(ABC, md.PML(2), R.apart("a", "b")).bound, rel=1e-9)


def test_a_kernel_that_shares_outputs_is_refuted():
    content = to_json(designed(ABC, md.PML(1), R.posterior("c", at_most=0.35)))
    content["requirements"] = to_json(designed(ABC, md.PML(1), R.apart("a", "b")))["requirements"]
    claims = verify.check(json.dumps(content).encode()).claims
    states = {fact["claim"]: fact["state"] for fact in claims}
    (named,) = (state for claim, state in states.items() if claim.startswith("requirement: Apart("))
    assert named == "refuted"
    # Nor does it prove a bound that only kernels without shared outputs have.
    content = to_json(designed(ABC, md.PML(1), R.apart("a", "b")))
    del content["requirements"]
    content["schema"] = 1
    claims = verify.check(json.dumps(content).encode()).claims
    assert {f["claim"]: f["state"] for f in claims}["bound"] == "not proved here"


# What is not about every output alike


NAMED = {
    "zero": (R.zero("a", "b"), "output 'b' alone"),
    "floor everywhere": (R.at_least("a", None, 0.1), "split into two"),
    "distance": (R.zero(farther_than=1), "zeros at outputs"),
    "cost": (R.cost(np.eye(3), 0.5), "names of their outputs"),
}


@for_each("name", NAMED)
@for_each("utility", [Estimation(), md.utility.MutualInformation()])
def test_requirements_on_named_outputs_are_refused_with_what_to_do(name, utility):
    requirement, reason = NAMED[name]
    refused(
        lambda: md.design(ABC, utility, md.PML(1), subject_to=requirement),
        reason,
        "md.require.lift",
        "Hamming",
        error=RequirementError,
    )


@for_each(
    ("requirement", "words"),
    [
        (R.posterior("a", at_most=0.4), "prior probability 0.5"),
        (R.posterior(["b", "c"], at_least=0.6), "prior probability 0.5"),
        (R.lift("a", at_most=0.9), "smaller than one"),
        (R.lift("a", at_least=1.1), "smaller than one"),
        (R.posterior("z", at_most=0.4), "input symbol"),
        (R.ratio("a", "z", 2), "symbols of the design"),
    ],
)
def test_what_no_kernel_can_keep_is_said_at_once(requirement, words):
    for utility in (Estimation(), md.utility.Hamming()):
        refused(
            lambda utility=utility: md.design(ABC, utility, md.LDP(1), subject_to=requirement),
            words,
            error=RequirementError,
        )


# Requirements that every kernel meets with equality


@pytest.mark.parametrize("notion", [md.PML(1), md.LDP(1)], ids=str)
def test_rows_that_ones_meet_with_equality_hold_so_of_every_column(notion):
    """P(y | a) ≤ P(y | b) for all y makes the rows equal: the others are asked as one symbol."""
    equal = R.ratio("a", "b", 1)
    found = designed(ABC, notion, equal, {"a": 0, "b": 0, "c": 1})
    assert np.array_equal(found.mechanism.weights[0], found.mechanism.weights[1])
    merged = md.Prior.from_counts({"ab": ABC.mass(0) + ABC.mass(1), "c": ABC.mass(2)})
    alone = md.design(merged, Estimation({"ab": 0, "c": 1}), notion)
    if notion == md.LDP(1):  # the level knows no masses
        assert found.risk == pytest.approx(alone.risk, rel=1e-6)
    assert found.risk >= alone.risk * (1 - 1e-6)
    states = {fact["state"] for fact in verify.check(json.dumps(to_json(found)).encode()).claims}
    assert states == {"proved"}
    with pytest.raises(UntoldError) as caught:
        md.design(ABC, Estimation(), notion, subject_to=equal)
    assert caught.value.is_proved
