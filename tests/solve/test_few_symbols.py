"""Sub-convex designs of few symbols at extreme masses and levels: little work, and certified.

Work is counted in nodes of the search, rounds of the program over columns and pivots of the exact
simplex method, not in seconds.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from plain_check import Asked, Claim, best_private_value

import mechdesign as md
from mechdesign.certificate.columns.branch_and_bound import LiftSearch, StaircaseSearch
from mechdesign.certificate.columns.exact_columns import (
    columns_of_rays,
    extreme_rays,
    listed_columns,
)
from mechdesign.errors import GapWarning, SolverError
from mechdesign.privacy.constraint import Rounding
from mechdesign.program.problem import state_problem
from mechdesign.solve.column_generation import vertices
from mechdesign.solve.column_generation.master import Master
from mechdesign.solve.column_generation.vertices import best_mixture

#: What a design of up to ten symbols may take; healthy ones take less than a hundredth of it.
NODES, ROUNDS, PIVOTS = 60_000, 60, 200

MI, TV, CHI = md.utility.MutualInformation, md.utility.TotalVariation, md.utility.ChiSquare


def hellinger():
    return md.utility.FInformation(lambda t: (np.sqrt(t) - 1) ** 2, "squared Hellinger")


def cubic():
    return md.utility.FInformation(lambda t: np.abs(t - 1) ** 3, "cubic")


#: Designs that took ten seconds or more and ended with a warning; masses are made to sum to one.
SLOW = {
    "TV, LDP": (TV, [1e-9, 1e-14, 1e-13, 1, 1e-11], md.LDP(1.759)),
    "MI, PML": (
        MI,
        [0.005, 5e-19, 5e-16, 0.5, 0.005, 5e-5, 0.5, 5e-21],
        md.PML(2.7929322806531103e-10),
    ),
    "chi-square, ALIP": (CHI, [2.7e-16, 0.02, 0.98, 6.7e-25], md.ALIP(1e-14, 1.14)),
    "cubic, LIP and PML": (
        cubic,
        [5e-5, 0.005, 5e-6, 5e-24, 5e-27, 0.5, 0.5],
        [md.LIP(4.839), md.PML(1.824828172531761e-14), md.PML(1.731)],
    ),
    "MI, LDP(710)": (MI, [0.005, 0.55, 0.39, 0.05, 6.6e-21, 0.0015], md.LDP(710.0)),
    "Hellinger, ALIP": (
        hellinger,
        [1e-18, 1e-17, 1e-10, 1, 1e-10, 1e-17, 1e-14],
        md.ALIP(9.515733660769118e-06, 4.910898858584049),
    ),
}


@dataclass
class Work:
    nodes: int = 0
    rounds: int = 0
    pivots: int = 0


@pytest.fixture
def work(monkeypatch):
    """Counts what a design takes."""
    done = Work()

    def counting(cls, name, count):
        method = getattr(cls, name)

        def counted(*arguments):
            count(*arguments)
            return method(*arguments)

        monkeypatch.setattr(cls, name, counted)

    def nodes(search, block):
        done.nodes += len(block[0])

    def round_(master):
        done.rounds += 1

    for search in (LiftSearch, StaircaseSearch):
        counting(search, "expand", nodes)
    counting(Master, "solve", round_)

    def mixed(*arguments):
        found = best_mixture(*arguments)
        done.pivots += found.pivots
        return found

    monkeypatch.setattr(vertices, "best_mixture", mixed)
    return done


def designed(utility, masses, notion, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        return md.design(md.Prior.from_counts(masses), utility, notion, **options)


@pytest.mark.parametrize("name", SLOW)
def test_extreme_masses_take_little_work_and_no_time_limit(name, work):
    make, masses, notion = SLOW[name]
    # Without a limit only an end of its own stops a search.
    found = designed(make(), masses, notion, time_limit=1e9)
    assert work.nodes <= NODES
    assert work.rounds <= ROUNDS
    assert work.pivots <= PIVOTS
    for check in found.certificate.checks:
        assert str(check.verdict) == "yes"
    assert found.value <= found.bound < math.inf


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_extreme_masses_take_little_work(part, work):
    for number in range(40):
        rng = np.random.default_rng([61, part, number])
        n = int(rng.integers(3, 11))
        kind = rng.integers(3)
        masses = 10.0 ** rng.uniform(-30, 0, n) if kind else rng.dirichlet(np.ones(n))
        if kind == 2:
            masses = 10.0 ** -rng.integers(0, 31, n).astype(float)
        level = [float(10 ** rng.uniform(-10, 1.4)) for _ in range(2)]
        n_notions = 4 if n > 6 else 5  # several notions of different kinds are listed up to six
        notion = (
            md.PML(level[0]),
            md.LDP(level[0]),
            md.LIP(level[0]),
            md.ALIP(*level),
            [md.LDP(level[0]), md.LIP(level[1])],
        )[int(rng.integers(n_notions))]
        work.nodes = work.rounds = work.pivots = 0
        found = designed((MI, TV, CHI)[int(rng.integers(3))](), masses, notion, time_limit=1e9)
        assert found.value <= found.bound
        assert work.nodes <= NODES, (masses.tolist(), notion)
        assert work.rounds <= ROUNDS, (masses.tolist(), notion)
        assert work.pivots <= PIVOTS, (masses.tolist(), notion)


@pytest.mark.parametrize("masses", [[1, 4e-16], [1, 3e-17, 9e-18], [1, 5e-14, 6e-17, 3e-15]])
def test_rare_outcomes_are_kept_where_they_have_value(masses):
    """Merged for their rounding, they took up to all of the value with them."""
    found = md.design(md.Prior.from_counts(masses), TV(), md.PMC(1.0))
    assert found.certificate.repair.merged == ()
    assert found.mechanism.shape[1] == len(masses)
    assert found.status == "optimal"


# The exact program


@for_each("name", ["PML", "PMC", "LIP", "LDP"])
@for_each("smallest", [1e-5, 1e-15, 1e-30])
def test_its_prices_prove_the_exact_optimum_of_three_symbols(name, smallest):
    """Against an optimum in rationals that shares no code with the package."""
    given = [0.3, 0.7 - smallest, smallest]
    total = sum(map(Fraction, given))
    masses = tuple(Fraction(m) / total for m in given)
    claim = Claim(
        masses, (Asked(name, (0.25,)),), (), 0, None, "mutual information", 0, 1, None, False
    )
    best = best_private_value(claim)
    found = designed(MI(), given, getattr(md, name)(0.25), solver="vertices")
    assert best is not None
    assert best <= Fraction(found.bound) <= best * (1 + Fraction(1, 10**12))


def test_a_cone_without_interior_has_a_best_mixture():
    """At level zero a feature may not be told, and the rest may: two pairs of symbols are mixed."""
    feature = {0: "a", 1: "a", 2: "b", 3: "b"}
    prior = md.Prior([0.25, 0.25, 0.25, 0.25])
    program = state_problem(prior, MI(), md.FeaturePML(0, feature)).program
    found = vertices.Vertices().solve(program)
    np.testing.assert_allclose(found.kernel.sum(axis=1), 1)
    assert found.duals.prices.sum() == pytest.approx(math.log(2))
    assert program.value(found.kernel) == pytest.approx(math.log(2))
    constant = designed(MI(), [0.1, 0.2, 0.3, 0.4], md.LDP(0), solver="vertices")
    assert (constant.value, constant.bound) == (0.0, 0.0)


def columns_of(masses, notion):
    program = state_problem(md.Prior.from_counts(masses), MI(), notion).program
    found = listed_columns(program.prior, program.sides)
    return program, list(found)


BOTH = [
    [md.LDP(1), md.PML(0.5)],
    [md.LDP(1), md.PMC(0.5)],
    [md.LDP(0.9), md.LIP(0.6)],
    [md.LDP(0.9), md.ALIP(0.3, 0.7)],
    [md.LDP(1.2), md.ALIP(0.9, 0.1)],
]


@for_each("notion", [md.LDP(1.3), md.PML(0.4), md.LIP(0.8), md.ALIP(0.4, 1.1), *BOTH])
@for_each("masses", [[1, 2, 3, 4], [5, 1e-12, 2, 1e-25, 1]])
def test_listed_columns_are_the_rays_of_the_cone(notion, masses):
    program, found = columns_of(masses, notion)
    rays = extreme_rays(program.cone.inequalities(Rounding.INSIDE), len(masses))
    expected = list(columns_of_rays(program.prior, rays))
    # Lift sides are one over a float on one side and not on the other.
    table, other = (
        np.array(sorted({tuple(round(float(d), 9) for d in row) for row in rows}))
        for rows in (found, expected)
    )
    assert table.shape == other.shape
    np.testing.assert_allclose(table, other, rtol=0, atol=1e-8)
    for column in found:
        mean = sum(w * d for w, d in zip(program.prior.weights, column, strict=True))
        assert mean == 0


# The program in floats


@pytest.mark.parametrize(
    "masses", [[1e-60, 1e-9, 1], [1e-19, 1e-9, 1e-18, 1e-27, 1e-19, 1]], ids=str
)
def test_values_beyond_floats_are_an_error_of_the_method(masses):
    """Another method follows; none of it is a warning."""
    with pytest.raises(SolverError, match="beyond floats"):
        designed(cubic(), masses, md.LDP(745.0), solver="column-generation")
    assert designed(cubic(), masses, md.LDP(745.0)).method == "vertices"
