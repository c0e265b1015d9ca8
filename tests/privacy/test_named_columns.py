"""Notions and utilities about columns by their names say what their tables say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.cli import main
from mechdesign.errors import DataError, LevelError, UnknownNameError, UtilityError
from mechdesign.storage import from_json, to_json

PAIRS = md.Prior.from_csv("titanic", ["class", "sex"])
SEX = {label: label[1] for label in PAIRS.labels}
CLASS = {label: label[0] for label in PAIRS.labels}
NOTIONS = [md.FeaturePML, md.FeaturePMC, md.ConditionalPML, md.ConditionalPMC]


@for_each("notion", NOTIONS)
def test_a_named_column_is_its_table(notion):
    named, tabled = notion(0.4, "sex"), notion(0.4, SEX)
    kernel = md.randomised_response(PAIRS, 1)
    assert named.check(kernel, PAIRS).achieved == tabled.check(kernel, PAIRS).achieved
    assert np.array_equal(named.leakage(kernel.kernel, PAIRS), tabled.leakage(kernel.kernel, PAIRS))
    assert named.spec == f"{notion.__name__.lower()}:0.4,sex"
    assert "sex" in str(named)
    assert "sex" not in str(tabled)


@for_each("notion", NOTIONS)
def test_several_columns_are_the_table_of_tuples(notion):
    kernel = md.randomised_response(PAIRS, 1)
    turned = {label: label[::-1] for label in PAIRS.labels}
    both, tabled = notion(0.4, ["sex", "class"]), notion(0.4, turned)
    if notion.__name__.startswith("Conditional"):  # given all columns nothing is left to hide
        for told in (both, tabled):
            with pytest.raises(md.errors.LevelError, match="asks nothing of any pair"):
                told.check(kernel, PAIRS)
    else:
        assert both.check(kernel, PAIRS).achieved == tabled.check(kernel, PAIRS).achieved


def test_estimates_of_a_column_are_its_marginal_frequencies():
    found = md.design(PAIRS, md.utility.Estimation("class"), md.LDP(1))
    tabled = md.design(PAIRS, md.utility.Estimation(CLASS), md.LDP(1))
    assert found.risk == pytest.approx(tabled.risk, rel=1e-9)
    assert found.utility.question(PAIRS.labels, PAIRS.schema).labels == (
        "1st",
        "2nd",
        "3rd",
        "crew",
    )
    expected = found.mechanism.output_distribution(PAIRS)
    counts = {y: round(10_000 * q) for y, q in zip(found.mechanism.outputs, expected, strict=True)}
    made = md.estimate(counts, found, feature="class")
    assert made.labels == ("1st", "2nd", "3rd", "crew")
    assert made.values == pytest.approx(PAIRS.marginal("class").probabilities, abs=1e-3)
    with pytest.raises(DataError, match="'female', 'male'"):  # of which its reports say nothing
        md.estimate(counts, found, feature="sex")


def test_answers_of_several_columns_are_told_apart():
    prior = md.Prior.uniform([("a", "a"), ("a", "b"), ("b", "a")]).with_schema(["x", "y"])
    found = md.utility.Estimation(["x", "y"]).question(prior.labels, prior.schema)
    assert found.labels == (("x", "a"), ("x", "b"), ("y", "a"), ("y", "b"))
    assert found.weights.sum(axis=1).tolist() == [2, 2, 2]
    numbers = md.Prior.uniform([(1, 5), (2, 5), (2, 6)]).with_schema(["x", "y"])
    shares = md.utility.Estimation("x").question(numbers.labels, numbers.schema)
    assert shares.labels == (1, 2)  # not a mean


@pytest.mark.slow
@for_each(
    "utility",
    [
        md.utility.Hamming(of="class"),
        md.utility.Hamming(of=["sex", "class"]),
        md.utility.Distance("discrete", of="class"),
        md.utility.Estimation("class"),
        md.utility.Estimation(["class", "sex"]),
    ],
)
@for_each("feature", ["sex", ["sex"], ["sex", "class"]])
def test_files_keep_names(utility, feature):
    found = md.design(PAIRS, utility, md.FeaturePML(0.7, feature))
    content = json.loads(json.dumps(to_json(found)))
    again = from_json(content)
    assert again.notions == found.notions
    assert again.value == pytest.approx(found.value, abs=1e-9)
    if isinstance(utility, md.utility.Hamming | md.utility.Distance):
        assert repr(again.utility) == repr(utility)
    report = verify.check(json.dumps(content).encode())
    told = [claim for claim in report.claims if "FeaturePML" in claim["claim"]]
    assert [claim["state"] for claim in told] == [verify.PROVED] * len(told) != []


def test_a_file_that_claims_a_lower_level_of_a_named_column_is_refuted():
    content = to_json(md.design(PAIRS, md.utility.Hamming(), md.FeaturePML(0.7, "sex")))
    content["notions"][0]["parameters"]["epsilon"] = 0.5
    assert verify.check(json.dumps(content).encode()).state == verify.REFUTED
    content["notions"][0]["parameters"] = {"epsilon": 0.7, "feature": "age"}
    with pytest.raises(verify.UnreadableError):
        verify.check(json.dumps(content).encode())


def test_other_names_are_refused_in_a_line():
    with pytest.raises(UnknownNameError, match=r"'sax'.*did you mean 'sex'"):
        md.design(PAIRS, md.utility.Hamming(), md.FeaturePML(0.5, "sax"))
    with pytest.raises(UnknownNameError, match="'sax'"):
        md.design(PAIRS, md.utility.Hamming(of="sax"), md.LDP(1))
    nameless = PAIRS.with_schema(None)
    with pytest.raises(LevelError, match="columns are named"):
        md.design(nameless, md.utility.Hamming(), md.FeaturePML(0.5, "sex"))
    with pytest.raises(UtilityError, match="columns are named"):
        md.design(nameless, md.utility.Hamming(of="sex"), md.LDP(1))
    with pytest.raises(DataError, match="columns are named"):
        md.design(nameless, md.utility.Estimation("sex"), md.LDP(1))
    for wrong in (3, {}, [1], []):
        with pytest.raises(UtilityError, match="name of a column"):
            md.utility.Hamming(of=wrong)


def test_one_command_hides_a_column_and_tells_another(tmp_path, capsys):
    path = tmp_path / "m.json"
    both = ["design", "titanic", "--column", "class", "--column", "sex"]
    hidden = [*both, "-p", "featurepml:0.5,sex"]
    assert main([*hidden, "-u", "hamming:class", "-o", str(path)]) == 0
    own = md.design(PAIRS, md.utility.Hamming(of="class"), md.FeaturePML(0.5, "sex"))
    assert md.load(path).mechanism == own.mechanism
    assert main([*hidden, "-u", "estimation", "--of", "class"]) == 0
    capsys.readouterr()
    for wrong in (
        [*hidden, "-u", "hamming:klass"],
        [*hidden, "-u", "estimation", "--of", "klass"],
        [*both, "-p", "featurepml:0.5,sax"],
        [*both, "-p", "featurepml:0.5"],
        ["design", "--prior", "a=0.5,b=0.5", "-p", "featurepml:0.5,sex"],
        ["design", "--prior", "a=0.5,b=0.5", "-u", "hamming:sex", "-p", "ldp:1"],
    ):
        assert main(wrong) == 2
        shown = capsys.readouterr().err
        assert shown.startswith("error: ")
        assert len(shown.splitlines()) == 1
