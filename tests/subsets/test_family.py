"""Reports of an affine family: marginals of one and two points, exactly; sums by transform."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each

from mechdesign.subsets.family import AffineFamily, is_prime

FAMILIES = [(5, 1, False), (2, 3, False), (3, 2, False), (5, 2, False), (2, 3, True), (3, 3, True)]


def listed(family):
    """Residues of every symbol at every report, and the class of each report."""
    reports = np.repeat(np.arange(family.reports), family.size)
    symbols = np.tile(np.arange(family.size), family.reports)
    residues, classes = family.residues(reports, symbols)
    shape = (family.reports, family.size)
    return residues.reshape(shape), classes.reshape(shape)[:, 0]


def digits(value, base, dimension):
    return [value // base**i % base for i in range(dimension)]


@for_each(("base", "dimension", "projective"), FAMILIES)
def test_every_symbol_has_each_residue_equally_often(base, dimension, projective):
    family = AffineFamily(base**dimension, base, dimension, projective)
    residues, _ = listed(family)
    for column in residues.T:
        assert set(Counter(column.tolist()).values()) == {family.directions}


@for_each(("base", "dimension", "projective"), FAMILIES)
def test_two_symbols_have_pairs_of_residues_equally_often(base, dimension, projective):
    family = AffineFamily(base**dimension, base, dimension, projective)
    residues, _ = listed(family)
    alike = Fraction(base ** (dimension - 1) - 1, base**dimension - 1)
    for x in range(family.size):
        for z in range(x):
            pairs = Counter(zip(residues[:, x].tolist(), residues[:, z].tolist(), strict=True))
            equal = sum(n for (s, t), n in pairs.items() if s == t)
            assert Fraction(equal, family.reports) == alike
            if not projective:
                # Every pair of different residues, not only their number.
                unequal = {pairs[s, t] for s in range(base) for t in range(base) if s != t}
                assert len(unequal) == 1


def test_one_direction_of_each_line_balances_single_residues_only():
    """A control: pairs of different residues differ, so that t = 1 alone may use lines."""
    residues, _ = listed(AffineFamily(9, 3, 2, True))
    pairs = Counter(zip(residues[:, 1].tolist(), residues[:, 2].tolist(), strict=True))
    assert len({pairs[s, t] for s in range(3) for t in range(3) if s != t}) > 1
    both = {sum((residues[:, x] == 0) & (residues[:, z] == 0)) for x in range(9) for z in range(x)}
    assert len(both) == 1


def test_residues_are_inner_products():
    family = AffineFamily(40, 5, 3)
    residues, classes = listed(family)
    for report in range(0, family.reports, 7):
        direction, shift = divmod(report, 5)
        u = digits(direction + 1, 5, 3)
        assert classes[report] == next(i for i, digit in enumerate(u) if digit)
        for x in range(family.size):
            inner = sum(a * b for a, b in zip(u, digits(x, 5, 3), strict=True))
            assert residues[report, x] == (inner + shift) % 5


def test_lines_have_one_direction_each():
    family = AffineFamily(27, 3, 3, True)
    vectors, classes = family.vectors(np.arange(family.directions))
    found = [tuple(digits(v, 3, 3)) for v in vectors.tolist()]
    twice = [tuple(2 * d % 3 for d in u) for u in found]
    assert len({*found, *twice}) == 26
    assert all(next(d for d in u if d) == 1 for u in found)
    shares = Counter(classes.tolist())
    for i in range(3):
        share = Fraction(*family.class_share(i))
        assert Fraction(shares[i], family.directions) == share


@for_each(("base", "dimension", "projective"), [*FAMILIES, (7, 1, True)])
def test_the_report_of_a_residue_has_it(base, dimension, projective):
    family = AffineFamily(base**dimension - 1, base, dimension, projective)
    rng = np.random.default_rng(1)
    directions = rng.integers(0, family.directions, 200)
    symbols = rng.integers(0, family.size, 200)
    wanted = rng.integers(0, base, 200)
    reports = family.reports_at(directions, symbols, wanted)
    assert (family.residues(reports, symbols)[0] == wanted).all()
    assert (family.split(reports)[0] == directions).all()


@for_each(("base", "dimension", "projective"), [*FAMILIES, (13, 2, False)])
def test_the_transform_is_the_sum_over_reports(base, dimension, projective):
    family = AffineFamily(base**dimension - 1, base, dimension, projective)
    rng = np.random.default_rng(2)
    reports = np.unique(rng.integers(0, family.reports, 300))
    counts = rng.integers(1, 9, len(reports))
    scores = rng.normal(size=(dimension, base))
    if projective:
        # The first residue apart from the others: what lines can be used for.
        scores = np.outer(scores[:, 0], np.arange(base) == 0)
    scores -= scores.mean(axis=1, keepdims=True)
    want = np.zeros(family.size)
    for report, count in zip(reports, counts, strict=True):
        residues, classes = family.residues(np.full(family.size, report), np.arange(family.size))
        want += count * scores[classes, residues]
    assert family.transform(reports, counts, scores) == pytest.approx(want, abs=1e-9)


def test_cells_hold_the_symbols_with_the_same_upper_digits():
    family, masses = AffineFamily(11, 3, 3), np.arange(11.0)
    for i in range(4):
        want = [sum(z for z in range(11) if z // 3**i == x // 3**i) for x in range(11)]
        assert family.cell_masses(masses, i).tolist() == want


@for_each(
    "numbers",
    [(5, 4, 2), (5, 5, 0), (26, 5, 2), (0, 5, 1), (5, 9, 1), (5, 5, 1, 1), (5, 2, 60), (5.0, 5, 1)],
)
def test_numbers_that_make_no_family_are_refused(numbers):
    with pytest.raises(ValueError):
        AffineFamily(*numbers)


def test_primes():
    sieve = [n for n in range(2, 200) if not any(n % k == 0 for k in range(2, n))]
    assert [n for n in range(-3, 200) if is_prime(n)] == sieve


@pytest.mark.parametrize("size", [5, 12])
def test_few_lines_of_a_large_space_are_read_one_by_one(size):
    family = AffineFamily(size, 101, 2, projective=True)
    assert family.is_read_by_lines
    assert not AffineFamily(101**2, 101, 2, projective=True).is_read_by_lines
    rng = np.random.default_rng(3)
    reports = np.unique(rng.integers(0, family.reports, 400))
    counts = rng.integers(1, 9, len(reports))
    scores = np.outer(rng.normal(size=2), 101 * (np.arange(101) == 0) - 1)
    want = np.zeros(size)
    for report, count in zip(reports, counts, strict=True):
        residues, classes = family.residues(np.full(size, report), np.arange(size))
        want += count * scores[classes, residues]
    assert family.transform(reports, counts, scores) == pytest.approx(want, abs=1e-9)
