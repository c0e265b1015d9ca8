"""Bounds over a graph: metric privacy, neighbours, and lists of them, against a naive program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checks import for_each
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.program.problem import state_problem
from mechdesign.solve.differences import Differences
from mechdesign.solve.differences.graph import graph_of
from mechdesign.solve.differences.remapped import remapped


def distances_of(points):
    """Euclidean distances of rows of coordinates."""
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def naive_optimum(p, gains, levels, mixed=()):
    """max Σ p u K over K with K_xy ≤ e^level(x,x') K_x'y for all pairs, and μᵀK ≤ e^level νᵀK for
    every (μ, ν, level), by HiGHS.
    """
    n, m = gains.shape
    rows, right = [], []
    for x in range(n):
        for z in range(n):
            if x == z or not np.isfinite(levels[x, z]):
                continue
            for y in range(m):
                row = np.zeros((n, m))
                # Divided by the factor, which keeps coefficients at or below one.
                row[x, y], row[z, y] = np.exp(-levels[x, z]), -1.0
                rows.append(row.ravel())
                right.append(0.0)
    for over, under, level in mixed:
        for y in range(m):
            row = np.zeros((n, m))
            row[:, y] = np.exp(-level) * np.asarray(over) - np.asarray(under)
            rows.append(row.ravel())
            right.append(0.0)
    equal = np.kron(np.eye(n), np.ones(m))
    found = linprog(
        -(p[:, None] * gains).ravel(),
        A_ub=np.array(rows) if rows else None,
        b_ub=right if rows else None,
        A_eq=equal,
        b_eq=np.ones(n),
        method="highs",
    )
    assert found.status == 0, found.message
    return -found.fun


def random_graph(rng, n, extra):
    """Edges of a random tree and some more, with lengths between 0.3 and 2."""
    pairs = {(int(rng.integers(0, i)), i) for i in range(1, n)}
    while len(pairs) < n - 1 + extra:
        a, b = sorted(rng.choice(n, size=2, replace=False).tolist())
        pairs.add((a, b))
    return [(a, b, float(rng.uniform(0.3, 2))) for a, b in sorted(pairs)]


def shortest_paths(n, edges):
    d = np.full((n, n), np.inf)
    d[np.arange(n), np.arange(n)] = 0.0
    for a, b, length in edges:
        d[a, b] = d[b, a] = min(length, d[a, b])
    for z in range(n):
        d = np.minimum(d, d[:, z][:, None] + d[z][None, :])
    return d


def check(prior, gains, notion, levels, method=None, gap=1e-6, mixed=()):
    """A design is optimal, private over all pairs, and has the value of the naive program."""
    design = md.design(prior, md.utility.Matrix(gains), notion, solver=method or "differences")
    width = float(gains.max() - gains.min())
    assert design.gap <= gap
    best = naive_optimum(prior.probabilities, gains, levels, mixed)
    assert design.value == pytest.approx(best, abs=1e-6 * width)
    assert design.bound >= best - 1e-8 * width
    kernel = design.mechanism.kernel
    for z in range(len(kernel)):
        assert (kernel <= np.exp(levels[:, z] + 1e-12)[:, None] * kernel[z][None]).all()
    for over, under, level in mixed:
        assert (over @ kernel <= np.exp(level + 1e-12) * (under @ kernel)).all()
    return design


SHAPES = ["graph", "tree", "line", "cycle", "grid", "lattice"]


def shape(name, rng):
    """Number of symbols, all distances, and the notion at a level of one."""
    if name in ("grid", "lattice"):
        points = np.array([(a, b) for a in range(4) for b in range(3)], float)
        d = distances_of(points)
        if name == "lattice":
            d = np.abs(points[:, None] - points[None]).sum(axis=2)
        return len(d), d, lambda e: md.MetricPrivacy(e, d)
    n = int(rng.integers(5, 10))
    if name == "line":
        edges = [(i, i + 1, float(rng.uniform(0.3, 2))) for i in range(n - 1)]
    elif name == "cycle":
        edges = [(i, (i + 1) % n, 1.0) for i in range(n)]
    else:
        edges = random_graph(rng, n, 0 if name == "tree" else n // 2)
    return n, shortest_paths(n, edges), lambda e: md.MetricPrivacy.graph(e, edges)


@for_each("name", SHAPES)
@for_each("seed", range(3))
def test_agrees_with_a_naive_program(name, seed):
    rng = np.random.default_rng([seed, SHAPES.index(name)])
    n, d, notion = shape(name, rng)
    level = float(rng.choice([0.3, 1.0, 2.0]))
    gains = -d if seed == 0 else rng.normal(size=(n, n + seed))
    masses = rng.dirichlet(np.ones(n)) if seed else np.full(n, 1 / n)
    check(md.Prior(masses.tolist()), gains, notion(level), level * d)


def test_a_list_takes_the_tightest_bound_of_each_pair():
    rng = np.random.default_rng(3)
    n, d, notion = shape("grid", rng)
    prior = md.Prior(rng.dirichlet(np.ones(n)).tolist())
    levels = np.minimum(d, 1.5)
    levels[np.arange(n), np.arange(n)] = 0.0
    design = check(prior, -d, [notion(1.0), md.LDP(1.5)], levels)
    alone = md.design(prior, md.utility.Matrix(-d), notion(1.0), solver="differences")
    assert alone.value > design.value + 1e-3  # the second notion does bind


def _lifts(p, upper=None, lower=None):
    """Pairs of bounds on the lift of every symbol."""
    points = np.eye(len(p))
    over = [] if upper is None else [(x, p, upper) for x in points]
    return over + ([] if lower is None else [(p, x, lower) for x in points])


def _beside(name, p, parts):
    """A notion to stand beside a metric, and its bounds by definition."""
    parts = np.asarray(parts)
    groups = [np.where(parts == part, p, 0.0) / p[parts == part].sum() for part in range(3)]
    if name == "PML":
        return md.PML(0.3), _lifts(p, upper=0.3)
    if name == "LIP":
        return md.LIP(0.4), _lifts(p, 0.4, 0.4)
    if name == "ALIP":
        return md.ALIP(0.5, 0.2), _lifts(p, 0.2, 0.5)
    if name == "PMC":
        return md.PMC(0.3), _lifts(p, lower=0.3)
    if name == "a feature":
        feature = dict(enumerate(parts.tolist()))
        return md.FeaturePML(0.1, feature), [(group, p, 0.1) for group in groups]
    secrets = {str(part): np.flatnonzero(parts == part).tolist() for part in range(3)}
    pairs = [(a, b, 0.2) for a in groups for b in groups if a is not b]
    return md.Pufferfish(0.2, secrets), pairs


@for_each("name", ["PML", "LIP", "ALIP", "PMC", "a feature", "groups"])
@for_each("seed", range(3))
def test_bounds_on_lifts_and_groups_beside_a_metric(name, seed):
    """Mixtures of symbols are nodes of the graph."""
    rng = np.random.default_rng([9, seed])
    n, d, notion = shape("graph" if seed else "line", rng)
    p = rng.dirichlet(np.ones(n)) if seed < 2 else np.full(n, 1 / n)
    prior = md.Prior(p.tolist())
    parts = rng.permutation(np.arange(n) % 3)
    beside, mixed = _beside(name, prior.probabilities, parts)
    gains = -d if seed == 0 else rng.normal(size=(n, n + 1))
    found = check(prior, gains, [notion(1.0), beside], d, mixed=mixed)
    alone = md.design(prior, md.utility.Matrix(gains), notion(1.0), solver="differences")
    assert alone.value > found.value + 1e-4  # the bounds on mixtures do bind


# The first two places are one.
TIED = np.minimum(abs(np.subtract.outer([0, *range(17)], [0, *range(17)])), 1)


@for_each(
    ("notion", "why"),
    [
        (md.PML(1.0), "does not handle an upper bound on the lift"),
        (md.Pufferfish(1.0, {"low": range(9), "high": range(9, 18)}), "two symbols"),
        ([md.LDP(1.0), md.FeaturePML(1.0, {x: x // 6 for x in range(18)})], "two symbols"),
        ([md.DP(1.0, "adjacent"), md.FeaturePML(1.0, {x: x // 2 for x in range(18)})], "than 8"),
        (md.MetricPrivacy(1.0, TIED), "zero"),
    ],
)
def test_refuses_what_it_cannot_do(notion, why):
    prior = md.Prior.uniform(range(18))
    with pytest.raises(md.errors.NoMethodError, match=why):
        md.design(prior, md.utility.Hamming(), notion, solver="differences")


def test_wrong_multipliers_are_not_believed():
    """A control: the bound is recomputed, so a method that errs shows a gap, not an optimum."""

    class Careless(Differences):
        name = "careless"

        def solve(self, program):
            found = super().solve(program)
            ((z,),) = found.duals.multipliers
            return replace(found, duals=replace(found.duals, multipliers=((z * 0.9,),)))

    rng = np.random.default_rng(5)
    n, _, notion = shape("grid", rng)
    prior, gains = md.Prior(rng.dirichlet(np.ones(n)).tolist()), rng.normal(size=(n, n))
    with pytest.warns(md.errors.GapWarning):
        careless = md.design(prior, md.utility.Matrix(gains), notion(0.5), solver=Careless())
    honest = md.design(prior, md.utility.Matrix(gains), notion(0.5), solver="differences")
    assert careless.bound >= honest.value - 1e-9
    assert careless.gap > 1e-3


def test_a_single_unequal_mass_or_loss_breaks_the_symmetry():
    """A control: what only looks symmetric is not taken for it."""
    d = distances_of(np.array([(a, b) for a in range(3) for b in range(3)], float))
    notion = md.MetricPrivacy(0.8, d)
    masses = np.full(9, 1 / 9)
    masses[1] += 1e-3
    loss = d.copy()
    loss[0, 8] += 1e-3
    for p, u in ((masses / masses.sum(), -d), (np.full(9, 1 / 9), -loss)):
        prior = md.Prior(p.tolist())
        program = state_problem(prior, md.utility.Matrix(u), notion).program
        assert 3 < int(Differences().solve(program).details["outputs"]) < 9
        check(prior, u, notion, 0.8 * d)


def remapped_on(n, steps, gains):
    """What a line with these lengths of steps gives for gains that hold masses already."""
    notion = md.MetricPrivacy.graph(1.0, [(i, i + 1, d) for i, d in enumerate(steps)])
    program = state_problem(md.Prior.uniform(range(n)), md.utility.Matrix(gains), notion).program
    arcs = graph_of(program).arcs
    found = remapped(gains, arcs)
    assert (found.columns >= 0).all()
    np.testing.assert_allclose(found.columns.sum(axis=1), 1.0, atol=1e-12)
    # Slacks and multipliers, written out.
    assert (arcs.matrix @ found.columns).min() >= -1e-12
    assert (found.values >= 0).all()
    z = np.zeros((len(arcs), gains.shape[1]))
    z[found.arcs, found.outputs] = found.values
    assert (gains + arcs.matrix.T @ z - found.prices[:, None]).max() <= 1e-12
    value = float((gains * found.columns).sum())
    assert found.gap == pytest.approx(found.prices.sum() - value, abs=1e-15)
    return value, value + found.gap


@for_each("seed", range(6))
def test_a_line_with_losses_that_grow_has_a_closed_form(seed):
    """The geometric mechanism with mapped reports, for steps of any length and any masses."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    steps = rng.choice([0.01, 0.3, 1.0, 4.0], size=n - 1) if seed else np.ones(n - 1)
    x = np.arange(n)
    d = np.abs(x[:, None] - x[None, rng.permutation(n)]).astype(float) ** rng.choice([0.5, 1, 2])
    gains = -rng.dirichlet(np.ones(n) / 2)[:, None] * d
    value, bound = remapped_on(n, steps, gains)
    assert bound - value <= 1e-10
    lengths = shortest_paths(n, [(i, i + 1, s) for i, s in enumerate(steps)])
    assert value == pytest.approx(naive_optimum(np.ones(n), gains, lengths), abs=1e-6)


def square_of(side):
    """Cells of a square and their distances."""
    labels = [(a, b) for a in range(side) for b in range(side)]
    return labels, distances_of(np.array(labels, float))


def test_symmetries_are_found_used_and_undone():
    """A square has three orbits of cells; a cube of answers to six questions has one."""
    cells, square = square_of(4)
    cube = [tuple(i >> k & 1 for k in range(6)) for i in range(64)]
    answers = (np.array(cube)[:, None] != np.array(cube)[None]).sum(axis=2).astype(float)
    for labels, d, outputs in ((cells, square, 3), (cube, answers, 1)):
        asked = md.Prior.uniform(labels), md.utility.Matrix(-d), md.MetricPrivacy(1, d)
        program = state_problem(*asked).program
        assert Differences().solve(program).details["outputs"] == str(outputs)
        found = Differences(symmetry=False).solve(program) if outputs == 3 else None
        assert found is None or found.details["outputs"] == "16"
        assert md.design(*asked).gap <= 1e-6
    prior, notion = md.Prior.uniform(cells), md.MetricPrivacy(1, square)
    kernel = check(prior, -square, notion, square, Differences()).mechanism.kernel
    turned = [cells.index((b, 3 - a)) for a, b in cells]
    np.testing.assert_allclose(kernel[np.ix_(turned, turned)], kernel, atol=1e-9)
