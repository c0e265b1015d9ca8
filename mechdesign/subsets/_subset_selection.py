"""``subset_selection``: frequencies of many symbols, by subsets of one size, without a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import InputError, LevelError
from ..numeric import finite_number
from ..prior import Prior
from ..privacy.notion import as_notions
from .choice import best_types
from .report_types import Layout
from .selection import SubsetSelection

#: Symbols, and groups of equal mass, that there may be.
MOST_SYMBOLS, MOST_GROUPS = 1 << 24, 6


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
    remedy = "leave it out, or pass 0 for the least risk"
    tolerance = finite_number(tolerance, "tolerance", 0, remedy=remedy)
    notions = as_notions(privacy)
    if isinstance(symbols, Mapping):  # masses or counts, as a prior takes them
        symbols = Prior.from_counts(symbols)
    if isinstance(symbols, (int, np.integer)) and not isinstance(symbols, bool):
        size, masses = int(symbols), [1]
    else:
        symbols = symbols if isinstance(symbols, Prior) else Prior.uniform(symbols)
        size, masses = len(symbols), sorted({*symbols.weights})
    if not 2 <= size <= MOST_SYMBOLS or len(masses) > MOST_GROUPS or masses[0] <= 0:
        raise InputError(
            "symbols",
            expected=f"2 to {MOST_SYMBOLS:,} symbols of at most {MOST_GROUPS} masses above zero",
            got=f"{size} of {len(masses)} masses, the least {float(masses[0]):.3g}",
            remedy="pass their number or labels alone (LDP does not depend on masses), leave "
            "symbols without mass out, round masses to those of a few groups, or use md.design",
        )
    layout = Layout.of(symbols) if isinstance(symbols, Prior) else Layout(np.zeros(size, np.uint8))
    found = best_types(layout, notions, Fraction(tolerance))
    if found is None:
        raise LevelError(
            "privacy levels",
            expected="levels at which symbols can be told apart",
            got="bounds that leave equal rows only, in 53 bits",
            remedy="ask for larger levels",
        )
    types, prices = found
    given = symbols if isinstance(symbols, Prior) else range(size)
    return SubsetSelection(given, notions, layout, types, prices if len(masses) > 1 else None)
