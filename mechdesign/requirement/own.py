"""Requirements of one's own: any linear constraint, and how many outputs there may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import RequirementError, quote
from ..labels import Label, counted
from ..mechanism import Mechanism
from ..prior import Prior
from .base import (
    TOLERANCE,
    Limit,
    Requirement,
    checked_name,
    checked_tolerance,
    finite,
    fitting,
    keep,
    largest,
    mean_costs,
    rows_of_numbers,
)

SENSES = ("<=", ">=", "==")


@dataclass(frozen=True)
class Rows(Requirement):
    """Σ_xy A_xy K_xy ≤, ≥ or = b for each of several matrices A, equations within a tolerance."""

    matrices: tuple[tuple[tuple[float, ...], ...], ...]
    sense: str
    right: tuple[float, ...]
    tolerance: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        subject = "rows of a linear constraint"
        matrices = tuple(rows_of_numbers(matrix, subject) for matrix in self.matrices)
        right = tuple(finite(b, "right-hand side") for b in self.right)
        tolerance = checked_tolerance(self.tolerance, "tolerance of a linear constraint")
        keep(self, matrices=matrices, right=right, tolerance=tolerance)
        checked_name(self.name, "a linear constraint")
        if not isinstance(self.sense, str) or self.sense not in SENSES:
            raise RequirementError(
                subject,
                expected="the sense '<=', '>=' or '=='",
                got=quote(self.sense),
                remedy="write one of the three",
            )
        if len(matrices) != len(right) or not matrices:
            raise RequirementError(
                subject,
                expected="as many matrices as numbers on the right-hand side, at least one",
                got=f"{len(matrices)} and {len(right)}",
                remedy="give one number for each matrix",
            )

    def _room(self, matrix: tuple[tuple[float, ...], ...]) -> Fraction:
        if self.tolerance is not None:
            return Fraction(self.tolerance)
        return Fraction(TOLERANCE * (max(abs(v) for row in matrix for v in row) or 1.0))

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each matrix."""
        for i, (matrix, right) in enumerate(zip(self.matrices, self.right, strict=True)):
            values, b = fitting(matrix, prior, outputs, "linear constraint"), Fraction(right)
            n, m = values.shape
            x, y = np.divmod(np.arange(n * m), m)
            room = self._room(matrix) if self.sense == "==" else Fraction(0)
            low = None if self.sense == "<=" else b - room
            high = None if self.sense == ">=" else b + room
            label = f"row {i + 1} of {self.name or 'the linear constraint'}"
            yield Limit(x, y, values.ravel(), low, high, label).without_zeros()

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the row that is broken most."""
        found = []
        for i, (matrix, right) in enumerate(zip(self.matrices, self.right, strict=True)):
            fitting(matrix, prior, mechanism.outputs, "linear constraint")
            off = sum(mean_costs(mechanism, matrix), Fraction(0)) - Fraction(right)
            if self.sense == "==":
                off = abs(off) - self._room(matrix)
            found.append((-off if self.sense == ">=" else off, f"row {i + 1}"))
        return largest(found)

    @property
    def description(self) -> str:
        """The name, or how many rows there are."""
        count = len(self.matrices)
        if self.name:
            return self.name
        if count == 1:
            return f"one linear constraint {self.sense} {self.right[0]:.12g}"
        return f"{counted(count, 'linear constraint')} {self.sense}"


@dataclass(frozen=True)
class FewOutputs(Requirement):
    """At most so many outputs occur: all other columns of the kernel are zero."""

    most: int

    def __post_init__(self) -> None:
        whole = isinstance(self.most, (int, np.integer)) and not isinstance(self.most, bool)
        if not whole or self.most < 1:
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

    @property
    def named(self) -> str:
        """A choice."""
        return "a choice among outputs"

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
