"""Verdicts on what cannot be done agree with a simplex method in rationals, near the edge too.

What is said to be impossible has no kernel with e^ε rounded up; what is designed is a kernel, which
the plain check confirms; nothing is left undecided but within 1e-9 of the edge.
"""

from __future__ import annotations

import math
from fractions import Fraction

import dense_programs
import numpy as np
import plain_farkas
import pytest
from exact_program import is_near_boundary, is_possible, may_be_possible
from plain_check import pairs_of
from plain_requirements import WISHES, Case, at_levels, faults, names, only, pushed, random_case
from random_designs import MAKERS

from mechdesign.errors import CertificateError, InfeasibleError, SolverError

FAST, SLOW, PARTS = 150, 2000, 20
EDGE = Fraction(1, 10**9)
NARROW = 1e-6
#: Relations of logarithms are not rational.
NOTIONS = [name for name in MAKERS if name not in dense_programs.CONIC]
OFFSETS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 0.0)
#: Levels that stand for all finite ones: e^-700 and less is nothing.
FAR = 2000.0


def drawn(number: int) -> Case:
    """A case that is impossible, or asks for a value about as large as can be had."""
    rng = np.random.default_rng([42, number])
    name, wishes = NOTIONS[number % len(NOTIONS)], list(WISHES)
    most = 4 if number % 5 == 0 else 3
    while True:
        count = 1 + int(rng.random() < 0.4)
        chosen = names(rng, wishes[number % len(wishes)], count)
        case = random_case(rng, (name,), chosen, most=most, rare=0.15)
        best = dense_programs.optimum(case.masses, case.gains, case.asked, case.rows)
        if best is None:
            return case
        sign = 1 if number % 4 else -1
        found = pushed(case, best, sign * OFFSETS[(number // 3) % len(OFFSETS)])
        if found is not None:
            return found


def judge(case: Case) -> str:
    """What the package says, after everything in it was confirmed."""
    try:
        found = case.design()
    except InfeasibleError as error:
        confirm(case, error)
        return "impossible"
    except (SolverError, CertificateError):
        assert is_near_boundary(case, EDGE), f"left undecided: {case}"
        return "undecided"
    broken = faults(case, found.mechanism.weights.tolist(), found.mechanism.bits)
    assert not broken, f"{broken}: {case}"
    return "possible"


def confirm(case: Case, error: InfeasibleError) -> None:
    """No kernel; no part can be left out; levels are the smallest for all else; a proof."""
    clash = only(case, list(error.clash))
    assert len(clash.notions) + len(clash.wishes) == len(error.clash), str(case)
    assert not may_be_possible(clash), f"said to be impossible: {case}"
    for part in error.clash:
        rest = only(clash, [other for other in error.clash if other != part])
        if not is_possible(rest):
            assert is_near_boundary(rest, EDGE), f"{part} can be left out: {case}"
    for name, level in error.levels.items():
        check_level(case, name, level)
    if all(pairs_of(asked, list(case.masses)) is not None for asked in clash.asked):
        is_listed = not any("RobustPML" in str(notion) for notion in clash.notions)
        if is_listed:
            assert error.proof.bound < 0
            assert plain_farkas.largest(clash, error.proof) < 0, f"no proof: {case}"


def check_level(case: Case, name: str, level: float) -> None:
    """Impossible below the level by a share of 1e-6, possible above by as much."""
    if level == math.inf:
        assert not may_be_possible(at(case, name, FAR)), f"possible at some level: {case}"
        return
    assert not may_be_possible(at(case, name, level * (1 - NARROW))), f"{level} is large: {case}"
    assert is_possible(at(case, name, level * (1 + NARROW))), f"{level} is small: {case}"


def at(case: Case, name: str, level: float) -> Case:
    """The case with one of its notions at another level."""
    made = [
        at_levels(notion, asked, (level,)) if str(notion) == name else (notion, asked)
        for notion, asked in zip(case.notions, case.asked, strict=True)
    ]
    return Case(
        case.masses,
        case.gains,
        tuple(notion for notion, _ in made),
        tuple(asked for _, asked in made),
        case.wishes,
        case.outputs,
    )


@pytest.mark.parametrize("part", range(10))
def test_a_few(part):
    said = [judge(drawn(number)) for number in range(part, FAST, 10)]
    assert said.count("impossible") >= 2
    assert said.count("possible") >= 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many(part):
    said = [judge(drawn(number)) for number in range(FAST + part, FAST + SLOW, PARTS)]
    assert said.count("impossible") > len(said) / 5
    assert said.count("undecided") < len(said) / 3
