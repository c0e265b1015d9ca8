"""Two levels: the level of the whole is measured over all pairs, and is never more than asked."""

from __future__ import annotations

import ast
import math
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.errors import InputError, KernelError, LevelError

BOUNDS = (59.29, 17.97, 59.37, 18.15)
TOWN = md.places.grid(BOUNDS, cells=(6, 6))
RNG = np.random.default_rng(0)
PRIOR = TOWN.prior(RNG.normal([59.33, 18.06], [0.008, 0.015], (400, 2)), added=1)
LEVEL, WITHIN = math.log(2), 2000.0


def naive_level(mechanism, places, within):
    """Every pair, every outcome, one after the other."""
    worst, weights = 0.0, mechanism.weights.tolist()
    for i, first in enumerate(weights):
        for j, second in enumerate(weights[:i]):
            d = math.floor(places.distances[i, j] / within * 2**20) / 2**20
            for a, b in zip(first, second, strict=True):
                if (a == 0) != (b == 0):
                    return math.inf
                if a:
                    worst = max(worst, abs(math.log(Fraction(a, b))) / d)
    return worst


KERNELS = {
    "geometric": md.noise.planar_geometric(TOWN, LEVEL, WITHIN),
    "exponential": md.noise.exponential(TOWN, 3.0, WITHIN),
    "remapped": TOWN.remap(md.noise.planar_laplace(TOWN, LEVEL, WITHIN), PRIOR),
    "random": md.Mechanism(np.random.default_rng(1).dirichlet(np.ones(5), size=36), TOWN.labels),
    "identity": md.Mechanism(np.eye(36), TOWN.labels),
    "constant": md.Mechanism(np.ones((36, 1)), TOWN.labels),
}


@for_each("name", KERNELS)
def test_the_level_over_all_pairs_is_that_of_a_loop_and_of_an_audit(name):
    kernel = KERNELS[name]
    level, (i, j) = md.places.metric_level(kernel, TOWN, WITHIN)
    expected = naive_level(kernel, TOWN, WITHIN)
    assert level == expected or level == pytest.approx(expected, rel=1e-12)
    (audited,) = TOWN.privacy(1.0, WITHIN).check(kernel, PRIOR).achieved
    # An audit leaves out pairs that others imply, which may not be those that decide.
    assert audited <= level * (1 + 1e-9)
    assert level <= audited * (1 + 1e-6) or audited == math.inf
    if math.isfinite(level) and level > 0:
        d = math.floor(TOWN.distances[i, j] / WITHIN * 2**20) / 2**20
        rows = np.log(kernel.kernel[[i, j]])
        assert np.abs(rows[0] - rows[1]).max() / d == pytest.approx(level, rel=1e-9)


def test_one_entry_that_leaks_is_found():
    """The adversary of the audit: a single weight, moved by one part in a thousand."""
    kernel = KERNELS["geometric"]
    weights = kernel.weights.copy()
    before = md.places.metric_level(kernel, TOWN, WITHIN)[0]
    x, y = 7, 20
    moved = int(weights[x, y]) // 1000
    weights[x, y] -= moved
    weights[x, x] += moved
    altered = md.Mechanism.from_weights(weights, kernel.bits, TOWN.labels)
    after, pair = md.places.metric_level(altered, TOWN, WITHIN)
    assert after > before
    assert x in pair
    assert TOWN.privacy(before, WITHIN).check(altered, PRIOR).verdict is md.Verdict.NO


@for_each("inside", [0.0, 0.4, 1.0])
@for_each("within", [300.0, 900.0])
def test_the_whole_keeps_its_level(inside, within):
    made = md.places.two_levels(TOWN, PRIOR, LEVEL, within, blocks=3, inside=inside)
    assert made.achieved <= LEVEL
    assert made.achieved == md.places.metric_level(made.mechanism, TOWN, within)[0]
    assert naive_level(made.mechanism, TOWN, within) <= made.achieved * (1 + 1e-12)
    check = TOWN.privacy(LEVEL, within).check(made.mechanism, PRIOR)
    assert check.verdict is md.Verdict.YES
    assert made.mechanism.is_exact
    assert made.loss == pytest.approx(TOWN.expected_loss(made.mechanism, PRIOR))
    # Large blocks and little level: one place is the best answer to all that is reported.
    assert (made.achieved == 0) == (made.mechanism.shape[1] == 1) == ((inside, within) == (0, 900))
    # A control: it would not keep a level that is a little smaller.
    if made.achieved:
        smaller = TOWN.privacy(0.999 * made.achieved, within)
        assert smaller.check(made.mechanism, PRIOR).verdict is not md.Verdict.YES


@for_each("inside", [0.0, 0.4, 1.0])
@for_each("level", slow_but(lambda level: level > 1, [1e-4, 30.0, 300.0]))
def test_levels_far_from_the_size_of_cells(inside, level):
    made = md.places.two_levels(TOWN, PRIOR, level, 1000, blocks=2, inside=inside)
    assert made.achieved <= level
    assert TOWN.privacy(level, 1000).check(made.mechanism, PRIOR).verdict is md.Verdict.YES


def test_the_best_share_is_kept_and_no_optimum_is_beaten():
    made = md.places.two_levels(TOWN, PRIOR, LEVEL, WITHIN, blocks=3)
    others = [
        md.places.two_levels(TOWN, PRIOR, LEVEL, WITHIN, blocks=3, inside=s) for s in (0.0, 1.0)
    ]
    assert made.loss <= min(other.loss for other in others) + 1e-9
    noisy = TOWN.remap(md.noise.exponential(TOWN, LEVEL, WITHIN), PRIOR)
    assert made.loss <= TOWN.expected_loss(noisy, PRIOR)
    best = md.design(PRIOR, TOWN.loss(), TOWN.privacy(LEVEL, WITHIN))
    assert made.loss >= -best.bound * (1 - 1e-9)
    assert "over all pairs (exact" in repr(made)


def test_reports_are_drawn_from_the_whole():
    made = md.places.two_levels(TOWN, PRIOR, LEVEL, WITHIN, blocks=2, inside=0.4)
    table = {"latitude": [59.30, 59.36] * 50, "longitude": [17.98, 18.14] * 50}
    import pandas as pd

    out = md.privatize(pd.DataFrame(table), made.mechanism, rng=1)
    assert set(map(tuple, out.to_numpy())) <= set(TOWN.labels)


def test_listed_places_in_blocks():
    points = RNG.uniform([59.3, 18.0], [59.36, 18.1], (30, 2))
    listed = md.places.from_frame(points)
    made = md.places.two_levels(listed, listed.uniform(), 1.0, 1000, blocks=3, inside=0.3)
    assert made.achieved <= 1.0
    assert naive_level(made.mechanism, listed, 1000) <= made.achieved * (1 + 1e-12)


@pytest.mark.slow
def test_a_thousand_places():
    town = md.places.grid(BOUNDS, cells=(32, 32))
    prior = town.prior(RNG.normal([59.33, 18.06], [0.008, 0.015], (4000, 2)), added=0.1)
    made = md.places.two_levels(town, prior, LEVEL, WITHIN, blocks=6, inside=0.0)
    assert made.achieved <= LEVEL
    assert made.achieved >= 0.99 * LEVEL
    noisy = town.remap(md.noise.exponential(town, LEVEL, WITHIN), prior)
    assert made.loss < town.expected_loss(noisy, prior)


@pytest.mark.slow
def test_more_than_a_thousand_places_get_noise_where_blocks_are_large():
    """Noise of 300 m in blocks of 2 km: either is tried, the better comes back, audited."""
    within = 300.0
    town = md.places.grid(BOUNDS, cells=(32, 32))
    prior = town.prior(RNG.normal([59.33, 18.06], [0.008, 0.015], (4000, 2)), added=0.1)
    made = md.places.two_levels(town, prior, LEVEL, within, blocks=4)
    assert made.achieved == md.places.metric_level(made.mechanism, town, within)[0] <= LEVEL
    noisy = town.remap(md.noise.planar_geometric(town, LEVEL, within), prior)
    assert made.loss <= town.expected_loss(noisy, prior) * (1 + 1e-3)
    assert made.blocks is None


def test_what_is_left_out_fits_any_number_of_places_and_so_do_remedies():
    bounds = (59.30, 18.00, 59.36, 18.12)
    for cells in ((1, 2), (1, 3), (2, 2), (1, 5), (3, 3), (5, 7)):
        town = md.places.grid(bounds, cells=cells)
        assert md.places.two_levels(town, town.uniform(), LEVEL, WITHIN).achieved <= LEVEL
        with pytest.raises(InputError, match="take fewer, such as blocks=") as found:
            md.places.two_levels(town, town.uniform(), LEVEL, WITHIN, blocks=6)
        advised = ast.literal_eval(found.value.remedy.partition("=")[2])
        assert md.places.two_levels(town, town.uniform(), LEVEL, WITHIN, blocks=advised)


WRONG = {
    "no level": (lambda: TOWN.privacy(0, 500), LevelError, "positive finite number of nats"),
    "next to none": (
        lambda: TOWN.privacy(1e-320, 500),
        LevelError,
        "positive finite number of nats",
    ),
    "rounded to 0": (lambda: TOWN.privacy(2e-16, 500), LevelError, "at least 2.3e-16, got 2e-16"),
    "no limit": (lambda: TOWN.privacy(math.inf, 500), LevelError, "positive finite number"),
    "noise": (lambda: md.noise.planar_geometric(TOWN, 0, 500), LevelError, "positive finite"),
    "level": (lambda: md.places.two_levels(TOWN, PRIOR, 0.0, 100), InputError, "positive"),
    "nan": (lambda: md.places.two_levels(TOWN, PRIOR, math.nan, 100), LevelError, "level"),
    "within": (lambda: md.places.two_levels(TOWN, PRIOR, 1.0, -1), LevelError, "within"),
    "share": (
        lambda: md.places.two_levels(TOWN, PRIOR, 1.0, 100, inside=2),
        InputError,
        "share of the level",
    ),
    "blocks": (
        lambda: md.places.two_levels(TOWN, PRIOR, 1.0, 100, blocks=30),
        InputError,
        "at most 36",
    ),
    "prior": (
        lambda: md.places.two_levels(TOWN, md.Prior.uniform(3), 1.0, 100),
        InputError,
        "over these places",
    ),
    "kernel": (
        lambda: md.places.metric_level(md.Mechanism(np.eye(2)), TOWN, 100),
        KernelError,
        "in their order",
    ),
}


@for_each("name", WRONG)
def test_what_cannot_be_used_is_refused(name):
    make, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        make()
