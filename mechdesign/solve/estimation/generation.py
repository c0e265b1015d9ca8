"""Columns of an estimation design as prices ask for them, where all of them are too many.

The master is solved to a share of the gap that is left, so that its prices lie well inside of what
the columns ask of them and move little from round to round ([Gondzio2013]). Pricing finds columns
that are worth more than those prices; every round gives a bound on the risk of any kernel, and the
best one counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from .. import clock
from ..program import EstimationProgram
from .master import UNTOLD, Weighted, optimal_masses
from .pricing import QuadraticPricing

Vector = NDArray[np.float64]

# The gap that is sought, and the share of the gap at which a master ends.
_TOLERANCE, _LOOSE, _LOOSEST = 1e-8, 0.1, 0.1
# Columns for each symbol at first, and that a round may add.
_FIRST, _ADDED = 6, 10
# Columns in use that searches start from, for each symbol; neighbours are taken of some.
_STARTS, _CENTRES = 3, 8
# Columns for each pair of symbols above which those of little use are dropped.
_MOST = 4
_ROUNDS = 400


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns r = 1 + d of mass one under the prior.

    Attributes
    ----------
    deviations : ``(m, n)``, d
    shares : ``(m,)``, πᵀr, to full relative accuracy where d is nearly minus one
    """

    deviations: Vector
    shares: Vector

    @classmethod
    def of(cls, lifts: Vector, truth: Vector) -> Columns:
        """From r, ``(n, m)``."""
        return cls((lifts - 1).T, lifts.T @ truth)

    def __getitem__(self, places: NDArray[np.bool_]) -> Columns:
        return Columns(self.deviations[places], self.shares[places])


@dataclass(frozen=True, eq=False)
class Generated:
    """A mixture of columns, and the prices of the best bound.

    Attributes
    ----------
    columns, masses : of the mixture
    risk : of the mixture
    bounding : the master whose prices and inverse bound the risk of any kernel best
    rounds : how often prices were found
    """

    columns: Columns
    masses: Vector
    risk: float
    bounding: Weighted
    rounds: int


def generate(program: EstimationProgram, deadline: float) -> Generated:
    """The best mixture of columns found until the gap is closed or at the deadline."""
    survey, n = program.survey, len(program.prior)
    prior, truth, loss = program.prior.probabilities, survey.masses, survey.losses
    pricing = QuadraticPricing(program.cone, survey.truth)
    lifts = pricing.first(_FIRST * n)
    if lifts.shape[1] == 0:
        raise SolverError(UNTOLD)
    gap, low, bounding = math.inf, -math.inf, None
    for rounds in range(1, _ROUNDS + 1):
        columns = Columns.of(lifts, truth)
        tolerance = min(_LOOSEST, max(_LOOSE * gap, 0.1 * _TOLERANCE))
        found = optimal_masses(columns.deviations, columns.shares, prior, truth, loss, tolerance)
        square = _square(found.inverse, loss, truth)
        offset = float(found.prices.sum())
        order = np.argsort(-found.masses, kind="stable")
        new, values = pricing.search(square, found.prices, lifts[:, order[: _STARTS * n]])
        new, values = _with_neighbours(program, pricing, square, found.prices, new, values)
        values = values + offset
        best = 2 * float(np.vdot(loss, found.inverse)) - max(float(values[0]), found.level)
        if best > low or bounding is None:
            low, bounding = best, found
        gap = (found.upper - low) / found.upper
        good = values > found.level * (1 + 0.1 * _TOLERANCE)
        if gap <= _TOLERANCE or clock.now() > deadline:
            break
        if not good.any() and tolerance <= _TOLERANCE:
            break
        if lifts.shape[1] > _MOST * n * n:
            reduced = pricing.values(square, found.prices, lifts) + offset
            lifts = lifts[:, (reduced > 0.5 * found.level) | (found.masses > 1e-6)]
        lifts = _joined(lifts, new[:, good][:, : _ADDED * n])
    assert bounding is not None
    return Generated(columns, found.masses, found.upper, bounding, rounds)


def _square(inverse: Vector, loss: Vector, truth: Vector) -> Vector:
    """G with rᵀGr/(πᵀr) = uᵀ(Y A Yᵀ)u/s, in floats."""
    centre = np.eye(len(truth)) - truth  # u = (I − 1πᵀ)d
    return np.asarray(centre.T @ inverse @ loss @ inverse.T @ centre)


def _with_neighbours(
    program: EstimationProgram,
    pricing: QuadraticPricing,
    square: Vector,
    prices: Vector,
    columns: Vector,
    values: Vector,
) -> tuple[Vector, Vector]:
    """Columns of two values and what is reached from the best of them by moving one symbol up or
    down, or two of them in turn, best first. Local search ends at few columns, the master wants
    many.
    """
    sides = program.sides
    if sides is None or sides.shape != "ratio" or len(values) == 0:
        return columns, values
    centres = columns[:, :_CENTRES]
    n = len(centres)
    upper = centres > (centres.min(axis=0) + centres.max(axis=0)) / 2
    parts = []
    for t in upper.T:
        parts.append(t[:, None] ^ np.eye(n, dtype=bool))
        up, down = np.flatnonzero(t), np.flatnonzero(~t)
        moved = np.repeat(t[:, None], len(up) * len(down), axis=1)
        places = np.arange(moved.shape[1])
        moved[np.repeat(up, len(down)), places] = False
        moved[np.tile(down, len(up)), places] = True
        parts.append(moved)
    every = np.unique(np.hstack(parts), axis=1)
    every = every[:, every.any(axis=0) & ~every.all(axis=0)]
    lifts = 1 + (sides.ratio - 1) * every
    lifts /= program.prior.probabilities @ lifts
    joint = np.hstack([columns, lifts])
    worth = np.concatenate([values, pricing.values(square, prices, lifts)])
    order = np.argsort(-worth, kind="stable")
    return joint[:, order], worth[order]


def _joined(lifts: Vector, new: Vector) -> Vector:
    """Columns without those that are there already."""
    both = np.hstack([lifts, new])
    away = both - 1
    scaled = np.round(away / max(float(np.abs(away).max()), 1e-300), 9)
    _, places = np.unique(scaled, axis=1, return_index=True)
    return both[:, np.sort(places)]
