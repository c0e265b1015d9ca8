"""Tables in CSV files, compressed or not: read and written as text, batch by batch.

All cells are text, so that what is not privatised is written as it was read. Memory does not grow
with the file: Arrow reads up to 32 blocks ahead, so that blocks are small, and only a file with a
row that fits none is read again in larger ones.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..input_tables import csv_header
from ..labels import excel_safe_cell
from .adapters import load_arrow
from .column import find_column

#: Endings of names, and how Arrow calls the compression.
CSV_ENDINGS: dict[str, str | None] = {".csv": None, ".csv.gz": "gzip", ".csv.zst": "zstd"}
# Bytes of a block, which holds a whole row; the larger ones where a row is longer.
_BLOCKS = (1 << 19, 1 << 22, 1 << 26)
# Bytes at the end of a file that are looked at.
_END = 1 << 20
# What makes a cell of a CSV file need quotes.
_SPECIAL = '[",\r\n]'


def _compression(path: str | Path) -> str | None:
    suffix = Path(path).suffix.lower()
    return CSV_ENDINGS.get(f".csv{suffix}")


# Reading


@contextmanager
def csv_batches(
    path: str | Path, columns: list[str] | None = None
) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Schema and batches of a CSV file, all of it text; some columns, or all of them."""
    header = csv_header(path)
    for column in columns or []:
        find_column(header, column)
    block, reader = _opened(path, header, columns, _BLOCKS)
    batches = _batches(path, header, columns, block, reader)
    try:
        yield reader.schema, batches if columns else _quoted_batches(path, batches)
    finally:
        batches.close()


def _opened(
    path: str | Path, header: list[str], columns: list[str] | None, blocks: Iterable[int]
) -> tuple[int, Any]:
    """The first size of a block that a first row fits into, and a reader with that."""
    pa = load_arrow()
    from pyarrow import csv as arrow_csv

    for block in (blocks := list(blocks)):
        try:
            return block, arrow_csv.open_csv(
                pa.input_stream(path, compression=_compression(path)),
                read_options=arrow_csv.ReadOptions(block_size=block, use_threads=False),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(header, pa.string()),
                    strings_can_be_null=False,
                    include_columns=columns or None,
                ),
            )
        except pa.ArrowInvalid as problem:
            if block == blocks[-1] or not _is_too_long(problem):
                raise
    raise AssertionError("the last block was tried")


def _is_too_long(problem: Exception) -> bool:
    """Whether Arrow says that a row is longer than a block."""
    return "straddl" in str(problem)


def _batches(
    path: str | Path, header: list[str], columns: list[str] | None, block: int, reader: Any
) -> Generator[Any, None, None]:
    """All batches; those behind a row that is longer than a block come in larger ones."""
    pa = load_arrow()
    rows = 0
    while True:
        try:
            skipped = 0
            for batch in reader:
                # Of a file that is read again, what came before is not taken twice.
                again = min(rows - skipped, batch.num_rows)
                skipped += again
                if again < batch.num_rows:
                    rows += batch.num_rows - again
                    skipped += batch.num_rows - again
                    yield batch.slice(again)
            return
        except pa.ArrowInvalid as problem:
            larger = [size for size in _BLOCKS if size > block]
            if not larger or not _is_too_long(problem):
                raise
        finally:
            reader.close()
        block, reader = _opened(path, header, columns, larger)


def _quoted_batches(path: str | Path, batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of all columns of a CSV file, whose last cell is looked at when it comes."""
    last = None
    for batch in batches:
        yield batch
        last = batch if batch.num_rows else last
    if last is not None:
        _check_last_quote(path, last)


def _check_last_quote(source: str | Path, batch: Any) -> None:
    """Refuse a file whose last cell takes in further lines, as its quote is never closed.

    Those lines are rows that would be written out as they are.
    """
    cell = batch.column(batch.num_columns - 1)[batch.num_rows - 1].as_py() or ""
    if "\n" not in cell.rstrip("\r\n"):
        return
    end = b""
    with load_arrow().input_stream(source, compression=_compression(source)) as file:
        while part := file.read(_END):
            end = (end + part)[-_END:]
    if not end.rstrip(b"\r\n").endswith(b'"'):
        raise DataError(
            f"table {Path(source).name}",
            expected="quotes that are closed",
            got=f"a cell in the last column that takes in the last {len(cell.splitlines())} lines",
            remedy="close the quote, or double it where it is meant as a character",
        )


# Writing


@contextmanager
def new_csv(
    part: Path, names: list[str], ending: str, *, excel_safe: bool
) -> Iterator[Callable[[Any], Any]]:
    """A function that writes batches to a new file, compressed as its ending says.

    With ``excel_safe`` no cell is one that a spreadsheet runs.
    """
    safe = excel_safe_cell if excel_safe else lambda cell: cell
    with load_arrow().output_stream(part, compression=CSV_ENDINGS[ending]) as file:
        file.write(_lines([map(safe, names)]))
        yield lambda batch: file.write(_text(batch, safe if excel_safe else None))


def _lines(rows: Iterable[Iterable[str | None]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def _text(batch: Any, safe: Callable[[Any], Any] | None) -> bytes:
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
        return _lines(zip(*(column.to_pylist() for column in columns), strict=True))
    sink = pa.BufferOutputStream()
    table = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    write_csv(table, sink, WriteOptions(include_header=False, quoting_style="none"))
    return bytes(sink.getvalue())
