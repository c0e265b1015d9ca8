"""Notions of the likelihood family beyond the five: contract, naive programs, reference values."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from family_notions import MAKERS, N
from hypothesis import given
from hypothesis import strategies as st
from notion_contract import CONTRACT, COSTLY, relabelling_changes_nothing
from scipy.optimize import linprog
from strategies import exact_mechanism, random_gains, random_mechanism

import mechdesign as md
from mechdesign.certificate.certificate import fingerprint
from mechdesign.errors import LevelError, PriorError, UnknownNameError
from mechdesign.exact import Verdict
from mechdesign.privacy import databases, differential, robust


@for_each("part", slow_but(lambda part: part not in COSTLY, CONTRACT))
@for_each("name", MAKERS)
def test_contract(name, part, four_symbols):
    if name == "entry" and part is relabelling_changes_nothing:
        moved = md.Prior([0.1, 0.2, 0.3, 0.4], [3, 1, 2, 0])
        refused(lambda: MAKERS[name](1.0).bounds(moved), "order")
    else:
        part(MAKERS[name])


# Naive programs, with every pair of hypotheses written out


# Count queries and databases

COUNT_QUERY = {"absolute": 0.728544476, "squared": 1.399746422, "discrete": 0.488984402}


@pytest.mark.parametrize(("loss", "expected"), COUNT_QUERY.items())
def test_count_query_reference_values(loss, expected):
    counts = md.Prior.uniform(range(11))
    for notion in (md.DP(1, "adjacent"), md.MetricPrivacy(1, "absolute")):
        found = md.design(counts, md.utility.Distance(loss), notion)
        assert -found.value == pytest.approx(expected, abs=1e-9)
        assert -found.bound == pytest.approx(expected, abs=1e-9)


def geometric(n, epsilon):
    """The truncated geometric mechanism on 0 … n."""
    a = math.exp(-epsilon)
    i = np.arange(n + 1)
    kernel = (1 - a) / (1 + a) * a ** np.abs(i[:, None] - i[None, :])
    kernel[:, 0] = a**i / (1 + a)
    kernel[:, -1] = kernel[::-1, 0]
    return kernel


def remapped(p, gains, kernel):
    """The best utility after each output is mapped to the action that suits it."""
    return float((gains.T @ (p[:, None] * kernel)).max(axis=0).sum())


@given(st.integers(1, 8), st.floats(0.1, 3.0), st.integers(0, 10**6))
def test_geometric_and_remap_is_optimal_for_monotone_losses(n, epsilon, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n + 1))
    steps = np.cumsum(rng.exponential(size=n + 1))
    i = np.arange(n + 1)
    gains = -steps[np.abs(i[:, None] - i[None, :])]
    found = md.design(md.Prior.from_counts(p), md.utility.Matrix(gains), md.DP(epsilon, "adjacent"))
    assert found.value == pytest.approx(remapped(p, gains, geometric(n, epsilon)), abs=1e-7)


@pytest.mark.parametrize("values", [2, 3])
def test_counts_lose_nothing_against_whole_databases(values):
    n, e = 3, 0.7
    chances = [0.5, 0.3, 0.2][:values]
    rows = list(itertools.product(range(values), repeat=n))

    def reduce(row):
        tally = tuple(row.count(v) for v in range(values))
        return tally[1] if values == 2 else tally

    full = md.Prior.from_counts(
        [math.prod(Fraction(chances[v]) for v in row) for row in rows], rows
    )
    counts = databases.counts_prior(n, chances)
    rng = np.random.default_rng(values)
    gain = {t: rng.uniform(-1, 1, 3) for t in counts.labels}
    small = md.utility.Matrix([gain[t] for t in counts.labels])
    large = md.utility.Matrix([gain[reduce(row)] for row in rows])
    for whole, reduced in [
        (md.DP(e, "hamming"), md.DP(e, databases.neighbouring_counts(n, values))),
        (
            md.FeaturePML.from_function(e / 4, lambda row: row[0], rows),
            md.FeaturePML(e / 4, databases.entry_of(n, values)),
        ),
    ]:
        best = md.design(counts, small, reduced)
        if isinstance(whole, md.FeaturePML):
            # One entry alone may be hidden by looking at the others: all entries must be safe.
            asked = [
                md.FeaturePML.from_function(e / 4, lambda row, i=i: row[i], rows) for i in range(n)
            ]
        else:
            asked = [whole]
        found = md.design(full, large, asked)
        assert found.value == pytest.approx(best.value, abs=1e-7)
        lifted = md.Mechanism.from_weights(
            best.mechanism.weights[[counts.index(reduce(row)) for row in rows]],
            best.mechanism.bits,
            rows,
        )
        for notion in asked:
            assert notion.check(lifted, full).verdict is Verdict.YES


def test_counts_are_multinomial():
    prior = databases.counts_prior(4, [0.5, 0.25, 0.25])
    assert len(prior) == math.comb(6, 2)
    assert prior.mass(prior.labels.index((2, 1, 1))) == Fraction(12, 64)
    assert databases.counts_prior(3, Fraction(1, 3)).mass(2) == Fraction(2, 9)
    pairs = databases.neighbouring_counts(2, 3)
    for t, s in itertools.combinations(databases.counts_of(2, 3), 2):
        apart = sum(abs(a - b) for a, b in zip(t, s, strict=True))
        assert ((t, s) in pairs or (s, t) in pairs) is (apart == 2)


# Metrics


@for_each("n", [18, 19, 20, 50])
def test_unit_spaced_line_is_exactly_private(n):
    """Sizes at which entries fall below a solver's tolerance and are dropped to zero."""
    line = md.Prior.uniform(range(n))
    found = md.design(line, md.utility.Distance("absolute"), md.MetricPrivacy(1, "absolute"))
    assert found.certificate.checks[0].verdict is Verdict.YES
    assert found.certificate.is_optimal
    kernel = found.mechanism.kernel
    with np.errstate(divide="ignore"):
        logs = np.log(kernel[:, kernel.max(axis=0) > 0])
    assert np.isfinite(logs).all()
    for a, b in itertools.combinations(range(n), 2):
        assert np.abs(logs[a] - logs[b]).max() <= abs(a - b) + 1e-9


@given(st.integers(0, 10**6), st.integers(2, 7))
def test_pruning_loses_nothing(seed, n):
    """Chains of kept pairs are as short as every pair that was left out."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        d = np.abs(np.subtract.outer(*[rng.integers(0, 9, n).astype(float)] * 2))
    else:
        d = np.triu(rng.integers(1, 9, (n, n)), 1).astype(float)
        d = d + d.T
    kept = np.full((n, n), np.inf)
    np.fill_diagonal(kept, 0.0)
    for i, j, length in differential.deciding_pairs(differential.checked_distances(d), range(n)):
        kept[i, j] = kept[j, i] = min(length, kept[i, j])
    for z in range(n):
        kept = np.minimum(kept, kept[:, [z]] + kept[[z]])
    assert (kept <= d).all()


def test_pruning_compares_sums_exactly():
    """0.1 + 0.2 exceeds 0.3 as numbers, although a float comparison may not see it."""
    third = 0.1 + 0.2
    d = [[0, 0.1, third], [0.1, 0, 0.2], [third, 0.2, 0]]
    exact = Fraction(0.1) + Fraction(0.2) <= Fraction(third)
    assert (
        len(differential.deciding_pairs(differential.checked_distances(d), range(3))) == 2
    ) is exact
    lower = math.nextafter(third, 0)
    d[0][2] = d[2][0] = lower
    assert len(differential.deciding_pairs(differential.checked_distances(d), range(3))) == 3


def test_symbols_at_distance_zero_are_tied():
    d = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    prior = md.Prior([0.5, 0.2, 0.3])
    found = md.design(prior, md.utility.Hamming(), md.MetricPrivacy(1, d))
    np.testing.assert_array_equal(found.mechanism.weights[0], found.mechanism.weights[1])
    assert found.gap < 1e-6


# Symbols of zero mass


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
@for_each("name", [name for name in MAKERS if name != "entry"])
def test_designs_with_a_symbol_of_zero_mass(name):
    prior = md.Prior([0.5, 0.0, 0.2, 0.3])
    for notion in (MAKERS[name](0.4), [MAKERS[name](0.4), md.LDP(2.0)]):
        found = md.design(prior, md.utility.Hamming(), notion)
        assert found.gap < 1e-6
        assert all(c.verdict is Verdict.YES for c in found.certificate.checks)


# Sets of priors


def worst_prior(notion, column):
    kind = notion.priors[0]
    upper = lower = None
    if kind == "ball":
        centre = np.array([float(m) for _, m in notion.priors[1]])
        # p = centre − a + b with Σ a ≤ r/2
        cost = np.concatenate([-column, column])
        limit = np.concatenate([np.ones(N), np.zeros(N)])[None]
        balance = np.concatenate([np.ones(N), -np.ones(N)])[None]
        box = [(0, c) for c in centre] + [(0, 1)] * N
        found = linprog(cost, limit, [notion.priors[2] / 2], balance, [0], box)
        return centre - found.x[:N] + found.x[N:]
    if kind == "floor":
        lower, upper = np.full(N, notion.priors[1]), np.ones(N)
    else:
        lower, upper = (np.array([float(row[k]) for row in notion.priors[1]]) for k in (1, 2))
    box = list(zip(lower, upper, strict=True))
    return linprog(column, A_eq=np.ones((1, N)), b_eq=[1], bounds=box).x


@given(st.integers(0, 10**6))
def test_bounds_of_sets_hold_for_duals_of_any_quality(seed):
    """Weights that name no prior of the set are moved into it, so the bound stays one."""
    rng = np.random.default_rng(seed)
    from mechdesign.certificate.bounds import multiplier_bound
    from mechdesign.program.problem import state_problem

    notion = MAKERS[["robust floor", "robust box", "robust ball"][seed % 3]](0.5)
    prior = md.Prior.from_counts(rng.integers(1, 9, N).tolist())
    gains = random_gains(rng, N, 3)
    program = state_problem(prior, md.utility.Matrix(gains), notion).program
    best = md.design(prior, md.utility.Matrix(gains), notion).value
    size = rng.choice([0.01, 0.1, 1.0])
    weights = (size * rng.exponential(size=(N, 3)), size * rng.exponential(size=(N, 3)))
    assert multiplier_bound(program, (weights,)) >= best - 1e-12
    _, inside = program.cone.parts[0].feasible(weights)
    np.testing.assert_allclose(inside.sum(axis=0), weights[1].sum(axis=0), rtol=1e-12)
    for column in inside.T:
        p = column / column.sum()
        for test in rng.exponential(size=(5, N)):
            floor = worst_prior(notion, test) @ test
            assert p @ test >= floor - 1e-9


def test_confidence_radius_covers_the_truth():
    """The ball holds the true prior in at least the promised share of samples."""
    rng = np.random.default_rng(4)
    p, n, confidence = np.array([0.5, 0.3, 0.15, 0.05]), 400, 0.9
    radius = robust.confidence_radius(n, len(p), confidence)
    draws = rng.multinomial(n, p, 5000) / n
    covered = (np.abs(draws - p).sum(axis=1) <= radius).mean()
    assert covered >= confidence
    # Control: a sixth of the radius does not.
    assert (np.abs(draws - p).sum(axis=1) <= radius / 6).mean() < confidence
    assert radius == pytest.approx(math.sqrt(2 * math.log((2**4 - 2) / 0.1) / 400))
    assert robust.confidence_radius(10, 2000, 0.9) == 2.0


# Pufferfish


def test_specialised_framework_is_dp_when_secrets_are_rows():
    rows = list(itertools.product((0, 1), repeat=3))
    prior = md.Prior.from_counts(np.random.default_rng(0).integers(1, 9, 8).tolist(), rows)
    functions = [(lambda r, i=i: r[i], lambda r, i=i: r[:i] + r[i + 1 :]) for i in range(3)]
    framework = md.Pufferfish.specialised(0.6, rows, functions)
    rng = np.random.default_rng(3)
    for _ in range(10):
        mechanism = random_mechanism(rng, 8, 3)
        mechanism = md.Mechanism.from_weights(mechanism.weights, mechanism.bits, rows)
        assert framework.check(mechanism, prior).achieved == pytest.approx(
            md.DP(0.6, "hamming").check(mechanism, prior).achieved, abs=1e-12
        )


# Audits, storage, fingerprints, bad input


@for_each("name", MAKERS)
def test_audit_save_and_load(name, tmp_path):
    prior = md.Prior([0.4, 0.3, 0.2, 0.1])
    notion = MAKERS[name](0.7)
    found = md.design(prior, md.utility.Hamming(), notion)
    report = md.audit(found.mechanism, prior, notion)
    assert report.verdict is Verdict.YES
    assert getattr(report, type(notion).__name__.lower()) <= 0.7
    md.save(found, tmp_path / "d.json")
    again = md.load(tmp_path / "d.json")
    assert again.notions == (notion,)
    assert again.certificate.fingerprint == found.certificate.fingerprint
    assert repr(again.bound) == repr(found.bound)


def test_audits_do_not_list_what_needs_parameters_or_repeats_another():
    report = md.audit(np.eye(2), md.Prior([0.5, 0.5]))
    assert list(report.leakages) == ["pml", "pmc", "lip", "alip", "ldp"]


def test_fingerprints_tell_parameters_apart():
    prior = md.Prior.uniform(4)
    mechanism = exact_mechanism(np.full((4, 2), 0.5))
    prints = {fingerprint(prior, mechanism, (make(0.5),)) for make in MAKERS.values()}
    assert len(prints) == len(MAKERS)
    again = {fingerprint(prior, mechanism, (replace(make(0.5)),)) for make in MAKERS.values()}
    assert again == prints


HALF = md.Prior([0.5, 0.5])
REFUSED = {
    "relation": (lambda: md.DP(1, "adjecent"), UnknownNameError, "adjacent"),
    "function": (lambda: md.DP(1, lambda a, b: True), LevelError, "DP.between"),
    "pair": (lambda: md.DP(1, [(0, 0)]), LevelError, "different"),
    "unknown": (lambda: md.DP(1, [(0, 7)]).bounds(HALF), LevelError, "7"),
    "text": (
        lambda: md.DP(1, "adjacent").bounds(md.Prior([0.5, 0.5], ["a", "b"])),
        LevelError,
        "numbers",
    ),
    "databases": (lambda: md.DP(1, "hamming").bounds(HALF), LevelError, "tuples"),
    "asymmetric": (lambda: md.MetricPrivacy(1, [[0, 1], [2, 0]]), LevelError, "symmetric"),
    "size": (lambda: md.MetricPrivacy(1, np.zeros((3, 3))).bounds(HALF), LevelError, "2×2"),
    "edge": (lambda: md.MetricPrivacy.graph(1, [(0, 1, -1)]), LevelError, "positive"),
    "feature": (lambda: md.FeaturePML(1, 3), LevelError, "mapping"),
    "mass": (lambda: md.FeaturePML(1, {0: {"a": -1}}), LevelError, "non-negative"),
    "value": (lambda: md.FeaturePML(1, {0: "a"}).bounds(HALF), LevelError, "every symbol"),
    "set": (lambda: md.RobustPML(1, "all"), PriorError, "RobustPML.floor"),
    "least": (lambda: md.RobustPML.floor(1, -0.1), PriorError, "0 to 1"),
    "too much": (lambda: md.RobustPML.floor(1, 0.6).bounds(HALF), PriorError, "no prior"),
    "range": (lambda: md.RobustPML.box(1, {0: (0.5, 0.2)}), PriorError, "low ≤ high"),
    "ranges": (lambda: md.RobustPML.box(1, {0: (0, 1)}).bounds(HALF), PriorError, "each of"),
    "confidence": (lambda: md.RobustPML.from_counts(1, {0: 5}, 95), LevelError, "0.95"),
    "pairs": (lambda: md.Pufferfish(1, {"a": [0], "b": [1]}, [("a", "c")]), LevelError, "a, b"),
    "symbols": (
        lambda: md.design(HALF, md.utility.Hamming(), md.Pufferfish(1, {"a": [0], "b": [7]})),
        LevelError,
        "7",
    ),
    "prior of the set": (
        lambda: md.Pufferfish(1, {"a": [0], "b": [1]}, priors=[md.Prior.uniform(3)]).bounds(HALF),
        PriorError,
        "mass on 2",
    ),
    "no prior of the set": (
        lambda: md.Pufferfish(1, {"a": [0], "b": [1]}, priors=[]),
        PriorError,
        "one",
    ),
    "chances": (lambda: md.EntryPML(1, 3, 0.7), LevelError, "low ≤ high"),
    "entries": (lambda: md.EntryPML(1, 0, 0.2), PriorError, "one entry"),
}


@for_each("name", REFUSED)
def test_bad_input(name):
    make, error, word = REFUSED[name]
    refused(make, word, error=error)
