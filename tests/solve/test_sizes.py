"""What is too large is refused before work is done for it; what is merely large is read at once."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign import prior as prior_module
from mechdesign import storage
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, PriorError, StorageError
from mechdesign.exact import read_fraction, read_integer, write_fraction, write_integer
from mechdesign.files import parse_json
from mechdesign.kernel_files import load_kernel
from mechdesign.privacy.databases import counts_of
from mechdesign.release.receipts import kernel_fingerprint
from mechdesign.storage import from_json, to_json

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


def test_the_exact_masses_are_those_of_rational_sums():
    """A control: integers over a common denominator say what fractions say."""
    numbers = [0.1, 1 / 3, 3, Fraction(2, 7), 2.0**-60, 0, 5]
    with pytest.warns(md.errors.ZeroMassWarning):
        known = md.Prior.from_counts(numbers)
    total = sum(map(Fraction, numbers))
    assert [known.mass(i) for i in range(len(known))] == [Fraction(v) / total for v in numbers]


def test_a_million_masses_that_do_not_sum_to_one_are_refused():
    with pytest.raises(PriorError, match=r"got sum 0\.1"):
        md.Prior([1e-7] * MILLION)


def test_denominators_that_fill_the_memory_are_refused_in_time():
    """A thousand masses over one denominator of nine million bits are a gigabyte."""
    tiny = Fraction(1, 3 << 9_000_000)
    with pytest.raises(PriorError, match="over one denominator, got 1,000 masses over 2 denom"):
        md.Prior.from_counts([Fraction(1, 7), tiny] * 500)


@for_each("symbols", [10**9, 10**30, -1, 0])
def test_uniform_priors_have_a_size_that_fits(symbols):
    with pytest.raises(PriorError, match="1 to 10,000,000 symbols"):
        md.Prior.uniform(symbols)


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


def test_databases_of_many_values_have_counts_that_fit():
    assert len(counts_of(10, 4)) == 286
    with pytest.raises(PriorError, match="different counts"):
        counts_of(1000, 1000)


# Columns that name rows, not groups


def test_measured_numbers_and_identifiers_are_asked_about():
    for column in ([i / 7 for i in range(3996)], range(4000), [f"id{i}" for i in range(120)]):
        with pytest.raises(DataError, match=r"a measured number or|an identity of rows") as caught:
            md.Prior.from_data(column)
        assert f"max_symbols={len(column)}" in str(caught.value)
        assert len(md.Prior.from_data(column, max_symbols=len(column))) == len(column)


def test_measured_numbers_of_few_rows_are_asked_about(tmp_path):
    measured = [20_000 + i * 123.25 for i in range(90)]
    with pytest.raises(DataError, match="got 90 in 90 rows"):
        md.Prior.from_data(measured)
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(map(str, measured)) + "\n")
    with pytest.raises(DataError, match="got 90 in 90 rows"):
        md.Prior.from_csv(tmp_path / "t.csv", "x")
    assert len(md.Prior.from_data(measured * 2)) == 90


@pytest.mark.parametrize("column", [list("abcd"), list(range(100)), list(range(1000)) * 3])
def test_few_values_or_values_that_recur_are_designed_on(column):
    assert len(md.Prior.from_data(column)) == len(set(column))


def test_a_thousand_values_are_the_most_that_are_not_asked_about():
    with pytest.raises(DataError, match="at most 1,000 different values"):
        md.Prior.from_data(list(range(1001)) * 3)


@for_each("most", [0, -1, 1.5, "9", True])
def test_limits_are_positive_whole_numbers(most):
    with pytest.raises(DataError, match="max_symbols"):
        md.Prior.from_data([1, 2], max_symbols=most)


def test_counts_of_groups_are_people_not_lines(tmp_path):
    """A table with one line for each group has as many lines as values, and many people."""
    path = tmp_path / "groups.csv"
    path.write_text("g,n\n" + "\n".join(f"g{i},10" for i in range(300)) + "\n")
    assert len(md.Prior.from_csv(path, "g", weights="n")) == 300
    with pytest.raises(DataError, match="300 in 300 rows"):
        md.Prior.from_csv(path, "g")


def test_shares_of_groups_count_nobody(tmp_path):
    """Weights that sum to one are no count of people, which many groups would outnumber."""
    path = tmp_path / "shares.csv"
    path.write_text("g,share\n" + "\n".join(f"g{i},{1 / 300}" for i in range(300)) + "\n")
    assert len(md.Prior.from_csv(path, "g", weights="share")) == 300
    path.write_text("g,share\n" + "\n".join(f"g{i},{1 / 1001}" for i in range(1001)) + "\n")
    with pytest.raises(DataError, match=r"got 1,001 \(a measured"):
        md.Prior.from_csv(path, "g", weights="share")


# Files


def test_loading_reads_a_row_of_weights_at_once(monkeypatch):
    """Each exact check is made once, and no weight is looked at by itself."""
    content = json.loads(
        json.dumps(to_json(md.design(md.Prior.uniform(40), md.utility.Hamming(), md.LDP(1))))
    )
    single = Counted(storage.read_integer)
    monkeypatch.setattr(storage, "read_integer", single)
    check = Counted(md.LDP.check)
    monkeypatch.setattr(md.LDP, "check", lambda *arguments: check(*arguments))
    assert from_json(content).mechanism.shape == (40, 40)
    assert check.calls == 1
    assert single.calls < 40


def test_a_digest_needs_numbers_that_can_be_written():
    content = to_json(md.Mechanism([[1.0]], ["a"], ["b"]))
    with pytest.raises(StorageError, match="no JSON"):
        from_json({**content, "more": 10**5000})


def test_labels_too_long_for_a_number_are_refused_when_they_are_saved():
    with pytest.raises(StorageError, match="relabel"):
        to_json(md.Mechanism([[1.0]], [10**5000]))


NO_NUMBERS = ["1/0", "1/-2", "0x10", "1_000", "", "nan", "inf", "1/2/3", "1e5e5", "٣"]


@for_each("word", ["1e1000000000", "1e-1000000000", "1" * 500_000, "1" * 4000 + ".5", *NO_NUMBERS])
def test_numbers_whose_digits_would_fill_the_memory_are_refused(word):
    with pytest.raises(ValueError, match="expected"):
        read_fraction(word)


@for_each("word", ["3", "-1/3", "0.125", ".5", "5.", "1e-7", "1E+2", " 2 "])
def test_ordinary_numbers_are_read_exactly(word):
    assert read_fraction(word) == Fraction(word.strip())


@for_each("digits", [3599, 3600, 3601, 7201, 20_000])
def test_long_integers_are_read_in_parts(digits):
    assert read_integer("7" * digits) == 7 * (10**digits - 1) // 9
    assert read_integer("-" + "7" * digits) == -7 * (10**digits - 1) // 9
    assert read_integer("1" + "0" * digits) == 10**digits


@pytest.mark.slow
@for_each("bits", [1, 60, 10_000, 20_000, 1 << 20])
def test_kernels_of_long_weights_are_saved_and_read(bits, tmp_path):
    weights = np.array([[1 << bits, 0], [(1 << bits - 1) + 1, (1 << bits - 1) - 1]], dtype=object)
    made = md.Mechanism.from_weights(weights, bits)
    md.save(made, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json") == made
    assert len(kernel_fingerprint(made)) == 64


def test_masses_of_long_fractions_are_designed_on():
    prior = md.Prior.from_counts([10**4400 + 1, 10**4400])
    found = md.design(prior, md.utility.Hamming(), md.LDP(1))
    assert from_json(to_json(found)).prior == prior


@for_each("value", [0, -7, 10**4299, -(10**4300), 3**10_000, 10**9000 + 5])
def test_long_integers_are_written_as_they_are_read(value):
    assert read_integer(write_integer(value)) == value
    assert read_fraction(write_fraction(Fraction(value, 3**9001))) == Fraction(value, 3**9001)


def test_json_that_is_no_prior_says_what_a_prior_looks_like(tmp_path, capsys):
    for text in ('{"a": 0.5', "[" * 70 + "]" * 70, '{"a": 1, "a": 0}', "\ufeff[1]"):
        (tmp_path / "p.json").write_text(text, encoding="utf-8")
        assert main(["design", "--prior", str(tmp_path / "p.json"), "-p", "ldp:1"]) == 2
        said = capsys.readouterr().err
        assert ("kernel" in said, "saved design" in said) == (False, False)
        assert '{"a": 0.5, "b": 0.5}' in said or "byte-order mark" in said


def test_a_byte_order_mark_before_a_kernel_is_named(tmp_path):
    (tmp_path / "m.json").write_text("\ufeff[[1]]", encoding="utf-8")
    with pytest.raises(StorageError, match="byte-order mark"):
        load_kernel(tmp_path / "m.json")


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
