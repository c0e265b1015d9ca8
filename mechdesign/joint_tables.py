"""Columns of tables under other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def renamed_columns(table: Any, names: Mapping[str, str]) -> Any:
    """A lazy frame of these columns under other names, ``{new: old}``, of a table of any library.

    The old ones are taken as they are written; polars takes some, such as "*" and "^a.*$", for
    patterns.
    """
    import narwhals.stable.v1 as nw

    if type(table).__module__.startswith("polars"):
        from polars import selectors

        exact = [selectors.by_name(old).alias(new) for new, old in names.items()]
        return nw.from_native(table.lazy().select(exact))
    return nw.from_native(table).lazy().select(*(nw.col(o).alias(n) for n, o in names.items()))
