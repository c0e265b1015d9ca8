"""Laws of a bounded secret on the real line: expectations and cumulant generating functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PriorError
from ..prior import Prior
from .checks import checked, positive, real, reals, shown

# Exponents so small that e^x − 1 keeps digits that e^x loses.
_SMALL = 0.5
_ULP = 2.0**-52
# A change within less is not integrated: offsets would leave the floats.
_NARROWEST = 1e-280
# Largest error of an integral, relative to it, and of one interval of it.
_ACCURACY = 1e-10
_AGREEMENT = 1e-14
# Nodes of an interval, and intervals that a piece starts with.
_NODES, _PANELS = 12, 4
_HALVINGS = 60
# Intervals that may wait for another halving: a density that needs more is refused.
_MOST_PANELS = 20_000
# Next to a kink, pieces grow by this factor from one to the next.
_GRADING = 4.0
_SMALLEST = 1e-300


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

        def values(place: _Piece, u: Any) -> Any:
            offset, log_weight = place(u)
            return np.exp(log_weight) * function(middle + offset)

        return _integral([partial(values, place) for place in places])[0]

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
            raise _no_integral(f"a change within {width:.3g} of {peak:g}")
        places = self._pieces(peak, (peak, *kinks), width)
        with np.errstate(all="ignore"):
            ends = np.asarray(exponent(np.array([self.low - peak, self.high - peak])))

        def powers_at(place: _Piece, u: Any) -> tuple[Any, Any]:
            offset, log_weight = place(u)
            with np.errstate(all="ignore"):
                return exponent(offset), log_weight

        if reach < width and np.abs(ends).max() <= _SMALL:

            def change(place: _Piece, u: Any) -> Any:
                power, log_weight = powers_at(place, u)
                return np.exp(log_weight) * np.expm1(power)

            mean, error = _integral([partial(change, place) for place in places])
            return math.log1p(mean), error + 8 * _ULP * abs(mean)
        # Relative to the largest value found on a first grid, near enough to the largest there is.
        first = (np.arange(_NODES * _PANELS) + 0.5) / (_NODES * _PANELS)
        shift = max(float(sum(powers_at(place, first)).max()) for place in places)

        def values(place: _Piece, u: Any) -> Any:
            power, log_weight = powers_at(place, u)
            with np.errstate(over="ignore"):
                return np.exp(power + log_weight - shift)

        if shift == -math.inf:
            raise _no_integral("nothing but zeros")
        total, error = _integral([partial(values, place) for place in places])
        found = shift + math.log(total)
        return found, error / total + _ULP * (64 + 8 * abs(found))

    def _pieces(self, origin: float, kinks: Iterable[float], width: float) -> list[_Piece]:
        assert self.density is not None
        return _pieces_of(self.low, self.high, self.density, self.ends, origin, kinks, width)

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
        is_beyond = inner == -math.inf or math.isinf(t * (end - point))
        if is_beyond and self.values is not None:
            # No value lies near the end of the domain; the one that weighs most is the peak then.
            end = float(self.values.max() if t >= 0 else self.values.min())
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


# Integrals, however narrow what is integrated is


@dataclass(frozen=True)
class _Piece:
    """A piece [a, b] of the domain of a density, in offsets from an origin, as the unit interval.

    Distances from the ends of the domain are kept apart from the offsets, so that a piece next to
    an end may be smaller than the digits of the end allow.

    Attributes
    ----------
    low, high : ends of the domain, as offsets from the origin
    density, ends : the density at offset s is density(origin + s) (s − low)^α (high − s)^β
    origin : a point of the domain
    a, b : ends of the piece, as offsets
    """

    low: float
    high: float
    density: Callable[[Any], Any]
    ends: tuple[float, float]
    origin: float
    a: float
    b: float

    def __call__(self, u: Any) -> tuple[Any, Any]:
        """The offset at a place of the unit interval, and the logarithm of density times dx/du.

        A factor (x − low)^α with α < 0 goes into the substitution x = low + (b − low) u^{1/(α+1)}.
        """
        a, b = self.a, self.b
        (rise, fall), width = self.ends, b - a
        log_scale = math.log(width)
        if a == self.low:
            if rise < 0:
                u, log_scale = u ** (1 / (rise + 1)), (rise + 1) * log_scale - math.log1p(rise)
            above = width * u
            offset = a + above
            below = self.high - offset
            rise = 0.0 if rise < 0 else rise
        elif b == self.high:
            if fall < 0:
                u, log_scale = u ** (1 / (fall + 1)), (fall + 1) * log_scale - math.log1p(fall)
            below = width * (u if fall < 0 else 1 - u)
            offset = b - below
            above = offset - self.low
            fall = 0.0 if fall < 0 else fall
        else:
            offset = a + width * u
            above = offset - self.low
            below = self.high - offset
        with np.errstate(divide="ignore"):
            log_weight = log_scale + np.log(self.density(self.origin + offset))
            log_weight = log_weight + rise * np.log(above) if rise else log_weight
            log_weight = log_weight + fall * np.log(below) if fall else log_weight
        return offset, log_weight


def _pieces_of(
    low: float,
    high: float,
    density: Callable[[Any], Any],
    ends: tuple[float, float],
    origin: float,
    kinks: Iterable[float],
    width: float,
) -> list[_Piece]:
    """Pieces of the domain [low, high], the smaller the nearer to a kink.

    ``width`` is how far from the kinks what is integrated changes.
    """
    below, above = low - origin, high - origin
    cuts = {below, above, below + (above - below) / 2}
    steps = []
    step = max(width, _SMALLEST)
    while step < above - below:
        steps.append(step)
        step *= _GRADING
    for kink in kinks:
        at = min(max(kink - origin, below), above)
        cuts.update({at, *(at + s for s in steps), *(at - s for s in steps)})
    inside = sorted(c for c in cuts if below <= c <= above)
    return [_Piece(below, above, density, ends, origin, a, b) for a, b in pairwise(inside)]


def _integral(parts: list[Callable[[Any], Any]]) -> tuple[float, float]:
    """The sum of integrals over [0, 1], and an estimate of its error.

    Gauss-Legendre on intervals that are halved, all at once, until the halves agree with the whole
    or there are too many of them. Raises :class:`PriorError` where ten digits are out of reach.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        nodes, weights = (nodes + 1) / 2, weights / 2
        done, errors = [], []
        waiting = []
        panels = _PANELS if len(parts) <= _PANELS else 1
        for part in parts:
            starts, width = np.arange(panels) / panels, 1 / panels
            values = width * (part(starts[:, None] + width * nodes) @ weights)
            waiting.append((part, starts, width, values))
        known = 0.0
        for _ in range(_HALVINGS):
            refined = []
            for part, starts, width, values in waiting:
                half = width / 2
                halves = np.stack([starts, starts + half])
                finer = half * (part(halves[:, :, None] + half * nodes) @ weights)
                refined.append((part, halves, half, finer, np.abs(finer.sum(axis=0) - values)))
            # What is large enough to matter is known better with each halving.
            size = known + math.fsum(float(np.abs(finer).sum()) for _, _, _, finer, _ in refined)
            waiting = []
            for part, halves, half, finer, off in refined:
                open_ = ~(off <= _AGREEMENT * size)
                done.extend(finer[:, ~open_].ravel().tolist())
                known += float(np.abs(finer[:, ~open_]).sum())
                errors.extend(off[~open_].tolist())
                if open_.any():
                    waiting.append((part, halves[:, open_].ravel(), half, finer[:, open_].ravel()))
            if not waiting or sum(len(starts) for _, starts, _, _ in waiting) > _MOST_PANELS:
                break
        for _, _, _, values in waiting:
            done.extend(values.tolist())
            errors.extend(np.abs(values).tolist())
    total, error = math.fsum(done), math.fsum(errors)
    if not error <= _ACCURACY * abs(total):
        raise _no_integral(f"an error of {error:.3g} beside {total:.6g}")
    return total, error


def _no_integral(found: str) -> PriorError:
    """The error of a density that cannot be integrated."""
    return PriorError(
        "law of a secret",
        expected="a density that can be integrated to ten digits",
        got=found,
        remedy="use Law.sample of values drawn from it, or Law.finite on a grid",
    )
