"""From one column to a whole mechanism: the column, made small, and its complement.

A cone of the likelihood family holds the constant columns in its inside (at positive levels), so
1 − c·k lies in it when c is small. The result is stored in integers and checked exactly.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..certificate.shape import inner_factor
from ..exact import Verdict
from ..mechanism import Mechanism
from .exact_cone import ExactCone

Column = list[Fraction]

# Bits that the smallest positive entry of a witness has, at least.
_BITS = 160


def complete(column: Column, cone: ExactCone) -> Mechanism | None:
    """A mechanism that satisfies the notions of the cone exactly and has nearly this column.

    Its outputs are ``"witness"`` and ``"else"``. A column that a solver left a trace outside the
    cone is moved inside by adding a constant; ``None`` when no constant is enough.
    """
    scale = max(column)
    if scale <= 0:
        return None
    column = [v / scale for v in column]
    missing = _missing(column, cone)
    if missing is None:
        return None
    column = [(v + missing) / (1 + missing) for v in column]
    size = _room(column, cone)
    least = min(v for v in column if v > 0) * size
    bits = _BITS + max(0, least.denominator.bit_length() - least.numerator.bit_length())
    weights = [int(v * size * (1 << bits)) for v in column]
    return _mechanism(weights, bits, cone)


def _missing(column: Column, cone: ExactCone) -> Fraction | None:
    """The constant c for which column + c lies a little inside the cone."""
    added = Fraction(0)
    for group in cone.demands:
        inner = inner_factor(group.level)
        over = max(mu.dot(column) for mu in group.over)
        excess = over - inner * min(nu.dot(column) for nu in group.under)
        if excess > 0:
            if inner == 1:
                return None
            added = max(added, excess / (inner - 1))
    return added


def _mechanism(weights: list[int], bits: int, cone: ExactCone) -> Mechanism | None:
    one = 1 << bits
    # Symbols that no hypothesis names get the row of the first one that matters.
    place = dict(zip(cone.symbols, weights, strict=True))
    column = [place.get(x, weights[0]) for x in range(len(cone.prior))]
    rows = np.array([[w, one - w] for w in column], dtype=object)
    found = Mechanism.from_weights(rows, bits, cone.prior.labels, ("witness", "else"))
    checks = (notion.check(found, cone.prior).verdict for notion in cone.notions)
    return found if all(verdict is Verdict.YES for verdict in checks) else None


def _room(column: Column, cone: ExactCone) -> Fraction:
    """A size c such that 1 − c·k lies well inside the cone, at most a half."""
    size = Fraction(1, 2)
    for group in cone.demands:
        inner = inner_factor(group.level)
        spare = inner - 1
        most = max(nu.dot(column) for nu in group.under)
        pull = inner * most - min(mu.dot(column) for mu in group.over)
        if pull > 0 and spare > 0:
            size = min(size, spare / pull / 2)
    return size
