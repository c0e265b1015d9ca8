"""Several columns at once: what a plan covers, one ledger entry, joint tables."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from checks import for_each
from libraries import TABLES, frame_of

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, RepeatWarning, UnknownNameError
from mechdesign.release.receipts import receipts_of

KEY = bytes(range(32))
BOTH = ["class", "sex"]
PAIR = ["female", "male"]
PRIOR = md.Prior.from_csv("titanic", BOTH)
TWINS = md.Prior([0.5, 0.3, 0.2], [("a", 1), ("b", 2), ("c", 3)]).with_schema(["x", "y"])
PLAN = md.plan_columns(PRIOR, None, md.LDP(3), joint=False)
TWIN_PLAN = md.plan_columns(TWINS, None, md.PML(1), joint=False)
TWIN_DESIGN = md.design(TWINS, md.utility.Estimation(), md.PML(1))


def table(n=400, seed=1):
    rng = np.random.default_rng(seed)
    rows = [PRIOR.labels[i] for i in rng.choice(len(PRIOR), size=n, p=PRIOR.probabilities)]
    first, second = zip(*rows, strict=True)
    return pd.DataFrame({"id": range(n), "class": first, "sex": second, "other": 1.5})


FRAME = table()
ESTIMATION = md.design(PRIOR, md.utility.Estimation(), md.LDP(3))
RELEASES = {
    "plan": PLAN,
    "tuples": md.design(PRIOR, md.utility.Hamming(), md.LDP(3)),
    "subsets": ESTIMATION,
    "one of them": md.design(PRIOR, md.utility.Hamming(of="class"), md.FeaturePML(1, "sex")),
}


def test_columns_of_a_plan_are_drawn_as_they_are_alone():
    """So that the same key gives the same reports, whichever way they are asked for."""
    made = md.privatize(FRAME, PLAN, row="id", key=KEY)
    for name in BOTH:
        alone = md.privatize(FRAME, name, PLAN[name], row="id", key=KEY)
        assert made[name].tolist() == alone[name].tolist()
    assert (made["class"] != FRAME["class"]).any()
    assert made["other"].tolist() == FRAME["other"].tolist()


def test_columns_of_one_seed_are_drawn_independently():
    """Two columns of equal secrets and kernels agree by chance only; the same ones do (control)."""
    flip = md.design(md.Prior.uniform(["a", "b"]), md.utility.Estimation(), md.LDP(0.1))
    alone = {name: flip.prior.with_schema(name) for name in ("x", "y")}
    plan = md.plan_columns(alone, None, md.LDP(0.2))
    frame = pd.DataFrame({"x": ["a"] * 4000, "y": ["a"] * 4000})
    made = md.privatize(frame, plan, rng=1)
    assert abs((made["x"] == made["y"]).mean() - 0.5) < 0.05
    again = md.privatize(frame, plan, rng=1)
    assert (made["x"] == again["x"]).all()


def test_tuples_are_written_into_their_columns():
    made = md.privatize(FRAME, RELEASES["tuples"], row="id", key=KEY)
    assert list(made.columns) == list(FRAME.columns)
    assert set(zip(made["class"], made["sex"], strict=True)) <= set(PRIOR.labels)
    named = md.privatize(FRAME, RELEASES["tuples"], into=["a", "b"], row="id", key=KEY)
    assert list(named.columns) == ["id", "a", "b", "other"]
    assert named["a"].tolist() == made["class"].tolist()


def test_other_reports_take_the_place_of_all_secrets():
    for kind in ("subsets", "one of them"):
        made = md.privatize(FRAME, RELEASES[kind], row="id", key=KEY)
        assert list(made.columns) == ["id", "class_sex", "other"]
        named = md.privatize(FRAME, RELEASES[kind], into="told", row="id", key=KEY)
        assert named["told"].tolist() == made["class_sex"].tolist()


@for_each("engine", ["polars", "polars lazy", "arrow", "duckdb"])
def test_names_that_the_table_has_are_refused(engine):
    frame = FRAME.assign(class_sex=1)
    with pytest.raises(DataError, match=r"names that the table does not have.*'class_sex'"):
        md.privatize(TABLES[engine](frame), ESTIMATION, row="id", key=KEY)
    with pytest.raises(DataError, match="'other'"):
        md.privatize(TABLES[engine](FRAME), ESTIMATION, into="other", row="id", key=KEY)
    with pytest.raises(DataError, match="in the place of"):
        md.privatize(TABLES[engine](FRAME), RELEASES["tuples"], into=["sex", "class"])


@for_each("engine", TABLES)
def test_a_combination_that_was_not_planned_for_is_refused(engine):
    """What a plan guarantees under a prior is about the combinations that the prior has."""
    good = pd.DataFrame({"id": range(3), "x": ["a", "b", "c"], "y": [1, 2, 3]})
    bad = good.assign(y=[1, 3, 3])

    def made(frame, designed, **options):
        made = md.privatize(TABLES[engine](frame), designed, row="id", key=KEY, **options)
        return frame_of(made).sort_values("id")

    assert len(made(good, TWIN_PLAN)) == 3
    for designed in (TWIN_PLAN, TWIN_DESIGN):
        with pytest.raises(Exception, match=r"in 1 of the [0-9]+ rows read, first in row"):
            made(bad, designed)
    assert made(bad, TWIN_PLAN, unseen="null")["x"].isna().tolist() == [False, True, False]


def test_a_replacement_stands_in_for_whole_rows():
    joint = md.design(TWINS, md.utility.Hamming(), md.PML(9))
    bad = pd.DataFrame({"x": ["a", "b", None, "z"], "y": [3, 2, 3, 1]})
    policy = {"unseen": "replace", "missing": "replace", "replacement": ("c", 3)}
    made = md.privatize(bad, joint, rng=1, **policy)
    assert list(zip(made["x"], made["y"], strict=True)) == [("c", 3), ("b", 2), ("c", 3), ("c", 3)]
    assert len(md.privatize(bad, TWIN_PLAN, rng=1, **policy)) == 4
    with pytest.raises(InputError, match="value for each of the columns"):
        md.privatize(bad, TWIN_PLAN, rng=1, unseen="replace", replacement="c")
    with pytest.raises(InputError):
        md.privatize(bad, joint, rng=1, unseen="replace", replacement=("c", 1))


def test_rows_of_missing_values():
    frame = pd.DataFrame({"class": ["crew", None, None], "sex": ["male", "male", None]})
    for kind in RELEASES:
        with pytest.raises(DataError, match="no missing values"):
            md.privatize(frame, RELEASES[kind], rng=1)
        # Neither is a secret quoted that no symbol is.
        with pytest.raises(DataError) as problem:
            md.privatize(FRAME.assign(sex="s3cret"), RELEASES[kind], rng=1)
        assert "s3cret" not in str(problem.value)
    for designed, alone in (
        (PLAN, [False, False, True]),
        (RELEASES["tuples"], [False, True, True]),
    ):
        made = md.privatize(frame, designed, rng=1, missing="keep")
        assert made["class"].isna().tolist() == [False, True, True]
        assert made["sex"].isna().tolist() == alone


def test_columns_must_be_those_of_the_kernel():
    with pytest.raises(UnknownNameError, match="'sex'"):
        md.privatize(FRAME.drop(columns="sex"), PLAN, rng=1)
    with pytest.raises(InputError, match="more than once"):
        md.privatize(FRAME, ["class", "class"], PLAN, rng=1)
    with pytest.raises(InputError, match="expected 2"):
        md.privatize(FRAME, ["class", "sex", "other"], PLAN, rng=1)
    with pytest.raises(InputError, match="knows none"):
        md.privatize(FRAME, md.Mechanism([[1.0]], ["crew"]), rng=1)
    with pytest.raises(InputError, match="both"):
        md.privatize(FRAME, "class", PLAN["class"], columns=["class"], rng=1)
    with pytest.raises(InputError, match="for both"):
        md.privatize(FRAME, PLAN, row="sex", key=KEY)
    with pytest.raises(InputError, match="into"):
        md.privatize(FRAME, PLAN, into=["a", "b"], rng=1)
    renamed = FRAME.rename(columns={"class": "k", "sex": "s"})
    made = md.privatize(renamed, PLAN, columns=["k", "s"], rng=1)
    assert list(made.columns) == ["id", "k", "s", "other"]


def test_columns_in_another_order_than_the_design_are_refused(tmp_path, capsys):
    """Where both have the same values, nothing else tells that one was taken for the other."""
    habits = pd.DataFrame({"smokes": ["no", "yes", "no", "no"] * 5, "drinks": ["no", "yes"] * 10})
    prior, swapped = md.Prior.from_data(habits, ["smokes", "drinks"]), ["drinks", "smokes"]
    habits.to_csv(tmp_path / "t.csv", index=False)
    plan = md.plan_columns(habits, ["smokes", "drinks"], md.LDP(2), joint=False)
    for designed in (plan, md.design(prior, md.utility.Hamming(), md.LDP(2))):
        for call in (
            lambda d=designed: md.privatize(habits, swapped, d, rng=1),
            lambda d=designed: md.privatize(habits, mechanism=d, columns=swapped, rng=1),
            lambda d=designed: md.privatize(habits, ["a", "smokes"], d, rng=1),
            lambda d=designed: md.export(d, tmp_path / "c.mjs", to="javascript", column=swapped),
        ):
            with pytest.raises(InputError, match="in the order of the design"):
                call()
        renamed = habits.rename(columns={"smokes": "a", "drinks": "b"})
        assert len(md.privatize(renamed, ["a", "b"], designed, rng=1)) == 20
        md.save(designed, tmp_path / "m.json", overwrite=True)
        files = [str(tmp_path / name) for name in ("m.json", "t.csv", "r.csv")]
        out = ["--output", files[2], "--column", "drinks", "--column", "smokes"]
        assert main(["apply", *files[:2], *out]) == 2
        assert "in the order of the design" in capsys.readouterr().err
        assert not (tmp_path / "r.csv").exists()
    reports = md.privatize(habits, mechanism=designed, rng=1)
    with pytest.raises(InputError, match="in the order of the design"):
        md.estimate(reports, designed, swapped)


def test_reports_are_not_privatised_again():
    for kind in RELEASES:
        made = md.privatize(FRAME, RELEASES[kind], rng=1)
        for name in [name for name in made.columns if name in (*BOTH, "class_sex")]:
            with pytest.raises(DataError, match="the secret itself"):
                md.privatize(made, name, PLAN[name] if name in BOTH else ESTIMATION, rng=1)
            if kind == "tuples":
                break


# Estimates


def test_receipts_name_the_kernels_and_what_they_keep_together():
    carried = receipts_of(md.privatize(FRAME, PLAN, rng=1))
    assert sorted(carried) == sorted(BOTH)
    assert {one.together for one in carried.values()} == {"LDP(3) of class, sex together"}
    other = md.plan_columns(PRIOR, None, md.LDP(1), joint=False)
    made = md.privatize(FRAME, PLAN, rng=1)
    for ask in (lambda: md.estimate(made, other), lambda: md.estimate_joint(made, other)):
        with pytest.raises(DataError, match="reports of this mechanism"):
            ask()
    assert list(receipts_of(md.privatize(FRAME, ESTIMATION, rng=1))) == ["class_sex"]


# Files and the ledger


def saved(tmp_path, ending):
    path = tmp_path / f"people{ending}"
    (FRAME.to_csv if ending == ".csv" else FRAME.to_parquet)(path, index=False)
    return path


def test_the_ledger_knows_the_columns_of_a_plan_again(tmp_path):
    source, book = saved(tmp_path, ".parquet"), tmp_path / "ledger.jsonl"
    out = [tmp_path / f"r{i}.parquet" for i in range(6)]
    md.privatize_file(source, out[0], PLAN, row="id", key=KEY, ledger=book)
    # The very same reports: nothing new is told.
    md.privatize_file(source, out[1], PLAN, row="id", key=KEY, ledger=book)
    with pytest.warns(RepeatWarning, match=r"'class'.*LDP"):
        md.privatize_file(source, out[2], "class", PLAN["class"], ledger=book, drop="sex")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        md.privatize_file(source, out[3], PLAN, ledger=book)
    said = [str(one.message) for one in told]
    assert len(said) == 2
    assert "column 'class, sex' of people.parquet was released 1 time before" in said[0]
    assert "LDP(6)" in said[0]
    assert said[1].startswith("column 'class' of people.parquet was released 1 time before")
    other = tmp_path / "other.jsonl"
    md.privatize_file(source, out[4], "sex", PLAN["sex"], ledger=other)
    with pytest.warns(RepeatWarning, match="column 'sex'"):
        md.privatize_file(source, out[5], PLAN, ledger=other)


# The command line


def test_from_a_plan_to_its_joint_table(tmp_path, capsys):
    source, plan = saved(tmp_path, ".csv"), tmp_path / "plan.json"
    target, book = tmp_path / "r.csv", str(tmp_path / "ledger.jsonl")
    columns = ["--column", "class", "--column", "sex"]
    asked = ["design", "titanic", *columns, "--total", "ldp:3", "--no-joint"]
    assert main([*asked, "-o", str(plan), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [part["name"] for part in told["columns"]] == BOTH
    assert told["verdict"] == "yes"
    assert main(["check", str(plan)]) == 0
    assert "Plan for LDP(3) of class, sex together: yes" in capsys.readouterr().out
    assert main(["apply", str(plan), str(source), "-o", str(target), "--ledger", book]) == 0
    capsys.readouterr()
    for more, count in (([], 8), (["--column", "sex"], 2), (["--feature", "class"], 4)):
        assert main(["estimate", str(plan), str(target), "--json", *more]) == 0
        assert len(json.loads(capsys.readouterr().out)["rows"]) == count


@for_each("wrong", [
        ["design", "titanic", "--column", "class", "--total", "ldp:1"],
        ["design", "titanic", "--column", "class", "--column", "sax", "--total", "ldp:1"],
        ["design", "--prior", "0.5,0.5", "--total", "ldp:1"],
        ["design", "titanic", "--column", "class", "--column", "sex", "--total", "ldp"],
        ["design", "titanic", "--column", "class", "--column", "sex", "--total", "ldp:1",
         "--of-weights", "1"],
        ["design", "titanic", "--column", "class", "--column", "sex", "--total", "ldp:1",
         "--of-weights", "1,0"],
        ["audit", "PLAN"],
        ["apply", "PLAN", "CSV", "-o", "OUT", "--column", "class"],
        ["apply", "PLAN", "CSV", "-o", "OUT", "--into", "a", "--into", "b"],
        ["apply", "PLAN", "CSV", "-o", "OUT", "--unseen", "replace", "--replacement", "x"],
        ["estimate", "PLAN", "CSV", "--column", "sax"],
    ])  # fmt: skip
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, capsys, wrong):
    source, plan = saved(tmp_path, ".csv"), tmp_path / "plan.json"
    md.save(PLAN, plan)
    before = sorted(path.name for path in tmp_path.iterdir())
    names = {"PLAN": str(plan), "CSV": str(source), "OUT": str(tmp_path / "out.csv")}
    assert main([names.get(part, part) for part in wrong]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line for line in shown.err.splitlines() if line.startswith("error: ")] != []
    assert sorted(path.name for path in tmp_path.iterdir()) == before


# Plans whose prior is the counts of the very secrets


def counts_warnings(release):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release()
    return [str(w.message) for w in caught if w.category is md.errors.CountsWarning]


def counted_plan(frame, notion=None):
    prior = md.Prior.from_data(frame, BOTH)
    return md.plan_columns(prior, None, notion or md.LDP(3), joint=False)


@for_each("ending, notion", [(".csv", md.LDP(3)), (".parquet", md.PML(2))])
def test_a_plan_from_the_very_counts_is_warned_of_once(tmp_path, ending, notion):
    source, plan = saved(tmp_path, ending), counted_plan(FRAME, notion)
    told = counts_warnings(lambda: md.privatize_file(source, tmp_path / f"r{ending}", plan))
    assert len(told) == 1
    assert "made from the counts of these very columns 'class', 'sex'" in told[0]
    assert "public form" in told[0]
    # A control: the plan of other people.
    assert not counts_warnings(lambda: md.privatize_file(source, tmp_path / f"s{ending}", PLAN))
    md.save(counted_plan(FRAME), tmp_path / "public.json", public=True)
    public = md.load(tmp_path / "public.json")
    assert not counts_warnings(lambda: md.privatize_file(source, tmp_path / f"t{ending}", public))


def test_a_plan_from_the_counts_of_one_column_names_that(tmp_path):
    source = saved(tmp_path, ".csv")
    priors = {"class": md.Prior.from_data(FRAME["class"]), "sex": md.Prior([0.7, 0.3], PAIR)}
    plan = md.plan_columns(priors, None, md.LDP(3))
    told = counts_warnings(lambda: md.privatize_file(source, tmp_path / "r.csv", plan))
    assert len(told) == 1
    assert "this very column 'class'," in told[0]
    assert "'sex'" not in told[0]


def test_joint_counts_of_columns_that_are_even_by_themselves_are_warned_of(tmp_path):
    pairs = [("a", 1)] * 3 + [("b", 2)] * 3 + [("a", 2), ("b", 1)]
    frame = pd.DataFrame(pairs * 20, columns=BOTH)
    frame.to_csv(tmp_path / "people.csv", index=False)
    plan = counted_plan(frame)
    source = tmp_path / "people.csv"
    told = counts_warnings(lambda: md.privatize_file(source, tmp_path / "r.csv", plan))
    assert len(told) == 1
    assert "'class', 'sex'" in told[0]
    even = pd.DataFrame([("a", 1), ("a", 2), ("b", 1), ("b", 2)] * 40, columns=BOTH)
    even.to_csv(tmp_path / "even.csv", index=False)
    alike = counted_plan(even)
    source = tmp_path / "even.csv"
    assert not counts_warnings(lambda: md.privatize_file(source, tmp_path / "s.csv", alike))


def test_folders_and_the_command_line_are_warned_of_plans(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    FRAME.iloc[:150].to_csv("in/a.csv", index=False)
    FRAME.iloc[150:].to_csv("in/b.csv", index=False)
    md.save(counted_plan(FRAME), "plan.json")
    assert main(["apply", "plan.json", "in", "-o", "out"]) == 0
    err = capsys.readouterr().err
    assert err.count("MD809") == 1
    assert "'class', 'sex'" in err
