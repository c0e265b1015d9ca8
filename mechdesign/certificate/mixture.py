"""Bounds on the least of several linear functions: no kernel exceeds those of any mixture.

For shares w ≥ 0 of sum one, min_i f_i(K) ≤ Σ_i w_i f_i(K), which is a linear utility, and every
bound for that is one for the least. The shares are dual variables of the functions, of any quality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..solve.least_program import LeastProgram
from ..solve.method import Duals
from .bounds import Priced, upper_bound

Array = NDArray[np.float64]

_UNIT = 2.0**-52
_SMALLEST = 2.0**-1074
# Shares below this part of the largest may be a solver's noise.
_NOISE = 1e-9


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
