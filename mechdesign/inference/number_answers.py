"""What reports of binned numbers say of the numbers: mean, quantiles, histogram.

Reports are drawn for bins, so that nothing is known of where in its bin a number lies. Each answer
hence comes with two intervals. One takes a number of each bin for all of its numbers (the mean), or
takes them as evenly spread inside of it (quantiles), and covers the answer where that is so. The
other assumes nothing: it covers the answer wherever in their bins the numbers lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins import Bins
from ..errors import DataError, InputError, UnknownNameError, asked_by, quote
from ..labels import Label, counted, listing, shorten
from ..numeric import finite_number, float_array
from ..schema import Schema
from ..utility.questions import middle_of
from .observed import Observed, roots
from .rows import Intervals, Limited, Rows, Vector, sides_of

# Shares of the bins that add up to one so closely are those of everybody.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class NumberEstimate:
    """A mean or a quantile of binned numbers, or dates, whose ``error`` is in days.

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
    value: Any
    error: float | None
    lower: Any
    upper: Any
    least: Any
    most: Any
    confidence: float
    assumed: str

    def to_json(self) -> dict[str, Any]:
        """Plain values; dates as text."""
        values = vars(self).items()
        return {name: x.isoformat() if isinstance(x, date) else x for name, x in values}

    def __repr__(self) -> str:
        ends = (self.value, self.lower, self.upper, self.least, self.most)
        value, lower, upper, least, most = (
            str(x) if isinstance(x, date) else f"{x:.6g}" for x in ends
        )
        about = "" if self.error is None else f" ± {self.error:.4g}"
        about += " days" if about and isinstance(self.value, date) else ""
        return (
            f"{self.what} {value}{about}, {100 * self.confidence:g} % interval "
            f"[{lower}, {upper}] if {self.assumed}; "
            f"[{least}, {most}] wherever in their bins the numbers lie"
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
        ends = ([*map(self.bins.shown, end)] for end in (self.bins.lower, self.bins.upper))
        rows = zip(self.labels, *ends, *map(np.ndarray.tolist, numbers), strict=True)
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
        representatives : K numbers or dates, optional
            What stands for the numbers of each bin; its midpoint when left out.
        ends : two numbers or dates, optional
            The least and the largest there can be: they close bins without an end.

        Returns
        -------
        NumberEstimate
            ``lower`` and ``upper`` cover the mean of the representatives. ``least`` and ``most``
            cover the mean of the numbers: all of them at the lower ends of their bins, or all at
            the upper ends, is the bias that binning can have.

        Raises
        ------
        DataError
            For an estimate of other things than every symbol, without bins, of what has no mean, as
            months have none, and where a bin has no end and nothing stands for its numbers.

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
        side.check_ends("the mean", middle if representatives is None else 0.0)
        if representatives is not None:
            middle, assumed = (
                _numbers(side.bins, representatives),
                "the given representative of a bin",
            )
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
        least = least if math.isfinite(side.low[0]) else -math.inf
        most = most if math.isfinite(side.high[-1]) else math.inf
        value, lower, upper, least, most = map(side.bins.shown, (value, lower, upper, least, most))
        limits = lower, upper, least, most
        assumed += " stands for its numbers"
        return NumberEstimate("mean", value, error, *limits, self.confidence, assumed)

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
            their bins [Woodruff1952], and are infinite in a bin without an end; ``least`` and
            ``most`` are edges of bins, and cover it in any case.

        Raises
        ------
        InputError, DataError
            For a share that is none, for a quantile in a bin without an end, and as :meth:`mean`.
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
        side.check_ends(f"quantile {q:g}", value)
        lower, upper = max(min(lower, value), least), min(max(upper, value), most)
        value, lower, upper, least, most = map(side.bins.shown, (value, lower, upper, least, most))
        limits = lower, upper, least, most
        assumed = "numbers are spread evenly inside of their bins"
        return NumberEstimate(f"quantile {q:g}", value, None, *limits, self.confidence, assumed)

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


def _numbers(bins: Bins, given: Any) -> Any:
    """Numbers, or those of dates, as an array."""
    return float_array([*map(bins.number, given)] if isinstance(given, (list, tuple)) else given)


@dataclass(frozen=True)
class _Side:
    """The bins of one column of an estimate.

    Attributes
    ----------
    bins : Bins
    codes : ``(F,)`` the bin of each estimated share, -1 where the number is missing
    low, high : ``(K,)`` ends of the bins as far as they are known
    """

    bins: Bins
    codes: NDArray[np.int64]
    made: Any
    low: Vector
    high: Vector

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
        if ends is not None:
            both: Any = _numbers(bins, ends)
            if closes := np.shape(both) == (2,) and np.isfinite(both).all():
                sides = np.where(np.isinf(sides), both[:, None], sides)
            if not closes or (sides[0] > sides[1]).any():
                raise InputError(
                    "ends",
                    expected=f"two {bins.of}, the least and the largest that there can be, beyond "
                    "the other edges of the bins",
                    got=quote(ends),
                    remedy="pass for example (0, 120)",
                )
        return cls(bins, codes, made, sides[0], sides[1])

    @property
    def middle(self) -> Vector:
        """``(K,)`` midpoints; infinite, or NaN, where a bin has no end."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.low + (self.high - self.low) / 2)

    def check_ends(self, what: str, value: Any) -> None:
        """Raise :class:`DataError` for an answer that a bin without an end leaves open, or about
        what comes again and again.
        """
        if self.bins.recurs:
            raise DataError(
                what,
                expected="numbers or dates, which have an order",
                got=f"a {self.bins.of}, which comes again",
                remedy="ask for the shares: .histogram() (--histogram)",
            )
        if not np.isfinite(value).all():
            open_bins = [
                label
                for label, width in zip(self.bins.labels, self.high - self.low, strict=True)
                if not math.isfinite(width)
            ]
            raise DataError(
                what,
                expected="bins with ends",
                got=f"{listing(open_bins)} without an end",
                remedy="say the least and the largest that there can be, "
                + asked_by("ends=(0, 120)", "--ends 0..120")
                + ", or end the bins of the design, as 0,18,65,120 does",
            )

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

        The last such place where ``last`` says so. Infinite inside of a bin without an end.
        """
        found = int(np.searchsorted(shares, q, "right" if last else "left"))
        k = min(max(found - 1, 0), len(self.low) - 1)
        low, high, before, after = map(float, (self.low[k], self.high[k], *shares[k : k + 2]))
        if not math.isfinite(high - low):
            if math.isinf(low):
                return high if q >= after else low
            return low if q <= before else high
        part = min(max((q - before) / (after - before), 0.0), 1.0) if after > before else last
        if not self.bins.whole:
            return low + part * (high - low)
        place = part * (high - low + 1)
        return min(low + (math.ceil(place) if last else math.floor(place)), high)
