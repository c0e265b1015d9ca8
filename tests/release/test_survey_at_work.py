"""A survey end to end: two columns and a binned number of 6,366 people under one total level."""

from __future__ import annotations

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
