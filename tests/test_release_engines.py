"""Dask and Spark, each on a local cluster: the same reports, drawn where the data is."""

from __future__ import annotations

import os
import shutil
import sys
import warnings

import numpy as np
import pytest
from checks import refused

import mechdesign as md
from mechdesign.errors import InputError, RepeatWarning, UnknownNameError

pd = pytest.importorskip("pandas")

LABELS = ["a", "b", "c"]
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


# Dask


@pytest.fixture(scope="module")
def cluster():
    """Two Dask workers, each a process of its own."""
    distributed = pytest.importorskip("distributed", reason="SKIPPED: Dask is not installed")
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
def test_dask_gives_the_same_reports(cluster, people, expected):
    from dask import dataframe

    table = dataframe.from_pandas(people, npartitions=7)
    made = md.privatize(table, "x", FOUND, rng=5)
    assert list(made.columns) == ["id", "x"]
    assert made.divisions == table.divisions
    assert made.compute()["x"].tolist() == expected


@pytest.mark.slow
def test_dask_repeats_itself_and_nothing_else(cluster, people, expected):
    from dask import dataframe

    table = dataframe.from_pandas(people, npartitions=4)
    made = md.privatize(table, "x", FOUND)
    first = made.compute()["x"].tolist()
    assert first == made.compute()["x"].tolist()
    assert first != expected
    assert first != md.privatize(table, "x", FOUND).compute()["x"].tolist()
    found = md.estimate(made, FOUND, "x")
    truth = people["x"].value_counts(normalize=True)
    for i, label in enumerate(found.labels):
        assert abs(found.values[i] - truth[label]) < 6 * found.errors[i]


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
    dataframe = pytest.importorskip("dask.dataframe", reason="SKIPPED: Dask is not installed")
    table = dataframe.from_pandas(people, npartitions=2)
    refused(lambda: md.privatize(table, "y", FOUND), "'y'", error=UnknownNameError)
    generator = np.random.default_rng(1)
    refused(lambda: md.privatize(table, "x", FOUND, rng=generator), "seed", error=InputError)
    with pytest.raises(md.MechdesignError, match="type int"):
        md.privatize(table, "id", FOUND).compute(scheduler="synchronous")


@pytest.mark.slow
def test_dask_warns_of_persons_with_several_rows(people):
    dataframe = pytest.importorskip("dask.dataframe", reason="SKIPPED: Dask is not installed")
    table = dataframe.from_pandas(people.assign(id=people["id"] // 2), npartitions=3)
    with pytest.warns(RepeatWarning, match="one person has 2 rows"):
        md.privatize(table, "x", FOUND, person="id")


# Spark


@pytest.fixture(scope="module")
def spark():
    """A local Spark session with two workers; skipped loudly without Java or the package."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("SKIPPED: Spark needs Java, and there is none on this machine")
    sql = pytest.importorskip(
        "pyspark.sql", reason="SKIPPED: pyspark is not installed (pip install 'mechdesign[spark]')"
    )
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.slow
def test_spark_gives_the_same_reports(spark, people, expected):
    table = spark.createDataFrame(people).repartitionByRange(5, "id").sortWithinPartitions("id")
    table = table.cache()
    made = md.privatize(table, "x", FOUND, rng=5)
    assert made.schema == table.schema
    assert [row["x"] for row in made.collect()] == expected


@pytest.mark.slow
def test_spark_repeats_itself_and_nothing_else(spark, people, expected):
    table = spark.createDataFrame(people)
    made = md.privatize(table, "x", FOUND)
    first = [row["x"] for row in made.collect()]
    assert first == [row["x"] for row in made.collect()]
    assert first != expected
    found = md.estimate(made, FOUND, "x")
    truth = people["x"].value_counts(normalize=True)
    for i, label in enumerate(found.labels):
        assert abs(found.values[i] - truth[label]) < 6 * found.errors[i]


@pytest.mark.slow
def test_spark_warns_of_tables_that_may_draw_anew(spark, people):
    table = spark.createDataFrame(people)
    dealt = table.repartition(3)
    joined = table.join(table.select("id"), "id")
    for shuffled in (dealt, table.orderBy("id"), joined.repartition(2)):
        with pytest.warns(RepeatWarning, match="cache the table"):
            md.privatize(shuffled, "x", FOUND)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatWarning)
        cached = dealt.cache()
        for steady in (table, cached, cached.filter("id > 3"), table.filter("id > 3")):
            md.privatize(steady, "x", FOUND)
        md.privatize(dealt, "x", FOUND, rng=1)


@pytest.mark.slow
def test_spark_refusals(spark, people):
    table = spark.createDataFrame(people)
    refused(lambda: md.privatize(table, "y", FOUND), "'y'", error=UnknownNameError)
    with pytest.raises(Exception, match="inputs of the mechanism"):
        md.privatize(table, "id", FOUND).collect()
