"""Types of the columns of a text file that holds reports: they stand in the receipt beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError, StorageError, quote
from ..files import parse_json, read_text
from .files import receipt_path


def told_types(schema: Any, orders: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The types by which text is read again, by column; text itself has none, nor have types that
    Arrow does not read from text. Ordered categories of text are told by their ``orders``.
    """
    import pyarrow as pa

    found: dict[str, Any] = {}
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if field.name in orders and "string" in str(kind):
            found[field.name] = {"ordered": list(orders[field.name])}
        try:
            if "string" not in str(kind) and kind == _type_of(str(kind)):
                _cast(pa.nulls(0, pa.string()), kind)
                found[field.name] = str(kind)
        except (pa.ArrowException, TypeError, ValueError):
            continue
    return found


def types_beside(path: Path) -> dict[str, Any]:
    """The Arrow types of columns of a text file, by its receipt; empty where there is none. In the
    place of the type of ordered categories are these, as an Arrow array.

    Raises :class:`DataError` for a receipt that tells something else.
    """
    beside = receipt_path(path)
    if not beside.exists():
        return {}
    try:
        told = parse_json(read_text(beside), beside.name).get("types", {})
        return {name: _type_of(kind) for name, kind in told.items()}
    except (StorageError, AttributeError, KeyError, TypeError, ValueError):
        raise DataError(
            f"receipt {beside.name}",
            expected="types of columns as mechdesign writes them",
            got="something else",
            remedy="take the receipt that was written with the reports",
        ) from None


def _type_of(text: Any) -> Any:
    """The Arrow type of a name as Arrow shows it, or an array of ordered categories; raises errors
    of Python for others.
    """
    import pyarrow as pa

    if isinstance(text, dict):
        categories = pa.array(text["ordered"], pa.string())
        if categories.null_count or len(categories.unique()) < len(categories):
            raise ValueError("categories that are no different texts")
        return categories
    name, *rest = re.findall(r"[\w/+:-]+", text)
    if name.startswith("decimal"):
        return getattr(pa, name)(*map(int, rest))
    if name == "timestamp":
        return pa.timestamp(rest[0], rest[2] if len(rest) > 1 else None)
    return pa.type_for_alias(text)


def column_type(told: Any) -> Any:
    """The Arrow type of what is told of a column."""
    import pyarrow as pa

    is_type = isinstance(told, pa.DataType)
    return told if is_type else pa.dictionary(pa.int32(), told.type, ordered=True)


def _cast(cells: Any, kind: Any) -> Any:
    """Texts as values of a type, or as some of ordered categories; raises errors of Arrow."""
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(kind, pa.Array):
        places = compute.index_in(cells, value_set=kind)
        if places.null_count > cells.null_count:
            raise pa.ArrowInvalid("another category")
        return pa.DictionaryArray.from_arrays(places, kind, ordered=True)
    if pa.types.is_time(kind):
        # Arrow reads times of a day only.
        cells = compute.binary_join_element_wise("1970-01-01", cells, " ")
        cells = cells.cast(pa.timestamp(kind.unit))
    return cells.cast(kind)


def typed_batch(batch: Any, types: Mapping[str, Any], table: str) -> Any:
    """Columns of text as those of some types; empty cells are null.

    Raises :class:`DataError` for cells of another type.
    """
    import pyarrow as pa
    from pyarrow import compute

    for place, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        if name not in types:
            continue
        # Spreadsheets get an apostrophe before what they would run.
        bare = compute.replace_substring_regex(column, "^'", "")
        cells = compute.if_else(compute.equal(bare, ""), None, bare)
        try:
            typed = _cast(cells, types[name])
        except pa.ArrowInvalid:
            raise DataError(
                f"column {quote(name)} of {table}",
                expected=f"values of type {column_type(types[name])}, as its receipt says",
                got="others",
                remedy="take the original file; reports must not be edited",
            ) from None
        batch = batch.set_column(place, pa.field(name, typed.type), typed)
    return batch
