"""Groups of symbols, and types of reports: a chance for each group, and what of it is raised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from operator import mul

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR, Verdict, compare_with_exp, log_upper
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from .bounds import asked_parts
from .parts import Directions, Integers, Part


#: Bounds on 1/lift, lift and ratio at the reports of a type, and whether they are attained.
Lifts = dict[str, tuple[Fraction | float, bool]]

# Symbols up to which bounds are told to the smaller of two tolerances.
_FEW, _FINE, _COARSE = 5000, 1e-9, 1e-6
# Combinations of classes of directions that are looked at.
_MOST_CLASSES = 1 << 12


@dataclass(frozen=True)
class Layout:
    """Which group each symbol is in.

    Attributes
    ----------
    masses : of a symbol of each group, that of the largest first
    group : of each symbol
    """

    masses: tuple[Fraction, ...]
    group: NDArray[np.integer] = field(compare=False)

    @classmethod
    def of(cls, prior: Prior | int) -> Layout:
        """The groups of a prior by falling masses, or one of so many symbols."""
        if isinstance(prior, int):
            return cls((Fraction(1, prior),), np.zeros(prior, dtype=np.uint8))
        masses = sorted(set(prior.weights), reverse=True)
        codes = {mass: i for i, mass in enumerate(masses)}
        group = np.array([codes[mass] for mass in prior.weights], dtype=np.uint8)
        return cls(tuple(Fraction(mass) / sum(prior.weights) for mass in masses), group)

    @cached_property
    def rows(self) -> list[Integers]:
        """The symbols of each group."""
        return [np.flatnonzero(self.group == i) for i in range(len(self.masses))]

    @cached_property
    def sizes(self) -> list[int]:
        """Numbers of symbols."""
        return [len(rows) for rows in self.rows]

    @cached_property
    def place(self) -> Integers:
        """Which each symbol is in its group."""
        found = np.zeros(len(self.group), dtype=np.int32)
        for rows in self.rows:
            found[rows] = np.arange(len(rows))
        return found

    @property
    def tolerance(self) -> float:
        """To what share of it the least risk is told."""
        return _FINE if len(self.group) <= _FEW else _COARSE

    @cached_property
    def shares(self) -> list[Fraction]:
        """Masses of whole groups."""
        return [n * mass for n, mass in zip(self.sizes, self.masses, strict=True)]


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
    def slots(self) -> list[tuple[Directions, list[int]]]:
        """Directions that are drawn, and the groups that share each."""
        found: dict[object, list[int]] = {}
        for i, part in self.split.items():
            found.setdefault(part.slot, []).append(i)
        return [
            (Directions(*slot, all(self.split[i].is_one_residue for i in groups)), groups)
            for slot, groups in found.items()
        ]

    @cached_property
    def radices(self) -> list[int]:
        """Numbers of directions of the slots, then of shifts of the groups that are split."""
        shifts = [part.base for part in self.split.values()]
        return [*(directions.number for directions, _ in self.slots), *shifts]

    @property
    def reports(self) -> int:
        """How many reports there are of the type."""
        return prod(self.radices)

    def of_group(self, reports: Integers, i: int) -> tuple[Directions, Integers, Integers]:
        """The directions of a group that is split, and the direction and shift of each report."""
        numbers = np.unravel_index(reports, self.radices)
        k, (directions, _) = next((k, slot) for k, slot in enumerate(self.slots) if i in slot[1])
        return directions, numbers[k], numbers[len(self.slots) + [*self.split].index(i)]

    def probability(self, report: int, i: int, place: int) -> Fraction:
        """The probability of a report of the type about a symbol of a group."""
        found = Fraction(self.chances[i], DENOMINATOR)
        numbers = np.unravel_index(report, self.radices)
        for (directions, _), number in zip(self.slots, numbers, strict=False):
            found *= directions.chance(int(number))
        found /= prod(part.base for part in self.split.values())
        if (own := self.parts[i]) is None:
            return found
        directions, number, shift = self.of_group(np.array([report]), i)
        return found * own.value_at(directions.at(number), int(shift[0]), place)

    def lifts(self, shares: Sequence[Fraction]) -> Lifts:
        """Bounds on 1/lift, lift and ratio for masses of groups, and whether they are attained.

        A report has one class of each direction, at which means over symbols are between two ends.
        """
        chances = [Fraction(weight, DENOMINATOR) for weight in self.chances]
        masses, split = list(map(mul, shares, chances)), self.split.values()
        worst = dict[str, Fraction | float](lower=0, upper=0, ratio=0)
        kinds = [range(directions.dimension) for directions, _ in self.slots]
        if prod(map(len, kinds)) > _MOST_CLASSES:
            raise ValueError("too many classes of reports")
        for classes in product(*kinds):
            rows = [(Fraction(1),) * 4] * len(masses)
            for (_, groups), c in zip(self.slots, classes, strict=True):
                for i in groups:
                    rows[i] = self.split[i].classes[c]
            highs, lows, least, most = (
                list(map(mul, a, b))
                for a, b in zip(
                    (chances, chances, masses, masses), zip(*rows, strict=True), strict=True
                )
            )
            high, low = max(highs), min(lows)
            for kind, over, under in (
                ("lower", sum(most), low),
                ("upper", high, sum(least)),
                ("ratio", high, low),
            ):
                worst[kind] = max(worst[kind], over / under if under else math.inf)
        is_full = all(part.is_full for part in split)
        is_alike = is_full or all(len(set(part.weights)) == 1 for part in split)
        attained = is_full, is_full, is_alike
        return dict(zip(worst, zip(worst.values(), attained, strict=True), strict=True))


@dataclass(frozen=True)
class LevelCheck:
    """The exact verdict on one notion.

    Attributes
    ----------
    notion : with the level asked
    verdict : ``Verdict.YES`` where it is proved
    achieved : levels that the kernel has at most, in nats, rounded up
    """

    notion: PrivacyNotion
    verdict: Verdict
    achieved: tuple[float, ...]


def check_levels(
    notion: PrivacyNotion, lifts: Sequence[Lifts], *, any_masses: bool = False
) -> LevelCheck:
    """The levels of a notion from bounds on lifts and ratios at all types of reports."""
    worst, verdicts = dict[int, float](), {Verdict.YES}
    for kind, parameter, level in asked_parts(notion, any_masses=any_masses):
        for value, is_attained in (row[kind] for row in lifts):
            reached, answer = math.inf, Verdict.NO
            if isinstance(value, Fraction):
                reached = max(0.0, log_upper(value))
                answer = compare_with_exp(value, level or Fraction(0))
            worst[parameter] = max(worst.get(parameter, 0.0), reached)
            if level is not None:
                verdicts.add(answer if is_attained or answer is Verdict.YES else Verdict.UNDECIDED)
    verdict = next(v for v in (Verdict.NO, Verdict.UNDECIDED, Verdict.YES) if v in verdicts)
    return LevelCheck(notion, verdict, tuple(worst[k] for k in sorted(worst)))
