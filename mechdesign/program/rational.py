"""Linear utilities in rationals: the value of a kernel, and support functions of a column.

Masses are integers over a total, kernel weights integers over a power of two and gains floats, so
that both are rational numbers. Sums run in machine integers where there are many terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import are_machine_weights, scaled, sums_of_products
from ..prior import Prior

Integers = Sequence[int]
Vector = NDArray[np.float64]


def mean_of(prior: Prior, values: Sequence[float] | NDArray[np.float64]) -> Fraction:
    """Σ_x p_x v_x for floats v, exactly."""
    terms = zip(prior.weights, np.asarray(values, dtype=float).tolist(), strict=True)
    parts: dict[int, int] = {}
    for weight, value in terms:
        numerator, denominator = value.as_integer_ratio()
        parts[denominator] = parts.get(denominator, 0) + weight * numerator
    # Denominators of floats are powers of two, so that the largest is common to all.
    common = max(parts, default=1)
    total = sum(top * (common // bottom) for bottom, top in parts.items())
    return Fraction(total, common * prior.total)


def kernel_mean(
    prior: Prior, weights: NDArray[Any], bits: int, gains: NDArray[np.float64]
) -> Fraction:
    """Σ_xy p_x u_xy K_xy for a kernel of integer weights over ``2**bits``, exactly."""
    return scaled_rows(prior.weights, weights, bits, gains) / prior.total


def scaled_rows(
    scales: Sequence[Any],
    weights: NDArray[Any],
    bits: int,
    gains: NDArray[np.float64],
) -> Fraction:
    """Σ_xy s_x u_xy K_xy for rows of integer weights over ``2**bits``, exactly.

    The s are integers or fractions.
    """
    if not are_machine_weights(weights):
        terms = (
            s * int(k) * Fraction(u)
            for s, row in zip(scales, zip(weights, gains.tolist(), strict=True), strict=True)
            for k, u in zip(*row, strict=True)
            if k
        )
        return sum(terms, Fraction(0)) / (1 << bits)
    sums, unit = _row_sums(weights, gains)
    return sum(map(mul, scales, sums)) * scaled(1, unit) / (1 << bits)


def _row_sums(weights: NDArray[Any], values: NDArray[np.float64]) -> tuple[list[int], int]:
    """Σ_y W_xy u_xy of each row, as :func:`mechdesign.exact.sums_of_products` gives them."""
    n, m = values.shape
    return sums_of_products(weights.ravel(), values.ravel(), np.repeat(np.arange(n), m), n)


def difference(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Floats ``high + low == first - second`` without any rounding, high the nearest to it.

    The rounding error of a difference of two floats is itself a float (Knuth).
    """
    high = first - second
    back = high - first
    low = (first - (high - back)) - (second + back)
    return high, low


def column_supremum(
    prior: Prior, high: Vector, low: Vector, lower: float, upper: float, ratio: float
) -> Fraction:
    """sup{Σ p_x v_x t_x : Σ p_x t_x = 1, l ≤ t ≤ h, max t ≤ r min t}, in rationals.

    For v the exact sum of two floats.
    """
    # Denominators of floats are powers of two, so that the largest is common to all.
    parts = [v.as_integer_ratio() for v in high.tolist()]
    more = [v.as_integer_ratio() for v in low.tolist()]
    scale = max(max(d for _, d in parts), max(d for _, d in more))
    v = [
        n * (scale // d) + (m * (scale // e) if m else 0)
        for (n, d), (m, e) in zip(parts, more, strict=True)
    ]
    order = sorted(range(len(v)), key=v.__getitem__, reverse=True)
    found = []
    if lower > 0 or upper < math.inf or ratio == math.inf:
        found.append(_in_a_box(prior, v, order, lower, upper))
    if ratio < math.inf:
        found.append(_of_a_ratio(prior, v, order, Fraction(ratio)))
    if len(found) > 1:
        found.append(_of_both(prior, v, order, corners(lower, upper, ratio)))
    return min(found) / scale


def corners(lower: float, upper: float, ratio: float) -> list[tuple[Fraction, Fraction]]:
    """Pairs t and min(h, r t) between which both are linear in the least entry t of a column of
    mean one with l ≤ k ≤ h and max k ≤ r min k; exact for these floats, r finite.
    """
    low, spread = Fraction(lower), Fraction(ratio)
    high = spread if upper == math.inf else min(Fraction(upper), spread)
    least, turn = max(low, 1 / spread), high / spread
    pairs = [(least, min(high, spread * least)), (Fraction(1), high)]
    return [*pairs, (turn, high)] if least < turn < 1 else pairs


def _in_a_box(
    prior: Prior, v: Integers, order: Sequence[int], lower: float, upper: float
) -> Fraction:
    """Weak duality with the value of the critical symbol as the price of mass: for any θ,
    Σ p v t ≤ θ + l Σ p (v − θ) + (h − l) Σ p max(v − θ, 0).
    """
    w, low = prior.weights, Fraction(lower)
    price = v[order[0]]
    above = Fraction(0)
    if upper < math.inf:
        room = Fraction(upper) - low
        # The knapsack is full once the symbols from the top have the mass (1 − l)/(h − l).
        most = math.ceil((1 - low) / room * prior.total) if room else prior.total
        taken = 0
        for x in order:
            price = v[x]
            taken += w[x]
            if taken >= most:
                break
        above = room * sum(w[x] * (v[x] - price) for x in order if v[x] > price) / prior.total
    mean = Fraction(sum(a * b for a, b in zip(w, v, strict=True)), prior.total)
    return price + low * (mean - price) + above


def _of_a_ratio(prior: Prior, v: Integers, order: Sequence[int], ratio: Fraction) -> Fraction:
    """The best of the means that give the symbols from the top r times the weight of the others.

    Means rise as long as the next symbol lies above the mean so far; the last one is the supremum.
    """
    w, more, less = prior.weights, ratio.numerator - ratio.denominator, ratio.denominator
    mass = less * prior.total
    total = less * sum(a * b for a, b in zip(w, v, strict=True))
    for x in order:
        if v[x] * mass <= total:
            break
        mass += more * w[x]
        total += more * w[x] * v[x]
    return Fraction(total, mass)


def _of_both(
    prior: Prior, v: Integers, order: Sequence[int], corners: Sequence[tuple[Fraction, Fraction]]
) -> Fraction:
    """Weak duality with the best price of mass: for any θ, and t' ≤ t ≤ t″ with corners in
    between, Σ p v t ≤ θ + max over corners of t' Σ p min(v − θ, 0) + t″ Σ p max(v − θ, 0).

    Between values of v every corner is linear in θ, and their maximum is convex.
    """
    w, total = prior.weights, prior.total
    mean = sum(a * b for a, b in zip(w, v, strict=True))
    # In units of one over this times the total mass, values and slopes are whole numbers.
    unit = math.lcm(*(side.denominator for pair in corners for side in pair))
    ends = [(int(lo * unit), int(hi * unit)) for lo, hi in corners]
    lines: list[list[tuple[int, int]]] = []
    tops: list[int] = []
    taken = mass = 0
    for x in [None, *order]:
        if x is not None:
            taken, mass = taken + w[x] * v[x], mass + w[x]
        lines.append(
            [
                (
                    lo * (mean - taken) + hi * taken,
                    unit * total - lo * (total - mass) - hi * mass,
                )
                for lo, hi in ends
            ]
        )
        if x is None:
            continue
        tops.append(max(a + b * v[x] for a, b in lines[-1]))
        if len(tops) > 1 and tops[-1] > tops[-2]:
            break
    best = min(range(len(tops)), key=tops.__getitem__)
    found = [Fraction(tops[best])]
    # Next to the best value two corners may cross; beyond the interval lines say nothing.
    for low, high, across in (
        (v[order[best]], v[order[best - 1]] if best else None, lines[best]),
        (v[order[best + 1]] if best + 1 < len(v) else None, v[order[best]], lines[best + 1]),
    ):
        for i, (a, b) in enumerate(across):
            for c, d in across[:i]:
                price = Fraction(c - a, b - d) if b != d else Fraction(v[order[best]])
                if (low is None or low <= price) and (high is None or price <= high):
                    found.append(max(e + f * price for e, f in across))
    return min(found) / (unit * total)
