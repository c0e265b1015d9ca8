"""Cones that a kernel's columns must lie in: numbers for solvers, and their two-sided form.

Solvers work with a factor slightly inside e^ε, so that rounding a kernel to integer weights
leaves it private; bounds use a factor at or above e^ε, so that they hold for the true level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..exact import exp_upper
from ..prior import Prior
from ..privacy.hypotheses import Bound, Hypotheses

# Relative room left below e^ε when designing: a few hundred units in the last place.
ROOM = 1e-13
_LARGEST = 1e300


def inner_factor(level: float) -> float:
    """A float slightly below e^level, at least 1; solvers design against it."""
    excess = math.expm1(min(level, math.log(_LARGEST)))
    if excess == 0:
        return 1.0
    room = min(ROOM * (1 + excess) / excess, 1e-3)
    # Down by one float, in case the sum was rounded up.
    return max(1.0, math.nextafter(1 + excess * (1 - room), 0.0))


def inner_factors(bound: Bound) -> np.ndarray:
    """:func:`inner_factor` of each matched pair, or of the one level, as an array."""
    if bound.scales is None:
        return np.array([inner_factor(bound.epsilon)])
    return np.array([inner_factor(bound.epsilon * s) for s in bound.scales])


def outer_factors(bound: Bound) -> np.ndarray:
    """Floats at or above e^level, one per matched pair or a single one."""
    if bound.scales is None:
        return np.array([exp_upper(bound.level())])
    return np.array([exp_upper(bound.level(i)) for i in range(len(bound.scales))])


@dataclass(frozen=True)
class TwoSided:
    """Columns k with l·q ≤ k_x ≤ h·q, q = pᵀk, and max k ≤ r·min k.

    ``lower`` is l in [0, 1], ``upper`` is h ≥ 1 and ``ratio`` is r ≥ 1; 0 and ``inf`` ask nothing.
    """

    lower: float
    upper: float
    ratio: float

    @property
    def has_lift_sides(self) -> bool:
        """Whether the lift is bounded at all."""
        return self.lower > 0 or self.upper < math.inf


def two_sided(bounds: tuple[Bound, ...], prior: Prior, *, inner: bool) -> TwoSided | None:
    """The two-sided cone that the bounds amount to, or ``None`` when they are of another kind.

    Recognised by their pairs, not by the names of notions: (all points, prior), (prior, all
    points) and (all points, all points). ``inner`` chooses factors for design or for bounds.
    """
    if not prior.has_full_support:
        return None  # symbols without mass are tied to others by bounds of another kind
    lower, upper, ratio = 0.0, math.inf, math.inf
    for bound in bounds:
        if bound.pairing != "all":
            return None
        over, under = _kind(bound.over, prior), _kind(bound.under, prior)
        factor = float(inner_factors(bound)[0] if inner else outer_factors(bound)[0])
        if (over, under) == ("points", "prior"):
            upper = min(upper, factor)
        elif (over, under) == ("prior", "points"):
            least = 1 / factor
            lower = max(lower, least if inner or factor == 1 else math.nextafter(least, 0.0))
        elif (over, under) == ("points", "points"):
            ratio = min(ratio, factor)
        elif (over, under) != ("prior", "prior"):
            return None
    return TwoSided(lower, upper, ratio)


def _kind(hypotheses: Hypotheses, prior: Prior) -> str | None:
    if hypotheses.indices is None:
        same = hypotheses.masses == (prior.weights,) and hypotheses.total == prior.total
        return "prior" if same else None
    return "points" if set(hypotheses.indices.tolist()) == set(range(len(prior))) else None
