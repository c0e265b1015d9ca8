"""What the tests of the engines share: sessions."""

from __future__ import annotations

import importlib
import os
import shutil
import sys

import pytest


def needed(name):
    """A module; a test that needs it is skipped without it, and fails with ``--all``."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed")


def spark_session():
    """A local Spark session that tries a failed task again."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none on this machine")
    sql = needed("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with pytest.MonkeyPatch.context() as patch:
        # Its workers have it from Spark, and no other process of a later test from here.
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        # They draw reports: see false_alarms.
        patch.delenv("TESTS_ARE_SEEDED", raising=False)
        session = (
            sql.SparkSession.builder.master("local[2,3]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    return session
