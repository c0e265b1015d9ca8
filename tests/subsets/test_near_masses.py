"""Masses that all differ: the bound of a relaxation, and designs of more than seventy symbols."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.errors import GapWarning, InputError, NoMethodError
from mechdesign.subsets.relaxation import Relaxation, multipliers, near_groups

FREQUENCIES = md.utility.Estimation()


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=6), st.sampled_from([0.1, 1, 2.5]))
def test_no_kernel_has_a_smaller_risk_than_the_relaxation(counts, level):
    """All extreme columns, listed, have the optimum; any multipliers bound it."""
    prior = md.Prior.from_counts(counts)
    least = md.design(prior, FREQUENCIES, md.LDP(level)).risk
    excess, masses = math.expm1(level), prior.probabilities
    found = multipliers(masses, excess)
    best = Relaxation(masses, found.sizes, excess)
    assert 0 < best.bound(found.weights) <= least * (1 + 1e-9)
    rng = np.random.default_rng(len(counts))
    for weights in rng.dirichlet(np.ones(len(found.sizes)), 20):
        assert best.bound(weights) <= best.bound(found.weights) * (1 + 1e-5)
    # In one run, however its masses differ, it is one still.
    whole = Relaxation(masses, [len(masses)], excess)
    assert whole.bound(np.ones(1)) <= least * (1 + 1e-9)
    assert whole.bound(-np.ones(1)) == 0


def test_the_slope_of_the_bound_is_that_of_differences():
    masses = np.array([0.4, 0.2, 0.1, 0.1, 0.09, 0.06, 0.05])
    one = Relaxation(masses, [1, 2, 4], 1.7)
    one.barrier, at = 0.1, np.log([0.4, 0.2, 0.1])
    _, slope = one._merit(at)
    for i, step in enumerate(1e-6 * np.eye(3)):
        ends = [one._merit(at + sign * step)[0] for sign in (1, -1)]
        # The largest weight is one: what is common to all changes nothing.
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6) or i == 0
    assert sum(slope) == pytest.approx(0, abs=1e-9)


def test_near_values_are_in_one_run():
    values = np.array([9.0, 8.9, 5, 5, 5, 1.1, 1])
    assert near_groups(values, 3).tolist() == [2, 3, 2]
    assert near_groups(values, 99).tolist() == [1, 1, 3, 1, 1]
    assert near_groups(np.ones(8), 3).tolist() == [8]


def zipf(size):
    return md.Prior.from_counts({f"c{i}": 10**6 // (i + 1) for i in range(size)})


def test_a_design_of_many_symbols_has_the_face_of_every_design():
    prior = zipf(105)
    with pytest.warns(GapWarning, match="no kernel does better"):
        found = md.design(prior, FREQUENCIES, md.LDP(3))
    assert (found.prior, found.notions, found.utility.spec) == (prior, (md.LDP(3),), "estimation")
    assert found.value == -found.risk <= found.bound < 0
    assert found.gap == pytest.approx((found.bound - found.value) / found.risk, rel=1e-9)
    assert found.gap < 0.06
    # A search of a minute has a bound of 19.5436 and a kernel of 19.94.
    assert found.risk < 19.95
    assert found.certificate.checks[0].verdict is md.Verdict.YES
    assert repr(found).splitlines()[0].startswith("Design for LDP(3), Estimation(): private, gap")
    assert "YeBarg2018" in found.cite()
    assert found.mechanism is found
    assert found.reports_for(0.01) == math.ceil(found.risk / 1e-4)
    assert md.explain(prior, FREQUENCIES, md.LDP(3)).method.name == found.method
    # Of few symbols the best matrix has about the same risk.
    few = md.Prior.from_counts(dict(enumerate(range(9, 0, -1))))
    with pytest.warns(GapWarning):
        alike = md.design(few, FREQUENCIES, md.LDP(1), solver="subset-selection")
    best = md.design(few, FREQUENCIES, md.LDP(1))
    assert -alike.bound <= best.risk <= alike.risk * (1 + 1e-9) <= best.risk * 1.01


def test_what_subset_selection_does_not_take_is_said():
    """By the method that takes it, or in one line that says what to do."""
    some, many = zipf(71), zipf(250)
    for prior, method in ((zipf(70), "optimal-experiment"), (some, "subset-selection")):
        assert md.explain(prior, FREQUENCIES, md.LDP(1)).method.name == method
    assert md.explain(some, FREQUENCIES, md.PML(1)).method.name == "optimal-experiment"
    named = md.explain(some, FREQUENCIES, md.LDP(1), solver="optimal-experiment")
    assert named.method.name == "optimal-experiment"
    few = md.Prior.from_counts([5] * 10 + [1] * 240)
    assert md.explain(few, FREQUENCIES, md.PML(1)).method.name == "subset-selection"
    for notion in (md.PML(1), md.MaximalLeakage(1), [md.LDP(1), md.PML(2)]):
        with pytest.raises(InputError, match="put numbers into bins, group rare") as caught:
            md.design(many, FREQUENCIES, notion)
        assert "\n" not in str(caught.value)
    first = md.utility.Estimation({label: float(label == "c0") for label in many.labels})
    for named in ({"outputs": 3}, {"subject_to": md.require.monotone()}, {}):
        utility = FREQUENCIES if named else first
        with pytest.raises(InputError, match="leave out of="):
            md.design(many, utility, md.LDP(1), solver="subset-selection", **named)
    with pytest.raises(NoMethodError, match="every frequency under LDP"):
        md.explain(many, first, md.LDP(1))
    with pytest.raises(NoMethodError, match="makes no matrix"):
        md.sweep(some, FREQUENCIES, [md.LDP(1)], solver="subset-selection")
