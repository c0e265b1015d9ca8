"""The cone that the columns of a private kernel lie in, in exact numbers.

A column k = K[:, y] of a kernel that satisfies notions of the likelihood family satisfies
μᵀk ≤ e^ε νᵀk for every pair and level they name. Here hypotheses are sparse rows of rationals and
e^ε is replaced by a rational at or above it, so that what holds on this cone holds on the true one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush

from ..certificate.shape import Sides, recognised
from ..errors import LevelError
from ..prior import Prior
from ..privacy.constraint import Distribution, Group
from ..privacy.notion import LikelihoodBound, PrivacyNotion

_MOST_LISTED = 10_000


@dataclass(frozen=True)
class ExactCone:
    """What notions ask of a column, for one prior.

    Attributes
    ----------
    notions : the notions asked, all of the likelihood family
    prior : the whole prior
    symbols : positions in the prior of the symbols that matter; hypotheses count among these
    demands : groups of pairs with exact levels
    """

    notions: tuple[LikelihoodBound, ...]
    prior: Prior
    symbols: tuple[int, ...]
    demands: tuple[Group, ...]

    @property
    def size(self) -> int:
        """Number of symbols that matter."""
        return len(self.symbols)

    def chained(self, mu: Distribution, nu: Distribution) -> Fraction | None:
        """The least sum of levels along a chain of named pairs from μ to ν; ``None`` without one.

        A bound on the level of (μ, ν), in exact numbers however large the levels are.
        """
        if mu.key not in self._chains:
            steps: dict[object, list[tuple[object, Fraction]]] = {}
            for (start, end), level in self.listed.items():
                steps.setdefault(start, []).append((end, level))
            least: dict[object, Fraction] = {}
            queue: list[tuple[Fraction, int, object]] = [(Fraction(0), 0, mu.key)]
            count = 0
            while queue:
                length, _, place = heappop(queue)
                if place in least:
                    continue
                least[place] = length
                for end, level in steps.get(place, ()):
                    count += 1
                    heappush(queue, (length + level, count, end))
            self._chains[mu.key] = least
        return self._chains[mu.key].get(nu.key)

    @cached_property
    def _chains(self) -> dict[object, dict[object, Fraction]]:
        return {}

    @cached_property
    def listed(self) -> dict[tuple[object, object], Fraction]:
        """The level of each pair that is named outright; only for groups of moderate size."""
        found: dict[tuple[object, object], Fraction] = {}
        for group in self.demands:
            if len(group.over) * len(group.under) > _MOST_LISTED:
                continue
            for mu in group.over:
                for nu in group.under:
                    pair = (mu.key, nu.key)
                    found[pair] = min(found.get(pair, group.level), group.level)
        return found

    @cached_property
    def sides(self) -> Sides | None:
        """The two-sided cone that the demands amount to, ``None`` when they are of another kind."""
        part, whole = self._recognised
        return part if whole else None

    @cached_property
    def part(self) -> Sides | None:
        """The two-sided cone that some of the demands amount to: the cone lies inside it."""
        return self._recognised[0]

    @cached_property
    def _recognised(self) -> tuple[Sides | None, bool]:
        masses = tuple(self.prior.mass(x) for x in self.symbols)
        return recognised(self.demands, masses) if all(masses) else (None, False)


def make_cone(
    notions: Iterable[PrivacyNotion], prior: Prior, questions: Iterable[Group] = ()
) -> tuple[ExactCone, list[Group]]:
    """The cone of notions of the likelihood family, and questions about it.

    Symbols of zero mass that no hypothesis names are left out, and hypotheses renumbered. Raises
    :class:`LevelError` for notions outside the family.
    """
    checked: list[LikelihoodBound] = []
    for notion in notions:
        if not isinstance(notion, LikelihoodBound):
            raise LevelError(
                "source of a tight conversion",
                expected="notions that bound likelihood ratios",
                got=str(notion),
                remedy="leave out tight=True (--tight), which follows published results instead",
            )
        checked.append(notion)
    demands = [
        group
        for notion in checked
        for part in notion.constraints(prior).cone
        for group in part.groups()
    ]
    asked = list(questions)
    used = {int(x) for x in prior.support}
    for group in (*demands, *asked):
        used.update(x for h in (*group.over, *group.under) for x in h.support)
    symbols = tuple(sorted(used))
    if len(symbols) < len(prior):
        place = {x: i for i, x in enumerate(symbols)}
        demands = [_renumbered(g, place) for g in demands]
        asked = [_renumbered(g, place) for g in asked]
    return ExactCone(tuple(checked), prior, symbols, tuple(demands)), asked


def _renumbered(group: Group, place: dict[int, int]) -> Group:
    def moved(h: Distribution) -> Distribution:
        return Distribution(tuple(place[x] for x in h.support), h.masses, h.name)

    over, under = tuple(map(moved, group.over)), tuple(map(moved, group.under))
    return Group(over, under, group.level, group.scale, group.parameter)
