"""Numbers with names, each with its standard error and interval, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownNameError
from ..labels import Label, short_names
from ..notebook import notebook_table

Vector = NDArray[np.float64]


class Rows:
    """Numbers with names, each with its standard error and interval, as rows."""

    labels: tuple[Label, ...]
    values: Vector
    errors: Vector
    lower: Vector
    upper: Vector
    # What could not be told of where reports came from, a sentence or nothing.
    note = ""
    # Of rows that are shown.
    _caption = "± one standard error"

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each label, with intervals each alone."""
        return self._rows(np.arange(len(self.labels)), self.lower, self.upper)

    def _rows(self, places: NDArray[Any], lower: Vector, upper: Vector) -> list[dict[str, Any]]:
        names = ("estimate", "error", "lower", "upper")
        numbers = np.stack([self.values[places], self.errors[places], lower, upper], axis=1)
        return [
            {"label": self.labels[i], **dict(zip(names, row, strict=True))}
            for i, row in zip(places.tolist(), numbers.tolist(), strict=True)
        ]

    def __getitem__(self, label: Label) -> float:
        if label not in self._places:
            raise UnknownNameError("estimate of", label, map(str, self.labels[:10]))
        return float(self.values[self._places[label]])

    def describe(self) -> str:
        """What the numbers are, in one line."""
        return f"{len(self.labels)} numbers"

    def closing(self) -> list[str]:
        """Lines that stand below the numbers."""
        return [self.note] if self.note else []

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
