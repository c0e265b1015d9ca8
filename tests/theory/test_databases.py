"""Databases: leakage about entries, and differential and free-lunch privacy as PML."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import counts, kernels

import mechdesign as md
from mechdesign.errors import DataError, KernelError, LevelError
from mechdesign.exact import Verdict, compare_with_exp
from mechdesign.papers import disclosure_prevention
from mechdesign.papers.catalogue import find_theorem

T = md.theory
SHAPES = st.sampled_from([(2, 1), (3, 1), (2, 2), (3, 2), (2, 3)])


@st.composite
def cases(draw, zeros=True, masses=True):
    """A mechanism on all databases of a small kind, and a joint prior."""
    size, entries = draw(SHAPES)
    number = size**entries
    weights = draw(counts(number))
    if masses:
        keep = draw(st.lists(st.integers(0, 2), min_size=number, max_size=number))
        weights = [w * bool(k) for w, k in zip(weights, keep, strict=True)]
        weights[0] = weights[0] or 1
    database = T.Database(np.array(weights, dtype=float).reshape((size,) * entries))
    kernel = draw(kernels(number, draw(st.integers(1, 3)), zeros))
    return md.Mechanism(kernel, database.prior.labels), database


def naive_leakage(mechanism, database, i, y, others=None):
    """ℓ(D_i→y), or given the other entries, by summing over databases one by one."""
    labels, masses = database.prior.labels, database.prior.probabilities
    chosen = [
        x
        for x, row in enumerate(labels)
        if masses[x] > 0 and (others is None or row[:i] + row[i + 1 :] == others)
    ]
    total = sum(masses[x] for x in chosen)
    if total == 0:
        return 0.0
    q = sum(masses[x] * mechanism.kernel[x, y] for x in chosen) / total
    if q == 0:
        return 0.0
    best = 0.0
    for d in database.alphabet:
        own = [x for x in chosen if labels[x][i] == d]
        mass = sum(masses[x] for x in own)
        if mass > 0:
            given_d = sum(masses[x] * mechanism.kernel[x, y] for x in own) / mass
            best = max(best, math.log(given_d / q) if given_d > 0 else 0.0)
    return best


@given(cases())
def test_entry_and_conditional_leakage_by_summing_over_databases(case):
    mechanism, database = case
    found, known = T.entry_leakage(mechanism, database), T.conditional_leakage(mechanism, database)
    others = list(product(database.alphabet, repeat=database.entries - 1))
    for i in range(database.entries):
        for y in range(mechanism.shape[1]):
            assert found[i, y] == pytest.approx(naive_leakage(mechanism, database, i, y), abs=1e-9)
            worst = max(naive_leakage(mechanism, database, i, y, rest) for rest in others)
            assert known[i, y] == pytest.approx(worst, abs=1e-9)
    whole = T.outcome_leakage(mechanism, database.prior)
    assert (found <= whole + 1e-9).all()


def naive_level(mechanism, database, apart):
    worst = 0.0
    for a, first in enumerate(database.prior.labels):
        for b, second in enumerate(database.prior.labels):
            if sum(d != e for d, e in zip(first, second, strict=True)) <= apart:
                for y in range(mechanism.shape[1]):
                    top, low = mechanism.kernel[a, y], mechanism.kernel[b, y]
                    if top > 0:
                        worst = max(worst, math.log(top / low) if low > 0 else math.inf)
    return worst


@given(cases())
def test_levels_by_comparing_all_pairs(case):
    mechanism, database = case
    dp = T.dp_level(mechanism, database)
    assert dp == pytest.approx(naive_level(mechanism, database, 1), abs=1e-9)
    lunch = T.free_lunch_level(mechanism, database)
    assert lunch == pytest.approx(naive_level(mechanism, database, database.entries), abs=1e-9)
    assert lunch == pytest.approx(T.leakage_capacity(mechanism), abs=1e-12)
    assert dp <= lunch
    if lunch < math.inf:
        assert lunch <= database.entries * dp + 1e-9


@given(cases(zeros=False, masses=False), st.data())
def test_the_characterisations_bound_and_approach_the_levels(case, data):
    mechanism, database = case
    number = len(database)
    for make, level in (
        (T.dp_as_pml, T.dp_level(mechanism, database)),
        (T.free_lunch_as_pml, T.free_lunch_level(mechanism, database)),
    ):
        found = make(mechanism, database)
        assert found.level == pytest.approx(level, abs=1e-12)
        assert len(found.approaches) == 3
        for near in found.approaches:
            assert near.database.prior.has_full_support
            assert near.leakage <= level + 1e-12
            assert near.leakage >= level - 1e-6
        rough = make(mechanism, database, 0.1)
        assert rough.gap >= found.gap - 1e-12
    weights = np.array(data.draw(counts(number)), dtype=float)
    other = T.Database(weights.reshape((len(database.alphabet),) * database.entries))
    dp, lunch = T.dp_level(mechanism, other), T.free_lunch_level(mechanism, other)
    assert T.conditional_leakage(mechanism, other).max() <= dp + 1e-9
    assert T.entry_leakage(mechanism, other).max() <= lunch + 1e-9
    marginals = [other.marginal(i) for i in range(other.entries)]
    independent = T.Database.independent(marginals)
    assert T.entry_leakage(mechanism, independent).max() <= dp + 1e-9
    assert T.conditional_leakage(mechanism, independent).max() <= dp + 1e-9


def test_product_priors_are_products():
    rng = np.random.default_rng(4)
    database = T.Database(np.ones((3, 3)))
    mechanism = md.Mechanism(rng.dirichlet(np.ones(3), 9), database.prior.labels)
    for found in (
        T.dp_as_pml(mechanism, database, 1e-3),
        T.free_lunch_as_pml(mechanism, database, 1e-3),
    ):
        for near in found.approaches:
            joint = near.database.joint
            product_of = np.outer(joint.sum(axis=1), joint.sum(axis=0))
            assert ("product" in near.statement) == np.allclose(joint, product_of, rtol=1e-6) or (
                near.statement == "ℓ(X→y) over all priors"
            )


def test_an_infinite_level_is_approached_without_end():
    database = T.Database(np.ones((2, 2)))
    kernel = [[1, 0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    mechanism = md.Mechanism(kernel, database.prior.labels)
    assert T.dp_level(mechanism, database) == math.inf
    for make in (T.dp_as_pml, T.free_lunch_as_pml):
        few = [a.leakage for a in make(mechanism, database, 1e-3).approaches]
        many = [a.leakage for a in make(mechanism, database, 1e-9).approaches]
        assert all(b > a + 5 for a, b in zip(few, many, strict=True))


def test_one_entry_may_not_be_enough_for_free_lunch_privacy():
    """Every prior leaves entry 0 below the level that the theorem gives for the best entry."""
    labels = T.Database(np.ones((2, 2))).prior.labels
    mechanism = md.Mechanism([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5]], labels)
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(2000):
        database = T.Database(rng.dirichlet(np.full(4, 0.1)).reshape(2, 2) + 1e-12)
        worst = max(worst, T.entry_leakage(mechanism, database)[0].max())
    assert worst <= math.log(5) + 1e-9
    assert worst > math.log(5) - 0.1
    assert T.free_lunch_level(mechanism, database) == pytest.approx(math.log(9))


# Theorem 4.3


@given(st.floats(0.02, 3), st.floats(1e-4, 1), st.lists(st.integers(1, 40), min_size=2, max_size=3))
def test_correlated_databases_are_private_and_leak(epsilon, delta, weights):
    entry = md.Prior.from_counts(weights)
    found = T.correlated_database(epsilon, delta, entry)
    w, one = found.mechanism.weights, 1 << found.mechanism.bits
    assert found.mechanism.is_exact
    for lower, upper in pairwise(w):
        for column in (0, 1):
            pair = sorted((int(lower[column]), int(upper[column])))
            ratio = Fraction(pair[1], pair[0])
            assert compare_with_exp(ratio, Fraction(epsilon)) is Verdict.YES
    assert sum(int(v) for v in w[0]) == one
    rare = min(Fraction(c, sum(weights)) for c in weights)
    mixture = rare * int(w[-1, 0]) + (1 - rare) * int(w[0, 0])
    assert found.leakage == pytest.approx(math.log(float(int(w[-1, 0]) / mixture)), abs=1e-12)
    assert found.leakage > found.ceiling - delta - 1e-12
    assert found.ceiling == pytest.approx(-math.log(rare))


def test_correlated_databases_expand_to_databases():
    entry = md.Prior([0.6, 0.3, 0.1], ["a", "b", "c"])
    found = T.correlated_database(1.5, 0.3, entry)
    database, mechanism = found.expanded()
    assert database.marginal(2) == entry
    assert T.dp_level(mechanism, database) <= 1.5 + 1e-9
    leaked = T.entry_leakage(mechanism, database)
    assert leaked.max() == pytest.approx(found.leakage, abs=1e-9)
    # Somebody who knows the others learns nothing more: conditional leakage is blind to it.
    assert T.conditional_leakage(mechanism, database).max() == 0


@for_each(("epsilon", "delta"), [(1e7, 1e-3), (0.5, 1e6), (30.0, 1e-300), (1e-3, 1)])
def test_extreme_levels_of_correlated_databases(epsilon, delta):
    found = T.correlated_database(epsilon, delta, md.Prior([1e-12, 1 - 1e-12]))
    assert found.mechanism.is_exact
    assert found.ceiling >= found.leakage
    assert found.leakage > found.ceiling - delta or delta < 1e-12
    assert found.entries == 1 or epsilon < 100


def test_impossible_levels_are_told():
    refused(lambda: T.correlated_database(0, 0.1), "above 0", error=LevelError)
    refused(lambda: T.correlated_database(1, math.nan), "above 0", error=LevelError)
    refused(lambda: T.correlated_database(1e-7, 0.1), "100000 entries", error=LevelError)
    refused(lambda: T.correlated_database(1e-300, 0.1), "100000 entries", error=LevelError)
    refused(lambda: T.correlated_database(1, 0.1, md.Prior([1.0])), "two symbols", error=LevelError)


# Databases


def test_databases_are_made_in_three_ways():
    twins = T.Database({("a", "a"): 0.6, ("b", "b"): 0.3, ("a", "b"): 0.1}, ["a", "b"])
    assert twins.prior.labels == (("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"))
    assert twins.joint == pytest.approx(np.array([[0.6, 0.1], [0, 0.3]]))
    assert twins.entry(1).outputs == ("a", "b")
    assert twins.marginal(1).probabilities == pytest.approx([0.6, 0.4])
    skewed = md.Prior([0.75, 0.25])
    pair = T.Database.independent([skewed, md.Prior([0.5, 0.5])])
    assert pair.prior.mass(0) == Fraction(3, 8)
    assert T.Database.iid(skewed, 2).prior.mass(3) == Fraction(1, 16)
    assert T.Database(pair.joint).prior == pair.prior
    assert len(T.Database(np.ones(3))) == 3


def test_mistakes_are_told():
    refused(lambda: T.Database(np.ones((2, 3))), "k places", error=DataError)
    refused(lambda: T.Database([[0.5, 0.5], [0.5]]), "different lengths", error=DataError)
    refused(lambda: T.Database({("a",): 1, ("a", "b"): 1}), "one length", error=DataError)
    refused(lambda: T.Database({("a", "c"): 1}, ["a", "b"]), "'c'", error=DataError)
    refused(lambda: T.Database({"ab": 1}, ["a", "b"]), "tuples", error=DataError)
    refused(lambda: T.Database.iid(md.Prior([0.5, 0.5]), 20), "65536", error=DataError)
    refused(lambda: T.Database.iid(md.Prior([0.5, 0.5]), 0), "at least 1", error=DataError)
    refused(lambda: T.Database.independent([]), "one Prior", error=DataError)
    both = [md.Prior([0.5, 0.5]), md.Prior([0.5, 0.5], ["a", "b"])]
    refused(lambda: T.Database.independent(both), "one alphabet", error=DataError)
    pairs = T.Database(np.ones((2, 2)))
    refused(lambda: pairs.entry(2), "from 0 to 1", error=DataError)
    refused(lambda: pairs.marginal("a"), "from 0 to 1", error=DataError)
    four = md.Mechanism(np.eye(4))
    refused(lambda: T.dp_level(four, pairs), "database.prior.labels", error=KernelError)
    good = md.Mechanism(np.eye(4), pairs.prior.labels)
    refused(lambda: T.dp_as_pml(good, pairs, 0), "0.5", error=LevelError)
    refused(lambda: T.Database([[0.5, math.nan], [0.2, 0.3]]), "finite")


# The checks in the register can fail


@pytest.mark.parametrize(
    ("name", "broken", "result"),
    [
        ("conditional_leakage", lambda m, d: T.dp_level(m, d) * np.ones((1, 1)), "PML-Rem-B.1"),
        (
            "correlated_database",
            lambda e, d, p: T.correlated_database(2 * e, d, p),
            "PML-Thm-4.3",
        ),
        ("entry_leakage", lambda m, d: T.entry_leakage(m, d) * 1.01, "PML-Sec-4"),
    ],
)  # fmt: skip
def test_a_wrong_function_is_found_out(monkeypatch, name, broken, result):
    check = find_theorem(result)
    assert check.check(5, instances=5).ok
    monkeypatch.setattr(disclosure_prevention, name, broken)
    assert not check.check(5, instances=5).ok
