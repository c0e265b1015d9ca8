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
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from operator import mul

import numpy as np
from numpy.typing import NDArray

from ..exact import is_whole

Integers = NDArray[np.int64]

#: Divisors of N whose pairs are balanced in reasonable time.
MOST_DIVISORS = 64
# Placements that are drawn for each condition at first, and how often twice as many are.
_DRAWN, _DOUBLED, _SEED = 4, 5, 23
# Shares below which a placement is not used.
_USED = 1e-9


@dataclass(frozen=True)
class Placements:
    """Lists of elements, and how often each comes.

    Attributes
    ----------
    size : number of symbols N
    count : how many elements have the high weight
    elements : of each placement those with the high weight, then the one in the middle
    masses : of each placement, integers
    """

    size: int
    count: int
    elements: tuple[tuple[int, ...], ...]
    masses: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for numbers that make none, or placements that do not balance."""
        good = len(self.masses) == len(self.elements) and len(divisors(self.size)) <= MOST_DIVISORS
        good = good and all(is_whole(mass, 1, 1 << 8192) for mass in self.masses)
        length = len(self.elements[0])
        for each in self.elements:
            inside = all(is_whole(x, 0, self.size - 1) for x in each)
            good = good and inside and len(set(each)) == len(each) == length
        if not good or length - self.count not in (0, 1):
            raise ValueError("expected lists of elements and positive masses")
        for row in _excesses(self.size, self.count, self.elements):
            if sum(map(mul, self.masses, row)):
                raise ValueError("pairs of symbols are not balanced")

    @cached_property
    def ends(self) -> list[int]:
        """Sums of the masses up to each placement."""
        return [*accumulate(self.masses)]

    def at(self, words: NDArray[np.uint64], more: Callable[[int], int]) -> Integers:
        """The placement that each word of 64 bits decides on, with exactly their masses.

        Where an end lies inside of a word, ``more(row)`` is the place in it, a uniform integer
        below the sum of the masses.
        """
        inner, total = [end << 64 for end in self.ends[:-1]], self.ends[-1]
        cut = np.array([end // total for end in inner], dtype=np.uint64)
        found = np.searchsorted(cut, words)
        for row in np.flatnonzero(np.isin(words, cut)).tolist():
            found[row] = bisect_right(inner, int(words[row]) * total + more(row))
        return found


def divisors(size: int) -> list[int]:
    """All but one and the number itself: none of a prime."""
    small = [d for d in range(2, math.isqrt(size) + 1) if size % d == 0]
    return sorted({*small, *(size // d for d in small)})


@cache
def balanced(size: int, count: int, *, middle: bool) -> Placements | None:
    """Placements that balance all pairs; ``None`` where none are found.

    ``middle`` says whether the element after the high ones has a weight of its own.
    """
    from flint import fmpz_mat
    from scipy.optimize import linprog

    length, rng = count + middle, np.random.default_rng(_SEED)
    drawn, more = [tuple(range(length))], _DRAWN * len(divisors(size)) * (1 + middle)
    for _ in range(_DOUBLED):
        for _ in range(more if length > 1 else 0):
            drawn.append(tuple(rng.choice(size, length, replace=False).tolist()))
        excesses, more = _excesses(size, count, drawn), len(drawn)
        table = np.array([[1.0] * len(drawn), *excesses])
        table /= np.maximum(np.abs(table).max(axis=1, keepdims=True), 1.0)
        right = np.eye(1, len(table))[0]
        found = linprog(np.zeros(len(drawn)), A_eq=table, b_eq=right, method="highs-ds")
        if found.status == 0:
            used = np.flatnonzero(found.x > _USED).tolist()
            rows = [[row[b] for b in used] for row in excesses]
            basis, nullity = fmpz_mat(rows or [[0]]).nullspace()
            masses = [int(basis[i, 0]) for i in range(len(used))]
            common = math.gcd(*masses) * (1 if masses[0] > 0 else -1)
            masses = [mass // common for mass in masses]
            if nullity == 1 and min(masses) > 0:
                chosen = tuple(drawn[b] for b in used)
                return Placements(size, count, chosen, tuple(masses))
    return None


def _excesses(size: int, count: int, placements: Sequence[Sequence[int]]) -> list[list[int]]:
    """How many more pairs than by chance there are at each placement, times N − 1.

    For each divisor: pairs of high elements that are equal modulo it, and pairs of a high one and
    the middle one.
    """
    found, listed = [], np.array(placements, dtype=np.int64)
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
