"""Estimation designs for the worst truth: bounds from both sides, against naive programs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from checks import for_each
from naive_estimates import float_risk, naive_minimax, naive_optimum

import mechdesign as md
from mechdesign.certificate.certificate import examine
from mechdesign.certificate.quadratic.mean import MeanPricing
from mechdesign.certificate.repair import Repair
from mechdesign.errors import InputError
from mechdesign.program.problem import state_problem
from mechdesign.solve import Duals
from mechdesign.utility import Estimation

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
HARMONIC = md.Prior.from_counts([60, 30, 20, 15, 12])


def designed(prior, notion, *asked, **more):
    found = md.design(prior, Estimation(*asked, **more), notion)
    assert found.certificate.is_optimal, found
    return found


def corners(n, steps):
    """Distributions on a grid of the simplex, none of them without mass for a symbol."""
    grid = [g for g in product(range(1, steps), repeat=n) if sum(g) == steps]
    return np.array(grid) / steps


# Every distribution


@for_each(("n", "level"), [(4, 0.3), (5, 2.0), (7, 1.0), (7, math.log(4 / 3))])
def test_under_ldp_the_uniform_truth_is_least_favourable(n, level):
    e = math.exp(level)
    best = min(
        (n - 1) ** 2 * (d * e + n - d) ** 2 / (n * (e - 1) ** 2 * d * (n - d)) for d in range(1, n)
    )
    prior = md.Prior.from_counts(range(1, n + 1))
    found = designed(prior, md.LDP(level), truth="any")
    assert found.risk == pytest.approx(best, rel=1e-8)
    assert found.least_favourable.probabilities == pytest.approx(np.full(n, 1 / n), abs=1e-5)
    assert "least favourable" in repr(found)
    assert "least favourable" in found.certificate.bound_source


@for_each("notion", [md.LDP(0.7), md.PML(0.3), md.PML(1), md.LIP(0.8), md.PMC(1)])
def test_no_distribution_is_worse_and_one_is_as_bad(notion):
    found = designed(HARMONIC, notion, truth="any")
    kernel = found.mechanism.kernel
    others = np.vstack([corners(5, 12), np.random.default_rng(1).dirichlet(np.ones(5), 500)])
    risks = [float_risk(kernel, truth, np.eye(5)) for truth in others]
    assert max(risks) <= found.risk * (1 + 1e-9)
    # No kernel is better at the least favourable truth.
    kind, levels = type(notion).__name__, list(notion.levels)
    least = np.maximum(found.least_favourable.probabilities, 1e-7)
    naive = naive_optimum(HARMONIC.probabilities, kind, levels, least / least.sum(), np.eye(5))
    assert naive == pytest.approx(found.risk, rel=1e-5)


def test_the_worst_truth_of_a_kernel_is_that_of_a_grid():
    rng = np.random.default_rng(7)
    for _ in range(4):
        kernel = md.Mechanism(0.4 * rng.dirichlet(np.ones(4), size=3) + 0.15, ["a", "b", "c"])
        any_truth = Estimation(truth="any")
        worst = any_truth.worst_truth(kernel, ABC)
        found = any_truth.risk(kernel, ABC)
        grid = [float_risk(kernel.kernel, truth, np.eye(3)) for truth in corners(3, 60)]
        assert max(grid) <= found * (1 + 1e-12)
        assert max(grid) >= found * 0.98
        if worst.pmin > 1e-6:
            assert Estimation(truth=worst).risk(kernel, ABC) == pytest.approx(found, rel=1e-9)


@for_each("truth", ["any", [[5, 1, 1, 1, 1], [1, 1, 1, 1, 5]]])
@for_each("rows", [[[1, 0, 0, 0, 0]], [[1, 1, 0, 0, 0], [0, 1, 0, 1, 1]]])
def test_questions_that_leave_the_frequencies_open(rows, truth):
    # The best kernels leave J singular; what they answer must not hang on the last digits.
    found = designed(HARMONIC, md.LDP(1), rows, truth=truth)
    assert found.gap <= 1e-8


def test_symbols_that_no_kernel_tells_apart_are_refused():
    coarse = md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], ["a", "b", "c"])
    assert Estimation(truth="any").risk(coarse, ABC) == math.inf
    assert Estimation(truth=[[1, 1, 1], [1, 2, 3]]).risk(coarse, ABC) == math.inf


# A list


def instance(seed):
    rng = np.random.default_rng([20261123, seed])
    n = int(rng.integers(2, 6))
    p = np.maximum(rng.dirichlet(np.full(n, 2.0)), 0.02)
    kind = str(rng.choice(["LDP", "PML", "PMC", "LIP"]))
    level = float(rng.choice([0.3, 1.0, 2.0]))
    rows = rng.normal(size=(2, n)) if rng.random() < 0.5 else np.eye(n)
    truths = rng.dirichlet(np.full(n, 2.0), int(rng.integers(2, 5))) + 0.02
    return p / p.sum(), kind, level, rows, truths / truths.sum(axis=1, keepdims=True)


def agree(seed):
    p, kind, level, rows, truths = instance(seed)
    prior = md.Prior.from_counts(p)
    naive = naive_minimax(np.asarray(prior.probabilities), kind, [level], truths, rows.T)
    found = designed(prior, getattr(md, kind)(level), rows, truth=truths)
    assert found.risk == pytest.approx(naive, rel=1e-6), seed
    assert -found.bound <= naive * (1 + 1e-6), seed


@for_each("seed", range(6))
def test_a_naive_program_finds_the_same(seed):
    agree(seed)


@pytest.mark.slow
@for_each("seed", range(6, 60))
def test_a_naive_program_finds_the_same_on_many(seed):
    agree(seed)


# Certificates, files, refusals


@pytest.mark.parametrize("truth", ["any", [[1, 2, 3], [3, 1, 1]]])
def test_any_numbers_bound_the_risk(truth):
    problem = state_problem(ABC, Estimation(truth=truth), md.PML(1))
    found = designed(ABC, md.PML(1), truth=truth)
    parts = 1 if truth == "any" else 2
    rng = np.random.default_rng(3)
    for scale in (0.0, 1e-3, 0.1, 1.0):
        good = found.certificate.duals
        noise = [scale * rng.normal(size=s) for s in ((3,), (3 * parts, 3), (len(good.mixture),))]
        duals = Duals(
            good.prices + noise[0], inverse=good.inverse + noise[1], mixture=good.mixture + noise[2]
        )
        again = examine(problem, found.mechanism, duals, Repair((), 0.0, 1), 0.0, "noise")
        assert again.bound >= found.value
    none = examine(problem, found.mechanism, Duals(), Repair((), 0.0, 1), 0.0, "none")
    assert none.bound >= found.value


@for_each("truth", ["all", "", [], [[]], [[1, 2], [1, 2, 3]], [[0.5, 0.5, 0]] * 2])
def test_truths_that_are_none_are_refused(truth):
    with pytest.raises(InputError):
        md.design(ABC, Estimation(truth=truth), md.LDP(1))


# Beyond listed columns


def test_columns_are_priced_for_several_truths_as_one_by_one():
    # More columns than are written out: they are priced in pairs of halves.
    n = 17
    prior = md.Prior.from_counts(range(3, n + 3))
    cone = state_problem(prior, Estimation(), md.LDP(1)).program.cone
    rng = np.random.default_rng(9)
    truths = [tuple(md.Prior.from_counts(rng.integers(1, 9, n)).mass(x) for x in range(n))]
    truths.append(tuple(prior.mass(x) for x in range(n)))
    halves = rng.normal(size=(2, n, 4))
    squares, prices = [half @ half.T for half in halves], rng.normal(size=n)
    p = prior.probabilities
    sets = np.array(list(product((0, 1), repeat=n)), dtype=float).T
    columns = 1 + (math.e - 1) * sets
    columns = columns / (p @ columns)
    values = -prices @ columns
    for square, truth in zip(squares, truths, strict=True):
        paid = (columns * (square @ columns)).sum(axis=0)
        values += paid / (np.array(truth, dtype=float) @ columns)
    pricing = MeanPricing(cone, tuple(truths))
    upper = float(pricing.bound(squares, prices))
    assert upper == pytest.approx(values.max(), rel=1e-9)
    assert upper >= values.max() * (1 - 1e-13)
    best = pricing.search(squares, prices, 0.999 * float(values.max()))
    assert np.abs(best[:, [0]] - columns[:, [values.argmax()]]).max() < 1e-9
    assert best.shape[1] == (values > 0.999 * values.max()).sum()


@for_each(
    ("rare", "truth"),
    [
        *product([1e-5, 1e-6, 1e-7, 1e-9, 1e-12, 1e-15], [None, "any"]),
        # For a list of truths matrices of the bound keep fewer digits the rarer it is.
        *product([1e-5, 1e-7, 1e-9], ["list"]),
    ],
)
def test_rare_symbols_are_told_and_the_bound_is_sharp(rare, truth):
    prior = md.Prior([0.5, 0.5 - rare, rare])
    if truth == "list":
        truth = [prior, md.Prior([0.5 - rare, 0.5, rare])]
    for notion in (md.PMC(1), md.ALIP(1, 1000), md.LDP(20)):
        found = md.design(prior, Estimation(truth=truth), notion)
        assert 0 <= found.gap <= 1e-7
        if truth == "any" and notion == md.PMC(1):
            # What a symbol of tiny mass may have is the same for any such mass.
            assert found.risk == pytest.approx(1.66843353405, rel=1e-9 + 2 * rare)
