"""Sub-convex values as enclosures: two rationals that the exact number lies between.

Masses are rationals and kernel weights integers, so the deviation of a lift from one is an exact
rational. An f-information is then a sum of f at such numbers, in ball arithmetic, at a precision
that grows until the sum has its digits; where f is known in floats only, each of its values is a
ball wide enough for their rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..exact import ball_ends, nearest_float
from ..prior import Prior
from ..utility.sublinear import FInformation, SublinearUtility

#: Said of bounds that pricing of all extreme columns proves.
SEARCHED = "prices, by exhaustive search"
#: Said of bounds that another search from the same dual variables may not reach: relaxations end as
#: rounding and time have it.
RELAXED, CUT_SHORT = "by semidefinite relaxations", "by a search that its time limit ended"
#: Relative width of an enclosure, as a power of two, and the precisions tried to reach it.
_DIGITS = 70
_PRECISIONS = (192, 768, 3072, 12288)
_UNIT = 2.0**-52
# Sums of prior weights up to this are sums of machine integers.
_MACHINE = 1 << 62

#: One term of a sum: a factor and an exact deviation of a lift from one.
Term = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Enclosure:
    """Rationals with ``low <= number <= high``."""

    low: Fraction
    high: Fraction


def sums_up(utility: SublinearUtility) -> TypeGuard[FInformation]:
    """Whether a utility is the sum of its excess, and no other function of a column."""
    return isinstance(utility, FInformation) and type(utility).values is FInformation.values


def enclosed_sum(utility: FInformation, terms: Sequence[Term]) -> Enclosure | None:
    """Σ c F(d) over terms (c, d) with d ≥ −1; ``None`` where nothing finite can be said."""

    def total(curve: list[Any]) -> Any:
        return sum((as_ball(c) * f for (c, _), f in zip(terms, curve, strict=True)), as_ball(0))

    return enclosed(utility, [d for _, d in terms], total)


def enclosed(
    utility: FInformation, deviations: Sequence[Fraction], total: Callable[[list[Any]], Any]
) -> Enclosure | None:
    """A number made from F at exact deviations by ball arithmetic, with all the digits it needs.

    ``total`` makes a ball from the balls around F, and is asked again at higher precisions.
    """
    from flint import ctx

    found = None
    for precision in _PRECISIONS if utility.is_enclosed else _PRECISIONS[:1]:
        with ctx.workprec(precision):
            ball = total(utility.enclose(deviations))
            found = ball_ends(ball)
            if found is None or ball.is_exact() or ball.rel_accuracy_bits() >= _DIGITS:
                break
    return None if found is None else Enclosure(*found)


def as_ball(value: Fraction | int) -> Any:
    """A rational as a ball, at the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def kernel_enclosure(
    utility: SublinearUtility, prior: Prior, weights: NDArray[Any]
) -> Enclosure | None:
    """Σ_y μ(K_·y) for a kernel of integer weights, rows of equal sums, on the prior's symbols.

    A column function given in floats is allowed the rounding of sums over its symbols.
    """
    if not sums_up(utility):
        rows = weights.astype(float) / float(weights[0].astype(object).sum())
        return enclosed_floats(utility.values(rows, prior), len(prior))
    found = enclosed_sum(utility, _kernel_terms(prior, weights))
    # By Jensen's inequality it is not negative, whatever rounding leaves open.
    return found and Enclosure(max(found.low, Fraction(0)), found.high)


def enclosed_floats(values: NDArray[np.float64], symbols: int) -> Enclosure | None:
    """A sum of values of a column function, with an allowance for its rounding."""
    rounding = 8 * _UNIT * (symbols + 8) * float(np.abs(values).sum())
    if not np.isfinite(rounding):
        return None
    total = sum(map(Fraction, values.tolist()), Fraction(0))
    return Enclosure(total - Fraction(rounding), total + Fraction(rounding))


def _kernel_terms(prior: Prior, weights: NDArray[Any]) -> list[Term]:
    """Terms of Σ_y q_y Σ_x p_x F(k_xy/q_y − 1); equal entries of a column make one term."""
    total = prior.total
    row = int(weights[0].astype(object).sum())
    machine = total < _MACHINE
    masses = np.array(prior.weights, dtype=np.int64 if machine else object)
    terms: list[Term] = []
    for column in weights.T:
        order = np.argsort(column, kind="stable")
        ranked = column[order]
        starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        entries = ranked[starts].tolist()
        shares = np.add.reduceat(masses[order], starts).tolist()
        mass = sum(share * entry for share, entry in zip(shares, entries, strict=True))
        if not mass:
            continue
        output = Fraction(mass, row * total * total)
        terms += [
            (output * share, Fraction(entry * total - mass, mass))
            for share, entry in zip(shares, entries, strict=True)
            if share
        ]
    return terms


def revealed_enclosure(utility: SublinearUtility, prior: Prior) -> Enclosure | None:
    """Σ_x μ(e_x): every symbol revealed. No kernel has a larger value, as μ is subadditive."""
    if not sums_up(utility):
        return enclosed_floats(utility.values(np.eye(len(prior)), prior), len(prior))
    terms: list[Term] = []
    for weight, count in _counted(prior).items():
        p = Fraction(weight, prior.total)
        terms += [(count * p * p, 1 / p - 1), (count * p * (1 - p), Fraction(-1))]
    return enclosed_sum(utility, terms)


def simplex_enclosures(
    utility: FInformation, prior: Prior, lower: float, upper: float
) -> list[Enclosure | None]:
    """Mixtures of the vertices of the simplices that one side of a box of lifts leaves.

    With lifts up to h and h (1 − pmin) ≤ 1, a vertex has lifts h but for one symbol; with lifts
    from l on, it has lifts l but for one symbol. Other bounds only take away from the simplex.
    """
    sides = [Fraction(lower)] if lower > 0 else []
    least = Fraction(min(prior.weights), prior.total)
    if upper < float("inf") and Fraction(upper) * (1 - least) <= 1:
        sides.append(Fraction(upper))
    found = []
    for side in sides:
        terms: list[Term] = []
        for weight, count in _counted(prior).items():
            p = Fraction(weight, prior.total)
            own = (1 - side * (1 - p)) / p
            terms += [(count * p * p, own - 1), (count * p * (1 - p), side - 1)]
        found.append(enclosed_sum(utility, terms))
    return found


def edges_enclosure(
    utility: SublinearUtility, prior: Prior, rays: Sequence[Sequence[int]]
) -> Enclosure | None:
    """The mixture of the two extreme columns of a cone for two symbols.

    A column function given in floats has columns that are rounded once, and the allowance of sums
    over its symbols.
    """
    shares = _edge_shares(rays)
    if not sums_up(utility):
        columns = [
            [nearest_float(share * k) for k in ray] for share, ray in zip(shares, rays, strict=True)
        ]
        return enclosed_floats(utility.values(np.array(columns).T, prior), len(prior))
    if len(rays) == 1:
        return enclosed_sum(utility, [])
    terms: list[Term] = []
    for share, ray in zip(shares, rays, strict=True):
        mass = sum(w * k for w, k in zip(prior.weights, ray, strict=True))
        output = share * Fraction(mass, prior.total)
        terms += [
            (output * prior.mass(x), Fraction(k * prior.total - mass, mass))
            for x, k in enumerate(ray)
        ]
    return enclosed_sum(utility, terms)


def _edge_shares(rays: Sequence[Sequence[int]]) -> list[Fraction]:
    """How much of each ray makes rows of sum one; a cone of one ray holds constants alone."""
    if len(rays) == 1:
        return [Fraction(1, rays[0][0])]
    (a, b), (c, d) = rays
    # m a + n c = 1 and m b + n d = 1
    determinant = a * d - b * c
    return [Fraction(d - c, determinant), Fraction(a - b, determinant)]


def _counted(prior: Prior) -> dict[int, int]:
    """How many symbols have each weight."""
    found: dict[int, int] = {}
    for weight in prior.weights:
        found[weight] = found.get(weight, 0) + 1
    return found
