"""How often do the rows of a table occur? Distinct rows, and from them labels with their counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import EXAMPLES
from ..errors import AlikeWarning, DataError, asked_by, check_choice, quote, warn
from ..exact import fraction, is_whole, read_fraction
from ..labels import Label, alike, counted, parse_labels, tidy
from .frames import column_values, listed_values
from .reading import Table, open_table, read_columns
from .text import AS_FOUND, Dialect

#: Different values of a column that are designed on without being asked for.
MOST_SYMBOLS = 1000
#: As many different values as any column has, where they are put into bins.
ANY_NUMBER = 1 << 53
#: As many as recur: what looks like an identifier is refused.
AS_MANY_AS_RECUR = ANY_NUMBER + 1
# Signs of a value that becomes a symbol.
_LONGEST = 10_000
# A column of so many values, most of them in one row only, distinguishes rows, not groups of them.
_FEW_VALUES = 100
# So many fractions of which none recurs are measured.
_FEW_FRACTIONS = 20
# Combinations that are listed whether they occur or not.
_MOST_COMBINATIONS = 1_000_000
# Codes of rows that a machine word holds.
_MOST_CODES = 1 << 62
# Values outside of bins whose types are told.
_PROBED = 1000
#: Cells of text files that stand for a missing value, in any case.
MISSING_TEXT = frozenset({"", "na", "n/a", "nan", "null", "none"})
_POLICIES = ("error", "drop", "category")
#: How missing values are left out, in Python and at the command line.
DROPPED = ("missing='drop'", "--missing drop")
_WAYS_OUT = {
    "category": (
        "make them a symbol like any other with ",
        "missing='category'",
        "--missing category",
    ),
    "drop": (
        "leave them out with ",
        DROPPED[0],
        f"{DROPPED[1]}, in the command pram --missing keep",
    ),
}


# Missing values


def is_missing(value: Any) -> bool:
    """Whether a value is a null or a NaN of any library."""
    if isinstance(value, (float, Decimal)):
        return value != value if isinstance(value, float) else value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def check_missing_policy(missing: str, known: Sequence[str] = _POLICIES) -> None:
    """Raise :class:`UnknownNameError` for a policy that is not known."""
    check_choice("policy for missing values", missing, known)


def refuse_missing(
    subject: str,
    blank: int,
    total: int,
    policy: str,
    known: Sequence[str] = _POLICIES,
    *,
    spelled: int = 0,
) -> None:
    """Refuse missing values where the policy does, and a table of nothing else.

    ``known`` are the policies that there are to choose from; ``spelled`` says how many of the
    missing values of a file are spelled out, such as NA.
    """
    if blank and policy == "error":
        known_ways = [way for name, way in _WAYS_OUT.items() if name in known]
        ways = ["fill them in", *(f"{do}{asked_by(*by)}" for do, *by in known_ways)]
        got = f"{blank} of {counted(total, 'row')} without a value"
        if spelled:
            got += f" ({spelled} of them spelled NA, N/A, NaN, null or none)"
            ways.append("where that is a value of its own, write it in another way")
        raise DataError(subject, expected="no missing values", got=got, remedy=", or ".join(ways))
    if blank == total:
        raise DataError(
            subject,
            expected="at least one value",
            got=f"none in {counted(total, 'row')}",
            remedy="choose another column",
        )


def read_weight(value: Any, subject: str, where: str = "") -> Fraction:
    """A count in a cell of a table, exact; raises :class:`DataError` for what is none."""
    text = value.strip() if isinstance(value, str) else value
    try:
        if isinstance(text, bool):
            raise TypeError
        found = read_fraction(text) if isinstance(text, str) else fraction(text)
        if found < 0:
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        is_blank = is_missing(value) or text == ""
        raise DataError(
            subject,
            expected=f"a non-negative count in every row{where}",
            got="an empty cell"
            if is_blank
            else ("another number" if is_number(text) else "text that is no number"),
            remedy="correct the cell, or choose another column of counts",
        ) from None
    return found


def is_number(cell: Any) -> bool:
    """Whether a cell holds a number, or its text."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def read_labels(source: Any, columns: Sequence[str], dialect: Dialect) -> list[list[Any]]:
    """The values of columns of a table, row by row: texts as labels, missing ones as ``None``."""
    found = []
    for name, cells in zip(columns, read_columns(source, columns, dialect), strict=True):
        distinct_values(cells, name)  # which refuses lists and the like
        texts = [cell for cell in dict.fromkeys(cells) if isinstance(cell, str)]
        texts = [text for text in texts if text.strip().lower() not in MISSING_TEXT]
        labels = dict(zip(texts, parse_labels(texts), strict=True))
        found.append([labels.get(cell) if isinstance(cell, str) else cell for cell in cells])
    return found


# Distinct rows


def distinct_values(values: Any, column: Any = None) -> tuple[list[Any], NDArray[Any]]:
    """The distinct values of a column, and the place of each row among them.

    Nulls of an Arrow array have the place behind the last value. Raises :class:`DataError` with the
    name of the column for values that cannot be told apart.

    >>> distinct_values(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    if hasattr(values, "dictionary_encode"):
        import pyarrow as pa

        if not pa.types.is_dictionary(values.type):
            try:
                values = values.dictionary_encode()
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                raise _no_values(column, f"values of type {values.type}") from None
        if isinstance(values, pa.ChunkedArray):
            values = values.unify_dictionaries().combine_chunks()
        places, distinct = values.indices, listed_values(values.dictionary, column)
        if places.null_count or places.type == pa.uint64():
            places = places.cast(pa.int64()).fill_null(len(distinct))
        # Arrow's own ways to NumPy import pandas.
        return distinct, np.from_dlpack(places) if len(places) else np.empty(0, dtype=np.int64)
    if isinstance(values, np.ndarray) and values.dtype != object:
        symbols, places = np.unique(values, return_inverse=True)
        return list(symbols), places
    try:
        number = {value: i for i, value in enumerate(dict.fromkeys(values))}
    except TypeError:
        raise _no_values(column, "values that are not hashable, such as lists") from None
    return list(number), np.fromiter(map(number.__getitem__, values), np.int64, len(values))


def _no_values(column: Any, got: str) -> DataError:
    return DataError(
        "column" if column is None else f"column {column!r}",
        expected="text, numbers or categories",
        got=got,
        remedy="select a column that holds one value per row",
    )


@dataclass
class Rows:
    """The distinct rows of some columns of a table.

    Attributes
    ----------
    counts : how often each row occurs: a tuple of its values, ``None`` for null
    categories : of each column the categories that its type names, in their order
    """

    counts: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    categories: list[dict[Any, None]] = field(default_factory=list)


def distinct_rows(parts: Iterable[Sequence[Any]], names: Sequence[Any]) -> Rows:
    """The distinct rows of a table that comes part by part, each a list of columns."""
    found = Rows(categories=[{} for _ in names])
    for part in parts:
        if len(set(map(len, part))) > 1:
            raise DataError(
                "columns",
                expected="as many values in each",
                got=" and ".join(str(len(column)) for column in part),
                remedy="pass columns of one table",
            )
        for known, column in zip(found.categories, part, strict=True):
            known.update(categories_of(column))
        rows, places = row_places(part, names)
        for row, times in zip(rows, np.bincount(places).tolist(), strict=False):
            if times:
                found.counts[tuple(map(tidy, row))] += times
    return found


def row_places(
    columns: Sequence[Any], names: Sequence[Any]
) -> tuple[list[tuple[Any, ...]], NDArray[Any]]:
    """Distinct tuples of values of columns, with ``None`` for null, and the place of each row.

    >>> row_places([["b", "a", "b"], [1, 1, 2]], ["x", "y"])
    ([('b', 1), ('b', 2), ('a', 1)], array([0, 2, 1]))
    """
    coded = [distinct_values(values, name) for values, name in zip(columns, names, strict=True)]
    if len(coded) == 1:
        ((values, places),) = coded
        return [(value,) for value in (*values, None)], places
    codes = row_codes([places for _, places in coded], [len(values) + 1 for values, _ in coded])
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    cells = (map([*values, None].__getitem__, own[first].tolist()) for values, own in coded)
    return list(zip(*cells, strict=True)), places


def row_codes(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """A number for each row of columns of so many different places, the same for the same row."""
    codes, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for places, count in zip(columns, sizes, strict=True):
        if size * count > _MOST_CODES:
            values, codes = np.unique(codes, return_inverse=True)
            size = len(values)
        codes, size = codes * count + places, size * count
    return codes


def categories_of(column: Any) -> dict[Any, None]:
    """The categories that the type of an Arrow column names, in their order."""
    if not hasattr(column, "dictionary_encode"):
        return {}
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return {}
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return dict.fromkeys(value for chunk in chunks for value in listed_values(chunk.dictionary))


# Labels


@dataclass
class Labels:
    """How the values of a column name symbols.

    Attributes
    ----------
    of : the label of each value; ``None`` for a missing one
    order : the labels in their order, without the one of missing values
    spelled : values that are words for a missing one
    is_chosen : whether somebody chose the labels, as categories or bins are
    fractions : whether there are other numbers than integers among them
    """

    of: dict[Any, Label]
    order: list[Label]
    spelled: frozenset[Any] = frozenset()
    is_chosen: bool = False
    fractions: bool = False


def labels_of(values: Sequence[Any], categories: Iterable[Any], made: Any, is_text: bool) -> Labels:
    """How values name symbols: by the categories that their type has, by bins, or as text."""
    if made is not None:
        of = {code: made.labels[code] if code >= 0 else None for code in values}
        return Labels(of, list(made.labels), is_chosen=True)
    # Reports in a text file have the type that their receipt tells.
    known = [tidy(value) for value in categories]
    if is_text and not known and all(isinstance(value, str) for value in values):
        stripped = {value: value.strip() for value in values}
        texts = [w for w in dict.fromkeys(stripped.values()) if w.lower() not in MISSING_TEXT]
        label_of = dict(zip(texts, parse_labels(texts), strict=True))
        spelled = frozenset(
            value for value, cell in stripped.items() if cell and cell not in label_of
        )
        fractions = any("." in text and is_number(text) for text in texts)
        of = {value: label_of.get(cell) for value, cell in stripped.items()}
        return Labels(of, _sorted(label_of.values()), spelled, fractions=fractions)
    of = {value: None if is_missing(value) else value for value in values}
    labels = [label for label in of.values() if label is not None]
    fractions = any(isinstance(x, float) and not x.is_integer() for x in labels)
    return Labels(of, known or _sorted(labels), is_chosen=bool(known), fractions=fractions)


def _sorted(labels: Iterable[Label]) -> list[Label]:
    found = list(dict.fromkeys(labels))
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda label: (type(label).__name__, str(label)))


def count_labels(
    source: Any,
    columns: Sequence[Any] | None = None,
    *,
    by: str | None = None,
    weights: str | None = None,
    missing: str = "error",
    max_symbols: int | None = None,
    all_combinations: bool = False,
    bins: Sequence[Any] = (),
    dialect: Dialect = AS_FOUND,
) -> dict[Label, Any]:
    """How often each label occurs in a column, or each combination of labels of several.

    Raises :class:`DataError` as :meth:`mechdesign.Prior.from_data` does.

    Parameters
    ----------
    source : what :func:`open_table` takes; without ``columns`` one column of any library
    columns : names; the labels of several are tuples of theirs
    by : name of a column of groups, optional
        Counts are then those of each group, all labels in every one; rows without one are refused.
    weights : name of a column of counts, for tables with one row for each group
    missing : {"error", "drop", "category"}
        Whether rows with nulls, NaN, or in text files such words as NA, are refused, left out, or
        counted with ``None`` in their place.
    max_symbols : int, optional
        The most labels of a column, or combinations of them, that are let through.
    all_combinations : whether combinations that no row has are counted, too, as zero
    bins : for each column what makes labels of its numbers, or ``None``

    Examples
    --------
    >>> count_labels({"x": ["a", "b", "a"], "g": [1, 1, 2]}, ["x"], by="g")
    {1: {'a': 1, 'b': 1}, 2: {'a': 1, 'b': 0}}
    """
    check_missing_policy(missing)
    most = _checked_most(max_symbols)
    if columns is None:
        table, columns = Table(["column"], lambda _: iter([[column_values(source)]])), ["column"]
        named = ["column"]
    else:
        table = open_table(source, dialect)
        of_table = f" of {table.name}" if table.name else ""
        named = [f"column {quote(name)}{of_table}" for name in columns]
    if weights is None and isinstance(source, str) and source in EXAMPLES:
        weights = EXAMPLES[source].weights
    wanted = [*columns, *(name for name in (by, weights) if name is not None)]
    table.check(wanted)
    made = [*(bins or [None] * len(columns)), *[None] * (len(wanted) - len(columns))]
    outside: list[set[str]] = [set() for _ in wanted]
    rows = distinct_rows(
        (
            [
                column if own is None else _codes(column, own, table.is_text, kinds)
                for column, own, kinds in zip(part, made, outside, strict=True)
            ]
            for part in table.parts(wanted)
        ),
        wanted,
    )

    def rows_where(holds: Callable[[tuple[Any, ...]], bool]) -> int:
        return sum(times for row, times in rows.counts.items() if holds(row))

    total, size = sum(rows.counts.values()), len(columns)
    for i, kinds in enumerate(outside):
        if kinds:
            beyond = rows_where(lambda row, i=i: row[i] < -1)  # type: ignore[misc]
            raise DataError(
                named[i],
                expected=made[i].reach,
                got=f"{beyond} of {counted(total, 'value')} outside, of type "
                + " or ".join(sorted(kinds)),
                remedy="widen the bins (their ends may be -inf and inf), or correct the values; "
                "bins of dates take dates, those of numbers take numbers",
            )
    if not total and table.name:
        raise DataError(
            f"table {table.name}", expected="at least one row", got="none", remedy="check the file"
        )
    values = [*map(dict.fromkeys, zip(*rows.counts, strict=True))] or [{}] * len(wanted)
    of_each = [
        labels_of(list(values[i]), rows.categories[i], made[i], table.is_text and made[i] is None)
        for i in range(size + (by is not None))
    ]
    of_columns = of_each[:size]

    def label_of(row: tuple[Any, ...]) -> tuple[Label, ...]:
        return tuple(own.of[value] for own, value in zip(of_columns, row, strict=False))

    unnamed = 0 if by is None else rows_where(lambda row: of_each[size].of[row[size]] is None)
    if unnamed:
        raise DataError(
            f"column {quote(by)}{of_table}",
            expected="a group in every row",
            got=f"{unnamed} of {counted(total, 'row')} without one",
            remedy="give those rows a group of their own, such as 'unknown', or take them out",
        )
    subject = named[0]
    if size > 1:
        subject = f"columns {', '.join(map(quote, columns))}{of_table}"
    refuse_missing(
        subject,
        rows_where(lambda row: None in label_of(row)),
        total,
        missing,
        spelled=rows_where(
            lambda row: any(v in own.spelled for own, v in zip(of_columns, row, strict=False))
        ),
    )
    counts: dict[Label, Counter[Label]] = {}
    for row, times in rows.counts.items():
        label = label_of(row)
        if missing == "category" or None not in label:
            count: Any = times
            if weights is not None:
                count *= read_weight(row[-1], f"column {quote(weights)}{of_table}")
            group = None if by is None else of_each[size].of[row[size]]
            counts.setdefault(group, Counter())[label if size > 1 else label[0]] += count
    people: Any = total
    if weights is not None:
        people = sum(sum(own.values()) for own in counts.values())
        people = None if Fraction(people).denominator > 1 else people
    orders = []
    for i, (own, of_column) in enumerate(zip(of_columns, named, strict=True)):
        blank = rows_where(lambda row, i=i, of=own.of: of[row[i]] is None)  # type: ignore[misc]
        as_symbol = missing == "category"
        _check_symbols(
            of_column, own, people if weights is not None or as_symbol else total - blank, most
        )
        _warn_of_alike(of_column, own.order)
        orders.append([*own.order, None] if as_symbol and blank else own.order)
    met = set().union(*counts.values())
    if size == 1:
        order: Iterable[Label] = [x for x in orders[0] if x in met or of_each[0].is_chosen]
    else:
        order = _combinations(met, orders, subject, most, all_combinations)
    found = {
        group: {label: own[label] for label in order}
        for group, own in (counts.items() if counts else [(None, Counter())])
    }
    return found[None] if by is None else {g: found[g] for g in of_each[size].order if g in found}


def _codes(column: Any, made: Any, is_text: bool, kinds: set[str]) -> NDArray[np.int64]:
    if is_text:
        cells, places = distinct_values(column)
        numbers = [None if str(c).strip().lower() in MISSING_TEXT else c for c in cells]
        found = made.codes([*numbers, None], texts=True)[places]
    else:
        found = made.codes(column)
    beyond = np.flatnonzero(found < -1)[:_PROBED]
    for i in beyond.tolist():  # Arrow selects no rows of views
        kinds.update(type(tidy(value)).__name__ for value in listed_values(column[i : i + 1]))
    return np.asarray(found, dtype=np.int64)


def _combinations(
    met: set[Label],
    orders: Sequence[Sequence[Label]],
    subject: str,
    most: int | None,
    everything: bool,
) -> Iterable[Label]:
    """Combinations in the order of the values of the columns, one after the other."""
    if everything:
        size = math.prod(map(len, orders))
        if size > (most or _MOST_COMBINATIONS):
            raise DataError(
                subject,
                expected=f"at most {most or _MOST_COMBINATIONS:,} combinations of values",
                got=f"{size:,}",
                remedy="take those that occur, or plan each column by itself (md.plan_columns)",
            )
        return list(product(*orders))
    if most is not None and len(met) > most:
        raise DataError(
            subject,
            expected=f"at most {most:,} different combinations of values",
            got=f"{len(met):,}",
            remedy="plan each column by itself (md.plan_columns), or allow more with max_symbols=",
        )
    places = [{value: i for i, value in enumerate(order)} for order in orders]
    return sorted(met, key=lambda key: [p[v] for p, v in zip(places, key, strict=True)])


def _check_symbols(subject: str, labels: Labels, rows: Any, most: int | None) -> None:
    """Refuse a column of so many different values that it names no groups of people.

    A measured number or an identifier has about as many values as rows; a design on it would take
    hours and be of no use. Without a limit asked for, that is more than 1000 values, or more than
    100 that are more than half as many as the rows, or more than 20 with fractions among them of
    which none recurs. ``rows`` is ``None`` where lines have shares, which count nobody.
    """
    symbols, fractions = len(labels.order), labels.fractions
    if any(isinstance(label, str) and len(label) > _LONGEST for label in labels.order):
        raise DataError(
            subject,
            expected=f"values of at most {_LONGEST:,} signs, each of which becomes a symbol",
            got="a longer one",
            remedy="check quotes and separators, or shorten the values",
        )
    is_open = most in (None, AS_MANY_AS_RECUR)
    scattered = rows is not None and (
        (symbols > _FEW_VALUES and 2 * symbols > rows)
        or (fractions and symbols > _FEW_FRACTIONS and symbols >= rows)
    )
    largest = MOST_SYMBOLS if most is None else most
    if labels.is_chosen or (symbols <= largest and not (is_open and scattered)):
        return
    limit = f"at most {(not is_open and most) or MOST_SYMBOLS:,} different values"
    if most == AS_MANY_AS_RECUR:
        limit = "different values"
    is_identity = symbols == rows and symbols > _FEW_VALUES and not fractions
    guess = " (a measured number or an identifier?)"
    if is_identity:
        guess = ": it looks like an identity of rows, which is no secret with finitely many values"
    raise DataError(
        subject,
        expected=f"{limit}, each in several rows" if is_open else limit,
        got=f"{symbols:,}" + ("" if rows is None else f" in {int(rows):,} rows") + guess,
        remedy=("name the column of the secret, " if is_identity else "")
        + "put numbers into bins with "
        + asked_by("bins=md.bins(edges=[0, 18, 65, 120])", "--bins 0,18,65,120")
        + ", group other values first (such as postal codes by their first digits), or allow them "
        f"with {asked_by(f'max_symbols={symbols}', f'--max-symbols {symbols}')}",
    )


def _warn_of_alike(subject: str, labels: list[Label]) -> None:
    """Warn of symbols that people would take for one, such as ``yes`` and ``Yes``."""
    pairs = alike(labels)
    if pairs:
        first, second, why = pairs[0]
        more = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
        warn(
            f"{subject}: {quote(first, 40)} and {quote(second, 40)}{more} are counted as different "
            f"symbols, and differ by {why}; if they mean the same, make them the same first",
            AlikeWarning,
        )


def _checked_most(most: Any) -> int | None:
    if most is not None and not is_whole(most, 1):
        raise DataError(
            "max_symbols",
            expected="a positive whole number",
            got=quote(most),
            remedy="pass the most values that the column may have",
        )
    return None if most is None else int(most)
