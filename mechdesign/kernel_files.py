"""Kernels in the forms that people keep them in: matrices as CSV and JSON, and saved designs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, InputError
from .files import parse_json, read_text, write_text
from .labels import Label, excel_safe_cell
from .mechanism import Mechanism
from .solve._design import Design
from .solve.columns_plan import KernelPlan
from .storage import FORMAT, from_json, load
from .tables.matrices import read_matrix, rows_as_written
from .tables.writing import csv_text

if TYPE_CHECKING:
    from .subsets import SubsetSelection


def load_kernel(
    path: str | Path, *, normalise: bool = False
) -> Design | Mechanism | SubsetSelection:
    """A kernel from any of the forms people keep them in, recognised by what the file holds.

    What :func:`save` wrote; a JSON array of rows; a JSON object with ``kernel`` and optionally
    ``inputs`` and ``outputs``; or a CSV matrix with labels.
    """
    content = _json_in(path)
    if content is not None:
        named = {"kernel": content} if isinstance(content, list) else content
        if "kernel" not in named or named.get("format") == FORMAT:
            return from_json(content, str(path))
        exact = _json_in(path, exact=True)
        rows: Any = rows_as_written(exact if isinstance(exact, list) else exact["kernel"])
        return Mechanism(
            rows or named["kernel"],
            named.get("inputs"),
            named.get("outputs"),
            normalise=normalise,
        )
    matrix, inputs, outputs = read_matrix(path, exact=True)
    _refuse_unlabelled(path, matrix, inputs)
    return Mechanism(matrix, inputs, outputs, normalise=normalise)


def _refuse_unlabelled(path: str | Path, matrix: NDArray[Any], inputs: list[Label]) -> None:
    """Refuse rows that sum to one only with what stands in the place of their labels."""
    if not all(isinstance(label, (int, float)) for label in inputs):
        return
    with np.errstate(over="ignore"):
        rest = matrix.sum(axis=1)
    whole = rest + np.array(inputs, dtype=float)
    if (abs(whole - 1) < 1e-6).all() and not (abs(rest - 1) < 1e-6).all():
        raise DataError(
            f"matrix {path}",
            expected="a label first in each line, then the chances of its row",
            got="lines that sum to one with their first cell",
            remedy="put a line of labels such as input,a,b above, and a label before each row",
        )


def _json_in(path: str | Path, *, exact: bool = False) -> Any:
    """The object or array that a file holds; ``None`` for CSV."""
    text = "" if str(path).lower().endswith(".csv") else read_text(path)
    is_json = text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
    return parse_json(text, f"file {path}", exact=exact) if is_json else None


def is_plan_file(path: str | Path) -> bool:
    """Whether a file says that it is a plan for several columns, or the public form of one."""
    content = _json_in(path)
    is_ours = isinstance(content, dict) and content.get("format") == FORMAT
    return is_ours and content.get("kind") in ("plan", "public plan")


def check_order(kernel: str | Path, table: str | Path) -> None:
    """Raise :class:`InputError` where a saved design stands in the place of the table, so that rows
    of people are not read as those of a kernel, and then quoted.
    """
    is_first, is_second = (str(path).lower().endswith(".json") for path in (kernel, table))
    if is_first or not is_second or not Path(table).is_file():
        return
    content = _json_in(table)
    if isinstance(content, dict) and content.get("format") == FORMAT:
        raise InputError(
            "files",
            expected="the saved design first, then the table",
            got=f"the design {table} in the place of the table",
            remedy=f"exchange them: {table} {kernel}",
        )


def load_release(path: str | Path) -> Design | Mechanism | SubsetSelection | KernelPlan:
    """What reports are drawn from: a kernel as :func:`load_kernel` reads it, or a saved plan."""
    if not is_plan_file(path):
        return load_kernel(path)
    found = load(path)
    assert isinstance(found, KernelPlan)
    return found


def write_csv(
    mechanism: Mechanism, path: str | Path, *, overwrite: bool = False, excel_safe: bool = False
) -> None:
    """Write a kernel as CSV, see :func:`kernel_csv`."""
    write_text(kernel_csv(mechanism, excel_safe=excel_safe), path, overwrite=overwrite)


def kernel_csv(mechanism: Mechanism, *, excel_safe: bool = False) -> str:
    """A kernel as CSV text: output labels in the header, input labels in the first column.

    Entries are written so that they read back as the same floats. With ``excel_safe`` labels that
    a spreadsheet would run get an apostrophe, see :func:`mechdesign.labels.excel_safe_cell`; such
    a file names other labels.
    """
    return csv_text(kernel_rows(mechanism, excel_safe=excel_safe))


def kernel_rows(mechanism: Mechanism, *, excel_safe: bool = False) -> list[list[Any]]:
    """The rows of :func:`kernel_csv`."""
    cell = excel_safe_cell if excel_safe else lambda label: label
    pairs = zip(mechanism.inputs, mechanism.kernel.tolist(), strict=True)
    return [
        ["input", *map(cell, mechanism.outputs)],
        *([cell(label), *map(repr, row)] for label, row in pairs),
    ]
