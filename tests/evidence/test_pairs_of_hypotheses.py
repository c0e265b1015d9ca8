"""What samples are asked is what an exact audit asks: the same pairs, the same levels."""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each
from family_notions import MAKERS, N
from outside_notions import AgainstOne

import mechdesign as md
from mechdesign.evidence.hypotheses import Questions, largest_level

SIMPLE = {
    "PML": md.PML(1),
    "PMC": md.PMC(1),
    "LIP": md.LIP(1),
    "ALIP": md.ALIP(1, 2),
    "LDP": md.LDP(1),
    "own": AgainstOne(1.0, 0),
}
ALL = {**{name: make(1.0) for name, make in MAKERS.items()}, **SIMPLE}
PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])


@for_each("name", sorted(ALL))
@for_each("seed", range(3))
def test_levels_of_known_likelihoods_are_those_of_the_exact_audit(name, seed):
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.ones(5), size=N)
    asked = Questions([ALL[name]], PRIOR)
    likelihoods = np.array([h.masses @ kernel[h.support] for h in asked.hypotheses])
    exact = ALL[name].check(md.Mechanism(kernel), PRIOR).achieved
    for pairs, level in zip(asked.asked[0].pairs, exact, strict=True):
        found = largest_level(pairs, likelihoods, likelihoods, range(5))
        assert found.level == pytest.approx(level, abs=1e-9)


def test_a_symbol_against_the_prior_is_bounded_by_its_mass():
    pairs = Questions([md.PML(1)], PRIOR).asked[0].pairs[0]
    assert sorted(pairs.unbounded) == pytest.approx(sorted(np.log([2.5, 1 / 0.3, 5, 10])))


def test_notions_share_their_hypotheses():
    """So that asking for more notions costs little."""
    alone = Questions([md.LIP(1)], PRIOR)
    both = Questions([md.LIP(1), md.LDP(1), md.PML(0.5), md.PMC(0.5)], PRIOR)
    assert len(both.hypotheses) == len(alone.hypotheses) == 8
