"""Columns of an estimation design as prices ask for them, where all of them are too many.

The master is solved to a share of the gap that is left, so that its prices lie well inside of what
the columns ask of them and move little from round to round. Columns are priced at the best bounding
prices so far, moved a little towards those of the master ([Wentges1997]): nearly all columns of an
optimum cost next to nothing there, and the move says which of them are still missing. Every round
gives a bound on the risk of any kernel, and the best one counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...certificate.columns.exact_columns import near_sides
from ...certificate.columns.families import LARGEST_RATIO
from ...certificate.quadratic.pricing import QuadraticPricing
from ...errors import SolverError, UntoldError
from ...program.program import EstimationProgram
from ...progress import approaching
from .cyclic_designs import cyclic_design
from .master import UNTOLD, Weighted, most_by_columns, optimal_masses

Vector = NDArray[np.float64]

# The gap that is sought, and the share of the gap at which a master ends.
_TOLERANCE, _LOOSE, _LOOSEST = 1e-8, 0.3, 0.1
# Columns for each symbol at first, and that a round may add.
_FIRST, _BEST, _ADDED = 8, 2, 10
# Columns for each symbol that a relaxed design asks for, and the share of the time that mixing them
# may take.
_CLOSEST, _BEGINNING = 60, 0.2
_SEED = 20260207
# The share of the time for a relaxation at first, and how near its columns are to the best.
_RELAXING, _CLOSE = 0.3, 1e-3
# How far prices move from the best bounding ones towards those of the master at first, how much
# further where few columns are found there, and how near these are to the best, for each unit.
_MOVED, _FURTHER, _BELOW = 0.05, 1.5, 3e-3
# Columns in use that searches start from, for each symbol.
_STARTS = 3
# Columns for each symbol above which the least priced are dropped, how many of them are kept, and
# how many more may be there the next time, so that none are dropped forever.
_MOST, _KEPT, _MORE = 80, 0.75, 1.1
# Columns for each symbol above which no more are drawn for a first mixture.
_MOST_TRIED = 200
_ROUNDS = 400
# The gap above which columns of subset selection are mixed in, how exactly their share is found,
# and the columns of a mixture of which fewer are found in reasonable time.
_WIDE, _SHARE, _MOST_MIXED = 1e-3, 1e-4, 4000
# Steps of a master, and seconds of one for each unit of its work, before any has been timed; the
# columns for each symbol that it has however little time is left, and the share of those in hand
# with which another round pays.
_STEPS, _RATE = 5, 5e-11
_FEWEST, _ENOUGH = 12, 0.7


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

    def even_masses(self, masses: Vector) -> Vector:
        """Masses that columns would have were all symbols equally likely.

        They say how much a column is used, also where it is that of a rare symbol.
        """
        return np.asarray(masses * (1 + self.deviations.mean(axis=1)))

    def __getitem__(self, places: NDArray[np.bool_]) -> Columns:
        return Columns(self.deviations[places], self.shares[places])


#: A risk, and the columns and masses that have it.
Mixture = tuple[float, Columns, Vector]


@dataclass(frozen=True, eq=False)
class Pricing:
    """What bounds the risk of any kernel: an inverse Y and prices λ."""

    inverse: Vector
    prices: Vector

    def towards(self, other: Pricing, share: float) -> Pricing:
        """What lies between, a share of the way."""
        return Pricing(
            (1 - share) * self.inverse + share * other.inverse,
            (1 - share) * self.prices + share * other.prices,
        )


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


class _Pace:
    """How long masters take: a step solves a system of a row for each column, or for each pair of
    symbols where that takes less.
    """

    def __init__(self, n: int) -> None:
        self.n, self.pairs, self.few = n, n * (n - 1) // 2, most_by_columns(n - 1)
        self.steps, self.rate = _STEPS, _RATE

    def _work(self, count: int) -> float:
        if count <= self.few:
            return count**3 / 3
        return float(self.pairs**2 * count + self.pairs**3 / 3)

    def took(self, count: int, steps: int, seconds: float) -> None:
        """Learn from a master of so many columns."""
        self.rate = seconds / (steps * self._work(count))
        self.steps = max(self.steps, steps)

    def most(self, seconds: float) -> int:
        """How many columns a master may have that is to take so long."""
        work = max(seconds, 0.0) / (self.steps * max(self.rate, 1e-300))
        by_columns = (3 * work) ** (1 / 3)
        if by_columns <= self.few:
            return int(by_columns)
        return int(min(max((work - self.pairs**3 / 3) / self.pairs**2, self.few), 1e9))


class _Search:
    """Columns that prices ask for, and the bound that they leave if no other is missing."""

    def __init__(self, program: EstimationProgram, deadline: float) -> None:
        self.program, self.survey = program, program.survey
        self.pricing = QuadraticPricing(program.cone, self.survey.truth)
        self.low, self.deadline = -math.inf, deadline
        self.bounding: Pricing | None = None
        self.moved = _MOVED
        self.rng = np.random.default_rng(_SEED)

    def __call__(self, pricing: Pricing, starts: Vector, below: float, count: int) -> Vector:
        """Columns that differ much, the best ones found first, ``(n, m)``.

        Those that are up to ``below`` worse than the best, so many at most, come after local
        optima.
        """
        loss, prices = self.survey.losses, pricing.prices
        square = _square(pricing.inverse, loss, self.survey.masses)
        found, values = self.pricing.search(square, prices, starts, deadline=self.deadline)
        largest = float(values[0] + prices.sum()) if len(values) else 0.0
        low = 2 * float(np.vdot(loss, pricing.inverse)) - largest
        if low > self.low or self.bounding is None:
            self.low, self.bounding = low, pricing
        if not len(values):
            return found
        least = float(values[0]) - below
        near = self.pricing.spread(square, prices, count, least, self.deadline)
        return np.hstack([found, near])

    def missing(self, master: Weighted, starts: Vector, count: int, least: float) -> Vector:
        """Columns that the prices of a master value at more than ``least``, the best ones first.

        Where they are few, prices move further from the best bounding ones the next time.
        """
        own = Pricing(master.inverse, master.prices)
        while True:
            share = 1.0 if self.bounding is None else self.moved
            pricing = own if self.bounding is None else self.bounding.towards(own, share)
            found = self(pricing, starts, _BELOW * share * master.upper, 2 * count)
            good = found[:, self.values(own, found) > least]
            if good.shape[1] < count:
                self.moved = min(1.0, _FURTHER * self.moved)
            if good.shape[1] or share == 1 or clock.now() > self.deadline:
                return good

    def values(self, pricing: Pricing, columns: Vector) -> Vector:
        """Reduced values of columns, measured from that of the constant column."""
        square = _square(pricing.inverse, self.survey.losses, self.survey.masses)
        values = self.pricing.values(square, pricing.prices, columns)
        return np.asarray(values + float(pricing.prices.sum()))

    def first(self, pace: _Pace) -> Vector:
        """Columns to begin with: those that a relaxation of the design asks for, and others; as
        many as a master can mix in time.
        """
        n, now = len(self.survey), clock.now()
        columns = self.pricing.first(_FIRST * n)
        relaxed = self.pricing.relaxed(self.survey.losses, now + _RELAXING * (self.deadline - now))
        if relaxed is None or not np.isfinite(relaxed.inverse).all():
            return columns
        pricing = Pricing(relaxed.inverse, relaxed.prices)
        count = pace.most(_BEGINNING * (self.deadline - clock.now())) - columns.shape[1]
        count = min(max(count, (_FEWEST - _FIRST) * n), _CLOSEST * n)
        found = self(pricing, columns, _CLOSE * relaxed.value, count)
        return _joined(columns, self.some(found, _BEST * n, count))

    def some(self, columns: Vector, best: int, count: int) -> Vector:
        """The first of some columns, and others among them, that differ from these more."""
        m = columns.shape[1]
        if m <= count:
            return columns
        rest = best + self.rng.permutation(m - best)[: count - best]
        return np.hstack([columns[:, :best], columns[:, rest]])


def generate(program: EstimationProgram, deadline: float) -> Generated:
    """The best mixture of columns found until the gap is closed or at the deadline."""
    survey, n = program.survey, len(program.prior)
    prior, truth, loss = program.prior.probabilities, survey.masses, survey.losses
    search, pace = _Search(program, deadline), _Pace(n)
    lifts = search.first(pace)
    if lifts.shape[1] == 0:
        raise UntoldError(UNTOLD)
    gap, loose, rounds, most = math.inf, _LOOSE, 0, float(_MOST * n)
    best: Mixture | None = None
    while True:
        rounds += 1
        columns = Columns.of(lifts, truth)
        tolerance = min(_LOOSEST, max(loose * gap, 0.1 * _TOLERANCE))
        began = clock.now()
        try:
            found = optimal_masses(
                columns.deviations, columns.shares, prior, truth, loss, tolerance, deadline
            )
        except SolverError:
            if best is None and lifts.shape[1] < _MOST_TRIED * n:
                # What was drawn may have no mixture that is a kernel.
                wider = _joined(lifts, search.pricing.first(2 * lifts.shape[1]))
                if wider.shape[1] > lifts.shape[1]:
                    lifts = wider
                    continue
            if best is None or search.bounding is None:
                raise
            break  # what was found before stands
        if best is None or found.upper < best[0]:
            best = found.upper, columns, found.masses
        pace.took(len(found.masses), found.steps, clock.now() - began)
        order = np.argsort(-found.masses, kind="stable")
        least = found.level * (1 + 0.1 * _TOLERANCE)
        new = search.missing(found, lifts[:, order[: _STARTS * n]], _ADDED * n, least)
        gap = (best[0] - search.low) / best[0]
        approaching(gap, _TOLERANCE)
        if gap <= _TOLERANCE or rounds == _ROUNDS or clock.now() > deadline:
            break
        if not new.shape[1]:
            if tolerance <= _TOLERANCE:
                break
            loose *= 0.1
        fitting, more = pace.most(deadline - clock.now()), _ADDED * n
        if fitting < _ENOUGH * lifts.shape[1]:
            break  # there is no time for another round
        kept = int(_KEPT * most) if lifts.shape[1] > most else lifts.shape[1]
        if kept < lifts.shape[1]:
            most *= _MORE
        kept = min(kept, max(fitting - more, 0))
        if kept < lifts.shape[1]:
            own = Pricing(found.inverse, found.prices)
            best_first = np.argsort(-search.values(own, lifts), kind="stable")
            lifts = lifts[:, np.sort(best_first[:kept])]
        lifts = _joined(lifts, search.some(new, _BEST * n, more))
    assert search.bounding is not None
    if gap > _WIDE:
        best = min(best, _with_cyclic(program, best), key=lambda each: each[0])
    return Generated(best[1], best[2], best[0], search.bounding, rounds)


def _with_cyclic(program: EstimationProgram, found: Mixture) -> Mixture:
    """The best of a mixture, the subset selection of equal masses, which is a kernel for every
    prior where ratios alone are bounded, and, where columns are not too many, all between the two.
    """
    from scipy.optimize import minimize_scalar

    sides, n = near_sides(program.cone), len(program.prior)
    if sides is None or sides.shape != "ratio" or sides.ratio > LARGEST_RATIO:
        return found
    sizes = np.arange(1, n)
    spread = sizes * (n - sizes) / (sizes * (sides.ratio - 1) + n) ** 2
    high = np.arange(n) <= int(spread.argmax())
    design = cyclic_design(np.where(high, sides.ratio, 1.0))
    if design is None:
        return found
    rows, masses = design
    shares = rows @ program.prior.probabilities
    # Every symbol has the same sum of its entries.
    other, truth = rows / shares[:, None], program.survey.masses
    masses = masses * shares / (masses @ rows[:, 0])
    added = Columns.of(other.T, truth)
    both = [_told(one, m) for one, m in (found[1:], (added, masses))]

    def risk(share: float) -> float:
        information = (1 - share) * both[0] + share * both[1]
        try:
            return float(np.trace(np.linalg.solve(information, program.survey.losses)))
        except np.linalg.LinAlgError:
            return math.inf

    if len(masses) + len(found[2]) > _MOST_MIXED:
        return (risk(1.0), added, masses) if risk(1.0) < found[0] else found
    # The risk is convex in the share.
    share = minimize_scalar(risk, bounds=(0, 1), method="bounded", options={"xatol": _SHARE}).x
    columns = Columns(
        np.vstack([found[1].deviations, added.deviations]),
        np.append(found[1].shares, added.shares),
    )
    return risk(share), columns, np.append((1 - share) * found[2], share * masses)


def _told(columns: Columns, masses: Vector) -> Vector:
    """J of a mixture."""
    lifts = 1 + columns.deviations
    return np.asarray((lifts.T * (masses / columns.shares)) @ lifts)


def _square(inverse: Vector, loss: Vector, truth: Vector) -> Vector:
    """G with rᵀGr/(πᵀr) = uᵀ(Y A Yᵀ)u/s, in floats."""
    centre = np.eye(len(truth)) - truth  # u = (I − 1πᵀ)d
    return np.asarray(centre.T @ inverse @ loss @ inverse.T @ centre)


def _joined(lifts: Vector, new: Vector) -> Vector:
    """Columns without those that are there already."""
    both = np.hstack([lifts, new])
    away = both - 1
    scaled = np.round(away / max(float(np.abs(away).max()), 1e-300), 9)
    _, places = np.unique(scaled, axis=1, return_index=True)
    return both[:, np.sort(places)]
