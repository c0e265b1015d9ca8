"""Subset selection without a matrix, held against its matrix: levels, estimates, risk, bound.

The adversary holds one report, knows the prior and everything but the symbol, and may be of any
group: the levels below are those of exact rational matrices, written out from probabilities alone.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from checks import for_each, slow_but
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from masses_in_groups import CASES

import mechdesign as md
from mechdesign.errors import (
    CertificateError,
    DataError,
    InputError,
    KernelError,
    LevelError,
)
from mechdesign.exact import DENOMINATOR, Verdict, compare_with_exp, exp_bounds
from mechdesign.subsets import ReportType, SubsetSelection
from mechdesign.subsets.bounds import asked_bounds
from mechdesign.subsets.choice import types_of
from mechdesign.subsets.parts import Part
from mechdesign.subsets.program import Prices, Program
from mechdesign.subsets.report_types import Layout

# Counts of symbols and, where it is not the best one, the space of each group: full ones and parts.
MADE = [
    ([1] * 5, [md.LDP(1)], [(5, 1)]),
    ([1] * 7, [md.LDP(1)], [(3, 2)]),
    ([1] * 7, [md.PML(0.8)], [(2, 3)]),
    ([1] * 13, [md.PML(1)], [(5, 2)]),
    ([1] * 11, [md.ALIP(1, 0.5)], [(3, 3)]),
    ([1] * 10, [md.LDP(1), md.PML(0.4)], [(3, 3)]),
    ([1] * 7, [md.LDP(1e-4)], [(7, 1)]),
    ([1] * 5, [md.LDP(30)], [(5, 1)]),
    ([1] * 6, [md.PML(0.7)], None),
    ([1] * 12, [md.PML(1.2), md.LDP(3)], None),
    *((masses, notions, None) for masses, notions in CASES),
    ([3, 3, 3, 1, 1, 1, 1], [md.LDP(1)], [(2, 2), (2, 2)]),
    ([2] * 5 + [1] * 4, [md.PML(0.8)], [(3, 2), (3, 2)]),
    ([9] + [3] * 2 + [1] * 5, [md.LIP(1)], [(1, 1), (2, 1), (7, 1)]),
    ([40, 33, 20, 9, 8, 7, 3, 2, 1], [md.LDP(1)], None),
]


def made(masses, notions, plan):
    """The selection, and the kernel as exact rationals, (N, M)."""
    prior = md.Prior.from_counts(masses)
    selection = md.subset_selection(prior, notions, tolerance=0)
    if plan is not None:
        layout = selection.layout
        *_, types = min(types_of(layout, notions, tuple(plan)), key=lambda found: found[0])
        selection = SubsetSelection(prior, notions, layout, types, selection.prices)
    return selection, matrix(selection)


prepared = functools.cache(lambda number: made(*MADE[number]))


def matrix(selection):
    reports = np.arange(len(selection.outputs))
    return selection._chances(reports, range(len(selection.inputs)), object).T


def masses_of(selection):
    weights = [Fraction(weight) for weight in selection.prior.weights]
    return [weight / sum(weights) for weight in weights]


def estimates_of(selection):
    """The estimates of all shares from each report alone, (N, M)."""
    one = np.array([1], dtype=np.int64)
    reports = np.arange(len(selection.outputs), dtype=np.int64)
    return np.array([selection.shares_of(reports[[y]], one) for y in reports]).T


def worst_ratios(kernel, masses):
    """Of each notion the ratios that its levels bound, with which of its levels."""
    q = sum(p * row for p, row in zip(masses, kernel, strict=True))
    used = q > 0
    high, low, q = kernel[:, used].max(axis=0), kernel[:, used].min(axis=0), q[used]
    worst = {"PML": [(max(high / q), 0)]}
    if low.all():
        worst |= {"LDP": [(max(high / low), 0)], "PMC": [(max(q / low), 0)]}
        worst["LIP"] = worst["PML"] + worst["PMC"]
        worst["ALIP"] = worst["PMC"] + [(worst["PML"][0][0], 1)]
    return worst


@for_each("case", range(len(MADE)))
def test_rows_are_distributions_and_levels_hold_and_are_used_up(case):
    """By brute force over all reports and symbols, against the true e^ε."""
    selection, kernel = prepared(case)
    assert all(sum(row) == 1 for row in kernel)
    assert selection.probability(selection.inputs[-1], 3) == kernel[-1, 3]
    assert (kernel >= 0).all()
    worst = worst_ratios(kernel, masses_of(selection))
    for check in selection.certificate.checks:
        levels = check.notion.levels
        for value, place in worst[type(check.notion).__name__]:
            assert compare_with_exp(value, Fraction(levels[place])) is Verdict.YES
            assert math.log(value) <= check.achieved[place] + 1e-12
        parts = [part for one in selection.types for part in one.parts.values()]
        if len(selection.notions) == 1 and all(part.is_full for part in parts):
            # A weight of few units is rounded by more than a part in 10⁹.
            pairs = zip(check.achieved, levels, strict=True)
            assert any(a >= e - (1e-9 if e < 10 else 1e-2) for a, e in pairs)


@for_each("case", range(len(MADE)))
def test_the_estimate_is_unbiased_and_its_errors_and_moments_are_those_of_the_matrix(case):
    selection, kernel = prepared(case)
    weights, floats, size = estimates_of(selection), kernel.astype(float), len(kernel)
    scale, apart = max(1.0, float(np.abs(weights).max())), ~np.eye(size, dtype=bool)
    raw = np.array([weights**k @ floats.T for k in (1, 2, 3)])
    second, even = raw[1], selection.prior.probabilities
    assert raw[0] == pytest.approx(np.eye(size), abs=1e-9 * scale)
    # Where classes of directions give way, symbols of a group are alike in the mean alone.
    parts = [part for one in selection.types for part in one.parts.values()]
    rel = 1e-9 if all(len(set(part.weights)) == 1 for part in parts) else 0.05
    for truth in [even, *np.random.default_rng(5).dirichlet(np.ones(size), 2), np.eye(size)[0]]:
        expected = second @ truth - truth**2
        assert selection.variances(truth) == pytest.approx(expected, rel=rel, abs=1e-12)
        assert expected.max() <= selection.worst_variance * (1 + rel)
    assert selection.risk == pytest.approx(float((second @ even - even**2).sum()), rel=1e-9)
    assert selection.certificate.risk_exact >= selection.certificate.least_exact * (1 - 10**-12)
    # Some distributions have next to the largest variance.
    share = np.linspace(0, 1, 2001)[:, None, None]
    worst = share * second.diagonal()[:, None] + (1 - share) * second - share**2
    assert selection.worst_variance <= worst[:, apart].max() * (1 + 1e-6)
    group, (own, other) = selection.layout.group, selection.score_moments()
    member = np.eye(own.shape[1])[group]
    number = member.T @ apart @ member
    for v in (0.0, 1.0):
        sides = [np.maximum(s * (weights - v), 0) ** 3 @ floats.T for s in (1, -1)]
        want = np.array([*raw, *sides])
        near = {"rel": 1e-9, "abs": 1e-11 * np.abs(want).max()}
        if v:
            assert own[:, group] == pytest.approx(want.diagonal(axis1=1, axis2=2), **near)
        else:
            means = (member.T @ (want * apart) @ member)[:, number > 0] / number[number > 0]
            assert other[:, number > 0] == pytest.approx(means, **near)


@for_each("case", [0, 8, 9, *range(10, 10 + len(CASES))])
def test_the_risk_is_exactly_that_of_the_best_unbiased_estimate(case):
    """In rationals, where groups fill their spaces."""
    selection, kernel = prepared(case)
    masses = np.array(masses_of(selection))
    information = kernel / (masses @ kernel) @ kernel.T
    inverse = fmpq_mat(
        [[fmpq(a.numerator, a.denominator) for a in row] for row in information]
    ).inv()
    total = sum(inverse[x, x] for x in range(len(masses)))
    assert selection.certificate.risk_exact == Fraction(int(total.p), int(total.q)) - sum(masses**2)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=6),
    st.sampled_from([md.LDP, md.PML, md.PMC, md.LIP]),
    st.floats(0.2, 3),
)
def test_any_masses_and_levels(masses, notion, level):
    found, kernel = made(masses, [notion(level)], None)
    for value, _ in worst_ratios(kernel, masses_of(found))[notion.__name__]:
        assert compare_with_exp(value, Fraction(level)) is Verdict.YES
    weights = estimates_of(found)
    near = pytest.approx(np.eye(len(masses)), abs=1e-8 * np.abs(weights).max())
    assert kernel.astype(float) @ weights.T == near
    assert 0 <= found.gap < 1e-5


# The optimum


def ye_barg(n, epsilon):
    """The least risk under LDP with all symbols equally frequent, by trying every size."""
    r = math.exp(epsilon)
    return min(
        (n - 1) ** 2 * (d * r + n - d) ** 2 / (n * (r - 1) ** 2 * d * (n - d)) for d in range(1, n)
    )


@pytest.mark.slow
def test_the_risk_is_the_least():
    """Under LDP that of the best size, elsewhere that of dense designs, which search no subsets."""
    for size, epsilon in product([5, 13, 60], [0.2, 1, 4]):
        selection = md.subset_selection(size, md.LDP(epsilon), tolerance=0)
        assert selection.risk == pytest.approx(ye_barg(size, epsilon), rel=1e-11)
        assert selection.gap < 1e-11
    for counts, notions in [
        *(([1] * 7, [notion]) for notion in (md.PML(1), md.PML(0.3), md.PMC(1), md.LIP(1))),
        ([1] * 5, [md.LDP(1), md.PML(0.3)]),
        ([1] * 5, [md.LDP(2), md.LIP(0.8)]),
        ([1] * 10, [md.LDP(1.3), md.ALIP(2, 0.5)]),
        *CASES,
    ]:
        prior = md.Prior.from_counts(counts)
        selection = md.subset_selection(prior, notions, tolerance=0)
        dense = md.design(prior, md.utility.Estimation(), notions)
        assert dense.gap < 1e-8
        assert selection.risk == pytest.approx(dense.risk, rel=1e-6)
        assert dense.risk * (1 - 1e-6) <= -selection.bound <= dense.risk * (1 + 1e-9)
        assert selection.gap < (1e-9 if len(set(counts)) == 1 else 1e-5)


@for_each("notion", [md.LDP(1), md.LIP(0.5)])
def test_no_subset_of_many_symbols_is_worth_more(notion):
    """The equivalence theorem: among all types, listed, none is above the limit of the prices."""
    layout = Layout.of(md.Prior.from_counts([5] * 9 + [1] * 31))
    bounds, sizes = asked_bounds([notion], outside=True), (9, 31)
    program = Program(layout, bounds, outside=True)
    prices = program.best().prices
    bound, worst = program.least(prices), -math.inf
    masses = layout.masses.astype(float)
    for j, k, free in product(range(10), range(32), range(2)):
        columns = [np.repeat(1.0, c) for c in sizes]
        if bounds.ratio is not None:
            for column, count in zip(columns, (j, k), strict=True):
                column[:count] = float(bounds.ratio)
            scale = sum(m * c.sum() for m, c in zip(masses, columns, strict=True))
            columns = [column / scale for column in columns]
        else:
            low, high = float(bounds.lower), float(bounds.upper)
            other = 1 - free
            columns[other] = np.where(np.arange(sizes[other]) < (j, k)[other], high, low)
            rest = (1 - masses[other] * columns[other].sum()) / masses[free]
            at = (rest - low * sizes[free]) / (high - low)
            if not 0 <= at <= sizes[free]:
                continue
            columns[free] = low + (high - low) * np.clip(at - np.arange(sizes[free]), 0, 1)
        means, spreads = (np.array([f(c) for c in columns]) for f in (np.mean, np.var))
        worth = spreads @ prices.inside**2 - means @ prices.row
        worst = max(worst, float(worth + ((means @ prices.across) ** 2) @ (1 / np.array(sizes))))
    assert program.constant(prices) - worst >= bound
    assert program.constant(prices) == pytest.approx(bound, rel=1e-8)
    # A control: at other prices the bound is lower, and still one.
    less = Prices(prices.inside * 1.1, prices.across, prices.row)
    assert program.least(less) < 0.999 * bound


@pytest.mark.slow
@for_each(
    ("symbols", "notion", "gap"),
    [
        *((n, notion, 1e-10) for n, notion in ((210, md.PML(1)), (500, md.PML(5)))),
        *((n, notion, 1e-10) for n, notion in ((1000, md.LIP(1)), (1_000_000, md.PML(9)))),
        *((1_000_000, notion, 1.5e-3) for notion in (md.LDP(1), md.LDP(3), md.PML(1), md.LIP(1))),
        ([10] * 10 + [1] * 190, md.LDP(1), 1e-6),
        ([100] * 1000 + [1] * 999_000, md.PML(1), 0.002),
        ([30] * 10_000 + [5] * 100_000 + [1] * 890_000, md.PML(3), 0.003),
        ([30] * 10_000 + [5] * 100_000 + [1] * 890_000, md.LDP(3), 0.002),
        ([5000] * 10 + [50] * 1000 + [5] * 20_000 + [1] * 178_990, md.LDP(1), 0.0012),
    ],
)
def test_many_symbols_are_next_to_the_optimum(symbols, notion, gap):
    prior = symbols if isinstance(symbols, int) else md.Prior.from_counts(symbols)
    best, found = (md.subset_selection(prior, notion, tolerance=t) for t in (0, 0.0025))
    assert 0 <= best.gap < gap
    assert best.gap <= found.gap < gap + 0.0026
    assert found.bytes_per_report <= best.bytes_per_report <= 8
    truth = found.prior.probabilities
    drawn = np.random.default_rng(3).choice(len(truth), size=20_000, p=truth)
    told = md.estimate(md.Sampler(found, rng=4).draw_codes(drawn), found)
    off = (told.values - truth) / np.sqrt(found.variances(truth) / 20_000)
    assert abs(off.mean()) < 6 / math.sqrt(len(off))
    assert off.std() == pytest.approx(1, abs=0.1)


@pytest.mark.slow
@for_each("notion", slow_but(0, [md.LDP(800), md.PML(1e30), md.LDP(30), md.LIP(400)]))
def test_levels_above_all_that_floats_hold_reveal_everything(notion):
    for prior in (md.Prior.uniform(200), md.Prior.from_counts([3] * 50 + [1] * 150)):
        found = md.subset_selection(prior, notion)
        open_risk = 1 - float((prior.probabilities**2).sum())
        assert found.risk == pytest.approx(open_risk, rel=1e-9)
        assert -found.bound <= found.risk * (1 + 1e-9)
        assert 0 <= found.gap <= 1e-9


# Rounding and hostile numbers


def test_one_unit_above_the_level_is_noticed():
    """LDP(log 3) on F_2: weights 3 : 1 are on it, one unit more is above."""
    level = math.log(3)
    upper = int(Fraction(DENOMINATOR) * (1 - 1 / (exp_bounds(Fraction(level))[0] + 1)))
    good, bad = ((upper + k, DENOMINATOR - upper - k) for k in (0, 2))

    def of(*weights):
        one = ReportType((DENOMINATOR,), {0: Part(4, 2, 2, 1, weights)})
        return SubsetSelection(range(4), [md.LDP(level)], Layout(np.zeros(4, int)), [one])

    of(good, good)
    with pytest.raises(CertificateError):
        of(good, bad)


def test_chances_that_do_not_keep_the_level_are_refused():
    found = md.subset_selection(md.Prior.from_counts([3, 3, 1, 1, 1]), md.LDP(1))
    first, *rest, last = found.types
    i = int(np.argmax(first.chances))

    def of(*types):
        return SubsetSelection(found.prior, found.notions, found.layout, types, found.prices)

    def changed(one, by):
        return replace(one, chances=tuple(w + by * (j == i) for j, w in enumerate(one.chances)))

    assert of(*found.types) == found
    with pytest.raises(CertificateError):
        of(changed(first, 10**12), *rest, changed(last, -(10**12)))
    with pytest.raises(ValueError, match="sum one"):
        of(changed(first, -1), *rest, last)


@dataclass(frozen=True)
class Leaning(md.LikelihoodBound, register=False):
    """A notion whose level changes with the masses."""

    epsilon: float
    count = staticmethod(lambda prior: len(set(prior.weights)))

    def bounds(self, prior):
        points = md.Hypotheses.points(prior)
        return [md.Bound(points, points, self.epsilon / self.count(prior))]

    def leakage(self, kernel, prior):
        return kernel.max(axis=0)


class Growing(Leaning, register=False):
    """A notion whose level changes with the number of symbols."""

    count = staticmethod(len)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
def test_what_cannot_be_is_refused_in_one_line():
    """A notion that has one level at all uniform priors would be taken for that."""
    grouped = md.Prior.from_counts([2, 1, 1])
    for privacy in (md.LDP(0), md.LDP(1e-17), md.MaximalLeakage(1), md.LDP, 1, []):
        for symbols in (20, grouped):
            with pytest.raises(LevelError) as caught:
                md.subset_selection(symbols, privacy)
            assert "\n" not in str(caught.value)
    for notion, symbols in product((Leaning(1), Growing(1)), (20, grouped)):
        with pytest.raises(LevelError, match="the same levels"):
            md.subset_selection(symbols, notion)
        with pytest.raises(LevelError, match="the same levels"):
            md.subset_selection(symbols, md.LDP(1)).check(notion)
    for symbols in (0, 1, -3, 1 << 30, True, "abc", [1, 1], [float("nan"), 2], 2.5):
        with pytest.raises(InputError):
            md.subset_selection(symbols, md.LDP(1))
    for tolerance in (-1, math.nan, "0"):
        with pytest.raises(InputError):
            md.subset_selection(20, md.LDP(1), tolerance=tolerance)
    for masses, said in (
        (range(1, 9), "at most 6 different masses"),
        ([2, 1, 0], "without mass out"),
    ):
        with pytest.raises(InputError, match=said):
            md.subset_selection(md.Prior.from_counts(masses), md.PML(1))
    assert md.subset_selection(md.Prior.uniform(["a", "b"]), md.PML(1)).inputs == ("a", "b")
    assert md.subset_selection({"a": 1, "b": 99}, md.PML(0.2)).prior.pmin == 0.01
    assert md.subset_selection({"a": 7, "b": 7}, md.PML(0.2)).inputs == ("a", "b")
    assert md.subset_selection([0, 1, 2], md.LDP(1)).inputs == range(3)


def test_other_notions_are_checked_and_other_uses_refused():
    selection = md.subset_selection(25, md.PML(1))
    assert selection.check(md.PML(1)) == selection.certificate.checks[0]
    assert selection.check(md.PML(0.9)).verdict is Verdict.NO
    assert selection.check(md.LDP(50)).achieved == (math.inf,)
    assert selection.check(md.LDP(50)).verdict is Verdict.NO
    assert selection.check(md.LDP(math.inf)).verdict is Verdict.YES
    # The lifts of part of a space are bounded, not known; ratios are known.
    part, _ = made([1] * 7, [md.LDP(1)], [(3, 2)])
    assert part.check(md.PML(0.1)).verdict is Verdict.UNDECIDED
    assert part.check(md.LDP(0.9)).verdict is Verdict.NO
    with pytest.raises(KernelError, match="matrix"):
        md.audit(selection, md.Prior.uniform(25))
    assert md.identifiability(part).rank == 7
    n = selection.reports_for(0.1)
    assert selection.risk / n <= 0.01 < selection.risk / (n - 1)
    for error in (0, math.nan, "1"):
        with pytest.raises(InputError):
            selection.reports_for(error)


@for_each("symbols", [25, [6] * 5 + [1] * 20])
def test_surveys_have_the_predicted_errors_and_raw_data_is_noticed(symbols):
    prior = symbols if isinstance(symbols, int) else md.Prior.from_counts(symbols)
    found, truth, n = md.subset_selection(prior, md.PML(1)), np.linspace(2, 1, 25) / 37.5, 2000
    rng, losses = np.random.default_rng(2), []
    for _ in range(60):
        drawn = rng.choice(25, size=n, p=truth)
        told = md.estimate(md.Sampler(found, rng=rng).draw_codes(drawn), found)
        losses.append(n * ((told.values - truth) ** 2).sum())
    deviation = np.std(losses, ddof=1) / math.sqrt(len(losses))
    assert abs(np.mean(losses) - found.risk_at(truth)) < 3 * deviation
    assert abs(np.mean(losses) - 1.5 * found.risk_at(truth)) > 3 * deviation
    assert told.fit > 1e-3
    with pytest.raises(DataError, match="whatever the secrets are"):
        md.estimate(drawn, found)
