"""Tables in CSV files, compressed or not: read and written as text, batch by batch.

All cells are text, so that what is not privatised is written as it was read. Memory does not grow
with the file: Arrow reads up to 32 blocks ahead, so that blocks are small, and only a file with a
row that fits none is read again in larger ones.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..labels import excel_safe_cell
from ..tables.files import PACKINGS, TEXT_ENDINGS
from ..tables.reading import open_table
from .adapters import load_arrow

#: Endings of names, and how Arrow calls the compression.
CSV_ENDINGS: dict[str, str | None] = {
    ending + packing: codec for ending in TEXT_ENDINGS for packing, codec in PACKINGS.items()
}
# What makes a cell of a CSV file need quotes.
_SPECIAL = '[",\r\n]'


# Reading


@contextmanager
def csv_batches(
    path: str | Path, columns: list[str] | None = None
) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Schema and batches of a CSV file, all of it text; some columns, or all of them."""
    table = open_table(path)
    table.check(columns or [])
    yield table.schema, table.batches(columns or None)


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
