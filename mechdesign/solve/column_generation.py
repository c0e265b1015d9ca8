"""Column generation for separable sub-convex utilities over two-sided cones.

With columns c of worth F_c and deviations d_c, and shares q::

    maximise  Σ q_c F_c   subject to  Σ q_c = 1,  Σ q_c d_c = 0,  q ≥ 0

over all extreme columns. Duals of the restricted program price deviations; pricing finds columns
worth more, or proves that none is (:mod:`.pricing`). Any prices λ give the bound
max_c F_c − ⟨λ, d_c⟩.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..utility.sublinear import FInformation
from . import clock
from .branching import Budget
from .columns import Columns, Family, make_family
from .method import Candidate, Duals, Method, handles_information
from .pricing import Pricer, make_pricer
from .program import SublinearProgram
from .restricted import add_columns, exact_shares, merged, new_model, row_scales, run_model
from .seeding import first_columns

Vector = NDArray[np.float64]

#: Gap that a search must reach, and the one it tries for while that is cheap.
TOLERANCE, FINE = 8e-7, 2e-10
#: Share of a time limit for the search; the rest is for proving its bound afresh.
SEARCHING = 0.7
_SEED = 7
_NEGLIGIBLE = 1e-14
# Rounds with next to no progress after which the exact search is asked.
_PATIENCE = 6
#: Symbols up to which a search that does not end by quick means is left to the listing of all
#: extreme columns, and the rounds it may take.
FEW, _FEW_ROUNDS = 10, 60


@dataclass(frozen=True, eq=False)
class Generated:
    """Columns with shares, and the prices that bound what any columns are worth.

    Attributes
    ----------
    deviations : ``(C, n)`` of the columns
    shares : ``(C,)`` output masses
    prices : ``(G,)`` per deviation of one symbol of each group
    upper : what was proved with them while searching
    """

    deviations: Vector
    shares: Vector
    prices: Vector
    upper: float
    facts: dict[str, str]


class Master:
    """The restricted program, warm from one call to the next."""

    def __init__(self, family: Family, unit: float) -> None:
        self.family, self.unit = family, unit
        self.columns: list[Columns] = []
        self.shares = np.ones(1)
        self.scales = row_scales(family.reach)
        self.model = new_model(len(family.groups))
        self.entry_scales = [np.ones(1)]
        one = np.array([0], dtype=np.int32)
        self.model.addCol(0.0, 0.0, np.inf, 1, one, np.ones(1))  # the constant kernel

    def add(self, columns: Columns) -> None:
        """More columns."""
        rows = self.family.averages(columns) / self.scales
        worths = self.family.worths(columns) / self.unit
        self.entry_scales.append(add_columns(self.model, worths, rows))
        self.columns.append(columns)

    def solve(self) -> tuple[float, Vector]:
        """Value, and prices of deviations."""
        duals, value, shares = run_model(self.model)
        self.shares = shares * np.concatenate(self.entry_scales)
        prices = duals[1:] * self.unit / self.scales / self.family.groups.sizes
        return value * self.unit, prices

    def active(self) -> tuple[Columns, Vector, float]:
        """Columns of positive share, their shares, and the share of the constant column."""
        shares = self.shares
        used = np.flatnonzero(shares[1:] > _NEGLIGIBLE)
        return Columns.join(self.columns).take(used), shares[1:][used], float(shares[0])


def generate(pricer: Pricer, deadline: float, tolerance: float = TOLERANCE) -> Generated:
    """The best mixture of columns, up to a relative gap or until the deadline."""
    family = pricer.family
    flat = pricer.flat_bound()
    nothing = np.zeros(len(family.groups))
    if flat <= 0:
        return Generated(np.zeros((1, int(family.groups.sizes.sum()))), np.ones(1), nothing, 0, {})
    first = first_columns(family, np.random.default_rng(_SEED))
    # At high levels the bound is far above any worth, which would vanish in units of it.
    most = float(family.worths(first).max(initial=0.0))
    master = Master(family, min(flat, most) if most > 0 else flat)
    master.add(first)
    wanted = max(64, 2 * len(family.groups))
    few = int(family.groups.sizes.sum()) <= FEW
    upper, best = flat, nothing
    started, reached, values, failures = clock.now(), False, [], 0
    while True:
        value, prices = master.solve()
        values.append(value)
        if upper - value <= FINE * value or clock.now() > deadline:
            break
        if not reached and upper - value <= tolerance * value:
            reached, deadline = True, _later(started, deadline)
        found = pricer.improve(prices, value + FINE * value, wanted, Budget(deadline=deadline))
        if found.upper < upper:
            upper, best = found.upper, prices
        if found.columns is not None:
            master.add(found.columns)
        stuck = _is_stuck(values, upper)
        if (found.columns is None and (found.complete or reached)) or (reached and stuck):
            break
        if few and (stuck or found.columns is None or len(values) >= _FEW_ROUNDS):
            break  # at extreme masses rounding hides the last columns from any search
        if found.columns is not None and not stuck:
            continue
        limit = Budget(deadline=deadline)
        share = min(0.05 * 2**failures, 0.5)
        more = pricer.settle(prices, value + FINE * value, Budget(deadline=limit.moment(share)))
        if not more.complete and more.columns is None:
            level, some = value + 0.9 * tolerance * value, Budget(deadline=limit.moment(share))
            more = pricer.branch(prices, level, wanted, some)
        if more.upper < upper:
            upper, best = more.upper, prices
        if more.columns is not None:
            master.add(more.columns)
        elif more.complete:
            break
        elif found.columns is None:
            failures += 1
    rounds = len(values)
    columns, shares, constant = master.active()
    deviations, shares = _unfold(family, columns, shares, constant)
    facts = {"rounds": str(rounds), "columns": str(master.model.getNumCol())}
    return Generated(deviations, shares, best, upper, facts)


def _is_stuck(values: list[float], upper: float) -> bool:
    """Whether the last rounds brought next to nothing of what is missing."""
    if len(values) < _PATIENCE:
        return False
    return values[-1] - values[-_PATIENCE] < 0.02 * (upper - values[-1])


def _later(started: float, deadline: float) -> float:
    """As long again for the last digits, but little."""
    now = clock.now()
    return min(deadline, now + max(1.0, 0.3 * (now - started)))


def _unfold(
    family: Family, columns: Columns, shares: Vector, constant: float
) -> tuple[Vector, Vector]:
    """Columns over single symbols, at most as many as there are symbols, with exact shares."""
    rows, weights = [], []
    for i in range(len(columns)):
        for share, deviations in family.patterns(columns, i):
            rows.append(deviations)
            weights.append(share * shares[i])
    n = int(family.groups.sizes.sum())
    if constant > _NEGLIGIBLE:
        rows.append(np.zeros(n))
        weights.append(constant)
    table, guess = merged(np.array(rows), np.array(weights))
    if len(table) > n:
        table, guess = _fewer(family, table)
    return table, exact_shares(table, guess)


def _fewer(family: Family, table: Vector) -> tuple[Vector, Vector]:
    """A basic solution over the columns found: no more columns than symbols."""
    scales = family.groups.spread(row_scales(family.reach))
    p = family.groups.spread(family.groups.masses)
    worth = family.curve(table) @ p
    model = new_model(table.shape[1])
    unit = max(float(np.abs(worth).max()), 1e-300)
    scale = add_columns(model, worth / unit, table / scales)
    shares = run_model(model)[2] * scale
    used = np.flatnonzero(shares > _NEGLIGIBLE)
    return table[used], shares[used]


class ColumnGeneration(Method):
    """Separable sub-convex utilities, columns in one two-sided cone."""

    name = "column-generation"
    handles = handles_information()
    reason = (
        "extreme columns are generated as prices ask for them, and an exact search proves that "
        "none is missing"
    )
    source = "Kairouz2016 for the extreme columns of LDP"

    def condition(self, problem: SublinearProgram) -> str | None:
        """Applies to f-informations under one lift box or one ratio."""
        if not isinstance(problem.utility, FInformation):
            return f"{problem.utility!r} is not an f-information, so columns cannot be priced"
        sides = problem.sides
        if sides is None:
            return "the bounds are of another kind than PML, PMC, LIP, ALIP and LDP"
        if make_family(problem.prior, sides, problem.utility.excess) is None:
            return "a bound on lifts and an LDP level both bite, which has other extreme columns"
        return None

    def solve(self, problem: SublinearProgram) -> Candidate:
        """Generate columns until the bound meets the value."""
        assert isinstance(problem.utility, FInformation)
        assert problem.sides is not None
        family = make_family(problem.prior, problem.sides, problem.utility.excess)
        assert family is not None
        if not np.isfinite(family.size):
            raise SolverError(
                f"{problem}: an extreme column is worth more than the largest float; merge the "
                "symbols of smallest mass"
            )
        deadline = clock.now() + SEARCHING * problem.time_limit
        try:
            with np.errstate(over="raise"):
                found = generate(make_pricer(family), deadline)
        except FloatingPointError as beyond:
            raise SolverError(
                "column generation: worths of columns at these levels and masses are beyond floats"
            ) from beyond
        kernel = (found.shares[:, None] * (1 + found.deviations)).T
        prices = family.groups.spread(found.prices)
        return Candidate(kernel, Duals(prices), "column generation on HiGHS", found.facts)
