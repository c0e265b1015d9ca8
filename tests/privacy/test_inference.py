"""The best guess after a report: by hand, by Shokri's linear program, and against its designer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, slow_but
from scipy.optimize import linprog
from strategies import random_mechanism

import mechdesign as md
from mechdesign.errors import KernelError, LevelError
from mechdesign.exact import Verdict

SIDE = 3
N = SIDE * SIDE
POINTS = np.array([(i, j) for i in range(SIDE) for j in range(SIDE)], dtype=float)
APART = np.hypot(*(POINTS[:, None] - POINTS[None]).transpose(2, 0, 1))
PRIOR = md.Prior.from_counts([12, 3, 5, 7, 16, 2, 9, 4, 11])


def attack(kernel, p, costs):
    """An adversary who tries every guess at every outcome."""
    total = 0.0
    for y in range(kernel.shape[1]):
        total += min(
            sum(p[x] * kernel[x, y] * costs[x][w] for x in range(len(p)))
            for w in range(len(costs[0]))
        )
    return total


def game(p, costs, losses, most):
    """The linear program of Shokri et al.: the largest error of the best attack at a loss."""
    n, m = losses.shape
    guesses = costs.shape[1]
    rows, right = [], []
    for y in range(m):
        for w in range(guesses):
            row = np.zeros((n + 1, m))
            row[:n, y] = -p * costs[:, w]
            row[n, y] = 1.0
            rows.append(row.ravel())
            right.append(0.0)
    loss = np.zeros((n + 1, m))
    loss[:n] = p[:, None] * losses
    sums = np.zeros((n, (n + 1) * m))
    for x in range(n):
        sums[x, x * m : (x + 1) * m] = 1.0
    value = np.zeros((n + 1, m))
    value[n] = -1.0
    answer = linprog(
        value.ravel(),
        [*rows, loss.ravel()],
        [*right, most],
        sums,
        np.ones(n),
        [(0, None)] * (n * m) + [(None, None)] * m,
    )
    assert answer.status == 0
    return -answer.fun


@for_each("seed", range(5))
def test_the_cost_of_the_best_guess_by_hand(seed):
    rng = np.random.default_rng(seed)
    n, m, w = (int(v) for v in rng.integers(2, 6, 3))
    prior = md.Prior.from_counts(rng.integers(1, 9, n))
    costs = rng.random((n, w))
    kernel = random_mechanism(rng, n, m)
    got = md.inference_cost(kernel, prior, costs)
    assert got == pytest.approx(attack(kernel.kernel, prior.probabilities, costs), abs=1e-12)
    assert md.inference_cost(kernel.kernel, prior, costs) == pytest.approx(got, abs=1e-12)
    # A report never makes the best guess worse.
    assert got <= (prior.probabilities[:, None] * costs).sum(axis=0).min() + 1e-12


@for_each(("squared", "most"), [(False, 0.2), (False, 0.5), (False, 0.8), (True, 0.1), (True, 0.2)])
def test_the_largest_error_at_a_loss_is_that_of_the_game(squared, most):
    """``smallest`` bounds the value of the game from both sides."""
    costs = APART**2 if squared else APART
    p = PRIOR.probabilities
    value = game(p, costs, APART, most)
    before = (p[:, None] * costs).sum(axis=0).min()
    found = md.smallest(
        lambda e: md.InferenceCost(e, costs), PRIOR, md.utility.Distance(APART), at_least=-most
    )
    reached = md.inference_cost(found.design, PRIOR, costs)
    assert reached == pytest.approx(value, rel=1e-5)
    assert reached <= value * (1 + 1e-9)
    assert -found.design.value <= most
    assert found.below is not None
    assert before * math.exp(-found.below) >= value * (1 - 1e-9)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_the_least_loss_at_an_error_is_that_of_the_game(share):
    """The other way round: a design under a floor on the error of the attack."""
    p = PRIOR.probabilities
    before = (p[:, None] * APART).sum(axis=0).min()
    costs = APART**2
    most = (p[:, None] * costs).sum(axis=0).min()
    notion = md.InferenceCost.at_least(share * most, costs, PRIOR)
    found = md.design(PRIOR, md.utility.Distance(APART), notion)
    assert found.gap <= 1e-6
    assert md.inference_cost(found, PRIOR, costs) >= share * most * (1 - 1e-12)
    assert game(p, costs, APART, -found.value) == pytest.approx(share * most, rel=1e-5)
    assert game(p, costs, APART, 0.98 * -found.value) < share * most
    assert -found.value < before


@for_each("seed", slow_but(4, range(8)))
def test_checks_are_exact_at_the_own_level(seed):
    rng = np.random.default_rng(seed)
    kernel = md.Mechanism(rng.dirichlet(np.full(int(rng.integers(4, 7)), 0.15), size=N))
    unasked = md.InferenceCost(math.inf, APART)
    (level,) = unasked.check(kernel, PRIOR).achieved
    after = attack(kernel.kernel, PRIOR.probabilities, APART)
    before = (PRIOR.probabilities[:, None] * APART).sum(axis=0).min()
    assert level == pytest.approx(math.log(before / after), abs=1e-9)
    assert level > 0.01
    for factor, verdict in ((1 + 1e-9, Verdict.YES), (1 - 1e-9, Verdict.NO)):
        assert md.InferenceCost(level * factor, APART).check(kernel, PRIOR).verdict is verdict


def test_a_kernel_that_says_the_place_is_refused():
    notion = md.InferenceCost(5.0, APART)
    assert notion.check(md.Mechanism(np.eye(N)), PRIOR).verdict is Verdict.NO
    assert notion.measure(md.Mechanism(np.eye(N)), PRIOR) == (math.inf,)
    silent = md.Mechanism(np.ones((N, 1)))
    assert md.InferenceCost(0.0, APART).check(silent, PRIOR).verdict is Verdict.YES


WRONG = {
    "negative": (lambda: md.InferenceCost(1, [[0, -1], [1, 0]]), LevelError, "non-negative"),
    "nan": (lambda: md.InferenceCost(1, [[0, math.nan], [1, 0]]), LevelError, "finite"),
    "text": (lambda: md.InferenceCost(1, "costs"), LevelError, "array of numbers"),
    "size": (
        lambda: md.InferenceCost(1, np.ones((3, 3))).sums(PRIOR),
        LevelError,
        "9 rows",
    ),
    "free guess": (
        lambda: md.InferenceCost(1, np.eye(N)[:, :1] * 0).sums(PRIOR),
        LevelError,
        "costs nothing",
    ),
    "more than before": (lambda: md.InferenceCost.at_least(9, APART, PRIOR), LevelError, "up to"),
    "none at all": (lambda: md.InferenceCost.at_least(0, APART, PRIOR), LevelError, "positive"),
    "other kernel": (
        lambda: md.inference_cost(md.Mechanism(np.eye(2)), PRIOR, APART),
        KernelError,
        "2 symbols",
    ),
}


@for_each("name", WRONG)
def test_what_cannot_be_used_is_refused(name):
    make, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        make()
