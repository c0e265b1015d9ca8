"""What is too large is refused before work is done for it; what is merely large is read at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign import prior as prior_module
from mechdesign.errors import DataError, InputError, PriorError, StorageError
from mechdesign.exact import read_fraction, read_integer, write_fraction, write_integer
from mechdesign.files import parse_json
from mechdesign.privacy.databases import counts_of

MILLION = 10**6


class Counted:
    """A function that counts how often it is called."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments, **keywords):
        self.calls += 1
        return self.function(*arguments, **keywords)


@pytest.mark.slow
@for_each(
    "make",
    slow_but(
        4,
        [
            lambda: md.Prior([1 / MILLION] * MILLION),
            lambda: md.Prior(np.full(MILLION, 1 / MILLION)),
            lambda: md.Prior.from_counts(range(1, MILLION + 1)),
            lambda: md.Prior.uniform(MILLION),
            lambda: md.Prior.from_counts({f"street {i}": 1 for i in range(MILLION)}),
            lambda: md.Prior.from_data([*range(MILLION)], max_symbols=MILLION),
        ],
    ),
)
def test_a_million_symbols_take_no_exact_sum_each(make, monkeypatch):
    """Rational numbers are reduced one by one; a million of them are a handful of integers."""
    exact = Counted(prior_module.fraction)
    monkeypatch.setattr(prior_module, "fraction", exact)
    known = make()
    assert exact.calls == 0
    assert len(known) == MILLION
    assert known.probabilities.sum() == pytest.approx(1)
    assert "more" in repr(known)
    with pytest.raises(InputError, match=r"1,000,000 symbols × 1,000,000 symbols; merge"):
        md.design(known, md.utility.Hamming(), md.LDP(1))


def test_denominators_that_fill_the_memory_are_refused_in_time():
    """A thousand masses over one denominator of nine million bits are a gigabyte."""
    tiny = Fraction(1, 3 << 9_000_000)
    with pytest.raises(PriorError, match="over one denominator, got 1,000 masses over 2 denom"):
        md.Prior.from_counts([Fraction(1, 7), tiny] * 500)


@pytest.mark.parametrize(
    ("outputs", "utility"),
    [(None, md.utility.Hamming()), (None, md.utility.MutualInformation()), (None, "absolute")],
)
def test_kernels_that_no_memory_holds_are_not_begun(outputs, utility):
    goal = md.utility.Distance(utility) if isinstance(utility, str) else utility
    with pytest.raises(InputError, match="at most 100,000,000 entries of a kernel"):
        md.design(md.Prior.uniform(20_000), goal, md.LDP(1), outputs)


@pytest.mark.parametrize("entries", [10**7, 10**21, 10**400])
def test_databases_have_counts_that_fit(entries):
    with pytest.raises(PriorError, match="different counts"):
        counts_of(entries)
    with pytest.raises(PriorError, match="different counts"):
        md.EntryPML(1, entries, 0.3)


# Columns that name rows, not groups


def test_measured_numbers_and_identifiers_are_asked_about():
    for column in ([i / 7 for i in range(3996)], range(4000), [f"id{i}" for i in range(120)]):
        with pytest.raises(DataError, match=r"a measured number or|an identity of rows") as caught:
            md.Prior.from_data(column)
        assert f"max_symbols={len(column)}" in str(caught.value)
        assert len(md.Prior.from_data(column, max_symbols=len(column))) == len(column)


# Files


NO_NUMBERS = ["1/0", "1/-2", "0x10", "1_000", "", "nan", "inf", "1/2/3", "1e5e5", "٣"]


@for_each("word", ["1e1000000000", "1e-1000000000", "1" * 500_000, "1" * 4000 + ".5", *NO_NUMBERS])
def test_numbers_whose_digits_would_fill_the_memory_are_refused(word):
    with pytest.raises(ValueError, match="expected"):
        read_fraction(word)


@for_each("word", ["3", "-1/3", "0.125", ".5", "5.", "1e-7", "1E+2", " 2 "])
def test_ordinary_numbers_are_read_exactly(word):
    assert read_fraction(word) == Fraction(word.strip())


@for_each("value", [0, -7, 10**4299, -(10**4300), 3**10_000, 10**9000 + 5])
def test_long_integers_are_written_as_they_are_read(value):
    assert read_integer(write_integer(value)) == value
    assert read_fraction(write_fraction(Fraction(value, 3**9001))) == Fraction(value, 3**9001)


def test_json_is_read_to_a_depth_and_no_deeper():
    assert parse_json("[" * 64 + "]" * 64, "file")
    for depth in (66, 900, 100_000):
        with pytest.raises(StorageError, match="nested deeper than 64"):
            parse_json("[" * depth + "]" * depth, "file")
        with pytest.raises(StorageError, match="nested deeper than 64"):
            parse_json('{"a":' * depth + "1" + "}" * depth, "file")


@for_each(
    ("text", "cause"),
    [
        ('{"a": 1, "a": 1}', "'a' is there twice"),
        ('{"x": {"b": 1, "b": 2}}', "'b' is there twice"),
        ("\ufeff{}", "byte-order mark"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b"\xff\xfe{\x00}\x00", "no UTF-8"),
        ("9" * 5000, "5,000 digits"),
        ("{", "no JSON"),
    ],
)
def test_json_that_cannot_be_used_says_why(text, cause):
    with pytest.raises(StorageError, match=cause):
        parse_json(text, "file")
