"""Random designs over all notions and utilities, judged by a checker that shares no code."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from plain_check import Asked, Claim, Opinion, at_most, best_private_value, check, exp_between
from random_designs import INFORMATIONS, MAKERS, Asking, Tally, claim_of, judge, random_asking

import mechdesign as md
from mechdesign.privacy import NOTIONS
from mechdesign.utility import UTILITIES

SEED = 13
#: Designs of the fast suite, and of all; every second one has a sub-convex utility.
FEW, MANY, CHUNK = 240, 1800, 260


def judged(numbers):
    tally = Tally()
    for number in numbers:
        judge(random_asking(np.random.default_rng([SEED, number]), number % 2 == 0), tally)
    return tally


def nothing_is_wrong(tally):
    assert not tally.faults, "\n".join(f"{what}\n    {call}" for what, call in tally.faults[:20])
    assert tally.undecided == 0
    # What is not said or not designed stays the exception.
    assert tally.unknown <= 0.1 * tally.designs
    assert tally.refused <= 0.1 * tally.designs
    assert tally.optimal >= 0.75 * tally.designs
    assert tally.compared >= 0.2 * tally.designs
    assert tally.challenged >= 0.03 * tally.designs


@pytest.mark.parametrize("start", slow_but(1, range(0, FEW, FEW // 4)))
def test_random_designs(start):
    nothing_is_wrong(judged(range(start, start + FEW // 4)))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(FEW, MANY, CHUNK))
def test_many_random_designs(start):
    nothing_is_wrong(judged(range(start, min(start + CHUNK, MANY))))


def test_every_notion_and_utility_is_drawn():
    assert {name.lower() for name in MAKERS} == {
        name for name, cls in NOTIONS.items() if cls.__module__.startswith("mechdesign.")
    }
    drawn = set()
    for number in range(FEW):
        asking = random_asking(np.random.default_rng([SEED, number]), number % 2 == 0)
        drawn.add(type(asking.utility).__name__)
        drawn |= {asked.name for asked in asking.asked}
    assert drawn >= set(MAKERS)
    ours = {c for c in UTILITIES.values() if c.__module__.startswith("mechdesign.")}
    # Worst cases are made of several utilities, see tests/utility/test_worst_case.py; estimates
    # have programs of their own to agree with, see tests/solve/test_estimation_designs.py.
    assert drawn >= {cls.__name__ for cls in ours} - {"WorstCase", "Estimation"}


@pytest.mark.slow
def test_masses_levels_and_sizes_are_hostile():
    masses, levels, sizes = [], [], set()
    for number in range(MANY):
        asking = random_asking(np.random.default_rng([SEED, number]), number % 2 == 0)
        masses += asking.masses
        levels += [level for asked in asking.asked for level in asked.levels]
        sizes.add(len(asking.masses))
    assert min(m for m in masses if m) < 1e-29
    assert 0.0 in masses
    assert sizes == set(range(1, 9))
    assert {0.0, 1e-14, 709.0, 710.0, 745.0, 2000.0, math.inf} <= set(levels)


# The checker can fail: each claim, tampered with, is found out


@functools.cache
def claims():
    """Designs of several kinds, with their claims."""
    return dict(_claims())


def _claims():
    prior = [0.4, 0.35, 0.25]
    gains = np.eye(3)
    asked = {
        "PML": Asked("PML", (0.4,)),
        "PMC": Asked("PMC", (0.4,)),
        "LIP": Asked("LIP", (0.4,)),
        "ALIP": Asked("ALIP", (0.5, 0.3)),
        "LDP": Asked("LDP", (0.8,)),
    }
    for name, plain in asked.items():
        notion = getattr(md, name)(*plain.levels)
        for utility, table, information in (
            (md.utility.Hamming(), gains, None),
            *((make(), None, key) for key, (make, _) in INFORMATIONS.items()),
        ):
            asking = Asking(prior, None, utility, notion, (plain,), table, information, None, "")
            found = md.design(asking.prior, utility, notion)
            yield f"{name}-{information or 'Hamming'}", claim_of(asking, found)


def faults(claim):
    return check(claim).faults


@for_each("claim", lambda: claims().values())
def test_true_claims_pass(claim):
    opinion = check(claim)
    assert opinion == Opinion(compared=True)


@for_each("claim", lambda: claims().values())
def test_a_kernel_one_unit_off_is_found(claim):
    rows = [list(row) for row in claim.weights]
    rows[0][0] += 1
    assert "row 0 does not sum to one" in faults(replace(claim, weights=tuple(map(tuple, rows))))
    rows[0][0] -= rows[0][0] + 1
    assert "row 0 has a negative weight" in faults(replace(claim, weights=tuple(map(tuple, rows))))


@for_each("claim", lambda: claims().values())
def test_a_smaller_level_than_asked_is_found(claim):
    """What is optimal spends its level, up to what the best kernel need not spend of two levels."""
    (asked,) = claim.asked
    smaller = Asked(asked.name, tuple(level * (1 - 1e-6) for level in asked.levels))
    assert any("not private" in fault for fault in faults(replace(claim, asked=(smaller,))))


@for_each("claim", lambda: claims().values())
def test_mass_moved_between_outputs_is_found(claim):
    """Telling the truth a little more often breaks the level or the value."""
    rows = [list(row) for row in claim.weights]
    for x, row in enumerate(rows):
        y = max(range(len(row)), key=row.__getitem__)
        z = max((i for i in range(len(row)) if i != y), key=row.__getitem__)
        moved = row[z] // 100
        rows[x][y], rows[x][z] = row[y] + moved, row[z] - moved
    assert faults(replace(claim, weights=tuple(map(tuple, rows))))


@for_each("claim", lambda: slow_but(8, claims().values()))
def test_a_forged_value_bound_or_gap_is_found(claim):
    larger = claim.value * (1 + 1e-6)
    assert any("is off" in f for f in faults(replace(claim, value=larger)))
    below = claim.value * (1 - 1e-6)
    assert any("below the value" in f for f in faults(replace(claim, bound=below)))
    assert any("below what a private kernel has" in f for f in faults(replace(claim, bound=below)))
    above = claim.value * 1.01
    assert any(f.startswith("gap") for f in faults(replace(claim, bound=above)))
    assert any("said to be optimal" in f for f in faults(replace(claim, bound=above)))
    assert any(f.startswith("gap") for f in faults(replace(claim, bound=above, gap=0.0)))
    assert "the gap is said to be unknown" in faults(replace(claim, gap=None))
    assert "the bound is said to be unknown" in faults(replace(claim, bound=None, gap=None))
    assert f"gap {claim.gap!r} without a bound" in faults(replace(claim, bound=math.inf))


@for_each("n", [2, 3, 4, 6])
@for_each("name", ["LDP", "PML", "DP"])
def test_a_consistent_claim_of_a_poor_kernel_is_found(n, name):
    """Private, with its true value, a bound just above it and the right gap; but not optimal."""
    masses = tuple(Fraction(n + x, sum(range(n, 2 * n))) for x in range(n))
    pairs = [(x, x + 1) for x in range(n - 1)]
    asked = Asked(name, (1.0,), {"pairs": pairs} if name == "DP" else {})
    gains = tuple(tuple(Fraction(int(x == y)) for y in range(n)) for x in range(n))
    weights = ((*([0] * (n - 1)), 1 << 53),) * n
    value = float(masses[-1])
    bound = math.nextafter(value, 1)
    gap = float(Fraction(bound) - masses[-1])
    claim = Claim(masses, (asked,), weights, 53, gains, None, value, bound, gap, optimal=True)
    assert any("private kernel" in fault for fault in faults(claim))
    honest = replace(claim, bound=1.0, gap=1 - value, optimal=False)
    assert faults(honest) == []


def test_an_overstated_gap_is_found_where_the_utility_is_known():
    claim = claims()["PML-mutual information"]
    assert any("is only" in f for f in faults(replace(claim, gap=claim.gap + 1e-9)))


def test_a_relative_gap_of_nothing_may_be_unknown_and_one_of_something_may_not():
    prior = (Fraction(1, 2), Fraction(1, 2))
    constant = Claim(
        prior,
        (Asked("LDP", (0.0,)),),
        ((2, 2), (2, 2)),
        2,
        None,
        "chi-square",
        0.0,
        1e-30,
        None,
        optimal=False,
    )
    assert check(constant).faults == []
    assert check(constant).unknown
    assert faults(replace(constant, gap=1e-9))
    apart = replace(constant, weights=((3, 1), (2, 2)), value=1 / 15, bound=1.0)
    assert "the gap is said to be unknown" in faults(apart)


def test_equal_gains_have_no_gap():
    gains = ((Fraction(1), Fraction(1)),) * 2
    prior = (Fraction(1, 2), Fraction(1, 2))
    claim = Claim(prior, (), ((2, 2), (2, 2)), 2, gains, None, 1.0, 1.0, 0.0, optimal=True)
    assert faults(claim) == []
    assert faults(replace(claim, bound=1.001))
    assert faults(replace(claim, gap=1e-9))


# Its parts, against numbers known otherwise


def test_exponentials_are_enclosed():
    import flint

    for level in (Fraction(1e-14), Fraction(1, 3), Fraction(1), Fraction(30), Fraction(2000)):
        low, high = exp_between(level, 60)
        with flint.ctx.workprec(4000):
            truth = flint.arb(flint.fmpq(level.numerator, level.denominator)).exp()
            assert flint.arb(flint.fmpq(low.numerator, low.denominator)) < truth
            assert flint.arb(flint.fmpq(high.numerator, high.denominator)) > truth
        assert (high - low) / low < Fraction(1, 10**57)


def test_comparisons_with_exponentials_are_decided_on_either_side():
    low, high = exp_between(Fraction(1), 240)
    assert at_most(low, Fraction(1), Fraction(1)) is True
    assert at_most(high, Fraction(1), Fraction(1)) is False
    assert at_most(Fraction(1), Fraction(0), Fraction(1)) is True
    assert at_most(Fraction(1) + Fraction(1, 10**300), Fraction(0), Fraction(1)) is False
    # Between the closest rationals that are tried nothing is decided.
    low, high = exp_between(Fraction(1), 1000)
    assert at_most((low + high) / 2, Fraction(1), Fraction(1)) is None


@for_each(
    ("asked", "expected"),
    slow_but(
        2,
        [
            (Asked("PML", (0.3,)), 0.1702978141),
            (Asked("LIP", (1.0,)), 0.3698877799),
            (Asked("LDP", (1.0,)), 0.1219734732),
            (Asked("ALIP", (0.5, 0.3)), 0.0633001471),
        ],
    ),
)
def test_its_optimum_is_that_of_the_reference_values(asked, expected):
    masses = tuple(Fraction(k, 10) for k in (1, 2, 3, 4))
    claim = Claim(masses, (asked,), (), 0, None, "mutual information", 0.0, 1.0, None, False)
    best = best_private_value(claim)
    assert best is not None
    assert abs(float(best) - expected) < 1e-10
