"""Labelled matrices of numbers: kernels, gains and patterns in tables."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..exact import read_fraction
from ..labels import Label, counted, parse_labels
from .counting import is_number
from .reading import open_table, read_columns

# What stands in a cell that holds no number, and what to do.
_NO_NUMBERS = (
    (r"[-+\d]*,\d+$", "a decimal comma", "write a point, as in 0.5"),
    (r"[-+\d]+/0+$", "a fraction over zero", "correct the cell"),
    ("", "other text", "correct the cell; a table of people is no kernel"),
)


def read_matrix(
    path: str | Path, *, exact: bool = False
) -> tuple[NDArray[Any], list[Label], list[Label]]:
    """A labelled matrix: first column the row labels, header line the column labels.

    Returns the ``(N, M)`` array of floats, the N row labels and the M column labels. The entries
    are those of :func:`rows_as_written` where they are to be ``exact``.
    """
    table = open_table(path)
    name, header = table.name, [str(cell).strip() for cell in table.names]
    names = [str(i) for i in range(len(header))]
    parts = [part.rename_columns(names) for part in table.batches()]
    labels, *columns = read_columns(parts, names) if parts else [[] for _ in header]
    if not labels or not columns:
        raise DataError(
            f"matrix {name}",
            expected="a header line, then one line per row with its label first",
            got=counted(1 + len(labels), "line"),
            remedy="see 'mechdesign design --csv' for the layout",
        )
    decimals = all(map(is_number, header[1:])) and any("." in cell for cell in header[1:])
    if decimals and abs(sum(map(float, header[1:])) - 1) < 1e-6:
        raise DataError(
            f"matrix {name}",
            expected="a header line with the labels of the columns",
            got=f"numbers that sum to one: {header[1:5]}",
            remedy="put a line such as input,a,b above the rows",
        )
    rows = list(zip(*columns, strict=True))
    for line, row in enumerate(rows, start=2):
        for place, cell in enumerate(row, start=2):
            if _number(cell) is None:
                # Not what stands there: tables of people are passed by mistake.
                kinds = (kind for kind in _NO_NUMBERS if re.match(kind[0], str(cell).strip()))
                _, got, remedy = next(kinds)
                raise DataError(
                    f"matrix {name}",
                    expected=f"numbers in line {line}",
                    got=f"{got} in cell {place}",
                    remedy=remedy,
                )
    written: Any = rows_as_written(rows) if exact else None
    matrix = np.array(written or [[_number(cell) for cell in row] for row in rows])
    texts = [label.strip() if isinstance(label, str) else label for label in labels]
    read = parse_labels(texts) if table.is_text else texts
    return matrix, read, parse_labels(header[1:])


def _number(cell: Any) -> float | None:
    """The number that a cell holds, or its text says; ``None`` for others."""
    try:
        return float(read_fraction(cell) if "/" in str(cell) else cell)
    except (TypeError, ValueError, OverflowError):
        return None


def rows_as_written(rows: Any) -> list[list[Fraction]] | None:
    """Rows of a kernel as the rationals that are written, where each sums to one or has a p/q.

    ``None`` for others, as programs write floats rounded, and for what is no list of rows.
    """
    found = []
    if not isinstance(rows, list) or not all(isinstance(row, (list, tuple)) for row in rows):
        return None
    for row in rows:
        try:
            exact = [read_fraction(cell) for cell in row]
        except (TypeError, ValueError, OverflowError):
            return None
        is_ratio = any(isinstance(cell, str) and "/" in cell for cell in row)
        if sum(exact) != 1 and not is_ratio:
            return None
        found.append(exact)
    return found
