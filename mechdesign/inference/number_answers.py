"""What reports of binned numbers say of the numbers: mean, quantiles, histogram.

Reports are drawn for bins, so that nothing is known of where in its bin a number lies. Each answer
hence comes with two intervals. One takes a number of each bin for all of its numbers (the mean), or
takes them as evenly spread inside of it (quantiles), and covers the answer where that is so. The
other assumes nothing: it covers the answer wherever in their bins the numbers lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins import Bins
from ..errors import DataError, InputError, listed, quote
from ..labels import Label, counted, shorten
from ..notebook import notebook_table
from ..numeric import finite_number
from ..schema import Schema
from .observed import Observed

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
class Histogram:
    """Shares of bins, with their density.

    Attributes
    ----------
    bins : Bins
    values, errors : ``(K,)`` shares and their standard errors
    lower, upper : ``(K,)`` limits of each share alone
    densities : ``(K,)`` shares over widths; zero for bins without an end
    confidence : of each interval alone
    """

    bins: Bins
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    confidence: float

    @property
    def densities(self) -> NDArray[np.float64]:
        """Shares over the widths of their bins, ``(K,)``; zero for bins without an end."""
        return np.asarray(self.values / self.bins.widths)

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each bin; ``density`` is null for bins without an end."""
        return [
            {
                "label": label,
                "from": float(self.bins.lower[i]),
                "to": float(self.bins.upper[i]),
                "share": float(self.values[i]),
                "error": float(self.errors[i]),
                "lower": float(self.lower[i]),
                "upper": float(self.upper[i]),
                "density": float(self.densities[i]) if np.isfinite(self.bins.widths[i]) else None,
            }
            for i, label in enumerate(self.bins.labels)
        ]

    def __repr__(self) -> str:
        most = max(float(self.values.max()), 1e-12)
        lines = [
            f"{counted(len(self.bins), 'bin')}; {100 * self.confidence:g} % interval of each share"
        ]
        for row in self.rows():
            bar = "█" * max(0, round(24 * row["share"] / most))
            lines.append(
                f"{shorten(row['label'], 24):<24}  {row['share']:8.4f}  "
                f"[{row['lower']:.4f}, {row['upper']:.4f}]  {bar}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ["bin", "share", "error", "lower", "upper"]
        rows = [
            [row["label"], *(f"{row[name]:.5f}" for name in ("share", "error", "lower", "upper"))]
            for row in self.rows()
        ]
        return notebook_table(head, rows, counted(len(self.bins), "bin"))


class NumberAnswers:
    """Answers about numbers, for estimates of every symbol where some column was binned."""

    labels: tuple[Label, ...]
    values: NDArray[np.float64]
    covariance: NDArray[np.float64]
    confidence: float
    schema: Schema | None

    def _observed(self) -> Observed:
        raise NotImplementedError

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
        middle = side.middle
        assumed = "the midpoint of a bin stands for its numbers"
        if representatives is not None:
            middle = _representatives(representatives, side)
            assumed = "the given representative of a bin stands for its numbers"
        value, error, lower, upper = side.weighted(middle)
        least, most = -math.inf, math.inf
        if math.isfinite(side.low[0]):
            least = side.weighted(side.low)[2]
        if math.isfinite(side.high[-1]):
            most = side.weighted(side.high)[3]
        return NumberEstimate(
            "mean", value, error, lower, upper, least, most, self.confidence, assumed
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
        # No number lies below the first edge, and all lie below the last.
        steps = np.tri(len(side.bins) - 1, len(side.bins))
        below, _, low, high = side.weighted_sums(steps.T)
        below, low, high = (
            np.concatenate([[0.0], np.clip(part, 0, 1), [1.0]]) for part in (below, low, high)
        )
        first = int(np.argmax(high[1:] >= q))
        last = len(side.bins) - 1 - int(np.argmax(low[:-1][::-1] <= q))
        value = side.at(np.maximum.accumulate(below), q)
        lower = side.at(np.maximum.accumulate(high), q)
        upper = side.at(np.minimum.accumulate(low[::-1])[::-1], q, last=True)
        least, most = float(side.low[first]), float(side.high[last])
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
        values, errors, lower, upper = side.weighted_sums(np.eye(len(side.bins)))
        return Histogram(side.bins, values, errors, lower, upper, self.confidence)


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
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    middle: NDArray[np.float64]

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
        if column is None and len(named) > 1:
            raise InputError(
                "column",
                expected="one of " + ", ".join(map(quote, named)),
                got="none",
                remedy="name the column that is meant",
            )
        name = named[0] if column is None else column
        bins = schema.bins_of(name)
        if bins is None:
            raise InputError(
                "column",
                expected="a column of numbers: " + ", ".join(map(quote, named)),
                got=quote(name),
                remedy="name a column that was binned",
            )
        place = {label: i for i, label in enumerate(bins.labels)}
        try:
            parts = [schema.part(label, name) for label in made.labels]
            codes = np.array([-1 if part is None else place[part] for part in parts])
        except (KeyError, TypeError, IndexError):
            raise DataError(
                "numbers of an estimate",
                expected="the share of every bin",
                got="shares of other groups",
                remedy="estimate without a feature, from a design for questions by='blocks' "
                "(--by blocks), from others by symbols; where reports tell bins apart in groups "
                "only, ask for the mean itself (--feature, and in a design --of)",
            ) from None
        low, high = _closed(bins, ends)
        middle = np.where(np.isfinite(low + high), (low + high) / 2, bins.midpoints)
        return cls(bins, codes, made, low, high, middle)

    def weighted(self, weights: NDArray[np.float64]) -> tuple[float, float, float, float]:
        """Σ w_k p_k over the bins, of those whose number is not missing, with its standard error
        and the ends of its interval.
        """
        value, error, lower, upper = (
            float(part[0]) for part in self.weighted_sums(weights[:, None])
        )
        return value, error, lower, upper

    def weighted_sums(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """The same for weights ``(K, J)``."""
        known, made = self.codes >= 0, self.made
        c = np.where(known[:, None], weights[self.codes], 0.0)
        total, alpha = float(made.values[known].sum()), 1 - made.confidence
        if total <= 0:
            raise DataError(
                "numbers of an estimate",
                expected="some people whose number is not missing",
                got="an estimate of none",
                remedy="collect more reports",
            )
        observed = made._observed()
        # Weights of a sample may not add up to a population; numbers that are missing count not.
        if not known.all() or abs(total - 1) > _ROUNDING:
            below = np.repeat(known[:, None].astype(float), c.shape[1], axis=1)
            return observed.ratios(c, below, alpha)
        errors = np.einsum("fk,fg,gk->k", c, made.covariance, c, optimize=True)
        return made.values @ c, np.sqrt(np.maximum(errors, 0)), *observed.answers(c).limits(alpha)

    def at(self, shares: NDArray[np.float64], q: float, *, last: bool = False) -> float:
        """Where shares below the edges, which do not fall, reach ``q``, evenly in between.

        The last such place where ``last`` says so. For a bin without an end, its representative.
        """
        if last:
            k = min(int(np.searchsorted(shares, q, side="right")) - 1, len(self.bins) - 1)
        else:
            k = max(int(np.searchsorted(shares, q, side="left")) - 1, 0)
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


def _closed(bins: Bins, ends: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the bins, those without one as given."""
    low, high = bins.lower.copy(), bins.upper.copy()
    if ends is None:
        return low, high
    both = listed(ends, "ends", "two numbers", InputError, "pass for example (0, 120)")
    if len(both) != 2:
        raise InputError("ends", expected="two numbers", got=str(len(both)), remedy="pass both")
    least, most = (finite_number(end, "ends") for end in both)
    if math.isinf(low[0]):
        low[0] = least
    if math.isinf(high[-1]):
        high[-1] = most
    if not (low[0] <= high[0] and low[-1] <= high[-1]):
        raise InputError(
            "ends",
            expected="numbers beyond the other edges of the bins",
            got=f"{least:g} and {most:g}",
            remedy="pass the least and the largest number there can be",
        )
    return low, high


def _representatives(given: Iterable[Any], side: _Side) -> NDArray[np.float64]:
    """A number of each bin; raises :class:`InputError` for others."""
    numbers: Sequence[Any] = listed(
        given, "representatives", "a number for each bin", InputError, "pass a list"
    )
    found = np.array([finite_number(number, "representatives") for number in numbers])
    if len(found) != len(side.bins) or not ((side.low <= found) & (found <= side.high)).all():
        raise InputError(
            "representatives",
            expected=f"{counted(len(side.bins), 'number')}, each inside of its bin",
            got=counted(len(found), "number")
            if len(found) != len(side.bins)
            else "a number outside of its bin",
            remedy="pass one for each bin, in order",
        )
    return found
