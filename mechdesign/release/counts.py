"""Counts of reports, and of rows about one person: from tables, columns, mappings of counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    DataError,
    InputError,
    RepeatWarning,
    UnknownNameError,
    asked_by,
    is_iterable,
    quote,
    warn,
)
from ..input_tables import DROPPED, count_values, is_missing
from ..joint_tables import renamed_columns
from ..labels import Label, listing, tidy
from ..mechanism import Mechanism
from ..theory._composition import compose
from ._identifiability import FEWEST
from .codes import ABSENT, Codebook, check_choice
from .receipts import check_receipt, receipts_of
from .report_counts import ReportCounts

_MOST = 1 << 53


def count_reports(
    reports: Any,
    mechanism: Mechanism,
    column: str | None = None,
    *,
    missing: str = "error",
    fewest: int = FEWEST,
) -> NDArray[np.int64]:
    """How often each output of the mechanism was reported, ``(M,)``.

    Parameters
    ----------
    reports : mapping from output to count, column of reports, table (with ``column``), or counts
    column : name of the column in a table; a receipt that it carries must name this kernel
    missing : {"error", "drop", "category"}
        What to do with null reports; they are a category where the mechanism has the input None.
    fewest : how many there must be

    Raises
    ------
    DataError
        For reports that the mechanism cannot produce, or too few of them.
    """
    missing = check_missing(missing, mechanism)
    if isinstance(reports, ReportCounts):
        reports = reports.by_label(mechanism)
    if isinstance(reports, Mapping):
        counts: Mapping[Label, int] = {tidy(k): tidy(n) for k, n in reports.items()}
    elif column is not None:
        counts = count_columns(reports, [column], [mechanism])
    elif hasattr(reports, "columns") and not isinstance(reports, np.ndarray):
        raise DataError(
            "reports",
            expected="the name of their column",
            got="a table without it",
            remedy="pass column=",
        )
    else:
        policy = "error" if missing == "category" and None not in mechanism.outputs else missing
        counts = count_values(reports, missing=policy) if _has_any(reports) else {}
    pairs = {(label,): count for label, count in counts.items()}
    return _tally(pairs, [mechanism], ["reports"], missing, fewest)


def count_pairs(
    reports: Any, mechanisms: Sequence[Mechanism], columns: Sequence[str], missing: str
) -> NDArray[np.int64]:
    """How often each pair of outputs was reported in two columns, ``(M1, M2)``.

    Takes a table with both columns or a mapping from pairs to counts; raises as
    :func:`count_reports` does.
    """
    check_missing(missing, *mechanisms)
    if isinstance(reports, Mapping):
        counts = {
            (tidy(key[0]), tidy(key[1])): tidy(count)
            for key, count in reports.items()
            if isinstance(key, tuple) and len(key) == 2
        }
        if len(counts) != len(reports):
            raise DataError(
                "counts of reports",
                expected="pairs of outputs as keys",
                got="other keys",
                remedy="write {('a', 'x'): 12, …}",
            )
    else:
        counts = count_columns(reports, list(columns), mechanisms)
    names = [f"reports in column {quote(column)}" for column in columns]
    return _tally(counts, mechanisms, names, missing)


def check_missing(missing: Any, *mechanisms: Mechanism) -> str:
    """What is done with null reports: "category" wherever a mechanism reports ``None``, by itself
    or in one of the columns of a tuple.

    Raises :class:`DataError` for missing answers as a category where no input stands for them.
    """
    check_choice("policy for missing reports", missing, ("error", "drop", "category"))
    if missing == "category" and not any(_holds_missing(each.inputs) for each in mechanisms):
        raise DataError(
            "mechanism for missing answers as a category",
            expected="an input None, which stands for them",
            got=listing([label for each in mechanisms for label in each.inputs]),
            remedy="design with "
            + asked_by(
                "the prior of md.Prior.from_data(column, missing='category')",
                "design --missing category",
            )
            + f", or leave them out with {asked_by(*DROPPED)}",
        )
    return "category" if any(_holds_missing(each.outputs) for each in mechanisms) else str(missing)


def _holds_missing(labels: Iterable[Label]) -> bool:
    """Whether some label is ``None``, or a tuple with it."""
    return any(
        label is None or (isinstance(label, tuple) and any(part is None for part in label))
        for label in labels
    )


def _tally(
    counts: Mapping[tuple[Label, ...], int],
    mechanisms: Sequence[Mechanism],
    names: Sequence[str],
    missing: str,
    fewest: int = FEWEST,
) -> NDArray[np.int64]:
    """Counts by labels as an array over the outputs of each mechanism, checked."""
    books = [Codebook(m.outputs, "outputs of the mechanism") for m in mechanisms]
    found = np.zeros([len(book.labels) for book in books], dtype=np.int64)
    unseen: list[list[Label]] = [[] for _ in books]
    blanks = [0] * len(books)
    for labels, count in counts.items():
        count = _checked_count(count)
        places = [book.place(label) for book, label in zip(books, labels, strict=True)]
        absent = [i for i, place in enumerate(places) if place == ABSENT]
        if not absent:
            found[tuple(places)] += count
            continue
        blank = [i for i in absent if is_missing(labels[i])]
        if blank and missing == "drop":
            continue
        for i in absent:
            if i in blank:
                blanks[i] += count
            else:
                unseen[i].append(labels[i])
    for name, book, others, empty in zip(names, books, unseen, blanks, strict=True):
        if others:
            raise book.refuse(name, others, "pass the mechanism that made them")
        if empty:
            raise DataError(
                name,
                expected="no missing reports",
                got=str(empty),
                remedy=f"leave them out with {asked_by(*DROPPED)}; estimates are then about the "
                "others",
            )
    for axis, mechanism in enumerate(mechanisms):
        others_of = tuple(i for i in range(found.ndim) if i != axis)
        check_tally(found.sum(axis=others_of), mechanism, fewest)
    return found


def _checked_count(count: Any) -> int:
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


def check_tally(found: NDArray[np.int64], mechanism: Mechanism, fewest: int = FEWEST) -> None:
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
    if found.sum() < fewest:
        raise DataError(
            "reports",
            expected=f"at least {fewest}",
            got=str(int(found.sum())),
            remedy="collect more; md.plan (mechdesign plan) says how many",
        )


def _has_any(reports: Any) -> bool:
    try:
        return len(reports) > 0
    except TypeError:
        return True


def count_columns(
    table: Any, columns: list[str], mechanisms: Sequence[Mechanism]
) -> dict[Any, int]:
    """:func:`count_rows` of columns; receipts of the first ones must name the mechanisms."""
    receipts = receipts_of(table)
    for column, mechanism in zip(columns, mechanisms, strict=False):
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
    try:
        grouped = renamed_columns(table, keys).group_by(*keys).agg(nw.len().alias("rows"))
        found = grouped.collect().to_dict(as_series=False)
    except TypeError:  # pandas keeps lists as objects
        raise _no_labels(*columns) from None
    values = found["c0"] if len(keys) == 1 else zip(*(found[key] for key in keys), strict=True)
    counts: dict[Any, int] = {}
    for key, count in zip(values, found["rows"], strict=True):
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
                remedy="pass one table with a column for each, or leave out column= for a list",
            )
        parts.append(count_rows(table, columns))
    return _sum(parts)


def _sum(parts: Iterable[dict[Any, int]]) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for part in parts:
        for key, count in part.items():
            total[key] = total.get(key, 0) + count
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
    return max((n for who, n in counts.items() if not is_missing(who)), default=0)
