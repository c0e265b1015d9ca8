"""Plans for several columns on the command line: surveys, regressions and changes, as in Python."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import CountsWarning

NUMBERS = {"x": 0, "y": 1, "z": 2}
# Options of the commands, and the same in Python.
ESTIMATES = {
    "--weights weight --strata group": {"weights": "weight", "strata": "group"},
    "--weights weight --by-group group": {"weights": "weight", "by_group": "group"},
}
REGRESSIONS = {
    "--response cost --reference job=z": {"response": "cost", "reference": {"job": "z"}},
    "--response cost --column sex --covariate group": {
        "response": "cost",
        "column": ["sex"],
        "covariates": ["group"],
    },
    "--response sex --family logistic --column job --weights weight": {
        "response": "sex",
        "family": "logistic",
        "column": ["job"],
        "weights": "weight",
    },
    "--response cost --feature job=numbers.json": {"response": "cost", "feature": {"job": NUMBERS}},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a plan, and two files of its reports in each format, which are handed on."""
    folder = tmp_path_factory.mktemp("plans")
    rng, n = np.random.default_rng(4), 1500
    job, sex = rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2]), rng.choice(["f", "m"], n)
    secrets = pd.DataFrame({"job": job, "sex": sex, "person": range(n)})
    secrets["cost"] = ((job == "y") + 2.0 * (sex == "m") + rng.normal(size=n)).round(3)
    secrets["weight"], secrets["group"] = rng.uniform(1, 3, n).round(2), rng.choice(["u", "v"], n)
    plan = md.plan_columns(secrets, {"job": 1, "sex": 1}, md.LDP(4))
    md.save(plan, folder / "plan.json")
    md.save(plan, folder / "public.json", public=True)
    md.save(plan["job"], folder / "one.json")
    (folder / "numbers.json").write_text(json.dumps(NUMBERS))
    secrets.to_csv(folder / "secrets.csv", index=False)
    secrets.to_parquet(folder / "secrets.parquet")
    for ending in ("csv", "parquet"):
        for seed in (1, 2):
            files = folder / f"secrets.{ending}", folder / f"{seed}.{ending}"
            with pytest.warns(CountsWarning, match="'job', 'sex'"):
                md.privatize_file(*files, plan, rng=seed, ledger=False)
    return folder, plan, *(md.privatize(secrets, plan, rng=seed) for seed in (1, 2))


@pytest.fixture
def run(place, capsys, monkeypatch):
    """What a command prints, and what it says beside it, in the folder of the files."""
    monkeypatch.chdir(place[0])

    def run(command, code=0):
        assert main(shlex.split(command)) == code
        told = capsys.readouterr()
        assert (told.out, len(told.err.splitlines())) == ("", 1) or code != 2
        assert "no receipt" not in told.err
        return told.err if code else told.out

    return run


def assert_same(rows, made):
    labels = [list(label) if isinstance(label, tuple) else label for label in made.labels]
    assert [row["label"] for row in rows] == labels
    for row, told in zip(rows, made.rows(), strict=True):
        assert row["estimate"] == pytest.approx(told["estimate"], rel=1e-4, abs=1e-6)
        assert row["error"] == pytest.approx(told["error"], rel=1e-4)


@for_each("ending", ["csv", "parquet"])
def test_commands_say_what_python_does(place, run, ending):
    _, plan, one, two = place
    for options, named in ESTIMATES.items():
        shown = json.loads(run(f"estimate plan.json 1.{ending} {options} --json"))
        made = md.estimate(one, plan, **named)
        if "by_group" not in named:
            assert_same(shown["rows"], made)
            assert shown["strata"] == 2
            continue
        for part, each in zip(shown["groups"], made.estimates, strict=True):
            assert_same(part["rows"], each)
    assert "v minus u" in run(f"estimate plan.json 1.{ending} --by-group group")
    for options, named in REGRESSIONS.items():
        shown = json.loads(run(f"regress plan.json 1.{ending} {options} --json"))
        assert_same(shown["rows"], md.regress(one, plan, **named))
    alone = f"regress one.json 1.{ending} --column job --response cost --confidence 0.9 --reference"
    shown = json.loads(run(f"{alone} y --json"))
    options = {"response": "cost", "confidence": 0.9, "reference": "y"}
    made = md.regress(one, plan["job"], "job", **options)
    assert_same(shown["rows"], made)
    assert [row["p"] for row in shown["rows"]] == pytest.approx(made.pvalues.tolist())
    assert shown["reference"] == "y"
    assert made.describe() in run(f"{alone} y")
    assert "'q'" in run(f"{alone} q", 2)
    change = f"estimate-change plan.json 1.{ending} 2.{ending} --column job --person person"
    shown = json.loads(run(f"{change} --json"))
    made = md.estimate_change(one, two, plan["job"], "job", person="person")
    assert_same(shown["rows"], made)
    assert shown["rows"][0]["error_apart"] == pytest.approx(made.errors_apart[0])
    assert "1500 persons in both rounds" in run(change)
    made = md.estimate_joint(one, plan, ["job", "sex"]).conditional("job")
    for options in ("", "--column job --with plan.json --with-column sex"):
        shown = json.loads(run(f"estimate plan.json 1.{ending} {options} --given job --json"))
        names = [(row, column) for row in made.rows for column in made.columns]
        assert [(cell["row"], cell["column"]) for cell in shown["cells"]] == names
        for name in ("estimate", "error"):
            told = getattr(made, {"estimate": "values"}.get(name, "errors")).ravel().tolist()
            assert [cell[name] for cell in shown["cells"]] == pytest.approx(told)


def test_reports_of_another_column_are_not_taken_for_public_values(place, run):
    """People of all jobs are among those who reported one, so that groups by reports mix them."""
    _, plan, one, _ = place
    said = "'sex', which holds reports by its rec"
    for call, options in (
        (md.estimate, {"by_group": "sex"}),
        (md.estimate, {"weights": "sex"}),
        (md.regress, {"response": "cost", "covariates": ["sex"]}),
    ):
        for kernel in (plan, plan["job"]):
            refused(lambda c=call, k=kernel, o=options: c(one, k, "job", **o), said)
    three = one.assign(third=one["sex"])
    assert len(md.estimate(three, plan, "job", by_group="third").groups) == 2
    for file in ("1.csv", "1.parquet"):
        assert said in run(f"estimate plan.json {file} --column job --by-group sex", 2)
        options = "--column job --response cost --covariate sex"
        assert said in run(f"regress plan.json {file} {options}", 2)


@for_each(
    "command, fragment",
    {
        "regress --response nothing": "nothing",
        "regress --response cost --reference x": "COLUMN=",
        "regress --response cost --reference job=q": "reference",
        "regress --response cost --column job --column job": "different column names",
        "regress --response cost --column group": "group",
        "regress --response cost --truth x=1": "over 3 symbols, got 1",
        "regress --response cost --covariate job": "different names",
        "regress --response cost --family probit": "family",
        "estimate --weights sex": "other columns",
        "estimate --weights nothing": "nothing",
        "estimate --top 3": "--top",
        "estimate --given group": "'group'",
        "estimate --given sex --weights weight": "--weights",
        "estimate --column job --given job": "two columns",
        "estimate --with-feature job.json": "--with",
        "estimate --people same": "--second-round",
        "estimate --second-round-column sex": "--second-round",
        "estimate-change nothing.csv --column job --person person": "nothing.csv",
        "estimate-change holes.csv --column job --person person": "person",
    }.items(),
)
def test_what_cannot_be_used_is_answered_in_one_line(place, run, command, fragment):
    place[3].astype({"person": "str"}).replace({"person": {"3": ""}}).to_csv("holes.csv")
    name, options = command.split(maxsplit=1)
    assert fragment in run(f"{name} plan.json 1.csv {options}", 2)


# How many reports a plan for several columns takes


@for_each("form", ["plan", "public"])
def test_each_column_is_told_how_many_reports_an_error_takes(place, run, form):
    shown = json.loads(run(f"plan {form}.json --error 2% --confidence 0.9 --json"))
    options = {"error": 0.02, "confidence": 0.9, "worst": form == "public"}
    made = {name: md.plan(place[1][name], **options) for name in ("job", "sex")}
    told = [(part["column"], part["reports"]) for part in shown["columns"]]
    assert told == [(name, each.reports) for name, each in made.items()]
    assert shown["reports"] == max(each.reports for each in made.values())
    out = run(f"plan {form}.json --error 1/50 --confidence 0.9")
    for name, each in made.items():
        assert f"'{name}': {each!r}" in out
    assert f"all columns: {shown['reports']} reports" in out
    out = run(f"plan {form}.json --reports 1000")
    assert out.count("1000 reports") == 2
    assert "all columns" not in out


def test_errors_are_taken_in_percent(place, run):
    for text in ("2 %", " 2.0% ", "2e-2"):
        assert run(f"plan plan.json --error '{text}'") == run("plan plan.json --error 1/50")
    for text in ("2 percent", "%", "", "1%%", "nan%", "0%", "-1%"):
        assert "error" in run(f"plan plan.json '--error={text}'", 2)
    assert "a design for one column" in run("plan plan.json --reports 99 --feature f.json", 2)


def test_the_public_form_of_a_plan_serves_all_commands_that_take_plans(place, run):
    """Estimates of its holders are those of the maker; LDP is about no prior, so it is applied."""
    for command in (
        "estimate {} 1.csv --column job --json",
        "regress {} 1.csv --response cost --column job --json",
        "apply {} secrets.csv -o own.csv --seed 1 --force --json",
    ):
        first, second = (
            json.loads(run(command.format(name))) for name in ("public.json", "plan.json")
        )
        if command.startswith("apply"):
            assert first["kernel"] == second["kernel"]
            continue
        rows = [[row["estimate"] for row in told["rows"]] for told in (first, second)]
        assert rows[0] == pytest.approx(rows[1], rel=1e-2, abs=1e-2)
