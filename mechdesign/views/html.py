"""Tables as HTML that a screen reader can read: with captions and heads of columns and rows."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable

from ..errors import visible_lines
from ..exact import rounded_up
from ..labels import label_text
from .tables import Cell, Column, Table

#: What opens a place that scrolls sideways on its own; the keyboard reaches it.
SCROLLED = '<div class="scroll" tabindex="0" role="group" aria-label="table">'
_DIGITS = 6
# Cells are shaded towards this colour, but never so far that dark text is hard to read on them.
_SHADE = (0, 114, 178)
_DARKEST = 0.62


class Html(str):
    """Text that is HTML already, as templates know it."""

    def __html__(self) -> str:
        return str(self)


def escape(text: object) -> str:
    """Text for HTML, with what cannot be seen as escape codes."""
    return html.escape(visible_lines(str(text)))


def html_table(
    table: Table,
    *,
    classes: str = "",
    caption: str = "",
    shaded: bool = False,
    numbered: bool = False,
    digits: int = _DIGITS,
) -> Html:
    """A table that a screen reader can read: with a caption, and heads of columns and rows.

    Parameters
    ----------
    table : Table
    classes : classes of the table
    caption : class of the caption
    shaded : whether probabilities have a shade, the darker the larger
    numbered : whether columns of labels have a number above their head
    digits : digits of probabilities after the point
    """
    parts = [f"<table{_class(classes)}><caption{_class(caption)}>{escape(table.title)}</caption>"]
    if table.has_heads:
        heads, count = [], 0
        for column in table.columns:
            count += column.head.kind == "label"
            heads.append(_head(column, count if numbered else 0))
        parts.append(f"<thead><tr>{''.join(heads)}</tr></thead>")
    for tag, part in (("tbody", table.rows), ("tfoot", table.foot)):
        if part:
            body = "".join(_row(row, table.columns, shaded, digits) for row in part)
            parts.append(f"<{tag}>{body}</{tag}>")
    parts.append("</table>")
    parts += [f'<p class="hint">{escape(note)}</p>' for note in table.notes]
    return Html("".join(parts))


def _head(column: Column, number: int) -> str:
    """A column's name, under a number where there is one to show."""
    names = _of(column)
    if column.head.value == "":
        return f"<td{names}></td>"  # a head without a text would be read as one
    if column.head.kind != "label":
        return f'<th scope="col"{names}>{escape(column.head.value)}</th>'
    above = f"<small>{number}</small> " if number else ""
    return f'<th scope="col"{names}{_title(column.head)}>{above}{_label(column.head)}</th>'


def _row(cells: Iterable[Cell], columns: Iterable[Column], shaded: bool, digits: int) -> str:
    parts = []
    for place, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        shown = cell_html(cell, digits)
        if place == 0:
            parts.append(f'<th scope="row"{_title(cell)}>{shown}</th>')
            continue
        shade = ""
        if shaded and cell.kind == "chance" and column.head.kind == "label":
            shade = f' style="background:{shade_of(cell.value)}"'
        parts.append(f"<td{_of(column)}{shade}{_title(cell)}>{shown}</td>")
    return f"<tr>{''.join(parts)}</tr>"


def _class(*names: str) -> str:
    shown = " ".join(name for name in names if name)
    return f' class="{shown}"' if shown else ""


def _of(column: Column) -> str:
    """Class ``n`` for numbers, ``idle`` for an outcome that never occurs."""
    return _class("n" * column.is_number, "idle" * column.is_idle)


def _title(cell: Cell) -> str:
    """What a pointer that rests on a cell shows: the whole label, or all digits."""
    if cell.kind == "label":
        return f' title="{escape(label_text(cell.value))}"'
    if cell.kind in ("chance", "number", "level") and cell.value is not None:
        return f' title="{cell.value:.12g}"'
    return ""


def _label(cell: Cell) -> str:
    return f"<span>{escape(cell.short or label_text(cell.value))}</span>"


def cell_html(cell: Cell, digits: int = _DIGITS) -> str:
    """What a page shows of a cell."""
    after = escape(cell.after)
    if cell.value is None and cell.kind != "label":
        return after
    if cell.kind == "label":
        return _label(cell) + after
    if cell.kind == "verdict":
        sort = "yes" if str(cell.value) == "yes" else "no"
        return f'<span class="{sort}">{escape(cell.value)}</span>{after}'
    if cell.kind == "number":
        return escape(number(cell.value, cell.digits or _DIGITS)) + after
    if cell.kind == "level":
        return escape(upward(cell.value, cell.digits or _DIGITS)) + after
    if cell.kind == "chance":
        return escape(chance(cell.value, cell.digits or digits)) + after
    return escape(cell.value).replace("\n", "<br>") + after


def shade_of(value: float) -> str:
    """The colour behind a probability; dark text stays readable on it."""
    part = _DARKEST * value
    red, green, blue = (round(255 + (c - 255) * part) for c in _SHADE)
    return f"rgb({red},{green},{blue})"


def number(value: float, digits: int = 6) -> str:
    """A number for people: significant digits, or that it is infinite."""
    return "infinite" if math.isinf(value) else f"{value:.{digits}g}"


def upward(value: float, digits: int = 6) -> str:
    """A :func:`number` rounded up, so that what it bounds stays below it."""
    return "infinite" if math.isinf(value) else rounded_up(value, digits)


def chance(value: float, digits: int = 6) -> str:
    """A probability with so many decimals; 0 and 1 only where they are meant.

    >>> [chance(v) for v in (0.0, 2e-10, 0.25, 1 - 1e-9, 1.0)]
    ['0', '2e-10', '0.250000', '>0.999999', '1']
    >>> [chance(v, 3) for v in (2e-10, 0.25, 1 - 1e-9)]
    ['2e-10', '0.250', '>0.999']
    """
    if value in (0.0, 1.0):
        return str(int(value))
    least = 10.0**-digits
    if value < least / 2:
        return f"{value:.0e}"
    return f">{1 - least:.{digits}f}" if value >= 1 - least / 2 else f"{value:.{digits}f}"
