"""Claims of optimality against an independent checker: value ≤ optimum ≤ bound, and an honest gap.

Nothing here uses the package's own arithmetic: kernels are read as integers, masses as fractions,
logarithms come from ``decimal`` at many digits, and optima from formulas for two symbols and for
posteriors that fill a simplex.
"""

from __future__ import annotations

import math
import warnings
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.errors import GapWarning
from mechdesign.program.problem import state_problem

MI, TV, CHI = md.utility.MutualInformation, md.utility.TotalVariation, md.utility.ChiSquare
UTILITIES = (MI(), TV(), CHI())
DIGITS = 250
#: For masses of 1e-160, whose lifts and squares cancel hundreds of digits.
MANY_DIGITS = 1000
SMALL = (1e-4, 1e-9, 1e-12, 1e-20, 1e-35, 1e-160)
LEVELS = (1e-14, 1e-6, 0.3, 1.0, 5.0, 40.0, 709.0, 710.0, 745.0, 2000.0)


# The checker


def number(value):
    """A fraction with many digits."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def curve(utility, lift):
    """f(t) with f(1) = 0, for a lift with many digits."""
    if isinstance(utility, MI):
        return lift * lift.ln() if lift else Decimal(0)
    return abs(lift - 1) / 2 if isinstance(utility, TV) else (lift - 1) ** 2


def true_value(utility, masses, weights):
    """Σ_y q_y Σ_x p_x f(K_xy / q_y), kernel entries being integers over their row sum."""
    total = Decimal(0)
    for column in zip(*weights.tolist(), strict=True):
        q = sum(p * k for p, k in zip(masses, column, strict=True))
        if q:
            part = sum(
                number(p) * curve(utility, number(Fraction(k) / q))
                for p, k in zip(masses, column, strict=True)
            )
            total += number(Fraction(q, 2**53)) * part
    return total


def of_posterior(utility, p, first):
    """The f-divergence of the posterior (π, 1 − π) from the prior of two symbols."""
    return p[0] * curve(utility, first / p[0]) + p[1] * curve(utility, (1 - first) / p[1])


def binary_optimum(utility, masses, notion):
    """Two symbols: posteriors fill an interval around the prior, and its two ends win."""
    p = [number(m) for m in masses]
    e = Decimal(notion.levels[0]).exp() if notion.levels[0] < math.inf else None
    low, high = Decimal(0), Decimal(1)
    if isinstance(notion, (md.PML, md.LIP)) and e is not None:
        low, high = max(low, 1 - e * p[1]), min(high, e * p[0])
    if isinstance(notion, (md.PMC, md.LIP)) and e is not None:
        low, high = max(low, p[0] / e), min(high, 1 - p[1] / e)
    if isinstance(notion, md.LDP) and e is not None:
        low, high = p[0] / (p[0] + e * p[1]), e * p[0] / (e * p[0] + p[1])
    share = (high - p[0]) / (high - low)
    ends = (of_posterior(utility, p, low), of_posterior(utility, p, high))
    return share * ends[0] + (1 - share) * ends[1]


def simplex_optimum(utility, masses, side):
    """Posteriors with one side of lifts (l from below, or h from above) fill a simplex."""
    p = [number(m) for m in masses]
    total = Decimal(0)
    for own in p:
        lift = (1 - side * (1 - own)) / own
        total += own * (own * curve(utility, lift) + (1 - own) * curve(utility, side))
    return total


def masses_of(prior):
    return [Fraction(w, prior.total) for w in prior.weights]


def quiet(*arguments, **options):
    """A design; a gap is looked at here and needs no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        return md.design(*arguments, **options)


def check(found, optimum=None):
    """Everything that a sub-convex design claims of its optimality."""
    value = true_value(found.utility, masses_of(found.prior), found.mechanism.weights)
    scale = abs(value)
    # What is printed is the float nearest to the value, and a bound rounded up.
    assert abs(Decimal(found.value) - value) <= scale * Decimal(2) ** -52 + Decimal("5e-324")
    assert Decimal(found.bound) >= value
    assert found.bound >= found.value
    if optimum is not None:
        slack = Decimal(10) ** (-6 * getcontext().prec // 10)
        assert value <= optimum + slack
        assert optimum <= Decimal(found.bound)
        if found.certificate.gap_is_known:
            assert (optimum - value) <= Decimal(found.gap) * scale + slack
        else:
            assert scale == 0 < found.bound
    if found.gap < math.inf and scale:
        claimed = (Decimal(found.bound) - value) / scale
        assert abs(claimed - Decimal(found.gap)) <= Decimal(found.gap) / 1000 + Decimal("1e-15")
    assert found.certificate.is_optimal == (found.gap <= 1e-6)
    assert (found.status == "optimal") == (found.gap <= 1e-6)


@pytest.fixture(autouse=True)
def many_digits():
    with localcontext() as context:
        context.prec = DIGITS
        yield


def test_the_checker_knows_what_is_known():
    """A control: a textbook's value is met, and a kernel below the optimum is found out."""
    half = [Fraction(1, 2), Fraction(1, 2)]
    eye = np.array([[2**53, 0], [0, 2**53]])
    assert true_value(MI(), half, eye) == pytest.approx(Decimal(2).ln())
    assert true_value(TV(), half, eye) == Decimal("0.5")
    assert binary_optimum(CHI(), half, md.LDP(1)) < true_value(CHI(), half, eye)
    assert getcontext().prec == DIGITS


# Widths that are not finite


def test_a_width_that_is_not_finite_is_no_gap_of_zero(tmp_path):
    """χ² with a mass of 1e-160: 1/p² is beyond floats, and gap 0 was claimed for 57 %."""
    prior = md.Prior([0.5, 0.3, 0.2, 1e-160])
    for limit in (1e-6, 5.0):
        found = quiet(prior, CHI(), md.LDP(2), time_limit=limit)
        check(found)
        assert found.value == pytest.approx(0.8775368515828952, rel=1e-9)
        name = tmp_path / f"{limit}.json"
        md.save(found, name)
        assert md.load(name).gap == pytest.approx(found.gap, abs=1e-12)


# Exact masses


@for_each("utility", UTILITIES)
@for_each("cls", [md.LDP, md.PML, md.PMC, md.LIP])
@for_each("small", slow_but(3, SMALL))
def test_two_symbols_are_bounded_by_the_exact_optimum(utility, cls, small):
    """Total variation at masses of 1e-4 to 1e-12 had bounds 2e-13 to 2e-3 below its value."""
    getcontext().prec = DIGITS if small > 1e-100 else MANY_DIGITS
    prior = md.Prior([small, 1 - small])
    masses = masses_of(prior)
    for level in (*LEVELS, math.inf):
        notion = cls(level)
        found = quiet(prior, utility, notion)
        check(found, binary_optimum(utility, masses, notion))


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.integers(0, 30)), min_size=2, max_size=5),
    st.floats(-6, 1.5),
    st.sampled_from(UTILITIES),
    st.booleans(),
)
def test_simplices_are_bounded_by_the_exact_optimum(weights, power, utility, upper):
    prior = md.Prior.from_counts([Fraction(w) / 10**k for w, k in weights])
    level = 10**power
    if upper:
        level = -math.log1p(-prior.pmin) * 0.99 * level / (1 + level)
        if level < 1e-13:
            return
    side = Decimal(level if upper else -level).exp()
    found = quiet(prior, utility, md.PML(level) if upper else md.PMC(level))
    with localcontext() as context:
        context.prec = DIGITS
        side = Decimal(level if upper else -level).exp()
        check(found, simplex_optimum(utility, masses_of(prior), side))


def staircases(masses, ratio, rng):
    """A private kernel that has nothing to do with the design: a random mixture of staircases,
    each joined by the one that raises the other symbols, so that rows add up.
    """
    n = len(masses)
    weights = [Fraction(int(v)) for v in rng.integers(1, 9, 3)]
    columns = []
    for w in weights:
        raised = rng.random(n) < 0.5
        for which in (raised, ~raised):
            columns.append([w / sum(weights) * (ratio if up else 1) / (1 + ratio) for up in which])
    return columns


# Gaps of tiny values


def test_a_value_of_nothing_with_a_bound_above_it_has_an_unknown_gap(monkeypatch):
    """A level that 53 bits cannot hold: the constant kernel, and no ratio to zero."""
    prior = md.Prior([0.5, 0.3, 0.2])
    found = quiet(prior, CHI(), md.LDP(1e-16))
    assert found.value == 0 < found.bound
    assert found.gap == math.inf
    assert not found.certificate.gap_is_known
    assert not found.certificate.is_optimal
    assert found.status == "private, gap unknown"
    assert "gap unknown" in repr(found)
    with pytest.warns(GapWarning, match="its optimality is unknown"):
        md.design(prior, CHI(), md.LDP(1e-16))
    # Nothing to be had is another matter: zero is the optimum.
    nothing = md.design(prior, CHI(), md.LDP(0))
    assert (nothing.value, nothing.bound, nothing.gap) == (0.0, 0.0, 0.0)
    assert nothing.status == "optimal"


# Linear utilities in rationals


def linear_value(found, gains):
    masses = masses_of(found.prior)
    return sum(
        p * Fraction(int(w), 2**53) * Fraction(float(u))
        for p, row, gain in zip(masses, found.mechanism.weights, gains, strict=True)
        for w, u in zip(row, gain, strict=True)
    )


def linear_optimum(masses, gains, low):
    """PMC: every symbol goes to the output where its extreme posterior has the largest value."""
    columns = list(zip(*gains, strict=True))
    means = [sum(p * u for p, u in zip(masses, column, strict=True)) for column in columns]
    return sum(
        p * max(low * mean + (1 - low) * u for mean, u in zip(means, row, strict=True))
        for p, row in zip(masses, gains, strict=True)
    )


def check_linear(found, gains, optimum=None):
    value = linear_value(found, gains)
    width = Fraction(float(gains.max())) - Fraction(float(gains.min()))
    assert Fraction(found.bound) >= value
    assert abs(Fraction(found.value) - value) <= abs(value) / 2**52 + Fraction(5e-324)
    if optimum is not None:
        assert value <= optimum <= Fraction(found.bound)
        assert optimum - value <= Fraction(found.gap) * width
    assert found.certificate.is_optimal == (found.gap <= 1e-6)


def lowest(level):
    with localcontext() as context:
        context.prec = 80
        return Fraction((-Decimal(level)).exp())


@for_each("offset", [0.0, 1e8, 1e12, -3e15])
@for_each("scale", [1.0, 1e-290, 1e-310, 5e-323, 1e140])
def test_gains_far_from_zero_or_from_one(offset, scale):
    """Below 1e-310 gap 0 was claimed where it was 35 %; offsets cost eight digits of every sum."""
    rng = np.random.default_rng(7)
    prior = md.Prior([0.4, 0.3, 0.2, 0.1])
    gains = (offset + rng.uniform(-1, 1, (4, 4))) * (scale if offset == 0 else 1.0)
    exact = [[Fraction(float(u)) for u in row] for row in gains]
    for level in (0.3, 2.0):
        found = quiet(prior, md.utility.Matrix(gains), md.PMC(level))
        optimum = linear_optimum(masses_of(prior), exact, lowest(level))
        check_linear(found, gains, optimum)
        for notion in (md.LDP(level), md.PML(level), [md.LIP(level), md.LDP(level)]):
            check_linear(quiet(prior, md.utility.Matrix(gains), notion), gains)


@for_each("seed", slow_but(4, range(40)))
def test_gaps_of_linear_designs_are_those_of_rational_numbers(seed):
    rng = np.random.default_rng([13, seed])
    n, m = int(rng.integers(2, 7)), int(rng.integers(1, 7))
    tiny = 10.0 ** -rng.integers(0, (2, 30)[seed % 2], n)
    prior = md.Prior.from_counts([Fraction(float(w)) for w in rng.random(n) * tiny])
    gains = rng.normal(size=(n, m)) + (0.0, 1e9)[seed % 2]
    exact = [[Fraction(float(u)) for u in row] for row in gains]
    level = float(10 ** rng.uniform(-3, 1.5))
    found = quiet(prior, md.utility.Matrix(gains), md.PMC(level))
    check_linear(found, gains, linear_optimum(masses_of(prior), exact, lowest(level)))
    for notion in (md.LDP(level), md.PML(level), md.MaximalLeakage(level)):
        check_linear(quiet(prior, md.utility.Matrix(gains), notion), gains)


# Edge levels of other notions


# Functions that are given


@for_each("mass", [1e-142, 1e-170])
@for_each("f", [lambda t: (t - 1) ** 2, lambda t: t**3, lambda t: (np.sqrt(t) - 1) ** 2])
def test_a_function_is_not_blamed_for_masses_beyond_floats(f, mass):
    """f(1/p) overflows for every f that grows; lifts of LDP and PML stay small."""
    utility = md.utility.FInformation(f, "given")
    prior = md.Prior([0.5, 0.3, 0.2, mass])
    for notion in (md.LDP(1), md.PML(1), md.LIP(1)):
        found = md.design(prior, utility, notion)
        assert found.status == "optimal"
        assert found.certificate.rests_on_floats
        limit = md.design(md.Prior([0.5, 0.3, 0.2]), utility, notion)
        if notion == md.LDP(1):
            assert found.value == pytest.approx(limit.value, rel=1e-9)


def test_a_certificate_says_what_it_rests_on():
    prior = md.Prior([0.5, 0.3, 0.2])
    given_f = md.utility.FInformation(lambda t: (t - 1) ** 2, "squares")
    mine, own = md.design(prior, given_f, md.LDP(1)), md.design(prior, CHI(), md.LDP(1))
    assert mine.certificate.rests_on_floats
    assert not own.certificate.rests_on_floats
    assert mine.value == pytest.approx(own.value, rel=1e-12)
    assert not md.design(prior, md.utility.Hamming(), md.LDP(1)).certificate.rests_on_floats

    class Doubled(CHI, register=False):
        """Another function of lifts, known in floats alone."""

        def excess(self, deviations):
            return 2 * super().excess(deviations)

    twice = md.design(prior, Doubled(), md.LDP(1))
    assert twice.certificate.rests_on_floats
    assert twice.value == pytest.approx(2 * own.value, rel=1e-12)
    assert twice.bound == pytest.approx(2 * own.bound, rel=1e-9)


# Bounds by a search


def dearest_staircase(masses, prices, ratio):
    """Max F(d) − ⟨λ, d⟩ of χ² over all staircases, in rationals."""
    best = Fraction(0)
    for bits in range(1 << len(masses)):
        raised = [bool(bits >> i & 1) for i in range(len(masses))]
        scale = 1 + (ratio - 1) * sum(m for m, up in zip(masses, raised, strict=True) if up)
        deviations = [(ratio if up else 1) / scale - 1 for up in raised]
        value = sum(
            m * d * d - price * d for m, d, price in zip(masses, deviations, prices, strict=True)
        )
        best = max(best, value)
    return best


def test_a_search_is_not_misled_by_prices_of_symbols_that_floats_cannot_add(monkeypatch):
    """A price of 1e23 per mass, a solver's noise on a mass of 1e-30, and the columns that need not
    pay it were never looked at: the bound was 1e-6 below one of them.
    """
    from mechdesign.certificate import information
    from mechdesign.certificate.columns.families import make_family
    from mechdesign.privacy.constraint import Rounding
    from mechdesign.program.duals import Duals

    weights = [0.99893, 2.6e-31, 4.6e-8, 1.1e-29, 1.07e-3, 1.0e-30, 1.8e-7, 3.7e-23]
    prior = md.Prior.from_counts(weights)
    per_mass = np.array([-0.9916, 0, -1.61, 1.8e10, 0, 3.8e23, -1.613, 0])
    program = state_problem(prior, CHI(), md.LDP(0.96), time_limit=5).program
    sides = program.cone.two_sided(Rounding.OUTSIDE)
    family = make_family(prior, sides, CHI().excess)
    groups = family.groups
    raw = groups.average(prior.probabilities * per_mass)
    moderate, _ = information.moderate_prices(family, raw)
    assert np.abs(moderate / groups.masses).max() < 50
    prices = [Fraction(v) for v in groups.spread(moderate).tolist()]
    best = dearest_staircase(masses_of(prior), prices, Fraction(sides.ratio))
    # As if there were too many symbols to list all columns.
    monkeypatch.setattr(information, "listed_bound", lambda *_: None)
    duals = Duals(prior.probabilities * per_mass)
    for share in (1e-3, 1e-6, 1e-9):
        bound, source = information.sublinear_bound(program, duals, float(best) * (1 - share))
        assert "in floats" in source  # not from the list of all columns
        assert bound >= best


@for_each("seed", slow_but(4, range(12)))
def test_searches_and_lists_of_columns_bound_alike(seed, monkeypatch):
    """The search of many symbols, on few: never below the list, and near it."""
    from mechdesign.certificate import information

    rng = np.random.default_rng([17, seed])
    n = int(rng.integers(3, 8))
    spread = 10.0 ** -rng.integers(0, (2, 12)[seed % 2], n)
    prior = md.Prior.from_counts([Fraction(float(w)) for w in rng.random(n) * spread])
    notion = (md.LDP, md.PML, md.LIP)[seed % 3](float(10 ** rng.uniform(-2, 0.5)))
    utility = UTILITIES[seed % 2]
    listed = quiet(prior, utility, notion, solver="column-generation", time_limit=5)
    monkeypatch.setattr(information, "listed_bound", lambda *_: None)
    searched = quiet(prior, utility, notion, solver="column-generation", time_limit=5)
    assert searched.bound >= listed.bound * (1 - 1e-15)
    assert searched.bound <= listed.bound * (1 + 2e-6)
    check(listed)
    check(searched)


# Files of earlier versions


# Audits
