"""Randomised response: its level under every notion in closed form, and the other way round.

K[x,y] = e^r/(N − 1 + e^r) for y = x and 1/(N − 1 + e^r) otherwise. With g = e^r − 1 outcome y has
probability (1 + g p_y)/(N − 1 + e^r), hence the levels below ([SaeidianPMC] Example 3 for PMC).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import LevelError, PriorError, UnknownNameError
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.notion import check_level
from .checking import checked

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
                got=repr(self.response),
                remedy="release the secret itself if nothing is to be hidden",
            )
        object.__setattr__(self, "response", level)

    def mechanism(self) -> Mechanism:
        """The kernel, with the prior's labels on both sides."""
        n = len(self.prior)
        least = math.exp(-self.response)
        kernel = np.full((n, n), least) + (1 - least) * np.eye(n)
        total = 1 + (n - 1) * least
        return Mechanism(kernel / total, self.prior.labels, self.prior.labels)

    def level(self, notion: str) -> float:
        """The level in nats under one of the names in ``NAMES``, such as ``"pmc"``.

        Over symbols of positive mass, except for LDP, which counts all. Raises
        :class:`UnknownNameError` for another name.
        """
        if notion not in NAMES:
            raise UnknownNameError("level of randomised response", notion, NAMES)
        r, n = self.response, len(self.prior)
        support = len(self.prior.support)
        if notion == "ldp":
            return r if n > 1 else 0.0
        if support < 2:
            return 0.0
        if notion == "maximal_leakage":
            # Outputs of symbols without mass are equally likely whatever the secret.
            return math.log((support * math.exp(r) + n - support) / (n - 1 + math.exp(r)))
        pml = r - math.log1p(self.prior.pmin * math.expm1(r))
        pmc = math.log1p(max(self.prior.probabilities) * math.expm1(r))
        return {"pml": pml, "pmc": pmc, "lip": max(pml, pmc)}[notion]

    @classmethod
    def at(cls, prior: Prior, notion: str, level: float) -> RandomisedResponse:
        """Randomised response of a given level under a notion.

        Raises :class:`LevelError` where every response stays below: PML is at most log 1/pmin,
        maximal leakage at most log N.
        """
        if notion not in NAMES:
            raise UnknownNameError("level of randomised response", notion, NAMES)
        checked(prior, Prior, "prior", "write md.Prior([...], labels)", PriorError)
        level = check_level(level, f"{notion} level")
        top = max(prior.probabilities)
        gain = math.expm1(level) if level < 700 else math.inf
        if notion == "ldp":
            return cls(prior, level)
        if notion == "pmc":
            return cls(prior, math.log1p(gain / top))
        if notion == "pml":
            return cls(prior, _from_pml(prior.pmin, level))
        if notion == "maximal_leakage":
            if not prior.has_full_support:
                raise LevelError(
                    "calibration by maximal leakage",
                    expected="a prior of full support",
                    got="symbols of zero mass",
                    remedy="restrict the prior to its support first",
                )
            n, factor = len(prior), math.exp(level)
            if factor >= n:
                raise _out_of_reach(notion, math.log(n), level)
            return cls(prior, math.log(factor * (n - 1) / (n - factor)))
        # The response that keeps both; PML may hold for all.
        both = math.log1p(gain / top)
        if math.exp(level) * prior.pmin < 1:
            both = min(both, _from_pml(prior.pmin, level))
        return cls(prior, both)


def _from_pml(pmin: float, level: float) -> float:
    rest = 1 - pmin * math.exp(level)
    if rest <= 0:
        raise _out_of_reach("pml", -math.log(pmin), level)
    return level + math.log1p(-pmin) - math.log(rest)


def _out_of_reach(notion: str, limit: float, level: float) -> LevelError:
    return LevelError(
        f"{notion} level of randomised response",
        expected=f"a level below {limit:.6g}, which no response reaches",
        got=f"{level:.6g}",
        remedy="release the secret itself, or ask for less",
    )
