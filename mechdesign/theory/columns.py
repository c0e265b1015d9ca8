"""The cone that the columns of a private kernel lie in, in exact numbers.

A column k = K[:, y] of a kernel that satisfies notions of the likelihood family satisfies
μᵀk ≤ e^ε νᵀk for every pair and level they name. Here hypotheses are sparse rows of rationals and
e^ε is replaced by a rational at or above it, so that what holds on this cone holds on the true one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush

from ..errors import LevelError
from ..exact import LARGEST_LEVEL, exp_bounds
from ..prior import Prior
from ..privacy.hypotheses import Bound, Hypotheses
from ..privacy.notion import LikelihoodBound, PrivacyNotion
from ..privacy.prior_sets import PriorSet

#: Columns of witnesses keep this relative distance from the edge, for the rounding to come.
SLACK = Fraction(1, 1 << 80)

_MOST_LISTED = 10_000


@dataclass(frozen=True)
class Hypothesis:
    """One distribution: positions, positive exact masses, and its name."""

    support: tuple[int, ...]
    masses: tuple[Fraction, ...]
    name: str

    @property
    def key(self) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
        """What two equal distributions share."""
        return self.support, self.masses

    @property
    def point(self) -> int | None:
        """The position of a point mass, ``None`` for a mixture."""
        return self.support[0] if len(self.support) == 1 else None

    def dot(self, column: Sequence[Fraction]) -> Fraction:
        """The likelihood μᵀk."""
        return sum(
            (m * column[x] for x, m in zip(self.support, self.masses, strict=True)), Fraction(0)
        )


def unpack(hypotheses: Hypotheses) -> list[Hypothesis]:
    """Hypotheses one by one; the vertices of a set of priors."""
    if hypotheses.indices is not None:
        return [
            Hypothesis((int(x),), (Fraction(1),), name)
            for x, name in zip(hypotheses.indices, hypotheses.names, strict=True)
        ]
    found = []
    rows: Sequence[tuple[int, ...]] = hypotheses.masses
    names = hypotheses.names
    if isinstance(hypotheses, PriorSet):
        vertices = hypotheses.vertices()
        if vertices is None:
            raise LevelError(
                "tight conversion with a set of priors",
                expected="a set with at most a few thousand vertices",
                got=f"{names[0]} over {hypotheses.size} symbols, which has more",
                remedy="merge symbols, or use RobustPML.floor, which has one vertex per symbol",
            )
        rows, names = vertices, (f"a vertex of {names[0]}",) * len(vertices)
    for row, name in zip(rows, names, strict=True):
        support = tuple(x for x, m in enumerate(row) if m)
        masses = tuple(Fraction(row[x], hypotheses.total) for x in support)
        found.append(Hypothesis(support, masses, name))
    return found


@dataclass(frozen=True)
class Group:
    """μᵀk ≤ e^(level) νᵀk for every μ in ``over`` and ν in ``under``; ``scale`` divides levels.

    As a demand ``level`` is exact; as a question (a target) it is ignored.
    """

    over: tuple[Hypothesis, ...]
    under: tuple[Hypothesis, ...]
    level: Fraction
    scale: Fraction
    parameter: int


def groups(bounds: Iterable[Bound]) -> Iterator[Group]:
    """Bounds as groups: one for all pairs, or one for each matched pair. Infinite levels drop."""
    for bound in bounds:
        if bound.is_vacuous:
            continue
        over, under = tuple(unpack(bound.over)), tuple(unpack(bound.under))
        if bound.pairing == "all":
            yield Group(over, under, bound.level(), Fraction(1), bound.parameter)
            continue
        for i, (mu, nu) in enumerate(zip(over, under, strict=True)):
            scale = Fraction(1) if bound.scales is None else Fraction(bound.scales[i])
            yield Group((mu,), (nu,), bound.level(i), scale, bound.parameter)


@dataclass(frozen=True)
class Sides:
    """A cone {l·q ≤ k ≤ h·q, max k ≤ r·min k} with q = pᵀk, by the logarithms of its factors.

    ``lower`` is −log l, ``upper`` log h and ``ratio`` log r; ``None`` asks nothing. ``masses`` are
    those of the prior, all positive.
    """

    masses: tuple[Fraction, ...]
    lower: Fraction | None
    upper: Fraction | None
    ratio: Fraction | None

    def factors(self, *, inner: bool = False) -> tuple[Fraction, Fraction | None, Fraction | None]:
        """l, h and r as rationals: outside the true ones, or a little inside."""
        factor = inner_factor if inner else outer_factor
        least = None if self.lower is None else factor(self.lower)
        most = None if self.upper is None else factor(self.upper)
        spread = None if self.ratio is None else factor(self.ratio)
        return Fraction(0) if least is None else 1 / least, most, spread


def outer_factor(level: Fraction) -> Fraction | None:
    """A rational at or above e^level; beyond the largest level ``None``, which asks nothing."""
    return exp_bounds(level)[1] if level <= LARGEST_LEVEL else None


def inner_factor(level: Fraction) -> Fraction:
    """A rational a little below e^level, and 1 at level zero."""
    low, _ = exp_bounds(min(level, Fraction(LARGEST_LEVEL)))
    return 1 + (low - 1) * (1 - SLACK)


@dataclass(frozen=True)
class Cone:
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

    def chained(self, mu: Hypothesis, nu: Hypothesis) -> Fraction | None:
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
        if not all(masses):
            return None, False
        sides: dict[str, Fraction] = {}
        whole = True
        for group in self.demands:
            name = _SIDES.get((_kind(group.over, masses), _kind(group.under, masses)))
            if name is None:
                whole = False
            else:
                sides[name] = min(sides.get(name, group.level), group.level)
        found = Sides(masses, sides.get("lower"), sides.get("upper"), sides.get("ratio"))
        return found, whole


_SIDES: dict[tuple[str, str], str] = {
    ("prior", "points"): "lower",
    ("points", "prior"): "upper",
    ("points", "points"): "ratio",
    ("prior", "prior"): "none",
}


def _kind(hypotheses: tuple[Hypothesis, ...], masses: tuple[Fraction, ...]) -> str:
    """All points, the prior alone, or something else."""
    if len(hypotheses) == 1 and hypotheses[0].masses == masses:
        return "prior"
    points = {h.point for h in hypotheses}
    return "points" if None not in points and len(points) == len(masses) else "other"


def make_cone(
    notions: Iterable[PrivacyNotion], prior: Prior, questions: Iterable[Group] = ()
) -> tuple[Cone, list[Group]]:
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
    demands = [g for notion in checked for g in groups(notion.checked_bounds(prior))]
    asked = list(questions)
    used = {int(x) for x in prior.support}
    for group in (*demands, *asked):
        used.update(x for h in (*group.over, *group.under) for x in h.support)
    symbols = tuple(sorted(used))
    if len(symbols) < len(prior):
        place = {x: i for i, x in enumerate(symbols)}
        demands = [_renumbered(g, place) for g in demands]
        asked = [_renumbered(g, place) for g in asked]
    return Cone(tuple(checked), prior, symbols, tuple(demands)), asked


def _renumbered(group: Group, place: dict[int, int]) -> Group:
    def moved(h: Hypothesis) -> Hypothesis:
        return Hypothesis(tuple(place[x] for x in h.support), h.masses, h.name)

    over, under = tuple(map(moved, group.over)), tuple(map(moved, group.under))
    return Group(over, under, group.level, group.scale, group.parameter)
