"""Counts of reports: they add up, name their kernel, survive files, and engines make them."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
from checks import for_each
from engines import needed, spark_session

import mechdesign as md
from mechdesign.errors import DataError, StorageError
from mechdesign.release.report_counts import report_text

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
OTHER = md.Mechanism([[0.5, 0.5], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
KINDS = md.Mechanism(
    np.full((2, 6), 1 / 6),
    normalise=True,
    outputs=["1", 2.0, True, None, ("a", (1, 0.5)), math.inf],
)


# What is counted


def test_counts_of_parts_are_those_of_the_whole():
    rng = np.random.default_rng(3)
    drawn = md.Sampler(FLIP, rng=4).draw(rng.choice(["no", "yes"], 3000, p=[0.8, 0.2]))
    parts = [md.count_reports(drawn[i::7], FLIP) for i in range(7)]
    whole = md.count_reports(drawn, FLIP)
    assert sum(parts) == parts[0].merge(*parts[1:]) == parts[6] + sum(parts[:6]) == whole
    assert len(whole) == 3000
    assert whole.counts == Counter(map(report_text, drawn))
    merged, direct = (md.estimate(found, FLIP) for found in (sum(parts), drawn))
    assert merged.rows() == direct.rows()
    assert merged.note == ""
    assert "no receipt" in direct.note


def test_fewer_than_an_estimate_needs_can_be_counted():
    one = md.count_reports(["no"], FLIP)
    assert (len(one), one["no"], one["yes"], one["perhaps"], one[math.nan]) == (1, 1, 0, 0, 0)
    with pytest.raises(DataError, match="at least 10"):
        md.estimate(one, FLIP)
    assert len(md.ReportCounts(FLIP)) == 0


def test_counts_of_another_kernel_are_refused():
    here, there = md.ReportCounts(FLIP, {"no": 20}), md.ReportCounts(OTHER, {"no": 20})
    with pytest.raises(DataError, match="those of one kernel"):
        here + there
    with pytest.raises(DataError, match="those of this mechanism"):
        md.estimate(here, OTHER)
    with pytest.raises(DataError, match="those of this mechanism"):
        md.count_reports(here, OTHER)
    with pytest.raises(TypeError):
        here + 1
    assert here != there
    assert here != {"no": 20}


def test_counts_that_share_a_collector_are_not_added_up():
    """Taken twice of one collector, the same reports would count twice."""
    early = md.ReportCounts(FLIP, {"no": 20}, sources=["a"])
    late = md.ReportCounts(FLIP, {"no": 50}, sources=["a"])
    other = md.ReportCounts(FLIP, {"no": 5}, sources=["b"])
    with pytest.raises(DataError, match="take the later"):
        early + late
    both = late + other
    assert both.sources == ("a", "b")
    with pytest.raises(DataError, match="take the later"):
        both + early
    assert md.count_reports(both, FLIP).sources == ("a", "b")


@for_each(
    "counts",
    [{"perhaps": 1}, {True: 1}, {"no": -1}, {"no": 1.5}, {"no": True}, {"no": 2**60}, {"no": "3"}],
)
def test_what_is_no_count_is_refused(counts):
    with pytest.raises(DataError, match="expected"):
        md.ReportCounts(FLIP, counts)


def test_labels_that_are_no_outputs_are_counted_and_not_quoted():
    with pytest.raises(DataError) as caught:
        md.ReportCounts(FLIP, {"tested positive": 1, "another": 2})
    assert "2 other values" in str(caught.value)
    assert "positive" not in str(caught.value)
    never = md.Mechanism([[1, 0], [1, 0]], ["a", "b"], ["x", "never"])
    with pytest.raises(DataError, match="outputs of the mechanism"):
        md.ReportCounts(never, {"never": 1})


def test_sums_stay_exact_and_have_an_end():
    half = md.ReportCounts(FLIP, {"no": 2**52, "yes": 1})
    assert (half + half)["no"] == 2**53
    with pytest.raises(DataError, match="integers from 0 to"):
        half + half + half


def test_texts_of_reports_are_equal_for_what_json_writes_alike():
    same = [(1, 1.0), (0, -0.0), (("a", 1), ["a", 1.0]), (10**20, 1e20), (np.int64(3), 3)]
    assert all(report_text(a) == report_text(b) for a, b in same)
    different = ["1", 1, True, None, "None", [], [1], ["1"], [[1]], 1.5, math.inf, "inf", ""]
    assert len(set(map(report_text, different))) == len(different)
    for label in (math.nan, [math.nan], {"a": 1}, {"float": "nan"}, object()):
        with pytest.raises(StorageError):
            report_text(label)


# Files


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_counts_survive_a_file(tmp_path, ending):
    made = md.ReportCounts(KINDS, dict.fromkeys(KINDS.outputs, 7), sources=["b", "a"])
    made.save(tmp_path / f"c.{ending}")
    found = md.ReportCounts.load(tmp_path / f"c.{ending}")
    assert found == made
    assert found.sources == ("a", "b")
    assert found.by_label(KINDS) == dict.fromkeys(KINDS.outputs, 7)
    with pytest.raises(StorageError, match="exists"):
        made.save(tmp_path / f"c.{ending}")
    empty = md.ReportCounts(KINDS)
    empty.save(tmp_path / f"c.{ending}", overwrite=True)
    assert md.ReportCounts.load(tmp_path / f"c.{ending}") == empty


def changed(**parts):
    content = md.ReportCounts(FLIP, {"no": 20, "yes": 5}, sources=["a"]).to_json()
    return {**content, **parts}


@for_each(
    "content",
    [
        [],
        None,
        changed(format="mechdesign"),
        changed(schema=2),
        changed(kernel="f" * 63),
        changed(kernel=None),
        changed(reports=26),
        changed(counts=[["no", 20], ["no", 5]]),
        changed(counts=[["no", 20.0], ["yes", 5]]),
        changed(counts=[["no", -5], ["yes", 30]]),
        changed(counts=[["no"]]),
        changed(counts=[[{"a": 1}, 25]]),
        changed(sources=[3]),
        changed(sources=None),
    ],
)
def test_a_damaged_file_of_counts_is_refused(tmp_path, content):
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="counts of reports: expected"):
        md.ReportCounts.load(tmp_path / "c.json")


def test_a_parquet_file_of_something_else_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"report": ["no"]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"no Parquet")
    md.ReportCounts(FLIP, {"no": 20}).save(tmp_path / "c.parquet")
    table = parquet.read_table(tmp_path / "c.parquet")
    two = pa.concat_tables([table, table]).replace_schema_metadata(table.schema.metadata)
    parquet.write_table(two, tmp_path / "d.parquet")
    for name in ("a", "b", "d"):
        with pytest.raises(DataError, match="counts of reports: expected"):
            md.ReportCounts.load(tmp_path / f"{name}.parquet")


# Engines


@pytest.fixture(scope="module")
def collected():
    """Reports as collectors keep them, some of them in two collectors, and their counts."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    drawn = md.Sampler(FLIP, rng=6).draw(rng.choice(["no", "yes"], 2000))
    frame = pd.DataFrame({"report": list(drawn), "nonce": [rng.bytes(16).hex() for _ in drawn]})
    twice = pd.concat([frame, frame[:300]], ignore_index=True)
    return frame, twice, md.ReportCounts(FLIP, Counter(drawn))


def test_duckdb_counts_where_the_reports_are(collected):
    duckdb = needed("duckdb", "duckdb")
    frame, twice, expected = collected
    assert len(frame) == len(expected)
    with duckdb.connect() as engine:
        engine.register("collected", frame)
        assert md.count_reports(engine.table("collected"), FLIP, "report") == expected
        engine.register("several", twice)
        rows = engine.sql("SELECT report, count(*) AS reports FROM collected GROUP BY report")
        assert md.ReportCounts(FLIP, dict(rows.fetchall())) == expected
        rows = engine.sql(
            "SELECT report, count(*) AS reports "
            "FROM (SELECT DISTINCT nonce, report FROM several) GROUP BY report"
        )
        assert md.ReportCounts(FLIP, dict(rows.fetchall())) == expected
        assert len(md.count_reports(engine.table("several"), FLIP, "report")) == 2300


def test_dask_polars_and_arrow_count_where_the_reports_are(collected):
    frame, _, expected = collected
    dd, pl, pa = (
        needed("dask.dataframe", "dask"),
        needed("polars", "frames"),
        needed("pyarrow", "x"),
    )
    table = pa.Table.from_pandas(frame, preserve_index=False)
    forms = [
        frame,
        dd.from_pandas(frame, npartitions=3),
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        table,
        table.combine_chunks().to_batches()[0],
        pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=100)),
    ]
    for form in forms:
        assert md.count_reports(form, FLIP, "report") == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Spark warns about itself
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_counts_where_the_reports_are(collected):
    frame, _, expected = collected
    session = spark_session()
    table = session.createDataFrame(frame)
    assert md.count_reports(table, FLIP, "report") == expected
    table.createOrReplaceTempView("collected")
    rows = session.sql("SELECT report, count(*) AS reports FROM collected GROUP BY report")
    assert md.ReportCounts(FLIP, dict(map(tuple, rows.collect()))) == expected


def test_reports_of_a_subset_selection_are_counted(collected):
    kernel = md.subset_selection(30, md.LDP(2))
    drawn = md.Sampler(kernel, rng=1).draw(list(kernel.inputs) * 40)
    whole = md.count_reports(drawn, kernel)
    parts = md.count_reports(drawn[:500], kernel) + md.count_reports(drawn[500:], kernel)
    assert whole == parts == md.ReportCounts(kernel, Counter(np.asarray(drawn).tolist()))
    assert md.estimate(whole, kernel).rows() == md.estimate(drawn, kernel).rows()
    for wrong in ({-1: 3}, {len(kernel.outputs): 3}, {"0x1": 3}, {True: 2}):
        with pytest.raises(DataError):
            md.ReportCounts(kernel, wrong)


def test_raw_data_is_no_report():
    with pytest.raises(DataError, match="outputs of the mechanism"):
        md.count_reports(["no", "perhaps"], FLIP)
    with pytest.raises(DataError, match="no missing reports"):
        md.count_reports(["no", None], FLIP)
    assert len(md.count_reports(["no", None], FLIP, missing="drop")) == 1


# The command line


def test_counts_of_a_collector_are_estimated_from_on_the_command_line(tmp_path, capsys):
    from mechdesign.cli import main

    kernel, selection = tmp_path / "m.json", tmp_path / "s.json"
    md.save(FLIP, kernel)
    md.save(md.subset_selection(30, md.LDP(2)), selection)
    md.ReportCounts(FLIP, {"no": 60, "yes": 40}).save(tmp_path / "c.json")
    assert main(["estimate", str(kernel), str(tmp_path / "c.json"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    rows = md.estimate({"no": 60, "yes": 40}, FLIP).rows()
    assert [row["estimate"] for row in shown["rows"]] == [row["estimate"] for row in rows]
    drawn = md.Sampler(md.load(selection), rng=1).draw(list(range(30)) * 4)
    md.count_reports(drawn, md.load(selection)).save(tmp_path / "d.json")
    assert main(["estimate", str(selection), str(tmp_path / "d.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reports"] == 120
    for design, counts in ((kernel, "d.json"), (selection, "c.json"), (kernel, "m.json")):
        assert main(["estimate", str(design), str(tmp_path / counts)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("error: counts of reports: expected")
