"""Randomised response: its level under every notion in closed form, and the other way round.

K[x,y] = e^r/(N − 1 + e^r) for y = x and 1/(N − 1 + e^r) otherwise. With g = e^r − 1 outcome y has
probability (1 + g p_y)/(N − 1 + e^r), hence the levels below ([SaeidianPMC] Example 3 for PMC).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import LevelError, PriorError, UnknownNameError
from ..exact import (
    DENOMINATOR_BITS,
    LARGEST_LEVEL,
    exp_bounds,
    exp_lower,
    float_at_least,
    float_at_most,
    log_bounds,
    log_upper,
)
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.notion import check_level
from .checks import checked, shown

NAMES = ("ldp", "pml", "pmc", "lip", "maximal_leakage")


@dataclass(frozen=True)
class RandomisedResponse:
    """Randomised response on the symbols of a prior, at a level r of local differential privacy.

    Examples
    --------
    >>> prior = Prior([.5, .3, .2])
    >>> response = RandomisedResponse(prior, 1.0)
    >>> round(response.level("pmc"), 6)
    0.620115
    >>> round(RandomisedResponse.at(prior, "pmc", response.level("pmc")).response, 12)
    1.0
    """

    prior: Prior
    response: float

    def __post_init__(self) -> None:
        checked(self.prior, Prior, "prior", "write md.Prior([...], labels)", PriorError)
        level = check_level(self.response, "level of randomised response")
        if not math.isfinite(level):
            raise LevelError(
                "level of randomised response",
                expected="a finite number of nats",
                got=shown(self.response),
                remedy="release the secret itself if nothing is to be hidden",
            )
        object.__setattr__(self, "response", level)

    def mechanism(self) -> Mechanism:
        """The kernel, with the prior's labels on both sides.

        Its weights are rounded so that the level of local differential privacy is at most that of
        the response. Responses above ``exact.LARGEST_LEVEL`` nats are answered at that level.
        """
        n = len(self.prior)
        if n == 1:
            return Mechanism([[1.0]], self.prior.labels, self.prior.labels)
        least = _least(self.response)[1]
        # A small entry keeps as many digits as a float has.
        bits = DENOMINATOR_BITS + math.ceil(n / least).bit_length()
        total = 1 << bits
        # The small entries are rounded up, so the ratio of the two is rounded down.
        small = -(-(total * least.numerator) // ((n - 1) * least.numerator + least.denominator))
        large = total - (n - 1) * small
        weights = np.full((n, n), small, dtype=object)
        if large > small:
            np.fill_diagonal(weights, large)
        else:  # rounding left no difference, so one column takes the rest in every row
            weights[:, 0] = large
        return Mechanism.from_weights(weights, bits, self.prior.labels, self.prior.labels)

    def level(self, notion: str) -> float:
        """The level in nats under one of the names in ``NAMES``, such as ``"pmc"``, rounded up.

        Over symbols of positive mass, except for LDP, which counts all. Raises
        :class:`UnknownNameError` for another name.
        """
        if notion not in NAMES:
            raise UnknownNameError("level of randomised response", notion, NAMES)
        r, n = Fraction(self.response), len(self.prior)
        support = len(self.prior.support)
        if notion == "ldp":
            return self.response if n > 1 else 0.0
        if support < 2:
            return 0.0
        # In terms of l = e^{−r}, which never overflows; each level is monotone in it.
        low, high = _least(self.response)
        if notion == "maximal_leakage":
            # Outputs of symbols without mass are equally likely whatever the secret.
            return log_upper((support + (n - support) * low) / (1 + (n - 1) * low))
        rare, common = _ends(self.prior)
        pml = log_upper(1 / (rare + (1 - rare) * low))
        pmc = float_at_least(max(Fraction(0), r + log_bounds(common + (1 - common) * high)[1]))
        return {"pml": pml, "pmc": pmc, "lip": max(pml, pmc)}[notion]

    @classmethod
    def at(cls, prior: Prior, notion: str, level: float) -> RandomisedResponse:
        """The randomised response of a given level under a notion, rounded down.

        Raises :class:`LevelError` where every response stays below: PML is at most log 1/pmin,
        maximal leakage at most log N.
        """
        if notion not in NAMES:
            raise UnknownNameError("level of randomised response", notion, NAMES)
        checked(prior, Prior, "prior", "write md.Prior([...], labels)", PriorError)
        level = check_level(level, f"{notion} level")
        if notion == "ldp":
            return cls(prior, level)
        if not math.isfinite(level):
            raise LevelError(
                f"{notion} level of randomised response",
                expected="a finite number of nats",
                got=shown(level),
                remedy="release the secret itself if nothing is to be hidden",
            )
        rare, common = _ends(prior)
        if notion == "maximal_leakage":
            if not prior.has_full_support:
                raise LevelError(
                    "calibration by maximal leakage",
                    expected="a prior of full support",
                    got="symbols of zero mass",
                    remedy="restrict the prior to its support first",
                )
            n = Fraction(len(prior))
            if not _stays_below(level, n):
                raise _out_of_reach(notion, n, level)
            factor = exp_lower(level)
            return cls(prior, _down(log_bounds(factor * (n - 1) / (n - factor))[0]))
        # e^r = (e^ε − 1)/pmax + 1 for PMC, over e^ε so that it does not overflow.
        most = Fraction(level) + log_bounds(1 / common - (1 / common - 1) * _least(level)[1])[0]
        if notion == "pmc":
            return cls(prior, _down(most))
        if _stays_below(level, 1 / rare):
            factor = exp_lower(level)
            pml = log_bounds(factor * (1 - rare) / (1 - rare * factor))[0]
            # The response that keeps both; PML may hold for all.
            return cls(prior, _down(pml if notion == "pml" else min(pml, most)))
        if notion == "pml":
            raise _out_of_reach("pml", 1 / rare, level)
        return cls(prior, _down(most))


def _ends(prior: Prior) -> tuple[Fraction, Fraction]:
    """The smallest positive mass and the largest, exact."""
    weights = [w for w in prior.weights if w]
    return Fraction(min(weights), prior.total), Fraction(max(weights), prior.total)


def _least(level: float) -> tuple[Fraction, Fraction]:
    """Rationals around e^−level: (0, e^−2000) where the level is beyond the largest."""
    if level > LARGEST_LEVEL:
        return Fraction(0), 1 / exp_lower(level)
    low, high = exp_bounds(level)
    return 1 / high, 1 / low


def _stays_below(level: float, limit: Fraction) -> bool:
    """Whether e^level < limit for certain."""
    return log_bounds(limit)[0] > Fraction(level)


def _down(level: Fraction) -> float:
    return max(0.0, float_at_most(level))


def _out_of_reach(notion: str, limit: Fraction, level: float) -> LevelError:
    return LevelError(
        f"{notion} level of randomised response",
        expected=f"a level below {float(log_bounds(limit)[0]):.6g}, which no response reaches",
        got=f"{level:.6g}",
        remedy="release the secret itself, or ask for less",
    )
