"""What does a table that is handed in hold? Counts of a column's values, a header, a matrix."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .data import EXAMPLES, example_path
from .errors import (
    AlikeWarning,
    DataError,
    StorageError,
    UnknownNameError,
    asked_by,
    is_iterable,
    quote,
    warn,
)
from .exact import read_fraction
from .files import regular_file
from .labels import Label, alike, counted, parse_labels, tidy

#: Different values of a column that are designed on without being asked for.
MOST_SYMBOLS = 1000
#: As many different values as any column has, where they are put into bins.
ANY_NUMBER = 1 << 53
# A column of so many values, most of them in one row only, distinguishes rows, not groups of them.
_FEW_VALUES = 100
# So many fractions of which none recurs are measured.
_FEW_FRACTIONS = 20
MISSING_TEXT = frozenset({"", "na", "n/a", "nan", "null", "none"})


def count_values(
    column: Any, *, missing: str = "error", max_symbols: int | None = None
) -> dict[Label, int]:
    """How often each value occurs in a column, in label order.

    Raises :class:`DataError` as :meth:`mechdesign.Prior.from_data` does.

    Parameters
    ----------
    column : pandas, polars or pyarrow series, NumPy vector, or iterable of values
    missing : {"error", "drop", "category"}
        Whether null and NaN entries are refused, left out, or counted as the value ``None``.
    max_symbols : int, optional
        The most values that are let through, see :meth:`mechdesign.Prior.from_data`.
    """
    check_missing_policy(missing)
    most = _checked_most(max_symbols)
    values, categories = _values_of(column)
    counts: Counter[Label] = Counter()
    blank = total = 0
    for value in values:
        total += 1
        value = tidy(value)
        if is_missing(value):
            blank += 1
            continue
        try:
            counts[value] += 1
        except TypeError:
            raise DataError(
                "column",
                expected="hashable values such as text or numbers",
                got=f"values of type {type(value).__name__}, first in row {total}",
                remedy="select a column that holds one value per row",
            ) from None
    refuse_missing("column", blank, total, missing)
    found = _ordered(counts, categories)
    if blank and missing == "category":
        found[None] = blank
    fractions = any(isinstance(label, float) and not label.is_integer() for label in found)
    _check_symbols("column", len(found), total - blank, most, fractions=fractions)
    _warn_of_alike("column", list(found))
    return found


def _values_of(column: Any) -> tuple[Iterable[Any], list[Label] | None]:
    """The values of a column of any library, and its categories where it has them."""
    import narwhals.stable.v1 as nw

    series = series_of(column)
    if not isinstance(series, nw.Series):
        return series.tolist() if isinstance(series, np.ndarray) else series, None
    categories: list[Label] | None = None
    if isinstance(series.dtype, (nw.Categorical, nw.Enum)):
        categories = [tidy(c) for c in series.cat.get_categories().to_list()]
    return series.to_list(), categories


def series_of(column: Any) -> Any:
    """A column of any library as a narwhals series; vectors and iterables of values as they are.

    Raises :class:`DataError` for anything else.
    """
    import narwhals.stable.v1 as nw

    series = nw.from_native(_chunked(column), allow_series=True, pass_through=True)
    if isinstance(series, nw.Series) or (isinstance(series, np.ndarray) and series.ndim > 0):
        return series
    if not is_iterable(series) or isinstance(
        series, (str, bytes, Mapping, np.ndarray, nw.DataFrame, nw.LazyFrame)
    ):
        raise DataError(
            "column",
            expected="a pandas, polars or pyarrow series, or a sequence of values",
            got=type(column).__name__,
            remedy="select one column of the table first",
        )
    return series


def count_values_by(
    column: Any, by: Any, *, missing: str = "error", max_symbols: int | None = None
) -> dict[Label, dict[Label, int]]:
    """How often each value occurs in each group of rows, with all values in every group.

    Raises :class:`DataError` as :func:`count_values` does, and for a group that is missing.

    >>> count_values_by(["a", "b", "a"], [1, 1, 2])
    {1: {'a': 1, 'b': 1}, 2: {'a': 1, 'b': 0}}
    """
    values, groups = (list(_values_of(part)[0]) for part in (column, by))
    if len(values) != len(groups):
        raise DataError(
            "groups of rows",
            expected=f"{len(values)} entries, one per row",
            got=str(len(groups)),
            remedy="pass two columns of one table",
        )
    _refuse_unnamed("groups of rows", sum(is_missing(tidy(g)) for g in groups), len(groups))
    symbols = count_values(column, missing=missing, max_symbols=max_symbols)
    found: dict[Label, dict[Label, int]] = {
        group: dict.fromkeys(symbols, 0) for group, rows in count_values(by).items() if rows
    }
    for value, group in zip(map(tidy, values), map(tidy, groups), strict=True):
        if not is_missing(value):
            found[group][value] += 1
        elif missing == "category":
            found[group][None] += 1
    return found


def _check_symbols(
    subject: str, symbols: int, rows: Any, most: int | None, *, fractions: bool = False
) -> None:
    """Refuse a column of so many different values that it names no groups of people.

    A measured number or an identifier has about as many values as rows; a design on it would take
    hours and be of no use. Without a limit asked for, that is more than 1000 values, or more than
    100 that are more than half as many as the rows, or more than 20 with fractions among them of
    which none recurs. ``rows`` is ``None`` where lines have shares, which count nobody.
    """
    if most is None:
        scattered = rows is not None and (
            (symbols > _FEW_VALUES and 2 * symbols > rows)
            or (fractions and symbols > _FEW_FRACTIONS and symbols >= rows)
        )
        if symbols <= MOST_SYMBOLS and not scattered:
            return
    elif symbols <= most:
        return
    limit = f"at most {most or MOST_SYMBOLS:,} different values"
    is_identity = symbols == rows and symbols > _FEW_VALUES and not fractions
    guess = " (a measured number or an identifier?)"
    if is_identity:
        guess = ": it looks like an identity of rows, which is no secret with finitely many values"
    raise DataError(
        subject,
        expected=limit if most else f"{limit}, each in several rows",
        got=f"{symbols:,}" + ("" if rows is None else f" in {int(rows):,} rows") + guess,
        remedy=("name the column of the secret, " if is_identity else "")
        + "put numbers into bins with "
        + asked_by("bins=md.bins(edges=[0, 18, 65, 120])", "--bins 0,18,65,120")
        + ", group other values first (such as postal codes by their first digits), or allow them "
        f"with {asked_by(f'max_symbols={symbols}', f'--max-symbols {symbols}')}",
    )


def _warn_of_alike(subject: str, labels: list[Label]) -> None:
    """Warn of symbols that people would take for one, such as ``yes`` and ``Yes``."""
    pairs = alike(labels)
    if pairs:
        first, second, why = pairs[0]
        more = f" (and {len(pairs) - 1} more pairs)" if len(pairs) > 1 else ""
        warn(
            f"{subject}: {quote(first, 40)} and {quote(second, 40)}{more} are counted as different "
            f"symbols, and differ by {why}; if they mean the same, make them the same first",
            AlikeWarning,
        )


def _checked_most(most: Any) -> int | None:
    if most is None:
        return None
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise DataError(
            "max_symbols",
            expected="a positive whole number",
            got=quote(most),
            remedy="pass the most values that the column may have",
        )
    return int(most)


def _chunked(column: Any) -> Any:
    """A plain pyarrow array as the chunked one that narwhals knows; anything else as it is."""
    if type(column).__module__.startswith("pyarrow") and hasattr(column, "dictionary_encode"):
        import pyarrow

        if not isinstance(column, pyarrow.ChunkedArray):
            return pyarrow.chunked_array([column])
    return column


def count_csv(
    path: str | Path,
    column: str,
    *,
    weights: str | None = None,
    missing: str = "error",
    max_symbols: int | None = None,
) -> dict[Label, Fraction]:
    """How often each value occurs in one column of a CSV file, streamed line by line.

    Empty cells and the words NA, N/A, NaN, null and none (in any case) count as missing.

    Parameters
    ----------
    path : file with a header line, or the name of a shipped table
    column : name of the column
    weights : name of a column of counts for tables with one line per group; the shipped tables
        know theirs
    missing : {"error", "drop", "category"}
    max_symbols : int, optional
        The most values that are let through, see :meth:`mechdesign.Prior.from_data`.
    """
    return _count_csv(path, column, None, weights, missing, max_symbols)[None]


def count_csv_by(
    path: str | Path,
    column: str,
    by: str,
    *,
    weights: str | None = None,
    missing: str = "error",
    max_symbols: int | None = None,
) -> dict[Label, dict[Label, Fraction]]:
    """:func:`count_csv` in each group of rows, by another column; all values in every group."""
    return _count_csv(path, column, by, weights, missing, max_symbols)


def _count_csv(
    path: str | Path,
    column: str,
    by: str | None,
    weights: str | None,
    missing: str,
    max_symbols: int | None,
) -> dict[Label, dict[Label, Fraction]]:
    check_missing_policy(missing)
    most = _checked_most(max_symbols)
    if weights is None and example_path(path) is not None:
        weights = EXAMPLES[str(path)].weights
    counts: Counter[str | None] = Counter()
    groups: dict[str | None, Counter[str | None]] = {}
    blank = spelled = total = unnamed = 0
    with open_table(path) as (name, lines):
        reader = csv.DictReader(lines)
        header = _header(name, reader.fieldnames)
        if len(set(header)) < len(header):
            twice = next(cell for cell in header if header.count(cell) > 1)
            raise DataError(
                f"table {name}",
                expected="distinct column names",
                got=f"{quote(twice)} more than once",
                remedy="rename the columns",
            )
        for wanted in (column, weights, by):
            if wanted is not None and (not isinstance(wanted, str) or wanted not in header):
                _expect_commas(name, header)
                raise UnknownNameError(f"column of {name}", wanted, header)
        for row in reader:
            total += 1
            text, group = row[column], None if by is None else (row[by] or "").strip()
            if group is not None and group.lower() in MISSING_TEXT:
                unnamed += 1
                continue
            value = (text or "").strip() or None
            if value is None or value.lower() in MISSING_TEXT:
                blank += 1
                spelled += value is not None
                if missing != "category":
                    continue
                value = None
            weight: Fraction | int = 1
            if weights is not None:
                weight = read_weight(row[weights], name, weights, reader.line_num)
            counts[value] += weight  # type: ignore[assignment]
            groups.setdefault(group, Counter())[value] += weight  # type: ignore[assignment]
    if total == 0:
        raise DataError(
            f"table {name}", expected="at least one row", got="none", remedy="check the file"
        )
    subject = f"column {quote(column)} of {name}"
    _refuse_unnamed(f"column {quote(by)} of {name}", unnamed, total)
    refuse_missing(subject, blank, total, missing, spelled=spelled)
    people: Any = total if missing == "category" else total - blank
    if weights is not None:
        whole = all(Fraction(count).denominator == 1 for count in counts.values())
        people = sum(counts.values()) if whole else None
    texts = [text for text in counts if text is not None]
    fractions = any("." in text and _is_number(text) for text in texts)
    _check_symbols(subject, len(texts), people, most, fractions=fractions)
    typed: dict[Label, str | None] = dict(zip(parse_labels(texts), texts, strict=True))
    _warn_of_alike(subject, sorted(typed, key=str))
    names: list[Any] = [None] if by is None else parse_labels([str(group) for group in groups])
    named = dict(zip(names, groups.values(), strict=True))
    order = list(_ordered(Counter(list(typed)), None))
    if None in counts:
        order.append(None)
        typed[None] = None
    return {
        group: {label: Fraction(named[group][typed[label]]) for label in order}
        for group in (names if by is None else _ordered(Counter(names), None))
    }


def _expect_commas(name: str, header: Sequence[str], *, sure: bool = False) -> None:
    """Raise :class:`DataError` for a header that other signs than commas take apart.

    ``sure`` leaves out the sign that a name of a column may well hold.
    """
    signs = ";\t" if sure else ";\t|"
    other = next((sign for sign in signs if len(header) == 1 and sign in header[0]), None)
    if other is not None:
        raise DataError(
            f"table {name}",
            expected="columns separated by commas",
            got="a tab" if other == "\t" else quote(other),
            remedy="save the table as CSV with commas",
        )


def csv_header(path: str | Path) -> list[str]:
    """Column names of a CSV file or shipped table; raises :class:`DataError` as reading does."""
    with open_table(path) as (name, lines):
        header = _header(name, next(csv.reader(lines), []))
    _expect_commas(name, header, sure=True)
    return header


def _header(name: str, cells: Sequence[str] | None) -> list[str]:
    if not cells:
        raise DataError(
            f"table {name}",
            expected="a header line and rows",
            got="an empty file",
            remedy="check the path",
        )
    return list(cells)


def read_matrix(path: str | Path) -> tuple[NDArray[np.float64], list[Label], list[Label]]:
    """A labelled matrix: first column the row labels, header line the column labels.

    Returns the ``(N, M)`` array, the N row labels and the M column labels.
    """
    with open_table(path) as (name, lines):
        rows = [row for row in csv.reader(lines) if any(cell.strip() for cell in row)]
        if rows:
            _expect_commas(name, rows[0])
    if len(rows) < 2 or len(rows[0]) < 2:
        raise DataError(
            f"matrix {name}",
            expected="a header line, then one line per row with its label first",
            got=counted(len(rows), "line"),
            remedy="see 'mechdesign design --csv' for the layout",
        )
    columns = [cell.strip() for cell in rows[0][1:]]
    decimals = all(_is_number(cell) for cell in columns) and any("." in cell for cell in columns)
    if decimals and abs(sum(map(float, columns)) - 1) < 1e-6:
        raise DataError(
            f"matrix {name}",
            expected="a header line with the labels of the columns",
            got=f"numbers that sum to one: {rows[0][1:5]}",
            remedy="put a line such as input,a,b above the rows",
        )
    labels, values = [], []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(columns) + 1:
            raise DataError(
                f"matrix {name}",
                expected=f"{len(columns) + 1} cells in line {number}",
                got=str(len(row)),
                remedy="complete the line",
            )
        labels.append(row[0].strip())
        try:
            values.append([float(cell) for cell in row[1:]])
        except ValueError:
            place = next(i for i, cell in enumerate(row[1:], 2) if not _is_number(cell))
            # Not what stands there: tables of people are passed by mistake.
            raise DataError(
                f"matrix {name}",
                expected=f"numbers in line {number}",
                got=f"other text in cell {place}",
                remedy="correct the cell; a table of people is no kernel",
            ) from None
    return np.array(values), parse_labels(labels), parse_labels(columns)


def _open_text(file: Path) -> IO[str]:
    """A text file, or what .gz and .zst files hold, to be read line by line."""
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", newline="", encoding="utf-8-sig")
    if file.suffix.lower() == ".zst":
        import pyarrow as pa

        packed: Any = pa.input_stream(file, compression="zstd")
        return io.TextIOWrapper(packed, newline="", encoding="utf-8-sig")
    return open(file, newline="", encoding="utf-8-sig")


@contextmanager
def open_table(path: str | Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Name and lines of a file or a shipped table; :class:`DataError` where there is none."""
    try:
        if not path:
            raise ValueError("a path takes an empty text for the current folder")
        file = example_path(path) or Path(path)
        if file.exists():
            file = regular_file(file)
        handle = _open_text(file)
    except StorageError as problem:
        raise DataError(
            "table",
            expected="a readable file",
            got=str(problem).rstrip("."),
            remedy="name a CSV file",
        ) from None
    except FileNotFoundError:
        raise DataError(
            "table",
            expected="an existing file or the name of a shipped table",
            got=str(path),
            remedy="check the path; 'mechdesign data' lists the shipped tables",
        ) from None
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            "table",
            expected="the name of a file or of a shipped table",
            got=quote(path),
            remedy="pass a path",
        ) from None
    except OSError as problem:
        raise DataError(
            "table",
            expected="a readable file",
            got=f"{path} ({problem.strerror})",
            remedy="check the path and its permissions",
        ) from None
    with handle:
        try:
            yield file.name, handle
        except UnicodeDecodeError:
            raise DataError(
                f"table {file.name}",
                expected="UTF-8 text",
                got="other bytes",
                remedy="save the file as CSV in UTF-8",
            ) from None
        except (EOFError, OSError, zlib.error):
            raise DataError(
                f"table {file.name}",
                expected="a file that can be read to its end",
                got="one that is damaged or cut off",
                remedy="take it from where it came from again",
            ) from None
        except csv.Error as problem:
            raise DataError(
                f"table {file.name}",
                expected="a CSV file",
                got=str(problem),
                remedy="check quotes and separators",
            ) from None


_POLICIES = ("error", "drop", "category")
#: How missing values are left out, in Python and at the command line.
DROPPED = ("missing='drop'", "--missing drop")
_WAYS_OUT = {
    "category": (
        "make them a symbol like any other with ",
        "missing='category'",
        "--missing category",
    ),
    "drop": (
        "leave them out with ",
        DROPPED[0],
        f"{DROPPED[1]}, in the command pram --missing keep",
    ),
}


def check_missing_policy(missing: str, known: Sequence[str] = _POLICIES) -> None:
    """Raise :class:`UnknownNameError` for a policy that is not known."""
    if not isinstance(missing, str) or missing not in known:
        raise UnknownNameError("policy for missing values", missing, known)


def refuse_missing(
    subject: str,
    blank: int,
    total: int,
    policy: str,
    known: Sequence[str] = _POLICIES,
    *,
    spelled: int = 0,
) -> None:
    """Refuse missing values where the policy does, and a table of nothing else.

    ``known`` are the policies that there are to choose from; ``spelled`` says how many of the
    missing values of a file are spelled out, such as NA.
    """
    if blank and policy == "error":
        known_ways = [way for name, way in _WAYS_OUT.items() if name in known]
        ways = ["fill them in", *(f"{do}{asked_by(*by)}" for do, *by in known_ways)]
        got = f"{blank} of {counted(total, 'row')} without a value"
        if spelled:
            got += f" ({spelled} of them spelled NA, N/A, NaN, null or none)"
            ways.append("where that is a value of its own, write it in another way")
        raise DataError(subject, expected="no missing values", got=got, remedy=", or ".join(ways))
    if blank == total:
        raise DataError(
            subject,
            expected="at least one value",
            got=f"none in {counted(total, 'row')}",
            remedy="choose another column",
        )


def _refuse_unnamed(subject: str, blank: int, total: int) -> None:
    """Refuse rows without a group, which no policy leaves out: they would count nowhere."""
    if blank:
        raise DataError(
            subject,
            expected="a group in every row",
            got=f"{blank} of {counted(total, 'row')} without one",
            remedy="give those rows a group of their own, such as 'unknown', or take them out",
        )


def is_missing(value: Any) -> bool:
    """Whether a value is a null or a NaN of any library."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def _ordered(counts: Counter[Label], categories: list[Label] | None) -> dict[Label, Any]:
    if categories is not None:
        return {c: counts.get(c, 0) for c in categories}
    try:
        keys = sorted(counts)
    except TypeError:
        keys = sorted(counts, key=lambda label: (type(label).__name__, str(label)))
    return {key: counts[key] for key in keys}


def read_weight(text: str | None, name: str, column: str, line: int) -> Fraction:
    """A count in a cell of a table, exact; raises :class:`DataError` for what is none."""
    try:
        value = read_fraction((text or "").strip())
        if value < 0:
            raise ValueError
    except ValueError:
        raise DataError(
            f"column {quote(column)} of {name}",
            expected=f"a non-negative count in line {line}",
            got="an empty cell"
            if not (text or "").strip()
            else ("another number" if _is_number(text or "") else "text that is no number"),
            remedy="correct the cell, or choose another column of counts",
        ) from None
    return value


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
