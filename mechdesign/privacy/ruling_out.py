"""Privacy regions of PML: how many symbols an outcome may rule out at a level.

At level ε an outcome's posterior is at most e^ε times the prior, so the symbols that stay possible
must have mass at least e^-ε. With masses sorted upwards, k symbols can be ruled out if and only if
ε ≥ ε_k = −log(1 − (p_1 + … + p_k)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ..errors import LevelError, quote
from ..exact import Verdict, compare_with_exp, log_upper
from ..prior import Prior, as_prior


@dataclass(frozen=True)
class PMLRegions:
    """The levels at which one more symbol can be ruled out.

    Attributes
    ----------
    prior : the prior, on its support
    levels : ε_1 ≤ … ≤ ε_{N−1} in nats, rounded up
    """

    prior: Prior
    levels: tuple[float, ...]

    def most_zeros(self, epsilon: float) -> int:
        """How many symbols one outcome may rule out at a level; decided exactly."""
        if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not epsilon >= 0:
            raise LevelError(
                "level",
                expected="a non-negative number of nats",
                got=quote(epsilon),
                remedy="pass for example 0.5",
            )
        if epsilon == math.inf:
            return len(self.levels)
        count = 0
        for ratio in _ratios(self.prior):
            if compare_with_exp(ratio, Fraction(epsilon)) is not Verdict.YES:
                break
            count += 1
        return count

    def region(self, epsilon: float) -> int:
        """Number of the region that a level lies in: k + 1 where k symbols may be ruled out."""
        return self.most_zeros(epsilon) + 1

    def prevents_absolute_disclosure(self, epsilon: float) -> bool:
        """Whether every symbol stays possible after every outcome of every mechanism at the level.

        So in the first region, ε < log 1/(1 − pmin), where PML implies a finite LDP level.
        """
        return self.most_zeros(epsilon) == 0

    def __str__(self) -> str:
        lines = ["region  levels in nats        symbols an outcome may rule out"]
        edges = [0.0, *self.levels, math.inf]
        for k in range(len(self.levels) + 1):
            lines.append(f"{k + 1:>6}  [{edges[k]:.6g}, {edges[k + 1]:.6g})".ljust(32) + f"{k}")
        return "\n".join(lines)


def pml_regions(prior: Prior) -> PMLRegions:
    """The privacy regions of a prior ([GrosseID]).

    Raises :class:`PriorError` for what is no prior. Symbols of zero mass are left out.

    >>> regions = pml_regions(Prior([.1, .2, .3, .4]))
    >>> [round(level, 4) for level in regions.levels]
    [0.1054, 0.3567, 0.9163]
    >>> regions.region(.2), regions.most_zeros(.2), regions.prevents_absolute_disclosure(.05)
    (2, 1, True)
    """
    inner = as_prior(prior).restricted()
    return PMLRegions(inner, tuple(max(0.0, log_upper(ratio)) for ratio in _ratios(inner)))


def _ratios(prior: Prior) -> list[Fraction]:
    """1/(1 − sum of the k smallest masses) for k = 1 … N − 1, exact."""
    left, ratios = prior.total, []
    for weight in sorted(prior.weights)[:-1]:
        left -= weight
        ratios.append(Fraction(prior.total, left))
    return ratios
