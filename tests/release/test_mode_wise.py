"""Joint tables of columns whose reports together are no kernel that fits: products of weights."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import DataError, InputError
from mechdesign.inference.many import contracted, large_columns

RNG = np.random.default_rng(5)


def frame(n, sizes):
    """Columns that depend on each other."""
    rng = np.random.default_rng(n)
    base = rng.integers(0, 1000, n)
    return pd.DataFrame(
        {f"c{i}": (base + rng.integers(0, 3, n)) % size for i, size in enumerate(sizes)}
    )


def plan_of(table, level=8.0):
    priors = {name: md.Prior.uniform(sorted(table[name].unique().tolist())) for name in table}
    return md.plan_columns(priors, total=md.LDP(level))


@pytest.fixture(scope="module")
def large():
    table = frame(30_000, (10, 9, 9))
    return table, plan_of(table)


def test_a_contraction_is_the_sum_of_outer_products():
    places = [RNG.integers(0, m, 40) for m in (3, 4, 2)]
    weights = [RNG.normal(size=(m, n)) for m, n in ((3, 2), (4, 3), (2, 2))]
    share = RNG.random(40)
    expected = sum(
        s * np.einsum("i,j,k->ijk", *(w[y] for w, y in zip(weights, row, strict=True)))
        for s, *row in zip(share, *places, strict=True)
    )
    np.testing.assert_allclose(contracted(share, places, weights), np.ravel(expected), atol=1e-12)


def test_estimates_are_those_of_the_product_kernel(monkeypatch):
    """The product of all columns fits here, so that both ways can be taken."""
    table = frame(4000, (3, 2, 2))
    plan = plan_of(table)
    reports = md.privatize(table, plan, rng=1)
    straight = md.estimate(reports, plan)
    assert large_columns(plan, None) is None
    monkeypatch.setattr("mechdesign.inference.many.MOST_ENTRIES", 100)
    many = md.estimate(reports, plan)
    assert many.labels == straight.labels
    np.testing.assert_allclose(many.values, straight.values, atol=1e-12)
    # Variances at the reports themselves, not at the distribution of largest likelihood.
    np.testing.assert_allclose(many.errors, straight.errors, rtol=0.1)
    told = md.estimate(reports, plan, target="sample")
    assert (told.errors < many.errors).all()


def test_a_large_table_is_estimated_with_intervals_that_cover(large):
    table, plan = large
    assert large_columns(plan, None) == ["c0", "c1", "c2"]
    made = md.estimate(md.privatize(table, plan, rng=2), plan, target="sample")
    assert made.reports == len(table)
    assert made.values.sum() == pytest.approx(1)
    counts = table.value_counts().to_dict()
    truth = np.array([counts.get(label, 0) / len(table) for label in made.labels])
    z = (made.values - truth) / made.errors
    inside = float((np.abs(z) < 1.96).mean())
    assert 0.94 < inside < 0.98
    # A control: errors half as large would not cover.
    assert (np.abs(z) < 0.98).mean() < 0.75


@pytest.mark.slow
@for_each(
    "options",
    [
        {"weights": "w"},
        {"weights": "w", "strata": "s", "population": {"north": 3000, "south": 5000}},
        {"weights": "w", "clusters": "k"},
        {"strata": "s", "clusters": "k", "population": {"north": 100, "south": 90}},
        {"weights": "w", "population": 8000, "weighting": "horvitz-thompson"},
        {"weights": "w", "strata": "s", "target": "sample"},
    ],
)
def test_surveys_are_those_of_the_product_kernel(monkeypatch, options):
    table = frame(4000, (3, 2, 2))
    plan = plan_of(table)
    rng = np.random.default_rng(3)
    side = rng.choice(["north", "south"], len(table))
    reports = md.privatize(table, plan, rng=1).assign(
        w=np.round(rng.uniform(1, 3, len(table)), 2),
        s=side,
        k=np.char.add(side, rng.integers(0, 40, len(table)).astype(str)),
    )
    straight = md.estimate(reports, plan, **options)
    monkeypatch.setattr("mechdesign.inference.many.MOST_ENTRIES", 100)
    many = md.estimate(reports, plan, **options)
    assert many.labels == straight.labels
    np.testing.assert_allclose(many.values, straight.values, atol=1e-12)
    np.testing.assert_allclose(many.errors, straight.errors, rtol=1e-2)
    # One takes the others' secrets as columns alone say, the other as is likeliest with the share.
    widths = (many.upper - many.lower) / (straight.upper - straight.lower)
    assert (abs(widths - 1) < (0.25 if "target" in options else 0.05)).all()


def test_a_survey_of_a_large_table_refuses_what_it_cannot_use(large, monkeypatch):
    table, plan = large
    reports = md.privatize(table[:300], plan, rng=3).assign(k=np.arange(300), w=-1.0)
    with pytest.raises(DataError, match="numbers of zero or more"):
        md.estimate(reports, plan, weights="w")
    with pytest.raises(InputError, match="a table with all columns"):
        md.estimate(dict.fromkeys(product("0", "0", "012"), 40), plan, weights="w")
    monkeypatch.setattr("mechdesign.inference.many._MOST_SCORES", 810 * 200)
    with pytest.raises(DataError, match="at most 200 different rows"):
        md.estimate(reports, plan, clusters="k")


def test_a_cell_is_without_bias_over_repetitions(large):
    table, plan = large
    (label, count), *_ = table.value_counts().to_dict().items()
    found = [md.estimate(md.privatize(table[:3000], plan, rng=seed), plan) for seed in range(12)]
    values = np.array([each[label] for each in found])
    truth = float((table[:3000] == np.array(label)).all(axis=1).mean())
    assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / np.sqrt(len(values))
    assert count > 0


def test_tables_counts_and_fewer_columns_agree(large):
    table, plan = large
    reports = md.privatize(table, plan, rng=3)
    whole = md.estimate(reports, plan)
    counts = reports.value_counts().to_dict()
    again = md.estimate(counts, plan)
    np.testing.assert_allclose(again.values, whole.values, atol=1e-12)
    assert "no receipt" in again.note
    assert whole.note == ""
    # Weights of one column add up to one, so that sums over it are the table of the others.
    pair = md.estimate(reports, plan, ["c0", "c1"])
    summed = whole.values.reshape(10, 9, 9).sum(axis=2)
    np.testing.assert_allclose(summed.ravel(), pair.values, atol=1e-9)


@for_each(
    ("options", "fragment"),
    [
        ({"method": "likelihood"}, "so many columns"),
        ({"by_group": "c0"}, "by_group for so many columns"),
        ({"weights": "c0"}, "other columns than that of the reports"),
        ({"feature": {1: 2}}, "feature for so many columns"),
    ],
)
def test_what_a_large_table_has_not_is_refused(large, options, fragment):
    table, plan = large
    with pytest.raises(InputError, match=fragment):
        md.estimate(md.privatize(table[:100], plan, rng=3), plan, **options)


def test_reports_that_are_none_of_the_plans_are_refused(large):
    table, plan = large
    reports = md.privatize(table[:200], plan, rng=3)
    with pytest.raises(DataError, match="c1"):
        md.estimate(reports.assign(c1=77).copy(), plan)
    with pytest.raises(DataError, match="tuples of 3"):
        md.estimate({("a", "b"): 20}, plan)
    raw = dict.fromkeys(product("0", "0", "012345678"), 40)
    with pytest.raises(DataError, match="whatever the secrets"):
        md.estimate({**raw, ("0", "0", "0"): 5000}, plan)
