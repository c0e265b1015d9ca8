"""Estimates of surveys: known noise is a floor, intervals are possible and never empty."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.errors import PrecisionWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore::mechdesign.errors.PrecisionWarning", "ignore::mechdesign.errors.MisfitWarning"
)

FLIP = md.Mechanism([[0.9, 0.1], [0.1, 0.9]], list("ab"), list("ab"))
THREE = md.Mechanism(
    0.9 * np.array([[1, 0, 0], [0, 1, 0], [1 / 3] * 3]) + 0.1 / 3, list("abc"), list("abc")
)


def answered(levels):
    """Randomised response of two symbols."""
    keep = 1 / (1 + np.exp(-levels))
    return md.Mechanism([[keep, 1 - keep], [1 - keep, keep]], list("ab"), list("ab"))


def test_reference_values_of_estimates():
    """Computed by independent programs of the rule."""
    few = md.estimate({"a": 30}, answered(8.0))
    assert few.lower[1] == 0
    assert few.upper[1] == pytest.approx(0.116087, abs=1e-6)
    below = md.estimate({"a": 240, "b": 760}, answered(1.0))
    assert (below.lower[0], below.upper[0]) == (0, pytest.approx(0.061967, abs=1e-6))
    assert below.projected[0] == 0 > below["a"]
    odd = md.estimate({"a": 60, "b": 40, "c": 10}, THREE)
    assert (odd.lower[0], odd.upper[0]) == pytest.approx((0.352877, 0.640003), abs=1e-6)
    these = md.estimate({"a": 30}, FLIP, target="sample")
    assert (these.lower[1], these.upper[1]) == (0, pytest.approx(0.148438, abs=1e-6))
    strata = pd.DataFrame({"r": list("aabb") * 5, "s": np.repeat(range(10), 2)})
    alike = md.estimate(strata, FLIP, "r", strata="s")
    assert (alike.lower[0], alike.upper[0]) == pytest.approx((0.292975, 0.707025), abs=1e-6)
    sizes = dict.fromkeys(range(10), 4)
    half = md.estimate(strata, FLIP, "r", strata="s", population=sizes)
    assert (half.lower[0], half.upper[0]) == pytest.approx((0.285224, 0.714776), abs=1e-6)
    heavy = pd.DataFrame({"r": ["a"] * 30, "w": [1, 2] * 15})
    weighted = md.estimate(heavy, answered(8.0), "r", weights="w")
    assert (weighted.lower[1], weighted.upper[1]) == (0, pytest.approx(0.151542, abs=1e-6))
    groups = pd.DataFrame(
        {"r": ["a"] * 20 + ["b"] * 80 + ["a"] * 35 + ["b"] * 65, "g": [1] * 100 + [2] * 100}
    )
    arms = [md.estimate(groups[groups.g == g].r, FLIP) for g in (1, 2)]
    ends = [md.inference.observed.arms_of([arm.observed], 0.05)[:, 0] for arm in arms]
    found = md.inference.results.difference_of(*arms, ends, np.eye(2), np.zeros(2), 0)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.024378, 0.344387), abs=1e-6)
    cross = 0.5 * arms[0].errors * arms[1].errors
    paired = md.inference.results.difference_of(*arms, ends, np.eye(2), cross, 100)
    assert (paired.lower[0], paired.upper[0]) == pytest.approx((0.069956, 0.303217), abs=1e-6)


@st.composite
def surveys(draw):
    """A small table of reports, and how it was drawn."""
    kernel = draw(st.sampled_from([FLIP, THREE, answered(0.5), answered(6.0)]))
    n = draw(st.integers(10, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    outputs = draw(st.sampled_from([kernel.outputs, kernel.outputs[:1]]))
    table = pd.DataFrame(
        {
            "r": rng.choice(outputs, n),
            "w": rng.choice([1.0, 3.0, 0.25], n),
            "s": np.arange(n) % 2,
            "c": np.arange(n) // 4 * 2 + np.arange(n) % 2,
        }
    )
    asked = draw(st.sets(st.sampled_from(["weights", "strata", "clusters"])))
    options = {name: name[0] for name in asked}
    return kernel, table, options


@given(surveys(), st.sampled_from(["population", "sample"]))
def test_no_error_is_below_the_known_noise_and_no_interval_is_empty(survey, target):
    kernel, table, options = survey
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        found = md.estimate(table, kernel, "r", target=target, misfit="warn", **options)
    assert (found.errors >= found.noise * (1 - 1e-9)).all()
    # No combination of answers is known better than the mechanism lets it be.
    difference = found.covariance - np.outer(found.noise, found.noise) * 0
    assert np.linalg.eigvalsh(difference).min() >= -1e-12
    assert (found.lower < found.upper).all()
    assert (found.lower >= 0).all()
    assert (found.upper <= 1).all()
    assert (found.lower <= found.projected).all()
    assert (found.projected <= found.upper).all()


@given(surveys(), st.integers(0, 500))
def test_a_larger_population_never_lowers_an_error(survey, more):
    kernel, table, options = survey
    if "strata" in options:
        return
    units = table["c"].nunique() if "clusters" in options else len(table)
    call = {"misfit": "warn", **options}
    small = md.estimate(table, kernel, "r", population=units + more, **call)
    large = md.estimate(table, kernel, "r", population=2 * (units + more), **call)
    whole = md.estimate(table, kernel, "r", **call) if options else large
    assert (small.errors <= large.errors * (1 + 1e-9)).all()
    assert (large.errors <= whole.errors * (1 + 1e-9)).all()


def test_reports_that_agree_have_the_error_of_the_noise():
    table = pd.DataFrame({"r": ["a"] * 40, "w": 1.0, "c": np.arange(40) // 4})
    for options in ({"weights": "w"}, {"clusters": "c"}, {"population": 80}):
        found = md.estimate(table, FLIP, "r", misfit="warn", **options)
        assert (found.errors > 0.05).all()
        assert found.upper[1] > 0.05


def test_limits_of_one_side_and_of_all_at_once():
    found = md.estimate({"a": 60, "b": 40, "c": 10}, THREE)
    for side, k in (("lower", 0), ("upper", 1)):
        one = found.limits(0.95, side)
        both = found.limits(0.9)
        np.testing.assert_allclose(one[k], both[k], atol=1e-7)
        assert (one[1 - k] == (1 - k)).all()
    together = found.limits(together=True)
    np.testing.assert_allclose(together, found.limits(1 - 0.05 / 3), atol=1e-9)
    np.testing.assert_allclose(found.limits(), (found.lower, found.upper))


def test_intervals_of_other_software_are_given_where_they_hold():
    many, few = {"a": 600, "b": 400}, {"a": 30, "b": 1}
    kernel = answered(6.0)
    for intervals in ("delta", "bootstrap"):
        wald = md.estimate(many, kernel, intervals=intervals, rng=1)
        assert (wald.lower != md.estimate(many, kernel).lower).all()
        short = md.estimate(few, kernel, intervals=intervals, rng=1)
        np.testing.assert_array_equal(short.lower, md.estimate(few, kernel).lower)
        np.testing.assert_array_equal(short.upper, md.estimate(few, kernel).upper)
    likely = md.estimate({"a": 240, "b": 760}, answered(1.0), method="likelihood")
    assert likely.lower[0] == 0 < likely.upper[0]
    assert likely["a"] == pytest.approx(0, abs=1e-8)


def test_a_misfit_is_said_with_its_odds():
    found = md.estimate({"a": 205, "b": 795}, answered(1.0), misfit="warn")
    assert set(found.misfits) == {"a", "b"}
    assert max(found.misfits.values()) < 0.0125
    assert "1 of" in repr(found)
    assert "column" in repr(found)
    assert not md.estimate({"a": 240, "b": 760}, answered(1.0)).misfits


def test_groups_share_what_one_estimate_is_made_of():
    """Each group's answers are those of its own reports."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"r": rng.choice(list("abc"), 300), "g": rng.integers(0, 4, 300)})
    groups = md.estimate(table, THREE, "r", by_group="g", target="sample")
    for group in groups.groups:
        alone = md.estimate(table[table.g == group], THREE, "r", target="sample")
        np.testing.assert_allclose(groups[group].values, alone.values, atol=1e-12)
        np.testing.assert_allclose(groups[group].lower, alone.lower, atol=1e-6)
        np.testing.assert_allclose(groups[group].upper, alone.upper, atol=1e-6)


@pytest.mark.slow
def test_conditional_shares_hold_at_rare_conditions():
    """By simulation; the interval of a ratio of normal limits misses there."""
    joint = np.array([[0.02, 0.01], [0.55, 0.42]])
    kernel = answered(4.0).kernel
    cells = (kernel.T @ joint @ kernel).ravel()
    rng, held, told = np.random.default_rng(7), 0, 0
    for counts in rng.multinomial(300, cells, 150):
        pairs = dict(zip([(x, y) for x in "ab" for y in "ab"], counts.tolist(), strict=True))
        found = md.estimate_joint(pairs, [answered(4.0)] * 2).conditional("first")
        if found.rows[0] != "a":
            continue
        told += 1
        held += bool(found.lower[0, 0] <= 2 / 3 <= found.upper[0, 0])
    assert told > 120
    assert held / told > 0.92


def test_what_is_known_has_no_width_whatever_rounding_leaves():
    """Spread and noise of rounding made coins so skewed that intervals ended at a half, or at 1."""
    open_answers = md.Mechanism(np.eye(10))
    counts = dict(enumerate([5, 31, 20, 15, 9, 7, 9, 1, 2, 1]))
    found = md.estimate(counts, open_answers, target="sample")
    assert found.lower == pytest.approx(found.values, abs=1e-12)
    assert found.upper == pytest.approx(found.values, abs=1e-12)
