"""Finite sets of priors as data, for notions that hold for each of several."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..errors import PriorError, quote
from ..exact import fraction
from ..labels import tidy
from ..prior import Prior


def checked_priors(priors: Any) -> Any:
    """A set of priors as data, ``((label, mass), ...)`` each; ``None`` for the design's own."""
    if priors is None:
        return None
    found = []
    try:
        for prior in [priors] if isinstance(priors, Prior) else list(priors):
            if isinstance(prior, Prior):
                masses = ((label, prior.mass(i)) for i, label in enumerate(prior.labels))
                found.append(tuple((label, mass) for label, mass in masses if mass))
            else:
                found.append(tuple((tidy(label), mass) for label, mass in prior))
    except (TypeError, ValueError, OverflowError):
        raise PriorError(
            "priors of a notion",
            expected="a Prior, or a list of them",
            got=quote(priors),
            remedy="write md.Prior([...], labels) for each",
        ) from None
    if not found:
        raise PriorError(
            "priors of a notion",
            expected="at least one Prior",
            got="none",
            remedy="leave it out to use the prior of the design",
        )
    return tuple(found)


def thetas_over(priors: Any, prior: Prior) -> list[list[Fraction]]:
    """Exact masses of each prior of a set, in the order of the design's symbols.

    Raises :class:`PriorError` for a prior that has mass on other symbols.
    """
    if priors is None:
        return [[prior.mass(i) for i in range(len(prior))]]
    known = set(prior.labels)
    for theta in priors:
        strange = [label for label, mass in theta if mass and label not in known]
        if strange:
            raise PriorError(
                "prior of a notion",
                expected="a prior over symbols of the design",
                got=f"mass on {quote(strange[0])}",
                remedy="give both the same labels",
            )
    return [[fraction(dict(theta).get(label, 0)) for label in prior.labels] for theta in priors]
