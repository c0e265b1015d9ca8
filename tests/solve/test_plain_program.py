"""The program without a library of sparse matrices is the one with it, number by number."""

from __future__ import annotations

import numpy as np
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
