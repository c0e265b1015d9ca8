"""At most k outputs: against every choice of outputs, by proofs, and with forged proofs."""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused, slow_but

import mechdesign as md
from mechdesign import require
from mechdesign.certificate.bounds import covers, upper_bound
from mechdesign.errors import (
    GapWarning,
    InfeasibleError,
    RequirementError,
    StorageError,
)
from mechdesign.program.duals import Branch, Duals
from mechdesign.program.problem import state_problem
from mechdesign.storage import from_json, seal, to_json

NOTIONS = {
    "ldp": md.LDP(1.2),
    "pml": md.PML(0.5),
    "none": md.LDP(math.inf),
    "sums": md.MaximalLeakage(0.5),
    "pmc": md.PMC(1.0),
}
ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])


def instance(seed, n=5, m=5):
    rng = np.random.default_rng(seed)
    return md.Prior(rng.dirichlet(np.ones(n))), md.utility.Matrix(rng.uniform(0, 1, (n, m)))


def best_of_all(prior, utility, notion, m, k, asked=()):
    """The best of the designs for every choice of k outputs."""
    found = []
    for chosen in itertools.combinations(range(m), k):
        zeros = [require.zero(None, y) for y in range(m) if y not in chosen]
        try:
            design = md.design(prior, utility, notion, list(range(m)), subject_to=[*zeros, *asked])
        except InfeasibleError:
            continue
        found.append(design.value)
    return max(found)


# Optima


@for_each("notion", NOTIONS)
@for_each("k", [1, 2, 3])
@for_each("seed", slow_but(1, range(3)))
def test_the_best_of_every_choice_is_found_and_proved(seed, k, notion):
    prior, utility = instance(seed)
    found = md.design(prior, utility, NOTIONS[notion], range(5), subject_to=require.outputs(k))
    assert (found.mechanism.kernel.max(axis=0) > 0).sum() <= k
    assert found.value == pytest.approx(
        best_of_all(prior, utility, NOTIONS[notion], 5, k), abs=1e-9
    )
    assert found.gap < 1e-9
    assert found.certificate.kept[0].excess <= 0


def test_a_search_that_is_cut_short_says_what_it_left_open(monkeypatch):
    from mechdesign.certificate import few_outputs

    monkeypatch.setattr(few_outputs, "MOST_PROGRAMS", 1)
    prior, utility = instance(9)
    with pytest.warns(GapWarning, match="only proved up to"):
        found = md.design(prior, utility, md.LDP(3), range(5), subject_to=require.outputs(2))
    best = best_of_all(prior, utility, md.LDP(3), 5, 2)
    assert found.value <= best + 1e-12 <= found.bound
    assert found.gap > 1e-6


# What cannot be


def test_what_too_few_outputs_leave_impossible_is_proved(tmp_path):
    floors = [require.at_least(x, x, 0.4) for x in "abc"]
    with pytest.raises(InfeasibleError) as caught:
        md.design(ABC, md.utility.Hamming(), md.LDP(3), subject_to=[require.outputs(2), *floors])
    assert "at most 2 outputs occur" in caught.value.clash
    assert len(caught.value.clash) == 4  # all three floors are needed
    md.save(caught.value.proof, tmp_path / "p.json")
    assert md.load(tmp_path / "p.json").bound == caught.value.proof.bound < 0


def test_sub_convex_utilities_are_refused_unless_it_asks_nothing():
    goal = md.utility.MutualInformation()
    refused(
        lambda: md.design(ABC, goal, md.PML(0.5), subject_to=require.outputs(2)),
        "linear utility",
        error=RequirementError,
    )
    found = md.design(ABC, goal, md.PML(0.5), subject_to=require.outputs(3))
    assert found.value == md.design(ABC, goal, md.PML(0.5)).value


@for_each("count", [0, -1, 1.5, True, None, "2", math.nan])
def test_numbers_of_outputs_that_mean_nothing(count):
    refused(lambda: require.outputs(count), "positive whole number", error=RequirementError)


def test_a_choice_has_no_prices_and_no_cvxpy_form():
    found = md.design(ABC, md.utility.Hamming(), md.LDP(1), subject_to=require.outputs(1))
    refused(lambda: md.binding(found), "a choice among outputs")
    cp = pytest.importorskip("cvxpy")
    refused(
        lambda: md.constraints(cp.Variable((3, 3)), ABC, md.LDP(1), subject_to=require.outputs(1)),
        "a choice among outputs",
        error=RequirementError,
    )


# Proofs


def all_parts(m, k):
    return [frozenset(range(m)) - set(chosen) for chosen in itertools.combinations(range(m), k)]


@for_each(("m", "k"), [(4, 1), (5, 2), (6, 3), (7, 3), (10, 4)])
def test_a_cover_is_known_and_one_that_lacks_a_part_is_not(m, k):
    parts = all_parts(m, k)
    assert covers(parts, k)
    assert covers([frozenset()], k)
    for missing in (0, len(parts) // 2, len(parts) - 1):
        assert not covers(parts[:missing] + parts[missing + 1 :], k)


@for_each("seed", slow_but(4, range(40)))
def test_covers_agree_with_every_choice_looked_at(seed):
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    parts = [
        frozenset(np.flatnonzero(rng.random(m) < rng.uniform(0.1, 0.7)).tolist())
        for _ in range(int(rng.integers(1, 12)))
    ]
    wanted = all(
        any(not part & set(chosen) for part in parts)
        for size in range(min(k, m) + 1)
        for chosen in itertools.combinations(range(m), size)
    )
    assert covers(parts, k) == wanted


def stated():
    """A search of several parts, and what it found."""
    (prior, utility), asked = instance(9), require.outputs(2)
    problem = state_problem(prior, utility, md.LDP(3), range(5), None, asked)
    return problem, md.design(prior, utility, md.LDP(3), range(5), subject_to=asked)


def test_a_search_that_lacks_a_part_proves_no_more_than_its_relaxation():
    problem, found = stated()
    duals = found.certificate.duals
    assert len(duals.branches) > 2
    relaxed = upper_bound(problem.program, replace(duals, branches=None))[0]
    whole = upper_bound(problem.program, duals)[0]
    assert whole < relaxed
    for i in range(len(duals.branches)):
        fewer = duals.branches[:i] + duals.branches[i + 1 :]
        lacking = upper_bound(problem.program, replace(duals, branches=fewer))[0]
        assert lacking == relaxed


@for_each("seed", slow_but(4, range(10)))
def test_any_numbers_of_any_parts_bound_the_optimum(seed):
    problem, found = stated()
    best = Fraction(found.value)
    rng = np.random.default_rng(seed)
    branches = tuple(
        Branch(tuple(sorted(part)), Duals(prices=rng.normal(size=5)), bool(rng.integers(2)))
        for part in all_parts(5, 2)
    )
    bound = upper_bound(problem.program, Duals(branches=branches))[0]
    assert bound >= best - Fraction(1, 10**12)


@for_each(
    "forge",
    [
        lambda parts: parts[1:],
        lambda parts: [{**parts[0], "excluded": []}, *parts[1:]][:1],
        lambda parts: [{**part, "excluded": [0, 1, 2, 3, 4]} for part in parts],
        lambda parts: [{**parts[0], "excluded": [99]}, *parts[1:]],
        lambda parts: [{**parts[0], "excluded": [-1]}, *parts[1:]],
        lambda parts: [{**parts[0], "counted": 3}, *parts[1:]],
        lambda parts: parts * 3000,
        lambda parts: {},
    ],
)
def test_a_forged_search_is_refused(forge):
    _, found = stated()
    content = to_json(found)
    assert from_json(copy.deepcopy(content)).bound == found.bound
    changed = copy.deepcopy(content)
    duals = changed["certificate"]["duals"]
    duals["branches"] = forge(duals["branches"])
    del changed["digest"]
    with pytest.raises(StorageError):
        from_json(seal(changed))
