"""Rows about one person: how many there are, and what their reports add up to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import InputError, RepeatWarning, warn
from ..tables.counting import distinct_rows, is_missing
from ..tables.reading import open_table
from ..theory._composition import compose


def warn_of_repeats(frame: Any, person: str, designed: Any) -> None:
    """Warn when a table holds several rows about one person, with what they add up to."""
    warn_of_rows(most_rows_of_one(frame, person), person, designed)


def warn_of_rows(most: int, person: str, designed: Any) -> None:
    """Warn when one person has more than one row."""
    if most > 1:
        total = "what these add up to is not known"
        if designed is not None:
            total = str(compose(designed, times=most))
        warn(
            f"column {person!r}: one person has {most} rows; {total}, "
            "where each report alone keeps what was asked; report once per person, or design for "
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
    table = open_table(frame)
    table.check([person])
    counts = distinct_rows(table.parts([person]), [person]).counts
    return max((n for (who,), n in counts.items() if not is_missing(who)), default=0)
