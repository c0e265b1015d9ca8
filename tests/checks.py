"""Checks that several rooms share."""

from __future__ import annotations

import pytest

from mechdesign.errors import InputError


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
        parts = value if isinstance(value, tuple) else (value,)
        found.append(pytest.param(*parts, marks=[] if is_fast else [pytest.mark.slow]))
    return found
