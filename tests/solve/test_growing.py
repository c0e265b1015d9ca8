"""Few outputs from the start: equal to the optimum of all outputs, whatever the first ones are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.certificate.bounds import upper_bound
from mechdesign.certificate.certificate import certify
from mechdesign.program import gains as stated
from mechdesign.program.problem import state_problem
from mechdesign.solve.interior_point import growing, structured


@pytest.fixture(autouse=True)
def forced(monkeypatch):
    """Small kernels are taken as large ones, here and where they are certified."""
    for module in (stated, structured):
        monkeypatch.setattr(module, "LARGE", 1)
    for name in ("problem", "program"):
        monkeypatch.setattr(f"mechdesign.program.{name}.LARGE", 1)
    for name in ("certificate", "repair"):
        monkeypatch.setattr(f"mechdesign.certificate.{name}.LARGE", 1)


def begins_with(monkeypatch, first, joining=4, **more):
    limits = replace(growing.GROWING, first=first, joining=joining, dense=2.0, **more)
    monkeypatch.setattr(structured, "GROWING", limits)


def square(side, seed=0, atom=None):
    n = side * side
    p = np.random.default_rng(seed).dirichlet(np.ones(n))
    if atom is not None:
        p[0] = atom
    return md.Prior(p / p.sum(), [(x // side, x % side) for x in range(n)])


def optimum(prior, gains, notion, level):
    """By HiGHS from the definition: every bound of every pair of symbols or of the lift."""
    p, (n, m) = prior.probabilities, gains.shape
    e, rows = np.exp(level), []
    for x in range(n):
        if notion == "LDP":
            rows += [np.eye(n)[x] - e * np.eye(n)[z] for z in range(n) if z != x]
        else:
            rows.append(np.eye(n)[x] - e * p)
        if notion == "LIP":
            rows.append(p / e - np.eye(n)[x])
    found = linprog(
        -(p[:, None] * gains).T.ravel(),
        A_ub=np.kron(np.eye(m), np.array(rows)),
        b_ub=np.zeros(m * len(rows)),
        A_eq=np.kron(np.ones((1, m)), np.eye(n)),
        b_eq=np.ones(n),
    )
    return -found.fun


def designed(prior, utility, notion):
    problem = state_problem(prior, utility, notion)
    assert isinstance(problem.utility, md.utility.Matrix) or problem.program.is_by_output
    candidate = structured.few_outputs(problem.program, structured.DEFAULTS)
    assert candidate is not None
    assert "outputs" in candidate.details
    return certify(problem, candidate)


@pytest.mark.parametrize("notion", ["LDP", "LIP", "PML"])
def test_an_optimum_from_few_outputs_is_that_of_all(monkeypatch, notion):
    rng = np.random.default_rng(5)
    twice = rng.random((9, 3))
    cases = [
        (square(4), md.utility.Distance("euclidean"), 1.0, 3),
        (square(3, atom=1e-12), md.utility.Distance("euclidean"), 1.0, 2),
        (square(3), md.utility.Distance("euclidean"), 1e-4, 2),
        (square(3), md.utility.Distance("euclidean"), 8.0, 2),
        (square(3), md.utility.Matrix(np.hstack([twice, twice, twice])), 1.0, 3),
        (square(3), md.utility.Matrix(rng.random((9, 1)), ["only"]), 1.0, 3),
        (square(3), md.utility.Matrix(np.ones((9, 4)), list("abcd")), 1.0, 2),
        (md.Prior(rng.dirichlet(np.ones(9)), range(9)), md.utility.Distance("absolute"), 2.0, 2),
    ]
    for prior, utility, level, first in cases:
        begins_with(monkeypatch, first)
        asked = getattr(md, notion)(level)
        mechanism, certificate = designed(prior, utility, asked)
        gains = utility.gains(prior, mechanism.outputs)
        best = optimum(prior, gains, notion, level)
        width = float(np.ptp(gains)) or 1.0
        assert abs(certificate.value - best) <= 1e-7 * width
        assert certificate.bound >= best - 1e-7 * width
        assert certificate.gap <= 1e-6


def test_gains_by_output_are_those_of_all_at_once():
    """Bounds, ranges and values are the same to the last bit, whether an array is made or not."""
    prior = square(4)
    problem = state_problem(prior, md.utility.Distance("euclidean"), md.LIP(1))
    lazy = problem.program
    whole = replace(lazy, stated=replace(lazy).gains)
    assert lazy.is_by_output
    assert not whole.is_by_output
    assert lazy.gain_range == whole.gain_range
    assert lazy.exact_constant_value == whole.exact_constant_value
    assert lazy.revealed_value == pytest.approx(whole.revealed_value, abs=1e-15)
    np.testing.assert_array_equal(lazy.columns([3, 1]), whole.gains[:, [3, 1]])
    prices = whole.objective.max(axis=1)
    duals = md.solve.Duals(prices)
    assert upper_bound(lazy, duals) == upper_bound(whole, duals)
    assert lazy.is_by_output
