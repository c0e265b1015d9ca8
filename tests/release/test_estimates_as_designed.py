"""From a design for estimates to the estimate: its error is the one that was designed for."""

from __future__ import annotations

import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused, slow_but

import mechdesign as md
from mechdesign.errors import (
    CountsWarning,
    DataError,
    GapWarning,
    InputError,
    KernelError,
    PriorError,
)
from mechdesign.inference.observed import covariances
from mechdesign.inference.references import reference_of
from mechdesign.inference.widest import narrowest
from mechdesign.release._identifiability import ask, report_weights
from mechdesign.utility import Estimation

LABELS = ["a", "b", "c", "d"]
PRIOR = md.Prior([0.5, 0.25, 0.15, 0.1], LABELS)
PILOT = md.Prior.from_counts([10, 20, 30, 40], LABELS)
SHARES = {"a": 1.0, "b": 1.0, "c": 0.0, "d": 0.0}
DESIGNS = {
    "prior": md.design(PRIOR, Estimation(), md.PML(1)),
    "pilot": md.design(PRIOR, Estimation(truth=PILOT), md.LIP(1)),
    "question": md.design(PRIOR, Estimation(SHARES), md.LDP(1)),
}
each_design = for_each("found", DESIGNS.values())
HAMMING = md.design(PRIOR, md.utility.Hamming(), md.PML(1))
# People asked in each survey, and surveys.
PEOPLE, SURVEYS = 3000, 500


def truth_of(found):
    return np.array([float(mass) for mass in found.utility.masses(found.prior)])


def question_of(found):
    return found.utility.question(LABELS).weights


def weights_of(found):
    question = ask(found.mechanism, found.utility.of)
    return report_weights(found.mechanism, question, reference_of(found, found.mechanism))


# The weights


@each_design
def test_weights_are_those_that_the_design_is_optimal_for(found):
    kernel, truth = found.mechanism.kernel, truth_of(found)
    shown = truth @ kernel
    information = kernel / shown @ kernel.T
    best = (kernel / shown).T @ np.linalg.pinv(information, 1e-12) @ question_of(found)
    np.testing.assert_allclose(weights_of(found), best, rtol=1e-6, atol=1e-9)
    covered = sum(covariances(kernel, weights_of(found), question_of(found), truth))
    assert np.trace(covered) == pytest.approx(found.risk, rel=1e-9)
    np.testing.assert_allclose(kernel @ weights_of(found), question_of(found), atol=1e-9)


def test_weights_of_another_distribution_are_worse_where_the_design_looks():
    """A control: the truth of a design is not its prior."""
    found = DESIGNS["pilot"]
    question = ask(found.mechanism)
    others = report_weights(found.mechanism, question, PRIOR.probabilities)
    kernel, truth = found.mechanism.kernel, truth_of(found)
    covered = sum(covariances(kernel, others, question.weights, truth))
    assert np.trace(covered) > found.risk * 1.01


def test_a_truth_can_be_named_when_estimates_are_made():
    found = DESIGNS["prior"]
    shown = PRIOR.probabilities @ found.mechanism.kernel
    counts = np.random.default_rng(3).multinomial(2000, shown / shown.sum())
    reports = dict(zip(found.mechanism.outputs, counts.tolist(), strict=True))
    made = {
        name: md.estimate(reports, found, truth=truth).values
        for name, truth in {
            "own": None,
            "prior": PRIOR,
            "pilot": PILOT,
            "reordered": PILOT.reordered(LABELS[::-1]),
            "counts": dict(zip(LABELS, [10, 20, 30, 40], strict=True)),
            "numbers": [0.1, 0.2, 0.3, 0.4],
        }.items()
    }
    np.testing.assert_array_equal(made["own"], made["prior"])
    for name in ("reordered", "counts", "numbers"):
        np.testing.assert_allclose(made[name], made["pilot"], atol=1e-12)
    assert abs(made["pilot"] - made["own"]).max() > 1e-3
    refused(lambda: md.estimate(reports, found, truth={"x": 1, "y": 2}), error=KernelError)


def test_a_truth_that_rules_symbols_out_leaves_estimates_unbiased_and_finite():
    found = DESIGNS["prior"]
    weights = report_weights(found.mechanism, ask(found.mechanism), np.eye(4)[0])
    np.testing.assert_allclose(found.mechanism.kernel @ weights, np.eye(4), atol=1e-7)


def test_questions_of_a_design_are_questions_of_an_estimate():
    rows = [[1, 1, 0, 0], [0, 0, 1, -1]]
    found = md.design(PRIOR, Estimation(rows), md.LDP(2))
    counts = np.round(PRIOR.probabilities @ found.mechanism.kernel * 1e6)
    reports = dict(zip(found.mechanism.outputs, counts.astype(int).tolist(), strict=True))
    made = md.estimate(reports, found, feature=rows)
    assert made.labels == (1, 2)
    np.testing.assert_allclose(made.values, [0.75, 0.05], atol=1e-5)
    made = md.estimate(reports, found, feature=[SHARES, {"a": "x", "b": "x", "c": "y", "d": "y"}])
    assert made.labels == ("mean 1", "x", "y")
    np.testing.assert_allclose(made.values, [0.75, 0.75, 0.25], atol=1e-5)
    refused(lambda: md.estimate(reports, found, feature=[[1, 2]]), "rows of 4", error=InputError)


def test_what_a_design_asks_is_what_is_estimated_and_planned():
    shares = {"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0}
    found = md.design(PRIOR, Estimation(shares, names=["those of a"]), md.LDP(1))
    counts = np.round(PRIOR.probabilities @ found.mechanism.kernel * 1e6)
    reports = dict(zip(found.mechanism.outputs, counts.astype(int).tolist(), strict=True))
    made = md.estimate(reports, found)
    named = md.estimate(reports, found, feature=shares)
    assert made.labels == ("those of a",)
    assert made.values == pytest.approx(named.values, rel=1e-12)
    assert made.errors == pytest.approx(named.errors, rel=1e-12)
    planned = md.plan(found, error=0.05, best=True)
    assert planned.reports == md.plan(found, error=0.05, feature=shares).reports
    assert planned.best.reports == planned.reports
    told = md.identifiability(found)
    assert told.answers == ("those of a",)
    assert "answer what the design asks ('those of a')" in told.advice
    assert "md.utility.Estimation()" not in told.advice
    # A kernel alone asks nothing.
    refused(lambda: md.estimate(reports, found.mechanism), "tell", error=DataError)
    apart = md.design(PRIOR, Estimation(np.tri(4)[:-1]), md.LDP(1))
    assert md.plan(apart, error=0.05).labels == (1, 2, 3)
    assert md.plan(apart, error=0.05, by="blocks").labels == tuple(LABELS)
    assert md.identifiability(apart).advice == ""
    # An answer without weight is left out where reports do not tell it.
    one = md.design(
        PRIOR, Estimation([shares, {x: float(x == "b") for x in LABELS}], [1, 0]), md.LDP(1)
    )
    assert md.plan(one, error=0.05).labels == ("mean 1",)


@pytest.mark.slow
def test_best_plans_of_few_outputs_take_one_round_for_one_answer():
    few = md.require.outputs(2)
    asked = Estimation({"a": 1.0, "b": 2.0, "c": 4.0, "d": 3.0})
    with pytest.warns(GapWarning):
        found = md.design(PRIOR, asked, md.LDP(1), subject_to=few)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        planned = md.plan(found, error=0.05, best=True)
    assert not said
    assert planned.fewest <= planned.best.reports <= planned.reports
    rounds = []

    def counted(weights):
        rounds.append(weights)
        return found

    narrowest(1, counted, lambda one: np.array([one.risk]))
    assert len(rounds) == 1


# The error, measured


@pytest.fixture(scope="module")
def surveys():
    """Estimates of simulated surveys at the truth of each design, and whether intervals hold."""
    rng = np.random.default_rng(16)
    made = {}
    for name, found in DESIGNS.items():
        truth, kernel = truth_of(found), found.mechanism.kernel
        values, hits = [], []
        for counts in rng.multinomial(PEOPLE, truth @ kernel / (truth @ kernel).sum(), SURVEYS):
            reports = dict(zip(found.mechanism.outputs, counts.tolist(), strict=True))
            one = md.estimate(reports, found, feature=found.utility.of)
            values.append(one.values)
            hits.append(
                (one.lower <= truth @ question_of(found))
                & (one.upper >= truth @ question_of(found))
            )
        made[name] = np.array(values), np.array(hits)
    return made


def measured(surveys, name):
    """Mean squared error of the surveys, and its standard error."""
    found = DESIGNS[name]
    squares = ((surveys[name][0] - truth_of(found) @ question_of(found)) ** 2).sum(axis=1)
    return squares.mean(), squares.std(ddof=1) / math.sqrt(len(squares))


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(lambda name: name != "prior", DESIGNS))
def test_measured_errors_are_those_that_were_designed_for(surveys, name):
    found, (error, uncertain) = DESIGNS[name], measured(surveys, name)
    assert abs(error - found.risk / PEOPLE) <= 3 * uncertain
    # Controls: another power of the number of reports is seen.
    for wrong in (found.risk / PEOPLE**0.95, found.risk / PEOPLE**1.05):
        assert abs(error - wrong) > 3 * uncertain


@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_cover_at_the_stated_rate(surveys, name):
    shares = surveys[name][1].mean(axis=0)
    slack = 4 * math.sqrt(0.95 * 0.05 / SURVEYS)
    assert abs(shares - 0.95).max() <= slack


def test_reports_for_an_error_give_that_error(surveys):
    found, (error, uncertain) = DESIGNS["prior"], measured(surveys, "prior")
    assert abs(found.reports_for(math.sqrt(error)) / PEOPLE - 1) <= 3 * uncertain / error + 1e-3


# Symbols without mass


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
@pytest.mark.parametrize("truth", [None, "any", [[0.4, 0.4, 0.2, 0]]], ids=str)
def test_symbols_without_mass_are_refused_where_no_report_would_tell_them(truth):
    prior = md.Prior([0.5, 0.3, 0.2, 0.0], LABELS)
    for make in (
        lambda: md.design(prior, Estimation(truth=truth), md.LDP(1)),
        lambda: md.explain(prior, Estimation(truth=truth), md.LDP(1)),
        lambda: md.sweep(prior, Estimation(truth=truth), [md.LDP(1)]),
        lambda: md.plan(md.design(prior, None, md.LDP(2)), error=0.1, best=True),
    ):
        refused(make, "'d'", error=PriorError)
    # What is advised works.
    for known in (prior.restricted(), md.Prior.from_counts([5, 3, 2, 0.5], LABELS)):
        found = md.design(known, Estimation(), md.LDP(1))
        people = pd.DataFrame({"x": ["a", "b", "c", "a"] * 50})
        reports = md.privatize(people, "x", found, rng=1)["x"]
        assert md.estimate(reports, found).labels == known.labels
        plan = md.plan(found, error=0.1, best=True)
        assert plan.fewest <= plan.best.reports <= plan.reports


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
@pytest.mark.parametrize("notion", [md.LDP(1), md.PML(1)], ids=str)
def test_symbols_without_mass_are_counted_with_those_of_which_the_same_is_asked(notion):
    prior = md.Prior([0.5, 0.3, 0.2, 0.0], LABELS)
    # The row of c answers whatever share of people has d, that of a, the likeliest, does not.
    asked = {"a": 0, "b": 1, "c": 5, "d": 5}
    found = md.design(prior, Estimation(asked), notion)
    kernel = found.mechanism.kernel
    np.testing.assert_array_equal(kernel[3], kernel[2])
    people = np.array([0.4, 0.1, 0.2, 0.3])
    counts = np.round(1e9 * people @ kernel).astype(int).tolist()
    reports = dict(zip(found.mechanism.outputs, counts, strict=True))
    answer = md.estimate(reports, found, feature=asked)
    assert answer.values[0] == pytest.approx(2.6, abs=1e-6)
    assert math.isfinite(md.plan(found, error=0.1, feature=asked).reports)
    rows = np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    free = md.design(prior, Estimation(rows, weights=[1, 0]), notion).mechanism.kernel
    np.testing.assert_array_equal(free[3], free[0])


# The command line


def test_the_whole_way_on_the_command_line(run):
    people = np.repeat(LABELS, [500, 250, 150, 100])
    pd.DataFrame({"x": people}).to_csv("people.csv", index=False)
    code, *_ = run("design", "people.csv", "--column", "x", "-p", "pml:1", "-o", "hamming.json")
    assert code == 0
    release = ("people.csv", "--column", "x", "-o", "reports.csv", "--seed", 1)
    code, _, err = run("apply", "hamming.json", *release)
    assert code == 0
    assert "mechdesign design … -u estimation" in err  # said before anything is released
    assert err.index("-u estimation") < err.index("saved")
    code, out, _ = run("plan", "hamming.json", "--error", 0.05, "--best", "--json")
    assert code == 0
    planned = json.loads(out)
    assert planned["reports"] == "inf"
    assert planned["fewest"] <= planned["best"]["reports"] < math.inf
    code, out, _ = run("plan", "hamming.json", "--error", 0.05, "--best")
    assert f"{planned['best']['reports']} reports" in out
    design = ("design", "people.csv", "--column", "x", "-p", "pml:1", "-u", "estimation")
    assert run(*design, "-o", "best.json")[0] == 0
    code, _, err = run("apply", "best.json", *release, "--force")
    assert code == 0
    assert "-u estimation" not in err  # a control
    options = ("--column", "x", "--json")
    code, out, _ = run("estimate", "best.json", "reports.csv", *options)
    assert code == 0
    own = json.loads(out)["rows"]
    again = run("estimate", "best.json", "reports.csv", *options, "--truth", "a=10,b=20,c=30,d=40")
    assert again[0] == 0
    assert json.loads(again[1])["rows"] != own
    code, out, _ = run("show", "best.json", "--reports", 600)
    assert code == 0
    assert "Standard errors of 600 reports" in out
    assert "squared error × reports" in out
    assert "not told" not in out
    assert "not told" in run("show", "hamming.json")[1]
    assert run("show", "best.json", "--reports", 0)[0] == 2
    found = md.load("best.json")
    assert md.plan(found, error=0.05).reports >= planned["best"]["reports"]


@pytest.mark.slow
def test_reports_for_a_reviewer_show_error_bars(run):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    md.save(HAMMING, "hamming.json")
    md.save(DESIGNS["prior"], "best.json")
    pages = {}
    for name in ("hamming", "best"):
        code, *_ = run("report", f"{name}.json", "-o", f"{name}.html", "--reports", 700)
        assert code == 0
        with open(f"{name}.html", encoding="utf-8") as page:
            pages[name] = page.read()
        assert "Standard errors of 700 reports" in pages[name]
        assert "Intervals that estimates will have" in pages[name]
    assert "not told</td>" in pages["hamming"]
    assert "not told</td>" not in pages["best"]


def test_a_public_design_says_what_a_distribution_would_save():
    found = DESIGNS["prior"]
    with pytest.warns(CountsWarning):
        public = md.public_form(found)
    rng = np.random.default_rng(7)
    secrets = rng.choice(LABELS, 4000, p=PRIOR.probabilities)
    reports = md.Sampler(found, rng=3).draw(secrets)
    plain = md.estimate(reports, public)
    kernel, question = found.mechanism.kernel, ask(found.mechanism)
    shown = PRIOR.probabilities @ kernel

    def error(truth):
        weights = report_weights(found.mechanism, question, truth)
        return float((shown @ weights**2).sum() - (PRIOR.probabilities**2).sum())

    saved = 1 - error(PRIOR.probabilities) / error(np.full(4, 0.25))
    said = re.search(r"truth= .* by about (\d+) %", plain.note)
    assert int(said[1]) == pytest.approx(100 * saved, abs=2)
    assert saved > 0.04
    named = md.estimate(reports, public, truth=PRIOR)
    assert "truth=" not in named.note
    assert named.values == pytest.approx(md.estimate(reports, found).values, abs=1e-12)
    # Where all weights are the same, or as good, nothing is said.
    assert "truth=" not in md.estimate(reports, found).note
    even = md.design(md.Prior.uniform(LABELS), Estimation(), md.LDP(1))
    drawn = md.Sampler(even, rng=4).draw(secrets)
    assert "truth=" not in md.estimate(drawn, md.public_form(even)).note
