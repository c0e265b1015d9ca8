"""What tests draw of the operating system is the same in every run, but where they say otherwise.

Every test, every fixture that several tests share and every file that is imported has a stream of
its own, seeded by its name: reports without a seed, keys, tokens and ledgers of this process are
made from it. A test whose draws come from elsewhere states the chance of a false alarm in
``false_alarms``, and has the entropy of the system; in Python processes that any other test starts,
reports without a seed are refused (``started``).
"""

import os
import random
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from false_alarms import CHANCES

system = os.urandom
_stream = None


def drawn(number):
    """Bytes of the stream of the test that runs; those of the system where none does."""
    if _stream is None:
        return system(number)
    if threading.current_thread() is not threading.main_thread() and _are_words(sys._getframe(1)):
        raise AssertionError(
            "threads draw reports of this test in an order of their own: pass rng=, or state the "
            "chance of a false alarm in tests/false_alarms.py"
        )
    return _stream.randbytes(number)


def _are_words(frame):
    """Whether reports are drawn with what is asked for, through a stand-in of a test perhaps."""
    files = frame.f_code.co_filename, frame.f_back.f_code.co_filename
    return any(name.endswith(os.path.join("release", "words.py")) for name in files)


os.urandom = drawn
# Bound there when it was imported; what ``secrets`` draws comes from it.
random._urandom = drawn
sys.path.insert(0, str(Path(__file__).with_name("started")))
os.environ["PYTHONPATH"] = os.pathsep.join(
    [sys.path[0], *filter(None, [os.environ.get("PYTHONPATH")])]
)


def draws_decide_nothing():
    """The environment of a process of which a test says so: it may draw without a seed."""
    return {name: text for name, text in os.environ.items() if name != "TESTS_ARE_SEEDED"}


@contextmanager
def seeded_by(name):
    """Draws from a stream of this name; from the system for ``None``."""
    global _stream
    before, _stream = _stream, None if name is None else Random(name)
    try:
        yield
    finally:
        _stream = before


def declared(nodeid):
    """Whether a test states the chance of a false alarm."""
    return nodeid.partition("[")[0].removeprefix("tests/") in CHANCES


class Seeded:
    """The plugin: a stream for each test, shared fixture and file."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        if declared(item.nodeid):
            os.environ.pop("TESTS_ARE_SEEDED", None)
        else:
            os.environ["TESTS_ARE_SEEDED"] = item.nodeid
        with seeded_by(None if declared(item.nodeid) else item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        with seeded_by(f"{fixturedef.baseid}::{fixturedef.argname}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        with seeded_by(collector.nodeid):
            return (yield)
