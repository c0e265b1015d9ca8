"""The program without a library of sparse matrices is the one with it, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.linear.highs import row_ends
from mechdesign.linear.plain import is_plain, plain_program
from mechdesign.program.problem import state_problem
from mechdesign.solve import compile_program

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])
LISTS = {
    "pml": md.PML(0.5),
    "lip": md.LIP(0.7),
    "ldp": md.LDP(1),
    "pml and ldp": [md.PML(0.5), md.LDP(1)],
    "metric": md.MetricPrivacy(1, "absolute"),
    "pmc and pairs": [md.PMC(1), md.DP(1, "adjacent")],
}


def stated(privacy, outputs=5, subject_to=()):
    gains = np.random.default_rng(3).random((len(PRIOR), outputs))
    return state_problem(PRIOR, md.utility.Matrix(gains), privacy, None, None, subject_to).program


@for_each("privacy", LISTS.values())
def test_the_plain_program_is_the_compiled_one(privacy):
    program = stated(privacy)
    assert is_plain(program)
    plain, compiled = plain_program(program), compile_program(program)
    matrix, lower, upper = row_ends(compiled)
    assert plain.matrix.shape == matrix.shape
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(plain.matrix, name), getattr(matrix, name)), name
    assert np.array_equal(plain.lower, lower)
    assert np.array_equal(plain.upper, upper)
    assert np.array_equal(plain.cost, compiled.cost)


@for_each("privacy", LISTS.values())
def test_both_ways_back_agree(privacy):
    program = stated(privacy)
    plain, compiled = plain_program(program), compile_program(program)
    rng, n = np.random.default_rng(5), len(PRIOR)
    point, duals = rng.random(len(plain.cost)), rng.normal(size=len(plain.lower))
    kernel, found = plain.invert(point, duals)
    expected, other = compiled.invert(point, duals[:n], duals[n:])
    assert np.array_equal(kernel, expected)
    assert np.array_equal(found.prices, other.prices)
    for mine, theirs in zip(found.multipliers, other.multipliers, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert np.array_equal(a, b)


def test_what_else_is_asked_is_not_plain():
    assert not is_plain(stated(md.PML(1), subject_to=md.require.outputs(2)))
    assert not is_plain(stated(md.MaximalLeakage(0.3)))


@pytest.mark.parametrize("positions", [None, [2, 0, 2], [1]], ids=["all", "repeated", "one"])
def test_hypotheses_multiply_as_their_matrix_does(positions):
    rng = np.random.default_rng(8)
    kernel = rng.dirichlet(np.ones(3), size=len(PRIOR))
    for hypotheses in (
        md.Hypotheses.points(PRIOR, positions),
        md.Hypotheses.prior(PRIOR),
        md.Hypotheses.mixtures([[0, 1, 1, 0], [1, 1, 1, 2]]),
    ):
        weights = rng.random((len(hypotheses), 3))
        matrix = hypotheses.matrix.toarray()
        np.testing.assert_allclose(hypotheses.of_kernel(kernel), matrix @ kernel, rtol=1e-14)
        np.testing.assert_allclose(hypotheses.combined(weights), matrix.T @ weights, rtol=1e-14)
        values, rows, columns = hypotheses.entries_of_matrix()
        again = np.zeros_like(matrix)
        again[rows, columns] = values
        assert np.array_equal(again, matrix)
