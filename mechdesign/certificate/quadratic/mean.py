"""Pricing for the mean over several truths: max Σ w_i rᵀG_ir/(π_iᵀr) − λᵀr, pᵀr = 1.

Sums of quadratics over different masses have no relaxation of one kind, so that every extreme
column is priced; in pairs of halves they may be millions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...program.program import Cone
from .cones import inner_box, outer_box
from .forms import Array, FloatBox, Question
from .listed import Listed, list_size, price_list
from .search import distinct

#: How many extreme columns are priced for several truths.
MOST_PRICED = 1 << 24


def too_many(cone: Cone) -> str | None:
    """Why extreme columns are not priced for several truths, or ``None``."""
    n = len(cone.prior)
    for box in (inner_box(cone), outer_box(cone)):
        if box is None:
            return f"extreme columns of {n} symbols under bounds of this kind are too many to price"
        count = list_size(box, [[x] for x in range(n)])
        if count > MOST_PRICED:
            return (
                f"{count} extreme columns of {n} symbols are above the {MOST_PRICED} up to which "
                "they are priced for several truths"
            )
    return None


@dataclass(frozen=True, eq=False)
class MeanPricing:
    """Prices all extreme columns of a cone, which :func:`too_many` does not refuse.

    Attributes
    ----------
    cone : of columns, with its prior p
    truths : π_i, each ``(n,)``, positive
    """

    cone: Cone
    truths: tuple[tuple[Fraction, ...], ...]

    def bound(self, squares: Sequence[Any], prices: Any) -> Fraction:
        """An upper bound on the value of every column outside e^ε.

        Parameters
        ----------
        squares : w_i G_i, each ``(n, n)``, floats or Fractions, which are exact
        prices : λ, ``(n,)``, likewise
        """
        return self._listed(squares, prices, outer_box(self.cone), math.inf).upper

    def search(self, squares: Sequence[Any], prices: Any, level: float) -> Array:
        """The best few columns inside e^ε with pᵀr = 1 and a value above a level, ``(n, m)``."""
        box = inner_box(self.cone)
        assert box is not None
        t = self._listed(squares, prices, box, level).best
        return FloatBox.of(box).columns(distinct(box.completed(t)))

    def _listed(self, squares: Sequence[Any], prices: Any, box: Any, level: float) -> Listed:
        n = len(self.cone.prior)
        free = np.zeros(n)
        questions = [
            Question.of(square, free if i else prices, truth)
            for i, (square, truth) in enumerate(zip(squares, self.truths, strict=True))
        ]
        return price_list(questions, box, [[x] for x in range(n)], level)
