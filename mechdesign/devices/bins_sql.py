"""Bins as an expression of SQL: the place of the bin that a number of a column lies in.

The expression is one of any type that the column may have, as the type decides which edges are
meant: whole numbers and decimals are compared with the exact edges, floats with the edges rounded
to their type. It says the same as :meth:`Bins.codes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from .._bins import MISSING, OUTSIDE, Bins
from ..errors import InputError, UnknownNameError, quote
from ..exact import nearest_float
from .sql_names import identifier, text_literal

DIALECTS = ("duckdb", "postgresql")

Edge = Fraction | float
#: The condition that a number is less than an edge, or at most that.
_Below = Callable[[Edge, bool], str]

_TRUE, _FALSE = "TRUE", "FALSE"
# Of DuckDB: digits behind the point of its decimals, and where its widest integers end.
_DIGITS = 38
_WIDEST = 1 << 127
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")


def bins_to_sql(bins: Bins, column: str, dialect: str) -> str:
    """An expression that gives the position of the bin of each number of a column.

    Positions are those of :meth:`Bins.codes`: from 0 in the order of the labels, -1 for null and
    NaN, -2 for what lies in no bin. A text that is the label of a bin has its position.

    Parameters
    ----------
    bins : Bins
    column : name of the column, of any type
    dialect : {"duckdb", "postgresql"}

    Raises
    ------
    UnknownNameError
        For an unknown dialect.
    InputError
        For what are no bins, and for names that the engine cannot have.

    Examples
    --------
    >>> import duckdb, mechdesign as md
    >>> ages = md.bins(edges=[0, 18, 65, 120], whole=True)
    >>> place = md.bins_to_sql(ages, "age", "duckdb")
    >>> people = duckdb.sql("SELECT unnest([3, 18, 300, NULL]) AS age")
    >>> people.query("people", f"SELECT {place} FROM people").fetchall()
    [(0,), (1,), (-2,), (-1,)]
    """
    if not isinstance(bins, Bins):
        raise InputError(
            "bins", expected="Bins", got=quote(bins), remedy="make them with md.bins(edges=[…])"
        )
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        raise UnknownNameError("dialect", dialect, DIALECTS)
    return place_in_bins(bins, identifier(column, "column"), dialect)


def check_numbers(bins: Bins, subject: str = "bins") -> None:
    """Raise :class:`InputError` for bins of dates, which devices and engines do not place."""
    if bins.of != "numbers":
        raise InputError(
            subject,
            expected="bins of numbers, for a device or a database",
            got=f"bins of {bins.of}",
            remedy="design for a column of labels that is made of the dates there",
        )


def place_in_bins(bins: Bins, value: str, dialect: str) -> str:
    """The same for any expression of a value."""
    check_numbers(bins)
    made = _postgresql(bins, value) if dialect == "postgresql" else _duckdb(bins, value)
    lines = [f"WHEN {value} IS NULL THEN {MISSING}", *made]
    return _case(lines, str(OUTSIDE))


def _postgresql(bins: Bins, value: str) -> list[str]:
    kind = f"pg_catalog.pg_typeof({value})::text"
    found = []
    for name, dtype in (("real", np.float32), ("double precision", np.float64)):
        own = f"{value}::{name}"
        ends = [f"'{end}'::{name}" for end in ("NaN", "Infinity", "-Infinity")]
        placed = _placed(
            bins,
            f"{own} = {ends[0]}",
            f"{own} IN ({ends[1]}, {ends[2]})",
            f"{own} <> pg_catalog.floor({own})",
            _below_float(own, name, dtype),
        )
        found.append(f"WHEN {kind} = '{name}' THEN {placed}")
    own = f"{value}::numeric"
    placed = _placed(
        bins,
        f"{own}::text = 'NaN'",
        f"{own}::text IN ('Infinity', '-Infinity')",
        f"{own} <> pg_catalog.trunc({own})",
        _below_numeric(own),
    )
    found.append(f"WHEN {kind} IN ('smallint', 'integer', 'bigint', 'numeric') THEN {placed}")
    if (labels := _texts(bins, "postgresql")) is not None:
        where = (
            f'pg_catalog.array_position(ARRAY[{", ".join(labels)}]::text[] COLLATE "C", '
            f"{value}::text)"
        )
        types = "'text', 'character varying', 'character'"
        found.append(f"WHEN {kind} IN ({types}) THEN COALESCE({where} - 1, {OUTSIDE})")
    return found


def _duckdb(bins: Bins, value: str) -> list[str]:
    kind = f"typeof({value})"
    found = []
    for name, dtype in (("FLOAT", np.float32), ("DOUBLE", np.float64)):
        own = f"TRY_CAST({value} AS {name})"
        placed = _placed(
            bins,
            f"isnan({own})",
            f"isinf({own})",
            f"{own} <> floor({own})",
            _below_float(own, name, dtype),
        )
        found.append(f"WHEN {kind} = '{name}' THEN {placed}")
    own = f"TRY_CAST({value} AS HUGEINT)"
    placed = _placed(bins, _FALSE, _FALSE, _FALSE, _below_integer(own))
    names = ", ".join(f"'{name}'" for name in (*_INTEGERS, *_UNSIGNED))
    found.append(f"WHEN {kind} IN ({names}) THEN {placed}")
    # A decimal is a whole number and a fraction of the same sign: both are read off its text.
    text = f"CAST({value} AS VARCHAR)"
    whole = f"TRY_CAST(split_part({text}, '.', 1) AS HUGEINT)"
    sign = f"CASE WHEN starts_with({text}, '-') THEN '-' ELSE '' END"
    rest = f"rpad(split_part({text}, '.', 2), {_DIGITS}, '0')"
    rest = f"TRY_CAST({sign} || {rest} AS HUGEINT)"
    placed = _placed(bins, _FALSE, _FALSE, f"{rest} <> 0", _below_decimal(whole, rest))
    found.append(f"WHEN {kind} LIKE 'DECIMAL%' THEN {placed}")
    if (labels := _texts(bins, "duckdb")) is not None:
        where = f"list_position([{', '.join(labels)}], {text})"
        found.append(f"WHEN {kind} = 'VARCHAR' THEN COALESCE({where} - 1, {OUTSIDE})")
    return found


def _placed(bins: Bins, is_nan: str, is_infinite: str, is_broken: str, below: _Below) -> str:
    """The place of a number of one type, by conditions on it."""
    first, last = bins.edges[0], bins.edges[-1]
    beyond = [is_infinite]
    if not isinstance(first, float):
        beyond.append(below(first, True))
    if not isinstance(last, float):
        beyond.append(f"NOT ({below(last, False)})")
    if bins.whole:
        beyond.append(is_broken)
    beyond = [condition for condition in beyond if condition != _FALSE]
    lines = [] if is_nan == _FALSE else [f"WHEN {is_nan} THEN {MISSING}"]
    if beyond:
        lines.append(f"WHEN {' OR '.join(beyond)} THEN {OUTSIDE}")
    strict = bins.closed == "left"
    lines += [f"WHEN {below(edge, strict)} THEN {i}" for i, edge in enumerate(bins.edges[1:-1])]
    return _case(lines, str(len(bins) - 1)) if lines else str(len(bins) - 1)


def _case(lines: Sequence[str], otherwise: str) -> str:
    return f"CASE {' '.join(lines)} ELSE {otherwise} END"


# Conditions that a number lies below an edge


def _below_float(own: str, name: str, dtype: type) -> _Below:
    """Of a float: the edge is rounded to its type, as it is in :meth:`Bins.codes`."""

    def below(edge: Edge, strict: bool) -> str:
        with np.errstate(over="ignore", under="ignore"):
            rounded = dtype(nearest_float(Fraction(edge)))
        # The shortest decimal that is read back as this number.
        text = str(rounded) if math.isfinite(rounded) else ("-" * bool(rounded < 0) + "Infinity")
        return f"{own} {'<' if strict else '<='} CAST('{text}' AS {name})"

    return below


def _below_numeric(own: str) -> _Below:
    """Of a number of any length: exact, by whole multiples where an edge is no decimal."""

    def below(edge: Edge, strict: bool) -> str:
        exact, sign = Fraction(edge), "<" if strict else "<="
        digits = _digits(exact.denominator)
        if digits is None:
            return f"{own} * {exact.denominator} {sign} {exact.numerator}"
        return f"{own} {sign} {_decimal(exact, digits)}"

    return below


def _below_integer(own: str) -> _Below:
    """Of a whole number of DuckDB: by the least whole number that is not below."""

    def below(edge: Edge, strict: bool) -> str:
        return _under(own, _least(Fraction(edge), strict))

    return below


def _below_decimal(whole: str, rest: str) -> _Below:
    """Of a decimal of DuckDB: by the whole number in it, and by its digits behind the point."""

    def below(edge: Edge, strict: bool) -> str:
        exact = Fraction(edge)
        own = math.trunc(exact)
        digits = _least((exact - own) * 10**_DIGITS, strict)
        less = _under(whole, own)
        if less in (_TRUE, _FALSE):
            return less
        return f"({less} OR {whole} = {own} AND {rest} < {digits})"

    return below


def _least(exact: Fraction, strict: bool) -> int:
    """The least whole number that is not below."""
    return math.ceil(exact) if strict else math.floor(exact) + 1


def _under(own: str, least: int) -> str:
    if not -_WIDEST < least < _WIDEST:
        return _TRUE if least > 0 else _FALSE
    return f"{own} < {least}"


def _digits(denominator: int) -> int | None:
    """Digits behind the point of a fraction; ``None`` where it has no end."""
    counts = []
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator, count = denominator // prime, count + 1
        counts.append(count)
    return max(counts) if denominator == 1 else None


def _decimal(exact: Fraction, digits: int) -> str:
    whole = str(abs(exact.numerator) * 10**digits // exact.denominator).rjust(digits + 1, "0")
    sign = "-" if exact < 0 else ""
    return sign + whole if not digits else f"{sign}{whole[:-digits]}.{whole[-digits:]}"


def _texts(bins: Bins, dialect: str) -> list[str] | None:
    """The labels as texts; ``None`` where some are no text of the engine."""
    if not all(isinstance(label, str) and "\0" not in label for label in bins.labels):
        return None
    return [text_literal(label, dialect) for label in bins.labels]
