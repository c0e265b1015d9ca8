"""Types of reports: for each group of symbols a chance, and which residues of it are raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ..prior import Prior
from .family import AffineFamily, Integers
from .permuted import PermutedFamily
from .profile import Family, Profile, mean_ends


def slot_of(family: Family) -> Any:
    """What groups have in common that share a direction: base and dimension of a geometry."""
    return (family.base, family.dimension) if isinstance(family, AffineFamily) else family


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
        """Raise ``ValueError`` for profiles of another family."""
        family = self.family
        fits = [p.base for p in self.profiles] == [family.base] * family.dimension
        first = self.profiles[0]
        others = len({value for value, _ in first.values[1:]})
        if isinstance(family, PermutedFamily) and not family.tells_apart(first.count, others):
            fits = False
        if not fits or family.projective:
            raise ValueError("expected a profile for each class of a family of single directions")

    @property
    def slot(self) -> Any:
        """Groups with equal ones share a direction."""
        return slot_of(self.family)

    @cached_property
    def classes(self) -> tuple[tuple[Fraction, ...], ...]:
        """For each class of directions the largest and the smallest weight of a residue, times
        their number, and between what their mean over the symbols of the group is.
        """
        found = []
        for i, profile in enumerate(self.profiles):
            values = [value for value, _ in profile.values]
            found.append((max(values), min(values), *mean_ends(self.family, i, profile)))
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
    def split(self) -> tuple[int, ...]:
        """Groups that have a part."""
        return tuple(i for i, part in enumerate(self.parts) if part is not None)

    def part(self, i: int) -> Part:
        """The part of a group that has one."""
        found = self.parts[i]
        assert found is not None
        return found

    @cached_property
    def slots(self) -> tuple[tuple[Family, tuple[int, ...]], ...]:
        """Families whose direction is drawn, and the groups that share it."""
        found: dict[Any, list[int]] = {}
        for i in self.split:
            found.setdefault(self.part(i).slot, []).append(i)
        return tuple((self.part(rows[0]).family, tuple(rows)) for rows in found.values())

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """Numbers of directions of the slots, then of shifts of the groups that are split."""
        shifts = [self.part(i).family.base for i in self.split]
        return (*(family.directions for family, _ in self.slots), *shifts)

    @cached_property
    def reports(self) -> int:
        """How many reports there are of the type."""
        return prod(self.radices)

    def joined(self, digits: Sequence[Integers]) -> Integers:
        """Numbers of reports from directions and shifts."""
        found = np.zeros_like(digits[0]) if len(digits) else np.zeros(1, dtype=np.int64)
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
        digits, place = self.digits(reports), self.split.index(i)
        slot = next(k for k, (_, rows) in enumerate(self.slots) if i in rows)
        return digits[slot] * self.part(i).family.base + digits[len(self.slots) + place]


@dataclass(frozen=True)
class Layout:
    """Which group each symbol is in.

    Attributes
    ----------
    masses : of a symbol of each group, that of the largest first
    group, place : of each symbol, and which it is in its group
    """

    masses: tuple[Fraction, ...]
    group: Integers = field(compare=False)
    place: Integers = field(compare=False)

    @classmethod
    def of(cls, prior: Prior) -> Layout:
        """The groups of a prior, by falling masses."""
        weights = np.array(prior.weights, dtype=object)
        masses = sorted(set(prior.weights), reverse=True)
        codes = {mass: i for i, mass in enumerate(masses)}
        group = np.array([codes[mass] for mass in weights.tolist()], dtype=np.int64)
        total = sum(prior.weights)
        return cls.of_groups(group, [Fraction(mass) / total for mass in masses])

    @classmethod
    def of_groups(cls, group: Integers, masses: Sequence[Fraction]) -> Layout:
        """Symbols whose groups are given by number, with the mass of a symbol of each."""
        place = np.zeros(len(group), dtype=np.int64)
        for i in range(len(masses)):
            rows = np.flatnonzero(group == i)
            place[rows] = np.arange(len(rows))
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
