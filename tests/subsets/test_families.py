"""Families of subsets: marginals of one and two symbols, exactly; sums by transform; files."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.subsets import PermutedFamily
from mechdesign.subsets.family import AffineFamily
from mechdesign.subsets.finite_fields import Field, is_prime
from mechdesign.subsets.permuted import permuted_family

AFFINE = [(5, 1, False), (2, 3, False), (3, 2, False), (2, 3, True), (3, 3, True), (7, 1, True)]
PERMUTED = [(4, 2, True), (6, 2, False), (6, 3, True), (12, 4, True), (30, 4, True), (7, 1, False)]


def families():
    for base, dimension, projective in AFFINE:
        yield AffineFamily(base**dimension - (base > 2), base, dimension, projective)
    for size, count, middle in PERMUTED:
        yield permuted_family(size, count, middle=middle)


def listed(family):
    """Residues of every symbol at every report, (R, N), and the class of each report."""
    shape = (family.reports, family.size)
    reports, symbols = (part.ravel() for part in np.indices(shape))
    residues, classes = family.residues(reports, symbols)
    return residues.reshape(shape), classes.reshape(shape)[:, 0]


@for_each(("p", "k"), [(2, 1), (7, 1), (2, 3), (3, 2)])
def test_fields_are_fields(p, k):
    field, q = Field(p, k), p**k
    x, y = (part.ravel() for part in np.indices((q, q)))
    for work in (field.times, field.plus):
        table = work(x, y).reshape(q, q)
        assert (table == table.T).all()
        assert set(table.ravel()) == set(range(q))
    assert (field.minus(field.plus(x, y), y) == x).all()
    assert (field.times(x[x > 0], field.inverse(x[x > 0])) == 1).all()
    a, b, c = (part.ravel() for part in np.indices((q, q, q)))
    left = field.times(a, field.plus(b, c))
    assert (left == field.plus(field.times(a, b), field.times(a, c))).all()
    assert (field.times(field.times(a, b), c) == field.times(a, field.times(b, c))).all()
    sieve = [n for n in range(2, 200) if not any(n % d == 0 for d in range(2, n))]
    assert [n for n in range(-3, 200) if is_prime(n)] == sieve


@for_each(("base", "dimension", "projective"), AFFINE)
def test_blocks_balance_symbols_and_pairs(base, dimension, projective):
    family = AffineFamily(base**dimension, base, dimension, projective)
    residues, classes = listed(family)
    for column in residues.T:
        assert set(Counter(column.tolist()).values()) == {family.directions}
    alike = Fraction(base ** (dimension - 1) - 1, base**dimension - 1)
    unlike = set()
    for x, z in product(range(family.size), repeat=2):
        pairs = Counter(zip(residues[:, x].tolist(), residues[:, z].tolist(), strict=True))
        if x > z:
            assert Fraction(sum(pairs[s, s] for s in range(base)), family.reports) == alike
            unlike |= {pairs[s, t] for s in range(base) for t in range(base) if s != t}
    # One direction of each line balances single residues only, so that t = 1 alone may use lines.
    assert (len(unlike) > 1) == (projective and base > 2)
    shares = Counter(classes.tolist())
    for i in range(dimension):
        assert Fraction(shares[i], family.reports) == Fraction(*family.class_share(i))
    if not projective:
        # Residues are inner products of digits.
        digits = np.array(np.unravel_index(np.arange(base**dimension), (base,) * dimension, "F"))
        for report in range(0, family.reports, 3):
            direction, shift = divmod(report, base)
            inner = digits[:, direction + 1] @ digits
            assert (residues[report] == (inner + shift) % base).all()


def pair_chances(family, masses):
    """For every ordered pair of symbols the exact chances of their levels."""
    residues, _ = listed(family)
    levels = np.digitize(residues, [family.count, len(family.placements[0])])
    each, found = family.units * family.size, set()
    for x, z in product(range(family.size), repeat=2):
        parts = (levels[:, x] * 3 + levels[:, z]).reshape(-1, each)
        met = [np.bincount(part, minlength=9).tolist() for part in parts]
        if x != z:
            found.add(
                tuple((np.array(masses, dtype=object) @ np.array(met, dtype=object)).tolist())
            )
    return found


@for_each(("n", "count", "middle"), PERMUTED)
def test_permutations_treat_all_pairs_of_symbols_alike(n, count, middle):
    family = permuted_family(n, count, middle=middle)
    (chances,) = pair_chances(family, family.masses)
    total = sum(chances)
    # As for a random permutation of the column.
    high, other = Fraction(count, n), Fraction(1, n) if middle else Fraction(0)
    assert Fraction(chances[0], total) == high * Fraction(count - 1, n - 1)
    assert Fraction(chances[1], total) == other * Fraction(count, n - 1)


def test_numbers_that_make_no_family_are_refused():
    for numbers in (
        (5, 4, 2),
        (26, 5, 2),
        (0, 5, 1),
        (5, 9, 1),
        (5, 5, 1, 1),
        (5, 2, 60),
        (5.0, 5, 1),
    ):
        with pytest.raises(ValueError):
            AffineFamily(*numbers)
    family = permuted_family(12, 4, middle=True)
    assert len(family.placements) > 1
    # A placement alone does not balance pairs, so that the masses matter.
    assert len(pair_chances(family, [1] + [0] * (len(family.masses) - 1))) > 1
    for placements, masses in (
        (family.placements[:1], (1,)),
        (family.placements, (1,) * len(family.masses)),
        (family.placements, family.masses[1:]),
        (family.placements, (0, *family.masses[1:])),
        (((0, 0, 1, 2, 3),), (1,)),
        (((0, 1, 2, 3, 12),), (1,)),
    ):
        with pytest.raises(ValueError, match=r"balanced|expected"):
            PermutedFamily(12, 4, placements, masses)


@for_each("family", families)
def test_reports_of_residues_and_sums_over_reports(family):
    residues, classes = listed(family)
    reports = np.arange(family.reports)
    for x in range(family.size):
        same = family.reports_at(family.split(reports)[0], np.full(len(reports), x), residues[:, x])
        assert (same == reports).all()
    rng = np.random.default_rng(2)
    some = np.unique(rng.integers(0, family.reports, 40))
    counts, scores = rng.integers(1, 9, len(some)), rng.normal(size=(family.dimension, family.base))
    if isinstance(family, PermutedFamily):
        scores[:, len(family.placements[0]) :] = 0.3
    elif family.projective:
        # The first residue apart from the others: what lines can be used for.
        scores = np.outer(scores[:, 0], np.arange(family.base) == 0)
    if not isinstance(family, PermutedFamily):
        scores -= scores.mean(axis=1, keepdims=True)
    want = counts @ scores[classes[some][:, None], residues[some]]
    assert family.transform(some, counts, scores) == pytest.approx(want, abs=1e-9)


@for_each("size", [5, 12])
def test_few_lines_of_a_large_space_are_read_one_by_one(size, monkeypatch):
    family, rng = AffineFamily(size, 101, 2, projective=True), np.random.default_rng(3)
    reports = np.unique(rng.integers(0, family.reports, 400))
    counts = rng.integers(1, 9, len(reports))
    scores = np.outer(rng.normal(size=2), 101 * (np.arange(101) == 0) - 1)
    found = family.transform(reports, counts, scores)
    assert found == pytest.approx(family._sums_by_lines(reports, counts, scores), abs=0)
    monkeypatch.setattr(AffineFamily, "_sums_by_lines", None)
    monkeypatch.setattr(AffineFamily, "_lines_are_few", lambda *_: False)
    assert found == pytest.approx(family.transform(reports, counts, scores), abs=1e-9)


def test_cells_hold_the_symbols_with_the_same_upper_digits():
    family, masses = AffineFamily(11, 3, 3), np.arange(11.0)
    for i in range(4):
        want = [sum(z for z in range(11) if z // 3**i == x // 3**i) for x in range(11)]
        assert family.cell_masses(masses, i).tolist() == want


def test_words_decide_on_placements_with_exactly_their_masses():
    family = permuted_family(12, 4, middle=True)
    total, ends = family.total_mass, np.cumsum(family.masses).tolist()
    assert any((end << 64) % total for end in ends)
    for b, end in enumerate(ends[:-1]):
        word = (end << 64) // total
        inside = (end << 64) - word * total  # of the word's `total` parts, those before the end
        words = np.array([word - 1, word, word + 1], dtype=np.uint64)
        for part, place in ((0, b), (inside - 1, b), (inside, b + 1), (total - 1, b + 1)):
            if part >= 0:
                # No row but that of a word that is cut is asked about.
                parts = {1: part} if inside else {}
                found = family.placements_at(words, parts.__getitem__)
                assert found.tolist() == [b, place if inside else b + 1, b + 1]


@pytest.mark.slow
@for_each(
    ("n", "notion"),
    slow_but(
        0,
        [
            (50, md.PML(3)),
            (200, md.LDP(1)),
            (210, md.PML(1)),
            (500, md.PML(5)),
            (1000, md.LIP(1)),
            (1_000_000, md.PML(9)),
        ],
    ),
)
def test_the_error_is_the_least_of_all_kernels(n, notion):
    found = md.subset_selection(n, notion, tolerance=0)
    assert found.gap <= 1e-10
    assert found.check(notion).verdict is md.Verdict.YES
    assert found.check(type(notion)(notion.epsilon * 0.999)).verdict is md.Verdict.NO
