"""Permutations of one column that balance all pairs of symbols exactly, for every number of them.

N is a product of prime powers, so that the symbols are the elements of a ring R, the product of
finite fields; coordinates are digits to mixed bases, the lowest first. A *placement* says which
elements have the high weights of a column and which one the middle weight, in this order: the rank
of an element is its place there, and elements that are not listed follow in their order. A report
(b, u, c) is a placement, a unit u (no coordinate is zero) and a shift c; at it the symbol us + c
has the rank of s in the placement b as its *residue*. Placements have masses, and beside that all
reports are equally likely for the uniform distribution.

Over all u and c, two symbols come from every pair of elements whose difference is zero in the same
coordinates as theirs equally often. So the levels of two symbols are distributed as for a random
permutation if, for each set of coordinates, pairs of high elements (and those of a high and the
middle one) that agree in just these are as many as chance has them, in the mean over placements. Of
prime powers one placement does; else masses are found that are exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import lcm, prod
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import is_whole
from .finite_fields import Field, prime_powers

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Reports are machine integers; powers of primes whose tables are made.
_MOST_REPORTS, _LARGEST_FIELD = 1 << 62, 1 << 16
# Factors of N whose pairs are balanced in reasonable time.
_MOST_FACTORS = 5
# Symbols that are looked at at once.
_CHUNK = 1 << 20
# Placements that are drawn for each condition at first, and how often twice as many are.
_DRAWN, _DOUBLED = 8, 4
_SEED = 23
# Shares below which a placement is not used.
_USED = 1e-9


@dataclass(frozen=True)
class PermutedFamily:
    """Reports whose columns are permutations of one.

    Attributes
    ----------
    size : number of symbols N
    count : how many have the high weight
    placements : of each the elements with the high weight, then the one in the middle
    masses : of each placement, integers
    """

    size: int
    count: int
    placements: tuple[tuple[int, ...], ...]
    masses: tuple[int, ...]

    #: One class of reports, a residue for each symbol.
    dimension, projective, is_full = 1, False, True

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for numbers that make no family, or one that is not balanced."""
        if not is_whole(self.size, 2, 1 << 24) or not is_whole(self.count, 1, self.size - 1):
            raise ValueError("expected a number of symbols, and of those with the high weight")
        masses = all(is_whole(m, 1, 1 << 8192) for m in self.masses)
        if not masses or not self.placements or len(self.masses) != len(self.placements):
            raise ValueError("expected a positive mass for each placement")
        length = len(self.placements[0])
        for placement in self.placements:
            inside = all(is_whole(x, 0, self.size - 1) for x in placement)
            if not inside or len(set(placement)) != len(placement) or len(placement) != length:
                raise ValueError("expected elements, as many in each placement")
        if length not in (self.count, self.count + 1):
            raise ValueError("expected the elements with high and middle weights")
        if not is_possible(self.size) or self.reports > _MOST_REPORTS:
            raise ValueError(f"{self.size} symbols are no ring whose tables are made")
        excesses = _excesses(self.size, self.count, self.placements)
        if any(sum(map(mul, self.masses, each)) for each in zip(*excesses, strict=True)):
            raise ValueError("pairs of symbols are not balanced")

    # What the profile of a column is asked about

    @property
    def base(self) -> int:
        """Number of residues, one for each symbol."""
        return self.size

    points = base

    @property
    def powers(self) -> tuple[int, int]:
        """Sizes of the cells of symbols: each alone, and all."""
        return 1, self.size

    def class_share(self, i: int) -> tuple[int, int]:
        """All reports are of one class."""
        return 1, 1

    def tells_apart(self, count: int, others: int) -> bool:
        """Whether the first ``count`` elements are high ones, of others with so many weights."""
        listed = len(self.placements[0])
        return count == self.count and (others == 1 or listed == count + 1)

    # Reports

    @cached_property
    def _fields(self) -> tuple[Field, ...]:
        return tuple(Field(p, k) for p, k in prime_powers(self.size))

    @cached_property
    def units(self) -> int:
        """Number of units: one where a single element is told from the others."""
        return 1 if len(self.placements[0]) == 1 else _units(self.size)

    @property
    def directions(self) -> int:
        """Number of placements and units together."""
        return len(self.placements) * self.units

    @property
    def reports(self) -> int:
        """Number of reports: N for each placement and unit."""
        return self.directions * self.size

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(self.masses))

    def placements_at(self, words: NDArray[np.uint64], more: Callable[[int], int]) -> Integers:
        """The placement that each word of 64 bits decides on, with exactly their masses.

        Where an end lies inside of a word, ``more(row)`` is the place in it, a uniform integer
        below the sum of the masses.
        """
        total = self._ends[-1]
        inner = [end << 64 for end in self._ends[:-1]]
        cut = [end // total for end in inner if end % total]
        found = np.zeros(len(words), dtype=np.int64)
        for end in inner:
            first = -(-end // total)
            if first < 1 << 64:
                found += words >= np.uint64(first)
        for row in np.flatnonzero(np.isin(words, np.array(cut, dtype=np.uint64))).tolist():
            found[row] = bisect_right(inner, int(words[row]) * total + more(row))
        return found

    @property
    def total_mass(self) -> int:
        """Sum of the masses."""
        return self._ends[-1]

    def chance(self, report: int) -> tuple[int, int]:
        """The probability of a report for the uniform distribution: numerator, denominator."""
        placement = report // self.size // self.units
        return self.masses[placement], self.total_mass * self.units * self.size

    def share_below(self, direction: int) -> float:
        """Probability of the directions below one."""
        placement, unit = divmod(direction, self.units)
        before = self._ends[placement - 1] if placement else 0
        inside = self.masses[placement] * unit if unit else 0
        return (before * self.units + inside) / (self.total_mass * self.units)

    def split(self, reports: Integers) -> tuple[Integers, Integers]:
        """Direction and shift of each report."""
        return reports // self.size, reports % self.size

    @cached_property
    def _ranked(self) -> Integers:
        """The element of each rank, for every placement, ``(B, N)``."""
        found = np.zeros((len(self.placements), self.size), dtype=np.int64)
        for b, placement in enumerate(self.placements):
            rest = np.ones(self.size, dtype=bool)
            rest[list(placement)] = False
            found[b] = np.concatenate([placement, np.flatnonzero(rest)])
        return found

    @cached_property
    def _ranks(self) -> Integers:
        found = np.zeros_like(self._ranked)
        np.put_along_axis(found, self._ranked, np.arange(self.size)[None, :], axis=1)
        return found

    def _by_fields(self, work: Callable[..., Integers], *numbers: Integers) -> Integers:
        """What a function of a field and elements makes, coordinate by coordinate.

        The first numbers are those of units.
        """
        units, rest = numbers[0], list(numbers[1:])
        total, place = np.zeros(1, dtype=np.int64), 1
        for field in self._fields:
            q = field.order
            total = total + work(field, 1 + units % (q - 1), *(part % q for part in rest)) * place
            units, rest, place = units // (q - 1), [part // q for part in rest], place * q
        return total

    def residues(self, reports: Integers, symbols: Integers) -> tuple[Integers, Integers]:
        """Residue of each symbol at each report, elementwise, and the class of the report."""
        directions, shifts = self.split(reports)
        placements, units = directions // self.units, directions % self.units
        elements = self._by_fields(
            lambda field, u, x, c: field.times(field.inverse(u), field.minus(x, c)),
            units,
            symbols,
            shifts,
        )
        return self._ranks[placements, elements], np.zeros_like(directions)

    def reports_at(self, directions: Integers, symbols: Integers, residues: Integers) -> Integers:
        """The report of each direction at which a symbol has the given residue."""
        placements, units = directions // self.units, directions % self.units
        shifts = self._by_fields(
            lambda field, u, x, s: field.minus(x, field.times(u, s)),
            units,
            symbols,
            self._ranked[placements, residues],
        )
        return directions * self.size + shifts

    def vectors(self, directions: Any) -> tuple[Integers, Integers]:
        """Directions as they are, and their one class."""
        found = np.asarray(directions, dtype=np.int64)
        return found, np.zeros_like(found)

    def transform(self, reports: Integers, counts: Integers, scores: Floats) -> Floats:
        """Σ over reports of count · score[class, residue of x], for every symbol x, ``(N,)``.

        Residues of low weight have one score, so that only the others are looked at: a report
        takes time in proportion to their number.
        """
        listed = np.array(self.placements, dtype=np.int64)
        first = listed.shape[1]
        rest = float(scores[0, -1]) if first < self.size else 0.0
        raised = scores[0, :first] - rest
        total = np.full(self.size, rest * float(counts.sum()))
        step = max(1, _CHUNK // first)
        for start in range(0, len(reports), step):
            directions, shifts = self.split(reports[start : start + step])
            symbols = self._by_fields(
                lambda field, u, s, c: field.plus(c, field.times(u, s)),
                (directions % self.units)[:, None],
                listed[directions // self.units],
                shifts[:, None],
            )
            weights = counts[start : start + step, None] * raised
            total += np.bincount(symbols.ravel(), weights.ravel(), self.size)
        return total

    def describe(self, count: int) -> str:
        """What reports stand for, in a few words."""
        return f"{count} of {self.size} symbols, every pair alike"


def is_possible(size: int) -> bool:
    """Whether fields of so many elements are few and small."""
    factors = prime_powers(size)
    small = all(k == 1 or p**k <= _LARGEST_FIELD for p, k in factors)
    return small and len(factors) <= _MOST_FACTORS


def _units(size: int) -> int:
    return prod(p**k - 1 for p, k in prime_powers(size))


def permuted_family(size: int, count: int, *, middle: bool) -> PermutedFamily | None:
    """Placements that balance all pairs; ``None`` where none are found.

    ``middle`` says whether the element after the high ones has a weight of its own.
    """
    if not is_possible(size):
        return None
    length, factors = count + middle, len(prime_powers(size))
    first = tuple(range(length))
    if factors == 1 or length == 1:
        return PermutedFamily(size, count, (first,), (1,))
    rng, drawn = np.random.default_rng(_SEED), [first]
    for _ in range(_DOUBLED):
        for _ in range(max(len(drawn), _DRAWN * 2 ** (factors + middle))):
            drawn.append(tuple(rng.choice(size, length, replace=False).tolist()))
        drawn = list(dict.fromkeys(drawn))
        masses = _balancing(_excesses(size, count, drawn))
        if masses is not None:
            used = [b for b, mass in enumerate(masses) if mass]
            if len(used) * _units(size) * size > _MOST_REPORTS:
                return None
            chosen = tuple(drawn[b] for b in used)
            return PermutedFamily(size, count, chosen, tuple(masses[b] for b in used))
    return None


def _excesses(size: int, count: int, placements: Sequence[Sequence[int]]) -> list[list[int]]:
    """How many more pairs than by chance there are at each placement, times N − 1.

    For each set of coordinates but none and all: pairs of high elements that agree in these at
    least, and pairs of a high one and the middle one. What agrees in just these follows.
    """
    orders, found = [p**k for p, k in prime_powers(size)], list[list[int]]()
    for placement in placements:
        digits, row = np.unravel_index(placement, orders, order="F"), list[int]()
        for chosen in range(1, (1 << len(orders)) - 1):
            code, unit, apart = np.zeros(len(placement), dtype=np.int64), 1, 1
            for i, (q, digit) in enumerate(zip(orders, digits, strict=True)):
                if chosen >> i & 1:
                    code, unit = code + digit * unit, unit * q
                else:
                    apart *= q
            _, each = np.unique(code[:count], return_counts=True)
            pairs = [(each * (each - 1)).sum(), (code[:count] == code[-1]).sum()]
            chances = [count * (count - 1), count][: 1 + (len(placement) > count)]
            parts = zip(pairs, chances, strict=False)
            row += [int(n) * (size - 1) - chance * (apart - 1) for n, chance in parts]
        found.append(row)
    return found


def _balancing(excesses: list[list[int]]) -> list[int] | None:
    """Integer masses whose excesses sum to zero, exactly; ``None`` where there are none."""
    from flint import fmpq_mat, fmpz_mat
    from scipy.optimize import linprog

    table = np.array(excesses, dtype=float).T
    scale = np.abs(table).max(axis=1)
    table = table[scale > 0] / scale[scale > 0, None]
    rows = np.vstack([np.ones(table.shape[1]), table])
    right = np.eye(1, len(rows))[0]
    found = linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=right, method="highs-ds")
    if found.status:
        return None
    used = np.flatnonzero(found.x > _USED).tolist()
    each = [[excesses[b][i] for b in used] + [0] for i in range(len(excesses[0]))]
    echelon, rank = fmpq_mat(fmpz_mat([[1] * (len(used) + 1), *each])).rref()
    if rank != len(used) or any(echelon[i, i] != 1 for i in range(rank)):
        return None
    shares = [echelon[i, rank] for i in range(rank)]
    if min(shares) <= 0:
        return None
    common = lcm(*(int(share.q) for share in shares))
    masses = [0] * len(excesses)
    for b, share in zip(used, shares, strict=True):
        masses[b] = int(share.p) * (common // int(share.q))
    return masses
