"""What others may see of a plan, and the checker that shares no code: the total level again."""

from __future__ import annotations

import copy
import json
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
from mechdesign.errors import CountsWarning, InputError, StorageError
from mechdesign.storage import from_json, seal, to_json

TITANIC = md.Prior.from_csv("titanic", ["class", "sex"])
TWINS = md.Prior([0.5, 0.3, 0.2], [("a", 1), ("b", 2), ("c", 3)]).with_schema(["x", "y"])


@pytest.fixture(scope="module")
def twins():
    return md.plan_columns(TWINS, None, md.PML(1))


@pytest.fixture(scope="module")
def titanic():
    return md.plan_columns(TITANIC, None, md.LDP(2), joint=False)


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


@pytest.mark.slow
@for_each("notion", [md.PML(1), md.LIP(0.5), md.PMC(0.7), md.ALIP(1, 0.5), md.LDP(1.5)])
@for_each("prior", slow_but(1, [TWINS, TITANIC]))
def test_the_checker_proves_the_total_level(notion, prior):
    content = to_json(md.plan_columns(prior, None, notion, joint=False))
    state, report = told(content)
    assert state == {"privacy": verify.PROVED, "achieved": verify.PROVED}
    assert report.state == verify.PROVED  # the optima of the designs, too
    assert verify.REFUTED not in {fact["state"] for fact in report.claims}


@pytest.mark.parametrize("notion", ["LDP", "ApproximateLDP"])
def test_the_checker_makes_no_table_of_very_many_columns(titanic, tmp_path, notion):
    """Of 60 columns together there are more values than fit into any memory."""
    md.save(titanic, tmp_path / "public.json", public=True)
    content = json.loads((tmp_path / "public.json").read_text())
    one = content["columns"][0]
    content["columns"] = [
        {"name": f"column {i}", "public": copy.deepcopy(one["public"])} for i in range(60)
    ]
    for column in content["columns"]:
        column["public"]["mechanism"]["attributes"][0]["name"] = column["name"]
        column["public"] = sealed(column["public"])
    more = {} if notion == "LDP" else {"delta": 0.01}
    content["total"] = {"name": notion, "parameters": {"epsilon": 120.0, **more}}
    state, _ = told(sealed(content))
    assert state["privacy"] == (verify.PROVED if notion == "LDP" else verify.OPEN)
    if notion == "LDP":
        content["total"]["parameters"]["epsilon"] = 1.0
        assert told(sealed(content))[0]["privacy"] == verify.REFUTED


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


@for_each(
    ("change", "claim"),
    [
        (lambda c: c["total"]["parameters"].update(epsilon=0.9), "privacy"),
        (lambda c: c.update(achieved=[0.5]), "achieved"),
        (lambda c: c.update(achieved=[2.0]), "achieved"),
        (lambda c: c["prior"]["weights"].reverse(), "x: prior"),
    ],
)
def test_what_is_altered_is_named(twins, change, claim):
    content = copy.deepcopy(to_json(twins))
    change(content)
    _, report = told(sealed(content))
    wrong = [fact["claim"] for fact in report.claims if fact["state"] == verify.REFUTED]
    assert any(name.startswith(claim) for name in wrong)


def test_a_plan_for_a_prior_that_is_not_there_is_not_proved(twins):
    content = copy.deepcopy(to_json(twins))
    content["prior"] = None
    state, report = told(sealed(content))
    assert state == {"privacy": verify.OPEN}
    content["columns"][0]["design"] = {"kind": "mechanism"}
    with pytest.raises(verify.UnreadableError):
        verify.check(json.dumps(sealed(content)).encode())
    assert report.state == verify.OPEN


def test_ldp_of_many_columns_is_proved_without_their_product():
    """Six columns of five values: 15,625 combinations, whose reports are as many or more."""
    alone = {name: md.Prior.uniform(list(range(5))).with_schema(name) for name in "abcdef"}
    found = [md.design(p, md.utility.Estimation(), md.LDP(0.5)) for p in alone.values()]
    ratio = Fraction(1)
    for one in found:
        weights = one.mechanism.weights.astype(object)
        ratio *= max(Fraction(max(c), min(c)) for c in weights.T)
    plan = md.PublicPlan.of(
        tuple(alone), [md.PublicDesign.of(d.mechanism, d.notions) for d in found], md.LDP(3)
    )
    content = to_json(plan)
    assert told(content)[0] == {"privacy": verify.PROVED, "achieved": verify.PROVED}
    assert float(np.log(float(ratio))) == pytest.approx(plan.check.achieved[0], rel=1e-12)
    content["total"]["parameters"]["epsilon"] = 2.99
    assert told(sealed(content))[0]["privacy"] == verify.REFUTED


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
