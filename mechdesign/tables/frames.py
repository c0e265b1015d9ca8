"""Tables in memory and of engines: their columns, as Arrow arrays where they have such types.

pandas, polars eager and lazy, Arrow, DuckDB, Dask, Spark, mappings of columns, and all else that
narwhals knows. Of what is lazy only the columns that are asked for are computed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UnknownNameError, is_iterable
from .parts import ROWS, parts_of, side_by_side

# Units of time in a day.
_PER_DAY = {unit: 86_400 * 1000**i for i, unit in enumerate(("s", "ms", "us", "ns"))}


def find_column(names: Sequence[Any], column: Any, table: str = "") -> int:
    """Position of a column among the names of a table, which has it once."""
    names = list(names)
    if not isinstance(column, Hashable) or column not in names:
        what = f"column of {table}" if table else "column"
        raise UnknownNameError(what, column, (str(name) or "''" for name in names))
    if names.count(column) > 1:
        raise DataError(
            f"table {table}".strip(),
            expected="distinct column names",
            got=f"{column!r} more than once",
            remedy="rename the columns",
        )
    return names.index(column)


def check_columns(names: Sequence[Any], columns: Iterable[Any], table: str = "") -> None:
    """Raise an error for columns that are not there, or more than once."""
    for column in columns:
        find_column(names, column, table)


def library_of(value: Any) -> str:
    """The library that a value is of."""
    return type(value).__module__.partition(".")[0]


# One column


def column_values(column: Any) -> Any:
    """A column of any library as an Arrow array, a NumPy vector, or a list of its values.

    Raises :class:`DataError` for what is no column.
    """
    root = library_of(column)
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return column.tolist() if column.dtype == object else column
    if hasattr(column, "dictionary_encode"):
        return _decoded(column)
    if root == "pandas" and hasattr(column, "to_numpy") and column.ndim == 1:
        return pandas_values(column)
    if root == "polars" and hasattr(column, "to_arrow") and hasattr(column, "dtype"):
        return polars_values(column)
    is_frame = isinstance(column, (str, bytes, Mapping, np.ndarray)) or hasattr(column, "columns")
    if is_iterable(column) and not is_frame and root != "pyarrow":
        return list(column.to_list() if hasattr(column, "to_list") else column)
    raise DataError(
        "column",
        expected="a pandas, polars or pyarrow series, or a sequence of values",
        got=type(column).__name__,
        remedy="select one column of the table first",
    )


def pandas_values(series: Any) -> Any:
    """An Arrow array, or a list where values of several types have no common Arrow type."""
    import pyarrow as pa

    try:
        return _decoded(pa.Array.from_pandas(series))
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        OverflowError,
        UnicodeError,
    ):
        return series.to_list()


def polars_values(series: Any) -> Any:
    """An Arrow array, or a list where the values have no Arrow type."""
    import polars as pl
    import pyarrow as pa

    if series.dtype == pl.Object:
        return series.to_list()
    series = series.alias("")  # a name with a zero byte is none to Arrow, and polars panics
    try:
        if series.dtype == pl.Categorical and len(series) > ROWS:
            parts = [series[part] for part in parts_of(len(series))]
            return pa.chunked_array(side_by_side(lambda part: part.to_arrow(), parts))
        return series.to_arrow()
    except pa.ArrowInvalid:  # integers of 128 bits
        return series.to_list()


def plain_numbers(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None] | None:
    """A column of numbers of one type, and which of them are null; ``None`` for anything else."""
    if isinstance(values, np.ndarray):
        return (values, None) if values.dtype.kind in "iuf" else None
    if not hasattr(values, "dictionary_encode"):
        return None
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return None
    blank = None
    if values.null_count:
        blank = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
        values = values.fill_null(0)
    if isinstance(values, pa.ChunkedArray):
        return values.to_numpy(), blank
    return values.to_numpy(zero_copy_only=False), blank


def plain_dates(
    values: Any, part: str | None = None
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None, int] | None:
    """A column of dates or timestamps as whole numbers since the first day of 1970, which of them
    are null, and how many make a day; or as a part of each date, such as its month.

    What has a time zone is taken as a clock there shows it. ``None`` for a column of anything else.
    """
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        unit = np.datetime_data(values.dtype)[0]
        known = {"Y": "D", "M": "D", "W": "D", "generic": "D", "h": "s", "m": "s"}.get(unit, unit)
        values = pa.array(values.astype(f"datetime64[{known}]"))
    elif isinstance(values, list) and values and all(map(_is_time, values)):
        values = pa.array([None if value != value else value for value in values])  # NaT
    if not hasattr(values, "dictionary_encode"):
        return None
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind, per_day = values.type, 1
    if pa.types.is_timestamp(kind):
        per_day = _PER_DAY[kind.unit]
        try:
            values = values if kind.tz is None else compute.local_timestamp(values)
        except pa.ArrowInvalid:
            raise _beyond(values, None) from None
    elif pa.types.is_date64(kind):
        per_day = _PER_DAY["ms"]
    elif not pa.types.is_date(kind):
        return None
    if part == "weekday":
        values = compute.day_of_week(values, count_from_zero=False)
    elif part is not None:
        values = getattr(compute, part)(values)
    elif per_day == 1:
        values = values.cast(pa.int32())
    numbers, blank = plain_numbers(values.cast(pa.int64()))  # type: ignore[misc]
    return numbers, blank, per_day if part is None else 1


def _is_time(value: Any) -> bool:
    """Whether a value of a list is a time, or null."""
    return value is None or isinstance(value, datetime)


def listed_values(column: Any, name: Any = None) -> list[Any]:
    """The values of a column, as :func:`column_values` gives it, as Python has them.

    Raises :class:`DataError` for what it has not, such as dates of the year 12,345.
    """
    if not hasattr(column, "to_pylist"):
        return list(column.tolist() if isinstance(column, np.ndarray) else column)
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, LookupError, NotImplementedError):  # Arrow's are these, too
        raise _beyond(column, name) from None


def _beyond(column: Any, name: Any) -> DataError:
    return DataError(
        "column" if name is None else f"column {name!r}",
        expected="values that Python has, such as dates of the years 1 to 9999 in zones that are "
        "known here",
        got=f"others, of type {column.type}",
        remedy="correct them, or convert the column to text",
    )


# Tables


def frame_names(table: Any) -> list[Any]:
    """The names of the columns of a table; raises :class:`DataError` for what is none."""
    if isinstance(table, Mapping):
        return list(table)
    if hasattr(table, "collect_schema"):  # polars
        return list(table.collect_schema().names())
    if hasattr(table, "schema") and hasattr(table.schema, "names") and library_of(table) != "ibis":
        return list(table.schema.names)
    if hasattr(table, "columns") and not isinstance(table, np.ndarray):
        return list(table.columns)
    raise DataError(
        "table",
        expected="a data frame with the columns",
        got=f"a {type(table).__name__}",
        remedy="pass a pandas, polars or pyarrow table, a mapping of names to values, or a path",
    )


def frame_parts(table: Any, columns: Sequence[Any]) -> Iterator[list[Any]]:
    """The columns of a table by their names, part by part."""
    root, kind = library_of(table), type(table).__name__
    if isinstance(table, Mapping):
        yield [column_values(table[name]) for name in columns]
    elif root == "pandas":
        yield [pandas_values(table[name]) for name in columns]
    elif root == "dask":
        from dask import compute

        for part in table[list(columns)].to_delayed():
            yield from frame_parts(compute(part)[0], columns)
    elif root == "polars":
        from polars import selectors

        if kind == "LazyFrame":
            # Names as they are: pl.col takes some of them for patterns.
            table = table.select(selectors.by_name(*columns)).collect()
        yield [polars_values(table.get_column(name)) for name in columns]
    elif root == "pyspark":
        # Spark resolves names with dots to something else.
        places = [f"c{table.columns.index(name)}" for name in columns]
        renamed = table.toDF(*(f"c{i}" for i in range(len(table.columns))))
        yield from arrow_parts(renamed.select(places).toArrow(), places)
    elif root in ("duckdb", "_duckdb"):
        named = ", ".join('"{}"'.format(name.replace('"', '""')) for name in columns)
        batches = table.project(named)
        batches = getattr(batches, "to_arrow_reader", None) or batches.fetch_arrow_reader
        yield from arrow_parts(batches(ROWS), columns)
    elif root == "pyarrow":
        yield from arrow_parts(table, columns)
    else:
        import narwhals.stable.v1 as nw

        chosen = nw.from_native(table).lazy().select(*columns).collect("pyarrow")
        yield from arrow_parts(chosen.to_native(), columns)


def arrow_parts(batches: Any, columns: Sequence[Any]) -> Iterator[list[Any]]:
    """The columns of an Arrow table, or of several, part by part."""
    for batch in [batches] if hasattr(batches, "column") else batches:
        names = batch.schema.names
        yield [_decoded(batch.column(find_column(names, name))) for name in columns]


def _decoded(column: Any) -> Any:
    """An Arrow array, of which Arrow can select rows."""
    import pyarrow as pa
    from pyarrow import compute

    is_coded = pa.types.is_run_end_encoded(column.type)
    return compute.run_end_decode(column) if is_coded else column


def checked_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """The same, refused where they are no Arrow batches."""
    import pyarrow as pa

    for batch in batches:
        if not isinstance(batch, (pa.RecordBatch, pa.Table)):
            raise DataError(
                "table",
                expected="a table, or Arrow batches (pyarrow.RecordBatch or Table)",
                got=f"an iterable of {type(batch).__name__}",
                remedy="pass a data frame, or batches with the columns",
            )
        yield batch
