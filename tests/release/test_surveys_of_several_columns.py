"""Several columns of a sample survey: weights, missing answers and numbers beside each other."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError

KEY = bytes(range(32))
AGES = md.bins(edges=[0, 30, 60, 90])


def people(n=900, seed=0):
    """Answers that depend on each other, some of which are missing."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["clerk", "farmer"], n, p=[0.6, 0.4])
    vote = np.where(rng.random(n) < np.where(job == "clerk", 0.7, 0.3), "yes", "no").astype(object)
    vote[rng.random(n) < np.where(job == "clerk", 0.1, 0.4)] = None
    found = pd.DataFrame(
        {
            "id": np.arange(n),
            "job": job,
            "vote": vote,
            "age": np.where(job == "clerk", rng.integers(20, 50, n), rng.integers(40, 90, n)),
            "w": rng.uniform(0.5, 3, n).round(3),
            "s": rng.choice(["north", "south"], n),
            "c": rng.integers(0, 20, n),
            "g": rng.choice(["old", "young"], n),
        }
    )
    # Clusters lie within strata, and are named so.
    return found.assign(c=found["s"] + " " + found["c"].astype(str))


FRAME = people()
PRIOR = md.Prior.from_data(FRAME, ["job", "vote"], missing="category")
TUPLES = md.design(PRIOR, md.utility.Hamming(), md.LDP(4))
PLAN = md.plan_columns(FRAME, ["job", "vote"], md.LDP(4), missing="category", joint=False)
MADE = {"tuples": TUPLES, "plan": PLAN}


def one_column(made):
    """The same reports as texts in one column, and their kernel by the product of its parts."""
    if made is PLAN:
        kernels = [PLAN[name].mechanism for name in ("job", "vote")]
        matrix = np.kron(kernels[0].kernel, kernels[1].kernel)
        sides = [[(a, b) for a in x for b in y] for x, y in zip(*map(_sides, kernels), strict=True)]
    else:
        matrix = TUPLES.mechanism.kernel
        sides = [list(side) for side in _sides(TUPLES.mechanism)]
    inputs, outputs = ([repr(label) for label in side] for side in sides)
    return md.Mechanism(matrix, inputs, outputs, normalise=True)


def _sides(kernel):
    return kernel.inputs, kernel.outputs


def as_texts(reports):
    """Without receipts, as the kernel on texts is another one."""
    rows = zip(reports["job"], reports["vote"], strict=True)
    texts = [repr(tuple(None if pd.isna(v) else v for v in row)) for row in rows]
    found = reports.assign(both=texts)
    found.attrs = {}
    return found


@for_each("kind", MADE)
@for_each(
    "asked",
    [
        {"weights": "w"},
        {"weights": "w", "strata": "s", "clusters": "c"},
        {"population": 20_000},
        {"strata": "s", "population": {"north": 5000, "south": 9000}},
        {"weights": "w", "by_group": "g"},
    ],
)
def test_a_survey_of_several_columns_is_that_of_one_column_of_tuples(kind, asked):
    made = MADE[kind]
    reports = md.privatize(FRAME, made, row="id", key=KEY)
    found = md.estimate(reports, made, truth=uniform(6), **asked)
    naive = md.estimate(as_texts(reports), one_column(made), "both", truth=uniform(6), **asked)
    if "by_group" in asked:
        assert found.groups == naive.groups
        pairs = zip(found.estimates, naive.estimates, strict=True)
    else:
        pairs = [(found, naive)]
    for one, other in pairs:
        assert [repr(label) for label in one.labels] == list(other.labels)
        np.testing.assert_allclose(one.values, other.values, atol=1e-9)
        np.testing.assert_allclose(one.errors, other.errors, rtol=1e-6)


def uniform(n):
    return [1 / n] * n


@pytest.mark.parametrize("engine", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_other_tables_give_the_same_survey(engine):
    reports = md.privatize(FRAME, PLAN, row="id", key=KEY)
    expected = md.estimate(reports, PLAN, weights="w")
    found = md.estimate(engine(reports), PLAN, weights="w")
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-12)


def test_weights_are_no_reports():
    reports = md.privatize(FRAME, PLAN, row="id", key=KEY)
    refused(lambda: md.estimate(reports, PLAN, weights="job"), "'job'", "other columns")


@for_each("kind", MADE)
@for_each("missing", ["error", "drop", "category"])
def test_a_missing_answer_of_one_column_is_a_report(kind, missing):
    """Reports of people who did not answer are outputs: dropping them would tell of others."""
    made = MADE[kind]
    found = md.estimate(md.privatize(FRAME, made, rng=1), made, missing=missing)
    assert found.reports == len(FRAME)
    truth = dict(zip(PRIOR.labels, PRIOR.probabilities, strict=True))
    assert set(found.labels) == set(truth)
    for label, value, error in zip(found.labels, found.values, found.errors, strict=True):
        assert abs(value - truth[label]) < 4.5 * error


@pytest.mark.parametrize("kind", MADE)
def test_a_report_that_is_missing_is_another_thing(kind):
    made = MADE[kind]
    reports = md.privatize(FRAME, made, rng=1)
    holes = reports.astype({"job": object})
    holes.loc[[3, 7], "job"] = None
    for policy in ("error", "category"):
        found = refused(
            lambda p=policy: md.estimate(holes, made, missing=p), "2 rows", error=DataError
        )
        assert "drop" in found.remedy
    assert md.estimate(holes, made, missing="drop").reports == len(FRAME) - 2
    answered = md.design(md.Prior.from_data(FRAME, "job"), md.utility.Hamming(), md.LDP(1))
    refused(
        lambda: md.estimate(reports, answered, "job", missing="category"), "None", error=DataError
    )


def test_a_joint_table_with_missing_answers():
    reports = md.privatize(FRAME, PLAN, rng=2)
    found = md.estimate_joint(reports, PLAN, missing="category")
    assert found.columns == ("no", "yes", None)
    expected = md.estimate(reports, PLAN)
    np.testing.assert_allclose(found.values.ravel(), expected.values, atol=1e-9)
    both = md.plan_columns(FRAME[["job", "s"]], ["job", "s"], md.LDP(2), joint=False)
    refused(
        lambda: md.estimate_joint(md.privatize(FRAME, both, rng=1), both, missing="category"),
        "an input None",
        error=DataError,
    )


@pytest.fixture(scope="module")
def numbers():
    return md.plan_columns(FRAME, ["job", "age"], md.LDP(6), bins={"age": AGES}, joint=False)


def test_numbers_of_a_plan_have_a_mean(numbers):
    reports = md.privatize(FRAME, numbers, rng=4)
    alone = md.estimate(reports, numbers["age"], "age").mean()
    for found in (
        md.estimate(reports, numbers, "age"),
        md.estimate(reports, numbers, ["age"]),
        md.estimate(reports, numbers),
    ):
        assert found.mean().value == pytest.approx(alone.value, abs=1e-6)
        assert found.mean().error == pytest.approx(alone.error, rel=0.01)
    middles = AGES.midpoints[AGES.codes(FRAME["age"])]
    assert abs(alone.value - middles.mean()) < 4.5 * alone.error
    weighted = md.estimate(reports, numbers, weights="w").mean()
    assert abs(weighted.value - np.average(middles, weights=FRAME["w"])) < 4.5 * weighted.error


def test_the_mean_of_one_column_of_a_plan_on_the_command_line(numbers, tmp_path, capsys):
    md.save(numbers, tmp_path / "plan.json")
    reports = md.privatize(FRAME, numbers, rng=4)
    reports.to_csv(tmp_path / "reports.csv", index=False)
    expected = md.estimate(reports, numbers, "age").mean()
    command = ["estimate", str(tmp_path / "plan.json"), str(tmp_path / "reports.csv"), "--json"]
    for columns in (["--column", "age"], []):
        assert main([*command, *columns, "--mean", "--quantile", "0.5"]) == 0
        mean, median = json.loads(capsys.readouterr().out)["numbers"]
        assert mean["value"] == pytest.approx(expected.value, abs=1e-6)
        assert 30 <= median["value"] <= 60
    assert main([*command, "--column", "age", "--mean", "--weights", "w"]) == 0
    weighted = md.estimate(reports, numbers, "age", weights="w").mean()
    (told,) = json.loads(capsys.readouterr().out)["numbers"]
    assert told["value"] == pytest.approx(weighted.value, abs=1e-9)
    assert main([*command, "--column", "height"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_one_file_holds_the_receipts_of_a_plan(tmp_path, capsys):
    """Tables that carry no receipts, and files that were written from them."""
    bare = pl.from_pandas(FRAME)
    reports = md.privatize(bare, PLAN, row="id", key=KEY, receipt=tmp_path / "receipt.json")
    assert "no receipt came" in md.estimate(reports, PLAN).note
    told = md.estimate(reports, PLAN, receipt=tmp_path / "receipt.json")
    assert told.note == ""
    names = dict.fromkeys(["job", "vote"], tmp_path / "receipt.json")
    assert md.estimate(reports, PLAN, receipt=names).note == ""
    assert md.estimate(reports, PLAN, weights="w", receipt=tmp_path / "receipt.json").note == ""
    other = md.plan_columns(FRAME, ["job", "vote"], md.LDP(3), missing="category", joint=False)
    refused(
        lambda: md.estimate(reports, other, receipt=tmp_path / "receipt.json"),
        "reports of another",
        error=DataError,
    )
    refused(lambda: md.estimate(reports, PLAN, receipt=7), "int")
    reports.write_parquet(tmp_path / "reports.parquet")
    for made in (PLAN, other):
        name = "plan.json" if made is PLAN else "other.json"
        md.save(made, tmp_path / name)
        command = ["estimate", str(tmp_path / name), str(tmp_path / "reports.parquet"), "--json"]
        code = main([*command, "--receipt", str(tmp_path / "receipt.json")])
        out = capsys.readouterr()
        if made is PLAN:
            assert code == 0
            assert "no receipt came" not in out.out + out.err
            assert main(command) == 0
            out = capsys.readouterr()
            assert "no receipt came" in out.out + out.err
        else:
            assert code == 2
            assert "reports of another" in out.err
