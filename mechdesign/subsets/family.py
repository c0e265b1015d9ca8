"""Blocks of symbols that balance each other exactly, and need no list of their members.

Symbols are the first N points of the vector space F_q^m over a prime field, by their digits to the
base q. A report y = (u, c) is a direction u ≠ 0 and a shift c. It cuts the points into q parts by
their *residue* s = ⟨u, x⟩ + c. Over all reports, two different points have equal residues with
probability (q^(m−1) − 1)/(q^m − 1), and otherwise every pair of different residues equally often.
So whatever probability a kernel gives to residues, the marginals of one and two points are exact:
the blocks with residue below t are a 2-design. With t = 1 multiples of a direction give the same
blocks, so that one direction of each line is enough: projective geometry, and for q = 2 Hadamard
matrices.

Directions fall into m classes by the position of their lowest digit that is not zero. On points
whose digits above position i agree, a direction of a class above i is constant, one of class i cuts
cells of q^i points apart, and one of a class below i has every residue equally often.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import is_whole
from .finite_fields import is_prime

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Entries that are transformed at once.
_CHUNK = 1 << 22
# Residues and digits are multiplied as machine integers, and arrays have few dimensions.
_LARGEST, _MOST_DIGITS = 1 << 25, 26


@dataclass(frozen=True)
class AffineFamily:
    """The reports over the first ``size`` points of F_q^m.

    Attributes
    ----------
    size : number of symbols N ≤ q^m
    base : the prime q
    dimension : m
    projective : whether one direction stands for all of its multiples
    """

    size: int
    base: int
    dimension: int
    projective: bool = False

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for numbers that make no family: marginals hold over fields only."""
        numbers = (self.size, self.base, self.dimension)
        if not all(is_whole(n, 1, _LARGEST) for n in numbers) or not is_prime(self.base):
            raise ValueError("expected a number of symbols, a prime and a dimension")
        if self.dimension > _MOST_DIGITS or self.size > self.points:
            raise ValueError(f"{self.size} symbols in a space of {self.base}^{self.dimension}")
        if not isinstance(self.projective, bool) or self.reports > _LARGEST**2:
            raise ValueError("a family of another form")

    @property
    def points(self) -> int:
        """Number of points q^m of the space."""
        return self.base**self.dimension

    @property
    def is_full(self) -> bool:
        """Whether every point is a symbol."""
        return self.size == self.points

    @property
    def directions(self) -> int:
        """Number of directions."""
        lines = self.points - 1
        return lines // (self.base - 1) if self.projective else lines

    @property
    def reports(self) -> int:
        """Number of reports: q for each direction."""
        return self.directions * self.base

    @cached_property
    def powers(self) -> tuple[int, ...]:
        """Powers of q from 1 to q^m."""
        return tuple(self.base**i for i in range(self.dimension + 1))

    def class_share(self, i: int) -> tuple[int, int]:
        """Share of the directions that are in class i, as numerator and denominator."""
        return (self.base - 1) * self.powers[self.dimension - 1 - i], self.points - 1

    # Directions

    def vectors(self, directions: Any) -> tuple[Integers, Integers]:
        """Directions 0, 1, … as points (integers with digits to the base q), and their classes."""
        found = np.asarray(directions, dtype=np.int64)
        q, m = self.base, self.dimension
        if self.projective:
            # Class i has q^(m−1−i) directions: digit 1 at position i, anything above it.
            ends = np.cumsum([q ** (m - 1 - i) for i in range(m)])
            classes = np.searchsorted(ends, found, side="right").astype(np.int64)
            above = found - np.concatenate([[0], ends])[classes]
            unit = np.array(self.powers[:m], dtype=np.int64)[classes]
            return unit * (1 + above * q), classes
        vectors = found + 1
        classes = np.zeros(found.shape, dtype=np.int64)
        for i in range(1, m):
            classes += vectors % self.powers[i] == 0
        return vectors, classes

    def phases(self, vectors: Integers, symbols: Integers) -> Integers:
        """⟨u, x⟩ in F_q for directions and symbols, elementwise."""
        q = self.base
        total = np.zeros(np.broadcast_shapes(vectors.shape, symbols.shape), dtype=np.int64)
        left, right = vectors, symbols
        for _ in range(self.dimension):
            total = (total + (left % q) * (right % q)) % q
            left, right = left // q, right // q
        return total

    def split(self, reports: Integers) -> tuple[Integers, Integers]:
        """Direction and shift of each report."""
        return reports // self.base, reports % self.base

    def residues(self, reports: Integers, symbols: Integers) -> tuple[Integers, Integers]:
        """Residue of each symbol at each report, elementwise, and the class of the report."""
        directions, shifts = self.split(reports)
        vectors, classes = self.vectors(directions)
        return (self.phases(vectors, symbols) + shifts) % self.base, classes

    def reports_at(self, directions: Integers, symbols: Integers, residues: Integers) -> Integers:
        """The report of each direction at which a symbol has the given residue."""
        vectors, _ = self.vectors(directions)
        shifts = (residues - self.phases(vectors, symbols)) % self.base
        return directions * self.base + shifts

    def chance(self, report: int) -> tuple[int, int]:
        """The probability of a report for the uniform distribution: numerator, denominator."""
        return 1, self.reports

    def share_below(self, direction: int) -> float:
        """Probability of the directions below one."""
        return direction / self.directions

    def describe(self, count: int) -> str:
        """What reports stand for, in a few words."""
        return f"{count} of {self.base} residues in F_{self.base}^{self.dimension}"

    # Sums over reports, for all symbols at once

    def transform(self, reports: Integers, counts: Integers, scores: Floats) -> Floats:
        """Σ over reports of count · score[class, residue of x], for every symbol x, ``(N,)``.

        One Fourier transform over F_q^m: a score is a sum of q characters of the residue, and a
        character of ⟨u, x⟩ is one of x. It takes time and memory of order q^m, beside the reports.
        Where few lines are directions of a large space, they are looked at one by one.

        Parameters
        ----------
        reports, counts : distinct reports in rising order, and how often each came
        scores : ``(m, q)``, of which each row has mean zero
        """
        from scipy.fft import ifftn

        q, m, v = self.base, self.dimension, self.points
        if self.projective and self._lines_are_few(reports):
            return self._sums_by_lines(reports, counts, scores)
        characters = np.fft.fft(scores, axis=1) / q
        spectrum = np.zeros(v, dtype=np.complex128)
        # The coefficient at −k is the conjugate of that at k; for q = 2 they are one.
        harmonics = range(1, (q - 1) // 2 + 1) if q > 2 else range(1, 2)
        for start in range(0, len(reports), _CHUNK):
            part = slice(start, start + _CHUNK)
            _, shifts = self.split(reports[part])
            starts, directions = self._lines(reports[part])
            vectors, classes = self.vectors(directions)
            for k in harmonics:
                turns = np.exp(2j * np.pi * ((k * np.arange(q)) % q) / q)[shifts] * counts[part]
                sums = np.add.reduceat(turns, starts)
                # Multiplication by k permutes the points, so no index comes twice.
                spectrum[self._multiples(vectors, k)] += characters[classes, k] * sums
        whole = ifftn(spectrum.reshape((q,) * m), overwrite_x=True).reshape(-1)[: self.size]
        factor = v if q == 2 else 2 * v
        return np.asarray(factor * whole.real)

    def _lines_are_few(self, reports: Integers) -> bool:
        """Whether it is cheaper to look at all symbols for each direction than to transform."""
        lines, harmonics = len(self._lines(reports)[0]), self.base // 2
        return lines * self.size < len(reports) * harmonics + self.points * self.dimension

    def _lines(self, reports: Integers) -> tuple[Integers, Integers]:
        """Where the reports of each direction begin, in rising order, and the directions."""
        directions, _ = self.split(reports)
        starts = np.flatnonzero(np.diff(directions, prepend=-1))
        return starts, directions[starts]

    def _sums_by_lines(self, reports: Integers, counts: Integers, scores: Floats) -> Floats:
        """The sums where all residues but the first have one score."""
        _, shifts = self.split(reports)
        starts, directions = self._lines(reports)
        vectors, classes = self.vectors(directions)
        ends = np.append(starts, len(reports))[1:]
        total, symbols = np.zeros(self.size), np.arange(self.size, dtype=np.int64)
        for vector, i, start, end in zip(vectors, classes, starts, ends, strict=True):
            first, other = scores[i, 0], scores[i, 1]
            weights = np.full(self.base, other * counts[start:end].sum())
            weights[-shifts[start:end] % self.base] += (first - other) * counts[start:end]
            total += weights[self.phases(vector, symbols)]
        return total

    def _multiples(self, vectors: Integers, k: int) -> Integers:
        """The points k·u."""
        if k == 1:
            return vectors
        q, found, rest = self.base, np.zeros_like(vectors), vectors
        for power in self.powers[: self.dimension]:
            found += (rest % q) * k % q * power
            rest = rest // q
        return found

    # Cells of points

    def cell_masses(self, masses: Floats, i: int) -> Floats:
        """For every symbol the mass of the symbols that have its digits from position i on."""
        width = self.powers[i]
        starts = np.arange(0, self.size, width)
        return np.repeat(np.add.reduceat(masses, starts), width)[: self.size]
