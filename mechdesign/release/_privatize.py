"""``privatize``: a column of any table, in the tool that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files import check_writable
from ..tables.frames import library_of
from ._identifiability import warn_of_untold
from .adapters import (
    privatize_arrow,
    privatize_batches,
    privatize_duckdb,
    privatize_lazy,
    privatize_pandas,
    privatize_polars,
    privatize_reader,
)
from .codes import Policy
from .counts import warn_of_repeats
from .drawing import Release, release_of, resolved
from .engines import privatize_dask, privatize_spark
from .receipts import known_reports, names_reports, receipts_of, save_receipt

Adapter = Callable[[Any, Release], Any]

# By the package and the name of the type, so that nothing is imported that is not there.
_ADAPTERS: dict[tuple[str, str], Adapter] = {
    ("pandas", "DataFrame"): privatize_pandas,
    ("polars", "DataFrame"): privatize_polars,
    ("polars", "LazyFrame"): privatize_lazy,
    ("pyarrow", "Table"): privatize_arrow,
    ("pyarrow", "RecordBatch"): privatize_arrow,
    ("pyarrow", "RecordBatchReader"): privatize_reader,
    ("duckdb", "DuckDBPyRelation"): privatize_duckdb,
    ("_duckdb", "DuckDBPyRelation"): privatize_duckdb,
    ("dask", "DataFrame"): privatize_dask,
    ("dask_expr", "DataFrame"): privatize_dask,
    ("pyspark", "DataFrame"): privatize_spark,
}


def privatize(
    frame: Any,
    column: Any = None,
    mechanism: Any = None,
    *,
    columns: Any = None,
    into: Any = None,
    missing: str = "error",
    unseen: str = "error",
    replacement: Any = None,
    row: str | None = None,
    person: str | None = None,
    key: Any = None,
    rng: Any = None,
    receipt: str | Path | None = None,
    strata: str | None = None,
    round: int | str | None = None,
) -> Any:
    """The table with one or several columns replaced by reports of a mechanism, drawn exactly.

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
    column : str, optional
        The column that holds the secret; a list of several. Where the mechanism knows its columns,
        ``privatize(frame, mechanism)`` will do.
    mechanism : Mechanism, Design or KernelPlan
        Its inputs must be the values of the column, of the same type (1.0 is 1, ``"1"`` is not); of
        several columns tuples of their values. A plan draws a report for each of its columns.
    columns : list of str, optional
        Several columns, in the order of the tuples or of the plan; the mechanism's own when left
        out.
    into : str or list of str, optional
        Names of the columns of reports of a kernel on tuples. Where its outputs are such tuples
        too, each part stands in the place of its column, under its name when left out; other
        outputs stand in one column, called as the columns joined by ``_``, in the place of all.
    missing : {"error", "keep", "replace"}
        Nulls and NaN: refuse, leave null, or treat as the input named by ``replacement``. Rows that
        stay null are seen by everybody; no notion covers that. A mechanism with the input ``None``
        takes nulls as a symbol.
    unseen : {"error", "null", "replace"}
        Values that are no inputs: refuse, leave null, or treat as ``replacement``. So are
        combinations of values of several columns that are no inputs, or that the prior of a plan
        does not have, as its guarantee is about those that it has.
    row : str, optional
        A column with a different identity in each row: integers, text, bytes, UUIDs, dates or
        times. A report is then a function of a secret key, the identity and the symbol of its own
        row (and of column and kernel), in every library the same. Sorting, shuffling, joining,
        retrying or evaluating a lazy table again gives the same reports.
    person : str, optional
        A column that says whom a row is about. Without a key, or with ``row``, each row gets its
        own report, and a warning tells what the reports of the person with the most rows add up
        to. With a key and without ``row``, each person has one report, the same in all of their
        rows and in every later table as long as their value is the same, so that rounds cannot be
        averaged; a person with several values in one table is refused. Estimates take reports as
        independent: count each such person once.
    key : ReleaseKey, at least 32 bytes, or pathlib.Path of a key file, optional
        The secret that goes with the identities, see :func:`release_key`; a fresh one that is kept
        nowhere when left out. The same key, months later or on another machine, gives the same
        reports; its fingerprint is in the receipt. Use it for one set of people only: two people
        with the same identity would share the randomness of their reports, which then tell more.
        Where the value of a row has changed since, its new report is drawn anew: the levels of
        both add up, and two different reports show that the value changed. To report changing
        values, take a new key or ``round`` each time.
    rng : int or numpy.random.Generator, optional
        For repeatable research only, and marked so in the receipt. The same seed gives the same
        reports in every library. Spark tables take an integer.
    receipt : path, optional
        A new file for the receipt. polars, Spark and DuckDB tables carry none, and what is merged
        or joined loses it; :func:`estimate` takes the file.
    strata : str, optional
        A public column, which stays as it is. The inputs of the mechanism are then all pairs
        (stratum, symbol), as those of ``md.pram(..., strata=).released``: one kernel for each
        stratum.
    round : int or str, optional
        Names a round of deliberately fresh draws under a key: within it the same value has the
        same report for ever, in another round a draw of its own, and the levels of both count.
        :func:`privatize_file` keeps accounts and budgets of persons.

    Returns
    -------
    table of the same kind
        With ``row`` (or a key), lazy, Dask and Spark tables stay lazy; their identities are checked
        at once. What comes back then holds the key in its plan: write its reports to a
        file before others get them, and pickle or serialise no plan for others. Identities must be
        in the data: where a plan numbers rows, it may number them anew each time it is evaluated
        and give a row several reports. polars and Spark tables notice that, Dask tables do not.
        Without, they are evaluated and drawn once, here, and what comes back holds the reports: in
        memory for polars, in memory of the client or cluster for Dask, in a local checkpoint for
        Spark, which fails when an executor that holds a part is lost.

    Raises
    ------
    DataError
        For missing or unseen values (by the policy), values of another type, a table without rows
        or of an unknown kind; for identities that are repeated, missing or floating-point numbers,
        before anything is drawn, except in streams, where a repeated one is noticed when it comes.
    InputError
        For a key without ``row`` or ``person``, or with a seed.
    UnknownNameError
        For a column or a policy that is not there.

    Examples
    --------
    >>> import mechdesign as md, pandas as pd
    >>> found = md.design(md.Prior([.5, .3, .2], ["a", "b", "c"]), md.utility.Hamming(), md.LDP(2))
    >>> table = pd.DataFrame({"id": [7, 8, 9], "x": ["a", "b", "a"]})
    >>> md.privatize(table, "x", found, rng=1)["x"].tolist()
    ['a', 'b', 'a']

    By identity, the same report in any order:

    >>> key = md.release_key()
    >>> one = md.privatize(table, "x", found, row="id", key=key)
    >>> two = md.privatize(table.iloc[::-1], "x", found, row="id", key=key)
    >>> two.iloc[::-1]["x"].tolist() == one["x"].tolist()
    True
    """
    adapter = adapter_of(frame)
    mechanism, names = resolved(column, mechanism, columns)
    release = release_of(
        mechanism,
        names,
        Policy(missing, unseen, replacement),
        row=row,
        person=person,
        key=key,
        rng=rng,
        strata=strata,
        into=into,
        of_round=round,
    )
    for name in dict.fromkeys([*names, release.column]):
        if known_reports(frame, name) is not None or names_reports(receipts_of(frame), name):
            raise DataError(
                f"column {name!r}",
                expected="the secret itself",
                got="reports, by the receipt that the table carries",
                remedy="privatise the original column once, and keep these reports",
            )
    for part in release.parts:
        warn_of_untold(part.designed)
    if receipt is not None:
        check_writable(receipt, overwrite=False)
    if person is not None and not (release.identity and release.identity.by_person):
        warn_of_repeats(frame, person, release.recorded)
    made = adapter(frame, release)
    if receipt is not None:
        save_receipt(release.receipts(rows=release.rows > 0), receipt)
    return made


def adapter_of(frame: Any) -> Adapter:
    """The function that privatises a table of this kind."""
    root, name = library_of(frame), type(frame).__name__
    if (root, name) in _ADAPTERS:
        return _ADAPTERS[root, name]
    tables = ("pandas", "polars", "numpy", "pyarrow")
    if isinstance(frame, Iterable) and root not in tables and not isinstance(frame, (str, dict)):
        return privatize_batches
    remedy = "pass the whole table and the column's name; for values alone use Sampler.draw"
    if isinstance(frame, (str, PathLike)):
        remedy = "md.privatize_file (mechdesign apply) writes the reports of a file, of any kind"
    raise DataError(
        "table",
        expected="a pandas, polars, pyarrow, DuckDB, Dask or Spark table, or Arrow batches",
        got=f"a {type(frame).__module__}.{name}",
        remedy=remedy,
    )
