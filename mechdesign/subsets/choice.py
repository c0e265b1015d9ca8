"""Which families hold the subsets of symbols, and integer weights that keep the notions exactly.

A plan says for each group whether its subsets are permuted or residues of a geometry. The best
mixture of types for its cells becomes weights. Where groups do not fill their spaces, means of
columns are uneven at some classes of directions: a linear program then finds the entries that keep
bounds against the mean at every report.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..exact import DENOMINATOR, Verdict, compare_with_exp
from ..privacy.notion import PrivacyNotion
from .bounds import LiftBounds, asked_bounds, asked_parts
from .family import AffineFamily, Floats
from .finite_fields import is_prime
from .permuted import is_possible, permuted_family
from .program import Groups, Mixture, Prices, best_mixture, float_shapes
from .report_types import Family, Layout, Part, Profile, ReportType, slot_of, uneven_counts
from .scores import Scores
from .selection import LIFTS, MOST_REPORTS, lifts_of, tolerance_for

# Symbols of a group that are raised where its subsets are permuted, and up to how many symbols it
# is permuted beside others that are blocks.
_MOST_RAISED, _SMALL = 1 << 11, 64
# Residues of a space, about, with which estimates take time in proportion.
_MOST_RESIDUES = 2048
# All primes up to this are tried as number of residues, of one group and of several.
_PRIMES, _FEW_PRIMES = 257, 31
# Dimensions in which groups share a direction; points of a space for one symbol, or in all.
_MOST_SHARED, _MOST_POINTS, _ALWAYS = 5, 64, 1 << 24
# To what share of it the risk of a plan is told.
_TOLERANCE = 1e-9
# How far the chances of types may be from those of the mixture, relatively, in linear programs.
_REACHES = (0.3, 0.03)
# Shares of contrasts that are left at which their value is told.
_TANGENTS = 0.8 ** np.arange(16)
# How much of what tells nothing is mixed into weights: at first, by which factor more, how often.
_FIRST, _FACTOR, _TRIES = 2.0**-52, 2.0**4, 13
# Accuracy of linear programs, and by which factor levels differ that are not the same.
_EXACT, _SAME = 1e-10, 1 + 1e-9

#: For each group base and dimension of its space, ``None`` where subsets are permuted.
Plan = tuple[tuple[int, int] | None, ...]


def best_types(
    layout: Layout, notions: Sequence[PrivacyNotion], tolerance: Fraction
) -> tuple[list[ReportType], Prices] | None:
    """The types with fewest reports among those whose risk is next to the least, and prices that
    bound it; ``None`` where no symbols can be told apart.
    """
    bounds, sizes, masses = asked_bounds(notions, outside=True), layout.sizes, layout.masses
    shapes = float_shapes(bounds, min(masses), outside=True)
    told = best_mixture(Groups.of(sizes, masses, sizes, sizes), shapes, tolerance_for(layout))
    if told is None:
        return None
    plans = _plans(layout, told, by_mean=bounds.lower > 0 or bounds.upper is not None)
    found = [made for plan in plans for made in types_of(layout, notions, plan)]
    if not found:
        return None
    limit = min(risk for risk, _, _ in found) * (1 + tolerance)
    near = [made for made in found if made[0] <= limit]
    return min(near, key=lambda made: made[1])[2], told.prices


def types_of(
    layout: Layout, notions: Sequence[PrivacyNotion], plan: Plan
) -> Iterator[tuple[Fraction, int, list[ReportType]]]:
    """Types that keep the notions over the families of a plan, with risk and number of reports."""
    bounds, sizes, spaces = (
        asked_bounds(notions),
        layout.sizes,
        list(zip(layout.sizes, plan, strict=True)),
    )
    cells, points = [
        [n if space is None else space[0] ** (space[1] if k else 1) for n, space in spaces]
        for k in range(2)
    ]
    groups = Groups.of(sizes, layout.masses, cells, points)
    shapes = float_shapes(bounds, min(layout.masses), outside=False)
    best = best_mixture(groups, shapes, _TOLERANCE)
    draft = None if best is None else _draft(layout, plan, groups, best)
    if draft is None:
        return
    drafts: Iterable[_Draft | None] = [draft]
    if points != list(sizes) and (bounds.lower > 0 or bounds.upper is not None):
        drafts = (draft.fitted(bounds, reach) for reach in _REACHES)
    for one in drafts:
        types = None if one is None else one.rounded(notions)
        reports = 0 if types is None else sum(kind.reports for kind in types)
        if types is not None and reports <= MOST_REPORTS:
            # Rounding may leave some symbols alike.
            with contextlib.suppress(ValueError):
                yield Scores(layout, types).risk, reports, types


def _plans(layout: Layout, told: Mixture, *, by_mean: bool) -> Iterator[Plan]:
    """Permutations where they are few enough, and geometries of several bases.

    Bounds against the mean of a column (``by_mean``) leave little to small groups in a large space.
    """
    sizes, raised = layout.sizes, told.types.counts.max(axis=0).tolist()
    permuted = [
        n == 1 or (is_possible(n) and k <= _MOST_RAISED) for n, k in zip(sizes, raised, strict=True)
    ]
    if all(permuted):
        yield (None,) * len(sizes)
    limits, primes = {_SMALL}, [q for q in range(2, _PRIMES + 1) if is_prime(q)]
    if len(sizes) == 1:
        # One residue has the best share, or all but one.
        (size,), (count,) = sizes, raised
        shares = (part for part in (count / size, 1 - count / size) if part > 1 / size)
        primes += [_prime_from(max(2, round(1 / part))) for part in shares]
        primes += [_prime_root(size, k) for k in (1, 2, 3)]
        spaces, limits = [(q, 1) for q in dict.fromkeys(primes)], {0}
    else:
        spaces = [(_prime_root(max(sizes), k), k) for k in range(2, _MOST_SHARED + 1)]
        if by_mean:
            limits |= {n for n, ok in zip(sizes, permuted, strict=True) if ok and n < max(sizes)}
        else:
            spaces += [(q, 1) for q in primes if q <= _FEW_PRIMES]
    sets = [
        tuple(ok and n <= max(limit, 1) for n, ok in zip(sizes, permuted, strict=True))
        for limit in sorted(limits)
    ]
    for stay in dict.fromkeys(sets):
        for q, least in () if all(stay) else spaces:
            needs = [least + sum(q**k < n for k in range(least, 25)) for n in sizes]
            most = max(needs)
            if q**most > max(_MOST_POINTS * max(sizes), _ALWAYS) or (
                len(sizes) > 1 and q > _MOST_RESIDUES
            ):
                continue
            yield tuple(None if s else (q, k) for s, k in zip(stay, needs, strict=True))


def _prime_from(number: int) -> int:
    while not is_prime(number):
        number += 1
    return number


def _prime_root(size: int, power: int) -> int:
    """The least prime whose power is not below a size."""
    found = max(2, int(size ** (1 / power)))
    while found**power < size:
        found += 1
    return _prime_from(found)


@dataclass(frozen=True)
class _Draft:
    """Types before their weights are rounded.

    Attributes
    ----------
    chances : of each type and group, ``(T, G)``
    raised : of a type and a group that it splits the family, and how many residues are raised
    entries : there, at the next residue and at the others, for each class, ``(m, 3)``
    """

    layout: Layout
    chances: Floats
    raised: dict[tuple[int, int], tuple[Family, int]]
    entries: dict[tuple[int, int], Floats]

    def _spreads(self, t: int, i: int) -> tuple[Floats, Floats]:
        """How far entries are from their mean, and that times the share of residues."""
        family, count = self.raised[t, i]
        away = self.entries[t, i] - self.chances[t, i]
        return away, away * [count, 1, family.base - count - 1] / family.base

    def fitted(self, bounds: LiftBounds, reach: float) -> _Draft | None:
        """The best entries near these that keep bounds against the mean at every report.

        All that is asked is linear in chances and entries. What is left of the contrasts of a class
        is a linear λ, with which the errors grow as λ⁻², at least as much as by each of a few
        tangents. ``None`` where nothing keeps the bounds.
        """
        from scipy.linalg import block_diag
        from scipy.optimize import linprog

        shares = np.array([float(share) for share in self.layout.shares])
        g, often = len(shares), self.chances @ shares
        told = dict[int, Floats]()
        for (t, i), (away, weighted) in (
            spreads := {k: self._spreads(*k) for k in self.raised}
        ).items():
            told[i] = told.get(i, 0.0) + (away * weighted).sum(axis=1) / often[t]
        firsts = dict(zip(told, np.cumsum([0, *map(len, told.values())]), strict=False))
        values = np.zeros(sum(map(len, told.values())))
        below, equal, left, limits = list[Any](), list[Any](), list[Floats](), list[Any]()
        places, starts = dict[tuple[int, int], slice](), list[int]()
        for t, row in enumerate(self.chances):
            split = {i: self.raised[t, i] for i in range(g) if (t, i) in self.raised}
            ends = np.cumsum([g, *(3 * family.dimension for family, _ in split.values())])
            # Chances, entries, the least and the largest mean of each group, the largest entry.
            unit = np.eye(ends[-1] + 2 * g + 1)
            chances, worst, top = unit[:g], unit[ends[-1] : -1].reshape(g, 2, -1), unit[-1]
            entries = [chances[[i, i, i]][None] for i in range(g)]
            means, slots = [chances[[i, i]][None] for i in range(g)], list[object](range(g))
            under, even = list[Floats](), [unit[:0]]
            stays = np.zeros((len(values), len(unit)))
            starts.append(len(limits))
            for (i, (family, count)), start in zip(split.items(), ends, strict=False):
                m, sizes = family.dimension, [count, 1, family.base - count - 1]
                places[t, i] = slice(len(limits) + start, len(limits) + start + 3 * m)
                own = unit[start : start + 3 * m].reshape(m, 3, -1)
                counts = [
                    [uneven_counts(family, c, sizes[::-1])[::-1], uneven_counts(family, c, sizes)]
                    for c in range(m)
                ]
                entries[i], slots[i] = own, slot_of(family)
                means[i] = np.array(counts) / family.size @ own
                even.append(sizes @ own - family.base * chances[i])
                if _has_two_levels(family, count):
                    even.append(own[:, 1] - own[:, 2])
                under += [*(own[:, 1:] - own[:, :-1]).reshape(2 * m, -1)]
                away, weighted = spreads[t, i]
                part = ((away * weighted).sum(axis=1) / told[i] / often[t] ** 2)[:, None]
                # A type that comes more often tells less each time.
                rate = np.einsum("ck,ckd->cd", weighted, own) / told[i][:, None] / often[t]
                stays[firsts[i] : firsts[i] + m] = rate - part / 2 * (shares @ chances)
                rates = [float(Fraction(*family.class_share(c))) for c in range(m)]
                values[firsts[i] : firsts[i] + m] = family.size * np.array(rates) / told[i]
            for i, rows in enumerate(means):
                under += [*(worst[i, 0] - rows[:, 0]), *(rows[:, 1] - worst[i, 1])]
                for c, (high, _, low) in enumerate(entries[i]):
                    least, most = sum(
                        share * (means[j][c] if slots[j] == slots[i] else worst[j])
                        for j, share in enumerate(shares)
                    )
                    under.append(float(bounds.lower) * most - low)
                    if bounds.upper is not None:
                        under.append(high - float(bounds.upper) * least)
                    if bounds.ratio is not None:
                        under += [high - top, top - float(bounds.ratio) * low]
            below.append(under)
            equal.append(np.vstack(even))
            left.append(stays)
            limits += [(a * (1 - reach), a * (1 + reach)) for a in row]
            limits += [(0, None)] * (len(unit) - g)
        sums = np.hstack([np.eye(g, len(stays.T)) for stays in left])
        matrix = np.vstack([sums, block_diag(*equal)])
        under, each = block_diag(*below), np.eye(len(values))
        tangents = [np.hstack([-2 / s**3 * np.hstack(left), -each]) for s in _TANGENTS]
        right = [np.full(len(values), 1 / s**3 - 3 / s**2) for s in _TANGENTS]
        found = linprog(
            np.concatenate([np.zeros(len(limits)), values / values.max()]),
            np.vstack([np.pad(under, ((0, 0), (0, len(values)))), *tangents]),
            np.concatenate([np.zeros(len(under)), *right]),
            np.pad(matrix, ((0, 0), (0, len(values)))),
            np.arange(len(matrix)) < g,
            limits + [(0, None)] * len(values),
            options={"primal_feasibility_tolerance": _EXACT},
        )
        if found.status:
            return None
        return replace(
            self,
            chances=np.array([found.x[start : start + g] for start in starts]),
            entries={own: found.x[place].reshape(-1, 3) for own, place in places.items()},
        )

    def rounded(self, notions: Sequence[PrivacyNotion]) -> list[ReportType] | None:
        """The weights next to it that keep the notions, exactly; ``None`` where none do."""
        asked = [part for notion in notions for part in asked_parts(notion) if part[2] is not None]
        for mixed in (0.0, *(_FIRST * _FACTOR**k for k in range(_TRIES))):
            types = self._weights(mixed)
            lifts = [dict(zip(LIFTS, lifts_of(self.layout, one)[0], strict=True)) for one in types]
            if all(
                (value := row[kind]) is not None and compare_with_exp(value, level) is Verdict.YES
                for row in lifts
                for kind, _, level in asked
                if level is not None
            ):
                return types
        return None

    def _weights(self, mixed: float) -> list[ReportType]:
        """Types with integer weights, with so much of a kernel that tells nothing mixed in."""
        shares = np.array([float(share) for share in self.layout.shares])
        sums = self.chances.sum(axis=0)
        # What is mixed in comes as often at all symbols.
        even = mixed * (self.chances / sums @ shares)[:, None]
        whole = (1 - mixed) * self.chances / sums + even
        weights = (whole * DENOMINATOR).astype(np.int64)
        largest, each = weights.argmax(axis=0), np.arange(len(shares))
        weights[largest, each] += DENOMINATOR - weights.sum(axis=0)
        types = []
        for t, row in enumerate(weights.tolist()):
            parts: list[Part | None] = [None] * len(row)
            for i in range(len(row)):
                if (t, i) in self.raised:
                    levels = ((1 - mixed) * self.entries[t, i] / sums[i] + even[t]) / whole[t, i]
                    parts[i] = _part(*self.raised[t, i], levels, alone=len(row) == 1)
            types.append(ReportType(tuple(row), tuple(parts)))
        return types


def _has_two_levels(family: Family, count: int) -> bool:
    """Whether no residue may be between those that are raised and the others."""
    if isinstance(family, AffineFamily):
        return family.base > _MOST_RESIDUES
    return not family.tells_apart(count, 2)


def _part(family: Family, count: int, levels: Floats, *, alone: bool) -> Part:
    """Rounded weights of levels; units that are left go to the raised residues.

    One direction stands for all multiples where one residue is told from the others of a geometry.
    """
    # Programs of floats may end slightly below zero.
    q, levels = family.base, np.maximum(levels, 0.0)
    if isinstance(family, AffineFamily) and (levels[:, 0] <= levels[:, 1] * _SAME).all():
        # One more is raised, and none is between.
        count, levels = min(count + 1, q - 1), levels[:, [0, 2, 2]]
    if _has_two_levels(family, count):
        levels = levels[:, [0, 2, 2]]
    profiles = []
    for _, middle, low in levels:
        each, rest = (int(x * DENOMINATOR / q) for x in (middle, low))
        each = rest if middle <= low * _SAME and count < q - 1 else each
        profiles.append(Profile(q, count, DENOMINATOR - each - rest * (q - count - 1), each))
    part = Part(family, tuple(profiles))
    if alone and isinstance(family, AffineFamily) and part.is_one_residue:
        part = replace(part, family=replace(family, projective=True))
    return part


def _draft(layout: Layout, plan: Plan, groups: Groups, best: Mixture) -> _Draft | None:
    """The types of a mixture with their families; ``None`` where one has none."""
    types = best.types
    means, _ = types.moments(groups)
    scale = best.shares[:, None] / (best.shares @ means)
    raised, entries = {}, {}
    for t, counts in enumerate(types.counts):
        for i, (cells, space) in enumerate(zip(groups.cells.tolist(), plan, strict=True)):
            if cells == 1 or counts[i] in (0, cells):
                continue
            low, high, count = float(types.low[t, 0]), float(types.high[t, 0]), int(counts[i])
            middle = low + (counts[i] - count) * (high - low)
            if count == 0:
                count, high, middle = 1, middle, low
            if count == cells - 1:
                low = middle
            if space is not None and cells > _MOST_RESIDUES:
                # One residue is told from the others.
                if count > 1:
                    return None
                middle = low = (middle + low * (cells - 2)) / (cells - 1)
            size = layout.sizes[i]
            family = (
                permuted_family(size, count, middle=middle > low)
                if space is None
                else AffineFamily(size, *space)
            )
            if family is None:
                return None
            raised[t, i] = family, count
            entries[t, i] = np.tile(
                np.array([high, middle, low]) * scale[t, i], (family.dimension, 1)
            )
    return _Draft(layout, means * scale, raised, entries)
