"""Entries that must be zero in the program: solved, bounded, and checked exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checks import for_each, slow_but
from scipy.optimize import linprog
from strategies import random_gains, random_masses

import mechdesign as md
from mechdesign.certificate.bounds import upper_bound
from mechdesign.certificate.certificate import certify, examine
from mechdesign.errors import CertificateError
from mechdesign.program.problem import state_problem
from mechdesign.solve.choice import find_method

GENERAL = ("highs-simplex", "highs-ipm", "clarabel", "SCIPY")


def restricted(rng, n, m):
    """A problem under LDP, where some symbols and outputs exclude each other, with a naive optimum.

    Under LDP an entry of zero takes its whole column; every symbol keeps some output.
    """
    prior = md.Prior.from_counts(random_masses(rng, n, "dirichlet"))
    gains = random_gains(rng, n, m)
    level = float(rng.uniform(0.1, 2))
    problem = state_problem(prior, md.utility.Matrix(gains), md.LDP(level))
    closed = rng.random(m) < 0.4
    closed[int(rng.integers(m))] = False
    forbidden = np.zeros((n, m), dtype=bool)
    for y in np.flatnonzero(closed).tolist():
        forbidden[:, y] = rng.random(n) < 0.5
        forbidden[int(rng.integers(n)), y] = True
    bounds = [(0, 0 if closed[y] else None) for _ in range(n) for y in range(m)]
    cost = -(prior.probabilities[:, None] * gains).ravel()
    sums = np.kron(np.eye(n), np.ones((1, m)))
    rows = []
    for y in range(m):
        for i in range(n):
            for j in range(n):
                row = np.zeros((n, m))
                row[i, y] += 1
                row[j, y] -= np.exp(level)
                rows.append(row.ravel())
    naive = linprog(cost, np.array(rows), np.zeros(len(rows)), sums, np.ones(n), bounds)
    assert naive.status == 0
    return with_forbidden(problem, forbidden), -naive.fun, closed


def with_forbidden(problem, forbidden):
    return replace(problem, program=replace(problem.program, forbidden=forbidden))


@for_each("seed", slow_but(4, range(12)))
@for_each("name", GENERAL)
def test_general_methods_agree_with_a_naive_program(name, seed):
    rng = np.random.default_rng([14, seed])
    problem, optimum, closed = restricted(rng, int(rng.integers(2, 6)), int(rng.integers(2, 6)))
    candidate = find_method(name).solve(problem.program)
    bound, _ = upper_bound(problem.program, candidate.duals)
    assert float(bound) == pytest.approx(optimum, abs=1e-5)
    mechanism, certificate = certify(problem, candidate)
    assert not mechanism.weights[:, closed].any()
    assert certificate.value == pytest.approx(optimum, abs=1e-5)
    assert certificate.value <= certificate.bound


def test_a_kernel_that_breaks_a_restriction_is_withheld():
    prior = md.Prior.uniform(2)
    problem = state_problem(prior, md.utility.Hamming(), md.LDP(1))
    candidate = find_method("binary").solve(problem.program)
    mechanism, good = certify(problem, candidate)
    asked = with_forbidden(problem, np.array([[False, True], [False, False]]))
    with pytest.raises(CertificateError, match="symbol number 0 is sent to output number 1"):
        examine(asked, mechanism, candidate.duals, good.repair, 0.0, "test")
