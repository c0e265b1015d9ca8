"""Gaussian noise on a bounded secret: pointwise maximal cost at every outcome, and its tail.

Y = X + N(0, σ²) with X on [c, d]. No level bounds Λ(X → y) for all y: it grows like |y|. What can
be said is exact at each y, and in probability over Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import LevelError
from .checking import checked, real, reals, shown
from .laws import Law, positive, solve_decreasing


@dataclass(frozen=True)
class GaussianNoise:
    """Y = X + N(0, σ²) for a secret X with a law on [c, d].

    Notes
    -----
    :meth:`pmc` is exact, :meth:`pmc_bounds` are the published ones, for laws with mean 0 and
    |X| ≤ A. Source: [SaeidianPMC] Example 6. (The published remark that Λ is dominated by a
    Gaussian with mean A²/2σ² does not hold; the tail bound does.)

    Examples
    --------
    >>> noise = GaussianNoise(Law.uniform(-1, 1), 1.0)
    >>> low, high = noise.pmc_bounds(2.0)
    >>> low <= noise.pmc(2.0) <= high
    True
    """

    law: Law
    sigma: float

    def __post_init__(self) -> None:
        checked(self.law, Law, "law of the secret", "write for example Law.uniform(0, 1)")
        object.__setattr__(self, "sigma", positive(self.sigma, "standard deviation"))

    def pmc(self, y: ArrayLike) -> Any:
        """Λ(X → y) = log f(y)/min_x f(y|x) in nats, for an outcome or an array of them.

        The least likely secret is the end of the domain that lies farther from y.
        """
        return self._each(y, self._pmc)

    def pml(self, y: ArrayLike) -> Any:
        """ℓ(X → y) = log max_x f(y|x)/f(y) in nats; x over the values, or the whole domain."""
        return self._each(y, self._pml)

    def _each(self, y: ArrayLike, function: Any) -> Any:
        points = reals(y)
        if not np.isfinite(points).all():
            raise LevelError(
                "outcome",
                expected="finite numbers",
                got=shown(y),
                remedy="Gaussian noise has no finite level over all outcomes; use tail()",
            )
        found = np.array([function(float(v)) for v in points.ravel()])
        return float(found[0]) if points.ndim == 0 else found.reshape(points.shape)

    def _nearest(self, y: float) -> float:
        if self.law.values is not None:
            return float(self.law.values[np.argmin(np.abs(self.law.values - y))])
        return min(max(y, self.law.low), self.law.high)

    def _log_mean(self, y: float) -> float:
        """Log E e^{−(y−X)²/2σ²}, relative to the nearest value so that it does not underflow."""
        s2 = 2 * self.sigma**2
        least = (y - self._nearest(y)) ** 2
        mean = self.law.expect(lambda x: np.exp((least - (y - x) ** 2) / s2), [self._nearest(y)])
        return math.log(mean) - least / s2

    def _pmc(self, y: float) -> float:
        farthest = max(abs(y - self.law.low), abs(y - self.law.high))
        return max(0.0, self._log_mean(y) + farthest**2 / (2 * self.sigma**2))

    def _pml(self, y: float) -> float:
        least = (y - self._nearest(y)) ** 2
        return max(0.0, -least / (2 * self.sigma**2) - self._log_mean(y))

    def pmc_bounds(self, y: float, *, with_cgf: bool = False) -> tuple[float, float]:
        """The published lower and upper bounds on Λ(X → y), for E X = 0 and |X| ≤ A.

        A|y|/σ² ≤ Λ ≤ A(A + 4|y|)/2σ²; with the cumulant generating function K of X,
        A|y|/σ² + K(y/σ²) ≤ Λ ≤ A(A + 2|y|)/2σ² + K(y/σ²).
        """
        bound = self._radius()
        s2 = self.sigma**2
        if not math.isfinite(real(y)):
            raise LevelError(
                "outcome",
                expected="a finite number",
                got=shown(y),
                remedy="give one outcome; pmc() also takes an array",
            )
        if not with_cgf:
            return bound * abs(y) / s2, bound * (bound + 4 * abs(y)) / (2 * s2)
        extra = self.law.cgf(y / s2)
        return bound * abs(y) / s2 + extra, bound * (bound + 2 * abs(y)) / (2 * s2) + extra

    def _radius(self) -> float:
        bound = max(abs(self.law.low), abs(self.law.high))
        if abs(self.law.mean) > 1e-9 * bound or abs(self.law.low + self.law.high) > 1e-9 * bound:
            raise LevelError(
                "published bounds",
                expected="a law with mean 0 on a domain [-A, A]",
                got=f"mean {self.law.mean:.6g} on [{self.law.low:g}, {self.law.high:g}]",
                remedy="use pmc() and tail(), which are exact for every bounded law",
            )
        return bound

    def tail(self, level: float) -> float:
        """P(Λ(X → Y) ≥ level), by integration over the outcomes where it is reached.

        Λ is increasing above the middle of the domain and decreasing below: on either side it is
        log E e^{(f² − (y − X)²)/2σ²} with f the distance to the far end, whose exponent is affine
        in y with a slope that never points towards the middle.
        """
        level = positive(level, "level", zero=True)
        middle = (self.law.low + self.law.high) / 2
        if self._pmc(middle) >= level:
            return 1.0
        total = 0.0
        for sign in (1, -1):
            apart = self._reach(level, sign)
            cut = middle + sign * apart
            spread = [cut - self.sigma, cut, cut + self.sigma]
            total += self.law.expect(partial(self._beyond, cut, sign), spread)
        return min(total, 1.0)

    def _beyond(self, cut: float, sign: int, x: Any) -> Any:
        """P(Y lies beyond a cut | X = x)."""
        from scipy.special import ndtr

        return ndtr(sign * (x - cut) / self.sigma)

    def _reach(self, level: float, sign: int) -> float:
        """How far from the middle, on one side, Λ first is at the level."""
        middle = (self.law.low + self.law.high) / 2
        low, high = 0.0, self.sigma
        while self._pmc(middle + sign * high) < level:
            low, high = high, 2 * high
        for _ in range(200):
            between = (low + high) / 2
            if not low < between < high:
                break
            reached = self._pmc(middle + sign * between) >= level
            low, high = (low, between) if reached else (between, high)
        return high

    def tail_bound(self, level: float) -> float:
        """The published bound 2 exp(−β²/8(r² + r)) on P(Λ ≥ level), β = level − r/2, r = A²/σ²."""
        r = self._radius() ** 2 / self.sigma**2
        beta = positive(level, "level", zero=True) - r / 2
        return 1.0 if beta <= 0 else min(1.0, 2 * math.exp(-(beta**2) / (8 * (r * r + r))))

    @classmethod
    def for_tail(cls, law: Law, level: float, chance: float) -> GaussianNoise:
        """The least noise with P(Λ(X → Y) ≥ level) at most ``chance``.

        A statement about the random variable Λ(X → Y), not a privacy notion: it says how often an
        outcome is revealing, and it is not preserved by post-processing.
        """
        checked(law, Law, "law of the secret", "write for example Law.uniform(0, 1)")
        if not 0 < real(chance) < 1:
            raise LevelError(
                "chance",
                expected="a probability between 0 and 1",
                got=repr(chance),
                remedy="give for example 1e-3",
            )
        level = positive(level, "level")
        width = positive(law.high - law.low, "width of the domain")
        sigma = solve_decreasing(lambda s: cls(law, s).tail(level), chance, width / level)
        return cls(law, sigma)
