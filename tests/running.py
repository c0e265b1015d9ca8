"""Property tests draw the same examples in every run, without a time limit for each.

Linear algebra runs in one thread: several test processes with several threads each would spend
their time waiting for one another. Releases are recorded in a ledger of the test, never in that of
whoever runs the tests.
"""

import itertools
import os
import tempfile

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Processes that tests start inherit it.
_PLACE = tempfile.TemporaryDirectory(prefix="mechdesign-tests-")
os.environ["MECHDESIGN_LEDGER"] = f"{_PLACE.name}/ledger.jsonl"

import checks  # noqa: E402
import entropy  # noqa: E402
import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from mechdesign import clock  # noqa: E402


class CountedClock:
    """A clock that counts its readings, at two milliseconds each: about what lies between them.

    They are exact in floats, so that as many fit into a limit whenever it begins. A search under a
    time limit does the same work then whatever else the machine has to do.
    """

    def __init__(self):
        self.readings = 0

    def __call__(self):
        self.readings += 1
        return self.readings * 2.0**-9


@pytest.fixture(autouse=True)
def counted_clock(monkeypatch):
    """Time limits of searches count work, not time, in every test."""
    found = CountedClock()
    monkeypatch.setattr(clock, "now", found)
    return found


@pytest.fixture(scope="module")
def browser():
    """Chromium, for the tests of one file; these skip themselves where there is none."""
    from playwright.sync_api import sync_playwright

    from benchmarks.page import FLAGS, find_chromium

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield found
        found.close()


_numbers = itertools.count()


def pytest_addoption(parser):
    parser.addoption(
        "--all",
        action="store_true",
        help="run every test, those marked slow and those of other programs too (Java, Chromium, "
        "Node, PostgreSQL); one that is skipped then fails",
    )


def pytest_report_header(config):
    return "every test" if checks.run_all else "the fast tests; --all runs every one"


def pytest_collection_modifyitems(config, items):
    """What is slow, or runs another program, is left out, but where all must run."""
    if not checks.run_all:
        fast = [item for item in items if not _needs_all(item)]
        config.hook.pytest_deselected(items=[item for item in items if _needs_all(item)])
        items[:] = fast


def _needs_all(item):
    # Tests of other programs say THERE IS NO CHROMIUM, NODE, POSTGRESQL where that is so.
    reasons = [mark.kwargs.get("reason", "") for mark in item.iter_markers("skipif")]
    return item.get_closest_marker("slow") or any(r.startswith("THERE IS NO") for r in reasons)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """A test that is skipped checks nothing: it fails where all must run."""
    return _unskipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """The same for a whole file."""
    return _unskipped((yield))


def _unskipped(report):
    if report.skipped and checks.run_all and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"with --all nothing is skipped, but this was: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def own_ledger():
    """Every test has a ledger of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MECHDESIGN_LEDGER", f"{_PLACE.name}/{next(_numbers)}/ledger.jsonl")
        yield


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Commands in a folder of the test's own: exit code, standard output and standard error."""
    from mechdesign.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


class _Failures:
    """Names of tests that fail, as they do: a run that is cut short keeps them."""

    def __init__(self, reporter):
        self.reporter = reporter

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.reporter.write_line(f"\n{report.nodeid} failed ({report.when})")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.register(entropy.Seeded())
    checks.run_all = config.option.all
    examples = 40 if checks.run_all else 20
    # How long examples take is no failure: it depends on what else the machine does.
    settings.register_profile(
        "repeatable",
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("repeatable")
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        config.pluginmanager.register(_Failures(reporter))
