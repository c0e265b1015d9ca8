"""CSV files: compressed ones, rows longer than a block, and memory that does not grow."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest
from checks import for_each, refused
from entropy import draws_decide_nothing

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError
from mechdesign.published import kernel_fingerprint
from mechdesign.release.receipts import file_receipts
from mechdesign.tables.reading import read_columns

pa = pytest.importorskip("pyarrow")
from pyarrow import csv, parquet  # noqa: E402

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1.5))


def text(rows=5000, note="n"):
    drawn = np.random.default_rng(1).choice(LABELS, rows)
    return "id,x,note\n" + "".join(f"{i},{x},{note}{i}\n" for i, x in enumerate(drawn))


@for_each("ending", [".csv.gz", ".csv.zst", ".CSV.GZ"])
def test_compressed_files_get_the_reports_of_plain_ones(tmp_path, ending):
    (tmp_path / "plain.csv").write_text(text())
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending.lower()}"
    packing = "gzip" if "GZ" in ending.upper() else "zstd"
    with pa.output_stream(str(source), compression=packing) as file:
        file.write(text(60_000).encode())
    # Its first rows are there: they must not be taken for all of them.
    whole = source.read_bytes()
    for size in (len(whole) // 2, len(whole) - 3, 20):
        source.write_bytes(whole[:size])
        call = lambda: md.privatize_file(source, target, "x", FOUND, ledger=False)  # noqa: E731
        refused(call, source.name, error=DataError)
        assert sorted(p.name for p in tmp_path.iterdir()) == [source.name, "plain.csv"]
    with pa.output_stream(str(source), compression=packing) as file:
        file.write(text().encode())
    options = {"row": "id", "key": b"k" * 32, "ledger": False}
    md.privatize_file(tmp_path / "plain.csv", tmp_path / "made.csv", "x", FOUND, **options)
    receipt = md.privatize_file(source, target, "x", FOUND, **options)
    with pa.input_stream(str(target), compression=packing) as file:
        assert file.read().decode() == (tmp_path / "made.csv").read_text()
    assert file_receipts(target, check=True)["x"] == receipt
    made = (md.count_reports(path, FOUND, "x") for path in (target, tmp_path / "made.csv"))
    assert next(made) == next(made)


def test_the_output_is_of_the_kind_that_its_name_says(tmp_path, capsys):
    (tmp_path / "in.csv").write_text(text().replace(",", ";"))
    md.save(FOUND, tmp_path / "m.json")
    arguments = ["apply", tmp_path / "m.json", tmp_path / "in.csv", "--column", "x", "--seed", "1"]
    counts = []
    for number, ending in enumerate((".csv", ".csv.gz", ".tsv", ".parquet", ".feather", ".arrows")):
        out = tmp_path / f"{number}{ending}"
        assert main([*map(str, arguments), "-o", str(out), "--ledger", str(tmp_path / "l")]) == 0
        assert file_receipts(out, check=True)["x"].kernel == kernel_fingerprint(FOUND.mechanism)
        counts.append(sorted(read_columns(out, ["x"])[0]))
    assert counts == counts[:1] * len(counts)
    assert (tmp_path / "0.csv").read_text().startswith("id;x;note\n0;")
    capsys.readouterr()
    assert main([*map(str, arguments), "-o", str(tmp_path / "out.xlsx")]) == 2
    assert "ends in .csv" in capsys.readouterr().err


@pytest.mark.slow
@for_each("place", [0, 30_000, 59_999])
def test_a_row_longer_than_a_block_is_kept_and_nothing_is_drawn_twice(tmp_path, place):
    lines = text(60_000).splitlines(keepends=True)
    head, note = lines[place + 1].rstrip().rsplit(",", 1)
    lines[place + 1] = f'{head},"{note}\n{"y" * 1_500_000}"\n'
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("".join(lines))
    assert md.privatize_file(source, target, "x", FOUND, row="id", ledger=False).rows == 60_000
    before, after = (read_columns(path, ["id", "note"]) for path in (source, target))
    assert before == after


CHILD = """
import sys, warnings
from pathlib import Path
import mechdesign as md
warnings.simplefilter("ignore")
found = md.design(md.Prior.uniform(["a", "b", "c"]), md.utility.Hamming(), md.LDP(1.5))
row = sys.argv[3] or None
md.privatize_file(sys.argv[1], sys.argv[2], "x", found, row=row, rng=row and 1, ledger=False)
# Not ru_maxrss, which a process begins with as its parent had it.
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@for_each("ending, row", [(".csv", ""), (".csv", "id"), (".parquet", "")])
def test_memory_does_not_grow_with_a_file(ending, row, tmp_path):
    peaks = []
    drawn = np.random.default_rng(1).choice(LABELS, 100_000)
    for rows in (500_000, 2_500_000 if row or ending == ".csv" else 10_000_000):
        source, target = (tmp_path / f"{name}{rows}{ending}" for name in "ab")
        with ExitStack() as opened:
            if ending == ".csv":
                file = opened.enter_context(source.open("wb"))
            for part in range(rows // 100_000):
                made = pa.table({"x": drawn, "id": [f"{part}-{i}" for i in range(100_000)]})
                made = made.append_column(
                    "note", pa.array([f"some note {i}" for i in range(100_000)])
                )
                if ending == ".csv":
                    csv.write_csv(made, file, csv.WriteOptions(include_header=not part))
                    continue
                if not part:
                    file = opened.enter_context(parquet.ParquetWriter(source, made.schema))
                file.write_table(made)
        arguments = [sys.executable, "-c", CHILD, str(source), str(target), row]
        environment = draws_decide_nothing()
        found = subprocess.run(
            arguments, capture_output=True, text=True, check=True, timeout=300, env=environment
        )
        peaks.append(int(found.stdout) / 1024)
    # The large file is 60 MB larger, and Arrow would read all of that ahead in large blocks.
    assert peaks[1] < peaks[0] + (25 if ending == ".csv" else 100)
    assert peaks[1] < 500
