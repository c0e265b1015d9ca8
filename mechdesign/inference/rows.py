"""Numbers with names, each with its standard error and interval, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownNameError
from ..labels import Label, short_names
from ..notebook import notebook_table

Vector = NDArray[np.float64]


def number_rows(*parts: Vector) -> list[dict[str, float]]:
    """Estimates, errors, lower and upper limits, one plain dictionary each."""
    rows, names = np.stack(parts, axis=-1).reshape(-1, 4), ("estimate", "error", "lower", "upper")
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]


class Rows:
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

    def closing(self) -> list[str]:
        """Lines that stand below the numbers: what could not be told, if anything."""
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
