"""Pricing of estimation designs: columns found and bounds proved, against every column written out
in rationals by code that shares nothing with it.
"""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.certificate.quadratic.cuts import Cuts
from mechdesign.certificate.quadratic.forms import ColumnBox, FloatBox, Question
from mechdesign.certificate.quadratic.pricing import QuadraticPricing
from mechdesign.certificate.quadratic.relaxation import Majorant, Relaxed, relaxed_bound
from mechdesign.certificate.shape import sides_outside
from mechdesign.privacy.constraint import Rounding
from mechdesign.program.problem import state_problem

LEVELS = (1e-4, 0.1, 0.7, 2.0, 30.0)
KINDS = ("LDP", "PML", "PMC", "LIP", "ALIP", "PML and PMC")


def cone_of(prior, notion):
    return state_problem(prior, md.utility.MutualInformation(), notion).program.cone


def notion_of(kind, level):
    if kind == "ALIP":
        return md.ALIP(level, 1.5 * level)
    if kind == "PML and PMC":
        return [md.PML(level), md.PMC(level / 2)]
    return getattr(md, kind)(level)


def exponential(level):
    """e^level for the exact value of a float, to fifty digits."""
    getcontext().prec = 50
    return Fraction(Decimal(level).exp())


def extremes(masses, kind, level):
    """Every extreme column with pᵀr = 1, in rationals."""
    n, e = len(masses), exponential(level)
    if kind == "LDP":
        for size in range(n + 1):
            for up in combinations(range(n), size):
                k = [e if x in up else Fraction(1) for x in range(n)]
                mass = sum(p * v for p, v in zip(masses, k, strict=True))
                yield [v / mass for v in k]
        return
    low, high = {
        "PML": (Fraction(0), e),
        "PMC": (1 / e, None),
        "LIP": (1 / e, e),
        "ALIP": (1 / e, exponential(1.5 * level)),
        "PML and PMC": (1 / exponential(level / 2), e),
    }[kind]
    high = 1 / min(masses) if high is None else high
    for j in range(n):
        others = [x for x in range(n) if x != j]
        for size in range(n):
            for up in combinations(others, size):
                r = [high if x in up else low for x in range(n)]
                r[j] = (1 - sum(masses[x] * r[x] for x in others)) / masses[j]
                if low <= r[j] <= high:
                    yield r


def true_value(g, prices, truth, r):
    total = sum(r[x] * g[x][z] * r[z] for x in range(len(r)) for z in range(len(r)))
    mass = sum(a * b for a, b in zip(truth, r, strict=True))
    return total / mass - sum(a * b for a, b in zip(prices, r, strict=True))


def draw(seed, kind, level):
    """A prior, one in three with an atom of 1e-12, a truth, G of any rank and prices."""
    rng = np.random.default_rng([13, seed])
    n = int(rng.integers(2, 7))
    p = rng.dirichlet(np.ones(n))
    if seed % 3 == 1:
        p[0] = 1e-12
    if seed % 3 == 2:
        p = rng.integers(1, 4, n).astype(float)
    prior = md.Prior(p / p.sum())
    masses = [prior.mass(x) for x in range(n)]
    truth = masses
    if seed % 2:
        weights = [Fraction(int(w)) for w in rng.integers(1, 50, n)]
        truth = [w / sum(weights) for w in weights]
    root = rng.normal(size=(n, int(rng.integers(1, n + 1))))
    square = root @ root.T
    square = (square + square.T) / 2
    # At small levels what tells columns apart must count beside what they have in common.
    prices = rng.normal(size=n) * (1 if seed % 5 else 0)
    if seed % 7 == 0:
        centre = np.eye(n) - np.outer(np.ones(n), prior.probabilities)
        square = centre.T @ square @ centre / min(level, 1.0) ** 2
    return prior, masses, truth, square, prices


@for_each("kind", KINDS)
@for_each("level", LEVELS)
@for_each("seed", slow_but(2, range(7)))
def test_every_extreme_column_is_priced(kind, level, seed):
    prior, masses, truth, square, prices = draw(seed, kind, level)
    pricing = QuadraticPricing(cone_of(prior, notion_of(kind, level)), truth)
    g = [[Fraction(v) for v in row] for row in square.tolist()]
    exact = [Fraction(v) for v in prices.tolist()]
    true = [true_value(g, exact, truth, r) for r in extremes(masses, kind, level)]
    best = max(true)
    size = Fraction(max(abs(float(v)) for v in true))
    upper, columns = pricing.bound(square, prices, best - size / 100)
    assert best <= upper <= best + size * Fraction(1, 10**9)
    # Columns of the cone for design differ by its distance from e^ε, and by their rounding.
    found = pricing.values(square, prices, columns)
    assert float(best) - 1e-6 * float(size) <= found[0] <= float(upper) + 1e-9 * float(size)
    assert (np.diff(found) <= 1e-9 * float(size)).all()
    np.testing.assert_allclose(np.array(masses, float) @ columns, 1.0, rtol=1e-12)
    # Nothing above a level that nothing exceeds.
    assert pricing.bound(square, prices, best + size)[1].shape[1] == 0


def rays_by_solving(rows):
    """Extreme rays of {k : rows @ k ≥ 0}, from every choice of n − 1 rows."""
    n = rows.shape[1]
    for chosen in combinations(range(len(rows)), n - 1):
        _, sizes, vectors = np.linalg.svd(rows[list(chosen)])
        if sizes[-1] > 1e-9:
            for ray in (vectors[-1], -vectors[-1]):
                if (rows @ ray >= -1e-9).all():
                    yield ray


@for_each("seed", range(6))
def test_cones_of_any_kind_have_their_rays_listed(seed):
    rng = np.random.default_rng([19, seed])
    prior = md.Prior(rng.dirichlet(np.ones(4)), labels=[0, 1, 2, 3])
    notion = (
        [md.LDP(1), md.PML(0.4)],
        md.MetricPrivacy(0.5, np.abs(np.subtract.outer(np.arange(4), np.arange(4)))),
    )[seed % 2]
    cone = cone_of(prior, notion)
    pricing = QuadraticPricing(cone)
    root = rng.normal(size=(4, 2))
    square, prices, p = root @ root.T, rng.normal(size=4), prior.probabilities
    rows = np.array(cone.inequalities(Rounding.OUTSIDE), dtype=float)
    rows = np.vstack([rows / np.abs(rows).max(axis=1, keepdims=True), np.eye(4)])
    best = max(
        (r @ square @ r) / (p @ r) ** 2 - prices @ r / (p @ r) for r in rays_by_solving(rows)
    )
    upper, _ = pricing.bound(square, prices, np.inf)
    assert float(upper) == pytest.approx(best, rel=1e-7)
    columns, values = pricing.search(square, prices, pricing.first(4))
    assert values[0] == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(p @ columns, 1.0, rtol=1e-12)


@for_each("kind", KINDS)
@for_each("seed", slow_but(4, range(9)))
def test_halves_price_what_the_list_does(kind, seed, monkeypatch):
    """Also where an atom has a share that floats do not know."""
    prior, _, truth, square, prices = draw(seed, kind, LEVELS[seed % 5])
    pricing = QuadraticPricing(cone_of(prior, notion_of(kind, LEVELS[seed % 5])), truth)
    exact, columns = pricing.bound(square, prices, 0)
    monkeypatch.setattr("mechdesign.certificate.quadratic.listed.MOST_COLUMNS", 0)
    upper, others = pricing.bound(square, prices, 0)
    size = abs(float(exact)) + np.abs(prices).sum() + np.abs(square).sum()
    assert exact <= upper <= exact + 1e-9 * size
    assert others.shape[1] >= min(columns.shape[1], 1)


#: Optima over all extreme columns, prior 1/x, seven symbols, and the largest relative distance of
#: the relaxed design from them.
def cuts_of(n, rng, *, whole):
    """Products of two symbols of all three kinds, and of neighbouring sums where t is 0 or 1."""
    unit, (one, two) = np.eye(n + 1), rng.integers(0, n, (2, 5))
    two = np.where(one == two, (two + 1) % n, two)
    low, high = unit[1:], unit[0] - unit[1:]
    kinds = rng.integers(0, 3, 5)[:, None]
    pairs = Cuts(
        np.where(kinds == 2, high[one], low[one]), np.where(kinds == 0, low[two], high[two])
    )
    if not whole:
        return pairs
    coefficients = rng.integers(-3, 4, (5, n))
    return pairs.join(Cuts.sums(coefficients, rng.integers(-4, 5, 5)))


@for_each("kind", KINDS)
@for_each("seed", range(6))
def test_bounds_hold_for_multipliers_of_any_quality(kind, seed):
    """Multipliers that make no sense, negative ones too, make bounds bad but not false."""
    level = LEVELS[seed % 4]
    prior, _, truth, square, prices = draw(seed, kind, level)
    cone = cone_of(prior, notion_of(kind, level))
    exact, _ = QuadraticPricing(cone, truth).bound(square, prices, np.inf)
    box = ColumnBox.of(prior, sides_outside(cone))
    form, floats = Question.of(square, prices, truth).on(box), FloatBox.of(box)
    n, rng = len(prior), np.random.default_rng([31, seed])
    ratios = [float(a / prior.mass(x)) for x, a in enumerate(truth)]
    ends = min(ratios) * (1 - 1e-15), max(ratios) * (1 + 1e-15)
    if ends[1] < 1 + 1e-14:
        ends = 1.0, 1.0
    for size in (0.0, 1.0, 100.0):
        cuts = cuts_of(n, rng, whole=kind == "LDP")
        value, chords = float(size * rng.normal()), size * rng.normal(size=n)
        relaxed = Relaxed(value, chords, cuts, size * rng.normal(size=len(cuts)), np.eye(n))
        majorant = Majorant.of(form, floats, float(rng.normal()), relaxed, ends)
        assert relaxed_bound(majorant, ends) >= exact
