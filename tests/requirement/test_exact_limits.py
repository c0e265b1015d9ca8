"""Limits are evaluated exactly: against sums of fractions, term by term, and distances at ties."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign import require
from mechdesign.mechanism import Mechanism
from mechdesign.requirement import Limit

BITS = 53
wide = st.floats(-1e150, 1e150, allow_subnormal=False)


def one_by_one(limit, weights):
    total = Fraction(0)
    for x, y, value in zip(limit.symbols, limit.outputs, limit.values.tolist(), strict=True):
        scale = 1 if limit.factors is None else limit.factors[x]
        total += scale * Fraction(value) * int(weights[x, y])
    return total / 2**BITS


@given(st.lists(wide, min_size=1, max_size=12), st.integers(0, 10**6), st.booleans())
def test_a_limit_is_evaluated_exactly(values, seed, is_scaled):
    rng = np.random.default_rng(seed)
    count = len(values)
    x, y = rng.integers(0, 3, count), rng.integers(0, 4, count)
    scales = tuple(Fraction(int(a), int(b)) for a, b in rng.integers(1, 10**9, (3, 2)))
    limit = Limit(x, y, np.array(values), None, None, "", scales if is_scaled else None)
    weights = rng.integers(0, 2**BITS + 1, (3, 4)) * rng.integers(0, 2, (3, 4))
    expected = one_by_one(limit, weights)
    assert limit.exactly(weights, BITS) == expected
    assert limit.exactly(weights.astype(object), BITS) == expected
    assert limit.exactly(weights.astype(object) << 40, BITS + 40) == expected


@pytest.mark.parametrize("unit", [-1, 0, 1])
def test_one_unit_beyond_an_end_is_seen(unit):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 2**45, (200, 200))
    x, y = np.divmod(np.arange(40_000), 200)
    values = rng.random(40_000)
    reached = one_by_one(Limit(x, y, values, None, None, ""), weights)
    least = Fraction(1, 2**110)
    limit = Limit(x, y, values, None, reached + unit * least, "")
    assert limit.is_kept(weights, BITS) == (unit >= 0)
    limit = Limit(x, y, values, reached + unit * least, None, "")
    assert limit.is_kept(weights, BITS) == (unit <= 0)


@for_each(
    ("labels", "limit"),
    [
        ([0.1, 0.2, 0.3, 0.4], 0.1),
        ([0.1, 0.3, 0.7, 1.1, 1e17], 0.4),
        ([0, 1, 2, 3], 1),
        ([2**60, 2**60 + 1, 2**60 + 3, 0], 1),
        ([0.5, 2**70, 1], 0.5),
    ],
)
def test_distances_at_the_limit_are_compared_exactly(labels, limit):
    prior = md.Prior([1 / len(labels)] * len(labels), labels=labels)
    forbidden = require.zero(farther_than=limit).limits(prior, labels)
    found = {(x, y) for part in forbidden for x, y in zip(part.symbols, part.outputs, strict=True)}
    expected = {
        (x, y)
        for x, a in enumerate(labels)
        for y, b in enumerate(labels)
        if abs(Fraction(a) - Fraction(b)) > Fraction(limit)
    }
    assert found == expected


def test_the_largest_entry_that_must_be_zero_is_named():
    prior = md.Prior.uniform(3)
    mechanism = Mechanism.from_weights([[4, 3, 1], [0, 8, 0], [2, 0, 6]], 3, prior.labels)
    expected = (Fraction(1, 4), "P(0 | 2)")
    assert require.zero(farther_than=1).excess(mechanism, prior) == expected
    pattern = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert require.zero(pattern=pattern).excess(mechanism, prior) == expected
    assert require.zero(farther_than=5).excess(mechanism, prior)[0] == 0
