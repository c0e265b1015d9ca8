"""Limits on likelihoods hold all at once, whatever the outcomes are, and are no wider than said."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from checks import for_each
from scipy import stats

from mechdesign.evidence.limits import Error, Weights, likelihood_limits


def point(x=0):
    return Weights(np.array([x]), np.array([1.0]))


@for_each("known", [None, 4])
@for_each(("seen", "size"), [(0, 30), (2, 50), (7, 40), (50, 50), (900, 4000)])
def test_limits_of_symbols_invert_the_binomial_test(seen, size, known):
    """At each limit the tail equals the error that this very likelihood is allowed."""
    counts = np.array([[float(seen), float(size - seen)]])
    lower, upper = likelihood_limits(counts, np.array([size]), [point()], Error(0.01, known))

    def allowed(q):
        return 0.01 * (q if known is None else (q + 1 / known) / 2)

    low, high = lower[0, 0], upper[0, 0]
    assert 0 <= low <= seen / size <= high <= 1
    if low > 0:
        assert stats.binom.sf(seen - 1, size, low) <= allowed(low)
        assert stats.binom.sf(seen - 1, size, low * (1 + 1e-6)) > allowed(low * (1 + 1e-6))
    else:
        assert seen == 0
    if high < 1:
        assert stats.binom.cdf(seen, size, high) <= allowed(high)
        assert stats.binom.cdf(seen, size, high * (1 - 1e-6)) > allowed(high * (1 - 1e-6))
    else:
        assert seen == size


def test_one_report_of_an_outcome_shows_nothing_where_outcomes_are_not_stated():
    """Of infinitely many outcomes each may occur once with probability zero."""
    counts = np.eye(40)[:1].repeat(1, axis=0) * 0 + 1.0
    lower, _ = likelihood_limits(counts, np.array([40.0]), [point()], Error(0.05))
    assert (lower == 0).all()


@pytest.mark.slow
@for_each("sizes", [(3, 5), (6, 2), (4, 4)])
@for_each("masses", [(0.5, 0.5), (0.2, 0.8), (0.9, 0.1)])
def test_the_bound_on_mixtures_covers_every_exact_tail(sizes, masses):
    """Against the exact distribution of a weighted sum of two binomials, for all of a grid."""
    hypothesis = Weights(np.array([0, 1]), np.array(masses))
    grid = np.linspace(0.02, 0.98, 9)
    error = Error(0.1, 1)
    outcomes = list(product(range(sizes[0] + 1), range(sizes[1] + 1)))
    tables = [np.array([[a, sizes[0] - a], [b, sizes[1] - b]], float) for a, b in outcomes]
    ends = [likelihood_limits(t, t.sum(axis=1), [hypothesis], error) for t in tables]
    seen = 0
    for p, r in product(grid, grid):
        chances = np.array(
            [stats.binom.pmf(a, sizes[0], p) * stats.binom.pmf(b, sizes[1], r) for a, b in outcomes]
        )
        q = masses[0] * p + masses[1] * r
        above = np.array([low[0, 0] > q for low, _ in ends])
        below = np.array([up[0, 0] < q for _, up in ends])
        allowed = 0.1 * (q + 1) / 2
        assert chances[above].sum() <= allowed
        assert chances[below].sum() <= allowed
        seen += above.any() + below.any()
    assert seen > 10  # a control: limits that never exclude anything would pass


def _coverage(rng, rows, drawn, size, error, repetitions, known):
    """How often the limits on all likelihoods of all hypotheses hold together."""
    n = len(rows)
    hypotheses = [*(point(x) for x in range(n)), Weights(np.arange(n), np.full(n, 1 / n))]
    truth = np.concatenate([rows, rows.mean(axis=0, keepdims=True)])
    held = 0
    for _ in range(repetitions):
        counts = np.array([rng.multinomial(size, row) for row in drawn], float)
        lower, upper = likelihood_limits(
            counts, counts.sum(axis=1), hypotheses, Error(error / (2 * len(hypotheses)), known)
        )
        held += bool((lower <= truth).all() and (truth <= upper).all())
    return held / repetitions


@pytest.mark.slow
@for_each("known", [True, False])
@for_each("outcomes", [2, 7, 300])
def test_limits_hold_together_as_often_as_they_say(outcomes, known):
    rng = np.random.default_rng(outcomes)
    rows = rng.dirichlet(np.full(outcomes, 0.7), size=3)
    given = outcomes if known else None
    held = _coverage(rng, rows, rows, 400, 0.1, 500, given)
    assert held >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 500)
    # Controls: reports of another kernel are noticed, and an error above one leaves truths out.
    other = np.roll(rows, 1, axis=1)
    assert _coverage(rng, rows, other, 400, 0.1, 50, given) < 0.1
    assert _coverage(rng, rows, rows, 400, 3.0, 200, given) < 0.9
