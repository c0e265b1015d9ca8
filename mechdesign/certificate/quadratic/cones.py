"""Columns of cones of any kind: vertices by linear programs, and two-sided cones around them.

Reduced values are convex, so that the vertex which is best for the gradient at a column is no worse
than the column. Bounds are those of wider two-sided cones, which relaxations know.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ...linear.highs import column_model
from ...privacy.constraint import Rounding
from ...program.program import Cone, TwoSided
from ..columns.families import LARGEST_RATIO
from ..shape import exact_sides, recognised
from .forms import Array, ColumnBox

_MOST_STEPS = 20
_GAIN = 1e-9


class ConeSearch:
    """Vertices of {r in a cone, pᵀr = 1} inside e^ε.

    Parameters
    ----------
    cone : of columns
    truth : π, ``(n,)``
    """

    def __init__(self, cone: Cone, truth: Array) -> None:
        self.prior, self.truth = cone.prior.probabilities, truth
        rows = cone.matrix()
        self.size = rows.shape[1]
        self.model = column_model(rows, self.prior)

    def vertices(self, gains: Array) -> Array:
        """The best vertex for each column of linear gains, ``(n, m)``."""
        n, found = len(self.prior), []
        for gain in gains.T:
            cost = np.zeros(self.size)
            cost[:n] = gain / max(float(np.abs(gain).max()), 1e-300)
            self.model.set_cost(cost)
            point = self.model.run("simplex").point
            if point is not None:
                column = np.maximum(point[:n], 0.0)
                found.append(column / (self.prior @ column))
        return np.array(found).reshape(-1, n).T

    def improve(self, square: Array, prices: Array, columns: Array) -> Array:
        """Columns that are no worse, vertices for their own gradient, distinct."""
        found = []
        for column in columns.T:
            r, value = column, -math.inf
            for _ in range(_MOST_STEPS):
                image, mass = square @ r, float(self.truth @ r)
                now = float(r @ image) / mass
                if now - float(prices @ r) <= value + _GAIN * abs(now):
                    break
                value = now - float(prices @ r)
                found.append(r)
                step = self.vertices((2 * image / mass - now / mass * self.truth - prices)[:, None])
                if not step.shape[1]:
                    break
                r = step[:, 0]
        table = np.array(found).reshape(-1, len(self.prior)).T
        _, first = np.unique(np.round(table, 9), axis=1, return_index=True)
        return table[:, np.sort(first)]


def inner_box(cone: Cone) -> ColumnBox | None:
    """Columns of a cone of one kind inside e^ε; ``None`` for others."""
    sides = cone.two_sided(Rounding.INSIDE)
    return None if sides is None else ColumnBox.of(cone.prior, sides)


def outer_box(cone: Cone) -> ColumnBox | None:
    """Columns of a cone of one kind outside e^ε, recognised afresh; ``None`` for others."""
    found = exact_sides(cone)
    if found is None:
        return None
    sides = found.outside
    if sides.ratio > LARGEST_RATIO:  # as good as none, and wider
        sides = TwoSided(sides.lower, sides.upper, math.inf)
    return ColumnBox.of(cone.prior, sides)


def wider_boxes(cone: Cone) -> list[ColumnBox]:
    """Columns of two-sided cones outside e^ε that hold those of a cone; none without full support.

    One for what is asked of lifts and one for what is asked of ratios between symbols.
    """
    prior = cone.prior
    if not all(prior.weights):
        return []
    masses: tuple[Fraction, ...] = tuple(prior.mass(x) for x in range(len(prior)))
    groups = (group for part in cone.parts if part.is_listed for group in part.groups())
    sides = recognised(groups, masses)[0].outside
    found = [ColumnBox.of(prior, TwoSided(sides.lower, sides.upper, math.inf))]
    if sides.ratio <= LARGEST_RATIO:
        found.append(ColumnBox.of(prior, TwoSided(0.0, math.inf, sides.ratio)))
    return [box for box in found if box is not None]


def wider_cones(cone: Cone) -> list[Cone]:
    """Two-sided cones of some of the parts of a cone of another kind, for which more is known: that
    of its bounds on lifts, and that of its bounds on ratios between symbols.
    """
    kinds = [(part, part.kind(cone.prior)) for part in cone.parts]
    lifts = [part for part, kind in kinds if kind in (("points", "prior"), ("prior", "points"))]
    ratios = [part for part, kind in kinds if kind == ("points", "points")]
    return [Cone(cone.prior, tuple(parts)) for parts in (lifts, ratios) if parts]
