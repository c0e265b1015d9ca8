"""The Wasserstein mechanism: Laplace noise by how far apart secrets push a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import LevelError, PriorError
from ..prior import Prior
from ..privacy.pufferfish import Pufferfish
from .checking import called, checked, reals, shown
from .laws import positive


def wasserstein_infinity(values: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """W∞ of two laws on the same numbers: the largest distance under the monotone coupling.

    >>> wasserstein_infinity([0, 1, 2], [.5, .5, 0], [0, .5, .5])
    1.0
    """
    x, a, b = reals(values), reals(first), reals(second)
    masses = np.concatenate([a.ravel(), b.ravel()])
    good = x.ndim == 1 and x.shape == a.shape == b.shape and np.isfinite(x).all()
    if not good or not (masses >= 0).all() or not 0 < a.sum() < np.inf or not 0 < b.sum() < np.inf:
        raise LevelError(
            "laws on the same numbers",
            expected="finite values, and two lists of as many non-negative masses",
            got=f"{shown(values)}, {shown(first)} and {shown(second)}",
            remedy="give one mass of each law per value",
        )
    order = np.argsort(x)
    x, a, b = x[order], a[order] / a.sum(), b[order] / b.sum()
    # Both quantile functions are constant between consecutive steps of either law.
    steps_a, steps_b = np.cumsum(a), np.cumsum(b)
    steps = np.unique(np.round(np.concatenate([[0.0], steps_a, steps_b]), 14))
    middles = (steps[1:] + steps[:-1]) / 2
    last = len(x) - 1
    left = x[np.minimum(np.searchsorted(steps_a, middles), last)]
    right = x[np.minimum(np.searchsorted(steps_b, middles), last)]
    return float(np.abs(left - right).max(initial=0.0))


def wasserstein_scale(
    prior: Prior, notion: Pufferfish, query: Callable[[Any], float] = float
) -> float:
    """The scale W/ε of the Laplace noise that makes a query ε-Pufferfish private.

    W is the largest W∞ distance of the query's laws given the two secrets of a pair, over pairs and
    priors ([Song2017]). It is a baseline: :func:`mechdesign.design` finds the best mechanism.

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
    epsilon = positive(notion.epsilon, "level")
    try:
        values = [float(query(label)) for label in prior.labels]
    except (TypeError, ValueError):
        raise LevelError(
            "query",
            expected="a number for every symbol",
            got=f"none for {prior.labels[0]!r}",
            remedy="pass query=, a function from label to number",
        ) from None
    farthest = 0.0
    for _, _, mine, theirs in notion.hypotheses(prior):
        first = [float(m) for m in mine]
        second = [float(m) for m in theirs]
        farthest = max(farthest, wasserstein_infinity(values, first, second))
    return farthest / epsilon
