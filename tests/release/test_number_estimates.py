"""Means, quantiles and histograms of binned numbers, and how often their intervals are right."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.errors import DataError, InputError

INF = math.inf


def by(bins, level=30.0):
    """A design that tells every bin; at level 30 it hardly adds noise."""
    prior = md.Prior.uniform(bins.labels).with_schema({"x": bins})
    return md.design(prior, md.utility.Estimation(), md.LDP(level))


def exactly(bins, counts, **options):
    """The estimate from reports of so many people in each bin, told as they are."""
    identity = np.eye(len(bins))
    kernel = md.Mechanism(identity, bins.labels, bins.labels).with_schema({"x": bins})
    return md.estimate(dict(zip(bins.labels, counts, strict=True)), kernel, **options)


def test_a_mean_by_hand():
    bins = md.bins(edges=[0, 10, 20, 40])
    found = exactly(bins, [500, 300, 200]).mean()
    middles, shares = np.array([5, 15, 30]), np.array([0.5, 0.3, 0.2])
    assert found.value == pytest.approx(13)
    deviation = math.sqrt((shares * middles**2).sum() - 13**2)
    assert found.error == pytest.approx(deviation / math.sqrt(1000), rel=1e-2)
    assert found.upper - found.value == pytest.approx(1.959964 * found.error, rel=0.05)
    # All at the lower ends, or all at the upper ones: 7 and 19.
    low = math.sqrt((shares * np.array([0, 10, 20]) ** 2).sum() - 7**2) / math.sqrt(1000)
    high = math.sqrt((shares * np.array([10, 20, 40]) ** 2).sum() - 19**2) / math.sqrt(1000)
    assert found.least == pytest.approx(7 - 1.959964 * low, rel=2e-2)
    assert found.most == pytest.approx(19 + 1.959964 * high, rel=2e-2)


def test_a_representative_of_each_bin():
    estimate = exactly(md.bins(edges=[0, 10, 20]), [500, 500])
    assert estimate.mean(representatives=[2, 11]).value == pytest.approx(6.5)
    for wrong in ([2], [11, 12], [2, math.nan], "ab", 3):
        with pytest.raises(InputError, match="representatives"):
            estimate.mean(representatives=wrong)


def test_bins_without_an_end_leave_a_mean_open():
    estimate = exactly(md.bins(edges=[-INF, 0, 10, INF]), [200, 500, 300])
    found = estimate.mean()
    assert (found.least, found.most) == (-INF, INF)
    assert found.value == pytest.approx(-5 * 0.2 + 5 * 0.5 + 15 * 0.3)
    closed = estimate.mean(ends=(-2, 110))
    assert closed.value == pytest.approx(-1 * 0.2 + 5 * 0.5 + 60 * 0.3)
    assert closed.least < -2 * 0.2 + 10 * 0.3 < closed.most
    for wrong in ((1, 110), (-2, 9), (-2,), 3, (-2, INF), ("a", 1)):
        with pytest.raises(InputError, match="ends"):
            estimate.mean(ends=wrong)


def test_a_quantile_by_hand():
    estimate = exactly(md.bins(edges=[0, 10, 20, 40]), [500, 300, 200])
    assert estimate.quantile(0.25).value == pytest.approx(5)
    assert estimate.quantile(0.65).value == pytest.approx(15)
    assert estimate.quantile(0.9).value == pytest.approx(30)
    found = estimate.quantile(0.65)
    assert (found.least, found.most) == (10, 20)
    half = 1.959964 * math.sqrt(0.65 * 0.35 / 1000)
    # The band is drawn straight between the edges, where it is a little wider inside of a bin.
    assert found.upper - found.lower == pytest.approx(2 * half / 0.03, rel=0.1)
    assert estimate.quantile(0).value == 0
    assert estimate.quantile(1).value == 40
    # On an edge both sides are possible.
    assert (estimate.quantile(0.5).least, estimate.quantile(0.5).most) == (0, 20)
    for wrong in (-0.1, 1.1, math.nan, "0.5", None, True):
        with pytest.raises(InputError, match="q"):
            estimate.quantile(wrong)


def test_quantiles_of_whole_numbers_are_whole():
    estimate = exactly(md.bins(edges=[0, 10, 20], whole=True), [500, 500])
    assert estimate.quantile(0.5).value in (9, 10)
    assert estimate.quantile(0.25).value == 5
    assert estimate.quantile(1).value == 20
    for q in np.linspace(0, 1, 21):
        found = estimate.quantile(float(q))
        assert all(v == int(v) for v in (found.value, found.lower, found.upper))
        assert found.least <= found.lower <= found.value <= found.upper <= found.most


def test_a_quantile_in_a_bin_without_an_end():
    estimate = exactly(md.bins(edges=[0, 10, INF]), [200, 800])
    found = estimate.quantile(0.9)
    assert found.most == INF
    assert found.least == 10
    assert estimate.quantile(0.9, ends=(0, 50)).value == pytest.approx(45)


def test_all_in_one_bin():
    bins = md.bins(edges=[0, 10, 20, 40])
    estimate = exactly(bins, [0, 1000, 0])
    assert estimate.mean().value == pytest.approx(15)
    found = estimate.quantile(0.5)
    assert (found.least, found.value, found.most) == (10, pytest.approx(15), 20)
    assert estimate.histogram().densities.tolist() == pytest.approx([0, 0.1, 0])


def test_a_histogram_says_where_numbers_lie():
    bins = md.bins(edges=[-INF, 0, 10, 40])
    estimate = exactly(bins, [200, 300, 500])
    found = estimate.histogram()
    assert np.allclose(found.values, estimate.values)
    assert np.allclose(found.errors, estimate.errors)
    rows = found.rows()
    assert [row["density"] for row in rows] == [None, pytest.approx(0.03), pytest.approx(0.5 / 30)]
    assert json.loads(json.dumps(rows[1]))["label"] == "[0, 10)"
    assert "[10, 40]" in repr(found)
    assert "[10, 40]" in found._repr_html_()


def test_what_is_no_estimate_of_bins_is_refused():
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["a", "b"], ["a", "b"])
    with pytest.raises(DataError, match="bins"):
        md.estimate({"a": 60, "b": 40}, flip).mean()
    bins = md.bins(edges=[0, 1, 2, 3])
    merged = exactly(bins, [100, 100, 100], feature={label: label[:2] for label in bins.labels})
    with pytest.raises(DataError, match="every bin"):
        merged.quantile(0.5)
    with pytest.raises(InputError, match="attribute"):
        exactly(bins, [100, 100, 100]).mean("y")


def test_a_column_of_several():
    bins = md.bins(edges=[0, 10, 30])
    labels = [(label, sex) for label in bins.labels for sex in "fm"]
    kernel = md.Mechanism(np.eye(4), labels, labels).with_schema({"age": bins, "sex": None})
    estimate = md.estimate(dict(zip(labels, [100, 200, 300, 400], strict=True)), kernel)
    assert estimate.mean().value == pytest.approx(0.3 * 5 + 0.7 * 20)
    assert estimate.mean("age") == estimate.mean()
    with pytest.raises(InputError, match="column of numbers"):
        estimate.mean("sex")
    alone = exactly(bins, [300, 700])
    assert estimate.mean().error == pytest.approx(alone.mean().error)
    assert estimate.quantile(0.5).value == pytest.approx(alone.quantile(0.5).value)


def test_missing_numbers_count_nowhere():
    bins = md.bins(edges=[0, 10, 30])
    labels = [*bins.labels, None]
    kernel = md.Mechanism(np.eye(3), labels, labels).with_schema({"age": bins})
    estimate = md.estimate({labels[0]: 300, labels[1]: 700, None: 1000}, kernel)
    alone = exactly(bins, [300, 700])
    assert estimate.mean().value == pytest.approx(alone.mean().value)
    # Of a ratio: as from the 1000 who have a number.
    assert estimate.mean().error == pytest.approx(alone.mean().error, rel=1e-2)
    assert estimate.histogram().values.tolist() == pytest.approx([0.3, 0.7])


def test_noise_of_reports_is_in_the_errors():
    bins = md.bins(edges=[0, 10, 20, 30])
    rng = np.random.default_rng(3)
    told = []
    for level in (0.5, 30):
        design = by(bins, level)
        chances = design.mechanism.output_distribution(design.prior)
        counts = rng.multinomial(3000, chances)
        estimate = md.estimate(dict(zip(design.mechanism.outputs, counts, strict=True)), design)
        told.append(estimate.mean().error)
        c = bins.midpoints
        assert estimate.mean().error == pytest.approx(math.sqrt(c @ estimate.covariance @ c))
    assert told[0] > 3 * told[1]


# How often intervals cover

CASES = {
    # Edges, a draw of numbers, whether they are spread evenly inside of their bins.
    "even": ([0, 2, 4, 6, 8, 10], lambda rng, n: rng.uniform(0, 10, n), True),
    "uneven": (
        [0, 1, 2, 5, 10, 30],
        lambda rng, n: np.minimum(rng.exponential(3, n), 30),
        False,
    ),
}
QUANTILES = (0.1, 0.5, 0.9)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_what_they_say_they_cover(case):
    """300 surveys of 2,000 people each, at a level of two nats.

    Both intervals cover where numbers are spread as they are taken to be. Where they are not, the
    first one does not: that is the control, and the second one still does.
    """
    edges, draw, even = CASES[case]
    rng = np.random.default_rng(11)
    bins = md.bins(edges=edges)
    design = by(bins, 2.0)
    everybody = draw(rng, 1_000_000)
    shares = np.bincount(bins.codes(everybody), minlength=len(bins)) / len(everybody)
    truths = [everybody.mean(), *np.quantile(everybody, QUANTILES)]
    kernel = design.mechanism.kernel.cumsum(axis=1)
    outputs = design.mechanism.outputs
    first, second, middle = np.zeros(4), np.zeros(4), 0
    times, people = 300, 2000
    for _ in range(times):
        codes = bins.codes(draw(rng, people))
        drawn = (kernel[codes] < rng.random(people)[:, None]).sum(axis=1)
        counts = np.bincount(drawn, minlength=len(outputs)).tolist()
        estimate = md.estimate(dict(zip(outputs, counts, strict=True)), design)
        found = [estimate.mean(), *(estimate.quantile(q) for q in QUANTILES)]
        first += [one.lower <= t <= one.upper for one, t in zip(found, truths, strict=True)]
        second += [one.least <= t <= one.most for one, t in zip(found, truths, strict=True)]
        middle += found[0].lower <= shares @ bins.midpoints <= found[0].upper
    # Four standard errors below 95 % of 300.
    enough = 0.95 * times - 4 * math.sqrt(times * 0.95 * 0.05)
    assert middle >= enough
    assert (second >= enough).all()
    assert (first >= enough).all() == even
    if not even:
        assert first[0] < 0.75 * times


def test_a_mean_from_a_sample_with_weights_by_hand():
    """Without noise it is the Hájek mean of the midpoints, with its linearised variance."""
    bins = md.bins(edges=[0, 10, 20, 40])
    kernel = md.Mechanism(np.eye(3), bins.labels, bins.labels).with_schema({"x": bins})
    rng = np.random.default_rng(4)
    places = rng.integers(0, 3, 400)
    weights = rng.uniform(0.5, 3, 400)
    table = pd.DataFrame({"x": [bins.labels[i] for i in places], "w": weights})
    found = md.estimate(table, kernel, "x", weights="w").mean()
    middles = bins.midpoints[places]
    mean = (weights * middles).sum() / weights.sum()
    assert found.value == pytest.approx(mean)
    parts = weights * (middles - mean) / weights.sum()
    assert found.error == pytest.approx(math.sqrt(400 / 399 * (parts**2).sum()), rel=1e-6)


def test_each_group_has_its_numbers():
    bins = md.bins(edges=[0, 10, 20])
    kernel = md.Mechanism(np.eye(2), bins.labels, bins.labels).with_schema({"x": bins})
    table = pd.DataFrame({"x": [bins.labels[i % 2] for i in range(60)] + [bins.labels[1]] * 60})
    table["g"] = ["a"] * 60 + ["b"] * 60
    found = md.estimate(table, kernel, "x", by_group="g")
    assert found["a"].mean().value == pytest.approx(10)
    assert found["b"].mean().value == pytest.approx(15)


def test_missing_numbers_are_a_category_from_the_data_to_the_mean():
    bins = md.bins(edges=[0, 20, 40, 100], whole=True)
    rng = np.random.default_rng(6)
    ages = pd.Series(rng.integers(0, 101, 4000).astype(float), name="age")
    ages[rng.random(4000) < 0.2] = np.nan
    prior = md.Prior.from_data(ages, bins=bins, missing="category")
    assert prior.labels == (*bins.labels, None)
    assert prior[None] == pytest.approx(ages.isna().mean())
    design = md.design(prior, md.utility.Estimation(), md.LDP(3))
    told = md.privatize(ages.to_frame(), "age", design, rng=1)
    found = md.estimate(told, design, "age").mean()
    assert found.least < ages.mean() < found.most
    assert abs(found.value - ages.mean()) < 5 * found.error + 1
