"""Reports as a DuckDB relation, on the connection of the relation that held the secrets."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from ..errors import DataError


def privatize_duckdb(relation: Any, convert: Callable[[Any], Any]) -> Any:
    """The relation's rows, privatised as an Arrow table, as a relation on its connection.

    DuckDB looks for a name among the tables and views of the connection before it looks among the
    variables of the caller. So the table is handed over under a random name that no catalog has,
    as the only variable of the expression that asks for it.
    """
    import duckdb

    table = relation.to_arrow_table()
    names = table.schema.names
    if len(set(names)) < len(names):
        raise DataError(
            "table",
            expected="distinct column names",
            got=f"{next(name for name in names if names.count(name) > 1)!r} more than once",
            remedy="rename the columns in the query",
        )
    view, name = _fresh_name(), _fresh_name()
    # The key of the dictionary is the name of the variable.
    scope = {"ask": relation.query, "view": view, "text": f'SELECT * FROM "{name}"'}
    try:
        made = eval("ask(view, text)", {**scope, name: convert(table)})
    except duckdb.CatalogException:
        raise DataError(
            "DuckDB relation",
            expected="a connection that can read Arrow tables of Python (replacement scans)",
            got="one where that is switched off",
            remedy="SET python_enable_replacements = true, or pass relation.to_arrow_table() and "
            "register what comes back",
        ) from None
    finally:
        # Some versions keep the relation as a view of that name.
        relation.query(view, f'DROP VIEW IF EXISTS "{view}"')
    return made


def _fresh_name() -> str:
    return f"mechdesign_{secrets.token_hex(16)}"
