"""Vertex enumeration: every extreme column listed, for small alphabets and any sublinear utility.

Independent of pricing, so that it checks column generation; and the only method for column
functions that are not sums over symbols.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..prior import Prior
from ..privacy.constraint import Rounding
from .columns import LiftFamily, StaircaseFamily, make_family
from .exact_simplex import Mixture, best_mixture
from .listed_columns import columns_of_rays, listed_columns
from .method import Candidate, Duals, Method, handles_sublinear
from .program import SublinearProgram, TwoSided
from .restricted import add_columns, exact_shares, merged, new_model, row_scales, run_model

Vector = NDArray[np.float64]

#: Symbols up to which extreme columns of two-sided cones, and of any cone, are listed.
MOST_SYMBOLS, MOST_SYMBOLS_ANY = 12, 6
#: Symbols up to which their best mixture is found with all digits.
MOST_SYMBOLS_EXACT = 10
# Room below e^ε for their kernels, of which the weights are rounded to multiples of 2^-53.
_ROOM = 2e-15


def too_large(problem: SublinearProgram, sides: TwoSided | None) -> str | None:
    """Why the extreme columns of a problem are not listed, or ``None``."""
    n = len(problem.prior)
    two = _family(problem.prior, sides) is not None
    most = MOST_SYMBOLS if two else MOST_SYMBOLS_ANY
    if n <= most:
        return None
    kind = "these bounds" if two else "bounds of this kind"
    return (
        f"{n} symbols are above the {most} up to which extreme columns under {kind} are listed; an "
        "f-information under PML, PMC, LIP, ALIP or LDP is solved by column generation at any size"
    )


def extreme_columns(
    problem: SublinearProgram, sides: TwoSided | None, rounding: Rounding
) -> Vector:
    """Deviations of every extreme column, ``(V, n)``; the constant column is among them.

    ``sides`` is the two-sided cone that the rows amount to, ``None`` where they are of another
    kind; then ``rounding`` chooses factors for design or, slightly larger, for bounds.
    """
    n = len(problem.prior)
    family = _family(problem.prior, sides)
    if isinstance(family, LiftFamily):
        found = _in_a_box(family)
    elif isinstance(family, StaircaseFamily):
        found = _staircases(family)
    else:
        rays = extreme_rays(problem.cone.inequalities(rounding), n)
        masses = problem.prior.weights
        total = problem.prior.total
        rows = []
        for ray in rays:
            q = sum(m * r for m, r in zip(masses, ray, strict=True))
            rows.append([float(Fraction(r * total - q, q)) for r in ray])
        found = np.array(rows)
    return np.vstack([np.zeros((1, n)), found])


def _family(prior: Prior, sides: TwoSided | None) -> LiftFamily | StaircaseFamily | None:
    if sides is None:
        return None
    family = make_family(prior, sides, np.abs)
    assert family is None or isinstance(family, (LiftFamily, StaircaseFamily))
    return family


def _in_a_box(family: LiftFamily) -> Vector:
    """All sets of raised symbols, with each symbol in turn carrying what is left."""
    groups = family.groups
    low, span, units, p = (
        groups.spread(v) for v in (family.low, family.span, family.units, groups.masses)
    )
    n = len(p)
    sets = ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1).astype(bool)
    left = family.capacity - sets @ units
    tiny = 1e-12 * family.capacity
    found = []
    for j in range(n):
        fits = ~sets[:, j] & (left >= -tiny) & (left <= units[j] + tiny)
        rows = low + sets[fits] * span
        rows[:, j] += np.clip(left[fits], 0, units[j]) / p[j]
        found.append(rows)
    return np.concatenate(found)


def _staircases(family: StaircaseFamily) -> Vector:
    p = family.groups.spread(family.groups.masses)
    n = len(p)
    sets = ((np.arange(1, (1 << n) - 1)[:, None] >> np.arange(n)) & 1).astype(bool)
    up, down = family.deviation(sets @ p, ~sets @ p)
    return np.where(sets, up[:, None], down[:, None])


def extreme_rays(rows: list[tuple[int, ...]], n: int) -> list[tuple[int, ...]]:
    """Extreme rays of {k ≥ 0, a·k ≥ 0 for each row a} for n symbols, in integers: the double
    description method.

    Rows are taken in one after the other; rays on either side of one are joined where they are
    neighbours, that is where no third ray meets all the inequalities that both meet with equality.
    """
    rays = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    # Bits of the inequalities that a ray meets with equality; the first n are k ≥ 0.
    tight = [((1 << n) - 1) & ~(1 << i) for i in range(n)]
    for number, row in enumerate(rows):
        bit = 1 << (n + number)
        values = [sum(a * k for a, k in zip(row, ray, strict=True)) for ray in rays]
        above = [i for i, v in enumerate(values) if v > 0]
        on = [i for i, v in enumerate(values) if v == 0]
        below = [i for i, v in enumerate(values) if v < 0]
        new_rays = [rays[i] for i in above + on]
        new_tight = [tight[i] for i in above] + [tight[i] | bit for i in on]
        for i, j in product(above, below):
            common = tight[i] & tight[j]
            if common.bit_count() < n - 2:
                continue
            if any(t & common == common for k, t in enumerate(tight) if k not in (i, j)):
                continue
            ray = [values[i] * b - values[j] * a for a, b in zip(rays[i], rays[j], strict=True)]
            divisor = math.gcd(*ray)
            new_rays.append(tuple(v // divisor for v in ray))
            new_tight.append(common | bit)
        rays, tight = new_rays, new_tight
    return rays


def vertex_bound(
    problem: SublinearProgram, sides: TwoSided | None, prices: Vector
) -> tuple[float, float]:
    """Max μ(v) − ⟨prices, v − 1⟩ over all extreme columns, and the size of the numbers in it.

    ``sides`` as for :func:`extreme_columns`, outside e^ε.
    """
    deviations = extreme_columns(problem, sides, Rounding.OUTSIDE)
    worths = problem.lifted_values(deviations)
    reduced = worths - deviations @ prices
    size = np.abs(worths) + np.abs(deviations) @ np.abs(prices)
    return float(reduced.max()), float(size.max())


class Vertices(Method):
    """Any sublinear utility, any bounds, few symbols."""

    name = "vertices"
    handles = handles_sublinear()
    reason = "few symbols: every extreme column is listed and a linear program mixes the best"
    source = "Kairouz2016"

    def condition(self, problem: SublinearProgram) -> str | None:
        """Applies up to a stated number of symbols."""
        return too_large(problem, problem.sides)

    def solve(self, problem: SublinearProgram) -> Candidate:
        """One linear program over all extreme columns, exact where they are few."""
        if len(problem.prior) <= MOST_SYMBOLS_EXACT:
            return _exactly(problem)
        deviations = extreme_columns(problem, problem.sides, Rounding.INSIDE)
        worths = _finite_worths(problem, deviations)
        duals, shares = _roughly(deviations, worths)
        used = np.flatnonzero(shares > 1e-14)
        table, shares = merged(deviations[used], shares[used])
        shares = exact_shares(table, shares)
        kernel = (shares[:, None] * (1 + table)).T
        facts = {"columns": str(len(deviations))}
        return Candidate(kernel, Duals(duals), "vertex enumeration and HiGHS", facts)


def _exactly(problem: SublinearProgram) -> Candidate:
    """The best mixture of all extreme columns, with as many digits as the masses need.

    Prices are those of the cone that bounds are for: where levels are tiny and some masses are
    tinier, those of the cone for design prove little for it.
    """
    inner = _best_of(problem, rounding=Rounding.INSIDE)
    outer = _best_of(problem, rounding=Rounding.OUTSIDE)
    facts = {"pivots": str(inner.pivots + outer.pivots)}
    solver = "vertex enumeration, exact simplex"
    return Candidate(inner.kernel, Duals(outer.prices), solver, facts)


def _best_of(problem: SublinearProgram, *, rounding: Rounding) -> Mixture:
    prior, n = problem.prior, len(problem.prior)
    sides = problem.cone.two_sided(rounding)
    if rounding is Rounding.INSIDE and sides is not None:
        wider = problem.cone.two_sided(Rounding.OUTSIDE)
        assert wider is not None
        sides = _nearer(sides, wider)
    found = None if sides is None else listed_columns(prior, sides)
    if found is None:
        found = columns_of_rays(prior, extreme_rays(problem.cone.inequalities(rounding), n))
    columns = list(dict.fromkeys([(Fraction(0),) * n, *found]))
    deviations = np.array(columns, dtype=float)
    worths = _finite_worths(problem, deviations)
    try:
        _, shares = _roughly(deviations, worths)
    except SolverError:
        shares = np.zeros(len(columns))  # only a hint of where to start
    likely = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
    return best_mixture(columns, worths, likely)


def _nearer(inner: TwoSided, outer: TwoSided) -> TwoSided:
    """Sides with less room than solvers in floats need, as these columns are exact but for the
    rounding of weights.
    """

    def between(near: float, far: float) -> float:
        if not math.isfinite(far) or near == far:
            return near
        excess = abs(far - 1)
        room = min(_ROOM * max(far, 1.0), 1e-3 * excess)
        return near + max(1 - room / abs(far - near), 0.0) * (far - near)

    return TwoSided(
        between(inner.lower, outer.lower),
        between(inner.upper, outer.upper),
        between(inner.ratio, outer.ratio),
    )


def _finite_worths(problem: SublinearProgram, deviations: Vector) -> Vector:
    worths = problem.lifted_values(deviations)
    if not np.isfinite(worths).all():
        raise SolverError(
            f"{problem}: an extreme column is worth more than the largest float; merge the "
            "symbols of smallest mass"
        )
    return worths


def _roughly(deviations: Vector, worths: Vector) -> tuple[Vector, Vector]:
    """Prices of deviations and shares of columns, by a solver in floats."""
    reach = row_scales(np.abs(deviations).max(axis=0))
    unit = max(float(np.abs(worths).max()), 1e-300)
    model = new_model(len(reach))
    scale = add_columns(model, worths / unit, deviations / reach)
    duals, _, shares = run_model(model)
    return duals[1:] * unit / reach, shares * scale
