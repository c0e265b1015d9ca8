"""What notions ask of the entries of a column where symbols are alike but for their masses.

Levels become bounds on the lift and on ratios of likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from ..certificate.lifts import LiftBounds
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
