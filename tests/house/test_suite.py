"""The command that runs the tests: what it leaves out, what it reports, what it counts."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import checks
import pytest
import sizes
from checks import for_each, pairwise_cases, slow_but
from hypothesis import given
from hypothesis import strategies as st

TESTS = Path(__file__).parents[1]
SAMPLE = """
import pytest
from checks import for_each, slow_but
from engines import needed

@pytest.mark.slow
def test_slow():
    pass

def test_without_its_library():
    needed("no_such_engine")

@for_each("value", slow_but(1, [1, 2, 3]))
def test_loop(value):
    assert value != 2
"""


def outcomes(folder, *options):
    (folder / "test_sample.py").write_text(SAMPLE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "running", "-rA", *options, folder],
        cwd=TESTS,
        capture_output=True,
        text=True,
    )
    return {
        line.split("::")[1].split(" ")[0]: line.split(" ")[0]
        for line in done.stdout.splitlines()
        if "::" in line and line.split(" ")[0] in ("PASSED", "FAILED", "SKIPPED")
    } | {"text": done.stdout}


@pytest.mark.slow
def test_all_runs_what_is_slow_and_skips_nothing(tmp_path):
    """What ``.ci/run`` relies on, so that no test is left out there."""
    found = outcomes(tmp_path, "--all")
    assert found.pop("text")
    assert found == {
        "test_slow": "PASSED",
        "test_without_its_library": "FAILED",
        "test_loop": "FAILED",
    }


@pytest.mark.slow
def test_all_is_known_where_examples_of_one_module_are_run():
    command = [sys.executable, "-m", "pytest", "--all", "--collect-only", "-q"]
    files = ["-p", "no:cacheprovider", "mechdesign/labels.py"]
    done = subprocess.run([*command, *files], cwd=TESTS.parent, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_without_all_slow_tests_are_left_out(tmp_path):
    found = outcomes(tmp_path)
    assert "1 passed, 1 skipped, 1 deselected" in found["text"]
    assert found["test_loop"] == "PASSED"


def test_no_two_test_files_have_one_name():
    """A folder of tests is no package: a second file of a name is an error where all are read."""
    names = sorted(path.name for path in TESTS.rglob("*.py"))
    assert [name for name, other in itertools.pairwise(names) if name == other] == []


# Loops over cases


def test_a_loop_reports_every_case_that_fails():
    @for_each("first, second", [(1, 1), (1, 2), pytest.param(3, 4)])
    @for_each("third", (5, 6))
    def compare(first, second, third, fixture):
        assert (first, fixture) == (second, 0), third

    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases fail") as caught:
        compare(fixture=0)
    found = caught.value.exceptions
    assert [error.__notes__ for error in found] == [
        ["where first = 1, second = 2"],
        ["where first = 3, second = 4"],
    ]
    assert all("2 of 2 cases fail" in str(error) for error in found)


def test_a_loop_without_cases_checks_nothing_and_fails():
    @for_each("value", list)
    def never(value):
        pass

    with pytest.raises(AssertionError, match="no case"):
        never()


def test_one_case_that_fails_or_is_skipped_is_raised_as_it_is():
    @for_each("value", lambda: [1, 2])
    def one(value):
        if value == 1:
            pytest.skip("not here")
        pytest.fail("so")

    with pytest.raises(pytest.fail.Exception, match="so"):
        one()

    @for_each("value", [1, 2])
    def other(value):
        if value == 1:
            pytest.skip("not here")

    with pytest.raises(pytest.skip.Exception):
        other()


def test_slow_cases_are_tried_with_all(monkeypatch):
    tried = []
    test = for_each("value", slow_but(2, range(5)))(lambda value: tried.append(value))
    for run_all, expected in ((False, [0, 1]), (True, [0, 1, 2, 3, 4])):
        monkeypatch.setattr(checks, "run_all", run_all)
        tried.clear()
        test()
        assert tried == expected


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_pairwise_cases_hold_every_pair(counts):
    lists = [[(i, k) for k in range(n)] for i, n in enumerate(counts)]
    found = pairwise_cases(*lists)
    assert found == pairwise_cases(*lists)
    met = {pair for case in found for pair in itertools.combinations(case, 2)}
    for one, other in itertools.combinations(lists, 2):
        assert set(itertools.product(one, other)) <= met
    assert len(found) <= len(list(itertools.product(*lists)))


# Sizes


def test_comments_and_docstrings_and_line_breaks_have_no_size():
    plain = "def f(x):\n    return x + 1\n"
    said = 'def f(\n    x\n):  # why\n    """What."""\n    return x + 1\n'
    assert sizes.tokens(plain) == sizes.tokens(said) > 8
    long = " ".join(["word"] * 200)
    assert sizes.tokens(f"x = '{long}'\n") > 200


def test_a_room_that_grew_is_told():
    recorded = {"mechdesign": 10, "tests/house": 5}
    assert sizes.grown({"mechdesign": 9, "tests/house": 5}, recorded) == []
    (said,) = sizes.grown({"mechdesign": 9, "tests/house": 8}, recorded)
    assert "tests/house has 8 tokens, 3 more than recorded" in said
    assert len(sizes.grown({"tests/new": 1}, recorded)) == 1


def test_rooms_are_folders_without_data(tmp_path):
    for name in ("a.py", "solve/b.py", "solve/c.mjs", "solve/d.png", "data/e.py"):
        path = tmp_path / "mechdesign" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    assert sizes.sizes(tmp_path) == {"mechdesign": 3, "mechdesign/solve": 6}
