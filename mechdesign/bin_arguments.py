"""What texts of the command line say of bins, and priors of columns of numbers and dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np

from ._bins import Bins, bins, read_number
from .dates import PARTS, is_date, read_date
from .errors import InputError, quote
from .exact import read_fraction
from .labels import Label
from .prior import Prior
from .tables.counting import ANY_NUMBER, count_labels
from .tables.text import Dialect

# A column of more different numbers is likely meant to be put into bins.
_MANY_NUMBERS = 20


def read_column_bins(
    table: str | None,
    columns: Sequence[str] | None,
    texts: Sequence[str],
    sample: str | None,
    weights: str | None,
    dialect: Dialect,
) -> dict[str, Bins]:
    """The bins of columns of numbers, as :func:`read_bins` reads them.

    A text begins with the name of its column, as in ``age=0,18,65``, where there are several.
    """
    if table is None or not columns:
        raise InputError(
            "--bins",
            expected="a table and --column with numbers or dates",
            got="no table" if table is None else "no --column",
            remedy="give TABLE with --column, or leave out --bins",
        )
    known: dict[str, Bins] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals:
            name, rest = columns[0], text
        if (not equals and len(columns) > 1) or name not in columns or name in known:
            raise InputError(
                "--bins",
                expected="the name of a column before its bins, each once, such as "
                f"{columns[0]}=0,18,65",
                got=quote(text),
                remedy="repeat --bins for each column of numbers",
            )
        limits: dict[str, Any] = {"missing": "drop", "max_symbols": ANY_NUMBER, "dialect": dialect}
        numbers = count_labels(table, [name], weights=weights, **limits)
        others = None
        if sample is not None:
            others = _each_number(count_labels(sample, [name], **limits))
        known[name] = read_bins(rest, _each_number(numbers), others)
    return known


def hints_at_bins(prior: Prior, columns: Sequence[str]) -> list[str]:
    """A sentence for each column whose symbols are more numbers, or dates, than are likely meant as
    such.
    """
    several, hints = len(columns) > 1, []
    for place, name in enumerate(columns):
        values = {label[place] if several else label for label in prior.labels} - {None}
        if all(isinstance(v, (int, float)) and type(v) is not bool for v in values):
            kind, option = "numbers", "0,18,65,120"
        elif all(map(is_date, values)):
            kind, option = "dates", "month or 2020-01-01,2021-01-01,2021-12-31"
        else:
            continue
        if len(values) > _MANY_NUMBERS:
            option = f"{name}={option}" if several else option
            hints.append(
                f"hint: column {quote(name)} has {len(values)} different {kind}, each a symbol of "
                f"its own, which may take long; with bins, such as --bins {option}, symbols are "
                "ranges of them, whose frequencies take fewer reports"
            )
    return hints


def _each_number(counts: Mapping[Label, Any]) -> Any:
    """Numbers, or dates, as often as they were counted."""
    numbers = [read_number(label) for label in counts]
    times = [int(count) if Fraction(count).denominator == 1 else 1 for count in counts.values()]
    if all(isinstance(number, (int, float)) for number in numbers):
        return np.repeat(np.array(numbers, dtype=float), times)
    return [number for number, count in zip(numbers, times, strict=True) for _ in range(count)]


def read_bins(text: str, numbers: Any, sample: Any = None) -> Bins:
    """Bins of a text: edges, ``quantiles:5`` or ``k:5``, and words that say more.

    The words are ``whole``, ``fractions`` and ``right`` (the closed side), ``0..120`` for the ends
    of bins that are chosen, and ``month``, ``quarter``, ``year`` and ``weekday`` for what is read
    off dates: alone, each of them is a bin. Bins are chosen from the sample, or else from the
    numbers themselves, which is warned of; whether numbers are whole is read off them where no word
    says.

    >>> read_bins("0,18,65,inf", [3, 20]).labels
    ('0 to 17', '18 to 64', '65 or more')
    >>> read_bins("0,0.5,1,right", [0.25]).labels
    ('[0, 0.5]', '(0.5, 1]')
    >>> read_bins("2020-01-01,2021-01-01,inf", []).labels
    ('2020-01-01 to 2020-12-31', '2021-01-01 or later')
    """
    way, colon, rest = text.partition(":")
    asked: dict[str, Any] = {}
    words = [word.strip() for word in (rest if colon else text).split(",")]
    edges: list[Any] = []
    try:
        for word in words:
            low, dots, high = word.partition("..")
            if word in ("whole", "fractions"):
                asked["whole"] = word == "whole"
            elif word in ("left", "right"):
                asked["closed"] = word
            elif word in PARTS:
                asked["of"] = word
            elif dots:
                asked["ends"] = _edge(low), _edge(high)
            else:
                edges.append(_edge(word))
        if not colon:
            asked["edges"] = edges if edges or "of" not in asked else None
        else:
            (count,) = edges
            if way not in ("quantiles", "k") or count != int(count):
                raise ValueError
            asked[way] = int(count)
    except (ValueError, OverflowError):
        raise InputError(
            "--bins",
            expected="increasing edges such as 0,18,65,inf or 2020-01-01,2021-01-01,inf, or "
            "month, quarter, weekday or year, or quantiles:5 or k:5, and perhaps whole, right or "
            "ends such as 0..120",
            got=quote(text),
            remedy="separate them by commas",
        ) from None
    if colon and sample is not None:
        return bins(sample, origin="a separate sample", **asked)
    return bins(numbers, **asked)


def read_ends(text: str) -> tuple[Any, Any]:
    """The two ends of a text such as ``0..120``, numbers or dates.

    Raises :class:`InputError` for other texts.
    """
    low, dots, high = text.partition("..")
    try:
        if not dots:
            raise ValueError
        return _edge(low), _edge(high)
    except (ValueError, OverflowError):
        raise InputError(
            "--ends",
            expected="the least and the largest number or date, such as 0..120",
            got=quote(text),
            remedy="write both with two dots between",
        ) from None


def _edge(word: str) -> Fraction | float | datetime:
    """An edge, exact, or a date; ``ValueError`` for other text."""
    word = word.strip()
    if word.lower() in ("inf", "+inf", "-inf"):
        return float(word)
    return read_date(word) if is_date(word) else read_fraction(word)
