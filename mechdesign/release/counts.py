"""Counts of reports, and of rows about one person: from tables, columns, mappings of counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import (
    DataError,
    InputError,
    RepeatWarning,
    UnknownNameError,
    is_iterable,
    warn,
)
from ..input_tables import is_missing
from ..joint_tables import renamed_columns
from ..theory._composition import compose

Counts = Counter[tuple[Any, ...]]


def count_rows(table: Any, columns: list[str]) -> Counts:
    """How often each tuple of values occurs in columns of any table."""
    import narwhals.stable.v1 as nw

    if hasattr(table, "read_all"):
        table = table.read_all()
    if type(table).__module__.startswith("dask"):
        return _count_dask(table, columns)
    if hasattr(table, "to_struct_array") and not hasattr(table, "to_batches"):  # a RecordBatch
        return _count_batches([table], columns)
    try:
        lazy = nw.from_native(table).lazy()
    except TypeError:
        if is_iterable(table) and not isinstance(table, (str, bytes)):
            return _count_batches(table, columns)
        raise DataError(
            "reports",
            expected="a table, a column, or counts by output",
            got=f"a {type(table).__name__}",
            remedy="pass the table with the reports",
        ) from None
    schema = lazy.collect_schema()
    names = schema.names()
    for column in columns:
        if column not in names:
            raise UnknownNameError("column", column, names)
        if schema[column].is_nested():
            raise _no_labels(column)
    keys = {f"c{i}": name for i, name in enumerate(columns)}
    counts: Counts = Counter()
    try:
        grouped = renamed_columns(table, keys).group_by(*keys).agg(nw.len().alias("rows"))
        found = grouped.collect().to_dict(as_series=False)
        rows = zip(*(found[key] for key in keys), strict=True)
        for row, count in zip(rows, found["rows"], strict=True):
            counts[row] += int(count)
    except TypeError:  # pandas keeps lists as objects
        raise _no_labels(*columns) from None
    return counts


def _no_labels(*columns: str) -> DataError:
    return DataError(
        f"column {', '.join(map(repr, columns))}",
        expected="labels, such as text or numbers",
        got="lists or the like",
        remedy="pass the column of reports",
    )


def _count_dask(table: Any, columns: list[str]) -> Counts:
    from dask import compute, delayed

    for column in columns:
        if column not in table.columns:
            raise UnknownNameError("column", column, map(str, table.columns))
    parts = [delayed(count_rows)(part, columns) for part in table[columns].to_delayed()]
    return _sum(compute(*parts))


def _count_batches(batches: Iterable[Any], columns: list[str]) -> Counts:
    import pyarrow as pa

    parts: list[Counts] = []
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        if not isinstance(table, pa.Table):
            raise DataError(
                "reports",
                expected="a table, a column, or counts by output",
                got=f"an iterable of {type(batch).__name__}",
                remedy="pass one table with a column for each, or leave out column= for a list",
            )
        parts.append(count_rows(table, columns))
    return _sum(parts)


def _sum(parts: Iterable[Counts]) -> Counts:
    total: Counts = Counter()
    for part in parts:
        total.update(part)
    return total


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
    counts = count_rows(frame, [person])
    return max((n for (who,), n in counts.items() if not is_missing(who)), default=0)
