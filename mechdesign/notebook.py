"""How a notebook shows rows of a result: a plain table in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from .labels import shorten

# Longer texts are cut.
_WIDTH = 60


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
