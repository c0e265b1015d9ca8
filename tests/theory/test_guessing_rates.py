"""Many reports: bounds against the exact kernel of all, and rates against their formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from checks import for_each, refused
from strategies import exact_mechanism

import mechdesign as md
from mechdesign.errors import KernelError, LevelError
from mechdesign.theory._composition import bounded_levels
from mechdesign.theory._rates import approximate_level

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])


def drawn(seed, zeros=False):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    kernel = rng.dirichlet(np.ones(m), n)
    if zeros:
        kernel[0, 0] = 0
        kernel /= kernel.sum(axis=1, keepdims=True)
    return exact_mechanism(kernel), md.Prior.from_counts(rng.integers(1, 9, n).tolist())


@for_each("seed", range(12))
def test_the_error_of_the_best_guess_lies_between_its_bounds(seed):
    mechanism, prior = drawn(seed, zeros=seed % 4 == 3)
    rate = md.theory.guessing_rate(mechanism, prior)
    for n in (0, 1, 2, 5, 9):
        exact = 1 - prior.probabilities.max()
        if n:
            kernel = md.theory.repeated(mechanism, n).kernel
            exact = 1 - (prior.probabilities[:, None] * kernel).max(axis=0).sum()
        low, high = rate.error_after(n)
        assert low <= exact + 1e-12
        assert exact <= high + 1e-12


@for_each("rows", [np.eye(2), np.eye(3), [[1, 0], [0.5, 0.5]], [[1, 0]] * 2])
def test_before_the_first_report_the_best_guess_is_the_likeliest_symbol(rows):
    prior = md.Prior(np.arange(1, len(rows) + 1) / sum(range(1, len(rows) + 1)))
    rate = md.theory.guessing_rate(md.Mechanism(rows), prior)
    wrong = 1 - prior.probabilities.max()
    low, high = rate.error_after(0)
    assert low <= wrong <= high == pytest.approx(wrong)
    assert rate.reports_until(wrong / 2)[1] >= 1


def test_symbols_that_the_first_report_separates_are_a_pair_and_said_to_be():
    rate = md.theory.guessing_rate(md.Mechanism(np.eye(3)), md.Prior.uniform(3))
    assert (rate.rate, rate.pair) == (math.inf, (0, 1))
    assert rate.error_after(1)[1] < 1e-200
    assert rate.reports_until(1e-9) == (1, 1)
    assert str(rate) == "the best guess is never wrong from the first report on"


def test_the_rate_is_chernoffs_information():
    """Of two symmetric answers it is −log of the Bhattacharyya coefficient."""
    rate = md.theory.guessing_rate(FLIP, md.Prior([0.2, 0.8]))
    assert rate.rate == pytest.approx(-math.log(2 * math.sqrt(0.75 * 0.25)), rel=1e-12)
    n = 2000
    low, high = rate.error_after(n)
    assert -math.log(high) / n == pytest.approx(rate.rate, rel=5e-3)
    # The lower bound has twice the rate, as Bhattacharyya's does.
    assert -math.log(low) / n == pytest.approx(2 * rate.rate, rel=5e-3)
    grid = np.linspace(0, 1, 100_001)[:, None]
    kernel = drawn(5)[0].kernel
    least = (kernel[0] ** (1 - grid) * kernel[1] ** grid).sum(axis=1).min()
    found = md.theory.guessing_rate(drawn(5)[0], md.Prior.uniform(len(kernel)))
    assert found.informations[0, 1] == pytest.approx(-math.log(least), rel=1e-6)


def test_how_many_reports_it_takes_is_where_the_bounds_pass():
    rate = md.theory.guessing_rate(FLIP, md.Prior([0.5, 0.5]))
    few, enough = rate.reports_until(0.05)
    assert rate.error_after(enough)[1] <= 0.05 < rate.error_after(enough - 1)[1]
    assert rate.error_after(few)[0] <= 0.05 < rate.error_after(few - 1)[0]
    exact = next(
        n
        for n in itertools.count(1)
        if 1 - md.theory.repeated(FLIP, n).kernel.max(axis=0).sum() / 2 <= 0.05
    )
    assert few <= exact <= enough


def test_symbols_that_no_report_tells_apart_and_those_that_one_does():
    twins = md.Mechanism([[0.5, 0.5], [0.5, 0.5], [1, 0]])
    rate = md.theory.guessing_rate(twins, md.Prior([0.2, 0.3, 0.5]))
    assert rate.rate == 0
    assert rate.pair == (0, 1)
    assert 0.1999 < rate.error_after(10**9)[0] <= 0.2
    least, most = rate.reports_until(0.1)
    assert least > 1e12  # beyond that rounding leaves nothing of the bound
    assert most == math.inf
    sure = md.theory.guessing_rate(md.Mechanism(np.eye(2)), md.Prior([0.5, 0.5]))
    assert sure.rate == math.inf
    assert sure.error_after(1)[1] <= 1e-299
    with pytest.raises(KernelError, match="two symbols"):
        md.theory.guessing_rate(md.Mechanism([[1.0]]), md.Prior([1.0]))
    refused(lambda: rate.error_after(-1), error=LevelError)
    refused(lambda: rate.reports_until(math.nan), error=LevelError)


# (ε, δ) of many reports


@for_each("delta", [1e-9, 1e-3, 0.1])
@for_each("seed", range(6))
def test_the_level_by_renyi_divergences_is_never_below_the_exact_one(seed, delta):
    mechanism, prior = drawn(seed)
    notion = md.ApproximateLDP(math.inf, delta)
    for n in (1, 3, 8):
        exact = notion.check(md.theory.repeated(mechanism, n), prior).achieved[0]
        (bound,) = bounded_levels(notion, [(mechanism, n)], prior)
        assert exact <= bound


def test_many_reports_cost_the_root_of_their_number():
    """Far below the sum of the levels, and near what a Gaussian limit says."""
    level, n, delta = 0.3, 240, 1e-6
    one = md.randomised_response(md.Prior.uniform(2), level)
    asked = md.ApproximateLDP(math.inf, delta)
    (found,) = md.compose(one, times=n, notions=[asked])
    assert not found.exact
    assert found.levels[0] < 0.6 * n * level
    exact = asked.check(md.theory.repeated(one, n), md.Prior.uniform(2)).achieved[0]
    assert exact <= found.levels[0] < 1.15 * exact


@pytest.mark.parametrize(("reports", "delta"), [(6, 0.01), (20, 1e-3)])
def test_the_level_is_the_least_of_its_formula_over_the_orders(reports, delta):
    """D_α + log(1 − 1/α) − (log δ + log α)/(α − 1), for flips with chances .75 and .25."""
    a = np.geomspace(1.01, 200, 100_000)
    divergence = np.log(0.75**a * 0.25 ** (1 - a) + 0.25**a * 0.75 ** (1 - a)) / (a - 1)
    extra = np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1)
    least = float((reports * divergence + extra).min())
    # Fewer orders are tried than here, so that it is a little more.
    assert least - 1e-9 <= approximate_level([(FLIP, reports)], delta) <= least + 2e-3


def test_a_ruled_out_symbol_leaves_no_finite_level_of_this_kind():
    sure = md.Mechanism([[1, 0], [0.5, 0.5]])
    assert bounded_levels(md.ApproximateLDP(1, 0.1), [(sure, 3)], md.Prior.uniform(2)) == (
        math.inf,
    )


# Several people


def test_reports_of_people_are_the_product_on_their_database():
    joint = {("a", "a"): 0.5, ("b", "b"): 0.3, ("a", "b"): 0.15, ("b", "a"): 0.05}
    database = md.theory.Database(joint, ["a", "b"])
    one = md.Mechanism([[0.7, 0.3], [0.2, 0.8]], ["a", "b"])
    two = md.Mechanism([[0.1, 0.9], [0.6, 0.4]], ["b", "a"], ["u", "v"])
    both = md.theory.reports_of_people([one, two], database)
    assert both.outputs == ((0, "u"), (0, "v"), (1, "u"), (1, "v"))
    turned = two.kernel[::-1]
    for row, (x, z) in enumerate(database.prior.labels):
        expected = np.outer(one.kernel["ab".index(x)], turned["ab".index(z)]).ravel()
        np.testing.assert_allclose(both.kernel[row], expected, atol=1e-15)
    # About each person, by hand: P(y | entry) against P(y).
    p, worst = database.joint, 0.0
    told = np.einsum("xz,xy,zw->xzyw", p, one.kernel, turned)
    for entry in (0, 1):
        given = told.sum(axis=1 - entry) / p.sum(axis=1 - entry)[:, None, None]
        worst = max(worst, float((given / told.sum(axis=(0, 1))).max()))
    assert md.theory.entry_leakage(both, database).max() == pytest.approx(np.log(worst), abs=1e-9)


def test_dependent_people_leak_more_than_each_alone_and_independent_ones_do_not():
    flip = md.randomised_response(md.Prior([0.5, 0.5], ["a", "b"]), 1.0)
    same = md.theory.Database({("a", "a", "a"): 0.5, ("b", "b", "b"): 0.5}, ["a", "b"])
    apart = md.theory.Database.iid(md.Prior([0.5, 0.5], ["a", "b"]), 3)
    alone = md.audit(flip, md.Prior([0.5, 0.5], ["a", "b"])).pml
    leaks = [
        float(md.theory.entry_leakage(md.theory.reports_of_people(flip, d), d).max())
        for d in (same, apart)
    ]
    assert leaks[1] == pytest.approx(alone)
    # Three reports about one secret.
    together = md.compose(flip, times=3, prior=same.marginal(0), notions=[md.PML(9)])
    assert leaks[0] == pytest.approx(together.found[0].levels[0])
    assert leaks[0] > alone + 0.1


def test_other_numbers_of_people_are_refused():
    database = md.theory.Database.iid(md.Prior([0.5, 0.5]), 2)
    refused(
        lambda: md.theory.reports_of_people([FLIP], database), "2 mechanisms", error=KernelError
    )
    refused(lambda: md.theory.reports_of_people(5, database), error=KernelError)
    wide = md.Mechanism(np.eye(3))
    refused(lambda: md.theory.reports_of_people(wide, database), "2 values", error=KernelError)
