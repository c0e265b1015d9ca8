"""Counts of reports: they add up, name their kernel, survive files, and engines make them."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each, refused
from engines import needed, spark_session
from pyarrow import parquet

import mechdesign as md
from mechdesign.errors import DataError, StorageError
from mechdesign.release.report_counts import report_text

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
OTHER = md.Mechanism([[0.5, 0.5], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
NEVER = md.Mechanism([[1, 0], [1, 0]], ["a", "b"], ["x", "never"])
KINDS = md.Mechanism(
    np.full((2, 6), 1 / 6),
    normalise=True,
    outputs=["1", 2.0, True, None, ("a", (1, 0.5)), math.inf],
)
REPORTS = md.Sampler(FLIP, rng=4).draw(np.random.default_rng(3).choice(["no", "yes"], 2000))
COUNTS = md.ReportCounts(FLIP, Counter(REPORTS))
TWENTY = md.ReportCounts(FLIP, {"no": 20}, sources=["a"])


def test_counts_of_parts_are_those_of_the_whole():
    parts = [md.count_reports(REPORTS[i::7], FLIP) for i in range(7)]
    assert sum(parts) == parts[0].merge(*parts[1:]) == parts[6] + sum(parts[:6]) == COUNTS
    assert len(COUNTS) == 2000
    assert COUNTS.counts == Counter(map(report_text, REPORTS))
    made, drawn = md.estimate(COUNTS, FLIP), md.estimate(REPORTS, FLIP)
    assert (made.rows(), made.note) == (drawn.rows(), "")
    one = md.count_reports(["no"], FLIP)
    assert (len(one), one["no"], one["yes"], one["perhaps"], one[math.nan]) == (1, 1, 0, 0, 0)
    assert len(md.ReportCounts(FLIP)) == 0
    half = md.ReportCounts(FLIP, {"no": 2**52, "yes": 1})
    assert (half + half)["no"] == 2**53
    refused(lambda: half + half + half, "integers from 0 to")
    assert md.ReportCounts(OTHER, {"no": 20}) != TWENTY != {"no": 20}
    with pytest.raises(TypeError):
        TWENTY + 1
    # Taken twice of one collector, the same reports would count twice.
    both = TWENTY + md.ReportCounts(FLIP, {"no": 5}, sources=["b"])
    assert both.sources == md.count_reports(both, FLIP).sources == ("a", "b")
    for counts in (TWENTY, both):
        refused(lambda counts=counts: counts + TWENTY, "take the later")


@for_each(
    "wording, call",
    [
        *(("expected", lambda c=c: md.ReportCounts(FLIP, c)) for c in (
            {True: 1}, {"no": -1}, {"no": 1.5}, {"no": True}, {"no": 2**60}, {"no": "3"}, [1])),
        ("2 other values", lambda: md.ReportCounts(FLIP, {"tested positive": 1, "another": 2})),
        ("outputs of the mechanism", lambda: md.ReportCounts(NEVER, {"never": 1})),
        ("one kernel", lambda: md.ReportCounts(OTHER, {"no": 20}) + TWENTY),
        *(("those of this mechanism", lambda f=f: f(TWENTY, OTHER))
          for f in (md.estimate, md.count_reports)),
        ("at least 10", lambda: md.estimate(md.count_reports(["no"], FLIP), FLIP)),
        ("outputs of the mechanism", lambda: md.count_reports(["no", "perhaps"], FLIP)),
        ("no missing", lambda: md.count_reports(["no", None], FLIP)),
    ],
)  # fmt: skip
def test_what_is_no_count_is_refused(wording, call):
    assert "positive" not in str(refused(call, wording, error=DataError))


def test_texts_of_reports_are_equal_for_what_json_writes_alike():
    same = [(1, 1.0), (0, -0.0), (("a", 1), ["a", 1.0]), (10**20, 1e20), (np.int64(3), 3)]
    assert all(report_text(a) == report_text(b) for a, b in same)
    different = ["1", 1, True, None, "None", [], [1], ["1"], [[1]], 1.5, math.inf, "inf", ""]
    assert len(set(map(report_text, different))) == len(different)
    for label in (math.nan, [math.nan], {"a": 1}, {"float": "nan"}, object()):
        with pytest.raises(StorageError):
            report_text(label)


# Files


def test_counts_survive_a_file(tmp_path):
    made = md.ReportCounts(KINDS, dict.fromkeys(KINDS.outputs, 7), sources=["b", "a"])
    for path in (tmp_path / "c.json", tmp_path / "c.parquet"):
        made.save(path)
        found = md.ReportCounts.load(path)
        assert (found, found.sources) == (made, ("a", "b"))
        assert found.by_label(KINDS) == dict.fromkeys(KINDS.outputs, 7)
        with pytest.raises(StorageError, match="exists"):
            made.save(path)
        md.ReportCounts(KINDS).save(path, overwrite=True)
        assert md.ReportCounts.load(path) == md.ReportCounts(KINDS)


def test_damaged_files_are_refused(tmp_path):
    content = md.ReportCounts(FLIP, {"no": 20, "yes": 5}, sources=["a"]).to_json()
    kept = tmp_path / "c.parquet"
    TWENTY.save(kept)
    table = parquet.read_table(kept)
    twice = pa.concat_tables([table, table]).replace_schema_metadata(table.schema.metadata)
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    parquet.write_table(twice, paths[0])
    parquet.write_table(pa.table({"report": ["no"]}), paths[1])
    paths[2].write_bytes(b"no Parquet")
    for part in (
        {"format": "mechdesign"}, {"schema": 2}, {"kernel": "f" * 63}, {"kernel": None},
        {"reports": 26}, {"counts": [["no", 20], ["no", 5]]},
        {"counts": [["no", 20.0], ["yes", 5]]}, {"counts": [["no", -5], ["yes", 30]]},
        {"counts": [["no"]]}, {"counts": [[{"a": 1}, 25]]}, {"sources": [3]}, {"sources": None},
        [], None,
    ):  # fmt: skip
        paths.append(tmp_path / f"{len(paths)}.json")
        paths[-1].write_text(json.dumps({**content, **part} if isinstance(part, dict) else part))
    for path in paths:
        about = f"table {path.name}" if path == paths[2] else "counts of reports"
        refused(lambda path=path: md.ReportCounts.load(path), f"{about}: expected")


# Engines


def test_counts_are_made_where_the_reports_are():
    """Reports as collectors keep them, some of them in two collectors: each nonce counts once."""
    frame = pd.DataFrame({"report": REPORTS, "nonce": [f"{i:032x}" for i in range(2000)]})
    twice = pd.concat([frame, frame[:300]], ignore_index=True)
    dask, duckdb = needed("dask.dataframe"), needed("duckdb")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with duckdb.connect() as engine:
        engine.register("collected", frame)
        engine.register("several", twice)
        for form in (
            *(frame, dask.from_pandas(frame, npartitions=3), engine.table("collected")),
            *(pl.from_pandas(frame), pl.from_pandas(frame).lazy(), table),
            *(table.combine_chunks().to_batches()[0], table.to_reader(100)),
        ):
            assert md.count_reports(form, FLIP, "report") == COUNTS
        for source, number in (
            ("several", 2300),
            ("(SELECT DISTINCT nonce, report FROM several)", 2000),
        ):
            rows = engine.sql(f"SELECT report, count(*) FROM {source} GROUP BY report").fetchall()
            found = md.ReportCounts(FLIP, dict(rows))
            assert (len(found), found == COUNTS) == (number, number == 2000)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Spark warns about itself
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_counts_where_the_reports_are():
    session = spark_session()
    table = session.createDataFrame(pd.DataFrame({"report": REPORTS}))
    assert md.count_reports(table, FLIP, "report") == COUNTS
    table.createOrReplaceTempView("collected")
    rows = session.sql("SELECT report, count(*) AS reports FROM collected GROUP BY report")
    assert md.ReportCounts(FLIP, dict(map(tuple, rows.collect()))) == COUNTS
