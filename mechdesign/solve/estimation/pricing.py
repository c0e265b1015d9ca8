"""Pricing for estimation designs: max rᵀGr/(πᵀr) − λᵀr over the columns r of a cone with pᵀr = 1.

Columns are found by local search (:mod:`.pricing_search`), in the cone inside e^ε. Bounds hold for
the cone outside e^ε: by a list of all extreme columns where they are few (:mod:`.pricing_listed`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...certificate.shape import exact_sides
from ...errors import SolverError
from ...privacy.constraint import Rounding
from ..column_generation.exact_columns import columns_of_rays, extreme_rays
from ..column_generation.families import LARGEST_RATIO
from ..program import Cone, TwoSided
from .pricing_forms import Array, ColumnBox, FloatBox, Question
from .pricing_listed import MOST_COLUMNS, MOST_PAIRS, list_size, price_list, price_rays
from .pricing_search import LocalSearch, distinct

#: Symbols up to which the extreme columns of any cone are listed.
MOST_SYMBOLS_ANY = 6
_SEED = 11
# Random starts for each symbol.
_RANDOM = 4


class QuadraticPricing:
    """Prices columns of one cone, for quadratics over the mass under one truth.

    Parameters
    ----------
    cone : the cone of columns, with its prior p
    truth : π, positive, ``(n,)``; the prior where it is ``None``
    """

    def __init__(self, cone: Cone, truth: Sequence[Fraction] | None = None) -> None:
        self.cone, self.prior = cone, cone.prior
        n = len(cone.prior)
        self.masses = tuple(cone.prior.mass(x) for x in range(n))
        self.truth = self.masses if truth is None else tuple(Fraction(v) for v in truth)
        if len(self.truth) != n or min(self.truth) <= 0:
            raise SolverError(
                f"expected a positive truth for each of {n} symbols, got {len(self.truth)} numbers"
            )
        self._rng = np.random.default_rng(_SEED)

    # What the cone is

    @cached_property
    def _outside(self) -> TwoSided | None:
        found = exact_sides(self.cone)
        if found is None:
            return None
        sides = found.outside
        if sides.ratio > LARGEST_RATIO:  # as good as none, and wider
            return TwoSided(sides.lower, sides.upper, math.inf)
        return sides

    @cached_property
    def _outer_box(self) -> ColumnBox | None:
        return None if self._outside is None else ColumnBox.of(self.prior, self._outside)

    @cached_property
    def _inner_box(self) -> ColumnBox | None:
        sides = self.cone.two_sided(Rounding.INSIDE)
        return None if sides is None else ColumnBox.of(self.prior, sides)

    @cached_property
    def _inner(self) -> FloatBox | None:
        return None if self._inner_box is None else FloatBox.of(self._inner_box)

    def _rays(self, rounding: Rounding) -> list[tuple[Fraction, ...]]:
        """Extreme columns of any cone, exactly."""
        rays = extreme_rays(self.cone.inequalities(rounding), len(self.prior))
        found = columns_of_rays(self.prior, rays)
        return [tuple(1 + d for d in column) for column in found]

    @cached_property
    def _listed_inside(self) -> Array:
        return np.array(self._rays(Rounding.INSIDE), dtype=float).T

    @cached_property
    def _listed_outside(self) -> list[tuple[Fraction, ...]]:
        return self._rays(Rounding.OUTSIDE)

    @property
    def _lists_rays(self) -> bool:
        return len(self.prior) <= MOST_SYMBOLS_ANY

    # Columns

    def values(self, square: Any, prices: Any, columns: Array) -> Array:
        """rᵀGr/(πᵀr) − λᵀr of columns ``(n, m)`` with pᵀr = 1, in floats, ``(m,)``."""
        g, price = np.asarray(square, dtype=float), np.asarray(prices, dtype=float)
        # Where levels are small, G all but cancels at the constant column.
        image = np.array([math.fsum(row) for row in g.tolist()])
        away = columns - 1
        squares = math.fsum(image.tolist()) + (2 * image) @ away + (away * (g @ away)).sum(axis=0)
        truth = np.array(self.truth, dtype=float) @ columns
        return np.asarray(squares / truth - (math.fsum(price.tolist()) + price @ away))

    def first(self, count: int) -> Array:
        """Some extreme columns with pᵀr = 1, whatever is priced, ``(n, m)``."""
        box = self._inner
        if box is None:
            return self._listed_inside
        return box.columns(np.unique(self._random(box, count), axis=1))

    def search(self, square: Any, prices: Any, start: Array) -> tuple[Array, Array]:
        """Columns of large reduced value, without proof.

        Parameters
        ----------
        square : G, ``(n, n)``, floats or Fractions
        prices : λ, ``(n,)``
        start : ``(n, k)`` columns of the cone to search from, beside random ones

        Returns
        -------
        columns ``(n, m)`` with pᵀr = 1 and their reduced values ``(m,)``, distinct, best first
        """
        box, exact = self._inner, self._inner_box
        if box is None or exact is None:
            columns = self._listed_inside
            values = self.values(square, prices, columns)
            order = np.argsort(-values, kind="stable")
            return columns[:, order], values[order]
        form = Question.of(square, prices, self.truth).on(exact)
        search = LocalSearch(form, box)
        starts = np.column_stack([box.places(start), self._random(box, _RANDOM * len(box.p))])
        t, _ = search.improve(starts)
        t = distinct(exact.settled(t))
        values = form.values(t)
        order = np.argsort(-values, kind="stable")
        return box.columns(t[:, order]), values[order]

    def _random(self, box: FloatBox, count: int) -> Array:
        n = len(box.p)
        if box.weights is None:
            sizes = self._rng.integers(1, max(n, 2), count)
            return (self._rng.random((n, count)).argsort(axis=0) < sizes).astype(float)
        return box.filled(self._rng.random((n, count)))

    # Bounds

    def bound(
        self, square: Any, prices: Any, target: Fraction | float, deadline: float = math.inf
    ) -> tuple[Fraction, Array]:
        """A proven upper bound on the reduced value of every column of the cone outside e^ε.

        Parameters
        ----------
        square : G, ``(n, n)``, positive semi-definite, floats or Fractions, which are exact
        prices : λ, ``(n,)``, likewise
        target : the search ends where no column is above it
        deadline : moment on the :mod:`~mechdesign.solve.clock` at which it ends anyway

        Returns
        -------
        the bound, and columns ``(n, m)`` above the target with pᵀr = 1, best first

        Raises
        ------
        SolverError
            Where no bound is known.
        """
        question = Question.of(square, prices, self.truth)
        level = float(target)
        box = self._outer_box
        if box is not None:
            classes = question.classes(self.masses)
            size = list_size(box, classes)
            if size <= MOST_COLUMNS or (size <= MOST_PAIRS and not box.is_lift):
                listed = price_list(question, box, classes, level)
                return listed.upper, self._columns(listed.best)
        if self._lists_rays:
            upper, above = price_rays(question, self._listed_outside, level)
            columns = [[float(v) for v in self._listed_outside[i]] for i in above]
            return upper, np.array(columns).reshape(-1, len(self.prior)).T
        raise SolverError(
            f"no bound on the reduced value of columns of {len(self.prior)} symbols is known"
        )

    def _columns(self, t: Array) -> Array:
        """The columns that t stands for, in the cone for design where that is of one kind."""
        box = self._inner_box or self._outer_box
        assert box is not None
        return FloatBox.of(box).columns(box.settled(t))
