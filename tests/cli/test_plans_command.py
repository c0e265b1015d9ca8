"""Plans for several columns on the command line: surveys, regressions and changes, as in Python."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import CountsWarning


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A plan, two files of its reports in each format, and what they hold."""
    folder = tmp_path_factory.mktemp("plans")
    rng, n = np.random.default_rng(4), 1500
    job, sex = rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2]), rng.choice(["f", "m"], n)
    secrets = pd.DataFrame(
        {
            "job": job,
            "sex": sex,
            "cost": ((job == "y") + 2.0 * (sex == "m") + rng.normal(size=n)).round(3),
            "sick": np.where(rng.random(n) < 0.3 + 0.3 * (job == "y"), "ill", "well"),
            "weight": rng.uniform(1, 3, n).round(2),
            "group": rng.choice(["u", "v"], n),
            "person": range(n),
        }
    )
    plan = md.plan_columns(secrets, {"job": 1, "sex": 1}, md.LDP(4))
    md.save(plan, folder / "plan.json")
    frames = {}
    for name, seed in (("one", 1), ("two", 2)):
        secrets.to_csv(folder / "secrets.csv", index=False)
        secrets.to_parquet(folder / "secrets.parquet")
        for ending in ("csv", "parquet"):
            with pytest.warns(CountsWarning, match="'job', 'sex'"):
                md.privatize_file(
                    folder / f"secrets.{ending}",
                    folder / f"{name}.{ending}",
                    plan,
                    rng=seed,
                    ledger=False,
                )
        frames[name] = md.privatize(secrets, plan, rng=seed)
    return folder, plan, frames


def run(capsys, command, folder, *options, name="one.csv"):
    code = main([command, str(folder / "plan.json"), str(folder / name), *options])
    told = capsys.readouterr()
    return code, told.out, told.err


def same(rows, made):
    assert [row["label"] for row in rows] == [
        list(label) if isinstance(label, tuple) else label for label in made.labels
    ]
    for row, told in zip(rows, made.rows(), strict=True):
        assert row["estimate"] == pytest.approx(told["estimate"], abs=1e-9)
        assert row["error"] == pytest.approx(told["error"], rel=1e-6)


@pytest.mark.parametrize("name", ["one.csv", "one.parquet"])
def test_joint_tables_of_a_survey(place, name, capsys):
    folder, plan, frames = place
    options = ["--weights", "weight", "--strata", "group", "--json"]
    code, out, err = run(capsys, "estimate", folder, *options, name=name)
    assert (code, "no receipt" in err) == (0, False)
    made = md.estimate(frames["one"], plan, weights="weight", strata="group")
    same(json.loads(out)["rows"], made)
    assert json.loads(out)["strata"] == 2


@pytest.mark.parametrize("name", ["one.csv", "one.parquet"])
def test_one_column_of_a_plan_given_another(place, name, capsys):
    folder, plan, frames = place
    made = md.estimate_joint(frames["one"], plan, ["job", "sex"]).conditional("job")
    for options in (
        [],
        ["--column", "job", "--column", "sex"],
        ["--column", "job", "--with", str(folder / "plan.json"), "--with-column", "sex"],
    ):
        asked = [*options, "--given", "job", "--json"]
        code, out, err = run(capsys, "estimate", folder, *asked, name=name)
        assert (code, err) == (0, "")
        shown = json.loads(out)
        assert shown["given"] == "job"
        cells = shown["cells"]
        assert [(cell["row"], cell["column"]) for cell in cells] == [
            (row, column) for row in made.rows for column in made.columns
        ]
        assert [cell["estimate"] for cell in cells] == pytest.approx(made.values.ravel().tolist())
        assert [cell["error"] for cell in cells] == pytest.approx(made.errors.ravel().tolist())


def test_groups_of_a_survey(place, capsys):
    folder, plan, frames = place
    options = ["--weights", "weight", "--by-group", "group"]
    code, out, _ = run(capsys, "estimate", folder, *options, "--json")
    assert code == 0
    made = md.estimate(frames["one"], plan, weights="weight", by_group="group")
    for part, each in zip(json.loads(out)["groups"], made.estimates, strict=True):
        same(part["rows"], each)
        assert part["note"] == each.note == ""
    code, out, _ = run(capsys, "estimate", folder, *options)
    assert code == 0
    assert "v minus u" in out


@for_each("name", ["one.csv", "one.parquet"])
@for_each(
    ("options", "named"),
    [
        (["--response", "cost", "--reference", "job=z"], {"reference": {"job": "z"}}),
        (["--response", "cost", "--column", "sex", "--covariate", "group"], {"column": ["sex"]}),
        (
            ["--response", "sick", "--family", "logistic", "--column", "job"],
            {"column": ["job"], "family": "logistic"},
        ),
        (
            ["--response", "sex", "--family", "logistic", "--column", "job", "--weights", "weight"],
            {"column": ["job"], "family": "logistic", "weights": "weight"},
        ),
    ],
)
def test_regressions_of_plans(place, name, options, named, capsys):
    folder, plan, frames = place
    code, out, err = run(capsys, "regress", folder, *options, "--json", name=name)
    assert (code, err) == (0, "")
    shown = json.loads(out)
    named = {"response": options[1], **named}
    if "group" in options:
        named["covariates"] = ["group"]
    made = md.regress(frames["one"], plan, named.pop("column", None), **named)
    assert [row["label"] for row in shown["rows"]] == list(made.labels)
    for row, told in zip(shown["rows"], made.rows(), strict=True):
        assert row["estimate"] == pytest.approx(told["estimate"], rel=1e-4, abs=1e-6)
        assert row["error"] == pytest.approx(told["error"], rel=1e-4)
    assert set(shown["kernel"]) <= {"job", "sex"}


@for_each(
    ("options", "named"),
    [
        (["cost", "--confidence", "0.9", "--weights", "weight"], {"weights": "weight"}),
        (["cost", "--confidence", "0.9", "--reference", "y"], {"reference": "y"}),
    ],
)
def test_regressions_of_one_kernel(place, options, named, capsys):
    folder, plan, frames = place
    md.save(plan["job"], folder / "kernel.json", overwrite=True)
    call = ["regress", *(str(folder / name) for name in ("kernel.json", "one.csv"))]
    call += ["--column", "job", "--response"]
    assert main([*call, *options, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    made = md.regress(frames["one"], plan["job"], "job", response="cost", confidence=0.9, **named)
    same(shown["rows"], made)
    assert [row["p"] for row in shown["rows"]] == pytest.approx(made.pvalues.tolist())
    assert shown["reference"] == made.reference
    assert main([*call, *options]) == 0
    assert made.describe() in capsys.readouterr().out
    assert main([*call, "cost", "--reference", "q"]) == 2
    assert "'q'" in capsys.readouterr().err


def test_reports_of_another_column_are_not_taken_for_public_values(place, capsys):
    """People of all jobs are among those who reported one, so that groups by reports mix them."""
    folder, plan, frames = place
    job = plan["job"]
    for wrong in (
        lambda frame: md.estimate(frame, job, "job", by_group="sex"),
        lambda frame: md.estimate(frame, plan, "job", by_group="sex"),
        lambda frame: md.estimate(frame, plan, "job", weights="sex"),
        lambda frame: md.regress(frame, job, "job", response="cost", covariates=["sex"]),
        lambda frame: md.regress(frame, plan, "job", response="cost", covariates=["sex"]),
    ):
        with pytest.raises(md.errors.InputError, match="'sex', which holds reports by its rec"):
            wrong(frames["one"])
    three = frames["one"].assign(third=frames["one"]["sex"])
    assert len(md.estimate(three, plan, "job", by_group="third").groups) == 2
    for name in ("one.csv", "one.parquet"):
        for command, options in (
            ("estimate", ["--column", "job", "--by-group", "sex"]),
            ("regress", ["--column", "job", "--response", "cost", "--covariate", "sex"]),
        ):
            code, out, err = run(capsys, command, folder, *options, name=name)
            assert (code, out, len(err.splitlines())) == (2, "", 1)
            assert "'sex', which holds reports by its receipt" in err


def test_a_number_of_a_column_of_a_plan(place, capsys):
    folder, plan, frames = place
    (folder / "job.json").write_text('{"x": 0, "y": 1, "z": 2}')
    options = ["--response", "cost", "--feature", f"job={folder / 'job.json'}", "--json"]
    code, out, _ = run(capsys, "regress", folder, *options)
    assert code == 0
    feature = {"job": {"x": 0, "y": 1, "z": 2}}
    made = md.regress(frames["one"], plan, response="cost", feature=feature)
    assert [row["label"] for row in json.loads(out)["rows"]] == list(made.labels)
    assert json.loads(out)["rows"][1]["estimate"] == pytest.approx(made.values[1])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_changes_between_rounds(place, ending, capsys):
    folder, plan, frames = place
    second = str(folder / f"two.{ending}")
    options = [second, "--column", "job", "--person", "person"]
    code, out, err = run(
        capsys, "estimate-change", folder, *options, "--json", name=f"one.{ending}"
    )
    assert (code, err) == (0, "")
    shown = json.loads(out)
    made = md.estimate_change(frames["one"], frames["two"], plan["job"], "job", person="person")
    same(shown["rows"], made)
    assert shown["rows"][0]["error_apart"] == pytest.approx(made.errors_apart[0])
    assert (shown["both"], shown["note"]) == (1500, "")
    code, out, _ = run(capsys, "estimate-change", folder, *options, name=f"one.{ending}")
    assert code == 0
    assert "1500 persons in both rounds" in out


@for_each(
    ("command", "options", "fragment"),
    [
        ("regress", ["--response", "nothing"], "nothing"),
        ("regress", ["--response", "cost", "--reference", "x"], "COLUMN="),
        ("regress", ["--response", "cost", "--reference", "job=q"], "reference"),
        (
            "regress",
            ["--response", "cost", "--column", "job", "--column", "job"],
            "different names",
        ),
        ("regress", ["--response", "cost", "--column", "group"], "group"),
        ("regress", ["--response", "cost", "--truth", "x=1"], "over 3 symbols, got 1"),
        ("regress", ["--response", "cost", "--covariate", "job"], "different names"),
        ("regress", ["--response", "cost", "--family", "probit"], "family"),
        ("estimate", ["--weights", "sex"], "other columns"),
        ("estimate", ["--weights", "nothing"], "nothing"),
        ("estimate", ["--top", "3"], "--top"),
        ("estimate", ["--given", "group"], "'group'"),
        ("estimate", ["--given", "sex", "--weights", "weight"], "--weights"),
        ("estimate", ["--column", "job", "--given", "job"], "two columns"),
        ("estimate", ["--with-feature", "job.json"], "--with"),
        ("estimate", ["--people", "same"], "--second-round"),
        ("estimate", ["--second-round-column", "sex"], "--second-round"),
        ("estimate-change", ["two.csv", "--column", "job", "--person", "person"], "two.csv"),
    ],
)
def test_what_cannot_be_used_is_answered_in_one_line(place, command, options, fragment, capsys):
    code, out, err = run(capsys, command, place[0], *options)
    errors = [line for line in err.splitlines() if line.startswith("error")]
    assert (code, out, len(errors)) == (2, "", 1)
    assert fragment in errors[0]


def test_a_person_without_a_name_is_refused(place, capsys):
    folder, _, frames = place
    holes = frames["two"].astype({"person": "str"})
    holes.loc[3, "person"] = ""
    holes.to_csv(folder / "holes.csv", index=False)
    options = [str(folder / "holes.csv"), "--column", "job", "--person", "person"]
    code, out, err = run(capsys, "estimate-change", folder, *options)
    assert (code, out) == (2, "")
    assert "person" in err


# How many reports a plan for several columns takes


@pytest.fixture(scope="module")
def public(place):
    folder, plan, _ = place
    path = folder / "public.json"
    md.save(plan, path, public=True)
    return path


def planned(capsys, path, *options):
    code = main(["plan", str(path), *options])
    told = capsys.readouterr()
    assert code == 0, told.err
    return told.out


@pytest.mark.parametrize("form", ["plan", "public"])
def test_each_column_is_told_how_many_reports_an_error_takes(place, public, form, capsys):
    folder, plan, _ = place
    path = public if form == "public" else folder / "plan.json"
    shown = json.loads(planned(capsys, path, "--error", "0.02", "--json"))
    made = {
        name: md.plan(plan[name], error=0.02, worst=form == "public") for name in ("job", "sex")
    }
    assert [part["column"] for part in shown["columns"]] == ["job", "sex"]
    for part, each in zip(shown["columns"], made.values(), strict=True):
        assert part["reports"] == each.reports
        assert [row["label"] for row in part["rows"]] == list(each.labels)
    assert shown["reports"] == max(each.reports for each in made.values())
    out = planned(capsys, path, "--error", "0.02")
    for name, each in made.items():
        assert f"'{name}': {each.reports} reports" in out
    assert f"all columns: {shown['reports']} reports" in out
    out = planned(capsys, path, "--reports", "1000")
    assert out.count("1000 reports") == 2
    assert "all columns" not in out


@for_each("text", ["2%", "2 %", "0.02", " 2.0% ", "2e-2"])
def test_errors_are_taken_in_percent(place, text, capsys):
    folder, _, _ = place
    path = folder / "plan.json"
    assert planned(capsys, path, "--error", text) == planned(capsys, path, "--error", "1/50")


@for_each("text", ["2 percent", "%", "", "1%%", "nan%", "0%", "-1%"])
def test_errors_that_are_none_are_refused(place, text, capsys):
    folder, _, _ = place
    assert main(["plan", str(folder / "plan.json"), "--error", text]) == 2
    assert "error" in capsys.readouterr().err


def test_a_feature_of_a_plan_is_refused(place, capsys):
    folder, _, _ = place
    asked = ["plan", str(folder / "plan.json"), "--reports", "99", "--feature", "f.json"]
    assert main(asked) == 2
    assert "a design for one column" in capsys.readouterr().err


def test_the_public_form_of_a_plan_serves_all_commands_that_take_plans(place, public, capsys):
    """Estimates of its holders are those of the maker; LDP is about no prior, so it is applied."""
    folder, _, _ = place
    for command, options in (
        ("estimate", ["--column", "job"]),
        ("regress", ["--response", "cost", "--column", "job"]),
        ("apply", ["-o", "own.csv", "--seed", "1"]),
    ):
        name = "secrets.csv" if command == "apply" else "one.csv"
        told = []
        for path in (public, folder / "plan.json"):
            force = ["--force"] if command == "apply" else []
            own = [str(folder / o) if o == "own.csv" else o for o in options]
            code = main([command, str(path), str(folder / name), *own, "--json", *force])
            made = capsys.readouterr()
            assert code == 0, made.err
            told.append(made.out)
            assert ("MD809" in made.err) == (command == "apply" and path != public)
        if command == "apply":
            parts = [json.loads(out)["kernel"] for out in told]
            assert parts[0] == parts[1]
        else:
            first, second = ([row["estimate"] for row in json.loads(o)["rows"]] for o in told)
            assert first == pytest.approx(second, rel=1e-2, abs=1e-2)
