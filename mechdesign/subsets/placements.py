"""Permutations of one column that balance all pairs of symbols exactly, for every number of them.

The symbols of a group are the integers modulo their number N. A *placement* lists the elements with
the high weights of a column, then the one with the middle weight, if any: an element has its place
in the list as its rank, and those that are not listed follow in their order. At a placement, a unit
u of the ring and a shift c, the rank of u·x + c is the *residue* of a symbol x. Placements have
masses, and beside that all reports are equally likely for the uniform distribution.

Over all u and c, two symbols come to every pair of elements whose difference has the same common
divisor with N as theirs equally often. So the levels of two symbols are distributed as for a random
permutation if, for each divisor of N, pairs of high elements (and those of a high and the middle
one) that are equal modulo it are as many as chance has them, in the mean over placements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from ..exact import is_whole

#: Lists of elements, and how often each comes.
Placements = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]

#: Divisors of N whose pairs are balanced in reasonable time.
MOST_DIVISORS = 64
# Placements that are drawn for each condition at first, and how often twice as many are.
_DRAWN, _DOUBLED, _SEED = 4, 5, 23
# Shares below which a placement is not used.
_USED = 1e-9


def divisors(size: int) -> list[int]:
    """All but one and the number itself: none of a prime."""
    small = [d for d in range(2, math.isqrt(size) + 1) if size % d == 0]
    return sorted({*small, *(size // d for d in small)})


@cache
def are_balanced(size: int, count: int, placements: Placements) -> bool:
    """Whether lists of elements, ``count`` of which are high ones, balance all pairs."""
    elements, masses = placements
    for each in elements:
        inside = all(is_whole(x, 0, size - 1) for x in each)
        if not inside or len(set(each)) != len(each) or len(each) - count not in (0, 1):
            return False
    are_masses = all(is_whole(mass, 1, 1 << 8192) for mass in masses)
    if not are_masses or len(masses) != len(elements) or len(divisors(size)) > MOST_DIVISORS:
        return False
    rows = np.array(_excesses(size, count, elements), dtype=object)
    return not (rows @ np.array(masses, dtype=object)).any()


@cache
def balanced(size: int, count: int, *, middle: bool) -> Placements:
    """Placements that balance all pairs; raises ``ValueError`` where none are found.

    ``middle`` says whether the element after the high ones has a weight of its own.
    """
    from flint import fmpz_mat
    from scipy.optimize import linprog

    length, rng = count + middle, np.random.default_rng(_SEED)
    drawn, more = [tuple(range(length))], _DRAWN * len(divisors(size)) * (1 + middle)
    for _ in range(_DOUBLED):
        drawn += [tuple(rng.choice(size, length, replace=False).tolist()) for _ in range(more)]
        drawn, more = [*dict.fromkeys(drawn)], len(drawn)
        excesses = _excesses(size, count, drawn)
        table = np.array([[1.0] * len(drawn), *excesses])
        table /= np.maximum(np.abs(table).max(axis=1, keepdims=True), 1.0)
        right = np.eye(1, len(table))[0]
        found = linprog(np.zeros(len(drawn)), A_eq=table, b_eq=right, method="highs-ds")
        if found.status == 0:
            used = np.flatnonzero(found.x > _USED).tolist()
            basis, nullity = fmpz_mat([[row[b] for b in used] for row in excesses]).nullspace()
            masses = [int(basis[i, 0]) for i in range(len(used))]
            common = math.gcd(*masses) * (1 if masses[0] > 0 else -1)
            if nullity == 1 and min(mass // common for mass in masses) > 0:
                return tuple(drawn[b] for b in used), tuple(mass // common for mass in masses)
    raise ValueError("no placements that balance all pairs")


def _excesses(size: int, count: int, elements: Sequence[Sequence[int]]) -> list[list[int]]:
    """How many more pairs than by chance there are at each placement, times N − 1.

    For each divisor: pairs of high elements that are equal modulo it, and pairs of a high one and
    the middle one.
    """
    found, listed = [], np.array(elements)
    for divisor in divisors(size):
        rest = listed % divisor
        high, by_chance = rest[:, :count], size // divisor - 1
        codes = high + divisor * np.arange(len(listed))[:, None]
        places, each = np.unique(codes, return_counts=True)
        pairs = np.bincount(places // divisor, each * (each - 1)).astype(np.int64)
        found.append((pairs * (size - 1) - count * (count - 1) * by_chance).tolist())
        if rest.shape[1] > count:
            pairs = (high == rest[:, count:]).sum(axis=1)
            found.append((pairs * (size - 1) - count * by_chance).tolist())
    return found
