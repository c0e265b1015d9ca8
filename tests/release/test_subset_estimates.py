"""Estimates from reports of a subset selection: unbiased, with the errors they say, in one pass."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each
from scipy.stats import norm

import mechdesign as md
from mechdesign.errors import (
    DataError,
    InputError,
    MisfitWarning,
    PrecisionWarning,
    PriorError,
    UnknownNameError,
)
from mechdesign.release import table_files
from mechdesign.views.plain import many_estimates_json


def truth_of(size):
    shares = 1 / np.arange(1.0, size + 1)
    return shares / shares.sum()


def simulated(selection, truth, n, rng):
    symbols = rng.choice(len(truth), size=n, p=truth)
    return md.Sampler(selection, rng=rng).draw_codes(symbols)


@for_each("target", ["population", "sample"])
def test_intervals_cover_at_their_rate(target):
    selection, truth, n = md.subset_selection(50, md.LDP(2)), truth_of(50), 2000
    rng, held = np.random.default_rng(12), []
    for _ in range(80):
        symbols = rng.choice(50, size=n, p=truth)
        drawn = md.Sampler(selection, rng=rng).draw_codes(symbols)
        made = md.estimate(drawn, selection, target=target, confidence=0.9)
        about = truth if target == "population" else np.bincount(symbols, minlength=50) / n
        held.append(np.abs(made.values - about) <= norm.isf(0.05) * made.errors)
    assert abs(np.mean(held) - 0.9) < 4 * math.sqrt(0.09 / np.size(held))


def test_estimates_are_means_of_scores_without_the_transform():
    selection, rng = md.subset_selection(40, md.LIP(1)), np.random.default_rng(1)
    reports = md.Sampler(selection, rng=1).draw_codes(rng.integers(0, 40, 500))
    made = md.estimate(reports, selection)
    (one,) = selection.types
    part = one.parts[0]
    v, drawn = part.base**part.dimension, one.drawn(reports)[0]
    values = np.array(part.values, dtype=float) - 1
    scores = values / (values**2 @ part.sizes / part.base)[:, None]
    want = np.empty(40)
    for x in range(40):
        levels = part.levels_at(*drawn, np.full(500, x))
        want[x] = 1 / v + (v - 1) / v * scores[drawn[0][1], levels].mean()
    assert made.values == pytest.approx(want, abs=1e-10)
    assert [row["label"] for row in made.top(5)] == np.argsort(-made.values)[:5].tolist()


def test_every_form_of_reports_gives_the_same(monkeypatch, tmp_path):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    selection = md.subset_selection(300, md.LDP(1))
    drawn = simulated(selection, truth_of(300), 5000, np.random.default_rng(2))
    want = md.estimate(drawn, selection).values
    table = pd.DataFrame({"x": drawn})
    arrow = pa.Table.from_pandas(table)
    codes, counts = np.unique(drawn, return_counts=True)
    for reports, column in (
        (drawn.tolist(), None),
        (drawn.astype(float), None),
        (pa.array(drawn), None),
        (pd.Series(drawn), None),
        (dict(zip(codes.tolist(), counts.tolist(), strict=True)), None),
        (table, "x"),
        (table.astype(str), "x"),
        (pl.from_pandas(table), "x"),
        (pl.from_pandas(table).lazy(), "x"),
        (arrow, "x"),
        (pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(90)), "x"),
        (arrow.to_batches(90), "x"),
    ):
        assert md.estimate(reports, selection, column).values == pytest.approx(want, abs=1e-12)
    # Of a file they are put together wherever so many were read.
    monkeypatch.setattr(table_files, "_PENDING", 700)
    monkeypatch.setattr(table_files, "_FIXED_ROWS", 300)
    table.to_csv(tmp_path / "reports.csv", index=False)
    pq.write_table(arrow, tmp_path / "reports.parquet")
    for name in ("reports.csv", "reports.parquet"):
        rows = table_files.subsets_of_file(tmp_path / name, "x", selection)
        np.testing.assert_array_equal([*rows.cells, rows.repeats], [codes, counts])


def test_reports_and_options_that_are_none_are_refused():
    pd, selection = pytest.importorskip("pandas"), md.subset_selection(100, md.LDP(1))
    for reports in (
        [0.5] * 20,
        ["a"] * 20,
        [-1] * 20,
        [10**30] * 20,
        [True] * 20,
        [[1, 2]] * 20,
        "12",
        5,
        [1] * 9,
        {1: -2, 2: 30},
        {1: 1.5},
        [1, None] * 20,
        np.zeros((5, 5), dtype=int),
    ):
        with pytest.raises(DataError):
            md.estimate(reports, selection)
    for options in (
        {"method": "likelihood"},
        {"feature": {0: 1.0}},
        {"by": "blocks"},
        {"intervals": "bootstrap"},
    ):
        with pytest.raises(InputError, match="subset selection"):
            md.estimate(list(range(20)), selection, **options)
    drawn = md.Sampler(selection, rng=1).draw_codes(np.arange(100)).tolist()
    made = md.estimate([*drawn, None, math.nan, "NA"], selection, missing="drop")
    assert made.reports == 100
    assert made.values == pytest.approx(md.estimate(drawn, selection).values)
    other = md.subset_selection(100, md.LDP(1.5))
    table = md.privatize(pd.DataFrame({"x": range(100)}), "x", selection, rng=1)
    assert md.estimate(table, selection, "x").receipt.notions == ("LDP(1)",)
    for call, error, said in (
        (lambda: md.estimate(table, other, "x"), DataError, "of another"),
        (lambda: md.estimate(table, selection, "y"), UnknownNameError, None),
        (lambda: md.estimate(table, selection), DataError, "name of their column"),
        (lambda: md.plan(selection, reports=9, prior=md.Prior.uniform(99)), PriorError, None),
        (lambda: md.plan(selection, reports=100, by="blocks"), InputError, None),
    ):
        with pytest.raises(error, match=said):
            call()


def test_raw_data_and_too_few_reports_are_noticed():
    selection = md.subset_selection(1000, md.LDP(1))
    symbols = np.random.default_rng(4).integers(0, 1000, 5000)
    with pytest.raises(DataError, match="raw data"):
        md.estimate(symbols, selection)
    with pytest.warns(MisfitWarning):
        md.estimate(symbols, selection, misfit="warn")
    drawn = md.Sampler(selection, rng=1).draw_codes(symbols)
    assert md.estimate(drawn, selection).fit > 1e-3
    with pytest.warns(PrecisionWarning, match="next to nothing"):
        md.estimate(drawn[:50], selection)


def test_symbols_that_are_surely_present():
    selection, truth = md.subset_selection(500, md.LDP(3)), np.zeros(500)
    truth[[7, 70, 400]] = 0.5, 0.3, 0.2
    made = md.estimate(simulated(selection, truth, 20_000, np.random.default_rng(5)), selection)
    assert [row["label"] for row in made.present()] == [7, 70, 400]
    assert made[70] == pytest.approx(0.3, abs=0.02)
    assert len(made.rows()) == 500
    assert "500 symbols from 20000 reports" in repr(made)
    with pytest.raises(UnknownNameError):
        made["70"]
    for count in (0, True, 1.5):
        with pytest.raises(InputError):
            made.top(count)


def test_intervals_of_the_largest_hold_for_all_at_once():
    """Symbols chosen for their estimates: alone, an interval of a noisy one mostly misses."""
    selection, truth = md.subset_selection(400, md.LDP(1)), np.full(400, 1 / 400)
    alone, together, surveys = 0, 0, 60
    for seed in range(surveys):
        drawn = simulated(selection, truth, 2000, np.random.default_rng([9, seed]))
        made = md.estimate(drawn, selection)
        rows = made.top(5)
        together += all(row["lower"] <= 1 / 400 <= row["upper"] for row in rows)
        places = [row["label"] for row in rows]
        alone += bool((made.lower[places] <= 1 / 400).all())
    assert together >= 0.9 * surveys
    assert alone <= 0.1 * surveys
    ends = made.answers.limits(0.05 / 400, places)
    assert [row["upper"] for row in rows] == pytest.approx(ends[1], rel=1e-9)
    # Two values of a score make it the binomial interval of how many reports hold the symbol.
    width = norm.isf(0.05 / 2 / 400) * made.errors[places[0]]
    assert rows[0]["upper"] == pytest.approx(made.values[places[0]] + width, rel=0.1)
    assert made.rows()[places[0]]["upper"] < rows[0]["upper"]
    assert "of all 400 symbols at once" in repr(made)
    assert "at once" not in made.describe()
    assert many_estimates_json(made, "", 5)["simultaneous"]
    assert many_estimates_json(made, "", 5)["rows"] == rows
    assert not many_estimates_json(made, "")["simultaneous"]


# Plans


@pytest.mark.slow
@for_each("notion", [md.LDP(1), md.PML(1)])
def test_a_million_symbols(notion):
    selection, n = md.subset_selection(1_000_000, notion), 400_000
    truth = truth_of(1_000_000)
    made = md.estimate(simulated(selection, truth, n, np.random.default_rng(8)), selection)
    loss = n * ((made.values - truth) ** 2).sum()
    assert loss == pytest.approx(selection.risk_at(truth), rel=0.01)
    assert made.top(1)[0]["label"] == 0
