"""Noise on a bounded secret: the leakage of every outcome, exactly, and the noise for a level.

A secret counts as one that may be anywhere from the least to the greatest value of its law's
domain. PMC compares with the least likely of them: where an end of the domain is not in the support
of the law, what is said of PMC here is an upper bound. ``Law.finite`` without ends has none such.

Laplace noise on the mean of n independent entries of one law on [c, d], Y = mean + Lap(b): with
t = 1/(nb), g(s) = e^{−|y − s|/b} and h(x) = E g((x + the other entries)/n), outcome y leaks

    PML  ℓ(X_i → y) = log max_x h(x) / E h(X),     PMC  Λ(X_i → y) = log E h(X) / min_x h(x).

h is t-Lipschitz in the logarithm, so 1/E e^{−t|x − X|} bounds the first and E e^{t|x − X|}, convex
in x and so largest at an end, the second. Above d and below c the bounds at the ends are attained.

Gaussian noise on one entry, Y = X + N(0, σ²): no level bounds Λ(X → y) for all y, as it grows like
|y|. What can be said is exact at each y, and in probability over Y.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LevelError
from ..exact import (
    LARGEST_LEVEL,
    exp_bounds,
    exp_lower,
    float_at_least,
    log_bounds,
    log_upper,
)
from ..privacy.notion import check_level
from .checks import at_least, checked, exactly, number_of, positive, real, reals, shown
from .law import Law

_MOST_SUMS = 200_000
# Sums written down on the way, over all entries.
_MOST_WORK = 100_000_000
_GRID = 257


@dataclass(frozen=True)
class LaplaceMean:
    """Y = (X_1 + … + X_n)/n + Lap(b), and what y leaks about one X_i.

    Parameters
    ----------
    law : Law
        Law of an entry.
    entries : int
        Number n of entries.
    scale : float
        b, in the units of the mean.

    Notes
    -----
    Sources: [SaeidianDisclosure] Proposition 4.6, with the exact leakage at every y in place of its
    bound; [SaeidianPMC] Example 5, whose PMC is an upper bound where an end of the domain is not in
    the support.

    Examples
    --------
    >>> count = LaplaceMean.count(10, .3, .5)
    >>> round(count.pml(1.5), 9) == round(count.sup_pml(), 9)
    True
    >>> count.pml(.3) < count.sup_pml() <= LaplaceMean.class_bound(10, .25, .5)
    True
    """

    law: Law
    entries: int
    scale: float

    def __post_init__(self) -> None:
        checked(self.law, Law, "law of the secret", "write for example Law.uniform(0, 1)")
        object.__setattr__(self, "entries", number_of(self.entries))
        object.__setattr__(self, "scale", positive(self.scale, "scale of the noise"))
        _check_scale(self.scale, self.law, "scale of the noise")
        smoothing = Fraction(self.scale) * self.entries
        if not 1e-300 < smoothing < 1e300:
            raise LevelError(
                "scale of the noise",
                expected="1/(nb) within the floats",
                got=f"n = {shown(self.entries)} and b = {shown(self.scale)}",
                remedy="measure the values in another unit",
            )

    @classmethod
    def count(cls, entries: int, chance: float, scale: float) -> LaplaceMean:
        """The fraction of n entries that have a property of the given chance, plus Lap(b)."""
        return cls(Law.two_point(chance), entries, scale)

    @property
    def rate(self) -> float:
        """T = 1/(nb)."""
        # Of an exact product, as the number of entries alone may be above all floats.
        return 1 / float(Fraction(self.scale) * self.entries)

    # At one outcome

    def pml(self, y: ArrayLike) -> Any:
        """ℓ(X_i → y) in nats for an outcome or an array of them."""
        return self._each(y, lambda top, mean, low, off: top - mean)

    def pmc(self, y: ArrayLike) -> Any:
        """Λ(X_i → y) in nats for an outcome or an array of them, X_i anywhere in the domain."""
        return self._each(y, lambda top, mean, low, off: mean - low)

    def density(self, y: ArrayLike) -> Any:
        """Density of Y; ``inf`` beyond the largest float."""
        unit = math.log(2) + math.log(self.scale)
        with np.errstate(over="ignore"):
            return self._each(y, lambda top, mean, low, off: np.exp(mean - off - unit))

    def _each(self, y: ArrayLike, combine: Any) -> Any:
        points = reals(y)
        if not np.isfinite(points).all():
            raise LevelError(
                "outcome",
                expected="finite numbers",
                got=shown(y),
                remedy="for the limits use sup_pml() and sup_pmc()",
            )
        return _each(points, lambda v: combine(*self._logs(v)))

    def _logs(self, y: float) -> tuple[float, float, float, float]:
        """Log max_x h(x), log E h(X), log min_x h(x) at an outcome, and what each is less by.

        That is the distance of the outcome from what noise was added to, over b: beyond the support
        it is in every h, and may be beyond floats where their ratios are not.
        """
        law, b = self.law, self.scale
        if law.values is None:
            if self.entries > 1:
                raise LevelError(
                    "outcome of a mean",
                    expected="a law with finitely many values, or one entry",
                    got=f"a density and {self.entries} entries",
                    remedy="use sup_pml(), sup_pmc(), or Law.sample of values drawn from it",
                )
            nearest = min(max(y, law.low), law.high)
            farthest = max(nearest - law.low, law.high - nearest)
            mean, _ = law.log_expect(lambda s: -np.abs(s) / b, nearest, b)
            return 0.0, mean, -farthest / b, abs(y - nearest) / b
        values, masses = law.values, law.masses
        assert masses is not None
        sums, logs = self._others
        n = self.entries
        nearest = min(max(y, (law.low + sums.min()) / n), (law.high + sums.max()) / n)

        def log_h(points: ArrayLike) -> NDArray[np.float64]:
            """Log h(x) for values x of one entry."""
            x = np.asarray(points, dtype=np.float64)[:, None]
            with np.errstate(over="ignore"):
                return _log_sum(logs - np.abs(nearest - (x + sums[None, :]) / n) / b)

        found, ends = log_h(values), log_h([law.low, law.high])
        with np.errstate(divide="ignore"):
            mean = _log_sum((found + np.log(masses))[None, :])[0]
        off = abs(y - float(nearest)) / b
        return float(found.max()), float(mean), float(min(found.min(), ends.min())), off

    @cached_property
    def _others(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of the sum of the n − 1 other entries, and the logarithms of their masses."""
        values, masses = self.law.values, self.law.masses
        assert values is not None
        assert masses is not None
        others = self.entries - 1
        # So many sums at least are different; of one value, the sum itself has to be a float.
        if others * (len(values) - 1) >= _MOST_SUMS or others > sys.float_info.max:
            raise self._too_many(len(values))
        if len(values) == 1:
            return np.array([others * values[0]]), np.zeros(1)
        if len(values) == 2 and others:
            from scipy.stats import binom

            k = np.arange(others + 1)
            logs = binom.logpmf(k, others, masses[1])
            return (others - k) * values[0] + k * values[1], np.asarray(logs)
        with np.errstate(divide="ignore"):
            single = np.log(masses)
        sums: NDArray[np.float64] = np.zeros(1)
        logs = np.zeros(1)
        work = 0
        for _ in range(others):
            table = (sums[:, None] + values[None, :]).ravel()
            weight = (logs[:, None] + single[None, :]).ravel()
            # Sums that agree up to rounding are one value.
            key = np.round(table / max(np.abs(table).max(), 1e-300), 12)
            _, first, place = np.unique(key, return_index=True, return_inverse=True)
            sums, logs = table[first], np.full(len(first), -math.inf)
            np.logaddexp.at(logs, place, weight)
            work += len(table)
            if len(sums) > _MOST_SUMS or work > _MOST_WORK:
                raise self._too_many(len(values))
        return sums, logs

    def _too_many(self, values: int) -> LevelError:
        return LevelError(
            "mean of a database",
            expected=f"at most {_MOST_SUMS} different sums of entries",
            got=f"more, with {values} values and {shown(self.entries)} entries",
            remedy="round the values to a grid, or use sup_pml() and sup_pmc()",
        )

    # Over all outcomes

    def sup_pml(self) -> float:
        """An upper bound on ℓ(X_i → y) over all y, max_x −log E e^{−|x − X|/(nb)}, in nats.

        It is attained when the worst x is an end of the support (always for counts), and with one
        entry. Rounded up by what the sums and integrals may be off. For a density x is searched on
        a grid with refinement.
        """
        t, law = self.rate, self.law

        def level(x: float) -> float:
            found, error = law.log_expect(lambda s: -t * np.abs(s), x, 1 / t)
            return error - found

        if law.values is not None:
            return max(0.0, *(level(float(x)) for x in law.values))
        from scipy.optimize import minimize_scalar

        # A coarse sum finds the neighbourhood, exact integrals decide in it. Its kernel is no
        # narrower than the grid, or every point would look the same.
        width = law.high - law.low
        grid = np.linspace(law.low, law.high, _GRID)
        nodes = (np.arange(4 * _GRID) + 0.5) / (4 * _GRID) * width + law.low
        weight = law.weights_at(nodes)
        rate = min(t, 2 * _GRID / width)
        rough = np.exp(-rate * np.abs(grid[:, None] - nodes)) @ (weight / weight.sum())
        best = int(np.argmin(rough))
        around = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
        found = minimize_scalar(
            lambda x: -level(x), bounds=around, method="bounded", options={"xatol": 1e-10 * width}
        )
        ends = (level(law.low), level(law.high), level(float(grid[best])))
        return max(0.0, *ends, -float(found.fun))

    def sup_pmc(self) -> float:
        """max_y Λ(X_i → y) = max{log E e^{(X−c)/(nb)}, log E e^{(d−X)/(nb)}}, in nats.

        Rounded up by what the sums and integrals may be off. In terms of the cumulant generating
        function K of X − μ it is max{(μ−c)/(nb) + K(1/(nb)), (d−μ)/(nb) + K(−1/(nb))}
        ([SaeidianPMC] (13), (14)).
        """
        t, law = self.rate, self.law
        sides = (law.log_mgf_about(law.low, t), law.log_mgf_about(law.high, -t))
        return max(0.0, *(found + error for found, error in sides))

    def dp_level(self) -> float:
        """The level (d − c)/(nb) of differential privacy, which both stay below, rounded up."""
        width = Fraction(self.law.high) - Fraction(self.law.low)
        return float_at_least(width / (self.entries * Fraction(self.scale)))

    # Calibration

    @classmethod
    def for_pml(cls, law: Law, entries: int, epsilon: float) -> LaplaceMean:
        """The least noise with :meth:`sup_pml` at most ε.

        Raises :class:`LevelError` when ε is 0; the scale is tiny when ε is met without noise.
        """
        return cls._calibrated(law, entries, epsilon, "sup_pml")

    @classmethod
    def for_pmc(cls, law: Law, entries: int, epsilon: float) -> LaplaceMean:
        """The least noise with :meth:`sup_pmc` at most ε."""
        return cls._calibrated(law, entries, epsilon, "sup_pmc")

    @classmethod
    def _calibrated(cls, law: Law, entries: int, epsilon: float, level: str) -> LaplaceMean:
        checked(law, Law, "law of the secret", "write for example Law.uniform(0, 1)")
        epsilon = positive(check_level(epsilon, "level"), "level")
        width = law.high - law.low
        if width == 0:
            return cls(law, entries, 1e-12)
        start = width / (number_of(entries) * epsilon)
        scale = _solve_decreasing(lambda b: getattr(cls(law, entries, b), level)(), epsilon, start)
        return cls(law, entries, scale)

    # The class of counts with a chance in (c, 1 − c)

    @staticmethod
    def class_bound(entries: int, least: float, scale: float) -> float:
        """Sup ℓ(D_i → y) over y and all chances in (c, 1−c): t − log(1 − c + c e^t), t = 1/(nb).

        [SaeidianDisclosure] Proposition 4.6; the supremum is attained in the limit of the chance c
        or 1 − c (the published argument has a gap, the statement holds).
        """
        t = 1 / (number_of(entries) * exactly(scale, "scale of the noise"))
        c = _least(least)
        # In terms of e^{−t}, so that large t stays finite. The bound rises with t.
        low = 1 / exp_bounds(t)[1] if t <= LARGEST_LEVEL else Fraction(0)
        if c == 0 and t > LARGEST_LEVEL:
            return float_at_least(t)
        return log_upper(1 / (c + (1 - c) * low))

    @staticmethod
    def class_scale(entries: int, least: float, epsilon: float) -> float:
        """The scale b at which :meth:`class_bound` is ε, rounded up; 0 where no noise is needed.

        b = 1/(n t) with e^t = e^ε (1 − c)/(1 − c e^ε); from ε = log(1/c) on, none is needed.
        """
        n, c, level = number_of(entries), _least(least), exactly(epsilon, "level")
        if c == 0:
            t = level
        elif log_bounds(1 / c)[1] <= level:
            return 0.0
        else:
            # Where the level is too close to log(1/c) to decide, the factor is taken from below it.
            factor = exp_lower(level)
            t = log_bounds(factor * (1 - c) / (1 - c * factor))[0]
        # Below all levels there is no amount: one beyond all floats stands for it.
        amount = 1 / (n * t) if t > 0 else 2 * Fraction(sys.float_info.max)
        return at_least(
            amount,
            "scale of the noise",
            expected="a level that noise up to the largest float reaches",
            got=shown(epsilon),
            remedy="ask for a larger level",
        )


@dataclass(frozen=True)
class GaussianNoise:
    """Y = X + N(0, σ²) for a secret X with a law on [c, d].

    Notes
    -----
    :meth:`pmc` is exact where both ends of the domain lie in the support of the law, else an upper
    bound; :meth:`pmc_bounds` are the published ones, for laws with mean 0 and |X| ≤ A, the lower
    one for the support. Source: [SaeidianPMC] Example 6. (The published remark that Λ is dominated
    by a Gaussian with mean A²/2σ² does not hold; the tail bound does.)

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
        _check_scale(self.sigma, self.law, "standard deviation")

    def pmc(self, y: ArrayLike) -> Any:
        """Λ(X → y) = log f(y)/min_x f(y|x) in nats, for an outcome or an array of them.

        ``inf`` where it is beyond the largest float. The least likely secret is the end of the
        domain that lies farther from y; where that end is not in the support of the law, this is an
        upper bound, and exact for the same law without ends.
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
                remedy="their leakage is beyond all floats",
            )
        if not np.isfinite(points).all():
            raise LevelError(
                "outcome",
                expected="finite numbers",
                got=shown(y),
                remedy="Gaussian noise has no finite level over all outcomes; use tail()",
            )
        return _each(points, function)

    def _nearest(self, y: float) -> float:
        # Far from the domain all distances are one float.
        inside = min(max(y, self.law.low), self.law.high)
        if self.law.values is not None:
            return float(self.law.values[np.argmin(np.abs(self.law.values - inside))])
        return inside

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
        A|y|/σ² + K(y/σ²) ≤ Λ ≤ A(A + 2|y|)/2σ² + K(y/σ²). The lower ones hold where −A and A are in
        the support, as those of a density are taken to be. Of listed values with ends −c and d the
        lower bound is e|y|/σ² − (max(c, d)² − e²)/2σ², with e the end on the other side of 0 than
        y, and K as before.
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
        extra = 0.0
        if with_cgf:
            slope = place / self.sigma / self.sigma
            if not math.isfinite(slope):
                raise LevelError(
                    "outcome",
                    expected="one for which y/σ² is within the floats",
                    got=shown(y),
                    remedy="leave with_cgf out",
                )
            extra = self.law.cgf(slope)
        least = bound * apart + extra
        if self.law.values is not None and self.law.masses is not None:
            live = self.law.values[self.law.masses > 0] / self.sigma
            ends = -float(live.min()), float(live.max())
            end, wider = ends[place < 0], max(ends)
            least = max(0.0, end * apart - (wider - end) * (wider + end) / 2 + extra)
        if with_cgf:
            return least, bound * (bound / 2 + apart) + extra
        return least, bound * (bound / 2 + 2 * apart)

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
        """P(Λ(X → Y) ≥ level) of :meth:`pmc`, by integration over the outcomes where it is reached.

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
        sigma = _solve_decreasing(lambda s: cls(law, s).tail(level), target, width / level)
        return cls(law, sigma)


def _log_sum(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of the sum of exponentials along the last axis; −inf for a sum of zeros."""
    top = logs.max(axis=-1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.exp(logs - shift[..., None]).sum(axis=-1)))


def _least(value: Any) -> Fraction:
    least = exactly(value, "least chance c", zero=True)
    if least >= Fraction(1, 2):
        raise LevelError(
            "least chance c",
            expected="a number from 0 up to, not including, 1/2",
            got=shown(value),
            remedy="chances lie in (c, 1 − c)",
        )
    return least


# What both share


def _each(points: NDArray[np.float64], function: Callable[[float], Any]) -> Any:
    """A function of an outcome at one of them, or at an array of them."""
    found = np.array([function(float(v)) for v in points.ravel()])
    return float(found[0]) if points.ndim == 0 else found.reshape(points.shape)


def _check_scale(scale: float, law: Law, subject: str) -> None:
    """Refuse a scale of noise beside which the domain's width is no float."""
    ratio = (law.high - law.low) / scale
    if not math.isfinite(ratio) or (ratio == 0 and law.low < law.high):
        raise LevelError(
            subject,
            expected=f"one that the width {law.high - law.low:g} can be divided by",
            got=shown(scale),
            remedy="measure both in another unit",
        )


def _solve_decreasing(function: Callable[[float], float], target: float, start: float) -> float:
    """The x > 0 at which a decreasing function of x falls to ``target``, from above.

    Returns a point where the function is at most ``target``, within a relative 1e-13 of the root.
    """
    low = high = min(max(start, 1e-300), 1e300)
    while high < 1e306:
        if function(high) <= target:
            break
        low, high = high, high * 2
    else:
        raise LevelError(
            "calibration",
            expected="a level that some amount of noise reaches",
            got=shown(target),
            remedy="ask for a larger level",
        )
    while function(low) <= target and low > 1e-300:
        low, high = low / 2, low
    for _ in range(200):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (low, middle) if function(middle) <= target else (middle, high)
        if high - low <= 1e-13 * high:
            break
    return high
