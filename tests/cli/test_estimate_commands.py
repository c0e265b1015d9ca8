"""Estimates of files are those of tables, and those that were recorded.

python tests/cli/test_estimate_commands.py     records the estimates of today
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checks import for_each
from numpy.testing import assert_allclose

import mechdesign as md
from mechdesign.utility import Estimation

RECORDED = Path(__file__).parents[1] / "recorded" / "estimates.json"
ABC = list("abc")
CLEAR = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], ABC, ABC)
BINS = md.bins(edges=[0, 20, 40, 60])
AGES = md.Mechanism(CLEAR.kernel, BINS.labels, BINS.labels).with_schema({"age": BINS})
SIZES = {1: 5000, 2: 4000, 3: 900}
MANY = md.subset_selection(30, md.LDP(2))
JOBS = {"job": md.Prior([0.5, 0.3, 0.2], ["x", "y", "z"]), "sex": md.Prior.uniform(["f", "m"])}
DESIGNED = md.plan_columns(JOBS, {"job": 1, "sex": 1}, md.LDP(4))
#: Kernels that no search has a part in, whose estimates are recorded.
KERNELS = {
    "job": md.Mechanism(np.eye(3) * 0.8125 + 0.0625, ["x", "y", "z"], ["x", "y", "z"]),
    "sex": md.Mechanism([[0.875, 0.125], [0.125, 0.875]], ["f", "m"], ["f", "m"]),
}
PLAN = md.PublicPlan.of(
    [*KERNELS],
    [md.PublicDesign.of(k.with_schema(name), [md.LDP(2.7)]) for name, k in KERNELS.items()],
    md.LDP(5),
)
POINTS = {"x": 0, "y": 1, "z": 2}


@cache
def known():
    """Two rounds of reports of the same people, with what else is known of them."""
    rng, n = np.random.default_rng(1), 600
    stratum, secrets = rng.choice([1, 2, 3], n), rng.choice(ABC, n, p=[0.5, 0.3, 0.2])
    drawn = md.Sampler(CLEAR, rng)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "r": drawn.draw(secrets),
            "q": drawn.draw(secrets),
            "w": rng.uniform(0.5, 3, n).round(2),
            "s": stratum,
            "c": rng.integers(0, 25, n) + 100 * stratum,
            "g": rng.choice(["old", "young"], n),
            "age": rng.choice(BINS.labels, n, p=[0.2, 0.5, 0.3]),
            "many": md.Sampler(MANY, rng).draw(rng.integers(0, 9, n)),
            "cost": rng.normal(size=n).round(3),
            **{
                name: md.Sampler(PLAN[name], rng).draw(rng.choice([*prior.labels], n))
                for name, prior in JOBS.items()
            },
        }
    )


def estimate(*columns, kernel=CLEAR, **options):
    return md.estimate(known(), kernel, *columns or ("r",), **options)


def joint(**options):
    return md.estimate_joint(known(), [CLEAR, CLEAR], ["r", "q"], **options)


def regress(kernel=PLAN, column=None, **options):
    return md.regress(known(), kernel, column, **{"response": "cost", **options})


LATER = "--second-round k.csv t.csv --second-round-column q --change --person id"
T, JOINT = "k.csv t.csv --column r ", "k.csv t.csv --column r --with k.csv --with-column q "
#: Commands, and the same in Python.
COMMANDS = {
    T: estimate,
    T + "--method likelihood --confidence 0.9": lambda: estimate(
        method="likelihood", confidence=0.9
    ),
    T + "--intervals bootstrap --seed 3": lambda: estimate(intervals="bootstrap", rng=3),
    T + "--target sample": lambda: estimate(target="sample"),
    T + "--intervals delta": lambda: estimate(intervals="delta"),
    T + "--feature a=1,b=0,c=3": lambda: estimate(feature={"a": 1, "b": 0, "c": 3}),
    T + "--truth a=1,b=2,c=3": lambda: estimate(truth=[1, 2, 3]),
    T + "--weights w --strata s --clusters c": lambda: estimate(
        weights="w", strata="s", clusters="c"
    ),
    T + "--weights w --clusters c --by-group g": lambda: estimate(
        weights="w", clusters="c", by_group="g"
    ),
    T + "--strata s --population 1=5000,2=4000,3=900": lambda: estimate(
        strata="s", population=SIZES
    ),
    T + "--weights w --strata s --population sizes.json": lambda: estimate(
        weights="w", strata="s", population=SIZES
    ),
    T + "--weighting horvitz-thompson --population 800": lambda: estimate(
        weighting="horvitz-thompson", population=800
    ),
    JOINT: joint,
    JOINT + "--target sample --with-feature {\"a\":0,\"b\":1,\"c\":1}": lambda: joint(
        target="sample", features=[None, {"a": 0, "b": 1, "c": 1}]
    ),
    JOINT + "--given q": lambda: joint().conditional("q"),
    T + "--second-round k.csv t.csv --second-round-column q": lambda: md.estimate_rounds(
        [known()["r"], known()["q"]], [CLEAR] * 2
    ),
    T + "--second-round k.csv t.csv --second-round-column q --people same": (
        lambda: md.estimate_rounds(known(), [CLEAR] * 2, ["r", "q"], people="same")
    ),
    T + LATER: lambda: md.estimate_change(
        known(), known(), CLEAR, ["r", "q"], person="id"
    ),
    "age.json t.csv --column age --mean --quantile 0.5": lambda: estimate("age", kernel=AGES),
    "age.json t.csv --column age --weights w --mean --quantile 0.5": lambda: estimate(
        "age", kernel=AGES, weights="w"
    ),
    "many.json t.csv --column many": lambda: estimate("many", kernel=MANY),
    T + "--side upper --together": lambda: estimate().with_limits(side="upper", together=True),
    T + "--weights w --by-group g --side lower --together": lambda: estimate(
        weights="w", by_group="g"
    ).with_limits(side="lower", together=True),
    JOINT + "--side lower": lambda: joint().with_limits(side="lower"),
    JOINT + "--given q --together": lambda: joint().with_limits(together=True).conditional("q"),
    T + "--second-round k.csv t.csv --second-round-column q --side upper": (
        lambda: md.estimate_rounds([known()["r"], known()["q"]], [CLEAR] * 2).with_limits(
            side="upper"
        )
    ),
    T + LATER + " --side lower --together": lambda: md.estimate_change(
        known(), known(), CLEAR, ["r", "q"], person="id"
    ).with_limits(side="lower", together=True),
    "age.json t.csv --column age --mean --quantile 0.5 --side upper": lambda: estimate(
        "age", kernel=AGES
    ).with_limits(side="upper"),
    "many.json t.csv --column many --side upper --together": lambda: estimate(
        "many", kernel=MANY
    ).with_limits(side="upper", together=True),
    "plan.json t.csv --weights w --strata s": lambda: estimate(
        None, kernel=PLAN, weights="w", strata="s"
    ),
    "plan.json t.csv --column job --by-group g": lambda: estimate(
        "job", kernel=PLAN, by_group="g"
    ),
    "plan.json t.csv --given job": lambda: md.estimate_joint(known(), PLAN).conditional("job"),
    "plan.json t.csv --column job --with plan.json --with-column sex --given job": (
        lambda: md.estimate_joint(known(), PLAN, ["job", "sex"]).conditional("job")
    ),
    "plan.json t.csv --response cost --reference job=z": lambda: regress(reference={"job": "z"}),
    "plan.json t.csv --response cost --column sex --covariate g": lambda: regress(
        column=["sex"], covariates=["g"]
    ),
    "plan.json t.csv --response sex --family logistic --column job --weights w": (
        lambda: regress(column=["job"], response="sex", family="logistic", weights="w")
    ),
    "plan.json t.csv --response cost --feature job=points.json": lambda: regress(
        feature={"job": POINTS}
    ),
    "job.json t.csv --response cost --column job --confidence 0.9 --reference y": (
        lambda: regress(PLAN["job"], "job", confidence=0.9, reference="y")
    ),
    "clear.json counts.json": lambda: md.estimate(known()["r"], CLEAR),
}  # fmt: skip


def numbers(part):
    """Estimates, errors and limits, in their order."""
    if isinstance(part, dict):
        own = [part[k] for k in ("estimate", "value", "error", "lower", "upper") if k in part]
        own = [math.nan if v is None else float(v) for v in own]
        return own + [v for k, one in part.items() if k != "rounds" for v in numbers(one)]
    return [v for one in part for v in numbers(one)] if isinstance(part, list) else []


def made(command):
    """Those of a call in Python."""
    found = COMMANDS[command]()
    rows = [found.records() if hasattr(found, "records") else found.rows()]
    if hasattr(found, "differences"):
        rows += [one.rows() for one in found.differences()]
    if "--mean" in command:
        rows += [found.mean().to_json(), found.quantile(0.5).to_json()]
    return numbers(rows)


@pytest.fixture
def files(run):
    known().to_csv("t.csv", index=False)
    known().to_parquet("t.parquet")
    Path("k.csv").write_text("input,a,b,c\na,.7,.2,.1\nb,.1,.7,.2\nc,.1,.1,.8\n")
    Path("sizes.json").write_text(json.dumps(SIZES))
    Path("points.json").write_text(json.dumps(POINTS))
    kernels = {"age": AGES, "many": MANY, "clear": CLEAR, "plan": PLAN, "job": PLAN["job"]}
    for name, kernel in kernels.items():
        md.save(kernel, f"{name}.json")
    md.count_reports(known()["r"], CLEAR).save("counts.json")
    return run


def words_of(command):
    """What is typed."""
    return ["regress" if "--response" in command else "estimate", *command.split()]


def test_files_give_what_tables_give_and_what_was_recorded(files):
    recorded = json.loads(RECORDED.read_text())
    assert set(recorded) == set(COMMANDS)
    for command, before in recorded.items():
        expected = made(command)
        # Answers of largest likelihood, and ends of intervals, are looked for to a billionth.
        exact = 1e-8 if "likelihood" in command else 1e-12
        assert_allclose(expected[::4], before[::4], rtol=0, atol=exact, err_msg=command)
        assert_allclose(expected, before, rtol=1e-8, atol=2e-9, err_msg=command)
        code, out, err = files(*words_of(command), "--json")
        assert code == 0, err
        told = numbers(json.loads(out))
        assert_allclose(told, expected, rtol=1e-9, atol=1e-9, err_msg=command)
    wording = T.replace(".csv --c", ".parquet --c").split()
    told = numbers(json.loads(files("estimate", *wording, "--json")[1]))
    assert_allclose(told, made(T), rtol=1e-9)


def test_tables_for_people(files):
    wording = T.split()
    code, out, _ = files("estimate", *wording, "--weights", "w", "--by-group", "g")
    assert code == 0
    assert all(text in out for text in ("g old", "young minus old", "of equal weight"))
    rounds = ["--second-round", "k.csv", "t.csv", "--by", "symbols"]
    code, out, _ = files("estimate", *wording, *rounds)
    assert (code, "2 rounds (600 + 600)" in out) == (0, True)
    out = files("estimate", "plan.json", "t.csv", *CHANGE.format("t.csv").split())[1]
    assert "600 persons in both rounds" in out
    made = regress(PLAN["job"], "job")
    command = "job.json", "t.csv", "--response", "cost", "--column", "job"
    assert made.describe() in files("regress", *command)[1]
    shown = json.loads(files("regress", *command, "--json")[1])
    assert [row["p"] for row in shown["rows"]] == pytest.approx(made.pvalues.tolist())
    code, out, err = files("estimate", "many.json", "counts.json")
    assert (code, out) == (2, "")
    assert err.startswith("error: counts of reports: expected")


def test_a_pilots_estimate_is_the_truth_of_a_second_round(files):
    design = ("design", "--prior", "a=0.4,b=0.3,c=0.3", "-u", "estimation", "-p", "pml:1", "-o")
    out = files("estimate", *T.split(), "--json")[1]
    Path("pilot.json").write_text(out)
    assert files(*design, "second.json", "--truth", "pilot.json")[0] == 0
    found, shrunk = md.load("second.json"), json.loads(out)["shrunk"]["probabilities"]
    assert found.utility.truth.probabilities == pytest.approx(shrunk)
    assert found.certificate.checks[0].achieved[0] <= 1
    Path("pilot.json").write_text('{"shrunk": {"labels": ["a"]}}')
    code, _, err = files(*design, "third.json", "--truth", "pilot.json")
    assert (code, "estimate --json" in err) == (2, True)


CHANGE = "--column job --change --person id --second-round plan.json {}"


@for_each(
    "command, fragment",
    [
        ("regress --response no", "no"),
        ("regress --response cost --reference x", "COLUMN="),
        ("regress --response cost --reference job=q", "'q'"),
        ("regress --response cost --column job --column job", "different column names"),
        ("regress --response cost --column g", "'g'"),
        ("regress --response cost --truth x=1", "over 3 symbols, got 1"),
        ("regress --response cost --covariate job", "different names"),
        ("regress --response cost --family probit", "family"),
        ("estimate --weights sex", "other columns"),
        ("estimate --top 3", "--top"),
        ("estimate --given g", "'g'"),
        ("estimate --given sex --weights w", "--weights"),
        ("estimate --column job --given job", "two columns"),
        ("estimate --column job --with-feature job.json", "--with"),
        ("estimate --second-round-column sex", "--second-round"),
        ("estimate " + CHANGE.format("no.csv"), "no.csv"),
        ("estimate " + CHANGE.format("holes.csv"), "'id'"),
        ("estimate --column job --change", "--second-round"),
        ("plan --error nan%", "error"),
        ("plan --error -1%", "error"),
        ("plan --reports 99 --feature f.json", "a design for one column"),
    ],
)
def test_what_plans_cannot_be_used_for_is_answered_in_one_line(files, command, fragment):
    known().astype({"id": "str"}).replace({"id": {"3": ""}}).to_csv("holes.csv")
    name, *options = command.split()
    options = options if name == "plan" else ["t.csv", *options]
    code, out, err = files(name, "plan.json", *options)
    assert (code, out, fragment in err, len(err.splitlines())) == (2, "", True, 1), err


def test_reports_of_another_column_are_not_taken_for_public_values(files):
    """People of all jobs are among those who reported one, so that groups by reports mix them."""
    people = pd.DataFrame({name: [*prior.labels * 10][:20] for name, prior in JOBS.items()})
    people.assign(cost=range(20), third=people["sex"]).to_parquet("people.parquet")
    md.privatize_file("people.parquet", "r.parquet", PLAN, rng=1, ledger=False)
    for options in ("estimate --by-group sex", "estimate --weights sex", "regress --covariate sex"):
        name, *more = options.split()
        response = ["--response", "cost"] * (name == "regress")
        for kernel in ("plan.json", "job.json"):
            code, _, err = files(name, kernel, "r.parquet", "--column", "job", *response, *more)
            assert (code, "'sex', which holds reports by its rec" in err) == (2, True)
    assert (
        files("estimate", "job.json", "r.parquet", "--column", "job", "--by-group", "third")[0] == 0
    )


def test_each_column_of_a_plan_is_told_how_many_reports_an_error_takes(files):
    md.save(DESIGNED, "designed.json")
    md.save(DESIGNED, "public.json", public=True)
    for form, worst in (("designed", False), ("public", True)):
        told = json.loads(files("plan", f"{form}.json", "--error", " 2.0% ", "--json")[1])
        made = {name: md.plan(DESIGNED[name], error=0.02, worst=worst) for name in JOBS}
        found = {part["column"]: part["reports"] for part in told["columns"]}
        assert found == {name: each.reports for name, each in made.items()}
        assert told["reports"] == max(found.values())
        out = files("plan", f"{form}.json", "--error", "1/50")[1]
        assert all(f"'{name}': {each!r}" in out for name, each in made.items())
        assert f"all columns: {told['reports']} reports" in out
        assert "all columns" not in files("plan", f"{form}.json", "--reports", 1000)[1]


@for_each(
    "options, fragment",
    [
        ("--population x", "whole numbers"),
        ("--population 300", "at least as many people"),
        ("--population 1=5,2=6,3=9 --strata s", "in every stratum"),
        ("--weights g", "600 rows without one"),
        ("--weights no", "column"),
        ("--by g", "--by-group"),
        ("--by-group r", "noise"),
        ("--by-group g --plot x.svg", "leave out --by-group"),
        ("--weights w --method likelihood", "'inversion'"),
        ("--weights w --with x --with-column y", "--weights"),
        ("--weighting horvitz-thompson", "population="),
        ("--missing category", "an input None"),
        ("--second-round k.csv t.csv --method likelihood", "--method"),
        ("--second-round k.csv sizes.json --people same", "one file"),
        ("--people same", "--second-round"),
        ("--mean", "bins"),
        ("--side left", "'left'"),
        ("--side lower --intervals delta", "binomial"),
    ],
)
def test_what_cannot_be_used_is_answered_in_one_line(files, options, fragment):
    code, out, err = files("estimate", *T.split(), *options.split())
    assert (code, out) == (2, "")
    (error,) = [line for line in err.splitlines() if line.startswith("error")]
    assert fragment in error


# Designs for questions, whole or in their public form


def test_commands_answer_what_public_files_ask(run):
    labels, prior = list("abcd"), md.Prior.uniform(list("abcd"))
    coarse = md.design(prior, Estimation({"a": 0.0, "b": 0.0, "c": 1.0, "d": 1.0}), md.LDP(1))
    groups = {"a": "low", "b": "low", "c": "high", "d": "high"}
    grouped = md.design(prior, Estimation(groups), md.LDP(1.5))
    scored = md.design(prior, Estimation({"a": 1, "b": 2, "c": 4, "d": 3}), md.LDP(1))
    for name, found in {"coarse": coarse, "grouped": grouped, "scored": scored}.items():
        md.save(found, f"{name}-whole.json")
        md.save(found, f"{name}-public.json", public=True)
    secrets = np.random.default_rng(1).choice(labels, 900, p=[0.4, 0.3, 0.2, 0.1])
    designs = {"x": grouped, "y": coarse, "z": coarse, "u": scored}
    drawn = {name: md.Sampler(one, rng=ord(name)).draw(secrets) for name, one in designs.items()}
    pd.DataFrame({**drawn, "id": range(900), "v": np.arange(900) % 7}).to_csv("t.csv", index=False)
    for command in (
        "estimate coarse t.csv --column y",
        "plan coarse --error 0.05 --worst",
        "estimate coarse t.csv --column y --second-round coarse t.csv --second-round-column z",
        "estimate grouped t.csv --column x --with coarse --with-column y --given x",
        "estimate coarse t.csv --column y --second-round coarse t.csv --second-round-column z "
        "--change --person id",
        "regress grouped t.csv --column x --response v",
    ):
        told = {}
        for form in ("whole", "public"):
            wording = command.replace("coarse", f"coarse-{form}.json").replace(
                "grouped", f"grouped-{form}.json"
            )
            code, out, err = run(*wording.split(), "--json")
            assert (code, "-u estimation" in err) == (0, False), err
            told[form] = numbers(json.loads(out))
        assert told["whole"] == pytest.approx(told["public"], rel=1e-9)
        assert told["whole"]
        assert '"mean"' in out or "high" in out
    # A mean cannot be given, and the public file says what it asks.
    wording = (
        "estimate grouped-public.json t.csv --column x --with scored-public.json --with-column u"
    )
    code, _, err = run(*wording.split(), "--given", "u")
    assert (code, "condition on 'u'" in err) == (2, True)
    assert "made to answer: 'mean'" in run("check", "coarse-public.json")[1]
    assert run("verify", "coarse-public.json")[0] == 0


def test_the_whole_way_on_the_command_line(run):
    pd.DataFrame({"x": np.repeat(list("abcd"), [500, 250, 150, 100])}).to_csv("t.csv", index=False)
    asked = ("t.csv", "--column", "x", "-p", "pml:1")
    assert run("design", *asked, "-u", "hamming", "-o", "hamming.json")[0] == 0
    assert run("design", *asked, "-u", "estimation", "-o", "best.json")[0] == 0
    for name in ("hamming", "best"):
        release = ("t.csv", "--column", "x", "-o", f"{name}.csv", "--seed", 1)
        code, _, err = run("apply", f"{name}.json", *release)
        # Said before anything is released.
        assert (code, "-u estimation" in err.partition("saved")[0]) == (0, name == "hamming")
        code, out, _ = run("check", f"{name}.json", "--reports", 600)
        assert (code, "Standard errors of 600 reports" in out) == (0, True)
        assert ("not told" in out) == (name == "hamming")
        pytest.importorskip("jinja2")
        page = f"{name}.html"
        assert run("report", f"{name}.json", "-o", page, "--reports", 700)[0] == 0
        assert ("not told</td>" in Path(page).read_text(encoding="utf-8")) == (name == "hamming")
    planned = json.loads(run("plan", "hamming.json", "--error", 0.05, "--best", "--json")[1])
    assert planned["reports"] == "inf"
    assert planned["fewest"] <= planned["best"]["reports"] < math.inf
    assert run("check", "best.json", "--reports", 0)[0] == 2
