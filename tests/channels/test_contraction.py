"""Coefficients of contraction against random pairs, naive programs and the values of the field."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.errors import KernelError, LevelError


def stick(mu, nu, level):
    return np.maximum(mu - math.exp(level) * nu, 0).sum()


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_no_two_distributions_keep_more(level):
    rng = np.random.default_rng(3)
    for _ in range(10):
        kernel = rng.dirichlet(np.ones(4), 3)
        found = md.contraction(kernel, level=level)
        assert found.gap <= 1e-15
        kept = [
            stick(mu @ kernel, nu @ kernel, level) - found.at_most * stick(mu, nu, level)
            for mu, nu in rng.dirichlet(np.full(3, 0.4), (200, 2))
        ]
        assert max(kept) <= 1e-12
        x, other = found.pair
        reached = stick(kernel[x], kernel[other], level)
        assert found.at_least == pytest.approx(reached, abs=1e-12)


def naive(prior, sides, level):
    """The largest coefficient of kernels with two outcomes whose columns satisfy linear sides."""
    n = len(prior)
    best = 0.0
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            cost = np.zeros(n)
            cost[i], cost[j] = -1, math.exp(level)
            # k satisfies the sides, and so does 1 − k.
            rows = np.vstack([sides, -sides])
            right = np.concatenate([np.zeros(len(sides)), -sides.sum(axis=1)])
            found = linprog(cost, rows, right, bounds=(0, 1), method="highs")
            best = max(best, -found.fun)
    return best


def sides_of(notion, prior):
    """Rows A k ≤ 0 of a column."""
    n, factor = len(prior), math.exp(notion.levels[0])
    if isinstance(notion, md.LDP):
        return np.array(
            [np.eye(n)[x] - factor * np.eye(n)[z] for x in range(n) for z in range(n) if x != z]
        )
    above = np.eye(n) - factor * prior
    below = prior - factor * np.eye(n)
    if isinstance(notion, md.PML):
        return above
    return below if isinstance(notion, md.PMC) else np.vstack([above, below])


@pytest.mark.parametrize("level", [0.0, 0.4])
@pytest.mark.parametrize(
    "notion", [md.LDP(1), md.PML(0.5), md.PMC(0.7), md.LIP(0.3), md.PML(1e-4), md.LDP(12)], ids=str
)
def test_the_worst_kernel_of_a_notion(notion, level):
    masses = np.array([0.5, 0.3, 0.2])
    found = md.contraction(notion, md.Prior(masses), level=level)
    assert found.at_least <= found.at_most
    assert found.gap <= 1e-9
    assert found.at_most == pytest.approx(naive(masses, sides_of(notion, masses), level), abs=1e-7)
    x, other = (found.kernel.inputs.index(label) for label in found.pair)
    kernel = found.kernel.kernel
    assert stick(kernel[x], kernel[other], level) == pytest.approx(found.at_least, abs=1e-9)
    assert md.audit(found.kernel, masses, notion).checks[0].verdict is md.Verdict.YES


@given(st.floats(0.01, 8), st.integers(2, 5))
def test_local_differential_privacy_keeps_tanh_of_half_its_level(epsilon, n):
    found = md.contraction(md.LDP(epsilon), md.Prior.uniform(n))
    assert found.at_most == pytest.approx(math.tanh(epsilon / 2), abs=1e-9)


def test_what_lists_and_averages_keep_is_less_than_each_alone():
    prior = md.Prior([0.5, 0.3, 0.2])
    both = md.contraction([md.PML(0.5), md.LDP(0.6)], prior).at_most
    assert (
        both
        <= min(md.contraction(notion, prior).at_least for notion in (md.PML(0.5), md.LDP(0.6)))
        + 1e-9
    )
    assert md.contraction(md.MaximalLeakage(0.3), prior).at_most == pytest.approx(math.exp(0.3) - 1)


def test_fewer_reports_than_the_bound_cannot_tell():
    """Exact errors of the best test from binomial reports stay above the bound's."""
    flip = np.array([[0.6, 0.4], [0.4, 0.6]])
    mu, nu = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    entropy = (mu * np.log(mu / nu)).sum()
    needed = md.contraction(flip).reports_at_least(entropy, 0.5)
    assert least_errors(math.ceil(needed) - 1, (mu @ flip)[1], (nu @ flip)[1]) >= 0.5
    assert least_errors(math.ceil(60 * needed), (mu @ flip)[1], (nu @ flip)[1]) < 0.5, "the control"


def least_errors(n, first, second):
    """Both errors of the best test from so many reports of two values, added up."""
    chances = [
        np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
        for p in (first, second)
    ]
    return np.minimum(*chances).sum()


def test_symbols_without_mass_are_left_out():
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([0.5, 0.5, 0])
    kernel = [[0.5, 0.5], [0.4, 0.6], [1, 0]]
    assert md.contraction(kernel, prior).at_most == pytest.approx(0.1)
    assert md.contraction(kernel).at_most == pytest.approx(0.6)
    assert md.contraction(md.LDP(1), prior).at_most == pytest.approx(math.tanh(0.5))


def test_bad_input_is_refused():
    with pytest.raises(KernelError, match="a prior"):
        md.contraction(md.LDP(1))
    with pytest.raises(KernelError, match="two symbols"):
        md.contraction([[0.5, 0.5]])
    for level in (-1, math.nan, "1", 1e6):
        with pytest.raises(LevelError):
            md.contraction([[1, 0], [0, 1]], level=level)
    found = md.contraction([[1, 0], [0, 1]], level=1)
    with pytest.raises(LevelError, match="total variation"):
        found.reports_at_least(0.1, 0.5)
    for entropy, error in ((-1, 0.5), (0.1, 1), (math.nan, 0.5)):
        with pytest.raises(LevelError):
            md.contraction([[1, 0], [0, 1]]).reports_at_least(entropy, error)
