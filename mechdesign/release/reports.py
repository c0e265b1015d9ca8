"""Reports as distinct rows, from tables, columns and counts, with what stands beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, asked_by, quote
from ..labels import Label, counted, listing, tidy
from ..mechanism import ImplicitKernel, kernel_of
from ..progress import counter
from ..schema import Schema
from ..solve.columns_plan import KernelPlan
from ..tables.counting import DROPPED, distinct_rows, distinct_values, labels_of, row_codes
from ..tables.frames import column_values, plain_numbers
from ..tables.reading import Table, open_table
from ..tables.text import AS_FOUND, Dialect
from ._identifiability import FEWEST
from .codes import ABSENT, Codebook, check_choice, is_blank
from .codings import joined
from .drawing import check_order
from .receipts import (
    Receipt,
    check_receipt,
    file_receipts,
    receipts_of,
    trace,
)
from .report_counts import ReportCounts, checked_count

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

# Squares of sums of products of such numbers are floats, neither infinite nor zero.
_LEAST, _LARGEST = 1e-60, 1e60
# Integers that floats tell apart.
_EXACT = 1 << 53
# Reports that were read are put together where there are so many of them.
_PENDING = 1 << 22


@dataclass(frozen=True)
class CountedRows:
    """Rows of some columns of a table, those that recur mostly once.

    Attributes
    ----------
    names : of the columns; ``None`` for a column without a name
    cells : ``R`` values of each: an array of numbers, or the values that differ and the place of
        each row among them, behind the last for null
    repeats : ``(R,)`` how often each row occurs
    receipts : of the table, by column
    texts : whether cells are of a text file, so that numbers are written in digits
    """

    names: tuple[Any, ...]
    cells: Sequence[Any]
    repeats: Places
    receipts: Mapping[str, Receipt]
    texts: bool = False

    @classmethod
    def of_counts(
        cls,
        names: Sequence[Any],
        counts: Mapping[tuple[Any, ...], int],
        receipts: Mapping[str, Receipt],
        *,
        texts: bool = False,
    ) -> CountedRows:
        """Rows from how often each occurs."""
        columns = [*zip(*counts, strict=True)] or [()] * len(names)
        cells = [distinct_values(part, name) for part, name in zip(columns, names, strict=True)]
        repeats = np.fromiter(counts.values(), np.int64, len(counts))
        return cls(tuple(names), cells, repeats, receipts, texts)

    def of(self, names: Sequence[Any]) -> list[Any]:
        """The cells of these columns."""
        for name in names:
            if name not in self.names:
                raise UnknownNameError("column", name, map(str, self.names))
        return [self.cells[self.names.index(name)] for name in names]


@dataclass(frozen=True)
class Sample:
    """The distinct rows of a table with reports.

    Attributes
    ----------
    places : positions ``(R,)`` of outputs of the mechanisms, by column of reports
    repeats : ``(R,)`` how often each row occurs
    columns : the ``R`` values of each other column, as cells of :class:`CountedRows`
    texts : whether they were read from a text file, so that numbers are written in digits
    """

    places: Mapping[Any, Places]
    repeats: Places
    columns: dict[str, Any] = field(default_factory=dict)
    texts: bool = False

    @property
    def reports(self) -> Places:
        """``(R,)`` positions of outputs, of the only column of reports."""
        (found,) = self.places.values()
        return found

    @property
    def size(self) -> int:
        """Number of people."""
        return int(self.repeats.sum())

    def totals(self) -> tuple[Places, Places]:
        """The outputs that were reported in the only column of reports, and how often each was."""
        found, at = np.unique(self.reports, return_inverse=True)
        return found, np.bincount(at, self.repeats, len(found)).astype(np.int64)

    def tally(self, *outputs: int) -> Places:
        """How often each output, or combination of outputs, was reported, an axis for each column
        of so many.
        """
        found = np.zeros(outputs, dtype=np.int64)
        np.add.at(found, tuple(self.places.values()), self.repeats)
        return found

    def is_blank(self, value: Any) -> bool:
        """Whether a value is missing; so are some words in a text file."""
        return is_blank(value, texts=self.texts)

    def numbers(self, column: str, what: str) -> Vector:
        """A column of numbers, ``(R,)``; raises :class:`DataError` for any that is none.

        So it does for numbers beyond what can be squared as floats: some variances would be zero or
        not a number. Of numbers that may be around zero the largest counts, of weights each.
        """
        found, blank = self._floats(column)
        wrong = ~np.isfinite(found)
        if wrong.any():
            rows, empty = (int(self.repeats[part].sum()) for part in (wrong, wrong & blank))
            raise DataError(
                f"{what} in column {quote(column)}",
                expected="a finite number in every row",
                got=f"{counted(rows, 'row')} without one"
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
        found, blank = self._floats(column)
        return not (np.isnan(found) & ~blank).any()

    def _floats(self, column: str) -> tuple[Vector, NDArray[np.bool_]]:
        """Values of rows, NaN for what is no number, and whether they are missing."""
        cells = self.columns[column]
        if isinstance(cells, np.ndarray):
            found = cells.astype(float)
            return found, np.isnan(found)
        values, places = coded(cells, column)
        blank = np.array([self.is_blank(value) for value in values], dtype=bool)
        return np.array([self._number(value) for value in values], dtype=float)[places], blank[
            places
        ]

    def _number(self, value: Any) -> float:
        """A value as a float; NaN for anything that is no number."""
        kinds = (int, float, Decimal, Fraction) + (str,) * self.texts
        try:
            return float(value) if isinstance(value, kinds) else math.nan
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    def categories(self, column: str, what: str) -> tuple[list[Label], NDArray[np.int64]]:
        """The distinct values of a column, sorted, and the place of each row among them.

        Raises :class:`DataError` for rows without a value.
        """
        values, places = coded(self.columns[column], column)
        blank = np.array([self.is_blank(value) for value in values], dtype=bool)[places]
        if blank.any():
            raise DataError(
                f"{what} in column {quote(column)}",
                expected="a value in every row",
                got=f"{counted(int(self.repeats[blank].sum()), 'row')} without one",
                remedy="name them, such as 'unknown', or leave those rows out of the table",
            )
        known = labels_of(values, (), None, self.texts)
        place = {label: k for k, label in enumerate(known.order)}
        return known.order, np.array([place[known.of[v]] for v in values], np.int64)[places]


def coded(column: Any, name: str) -> tuple[list[Any], NDArray[Any]]:
    """The values that occur in a column of a sample, and the place of each row among them."""
    values, places = column if isinstance(column, tuple) else distinct_values(column, name)
    counts = np.bincount(places, minlength=len(values) + 1)
    # A place behind the last value is that of null.
    values = [tidy(value) for value, n in zip([*values, None], counts, strict=True) if n]
    return values, (np.cumsum(counts > 0) - 1)[places]


# Rows of anything


def is_table(reports: Any) -> bool:
    """Whether reports have columns."""
    # Lazy frames compute theirs where they are asked for them.
    is_read = isinstance(reports, (CountedRows, ReportFile, str, Path))
    return is_read or hasattr(type(reports), "columns")


def counted_rows(
    reports: Any, names: Sequence[Any], others: Sequence[str] = (), mechanism: Any = None
) -> CountedRows:
    """Reports of any form as rows of columns.

    Parameters
    ----------
    reports : table, path of one, column, or mapping from outputs (of several columns tuples of
        them) to counts
    names : of the columns of reports; ``None`` for a column or counts without a name
    others : of columns beside them
    mechanism : what made reports that come as :class:`mechdesign.ReportCounts`
    """
    if isinstance(reports, ReportCounts):
        reports = reports.by_label(mechanism)
    is_named = None not in names
    if isinstance(reports, (str, Path)):
        reports = ReportFile(reports)
    receipts = receipts_of(reports)
    check_beside(names, others, receipts)
    is_counts = isinstance(reports, Mapping)
    if others and (is_counts or not is_named):
        raise InputError(
            "reports of a survey",
            expected="a table with all columns, and the name of that of the reports",
            got="counts" if is_counts else "no name of a column",
            remedy="pass the table and column=",
        )
    if is_counts:
        return CountedRows.of_counts(names, _counted(reports, len(names)), {})
    if is_named and isinstance(reports, CountedRows):
        return reports
    wanted = [*names, *dict.fromkeys(others)]
    if is_named and isinstance(reports, ReportFile):
        if isinstance(mechanism, ImplicitKernel) and len(wanted) == 1:
            return reports.subsets(wanted[0], mechanism)
        return _rows_of(reports.table, wanted, receipts, texts=True)
    if is_named:
        return _rows_of(open_table(reports), wanted, receipts)
    if is_table(reports):
        raise DataError(
            "reports",
            expected="the name of their column",
            got="a table without it",
            remedy="pass column=",
        )
    return _rows_of(Table(wanted, lambda _: iter([[column_values(reports)]])), wanted, receipts)


def _rows_of(
    table: Table, names: Sequence[Any], receipts: Mapping[str, Receipt], *, texts: bool = False
) -> CountedRows:
    """Rows of columns of a table: of one that is there as a whole, numbers as arrays."""
    table.check(names)
    parts = table.parts(names)
    first = list(islice(parts, 2))
    if len(first) != 1 or texts:
        counts = distinct_rows(chain(first, parts), names).counts
        return CountedRows.of_counts(names, counts, receipts, texts=texts)
    cells = [_cells(column, name) for column, name in zip(first[0], names, strict=True)]
    kept, repeats = _distinct_rows(cells)
    return CountedRows(tuple(names), [_rows(part, kept) for part in cells], repeats, receipts)


@dataclass(frozen=True)
class ReportFile:
    """A file of reports, or several, of which columns are read when they are asked for.

    Attributes
    ----------
    path : of what :func:`mechdesign.tables.open_table` takes
    dialect : how a text file is written
    progress : whether it is shown how far it is read
    """

    path: str | Path
    dialect: Dialect = AS_FOUND
    progress: bool = False

    @cached_property
    def receipts(self) -> dict[str, Receipt]:
        """Its receipts; raises :class:`DataError` for text that they were not written for."""
        return file_receipts(self.path, check=True)

    @cached_property
    def table(self) -> Table:
        """The opened file; raises :class:`DataError` for what is none."""
        table = open_table(self.path, self.dialect)

        def parts(columns: Sequence[Any]) -> Iterator[list[Any]]:
            with counter(table.rows, "counting", show=self.progress) as advance:
                for part in table.parts(columns):
                    yield part
                    advance(len(part[0]))

        return replace(table, parts=parts)

    def subsets(self, column: str, mechanism: ImplicitKernel) -> CountedRows:
        """The distinct reports in a column of what has no matrix, put together part by part."""
        found, waiting = [np.zeros((2, 0), dtype=np.int64)], 0
        self.table.check([column])
        for (values,) in self.table.parts([column]):
            once = np.ones(len(values), dtype=np.int64)
            rows = CountedRows((column,), [_cells(values, column)], once, {})
            read = _read(rows, {column: mechanism.outputs}, ())
            found.append(np.stack([read.reports, read.repeats]))
            waiting += len(read.repeats)
            if waiting > _PENDING:
                found, waiting = [_totals(found)], 0
        reports, repeats = _totals(found)
        cells: Any = reports
        if len(reports) and reports[0] == ABSENT:
            cells = reports[1:].tolist(), np.arange(-1, len(reports) - 1) % len(reports)
        return CountedRows((column,), [cells], repeats, self.receipts)


def _totals(parts: list[Places]) -> Places:
    """Reports that differ, and how often each came in all of the parts."""
    reports, repeats = np.concatenate(parts, axis=1)
    return np.stack(Sample({None: reports}, repeats).totals())


def _counted(reports: Mapping[Any, Any], columns: int) -> dict[tuple[Any, ...], int]:
    """Counts of outputs, or of tuples of them, checked."""
    found: dict[tuple[Any, ...], int] = {}
    for key, count in reports.items():
        row = (key,) if columns == 1 else key
        if not isinstance(row, tuple) or len(row) != columns:
            raise DataError(
                "counts of reports",
                expected=f"tuples of {columns} outputs as keys",
                got="other keys",
                remedy="pass the table, or write {('a', 'x'): 12, …}",
            )
        row = tuple(map(tidy, row))
        found[row] = found.get(row, 0) + checked_count(tidy(count))
    return found


def check_missing(missing: Any, *mechanisms: Any) -> None:
    """Refuse policies for null reports that there are not, and missing answers as a category where
    no input, or part of one, stands for them.
    """
    check_choice("policy for missing reports", missing, ("error", "drop", "category"))
    if missing != "category":
        return
    inputs = [label for each in mechanisms for label in each.inputs]
    if not any(None in (label if isinstance(label, tuple) else (label,)) for label in inputs):
        raise DataError(
            "mechanism for missing answers as a category",
            expected="an input None, which stands for them",
            got=listing(inputs),
            remedy="design with "
            + asked_by(
                "the prior of md.Prior.from_data(column, missing='category')",
                "design --missing category",
            )
            + f", or leave them out with {asked_by(*DROPPED)}",
        )


def check_beside(columns: Sequence[Any], others: Sequence[str], receipts: Any) -> None:
    """Refuse reports as weights, strata, clusters or groups, also those of other columns.

    They mix people of all values, so that what is found beside them is drawn towards zero.
    """
    own = next((name for name in others if name in columns), None)
    if own is not None:
        raise InputError(
            "weights, strata, clusters and groups",
            expected="other columns than that of the reports",
            got=quote(own),
            remedy="name public columns; reports hold noise, which groups by them would keep",
        )
    noisy = next((name for name in others if name in receipts), None)
    if noisy is not None:
        raise InputError(
            "columns beside the reports",
            expected="public ones",
            got=f"{quote(noisy)}, which holds reports by its receipt",
            remedy="estimate one given the other by md.estimate_joint (--given), or regress on "
            "several privatised columns by a plan or a mapping from them to their mechanisms",
        )


# Reports in rows


def sample_of(
    reports: Any,
    kernels: Mapping[Any, Any],
    others: Sequence[str] = (),
    missing: str = "error",
    *,
    fewest: int = FEWEST,
) -> Sample:
    """Reports in columns that are named by their kernels, checked, with other columns beside them.

    Parameters
    ----------
    reports, others : as of :func:`counted_rows`
    kernels : Mechanism or SubsetSelection by column; ``None`` for a column without a name
    missing : {"error", "drop", "category"}
        Null reports, which are a category where the kernel reports ``None``.
    fewest : how many there must be

    Raises
    ------
    DataError, UnknownNameError
        For reports that a mechanism cannot produce or that another one made by their receipts, for
        null reports unless they are dropped, and for fewer than there must be.
    """
    check_missing(missing, *kernels.values())
    rows = counted_rows(reports, list(kernels), others, next(iter(kernels.values())))
    _check_receipts(rows.receipts, kernels)
    made = _read(rows, {name: kernel.outputs for name, kernel in kernels.items()}, others)
    return _checked(made, kernels, missing, fewest)


def _check_receipts(receipts: Mapping[str, Receipt], kernels: Mapping[Any, Any]) -> None:
    for name in kernels.keys() & receipts.keys():
        check_receipt(receipts[name], kernels[name])


def _checked(sample: Sample, kernels: Mapping[Any, Any], missing: str, fewest: int) -> Sample:
    """Without null reports, of which there may be some only if they are dropped."""
    blank = (np.stack([*sample.places.values()]) == ABSENT).any(axis=0)
    if blank.any() and missing != "drop":
        rows = int(sample.repeats[blank].sum())
        raise DataError(
            _where(*kernels),
            expected="no missing reports",
            got=f"{counted(rows, 'row')} without one",
            remedy=f"leave them out with {asked_by(*DROPPED)}; estimates are then about the others",
        )
    kept = np.flatnonzero(~blank & (sample.repeats > 0))
    made = Sample(
        {name: place[kept] for name, place in sample.places.items()},
        sample.repeats[kept],
        {name: _rows(column, kept) for name, column in sample.columns.items()},
        sample.texts,
    )
    for kernel, place in zip(kernels.values(), made.places.values(), strict=True):
        if isinstance(kernel, ImplicitKernel):
            continue
        never = place[~(kernel.weights != 0).any(axis=0)[place]]
        if never.size:
            first = never[0]
            raise DataError(
                "reports",
                expected="outputs that the mechanism can produce",
                got=f"{quote(kernel.outputs[first])}, which no input gives, "
                f"{made.repeats[place == first].sum()} times",
                remedy="pass the mechanism that made them",
            )
    if made.size < fewest:
        raise DataError(
            "reports",
            expected=f"at least {fewest}",
            got=str(made.size),
            remedy="collect more; md.plan (mechdesign plan) says how many",
        )
    return made


def _where(*names: Any) -> str:
    if names == (None,):
        return "reports"
    return f"reports in column{'s' * (len(names) > 1)} {listing(names)}"


def _read(rows: CountedRows, books: Mapping[Any, Any], others: Sequence[str]) -> Sample:
    """Rows with positions among labels, :data:`ABSENT` for null ones, of each column."""
    places: dict[Any, Places] = {}
    at: Any
    for (name, labels), column in zip(books.items(), rows.of(list(books)), strict=True):
        is_range = isinstance(labels, range)
        what = "outputs of the mechanism"
        book: Any = _Integers(labels) if is_range else Codebook(labels, what, texts=rows.texts)
        values, at = column, ...
        if not is_range or isinstance(column, tuple) or column.dtype.kind not in "iu":
            values, at = coded(column, name)
        found = book.places(values)
        absent = [values[i] for i in np.flatnonzero(found == ABSENT)]
        if unseen := [value for value in absent if not book.is_blank(value)]:
            raise book.refuse(_where(name), unseen, "pass the mechanism that made them")
        places[name] = found[at]
    others = list(dict.fromkeys(others))
    return Sample(places, rows.repeats, dict(zip(others, rows.of(others), strict=True)), rows.texts)


class _Integers:
    """Positions of reports that are integers: themselves, or what their digits are."""

    def __init__(self, labels: range) -> None:
        self.labels = labels

    def places(self, values: Any) -> Places:
        """Positions of several values, :data:`ABSENT` for others."""
        if not isinstance(values, np.ndarray):
            values = np.fromiter(map(self._number, values), np.int64, len(values))
        inside = (values >= 0) & (values < len(self.labels))
        return np.where(inside, values.astype(np.int64), ABSENT)

    def _number(self, value: Any) -> int:
        if isinstance(value, str) and len(text := value.strip()) < 20 and text.isascii():
            value = int(text) if text.isdigit() else value
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
            value = int(value)
        whole = isinstance(value, int) and not isinstance(value, bool)
        return value if whole and value in self.labels else ABSENT

    def is_blank(self, value: Any) -> bool:
        """Whether a value is missing."""
        return is_blank(value, texts=True)

    def refuse(self, subject: str, unseen: Sequence[Any], remedy: str) -> DataError:
        """The error for values that are no reports."""
        return DataError(
            subject,
            expected=f"integers from 0 to {len(self.labels) - 1}, as this mechanism reports them",
            got=counted(len(unseen), "other value"),
            remedy=remedy,
        )


def _rows(column: Any, kept: NDArray[Any]) -> Any:
    """Some rows of a column of a sample."""
    return column[kept] if isinstance(column, np.ndarray) else (column[0], column[1][kept])


def _cells(column: Any, name: str) -> Any:
    """A column as cells of :class:`CountedRows`."""
    numbers = plain_numbers(column)
    if numbers is not None and numbers[1] is None:
        return numbers[0]
    return distinct_values(column, name)


def _distinct_rows(columns: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Rows that differ, the first of each, and how often each occurs."""
    places = [
        np.unique(column, return_inverse=True)[1] if isinstance(column, np.ndarray) else column[1]
        for column in columns
    ]
    code = row_codes(places, [int(part.max(initial=0)) + 1 for part in places])
    _, first, repeats = np.unique(code, return_index=True, return_counts=True)
    order = np.argsort(first)
    return first[order], repeats[order]


# Reports of several columns as those of one kernel


def asked_of(
    reports: Any,
    designed: Any,
    column: Any,
    receipt: Any,
    missing: str,
    others: Sequence[str] = (),
) -> tuple[Sample, Receipt | None, str]:
    """Reports of a design, or of a kernel on tuples, their receipt, and what could not be told of
    where they came from.

    Parameters
    ----------
    column : name of the column of reports, or of several; where left out, those that a kernel on
        tuples was designed for
    receipt : Receipt or path
    others : names of other columns, which the sample has

    Raises
    ------
    DataError, InputError, UnknownNameError
        As :func:`sample_of`, and for columns in another order.
    """
    several = None if column is None else [column]
    if isinstance(column, (list, tuple)):
        several = list(Schema(tuple(column)).names)
    if several is None and is_table(reports):
        several = report_columns(designed, reports)
    kernel = kernel_of(designed)
    several = several or [None]
    if len(several) == 1 or isinstance(reports, (Mapping, ReportCounts)):
        name = several[0] if len(several) == 1 else None
        sample = sample_of(reports, {name: kernel}, others, missing)
    else:
        check_order(several, () if kernel.schema is None else kernel.schema.names)
        name = joined(several)
        tuples = _of_tuples(reports, several, kernel, others)
        check_missing(missing, kernel)
        sample = _checked(tuples, {name: kernel}, missing, FEWEST)
    return sample, *trace(reports, name, kernel, receipt, sample.size)


def report_columns(designed: Any, reports: Any) -> list[str]:
    """The columns that reports of a design or plan are in, unless they were given other names: in
    files that lack those of a design they are called "report".
    """
    if isinstance(designed, KernelPlan):
        return list(designed.names)
    found = _designed_columns(kernel_of(designed))
    if isinstance(reports, (str, Path)):
        reports = ReportFile(reports)
    if isinstance(reports, ReportFile) and not (found and {*found} <= {*reports.table.names}):
        return ["report"]
    return found


def _designed_columns(kernel: Any) -> list[str]:
    names = [] if kernel.schema is None else list(kernel.schema.names)
    if len(names) < 2 or all(isinstance(y, tuple) and len(y) == len(names) for y in kernel.outputs):
        return names
    return ["_".join(names)]


def _of_tuples(reports: Any, names: Sequence[str], kernel: Any, others: Sequence[str]) -> Sample:
    """Several columns as one of tuples, which is null where one of them is.

    A missing part is no missing report where the kernel has outputs with ``None`` in its place.
    """
    if not all(isinstance(y, tuple) and len(y) == len(names) for y in kernel.outputs):
        raise InputError(
            "columns of reports",
            expected="one, as the reports of this kernel are no tuples",
            got=str(len(names)),
            remedy="name the column that holds them",
        )
    books = {
        name: list(dict.fromkeys(y[i] for y in kernel.outputs)) for i, name in enumerate(names)
    }
    read = _read(counted_rows(reports, names, others), books, others)
    rows, at = np.unique(np.stack([*read.places.values()]), axis=1, return_inverse=True)
    parts = [[*labels, None] for labels in books.values()]
    tuples = [tuple(map(list.__getitem__, parts, row)) for row in rows.T.tolist()]
    book = Codebook(kernel.outputs, "outputs of the mechanism")
    places = book.places(tuples)
    unseen = (places == ABSENT) & (rows != ABSENT).all(axis=0)
    if unseen.any():
        values = [tuples[i] for i in np.flatnonzero(unseen)]
        raise book.refuse(_where(joined(names)), values, "pass the mechanism that made them")
    return Sample({joined(names): places[at]}, read.repeats, read.columns, read.texts)


def traced(
    reports: Any, kernels: Mapping[Any, Any], receipt: Any, count: int
) -> tuple[list[Receipt | None], str]:
    """Receipts of so many reports in each column, and what could not be told of where they came
    from, or nothing.

    ``receipt`` is a file with those of all, or a mapping from each column to its own. Raises
    :class:`DataError` for reports that another kernel made.
    """
    own = receipt if isinstance(receipt, Mapping) else dict.fromkeys(kernels, receipt)
    told = [
        trace(reports, name, kernel, own.get(name), count, _where(name))
        for name, kernel in kernels.items()
    ]
    return [found for found, _ in told], "; ".join(note for _, note in told if note)
