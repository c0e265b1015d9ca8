"""Less noisy and more capable: erasures and flips, brute force over priors, what is not decided."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused, slow_but

import mechdesign as md
from mechdesign.channels import _orders
from mechdesign.errors import KernelError, LevelError
from mechdesign.exact import Verdict


def erasure(lost):
    return [[1 - lost, 0, lost], [0, 1 - lost, lost]]


def flip(wrong):
    return [[1 - wrong, wrong], [wrong, 1 - wrong]]


def information(kernel, p):
    kernel = np.asarray(kernel)
    q = p @ kernel
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = p[:, None] * kernel * np.log(kernel / q)
    return np.nansum(np.where(kernel > 0, terms, 0.0))


def gap(one, two, p):
    """The least eigenvalue of the difference of J on directions that sum to zero."""
    n = len(p)
    basis = np.vstack([-np.ones(n - 1), np.eye(n - 1)])
    j = [k @ np.diag(1 / (p @ k)) @ k.T for k in (np.asarray(one), np.asarray(two))]
    return np.linalg.eigvalsh(basis.T @ (j[0] - j[1]) @ basis)[0]


# The published thresholds for an erasure against a flip with δ = 0.2: a post-processing up to
# erasures 2δ, less noisy up to 4δ(1 − δ), more capable up to the entropy of δ in bits.
WRONG = 0.2
ORDERS = (md.refines, md.less_noisy, md.more_capable)
ENTROPY = -(WRONG * math.log2(WRONG) + (1 - WRONG) * math.log2(1 - WRONG))


@for_each(
    ("lost", "expected"),
    [
        (0.38, (True, True, True)),
        (0.42, (False, True, True)),
        (4 * WRONG * (1 - WRONG) - 0.02, (False, True, True)),
        (4 * WRONG * (1 - WRONG) + 0.02, (False, False, True)),
        (ENTROPY - 0.02, (False, False, True)),
        (ENTROPY + 0.02, (False, False, False)),
    ],
)
def test_an_erasure_against_a_flip_passes_the_published_thresholds(lost, expected):
    one, two = erasure(lost), flip(WRONG)
    found = (md.refines(one, two), md.less_noisy(one, two), md.more_capable(one, two))
    assert tuple(map(bool, found)) == expected
    assert all(order.verdict is not Verdict.UNDECIDED for order in found)
    # A flip is never above an erasure that keeps anything the flip does not.
    assert not md.more_capable(two, one) or lost > 0.7


def drawn(seed, n):
    rng = np.random.default_rng([seed, n])
    one = rng.dirichlet(np.ones(3), n)
    mixed = rng.dirichlet(np.ones(3), 3)
    share = float(rng.choice([0.0, 0.3, 0.7]))
    two = (1 - share) * one @ mixed + share * rng.dirichlet(np.ones(3) * 3, n)
    return one, two / two.sum(axis=1, keepdims=True)


@for_each("n", slow_but(1, [2, 3, 4]))
@for_each("seed", range(6))
def test_verdicts_agree_with_brute_force_over_priors(n, seed):
    one, two = drawn(seed, n)
    rng = np.random.default_rng(seed)
    points = [*rng.dirichlet(np.ones(n), 1500), *rng.dirichlet(np.full(n, 0.3), 1500)]
    points = [0.999 * p + 0.001 / n for p in points]
    noisy = md.less_noisy(one, two, limit=300)
    capable = md.more_capable(one, two, limit=300)
    least = min(gap(one, two, p) for p in points)
    behind = min(information(one, p) - information(two, p) for p in points)
    assert not (noisy.verdict is Verdict.YES and least < -1e-9)
    assert not (capable.verdict is Verdict.YES and behind < -2e-9)
    # Less noisy implies more capable, and post-processing implies both.
    assert not (noisy.verdict is Verdict.YES and capable.verdict is Verdict.NO)
    assert not md.refines(one, two, tolerance=0) or (noisy and capable)
    for found, worst in ((noisy, least), (capable, behind)):
        if worst < -1e-3:
            assert found.verdict is Verdict.NO
        if found.verdict is Verdict.NO:
            check_failure(found, one, two)


def test_an_order_that_holds_decides_the_weaker_ones_and_one_that_fails_the_stronger():
    """Whatever rounding of the entries makes of a product that is a post-processing."""
    rng = np.random.default_rng(3)
    made = 0
    for _ in range(8):
        n, m, k = (int(v) for v in rng.integers(2, 5, 3))
        one = rng.dirichlet(np.ones(m), n)
        two = one @ rng.dirichlet(np.ones(k), m)
        merged = np.hstack([one[:, :1], one[:, 1:].sum(axis=1, keepdims=True)])
        for other in (two, merged, one[:, ::-1]):
            chain = [order(one, other) for order in ORDERS]
            assert [found.verdict for found in chain] == [Verdict.YES] * 3
            assert all(found.at_most <= 1e-9 for found in chain)
            made += 1
    assert made == 24
    # With too few pieces to decide the stronger order, the weaker one that fails decides.
    worse, better = erasure(ENTROPY + 0.02), flip(WRONG)
    assert [order(worse, better).verdict for order in ORDERS] == [Verdict.NO] * 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_orders._Noise, "failure", lambda *_: None)
        found = md.less_noisy(worse, better, limit=5)
    assert (found.verdict, found.order, found.direction) == (Verdict.NO, "less noisy", None)
    check_failure(found, worse, better)


def check_failure(found, one, two):
    p = found.prior.probabilities
    assert p.min() > 0
    if found.direction is None:
        ahead = information(two, p) - information(one, p)
        assert 0 < found.excess <= ahead
        return
    v = [Fraction(x) for x in found.direction]
    assert sum(v) == 0
    masses = [found.prior.mass(x) for x in range(len(p))]
    values = []
    for kernel in (md.Mechanism(one), md.Mechanism(two)):
        rows = [[Fraction(int(w), int(sum(r))) for w in r] for r in kernel.weights.tolist()]
        columns = list(zip(*rows, strict=True))
        dots = [
            (
                sum(a * k for a, k in zip(v, c, strict=True)),
                sum(m * k for m, k in zip(masses, c, strict=True)),
            )
            for c in columns
        ]
        values.append(sum(d * d / q for d, q in dots if q))
    assert values[0] < values[1]
    assert found.excess == pytest.approx(float(values[1] - values[0]), rel=1e-6)


def test_some_random_kernels_are_above_without_being_refined():
    """So that the search over pieces, and not post-processing alone, is what says yes above."""
    one, two = erasure(0.42), flip(WRONG)
    for found in (md.less_noisy(one, two), md.more_capable(one, two)):
        assert found.pieces > 1
        assert "pieces" in str(found)


def test_a_limit_that_is_reached_is_undecided():
    lost = 4 * WRONG * (1 - WRONG) - 0.001
    found = md.less_noisy(erasure(lost), flip(WRONG), limit=1)
    assert found.verdict is Verdict.UNDECIDED
    assert not found
    assert "undecided after 1 piece;" in str(found)


def test_a_kernel_is_above_itself_and_above_what_tells_nothing():
    kernel = drawn(1, 3)[0]
    for order in (md.less_noisy, md.more_capable):
        assert order(kernel, kernel)
        assert order(kernel, np.full((3, 2), 0.5))
        found = order(np.full((3, 2), 0.5), kernel)
        assert found.verdict is Verdict.NO
        assert "not" in str(found)


def test_bad_input_is_refused():
    for order in (md.less_noisy, md.more_capable):
        refused(lambda order=order: order(np.eye(2), np.eye(3)), "same inputs", error=KernelError)
        refused(lambda order=order: order(np.eye(9), np.eye(9)), "8", error=KernelError)
        refused(lambda order=order: order(np.eye(2), np.eye(2), limit=0), error=LevelError)
    refused(lambda: md.more_capable(np.eye(2), np.eye(2), tolerance=-1), error=LevelError)
