"""A level split over columns: what all reports together leak is decided exactly."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import jsonschema
import numpy as np
import pandas as pd
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.errors import DataError, InputError, LevelError, StorageError, UnknownNameError
from mechdesign.solve import _plan_columns
from mechdesign.solve.columns_plan import product_kernel
from mechdesign.storage import from_json, seal, to_json

TITANIC = md.Prior.from_csv("titanic", ["class", "sex"])
TWINS = md.Prior([0.5, 0.3, 0.2], [("a", 1), ("b", 2), ("c", 3)]).with_schema(["x", "y"])
APART = md.Prior([0.15, 0.35, 0.15, 0.35], list(product("ab", "cd"))).with_schema(["x", "y"])


@pytest.fixture(scope="module")
def twins():
    return md.plan_columns(TWINS, None, md.PML(1))


@pytest.fixture(scope="module")
def titanic():
    return md.plan_columns(TITANIC, {"class": 1, "sex": 2}, md.LDP(2))


def leaked(plan, prior):
    """PML of all reports together, by hand: one fraction for each pair of reports."""
    first, second = (found.mechanism for found in plan.designs)
    worst = Fraction(0)
    for y, z in product(range(first.shape[1]), range(second.shape[1])):
        likely = [
            Fraction(int(first.weights[first.inputs.index(a), y]))
            * int(second.weights[second.inputs.index(b), z])
            for a, b in prior.labels
        ]
        total = sum(prior.mass(i) * value for i, value in enumerate(likely))
        worst = max(worst, max(likely) / total)
    return math.log(worst)


def test_levels_of_dependent_columns_do_not_add_up(twins):
    """Of a column and its copy, shares that add up to the level leak a quarter more than it."""
    naive = next(other for other in twins.others if other.name == "additive split")
    assert sum(level for (level,) in naive.levels) == pytest.approx(1, abs=1e-6)
    assert naive.leaks[0] > 1.2
    assert "MORE THAN ASKED" in repr(twins)
    assert sum(level for (level,) in twins.levels.values()) < 0.8


@for_each("notion", slow_but(1, [md.PML(1), md.PML(0.3), md.LIP(1), md.PMC(0.7)]))
def test_all_reports_together_keep_the_total_level(notion):
    plan = md.plan_columns(TWINS, None, notion)
    assert plan.check.verdict is md.Verdict.YES
    again = notion.check(product_kernel(list(plan.kernels.values()), TWINS.labels), TWINS)
    assert again.achieved == plan.leaks
    assert notion.epsilon * 0.999 < plan.leaks[0] <= notion.epsilon


def test_what_they_leak_is_counted_by_hand(twins):
    assert leaked(twins, TWINS) == pytest.approx(twins.leaks[0], rel=1e-12)


def test_levels_of_independent_columns_add_up():
    """The control: of columns that say nothing of each other, levels of PML are a sum."""
    plan = md.plan_columns(APART, None, md.PML(0.5))
    assert sum(level for (level,) in plan.levels.values()) == pytest.approx(0.5, rel=1e-4)
    assert leaked(plan, APART) == pytest.approx(plan.leaks[0], rel=1e-12)


def test_ldp_adds_up_over_all_combinations(titanic):
    assert titanic.leaks == (pytest.approx(2, rel=1e-8),)
    together = md.audit(titanic.product(), md.Prior.uniform(titanic.product().inputs), md.LDP(2))
    assert together.checks[0].verdict is md.Verdict.YES
    assert together.ldp == pytest.approx(titanic.leaks[0], rel=1e-12)
    # Also where only some combinations occur.
    assert md.plan_columns(TWINS, None, md.LDP(1)).product().shape[0] == 9


@pytest.mark.slow
def test_no_other_split_has_a_smaller_risk(titanic):
    """Over a grid of splits, each column designed anew."""
    alone = [TITANIC.marginal(name) for name in ("class", "sex")]
    least = math.inf
    for share in np.linspace(0.05, 0.95, 37):
        risks = [
            md.design(prior, md.utility.Estimation(), md.LDP(2 * part)).risk
            for prior, part in zip(alone, (share, 1 - share), strict=True)
        ]
        least = min(least, risks[0] + 2 * risks[1])
    assert titanic.risk == pytest.approx(least, rel=5e-3)
    equal = next(other for other in titanic.others if other.name == "equal split")
    assert titanic.risk < equal.risk


def test_weights_turn_the_split():
    plans = [md.plan_columns(TITANIC, {"class": w, "sex": 1}, md.LDP(1)) for w in (0.1, 10)]
    assert plans[0].levels["class"] < plans[1].levels["class"]
    assert plans[0].risks["sex"] < plans[1].risks["sex"]


def test_three_columns_of_a_frame():
    frame = pd.DataFrame(
        {"a": list("xyxyxyxy") * 5, "b": list("ppqqppqp") * 5, "c": [1, 1, 1, 2, 2, 2, 2, 1] * 5}
    )
    plan = md.plan_columns(frame, ["a", "b", "c"], md.LDP(1.5))
    assert plan.names == ("a", "b", "c")
    assert plan.check.verdict is md.Verdict.YES
    assert sum(level for (level,) in plan.levels.values()) == pytest.approx(1.5, rel=1e-3)
    assert plan["b"].prior == md.Prior.from_data(frame["b"])
    known = md.plan_columns(frame, ["a", "b"], md.PML(0.4))
    assert set(known.combinations) == {("x", "p"), ("x", "q"), ("y", "p"), ("y", "q")}


def test_priors_of_single_columns_serve_notions_without_one():
    alone = {name: TITANIC.marginal(name) for name in ("class", "sex")}
    plan = md.plan_columns(alone, {"class": 1, "sex": 2}, md.LDP(2))
    assert plan.prior is None
    assert plan.check.verdict is md.Verdict.YES
    with pytest.raises(InputError, match="priors of single columns"):
        md.plan_columns(alone, None, md.PML(1))


def test_files_hold_the_plan(twins, titanic, tmp_path):
    schema = json.loads(json.dumps(verify.FORM))
    for plan in (twins, titanic):
        path = tmp_path / f"{plan.names[0]}.json"
        md.save(plan, path)
        assert path.stat().st_mode & 0o77 == 0  # it holds the counts of people
        again = md.load(path)
        assert again.weights == plan.weights
        assert repr(again) == repr(replace(plan, others=()))  # not kept, as nothing would prove it
        assert again.check == plan.check
        assert again.kernels == plan.kernels
        jsonschema.Draft202012Validator(schema).validate(json.loads(path.read_text()))
        for part in json.loads(path.read_text())["columns"]:
            told = verify.check(json.dumps(part["design"]).encode())
            assert told.state == verify.PROVED  # private, and of least risk


@for_each("change", [
        lambda c: c["total"]["parameters"].update(epsilon=0.9),
        lambda c: c.update(achieved=[0.5]),
        lambda c: c["columns"].reverse(),
        lambda c: c["columns"][0].update(design=c["columns"][1]["design"]),
        lambda c: c["columns"][0].update(name="z"),
        lambda c: c["prior"]["weights"].reverse(),
        lambda c: c.update(prior=None),
        lambda c: c["columns"][0].update(weight=-1),
        lambda c: c["columns"][0].update(weight=0),
        lambda c: c["columns"][0].update(weight="inf"),
        lambda c: c.update(others=[]),
        lambda c: c.update(columns=[]),
    ])  # fmt: skip
def test_altered_files_are_refused(twins, change):
    content = copy.deepcopy(to_json(twins))
    change(content)
    del content["digest"]
    with pytest.raises(StorageError):
        from_json(seal(content))


@for_each(
    ("columns", "problem"),
    [
        ({"class": 1}, InputError),
        ({"class": 1, "sex": 0}, InputError),
        ({"class": 1, "sex": math.nan}, InputError),
        ({"class": 1, "sex": math.inf}, InputError),
        ({"class": 1, "sex": "2"}, InputError),
        ({"class": 1, "sax": 1}, UnknownNameError),
        (["class", "class"], InputError),
        (3, InputError),
        ([], InputError),
    ],
)
def test_other_columns_are_refused(columns, problem):
    with pytest.raises(problem):
        md.plan_columns(TITANIC, columns, md.LDP(1))


@for_each(
    "total",
    [None, 1, md.LDP, md.LDP(0), md.LDP(math.inf), md.MaximalLeakage(1), md.FeaturePML(1, "sex")],
)
def test_other_totals_are_refused(total):
    with pytest.raises(LevelError):
        md.plan_columns(TITANIC, None, total)


@pytest.mark.slow
def test_reports_too_many_to_be_checked_are_refused(monkeypatch):
    monkeypatch.setattr("mechdesign.solve.product_lifts.MOST_CELLS", 1000)
    frame = pd.DataFrame({name: [f"{name}{i * k % 9}" for i in range(900)] for k, name in
                          enumerate("abcd", 1)})  # fmt: skip
    with pytest.raises(DataError, match="combinations of values and reports"):
        md.plan_columns(frame, list("abcd"), md.PML(1))


@pytest.mark.slow
@pytest.mark.parametrize("notion", [md.LDP(2), md.PML(1)], ids=str)
def test_relaxations_find_the_split_that_designs_find(notion, monkeypatch):
    """For columns of many symbols a search goes by relaxations; here both can be afforded."""
    exact = md.plan_columns(TITANIC, {"class": 1, "sex": 2}, notion, joint=False)
    monkeypatch.setattr("mechdesign.solve._plan_columns._MOST_DESIGNED", 1)
    quick = md.plan_columns(TITANIC, {"class": 1, "sex": 2}, notion, joint=False)
    assert quick.check.verdict is md.Verdict.YES
    assert quick.risk == pytest.approx(exact.risk, rel=2e-3)
    for one, other in zip(exact.others, quick.others, strict=True):
        assert other.risk == pytest.approx(one.risk, rel=2e-2)
        assert other.leaks[0] == pytest.approx(one.leaks[0], rel=2e-2)


def test_a_large_column_is_designed_once(monkeypatch):
    """Under LDP: its search needs no design, nor do the splits that are compared."""
    made = []
    whole = _plan_columns.find_design

    def counted(prior, *rest, **options):
        made.append(len(prior))
        return whole(prior, *rest, **options)

    monkeypatch.setattr("mechdesign.solve._plan_columns.find_design", counted)
    monkeypatch.setattr("mechdesign.solve._plan_columns._MOST_DESIGNED", 3)
    plan = md.plan_columns(TITANIC, None, md.LDP(1), joint=False)
    assert made.count(4) == 1
    assert made.count(2) > 1
    assert plan.others[0].leaks == pytest.approx((1,), rel=1e-8)


def test_columns_of_too_many_symbols_are_refused_before_any_search(monkeypatch):
    monkeypatch.setattr("mechdesign.solve._plan_columns.relaxed_risk", None)
    masses = list(range(1, 102))
    wide = md.Prior.from_counts({f"v{mass}": mass for mass in masses})
    with pytest.raises(md.errors.InputError, match="'a' of a plan: expected at most 100 symbols"):
        md.plan_columns({"a": wide, "b": md.Prior([0.5, 0.5])}, total=md.LDP(1))


def test_a_time_limit_is_that_of_each_design(monkeypatch):
    asked = []

    def made(*given, time_limit=None):
        asked.append(time_limit)
        return md.design(*given)

    monkeypatch.setattr("mechdesign.solve._plan_columns.find_design", made)
    priors = {"a": md.Prior([0.6, 0.4]), "b": md.Prior([0.5, 0.5])}
    md.plan_columns(priors, total=md.LDP(2), time_limit=7)
    assert set(asked) == {7}
    with pytest.raises(md.errors.InputError, match="a positive number of seconds"):
        md.plan_columns(priors, total=md.LDP(2), time_limit=-1)


def test_columns_of_one_value_have_no_risk_and_a_plan_of_nothing_else_is_refused():
    table = {"x": ["a"] * 4, "y": ["u"] * 4, "z": ["k", "l"] * 2}
    for total in (md.LDP(2), md.PML(0.5)):
        assert md.plan_columns(table, ["x", "z"], total)["x"].risk == 0
        with pytest.raises(md.errors.DataError, match="some column of several values"):
            md.plan_columns(table, ["x", "y"], total)
