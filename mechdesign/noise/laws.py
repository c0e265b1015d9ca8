"""Laws of a bounded secret on the real line: expectations and cumulant generating functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LevelError, PriorError
from ..exact import fraction
from ..prior import Prior
from .checking import checked, real, reals, shown, whole

# Largest error of an integral, relative to it, and of one interval of it.
_ACCURACY = 1e-10
_AGREEMENT = 1e-14
_NODES, _PANELS, _HALVINGS = 12, 4, 60


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
                got=f"labels such as {prior.labels[0]!r}",
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
                got=repr(chance),
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
        width = high - low
        constant = math.exp(-float(betaln(a, b))) / width ** (a + b - 1)
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
                got=repr(distribution)[:60],
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
        self, function: Callable[[NDArray[np.float64]], Any], kinks: Iterable[float] = ()
    ) -> float:
        """E[function(X)]; ``kinks`` are points where the function is not smooth.

        Densities are integrated to a relative error of 1e-12 or so.
        """
        if self.values is not None and self.masses is not None:
            return math.fsum(self.masses * function(self.values))
        return self._integral(function, kinks)

    def _integral(self, function: Callable[[Any], Any], kinks: Iterable[float]) -> float:
        # Kinks next to an end make pieces of no width, and matter to nobody.
        margin = 1e-12 * (self.high - self.low)
        within = {k for k in kinks if self.low + margin < k < self.high - margin}
        cuts = sorted({self.low, (self.low + self.high) / 2, self.high, *within})
        pieces = [self._piece(function, a, b) for a, b in pairwise(cuts)]
        total, error = _adaptive(pieces)
        if not error <= _ACCURACY * abs(total):
            raise PriorError(
                "law of a secret",
                expected="a density that can be integrated to ten digits",
                got=f"an error of {error:.3g} beside {total:.6g}",
                remedy="use Law.sample of values drawn from it, or Law.finite on a grid",
            )
        return total

    def _piece(self, function: Callable[[Any], Any], a: float, b: float) -> Callable[[Any], Any]:
        """The integrand on [a, b] as a function on [0, 1], without a pole at an end.

        A factor (x − low)^α with α < 0 goes into the substitution x = low + (b − low) s^{1/(α+1)}.
        """
        density, (alpha, beta) = self.density, self.ends
        assert density is not None
        width = b - a

        def integrand(s: Any) -> Any:
            x, scale, rise, fall = a + width * s, width, alpha, beta
            if a == self.low and alpha < 0:
                x, scale, rise = a + width * s ** (1 / (alpha + 1)), width ** (alpha + 1), 0.0
                scale /= alpha + 1
            elif b == self.high and beta < 0:
                x, scale, fall = b - width * s ** (1 / (beta + 1)), width ** (beta + 1), 0.0
                scale /= beta + 1
            worth = scale * density(x) * function(x)
            worth = worth * (x - self.low) ** rise if rise else worth
            return worth * (self.high - x) ** fall if fall else worth

        return integrand

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
        """Log E[e^{t (X − point)}], stable for large t."""
        end = self.high if t >= 0 else self.low
        inner = self.expect(lambda x: np.exp(t * (x - end)))
        return t * (end - point) + math.log(inner)

    def cgf(self, t: float) -> float:
        """K(t) = log E[e^{t (X − E X)}], the cumulant generating function of X − E X."""
        return self.log_mgf_from(self.mean, t)


def _adaptive(pieces: list[Callable[[Any], Any]]) -> tuple[float, float]:
    """The sum of integrals over [0, 1], and an estimate of its error.

    Gauss-Legendre on intervals that are halved, all at once, until the halves agree with the whole.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    nodes, weights = (nodes + 1) / 2, weights / 2
    done, errors = [], []
    waiting = []
    for piece in pieces:
        starts, width = np.arange(_PANELS) / _PANELS, 1 / _PANELS
        values = width * (piece(starts[:, None] + width * nodes) @ weights)
        waiting.append((piece, starts, width, values))
    size = math.fsum(float(np.abs(values).sum()) for _, _, _, values in waiting)
    for _ in range(_HALVINGS):
        left = []
        for piece, starts, width, values in waiting:
            half = width / 2
            halves = np.stack([starts, starts + half])
            finer = half * (piece(halves[:, :, None] + half * nodes) @ weights)
            off = np.abs(finer.sum(axis=0) - values)
            open_ = ~(off <= _AGREEMENT * size)
            done.extend(finer[:, ~open_].ravel().tolist())
            errors.extend(off[~open_].tolist())
            if open_.any():
                left.append((piece, halves[:, open_].ravel(), half, finer[:, open_].ravel()))
        waiting = left
        if not waiting:
            break
    for _, _, _, values in waiting:
        done.extend(values.tolist())
        errors.extend(np.abs(values).tolist())
    return math.fsum(done), math.fsum(errors)


def _list(values: Any) -> Any:
    """The members of an iterable; anything else as it is."""
    return list(values) if isinstance(values, Iterable) else values


def _checked_ends(
    first: Any, last: Any, values: NDArray[np.float64] | None = None
) -> tuple[float, float]:
    low, high = real(first), real(last)
    good = math.isfinite(low) and math.isfinite(high) and low <= high
    if good and values is None:
        good = low < high
    if good and values is not None:
        good = low <= values[0] and values[-1] <= high
    if not good:
        raise PriorError(
            "domain of a law",
            expected="finite ends low < high around all values",
            got=f"[{first!r}, {last!r}]",
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
            got=repr(entries),
            remedy="give the number of rows of the database",
        )
    return int(entries)


def solve_decreasing(function: Callable[[float], float], target: float, start: float) -> float:
    """The x > 0 at which a decreasing function of x falls to ``target``, from above.

    Returns a point where the function is at most ``target``, within a relative 1e-13 of the root.
    """
    low = high = start
    for _ in range(2000):
        if function(high) <= target:
            break
        low, high = high, high * 2
    else:
        raise LevelError(
            "calibration",
            expected="a level that some amount of noise reaches",
            got=f"{target!r}",
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
