"""Counting reports: in tables, columns, and mappings of counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UnknownNameError, quote
from ..labels import Label, tidy
from ..mechanism import Mechanism
from ..tables import count_values, is_missing
from .encoding import ABSENT, Codebook
from .receipts import check_receipt, receipts_of

FEWEST = 10
_MOST = 1 << 53


def count_reports(
    reports: Any,
    mechanism: Mechanism,
    column: str | None = None,
    *,
    missing: str = "error",
    texts: bool = False,
) -> NDArray[np.int64]:
    """How often each output of the mechanism was reported, ``(M,)``.

    Parameters
    ----------
    reports : mapping from output to count, column of reports, or table (with ``column``)
    column : name of the column in a table; a receipt that it carries must name this kernel
    missing : {"error", "drop"}
        What to do with null reports.

    Raises
    ------
    DataError
        For reports that the mechanism cannot produce, or too few of them.
    """
    counts = _raw_counts(reports, mechanism, column, missing)
    book = Codebook(mechanism.outputs, "outputs of the mechanism", texts=texts)
    return tally(counts, book, mechanism, missing)


def tally(
    counts: Mapping[Label, int], book: Codebook, mechanism: Mechanism, missing: str = "error"
) -> NDArray[np.int64]:
    """Counts by label as a vector over the outputs, checked against the kernel."""
    found = np.zeros(mechanism.shape[1], dtype=np.int64)
    strangers, blank = [], 0
    for label, count in counts.items():
        count = check_count(count)
        place = book.place(label)
        if place != ABSENT:
            found[place] += count
        elif is_missing(label):
            blank += count
        else:
            strangers.append(label)
    if strangers:
        raise book.refuse("reports", strangers, "pass the mechanism that made them")
    if blank and missing != "drop":
        raise DataError(
            "reports",
            expected="no missing reports",
            got=str(blank),
            remedy="leave them out with missing='drop' (--missing drop); estimates are then about "
            "the others",
        )
    check_counts(found, mechanism)
    return found


def check_count(count: Any) -> int:
    """How often something was reported, an exact number of rows of a table."""
    whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    if not whole or not 0 <= count <= _MOST:
        raise DataError(
            "counts of reports",
            expected="integers from 0 to 2**53",
            got=f"{quote(count, 40)} for one of them",
            remedy="pass how often each output was reported",
        )
    return int(count)


def check_counts(found: NDArray[np.int64], mechanism: Mechanism) -> None:
    """Refuse reports of probability zero, and too few."""
    never = np.asarray(mechanism.weights == 0, dtype=bool).all(axis=0)
    wrong = np.flatnonzero(never & (found > 0))
    if wrong.size:
        raise DataError(
            "reports",
            expected="outputs that the mechanism can produce",
            got=f"{quote(mechanism.outputs[wrong[0]])}, which no input gives, "
            f"{found[wrong[0]]} times",
            remedy="pass the mechanism that made them",
        )
    if found.sum() < FEWEST:
        raise DataError(
            "reports",
            expected=f"at least {FEWEST}",
            got=str(int(found.sum())),
            remedy="collect more; md.plan (mechdesign plan) says how many",
        )


def _raw_counts(
    reports: Any, mechanism: Mechanism, column: str | None, missing: str
) -> Mapping[Label, int]:
    if not isinstance(missing, str) or missing not in ("error", "drop"):
        raise UnknownNameError("policy for missing reports", missing, ["error", "drop"])
    if isinstance(reports, Mapping):
        return {tidy(key): tidy(value) for key, value in reports.items()}
    if column is not None:
        return count_columns(reports, [column], mechanism)
    if hasattr(reports, "columns") and not isinstance(reports, np.ndarray):
        raise DataError(
            "reports",
            expected="the name of their column",
            got="a table without it",
            remedy="pass column=",
        )
    return count_values(reports, missing=missing) if _has_any(reports) else {}


def _has_any(reports: Any) -> bool:
    try:
        return len(reports) > 0
    except TypeError:
        return True


def count_columns(table: Any, columns: list[str], *mechanisms: Mechanism) -> dict[Any, int]:
    """How often each value (or tuple of values) occurs in columns of any table.

    Receipts that the columns carry must name the mechanisms.
    """
    receipts = receipts_of(table)
    for column, mechanism in zip(columns, mechanisms, strict=True):
        if column in receipts:
            check_receipt(receipts[column], mechanism)
    return count_rows(table, columns)


def count_rows(table: Any, columns: list[str]) -> dict[Any, int]:
    """How often each value (or tuple of values) occurs in columns of any table."""
    import narwhals.stable.v1 as nw

    if hasattr(table, "read_all"):
        table = table.read_all()
    if type(table).__module__.startswith("dask"):
        return _count_dask(table, columns)
    try:
        lazy = nw.from_native(table).lazy()
    except TypeError:
        if isinstance(table, Iterable) and not isinstance(table, (str, bytes)):
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
    if type(table).__module__.startswith("polars"):
        from polars import selectors

        # It takes some names for patterns, such as "*" and "^a.*$".
        exact = [selectors.by_name(name).alias(f"c{i}") for i, name in enumerate(columns)]
        lazy, columns = (
            nw.from_native(table.lazy().select(exact)),
            [f"c{i}" for i in range(len(exact))],
        )
    rows = "rows" + "_" * max(map(len, columns))
    try:
        grouped = lazy.select(*columns).group_by(*columns).agg(nw.len().alias(rows))
        found = grouped.collect().to_dict(as_series=False)
    except TypeError:  # pandas keeps lists as objects
        raise _no_labels(*columns) from None
    keys = (
        found[columns[0]] if len(columns) == 1 else zip(*(found[c] for c in columns), strict=True)
    )
    counts: dict[Any, int] = {}
    for key, count in zip(keys, found[rows], strict=True):
        if not isinstance(key, Hashable):
            raise _no_labels(*columns)
        counts[key] = counts.get(key, 0) + int(count)
    return counts


def _no_labels(*columns: str) -> DataError:
    return DataError(
        f"column {', '.join(map(repr, columns))}",
        expected="labels, such as text or numbers",
        got="lists or the like",
        remedy="pass the column of reports",
    )


def _count_dask(table: Any, columns: list[str]) -> dict[Any, int]:
    from dask import compute, delayed

    for column in columns:
        if column not in table.columns:
            raise UnknownNameError("column", column, map(str, table.columns))
    parts = [delayed(count_rows)(part, columns) for part in table[columns].to_delayed()]
    return _sum(compute(*parts))


def _count_batches(batches: Iterable[Any], columns: list[str]) -> dict[Any, int]:
    import pyarrow as pa

    parts = []
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        if not isinstance(table, pa.Table):
            raise DataError(
                "reports",
                expected="a table, a column, or counts by output",
                got=f"an iterable of {type(batch).__name__}",
                remedy="leave out column= for a list of reports",
            )
        parts.append(count_rows(table, columns))
    return _sum(parts)


def _sum(parts: Iterable[dict[Any, int]]) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for part in parts:
        for key, count in part.items():
            total[key] = total.get(key, 0) + count
    return total
