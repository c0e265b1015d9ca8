"""The command line refuses in one line, with exit code 2, whatever it is handed; it never waits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.cli.application import COMMANDS, RESEARCH, load_command
from mechdesign.errors import MechdesignError
from mechdesign.release.ledger import Ledger
from mechdesign.storage import seal, to_json

DEEP = "[" * 100_000 + "]" * 100_000
DEEP_OBJECTS = '{"a":' * 50_000 + "1" + "}" * 50_000
DIGITS = "9" * 6000
LDP = ("--privacy", "ldp:1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "nested.json": DEEP,
        "objects.json": DEEP_OBJECTS,
        "deep.json": "[" * 900 + "]" * 900,
        "twice.json": '{"a": 0.5, "b": 0.5, "a": 0.5}',
        "huge.json": '{"a": 1e400, "b": 1}',
        "digits.json": f"[{DIGITS}, 1]",
        "number.json": "3",
        "text.json": '"abc"',
        "cut.json": '{"a": 0.5',
        "quotes.json": '"' + '\\"' * 50_000,
        "masses.json": '{"a": [0.5], "b": {"c": 1}}',
        "k.csv": "input,a,b\na,0.75,0.25\nb,0.25,0.75\n",
        "t.csv": "x\n" + "a\nb\n" * 20,
        "semicolons.csv": "a;b\n1;2\n",
        "identifiers.csv": "id\n" + "\n".join(map(str, range(4000))) + "\n",
        "measured.csv": "size\n" + "\n".join(str(i / 7) for i in range(3996)) + "\nx" * 4 + "\n",
        "many.csv": "id\n" + "\n".join(map(str, range(20_000))) + "\n",
        "r.csv": "x\n" + "a\nb\n" * 20,
        "r.csv.receipt.json": DEEP_OBJECTS,
        "empty.csv": "",
        "binary.csv": b"\xff\xfe\x00\x01",
    }
    for name, text in files.items():
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
    (tmp_path / "marked.json").write_bytes(b'\xef\xbb\xbf{"a": 0.5, "b": 0.5}')
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop").symlink_to("pool")
    (tmp_path / "pool").symlink_to("loop")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    content = json.loads(
        json.dumps(
            to_json(md.design(md.Prior([0.5, 0.5], ["a", "b"]), md.utility.Hamming(), md.LDP(1)))
        )
    )
    for name, (place, value) in {
        "weight": (("prior", "weights", 0), "1e1000000000"),
        "fraction": (("prior", "weights", 0), f"1/{DIGITS * 100}"),
        "level": (("notions", 0, "parameters", "epsilon"), {"fraction": "1e1000000000"}),
        "bits": (("mechanism", "denominator_bits"), "9" * 500_000),
        "shape": (
            ("certificate", "duals", "multipliers"),
            [[{"shape": [31622, 31622], "rows": [], "columns": [], "values": []}] * 2],
        ),
    }.items():
        changed = json.loads(json.dumps(content))
        part = changed
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        del changed["digest"]
        (tmp_path / f"{name}.json").write_text(json.dumps(seal(changed)))
    return tmp_path


PRIORS = "nested objects deep twice huge digits number text cut quotes masses marked missing"
SAVED = "nested twice weight fraction level bits shape quotes"
#: What is typed; NULL, DIGITS, CONTROL, LONG and SURROGATE stand for what their names say.
CASES = f"""
{chr(10).join(f"design --prior {name}.json -p ldp:1" for name in PRIORS.split())}
{chr(10).join(f"check {name}.json" for name in SAVED.split())}
plan k.csv --reports 100 --feature nested.json
plan k.csv --reports 100 --feature twice.json
apply k.csv t.csv --column x -o o.csv --ledger nested.json
estimate k.csv r.csv --column x
check loop
design loop.csv --column x -p ldp:1
design t.csv --column x -p ldp:1 -o loop --force
apply k.csv loop.csv --column x -o o.csv
check NULL
design NULL --column x -p ldp:1
design t.csv --column x -p ldp:1 -o NULL
design t.csv --column x -p ldp:1 -u NULL
compare --prior .5,.5 --resume NULL
check zero
design zero --column x -p ldp:1
audit zero.csv --prior .5,.5
design t.csv --column x -p ldp:1 -u zero
estimate k.csv zero.csv --column x
design t.csv --column x -p ldp:1 -o zero --force
check pipe
design pipe --column x -p ldp:1
audit pipe.csv --prior .5,.5
design t.csv --column x -p ldp:1 -u pipe
estimate k.csv pipe.csv --column x
design t.csv --column x -p ldp:1 -o pipe --force
check .
design t.csv --column x -p ldp:1 -o . --force
compose k.csv --times {"9" * 25}
compose k.csv --times 0
compare --prior .5,.5 --levels 1:2:1000000000
compare --prior .5,.5 --levels 1:2:DIGITS
compare --prior .5,.5 --levels 1:1e400:10
compare --prior .5,.5 --levels nan,1
design --prior .5,.5 -p entrypml:1,999999999999999999999,0.3
design --prior .5,.5 -p entrypml:1,DIGITS,0.3
design identifiers.csv --column id -p ldp:1
design measured.csv --column size -p ldp:1
design many.csv --column id -p ldp:1 -u hamming --max-symbols 20000
design t.csv --column x -p ldp:1 --max-symbols -1
design --prior 1e400,1 -p ldp:1
design --prior , -p ldp:1
design --prior .5,.5 -p ldp:
design --prior .5,.5 -p ldp:nan
design --prior .5,.5 -p CONTROLldp:1
design t.csv --column CONTROLx -p ldp:1
check CONTROLx.json
check --CONTROL
CONTROL
check LONG
research convert LONG --prior .5,.5
LONG
design semicolons.csv -p ldp:1
design empty.csv --column x -p ldp:1
design binary.csv --column x -p ldp:1
audit binary.csv --prior .5,.5
research theorems check --all --instances {"9" * 20}
research theorems check --all --seed {"9" * 30}
research theorems show CONTROL
check SURROGATE
design --prior .5,.3,.2 -p ldp:1 -u mutual-information --time-limit nan
""".strip().splitlines()
MEANT = {
    "NULL": "a\x00b",
    "DIGITS": DIGITS,
    "CONTROL": "\x1b[31m\u202e",
    "LONG": "x" * 5000,
    "SURROGATE": "\udcff",
}


def test_one_line_and_exit_code_2(folder, capsys):

    def files():
        # The lock of a ledger stays beside it, as whoever waits for it holds the same file.
        kept = [path for path in folder.iterdir() if path.name != "nested.json.lock"]
        return {path: path.lstat().st_mtime_ns for path in kept}

    before = files()
    for typed in CASES:
        arguments = typed.split()
        for name, text in MEANT.items():
            arguments = [part.replace(name, text) for part in arguments]
        code = main(arguments)
        out, err = capsys.readouterr()
        assert (code, out) == (2, ""), (typed, err)
        (line,) = err.splitlines()
        assert line.startswith("error: "), typed
        assert line.isprintable(), typed
        assert len(line) < 2200, typed
        assert files() == before, typed


def test_a_thousand_million_reports_are_added_up_at_once(folder, capsys):
    """How often a list is reported is a factor, not a loop."""
    assert main(["compose", "k.csv", "--times", "1000000000"]) == 0
    assert "1000000000 reports together: LDP(1.09861e+09)" in capsys.readouterr().out


@pytest.mark.parametrize("level", ["1e400", "ldp:1e309"])
def test_a_level_beyond_floats_is_not_read_as_none_at_all(level, capsys):
    spec = level if ":" in level else f"pml:{level}"
    assert main(["design", "--prior", "0.5,0.5", "-p", spec]) == 2
    assert "a level such as" in capsys.readouterr().err
    assert main(["design", "--prior", "0.5,0.5", "-p", "ldp:inf"]) == 0


@pytest.mark.parametrize("command", ["apply", "estimate", "regress"])
def test_a_table_in_the_place_of_the_design_is_not_quoted(tmp_path, monkeypatch, capsys, command):
    """Rows of people with numbers would be read as rows of a kernel, and their sums shown."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,pay\n23.1,3\n41,5\n", encoding="utf-8")
    md.save(md.design(md.Prior([0.5, 0.5]), md.utility.Hamming(), md.LDP(1)), "m.json")
    more = {"apply": ["-o", "out.csv"], "regress": ["--response", "pay"]}.get(command, [])
    code = main([command, "people.csv", "m.json", "--column", "age", *more])
    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    (line,) = told.err.splitlines()
    assert "the saved design first" in line
    assert "m.json people.csv" in line
    assert "26.1" not in line
    assert not Path("out.csv").exists()


def test_an_empty_text_is_no_file_in_any_command(folder, capsys):
    """A path would take it for the current folder, and read or write what lies there."""
    asked = []
    names = [[name] for name in COMMANDS if name != "research"]
    names += [["research", name] for below in RESEARCH.values() for name in below]
    for name in names:
        for parameter in load_command(name[-1]).params:
            files = ("FILE", "TABLE", "KERNEL", "DESIGN", "VISITS", "FIRST", "SECOND")
            if (parameter.metavar or "").rstrip(".") not in files:
                continue
            option = [parameter.opts[0], ""] if parameter.opts[0].startswith("-") else [""]
            asked.append([*name, *option])
            assert main([*name, *option]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert "expected the name of a file, got an empty text" in err, (name, parameter.opts)
    assert len(asked) > 60
    kernel = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    for call in (
        lambda: md.load(""),
        lambda: md.privatize_file("", "o.csv", "x", kernel),
        lambda: md.privatize_file("t.csv", "", "x", kernel),
        lambda: md.Prior.from_csv("", "x"),
        lambda: md.release_key(""),
        lambda: Ledger(""),
    ):
        with pytest.raises(MechdesignError, match="expected the name of a file"):
            call()
