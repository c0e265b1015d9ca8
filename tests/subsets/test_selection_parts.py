"""Which symbols reports raise: marginals of one and two symbols, exactly; shifts, sums, means."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from checks import for_each
from masses_in_groups import levels_of

from mechdesign.exact import DENOMINATOR
from mechdesign.subsets import ReportType
from mechdesign.subsets.parts import IN_ORDER, Part, balanced

# Symbols, base, dimension, raised residues and a middle one; of the last permutations of all.
SPACES = [
    (5, 5, 1, 2, True),
    (8, 2, 3, 1, False),
    (9, 3, 2, 1, False),
    (9, 3, 2, 1, True),
    (26, 3, 3, 2, False),
    (6, 7, 1, 3, True),
    (7, 3, 2, 1, True),
]
PERMUTED = [(4, 2, True), (6, 3, True), (8, 3, False), (12, 4, True), (30, 4, True), (10, 1, False)]
FOURTH = DENOMINATOR // 4


def parts():
    for size, base, dimension, count, middle in SPACES:
        rest = base - count - 1
        low = FOURTH // rest if rest else 0
        weights = DENOMINATOR - (FOURTH if middle else low) - low * rest, FOURTH if middle else low
        yield Part(size, base, dimension, count, (weights,) * dimension)
    for size, count, middle in PERMUTED:
        low = FOURTH // (size - count - 1)
        high = DENOMINATOR - (2 if middle else 1) * low - low * (size - count - 1)
        placements = balanced(size, count, middle=middle)
        yield Part(size, size, 1, count, ((high, (1 + middle) * low),), placements)


def listed(part):
    """The directions, the class of every report, and the level of each symbol, ``(R, n)``."""
    one = ReportType((DENOMINATOR,), {0: part})
    (directions,) = one.slots
    shape = (one.reports, part.size)
    reports, symbols = (each.ravel() for each in np.indices(shape))
    drawn, shifts = one.drawn(reports)[0]
    levels = levels_of(part, drawn, shifts, symbols)
    return directions, drawn[1].reshape(shape)[:, 0], levels.reshape(shape)


@for_each("part", parts)
def test_all_pairs_of_symbols_have_the_chances_of_a_design(part):
    """Those of a random permutation, but for points that a direction does not tell apart."""
    directions, classes, levels = listed(part)
    q, v, n = part.base, part.base**part.dimension, part.size
    chances = directions.chances / q
    assert sum(chances) * directions.each * q == 1
    same = np.where(np.eye(n, dtype=bool), 1, Fraction(v // q - 1, v - 1))
    # Levels of one value are not told apart.
    names = [part.values[0].index(value) for value in part.values[0]]
    levels = np.array(names)[levels].reshape(len(chances), -1, n)
    for a, b in product(set(names), repeat=2):
        own, other = (
            sum(k for name, k in zip(names, part.sizes, strict=True) if name == level)
            for level in (a, b)
        )
        met = sum(
            chance * ((rows == a).astype(int).T @ (rows == b).astype(int)).astype(object)
            for chance, rows in zip(chances, levels, strict=True)
        )
        apart = Fraction(own * (other - (a == b)), q * (q - 1))
        assert (met == Fraction(own * (a == b), q) * same + apart * (1 - same)).all()
    shares = Counter(classes.tolist())
    for c in range(part.dimension):
        lines = (q - 1) * q ** (part.dimension - 1 - c)
        assert Fraction(shares[c], len(classes)) == Fraction(lines, v - 1)


@for_each("part", parts)
def test_means_over_symbols_are_between_their_ends_and_reach_them(part):
    _, classes, levels = listed(part)
    for c in range(part.dimension):
        values = np.array(part.values[c])[levels[classes == c]]
        most, least, *ends = part.ends(c)
        means = values.sum(axis=1) / part.size
        assert (values.max(), values.min()) == (most, least)
        assert [means.min(), means.max()] == ends
    # Directions that tell none of the symbols apart.
    assert set(part.ends(part.dimension)) == {1}


@for_each("part", parts)
def test_shifts_bring_residues_and_sums_are_those_over_reports(part):
    one, rng = ReportType((DENOMINATOR,), {0: part}), np.random.default_rng(2)
    (directions,) = one.slots
    drawn = directions.at(np.repeat(np.arange(directions.number), part.base))
    residues = np.tile(np.arange(part.base), directions.number)
    symbols = np.repeat(rng.integers(0, part.size, directions.number), part.base)
    shifts = part.shifts_at(drawn, symbols, residues)
    want = np.searchsorted(np.cumsum(part.sizes), residues, side="right")
    values = np.array(part.values[0])
    assert (values[levels_of(part, drawn, shifts, symbols)] == values[want]).all()
    # At each direction every residue has a shift of its own.
    assert (np.sort(shifts.reshape(-1, part.base)) == np.arange(part.base)).all()
    _, classes, levels = listed(part)
    some = np.unique(rng.integers(0, one.reports, 40))
    counts = rng.integers(1, 9, len(some))
    scores = rng.normal(size=(part.dimension, len(part.sizes)))
    if part.others_are_alike:
        scores[:, 1:] = scores[:, 1:2]
    scores -= (scores @ part.sizes)[:, None] / part.base
    found = part.transform(*one.drawn(some)[0], counts, scores)
    want = counts @ scores[classes[some][:, None], levels[some]]
    assert found == pytest.approx(want, abs=1e-9)


def test_numbers_that_make_no_part_are_refused():
    good = {"size": 5, "base": 5, "dimension": 1, "count": 2, "weights": ((DENOMINATOR, 0),)}
    placed = {
        **good,
        "size": 12,
        "base": 12,
        "count": 4,
        "placements": balanced(12, 4, middle=True),
    }
    elements, masses = placed["placements"]
    assert len(masses) > 1
    assert balanced(5040, 9, middle=True)  # of 58 divisors, whose pairs are rare
    for fields in (good, placed):
        Part(**fields)
    for change in (
        {"size": 26, "base": 5, "dimension": 2},
        {"base": 9},
        {"base": 5.0},
        {"base": True},
        {"base": 2053},
        {"base": 2, "count": 1, "dimension": 31, "weights": ((DENOMINATOR, 0),) * 31},
        {"dimension": 2},
        {"weights": ((DENOMINATOR + 1, 0),)},
        {"weights": ((-1, 0),)},
        {"count": 0},
        {"count": 5},
        {"count": 4},
        {"placements": (elements, masses)},
        {**placed, "placements": IN_ORDER},
        {**placed, "placements": (elements[:1], (1,))},
        {**placed, "placements": (elements, (1,) * len(masses))},
        {**placed, "placements": (elements, masses[1:])},
        {**placed, "placements": (elements, (0, *masses[1:]))},
        {**placed, "placements": (((0, 0, 1, 2, 3),), (1,))},
        {**placed, "placements": (((0, 1, 2, 3, 12),), (1,))},
        {**placed, "placements": balanced(12, 4, middle=False), "weights": ((1 << 52, 1 << 51),)},
    ):
        low = {"weights": ((1 << 52, 0),)} if change == {"count": 4} else {}
        with pytest.raises(ValueError, match="expected"):
            Part(**{**good, **change, **low})
