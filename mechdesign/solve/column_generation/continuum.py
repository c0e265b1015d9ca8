"""Many symbols: those of large mass one by one, all others together as a continuum.

What many small symbols have at their upper lift bound can have any mass, nearly. Their joint
deviation then moves freely between its bounds at the slope of one chord, so that a column is known
by its symbols of large mass and the mass that it takes from the others. That leaves a program of
few symbols, whose prices hold for all of them: small symbols have prices in proportion to their
masses, and these count for nothing, as deviations have mean zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...certificate.columns.branch_and_bound import universal_bound
from ...certificate.columns.families import (
    Columns,
    Curve,
    Family,
    Groups,
    LiftFamily,
    StaircaseFamily,
)
from ...certificate.columns.pricing import Pricer, Techniques
from ...errors import SolverError
from .method import search

Vector = NDArray[np.float64]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

# A symbol is large from this share of the mass of what columns of the largest value have, or do not
# have, at their upper lift bound; the largest of them count, up to so many masses.
_LARGE, _MOST = 0.03, 24
# Prices per mass, in units of the steepest chord, that are rounding.
_FREE = 1e-7
# Share of a mass that is rounding.
_ROUNDING = 1e-9
# Pieces that the continuum is cut into where the value is a function of the mass of a set.
_PIECES = 100_000


@dataclass(frozen=True, eq=False)
class Pattern:
    """Columns that are alike on large symbols.

    Attributes
    ----------
    share : joint output mass
    counts : ``(G,)`` symbols of each large group at their upper bound; zero for the others
    part : large group of a symbol between its bounds, else −1
    amount : its mass above the lower one
    mass : prior mass of small symbols at their upper bound
    """

    share: float
    counts: Vector
    part: int
    amount: float
    mass: float


@dataclass(frozen=True, eq=False)
class Patterns:
    """An optimum over large symbols and a continuum.

    Attributes
    ----------
    patterns : their shares have sum one
    told : groups that patterns tell apart; all others are as good as small
    prices : ``(G,)`` per deviation of one symbol of each group, in proportion to masses added to
        nothing: of the others they are zero
    upper : value that no mixture exceeds, where the others are a continuum
    """

    patterns: tuple[Pattern, ...]
    told: Places
    prices: Vector
    upper: float


def fraction(family: Family) -> float:
    """Mass of the symbols at the upper bound in columns of the largest value, as a share of all."""
    if isinstance(family, LiftFamily):
        room = family.above + family.below
        return family.below / room if room > 0 else 0.0
    assert isinstance(family, StaircaseFamily)
    return family.finest_target / family.capacity


def large_groups(family: Family) -> Places:
    """Groups whose symbols have a large mass, the largest first."""
    masses, share = family.groups.masses, fraction(family)
    order = np.argsort(-masses, kind="stable")[:_MOST]
    return order[
        masses[order] > _LARGE * min(share, 1 - share) * float(masses @ family.groups.sizes)
    ]


def best_patterns(family: Family, large: Places, deadline: float) -> Patterns:
    """The best mixture of patterns for the given large groups."""
    groups, count = family.groups, len(family.groups)
    small = np.setdiff1d(np.arange(count), large)
    rest = float(groups.sizes[small] @ groups.masses[small])
    if not large.size:
        return _one_pattern(family)
    few = _with_continuum(family, large, small, rest)
    first, upper = _first(few), universal_bound(few)
    try:
        found = search(Pricer(few, Techniques(fitted=False)), first, upper, deadline)
    except SolverError:  # equal prices may do; the bound says whether they did
        return _one_pattern(family)
    prices = np.zeros(count)
    per_mass = found.prices[-1] / few.groups.masses[-1]
    prices[large] = found.prices[:-1] - per_mass * groups.masses[large]
    told = np.abs(prices[large]) > _FREE * groups.masses[large] * family.steepest
    if not told.any():
        return _one_pattern(family)
    columns, used = found.restricted.columns, found.mixture.used
    if 0 in used:
        raise SolverError("the best mixture of few symbols and a continuum is uninformative")
    patterns: dict[tuple[float, ...], Pattern] = {}
    for i in used:
        share, column = float(found.mixture.shares[i]), columns.take(np.array([i - 1]))
        pattern = _pattern(family, few, column, large, told, share)
        key = (*pattern.counts, pattern.part, round(pattern.amount, 9), round(pattern.mass, 4))
        same = patterns.get(key)
        if same is not None:
            # Staircases of one pattern lie around the mass where their value is largest.
            joint = same.share + share
            mass = (same.share * same.mass + share * pattern.mass) / joint
            pattern = replace(pattern, share=joint, mass=mass)
        patterns[key] = pattern
    return Patterns(tuple(patterns.values()), large[told], prices, found.upper)


def _one_pattern(family: Family) -> Patterns:
    """Any symbols of the right mass, at equal prices."""
    none, total = np.zeros(len(family.groups)), float(family.groups.sizes @ family.groups.masses)
    pattern = Pattern(1.0, none, -1, 0.0, fraction(family) * total)
    return Patterns((pattern,), np.empty(0, np.intp), none, universal_bound(family))


def _first(few: Family) -> Columns:
    """No large symbol, one, or all of a group at the upper bound, and as much of the continuum as
    fits.
    """
    counts = np.vstack([np.zeros(len(few.groups)), np.eye(len(few.groups))[:-1]])
    counts = np.vstack([counts, counts * few.groups.sizes])
    counts = counts[counts @ few.units <= few.target * (1 + 1e-12)]
    left = np.maximum(few.target - counts @ few.units, 0.0)
    if isinstance(few, LiftFamily):
        fits = left <= few.units[-1]
        part = np.full(int(fits.sum()), len(few.groups) - 1)
        return Columns(counts[fits], part, left[fits])
    counts[:, -1] = np.minimum(np.floor(left / few.units[-1]), few.groups.sizes[-1])
    return Columns.whole(counts)


def _pattern(
    family: Family, few: Family, column: Columns, large: Places, told: Mask, share: float
) -> Pattern:
    """A column of the large groups and the continuum, without what it has on free groups."""
    part, amount = int(column.part[0]), float(column.amount[0])
    between = 0 <= part < len(large) and bool(told[part])
    counts = np.zeros(len(family.groups))
    counts[large[told]] = column.counts[0, :-1][told]
    if between and not _ROUNDING < amount / few.units[part] < 1 - _ROUNDING:
        counts[large[part]] += round(amount / few.units[part])
        between = False
    free = np.append(~told, True)
    if isinstance(family, LiftFamily):
        deviations = few.averages(column)[0]
        p = few.groups.masses * few.groups.sizes
        below, above = family.below, family.above
        mass = float(p[free] @ (deviations[free] + below)) / (above + below)
    else:
        mass = float(column.counts[0, free] @ few.groups.masses[free])
    top = float((few.groups.masses * few.groups.sizes)[free].sum())
    if not _ROUNDING < mass / top < 1 - _ROUNDING:
        mass = top * round(mass / top)
    return Pattern(
        share, counts, int(large[part]) if between else -1, amount if between else 0.0, mass
    )


def _with_continuum(family: Family, large: Places, small: Places, rest: float) -> Family:
    """The family of the large groups and one more, which stands for all others."""
    groups = family.groups
    pieces = 1 if isinstance(family, LiftFamily) else _PIECES
    total = float(groups.sizes @ groups.masses)
    few = Groups(
        np.append(groups.masses[large], rest / pieces),
        np.append(groups.sizes[large], float(pieces)),
        np.append(groups.others[large], total - rest / pieces),
        (*(groups.members[g] for g in large), np.concatenate([groups.members[g] for g in small])),
    )
    if isinstance(family, LiftFamily):
        return _WithContinuum(few, family.below, family.above, family.curve)
    assert isinstance(family, StaircaseFamily)
    return StaircaseFamily(few, family.excess, family.curve)


class _WithContinuum(LiftFamily):
    """Lifts in a box; the last group is a continuum, so that its value is linear in its mass."""

    def __init__(self, groups: Groups, below: float, above: float, curve: Curve) -> None:
        super().__init__(groups, below, above, curve)
        ends = np.array([-below, above])
        at_low, at_high = curve(ends)
        self._slope = float((at_high - at_low) / (above + below))
        self.at_low[-1] = at_low + self._slope * (self.low[-1] + below)
        self.at_high[-1] = at_low + self._slope * (self.high[-1] + below)

    def between(self, j: Places, amount: Vector) -> Vector:
        """What one symbol of group j, or a mass of the continuum, adds to F."""
        last = j == len(self.groups) - 1
        return np.where(last, self._slope * amount, super().between(j, amount))
