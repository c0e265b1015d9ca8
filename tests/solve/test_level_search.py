"""The search that brackets a smallest level, on levels whose answer is known.

The adversary: levels at which nothing is known, a scale that misleads the secant, and a level taken
for proved that was not.
"""

from __future__ import annotations

import math

import pytest
from checks import for_each, pairwise_cases

from mechdesign.errors import LevelError
from mechdesign.roots import LevelSearch, Probe, least_passing, narrowed


def asked(threshold, *, unknown=(math.nan, math.nan), excess=lambda over: over, least=0.0):
    """What is known where everything from the threshold on reaches what is asked."""

    def ask(level):
        if level < least:
            raise LevelError("level", expected=f"{least} or more", got=str(level), remedy="raise")
        if unknown[0] <= level <= unknown[1]:
            return Probe(level=level)
        over = None if excess is None else excess(level - threshold)
        return Probe(level=level, reaches=level >= threshold, misses=level < threshold, excess=over)

    return ask


@for_each(
    "threshold, precision, excess",
    pairwise_cases(
        [1e-9, 3e-3, 0.5, 0.7, 1.0, 37.3, 1999.0],
        [1e-9, 1e-3, 0.3],
        [
            None,
            lambda over: over,
            lambda over: over**3,
            lambda over: 1e-3 if over >= 0 else over * 1e6,
        ],
    ),
)
def test_both_sides_close_in(threshold, precision, excess):
    search = LevelSearch(asked(threshold, excess=excess))
    low, high = search.narrowed(precision)
    assert low.level < threshold <= high.level
    assert high.level - low.level <= max(precision * high.level, 1e-12)
    # Three steps of the secant before each that halves, at worst.
    assert len(search.probes) < 150


@pytest.mark.parametrize("unknown", [(0.9, 1.2), (0.3, 1.0), (1.0, 1.01)])
def test_levels_at_which_nothing_is_known_stay_between(unknown):
    search = LevelSearch(asked(1.0, unknown=unknown))
    low, high = search.narrowed(1e-3)
    assert low.misses
    assert high.reaches
    assert low.level < unknown[0]
    assert unknown[0] - low.level <= 2e-3
    assert high.level - max(unknown[1], 1.0) <= 2e-3


def test_the_smallest_level_that_is_taken():
    low, high = LevelSearch(asked(-1.0)).narrowed(1e-3)
    assert (low, high.level) == (None, 0.0)
    low, high = LevelSearch(asked(0.7, least=0.1)).narrowed(1e-3)
    assert 0.1 <= low.level < 0.7 <= high.level
    with pytest.raises(LevelError):
        LevelSearch(asked(0.7, least=1e6)).narrowed(1e-3)


@for_each("zero", [1e-5, 0.3, 1.0, 37.3])
def test_tangents_and_secants_take_a_handful_of_points(zero):
    """Of straight and concave functions; convex ones and those that jump take what halving does."""
    for curve, most in (
        (lambda over: over, 6),
        (lambda over: -(abs(over) ** 1.5) + 0.1 * over, 25),
        (lambda over: over + 0.1 * over**2 / (1 + zero), 30),
        (lambda over: -1.0, 60),
    ):
        asked = []

        def below(x, curve=curve, asked=asked):
            asked.append(x)
            return curve(x - zero) if x < zero else None

        start, step = zero / 2, 1e-9 * zero
        slope = (curve(start + step - zero) - curve(start - zero)) / step
        low, high = narrowed(below, start, curve(start - zero), slope, 2000.0, 1e-8)
        assert low < zero <= high
        assert high - low <= 1e-8 * max(high, 1e-3)
        assert len(asked) <= most
    assert narrowed(lambda x: -1 / x, 0.3, -1.0, 0.1, 2000.0, 1e-8) == (2000.0, None)


def test_the_least_share_that_passes():
    for least in (1e-12, 1e-3, 0.9, 1.0):
        share, found = least_passing(lambda x, e=least: x if x >= e else None, 2.0**-50, 64.0, 9)
        assert least <= share == found <= 1.01 * least
    assert least_passing(lambda _: None, 2.0**-50, 2.0, 8) is None
    assert least_passing(lambda x: x, 1e-3, 64.0, 9, 0.5) == (1e-3, 1e-3)
