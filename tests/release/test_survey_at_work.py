"""A survey end to end: two columns and a binned number of 6,366 people under one total level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engines import needed

import mechdesign as md
from mechdesign.data import example_path

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

KEY = md.ReleaseKey(bytes(range(32)))
BINS = md.bins(edges=[0, 2.5, 5, 10, 20, 40])
COLUMNS = ["religious", "affair", "years"]
TOTAL = md.LDP(4)


@pytest.fixture(scope="module")
def people():
    """The people of ``fair``, each with a number of years that depends on the answer."""
    table = pd.read_csv(example_path("fair"))
    table = table.loc[table.index.repeat(table["count"])].drop(columns="count")
    rng = np.random.default_rng(1)
    years = rng.gamma(np.where(table["affair"] == "yes", 3, 2), 4)
    return table.reset_index(drop=True).assign(
        years=np.clip(np.round(years, 1), 0, 40), id=np.arange(len(table))
    )


@pytest.fixture(scope="module")
def plan(people):
    return md.plan_columns(people, COLUMNS, TOTAL, bins={"years": BINS}, joint=False)


def test_the_plan_keeps_the_total_level(people, plan):
    assert len(people) == 6366
    assert plan.check.verdict is md.Verdict.YES
    assert sum(level for (level,) in plan.levels.values()) <= 4 + 1e-9
    assert plan.kernels["years"].schema.bins_of("years") == BINS


def test_four_engines_give_the_same_reports(people, plan):
    expected = md.privatize(people, mechanism=plan, row="id", key=KEY)
    names = list(expected.columns)
    frame = pl.from_pandas(people)
    duckdb = needed("duckdb", "duckdb")
    found = [
        md.privatize(frame.lazy(), mechanism=plan, row="id", key=KEY).collect().to_pandas(),
        md.privatize(
            pa.Table.from_pandas(people, preserve_index=False), mechanism=plan, row="id", key=KEY
        ).to_pandas(),
        md.privatize(duckdb.from_df(people), mechanism=plan, row="id", key=KEY).order("id").df(),
    ]
    for one in found:
        for name in names:
            assert one[name].tolist() == expected[name].tolist()
    for name in COLUMNS:
        assert set(expected[name]) <= set(plan.kernels[name].outputs)


@pytest.mark.slow
def test_estimates_cover_over_300_surveys(people, plan):
    """Of those who reported: the mean of the years, their median, and the share of an answer.

    The control takes each report for the answer that makes it likeliest, and misses.
    """
    codes = {name: pd.Series(people[name]).map(dict(zip(plan.kernels[name].inputs, range(99),
             strict=False))) for name in COLUMNS[:2]}  # fmt: skip
    codes["years"] = BINS.codes(people["years"])
    shares = np.bincount(codes["years"], minlength=len(BINS)) / len(people)
    middle, mean = shares @ BINS.midpoints, people["years"].mean()
    median, affairs = people["years"].median(), (people["affair"] == "yes").mean()
    covered = np.zeros(4)
    designs = dict(zip(plan.names, plan.designs, strict=True))
    samplers = {name: md.Sampler(plan.kernels[name], rng=5) for name in ("years", "affair")}
    kernel = plan.kernels["affair"].kernel
    likeliest = [plan.kernels["affair"].inputs[x] == "yes" for x in kernel.argmax(axis=0)]
    times, naive = 300, 0
    for _ in range(times):
        made = {}
        for name, sampler in samplers.items():
            drawn = sampler.draw_codes(np.asarray(codes[name]))
            outputs = plan.kernels[name].outputs
            counts = np.bincount(drawn, minlength=len(outputs)).tolist()
            told = dict(zip(outputs, counts, strict=True))
            made[name] = md.estimate(told, designs[name], target="sample")
            if name == "affair":
                share = np.array(counts)[likeliest].sum() / len(people)
                naive += abs(share - affairs) < 1.96 * math.sqrt(share * (1 - share) / len(people))
        found, half = made["years"].mean(), made["years"].quantile(0.5)
        rows = {row["label"]: row for row in made["affair"].rows()}
        covered += [
            found.lower <= middle <= found.upper,
            found.least <= mean <= found.most,
            half.least <= median <= half.most,
            rows["yes"]["lower"] <= affairs <= rows["yes"]["upper"],
        ]
    enough = 0.95 * times - 4 * math.sqrt(times * 0.95 * 0.05)
    assert (covered >= enough).all()
    assert naive < 0.05 * times
