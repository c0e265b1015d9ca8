"""Every estimate is one linear estimate: of a kernel, of products of kernels, of mixtures."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign import published
from mechdesign.errors import UnknownNameError
from mechdesign.inference import likelihood

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


def test_a_joint_table_of_three_columns_needs_no_plan():
    reports = reports_of(900)
    found = md.estimate(reports, COLUMNS)
    places = [reports[name].map(kernel.outputs.index) for name, kernel in COLUMNS.items()]
    parts = [np.linalg.inv(k.kernel)[at] for k, at in zip(COLUMNS.values(), places, strict=True)]
    rows = np.einsum("ra,rb,rc->rabc", *parts)
    np.testing.assert_allclose(found.values, rows.mean(axis=0).ravel(), atol=1e-12)
    assert found.labels[1] == ("a", "x", "q")
    pair = md.estimate(reports, COLUMNS, ["u", "w"])
    summed = found.values.reshape(3, 2, 3).sum(axis=1)
    np.testing.assert_allclose(summed.ravel(), pair.values, atol=1e-12)
    alone = md.estimate(reports, COLUMNS, "v")
    np.testing.assert_allclose(alone.values, md.estimate(reports["v"], COLUMNS["v"]).values)
    refused(lambda: md.estimate(reports, COLUMNS, ["u", "z"]), "'z'", error=UnknownNameError)


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


def test_rounding_is_no_estimate_outside_of_what_is_possible():
    three = md.Mechanism(0.8 * np.array([[1, 0, 0], [0, 1, 0], [1 / 3] * 3]) + 0.2 / 3)
    for count in range(1000, 1010):
        found = md.estimate(dict.fromkeys(range(3), count), three)
        assert found.values.min() > -1e-12
        assert "moved inside" not in repr(found)
    assert "moved inside" in repr(md.estimate({0: 900, 1: 1000, 2: 1000}, three))


def test_who_was_not_asked_out_of_a_few_is_bounded():
    """Nearly all of a population was asked: not more of it can be rare than there are others."""
    plain, upper = md.Mechanism(np.eye(2), ["a", "b"], ["a", "b"]), []
    for people in (1001, 1200, 1500, 2000, 10**9):
        upper.append(md.estimate({"a": 998, "b": 2}, plain, population=people).upper[1])
    assert (np.diff(upper) > 0).all()
    # The last numbers that hypergeometric tails of 2.5 % keep.
    np.testing.assert_allclose(upper, [0.0020, 0.0042, 0.0047, 0.0055, 0.0072], atol=7e-4)


@for_each("target, population", [("sample", None), ("population", None), ("population", 400)])
def test_groups_of_one_household_differ_by_what_the_kernel_adds(target, population):
    """Two groups of the same secrets in pairs: what is asked of these people is asked one by one,
    and no difference has less than the noise of both groups, however alike the pairs report.
    """
    kernel = md.Mechanism([[0.9, 0.1], [0.1, 0.9]], ["a", "b"], ["a", "b"])
    rng, missed = np.random.default_rng(7), 0
    options = {"by_group": "g", "clusters": "c", "target": target, "population": population}
    pairs = {"g": list("mf") * 100, "c": np.repeat(range(100), 2)}
    for flipped in (0.1,) * 40 + (0,):
        secret = rng.random((100, 1)) < 0.5
        drawn = np.where(secret ^ (rng.random((100, 2)) < flipped), "b", "a").ravel()
        found = md.estimate(pd.DataFrame({"x": drawn, **pairs}), kernel, "x", **options)
        difference = found.difference("m", "f")
        missed += not difference.lower[0] <= 0 <= difference.upper[0]
        noise = np.hypot(*(each.noise for each in found.estimates))
        assert (difference.errors >= noise * (1 - 1e-9)).all()
        assert difference.errors[0] == pytest.approx(0.053, rel=0.4)
    assert missed <= 5


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
        table = pd.DataFrame({"x": list("ab") * 50, "y": range(100)})
        slopes = md.regress(table, flip, "x", response="y", confidence=confidence)
        for made in (same, planned, slopes):
            assert type(made.confidence) is float
    ends = [found.limits(rate, side="upper")[1] for rate in (0.5, 0.5 + 1e-6)]
    np.testing.assert_allclose(*ends, atol=1e-6)
    assert (ends[0] > found.values).all()
