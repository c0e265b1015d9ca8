"""More shares than a matrix holds: many columns of a plan, and subset selections."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused
from numpy.testing import assert_allclose
from reported import are_held, quiet
from scipy.stats import norm

import mechdesign as md
from mechdesign.errors import PrecisionWarning

# Many columns


def frame(n, sizes):
    """Columns that depend on each other, with what is known of each person."""
    rng = np.random.default_rng(n)
    base, side = rng.integers(0, 1000, n), rng.choice(["north", "south"], n)
    made = {f"c{i}": (base + rng.integers(0, 3, n)) % size for i, size in enumerate(sizes)}
    clusters = np.char.add(side, rng.integers(0, 40, n).astype(str))
    return pd.DataFrame({**made, "w": rng.uniform(1, 3, n).round(2), "s": side, "k": clusters})


def surveyed(n, sizes):
    """The plan of such columns, and reports of them."""
    table = frame(n, sizes)
    priors = {f"c{i}": md.Prior.uniform(range(size)) for i, size in enumerate(sizes)}
    plan = md.plan_columns(priors, total=md.LDP(8))
    return table, plan, md.privatize(table, plan, rng=1)


@pytest.fixture(scope="module")
def small():
    return surveyed(4000, (3, 2, 2))[1:]


@pytest.fixture(scope="module")
def large():
    return surveyed(30_000, (10, 9, 9))


@for_each(
    "options",
    [
        {},
        {"target": "sample"},
        {"weights": "w", "strata": "s", "population": {"north": 3000, "south": 5000}},
        {"weights": "w", "clusters": "k"},
        {"strata": "s", "clusters": "k", "population": {"north": 100, "south": 90}},
        {"weights": "w", "population": 8000, "weighting": "horvitz-thompson"},
        {"weights": "w", "strata": "s", "target": "sample"},
    ],
)
def test_estimates_are_those_of_the_product_kernel(small, monkeypatch, options):
    """The product of all columns fits here, so that both ways can be taken."""
    plan, reports = small
    straight = md.estimate(reports, plan, **options)
    monkeypatch.setattr("mechdesign.inference.many.MOST_ENTRIES", 100)
    many = md.estimate(reports, plan, **options)
    assert type(many).__name__ == "ManyEstimates"
    assert many.labels == straight.labels
    assert_allclose(many.values, straight.values, atol=1e-12)
    # Plain errors are those at the reports themselves, not at what is likeliest.
    apart = 1e-2 if set(options) - {"target"} else 0.1
    assert_allclose(many.errors, straight.errors, rtol=apart)
    # One takes the others' secrets as columns alone say, the other as is likeliest with the share.
    widths = (many.upper - many.lower) / (straight.upper - straight.lower)
    assert (abs(widths - 1) < (0.25 if "target" in options else 0.05)).all()


def test_tables_counts_and_fewer_columns_agree(large):
    table, plan, reports = large
    names = list(plan.names)
    whole = md.estimate(reports, plan, target="sample")
    truth = table[names].value_counts().to_dict()
    z = [whole[x] - truth.get(x, 0) / len(table) for x in whole.labels] / whole.errors
    assert 0.94 < (np.abs(z) < 1.96).mean() < 0.98
    # A control: errors half as large would not cover.
    assert (np.abs(z) < 0.98).mean() < 0.75
    again = md.estimate(reports[names].value_counts().to_dict(), plan)
    assert_allclose(again.values, whole.values, atol=1e-12)
    assert "no receipt" in again.note
    assert whole.note == ""
    # Scores of one column add up to one, so that sums over it are the table of the others.
    pair = md.estimate(reports, plan, names[:2])
    summed = whole.values.reshape(10, 9, 9).sum(axis=2)
    assert_allclose(summed.ravel(), pair.values, atol=1e-9)


@quiet
def test_a_table_of_many_cells_needs_no_more_than_its_cells():
    """Weights of questions on all combinations would be 64,000 squared."""
    side = md.randomised_response(md.Prior.uniform(range(40)), 4)
    rows = np.random.default_rng(2).integers(0, 40, (3, 500))
    columns = dict.fromkeys("abc", side)
    reports = pd.DataFrame(dict(zip(columns, np.array(side.outputs)[rows], strict=True)))
    found = md.estimate(reports, columns, misfit="warn")
    pair = md.estimate(reports, columns, ["a", "b"], misfit="warn")
    assert_allclose(found.values.reshape(1600, 40).sum(axis=1), pair.values, atol=1e-9)


def test_what_a_large_table_has_not_is_refused(large, monkeypatch):
    _, plan, reports = large
    some = reports[:300].assign(w=-1.0, k=np.arange(300), s=["one", *["rest"] * 299])
    raw = dict.fromkeys(product([0], [0], range(9)), 40)
    monkeypatch.setattr("mechdesign.inference.many._MOST_SCORES", 810 * 200)
    for words, given, options in (
        ("so many columns", some, {"method": "likelihood"}),
        ("feature for so many columns", some, {"feature": {1: 2}}),
        ("by_group for so many columns", some, {"by_group": "s"}),
        ("other columns than that of the reports", some, {"weights": "c0"}),
        ("numbers of zero or more", some, {"weights": "w"}),
        ("at most 200 different rows", some, {"clusters": "k"}),
        ("c1", some.assign(c1=77).copy(), {}),
        ("counts", raw, {"weights": "w"}),
        ("whatever the secrets", {**raw, (0, 0, 0): 5000}, {}),
    ):
        refused(lambda g=given, o=options: md.estimate(g, plan, **o), words)


# Subset selections


def drawn(selection, truth, n, seed):
    rng = np.random.default_rng(seed)
    return md.Sampler(selection, rng=rng).draw_codes(rng.choice(len(truth), size=n, p=truth))


@quiet
@for_each("notion, size", [(md.LDP(1), 5), (md.LDP(4), 7), (md.LIP(1), 8)])
def test_subset_selections_are_estimated_as_their_matrices(notion, size):
    selection = md.subset_selection(size, notion)
    rows = [[selection.probability(x, y) for y in selection.outputs] for x in range(size)]
    kernel = np.array(rows, float)
    alone = [md.estimate({y: 99}, selection, misfit="warn") for y in selection.outputs]
    scores = np.array([one.values for one in alone])
    assert_allclose(kernel @ scores, np.eye(size), atol=1e-9)
    reports = drawn(selection, [0.5, 0.3, *[0.2 / (size - 2)] * (size - 2)], 900, 3)
    f = np.bincount(reports, minlength=len(selection.outputs)) / 900
    for target in ("population", "sample"):
        made = md.estimate(reports, selection, target=target)
        assert_allclose(made.values, f @ scores, atol=1e-9)
        shares = np.clip(made.values, 0, 1)
        shares = shares / max(1, shares.sum())
        fixed = shares**2 if target == "population" else shares
        variance = (shares @ kernel @ scores**2 - fixed) / 900
        assert_allclose(made.errors**2, variance, rtol=1e-9)
        assert are_held(made)


@quiet
def test_subset_selections_are_asked_all_that_matrices_are():
    rng, selection = np.random.default_rng(8), md.subset_selection(7, md.LDP(3))
    exact = [[selection.probability(x, y) for y in selection.outputs] for x in range(7)]
    matrix = md.Mechanism(np.array(exact, float), outputs=list(selection.outputs))
    reports = drawn(selection, [0.4, 0.3, 0.2, 0.1, 0, 0, 0], 600, 5)
    frame = {"y": reports, "w": rng.integers(1, 4, 600), "g": rng.integers(0, 2, 600)}
    table = pd.DataFrame({**frame, "z": frame["g"] + rng.normal(size=600)})
    pair = md.Mechanism([[0.8, 0.2], [0.3, 0.7]], outputs=[0, 1])
    numbers = {"feature": {x: float(x) for x in range(7)}}
    calls = [
        *(
            lambda kernel, o=options: md.estimate(table, kernel, "y", **o)
            for options in (numbers, {"method": "likelihood"}, {"weights": "w", "strata": "g"})
        ),
        lambda kernel: md.estimate(table, kernel, "y", by_group="g").difference(0, 1),
        lambda kernel: md.regress(table, kernel, "y", response="z", **numbers),
        lambda kernel: md.estimate_joint(table, [kernel, pair], ["y", "g"]),
    ]
    for call in calls:
        one, same = map(call, (selection, matrix))
        for part in ("values", "errors", "lower", "upper"):
            assert_allclose(getattr(one, part), getattr(same, part), atol=1e-7)
    planned = {"error": 0.5, "prior": md.Prior.uniform(7), **numbers}
    assert md.plan(selection, **planned).reports == md.plan(matrix, **planned).reports
    large = md.subset_selection(2000, md.LDP(1))
    refused(lambda: md.estimate([0] * 20, large, weights="w"), "weights for a subset selection of")
    refused(lambda: md.plan(large, error=0.1, feature=dict.fromkeys(range(2000), 1)), "feature")


def test_raw_data_and_too_few_reports_are_noticed():
    selection = md.subset_selection(1000, md.LDP(1))
    symbols = np.random.default_rng(4).integers(0, 1000, 5000)
    refused(lambda: md.estimate(symbols, selection), "raw data")
    codes = md.Sampler(selection, rng=1).draw_codes(symbols)
    assert 1e-3 < md.estimate(codes, selection).fit <= 1
    with pytest.warns(PrecisionWarning, match="next to nothing"):
        md.estimate(codes[:50], selection)


def test_intervals_of_the_largest_hold_for_all_at_once():
    """Symbols chosen for their estimates: alone, an interval of a noisy one mostly misses."""
    selection, truth, surveys = md.subset_selection(400, md.LDP(1)), np.full(400, 1 / 400), 30
    alone = together = 0
    for seed in range(surveys):
        made = md.estimate(drawn(selection, truth, 2000, [9, seed]), selection)
        rows = made.top(5)
        together += all(row["lower"] <= 1 / 400 <= row["upper"] for row in rows)
        places = [row["label"] for row in rows]
        alone += bool((made.lower[places] <= 1 / 400).all())
    assert together >= 0.9 * surveys > 0.1 * surveys >= alone
    assert places == np.argsort(-made.values)[:5].tolist()
    width = norm.isf(0.05 / 2 / 400) * made.errors[places[0]]
    assert rows[0]["upper"] == pytest.approx(made.values[places[0]] + width, rel=0.1)
    assert "of all 400 symbols at once" in repr(made)
    assert "at once" not in made.describe()
    truth = np.zeros(400)
    truth[[7, 70, 300]] = 0.5, 0.3, 0.2
    clear = md.subset_selection(400, md.LDP(3))
    made = md.estimate(drawn(clear, truth, 20_000, 5), clear)
    assert [row["label"] for row in made.present()] == [7, 70, 300]
    assert made[70] == pytest.approx(0.3, abs=0.02)


@pytest.mark.slow
def test_a_million_symbols():
    selection, n = md.subset_selection(1_000_000, md.PML(1)), 400_000
    truth = 1 / np.arange(1.0, 1_000_001)
    truth /= truth.sum()
    made = md.estimate(drawn(selection, truth, n, 8), selection)
    loss = n * ((made.values - truth) ** 2).sum()
    assert loss == pytest.approx(selection.risk_at(truth), rel=0.01)
    assert made.top(1)[0]["label"] == 0
