"""Designs for estimates: the optimum with proof, against published values and naive programs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from estimation_cases import ABC, designed, harmonic
from naive_estimates import naive_minimax, naive_optimum

import mechdesign as md
from mechdesign.certificate.certificate import examine
from mechdesign.certificate.repair import Repair
from mechdesign.errors import (
    PriorError,
    SolverError,
    StorageError,
)
from mechdesign.program.problem import state_problem
from mechdesign.solve import Duals
from mechdesign.storage import from_json, seal, to_json
from mechdesign.utility import Estimation

# Reference values


@for_each(
    ("prior", "notion", "risk"),
    [
        (md.Prior.uniform(10), md.LDP(1), "30.004055"),
        (md.Prior.uniform(7), md.LDP(math.log(4 / 3)), "246.857143"),
        (md.Prior.uniform(7), md.LDP(1), "18.97277"),
        (md.Prior.uniform(7), md.PML(1), "3.52166"),
        (md.Prior.uniform(7), md.LIP(1), "5.12043"),
        (md.Prior.uniform(7), md.PML(0.3), "16.56355"),
        (harmonic(7), md.LDP(1), "18.60311"),
        (harmonic(7), md.PML(1), "3.54857"),
        (harmonic(7), md.LIP(1), "5.73225"),
        (harmonic(7), md.PML(0.3), "17.86085"),
    ],
)
def test_reference_risks(prior, notion, risk):
    # As near as the digits that are given tell.
    digits = len(risk.partition(".")[2])
    assert designed(prior, notion).risk == pytest.approx(float(risk), rel=0, abs=0.51 * 10**-digits)


@for_each(
    ("table", "column", "notion", "risk"),
    [
        ("titanic", "class", md.LDP(1), 8.2523),
        ("titanic", "class", md.PML(1), 1.6982),
        ("titanic", "class", md.LIP(1), 2.9358),
        ("fair", "occupation", md.LDP(1), 15.0771),
        ("fair", "occupation", md.PML(0.5), 8.3102),
        ("fair", "occupation", md.PML(1), 3.1766),
        ("fair", "occupation", md.LIP(1), 5.2482),
        ("hair_eye_colour", "hair", md.PML(0.5), 4.5528),
        ("hair_eye_colour", "hair", md.LIP(1), 3.0574),
    ],
)
def test_reference_risks_of_real_columns(table, column, notion, risk):
    prior = md.Prior.from_csv(table, column, weights="count")
    assert designed(prior, notion).risk == pytest.approx(risk, rel=0, abs=6e-5)


def test_a_proportion_is_asked_by_randomised_response():
    # One share under LDP: two outputs, e^ε odds, whatever the other symbols are.
    found = designed(ABC, md.LDP(1), {"a": 1, "b": 0, "c": 0})
    flip = math.e / (1 + math.e)
    assert found.mechanism.shape == (3, 2)
    q = 0.5 * flip + 0.5 * (1 - flip)
    assert found.risk == pytest.approx(q * (1 - q) / (2 * flip - 1) ** 2, rel=1e-9)


# Against a program over all extreme columns that shares nothing with ours


def question(rng, n):
    """What is asked, and as rows: all shares, any numbers, a feature, shares up to a symbol,
    differences to the first.
    """
    form = int(rng.integers(0, 5))
    if form == 0:
        return None, np.eye(n)
    if form == 1:
        rows = rng.normal(size=(int(rng.integers(1, 3)), n))
        return rows, rows
    if form == 2:
        values = rng.permutation(np.arange(n) % int(rng.integers(2, 4))).tolist()
        feature = {x: f"group {v}" for x, v in enumerate(values)}
        return feature, np.array([[v == g for v in values] for g in dict.fromkeys(values)], float)
    rows = np.tri(n)[:-1] if form == 3 else np.eye(n)[1:] - np.eye(n)[0]
    return rows.tolist(), rows


def weighing(rng, count):
    """Weights, and a root of their matrix: none, one each, or of products of errors."""
    form = int(rng.integers(0, 3))
    if form == 0:
        return None, np.eye(count)
    if form == 1:
        weights = rng.uniform(0.2, 2, count)
        return weights, np.diag(np.sqrt(weights))
    half = rng.normal(size=(count, count)) + np.eye(count)
    return half @ half.T, half


def truths_of(rng, prior):
    """What is handed in, and the distributions: the prior, another, counts, or two of a list."""
    form, n = int(rng.integers(0, 4)), len(prior)
    if form == 0:
        return None, [np.asarray(prior.probabilities)]
    counts = rng.integers(5, 60, size=(2, n))
    shares = list(counts / counts.sum(axis=1)[:, None])
    if form == 1:
        return shares[0], shares[:1]
    if form == 2:
        return dict(enumerate(counts[0].tolist())), shares[:1]
    return shares, shares


def instance(seed):
    rng = np.random.default_rng([20261122, seed])
    n = int(rng.integers(3, 5 if seed < 12 else 8))
    p = rng.dirichlet(np.full(n, rng.choice([0.7, 3.0])))
    prior = md.Prior.from_counts(np.maximum(p, 0.01))
    kind = str(rng.choice(["LDP", "PML", "PMC", "LIP", "ALIP"]))
    levels = [float(rng.choice([0.1, 0.4, 1.0, 2.0])) for _ in range(1 + (kind == "ALIP"))]
    of, rows = question(rng, n)
    weights, half = weighing(rng, len(rows))
    truth, truths = truths_of(rng, prior)
    return prior, kind, levels, Estimation(of, weights, truth), rows.T @ half, truths


def agree(seed):
    prior, kind, levels, asked, root, truths = instance(seed)
    p = np.asarray(prior.probabilities)
    if len(truths) == 1:
        naive = naive_optimum(p, kind, levels, truths[0], root)
    else:
        naive = naive_minimax(p, kind, levels, truths, root)
    found = md.design(prior, asked, getattr(md, kind)(*levels))
    assert found.certificate.is_optimal, (seed, found)
    assert found.risk == pytest.approx(naive, rel=1e-6), seed
    assert -found.bound <= naive * (1 + 1e-6), seed


@for_each("seed", slow_but(4, range(12)))
def test_a_naive_program_finds_the_same(seed):
    agree(seed)


@pytest.mark.slow
@for_each("seed", range(12, 84))
def test_a_naive_program_finds_the_same_on_many(seed):
    agree(seed)


# The adversary


def test_two_symbols_and_one():
    two = designed(md.Prior([0.7, 0.3]), md.LDP(1))
    flip = math.e / (1 + math.e)
    q = 0.7 * flip + 0.3 * (1 - flip)
    assert two.risk == pytest.approx(2 * q * (1 - q) / (2 * flip - 1) ** 2, rel=1e-9)
    one = designed(md.Prior([1.0]), md.LDP(1))
    assert (one.risk, one.gap, one.mechanism.shape) == (0, 0, (1, 1))


def test_a_kernel_that_tells_two_symbols_not_apart_is_worth_nothing():
    coarse = [[0.6, 0.4], [0.4, 0.6], [0.4, 0.6]]
    found = md.certify(coarse, ABC, Estimation(), md.LDP(1))
    assert (found.value, found.risk) == (-math.inf, math.inf)
    assert not found.certificate.gap_is_known
    assert found.bound == pytest.approx(designed(ABC, md.LDP(1)).bound, rel=1e-9)
    told = md.certify(coarse, ABC, Estimation({"a": 1, "b": 0, "c": 0}), md.LDP(1))
    assert told.certificate.gap_is_known
    again = from_json(json.loads(json.dumps(to_json(found))))
    assert again.value == -math.inf


def test_where_nothing_may_be_told_there_is_no_design():
    with pytest.raises(SolverError, match="raise the level"):
        md.design(ABC, Estimation(), md.LDP(0))


# Proofs


def test_any_numbers_prove_a_bound_and_good_ones_a_tight_one():
    rng = np.random.default_rng(11)
    problem = state_problem(ABC, Estimation(), md.PML(0.6))
    found = md.design(ABC, Estimation(), md.PML(0.6))
    good = found.certificate.duals
    best = found.value
    for scale in (1e-6, 1e-3, 0.1, 3.0):
        for _ in range(5):
            prices = good.prices + scale * rng.normal(size=3)
            inverse = good.inverse * (1 + scale * rng.normal(size=(3, 3)))
            made = examine(
                problem,
                found.mechanism,
                Duals(prices, inverse=inverse),
                Repair((), 0, 1),
                0,
                "HiGHS",
            )
            assert made.bound >= best * (1 + 1e-12)
            assert made.bound <= -float(1 - sum(v**2 for v in ABC.probabilities)) * (1 - 1e-12)
            if scale == 1e-6:
                assert made.gap < 1e-4
    for nothing in (Duals(), Duals(good.prices), Duals(inverse=good.inverse)):
        made = examine(problem, found.mechanism, nothing, Repair((), 0, 1), 0, "HiGHS")
        assert made.bound_source == "every symbol revealed"


def test_saved_designs_come_back_and_altered_ones_do_not(tmp_path):
    asked = Estimation(
        [{"a": 1, "b": 2, "c": 3}, lambda s: s == "a"], [1, 2, 3], {"a": 1, "b": 2, "c": 3}
    )
    found = md.design(ABC, asked, md.PML(0.6))
    md.save(found, tmp_path / "design.json")
    again = md.load(tmp_path / "design.json")
    assert again.mechanism == found.mechanism
    assert (again.method, again.bound, again.risk) == (found.method, found.bound, found.risk)
    assert again.utility.question(ABC.labels).labels == ("mean 1", True, False)
    content = to_json(found)
    for change in (
        lambda c: c["certificate"].update(bound=found.bound * 1.1, bound_exact=None),
        lambda c: c["certificate"].update(value=found.value * 0.9),
        lambda c: c["certificate"]["duals"]["inverse"][0].append(1.0),
        lambda c: c["certificate"]["duals"].update(inverse=[[0.0] * 3] * 3),
        lambda c: c["utility"].update(weights=[1, 2, 2]),
        lambda c: c["utility"]["truth"].update(weights=["1", "1", "1"]),
    ):
        forged = json.loads(json.dumps(content))
        change(forged)
        forged.pop("digest")
        with pytest.raises(StorageError):
            from_json(seal(forged))


@pytest.mark.parametrize("epsilon", [0.177, 0.1771, 0.17712385354066618])
def test_steps_of_the_master_program_do_not_go_round_in_circles(epsilon):
    """With second-order corrections alone they never came nearer than a gap of 0.03 here."""
    prior = md.Prior.from_counts({"b": 140, "c": 103, "d": 20, "a": 37})
    found = md.design(prior, Estimation(), md.PML(epsilon))
    assert found.status == "optimal"
    assert found.risk == pytest.approx(23.58, rel=2e-3)


# Symbols without mass


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
def test_symbols_without_mass_are_refused_or_counted_with_those_of_which_the_same_is_asked():
    prior = md.Prior([0.5, 0.3, 0.2, 0.0], list("abcd"))
    for truth in (None, "any", [[0.4, 0.4, 0.2, 0]]):
        goal = Estimation(truth=truth)
        for make in (
            lambda g=goal: md.design(prior, g, md.LDP(1)),
            lambda g=goal: md.explain(prior, g, md.LDP(1)),
            lambda g=goal: md.sweep(prior, g, [md.LDP(1)]),
        ):
            refused(make, "'d'", error=PriorError)
    hamming = md.design(prior, None, md.LDP(2))
    refused(lambda: md.plan(hamming, error=0.1, best=True), "'d'", error=PriorError)
    # What is advised works.
    for known in (prior.restricted(), md.Prior.from_counts([5, 3, 2, 0.5], prior.labels)):
        plan = md.plan(md.design(known, Estimation(), md.LDP(1)), error=0.1, best=True)
        assert plan.fewest <= plan.best.reports <= plan.reports
    # The row of c answers whatever share of people has d, that of a, the likeliest, does not.
    asked, rows = {"a": 0, "b": 1, "c": 5, "d": 5}, np.array([[0.0, 1, 1, 0], [1, 0, 0, 1]])
    for notion in (md.LDP(1), md.PML(1)):
        found = md.design(prior, Estimation(asked), notion)
        np.testing.assert_array_equal(found.mechanism.kernel[3], found.mechanism.kernel[2])
        free = md.design(prior, Estimation(rows, weights=[1, 0]), notion).mechanism.kernel
        np.testing.assert_array_equal(free[3], free[0])
