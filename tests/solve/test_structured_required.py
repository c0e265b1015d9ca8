"""The structured interior point under zeros and limits: against HiGHS on the compiled program."""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign import require
from mechdesign.certificate.certificate import certify
from mechdesign.errors import SolverError
from mechdesign.program.problem import state_problem
from mechdesign.solve.backends import HighsSimplex
from mechdesign.solve.interior_point import Structured

NOTIONS = {
    "upper lift": md.PML,
    "lift": lambda level: md.ALIP(2 * level, level),
    "same lift": md.LIP,
    "ratio": md.LDP,
}
REQUIREMENTS = (
    "zeros",
    "floors",
    "ceilings",
    "cost",
    "each cost",
    "shares",
    "invariance",
    "equal error",
    "rows",
    "fixed",
)


def asked(kind, rng, prior, kernel):
    """A requirement that binds or nearly does at the best kernel without it."""
    p, (n, m) = prior.probabilities, kernel.shape
    if kind == "zeros":
        return require.zero(farther_than=max(1, n // 2))
    if kind == "floors":
        floors = 0.3 * kernel.diagonal() + 0.05 * rng.random(n)
        return require.diagonal(at_least=dict(zip(prior.labels, floors.tolist(), strict=True)))
    if kind == "ceilings":
        return require.at_most(prior.labels[0], m - 1, 0.8 * float(kernel[0, m - 1]) + 0.01)
    if kind == "cost":
        costs = rng.random((n, m))
        spent = float((p[:, None] * costs * kernel).sum())
        return require.cost(costs, 0.9 * spent + 0.1 * float(costs[:, 0] @ p))
    if kind == "each cost":
        costs = rng.random((n, m))
        return require.cost(costs, 0.98 * float((costs * kernel).sum(axis=1).max()), each=True)
    if kind == "shares":
        return require.output(0, 0.5 * float(p @ kernel[:, 0]) + 0.02, 1.0)
    if kind == "invariance":
        return require.invariant()
    if kind == "equal error":
        half = n // 2
        return require.equal_error([prior.labels[:half], prior.labels[half:]], 0.01)
    if kind == "rows":
        matrix = rng.normal(size=(n, m))
        return require.rows(matrix, ">=", float((matrix * kernel).sum()) - 0.1)
    return require.diagonal(at_least={prior.labels[1]: 0.25}, at_most={prior.labels[1]: 0.25})


def random_problem(seed, notion, kinds, n=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12)) if n is None else n
    prior = md.Prior.from_counts(rng.dirichlet(np.ones(n)) + 1e-6)
    gains = rng.normal(size=(n, n))
    if rng.random() < 0.5:
        gains = -np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    utility = md.utility.Matrix(gains.tolist(), list(prior.labels))
    privacy = NOTIONS[notion](float(rng.uniform(0.3, 3)))
    kernel = md.design(prior, utility, privacy).mechanism.kernel
    return prior, utility, privacy, [asked(kind, rng, prior, kernel) for kind in kinds]


def both(problem):
    """Values by HiGHS and by the structured method, ``None`` where one finds no kernel."""
    found = []
    for method in (HighsSimplex(), Structured()):
        try:
            found.append(method.solve(problem.program))
        except SolverError:
            found.append(None)
    return found


def agree(problem):
    general, ours = both(problem)
    assert (general is None) == (ours is None)
    if ours is None:
        return False
    program = problem.program
    values = [program.value(candidate.kernel) for candidate in (general, ours)]
    assert values[1] == pytest.approx(values[0], abs=1e-8 * program.gain_range)
    assert certify(problem, ours)[1].gap <= 1e-7
    return True


@for_each("notion", slow_but(1, NOTIONS))
@for_each("kind", REQUIREMENTS)
def test_each_kind_agrees_with_the_general_program(notion, kind):
    if kind == "zeros" and notion != "upper lift":
        kind = "cost"  # a zero forces the whole outcome there
    solved = [
        agree(state_problem(prior, utility, privacy, subject_to=subject_to))
        for prior, utility, privacy, subject_to in (
            random_problem([seed, REQUIREMENTS.index(kind)], notion, [kind]) for seed in range(8)
        )
    ]
    assert sum(solved) >= 5


@for_each("seed", slow_but(4, range(40)))
def test_several_kinds_together_agree_with_the_general_program(seed):
    rng = np.random.default_rng(seed)
    notion = list(NOTIONS)[seed % len(NOTIONS)]
    kinds = rng.choice(REQUIREMENTS[notion != "upper lift" :], 3, replace=False).tolist()
    prior, utility, privacy, subject_to = random_problem([seed, 99], notion, kinds)
    agree(state_problem(prior, utility, privacy, subject_to=subject_to))


@pytest.mark.parametrize("masses", [1e-9, 1e-12])
def test_rare_symbols_under_limits_are_solved(masses):
    # Near a vertex a rare symbol's Hessian differs from the others' by the square of its mass.
    counts = np.r_[np.random.default_rng(0).random(12), masses, 10 * masses]
    prior = md.Prior.from_counts(counts)
    n = len(prior)
    utility = md.utility.Matrix(np.random.default_rng(1).random((n, n)).tolist(), range(n))
    costs = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / n
    subject_to = [
        require.zero(farther_than=8),
        require.diagonal(at_least=0.01),
        require.cost(costs, 0.2),
        require.output(0, 0.02, 0.2),
    ]
    for level in (0.5, 2.0, 5.0):
        problem = state_problem(prior, utility, md.PML(level), subject_to=subject_to)
        assert agree(problem)


def test_duals_of_limits_are_the_change_of_the_optimum_with_their_ends():
    prior = md.Prior([0.4, 0.25, 0.2, 0.15])
    utility = md.utility.Matrix([[4, 1, 0, 0], [1, 5, 1, 0], [0, 1, 6, 2], [0, 0, 1, 7]])
    costs = np.array([[1, 0, 0, 2], [0, 2, 0, 1], [0, 1, 3, 0], [2, 0, 0, 5]], dtype=float)

    def solved(most, least):
        limits = [require.cost(costs, most), require.at_least(0, 3, least)]
        program = state_problem(prior, utility, md.PML(0.4), subject_to=limits).program
        found = Structured().solve(program)
        return program.value(found.kernel), found.duals.limits

    (value, duals), step = solved(0.87, 0.22), 1e-4
    slopes = [
        (solved(0.87 + step, 0.22)[0] - solved(0.87 - step, 0.22)[0]) / (2 * step),
        (solved(0.87, 0.22 + step)[0] - solved(0.87, 0.22 - step)[0]) / (2 * step),
    ]
    assert slopes[0] > 0.01
    assert slopes[1] < -0.01
    assert duals == pytest.approx(slopes, rel=1e-3)
    assert np.isfinite(value)


@for_each("notion", NOTIONS)
def test_what_is_impossible_is_no_answer(notion):
    prior, utility, privacy, _ = random_problem([5, 9], notion, [], n=10)
    subject_to = [require.at_least(0, y, 0.15) for y in range(10)]
    program = state_problem(prior, utility, privacy, subject_to=subject_to).program
    with pytest.raises(SolverError, match="impossible"):
        Structured().solve(program)
