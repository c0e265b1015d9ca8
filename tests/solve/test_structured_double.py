"""Bounds on the lift and on ratios together: the structured method, its bound and its prices."""

from __future__ import annotations

import math

import numpy as np
from checks import for_each, pairwise_cases, slow_but
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.certificate.bounds import supports
from mechdesign.program.program import TwoSided
from mechdesign.program.rational import column_supremum
from mechdesign.solve.interior_point.pricing import best_columns

LISTS = {
    "pml and ldp": lambda e: [md.PML(e), md.LDP(e)],
    "tighter pml and ldp": lambda e: [md.PML(0.3 * e), md.LDP(e)],
    "pmc and ldp": lambda e: [md.PMC(0.5 * e), md.LDP(e)],
    "lip and ldp": lambda e: [md.LIP(0.6 * e), md.LDP(e)],
    "alip and ldp": lambda e: [md.ALIP(0.4 * e, 0.7 * e), md.LDP(e)],
}
PRIORS = {
    "dirichlet": lambda n: np.random.default_rng(4).dirichlet(np.ones(n)),
    "zipf": lambda n: 1 / np.arange(1, n + 1),
    "uniform": lambda n: np.ones(n),
    "atom": lambda n: np.r_[0.9 * n, np.full(n - 1, 0.1)],
    "tiny": lambda n: np.geomspace(1, 1e-9, n),
}


def naive_supremum(v, p, sides):
    """One linear program per column, entries and their least as variables."""
    n, (lower, upper, ratio) = len(p), (sides.lower, sides.upper, sides.ratio)
    eye, one = np.eye(n), np.ones((n, 1))
    rows = np.block([[-eye, one], [eye, -ratio * one]])
    ends = [(lower, None if math.isinf(upper) else upper)] * n + [(0, None)]
    cost = -np.append(p * v, 0)
    found = linprog(cost, rows, np.zeros(2 * n), [np.append(p, 0)], [1], bounds=ends)
    return -found.fun


@for_each("seed", slow_but(4, range(40)))
def test_the_best_column_under_both_bounds(seed):
    """By the certificate in floats and in rationals, by the method, and by a linear program."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    prior = md.Prior.from_counts(rng.integers(1, 50, n))
    p, v = prior.probabilities, rng.normal(size=(n, 3))
    if seed % 3 == 0:
        v = np.round(v)  # equal values
    lower = [0.0, 0.4 * rng.random()][seed % 2]
    upper = [math.inf, 1 + rng.exponential()][seed // 2 % 2]
    if lower == 0 and math.isinf(upper):
        upper = 1.5
    sides = TwoSided(lower, upper, 1 + rng.exponential(2))
    expected = [naive_supremum(column, p, sides) for column in v.T]
    weighted = p[:, None] * v
    found = supports(weighted, p, sides)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(best_columns(weighted.T.copy(), p, sides), found, atol=1e-12)
    limits = sides.lower, sides.upper, sides.ratio
    exact = [float(column_supremum(prior, column, np.zeros(n), *limits)) for column in v.T]
    np.testing.assert_allclose(exact, found, atol=1e-13)


@for_each(
    "prior, privacy, level", pairwise_cases(PRIORS.values(), LISTS.values(), [0.05, 1.0, 4.0])
)
def test_the_structured_method_agrees_with_simplex(level, privacy, prior):
    p = prior(14)
    known = md.Prior(p / p.sum())
    gains = np.random.default_rng(7).random((14, 17))
    found = md.design(known, md.utility.Matrix(gains), privacy(level), solver="structured")
    assert found.method == "structured"
    assert found.certificate.gap <= 1e-8
    simplex = md.design(known, md.utility.Matrix(gains), privacy(level), solver="highs-simplex")
    assert abs(found.value - simplex.value) <= 1e-8 + simplex.certificate.gap
