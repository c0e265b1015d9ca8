"""Counts, rows, tables and engines, of one column or several, have the same estimates."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each, refused
from engines import needed
from numpy.testing import assert_allclose

import mechdesign as md
from mechdesign.release import reports as release_reports
from mechdesign.tables import reading

CLEAR = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], list("abc"), list("abc"))
NAMES = ["job", "vote"]


def people(n=900):
    """Answers that depend on each other, some of which are missing, and what is known."""
    rng = np.random.default_rng(0)
    clerk, stratum = rng.random(n) < 0.6, rng.choice(["north", "south"], n)
    vote = np.where(rng.random(n) < np.where(clerk, 0.7, 0.3), "yes", "no").astype(object)
    vote[rng.random(n) < np.where(clerk, 0.1, 0.4)] = None
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "r": rng.choice(list("abc"), n, p=[0.4, 0.35, 0.25]),
            "job": np.where(clerk, "clerk", "farmer"),
            "vote": vote,
            "age": np.where(clerk, rng.integers(20, 50, n), rng.integers(40, 90, n)),
            "w": rng.uniform(0.5, 3, n).round(3),
            "s": stratum,
            "c": np.char.add(stratum, rng.integers(0, 20, n).astype(str)),
            "g": rng.choice(["old", "young"], n),
        }
    )


FRAME = people()


def engines_of(frame):
    """Tables of one frame: in memory, lazy, in batches, and of engines."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return [
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        table,
        table.to_reader(100),
        needed("duckdb").connect().from_arrow(table),
        needed("dask.dataframe").from_pandas(frame, npartitions=3),
        iter(table.to_batches(max_chunksize=70)),
    ]


def same(found, expected, label=lambda label: label):
    """Two estimates, or two of each group, are equal but for rounding."""
    for one, other in zip(found.rows(), expected.rows(), strict=True):
        assert label(one.pop("label")) == other.pop("label")
        assert one == {
            k: pytest.approx(v, rel=1e-6, abs=1e-6) if type(v) is float else v
            for k, v in other.items()
        }


def test_one_column_in_every_form():
    values = FRAME["r"].tolist()
    expected = md.estimate(Counter(values), CLEAR)
    for reports in (values, np.array(values), FRAME["r"], pl.Series(values), pa.array(values)):
        same(md.estimate(reports, CLEAR), expected)
    for reports in (FRAME, FRAME.astype({"r": "category"}), *engines_of(FRAME[["r"]])):
        same(md.estimate(reports, CLEAR, "r"), expected)
    survey = {"weights": "w", "strata": "s", "clusters": "c", "by_group": "g"}
    expected = md.estimate(FRAME, CLEAR, "r", **survey)
    for reports in engines_of(FRAME)[:5]:
        found = md.estimate(reports, CLEAR, "r", **survey)
        same(found, expected)
        assert_allclose(found.covariance, expected.covariance, rtol=1e-9)


def test_subset_selections_in_every_form(monkeypatch, tmp_path):
    selection = md.subset_selection(300, md.LDP(1))
    drawn = md.Sampler(selection, rng=3).draw_codes(np.arange(5000) % 100)
    table, parts = pd.DataFrame({"r": drawn}), np.array_split(drawn, 3)
    expected = md.estimate(drawn, selection)
    for reports in (
        *(drawn.tolist(), drawn.astype(float), pa.array(drawn), table["r"]),
        *(Counter(drawn.tolist()), sum(md.count_reports(part, selection) for part in parts)),
    ):
        same(md.estimate(reports, selection), expected)
    for reports in (table.astype(str), *engines_of(table)):
        same(md.estimate(reports, selection, "r"), expected)
    for wrong in ({-1: 3}, {len(selection.outputs): 3}, {"0x1": 3}, {True: 2}):
        refused(lambda wrong=wrong: md.ReportCounts(selection, wrong))
    # Of a file they are put together wherever so many were read.
    monkeypatch.setattr(release_reports, "_PENDING", 700)
    monkeypatch.setattr(reading, "_ROWS", 300)
    table.to_csv(tmp_path / "r.csv", index=False)
    table.to_parquet(tmp_path / "r.parquet")
    for name in ("r.csv", "r.parquet"):
        same(md.estimate(tmp_path / name, selection, "r"), expected)
        rows = release_reports.counted_rows(tmp_path / name, ["r"], (), selection)
        assert dict(zip(*rows.cells, rows.repeats, strict=True)) == Counter(drawn.tolist())


def test_what_is_no_report_of_a_subset_selection_is_refused():
    selection, other = md.subset_selection(100, md.LDP(1)), md.subset_selection(100, md.LDP(1.5))
    large = md.subset_selection(2000, md.LDP(1))
    table = md.privatize(pd.DataFrame({"x": range(100)}), "x", selection, rng=1)
    codes = table["x"].tolist()
    made = md.estimate(table, selection, "x")
    assert made.receipt.notions == ("LDP(1)",)
    for reports in (
        *([wrong] * 20 for wrong in (0.5, "a", -1, 10**30, True, [1, 2])),
        *("12", 5, [1] * 9, {1: -2, 2: 30}, {1: 1.5}, [1, None] * 20, np.zeros((5, 5), int)),
    ):  # fmt: skip
        refused(lambda r=reports: md.estimate(r, selection))
    for wording, given, kernel, options in (
        *(("subset selection", [0] * 20, large, option) for option in (
            {"method": "likelihood"}, {"feature": {0: 1.0}}, {"by": "blocks"},
            {"intervals": "bootstrap"}, {"truth": [1] * 100})),
        ("'category'", codes, selection, {"missing": "category"}),
        ("of another", table, other, {"column": "x"}),
        ("'y'", table, selection, {"column": "y"}),
        ("name of their column", table, selection, {}),
    ):  # fmt: skip
        refused(lambda g=given, k=kernel, o=options: md.estimate(g, k, **o), wording)
    for call in (
        lambda: md.plan(selection, reports=9, prior=md.Prior.uniform(99)),
        lambda: md.plan(large, reports=100, by="blocks"),
        lambda: made.top(0),
        lambda: made["70"],
    ):
        refused(call)
    dropped = md.estimate([*codes, None, np.nan, "NA"], selection, missing="drop")
    assert dropped.rows() == made.rows()


PRIOR = md.Prior.from_data(FRAME, NAMES, missing="category")
PLAN = md.plan_columns(FRAME, NAMES, md.LDP(4), missing="category", joint=False)
TUPLES = md.design(PRIOR, md.utility.Hamming(), md.LDP(4))
KEYED = {"row": "id", "key": bytes(range(32))}


def one_column(made, reports):
    """The same reports as texts in one column, and their kernel by the product of its parts."""
    kernel = TUPLES.mechanism
    if made is PLAN:
        kernel = PLAN["job"].mechanism.product(PLAN["vote"].mechanism)
    sides = [list(map(repr, side)) for side in (kernel.inputs, kernel.outputs)]
    rows = reports[NAMES].astype(object).where(reports[NAMES].notna(), None)
    found = reports.assign(both=[repr(row) for row in rows.itertuples(index=False, name=None)])
    found.attrs = {}  # without receipts, as the kernel on texts is another one
    return found, md.Mechanism(kernel.kernel, *sides, normalise=True)


@for_each("made", [TUPLES, PLAN])
def test_several_columns_are_one_column_of_tuples(made):
    reports, even = md.privatize(FRAME, made, **KEYED), [1 / 6] * 6
    texts, kernel = one_column(made, reports)
    for asked in (
        {"weights": "w", "strata": "s", "clusters": "c"},
        {"population": 20_000},
        {"strata": "s", "population": {"north": 5000, "south": 9000}},
        {"weights": "w", "by_group": "g"},
    ):
        found = md.estimate(reports, made, truth=even, **asked)
        same(found, md.estimate(texts, kernel, "both", truth=even, **asked), repr)
        for form in (pl.from_pandas, pa.Table.from_pandas):
            same(md.estimate(form(reports), made, truth=even, **asked), found)
    # People who did not answer are told apart from reports that are missing.
    truth = dict(zip(PRIOR.labels, PRIOR.probabilities, strict=True))
    for missing in ("error", "drop", "category"):
        found = md.estimate(reports, made, missing=missing)
        assert found.reports == len(FRAME)
        for row in found.rows():
            assert abs(row["estimate"] - truth[row["label"]]) < 4.5 * row["error"]
    holes = reports.astype({"job": object})
    holes.loc[[3, 7], "job"] = None
    for missing in ("error", "category"):
        call = refused(lambda m=missing: md.estimate(holes, made, missing=m), "2 rows")
        assert "drop" in call.remedy
    assert md.estimate(holes, made, missing="drop").reports == len(FRAME) - 2
    refused(lambda: md.estimate(reports, made, weights="job"), "'job'")


def test_joint_tables_and_means_of_a_plan():
    reports = md.privatize(FRAME, PLAN, rng=2)
    found = md.estimate_joint(reports, PLAN, missing="category")
    assert found.columns == ("no", "yes", None)
    assert_allclose(found.values.ravel(), md.estimate(reports, PLAN).values, atol=1e-9)
    bins = md.bins(edges=[0, 30, 60, 90])
    plan = md.plan_columns(FRAME, ["job", "age"], md.LDP(6), bins={"age": bins}, joint=False)
    reports = md.privatize(FRAME, plan, rng=4)
    refused(lambda: md.estimate_joint(reports, plan, missing="category"), "an input None")
    alone = md.estimate(reports, plan["age"], "age").mean()
    for columns in ("age", ["age"], None):
        mean = md.estimate(reports, plan, columns).mean()
        assert (mean.value, mean.error) == pytest.approx((alone.value, alone.error), rel=0.01)


def test_missing_answers_are_a_category_of_their_own(tmp_path):
    frame, path = FRAME[["vote", "id"]], tmp_path / "answers.csv"
    frame.to_csv(path, index=False)
    prior = md.Prior.from_data(frame["vote"], missing="category")
    assert prior.labels == ("no", "yes", None)
    assert prior == md.Prior.from_csv(path, "vote", missing="category")
    assert prior == md.Prior.from_data(pl.from_pandas(frame)["vote"], missing="category")
    kernel = md.design(md.Prior.uniform(prior.labels), md.utility.Hamming(), md.LDP(3))
    assert kernel.mechanism.outputs == prior.labels
    md.privatize_file(path, tmp_path / "reports.csv", "vote", kernel, rng=3)
    reports = pd.read_csv(tmp_path / "reports.csv")
    found = md.estimate(reports, kernel, "vote", missing="category")
    assert_allclose(found.values, prior.probabilities, atol=0.06)
    surveyed = md.estimate(reports, kernel, "vote", missing="category", population=900)
    assert_allclose(surveyed.values, found.values, atol=1e-9)
    same(md.estimate(reports["vote"], kernel, missing="category"), found)
    # Readers of CSV files would take the name for no value.
    assert md.randomised_response(prior, 1.5).outputs == ("no", "yes", "missing")
    refused(lambda: md.Prior.from_data([None] * 3, missing="category"), "at least one value")


def test_receipts_say_who_made_reports(tmp_path):
    other = md.Mechanism(CLEAR.kernel[::-1], CLEAR.inputs, CLEAR.outputs)
    one, two = (md.privatize(FRAME, "r", CLEAR, rng=seed) for seed in (1, 2))
    assert md.estimate(one, CLEAR, "r").note == ""
    rounds = md.estimate_rounds([one, two], [CLEAR, CLEAR], "r")
    assert (rounds.note, rounds.rounds) == ("", (900, 900))
    noisy = md.privatize(one, "g", md.randomised_response(md.Prior.uniform(["old", "young"]), 1))
    path = tmp_path / "receipt.json"
    reports = md.privatize(pl.from_pandas(FRAME), PLAN, receipt=path, **KEYED)
    less = md.plan_columns(FRAME, NAMES, md.LDP(3), missing="category", joint=False)
    for wording, call in (
        ("kernel", lambda: md.estimate(one, other, "r")),
        ("kernel", lambda: md.count_reports(one, other, "r")),
        ("mechanism", lambda: md.estimate_rounds([one, two], [CLEAR, other], "r")),
        ("'g', which holds reports", lambda: md.estimate(noisy, CLEAR, "r", by_group="g")),
        ("reports of another", lambda: md.estimate(reports, less, receipt=path)),
        ("reports of another", lambda: md.estimate(md.privatize(FRAME, PLAN, rng=1), less)),
        ("int", lambda: md.estimate(reports, PLAN, receipt=7)),
    ):
        refused(call, wording)
    # Tables that carry none: one file holds those of a plan.
    assert "no receipt came" in md.estimate(reports, PLAN).note
    for receipt in (path, dict.fromkeys(NAMES, path)):
        for options in ({}, {"weights": "w"}):
            assert md.estimate(reports, PLAN, receipt=receipt, **options).note == ""
