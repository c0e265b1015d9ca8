"""Several rows about one person: a warning that says what their reports leak together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import InputError, RepeatWarning, warn
from ..tables import is_missing
from ..theory._composition import compose
from .counting import count_rows


def warn_of_repeats(frame: Any, person: str, item: Any) -> None:
    """Warn when a table holds several rows about one person, with what they add up to."""
    warn_of_rows(most_rows_of_one(frame, person), person, item)


def warn_of_rows(most: int, person: str, item: Any) -> None:
    """Warn when one person has more than one row."""
    if most > 1:
        warn(
            f"column {person!r}: one person has {most} rows; {compose(item, times=most)}, where "
            "each report alone keeps what was asked; report once per person, or design for "
            "less leakage",
            RepeatWarning,
        )


def most_rows_of_one(frame: Any, person: str) -> int:
    """The largest number of rows with the same value in a column of any table."""
    if isinstance(frame, Iterator) or hasattr(frame, "read_all"):
        raise InputError(
            "person",
            expected="a table that can be read twice",
            got=f"a {type(frame).__name__}",
            remedy="count the rows of each person first, and see md.compose",
        )
    counts = count_rows(frame, [person])
    return max((n for who, n in counts.items() if not is_missing(who)), default=0)
