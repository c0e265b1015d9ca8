"""``subset_selection``: frequencies of many symbols, by subsets of one size, without a matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import InputError, LevelError, listed, quote
from ..exact import is_whole
from ..prior import Prior
from ..privacy.notion import PrivacyNotion, as_notions
from .family import AffineFamily
from .finite_fields import is_prime
from .group_choice import select_grouped
from .permuted import PermutedFamily, is_possible, permuted_family
from .profile import Family, LiftBounds, Profile, best_profiles
from .risk import uniform_risk
from .selection import SubsetSelection, asked_bounds, check_any_masses

#: Symbols, and groups of equal mass, that there may be.
MOST_SYMBOLS, MOST_GROUPS = 1 << 24, 6
# Points of the space for one symbol, or in all, beyond which no family is tried.
_MOST_POINTS, _ALWAYS = 64, 1 << 24
# Symbols times directions of a family whose estimates look at all of them.
_MOST_PAIRS = 1 << 30
# Residues of a family in which each comes with every multiple of a direction: estimates take time
# in proportion.
_MOST_RESIDUES = 2048
# All primes up to this are tried as number of residues, and some next to roots of N.
_PRIMES = 257
# Entries of a column that may be raised where permutations of it are reports.
_MOST_RAISED = 1 << 11


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
    if isinstance(symbols, Mapping):  # masses or counts, as a prior takes them
        symbols = Prior.from_counts(symbols)
    notions = as_notions(privacy)
    known = isinstance(tolerance, (int, float, np.number)) and not isinstance(tolerance, bool)
    if not known or not 0 <= tolerance < math.inf:
        raise InputError(
            "tolerance",
            expected="a number from 0 on",
            got=quote(tolerance),
            remedy="leave it out, or pass 0 for the least risk",
        )
    if isinstance(symbols, Prior) and len(set(symbols.weights)) > 1:
        return _of_groups(symbols, notions, Fraction(tolerance))
    inputs, size = _symbols(symbols)
    family, profiles = _select(size, asked_bounds(notions), Fraction(tolerance))
    return SubsetSelection(inputs, notions, family, profiles)


def _of_groups(
    prior: Prior, notions: tuple[PrivacyNotion, ...], tolerance: Fraction
) -> SubsetSelection:
    """The selection for symbols of a few masses."""
    groups = len(set(prior.weights))
    if groups > MOST_GROUPS or len(prior) > MOST_SYMBOLS or not min(prior.weights) > 0:
        raise InputError(
            "symbols",
            expected=f"at most {MOST_SYMBOLS:,} symbols of at most {MOST_GROUPS} masses above zero",
            got=f"{len(prior)} with {groups} masses from {float(min(prior.probabilities)):.3g} on",
            remedy="leave symbols without mass out, round masses to those of a few groups, pass "
            "labels alone (LDP does not depend on masses), or use md.design",
        )
    for notion in notions:
        check_any_masses(notion)
    found = select_grouped(prior, notions, tolerance)
    if found is None:
        raise untold_levels()
    return found


def untold_levels() -> LevelError:
    """The error for levels at which nothing is told."""
    return LevelError(
        "privacy levels",
        expected="levels at which symbols can be told apart",
        got="bounds that leave equal rows only, in 53 bits",
        remedy="ask for larger levels",
    )


def _symbols(symbols: Any) -> tuple[Any, int]:
    """Labels, or their number, and the number."""
    if isinstance(symbols, Prior):
        symbols = symbols.labels
    if isinstance(symbols, (int, np.integer)) and not isinstance(symbols, bool):
        size = int(symbols)
        symbols = size
    else:
        symbols = listed(
            symbols,
            "symbols",
            "a number of symbols or a list of labels",
            InputError,
            "pass for example 1_000_000 or ['a', 'b']",
        )
        size = len(symbols)
    if not is_whole(size, 2, MOST_SYMBOLS):
        raise InputError(
            "symbols",
            expected=f"2 to {MOST_SYMBOLS:,} symbols",
            got=quote(size),
            remedy="pass their number or a list of labels",
        )
    return symbols, size


# The best family


def _select(
    size: int, bounds: LiftBounds, tolerance: Fraction
) -> tuple[Family, tuple[Profile, ...]]:
    """The smallest family among those whose risk is next to the least."""
    found: list[tuple[Fraction, tuple[Family, tuple[Profile, ...]]]] = []
    if (permuted := permute_column(size, bounds)) is not None:
        found.append((uniform_risk(*permuted), permuted))
    for base, dimension in _candidates(size, bounds.share(size)):
        made = make_family(size, base, dimension, bounds)
        if made is not None:
            found.append((uniform_risk(*made), made))
    if not found:
        raise untold_levels()
    best = min(risk for risk, _ in found)
    near = [made for risk, made in found if risk <= best * (1 + tolerance)]
    return min(near, key=lambda made: made[0].reports)


def make_family(
    size: int, base: int, dimension: int, bounds: LiftBounds
) -> tuple[AffineFamily, tuple[Profile, ...]] | None:
    """The family over F_base^dimension with its best profiles.

    ``None`` where a class has equal rows only. Of many residues one is told from the others, as
    estimates would take too long otherwise.
    """
    family = AffineFamily(size, base, dimension)
    profiles = best_profiles(family, bounds, single=base > _MOST_RESIDUES)
    if profiles is None:
        return None
    if all(profile.is_one_residue for profile in profiles):
        family = AffineFamily(size, base, dimension, projective=True)
    return family, profiles


def permute_column(size: int, bounds: LiftBounds) -> tuple[PermutedFamily, tuple[Profile]] | None:
    """Permutations of the best column, whose risk is the least of all kernels.

    ``None`` for large alphabets where it has many raised entries, as estimates would take too long,
    or where no balance is found.
    """
    if not is_possible(size) or min(size, 1 + size * bounds.share(size)) > _MOST_RAISED:
        return None
    found = best_profiles(PermutedFamily(size, 1, ((0,),), (1,)), bounds)
    if found is None:
        return None
    (profile,) = found
    alone = len({value for value, n in profile.values[1:]}) > 1
    family = permuted_family(size, profile.count, middle=alone)
    return None if family is None else (family, (profile,))


def _candidates(size: int, share: float) -> list[tuple[int, int]]:
    """Primes q and dimensions m with q^m ≥ N, not far above it.

    Among them is the one next to that of which a single residue has the best share.
    """
    found = []
    primes = [q for q in range(2, _PRIMES + 1) if is_prime(q)]
    # One residue has the best share, or all but one.
    for part in (share, 1 - share):
        if 0 < 1 / size < part:
            primes.append(_prime_from(max(2, round(1 / part))))
    for dimension in (1, 2, 3):
        q = max(2, round(size ** (1 / dimension)) - 1)
        primes.append(_prime_from(q if q**dimension >= size else q + 1))
    for q in dict.fromkeys(primes):
        dimension, points = 1, q
        while points < size:
            dimension, points = dimension + 1, points * q
        by_lines = dimension == 2 and size * q <= _MOST_PAIRS
        if points <= max(_MOST_POINTS * size, _ALWAYS) or by_lines:
            found.append((q, dimension))
    return found


def _prime_from(number: int) -> int:
    while not is_prime(number):
        number += 1
    return number
