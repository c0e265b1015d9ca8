"""What design() promises beside the optimum: never worse than nothing, honest about gaps."""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.errors import GapWarning


@for_each("seed", slow_but(4, range(25)))
def test_never_worse_than_the_best_constant_output(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(50))
    found = md.design(md.Prior.from_counts(p), md.utility.Hamming(), md.LDP(0.01))
    assert found.value >= max(md.Prior.from_counts(p).probabilities) - 1e-15


def test_gaps_are_warned_of_with_every_solver():
    """At this level a kernel of 53 bits has less value than could be had."""
    prior = md.Prior([0.5, 0.3, 0.2])
    for solver in ("all", "auto"):
        with pytest.warns(GapWarning):
            md.design(prior, md.utility.MutualInformation(), md.LDP(1e-14), solver=solver)


def test_gains_far_from_zero_are_designed_for_as_if_they_were_near():
    gains = np.random.default_rng(0).random((3, 7))
    prior = md.Prior([0.5, 0.3, 0.2])
    near = md.design(prior, md.utility.Matrix(gains), md.LIP(0.5))
    for solver in ("all", "auto"):
        far = md.design(prior, md.utility.Matrix(gains + 1e9), md.LIP(0.5), solver=solver)
        assert far.gap < 1e-10
        assert far.value - 1e9 == pytest.approx(near.value, abs=1e-6)
    priced = md.binding(far)
    assert priced.slopes["LIP(0.5)"] == pytest.approx(md.binding(near).slopes["LIP(0.5)"], abs=1e-5)
