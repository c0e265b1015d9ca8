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
from ..errors import DataError, InputError, quote
from ..labels import Label, counted, shorten
from ..numeric import finite_number, float_array
from ..schema import Schema
from .observed import Observed
from .rows import Intervals, Rows, Vector

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
        ends = np.stack([self.bins.lower, self.bins.upper, self.densities], axis=1).tolist()
        return [
            {
                "label": row["label"],
                "from": low,
                "to": high,
                "share": row["estimate"],
                **{name: row[name] for name in ("error", "lower", "upper")},
                "density": density if math.isfinite(high - low) else None,
            }
            for row, (low, high, density) in zip(self._shown(), ends, strict=True)
        ]

    def _shown(self) -> list[dict[str, Any]]:
        return super().rows()

    def describe(self) -> str:
        """How many bins there are, and the confidence, in one line."""
        rate = f"{100 * self.confidence:g} %"
        return f"{counted(len(self.bins), 'bin')}; {rate} interval of each share"

    def __repr__(self) -> str:
        most = max(float(self.values.max()), 1e-12)
        lines = [
            f"{shorten(row['label'], 24):<24}  {row['share']:8.4f}  "
            f"[{row['lower']:.4f}, {row['upper']:.4f}]  "
            + "█"
            * max(0, round(24 * row["share"] / most))
            for row in self.rows()
        ]
        return "\n".join([self.describe(), *lines])


class NumberAnswers(Intervals):
    """Answers about numbers, for estimates of every symbol where some column was binned."""

    confidence: float
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
        side = _Side.of(self, column, ends)
        middle: Any = side.middle
        assumed = "the midpoint of a bin"
        if representatives is not None:
            middle = float_array(representatives)
            assumed = "the given representative of a bin"
            if not side.holds(middle):
                raise InputError(
                    "representatives",
                    expected=f"{counted(len(side.bins), 'number')}, each inside of its bin",
                    got=quote(representatives),
                    remedy="pass one for each bin, in order",
                )
        # A bin without an end leaves the mean open.
        sides = np.stack(
            [middle, *np.nan_to_num([side.low, side.high], posinf=0, neginf=0)], axis=1
        )
        value, error, lower, upper = np.array(side.sums(sides)).tolist()
        return NumberEstimate(
            "mean",
            value[0],
            error[0],
            lower[0],
            upper[0],
            lower[1] if math.isfinite(side.low[0]) else -math.inf,
            upper[2] if math.isfinite(side.high[-1]) else math.inf,
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
        shares[:, 1:-1], shares[:, -1] = side.sums(np.tri(count - 1, count).T), 1
        below, _, low, high = np.clip(shares, 0, 1)
        least = float(side.low[np.argmax(high[1:] >= q)])
        most = float(side.high[count - 1 - np.argmax(low[:-1][::-1] <= q)])
        value = side.at(np.maximum.accumulate(below), q)
        lower = side.at(np.maximum.accumulate(high), q)
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
        bins, (values, errors, lower, upper) = side.bins, side.sums(np.eye(len(side.bins)))
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
    made: NumberAnswers
    low: Vector
    high: Vector
    middle: Vector

    @classmethod
    def of(cls, made: NumberAnswers, column: str | None, ends: Any) -> _Side:
        schema = made.schema
        named = [] if schema is None else [n for n in schema.names if schema.bins_of(n) is not None]
        if schema is None or not named:
            raise DataError(
                "numbers of an estimate",
                expected="reports of a design whose prior was made with bins",
                got="a kernel that knows of none",
                remedy="make the prior with Prior.from_data(…, bins=md.bins(…)) (--bins), or pass "
                "feature= with a number for each symbol",
            )
        name = named[0] if column is None and len(named) == 1 else column
        bins = None if name is None else schema.bins_of(name)
        if bins is None:
            raise InputError(
                "column",
                expected="a column of numbers: " + ", ".join(map(quote, named)),
                got="none" if name is None else quote(name),
                remedy="name a column that was binned",
            )
        place = {None: -1} | {label: i for i, label in enumerate(bins.labels)}
        try:
            codes = np.array([place[schema.part(label, name)] for label in made.labels])
        except (KeyError, TypeError, IndexError):
            raise DataError(
                "numbers of an estimate",
                expected="the share of every bin",
                got="shares of other groups",
                remedy="estimate without a feature, from a design for questions by='blocks' "
                "(--by blocks), from others by symbols; where reports tell bins apart in groups "
                "only, ask for the mean itself (--feature, and in a design --of)",
            ) from None
        low, high, middle = bins.lower, bins.upper, bins.midpoints
        if ends is not None:
            both: Any = float_array(ends)
            is_pair = np.shape(both) == (2,) and np.isfinite(both).all()
            if is_pair:
                low, high = np.where(np.isinf([low, high]), both[:, None], [low, high])
            if not is_pair or low[0] > high[0] or low[-1] > high[-1]:
                raise InputError(
                    "ends",
                    expected="two numbers, the least and the largest that there can be, beyond "
                    "the other edges of the bins",
                    got=quote(ends),
                    remedy="pass for example (0, 120)",
                )
            middle = np.where(np.isfinite(low + high), (low + high) / 2, middle)
        return cls(bins, codes, made, low, high, middle)

    def holds(self, numbers: Vector | None) -> bool:
        """Whether there is a number inside of each bin."""
        if numbers is None or numbers.shape != self.low.shape or not np.isfinite(numbers).all():
            return False
        return bool(((self.low <= numbers) & (numbers <= self.high)).all())

    def sums(self, weights: Vector) -> tuple[Vector, ...]:
        """Σ w_k p_k over the bins, of those whose number is not missing, for weights ``(K, J)``,
        with standard errors and the ends of intervals.
        """
        known, made, alpha = self.codes >= 0, self.made, 1 - self.made.confidence
        c, total = np.where(known[:, None], weights[self.codes], 0.0), made.values[known].sum()
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
            return *observed.ratios(*parts), *observed.ratio_limits(*parts, alpha)
        errors = np.sqrt(np.maximum(np.einsum("fk,fg,gk->k", c, made.covariance, c), 0))
        return made.values @ c, errors, *observed.answers(c).limits(alpha)

    def at(self, shares: Vector, q: float, *, last: bool = False) -> float:
        """Where shares below the edges, which do not fall, reach ``q``, evenly in between.

        The last such place where ``last`` says so. For a bin without an end, its representative.
        """
        k = int(np.searchsorted(shares, q, "right" if last else "left")) - 1
        k = min(max(k, 0), len(self.bins) - 1)
        low, high = float(self.low[k]), float(self.high[k])
        if not math.isfinite(high - low):
            return float(self.middle[k])
        step = float(shares[k + 1] - shares[k])
        part = min(max((q - float(shares[k])) / step, 0.0), 1.0) if step > 0 else float(last)
        if not self.bins.whole:
            return low + part * (high - low)
        place = part * (high - low + 1)
        return min(low + (math.ceil(place) if last else math.floor(place)), high)
