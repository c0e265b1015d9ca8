"""Every estimate is one linear estimate: of a kernel, of products of kernels, of mixtures."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign import published
from mechdesign.errors import UnknownNameError
from mechdesign.inference import likelihood
from mechdesign.kernel import MatrixKernel
from mechdesign.utility.questions import Question

COLUMNS = {
    "u": md.randomised_response(md.Prior.uniform([*"abc"]), 3),
    "v": md.randomised_response(md.Prior.uniform([*"xy"]), 2),
    "w": md.randomised_response(md.Prior.uniform([*"pqr"]), 2.5),
}


def reports_of(n, seed=4):
    """Reports in three columns of people whose secrets depend on each other."""
    rng = np.random.default_rng(seed)
    base, table = rng.integers(0, 6, n), {}
    for i, (name, kernel) in enumerate(COLUMNS.items()):
        secret = (base + rng.integers(0, i + 1, n)) % len(kernel.inputs)
        draws = [rng.choice(len(kernel.outputs), p=kernel.kernel[x]) for x in secret]
        table[name] = np.array(kernel.outputs, dtype=object)[draws]
    return pd.DataFrame(table)


def test_a_joint_table_of_three_columns_needs_no_plan(monkeypatch):
    """As of the product of all kernels, whether or not that is made."""
    reports = reports_of(900)
    found = md.estimate(reports, COLUMNS)
    inverse = [np.linalg.inv(kernel.kernel) for kernel in COLUMNS.values()]
    codes = [
        reports[name].map({y: i for i, y in enumerate(kernel.outputs)}).to_numpy()
        for name, kernel in COLUMNS.items()
    ]
    rows = np.einsum("ra,rb,rc->rabc", *(a[at] for a, at in zip(inverse, codes, strict=True)))
    np.testing.assert_allclose(found.values, rows.mean(axis=0).ravel(), atol=1e-12)
    assert found.labels[1] == ("a", "x", "q")
    pair = md.estimate(reports, COLUMNS, ["u", "w"])
    np.testing.assert_allclose(
        found.values.reshape(3, 2, 3).sum(axis=1).ravel(), pair.values, atol=1e-12
    )
    joint = md.estimate_joint(reports, [COLUMNS["u"], COLUMNS["w"]], ["u", "w"])
    np.testing.assert_allclose(joint.values.ravel(), pair.values, atol=1e-12)
    np.testing.assert_allclose(joint.lower.ravel(), pair.lower, atol=1e-9)
    alone = md.estimate(reports, COLUMNS, "v")
    np.testing.assert_allclose(alone.values, md.estimate(reports["v"], COLUMNS["v"]).values)
    monkeypatch.setattr("mechdesign.inference.many.MOST_ENTRIES", 100)
    large = md.estimate(reports, COLUMNS)
    assert isinstance(large, md.inference.many.ManyEstimates)
    np.testing.assert_allclose(large.values, found.values, atol=1e-12)
    refused(lambda: md.estimate(reports, COLUMNS, ["u", "z"]), "'z'", error=UnknownNameError)


def test_columns_of_a_plan_are_weighed_as_their_designs_are_best():
    counts = {"a": [60, 30, 10], "x": [80, 20]}
    priors = {name: md.Prior.from_counts(n) for name, n in counts.items()}
    plan = md.plan_columns(priors, total=md.LDP(2.5))
    rng = np.random.default_rng(1)
    table = pd.DataFrame({name: rng.choice(len(n), 800) for name, n in counts.items()})
    reports = md.privatize(table, plan, rng=2)
    found, joint = md.estimate(reports, plan), md.estimate_joint(reports, plan)
    np.testing.assert_allclose(found.values, joint.values.ravel(), atol=1e-12)
    assert not found.note
    # Of frames that carry no receipts.
    bare = md.estimate(pl.from_pandas(reports), plan)
    assert "no receipt" in bare.note
    for name in priors:
        told, alone = (
            md.estimate(reports, plan, **of) for of in ({"feature": name}, {"column": name})
        )
        np.testing.assert_allclose(told.values, alone.values, atol=1e-9)
        np.testing.assert_allclose(joint.marginal(name).values[:, 0], alone.values, atol=1e-9)
    each = [
        MatrixKernel.of(one).scores(
            Question(one.mechanism.inputs, np.eye(len(one.mechanism.inputs))),
            one.prior.probabilities,
        )
        for one in plan.designs
    ]
    np.testing.assert_allclose(found.observed.scores + 0.5, np.kron(*each), atol=1e-9)


def test_scores_are_unbiased_and_their_moments_are_what_the_kernel_adds():
    rng = np.random.default_rng(5)
    kernel = MatrixKernel(tuple("abc"), rng.dirichlet(np.ones(6), 3))
    question = Question(("f", "g"), rng.normal(size=(3, 2)))
    scores = kernel.scores(question, np.full(3, 1 / 3))
    moments = kernel.moments(scores)
    np.testing.assert_allclose(moments[0], 1)
    np.testing.assert_allclose(moments[1], question.weights, atol=1e-12)
    drawn = kernel.likelihood(np.arange(6))
    np.testing.assert_allclose(moments[2], np.einsum("yn,yf->nf", drawn, scores**2))
    assert (moments[2] >= moments[1] ** 2 - 1e-12).all()


def test_an_estimate_maximises_once_and_a_kernel_is_hashed_once(monkeypatch):
    """Of a thousand symbols these are most of the time."""
    kernel = md.randomised_response(md.Prior.uniform(45), 3)
    counts = {y: 30 + i for i, y in enumerate(kernel.outputs)}
    newton, runs = likelihood._newton, []
    monkeypatch.setattr(likelihood, "_newton", lambda *a: runs.append(1) or newton(*a))
    hashed, hashes = published._fingerprint, []
    monkeypatch.setattr(published, "_fingerprint", lambda m: hashes.append(1) or hashed(m))
    for _ in range(3):
        md.estimate(counts, kernel, misfit="warn")
    assert (len(runs), len(hashes)) == (3, 1)


def test_the_matrix_of_a_selection_is_made_once(monkeypatch):
    """Whatever is asked, and of equal ones."""
    made, likelihood = [], md.SubsetSelection.likelihood
    monkeypatch.setattr(
        md.SubsetSelection, "likelihood", lambda *a: made.append(1) or likelihood(*a)
    )
    for _ in range(2):
        selection = md.subset_selection(7, md.LDP(1.875))
        counts = dict.fromkeys(selection.outputs, 40)
        md.estimate(counts, selection, feature=lambda x: x % 3)
        md.plan(selection, error=0.1, feature=lambda x: x % 2)
        md.identifiability(selection)
    assert len(made) == 1


def test_rounding_is_no_estimate_outside_of_what_is_possible():
    below = 0
    for share, count in product((0.9, 0.8, 0.7), (1000, 1500)):
        rows = share * np.array([[1, 0, 0], [0, 1, 0], [1 / 3] * 3]) + (1 - share) / 3
        three = md.Mechanism(rows, [*"abc"], [*"abc"])
        found = md.estimate(dict.fromkeys("abc", count), three)
        below += found.values.min() < 0
        assert found.values.min() > -1e-12
        assert "moved inside" not in repr(found)
        assert "moved inside" in repr(md.estimate({"a": 900, "b": 1000, "c": 1000}, three))
    assert below


@pytest.mark.filterwarnings("ignore:.*next to nothing")
def test_noise_is_that_of_those_who_weigh_most(monkeypatch):
    """Of these people Σ w² ν_x is left, whatever the shares by weight are."""
    rng = np.random.default_rng(3)
    kernel = md.Mechanism([[0.98, 0.02, 0], [0, 0.5, 0.5], [0.25, 0.25, 0.5]])
    secrets = np.repeat([0, 2], [800, 200])
    weights = np.where(secrets == 0, 1.0, 4.0)
    scores = np.linalg.inv(kernel.kernel)
    own = kernel.kernel @ scores**2 - np.eye(3)
    shares = weights / weights.sum()
    exact = np.sqrt((shares**2) @ own[secrets])
    assert (np.sqrt((shares**2).sum() * (shares @ own[secrets])) < 0.9 * exact)[1:].all()
    held, wide = 0, []
    for _ in range(80):
        drawn = (rng.random((1000, 1)) > kernel.kernel.cumsum(axis=1)[secrets]).sum(axis=1)
        table = pd.DataFrame({"y": drawn, "w": weights})
        found = md.estimate(table, kernel, "y", weights="w", target="sample")
        np.testing.assert_array_equal(found.noise, found.errors)
        wide.append(found.errors)
        held += (found.lower[2] <= 0.5) & (found.upper[2] >= 0.5)
    np.testing.assert_allclose(np.mean(wide, axis=0)[1:], exact[1:], rtol=0.05)
    assert held >= 71
    # Weights that are all equal say nothing of it.
    same = md.estimate(table.assign(w=7.0), kernel, "y", weights="w", target="sample")
    plain = md.estimate(table["y"], kernel, target="sample")
    np.testing.assert_allclose(same.errors, plain.errors, rtol=1e-9)
    np.testing.assert_allclose(same.lower, plain.lower, atol=1e-9)
    # Combinations that are too many for one kernel have the noise of the same people.
    table["z"] = (rng.random((1000, 1)) > kernel.kernel.cumsum(axis=1)[secrets]).sum(axis=1)
    options = {"weights": "w", "target": "sample"}
    pair = md.estimate(table, {"y": kernel, "z": kernel}, misfit="warn", **options)
    monkeypatch.setattr("mechdesign.inference.many.MOST_ENTRIES", 10)
    many = md.estimate(table, {"y": kernel, "z": kernel}, misfit="warn", **options)
    wide, same = (one.upper - one.lower for one in (many, pair))
    np.testing.assert_allclose(many.errors, pair.errors, rtol=0.05)
    assert np.median(wide / same) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("middle", [0.0, 738_000.0, 1.7e9])
def test_numbers_may_be_measured_from_anywhere(middle):
    """Answers move with the numbers, and errors, intervals and plans do not."""
    kernel = md.randomised_response(md.Prior.uniform([*"abc"]), 2)
    at = {x: middle + step for x, step in zip("abc", (0, 1, 3), strict=True)}
    plain = {x: one - middle for x, one in at.items()}
    counts = dict(zip(kernel.outputs, (25, 10, 15), strict=True))
    found, same = (md.estimate(counts, kernel, feature=one) for one in (at, plain))
    close = {"atol": 1e-15 * middle + 1e-12, "rtol": 1e-6}
    for part in ("values", "lower", "upper"):
        np.testing.assert_allclose(getattr(found, part) - middle, getattr(same, part), **close)
    np.testing.assert_allclose([found.errors, found.noise], [same.errors, same.noise], rtol=1e-6)
    planned = [md.plan(kernel, error=0.1, feature=one).reports for one in (at, plain)]
    assert planned[0] == pytest.approx(planned[1], rel=1e-5)
    scaled = {x: 1e5 * one for x, one in plain.items()}
    large = md.estimate(counts, kernel, feature=scaled)
    np.testing.assert_allclose([large.lower, large.upper], [1e5 * same.lower, 1e5 * same.upper])


def test_who_was_not_asked_out_of_a_few_is_bounded():
    """Nearly all of a population was asked: not more of it can be rare than there are others."""
    plain, upper = md.Mechanism(np.eye(2), ["a", "b"], ["a", "b"]), []
    for people in (1001, 1200, 1500, 2000, 10**9):
        upper.append(md.estimate({"a": 998, "b": 2}, plain, population=people).upper[1])
    assert (np.diff(upper) > 0).all()
    # The last numbers that hypergeometric tails of 2.5 % keep.
    np.testing.assert_allclose(upper, [0.0020, 0.0042, 0.0047, 0.0055, 0.0072], atol=7e-4)


def test_intervals_of_others_have_some_width_where_answers_are_at_an_end():
    kernel = md.randomised_response(md.Prior.uniform([*"ab"]), 1)
    own = md.estimate({"a": 240, "b": 760}, kernel, misfit="warn")
    for intervals in ("delta", "bootstrap"):
        found = md.estimate({"a": 240, "b": 760}, kernel, intervals=intervals, rng=1, misfit="warn")
        np.testing.assert_allclose([found.lower, found.upper], [own.lower, own.upper], atol=1e-9)
        assert (found.errors >= found.noise).all()
    flip = md.Mechanism([[0.88, 0.12], [0.12, 0.88]], ["a", "b"], ["a", "b"])
    table = {("a", "a"): 20, ("a", "b"): 2, ("b", "a"): 6, ("b", "b"): 40}
    given = md.estimate_joint(table, [flip, flip], misfit="warn").conditional("first")
    assert given.values.max() > 1
    assert ((given.lower >= 0) & (given.upper <= 1) & (given.lower < given.upper)).all()


@for_each("target, population", [("sample", None), ("population", None), ("population", 400)])
def test_groups_of_one_household_differ_by_what_the_kernel_adds(target, population):
    """Two groups of the same secrets in pairs: what is asked of these people is asked one by one,
    and no difference has less than the noise of both groups, however alike the pairs report.
    """
    kernel = md.Mechanism([[0.9, 0.1], [0.1, 0.9]], ["a", "b"], ["a", "b"])
    rng, missed, errors = np.random.default_rng(7), 0, []
    options = {"by_group": "g", "clusters": "c", "target": target, "population": population}
    for _ in range(40):
        secret = rng.random(100) < 0.5
        drawn = np.where(secret[:, None] ^ (rng.random((100, 2)) < 0.1), "b", "a").ravel()
        table = pd.DataFrame({"x": drawn, "g": list("mf") * 100, "c": np.repeat(range(100), 2)})
        found = md.estimate(table, kernel, "x", **options)
        difference = found.difference("m", "f")
        missed += not difference.lower[0] <= 0 <= difference.upper[0]
        noise = np.hypot(*(each.noise for each in found.estimates))
        assert (difference.errors >= noise * (1 - 1e-9)).all()
        errors.append(difference.errors[0])
    assert missed <= 5
    assert np.mean(errors) == pytest.approx(0.053, rel=0.1)
    same = pd.DataFrame(
        {"x": np.repeat(list("ab"), 40), "g": list("mf") * 40, "c": np.repeat(range(40), 2)}
    )
    alike = md.estimate(same, kernel, "x", **options).difference("m", "f")
    assert alike.errors[0] > 0.08
    assert alike.upper[0] > 0.15


def test_any_number_is_a_number():
    flip = md.Mechanism([[0.9, 0.1], [0.1, 0.9]], ["a", "b"], ["a", "b"])
    told = {"a": 60, "b": 40}
    for one, three in ((Fraction(1), Fraction(3)), (Decimal(1), Decimal(3)), (1, 3.0)):
        assert md.estimate(told, flip, feature={"a": one, "b": three}).values == [1.75]
    exact = md.plan(flip, error=Fraction(1, 50), assurance=Fraction(9, 10))
    assert exact.reports == md.plan(flip, error=0.02).reports
    found, rate = md.estimate(told, flip), md.plan(flip, reports=99).errors
    for confidence in (Fraction(95, 100), Decimal("0.95"), np.float32(0.95)):
        same = md.estimate(told, flip, confidence=confidence)
        np.testing.assert_allclose(same.lower, found.lower, atol=1e-7)
        np.testing.assert_allclose(found.limits(confidence), (found.lower, found.upper), atol=1e-7)
        planned = md.plan(flip, reports=99, confidence=confidence)
        np.testing.assert_allclose(planned.errors, rate, atol=1e-7)
        assert type(same.confidence) is type(planned.confidence) is float
    ends = [found.limits(rate, side="upper")[1] for rate in (0.5, 0.5 + 1e-6)]
    np.testing.assert_allclose(*ends, atol=1e-6)
    assert (ends[0] > found.values).all()


def test_conditional_means_far_from_zero_are_those_near_it():
    flip = md.Mechanism([[0.9, 0.1], [0.1, 0.9]], ["a", "b"], ["a", "b"])
    rng = np.random.default_rng(1)
    table = pd.DataFrame({name: rng.choice(list("ab"), 300) for name in "uv"})
    near, far = (
        md.estimate_joint(
            table, [flip, flip], ("u", "v"), features=[None, {"a": off, "b": off + 1}]
        ).conditional("u")
        for off in (0, 1e9)
    )
    np.testing.assert_allclose(far.errors, near.errors, rtol=1e-6)
    np.testing.assert_allclose(far.lower - 1e9, near.lower, atol=1e-6)
    np.testing.assert_allclose(far.upper - 1e9, near.upper, atol=1e-6)
