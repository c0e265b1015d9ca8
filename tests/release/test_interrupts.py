"""An interrupt at every place where a release takes, and leaves, the files beside its own."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import sys
import tempfile

import filelock
import pytest

import mechdesign.files as files
from mechdesign.files import claimed, noticed_interrupts, undisturbed

# Python asks for signals where a function begins, and where one has ended.
WATCHED = (
    files.__file__,
    tempfile.__file__,
    contextlib.__file__,
    os.path.dirname(filelock.__file__),
)


@pytest.fixture(autouse=True)
def pythons_own_handler():
    """Libraries of earlier tests may have put one of their own in its place, which is respected."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupts:
    """Sends one interrupt at a numbered place."""

    def __init__(self, at):
        self.at, self.number, self.sent = at, 0, False

    def __call__(self, frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(WATCHED):
            return None
        # Where a generator hands something over, nobody asks.
        hands_over = event == "return" and code.co_flags & inspect.CO_GENERATOR
        if event in ("call", "return") and not hands_over:
            self.number += 1
            if self.number == self.at:
                self.sent = True
                signal.raise_signal(signal.SIGINT)
        return self


def write(target, at, protect=True):
    """One file under a claim; whether the interrupt was sent, and whether it stopped the run."""
    send, before = Interrupts(at), sys.gettrace()
    with contextlib.ExitStack() as stack:
        check = stack.enter_context(noticed_interrupts()) if protect else lambda: None
        try:
            sys.settrace(send)
            with claimed(target, overwrite=False) as claim:
                part = claim.part()
                part.write_text("whole")
                check()
                claim.publish((part, target))
        except KeyboardInterrupt:
            return send.sent, True
        finally:
            sys.settrace(before)
    return send.sent, False


def everywhere(folder, **options):
    """What an interrupt at each place leaves behind, and how many there were."""
    left, stopped, at = [], 0, 0
    while True:
        at += 1
        place = folder / str(at)
        place.mkdir()
        sent, was_stopped = write(place / "out.csv", at, **options)
        if not sent:
            return left, stopped, at
        stopped += was_stopped
        names = sorted(path.name for path in place.iterdir())
        if names not in ([], ["out.csv"]):
            left.append(names)
        if names == ["out.csv"]:
            assert (place / "out.csv").read_text() == "whole"
        elif not was_stopped:
            left.append("nothing written, and nothing told")


# What a library does in a destructor can be interrupted too, and Python only prints that.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_interrupt_leaves_anything_behind(tmp_path):
    left, stopped, places = everywhere(tmp_path)
    assert not left
    assert stopped > 50
    assert places > 100


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_without_protection_some_do(tmp_path):
    """The control: interrupts that are raised wherever they come leave locks and hidden files."""
    left, _, _ = everywhere(tmp_path, protect=False)
    assert left


def test_an_interrupt_waits_for_the_end():
    done = []

    @undisturbed
    def work():
        signal.raise_signal(signal.SIGINT)
        done.append("work")

    with noticed_interrupts():
        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == ["work"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
