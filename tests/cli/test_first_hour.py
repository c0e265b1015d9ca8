"""What somebody meets first: the greeting, help, codes of errors, the doctor, odd terminals."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign import errors
from mechdesign.cli import application, doctor, greeting, main
from mechdesign.errors import KINDS, MechdesignError, MechdesignWarning, UnknownNameError
from mechdesign.extras import EXTRAS

RECORDED = Path(__file__).parents[1] / "recorded" / "error_codes.json"


def process(*arguments, **environment):
    """The command line as a process of its own, with more in its environment."""
    return subprocess.run(
        [sys.executable, "-m", "mechdesign", *arguments],
        capture_output=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


# The greeting


def test_without_arguments_three_commands_are_named(capsys):
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for command, purpose in greeting.FIRST_COMMANDS:
        assert f"\n  {command}\n      {purpose}\n" in out
    assert len(greeting.FIRST_COMMANDS) == 3


def test_the_commands_of_the_greeting_work_in_their_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command, _ in greeting.FIRST_COMMANDS:
        program, *arguments = shlex.split(command)
        assert program == "mechdesign"
        assert main(arguments) == 0, capsys.readouterr()
    assert "survived.json: proved" in capsys.readouterr().out
    found = md.load("survived.json")
    assert md.identifiability(found).symbols == ("no", "yes")


# Help


def test_the_help_lists_each_command_once_under_its_question(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for question, names in application.QUESTIONS.items():
        start = lines.index(question)
        listed = [line.split()[0] for line in lines[start + 1 : start + 1 + len(names)]]
        assert tuple(listed) == names
    assert len(set(application.COMMANDS)) == len(application.COMMANDS)
    commands = {p.stem for p in Path(application.__file__).parent.glob("*.py")}
    shared = {"__init__", "application", "exit_codes", "greeting", "held_warnings", "options"}
    shared |= {
        "requirements",
        "parameters",
        "designed_prior",
        "output",
        "proving",
        "samples",
        "release_options",
    }
    below = sum(application.RESEARCH.values(), ())
    modules = {application.MODULES.get(name, name) for name in (*application.COMMANDS, *below)}
    assert commands - shared == modules - {"research"}
    assert len(application.COMMANDS) <= 22


def test_what_commands_were_called_leads_to_them(capsys):
    meant = dict.fromkeys(["privatize", "privatise"], "apply") | {"collect": "serve"}
    meant |= {"freq": "estimate", "plan-columns": "design --total", "desing": "design"}
    meant |= {"estimate-change": "estimate --change", "audit-samples": "audit", "show": "check"}
    meant |= {"convert": "research convert", "explain": "doctor", "plot": "report"}
    for typed, command in meant.items():
        assert main([typed, "x"]) == 2
        assert f"did you mean 'mechdesign {command}'?" in capsys.readouterr().err
    assert {*application.MEANT}.isdisjoint(application.COMMANDS)
    known = {*application.COMMANDS, "--version"}
    assert {command.split()[0] for command in application.MEANT.values()} <= known
    assert main(["research", "convrt"]) == 2
    assert "'mechdesign research convert'" in capsys.readouterr().err
    assert main(["xyzzyq"]) == 2
    assert "mechdesign --help lists all" in capsys.readouterr().err


def test_help_is_asked_for_in_any_way(capsys):
    told = []
    for typed in (["plan", "--help"], ["plan", "-h"], ["help", "plan"]):
        assert main(typed) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]
    assert main(["help", "research", "order"]) == 0
    assert "mechdesign research order" in capsys.readouterr().out


EVERY = [[name] for name in application.COMMANDS if name != "research"]
EVERY += [["research", name] for names in application.RESEARCH.values() for name in names]


@for_each("command", EVERY)
def test_help_names_what_an_option_takes_and_no_type_of_python(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, "--help"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    # The list of commands says the same without importing any.
    assert application.first_sentence(command[-1]) in " ".join(out.split())
    said = out.partition("\nOptions:")[2]
    assert said
    assert not re.search(r"<(str|int|float|path|list\[.*\])( range)?>", said)


def test_help_fits_a_narrow_terminal():
    wide, narrow = process("--help", COLUMNS="100"), process("--help", COLUMNS="40")
    assert max(map(len, wide.stdout.decode().splitlines())) > 60
    questions = {*application.QUESTIONS}
    found = [line for line in narrow.stdout.decode().splitlines() if line not in questions]
    assert max(map(len, found)) <= 45  # what is longer than its column stays whole


# Codes


def _classes():
    return [
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, (MechdesignError, MechdesignWarning))
    ]


def test_codes_are_unique_and_complete():
    codes = [kind.code for kind in KINDS]
    assert codes == sorted(set(codes))
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert {cls.__name__ for cls in _classes()} <= {kind.name for kind in KINDS}
    for cls in _classes():
        assert errors.explained(cls.code).name == cls.__name__
    for kind in KINDS:
        assert all(text.endswith(".") for text in (kind.meaning, kind.remedy)), kind
        warns = kind.name.endswith("Warning")
        assert kind.code.startswith("MD8") is warns


def test_a_code_is_never_given_to_anything_else():
    """Each code ever given is recorded with its name; one that is taken away stays there."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert len(set(recorded.values())) == len(recorded)
    for kind in KINDS:
        assert recorded.get(kind.code) == kind.name, f"record {kind.code} in {RECORDED.name}"


def test_a_class_of_ones_own_has_the_code_of_its_base():
    class Mine(errors.LevelError):
        pass

    assert Mine("wrong").code == errors.LevelError("wrong").code == "MD103"
    with pytest.raises(UnknownNameError, match="MD999"):
        errors.explained("MD999")


@for_each(
    ("arguments", "code", "exit_code"),
    [
        (["design", "--prior", "0.5,0.6", "-p", "pml:1"], "MD101", 2),
        (["design", "--prior", "0.5,0.5", "-p", "pml:-1"], "MD103", 2),
        (["design", "nowhere.csv", "--column", "a", "-p", "pml:1"], "MD106", 2),
        (["design", "--prior", "0.5,0.5", "-p", "pmll:1"], "MD107", 2),
        (["design", "--prior", "0.5,0.5", "-p", "pml:.1", "--require", "diagonal:1"], "MD301", 4),
        (["check", "nowhere.json"], "MD601", 2),
        (["desing"], "MD701", 2),
        (["design", "--colum", "a"], "MD701", 2),
        (["doctor", "MD1"], "MD107", 2),
    ],
)
def test_an_error_ends_with_its_code_which_is_explained(
    arguments, code, exit_code, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == exit_code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert line.endswith(f" [{code}]")
    assert main(["doctor", code.lower(), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told == dataclasses.asdict(errors.explained(code))


def test_a_warning_ends_with_its_code(capsys):
    assert main(["design", "--prior", "1,0", "-p", "pml:1", "-u", "hamming"]) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if "zero mass" in line]
    assert warned
    assert all(line.startswith("warning: ") and line.endswith(" [MD801]") for line in warned)


def test_all_codes_are_listed(capsys):
    assert main(["doctor", "codes"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(KINDS)


# The doctor


def test_the_doctor_says_what_is_here_and_that_it_works(capsys):
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert all(check["passed"] for check in told["checks"])
    assert {check["name"] for check in told["checks"]} >= {"exact arithmetic", "proof", "entropy"}
    assert told["versions"]["numpy"]
    assert set(told["extras"]) == set(EXTRAS)


@pytest.mark.parametrize(
    ("name", "module", "broken", "fragment"),
    [
        (
            "libraries",
            "mechdesign.cli.doctor.BASE",
            ("numpy", "nil"),
            "nil; pip install mechdesign",
        ),
        ("exact arithmetic", "mechdesign.exact.exp_bounds", lambda *_: (1, 1), "e^1/10"),
        ("entropy", "os.urandom", bytes, "same"),
        ("entropy", "os.urandom", lambda n: os.getrandom(n // 2) + bytes(n - n // 2), "ones"),
    ],
)
def test_the_doctor_notices_what_is_broken(name, module, broken, fragment, capsys, monkeypatch):
    """Controls: without them, checks that look at nothing would pass."""
    monkeypatch.setattr(module, broken)
    told, passed, said = doctor._run(name, doctor._CHECKS[name])
    assert (told, passed) == (name, False)
    assert fragment in said
    monkeypatch.setattr(doctor, "_CHECKS", {name: doctor._CHECKS[name]})
    assert main(["doctor"]) == 3
    assert f"FAILED {name}" in capsys.readouterr().out


# Terminals


@pytest.mark.parametrize("encoding", slow_but(0, ["cp1252", "cp437", "cp850"]))
def test_code_pages_without_a_sign_get_its_code(encoding, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("city\n" + "Kraków\n東京\nParis\n" * 20, encoding="utf-8")
    asked = ("design", str(table), "--column", "city", "-p", "pml:0.5")
    for arguments in (
        asked,
        ("--help",),
        (),
        ("doctor", "codes"),
        ("design", "--prior", "½", "-p", "ε"),
    ):
        done = process(*arguments, PYTHONIOENCODING=encoding)
        said = (done.stdout + done.stderr).decode(encoding)
        assert "UnicodeEncodeError" not in said
        assert "Traceback" not in said
        assert done.returncode in (0, 2)
    shown = process(*asked, PYTHONIOENCODING=encoding).stdout.decode(encoding)
    assert "\\u6771" in shown
    assert "Kraków" in shown


@pytest.mark.slow
def test_colours_are_left_out_where_they_are_not_wanted():
    asked = ("design", "--prior", "0.5,0.5", "-p", "pml:0.5")
    coloured = process(*asked, FORCE_COLOR="1", TERM="xterm-256color").stdout
    colour = re.compile(rb"\x1b\[(?:\d+;)*(?:[349][0-8]|10[0-7])[;m]")
    assert colour.search(coloured)
    plain = process(*asked, FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1").stdout
    assert b"\x1b[" in plain  # what is bold stays so
    assert not colour.search(plain)


def test_results_fit_a_terminal_of_forty_columns():
    asked = ("design", "--prior", "0.5,0.3,0.2", "-p", "pml:0.5")
    done = process(*asked, FORCE_COLOR="1", TERM="xterm", NO_COLOR="1", COLUMNS="40")
    assert done.returncode == 0
    tables = [line for line in done.stdout.decode().splitlines() if "│" in line]
    assert tables
    assert max(len(_without_marks(line)) for line in tables) <= 40


def _without_marks(line):
    parts = line.split("\x1b[")
    return parts[0] + "".join(part.partition("m")[2] for part in parts[1:])


def test_a_path_of_windows_is_one_name_and_no_option(tmp_path, monkeypatch, capsys):
    """Backslashes and drive letters are letters of a name elsewhere, and are shown as they are."""
    monkeypatch.chdir(tmp_path)
    name = r"C:\Users\me\results.json"
    asked = ["design", "--prior", "0.5,0.5", "-p", "pml:0.5", "-o", name]
    assert main(asked) == 0
    assert name in capsys.readouterr().err
    assert main(["check", name]) == 0
    assert main(["verify", name]) == 0
    capsys.readouterr()
    assert main(["audit", r"D:\missing.json"]) == 2
    assert r"D:\missing.json" in capsys.readouterr().err.replace("\\\\", "\\")


@pytest.mark.parametrize("shell", slow_but(1, ["bash", "zsh", "fish"]))
def test_shells_are_told_the_commands(shell):
    typed = {
        "COMP_WORDS": "mechdesign est",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "mechdesign est",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = process(_MECHDESIGN_COMPLETE=f"complete_{shell}", **typed)
    assert b"estimate" in done.stdout
    assert b"design\n" not in done.stdout
