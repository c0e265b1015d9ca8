"""Which spaces hold the subsets of symbols, and integer weights that keep the notions exactly.

A plan says for each group the space of its residues. The best mixture of types for its cells
becomes weights. Where groups do not fill their spaces, means of columns are uneven at some classes
of directions, which give way alone: residues are told apart there by less.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..certificate.lifts import LiftBounds
from ..checks import Number, checked
from ..errors import InputError, LevelError
from ..exact import Verdict, fraction, to_weights
from ..prior import Prior
from ..privacy.notion import PrivacyNotion, as_notions
from .bounds import asked_bounds
from .parts import (
    IN_ORDER,
    MOST_DIVISORS,
    MOST_RESIDUES,
    Floats,
    Integers,
    Part,
    balanced,
    divisors,
    weights_of,
)
from .program import Mixture, Prices, Program
from .relaxation import Multipliers, multipliers, near_groups
from .report_types import MOST_REPORTS, Layout, ReportType, check_levels
from .scores import Scored
from .selection import SubsetSelection

#: Symbols, and groups of equal mass, that there may be.
MOST_SYMBOLS, MOST_GROUPS = 1 << 24, 6
# Groups of near masses, and of equal ones of more symbols than few: a fourth group takes three to
# eight times as long for half a percent of the risk at most. By which powers of masses.
_NEAR_GROUPS, _FEW, _POWERS = 3, 100, (0.5, 1.0)
# Symbols of a group that are raised where its subsets are permuted, and up to how many symbols it
# is permuted beside others that are blocks.
_MOST_RAISED, _SMALL = 1 << 11, 64
# All primes up to this are tried as number of residues, of one group and of several.
_PRIMES, _FEW_PRIMES = 257, 31
# Dimensions in which groups share a direction; points of a space for one symbol, or in all.
_MOST_SHARED, _MOST_POINTS, _ALWAYS = 5, 64, 1 << 24
# How much of what tells nothing is mixed into weights.
_MIXED = [0.0, *(2.0 ** -np.arange(52.0, 2.0, -1.0))]
# Below this part of them classes give way, as floats are rounded; no bound.
_BELOW, _NONE = 1 - 2.0**-20, 1 << 60

#: For each group base and dimension of its space.
Plan = tuple[tuple[int, int], ...]


@checked(InputError, tolerance=Number(0, remedy="leave it out, or pass 0 for the least risk"))
def subset_selection(symbols: Any, privacy: Any, *, tolerance: float = 0.0025) -> SubsetSelection:
    """Few reports give the frequencies of many symbols, by a kernel that needs no matrix.

    For symbols of equal mass and notions that treat them alike, columns of two levels (and a third
    for one symbol) have the least mean squared error of estimated frequencies: a report is a subset
    of the symbols, which holds the true one more often ([YeBarg2018] under LDP). A report is one
    integer of a few bytes, and neither design nor draws nor estimates make a matrix. Where at most
    some two thousand symbols are in a subset, the subsets are permutations of the best one that
    balance all pairs of symbols: the error is the least of all kernels, whatever N is. Elsewhere
    they are blocks of an affine geometry, which estimates read by one transform, so that N = 10⁶
    takes seconds; the error is the least of the geometries tried, 0.1 % above the least of all
    kernels or less under LDP and about 1 % under bounds of the lift.
    :attr:`SubsetSelection.gap` says how much larger it is at most, over the bound by symmetry.

    Where symbols come in a few groups of one mass each, a report is a type, which says how many
    symbols of each group it holds, and a subset for each group. The best mixture of types is a
    convex program of few numbers; its dual variables bound the risk of every kernel. Estimates are
    the best for the prior, and unbiased whatever the frequencies are.

    Parameters
    ----------
    symbols : int, labels, or a Prior or counts
        From 2 to 2²⁴ of them, of equal mass, or of at most six different masses.
    privacy : notion, or list of notions
        LDP, PML, PMC, LIP, ALIP and others that bound likelihoods against those of other symbols or
        of the uniform prior. Under LDP the level holds whatever the frequencies are.
    tolerance : float from 0 on
        How much larger the risk may be than the least that was found, as a share of it, where that
        makes reports fewer, and with them smaller.

    Returns
    -------
    SubsetSelection
        For :func:`privatize`, :func:`estimate`, :func:`plan` and :func:`save`, as a mechanism.

    Raises
    ------
    InputError
        For too few or too many symbols, too many masses, labels that are not distinct, or a
        tolerance that is none.
    LevelError
        For a notion of another kind, and levels at which nothing can be told apart.

    Examples
    --------
    >>> import mechdesign as md
    >>> found = md.subset_selection(1_000_000, md.LDP(1))
    >>> found.bytes_per_report, round(found.risk), found.gap < 1e-3
    (4, 3683029, True)

    Ten words that are frequent, and 190 that are not:

    >>> words = md.Prior.from_counts([10] * 10 + [1] * 190)
    >>> found = md.subset_selection(words, md.PML(1), tolerance=0)
    >>> round(found.risk, 3), found.gap < 1e-6
    (116.124, True)
    """
    notions = as_notions(privacy)
    if isinstance(symbols, Mapping):  # masses or counts, as a prior takes them
        symbols = Prior.from_counts(symbols)
    if isinstance(symbols, (int, np.integer)) and not isinstance(symbols, bool):
        size, masses = int(symbols), [1]
    else:
        symbols = symbols if isinstance(symbols, Prior) else Prior.uniform(symbols)
        size, masses = len(symbols), sorted({*symbols.weights})
    if not 2 <= size <= MOST_SYMBOLS or masses[0] <= 0:
        raise InputError(
            "symbols",
            expected=f"2 to {MOST_SYMBOLS:,} symbols of masses above zero",
            got=f"{size:,}, the least mass {float(masses[0]):.3g}",
            remedy="leave symbols without mass out, or give those that may occur a little",
        )
    bounds = asked_bounds(notions, outside=True)
    if len(masses) > MOST_GROUPS and bounds.are_by_mean:
        raise InputError(
            "symbols",
            expected=f"at most {MOST_GROUPS} different masses, on which the levels of "
            f"{', '.join(map(str, notions))} depend",
            got=f"{len(masses):,} of {size:,} symbols",
            remedy="ask for LDP, put numbers into bins, group rare symbols under one name, or "
            "round masses to those of a few groups",
        )
    is_near = len(masses) > (MOST_GROUPS if size <= _FEW else _NEAR_GROUPS)
    is_near = is_near and not bounds.are_by_mean
    if is_near:
        layouts = [Layout.of(symbols, _near(symbols.probabilities, power)) for power in _POWERS]
    elif isinstance(symbols, Prior):
        layouts = [Layout.of(symbols)]
    else:
        layouts = [Layout(np.zeros(size, np.uint8))]
    mixtures = [(Program(layout, bounds, outside=True).best(), layout) for layout in layouts]
    told, layout = min(mixtures, key=lambda pair: math.inf if pair[0] is None else pair[0].risk)
    found, limit = list[Any](), math.inf
    if told is not None:
        raised = told.types.max(axis=0, initial=0).tolist()
        for plan in dict.fromkeys(_plans(layout.sizes, raised, bounds.are_by_mean)):
            found += types_of(layout, notions, plan, limit)
            limit = min((risk for risk, *_ in found), default=limit) * (1 + fraction(tolerance))
    if told is None or not found:
        raise LevelError(
            "privacy levels",
            expected="levels at which symbols can be told apart",
            got="bounds that leave equal rows only, in 53 bits",
            remedy="ask for larger levels",
        )
    *_, types = min(
        (made for made in found if made[0] <= limit), key=lambda made: (made[1], made[0])
    )
    given = symbols if isinstance(symbols, Prior) else range(size)
    prices: Prices | Multipliers | None = told.prices if len(masses) > 1 else None
    if is_near:
        prices = multipliers(symbols.probabilities, float(bounds.ratio or 2) - 1)
    return SubsetSelection(given, notions, layout, types, prices)


def _near(masses: Floats, power: float) -> Integers:
    """The group of each symbol, of near powers of masses."""
    order = np.argsort(-masses, kind="stable")
    sizes = near_groups(masses[order] ** power, _NEAR_GROUPS)
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.repeat(np.arange(len(sizes)), sizes)
    return found


def _plans(sizes: list[int], raised: list[float], are_by_mean: bool) -> Iterator[Plan]:
    """Permutations where they are few enough, and geometries of several bases.

    Bounds against the mean of a column leave little to small groups in a large space.
    """
    most, always = max(sizes), _SMALL * (len(sizes) > 1)
    primes = [q for q in range(2, max(_PRIMES, 2 * math.isqrt(most))) if not divisors(q)]
    near = [next(q for q in primes if q**k >= most) for k in range(2, _MOST_SHARED + 1)]
    last = _PRIMES if len(sizes) == 1 else _FEW_PRIMES
    few = [*near, *(q for q in primes if q <= last)]
    for limit in {always, *sizes}:
        permuted = [
            n == 1 or (n <= limit and k <= _MOST_RAISED and len(divisors(n)) <= MOST_DIVISORS)
            for n, k in zip(sizes, raised, strict=False)
        ]
        for q in near if are_by_mean and limit > always else few:
            plan = tuple(
                (n, 1) if own else (q, next(k for k in range(1, 25) if q**k >= n))
                for n, own in zip(sizes, permuted, strict=True)
            )
            points = max(q**k for q, k in plan)
            if q <= MOST_RESIDUES and points <= max(_MOST_POINTS * most, _ALWAYS):
                yield plan


def types_of(
    layout: Layout, notions: Sequence[PrivacyNotion], plan: Plan, limit: float = math.inf
) -> Iterator[tuple[Fraction, int, list[ReportType]]]:
    """Types that keep the notions over the spaces of a plan, with risk and number of reports, where
    the risk may be below a limit.
    """
    bounds = asked_bounds(notions)
    best = Program(layout, bounds, plan, outside=False).best()
    if best is None or best.risk * _BELOW > limit:
        return
    least: Fraction | float = math.inf
    # Weights are rounded, which little makes good, or means are uneven, which takes more.
    is_even = not bounds.are_by_mean or [q**m for q, m in plan] == layout.sizes
    for mixed in _MIXED[::3] if is_even else reversed(_MIXED):
        # Rounding may leave some symbols alike, and there may be no placements.
        with contextlib.suppress(ValueError):
            types = [*_weighted(layout, plan, best, mixed, bounds)]
            lifts = [one.lifts(layout.shares) for one in types]
            reports = sum(one.reports for one in types)
            checks = (check_levels(notion, lifts) for notion in notions)
            if reports <= MOST_REPORTS and all(c.verdict is Verdict.YES for c in checks):
                if (risk := Scored(layout, types).risk_exact) >= least:
                    return
                least = risk
                yield risk, reports, types


def _weighted(
    layout: Layout, plan: Plan, best: Mixture, mixed: float, bounds: LiftBounds
) -> Iterator[ReportType]:
    """The types of a mixture in integers, with so much of a kernel that tells nothing mixed in."""
    # What is mixed in comes as often at all symbols.
    chances = best.shares[:, None] * ((1 - mixed) * best.means + mixed)
    weights = to_weights(chances.T).T.tolist()
    for t, (row, often) in enumerate(zip(chances, best.shares, strict=True)):
        (*counts, low, high), parts = best.types[t].tolist(), dict[int, Part]()
        for i, ((q, m), count) in enumerate(zip(plan, counts, strict=True)):
            if 0 < count < q > 1:
                levels = [high, low + count % 1 * (high - low), low, low][count < 1 :]
                away = often * (np.array(levels[:3]) - best.means[t, i]) / row[i]
                # What does not fill its space gives way as far as that leaves it.
                away *= 1 - mixed * (q**m == layout.sizes[i] or not bounds.are_by_mean)
                raised, middle = max(1, int(count)), count % 1 > 0 and 1 < count < q - 1
                placements = balanced(q, raised, middle=middle) if divisors(q) else IN_ORDER
                own = (weights_of(q, raised, 1 + away),) * m
                parts[i] = Part(layout.sizes[i], q, m, raised, own, placements)
        yield _giving_way(ReportType(tuple(weights[t]), parts), layout, bounds)


def _giving_way(one: ReportType, layout: Layout, bounds: LiftBounds) -> ReportType:
    """The type with residues told apart by less at classes of directions where means of groups that
    do not fill their spaces are uneven: entries and means are linear in how far they are.
    """
    uneven = {i: part for i, part in one.parts.items() if not part.is_full}
    if not uneven or not bounds.are_by_mean:
        return one
    even, slacks = one.ends.copy(), list[Any]()
    even[:, :, [*uneven]] = one.means[[*uneven]]
    for ends in (even.astype(float), one.ends.astype(float)):
        below, above = (ends[2:] @ layout.shares.astype(float))[..., None]
        upper = float(bounds.upper or _NONE) * below - ends[0]
        slacks.append(np.hstack([upper, ends[1] - float(bounds.lower) * above]))
    with np.errstate(all="ignore"):
        ratios = np.where(slacks[1] < 0, slacks[0] / (slacks[0] - slacks[1]), 1.0)
    scales = np.maximum(ratios.min(axis=1), 0.0) * _BELOW
    return replace(one, parts=one.parts | {i: p.told_apart(scales) for i, p in uneven.items()})
