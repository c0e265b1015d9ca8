"""Exact arithmetic: enclosures, integer products and rounding, against 80-digit decimals."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mechdesign.exact import (
    Verdict,
    common_integers,
    compare_with_exp,
    dot,
    dyadic,
    exp_bounds,
    exp_upper,
    float_at_least,
    fraction,
    log_upper,
    scaled,
    sums_of_products,
)

HIGH = Context(prec=80, Emin=-999999, Emax=999999)
LARGEST = Fraction(np.finfo(float).max)

finite_floats = st.floats(allow_nan=False, allow_infinity=False)
fractions = st.one_of(
    st.fractions(),
    finite_floats.map(Fraction),
    st.tuples(st.integers(-(10**400), 10**400), st.integers(1, 10**350)).map(
        lambda pair: Fraction(*pair)
    ),
)
levels = st.one_of(
    st.floats(0, 1000), st.floats(0, 1e-300), st.floats(1e-20, 1e-3), st.sampled_from([0.0, 5e-324])
).map(Fraction)
positive_fractions = st.one_of(
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**9),
    st.tuples(st.integers(1, 10**60), st.integers(1, 10**60)).map(lambda pair: Fraction(*pair)),
    st.integers(1, 2**53).map(lambda k: 1 + Fraction(1, k)),
)


def decimal(value: Fraction) -> Decimal:
    return HIGH.divide(Decimal(value.numerator), Decimal(value.denominator))


def precise_exp(level: Fraction) -> Fraction:
    """e^level to nearly 80 digits (the level of a float is an exact decimal)."""
    with localcontext(HIGH) as context:
        context.prec = 1200
        exact = Decimal(level.numerator) / Decimal(level.denominator)
        context.prec = 80
        return Fraction(exact.exp())


# What numbers mean


@given(finite_floats)
def test_a_float_is_the_number_it_stores(value):
    assert float(fraction(value)) == value
    assert fraction(np.float64(value)) == fraction(value) == Fraction(value)


@for_each(
    ("value", "meant"),
    [
        (0.1, Fraction(3602879701896397, 36028797018963968)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (7, Fraction(7)),
        (True, Fraction(1)),
        (np.int64(3), Fraction(3)),
        (np.float32(0.5), Fraction(1, 2)),
    ],
)
def test_numbers_of_other_types(value, meant):
    assert fraction(value) == meant


@for_each("value", ["1", None, 1j, [1], math.nan, math.inf])
def test_what_is_not_a_number(value):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        fraction(value)


@given(st.lists(fractions, max_size=6))
def test_common_integers_give_the_values_back(values):
    numerators, denominator = common_integers(values)
    assert denominator >= 1
    assert [Fraction(n, denominator) for n in numerators] == values


# e^ε and log r


@given(levels)
@example(Fraction(0))
@example(Fraction(1))
@example(Fraction(30))
@example(Fraction(1e-4))
def test_exp_is_enclosed_tightly(level):
    lo, hi = exp_bounds(level)
    truth = precise_exp(level)
    slack = truth / 10**78
    assert lo <= truth + slack
    assert hi >= truth - slack
    assert hi - lo <= lo / 2**180
    if level:
        assert lo < hi
        assert hi > 1
    else:
        assert lo == hi == 1


@given(levels)
@example(Fraction(800))
@example(Fraction(709.78271289338397))
def test_exp_upper_is_the_least_float_above(level):
    upper = exp_upper(level)
    truth = precise_exp(level)
    if truth > LARGEST:
        assert upper == math.inf
        return
    assert Fraction(upper) >= truth * (1 - Fraction(1, 10**78))
    assert Fraction(math.nextafter(upper, 0)) < truth * (1 + Fraction(1, 10**78))


@given(positive_fractions)
@example(Fraction(1))
@example(Fraction(2))
@example(Fraction(1, 2))
@example(1 + Fraction(1, 2**53))
def test_log_upper_is_the_least_float_above(ratio):
    upper = log_upper(ratio)
    with localcontext(HIGH) as context:
        # Digits enough that log(1 + tiny) keeps eighty of its own.
        context.prec = 160
        truth = Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())
    slack = abs(truth) / 10**70 + Fraction(1, 10**120)
    assert Fraction(upper) >= truth - slack
    assert Fraction(math.nextafter(upper, -math.inf)) < truth + slack


@given(positive_fractions, levels)
def test_compare_with_exp_decides(ratio, level):
    verdict = compare_with_exp(ratio, level)
    truth = precise_exp(level)
    assume(abs(ratio - truth) > truth / 10**70 or level == 0)
    assert verdict is (Verdict.YES if ratio <= truth else Verdict.NO)


@given(levels, st.integers(2, 700))
def test_compare_with_exp_near_the_border(level, digits):
    """Ratios closer to e^ε than the first enclosure are decided by a finer one."""
    assume(level > 0)
    lo, hi = exp_bounds(level, 4096)
    nudge = Fraction(1, 10**digits)
    assert compare_with_exp(lo * (1 - nudge), level) is Verdict.YES
    assert compare_with_exp(hi * (1 + nudge), level) is Verdict.NO


def test_compare_with_exp_gives_up_undecided():
    lo, hi = exp_bounds(Fraction(1), 20000)
    assert compare_with_exp((lo + hi) / 2, Fraction(1)) is Verdict.UNDECIDED


@given(fractions)
@example(Fraction(0))
@example(LARGEST)
@example(LARGEST + 1)
@example(-LARGEST - 1)
@example(Fraction(1, 2**1080))
@example(Fraction(-1, 2**1080))
@example(Fraction(1, 3))
@example(Fraction(2**53 + 1))
def test_float_at_least_is_the_least_such_float(value):
    found = float_at_least(value)
    if found == math.inf:
        assert value > LARGEST
        return
    assert Fraction(found) >= value
    below = math.nextafter(found, -math.inf)
    assert below == -math.inf or Fraction(below) < value


# Integers


@st.composite
def float_matrices(draw, entry):
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(entry, min_size=m, max_size=m), min_size=n, max_size=n))
    return np.array(rows, dtype=float)


@given(
    st.one_of(
        float_matrices(st.floats(0, 1)),
        float_matrices(st.floats(0, 1, allow_subnormal=True) | st.sampled_from([5e-324, 0.0, 1.0])),
        float_matrices(finite_floats),
        float_matrices(st.integers(0, 1000).map(lambda k: k / 1000)),
        float_matrices(st.integers(0, 64).map(lambda k: k / 64)),
    )
)
def test_dyadic_is_exact(matrix):
    weights, bits = dyadic(matrix)
    assert bits >= 0
    for weight, value in zip(weights.ravel(), matrix.ravel(), strict=True):
        assert Fraction(int(weight), 2**bits) == Fraction(value)


def test_dyadic_keeps_short_numbers_short():
    weights, bits = dyadic(np.array([[0.5, 0.25], [0.75, 0.0]]))
    assert weights.dtype == np.int64
    assert bits == 2
    assert weights.tolist() == [[2, 1], [3, 0]]
    assert dyadic(np.zeros((2, 3)))[1] == 0
    assert dyadic(np.array([[1.0, 5e-324]]))[0].dtype == object


@st.composite
def products(draw):
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    weight = st.one_of(st.integers(0, 9), st.integers(0, 2**64), st.integers(0, 10**60))
    entry = st.one_of(st.integers(0, 9), st.integers(0, 2**53), st.integers(0, 2**62 - 1))
    weights = draw(st.lists(weight, min_size=n, max_size=n))
    rows = draw(st.lists(st.lists(entry, min_size=m, max_size=m), min_size=n, max_size=n))
    return weights, rows


@given(products(), st.booleans())
def test_dot_is_exact(product, boxed):
    weights, rows = product
    matrix = np.array(rows, dtype=object if boxed else np.int64)
    expected = [
        sum(w * row[y] for w, row in zip(weights, rows, strict=True)) for y in range(len(rows[0]))
    ]
    assert dot(weights, matrix) == expected


def test_dot_of_many_large_terms_does_not_overflow():
    n = 5000
    matrix = np.full((n, 2), 2**53, dtype=np.int64)
    weights = [2**200 - 1] * n
    assert dot(weights, matrix) == [n * (2**200 - 1) * 2**53] * 2
    assert dot([], np.zeros((0, 2), dtype=np.int64)) == [0, 0]


@given(
    st.lists(
        st.tuples(st.integers(0, 2**53), finite_floats, st.integers(0, 3)), min_size=0, max_size=20
    )
)
def test_sums_of_products_are_exact(terms):
    terms = sorted(terms, key=lambda term: term[2])
    weights = np.array([w for w, _, _ in terms], dtype=np.int64)
    values = np.array([v for _, v, _ in terms], dtype=float)
    groups = np.array([g for _, _, g in terms], dtype=np.intp)
    totals, unit = sums_of_products(weights, values, groups, 4)
    for group, total in enumerate(totals):
        expected = sum((w * Fraction(v) for w, v, g in terms if g == group), Fraction(0))
        assert scaled(total, unit) == expected


def test_many_large_terms_do_not_overflow():
    count = 100_000
    weights = np.full(count, 2**53)
    values = np.full(count, float(2**53 - 1))
    (total,), unit = sums_of_products(weights, values, np.zeros(count, dtype=np.intp), 1)
    assert scaled(total, unit) == count * 2**53 * (2**53 - 1)
