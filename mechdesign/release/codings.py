"""Codings: by what columns are read as positions of inputs, as names, numbers in bins or points.

Whatever a table holds comes here as an Arrow array, a NumPy vector or a list, and leaves as
integers: the position of an input of the kernel for each row, :data:`MISSING` or :data:`OUTSIDE`.
What is done with the latter is decided by a policy, in one place.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins import MISSING, OUTSIDE, Bins
from ..errors import DataError, asked_by, quote
from ..labels import Label, listing, tidy
from ..place_sets import PlaceSet, degrees
from ..tables.counting import distinct_values
from ..tables.parts import ROWS, parts_of, side_by_side
from .codes import ABSENT, Codebook, Policy, may_quote

#: Reads a column of a table by its name, as an Arrow array, a NumPy vector or a list.
Reader = Callable[[Any], Any]

# What is done with values that are no inputs, in Python and at the command line.
_KEPT_OR_REPLACED = ("missing='keep' or 'replace'", "--missing keep or replace")
_NULL_OR_REPLACED = ("unseen='null' or 'replace'", "--unseen null or replace")


class Coding(ABC):
    """By what the rows of some columns are read as positions of inputs.

    Parameters
    ----------
    columns : names of those that are read
    labels : of the inputs
    policy : what happens to rows that have none
    texts : whether cells were read from a text file, so that labels are matched by their text

    Attributes
    ----------
    book : of the labels that the policy names
    size : number of inputs
    told : what tells codings of the same columns and inputs apart, in plain values
    """

    told: Any = None

    def __init__(
        self,
        columns: Sequence[Any],
        labels: Sequence[Label],
        policy: Policy,
        *,
        texts: bool = False,
    ) -> None:
        self.columns, self.policy = tuple(columns), policy
        self.book = Codebook(labels, "inputs of the mechanism", texts=texts)
        policy.check(self.book)
        self.size = len(self.book.labels)

    @abstractmethod
    def places(self, read: Reader) -> NDArray[Any]:
        """Positions of inputs for the rows of a part of a table, :data:`MISSING` for missing values
        and :data:`OUTSIDE` for others; ``read`` gives a column by its name.
        """

    def codes(self, read: Reader, first: int = 0) -> NDArray[Any]:
        """Positions of inputs by the policy, and :data:`ABSENT` for rows whose report is null.

        ``first`` is the number of rows that came before. Raises :class:`DataError` for missing or
        unseen values that the policy refuses, and for values that can be no labels.
        """
        found = self.places(read)
        if not len(found) or found.min() >= 0:
            return found
        policy, stand_in = self.policy, self.book.place(self.policy.replacement)
        self.refuse(read, found, first)
        for kind, chosen in ((MISSING, policy.missing), (OUTSIDE, policy.unseen)):
            found[found == kind] = stand_in if chosen == "replace" else ABSENT
        return found

    def refuse(self, read: Reader, found: NDArray[Any], first: int) -> None:
        """Raise :class:`DataError` for rows that the policy refuses."""
        missing, unseen = (np.flatnonzero(found == kind) for kind in (MISSING, OUTSIDE))
        if len(missing) and self.policy.missing == "error":
            raise DataError(
                self.subject,
                expected="no missing values",
                got=f"{len(missing)} in the {first + len(found)} rows read",
                remedy=f"fill them in, or choose {asked_by(*_KEPT_OR_REPLACED)}",
            )
        if len(unseen) and self.policy.unseen == "error":
            raise self.unseen(read, unseen, rows_told(unseen, first, len(found)))

    @property
    def subject(self) -> str:
        """What errors are about."""
        one = len(self.columns) == 1
        return f"column {self.columns[0]!r}" if one else f"columns {joined(self.columns)}"

    @abstractmethod
    def unseen(self, read: Reader, rows: NDArray[np.intp], where: str) -> DataError:
        """The error for the values in these rows, which are no inputs."""

    def _inputs_of(self, labels: Sequence[Label]) -> NDArray[np.int64]:
        """Positions of these labels, behind them those of what is outside and of what is missing,
        so that codes of either kind find theirs.
        """
        places = self.book.places(labels)
        return np.array([*np.where(places == ABSENT, OUTSIDE, places), OUTSIDE, self._missing])

    @property
    def _missing(self) -> int:
        found = self.book.place(None)
        return MISSING if found == ABSENT else found


def joined(columns: Sequence[Any]) -> str:
    """What several columns are called together."""
    return ", ".join(map(str, columns))


def rows_told(rows: NDArray[Any], first: int, length: int) -> str:
    """Where a part of a table has what is refused: in how many rows of those read, which are
    ``first`` rows before it, none of them refused, and its ``length``.

    >>> rows_told(np.array([2, 4]), 10, 8)
    ' in 2 of the 18 rows read, first in row 13'
    """
    read, place = first + length, first + int(rows[0]) + 1
    return f" in {len(rows)} of the {read} rows read, first in row {place}"


# One column


class Names(Coding):
    """Values of a column that are the labels of inputs themselves."""

    def places(self, read: Reader) -> NDArray[Any]:
        """Places of inputs for the rows, see :meth:`Coding.places`."""
        values = read(self.columns[0])
        found = np.empty(len(values), dtype=self._kind)

        def place(part: slice) -> None:
            sure = self._sure_places(values[part])
            if sure is None:
                distinct, places = distinct_values(values[part], self.columns[0])
                sure = self._table_of(distinct).take(places)
            found[part] = sure

        for _ in side_by_side(place, parts_of(len(values), ROWS)):
            pass
        return found

    @property
    def _kind(self) -> np.dtype[Any]:
        """The narrowest type of integers that holds all places."""
        return np.min_scalar_type(-max(self.size, -OUTSIDE))

    def _sure_places(self, values: Any) -> NDArray[Any] | None:
        """Places of a column of text where each value is the text of a label, else ``None``: much
        faster than to find what is distinct.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        kind, (texts, places) = getattr(values, "type", None), self._texts
        if not texts or kind not in (pa.string(), pa.large_string()):
            return None
        found = pc.index_in(values, value_set=pa.array(texts, type=kind))
        return None if found.null_count else places.take(found.to_numpy())

    @cached_property
    def _texts(self) -> tuple[list[str], NDArray[Any]]:
        """Texts that certainly are labels, and their places."""
        known = self.book.sure_texts
        return [*known], np.array([*known.values()], dtype=self._kind)

    def _table_of(self, distinct: Sequence[Any]) -> NDArray[Any]:
        """The places of distinct values, and behind them that of null."""
        return self.places_among([*map(tidy, distinct), None]).astype(self._kind)

    def places_among(self, values: Sequence[Any]) -> NDArray[Any]:
        """Places of several values."""
        found = self.book.places(values)
        for i in np.flatnonzero(found == ABSENT).tolist():
            found[i] = MISSING if self.book.is_blank(values[i]) else OUTSIDE
        return found

    def unseen(self, read: Reader, rows: NDArray[np.intp], where: str) -> DataError:
        """The error for values that are no inputs."""
        values, places = distinct_values(read(self.columns[0]))
        others = [tidy(values[k]) for k in dict.fromkeys(places[rows].tolist())]
        return self._refusal(
            others, f"correct them, or choose {asked_by(*_NULL_OR_REPLACED)}", where
        )

    def _refusal(self, unseen: Sequence[Any], remedy: str, where: str) -> DataError:
        return self.book.refuse(self.subject, unseen, remedy, where)


class Binned(Names):
    """Numbers and dates of a column as the inputs that their bins name.

    They are understood as they come, in the type that they have or in the cells of a text file. A
    value that is an input itself, such as ``"20 to 29"`` or ``None``, is taken as that.
    """

    def __init__(
        self,
        column: Any,
        labels: Sequence[Label],
        policy: Policy,
        bins: Bins,
        *,
        texts: bool = False,
    ) -> None:
        super().__init__([column], labels, policy, texts=texts)
        self._texts = [], np.empty(0)  # what a text is depends on the bins
        self.bins = bins
        self._inputs = self._inputs_of(bins.labels)
        self.told = [bins.of, bins.edges, bins.closed, bins.whole, bins.labels]

    def places(self, read: Reader) -> NDArray[Any]:
        """Places of inputs for the rows, see :meth:`Coding.places`."""
        values = read(self.columns[0])
        if self.bins.plain(values) is None:
            return super().places(lambda _: values)
        return self._inputs[self.bins.codes(values)]

    def places_among(self, values: Sequence[Any]) -> NDArray[Any]:
        """Places of several values."""
        objects, texts = np.empty(len(values), dtype=object), self.book.texts
        objects[:] = values
        codes = self.bins.codes(objects, texts=texts)
        found, others = self._inputs[codes], np.flatnonzero(codes == OUTSIDE).tolist()
        if texts:  # a number is never meant as a label
            numbers = (int, float, Fraction)
            others = [
                i
                for i in others
                if not isinstance(self.bins.number(values[i], texts=True), numbers)
            ]
        found[others] = super().places_among([values[i] for i in others])
        return found

    def _refusal(self, unseen: Sequence[Any], remedy: str, where: str) -> DataError:
        kinds = sorted({type(value).__name__ for value in unseen})
        count = f"{len(unseen)} other value{'s' if len(unseen) > 1 else ''}"
        if not may_quote():
            remedy += "; --show-values (md.show_values()) quotes them"
        return DataError(
            self.subject,
            expected=f"{self.bins.reach}, for the bins {listing(self.bins.labels)}",
            got=listing(unseen) if may_quote() else f"{count} of type {' or '.join(kinds)}{where}",
            remedy=remedy,
        )


# Several columns


class Tuples(Coding):
    """Rows of several columns, each read by a coding of its own, as inputs that are tuples."""

    def __init__(
        self,
        columns: Sequence[Any],
        labels: Sequence[Label],
        policy: Policy,
        bins: Sequence[Bins | None],
        *,
        texts: bool = False,
    ) -> None:
        super().__init__(columns, labels, policy, texts=texts)
        values = values_of(labels, len(columns))
        # What is done with values that are missing or none of these is decided for whole rows.
        kept = Policy(
            "error" if policy.missing == "error" else "keep",
            "error" if policy.unseen == "error" else "null",
        )
        self.parts = [
            _of_column(column, own, kept, of, texts=texts)
            for column, own, of in zip(columns, values, bins, strict=True)
        ]
        self._known = Combinations(values, labels)
        self.told = [part.told for part in self.parts]

    def places(self, read: Reader) -> NDArray[Any]:
        """Places of inputs for the rows, see :meth:`Coding.places`."""
        parts = [part.places(read) for part in self.parts]
        found = self._known.places(parts)
        if len(found) and found.min() < 0:
            found[found == ABSENT] = OUTSIDE
            found[np.logical_or.reduce([part == MISSING for part in parts])] = MISSING
        return found

    def refuse(self, read: Reader, found: NDArray[Any], first: int) -> None:
        """Of each column, and of the rows."""
        for part in self.parts:
            part.codes(read, first)
        super().refuse(read, found, first)

    def unseen(self, read: Reader, rows: NDArray[np.intp], where: str) -> DataError:
        """The error for values that are no inputs."""
        return unseen_combination(self.columns, where)


class Points(Coding):
    """A latitude and a longitude in each row, snapped to places.

    Points that belong to no place of the kernel are unseen values, points that lack a coordinate
    are missing ones.
    """

    def __init__(
        self,
        columns: Sequence[Any],
        labels: Sequence[Label],
        policy: Policy,
        among: PlaceSet,
        *,
        texts: bool = False,
    ) -> None:
        super().__init__(columns, labels, policy, texts=texts)
        self._set, self._inputs = among, self._inputs_of(among.labels)
        self.told = json.dumps(among.to_json(), sort_keys=True)

    def places(self, read: Reader) -> NDArray[Any]:
        """Places of inputs for the rows, see :meth:`Coding.places`."""
        lat, lon = (degrees(read(name), name, texts=self.book.texts) for name in self.columns)
        return self._inputs[self._set.snap(lat, lon)]

    def unseen(self, read: Reader, rows: NDArray[np.intp], where: str) -> DataError:
        """The error for values that are no inputs."""
        return DataError(
            self.subject,
            expected="points within the places of the design",
            got="points outside" + where,
            remedy="design for larger bounds or a larger reach, or choose "
            + asked_by(*_NULL_OR_REPLACED),
        )


class InStrata(Tuples):
    """A column whose symbols make inputs with those of a column of strata, which come first.

    Raises :class:`DataError` for a kernel whose inputs are not all pairs of a stratum and a symbol,
    and for a stratum that is missing or that it has not.
    """

    def __init__(
        self,
        column: Any,
        strata: Any,
        labels: Sequence[Label],
        policy: Policy,
        *,
        texts: bool = False,
    ) -> None:
        pairs = [label for label in labels if isinstance(label, tuple) and len(label) == 2]
        values = values_of(pairs, 2)
        if tuple(labels) != tuple(product(*values)):
            raise DataError(
                f"mechanism for strata of {quote(strata)}",
                expected="inputs that are all pairs of a stratum and a symbol",
                got=listing(labels),
                remedy="take md.pram(..., strata=).released, or leave strata= out",
            )
        self.columns, self.policy, self.size = (strata, column), policy, len(labels)
        secret = Names([column], values[1], policy, texts=texts)
        self.parts = [Names([strata], values[0], Policy(), texts=texts), secret]
        self.book, self._known = secret.book, Combinations(values, labels)

    def codes(self, read: Reader, first: int = 0) -> NDArray[Any]:
        """Positions of inputs: what is done with rows without one is decided for each column."""
        return self._known.places([part.codes(read, first) for part in self.parts])


def values_of(labels: Sequence[Any], count: int) -> list[tuple[Label, ...]]:
    """The values that each part of some tuples has."""
    return [tuple(dict.fromkeys(label[i] for label in labels)) for i in range(count)]


class Combinations:
    """Combinations of values of several columns by one number each, in mixed radix.

    Parameters
    ----------
    values : those of each column; a position among them that is negative stands for none
    known : the combinations that :meth:`places` finds
    """

    def __init__(self, values: Sequence[Sequence[Any]], known: Sequence[Any] = ()) -> None:
        self.sizes = [len(own) for own in values]
        if math.prod(size + 1 for size in self.sizes) >= 1 << 62:
            raise DataError(
                "columns",
                expected="fewer than 2**62 combinations of values",
                got="more",
                remedy="release some of the columns by themselves",
            )
        place = [{value: i for i, value in enumerate(own)} for own in values if known]
        numbers = [np.array([of.get(x[i], ABSENT) for x in known]) for i, of in enumerate(place)]
        self._known = self.join(numbers) if known else np.empty(0, np.int64)
        self._order = np.argsort(self._known)

    @property
    def told(self) -> list[int]:
        """The numbers of the known combinations."""
        return [int(number) for number in np.sort(self._known)]

    def join(self, parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """One number for the positions of each row; -1 where none of them is there."""
        found = np.zeros(len(parts[0]), dtype=np.int64)
        for size, part in zip(self.sizes, parts, strict=True):
            found = found * (size + 1) + (np.maximum(part, ABSENT).astype(np.int64) + 1)
        return np.where(found == 0, ABSENT, found)

    def split(self, codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The positions that :meth:`join` made the numbers of."""
        rest, parts = np.where(codes == ABSENT, 0, codes), []
        for size in reversed(self.sizes):
            rest, part = np.divmod(rest, size + 1)
            parts.append(part - 1)
        return parts[::-1]

    def places(self, parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """The place of each row among the known combinations, -1 for others."""
        codes, ordered = self.join(parts), self._known[self._order]
        at = np.searchsorted(ordered, codes).clip(max=len(ordered) - 1)
        return np.where(ordered[at] == codes, self._order[at], ABSENT)


def unseen_combination(columns: Sequence[Any], where: str) -> DataError:
    """The error for combinations of values that are no inputs, of which none is quoted."""
    return DataError(
        f"columns {joined(columns)}",
        expected="combinations of values that the design knows",
        got="others" + where,
        remedy="give every combination that can occur some mass in the prior and design again, or "
        f"choose {asked_by(*_NULL_OR_REPLACED)}",
    )


# Which coding


def coding_of(
    kernel: Any,
    columns: Sequence[Any],
    policy: Policy,
    *,
    texts: bool = False,
    strata: Any = None,
) -> Coding:
    """By what a kernel reads columns: its schema says where numbers are binned, points snapped.

    Parameters
    ----------
    strata : a column whose value, with that of the only other one, is the input
    """
    labels, schema = kernel.inputs, getattr(kernel, "schema", None)
    if strata is not None:
        return InStrata(columns[0], strata, labels, policy, texts=texts)
    if len(columns) == 1:
        bins = schema.bins[0] if schema is not None and len(schema) == 1 else None
        return _of_column(columns[0], labels, policy, bins, texts=texts)
    if not all(isinstance(x, tuple) and len(x) == len(columns) for x in labels):
        raise DataError(
            f"kernel for the columns {listing(columns)}",
            expected=f"inputs that are tuples of {len(columns)} values",
            got=listing(labels),
            remedy="design for these columns together: md.Prior.from_data(table, [...])",
        )
    if schema is not None and schema.places is not None:
        return Points(columns, labels, policy, schema.places, texts=texts)
    bins = (None,) * len(columns) if schema is None or len(schema) == 1 else schema.bins
    return Tuples(columns, labels, policy, bins, texts=texts)


def _of_column(
    column: Any, labels: Sequence[Label], policy: Policy, bins: Bins | None, *, texts: bool
) -> Names:
    if bins is None:
        return Names([column], labels, policy, texts=texts)
    return Binned(column, labels, policy, bins, texts=texts)
