"""How often do values of several columns occur together?"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from .data import EXAMPLES, example_path
from .errors import DataError, UnknownNameError, is_iterable, quote
from .input_tables import (
    MISSING_TEXT,
    count_csv,
    count_values,
    csv_header,
    is_missing,
    open_table,
    read_weight,
    refuse_missing,
)
from .labels import Label, parse_labels, tidy
from .schema import Schema

# Combinations that are listed whether they occur or not.
_MOST_COMBINATIONS = 1_000_000


def column_names(columns: Any) -> tuple[str, ...]:
    """Names of columns from one name or a list of them; raises :class:`InputError`."""
    return Schema.of(columns).names


def count_columns(
    table: Any,
    columns: Sequence[str],
    *,
    missing: str = "error",
    max_symbols: int | None = None,
    all_combinations: bool = False,
) -> dict[Label, int]:
    """How often each combination of values of columns of a table occurs; values of one column.

    Raises :class:`DataError` for what is no table and for values that no combination is made of,
    :class:`UnknownNameError` for a column that is not there.

    Parameters
    ----------
    table : data frame or lazy frame that narwhals knows, Arrow table, or mapping of names to values
    columns : names; combinations are tuples in their order, values alone where there is one
    missing, max_symbols : as in :func:`mechdesign.input_tables.count_values`; a row is missing
        where one of its values is
    all_combinations : whether those that never occur are counted too, as zero
    """
    read = {name: table_column(table, name) for name in columns}
    if len(columns) == 1:
        return count_values(read[columns[0]], missing=missing, max_symbols=max_symbols)
    lists = [_values(read[name]) for name in columns]
    if len({len(values) for values in lists}) > 1:
        raise DataError(
            "columns",
            expected="as many values in each",
            got=" and ".join(str(len(values)) for values in lists),
            remedy="pass columns of one table",
        )
    rows = list(zip(*lists, strict=True))
    kept = rows
    if missing != "category":
        kept = [row for row in rows if not any(map(is_missing, row))]
        refuse_missing(f"columns {_listed(columns)}", len(rows) - len(kept), len(rows), missing)
    kept = [tuple(None if is_missing(v) else v for v in row) for row in kept]
    orders = [_order(read[name], missing, max_symbols, name) for name in columns]
    return _ordered(Counter(kept), orders, columns, max_symbols, all_combinations)


def table_column(table: Any, name: str) -> Any:
    """One column of a table of any library; raises :class:`DataError` as counting it does."""
    if isinstance(table, dict):
        if name not in table:
            raise UnknownNameError("column", name, map(str, table))
        return table[name]
    import narwhals.stable.v1 as nw

    if hasattr(table, "read_all"):
        table = table.read_all()
    try:
        frame = nw.from_native(table)
    except TypeError:
        frame = None
    if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        raise DataError(
            "table",
            expected="a data frame with the columns",
            got=f"a {type(table).__name__}",
            remedy="pass a pandas, polars or pyarrow table, or a mapping of names to values",
        )
    names = list(frame.collect_schema().names())
    if name not in names:
        raise UnknownNameError("column", name, map(str, names))
    if names.count(name) > 1:
        raise DataError(
            "table",
            expected=f"one column {name!r}",
            got=f"{names.count(name)} of that name",
            remedy="rename the columns",
        )
    if isinstance(frame, nw.LazyFrame):
        frame, name = renamed_columns(table, {"c": name}).collect(), "c"
    return frame.get_column(name).to_native()


def renamed_columns(table: Any, names: Mapping[str, str]) -> Any:
    """A lazy frame of these columns under other names, ``{new: old}``, of a table of any library.

    The old ones are taken as they are written; polars takes some, such as "*" and "^a.*$", for
    patterns.
    """
    import narwhals.stable.v1 as nw

    if type(table).__module__.startswith("polars"):
        from polars import selectors

        exact = [selectors.by_name(old).alias(new) for new, old in names.items()]
        return nw.from_native(table.lazy().select(exact))
    return nw.from_native(table).lazy().select(*(nw.col(o).alias(n) for n, o in names.items()))


def _values(column: Any) -> list[Any]:
    import narwhals.stable.v1 as nw

    series = nw.from_native(column, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series):
        return [tidy(value) for value in series.to_list()]
    if not is_iterable(series) or isinstance(series, (str, bytes)):
        raise DataError(
            "column",
            expected="a sequence of values",
            got=type(column).__name__,
            remedy="pass a column with one value per row",
        )
    return [tidy(value) for value in series]


def _order(column: Any, missing: str, max_symbols: int | None, name: str) -> list[Label]:
    """The values of a column in the order of its own prior."""
    policy = missing if missing == "category" else "drop"
    try:
        return list(count_values(column, missing=policy, max_symbols=max_symbols))
    except DataError as problem:
        raise DataError(
            f"column {quote(name)}",
            expected=problem.expected,
            got=problem.got,
            remedy=problem.remedy,
        ) from None


def _ordered(
    counts: Counter[Any],
    orders: Sequence[Sequence[Label]],
    columns: Sequence[str],
    most: int | None,
    everything: bool,
) -> dict[Label, Any]:
    """Counts of combinations in the order of the values of the columns, one after the other."""
    if everything:
        size = 1
        for order in orders:
            size *= len(order)
        if size > (most or _MOST_COMBINATIONS):
            raise DataError(
                f"columns {_listed(columns)}",
                expected=f"at most {most or _MOST_COMBINATIONS:,} combinations of values",
                got=f"{size:,}",
                remedy="take those that occur, or plan each column by itself (md.plan_columns)",
            )
        return {key: counts.get(key, 0) for key in product(*orders)}
    places = [{value: i for i, value in enumerate(order)} for order in orders]
    found = sorted(counts, key=lambda key: tuple(p[v] for p, v in zip(places, key, strict=True)))
    if most is not None and len(found) > most:
        raise DataError(
            f"columns {_listed(columns)}",
            expected=f"at most {most:,} different combinations of values",
            got=f"{len(found):,}",
            remedy="plan each column by itself (md.plan_columns), or allow more with max_symbols=",
        )
    return {key: counts[key] for key in found}


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(map(quote, columns))


def count_csv_columns(
    path: str | Path,
    columns: Sequence[str],
    *,
    weights: str | None = None,
    missing: str = "error",
    max_symbols: int | None = None,
    all_combinations: bool = False,
) -> dict[Label, Fraction]:
    """:func:`count_columns` of a CSV file with a header line, or of a shipped table."""
    if weights is None and example_path(path) is not None:
        weights = EXAMPLES[str(path)].weights
    header = csv_header(path)
    for wanted in (*columns, *([] if weights is None else [weights])):
        if wanted not in header:
            raise UnknownNameError(f"column of {path}", wanted, header)
        if header.count(wanted) > 1:
            raise DataError(
                f"table {path}",
                expected="distinct column names",
                got=f"{quote(wanted)} more than once",
                remedy="rename the columns",
            )
    counts: Counter[tuple[str | None, ...]] = Counter()
    seen: list[dict[str, None]] = [{} for _ in columns]
    total = blank = spelled = 0
    with open_table(path) as (name, lines):
        reader = csv.DictReader(lines)
        for row in reader:
            total += 1
            cells = [(row[column] or "").strip() for column in columns]
            key = tuple(None if cell.lower() in MISSING_TEXT else cell for cell in cells)
            for texts, cell in zip(seen, key, strict=True):
                texts.update({} if cell is None else {cell: None})
            if None in key and missing != "category":
                blank += 1
                spelled += any(v is None and cell for v, cell in zip(key, cells, strict=True))
                continue
            weight: Any = 1
            if weights is not None:
                weight = read_weight(row[weights], name, weights, reader.line_num)
            counts[key] += weight
    if total == 0:
        raise DataError(
            f"table {name}", expected="at least one row", got="none", remedy="check the file"
        )
    refuse_missing(f"columns {_listed(columns)} of {name}", blank, total, missing, spelled=spelled)
    typed = [dict(zip(texts, parse_labels(list(texts)), strict=True)) for texts in seen]
    found: Counter[Any] = Counter()
    for key, count in counts.items():
        found[tuple(None if v is None else typed[i][v] for i, v in enumerate(key))] += count
    policy = missing if missing == "category" else "drop"
    # Each column as its own prior reads it.
    orders = [
        list(count_csv(path, column, weights=weights, missing=policy, max_symbols=max_symbols))
        for column in columns
    ]
    return _ordered(found, orders, columns, max_symbols, all_combinations)
