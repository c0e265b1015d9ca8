"""Labels and the values that match them, what is done with others, and which of them are quoted."""

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

from ..errors import DataError, InputError, check_choice, quote
from ..labels import Label, excel_safe_cell, listing, near_miss, parse_labels, tidy
from ..tables.counting import MISSING_TEXT, is_missing

ABSENT = -1

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

    @property
    def sure_texts(self) -> dict[str, int]:
        """Texts that certainly are labels, with their positions."""
        if self.texts:
            return self._texts
        return {x: i for i, x in enumerate(self.labels) if type(x) is str}

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
