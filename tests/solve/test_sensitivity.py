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


@for_each("solver", ["highs-simplex", "highs-ipm", "structured", "auto"])
@for_each("notion", [md.PML, md.LIP, md.LDP])
def test_methods_with_and_without_multipliers_find_the_same_derivative(solver, notion):
    prior = md.Prior([0.33, 0.27, 0.19, 0.12, 0.09])
    utility = md.utility.Hamming()
    found = md.binding(md.design(prior, utility, notion(0.7), solver=solver))
    wanted = slope_by_differences(prior, utility, notion, 0.7, "highs-simplex")
    assert sum(found.slopes.values()) == pytest.approx(wanted, rel=1e-5)
    assert max(c.slack for c in found) < 1e-6


def test_information_has_a_price():
    prior, utility = random_problem(3, 4, 4)
    found = md.binding(md.design(prior, utility, md.MIPrivacy(0.1)))
    (item,) = found.constraints
    assert item.output is None
    up, down = (md.design(prior, utility, md.MIPrivacy(0.1 + h)).value for h in (1e-3, -1e-3))
    assert item.price_per_nat == item.price == pytest.approx((up - down) / 2e-3, rel=1e-3)


def test_the_price_of_a_delta():
    prior, utility = random_problem(3, 4, 4)
    found = md.binding(md.design(prior, utility, md.ApproximateLDP(0.3, 0.02)))
    total = sum(item.price for item in found)
    up, down = (
        md.design(prior, utility, md.ApproximateLDP(0.3, 0.02 + h)).value for h in (1e-5, -1e-5)
    )
    assert total == pytest.approx((up - down) / 2e-5, rel=1e-4)
    assert total > 0.1


def test_a_feature_and_conditional_pairs():
    prior = md.Prior([0.3, 0.3, 0.2, 0.2], ["a", "b", "c", "d"])
    feature = {"a": 0, "b": 1, "c": 0, "d": 1}

    def make(level):
        return md.FeaturePML(level, feature)

    found = md.binding(md.design(prior, md.utility.Hamming(), make(0.2)))
    wanted = slope_by_differences(prior, md.utility.Hamming(), make, 0.2)
    assert sum(found.slopes.values()) == pytest.approx(wanted, rel=1e-6)
    assert wanted > 0.1
    assert "the prior" in found.constraints[0].under


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


@for_each("notion", NOTIONS)
def test_the_optimum_never_rises_by_more_than_the_prices_say(notion):
    prior, utility = near_diagonal(7)
    found = md.binding(md.design(prior, utility, notion))
    rng = np.random.default_rng(1)
    for size in (1e-3, 0.05, 0.5):
        step = {
            (found.design.mechanism.outputs.index(c.output), c.over, c.under): size * rng.random()
            for c in found
        }
        most = found.design.value + sum(
            c.price * s for c, s in zip(found, step.values(), strict=True)
        )
        reached = dense_optimum(prior, utility.u, notion, step)
        assert found.design.value - 1e-9 <= reached <= most + 1e-9


@for_each("notion", NOTIONS)
def test_row_prices_are_the_value_of_a_unit_of_a_row(notion):
    prior, utility = near_diagonal(5)
    found = md.binding(md.design(prior, utility, notion))
    assert found.row_prices.sum() == pytest.approx(found.design.bound, abs=1e-12)
    value, h = dense_optimum(prior, utility.u, notion), 1e-5
    for x, price in enumerate(found.row_prices):
        unit = np.eye(4)[x] * h
        right = (dense_optimum(prior, utility.u, notion, rows=1 + unit) - value) / h
        left = (value - dense_optimum(prior, utility.u, notion, rows=1 - unit)) / h
        assert right - 1e-7 <= price <= left + 1e-7


# What is counted and what is left out


def test_nothing_binds_where_nothing_is_asked():
    prior, utility = random_problem(2)
    found = md.binding(md.design(prior, utility, md.PML(math.inf)))
    assert len(found) == found.tight == 0
    assert found.slopes == {"PML(inf)": 0.0}
    assert "0 constraints" in repr(found)
    assert "<table>" not in found._repr_html_()
    # A level so large that the best kernel without privacy keeps it.
    loose = md.binding(md.design(prior, utility, md.PML(20.0)))
    assert len(loose) == 0
    assert loose.row_prices.sum() == pytest.approx(loose.design.value)


def test_tight_pairs_are_counted_one_by_one():
    counts = []
    for notion in (md.PML(0.9), md.LDP(1.2), md.DP(0.5, "adjacent")):
        prior, utility = near_diagonal(8, 5)
        found = md.design(prior, utility, notion)
        kernel = found.mechanism.kernel
        wanted = 0
        for bound in notion.bounds(prior):
            over, under = bound.over.matrix @ kernel, bound.under.matrix @ kernel
            for y in range(5):
                pairs = [(i, j) for i in range(len(over)) for j in range(len(under))]
                if bound.pairing == "matched":
                    pairs = [(i, i) for i in range(len(over))]
                wanted += sum(
                    over[i, y] > 0 and math.log(over[i, y] / under[j, y]) >= bound.epsilon - 1e-6
                    for i, j in pairs
                )
        assert md.binding(found).tight == wanted
        counts.append(wanted)
    assert min(counts) >= 2


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


def test_a_level_of_zero_and_a_single_symbol():
    prior = md.Prior([0.5, 0.3, 0.2])
    found = md.binding(md.design(prior, md.utility.Hamming(), md.LDP(0.0)))
    assert found.row_prices.sum() == pytest.approx(0.5)
    one = md.binding(md.design(md.Prior([1.0]), md.utility.Hamming(), md.LDP(1.0)))
    assert len(one) == 0


def test_a_saved_design_has_the_same_prices(tmp_path):
    prior, utility = random_problem(6)
    found = md.design(prior, utility, md.LIP(0.5))
    md.save(found, tmp_path / "m.json")
    again = md.binding(md.load(tmp_path / "m.json"))
    assert again.rows() == md.binding(found).rows()
    assert {"output", "over", "under", "notion", "slack", "price"} <= set(again.rows()[0])
    assert "<table>" in again._repr_html_()


def test_large_designs_have_prices_soon():
    rng = np.random.default_rng(0)
    prior = md.Prior(rng.dirichlet(np.ones(60)))
    utility = md.utility.Matrix(rng.uniform(size=(60, 60)))
    found = md.binding(md.design(prior, utility, md.LDP(1.0)))
    wanted = slope_by_differences(prior, utility, md.LDP, 1.0)
    assert sum(found.slopes.values()) == pytest.approx(wanted, rel=1e-4)
    assert "more" in repr(found)


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
