"""Which symbols of a group a report raises: those whose residues have the high weights.

Symbols of a group are the first n points of Z_q^m, by their digits to the base q, the lowest first.
A report names a direction u and a shift c, and each symbol x has the *residue* ⟨u, x⟩ + c in Z_q.
For a prime q and all u ≠ 0, residues of two points are equal with probability
(q^(m−1) − 1)/(q^m − 1), and otherwise every pair of different residues is equally likely. So
whatever probability a kernel gives to residues, the marginals of one and two points are exact: the
blocks with residue below t are a 2-design. Where one residue is
told from all others, multiples of a direction give the same blocks, so that one direction of each
line is enough: projective geometry, and for q = 2 Hadamard matrices.

Directions fall into m classes by the position of their lowest digit that is not zero. On points
whose digits above position i agree, a direction of a class above i is constant, one of class i cuts
cells of q^i points apart, and one of a class below i has every residue equally often.

At a direction of class i, t residues of a group have the weight ``high`` together, the next one
``middle`` and the others the rest, all over 2⁵³. With ρ(s) the probability of residue s times their
number q, a symbol of the group has a report of a type with the chance of its group times ρ of its
residue, over the number of reports. Residues of other groups are uniform.

Where all points are symbols, m = 1 and q = n is no prime, u is a unit of the ring Z_n, and a
*placement* lists the elements with the high weights, then the one with the middle weight, if any:
an element has its place in the list as its rank, and those that are not listed follow in their
order. The residue of x is the rank of u·x + c. Over all u and c, two symbols come to every pair of
elements whose difference has the same common divisor with n as theirs equally often. So the levels
of two symbols are distributed as for a random permutation if, for each divisor of n, pairs of high
elements (and those of a high and the middle one) that are equal modulo it are as many as chance has
them, in the mean over placements, which have masses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR, is_whole

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Lists of elements, and how often each comes.
Placements = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]

#: Divisors of N whose pairs are balanced in reasonable time.
MOST_DIVISORS = 64
# How often twice as many placements are drawn.
_DOUBLED, _SEED = 5, 23
# Shares below which a placement is not used, and errors that are none.
_USED = 1e-9
#: Residues with which estimates take time in proportion, and points of a space that they hold.
MOST_RESIDUES, MOST_POINTS = 2048, 1 << 30
#: The elements in their order.
IN_ORDER: Placements = (), (1,)


@dataclass(frozen=True)
class Directions:
    """The directions of one or several groups.

    Attributes
    ----------
    base, dimension : q and m
    masses : of the placements
    are_lines : whether one direction stands for all of its multiples
    """

    base: int
    dimension: int
    masses: tuple[int, ...]
    are_lines: bool

    @cached_property
    def units(self) -> Integers:
        """What the lowest digit of a direction may be."""
        some = np.arange(1, 2 if self.are_lines else self.base)
        return some[np.gcd(some, self.base) == 1]

    @cached_property
    def lines(self) -> Integers:
        """How many lines there are in the classes below each, and in all."""
        return np.cumsum([0, *(self.base**i for i in reversed(range(self.dimension)))])

    @cached_property
    def each(self) -> int:
        """Number of directions at a placement, which are alike."""
        return int(self.lines[-1]) * len(self.units)

    @property
    def number(self) -> int:
        """Number of directions."""
        return self.each * len(self.masses)

    @property
    def chances(self) -> NDArray[Any]:
        """The probability of each direction, by its placement."""
        return np.array(self.masses, dtype=object) * Fraction(1, self.each * sum(self.masses))

    def at(self, directions: Integers) -> Integers:
        """The point u of directions, their class and the number of their placement, ``(3, n)``.

        They are numbered by placements, then lines by their class, then multiples.
        """
        placements, rest = np.divmod(directions, self.each)
        line, unit = np.divmod(rest, len(self.units))
        classes = np.searchsorted(self.lines[1:], line, side="right")
        above = line - self.lines[classes]
        vectors = self.base**classes * (self.units[unit] + above * self.base)
        return np.array([vectors, classes, placements])


@dataclass(frozen=True)
class Part:
    """Which residues of a group a type raises.

    Attributes
    ----------
    size : number of symbols n
    base, dimension : q and m, with n ≤ q^m
    count : how many residues have the high weight
    weights : of each class the high weight of these together, and the middle weight
    placements : lists of the elements with these residues and their masses, where q = n is no prime
    """

    size: int
    base: int
    dimension: int
    count: int
    weights: tuple[tuple[int, int], ...]
    placements: Placements = IN_ORDER

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for numbers that make no part."""
        q, m, n, count = self.base, self.dimension, self.size, self.count
        rests = [DENOMINATOR - high - middle for high, middle in self.weights]
        good = is_whole(q, 2) and is_whole(m, 1, 30) and n <= q**m <= MOST_POINTS
        good = good and (q == n or q <= MOST_RESIDUES) and is_whole(count, 1, q - 1)
        good = good and all(is_whole(w, 0) for w in chain(rests, *self.weights))
        good = good and len(rests) == m and (count < q - 1 or not any(rests))
        if good and self.placements == IN_ORDER:
            good = not divisors(q)
        elif good:
            good = (q, m) == (n, 1) and are_balanced(n, count, self.placements)
            good = good and (self.others_are_alike or len(self._listed[0]) > count)
        if not good:
            raise ValueError(
                f"expected a space for {n} symbols over a prime, or placements that balance all "
                "pairs, and weights of residues for each class"
            )

    @cached_property
    def sizes(self) -> list[int]:
        """How many residues have each weight, where any has."""
        return [n for n in (self.count, 1, self.base - self.count - 1) if n]

    @cached_property
    def values(self) -> list[list[Fraction]]:
        """ρ of these residues, for each class."""
        rows = [(high, middle, DENOMINATOR - high - middle) for high, middle in self.weights]
        scale = Fraction(self.base, DENOMINATOR)
        return [[scale * w / n for w, n in zip(row, self.sizes, strict=False)] for row in rows]

    @property
    def others_are_alike(self) -> bool:
        """Whether residues that are not raised have one weight."""
        return all(len({*values[1:]}) == 1 for values in self.values)

    @property
    def is_full(self) -> bool:
        """Whether every point is a symbol."""
        return self.size == self.base**self.dimension

    def ends(self, c: int) -> Sequence[Fraction]:
        """The largest and the smallest ρ at directions of a class, and between what its mean over
        the symbols of the group is.

        Whole cells of q^(c+1) points have every residue equally often. In the cell that is there in
        part each value of digit c has a residue of its own; levels are filled in their order.
        """
        if c >= self.dimension:
            return (Fraction(1),) * 4
        cell, means = self.base**c, list[Fraction]()
        whole, rest = divmod(self.size, cell * self.base)
        levels: list[Any] = sorted(zip(self.values[c], self.sizes, strict=True))
        for order in (levels, levels[::-1]):
            total, left = Fraction(0), Fraction(rest, cell)
            for value, n in order:
                total += value * cell * (whole * n + min(n, left))
                left -= min(n, left)
            means.append(total / self.size)
        return levels[-1][0], levels[0][0], *means

    def told_apart(self, scales: Iterable[float]) -> Part:
        """The same with so much of what tells residues apart at each class."""
        rows = zip(scales, self.values, strict=False)
        weights = [
            weights_of(self.base, self.count, [1 + scale * (float(v) - 1) for v in row])
            for scale, row in rows
        ]
        return replace(self, weights=tuple(weights))

    # Residues

    def levels_at(self, drawn: Integers, shifts: Integers, symbols: Integers) -> Integers:
        """Which of the weights symbols have at reports."""
        elements = (self._phases(drawn[0], symbols) + shifts) % self.base
        met = self._listed[drawn[2]] == elements[:, None]
        ranks = np.where(met.any(axis=1), met.argmax(axis=1), self.base - 1)
        return np.searchsorted(np.cumsum(self.sizes), ranks, side="right")

    def shifts_at(self, drawn: Integers, symbols: Integers, residues: Integers) -> Integers:
        """The shifts with which symbols have residues at directions."""
        elements = residues.copy()
        for b, listed in enumerate(self._listed):
            # That of others is their place among those that are not listed.
            rank = residues - len(listed)
            behind = np.searchsorted(np.sort(listed) - np.arange(len(listed)), rank, side="right")
            own = np.where(rank < 0, listed[np.minimum(rank, -1)], rank + behind)
            elements = np.where(drawn[2] == b, own, elements)
        return (elements - self._phases(drawn[0], symbols)) % self.base

    def digits(self, points: Integers) -> Integers:
        """Digits of points to the base, the lowest first."""
        return points[..., None] // self.base ** np.arange(self.dimension) % self.base

    def _phases(self, vectors: Integers, symbols: Integers) -> Integers:
        return (self.digits(vectors) * self.digits(symbols)).sum(axis=-1) % self.base

    @cached_property
    def _listed(self) -> Integers:
        """The elements with the first residues, of each placement."""
        elements, _ = self.placements
        return np.array(elements or [range(self.base - self.sizes[-1])])

    def transform(
        self, drawn: Integers, shifts: Integers, counts: Integers, scores: Floats
    ) -> Floats:
        """Σ over reports of count · score[class, level of x], for every symbol x, ``(n,)``.

        Scores of a class have the mean zero over all residues. In one dimension a report takes time
        in proportion to the residues that are raised. Else one Fourier transform over the space
        does: a score is a sum of q characters of the residue, and a character of ⟨u, x⟩ is one of
        x. It takes time and memory of order q^m, beside the reports.
        """
        q, m, told = self.base, self.dimension, drawn[1] < self.dimension
        (vectors, classes, placements), shifts, counts = drawn[:, told], shifts[told], counts[told]
        table = np.repeat(scores, self.sizes, axis=1)
        if m == 1:
            total = np.full(q, table[0, -1] * counts.sum())
            units = np.array([pow(u, -1, q) for u in vectors.tolist()], dtype=int)
            for rank, score in enumerate(table[0, : len(self._listed[0])] - table[0, -1]):
                symbols = units * (self._listed[placements, rank] - shifts) % q
                np.add.at(total, symbols, counts * score)
            return total[: self.size]
        spectrum, starts = (
            np.zeros(q**m, dtype=complex),
            np.flatnonzero(np.diff(vectors, prepend=-1)),
        )
        digits, classes = self.digits(vectors[starts]), classes[starts]
        table = np.fft.fft(table, axis=1) * q ** (m - 1) * (1 + (q > 2))
        # The coefficient at −k is the conjugate of that at k; for q = 2 they are one.
        for k in range(1, q // 2 + 1):
            turns = np.exp(2j * np.pi / q * (k * np.arange(q) % q))[shifts] * counts
            points = digits * k % q @ q ** np.arange(m)
            np.add.at(spectrum, points, table[classes, k] * np.add.reduceat(turns, starts))
        return np.fft.ifftn(spectrum.reshape((q,) * m)).real.ravel()[: self.size]


def weights_of(base: int, count: int, values: Sequence[float]) -> tuple[int, int]:
    """Those over 2⁵³ of the high residues, which take what rounding leaves, and of the next one,
    from ρ of these and of the others.
    """
    middle, rest = (int(max(values[k], 0.0) * DENOMINATOR) // base for k in (1, -1))
    return DENOMINATOR - middle - rest * (base - count - 1), middle


# Placements


def divisors(size: int) -> list[int]:
    """All but one and the number itself: none of a prime."""
    small = [d for d in range(2, math.isqrt(size) + 1) if size % d == 0]
    return sorted({*small, *(size // d for d in small)})


@cache
def are_balanced(size: int, count: int, placements: Placements) -> bool:
    """Whether lists of elements, ``count`` of which are high ones, balance all pairs."""
    elements, masses = placements
    good = len(masses) == len(elements) and all(is_whole(mass, 1, 1 << 8192) for mass in masses)
    good = good and all(is_whole(x, 0, size - 1) for x in chain(*elements))
    good = good and all(len({*each}) == len(each) in (count, count + 1) for each in elements)
    if not good or len(divisors(size)) > MOST_DIVISORS:
        return False
    rows = np.array(_excesses(size, count, elements), dtype=object)
    return not (rows @ np.array(masses, dtype=object)).any()


@cache
def balanced(size: int, count: int, *, middle: bool) -> Placements:
    """Placements that balance all pairs; raises ``ValueError`` where none are found.

    ``middle`` says whether the element after the high ones has a weight of its own.
    """
    from flint import fmpz_mat
    from scipy.optimize import nnls

    length, rng = count + middle, np.random.default_rng(_SEED)
    drawn, own = [tuple(range(length))], divisors(size)
    for doubled in range(_DOUBLED):
        # Pairs that are equal modulo a large divisor come next to never by chance.
        for divisor in ((1 + middle) << doubled) * [*own, *[1] * len(own)]:
            place, rank = np.divmod(np.arange(length), size // divisor)
            order = rng.choice(size // divisor, rank.max() + 1, replace=False)
            drawn.append(tuple(rng.permutation(place + divisor * order[rank]).tolist()))
        drawn = [*dict.fromkeys(drawn)]
        excesses = _excesses(size, count, drawn)
        table = np.array([[1.0] * len(drawn), *excesses])
        table /= np.maximum(np.abs(table).max(axis=1, keepdims=True), 1.0)
        shares, away = nnls(table, np.eye(1, len(table))[0])
        if away < _USED:
            used = np.flatnonzero(shares > _USED).tolist()
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
