"""Few outputs from the start: what pays at the prices of now joins, at ever smaller gaps.

An optimum uses few of many outputs. So the iteration begins with some that are spread over all,
follows its central path, and prices all outputs whenever the gap has fallen by a factor. Those that
pay, or nearly so, join in the middle of the iteration as in :mod:`.screening`; before they do,
prices rise until none of them pays, which keeps the duals feasible and adds no more to the gap than
what was overlooked. Where that is far above it, the iteration goes back to where the gap was
larger, as columns that join near the boundary stay there for long. Where half of all outputs pay,
the optimum is dense and this gives up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...program.program import LinearProgram, TwoSided
from .entrywise import EntrywiseNewton
from .newton import Newton, Point, StructuredOptions
from .predictor_corrector import Array, Iterate, Stopping, follow
from .pricing import best_columns
from .screening import central_columns

Places = NDArray[np.intp]


@dataclass(frozen=True)
class GrowingOptions:
    """Heuristics of the choice of outputs.

    Attributes
    ----------
    first : outputs at first
    joining : outputs that join at once, at least; as many as there are, where that is more
    priced_at : gap at which all outputs are priced first …
    falls : … and then each time that it has fallen to this share
    goes_back : … unless what was overlooked is so many times the gap: then back to where it is not
    near : an output within this many gaps of paying is no candidate for leaving
    leaves_until : gap below which none leaves; nor does any once the iteration went back
    dense : share of all outputs that may be carried
    dense_from : gap from which on it counts
    turns_back : how often the iteration may go back
    enough : complementarity and residuals that will do …
    patience : … where so many steps have not halved them
    iterations : steps at most
    """

    first: int = 64
    joining: int = 100
    priced_at: float = 0.03
    falls: float = 0.1
    goes_back: float = 10.0
    near: float = 20.0
    leaves_until: float = 1e-5
    dense: float = 0.5
    dense_from: float = 1e-2
    turns_back: int = 8
    enough: float = 5e-8
    patience: int = 10
    iterations: int = 300


GROWING = GrowingOptions()
# Outputs pay at the end if they would add more than this.
_PAYING = 1e-9
# Share of all mass that outputs may join with.
_ROOM = 0.25
# What rows may lack when the last step restores them, in units of the utility range.
_RESTORED = 1e-9


class Rows:
    """Objectives of outputs as rows, less the largest of each symbol and over the range of gains.

    They are made where they are asked for when gains are stated by output, else kept.
    """

    def __init__(self, program: LinearProgram) -> None:
        self.program, self.p = program, program.prior.probabilities
        self.width = program.gain_range or 1.0
        least, most = program.extremes
        self.shift: Array = self.p * most
        self.stakes: Array = self.p * (most - least) / self.width
        self.count = program.shape[1]
        self._kept: Array | None = None
        if not program.is_by_output:
            self._kept = self._scaled(program.gains)

    def _scaled(self, gains: Array) -> Array:
        found = np.ascontiguousarray((self.p[:, None] * gains - self.shift[:, None]).T)
        found /= self.width
        return found

    def on(self, outputs: Places) -> Array:
        """Rows of some outputs, ``(k, n)``."""
        if self._kept is not None:
            return self._kept[outputs]
        return self._scaled(self.program.columns(outputs))

    def values(self, prices: Array, sides: TwoSided) -> Array:
        """What each output pays at prices, ``(M,)``."""
        if self._kept is not None:
            return best_columns(self._kept - prices, self.p, sides)
        parts = [
            best_columns(self._scaled(gains) - prices, self.p, sides)
            for _, gains in self.program.blocks()
        ]
        return np.concatenate(parts)


def first_outputs(program: LinearProgram, count: int) -> Places:
    """So many outputs that are spread over all: far from each other where they have positions, else
    evenly in their order.
    """
    m = program.shape[1]
    if m <= count:
        return np.arange(m)
    at = program.positions
    if at is None:
        return np.unique(np.linspace(0, m - 1, count).round().astype(np.intp))
    scale = np.ptp(at, axis=0)
    at = (at - at.mean(axis=0)) / np.where(scale > 0, scale, 1.0).max()
    chosen = [int(np.argmin((at**2).sum(axis=1)))]
    distance = ((at - at[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count and distance.max() > 0:
        chosen.append(int(distance.argmax()))
        np.minimum(distance, ((at - at[chosen[-1]]) ** 2).sum(axis=1), out=distance)
    return np.sort(np.array(chosen, dtype=np.intp))


class Growing(Iterate):
    """An iteration on some outputs, which all others are priced for.

    Parameters
    ----------
    rows : objectives of all outputs
    sides : the cone of a column for pricing
    targets : ``(n,)`` of the products
    point : where to start, on the first outputs
    outputs : their positions
    """

    def __init__(
        self,
        rows: Rows,
        sides: TwoSided,
        targets: Array,
        point: Point,
        outputs: Places,
        options: StructuredOptions,
        growing: GrowingOptions = GROWING,
        newton: type[Newton] = EntrywiseNewton,
    ) -> None:
        self.rows, self.sides, self.options, self.growing = rows, sides, options, growing
        self.outputs, self.targets = outputs, targets
        self.newton = newton(rows.p, rows.on(outputs), targets, point, options)
        self.newton.stakes = rows.stakes
        self.iterations, self.pricings, self.turns = 0, 0, 0
        #: Whether so many outputs pay that all of them had better be carried.
        self.is_dense, self._gave_up = False, False
        self._saved: list[tuple[float, Point, Places]] = []

    def solve(self) -> bool:
        """Iterate until no output pays; whether it came so far."""
        limits, self._priced_at = self.growing, self.growing.priced_at
        stopping = Stopping(0.0, limits.iterations, progress=0.5, iterations=limits.iterations)
        self.iterations, converged = follow(self, stopping)
        return converged

    def error(self) -> float:
        """Complementarity and residuals after outputs have joined; zero where none pays at the
        end, infinite to give up.
        """
        if self._gave_up:
            return math.inf
        limits, newton = self.growing, self.newton
        gap = newton.gap()
        lack = newton.lack if newton.lack > _RESTORED else 0.0
        error = max(gap, newton.residual, lack)
        slow = self.stalled >= limits.patience
        ends = error <= self.options.tolerance or (slow and error <= limits.enough)
        if gap <= self._priced_at or ends:
            joined = self._grow(gap, ends)
            if joined is None:
                self._gave_up = True
                return math.inf
            if ends and not joined:
                return 0.0
            self._priced_at = min(self._priced_at, newton.gap()) * limits.falls
        return error

    def step(self) -> float:
        """One Newton step."""
        return 0.0 if self._gave_up else self.newton.iterate(self.newton.gap())

    def _grow(self, gap: float, ends: bool) -> int | None:
        """Take in what pays and leave out what does not; how many joined or are back.

        ``None`` to give up.
        """
        limits, newton = self.growing, self.newton
        values = self.rows.values(newton.point.prices, self.sides)
        self.pricings += 1
        if not np.isfinite(values).all():
            return None
        inside = np.zeros(self.rows.count, dtype=bool)
        inside[self.outputs] = True
        paying = np.flatnonzero((values > (_PAYING if ends else -gap)) & ~inside)
        carried = len(self.outputs) + len(paying)
        if gap <= limits.dense_from and carried > limits.dense * self.rows.count:
            self.is_dense = True
            return None
        if not (ends or self.turns) and gap > limits.leaves_until:
            self._leave(values, gap)
        if not len(paying):
            self._save(gap)
            return 0
        some = max(limits.joining, len(self.outputs))
        if len(paying) > some:
            paying = np.sort(paying[np.argsort(-values[paying], kind="stable")[:some]])
        top = float(values[paying].max())
        if top > limits.goes_back * gap and self._saved:
            if self.turns == limits.turns_back:
                return None
            paying = self._go_back(top, paying)
            if not len(paying):
                return 1  # they had left since
        else:
            self._save(gap)
        self._join(paying)
        return len(paying)

    def _save(self, gap: float) -> None:
        point = self.newton.point
        whole = np.ones(len(self.outputs), dtype=bool)
        self._saved.append((gap, point.on(whole), self.outputs))

    def _go_back(self, top: float, paying: Places) -> Places:
        """Return to where the gap was not far below what was overlooked; what is to join there."""
        self.turns += 1
        while len(self._saved) > 1 and self._saved[-1][0] * self.growing.goes_back < top:
            self._saved.pop()
        _, point, outputs = self._saved[-1]
        joining = np.setdiff1d(np.union1d(paying, self.outputs), outputs)
        self.outputs = outputs
        self.newton.restart(self.rows.on(outputs), point.on(np.ones(len(outputs), dtype=bool)))
        return joining

    def _join(self, joining: Places) -> None:
        """Take in outputs, at prices at which none of them pays."""
        newton = self.newton
        rows = self.rows.on(joining)
        values = best_columns(rows - newton.point.prices, self.rows.p, self.sides)
        rise = max(float(values.max()), 0.0)
        if rise > 0:
            raise_prices(newton.point, rise, self.rows.p, self.targets)
        share = newton.gap() / len(self.outputs)
        scales = newton.point.scales
        least = self.options.vanished * float(scales @ scales) / float(scales.sum())
        lacks = np.maximum(rise - values, share / least)
        masses = np.minimum(least, share / lacks)
        masses *= min(1.0, _ROOM * float(scales.sum()) / float(masses.sum()))
        cone, n = newton.point.cone, len(self.rows.p)
        products = share / (2 * n) * self.targets
        reduced = rows - newton.point.prices
        newton.add(rows, central_columns(reduced, self.rows.p, cone, masses, products))
        self.outputs = np.r_[self.outputs, joining]

    def _leave(self, values: Array, gap: float) -> None:
        """Leave out what has vanished and is far from paying."""
        scales = self.newton.point.scales
        least = self.options.vanished * float(scales @ scales) / float(scales.sum())
        kept = (scales > least) | (values[self.outputs] > -self.growing.near * gap)
        # Arrays are copied for no less than a tenth of them.
        if kept.sum() <= 0.9 * len(kept):
            self.newton.keep(kept)
            self.outputs = self.outputs[kept]


def raise_prices(point: Point, rise: float, p: Array, targets: Array) -> None:
    """Prices λ + rise·p, at which a column of mass one pays that much less, with multipliers that
    fit. All products together grow by ``rise`` times the mass of the columns.

    Linked columns take it in the multiplier of the link, whose balance asks for as much more of
    both multipliers; without a link both grow in the proportion that keeps the balance.
    """
    cone, z = point.cone, point.multipliers
    width = cone.upper - cone.lower
    point.prices = point.prices + rise * p
    if cone.linked:
        point.link = point.link - rise
        z += rise / width * (targets / targets.sum())
    else:
        z[0] += rise * cone.upper / width * p
        z[1] += rise * cone.lower / width * p


def columns_of_rows(newton: Newton) -> Array:
    """Columns ``(m, n)`` whose rows sum to one: what they lack is shared out by the room that each
    entry has to that side, of which there is plenty in every row.
    """
    missing, slacks = newton.row_residual(), newton.point.slacks
    room = np.where(missing > 0, slacks[1], slacks[0])
    found: Array = newton.point.columns + room * (missing / room.sum(axis=0))
    return found
