"""Groups of symbols, and types of reports: a chance for each group, and what of it is raised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR, Verdict, compare_with_exp, log_upper
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from .bounds import KINDS, asked_parts
from .parts import Directions, Integers, Part

#: Reports are machine integers.
MOST_REPORTS = 1 << 62
#: Bounds on 1/lift, lift and ratio at the reports of a type, and whether they are attained.
Lifts = dict[str, tuple[Fraction | float, bool]]


class Layout:
    """Which group each symbol is in.

    Attributes
    ----------
    masses : of a symbol of each group in the mean, the largest first; equal ones if left out
    group : of each symbol
    sizes : numbers of symbols
    shares : masses of whole groups
    certain : Σ p² of the symbols: the risk of an open survey is one less this
    """

    def __init__(
        self,
        group: NDArray[np.integer],
        masses: Sequence[Fraction] = (),
        certain: Fraction | None = None,
    ) -> None:
        self.group, self.sizes = group.astype(np.uint8), np.bincount(group).tolist()
        self.masses = np.array(masses or [Fraction(1, len(group))] * len(self.sizes))
        self.shares = np.multiply(self.sizes, self.masses)
        self.certain: Fraction = self.shares @ self.masses if certain is None else certain

    @classmethod
    def of(cls, prior: Prior, group: NDArray[np.integer] | None = None) -> Layout:
        """The groups of a prior by falling masses: of equal ones, or those given, of near ones.

        Subsets of a group are drawn whatever its symbols are, so that shares of groups and Σ p² are
        all that the risk depends on.
        """
        if group is None:
            distinct = sorted({*prior.weights}, reverse=True)
            group = np.array(list(map(distinct.index, prior.weights)))
        weights = np.array(prior.weights, dtype=object)
        totals = [weights[group == i].sum() for i in range(int(group.max()) + 1)]
        masses = [
            Fraction(total, size * prior.total)
            for total, size in zip(totals, np.bincount(group).tolist(), strict=True)
        ]
        return cls(group, masses, Fraction((weights * weights).sum(), prior.total**2))

    @cached_property
    def rows(self) -> list[Integers]:
        """The symbols of each group."""
        return [np.flatnonzero(self.group == i) for i in range(len(self.sizes))]


@dataclass(frozen=True)
class ReportType:
    """One type of reports.

    Attributes
    ----------
    chances : weights over 2⁵³ with which a symbol of each group has a report of this type
    parts : of each group whose symbols are not alike
    """

    chances: tuple[int, ...]
    parts: dict[int, Part]

    @cached_property
    def directions(self) -> dict[int, Directions]:
        """What is drawn for each group, which groups share where they can."""
        alike: dict[Any, list[Part]] = {}
        for part in self.parts.values():
            alike.setdefault((part.base, part.placements[1]), []).append(part)
        found = dict[Any, Directions]()
        for (base, masses), parts in alike.items():
            # Where one residue is told from all others, one direction of each line is enough.
            are_lines = all(part.count == 1 and part.others_are_alike for part in parts)
            dimension = max(part.dimension for part in parts)
            found[base, masses] = Directions(base, dimension, masses, are_lines)
        return {i: found[part.base, part.placements[1]] for i, part in self.parts.items()}

    @cached_property
    def slots(self) -> list[Directions]:
        """Directions that are drawn."""
        return [*dict.fromkeys(self.directions.values())]

    def residues(self, i: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Values of ρ in a group at each class of directions, and how often reports have them where
        residues are uniform, ``(m + 1, L)``; in the end those that tell none of its symbols apart.
        """
        rows, shares, sizes = list[Any](), list[Fraction](), list[Any]([1])
        if part := self.parts.get(i):
            lines = np.diff(self.directions[i].lines).tolist()
            shares = [Fraction(k, sum(lines)) for k in lines[: part.dimension]]
            rows, sizes = part.values, part.sizes
        even = np.outer([*shares, 1 - sum(shares, Fraction(0))], sizes)
        return np.array([*rows, [Fraction(1)] * len(sizes)]), even / sum(sizes)

    @cached_property
    def radices(self) -> list[int]:
        """Numbers of directions of the slots, then of shifts of the groups that are split; one."""
        shifts = [part.base for part in self.parts.values()]
        return [*(directions.number for directions in self.slots), *shifts, 1]

    @property
    def reports(self) -> int:
        """How many reports there are of the type."""
        return prod(self.radices)

    def drawn(self, reports: Integers) -> dict[int, tuple[Integers, Integers]]:
        """For each group that is split the direction and the shift at each report."""
        parts: list[Any] = [*self.slots, *self.parts]
        numbers = dict(zip(parts, np.unravel_index(reports, self.radices), strict=False))
        return {i: (own.at(numbers[own]), numbers[i]) for i, own in self.directions.items()}

    @cached_property
    def means(self) -> NDArray[Any]:
        """The mean entries of groups, ``(G,)``."""
        return np.array([Fraction(weight, DENOMINATOR) for weight in self.chances])

    @cached_property
    def ends(self) -> NDArray[Any]:
        """For each class of directions, which reports have, the largest and the smallest entries of
        groups, and between what their means are, ``(4, C, G)``.
        """
        dimensions = [directions.dimension for directions in self.slots]
        if sum(m > 1 for m in dimensions) > 1:
            raise ValueError("classes of several directions")
        found = np.ones((4, max(dimensions, default=1), len(self.chances)), dtype=object)
        for i, c in product(self.parts, range(found.shape[1])):
            found[:, c, i] = self.parts[i].ends(min(c, self.directions[i].dimension - 1))
        return found * self.means

    def lifts(self, shares: NDArray[Any]) -> Lifts:
        """Bounds on 1/lift, lift and ratio for masses of groups, and whether they are attained."""
        below, above = self.ends[2:] @ shares
        high, low = self.ends[0].max(axis=1), self.ends[1].min(axis=1)
        worst = [
            max(a / b if b else math.inf for a, b in zip(*pair, strict=True))
            for pair in ((above, low), (high, below), (high, low))
        ]
        parts = self.parts.values()
        are_alike = all(len({*part.weights}) == 1 for part in parts)
        is_exact = are_alike and all(part.is_full for part in parts)
        attained = is_exact, is_exact, are_alike
        return dict(zip(KINDS, zip(worst, attained, strict=True), strict=True))


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


def check_levels(notion: PrivacyNotion, lifts: Sequence[Lifts]) -> LevelCheck:
    """The levels of a notion from bounds on lifts and ratios at all types of reports."""
    achieved, verdicts = dict[int, float](), {Verdict.YES}
    for kind, parameter, level in asked_parts(notion):
        value, is_attained = max(row[kind] for row in lifts)
        reached = math.inf if value == math.inf else max(0.0, log_upper(Fraction(value)))
        achieved[parameter] = max(achieved.get(parameter, 0.0), reached)
        if reached > level:
            answer = Verdict.NO
            if reached < math.inf:
                answer = compare_with_exp(Fraction(value), level)
            verdicts.add(Verdict.UNDECIDED if answer is Verdict.NO and not is_attained else answer)
    verdict = next(v for v in (Verdict.NO, Verdict.UNDECIDED, Verdict.YES) if v in verdicts)
    return LevelCheck(notion, verdict, tuple(achieved[k] for k in sorted(achieved)))
