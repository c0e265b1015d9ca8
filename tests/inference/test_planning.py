"""Planned numbers of reports keep their promise, and take hardly more than the least that does."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from interval_references import response

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InfeasibleError
from mechdesign.inference.planning import errors_to_show, smallest_for_reports
from mechdesign.utility import Estimation
from mechdesign.views.tables import error_table

LABELS = list("abcd")
PRIOR = md.Prior([0.5, 0.25, 0.15, 0.1], LABELS)
HAMMING = md.design(PRIOR, md.utility.Hamming(), md.PML(1))
FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
USELESS = [[0.94, 0.03, 0.03], [0.03, 0.94, 0.03], [1 / 3] * 3]
ZEROS = [[0.9, 0.1, 0, 0], [0.05, 0.9, 0.05, 0], [0, 0.3, 0.4, 0.3], [0, 0, 0.02, 0.98]]
NORMAL = 1.959963984540054


def reach_of(made):
    """How far the ends of each interval are from the estimate that it holds."""
    middle = np.clip(made.values, made.lower, made.upper)
    return np.maximum(made.upper - middle, middle - made.lower)


def kept(kernel, error, reports, prior, feature, surveys=300):
    """The share of simulated surveys in which no interval reaches farther than the error."""
    chances = prior.probabilities @ kernel.kernel
    drawn = np.random.default_rng(33).choice(len(chances), surveys * reports, p=chances)
    table = pd.DataFrame({"y": drawn, "survey": np.repeat(np.arange(surveys), reports)})
    made = md.estimate(table, kernel, "y", feature=feature, by_group="survey")
    # Variances of groups are estimated, which makes intervals wider by less than that.
    return np.mean([reach_of(each).max() <= 1.001 * error for each in made.estimates])


#: Kernels, masses, errors, features, and the reports that half of surveys take, and 90 %.
PROMISES = [
    (response(2, 14), [0.999, 0.001], 0.002, None, (2839, 3524)),
    (response(2, 8), [0.99, 0.01], 0.01, None, (767, 938)),
    (response(10, 3), [0.1] * 10, 0.05, None, (419, 506)),
    (USELESS, [0.9, 0.097, 0.003], 0.06, None, (546, 647)),
    (ZEROS, [0.5, 0.45, 0.03, 0.02], 0.03, None, (2034, 2080)),
    (ZEROS, [0.4, 0.3, 0.2, 0.1], 0.2, [[1, 2, 5, 3]], (631, 695)),
]


def test_numbers_that_were_simulated_once():
    for kernel, masses, error, feature, numbers in PROMISES[:-1]:
        asked = {"error": error, "prior": md.Prior(masses), "feature": feature}
        found = (md.plan(md.Mechanism(kernel), assurance=a, **asked).reports for a in (0.5, 0.9))
        assert tuple(found) == numbers


@pytest.mark.slow
@for_each("kernel, masses, error, feature, numbers", PROMISES)
def test_promises_are_kept_by_hardly_more_than_the_least_number(
    kernel, masses, error, feature, numbers
):
    kernel, asked = md.Mechanism(kernel), {"prior": md.Prior(masses), "feature": feature}
    sure, n = md.plan(kernel, error=error, **asked), numbers[1]
    fewer = md.plan(kernel, reports=n - 1, **asked)
    assert sure.errors.max() <= error < fewer.errors.max()
    found = [kept(kernel, error, int(n / part), **asked) for part in (1, 1.1)]
    assert found[0] >= 0.88 > found[1]


@for_each("size, confidence", [(2, 0.95), (3, 0.8), (50, 0.95)])
def test_plans_for_half_of_surveys_are_estimates_from_reports_as_expected(size, confidence):
    kernel = md.Mechanism(0.5 * np.eye(size) + 0.5 / size)
    prior, reports = md.Prior.from_counts(range(1, size + 1)), 4 * size**2 * (size + 1)
    counts = (prior.probabilities @ kernel.kernel * reports).round().astype(int).tolist()
    found = md.estimate(dict(enumerate(counts)), kernel, confidence=confidence)
    asked = {"prior": prior, "assurance": 0.5, "confidence": confidence}
    made = md.plan(kernel, reports=reports, **asked)
    np.testing.assert_allclose(made.errors, reach_of(found), rtol=1e-5)
    np.testing.assert_allclose(made.standard_errors, found.errors, rtol=1e-2)
    np.testing.assert_allclose(made.open_errors**2 * reports, made.values * (1 - made.values))
    error = made.errors.max() * (1 + 1e-9)
    plain = md.plan(md.Mechanism(np.eye(size)), error=error, **asked)
    assert plain.reports == plain.without_privacy == made.without_privacy


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, lambda x: x, lambda x: str(x > 0)]))
@settings(max_examples=8, deadline=None)
def test_no_distribution_has_larger_standard_errors_than_the_worst(seed, feature):
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    mechanism = md.Mechanism(0.6 * np.eye(n) + 0.4 * rng.dirichlet(np.ones(n), n))
    worst, some = (
        md.plan(mechanism, reports=99, feature=feature, worst=worst, prior=md.Prior(masses))
        for worst, masses in ((True, np.ones(n) / n), (False, rng.dirichlet(np.full(n, 0.5))))
    )
    assert (some.standard_errors <= worst.standard_errors * (1 + 1e-9)).all()


def test_refused_plans():
    feature, best = {"no": 1, "yes": 4}, {"error": 0.1, "best": True}
    assert md.plan(FLIP, error=2.9, feature=feature).reports == 10
    for word, *cases in (
        ("error of a plan", {"error": 0}, {"error": 1e-9}),
        ("less than 1", {"error": 1}, {"error": 1e300}),
        ("less than 3", {"error": 3, "feature": feature}),
        ("reports of a plan", *({"reports": n} for n in (0, 0.5, True, 10**400))),
        ("assurance", {"error": 0.1, "assurance": 0.4}),
        ("neither", {}),
        ("both", {"error": 0.1, "reports": 5}),
        ("over 2 symbols", {"error": 0.1, "prior": md.Prior([1.0])}),
        ("assumed", {**best, "privacy": md.LDP(1)}),
        ("notion", {**best, "prior": md.Prior.uniform(FLIP.inputs)}),
        ("True", {"error": 0.1, "best": 3}),
    ):
        for asked in cases:
            refused(lambda a=asked: md.plan(FLIP, **a), word)
    refused(lambda: md.plan(HAMMING, worst=True, **best), "assumed")
    refused(lambda: md.plan(md.subset_selection(9, md.LDP(1)), error=1.5), "less than 1")


def test_plans_of_subset_selections_are_those_of_one_share():
    masses, whole = np.array([0.3] + [0.1] * 7), {"reports": 4000}
    prior = md.Prior(masses)
    for level in (1, 6):
        selection = md.subset_selection(8, md.LDP(level))
        made = md.plan(selection, prior=prior, **whole)
        spread = math.sqrt(selection.variances(masses).max() / 4000)
        assert made.standard_errors == pytest.approx([spread])
        assert made.errors[0] > NORMAL * spread
        again = md.plan(selection, error=made.errors[0], prior=prior)
        assert again.reports == pytest.approx(4000, rel=1e-3)
        worst = md.plan(selection, worst=True, **whole).standard_errors
        assert worst == pytest.approx([math.sqrt(selection.worst_variance / 4000)])
    # The last one has sets of one symbol each.
    alone = md.plan(md.randomised_response(prior, 6), prior=prior, feature=np.eye(8)[:1], **whole)
    assert made.errors == pytest.approx(alone.errors, rel=4e-3)
    # Shares that are alike share what may fail: the number is for all intervals.
    many, even = md.subset_selection(300, md.LDP(3)), md.Prior.uniform(300)
    sure, half = (md.plan(many, error=0.03, prior=even, assurance=a).reports for a in (0.9, 0.5))
    assert 1.1 * half < sure < 1.5 * half


# The best kernel


def test_a_plan_says_what_the_best_kernel_needs():
    kernel, asked = md.randomised_response(PRIOR, 1), {"error": 0.02, "prior": PRIOR}
    made = md.plan(kernel, privacy=md.LDP(1), best=True, **asked)
    best = made.best
    assert best.reports == md.plan(best.design, error=0.02).reports
    # Every answer is planned for: the least sum of squares has a wider interval.
    summed = md.design(PRIOR, Estimation(), md.LDP(1))
    assert md.plan(summed, error=0.02).reports > 1.05 * best.reports
    # What is proved is about standard errors; their intervals are by little wider than normal ones.
    widest = NORMAL * best.standard_errors.max() * math.sqrt(best.reports) / 0.02
    assert made.fewest == pytest.approx(widest**2, rel=2e-3)
    assert 0.94 * best.reports <= made.fewest <= best.reports <= made.reports
    assert f"{best.reports} reports" in repr(made)


def test_kernels_that_hide_symbols_need_infinitely_many_reports():
    refused(lambda: md.plan(HAMMING, error=0.02), "-u estimation", error=DataError)
    made, blocks = (md.plan(HAMMING, error=0.02, best=True, by=by) for by in ("symbols", "blocks"))
    assert made.reports == made.cost == made.errors.max() == math.inf
    assert made.fewest <= made.best.reports < 10_000
    assert "no number of reports" in repr(made)
    assert math.isfinite(blocks.reports)
    assert blocks.best.labels == blocks.labels
    shown = errors_to_show(HAMMING, PRIOR, 1000)
    table = error_table(shown, most=3)
    untold = np.isinf(shown.errors)[:3].tolist()
    assert [row["error"] == "not told" for row in table.records()] == untold
    assert table.notes == ("1 more answer not shown",)


def test_plans_are_for_the_answers_and_the_distribution_asked():
    pilot = md.Prior.from_counts([10, 20, 30, 40], LABELS)
    shares = {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}
    found = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))
    made = md.plan(found, error=0.02, best=True, feature=shares, prior=pilot)
    least = made.best.design
    assert (least.utility.of, least.utility.truth, made.best.labels) == (shares, pilot, ("mean",))
    # One answer: its error is the risk, so that nothing is lost in the bound.
    assert made.fewest == pytest.approx(NORMAL**2 * least.risk / 0.02**2, abs=1)
    shown = errors_to_show(least, pilot, 500)
    assert shown.labels == (*LABELS, "mean")
    assert shown.standard_errors[-1] ** 2 == pytest.approx(least.risk / 500)
    # The kernel is for the question alone.
    assert np.isinf(shown.standard_errors[:4]).all()


# The smallest level for so many reports


def test_two_symbols_have_the_level_of_randomised_response():
    prior = md.Prior([0.3, 0.7], ["yes", "no"])
    found = smallest_for_reports(md.LDP, prior, reports=4000, error=0.03)

    def made(level):
        return md.plan(md.randomised_response(prior, level), prior=prior, reports=4000)

    assert found.plan.errors.max() <= 0.03 < made(found.level * 0.998).errors.max()
    # What is proved is about standard errors.
    assert found.below < found.level <= found.below * 1.03
    below = NORMAL * made(found.below).standard_errors.max()
    assert 0.03 < found.error_below == pytest.approx(below, rel=1e-4)
    assert NORMAL * made(found.below * 1.002).standard_errors.max() < 0.03


def test_requirements_hold_at_the_level_and_what_none_reaches_is_refused():
    near = [md.require.every_output({"a": 1, "b": -1.2})]
    asked = {"reports": 5000, "error": 0.05, "subject_to": near, "precision": 0.3}
    kernel = smallest_for_reports("pml:e+ldp:2e", PRIOR, **asked).design.mechanism.kernel
    assert (kernel[0] <= 1.2 * kernel[1] + 1e-12).all()
    none = {"reports": 100, "error": 0.01}
    with pytest.raises(InfeasibleError, match="an open survey of as many people has one of ± "):
        smallest_for_reports(md.LDP, PRIOR, **none)
    refused(lambda: smallest_for_reports([md.LDP, md.PML], PRIOR, **none), "got 2 notions")


def test_the_commands(tmp_path, capsys):
    def said(command, code=0):
        assert main(command.split()) == code
        return "".join(capsys.readouterr())

    path, error = tmp_path / "d.json", "--error 2.5%"
    level = f"smallest --prior a=0.5,b=0.3,c=0.2 -n ldp --precision 0.05 {error}"
    half = said(f"{level} --reports 5000 --assurance 0.5 -o {path}")
    assert "in 50 % of surveys" in half
    shown = json.loads(said(f"{level} --reports 5000 --json"))
    assert (shown["reports"], shown["error"], shown["assurance"]) == (5000, 0.025, 0.9)
    assert max(row["error"] for row in shown["rows"]) <= 0.025
    made = json.loads(said(f"plan {path} {error} --assurance 0.5 --json"))
    again = md.plan(md.load(path), error=0.025, assurance=0.5)
    assert (made["reports"], made["assurance"]) == (again.reports, 0.5)
    for fragment, options in {
        "got --error;": "",
        "got --at-least and --error": "--at-least 0.5",
        "--at-least with it": "--reports 5000 -u hamming",
        "a positive integer": "--reports 0",
    }.items():
        assert fragment in said(f"{level} {options}", 2)
