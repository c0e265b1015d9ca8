"""Which families hold the subsets of symbols in groups: permutations, or blocks of a geometry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ..exact import DENOMINATOR, Verdict
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from .family import AffineFamily
from .finite_fields import is_prime
from .group_errors import GroupErrors
from .grouped import MOST_REPORTS, GroupedSelection, lifts_of, tolerance_for
from .permuted import is_possible, permuted_family
from .profile import Family, LiftBounds, Profile, mean_ends, rounded
from .report_types import Layout, Part, ReportType, slot_of
from .selection import asked_bounds, judged
from .types_program import Groups, Mixture, TwoLevels, best_mixture, shapes_of

# Numbers of residues of a geometry that are tried, of up to so many groups.
_RESIDUES = {
    1: (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31),
    2: (2, 3, 5, 7, 11, 13, 17, 23),
    4: (2, 3, 5, 7),
}
# Groups whose subsets are permuted beside others that are blocks, and symbols that are raised in
# one that is permuted.
_SMALL, _MOST_RAISED = 64, 1 << 11
# Residues of a geometry, about, in which groups nearly fill their spaces; powers of primes that are
# tried for each group, bits of a report of one type, and how many choices are taken.
_MOST_RESIDUES, _ROOTS, _MOST_BITS, _FILLING = 2048, 4, 61.5, 8
# Dimensions up to which all groups share a direction among as many residues as their spaces need.
_MOST_SHARED = 5
# How much nearer the chances of groups are to each other, so that entries have room for means that
# are uneven: the least share of the way, by which factor more, and how often more than has to be.
_ALIKE, _MORE, _TIMES = 2.0**-20, 2.0, 5
# What the mean of a column may be off by for one group at directions in which it is uneven.
_UNEVEN = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
# Relative rounding of floats that is no reason to move chances.
_SLIP = 1e-12
# How much of what tells nothing is mixed into weights: at first, by which factor more, how often
# halved, and what is too little for that.
_FIRST, _FACTOR, _STEPS, _NEGLIGIBLE = 2.0**-52, 2.0**5, 10, 1e-9
# To what share of it the risk of a plan is told.
_TOLERANCE = 1e-7


@dataclass(frozen=True)
class _Plan:
    """Bases of the geometries of groups, ``None`` where subsets are permuted.

    Groups whose spaces have the same dimension share a direction, which makes reports fewer.
    """

    layout: Layout
    bases: tuple[int | None, ...]
    least_dimension: int = 1

    def points(self, i: int) -> int:
        """Points of the space of a group."""
        base, size = self.bases[i], self.layout.sizes[i]
        return size if base is None or size == 1 else base ** self.dimension(i)

    def dimension(self, i: int) -> int:
        """The dimension of its space, in which there are so many points."""
        base, found = self.bases[i], self.least_dimension
        assert base is not None
        while base**found < self.layout.sizes[i]:
            found += 1
        return found

    @property
    def groups(self) -> Groups:
        """What the program is told, with residues for cells."""
        layout = self.layout
        sizes = np.array(layout.sizes, dtype=float)
        points = np.array([self.points(i) for i in range(len(sizes))], dtype=float)
        cells = [
            n if b is None or n == 1 else b for n, b in zip(layout.sizes, self.bases, strict=True)
        ]
        return Groups(
            np.array(cells, dtype=np.int64),
            np.array([float(share) for share in layout.shares]),
            sizes * ((points - 1) / points) ** 2,
            sizes / points**2,
        )

    def family(self, i: int, count: int, *, middle: bool) -> Family | None:
        """The family of a group for so many raised cells."""
        base, size = self.bases[i], self.layout.sizes[i]
        if base is not None:
            return AffineFamily(size, base, self.dimension(i))
        return permuted_family(size, count, middle=middle)


def select_grouped(
    prior: Prior, notions: Sequence[PrivacyNotion], tolerance: Fraction
) -> GroupedSelection | None:
    """The selection with fewest reports among those whose risk is next to the least.

    ``None`` where no symbols can be told apart.
    """
    layout, bounds = Layout.of(prior), asked_bounds(notions)
    least = min(layout.masses)
    inside, outside = (
        shapes_of(asked_bounds(notions, outside=side), least, outside=side)
        for side in (False, True)
    )
    exact = Groups.of_symbols(layout.sizes, layout.masses)
    told = best_mixture(exact, outside, tolerance=tolerance_for(layout.sizes))
    if told is None:
        return None
    found: list[tuple[Fraction, int, list[ReportType]]] = []
    by_mean = bounds.lower > 0 or bounds.upper is not None
    for plan in _plans(layout, told, by_mean=by_mean):
        best = best_mixture(plan.groups, inside, tolerance=_TOLERANCE)
        if best is not None:
            found += _made(notions, plan, best, by_mean=by_mean)
    if not found:
        return None
    least_risk = min(risk for risk, _, _ in found)
    near = [made for made in found if made[0] <= least_risk * (1 + tolerance)]
    types = min(near, key=lambda made: made[:2][::-1])[2]
    return GroupedSelection(prior, notions, types, told.prices, layout)


def _plans(layout: Layout, told: Mixture, *, by_mean: bool) -> Iterator[_Plan]:
    """Permutations where they are few enough, and geometries of several bases.

    Bounds against the mean of a column are kept best where groups nearly fill their spaces
    (``by_mean``).
    """
    raised = told.types.counts.max(axis=0).tolist()
    permuted = [
        is_possible(n) and k <= _MOST_RAISED for n, k in zip(layout.sizes, raised, strict=True)
    ]
    if all(permuted):
        yield _Plan(layout, (None,) * len(layout.sizes))

    def staying(most: int) -> list[bool]:
        return [n == 1 or (ok and n <= most) for n, ok in zip(layout.sizes, permuted, strict=True)]

    stay = staying(_SMALL)
    if all(stay):
        return
    if len(layout.sizes) > 1:
        # Bounds against the mean of a column leave little to small groups in a large space.
        some = zip(layout.sizes, permuted, strict=True)
        larger = {n for n, ok in some if by_mean and ok and _SMALL < n < max(layout.sizes)}
        for limit in (_SMALL, *sorted(larger)):
            yield from _sharing(layout, staying(limit))
    most = min(limit for limit in _RESIDUES if limit >= len(layout.sizes))
    alike = [[base] * len(layout.sizes) for base in _RESIDUES[most]]
    if by_mean:
        alike = [*_filling(layout, stay), alike[-1]]
    for bases in alike:
        plan = _Plan(
            layout, tuple(None if s else base for s, base in zip(stay, bases, strict=True))
        )
        yield plan
        dimensions = {plan.dimension(i) for i, base in enumerate(plan.bases) if base is not None}
        if len(set(bases)) == 1 < len(dimensions) and len(layout.sizes) > 2:
            yield _Plan(layout, plan.bases, max(dimensions))


def _sharing(layout: Layout, stay: Sequence[bool]) -> Iterator[_Plan]:
    """Spaces with one direction for all groups, which leaves room for many residues, so that each
    is a small share.
    """
    for dimension in range(2, _MOST_SHARED + 1):
        base = _prime_root(max(layout.sizes), dimension)
        if base <= _MOST_RESIDUES:
            yield _Plan(layout, tuple(None if s else base for s in stay), dimension)


def _filling(layout: Layout, stay: Sequence[bool]) -> list[list[int]]:
    """Bases of the spaces that groups nearly fill, of those with few enough reports."""
    choices = []
    for n, stays in zip(layout.sizes, stay, strict=True):
        # Two symbols or one take no space of their own.
        found = (
            [(2, 0.0, 0.0)] if stays else list(dict.fromkeys(_space(n, k) for k in range(_ROOTS)))
        )
        choices.append(found)
    ranked = []
    for some in product(*choices):
        missing = sum(
            float(s) * empty for s, (_, empty, _) in zip(layout.shares, some, strict=True)
        )
        if sum(bits for *_, bits in some) <= _MOST_BITS:
            ranked.append((missing, [base for base, *_ in some]))
    return [bases for _, bases in sorted(ranked)[:_FILLING]]


def _prime_root(size: int, power: int) -> int:
    """The least prime whose power is not below a size."""
    found = max(2, int(size ** (1 / power)))
    while found**power < size or not is_prime(found):
        found += 1
    return found


def _space(size: int, more: int) -> tuple[int, float, float]:
    """The least prime whose power is not below a size, of the first powers with small primes; the
    share of the space that stays empty, and the bits of a report.
    """
    power = 1
    while size ** (1 / power) > _MOST_RESIDUES:
        power += 1
    power += more
    found = _prime_root(size, power)
    while found ** (power - 1) >= size:
        power -= 1
    return found, 1 - size / found**power, (power + 1) * math.log2(found)


def _made(
    notions: Sequence[PrivacyNotion], plan: _Plan, best: Mixture, *, by_mean: bool
) -> Iterator[tuple[Fraction, int, list[ReportType]]]:
    """Kernels of a mixture that keep the notions exactly, with their risks and reports."""
    drafts = _drafts(plan, best)
    if drafts is None:
        return
    bounds = asked_bounds(notions)
    is_uneven = by_mean and any(base is not None for base in plan.bases)
    for uneven in _UNEVEN if is_uneven else (math.inf,):
        for moved, stays in _with_room(drafts, plan.layout, bounds, uneven, is_uneven=is_uneven):
            types = _kept(notions, moved, plan.layout, stays)
            reports = 0 if types is None else sum(one.reports for one in types)
            if types is None or reports > MOST_REPORTS:
                continue
            try:
                errors = GroupErrors(plan.layout, types)
            except ValueError:
                continue  # rounding left some symbols alike
            yield errors.risk, reports, types


@dataclass(frozen=True)
class _Cells:
    """Which cells of a group a type raises, and the entries there.

    Attributes
    ----------
    family : of the group
    count : cells that are raised
    levels : entries at the raised cells, the next one and the others, over their mean
    """

    family: Family
    count: int
    levels: tuple[Fraction, Fraction, Fraction]

    @property
    def slot(self) -> Any:
        """Groups with equal ones share a direction, as :class:`.report_types.Part` has it."""
        return slot_of(self.family)

    @cached_property
    def away(self) -> tuple[float, ...]:
        """How far the mean over the symbols may be from one, for each class of directions."""
        profile = rounded(self.family.base, self.count, self.levels)
        ends = [mean_ends(self.family, c, profile) for c in range(self.family.dimension)]
        return tuple(float(max(1 - low, high - 1)) for low, high in ends)

    def profiles(self, shares: Sequence[float]) -> tuple[Profile, ...]:
        """Rounded profiles of all classes, with so much of the difference to one left in each."""
        found: dict[float, Profile] = {}
        for share in shares:
            if share not in found:
                levels = [1 + Fraction(share) * (level - 1) for level in self.levels]
                found[share] = rounded(self.family.base, self.count, levels)
        return tuple(found[share] for share in shares)


@dataclass(frozen=True)
class _Draft:
    """A type before its weights are rounded.

    Attributes
    ----------
    share : how often it comes
    means : of the entries over each group
    parts : family, count and entries at the high, middle and low residues of a group over its mean
    """

    share: float
    means: tuple[float, ...]
    parts: tuple[_Cells | None, ...]


def _drafts(plan: _Plan, best: Mixture) -> list[_Draft] | None:
    """The types of a mixture with their families; ``None`` where one has none."""
    groups, types = plan.groups, best.types
    means, _ = types.moments(groups)
    found = []
    for t, share in enumerate(best.shares):
        shape = types.shapes[int(types.shape[t])]
        if isinstance(shape, TwoLevels):
            low = float(
                1 / ((1 + (shape.ratio - 1) * types.counts[t] / groups.cells) @ groups.masses)
            )
            high = shape.ratio * low
        else:
            low, high = shape.low, shape.high
        parts: list[_Cells | None] = []
        for i, cells in enumerate(groups.cells.tolist()):
            raised, mean = float(types.counts[t, i]), float(means[t, i])
            if cells == 1 or raised in (0, cells):
                # All symbols alike: one cell has the entry that is the mean.
                parts.append(None)
                continue
            count = int(raised)
            between = low + (raised - count) * (high - low)
            entries = [high, low if raised == count else between, low]
            if count == 0:
                count, entries = 1, [between, low, low]
            if count == cells - 1:
                entries[2] = entries[1]
            family = plan.family(i, count, middle=entries[1] != entries[2])
            if family is None:
                return None
            first, second, third = (Fraction(entry / mean) for entry in entries)
            parts.append(_Cells(family, count, (first, second, third)))
        found.append(_Draft(float(share), tuple(means[t].tolist()), tuple(parts)))
    return found


def _moved(drafts: Sequence[_Draft], layout: Layout, alike: float) -> list[_Draft]:
    """Drafts with chances of groups so much of the way to being the same; entries stay as they are
    over the mean of their group.
    """
    often = [
        math.fsum(m * float(s) for m, s in zip(draft.means, layout.shares, strict=True))
        for draft in drafts
    ]
    return [
        replace(draft, means=tuple((1 - alike) * m + alike * mean for m in draft.means))
        for draft, mean in zip(drafts, often, strict=True)
    ]


#: How much of the difference of a part's entries to one stays, for each class of directions.
_Shares = list[tuple[float, ...] | None]


def _with_room(
    drafts: Sequence[_Draft], layout: Layout, bounds: LiftBounds, uneven: float, *, is_uneven: bool
) -> Iterator[tuple[Sequence[_Draft], list[_Shares | None]]]:
    """Drafts with chances moved as little as makes room for the bounds, or a few times more."""
    if not is_uneven:
        yield drafts, [None] * len(drafts)
        return
    alike, tries = 0.0, _TIMES
    while alike < 1 and tries:
        moved = _moved(drafts, layout, alike)
        stays = _stays(moved, layout, bounds, uneven)
        if stays is not None:
            yield moved, stays
            tries = tries - 1 if alike else 0
        alike = max(_MORE * alike, _ALIKE)


def _stays(
    drafts: Sequence[_Draft], layout: Layout, bounds: LiftBounds, uneven: float
) -> list[_Shares | None] | None:
    """As much as keeps the bounds against the mean at every report, whatever the classes of other
    groups are; ``None`` where the mean of some group does not.
    """
    low, found = float(bounds.lower), list[_Shares | None]()
    high = math.inf if bounds.upper is None else float(bounds.upper)
    for draft in drafts:
        masses = [m * float(s) for m, s in zip(draft.means, layout.shares, strict=True)]
        mean = math.fsum(masses)
        # By how much each class of a group may move the mean.
        away = [
            () if part is None else tuple(min(mass * v, uneven * mean) for v in part.away)
            for mass, part in zip(masses, draft.parts, strict=True)
        ]
        slots = [None if part is None else part.slot for part in draft.parts]
        largest = [max(row, default=0.0) for row in away]
        rows: _Shares = []
        for i, (part, own) in enumerate(zip(draft.parts, draft.means, strict=True)):
            if part is None:
                # Rounding is left to what is decided exactly.
                others = math.fsum(largest)
                if not low * (mean + others) <= own * (1 + _SLIP):
                    return None
                if own * (1 - _SLIP) > high * (mean - others):
                    return None
                rows.append(None)
                continue
            up, down = float(part.levels[0]) - 1, 1 - float(part.levels[2])
            shares = []
            for c, (full, off) in enumerate(zip(part.away, away[i], strict=True)):
                # Groups that share a direction share its class.
                others = math.fsum(
                    away[j][c] if slots[j] == slots[i] else most
                    for j, most in enumerate(largest)
                    if j != i
                )
                above = high * (mean - others - off) / own - 1
                below = 1 - low * (mean + others + off) / own
                kept = off / (masses[i] * full) if masses[i] * full > off else 1.0
                shares.append(min(kept, above / up, below / down))
            if min(shares) <= 0:
                return None
            rows.append(tuple(shares))
        found.append(rows)
    return found


def _kept(
    notions: Sequence[PrivacyNotion],
    drafts: Sequence[_Draft],
    layout: Layout,
    stays: Sequence[_Shares | None],
) -> list[ReportType] | None:
    """The weights next to a draft that keep the notions, exactly."""

    def made(nearer: float) -> list[ReportType] | None:
        types = _rounded_types(drafts, layout, nearer, stays)
        lifts = list(lifts_of(layout, types))
        good = all(judged(notion, lifts).verdict is Verdict.YES for notion in notions)
        return types if good else None

    found, least, nearer = made(0.0), 0.0, _FIRST
    while found is None and nearer < 1:
        found = made(nearer)
        if found is None:
            least, nearer = nearer, _FACTOR * nearer
    if found is None or not least or nearer <= _NEGLIGIBLE:
        return found
    for _ in range(_STEPS):
        middle = (least * nearer) ** 0.5
        better = made(middle)
        if better is None:
            least = middle
        else:
            nearer, found = middle, better
    return found


def _rounded_types(
    drafts: Sequence[_Draft], layout: Layout, nearer: float, kept: Sequence[_Shares | None]
) -> list[ReportType]:
    """Types with integer weights, with so much of a kernel that tells nothing mixed in."""
    shares = np.array([float(share) for share in layout.shares])
    chances = np.array([np.array(draft.means) * draft.share for draft in drafts])
    chances = chances / chances.sum(axis=0)
    often = chances @ shares
    mixed = (1 - nearer) * chances + nearer * often[:, None]
    weights = [[int(x * DENOMINATOR) for x in row] for row in mixed]
    for i in range(len(shares)):
        largest = max(range(len(drafts)), key=lambda t: weights[t][i])
        weights[largest][i] += DENOMINATOR - sum(row[i] for row in weights)
    types = []
    for t, draft in enumerate(drafts):
        # What is mixed in comes as often at all symbols.
        stays = (1 - nearer) * chances[t] / np.where(mixed[t] > 0, mixed[t], 1.0)
        parts: list[Part | None] = []
        for i, part in enumerate(draft.parts):
            if part is None:
                parts.append(None)
                continue
            rows = kept[t]
            own = None if rows is None else rows[i]
            kept_of = own or (1.0,) * part.family.dimension
            shrunk = [float(stays[i]) * v for v in kept_of]
            parts.append(Part(part.family, part.profiles(shrunk)))
        types.append(ReportType(tuple(weights[t]), tuple(parts)))
    return types
