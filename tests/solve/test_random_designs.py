"""Random designs over all notions and utilities, judged by a checker that shares no code."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from plain_check import Asked, Claim, Opinion, best_private_value, check
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


@for_each("name", ["PML", "LIP"])
@for_each("part", slow_but(1, range(4)))
def test_rows_of_rare_symbols_are_distributions(name, part):
    """Levels between .01 and 2 and an atom of 1e-8 to 1e-10, whose row a simplex solver returns
    far from a distribution.
    """
    for number in range(30):
        rng = np.random.default_rng([9, part, number])
        n, m = (int(v) for v in rng.integers(3, 13, 2))
        masses = [10.0 ** -rng.integers(8, 11), *rng.dirichlet(np.ones(n - 1)).tolist()]
        asked = Asked(name, (float(rng.uniform(0.01, 2)),))
        gains, notion = rng.integers(-9, 10, (n, m)) / 10, getattr(md, name)(*asked.levels)
        utility = md.utility.Matrix(gains)
        asking = Asking(masses, None, utility, notion, (asked,), gains, None, None, "")
        found = md.design(asking.prior, utility, notion)
        assert faults(claim_of(asking, found)) == []
        assert found.status == "optimal"
        assert found.certificate.repair_loss <= 1e-7


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


# Its parts, against numbers known otherwise


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
