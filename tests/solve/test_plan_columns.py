"""A level split over columns: what all reports together leak is decided exactly, by the library and
by the checker that shares no code; and what others may see of a plan.
"""

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
from mechdesign.cli import main
from mechdesign.errors import CountsWarning, InputError, LevelError, StorageError, UnknownNameError
from mechdesign.solve import _plan_columns
from mechdesign.solve.columns_plan import product_kernel
from mechdesign.storage import from_json, seal, to_json

TITANIC = md.Prior.from_csv("titanic", ["class", "sex"])
TWINS = md.Prior([0.5, 0.3, 0.2], [("a", 1), ("b", 2), ("c", 3)]).with_schema(["x", "y"])


@pytest.fixture(scope="module")
def twins():
    return md.plan_columns(TWINS, None, md.PML(1))


@pytest.fixture(scope="module")
def titanic():
    return md.plan_columns(TITANIC, {"class": 1, "sex": 2}, md.LDP(2))


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


# What others may see, and the checker that shares no code


@pytest.fixture
def public(titanic, tmp_path):
    path = tmp_path / "public.json"
    md.save(titanic, path, public=True)
    return path


def told(content):
    """State of each claim about all columns together, by its first words."""
    report = verify.check(json.dumps(content).encode())
    claims = [fact for fact in report.claims if fact["claim"].endswith("of all columns together")]
    return {fact["claim"].split(":")[0]: fact["state"] for fact in claims}, report


def sealed(content):
    content.pop("digest", None)
    return seal(content)


def test_the_public_form_holds_kernels_and_no_count(titanic, public):
    found = md.load(public)
    assert isinstance(found, md.PublicPlan)
    assert found.kernels == titanic.kernels
    assert found.check.achieved == titanic.leaks
    text = public.read_text()
    assert not {"prior", "certificate", "probabilities", "others", "weight"} & names(
        json.loads(text)
    )
    for weight in (*TITANIC.weights, *TITANIC.marginal("class").weights):
        assert f'"{weight}"' not in text
    schema = json.loads(json.dumps(verify.FORM))
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))


def names(part):
    if isinstance(part, dict):
        return set(part) | set().union(*map(names, part.values()), set())
    return set().union(*map(names, part), set()) if isinstance(part, list) else set()


def test_reports_of_the_public_form_are_those_of_the_plan(titanic, public):
    """Drawn from it and estimated with it: nothing of the prior is needed under LDP."""
    rng = np.random.default_rng(0)
    rows = [TITANIC.labels[i] for i in rng.choice(8, 500, p=TITANIC.probabilities)]
    frame = pd.DataFrame(rows, columns=["class", "sex"]).assign(id=range(500))
    found = md.load(public)
    made = [md.privatize(frame, plan, row="id", key=bytes(32)) for plan in (found, titanic)]
    pd.testing.assert_frame_equal(made[0], made[1])
    theirs, own = md.estimate(made[0], found), md.estimate(made[1], titanic)
    assert theirs.labels == own.labels
    # Weights of reports may be those of another truth; both are unbiased.
    assert theirs.values == pytest.approx(own.values, abs=0.2)
    assert md.estimate(made[0], found, "sex").values.sum() == pytest.approx(1)


def test_the_public_form_under_a_notion_of_a_prior_is_told_and_draws_nothing(twins, tmp_path):
    with pytest.warns(CountsWarning):
        md.save(twins, tmp_path / "p.json", public=True)
    found = md.load(tmp_path / "p.json")
    assert found.check is None
    assert "stated by its maker" in repr(found)
    frame = pd.DataFrame({"x": ["a"], "y": [1]})
    with pytest.raises(InputError, match="the plan itself"):
        md.privatize(frame, found)
    many = pd.DataFrame(list(TWINS.labels) * 40, columns=["x", "y"])
    assert md.estimate(md.privatize(many, twins, rng=1), found).reports == 120
    state, report = told(json.loads((tmp_path / "p.json").read_text()))
    assert state == {"privacy": verify.OPEN}
    assert report.state == verify.OPEN


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["total"]["parameters"].update(epsilon=1.9),
        lambda c: c.update(achieved=[1.5]),
        lambda c: c.pop("achieved"),
        lambda c: c["columns"][0].update(name="z"),
        lambda c: c["columns"][0].update(public=c["columns"][1]["public"]),
        lambda c: c["columns"].pop(),
        lambda c: c["columns"][0]["public"]["mechanism"]["weights"][0].reverse(),
    ],
    ids=["level", "claim", "silence", "name", "copy", "one", "kernel"],
)
def test_altered_public_forms_are_refused(public, change):
    content = json.loads(public.read_text())
    change(content)
    with pytest.raises(StorageError):
        from_json(sealed(content))


def test_the_command_line_makes_and_shows_it(titanic, tmp_path, capsys):
    plan, other = str(tmp_path / "plan.json"), str(tmp_path / "public.json")
    md.save(titanic, plan)
    assert main(["check", plan, "--public", other]) == 0
    capsys.readouterr()
    assert main(["check", other]) == 0
    assert "public form of a plan for LDP(2) of class, sex together" in capsys.readouterr().out
    assert main(["verify", other]) == 0
    assert main(["verify", plan]) == 0  # the optima of its designs, too
    assert "REFUTED" not in capsys.readouterr().out.upper()
    assert main(["audit", other]) == 2


# The checker


def test_a_forged_total_is_refused_by_the_checker(twins):
    """Levels that would be those of independent columns: of twins, more is leaked than they say."""
    naive = next(other for other in twins.others if other.name == "additive split")
    designs = [
        md.design(TWINS.marginal(name), md.utility.Estimation(), md.PML(*level))
        for name, level in zip(("x", "y"), naive.levels, strict=True)
    ]
    forged = copy.deepcopy(to_json(twins))
    for part, found in zip(forged["columns"], designs, strict=True):
        part["design"] = to_json(found)
    state, report = told(sealed(forged))
    assert state["privacy"] == verify.REFUTED
    assert report.state == verify.REFUTED
    forged["total"]["parameters"]["epsilon"] = 1.5
    assert told(sealed(forged))[0] == {"privacy": verify.PROVED, "achieved": verify.REFUTED}


def test_the_checker_agrees_with_a_sum_over_pairs(twins):
    """By hand, in fractions: the largest likelihood of each pair of reports over its mean."""
    first, second = (found.mechanism for found in twins.designs)
    worst = max(
        max(likely) / sum(TWINS.mass(i) * value for i, value in enumerate(likely))
        for likely in (
            [
                Fraction(int(first.weights[first.inputs.index(a), y]))
                * int(second.weights[second.inputs.index(b), z])
                for a, b in TWINS.labels
            ]
            for y, z in product(range(first.shape[1]), range(second.shape[1]))
        )
    )
    content = copy.deepcopy(to_json(twins))
    for level, state in ((float(np.log(float(worst))) * (1 + 1e-9), verify.PROVED),
                         (float(np.log(float(worst))) * (1 - 1e-9), verify.REFUTED)):  # fmt: skip
        content["total"]["parameters"]["epsilon"] = level
        assert told(sealed(content))[0]["privacy"] == state
        content["digest"] = ""


def test_columns_of_one_value_have_no_risk_and_a_plan_of_nothing_else_is_refused():
    table = {"x": ["a"] * 4, "y": ["u"] * 4, "z": ["k", "l"] * 2}
    for total in (md.LDP(2), md.PML(0.5)):
        assert md.plan_columns(table, ["x", "z"], total)["x"].risk == 0
        with pytest.raises(md.errors.DataError, match="some column of several values"):
            md.plan_columns(table, ["x", "y"], total)
