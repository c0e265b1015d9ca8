"""Upper bounds on the optimum by weak duality, recomputed from dual variables of any quality.

Neither bound below believes the solver: any prices and any non-negative multipliers give a true
upper bound, better duals give a better one. Bounds are rational numbers. What each row of gains
has in common counts exactly p_x times and is taken out first, so that gains may lie far
from zero. Prices are evaluated in rationals for the outputs that can be the maximum, which floats
with an allowance for their rounding single out; multipliers in floats with such an allowance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError
from ..prior import Prior
from ..privacy.rows import Multipliers
from ..privacy.sums import Minorants, SumConstraint, SumDuals
from ..program.duals import Duals
from ..program.program import LARGEST_GAIN, LinearProgram, TwoSided
from ..program.rational import column_supremum, corners, difference, mean_of
from ..program.worst import LeastProgram
from .cuts import priced_cuts
from .shape import sides_outside

Array = NDArray[np.float64]

_UNIT = 2.0**-52
# Multipliers below this share of the range of gains may be noise.
_NOISE = 1e-9
# Entries that are evaluated in rationals; beyond, the allowance for rounding stays in the bound.
_EXACT_ENTRIES = 40_000
# Columns that are looked at more closely before they are evaluated in rationals.
_FEW_COLUMNS = 4
# Entries up to which limits are priced a second time, without the noise in their duals.
_SECOND_ENTRIES = 10_000
# A sum or product of floats that underflows is off by less than this.
_SMALLEST = 2.0**-1074
#: A bound that floats cannot hold: larger than any of them.
BEYOND = Fraction(2) ** 1100
# Reduced gains of forbidden entries lie below all others by this many times their range.
_EXCLUDED = 64.0
# Entries per block: what a block needs stays in the processor's cache.
_BLOCK = 8192


def upper_bound(program: LinearProgram, duals: Duals) -> tuple[Fraction, str]:
    """The smallest of the bounds that dual variables give, and which of them gave it."""
    if program.most_outputs is not None:
        return _searched_bound(program, program.most_outputs, duals)
    if program.convex:
        bare = replace(program, convex=()), replace(duals, convex=None)
        found = [upper_bound(*bare)]
        if duals.convex is not None:
            found.append(upper_bound(*priced_cuts(program, duals)))
        return min(found)
    if not program.limits:
        return _upper_bound(program, duals)
    return min((bound, source) for bound, source, _ in _by_limits(program, duals))


def _searched_bound(program: LinearProgram, most: int, duals: Duals) -> tuple[Fraction, str]:
    """The smaller of the bounds for any number of outputs, and for all parts of a search."""
    relaxed = upper_bound(replace(program, most_outputs=None), replace(duals, branches=None))
    parts = duals.branches or ()
    if not parts or not covers([frozenset(part.excluded) for part in parts], most):
        return relaxed
    found = [
        upper_bound(
            program.without_outputs(part.excluded, most if part.counted else None), part.duals
        )
        for part in parts
    ]
    bound, source = max(found)
    return min(relaxed, (bound, f"{source} of {len(parts)} parts of a search"))


def covers(parts: list[frozenset[int]], most: int, work_limit: int = 200_000) -> bool:
    """Whether every choice of outputs is in a part that leaves none of them out.

    That is so where no ``most`` outputs meet all sets of outputs that are left out. ``False`` where
    that is not decided within a number of steps.
    """
    left = [sum(1 << y for y in part) for part in parts]
    steps = 0

    def met(chosen: int, banned: int, room: int) -> bool:
        nonlocal steps
        steps += 1
        if steps > work_limit:
            return True
        unmet = [part & ~banned for part in left if not part & chosen]
        if not unmet:
            return True
        if room == 0:
            return False
        first = min(unmet, key=int.bit_count)
        while first:
            y = first & -first
            if met(chosen | y, banned, room - 1):
                return True
            first, banned = first & ~y, banned | y
        return False

    return not met(0, 0, most)


def limit_prices(program: LinearProgram, duals: Duals) -> Array:
    """The dual variables of limits that give the smallest bound: those given, as far as they are
    no noise, or none.
    """
    if not program.limits:
        return np.zeros(0)
    return min(_by_limits(program, duals), key=lambda found: found[0])[2]


def _by_limits(program: LinearProgram, duals: Duals) -> Iterator[tuple[Fraction, str, Array]]:
    """Bounds by the dual variables of limits: none, those given, and those that are no noise."""
    nothing = np.zeros(len(program.limits))
    given = nothing if duals.limits is None else duals.limits
    noise = _NOISE * float(np.abs(given).max(initial=0.0))
    tried = [nothing] if duals.limits is None else [nothing, given]
    # Where bounds take long, what noise costs does not pay for another one.
    if noise and program.gains.size <= _SECOND_ENTRIES:
        tried.append(np.where(abs(given) > noise, given, 0.0))
    for prices in tried:
        taken = without_limits(program, prices)
        if taken is not None:
            bound, source = _upper_bound(taken.program, replace(duals, limits=None), taken.rest)
            yield bound + taken.constant, source, prices


def _upper_bound(
    program: LinearProgram, duals: Duals, rest: TakenOff | None = None
) -> tuple[Fraction, str]:
    trivial = trivial_bound(program)
    if rest is not None:
        trivial = multiplier_bound(program, program.cone.no_duals(program.shape[1]), rest)
    found = [(trivial, "best output of every symbol")]
    if duals.multipliers is not None:
        found.append((multiplier_bound(program, duals.multipliers, rest), "multipliers"))
    sides = sides_outside(program.cone)
    if duals.prices is not None and sides is not None and np.isfinite(duals.prices).all():
        found.append((price_bound(program, duals.prices, sides), "prices"))
        clamped = clamped_prices(program, duals.prices)
        if not np.array_equal(clamped, duals.prices):
            found.append((price_bound(program, clamped, sides), "prices"))
    priced = priced_sums(program, duals, rest)
    if priced is not None:
        found.append((priced.bound, "multipliers"))
    return min(found)


@dataclass(frozen=True, eq=False)
class TakenOff:
    """What limits take off the objective, where it is not in the gains.

    Attributes
    ----------
    columns : Σ_j η_j a_j,xy, ``(n, M)``
    size : sum of the absolute terms in ``columns``, for allowances on rounding
    terms : how many there are at an entry, at most
    """

    columns: Array
    size: Array
    terms: int


@dataclass(frozen=True, eq=False)
class Priced:
    """A program whose limits are priced, and what the bound of what is left lacks.

    Attributes
    ----------
    program : without limits, with what they price taken off the gains
    constant : Σ η b of the ends priced, with room for the rounding of the gains
    rest : what they price where symbols without mass have no gains that it could be taken off
    """

    program: LinearProgram
    constant: Fraction
    rest: TakenOff | None = None


def without_limits(program: LinearProgram, duals: Array) -> Priced | None:
    """The Lagrangian with every limit priced; ``None`` where its gains are beyond floats.

    For any η the value of a feasible kernel is at most Σ_j (η_j⁺ high_j − η_j⁻ low_j) +
    Σ_xy (p_x u_xy − Σ_j η_j a_j,xy) K_xy. A price of an end that is not asked is left out.
    """
    n, m = program.shape
    p = program.prior.probabilities
    constant, used = Fraction(0), np.zeros(len(program.limits))
    for j, (limit, eta) in enumerate(zip(program.limits, duals.tolist(), strict=True)):
        end = limit.high if eta > 0 else limit.low
        if end is not None and eta and math.isfinite(eta):
            used[j] = eta
            constant += Fraction(eta) * end
    taken = [limit for limit, eta in zip(program.limits, used, strict=True) if eta]
    priced = [
        eta * limit.coefficients for limit, eta in zip(taken, used[used != 0].tolist(), strict=True)
    ]
    if not taken:
        return Priced(replace(program, limits=()), constant)
    places = np.concatenate([limit.symbols * m + limit.outputs for limit in taken])
    terms = np.concatenate(priced)
    total = np.bincount(places, terms, n * m).reshape(n, m).astype(float)
    size = np.bincount(places, np.abs(terms), n * m).reshape(n, m).astype(float)
    counts = np.bincount(places, minlength=n * m).reshape(n, m)
    if not p.all():
        if not np.isfinite(size).all():
            return None
        rest = TakenOff(total, size, int(counts.max()) + 6)
        return Priced(replace(program, limits=()), constant, rest)
    with np.errstate(over="ignore", invalid="ignore"):
        gains = program.gains - total / p[:, None]
        # Rounding of each term, of their sum, of the quotient and of the difference.
        off = _UNIT * (counts + 6) * (size + p[:, None] * np.abs(program.gains)) + _SMALLEST
        found = float(np.abs(gains).max()) if np.isfinite(gains).all() else math.inf
    if not (found <= LARGEST_GAIN and np.isfinite(off).all()):
        return None
    off = np.where(counts > 0, off, 0.0)
    lost = Fraction(float(off.max(axis=1).sum())) * (1 + Fraction(_UNIT) * (n + 4))
    return Priced(replace(program, stated=gains, limits=()), constant + lost)


def clamped_prices(program: LinearProgram, prices: Array) -> Array:
    """Prices kept within what a row can contribute, give or take the utility range.

    A solver leaves an absolute error on every price; on a symbol of mass 1e-20 that is a price per
    mass of 1e8, and the bound would have to allow for the rounding of such numbers.
    """
    p, width = program.prior.probabilities, program.gain_range
    least, most = program.extremes
    return np.clip(prices, p * (least - width), p * (most + width))


def trivial_bound(program: LinearProgram) -> Fraction:
    """Σ_x p_x max_y u_xy: what could be had without privacy."""
    if program.forbidden is None:
        return mean_of(program.prior, program.extremes[1])
    best = program.allowed(program.gains).max(axis=1)
    return mean_of(program.prior, best) if np.isfinite(best).all() else -BEYOND


def multiplier_bound(
    program: LinearProgram, multipliers: tuple[Multipliers, ...], rest: TakenOff | None = None
) -> Fraction:
    """Σ_x max_y (c_xy − w_xy), the Lagrangian with every row of the cone priced.

    The columns w_y satisfy ⟨w_y, k⟩ ≤ 0 on the cone, as the dual variables are projected to
    feasibility. What is left of the program is Σ_y K_xy = 1, K ≥ 0, whose optimum is the maximum of
    each row.
    """
    return rows_bound(program, *multiplier_columns(program, multipliers, rest))


def multiplier_columns(
    program: LinearProgram, multipliers: tuple[Multipliers, ...], rest: TakenOff | None = None
) -> tuple[Array, Array, int]:
    """The columns w that multipliers take off the objective, their size, and how many terms; with
    what limits take off beside.
    """
    columns, size = program.cone.combination(multipliers, program.shape[1])
    size = size + program.prior.probabilities[:, None] * above_least(program)[1]
    terms = program.cone.terms + len(program.prior) + 8
    if rest is None:
        return columns, size, terms
    return columns + rest.columns, size + rest.size, terms + rest.terms


@dataclass(frozen=True, eq=False)
class PricedSums:
    """The Lagrangian with sums over outcomes and rows of the cone priced.

    Attributes
    ----------
    bound : what it proves
    columns : what it takes off the objective for the sums, ``(n, M)``
    duals : dual variables of each sum that gave it
    """

    bound: Fraction
    columns: Array
    duals: tuple[SumDuals, ...]


def priced_sums(
    program: LinearProgram, duals: Duals, rest: TakenOff | None = None
) -> PricedSums | None:
    """The best bound that the dual variables of sums give; ``None`` without any.

    For τ ≥ 0 and minorants w_y of φ every feasible kernel has a value of at most
    τ·limit + Σ_x max_y (c_xy − τ w_yx), less what the cone prices.
    """
    if not program.sums or duals.sums is None or len(duals.sums) != len(program.sums):
        return None
    # A solver's noise on multipliers that should be zero costs a factor e^ε: without it, too.
    floors = (0.0, _NOISE * program.gain_range, math.inf)
    tried = [tuple(_above(numbers, floor) for numbers in duals.sums) for floor in floors]
    found = [_priced(program, duals.multipliers, numbers, rest) for numbers in tried]
    return min(found, key=lambda priced: priced.bound)


def _above(numbers: SumDuals, floor: float) -> SumDuals:
    """Dual variables with multipliers up to a floor left out."""
    return (np.where(numbers[0] > floor, numbers[0], 0.0), *numbers[1:])


def _priced(
    program: LinearProgram,
    multipliers: tuple[Multipliers, ...] | None,
    numbers: tuple[SumDuals, ...],
    rest: TakenOff | None,
) -> PricedSums:
    parts = multipliers if multipliers is not None else program.cone.no_duals(program.shape[1])
    total, size, terms = multiplier_columns(program, parts, rest)
    columns, limits = np.zeros(program.shape), []
    for constraint, given in zip(program.sums, numbers, strict=True):
        found = _minorants(constraint, given, program)
        limits.append(found.limit)
        columns += found.columns
        size = size + found.size
        terms += 4 * found.size.shape[0] + 64
    if not np.isfinite(limits).all():
        return PricedSums(BEYOND, columns, numbers)
    limit = sum(Fraction(v) + 16 * Fraction(_UNIT) * abs(Fraction(v)) for v in limits)
    return PricedSums(rows_bound(program, total + columns, size, terms) + limit, columns, numbers)


def _minorants(constraint: SumConstraint, given: SumDuals, program: LinearProgram) -> Minorants:
    """Minorants for every output; raises :class:`CertificateError` where numbers give none.

    Columns of another shape would stand at other symbols than those they are minorants for.
    """
    name = type(constraint).__name__
    try:
        found = constraint.minorants(given)
    except (IndexError, TypeError, ValueError) as failure:
        raise CertificateError(
            f"{name} finds no minorants from dual variables of shapes "
            f"{[np.shape(numbers) for numbers in given]} for {program}: {failure}"
        ) from failure
    shapes = np.shape(found.columns), np.shape(found.size)
    if shapes != (program.shape, program.shape):
        raise CertificateError(
            f"{name} gives minorants of shapes {shapes[0]} and {shapes[1]} for {program}; a column "
            "for each output was asked"
        )
    return found


def above_least(program: LinearProgram) -> tuple[Array, Array]:
    """The least gain of each row, ``(n,)``, and the nearest floats to what is above it."""
    least = program.gains.min(axis=1)
    return least, program.gains - least[:, None]


def rows_bound(program: LinearProgram, columns: Array, size: Array, terms: int) -> Fraction:
    """Σ_x max_y (c_xy − w_xy), with room for the rounding of sums of so many terms.

    Infinite, as a fraction beyond every float, where the numbers are too large for floats.
    """
    least, above = above_least(program)
    with np.errstate(over="ignore", invalid="ignore"):
        reduced = program.prior.probabilities[:, None] * above - columns
        rows = program.allowed(reduced).max(axis=1)
        largest = float(size.max(axis=1).sum())
    if (rows == -math.inf).any():
        return -BEYOND  # a symbol without any output: whatever is asked for, no kernel is there
    rounding = _UNIT * terms * largest + terms * len(rows) * _SMALLEST
    if not (np.isfinite(rows).all() and math.isfinite(rounding)):
        return BEYOND
    # The sum of the rows and the product above are rounded themselves.
    rounding += 4 * _UNIT * rounding
    return mean_of(program.prior, least) + sum(map(Fraction, rows.tolist())) + Fraction(rounding)


def price_bound(program: LinearProgram, prices: Array, sides: TwoSided) -> Fraction:
    """⟨λ, 1⟩ + max_y sup{⟨c_y − λ, k⟩ : k in the cone, pᵀk = 1}, by greedy support functions.

    The prices are per mass, λ_x = p_x π_x for floats π, so that c_xy − λ_x = p_x (u_xy − π_x)
    without any rounding.
    """
    p = program.prior.probabilities
    with np.errstate(over="ignore", invalid="ignore"):
        per_mass = prices / p
        # Differences of floats are rounded in their order: no other is larger.
        ends = [np.abs(end - per_mass) for end in program.extremes]
        largest = max(float(np.max(ends)), _SMALLEST)
        blocks: Iterator[tuple[slice, tuple[Array, Array]]] = (
            (y, difference(gains, per_mass[:, None])) for y, gains in program.blocks()
        )
        if program.forbidden is not None:
            high, low = _kept_out(*next(blocks)[1], program.forbidden)
            largest = max(float(np.abs(high).max()), _SMALLEST)
            blocks = iter([(slice(None), (high, low))])
    if not math.isfinite(largest):
        return BEYOND
    # Scaled by a power of two to about one, where nothing under- or overflows.
    power = -int(np.frexp(largest)[1])
    found = np.empty(program.shape[1])
    for some, (high, low) in blocks:
        if not (np.isfinite(high).all() and np.isfinite(low).all()):
            return BEYOND
        found[some] = supports(p[:, None] * np.ldexp(high, power), p, sides)
    margin = 4 * _UNIT * (len(p) + 8)  # of numbers of size at most one
    base = mean_of(program.prior, per_mass)
    best = np.flatnonzero(found >= found.max() - 2 * margin)
    if program.forbidden is not None:
        high, low = high[:, best], low[:, best]
    elif len(best) * len(p) <= _EXACT_ENTRIES:
        high, low = difference(program.columns(best), per_mass[:, None])
    # What keeps forbidden entries out widens the margin.
    several = len(best) > _FEW_COLUMNS
    if several and (program.forbidden is not None or len(best) * len(p) <= _EXACT_ENTRIES):
        nearest = _largest_supports(program.prior, high, low, power, sides)
        best, high, low = best[nearest], high[:, nearest], low[:, nearest]
    if len(best) * len(p) > _EXACT_ENTRIES or not np.isfinite(found).all():
        top = Fraction(float(found.max())) + Fraction(margin)
        return base + top / Fraction(2) ** power
    limits = sides.lower, sides.upper, sides.ratio
    return base + max(
        column_supremum(program.prior, high[:, y], low[:, y], *limits) for y in range(len(best))
    )


def _kept_out(high: Array, low: Array, forbidden: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Reduced gains with far lower ones at entries that are zero: a price on these costs nothing
    and keeps them out of the supremum.
    """
    others = high[~forbidden]
    if not others.size:
        return high, low
    least = others.min() - _EXCLUDED * np.ptp(others)
    return np.where(forbidden, least, high), np.where(forbidden, 0.0, low)


def excluded(values: Array, forbidden: NDArray[np.bool_] | None) -> Array:
    """Values ``(n, M)`` with far lower ones at entries that are zero.

    A price on these costs nothing and keeps them out of every supremum.
    """
    if forbidden is None:
        return values
    size = float(abs(values).max())
    least = float(values.min()) - _EXCLUDED * (float(values.max()) - float(values.min()) + size)
    return np.where(forbidden, least, values)


def _largest_supports(
    prior: Prior, high: Array, low: Array, power: int, sides: TwoSided
) -> NDArray[np.intp]:
    """Which columns high + low can be the maximum, by the longest floats that the machine has."""
    long = np.longdouble
    masses = [prior.mass(x) for x in range(len(prior))]
    p = np.array([float(mass) for mass in masses]).astype(long)
    p += np.array([float(m - Fraction(float(m))) for m in masses])
    v = np.ldexp(high.astype(long) + low, power)
    found = supports(p[:, None] * v, p, sides)  # type: ignore[arg-type]
    margin = 4 * float(np.finfo(long).eps) * (len(p) + 8)
    return np.flatnonzero(~(found < found.max() - 2 * margin))


def supports(w: Array, p: Array, sides: TwoSided) -> Array:
    """sup{⟨w_y, k⟩ : k in the cone, pᵀk = 1} for each column of an ``(n, M)`` array, ``(M,)``."""
    n, m = w.shape
    step = max(1, _BLOCK // n)
    parts = [_supports(w[:, y : y + step], p, sides) for y in range(0, m, step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _supports(w: Array, p: Array, sides: TwoSided) -> Array:
    # Rows of contiguous memory sort several times faster; ties may fall either way.
    rows = np.ascontiguousarray(w.T)
    ratios = rows / p
    if sides.ratio == math.inf and not sides.has_lift_sides:
        return ratios.max(axis=1)
    if sides.ratio == math.inf and sides.upper == math.inf:
        return _pmc_support(rows, ratios, sides)
    order = np.argsort(-ratios, axis=1)
    found = []
    if sides.has_lift_sides and sides.upper == math.inf:
        found.append(_pmc_support(rows, ratios, sides))
    elif sides.has_lift_sides:
        found.append(_lift_support(rows, ratios, order, p, sides))
    if sides.ratio < math.inf:
        found.append(_ratio_support(rows, order, p, sides.ratio))
    if len(found) == 1:
        return found[0]
    return np.minimum(np.minimum(*found), _joint_support(rows, ratios, order, p, sides))


def _pmc_support(rows: Array, ratios: Array, sides: TwoSided) -> Array:
    """sup{⟨w, k⟩ : l ≤ k, pᵀk = 1} per row: all that is free goes to the best symbol."""
    return sides.lower * rows.sum(axis=1) + (1 - sides.lower) * ratios.max(axis=1)


def _lift_support(
    rows: Array,
    ratios: Array,
    order: NDArray[np.intp],
    p: Array,
    sides: TwoSided,
) -> Array:
    """sup{⟨w, k⟩ : l ≤ k ≤ h, pᵀk = 1} per row: a continuous knapsack, filled from the top.

    By weak duality with the value of the critical symbol as the price of mass: any price gives an
    upper bound, so rounding that picks another symbol does no harm.
    """
    room = (sides.upper - sides.lower) * p[order]
    ranked = _sorted(ratios, order)
    critical = (np.cumsum(room, axis=1) < 1 - sides.lower).sum(axis=1)
    price = ranked[np.arange(len(rows)), np.minimum(critical, len(p) - 1)]
    ranked -= price[:, None]
    np.maximum(ranked, 0.0, out=ranked)
    ranked *= room
    common = sides.lower * (rows.sum(axis=1) - price * p.sum())
    return np.asarray(price + common + ranked.sum(axis=1))


def _ratio_support(
    rows: Array,
    order: NDArray[np.intp],
    p: Array,
    ratio: float,
) -> Array:
    """sup{⟨w, k⟩ : max k ≤ r min k, pᵀk = 1} per row: the best threshold on w/p."""
    gained = np.cumsum(_sorted(rows, order), axis=1)
    mass = np.cumsum(p[order], axis=1)
    total = rows.sum(axis=1)
    # Divided through by r, so that large ratios stay finite.
    low = 1 / ratio
    gained *= 1 - low
    gained += (low * total)[:, None]
    mass *= 1 - low
    mass += low * p.sum()
    gained /= mass
    return np.maximum(gained.max(axis=1), total / p.sum())


def _joint_support(
    rows: Array, ratios: Array, order: NDArray[np.intp], p: Array, sides: TwoSided
) -> Array:
    """sup{⟨w, k⟩ : l ≤ k ≤ h, max k ≤ r min k, pᵀk = 1} per row, by weak duality.

    Any price θ of mass gives the bound θ + max_t Σ max{(w − θp) k : t ≤ k ≤ min(h, r t)}. In t that
    is linear between corners, in θ convex and linear between values of w/p: the best price is one
    of these, or next to it where two corners give the same.
    """
    ends = corners(sides.lower, sides.upper, sides.ratio)
    pairs = [(float(lo), float(hi)) for lo, hi in ends]
    ranked, gained = _sorted(ratios, order), np.cumsum(_sorted(rows, order), axis=1)
    mass, total, whole = np.cumsum(p[order], axis=1), rows.sum(axis=1), p.sum()
    above = gained - ranked * mass
    below = (total[:, None] - gained) - ranked * (whole - mass)
    tops = ranked + np.max([lo * below + hi * above for lo, hi in pairs], axis=0)
    best, y = tops.argmin(axis=1), np.arange(len(rows))
    prices = [ranked[y, best]]
    # With j symbols above it a corner gives A + Bθ.
    for j in (best - 1, best):
        first = np.maximum(j, 0)
        taken = np.where(j < 0, 0.0, gained[y, first])
        held = np.where(j < 0, 0.0, mass[y, first])
        values = [lo * (total - taken) + hi * taken for lo, hi in pairs]
        slopes = [1 - lo * (whole - held) - hi * held for lo, hi in pairs]
        for a in range(len(pairs)):
            for b in range(a):
                rise = slopes[a] - slopes[b]
                even = np.where(rise == 0, 1.0, rise)
                found = (values[b] - values[a]) / even
                prices.append(np.where(rise == 0, prices[0], found))
    bounds = []
    for price in prices:
        # Anew from terms of one sign, which lose nothing where h is large.
        apart = ratios - price[:, None]
        over = np.einsum("yx,x->y", np.maximum(apart, 0.0), p)
        under = np.einsum("yx,x->y", np.minimum(apart, 0.0), p)
        bounds.append(price + np.max([lo * under + hi * over for lo, hi in pairs], axis=0))
    return np.asarray(np.min(bounds, axis=0))


def _sorted(rows: Array, order: NDArray[np.intp]) -> Array:
    return rows[np.arange(len(rows))[:, None], order]


# The least of several linear functions: for shares w ≥ 0 of sum one, min_i f_i(K) ≤ Σ_i w_i f_i(K),
# which is a linear utility. The shares are dual variables of the functions, of any quality.


def least_bound(program: LeastProgram, duals: Duals) -> tuple[Fraction, str]:
    """The smallest of the bounds that dual variables give, and which of them gave it."""
    found = [(min(program.exact_tops), "best output of every symbol")]
    bare = replace(duals, mixture=None, offset=0.0, power=0)
    for shares in _mixtures(program, duals.mixture):
        mixed = mixture(program, shares)
        if mixed is not None:
            bound, source = upper_bound(mixed.program, bare)
            found.append((bound + mixed.constant, source))
    return min(found)


def _mixtures(program: LeastProgram, given: Array | None) -> list[list[Fraction]]:
    """Shares that may be good: those given, and the same without the smallest."""
    if given is None:
        given = np.ones(len(program.alternatives))
    positive = np.where(np.isfinite(given) & (given > 0), given, 0.0)
    large = np.where(positive > _NOISE * positive.max(initial=0.0), positive, 0.0)
    found = []
    for numbers in [positive] if np.array_equal(positive, large) else [positive, large]:
        exact = [Fraction(w) for w in numbers.tolist()]
        total = sum(exact, Fraction(0))
        if total:
            found.append([w / total for w in exact])
    return found


def mixture(program: LeastProgram, shares: Sequence[Fraction]) -> Priced | None:
    """The linear program of Σ_i w_i f_i for shares of sum one; ``None`` beyond floats.

    Its gains are rounded, and ``constant`` has room for that beside what rows have in common.
    """
    n, m = program.shape
    total, counts = np.zeros((n, m)), np.zeros((n, 1))
    constant = Fraction(0)
    for share, one, floor, base in zip(
        shares, program.alternatives, program.floors, program.exact_bases, strict=True
    ):
        if share:
            factors = np.array([float(share * s) for s in one.factors])
            total[one.symbols] += factors[:, None] * (one.gains - floor[:, None])
            counts[one.symbols] += 1
            constant += share * base
    p = program.prior.probabilities[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        gains = total / np.where(p > 0, p, 1.0)
        # Rounding of masses, of each term, of their sum, and of the quotient.
        off = np.where(counts > 0, _UNIT * (counts + 8) * total + 4 * _SMALLEST, 0.0)
    if not (np.isfinite(gains).all() and np.isfinite(off).all()):
        return None
    lost = Fraction(float(off.max(axis=1).sum())) * (1 + Fraction(_UNIT) * (n + 4))
    return Priced(program.with_gains(gains), constant + lost)
