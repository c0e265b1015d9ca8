"""Cyclic designs: permutations of one column that estimate as well as all of them, N²/2 at most.

The rotations of a column r make Σ r rᵀ circulant: its entry at distance δ is Σ_x r_x r_{x+δ}. Some
permutations of r are taken with their rotations, in shares for which these N/2 sums are all alike,
as they are where all permutations are taken: a pairwise balanced design with weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

# Permutations that are tried at first, for each symbol, and how often twice as many are.
_TRIED, _DOUBLED = 8, 4
# How far sums at different distances may be apart, as a share of their size.
_SAME = 1e-13
_SEED = 17


def most_outputs(n: int) -> int:
    """How many outputs a cyclic design of n symbols has at most."""
    return n * max(n // 2, 1)


def cyclic_design(lifts: Vector) -> tuple[Vector, Vector] | None:
    """Permutations of a column and their masses, under which all pairs of symbols count alike.

    Parameters
    ----------
    lifts : ``(n,)`` the column r

    Returns
    -------
    rows ``(m, n)``, all rotations of one after those of another, and masses ``(m,)`` of sum one
    with Σ q r_x r_z the same for all pairs of symbols; ``None`` where none were found
    """
    from scipy.optimize import linprog

    n = len(lifts)
    rng = np.random.default_rng(_SEED)
    bases = np.zeros((0, n))
    for _ in range(_DOUBLED):
        count = max(len(bases), _TRIED * n)
        bases = np.vstack([bases, rng.permuted(np.tile(lifts, (count, 1)), axis=1)])
        sums = _sums(bases)
        equal = (sums - _mean(lifts)) / np.abs(sums).max()
        rows = np.vstack([np.ones(len(bases)), equal.T])
        right = np.eye(1, len(rows))[0]
        found = linprog(rng.random(len(bases)), A_eq=rows, b_eq=right, method="highs-ds")
        if found.status == 0:
            used = np.flatnonzero(found.x > 1e-9)
            shares, *_ = np.linalg.lstsq(rows[:, used], right, rcond=None)
            off = float(np.abs(rows[:, used] @ shares - right).max())
            if shares.min() > 0 and off <= _SAME * n and n * len(used) <= most_outputs(n):
                turned = [np.roll(base, k) for base in bases[used] for k in range(n)]
                return np.array(turned), np.repeat(shares / (n * shares.sum()), n)
    return None


def _sums(bases: Vector) -> Vector:
    """Σ_x r_x r_{x+δ} at the distances δ from one to half of n, ``(m, n // 2)``."""
    n = bases.shape[1]
    shifted = [(bases * np.roll(bases, -k, axis=1)).sum(axis=1) for k in range(1, n // 2 + 1)]
    return np.array(shifted).reshape(-1, len(bases)).T


def _mean(lifts: Vector) -> float:
    """What all permutations give at every distance."""
    n = len(lifts)
    return float((lifts.sum() ** 2 - (lifts**2).sum()) / max(n - 1, 1))
