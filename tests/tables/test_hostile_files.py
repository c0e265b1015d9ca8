"""Files that are hostile, or no tables, end every command in one line that quotes no cell."""

from __future__ import annotations

import gzip
import io
import itertools
import zipfile

import pytest
from test_reading import workbook

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SECRET = "q7q7"
HEADER = "id,x,n\n"
ROWS = HEADER + "".join(f"{i},{'ab'[i % 2]},1\n" for i in range(60))
WIDE = [f"c{i}" for i in range(10_000)]
# A mebibyte, of which a bomb has so many more than a row may have bytes.
BLOCK, BLOCKS = 1 << 20, 70


def bomb(first, block):
    """Much text in few bytes."""
    return gzip.compress(first + block * BLOCKS, 1)


def parquet(values, kind=None):
    """A table whose secrets Arrow has and Python has not, or that are no single values."""
    sink = io.BytesIO()
    arrays = [pa.array(range(60)), pa.array([*values] * 30, kind), pa.array([1] * 60)]
    pq.write_table(pa.table(arrays, ["id", "x", "n"]), sink)
    return sink.getvalue()


def far_workbook():
    """A few cells, one of them the last that a sheet can have."""
    made, sink = io.BytesIO(), io.BytesIO()
    workbook(made, [["id", "x", "n"], [1, "a", 1]])
    with zipfile.ZipFile(made) as plain, zipfile.ZipFile(sink, "w") as far:
        for name in plain.namelist():
            text = plain.read(name).decode()
            last = "<row r='1048576'><c r = 'XFD1048576'><v>1</v></c></row></sheetData>"
            far.writestr(name, text.replace("</sheetData>", last))
    return sink.getvalue()


FAR = 2**31 - 1
FILES = {
    "a row that is short": f"{ROWS}{SECRET},a\n",
    "a row that is long": f"{ROWS}7,a,1,{SECRET}\n",
    "a large cell in a row that is long": f"{ROWS}7,{SECRET * 2_500_000},1,2\n",
    "a large name": f"id,x,{SECRET * 50_000}\n1,a,1\n",
    "a zero byte": f"{ROWS}7,{SECRET}\0,1\n",
    "a zero byte in a name": "id,x\0,n\n1,a,1\n",
    "all line ends, and a row that is short": f"{ROWS}7,a,1\r\n8,b,1\r9,a,1\n1,{SECRET}\r\n",
    "an open quote": f'{ROWS}7,"{SECRET}\r\n,1\r',
    "names twice": f"id,x,x,n,n\n1,{SECRET},a,1,1\n",
    "many columns, none of them meant": f"{','.join(WIDE)}\n{','.join(['a'] * len(WIDE))}\n",
    "many columns, and a row that is short": f"{HEADER.strip()},{','.join(WIDE)}\n{SECRET},b\n",
    "nothing": "",
    "a mark of byte order alone": b"\xef\xbb\xbf",
    "line ends alone": "\n\r\n\r\n",
    "a header alone": HEADER,
    "half of a sign": ROWS.encode("utf-16")[:-1],
    "other bytes": bytes(range(1, 256)) * 4,
    "a bomb of one name": bomb(b"", b"a" * BLOCK),
    "a bomb of one row": bomb(HEADER.encode(), b"a" * BLOCK),
    "a bomb of zeros": bomb(HEADER.encode(), bytes(BLOCK)),
    "gzip that is cut off": gzip.compress(ROWS.encode())[:-20],
    "gzip with more behind it": gzip.compress(ROWS.encode()) + b"more",
    "zstd of nothing": b"\x28\xb5\x2f\xfd" + b"x" * 50,
    "Parquet of nothing": b"PAR1" + b"x" * 100 + b"PAR1",
    "Arrow of nothing": b"ARROW1\0\0" + b"\xff" * 200,
    "a stream of nothing": b"\xff\xff\xff\xff" + b"\x7f" * 100,
    "a workbook of nothing": b"PK\x03\x04" + b"x" * 300,
    "a workbook that fills the memory": far_workbook(),
    "days after the year 9999": parquet([FAR, -FAR], pa.date32()),
    "times after the year 9999": parquet([FAR * 10**9, 0], pa.timestamp("ms")),
    "times of an unknown zone": parquet([1, 2], pa.timestamp("us", "Mars/Phobos")),
    "lists": parquet([[SECRET], ["b"]]),
    "objects": parquet([{"x": SECRET}, {"x": "b"}]),
}
# What is read of a table, and how often it is named behind a design.
COMMANDS = {
    "design": (["--column", "x", "-p", "ldp:1"], 0),
    "compare": (["--column", "x", "-n", "ldp", "-n", "pml", "--levels", "1"], 0),
    "design ": (["--column", "x", "--column", "n", "--total", "ldp:2"], 0),
    "apply": (["--column", "x", "-o", "out.csv", "--ledger", "ledger"], 1),
    "pram": (["--column", "x", "-p", "ldp:1"], 0),
    "estimate": (["--column", "x"], 1),
    "regress": (["--column", "x", "--response", "n"], 1),
    "audit": (["--column", "x", "--reported", "x", "-p", "ldp:9"], 0),
}


@pytest.mark.parametrize("is_every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_hostile_files_end_every_command_in_one_line(is_every, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    md.save(md.randomised_response(md.Prior.uniform(["a", "b"]), 1), "m.json")
    turns = itertools.cycle(COMMANDS)
    for name, content in FILES.items():
        raw = content if isinstance(content, bytes) else content.encode()
        file = "t.csv.gz" if raw.startswith(b"\x1f\x8b") else "t.csv"
        (tmp_path / file).write_bytes(raw)
        for command in COMMANDS if is_every else [next(turns), next(turns)]:
            options, times = COMMANDS[command]
            tables = ["m.json", *[file] * times] if times else [file]
            code = main([command.strip(), *tables, *options])
            said = capsys.readouterr()
            about = (name, command, code, said.err[:300])
            assert code == 2, about
            assert said.err.startswith("error: "), about
            assert len(said.err.splitlines()) == 1, about
            assert len(said.err) < 600, about
            assert SECRET not in said.err or "name" in name, about
            assert not said.out, about
        assert not (tmp_path / "out.csv").exists()


def test_hostile_files_end_every_function_in_one_line(tmp_path):
    """Those that are hard for Python, with bins of dates among them."""
    flip, months = md.randomised_response(md.Prior.uniform(["a", "b"]), 1), md.bins(of="month")
    path = tmp_path / "t.csv"
    calls = [
        lambda: md.Prior.from_data(path, "x"),
        lambda: md.estimate(path, flip, "x"),
        lambda: md.pram(path, "x", md.LDP(1)),
        lambda: md.regress(path, {"x": flip}, response="n"),
        lambda: md.Prior.from_data(path, "x", bins=months),
    ]
    for name in [*FILES][-6:]:
        path.write_bytes(FILES[name])
        # The months of such days are known all the same.
        for call in calls[:-1] if "after" in name else calls:
            with pytest.raises(DataError) as told:
                call()
            assert len(str(told.value).splitlines()) == 1
            assert SECRET not in str(told.value)
