"""The receipts that belong to files: in their metadata, or beside those of text."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from ..errors import DataError, LeftoverWarning, StorageError, warn
from ..tables.files import RUN, find_inputs, is_text
from ..tables.reading import open_table
from .receipts import Receipt, read_receipts, schema_receipts

_CHUNK = 1 << 20


def receipt_path(path: str | Path) -> Path:
    """Where the receipt of a text file is: next to it."""
    return Path(f"{path}.receipt.json")


def file_receipts(path: str | Path, *, check: bool = False) -> dict[str, Receipt]:
    """The receipts that belong to a file, by column; empty where there are none.

    Those of a folder or a pattern are of columns that have one in each file, by one kernel. Raises
    :class:`DataError` where there are several.
    """
    inputs = find_inputs(path)
    if inputs is not None:
        if (inputs.base / RUN).exists():
            warn(
                f"the release into {inputs.base} was stopped, and only some of its reports are "
                "there; the call that began it goes on with it",
                LeftoverWarning,
            )
        return _receipts_of_all([file_receipts(one, check=check) for one in inputs.paths])
    if Path(path).suffix and not is_text(path):
        return schema_receipts(open_table(path).schema)
    beside = receipt_path(path)
    if not beside.exists():
        return {}
    found, digest = read_receipts(beside)
    if check and digest != file_digest(Path(path)):
        raise DataError(
            f"file {Path(path).name}",
            expected="the file that its receipt was written for",
            got="other contents",
            remedy="take the original file; reports must not be edited",
        )
    return found


def _receipts_of_all(each: list[dict[str, Receipt]]) -> dict[str, Receipt]:
    """Receipts of the columns of several files as of one."""
    found = {}
    for column, first in each[0].items():
        all_of_it = [receipts[column] for receipts in each if column in receipts]
        if len(all_of_it) < len(each):
            continue  # where some reports came from cannot be told
        kernels = {receipt.kernel for receipt in all_of_it}
        if len(kernels) > 1:
            raise DataError(
                f"reports in column {column!r}",
                expected="reports of one mechanism in all files",
                got=f"those of {len(kernels)}",
                remedy="estimate from the files of each by themselves",
            )
        rows = [receipt.rows for receipt in all_of_it]
        total = None if None in rows else sum(row for row in rows if row is not None)
        found[column] = replace(first, rows=total, reports=None)
    return found


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as problem:
        raise StorageError(f"file {path}: cannot be read ({problem.strerror}).") from None
    return digest.hexdigest()
