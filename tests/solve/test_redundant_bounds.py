"""Bounds that others imply: they change nothing, and do not keep a design from a closed form."""

from __future__ import annotations

import math

import pytest
from checks import for_each, pairwise_cases

import mechdesign as md
from mechdesign.privacy.constraint import Rounding
from mechdesign.program.problem import state_problem

UNIFORM = md.Prior.uniform(4)
SKEWED = md.Prior([0.4, 0.3, 0.2, 0.1])
IMPLIED = {
    "PML by LDP": ([md.LDP(1), md.PML(9)], md.LDP(1)),
    "LIP by LDP": ([md.LIP(5), md.LDP(1)], md.LDP(1)),
    "LDP by LIP": ([md.LIP(0.3), md.LDP(3)], md.LIP(0.3)),
}
UTILITIES = [
    md.utility.Estimation(),
    md.utility.Hamming(),
    md.utility.MutualInformation(),
    md.utility.TotalVariation(),
]


@for_each("prior, utility, case", pairwise_cases([UNIFORM, SKEWED], UTILITIES, IMPLIED))
def test_implied_bounds_change_neither_the_value_nor_the_method(case, utility, prior):
    both, one = IMPLIED[case]
    with_both, alone = (md.design(prior, utility, asked) for asked in (both, one))
    assert with_both.method == alone.method
    assert with_both.value == pytest.approx(alone.value, rel=1e-9)
    assert with_both.certificate.is_optimal
    assert with_both.certificate.bound_source == alone.certificate.bound_source
    # All that was asked is checked, also what was not needed for the search.
    assert [str(check.notion) for check in with_both.certificate.checks] == [str(n) for n in both]


def least_lift_bound(prior, level):
    """The largest lift of a column whose entries differ by at most e^level, by trying them all."""
    ratio, n = math.exp(level), len(prior)
    p = prior.probabilities
    return max(
        math.log(ratio / sum(p[z] * (ratio if z in up else 1) for z in range(n)))
        for x in range(n)
        for up in [{x}]
    )


@pytest.mark.parametrize("prior", [UNIFORM, SKEWED], ids=["uniform", "skewed"])
def test_a_bound_binds_from_just_below_what_others_imply(prior):
    most = least_lift_bound(prior, 1.0)
    for shift, shape in ((1e-3, "ratio"), (-1e-3, "lift and ratio")):
        asked = [md.LDP(1), md.PML(most + shift)]
        cone = state_problem(prior, md.utility.Hamming(), asked).program.cone
        assert cone.shape == shape
        assert cone.two_sided(Rounding.OUTSIDE).shape == shape
    free = md.design(prior, md.utility.Estimation(), md.LDP(1)).risk
    bound = md.design(prior, md.utility.Estimation(), [md.LDP(1), md.PML(most / 2)])
    assert bound.risk > 1.01 * free
    assert md.audit(bound.mechanism, prior).pml <= most / 2 + 1e-9
