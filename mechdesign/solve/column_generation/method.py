"""Column generation for separable sub-convex utilities over two-sided cones.

The duals of the restricted program (:mod:`.master`) price deviations; pricing (:mod:`.pricing`)
finds columns of positive reduced value, or proves that there are none ([GilmoreGomory1961]). Any
prices λ give the bound max_c F_c − ⟨λ, d_c⟩ ([Farley1990]).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...certificate.columns.branch_and_bound import WorkLimit, universal_bound
from ...certificate.columns.families import (
    Columns,
    Family,
    StaircaseFamily,
    beyond_floats,
    family_of,
)
from ...certificate.columns.pricing import Pricer
from ...errors import SolverError
from ...program.duals import Candidate, Duals
from ...program.program import SEARCHING, SublinearProgram
from ...progress import approaching
from ..method import INFORMATION, Method
from .master import Master, Mixture, basic_mixture, exact_shares, merged, mixed_kernel

Vector = NDArray[np.float64]

# Gap that a search must reach, and the one it tries for while that is cheap.
_TOLERANCE, _FINE = 8e-7, 2e-10
# Rounds with next to no progress after which branch and bound goes on without end.
_PATIENCE = 6
# Symbols up to which a search that does not end by quick means is left to the listing of all
# extreme columns, and the rounds it may take.
_FEW, _FEW_ROUNDS = 10, 60
# Different masses above which fitted columns come before a search, and above which windows do.
_MANY_MASSES, _MOST_SEARCHED = 100, 300


@dataclass(frozen=True, eq=False)
class Generated:
    """Columns with shares, and the prices that bound the value of any mixture.

    Attributes
    ----------
    deviations : ``(C, n)`` of the columns
    shares : ``(C,)`` output masses
    prices : ``(G,)`` per deviation of one symbol of each group
    value : of the mixture
    upper : what was proved with the prices while searching
    rounds, columns : how often prices were found, and over how many columns at last
    """

    deviations: Vector
    shares: Vector
    prices: Vector
    value: float
    upper: float
    rounds: int
    columns: int


class Restricted:
    """The restricted program over columns of one family; the constant column is the first."""

    def __init__(self, family: Family, first: Columns, unit: float) -> None:
        self.family = family
        self.batches: list[Columns] = []
        self.master = Master(family.reach, unit)
        self.master.add(np.zeros(1), np.zeros((1, len(family.groups))))
        self.add(first)

    def add(self, columns: Columns) -> None:
        """More columns."""
        self.master.add(self.family.values(columns), self.family.averages(columns))
        self.batches.append(columns)

    @property
    def columns(self) -> Columns:
        """All but the constant column, in the order of their shares from the second on."""
        return Columns.join(self.batches)

    def unfolded(self, mixture: Mixture) -> tuple[Vector, Vector]:
        """Columns over single symbols, at most as many as there are symbols, with exact shares."""
        columns, n = self.columns, len(self.family.groups.symbols)
        parts = [
            (mixture.shares[i] * share, deviations)
            for i in mixture.used
            for share, deviations in (
                self.family.patterns(columns, i - 1) if i > 0 else [(1.0, np.zeros(n))]
            )
        ]
        shares, table = (np.array(part) for part in zip(*parts, strict=True))
        table, shares = merged(table, shares)
        if len(table) > n:
            groups = self.family.groups
            values = self.family.curve(table) @ groups.spread(groups.masses)
            basic = basic_mixture(values, table, groups.spread(self.family.reach))
            table, shares = table[basic.used], basic.shares[basic.used]
        return table, exact_shares(table, shares)


@dataclass(frozen=True, eq=False)
class Searched:
    """Where a search ended.

    Attributes
    ----------
    restricted, mixture : columns that were generated, and their best mixture
    prices, upper : prices per deviation of one symbol of each group, ``(G,)``, and what they prove
    rounds : how often prices were found
    """

    restricted: Restricted
    mixture: Mixture
    prices: Vector
    upper: float
    rounds: int


@contextmanager
def within_floats() -> Iterator[None]:
    """A search whose values of columns may be beyond floats, which is a :class:`SolverError`."""
    try:
        with np.errstate(over="raise"):
            yield
    except FloatingPointError as beyond:
        raise SolverError(
            "column generation: values of columns at these levels and masses are beyond floats"
        ) from beyond


def generate(pricer: Pricer, deadline: float) -> Generated:
    """The best mixture of columns, to a gap of 8e-7 of its value or until the deadline.

    The last digits, to 2e-10, are sought for as long as they come easily.
    """
    groups, n = pricer.family.groups, len(pricer.family.groups.symbols)
    upper = universal_bound(pricer.family)
    if upper <= 0:
        prices = np.zeros(len(groups))
        return Generated(np.zeros((1, n)), np.ones(1), prices, 0.0, 0.0, 0, 1)
    first = pricer.first()
    if n <= _FEW and isinstance(pricer.family, StaircaseFamily):
        counts = np.indices([int(size) + 1 for size in groups.sizes]).reshape(len(groups), -1).T
        first = Columns.whole(counts[1:-1].astype(float))  # every set of symbols
    found = search(pricer, first, upper, deadline)
    deviations, shares = found.restricted.unfolded(found.mixture)
    columns = len(found.restricted.master)
    value = found.mixture.value
    return Generated(deviations, shares, found.prices, value, found.upper, found.rounds, columns)


def search(pricer: Pricer, first: Columns, upper: float, deadline: float) -> Searched:
    """Columns as prices ask for them, from the first and the positive bound ``upper`` on."""
    family = pricer.family
    groups, n = family.groups, len(family.groups.symbols)
    best = np.zeros(len(groups))
    # At high levels the bound is far above any value, which would vanish in units of it.
    most = float(family.values(first).max(initial=0.0))
    restricted = Restricted(family, first, min(upper, most) if most > 0 else upper)
    wanted = max(64, 2 * len(groups))
    started, reached, values, failures = clock.now(), False, [], 0
    while True:
        mixture = restricted.master.solve()
        value, prices = mixture.value, mixture.prices / groups.sizes
        values.append(value)
        approaching(upper - value, _TOLERANCE * value)
        if upper - value <= _FINE * value or clock.now() > deadline:
            break
        if not reached and upper - value <= _TOLERANCE * value:
            reached, deadline = True, _later(started, deadline)
        found = pricer.improve(prices, value + _FINE * value, wanted, WorkLimit(deadline=deadline))
        if found.upper < upper:
            upper, best = found.upper, prices
        if found.columns is not None:
            restricted.add(found.columns)
        stuck = _is_stuck(values, upper)
        if (found.columns is None and (found.complete or reached)) or (reached and stuck):
            break
        if n <= _FEW and (stuck or found.columns is None or len(values) >= _FEW_ROUNDS):
            break  # at extreme masses rounding hides the last columns from any search
        if found.columns is not None and not stuck:
            continue
        moment = WorkLimit(deadline=deadline).moment(min(0.05 * 2**failures, 0.5))
        level = value + 0.9 * _TOLERANCE * value
        more = pricer.branch(prices, level, wanted, WorkLimit(deadline=moment))
        if more.upper < upper:
            upper, best = more.upper, prices
        if more.columns is not None:
            restricted.add(more.columns)
        elif more.complete:
            break
        elif found.columns is None:
            failures += 1
    return Searched(restricted, mixture, best, upper, len(values))


def _is_stuck(values: list[float], upper: float) -> bool:
    """Whether the last rounds brought next to nothing of what is missing."""
    if len(values) < _PATIENCE:
        return False
    return values[-1] - values[-_PATIENCE] < 0.02 * (upper - values[-1])


def _later(started: float, deadline: float) -> float:
    """As long again for the last digits, but little."""
    now = clock.now()
    return min(deadline, now + max(1.0, 0.3 * (now - started)))


class ColumnGeneration(Method):
    """Separable sub-convex utilities, columns in one two-sided cone."""

    name = "column-generation"
    features = INFORMATION
    reason = (
        "extreme columns are generated as prices ask for them, and an exact search proves that "
        "none is missing"
    )
    source = "Kairouz2016 for the extreme columns of LDP"

    def condition(self, program: SublinearProgram) -> str | None:
        """Applies to f-informations under one lift box or one ratio."""
        family = family_of(program)
        return family if isinstance(family, str) else None

    def lateness(self, program: SublinearProgram) -> int:
        """Behind columns that are fitted where masses are many, behind windows where a search
        would hardly begin.
        """
        masses = len(set(program.prior.weights))
        return int(masses > _MANY_MASSES) + int(masses > _MOST_SEARCHED)

    def solve(self, program: SublinearProgram) -> Candidate:
        """Generate columns until the bound meets the value."""
        family = family_of(program)
        assert not isinstance(family, str)
        if not np.isfinite(family.size):
            raise SolverError(beyond_floats(program))
        deadline = clock.now() + SEARCHING * program.time_limit
        with within_floats():
            found = generate(Pricer(family), deadline)
        kernel = mixed_kernel(found.deviations, found.shares)
        prices = family.groups.spread(found.prices)
        details = {"rounds": str(found.rounds), "columns": str(found.columns)}
        return Candidate(kernel, Duals(prices), "column generation on HiGHS", details)
