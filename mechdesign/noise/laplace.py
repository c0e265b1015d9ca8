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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LevelError
from ..privacy.notion import check_level
from .checking import checked, reals, shown
from .laws import Law, number_of, positive, solve_decreasing

_MOST_SUMS = 200_000
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
    >>> count.pml(.3) < count.sup_pml() <= LaplaceMean.class_bound(10, .3, .5)
    True
    """

    law: Law
    entries: int
    scale: float

    def __post_init__(self) -> None:
        checked(self.law, Law, "law of the secret", "write for example Law.uniform(0, 1)")
        object.__setattr__(self, "entries", number_of(self.entries))
        object.__setattr__(self, "scale", positive(self.scale, "scale of the noise"))

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
        return self._each(y, lambda top, mean, low: top - mean)

    def pmc(self, y: ArrayLike) -> Any:
        """Λ(X_i → y) in nats for an outcome or an array of them."""
        return self._each(y, lambda top, mean, low: mean - low)

    def density(self, y: ArrayLike) -> Any:
        """Density of Y."""
        return self._each(y, lambda top, mean, low: np.exp(mean) / (2 * self.scale))

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

    def _logs(self, y: float) -> tuple[float, float, float]:
        """Log max_x h(x), log E h(X), log min_x h(x) at an outcome."""
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
            farthest = max(y - law.low, law.high - y)
            base = abs(y - nearest) / b
            mean = law.expect(lambda x: np.exp(base - np.abs(y - x) / b), [y])
            return -base, math.log(mean) - base, -farthest / b
        values, masses = law.values, law.masses
        sums, chances = self._others
        apart = -np.abs(y - (values[:, None] + sums[None, :]) / self.entries) / b
        shift = apart.max()
        h = np.exp(apart - shift) @ chances
        lowest = float(h.min())
        for end in (law.low, law.high):
            lowest = min(
                lowest,
                float(np.exp(-np.abs(y - (end + sums) / self.entries) / b - shift) @ chances),
            )
        return (
            float(shift + np.log(h.max())),
            float(shift + np.log(masses @ h)),
            shift + math.log(lowest) if lowest > 0 else -math.inf,
        )

    @cached_property
    def _others(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values and masses of the sum of the n − 1 other entries."""
        values, masses = self.law.values, self.law.masses
        assert values is not None
        assert masses is not None
        sums: NDArray[np.float64] = np.zeros(1)
        chances: NDArray[Any] = np.ones(1)
        for _ in range(self.entries - 1):
            table = (sums[:, None] + values[None, :]).ravel()
            weight = (chances[:, None] * masses[None, :]).ravel()
            # Sums that agree up to rounding are one value.
            key = np.round(table / max(np.abs(table).max(), 1e-300), 12)
            _, first, place = np.unique(key, return_index=True, return_inverse=True)
            sums, chances = table[first], np.bincount(place, weight)
            if len(sums) > _MOST_SUMS:
                raise LevelError(
                    "mean of a database",
                    expected=f"at most {_MOST_SUMS} different sums of entries",
                    got=f"more, with {len(values)} values and {self.entries} entries",
                    remedy="round the values to a grid, or use sup_pml() and sup_pmc()",
                )
        return sums, chances

    # Over all outcomes

    def sup_pml(self) -> float:
        """An upper bound on ℓ(X_i → y) over all y, max_x −log E e^{−|x − X|/(nb)}, in nats.

        It is attained when the worst x is an end of the support (always for counts), and with one
        entry. For a density x is searched on a grid with refinement.
        """
        t, law = self.rate, self.law

        def level(x: float) -> float:
            return -math.log(law.expect(lambda v: np.exp(-t * np.abs(v - x)), [x]))

        if law.values is not None:
            return max(0.0, *(level(float(x)) for x in law.values))
        from scipy.optimize import minimize_scalar

        # A coarse sum finds the neighbourhood, exact integrals decide in it.
        grid = np.linspace(law.low, law.high, _GRID)
        nodes = (np.arange(4 * _GRID) + 0.5) / (4 * _GRID) * (law.high - law.low) + law.low
        weight = law.weights_at(nodes)
        rough = np.exp(-t * np.abs(grid[:, None] - nodes)) @ (weight / weight.sum())
        best = int(np.argmin(rough))
        around = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
        found = minimize_scalar(
            lambda x: -level(x), bounds=around, method="bounded", options={"xatol": 1e-10}
        )
        ends = (level(law.low), level(law.high), level(float(grid[best])))
        return max(0.0, *ends, -float(found.fun))

    def sup_pmc(self) -> float:
        """max_y Λ(X_i → y) = max{log E e^{(X−c)/(nb)}, log E e^{(d−X)/(nb)}}, in nats.

        In terms of the cumulant generating function K of X − μ it is
        max{(μ−c)/(nb) + K(1/(nb)), (d−μ)/(nb) + K(−1/(nb))} ([SaeidianPMC] (13), (14)).
        """
        t, law = self.rate, self.law
        return max(0.0, law.log_mgf_from(law.low, t), law.log_mgf_from(law.high, -t))

    def dp_level(self) -> float:
        """The level (d − c)/(nb) of differential privacy, which both stay below."""
        return (self.law.high - self.law.low) * self.rate

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
        t = 1 / (number_of(entries) * positive(scale, "scale of the noise"))
        c = _least(least)
        # Divided by e^t, so that large t stays finite.
        return -math.log(c + (1 - c) * math.exp(-t))

    @staticmethod
    def class_scale(entries: int, least: float, epsilon: float) -> float:
        """The scale b at which :meth:`class_bound` is ε; 0 where no noise is needed.

        b = 1/(n t) with e^t = e^ε (1 − c)/(1 − c e^ε); from ε = log(1/c) on, none is needed.
        """
        c, epsilon = _least(least), positive(epsilon, "level")
        rest = 1 - c * math.exp(epsilon)
        if rest <= 0:
            return 0.0
        t = epsilon + math.log1p(-c) - math.log(rest)
        return 1 / (number_of(entries) * t)


def _least(value: Any) -> float:
    least = positive(value, "least chance c", zero=True)
    if least >= 0.5:
        raise LevelError(
            "least chance c",
            expected="a number from 0 up to, not including, 1/2",
            got=repr(value),
            remedy="chances lie in (c, 1 − c)",
        )
    return least
