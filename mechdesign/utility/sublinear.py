"""Sub-convex utilities Σ_y μ(K[:, y]): μ convex and positively homogeneous in a column.

With q = pᵀk and lifts t = k/q the value of a column is q·F(t), F convex. The best kernel puts its
columns on extreme points of the cone that the privacy notions leave ([Kairouz2016]); how many
outputs it has is found, not given.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UtilityError, quote
from ..exact import nearest_float
from ..mechanism import Mechanism
from ..prior import Prior
from .base import Utility

Vector = NDArray[np.float64]

_SERIES = 0.02
_UNIT = 2.0**-52
# Lifts above this may be too large for a function of floats.
_MODEST = 100.0
# Roundings allowed for a function that is given in floats, in units of what it subtracts.
_ROUNDINGS = 16
_TRIALS = 400
_TOLERANCE = 1e-9


class SublinearUtility(Utility):
    """Σ_y μ(K[:, y]) for a sublinear μ. Outputs are found by the design, not given."""

    gap_unit: ClassVar[str] = "the utility"

    #: Whether values and bounds can be enclosed; else they rest on a function in floats.
    is_enclosed: ClassVar[bool] = False

    @abstractmethod
    def values(self, columns: Vector, prior: Prior) -> Vector:
        """μ of each column of an ``(N, M)`` array of non-negative numbers, ``(M,)``."""

    def value(self, mechanism: Mechanism, prior: Prior) -> float:
        """Σ_y μ(K[:, y]) of a kernel."""
        mechanism.output_distribution(prior)  # refuses a prior over other symbols
        return float(self.values(mechanism.kernel, prior).sum())


class FInformation(SublinearUtility):
    """I_f(X;Y) = Σ_y q(y) Σ_x p(x) f(P(x|y)/p(x)), for a convex f with f(1) = 0.

    Parameters
    ----------
    f : function of an array of lifts t ≥ 0, convex, finite on [0, ∞)
        An offset f(1) is taken off.
    name : str
        What it is called in reports.

    Raises
    ------
    UtilityError
        When f returns no numbers, is infinite at 0, or is not convex on random checks; the message
        names the points.

    Notes
    -----
    Nothing but floats is known of f, so values and bounds have an allowance for the rounding of
    f(t), of its offset and of its slope at one, 16 units in the last place of each, and the
    certificate says that they rest on it. Where f(t) is beyond the largest float at lifts that a
    design can reach, nothing is claimed.

    Examples
    --------
    >>> hellinger = FInformation(lambda t: (np.sqrt(t) - 1) ** 2, "squared Hellinger")
    >>> import mechdesign as md
    >>> reveal = md.Mechanism([[1., 0.], [0., 1.]])
    >>> round(hellinger.value(reveal, md.Prior([.5, .5])), 6)
    0.585786
    """

    references: ClassVar[tuple[str, ...]] = ("Csiszar1967",)
    #: Relative rounding of :meth:`excess` in units in the last place, beside what it cancels.
    roundings: ClassVar[int] = _ROUNDINGS

    def __init__(self, f: Callable[[Vector], Any], name: str = "f-information") -> None:
        if not callable(f):
            raise UtilityError(
                "f of an f-information",
                expected="a function of an array of lifts",
                got=quote(f),
                remedy="pass for example lambda t: (t - 1) ** 2",
            )
        self.name = name
        self._f = f
        self._offset = 0.0
        self._slope = 0.0
        at_one = float(self._checked(np.array([1.0]))[0])
        near = self._checked(np.array([1 - 1e-4, 1 + 1e-4]))
        self._offset, self._slope = at_one, float(near[1] - near[0]) / 2e-4
        _check_convex_curve(self)

    def excess(self, deviations: Vector) -> Vector:
        """f(1 + d) up to a multiple of d, which no value depends on: Σ p d = 0 in every column."""
        return self._checked(1.0 + deviations) - self._offset - self._slope * deviations

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = vars(cls)
        if "excess" in own and not (issubclass(cls, _Named) and "ball" in own):
            # Another function, of which floats are all that is known unless the class says more.
            known = {"is_enclosed": False, "enclose": FInformation.enclose}
            for name, value in {**known, "finite_or_more": _finite_excess}.items():
                if name not in own:
                    setattr(cls, name, value)

    def finite_or_more(self, deviations: Vector) -> Vector:
        """:meth:`excess`, but infinite instead of an error where the numbers are too large."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._plain(1.0 + deviations) - self._offset - self._slope * deviations
        return np.where(np.isfinite(values), values, np.inf)

    def enclose(self, deviations: Sequence[Fraction]) -> list[Any]:
        """Balls around f(1 + d) up to a multiple of d, for exact deviations d ≥ −1.

        At the working precision of ``flint``; balls that are not finite claim nothing.
        """
        from flint import arb

        d = np.array([max(nearest_float(v), -1.0) for v in deviations])
        values = self.finite_or_more(d)
        with np.errstate(over="ignore", invalid="ignore"):
            radii = _ROUNDINGS * _UNIT * (self.cancelled(d) + np.abs(values))
        finite = np.isfinite(values) & np.isfinite(radii)
        return [
            arb(v, r) if good else arb.nan()
            for v, r, good in zip(values.tolist(), radii.tolist(), finite.tolist(), strict=True)
        ]

    def cancelled(self, deviations: Vector) -> Vector:
        """Size of the numbers that :meth:`excess` is a difference of; it loses a share of them.

        Infinite where they are beyond the largest float.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            line = abs(self._offset) + abs(self._slope) * (1 + np.abs(deviations))
            sizes = np.abs(self._plain(1.0 + deviations)) + line
        return np.where(np.isfinite(sizes), sizes, np.inf)

    def _plain(self, lifts: Vector) -> Vector:
        """What f gives for an array of lifts, finite or not."""
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                values = np.asarray(self._f(lifts), dtype=float)
        except Exception as problem:
            raise UtilityError(
                f"f of {self.name}",
                expected="a function that maps an array of lifts to an array of numbers",
                got=f"{type(problem).__name__}: {problem}",
                remedy="use NumPy functions, for example lambda t: np.abs(t - 1)",
            ) from problem
        return values

    def _checked(self, lifts: Vector) -> Vector:
        values = self._plain(lifts)
        if values.shape != lifts.shape or not np.isfinite(values).all():
            bad = (
                f"shape {values.shape} for {lifts.shape}"
                if values.shape != lifts.shape
                else f"f({lifts[~np.isfinite(values)][0]:g}) = {values[~np.isfinite(values)][0]}"
            )
            if values.shape == lifts.shape and np.isfinite(values[lifts <= _MODEST]).all():
                raise UtilityError(
                    f"f of {self.name}",
                    expected="lifts at which f is no larger than the largest float",
                    got=bad,
                    remedy="merge the symbols of smallest mass, whose lifts reach that far",
                )
            raise UtilityError(
                f"f of {self.name}",
                expected="finite numbers for lifts from 0 on, one for each",
                got=bad,
                remedy="a divergence that is infinite at 0 has no finite value whenever an "
                "outcome rules a symbol out; use a finite one",
            )
        return values

    def values(self, columns: Vector, prior: Prior) -> Vector:
        """Q Σ p f(k/q) of each column; 0 for a column of zeros."""
        p = prior.probabilities
        q = p @ columns
        live = np.flatnonzero(q > 0)
        # The mass q is nearly the entry of a symbol that is nearly certain: measured from the
        # entry of the most likely symbol, k − q keeps its digits.
        apart = columns[:, live] - columns[int(np.argmax(p)), live]
        deviations = np.maximum((apart - p @ apart) / q[live], -1.0)
        found = np.zeros(columns.shape[1])
        # Symbols of zero mass have lifts but no weight; theirs may exceed what f was made for.
        known = p > 0
        found[live] = q[live] * (p[known] @ self.excess(deviations[known]))
        return found

    @property
    def spec(self) -> str:
        """The name, in lower case without spaces."""
        return self.name.lower().replace(" ", "-")

    def __repr__(self) -> str:
        return f"FInformation({self.name})"


def _finite_excess(utility: FInformation, deviations: Vector) -> Vector:
    """The excess, infinite where it is no finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(utility.excess(deviations))
    return np.where(np.isfinite(values), values, np.inf)


class _Named(FInformation, register=False):
    """An f-information whose excess is known to full accuracy in floats, and in balls."""

    is_enclosed: ClassVar[bool] = True
    finite_or_more = _finite_excess

    def __init__(self) -> None:
        """There is nothing to set."""

    @abstractmethod
    def ball(self, deviation: Any) -> Any:
        """A ball around the excess at a deviation that is a rational number of ``flint``."""

    def enclose(self, deviations: Sequence[Fraction]) -> list[Any]:
        """Balls around the excess."""
        from flint import fmpq

        return [self.ball(fmpq(v.numerator, v.denominator)) for v in deviations]

    def cancelled(self, deviations: Vector) -> Vector:
        """Nothing: the excess has full relative accuracy."""
        return np.zeros_like(deviations)

    spec = Utility.spec
    __repr__ = Utility.__repr__


class MutualInformation(_Named):
    """I(X;Y) in nats: f(t) = t log t.

    >>> import mechdesign as md
    >>> round(MutualInformation().value(md.Mechanism([[1, 0], [0, 1]]), md.Prior([.5, .5])), 6)
    0.693147
    """

    name = "mutual information"
    references: ClassVar[tuple[str, ...]] = ("Shannon1948",)
    # Where its series ends, a difference of numbers fifty times as large.
    roundings: ClassVar[int] = 256

    def ball(self, deviation: Any) -> Any:
        """A ball around (1 + d) log(1 + d) − d."""
        from flint import arb

        lift = arb(1 + deviation)
        return lift * lift.log() - arb(deviation) if deviation != -1 else arb(1)

    def excess(self, deviations: Vector) -> Vector:
        """(1 + d) log(1 + d) − d, to full relative accuracy."""
        d = np.asarray(deviations, dtype=float)
        small = np.abs(d) < _SERIES
        s = np.where(small, d, 0.0)
        series = np.zeros_like(s)
        for k in range(11, 1, -1):  # Σ_k (−s)^k / (k (k − 1)), from the smallest term
            series = (1.0 if k % 2 == 0 else -1.0) / (k * (k - 1)) + s * series
        big = np.where(small, 0.0, d)
        t = np.maximum(1.0 + big, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            direct = np.where(t > 0, t * np.log1p(np.maximum(big, -1.0)), 0.0) - big
        return np.where(small, s * s * series, direct)


class TotalVariation(_Named):
    """Expected total variation between posterior and prior: f(t) = |t − 1|/2.

    >>> import mechdesign as md
    >>> TotalVariation().value(md.Mechanism([[1, 0], [0, 1]]), md.Prior([.5, .5]))
    0.5
    """

    name = "total variation"

    def ball(self, deviation: Any) -> Any:
        """A ball around |d|/2."""
        from flint import arb

        return arb(abs(deviation) / 2)

    def excess(self, deviations: Vector) -> Vector:
        """|d|/2."""
        return np.abs(deviations) / 2


class ChiSquare(_Named):
    """χ²-information: f(t) = (t − 1)².

    >>> import mechdesign as md
    >>> ChiSquare().value(md.Mechanism([[1, 0], [0, 1]]), md.Prior([.5, .5]))
    1.0
    """

    name = "chi-square"

    def ball(self, deviation: Any) -> Any:
        """A ball around d²."""
        from flint import arb

        return arb(deviation) ** 2

    def excess(self, deviations: Vector) -> Vector:
        """d², infinite beyond the largest float."""
        with np.errstate(over="ignore"):
            return np.square(deviations)


class Sublinear(SublinearUtility):
    """Any sublinear column function, given as a function of a column and the prior.

    Parameters
    ----------
    function : (k, p) → number
        Convex in the column k (N non-negative numbers) and positively homogeneous:
        ``function(c*k, p) == c*function(k, p)``. p is the prior as an array.
    name : str

    Raises
    ------
    UtilityError
        In a design, when random columns show that the function is not sublinear.

    Examples
    --------
    >>> largest = Sublinear(lambda k, p: k.max(), "maximal leakage, exponentiated")
    >>> import mechdesign as md
    >>> largest.value(md.Mechanism([[.75, .25], [.25, .75]]), md.Prior([.5, .5]))
    1.5
    """

    def __init__(
        self, function: Callable[[Vector, Vector], float], name: str = "sublinear"
    ) -> None:
        if not callable(function):
            raise UtilityError(
                "column function",
                expected="a function of a column and the prior",
                got=quote(function),
                remedy="pass for example lambda k, p: k.max()",
            )
        self.function, self.name = function, name

    def values(self, columns: Vector, prior: Prior) -> Vector:
        """The function of each column."""
        p = prior.probabilities
        try:
            values = np.array([float(self.function(k.copy(), p)) for k in columns.T])
        except Exception as problem:
            raise UtilityError(
                f"column function {quote(self.name)}",
                expected="a number for every column",
                got=f"{type(problem).__name__}: {problem}",
                remedy="let it take an array of N likelihoods and the prior as an array",
            ) from problem
        if not np.isfinite(values).all():
            k = columns[:, int(np.flatnonzero(~np.isfinite(values))[0])]
            raise UtilityError(
                f"column function {quote(self.name)}",
                expected="finite numbers",
                got=f"{values[~np.isfinite(values)][0]} at {np.round(k, 6).tolist()[:6]}",
                remedy="make it finite on every column of non-negative numbers",
            )
        return values

    @property
    def spec(self) -> str:
        """The name, in lower case without spaces."""
        return self.name.lower().replace(" ", "-")

    def __repr__(self) -> str:
        return f"Sublinear({self.name})"


def check_sublinear(utility: SublinearUtility, prior: Prior) -> None:
    """Refuse a column function that random columns show not to be sublinear.

    Raises :class:`UtilityError` with the violating pair.
    """
    rng = np.random.default_rng(20240229)
    n = len(prior)
    first = rng.dirichlet(np.full(n, 0.7), _TRIALS).T * rng.uniform(0.1, 2, _TRIALS)
    second = rng.dirichlet(np.full(n, 0.7), _TRIALS).T * rng.uniform(0.1, 2, _TRIALS)
    first[:, ::3] = np.where(rng.random((n, len(first[0, ::3]))) < 0.5, first[:, ::3], 0.0)
    a, b, both = (_checked_values(utility, k, prior) for k in (first, second, first + second))
    factor = rng.uniform(0.05, 20, _TRIALS)
    scaled = _checked_values(utility, first * factor, prior)
    size = np.abs(a) + np.abs(b) + np.abs(both) + np.abs(scaled) + 1e-12
    broken = np.flatnonzero(np.abs(scaled - factor * a) > _TOLERANCE * size * (1 + factor))
    if broken.size:
        i = int(broken[0])
        raise UtilityError(
            f"{quote(utility)}",
            expected="a positively homogeneous column function, μ(c·k) = c·μ(k)",
            got=f"μ(k) = {a[i]:.6g} but μ({factor[i]:.4g}·k) = {scaled[i]:.6g} at k = "
            f"{np.round(first[:, i], 6).tolist()[:8]}",
            remedy="scale it by the mass of the column, for example q·F(k/q) with q = p @ k",
        )
    broken = np.flatnonzero(both - a - b > _TOLERANCE * size)
    if broken.size:
        i = int(broken[0])
        raise UtilityError(
            f"{quote(utility)}",
            expected="a convex column function, μ(j + k) ≤ μ(j) + μ(k)",
            got=f"μ(j) + μ(k) = {a[i] + b[i]:.6g} but μ(j + k) = {both[i]:.6g} at j = "
            f"{np.round(first[:, i], 6).tolist()[:8]}, "
            f"k = {np.round(second[:, i], 6).tolist()[:8]}",
            remedy="only information-like utilities, which merging outputs cannot raise, have "
            "optima at extreme columns",
        )


def _checked_values(utility: SublinearUtility, columns: Vector, prior: Prior) -> Vector:
    """Values of columns, or a :class:`UtilityError` where they are not one number for each."""
    found = utility.values(columns, prior)
    numbers = isinstance(found, np.ndarray) and found.dtype.kind in "fiu"
    if not numbers or found.shape != columns.shape[1:]:
        raise UtilityError(
            f"values of {quote(utility)}",
            expected=f"an array of {columns.shape[1]} numbers, one for each column",
            got=quote(found),
            remedy="return one number for each column of the (N, C) array",
        )
    if not np.isfinite(found).all():
        raise UtilityError(
            f"values of {quote(utility)}",
            expected="finite numbers",
            got=f"{found[~np.isfinite(found)][0]}",
            remedy="make them finite on every column of non-negative numbers",
        )
    return found


def _check_convex_curve(utility: FInformation) -> None:
    rng = np.random.default_rng(20240229)
    left = np.concatenate([rng.uniform(0, 3, _TRIALS), np.exp(rng.uniform(-9, 7, _TRIALS))])
    right = np.concatenate([rng.uniform(0, 3, _TRIALS), np.exp(rng.uniform(-9, 7, _TRIALS))])
    left[:5], share = 0.0, rng.uniform(0, 1, 2 * _TRIALS)
    middle = share * left + (1 - share) * right
    a, b, m = (utility.excess(t - 1.0) for t in (left, right, middle))
    chord = share * a + (1 - share) * b
    broken = np.flatnonzero(m - chord > _TOLERANCE * (np.abs(a) + np.abs(b) + np.abs(m) + 1e-9))
    if broken.size:
        i = int(broken[0])
        raise UtilityError(
            f"f of {utility.name}",
            expected="a convex function",
            got=f"f above its chord between {left[i]:.6g} and {right[i]:.6g}, at {middle[i]:.6g}",
            remedy="f-informations need a convex f",
        )
