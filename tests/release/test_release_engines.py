"""Dask and Spark, each on a local cluster: the same reports, drawn where the data is."""

from __future__ import annotations

import glob
import hashlib
import os
import warnings

import numpy as np
import pytest
from checks import refused
from engines import needed, spark_session
from false_alarms import are_usual

import mechdesign as md
from mechdesign.errors import DataError, InputError, RepeatWarning, UnknownNameError

pd = pytest.importorskip("pandas")

LABELS = ["a", "b", "c"]
SECRET = bytes(range(32))
KEY = md.ReleaseKey(SECRET)
FOUND = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.Hamming(), md.LDP(2))

# The engines warn about themselves.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"id": np.arange(5000), "x": rng.choice(LABELS, 5000)})


@pytest.fixture(scope="module")
def expected(people):
    return md.privatize(people, "x", FOUND, rng=5)["x"].tolist()


def by_identity(people):
    """The reports that every engine gives with the key."""
    return md.privatize(people, "x", FOUND, row="id", key=KEY)["x"].tolist()


# Dask


@pytest.fixture(scope="module")
def cluster():
    """Two Dask workers, each a process of its own."""
    distributed = needed("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as local,
            distributed.Client(local) as client,
        ):
            yield client


@pytest.mark.slow
def test_dask_repeats_itself_and_nothing_else(cluster, people, expected):
    """And keeps what it drew on the workers as data: no graph that could draw again is there."""
    from dask import dataframe

    table = dataframe.from_pandas(people, npartitions=4)
    seeded = md.privatize(table, "x", FOUND, rng=5)
    assert (list(seeded.columns), seeded.divisions) == (["id", "x"], table.divisions)
    assert seeded.compute()["x"].tolist() == expected
    made = md.privatize(table, "x", FOUND)
    assert not any("privatize" in str(task) for task in made.__dask_graph__().values())
    once = made.compute().set_index("id")["x"]
    for plan in (
        made,
        made.repartition(npartitions=2),
        made.shuffle("x"),
        made.merge(made[["id"]]),
    ):
        assert (plan.compute().set_index("id")["x"].sort_index() == once.sort_index()).all()
    assert once.tolist() != expected
    assert once.tolist() != md.privatize(table, "x", FOUND).compute()["x"].tolist()
    assert md.estimate(made, FOUND, "x").reports == len(people)


@pytest.mark.slow
def test_dask_workers_draw_by_identity(cluster, people):
    from dask import dataframe

    made = md.privatize(dataframe.from_pandas(people, npartitions=4), "x", FOUND, row="id", key=KEY)
    assert made.compute()["x"].tolist() == by_identity(people)
    shuffled = made.shuffle("x").compute().sort_values("id")
    assert shuffled["x"].tolist() == by_identity(people)
    twice = dataframe.concat([made, made])
    for options in ({"row": "id"}, {"person": "z", "key": KEY}):
        table = twice.assign(y=twice["x"], z=1)
        refused(lambda t=table, w=options: md.privatize(t, "y", FOUND, **w), error=DataError)


@pytest.mark.slow
def test_designs_are_swept_on_a_dask_cluster(cluster):
    import joblib

    prior, levels = md.Prior([0.5, 0.3, 0.2]), [0.2, 0.5, 1.0, 2.0]
    here = md.sweep(prior, md.utility.Hamming(), [md.PML(e) for e in levels])
    with joblib.parallel_config(backend="dask"):
        there = md.sweep(prior, md.utility.Hamming(), [md.PML(e) for e in levels], jobs=2)
    assert [f.value for f in there] == pytest.approx([f.value for f in here], abs=1e-9)
    assert all(f.certificate.is_optimal for f in there)


def test_dask_refusals(people):
    dataframe = needed("dask.dataframe")
    table = dataframe.from_pandas(people.assign(who=people["id"] // 2), npartitions=2)
    refused(lambda: md.privatize(table, "y", FOUND), "'y'", error=UnknownNameError)
    with pytest.raises(md.MechdesignError, match="type int"):
        md.privatize(table, "id", FOUND).compute(scheduler="synchronous")
    with pytest.warns(RepeatWarning, match="one person has 2 rows"):
        md.privatize(table, "x", FOUND, person="who")


# Spark


@pytest.fixture(scope="module")
def spark():
    """A local Spark session with two workers."""
    session = spark_session()
    yield session
    session.stop()


def pairs(frame):
    """Reports by identity, and how many rows there are."""
    rows = frame.select("id", "x").collect()
    return {row["id"]: row["x"] for row in rows}, len(rows)


@pytest.mark.slow
def test_spark_repeats_itself_and_nothing_else(spark, people, expected):
    table = spark.createDataFrame(people)
    made = md.privatize(table, "x", FOUND)
    first = [row["x"] for row in made.collect()]
    assert first == [row["x"] for row in made.collect()]
    assert first != expected
    once, _ = pairs(made)
    told = people["id"].map(once)
    counts = [
        [int(np.sum(told[people["x"] == x] == y)) for y in FOUND.mechanism.outputs] for x in LABELS
    ]
    assert are_usual(counts, FOUND.mechanism.kernel)
    found = md.estimate(made, FOUND, "x")
    same = md.estimate(people.assign(x=told), FOUND, "x")
    np.testing.assert_allclose(found.values, same.values)


@pytest.mark.slow
def test_a_seed_gives_the_same_reports_on_spark(spark, people, expected):
    """Partitions were once counted in one plan and drawn in another, which dealt rows anew."""
    table = spark.createDataFrame(people)
    parted = table.repartitionByRange(5, "id").sortWithinPartitions("id")
    for given in (table, parted, parted.cache()):
        made = md.privatize(given, "x", FOUND, rng=5)
        assert made.schema == given.schema
        assert [row["x"] for row in made.collect()] == expected
    generator = np.random.default_rng(1)
    refused(lambda: md.privatize(table, "x", FOUND, rng=generator), "seed", error=InputError)


SPARK_PLANS = {
    "coalesce": lambda m: m.coalesce(1),
    "repartition": lambda m: m.repartition(5),
    "union": lambda m: m.union(m),
    "join": lambda m: m.join(m.select("id"), "id"),
    "sort": lambda m: m.orderBy("x", "id"),
    "filter": lambda m: m.filter("x = 'b'"),
    "distinct": lambda m: m.distinct(),
    "group": lambda m: m.groupBy("id").agg({"x": "first"}).withColumnRenamed("first(x)", "x"),
    "cached": lambda m: m.cache().coalesce(1),
    "again": lambda m: m,
}


@pytest.mark.slow
@pytest.mark.parametrize("row", [None, "id"])
def test_no_spark_plan_draws_a_report_anew(spark, people, row):
    table = spark.createDataFrame(people).repartition(8)
    made = md.privatize(table, "x", FOUND, row=row, key=KEY if row else None)
    once, rows = pairs(made)
    assert rows == len(once) == len(people)
    if row:
        assert [once[i] for i in people["id"]] == by_identity(people)
    for name, plan in SPARK_PLANS.items():
        found, rows = pairs(plan(made))
        assert rows == {"union": 2}.get(name, 1) * len(found), name
        assert len(found) == sum(name != "filter" or x == "b" for x in once.values()), name
        assert all(once[i] == x for i, x in found.items()), name
    if row:
        # The same rows in another plan altogether, below the draws.
        other = table.coalesce(1).union(table.filter("id < 0")).orderBy("x")
        assert pairs(md.privatize(other, "x", FOUND, row=row, key=KEY)) == (once, len(people))


@pytest.mark.slow
def test_words_of_a_spark_partition_are_found_out(spark, people):
    """A control for the test above: words by the number of the task, as they once were."""

    def drawn(batches):
        import pyarrow
        from pyspark import TaskContext

        rng = np.random.default_rng(TaskContext.get().partitionId())
        for batch in batches:
            made = pyarrow.array(np.array(LABELS)[rng.integers(0, 3, batch.num_rows)])
            yield batch.set_column(1, "x", made)

    table = spark.createDataFrame(people).repartition(8)
    made = table.mapInArrow(drawn, table.schema)
    once, _ = pairs(made)
    differ = [
        sum(once[i] != x for i, x in pairs(plan(made))[0].items())
        for plan in (SPARK_PLANS["coalesce"], SPARK_PLANS["union"])
    ]
    assert min(differ) > 100


@pytest.mark.slow
def test_a_spark_task_that_is_tried_again_draws_the_same(spark, people):
    def fail_once(batches):
        from pyspark import TaskContext

        for batch in batches:
            if TaskContext.get().attemptNumber() == 0:
                raise RuntimeError("the first attempt of a task fails")
            yield batch

    for row in (None, "id"):
        made = md.privatize(spark.createDataFrame(people), "x", FOUND, row=row)
        once, _ = pairs(made)
        assert pairs(made.mapInArrow(fail_once, made.schema))[0] == once


@pytest.mark.slow
def test_reports_that_a_lost_executor_held_are_an_error_and_not_drawn_again(spark, people):
    context = spark.sparkContext._jsc
    before = set(context.getPersistentRDDs())
    made = md.privatize(spark.createDataFrame(people), "x", FOUND)
    assert pairs(made) == pairs(made)
    held = context.getPersistentRDDs()
    for number in set(held) - before:
        held[number].unpersist(True)
    with pytest.raises(Exception, match="Checkpoint block"):
        made.collect()


@pytest.mark.slow
def test_spark_checks_identities_before_it_hands_out_anything(spark, people):
    from pyspark.sql import functions

    table = spark.createDataFrame(people)
    sixth = functions.when(functions.col("id") != 6, functions.col("id"))
    for change, message in [
        (table.union(table.limit(1)), "some that are repeated"),
        (table.withColumn("id", sixth), "missing values"),
        (table.withColumn("id", functions.col("id").cast("double")), "floating-point"),
        (table.withColumn("id", functions.array("id")), "list"),
    ]:
        refused(lambda t=change: md.privatize(t, "x", FOUND, row="id"), message, error=DataError)
    one = table.withColumn("id", functions.lit(1))
    refused(
        lambda: md.privatize(one, "x", FOUND, person="id", key=KEY), "one value", error=DataError
    )
    made = md.privatize(table.union(table), "x", FOUND, person="id", key=KEY)
    found, rows = pairs(made)
    assert rows == 2 * len(people)
    assert [found[i] for i in people["id"]] == by_identity(people)


@pytest.mark.slow
def test_spark_refuses_identities_that_a_plan_makes_anew(spark, people):
    """A row would get the report of another number after a shuffle or a lost executor."""
    from pyspark.sql import functions

    table = spark.createDataFrame(people).repartition(4)
    for made in (functions.monotonically_increasing_id(), functions.expr("uuid()")):
        numbered = table.withColumn("number", made)
        refused(
            lambda t=numbered: md.privatize(t, "x", FOUND, row="number"), "in the data",
            error=DataError,
        )  # fmt: skip
        # Drawn once, or by what is in the data, it does no harm.
        assert pairs(md.privatize(numbered, "x", FOUND))[1] == len(people)
        kept = md.privatize(numbered, "x", FOUND, row="id", key=KEY)
        found, _ = pairs(kept)
        assert [found[i] for i in people["id"]] == by_identity(people)
    numbered = table.withColumn("number", functions.monotonically_increasing_id())
    fixed = numbered.localCheckpoint(eager=True)
    assert pairs(md.privatize(fixed, "x", FOUND, row="number"))[1] == len(people)


@pytest.mark.slow
def test_spark_refuses_to_draw_once_where_tasks_run_twice(spark, people, monkeypatch):
    """With speculation two copies of a task may both leave what they drew."""
    table = spark.createDataFrame(people)
    conf = type(spark.conf)
    usual = conf.get

    def get(self, name, *default):
        return "true" if name == "spark.speculation" else usual(self, name, *default)

    monkeypatch.setattr(conf, "get", get)
    refused(lambda: md.privatize(table, "x", FOUND), "speculation", error=InputError)
    assert pairs(md.privatize(table, "x", FOUND, row="id"))[1] == len(people)


@pytest.mark.slow
def test_spark_columns_may_have_any_name(spark, people):
    names = ["a.b", "number", "`tick`", "identity"]
    frame = pd.DataFrame({"a.b": people["id"], "number": people["x"], "`tick`": 1, "identity": 2})
    made = md.privatize(spark.createDataFrame(frame), "number", FOUND, row="a.b", key=KEY)
    assert made.columns == names
    same = md.privatize(frame, "number", FOUND, row="a.b", key=KEY)
    assert [row[1] for row in made.collect()] == same["number"].tolist()
    table = spark.createDataFrame(people)
    twice = table.join(table.select("id", table["x"].alias("z"), table["x"].alias("z")), "id")
    refused(lambda: md.privatize(twice, "x", FOUND), "'z' more than once", error=DataError)


def files_with(secrets, folder):
    """Files below a folder that hold one of several secrets."""
    found = []
    for name in glob.glob(f"{folder}/**/*", recursive=True):
        if os.path.isfile(name):
            with open(name, "rb") as file:
                content = file.read()
            found += [name for secret in secrets if secret in content]
    return found


@pytest.mark.slow
def test_no_key_lies_in_the_temporary_files_of_spark(spark):
    """Spark writes large functions to such a file; a kernel of 300 symbols made one."""
    large = md.Mechanism((np.eye(300) * 5 + 1) / 305)
    frame = pd.DataFrame({"id": range(300), "x": range(300)})
    made = md.privatize(spark.createDataFrame(frame), "x", large, row="id", key=KEY)
    folder = spark.sparkContext._temp_dir
    root = hashlib.blake2b(SECRET, digest_size=64, person=b"mechdesign-root").digest()
    secrets = [SECRET, root]
    assert not files_with(secrets, folder)
    same = md.privatize(frame, "x", large, row="id", key=KEY)
    assert [row["x"] for row in made.collect()] == same["x"].tolist()
    assert not files_with(secrets, folder)
    # A control: a large function that carries the key.
    ballast = os.urandom(1 << 21)

    def carry(batches):
        assert KEY.fingerprint
        assert ballast
        return batches

    own = made.mapInArrow(carry, made.schema)
    assert own.count() == 300
    assert files_with(secrets, folder)


@pytest.mark.slow
def test_spark_refusals(spark, people):
    table = spark.createDataFrame(people)
    refused(lambda: md.privatize(table, "y", FOUND), "'y'", error=UnknownNameError)
    with pytest.raises(Exception, match="inputs of the mechanism"):
        md.privatize(table, "id", FOUND).collect()
    stream = spark.readStream.format("rate").load()
    for row in (None, "timestamp"):
        call = lambda r=row: md.privatize(stream, "value", FOUND, row=r)  # noqa: E731
        refused(call, "stream", error=DataError)
