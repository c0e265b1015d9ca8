"""The error of estimated frequencies, exactly, and the least that any kernel has.

Of n reports y with residues s, the estimate of the share of symbol x is

    1/v + (v − 1)/v · mean of (ρ(s) − 1)/κ,        v = q^m, κ the second moment of the class of y.

Characters of the points make it unbiased for every distribution on them. Its variance is
a + Σ_i b_i (π ∗ χ_i)(x) at the symbol x, with χ_i the mean of the characters of class i.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .family import AffineFamily, Floats
from .profile import Family, LiftBounds, Profile


def scores(family: Family, profiles: Sequence[Profile]) -> Floats:
    """(v − 1)/v · (ρ(s) − 1)/κ for each class and residue, ``(m, q)``, rows of mean zero."""
    v = family.points
    rows = [(p.ratios - 1) / float(p.moment(2)) for p in profiles]
    centred = np.array(rows) - np.mean(rows, axis=1, keepdims=True)
    return np.asarray(centred * (v - 1) / v)


def coefficients(family: Family, profiles: Sequence[Profile]) -> tuple[Fraction, list[Fraction]]:
    """The numbers a and b_i, exact."""
    v = family.points
    scale = Fraction(v - 1, v) ** 2
    constant, slopes = Fraction(0), []
    for i, profile in enumerate(profiles):
        share = Fraction(*family.class_share(i))
        second = profile.moment(2)
        constant += scale * share / second
        slopes.append(scale * share * profile.moment(3) / second**2)
    return constant, slopes


def uniform_risk(family: Family, profiles: Sequence[Profile]) -> Fraction:
    """N times the mean squared error, summed over the symbols, where all are equally frequent."""
    n, q, v = family.size, family.base, family.points
    constant, slopes = coefficients(family, profiles)
    # Pairs of symbols whose digits agree from position i on.
    pairs = [(n // w) * w * w + (n % w) ** 2 for w in family.powers]
    total = n * constant
    for i, slope in enumerate(slopes):
        total += slope * (pairs[i] - Fraction(pairs[i + 1] - pairs[i], q - 1)) / n
    return total - (Fraction(1, n) - Fraction(2, v) + Fraction(n, v * v))


def variances(family: Family, profiles: Sequence[Profile], truth: Floats) -> Floats:
    """N times the variance of the estimate of each symbol's share at a distribution, ``(N,)``."""
    q, v = family.base, family.points
    constant, slopes = coefficients(family, profiles)
    found = np.full(family.size, float(constant))
    if not isinstance(family, AffineFamily) or len({p.values for p in profiles}) == 1:
        # The classes together: every character but the constant one.
        found += float(sum(slopes)) * (v * truth - truth.sum()) / (v - 1)
    else:
        inner = truth
        for i, slope in enumerate(slopes):
            outer = family.cell_masses(truth, i + 1)
            found += float(slope) * (inner - (outer - inner) / (q - 1))
            inner = outer
    return np.maximum(found - (truth - 1 / v) ** 2, 0.0)


def worst_variance(family: Family, profiles: Sequence[Profile]) -> float:
    """The largest n times the variance of any symbol's estimate over all distributions.

    With share p of the symbol the others add most where all of them differ from it in the same
    digit, and what is left is concave in p.
    """
    q, v = family.base, family.points
    constant, slopes = coefficients(family, profiles)
    same = sum(slopes, Fraction(0))
    others = [sum(slopes[k + 1 :], -slopes[k] / (q - 1)) for k in range(len(slopes))]
    most = max(others)
    # constant + p·same + (1 − p)·most − (p − 1/v)².
    share = min(max((same - most) / 2 + Fraction(1, v), Fraction(0)), Fraction(1))
    return float(constant + share * same + (1 - share) * most - (share - Fraction(1, v)) ** 2)


def least_risk(symbols: int, bounds: LiftBounds) -> Fraction:
    """A lower bound on the risk of every kernel that keeps bounds, all symbols equally frequent.

    Permuting the symbols of a kernel at random changes neither levels nor, as the risk is convex,
    the least risk; the information of such a kernel has one eigenvalue on contrasts, so that
    risk ≥ (N − 1)²/V with V the largest Σ (r_x − 1)² of a column of mean one that keeps the bounds
    ([YeBarg2018] for LDP). ``bounds`` are those of the levels or outside of them.
    """
    n = symbols
    found = _largest_spreads(n, bounds)
    largest = min([bounds.chord(n), *([max(found)] if found else [])])
    return Fraction((n - 1) ** 2) / largest


def _largest_spreads(n: int, bounds: LiftBounds) -> list[Fraction]:
    """Σ (r − 1)² of the extreme columns r of mean one, the largest of each kind.

    With the least entry ℓ beside r, vertices have ℓ at its lower end, or the entries between ℓ and
    the upper end, or else two values only, ℓ and c times ℓ.
    """
    low, c = min(bounds.lower, Fraction(1)), bounds.ratio
    high = n - (n - 1) * low
    if bounds.upper is not None:
        high = min(high, max(bounds.upper, Fraction(1)))
    if c is None or high <= c * low:
        return [_three_levels(n, low, high)]
    if c <= 1:
        return [Fraction(0)]
    found = []
    if c * low >= 1:
        found.append(_three_levels(n, low, c * low))
    if high <= c:
        found.append(_three_levels(n, high / c, high))
    # Of two values with d entries up, ℓ is n/(n + d(c − 1)).
    fewest = max(1, math.ceil(n * (c / high - 1) / (c - 1)))
    most = min(n - 1, math.floor(n * (1 / low - 1) / (c - 1)) if low else n - 1)
    if fewest <= most:
        found.append(_two_levels(n, c, fewest, most))
    return found


def _two_levels(n: int, ratio: Fraction, fewest: int, most: int) -> Fraction:
    """Σ (r − 1)² with d entries c times the others, for the best d from the fewest to the most.

    It is n f(1 − f)(c − 1)²/(fc + 1 − f)², f = d/n, which has its only maximum at 1/(c + 1).
    """
    middle = int(n / (ratio + 1))
    found = []
    for d in {min(max(d, fewest), most) for d in (middle, middle + 1)}:
        share = Fraction(d, n)
        spread = (ratio - 1) / (share * ratio + 1 - share)
        found.append(n * share * (1 - share) * spread**2)
    return max(found)


def _three_levels(n: int, lower: Fraction, upper: Fraction) -> Fraction:
    """Σ (r − 1)² with as many entries as possible at the upper end and one between the ends."""
    low = min(lower, Fraction(1))
    high = min(max(upper, Fraction(1)), n - (n - 1) * low)
    if high == low:
        return Fraction(0)
    count = min(int((1 - low) * n / (high - low)), n - 1)
    rest = n - count * high - (n - count - 1) * low
    return count * (high - 1) ** 2 + (rest - 1) ** 2 + (n - count - 1) * (1 - low) ** 2
