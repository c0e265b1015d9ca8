"""Privatising on the engines that hold large tables: Dask and Spark.

Each partition is drawn where it lies. Row ``i`` of a partition takes word ``i`` of that
partition's words, from one secret key, so that a task that is repeated gives the same reports.
With a seed, the rows before each partition are counted first and the words are those that the same
rows would get in any other library.

That the same row is the i-th of the same partition again is up to the table: a Spark plan that
shuffles may deal its rows anew each time it runs, and then it draws anew. A warning says so. Cache
such a table, or write the reports to a file once and read them from there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import accumulate
from typing import Any

from ..errors import DataError, RepeatWarning, warn
from .batches import ColumnRelease
from .entropy import KeyedWords, SeededWords
from .pandas_frames import privatize_pandas

# Partitions under one key start this far apart.
_APART = 1 << 48


def privatize_dask(frame: Any, release: ColumnRelease) -> Any:
    """The Dask data frame with the column privatised when it is computed."""
    from dask import delayed
    from dask.dataframe import from_delayed

    release.find_among(list(frame.columns))
    words = release.words
    assert isinstance(words, (KeyedWords, SeededWords))
    if isinstance(words, KeyedWords):
        starts = [number * _APART for number in range(frame.npartitions)]
    else:
        starts = [0, *accumulate(frame.map_partitions(len).compute().tolist())][:-1]
    parts = [
        delayed(_dask_part)(part, release, words, start)
        for part, start in zip(frame.to_delayed(), starts, strict=True)
    ]
    meta = privatize_pandas(frame._meta, release)
    return from_delayed(parts, meta=meta, divisions=frame.divisions, verify_meta=False)


def _dask_part(part: Any, release: ColumnRelease, words: Any, start: int) -> Any:
    # Words made afresh: a part that is computed again gets the same ones.
    return privatize_pandas(part, release.starting_at(words.at(start)))


def privatize_spark(frame: Any, release: ColumnRelease) -> Any:
    """The Spark data frame with the column privatised by ``mapInArrow`` when it is computed."""
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    release.find_among(frame.columns)
    words = release.words
    assert isinstance(words, (KeyedWords, SeededWords))
    sizes: dict[int, int] = {}
    if isinstance(words, KeyedWords):
        shown = io.StringIO()
        with redirect_stdout(shown):
            # A plan made afresh: one that was made before the table was cached does not know of it.
            frame.select("*").explain()
        if shuffles(shown.getvalue()):
            warn(
                "this Spark table is shuffled before it is privatised, so its rows may lie in "
                "another order each time it is computed and get new reports, which leak more; "
                "cache the table first, or write the reports to a file once and use that",
                RepeatWarning,
            )
    else:
        number = functions.spark_partition_id().alias("number")
        rows = frame.select(number).groupBy("number").count().collect()
        sizes = {row["number"]: row["count"] for row in rows}
    listed = [sizes.get(i, 0) for i in range(max(sizes, default=-1) + 1)]
    starts = dict(enumerate([0, *accumulate(listed)]))
    after = release.schema(to_arrow_schema(frame.schema)).remove_metadata()

    def part(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        keyed = isinstance(words, KeyedWords)
        mine = release.starting_at(words.at(number * _APART if keyed else starts.get(number, 0)))
        for batch in batches:
            yield mine(batch)
        if not keyed and mine.rows != sizes.get(number, 0):
            raise DataError(
                "Spark table",
                expected=f"the {sizes.get(number, 0)} rows that partition {number} had when they "
                "were counted",
                got=str(mine.rows),
                remedy="cache the table before it is privatised with a seed",
            )

    return frame.mapInArrow(part, from_arrow_schema(after))


def shuffles(plan: str) -> bool:
    r"""Whether a Spark plan deals rows to partitions anew, other than below a cached table.

    >>> shuffles("Sort [id]\n+- Exchange rangepartitioning(id, 3)\n   +- Scan")
    True
    >>> shuffles("InMemoryTableScan\n  +- InMemoryRelation\n     +- Exchange hashpartitioning(x)")
    False
    """
    cached: int | None = None
    for line in plan.splitlines():
        name = line.lstrip(" :+-*()0123456789")
        depth = len(line) - len(name)
        if cached is not None and depth > cached:
            continue
        cached = depth if name.startswith("InMemoryRelation") else None
        # A broadcast hands a table out whole and leaves the rows of the other where they are.
        if name.startswith(("Exchange", "ShuffleExchange", "ShuffleQueryStage")):
            return True
    return False
