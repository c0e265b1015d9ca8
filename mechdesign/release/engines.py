"""Tables that are computed again: the adapters of Dask and Spark.

Both may compute a row again whenever they like: for a second query, after a failure, in another
order, in another partition. Where rows have identities the table stays lazy, as a report is then a
function of the key and of its own row. Where they have none, it is drawn once and what was drawn is
kept without the way it was made: what is lost then is an error, and not a second report.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from ..errors import DataError, InputError
from ..tables.frames import check_columns, find_column, pandas_values
from .adapters import privatize_batch, privatize_pandas, reported_schema
from .drawing import Release, check_rows
from .identities import check_type, encode_some, missing_identity, repeated, shortened
from .words import SeededWords, SystemWords


def privatize_dask(frame: Any, release: Release) -> Any:
    """A Dask data frame: lazily by identities, else now."""
    from dask import compute, delayed
    from dask.dataframe import from_delayed

    release.check_names(list(frame.columns))
    meta = privatize_pandas(frame._meta, release, part=True)
    if release.identity is None:
        whole = compute(*frame.to_delayed())
        check_rows(sum(map(len, whole)))
        parts = _held([privatize_pandas(part, release, part=True) for part in whole])
    else:
        needed = frame[release.surveyed].to_delayed()
        surveyed = compute(*(delayed(_survey)(part, release) for part in needed))
        check_rows(sum(len(found) for found, _ in surveyed))
        for found, codes in surveyed:
            release.admit(found, codes)
        part_of, checked = delayed(privatize_pandas), release.checked()
        parts = [part_of(part, checked, part=True) for part in frame.to_delayed()]
    return from_delayed(parts, meta=meta, divisions=frame.divisions, verify_meta=False)


def _survey(part: Any, release: Release) -> Any:
    found, codes = release.checked().survey(lambda name: pandas_values(part[name]))
    return list(map(shortened, found)), codes


def _held(parts: list[Any]) -> list[Any]:
    """Data frames for a graph: on the workers of a cluster that is there, without a way back."""
    from dask import delayed

    try:
        from distributed import default_client

        return list(default_client().scatter(parts, hash=False))
    except (ImportError, ValueError):
        return [delayed(part) for part in parts]


def privatize_spark(frame: Any, release: Release) -> Any:
    """A Spark data frame: lazily by identities, else now."""
    release.check_names(frame.columns)
    check_columns(frame.columns, frame.columns)
    if frame.isStreaming:
        raise DataError(
            "Spark table",
            expected="a table that has an end",
            got="a stream",
            remedy="privatise each batch of it (foreachBatch), with row= and one key",
        )
    if release.identity is not None:
        _check_plan(frame, release)
        _check_identities(frame, release)
        return _mapped(frame, release)
    if str(frame.sparkSession.conf.get("spark.speculation", "false")).lower() == "true":
        raise InputError(
            "Spark table",
            expected="a column of identities, as speculative copies of a task would each draw",
            got="spark.speculation on and no row=",
            remedy="name a unique column as row=, or switch speculation off",
        )
    if isinstance(release.words[0], SeededWords):
        made = _seeded(frame, release)
    elif isinstance(release.words[0], SystemWords):
        made = _mapped(frame, release)
    else:
        raise InputError(
            "rng",
            expected="None or an integer seed, as partitions are drawn separately",
            got="words of another kind",
            remedy="pass a seed such as rng=1 for research, nothing in production",
        )
    return made.localCheckpoint(eager=True)


def _check_plan(frame: Any, release: Release) -> None:
    """Refuse rows whose identity or secret may be another when the plan is evaluated again.

    A report would belong to another row then, and a row have several.
    """
    plan = getattr(frame, "_jdf", None)
    if plan is None:
        return  # a client of Spark Connect does not know the plan
    needed = _numbered(frame).select(
        [f"c{find_column(frame.columns, name)}" for name in release.columns]
    )
    if not needed._jdf.queryExecution().optimizedPlan().deterministic():
        raise DataError(
            "Spark table",
            expected="identities and secrets that are in the data",
            got="a plan that draws or numbers them each time, as monotonically_increasing_id, "
            "uuid and rand do",
            remedy="write the table to a file with them and read it from there, or leave row= out",
        )


def _mapped(frame: Any, release: Release) -> Any:
    identity, payload = release.identity, _shared(frame, release)

    def part(batches: Iterator[Any]) -> Iterator[Any]:
        mine = payload().changed(identity=identity)
        return (privatize_batch(batch, mine) for batch in batches)

    return _map_batches(frame, release, part)


def _map_batches(frame: Any, release: Release, part: Any) -> Any:
    """The table that a function on batches makes of each partition."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    after = reported_schema(to_arrow_schema(frame.schema), release).remove_metadata()
    names = list(frame.columns)

    def named(batches: Iterator[Any]) -> Iterator[Any]:
        return part(batch.rename_columns(names) for batch in batches)

    return _numbered(frame).mapInArrow(named, from_arrow_schema(after))


def _numbered(frame: Any) -> Any:
    """The table with columns c0, c1, …: Spark resolves names with dots, or names that differ in
    case only, to something else.
    """
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))


def _shared(frame: Any, release: Release) -> Any:
    """A function that gives workers the release without its key.

    Spark writes functions over a megabyte to a temporary file, as it does with what it broadcasts.
    So a large kernel is broadcast by itself, and the function that carries the key stays small.
    """
    public = release.without_identity()
    context = getattr(frame.sparkSession, "sparkContext", None)
    if context is None:
        # A client of Spark Connect has no files on the driver.
        return lambda: public
    sent = context.broadcast(public)
    return lambda: sent.value


def _check_identities(frame: Any, release: Release) -> None:
    """Raise :class:`DataError` for identities that are missing or repeated; one pass, in Spark."""
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import to_arrow_schema

    identity = release.identity
    assert identity is not None
    schema = to_arrow_schema(frame.schema)
    surveyed = release.surveyed
    places = [find_column(schema.names, name) for name in surveyed]
    check_type(schema.field(places[0]).type, identity.column)
    payload, column, by_person = _shared(frame, release), identity.column, identity.by_person

    def part(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        mine = payload()
        for batch in batches:
            found = encode_some(batch.column(0), column)
            codes = np.zeros(len(found), np.int64)
            if by_person:
                codes = mine.codes(dict(zip(surveyed, batch.columns, strict=True)).__getitem__)
            short = [None if i is None else shortened(i) for i in found]
            yield pa.RecordBatch.from_arrays(
                [pa.array(short, pa.binary()), pa.array(codes, pa.int64(), mask=codes < 0)],
                names=["identity", "code"],
            )

    again = functions.count_distinct("code") if by_person else functions.count("*")
    found = (
        _numbered(frame)
        .select([f"c{i}" for i in places])
        .mapInArrow(part, "identity binary, code bigint")
        .groupBy("identity")
        .agg(again.alias("times"))
        .filter("times > 1 or identity is null")
        .orderBy(functions.col("identity").asc_nulls_first())
        .limit(1)
        .collect()
    )
    if found and found[0]["identity"] is None:
        raise missing_identity(column)
    if found:
        raise repeated(identity)


def _seeded(frame: Any, release: Release) -> Any:
    """Rows in their order with the words of a seed, as in any other library."""
    from pyspark.sql import functions

    # Counted and drawn from the same partitions, which a plan may deal anew each time.
    frame = frame.localCheckpoint(eager=True)
    counts = frame.select(functions.spark_partition_id().alias("part")).groupBy("part").count()
    sizes = {row[0]: row[1] for row in counts.collect()}
    listed = [sizes.get(i, 0) for i in range(max(sizes, default=-1) + 1)]
    starts = dict(enumerate([0, *accumulate(listed)]))
    payload, words = _shared(frame, release), release.words

    def part(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        mine = payload().with_words(words, starts.get(number, 0))
        for batch in batches:
            yield privatize_batch(batch, mine)
        if mine.rows != sizes.get(number, 0):
            raise DataError(
                "Spark table",
                expected=f"the {sizes.get(number, 0)} rows that partition {number} had when they "
                "were counted",
                got=str(mine.rows),
                remedy="write the table to a file and read it from there",
            )

    return _map_batches(frame, release, part)
