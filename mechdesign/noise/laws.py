"""Laws of a bounded secret on the real line: expectations and cumulant generating functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LevelError, PriorError
from ..exact import fraction
from ..prior import Prior
from .checking import checked, real, reals, shown, whole
from .integrating import NODES, PANELS, Piece, integral, no_integral, pieces

# Exponents so small that e^x − 1 keeps digits that e^x loses.
_SMALL = 0.5
_ULP = 2.0**-52
# A change within less is not integrated: offsets would leave the floats.
_NARROWEST = 1e-280


@dataclass(frozen=True, eq=False)
class Law:
    """A law on [low, high]: finitely many values, or a density.

    Use :meth:`finite`, :meth:`two_point`, :meth:`uniform`, :meth:`beta`, :meth:`of` or
    :meth:`sample`. The ends matter: privacy compares the most extreme values that the secret may
    take, so ``low`` and ``high`` should be ends of its support (else levels are upper bounds).

    Attributes
    ----------
    low, high : ends of the domain
    values, masses : the values and their masses, or ``None`` for a density
    density, ends : the density on [low, high] is density(x) (x − low)^α (high − x)^β with
        ends = (α, β); ``None`` for finitely many values
    """

    low: float
    high: float
    values: NDArray[np.float64] | None = None
    masses: NDArray[np.float64] | None = None
    density: Callable[[Any], Any] | None = field(default=None, repr=False)
    ends: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def finite(
        cls,
        values: ArrayLike,
        masses: ArrayLike,
        low: float | None = None,
        high: float | None = None,
    ) -> Law:
        """Values with masses (divided by their sum); the domain is their range when left out.

        Raises :class:`PriorError` for masses that are no distribution.
        """
        x, p = np.atleast_1d(reals(values)), np.atleast_1d(reals(masses))
        good = x.ndim == 1 and x.shape == p.shape and np.isfinite(x).all() and np.isfinite(p).all()
        if not good or not len(x) or (p < 0).any() or p.sum() <= 0:
            raise PriorError(
                "law of a secret",
                expected="finite values with as many non-negative masses",
                got=f"values {shown(values)}, masses {shown(masses)}",
                remedy="give one mass per value",
            )
        p = p / p.max()
        x, place = np.unique(x[p > 0], return_inverse=True)
        p = np.bincount(place, p[p > 0]).astype(np.float64)
        first, last = (float(end) for end in x[[0, -1]])
        ends = _checked_ends(first if low is None else low, last if high is None else high, x)
        return cls(*ends, x, p / p.sum())

    @classmethod
    def from_prior(cls, prior: Prior) -> Law:
        """The law of numeric labels under a prior."""
        checked(prior, Prior, "law of a secret", "for numbers use Law.sample", PriorError)
        try:
            values = np.array([float(label) for label in prior.labels])
        except (TypeError, ValueError):
            raise PriorError(
                "law of a secret",
                expected="a prior whose labels are numbers",
                got=f"labels such as {shown(prior.labels[0])}",
                remedy="relabel the symbols with the numbers they stand for",
            ) from None
        return cls.finite(values, prior.probabilities)

    @classmethod
    def two_point(cls, chance: float, low: float = 0.0, high: float = 1.0) -> Law:
        """``high`` with probability ``chance``, else ``low``."""
        p = real(chance)
        if not 0 <= p <= 1:
            raise PriorError(
                "chance of a two-point law",
                expected="a probability",
                got=shown(chance),
                remedy="give a number from 0 to 1",
            )
        return cls.finite([low, high], [1 - p, p], low, high)

    @classmethod
    def uniform(cls, low: float, high: float) -> Law:
        """Uniform on [low, high]."""
        low, high = _checked_ends(low, high)
        return cls(low, high, density=lambda x: np.full(np.shape(x), 1 / (high - low)))

    @classmethod
    def beta(cls, a: float, b: float, low: float = 0.0, high: float = 1.0) -> Law:
        """A beta law with parameters a, b, stretched to [low, high]."""
        from scipy.special import betaln

        low, high = _checked_ends(low, high)
        a, b = positive(a, "parameter of a beta law"), positive(b, "parameter of a beta law")
        height = -float(betaln(a, b)) - (a + b - 1) * math.log(high - low)
        if min(a, b) < 1e-6 or not abs(height) < 700:
            raise PriorError(
                "beta law",
                expected="parameters from 1e-6 on a domain where its density is within the floats",
                got=f"{a:g} and {b:g} on [{low:g}, {high:g}]",
                remedy="use Law.two_point for a law on both ends, Law.uniform for one that is flat",
            )
        constant = math.exp(height)
        return cls(low, high, density=lambda x: np.full(np.shape(x), constant), ends=(a - 1, b - 1))

    @classmethod
    def of(cls, distribution: Any) -> Law:
        """A bounded continuous ``scipy.stats`` distribution with its parameters fixed.

        Raises :class:`PriorError` for one whose support is unbounded.
        """
        try:
            ends = distribution.support() if hasattr(distribution, "pdf") else None
        except (TypeError, ValueError, AttributeError):  # its parameters are not fixed
            ends = None
        if ends is None:
            raise PriorError(
                "law of a secret",
                expected="a continuous scipy.stats distribution with its parameters fixed",
                got=shown(distribution),
                remedy="write for example scipy.stats.beta(2, 5)",
            )
        low, high = _checked_ends(*ends)
        kind = getattr(getattr(distribution, "dist", None), "name", "")
        if kind == "beta" and len(distribution.args) >= 2:
            # Its poles at the ends are known, so that they can be integrated.
            a, b = distribution.args[:2]
            return cls.beta(a, b, low, high)
        return cls(low, high, density=distribution.pdf)

    @classmethod
    def sample(
        cls, values: Iterable[float], low: float | None = None, high: float | None = None
    ) -> Law:
        """The empirical law of a sample, on its range or on a stated domain."""
        sample = reals(values if isinstance(values, (str, bytes, np.ndarray)) else _list(values))
        if sample.ndim != 1 or not len(sample) or not np.isfinite(sample).all():
            raise PriorError(
                "law of a sample",
                expected="a list of finite numbers",
                got=shown(values),
                remedy="drop missing values, and turn text into numbers",
            )
        return cls.finite(sample, np.ones(len(sample)), low, high)

    def expect(
        self,
        function: Callable[[NDArray[np.float64]], Any],
        kinks: Iterable[float] = (),
        width: float = math.inf,
    ) -> float:
        """E[function(X)].

        Densities are integrated to a relative error of 1e-12 or so.

        Parameters
        ----------
        function : of an array of values
        kinks : points where the function is not smooth, or changes fastest
        width : how far from the kinks it changes; matters where it is far below the domain's width
        """
        if self.values is not None and self.masses is not None:
            return math.fsum(self.masses * function(self.values))
        middle = (self.low + self.high) / 2
        places = self._pieces(middle, kinks, width)

        def values(place: Piece, u: Any) -> Any:
            offset, log_weight = place(u)
            return np.exp(log_weight) * function(middle + offset)

        return integral([partial(values, place) for place in places])[0]

    def log_expect(
        self,
        exponent: Callable[[NDArray[np.float64]], Any],
        peak: float,
        width: float,
        kinks: Iterable[float] = (),
    ) -> tuple[float, float]:
        """Log E[e^{exponent(X − peak)}], and how far off it may be.

        Neither overflow nor underflow of the exponential matters, and the number of values of the
        density that are looked at grows with the logarithm of the domain's width over ``width``.

        Parameters
        ----------
        exponent : of an array of offsets from the peak; it may be −inf
        peak : a point of the domain where the exponent is largest
        width : how far from there it falls by one or so
        kinks : other points where it changes on that scale
        """
        reach = max(self.high - peak, peak - self.low)
        if self.values is not None and self.masses is not None:
            with np.errstate(all="ignore"):
                powers = exponent(self.values - peak)
                logs = powers + np.log(self.masses)
            if np.abs(powers).max() <= _SMALL:
                mean = math.fsum(self.masses * np.expm1(powers))
                return math.log1p(mean), 8 * _ULP * abs(mean)
            shift = float(logs.max())
            if shift == -math.inf:
                return shift, 0.0
            found = shift + math.log(math.fsum(np.exp(logs - shift)))
            return found, _ULP * (64 + 8 * abs(found))
        if not width > _NARROWEST:
            raise no_integral(f"a change within {width:.3g} of {peak:g}")
        places = self._pieces(peak, (peak, *kinks), width)
        with np.errstate(all="ignore"):
            ends = np.asarray(exponent(np.array([self.low - peak, self.high - peak])))

        def powers_at(place: Piece, u: Any) -> tuple[Any, Any]:
            offset, log_weight = place(u)
            with np.errstate(all="ignore"):
                return exponent(offset), log_weight

        if reach < width and np.abs(ends).max() <= _SMALL:

            def change(place: Piece, u: Any) -> Any:
                power, log_weight = powers_at(place, u)
                return np.exp(log_weight) * np.expm1(power)

            mean, error = integral([partial(change, place) for place in places])
            return math.log1p(mean), error + 8 * _ULP * abs(mean)
        # Relative to the largest value seen on a first grid, near enough to the largest there is.
        first = (np.arange(NODES * PANELS) + 0.5) / (NODES * PANELS)
        shift = max(float(sum(powers_at(place, first)).max()) for place in places)

        def values(place: Piece, u: Any) -> Any:
            power, log_weight = powers_at(place, u)
            with np.errstate(over="ignore"):
                return np.exp(power + log_weight - shift)

        if shift == -math.inf:
            raise no_integral("nothing but zeros")
        total, error = integral([partial(values, place) for place in places])
        found = shift + math.log(total)
        return found, error / total + _ULP * (64 + 8 * abs(found))

    def _pieces(self, origin: float, kinks: Iterable[float], width: float) -> list[Piece]:
        assert self.density is not None
        return pieces(self.low, self.high, self.density, self.ends, origin, kinks, width)

    def weights_at(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The density at points inside the domain."""
        assert self.density is not None
        alpha, beta = self.ends
        return np.asarray(
            self.density(points) * (points - self.low) ** alpha * (self.high - points) ** beta
        )

    @cached_property
    def mean(self) -> float:
        """E[X]."""
        return self.low + self.expect(lambda x: x - self.low)

    def log_mgf_from(self, point: float, t: float) -> float:
        """Log E[e^{t (X − point)}], stable for large t; ``inf`` beyond the largest float."""
        return self.log_mgf_about(point, t)[0]

    def log_mgf_about(self, point: float, t: float) -> tuple[float, float]:
        """Log E[e^{t (X − point)}], and how far off it may be."""
        width = 1 / abs(t) if t else math.inf
        if abs(t) * max(abs(self.high - point), abs(self.low - point)) <= _SMALL:
            # No large numbers are added whose difference is small.
            inside = min(max(point, self.low), self.high)
            if inside == point:
                return self.log_expect(lambda s: t * s, point, width)
        end = self.high if t >= 0 else self.low
        inner, error = self.log_expect(lambda s: t * s, end, width)
        shift = t * (end - point)
        return shift + inner, error + _ULP * 4 * abs(shift)

    def cgf(self, t: float) -> float:
        """K(t) = log E[e^{t (X − E X)}], the cumulant generating function of X − E X."""
        return self.log_mgf_from(self.mean, t)


def _list(values: Any) -> Any:
    """The members of an iterable; anything else as it is."""
    return list(values) if isinstance(values, Iterable) else values


def _checked_ends(
    first: Any, last: Any, values: NDArray[np.float64] | None = None
) -> tuple[float, float]:
    low, high = real(first), real(last)
    good = math.isfinite(low) and math.isfinite(high) and low <= high
    # Widths are divided by, and added up.
    good = good and math.isfinite(2 * high - 2 * low)
    if good and values is None:
        good = low < high and math.isfinite(1 / (high - low))
    if good and values is not None:
        good = low <= values[0] and values[-1] <= high
    if not good:
        raise PriorError(
            "domain of a law",
            expected="finite ends low < high around all values, apart by a number far from the "
            "largest and the smallest",
            got=f"[{shown(first)}, {shown(last)}]",
            remedy="a secret without bounds has no finite level; cut it off",
        )
    return low, high


def positive(value: Any, subject: str, *, zero: bool = False) -> float:
    """A positive finite float, or a :class:`LevelError`."""
    number = real(value)
    least = number >= 0 if zero else number > 0
    if isinstance(value, bool) or not least or not math.isfinite(number):
        raise LevelError(
            subject,
            expected="a positive finite number",
            got=shown(value),
            remedy="write for example 0.5, without quotes",
        )
    return number


def check_scale(scale: float, law: Law, subject: str) -> None:
    """Refuse a scale of noise beside which the domain's width is no float."""
    ratio = (law.high - law.low) / scale
    if not math.isfinite(ratio) or (ratio == 0 and law.low < law.high):
        raise LevelError(
            subject,
            expected=f"one that the width {law.high - law.low:g} can be divided by",
            got=shown(scale),
            remedy="measure both in another unit",
        )


def exactly(value: Any, subject: str, *, zero: bool = False) -> Fraction:
    """The exact value of a positive finite number, or a :class:`LevelError`."""
    number = positive(value, subject, zero=zero)
    try:
        return fraction(value)
    except TypeError:  # an array of one number, for example
        return Fraction(number)


def number_of(entries: Any) -> int:
    """A number of database entries, or a :class:`LevelError`."""
    if not whole(entries):
        raise LevelError(
            "number of entries",
            expected="a whole number from 1",
            got=shown(entries),
            remedy="give the number of rows of the database",
        )
    return int(entries)


def solve_decreasing(function: Callable[[float], float], target: float, start: float) -> float:
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
