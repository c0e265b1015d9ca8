"""From notions to pairs of hypotheses, and from limits on likelihoods to limits on levels.

A notion bounds ratios (μᵀK)(y)/(νᵀK)(y). What two hypotheses have in common says nothing about
their ratio and would only make its limits wider, so it is taken out first: with the largest t for
which μ − tν has no negative mass, and then the largest u for which ν − uμ′ has none,

    ratio = t + (1 − t)/(u + (1 − u)/z),    z = (μ′ᵀK)(y)/(ν′ᵀK)(y),

which grows in z from t to t + (1 − t)/u. A symbol against the prior becomes the symbol against all
others, and cannot exceed one over its mass, whatever the reports are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, quote
from ..prior import Prior
from ..privacy.constraint import Distribution, Group
from ..privacy.notion import AverageNotion, LikelihoodBound, PrivacyNotion, as_notions
from .limits import Array, Weights
from .sums import SUMS, AskedSum, Reach

# Levels are widened by this much for the rounding of ratios and logarithms.
_ROUNDING = 1e-11
# Ratios that are held at once.
_ENTRIES = 2**21
# Vertices of a set of priors, each of which is a hypothesis.
_MOST_VERTICES = 2000

Masses = dict[int, Fraction]
#: What an audit from samples can ask about.
AuditedNotion = LikelihoodBound | AverageNotion


@dataclass(frozen=True, eq=False)
class Pairs:
    """P pairs of hypotheses that one level bounds.

    Attributes
    ----------
    over, under : positions of μ′ and ν′ among all hypotheses, ``(P,)``
    shared, rest : t and u, ``(P,)``
    factors : what the level is multiplied by, ``(P,)``
    above, below : positions of μ and ν themselves among those that have names, ``(P,)``
    """

    over: NDArray[np.intp]
    under: NDArray[np.intp]
    shared: Array
    rest: Array
    factors: Array
    above: NDArray[np.intp]
    below: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.over)

    def levels(self, ratios: Array) -> Array:
        """Levels in nats of the ratios z of each pair, ``(P,)`` or ``(P, M)``, not below 0."""
        shape = (-1,) + (1,) * (ratios.ndim - 1)
        shared, rest, factors = (v.reshape(shape) for v in (self.shared, self.rest, self.factors))
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(ratios > 0, (1 - rest) / ratios, math.inf)
            log = np.log(shared + (1 - shared) / (rest + inverse))
            found: Array = np.where(log > 0, log / factors, 0.0)
        return found

    @property
    def unbounded(self) -> Array:
        """The largest level that each pair can have, whatever is reported."""
        return self.levels(np.full(len(self), math.inf))

    @classmethod
    def joined(cls, several: Sequence[Pairs]) -> Pairs:
        """The pairs of several groups."""
        if not several:
            nothing, none = np.zeros(0), np.zeros(0, dtype=np.intp)
            return cls(none, none, nothing, nothing, nothing, none, none)
        columns = ([getattr(pairs, f.name) for pairs in several] for f in fields(cls))
        return cls(*map(np.concatenate, columns))

    def part(self, rows: slice) -> Pairs:
        """Some of the pairs."""
        return Pairs(*(getattr(self, f.name)[rows] for f in fields(self)))

    def parts(self, outcomes: int) -> Iterator[Pairs]:
        """The pairs in parts that fit into memory with so many outcomes."""
        step = max(1, _ENTRIES // max(1, outcomes))
        for i in range(0, len(self), step):
            yield self.part(slice(i, i + step))


@dataclass(frozen=True)
class Extreme:
    """The largest of the levels of some pairs: where, and how large."""

    level: float
    pair: int
    outcome: int


@dataclass(frozen=True, eq=False)
class Asked:
    """A notion, for each of its levels the pairs that it bounds, and all hypotheses with names."""

    notion: LikelihoodBound
    pairs: tuple[Pairs, ...]
    named: Sequence[Distribution]

    def reaches(self, lower: Array, upper: Array) -> list[Reach]:
        """Of each level, from limits ``(H, M)`` on likelihoods of all outcomes."""
        found, outcomes = [], range(lower.shape[1])
        for pairs in self.pairs:
            low = largest_level(pairs, lower, upper, outcomes)
            high = largest_level(pairs, upper, lower, outcomes)
            over = under = ""
            scale = 1.0
            if low.pair >= 0:
                scale = float(pairs.factors[low.pair])
                over = self.named[pairs.above[low.pair]].name
                under = self.named[pairs.below[low.pair]].name
            top, most = (high.level, float(pairs.unbounded.max())) if len(pairs) else (-1.0, -1.0)
            scaled = bool((pairs.factors != 1).any())
            place = max(low.outcome, 0)
            found.append(Reach(low.level, top, most, place, over, under, low.pair, scale, scaled))
        return found


class Questions:
    """What notions ask of a kernel over the symbols of a prior: hypotheses, in pairs.

    Attributes
    ----------
    asked : the notions with their pairs
    hypotheses : all that the pairs compare, without what two have in common, each once
    named : all that the notions compare, as they are
    """

    def __init__(self, notions: Sequence[AuditedNotion], prior: Prior) -> None:
        self._known: dict[tuple[tuple[int, Fraction], ...], int] = {}
        self.hypotheses: list[Weights] = []
        self.named: list[Distribution] = []
        self.asked = tuple(
            Asked(notion, self._pairs_of(notion, prior), self.named)
            if isinstance(notion, LikelihoodBound)
            else self._sums_of(notion, prior)
            for notion in notions
        )

    @property
    def symbols(self) -> list[int]:
        """Positions of the symbols that some hypothesis needs reports of."""
        return sorted({int(x) for found in self.hypotheses for x in found.support})

    def _pairs_of(self, notion: LikelihoodBound, prior: Prior) -> tuple[Pairs, ...]:
        fields = notion.level_fields
        # Infinite levels ask nothing, but are audited all the same.
        unit = notion.with_levels(*[1.0] * len(fields)).constraints(prior)
        found: list[list[Pairs]] = [[] for _ in fields]
        for part in () if unit is None else unit.cone:
            for group in part.groups():
                found[group.parameter].append(self._of_group(group))
        return tuple(map(Pairs.joined, found))

    def _sums_of(self, notion: AverageNotion, prior: Prior) -> AskedSum:
        parts = []
        for constraint in notion.checked_sums(prior):
            both = constraint.compared
            if both is None:
                raise _no_limits(notion)
            sides = [side.distributions for side in both]
            for side in sides:
                _check_vertices(side)
            over, under = (
                np.array([self._place(_masses(d)) for d in side], dtype=np.intp) for side in sides
            )
            parts.append((constraint, over, under))
        return AskedSum(notion, tuple(parts))

    def _of_group(self, group: Group) -> Pairs:
        over, under = group.over, group.under
        _check_vertices(under)
        first = np.repeat(np.arange(len(over)), len(under))
        second = np.tile(np.arange(len(under)), len(over))
        factors = np.full(len(first), float(group.scale))
        more, less = self._points(over), self._points(under)
        shared, rest = np.zeros(len(first)), np.zeros(len(first))
        a, b = more[first], less[second]
        known: dict[tuple[int, int], tuple[int, int, float, float] | None] = {}
        for k in np.flatnonzero((a < 0) | (b < 0)).tolist():
            ends = int(first[k]), int(second[k])
            if ends not in known:
                known[ends] = self._apart(over[ends[0]], under[ends[1]])
            a[k], b[k], shared[k], rest[k] = known[ends] or (0, 0, 0.0, 0.0)
        # A hypothesis against itself has the ratio one.
        kept = np.flatnonzero(a != b)
        start = len(self.named), len(self.named) + len(over)
        self.named += [*over, *under]
        return Pairs(
            a[kept],
            b[kept],
            shared[kept],
            rest[kept],
            factors[kept],
            start[0] + first[kept],
            start[1] + second[kept],
        )

    def _points(self, side: Sequence[Distribution]) -> NDArray[np.intp]:
        """Positions of the point masses among all hypotheses, -1 for mixtures."""
        return np.array(
            [-1 if d.point is None else self._place(_masses(d)) for d in side], dtype=np.intp
        )

    def _apart(
        self, over: Distribution, under: Distribution
    ) -> tuple[int, int, float, float] | None:
        """Positions of two hypotheses without what they share, t and u; ``None`` for equal ones."""
        more, shared = _without(_masses(over), _masses(under))
        if not more:
            return None
        less, rest = _without(_masses(under), more)
        return self._place(more), self._place(less), float(shared), float(rest)

    def _place(self, masses: Masses) -> int:
        """Position of a hypothesis among all, added where it is new."""
        key = tuple(sorted(masses.items()))
        if key not in self._known:
            self._known[key] = len(self.hypotheses)
            self.hypotheses.append(
                Weights(np.array([x for x, _ in key]), np.array([float(m) for _, m in key]))
            )
        return self._known[key]


def _check_vertices(side: Sequence[Distribution]) -> None:
    """Refuse a set of priors with very many vertices, each of which is a mixture of its own."""
    mixtures = sum(found.point is None for found in side)
    if mixtures > _MOST_VERTICES:
        raise LevelError(
            "set of priors of a notion",
            expected=f"one of at most {_MOST_VERTICES:,} vertices",
            got=f"{mixtures:,} to audit from samples",
            remedy="list fewer priors: RobustPML(level, [prior, …])",
        )


def audited_notions(notions: object) -> tuple[AuditedNotion, ...]:
    """Notions that samples have limits for; :class:`LevelError` for any other."""
    found: list[AuditedNotion] = []
    for notion in as_notions(notions):
        known: PrivacyNotion = notion
        if isinstance(known, LikelihoodBound) or (
            isinstance(known, AverageNotion) and isinstance(known, SUMS)
        ):
            found.append(known)
            continue
        raise _no_limits(notion)
    return tuple(found)


def _no_limits(notion: object) -> LevelError:
    return LevelError(
        "notions of an audit from samples",
        expected="notions that bound likelihood ratios, such as LDP, PML or Pufferfish, sums of "
        "column maxima or minima, or ratios up to a delta",
        got=quote(notion),
        remedy="a mutual information is at most the level of PML: audit that, or estimate the "
        "kernel and use md.audit",
    )


def largest_level(pairs: Pairs, over: Array, under: Array, outcomes: Sequence[int]) -> Extreme:
    """The largest level where ratios are ``over[μ′]/under[ν′]``, arrays ``(H, M)``.

    A ratio of 0 to 0 is one of nothing known: it counts as 0 for lower limits, whose ``over`` is 0
    there, and upper limits are never 0.
    """
    best = Extreme(0.0, -1, -1)
    if not len(outcomes):
        return best
    done = 0
    for part in pairs.parts(len(outcomes)):
        a, b = over[part.over][:, outcomes], under[part.under][:, outcomes]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(a > 0, a / b, 0.0)
        levels = part.levels(ratios)
        place = int(levels.argmax())
        i, y = divmod(place, len(outcomes))
        if best.pair < 0 or levels[i, y] > best.level:
            best = Extreme(float(levels[i, y]), done + i, outcomes[y])
        done += len(part)
    return best


def downward(level: float) -> float:
    """A level lowered by what rounding may have added."""
    return max(0.0, level - _ROUNDING * (1 + level)) if level < math.inf else level


def upward(level: float) -> float:
    """A level raised by what rounding may have taken; zero for a level that nothing has."""
    return max(0.0, level + _ROUNDING * (1 + level))


def _masses(found: Distribution) -> Masses:
    return dict(zip(found.support, found.masses, strict=True))


def _without(masses: Masses, other: Masses) -> tuple[Masses, Fraction]:
    """What is left of a distribution without the largest multiple of another one, and which."""
    part = min((masses.get(x, Fraction(0)) / m for x, m in other.items()))
    if part == 1:
        return {}, part
    left = {x: (m - part * other.get(x, Fraction(0))) / (1 - part) for x, m in masses.items()}
    return {x: m for x, m in left.items() if m}, part
