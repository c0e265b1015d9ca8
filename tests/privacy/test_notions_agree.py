"""Designs and levels under every notion are those of plain programs that share no code."""

from __future__ import annotations

import dense_programs
import numpy as np
import pytest
from checks import for_each, slow_but
from plain_check import pairs_of
from plain_requirements import faults, random_case
from random_designs import MAKERS
from strategies import random_mechanism

import mechdesign as md
from mechdesign.privacy import NOTIONS


def test_every_notion_is_tried():
    ours = {c for c in NOTIONS.values() if c.__module__.startswith("mechdesign.")}
    assert {c.__name__ for c in ours} == set(MAKERS)


@for_each("number", slow_but(3, range(20)))
@for_each("name", MAKERS)
def test_designs_and_levels_agree_with_plain_programs(name, number):
    rng = np.random.default_rng([list(MAKERS).index(name), number])
    case = random_case(rng, (name,), (), high=2.0)
    (notion,), (asked,) = case.notions, case.asked
    within = 1e-6 if name in dense_programs.CONIC else 1e-7
    best = dense_programs.optimum(case.masses, case.gains, case.asked, [])
    found = case.design()
    assert not faults(case, found.mechanism.weights.tolist(), found.mechanism.bits)
    assert found.value == pytest.approx(best, abs=within)
    assert found.bound == pytest.approx(best, abs=within)
    # The level of any kernel is the largest log ratio over the pairs written out.
    mechanism = random_mechanism(rng, len(case.masses), 3)
    pairs = pairs_of(asked, list(case.masses))
    if pairs is not None and len(notion.levels) == 1:
        expected = 0.0
        for mu, nu, level in pairs:
            above, below = (np.array(side, dtype=float) @ mechanism.kernel for side in (mu, nu))
            ratio = float(np.log(above / below).max())
            expected = max(expected, ratio * float(notion.levels[0]) / float(level))
        (measured,), (achieved,) = (
            notion.measure(mechanism, case.prior),
            notion.check(mechanism, case.prior).achieved,
        )
        assert measured == pytest.approx(expected, abs=1e-9)
        assert achieved == pytest.approx(expected, abs=1e-9)


@for_each("name", [name for name in MAKERS if name not in dense_programs.CONIC])
def test_the_plain_programs_see_the_notions(name):
    """A control: with nothing asked the value is another, so that pairs are not left out above."""
    lost = 0
    for number in range(6):
        case = random_case(np.random.default_rng([7, number]), (name,), (), high=1.0)
        free = float(
            md.utility.Matrix(case.gains).gains(case.prior, case.outputs).max(axis=1)
            @ case.prior.probabilities
        )
        held = dense_programs.optimum(case.masses, case.gains, case.asked, [])
        lost += held < free - 1e-4
    assert lost >= 2
