"""Requirements on single entries: zeros, floors and ceilings, diagonals, patterns, distances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ..errors import RequirementError, quote
from ..exact import DENOMINATOR
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from .base import (
    TOLERANCE,
    Limit,
    Places,
    Requirement,
    Table,
    apart,
    checked_ends,
    finite,
    fitting,
    keep,
    largest,
    largest_of,
    place_of,
    rows_of_numbers,
    share,
)

# Marks, where a label may stand, every symbol or output; no label is an empty tuple.
EVERY: tuple[()] = ()


def _ends(low: Any, high: Any, subject: str) -> tuple[float | None, float | None]:
    """Two ends of an entry; those that agree on what weights over 2**53 cannot be are moved."""
    low, high = checked_ends(low, high, subject)
    if low is None or high is None or not (Fraction(low) * DENOMINATOR) % 1:
        return low, high
    return apart(low, high)


def _between(low: float | None, high: float | None) -> str:
    if low is not None and high is not None and high - low < 4 * TOLERANCE:
        near = f" within {TOLERANCE:g}" if low < high else ""
        return f"equal to {(low + high) / 2:.12g}{near}"
    parts = [f"at least {low:.12g}"] if low is not None else []
    if high is not None:
        parts.append(f"at most {high:.12g}")
    return " and ".join(parts)


def _outside(value: Fraction, low: float | None, high: float | None) -> Fraction:
    """How far a value lies outside two ends; at most 0 where it does not."""
    found = [Fraction(low) - value] if low is not None else []
    if high is not None:
        found.append(value - Fraction(high))
    return max(found)


def _rational(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(value)


class _Entries(Requirement, register=False):
    """Ends of some single entries."""

    @abstractmethod
    def _ends_of(
        self, inputs: Sequence[Label], outputs: Sequence[Label]
    ) -> Iterator[tuple[int, int, float | None, float | None]]:
        """Positions of the entries, and their ends."""

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each entry."""
        for x, y, low, high in self._ends_of(prior.labels, outputs):
            label = f"P({outputs[y]} | {prior.labels[x]}) {_between(low, high)}"
            ends = _rational(low or None), _rational(high)
            yield Limit(np.array([x]), np.array([y]), np.ones(1), *ends, label)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the entry that breaks it most."""
        return largest(
            (
                _outside(share(mechanism.weights[x, y], mechanism), low, high),
                f"P({mechanism.outputs[y]} | {mechanism.inputs[x]})",
            )
            for x, y, low, high in self._ends_of(mechanism.inputs, mechanism.outputs)
        )


@dataclass(frozen=True)
class Entry(_Entries):
    """low ≤ P(y | x) ≤ high for a symbol and an output, or for every one of either.

    Ends that agree are moved 1e-12 apart on either side, unless weights over 2**53 can be both.
    """

    x: Label
    y: Label
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        low, high = _ends(self.low, self.high, "limits of an entry")
        keep(self, low=low, high=high)

    def _ends_of(
        self, inputs: Sequence[Label], outputs: Sequence[Label]
    ) -> Iterator[tuple[int, int, float | None, float | None]]:
        rows, columns = (
            range(len(labels)) if label == EVERY else [place_of(label, labels, str(self), kind)]
            for label, labels, kind in (
                (self.x, inputs, "an input symbol"),
                (self.y, outputs, "an output"),
            )
        )
        return ((x, y, self.low, self.high) for x in rows for y in columns)

    @property
    def named(self) -> str:
        """By the output, or by how many there are."""
        if self.y != EVERY:
            return f"one of the output {quote(self.y)} alone"
        if self.high == 0:
            return "one under which a symbol has no reports"
        return "one that an output breaks or keeps by being split into two that say the same"

    @property
    def description(self) -> str:
        """The entry and its ends."""
        x = "every symbol" if self.x == EVERY else quote(self.x)
        y = "every output" if self.y == EVERY else quote(self.y)
        if self.high == 0:
            return f"{x} is never reported as {y}"
        return f"P({y} | {x}) {_between(self.low, self.high)}"


@dataclass(frozen=True)
class Diagonal(_Entries):
    """low_x ≤ P(x | x) ≤ high_x: how often the symbols are reported as they are.

    ``limits_of`` holds (symbol, low, high); the symbol :data:`EVERY` stands for all of them. Ends
    that agree are moved apart as in :class:`Entry`.
    """

    limits_of: tuple[tuple[Label, float | None, float | None], ...]

    def __post_init__(self) -> None:
        subject = "limits of the diagonal"
        parts = tuple((label, *_ends(low, high, subject)) for label, low, high in self.limits_of)
        keep(self, limits_of=parts)

    def _ends_of(
        self, inputs: Sequence[Label], outputs: Sequence[Label]
    ) -> Iterator[tuple[int, int, float | None, float | None]]:
        same = set(inputs) & set(outputs)
        if not same:
            raise RequirementError(
                "diagonal",
                expected="outputs that bear the labels of symbols",
                got="none that do",
                remedy="use md.require.at_least(x, y, value) for single entries",
            )
        for label, low, high in self.limits_of:
            for known in [x for x in inputs if x in same] if label == EVERY else [label]:
                x = place_of(known, inputs, str(self), "an input symbol")
                yield x, place_of(known, outputs, str(self), "an output"), low, high

    named = "one of the outputs that bear the names of symbols"

    @property
    def description(self) -> str:
        """Ends of the first few symbols."""
        parts = [
            f"{'every symbol' if label == EVERY else quote(label)} is reported as itself with "
            f"probability {_between(low, high)}"
            for label, low, high in self.limits_of[:3]
        ]
        more = len(self.limits_of) - 3
        return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


class _Zeros(Requirement, register=False):
    """Entries that are zero, by which output is which."""

    named = "zeros at outputs by their names"
    #: What they are called together.
    _label: ClassVar[str]

    @abstractmethod
    def _places(self, prior: Prior, outputs: Sequence[Label]) -> tuple[Places, ...]:
        """Their positions."""

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One over all the forbidden entries."""
        x, y = self._places(prior, outputs)
        if len(x):
            yield Limit(x, y, np.ones(len(x)), None, Fraction(0), self._label)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """The largest of the entries."""
        return largest_of(mechanism, self._places(prior, mechanism.outputs))


@dataclass(frozen=True)
class Pattern(_Zeros):
    """P(y | x) = 0 wherever a matrix is zero."""

    allowed: Table
    _label = "entries that the pattern forbids"

    def __post_init__(self) -> None:
        keep(self, allowed=rows_of_numbers(self.allowed, "pattern"))

    def _places(self, prior: Prior, outputs: Sequence[Label]) -> tuple[Places, ...]:
        return np.nonzero(fitting(self.allowed, prior, outputs, "pattern") == 0)

    @property
    def description(self) -> str:
        """How many entries it forbids."""
        count = sum(not v for row in self.allowed for v in row)
        return f"{count} entries are zero, by a pattern of {len(self.allowed)} rows"


def _farther(ours: Sequence[float], theirs: Sequence[float], limit: float) -> tuple[Places, ...]:
    """Places of numbers that are farther apart than a limit, exactly."""
    every = [*ours, *theirs]
    if any(isinstance(v, int) and abs(v) > 2**53 for v in every):
        numbers = [list(map(Fraction, side)) for side in (ours, theirs)]
        apart = [[abs(a - b) > limit for b in numbers[1]] for a in numbers[0]]
        return np.nonzero(np.array(apart))
    first, second = np.array(ours, dtype=float), np.array(theirs, dtype=float)
    with np.errstate(invalid="ignore"):  # infinity is not far from itself
        distance = np.abs(first[:, None] - second)
    far = distance > limit
    if not all(isinstance(v, int) for v in every):
        # Rounding keeps the order: only distances rounded to the limit can lie on either side.
        for x, y in np.argwhere(distance == limit).tolist():
            far[x, y] = abs(Fraction(first[x]) - Fraction(second[y])) > Fraction(limit)
    return np.nonzero(far)


@dataclass(frozen=True)
class Within(_Zeros):
    """P(y | x) = 0 wherever y is farther from x than a limit.

    The distance is a matrix, or |x − y| of labels that are numbers, or else of their positions.
    """

    limit: float
    distance: Table | None = None

    def __post_init__(self) -> None:
        keep(self, limit=finite(self.limit, "largest distance", 0.0))
        if self.distance is not None:
            keep(self, distance=rows_of_numbers(self.distance, "distance"))

    def _places(self, prior: Prior, outputs: Sequence[Label]) -> tuple[Places, ...]:
        if self.distance is not None:
            return np.nonzero(fitting(self.distance, prior, outputs, "distance") > self.limit)
        every = [*prior.labels, *outputs]
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in every):
            return _farther(prior.labels, outputs, self.limit)
        if tuple(outputs) == tuple(prior.labels):
            return _farther(range(len(prior)), range(len(prior)), self.limit)
        raise RequirementError(
            "largest distance",
            expected="labels that are numbers, or outputs that are the symbols",
            got=f"outputs {quote(list(outputs))}",
            remedy="pass distance= as a matrix, one row for each symbol",
        )

    @property
    def _label(self) -> str:  # type: ignore[override]
        return f"entries farther than {self.limit:g}"

    @property
    def description(self) -> str:
        """The largest distance."""
        given = "" if self.distance is None else " by the distance given"
        return f"nothing moves farther than {self.limit:g}{given}"
