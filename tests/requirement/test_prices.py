"""Prices of requirements, against designs with right-hand sides that were moved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign import require

STEP = 1e-5
LABELS = ["a", "b", "c", "d"]
# What moves, by its right-hand side, and where it stands.
MOVED = {
    "floor": (lambda b: require.at_least("a", "a", b), 0.75),
    "ceiling": (lambda b: require.at_most("b", "b", b), 0.3),
    "diagonal": (lambda b: require.diagonal(at_least=b), 0.45),
    "cost": (lambda b: require.cost(1 - np.eye(4), b), 0.55),
    "share, lower": (lambda b: require.output("d", b, 1.0), 0.3),
    "share, upper": (lambda b: require.output("a", 0.0, b), 0.2),
    "rows": (lambda b: require.rows(np.eye(4), "<=", b), 1.6),
    "equation": (lambda b: require.rows(np.diag([1.0, 0, 0, 0]), "==", b), 0.52),
    "groups": (lambda b: require.equal_error([["a"], ["b", "c", "d"]], b), 0.05),
}
NOTIONS = {"pml": md.PML(0.9), "ldp": md.LDP(1.2), "sums": md.MaximalLeakage(0.6)}


def problem(seed):
    rng = np.random.default_rng(seed)
    return md.Prior(rng.dirichlet(4 * np.ones(4)), LABELS)


def slope_by_differences(prior, notion, make, at, step=STEP):
    up, down = (
        md.design(prior, md.utility.Hamming(), notion, subject_to=make(at + h)).value
        for h in (step, -step)
    )
    return (up - down) / (2 * step)


@for_each("notion", NOTIONS)
@for_each("name", MOVED)
def test_prices_add_up_to_the_derivative_in_the_right_hand_side(name, notion):
    make, at = MOVED[name]
    prior = problem(3)
    design = md.design(prior, md.utility.Hamming(), NOTIONS[notion], subject_to=make(at))
    slope = math.fsum(limit.slope for limit in md.binding(design).limits)
    if name == "groups":  # both ends move outwards
        slope = math.fsum(limit.price for limit in md.binding(design).limits)
    wanted = slope_by_differences(prior, NOTIONS[notion], make, at)
    assert slope == pytest.approx(wanted, rel=1e-4, abs=2e-6)


@for_each("level", [0.3, 0.9])
@for_each("make", [md.PML, md.LDP, md.PMC, md.MaximalLeakage])
def test_the_derivative_in_the_level_holds_under_requirements_too(make, level):
    prior, asked = problem(5), [require.output("d", 0.2, 1.0), require.at_most("a", "b", 0.1)]

    def value(epsilon):
        return md.design(prior, md.utility.Hamming(), make(epsilon), subject_to=asked).value

    design = md.design(prior, md.utility.Hamming(), make(level), subject_to=asked)
    slope = math.fsum(md.binding(design).slopes.values())
    wanted = (value(level + STEP) - value(level - STEP)) / (2 * STEP)
    assert slope == pytest.approx(wanted, rel=1e-4, abs=2e-6)


ZEROS = [
    (notion, x, y)
    for notion in (md.PML(0.6), md.LDP(1.5), md.MaximalLeakage(0.5), md.LDP(math.inf))
    for x, y in (("a", 1), ("b", 2), ("a", 3))
]


def test_the_price_of_a_zero_is_what_a_little_of_it_brings():
    """At most the price; where several dual solutions are optimal it may be less."""
    prior, utility = problem(7), md.utility.Matrix(np.random.default_rng(2).uniform(0, 1, (4, 4)))
    same = 0
    for notion, x, y in ZEROS:
        zero, little = (
            md.design(prior, utility, notion, list(range(4)), subject_to=asked)
            for asked in (require.zero(x, y), require.at_most(x, y, 1e-6))
        )
        wanted = (little.value - zero.value) / 1e-6
        limits = md.binding(zero).limits
        found = math.fsum(limit.price for limit in limits)
        assert all(limit.end == "zero" for limit in limits)
        assert found >= wanted - 1e-5
        same += found == pytest.approx(wanted, rel=1e-3, abs=1e-5)
    assert same >= len(ZEROS) - 1


def test_some_zeros_have_a_price():
    """A control of the test above, with the price of a zero that closes a whole outcome."""
    prior = problem(7)
    found = md.design(prior, md.utility.Hamming(), md.LDP(1.5), subject_to=require.zero("a", "b"))
    assert found.mechanism.output_distribution(prior)[1] == 0
    (limit,) = md.binding(found).limits
    assert limit.price > 0.01
    assert limit.about == "P(b | a) equal to 0"


def test_a_requirement_of_every_outcome_has_a_price():
    prior = problem(3)

    def make(b):
        # b stands in the bound of both, as in k_a ≤ b k_b.
        return require.every_output({"a": 1.0, "b": -b})

    design = md.design(prior, md.utility.Hamming(), md.LDP(2.0), subject_to=make(1.5))
    found = md.binding(design)
    kernel = dict(zip(design.mechanism.outputs, design.mechanism.kernel[1], strict=True))
    slope = math.fsum(
        limit.price * kernel[label]
        for limit in found.limits
        for label in LABELS
        if limit.about.endswith(f"(outcome {label})")
    )
    wanted = slope_by_differences(prior, md.LDP(2.0), make, 1.5)
    assert slope == pytest.approx(wanted, rel=1e-4)
    assert wanted > 0.01


def test_prices_are_shown():
    asked = [require.at_least("d", "d", 0.9), require.output("a", 0.1, 0.2)]
    design = md.design(problem(3), md.utility.Hamming(), md.PML(0.9), subject_to=asked)
    found = md.binding(design)
    assert "P(d | d) at least 0.9 (lower)" in repr(found)
    assert "limits of requirements carry one" in found._repr_html_()
    assert [row["end"] for row in found.limit_rows()].count("lower") == 1
