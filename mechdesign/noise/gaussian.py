"""Gaussian noise on a bounded secret: pointwise maximal cost at every outcome, and its tail.

Y = X + N(0, σ²) with X on [c, d]. No level bounds Λ(X → y) for all y: it grows like |y|. What can
be said is exact at each y, and in probability over Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import LevelError
from .checking import checked, real, reals, shown
from .laws import Law, check_scale, positive, solve_decreasing


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
        check_scale(self.sigma, self.law, "standard deviation")

    def pmc(self, y: ArrayLike) -> Any:
        """Λ(X → y) = log f(y)/min_x f(y|x) in nats, for an outcome or an array of them.

        ``inf`` where it is beyond the largest float. The least likely secret is the end of the
        domain that lies farther from y.
        """
        return self._each(y, self._pmc)

    def pml(self, y: ArrayLike) -> Any:
        """ℓ(X → y) = log max_x f(y|x)/f(y) in nats; x over the values, or the whole domain."""
        return self._each(y, self._pml)

    def _each(self, y: ArrayLike, function: Any) -> Any:
        points = reals(y)
        with np.errstate(over="ignore"):
            far = np.isfinite((np.abs(points) + abs(self.law.low)) / self.sigma).all()
        if np.isfinite(points).all() and not far:
            raise LevelError(
                "outcome",
                expected="outcomes within the largest float times the standard deviation",
                got=shown(y),
                remedy="what they tell is beyond all floats",
            )
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
        """Log E e^{((y − n)² − (y − X)²)/2σ²} with n the value nearest to y; at most 0."""
        nearest, sigma = self._nearest(y), self.sigma
        apart = (y - nearest) / sigma
        # An exponent in terms of X − n keeps the digits that the difference of squares loses.
        found, _ = self.law.log_expect(
            lambda s: (s / sigma) * (apart - s / sigma / 2),
            nearest,
            sigma / max(1.0, abs(apart)),
        )
        return min(found, 0.0)

    def _pmc(self, y: float) -> float:
        law, nearest = self.law, self._nearest(y)
        near = abs(y - nearest)
        far = max(abs(y - law.low), abs(y - law.high))
        # Outside of the domain y cancels from the difference of the distances.
        further = nearest - law.low if y >= law.high else law.high - nearest
        if law.low < y < law.high:
            further = far - near
        square = (further / self.sigma) * ((far + near) / self.sigma) / 2
        return max(0.0, self._log_mean(y) + square)

    def _pml(self, y: float) -> float:
        return max(0.0, -self._log_mean(y))

    def pmc_bounds(self, y: float, *, with_cgf: bool = False) -> tuple[float, float]:
        """The published lower and upper bounds on Λ(X → y), for E X = 0 and |X| ≤ A.

        A|y|/σ² ≤ Λ ≤ A(A + 4|y|)/2σ²; with the cumulant generating function K of X,
        A|y|/σ² + K(y/σ²) ≤ Λ ≤ A(A + 2|y|)/2σ² + K(y/σ²).
        """
        bound, place = self._radius() / self.sigma, real(y)
        if not math.isfinite(place):
            raise LevelError(
                "outcome",
                expected="a finite number",
                got=shown(y),
                remedy="give one outcome; pmc() also takes an array",
            )
        apart = abs(place) / self.sigma
        least = bound * apart
        if not with_cgf:
            return least, bound * (bound / 2 + 2 * apart)
        slope = place / self.sigma / self.sigma
        if not math.isfinite(slope):
            raise LevelError(
                "outcome",
                expected="one for which y/σ² is within the floats",
                got=shown(y),
                remedy="leave with_cgf out",
            )
        extra = self.law.cgf(slope)
        return least + extra, bound * (bound / 2 + apart) + extra

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
        if self.law.low == self.law.high:
            return 0.0 if level > 0 else 1.0
        if self._pmc(self._middle) >= level:
            return 1.0
        return min(sum(self._beyond(level, sign) for sign in (1, -1)), 1.0)

    @property
    def _middle(self) -> float:
        return self.law.low + (self.law.high - self.law.low) / 2

    def _beyond(self, level: float, sign: int) -> float:
        """P(Y lies where the level is reached, on one side of the middle)."""
        from scipy.special import log_ndtr

        apart = self._reach(level, sign)
        if apart == math.inf:
            return 0.0
        cut, law, sigma = self._middle + sign * apart, self.law, self.sigma
        peak = law.high if sign > 0 else law.low
        start = sign * (peak - cut) / sigma
        return math.exp(
            law.log_expect(
                lambda s: log_ndtr(start + sign * s / sigma), peak, sigma / max(1.0, -start), [cut]
            )[0]
        )

    def _reach(self, level: float, sign: int) -> float:
        """How far from the middle, on one side, Λ first is at the level; ``inf`` for nowhere.

        With a that distance, Z ≥ 0 how far X is from the far end and w the width, Λ is
        log E e^{Z(2a + w − Z)/2σ²}: from a = w/2 on at most w a/σ², by Jensen at least E Z a/σ².
        """
        law, sigma = self.law, self.sigma
        mean = law.mean - law.low if sign > 0 else law.high - law.mean

        def reached(apart: float) -> bool:
            return self._pmc(self._middle + sign * apart) >= level

        most = min(1e300, 1e300 * sigma)
        width = law.high - law.low
        low = level * sigma / width * sigma * (1 - 1e-9)
        high = min(level * sigma / mean * sigma, most) if mean > 0 else most
        if low < width / 2 < high:
            low, high = (0.0, width / 2) if reached(width / 2) else (width / 2, high)
        low = min(0.0 if low < width / 2 else low, high)
        if not reached(high):
            high = min(high * (1 + 1e-6), most)  # next to the root, where rounding decides
            if not reached(high):
                return math.inf
        for _ in range(1100):
            wide = low > 0 and high / low > 4
            between = math.sqrt(low) * math.sqrt(high) if wide else (low + high) / 2
            if not low < between < high or high - low <= 1e-15 * high:
                break
            low, high = (low, between) if reached(between) else (between, high)
        return high

    def tail_bound(self, level: float) -> float:
        """The published bound 2 exp(−β²/8(r² + r)) on P(Λ ≥ level), β = level − r/2, r = A²/σ²."""
        radius = self._radius() / self.sigma
        r = radius * radius
        beta = positive(level, "level", zero=True) - r / 2
        if beta <= 0:
            return 1.0
        # β²/(r² + r) as a product, which does not overflow before its factors do.
        spread = math.sqrt(r) * math.sqrt(r + 1)
        return min(1.0, 2 * math.exp(-((beta / spread) * (beta / spread)) / 8)) if spread else 0.0

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
                got=shown(chance),
                remedy="give for example 1e-3",
            )
        level = positive(level, "level")
        width = positive(law.high - law.low, "width of the domain")
        # A little below the chance, so that the errors of integration stay on the safe side.
        target = chance * (1 - 1e-9)
        sigma = solve_decreasing(lambda s: cls(law, s).tail(level), target, width / level)
        return cls(law, sigma)
