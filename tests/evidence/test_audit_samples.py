"""A true violation is found, a true guarantee is not accused, and nothing is called kept unseen."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from checks import for_each, slow_but
from family_notions import MAKERS, N
from outside_notions import AgainstOne

import mechdesign as md
from mechdesign import SampleVerdict
from mechdesign.errors import DataError, MechdesignError

ALL = {
    **{name: make(1.0) for name, make in MAKERS.items()},
    "PML": md.PML(1),
    "PMC": md.PMC(1),
    "LIP": md.LIP(1),
    "ALIP": md.ALIP(1, 2),
    "LDP": md.LDP(1),
    "own": AgainstOne(1.0, 0),
}
PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])
ABC = ("a", "b", "c")


def response(level, size=3):
    """Randomised response, whose LDP level is exactly this one."""
    kernel = np.ones((size, size)) + np.eye(size) * math.expm1(level)
    return kernel / kernel.sum(axis=1, keepdims=True)


def sampler(kernel, labels, rng):
    def draw(x, number):
        codes = rng.choice(kernel.shape[1], size=number, p=kernel[labels.index(x)])
        return [labels[i] for i in codes]

    return draw


def columns(kernel, sizes, rng):
    inputs = np.repeat(np.arange(len(kernel)), sizes)
    reports = [
        y
        for row, size in zip(kernel, sizes, strict=True)
        for y in rng.choice(len(row), size=size, p=row)
    ]
    return inputs, reports


# Agreement with the exact audit


@for_each("name", slow_but(10, sorted(ALL)))
def test_limits_hold_the_level_of_the_exact_audit(name):
    rng = np.random.default_rng(5)
    kernel = rng.dirichlet(np.ones(4) * 3, size=N)
    exact = ALL[name].check(md.Mechanism(kernel), PRIOR)
    inputs, reports = columns(kernel, [6000, 4500, 3000, 1500], rng)
    found = md.audit_samples(inputs, reports, ALL[name], prior=PRIOR, outputs=range(4))
    (finding,) = found.findings
    for level, true in zip(finding.levels, exact.achieved, strict=True):
        assert level.lower <= true <= level.upper
        assert level.upper_of_counted == level.upper
        assert level.lower > 0.3 * true
    # A control: what no kernel with these reports can have is outside.
    far = ALL[name].with_levels(*(level * 0.3 for level in exact.achieved))
    assert md.audit_samples(inputs, reports, far, prior=PRIOR).verdict is SampleVerdict.VIOLATED


def test_all_notions_at_once_are_as_sharp_as_they_say():
    rng = np.random.default_rng(1)
    inputs, reports = columns(response(1.0), [5000] * 3, rng)
    found = md.audit_samples(
        inputs, reports, [md.LDP(1.3), md.LDP(0.8), md.PML(0.8), md.LIP(0.3)], outputs=range(3)
    )
    assert [str(finding.verdict) for finding in found.findings] == [
        "consistent",
        "violated",
        "consistent",
        "violated",
    ]
    assert found.verdict is SampleVerdict.VIOLATED
    assert found[md.LDP(0.8)].p_value < 0.05 < found[md.LDP(1.3)].p_value
    # Limits of one level do not depend on what was claimed.
    assert found[md.LDP(0.8)].levels[0].lower == found[md.LDP(1.3)].levels[0].lower


def test_the_evidence_names_the_outcome_and_the_pair():
    kernel = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.5, 0.05, 0.45]])
    rng = np.random.default_rng(2)
    draw = sampler(kernel, list(ABC), rng)
    reports = [report for x in ABC for report in draw(x, 4000)]
    found = md.audit_samples(np.repeat(ABC, 4000).tolist(), reports, md.LDP(0.5))
    (level,) = found.findings[0].levels
    assert level.output == "b"
    assert {level.over, level.under} <= {"'a'", "'b'", "'c'"}
    assert level.under == "'c'"
    assert "outcome 'b'" in found.findings[0].reason
    assert "p-value" in found.findings[0].reason


def test_the_p_value_is_where_the_verdict_turns():
    rng = np.random.default_rng(3)
    inputs, reports = columns(response(1.0), [3000] * 3, rng)
    p_value = md.audit_samples(inputs, reports, md.LDP(0.85)).findings[0].p_value
    assert 1e-12 < p_value < 0.2
    for confidence, verdict in (
        (1 - p_value * 1.01, SampleVerdict.VIOLATED),
        (1 - p_value * 0.99, SampleVerdict.CANNOT_TELL),
    ):
        found = md.audit_samples(inputs, reports, md.LDP(0.85), confidence)
        assert found.verdict is verdict


# Never called kept unseen


def test_outcomes_that_never_occurred_are_not_forgotten():
    rng = np.random.default_rng(0)
    inputs, reports = columns(response(0.5), [20_000] * 3, rng)
    unstated = md.audit_samples(inputs, reports, md.LDP(2))
    assert unstated.verdict is SampleVerdict.CANNOT_TELL
    assert unstated.findings[0].levels[0].upper == math.inf
    assert "state all outcomes with outputs=" in unstated.findings[0].reason
    stated = md.audit_samples(inputs, reports, md.LDP(2), outputs=[0, 1, 2])
    assert stated.verdict is SampleVerdict.CONSISTENT
    # An outcome that was stated and never occurred has no upper limit either.
    more = md.audit_samples(inputs, reports, md.LDP(2), outputs=[0, 1, 2, 3])
    assert more.verdict is SampleVerdict.CANNOT_TELL


def test_a_level_that_no_kernel_exceeds_is_kept_whatever_is_reported():
    """PML is at most the logarithm of one over the smallest mass."""
    found = md.audit_samples(
        ["a", "b"] * 50, list(range(100)), [md.PML(math.log(2) + 1e-9), md.PML(0.6)]
    )
    assert [str(f.verdict) for f in found.findings] == ["consistent", "cannot tell"]


def test_groups_never_show_that_a_claim_is_kept():
    """Each report names its input in what its group leaves out."""
    reports = [x + 0.5 * (i % 2) for i in range(4000) for x in (0.001, 0.002)]
    inputs = ["a", "b"] * 4000
    found = md.audit_samples(inputs, reports, md.LDP(0.5), partition=[0.25])
    assert found.verdict is SampleVerdict.CANNOT_TELL
    assert found.findings[0].levels[0].upper_of_counted < 0.5
    assert found.findings[0].levels[0].upper == math.inf
    # To state all outcomes, which is refused beside groups, would be no way out.
    assert "groups of reports do not show" in found.findings[0].reason
    assert "outcomes" not in found.findings[0].reason
    assert md.audit_samples(inputs, reports, md.LDP(0.5)).verdict is SampleVerdict.VIOLATED


def test_reports_that_never_repeat_are_to_be_grouped_and_not_to_be_collected_for_ever():
    rng = np.random.default_rng(0)
    inputs = np.array([0, 1] * 1000)
    reports = rng.normal(inputs)
    found = md.audit_samples(inputs, reports, md.LDP(1)).findings[0]
    assert found.needed is None
    assert found.reason.endswith(
        "hardly any report occurs twice: put them into groups with partition="
    )
    # Rounded to few values, or in groups, there are frequencies to be counted.
    rounded = md.audit_samples(inputs, np.round(reports), md.LDP(1)).findings[0]
    assert "hardly any" not in rounded.reason
    grouped = md.audit_samples(inputs, reports, md.LDP(1), partition=[-1, 0, 1, 2]).findings[0]
    assert "hardly any" not in grouped.reason


# Calls


def test_calls_go_where_the_bound_is_decided():
    """Ten symbols of which two leak: these two get most of the calls."""
    kernel = np.full((10, 2), 0.5)
    kernel[3], kernel[7] = (0.6, 0.4), (0.4, 0.6)
    rng = np.random.default_rng(0)
    draw = sampler(np.hstack([kernel, np.zeros((10, 8))]), list(range(10)), rng)
    found = md.audit_samples(range(10), draw, md.LDP(0.38), calls=40_000, batch=True)
    assert found.calls == 40_000
    totals = found.counts.sum(axis=1)
    assert totals[[3, 7]].sum() > 0.4 * totals.sum()  # twice what they would get alike
    assert totals.min() > 0.01 * totals.sum()


def test_a_mechanism_may_give_one_report_at_a_time():
    rng = np.random.default_rng(0)
    kernel = response(2.0)
    asked = Counter()

    def one(x):
        asked[x] += 1
        return int(rng.choice(3, p=kernel[x]))

    found = md.audit_samples([0, 1, 2], one, md.LDP(1), calls=5000)
    assert found.verdict is SampleVerdict.VIOLATED
    assert sum(asked.values()) == found.calls


def test_a_prior_that_is_given_is_the_one_that_counts():
    inputs, reports = columns(response(1.0, 2), [8000, 8000], np.random.default_rng(0))
    skewed = md.Prior([0.9, 0.1])
    found = md.audit_samples(inputs, reports, md.PML(0.5), prior=skewed, outputs=[0, 1])
    exact = md.audit(response(1.0, 2), skewed).pml
    level = found.findings[0].levels[0]
    assert level.lower <= exact <= level.upper
    assert found.prior_is_given
    assert "The prior was given." in found.basis
    own = md.audit_samples(inputs, reports, md.PML(0.5), outputs=[0, 1])
    assert own.prior == md.Prior.uniform(2)
    assert any("frequencies of the inputs" in line for line in own.basis)
    assert own.findings[0].levels[0].upper < exact  # a control: the prior matters


# Groups that are learned


def test_a_tree_finds_what_intervals_do_not_show():
    """Laplace noise of scale 1 in floats: the values keep their claim, the lowest bits do not."""
    rng = np.random.default_rng(4)

    def noisy(x, number):
        u = rng.random(number) - 0.5
        return x - np.sign(u) * np.log1p(-2 * np.abs(u))

    stated = md.audit_samples([0, 1], noisy, md.LDP(1), partition=[-1, 0, 1, 2], batch=True)
    assert stated.verdict is SampleVerdict.CANNOT_TELL
    learned = md.audit_samples([0, 1], noisy, md.LDP(1), partition="tree", batch=True)
    assert learned.verdict is SampleVerdict.VIOLATED
    assert "lowest bit of report" in learned.findings[0].levels[0].output
    assert learned.learned_from == 25_000


def test_half_of_the_reports_is_learned_from_and_the_other_half_checked():
    rng = np.random.default_rng(0)
    inputs = np.repeat([0, 1], 3000)
    reports = inputs + rng.laplace(size=6000) / 3
    found = md.audit_samples(inputs, reports, md.LDP(1), partition="tree")
    assert found.learned_from == found.samples == 3000
    assert found.verdict is SampleVerdict.VIOLATED
    again = md.audit_samples(inputs, reports, md.LDP(1), partition="tree")
    assert again.rows() == found.rows()


def test_a_classifier_of_scikit_learn_may_be_given():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    inputs = np.repeat(["a", "b"], 4000)
    reports = [tuple(v) for v in rng.normal(size=(8000, 3)) + (inputs == "b")[:, None]]
    found = md.audit_samples(inputs, reports, md.LDP(1), partition=LogisticRegression())
    assert found.verdict is SampleVerdict.VIOLATED
    assert "LogisticRegression" in found.grouped


# What cannot be used

GOOD = {"inputs": ["a", "b"] * 100, "reports": ["u", "v"] * 100, "notions": md.LDP(1)}
NAN = float("nan")


def raises(*_):
    raise RuntimeError("the secret is 12345")


BAD = {
    "lengths": ({"reports": ["u"]}, "200 inputs and 1 reports"),
    "nothing": ({"inputs": [], "reports": []}, "at least one report, got none"),
    "missing report": ({"reports": ["u", None] * 100}, "100 of 200 rows with none"),
    "NaN report": ({"reports": [0.5, NAN] * 100}, "100 of 200 rows with none, or with NaN"),
    "missing input": ({"inputs": ["a", None] * 100}, "inputs: expected a value in every row"),
    "unknown outcomes": ({"outputs": ["u"]}, "100 of 200 reports that are none of them"),
    "no outcomes": ({"outputs": []}, "all outcomes that there are, got none"),
    "unknown inputs": ({"prior": {"a": 0.5, "c": 0.5}}, "100 of 200 that are none of them"),
    "unhashable inputs": (
        {"inputs": [["a"], ["b"]] * 100, "prior": {"a": 0.5, "b": 0.5}},
        "inputs: expected hashable values",
    ),
    "symbol without reports": (
        {"prior": {"a": 0.5, "b": 0.4, "c": 0.1}},
        "none about 1 of them",
    ),
    "a table": ({"inputs": pd.DataFrame({"x": [1]})}, "a pandas, polars or pyarrow series"),
    "confidence": ({"confidence": 1.0}, "a number between 0 and 1, got 1.0"),
    "notion of informations": ({"notions": md.MIPrivacy(1)}, "at most the level of PML"),
    "class": ({"notions": md.LDP}, "the class LDP without a level"),
    "edges": ({"partition": [1, 0]}, "increasing edges"),
    "edges of texts": ({"partition": [0, 1]}, "numbers, or tuples of as many numbers"),
    "partition": ({"partition": "forest"}, "'tree', or a classifier"),
    "no groups": ({"partition": lambda r: None}, "groups of the partition: expected a value"),
    "sets": ({"inputs": {"a", "b"}, "reports": frozenset("uv")}, "inputs: expected a column"),
    "one input": ({"inputs": ["a"] * 200}, "at least two different symbols"),
    "one input of a function": (
        {"inputs": ["a"], "reports": lambda x: x},
        "at least two different",
    ),
    "function of reports": ({"partition": raises}, "got a RuntimeError when the function"),
    "both": ({"partition": [0], "outputs": ["u", "v"]}, "no outputs beside a partition"),
    "seed": ({"seed": -1}, "a whole number from 0"),
    "raises": ({"reports": raises}, "got a RuntimeError when it was called"),
    "too few": ({"reports": lambda x, n: [x], "batch": True}, "reports, as asked of it"),
    "calls": ({"reports": lambda x: x, "calls": 5}, "from 32, 16 for each symbol, to"),
    "batch": ({"reports": lambda x: x, "batch": "yes"}, "True or False"),
}


@for_each("name", sorted(BAD))
def test_what_cannot_be_used_gets_one_message(name):
    change, message = BAD[name]
    with pytest.raises(MechdesignError) as problem:
        md.audit_samples(**{**GOOD, **change})
    text = str(problem.value)
    assert message in text
    assert "\n" not in text
    assert "12345" not in text


def test_a_table_that_is_too_wide_asks_for_a_partition():
    rng = np.random.default_rng(0)
    inputs = np.arange(9000) % 3000
    with pytest.raises(DataError, match="state a partition"):
        md.audit_samples(inputs, rng.random(9000), AgainstOne(1.0, 0))


def test_most_of_what_is_refused_was_good_before():
    """A control: what the bad calls change is all that is wrong with them."""
    assert md.audit_samples(**GOOD).verdict is SampleVerdict.VIOLATED
    # Symbols to call a mechanism with have no order.
    told = md.audit_samples({"a", "b"}, lambda x: x, md.LDP(1), calls=200)
    assert told.verdict is SampleVerdict.VIOLATED


def test_rows_of_two_tables_that_do_not_correspond_are_refused():
    """Paired by their places, shuffled reports would look as if they told nothing of the inputs."""
    inputs = pd.Series(["a", "b"] * 200)
    reports = inputs.copy()
    shuffled = reports.sample(frac=1, random_state=1)
    with pytest.raises(DataError, match="same index"):
        md.audit_samples(inputs, shuffled, md.LDP(0.1), outputs=["a", "b"])
    for column in (reports, shuffled.sort_index(), reports.tolist(), reports.to_numpy()):
        found = md.audit_samples(inputs, column, md.LDP(0.1), outputs=["a", "b"])
        assert found.verdict is SampleVerdict.VIOLATED
