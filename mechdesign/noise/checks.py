"""What is handed to the functions of this folder: numbers, and things of a kind.

Text is never read as a number. What is no number becomes NaN, which every check of a range refuses
with a message of its own.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, LevelError, quote
from ..exact import float_at_least, fraction, is_whole

Kind = TypeVar("Kind")


def real(value: Any) -> float:
    """A float; NaN for text and whatever else is no number."""
    if isinstance(value, (str, bytes, bytearray)):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def reals(values: Any) -> NDArray[np.float64]:
    """A new array of floats; a single NaN when there is something else among the values."""
    try:
        found = np.array(values)
        if found.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in found.flat):
            found = found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.array(None)
    return found.astype(np.float64) if found.dtype.kind in "biuf" else np.array(math.nan)


def positive(value: Any, subject: str, *, zero: bool = False) -> float:
    """A positive finite float, or a :class:`LevelError`."""
    number = real(value)
    least = number >= 0 if zero else number > 0
    if isinstance(value, bool) or not least or not math.isfinite(number):
        raise LevelError(
            subject,
            expected="a positive finite number",
            got=shown(value),
            remedy="write for example 0.5, without quotes",
        )
    return number


def exactly(value: Any, subject: str, *, zero: bool = False) -> Fraction:
    """The exact value of a positive finite number, or a :class:`LevelError`."""
    number = positive(value, subject, zero=zero)
    try:
        return fraction(value)
    except TypeError:  # an array of one number, for example
        return Fraction(number)


def number_of(entries: Any) -> int:
    """A number of database entries, or a :class:`LevelError`."""
    if not is_whole(entries, 1):
        raise LevelError(
            "number of entries",
            expected="a whole number from 1",
            got=shown(entries),
            remedy="give the number of rows of the database",
        )
    return int(entries)


def at_least(amount: Fraction, subject: str, *, expected: str, got: str, remedy: str) -> float:
    """An amount as a float that is never less; :class:`LevelError` for one beyond all floats."""
    found = float_at_least(amount)
    if found == math.inf:
        raise LevelError(subject, expected=expected, got=got, remedy=remedy)
    return found


def exact_list(values: Any) -> list[Fraction] | None:
    """The exact values of a list of finite numbers; ``None`` for anything else, text included."""
    if isinstance(values, (str, bytes)):
        return None
    try:
        found = values.tolist() if isinstance(values, np.ndarray) else list(values)
        return [fraction(v if isinstance(v, Rational) else _plain(v)) for v in found]
    except (TypeError, ValueError, OverflowError):
        return None


def _plain(value: Any) -> Any:
    """A number of a kind that has an exact value; other kinds of numbers as floats."""
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError("text is never read as a number")
    return value if isinstance(value, (float, Decimal, np.generic)) else float(value)


def checked(
    value: Any, kind: type[Kind], subject: str, remedy: str, error: type[InputError] = LevelError
) -> Kind:
    """The value, known to be of a kind; an :class:`InputError` for anything else."""
    if isinstance(value, kind):
        return value
    raise error(subject, expected=f"a {kind.__name__}", got=shown(value), remedy=remedy)


def called(value: Any, subject: str) -> Any:
    """The value, known to be a function of a label."""
    if callable(value):
        return value
    raise LevelError(
        subject,
        expected="a function of a label",
        got=shown(value),
        remedy="pass for example float, or lambda label: label[0]",
    )


def shown(value: Any) -> str:
    """One short line that shows a value."""
    return quote(value, 60)
