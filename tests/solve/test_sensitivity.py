"""Prices of constraints, against finite differences and against dense programs of their own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.certificate.certificate import examine
from mechdesign.errors import ZeroMassWarning
from mechdesign.program.duals import Duals
from mechdesign.program.problem import state_problem

STEP = 1e-5


def random_problem(seed, n=None, m=None):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 8))
    m = m or int(rng.integers(2, 6))
    return md.Prior(rng.dirichlet(np.ones(n))), md.utility.Matrix(rng.uniform(-1, 1, (n, m)))


def slope_by_differences(prior, utility, make, level, solver="auto"):
    up = md.design(prior, utility, make(level + STEP), solver=solver).value
    down = md.design(prior, utility, make(level - STEP), solver=solver).value
    return (up - down) / (2 * STEP)


# The derivative in the level


FAMILIES = {
    "pml": md.PML,
    "pmc": md.PMC,
    "lip": md.LIP,
    "ldp": md.LDP,
    "lip and ldp": lambda e: [md.LIP(0.8), md.LDP(e)],
    "dp": lambda e: md.DP(e, "adjacent"),
    "metric": lambda e: md.MetricPrivacy(e, "absolute"),
    "alip lower": lambda e: md.ALIP(e, 0.4),
    "alip upper": lambda e: md.ALIP(0.9, e),
    "floor": lambda e: md.RobustPML.floor(e, 0.05),
    "maximal leakage": md.MaximalLeakage,
    "maximal cost": md.MaximalCostLeakage,
    "approximate": lambda e: md.ApproximateLDP(e, 0.02),
    "approximate and pml": lambda e: [md.ApproximateLDP(e, 0.02), md.PML(0.9)],
}
# Which of the levels moves, where there are several.
MOVING = {"lip and ldp": 1, "alip lower": 0, "alip upper": 1, "approximate and pml": 0}


@for_each("name", FAMILIES)
@for_each("seed", slow_but(2, range(6)))
def test_prices_per_nat_add_up_to_the_derivative(name, seed):
    prior, utility = random_problem(seed)
    make, level = FAMILIES[name], 0.2 + 0.15 * seed
    found = md.binding(md.design(prior, utility, make(level)))
    slope = list(found.slopes.values())[MOVING.get(name, 0)]
    wanted = slope_by_differences(prior, utility, make, level)
    assert slope == pytest.approx(wanted, rel=1e-4, abs=2e-6)


def test_some_of_these_derivatives_are_not_zero():
    """A control of the test above."""
    slopes = {}
    for name, make in FAMILIES.items():
        found = [md.binding(md.design(*random_problem(s), make(0.2 + 0.15 * s))) for s in range(6)]
        slopes[name] = max(list(f.slopes.values())[MOVING.get(name, 0)] for f in found)
    assert min(slopes.values()) > 1e-2, slopes


# One right-hand side at a time, by programs that share no code with the package


def pairs_of(prior, notion):
    """Names and masses of the pairs (μ, ν) with their level, written out."""
    p, n = prior.probabilities, len(prior)
    points = {repr(label): np.eye(n)[i] for i, label in enumerate(prior.labels)}
    whole = {"the prior": p}
    if isinstance(notion, md.PML):
        return [(points, whole, notion.epsilon)]
    if isinstance(notion, md.PMC):
        return [(whole, points, notion.epsilon)]
    if isinstance(notion, md.ALIP):
        return [(whole, points, notion.epsilon_l), (points, whole, notion.epsilon_u)]
    assert isinstance(notion, md.LDP)
    return [(points, points, notion.epsilon)]


def dense_optimum(prior, gains, notion, right=None, rows=None):
    """The optimum with ``right[(output, over, under)]`` added to right-hand sides."""
    n, m = gains.shape
    right, rows = right or {}, np.ones(n) if rows is None else rows
    lines, limits = [], []
    for overs, unders, level in pairs_of(prior, notion):
        for over, mu in overs.items():
            for under, nu in unders.items():
                for y in range(m):
                    line = np.zeros((n, m))
                    line[:, y] = mu - math.exp(level) * nu
                    lines.append(line.ravel())
                    limits.append(right.get((y, over, under), 0.0))
    sums = np.kron(np.eye(n), np.ones((1, m)))
    found = linprog(
        -(prior.probabilities[:, None] * gains).ravel(),
        A_ub=np.array(lines),
        b_ub=np.array(limits),
        A_eq=sums,
        b_eq=rows,
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return -found.fun


def near_diagonal(seed, n=4):
    """A prior and gains for which the best kernel tells the symbols apart."""
    rng = np.random.default_rng(seed)
    gains = np.eye(n) + rng.uniform(0, 0.3, (n, n))
    return md.Prior(rng.dirichlet(np.full(n, 5.0))), md.utility.Matrix(gains)


NOTIONS = [md.PML(0.5), md.PMC(0.6), md.ALIP(0.7, 0.4), md.LDP(0.8)]


@for_each("notion", NOTIONS)
@for_each("seed", range(4))
def test_each_price_lies_between_the_two_derivatives_of_its_right_hand_side(notion, seed):
    prior, utility = near_diagonal(seed)
    found = md.binding(md.design(prior, utility, notion))
    assert found.constraints
    value = dense_optimum(prior, utility.u, notion)
    assert value == pytest.approx(found.design.value, abs=1e-9)
    h = 1e-5
    sharp = []
    for item in found:
        place = (found.design.mechanism.outputs.index(item.output), item.over, item.under)
        right = (dense_optimum(prior, utility.u, notion, {place: h}) - value) / h
        left = (value - dense_optimum(prior, utility.u, notion, {place: -h})) / h
        assert right - 1e-7 <= item.price <= left + 1e-7
        sharp.append(left - right < 1e-7)
        assert 0 <= item.slack < 1e-9
    # Where both derivatives agree the price is the derivative. Pairs of two symbols share theirs.
    assert all(sharp) or isinstance(notion, md.LDP)


# What is counted and what is left out


def test_symbols_of_zero_mass_have_a_row_price_of_zero():
    with pytest.warns(ZeroMassWarning):
        prior = md.Prior([0.5, 0.0, 0.3, 0.2], ["a", "z", "b", "c"])
    found = md.binding(md.design(prior, md.utility.Hamming(), md.PML(0.4)))
    assert found.row_prices[1] == 0
    assert found.row_prices.sum() == pytest.approx(found.design.bound)
    assert all("'z'" not in item.about for item in found)
    # Neighbours are protected whatever their mass, so here it has a row and constraints of its own.
    with pytest.warns(ZeroMassWarning):
        prior = md.Prior([0.5, 0.0, 0.3, 0.2])

    def make(level):
        return md.DP(level, "adjacent")

    found = md.binding(md.design(prior, md.utility.Hamming(), make(2.0)))
    wanted = slope_by_differences(prior, md.utility.Hamming(), make, 2.0)
    assert sum(found.slopes.values()) == pytest.approx(wanted, rel=1e-5)
    assert {item.about for item in found} & {"1 against 0", "1 against 2"}


def test_a_saved_design_has_the_same_prices(tmp_path):
    prior, utility = random_problem(6)
    found = md.design(prior, utility, md.LIP(0.5))
    md.save(found, tmp_path / "m.json")
    again = md.binding(md.load(tmp_path / "m.json"))
    assert again.rows() == md.binding(found).rows()
    assert {"output", "over", "under", "notion", "slack", "price"} <= set(again.rows()[0])
    assert "<table>" in again._repr_html_()


def test_what_has_no_prices_is_refused():
    prior = md.Prior([0.5, 0.3, 0.2])
    informative = md.design(prior, md.utility.MutualInformation(), md.PML(0.4))
    refused(lambda: md.binding(informative), "linear utility", "sub-convex")
    estimating = md.design(prior, md.utility.Estimation(), md.PML(0.4))
    refused(lambda: md.binding(estimating), "linear utility", "error of estimates")
    refused(lambda: md.binding(informative.mechanism), "a Design", "Mechanism")
    found = md.design(prior, md.utility.Hamming(), md.PML(0.4))
    problem = state_problem(prior, found.utility, found.notions)
    c = found.certificate
    bare = examine(problem, found.mechanism, Duals(), c.repair, 0.0, c.solver)
    refused(lambda: md.binding(replace(found, certificate=bare)), "dual variables", "highs-simplex")
