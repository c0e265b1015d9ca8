"""Laplace noise on the mean of a database: what each outcome tells about one entry, exactly.

The database has n independent entries of one law on [c, d]; released is Y = mean + Lap(b). With
t = 1/(nb), g(s) = e^{−|y − s|/b} and h(x) = E g((x + the other entries)/n), outcome y tells

    PML  ℓ(X_i → y) = log max_x h(x) / E h(X),     PMC  Λ(X_i → y) = log E h(X) / min_x h(x).

h is t-Lipschitz in the logarithm, so 1/E e^{−t|x − X|} bounds the first and E e^{t|x − X|}, convex
in x and so largest at an end, the second. Above d and below c the bounds at the ends are attained.
"""

from __future__ import annotations

import math
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
from .checking import checked, reals, shown
from .laws import Law, check_scale, exactly, number_of, positive, solve_decreasing

_MOST_SUMS = 200_000
# Sums written down on the way, over all entries.
_MOST_WORK = 100_000_000
_GRID = 257


@dataclass(frozen=True)
class LaplaceMean:
    """Y = (X_1 + … + X_n)/n + Lap(b), and what y tells about one X_i.

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
    bound; [SaeidianPMC] Example 5.

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
        check_scale(self.scale, self.law, "scale of the noise")
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
        return 1 / (self.entries * self.scale)

    # At one outcome

    def pml(self, y: ArrayLike) -> Any:
        """ℓ(X_i → y) in nats for an outcome or an array of them."""
        return self._each(y, lambda top, mean, low, off: top - mean)

    def pmc(self, y: ArrayLike) -> Any:
        """Λ(X_i → y) in nats for an outcome or an array of them."""
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
        found = np.array([combine(*self._logs(float(v))) for v in points.ravel()])
        return float(found[0]) if points.ndim == 0 else found.reshape(points.shape)

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
        # So many sums at least are different.
        if others * (len(values) - 1) >= _MOST_SUMS:
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
        scale = solve_decreasing(lambda b: getattr(cls(law, entries, b), level)(), epsilon, start)
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
            # Closer to log(1/c) than can be told, the factor is taken from just below it.
            factor = exp_lower(level)
            t = log_bounds(factor * (1 - c) / (1 - c * factor))[0]
        scale = float_at_least(1 / (n * t)) if t > 0 else math.inf
        if scale == math.inf:
            raise LevelError(
                "scale of the noise",
                expected="a level that noise up to the largest float reaches",
                got=shown(epsilon),
                remedy="ask for a larger level",
            )
        return scale


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
