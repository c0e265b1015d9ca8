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

from ...errors import UntoldError
from .. import clock
from ..program import EstimationProgram
from .master import UNTOLD, optimal_masses
from .pricing import QuadraticPricing

Vector = NDArray[np.float64]

# The gap that is sought, and the share of the gap at which a master ends.
_TOLERANCE, _LOOSE, _LOOSEST = 1e-8, 0.3, 0.1
# Columns for each symbol at first, and that a round may add.
_FIRST, _BEST, _ADDED = 8, 2, 10
# Starts of the first search for each symbol, how many of them are kept, and of what they lead to.
_TRIED, _FEW, _CLOSEST = 60, 2, 30
_SEED = 20260207
# The share of the time for a relaxation at first, and how near its columns are to the best.
_RELAXING, _CLOSE = 0.3, 0.01
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
class Pricing:
    """What bounds the risk of any kernel: an inverse Y and prices λ."""

    inverse: Vector
    prices: Vector


@dataclass(frozen=True, eq=False)
class Generated:
    """A mixture of columns, and what gives the best bound.

    Attributes
    ----------
    columns, masses : of the mixture
    risk : of the mixture
    bounding : what bounds the risk of any kernel best, as far as searches see
    rounds : how often prices were found
    """

    columns: Columns
    masses: Vector
    risk: float
    bounding: Pricing
    rounds: int


class _Search:
    """Columns that prices ask for, and the bound that they leave if no other is missing."""

    def __init__(self, program: EstimationProgram) -> None:
        self.program, self.survey = program, program.survey
        self.pricing = QuadraticPricing(program.cone, self.survey.truth)
        self.low = -math.inf
        self.bounding: Pricing | None = None
        sides = program.sides
        # Of columns under LDP, that have two values.
        self.ratio = sides.ratio if sides is not None and sides.shape == "ratio" else None
        self.rng = np.random.default_rng(_SEED)

    def __call__(self, pricing: Pricing, starts: Vector) -> tuple[Vector, Vector]:
        """Columns and what they are worth beside the constant one, best first."""
        loss, prices = self.survey.losses, pricing.prices
        square = _square(pricing.inverse, loss, self.survey.masses)
        found, values = self.pricing.search(square, prices, starts)
        values = values + float(prices.sum())
        if self.ratio is not None and len(values):
            found, values = self._with_neighbours(pricing, found, values)
        low = 2 * float(np.vdot(loss, pricing.inverse)) - float(values[0])
        if low > self.low or self.bounding is None:
            self.low, self.bounding = low, pricing
        return found, values

    def values(self, pricing: Pricing, columns: Vector) -> Vector:
        """What columns are worth beside the constant one."""
        square = _square(pricing.inverse, self.survey.losses, self.survey.masses)
        worth = self.pricing.values(square, pricing.prices, columns)
        return np.asarray(worth + float(pricing.prices.sum()))

    def first(self, deadline: float) -> Vector:
        """Columns to begin with: those that a relaxation of the design asks for, and others."""
        n = len(self.survey)
        columns = self.pricing.first(_FIRST * n)
        relaxed = self.pricing.relaxed(self.survey.losses, deadline)
        if relaxed is None or not np.isfinite(relaxed.inverse).all():
            return columns
        pricing = Pricing(relaxed.inverse, relaxed.prices)
        found, values = self(pricing, columns)
        largest = float(values[0])
        if self.ratio is not None:
            # Searches end at alike sets of symbols; most others of their sizes are nearly as good.
            sizes = _upper(found[:, values > largest - _CLOSE * abs(largest)]).sum(axis=0)
            found = np.hstack([found, self._subsets(sizes, _TRIED * n)])
            values = self.values(pricing, found)
        # The very best have much in common, which no mixture may; all that are near serve as well.
        near = np.flatnonzero(values > largest - _CLOSE * abs(largest))
        return _joined(columns[:, ::_FEW], found[:, self.rng.permutation(near)[: _CLOSEST * n]])

    def some(self, columns: Vector, best: int, count: int) -> Vector:
        """The first of some columns, and others among them, that differ from these more."""
        m = columns.shape[1]
        if m <= count:
            return columns
        rest = best + self.rng.permutation(m - best)[: count - best]
        return np.hstack([columns[:, :best], columns[:, rest]])

    def _subsets(self, sizes: NDArray[np.intp], count: int) -> Vector:
        """Columns with the upper value at random symbols, as many as in some columns or one more
        or less.
        """
        n = len(self.survey)
        wanted = self.rng.choice(sizes, count) + self.rng.integers(-1, 2, count)
        ranks = self.rng.random((n, count)).argsort(axis=0)
        return self._two_valued(ranks < np.clip(wanted, 1, n - 1))

    def _two_valued(self, upper: NDArray[np.bool_]) -> Vector:
        assert self.ratio is not None
        lifts = 1 + (self.ratio - 1) * upper
        return np.asarray(lifts / (self.program.prior.probabilities @ lifts))

    def _with_neighbours(
        self, pricing: Pricing, columns: Vector, values: Vector
    ) -> tuple[Vector, Vector]:
        """Columns of two values and what is reached from the best of them by moving one symbol up
        or down, or two of them in turn, best first. Local search ends at few columns, the master
        wants many.
        """
        centres = columns[:, :_CENTRES]
        n = len(centres)
        parts = []
        for t in _upper(centres).T:
            parts.append(t[:, None] ^ np.eye(n, dtype=bool))
            up, down = np.flatnonzero(t), np.flatnonzero(~t)
            moved = np.repeat(t[:, None], len(up) * len(down), axis=1)
            places = np.arange(moved.shape[1])
            moved[np.repeat(up, len(down)), places] = False
            moved[np.tile(down, len(up)), places] = True
            parts.append(moved)
        every = np.unique(np.hstack(parts), axis=1)
        lifts = self._two_valued(every[:, every.any(axis=0) & ~every.all(axis=0)])
        joint = np.hstack([columns, lifts])
        worth = np.concatenate([values, self.values(pricing, lifts)])
        order = np.argsort(-worth, kind="stable")
        return joint[:, order], worth[order]


def generate(program: EstimationProgram, deadline: float) -> Generated:
    """The best mixture of columns found until the gap is closed or at the deadline."""
    survey, n = program.survey, len(program.prior)
    prior, truth, loss = program.prior.probabilities, survey.masses, survey.losses
    search = _Search(program)
    now = clock.now()
    lifts = search.first(now + _RELAXING * (deadline - now))
    if lifts.shape[1] == 0:
        raise UntoldError(UNTOLD)
    gap, loose, rounds = math.inf, _LOOSE, 0
    best: tuple[float, Columns, Vector] | None = None
    while True:
        rounds += 1
        columns = Columns.of(lifts, truth)
        tolerance = min(_LOOSEST, max(loose * gap, 0.1 * _TOLERANCE))
        found = optimal_masses(columns.deviations, columns.shares, prior, truth, loss, tolerance)
        if best is None or found.upper < best[0]:
            best = found.upper, columns, found.masses
        order = np.argsort(-found.masses, kind="stable")
        pricing = Pricing(found.inverse, found.prices)
        new, values = search(pricing, lifts[:, order[: _STARTS * n]])
        gap = (best[0] - search.low) / best[0]
        good = values > found.level * (1 + 0.1 * _TOLERANCE)
        if gap <= _TOLERANCE or rounds == _ROUNDS or clock.now() > deadline:
            break
        if not good.any():
            if tolerance <= _TOLERANCE:
                break
            loose *= 0.1
        if lifts.shape[1] > _MOST * n * n:
            useful = search.values(pricing, lifts) > 0.5 * found.level
            lifts = lifts[:, useful | (found.masses > 1e-6)]
        lifts = _joined(lifts, search.some(new[:, good], _BEST * n, _ADDED * n))
    assert search.bounding is not None
    return Generated(best[1], best[2], best[0], search.bounding, rounds)


def _square(inverse: Vector, loss: Vector, truth: Vector) -> Vector:
    """G with rᵀGr/(πᵀr) = uᵀ(Y A Yᵀ)u/s, in floats."""
    centre = np.eye(len(truth)) - truth  # u = (I − 1πᵀ)d
    return np.asarray(centre.T @ inverse @ loss @ inverse.T @ centre)


def _upper(columns: Vector) -> NDArray[np.bool_]:
    """Symbols at the upper of two values."""
    return np.asarray(columns > (columns.min(axis=0) + columns.max(axis=0)) / 2)


def _joined(lifts: Vector, new: Vector) -> Vector:
    """Columns without those that are there already."""
    both = np.hstack([lifts, new])
    away = both - 1
    scaled = np.round(away / max(float(np.abs(away).max()), 1e-300), 9)
    _, places = np.unique(scaled, axis=1, return_index=True)
    return both[:, np.sort(places)]
