"""What ``verify.py`` proves and refutes of designs for estimates and of subset selections."""

from __future__ import annotations

import functools
import json
import math

import numpy as np
import pytest
from masses_in_groups import CASES
from verify_cases import changed

import mechdesign as md
from mechdesign.certificate import verify
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


@pytest.mark.slow
def test_twenty_symbols_take_seconds():
    prior = md.Prior.from_counts([600 // x for x in range(1, 21)])
    assert states(to_json(md.design(prior, Estimation(), md.LDP(1))))["value"] == "proved"


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
