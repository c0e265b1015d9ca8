"""Reports of a survey beside what is known of each person: weights, strata, clusters, groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, asked_by, quote
from ..input_tables import DROPPED, MISSING_TEXT, is_missing
from ..labels import Label, counted, listing, parse_labels, tidy
from ..mechanism import Mechanism
from .codes import ABSENT, Codebook
from .counts import check_missing, check_tally, count_columns
from .receipts import Receipt, check_receipt, receipts_of

Vector = NDArray[np.float64]

# Squares of sums of products of such numbers are floats, neither infinite nor zero.
_LEAST, _LARGEST = 1e-60, 1e60


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
    columns : the ``R`` values of each other column
    texts : whether they were read from a text file, so that numbers are written in digits
    """

    reports: NDArray[np.int64]
    repeats: NDArray[np.int64]
    columns: dict[str, list[Any]]
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
        found = np.array([self._number(value) for value in values])
        wrong = ~np.isfinite(found)
        if wrong.any():
            blank = np.array([self.is_blank(value) for value in values])
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
        values = [value for value in self.columns[column] if not self.is_blank(value)]
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
        values = [tidy(value) for value in self.columns[column]]
        blank = np.array([self.is_blank(value) for value in values], dtype=bool)
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
        return [labels[i] for i in order], np.array([place[v] for v in values], dtype=np.int64)


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
    names = named_columns(column, others)
    check_public(others, receipts_of(reports))
    return sample_of(count_columns(reports, names, [mechanism]), names, mechanism, missing)


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
    check_public(others, table.receipts if isinstance(table, CountedRows) else receipts_of(table))
    texts = False
    if isinstance(table, CountedRows):
        for name, kernel in kernels.items():
            if name in table.receipts:
                check_receipt(table.receipts[name], kernel)
        counts: Mapping[Any, int] = table.of(names)
        texts = table.texts
    else:
        counts = count_columns(table, names, list(kernels.values()))
    rows = list(counts) if len(names) > 1 else [(key,) for key in counts]
    places, blank = {}, np.zeros(len(rows), dtype=bool)
    for k, (name, kernel) in enumerate(kernels.items()):
        book = Codebook(kernel.outputs, "outputs of the mechanism", texts=texts)
        at = {value: book.place(value) for value in dict.fromkeys(row[k] for row in rows)}
        unseen = [v for v, place in at.items() if place == ABSENT and not book.is_blank(v)]
        if unseen:
            where = f"reports in column {quote(name)}"
            raise book.refuse(where, unseen, "pass the mechanism that made them")
        places[name] = np.array([at[row[k]] for row in rows], dtype=np.int64)
        blank |= places[name] == ABSENT
    repeats = np.fromiter(counts.values(), np.int64, len(rows))
    if blank.any() and missing != "drop":
        raise DataError(
            f"reports in columns {listing(list(kernels))}",
            expected="no missing reports",
            got=f"{counted(int(repeats[blank].sum()), 'row')} without one of them",
            remedy=f"leave them out with {asked_by(*DROPPED)}; estimates are then about the others",
        )
    kept = np.flatnonzero(~blank)
    beside = {name: [rows[i][k] for i in kept] for k, name in enumerate(names) if k >= len(kernels)}
    sample = Sample(np.arange(len(kept)), repeats[kept], beside, texts)
    return sample, {name: part[kept] for name, part in places.items()}
