"""Basic solutions: as few columns as there are conditions, with the same sums."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.program.problem import state_problem
from mechdesign.solve.estimation import fewer
from mechdesign.solve.estimation.basic_solution import basic_solution
from mechdesign.solve.estimation.generation import Columns


def sums_exactly(rows, masses):
    return [
        sum(Fraction(v) * Fraction(m) for v, m in zip(row, masses, strict=True))
        for row in rows.tolist()
    ]


@for_each(("conditions", "columns"), [(1, 2), (3, 4), (6, 40), (20, 700)])
@for_each("spread", [0, 4, 9])
def test_sums_stay_and_columns_are_as_few_as_conditions(conditions, columns, spread):
    rng = np.random.default_rng(conditions + columns + spread)
    rows = np.vstack([np.ones(columns), rng.normal(size=(conditions - 1, columns))])
    masses = 10 ** rng.uniform(-spread, 0, columns)
    found = basic_solution(rows, masses)
    assert (found >= 0).all()
    assert np.count_nonzero(found) <= conditions
    parts = np.abs(rows) @ masses
    for before, after, most in zip(
        sums_exactly(rows, masses.tolist()), sums_exactly(rows, found.tolist()), parts, strict=True
    ):
        assert abs(before - after) <= 1e-11 * most


def test_conditions_that_say_the_same_count_once():
    rng = np.random.default_rng(5)
    rows = np.vstack([np.ones(60), rng.random((4, 60))])
    twice = np.vstack([rows, 3 * rows, rows[1] + rows[2], np.zeros(60)])
    masses = rng.random(60)
    found = basic_solution(twice, masses)
    assert np.count_nonzero(found) <= 5
    assert rows @ found == pytest.approx(rows @ masses, rel=1e-12)


def test_outputs_stay_where_leaving_them_out_takes_longer_than_there_is_time(monkeypatch):
    program = state_problem(
        md.Prior.uniform(6), md.utility.Estimation([[1, 2, 3, 4, 5, 7]]), md.LDP(1)
    ).program
    columns = Columns.of(1 + np.random.default_rng(1).normal(size=(6, 30)) / 10, np.full(6, 1 / 6))
    monkeypatch.setattr(fewer, "basic_masses", lambda *_: 1 / 0)
    little = replace(program, time_limit=1e-9)
    kept, masses = fewer.fewer_columns(little, columns, np.ones(30))
    assert (len(kept.shares), len(masses)) == (30, 30)
    with pytest.raises(ZeroDivisionError):
        fewer.fewer_columns(program, columns, np.ones(30))
