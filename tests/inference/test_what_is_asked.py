"""What designs ask is what is estimated, planned and regressed, with the errors designed for.

Adversaries: a default that asks for symbols which reports do not tell apart, one that answers
something else than was designed for, and sums over answers that are no shares.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from checks import for_each, refused
from naive_surveys import best_scores
from numpy.testing import assert_allclose
from reported import counted

import mechdesign as md
from mechdesign.solve.columns_plan import ColumnsPlan, check_together
from mechdesign.utility import Estimation

LABELS = list("abcd")
EVEN = md.Prior.uniform(LABELS)
TRUTH = np.array([0.4, 0.3, 0.2, 0.1])
SCORES = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 3.0}
ENDS = {"a": 0.0, "b": 0.0, "c": 1.0, "d": 1.0}
GROUPS = {"a": "low", "b": "low", "c": "high", "d": "high"}
PLAIN = md.design(EVEN, Estimation(), md.LDP(1))
#: They tell what is asked of them and not every symbol.
SCORED = md.design(EVEN, Estimation(SCORES, names=["score"]), md.LDP(1))
COARSE = md.design(EVEN, Estimation(ENDS), md.LDP(1))
GROUPED = md.design(EVEN, Estimation(GROUPS), md.LDP(1.5))
JOINT = np.outer(TRUTH, [0.25] * 4) + np.diag([0.02] * 4) - 0.02 / 4


def is_silent(text):
    """Whether nobody is told to design for estimates who did."""
    return not any(
        advice in str(text) for advice in ("estimation", "Estimation()", "design for est")
    )


def reports_of(*designs, p=TRUTH, people=10**5):
    """Counts of reports, or pairs of them, as they are to be expected."""
    kernels = [one.mechanism.kernel for one in designs]
    matrix = kernels[0] if len(designs) == 1 else np.kron(*kernels)
    return counted(people * np.ravel(p) @ matrix, *(one.mechanism for one in designs))


def persons(found, seed, people=800):
    secrets = np.random.default_rng(seed).choice(LABELS, people, p=TRUTH)
    drawn = md.Sampler(found, rng=1000 + seed).draw(secrets)
    return pd.DataFrame({"id": range(people), "x": drawn})


def change(designs, **options):
    return md.estimate_change(
        persons(COARSE, 1), persons(COARSE, 2), designs, "x", person="id", **options
    )


def joint(designs, **options):
    return md.estimate_joint(reports_of(GROUPED, SCORED, p=JOINT), designs, **options)


def regress(designs, response="cost", family="linear", **options):
    """A cost depends on the group and on a public column."""
    rng = np.random.default_rng(7)
    codes, age = rng.choice(4, 4000), rng.normal(size=4000)
    cost = 1 + 2 * (codes >= 2) + 0.5 * age + rng.normal(size=4000) * 0.3
    drawn = md.Sampler(designs[0], rng=8).draw(np.array(LABELS)[codes].tolist())
    table = pd.DataFrame(
        {"x": drawn, "age": age, "cost": cost, "late": cost + rng.normal(size=4000) > 2}
    )
    call = {"response": response, "covariates": ["age"], "family": family, **options}
    return md.regress(table.astype({"late": int}), designs[0], "x", **call)


def rounds(designs, **options):
    reports = [reports_of(PLAIN), reports_of(COARSE)]
    return md.estimate_rounds(reports[-len(designs) :], designs, **options)


def same_people(designs, **options):
    reports = reports_of(PLAIN, COARSE, p=np.diag(TRUTH))
    return md.estimate_rounds(reports, designs, people="same", **options)


#: What is made of reports, of which designs, the same by name, and labels and values of answers.
CALLS = {
    "estimate": (
        lambda d, **more: md.estimate(reports_of(COARSE), d[0], **more),
        [COARSE], {"feature": ENDS}, {"mean": 0.3},
    ),
    "plan": (
        lambda d, **more: md.plan(d[0], error=0.05, **more),
        [GROUPED], {"feature": GROUPS}, {"low": None, "high": None},
    ),
    "rounds": (rounds, [PLAIN, COARSE], {"feature": ENDS}, {"mean": 0.3}),
    "the same people": (same_people, [PLAIN, COARSE], {"feature": ENDS}, {"mean": 0.3}),
    "change": (change, [COARSE, COARSE], {"feature": ENDS}, {"mean": 0}),
    "margin": (
        lambda d, **more: joint(d, **more).marginal("first"),
        [GROUPED, SCORED], {"features": (GROUPS, SCORES)}, {"low": 0.7, "high": 0.3},
    ),
    "joint": (
        lambda d, **more: joint(d, method="likelihood", **more),
        [GROUPED, SCORED], {"features": (GROUPS, SCORES)}, {"low": 1.74, "high": 0.76},
    ),
    "conditional": (
        lambda d, **more: joint(d, **more).conditional("first"),
        [GROUPED, SCORED], {"features": (GROUPS, SCORES)}, {"low": 1.74 / 0.7, "high": 0.76 / 0.3},
    ),
    "terms": (
        regress, [GROUPED], {"feature": GROUPS}, {"(intercept)": 1, "x=high": 2, "age": 0.5},
    ),
    "response": (
        lambda d, **more: regress(d, "x", **more),
        [SCORED], {"feature": SCORES}, {"(intercept)": 2.5, "age": 0},
    ),
}  # fmt: skip


@for_each("name", CALLS)
def test_what_a_design_asks_is_what_is_answered(name):
    call, designs, named, answers = CALLS[name]
    for form in (designs, list(map(md.public_form, designs))):
        made, known = call(form), call(form, **named)
        assert (made.labels if callable(made.rows) else made.rows) == tuple(answers)
        for what in {"errors", "values", "lower", "upper", "reports"} & set(vars(made)):
            parts = [np.array(getattr(one, what), float) for one in (made, known)]
            assert_allclose(*parts, rtol=1e-7, atol=1e-9)
        if name != "plan":
            away = np.ravel(made.values) - list(answers.values())
            assert (abs(away) < 4 * np.ravel(made.errors) + 2e-3).all()
    # Kernels alone ask nothing, and other questions are refused with what reports answer.
    if PLAIN not in designs:
        refused(lambda: call([one.mechanism for one in designs]))
    if designs[0] is COARSE:
        told = refused(lambda: call(designs, feature=SCORES), "asks ('mean')")
        assert is_silent(told)
        assert len(call(designs, by="blocks").labels) == 2


def test_answers_that_reports_do_not_tell_are_left_out_or_named():
    last = md.PublicDesign.of(COARSE.mechanism, COARSE.notions, question=SCORED.question)
    made = rounds([PLAIN, last])
    mean = TRUTH @ list(SCORES.values())
    assert (made.labels, made.values[0]) == (("score",), pytest.approx(mean, abs=5e-3))
    for call in (
        lambda: rounds([last]),
        lambda: change([COARSE, last]),
        lambda: joint([GROUPED, SCORED]).conditional("second"),
    ):
        assert is_silent(refused(call, "'score'"))
    for response, family in (("late", "logistic"), ("x", "logistic"), ("x", "linear")):
        assert is_silent(refused(lambda r=response, f=family: regress([GROUPED], r, f)))
    asked = md.design(EVEN, Estimation([ENDS, SCORES]), md.LDP(1))
    pair = [asked, md.PublicDesign.of(COARSE.mechanism, COARSE.notions, question=asked.question)]
    made = md.estimate_change(persons(asked, 1), persons(COARSE, 2), pair, "x", person="id")
    assert {made.labels, *(one.labels for one in made.rounds)} == {("mean 1",)}
    first, second = ({x: float(x == y) for x in LABELS} for y in "ab")
    found = md.design(EVEN, Estimation(first, names=["those of a"]), md.LDP(1))
    told = md.identifiability(found)
    assert told.answers == ("those of a",)
    assert "answer what the design asks ('those of a')" in told.advice
    assert is_silent(told.advice)
    one = md.design(EVEN, Estimation([first, second], [1, 0]), md.LDP(1))
    assert md.plan(one, error=0.05).labels == ("mean 1",)
    both = md.estimate(reports_of(GROUPED), GROUPED, feature=[ENDS, GROUPS])
    assert both.labels == ("mean 1", "low", "high")
    assert_allclose(both.values, [0.3, 0.7, 0.3], atol=2e-3)


@for_each("scale", [1e-60, 1e-9, 1.0, 1e60])
def test_what_reports_do_not_tell_is_seen_at_every_scale(scale):
    """Answers to questions of small numbers were not seen to be untold, and estimated wrong."""
    small, told = ({x: v * scale for x, v in of.items()} for of in (SCORES, ENDS))
    for found in (COARSE.mechanism, md.public_form(COARSE)):
        refused(lambda found=found: md.plan(found, reports=100, feature=small))
        assert md.plan(found, reports=100, feature=told).errors[0] > 0


def plan_of(**designs):
    """A plan whose columns are designs for what their designers ask."""
    made = [
        md.design(found.prior.with_schema(name), found.utility, found.notions)
        for name, found in designs.items()
    ]
    total = md.LDP(sum(found.notions[0].levels[0] for found in made) + 1e-9)
    check = check_together(total, [found.mechanism for found in made], None)
    return ColumnsPlan(tuple(designs), tuple(made), total, None, check, (1.0,) * len(made))


def test_columns_of_plans_answer_what_their_designs_ask(tmp_path, monkeypatch):
    where = np.random.default_rng(3).choice(16, 3000, p=JOINT.ravel())
    table = pd.DataFrame(
        {"kind": np.array(LABELS)[where // 4], "score": np.array(LABELS)[where % 4]}
    )
    plan = plan_of(kind=PLAIN, score=COARSE)
    for public in (False, True):
        md.save(plan, tmp_path / f"{public}.json", public=public)
        found = md.load(tmp_path / f"{public}.json")
        reports = md.privatize(table, found, rng=1)
        one, both, kind = (md.estimate(reports, found, c) for c in ("score", None, "kind"))
        assert (one.labels, kind.labels) == (("mean",), tuple(LABELS))
        assert both.labels == tuple((x, "mean") for x in LABELS)
        cells, alike = (
            md.estimate_joint(reports, found),
            md.estimate(reports, found, feature="kind"),
        )
        assert_allclose(cells.values[:, 0], both.values, atol=1e-9)
        assert_allclose(cells.marginal("kind").values[:, 0], kind.values, atol=1e-9)
        assert_allclose(alike.values, kind.values, atol=1e-9)
        assert not both.note
    # Frames of other libraries carry no receipts.
    assert "no receipt" in md.estimate(pl.from_pandas(reports), found).note
    # A column without questions is asked for every symbol, all of which must be told.
    hidden = md.PublicDesign.of(GROUPED.mechanism.with_schema("kind"), [md.LDP(1.5)])
    other = md.PublicPlan.of([*table], [hidden, md.public_form(plan["score"])], md.LDP(2.6))
    reports = md.privatize(table, other, rng=1)
    refused(lambda: md.estimate(reports, other), "tell 'a', 'b'")
    # By products of scores, where one kernel would be too large, shares alone.
    means = plan_of(kind=PLAIN, score=SCORED)
    monkeypatch.setattr("mechdesign.inference.many.MOST_ENTRIES", 4)
    refused(lambda: md.estimate(md.privatize(table, means, rng=2), means), "score")


# The error that was designed for

PRIOR = md.Prior([0.5, 0.25, 0.15, 0.1], LABELS)
PILOT = md.Prior.from_counts([10, 20, 30, 40], LABELS)
KNOWN = md.design(PRIOR, Estimation(), md.PML(1))


@for_each(
    "found, truth",
    [
        (KNOWN, PRIOR),
        (md.design(PRIOR, Estimation(truth=PILOT), md.LIP(1)), PILOT),
        (md.design(PRIOR, Estimation(ENDS), md.LDP(1)), PRIOR),
    ],
)
def test_estimates_have_the_error_that_was_designed_for(found, truth):
    p, people, question = truth.probabilities, 10**9, found.utility.question(LABELS).weights
    reports = reports_of(found, p=p, people=people)
    made = md.estimate(reports, found)
    assert_allclose(made.values, p @ question, atol=1e-6)
    assert people * np.trace(made.covariance) == pytest.approx(found.risk, rel=1e-6)
    assert found.reports_for(math.sqrt(found.risk / people)) == pytest.approx(people, rel=1e-6)
    # Weights of another distribution are no better where the design looks, and unbiased too.
    for other in ([0.05, 0.05, 0.1, 0.8], [1, 0, 0, 0]):
        away = md.estimate(reports, found, truth=other)
        assert_allclose(away.values, made.values, atol=1e-6)
        worse = np.trace(away.covariance) / np.trace(made.covariance)
        assert worse > (1.01 if len(question.T) > 1 else 1 - 1e-9)


def test_a_truth_can_be_named_in_many_forms():
    drawn = np.random.default_rng(3).multinomial(2000, PRIOR.probabilities @ KNOWN.mechanism.kernel)
    masses = [0.1, 0.2, 0.3, 0.4]
    forms = (
        PRIOR,
        PILOT,
        PILOT.reordered(LABELS[::-1]),
        masses,
        dict(zip(LABELS, masses, strict=True)),
    )
    own, prior, *others = (
        md.estimate(counted(drawn, KNOWN.mechanism), KNOWN, truth=truth).values
        for truth in (None, *forms)
    )
    np.testing.assert_array_equal(own, prior)
    assert_allclose(others, [others[0]] * 4, atol=1e-12)
    assert abs(others[0] - own).max() > 1e-3


@pytest.mark.filterwarnings("ignore::mechdesign.errors.CountsWarning")
def test_a_public_design_says_what_a_distribution_would_save():
    public, p, kernel = md.public_form(KNOWN), PRIOR.probabilities, KNOWN.mechanism.kernel
    reports = reports_of(KNOWN, p=p)
    best, even = (
        (p @ kernel @ best_scores(kernel, np.eye(4), truth) ** 2).sum() - p @ p
        for truth in (p, np.full(4, 0.25))
    )
    note = md.estimate(reports, public).note
    said = int(re.search(r"truth= .* by about (\d+) %", note)[1])
    assert said == pytest.approx(100 * (1 - best / even), abs=1)
    assert said > 4
    named = md.estimate(reports, public, truth=PRIOR)
    for quiet in (named, md.estimate(reports_of(PLAIN), md.public_form(PLAIN))):
        assert "truth=" not in quiet.note
