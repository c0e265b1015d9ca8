"""Where functions of one number leave what is kept: beside a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from mechdesign.roots import crossings


def test_where_functions_leave_what_is_kept():
    rng = np.random.default_rng(3)
    slopes, roots = rng.uniform(0.5, 20, 40), rng.uniform(0.05, 0.95, 40)

    def kept(x, places):
        a, r = slopes[places], roots[places]
        return np.arctan(a * (r - x)) + (r - x) ** 3

    found = crossings(kept, np.zeros(40), np.ones(40), tolerance=1e-10)
    for place in range(40):
        one = np.array([place])
        expected = optimize.brentq(lambda x, one=one: float(kept(np.array([x]), one)[0]), 0, 1)
        assert found[place] == pytest.approx(expected, abs=1e-9)


def test_crossings_of_steps_and_of_functions_without_one():
    inside, outside = np.array([0.0, 0, 1, 0, 0.3]), np.array([1.0, 1, 0, 1, 0.3])
    steps = np.array([0.25, 2, 0.5, -1, 0])

    def kept(x, places):
        # A step; kept throughout; a step from above; never kept; nothing between.
        sign = np.where(places == 2, -1, 1)
        return np.where(sign * (steps[places] - x) >= 0, 1.0, -1.0)

    found = crossings(kept, inside, outside)
    np.testing.assert_allclose(found, [0.25, 1, 0.5, 0, 0.3], atol=1e-8)
