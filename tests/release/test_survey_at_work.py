"""A survey of real people: two columns and a binned number of 6,366 under one total level."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.datasets import fair

import mechdesign as md

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
