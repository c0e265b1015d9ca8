"""Tables in CSV and Parquet files: read and written batch by batch, and known by their receipts."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import DataError, StorageError
from ..input_tables import csv_header
from ..labels import excel_safe_cell
from ..mechanism import mechanism_of
from ..progress import counter
from ..subsets import SubsetSelection
from .adapters import load_arrow
from .codes import ABSENT, Codebook
from .column import find_column
from .counts import count_rows
from .receipts import Receipt, check_receipt, read_receipts, schema_receipts
from .samples import Sample, sample_of
from .subset_estimates import SubsetCounts

_ENDINGS = (".csv", ".parquet")
_ROWS = 1 << 16
_BLOCK = 1 << 22
_CHUNK = 1 << 20
# What makes a cell of a CSV file need quotes.
_SPECIAL = '[",\r\n]'


def file_ending(path: str | Path) -> str:
    """The ending of a file of a kind that is read here; raises :class:`DataError` for others."""
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise DataError(
            "file",
            expected=f"a name that ends in {' or '.join(_ENDINGS)}",
            got=str(path),
            remedy="convert it, or privatise a data frame in Python with md.privatize",
        )
    return ending


# Reading


@contextmanager
def open_batches(
    path: str | Path, columns: list[str] | None = None
) -> Iterator[tuple[Any, Iterator[Any], int | None]]:
    """Schema, batches and number of rows (where it is known) of a file.

    All columns of a CSV file are text, so that what is not privatised is written as it was read.
    """
    pa = load_arrow()
    ending = file_ending(path)
    if not Path(path).is_file():
        raise DataError(
            "table", expected="an existing file", got=str(path), remedy="check the path"
        )
    try:
        if ending == ".csv":
            yield _csv_batches(path, columns)
        else:
            from pyarrow.parquet import ParquetFile

            # Without these, the reader keeps what it has read until the end of the file.
            with ParquetFile(path, buffer_size=_CHUNK, pre_buffer=False) as file:
                schema = file.schema_arrow
                for column in columns or []:
                    find_column(schema.names, column)
                batches = (
                    batch
                    for number in range(file.num_row_groups)
                    for batch in file.iter_batches(_ROWS, row_groups=[number], columns=columns)
                )
                yield schema, batches, file.metadata.num_rows
    except pa.ArrowInvalid as problem:
        raise DataError(
            f"table {Path(path).name}",
            expected=f"a {ending[1:]} file",
            got=_without_cells(problem),
            remedy="check the file",
        ) from None
    except OSError as problem:
        raise DataError(
            f"table {Path(path).name}",
            expected="a readable file",
            got=" ".join(str(problem).split())[:200].rstrip("."),
            remedy="check the path and its permissions",
        ) from None


def _csv_batches(
    path: str | Path, columns: list[str] | None
) -> tuple[Any, Iterator[Any], int | None]:
    pa = load_arrow()
    from pyarrow import csv as arrow_csv

    header = csv_header(path)
    for column in columns or []:
        find_column(header, column)
    reader = arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            strings_can_be_null=False,
            include_columns=columns or None,
        ),
    )
    return reader.schema, iter(reader) if columns else _quoted_batches(path, reader), None


def _quoted_batches(path: str | Path, batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of all columns of a CSV file, whose last cell is looked at when it comes."""
    last = None
    for batch in batches:
        yield batch
        last = batch if batch.num_rows else last
    if last is not None:
        _check_last_quote(path, last)


def _without_cells(problem: Exception) -> str:
    """What Arrow says is wrong with a file, without the cells that it quotes."""
    text = " ".join(str(problem).split())
    found = re.search(r"(?:Row #\d+: )?Expected \d+ columns, got \d+", text)
    if found is not None:
        return "a row of another length: " + found[0]
    # What comes after a colon or in quotes may be a cell.
    return re.split(r"[:'\"]", text.removeprefix("CSV parse error: "))[0][:200].strip(" .")


def _check_last_quote(source: str | Path, batch: Any) -> None:
    """Refuse a file whose last cell takes in further lines, as its quote is never closed.

    Those lines are rows that would be written out as they are.
    """
    cell = batch.column(batch.num_columns - 1)[batch.num_rows - 1].as_py() or ""
    if "\n" not in cell.rstrip("\r\n"):
        return
    with open(source, "rb") as file:
        file.seek(max(0, Path(source).stat().st_size - _CHUNK))
        end = file.read().rstrip(b"\r\n")
    if not end.endswith(b'"'):
        raise DataError(
            f"table {Path(source).name}",
            expected="quotes that are closed",
            got=f"a cell in the last column that takes in the last {len(cell.splitlines())} lines",
            remedy="close the quote, or double it where it is meant as a character",
        )


# Writing


@contextmanager
def new_table(
    part: Path, schema: Any, source: str | Path, *, excel_safe: bool
) -> Iterator[Callable[[Any], Any]]:
    """A function that writes batches to a file of the same kind as the source.

    With ``excel_safe`` no cell of a CSV file is one that a spreadsheet runs.
    """
    if file_ending(source) == ".csv":
        safe = excel_safe_cell if excel_safe else lambda cell: cell
        with open(part, "wb") as file:
            file.write(_csv_lines([map(safe, schema.names)]))
            yield lambda batch: file.write(_csv_text(batch, safe if excel_safe else None))
        return
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with ParquetFile(source) as old:
        rows = old.metadata.num_row_groups and old.metadata.num_columns
        codec = old.metadata.row_group(0).column(0).compression if rows else "SNAPPY"
    codec = "NONE" if codec == "UNCOMPRESSED" else codec
    with ParquetWriter(part, schema, compression=codec) as writer:
        yield lambda batch: writer.write_batch(batch.replace_schema_metadata(schema.metadata))


def _csv_lines(rows: Iterable[Iterable[str | None]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def _csv_text(batch: Any, safe: Callable[[Any], Any] | None) -> bytes:
    """Rows of text as CSV, each cell made safe, with quotes only where a cell needs them."""
    pa = load_arrow()
    from pyarrow import compute
    from pyarrow.csv import WriteOptions, write_csv

    columns = [column.cast(pa.string()) for column in batch.columns]
    if safe is not None:
        columns = [pa.array(map(safe, column.to_pylist()), pa.string()) for column in columns]
    plain = len(columns) > 1 and not any(
        compute.any(compute.match_substring_regex(column, _SPECIAL)).as_py() for column in columns
    )
    if not plain:
        return _csv_lines(zip(*(column.to_pylist() for column in columns), strict=True))
    sink = pa.BufferOutputStream()
    table = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    write_csv(table, sink, WriteOptions(include_header=False, quoting_style="none"))
    return bytes(sink.getvalue())


# Receipts and counts


def receipt_path(path: str | Path) -> Path:
    """Where the receipt of a CSV file is: next to it."""
    return Path(f"{path}.receipt.json")


def file_receipts(path: str | Path, *, check: bool = False) -> dict[str, Receipt]:
    """The receipts that belong to a file, by column; empty where there are none."""
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


def count_file(
    path: str | Path, columns: list[str], mechanisms: list[Any], *, progress: bool = False
) -> dict[Any, int]:
    """How often each output (or tuple of outputs) was reported in columns of a file.

    Cells are matched with the outputs by their text; what is missing counts as ``None``.

    Raises
    ------
    DataError
        For reports that are no outputs, or that another mechanism made by the receipts of the file,
        and for a CSV file that is not the one that its receipt was written for.
    """
    _check_receipts(path, columns, mechanisms)
    books = [
        Codebook(mechanism_of(designed).outputs, "outputs of the mechanism", texts=True)
        for designed in mechanisms
    ]
    cells = _count_cells(path, columns, progress=progress)
    whole = [cell if len(columns) > 1 else (cell,) for cell in cells]
    labels = [
        _labels(dict.fromkeys(row[i] for row in whole), book, columns[i])
        for i, book in enumerate(books)
    ]
    found: dict[Any, int] = {}
    for row, count in zip(whole, cells.values(), strict=True):
        outputs = tuple(named[cell] for named, cell in zip(labels, row, strict=True))
        key = outputs if len(columns) > 1 else outputs[0]
        found[key] = found.get(key, 0) + count
    return found


def sample_file(
    path: str | Path,
    column: str,
    designed: Any,
    others: Sequence[str],
    *,
    missing: str = "error",
    progress: bool = False,
) -> Sample:
    """Reports in a column of a file with other columns beside them, such as weights.

    Raises :class:`DataError` as :func:`count_file` does.
    """
    _check_receipts(path, [column], [designed])
    names = [column, *dict.fromkeys(others)]
    cells = _count_cells(path, names, progress=progress)
    return sample_of(cells, names, mechanism_of(designed), missing, texts=True)


def _check_receipts(path: str | Path, columns: list[str], mechanisms: list[Any]) -> None:
    """Refuse reports that another mechanism made by the receipts of their file."""
    receipts = file_receipts(path, check=True)
    for column, designed in zip(columns, mechanisms, strict=True):
        if column in receipts:
            check_receipt(receipts[column], designed)


def _count_cells(path: str | Path, columns: list[str], *, progress: bool) -> dict[Any, int]:
    """How often each cell (or tuple of cells) occurs in columns of a file."""
    with (
        open_batches(path, columns) as (_, batches, total),
        counter(total, "counting", show=progress) as advance,
    ):

        def counted() -> Iterator[Any]:
            for batch in batches:
                yield batch
                advance(batch.num_rows)

        return count_rows(counted(), columns)


def count_subset_file(
    path: str | Path,
    column: str,
    mechanism: SubsetSelection,
    *,
    missing: str = "error",
    progress: bool = False,
) -> SubsetCounts:
    """How often each report of a subset selection came in a column of a file.

    Raises :class:`DataError` as :func:`count_file` does.
    """
    receipts = file_receipts(path, check=True)
    if column in receipts:
        check_receipt(receipts[column], mechanism)
    found = SubsetCounts(mechanism, missing)
    with (
        open_batches(path, [column]) as (_, batches, total),
        counter(total, "counting", show=progress) as advance,
    ):
        for batch in batches:
            found.add(batch.column(0))
            advance(batch.num_rows)
    return found


def _labels(cells: Iterable[Any], book: Codebook, column: str) -> dict[Any, Any]:
    """The label that each cell names, ``None`` for a blank one."""
    found, unseen = {}, []
    for cell in cells:
        place = book.place(cell)
        # A label may look like a missing value, such as "none"; only other cells can be blank.
        found[cell] = None if place == ABSENT else book.labels[place]
        if place == ABSENT and not book.is_blank(cell):
            unseen.append(cell)
    if unseen:
        remedy = "pass the mechanism that made them"
        raise book.refuse(f"reports in column {column!r}", unseen, remedy)
    return found
