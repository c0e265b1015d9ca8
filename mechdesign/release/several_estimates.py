"""Reports of several columns as reports of one kernel on tuples, for estimates of joint tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, InputError, quote
from ..input_tables import is_missing
from ..mechanism import ImplicitKernel, Mechanism, kernel_of, mechanism_of
from ..schema import Schema
from ..solve.columns_plan import KernelPlan, product_kernel
from .counts import check_missing, count_rows
from .receipts import Receipt, check_receipt, load_receipt, read_receipts, receipts_of
from .samples import Sample, named_columns, sample_of
from .several import joined
from .table_files import count_file, file_receipts


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
    counts = _count(reports, several, mechanism_of(mechanism), missing, beside)
    known = receipts_of(reports).get(joined(several)) if _is_table(reports) else None
    return Reports(counts, mechanism, None, receipt or known)


def count_several(
    path: Any, designed: Any, columns: list[str], *, receipt: Any = None, progress: bool = False
) -> Reports | None:
    """Reports in columns of a file, of a plan or of a kernel on tuples; ``None`` for one column.

    Raises :class:`DataError` as :func:`count_file`, :class:`InputError` for other columns.
    """
    if isinstance(designed, KernelPlan):
        names = columns or list(designed.names)
        made = [designed[name] for name in names]
        counts = count_file(path, names, made, progress=progress)
        if len(names) == 1:
            return Reports(counts, made[0], None, file_receipts(path).get(names[0]))
        known = _receipts_in(receipt)
        for name, one in zip(names, made, strict=True):
            if name in known:
                check_receipt(known[name], one)
        told = [name for name in names if name not in {**file_receipts(path), **known}]
        found = _of_plan(counts, designed, names, None, "drop")
        return replace(found, note=_unknown(told[0]) if told else "")
    kernel = kernel_of(designed)
    if isinstance(kernel, ImplicitKernel) or len(columns) < 2:
        return None
    if not all(isinstance(y, tuple) and len(y) == len(columns) for y in kernel.outputs):
        raise InputError(
            "columns of reports",
            expected="one, as the reports of this kernel are no tuples",
            got=str(len(columns)),
            remedy="name the column that holds them",
        )
    parts = [list(dict.fromkeys(y[i] for y in kernel.outputs)) for i in range(len(columns))]
    books = [Mechanism([[1 / len(part)] * len(part)], None, part, normalise=True) for part in parts]
    receipts = file_receipts(path, check=True)
    counts = count_file(path, columns, books, progress=progress, traced=False)
    return Reports(counts, designed, None, receipts.get(joined(columns)))


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
    kernels = [mechanism_of(plan[name]) for name in Schema(tuple(names)).names]
    note = ""
    if _is_table(reports):
        carried = {**receipts_of(reports), **_receipts_in(receipt)}
        for name, kernel in zip(names, kernels, strict=True):
            if name in carried:
                check_receipt(carried[name], kernel)
            else:
                note = _unknown(name)
    else:
        note = _unknown(joined(names))
    bins = [None if k.schema is None else k.schema.bins[0] for k in kernels]
    together = product_kernel(kernels, _combinations(kernels))
    together = together.with_schema(Schema(tuple(names), tuple(bins)))
    reports = _count(reports, names, together, missing, beside)
    return Reports(reports, together, None, None, note)


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


def _combinations(kernels: list[Mechanism]) -> list[Any]:
    shape = [kernel.shape[0] for kernel in kernels]
    return [
        tuple(kernel.inputs[i] for kernel, i in zip(kernels, place, strict=True))
        for place in np.ndindex(*shape)
    ]


def _is_table(reports: Any) -> bool:
    return hasattr(reports, "columns") and not isinstance(reports, (np.ndarray, Mapping))


def _count(
    reports: Any,
    names: list[str],
    kernel: Mechanism,
    missing: str,
    beside: Sequence[str] | None,
) -> Any:
    """How often each tuple of reports occurs; rows without one of them by the policy.

    A missing part is no missing report where the kernel has outputs with ``None`` in its place.
    """
    check_missing(missing, kernel)
    if isinstance(reports, (Mapping, Sample)):
        return reports
    others = [name for name in dict.fromkeys(beside or ()) if name not in names]
    if len(others) < len(set(beside or ())):
        named_columns(next(name for name in names if name in set(beside or ())), beside or ())
    size = len(names)
    outputs = set(kernel.outputs)
    counts: dict[Any, int] = {}
    blank = 0
    for row, n in count_rows(reports, [*names, *others]).items():
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
            remedy="leave them out with missing='drop' (--missing drop); estimates are then about "
            "the others",
        )
    if beside is None:
        return {report: n for (report,), n in counts.items()}
    if not others:
        counts = {key[0]: n for key, n in counts.items()}
    return sample_of(counts, [joined(names), *others], kernel, missing)
