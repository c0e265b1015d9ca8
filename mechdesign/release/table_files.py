"""Tables in CSV and Parquet files: read and written batch by batch, and known by their receipts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, LeftoverWarning, StorageError, warn
from ..input_tables import MISSING_TEXT
from ..labels import parse_labels
from ..progress import counter
from ..subsets import SubsetSelection
from .adapters import load_arrow
from .column import find_column
from .counts import count_rows
from .csv_files import CSV_ENDINGS, csv_batches, new_csv
from .input_files import RUN, file_ending, find_inputs, is_csv
from .receipts import Receipt, read_receipts, schema_receipts
from .reports import CountedRows, Sample, sample_of

# Rows of a batch: more where all of them have the same size, a few bytes for each column.
_ROWS, _FIXED_ROWS, _FIXED_BYTES = 1 << 16, 1 << 17, 1 << 23
_CHUNK = 1 << 20
# Reports that were read are put together where there are so many of them.
_PENDING = 1 << 22


# Reading


@contextmanager
def open_batches(
    path: str | Path, columns: list[str] | None = None, coded: str | None = None
) -> Iterator[tuple[Any, Iterator[Any], int | None]]:
    """Schema, batches and number of rows (where it is known) of a file.

    All columns of a CSV file are text, so that what is not privatised is written as it was read.
    Where a Parquet file has text in the column ``coded``, batches have it as a dictionary, which is
    how it lies there, whatever the schema says. One batch is read while another is at work.
    """
    pa = load_arrow()
    ending = file_ending(path)
    if not Path(path).is_file():
        raise DataError(
            "table", expected="an existing file", got=str(path), remedy="check the path"
        )
    try:
        if ending in CSV_ENDINGS:
            with csv_batches(path, columns) as (schema, batches):
                yield schema, batches, None
        else:
            from pyarrow.parquet import ParquetFile

            # Without these, the reader keeps what it has read until the end of the file.
            options = {"buffer_size": _CHUNK, "pre_buffer": False}
            with ParquetFile(path, **options) as file:
                schema, total = file.schema_arrow, file.metadata.num_rows
                for column in columns or []:
                    find_column(schema.names, column)
            as_codes = [coded] if coded is not None and _is_text(schema, coded) else None
            rows = _rows_at_once(schema, columns, as_codes or [])
            with (
                ParquetFile(path, read_dictionary=as_codes, **options) as file,
                _ahead(
                    batch
                    for number in range(file.num_row_groups)
                    for batch in file.iter_batches(rows, row_groups=[number], columns=columns)
                ) as batches,
            ):
                yield schema, batches, total
    except pa.ArrowInvalid as problem:
        raise DataError(
            f"table {Path(path).name}",
            expected=f"a {ending[1:]} file",
            got=_without_cells(problem),
            remedy="check the file",
        ) from None
    except (OSError, EOFError) as problem:
        raise DataError(
            f"table {Path(path).name}",
            expected="a readable file",
            got=" ".join(str(problem).split())[:200].rstrip("."),
            remedy="check the path and its permissions",
        ) from None


@contextmanager
def _open_reports(
    path: str | Path, columns: list[str]
) -> Iterator[tuple[Iterator[Any], int | None]]:
    """Batches and number of rows (where it is known) of a file, a folder or a pattern of files."""
    inputs = find_inputs(path)
    if inputs is None:
        with open_batches(path, columns) as (_, batches, total):
            yield batches, total
        return

    def chained() -> Iterator[Any]:
        for one in inputs.paths:
            with open_batches(one, columns) as (_, batches, _):
                yield from batches

    yield chained(), None


def _is_text(schema: Any, column: str) -> bool:
    """Whether a column is there once and holds text that is written as such."""
    pa = load_arrow()
    if schema.names.count(column) != 1:
        return False
    kind = schema.field(column).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _rows_at_once(schema: Any, columns: list[str] | None, as_codes: list[str]) -> int:
    """How many rows of these columns make a batch, some of which are read as dictionaries."""
    bits = 0
    for field in schema if columns is None else [schema.field(name) for name in columns]:
        try:
            bits += 32 if field.name in as_codes else field.type.bit_width
        except ValueError:
            return _ROWS
    return _FIXED_ROWS if bits * _FIXED_ROWS <= 8 * _FIXED_BYTES else _ROWS


@contextmanager
def _ahead(batches: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """The same batches, each of which is read while the one before is at work."""
    with ThreadPoolExecutor(1) as beside:

        def taken() -> Iterator[Any]:
            coming = beside.submit(next, batches, None)
            while (batch := coming.result()) is not None:
                coming = beside.submit(next, batches, None)
                yield batch

        yield taken()


def _without_cells(problem: Exception) -> str:
    """What Arrow says is wrong with a file, without the cells that it quotes."""
    text = " ".join(str(problem).split())
    found = re.search(r"(?:Row #\d+: )?Expected \d+ columns, got \d+", text)
    if found is not None:
        return "a row of another length: " + found[0]
    # What comes after a colon or in quotes may be a cell.
    return re.split(r"[:'\"]", text.removeprefix("CSV parse error: "))[0][:200].strip(" .")


# Writing


@contextmanager
def new_table(
    part: Path, schema: Any, source: str | Path, *, excel_safe: bool
) -> Iterator[Callable[[Any], Any]]:
    """A function that writes batches to a file of the same kind as the source.

    With ``excel_safe`` no cell of a CSV file is one that a spreadsheet runs.
    """
    if is_csv(source):
        with new_csv(part, schema.names, file_ending(source), excel_safe=excel_safe) as write:
            yield write
        return
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with ParquetFile(source) as old:
        rows = old.metadata.num_row_groups and old.metadata.num_columns
        codec = old.metadata.row_group(0).column(0).compression if rows else "SNAPPY"
    codec = "NONE" if codec == "UNCOMPRESSED" else codec
    with ExitStack() as opened:
        writers: list[Any] = []

        def write(batch: Any) -> None:
            if not writers:
                writer = _parquet_writer(part, schema, batch.schema, codec)
                writers.append(opened.enter_context(writer))
            writers[0].write_batch(batch.replace_schema_metadata(schema.metadata))

        yield write
        if not writers:
            ParquetWriter(part, schema, compression=codec).close()


def _parquet_writer(part: Path, schema: Any, coded: Any, codec: str) -> Any:
    """A writer of a file whose batches may have dictionaries where the schema says text.

    Parquet keeps text as a dictionary in any case. What says which of them a reader makes is the
    Arrow schema in the metadata, so that is the one given.
    """
    from pyarrow.parquet import ParquetWriter

    coded = coded.with_metadata(schema.metadata)
    if coded == schema:
        return ParquetWriter(part, schema, compression=codec)
    # The least and the largest of random reports are no use to a reader, and take a while to find.
    reports = {field.name for field in schema if coded.field(field.name) != field}
    told = [path for path in _leaves(schema) if path not in reports]
    writer = ParquetWriter(
        part, coded, compression=codec, store_schema=False, write_statistics=told
    )
    arrow = base64.b64encode(schema.serialize().to_pybytes())
    writer.add_key_value_metadata({**(schema.metadata or {}), b"ARROW:schema": arrow})
    return writer


def _leaves(schema: Any) -> list[str]:
    """The paths of the columns of a Parquet file with a schema."""
    pa = load_arrow()
    from pyarrow.parquet import ParquetFile, ParquetWriter

    empty = pa.BufferOutputStream()
    ParquetWriter(empty, schema).close()
    with ParquetFile(pa.BufferReader(empty.getvalue())) as file:
        return [file.schema.column(i).path for i in range(len(file.schema))]


def codes_are_written() -> bool:
    """Whether this version of Arrow writes a dictionary as the text that a schema says."""
    from pyarrow.parquet import ParquetWriter

    return hasattr(ParquetWriter, "add_key_value_metadata")


# Receipts and counts


def receipt_path(path: str | Path) -> Path:
    """Where the receipt of a CSV file is: next to it."""
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
    if file_ending(path) == ".parquet":
        with open_batches(path, []) as (schema, _, _):
            return schema_receipts(schema)
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


def rows_of_file(
    path: str | Path, columns: Sequence[str], *, progress: bool = False
) -> CountedRows:
    """The distinct rows of columns of a file, whatever they hold, with its receipts.

    Raises :class:`DataError` for a file that cannot be read, and for a CSV file that is not the one
    that its receipt was written for; :class:`UnknownNameError` for columns that it lacks.
    """
    names = list(dict.fromkeys(columns))
    receipts = file_receipts(path, check=True)
    with (
        _open_reports(path, names) as (batches, total),
        counter(total, "counting", show=progress) as advance,
    ):

        def told() -> Iterator[Any]:
            for batch in batches:
                yield batch
                advance(batch.num_rows)

        return CountedRows.of_counts(names, count_rows(told(), names), receipts, texts=True)


def read_cells(path: str | Path, columns: Sequence[str]) -> list[list[Any]]:
    """The cells of columns of a file, row by row: texts as labels, what is missing as ``None``.

    Raises :class:`DataError` for files and columns that cannot be read.
    """
    found: list[list[Any]] = [[] for _ in columns]
    with _open_reports(path, list(dict.fromkeys(columns))) as (batches, _):
        for batch in batches:
            for cells, name in zip(found, columns, strict=True):
                cells += batch.column(batch.schema.names.index(name)).to_pylist()
    return [_parsed(cells) for cells in found]


def _parsed(cells: list[Any]) -> list[Any]:
    """Cells with texts read as labels, all of a column alike."""
    texts = [cell for cell in dict.fromkeys(cells) if isinstance(cell, str)]
    texts = [text for text in texts if text.strip().lower() not in MISSING_TEXT]
    labels = dict(zip(texts, parse_labels(texts), strict=True))
    return [labels.get(cell) if isinstance(cell, str) else cell for cell in cells]


def subsets_of_file(
    path: str | Path,
    column: str,
    mechanism: SubsetSelection,
    *,
    missing: str = "error",
    progress: bool = False,
) -> CountedRows:
    """The distinct reports of a subset selection in a column of a file, read batch by batch.

    Raises :class:`DataError` as :func:`rows_of_file` does, and for what is no report.
    """
    receipts = file_receipts(path, check=True)
    parts, waiting = [np.zeros((2, 0), dtype=np.int64)], 0
    with (
        _open_reports(path, [column]) as (batches, total),
        counter(total, "counting", show=progress) as advance,
    ):
        for batch in batches:
            read = sample_of(batch.column(0), {None: mechanism}, (), missing, fewest=0)
            parts.append(np.stack([read.reports, read.repeats]))
            waiting += len(read.repeats)
            if waiting > _PENDING:
                parts, waiting = [_totals(parts)], 0
            advance(batch.num_rows)
    reports, repeats = _totals(parts)
    return CountedRows((column,), [reports], repeats, receipts)


def _totals(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Reports that differ, and how often each came in all of the parts."""
    reports, repeats = np.concatenate(parts, axis=1)
    return np.stack(Sample({None: reports}, repeats).totals())
