"""The Wasserstein mechanism: Laplace noise by how far apart secrets push a query."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from ..errors import LevelError, PriorError
from ..exact import common_integers
from ..prior import Prior
from ..privacy.pufferfish import Pufferfish
from .checking import at_least, called, checked, exact_list, shown
from .laws import exactly


def wasserstein_infinity(values: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """W∞ of two laws on the same numbers: the largest distance under the monotone coupling.

    Parameters
    ----------
    values : K finite numbers
    first, second : K non-negative masses each, divided by their sum

    Notes
    -----
    Computed in rationals from the exact values of what is given, and rounded up: an atom of any
    mass, however small, counts. Masses that are no floats, such as thirds, are best given as
    integers or fractions; rounded, two steps that should coincide are apart, and the distance is
    that of the rounded laws, which may be larger.

    Examples
    --------
    >>> wasserstein_infinity([0, 1, 2], [.5, .5, 0], [0, .5, .5])
    1.0
    >>> wasserstein_infinity([0, 100], [1, 0], [1 - 4e-15, 4e-15])
    100.0
    """
    x, a, b = (exact_list(v) for v in (values, first, second))
    if not x or not a or not b or not _are_masses(len(x), a, b):
        raise LevelError(
            "laws on the same numbers",
            expected="finite values, and two lists of as many non-negative masses",
            got=f"{shown(values)}, {shown(first)} and {shown(second)}",
            remedy="give one mass of each law per value",
        )
    return _upward(_farthest(x, a, b), "distance of two laws")


def _are_masses(size: int, *laws: list[Fraction]) -> bool:
    return all(len(law) == size and min(law) >= 0 and sum(law) > 0 for law in laws)


def _farthest(x: list[Fraction], first: list[Fraction], second: list[Fraction]) -> Fraction:
    """W∞ of two laws on the numbers ``x``, exact; the masses need not have sum one."""
    a, b = common_integers(first)[0], common_integers(second)[0]
    # Scaled to one total, so that every step of either distribution function is an integer.
    total_a, total_b = sum(a), sum(b)
    order = sorted(range(len(x)), key=x.__getitem__)
    one = [(x[i], a[i] * total_b) for i in order if a[i]]
    two = [(x[i], b[i] * total_a) for i in order if b[i]]
    # Mass is moved in rising order, as much at a time as both sides have left.
    farthest = Fraction(0)
    i = j = 0
    left, right = one[0][1], two[0][1]
    while True:
        farthest = max(farthest, abs(one[i][0] - two[j][0]))
        moved = min(left, right)
        left, right = left - moved, right - moved
        if not left:
            i += 1
            if i == len(one):
                return farthest
            left = one[i][1]
        if not right:
            j += 1
            right = two[j][1]


def _upward(amount: Fraction, subject: str) -> float:
    return at_least(
        amount,
        subject,
        expected="one that is at most the largest float",
        got="a larger one",
        remedy="measure the query in a larger unit",
    )


def wasserstein_scale(
    prior: Prior, notion: Pufferfish, query: Callable[[Any], float] = float
) -> float:
    """The scale W/ε of the Laplace noise that makes a query ε-Pufferfish private.

    W is the largest W∞ distance of the query's laws given the two secrets of a pair, over pairs and
    priors ([Song2017]), in rationals; the scale is rounded up. It is a baseline:
    :func:`mechdesign.design` finds the best mechanism.

    Parameters
    ----------
    prior : the prior of the design (used when the notion has none of its own)
    notion : Pufferfish, with a positive finite level
    query : function from label to a number; the labels themselves when left out

    Examples
    --------
    >>> import mechdesign as md
    >>> flu = md.Prior([.1, .15, .5, .15, .1])         # how many of four have the flu
    >>> one = md.Pufferfish.of_feature(1.0, md.privacy.databases.entry_of(4))   # whether one has
    >>> wasserstein_scale(flu, one)
    2.0
    """
    checked(prior, Prior, "prior", "write md.Prior([...], labels)", PriorError)
    checked(notion, Pufferfish, "notion", "write md.Pufferfish(epsilon, secrets)")
    called(query, "query")
    epsilon = exactly(notion.epsilon, "level")
    try:
        values = [query(label) for label in prior.labels]
    except (TypeError, ValueError, OverflowError):
        values = [math.nan]
    places = exact_list(values)
    if places is None:
        raise LevelError(
            "query",
            expected="a finite number for every symbol",
            got=f"something else, for one like {shown(prior.labels[0])}",
            remedy="pass query=, a function from label to number",
        )
    apart = (_farthest(places, mine, theirs) for _, _, mine, theirs in notion.hypotheses(prior))
    return _upward(max(apart, default=Fraction(0)) / epsilon, "scale of the noise")
