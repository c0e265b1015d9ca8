"""Permutations of one column without a list of them, held against brute force and dense designs."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.errors import StorageError
from mechdesign.storage import from_json, seal, to_json
from mechdesign.subsets import PermutedFamily
from mechdesign.subsets.finite_fields import Field
from mechdesign.subsets.permuted import permuted_family
from mechdesign.utility import Estimation

SHAPES = [(4, 2, True), (6, 2, False), (6, 3, True), (10, 3, True), (12, 4, True), (30, 4, True)]


@for_each(("p", "k"), [(2, 1), (7, 1), (2, 3), (3, 2), (5, 2)])
def test_fields_are_fields(p, k):
    field, q = Field(p, k), p**k
    x, y = (part.ravel() for part in np.meshgrid(np.arange(q), np.arange(q)))
    for work in (field.times, field.plus):
        table = work(x, y).reshape(q, q)
        assert (table == table.T).all()
        assert (table >= 0).all()
        assert (table < q).all()
    assert (field.minus(field.plus(x, y), y) == x).all()
    some = np.arange(1, q)
    assert (field.times(some, field.inverse(some)) == 1).all()
    for a, b, c in product(range(min(q, 6)), repeat=3):
        left, middle, right = (np.array([v]) for v in (a, b, c))
        whole = field.times(left, field.plus(middle, right))
        assert whole == field.plus(field.times(left, middle), field.times(left, right))
        assert field.times(field.times(left, middle), right) == field.times(
            left, field.times(middle, right)
        )


def levels_of(family):
    """Which level every symbol has at every report: 0 high, 1 in the middle, 2 low, (R, N)."""
    count, listed = family.count, len(family.placements[0])
    reports = np.arange(family.reports)
    columns = [family.residues(reports, np.full(len(reports), x))[0] for x in range(family.size)]
    return np.digitize(np.array(columns).T, [count, listed])


def pair_chances(family, masses):
    """For every ordered pair of symbols the exact chances of their levels."""
    levels, each = levels_of(family), family.units * family.size
    found = set()
    for x, z in product(range(family.size), repeat=2):
        if x == z:
            continue
        chances = [0] * 9
        for b, mass in enumerate(masses):
            part = slice(b * each, (b + 1) * each)
            met = np.bincount(levels[part, x] * 3 + levels[part, z], minlength=9)
            chances = [a + mass * int(m) for a, m in zip(chances, met, strict=True)]
        found.add(tuple(chances))
    return found


@for_each(("n", "count", "middle"), SHAPES)
def test_all_pairs_of_symbols_are_alike(n, count, middle):
    family = permuted_family(n, count, middle=middle)
    (chances,) = pair_chances(family, family.masses)
    total = sum(chances)
    # As for a random permutation of the column.
    high, other = Fraction(count, n), Fraction(1, n) if middle else Fraction(0)
    assert Fraction(chances[0], total) == high * Fraction(count - 1, n - 1)
    assert Fraction(chances[1], total) == other * Fraction(count, n - 1)


def test_a_placement_alone_does_not_balance_pairs():
    """The control: so the masses matter, and a family without them is refused."""
    family = permuted_family(12, 4, middle=True)
    assert len(family.placements) > 1
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


@for_each(("n", "count", "middle"), SHAPES)
def test_reports_and_residues_are_inverse(n, count, middle):
    family = permuted_family(n, count, middle=middle)
    reports = np.arange(family.reports)
    for x in range(n):
        symbols = np.full(len(reports), x)
        residues, _ = family.residues(reports, symbols)
        assert (family.reports_at(family.split(reports)[0], symbols, residues) == reports).all()


@for_each(("n", "count", "middle"), [*SHAPES, (5, 4, True), (7, 1, False)])
def test_sums_over_reports(n, count, middle):
    family, rng = permuted_family(n, count, middle=middle), np.random.default_rng(n)
    levels = rng.normal(size=3)
    ranks = np.arange(n)
    scores = levels[np.digitize(ranks, [count, count + middle])][None]
    reports = np.sort(rng.choice(family.reports, min(family.reports, 40), replace=False))
    counts = rng.integers(1, 9, len(reports))
    want = [
        sum(
            times * scores[0][family.residues(np.array([y]), np.array([x]))[0][0]]
            for y, times in zip(reports, counts, strict=True)
        )
        for x in range(n)
    ]
    assert family.transform(reports, counts, scores) == pytest.approx(want, abs=1e-9)


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
                found = family.placements_at(words, partial(_told, {1: part} if inside else {}))
                assert found.tolist() == [b, place if inside else b + 1, b + 1]


def _told(parts, row):
    """The place in a word that is cut; no other row is asked about."""
    return parts[row]


@for_each("notion", [md.LDP(1), md.LIP(1), md.PML(1), md.LIP(3), md.PMC(0.5)])
@for_each("n", slow_but(1, [4, 10, 21]))
def test_the_error_is_that_of_the_best_matrix(n, notion):
    found = md.subset_selection(n, notion)
    dense = md.design(md.Prior.uniform(n), Estimation(), notion)
    assert found.gap <= 1e-12
    assert found.risk == pytest.approx(dense.risk, rel=1e-9)
    assert found.bound <= dense.risk * (1 + 1e-12)


@pytest.mark.slow
@for_each(
    ("n", "notion"),
    [
        (50, md.LIP(3)),
        (50, md.PML(3)),
        (200, md.LDP(1)),
        (210, md.PML(1)),
        (500, md.PML(5)),
        (1000, md.LIP(1)),
        (1_000_000, md.PML(9)),
    ],
)
def test_the_error_is_the_least_of_all_kernels(n, notion):
    found = md.subset_selection(n, notion, tolerance=0)
    assert found.gap <= 1e-11
    assert found.check(notion).verdict is md.Verdict.YES
    assert found.check(type(notion)(notion.epsilon * 0.999)).verdict is md.Verdict.NO


def test_drawn_reports_have_the_chances_of_the_kernel():
    from scipy.stats import chi2

    selection = md.subset_selection(12, md.PML(1.2))
    assert len(selection.family.placements) > 1
    n = 200_000
    drawn = md.Sampler(selection, rng=5).draw_codes(np.full(n, 7))
    chances = np.array([float(selection.probability(7, y)) for y in selection.outputs])
    met = np.bincount(drawn, minlength=len(chances))
    assert not met[chances == 0].any()
    used = chances > 0
    distance = ((met[used] - n * chances[used]) ** 2 / (n * chances[used])).sum()
    assert distance < chi2.isf(1e-6, used.sum() - 1)
    other = np.array([float(selection.probability(8, y)) for y in selection.outputs])
    both = used & (other > 0)
    assert ((met[both] - n * other[both]) ** 2 / (n * other[both])).sum() > distance


def test_estimates_come_as_near_as_predicted():
    selection = md.subset_selection(60, md.PML(3), tolerance=0)
    truth = np.arange(1, 61) / np.arange(1, 61).sum()
    rng, n, errors = np.random.default_rng(4), 4000, []
    for trial in range(20):
        symbols = rng.choice(60, n, p=truth)
        made = md.estimate(md.Sampler(selection, rng=trial).draw_codes(symbols), selection)
        errors.append(n * ((made.values - truth) ** 2).sum())
    want = selection.risk_at(truth)
    assert abs(np.mean(errors) / want - 1) < 0.15
    assert abs(np.mean(errors) / (1.5 * want) - 1) > 0.15


def test_what_is_saved_is_loaded_and_what_is_forged_is_not(tmp_path):
    selection = md.subset_selection(12, md.PML(1.2))
    md.save(selection, tmp_path / "few.json")
    found = md.load(tmp_path / "few.json")
    assert found == selection
    assert found.family == selection.family
    assert found.certificate == selection.certificate
    for path, value in (
        (("placements", 0, "mass"), "12345"),
        (("placements", 0, "mass"), "0"),
        (("placements", 0, "elements", 0), selection.family.placements[0][1]),
        (("placements", 0, "elements", 0), 12),
        (("base",), 13),
        (("profiles", 0, "count"), 1),
        (("placements",), []),
    ):
        content = to_json(selection)
        place = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        del content["digest"]
        with pytest.raises(StorageError):
            from_json(seal(content))
