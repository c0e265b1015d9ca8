"""``open_table``: any table, read once, lazily, part by part."""

from __future__ import annotations

import functools
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import DataError, is_iterable
from .beside import column_type, typed_batch, types_beside
from .files import STANDARD_INPUT, file_ending, file_of, find_inputs, is_text
from .frames import (
    arrow_parts,
    check_columns,
    checked_batches,
    frame_names,
    frame_parts,
    listed_values,
)
from .text import AS_FOUND, Dialect, TextFile

# Rows of a batch, and bytes that are read at a time.
_ROWS = 1 << 16
_CHUNK = 1 << 20
# Bytes of a sheet, unpacked.
_LARGEST_SHEET = 1 << 29
# Cells of a sheet, and how one says where it is.
_MOST_CELLS, _LONGEST_CELL = 1 << 25, 32
_CELL = re.compile(rb"""\br\s*=\s*["']\s*([A-Za-z]{1,3})([0-9]{1,7})""")
# First bytes of files, which say what they are.
_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_PARQUET, _ARROW, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"

Parts = Callable[[Sequence[Any]], Iterator[list[Any]]]


@dataclass(frozen=True)
class Table:
    """An opened table.

    Attributes
    ----------
    names : of its columns
    parts : function of names that gives the values of these columns, part by part: Arrow arrays,
        NumPy vectors, or lists where values have no Arrow type
    name : of a file, for messages; empty in memory
    is_text : whether cells are those of a text file, all of them text but those of reports whose
        receipt tells their type
    rows : number of rows, where it is known
    schema : the Arrow schema of a file
    batches : of a file, function of names, or of none for all columns, that gives record batches
    dialect : of a text file
    codec : of a Parquet file, its compression
    """

    names: Sequence[Any]
    parts: Parts
    name: str = ""
    is_text: bool = False
    rows: int | None = None
    schema: Any = None
    batches: Any = None
    dialect: Dialect = AS_FOUND
    codec: str | None = None

    def check(self, columns: Iterable[Any]) -> None:
        """Raise an error for columns that are not there, or more than once."""
        check_columns(self.names, columns, self.name)


def open_table(source: Any, dialect: Dialect = AS_FOUND, coded: str | None = None) -> Table:
    """A table of any kind, of which nothing is read but the beginning.

    Raises :class:`DataError` for what is none and for files that are damaged, while they are read,
    too. Messages quote no cell.

    Parameters
    ----------
    source : path, list of paths, folder, pattern, "-" for standard input, name of a shipped table;
        data frame of pandas, polars, Arrow, Dask or Spark, relation of DuckDB, mapping of names to
        columns, reader or iterable of Arrow batches; an opened table stays as it is
    dialect : how a text file is written
    coded : column of text that batches of a Parquet file have as a dictionary, which is how it lies
        there, whatever the schema says
    """
    if isinstance(source, Table):
        return source
    inputs = find_inputs(source)
    if inputs is not None:
        return _several(inputs.paths, dialect, coded)
    if isinstance(source, (str, os.PathLike)) or source is None:
        return _open_file(source, dialect, coded)
    of_frames = ("columns", "schema", "dtype", "keys")
    is_reader = hasattr(source, "read_next_batch")
    if is_reader or (is_iterable(source) and not any(map(partial(hasattr, source), of_frames))):
        batches = checked_batches(source)
        first = list(islice(batches, 1))
        names = first[0].schema.names if first else []
        return Table(names, lambda columns: arrow_parts(chain(first, batches), columns))
    return Table(frame_names(source), lambda columns: frame_parts(source, columns))


def read_columns(
    source: Any, columns: Sequence[Any], dialect: Dialect = AS_FOUND
) -> list[list[Any]]:
    """The values of columns of a table, as Python has them; cells of text as they stand there."""
    table = open_table(source, dialect)
    table.check(columns)
    found: list[list[Any]] = [[] for _ in columns]
    for part in table.parts(columns):
        for values, column in zip(found, part, strict=True):
            values += listed_values(column)
    return found


def _several(paths: Sequence[Path], dialect: Dialect, coded: str | None) -> Table:
    """Files that are read one after the other."""
    first = _open_file(paths[0], dialect, coded)
    if len(paths) == 1:
        return first

    def batches(columns: Sequence[str] | None) -> Iterator[Any]:
        for path in paths:
            table = _open_file(path, dialect, coded)
            yield from table.batches(first.names if columns is None else columns)

    found = _of_batches(first.schema, f"{first.name} and others", None, batches)
    return replace(found, is_text=first.is_text, dialect=first.dialect)


def _open_file(source: Any, dialect: Dialect, coded: str | None) -> Table:
    name, path = file_of(source)
    with _refusals(name):
        head, packing = _first_bytes(path)
        if head.startswith(_PARQUET):
            return _parquet(path, name, coded)
        if head.startswith((_ARROW, _STREAM)):
            return _arrow(path, name, packing, is_file=head.startswith(_ARROW))
        if head.startswith(_ZIP):
            return _sheet(path, name)
        if str(source) != STANDARD_INPUT and path.suffix and not is_text(path):
            raise DataError(
                f"table {name}",
                expected=f"a {file_ending(path)} file",
                got="other contents",
                remedy="check the path",
            )
        return _text(path, packing, name, dialect)


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """What libraries raise for a file that they cannot read, in one line without its cells."""
    import pyarrow as pa

    got = "one that is damaged or cut off"
    try:
        yield
        return
    except PermissionError:
        got = "one that may not be read"
    except pa.ArrowException as problem:
        if not isinstance(problem, OSError):
            got = _without_cells(problem)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile):
        pass
    raise DataError(
        f"table {name}",
        expected="a file that can be read to its end",
        got=got,
        remedy="take it from where it came from again",
    ) from None


def _without_cells(problem: Exception) -> str:
    """What Arrow says is wrong with a file, without the cells that it may quote."""
    text = " ".join(str(problem).split())
    for mark in ":'\"":
        text = text.partition(mark)[0]
    return text[:200].strip(" .") or "another"


def _first_bytes(path: Path) -> tuple[bytes, str | None]:
    """The first bytes of a file, unpacked, and what packs it."""
    with open(path, "rb") as file:
        head = file.read(4)
    packing = "gzip" if head.startswith(_GZIP) else "zstd" if head == _ZSTD else None
    with _unpacked(path, packing) as stream:
        return stream.read(8), packing


def _unpacked(path: Path, packing: str | None) -> BinaryIO:
    import pyarrow as pa

    found: BinaryIO = pa.input_stream(str(path), compression=packing)
    return found


def _of_batches(
    schema: Any, name: str, rows: int | None, read: Callable[[Sequence[str] | None], Iterator[Any]]
) -> Table:
    def batches(columns: Sequence[str] | None = None) -> Iterator[Any]:
        check_columns(schema.names, columns or [], name)
        wanted = None if columns is None else list(dict.fromkeys(columns))
        with _refusals(name):
            yield from read(wanted)

    def parts(columns: Sequence[str]) -> Iterator[list[Any]]:
        return arrow_parts(batches(columns), columns)

    return Table(schema.names, parts, name, rows=rows, schema=schema, batches=batches)


def _text(path: Path, packing: str | None, name: str, dialect: Dialect) -> Table:
    import pyarrow as pa

    file = TextFile(lambda: _unpacked(path, packing), name, dialect)
    types = types_beside(path)
    kinds = {column: column_type(kind) for column, kind in types.items()}
    schema = pa.schema([(column, kinds.get(column, pa.string())) for column in file.header])

    def read(columns: Sequence[str] | None) -> Iterator[Any]:
        every = range(len(file.header))
        places = every if columns is None else [*map(file.header.index, columns)]
        return (typed_batch(batch, types, name) for batch in file.batches(places))

    found = _of_batches(schema, name, None, read)
    return replace(found, is_text=True, dialect=Dialect(file.sep, dialect.encoding))


def _parquet(path: Path, name: str, coded: str | None) -> Table:
    from pyarrow.parquet import ParquetFile

    # Without these, the reader keeps what it has read until the end of the file.
    options: dict[str, Any] = {"buffer_size": _CHUNK, "pre_buffer": False}
    with ParquetFile(path, **options) as opened:
        schema, told = opened.schema_arrow, opened.metadata
        has_any = told.num_row_groups and told.num_columns
        codec = told.row_group(0).column(0).compression if has_any else None
    as_codes = [coded] if coded is not None and _is_text(schema, coded) else []

    def read(columns: Sequence[str] | None) -> Iterator[Any]:
        with (
            ParquetFile(path, read_dictionary=as_codes or None, **options) as file,
            _ahead(
                batch
                for number in range(file.num_row_groups)
                for batch in file.iter_batches(_ROWS, row_groups=[number], columns=columns)
            ) as found,
        ):
            yield from found

    found = _of_batches(schema, name, told.num_rows, read)
    return replace(found, codec="NONE" if codec == "UNCOMPRESSED" else codec)


def _is_text(schema: Any, column: str) -> bool:
    """Whether a column is there once and holds text that is written as such."""
    import pyarrow as pa

    if schema.names.count(column) != 1:
        return False
    kind = schema.field(column).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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


def _arrow(path: Path, name: str, packing: str | None, *, is_file: bool) -> Table:
    import pyarrow as pa

    def opened() -> Any:
        if is_file:
            return pa.ipc.open_file(pa.memory_map(str(path)))
        return pa.ipc.open_stream(_unpacked(path, packing))

    def read(columns: Sequence[str] | None) -> Iterator[Any]:
        with opened() as found:
            batches = map(found.get_batch, range(found.num_record_batches)) if is_file else found
            for batch in batches:
                yield _selected(batch, columns)

    with opened() as found:
        return _of_batches(found.schema, name, None, read)


def _selected(batch: Any, columns: Sequence[str] | None) -> Any:
    return batch if columns is None else batch.select(list(columns))


def _sheet(path: Path, name: str) -> Table:
    """The first sheet of a workbook, whose first row names the columns."""
    import pyarrow as pa
    from python_calamine import CalamineError, CalamineWorkbook

    with zipfile.ZipFile(path) as archive:
        is_workbook = any(part.startswith("xl/") for part in archive.namelist())
        _check_size(archive, name)
    try:
        rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
    except CalamineError:
        is_workbook, rows = False, []
    if not is_workbook or not rows:
        raise DataError(
            f"table {name}",
            expected="a workbook (.xlsx) with the table on its first sheet",
            got="an empty sheet" if is_workbook else "another archive, or a damaged one",
            remedy="save the table as CSV",
        )
    header = [str(cell) for cell in rows[0]]
    filled = [row for row in rows[1:] if any(cell != "" for cell in row)]
    columns = [_sheet_column([row[i] for row in filled]) for i in range(len(header))]
    table = pa.Table.from_arrays(columns, names=header)
    return _of_batches(
        table.schema, name, table.num_rows, lambda names: iter(_selected(table, names).to_batches())
    )


def _check_size(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse a workbook that would fill the memory, whatever it says of its size."""
    size = 0
    for part in archive.infolist():
        part.file_size = _LARGEST_SHEET + 1
        rest, columns, rows = b"", 0, 0
        with archive.open(part) as packed:
            while found := packed.read(_CHUNK):
                size += len(found)
                # The reader makes room for all cells between the first and the last.
                if part.filename.startswith("xl/"):
                    text = rest + found
                    for column, row in _CELL.findall(text):
                        columns = max(columns, _column_number(column))
                        rows = max(rows, int(row))
                    rest = text[-_LONGEST_CELL:]
                if size > _LARGEST_SHEET or rows * columns > _MOST_CELLS:
                    raise DataError(
                        f"table {name}",
                        expected=f"a workbook of at most {_LARGEST_SHEET:,} bytes, unpacked, and "
                        f"{_MOST_CELLS:,} cells, empty ones included",
                        got="a larger one",
                        remedy="save the table as CSV",
                    )


def _column_number(letters: bytes) -> int:
    """The number of a column of a sheet, from its letters.

    >>> _column_number(b"A"), _column_number(b"XFD")
    (1, 16384)
    """
    return functools.reduce(lambda found, letter: 26 * found + letter - 64, letters.upper(), 0)


def _sheet_column(cells: list[Any]) -> Any:
    """Cells of a sheet: numbers, truth values or dates where all of them are, else text."""
    import pyarrow as pa

    # All numbers of a sheet are floats.
    whole = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
    values = [None if cell == "" else cell for cell in whole]
    known = {type(value) for value in values if value is not None}
    if len(known) > 1:
        kind = float if known == {int, float} else str
        values = [None if value is None else kind(value) for value in values]
    return pa.array(values)
