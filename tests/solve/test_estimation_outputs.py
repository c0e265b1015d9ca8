"""Estimation designs with few outputs: basic solutions, cyclic designs, limits, and labels."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from naive_estimates import exact_risk

import mechdesign as md
from mechdesign import clock
from mechdesign.errors import (
    GapWarning,
    RequirementError,
    SolverError,
    UtilityError,
)
from mechdesign.labels import name_outputs, name_subsets
from mechdesign.program.problem import state_problem
from mechdesign.solve.estimation import at_most
from mechdesign.solve.estimation.cyclic_designs import cyclic_design, most_outputs
from mechdesign.storage import from_json, to_json
from mechdesign.utility import Estimation

HARMONIC = md.Prior.from_counts([60, 30, 20, 15, 12])


def limited(prior, notion, most, *asked, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = md.design(prior, Estimation(*asked, **more), notion, outputs=most, time_limit=20)
    assert found.mechanism.shape[1] <= most
    assert -found.bound <= found.risk < math.inf
    return found


# Affine planes and spaces, residuals of biplanes and quadrics, halves from Hadamard matrices.
# As few as the information needs


@for_each("notion", [md.LDP(1), md.PML(1), md.LIP(0.7), md.PML(0.3)])
def test_there_are_no_more_outputs_than_entries_of_the_information(notion):
    for prior in (HARMONIC, md.Prior.uniform(6)):
        n = len(prior)
        found = md.design(prior, Estimation(), notion)
        assert found.certificate.is_optimal
        assert found.gap <= 1e-9
        assert found.mechanism.shape[1] <= n * (n + 1) // 2


# At most so many


def moved_risk(prior, level, most, rng):
    """A local optimum over all entries under a bound on the lift, by SciPy, from a random start."""
    from scipy.optimize import minimize

    p = prior.probabilities
    n = len(p)
    centred = np.eye(n) - np.outer(np.ones(n), p)
    kernel = rng.dirichlet(np.ones(most), size=n)
    kernel = p @ kernel + 0.3 * (kernel - p @ kernel)

    def risk(flat):
        k = flat.reshape(n, most)
        return np.trace(centred @ centred.T @ np.linalg.pinv(k / (p @ k) @ k.T))

    def room(flat):
        k = flat.reshape(n, most)
        return (math.exp(level) * (p @ k) - k).ravel()

    rows = {"type": "eq", "fun": lambda flat: flat.reshape(n, most).sum(axis=1) - 1}
    found = minimize(
        risk,
        kernel.ravel(),
        bounds=[(1e-9, 1)] * (n * most),
        constraints=[rows, {"type": "ineq", "fun": room}],
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-11},
    )
    kept = room(found.x).min() > -1e-8 and abs(rows["fun"](found.x)).max() < 1e-8
    return found.fun if kept and found.success else math.inf


@pytest.mark.parametrize(
    ("most", "known"), slow_but(1, [(4, 2.0995477), (5, 1.9397406), (6, 1.8503121)])
)
def test_few_outputs_are_as_good_as_any_kernel_that_is_known(most, known):
    # Columns of so few outputs are no extreme ones.
    prior = md.Prior.uniform(4)
    found = limited(prior, md.PML(1), most)
    assert found.risk <= known * (1 + 1e-6)
    rng = np.random.default_rng(most)
    others = [moved_risk(prior, 1, most, rng) for _ in range(3)]
    assert found.risk <= min(others) * (1 + 1e-6)
    assert math.isfinite(min(others))
    weights = found.mechanism.weights.tolist()
    quarter, questions = [Fraction(1, 4)] * 4, np.eye(4, dtype=int).tolist()
    assert float(exact_risk(weights, quarter, questions)) == pytest.approx(found.risk, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["any", [[5, 1, 1, 1, 1], [1, 1, 1, 1, 5]]])
def test_a_limit_for_the_worst_truth(truth):
    found = limited(HARMONIC, md.PML(1), 8, truth=truth)
    assert found.certificate.is_optimal or found.gap < 0.5


@pytest.mark.slow
def test_a_requirement_is_the_same_limit_and_is_kept():
    required = md.require.outputs(at_most=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = md.design(HARMONIC, Estimation(), md.PML(1), subject_to=required, time_limit=20)
    assert found.mechanism.shape[1] <= 6
    assert found.requirements == (required,)
    again = from_json(json.loads(json.dumps(to_json(found))))
    assert (again.risk, again.gap) == (found.risk, found.gap)
    assert again.method == "few-outputs-experiment"


def test_too_few_outputs_are_refused():
    with pytest.raises(RequirementError, match="at least 5"):
        md.design(HARMONIC, Estimation(), md.LDP(1), outputs=4)
    with pytest.raises(RequirementError):
        md.design(HARMONIC, Estimation(), md.LDP(1), outputs=0)
    with pytest.raises(UtilityError):
        md.design(HARMONIC, Estimation(), md.LDP(1), outputs=["x"])
    one = limited(HARMONIC, md.LDP(1), 2, [[1, 0, 0, 0, 0]])
    assert one.certificate.is_optimal
    with pytest.raises(SolverError, match="raise the level"):
        md.design(HARMONIC, Estimation(), md.LDP(0), outputs=5)


def test_two_outputs_answer_one_question_as_well_as_any_two_can():
    # Rows must be related exactly as the answers are: K[x, 1] = a + b f(x), here over all a.
    prior, answers = md.Prior([0.4, 0.3, 0.2, 0.1]), np.array([1.0, 0.0, 3.0, 2.0])
    found = limited(prior, md.PML(1), 2, [answers.tolist()])
    p, least = prior.probabilities, math.inf
    mean, odds = p @ answers, math.e
    for a in np.linspace(0, 1, 4001):
        # max k ≤ e · mean k for both columns, a + b f and 1 − a − b f.
        ends = [(1 - a) / 3, (odds - 1) * a / (3 - odds * mean) if odds * mean < 3 else math.inf]
        ends.append(((odds - 1) * (1 - a)) / (odds * mean))
        b = min(ends)
        q = a + b * mean
        if b > 0:
            least = min(least, q * (1 - q) / b**2)
    assert found.risk == pytest.approx(least, rel=1e-5)
    assert found.risk <= least * (1 + 1e-9)
    weights = found.mechanism.weights
    steps = (weights[:, 0] - weights[1, 0]).tolist()
    assert steps == [answer * steps[0] for answer in answers.astype(int).tolist()]


@pytest.mark.parametrize(("n", "most"), [(5, 4), (8, 3)])
def test_a_question_is_answered_where_mixtures_of_so_few_columns_do_not(n, most):
    """What these answer hangs on the last digits, and that ended the search."""
    prior = md.Prior.from_counts([1000 // (x + 1) for x in range(n)])
    found = limited(prior, md.PML(1), most, [list(range(n))])
    assert found.risk <= 2 * md.design(prior, Estimation([list(range(n))]), md.PML(1)).risk


# Labels


def test_outputs_are_named_by_the_symbols_that_they_report():
    names = list("abcdefg")
    high = np.ones((7, 4))
    high[[0, 2, 5], 0] = 2.0
    high[[1], 1] = 2.0
    high[:6, 2] = 2.0
    high[[0, 2], 3] = 2.0
    high[3, 3] = 1.5
    found = name_subsets(names, high - 1.2)
    assert found == ["one of a, c, f", "b", "one of a, b, c, d, e, f", "one of a, c, in part d"]


def test_symbols_that_read_like_names_of_outputs_are_quoted():
    sets = 2 * np.eye(4)[:, [0, 1, 2, 3]] + 2 * np.eye(4)[:, [1, 2, 3, 0]] - 1
    for labels, expected in (
        (["a", "b, c", "d", "e"], ['one of a, "b, c"', 'one of "b, c", d', "one of d, e"]),
        (["one of d, e", "b", 'the "c"', "d"], ['one of "one of d, e", b', 'one of b, the "c"']),
        ([1, "1", None, "missing"], ['one of 1, "1"', 'one of "1", missing']),
        (["a or b", "c", "a+b", "…"], ["one of a or b, c", "one of c, a+b", 'one of a+b, "…"']),
    ):
        found = name_subsets(labels, sets)
        assert found[: len(expected)] == expected
        assert len(set(found)) == 4
    many = np.array([[1.0] * 7 + [-1], [1.0] * 6 + [-1, -1]]).T
    found = name_subsets([*"abcdef", "a or b", "c, d"], many)
    assert found == ["not c, d", "one of a, b, c, d, e, f"]
    found = name_subsets([*"abcdef", "c, d", "a or b", "g"], np.append(many, [[1, 1]], axis=0))
    assert found == ['not "a or b"', 'not c, d or "a or b"']
    one = 4 * np.eye(4) - 1
    names = ["Smith, J", "nothing", "not d", "d #2"]
    quoted = ["Smith, J", '"nothing"', '"not d"', '"d #2"', "nothing"]
    for name in (name_subsets, name_outputs):
        assert name(names, np.pad(one, ((0, 0), (0, 1)))) == quoted
        # Where outputs are symbols alone, they are these, whatever they read like, of their types.
        assert name(names, one) == names
        assert name([True, 2, 2.5, None], one[:, :3]) == [True, 2, 2.5]
        assert name([True, 2, 2.5, None], one) == ["True", "2", "2.5", "missing"]
    pairs = np.array([[1, 1.0], [1, -1], [-1, 1], [-1, -1]])
    assert name_outputs(["a+b", "a", "b", "c"], pairs) == ['"a+b"+a', '"a+b"+b']


@pytest.mark.parametrize(("most", "worst"), [(30, 1.7), (32, 1.3)])
def test_rotations_of_sets_do_far_better_than_merged_outputs(most, worst):
    """For thirty symbols of 1/x masses and hardly more outputs; merged ones take four times the
    best risk of any number of outputs, randomised response three times.
    """
    prior = md.Prior.from_counts(1 / np.arange(1, 31))
    odds, n = math.e, 30
    best = min(
        (n - 1) ** 2 * (d * odds + n - d) ** 2 / (n * (odds - 1) ** 2 * d * (n - d))
        for d in range(1, n)
    )
    program = state_problem(prior, Estimation(), md.LDP(1)).program
    search = at_most._Search(program, np.full((30, 1), 1.0), most)
    found = [choice for choice in search._rotations() if choice is not None]
    assert all(len(choice.masses) <= most for choice in found)
    assert min(choice.risk for choice in found) <= worst * best


@for_each(("n", "d"), [(13, 3), (20, 5), (31, 1), (40, 9)])
def test_cyclic_designs_treat_all_pairs_alike(n, d):
    lifts = np.where(np.arange(n) < d, math.e, 1.0)
    lifts[-1] = 1.3
    rows, masses = cyclic_design(lifts)
    assert masses.min() > 0
    assert masses.sum() == pytest.approx(1, rel=1e-14)
    assert len(rows) <= most_outputs(n)
    assert (np.sort(rows, axis=1) == np.sort(lifts)).all()
    together = (rows.T * masses) @ rows
    apart = together[~np.eye(n, dtype=bool)]
    assert apart == pytest.approx(np.full(n * (n - 1), apart[0]), rel=1e-13)


def test_a_search_whose_time_is_up_ends_with_a_kernel(monkeypatch):
    """Every look at the clock takes five seconds of the ten that there are."""
    ticks = itertools.count(step=5.0)
    monkeypatch.setattr(clock, "now", lambda: next(ticks))
    prior = md.Prior.from_counts(1 / np.arange(1, 15))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = md.design(prior, Estimation(), md.LDP(1), outputs=16, time_limit=10)
    assert found.mechanism.shape[1] <= 16
    assert -found.bound <= found.risk < math.inf
    assert next(ticks) < 1000
