"""What ``verify.py`` proves and refutes of designs for estimates and of subset selections."""

from __future__ import annotations

import functools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from masses_in_groups import CASES
from verify_cases import changed

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.exact import float_at_least
from mechdesign.storage import to_json
from mechdesign.utility import Estimation

PRIOR = md.Prior.from_counts([60, 30, 20, 15, 12], ["a", "b", "c", "d", "e"])
ASKED = {
    "frequencies": {},
    "a question": {"of": [[1, 2, 3, 4, 5]]},
    "weights": {"weights": [1, 2, 3, 4, 5]},
    "a matrix of weights": {"weights": np.eye(5) + 0.3 * np.eye(5)[::-1]},
    "another truth": {"truth": {"e": 1, "d": 2, "c": 3, "b": 4, "a": 5}},
    "a list of truths": {"truth": [[1, 1, 1, 1, 2], [4, 1, 1, 1, 1]]},
}


@functools.cache
def file_of(name, level=1.0):
    found = md.design(PRIOR, Estimation(**ASKED[name]), md.PML(level))
    return json.dumps(to_json(found))


def states(content):
    claims = verify.check(json.dumps(content).encode()).claims
    return {fact["claim"]: fact["state"] for fact in claims}


@pytest.mark.parametrize("name", ASKED)
def test_values_of_estimates_are_proved(name):
    found = states(json.loads(file_of(name)))
    assert found["value"] == "proved"
    assert set(found.values()) == {"proved"}


def test_a_design_of_one_symbol_is_proved():
    content = to_json(md.design(md.Prior([1.0], ["a"]), Estimation(), md.LDP(1)))
    assert set(states(content).values()) == {"proved"}
    wrong = changed(content, ("certificate", "value_exact"), "1/7")
    assert states(wrong)["value_exact"] == "refuted"


def test_bounds_of_many_symbols_are_left_open():
    prior = md.Prior.from_counts(range(3, 16))
    found = states(to_json(md.design(prior, Estimation(), md.LDP(1))))
    assert found["value"] == "proved"
    assert {found[claim] for claim in ("bound", "gap", "optimal")} == {"not proved here"}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("share", [-1e-3, -1e-8, 1e-8, 1e-3, 1.0])
def test_values_that_are_tampered_with_are_refuted(name, share):
    content = json.loads(file_of(name))
    value = content["certificate"]["value"] * (1 + share)
    assert states(changed(content, ("certificate", "value"), value))["value"] == "refuted"


def test_values_of_other_truths_questions_and_weights_are_refuted():
    content = json.loads(file_of("frequencies"))
    other = json.loads(file_of("another truth"))["utility"]["truth"]
    for place, what in (
        ("truth", other),
        ("questions", [[1, 0, 0, 0, 0]]),
        ("weights", [1, 1, 1, 1, 2]),
    ):
        forged = changed(content, ("utility", place), what)
        if place == "questions":
            forged = changed(forged, ("utility", "answers"), ["a"])
        assert states(forged)["value"] == "refuted", place


def test_bounds_and_gaps_that_cannot_be_are_refuted():
    content = json.loads(file_of("frequencies"))
    value = Fraction(content["certificate"]["value"])
    exact = ("certificate", "bound_exact")
    below = changed(content, exact, str(value * (1 + Fraction(1, 10**6))))
    assert states(below)["bound"] == "refuted"
    apart = changed(content, exact, str(value * (1 - Fraction(1, 1000))))
    assert states(apart)["bound"] == "proved"
    assert states(apart)["bound, rounded"] == states(apart)["gap"] == "refuted"
    share = float_at_least(Fraction(1, 1000))
    assert states(changed(apart, ("certificate", "gap"), share))["gap"] == "proved"


@pytest.mark.parametrize("notion", [md.LDP(0.01), md.PML(0.3), md.LIP(0.8), md.PMC(3)], ids=str)
@pytest.mark.parametrize("of", [None, [[1, 0, 0, 2, 0], [0, 1, 1, 0, -1]]], ids=["shares", "rows"])
def test_the_largest_risk_of_all_truths_is_computed_again(notion, of):
    content = json.loads(json.dumps(to_json(md.design(PRIOR, Estimation(of, truth="any"), notion))))
    saved = ("certificate", "value")
    value = content["certificate"]["value"]
    # Of a question whose best kernel leaves J singular nothing is said here.
    expected = "proved" if of is None else states(content)["value"]
    assert states(content)["value"] == expected != "refuted"
    if expected == "proved":
        for share in (1 - 1e-8, 1 + 1e-8):
            off = changed(content, saved, value * share)
            assert states(off)["value"] == "refuted", share


def test_a_truth_that_is_not_the_worst_leaves_the_largest_risk_between_two_numbers():
    found = md.design(PRIOR, Estimation(truth="any"), md.PML(1))
    content = json.loads(json.dumps(to_json(found)))
    worst, certificate = ("certificate", "worst"), content["certificate"]
    flat = changed(content, worst, ["1"] * 5)
    claims = verify.check(json.dumps(flat).encode()).claims
    claim = next(one for one in claims if one["claim"] == "value")
    assert claim["state"] == "not proved here"
    assert "between" in claim["detail"]
    # What is outside of the two is wrong all the same, and without a truth nothing is known.
    for share, state in ((0.5, "refuted"), (2.0, "refuted"), (1.0, "not proved here")):
        off = changed(flat, ("certificate", "value"), share * certificate["value"])
        assert states(off)["value"] == state
    del certificate["worst"]
    assert states(content)["value"] == "not proved here"
    for masses in (["0"] * 5, ["1"] * 4):
        with pytest.raises(verify.UnreadableError):
            states(changed(content, worst, masses))


def test_a_kernel_that_leaves_a_question_without_estimate_has_no_value():
    content = json.loads(file_of("frequencies"))
    content["mechanism"]["weights"][1] = content["mechanism"]["weights"][0]
    assert states(content)["value"] == "refuted"
    assert states(changed(content, ("certificate", "value"), "-inf"))["value"] == "proved"
    whole = json.loads(file_of("frequencies"))
    assert states(changed(whole, ("certificate", "value"), "-inf"))["value"] == "refuted"


@pytest.mark.slow
def test_twenty_symbols_take_seconds():
    prior = md.Prior.from_counts([600 // x for x in range(1, 21)])
    assert states(to_json(md.design(prior, Estimation(), md.LDP(1))))["value"] == "proved"


@pytest.mark.parametrize(
    ("n", "notion"),
    [(31, md.LDP(1)), (1000, md.LDP(1)), (49, md.LIP(0.5)), (49, md.PML(1))],
    ids=lambda item: str(item),
)
def test_the_privacy_of_subset_selections_is_proved(n, notion):
    content = json.loads(json.dumps(to_json(md.subset_selection(n, notion))))
    part = content["types"][0]["parts"][0]
    is_full = part["base"] ** part["dimension"] == n
    state = states(content)[f"privacy: {type(notion).__name__}({notion.levels[0]:.1f})"]
    assert state == ("proved" if is_full or isinstance(notion, md.LDP) else "not proved here")
    less = changed(content, ("notions", 0, "parameters", "epsilon"), 0.3)
    state = next(s for claim, s in states(less).items() if claim.startswith("privacy"))
    assert state == ("refuted" if is_full else "not proved here")


@pytest.mark.parametrize(
    ("n", "notion"), [(31, md.LDP(1)), (1000, md.LDP(1)), (30, md.LIP(3))], ids=str
)
def test_the_risk_of_subset_selections_is_computed_again(n, notion):
    content = json.loads(json.dumps(to_json(md.subset_selection(n, notion))))
    part = content["types"][0]["parts"][0]
    placed = "placements" in part
    assert states(content)["risk"] == ("not proved here" if placed else "proved")
    if not placed:
        less = changed(content, ("risk_exact",), "1/3")
        assert states(less)["risk"] == "refuted"
        # No prime: the lines of the geometry meet in more than a point.
        with pytest.raises(verify.UnreadableError):
            states(changed(content, ("types", 0, "parts", 0, "base"), part["base"] + 1))


def test_weights_of_subset_selections_that_are_none_are_refuted():
    content = json.loads(json.dumps(to_json(md.subset_selection(31, md.LDP(1)))))
    place = ("types", 0, "parts", 0, "profiles", 0)
    assert content["types"][0]["parts"][0]["profiles"][0]["middle"] != "0"
    assert "refuted" in states(changed(content, (*place, "high"), str(1 << 53))).values()
    with pytest.raises(verify.UnreadableError):
        states(changed(content, (*place, "count"), 31))
    assert math.isclose(content["achieved"][0][0], 1.0, rel_tol=1e-9)


def grouped(masses, notions):
    found = md.subset_selection(md.Prior.from_counts(masses), notions)
    return found, json.loads(json.dumps(to_json(found)))


def privacy(content):
    found = states(content)
    return [found[claim] for claim in found if claim.startswith("privacy")]


@pytest.mark.parametrize(("masses", "notions"), CASES, ids=str)
def test_the_privacy_of_selections_of_groups_is_proved(masses, notions):
    """Against levels read off the matrix: just above them it is proved, just below refuted."""
    found, content = grouped(masses, notions)
    assert states(content)["rows"] == "proved"
    assert privacy(content) == ["proved"] * len(notions)
    kernel = np.array([[found.probability(x, y) for y in found.outputs] for x in found.inputs])
    kernel = kernel[:, kernel.sum(axis=0) > 0]
    weights = np.array(masses, dtype=object)
    lifts = kernel * sum(masses) / (weights @ kernel)
    highest = math.log(max(lifts.ravel()))
    lowest = -math.log(min(lifts.ravel())) if min(lifts.ravel()) else math.inf
    ratio = math.log(max(kernel.max(axis=0) / kernel.min(axis=0))) if kernel.min() else math.inf
    levels = {"PML": highest, "PMC": lowest, "LIP": max(highest, lowest), "LDP": ratio}
    for name, level in levels.items():
        for share, state in ((1 + 1e-9, "proved"), (1 - 1e-9, "refuted")):
            asked = [{"name": name, "parameters": {"epsilon": level * share}}]
            content["achieved"] = [[level]]
            expected = state if level < math.inf else None
            if expected is not None:
                assert privacy(changed(content, ("notions",), asked)) == [expected], (name, share)


def test_chances_and_classes_of_groups_that_are_none_are_refuted():
    _, content = grouped([3, 1, 1, 1], [md.LDP(1)])
    weight = int(content["types"][0]["chances"][0])
    more = changed(content, ("types", 0, "chances", 0), str(weight + 1))
    assert states(more)["rows"] == "refuted"
    # Another mass makes another group, for which there are no chances.
    with pytest.raises(verify.UnreadableError):
        states(changed(content, ("prior", "weights", 1), "7"))
    with pytest.raises(verify.UnreadableError):
        states(changed(content, ("types", 0, "parts"), []))
    for place in range(len(content["types"])):
        part = content["types"][place]["parts"][1]
        if part is not None:
            forged = ("types", place, "parts", 1, "profiles", 0, "high")
            assert "refuted" in states(changed(content, forged, str(1 << 60))).values()
            with pytest.raises(verify.UnreadableError):
                states(changed(content, ("types", place, "parts", 1, "dimension"), 10**9))


def test_lifts_of_residues_that_do_not_all_occur_equally_often_are_left_open():
    """Of 400 and 100 symbols over primes some residues stand for fewer symbols than others."""
    _, content = grouped([2] * 400 + [1] * 100, [md.LDP(1)])
    assert privacy(content) == ["proved"]
    bases = [part for one in content["types"] for part in one["parts"] if part is not None]
    assert any(part["base"] ** part["dimension"] not in (400, 100) for part in bases)
    asked = [{"name": "PML", "parameters": {"epsilon": 1.0}}]
    assert privacy(changed(content, ("notions",), asked)) == ["not proved here"]
    asked = [{"name": "LDP", "parameters": {"epsilon": 0.9}}]
    assert privacy(changed(content, ("notions",), asked)) == ["not proved here"]
