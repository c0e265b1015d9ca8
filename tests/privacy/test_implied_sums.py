"""Limits that every kernel keeps are left out of designs, those just below are not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.exact import compare_with_exp
from mechdesign.program.problem import ask

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])
PARITY = [(lambda x: x % 2, None)]
GIVEN = [(lambda x: x, lambda x: x % 2)]
LIMITS = {
    "MaximalLeakage": (md.MaximalLeakage, 4),
    "MIPrivacy": (md.MIPrivacy, 4),
    "a feature": (lambda level: md.MIPufferfish.of_functions(level, range(4), PARITY), 2),
    "the rest": (lambda level: md.MIPufferfish.of_functions(level, range(4), GIVEN), 2),
}


def above(count):
    """The least level whose exponential is at least a number, and the float below it."""

    def is_enough(level):
        return compare_with_exp(Fraction(count), Fraction(level)) is md.Verdict.YES

    level = math.log(count)
    while not is_enough(level):
        level = math.nextafter(level, math.inf)
    while is_enough(math.nextafter(level, 0)):
        level = math.nextafter(level, 0)
    return level, math.nextafter(level, 0)


@for_each("name", LIMITS)
def test_a_limit_counts_from_where_a_kernel_breaks_it(name):
    make, most = LIMITS[name]
    enough, less = above(most)
    assert not ask([make(enough)], PRIOR).sums
    assert len(ask([make(less)], PRIOR).sums) == 1
    # All is told: the level of every kernel at most.
    told = make(enough).check(md.Mechanism(np.eye(4)), PRIOR)
    assert told.verdict is md.Verdict.YES


@for_each("name", LIMITS)
def test_a_design_is_that_without_it_and_still_checked(name):
    make, _ = LIMITS[name]
    gains = md.utility.Matrix(np.random.default_rng(5).random((4, 4)))
    alone = md.design(PRIOR, gains, md.LDP(1))
    both = md.design(PRIOR, gains, [md.LDP(1), make(746)])
    assert both.method == alone.method
    assert both.bound == alone.bound
    np.testing.assert_array_equal(both.mechanism.weights, alone.mechanism.weights)
    assert [check.notion for check in both.certificate.checks] == [md.LDP(1), make(746)]
    assert both.certificate.checks[1].verdict is md.Verdict.YES


def test_beside_a_limit_that_counts_all_stay_in_and_files_are_read_and_proved(tmp_path):
    notions = [md.MaximalLeakage(0.5), md.MaximalLeakage(2)]
    assert len(ask(notions, PRIOR).sums) == 2
    for asked in (notions, [md.LDP(1), md.MaximalLeakage(2)]):
        found = md.design(PRIOR, md.utility.Hamming(), asked)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        md.save(found, path)
        assert md.load(path).gap == found.gap
        assert main(["verify", str(path)]) == 0
