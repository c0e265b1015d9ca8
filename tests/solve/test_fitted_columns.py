"""Columns fitted to the masses of many symbols: how near to the bound, and of what they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.certificate.columns.branch_and_bound import universal_bound
from mechdesign.certificate.columns.families import family_of
from mechdesign.errors import NoMethodError
from mechdesign.exact import Verdict
from mechdesign.program.problem import state_problem
from mechdesign.solve.column_generation.balance import balanced_shares
from mechdesign.solve.column_generation.continuum import best_patterns, large_groups

INFORMATION = md.utility.MutualInformation()


def prior_of(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    p = {
        "dirichlet": lambda: rng.dirichlet(np.ones(n)),
        "zipf": lambda: 1 / np.arange(1, n + 1),
        "atom": lambda: np.append(0.7, 0.3 * rng.dirichlet(np.ones(n - 1))),
        "pairs": lambda: np.repeat(rng.dirichlet(np.ones(n // 2)), 2),
        "two atoms": lambda: np.append([0.45, 0.4], 0.15 * rng.dirichlet(np.ones(n - 2))),
        "equal atoms": lambda: np.append([0.3, 0.3], 0.4 * rng.dirichlet(np.ones(n - 2))),
    }[kind]()
    return md.Prior(p / p.sum())


def family(prior, notion):
    found = family_of(state_problem(prior, INFORMATION, notion).program)
    assert not isinstance(found, str)
    return found


NOTIONS = [md.LDP(2), md.PML(1), md.LIP(1), md.ALIP(0.5, 1)]


@for_each("notion", slow_but(2, NOTIONS))
@for_each(
    "kind",
    slow_but(
        lambda kind: kind == "atom", ["dirichlet", "zipf", "atom", "two atoms", "equal atoms"]
    ),
)
def test_a_gap_of_a_millionth_without_a_search(kind, notion):
    prior = prior_of(kind, 110)
    found = md.design(prior, INFORMATION, notion)
    assert found.method == "fitted-columns"
    assert found.gap <= 1e-6
    assert found.mechanism.shape[1] <= len(prior)
    assert notion.check(found.mechanism, prior).verdict is Verdict.YES


@pytest.mark.slow
@for_each(
    ("kind", "notion"),
    [
        ("dirichlet", md.LDP(2)),
        ("zipf", md.PML(2)),
        ("atom", md.LIP(0.5)),
        ("zipf", md.LIP(2)),
        ("atom", md.LDP(2)),
    ],
)
def test_many_symbols_are_certified(kind, notion):
    prior = prior_of(kind, 500)
    found = md.design(prior, INFORMATION, notion)
    assert found.method == "fitted-columns"
    assert found.gap <= 1e-6
    assert found.mechanism.shape[1] <= len(prior)


def test_few_or_large_symbols_are_refused():
    with pytest.raises(NoMethodError, match="too few symbols are small"):
        md.design(prior_of("dirichlet", 60), INFORMATION, md.LIP(5), solver="fitted-columns")


def test_an_atom_above_what_columns_have_at_their_upper_bound_makes_two_patterns():
    prior, notion = prior_of("atom", 200), md.LIP(1)
    cone = family(prior, notion)
    found = best_patterns(cone, large_groups(cone), math.inf)
    assert sum(p.share for p in found.patterns) == pytest.approx(1)
    (atom,) = found.told
    assert cone.groups.masses[atom] == pytest.approx(0.7)
    with_atom = sum(p.share for p in found.patterns if p.counts[atom])
    assert with_atom == pytest.approx(0.7, abs=1e-9)
    assert found.upper < 0.5 * universal_bound(cone)


def random_columns(count, n, seed=0):
    """Columns with mean zero over masses: sets of a third of the mass, the last symbol between."""
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.ones(n))
    table = np.empty((count, n))
    for row in table:
        order = rng.permutation(n)
        ends = np.cumsum(masses[order])
        inside = np.clip((1 / 3 - ends + masses[order]) / masses[order], 0, 1)
        row[order] = inside - 1 / 3
    return table, masses


@pytest.mark.parametrize("n", [5, 40])
def test_balanced_shares_leave_no_mean(n):
    table, _ = random_columns(4 * n, n)
    shares = balanced_shares(table, np.full(len(table), 1 / len(table)), math.inf)
    assert (shares > 0).all()
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares @ table, 0, atol=1e-13)
