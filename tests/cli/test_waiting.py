"""Long work says in one line that it goes on, to a person, and leaves nothing behind."""

from __future__ import annotations

import importlib
import io
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign import progress
from mechdesign.cli import main

#: Distances on a cycle, where no closed form ends the search before it begins.
CYCLE = np.minimum(*(np.mod(s * np.subtract.outer(np.arange(5), np.arange(5)), 5) for s in (1, -1)))


class Screen(io.StringIO):
    """Standard error of a person, who waits for what was written to it."""

    def __init__(self):
        super().__init__()
        self.told = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        done = super().write(text)
        self.told.set()
        return done


def shown(text):
    """What stays on a line after returns to its beginning."""
    line = ""
    for part in text.split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    return Screen()


@pytest.fixture
def shown_to_a_person(screen, monkeypatch):
    """Standard error becomes the screen, from within a test, as its capture begins with it."""
    return lambda: monkeypatch.setattr(sys, "stderr", screen)


def test_a_person_is_told_and_the_line_goes(screen, shown_to_a_person):
    shown_to_a_person()
    with progress.waiting("designing", show=True, limit=60):
        assert screen.told.wait(30)
        assert "designing, " in screen.getvalue()
        assert "the search ends after 60 s" in screen.getvalue()
    assert shown(screen.getvalue()) == ""


def test_the_line_goes_when_work_fails(screen, shown_to_a_person):
    shown_to_a_person()

    def fail():
        with progress.waiting("designing", show=True):
            assert screen.told.wait(30)
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert shown(screen.getvalue()) == ""
    assert not [t for t in threading.enumerate() if "speak" in t.name]


def test_short_work_says_nothing(screen, shown_to_a_person, monkeypatch):
    shown_to_a_person()
    monkeypatch.setattr(progress, "PATIENCE", 1e6)
    assert main(["design", "--prior", "0.5,0.5", "-p", "pml:0.5"]) == 0
    assert screen.getvalue() == ""


def test_a_long_design_says_so(screen, shown_to_a_person, monkeypatch):
    shown_to_a_person()
    from mechdesign.solve import _design

    real = _design.design

    def slow(*args, **kwargs):
        assert screen.told.wait(30)
        return real(*args, **kwargs)

    monkeypatch.setattr(_design, "design", slow)
    assert main(["design", "--prior", "0.5,0.5", "-p", "pml:0.5"]) == 0
    assert "designing, " in screen.getvalue()
    assert shown(screen.getvalue()) == ""


def waited(gaps, wanted=1e-6, limit=None, monkeypatch=None):
    """A wait that heard a gap in each second."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    wait = progress._Wait("designing", limit)
    for gap in gaps:
        clock[0] += 1
        wait.hear(gap, wanted)
    return wait, clock[0]


def test_a_gap_that_falls_tells_how_long_it_takes(monkeypatch):
    """A tenth in each second: from 1e-3 three more seconds to 1e-6, and as much of each factor."""
    wait, now = waited([1e-1, 1e-2, 1e-3], monkeypatch=monkeypatch)
    assert wait.remaining(now) == pytest.approx(3)
    assert wait.text(now, 79) == "designing, 3 s, about 3 s more (Ctrl-C stops)"
    slow, now = waited([1e-1, 0.999e-1, 0.998e-1], monkeypatch=monkeypatch)
    assert slow.remaining(now) > 1000
    assert " min more" in slow.text(now, 79)


@pytest.mark.parametrize(
    ("symbols", "goal", "notion", "solver"),
    [
        pytest.param(5, md.utility.MutualInformation(), md.PML(0.6), "auto", id="columns"),
        pytest.param(
            *(13, md.utility.Estimation(), md.LDP(1), "auto"),
            id="estimates",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(5, md.utility.Hamming(), md.MetricPrivacy(0.3, CYCLE), "differences"),
            id="differences",
        ),
        pytest.param(
            *(5, md.utility.Distance("absolute"), md.PML(0.6), "structured"),
            id="interior point",
        ),
    ],
)
def test_searches_tell_how_far_they_are(
    symbols, goal, notion, solver, shown_to_a_person, monkeypatch
):
    monkeypatch.setattr(progress, "PATIENCE", 1e6)
    shown_to_a_person()
    heard = []
    monkeypatch.setattr(progress._Wait, "hear", lambda self, *numbers: heard.append(numbers))
    prior = md.Prior.from_counts({k: 5040 // k for k in range(1, symbols + 1)})
    with progress.waiting("designing", show=True):
        md.design(prior, goal, notion, solver=solver)
    assert heard
    assert all(wanted > 0 for _, wanted in heard)


def at(clock, monkeypatch):
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])


def test_a_part_says_how_much_of_it_is_done_and_how_long_the_rest_takes(monkeypatch):
    clock = [0.0]
    at(clock, monkeypatch)
    wait = progress._Wait("judging", None)
    monkeypatch.setattr(progress, "_waits", [wait])
    with progress.stage("calls", total=200):
        assert wait.text(0.0, 79) == "judging, 0 s: calls 0% (Ctrl-C stops)"
        progress.advance(50)
        assert wait.text(10.0, 79) == "judging, 10 s: calls 25%, about 30 s more (Ctrl-C stops)"
        assert wait.text(10.0, 40) == "judging, 10 s, about 30 s more"
        clock[0] = 10.0
        with progress.stage("p-values", total=4):
            progress.advance()
            assert (
                wait.text(11.0, 79)
                == "judging, 11 s: calls 25%, p-values 25%, about 3 s more (Ctrl-C stops)"
            )
        progress.advance(150)
        assert "about" not in wait.text(20.0, 79)
    assert wait.text(20.0, 79) == "judging, 20 s (Ctrl-C stops)"


@pytest.fixture
def stages(monkeypatch):
    """The parts that work was divided into while somebody waited: name, total, limit, done."""
    told = []

    class Told(progress._Stage):
        def __init__(self, label, total, limit):
            super().__init__(label, total, limit)
            told.append(self)

    monkeypatch.setattr(progress, "_Stage", Told)
    monkeypatch.setattr(progress, "_waits", [progress._Wait("working", None)])
    return told


def test_the_checker_tells_how_far_it_is(stages, tmp_path, monkeypatch):
    from mechdesign.cli import proving

    found = md.design(md.Prior([0.5, 0.3, 0.2]), md.utility.Estimation(), md.LDP(1))
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        md.save(found, file)
    checker = [sys.executable, "-I", "-S", str(proving._CHECKER)]
    code, printed, said = proving._run([*checker, "--json", "--progress", *map(str, files)])
    plain = proving._run([*checker, "--json", *map(str, files)])
    assert (code, printed, said) == plain
    assert (code, said) == (0, "")
    assert [(part.label, part.done, part.total) for part in stages] == [
        ("extreme columns", 0, 8),
        ("extreme columns", 0, 8),
    ]
    proving._follow(["progress 0 128\n", "progress 32 128\n", "progress 96 128\n"])
    assert (stages[2].done, stages[2].total) == (96, 128)
    assert "usage" in proving._run(checker)[2]


LONG = [
    ["check", "m.json"],
    ["audit", "m.json"],
    ["verify", "m.json"],
    ["compose", "m.json"],
    ["plan", "m.json", "--reports", "100"],
    ["research", "order", "m.json", "m.json"],
    ["research", "envelope", "m.json", "--levels", "0.5"],
    ["research", "contraction", "m.json"],
    ["research", "convert", "pml:0.1", "--prior", "0.5,0.5", "--to", "ldp", "--tight"],
    ["report", "m.json", "-o", "m.html"],
    ["report", "m.json", "-o", "m.png"],
]


@for_each("arguments", LONG)
def test_commands_that_may_take_long_say_so(arguments, tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2" if arguments[0] == "report" else "matplotlib")
    monkeypatch.chdir(tmp_path)
    half = md.Prior([0.5, 0.5], ["a", "b"])
    md.save(md.design(half, md.utility.Hamming(), md.PML(0.5)), "m.json")
    told = []

    @contextmanager
    def recorded(label, *, show, limit=None):
        told.append((label, show))
        yield
        told.append("done")

    name = {"verify": "proving"}.get(arguments[0], arguments[arguments[0] == "research"])
    command = importlib.import_module(f"mechdesign.cli.{name}")
    monkeypatch.setattr(command, "waiting", recorded)
    assert main(arguments) == 0
    assert capsys.readouterr().err.count("\r") == 0
    (label, show), end = told
    # To a file nothing is told.
    assert (bool(label), show, end) == (True, False, "done")
