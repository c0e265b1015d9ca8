"""``subset_selection``: frequencies of many symbols, by subsets of one size, without a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import InputError, LevelError, listed, quote
from ..labels import check_labels
from ..numeric import finite_number
from ..prior import Prior
from ..privacy.notion import as_notions
from .bounds import asked_parts
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
    if isinstance(symbols, Mapping):  # masses or counts, as a prior takes them
        symbols = Prior.from_counts(symbols)
    notions = as_notions(privacy)
    remedy = "leave it out, or pass 0 for the least risk"
    tolerance = finite_number(tolerance, "tolerance", 0, remedy=remedy)
    are_alike = not isinstance(symbols, Prior) or len(set(symbols.weights)) == 1
    symbols = check_symbols(symbols) if are_alike else _checked(symbols)
    layout = Layout.of(len(symbols) if are_alike else symbols)
    for notion in notions:
        asked_parts(notion, any_masses=not are_alike)
    found = best_types(layout, notions, Fraction(tolerance))
    if found is None:
        raise LevelError(
            "privacy levels",
            expected="levels at which symbols can be told apart",
            got="bounds that leave equal rows only, in 53 bits",
            remedy="ask for larger levels",
        )
    types, prices = found
    return SubsetSelection(symbols, notions, layout, types, None if are_alike else prices)


def _checked(prior: Prior) -> Prior:
    """A prior of a few masses."""
    groups = len(set(prior.weights))
    if groups > MOST_GROUPS or len(prior) > MOST_SYMBOLS or not min(prior.weights) > 0:
        raise InputError(
            "symbols",
            expected=f"at most {MOST_SYMBOLS:,} symbols of at most {MOST_GROUPS} masses above zero",
            got=f"{len(prior)} with {groups} masses from {float(min(prior.probabilities)):.3g} on",
            remedy="leave symbols without mass out, round masses to those of a few groups, pass "
            "labels alone (LDP does not depend on masses), or use md.design",
        )
    return prior


def check_symbols(symbols: Any) -> Any:
    """Distinct labels of symbols that are alike, a range for their number."""
    if isinstance(symbols, (int, np.integer)) and not isinstance(symbols, bool):
        labels = range(max(0, symbols))
    elif isinstance(symbols, Prior):
        labels = symbols.labels
    else:
        labels = listed(
            symbols,
            "symbols",
            "a number of symbols or a list of labels",
            InputError,
            "pass for example 1_000_000 or ['a', 'b']",
        )
    if not 2 <= len(labels) <= MOST_SYMBOLS:
        raise InputError(
            "symbols",
            expected=f"2 to {MOST_SYMBOLS:,} symbols",
            got=quote(symbols),
            remedy="pass their number or a list of labels",
        )
    return (
        labels
        if isinstance(labels, range)
        else check_labels(labels, len(labels), "symbols", InputError)
    )
