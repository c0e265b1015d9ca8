"""Iterative refinement: exact to far beyond the tolerance of the solver, on small programs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from plain_requirements import faults, names, random_case

import mechdesign as md
from mechdesign.errors import SolverError
from mechdesign.linear.compiled import compile_program
from mechdesign.linear.refined import solve_refined
from mechdesign.program.problem import state_problem

R = md.require
HAMMING = md.utility.Hamming()
RARE = md.Prior.from_counts([10**12, 3 * 10**11, 7], ["a", "b", "c"])


def program_of(prior, notion, asked, utility=HAMMING):
    return state_problem(prior, utility, notion, None, None, asked).program


def test_rows_hold_far_beyond_the_tolerance_of_the_solver():
    """A share of 5e-12 is below what HiGHS sees; the row of the symbol is met all the same."""
    asked = [R.invariant(), R.at_least("c", "c", 0.5)]
    compiled = compile_program(program_of(RARE, md.PML(40), asked))
    (point, *_), rounds = solve_refined(compiled)
    assert 1 <= rounds <= 6
    values = compiled.limits @ point
    assert (values >= compiled.low - 1e-16).all()
    assert (values <= compiled.high + 1e-16).all()
    assert abs(compiled.equal @ point - 1).max() < 1e-15
    assert (compiled.below @ point <= compiled.right + 1e-15).all()


@for_each("number", slow_but(4, range(24)))
def test_the_same_optimum_as_the_simplex_method(number):
    rng = np.random.default_rng([31, number])
    wish = ("at_most_entry", "monotone", "invariant", "each_cost", "within", "output_share")
    case = random_case(rng, ("PML",), names(rng, wish[number % 6], 1), low=1.0, rare=0.5)
    kept = replace(case)
    try:
        first = kept.design()
    except md.errors.InfeasibleError:
        return
    second = kept.design(solver="highs-refined")
    assert second.value == pytest.approx(first.value, abs=1e-9)
    assert second.gap < 1e-9
    assert not faults(case, second.mechanism.weights.tolist(), second.mechanism.bits)


def test_what_is_impossible_by_less_than_the_tolerance_is_not_solved():
    """Two limits on an entry that are 1e-11 apart: no point, though HiGHS finds one."""
    one = np.zeros((3, 3))
    one[0, 0] = 1.0
    off = Fraction(1, 2) + Fraction(1, 10**11)
    asked = [R.rows(one, ">=", float(off)), R.rows(one, "<=", 0.5)]
    prior = md.Prior([0.5, 0.3, 0.2])
    with pytest.raises(SolverError, match="refine"):
        solve_refined(compile_program(program_of(prior, md.PML(1), asked)))
    with pytest.raises(md.errors.InfeasibleError) as caught:
        md.design(prior, HAMMING, md.PML(1), subject_to=asked)
    assert caught.value.proof.bound < 0
    assert len(caught.value.clash) == 2
