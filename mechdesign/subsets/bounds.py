"""What notions ask of the entries of a column where symbols are alike but for their masses.

Levels become bounds on the lift and on ratios of likelihoods; the columns that are extreme among
those that keep such bounds have two values, or two ends and one entry between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ..errors import LevelError
from ..exact import exp_bounds
from ..prior import Prior
from ..privacy.notion import LikelihoodBound, PrivacyNotion

# The level above which bounds are taken for one at it in designs, and for none in bounds: weights
# have 53 bits, and what floats hold of larger factors is no more than that of these.
_HIGHEST = 40
_KINDS = {"points points": "ratio", "points prior": "upper", "prior points": "lower"}
#: What is bounded: 1/lift, lift and ratio.
KINDS = "lower", "upper", "ratio"
# Masses of symbols at which a notion is asked.
_TRIED = (1, 1, 1), (1, 1, 1, 1, 1), (2, 1, 1), (5, 3, 1, 1, 2)


class Shape(NamedTuple):
    """Columns whose entries lie between two ends: of two values at a ratio, or without a ratio all
    entries but one at the ends.
    """

    low: Fraction
    high: Fraction
    ratio: Fraction | None = None

    def spread(self, n: int) -> Fraction:
        """The largest Σ (r − 1)² of n entries r of mean one; zero where there are none."""
        low, high, ratio = self
        if not low <= 1 <= high or low == high or ratio == 1:
            return Fraction(0)
        if ratio is None:
            # As many entries as possible at the upper end, and one between the ends.
            count = min(int((1 - low) * n / (high - low)), n - 1)
            rest = n - count * high - (n - count - 1) * low
            return count * (high - 1) ** 2 + (rest - 1) ** 2 + (n - count - 1) * (1 - low) ** 2
        # With d entries up the lower value is n/(n + d(c − 1)); the spread has one maximum.
        step, best = ratio - 1, int(n / (ratio + 1))
        first = max(math.ceil((n * ratio / high - n) / step), 1)
        last = min(math.floor((n / low - n) / step) if low else n, n - 1)
        counts = {sorted((first, d, last))[1] for d in (best, best + 1) if first <= last}
        spreads = [n * d * (n - d) * step**2 / (n + d * step) ** 2 for d in counts]
        return max(spreads, default=Fraction(0))


@dataclass(frozen=True)
class LiftBounds:
    """What is asked of the entries of a column divided by their mean.

    Attributes
    ----------
    lower, upper : of every entry; ``None`` for no upper bound
    ratio : of any two entries, ``None`` for no bound
    """

    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    ratio: Fraction | None = None

    @property
    def are_by_mean(self) -> bool:
        """Whether entries are compared with their mean."""
        return self.lower > 0 or self.upper is not None

    def shapes(self, least_mass: Fraction) -> list[Shape]:
        """The columns that are extreme among those that keep the bounds.

        An entry is largest where it is that of the least mass and all others are at the lower end.
        """
        low, c = min(self.lower, Fraction(1)), self.ratio
        high = (1 - low * (1 - least_mass)) / least_mass
        if self.upper is not None:
            high = max(min(high, self.upper), Fraction(1))
        if c is None or high <= c * low:
            return [Shape(low, high)]
        found = [Shape(low, high, c)]
        if low > 0:
            found.append(Shape(low, c * low))
        if self.upper is not None:
            found.append(Shape(high / c, high))
        return found

    def largest_spread(self, n: int) -> Fraction:
        """The largest Σ (r − 1)² of n entries r of mean one that keep the bounds."""
        return max(shape.spread(n) for shape in self.shapes(Fraction(1, n)))


def least_risk(symbols: int, bounds: LiftBounds) -> Fraction:
    """A lower bound on the risk of every kernel that keeps bounds, all symbols equally frequent.

    Permuting the symbols of a kernel at random changes neither levels nor, as the risk is convex,
    the least risk; the information of such a kernel has one eigenvalue on contrasts, so that
    risk ≥ (N − 1)²/V with V the largest Σ (r_x − 1)² of a column of mean one that keeps the bounds
    ([YeBarg2018] for LDP). ``bounds`` are those of the levels or outside of them.
    """
    return Fraction((symbols - 1) ** 2) / bounds.largest_spread(symbols)


def asked_parts(notion: PrivacyNotion) -> list[tuple[str, int, float]]:
    """What a notion bounds (lower or upper lift, or ratio), by which of its levels, and those.

    It is read from the hypotheses that the notion names for small priors. Raises
    :class:`LevelError` where levels depend on the number of symbols or on their masses.
    """
    found = []
    for prior in map(Prior.from_counts, _TRIED):
        bounds = notion.checked_bounds(prior) if isinstance(notion, LikelihoodBound) else []
        kinds = [_KINDS.get(bound.kinds(prior) or "", "") for bound in bounds]
        levels = [(bound.parameter, bound.epsilon) for bound in bounds]
        found.append([(kind, *level) for kind, level in zip(kinds, levels, strict=True)])
    is_known = found[0] and all(kind for kind, *_ in found[0])
    if not is_known or any(each != found[0] for each in found):
        raise LevelError(
            f"privacy notion {notion}",
            expected="one that bounds likelihoods of symbols by those of others or of the prior, "
            "at the same levels whatever the symbols are",
            got="other levels for other symbols" if is_known else "one of another kind",
            remedy="name LDP, PML, PMC, LIP or ALIP, or have fewer symbols: put numbers into bins, "
            "group rare ones under one name",
        )
    return found[0]


def asked_bounds(notions: Iterable[PrivacyNotion], *, outside: bool = False) -> LiftBounds:
    """The bounds of notions together, with rationals just inside or outside of e^ε."""
    found: dict[str, list[Fraction]] = {kind: [] for kind in KINDS}
    for notion in notions:
        for kind, _, level in asked_parts(notion):
            if level < math.inf and not (outside and level > _HIGHEST):
                found[kind].append(exp_bounds(min(level, _HIGHEST))[outside])
    low, high, ratio = (min(limits, default=None) for limits in found.values())
    return LiftBounds(Fraction(0) if low is None else 1 / low, high, ratio)
