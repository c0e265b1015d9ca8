"""Planned numbers of reports keep their promise, and take hardly more than the least that does."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import (
    DataError,
    InfeasibleError,
    InputError,
    KernelError,
    LevelError,
    PriorError,
)
from mechdesign.inference.assurance import Expected
from mechdesign.inference.intervals import Answers, Sampling, matrix_moments, path_of
from mechdesign.inference.likelihood import maximise
from mechdesign.inference.planning import expected_errors
from mechdesign.inference.smallest_levels import smallest_for_reports
from mechdesign.release._identifiability import report_weights
from mechdesign.utility import Estimation
from mechdesign.utility.questions import Question
from mechdesign.views.tables import error_table

LABELS = list("abcd")
PRIOR = md.Prior([0.5, 0.25, 0.15, 0.1], LABELS)
FOUR = md.Prior([0.4, 0.3, 0.2, 0.1], LABELS)
SHARES = {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}
HAMMING = md.design(PRIOR, md.utility.Hamming(), md.PML(1))
FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
NORMAL = 1.959963984540054
KEPT = 0.88


def response(size, level):
    kernel = np.ones((size, size)) + (math.exp(level) - 1) * np.eye(size)
    return kernel / kernel.sum(axis=1, keepdims=True)


def arms(kernel, masses, values=None):
    """A kernel, a prior, values (N, F) and scores of reports (M, F)."""
    kernel, masses = np.array(kernel, float), np.array(masses)
    values = np.eye(len(kernel)) if values is None else np.array(values, float)
    question = Question(tuple(range(values.shape[1])), values)
    scores = report_weights(md.Mechanism(kernel), question, masses)
    return kernel, md.Prior(masses), values, scores


def kept(arm, reports, error, surveys=2000):
    """The share of simulated surveys in which no interval reaches farther than the error."""
    kernel, prior, values, scores = arm
    rng = np.random.default_rng(33)
    chances = prior.probabilities @ kernel
    rows = rng.multinomial(reports, chances / chances.sum(), surveys) / reports
    seen, again = np.unique(rows, axis=0, return_counts=True)
    moments = matrix_moments(kernel, scores, values)
    path = path_of(kernel, seen, maximise(kernel, seen)[0], values, moments)
    means, squares = ((seen @ part).ravel() for part in (scores, scores**2))
    made = Answers(means, path, Sampling(reports), squares)
    lower, upper = made.limits()
    reach = np.maximum(upper - made.projected, made.projected - lower).reshape(len(seen), -1)
    return again[reach.max(axis=1) <= error * (1 + 1e-7)].sum() / surveys


def planned(arm, **asked):
    kernel, prior, values, _ = arm
    feature = None if values.shape == kernel.shape else values.T
    return md.plan(md.Mechanism(kernel), prior=prior, feature=feature, **asked)


RARE = {
    "14 nats": (arms(response(2, 14), [0.999, 0.001]), 0.002, (2839, 3524)),
    "8 nats": (arms(response(2, 8), [0.99, 0.01]), 0.01, (767, 938)),
    "1 nat": (arms(response(2, 1), [0.5, 0.5]), 0.01, (45185, 45187)),
}
OTHERS = {
    "ten alike": (arms(response(10, 3), np.full(10, 0.1)), 0.05),
    "rare of ten": (arms(response(10, 8), [0.11] * 9 + [0.01], np.eye(10)[:, 9:]), 0.01),
    "useless row": (
        arms([[0.94, 0.03, 0.03], [0.03, 0.94, 0.03], [1 / 3] * 3], [0.9, 0.097, 0.003]),
        0.06,
    ),
    "design": (
        arms(md.design(FOUR, Estimation(), md.PML(1)).mechanism.kernel, FOUR.probabilities),
        0.06,
    ),
    "mean": (
        arms(
            md.design(PRIOR, Estimation(), md.PML(1)).mechanism.kernel,
            PRIOR.probabilities,
            [[1], [2], [5], [3]],
        ),
        0.2,
    ),
}


@for_each("name", RARE)
def test_promises_about_rare_shares_are_kept_by_hardly_more_than_the_least_number(name):
    arm, error, numbers = RARE[name]
    half, most = (planned(arm, error=error, assurance=sure).reports for sure in (0.5, 0.9))
    assert (half, most) == numbers
    assert kept(arm, most, error) >= KEPT
    assert planned(arm, reports=most).errors.max() == pytest.approx(error, rel=2e-3)
    # No smaller number keeps it, down to a half.
    for reports in np.linspace(most / 2, most / 1.1, 12).astype(int).tolist():
        assert kept(arm, reports, error) < KEPT
    # A control: normal intervals are narrower.
    normal = planned(arm, reports=10**6).standard_errors.max() * 1000 * NORMAL / error
    assert kept(arm, math.ceil(normal**2), error) < 0.5


@for_each("name", OTHERS)
@pytest.mark.slow
def test_promises_about_all_answers_are_kept(name):
    arm, error = OTHERS[name]
    made = planned(arm, error=error)
    assert kept(arm, made.reports, error) >= KEPT
    assert kept(arm, int(made.reports / 1.1), error) < KEPT


@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.8, 0.9, 0.99]))
@settings(max_examples=25, deadline=None)
def test_no_interval_is_wider_than_asked_and_one_report_less_makes_one(n, seed, sure):
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.ones(n), n) + np.eye(n)
    kernel, prior, values, scores = arms(kernel / 2, rng.dirichlet(np.ones(n)))
    made = Expected(kernel, values, scores, np.tile(prior.probabilities, (n, 1)), 0.05, sure)
    error = float(10 ** rng.uniform(-3, -0.3))
    reports = made.reports(error, 10)
    assert made.errors(reports).max() <= error * (1 + 1e-8)
    assert reports == 10 or made.errors(reports - 1).max() > error * (1 - 1e-8)
    assert made.keep(error, reports)


# Plans


def test_a_plan_gives_the_errors_that_estimates_have():
    found = md.design(md.Prior([0.2, 0.3, 0.5]), md.utility.Hamming(), md.LDP(2))
    made = md.plan(found, error=0.02, assurance=0.5)
    exact = found.prior.probabilities @ found.mechanism.kernel * made.reports
    errors = md.estimate({y: round(c) for y, c in enumerate(exact)}, found).errors
    np.testing.assert_allclose(made.standard_errors, errors, rtol=0.01)
    sure = md.plan(found, error=0.02)
    assert 1 < sure.reports / made.reports < 1.05
    assert sure.errors.max() <= 0.02
    assert "95 % intervals in 90 % of surveys" in repr(sure)
    assert "privacy costs" in repr(sure)
    identity = md.plan(md.Mechanism(np.eye(3)), error=0.02, prior=found.prior)
    assert identity.reports == identity.without_privacy == sure.without_privacy


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, lambda x: x, lambda x: str(x > 0)]))
@settings(max_examples=15, deadline=None)
def test_no_distribution_has_larger_standard_errors_than_the_worst(seed, feature):
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    mechanism = md.Mechanism(0.6 * np.eye(n) + 0.4 * rng.dirichlet(np.ones(n), n))
    worst = md.plan(mechanism, reports=1000, worst=True, feature=feature)
    prior = md.Prior(rng.dirichlet(np.full(n, 0.5)))
    some = md.plan(mechanism, reports=1000, prior=prior, feature=feature)
    assert (some.standard_errors <= worst.standard_errors * (1 + 1e-9)).all()


def test_refused_plans():
    for error in (0, -1, math.nan, "x", 1e-300, 1e300, math.inf, True):
        refused(lambda e=error: md.plan(FLIP, error=e), "error of a plan")
    for error in (1, 1.5):
        refused(lambda e=error: md.plan(FLIP, error=e), "less than 1")
    refused(lambda: md.plan(FLIP, error=3, feature={"no": 1, "yes": 4}), "less than 3")
    assert md.plan(FLIP, error=2.9, feature={"no": 1, "yes": 4}).reports == 10
    for reports in (0, 0.5, True, "3", 10**400, math.inf):
        refused(lambda n=reports: md.plan(FLIP, reports=n), "reports of a plan")
    for assurance in (0.4, 1, math.nan, "x"):
        refused(lambda a=assurance: md.plan(FLIP, error=0.1, assurance=a), "assurance")
    refused(lambda: md.plan(FLIP), "neither")
    refused(lambda: md.plan(FLIP, error=0.1, reports=5), "both")
    refused(lambda: md.plan(FLIP, error=0.1, prior=md.Prior([1.0])), error=KernelError)
    refused(lambda: md.plan(HAMMING, error=0.1, worst=True, best=True), "assumed")
    refused(lambda: md.plan(FLIP, error=0.1, best=True, privacy=md.LDP(1)))
    refused(lambda: md.plan(FLIP, error=0.1, best=True, prior=md.Prior.uniform(["no", "yes"])))
    refused(lambda: md.plan(HAMMING, error=0.1, best=3), "True")


@for_each("notion", [md.LDP(1), md.LIP(1), md.LDP(6)])
def test_plans_of_subset_selections_are_those_of_one_share(notion):
    selection = md.subset_selection(200, notion)
    made = md.plan(selection, reports=4000)
    spread = math.sqrt(selection.variances(np.full(200, 1 / 200)).max() / 4000)
    assert made.standard_errors[0] == pytest.approx(spread)
    assert NORMAL * spread < made.errors[0] < 1.5 * NORMAL * spread
    again = md.plan(selection, error=float(made.errors[0]))
    assert again.reports == pytest.approx(4000, abs=1)
    worst = md.plan(selection, reports=4000, worst=True)
    assert worst.standard_errors[0] == pytest.approx(math.sqrt(selection.worst_variance / 4000))
    point = md.Prior(np.eye(200)[3] * 0.5 + 0.5 / 200)
    assert md.plan(selection, reports=4000, prior=point).errors[0] < worst.errors[0] * (1 + 1e-9)
    other = md.Prior.uniform(199)
    refused(lambda: md.plan(selection, reports=100, prior=other), error=PriorError)
    refused(lambda: md.plan(selection, reports=100, by="blocks"))


# The best kernel


def test_a_plan_says_what_the_best_kernel_needs():
    kernel = md.randomised_response(PRIOR, 1)
    made = md.plan(kernel, error=0.02, prior=PRIOR, privacy=md.LDP(1), best=True)
    assert made.reports == md.plan(kernel, error=0.02, prior=PRIOR).reports
    best = made.best
    assert best.design.notions == (md.LDP(1),)
    assert best.reports == md.plan(best.design, error=0.02).reports
    # Every answer is planned for: the least sum of squares has a wider interval.
    summed = md.design(PRIOR, Estimation(), md.LDP(1))
    assert md.plan(summed, error=0.02).reports > 1.05 * best.reports
    # What is proved is about standard errors; their intervals are by little wider than normal ones.
    widest = NORMAL * best.standard_errors.max() * math.sqrt(best.reports) / 0.02
    assert made.fewest == pytest.approx(widest**2, rel=2e-3)
    assert 0.94 * best.reports <= made.fewest <= best.reports <= made.reports
    assert f"{best.reports} reports" in repr(made)
    # A control: one kernel takes fewer reports under LDP(1.1) than any may under LDP(1).
    uniform = md.Prior.uniform(4)
    one, other = (md.design(uniform, Estimation(), md.LDP(level)) for level in (1, 1.1))
    assert md.plan(other, error=0.02).reports < md.plan(one, error=0.02, best=True).fewest


@given(
    st.sampled_from([2, 3]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([md.LDP(0.5), md.PML(0.4), md.LIP(1)]),
    st.sampled_from([0.01, 0.5, 0.8]),
)
@settings(max_examples=6, deadline=None)
def test_no_kernel_takes_fewer_reports_than_every_kernel(n, seed, notion, error):
    rng = np.random.default_rng(seed)
    prior = md.Prior(rng.dirichlet(np.full(n, 3.0)))
    question = None if seed % 2 else rng.integers(-3, 4, (2, n)) + np.eye(2, n) / 2
    found = md.design(prior, Estimation(question, weights=rng.random(n if seed % 2 else 2)), notion)
    made = md.plan(found, error=error, best=True)
    assert made.fewest <= made.best.reports
    assert made.fewest <= made.reports
    given = md.plan(found, reports=1000, best=True)
    assert given.fewest <= 1000


def test_kernels_that_hide_symbols_need_infinitely_many_reports():
    refused(lambda: md.plan(HAMMING, error=0.02), "-u estimation", error=DataError)
    made = md.plan(HAMMING, error=0.02, best=True)
    assert made.reports == made.cost == made.errors.max() == math.inf
    assert made.fewest <= made.best.reports < 10_000
    assert "no number of reports" in repr(made)
    many = md.plan(HAMMING, reports=2000, best=True)
    assert (many.reports, many.errors.max()) == (2000, math.inf)
    assert many.fewest <= 2000
    blocks = md.plan(HAMMING, error=0.02, best=True, by="blocks")
    assert math.isfinite(blocks.reports)
    assert blocks.best.labels == blocks.labels
    one = md.design(md.Prior([1.0], ["a"]), md.utility.Hamming(), md.LDP(1))
    assert md.plan(one, error=0.1, best=True).fewest == 1


def test_a_best_plan_is_for_the_answers_and_the_distribution_asked():
    pilot = md.Prior.from_counts([10, 20, 30, 40], LABELS)
    found = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))
    made = md.plan(found, error=0.02, best=True, feature=SHARES, prior=pilot)
    assert made.best.design.utility.of == SHARES
    assert made.best.design.utility.truth == pilot
    assert made.best.labels == ("mean",)
    assert made.best.reports < md.plan(found, error=0.02, feature=SHARES, prior=pilot).reports
    # One answer: its error is the risk, so that nothing is lost in the bound.
    assert made.fewest == pytest.approx(NORMAL**2 * made.best.design.risk / 0.02**2, abs=1)


# Before anything is collected


def test_errors_are_known_before_anything_is_collected():
    pilot = md.Prior.from_counts([10, 20, 30, 40], LABELS)
    found = md.design(PRIOR, Estimation(truth=pilot), md.LIP(1))
    made, there = (expected_errors(found, known, 1000) for known in (PRIOR, pilot))
    masses = PRIOR.probabilities
    np.testing.assert_allclose(made.open_errors, np.sqrt(masses * (1 - masses) / 1000), rtol=1e-9)
    assert (made.open_errors < made.standard_errors).all()
    # At the truth that was designed for, their squares sum to the risk over the reports.
    assert (there.standard_errors**2).sum() == pytest.approx(found.risk / 1000, rel=1e-9)
    asked = md.design(PRIOR, Estimation(SHARES), md.LDP(1))
    made = expected_errors(asked, PRIOR, 500)
    assert made.labels == (*LABELS, "mean")
    assert made.standard_errors[-1] ** 2 == pytest.approx(asked.risk / 500, rel=1e-9)
    # Its kernel is for the question alone.
    assert np.isinf(made.standard_errors[:4]).all()


def test_tables_and_pictures_of_errors_say_what_is_not_told():
    made = expected_errors(HAMMING, PRIOR, 1000)
    untold = np.isinf(made.errors)
    assert 0 < untold.sum() < 4
    table = error_table(made, most=3)
    assert [row["error"] == "not told" for row in table.records()] == untold[:3].tolist()
    assert table.notes == ("1 more answer not shown",)
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = md.plot_estimate(made)
    dotted = [c for c in ax.collections if c.get_linestyle()[0][1] is not None]
    assert sum(len(c.get_segments()) for c in dotted) == untold.sum()
    assert ax.get_legend().get_texts()[0].get_text() == "assumed, 95% interval"
    worst = md.plan(FLIP, reports=100, worst=True)
    refused(lambda: md.plot_estimate(worst), "assumed distribution")
    plt.close("all")


# The smallest level for so many reports


def test_two_symbols_have_the_level_of_randomised_response():
    prior = md.Prior([0.3, 0.7], ["yes", "no"])
    found = smallest_for_reports(md.LDP, prior, reports=4000, error=0.03)

    def made(level):
        return planned(arms(response(2, level), [0.3, 0.7]), reports=4000)

    assert found.plan.errors.max() <= 0.03 < made(found.level * 0.998).errors.max()
    assert found.plan.errors.max() == pytest.approx(made(found.level).errors.max(), rel=1e-6)
    # What is proved is about standard errors.
    assert found.below < found.level <= found.below * 1.03
    below = NORMAL * made(found.below).standard_errors.max()
    assert 0.03 < found.error_below == pytest.approx(below, rel=1e-4)
    assert NORMAL * made(found.below * 1.002).standard_errors.max() < 0.03


@pytest.mark.slow
@for_each("notion", ["ldp", "pml", "pml:e+ldp:2e"])
def test_plan_and_the_level_agree(notion):
    found = smallest_for_reports(notion, FOUR, reports=5000, error=0.025, precision=0.02)
    assert md.plan(found.design, error=0.025).reports <= 5000
    assert found.error_below > 0.025
    assert found.below < found.level <= found.below * 1.1
    if notion == "ldp":
        told = [
            md.plan(md.design(FOUR, Estimation(), md.LDP(level)), error=0.025, best=True).fewest
            for level in (found.below, found.level)
        ]
        assert told[0] > 5000 >= told[1]


def test_requirements_hold_at_the_level_and_what_none_reaches_is_refused():
    near = [md.require.every_output({"a": 1, "b": -1.2})]
    asked = {"reports": 5000, "error": 0.05, "subject_to": near, "precision": 0.3}
    kernel = smallest_for_reports(md.LDP, FOUR, **asked).design.mechanism.kernel
    assert (kernel[0] <= 1.2 * kernel[1] + 1e-12).all()
    with pytest.raises(
        InfeasibleError, match=r"an open survey of as many people has one of ± 0\.1"
    ):
        smallest_for_reports(md.LDP, FOUR, reports=100, error=0.01)
    for error in (-1, 1):
        with pytest.raises(InputError):
            smallest_for_reports(md.LDP, FOUR, reports=100, error=error)
    with pytest.raises(LevelError):
        smallest_for_reports([md.LDP, md.PML], FOUR, reports=100, error=0.5)


def test_the_commands(tmp_path, capsys):
    path, survey = tmp_path / "d.json", ["--reports", "5000", "--precision", "0.05"]
    prior = ["smallest", "--prior", "a=0.4,b=0.3,c=0.2,d=0.1", "-n", "ldp", *survey]
    assert main([*prior, "--error", "2.5%", "-o", str(path), "--json"]) == 0
    told = capsys.readouterr()
    assert told.err == f"saved {path}\n"
    shown = json.loads(told.out)
    assert (shown["reports"], shown["error"], shown["assurance"]) == (5000, 0.025, 0.9)
    assert max(row["error"] for row in shown["rows"]) <= 0.025
    assert main([*prior, "--error", "0.025", "--assurance", "0.5"]) == 0
    half = capsys.readouterr().out
    assert "in 50 % of surveys" in half
    assert f"below {shown['below']!r}: every kernel" in half
    found = md.load(path)
    for sure in ("0.9", "0.5"):
        assert main(["plan", str(path), "--error", "2.5%", "--assurance", sure, "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        again = md.plan(found, error=0.025, assurance=float(sure))
        assert (made["reports"], made["assurance"]) == (again.reports, float(sure))
    refusals = {
        "got none of them": [],
        "got --reports": ["--reports", "5000"],
        "got --error": ["--error", "1%"],
        "got --at-least and --error": ["--at-least", "0.5", "--error", "1%"],
        "0.01 or 1%": ["--reports", "5000", "--error", "1 in 10"],
        "--at-least with it": ["--reports", "5000", "--error", "5%", "-u", "hamming"],
        "a positive integer": ["--reports", "0", "--error", "5%"],
        "less than 1": ["--reports", "5000", "--error", "100%"],
    }
    for said, options in refusals.items():
        assert main(["smallest", "--prior", "0.5,0.5", *options]) == 2
        assert said in capsys.readouterr().err
