"""Types of reports: for each group of symbols a chance, and which residues of it are raised.

At a direction of class i, t residues of a group have the weight ``high`` together, the next one
``middle`` and the others ``low``, all over 2⁵³. With ρ(s) the probability of residue s times their
number q, a symbol of the group has a report of the type with the chance of its group times ρ of its
residue, over the number of reports. Residues of other groups are uniform.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR, is_whole
from ..prior import Prior
from .family import AffineFamily, Floats, Integers
from .permuted import PermutedFamily

#: What says which residue each symbol has at each report.
Family = AffineFamily | PermutedFamily


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
        return self.values[(residue >= self.count) + (residue > self.count)][0]

    def moment(self, power: int) -> Fraction:
        """Mean over residues of (ρ − 1)^power."""
        total = sum((n * (value - 1) ** power for value, n in self.values), Fraction(0))
        return total / self.base

    @property
    def is_one_residue(self) -> bool:
        """Whether one residue is told from all others, which are alike."""
        return self.count == 1 and len({value for value, _ in self.values[1:]}) == 1


def uneven_counts(family: Family, i: int, sizes: Sequence[int]) -> list[int]:
    """How many symbols have each level at a report of class i, where the first levels prevail.

    Whole cells of q^(i+1) points have every residue equally often. In the cell that is there in
    part each value of digit i has a residue of its own; levels are filled in their order.

    Parameters
    ----------
    sizes : number of residues of each level
    """
    whole, rest = divmod(family.size, family.powers[i + 1])
    full = family.powers[i]
    digits, last = divmod(rest, full)
    found = [whole * full * n for n in sizes]
    for level, size in enumerate(sizes):
        taken = min(digits, size)
        found[level] += taken * full
        digits -= taken
        if taken < size:
            found[level] += last
            break
    return found


def slot_of(family: Family) -> object:
    """What groups have in common that share a direction: base and dimension of a geometry."""
    return family if isinstance(family, PermutedFamily) else (family.base, family.dimension)


@dataclass(frozen=True)
class Part:
    """Which residues of a group a type raises.

    Attributes
    ----------
    family : which residue each symbol of the group has at each report
    profiles : weights of the residues, for each class of directions
    """

    family: Family
    profiles: tuple[Profile, ...]

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for profiles of another family, or lines of several residues."""
        family, first = self.family, self.profiles[0]
        fits = [p.base for p in self.profiles] == [family.base] * family.dimension
        if isinstance(family, PermutedFamily):
            others = len({value for value, _ in first.values[1:]})
            fits = fits and family.tells_apart(first.count, others)
        if not fits or (family.projective and not self.is_one_residue):
            raise ValueError("expected a profile for each class of a family of directions")

    @property
    def is_one_residue(self) -> bool:
        """Whether one residue is told from all others at every direction."""
        return all(profile.is_one_residue for profile in self.profiles)

    @property
    def slot(self) -> object:
        """Groups with equal ones share a direction."""
        return slot_of(self.family)

    @cached_property
    def classes(self) -> tuple[tuple[Fraction, ...], ...]:
        """For each class of directions the largest and the smallest ρ, and between what its mean
        over the symbols of the group is.
        """
        found = []
        for i, profile in enumerate(self.profiles):
            rising = sorted(profile.values)
            means = []
            for levels in (rising, rising[::-1]):
                counts = uneven_counts(self.family, i, [n for _, n in levels])
                total = sum((c * v for c, (v, _) in zip(counts, levels, strict=True)), Fraction(0))
                means.append(total / self.family.size)
            found.append((rising[-1][0], rising[0][0], *means))
        return tuple(found)


@dataclass(frozen=True)
class ReportType:
    """One type of reports.

    Attributes
    ----------
    chances : weights over 2⁵³ with which a symbol of each group has a report of this type
    parts : of each group; ``None`` where all of its symbols are alike
    """

    chances: tuple[int, ...]
    parts: tuple[Part | None, ...]

    @cached_property
    def split(self) -> dict[int, Part]:
        """The parts of the groups that have one."""
        return {i: part for i, part in enumerate(self.parts) if part is not None}

    @cached_property
    def slots(self) -> tuple[tuple[Family, tuple[int, ...]], ...]:
        """Families whose direction is drawn, and the groups that share it."""
        found: dict[object, list[int]] = {}
        for i, part in self.split.items():
            found.setdefault(part.slot, []).append(i)
        return tuple((self.split[rows[0]].family, tuple(rows)) for rows in found.values())

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """Numbers of directions of the slots, then of shifts of the groups that are split."""
        shifts = [part.family.base for part in self.split.values()]
        return (*(family.directions for family, _ in self.slots), *shifts)

    @cached_property
    def reports(self) -> int:
        """How many reports there are of the type."""
        return prod(self.radices)

    def joined(self, digits: Iterable[Integers]) -> Integers:
        """Numbers of reports from directions and shifts."""
        found = np.zeros(1, dtype=np.int64)
        for radix, digit in zip(self.radices, digits, strict=True):
            found = found * radix + digit
        return found

    def digits(self, reports: Integers) -> list[Integers]:
        """Directions and shifts of reports."""
        found, rest = [], reports
        for radix in self.radices[::-1]:
            found.append(rest % radix)
            rest = rest // radix
        return found[::-1]

    def of_group(self, reports: Integers, i: int) -> Integers:
        """The reports of the family of one group."""
        digits, place = self.digits(reports), list(self.split).index(i)
        slot = next(k for k, (_, rows) in enumerate(self.slots) if i in rows)
        return digits[slot] * self.split[i].family.base + digits[len(self.slots) + place]


@dataclass(frozen=True)
class Layout:
    """Which group each symbol is in.

    Attributes
    ----------
    masses : of a symbol of each group, that of the largest first
    group, place : of each symbol, and which it is in its group
    """

    masses: tuple[Fraction, ...]
    group: NDArray[np.integer] = field(compare=False)
    place: NDArray[np.integer] = field(compare=False)

    @classmethod
    def of(cls, prior: Prior) -> Layout:
        """The groups of a prior, by falling masses."""
        masses, total = sorted(set(prior.weights), reverse=True), sum(prior.weights)
        codes = {mass: i for i, mass in enumerate(masses)}
        group = np.array([codes[mass] for mass in prior.weights])
        return cls.of_groups(group, [Fraction(mass) / total for mass in masses])

    @classmethod
    def alike(cls, size: int) -> Layout:
        """One group of so many symbols."""
        return cls.of_groups(np.zeros(size, dtype=np.uint8), [Fraction(1, size)])

    @classmethod
    def of_groups(cls, group: NDArray[np.integer], masses: Sequence[Fraction]) -> Layout:
        """Symbols whose groups are given by number, with the mass of a symbol of each."""
        group, place = group.astype(np.uint8), np.zeros(len(group), dtype=np.int32)
        for i in range(len(masses)):
            rows = group == i
            place[rows] = np.arange(np.count_nonzero(rows))
        return cls(tuple(masses), group, place)

    @property
    def without_masses(self) -> Layout:
        """The same groups, where every symbol has the same mass."""
        even = Fraction(1, len(self.group))
        return Layout((even,) * len(self.masses), self.group, self.place)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of symbols."""
        return tuple(np.bincount(self.group, minlength=len(self.masses)).tolist())

    @cached_property
    def rows(self) -> tuple[Integers, ...]:
        """The symbols of each group."""
        return tuple(np.flatnonzero(self.group == i) for i in range(len(self.masses)))

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Masses of whole groups."""
        return tuple(n * mass for n, mass in zip(self.sizes, self.masses, strict=True))

    @cached_property
    def certain(self) -> Fraction:
        """Σ p², which is taken from every risk."""
        return sum((n * m * m for n, m in zip(self.sizes, self.masses, strict=True)), Fraction(0))
