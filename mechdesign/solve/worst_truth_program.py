"""The program of an estimation design for the worst of several truths."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate.enclosures import Enclosure
from ..exact import dyadic, nearest_float
from ..utility.truths import Truths, rational_masses
from .program import Array, EstimationProgram, Objective

# Of a truth in a least favourable mixture, before these are divided by their sum.
_SMALLEST_SHARE = 2.0**-60


@dataclass(frozen=True)
class WorstTruthProgram(EstimationProgram):
    """Minimise the largest risk over truths; the survey is that at the prior.

    Attributes
    ----------
    truths : of which the worst counts
    """

    truths: Truths = field(kw_only=True)

    @property
    def objective_kind(self) -> Objective:
        """Minus the worst of several risks."""
        return "worst estimation"

    @property
    def parts(self) -> int:
        """How many matrices stand for inverses in the bound."""
        return len(self.truths.listed) or 1

    def at(self, masses: Array) -> EstimationProgram:
        """The program at one truth, near some masses."""
        return self.with_truth(rational_masses(masses))

    def with_truth(self, truth: tuple[Fraction, ...]) -> EstimationProgram:
        """The program at one truth."""
        return EstimationProgram(
            self.prior,
            self.cone,
            self.sums,
            self.sum_labels,
            self.unexpressed,
            self.time_limit,
            self.utility,
            self.survey.moved(truth),
            self.most_outputs,
        )

    def at_mixture(self, mixture: Array | None) -> EstimationProgram:
        """The program at a mixture of the truths."""
        shares = self.least_favourable(mixture)
        if shares is None:
            return self.with_truth(self.survey.truth)
        if self.truths.every:
            return self.with_truth(shares)
        columns = zip(*(one.truth for one in self.truths.listed), strict=True)
        return self.with_truth(
            tuple(
                sum((w * v for w, v in zip(shares, column, strict=True)), Fraction(0))
                for column in columns
            )
        )

    @cached_property
    def revealed_value(self) -> float:
        """Minus the worst risk of an open survey."""
        return self.value(np.eye(len(self.prior)))

    def value(self, kernel: Array) -> float:
        """Minus the worst risk of a kernel, −∞ where some answer cannot be told."""
        ends = self.truths.risk(dyadic(kernel)[0])
        return float("-inf") if ends is None else nearest_float(-(ends[0] + ends[1]) / 2)

    def enclose(self, weights: NDArray[Any], bits: int) -> Enclosure | None:
        """Minus the worst risk between two rationals; ``None`` where it is −∞."""
        ends = self.truths.risk(weights)
        return None if ends is None else Enclosure(-ends[1], -ends[0])

    def least_favourable(self, mixture: Array | None) -> tuple[Fraction, ...] | None:
        """Positive shares of the truths, or masses of the symbols; ``None`` for what is none."""
        if mixture is None or not np.isfinite(mixture).all() or not mixture.max() > 0:
            return None
        # As FORMAT.md says, so that whoever reads a file bounds the risk at the same truth.
        positive = [Fraction(max(v, _SMALLEST_SHARE)) for v in mixture.tolist()]
        total = sum(positive, Fraction(0))
        return tuple(v / total for v in positive)
