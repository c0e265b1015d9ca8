"""Tables in memory and streams of batches: the adapters of pandas, polars, Arrow and DuckDB.

An adapter is a function of a table and a :class:`Release` that gives the table back. It hands
the release a way to read a column, as an Arrow array or as a list, and writes the output positions
that it gets for its rows as labels, of the type that the column had where they fit it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, quote
from ..tables.counting import categories_of
from ..tables.frames import (
    check_columns,
    checked_batches,
    find_column,
    pandas_values,
    polars_values,
)
from ..tables.parts import parts_of, side_by_side
from .codes import ABSENT, cell_text
from .drawing import Release, Target, check_rows
from .receipts import KEY, receipts_of, receipts_to_text, with_receipt

# Rows of a chunk of labels.
_CHUNK = 1 << 20


# Arrow


def privatize_arrow(table: Any, release: Release) -> Any:
    """An Arrow Table or RecordBatch, with its receipt."""
    release.check_names(table.schema.names)
    check_rows(table.num_rows)
    made = privatize_batch(table, release)
    after = with_receipt(made.schema, *release.receipts())
    return made.replace_schema_metadata(after.metadata)


def privatize_reader(reader: Any, release: Release) -> Any:
    """A RecordBatchReader, read in constant memory."""
    schema = reported_schema(reader.schema, release)
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, _stream(reader, release, schema))


def privatize_batches(batches: Iterable[Any], release: Release) -> Iterator[Any]:
    """An iterable of Arrow batches; those that are there already are checked at once."""
    if isinstance(batches, Sequence):
        batches = list(checked_batches(batches))
        check_rows(sum(batch.num_rows for batch in batches))
        if release.identity is not None:
            for batch in batches:
                release.survey(column_reader(batch))
            release = release.checked()
    return _stream(batches, release)


def _stream(batches: Iterable[Any], release: Release, schema: Any = None) -> Iterator[Any]:
    for batch in checked_batches(batches):
        schema = schema or reported_schema(batch.schema, release)
        yield privatize_batch(batch, release).replace_schema_metadata(schema.metadata)
    check_rows(release.rows)


def column_reader(batch: Any) -> Callable[[Any], Any]:
    """A function that reads a column of an Arrow table by its name."""
    return lambda name: batch.column(find_column(batch.schema.names, name))


def privatize_batch(batch: Any, release: Release) -> Any:
    """A RecordBatch or Table with its secrets replaced; everything else is as it was."""
    import pyarrow as pa

    release.check_names(batch.schema.names)
    for target, drawn in release.draw_all(column_reader(batch)):
        place = find_column(batch.schema.names, target.source)
        field = batch.schema.field(place)
        array = _arrow_labels(drawn, target, field.type, batch.column(place))
        if isinstance(array, pa.ChunkedArray) and isinstance(batch, pa.RecordBatch):
            array = array.combine_chunks()
        named = field.with_type(array.type).with_name(str(target.column))
        batch = batch.set_column(place, named, array)
    return batch.drop_columns(left_out(release))


def left_out(release: Release) -> list[Any]:
    """The columns of secrets that no report stands in the place of."""
    kept = {target.source for target in release.targets}
    return [name for name in release.secret_columns if name not in kept]


def reported_schema(schema: Any, release: Release) -> Any:
    """The schema of what comes out, with the receipt in its metadata."""
    release.check_names(schema.names)
    for target in release.targets:
        place = find_column(schema.names, target.source)
        field = schema.field(place)
        kind = _arrow_labels(np.empty(0, dtype=np.int64), target, field.type).type
        schema = schema.set(place, field.with_type(kind).with_name(str(target.column)))
    for name in left_out(release):
        schema = schema.remove(find_column(schema.names, name))
    return with_receipt(schema, *release.receipts(rows=False))


def _arrow_labels(drawn: NDArray[Any], target: Target, kind: Any, column: Any = None) -> Any:
    """An Arrow array of output labels, of the given type where the labels fit it; of long columns
    one of several chunks. Ordered categories keep the order that they have in the column.
    """
    import pyarrow as pa

    outputs = target.outputs
    indices = _arrow_places(drawn)
    if pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if isinstance(outputs, range):
        return indices.cast(_whole_numbers(outputs, kind))
    if pa.types.is_dictionary(kind):
        ordered = bool(kind.ordered) and set(outputs) <= set(target.inputs)
        if ordered and column is not None:
            known = [*categories_of(column)]
            known += [label for label in outputs if label not in known]
            places = [*map(known.index, outputs), ABSENT]
            indices = _arrow_places(np.array(places)[drawn])
            labels = label_array(known, kind.value_type)
        else:
            labels = _labels_of(target, kind.value_type)
        width = kind.index_type
        if len(labels) - 1 > np.iinfo(str(width)).max:
            width = pa.int32()
        return pa.DictionaryArray.from_arrays(indices.cast(width), labels, ordered=ordered)
    labels = _labels_of(target, kind)
    if "_view" in str(labels.type):
        # Arrow selects no rows of views.
        return pa.array(labels.to_pylist()).take(indices).cast(labels.type)
    return _taken(labels, drawn)


def _arrow_places(drawn: NDArray[Any]) -> Any:
    """Positions as an Arrow array, null where they are -1."""
    import pyarrow as pa

    is_whole = not len(drawn) or drawn.min() != ABSENT
    return pa.array(drawn, mask=None if is_whole else drawn == ABSENT)


def _taken(labels: Any, drawn: NDArray[Any]) -> Any:
    """The labels at positions, of long columns in chunks that are made at once."""
    import pyarrow as pa

    if len(drawn) <= _CHUNK:
        return labels.take(_arrow_places(drawn))
    taken = side_by_side(
        lambda part: labels.take(_arrow_places(drawn[part])), parts_of(len(drawn), _CHUNK)
    )
    return pa.chunked_array(list(taken), type=labels.type)


def _whole_numbers(outputs: range, kind: Any) -> Any:
    """The Arrow type of reports that are integers: the given one where they fit it."""
    import pyarrow as pa

    bits = (outputs.stop - 1).bit_length()
    if pa.types.is_integer(kind) and kind.bit_width - pa.types.is_signed_integer(kind) >= bits:
        return kind
    return next(t for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64()) if t.bit_width > bits)


@lru_cache(maxsize=8)
def _labels_of(target: Target, kind: Any) -> Any:
    """:func:`label_array` of a target, whose batches all have the same."""
    return label_array(target.outputs, kind)


def label_array(labels: Sequence[Any], kind: Any) -> Any:
    """Labels as an Arrow array: of the given type, else of their own, else as text."""
    import pyarrow as pa

    for wanted in (kind, None):
        try:
            found = pa.array(list(labels), type=wanted)
            if _same_labels(found.to_pylist(), labels):
                return found
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return pa.array(_label_texts(labels))


def _same_labels(found: list[Any], labels: Sequence[Any]) -> bool:
    """Whether values are the labels, none of them lost in a conversion (1.0 is 1, True is not)."""
    return found == list(labels) and all(
        isinstance(a, bool) == isinstance(b, bool) for a, b in zip(found, labels, strict=True)
    )


def _label_texts(labels: Sequence[Any]) -> list[str]:
    """Output labels as distinct text."""
    texts = [cell_text(label) for label in labels]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise DataError(
            "outputs of the mechanism",
            expected="labels that are distinct as text",
            got=f"{quote(twice)} for two of them",
            remedy="relabel the outputs",
        )
    return texts


# pandas


def privatize_pandas(frame: Any, release: Release, *, part: bool = False) -> Any:
    """A shallow copy of the frame, or of a part of a table, with its dtype and index kept."""
    release.check_names(list(frame.columns))
    if not part:
        check_rows(len(frame))
    made = frame.copy(deep=False)
    for target, drawn in release.draw_all(lambda name: pandas_values(frame[name])):
        values = _pandas_reports(drawn, target, frame[target.source])
        made[target.source] = values.set_axis(frame.index)
        if target.column != target.source:
            made = made.rename(columns={target.source: target.column})
    made = made.drop(columns=left_out(release))
    carried = receipts_of(frame)
    carried |= {one.column: one for one in release.receipts(rows=not part)}
    made.attrs = {**frame.attrs, KEY: receipts_to_text(carried)}
    return made


def _pandas_reports(drawn: NDArray[Any], target: Target, column: Any) -> Any:
    """A series of output labels, of the dtype of the column where the labels fit it."""
    import pandas as pd

    outputs, dtype = target.outputs, column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        found = _arrow_labels(drawn, target, dtype.pyarrow_dtype, pandas_values(column))
        values = pd.Series(pd.arrays.ArrowExtensionArray(found))
    elif getattr(dtype, "storage", "") == "pyarrow" and all(isinstance(y, str) for y in outputs):
        import pyarrow as pa

        values = pd.Series(dtype.__from_arrow__(_arrow_labels(drawn, target, pa.large_string())))
    elif isinstance(outputs, range):
        absent = drawn == ABSENT
        values = pd.Series(drawn)
        if absent.any():
            values = values.astype("Int64").mask(absent)
    elif isinstance(dtype, pd.CategoricalDtype):
        places = dtype.categories.get_indexer(list(outputs))
        if (places < 0).any():
            dtype = pd.CategoricalDtype(pd.Index(list(outputs), tupleize_cols=False))
            places = np.arange(len(outputs))
        codes = np.append(places, ABSENT)[drawn]
        values = pd.Series(pd.Categorical.from_codes(codes, dtype=dtype))
    else:
        # Positions that are not there become null.
        labels = _pandas_labels(outputs, dtype)
        values = labels.reindex(drawn) if (drawn == ABSENT).any() else labels.take(drawn)
    return values


def _pandas_labels(outputs: Sequence[Any], dtype: Any) -> Any:
    """Labels as a series of the dtype where they fit it, else of their own."""
    import pandas as pd

    plain = np.empty(len(outputs), dtype=object)
    plain[:] = outputs
    try:
        found = pd.Series(plain, dtype=dtype)
        if _same_labels(found.tolist(), outputs):
            return found
    except (ValueError, TypeError, OverflowError):
        pass
    return pd.Series(plain).infer_objects()


# polars


def privatize_polars(frame: Any, release: Release) -> Any:
    """A polars data frame, with the dtype of the column kept."""
    release.check_names(frame.columns)
    check_rows(frame.height)
    return _polars_replaced(frame.with_columns(_polars_reports(frame, release)), release)


def _polars_replaced(frame: Any, release: Release) -> Any:
    """The frame with its reports under their names, and no secrets that they do not replace."""
    from polars import selectors

    if gone := left_out(release):
        frame = frame.select(selectors.exclude(selectors.by_name(gone)))
    renamed = {t.source: t.column for t in release.targets if t.source != t.column}
    return frame.rename(renamed) if renamed else frame


def privatize_lazy(frame: Any, release: Release) -> Any:
    """A polars lazy frame.

    Where rows have identities, it is drawn when it is collected, and rows that were not there by
    now are an error then: a plan that numbers its rows may number them anew each time. Otherwise
    it is collected and drawn here, as a plan that is evaluated twice would draw twice.
    """
    import polars as pl
    from polars import selectors

    schema = frame.collect_schema()
    release.check_names(schema.names())
    if release.identity is None:
        return privatize_polars(frame.collect(), release).lazy()
    # Names as they are: pl.col takes some of them for patterns.
    columns = list(dict.fromkeys(release.columns))
    there = frame.select(selectors.by_name(*columns)).collect()
    check_rows(there.height)
    codes = release.codes(lambda name: polars_values(there.get_column(name)))
    identities = release.identify(lambda name: polars_values(there.get_column(name)), codes)
    assert identities is not None
    checked = release.fixed(identities, codes)

    def evaluate(rows: Any) -> Any:
        part = rows.struct.unnest()
        part.columns = columns
        try:
            found = _polars_reports(part, checked)
        except InputError as problem:
            raise LazyDataError(str(problem)) from None
        return pl.DataFrame(dict(zip(fields, found, strict=True))).to_struct()

    targets, together = release.targets, _fresh_name()
    fields = [f"report {i}" for i in range(len(targets))]
    kinds = [_polars_labels(target, schema[target.source]).dtype for target in targets]
    read = [selectors.by_name(name).alias(f"column {i}") for i, name in enumerate(columns)]
    rows = pl.struct(*read)
    kind = pl.Struct(dict(zip(fields, kinds, strict=True)))
    # A report depends on its own row only, so that rows may be left out before it is drawn.
    made = rows.map_batches(evaluate, return_dtype=kind, is_elementwise=True)
    pairs = zip(fields, targets, strict=True)
    parts = [pl.col(together).struct.field(name).alias(t.source) for name, t in pairs]
    drawn = frame.with_columns(made.alias(together)).with_columns(parts)
    return _polars_replaced(drawn.drop(together), release)


class LazyDataError(DataError):
    """A :class:`DataError` inside a plan: polars makes it anew from its message and more lines."""

    def __init__(self, message: str) -> None:
        own = message.partition("\n")[0]
        found = re.fullmatch("(.*?): expected (.*), got (.*?); (.*?)[.]?", own)
        subject, expected, got, remedy = found.groups() if found else ("table", "", own, "")
        super().__init__(subject, expected=expected, got=got, remedy=remedy)


def _polars_reports(frame: Any, release: Release) -> list[Any]:
    """For each target a series of reports, under the name of the column that it stands for."""
    import polars as pl

    found = []
    for target, drawn in release.draw_all(lambda name: polars_values(frame.get_column(name))):
        places = pl.Series(drawn)
        if len(drawn) and drawn.min() < 0:
            places = places.set(places < 0, None)
        series = frame.get_column(target.source)
        labels = _polars_labels(target, series.dtype)
        if isinstance(target.outputs, range):
            made = places.cast(labels.dtype)
        else:
            made = labels.gather(places)
        found.append(made.alias(series.name))
    return found


def _polars_labels(target: Target, dtype: Any) -> Any:
    """Output labels as a series of the dtype where they fit it, else of their own."""
    import polars as pl

    outputs = target.outputs
    if isinstance(outputs, range):
        return pl.Series([], dtype=pl.Int64)
    if isinstance(dtype, pl.Enum):
        texts = _label_texts(outputs)
        is_known = set(texts) <= set(dtype.categories.to_list())
        return pl.Series(texts, dtype=dtype if is_known else pl.Enum(texts))
    if isinstance(dtype, pl.Categorical):
        return pl.Series(_label_texts(outputs), dtype=dtype)
    plain = pl.String if dtype == pl.Object else dtype
    return pl.from_arrow(label_array(outputs, pl.Series([], dtype=plain).to_arrow().type))


# DuckDB


def privatize_duckdb(relation: Any, release: Release) -> Any:
    """A DuckDB relation, as an Arrow table held in memory, as a relation on its connection.

    DuckDB looks for a name among the tables and views of the connection before it looks among the
    variables of the caller. So the table is handed over under a random name that no catalog has,
    as the only variable of the expression that asks for it.
    """
    import duckdb

    table = relation.to_arrow_table()
    check_columns(table.schema.names, table.schema.names)
    view, name = _fresh_name(), _fresh_name()
    try:
        asked = relation.query(
            view,
            "SELECT current_setting('python_enable_replacements') "
            "AND current_setting('enable_external_access')",
        )
        reads_variables = asked.fetchall()[0][0]
    except duckdb.Error as problem:
        raise DataError(
            "DuckDB relation",
            expected="a connection that takes a table in",
            got=f"an error of DuckDB ({str(problem).splitlines()[0]:.120})",
            remedy="pass relation.to_arrow_table(), for example where the database is read-only",
        ) from None
    made = None
    try:
        if reads_variables:
            # The key of the dictionary is the name of the variable.
            scope = {"ask": relation.query, "view": view, "text": f'SELECT * FROM "{name}"'}
            made = eval("ask(view, text)", {**scope, name: privatize_arrow(table, release)})
    finally:
        # Versions before 2 keep the relation as a view of that name.
        relation.query(view, f'DROP VIEW IF EXISTS "{view}"')
    if made is None:
        raise DataError(
            "DuckDB relation",
            expected="a connection that reads Arrow tables of Python (replacement scans)",
            got="one where that is switched off",
            remedy="SET python_enable_replacements = true (which takes enable_external_access), or "
            "pass relation.to_arrow_table() and register what comes back",
        )
    return made


def _fresh_name() -> str:
    return f"mechdesign_{secrets.token_hex(16)}"
