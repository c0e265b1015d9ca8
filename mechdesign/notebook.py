"""How rows of a result are handed on: a plain table in HTML for notebooks, or a data frame."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from .errors import InputError, quote
from .labels import label_text, shorten

# Longer texts are cut.
_WIDTH = 60
# What a column of a data frame holds as it is.
_PLAIN = (int, float, str, type(None))


class Tabular:
    """What consists of rows: plain dictionaries with one set of names."""

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each row."""
        raise NotImplementedError

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The rows as a data frame, a line each, with names of columns that never change.

        ``backend`` is what narwhals can make: ``"pandas"``, ``"polars"`` or ``"pyarrow"``. Labels
        of other types than text and numbers are text in it. Raises :class:`InputError` for a
        backend that is none of these, or not installed.
        """
        import narwhals as nw

        rows = self.rows()
        columns = {name: [_cell(row[name]) for row in rows] for name in (rows or [{}])[0]}
        for name, cells in columns.items():
            # A column has one type: labels of several are text.
            if any(isinstance(cell, str) for cell in cells):
                columns[name] = [cell if cell is None else str(cell) for cell in cells]
        try:
            return nw.from_dict(columns, backend=backend).to_native()
        except (ImportError, ValueError, TypeError, AssertionError) as problem:
            raise InputError(
                "backend of a data frame",
                expected="'pandas', 'polars' or 'pyarrow', installed",
                got=f"{quote(backend)} ({problem})",
                remedy="install the one you name, such as: pip install pandas",
            ) from None


def _cell(value: Any) -> Any:
    return value if isinstance(value, _PLAIN) else label_text(value)


def notebook_table(head: Sequence[str], rows: Iterable[Iterable[Any]], caption: str = "") -> str:
    """Rows under names of columns, with all texts escaped and numbers to six digits.

    >>> notebook_table(["gain"], [[1 / 3], ["<b>"]]).partition("<tbody>")[2]
    '<tr><td>0.333333</td></tr><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(v)}</td>' for v in row)}</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else html.escape(shorten(value, _WIDTH))
