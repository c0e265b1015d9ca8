"""Verdicts on what cannot be done agree with a simplex method in rationals, near the edge too.

What is said to be impossible has no kernel with e^ε rounded up; what is designed is a kernel, which
the plain check confirms; what is left undecided, or far from its bound, is within 1e-9 of the edge.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import dense_programs
import numpy as np
import plain_farkas
import pytest
from checks import for_each, pairwise_cases, slow_but
from exact_program import is_near_boundary, is_possible, may_be_possible
from plain_check import pairs_of
from plain_requirements import (
    WISHES,
    Case,
    PlainRow,
    Room,
    Wish,
    at_levels,
    faults,
    names,
    only,
    pushed,
    random_case,
    random_notion,
)
from random_designs import MAKERS

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.errors import CertificateError, GapWarning, InfeasibleError, SolverError

FAST, SLOW, PARTS = 150, 500, 5
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
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", GapWarning)
            found = case.design()
    except InfeasibleError as error:
        confirm(case, error)
        return "impossible"
    except (SolverError, CertificateError):
        assert is_near_boundary(case, EDGE), f"left undecided: {case}"
        return "undecided"
    assert not told or is_near_boundary(case, EDGE), f"{told[0].message}: {case}"
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
    assert error.proof.bound < 0
    if is_written_out(clash):
        assert plain_farkas.largest(clash, error.proof) < 0, f"no proof: {case}"


def is_written_out(case: Case) -> bool:
    """Whether dual variables belong to pairs of hypotheses and symbols as they are listed here."""
    pairs = [pairs_of(asked, list(case.masses)) for asked in case.asked]
    return (
        None not in pairs
        and all(case.masses)
        and not {"RobustPML", "EntryPML"} & {asked.name for asked in case.asked}
    )


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


@pytest.mark.parametrize("part", slow_but(lambda part: part == 1, range(10)))
def test_a_few(part):
    said = [judge(drawn(number)) for number in range(part, FAST, 10)]
    assert said.count("impossible") >= 2
    assert said.count("possible") + said.count("impossible") > len(said) / 2


# Known designs

TRIDIAGONAL = (abs(np.subtract.outer(range(5), range(5))) <= 1).astype(float)
FIVE = md.Prior.from_counts([1] * 5)
HAMMING = md.utility.Hamming()
NEIGHBOURS = md.require.zero(pattern=TRIDIAGONAL)


@for_each("notion", [md.LDP(1), md.LIP(1), md.LDP(30), md.LIP(0.01)])
def test_neighbours_alone_are_impossible_at_every_finite_level(notion):
    """An output that one symbol never causes is one that none may cause."""
    with pytest.raises(InfeasibleError, match="no finite level does") as caught:
        md.design(FIVE, HAMMING, notion, subject_to=NEIGHBOURS)
    assert caught.value.levels == {str(notion): math.inf}
    assert caught.value.clash == (str(notion), str(NEIGHBOURS))
    assert caught.value.proof.bound < 0


def test_neighbours_alone_need_a_level_of_log_two_under_pml():
    """Three symbols with an output each ask for log 5/3; those at the ends ask for more."""
    with pytest.raises(InfeasibleError) as caught:
        md.design(FIVE, HAMMING, md.PML(0.6), subject_to=NEIGHBOURS)
    (level,) = caught.value.levels.values()
    assert math.log(5 / 3) < math.log(2) <= level
    assert level == pytest.approx(math.log(2), abs=1e-7)


def test_zeros_alone_have_words_for_their_proof():
    """Without a level that could be at fault: a symbol that may go nowhere."""
    nowhere = md.require.zero(2, None)
    with pytest.raises(
        InfeasibleError, match="zeros, and those that follow from them, leave 2 no output"
    ) as caught:
        md.design(FIVE, HAMMING, md.PML(0.6), subject_to=[nowhere, md.require.monotone()])
    assert caught.value.clash == (str(nowhere),)
    assert caught.value.levels == {}


@for_each(
    "size, notion, kind",
    pairwise_cases([4.0, 1e12, 1e300], [md.PML(1), md.MIPrivacy(0.1)], ["rows", "cost", "goal"]),
)
def test_a_limit_that_rows_of_sum_one_do_not_reach(kind, notion, size, tmp_path):
    """Seen without a solver, as sizes like these are more than solvers bear."""
    prior, goal, asked = md.Prior([0.5, 0.3, 0.2]), md.utility.Hamming(), [md.require.monotone()]
    if kind == "rows":
        asked.append(md.require.rows(np.eye(3), ">=", size))
    elif kind == "cost":
        asked.append(md.require.cost(1 - np.eye(3), -size))
    else:
        goal = md.utility.WorstCase([goal], goals=[size])
    with pytest.raises(InfeasibleError) as told:
        md.design(prior, goal, notion, subject_to=asked)
    assert len(told.value.clash) == 1
    assert told.value.proof.bound < 0
    md.save(told.value.proof, tmp_path / "never.json")
    assert verify.main([str(tmp_path / "never.json")]) == 0


def test_a_limit_that_is_just_reached_is_no_clash():
    prior, hamming = md.Prior([0.5, 0.3, 0.2]), md.utility.Hamming()
    for asked in (
        md.require.rows(np.eye(3), ">=", 3),
        md.require.rows(-np.eye(3)[:, ::-1] * 1e300, ">=", 0),
        md.require.cost(1 - np.eye(3), 0),
    ):
        found = md.design(prior, hamming, md.PML(2), subject_to=asked)
        assert found.certificate.kept[0].verdict is md.Verdict.YES


@pytest.mark.parametrize("notion", [md.LDP(1), md.ALIP(1, 0.5)], ids=str)
def test_a_level_that_is_not_decided_is_said_to_be_so(notion):
    """Weights over 2⁵³ do not hold what the tolerance of equations allows at large levels; ALIP has
    two levels.
    """
    prior = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    asked = md.require.unbiased({"a": 0, "b": 1, "c": 2})
    with pytest.raises(InfeasibleError, match="was not decided") as told:
        md.design(prior, md.utility.Hamming(), notion, subject_to=asked)
    assert f"which level would do in place of {notion}" in str(told.value)
    assert told.value.levels == {}


# The edges of what can be asked: tiny and zero masses, few symbols, extreme levels and values

LEVELS = (1e-4, 30.0, 0.5, 3.0, 1e-2, 8.0)


def extreme(number: int) -> Case:
    """Atoms down to 1e-15, symbols without mass, one symbol, one output, many outputs."""
    rng = np.random.default_rng([77, number])
    name, wishes = NOTIONS[number % len(NOTIONS)], list(WISHES)
    while True:
        n = int(rng.integers(1, 4))
        if name == "EntryPML" and n < 2:
            n = 2
        counts = [int(v) * 10**12 for v in rng.integers(1, 30, n)]
        for x in np.flatnonzero(rng.random(n) < 0.4).tolist():
            counts[x] = int(rng.choice([0, 1, 7, 10**3, 10**6]))
        if not any(counts):
            continue
        masses = tuple(Fraction(c, sum(counts)) for c in counts)
        outputs = tuple(range(int(rng.choice([n, n, 1, n + 2, 6]))))
        place = Room(rng, masses, outputs)
        chosen = names(rng, wishes[number % len(wishes)], 1 + int(rng.random() < 0.3))
        if n == 1 and {"equal_error", "every_output"} & set(chosen):
            continue
        made = [WISHES[wish](place) for wish in chosen]
        kept = [edged(wish, rng) for wish in made if wish is not None]
        if len(kept) < len(made):
            continue
        notion, asked = random_notion(rng, name, masses)
        levels = tuple(float(rng.choice(LEVELS)) for _ in asked.levels)
        notion, asked = at_levels(notion, asked, levels)
        gains = np.round(rng.uniform(-1, 1, (n, len(outputs))), 3)
        return Case(masses, gains, (notion,), (asked,), tuple(kept), outputs)


def edged(wish: Wish, rng: np.random.Generator) -> Wish:
    """With a value of zero or one where there is one, sometimes."""
    requirement = wish.requirement
    if not isinstance(requirement, md.requirement.Entry) or rng.random() < 0.5:
        return wish
    value = float(rng.integers(2))
    rows = tuple(
        PlainRow(
            row.entries,
            None if row.low is None else Fraction(value),
            None if row.high is None else Fraction(value),
        )
        for row in wish.rows
    )
    low = None if requirement.low is None else value
    high = None if requirement.high is None else value
    made = md.requirement.Entry(requirement.x, requirement.y, low, high)
    return Wish(made, rows, f"{wish.name} at {value:g}")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_extremes(part):
    said = [judge(extreme(number)) for number in range(part, 72, 6)]
    assert said.count("possible") >= 2


def test_levels_take_a_handful_of_programs(monkeypatch):
    """The proof at the level that was asked tells how far it holds; halving took some thirty."""
    from mechdesign.certificate import infeasible

    prove, asked = infeasible.prove_infeasible, []

    def proved(problem, *rest):
        asked.append(problem)
        return prove(problem, *rest)

    monkeypatch.setattr(infeasible, "prove_infeasible", proved)
    for number in (1, 6, 7, 9, 10, 13):
        case = drawn(number)
        asked.clear()
        with pytest.raises(InfeasibleError) as error:
            case.design()
        assert all(0 < level < math.inf for level in error.value.levels.values())
        assert 0 < len(asked) <= 12
