"""The one interval: reference values, Clopper and Pearson's where it is that, what it keeps."""

from __future__ import annotations

import itertools

import interval_references as references
import mutants
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interval_references import (
    answers,
    contained,
    departures,
    limits,
    response,
    scores_of,
)
from scipy import stats

import mechdesign as md
from mechdesign.inference.intervals import Sampling
from mechdesign.inference.likelihood import gaps, gradient, maximise


def test_reference_values():
    """Some were derived once, apart from the code; others are put together term by term."""
    assert list(departures()) == []


def test_mistakes_are_seen_in_the_reference_values(monkeypatch):
    unseen = []
    for name, change in references.MISTAKES.items():
        with monkeypatch.context() as patch:
            patch.setattr(references, "rule", references.mistaken(*change))
            unseen += [] if any(departures()) else [name]
    assert unseen == []


#: Functions whose changes cost time alone, or are guards against rounding.
GUARDS = ("Likeliest._varies", "Likeliest.distributions", "ends_of.kept")
#: Changes that change nothing, and why.
SAME = {
    "first + _NOBODY → first - _NOBODY": "it is there for divisions by zero",
    "1.0 * (values == low) → 2.0 * (values == low)": "masses are divided by their sum",
    "1.0 * (values == high) → 2.0 * (values == high)": "masses are divided by their sum",
    "** 2 + np.zeros(len(t)) →": "zeros make a vector",
}


@pytest.mark.slow
def test_every_single_change_of_the_code_is_seen(monkeypatch):
    """Signs, factors, exponents, least for most."""
    text, unseen, count = mutants.source_of("inference.intervals"), [], 0
    for mutant in {one.id: one for one in mutants.sites("inference.intervals")}.values():
        if mutant.function in GUARDS or any(same in mutant.id for same in SAME):
            continue
        count += 1
        changed = references.module_of(mutants.changed_tree(text, mutant))
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            patch.setattr(references, "rule", changed)
            try:
                seen = any(departures())
            except (ValueError, IndexError, ArithmeticError):
                seen = True
        unseen += [] if seen else [mutant.id]
    assert unseen == []
    assert count > 120


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.52, 1),
    st.floats(0.52, 1),
    st.integers(1, 3000),
    st.floats(0, 1),
    st.sampled_from((0.001, 0.05, 0.32)),
)
def test_scores_of_two_values_have_clopper_and_pearsons_interval(first, second, n, part, alpha):
    kernel = np.array([[first, 1 - first], [1 - second, second]])
    heads = round(part * n)
    found = limits(kernel, [heads, n - heads], alpha=alpha)
    start, step = -(1 - second) / (first + second - 1), 1 / (first + second - 1)
    x = n * (np.clip(start + step * heads / n, 0, 1) - start) / step
    ends = np.array([0.0, 1.0])
    if x > 0:
        ends[0] = stats.beta.ppf(alpha / 2, x, n - x + 1)
    if x < n:
        ends[1] = stats.beta.isf(alpha / 2, x + 1, n - x)
    np.testing.assert_allclose(found, np.clip(start + step * ends, 0, 1), rtol=0, atol=2e-8)


def test_shares_under_response_of_many_symbols_are_two_valued():
    counts = np.array([3, 1, 0, 5, 2, 0, 1, 4, 2, 2])
    merged = [[1 / 2, 1 / 2], [1 / 18, 17 / 18]]
    found = limits(response(10, np.log(9)), counts)
    np.testing.assert_allclose(found, limits(merged, [3, 17]), atol=1e-8)


def ordered(*parts):
    """Whether none is below the one before; never where one is NaN."""
    return all((a <= b).all() for a, b in itertools.pairwise(parts))


@st.composite
def kernels(draw):
    """Of one to six symbols, nearly useless to nearly plain, some with more reports."""
    size = draw(st.integers(1, 6))
    level = draw(st.sampled_from((1e-4, 0.01, 0.5, 2.0, 8.0, 30.0)))
    kernel = response(size, level)
    if draw(st.booleans()):
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        kernel = np.hstack([kernel, rng.dirichlet(np.ones(3), size=size)])
    if draw(st.booleans()):
        kernel = np.hstack([kernel, np.full((size, 1), 1e-12)])
    return kernel / kernel.sum(axis=1, keepdims=True)


@settings(max_examples=30, deadline=None)
@given(kernels(), st.integers(1, 2000), st.integers(0, 999), st.booleans(), st.booleans())
def test_what_intervals_keep(kernel, n, seed, these, numbers):
    rng = np.random.default_rng(seed)
    size, outcomes = kernel.shape
    counts = rng.multinomial(n, rng.dirichlet(np.full(outcomes, 0.3)))
    values = np.arange(size, dtype=float)[:, None] if numbers else np.eye(size)[:, [0]]
    found = answers(kernel, counts, values=values, these=these)
    e, (bottom, top) = found.projected, (found.low, found.high)
    hides_nothing = these and kernel.max() > 1 - 1e-9
    before = (e, e)
    for alpha in (0.5, 0.05, 1e-6):
        low, high = found.limits(alpha)
        slack = 1e-9 * float(top[0] - bottom[0])
        assert ordered(bottom, low, e, high, top)
        assert ordered(low, before[0] + slack)
        assert ordered(before[1], high + slack)
        if size > 1 and not these:
            assert (low < high).all()
        for t in (low + slack * 3, high - slack * 3):
            # Noise of 1e-13 is known to a hundredth, as the square of the answer is taken off.
            assert contained(found, np.clip(t, low, high), alpha).all() or hides_nothing
        one_sided = found.limits(alpha / 2, sides=(True, False))
        np.testing.assert_allclose(one_sided[0], low, rtol=0, atol=2 * slack)
        assert one_sided[1] == top
        before = low, high
    assert ((found.outside() >= 0) & (found.outside() <= 1)).all()
    # A design under which all reports agreed says little of how they vary.
    agreed = Sampling(n, fraction=float(these), variance=np.zeros(1), freedom=max(n - 1, 1))
    low, high = answers(kernel, counts, agreed, values=values).limits()
    assert ordered(bottom, low, e, high, top)


def test_only_what_is_known_has_no_width():
    known = answers(np.eye(3), [5, 3, 2], these=True).limits()
    np.testing.assert_allclose(known, [[0.5], [0.5]], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(answers([[1.0]], [7]).limits(), [[1.0], [1.0]])
    for counts in ([10, 0, 0], [0, 10, 0]):
        low, high = limits(np.eye(3), counts)
        assert high - low > 0.2


def test_little_noise_does_not_widen_what_is_seen_of_many():
    """Scores that hardly vary among secrets at the end have a third moment of 1e-11."""
    kernel = np.array([[0, 0, 0.45, 0.55], [0, 0.978, 0.022, 0], [0.983, 0, 0, 0.017]])
    scores = scores_of(kernel, np.eye(3)[:, [0]]).ravel()
    for part in (0.1, 0.5):
        counts = np.round(10_000 * np.array([part, 0.9 - part, 0.1]) @ kernel)
        low, high = limits(kernel, counts)
        error = np.sqrt(np.cov(scores, fweights=counts.astype(int)) / 10_000)
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.03)


# The likeliest distribution


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 4), st.integers(0, 999), st.floats(0.02, 0.98))
def test_the_likeliest_distribution_with_an_answer(size, seed, part):
    """Towards no other distribution with the answer does the likelihood, which is concave, rise."""
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.ones(size + seed % 2), size=size)
    f = rng.multinomial(40, rng.dirichlet(np.ones(kernel.shape[1]))) / 40
    values = rng.normal(size=size)
    t = (1 - part) * values.min() + part * values.max()
    (found,), (gap,), _ = maximise(kernel, f[None], (values - t)[None])
    assert (found @ values, found.sum()) == pytest.approx((t, 1), abs=1e-9)
    assert gap < 1e-7
    slope = gradient(kernel, f, found)
    for below, above in itertools.product(np.flatnonzero(values <= t), np.flatnonzero(values > t)):
        share = (t - values[below]) / (values[above] - values[below])
        assert (1 - share) * slope[below] + share * slope[above] <= slope @ found + 1e-6


def test_rows_at_their_maximum_do_not_disturb_others():
    """Few reports under a kernel of many zeros: rows end after different numbers of steps."""
    prior = np.ones(10) / 10
    kernel = md.design(md.Prior(prior), md.utility.Estimation(), md.PML(2)).mechanism.kernel
    rng = np.random.default_rng(0)
    f = np.unique(rng.multinomial(10, prior @ kernel, size=2_000), axis=0) / 10
    found, gap, _ = maximise(kernel, f)
    assert gap.max() <= 1e-9
    np.testing.assert_allclose(gaps(kernel, f, found), gap, atol=1e-12)
