"""Checks that several rooms share, and which cases a test is run on."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
from pathlib import Path

import pytest

from mechdesign.errors import InputError

#: Whether ``pytest --all`` was asked for; ``running.py`` sets it before any test is read.
run_all = False


def refused(make, *words, error=InputError):
    """The call raises one line that says what was expected, what came and what to do."""
    with pytest.raises(error) as caught:
        make()
    found = caught.value
    assert isinstance(found, InputError)
    assert found.expected
    assert found.got
    assert found.remedy
    text = str(found)
    assert "\n" not in text
    assert f"expected {found.expected}, got {found.got}; {found.remedy}" in text
    for word in words:
        assert word in text, text
    return found


def slow_but(fast, values):
    """Parameters of tests: all are slow but for the first few, or those that ``fast`` holds of."""
    found = []
    for number, value in enumerate(values):
        is_fast = fast(value) if callable(fast) else number < fast
        parts = value if type(value) is tuple else (value,)
        found.append(pytest.param(*parts, marks=[] if is_fast else [pytest.mark.slow]))
    return found


def pairwise_cases(*lists):
    """Cases with a value of each list, such that any two values of two lists meet in one of them.

    What fails is nearly always two values together; all products of five lists of four values are
    1,024 cases, and these are some 30. The same lists give the same cases.
    """
    lists = [list(values) for values in lists]
    left = {
        ((i, a), (j, b)): None
        for i, j in itertools.combinations(range(len(lists)), 2)
        for a, b in itertools.product(range(len(lists[i])), range(len(lists[j])))
    }
    found = []
    while left:
        case = dict(next(iter(left)))
        for i in set(range(len(lists))) - set(case):
            new = [
                sum(tuple(sorted([(i, a), kept])) in left for kept in case.items())
                for a in range(len(lists[i]))
            ]
            case[i] = new.index(max(new))
        for met in itertools.combinations(sorted(case.items()), 2):
            left.pop(met, None)
        found.append(tuple(values[case[i]] for i, values in enumerate(lists)))
    return found


def for_each(names, values):
    """A test of all values in one item, which reports every one that fails, with its error.

    As ``pytest.mark.parametrize``, for many values that each take little time. They share their
    fixtures, but for what tests leave behind: files in ``tmp_path``, ledgers, patches, printed
    text. A function in place of the values makes them when the test runs. Values that are marked
    slow are left out without ``--all``.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test):
        @functools.wraps(test, updated=())
        def run(**fixtures):
            errors, skipped, tried = [], [], 0
            for case in _cases(names, values() if callable(values) else values):
                tried += 1
                try:
                    with _own(fixtures, tried) as own:
                        test(**{**fixtures, **own}, **case)
                except pytest.skip.Exception as error:
                    skipped.append(error)
                except (Exception, pytest.fail.Exception) as error:
                    shown = (f"{name} = {repr(value)[:200]}" for name, value in case.items())
                    error.add_note(f"where {', '.join(shown)}")
                    errors.append(error)
            if len(errors) > 1:
                raise BaseExceptionGroup(f"{len(errors)} of {tried} cases fail", errors[:20])
            for error in (*errors, *skipped):
                raise error
            assert tried, "there is no case"

        taken = inspect.signature(test)
        assert set(names) <= set(taken.parameters), f"{test.__name__} takes no {names}"
        run.__signature__ = taken.replace(
            parameters=[p for name, p in taken.parameters.items() if name not in names]
        )
        run.pytestmark = list(getattr(test, "pytestmark", []))
        return run

    return decorate


@contextlib.contextmanager
def _own(fixtures, number):
    """Those fixtures that each case has anew."""
    with pytest.MonkeyPatch.context() as patch:
        if book := os.environ.get("MECHDESIGN_LEDGER"):
            patch.setenv("MECHDESIGN_LEDGER", str(Path(book).parent / str(number) / "ledger.jsonl"))
        own = {"monkeypatch": patch} if "monkeypatch" in fixtures else {}
        if "tmp_path" in fixtures:
            own["tmp_path"] = fixtures["tmp_path"] / str(number)
            own["tmp_path"].mkdir()
        if "capsys" in fixtures:
            fixtures["capsys"].readouterr()
        yield own


_PARAM = type(pytest.param())


def _cases(names, values):
    """The arguments of each value that is to be tried."""
    for value in values:
        if not isinstance(value, _PARAM):
            value = pytest.param(*(value if len(names) > 1 else (value,)))
        if run_all or all(mark.name != "slow" for mark in value.marks):
            yield dict(zip(names, value.values, strict=True))
