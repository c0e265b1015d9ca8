"""Numbers with names, each with its standard error and interval, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, UnknownNameError, quote
from ..labels import Label, listing, short_names, shorten
from ..notebook import Tabular, notebook_table
from ..release.codes import check_choice
from .references import rate_of

Vector = NDArray[np.float64]

# Estimates outside of what is possible by this are rounding.
_ROUNDING = 1e-12


def number_rows(*parts: Vector) -> list[dict[str, float]]:
    """Estimates, errors, lower and upper limits, one plain dictionary each."""
    rows, names = np.stack(parts, axis=-1).reshape(-1, 4), ("estimate", "error", "lower", "upper")
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]


def sides_of(side: str) -> tuple[bool, bool]:
    """Whether intervals have a lower and an upper end."""
    check_choice("side of an interval", side, ("both", "lower", "upper"))
    return side != "upper", side != "lower"


class _Answered:
    """Numbers that are answers with intervals."""

    labels: Any
    values: Vector
    confidence: float
    #: What intervals are made of: :class:`.intervals.Answers`, or what has the same methods.
    answers: Any
    # Which limits are kept.
    _ends: Sequence[str] = ("lower", "upper")


@dataclass(frozen=True, kw_only=True, repr=False)
class Limited(_Answered):
    """Numbers whose intervals can be asked for again.

    Attributes
    ----------
    side : "both", "lower" or "upper": which ends intervals have; the other is the end of what is
        possible
    together : whether all intervals hold at once with the confidence (Bonferroni), or each alone
    """

    side: str = "both"
    together: bool = False

    @property
    def projected(self) -> Vector:
        """Estimates moved to the nearest possible answers, as intervals hold them."""
        ends = np.reshape([self.answers.low, self.answers.high], (2, *self.values.shape))
        return np.clip(self.values, *ends)

    def limits(
        self, confidence: float | None = None, side: str = "both", *, together: bool = False
    ) -> tuple[Vector, Vector]:
        """Ends of intervals with another confidence, of one side, or of all at once.

        Parameters
        ----------
        confidence : that of the estimate where left out
        side : {"both", "lower", "upper"}
            An interval with one end only has the end of what is possible as its other.
        together : bool
            Whether all intervals hold at once with this confidence (Bonferroni).
        """
        confidence = self.confidence if confidence is None else rate_of(confidence)
        alpha = (1 - confidence) / (len(self.labels) if together else 1)
        ends = self.answers.limits(alpha, sides=sides_of(side))
        lower, upper = np.reshape(ends, (2, *self.values.shape))
        return lower, upper

    def with_limits(
        self, confidence: float | None = None, side: str = "both", *, together: bool = False
    ) -> Self:
        """The same numbers with these :meth:`limits` as lower and upper ones.

        Raises :class:`InputError` where other intervals than binomial ones were asked for.
        """
        if (intervals := getattr(self, "intervals", "binomial")) != "binomial":
            raise InputError(
                "limits of one side, or of all at once",
                expected="binomial intervals",
                got=quote(intervals),
                remedy="leave out intervals= (--intervals)",
            )
        ends = self.limits(confidence, side, together=together)
        confidence = self.confidence if confidence is None else rate_of(confidence)
        told: Any = {**dict(zip(self._ends, ends, strict=False)), "confidence": confidence}
        return replace(self, side=side, together=together, **told)

    @cached_property
    def misfits(self) -> dict[Label, float]:
        """Answers whose estimates lie outside of what is possible by more than chance gives, each
        with the probability of it (of all answers, at most 1 − confidence by chance).
        """
        worst = (1 - self.confidence) / 2 / len(self.labels)
        pairs = zip(self.labels, self.answers.outside().tolist(), strict=True)
        return {label: chance for label, chance in pairs if chance < worst}

    def told_rate(self, about: str = "") -> str:
        """How often intervals hold what they are about."""
        kind = "intervals" if self.side == "both" else f"{self.side} limits"
        at_once = "simultaneous " * self.together
        return f"{100 * self.confidence:g} % {at_once}{kind}{about}"

    def remarks(self) -> list[str]:
        """Lines below the numbers: which lie outside of what is possible, and by how much."""
        if self.misfits:
            label, chance = min(self.misfits.items(), key=lambda pair: pair[1])
            odds = f"{1 / chance:,.0f}" if chance > 1e-9 else "a thousand million"
            return [
                f"{listing(list(self.misfits))}: outside of what is possible by more than chance "
                f"gives in 1 of {odds} surveys (of {quote(label)}); see that this "
                "mechanism made these reports, and that this is their column"
            ]
        projected = self.projected
        told = [
            f"{shorten(label, 28)} {value:g}"
            for label, value in zip(self.labels, projected.ravel().tolist(), strict=True)
        ]
        told = list(compress(told, np.abs(projected - self.values).ravel() > _ROUNDING))
        more = f" and {len(told) - 4} more" if len(told) > 4 else ""
        return [
            "unbiased estimates may lie outside of what is possible; moved inside: "
            f"{', '.join(told[:4])}{more}"
        ] * bool(told)


class Rows(Tabular):
    """Numbers with names, each with its standard error and interval, as rows."""

    labels: Sequence[Label]
    values: Vector
    errors: Vector
    lower: Vector
    upper: Vector
    note: str = ""
    # Of rows that are shown.
    _caption = "± one standard error"

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each label, with intervals each alone."""
        numbers = number_rows(self.values, self.errors, self.lower, self.upper)
        return [{"label": label, **row} for label, row in zip(self.labels, numbers, strict=True)]

    def __getitem__(self, label: Label) -> float:
        if label not in self._places:
            raise UnknownNameError("estimate of", label, map(str, self.labels[:10]))
        return float(self.values[self._places[label]])

    def describe(self) -> str:
        """What the numbers are, in one line."""
        return f"{len(self.labels)} numbers"

    def remarks(self) -> list[str]:
        """Lines below the numbers about them."""
        return []

    def closing(self) -> list[str]:
        """Lines that stand below the numbers: remarks, and what could not be told, if anything."""
        return [*self.remarks(), *([self.note] if self.note else [])]

    def _head(self) -> str:
        return self.describe()

    def _shown(self) -> list[dict[str, Any]]:
        return self.rows()

    def __repr__(self) -> str:
        rows = self._shown()
        names = short_names([row["label"] for row in rows], 28)
        lines = [f"{self._head()}; {self._caption}"]
        lines += [
            f"{name:<28}  {row['estimate']:9.5f}  ± {row['error']:.5f}  "
            f"[{row['lower']:.5f}, {row['upper']:.5f}]"
            for name, row in zip(names, rows, strict=True)
        ]
        return "\n".join([*lines, *self.closing()])

    def _repr_html_(self) -> str:
        rows = [
            [label, *(f"{number:.5f}" for number in row)]
            for label, *row in map(dict.values, self._shown())
        ]
        head = ["label", "estimate", "error", "lower", "upper"]
        return notebook_table(head, rows, self._head())


@dataclass(frozen=True, repr=False)
class Intervals(Rows):
    """Numbers with names, each with its interval.

    Attributes
    ----------
    labels : what each number is about
    values : ``(F,)`` estimates
    errors : ``(F,)`` standard errors
    lower, upper : ``(F,)`` confidence limits
    covariance : ``(F, F)`` of the estimates
    """

    labels: tuple[Label, ...]
    values: Vector
    errors: Vector
    lower: Vector
    upper: Vector
    covariance: Vector
