"""The structured interior-point method: agreement with the general program, and stress."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from checks import for_each, pairwise_cases

import mechdesign as md
from mechdesign.program.problem import state_problem
from mechdesign.solve.interior_point import Structured
from mechdesign.solve.interior_point.newton import StructuredOptions

NOTIONS = {
    "LDP": md.LDP,
    "PML": md.PML,
    "LIP": md.LIP,
    "ALIP": lambda level: md.ALIP(2 * level, level),
    "PML and PMC": lambda level: [md.PML(level), md.PMC(2 * level)],
    "LIP and PML": lambda level: [md.LIP(level), md.PML(0.7 * level)],
}


def random_case(seed, n, m):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n))
    return md.Prior.from_counts(p), md.utility.Matrix(rng.normal(size=(n, m)))


@for_each(
    "name, shape, level",
    pairwise_cases(NOTIONS, [(2, 2), (3, 5), (7, 7), (12, 4), (6, 40)], [0.01, 0.5, 2.0, 6.0]),
)
def test_agrees_with_the_general_program(name, shape, level):
    prior, utility = random_case([1, *shape], *shape)
    privacy = NOTIONS[name](level)
    general = md.design(prior, utility, privacy, solver="highs-simplex")
    found = md.design(prior, utility, privacy, solver="structured")
    width = float(np.ptp(utility.u))
    assert found.value == pytest.approx(general.value, abs=1e-7 * width)
    assert found.gap < 1e-7


@for_each("level", [5.0, 6.5, 10.0])
@for_each("n", [30, 45])
def test_errors_that_rise_at_first_are_not_the_end(level, n):
    """With near identities at large ratios they do so for many steps, from the first on."""
    rng = np.random.default_rng(n)
    prior = md.Prior.from_counts(rng.uniform(1, 3, n))
    utility = md.utility.Matrix(np.eye(n) + rng.uniform(0, 1e-3, (n, n)))
    program = state_problem(prior, utility, md.LDP(level)).program
    assert Structured().solve(program).details["converged"] == "True"
    assert md.design(prior, utility, md.LDP(level), solver="structured").gap < 1e-9


@for_each(
    ("privacy", "words"),
    [
        (md.PMC(1), "lower bound on the lift alone"),
        (md.LDP(0), "closed form"),
        (md.LDP(math.inf), "absence of bounds"),
        (md.LDP(30), "too wide"),
    ],
)
def test_refuses_with_a_reason(privacy, words):
    prior, utility = random_case(4, 5, 5)
    assert words in Structured().refusal(state_problem(prior, utility, privacy).program)


@for_each("name", ["LDP", "PML", "LIP"])
@for_each("return_from", [0.0, 1e-4, 1e-2])
def test_outputs_left_out_by_mistake_are_brought_back(name, return_from):
    """However wildly outputs are dropped, it ends at the optimum: by rounds, or on the way."""
    prior, utility = random_case(6, 25, 60)
    program = state_problem(prior, utility, NOTIONS[name](1.0)).program
    expected = Structured().solve(program)
    wild = StructuredOptions(vanished=0.999, drop_until=0.0, return_from=return_from)
    found = Structured(wild).solve(program)
    values = [float((program.objective * k).sum()) for k in (found.kernel, expected.kernel)]
    assert values[0] == pytest.approx(values[1], abs=1e-7)


def stress_priors(n):
    rng = np.random.default_rng(0)
    atom = rng.dirichlet(np.ones(n))
    atom[0] = 1e-9
    large = np.full(n, 0.01 / (n - 1))
    large[0] = 0.99
    return {
        "uniform": np.ones(n),
        "zipf": 1 / np.arange(1, n + 1),
        "zipf 2": 1 / np.arange(1, n + 1) ** 2.0,
        "dirichlet .1": np.maximum(rng.dirichlet(np.full(n, 0.1)), 1e-150),
        "dirichlet 1": rng.dirichlet(np.ones(n)),
        "atom 1e-9": atom,
        "atom .99": large,
        "twelve decades": 10.0 ** -np.linspace(0, 12, n),
    }


@pytest.mark.slow
@for_each("kind", stress_priors(2))
@for_each("goal", ["random", "hamming", "absolute"])
def test_stress_at_a_hundred_symbols(kind, goal):
    n = 100
    prior = md.Prior.from_counts(stress_priors(n)[kind])
    utility = {
        "random": md.utility.Matrix(np.random.default_rng(1).random((n, n))),
        "hamming": md.utility.Hamming(),
        "absolute": md.utility.Distance("absolute"),
    }[goal]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", md.errors.DisclosureWarning)
        for level in (1e-3, 1.0, 10.0):
            for privacy in (
                md.LDP(level),
                md.PML(level),
                md.PMC(level),
                md.LIP(level),
                md.ALIP(2 * level, level),
            ):
                found = md.design(prior, utility, privacy)
                assert found.gap <= 1e-6, str(privacy)
                assert found.certificate.repair_loss <= 1e-7, str(privacy)
                asked = state_problem(prior, utility, privacy)
                if found.method == "recognition" and not Structured().refusal(asked.program):
                    # A closed form took its place; it has to do without all the same.
                    found = md.design(prior, utility, privacy, solver="structured")
                    assert found.gap <= 1e-6, str(privacy)


@for_each("atom", [1e-15, 1e-20, 1e-40, 1e-120])
@for_each("privacy", [md.LDP(1), md.PML(1), md.LIP(1)])
def test_atoms_of_hardly_any_mass_do_not_spoil_the_bound(privacy, atom):
    n = 80
    p = np.ones(n)
    p[0] = atom
    gains = np.random.default_rng(0).random((n, n))
    found = md.design(
        md.Prior.from_counts(p), md.utility.Matrix(gains), privacy, solver="structured"
    )
    assert found.gap <= 1e-7
