"""One writer of tables: separated text, Parquet and Arrow, batch by batch."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..errors import DataError, quote
from ..labels import excel_safe_cell, tidy
from .files import ARROW_ENDINGS, PACKINGS, file_ending, is_text
from .frames import listed_values
from .reading import Table


def check_held(schema: Any, target: str | Path) -> None:
    """Raise :class:`DataError` for a type of column that a file of this kind cannot hold."""
    import pyarrow as pa

    ending = file_ending(target, written=True)
    for field in schema:
        try:
            if is_text(target):
                _cells(pa.nulls(0, field.type))
            elif ending == ".parquet":
                from pyarrow.parquet import ParquetWriter

                ParquetWriter(pa.BufferOutputStream(), pa.schema([field])).close()
        except (pa.ArrowException, TypeError):
            raise DataError(
                f"column {quote(field.name)} of the output",
                expected=f"a type that {ending} holds",
                got=str(field.type),
                remedy="name the output .arrow, or leave the column out (drop=, --drop-column)",
            ) from None


@contextmanager
def new_table(
    part: Path, target: str | Path, schema: Any, like: Table, *, excel_safe: bool = False
) -> Iterator[Callable[[Any], Any]]:
    """A function that writes batches to a new file.

    Parameters
    ----------
    part : where the file is made
    target : its name in the end, whose ending says what kind of file it is
    like : the table that the rows come from: text gets its separator, Parquet its compression
    excel_safe : whether no cell of text is one that a spreadsheet runs
    """
    import pyarrow as pa

    ending = file_ending(target, written=True)
    with ExitStack() as opened:
        if is_text(target):
            sep = like.dialect.sep or ("\t" if ending.startswith((".tsv", ".tab")) else ",")
            packing = PACKINGS.get(Path(ending).suffix)
            file = opened.enter_context(pa.output_stream(str(part), compression=packing))
            safe = excel_safe_cell if excel_safe else None
            file.write(csv_text([map(safe or str, schema.names)], sep).encode())
            yield lambda batch: file.write(_text(batch, sep, safe))
        elif ending == ".parquet":
            writers: list[Any] = []

            def write(batch: Any) -> None:
                if not writers:
                    made = _parquet_writer(part, schema, batch.schema, like.codec or "snappy")
                    writers.append(opened.enter_context(made))
                writers[0].write_batch(batch.replace_schema_metadata(schema.metadata))

            yield write
            if not writers:
                _parquet_writer(part, schema, schema, like.codec or "snappy").close()
        else:
            new = pa.ipc.new_file if ending in ARROW_ENDINGS else pa.ipc.new_stream
            sink = opened.enter_context(pa.OSFile(str(part), "wb"))
            writer = opened.enter_context(new(sink, schema))
            yield lambda batch: writer.write_batch(batch.replace_schema_metadata(schema.metadata))


# Text


def csv_text(rows: Iterable[Iterable[Any]], sep: str = ",") -> str:
    r"""Rows of cells as text, with quotes where a cell needs them.

    >>> csv_text([["a", "b,c"], [1, None]])
    'a,"b,c"\n1,\n'
    """
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=sep, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _cells(column: Any) -> Any:
    """A column as text: as Python writes its values, but for numbers that Arrow writes."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.dictionary).take(column.indices)
    if pa.types.is_string(kind):
        return column
    is_known = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    if is_known or "string" in str(kind):
        return column.cast(pa.string())
    if "binary" in str(kind):
        raise TypeError("bytes are no text")
    coded = column.dictionary_encode()
    texts = map(str, map(tidy, listed_values(coded.dictionary)))
    return pa.array(texts, pa.string()).take(coded.indices)


def _text(batch: Any, sep: str, safe: Callable[[Any], Any] | None) -> bytes:
    """Rows as text, each cell made safe, with quotes only where a cell needs them."""
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    columns = [_cells(column) for column in batch.columns]
    if safe is not None:
        columns = [pa.array(map(safe, column.to_pylist()), pa.string()) for column in columns]
    special = [sign.encode() for sign in ('"', "\r", "\n", sep)]
    plain = len(columns) > 1 and not any(
        sign in text for text in map(_bytes, columns) for sign in special
    )
    if not plain:
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return csv_text(rows, sep).encode()
    sink = pa.BufferOutputStream()
    table = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    options = WriteOptions(include_header=False, quoting_style="none", delimiter=sep)
    write_csv(table, sink, options)
    return bytes(sink.getvalue())


def _bytes(column: Any) -> bytes:
    """All cells of a column of text, one after another."""
    _, ends, cells = column.buffers()
    if cells is None:
        return b""
    places = memoryview(ends).cast("i")
    return cells[places[column.offset] : places[column.offset + len(column)]].to_pybytes()


# Parquet


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
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, ParquetWriter

    empty = pa.BufferOutputStream()
    ParquetWriter(empty, schema).close()
    with ParquetFile(pa.BufferReader(empty.getvalue())) as file:
        return [file.schema.column(i).path for i in range(len(file.schema))]


def codes_are_written() -> bool:
    """Whether this version of Arrow writes a dictionary as the text that a schema says."""
    from pyarrow.parquet import ParquetWriter

    return hasattr(ParquetWriter, "add_key_value_metadata")
