"""What estimates are: numbers with standard errors, covariances and confidence limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownNameError
from ..labels import Label, counted, short_names
from ..notebook import notebook_table
from ..prior import Prior
from ..schema import Schema
from ..inference.likelihood import Convergence
from .number_estimates import NumberAnswers
from .receipts import Receipt


@dataclass(frozen=True)
class Intervals:
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
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each label."""
        return [
            {
                "label": label,
                "estimate": float(self.values[i]),
                "error": float(self.errors[i]),
                "lower": float(self.lower[i]),
                "upper": float(self.upper[i]),
            }
            for i, label in enumerate(self.labels)
        ]

    def __getitem__(self, label: Label) -> float:
        if label not in self.labels:
            raise UnknownNameError("estimate of", label, map(str, self.labels))
        return float(self.values[self.labels.index(label)])

    def describe(self) -> str:
        """What the numbers are, in one line."""
        return f"{len(self.labels)} numbers"

    def closing(self) -> list[str]:
        """Lines that stand below the numbers."""
        return []

    def __repr__(self) -> str:
        lines = [f"{self.describe()}; ± one standard error"]
        lines += [
            f"{name:<28}  {value:9.5f}  ± {error:.5f}  [{low:.5f}, {high:.5f}]"
            for name, value, error, low, high in zip(
                short_names(self.labels, 28),
                self.values,
                self.errors,
                self.lower,
                self.upper,
                strict=True,
            )
        ]
        return "\n".join([*lines, *self.closing()])

    def _repr_html_(self) -> str:
        columns = (self.values, self.errors, self.lower, self.upper)
        head = ["label", "estimate", "error", "lower", "upper"]
        rows = [
            [label, *(f"{values[i]:.5f}" for values in columns)]
            for i, label in enumerate(self.labels)
        ]
        return notebook_table(head, rows, self.describe())


@dataclass(frozen=True, repr=False)
class Estimate(Intervals, NumberAnswers):
    """Frequencies (or another feature) of the secret, with intervals.

    Attributes
    ----------
    values : ``(F,)`` estimates; by inversion they are unbiased and may lie outside [0, 1]
    reports : number of reports
    method, intervals, confidence, target : as asked
    distribution : ``(N,)`` of largest likelihood over all symbols, in the order of the inputs
    convergence : of that maximisation, with the proven gap
    fit : p-value of the hypothesis that this mechanism made the reports, rather too large
    receipt : the receipt that says so, ``None`` where none came with the reports
    note : what could not be told of where the reports came from, a sentence or nothing
    shrunk : ``distribution`` drawn towards the design's prior (uniform for a mechanism) by the
        share of their distance that noise explains; a next round takes it as its truth
    schema : names of the columns that the labels are made of, with their bins, where known;
        :meth:`mean`, :meth:`quantile` and :meth:`histogram` are about numbers in bins
    """

    reports: int
    method: str
    intervals: str
    confidence: float
    target: str
    distribution: NDArray[np.float64]
    convergence: Convergence
    fit: float
    receipt: Receipt | None = None
    note: str = ""
    shrunk: Prior | None = None
    schema: Schema | None = None

    def describe(self) -> str:
        """Method, number of reports and what the intervals are about, in one line."""
        way = "unbiased inversion" if self.method == "inversion" else "maximum likelihood"
        about = "all who might be asked" if self.target == "population" else "those who reported"
        return (
            f"{way} from {counted(self.reports, 'report')}; {100 * self.confidence:g} % intervals "
            f"({self.intervals}) for {about}"
        )

    def closing(self) -> list[str]:
        """Lines below the numbers: how the likelihood was maximised, and what could not be told."""
        lines = [f"likelihood {self.convergence}"] if self.method == "likelihood" else []
        return [*lines, self.note] if self.note else lines
