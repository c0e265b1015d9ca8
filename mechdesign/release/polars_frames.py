"""One column of a polars data frame, eager or lazy, with its dtype kept."""

from __future__ import annotations

import re
from typing import Any

from ..errors import DataError, InputError
from .batches import ColumnRelease, check_rows, load_arrow, output_array, output_texts


class LazyDataError(DataError):
    """A :class:`DataError` inside a plan: polars makes it anew from its message and more lines."""

    def __init__(self, message: str) -> None:
        own = message.partition("\n")[0]
        found = re.fullmatch("(.*?): expected (.*), got (.*?); (.*?)[.]?", own)
        subject, expected, got, remedy = found.groups() if found else ("table", "", own, "")
        super().__init__(subject, expected=expected, got=got, remedy=remedy)


def privatize_polars(frame: Any, release: ColumnRelease) -> Any:
    """The frame with the column replaced."""
    release.find_among(frame.columns)
    check_rows(frame.height)
    return frame.with_columns(_reports(frame, release))


def privatize_lazy(frame: Any, release: ColumnRelease) -> Any:
    """The lazy frame with the column replaced.

    Where rows have identities, this happens when it is collected, and rows that were not there by
    now are an error then: a plan that numbers its rows may number them anew each time. Otherwise
    it is collected and drawn here, as a plan that is evaluated twice would draw twice.
    """
    import polars as pl
    from polars import selectors

    schema = frame.collect_schema()
    release.find_among(schema.names())
    if release.identity is None:
        return privatize_polars(frame.collect(), release).lazy()
    # Names as they are: pl.col takes some of them for patterns.
    column, row = release.column, release.identity.column
    checked = _fixed(frame.select(selectors.by_name(row, column)).collect(), release)

    def evaluate(pairs: Any) -> Any:
        part = pairs.struct.unnest()
        part.columns = [column, row]
        try:
            return _reports(part, checked)
        except InputError as problem:
            raise LazyDataError(str(problem)) from None

    dtype = _labels(release, schema[column]).dtype
    pairs = pl.struct(
        selectors.by_name(column).alias("secret"), selectors.by_name(row).alias("identity")
    )
    # A report depends on its own row only, so that rows may be left out before it is drawn.
    made = pairs.map_batches(evaluate, return_dtype=dtype, is_elementwise=True)
    return frame.with_columns(made.alias(column))


def _fixed(frame: Any, release: ColumnRelease) -> ColumnRelease:
    """The release for the rows of a frame that is drawn later, whose identities are checked."""
    assert release.identity is not None
    check_rows(frame.height)
    codes = _codes(frame.get_column(release.column), release)
    found = release.admit(_values(frame.get_column(release.identity.column)), codes)
    return release.fixed(found, codes)


def _reports(frame: Any, release: ColumnRelease) -> Any:
    import polars as pl

    series = frame.get_column(release.column)
    codes = _codes(series, release)
    identities = None
    if release.identity is not None:
        identities = release.admit(_values(frame.get_column(release.identity.column)), codes)
    drawn = release.draw(codes, identities)
    places = pl.Series(drawn)
    if (drawn < 0).any():
        places = places.set(places < 0, None)
    return _labels(release, series.dtype).gather(places).alias(series.name)


def _codes(series: Any, release: ColumnRelease) -> Any:
    values = _values(series)
    return release.encode_values(values) if isinstance(values, list) else release.encode(values)


def _values(series: Any) -> Any:
    """An Arrow array, or a list where the values have no Arrow type."""
    import polars as pl

    if series.dtype == pl.Object:
        return series.to_list()
    try:
        return series.to_arrow()
    except load_arrow().ArrowInvalid:
        return series.to_list()


def _labels(release: ColumnRelease, dtype: Any) -> Any:
    """Output labels as a series of the dtype where they fit it, else of their own."""
    import polars as pl

    outputs = release.mechanism.outputs
    if isinstance(dtype, pl.Enum):
        texts = output_texts(outputs)
        return pl.Series(texts, dtype=pl.Enum(texts))
    if isinstance(dtype, pl.Categorical):
        return pl.Series(output_texts(outputs), dtype=dtype)
    plain = pl.String if dtype == pl.Object else dtype
    kind = pl.Series([], dtype=plain).to_arrow().type
    return pl.from_arrow(output_array(outputs, kind))
