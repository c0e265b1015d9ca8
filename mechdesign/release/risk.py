"""What an intruder knows of a record before and after its value was randomised and published.

The intruder knows the prior and the kernel and sees the published value y of a record; they believe
its true value x with probability P(X = x | Y = y) = p_x K_xy / (pᵀK)_y, and guess the likeliest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..files import write_text
from ..labels import Label, counted
from ..mechanism import Mechanism
from ..prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CategoryRisk:
    """What is believed of the true value of the records of one category.

    Attributes
    ----------
    category : their true value
    records : how many there are
    before : probability of their true value under the prior
    unchanged : probability that it is published as it is
    expected : mean posterior probability of their true value, over what may be published
    largest : the largest one
    worst_report : the published value that attains it; ``None`` where there are no such records
    """

    category: Label
    records: float
    before: float
    unchanged: float
    expected: float
    largest: float
    worst_report: Label | None


@dataclass(frozen=True, eq=False)
class RecordRisk:
    """What is believed of the true value of each record, given the value published for it.

    Attributes
    ----------
    rows : ``(R,)`` positions of the records in their table; those with missing values are left out
    before : ``(R,)`` probability of the true value under the prior of its stratum
    after : ``(R,)`` posterior probability of the true value
    guessed : ``(R,)`` whether the likeliest value is the true one
    """

    rows: NDArray[np.int64]
    before: Array
    after: Array
    guessed: NDArray[np.bool_]

    @property
    def largest(self) -> float:
        """The largest posterior probability of a true value; NaN where there are no records."""
        return float(self.after.max()) if len(self.after) else math.nan

    @property
    def riskiest(self) -> int | None:
        """Position in the table of the (first) record that has it; ``None`` where there is none."""
        return int(self.rows[self.after.argmax()]) if len(self.rows) else None

    @property
    def correct(self) -> int:
        """How many records are guessed right."""
        return int(self.guessed.sum())

    def __repr__(self) -> str:
        if not len(self.rows):
            return "RecordRisk of no records"
        place = int(self.after.argmax())
        return (
            f"RecordRisk of {counted(len(self.rows), 'record')}: {self.correct} guessed right, "
            f"largest posterior {self.largest:.6g} (record {self.riskiest}, "
            f"{self.before[place]:.6g} before)"
        )

    def to_csv(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write one line for each record, counted from 1, to a file that only its owner reads.

        The true values can be told from it. Raises :class:`StorageError` where it cannot be
        written.
        """
        lines = ["record,before,after,guessed"]
        columns = (self.rows + 1, self.before, self.after, self.guessed.astype(int))
        lines += [
            f"{row},{before!r},{after!r},{guessed}"
            for row, before, after, guessed in zip(*(c.tolist() for c in columns), strict=True)
        ]
        write_text("\n".join(lines) + "\n", path, overwrite=overwrite, private=True)


def share_unchanged(mechanism: Mechanism, prior: Prior) -> float:
    """Share of records whose value is published as it is, Σ p_x K_xx."""
    return math.fsum(prior.probabilities * np.diagonal(mechanism.kernel))


def category_risks(
    mechanism: Mechanism, prior: Prior, records: Sequence[float]
) -> tuple[CategoryRisk, ...]:
    """One row for each category; ``records`` counts its records."""
    after, kernel = mechanism.posterior(prior), mechanism.kernel
    rows = []
    for x, (label, count) in enumerate(zip(prior.labels, records, strict=True)):
        possible = np.where(kernel[x] > 0, after[x], -1.0)
        worst = int(possible.argmax())
        rows.append(
            CategoryRisk(
                label,
                float(count),
                float(prior.probabilities[x]),
                float(kernel[x, x]),
                math.fsum(kernel[x] * after[x]),
                float(possible[worst]),
                mechanism.outputs[worst] if count else None,
            )
        )
    return tuple(rows)
