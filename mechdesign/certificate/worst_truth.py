"""Upper bounds for designs for the worst of several truths, that is lower bounds on that risk.

The worst risk over every distribution is at least the risk at one, so that the bound at the least
favourable truth holds. The worst of a list is at least every mean of the risks: with shares w, a
matrix Y_i and the loss A_i at each truth π_i, r = 1 + d, s_i = π_iᵀr and u_i = d − (π_iᵀd) 1, it is
at least Σ w_i 2 tr(A_i Y_i) less the maximum over extreme columns of
Σ w_i u_iᵀ(Y_i A_i Y_iᵀ)u_i/s_i − λᵀd.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..exact import ball_ends
from ..solve.column_generation.exact_columns import Deviations
from ..solve.estimation.pricing_mean import MeanPricing, too_many
from ..solve.method import Duals
from ..solve.worst_truth_program import WorstTruthProgram
from .enclosures import as_ball
from .estimation import Found, columns_outside, estimation_bound, exact_quadratic

_PRECISION = 256
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
    prices, inverse = duals.prices, duals.inverse
    if prices is None or inverse is None:
        return open_bound
    if not (np.isfinite(prices).all() and np.isfinite(inverse).all()):
        return open_bound
    columns = columns_outside(program)
    if columns is None:
        priced = priced_mean_bound(program, shares, duals)
        return open_bound if priced is None else min(open_bound, (priced, AT_SHARES))
    found = listed_mean_bound(program, shares, duals, columns)
    if found is None:
        return open_bound
    return min(open_bound, (found, AT_SHARES))


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


def listed_mean_bound(
    program: WorstTruthProgram,
    shares: Sequence[Fraction],
    duals: Duals,
    columns: Iterable[Deviations],
) -> Fraction | None:
    """The bound for a list of truths over given columns, which must be all extreme ones."""
    from flint import arb, arb_mat, ctx

    assert duals.prices is not None
    assert duals.inverse is not None
    n = len(program.prior)
    inverses = duals.inverse.reshape(-1, n, n)
    rows = list(dict.fromkeys(columns))
    with ctx.workprec(_PRECISION):
        table = arb_mat(len(rows), n, [as_ball(d) for row in rows for d in row])
        prices = arb_mat(n, 1, [arb(v) for v in duals.prices.tolist()])
        paid: list[Any] = [-cost for cost in (table * prices).entries()]
        total = arb(0)
        for one, share, given in zip(program.truths.listed, shares, inverses, strict=True):
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
