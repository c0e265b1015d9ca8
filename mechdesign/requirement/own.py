"""Requirements of one's own: any linear constraint, sparse or dense, and how many outputs occur."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..errors import RequirementError, quote
from ..exact import is_whole
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from .base import (
    TOLERANCE,
    Array,
    Limit,
    Places,
    Requirement,
    Table,
    checked_name,
    checked_tolerance,
    finite,
    fitting,
    keep,
    largest,
    rows_of_numbers,
    total,
)


class _Sums(Requirement, register=False):
    """Σ_i a_i K[x_i, y_i] ≤, ≥ or = b for several sums, equations within a tolerance."""

    #: One of them, several, and the senses that they may have.
    _kinds: ClassVar[tuple[str, str]]
    _senses: ClassVar[tuple[str, ...]]

    sense: str
    right: tuple[float, ...]
    tolerance: float | None
    name: str

    def _check(self, count: int) -> None:
        """Check what is common of so many sums."""
        subject, tolerance = self._kinds[1], f"tolerance of {self._kinds[1]}"
        keep(self, right=tuple(finite(b, "right-hand side") for b in self.right))
        keep(self, tolerance=checked_tolerance(self.tolerance, tolerance))
        checked_name(self.name, subject)
        if not isinstance(self.sense, str) or self.sense not in self._senses:
            raise RequirementError(
                subject,
                expected=f"one of the senses {', '.join(self._senses)}",
                got=quote(self.sense),
                remedy="write one of them",
            )
        if count != len(self.right) or not count:
            raise RequirementError(
                subject,
                expected="one number on the right-hand side for each, at least one",
                got=f"{count} and {len(self.right)}",
                remedy="give one number for each",
            )

    @abstractmethod
    def _terms(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[tuple[Places, Array]]:
        """Positions (x, y) and coefficients of each sum."""

    def _room(self, values: Array, right: float) -> Fraction:
        """How far an equation may be off."""
        if self.tolerance is not None:
            return Fraction(self.tolerance)
        return Fraction(TOLERANCE * (float(np.abs(values).max(initial=0.0)) or 1.0))

    def _label(self, number: int) -> str:
        return f"row {number + 1} of {self.name or f'the {self._kinds[1]}'}"

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each sum."""
        for i, ((x, y), values) in enumerate(self._terms(prior, outputs)):
            b = Fraction(self.right[i])
            room = self._room(values, self.right[i]) if self.sense == "==" else Fraction(0)
            low = None if self.sense == "<=" else b - room
            high = None if self.sense == ">=" else b + room
            yield Limit(x, y, values, low, high, self._label(i))

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the sum that is broken most."""
        found = []
        for i, (places, values) in enumerate(self._terms(prior, mechanism.outputs)):
            off = total(mechanism, places, values) - Fraction(self.right[i])
            if self.sense == "==":
                off = abs(off) - self._room(values, self.right[i])
            found.append((-off if self.sense == ">=" else off, self._label(i)))
        return largest(found)

    @property
    def description(self) -> str:
        """The name, or how many there are."""
        count = len(self.right)
        if count == 1:
            return self.name or f"one {self._kinds[0]} {self.sense} {self.right[0]:.12g}"
        return self.name or f"{count} {self._kinds[1]} {self.sense} their limits"


@dataclass(frozen=True)
class Rows(_Sums):
    """Σ_xy A_xy K_xy ≤, ≥ or = b for each of several matrices A, equations within a tolerance."""

    _kinds = ("linear constraint", "linear constraints")
    _senses = ("<=", ">=", "==")

    matrices: tuple[Table, ...]
    sense: str
    right: tuple[float, ...]
    tolerance: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        subject = "rows of a linear constraint"
        keep(self, matrices=tuple(rows_of_numbers(matrix, subject) for matrix in self.matrices))
        self._check(len(self.matrices))

    def _terms(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[tuple[Places, Array]]:
        for matrix in self.matrices:
            values = fitting(matrix, prior, outputs, "linear constraint")
            yield np.indices(values.shape).reshape(2, -1), values.ravel()


@dataclass(frozen=True)
class Sums(_Sums):
    """Σ_i a_i K[place_i] ≤ b, or = b within a tolerance, for several sparse sums over entries.

    Attributes
    ----------
    shape : of the kernel, (N, M)
    places : for each sum the entries x M + y in it
    values : for each sum their coefficients a
    sense : ``"<="`` or ``"=="``
    right : for each sum b
    tolerance : of equations; 1e-12 of the largest coefficient when left out, none where that leaves
        a single entry no value but zero
    name : what the sums stand for
    """

    _kinds = ("sum over entries", "sums over entries")
    _senses = ("<=", "==")

    shape: tuple[int, int]
    places: tuple[tuple[int, ...], ...]
    values: Table
    sense: str
    right: tuple[float, ...]
    tolerance: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        subject = self._kinds[1]
        values = tuple(tuple(finite(a, subject) for a in row) for row in self.values)
        keep(self, shape=tuple(self.shape), places=tuple(map(tuple, self.places)), values=values)
        self._check(len(self.places))
        good = len(self.shape) == 2 and all(is_whole(v, 1) for v in self.shape)
        last = self.shape[0] * self.shape[1] - 1 if good else -1
        if not good or not all(is_whole(v, 0, last) for row in self.places for v in row):
            raise RequirementError(
                subject,
                expected="a shape (N, M) and places x M + y of entries within it",
                got=f"the shape {quote(self.shape)}",
                remedy="number the entries row by row, from zero",
            )
        lengths = [[len(row) for row in table] for table in (self.places, values)]
        if lengths[0] != lengths[1] or lengths[0] != [len(set(row)) for row in self.places]:
            raise RequirementError(
                subject,
                expected="one coefficient for each place, no place twice",
                got=f"{lengths[0]} places, {lengths[1]} coefficients",
                remedy="give lists of the same lengths",
            )

    def _room(self, values: Array, right: float) -> Fraction:
        return Fraction(0) if len(values) == 1 and right == 0 else super()._room(values, right)

    def _terms(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[tuple[Places, Array]]:
        shape = len(prior), len(outputs)
        if shape != self.shape:
            raise RequirementError(
                self.name or self._kinds[1],
                expected=f"a kernel of shape {self.shape}, which its places were numbered for",
                got=f"shape {shape}",
                remedy="ask for it again, for this prior and these outputs",
            )
        for places, values in zip(self.places, self.values, strict=True):
            where = np.array(np.divmod(np.array(places, dtype=np.intp), shape[1]))
            yield where, np.array(values, dtype=float)


@dataclass(frozen=True)
class FewOutputs(Requirement):
    """At most so many outputs occur: all other columns of the kernel are zero."""

    most: int
    named = "a choice among outputs"

    def __post_init__(self) -> None:
        if not is_whole(self.most, 1):
            raise RequirementError(
                "number of outputs",
                expected="a positive whole number",
                got=quote(self.most),
                remedy="pass for example md.require.outputs(3)",
            )
        keep(self, most=int(self.most))

    @property
    def most_outputs(self) -> int:
        """The number."""
        return self.most

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """None: a count of columns is no sum of entries."""
        return iter(())

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """How many outputs too many occur."""
        count = sum(any(column) for column in mechanism.weights.T.tolist())
        return Fraction(count - self.most), f"{count} outputs that occur"

    @property
    def description(self) -> str:
        """The number."""
        return f"at most {self.most} outputs occur" if self.most > 1 else "one output occurs"
