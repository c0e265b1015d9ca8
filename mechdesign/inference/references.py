"""What estimates and plans share: the distribution at which weights are best, and confidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quote
from ..mechanism import check_prior
from ..numeric import float_array
from ..prior import Prior
from ..published import PublicDesign
from ..release._identifiability import report_weights
from ..utility.estimation import Estimation
from ..utility.questions import Question

Vector = NDArray[np.float64]

#: The rate at which intervals cover where nothing is asked.
CONFIDENCE = 0.95
# The share of squared errors from which on it is told that other weights would save it.
_NOTABLE = 0.02


def rate_of(confidence: Any) -> float:
    """A confidence as a float; raises :class:`InputError` where it is not between 0 and 1."""
    rate = float_array(confidence)
    if rate is None or rate.shape or not 0 < rate < 1:
        raise InputError(
            "confidence",
            expected="a number between 0 and 1",
            got=quote(confidence),
            remedy="pass 0.95 for 95 %",
        )
    return float(rate)


def refuse_other_than(
    what: str = "a subset selection",
    remedy: str = "estimate all shares; for anything else design with a matrix (md.design)",
    **options: tuple[Any, Any],
) -> None:
    """Raise :class:`InputError` for options that have one value only for reports of this kind."""
    for name in asked_for(options):
        value, only = options[name]
        raise InputError(
            f"{name} for {what}",
            expected="it left out" if only is None else repr(only),
            got=quote(value),
            remedy=remedy,
        )


def asked_for(options: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """Names of the options whose values are others than when left out."""
    return [
        name
        for name, (value, only) in options.items()
        if value is not only and not (isinstance(value, type(only)) and value == only)
    ]


def reference_of(designed: Any, mechanism: Any, truth: Any = None) -> Vector:
    """Where the variance of the inversion is least: a truth, else that of the design or its prior,
    else uniform.

    Raises :class:`KernelError` for a truth over other symbols, and what :class:`Prior` does.
    """
    prior, utility = getattr(designed, "prior", None), getattr(designed, "utility", None)
    if truth is None and prior is not None and isinstance(utility, Estimation):
        return np.array(utility.masses(prior), float)
    if truth is None:
        return prior_of(designed, mechanism)
    found, symbols = Estimation(truth=truth).truth, mechanism.inputs
    if not isinstance(found, Prior):
        raise InputError(
            "truth of an estimate",
            expected="one distribution",
            got=quote(truth),
            remedy="leave it out, or pass the distribution that is likely",
        )
    if set(found.labels) == set(symbols):
        found = found.reordered(symbols)
    elif found.labels != tuple(range(len(symbols))):
        check_prior(symbols, found)
    return np.asarray(found.probabilities)


def weights_note(designed: Any, question: Question, weights: Vector, likely: Vector) -> str:
    """What naming a distribution would change of the estimate from a public design, which has none;
    nothing where that is next to nothing.

    ``weights`` are those on reports, ``likely`` is the distribution of most likelihood.
    """
    if not isinstance(designed, PublicDesign):
        return ""
    reports, answers = likely @ designed.kernel, likely @ question.weights

    def error(of: Vector) -> float:
        return float((reports @ (of - answers) ** 2).sum())

    now, best = error(weights), error(report_weights(designed, question, likely))
    if not now - best > _NOTABLE * now:
        return ""
    return (
        "reports are weighed as is best for equal shares, as a public design names no "
        "distribution; truth= (--truth) with the one it was designed for, or with an estimate from "
        f"other reports, would lower squared errors by about {100 * (1 - best / now):.0f} %"
    )


def prior_of(designed: Any, mechanism: Any) -> Vector:
    """The masses of a design's prior, or uniform ones."""
    prior = getattr(designed, "prior", None)
    count = len(mechanism.inputs)
    return np.full(count, 1 / count) if prior is None else np.asarray(prior.probabilities)
