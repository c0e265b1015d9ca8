"""Every extreme column of a two-sided cone in rationals, for few symbols.

A column is written by the deviations d = k/q − 1 of its lifts from one. Masses and levels are
exact, and so are the columns: at masses of 1e-30 floats can tell neither which sets of symbols at
their upper bound fit, nor what they leave to the one that lies between its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..prior import Prior
from .columns import LARGEST_RATIO, LiftFamily, StaircaseFamily, make_family
from .program import TwoSided

#: Deviations of one column from the constant one.
Deviations = tuple[Fraction, ...]


@dataclass(frozen=True)
class LiftBox:
    """Deviations of lifts in [l, h], with mean zero under the prior.

    Attributes
    ----------
    masses : of the symbols
    low, high : ends of the deviation of each symbol, as far as the others leave room for them
    units : what going from the lower to the upper end takes of the mean, in units of 1/scale
    capacity : what there is to take with every symbol at its lower end, in the same units
    scale : a common denominator, so that sums over sets of symbols are of integers
    """

    masses: tuple[Fraction, ...]
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    units: tuple[int, ...]
    capacity: int
    scale: int

    @classmethod
    def of(cls, prior: Prior, sides: TwoSided) -> LiftBox:
        """The box that bounds on the lift leave under a prior."""
        masses = tuple(prior.mass(x) for x in range(len(prior)))
        below = 1 - Fraction(sides.lower)
        above = None if sides.upper == math.inf else Fraction(sides.upper) - 1
        # What one symbol gains is lost by the others, so the ends may be out of its reach.
        room = [1 / p - 1 for p in masses]
        low = tuple(-below if above is None else -min(below, above * r) for r in room)
        high = tuple(below * r if above is None else min(above, below * r) for r in room)
        units = [p * (b - a) for p, a, b in zip(masses, low, high, strict=True)]
        capacity = -sum(p * a for p, a in zip(masses, low, strict=True))
        scale = math.lcm(capacity.denominator, *(u.denominator for u in units))
        whole = tuple(int(u * scale) for u in units)
        return cls(masses, low, high, whole, int(capacity * scale), scale)

    def between(self, symbol: int, left: int) -> Fraction | None:
        """The deviation of a symbol that takes what is left; ``None`` where it cannot."""
        if not 0 <= left <= self.units[symbol]:
            return None
        return self.low[symbol] + Fraction(left, self.scale) / self.masses[symbol]


def listed_columns(prior: Prior, sides: TwoSided) -> Iterator[Deviations] | None:
    """Every extreme column; ``None`` where a lift bound and a ratio both bind.

    For few symbols: there are up to n 2^(n−1) of them, some twice.
    """
    family = make_family(prior, sides, np.abs)
    if isinstance(family, StaircaseFamily):
        return _staircases(prior, Fraction(min(sides.ratio, LARGEST_RATIO)))
    return _in_a_box(LiftBox.of(prior, sides)) if isinstance(family, LiftFamily) else None


def _staircases(prior: Prior, ratio: Fraction) -> Iterator[Deviations]:
    """Lifts in proportion r : 1, for every set of raised symbols."""
    n, excess = len(prior), ratio - 1
    for bits in range(1, (1 << n) - 1):
        raised = [bool(bits >> x & 1) for x in range(n)]
        weight = sum(w for w, up in zip(prior.weights, raised, strict=True) if up)
        mass = Fraction(weight, prior.total)
        scale = 1 + excess * mass
        high, low = excess * (1 - mass) / scale, -excess * mass / scale
        yield tuple(high if up else low for up in raised)


def _in_a_box(box: LiftBox) -> Iterator[Deviations]:
    """Lifts at the ends of [l, h] but for one symbol, which carries what is left."""
    n = len(box.masses)
    for j in range(n):
        others = [x for x in range(n) if x != j]
        for bits in range(1 << (n - 1)):
            upper = [x for i, x in enumerate(others) if bits >> i & 1]
            deviation = box.between(j, box.capacity - sum(box.units[x] for x in upper))
            if deviation is not None:
                column = list(box.low)
                for x in upper:
                    column[x] = box.high[x]
                column[j] = deviation
                yield tuple(column)


def columns_of_rays(prior: Prior, rays: Sequence[Sequence[int]]) -> Iterator[Deviations]:
    """Rays of a cone of likelihoods, as deviations."""
    for ray in rays:
        mass = sum(w * k for w, k in zip(prior.weights, ray, strict=True))
        if mass:
            yield tuple(Fraction(k * prior.total - mass, mass) for k in ray)
