"""One survey walks through every form of table, from design to estimate, with the same outcome."""

from __future__ import annotations

import csv
import io
import json

import pytest
from test_reading import packed, workbook

import mechdesign as md
from mechdesign.cli import main
from mechdesign.tables.reading import read_columns

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

JOBS = {"Büro; Verkauf": 56, "Lehre": 37, 'Leitung, "oben"': 15, "Sonstige": 12}
ROWS = [
    (f"p{i}", job, 20 + i % 40)
    for i, job in enumerate(j for j, n in JOBS.items() for _ in range(n))
]
NAMES = ["id", "job", "age"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)


def text(sep):
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=sep).writerows([NAMES, *ROWS])
    return buffer.getvalue()


FORMS = {
    "a.csv": lambda p: p.write_bytes(text(",").encode("utf-8-sig")),
    "b.csv": lambda p: p.write_bytes(text(";").encode("latin-1")),
    "c.tsv.gz": lambda p: packed(p, text("\t").encode()),
    "d.csv.zst": lambda p: packed(p, text("|").encode("utf-16")),
    "e.parquet": lambda p: FRAME.to_parquet(p),
    "f.feather": lambda p: FRAME.to_feather(p),
    "g.xlsx": lambda p: workbook(p, [NAMES, *ROWS]),
}
OUTPUTS = (".csv", ".parquet", ".feather", ".csv.gz", ".arrows", ".tsv", ".parquet")


def run(*words):
    assert main([str(word) for word in words]) == 0, words


def test_a_survey_in_every_form_has_one_design_and_one_set_of_reports(tmp_path, capsys):
    md.release_key(tmp_path / "key")
    expected = md.design(md.Prior.from_counts(JOBS), md.utility.Estimation(), md.LDP(1.5))
    by_key = {"row": "id", "key": tmp_path / "key"}
    drawn = md.privatize(FRAME, "job", expected, **by_key)["job"].tolist()
    estimates = []
    for (name, write), ending in zip(FORMS.items(), OUTPUTS, strict=True):
        path, out, saved = tmp_path / name, tmp_path / f"out-{name}{ending}", tmp_path / "m.json"
        write(path)
        said = ["--encoding", "latin-1"] if name == "b.csv" else []
        asked = [
            "--column",
            "job",
            "-p",
            "ldp:1.5",
            "-u",
            "estimation",
            "--output",
            saved,
            "--force",
        ]
        run("design", path, *asked, *said)
        assert md.load(saved).mechanism == expected.mechanism
        ledger = ["--ledger", tmp_path / f"{name}.ledger", "--row", "id", "--key", tmp_path / "key"]
        run("apply", saved, path, "--column", "job", "-o", out, *ledger, *said)
        assert read_columns(out, ["job", "id"]) == [drawn, FRAME["id"].tolist()]
        capsys.readouterr()
        run("estimate", saved, out, "--column", "job", "--json")
        told = json.loads(capsys.readouterr().out)
        estimates.append([told[part] for part in ("rows", "kernel", "reports", "shrunk")])
        # The same in Python.
        found = md.Prior.from_data(path, "job", encoding=said[-1] if said else None)
        assert found == expected.prior
        again = md.estimate(out, expected, "job")
        assert [row["estimate"] for row in told["rows"]] == pytest.approx(again.values.tolist())
    assert estimates == estimates[:1] * len(estimates)
    for frame in (
        FRAME,
        pl.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME),
        pl.from_pandas(FRAME).lazy(),
    ):
        made = md.privatize(frame, "job", expected, **by_key)
        assert read_columns(made, ["job"]) == [drawn]
