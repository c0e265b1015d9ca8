"""Dates as exact numbers: days since the first of 1970, and parts of a date, such as its month."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

#: What can be read off a date, with the names of its values where they recur.
PARTS: dict[str, tuple[str, ...]] = {
    "year": (),
    "quarter": ("Q1", "Q2", "Q3", "Q4"),
    "month": (
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
_FIRST = datetime(1970, 1, 1)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T].+)?")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})( .+)?")


def read_date(text: str) -> datetime:
    """The time that a text names, as a clock there shows it; raises ``ValueError`` for others.

    >>> read_date("2024-02-29"), read_date("29.2.2024 12:30")
    (datetime.datetime(2024, 2, 29, 0, 0), datetime.datetime(2024, 2, 29, 12, 30))
    """
    text = text.strip()
    if dotted := _DOTTED.fullmatch(text):
        day, month, year, rest = dotted.groups("")
        text = f"{year}-{month:0>2}-{day:0>2}{rest}"
    if not _ISO.fullmatch(text):
        raise ValueError("no date")
    return datetime.fromisoformat(text).replace(tzinfo=None)


def date_number(value: Any, part: str | None = None) -> Fraction:
    """Days since the first of 1970 of a date or time of Python or pandas, or a part of it.

    >>> date_number(date(1970, 1, 2)), date_number(date(2024, 5, 1), "weekday")
    (Fraction(1, 1), Fraction(3, 1))
    """
    if part is not None:
        numbers = {"year": value.year, "month": value.month, "weekday": value.isoweekday()}
        return Fraction(numbers.get(part, (value.month + 2) // 3))
    if not isinstance(value, datetime):
        return Fraction(value.toordinal() - _FIRST.toordinal())
    since = value.replace(tzinfo=None) - _FIRST
    micro = since // timedelta(microseconds=1)
    return Fraction(1000 * micro + getattr(since, "nanoseconds", 0), 1000 * 86_400 * 10**6)


def date_of(number: Any) -> date | datetime:
    """The date of a number of days, to a millionth of a second: a day where it is a whole one.

    Raises ``OverflowError`` for years before 1 and after 9999.
    """
    found = _FIRST + round(Fraction(number) * 86_400 * 10**6) * timedelta(microseconds=1)
    return found if found.time() != _FIRST.time() else found.date()


def is_date(value: Any) -> bool:
    """Whether a value is a date or a time, of Python, pandas or NumPy, or the text of one."""
    if isinstance(value, str):
        try:
            read_date(value)
        except ValueError:
            return False
    return isinstance(value, (str, date, np.datetime64))
