"""Which symbols of a group a report raises: those whose residues have the high weights.

Symbols of a group are the first n points of Z_q^m, by their digits to the base q, the lowest first.
A report names a direction u and a shift c, and each symbol x has the *residue* ⟨u, x⟩ + c in Z_q.
For a prime q and all u ≠ 0, residues of two points are equal with probability
(q^(m−1) − 1)/(q^m − 1), and otherwise every pair of different residues is equally likely. So
whatever probability a kernel gives to residues, the marginals of one and two points are exact: the
blocks with residue below t are a 2-design. For m = 1 and q = n, a prime or not, u is a unit, and a
placement says which elements have the first residues (:mod:`.placements`). Where one residue is
told from all others, multiples of a direction give the same blocks, so that one direction of each
line is enough: projective geometry, and for q = 2 Hadamard matrices.

Directions fall into m classes by the position of their lowest digit that is not zero. On points
whose digits above position i agree, a direction of a class above i is constant, one of class i cuts
cells of q^i points apart, and one of a class below i has every residue equally often.

At a direction of class i, t residues of a group have the weight ``high`` together, the next one
``middle`` and the others the rest, all over 2⁵³. With ρ(s) the probability of residue s times their
number q, a symbol of the group has a report of a type with the chance of its group times ρ of its
residue, over the number of reports. Residues of other groups are uniform.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR, is_whole
from .placements import Placements

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Residues with which estimates take time in proportion, and points of a space that they hold.
MOST_RESIDUES, MOST_POINTS = 2048, 1 << 30
# Symbols that are looked at at once.
_CHUNK = 1 << 20


class Drawn(NamedTuple):
    """Directions: the point u of each, its class, and the number of its placement."""

    vectors: Integers
    classes: Integers
    placements: Integers


@dataclass(frozen=True)
class Directions:
    """The directions of one or several groups.

    Attributes
    ----------
    base, dimension : q and m
    placements : of the elements, if any
    are_lines : whether one direction stands for all of its multiples
    """

    base: int
    dimension: int
    placements: Placements | None
    are_lines: bool

    @cached_property
    def units(self) -> Integers:
        """What the lowest digit of a direction may be."""
        some = np.arange(1, 2 if self.are_lines else self.base)
        return some[np.gcd(some, self.base) == 1]

    @cached_property
    def ends(self) -> Integers:
        """How many lines there are in the classes below each, and in all."""
        return np.cumsum([0, *(self.base**i for i in reversed(range(self.dimension)))])

    @cached_property
    def each(self) -> int:
        """Number of directions at a placement, which are alike."""
        return int(self.ends[-1]) * len(self.units)

    @property
    def number(self) -> int:
        """Number of directions."""
        return self.each * (len(self.placements.masses) if self.placements else 1)

    def chance(self, direction: int) -> Fraction:
        """The probability of a direction."""
        if self.placements is None:
            return Fraction(1, self.each)
        mass = self.placements.masses[direction // self.each]
        return Fraction(mass, self.each * self.placements.ends[-1])

    def at(self, directions: Integers) -> Drawn:
        """Directions by their numbers: placements, then lines by their class, then multiples."""
        placements, rest = np.divmod(directions, self.each)
        line, unit = np.divmod(rest, len(self.units))
        classes = np.searchsorted(self.ends[1:], line, side="right")
        above = line - self.ends[classes]
        vectors = self.base**classes * (self.units[unit] + above * self.base)
        return Drawn(vectors, classes, placements)


@dataclass(frozen=True)
class Part:
    """Which residues of a group a type raises.

    Attributes
    ----------
    size : number of symbols n
    base, dimension : q and m, with n ≤ q^m
    count : how many residues have the high weight
    weights : of each class the high weight of these together, and the middle weight
    placements : of the elements, where q = n is no prime
    """

    size: int
    base: int
    dimension: int
    count: int
    weights: tuple[tuple[int, int], ...]
    placements: Placements | None = None

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for numbers that make no part."""
        q, m, n = self.base, self.dimension, self.size
        good = is_whole(n, 2) and is_whole(q, 2, max(n, MOST_RESIDUES)) and is_whole(m, 1, 30)
        good = good and n <= q**m <= MOST_POINTS and is_whole(self.count, 1, q - 1)
        if not good or len(self.weights) != m or (q > MOST_RESIDUES and q != n):
            raise ValueError(f"expected {n} symbols in a space of {q}^{m}, and some residues")
        for high, middle in self.weights:
            low = DENOMINATOR - high - middle
            if not all(is_whole(w, 0, DENOMINATOR) for w in (high, middle, low)) or (
                low and self.count == q - 1
            ):
                raise ValueError("expected weights of residues")
        if self.placements is None:
            good = all(q % d for d in range(2, int(q**0.5) + 1))
        else:
            listed = len(self.placements.elements[0])
            good = (self.placements.size, self.placements.count, m) == (n, self.count, 1) and n == q
            good = good and (listed > self.count or self._others == 1)
        if not good:
            raise ValueError("expected a prime, or placements of all symbols")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many residues have each weight, where any has."""
        return tuple(n for n in (self.count, 1, self.base - self.count - 1) if n)

    @cached_property
    def values(self) -> list[list[Fraction]]:
        """ρ of these residues, for each class."""
        return [
            [
                Fraction(self.base * w, DENOMINATOR * n)
                for w, n in zip((high, middle, DENOMINATOR - high - middle), self.sizes)
            ]
            for high, middle in self.weights
        ]

    def moment(self, i: int, power: int) -> Fraction:
        """Mean over residues of (ρ − 1)^power in a class."""
        return (
            sum((n * (v - 1) ** power for v, n in zip(self.values[i], self.sizes)), Fraction(0))
            / self.base
        )

    @property
    def _others(self) -> int:
        """How many weights there are besides the high one, at most."""
        return max(len({*values[1:]}) for values in self.values)

    @property
    def slot(self) -> tuple[int, int, Placements | None]:
        """Groups with equal ones share a direction."""
        return self.base, self.dimension, self.placements

    @property
    def is_one_residue(self) -> bool:
        """Whether one residue is told from all others."""
        return self.count == 1 and self._others == 1

    @property
    def is_full(self) -> bool:
        """Whether every point is a symbol."""
        return self.size == self.points

    @property
    def points(self) -> int:
        """Points of the space."""
        return self.base**self.dimension

    @cached_property
    def classes(self) -> list[tuple[Fraction, ...]]:
        """For each class of directions the largest and the smallest ρ, and between what its mean
        over the symbols of the group is.
        """
        given = enumerate(self.values)
        return [class_ends(self.size, self.base, c, values, self.sizes) for c, values in given]

    # Residues

    def digits(self, points: Integers) -> Integers:
        """Digits of points to the base, the lowest first."""
        return points[..., None] // self.base ** np.arange(self.dimension) % self.base

    def shifts_at(self, drawn: Drawn, symbols: Integers, residues: Integers) -> Integers:
        """The shifts with which symbols have residues at directions."""
        elements = residues.copy()
        for b in np.unique(drawn.placements).tolist() if self.placements else ():
            rows, listed = drawn.placements == b, self._listed[b]
            # That of others is their place among those that are not listed.
            rank = residues[rows] - len(listed)
            behind = np.searchsorted(np.sort(listed) - np.arange(len(listed)), rank, side="right")
            elements[rows] = np.where(rank < 0, listed[np.minimum(rank, -1)], rank + behind)
        return (elements - self._phases(drawn.vectors, symbols)) % self.base

    def value_at(self, drawn: Drawn, shift: int, symbol: int) -> Fraction:
        """ρ of a symbol at the first of some directions."""
        (element,) = (self._phases(drawn.vectors[:1], np.array([symbol])) + shift) % self.base
        places = np.flatnonzero(self._listed[drawn.placements[0]] == element)
        level = np.searchsorted(np.cumsum(self.sizes), [*places, self.base - 1], side="right")[0]
        return self.values[drawn.classes[0]][level]

    def _phases(self, vectors: Integers, symbols: Integers) -> Integers:
        return (self.digits(vectors) * self.digits(symbols)).sum(axis=-1) % self.base

    @cached_property
    def _listed(self) -> Integers:
        """The elements with the first residues, of each placement."""
        if self.placements is None:
            return np.arange(min(self.count + 1, self.base))[None]
        return np.array(self.placements.elements)

    def transform(
        self, drawn: Drawn, shifts: Integers, counts: Integers, scores: list[list[float]]
    ) -> Floats:
        """Σ over reports of count · score[class][level of x], for every symbol x, ``(n,)``.

        Scores of a class have the mean zero over all residues. In one dimension a report takes time
        in proportion to the residues that are raised. Else one Fourier transform over the space
        does: a score is a sum of q characters of the residue, and a character of ⟨u, x⟩ is one of
        x. It takes time and memory of order q^m, beside the reports.
        """
        q, m = self.base, self.dimension
        if m == 1:
            ((*raised, rest),) = scores
            listed = self._listed[:, : self.base - self.sizes[-1]]
            weights = np.repeat(raised, self.sizes[:-1])[: listed.shape[1]] - rest
            total = np.full(q, rest * float(counts.sum()))
            inverse = {u: pow(u, -1, q) for u in np.unique(drawn.vectors).tolist()}
            step = max(1, _CHUNK // len(weights))
            for start in range(0, len(counts), step):
                rows = slice(start, start + step)
                units = np.array([inverse[u] for u in drawn.vectors[rows].tolist()])
                away = listed[drawn.placements[rows]] - shifts[rows, None]
                symbols = units[:, None] * away % q
                total += np.bincount(symbols.ravel(), (counts[rows, None] * weights).ravel(), q)
            return total[: self.size]
        table = np.fft.fft([np.repeat(row, self.sizes) for row in scores], axis=1) / q
        digits, powers = self.digits(drawn.vectors), q ** np.arange(m)
        spectrum = np.zeros(self.points, dtype=np.complex128)
        # The coefficient at −k is the conjugate of that at k; for q = 2 they are one.
        for k in range(1, q // 2 + 1):
            turns = np.exp(2j * np.pi * (k * np.arange(q) % q) / q)[shifts] * counts
            np.add.at(spectrum, digits * k % q @ powers, table[drawn.classes, k] * turns)
        whole = np.fft.ifftn(spectrum.reshape((q,) * m)).ravel()[: self.size]
        return np.asarray((1 + (q > 2)) * self.points * whole.real)


def class_ends(
    size: int, base: int, i: int, values: Iterable[Any], sizes: Iterable[int]
) -> tuple[Any, ...]:
    """The largest and the smallest of values that so many residues have, and between what their
    mean over the symbols of a group is at directions of a class.

    Whole cells of q^(i+1) points have every residue equally often. In the cell that is there in
    part each value of digit i has a residue of its own; levels are filled in their order.
    """
    cell = base**i
    whole, rest = divmod(size, cell * base)
    levels, means = sorted((v, n) for v, n in zip(values, sizes, strict=False) if n), []
    for order in (levels, levels[::-1]):
        left, total = Fraction(rest, cell), 0 * levels[0][0]
        for value, n in order:
            taken = min(n, left)
            left -= taken
            total += value * cell * (whole * n + taken)
        means.append(total / size)
    return levels[-1][0], levels[0][0], *means
