"""A survey end to end: two columns and a binned number of 6,366 people under one total level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engines import needed
from statsmodels.datasets import fair

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
    duckdb = needed("duckdb")
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


# Real ages under PML


AGES = md.bins(edges=[15, 20, 25, 30, 35, 40, 45])
ANSWERS = ["occupation", "religious", "age"]


@pytest.fixture(scope="module")
def women():
    """Occupation, religiousness and age, as the 6,366 women gave them."""
    table = fair.load_pandas().data[ANSWERS]
    return table.astype({"occupation": int, "religious": int}).assign(id=np.arange(len(table)))


@pytest.fixture(scope="module")
def by_pml(women):
    return md.plan_columns(women, ANSWERS, md.PML(2), bins={"age": AGES}, joint=False)


@pytest.mark.slow
def test_real_ages_are_planned_under_one_level(women, by_pml):
    """Levels of dependent columns do not add up; those of the plan were decided together."""
    assert len(women) == 6366
    assert women["age"].nunique() == 6
    assert len(by_pml.combinations) == len(women[ANSWERS].drop_duplicates()) == 131
    assert by_pml.check.verdict is md.Verdict.YES
    assert by_pml.leaks[0] == pytest.approx(2, rel=1e-6)
    naive = next(other for other in by_pml.others if other.name == "additive split")
    assert sum(level for (level,) in naive.levels) == pytest.approx(2, rel=1e-3)
    assert naive.leaks[0] > 2.1


@pytest.mark.slow
def test_real_ages_have_equal_reports_in_four_engines(women, by_pml):
    expected = md.privatize(women, mechanism=by_pml, row="id", key=KEY)
    frame, duckdb = pl.from_pandas(women), needed("duckdb")
    arrow = pa.Table.from_pandas(women, preserve_index=False)
    found = [
        md.privatize(frame.lazy(), mechanism=by_pml, row="id", key=KEY).collect().to_pandas(),
        md.privatize(arrow, mechanism=by_pml, row="id", key=KEY).to_pandas(),
        md.privatize(duckdb.from_df(women), mechanism=by_pml, row="id", key=KEY).order("id").df(),
    ]
    for one in found:
        for name in expected.columns:
            assert one[name].tolist() == expected[name].tolist()


@pytest.mark.slow
def test_estimates_of_real_ages_cover_over_300_surveys(women, by_pml):
    """Shares of each answer and the mean of ages, of those who reported.

    The control takes the shares of the reports that are likeliest for each answer, and misses.
    """
    columns = {
        "occupation": women["occupation"].map({v: i for i, v in enumerate(range(1, 7))}),
        "religious": women["religious"].map({v: i for i, v in enumerate(range(1, 5))}),
        "age": pd.Series(AGES.codes(women["age"])),
    }
    times, n = 300, len(women)
    middle = AGES.midpoints[columns["age"]].mean()
    hits, misses = {}, {}
    for name, codes in columns.items():
        kernel = by_pml.kernels[name]
        places = {value: i for i, value in enumerate(kernel.inputs)}
        own = AGES.labels if name == "age" else sorted(places)
        rows = np.array([places[own[code]] for code in codes])
        shares = np.bincount(rows, minlength=len(kernel.inputs)) / n
        sampler = md.Sampler(kernel, rng=11)
        best = kernel.kernel.argmax(axis=1)
        hits[name], misses[name] = np.zeros(len(shares)), np.zeros(len(shares))
        means = 0
        for _ in range(times):
            counts = np.bincount(sampler.draw_codes(rows), minlength=len(kernel.outputs))
            told = dict(zip(kernel.outputs, counts.tolist(), strict=True))
            found = md.estimate(told, by_pml[name], target="sample")
            hits[name] += (found.lower <= shares) & (shares <= found.upper)
            share = counts[best] / n
            half = 1.96 * np.sqrt(share * (1 - share) / n)
            misses[name] += np.abs(share - shares) <= half
            if name == "age":
                mean = found.mean()
                means += mean.lower <= middle <= mean.upper
    enough = 0.95 * times - 4 * math.sqrt(times * 0.95 * 0.05)
    assert means >= enough
    for name in columns:
        assert (hits[name] >= enough).all()
        assert misses[name].mean() < 0.5 * times
