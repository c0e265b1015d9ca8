"""Designs reach the optimum of naive dense programs that share no code with the package."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from checks import for_each, slow_but
from strategies import PRIOR_KINDS, random_gains, random_level, random_masses

import mechdesign as md

CLASSES = {"pml": md.PML, "pmc": md.PMC, "lip": md.LIP, "alip": md.ALIP, "ldp": md.LDP}
EACH = 24
TOLERANCE = 1e-7


def instance(rng, kind):
    n = int(rng.integers(2, 10))
    m = n if rng.random() < 0.4 else int(rng.integers(1, 13))
    p = random_masses(rng, n, kind)
    return p, md.Prior.from_counts(p), random_gains(rng, n, m)


def random_notion(rng, name):
    levels = [random_level(rng, 0.01, 10) for _ in range(2 if name == "alip" else 1)]
    return levels, CLASSES[name](*levels)


def assert_agrees(found, p, u, rows):
    best = naive.optimum(p, u, rows)
    assert found.value == pytest.approx(best, rel=0, abs=TOLERANCE)
    assert found.bound == pytest.approx(best, rel=0, abs=TOLERANCE)


@for_each("number", slow_but(8, range(EACH)))
@for_each("kind", PRIOR_KINDS)
@for_each("name", CLASSES)
def test_one_notion(name, kind, number):
    rng = np.random.default_rng([list(CLASSES).index(name), PRIOR_KINDS.index(kind), number])
    p, prior, u = instance(rng, kind)
    levels, notion = random_notion(rng, name)
    found = md.design(prior, md.utility.Matrix(u), notion)
    assert_agrees(found, p, u, naive.ROWS[name](p, *levels))


@for_each("number", slow_but(4, range(60)))
def test_two_notions_at_once(number):
    rng = np.random.default_rng([77, number])
    p, prior, u = instance(rng, PRIOR_KINDS[number % 3])
    names = rng.choice(list(CLASSES), 2)
    drawn = [random_notion(rng, name) for name in names]
    rows = [
        r
        for name, (levels, _) in zip(names, drawn, strict=True)
        for r in naive.ROWS[name](p, *levels)
    ]
    found = md.design(prior, md.utility.Matrix(u), [notion for _, notion in drawn])
    assert len(found.certificate.checks) == 2
    assert_agrees(found, p, u, rows)


@for_each("solver", ["highs-simplex", "highs-ipm"])
@for_each("name", CLASSES)
def test_general_solvers_where_closed_forms_would_be_chosen(name, solver):
    for number in range(6):
        rng = np.random.default_rng([5, list(CLASSES).index(name), number])
        p, prior, u = instance(rng, PRIOR_KINDS[number % 3])
        levels, notion = random_notion(rng, name)
        found = md.design(prior, md.utility.Matrix(u), notion, solver=solver)
        assert found.method == solver
        assert_agrees(found, p, u, naive.ROWS[name](p, *levels))


def test_the_naive_programs_tell_levels_apart():
    p, u = np.array([0.5, 0.3, 0.2]), np.eye(3)
    for name in CLASSES:
        double = (1.0, 1.0) if name == "alip" else (1.0,)
        single = (0.5, 0.5) if name == "alip" else (0.5,)
        gained = naive.optimum(p, u, naive.ROWS[name](p, *double))
        assert gained > naive.optimum(p, u, naive.ROWS[name](p, *single)) + 1e-3
        assert gained < naive.optimum(p, u, [])
