"""The command line refuses in one line, with exit code 2, whatever it is handed; it never waits."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.cli.application import COMMANDS, RESEARCH, load_command
from mechdesign.errors import MechdesignError
from mechdesign.release.ledger import Ledger
from mechdesign.release.persons import read_budget
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


def prior(text):
    return ("design", "--prior", text, *LDP)


CASES = {
    **{
        f"prior {name}": prior(f"{name}.json")
        for name in (
            "nested",
            "objects",
            "deep",
            "twice",
            "huge",
            "digits",
            "number",
            "text",
            "cut",
            "quotes",
            "masses",
            "marked",
            "missing",
        )
    },
    **{
        f"show {name}": ("check", f"{name}.json")
        for name in ("nested", "twice", "weight", "fraction", "level", "bits", "shape", "quotes")
    },
    "feature": ("plan", "k.csv", "--reports", "100", "--feature", "nested.json"),
    "feature twice": ("plan", "k.csv", "--reports", "100", "--feature", "twice.json"),
    "ledger": (
        "apply",
        "k.csv",
        "t.csv",
        "--column",
        "x",
        "-o",
        "o.csv",
        "--ledger",
        "nested.json",
    ),
    "receipt": ("estimate", "k.csv", "r.csv", "--column", "x"),
    "loop": ("check", "loop"),
    "loop table": ("design", "loop.csv", "--column", "x", *LDP),
    "loop output": ("design", "t.csv", "--column", "x", *LDP, "-o", "loop", "--force"),
    "loop apply": ("apply", "k.csv", "loop.csv", "--column", "x", "-o", "o.csv"),
    "null": ("check", "a\x00b"),
    "null table": ("design", "a\x00b", "--column", "x", *LDP),
    "null output": ("design", "t.csv", "--column", "x", *LDP, "-o", "a\x00b"),
    "null utility": ("design", "t.csv", "--column", "x", *LDP, "-u", "a\x00b"),
    "null resume": ("compare", "--prior", ".5,.5", "--resume", "a\x00b"),
    "device": ("check", "zero"),
    "device table": ("design", "zero", "--column", "x", *LDP),
    "device kernel": ("audit", "zero.csv", "--prior", ".5,.5"),
    "device utility": ("design", "t.csv", "--column", "x", *LDP, "-u", "zero"),
    "device reports": ("estimate", "k.csv", "zero.csv", "--column", "x"),
    "device output": ("design", "t.csv", "--column", "x", *LDP, "-o", "zero", "--force"),
    "pipe": ("check", "pipe"),
    "pipe table": ("design", "pipe", "--column", "x", *LDP),
    "pipe kernel": ("audit", "pipe.csv", "--prior", ".5,.5"),
    "pipe utility": ("design", "t.csv", "--column", "x", *LDP, "-u", "pipe"),
    "pipe reports": ("estimate", "k.csv", "pipe.csv", "--column", "x"),
    "pipe output": ("design", "t.csv", "--column", "x", *LDP, "-o", "pipe", "--force"),
    "folder": ("check", "."),
    "folder output": ("design", "t.csv", "--column", "x", *LDP, "-o", ".", "--force"),
    "times": ("compose", "k.csv", "--times", "9" * 25),
    "no times": ("compose", "k.csv", "--times", "0"),
    "levels": ("compare", "--prior", ".5,.5", "--levels", "1:2:1000000000"),
    "levels digits": ("compare", "--prior", ".5,.5", "--levels", f"1:2:{DIGITS}"),
    "levels infinite": ("compare", "--prior", ".5,.5", "--levels", "1:1e400:10"),
    "levels nan": ("compare", "--prior", ".5,.5", "--levels", "nan,1"),
    "entries": (*prior(".5,.5")[:3], "--privacy", "entrypml:1,999999999999999999999,0.3"),
    "entries digits": (*prior(".5,.5")[:3], "--privacy", f"entrypml:1,{DIGITS},0.3"),
    "identifiers": ("design", "identifiers.csv", "--column", "id", *LDP),
    "measured": ("design", "measured.csv", "--column", "size", *LDP),
    "too large": ("design", "many.csv", "--column", "id", *LDP, "--max-symbols", "20000"),
    "max-symbols": ("design", "t.csv", "--column", "x", *LDP, "--max-symbols", "-1"),
    "masses": prior("1e400,1"),
    "nan": prior("nan,1"),
    "empty mass": prior(","),
    "level text": ("design", "--prior", ".5,.5", "--privacy", "ldp:"),
    "level nan": ("design", "--prior", ".5,.5", "--privacy", "ldp:nan"),
    "control": ("design", "--prior", ".5,.5", "--privacy", "\x1b[31mldp:1\n"),
    "control column": ("design", "t.csv", "--column", "\x1b[31m\u202ex", *LDP),
    "control file": ("check", "\x1b[31m\u202ex\n.json"),
    "control option": ("check", "--\x1b[31m"),
    "long": ("check", "x" * 5000),
    "long notion": ("research", "convert", "x" * 100_000, "--prior", ".5,.5"),
    "semicolons": ("design", "semicolons.csv", *LDP),
    "empty": ("design", "empty.csv", "--column", "x", *LDP),
    "binary": ("design", "binary.csv", "--column", "x", *LDP),
    "binary kernel": ("audit", "binary.csv", "--prior", ".5,.5"),
    "instances": ("research", "theorems", "check", "--all", "--instances", "9" * 20),
    "seed": ("research", "theorems", "check", "--all", "--seed", "9" * 30),
    "theorem": ("research", "theorems", "show", "\x1b[31m"),
    "surrogate": ("check", "\udcff"),
    "time limit": (*prior(".5,.3,.2"), "-u", "mutual-information", "--time-limit", "nan"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_line_and_exit_code_2(name, folder, capsys):

    def files():
        # The lock of a ledger stays beside it, as whoever waits for it holds the same file.
        kept = [path for path in folder.iterdir() if path.name != "nested.json.lock"]
        return {path: path.lstat().st_mtime_ns for path in kept}

    before = files()
    code = main(list(CASES[name]))
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    assert lines[0].isprintable()
    assert len(lines[0]) < 2200
    assert files() == before


def test_a_thousand_million_reports_are_added_up_at_once(folder, capsys):
    """How often a list is reported is a factor, not a loop."""
    assert main(["compose", "k.csv", "--times", "1000000000"]) == 0
    assert "1000000000 reports together: LDP(1.09861e+09)" in capsys.readouterr().out


def test_more_levels_than_anybody_draws_are_still_levels(folder, capsys):
    levels = ",".join(str(i / 1000) for i in range(1, 4))
    arguments = ("compare", "--prior", ".5,.5", "--levels", levels, "-n", "ldp", "--json")
    assert main(list(arguments)) == 0
    assert json.loads(capsys.readouterr().out)["points"]


def test_columns_of_many_values_are_designed_on_when_asked(folder, capsys):
    (folder / "streets.csv").write_text("s\n" + "\n".join(f"s{i}" for i in range(150)) + "\n")
    assert main(["design", "streets.csv", "--column", "s", *LDP]) == 2
    assert "--max-symbols 150" in capsys.readouterr().err
    assert main(["design", "streets.csv", "--column", "s", *LDP, "--max-symbols", "150"]) == 0
    assert capsys.readouterr().err == ""


def test_a_column_of_many_values_that_recur_is_none_to_ask_about(folder, capsys):
    (folder / "zip.csv").write_text("z\n" + "".join(f"z{i}\n" * 3 for i in range(150)))
    assert main(["design", "zip.csv", "--column", "z", *LDP]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("level", ["1e400", "ldp:1e309"])
def test_a_level_beyond_floats_is_not_read_as_none_at_all(level, capsys):
    spec = level if ":" in level else f"pml:{level}"
    assert main(["design", "--prior", "0.5,0.5", "-p", spec]) == 2
    assert "a level such as" in capsys.readouterr().err
    assert main(["design", "--prior", "0.5,0.5", "-p", "ldp:inf"]) == 0


def test_levels_may_be_logarithms_wherever_they_are_read(folder, capsys):
    for typed, told in (
        ("design --prior .5,.5 -p ldp:ln2 --json", '"ln": "2"'),
        ("design --prior .5,.5 -p ldp:ln(2) --json", '"ln": "2"'),
        ("compare --prior .5,.5 -n ldp --levels ln2,1 --json", str(math.log(2))),
        ("design t.csv --column x -p ldp:0.6931471805599453 --json", str(math.log(2))),
    ):
        assert main(typed.split()) == 0
        assert told in capsys.readouterr().out
    for budget in ("ln2", "ldp:ln2", "LDP(ln 2)", "x2", "1 bit", md.ratio(2)):
        assert read_budget(budget).notion == md.LDP(md.ratio(2))
    for level in ("ln", "ln0", "ln(2", "lnx", "ln1_0", "ln1e999", "ln-2", "ln0.5"):
        assert main(["design", "--prior", ".5,.5", "-p", f"ldp:{level}"]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


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
