"""One column of a polars data frame, eager or lazy, with its dtype kept."""

from __future__ import annotations

from typing import Any

from .batches import ColumnRelease, output_array, output_texts
from .entropy import KeyedWords, SeededWords


def privatize_polars(frame: Any, release: ColumnRelease) -> Any:
    """The frame with the column replaced."""
    release.find_among(frame.columns)
    return frame.with_columns(_privatize_series(frame.get_column(release.column), release))


def privatize_lazy(frame: Any, release: ColumnRelease) -> Any:
    """The lazy frame with the column replaced when it is collected, the same each time."""
    import polars as pl

    schema = frame.collect_schema()
    release.find_among(schema.names())
    words = release.words
    assert isinstance(words, (KeyedWords, SeededWords))

    def evaluate(series: Any) -> Any:
        return _privatize_series(series, release.starting_at(words.at(0)))

    dtype = _labels(release, schema[release.column]).dtype
    return frame.with_columns(pl.col(release.column).map_batches(evaluate, return_dtype=dtype))


def _privatize_series(series: Any, release: ColumnRelease) -> Any:
    import polars as pl

    if series.dtype == pl.Object:
        codes = release.encode_values(series.to_list())
    else:
        codes = release.encode(series.to_arrow())
    drawn = release.draw(codes)
    places = pl.Series(drawn)
    if (drawn < 0).any():
        places = places.set(places < 0, None)
    return _labels(release, series.dtype).gather(places).alias(series.name)


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
