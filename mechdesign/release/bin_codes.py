"""From numbers and dates to positions among labels: columns whose symbols are bins.

The values of a column are understood by their bins as they come, whatever the table is: in the
type that they have there, or in the cells of a text file as tables read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins import MISSING, OUTSIDE, Bins
from ..errors import DataError
from ..labels import Label, listing, tidy
from ..tables.frames import listed_values
from .codes import ABSENT, Encoder, Policy, may_quote


def bins_of(kernel: Any) -> Bins | None:
    """What numbers the inputs of a kernel of one column stand for, where it knows it."""
    schema = getattr(kernel, "schema", None)
    found: Bins | None = schema.bins[0] if schema is not None and len(schema) == 1 else None
    return found


def encoder_of(
    column: Any,
    inputs: Sequence[Label],
    policy: Policy,
    *,
    texts: bool = False,
    bins: Bins | None = None,
) -> Encoder:
    """What makes positions of the values of a column: of labels, or of numbers by bins."""
    if bins is None:
        return Encoder(column, inputs, policy, texts=texts)
    return BinEncoder(column, inputs, policy, bins, texts=texts)


class BinEncoder(Encoder):
    """Numbers of a column as positions of the inputs that their bins name.

    A value that is an input itself, such as ``"20 to 29"`` or ``None``, is taken as that.

    Parameters
    ----------
    column, inputs, policy, texts : as for :class:`Encoder`
    bins : what numbers the inputs stand for
    """

    bins: Bins

    def __init__(
        self,
        column: Any,
        inputs: Sequence[Label],
        policy: Policy,
        bins: Bins,
        *,
        texts: bool = False,
    ) -> None:
        super().__init__(column, inputs, policy, texts=texts)
        self.bins = bins
        # Of each bin, of a missing number and of one in no bin, which codes -1 and -2 find.
        self._inputs = np.array(
            [*self.book.places(bins.labels), ABSENT, self.book.place(None)], dtype=np.int64
        )

    def encode(self, values: Any, first: int = 0) -> NDArray[np.int64]:
        """As :meth:`Encoder.encode`, by the type that the numbers have."""
        found = self._numbers(values)
        if found is None:
            return super().encode(values, first)
        numbers, codes = found
        kind = np.where(codes == MISSING, 1, np.where(codes == OUTSIDE, 2, 0))
        kind[self._inputs[codes] != ABSENT] = 0
        if not kind.any():
            return self._inputs[codes]
        # The policy is asked about null, and about each value that lies in no bin.
        rows = np.flatnonzero(kind == 2)
        _, one, which = np.unique(numbers[rows], return_index=True, return_inverse=True)
        some = rows[one]
        met = values.take(some) if hasattr(values, "take") else [values[i] for i in some.tolist()]
        others = [*map(tidy, listed_values(met))]
        places = kind.copy()
        places[rows] += which
        kinds = np.array([0, 1, *[2] * len(others)])
        table = np.full(len(kinds), ABSENT, dtype=np.int64)
        self._apply([None, None, *others], kinds, table, places, first)
        return np.where(kind == 0, self._inputs[codes], table[places])

    def positions(
        self, values: Any, distinct: Sequence[Any], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """As :meth:`Encoder.positions`, by the type that the numbers have."""
        found = self._numbers(values)
        if found is None:
            return super().positions(values, distinct, places)
        return self._inputs[found[1]]

    def _numbers(self, values: Any) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Numbers of one type with their bins; ``None`` for a column of anything else."""
        found = self.bins.plain(values)
        return None if found is None else (found[0], self.bins.codes(values))

    def places(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Positions of several values, whatever the policy is."""
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        texts = self.book.texts
        codes = self.bins.codes(objects, texts=texts)
        found = self._inputs[codes]
        for i in np.flatnonzero(codes == OUTSIDE).tolist():
            # A number is never meant as a label.
            number = self.bins.number(values[i], texts=texts)
            is_number = texts and isinstance(number, (int, float, Fraction))
            found[i] = ABSENT if is_number else self.book.place(values[i])
        return found

    def is_blank(self, value: Any) -> bool:
        """Whether a value is missing, a decimal NaN too."""
        return super().is_blank(value) or (isinstance(value, Decimal) and value.is_nan())

    def refuse(self, unseen: Sequence[Any], remedy: str, where: str) -> DataError:
        """The error for values that lie in no bin."""
        kinds = sorted({type(tidy(value)).__name__ for value in unseen})
        count = f"{len(unseen)} other value{'s' if len(unseen) > 1 else ''}"
        if not may_quote():
            remedy += "; --show-values (md.show_values()) quotes them"
        return DataError(
            f"column {self.column!r}",
            expected=f"{self.bins.reach}, for the bins {listing(self.bins.labels)}",
            got=listing(unseen) if may_quote() else f"{count} of type {' or '.join(kinds)}{where}",
            remedy=remedy,
        )
