"""Sub-convex utilities: values against brute force, certificates, bad input, limits."""

from __future__ import annotations

import re
import time
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, pairwise_cases, refused, slow_but
from naive_columns import CURVES, best_value, vertices_of

import mechdesign as md
from mechdesign import clock
from mechdesign.certificate.columns.branch_and_bound import WorkLimit, universal_bound
from mechdesign.certificate.columns.families import make_family
from mechdesign.certificate.columns.pricing import Pricer
from mechdesign.errors import GapWarning, UtilityError
from mechdesign.program.problem import state_problem
from mechdesign.solve.column_generation.method import generate

# Before any test puts another clock in its place.
REAL_CLOCK = clock.now

KINDS = ("PML", "PMC", "LIP", "ALIP", "LDP")
INFORMATION = md.utility.MutualInformation()


def notion_of(kind, epsilons):
    return getattr(md, kind)(*epsilons)


def draw(seed):
    """A random prior, notion and utility."""
    rng = np.random.default_rng([77, seed])
    n = int(rng.integers(2, 13))
    p = [
        lambda: np.full(n, 1 / n),
        lambda: rng.dirichlet(np.ones(n)),
        lambda: rng.dirichlet(np.full(n, 0.3)) * 0.999 + 0.001 / n,
        lambda: np.array(rng.integers(1, 5, n), float),
        lambda: np.where(np.arange(n) == 0, 3.0, rng.dirichlet(np.ones(n))),
    ][seed % 5]()
    kind = KINDS[seed // 5 % 5]
    epsilons = np.exp(rng.uniform(np.log(0.05), np.log(4), 2 if kind == "ALIP" else 1)).tolist()
    name = list(CURVES)[seed // 25 % 3]
    return md.Prior(p / p.sum()), kind, epsilons, name


@for_each("seed", slow_but(8, range(225)))
def test_values_are_those_of_brute_force(seed):
    prior, kind, epsilons, name = draw(seed)
    p = prior.probabilities
    expected = best_value(p, CURVES[name], vertices_of(p, kind, epsilons))
    found = md.design(prior, getattr(md.utility, name)(), notion_of(kind, epsilons))
    assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert found.bound >= expected * (1 - 1e-9)
    assert found.gap <= 1e-6
    assert len(found.mechanism.outputs) <= len(prior)
    assert all(str(check.verdict) == "yes" for check in found.certificate.checks)


REFERENCE = md.Prior([0.1, 0.2, 0.3, 0.4])


@for_each(
    ("notion", "value"),
    [
        (md.PML(0.05), 0.0042488093),
        (md.PML(0.2), 0.0814114888),
        (md.PML(0.3), 0.1702978141),
        (md.PML(0.6), 0.4937802919),
        (md.PML(1), 0.8505116243),
        (md.LIP(0.3), 0.0379631396),
        (md.LIP(1), 0.3698877799),
        (md.LIP(2.2), 0.9309342457),
        (md.ALIP(0.5, 0.3), 0.0633001471),
        (md.PMC(0.5), 0.1842273688),
        (md.LDP(0.5), 0.0305715528),
        (md.LDP(1), 0.1219734732),
        (md.LDP(3), 0.7860439455),
    ],
)
def test_reference_values(notion, value):
    assert md.design(REFERENCE, INFORMATION, notion).value == pytest.approx(value, abs=1e-10)


@for_each("seed", slow_but(4, range(40)))
def test_vertex_enumeration_agrees_and_proves_its_own_bound(seed):
    rng = np.random.default_rng([5, seed])
    n = int(rng.integers(2, 9))
    prior = md.Prior(rng.dirichlet(np.ones(n)))
    kind = KINDS[seed % 5]
    notion = notion_of(kind, rng.uniform(0.1, 2, 2 if kind == "ALIP" else 1).tolist())
    utility = [
        INFORMATION,
        md.utility.FInformation(lambda t: (np.sqrt(t) - 1) ** 2, "squared Hellinger"),
        md.utility.FInformation(lambda t: np.maximum(t - 1.3, 0), "hockey stick"),
        md.utility.FInformation(lambda t: t**3, "cubic"),
    ][seed % 4]
    first = md.design(prior, utility, notion)
    second = md.design(prior, utility, notion, solver="vertices")
    assert first.value == pytest.approx(second.value, rel=1e-8, abs=1e-12)
    assert first.gap <= 1e-6
    assert second.gap <= 1e-8


def test_a_function_of_a_whole_column_is_solved_on_few_symbols():
    """Maximal leakage as a utility: Σ_y max_x K[x,y], whose optimum under ε-PML is at most e^ε."""
    largest = md.utility.Sublinear(lambda k, p: k.max(), "largest")
    found = md.design(REFERENCE, largest, md.PML(0.3))
    assert found.gap <= 1e-9
    assert found.value == pytest.approx(np.exp(0.3), rel=1e-9)
    outsider = md.design(REFERENCE, largest, [md.LDP(1), md.PML(0.4)])
    assert outsider.method == "vertices"
    assert outsider.gap <= 1e-9


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda k, p: k.min(), "convex column function"),
        (lambda k, p: float((k**2).sum()), "positively homogeneous"),
        (lambda k, p: -k.max(), "convex column function"),
    ],
)
def test_functions_that_are_not_sublinear_are_refused_with_a_violating_pair(function, words):
    utility = md.utility.Sublinear(function, "mine")
    with pytest.raises(UtilityError, match=words) as caught:
        md.design(REFERENCE, utility, md.LDP(1))
    assert "[" in str(caught.value)  # the columns are shown


@pytest.mark.parametrize(
    "f",
    [
        lambda t: np.sqrt(t),
        lambda t: np.sin(t),
        lambda t: np.minimum(t, 2.0),
    ],
)
def test_an_f_that_is_not_convex_is_refused_with_the_points(f):
    make = lambda: md.utility.FInformation(f, "mine")  # noqa: E731
    refused(make, "f above its chord between", error=UtilityError)


def test_the_clock_of_searches_is_read_in_one_place_and_never_goes_back():
    assert REAL_CLOCK is time.monotonic
    root = Path(md.__file__).parent
    # The collector limits how often people ask, and whoever waits is told how long.
    others = ("collector", "progress.py")
    readers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0] not in others
        and re.search(r"\b(monotonic|perf_counter|process_time)\b", path.read_text("utf-8"))
    }
    assert readers == {"clock.py"}


@pytest.mark.filterwarnings("ignore::mechdesign.errors.GapWarning")
def test_a_search_that_is_cut_short_is_the_same_beside_any_other_work(counted_clock):
    prior = md.Prior.from_counts([10**6 // k for k in range(1, 31)])
    found, readings = [], []
    for _ in range(2):
        before = counted_clock.readings
        found.append(md.design(prior, INFORMATION, md.PML(2.5), time_limit=0.1))
        readings.append(counted_clock.readings - before)
    assert found[0].mechanism == found[1].mechanism
    assert found[0].bound == found[1].bound
    # Not many more than fit into the limit, of two milliseconds each.
    assert readings[0] == readings[1] < 500


@pytest.mark.slow
def test_at_the_time_limit_the_gap_is_honest():
    """Hard prior, no time: a private kernel with a gap that is told, not a silent success."""
    prior = md.Prior((1 / np.arange(1, 41)).tolist() / (1 / np.arange(1, 41)).sum())
    with pytest.warns(GapWarning, match="of the utility"):
        found = md.design(prior, INFORMATION, md.PML(2.5), time_limit=1e-9)
    assert 1e-6 < found.gap < 0.2
    assert found.status.startswith("private, gap")
    better = md.design(prior, INFORMATION, md.PML(2.5))
    assert found.value <= better.value <= found.bound
    assert better.gap <= 1e-6


def test_outputs_are_named_after_what_they_raise():
    prior = md.Prior([0.2, 0.3, 0.5], ["low", "middle", "high"])
    found = md.design(prior, INFORMATION, md.PMC(0.5))
    assert found.mechanism.outputs == ("low", "middle", "high")
    found = md.design(prior, INFORMATION, md.PML(0.1))
    assert found.mechanism.outputs == ("not low", "not middle", "not high")
    lifts = np.exp(found.mechanism.information_density(prior))
    for y, name in enumerate(found.mechanism.outputs):
        (least,) = np.flatnonzero(lifts[:, y] < 1)
        assert name == f"not {prior.labels[least]}"


# The parts


def families(seed):
    """Small families with one symbol in each group, and some with equal masses."""
    rng = np.random.default_rng([9, seed])
    n = int(rng.integers(3, 9))
    p = np.array(rng.integers(1, 5, n), float) if seed % 2 else rng.dirichlet(np.ones(n))
    prior = md.Prior((p / p.sum()).tolist())
    kind = ("PML", "LIP", "ALIP", "LDP")[seed % 4]
    epsilons = rng.uniform(0.2, 2.5, 2 if kind == "ALIP" else 1).tolist()
    program = state_problem(prior, INFORMATION, notion_of(kind, epsilons)).program
    return rng, prior, make_family(prior, program.sides, INFORMATION.excess), kind, epsilons


def all_reduced(prior, kind, epsilons, prices):
    """F − ⟨prices, d⟩ of every extreme column, by brute force."""
    p = prior.probabilities
    vertices = vertices_of(p, kind, epsilons)
    values = np.array([CURVES["MutualInformation"](t, p) for t in vertices])
    return values - (vertices - 1) @ prices


@for_each("seed", slow_but(4, range(60)))
def test_every_search_finds_the_best_column(seed):
    rng, prior, family, kind, epsilons = families(seed)
    pricer = Pricer(family)
    groups = family.groups
    prices = rng.normal(0, 0.3, len(groups)) * groups.masses
    reduced = all_reduced(prior, kind, epsilons, groups.spread(prices))
    best = float(reduced.max())
    margin = 1e-9 * (1 + abs(best))
    below = best - 0.05 * abs(best) - margin
    searches = {
        "quick": pricer.improve(prices, below, 10_000, WorkLimit()),
        "branching": pricer.branch(prices, below, 10_000, WorkLimit()),
    }
    for name, found in searches.items():
        assert found.complete, name
        assert found.values[0] == pytest.approx(best, abs=margin), name
        # For staircases the excess over the level is bounded, which is larger.
        assert found.upper >= best - margin, name
        if kind != "LDP":
            assert found.upper <= best + margin, name
    above = best + margin
    for nothing in (
        pricer.improve(prices, above, 10, WorkLimit()),
        pricer.prove(prices, above, WorkLimit()),
    ):
        assert nothing.complete
        assert nothing.columns is None
        assert nothing.upper <= above + margin


@for_each("seed", slow_but(4, range(12)))
def test_any_prices_give_a_true_bound(seed):
    """Prices far from optimal: the bound is loose but never below the optimum."""
    rng, prior, family, kind, epsilons = families(seed)
    pricer = Pricer(family)
    p = prior.probabilities
    optimum = best_value(p, CURVES["MutualInformation"], vertices_of(p, kind, epsilons))
    for _ in range(5):
        prices = rng.normal(0, 0.5, len(family.groups)) * family.groups.masses
        found = pricer.prove(prices, -5.0, WorkLimit())
        assert found.upper >= optimum * (1 - 1e-12)
    assert universal_bound(family) >= optimum * (1 - 1e-12)


@for_each(
    "masses, kind, name",
    pairwise_cases(
        [[1 - 2e-12, 1e-12, 1e-12], [1e-16, 0.1, 0.2, 0.3, 0.4], [1e-30, 3e-17, 0.1, 0.3, 0.6]],
        ["PML", "LIP", "ALIP"],
        CURVES,
    ),
)
def test_bounds_hold_beside_atoms_of_any_size(masses, kind, name):
    """Prices over exact lists of columns: no search calls less than the best column a bound."""
    prior = md.Prior((np.array(masses) / sum(masses)).tolist())
    problem = state_problem(
        prior, getattr(md.utility, name)(), notion_of(kind, [0.5, 0.5] if kind == "ALIP" else [0.5])
    )
    family = make_family(prior, problem.program.sides, problem.utility.excess)
    p, groups = prior.probabilities, family.groups
    columns = exact_columns(prior, family.below, family.above)
    gains = problem.utility.excess(columns) @ p
    pricer = Pricer(family)
    rng = np.random.default_rng(8)
    for _ in range(10):
        scale = rng.choice([0.1, 1.0]) * gains.max() / family.reach
        prices = rng.normal(0, 1, len(groups)) * scale * groups.masses
        best = float((gains - columns @ groups.spread(prices)).max())
        slack = 1e-13 * (family.size + float(groups.sizes @ (np.abs(prices) * family.reach)))
        for level in (-family.size, best * (1 - 1e-9), best):
            for found in (
                pricer.prove(prices, level, WorkLimit()),
                pricer.branch(prices, level, 10**6, WorkLimit()),
            ):
                assert found.upper >= best - slack
    assert universal_bound(family) >= gains.max() * (1 - 1e-12)


def exact_columns(prior, below, above):
    """Extreme columns of a box by rational arithmetic, as deviations."""
    low, high = Fraction(-below), Fraction(above)
    masses, n = [prior.mass(i) for i in range(len(prior))], len(prior)
    found = []
    for raised in product((False, True), repeat=n):
        left = -sum(m * (high if up else low) for m, up in zip(masses, raised, strict=True))
        for j in range(n):
            if not raised[j] and 0 <= left <= masses[j] * (high - low):
                found.append([float(high if up else low) for up in raised])
                found[-1][j] = float(low + left / masses[j])
    return np.array(found)


def test_generated_columns_are_at_most_as_many_as_symbols():
    prior = md.Prior((np.array([3, 3, 2, 2, 2, 1, 1, 1, 1]) / 16).tolist())
    problem = state_problem(prior, INFORMATION, md.LIP(0.8))
    family = make_family(prior, problem.program.sides, INFORMATION.excess)
    found = generate(Pricer(family), np.inf)
    assert len(found.shares) <= len(prior)
    np.testing.assert_allclose(found.shares @ found.deviations, 0, atol=1e-14)
