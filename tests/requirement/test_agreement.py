"""Designs under requirements reach the optimum of dense programs that share no code with them."""

from __future__ import annotations

import dense_programs
import numpy as np
import pytest
from checks import for_each, slow_but
from plain_requirements import WISHES, Case, faults, names, random_case
from random_designs import MAKERS

from mechdesign.errors import InfeasibleError

TOLERANCE = 1e-7
#: Of information in bits of a solver of cones.
FAST, SLOW = 60, 200
NOTIONS = list(MAKERS)


def drawn(number: int) -> Case:
    """Notions and requirements in turn, and more of either by chance."""
    rng = np.random.default_rng([1729, number])
    first = NOTIONS[number % len(NOTIONS)]
    more = [str(rng.choice(NOTIONS))] if rng.random() < 0.2 else []
    wish = list(WISHES)[number % len(WISHES)]
    count = 1 + int(rng.random() < 0.5) + int(rng.random() < 0.3)
    return random_case(rng, (first, *more), names(rng, wish, count))


def agree(case: Case) -> str:
    """The design and the dense program say the same; what they say."""
    best = dense_programs.optimum(case.masses, case.gains, case.asked, case.rows)
    try:
        found = case.design()
    except InfeasibleError:
        assert best is None, f"said to be impossible, value {best}: {case}"
        return "impossible"
    broken = faults(case, found.mechanism.weights.tolist(), found.mechanism.bits)
    assert not broken, f"{broken}: {case}"
    assert best is not None, f"a kernel where the dense program has none: {case}"
    assert found.value == pytest.approx(best, rel=0, abs=TOLERANCE), str(case)
    assert found.bound == pytest.approx(best, rel=0, abs=TOLERANCE), str(case)
    assert found.value <= found.bound
    assert len(found.certificate.kept) == len(found.requirements)
    return "possible"


@for_each("number", slow_but(8, range(FAST)))
def test_a_few(number):
    agree(drawn(number))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many(part):
    said = [agree(drawn(number)) for number in range(FAST + part, FAST + SLOW, 10)]
    assert said.count("possible") > len(said) / 3


def test_the_dense_programs_see_requirements():
    """A control: without its requirements a case has more, so that they are not left out above."""
    lost = 0
    for number in range(FAST):
        case = drawn(number)
        free = dense_programs.optimum(case.masses, case.gains, case.asked, [])
        held = dense_programs.optimum(case.masses, case.gains, case.asked, case.rows)
        assert free is not None
        assert held is None or held <= free + TOLERANCE
        lost += held is None or held < free - 1e-4
    assert lost > FAST / 2
