"""Means, quantiles and histograms of binned numbers are answers about sums of shares of bins."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reported import FLIP, quiet

import mechdesign as md

INF = math.inf


def bins_of(*edges, noise=0.0, **options):
    """Bins, and a kernel that tells them up to noise."""
    bins = md.bins(edges=edges or None, **options)
    rows = (1 - noise) * np.eye(len(bins)) + noise / len(bins)
    return bins, md.Mechanism(rows, bins.labels, bins.labels).with_schema({"x": bins})


def estimated(kernel, counts, **options):
    reports = dict(zip(kernel.outputs, counts, strict=True))
    return md.estimate(reports, kernel, misfit="warn", **options)


_, UNIT = bins_of(0, 1, 2, 3)
_, OPEN = bins_of(-INF, 0, 10, INF)


@quiet
@settings(max_examples=25)
@given(
    st.lists(st.integers(2, 60), min_size=3, max_size=5), st.floats(0, 1), st.booleans(),
    st.sampled_from([0, 0.2]),
)  # fmt: skip
def test_means_and_quantiles_are_answers_about_sums_of_shares(counts, q, whole, noise):
    edges, size = [0, 3, 10, 12, 40, 50][: len(counts) + 1], len(counts)
    bins, kernel = bins_of(*edges, noise=noise, whole=whole)
    made = estimated(kernel, [n + 2 for n in counts])
    # Both ends and the middle of each bin, and whether a number lies below each edge.
    weights = np.vstack([bins.midpoints, bins.lower, bins.upper, np.tri(size - 1, size)])
    asked = estimated(kernel, [n + 2 for n in counts], feature=weights)
    values, low, high = asked.values, asked.lower, asked.upper
    found, shown = made.mean(), made.histogram()
    told = found.value, found.error, found.lower, found.upper, found.least, found.most
    expected = values[0], asked.errors[0], low[0], high[0], low[1], high[2]
    assert_allclose(told, expected, rtol=1e-6, atol=1e-7)
    assert_allclose(shown.densities, made.values / bins.widths)
    assert_allclose((shown.lower, shown.upper), made.limits(), atol=1e-7)
    # A quantile is where one of the shares below is q.
    found, shares = made.quantile(q), np.clip([0, *values[3:], 1], 0, 1)
    assert found.least == bins.lower[np.argmax(np.append(high[3:], 1) >= q)]
    assert found.most == bins.upper[np.flatnonzero(np.append(0, low[3:]) <= q)[-1]]
    ends = [found.least, found.lower, found.upper, found.most]
    assert ends == sorted(ends)
    if whole:
        assert all(v == int(v) for v in (found.value, *ends))
    else:
        at = np.interp(found.value, edges, np.maximum.accumulate(shares))
        assert at == pytest.approx(q, abs=1e-9)


def test_by_hand():
    _, kernel = bins_of(0, 10, 20, 40)
    made = estimated(kernel, [500, 300, 200])
    assert made.mean(representatives=[2, 11, 20]).value == pytest.approx(8.3)
    # On an edge both sides are possible.
    assert (made.quantile(0.5).least, made.quantile(0.5).most) == (0, 20)
    assert "[20, 40]" in repr(made.histogram())
    assert "wherever in their bins" in repr(made.mean())
    halves = estimated(bins_of(0, 10, 20, whole=True)[1], [500, 500])
    assert [halves.quantile(q).value for q in (0.25, 0.5, 1)] in ([5, 9, 20], [5, 10, 20])
    made = estimated(OPEN, [200, 500, 300])
    closed, middle = made.mean(ends=(-2, 110)), made.quantile(0.68)
    assert closed.value == pytest.approx(20.3)
    assert closed.least < 2.6 < closed.most
    # Nothing is said of where numbers without an end lie.
    given = made.mean(representatives=[-5, 5, 15])
    assert (given.value, given.least, given.most) == (pytest.approx(6), -INF, INF)
    assert (middle.least, middle.lower < middle.value < 10) == (0, True)
    assert (middle.upper, middle.most) == (INF, INF)
    for ask in (made.mean, lambda: made.quantile(0.9), lambda: made.quantile(0.1)):
        refused(ask, "'10 or more'", "ends=(0, 120)", error=md.errors.DataError)
    assert made.quantile(0.9, ends=(-9, 40)).value == pytest.approx(30)
    assert [row["density"] for row in made.histogram().rows()] == [None, pytest.approx(0.05), None]


def test_dates_have_a_mean_and_months_have_shares():
    years = [dt.date(year, 1, 1) for year in (2020, 2021, 2022)]
    made = estimated(bins_of(*years)[1], [400, 600])
    found, middle = made.mean(), made.quantile(0.4)
    assert found.value == dt.date(2021, 2, 6)
    assert found.least < dt.date(2020, 8, 7) < found.value < dt.date(2021, 8, 8) < found.most
    assert middle.value in (dt.date(2020, 12, 31), dt.date(2021, 1, 1))
    assert "mean 2021-02-06 ± " in repr(found)
    assert " days, 95 % interval [2021-" in repr(found)
    assert found.to_json()["value"] == "2021-02-06"
    ends = [(row["from"], row["to"]) for row in made.histogram().rows()]
    assert ends == [(years[0], dt.date(2020, 12, 31)), (years[1], years[2])]
    opened = estimated(bins_of(*years, INF)[1], [400, 500, 100])
    assert opened.mean(ends=(years[0], dt.date(2023, 1, 1))).value.year == 2021
    months = estimated(bins_of(of="month")[1], range(50, 62))
    assert len(months.histogram().rows()) == 12
    for ask in (months.mean, lambda: months.quantile(0.5)):
        refused(ask, "a month, which comes again", error=md.errors.DataError)


def test_other_columns_and_missing_numbers():
    bins, kernel = bins_of(0, 10, 30)
    alone = estimated(kernel, [300, 700])
    pairs = [(label, sex) for label in bins.labels for sex in "fm"]
    for labels, schema, counts in (
        (pairs, {"age": bins, "sex": None}, [100, 200, 300, 400]),
        # Of a ratio: as from the 1000 who have a number.
        ([*bins.labels, None], {"age": bins}, [300, 700, 1000]),
    ):
        kernel = md.Mechanism(np.eye(len(labels)), labels, labels).with_schema(schema)
        other = estimated(kernel, counts)
        refused(lambda other=other: other.mean("sex"), "column of numbers")
        assert_allclose(other.histogram("age").values, [0.3, 0.7])
        for answer in (lambda made: made.mean(), lambda made: made.quantile(0.5)):
            one, two = ((a.value, a.lower, a.upper) for a in map(answer, (other, alone)))
            assert one == pytest.approx(two, abs=0.1)
        assert other.mean().error == pytest.approx(alone.mean().error, rel=1e-2)


@quiet
def test_likeliest_answers_lie_in_their_intervals_whatever_fits():
    """Reports that the kernel hardly makes have unbiased answers far from the likeliest ones."""
    bins, how = bins_of(0, 1, 2, 3)[0], {"method": "likelihood", "confidence": 0.01}
    for labels, counts in ((bins.labels, [900, 0, 1100]), ((*bins.labels, None), [9, 0, 11, 2])):
        size = len(labels)
        kernel = md.Mechanism(0.4 * np.eye(size) + 0.6 / size, labels, labels)
        made = estimated(kernel.with_schema({"x": bins}), np.multiply(counts, 100), **how)
        pairs = {(y, y): 100 * n for y, n in zip(labels, counts, strict=True)}
        joint = md.estimate_joint(pairs, [kernel] * 2, misfit="warn", **how)
        given = made.distribution[:3] / made.distribution[:3].sum()
        mean, shares = made.mean(), made.histogram()
        assert mean.value == pytest.approx(given @ bins.midpoints)
        assert_allclose(shares.values, given, atol=1e-9)
        for found in (mean, shares, made.quantile(0.4), joint.marginal("first"), made, joint):
            values = getattr(found, "value", None) or found.values
            assert np.all((found.lower <= values) & (values <= found.upper))


@for_each(
    "words, kernel, call",
    [
        ("bins", FLIP, lambda made: made.mean()),
        ("of numbers", UNIT, lambda made: made.mean("y")),
        *(("representatives", UNIT, lambda made, r=r: made.mean(representatives=r))
          for r in ([2], [0.5, 1.5, 3.5], [0.5, 1.5, math.nan], "abc")),
        *(("ends", OPEN, lambda made, e=e: made.mean(ends=e))
          for e in ((1, 110), (-2,), 3, (-2, INF), ("a", 1))),
        *(("q", UNIT, lambda made, q=q: made.quantile(q)) for q in (1.1, math.nan, "0.5", True)),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(words, kernel, call):
    refused(lambda: call(estimated(kernel, [9] * len(kernel.outputs))), words)
    merged = estimated(UNIT, [9, 9, 9], feature=lambda x: x[:2])
    refused(lambda: merged.quantile(0.5), "every bin")
