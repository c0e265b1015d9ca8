"""Types of the columns of a text file that holds reports: they stand in the receipt beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import DataError, StorageError, quote
from ..files import parse_json, read_text
from .files import receipt_path


def told_types(schema: Any) -> dict[str, str]:
    """The types by which text is read again, by column; text itself has none, nor have types that
    Arrow does not read from text.
    """
    import pyarrow as pa

    found = {}
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        try:
            if "string" not in str(kind) and kind == _type_of(str(kind)):
                _cast(pa.nulls(0, pa.string()), kind)
                found[field.name] = str(kind)
        except (pa.ArrowException, TypeError, ValueError):
            continue
    return found


def types_beside(path: Path) -> dict[str, Any]:
    """The Arrow types of columns of a text file, by its receipt; empty where there is none.

    Raises :class:`DataError` for a receipt that tells something else.
    """
    beside = receipt_path(path)
    if not beside.exists():
        return {}
    try:
        told = parse_json(read_text(beside), beside.name).get("types", {})
        return {name: _type_of(kind) for name, kind in told.items()}
    except (StorageError, AttributeError, TypeError, ValueError):
        raise DataError(
            f"receipt {beside.name}",
            expected="types of columns as mechdesign writes them",
            got="something else",
            remedy="take the receipt that was written with the reports",
        ) from None


def _type_of(text: str) -> Any:
    """The Arrow type of a name as Arrow shows it; raises errors of Python for others."""
    import pyarrow as pa

    name, *rest = re.findall(r"[\w/+:-]+", text)
    if name.startswith("decimal"):
        return getattr(pa, name)(*map(int, rest))
    if name == "timestamp":
        return pa.timestamp(rest[0], rest[2] if len(rest) > 1 else None)
    return pa.type_for_alias(text)


def _cast(cells: Any, kind: Any) -> Any:
    """Texts as values of a type; raises errors of Arrow."""
    import pyarrow as pa
    from pyarrow import compute

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
                expected=f"values of type {types[name]}, as its receipt says",
                got="others",
                remedy="take the original file; reports must not be edited",
            ) from None
        batch = batch.set_column(place, pa.field(name, typed.type), typed)
    return batch
