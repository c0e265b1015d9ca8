"""Labels: what may be one, how they are read from text, how they are shown."""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st

from mechdesign.errors import PriorError
from mechdesign.labels import alike, check_labels, listing, near_miss, parse_labels, shorten, tidy


def test_tidy_makes_plain_values_of_numpy_scalars():
    assert type(tidy(np.int64(3))) is int
    assert type(tidy(np.float64(0.5))) is float
    assert type(tidy(np.str_("a"))) is str
    assert type(tidy(np.bool_(True))) is bool
    marker = object()
    assert tidy(marker) is marker


@for_each(
    ("labels", "word"),
    [
        (["a"], "expected 2 labels, got 1"),
        (["a", "b", "c"], "expected 2 labels, got 3"),
        (["a", "a"], "'a' more than once"),
        ([1, True], "True more than once"),
        ([{}, "a"], "{} of type dict"),
        ("ab", "the single text 'ab'"),
        (b"ab", "the single text b'ab'"),
    ],
)
def test_bad_labels_raise_the_error_asked_for(labels, word):
    error = PriorError
    with pytest.raises(error, match=r"^symbols: expected ") as caught:
        check_labels(labels, 2, "symbols", error)
    assert word in str(caught.value)
    assert type(caught.value) is error


@for_each(
    ("texts", "labels"),
    [
        (["1", "2"], [1, 2]),
        (["-1", "0"], [-1, 0]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1e3", "2E-1"], [1000.0, 0.2]),
        (["1", "a"], ["1", "a"]),
        (["007", "7"], ["007", "7"]),
        (["1_000", "2"], ["1_000", "2"]),
        (["+1", "2"], ["+1", "2"]),
        ([" 1", "2"], [" 1", "2"]),
        (["1.0", "1"], ["1.0", "1"]),
        (["nan", "1"], ["nan", "1"]),
        (["inf", "1"], ["inf", "1"]),
        (["1e999", "2e999"], ["1e999", "2e999"]),
        (["٣", "4"], ["٣", "4"]),
        (["", "1"], ["", "1"]),
        (["0x1", "1"], ["0x1", "1"]),
        (["1" * 5000, "2"], ["1" * 5000, "2"]),
    ],
)
def test_only_canonical_numbers_become_numbers(texts, labels):
    found = parse_labels(texts)
    assert found == labels
    assert [type(x) for x in found] == [type(x) for x in labels]


@given(st.lists(st.text(max_size=6), unique=True, max_size=6))
def test_distinct_texts_give_distinct_labels(texts):
    assert len(set(parse_labels(texts))) == len(texts)


@given(st.lists(st.integers(), unique=True, min_size=1))
def test_integers_read_back(values):
    assert parse_labels([str(v) for v in values]) == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, min_size=1))
def test_floats_read_back_equal(values):
    assert parse_labels([repr(v) for v in values]) == values


def test_a_text_is_not_the_symbol_of_no_value():
    why = "its type, no value against text"
    assert alike(["a", None, "Missing"]) == [(None, "Missing", why)]
    assert near_miss([None], ["missing"]) == f"one differs from 'missing' by {why}"
    assert alike(["a", None, "None"]) == []


def test_shorten_and_listing():
    assert shorten("short") == "short"
    assert shorten("x" * 18) == "x" * 18
    assert shorten("x" * 19) == "x" * 17 + "…"
    assert shorten(12345, 4) == "123…"
    assert shorten(None) == "missing"
    assert listing(["a", 1]) == "'a', 1"
    assert listing(range(9)) == "0, 1, 2, 3, 4, 5 and 3 more"
