"""How likely each residue is at the true symbol: few integers, levels and moments in closed form.

At a direction of class i, t residues have the weight ``high`` together, the next one ``middle`` and
the others ``low``, all over 2⁵³. With ρ(s) the probability of residue s times q, the kernel is
K[x, y] = ρ(residue of x at y) / number of reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from operator import mul

import numpy as np

from ..exact import DENOMINATOR, is_whole
from .family import AffineFamily, Floats
from .permuted import PermutedFamily

Rows = list[list[Fraction]]
#: What says which residue each symbol has at each report.
Family = AffineFamily | PermutedFamily

# Relative difference of floats that counts, and second moments below which nothing is told apart.
_CLEAR, _LEAST = 1e-9, 1e-16
# Numbers of residues that are all tried as t, and how far around the best share of more.
_FEW, _AROUND = 24, 3
# Place of the row w ≥ L among those of a polygon.
_MIDDLE_IS_LOW = 1


@dataclass(frozen=True)
class LiftBounds:
    """What is asked of the entries of a column divided by their mean.

    Attributes
    ----------
    lower, upper : of every entry; ``None`` for no upper bound
    ratio : of any two entries, ``None`` for no bound
    """

    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    ratio: Fraction | None = None

    def ends(self, symbols: int) -> tuple[Fraction, Fraction]:
        """Ends a < b for entries of mean one, with the largest (b − 1)(1 − a).

        Without an upper bound an entry is at most N − (N − 1)a, as all others are at least a.
        """
        low = min(self.lower, Fraction(1))
        high = symbols - (symbols - 1) * low
        if self.upper is not None:
            high = max(min(high, self.upper), Fraction(1))
        if self.ratio is None or high <= self.ratio * low:
            return low, high
        # (b − 1)(1 − b/c) is largest at (c + 1)/2.
        high = min(max((self.ratio + 1) / 2, self.ratio * low), high)
        return high / self.ratio, high

    def chord(self, symbols: int) -> Fraction:
        """A bound on Σ (r_x − 1)² for N entries r of mean one that keep the bounds.

        Between the ends (r − a)(r − b) ≤ 0, so the sum is at most N (b − 1)(1 − a).
        """
        low, high = self.ends(symbols)
        return symbols * (high - 1) * (1 - low)

    def share(self, symbols: int) -> float:
        """The share of the entries that are at the upper end where the chord is attained."""
        low, high = self.ends(symbols)
        return float((1 - low) / (high - low)) if high > low else 0.5


@dataclass(frozen=True)
class Profile:
    """Weights over 2⁵³ of the residues of one class: t of them alike, one, and all others alike.

    Attributes
    ----------
    base : number of residues q
    count : t
    high : weight of the first t residues together
    middle : weight of the residue after them
    """

    base: int
    count: int
    high: int
    middle: int

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for weights that are none, or that residues without number have."""
        whole = all(is_whole(n, 0, DENOMINATOR) for n in (self.high, self.middle))
        if not whole or not is_whole(self.count, 1, self.base - 1) or self.low < 0:
            raise ValueError("expected weights of residues")
        if self.low and self.count == self.base - 1:
            raise ValueError("a weight of no residue")

    @property
    def low(self) -> int:
        """Weight of the last q − t − 1 residues together."""
        return DENOMINATOR - self.high - self.middle

    @cached_property
    def values(self) -> tuple[tuple[Fraction, int], ...]:
        """ρ of each level and of how many residues it is, for those that have any."""
        parts = ((self.high, self.count), (self.middle, 1), (self.low, self.base - self.count - 1))
        return tuple((Fraction(self.base * w, DENOMINATOR * n), n) for w, n in parts if n)

    @cached_property
    def ratios(self) -> Floats:
        """ρ of every residue in floats, ``(q,)``."""
        return np.repeat([float(value) for value, _ in self.values], [n for _, n in self.values])

    def value_at(self, residue: int) -> Fraction:
        """ρ of one residue."""
        left = residue
        for value, n in self.values:
            if left < n:
                return value
            left -= n
        raise AssertionError("a residue is below q")

    def moment(self, power: int) -> Fraction:
        """Mean over residues of (ρ − 1)^power."""
        total = sum((n * (value - 1) ** power for value, n in self.values), Fraction(0))
        return total / self.base

    @property
    def is_one_residue(self) -> bool:
        """Whether one residue is told from all others, which are alike."""
        return self.count == 1 and len({value for value, _ in self.values[1:]}) == 1

    def lifts(self, family: Family, i: int) -> tuple[Fraction | None, ...]:
        """Bounds on 1/lift, lift and ratio of likelihoods at reports of class i, ``None`` if none.

        They are attained where N = q^m; else see :func:`extreme_counts`. Masses of symbols are
        equal.
        """
        rising = sorted(self.values)
        falling = rising[::-1]
        least, most = (
            [
                sum((c * v for c, (v, _) in zip(counts, levels, strict=True)), Fraction(0))
                for counts in extreme_counts(family, i, [n for _, n in levels])
            ]
            for levels in (rising, falling)
        )
        low, high = rising[0][0], falling[0][0]
        return (
            max(most) / (family.size * low) if low else None,
            family.size * high / min(least) if min(least) else None,
            high / low if low else None,
        )

    def keeps(self, family: Family, i: int, bounds: LiftBounds) -> bool:
        """Whether it keeps the bounds at every report of class i, exactly."""
        inverse, lift, ratio = self.lifts(family, i)
        return (
            (bounds.lower == 0 or (inverse is not None and inverse * bounds.lower <= 1))
            and (bounds.upper is None or (lift is not None and lift <= bounds.upper))
            and (bounds.ratio is None or (ratio is not None and ratio <= bounds.ratio))
        )


def mean_ends(family: Family, i: int, profile: Profile) -> tuple[Fraction, Fraction]:
    """Between what the mean of ρ over the symbols is, at every report of class i.

    As at :func:`extreme_counts`, for which of a group of symbols none is sure to have a level.
    """
    whole, rest = divmod(family.size, family.powers[i + 1])
    digits, last = divmod(rest, family.powers[i])
    found = []
    for levels in (sorted(profile.values), sorted(profile.values, reverse=True)):
        sizes = [n for _, n in levels]
        counts = _filled(
            [whole * family.powers[i] * n for n in sizes], sizes, digits, family.powers[i], last
        )
        total = sum((c * v for c, (v, _) in zip(counts, levels, strict=True)), Fraction(0))
        found.append(total / family.size)
    return found[0], found[1]


def extreme_counts(family: Family, i: int, sizes: Sequence[int]) -> list[list[int]]:
    """How many symbols have each level at a report of class i, where the first levels prevail.

    Whole cells of q^(i+1) points have every residue equally often. In the cell that is there in
    part each value of digit i has a residue of its own; levels are filled in their order. Where
    there is no whole cell, some value of the digit has the last level, as a symbol that has it is
    what a lift is about: one list for each way.

    Parameters
    ----------
    sizes : number of residues of each level
    """
    whole, rest = divmod(family.size, family.powers[i + 1])
    digits, last = divmod(rest, family.powers[i])
    full = family.powers[i]
    start = [whole * full * n for n in sizes]
    if whole:
        return [_filled(start, sizes, digits, full, last)]
    fewer, found = [*sizes[:-1], sizes[-1] - 1], []
    if digits:
        found.append(_filled([*start[:-1], full], fewer, digits - 1, full, last))
    if last:
        found.append(_filled([*start[:-1], last], fewer, digits, full, 0))
    return found


def _filled(
    counts: list[int], sizes: Sequence[int], digits: int, full: int, last: int
) -> list[int]:
    """Counts with so many full groups, and the last, added to the first levels with room."""
    found = list(counts)
    for level, size in enumerate(sizes):
        taken = min(digits, size)
        found[level] += taken * full
        digits -= taken
        if taken < size:
            found[level] += last
            break
    return found


# The best profile


def best_profiles(
    family: Family, bounds: LiftBounds, *, single: bool = False
) -> tuple[Profile, ...] | None:
    """The profile with the largest second moment for each class; ``None`` where one has none.

    ``single`` asks for one residue apart from all others.
    """
    found: list[Profile] = []
    known: dict[bool, Profile] = {}
    for i in range(family.dimension):
        # All that a class can make of a difference is how many cells are there in part.
        alike = (bounds.lower == 0 and bounds.upper is None) or not family.size % family.powers[
            i + 1
        ]
        profile = known.get(True) if alike else None
        profile = profile or _best_of_class(family, i, bounds, single)
        if profile is None:
            return None
        if alike:
            known[True] = profile
        found.append(profile)
    return tuple(found)


def _best_of_class(family: Family, i: int, bounds: LiftBounds, single: bool) -> Profile | None:
    """Over t, the vertex of the bounds on three levels H ≥ w ≥ L where the moment is largest.

    The moment is convex, so that a vertex has the largest one; floats find it, rationals take over.
    """
    q = family.base
    found: list[tuple[float, int, Rows, Rows]] = []
    for count in range(1, 2) if single else _counts(q, bounds.share(family.size)):
        normal, rows = _polygon(family, i, count, bounds)
        floats = np.array(rows, dtype=float)
        sizes = np.array(normal, dtype=float)
        for pair in map(list, combinations(range(len(rows)), 2)):
            if single and q > 2 and _MIDDLE_IS_LOW not in pair:
                continue
            matrix = np.vstack([sizes, floats[pair]])
            if abs(np.linalg.det(matrix)) < _CLEAR:
                continue
            point = np.linalg.solve(matrix, [q, 0.0, 0.0])
            moment = float(sizes @ (point - 1) ** 2) / q
            if moment > _LEAST and (floats @ point <= _CLEAR * q).all():
                found.append((moment, count, [normal, *(rows[k] for k in pair)], rows))
    found.sort(key=lambda entry: -entry[0])
    for _, count, system, rows in found:
        vertex = _solution(system, q)
        if all(sum(map(mul, row, vertex)) <= 0 for row in rows):
            return _nearest(family, i, bounds, count, vertex)
    return None


def _nearest(
    family: Family, i: int, bounds: LiftBounds, count: int, vertex: Sequence[Fraction]
) -> Profile | None:
    """Integer weights that keep the bounds, next to a vertex."""
    for point in _nearer_one(vertex):
        profile = rounded(family.base, count, point)
        if profile.keeps(family, i, bounds):
            return profile if profile.moment(2) > 0 else None
    return None


def _counts(q: int, share: float) -> range:
    """Numbers t of residues to try."""
    if q <= _FEW:
        return range(1, max(q - 1, 2))
    middle = round(q * share)
    return range(max(1, min(middle, q - 2) - _AROUND), min(q - 2, middle + _AROUND) + 1)


def _polygon(family: Family, i: int, count: int, bounds: LiftBounds) -> tuple[list[Fraction], Rows]:
    """Coefficients of (H, w, L): of their sum, which is q, and of rows that are at most zero."""
    q = family.base
    sizes = [count, 1, q - count - 1] if q > 2 else [1, 0, 1]
    plain = [[-1, 1, 0], [0, -1, 1], [0, 0, -1]] if q > 2 else [[-1, 0, 1], [0, 0, -1], [0, 1, 0]]
    rows = [list(map(Fraction, row)) for row in plain]
    if bounds.upper is not None:
        for low, middle, high in extreme_counts(family, i, sizes[::-1]):
            means = [Fraction(n, family.size) for n in (high, middle, low)]
            rows.append([int(k == 0) - bounds.upper * mean for k, mean in enumerate(means)])
    if bounds.lower > 0:
        for counts in extreme_counts(family, i, sizes):
            means = [Fraction(n, family.size) for n in counts]
            rows.append([bounds.lower * mean - int(k == 2) for k, mean in enumerate(means)])
    if bounds.ratio is not None:
        rows.append([Fraction(1), Fraction(0), -bounds.ratio])
    return list(map(Fraction, sizes)), rows


def _solution(equations: Rows, q: int) -> list[Fraction]:
    """The point (H, w, L) of three equations whose right sides are q, 0 and 0, exactly."""
    from flint import fmpq, fmpq_mat

    entries = [fmpq(part.numerator, part.denominator) for row in equations for part in row]
    found = fmpq_mat(3, 3, entries).solve(fmpq_mat(3, 1, [fmpq(q), fmpq(0), fmpq(0)]))
    return [Fraction(int(found[k, 0].p), int(found[k, 0].q)) for k in range(3)]


def _nearer_one(point: Sequence[Fraction]) -> Iterator[list[Fraction]]:
    """The point, then with ever more of the uniform profile mixed in."""
    yield list(point)
    for k in range(53):
        share = Fraction(1 << k, DENOMINATOR)
        yield [value + share * (1 - value) for value in point]


def rounded(q: int, count: int, point: Sequence[Fraction]) -> Profile:
    """Weights of a point; units that are left go where the level is lowest but not zero."""
    high, middle, low = point
    if q == 2:
        weight = int(high * DENOMINATOR / 2)
        return Profile(2, 1, weight, DENOMINATOR - weight)
    if high == middle:
        count, middle = count + 1, low
    if middle == low:
        # Two levels: the residue in the middle has a weight like the others, to the last unit.
        each = int(low * DENOMINATOR / q)
        return Profile(q, count, DENOMINATOR - each * (q - count), each)
    weight = int(count * high * DENOMINATOR / q)
    if low == 0:
        return Profile(q, count, weight, DENOMINATOR - weight)
    return Profile(q, count, weight, int(middle * DENOMINATOR / q))
