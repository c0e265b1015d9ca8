"""Which outputs are carried along: those that vanish leave, those that would be used return.

Optima use few outputs, and their masses say early which: after a handful of steps the others lie
far below what a used output has. So they leave from the beginning, and where there is much to save
the lightest leave even before they are light: what is used is among the heaviest half after three
steps, and among the heaviest fifth after ten. What was left out is priced once
the prices are about right; an output whose price says that it would not have vanished comes back in
the middle of the iteration, where the central path has its column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...program.program import TwoSided
from .newton import Cone, Newton, Point
from .predictor_corrector import Array
from .pricing import best_columns

Places = NDArray[np.intp]

# Halvings of the interval that holds the multiplier of a link.
_HALVINGS = 60
# Outputs carried at most, as shares of all: at first, after each step that many times as many, at
# least. Those heavier than a share of an output in use are carried anyway.
_CARRIED, _SHRINKS, _AT_LEAST, _LIGHT = 0.5, 0.9, 0.2, 0.7
# Share of all mass that outputs may return with.
_ROOM = 0.25
# A column that returns has products between half and all of this multiple of the targets.
_PRODUCTS = 1.4


class Screen:
    """Outputs in and out of an iteration, which it changes.

    Parameters
    ----------
    newton : the iteration, on all outputs
    outputs : their positions
    sides : the cone of a column for pricing
    """

    def __init__(self, newton: Newton, outputs: Places, sides: TwoSided) -> None:
        self.newton, self.outputs, self.sides = newton, outputs, sides
        self._c, self._all = newton.c, outputs
        self._inside = np.ones(len(outputs), dtype=bool)
        # Positions of the outputs inside, in the order of the iteration; which came back.
        self._order = np.arange(len(outputs))
        self._returned = np.zeros(len(outputs), dtype=bool)
        self._turns, self._may_return = 0, type(newton.point) is Point
        self._values: Array | None = None
        self._prices = newton.point.prices

    def _typical(self) -> float:
        """The mass of an output in use."""
        scales = self.newton.point.scales
        return float(scales @ scales) / float(scales.sum())

    def _least(self) -> float:
        """The mass below which an output has vanished: a share of that of the outputs in use."""
        return self.newton.options.vanished * self._typical()

    def _room(self) -> int:
        """How many outputs are carried at most, where there is much to save."""
        options, past = self.newton.options, self._turns - self.newton.options.crowd_until
        if past <= 0 or self._c.size < options.own_entries:
            return len(self._all)
        return int(max(_CARRIED * _SHRINKS ** (past - 1), _AT_LEAST) * len(self._all))

    def drop_vanished(self) -> None:
        """Leave out outputs of vanishing mass, and the lightest where too many are carried.

        The others take over in proportion.

        Merging them into another output would keep the rows exact but puts their slacks on one
        column, whose complementarity products it spoils: measured, it costs iterations.
        """
        self._turns += 1
        scales, least = self.newton.point.scales, self._least()
        if least == 0:
            return
        again = scales > self.newton.options.leaves_again * least
        keep = (scales > least) | (self._returned[self._order] & again)
        light = np.sort(scales[scales <= _LIGHT * self._typical()])
        many = min(len(scales) - self._room(), len(light))
        if many > 0:
            # Those of one mass stay or leave together.
            keep &= scales >= light[many - 1]
        # Arrays are copied for no less than a tenth of them.
        if keep.sum() <= 0.9 * len(keep):
            self.newton.keep(keep)
            self._inside[self._order[~keep]] = False
            self._follow(self._order[keep])

    def bring_back(self, gap: float) -> int:
        """Take in again what would not have vanished by its price; how many outputs."""
        outside = np.flatnonzero(~self._inside)
        if not len(outside) or not self._may_return:
            return 0
        newton, least = self.newton, self._least()
        if least == 0:
            return 0
        # Each output has about the same share of the gap: its mass times what its column lacks.
        share = gap / len(self._order)
        values = self._priced(outside, -share / least)
        found = values > -share / least
        if not found.any():
            return 0
        back, lacks = outside[found], np.maximum(-values[found], 0.0)
        masses = np.minimum(least, share / np.maximum(lacks, share / least))
        masses *= min(1.0, _ROOM * float(newton.point.scales.sum()) / float(masses.sum()))
        point = central_columns(
            self._c[back] - newton.point.prices,
            newton.p,
            newton.point.cone,
            masses,
            share / (2 * len(newton.p)) * newton.targets,
        )
        newton.add(self._c[back], point)
        self._inside[back] = self._returned[back] = True
        self._follow(np.r_[self._order, back])
        return len(back)

    def _priced(self, outside: Places, least: float) -> Array:
        """Values of outputs at the prices of now, or what these cannot exceed where it is less.

        Values change by no more than what a column gains from the change of the prices.
        """
        p, prices = self.newton.p, self.newton.point.prices
        if self._values is not None:
            change = best_columns((self._prices - prices)[None], p, self.sides)[0]
            values: Array = self._values[outside] + change
            near = np.flatnonzero(values > least)
            if 4 * len(near) <= len(outside):
                if len(near):
                    values[near] = best_columns(self._c[outside[near]] - prices, p, self.sides)
                return values
        # Of those inside too, as these may leave.
        self._values, self._prices = best_columns(self._c - prices, p, self.sides), prices
        return self._values[outside]

    def _follow(self, order: Places) -> None:
        self._order, self.outputs = order, self._all[order]


def central_columns(reduced: Array, p: Array, cone: Cone, masses: Array, products: Array) -> Point:
    """Columns about where the central path has them at given prices.

    Parameters
    ----------
    reduced : ``(r, n)`` objectives less the prices
    masses : ``(r,)`` scales of the columns
    products : ``(n,)`` what slack times multiplier should come to

    Multipliers of both sides differ by what stationarity asks, and slacks share the width of the
    cone in inverse proportion, so that both products agree. The multiplier of a link is where the
    column has its mass.
    """
    width = cone.upper - cone.lower
    floor = _PRODUCTS * products / (width * masses[:, None])

    def shares(link: Array) -> Array:
        f = reduced - link[:, None] * p
        found: Array = (np.maximum(f, 0.0) + floor) / (np.abs(f) + 2 * floor)
        return found

    link = np.zeros(len(masses))
    upper = shares(link)
    if cone.linked:
        goal = (1 - cone.lower) / width
        # Beyond these all entries lie on one side of the goal.
        wide = floor / min(goal, 1 - goal)
        low, high = ((reduced - wide) / p).min(axis=1), ((reduced + wide) / p).max(axis=1)
        for _ in range(_HALVINGS):
            link = (low + high) / 2
            above = shares(link) @ p > goal
            low, high = np.where(above, link, low), np.where(above, high, link)
        # In between the mass is exact up to rounding.
        below, upper = shares(high), shares(low)
        least, most = below @ p, upper @ p
        part = np.where(most > least, (goal - least) / np.where(most > least, most - least, 1), 0.5)
        upper = below + part[:, None] * (upper - below)
        link = (low + high) / 2
    f = reduced - link[:, None] * p
    slacks = width * masses[:, None] * np.stack([upper, 1 - upper])
    multipliers = np.stack([np.maximum(-f, 0.0), np.maximum(f, 0.0)]) + floor
    return Point(cone, slacks, multipliers, masses, link, np.zeros(len(p)))
