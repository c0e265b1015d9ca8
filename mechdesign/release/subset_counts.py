"""Counts of reports that are integers, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UnknownNameError, asked_by, quote
from ..subsets import SubsetSelection
from ..tables.counting import DROPPED, MISSING_TEXT, is_missing
from .counts import count_rows
from .report_counts import ReportCounts

# Tables of counts up to this size are kept whole; of more reports, those that came.
_MOST_CELLS = 1 << 25
# Reports that came are put together when there are so many of them.
_PENDING = 1 << 22

Integers = NDArray[np.int64]


class SubsetCounts:
    """How often each report of a subset selection came, counted batch by batch.

    Parameters
    ----------
    mechanism : what made them
    missing : {"error", "drop"}
        What to do with null reports.

    Attributes
    ----------
    total : number of reports so far
    """

    def __init__(self, mechanism: SubsetSelection, missing: str = "error") -> None:
        self._limit, self._missing = len(mechanism.outputs), missing
        self.total = 0
        self._table = np.zeros(self._limit, dtype=np.int64) if self._limit <= _MOST_CELLS else None
        self._known = np.zeros((2, 0), dtype=np.int64)
        self._pending: list[NDArray[np.int64]] = []
        self._waiting = 0

    def add(self, values: Any, times: Any = None) -> None:
        """Take in reports of an Arrow array, a NumPy vector or a list.

        ``times`` says how often each came. Raises :class:`DataError` for what is no report.
        """
        found, blank = _whole_numbers(values)
        if blank.any():
            if self._missing == "error":
                raise DataError(
                    "reports",
                    expected="no missing reports",
                    got=str(int(blank.sum())),
                    remedy=f"leave them out with {asked_by(*DROPPED)}",
                )
            found = found[~blank]
            times = None if times is None else np.asarray(times)[~blank]
        wrong = (found < 0) | (found >= self._limit)
        if wrong.any():
            raise DataError(
                "reports",
                expected=f"integers from 0 to {self._limit - 1}",
                got=f"{int(wrong.sum())} others",
                remedy="pass the mechanism that made them",
            )
        counts = np.ones(len(found), dtype=np.int64) if times is None else _checked_times(times)
        self.total += int(counts.sum())
        if self._table is not None:
            np.add.at(self._table, found, counts)
            return
        self._pending.append(np.stack([found, counts]))
        self._waiting += len(found)
        if self._waiting > _PENDING:
            self._put_together()

    def _put_together(self) -> None:
        whole = np.concatenate([self._known, *self._pending], axis=1)
        whole = whole[:, np.argsort(whole[0], kind="stable")]
        starts = np.flatnonzero(np.diff(whole[0], prepend=-1))
        sums = np.add.reduceat(whole[1], starts) if len(starts) else whole[1]
        self._known = np.stack([whole[0][starts], sums])
        self._pending, self._waiting = [], 0

    def result(self) -> tuple[Integers, Integers]:
        """Distinct reports in rising order, and how often each came."""
        if self._table is not None:
            met = np.flatnonzero(self._table)
            return met, self._table[met]
        self._put_together()
        return self._known[0], self._known[1]


def _whole_numbers(values: Any) -> tuple[Integers, NDArray[np.bool_]]:
    """Integers of a column, and which of them are null."""
    if hasattr(values, "null_count") and hasattr(values, "is_null"):
        values = _of_arrow(values)
    array = np.asarray(values)
    if array.ndim == 1 and array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise _no_integers("larger integers")
        return array.astype(np.int64, copy=False), np.zeros(len(array), dtype=bool)
    if array.ndim != 1:
        raise _no_integers(f"an array of shape {array.shape}")
    if array.dtype.kind == "f":
        blank = np.isnan(array)
        whole = np.where(blank, 0, array)
        if (np.abs(whole) >= 2**53).any() or (whole != np.floor(whole)).any():
            raise _no_integers("other numbers")
        return whole.astype(np.int64), blank
    blank = np.array([_is_blank(value) for value in array.tolist()], dtype=bool)
    try:
        return np.array(
            [0 if b else _integer(v) for v, b in zip(array, blank, strict=True)], dtype=np.int64
        ), blank
    except (TypeError, ValueError, OverflowError):
        raise _no_integers(f"values of type {array.dtype}") from None


def _is_blank(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, str) and value.strip().lower() in MISSING_TEXT)


def _integer(value: Any) -> int:
    """An integer, or the one that the digits of a text from a file are."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        return int(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise TypeError


def _of_arrow(values: Any) -> Any:
    """An Arrow array as NumPy integers or a list."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_integer(values.type) and not values.null_count:
        return values.to_numpy(zero_copy_only=False)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        try:
            return _of_arrow(values.cast(pa.int64()))
        except pa.ArrowInvalid:
            pass
    return np.array(values.to_pylist(), dtype=object)


def _no_integers(got: str) -> DataError:
    return DataError(
        "reports",
        expected="integers, as this mechanism reports them",
        got=got,
        remedy="pass the column of reports, and the mechanism that made them",
    )


def _checked_times(times: Any) -> Integers:
    found = np.asarray(times)
    if found.dtype.kind not in "iu" or (found.size and int(found.min()) < 0):
        raise DataError(
            "counts of reports",
            expected="integers of at least 0",
            got=quote(times, 40),
            remedy="pass how often each report came",
        )
    return found.astype(np.int64)


def count_subset_reports(
    reports: Any, mechanism: SubsetSelection, column: str | None = None, missing: str = "error"
) -> SubsetCounts:
    """Counts of reports in a table with ``column``, a column, batches or a mapping to counts."""
    if isinstance(reports, SubsetCounts):
        return reports
    if isinstance(reports, ReportCounts):
        reports = reports.by_label(mechanism)
    found = SubsetCounts(mechanism, missing)
    for values, times in _parts(reports, column):
        found.add(values, times)
    return found


def _parts(reports: Any, column: str | None) -> Iterator[tuple[Any, Any]]:
    if isinstance(reports, Mapping):
        yield list(reports), list(reports.values())
        return
    if column is None:
        if hasattr(reports, "columns") and not isinstance(reports, np.ndarray):
            raise DataError(
                "reports",
                expected="the name of their column",
                got="a table without it",
                remedy="pass column=",
            )
        yield _listed(reports), None
        return
    root = type(reports).__module__.partition(".")[0]
    if root in ("pandas", "polars", "pyarrow") and not hasattr(reports, "collect_schema"):
        names = reports.schema.names if root == "pyarrow" else list(reports.columns)
        if column not in names:
            raise UnknownNameError("column", column, map(str, names))
        batches: Iterable[Any] = [reports]
        if hasattr(reports, "read_all"):
            batches = reports
        for batch in batches:
            yield (batch.column(column) if root == "pyarrow" else batch[column]), None
        return
    counts = count_rows(reports, [column])
    yield list(counts), list(counts.values())


def _listed(reports: Any) -> Any:
    if isinstance(reports, (str, bytes)):
        raise _no_integers(f"a single {type(reports).__name__}")
    if isinstance(reports, np.ndarray) or hasattr(reports, "dtype") or hasattr(reports, "type"):
        return reports
    try:
        return list(reports)
    except TypeError:
        raise _no_integers(f"a {type(reports).__name__}") from None
