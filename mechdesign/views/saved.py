"""A table of results as a file: for a spreadsheet, a paper or a page."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from ..files import check_writable, write_text
from ..labels import label_text
from ..tables.writing import csv_text
from .html import html_table
from .tables import Cell, Table

#: How a file's name may end.
ENDINGS = (".csv", ".tex", ".html")
# What LaTeX reads otherwise than as a character.
_LATEX = {**{sign: f"\\{sign}" for sign in "&%$#_{}"}, "\\": r"\textbackslash{}"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def check_table(path: Path, *, overwrite: bool) -> None:
    """Raise before any work where a table could not be written."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(
            f"output {path}",
            expected=f"a name that ends in {', '.join(ENDINGS)}",
            got=path.suffix or "none",
            remedy="choose one of these",
        )
    check_writable(path, overwrite=overwrite)


def write_table(table: Table, path: Path, *, overwrite: bool = False) -> None:
    """Write a table by the ending of a name, with every digit but in a page."""
    check_table(path, overwrite=overwrite)
    forms = {".csv": _csv, ".tex": latex_table, ".html": html_table}
    write_text(str(forms[path.suffix.lower()](table)), path, overwrite=overwrite)


def _plain(cell: Cell) -> object:
    is_text = cell.kind == "label" and not isinstance(cell.value, (int, float, str))
    return label_text(cell.value) if is_text else cell.value


def _csv(table: Table) -> str:
    heads = [column.key for column in table.columns]
    return csv_text([heads, *([_plain(cell) for cell in row] for row in table.rows)])


def latex_table(table: Table, digits: int = 6) -> str:
    r"""A table as LaTeX, by the package booktabs.

    >>> from mechdesign.views.tables import Column, number, text
    >>> heads = (Column("symbol", text("symbol")), Column("mass", text("mass"), True))
    >>> print(latex_table(Table("Prior", heads, ((text("a_1"), number(0.25)),))))
    \begin{tabular}{lr}
    \toprule
    symbol & mass \\
    \midrule
    a\_1 & 0.25 \\
    \bottomrule
    \end{tabular}
    """

    def line(cells: tuple[Cell, ...]) -> str:
        return " & ".join(map(shown, cells)) + r" \\"

    def shown(cell: Cell) -> str:
        value = _plain(cell)
        said = f"{value:.{digits}g}" if isinstance(value, float) else str(value or "")
        return "".join(_LATEX.get(sign, sign) for sign in said + cell.after)

    kinds = "".join("r" if column.is_number else "l" for column in table.columns)
    feet = [r"\midrule", *map(line, table.foot)] if table.foot else []
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{kinds}}}",
            r"\toprule",
            line(tuple(column.head for column in table.columns)),
            r"\midrule",
            *map(line, table.rows),
            *feet,
            r"\bottomrule",
            "\\end{tabular}\n",
        ]
    )
