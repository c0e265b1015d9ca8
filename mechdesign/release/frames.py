"""``privatize``: a column of any table, in the tool that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files import check_writable
from .accounting import warn_of_repeats
from .batches import ColumnRelease, Policy, load_arrow
from .engines import privatize_dask, privatize_spark
from .entropy import repeatable_words, words_from
from .fingerprints import known_reports
from .identify import warn_of_untold
from .pandas_frames import privatize_pandas
from .polars_frames import privatize_lazy, privatize_polars
from .receipts import save_receipt, with_receipt


def privatize(
    frame: Any,
    column: str,
    mechanism: Any,
    *,
    missing: str = "error",
    unseen: str = "error",
    replacement: Any = None,
    person: str | None = None,
    rng: Any = None,
    receipt: str | Path | None = None,
) -> Any:
    """The table with one column replaced by reports of a mechanism, drawn exactly.

    Index, column order and the other columns stay as they are; so does the type of the column
    where the outputs fit it. What comes back carries a receipt that names the mechanism.

    Parameters
    ----------
    frame : table
        pandas or polars data frame, polars lazy frame, pyarrow Table, RecordBatch or
        RecordBatchReader, DuckDB relation, iterable of Arrow batches, Dask or Spark data frame.
        Readers and iterables of batches stream in constant memory and come back as readers and
        iterators. A DuckDB relation comes back as a relation on its connection, held in memory;
        stream its ``to_arrow_reader()`` where it is too large for that.
    column : str
        The column that holds the secret.
    mechanism : Mechanism or Design
        Its inputs must be the values of the column, of the same type (1.0 is 1, ``"1"`` is not).
    missing : {"error", "keep", "replace"}
        Nulls and NaN: refuse, leave null, or treat as the input named by ``replacement``. Rows that
        stay null are seen by everybody; no notion covers that. A mechanism with the input ``None``
        takes nulls as a symbol.
    unseen : {"error", "null", "replace"}
        Values that are no inputs: refuse, leave null, or treat as ``replacement``.
    person : str, optional
        A column that says whom a row is about. A warning tells what the reports of the person with
        the most rows add up to.
    rng : int or numpy.random.Generator, optional
        For repeatable research only, and marked so in the receipt. The same seed gives the same
        reports in every library. Lazy, Dask and Spark tables take an integer.
    receipt : path, optional
        A new file for the receipt. polars, Spark and DuckDB tables carry none, and what is merged
        or joined loses it; :func:`estimate` takes the file.

    Returns
    -------
    table of the same kind
        Lazy, Dask and Spark tables are privatised when they are evaluated, with words from one
        secret key, so that evaluating again gives the same reports and not a second release.

    Raises
    ------
    DataError
        For missing or unseen values (by the policy), values of another type, a table without rows
        or of an unknown kind.
    UnknownNameError
        For a column or a policy that is not there.

    Examples
    --------
    >>> import mechdesign as md, pandas as pd
    >>> found = md.design(md.Prior([.5, .3, .2], ["a", "b", "c"]), md.utility.Hamming(), md.LDP(2))
    >>> table = pd.DataFrame({"id": [7, 8, 9], "x": ["a", "b", "a"]})
    >>> md.privatize(table, "x", found, rng=1)["x"].tolist()
    ['a', 'b', 'a']
    """
    convert, lazy = _find(frame)
    words = repeatable_words(rng, str(column)) if lazy else words_from(rng, str(column))
    release = ColumnRelease(mechanism, column, words, Policy(missing, unseen, replacement))
    if known_reports(frame, column) is not None:
        raise DataError(
            f"column {column!r}",
            expected="the secret itself",
            got="reports, by the receipt that the table carries",
            remedy="privatise the original column once, and keep these reports",
        )
    warn_of_untold(mechanism)
    if receipt is not None:
        check_writable(receipt, overwrite=False)
    if person is not None:
        warn_of_repeats(frame, person, mechanism)
    made = convert(frame, release)
    if receipt is not None:
        save_receipt(release.receipt(rows=release.rows > 0 and not lazy), receipt)
    return made


def _find(frame: Any) -> tuple[Callable[[Any, ColumnRelease], Any], bool]:
    """How a table is privatised, and whether that happens later and perhaps more than once."""
    root = type(frame).__module__.partition(".")[0]
    name = type(frame).__name__
    known: dict[tuple[str, str], tuple[Callable[[Any, ColumnRelease], Any], bool]] = {
        ("pandas", "DataFrame"): (_pandas, False),
        ("polars", "DataFrame"): (_polars, False),
        ("polars", "LazyFrame"): (privatize_lazy, True),
        ("pyarrow", "Table"): (_arrow, False),
        ("pyarrow", "RecordBatch"): (_arrow, False),
        ("pyarrow", "RecordBatchReader"): (_reader, False),
        ("duckdb", "DuckDBPyRelation"): (_duckdb, False),
        ("_duckdb", "DuckDBPyRelation"): (_duckdb, False),
        ("dask", "DataFrame"): (privatize_dask, True),
        ("dask_expr", "DataFrame"): (privatize_dask, True),
        ("pyspark", "DataFrame"): (privatize_spark, True),
    }
    if (root, name) in known:
        return known[root, name]
    tables = ("pandas", "polars", "numpy", "pyarrow")
    if isinstance(frame, Iterable) and root not in tables and not isinstance(frame, (str, dict)):
        return _batches, False
    raise DataError(
        "table",
        expected="a pandas, polars, pyarrow, DuckDB, Dask or Spark table, or Arrow batches",
        got=f"a {type(frame).__module__}.{name}",
        remedy="pass the whole table and the column's name; for values alone use Sampler.draw",
    )


def _check_rows(rows: int) -> None:
    if rows == 0:
        raise DataError(
            "table", expected="at least one row", got="none", remedy="check how it was read"
        )


def _pandas(frame: Any, release: ColumnRelease) -> Any:
    release.find_among(list(frame.columns))
    _check_rows(len(frame))
    return privatize_pandas(frame, release)


def _polars(frame: Any, release: ColumnRelease) -> Any:
    release.find_among(frame.columns)
    _check_rows(frame.height)
    return privatize_polars(frame, release)


# Arrow


def _arrow(table: Any, release: ColumnRelease) -> Any:
    release.find_among(table.schema.names)
    _check_rows(table.num_rows)
    made = release(table)
    return made.replace_schema_metadata(with_receipt(made.schema, release.receipt()).metadata)


def _reader(reader: Any, release: ColumnRelease) -> Any:
    pa = load_arrow()
    schema = release.schema(reader.schema)
    return pa.RecordBatchReader.from_batches(schema, _stamped(reader, release, schema))


def _duckdb(relation: Any, release: ColumnRelease) -> Any:
    reports = _arrow(relation.to_arrow_table(), release)
    # DuckDB finds the table by the name of this variable, on the connection of the relation.
    made = relation.query("mechdesign_source", "SELECT * FROM reports")
    assert reports is not None
    return made


def _stamped(batches: Iterable[Any], release: ColumnRelease, schema: Any) -> Iterator[Any]:
    for batch in batches:
        yield release(batch).replace_schema_metadata(schema.metadata)
    _check_rows(release.rows)


def _batches(batches: Iterable[Any], release: ColumnRelease) -> Iterator[Any]:
    if isinstance(batches, Sequence):
        # What is there already is checked before the first report is drawn.
        for batch in batches:
            _check_batch(batch)
        _check_rows(sum(batch.num_rows for batch in batches))
    return _stream(batches, release)


def _stream(batches: Iterable[Any], release: ColumnRelease) -> Iterator[Any]:
    schema = None
    for batch in batches:
        _check_batch(batch)
        schema = schema or release.schema(batch.schema)
        yield release(batch).replace_schema_metadata(schema.metadata)
    _check_rows(release.rows)


def _check_batch(batch: Any) -> None:
    pa = load_arrow()
    if not isinstance(batch, (pa.RecordBatch, pa.Table)):
        raise DataError(
            "batches",
            expected="Arrow batches (pyarrow.RecordBatch or Table)",
            got=f"a {type(batch).__name__}",
            remedy="pass a table, or an iterable of batches",
        )
