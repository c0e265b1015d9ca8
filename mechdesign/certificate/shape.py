"""The two-sided cone that exact hypotheses amount to, recognised afresh for proofs.

Solvers recognise a cone by what its parts say of themselves. A bound does not take their word: here
every hypothesis is looked at, mass by mass, in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..exact import LARGEST_LEVEL, exp_bounds, exp_lower, exp_upper
from ..prior import Prior
from ..privacy.constraint import Distribution, Group
from ..program.program import Cone, TwoSided

Array = NDArray[np.float64]

#: Columns inside a cone keep this relative distance from its edge, for the rounding to come.
SLACK = Fraction(1, 1 << 80)


@dataclass(frozen=True)
class Sides:
    """A cone {l·q ≤ k ≤ h·q, max k ≤ r·min k} with q = pᵀk, by the logarithms of its factors.

    ``lower`` is −log l, ``upper`` log h and ``ratio`` log r; ``None`` asks nothing. ``masses`` are
    those of the prior, all positive.
    """

    masses: tuple[Fraction, ...]
    lower: Fraction | float | None
    upper: Fraction | float | None
    ratio: Fraction | float | None

    def factors(self, *, inner: bool = False) -> tuple[Fraction, Fraction | None, Fraction | None]:
        """l, h and r as rationals: outside the true ones, or a little inside."""
        factor = inner_factor if inner else outer_factor
        least = None if self.lower is None else factor(self.lower)
        most = None if self.upper is None else factor(self.upper)
        spread = None if self.ratio is None else factor(self.ratio)
        return Fraction(0) if least is None else 1 / least, most, spread

    @property
    def outside(self) -> TwoSided:
        """The factors as floats that are at or outside the true ones."""
        lower, upper, ratio = (
            math.inf if level is None else exp_upper(level)
            for level in (self.lower, self.upper, self.ratio)
        )
        least = 1 / lower
        return TwoSided(least if lower == 1 else max(math.nextafter(least, 0.0), 0.0), upper, ratio)


def outer_factor(level: Fraction | float) -> Fraction | None:
    """A rational at or above e^level; beyond the largest level ``None``, which asks nothing."""
    return exp_bounds(level)[1] if level <= LARGEST_LEVEL else None


def inner_factor(level: Fraction | float) -> Fraction:
    """A rational a little below e^level, and 1 at level zero."""
    return 1 + (exp_lower(level) - 1) * (1 - SLACK)


def sides_outside(cone: Cone) -> TwoSided | None:
    """The cone in floats at or outside e^ε; ``None`` when it is of another kind."""
    found = exact_sides(cone)
    if found is None:
        return None
    # Of the rationals that the floats are, what is implied may be left out.
    return found.outside.without(found.outside.implied(min(found.masses)))


def exact_sides(cone: Cone) -> Sides | None:
    """The two-sided cone with its exact levels; ``None`` when it is of another kind."""
    prior = cone.prior
    if not all(prior.weights) or not all(part.is_listed for part in cone.parts):
        return None
    groups = (group for part in cone.parts for group in part.groups())
    masses = tuple(prior.mass(x) for x in range(len(prior)))
    sides, whole = recognised(groups, masses, whole=True)
    return sides if whole else None


def recognised(
    groups: Iterable[Group], masses: tuple[Fraction, ...], *, whole: bool = False
) -> tuple[Sides, bool]:
    """The two-sided cone that some of the groups amount to, and whether that is all of them.

    The cone of all groups lies inside it. With ``whole`` the first group of another kind ends the
    search.
    """
    sides: dict[str, Fraction | float] = {}
    is_all = True
    for group in groups:
        name = _SIDES.get((_kind(group.over, masses), _kind(group.under, masses)))
        if name is not None:
            sides[name] = min(sides.get(name, group.level), group.level, key=float)
            continue
        is_all = False
        if whole:
            break
    return Sides(masses, sides.get("lower"), sides.get("upper"), sides.get("ratio")), is_all


_SIDES: dict[tuple[str, str], str] = {
    ("prior", "points"): "lower",
    ("points", "prior"): "upper",
    ("points", "points"): "ratio",
    ("prior", "prior"): "none",
}


def _kind(hypotheses: tuple[Distribution, ...], masses: tuple[Fraction, ...]) -> str:
    """All points, the prior alone, or something else."""
    if len(hypotheses) == 1 and hypotheses[0].masses == masses:
        return "prior"
    points = {h.point for h in hypotheses}
    return "points" if None not in points and len(points) == len(masses) else "other"


# Other bounds are redundant up to this share.
_REDUNDANT = 1e-12


#: The simplices that posteriors may fill: all of them, the prior alone, with lifts at the upper or
#: the lower side but for one symbol.
REVEAL_ALL, REVEAL_NOTHING = "reveal-all", "reveal-nothing"
AT_UPPER_SIDE, AT_LOWER_SIDE = "extremal-pml", "extremal-pmc"


def simplex_of_sides(sides: TwoSided, prior: Prior) -> str | None:
    """Which simplex the posteriors fill that a two-sided cone allows, over one symbol or three and
    more; ``None`` where they fill none.
    """
    pmin = prior.pmin
    free = sides.lower == 0 and sides.ratio == math.inf and sides.upper * pmin >= 1
    if free or len(prior) == 1:
        return REVEAL_ALL  # no lift exceeds 1/pmin
    if sides.is_constant:
        return REVEAL_NOTHING
    if _upper_side_rules(sides, pmin):
        return AT_UPPER_SIDE
    return AT_LOWER_SIDE if _lower_side_rules(sides, pmin) else None


def kernel_of_sides(sides: TwoSided, prior: Prior) -> Array | None:
    """The kernel on the vertices of that simplex; ``None`` where there is none."""
    case, n, p = simplex_of_sides(sides, prior), len(prior), prior.probabilities
    if case is None:
        return None
    if case == REVEAL_ALL:
        return np.eye(n)
    if case == REVEAL_NOTHING:
        return np.ones((n, 1))
    if case == AT_UPPER_SIDE:
        kernel = np.tile(sides.upper * p, (n, 1))
        np.fill_diagonal(kernel, 1 - sides.upper * (1 - p))
        return np.maximum(kernel, 0.0)
    kernel = np.tile(sides.lower * p, (n, 1))
    kernel[np.diag_indices(n)] += 1 - sides.lower
    return kernel


def _upper_side_rules(sides: TwoSided, pmin: float) -> bool:
    """Whether h (1 − pmin) ≤ 1, so that lifts up to h fill a simplex; others are redundant."""
    h = sides.upper
    if h == math.inf or h * (1 - pmin) > 1:
        return False
    least = (1 - h * (1 - pmin)) / pmin
    return sides.lower <= least * (1 + _REDUNDANT) and sides.ratio * least >= h * (1 - _REDUNDANT)


def _lower_side_rules(sides: TwoSided, pmin: float) -> bool:
    """Whether lifts from l on, which always fill a simplex, make the other bounds redundant."""
    low = sides.lower
    if low == 0:
        return False
    largest = (1 - low * (1 - pmin)) / pmin
    return sides.upper >= largest * (1 - _REDUNDANT) and sides.ratio * low >= largest * (
        1 - _REDUNDANT
    )
