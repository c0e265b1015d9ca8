"""Subset selection without a matrix, held against its matrix: levels, estimates, risk, bound.

The adversary holds one report and knows everything but the symbol; the levels below are those of
exact rational matrices, written out from the probabilities alone.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.errors import CertificateError, InputError, KernelError, LevelError
from mechdesign.exact import DENOMINATOR, Verdict, compare_with_exp, exp_bounds
from mechdesign.subsets import SubsetSelection
from mechdesign.subsets._subset_selection import make_family, permute_column
from mechdesign.subsets.family import AffineFamily
from mechdesign.subsets.profile import LiftBounds, Profile
from mechdesign.subsets.risk import least_risk, scores, worst_variance
from mechdesign.subsets.selection import asked_bounds, levels_from_ratio

# Numbers of symbols, geometry, notions: full spaces and parts of them, one class and several.
CASES = [
    (5, 5, 1, [md.LDP(1)]),
    (7, 3, 2, [md.LDP(1)]),
    (6, 7, 1, [md.LDP(4)]),
    (7, 2, 3, [md.PML(0.8)]),
    (9, 3, 2, [md.PML(0.5)]),
    (11, 11, 1, [md.PML(1)]),
    (13, 5, 2, [md.PML(1)]),
    (8, 3, 2, [md.LIP(1)]),
    (25, 5, 2, [md.LIP(0.3)]),
    (6, 7, 1, [md.PMC(1)]),
    (8, 3, 2, [md.PMC(0.4)]),
    (11, 3, 3, [md.ALIP(1, 0.5)]),
    (10, 3, 3, [md.LDP(1), md.PML(0.4)]),
    (11, 2, 4, [md.LDP(0.7)]),
    (7, 7, 1, [md.LDP(1e-4)]),
    (5, 5, 1, [md.LDP(30)]),
    # Permutations of one column, of prime powers and other numbers.
    (2, 0, 0, [md.LDP(1)]),
    (4, 0, 0, [md.LDP(1)]),
    (5, 0, 0, [md.PML(1)]),
    (6, 0, 0, [md.LIP(0.5)]),
    (6, 0, 0, [md.PML(0.7)]),
    (8, 0, 0, [md.PMC(0.6)]),
    (9, 0, 0, [md.LDP(0.5)]),
    (10, 0, 0, [md.LIP(1)]),
    (12, 0, 0, [md.PML(1.2), md.LDP(3)]),
    (14, 0, 0, [md.ALIP(1, 0.5)]),
]


def made(size, base, dimension, notions):
    bounds = asked_bounds(notions)
    found = make_family(size, base, dimension, bounds) if base else permute_column(size, bounds)
    assert found is not None
    return SubsetSelection(size, notions, *found)


def matrix(selection):
    """The kernel as exact rationals, (N, M)."""
    rows = [[selection.probability(x, y) for y in selection.outputs] for x in selection.inputs]
    return np.array(rows, dtype=object)


def exact_scores(selection):
    """The estimate of each share from one report, (N, M), in rationals."""
    family = selection.family
    v = family.points
    found = np.empty((family.size, family.reports), dtype=object)
    for y in range(family.reports):
        residues, classes = family.residues(np.full(family.size, y), np.arange(family.size))
        for x, (s, i) in enumerate(zip(residues, classes, strict=True)):
            profile = selection.profiles[i]
            levels = [value for value, n in profile.values for _ in range(n)]
            kappa = sum((value - 1) ** 2 for value in levels) / family.base
            found[x, y] = Fraction(1, v) + Fraction(v - 1, v) * (levels[s] - 1) / kappa
    return found


@functools.cache
def all_made():
    selections = [made(*case) for case in CASES]
    return [(selection, matrix(selection)) for selection in selections]


each_case = for_each("case", all_made)


@each_case
def test_rows_are_distributions(case):
    _, kernel = case
    assert all(sum(row) == 1 for row in kernel)
    assert (kernel >= 0).all()


@each_case
def test_levels_hold_in_rationals(case):
    """By brute force over all reports and symbols, against the true e^ε."""
    selection, kernel = case
    q = kernel.sum(axis=0) / kernel.shape[0]
    used = q > 0
    high, low = kernel[:, used].max(axis=0), kernel[:, used].min(axis=0)
    for check in selection.certificate.checks:
        notion = check.notion
        worst = {
            "LDP": [(max(h / m if m else None for h, m in zip(high, low, strict=True)), 0)]
            if low.all()
            else [],
            "PML": [(max(high / q[used]), 0)],
            "PMC": [(max(q[used] / low), 0)] if low.all() else [],
        }
        worst["LIP"] = worst["PML"] + worst["PMC"]
        worst["ALIP"] = worst["PMC"] + [(value, 1) for value, _ in worst["PML"]]
        found = worst[type(notion).__name__]
        assert found, f"{notion} holds of no kernel that rules symbols out"
        for value, place in found:
            assert compare_with_exp(value, Fraction(notion.levels[place])) is Verdict.YES
            assert math.log(value) <= check.achieved[place] + 1e-12


@each_case
def test_levels_are_used_up(case):
    """A control: weights that kept far too little would pass the test above."""
    selection, _ = case
    full = selection.family.size == selection.family.points
    if not full or len(selection.notions) > 1:
        return
    (check,) = selection.certificate.checks
    levels = zip(check.achieved, check.notion.levels, strict=True)
    # A weight of few units is rounded by more than a part in 10⁹.
    assert any(a >= e - (1e-9 if e < 10 else 1e-2) for a, e in levels)


@each_case
def test_the_estimate_is_unbiased_and_its_risk_exact(case):
    selection, kernel = case
    n = len(selection.inputs)
    weights = exact_scores(selection)
    assert (kernel @ weights.T == np.eye(n, dtype=int)).all()
    q = kernel.sum(axis=0) / n
    second = (weights**2 * q).sum()
    assert selection.certificate.risk_exact == second - Fraction(1, n)


@each_case
def test_variances_at_any_distribution(case):
    selection, kernel = case
    weights, rng = exact_scores(selection).astype(float), np.random.default_rng(3)
    kernel = kernel.astype(float)
    worst = worst_variance(selection.family, selection.profiles)
    for truth in [*rng.dirichlet(np.ones(len(kernel)), 3), np.eye(len(kernel))[0]]:
        want = (truth @ kernel) @ (weights.T**2) - truth**2
        assert selection.variances(truth) == pytest.approx(want, rel=1e-9, abs=1e-12)
        assert want.max() <= worst * (1 + 1e-9)
        assert selection.risk_at(truth) == pytest.approx(want.sum(), rel=1e-9)


@each_case
def test_scores_are_those_of_the_estimate(case):
    selection, _ = case
    v = selection.family.points
    for row, profile in zip(
        scores(selection.family, selection.profiles), selection.profiles, strict=True
    ):
        kappa = float(profile.moment(2))
        want = (1 - 1 / v) * (profile.ratios - 1) / kappa
        assert row == pytest.approx(want, rel=1e-9, abs=1e-9 / kappa)


@each_case
def test_the_risk_is_not_below_the_bound(case):
    selection, _ = case
    assert selection.certificate.risk_exact >= selection.certificate.bound_exact * (
        1 - Fraction(1, 10**12)
    )
    assert selection.bound <= selection.certificate.bound_exact


# The optimum


def ye_barg(n, epsilon):
    """The least risk under LDP with all symbols equally frequent, by trying every size."""
    r = math.exp(epsilon)
    return min(
        (n - 1) ** 2 * (d * r + n - d) ** 2 / (n * (r - 1) ** 2 * d * (n - d)) for d in range(1, n)
    )


@for_each("epsilon", [0.2, 0.5, 1, 2, 4])
@for_each("size", [5, 13, 101])
def test_prime_numbers_of_symbols_reach_the_optimum_under_ldp(size, epsilon):
    selection = made(size, size, 1, [md.LDP(epsilon)])
    assert selection.risk == pytest.approx(ye_barg(size, epsilon), rel=1e-12)
    assert selection.gap < 1e-12


@pytest.mark.parametrize(
    ("size", "epsilon", "risk"), [(10, 1.0, 30.004055), (12, 0.5, 159.07), (7, 1.0, 18.97277)]
)
def test_the_bound_has_the_reference_values(size, epsilon, risk):
    assert float(least_risk(size, asked_bounds([md.LDP(epsilon)], outside=True))) == pytest.approx(
        risk, rel=1e-6 if size != 12 else 1e-4
    )


@for_each(
    ("notion", "risk"),
    [(md.LDP(1), 18.97277), (md.PML(1), 3.52166), (md.LIP(1), 5.12043), (md.PML(0.3), 16.56355)],
)
def test_seven_symbols_have_the_reference_values(notion, risk):
    """Of convex programs over all extreme columns."""
    selection = made(7, 7, 1, [notion])
    assert selection.risk == pytest.approx(risk, rel=1e-5)
    assert selection.gap < 1e-9


def largest_moment(n, bounds):
    """Σ (r − 1)² over vertices of the bounds on a few sorted entries, by trying values."""
    low, high, ratio = bounds.lower, bounds.upper, bounds.ratio
    best = Fraction(0)
    top = high if high is not None else n - (n - 1) * low
    for d in range(n):
        for step in range(201):
            # The least entry, and all others as far up as they can be.
            least = low + (1 - low) * Fraction(step, 200)
            most = min(top, ratio * least) if ratio is not None else top
            rest = n - d * most - (n - d - 1) * least
            if least <= rest <= most:
                entries = [most] * d + [rest] + [least] * (n - d - 1)
                best = max(best, sum((r - 1) ** 2 for r in entries))
    return best


@for_each(
    "notions",
    [
        [md.LDP(1)],
        [md.PML(0.5)],
        [md.PMC(1)],
        [md.LIP(0.7)],
        [md.ALIP(2, 0.5)],
        [md.LDP(1), md.PML(0.3)],
        [md.LDP(2), md.LIP(0.8)],
    ],
)
@for_each("size", [3, 8])
def test_no_column_beats_the_bound(notions, size):
    bounds = asked_bounds(notions, outside=True)
    found = (size - 1) ** 2 / least_risk(size, bounds)
    best = largest_moment(size, bounds)
    assert best <= found
    assert bounds.chord(size) >= found
    assert best >= found / 2  # a control: the columns that are tried are no strawmen


@for_each(
    "notions",
    [
        [md.LDP(1), md.PML(0.5)],
        [md.LDP(1), md.PML(0.3)],
        [md.LDP(2), md.LIP(0.8)],
        [md.LDP(1.3), md.ALIP(2, 0.5)],
        [md.LDP(1), md.PMC(0.4)],
    ],
)
@for_each("size", slow_but(2, [3, 5, 10]))
def test_levels_together_have_the_risk_of_all_extreme_columns(notions, size):
    """Bounds on ratios and on lifts: dense designs list the columns, one by one."""
    best = md.design(
        md.Prior.uniform(size), md.utility.Estimation(), notions, solver="optimal-experiment"
    )
    bound = least_risk(size, asked_bounds(notions, outside=True))
    assert best.risk == pytest.approx(float(bound), rel=1e-7)
    assert best.risk >= bound
    selection = md.subset_selection(size, notions)
    assert selection.risk == pytest.approx(best.risk, rel=1e-7)
    assert selection.gap <= 1e-9


def test_the_bound_of_dense_designs_is_no_better():
    """Kernels with matrices, by any utility, cannot beat the bound by symmetry either."""
    for notion in (md.LDP(1), md.PML(0.5), md.LIP(1)):
        for n in (4, 6):
            prior = md.Prior.uniform(n)
            bound = float(least_risk(n, asked_bounds([notion], outside=True)))
            for utility in (md.utility.Hamming(), md.utility.MutualInformation()):
                kernel = md.design(prior, utility, notion).mechanism.kernel
                q = kernel.mean(axis=0)
                information = (kernel / q) @ kernel.T
                if np.linalg.cond(information) < 1e10:
                    assert np.trace(np.linalg.inv(information)) - 1 / n >= bound * (1 - 1e-9)


@for_each("size", slow_but(2, [20, 60, 150, 200]))
@for_each("epsilon", [0.5, 1, 2])
def test_small_numbers_of_symbols_are_near_the_optimum(size, epsilon):
    selection = md.subset_selection(size, md.LDP(epsilon))
    assert selection.risk <= ye_barg(size, epsilon) * 1.03
    assert selection.gap == pytest.approx(selection.risk / ye_barg(size, epsilon) - 1, abs=1e-9)


@for_each("notion", slow_but(2, [md.LDP(1), md.LDP(3), md.PML(1), md.PMC(1), md.LIP(1)]))
def test_a_million_symbols_are_next_to_the_optimum(notion):
    selection = md.subset_selection(1_000_000, notion)
    assert selection.gap < 5e-3
    best = md.subset_selection(1_000_000, notion, tolerance=0)
    assert best.gap < 1.5e-3
    assert selection.bytes_per_report <= best.bytes_per_report
    assert selection.bytes_per_report <= 4


# Rounding and hostile numbers


def test_weights_are_integers_over_the_denominator():
    for notions in ([md.LDP(1)], [md.LIP(0.5)], [md.PML(2)]):
        selection = made(20, 5, 2, notions)
        for profile in selection.profiles:
            assert profile.high + profile.middle + profile.low == DENOMINATOR
            assert sum(value * n for value, n in profile.values) == selection.family.base


@pytest.mark.parametrize("part", ["high", "middle"])
def test_a_weight_too_large_is_noticed(part):
    selection = made(25, 5, 2, [md.PML(0.5)])
    first = selection.profiles[0]
    numbers = {"high": first.high, "middle": first.middle}
    numbers[part] += 1 << 30
    if numbers["high"] + numbers["middle"] > DENOMINATOR:
        numbers["middle" if part == "high" else "high"] -= 1 << 30
    worse = Profile(5, first.count, **numbers)
    if part == "middle":
        worse = Profile(5, first.count, 0, DENOMINATOR - 1)
    with pytest.raises(CertificateError):
        SubsetSelection(25, selection.notions, selection.family, [worse, selection.profiles[1]])


def test_one_unit_above_the_level_is_noticed():
    """LDP(log 3) on F_2: weights 3 : 1 are on it, one unit more is above."""
    family, level = AffineFamily(4, 2, 2, True), math.log(3)
    upper = Fraction(DENOMINATOR) * (1 - 1 / (exp_bounds(Fraction(level))[0] + 1))
    good = Profile(2, 1, int(upper), DENOMINATOR - int(upper))
    bad = Profile(2, 1, int(upper) + 2, DENOMINATOR - int(upper) - 2)
    SubsetSelection(4, [md.LDP(level)], family, [good, good])
    with pytest.raises(CertificateError):
        SubsetSelection(4, [md.LDP(level)], family, [good, bad])


@for_each(
    "numbers", [(5, 0, 1, 1), (5, 5, 1, 1), (5, 2, -1, 1), (5, 2, DENOMINATOR, 1), (5, 4, 1, 1)]
)
def test_weights_of_no_profile_are_refused(numbers):
    with pytest.raises(ValueError):
        Profile(*numbers)


def test_lines_are_for_one_residue_only():
    profile = made(9, 3, 2, [md.LIP(1)]).profiles[0]
    family = AffineFamily(9, 3, 2, projective=True)
    wide = Profile(3, 1, profile.high, profile.middle + 5)
    with pytest.raises(ValueError):
        SubsetSelection(9, [md.LDP(9)], family, [wide, wide])


@for_each("symbols", [0, 1, -3, 1 << 30, True, "abc", [1, 1], [float("nan"), 2], 2.5])
def test_symbols_that_are_none_are_refused(symbols):
    with pytest.raises(InputError):
        md.subset_selection(symbols, md.LDP(1))


@for_each(
    "privacy",
    [md.LDP(0), md.MaximalLeakage(1), md.LDP, 1, [], md.MetricPrivacy.from_labels(1, [0, 1, 5])]
    if hasattr(md.MetricPrivacy, "from_labels")
    else [md.LDP(0), md.MaximalLeakage(1), md.LDP, 1, []],
)
def test_notions_of_another_kind_are_refused(privacy):
    with pytest.raises(LevelError):
        md.subset_selection(20, privacy)


def test_a_notion_that_changes_with_the_number_of_symbols_is_refused():
    class Growing(md.LikelihoodBound, register=False):
        level_fields = ()

        def bounds(self, prior):
            points = md.Hypotheses.points(prior)
            return [md.Bound(points, points, float(len(prior)))]

        def leakage(self, kernel, prior):
            return kernel.max(axis=0)

    with pytest.raises(LevelError):
        md.subset_selection(20, Growing())


@for_each("tolerance", [-1, math.nan, math.inf, "0", True, None])
def test_tolerances_that_are_none_are_refused(tolerance):
    with pytest.raises(InputError):
        md.subset_selection(20, md.LDP(1), tolerance=tolerance)


def test_masses_of_more_than_a_few_groups_are_refused():
    with pytest.raises(InputError, match="at most 6 masses"):
        md.subset_selection(md.Prior.from_counts(range(1, 9)), md.PML(1))
    assert md.subset_selection(md.Prior.uniform(["a", "b", "c"]), md.PML(1)).inputs == (
        "a",
        "b",
        "c",
    )


def test_counts_are_masses():
    assert md.subset_selection({"a": 1, "b": 99}, md.PML(0.2)).prior.pmin == 0.01
    assert md.subset_selection({"a": 7, "b": 7}, md.PML(0.2)).inputs == ("a", "b")


def test_what_needs_a_matrix_says_so():
    selection = md.subset_selection(20, md.LDP(1))
    for use in (md.audit, md.identifiability):
        with pytest.raises(KernelError, match="matrix"):
            use(selection, md.Prior.uniform(20)) if use is md.audit else use(selection)


def test_any_notion_that_treats_symbols_alike_can_be_checked():
    selection = md.subset_selection(25, md.PML(1))
    assert selection.check(md.PML(1)) == selection.certificate.checks[0]
    assert selection.check(md.PML(0.9)).verdict is Verdict.NO
    # The lifts of part of a space are bounded, not known; ratios are known.
    part = made(22, 23, 1, [md.LDP(1)])
    assert part.check(md.PML(0.1)).verdict is Verdict.UNDECIDED
    assert part.check(md.LDP(0.9)).verdict is Verdict.NO
    assert selection.check(md.LDP(50)).achieved == (math.inf,)
    assert selection.check(md.LDP(math.inf)).verdict is Verdict.YES
    with pytest.raises(LevelError):
        selection.check(md.MaximalLeakage(1))


def test_levels_from_the_ratio_alone_hold():
    """For two reports together, whose matrix is a product."""
    for notion in (md.LDP(1), md.LIP(2)):
        selection = made(5, 5, 1, [notion])
        kernel = matrix(selection)
        pairs = np.array(
            [[row[a] * row[b] for a, b in product(range(len(row)), repeat=2)] for row in kernel]
        )
        q = pairs.sum(axis=0) / len(pairs)
        for asked in (md.LDP(1), md.PML(1), md.PMC(1), md.LIP(1), md.ALIP(1, 1)):
            levels = levels_from_ratio(asked, 2 * selection.log_ratio, 1 / 5)
            have = {
                "LDP": [max(pairs.max(axis=0) / pairs.min(axis=0))],
                "PML": [max(pairs.max(axis=0) / q)],
                "PMC": [max(q / pairs.min(axis=0))],
            }
            have["LIP"] = [max(have["PML"][0], have["PMC"][0])]
            have["ALIP"] = [have["PMC"][0], have["PML"][0]]
            found = have[type(asked).__name__]
            assert all(math.log(v) <= e for v, e in zip(found, levels, strict=True))
        together = md.compose(selection, times=2)
        assert together.found[0].levels == levels_from_ratio(notion, 2 * selection.log_ratio, 1 / 5)


def test_reports_for_an_error():
    selection = md.subset_selection(1000, md.LDP(1))
    n = selection.reports_for(0.1)
    assert selection.risk / n <= 0.01 < selection.risk / (n - 1)
    for error in (0, -1, math.nan, math.inf, "1", True):
        with pytest.raises(InputError):
            selection.reports_for(error)


def test_no_upper_bound_is_a_chord_to_the_end():
    assert LiftBounds(lower=Fraction(1, 2)).ends(5) == (Fraction(1, 2), 3)
    assert LiftBounds().chord(5) == 20


@pytest.mark.slow
@for_each("notion", slow_but(2, [md.LDP(800), md.PML(1e30), md.LDP(30), md.LIP(400)]))
def test_levels_above_all_that_floats_hold_reveal_everything(notion):
    for prior in (md.Prior.uniform(200), md.Prior.from_counts([3] * 50 + [1] * 150)):
        found = md.subset_selection(prior, notion)
        open_risk = 1 - float((prior.probabilities**2).sum())
        assert found.risk == pytest.approx(open_risk, rel=1e-9)
        assert found.bound <= found.risk
        assert 0 <= found.gap <= 1e-9
