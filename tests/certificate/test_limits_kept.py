"""Weights that satisfy requirements: floats decide what is far from a limit, integers the rest."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign import require
from mechdesign.certificate.feasible import moved, satisfies
from mechdesign.exact import to_weights
from mechdesign.program.problem import state_problem


def program_of(subject_to, n=60):
    prior = md.Prior.from_counts(np.random.default_rng(0).random(n) + 0.1)
    utility = md.utility.Matrix(np.zeros((n, n)).tolist(), list(prior.labels))
    return state_problem(prior, utility, md.PML(5), subject_to=subject_to).program


@for_each("side", [-1, 1])
@for_each("unit", [0, 1, 1e-30, 1e-9, 0.1])
def test_a_limit_is_decided_exactly_at_every_distance(side, unit):
    rng = np.random.default_rng(2)
    costs = rng.random((60, 60))
    kernel = rng.random((60, 60)) + 0.1
    weights = to_weights(kernel / kernel.sum(axis=1)[:, None])
    (limit,) = program_of(require.cost(costs, 0.5)).limits
    reached = limit.exactly(weights, 53)
    program = program_of(require.cost(costs, 0.5))
    end = reached + side * Fraction(unit) * (Fraction(1, 2**200) if unit == 1 else 1)
    object.__setattr__(program.limits[0], "high", end)
    assert satisfies(program, weights) == (side * unit >= 0)


@pytest.mark.parametrize("count", [1, 30])
def test_a_kernel_moves_onto_equations_by_little(count):
    rng = np.random.default_rng(3)
    matrices = rng.normal(size=(count, 60, 60))
    kernel = rng.random((60, 60)) + 0.1
    kernel /= kernel.sum(axis=1)[:, None]
    right = (matrices * kernel).sum(axis=(1, 2)) + 1e-6 * rng.normal(size=count)
    program = program_of(require.rows(matrices, "==", right.tolist()))
    found = moved(program, kernel)
    rows, low, high, _ = program.limit_rows
    values = rows @ found.ravel()
    assert ((values >= low) & (values <= high)).all()
    assert np.abs(found.sum(axis=1) - 1).max() <= 1e-14
    assert np.abs(found - kernel).max() <= 1e-6


def test_equations_that_repeat_each_other_are_no_obstacle():
    # The marginal is kept by the last output as soon as it is by all the others.
    rng = np.random.default_rng(4)
    program = program_of(require.invariant())
    kernel = 0.5 * np.eye(60) + 0.5 * program.prior.probabilities
    noisy = kernel * (1 + 1e-7 * rng.normal(size=kernel.shape))
    found = moved(program, noisy)
    rows, low, high, _ = program.limit_rows
    values = rows @ found.ravel()
    assert ((values >= low) & (values <= high)).all()
    assert np.abs(found - kernel).max() <= 1e-6
