"""Requirements of few entries each: sums over entries by their positions, for many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import RequirementError, quote
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from .base import (
    TOLERANCE,
    Limit,
    Requirement,
    checked_name,
    checked_tolerance,
    finite,
    keep,
    largest,
)


@dataclass(frozen=True)
class Sums(Requirement):
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

    shape: tuple[int, int]
    places: tuple[tuple[int, ...], ...]
    values: tuple[tuple[float, ...], ...]
    sense: str
    right: tuple[float, ...]
    tolerance: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        subject = "sums over entries"
        values = tuple(tuple(finite(a, subject) for a in row) for row in self.values)
        keep(
            self,
            shape=tuple(self.shape),
            places=tuple(map(tuple, self.places)),
            values=values,
            right=tuple(finite(b, subject) for b in self.right),
            tolerance=checked_tolerance(self.tolerance, "tolerance of sums over entries"),
            name=checked_name(self.name, subject),
        )
        numbers = [*self.shape, *(place for row in self.places for place in row)]
        whole = all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in numbers)
        size = self.shape[0] * self.shape[1] if whole and len(self.shape) == 2 else -1
        if not all(0 <= place < size for row in self.places for place in row) or size < 1:
            raise RequirementError(
                subject,
                expected="a shape (N, M) and places x M + y of entries within it",
                got=f"the shape {quote(self.shape)}",
                remedy="number the entries row by row, from zero",
            )
        counts = [len(row) for row in self.places]
        distinct = all(len(set(row)) == len(row) for row in self.places)
        if counts != [len(row) for row in values] or len(counts) != len(self.right) or not distinct:
            raise RequirementError(
                subject,
                expected="one coefficient for each place, one number for each sum, no place twice",
                got=f"{len(counts)} sums, {len(self.right)} numbers",
                remedy="give lists of the same lengths",
            )
        if self.sense not in ("<=", "=="):
            raise RequirementError(
                subject,
                expected="the sense '<=' or '=='",
                got=quote(self.sense),
                remedy="write one of the two; turn the signs for '>='",
            )

    def _room(self, values: tuple[float, ...], right: float) -> Fraction:
        if self.sense == "<=" or (len(values) == 1 and right == 0):
            return Fraction(0)
        if self.tolerance is not None:
            return Fraction(self.tolerance)
        return Fraction(TOLERANCE * (max(map(abs, values), default=0.0) or 1.0))

    def _label(self, number: int) -> str:
        return f"row {number + 1} of {self.name or 'the sums over entries'}"

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each sum."""
        shape = len(prior), len(outputs)
        if shape != self.shape:
            raise RequirementError(
                self.name or "sums over entries",
                expected=f"a kernel of shape {self.shape}, which its places were numbered for",
                got=f"shape {shape}",
                remedy="ask for it again, for this prior and these outputs",
            )
        rows = zip(self.places, self.values, self.right, strict=True)
        for number, (places, values, right) in enumerate(rows):
            x, y = np.divmod(np.array(places, dtype=np.intp), shape[1])
            room = self._room(values, right)
            low = None if self.sense == "<=" else Fraction(right) - room
            high = Fraction(right) + room
            yield Limit(x, y, np.array(values, dtype=float), low, high, self._label(number))

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the sum that is broken most."""
        weights = mechanism.weights.ravel().tolist()
        found = []
        rows = zip(self.places, self.values, self.right, strict=True)
        for number, (places, values, right) in enumerate(rows):
            terms = (int(weights[i]) * Fraction(a) for i, a in zip(places, values, strict=True))
            off = sum(terms, Fraction(0)) / mechanism.denominator - Fraction(right)
            if self.sense == "==":
                off = abs(off) - self._room(values, right)
            found.append((off, self._label(number)))
        return largest(found)

    @property
    def description(self) -> str:
        """The name, or how many there are."""
        count = len(self.right)
        if self.name:
            return self.name
        if count == 1:
            return f"one sum over entries {self.sense} {self.right[0]:.12g}"
        return f"{count} sums over entries {self.sense} their limits"
