"""Two columns, several rounds and changes, beside plain sums over all reports."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from naive_surveys import arm_of, difference_ends, no_less, two_variances
from numpy.testing import assert_allclose
from reported import FLIP, are_held, counted, kernel_of, quiet, response
from strategies import random_mechanism

import mechdesign as md
from mechdesign.errors import PrecisionWarning

ABC = ["a", "b", "c"]


def parts_of(found):
    parts = found.values, found.errors, found.lower, found.upper
    return [np.ravel(part) for part in parts]


def is_told(*kernels):
    values = np.linalg.svd(np.hstack(kernels))[1]
    return len(values) == len(kernels[0]) and values[-1] > 1e-2


# Two columns


@quiet
@given(st.integers(0, 2**32 - 1), st.sampled_from(["population", "sample"]))
def test_joint_tables_are_answers_of_one_kernel_on_pairs(seed, target):
    rng = np.random.default_rng(seed)
    made = [random_mechanism(rng, n, n) for n in rng.integers(2, 4, 2)]
    if not all(is_told(one.kernel) for one in made):
        return
    together, shape = made[0].product(made[1]), [len(one.inputs) for one in made]
    truth = rng.dirichlet(np.full(np.prod(shape), 5))
    counts = rng.multinomial(rng.integers(30, 9000), truth @ together.kernel)
    call, options = (counted(counts, *made), made, ["x", "y"]), {"target": target, "misfit": "warn"}
    found, one = md.estimate_joint(*call, **options), md.estimate(call[0], together, **options)
    best = md.estimate_joint(*call, **options, method="likelihood")
    assert_allclose(parts_of(found), parts_of(one), atol=1e-6)
    assert_allclose(best.values, best.distribution, atol=1e-9)
    for k, name in enumerate(("x", "y")):
        kernel, eye = made[k].kernel, np.eye(shape[k])
        alone = counted(counts.reshape(shape).sum(axis=1 - k), made[k])
        margin = found.marginal(name)
        values = md.estimate(alone, made[k], misfit="warn").values
        assert_allclose(margin.values[:, 0], values, atol=1e-9)
        p = found.distribution.sum(axis=1 - k)
        noise, spread = two_variances(kernel, np.linalg.inv(kernel), eye, p)
        errors = (noise + spread * (target == "population")).diagonal() / counts.sum()
        assert_allclose(margin.errors[:, 0] ** 2, errors, rtol=1e-6)
        assert_allclose(best.marginal(name).values[:, 0], p, atol=1e-9)
    if found.values.min() < 0.02:
        return
    # Ratios have the errors of their first derivatives.
    given, share = found.conditional("x"), found.values.sum(axis=1)
    assert_allclose(best.conditional("x").values.sum(axis=1), 1)
    for i in range(shape[0]):
        ratios = found.values[i] / share[i]
        slopes = (np.eye(shape[1]) - ratios[:, None]) / share[i]
        own = one.covariance.reshape(shape * 2)[i, :, i]
        assert_allclose(given.values[i], ratios, atol=1e-9)
        errors = (slopes @ own @ slopes.T).diagonal()
        assert_allclose(given.errors[i] ** 2, errors, rtol=1e-3)
    assert are_held(given)
    # At its ends a ratio r leaves an interval of u − r w that ends at zero.
    for ends, k in ((given.lower, 0), (given.upper, 1)):
        row, end = np.zeros(shape), ends[0, 0]
        row[0], row[0, 0] = -end, 1 - end
        if 0.01 < end < 0.99:
            between = md.estimate(call[0], together, feature=[row.ravel()], **options)
            assert between.limits()[k] == pytest.approx(0, abs=1e-5)


@quiet
@for_each("target", ["population", "sample"])
def test_large_joint_tables_are_those_of_small_ones(monkeypatch, target):
    made = [response(2, ABC), response(1.5, "uv")]
    joint = np.array([0.3, 0.1, 0.15, 0.15, 0.05, 0.25])
    counts = joint @ made[0].product(made[1]).kernel * 5000
    call = counted(counts, *made), made, ["x", "y"]
    small = md.estimate_joint(*call, target=target)
    monkeypatch.setattr("mechdesign.inference.many.MOST_ENTRIES", 1)
    large, half = (md.estimate_joint(*call, target=target, confidence=c) for c in (0.95, 0.975))
    best = md.estimate_joint(*call, method="likelihood", confidence=1e-6)
    assert_allclose(best.values, best.distribution, atol=1e-9)
    assert ((best.lower <= best.values) & (best.values <= best.upper)).all()
    given, share = large.conditional("y"), half.marginal("y")
    for one, other in ((small, large), (small.conditional("y"), given)):
        assert_allclose(other.values, one.values, atol=1e-9)
        assert_allclose(other.errors, one.errors, rtol=1e-6)
    widths = (large.upper - large.lower) / (small.upper - small.lower)
    assert (abs(widths - 1) < (0.25 if target == "sample" else 0.08)).all()
    # Ends of ratios take half of the risk for the cell, and half for the share.
    assert_allclose(given.lower, half.lower.T / share.upper, rtol=1e-6)
    assert_allclose(given.upper, np.minimum(half.upper.T / share.lower, 1), rtol=1e-6)
    refused(lambda: md.estimate_joint(*call, intervals="delta"), "so large a joint table")
    refused(lambda: md.estimate_joint(*call, features=[None, {"u": 0.0, "v": 2.0}]), "'mean'")


def test_pairs_of_many_symbols_need_no_product_kernel():
    rng = np.random.default_rng(11)
    made = [response(5, range(n)) for n in (26, 25)]
    left, right = (one.kernel for one in made)
    counts = rng.multinomial(10**6, rng.dirichlet(np.ones(650)) @ np.kron(left, right))
    found = md.estimate_joint(counted(counts, *made), made)
    q = left.T @ found.distribution @ right
    assert (left @ (counts.reshape(q.shape) / 10**6 / q) @ right.T).max() <= 1 + 1e-9
    assert found.convergence.converged
    assert found.distribution.sum() == pytest.approx(1)


def test_nothing_is_said_given_what_is_not_seen():
    made = md.estimate_joint(counted([800, 250, 230, 80], FLIP, FLIP), [FLIP, FLIP])
    with pytest.warns(PrecisionWarning, match="given 'yes'"):
        assert made.conditional("first").rows == ("no",)
    assert "frequencies ± one standard error" in repr(made)


# Rounds


def best_of_rounds(kernels, counts, truth, p):
    """J⁻¹ Σ K_i diag(1/q_i) c_i with J = Σ n_i K_i diag(1/q_i) K_iᵀ, and its covariance at p."""
    parts = [kernel / (truth @ kernel) for kernel in kernels]
    sizes = [count.sum() for count in counts]
    rounds = list(zip(sizes, parts, kernels, strict=True))
    inverse = np.linalg.inv(sum(n * d @ k.T for n, d, k in rounds))
    value = inverse @ sum(d @ count for d, count in zip(parts, counts, strict=True))
    covariance = 0
    for n, d, kernel in rounds:
        a, q = inverse @ d, p @ kernel
        covariance = covariance + n * (a @ np.diag(q) @ a.T - np.outer(a @ q, a @ q))
    return value, covariance


@quiet
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_rounds_are_added_up_with_the_least_variance(seed, number):
    rng = np.random.default_rng(seed)
    made = [random_mechanism(rng, 3, m) for m in rng.integers(2, 5, number)]
    kernels, sizes = [one.kernel for one in made], rng.integers(20, 800, number)
    if not is_told(*kernels):
        return
    secret, truth = rng.dirichlet(np.ones(3), 2)
    counts = [rng.multinomial(n, secret @ k) for n, k in zip(sizes, kernels, strict=True)]
    reports = [counted(*pair) for pair in zip(counts, made, strict=True)]
    found = md.estimate_rounds(reports, made, truth=truth, misfit="warn")
    value, covariance = best_of_rounds(kernels, counts, truth, found.distribution)
    assert_allclose(found.values, value, atol=1e-7)
    assert_allclose(found.covariance, covariance, rtol=1e-5, atol=1e-9)
    assert found.rounds == tuple(sizes)
    assert are_held(found)
    # The likelihood is that of one report of a mixture, in which a round is its part of reports.
    shares = sizes / sizes.sum()
    mixed = md.Mechanism(np.hstack([p * k for p, k in zip(shares, kernels, strict=True)]))
    together = md.estimate(counted(np.hstack(counts), mixed), mixed, truth=truth, misfit="warn")
    assert_allclose(found.distribution, together.distribution, atol=1e-6)
    assert found.fit == pytest.approx(together.fit, rel=1e-6)
    if number == 1:
        one = md.estimate(reports[0], made[0], truth=truth, misfit="warn")
        assert_allclose((found.lower, found.upper), one.limits(), atol=1e-7)
        assert_allclose(found.shrunk.probabilities, one.shrunk.probabilities, atol=1e-9)


def test_the_same_people_report_to_both_mechanisms_at_once():
    first, last = response(1.5, ABC), response(0.7, ABC)
    secrets = np.random.default_rng(13).choice(ABC, 3000, p=[0.6, 0.3, 0.1])
    drawn = [md.Sampler(one, rng=seed).draw(secrets) for seed, one in enumerate((first, last))]
    frame = pd.DataFrame(dict(zip(("one", "two"), drawn, strict=True)))
    found = md.estimate_rounds(frame, [first, last], ["one", "two"], people="same")
    assert (found.rounds, found.leaked) == ((3000, 3000), md.compose(first, last))
    counts = frame.groupby(["one", "two"]).size().to_dict()
    alone = md.estimate(counts, first.parallel(last))
    assert_allclose(parts_of(found), parts_of(alone), atol=1e-9)
    # Two reports of one person tell less than reports of two people.
    apart = md.estimate_rounds(drawn, [first, last])
    assert np.trace(found.covariance) > 1.05 * np.trace(apart.covariance)
    assert apart.leaked == md.compose(first, last, people="different")


# Changes


@quiet
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.booleans())
def test_the_covariance_of_a_change_is_that_of_what_each_person_adds(seed, both, numbers):
    rng = np.random.default_rng(seed)
    made = [response(level, ABC) for level in rng.choice([1.0, 2.0, 4.0], 2)]
    values = np.array([[0.0], [1.0], [5.0]]) if numbers else np.eye(3)
    sizes = both + rng.integers(20, 60, 2)
    reports = [rng.choice(3, n, p=rng.dirichlet(np.ones(3))) for n in sizes]
    memory = np.flatnonzero(rng.random(both) < 0.7)
    reports[1][memory] = reports[0][memory]
    people = [np.arange(n) + 1000 * k * (np.arange(n) >= both) for k, n in enumerate(sizes)]
    first, second = (
        pd.DataFrame({"id": who, "x": np.array(ABC)[ys]})
        for who, ys in zip(people, reports, strict=True)
    )
    # Rows come in any order, twice too, and 7 is "7".
    second = pd.concat([second, second[:9]]).sample(frac=1, random_state=1)
    second = second.assign(id=second["id"].astype(str))
    feature = dict(zip(ABC, values.ravel(), strict=True)) if numbers else None
    call = {"person": "id", "feature": feature, "misfit": "warn"}
    found = md.estimate_change(first, second, made, "x", **call)
    scores = [np.linalg.inv(one.kernel) @ values for one in made]
    z = [score[ys] for score, ys in zip(scores, reports, strict=True)]
    away = [part - part.mean(axis=0) for part in z]
    apart = sum(part.T @ part / len(part) ** 2 for part in away)
    cross = 0 * apart
    if both:
        some = [part[:both] - part[:both].mean(axis=0) for part in z]
        cross = some[0].T @ some[1] / np.prod(sizes)
    assert_allclose(found.values, z[1].mean(axis=0) - z[0].mean(axis=0), atol=1e-9)
    assert_allclose(found.errors_apart, np.sqrt(apart.diagonal()), atol=1e-9)
    # Of people in one round the mechanism's own noise is known, and no change has less.
    floor = sum(
        (n - both) / n**2 * two_variances(k.kernel, a, values, one.distribution)[0]
        for k, a, one, n in zip(made, scores, found.rounds, sizes, strict=True)
    )
    whole = no_less(apart - cross - cross.T, floor)
    assert_allclose(found.covariance, whole, atol=1e-7)
    kept = np.mean(reports[0][:both] == reports[1][:both]) if both else 0
    assert (found.both, found.kept) == (both, pytest.approx(kept))
    if not numbers:
        ratio = cross.diagonal() / (found.rounds[0].errors * found.rounds[1].errors)
        arms = [
            arm_of(part.mean(axis=0), score.min(), score.max(), n)
            for part, score, n in zip(z, scores, sizes, strict=True)
        ]
        held = found.rounds[1].projected - found.rounds[0].projected
        ends = difference_ends(*arms, held, np.clip(ratio, -1, 1) * both / (both + 4))
        assert_allclose((found.lower, found.upper), ends, atol=1e-7)
    assert f"{both} person" in found.describe()


# What cannot be used

IN = [{"no": 60, "yes": 40}, {"no": 50, "yes": 50}]
OK = {("no", "no"): 40, ("yes", "yes"): 40}
TWO = [FLIP, FLIP]
OTHER = kernel_of([[0.75, 0.25], [0.25, 0.75]], ["no", "maybe"])
PEOPLE = pd.DataFrame({"id": np.arange(60), "x": ["no", "yes", "yes"] * 20})
BLANK = PEOPLE.assign(x=PEOPLE["x"].where(PEOPLE["id"] > 9, None))
TWICE = pd.concat([PEOPLE, PEOPLE.assign(x="yes")])


def change(second=PEOPLE, mechanisms=FLIP, column="x", person="id", **more):
    return md.estimate_change(PEOPLE, second, mechanisms, column, person=person, **more)


@for_each(
    "words, call, given, options",
    [
        *((words, md.estimate_joint, given, options) for words, given, options in (
            ("two mechanisms", (OK, [FLIP]), {}),
            ("tuples of 2", ({"no": 99}, TWO), {}),
            ("'first'", ({("no", "no"): 900, ("no", "yes"): 800}, TWO), {}),
            ("'both'", (OK, TWO), {"by": "both"}),
        )),
        *((words, md.estimate_rounds, given, options) for words, given, options in (
            ("one for each mechanism, got 1", (IN[:1], TWO), {}),
            ("at least one mechanism", ([], []), {}),
            ("rounds", (IN[:1], FLIP), {}),
            ("inputs", (IN, [FLIP, OTHER]), {}),
            ("one for each round", (IN, TWO, ["x", "y", "z"]), {}),
            ("two", ({}, [FLIP] * 3), {"people": "same"}),
            ("a column of its own", (PEOPLE, TWO, "x"), {"people": "same"}),
            ("whatever the secrets", ([{"no": 990, "yes": 10}, {"no": 15, "yes": 5}], TWO), {}),
        )),
        *((words, change, given, options) for words, given, options in (
            ("the same labels", (PEOPLE, [FLIP, OTHER]), {}),
            ("one report of each person", (TWICE,), {}),
            ("outputs of the mechanism", (PEOPLE.assign(x="secret"),), {}),
            ("no missing reports", (BLANK,), {}),
            ("two", (PEOPLE, [FLIP] * 3), {}),
            *(("columns", (), {"column": name}) for name in (None, "id")),
            ("persons", (), {"person": None}),
        )),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(words, call, given, options):
    assert "'secret'" not in str(refused(lambda: call(*given, **options), words))


def test_people_without_a_report_may_be_dropped():
    assert change(BLANK, missing="drop").both == 50
    joint = md.estimate_joint(OK, TWO, misfit="warn")
    for call in (joint.conditional, joint.marginal):
        refused(lambda call=call: call("third"), "'third'")
