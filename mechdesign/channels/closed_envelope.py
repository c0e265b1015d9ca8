"""Leakage envelopes that need no linear program, as fractions.

Up to the least leakage of an outcome the envelope is one, and above the largest it is zero: no
outcome of a post-processing leaks more than those it was made of. Where all outcomes leak the same
these two are the whole curve, a step. So it is with the extremal mechanisms of PML and PMC in the
first privacy region, and with randomised response under equal masses.

Randomised response with other masses has rows of two numbers, a for the truth and b < a for
anything else. The share of an outcome y that is used against a symbol x earns or costs

    K[x,y] − e^ε q[y]     (PML),          q[y] − e^ε K[x,y]     (PMC),

and what a symbol earns with some outcomes it may spend on others. Under PML an outcome earns only
about its own symbol, and what it costs others does not depend on who uses it; under PMC it earns
about any symbol but its own, where it costs the least. So all that is earned is one budget, spent
first on outcomes that bring the most probability for their cost: a knapsack that may be filled with
parts, rarest outcomes first under PML and likeliest first under PMC.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = Sequence[Fraction]


def closed_envelope(
    rows: Sequence[Row], masses: Row, factor: Fraction, *, risk_averse: bool
) -> Fraction | None:
    """The envelope at the level log ``factor``, ``None`` for kernels that it is not known of.

    Parameters
    ----------
    rows : likelihoods of the outcomes that can occur, for each symbol of positive mass
    masses : probabilities of these outcomes
    factor : e^ε
    risk_averse : as in :func:`mechdesign.leakage_envelope`
    """
    columns = list(zip(*rows, strict=True))
    # Ratios max K/q, or q/min K, as pairs that are compared crosswise.
    tops = [
        (mass, min(column)) if risk_averse else (max(column), mass)
        for column, mass in zip(columns, masses, strict=True)
    ]
    reached = [above >= factor * below for above, below in tops]
    if all(reached) or not any(reached):
        return Fraction(int(reached[0]))
    own = _response(rows)
    if own is None:
        return None
    truth, other = own
    if risk_averse:
        return _of_costs(truth, other, masses, factor)
    return _of_gains(truth, other, masses, factor)


def _response(rows: Sequence[Row]) -> tuple[Fraction, Fraction] | None:
    """Both numbers of a randomised response whose outcomes are in the order of its symbols."""
    size = len(rows)
    if size < 2 or any(len(row) != size for row in rows):
        return None
    truth, other = rows[0][0], rows[0][1]
    is_one = truth > other and all(
        value == (truth if x == y else other)
        for x, row in enumerate(rows)
        for y, value in enumerate(row)
    )
    return (truth, other) if is_one else None


def _of_gains(truth: Fraction, other: Fraction, masses: Row, factor: Fraction) -> Fraction:
    earned = [truth - factor * q for q in masses]
    budget = sum((v for v in earned if v >= 0), Fraction(0))
    found = sum((q for q, v in zip(masses, earned, strict=True) if v >= 0), Fraction(0))
    left = sorted(q for q, v in zip(masses, earned, strict=True) if v < 0)
    return found + _filled(budget, [(q, factor * q - other) for q in left])


def _of_costs(truth: Fraction, other: Fraction, masses: Row, factor: Fraction) -> Fraction:
    earned = [q - factor * other for q in masses]
    budget = sum((v for v in earned if v >= 0), Fraction(0))
    found = sum((q for q, v in zip(masses, earned, strict=True) if v >= 0), Fraction(0))
    left = sorted((q for q, v in zip(masses, earned, strict=True) if v < 0), reverse=True)
    # Of two symbols the one that earns by the other outcome has to spend on its own.
    price = truth if len(masses) == 2 else other
    return found + _filled(budget, [(q, factor * price - q) for q in left])


def _filled(budget: Fraction, offers: list[tuple[Fraction, Fraction]]) -> Fraction:
    """What a budget buys of offers (probability, cost) in their order, parts of them too."""
    found = Fraction(0)
    for mass, cost in offers:
        if cost >= budget:
            return found + mass * budget / cost
        budget -= cost
        found += mass
    return found
