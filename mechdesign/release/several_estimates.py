"""Reports of several columns as reports of one kernel on tuples, for estimates of joint tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, InputError, asked_by, quote
from ..input_tables import DROPPED, is_missing
from ..labels import Label
from ..mechanism import ImplicitKernel, Mechanism, kernel_of, mechanism_of
from ..schema import Schema
from ..solve.columns_plan import KernelPlan, product_kernel
from ..utility.questions import Question
from ._identifiability import AskedKernel, designed_question, told_by
from .codes import Codebook, labels_of_cells
from .counts import check_missing, count_rows
from .receipts import Receipt, check_receipt, load_receipt, read_receipts, receipts_of
from .samples import CountedRows, Sample, check_public, named_columns, sample_of
from .several import check_order, joined


@dataclass(frozen=True)
class Reports:
    """What an estimate is made of.

    Attributes
    ----------
    reports, mechanism, column, receipt : as of :func:`mechdesign.estimate`, of one kernel
    note : what could not be told of where reports of several columns came from; ``None`` where
        that is still to be asked
    """

    reports: Any
    mechanism: Any
    column: Any
    receipt: Any
    note: str | None = None


def one_kernel(
    reports: Any,
    mechanism: Any,
    column: Any,
    receipt: Any,
    missing: str,
    beside: Sequence[str] | None = None,
) -> Reports:
    """Reports of a plan, or of a kernel on tuples, as those of one kernel.

    Those of a table are counted; where columns ``beside`` them are asked for, such as weights, they
    are a :class:`Sample`.

    Raises :class:`InputError` for columns that are none of a plan's, :class:`DataError` for null
    reports (unless dropped) and for reports that another kernel made.
    """
    several = None
    if isinstance(column, (list, tuple)):
        several = list(Schema(tuple(column)).names)
    if isinstance(mechanism, KernelPlan):
        if isinstance(column, str):
            return Reports(reports, mechanism[column], column, receipt)
        names = several or list(mechanism.names)
        if len(names) == 1:
            return Reports(reports, mechanism[names[0]], names[0], receipt)
        return _of_plan(reports, mechanism, names, receipt, missing, beside)
    if several is None and (column is not None or not _is_table(reports)):
        return Reports(reports, mechanism, column, receipt)
    kernel = kernel_of(mechanism)
    schema = None if isinstance(kernel, ImplicitKernel) else kernel.schema
    if several is None:
        if schema is None:
            return Reports(reports, mechanism, None, receipt)
        several = report_columns(mechanism)
    if len(several) == 1:
        return Reports(reports, mechanism, several[0], receipt)
    check_order(several, () if schema is None else schema.names)
    found = mechanism_of(mechanism)
    counts = _count(reports, several, found, _parts_of(found, several), missing, beside)
    known = carried_receipts(reports).get(joined(several))
    if isinstance(receipt, (str, Path)):
        receipt = load_receipt(receipt)
    return Reports(counts, mechanism, None, receipt or known)


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


def _of_plan(
    reports: Any,
    plan: KernelPlan,
    names: list[str],
    receipt: Any,
    missing: str,
    beside: Sequence[str] | None = None,
) -> Reports:
    kernels = kernels_of(plan, names)
    note = note_of_plan(reports, kernels, receipt)
    made = list(kernels.values())
    bins = [None if k.schema is None else k.schema.bins[0] for k in made]
    together = product_kernel(made, list(product(*(kernel.inputs for kernel in made))))
    together = together.with_schema(Schema(tuple(names), tuple(bins)))
    outputs = [kernel.outputs for kernel in made]
    reports = _count(reports, names, together, outputs, missing, beside)
    asked = _asked_together([plan[name] for name in names], made)
    return Reports(reports, AskedKernel(together, asked), None, None, note)


def _asked_together(designs: Sequence[Any], kernels: Sequence[Mechanism]) -> Question | None:
    """Products of what the designs of several columns ask, of others the share of every symbol;
    ``None`` where none is for questions.
    """
    asked = [designed_question(one) for one in designs]
    if not any(asked):
        return None
    parts = [
        Question(kernel.inputs, np.eye(kernel.shape[0]))
        if own is None
        else told_by(own, [kernel]) or own
        for own, kernel in zip(asked, kernels, strict=True)
    ]
    weights = np.ones((1, 1))
    for one in parts:
        weights = np.asarray(np.kron(weights, one.weights), dtype=np.float64)
    return Question(tuple(product(*(one.labels for one in parts))), weights)


def kernels_of(plan: KernelPlan, names: Sequence[str]) -> dict[str, Mechanism]:
    """The kernel of each of these columns of a plan.

    Raises :class:`UnknownNameError` for columns that are none of its, :class:`InputError` for one
    that is named twice.
    """
    return {name: mechanism_of(plan[name]) for name in Schema(tuple(names)).names}


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
    return _unknown(joined(list(kernels)) if len(untold) == len(kernels) else untold[0])


def carried_receipts(reports: Any) -> Mapping[str, Receipt]:
    """The receipts that come with reports, by column; none with counts."""
    if isinstance(reports, CountedRows):
        return reports.receipts
    return receipts_of(reports) if _is_table(reports) else {}


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


def _unknown(name: str) -> str:
    return (
        f"no receipt came with the reports of {quote(name)}: whether this plan made them could not "
        "be told, and those of a noisier one would fit it as well"
    )


def _parts_of(kernel: Mechanism, names: Sequence[str]) -> list[Sequence[Label]]:
    """What reports in each of several columns may be, where they are parts of tuples."""
    if not all(isinstance(y, tuple) and len(y) == len(names) for y in kernel.outputs):
        raise InputError(
            "columns of reports",
            expected="one, as the reports of this kernel are no tuples",
            got=str(len(names)),
            remedy="name the column that holds them",
        )
    return [list(dict.fromkeys(y[i] for y in kernel.outputs)) for i in range(len(names))]


def _is_table(reports: Any) -> bool:
    if isinstance(reports, CountedRows):
        return True
    return hasattr(reports, "columns") and not isinstance(reports, (np.ndarray, Mapping))


def _count(
    reports: Any,
    names: list[str],
    kernel: Mechanism,
    parts: Sequence[Sequence[Label]],
    missing: str,
    beside: Sequence[str] | None,
) -> Any:
    """How often each tuple of reports occurs; rows without one of them by the policy.

    ``parts`` are the reports of each column, which the cells of a file are read as. A missing part
    is no missing report where the kernel has outputs with ``None`` in its place.
    """
    check_missing(missing, kernel)
    if isinstance(reports, (Mapping, Sample)):
        return reports
    others = [name for name in dict.fromkeys(beside or ()) if name not in names]
    if len(others) < len(set(beside or ())):
        named_columns(next(name for name in names if name in set(beside or ())), beside or ())
    check_public(others, carried_receipts(reports))
    size = len(names)
    outputs = set(kernel.outputs)
    counts: dict[Any, int] = {}
    blank = 0
    texts = isinstance(reports, CountedRows) and reports.texts
    if isinstance(reports, CountedRows):
        rows = _labelled(reports.of([*names, *others]), names, parts, texts)
    else:
        rows = count_rows(reports, [*names, *others])
    for row, n in rows.items():
        report = tuple(None if is_missing(part) else part for part in row[:size])
        if None in report and report not in outputs:
            blank += n
            continue
        key = (report, *row[size:])
        counts[key] = counts.get(key, 0) + n
    if blank and missing != "drop":
        raise DataError(
            f"reports in columns {joined(names)}",
            expected="no missing reports",
            got=f"{blank} row{'s' * (blank > 1)} without one of them",
            remedy=f"leave them out with {asked_by(*DROPPED)}; estimates are then about the others",
        )
    if beside is None:
        return {report: n for (report,), n in counts.items()}
    if not others:
        counts = {key[0]: n for key, n in counts.items()}
    return sample_of(counts, [joined(names), *others], kernel, missing, texts=texts)


def _labelled(
    rows: Mapping[tuple[Any, ...], int],
    names: Sequence[str],
    parts: Sequence[Sequence[Label]],
    texts: bool,
) -> dict[Any, int]:
    """The same rows with labels for the cells of the first columns, ``None`` for blank ones."""
    known = []
    for i, (name, labels) in enumerate(zip(names, parts, strict=True)):
        book = Codebook(labels, "outputs of the mechanism", texts=texts)
        known.append(labels_of_cells(dict.fromkeys(row[i] for row in rows), book, name))
    found: dict[Any, int] = {}
    for row, count in rows.items():
        told = (named[cell] for named, cell in zip(known, row, strict=False))
        key = (*told, *row[len(known) :])
        found[key] = found.get(key, 0) + count
    return found
