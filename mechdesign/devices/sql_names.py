"""Names and texts inside statements of SQL, whatever they hold."""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError, quote

# PostgreSQL cuts longer names without an error.
_LONGEST_NAME = 63
_SPECIAL = re.compile(r"[\x00-\x1f\x7f\\]")


def identifier(name: Any, what: str) -> str:
    """A name in double quotes.

    Raises :class:`InputError` for one that engines do not have.
    """
    is_name = isinstance(name, str) and name and name.isprintable()
    if not is_name or len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise InputError(
            what,
            expected=f"a name of 1 to {_LONGEST_NAME} printable bytes",
            got=f"{len(name.encode('utf-8', 'replace'))}" if is_name else quote(name),
            remedy="rename it, or read from a view with shorter names",
        )
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str, dialect: str = "postgresql") -> str:
    """A text in quotes; for PostgreSQL whatever standard_conforming_strings says, line breaks as
    their codes.
    """
    quoted = text.replace("'", "''")
    if dialect == "duckdb" or not _SPECIAL.search(text):
        return f"'{quoted}'"
    return "E'" + _SPECIAL.sub(lambda found: f"\\x{ord(found[0]):02x}", quoted) + "'"
