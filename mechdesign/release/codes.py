"""From values to positions among labels: the one place where values of tables are understood.

Whatever a table holds comes here as an Arrow array, a NumPy vector or a list, and leaves as
integers: the position of an input of the mechanism for each row, or :data:`ABSENT`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins import Bins
from ..errors import DataError, InputError, UnknownNameError, asked_by, quote
from ..labels import Label, excel_safe_cell, listing, near_miss, parse_labels, tidy
from ..tables.counting import MISSING_TEXT, dictionary_places, distinct_values, is_missing
from ..tables.frames import listed_values
from ..tables.parts import ROWS, parts_of, side_by_side

ABSENT = -1
#: What is done with values that are no inputs, in Python and at the command line.
KEPT_OR_REPLACED = ("missing='keep' or 'replace'", "--missing keep or replace")
NULL_OR_REPLACED = ("unseen='null' or 'replace'", "--unseen null or replace")
# A column of shorter chunks than that, in the mean, is read as one.
_SHORT = 1 << 10

_SHOWN: ContextVar[bool] = ContextVar("mechdesign_shown_values", default=False)


@contextmanager
def show_values() -> Iterator[None]:
    """Let messages quote values of the data, which are secrets, while this lasts.

    Without it they quote labels of the mechanism only, and say how many other values there are and
    in which rows: what is raised ends in logs, those of a cluster among them.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> with md.show_values():
    ...     md.Sampler(flip).draw(["perhaps"])
    Traceback (most recent call last):
    mechdesign.errors.DataError: symbols: expected inputs of the mechanism 'no', 'yes', got
    'perhaps'; correct them, or design for them.
    """
    token = _SHOWN.set(True)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def may_quote() -> bool:
    """Whether messages may quote values of the data."""
    return _SHOWN.get()


def cell_text(label: Label) -> str:
    """How a label is written in a cell of a text file: tuples as JSON lists.

    >>> cell_text("a"), cell_text(3), cell_text(("a", 1))
    ('a', '3', '["a", 1]')
    """
    if isinstance(label, tuple):
        return json.dumps(label, default=str, ensure_ascii=False)
    return str(label)


def is_blank(value: Any, *, texts: bool) -> bool:
    """Whether a value is missing; so are some words in a cell of a text file."""
    return is_missing(value) or (
        texts and isinstance(value, str) and value.strip().lower() in MISSING_TEXT
    )


class Codebook:
    """Positions of labels, looked up by value or by their text.

    Numbers match by value (1.0 is 1), but text never matches a number nor ``True`` a 1, unless
    ``texts`` says that the values were read from a text file. Dates, times and decimals are known
    as text, too, and a day by its midnight, as frames that were read from text have them. What is
    missing has the place of the label ``None``, where there is one.
    """

    def __init__(self, labels: Sequence[Label], what: str, *, texts: bool = False) -> None:
        self.labels, self.what, self.texts = tuple(labels), what, texts
        self._places = {_key(label): i for i, label in enumerate(self.labels)}
        # Only looked at where cells are text; of many labels it takes a while.
        self._texts = {cell_text(label): i for i, label in enumerate(self.labels if texts else ())}
        if texts and len(self._texts) < len(self.labels):
            raise DataError(
                what,
                expected="labels that are distinct as text",
                got=f"{listing(self.labels)}, two of which are written alike",
                remedy="relabel them, or use a data frame in Python, where types tell them apart",
            )

    def place(self, value: Any) -> int:
        """Position of a value, or :data:`ABSENT`."""
        found = self._place(value)
        if found == ABSENT and self._has_written:
            found = self._as_written(value)
        if found == ABSENT and self.has_missing and self.is_blank(value):
            return self._places[None]
        return found

    @property
    def has_missing(self) -> bool:
        """Whether one of the labels, ``None``, stands for missing values."""
        return None in self._places

    def _place(self, value: Any) -> int:
        if self.texts and isinstance(value, str):
            text = value.strip()
            found = self._texts.get(value, self._texts.get(text, ABSENT))
            if found == ABSENT:
                found = self._places.get(_key(parse_labels([text])[0]), ABSENT)
            if found == ABSENT and value.startswith("'") and excel_safe_cell(value[1:]) == value:
                # The file was written for spreadsheets.
                found = self._texts.get(value[1:], ABSENT)
            return found
        try:
            return self._places.get(_key(tidy(value)), ABSENT)
        except TypeError:
            return ABSENT

    @cached_property
    def _has_written(self) -> bool:
        """Whether some label is one that readers of text leave as text, or as another number."""
        return any(isinstance(label, (date, time, Decimal)) for label in self.labels)

    def _as_written(self, value: Any) -> int:
        """Position of the label that a text, or a number or time of another type, is."""
        places = (self._places.get(meant, ABSENT) for meant in _meanings(value))
        return next((place for place in places if place != ABSENT), ABSENT)

    def texts_of_labels(self) -> dict[str, int]:
        """Texts that certainly are labels, with their positions, in that order."""
        if self.texts:
            return self._texts
        return {x: i for i, x in enumerate(self.labels) if isinstance(x, str)}

    def places(self, values: Sequence[Any]) -> NDArray[Any]:
        """Positions of several values."""
        return np.fromiter(map(self.place, values), dtype=np.int64, count=len(values))

    def is_blank(self, value: Any) -> bool:
        """Whether a value is missing; so are some words in a cell of a text file."""
        return is_blank(value, texts=self.texts)

    def refuse(
        self,
        subject: str,
        unseen: Sequence[Any],
        remedy: str,
        where: str = "",
        *,
        own: bool = False,
    ) -> DataError:
        """The error for values that no label matches.

        Values of the data are secrets and are counted, not quoted, unless :func:`show_values` says
        so. ``own`` is for what the user wrote, ``where`` for the rows.
        """
        quoted = own or _SHOWN.get()
        cause = near_miss(unseen, self.labels)
        if cause:
            remedy = f"{cause}: {remedy}"
            # The label that a value is like, and the row that has it, would tell a secret.
            where = where.partition(", first in row")[0]
        if not quoted:
            remedy += "; --show-values (md.show_values()) quotes them"
        kinds = {type(tidy(value)).__name__ for value in unseen}
        types = {type(label).__name__ for label in self.labels}
        if kinds.isdisjoint(types) and not self.texts and not (kinds | types) <= {"int", "float"}:
            asked = " or ".join(sorted(types))
            return DataError(
                subject,
                expected=f"{self.what} of type {asked}: {listing(self.labels)}",
                got=f"values of type {' or '.join(sorted(kinds))}"
                + (f": {listing(unseen)}" if quoted else where),
                remedy="convert the column to the type of the labels",
            )
        return DataError(
            subject,
            expected=f"{self.what} {listing(self.labels)}",
            got=listing(unseen)
            if quoted
            else f"{len(unseen)} other value{'s' if len(unseen) > 1 else ''}{where}",
            remedy=remedy,
        )


def _meanings(value: Any) -> Iterator[Label]:
    """What dates, times and decimals a value may stand for that is of another type."""
    value = tidy(value)
    text = value.strip() if isinstance(value, str) else ""
    for read in (datetime.fromisoformat, time.fromisoformat, Decimal):
        with suppress(ValueError, ArithmeticError):
            found = tidy(read(text))
            if not isinstance(found, Decimal) or found.is_finite():
                yield found
            if isinstance(found, datetime):
                value = found
    if isinstance(value, float):
        yield Decimal(str(value))
    elif isinstance(value, datetime) and value.time() == time.min and value.tzinfo is None:
        yield value.date()
    elif isinstance(value, date) and not isinstance(value, datetime):
        yield datetime(value.year, value.month, value.day)


def _key(label: Label) -> Any:
    return (bool, label) if isinstance(label, bool) else label


def check_choice(what: str, value: Any, known: Sequence[str]) -> None:
    """Raise :class:`UnknownNameError` for an option that is none of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(what, value, known)


@dataclass(frozen=True)
class Policy:
    """What happens to values that are no inputs of the mechanism.

    ``missing``: nulls and NaN, unless the mechanism has a null input; ``unseen``: other values.
    What stays null tells everybody which rows had no usable value, which no notion covers.
    """

    missing: str = "error"
    unseen: str = "error"
    replacement: Any = None

    def check(self, codebook: Codebook) -> None:
        """Raise :class:`InputError` for policies that do not exist or do not fit together."""
        check_choice("policy for missing values", self.missing, ("error", "keep", "replace"))
        check_choice("policy for unseen values", self.unseen, ("error", "null", "replace"))
        asked = "replace" in (self.missing, self.unseen)
        if asked and self.replacement is None and codebook.place(None) == ABSENT:
            raise InputError(
                "replacement",
                expected="the input that stands in for other values",
                got="none",
                remedy="name one of " + listing(codebook.labels),
            )
        if asked and codebook.place(self.replacement) == ABSENT:
            raise codebook.refuse(
                "replacement",
                [self.replacement],
                "name the input that stands in for others",
                own=True,
            )
        if not asked and self.replacement is not None:
            raise InputError(
                "replacement",
                expected="missing='replace' or unseen='replace' with it",
                got=f"{quote(self.replacement)} alone",
                remedy="say what it should replace",
            )


class Encoder:
    """Values of a column as positions of inputs, by a policy.

    Parameters
    ----------
    column : name of the column, for errors
    inputs : labels of the mechanism
    policy : what happens to values that are none of them
    texts : whether cells were read from a text file, so that labels are matched by their text

    Attributes
    ----------
    bins : what numbers the inputs stand for, ``None`` where they are values themselves
    """

    bins: Bins | None = None

    def __init__(
        self, column: Any, inputs: Sequence[Label], policy: Policy, *, texts: bool = False
    ) -> None:
        self.column, self.policy = column, policy
        self.book = Codebook(inputs, "inputs of the mechanism", texts=texts)
        policy.check(self.book)
        self._last: tuple[Any, ...] = (None,)

    def encode(self, values: Any, first: int = 0) -> NDArray[Any]:
        """Input positions, and :data:`ABSENT` for rows whose report is null.

        Parameters
        ----------
        values : pyarrow Array or ChunkedArray, NumPy vector, or list of values of any types
        first : number of rows that came before, for errors

        Raises
        ------
        DataError
            For missing or unseen values that the policy refuses, and for values that are no labels.
        """
        if (found := self._encode_parts(values)) is not None:
            return found
        distinct, places = distinct_values(values, self.column)
        return self.look_up(distinct, places, first)

    def _encode_parts(self, values: Any) -> NDArray[Any] | None:
        """:meth:`encode` of text and dictionaries by parts, several at once.

        ``None`` for others, and where a value may be one that the policy refuses, of which all
        rows are told.
        """
        parts = _coded_or_text(values)
        if parts is None:
            return None
        out = np.empty(len(values), dtype=self._kind)
        ends = np.cumsum([len(part) for part in parts])

        def encode(number: int) -> bool:
            part = parts[number]
            codes = self._codes_of(part)
            if codes is not None:
                out[ends[number] - len(part) : ends[number]] = codes
            return codes is not None

        return out if all(side_by_side(encode, range(len(parts)))) else None

    def _codes_of(self, part: Any) -> NDArray[Any] | None:
        """Codes of one Arrow array of text or of a dictionary."""
        import pyarrow as pa

        if not pa.types.is_dictionary(part.type):
            found = self._found(part)
            if found is not None and not found.null_count:
                return self._text_codes.take(found.to_numpy())
            part = part.dictionary_encode()
        codes, refused = self._table_of(part.dictionary)
        if refused[:-1].any() or (refused[-1] and part.null_count):
            return None
        return codes.take(dictionary_places(part))

    def _table_of(self, dictionary: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The codes of the values of a dictionary and of null, and which of them are refused.

        Those of the last dictionary are kept, as the parts of a column have the same.
        """
        known, *found = self._last
        if known is None or not known.equals(dictionary):
            codes, kind = self._decided([*map(tidy, listed_values(dictionary, self.column)), None])
            found = [codes, self._refused(kind)]
            self._last = (dictionary, *found)
        return found[0], found[1]

    def __getstate__(self) -> dict[str, Any]:
        # Values of the data go nowhere.
        return {**self.__dict__, "_last": (None,)}

    def _found(self, part: Any) -> Any:
        """The place of each text among those of labels, null for others; ``None`` where Arrow
        does not look such texts up.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(self._text_codes) or self.bins is not None or "_view" in str(part.type):
            return None
        return pc.index_in(part, value_set=pa.array(self._texts, type=part.type))

    @cached_property
    def _texts(self) -> list[str]:
        return list(self.book.texts_of_labels())

    @cached_property
    def _text_codes(self) -> NDArray[Any]:
        return np.array([*self.book.texts_of_labels().values()], dtype=self._kind)

    @property
    def _kind(self) -> np.dtype[Any]:
        """The narrowest type of integers that holds all codes."""
        return np.min_scalar_type(-max(len(self.book.labels), 1))

    def places(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Positions of several values, whatever the policy is."""
        return self.book.places(values)

    def positions(
        self, values: Any, distinct: Sequence[Any], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Positions of the rows of a column, whatever the policy is, with its distinct values.

        A place behind the last value is that of null.
        """
        return self.places([*map(tidy, distinct), None])[places]

    def is_blank(self, value: Any) -> bool:
        """Whether a value is missing."""
        return self.book.is_blank(value)

    def refuse(self, unseen: Sequence[Any], remedy: str, where: str) -> DataError:
        """The error for values that are no inputs."""
        return self.book.refuse(f"column {self.column!r}", unseen, remedy, where)

    def look_up(
        self, distinct: Sequence[Any], places: NDArray[Any], first: int = 0
    ) -> NDArray[Any]:
        """:meth:`encode` for distinct values and the place of each row among them.

        A place behind the last value is that of null.
        """
        values = [*map(tidy, distinct), None]
        codes, kind = self._decided(values)
        if kind[:-1].any() or (len(places) and places.max() == len(kind) - 1):
            self._refuse_others(values, kind, places, first)
        return codes.take(places)

    def _decided(self, values: list[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The code of each value by the policy, and whether it is an input (0), missing (1) or
        unseen (2).
        """
        codes = self.places(values).astype(self._kind)
        missing = np.array([self.is_blank(value) for value in values])
        kind = np.where(codes != ABSENT, 0, np.where(missing, 1, 2))
        self._replace(codes, kind)
        return codes, kind

    def _refused(self, kind: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which kinds the policy refuses."""
        missing = (kind == 1) & (self.policy.missing == "error")
        return missing | (kind == 2) & (self.policy.unseen == "error")

    def _apply(
        self,
        values: list[Any],
        kind: NDArray[Any],
        codes: NDArray[Any],
        places: NDArray[Any],
        first: int,
    ) -> None:
        """Apply the policy to the values that are missing (1) or unseen (2) and do occur."""
        self._refuse_others(values, kind, places, first)
        self._replace(codes, kind)

    def _refuse_others(
        self, values: list[Any], kind: NDArray[Any], places: NDArray[Any], first: int
    ) -> None:
        """Raise an error for values that the policy refuses and that do occur."""
        counts = np.bincount(places, minlength=len(kind))
        blank = int(counts[kind == 1].sum())
        if blank and self.policy.missing == "error":
            raise DataError(
                f"column {self.column!r}",
                expected="no missing values",
                got=f"{blank} in the {first + len(places)} rows read",
                remedy=f"fill them in, or choose {asked_by(*KEPT_OR_REPLACED)}",
            )
        unseen = [v for v, k, c in zip(values, kind, counts, strict=True) if k == 2 and c]
        if unseen and self.policy.unseen == "error":
            rows = np.flatnonzero((kind == 2)[places])
            raise self.refuse(
                unseen,
                f"correct them, or choose {asked_by(*NULL_OR_REPLACED)}",
                rows_told(rows, first, len(places)),
            )

    def _replace(self, codes: NDArray[Any], kind: NDArray[Any]) -> None:
        """Put the code that stands in for others in their place, by the policy."""
        stand_in = self.book.place(self.policy.replacement)
        if self.policy.missing == "replace":
            codes[kind == 1] = stand_in
        if self.policy.unseen == "replace":
            codes[kind == 2] = stand_in


def rows_told(rows: NDArray[Any], first: int, length: int) -> str:
    """Where a part of a table has what is refused: in how many rows of those read, which are
    ``first`` rows before it, none of them refused, and its ``length``.

    >>> rows_told(np.array([2, 4]), 10, 8)
    ' in 2 of the 18 rows read, first in row 13'
    """
    read, place = first + length, first + int(rows[0]) + 1
    return f" in {len(rows)} of the {read} rows read, first in row {place}"


class StrataEncoder:
    """Strata and values as positions of inputs that are pairs (stratum, symbol), in that order.

    Parameters
    ----------
    column : name of the column of strata, for errors
    inputs : labels of a mechanism: every pair of a stratum and a symbol
    texts : whether cells were read from a text file

    Attributes
    ----------
    symbols : the symbols, which the values of the other column are
    """

    def __init__(self, column: Any, inputs: Sequence[Label], *, texts: bool = False) -> None:
        pairs = [label for label in inputs if isinstance(label, tuple) and len(label) == 2]
        strata = tuple(dict.fromkeys(pair[0] for pair in pairs))
        self.symbols = tuple(dict.fromkeys(pair[1] for pair in pairs))
        if tuple(inputs) != tuple((s, x) for s in strata for x in self.symbols):
            raise DataError(
                f"mechanism for strata of {quote(column)}",
                expected="inputs that are all pairs of a stratum and a symbol",
                got=listing(inputs),
                remedy="take md.pram(..., strata=).released, or leave strata= out",
            )
        self.encoder = Encoder(column, strata, Policy(), texts=texts)

    def pairs(self, strata: Any, codes: NDArray[Any], first: int = 0) -> NDArray[Any]:
        """Positions of the pairs for positions of their symbols; :data:`ABSENT` stays.

        Raises :class:`DataError` for a stratum that is missing or that the mechanism has not.
        """
        found = self.encoder.encode(strata, first).astype(np.int64) * len(self.symbols) + codes
        return np.where(codes == ABSENT, ABSENT, found)


def _coded_or_text(values: Any) -> list[Any] | None:
    """Parts of an Arrow column of text or of a dictionary; ``None`` for other columns, and for
    columns of very short chunks.
    """
    if not hasattr(values, "dictionary_encode"):
        return None
    import pyarrow as pa

    kind = values.type
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    if not (any(is_kind(kind) for is_kind in texts) or str(kind) == "string_view"):
        return None
    chunks = getattr(values, "chunks", [values])
    if len(chunks) > 1 + len(values) // _SHORT:
        return None
    return [chunk[part] for chunk in chunks for part in parts_of(len(chunk), ROWS)]
