"""A table in every library, and what comes back as a pandas frame."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa

from mechdesign.tables.frames import library_of


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def coded(frame):
    """With texts as categories."""
    texts = [name for name, kind in frame.dtypes.items() if kind.kind not in "biuf"]
    return frame.astype(dict.fromkeys(texts, "category"))


def views(frame):
    """With texts as views, of which Arrow selects no rows."""
    table = arrow(frame)
    kinds = [pa.string_view() if "string" in str(kind) else kind for kind in table.schema.types]
    return table.cast(pa.schema(dict(zip(table.schema.names, kinds, strict=True))))


def relation(frame):
    import duckdb

    return duckdb.from_arrow(arrow(frame))


def dask(frame):
    from dask import dataframe

    return dataframe.from_pandas(frame, npartitions=3, sort=False)


TABLES = {
    "pandas": lambda f: f,
    "pandas categories": coded,
    "pandas objects": lambda f: f.astype(object),
    "polars": pl.from_pandas,
    "polars categories": lambda f: pl.from_pandas(coded(f)),
    "polars lazy": lambda f: pl.from_pandas(f).lazy(),
    "arrow": arrow,
    "arrow views": views,
    "arrow chunks": lambda f: pa.Table.from_batches(arrow(f).to_batches(max_chunksize=9)),
    "arrow dictionaries": lambda f: arrow(coded(f)),
    "arrow batch": lambda f: arrow(f).combine_chunks().to_batches()[0],
    "arrow reader": lambda f: arrow(f).to_reader(max_chunksize=7),
    "iterator": lambda f: iter(arrow(f).to_batches(max_chunksize=11)),
    "duckdb": relation,
    "dask": dask,
}
#: Those that give their rows once.
STREAMS = ("arrow reader", "iterator")


def frame_of(made):
    """A table of any library as a pandas frame."""
    if library_of(made) == "polars":
        return made.lazy().collect().to_pandas()
    if hasattr(made, "read_all"):
        made = made.read_all()
    if hasattr(made, "compute"):
        return made.compute(scheduler="synchronous").reset_index(drop=True)
    if hasattr(made, "df"):
        return made.df()
    if isinstance(made, pd.DataFrame):
        return made
    made = made if hasattr(made, "num_rows") else pa.Table.from_batches(made)
    return made.to_pandas()
