"""Priors of designs for estimates, and designs that must be optimal."""

from __future__ import annotations

from fractions import Fraction

import mechdesign as md
from mechdesign.utility import Estimation

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])


def harmonic(n):
    return md.Prior.from_counts([Fraction(1, x) for x in range(1, n + 1)])


def designed(prior, notion, *asked, **more):
    found = md.design(prior, Estimation(*asked, **more), notion)
    assert found.certificate.is_optimal, found
    assert found.risk == -found.value
    return found
