"""Reports of a survey beside what is known of each person: weights, strata, clusters, groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, asked_by, quote
from ..input_tables import DROPPED, MISSING_TEXT, is_missing
from ..labels import Label, counted, listing, parse_labels, tidy
from ..mechanism import Mechanism
from .codes import ABSENT, Codebook, distinct_values
from .counts import check_missing, check_tally, count_rows
from .receipts import Receipt, check_receipt, receipts_of

Vector = NDArray[np.float64]

# Squares of sums of products of such numbers are floats, neither infinite nor zero.
_LEAST, _LARGEST = 1e-60, 1e60
# Rows of which it is looked whether they recur.
_PROBED = 5000


@dataclass(frozen=True)
class CountedRows:
    """The distinct rows of some columns of a file.

    Attributes
    ----------
    names : of the columns
    counts : how often each row of their cells occurs
    receipts : of the file, by column
    texts : whether numbers are written in digits
    """

    names: tuple[str, ...]
    counts: Mapping[tuple[Any, ...], int]
    receipts: Mapping[str, Receipt]
    texts: bool = True

    def of(self, names: Sequence[str]) -> dict[tuple[Any, ...], int]:
        """How often each row of the cells of these columns occurs."""
        unknown = next((name for name in names if name not in self.names), None)
        if unknown is not None:
            raise UnknownNameError("column", unknown, self.names)
        places = [self.names.index(name) for name in names]
        found: dict[tuple[Any, ...], int] = {}
        for row, count in self.counts.items():
            key = tuple(row[i] for i in places)
            found[key] = found.get(key, 0) + count
        return found


@dataclass(frozen=True)
class Sample:
    """The distinct rows of a table with reports.

    Attributes
    ----------
    reports : ``(R,)`` positions of outputs of the mechanism
    repeats : ``(R,)`` how often each row occurs
    columns : the ``R`` values of each other column: an array of numbers, a list, or the values
        that differ and the place of each row among them
    texts : whether they were read from a text file, so that numbers are written in digits
    """

    reports: NDArray[np.int64]
    repeats: NDArray[np.int64]
    columns: dict[str, Any]
    texts: bool = False

    def tally(self, mechanism: Mechanism) -> NDArray[np.int64]:
        """How often each output was reported, ``(M,)``."""
        found = np.zeros(len(mechanism.outputs), dtype=np.int64)
        np.add.at(found, self.reports, self.repeats)
        check_tally(found, mechanism)
        return found

    def is_blank(self, value: Any) -> bool:
        """Whether a value is missing; so are some words in a text file."""
        return is_missing(value) or (
            self.texts and isinstance(value, str) and value.strip().lower() in MISSING_TEXT
        )

    def numbers(self, column: str, what: str) -> Vector:
        """A column of numbers, ``(R,)``; raises :class:`DataError` for any that is none.

        So it does for numbers beyond what can be squared as floats: some variances would be zero or
        not a number. Of numbers that may be around zero the largest counts, of weights each.
        """
        values = self.columns[column]
        if isinstance(values, np.ndarray):
            found = values.astype(float)
            blank = np.isnan(found)
        else:
            values, places = _coded(values, column)
            found = np.array([self._number(value) for value in values])[places]
            blank = np.array([self.is_blank(value) for value in values])[places]
        wrong = ~np.isfinite(found)
        if wrong.any():
            rows, empty = (int(self.repeats[part].sum()) for part in (wrong, wrong & blank))
            raise DataError(
                f"{what} in column {quote(column)}",
                expected="a finite number in every row",
                got=f"{rows} row{'s' * (rows > 1)} without one"
                + (f", {empty} of them empty" if empty else ""),
                remedy="fill them in, or leave those rows out of the table",
            )
        sizes = np.abs(found[found != 0])
        if what != "weights":
            sizes = sizes.max(keepdims=True, initial=0)[: len(sizes)]
        if ((sizes < _LEAST) | (sizes > _LARGEST)).any():
            raise DataError(
                f"{what} in column {quote(column)}",
                expected=f"numbers between {_LEAST:g} and {_LARGEST:g} in size, or zero",
                got="larger ones" if (sizes > _LARGEST).any() else "smaller ones",
                remedy="take another unit",
            )
        return found

    def is_numeric(self, column: str) -> bool:
        """Whether all values that are there are numbers (truth values count as such)."""
        if isinstance(self.columns[column], np.ndarray):
            return True
        values = [v for v in _coded(self.columns[column], column)[0] if not self.is_blank(v)]
        return all(not math.isnan(self._number(value)) for value in values)

    def _number(self, value: Any) -> float:
        """A value as a float; NaN for anything that is no number."""
        value = tidy(value)
        if self.texts and isinstance(value, str):
            try:
                return float(value)
            except ValueError:
                return math.nan
        if isinstance(value, (bool, int, float, Decimal, Fraction)):
            try:
                return float(value)
            except (OverflowError, ValueError):
                return math.inf
        return math.nan

    def categories(self, column: str, what: str) -> tuple[list[Label], NDArray[np.int64]]:
        """The distinct values of a column, sorted, and the place of each row among them.

        Raises :class:`DataError` for rows without a value.
        """
        given, places = _coded(self.columns[column], column)
        values = [tidy(value) for value in given]
        blank = np.array([self.is_blank(value) for value in values], dtype=bool)[places]
        if blank.any():
            raise DataError(
                f"{what} in column {quote(column)}",
                expected="a value in every row",
                got=f"{counted(int(self.repeats[blank].sum()), 'row')} without one",
                remedy="name them, such as 'unknown', or leave those rows out of the table",
            )
        if self.texts:
            values = [value.strip() if isinstance(value, str) else value for value in values]
        distinct = list(dict.fromkeys(values))
        labels = parse_labels(list(map(str, distinct))) if self.texts else distinct
        try:
            order = sorted(range(len(labels)), key=labels.__getitem__)
        except TypeError:
            order = sorted(range(len(labels)), key=lambda i: (str(type(labels[i])), str(labels[i])))
        place = {distinct[i]: k for k, i in enumerate(order)}
        return [labels[i] for i in order], np.array([place[v] for v in values], np.int64)[places]


def _coded(column: Any, name: str) -> tuple[list[Any], NDArray[Any]]:
    """The values that occur in a column of a sample, and the place of each row among them."""
    values, places = column if isinstance(column, tuple) else distinct_values(column, name)
    counts = np.bincount(places, minlength=len(values) + 1)
    # A place behind the last value is that of null.
    values = [value for value, n in zip([*values, None], counts, strict=True) if n]
    return values, (np.cumsum(counts > 0) - 1)[places]


def read_sample(
    reports: Any, mechanism: Mechanism, column: str | None, others: Sequence[str], missing: str
) -> Sample:
    """Reports in a column of any table that narwhals reads, with other columns beside them.

    Parameters
    ----------
    reports : table, or a :class:`Sample` that was read from a file
    others : names of the other columns
    missing : {"error", "drop", "category"}
        Null reports.

    Raises
    ------
    DataError, UnknownNameError
        For what is no table with these columns, and for reports that are no outputs.
    """
    if isinstance(reports, Sample):
        return reports
    if column is None or isinstance(reports, Mapping):
        raise InputError(
            "reports of a survey",
            expected="a table and the name of the column of reports",
            got="counts" if isinstance(reports, Mapping) else "no name of a column",
            remedy="pass the table with all columns, and column=",
        )
    if not isinstance(column, str):
        raise InputError(
            "column of reports",
            expected="its name",
            got=quote(column),
            remedy="pass the name of a column of the table",
        )
    named_columns(column, others)
    sample, places = read_columns(reports, {column: mechanism}, others, missing)
    return replace(sample, reports=places[column])


def named_columns(column: str, others: Sequence[str]) -> list[str]:
    """The column of reports and the others, each once; raises :class:`InputError` for a report
    that is to be a weight, stratum, cluster or group of itself.
    """
    if column in others:
        raise InputError(
            "weights, strata, clusters and groups",
            expected="other columns than that of the reports",
            got=quote(column),
            remedy="name public columns; reports hold noise, which groups by them would keep",
        )
    return [column, *dict.fromkeys(others)]


def check_public(names: Sequence[str], receipts: Mapping[str, Receipt]) -> None:
    """Refuse columns that hold reports by their receipts, where public ones are asked for.

    Reports mix people of all values, so that what is found beside them is drawn towards zero.
    """
    noisy = next((name for name in names if name in receipts), None)
    if noisy is not None:
        raise InputError(
            "columns beside the reports",
            expected="public ones",
            got=f"{quote(noisy)}, which holds reports by its receipt",
            remedy="estimate one given the other by md.estimate_joint (--given), or regress on "
            "several privatised columns by a plan or a mapping from them to their mechanisms",
        )


def sample_of(
    counts: Mapping[Any, int],
    names: Sequence[str],
    mechanism: Mechanism,
    missing: str,
    *,
    texts: bool = False,
) -> Sample:
    """A sample from how often each row of values of the columns occurs, reports first."""
    policy = check_missing(missing, mechanism)
    book = Codebook(mechanism.outputs, "outputs of the mechanism", texts=texts)
    rows = list(counts) if len(names) > 1 else [(key,) for key in counts]
    places = {value: book.place(value) for value in dict.fromkeys(row[0] for row in rows)}
    absent = {value for value, place in places.items() if place == ABSENT}
    blank = {value for value in absent if book.is_blank(value)}
    where = f"reports in column {quote(names[0])}"
    if absent - blank:
        raise book.refuse(where, list(absent - blank), "pass the mechanism that made them")
    if blank and policy != "drop":
        empty = sum(n for row, n in zip(rows, counts.values(), strict=True) if row[0] in blank)
        raise DataError(
            where,
            expected="no missing reports",
            got=str(empty),
            remedy=f"leave them out with {asked_by(*DROPPED)}; estimates are then about the others",
        )
    kept = [i for i, row in enumerate(rows) if row[0] not in blank]
    repeats = np.fromiter(counts.values(), np.int64, len(rows))
    return Sample(
        np.array([places[rows[i][0]] for i in kept], dtype=np.int64),
        repeats[kept],
        {name: [rows[i][k] for i in kept] for k, name in enumerate(names) if k},
        texts,
    )


def read_columns(
    table: Any, kernels: Mapping[str, Mechanism], others: Sequence[str], missing: str
) -> tuple[Sample, dict[str, NDArray[np.int64]]]:
    """Distinct rows of a table with the position of the report in each of several columns.

    Parameters
    ----------
    table : any table that narwhals reads, or :class:`CountedRows`
    kernels : what made the reports, by column; receipts of the table must name them
    others : names of other columns, which the sample has
    missing : {"error", "drop", "category"}

    Returns
    -------
    The sample, whose ``reports`` are the positions of its rows, and the positions by column.

    Raises
    ------
    DataError, UnknownNameError
        As :func:`read_sample`.
    """
    check_missing(missing, *kernels.values())
    names = [*kernels, *dict.fromkeys(others)]
    is_counted = isinstance(table, CountedRows)
    receipts = table.receipts if is_counted else receipts_of(table)
    check_public(others, receipts)
    for name, kernel in kernels.items():
        if name in receipts:
            check_receipt(receipts[name], kernel)
    columns = None if is_counted else _columns_of(table, names)
    if columns is None:
        counts: Mapping[Any, int] = table.of(names) if is_counted else count_rows(table, names)
        rows = [*zip(*counts, strict=True)] if len(names) > 1 else [counts]
        rows = rows or [()] * len(names)
        columns = [_coded(list(values), name) for values, name in zip(rows, names, strict=True)]
        repeats = np.fromiter(counts.values(), np.int64, len(counts))
    else:
        kept, repeats = _distinct_rows(columns)
        columns = [_rows(column, kept) for column in columns]
    texts = is_counted and table.texts
    places, blank = {}, np.zeros(len(repeats), dtype=bool)
    for (name, kernel), column in zip(kernels.items(), columns, strict=False):
        book = Codebook(kernel.outputs, "outputs of the mechanism", texts=texts)
        values, at = _coded(column, name)
        found = book.places([tidy(value) for value in values])
        unseen = [
            v for v, k in zip(values, found, strict=True) if k == ABSENT and not book.is_blank(v)
        ]
        if unseen:
            where = f"reports in column {quote(name)}"
            raise book.refuse(where, unseen, "pass the mechanism that made them")
        places[name] = found[at]
        blank |= places[name] == ABSENT
    if blank.any() and missing != "drop":
        raise DataError(
            f"reports in column{'s' * (len(kernels) > 1)} {listing(list(kernels))}",
            expected="no missing reports",
            got=f"{counted(int(repeats[blank].sum()), 'row')} without one"
            + " of them" * (len(kernels) > 1),
            remedy=f"leave them out with {asked_by(*DROPPED)}; estimates are then about the others",
        )
    kept = np.flatnonzero(~blank)
    beside = zip(names[len(kernels) :], columns[len(kernels) :], strict=True)
    sample = Sample(
        np.arange(len(kept)),
        repeats[kept],
        {name: _rows(column, kept) for name, column in beside},
        texts,
    )
    return sample, {name: part[kept] for name, part in places.items()}


def _rows(column: Any, kept: NDArray[Any]) -> Any:
    """Some rows of a column of a sample."""
    return column[kept] if isinstance(column, np.ndarray) else (column[0], column[1][kept])


def _columns_of(table: Any, names: Sequence[str]) -> list[Any] | None:
    """Columns of a frame in memory: numbers as arrays, else values and the place of each row.

    ``None`` for other tables, and for columns that a frame lacks or that hold lists.
    """
    import narwhals.stable.v1 as nw
    import pyarrow as pa

    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    schema = frame.schema
    if any(name not in schema or schema[name].is_nested() for name in names):
        return None
    found: list[Any] = []
    for name in names:
        series = frame.get_column(name)
        if schema[name].is_numeric() or schema[name] == nw.Boolean:
            values = series.to_numpy()
            if values.dtype.kind in "iufb":
                found.append(values)
                continue
        try:
            found.append(distinct_values(series.to_arrow(), name))
        except (pa.ArrowException, TypeError):
            found.append(distinct_values(series.to_list(), name))
    return found


def _distinct_rows(columns: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Rows that differ, the first of each, and how often each occurs; all rows where most of some
    of them differ.
    """
    codes = [column if isinstance(column, np.ndarray) else column[1] for column in columns]
    rows = len(codes[0])
    probe = [part[:: 1 + rows // _PROBED].tolist() for part in codes]
    if 2 * len(set(zip(*probe, strict=True))) > len(probe[0]):
        return np.arange(rows), np.ones(rows, dtype=np.int64)
    code, size = np.zeros(rows, dtype=np.int64), 1
    for part, column in zip(codes, columns, strict=True):
        if isinstance(column, np.ndarray):
            values, part = np.unique(part, return_inverse=True)
        count = len(values) if isinstance(column, np.ndarray) else len(column[0]) + 1
        if size * count > 1 << 62:
            values, code = np.unique(code, return_inverse=True)
            size = len(values)
        code, size = code * count + part, size * count
    _, first, repeats = np.unique(code, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], repeats[order]
