"""What reports of binned numbers say of the numbers: mean, quantiles, histogram.

Reports are drawn for bins, so that nothing is known of where in its bin a number lies. Each answer
hence comes with two intervals. One takes a number of each bin for all of its numbers (the mean), or
takes them as evenly spread inside of it (quantiles), and covers the answer where that is so. The
other assumes nothing: it covers the answer wherever in their bins the numbers lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins import Bins
from ..errors import DataError, InputError, UnknownNameError, quote
from ..labels import Label, counted, shorten
from ..numeric import finite_number, float_array
from ..schema import Schema
from ..utility.questions import middle_of
from .observed import Observed, roots
from .rows import Intervals, Limited, Rows, Vector, sides_of

# Shares of the bins that add up to one so closely are those of everybody.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class NumberEstimate:
    """A mean or a quantile of binned numbers.

    Attributes
    ----------
    what : such as ``"mean"`` or ``"quantile 0.5"``
    value : the estimate
    error : its standard error; ``None`` for quantiles, whose interval is no normal one
    lower, upper : limits from the sampling of people and the noise of reports, that is without
        what binning adds
    least, most : limits that cover the answer wherever in their bins the numbers lie; infinite
        where that depends on a bin without an end
    confidence : of each of the two intervals alone
    assumed : what ``value``, ``lower`` and ``upper`` take for granted, a sentence
    """

    what: str
    value: float
    error: float | None
    lower: float
    upper: float
    least: float
    most: float
    confidence: float
    assumed: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))

    def __repr__(self) -> str:
        about = "" if self.error is None else f" ± {self.error:.4g}"
        return (
            f"{self.what} {self.value:.6g}{about}, {100 * self.confidence:g} % interval "
            f"[{self.lower:.6g}, {self.upper:.6g}] if {self.assumed}; "
            f"[{self.least:.6g}, {self.most:.6g}] wherever in their bins the numbers lie"
        )


@dataclass(frozen=True, repr=False)
class Histogram(Rows):
    """Shares of bins, with their density.

    Attributes
    ----------
    labels, bins : Bins, and their names
    values, errors : ``(K,)`` shares and their standard errors
    lower, upper : ``(K,)`` limits of each share alone
    densities : ``(K,)`` shares over widths; zero for bins without an end
    confidence : of each interval alone
    """

    labels: tuple[Label, ...]
    bins: Bins
    values: Vector
    errors: Vector
    lower: Vector
    upper: Vector
    confidence: float

    @property
    def densities(self) -> Vector:
        """Shares over the widths of their bins, ``(K,)``; zero for bins without an end."""
        return np.asarray(self.values / self.bins.widths)

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each bin; ``density`` is null for bins without an end."""
        names = ("label", "from", "to", "share", "error", "lower", "upper", "density")
        known = self.densities.astype(object)
        known[np.isinf(self.bins.widths)] = None
        numbers = self.values, self.errors, self.lower, self.upper, known
        columns = map(np.ndarray.tolist, (self.bins.lower, self.bins.upper, *numbers))
        rows = zip(self.labels, *columns, strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _shown(self) -> list[dict[str, Any]]:
        return super().rows()

    def describe(self) -> str:
        """How many bins there are, and the confidence, in one line."""
        rate = f"{100 * self.confidence:g} %"
        return f"{counted(len(self.bins), 'bin')}; {rate} interval of each share"

    def __repr__(self) -> str:
        most, rows = max(float(self.values.max()), 1e-12), self._shown()
        lines = [
            f"{shorten(row['label'], 24):<24}  {row['estimate']:8.4f}  "
            f"[{row['lower']:.4f}, {row['upper']:.4f}]  "
            + "█"
            * max(0, round(24 * row["estimate"] / most))
            for row in rows
        ]
        return "\n".join([self.describe(), *lines])


class NumberAnswers(Limited, Intervals):
    """Answers about numbers, for estimates of every symbol where some column was binned.

    Their intervals have the side of those of the estimate; those of a histogram hold together where
    these do.
    """

    schema: Schema | None
    observed: Observed

    def mean(
        self, column: str | None = None, *, representatives: Any = None, ends: Any = None
    ) -> NumberEstimate:
        """The mean of the numbers, from the shares of their bins.

        Parameters
        ----------
        column : str, optional
            Which column, where several were binned.
        representatives : K numbers, optional
            What stands for the numbers of each bin; its midpoint when left out, and for a bin
            without an end the midpoint of one as wide as its neighbour.
        ends : two numbers, optional
            The least and the largest number there can be: they close bins without an end.

        Returns
        -------
        NumberEstimate
            ``lower`` and ``upper`` cover the mean of the representatives. ``least`` and ``most``
            cover the mean of the numbers: all of them at the lower ends of their bins, or all at
            the upper ends, is the bias that binning can have.

        Raises
        ------
        DataError
            For an estimate of other things than every symbol, or without bins.

        Examples
        --------
        >>> import mechdesign as md
        >>> ages = md.bins(edges=[0, 20, 40, 80])
        >>> prior = md.Prior.from_data([10, 30, 50, 70], bins=ages)
        >>> design = md.design(prior, md.utility.Estimation(), md.LDP(3))
        >>> told = {y: 250 for y in design.mechanism.outputs}
        >>> found = md.estimate(told, design).mean()
        >>> found.least < found.lower < found.value < found.upper < found.most
        True
        """
        side, assumed = _Side.of(self, column, ends), "the midpoint of a bin"
        middle: Any = side.middle
        if representatives is not None:
            middle, assumed = float_array(representatives), "the given representative of a bin"
            if (
                np.shape(middle) != side.low.shape
                or not (np.isfinite(middle) & (side.low <= middle) & (middle <= side.high)).all()
            ):
                raise InputError(
                    "representatives",
                    expected=f"{counted(len(side.low), 'number')}, each inside of its bin",
                    got=quote(representatives),
                    remedy="pass one for each bin, in order",
                )
        # A bin without an end leaves the mean open.
        ends_of = np.nan_to_num([side.low, side.high], posinf=0, neginf=0)
        found: Any = np.transpose(side.sums(np.stack([middle, *ends_of], axis=1))).tolist()
        (value, error, lower, upper), (*_, least, _), (*_, most) = found
        return NumberEstimate(
            "mean",
            value,
            error,
            lower,
            upper,
            least if math.isfinite(side.low[0]) else -math.inf,
            most if math.isfinite(side.high[-1]) else math.inf,
            self.confidence,
            f"{assumed} stands for its numbers",
        )

    def quantile(self, q: float, column: str | None = None, *, ends: Any = None) -> NumberEstimate:
        """A quantile of the numbers, by interpolation between the edges of bins.

        Parameters
        ----------
        q : float between 0 and 1
            The share of numbers below.
        column, ends : optional
            As for :meth:`mean`.

        Returns
        -------
        NumberEstimate
            ``lower`` and ``upper`` cover the quantile where numbers are spread evenly inside of
            their bins [Woodruff1952]; ``least`` and ``most`` are edges of bins, and cover it in any
            case.

        Raises
        ------
        InputError, DataError
            For a share that is none, and as :meth:`mean`.
        """
        q = finite_number(q, "q", 0, 1, remedy="pass a share such as 0.5 for the median")
        side = _Side.of(self, column, ends)
        count = len(side.bins)
        # No number lies below the first edge, and all lie below the last.
        shares = np.zeros((4, count + 1))
        shares[:, 1:-1], shares[:, -1] = side.sums(np.tri(count - 1, count).T, falls=True), 1
        below, _, low, high = np.clip(shares, 0, 1)
        least = float(side.low[np.argmax(high[1:] >= q)])
        most = float(side.high[count - 1 - np.argmax(low[:-1][::-1] <= q)])
        value, lower = (side.at(np.maximum.accumulate(each), q) for each in (below, high))
        upper = side.at(np.minimum.accumulate(low[::-1])[::-1], q, last=True)
        return NumberEstimate(
            f"quantile {q:g}",
            value,
            None,
            max(min(lower, value), least),
            min(max(upper, value), most),
            least,
            most,
            self.confidence,
            "numbers are spread evenly inside of their bins",
        )

    def histogram(self, column: str | None = None) -> Histogram:
        """Shares and densities of the bins, each with its interval.

        Raises :class:`DataError` as :meth:`mean` does.
        """
        side = _Side.of(self, column, None)
        bins, (values, errors, lower, upper) = (
            side.bins,
            side.sums(np.eye(len(side.bins)), len(side.bins)),
        )
        return Histogram(bins.labels, bins, values, errors, lower, upper, self.confidence)


@dataclass(frozen=True)
class _Side:
    """The bins of one column of an estimate.

    Attributes
    ----------
    bins : Bins
    codes : ``(F,)`` the bin of each estimated share, -1 where the number is missing
    low, high, middle : ``(K,)`` ends of the bins as far as they are known, what stands for them
    """

    bins: Bins
    codes: NDArray[np.int64]
    made: Any
    low: Vector
    high: Vector
    middle: Vector

    @classmethod
    def of(cls, made: NumberAnswers, column: str | None, ends: Any) -> _Side:
        schema = made.schema or Schema(("",))
        named = {n: bins for n, bins in zip(schema.names, schema.bins, strict=True) if bins}
        if not named:
            raise DataError(
                "numbers of an estimate",
                expected="reports of a design whose prior was made with bins",
                got="a kernel that knows of none",
                remedy="make the prior with Prior.from_data(…, bins=md.bins(…)) (--bins), or pass "
                "feature= with a number for each symbol",
            )
        if column is None and len(named) == 1:
            (column,) = named
        if not isinstance(column, str) or column not in named:
            raise UnknownNameError("column of numbers", column, named)
        bins = named[column]
        place = {None: -1} | {label: i for i, label in enumerate(bins.labels)}
        try:
            codes = np.array([place[schema.part(label, column)] for label in made.labels])
        except (KeyError, TypeError, IndexError):
            raise DataError(
                "numbers of an estimate",
                expected="the share of every bin",
                got="shares of other groups",
                remedy="estimate without a feature, from a design for questions by='blocks' "
                "(--by blocks), from others by symbols; where reports tell bins apart in groups "
                "only, ask for the mean itself (--feature, and in a design --of)",
            ) from None
        sides: Any = np.stack([bins.lower, bins.upper])
        middle = bins.midpoints
        if ends is not None:
            both: Any = float_array(ends)
            if closes := np.shape(both) == (2,) and np.isfinite(both).all():
                sides = np.where(np.isinf(sides), both[:, None], sides)
            if not closes or (sides[0] > sides[1]).any():
                raise InputError(
                    "ends",
                    expected="two numbers, the least and the largest that there can be, beyond "
                    "the other edges of the bins",
                    got=quote(ends),
                    remedy="pass for example (0, 120)",
                )
            middle = np.where(np.isinf(bins.widths), sides.mean(axis=0), middle)
        return cls(bins, codes, made, sides[0], sides[1], middle)

    def sums(
        self, weights: Vector, together: int = 1, *, falls: bool = False
    ) -> tuple[Vector, ...]:
        """Σ w_k p_k over the bins, of those whose number is not missing, for weights ``(K, J)``,
        with standard errors and the ends of intervals, of which so many hold ``together`` where
        that was asked for; of what ``falls`` where the number rises, ends of the other side.
        """
        made, known, origin = self.made, self.codes >= 0, middle_of(weights)
        alpha = (1 - made.confidence) / (together if made.together else 1)
        sides = sides_of(made.side)[:: -1 if falls else 1]
        c = np.where(known[:, None], (weights - origin)[self.codes], 0.0)
        total = made.values @ known
        if total <= 0:
            raise DataError(
                "numbers of an estimate",
                expected="some people whose number is not missing",
                got="an estimate of none",
                remedy="collect more reports",
            )
        observed = made.observed
        # Weights of a sample may not add up to a population; numbers that are missing count not.
        if not known.all() or abs(total - 1) > _ROUNDING:
            parts = c, np.outer(known, np.ones(c.shape[1]))
            value, error = observed.ratios(*parts)
            lower, upper = observed.ratio_limits(*parts, alpha, sides)
        else:
            value, error = made.values @ c, roots(c.T @ made.covariance @ c)
            lower, upper = observed.answers(c).limits(alpha, sides=sides)
        return value + origin, error, lower + origin, upper + origin

    def at(self, shares: Vector, q: float, *, last: bool = False) -> float:
        """Where shares below the edges, which do not fall, reach ``q``, evenly in between.

        The last such place where ``last`` says so. For a bin without an end, its representative.
        """
        found = int(np.searchsorted(shares, q, "right" if last else "left"))
        k = min(max(found - 1, 0), len(self.low) - 1)
        low, high, before, after = map(float, (self.low[k], self.high[k], *shares[k : k + 2]))
        if not math.isfinite(high - low):
            return float(self.middle[k])
        part = min(max((q - before) / (after - before), 0.0), 1.0) if after > before else last
        if not self.bins.whole:
            return low + part * (high - low)
        place = part * (high - low + 1)
        return min(low + (math.ceil(place) if last else math.floor(place)), high)
