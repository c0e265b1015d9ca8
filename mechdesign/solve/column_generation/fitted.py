"""Columns that are fitted to the masses of many symbols, and shares that balance them.

The value of a column depends on the mass of its symbols at their upper lift bound, and many small
symbols can be chosen so that this mass is right to nine digits. Sets are filled with the symbols
that lag behind, so that all are at their upper bound about as often as they must be; a few steps of
Newton's method find the shares that make it so.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...certificate.columns.branch_and_bound import universal_bound
from ...certificate.columns.families import (
    Columns,
    Family,
    Groups,
    LiftFamily,
    StaircaseFamily,
    beyond_floats,
    bounded_family_of,
    family_of,
)
from ...certificate.columns.pricing import Heuristics
from ...errors import SolverError
from ...program.duals import Candidate, Duals
from ...program.program import SEARCHING, SublinearProgram
from ..estimation.basic_solution import basic_solution
from ..method import INFORMATION, Method
from .balance import balanced_shares
from .continuum import Pattern, Patterns, best_patterns, fraction, large_groups
from .master import mixed_kernel
from .method import within_floats

Vector = NDArray[np.float64]
Places = NDArray[np.intp]

#: Symbols up to which shares are balanced: a matrix of twice as many columns is factorised.
MOST_SYMBOLS = 3000
# Columns for each symbol, and how many more where no shares balance them.
_PER_SYMBOL = (1.3, 0.7, 1.0, 3.0)
# A symbol of more than this share of what columns have at their upper bound is not small.
_SMALL = 0.9
# Symbols that a set is completed from; one of more than this share of its mass stays in it.
_CHOICE, _HEAVY, _FEW = 26, 0.3, 2
# Share of the value that a column may lose by missing the mass, and sets tried for one that does
# not lose more.
_LOSS, _TRIES = 3e-8, 12
_SEED = 7
# Share of the time for the patterns of large symbols.
_FOR_PATTERNS = 0.5


class FittedColumns(Method):
    """f-informations under one lift box or one ratio, many symbols of different mass."""

    name = "fitted-columns"
    features = INFORMATION
    reason = (
        "many symbols of different mass: columns fitted to the mass that the best columns have at "
        "their upper lift bound come within rounding of what a continuum would have"
    )

    def condition(self, program: SublinearProgram) -> str | None:
        """Applies to f-informations under one lift box with an upper side, or one ratio."""
        family = bounded_family_of(program)
        if isinstance(family, str):
            return family
        if len(program.prior) > MOST_SYMBOLS:
            return f"shares are balanced for at most {MOST_SYMBOLS} symbols"
        share = fraction(family)
        if not 0 < share < 1:
            return "at this level constant kernels alone are left"
        small = np.setdiff1d(np.arange(len(family.groups)), large_groups(family))
        if family.groups.sizes[small].sum() < _CHOICE:
            return f"fewer than {_CHOICE} symbols are small: they are no continuum"
        if family.groups.masses[small].max() > _SMALL * min(share, 1 - share):
            return "too few symbols are small beside what columns have at their upper lift bound"
        return None

    def solve(self, program: SublinearProgram) -> Candidate:
        """Patterns of the large symbols, columns fitted to each, balanced shares."""
        family = family_of(program)
        assert not isinstance(family, str)
        if not np.isfinite(family.size):
            raise SolverError(beyond_floats(program))
        with within_floats():
            return self._fitted(family, program.time_limit)

    def _fitted(self, family: Family, limit: float) -> Candidate:
        if universal_bound(family) <= 0:
            raise SolverError("no column tells anything to working precision")
        now = clock.now()
        deadline = now + SEARCHING * limit
        large = large_groups(family)
        found = best_patterns(family, large, now + _FOR_PATTERNS * (deadline - now))
        single = _single(family)
        fitting = _Fitting(family, single, found)
        table, balanced = fitting.mixture(found, deadline)
        # As many columns as symbols suffice; one mean follows from the others.
        others = np.delete(table, int(np.argmax(single.groups.masses)), axis=1)
        basic = basic_solution(np.column_stack([np.ones(len(table)), others]).T, balanced)
        shares = balanced if basic is None else basic
        kept = shares > 0
        details = {"columns": str(len(table)), "patterns": str(len(found.patterns))}
        prices = family.groups.spread(found.prices)
        return Candidate(
            mixed_kernel(table[kept], shares[kept]), Duals(prices), "fitted columns", details
        )


def _single(family: Family) -> Family:
    """The same family with every symbol a group of its own."""
    groups = family.groups
    n = len(groups.symbols)
    each = Groups(
        groups.spread(groups.masses),
        np.ones(n),
        groups.spread(groups.others),
        tuple(np.array([x]) for x in range(n)),
    )
    if isinstance(family, LiftFamily):
        return LiftFamily(each, family.below, family.above, family.curve)
    assert isinstance(family, StaircaseFamily)
    return StaircaseFamily(each, family.excess, family.curve)


class _Fitting:
    """Columns of given patterns over single symbols."""

    def __init__(self, family: Family, single: Family, found: Patterns) -> None:
        self.members, self.single, self.told = family.groups.members, single, found.told
        self.prices, self.upper = family.groups.spread(found.prices), found.upper
        self.masses = single.groups.masses
        others = np.setdiff1d(np.arange(len(family.groups)), found.told)
        #: Symbols that patterns do not tell apart, the largest first.
        self.others = np.concatenate([self.members[g] for g in others])
        self.others = self.others[np.argsort(-self.masses[self.others], kind="stable")]
        self.total = float(self.masses[self.others].sum())
        self.heuristics = Heuristics(single)
        self.rng = np.random.default_rng(_SEED)

    def mixture(self, found: Patterns, deadline: float) -> tuple[Vector, Vector]:
        """Deviations ``(C, n)`` and shares ``(C,)`` of columns of the patterns.

        Raises :class:`SolverError` where no shares balance them, or no time is left.
        """
        varied = [not self._is_one(pattern) for pattern in found.patterns]
        share = sum(p.share for p, several in zip(found.patterns, varied, strict=True) if several)
        parts: list[list[Columns]] = [[] for _ in found.patterns]
        failure: SolverError | None = None
        for more in _PER_SYMBOL:
            for part, pattern, several in zip(parts, found.patterns, varied, strict=True):
                count = math.ceil(more * len(self.masses) * pattern.share / share) if several else 1
                if several or not part:
                    part.append(self._columns(pattern, count, deadline))
            columns = [Columns.join(part) for part in parts]
            weights = [
                np.full(len(same), pattern.share / len(same))
                for same, pattern in zip(columns, found.patterns, strict=True)
            ]
            table = self.single.averages(Columns.join(columns))
            try:
                return table, balanced_shares(table, np.concatenate(weights), deadline)
            except SolverError as error:
                failure = error
        assert failure is not None
        raise failure

    def _is_one(self, pattern: Pattern) -> bool:
        """Whether a pattern has one column alone."""
        parted = [
            g
            for g in self.told
            if 0 < pattern.counts[g] < len(self.members[g])
            or (g == pattern.part and len(self.members[g]) > 1)
        ]
        return not parted and not 0 < pattern.mass < self.total * (1 - 1e-12)

    def _columns(self, pattern: Pattern, count: int, deadline: float) -> Columns:
        """So many columns of a pattern, each the best of a few where the mass is missed by much."""
        found: list[Columns] = []
        best = -math.inf
        # Sets of more than half of the mass are what other sets leave.
        length = max(min(pattern.mass, self.total - pattern.mass), 0.0)
        inverted, share = pattern.mass > length, length / self.total
        lag = np.zeros(len(self.others))
        for _ in range(count):
            tried: list[tuple[float, Columns]] = []
            for _ in range(_TRIES):
                inside, choice = self._set(length, lag)
                if inverted:
                    inside = np.setdiff1d(np.arange(len(lag)), np.concatenate([inside, choice]))
                column = self._column(pattern, self.others[inside], self.others[choice])
                if not len(column):
                    continue
                cost = float(self.single.averages(column)[0] @ self.prices)
                tried.append((float(self.single.values(column)[0]) - cost, column))
                best = max(best, tried[-1][0])
                if tried[-1][0] >= best - _LOSS * self.upper:
                    break
            if not tried:
                raise SolverError("no columns fit the mass that a pattern of large symbols leaves")
            if clock.now() > deadline:
                raise SolverError("no time was left for columns that are fitted to the masses")
            found.append(max(tried, key=lambda pair: pair[0])[1])
            up = found[-1].counts[0, self.others]
            lag += share - (1 - up if inverted else up)
        return Columns.join(found)

    def _column(self, pattern: Pattern, up: Places, choice: Places) -> Columns:
        """The column of a pattern with small symbols up and some of a choice, or none."""
        above, part = self._told_symbols(pattern)
        if isinstance(self.single, StaircaseFamily):
            target = float(self.masses[above].sum()) + pattern.mass
        else:
            target = self.single.target - pattern.amount
        among = self.others if part < 0 else np.array([part])
        up = np.concatenate([above, up])
        column = self.heuristics.completed(up, choice, target, 1, among)
        if part < 0:
            return column
        amount = column.amount + pattern.amount
        return Columns(column.counts, np.full(len(column), part), amount)

    def _told_symbols(self, pattern: Pattern) -> tuple[Places, int]:
        """Symbols at their upper bound, and the one between, drawn from their groups."""
        above, part = [np.empty(0, np.intp)], -1
        for g in self.told:
            drawn = self.rng.permutation(self.members[g])
            count = int(pattern.counts[g])
            above.append(drawn[:count])
            if g == pattern.part:
                part = int(drawn[count])
        return np.concatenate(above), part

    def _set(self, length: float, lag: Vector) -> tuple[Places, Places]:
        """Places among the others of a set of a mass: members, and those to choose from so that
        the mass is met.

        Symbols that lag behind how often they must be in a set come first.
        """
        p = self.masses[self.others]
        order = np.argsort(-lag - self.rng.random(len(p)), kind="stable")
        order = order[p[order] <= length]
        large = p > _HEAVY * length
        while True:
            end = int(np.searchsorted(np.cumsum(p[order]), length, "right"))
            if end == len(order) or not large[order[end]]:
                break
            order = np.delete(order, end)
        light = order[:end][~large[order[:end]]]
        low = max(len(light) // 2 - _FEW, len(light) - _CHOICE // 2, 0)
        inside = np.concatenate([order[:end][large[order[:end]]], light[:low]])
        left = length - float(p[inside].sum())
        rest = np.concatenate([light[low:], order[end:]])
        return inside, rest[p[rest] <= left][:_CHOICE]
