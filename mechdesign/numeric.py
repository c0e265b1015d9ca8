"""Numbers and matrices as they are handed in: Python's, NumPy's, decimals, rationals, data frames.

Text, truth values, complex numbers and masked entries are not numbers here, and NaN never passes.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, quote

_NUMBERS = (int, float, np.integer, np.floating, Fraction, Decimal)


def finite_number(
    value: Any,
    subject: str,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    error: type[InputError] = InputError,
    remedy: str = "correct the number",
) -> float:
    """The nearest float of a finite number from ``least`` to ``most``; raises ``error``.

    >>> from fractions import Fraction
    >>> finite_number(Fraction(1, 3), "share"), finite_number(np.float32(0.5), "share", 0, 1)
    (0.3333333333333333, 0.5)
    """
    held = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    try:
        is_number = isinstance(held, _NUMBERS) and not isinstance(held, bool)
        number = float(held) if is_number else math.nan
    except (ValueError, OverflowError):  # a signalling NaN, or what no float can hold
        number = math.nan
    if not (math.isfinite(number) and least <= number <= most):
        ends = ""
        if math.isfinite(least):
            ends = f" of at least {least:g}"
        if math.isfinite(most):
            ends = f" from {least:g} to {most:g}"
        raise error(subject, expected=f"a finite number{ends}", got=quote(value), remedy=remedy)
    return number


def truth_value(value: Any, name: str, *, error: type[InputError] = InputError) -> bool:
    """A parameter that is true or false; raises ``error`` for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(name, expected="True or False", got=quote(value), remedy=f"pass {name}=True")
    return bool(value)


def finite_matrix(
    values: Any,
    subject: str,
    *,
    error: type[InputError] = InputError,
    shape: tuple[int, int] | None = None,
    expected: str = "an N×M array of numbers",
    remedy: str = "replace it",
) -> NDArray[np.float64]:
    """A copy of a matrix as finite floats; raises ``error``.

    Parameters
    ----------
    shape : the shape that it must have, (N, M)
    expected : what is called for where there is no such array
    remedy : what to do about an entry that is not finite
    """
    got, matrix = quote(values), float_array(values, truth_values=True)
    if matrix is None:
        rows = "give rows of equal length that hold numbers only"
        raise error(subject, expected=expected, got=got, remedy=rows)
    rows = "one row per input symbol, one column per output"
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise error(subject, expected=expected, got=f"shape {matrix.shape}", remedy=rows)
    if shape is not None and matrix.shape != shape:
        asked = f"shape {shape} (inputs × outputs)"
        raise error(subject, expected=asked, got=f"{matrix.shape}", remedy=rows)
    finite = np.isfinite(matrix)
    if not finite.all():
        x, y = np.argwhere(~finite)[0].tolist()
        got = f"{matrix[x, y]} in row {x}, column {y}"
        raise error(subject, expected="finite numbers", got=got, remedy=remedy)
    return matrix


def float_array(values: Any, *, truth_values: bool = False) -> NDArray[np.float64] | None:
    """A copy as an array of floats; ``None`` for what holds texts, truth values or other things
    than real numbers, or masked entries. With ``truth_values`` these are zeros and ones.

    >>> float_array([1, 2]), float_array(["1", "2"])
    (array([1., 2.]), None)
    """
    try:
        # Nothing is masked where the module that masks was never loaded; to load it takes time.
        if "numpy.ma" in sys.modules and np.ma.is_masked(values):
            return None
        array = np.array(values)
        if array.dtype.kind not in ("biufO" if truth_values else "iufO"):
            return None
        refused = (str, bytes) if truth_values else (str, bytes, bool, np.bool_)
        if not isinstance(values, np.ndarray) or array.dtype.kind == "O":
            whole = np.array(values, dtype=object)
            if any(isinstance(v, refused) for v in whole.flat):
                return None
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
