"""Levels for estimates: paths of them, and the smallest one that a risk takes, for all truths.

The adversary: level zero, at which nothing is told, met on the way; a level that does not reach the
risk; and values of the wrong sign.
"""

from __future__ import annotations

import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import UntoldError
from mechdesign.utility import Estimation

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
TRUTHS = {
    "the prior": None,
    "a pilot": {"a": 10, "b": 5, "c": 7},
    "a list": [[1, 1, 1], [3, 1, 1]],
    "any": "any",
}


@for_each("name", TRUTHS)
def test_paths_are_designs_and_say_where_nothing_is_told(name):
    asked = Estimation(truth=TRUTHS[name])
    found = md.sweep(ABC, asked, [md.PML(0), md.PML(0.5), md.PML(1)])
    assert isinstance(found[0], UntoldError)
    assert found[0].is_proved
    for design, level in zip(found[1:], (0.5, 1), strict=True):
        assert design.certificate.is_optimal
        assert design.risk == pytest.approx(md.design(ABC, asked, md.PML(level)).risk, rel=1e-9)


@for_each("truth", [[[1, 1, 1], [3, 1, 1]], "any"])
@for_each("notion", [md.LDP(0), md.PML(0), [md.LDP(0), md.LIP(1)]])
def test_a_worst_truth_at_level_zero_is_told_by_nothing(notion, truth):
    with pytest.raises(UntoldError) as failure:
        md.design(ABC, Estimation(truth=truth), notion)
    assert failure.value.is_proved


@for_each("name", TRUTHS)
@for_each("family", [md.LDP, "alip:2e,e"])
def test_the_smallest_level_of_a_risk_is_proved_from_both_sides(family, name):
    asked = Estimation(truth=TRUTHS[name])
    found = md.smallest(family, ABC, asked, at_least=-3, precision=1e-4)
    assert found.design.risk <= 3
    assert found.design.certificate.is_optimal
    assert found.below < found.level <= found.below * (1 + 2e-4)
    assert found.bound_below < -3
    kernel = found.design.mechanism
    assert asked.risk(kernel, ABC) == pytest.approx(found.design.risk, rel=1e-12)
