"""Means, quantiles and histograms of binned numbers are answers about sums of shares of bins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reported import FLIP, quiet

import mechdesign as md

INF = math.inf


def bins_of(*edges, noise=0.0, **options):
    """Bins, and a kernel that tells them up to noise."""
    bins = md.bins(edges=edges, **options)
    rows = (1 - noise) * np.eye(len(bins)) + noise / len(bins)
    return bins, md.Mechanism(rows, bins.labels, bins.labels).with_schema({"x": bins})


def estimated(kernel, counts, **options):
    reports = dict(zip(kernel.outputs, counts, strict=True))
    return md.estimate(reports, kernel, misfit="warn", **options)


@quiet
@given(
    st.lists(st.integers(0, 60), min_size=3, max_size=5),
    st.floats(0, 1),
    st.booleans(),
    st.sampled_from([0, 0.2]),
)
def test_means_and_quantiles_are_answers_about_sums_of_shares(counts, q, whole, noise):
    edges = [0, 3, 10, 12, 40, 50][: len(counts) + 1]
    bins, kernel = bins_of(*edges, noise=noise, whole=whole)
    if sum(counts) < 10:
        return
    made = estimated(kernel, counts)

    def asked(weights):
        found = estimated(kernel, counts, feature=np.atleast_2d(weights))
        return [0, *found.values, 1], [0, *found.lower, 1], [0, *found.upper, 1], found

    found = made.mean()
    *_, middle = asked(bins.midpoints)
    expected = [middle.values[0], middle.errors[0], middle.lower[0], middle.upper[0]]
    told = [found.value, found.error, found.lower, found.upper]
    assert_allclose(told, expected, rtol=1e-6, atol=1e-7)
    ends = asked(bins.lower)[3].lower[0], asked(bins.upper)[3].upper[0]
    assert_allclose((found.least, found.most), ends, rtol=1e-6, atol=1e-7)
    shown = made.histogram()
    assert_allclose(shown.densities, made.values / bins.widths)
    assert_allclose((shown.lower, shown.upper), made.limits(), atol=1e-7)
    # A share below each edge, with its limits: a quantile is where one of them is q.
    below, low, high, _ = asked(np.tri(len(counts) - 1, len(counts)))
    found = made.quantile(q)
    first = next(k for k in range(len(counts)) if high[k + 1] >= q)
    last = next(k for k in reversed(range(len(counts))) if low[k] <= q)
    assert (found.least, found.most) == (bins.lower[first], bins.upper[last])
    assert found.least <= found.lower <= found.upper <= found.most
    if whole:
        assert all(v == int(v) for v in (found.value, found.lower, found.upper))
    else:
        shares = np.maximum.accumulate(np.clip(below, 0, 1))
        assert np.interp(found.value, edges, shares) == pytest.approx(q, abs=1e-9)


def test_by_hand():
    _, kernel = bins_of(0, 10, 20, 40)
    made = estimated(kernel, [500, 300, 200])
    assert made.mean(representatives=[2, 11, 20]).value == pytest.approx(8.3)
    # On an edge both sides are possible.
    assert (made.quantile(0.5).least, made.quantile(0.5).most) == (0, 20)
    assert "[20, 40]" in repr(made.histogram())
    assert "wherever in their bins" in repr(made.mean())
    _, kernel = bins_of(0, 10, 20, whole=True)
    told = [estimated(kernel, [500, 500]).quantile(q).value for q in (0.25, 0.5, 1)]
    assert told in ([5, 9, 20], [5, 10, 20])
    _, kernel = bins_of(-INF, 0, 10, INF)
    made = estimated(kernel, [200, 500, 300])
    found, closed, high = made.mean(), made.mean(ends=(-2, 110)), made.quantile(0.9)
    assert (found.least, found.most, high.least, high.most) == (-INF, INF, 10, INF)
    assert found.value == pytest.approx(-5 * 0.2 + 5 * 0.5 + 15 * 0.3)
    assert closed.value == pytest.approx(-1 * 0.2 + 5 * 0.5 + 60 * 0.3)
    assert closed.least < -2 * 0.2 + 10 * 0.3 < closed.most
    assert made.quantile(0.9, ends=(-9, 40)).value == pytest.approx(30)
    assert [row["density"] for row in made.histogram().rows()] == [None, pytest.approx(0.05), None]


def test_other_columns_and_missing_numbers():
    bins, kernel = bins_of(0, 10, 30)
    alone = estimated(kernel, [300, 700])
    labels = [(label, sex) for label in bins.labels for sex in "fm"]
    tuples = md.Mechanism(np.eye(4), labels, labels).with_schema({"age": bins, "sex": None})
    several = estimated(tuples, [100, 200, 300, 400])
    refused(lambda: several.mean("sex"), "column of numbers")
    labels = [*bins.labels, None]
    some = md.Mechanism(np.eye(3), labels, labels).with_schema({"age": bins})
    missing = estimated(some, [300, 700, 1000])
    assert_allclose(missing.histogram().values, [0.3, 0.7])
    for other in (several, missing):
        # Of a ratio: as from the 1000 who have a number.
        for one, two in (
            (other.mean("age"), alone.mean()),
            (other.quantile(0.5), alone.quantile(0.5)),
        ):
            parts = [(each.value, each.lower, each.upper) for each in (one, two)]
            assert parts[0] == pytest.approx(parts[1], abs=0.1)
        assert other.mean().error == pytest.approx(alone.mean().error, rel=1e-2)


_, UNIT = bins_of(0, 1, 2, 3)
_, OPEN = bins_of(-INF, 0, 10, INF)


@for_each(
    "words, kernel, call",
    [
        ("bins", FLIP, lambda made: made.mean()),
        ("attribute", UNIT, lambda made: made.mean("y")),
        *(("representatives", UNIT, lambda made, r=r: made.mean(representatives=r))
          for r in ([2], [0.5, 1.5, 3.5], [0.5, 1.5, math.nan], "abc", 3)),
        *(("ends", OPEN, lambda made, e=e: made.mean(ends=e))
          for e in ((1, 110), (-2, 9), (-2,), 3, (-2, INF), ("a", 1))),
        *(("q", UNIT, lambda made, q=q: made.quantile(q))
          for q in (-0.1, 1.1, math.nan, "0.5", None, True)),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(words, kernel, call):
    refused(lambda: call(estimated(kernel, [9] * len(kernel.outputs))), words)
    merged = estimated(UNIT, [9, 9, 9], feature=lambda x: x[:2])
    refused(lambda: merged.quantile(0.5), "every bin")
