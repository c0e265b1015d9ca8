"""Values of a column against the labels of a mechanism, and labels as text in files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..labels import Label, excel_safe_cell, listing, near_miss, parse_labels, tidy

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


def label_text(label: Label) -> str:
    """How a label is written in a text file: tuples as JSON lists.

    >>> label_text("a"), label_text(3), label_text(("a", 1))
    ('a', '3', '["a", 1]')
    """
    if isinstance(label, tuple):
        return json.dumps(label, default=str, ensure_ascii=False)
    return str(label)


class Codebook:
    """Positions of labels, looked up by value or by their text.

    Numbers match by value (1.0 is 1), but text never matches a number nor ``True`` a 1, unless
    ``texts`` says that the values were read from a text file.
    """

    def __init__(self, labels: Sequence[Label], what: str, *, texts: bool = False) -> None:
        self.labels, self.what, self.texts = tuple(labels), what, texts
        self._places = {_key(label): i for i, label in enumerate(self.labels)}
        self._texts = {label_text(label): i for i, label in enumerate(self.labels)}
        if texts and len(self._texts) < len(self.labels):
            raise DataError(
                what,
                expected="labels that are distinct as text",
                got=f"{listing(self.labels)}, two of which are written alike",
                remedy="relabel them, or use a data frame in Python, where types tell them apart",
            )

    def place(self, value: Any) -> int:
        """Position of a value, or :data:`ABSENT`."""
        if self.texts and isinstance(value, str):
            word = value.strip()
            found = self._texts.get(value, self._texts.get(word, ABSENT))
            if found == ABSENT:
                found = self._places.get(_key(parse_labels([word])[0]), ABSENT)
            if found == ABSENT and value.startswith("'") and excel_safe_cell(value[1:]) == value:
                # The file was written for spreadsheets.
                found = self._texts.get(value[1:], ABSENT)
            return found
        try:
            return self._places.get(_key(tidy(value)), ABSENT)
        except TypeError:
            return ABSENT

    def places(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Positions of several values."""
        return np.fromiter(map(self.place, values), dtype=np.int64, count=len(values))

    def refuse(
        self,
        subject: str,
        strangers: Sequence[Any],
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
        cause = near_miss(strangers, self.labels)
        if cause:
            remedy = f"{cause}: {remedy}"
        if not quoted:
            remedy += "; --show-values (md.show_values()) quotes them"
        kinds = {type(tidy(value)).__name__ for value in strangers}
        types = {type(label).__name__ for label in self.labels}
        if kinds.isdisjoint(types) and not self.texts and not (kinds | types) <= {"int", "float"}:
            asked = " or ".join(sorted(types))
            return DataError(
                subject,
                expected=f"{self.what} of type {asked}: {listing(self.labels)}",
                got=f"values of type {' or '.join(sorted(kinds))}"
                + (f": {listing(strangers)}" if quoted else where),
                remedy="convert the column to the type of the labels",
            )
        return DataError(
            subject,
            expected=f"{self.what} {listing(self.labels)}",
            got=listing(strangers)
            if quoted
            else f"{len(strangers)} other value{'s' if len(strangers) > 1 else ''}{where}",
            remedy=remedy,
        )


def _key(label: Label) -> Any:
    return (bool, label) if isinstance(label, bool) else label
