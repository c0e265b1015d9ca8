"""Long work says in one line that it goes on, to a person, and leaves nothing behind."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from mechdesign import progress
from mechdesign.cli import main


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


def test_nothing_is_told_to_files(screen, shown_to_a_person):
    shown_to_a_person()
    with progress.waiting("designing", show=False):
        pass
    assert screen.getvalue() == ""


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
