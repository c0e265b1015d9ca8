"""Arguments of the functions of this room, checked: numbers in a range, distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, LevelError, UtilityError, quote
from ..exact import is_whole


def number(
    value: Any,
    subject: str,
    low: float,
    high: float,
    *,
    ends: str = "[]",
    error: type[InputError] = LevelError,
    remedy: str = "correct the number",
) -> float:
    """A number between two ends, as a float; raises ``error`` for anything else, NaN included.

    ``ends`` says which ends belong to the range: ``"[)"`` takes the lower one only.
    """
    found = math.nan
    if not isinstance(value, (bool, np.bool_, str, bytes)) and value is not None:
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            found = math.nan
    above = found >= low if ends[0] == "[" else found > low
    below = found <= high if ends[1] == "]" else found < high
    if not (above and below):
        raise error(subject, expected=_range(low, high, ends), got=_shown(value), remedy=remedy)
    return found


def _range(low: float, high: float, ends: str) -> str:
    if (low, high) == (-math.inf, math.inf):
        return "a finite number"
    if high == math.inf:
        finite = "" if ends[1] == "]" else "finite "
        word = "of at least" if ends[0] == "[" else "above"
        return f"a {finite}number {word} {low:g}"
    left_out = {"[]": "", "()": ", both left out", "[)": ", the latter left out"}
    return f"a number from {low:g} to {high:g}{left_out.get(ends, ', the former left out')}"


def whole(
    value: Any,
    subject: str,
    least: int,
    most: int | None = None,
    *,
    error: type[InputError] = LevelError,
) -> int:
    """A whole number in a range; raises ``error`` for anything else."""
    if not is_whole(value, least, most):
        upto = f" and at most {quote(most)}" if most is not None else ""
        raise error(
            subject,
            expected=f"a whole number of at least {least}{upto}",
            got=_shown(value),
            remedy="pass an integer in this range",
        )
    return int(value)


def masses(value: ArrayLike) -> NDArray[np.float64]:
    """A vector of probabilities; raises :class:`UtilityError` unless it is one up to rounding."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros((0, 0))
    good = found.ndim == 1 and found.size > 0 and bool((found >= 0).all())
    if not good or not abs(float(found.sum()) - 1) < 1e-6:
        raise UtilityError(
            "distribution",
            expected="a vector of non-negative numbers with sum 1",
            got=_shown(value),
            remedy="pass the probabilities of the values",
        )
    return found


def _shown(value: Any) -> str:
    return quote(value, 60)
