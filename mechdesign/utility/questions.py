"""What is asked about the frequencies of symbols: weighted sums of them, with names.

A question is a matrix ``V`` of shape ``(N, F)``: answer f is Σ_x V[x, f] p_x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UtilityError
from ..labels import Label, distinct, values_at
from ..schema import Schema, attribute_values

Array = NDArray[np.float64]
#: Sizes of coefficients of questions and of weights, so that no square leaves the floats.
SMALLEST, LARGEST = 1e-60, 1e60


@dataclass(frozen=True)
class Question:
    """Names of the answers, and the weights ``(N, F)`` of each symbol in each."""

    labels: tuple[Label, ...]
    weights: Array

    @cached_property
    def origin(self) -> Array:
        """``(F,)`` numbers amid the weights of each answer, from which they are measured: of
        numbers far from zero squares lose what tells them apart.
        """
        return middle_of(self.weights)

    @cached_property
    def centred(self) -> Array:
        """``(N, F)`` weights less their origin, which take that off the answers."""
        return self.weights - self.origin


def middle_of(weights: Array) -> Array:
    """The middle of what weights are between, of each column."""
    return np.asarray((weights.min(axis=0) + weights.max(axis=0)) / 2)


def check_sizes(weights: Array) -> None:
    """Raise :class:`UtilityError` for coefficients whose squares would leave the floats."""
    sizes = np.abs(weights[weights != 0])
    if sizes.size and not (sizes.min() >= SMALLEST and sizes.max() <= LARGEST):
        raise UtilityError(
            "questions of an estimation",
            expected=f"coefficients of zero, or of size {SMALLEST:g} to {LARGEST:g}",
            got=f"{sizes.min():.3g} to {sizes.max():.3g}",
            remedy="multiply them by a constant",
        )


def feature_question(
    feature: Mapping[Any, Any] | Callable[[Any], Any] | str,
    symbols: Sequence[Label],
    schema: Schema | None = None,
) -> Question:
    """The mean of a feature whose values are numbers, else the share of each of its values.

    The name of a column that the symbols are made of asks for the share of each of its values.
    Raises :class:`InputError` for what is no feature, :class:`DataError` for unusable values.
    """
    if isinstance(feature, str):
        return _shares(attribute_values((feature,), schema, symbols, DataError))
    if not callable(feature) and not isinstance(feature, Mapping):
        raise InputError(
            "feature",
            expected="a function of an input, a mapping from inputs to values, or a column name",
            got=type(feature).__name__,
            remedy="pass for example {'a': 1, 'b': 0}",
        )
    values = values_at(feature, symbols, DataError)
    numbers = (int, float, Fraction, Decimal)
    if all(isinstance(v, numbers) and not isinstance(v, bool) for v in values):
        found = np.array(values, dtype=float)
        if not bool(np.isfinite(found).all()):
            raise DataError(
                "feature",
                expected="finite numbers",
                got=str(values),
                remedy="give every input a finite value",
            )
        return Question(("mean",), found[:, None])
    return _shares(values)


def _shares(values: list[Label]) -> Question:
    groups = distinct(values, DataError)
    return Question(tuple(groups), np.array([[v == g for g in groups] for v in values], float))
