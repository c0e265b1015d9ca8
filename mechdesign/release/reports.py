"""Reports as distinct rows: from tables, columns, counts and files, with what stands beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, asked_by, quote
from ..input_tables import DROPPED, MISSING_TEXT, count_values, is_missing
from ..labels import Label, listing, parse_labels, tidy
from ..mechanism import ImplicitKernel, Mechanism, kernel_of, mechanism_of
from ..schema import Schema
from ..solve.columns_plan import KernelPlan, product_kernel
from ..utility.questions import Question
from ._identifiability import AskedKernel, designed_question, told_by
from .codes import ABSENT, Codebook, check_choice, labels_of_cells
from .counts import FEWEST, count_rows
from .receipts import Receipt, check_receipt, load_receipt, read_receipts, receipts_of, trace
from .report_counts import ReportCounts
from .several import check_order, joined

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

# Squares of sums of products of such numbers are floats, neither infinite nor zero.
_LEAST, _LARGEST = 1e-60, 1e60
_MOST = 1 << 53


@dataclass(frozen=True)
class CountedRows:
    """The distinct rows of some columns of a table.

    Attributes
    ----------
    names : of the columns; "" for a column without a name
    counts : how often each row of their cells occurs
    receipts : of the table, by column
    texts : whether cells are of a text file, so that numbers are written in digits
    """

    names: tuple[str, ...]
    counts: Mapping[tuple[Any, ...], int]
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
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
    places : positions ``(R,)`` of outputs of the mechanisms, by column of reports
    repeats : ``(R,)`` how often each row occurs
    columns : the ``R`` values of each other column
    texts : whether they were read from a text file, so that numbers are written in digits
    """

    places: dict[str, Places]
    repeats: Places
    columns: dict[str, list[Any]] = field(default_factory=dict)
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
        if isinstance(value, (bool, int, float, Decimal, Fraction)) or (
            self.texts and isinstance(value, str)
        ):
            try:
                return float(value)
            except OverflowError:
                return math.inf
            except ValueError:
                return math.nan
        return math.nan

    def categories(self, column: str, what: str) -> tuple[list[Label], Places]:
        """The distinct values of a column, sorted, and the place of each row among them.

        Raises :class:`DataError` for rows without a value.
        """
        values = [tidy(value) for value in self.columns[column]]
        blank = np.array([self.is_blank(value) for value in values], dtype=bool)
        if blank.any():
            raise DataError(
                f"{what} in column {quote(column)}",
                expected="a value in every row",
                got=f"{int(self.repeats[blank].sum())} rows without one",
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


# Rows of anything


def is_table(reports: Any) -> bool:
    """Whether reports have columns."""
    if isinstance(reports, CountedRows):
        return True
    return hasattr(reports, "columns") and not isinstance(reports, (np.ndarray, Mapping))


def rows_of(
    reports: Any, names: Sequence[str] | None, others: Sequence[str] = (), mechanism: Any = None
) -> CountedRows:
    """The distinct rows of columns of reports and of others.

    Parameters
    ----------
    reports : table, column, or mapping from outputs (of several columns tuples of them) to counts
    names : of the columns of reports; ``None`` for a column or counts without a name
    mechanism : what made reports that come as :class:`mechdesign.ReportCounts`
    """
    if isinstance(reports, ReportCounts):
        reports = reports.by_label(mechanism)
    if isinstance(reports, CountedRows):
        wanted = [*(names or reports.names[:1]), *others]
        return CountedRows(
            tuple(wanted), reports.of(wanted), reports.receipts, reports.texts
        )
    if isinstance(reports, Mapping):
        if others:
            raise _no_survey("counts")
        return CountedRows(tuple(names or ("",)), _counted(reports, len(names or ("",))), {}, False)
    if names is None:
        if is_table(reports) or others:
            if others:
                raise _no_survey("no name of a column")
            raise DataError(
                "reports",
                expected="the name of their column",
                got="a table without it",
                remedy="pass column=",
            )
        policy = "category" if _has_any(reports) else None
        counts = {} if policy is None else count_values(reports, missing=policy)
        return CountedRows(("",), {(key,): n for key, n in counts.items()}, {}, False)
    wanted = [*names, *others]
    known = receipts_of(reports)
    counts = count_rows(reports, wanted)
    if len(wanted) == 1:
        counts = {(key,): n for key, n in counts.items()}
    return CountedRows(tuple(wanted), counts, known, False)


def _no_survey(got: str) -> InputError:
    return InputError(
        "reports of a survey",
        expected="a table and the name of the column of reports",
        got=got,
        remedy="pass the table with all columns, and column=",
    )


def _has_any(reports: Any) -> bool:
    try:
        return len(reports) > 0
    except TypeError:
        return True


def _counted(reports: Mapping[Any, Any], columns: int) -> dict[tuple[Any, ...], int]:
    """Counts of outputs, or of tuples of them, checked."""
    found: dict[tuple[Any, ...], int] = {}
    for key, count in reports.items():
        row = (tidy(key),) if columns == 1 else key
        if not isinstance(row, tuple) or len(row) != columns:
            raise DataError(
                "counts of reports",
                expected="pairs of outputs as keys"
                if columns == 2
                else f"tuples of {columns} outputs as keys",
                got=f"{quote(key, 40)} for one of them",
                remedy="pass the table, or write {('a', 'x'): 12, …}",
            )
        count = tidy(count)
        whole = isinstance(count, int) and not isinstance(count, bool)
        if not whole or not 0 <= count <= _MOST:
            raise DataError(
                "counts of reports",
                expected="integers from 0 to 2**53",
                got=f"{quote(count, 40)} for one of them",
                remedy="pass how often each output was reported",
            )
        row = tuple(map(tidy, row))
        found[row] = found.get(row, 0) + count
    return found


# Reports in rows


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


def _holds_missing(labels: Sequence[Label]) -> bool:
    return any(
        label is None or (isinstance(label, tuple) and any(part is None for part in label))
        for label in labels
    )


def check_beside(columns: Sequence[str], others: Sequence[str], receipts: Any) -> None:
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


def sample_of(
    rows: CountedRows,
    kernels: Mapping[str, Mechanism],
    missing: str = "error",
    *,
    fewest: int = FEWEST,
) -> Sample:
    """Rows with positions of outputs, checked; columns of reports are named by their kernels.

    Raises
    ------
    DataError
        For reports that a mechanism cannot produce or that another one made by their receipts, for
        null reports unless they are dropped, and for fewer than there must be.
    """
    check_missing(missing, *kernels.values())
    beside = [name for name in rows.names if name not in kernels]
    check_beside(list(kernels), beside, rows.receipts)
    cells = rows.of([*kernels, *beside])
    every = list(cells)
    repeats = np.fromiter(cells.values(), np.int64, len(every))
    places: dict[str, Places] = {}
    blank = np.zeros(len(every), dtype=bool)
    for k, (name, kernel) in enumerate(kernels.items()):
        where = f"reports in column {quote(name)}" if name else "reports"
        if name in rows.receipts:
            check_receipt(rows.receipts[name], kernel)
        book = Codebook(kernel.outputs, "outputs of the mechanism", texts=rows.texts)
        at = {value: book.place(tidy(value)) for value in dict.fromkeys(row[k] for row in every)}
        unseen = [v for v, place in at.items() if place == ABSENT and not book.is_blank(v)]
        if unseen:
            raise book.refuse(where, unseen, "pass the mechanism that made them")
        places[name] = np.array([at[row[k]] for row in every], dtype=np.int64)
        blank |= places[name] == ABSENT
    if blank.any() and missing != "drop":
        count, several = int(repeats[blank].sum()), len(kernels) > 1
        where = f"reports in column {quote(next(iter(kernels)))}" if any(kernels) else "reports"
        raise DataError(
            f"reports in columns {listing(list(kernels))}" if several else where,
            expected="no missing reports",
            got=f"{count} row{'s' * (count > 1)} without one of them" if several else str(count),
            remedy=f"leave them out with {asked_by(*DROPPED)}; estimates are then about the others",
        )
    kept = np.flatnonzero(~blank & (repeats > 0))
    columns = {name: [every[i][k] for i in kept] for k, name in enumerate(beside, len(kernels))}
    places = {name: part[kept] for name, part in places.items()}
    made = Sample(places, repeats[kept], columns, rows.texts)
    for name, kernel in kernels.items():
        _check_possible(made, name, kernel)
    if made.size < fewest:
        raise DataError(
            "reports",
            expected=f"at least {fewest}",
            got=str(made.size),
            remedy="collect more; md.plan (mechdesign plan) says how many",
        )
    return made


def _check_possible(sample: Sample, name: str, kernel: Mechanism) -> None:
    """Refuse reports of probability zero."""
    never = np.asarray(kernel.weights == 0, dtype=bool).all(axis=0)
    wrong = never[sample.places[name]]
    if wrong.any():
        first = sample.places[name][wrong][0]
        count = int(sample.repeats[sample.places[name] == first].sum())
        raise DataError(
            "reports",
            expected="outputs that the mechanism can produce",
            got=f"{quote(kernel.outputs[first])}, which no input gives, {count} times",
            remedy="pass the mechanism that made them",
        )


def table_of(sample: Sample, kernels: Mapping[str, Mechanism]) -> Places:
    """How often each output, or combination of outputs, was reported, an axis for each column."""
    found = np.zeros([len(kernel.outputs) for kernel in kernels.values()], dtype=np.int64)
    np.add.at(found, tuple(sample.places[name] for name in kernels), sample.repeats)
    return found


# Reports of several columns as those of one kernel


@dataclass(frozen=True)
class Asked:
    """A kernel with the rows of its reports.

    Attributes
    ----------
    designed : design or kernel, which is of all columns together where there are several
    kernel : of it
    rows : of reports, in their first column, and what stands beside them
    receipt : the one that came with the reports, ``None`` where none did
    note : what could not be told of where they came from, or nothing
    """

    designed: Any
    kernel: Mechanism
    sample: Sample
    receipt: Receipt | None
    note: str


def asked_of(
    reports: Any,
    designed: Any,
    column: Any,
    receipt: Any,
    missing: str,
    others: Sequence[str] = (),
    *,
    fewest: int = FEWEST,
) -> Asked:
    """Reports of a design, of a kernel on tuples, or of columns of a plan.

    Parameters
    ----------
    column : name of the column of reports, or of several; where left out, all of a plan, and those
        that a kernel on tuples was designed for
    receipt : Receipt or path, of a plan also a mapping from column to one
    others : names of other columns, which the sample has

    Raises
    ------
    DataError, InputError, UnknownNameError
        As :func:`sample_of`, and for columns that are none of a plan's.
    """
    several = list(Schema(tuple(column)).names) if isinstance(column, (list, tuple)) else None
    if isinstance(column, str):
        several = [column]
    note = None
    if isinstance(designed, KernelPlan):
        several = several or list(designed.names)
        if len(several) == 1:
            designed = designed[several[0]]
        else:
            note = note_of_plan(reports, kernels_of(designed, several), receipt)
            designed, receipt = together(designed, several), None
    elif several is None and is_table(reports):
        several = report_columns(designed) or None
    kernel = mechanism_of(designed)
    if several is None or len(several) == 1 or isinstance(reports, Mapping):
        one = several if several is not None and len(several) == 1 else None
        rows = rows_of(reports, one, others, designed)
    else:
        if note is None:
            check_order(several, () if kernel.schema is None else kernel.schema.names)
        rows = _of_tuples(rows_of(reports, several, others), several, kernel, missing)
    sample = sample_of(rows, {rows.names[0]: kernel}, missing, fewest=fewest)
    known = None
    if note is None:
        if isinstance(receipt, (str, Path)):
            receipt = load_receipt(receipt, rows.names[0] or None)
        receipt = receipt or rows.receipts.get(rows.names[0])
        named = rows.names[0] if is_table(reports) and not isinstance(reports, CountedRows) else ""
        plain = named and len(several or ()) == 1
        known, note = trace(reports, named if plain else None, kernel, receipt, sample.size)
    return Asked(designed, kernel, sample, known, note)


def report_columns(designed: Any) -> list[str]:
    """The columns that reports of a design or plan are in, unless they were given other names."""
    if isinstance(designed, KernelPlan):
        return list(designed.names)
    kernel = kernel_of(designed)
    schema = None if isinstance(kernel, ImplicitKernel) else kernel.schema
    names = [] if schema is None else list(schema.names)
    if len(names) < 2 or all(isinstance(y, tuple) and len(y) == len(names) for y in kernel.outputs):
        return names
    return ["_".join(names)]


def _of_tuples(
    rows: CountedRows, names: Sequence[str], kernel: Mechanism, missing: str
) -> CountedRows:
    """Rows with one column of tuples in place of several; null where a part is missing.

    A missing part is no missing report where the kernel has outputs with ``None`` in its place.
    """
    if not all(isinstance(y, tuple) and len(y) == len(names) for y in kernel.outputs):
        raise InputError(
            "columns of reports",
            expected="one, as the reports of this kernel are no tuples",
            got=str(len(names)),
            remedy="name the column that holds them",
        )
    check_beside(names, rows.names[len(names) :], rows.receipts)
    outputs = set(kernel.outputs)
    named = []
    for i, name in enumerate(names):
        book = Codebook(
            list(dict.fromkeys(y[i] for y in kernel.outputs)),
            "outputs of the mechanism",
            texts=rows.texts,
        )
        named.append(labels_of_cells(dict.fromkeys(row[i] for row in rows.counts), book, name))
    found: dict[tuple[Any, ...], int] = {}
    for row, count in rows.counts.items():
        report = tuple(labels[cell] for labels, cell in zip(named, row, strict=False))
        key = (None if None in report and report not in outputs else report, *row[len(names) :])
        found[key] = found.get(key, 0) + count
    every = (joined(names), *rows.names[len(names) :])
    return replace(rows, names=every, counts=found)


def kernels_of(plan: KernelPlan, names: Sequence[str]) -> dict[str, Mechanism]:
    """The kernel of each of these columns of a plan.

    Raises :class:`UnknownNameError` for columns that are none of its, :class:`InputError` for one
    that is named twice.
    """
    return {name: mechanism_of(plan[name]) for name in Schema(tuple(names)).names}


def together(plan: KernelPlan, names: Sequence[str]) -> AskedKernel:
    """Columns of a plan as one kernel, with the products of what their designs ask, of others the
    share of every symbol.
    """
    kernels = list(kernels_of(plan, names).values())
    bins = [None if k.schema is None else k.schema.bins[0] for k in kernels]
    made = product_kernel(kernels, list(product(*(kernel.inputs for kernel in kernels))))
    made = made.with_schema(Schema(tuple(names), tuple(bins)))
    asked = [designed_question(plan[name]) for name in names]
    if not any(asked):
        return AskedKernel(made, None)
    parts = [
        Question(kernel.inputs, np.eye(kernel.shape[0]))
        if own is None
        else told_by(own, [kernel]) or own
        for own, kernel in zip(asked, kernels, strict=True)
    ]
    weights = np.ones((1, 1))
    for one in parts:
        weights = np.asarray(np.kron(weights, one.weights), dtype=np.float64)
    return AskedKernel(made, Question(tuple(product(*(one.labels for one in parts))), weights))


def note_of_plan(reports: Any, kernels: Mapping[str, Mechanism], receipt: Any) -> str:
    """What could not be told of where reports of several columns came from, or nothing.

    Raises :class:`DataError` for reports that another kernel made.
    """
    carried = {**carried_receipts(reports), **_receipts_in(receipt)}
    for name, kernel in kernels.items():
        if name in carried:
            check_receipt(carried[name], kernel)
    untold = [name for name in kernels if name not in carried]
    if not untold:
        return ""
    name = joined(list(kernels)) if len(untold) == len(kernels) else untold[0]
    return (
        f"no receipt came with the reports of {quote(name)}: whether this plan made them could not "
        "be told, and those of a noisier one would fit it as well"
    )


def carried_receipts(reports: Any) -> Mapping[str, Receipt]:
    """The receipts that come with reports, by column; none with counts."""
    if isinstance(reports, CountedRows):
        return reports.receipts
    return receipts_of(reports) if is_table(reports) else {}


def _receipts_in(receipt: Any) -> Mapping[str, Receipt]:
    """Receipts of columns by name: from a file that holds them, or as they were given."""
    if receipt is None:
        return {}
    if isinstance(receipt, (str, Path)):
        return read_receipts(receipt)[0]
    if isinstance(receipt, Mapping):
        return {
            str(name): one if isinstance(one, Receipt) else load_receipt(one, str(name))
            for name, one in receipt.items()
        }
    raise InputError(
        "receipt",
        expected="a file with the receipts of all columns, or a mapping from each to its own",
        got=type(receipt).__name__,
        remedy="pass the file that privatize(..., receipt=) wrote",
    )
