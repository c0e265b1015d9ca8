"""Subset selection for groups of unequal masses, held against its matrix and against dense designs.

The adversary holds one report, knows the prior and everything but the symbol, and may be of any
group: the levels below are those of exact rational matrices, written out from probabilities alone.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from masses_in_groups import CASES

import mechdesign as md
from mechdesign.errors import CertificateError, DataError, InputError, LevelError, StorageError
from mechdesign.exact import DENOMINATOR, Verdict, compare_with_exp
from mechdesign.storage import from_json, seal, to_json
from mechdesign.subsets import GroupedSelection, ReportType
from mechdesign.subsets.group_choice import _made, _Plan
from mechdesign.subsets.report_types import Layout
from mechdesign.subsets.selection import asked_bounds
from mechdesign.subsets.types_program import (
    Groups,
    TwoLevels,
    best_mixture,
    least_objective,
    shapes_of,
)


def selected(masses, notions):
    """The one of least risk, however many reports it has."""
    return md.subset_selection(md.Prior.from_counts(masses), notions, tolerance=0)


def geometric(masses, notions, bases, dimension=1):
    """A selection whose subsets are blocks of a geometry, as those of large groups are."""
    prior = md.Prior.from_counts(masses)
    plan, bounds = _Plan(Layout.of(prior), bases, dimension), asked_bounds(notions)
    least = min(plan.layout.masses)
    best = best_mixture(plan.groups, shapes_of(bounds, least, outside=False))
    exact = Groups.of_symbols(plan.layout.sizes, plan.layout.masses)
    told = best_mixture(exact, shapes_of(bounds, least, outside=True))
    by_mean = bounds.lower > 0 or bounds.upper is not None
    _, _, types = min(_made(notions, plan, best, by_mean=by_mean), key=lambda made: made[0])
    return GroupedSelection(prior, notions, types, told.prices)


def cases():
    for masses, notions in CASES:
        yield pytest.param((masses, notions, None), id=f"{masses} {' '.join(map(str, notions))}")
    for masses, notions, bases, *more in (
        ([3, 3, 3, 1, 1, 1, 1], [md.LDP(1)], (2, 2)),
        ([3, 3, 3, 1, 1, 1, 1, 1], [md.LDP(0.5)], (3, 3)),
        ([9, 3, 3, 1, 1, 1, 1, 1], [md.LIP(1)], (None, 2, 5)),
        ([2, 2, 2, 2, 2, 1, 1, 1, 1, 1], [md.PML(0.8)], (5, 7)),
        # Spaces with points that are no symbol, at which classes of directions differ.
        ([2] * 8 + [1] * 7, [md.PML(1)], (3, 3)),
        ([2] * 5 + [1] * 11, [md.LIP(1.5)], (3, 5)),
        ([5, 5] + [1] * 8, [md.PMC(1)], (None, 3)),
        # One direction, and so one class of directions, for all groups in larger spaces.
        ([4] * 2 + [2] * 4 + [1] * 5, [md.PML(1)], (3, 3, 3), 2),
        ([4] * 2 + [2] * 4 + [1] * 5, [md.LIP(0.7)], (3, 3, 3), 2),
        ([3] * 4 + [1] * 10, [md.PML(2)], (2, 2), 4),
        ([4] * 2 + [2] * 4 + [1] * 11, [md.PML(1.5)], (3, 3, 3), 3),
    ):
        name = f"{masses} {' '.join(map(str, notions))} over {bases} {' '.join(map(str, more))}"
        marks = [pytest.mark.slow] * (len(masses) > 9)
        yield pytest.param((masses, notions, bases, *more), id=name, marks=marks)


@pytest.fixture(scope="module", params=cases())
def case(request):
    masses, notions, bases, *more = request.param
    found = selected(masses, notions) if bases is None else geometric(masses, notions, bases, *more)
    rows = [[found.probability(x, y) for y in found.outputs] for x in found.inputs]
    return found, np.array(rows, dtype=object), [Fraction(m, sum(masses)) for m in masses]


def test_rows_are_distributions_and_levels_hold(case):
    """By brute force over all reports and symbols, against the true e^ε."""
    selection, kernel, masses = case
    assert all(sum(row) == 1 for row in kernel)
    assert (kernel >= 0).all()
    q = sum(p * row for p, row in zip(masses, kernel, strict=True))
    used = q > 0
    high, low, q = kernel[:, used].max(axis=0), kernel[:, used].min(axis=0), q[used]
    for check in selection.certificate.checks:
        worst = {"PML": [(max(high / q), 0)]}
        if low.all():
            worst["LDP"] = [(max(high / low), 0)]
            worst["PMC"] = [(max(q / low), 0)]
            worst["LIP"] = worst["PML"] + worst["PMC"]
            worst["ALIP"] = worst["PMC"] + [(worst["PML"][0][0], 1)]
        for value, place in worst[type(check.notion).__name__]:
            assert compare_with_exp(value, Fraction(check.notion.levels[place])) is Verdict.YES
            assert math.log(value) <= check.achieved[place] + 1e-12


def test_the_estimate_is_unbiased_and_its_errors_exact(case):
    """Each report alone is estimated from: the means are the shares, for every symbol."""
    selection, kernel, masses = case
    one = np.array([1], dtype=np.int64)
    weights = np.array(
        [selection.shares_of(np.array([y], dtype=np.int64), one) for y in selection.outputs]
    ).T
    floats = kernel.astype(float)
    size = len(masses)
    assert floats @ weights.T == pytest.approx(np.eye(size), abs=1e-9)
    rng = np.random.default_rng(5)
    for truth in [np.array(masses, dtype=float), rng.dirichlet(np.ones(size))]:
        expected = weights**2 @ (truth @ floats) - truth**2
        assert selection.variances(truth) == pytest.approx(expected, rel=1e-9)
    assert selection.risk == pytest.approx(selection.risk_at(map(float, masses)), rel=1e-9)
    # Of all distributions none has a larger variance, and some have next to the largest.
    second = weights**2 @ floats.T
    worst = 0.0
    for x in range(size):
        for other in set(range(size)) - {x}:
            share = np.linspace(0, 1, 2001)
            mixed = share * second[x, x] + (1 - share) * second[x, other] - share**2
            worst = max(worst, float(mixed.max()))
    assert worst <= selection.worst_variance * (1 + 1e-12)
    assert selection.worst_variance <= worst * (1 + 1e-6)


@for_each(("masses", "notions"), CASES)
def test_risk_and_bound_are_those_of_the_dense_design(masses, notions):
    selection = selected(masses, notions)
    prior = md.Prior.from_counts(masses)
    dense = md.design(prior, md.utility.Estimation(), notions)
    assert dense.gap < 1e-8
    assert selection.risk == pytest.approx(dense.risk, rel=1e-6)
    assert selection.bound == pytest.approx(dense.risk, rel=1e-6)
    assert selection.bound <= dense.risk * (1 + 1e-9)


@pytest.mark.parametrize("notion", [md.LDP(1), md.LIP(0.5)], ids=str)
def test_no_subset_of_many_symbols_is_worth_more(notion):
    """The equivalence theorem: among all types, listed, none is above the limit of the prices."""
    sizes, masses = (9, 31), (Fraction(5, 76), Fraction(1, 76))
    groups = Groups.of_symbols(sizes, masses)
    shapes = shapes_of(asked_bounds([notion], outside=True), min(masses), outside=True)
    told = best_mixture(groups, shapes)
    bound = least_objective(groups, shapes, told.prices)
    (shape,) = shapes
    worst = -np.inf
    for free in (0,) if isinstance(shape, TwoLevels) else (0, 1):
        for k in range(sizes[0] + 1):
            for j in range(sizes[1] + 1):
                counts = np.array([[float(k), float(j)]])
                if not isinstance(shape, TwoLevels):
                    other = 1 - free
                    mean = shape.low + (shape.high - shape.low) * counts[0, other] / sizes[other]
                    rest = (1 - groups.masses[other] * mean) / groups.masses[free]
                    at = (rest - shape.low) / (shape.high - shape.low) * sizes[free]
                    if not 0 <= at <= sizes[free]:
                        continue
                    counts[0, free] = at
                worth = told.prices.worth(groups, *shape.moments(groups, counts, free))
                worst = max(worst, float(worth[0]))
    assert told.prices.constant(groups) - worst >= bound
    assert told.value == pytest.approx(bound, rel=1e-8)
    assert told.value >= bound
    # A control: at other prices the bound is lower, and still one.
    less = type(told.prices)(told.prices.inside * 1.1, told.prices.across, told.prices.row)
    assert least_objective(groups, shapes, less) < 0.999 * bound


@pytest.mark.slow
def test_two_hundred_symbols_are_certified():
    """Permutations are as good as the bound; with equal masses both ways agree."""
    found = selected([10] * 10 + [1] * 190, md.LDP(1))
    assert found.gap < 1e-6
    # Nearly equal masses have nearly the risk of equal ones.
    near = selected([1001] * 10 + [1000] * 190, md.LDP(1))
    alike = md.subset_selection(200, md.LDP(1), tolerance=0)
    assert near.risk == pytest.approx(alike.risk, rel=1e-5)


@pytest.mark.slow
def test_a_million_symbols_under_bounds_of_the_lift():
    # Directions at which a group is uneven are few, and give way alone.
    found = md.subset_selection(md.Prior.from_counts([100] * 1000 + [1] * 999_000), md.PML(1))
    assert found.gap < 0.01
    assert len(found.outputs) < 1 << 62


@pytest.mark.slow
@pytest.mark.parametrize("notion", [md.PML(3), md.LIP(1), md.LDP(3)], ids=str)
def test_a_million_symbols_in_three_groups(notion):
    # Residues among many, so that few symbols are raised; means that are bounded by class.
    counts = [30] * 10_000 + [5] * 100_000 + [1] * 890_000
    found = md.subset_selection(md.Prior.from_counts(counts), notion)
    assert 0 <= found.gap < 0.02
    assert len(found.outputs) < 1 << 62


@pytest.mark.slow
def test_many_symbols_in_four_groups():
    counts = [5000] * 10 + [50] * 1000 + [5] * 20_000 + [1] * 178_990
    found = md.subset_selection(md.Prior.from_counts(counts), md.LDP(1))
    assert found.gap < 0.01
    assert found.bytes_per_report <= 8
    truth = np.array(counts) / sum(counts)
    symbols = np.random.default_rng(3).choice(len(counts), size=50_000, p=truth)
    made = md.estimate(md.Sampler(found, rng=4).draw_codes(symbols), found)
    off = (made.values - truth) / np.sqrt(found.variances(truth) / 50_000)
    assert abs(off.mean()) < 6 / math.sqrt(len(off))
    assert off.std() == pytest.approx(1, abs=0.02)


@for_each(
    ("masses", "notion", "error"),
    [
        (list(range(1, 9)), md.LDP(1), InputError),
        ([1e-9, *([1] * 5), *range(2, 8)], md.LDP(1), InputError),
        ([2, 1, 1], md.LDP(1e-17), LevelError),
        ([2, 1, 1], md.MaximalLeakage(1), LevelError),
    ],
)
def test_what_cannot_be_is_said(masses, notion, error):
    with pytest.raises(error) as caught:
        selected(masses, notion)
    assert "\n" not in str(caught.value)


def test_a_notion_that_changes_with_the_masses_is_refused():
    """It has one level at all uniform priors, and would be taken for that."""

    @dataclass(frozen=True)
    class Leaning(md.LikelihoodBound, register=False):
        epsilon: float

        def bounds(self, prior):
            points = md.Hypotheses.points(prior)
            level = self.epsilon / len(set(prior.weights))
            return [md.Bound(points, points, level)]

        def leakage(self, kernel, prior):
            return kernel.max(axis=0)

    assert md.subset_selection(5, Leaning(1)).certificate.checks[0].verdict is Verdict.YES
    with pytest.raises(LevelError, match="the same levels"):
        selected([2, 1, 1], Leaning(1))
    with pytest.raises(LevelError, match="the same levels"):
        selected([2, 1, 1], md.LDP(1)).check(Leaning(1))


def test_weights_that_do_not_keep_the_level_are_refused():
    found = selected([3, 3, 1, 1, 1], md.LDP(1))
    first = found.types[0]
    i = int(np.argmax(first.chances))
    last = found.types[-1]
    more = [
        tuple(w + s * (j == i) * 10**12 for j, w in enumerate(t.chances))
        for t, s in ((first, 1), (last, -1))
    ]
    types = [ReportType(more[0], first.parts), *found.types[1:-1], ReportType(more[1], last.parts)]
    with pytest.raises(CertificateError):
        GroupedSelection(found.prior, found.notions, types, found.prices)
    short = ReportType(tuple(w - 1 for w in first.chances), first.parts)
    with pytest.raises(ValueError, match="sum one"):
        GroupedSelection(found.prior, found.notions, [short, *found.types[1:]], found.prices)
    assert sum(t.chances[0] for t in found.types) == DENOMINATOR


def test_files_hold_it_and_forged_ones_are_refused(tmp_path):
    prior = md.Prior.from_counts({"a": 3, "b": 1, "c": 3, "d": 1, "e": 1})
    found = md.subset_selection(prior, [md.LDP(1), md.PML(0.9)])
    md.save(found, tmp_path / "kernel.json")
    loaded = md.load(tmp_path / "kernel.json")
    assert loaded == found
    assert loaded.certificate == found.certificate
    symbols = np.arange(5).repeat(40)
    drawn = [md.Sampler(one, rng=8).draw_codes(symbols).tolist() for one in (found, loaded)]
    assert drawn[0] == drawn[1]
    content = to_json(found)
    for path, value in (
        (("types", 0, "chances", 0), "12"),
        (("risk_exact",), "1/3"),
        (("bound_exact",), "100/3"),
        (("prices", "inside"), [1.0, math.inf]),
        (("prices", "row"), [0.0]),
        (("prior", "weights", 0), "5"),
        (("achieved",), [[0.1], [0.1]]),
        (("fingerprint",), "0" * 64),
        (("types", 0, "parts"), []),
    ):
        forged = json.loads(json.dumps({k: v for k, v in content.items() if k != "digest"}))
        part = forged
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = value
        with pytest.raises(StorageError):
            from_json(seal(forged))


def test_reports_have_the_probabilities_of_the_kernel():
    """Pearson's statistic for every symbol, and few bits of a word are rejected without a bias."""
    from scipy.stats import chi2

    from mechdesign.release.grouped_reports import GroupedTable
    from mechdesign.release.words import SeededWords

    found = selected([4, 2, 2, 1, 1, 1], md.LIP(0.7))
    n = 20_000
    for bits in (64, 6):
        words = SeededWords(7)
        for x in range(6):
            drawn = GroupedTable(found, bits).draw(np.full(n, x), words)
            expected = np.array([float(found.probability(x, y)) for y in found.outputs]) * n
            counts = np.bincount(drawn, minlength=len(expected))
            used = expected > 0
            assert not counts[~used].any()
            distance = ((counts - expected)[used] ** 2 / expected[used]).sum()
            assert chi2.sf(distance, used.sum() - 1) > 1e-5
            # A control: the reports of another symbol are told apart.
            other = np.array([float(found.probability((x + 1) % 6, y)) for y in found.outputs]) * n
            off = ((counts - other)[used] ** 2 / np.maximum(other[used], 1)).sum()
            assert chi2.sf(off, used.sum() - 1) < 1e-9


def test_surveys_have_the_predicted_errors_and_raw_data_is_noticed():
    masses = [6] * 5 + [1] * 20
    found, truth, n = selected(masses, md.PML(1)), np.linspace(2, 1, 25) / 37.5, 2000
    rng, losses = np.random.default_rng(2), []
    for _ in range(60):
        symbols = rng.choice(25, size=n, p=truth)
        made = md.estimate(md.Sampler(found, rng=rng).draw_codes(symbols), found)
        losses.append(n * ((made.values - truth) ** 2).sum())
    deviation = np.std(losses, ddof=1) / math.sqrt(len(losses))
    assert abs(np.mean(losses) - found.risk_at(truth)) < 3 * deviation
    assert abs(np.mean(losses) - 1.5 * found.risk_at(truth)) > 3 * deviation
    assert made.fit > 1e-3
    with pytest.raises(DataError, match="whatever the secrets are"):
        md.estimate(symbols, found)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
@pytest.mark.parametrize("masses", [[1, 1, 0], [2, 1, 0, 0]])
def test_a_symbol_without_mass_is_refused(masses):
    with pytest.raises(InputError, match="leave symbols without mass out"):
        md.subset_selection(md.Prior.from_counts(masses), md.LDP(1))
