"""Rounds, changes, joint tables, columns of plans and regressions answer what designs ask.

Adversaries: a default that asks for symbols which reports do not tell apart, one that answers
something else than was designed for, and sums over answers that are no shares.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.errors import DataError
from mechdesign.inference import many
from mechdesign.solve.columns_plan import ColumnsPlan, check_together
from mechdesign.utility import Estimation

LABELS = ["a", "b", "c", "d"]
PRIOR = md.Prior.uniform(LABELS)
TRUTH = np.array([0.4, 0.3, 0.2, 0.1])
SCORES = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 3.0}
MEAN = float(TRUTH @ list(SCORES.values()))
GROUPS = {"a": "low", "b": "low", "c": "high", "d": "high"}
SCORED = md.design(PRIOR, Estimation(SCORES, names=["score"]), md.LDP(1))
#: A kernel that tells the score and no symbol, as of designs for extreme values.
COARSE = md.design(PRIOR, Estimation({"a": 0.0, "b": 0.0, "c": 1.0, "d": 1.0}), md.LDP(1))
GROUPED = md.design(PRIOR, Estimation(GROUPS), md.LDP(1.5))
PLAIN = md.design(PRIOR, Estimation(), md.LDP(1))
ADVICE = ("-u estimation", "Estimation()", "design for estimates")


def counts_of(found, people=10_000, truth=TRUTH):
    """About the expected number of each report."""
    counts = np.round(people * truth @ found.mechanism.kernel).astype(int)
    return dict(zip(found.mechanism.outputs, counts.tolist(), strict=True))


def pairs_of(one, two, joint, people=10_000):
    expected = people * one.mechanism.kernel.T @ joint @ two.mechanism.kernel
    return {
        (y, z): round(expected[i, j])
        for i, y in enumerate(one.mechanism.outputs)
        for j, z in enumerate(two.mechanism.outputs)
    }


def both_forms(*designs):
    """The designs whole, and their public forms; the best weights of both are those of equal
    shares.
    """
    return [list(designs), [md.public_form(one) for one in designs]]


def is_silent(text):
    return not any(advice in str(text) for advice in ADVICE)


def test_the_kernels_of_these_tests_do_not_tell_every_symbol():
    """A control: otherwise the defaults of before would have answered, too."""
    for found in (COARSE, GROUPED):
        refused(lambda found=found: md.plan(found.mechanism, error=0.1), error=DataError)


# Rounds


@pytest.mark.parametrize("people", ["different", "same"])
def test_rounds_answer_what_the_last_design_asks(people):
    for designs in both_forms(PLAIN, COARSE):
        if people == "same":
            reports = pairs_of(PLAIN, COARSE, np.diag(TRUTH))
        else:
            reports = [counts_of(PLAIN), counts_of(COARSE)]
        made = md.estimate_rounds(reports, designs, people=people)
        named = md.estimate_rounds(
            reports, designs, people=people, feature=COARSE.utility.of, truth=PRIOR
        )
        assert made.labels == ("mean",)
        assert made.values == pytest.approx(named.values, abs=1e-12)
        assert made.errors == pytest.approx(named.errors, rel=1e-9)
        assert made.values[0] == pytest.approx(0.3, abs=2e-3)
        # What is asked for is answered all the same.
        shares = md.estimate_rounds(reports, designs, people=people, by="blocks")
        assert shares.labels == tuple(LABELS)
        assert shares.values == pytest.approx(TRUTH, abs=5e-3)


def test_rounds_of_one_question_are_the_design_of_it_twice():
    for designs in both_forms(COARSE, COARSE):
        made = md.estimate_rounds([counts_of(COARSE)] * 2, designs)
        alone = md.estimate(counts_of(COARSE), designs[0])
        assert made.labels == alone.labels == ("mean",)
        assert made.values == pytest.approx(alone.values, rel=1e-9)
        assert made.errors == pytest.approx(alone.errors / np.sqrt(2), rel=1e-3)
    # The kernel alone asks for every symbol.
    bare = [COARSE.mechanism] * 2
    refused(lambda: md.estimate_rounds([counts_of(COARSE)] * 2, bare), error=DataError)


def test_rounds_that_do_not_tell_what_is_asked_are_refused_by_its_name():
    last = md.PublicDesign.of(COARSE.mechanism, COARSE.notions, question=SCORED.question)
    found = refused(
        lambda: md.estimate_rounds([counts_of(COARSE)] * 2, [COARSE, last]), error=DataError
    )
    assert "'score'" in found.expected
    assert is_silent(found)
    # Together with a kernel that answers every question they answer it.
    made = md.estimate_rounds([counts_of(PLAIN), counts_of(COARSE)], [PLAIN, last])
    assert made.labels == ("score",)
    assert made.values[0] == pytest.approx(MEAN, abs=5e-3)


# Changes


def persons(found, people, seed, again=0):
    """Reports of people; another round of the same ones where it is ``again``."""
    secrets = np.random.default_rng(seed).choice(LABELS, people, p=TRUTH)
    reports = md.Sampler(found, rng=1000 + seed + again).draw(secrets)
    return pd.DataFrame({"id": range(people), "x": reports})


def test_changes_are_of_what_the_designs_ask():
    first, second = persons(COARSE, 800, 1), persons(COARSE, 800, 2)
    for designs in both_forms(COARSE, COARSE):
        made = md.estimate_change(first, second, designs, "x", person="id")
        named = md.estimate_change(
            first, second, designs, "x", person="id", feature=COARSE.utility.of
        )
        assert made.labels == ("mean",)
        for what in ("values", "errors", "errors_apart"):
            assert getattr(made, what) == pytest.approx(getattr(named, what), rel=1e-9)
        assert [one.labels for one in made.rounds] == [("mean",)] * 2
        blocks = md.estimate_change(first, second, designs, "x", person="id", by="blocks")
        assert len(blocks.labels) == 2
    bare = [COARSE.mechanism] * 2
    refused(lambda: md.estimate_change(first, second, bare, "x", person="id"), error=DataError)


def test_a_change_is_of_the_answers_that_both_rounds_tell():
    asked = Estimation([COARSE.utility.of, SCORES])
    both = md.design(PRIOR, asked, md.LDP(1))
    pair = [both, md.PublicDesign.of(COARSE.mechanism, COARSE.notions, question=both.question)]
    tables = persons(both, 800, 1), persons(COARSE, 800, 2)
    made = md.estimate_change(*tables, pair, "x", person="id")
    assert made.labels == ("mean 1",)
    assert [one.labels for one in made.rounds] == [("mean 1",)] * 2
    nothing = [COARSE, md.PublicDesign.of(COARSE.mechanism, (), question=SCORED.question)]
    tables = tables[1], tables[1]
    found = refused(
        lambda: md.estimate_change(*tables, nothing, "x", person="id"), "'score'", error=DataError
    )
    assert is_silent(found)


# Joint tables


JOINT = np.outer(TRUTH, [0.25] * 4) + np.diag([0.02] * 4) - 0.02 / 4


@pytest.mark.parametrize("method", ["inversion", "likelihood"])
def test_joint_tables_are_of_what_both_designs_ask(method):
    assert JOINT.min() > 0
    assert JOINT.sum() == pytest.approx(1)
    score, low = np.array(list(SCORES.values())), np.array([1, 1, 0, 0])
    for designs in both_forms(GROUPED, SCORED):
        reports = pairs_of(GROUPED, SCORED, JOINT, 40_000)
        made = md.estimate_joint(reports, designs, method=method)
        assert made.rows == ("low", "high")
        assert made.columns == ("score",)
        expected = [low @ JOINT @ score, (1 - low) @ JOINT @ score]
        assert made.values[:, 0] == pytest.approx(expected, abs=0.01)
        # A mean has no value of each symbol to sum over.
        groups = made.marginal("first")
        alone = md.estimate(counts_of(GROUPED, 40_000, JOINT.sum(axis=1)), designs[0])
        assert groups.values[:, 0] == pytest.approx(low_high(JOINT.sum(axis=1)), abs=5e-3)
        assert groups.errors[:, 0] == pytest.approx(alone.errors, rel=0.02)
        mean = made.marginal("second")
        assert mean.values[0, 0] == pytest.approx(JOINT.sum(axis=0) @ score, abs=0.02)
        # Limits of a mean are not those of a share.
        assert mean.upper[0, 0] > mean.values[0, 0] > 1
        given = made.conditional("first")
        assert given.rows == ("low", "high")
        ratio = np.array(expected) / low_high(JOINT.sum(axis=1))
        assert given.values[:, 0] == pytest.approx(ratio, abs=0.02)
        assert (given.lower[:, 0] < ratio).all()
        assert (given.upper[:, 0] > ratio).all()
        refused(lambda made=made: made.conditional("second"), "'score'", error=DataError)
    bare = [GROUPED.mechanism, SCORED.mechanism]
    refused(lambda: md.estimate_joint(pairs_of(GROUPED, SCORED, JOINT), bare), error=DataError)


def low_high(shares):
    return np.array([shares[:2].sum(), shares[2:].sum()])


@pytest.mark.slow
def test_errors_of_means_given_groups_are_those_of_simulated_surveys():
    rng = np.random.default_rng(5)
    q = (GROUPED.mechanism.kernel.T @ JOINT @ SCORED.mechanism.kernel).ravel()
    labels = [(y, z) for y in GROUPED.mechanism.outputs for z in SCORED.mechanism.outputs]
    found, told, sums = [], [], []
    for counts in rng.multinomial(8000, q / q.sum(), 300):
        made = md.estimate_joint(dict(zip(labels, counts.tolist(), strict=True)), [GROUPED, SCORED])
        given = made.conditional("first")
        found.append(given.values[:, 0])
        told.append(given.errors[:, 0])
        sums.append([made.marginal("first").values[0, 0], made.marginal("first").errors[0, 0]])
    deviation = np.std(found, axis=0, ddof=1)
    assert np.mean(told, axis=0) == pytest.approx(deviation, rel=0.15)
    sums = np.array(sums)
    assert sums[:, 1].mean() == pytest.approx(sums[:, 0].std(ddof=1), rel=0.15)


# Columns of plans


def plan_of(**designs):
    """A plan whose columns are designs for what their designers ask."""
    made = [
        md.design(found.prior.with_schema(name), found.utility, found.notions)
        for name, found in designs.items()
    ]
    total = md.LDP(sum(found.notions[0].levels[0] for found in made) + 1e-9)
    check = check_together(total, [found.mechanism for found in made], None)
    return ColumnsPlan(tuple(designs), tuple(made), (1.0,) * len(made), total, None, check)


@pytest.fixture(scope="module")
def plan():
    return plan_of(kind=PLAIN, score=COARSE)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    where = rng.choice(16, 3000, p=JOINT.ravel())
    return pd.DataFrame(
        {"kind": [LABELS[i // 4] for i in where], "score": [LABELS[i % 4] for i in where]}
    )


def test_columns_of_public_plans_answer_what_their_designs_ask(plan, table, tmp_path):
    for public in (False, True):
        path = tmp_path / f"{public}.json"
        md.save(plan, path, public=public)
        found = md.load(path)
        assert found["kind"].question is None
        assert found["score"].question.labels == ("mean",)
        reports = md.privatize(table, found, rng=1)
        one = md.estimate(reports, found, "score")
        assert one.labels == ("mean",)
        assert one.values[0] == pytest.approx(0.5, abs=4 * one.errors[0])
        both = md.estimate(reports, found)
        assert both.labels == tuple((x, "mean") for x in LABELS)
        assert both.values.sum() == pytest.approx(one.values[0], abs=1e-9)
        # The same as the joint table has, whose cells are these.
        joint = md.estimate_joint(reports, found)
        assert joint.values[:, 0] == pytest.approx(both.values, abs=1e-9)
        # What is named is answered.
        kinds = md.estimate(reports, found, feature="kind")
        assert kinds.labels == tuple(LABELS)
        groups = md.estimate(reports, found, by="blocks").labels
        assert any(isinstance(group, tuple) and len(group) > 1 for group in groups)
    # Without the question: refused, as before.
    bare = [md.PublicDesign.of(one.mechanism, one.notions) for one in plan.designs]
    other = md.PublicPlan.of(plan.names, bare, plan.total)
    refused(lambda: md.estimate(reports, other), error=DataError)


def test_symbols_that_reports_do_not_tell_are_not_left_out_beside_a_question(table):
    """A column without questions is asked for every symbol, all of which must be told."""
    hidden = md.design(PRIOR, Estimation(GROUPS), md.LDP(1)).mechanism.with_schema("kind")
    kind = md.PublicDesign.of(hidden, [md.LDP(1)])
    score = md.public_form(md.design(PRIOR.with_schema("score"), COARSE.utility, md.LDP(1)))
    found = md.PublicPlan.of(["kind", "score"], [kind, score], md.LDP(2.1))
    reports = md.privatize(table, found, rng=1)
    told = refused(lambda: md.estimate(reports, found), error=DataError)
    assert "tell 'a', 'b'" in told.expected
    assert md.estimate(reports, found, "score").labels == ("mean",)


def test_many_columns_answer_shares_of_features_by_products(plan, table, monkeypatch):
    whole = plan_of(kind=GROUPED, score=COARSE)
    reports = md.privatize(table, whole, rng=2)
    small = md.estimate(reports, whole)
    monkeypatch.setattr(many, "MOST_ENTRIES", 4)
    large = md.estimate(reports, whole)
    assert type(large).__name__ == "ManyEstimates"
    assert tuple(large.labels) == small.labels
    assert small.labels[0] == ("low", "mean")
    assert large.values == pytest.approx(small.values, abs=1e-9)
    assert large.errors == pytest.approx(small.errors, rel=0.02)
    # Of means it is not known how much the mechanism adds.
    other = plan_of(kind=PLAIN, score=SCORED)
    refused(lambda: md.estimate(md.privatize(table, other, rng=2), other), "score")


# Regressions


def regressed(found, people=4000, seed=7):
    """Secrets with reports, a cost that depends on the group, and a public column."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(4, people, p=[0.25] * 4)
    secrets = np.array(LABELS)[codes]
    age = rng.normal(size=people)
    high = (codes >= 2).astype(float)
    cost = 1 + 2 * high + 0.5 * age + rng.normal(size=people) * 0.3
    reports = md.Sampler(found, rng=1000 + seed).draw(secrets.tolist())
    score = np.array([SCORES[x] for x in secrets])
    return pd.DataFrame({"x": reports, "age": age, "cost": cost}), score


def test_regressions_have_what_the_design_asks_as_terms():
    table, _ = regressed(GROUPED)
    for (found,) in both_forms(GROUPED):
        made = md.regress(table, found, "x", response="cost", covariates=["age"])
        named = md.regress(table, found, "x", response="cost", covariates=["age"], feature=GROUPS)
        assert made.labels == ("(intercept)", "x=high", "age")
        assert made.values == pytest.approx(named.values, rel=1e-9)
        assert made.errors == pytest.approx(named.errors, rel=1e-9)
        assert abs(made.values - [1, 2, 0.5]).max() < 4 * made.errors.max()
        several_of = md.regress(table, {"x": found}, response="cost", covariates=["age"])
        assert several_of.values == pytest.approx(made.values, rel=1e-9)
    call = {"response": "cost", "covariates": ["age"]}
    refused(lambda: md.regress(table, GROUPED.mechanism, "x", **call), error=DataError)


def test_a_privatised_response_is_the_one_answer_of_its_design():
    table, score = regressed(SCORED)
    for (found,) in both_forms(SCORED):
        made = md.regress(table, found, "x", response="x", covariates=["age"])
        named = md.regress(table, found, "x", response="x", covariates=["age"], feature=SCORES)
        assert made.values == pytest.approx(named.values, rel=1e-9)
        assert abs(made.values[0] - score.mean()) < 4 * made.errors[0]
    # Several answers are no number of each symbol.
    table, _ = regressed(GROUPED)
    refused(
        lambda: md.regress(table, GROUPED, "x", response="x", covariates=["age"]),
        "a number for each symbol",
    )


def test_regressions_that_take_more_than_the_design_asks_say_so():
    table, _ = regressed(SCORED)
    table["late"] = (table["cost"] > 2).astype(int)
    hidden = md.PublicDesign.of(COARSE.mechanism, COARSE.notions, question=COARSE.question)
    reports = md.Sampler(COARSE, rng=1).draw(["a", "b", "c", "d"] * 1000)
    coarse = table.assign(x=reports)
    for found, family, response, text in (
        (hidden, "logistic", "late", "family='linear'"),
        (hidden, "logistic", "x", "family='linear'"),
        (scored_alone(), "linear", "cost", "squares"),
    ):
        told = refused(
            lambda found=found, family=family, response=response: md.regress(
                coarse, found, "x", response=response, covariates=["age"], family=family
            ),
            text,
            error=DataError,
        )
        assert is_silent(told)
    # Reports that tell every symbol do for a logistic regression on groups.
    clear = md.design(PRIOR, Estimation(), md.LDP(2))
    asked = md.PublicDesign.of(clear.mechanism, clear.notions, question=GROUPED.question)
    table, _ = regressed(clear)
    blur = 2 * np.random.default_rng(3).normal(size=len(table))
    table["late"] = (table["cost"] + blur > 2).astype(int)
    options = {"response": "late", "covariates": ["age"], "family": "logistic"}
    made = md.regress(table, asked, "x", **options)
    named = md.regress(table, clear, "x", feature=GROUPS, **options)
    assert made.labels == named.labels == ("(intercept)", "x=high", "age")
    assert made.values == pytest.approx(named.values, rel=1e-6)
    shares = md.regress(table, asked, "x", response="x", covariates=["age"], family="logistic")
    assert "x=b: age" in shares.labels


def scored_alone():
    """A kernel of two reports, that tell a mean of four values and not that of their squares."""
    middle = {"a": 0.0, "b": 1 / 3, "c": 2 / 3, "d": 1.0}
    rows = [[0.8 - 0.6 * v, 0.2 + 0.6 * v] for v in middle.values()]
    asked = Estimation(middle).question(LABELS)
    outputs = list(COARSE.mechanism.outputs)
    assert len(outputs) == 2
    return md.PublicDesign.of(md.Mechanism(rows, LABELS, outputs, normalise=True), (), (), asked)


# What is advised


def test_designs_for_questions_are_not_told_to_design_for_estimates():
    reports = counts_of(COARSE)
    for (found,) in both_forms(COARSE):
        calls = [
            lambda found=found: md.estimate(reports, found, feature=SCORES),
            lambda found=found: md.plan(found, error=0.1, feature=SCORES),
            lambda found=found: md.estimate_rounds([reports] * 2, [found] * 2, feature=SCORES),
            lambda found=found: md.estimate_joint(
                pairs_of(COARSE, COARSE, JOINT), [found] * 2, features=(SCORES, None)
            ),
        ]
        for call in calls:
            told = refused(call, "what the design asks ('mean')", error=DataError)
            assert is_silent(told)
        assert is_silent(md.identifiability(found).advice)
    # No group of a kernel like this one is told apart.
    one_block = scored_alone()
    told = refused(
        lambda: md.plan(one_block, error=0.1, by="blocks"),
        "what the design asks ('mean')",
        error=DataError,
    )
    assert is_silent(told)
    # A control: kernels that were made for no question are.
    told = refused(lambda: md.plan(COARSE.mechanism, error=0.1), error=DataError)
    assert not is_silent(told)


@for_each("scale", [1e-60, 1e-9, 1.0, 1e60])
def test_what_reports_do_not_tell_is_seen_at_every_scale(scale):
    """Answers to questions of small numbers were not seen to be untold, and estimated wrong."""
    small = {x: v * scale for x, v in SCORES.items()}
    told = {x: v * scale for x, v in COARSE.utility.of.items()}
    for found in (COARSE.mechanism, md.public_form(COARSE)):
        refused(lambda found=found: md.plan(found, reports=100, feature=small), error=DataError)
        assert md.plan(found, reports=100, feature=told).errors[0] > 0


# The command line


@pytest.fixture
def files(run, plan, table):
    """Designs and plans, whole and public, with files of reports."""
    for public in ("whole", "public"):
        for name, found in {"coarse": COARSE, "grouped": GROUPED, "plan": plan}.items():
            md.save(found, f"{name}-{public}.json", public=public == "public")
    persons(COARSE, 900, 1).to_csv("first.csv", index=False)
    persons(COARSE, 900, 2).to_csv("second.csv", index=False)
    frame, _ = regressed(GROUPED)
    frame.to_csv("costs.csv", index=False)
    md.privatize(table, plan, rng=1).to_csv("columns.csv", index=False)
    both = persons(COARSE, 900, 1).rename(columns={"x": "y"})
    both["x"] = persons(GROUPED, 900, 1, again=7)["x"]
    both["z"] = persons(COARSE, 900, 1, again=8)["x"]
    both.to_csv("both.csv", index=False)
    return run


COMMANDS = {
    "estimate": ("estimate", "coarse", "first.csv", "--column", "x"),
    "plan": ("plan", "coarse", "--error", 0.05),
    "plan of columns": ("plan", "plan", "--error", 0.05),
    "rounds": (
        "estimate", "coarse", "first.csv", "--column", "x", "--second-round", "coarse",
        "second.csv",
    ),
    "same people": (
        "estimate", "coarse", "both.csv", "--column", "y", "--second-round", "coarse", "both.csv",
        "--people", "same", "--second-round-column", "z",
    ),
    "joint": (
        "estimate", "grouped", "both.csv", "--column", "x", "--with", "coarse", "--with-column",
        "y",
    ),
    "given": (
        "estimate", "grouped", "both.csv", "--column", "x", "--with", "coarse", "--with-column",
        "y", "--given", "x",
    ),
    "change": (
        "estimate-change", "coarse", "first.csv", "second.csv", "--column", "x", "--person", "id",
    ),
    "regress": (
        "regress", "grouped", "costs.csv", "--column", "x", "--response", "cost", "--covariate",
        "age",
    ),
    "columns": ("estimate", "plan", "columns.csv"),
    "a column": ("estimate", "plan", "columns.csv", "--column", "score"),
    "columns, one given": ("estimate", "plan", "columns.csv", "--given", "kind"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_answer_what_public_files_ask(files, name):
    told = {}
    for form in ("whole", "public"):
        arguments = [
            f"{text}-{form}.json" if text in ("coarse", "grouped", "plan") and i else text
            for i, text in enumerate(COMMANDS[name])
        ]
        worst = ["--worst"] if arguments[0] == "plan" else []
        code, out, err = files(*arguments, *worst, "--json")
        assert code == 0, err
        assert is_silent(err)
        told[form] = json.loads(out)
        code, out, err = files(*arguments, *worst)
        assert code == 0
        assert "mean" in out or "high" in out
    assert numbers(told["whole"]) == pytest.approx(numbers(told["public"]), rel=1e-9)
    text = json.dumps(told["public"])
    assert '"mean"' in text or "high" in text


def numbers(part):
    """Estimates, errors and limits, in their order."""
    if isinstance(part, dict):
        own = [v for k, v in part.items() if k in ("estimate", "error", "lower", "upper")]
        return [float(v) for v in own] + [v for one in part.values() for v in numbers(one)]
    return [v for one in part for v in numbers(one)] if isinstance(part, list) else []


def test_a_mean_cannot_be_given_at_the_command_line(files):
    arguments = list(COMMANDS["given"])
    arguments = [f"{w}-public.json" if w in ("coarse", "grouped") else w for w in arguments]
    md.save(md.public_form(SCORED), "scored.json")
    arguments[arguments.index("coarse-public.json")] = "scored.json"
    arguments[-1] = "y"
    with_scores = pd.read_csv("both.csv").assign(y=persons(SCORED, 900, 1)["x"])
    with_scores.to_csv("both.csv", index=False)
    code, _, err = files(*arguments)
    assert code == 2
    assert "condition on 'y'" in err
    assert "Traceback" not in err


def test_the_public_file_says_what_it_asks(files):
    code, out, _ = files("show", "coarse-public.json")
    assert code == 0
    assert "made to answer: 'mean'" in out
    assert files("verify", "coarse-public.json")[0] == 0
    assert files("verify", "plan-public.json")[0] == 0
    # The reports of a mean of bins are told what to do.
    code, _, err = files("estimate", "coarse-public.json", "first.csv", "--column", "x", "--mean")
    assert code == 2
    assert is_silent(err)
