"""Reports as a DuckDB relation, on the connection of the relation that held the secrets."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from ..errors import DataError
from .batches import check_names


def privatize_duckdb(relation: Any, convert: Callable[[Any], Any]) -> Any:
    """The relation's rows, privatised as an Arrow table, as a relation on its connection.

    DuckDB looks for a name among the tables and views of the connection before it looks among the
    variables of the caller. So the table is handed over under a random name that no catalog has,
    as the only variable of the expression that asks for it.
    """
    import duckdb

    table = relation.to_arrow_table()
    check_names(table.schema.names)
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
            made = eval("ask(view, text)", {**scope, name: convert(table)})
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
