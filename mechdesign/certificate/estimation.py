"""Upper bounds for designs for estimates, that is lower bounds on their risk, proved afresh.

For any matrix Y and prices λ, with r = 1 + d the columns of mass one under the prior, s = πᵀr and
u = d − (πᵀd) 1, every kernel in the cone has a risk of at least::

    2 tr(A Y) − max over extreme columns of  uᵀ(Y A Yᵀ)u / s − λᵀd

by weak duality, as A is centred (Aπ = 0): for every V, tr(A J⁻¹) ≥ 2 tr(A V) − tr(A VᵀJV), here
with V = (I − π1ᵀ)Y. The constant column counts as one with the value zero. A saved design carries Y
and λ; everything is rational but what is left to balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import clock
from ..errors import SolverError
from ..exact import ball_ends
from ..linear.threads import one_thread
from ..privacy.constraint import Rounding
from ..program.duals import Duals
from ..program.enclosures import RELAXED, SEARCHED, as_ball
from ..program.program import SEARCHING, EstimationProgram, TwoSided
from ..program.worst import WorstTruthProgram
from ..utility.survey import Survey, as_fraction, as_rational
from .columns.exact_columns import Deviations, columns_of_cone, too_large
from .lifts import LiftBounds, least_risk
from .quadratic.cones import wider_cones
from .quadratic.mean import MeanPricing, too_many
from .quadratic.pricing import QuadraticPricing
from .shape import sides_outside

_PRECISION = 256
# Share of the value that a search for a bound may leave.
_FINE = Fraction(1, 10**7)
# What another proof must promise beyond that of a relaxed design, as a share of the value.
_ENOUGH = 1e-6
# Reduced values below this share of the risk are none.
_NONE = 1e-11
# Where a bound comes from that a relaxed design proves.
_BY_DESIGN = f"a relaxed design, {RELAXED}"
#: A bound and where it comes from.
Found = tuple[Fraction, str]


def estimation_bound(program: EstimationProgram, duals: Duals, value: float) -> Found:
    """The smallest bound on minus the risk that can be proved, and how.

    ``value`` is what a kernel has; a search for the bound ends near it.
    """
    found = [(-program.survey.open_risk, "every symbol revealed")]
    even = symmetric_bound(program)
    if even is not None:
        found.append((even, "symmetry"))
        if float(even) - value <= _NONE * abs(value):
            return min(found)
    priced = _priced(program, duals, value)
    return min([*found, *([] if priced is None else [priced])])


def symmetric_bound(program: EstimationProgram) -> Fraction | None:
    """Minus the least risk where prior, truth and loss treat all symbols alike; ``None`` elsewhere.

    Averaging over all permutations of the symbols costs no kernel anything, and leaves a single
    eigenvalue of its information on contrasts, of which the least risk for all frequencies follows
    (:func:`~mechdesign.certificate.lifts.least_risk`); here at or outside the bounds.
    """
    survey, n = program.survey, len(program.prior)
    if n < 2 or not treats_alike(program):
        return None
    sides = sides_outside(program.cone)
    if sides is None:
        return None
    bounds = LiftBounds(
        Fraction(sides.lower),
        None if sides.upper == math.inf else Fraction(sides.upper),
        None if sides.ratio == math.inf else Fraction(sides.ratio),
    )
    if bounds.largest_spread(n) == 0:
        return None
    # The loss of all frequencies has a trace of N − 1.
    trace = sum((row[x] for x, row in enumerate(survey.loss)), Fraction(0))
    return -least_risk(n, bounds) * trace / (n - 1)


def _priced(program: EstimationProgram, duals: Duals, value: float) -> Found | None:
    if not _are_numbers(duals):
        return None
    columns = columns_outside(program)
    if columns is not None:
        bound = listed_bound(duals, columns, [program.survey])
        return None if bound is None else (bound, "prices, over all extreme columns")
    with one_thread():
        return searched_bound(*_at_truth(program, duals, value), value)


def _are_numbers(duals: Duals) -> bool:
    """Whether there are prices and an inverse, all of them finite."""
    given = duals.prices, duals.inverse
    return all(numbers is not None and bool(np.isfinite(numbers).all()) for numbers in given)


def _at_truth(
    program: EstimationProgram, duals: Duals, value: float
) -> tuple[EstimationProgram, Duals]:
    """The same bound for columns that are normalised by the truth, where the bounds allow that.

    Prices λ of columns with pᵀr = 1 leave a reduced value of at most some t. λ + tp leave none,
    so that they bound columns of any other size as well.
    """
    assert duals.prices is not None
    assert duals.inverse is not None
    prior, survey = program.prior, program.survey
    other = program.with_truth_as_prior()
    if other is None or survey.truth == tuple(prior.mass(x) for x in range(len(prior))):
        return program, duals
    twice = 2 * float(np.vdot(survey.losses, duals.inverse))
    left = twice + value - float(duals.prices.sum())
    if not math.isfinite(left) or abs(left) <= _NONE * abs(twice):
        return other, duals
    return other, replace(duals, prices=duals.prices + left * prior.probabilities)


def searched_bound(program: EstimationProgram, duals: Duals, value: float) -> Found | None:
    """The bound on minus the risk by pricing, and how; ``None`` where there is none."""
    assert duals.prices is not None
    assert duals.inverse is not None
    survey = program.survey
    square, twice = exact_quadratic(survey, duals.inverse)
    prices = [Fraction(v) for v in duals.prices.tolist()]
    level = twice - sum(prices)
    target = level + Fraction(value) * (1 - _FINE) if math.isfinite(value) else Fraction(0)
    deadline = clock.now() + (1 - SEARCHING) * program.time_limit
    pricing = QuadraticPricing(program.cone, survey.truth)
    listed = pricing.lists(square, prices)
    found = None if listed else _design_bound(program, pricing, deadline)
    if found is not None:
        _, values = pricing.search(square, prices, np.zeros((len(survey), 0)), deadline=deadline)
        room = Fraction(_ENOUGH) * abs(found)
        if not Fraction(float(values[0])) - level < found - room:
            return found, _BY_DESIGN  # no proof from the dual variables is a better one
    if not listed and found is None:
        # For a part of what is asked a relaxed design may prove more than prices do for all of it.
        parts = [QuadraticPricing(wider, survey.truth) for wider in wider_cones(program.cone)]
        proved = [_design_bound(program, part, deadline) for part in parts]
        found = min((v for v in proved if v is not None), default=None)
    try:
        above, _ = pricing.bound(square, prices, target, deadline)
    except SolverError:  # for so many columns of this cone no bound is known
        return None if found is None else (found, _BY_DESIGN)
    if listed:
        return above - level, SEARCHED
    priced = above - level, f"prices, {RELAXED}"
    return priced if found is None else min(priced, (found, _BY_DESIGN))


def _design_bound(
    program: EstimationProgram, pricing: QuadraticPricing, deadline: float
) -> Fraction | None:
    """The bound of a relaxed design, made afresh: it brings the multipliers that prove it."""
    design = pricing.relaxed(program.survey.losses, deadline)
    if design is None or not np.isfinite(design.inverse).all():
        return None
    square, twice = exact_quadratic(program.survey, design.inverse)
    prices = [Fraction(v) for v in design.prices.tolist()]
    above = pricing.design_bound(design, square, prices)
    return None if above is None else above + sum(prices) - twice


def exact_quadratic(
    survey: Survey, inverse: NDArray[np.float64]
) -> tuple[list[list[Fraction]], Fraction]:
    """G with rᵀGr/(πᵀr) = uᵀ(Y A Yᵀ)u/s, and 2 tr(A Y), exactly."""
    from flint import fmpq_mat

    n = len(survey.truth)
    loss = fmpq_mat(n, n, [as_rational(v) for row in survey.loss for v in row])
    exact = fmpq_mat(n, n, [as_rational(Fraction(v)) for v in inverse.ravel().tolist()])
    centre = fmpq_mat(
        n, n, [int(x == z) - as_rational(p) for x in range(n) for z, p in enumerate(survey.truth)]
    )
    root = exact.transpose() * centre
    square = (root.transpose() * loss * root).tolist()
    trace = loss * exact
    twice = 2 * sum((as_fraction(trace[x, x]) for x in range(n)), Fraction(0))
    return [[as_fraction(v) for v in row] for row in square], twice


def columns_outside(program: EstimationProgram) -> Iterable[Deviations] | None:
    """Every extreme column at or outside the bounds; ``None`` where there are too many."""
    sides = sides_outside(program.cone)
    if not are_listed(program, sides):
        return None
    try:
        found = columns_of_cone(program.cone, sides, Rounding.OUTSIDE)
        return (column for column in found if program.keeps_apart(column))
    except SolverError:
        return None  # there are too many to list


def listed_bound(
    duals: Duals,
    columns: Iterable[Deviations],
    surveys: Sequence[Survey],
    shares: Sequence[Fraction] = (Fraction(1),),
) -> Fraction | None:
    """The bound on minus the mean of risks, by their shares, over given columns, which must be all
    extreme ones.
    """
    from flint import arb, arb_mat, ctx

    assert duals.prices is not None
    assert duals.inverse is not None
    n = len(duals.prices)
    inverses = duals.inverse.reshape(-1, n, n)
    rows = list(columns)
    with ctx.workprec(_PRECISION):
        # A few numbers stand for many symbols of a column.
        balls = {id(d): d for row in rows for d in row}
        balls = {place: as_ball(d) for place, d in balls.items()}
        table = arb_mat(len(rows), n, [balls[id(d)] for row in rows for d in row])
        prices = arb_mat(n, 1, [arb(v) for v in duals.prices.tolist()])
        paid: list[Any] = [-cost for cost in (table * prices).entries()]
        total = arb(0)
        for one, share, given in zip(surveys, shares, inverses, strict=True):
            loss = arb_mat(n, n, [as_ball(v) for row in one.loss for v in row])
            inverse = arb_mat(n, n, [arb(v) for v in given.ravel().tolist()])
            inner = inverse * loss * inverse.transpose()
            truth = arb_mat(n, 1, list(map(as_ball, one.truth)))
            weight = as_ball(share)
            masses = table * truth
            spread = table - masses * arb_mat(1, n, [1] * n)
            both = zip(spread.tolist(), (spread * inner).tolist(), masses.entries(), strict=True)
            for i, (u, weighed, mass) in enumerate(both):
                value = sum((a * b for a, b in zip(u, weighed, strict=True)), arb(0))
                paid[i] += weight * value / (1 + mass)
            total += 2 * weight * (loss * inverse).trace()
        largest = arb(0)
        for value in paid:
            largest = largest.max(value)
        ends = ball_ends(largest - total)
    return None if ends is None else ends[1]


#: Symbols up to which all extreme columns are mixed at once, and rows of cones of any kind.
MOST_LISTED, MOST_ROWS = 10, 150


def are_listed(program: EstimationProgram, sides: TwoSided | None) -> bool:
    """Whether every extreme column of a cone is listed."""
    few = len(program.prior) <= MOST_LISTED and program.cone.count <= MOST_ROWS
    return few or too_large(program, sides) is None


def treats_alike(program: EstimationProgram) -> bool:
    """Whether prior, truth and loss stay the same under every permutation of the symbols."""
    survey = program.survey
    return program.prior.is_uniform and len(set(survey.truth)) == 1 and is_symmetric(survey.loss)


def is_symmetric(loss: tuple[tuple[Fraction, ...], ...]) -> bool:
    """Whether the errors of all symbols count alike, and those of all pairs."""
    n = len(loss)
    own = {loss[x][x] for x in range(n)}
    others = {loss[x][z] for x in range(n) for z in range(n) if x != z}
    return len(own) == 1 and len(others) <= 1


# The worst of several truths

#: Where the bound for a list of truths comes from.
AT_SHARES = "prices at the least favourable shares, all extreme columns"


def worst_truth_bound(program: WorstTruthProgram, duals: Duals, value: float) -> Found:
    """The smallest bound on minus the worst risk that can be proved, and how.

    ``value`` is what a kernel has; a search for the bound ends near it.
    """
    open_bound = -program.truths.open_risk, "every symbol revealed"
    shares = program.least_favourable(duals.mixture)
    if shares is None:
        return open_bound
    if program.truths.every:
        bound, source = estimation_bound(program.with_truth(shares), duals, value)
        return min(open_bound, (bound, f"{source}, at the least favourable truth"))
    if not _are_numbers(duals):
        return open_bound
    columns = columns_outside(program)
    if columns is None:
        found = priced_mean_bound(program, shares, duals)
    else:
        found = listed_bound(duals, columns, program.truths.listed, shares)
    return open_bound if found is None else min(open_bound, (found, AT_SHARES))


def priced_mean_bound(
    program: WorstTruthProgram, shares: Sequence[Fraction], duals: Duals
) -> Fraction | None:
    """The same where extreme columns are too many to be listed exactly; ``None`` where they are too
    many to be priced.
    """
    assert duals.prices is not None
    assert duals.inverse is not None
    if too_many(program.cone) is not None:
        return None
    n, listed = len(program.prior), program.truths.listed
    squares, total = [], -sum((Fraction(v) for v in duals.prices.tolist()), Fraction(0))
    for one, share, inverse in zip(listed, shares, duals.inverse.reshape(-1, n, n), strict=True):
        square, twice = exact_quadratic(one, inverse)
        squares.append([[share * v for v in row] for row in square])
        total += share * twice
    pricing = MeanPricing(program.cone, tuple(one.truth for one in listed))
    exact = [Fraction(v) for v in duals.prices.tolist()]
    return pricing.bound(squares, exact) - total
