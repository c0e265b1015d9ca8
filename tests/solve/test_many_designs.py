"""Every design passes an exact check that is written here, in integers, without the package.

The check reads the kernel's integer weights, the prior as the exact rational values of the floats
it was given, and e^ε as a rational lower bound from 60-digit decimals.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from checks import for_each, slow_but
from strategies import random_gains, random_level, random_masses

import mechdesign as md

DIGITS = Context(prec=60, Emin=-999999, Emax=999999)
MARGIN = 1 - Fraction(1, 10**55)
LARGEST_GAP = 1e-6
LARGEST_LOSS = 1e-7
EACH = 40

KINDS = ("dirichlet", "zipf", "uniform", "atom 1e-9", "atom 1e-12")
PRIVACY = {
    "pml": ("PML",),
    "pmc": ("PMC",),
    "lip": ("LIP",),
    "alip": ("ALIP",),
    "ldp": ("LDP",),
    "two": None,
    "three": None,
}
NAMES = ("PML", "PMC", "LIP", "ALIP", "LDP")


def exp_below(level):
    """A rational number below e^level by a relative 1e-55 or so."""
    return Fraction(DIGITS.exp(Decimal(level))) * MARGIN


def integer_masses(values):
    """Integers in the exact proportions of the floats."""
    exact = [Fraction(float(v)) for v in values]
    scale = lcm(*(v.denominator for v in exact))
    return [int(v * scale) for v in exact]


def violations(weights, bits, masses, notions):
    """What a kernel does wrong, as a list of texts; empty when it is a private kernel."""
    rows = [[int(w) for w in row] for row in weights]
    found = []
    if any(w < 0 for row in rows for w in row):
        found.append("negative weight")
    found += [f"row {x} does not sum to one" for x, row in enumerate(rows) if sum(row) != 1 << bits]
    total = sum(masses)
    for y in range(len(rows[0])):
        column = [row[y] for row in rows]
        top, low = max(column), min(column)
        mean = sum(p * k for p, k in zip(masses, column, strict=True))  # over total
        for name, levels in notions:
            upper, lower = exp_below(levels[-1]), exp_below(levels[0])
            if name in ("PML", "LIP", "ALIP") and not at_most(top * total, upper, mean):
                found.append(f"{name}{levels}: lift too large at output {y}")
            if name in ("PMC", "LIP", "ALIP") and not at_most(mean, lower, low * total):
                found.append(f"{name}{levels}: lift too small at output {y}")
            if name == "LDP" and not at_most(top, upper, low):
                found.append(f"{name}{levels}: ratio too large at output {y}")
    return found


def at_most(left, factor, right):
    """left ≤ factor · right, for integers and a rational factor."""
    return left * factor.denominator <= factor.numerator * right


def random_notions(rng, names):
    if names is None:
        names = rng.choice(NAMES, 2).tolist()
    return [
        (name, tuple(random_level(rng, 1e-4, 30) for _ in range(2 if name == "ALIP" else 1)))
        for name in names
    ]


def assert_certified(found, masses, notions):
    assert violations(found.mechanism.weights, found.mechanism.bits, masses, notions) == []
    assert found.certificate.repair_loss <= LARGEST_LOSS
    assert found.gap <= LARGEST_GAP


@pytest.mark.parametrize("part", slow_but(1, range(2)))
@for_each("kind", slow_but(2, KINDS))
@for_each("name", PRIVACY)
def test_random_designs(name, kind, part):
    for number in range(EACH):
        seed = [list(PRIVACY).index(name), KINDS.index(kind), part, number]
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 11))
        m = n if rng.random() < 0.4 else int(rng.integers(1, 13))
        p = random_masses(rng, n, kind)
        gains = random_gains(rng, n, m)
        if name == "three":
            notions = random_notions(rng, rng.choice(NAMES, 3).tolist())
        else:
            notions = random_notions(rng, PRIVACY[name])
        asked = [getattr(md, notion)(*levels) for notion, levels in notions]
        found = md.design(md.Prior.from_counts(p), md.utility.Matrix(gains), asked)
        assert_certified(found, integer_masses(p), notions)


# Instances on which the simplex solver returns the row of a rare symbol far from a distribution.
RARE_SYMBOLS = [
    (
        0.268,
        [1e-9, 0.226, 0.053, 0.018, 0.313, 0.331, 0.021],
        [
            [0.9, -0.2, -0.9, 0.9],
            [-0.8, 0.3, -0.1, 0.7],
            [-0.6, 0.7, 0.6, 0.5],
            [-0.7, 0.2, 0.4, 0.8],
            [0.8, 0.1, -0.1, -0.4],
            [0.8, -0.5, 0.0, -0.1],
            [-0.8, 0.1, -0.7, -0.9],
        ],
    ),
    (
        0.066,
        [1e-9, 0.102, 0.362, 0.206, 0.007, 0.172, 0.142, 0.004],
        [
            [-0.7, -0.7, 0.0],
            [-0.4, -0.9, 0.9],
            [0.9, -0.1, -0.6],
            [-0.5, 0.5, 0.3],
            [0.3, 0.6, 0.6],
            [-0.5, -0.1, -0.3],
            [-0.4, -0.1, 0.6],
            [0.6, 0.1, -0.4],
        ],
    ),
    (
        0.011,
        [1e-9, 0.022, 0.016, 0.099, 0.288, 0.113, 0.045, 0.005, 0.265],
        [
            [0.2, 0.0, -0.7],
            [-0.7, 0.3, 0.0],
            [0.5, -0.5, 0.7],
            [0.8, -0.2, -0.5],
            [0.1, 0.0, -0.8],
            [0.4, 0.2, 0.5],
            [0.2, 0.8, 0.5],
            [0.4, -0.9, 0.8],
            [-0.3, 0.2, 0.7],
        ],
    ),
]


@pytest.mark.parametrize(("epsilon", "p", "gains"), RARE_SYMBOLS, ids=["a", "b", "c"])
def test_rare_symbols(epsilon, p, gains):
    found = md.design(md.Prior.from_counts(p), md.utility.Matrix(gains), md.PML(epsilon))
    assert_certified(found, integer_masses(p), [("PML", (epsilon,))])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@for_each("atom", ["atom 1e-8", "atom 1e-9", "atom 1e-10"])
@for_each("name", ["PML", "LIP"])
def test_more_rare_symbols(name, atom, part):
    """Levels between .01 and 2, where the row of a rare symbol is hard to get right."""
    for number in range(100):
        rng = np.random.default_rng([9, int(atom[-1]), part, number])
        n, m = int(rng.integers(3, 13)), int(rng.integers(2, 13))
        p, epsilon = random_masses(rng, n, atom), random_level(rng, 0.01, 2)
        gains = rng.integers(-9, 10, (n, m)) / 10
        notion = getattr(md, name)(epsilon)
        found = md.design(md.Prior.from_counts(p), md.utility.Matrix(gains), notion)
        assert_certified(found, integer_masses(p), [(name, (epsilon,))])


@for_each("epsilon", [0.1, 1.0, 5.0])
@for_each("kind", ["dirichlet", "uniform"])
def test_ldp_hamming_on_fifty_symbols(kind, epsilon):
    p = random_masses(np.random.default_rng(50), 50, kind)
    found = md.design(md.Prior.from_counts(p), md.utility.Hamming(), md.LDP(epsilon))
    assert_certified(found, integer_masses(p), [("LDP", (epsilon,))])
    assert found.status == "optimal"


@pytest.mark.parametrize("solver", ["highs-ipm", "highs-simplex"])
def test_ldp_hamming_on_fifty_symbols_by_the_general_program(solver):
    p = random_masses(np.random.default_rng(50), 50, "dirichlet")
    found = md.design(md.Prior.from_counts(p), md.utility.Hamming(), md.LDP(1.0), solver=solver)
    assert_certified(found, integer_masses(p), [("LDP", (1.0,))])


# The check itself can fail


def test_the_check_sees_a_single_unit():
    p = [0.5, 0.3, 0.2]
    prior, masses = md.Prior.from_counts(p), integer_masses(p)
    utility = md.utility.Matrix(np.diag(1 / np.array(p)))
    for name in NAMES:
        levels = (0.5, 0.5) if name == "ALIP" else (0.5,)
        found = md.design(prior, utility, getattr(md, name)(*levels))
        weights = found.mechanism.weights.astype(object)
        assert violations(weights, 53, masses, [(name, levels)]) == []
        spoiled = weights.copy()
        spoiled[0, 0] += 1
        assert "row 0" in violations(spoiled, 53, masses, [(name, levels)])[0]
        # A level that is a little smaller than asked is not kept.
        smaller = tuple(0.5 - 1e-9 for _ in levels)
        assert violations(weights, 53, masses, [(name, smaller)])


def test_the_check_sees_each_kind_of_violation():
    masses = [1, 1]
    weights = [[3, 1], [1, 3]]  # over 4: lifts 3/2 and 1/2, ratio 3
    for name, border in (("PML", 3 / 2), ("PMC", 2), ("LIP", 2), ("LDP", 3)):
        level = float(np.log(border))
        assert violations(weights, 2, masses, [(name, (level + 1e-12,))]) == []
        assert len(violations(weights, 2, masses, [(name, (level - 1e-12,))])) == 2
    assert violations([[-1, 5], [1, 3]], 2, masses, [])[0] == "negative weight"


def test_the_lower_bound_on_exp_is_below_and_near():
    import flint

    for level in (1e-4, 0.5, 1.0, 30.0):
        below = exp_below(level)
        ball = flint.arb(flint.fmpq(*Fraction(level).as_integer_ratio()))
        with flint.ctx.workprec(400):
            truth = ball.exp()
            assert flint.arb(flint.fmpq(below.numerator, below.denominator)) < truth
            nearer = below * (1 + Fraction(1, 10**50))
            assert flint.arb(flint.fmpq(nearer.numerator, nearer.denominator)) > truth
