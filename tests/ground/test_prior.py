"""Priors: exact masses, every way to get one, and every input that is refused."""

from __future__ import annotations

import math
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from checks import refused as refused_by
from hypothesis import given
from hypothesis import strategies as st

from mechdesign import Prior
from mechdesign.errors import PriorError, ZeroMassWarning

FLOATS = st.floats(min_value=0, max_value=1e6, allow_nan=False)


def quiet(make, *args, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return make(*args, **keywords)


def masses(prior):
    return [prior.mass(i) for i in range(len(prior))]


def refused(make, *words):
    return refused_by(make, *words, error=PriorError)


# Exact masses


@given(st.lists(FLOATS, min_size=1, max_size=8).filter(any))
def test_masses_of_counts_are_exact_and_sum_to_one(numbers):
    prior = quiet(Prior.from_counts, numbers)
    total = sum(map(Fraction, numbers))
    assert masses(prior) == [Fraction(x) / total for x in numbers]
    assert sum(masses(prior)) == 1
    assert math.gcd(*prior.weights) == 1
    assert prior.total == sum(prior.weights)


@given(st.lists(FLOATS, min_size=1, max_size=8).filter(any))
def test_probabilities_are_the_floats_nearest_to_the_masses(numbers):
    prior = quiet(Prior.from_counts, numbers)
    assert prior.probabilities.tolist() == [float(m) for m in masses(prior)]
    assert prior.pmin == min(float(m) for m in masses(prior) if m)


def test_fractions_decimals_and_integers_keep_their_values():
    third = Prior([Fraction(1, 3), Fraction(2, 3)])
    assert masses(third) == [Fraction(1, 3), Fraction(2, 3)]
    tenth = Prior([Decimal("0.1"), Decimal("0.9")])
    assert masses(tenth) == [Fraction(1, 10), Fraction(9, 10)]
    assert masses(Prior([0.1, 0.9]))[0] != Fraction(1, 10)
    assert masses(quiet(Prior, [1, 0])) == [1, 0]


def test_an_atom_of_1e_12_is_kept():
    prior = Prior([1 - 1e-12, 1e-12], ["common", "rare"])
    assert prior.has_full_support
    assert prior.pmin == pytest.approx(1e-12, rel=1e-9)
    assert prior.mass(1) == Fraction(1e-12) / (Fraction(1 - 1e-12) + Fraction(1e-12))
    tiny = Prior.from_counts([1, 1e-300])
    assert tiny.has_full_support
    assert tiny.mass(1) == Fraction(1e-300) / (1 + Fraction(1e-300))


def test_sum_may_be_off_by_rounding_but_not_by_more():
    assert sum(masses(Prior([0.5, 0.5 + 9e-7]))) == 1
    refused(lambda: Prior([0.5, 0.5 + 2e-6]), "sum 1 (within 1e-6)", "1.000002", "from_counts")
    refused(lambda: Prior([0.5, 0.5 - 2e-6]), "0.999998")


# What it says


def test_labels_default_to_positions_and_look_up():
    prior = Prior([0.5, 0.3, 0.2])
    assert prior.labels == (0, 1, 2)
    named = Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
    assert named.index("c") == 2
    assert named["b"] == named.probabilities[1]
    assert len(named) == 3
    assert Prior([0.5, 0.5], np.array([3, 4]))[np.int64(4)] == 0.5
    assert {type(label) for label in Prior([0.5, 0.5], np.array([3, 4])).labels} == {int}


def test_unknown_symbol_is_refused():
    prior = Prior([0.5, 0.5], ["a", "b"])
    refused(lambda: prior["c"], "'a', 'b'", "'c'")
    refused(lambda: prior[["a"]], "['a']")
    refused(lambda: Prior([0.5, 0.5])["0"], "'0'")


def test_equality_and_hash_go_by_exact_masses_and_labels():
    assert Prior([0.25, 0.75]) == Prior.from_counts([1, 3])
    assert hash(Prior([0.25, 0.75])) == hash(Prior.from_counts([1, 3]))
    assert Prior([0.25, 0.75]) != Prior([0.75, 0.25])
    assert Prior([0.25, 0.75], ["a", "b"]) != Prior([0.25, 0.75])
    assert Prior([0.1, 0.9]) != Prior.from_counts([1, 9])  # 0.1 is not one tenth
    assert Prior([1.0]) != [1.0]
    prior = Prior([0.5, 0.3, 0.2], ["a", ("b", 1), None])
    assert pickle.loads(pickle.dumps(prior)) == prior
    assert prior.reordered([None, "a", ("b", 1)]) == Prior([0.2, 0.5, 0.3], [None, "a", ("b", 1)])


def test_entropy_uniformity_and_support():
    prior = Prior([0.5, 0.25, 0.25])
    assert prior.entropy() == pytest.approx(1.5 * math.log(2), rel=1e-15)
    assert not prior.is_uniform
    assert Prior.uniform(7).is_uniform
    assert Prior.uniform(7).entropy() == pytest.approx(math.log(7), rel=1e-15)
    assert Prior([0.1] * 10).is_uniform
    assert prior.support.tolist() == [0, 1, 2]
    assert prior.restricted() is prior


def test_repr_shows_labels_and_counts_the_rest():
    assert repr(Prior([0.75, 0.25], ["yes", "no"])) == "Prior({yes: 0.75, no: 0.25})"
    text = repr(Prior.uniform(11))
    assert text.endswith("… 3 more})")
    assert "8:" not in text


# Symbols without mass


def test_zero_mass_is_named_in_a_warning_and_kept_in_the_alphabet():
    with pytest.warns(ZeroMassWarning, match=r"1 of 3 symbols have zero mass \('b'\)"):
        prior = Prior([0.5, 0, 0.5], ["a", "b", "c"])
    assert prior.labels == ("a", "b", "c")
    assert not prior.has_full_support
    assert prior.support.tolist() == [0, 2]
    assert prior["b"] == 0
    assert prior.pmin == 0.5
    assert prior.entropy() == pytest.approx(math.log(2))
    inner = prior.restricted()
    assert inner == Prior([0.5, 0.5], ["a", "c"])


# Other ways to get one


def test_uniform():
    assert masses(Prior.uniform(3)) == [Fraction(1, 3)] * 3
    assert Prior.uniform(["x", "y"]).labels == ("x", "y")
    assert Prior.uniform(np.int64(2)).labels == (0, 1)


@for_each("symbols", [0, -3, [], 2.5, None, True])
def test_uniform_refuses_what_is_no_number_of_symbols(symbols):
    refused(lambda: Prior.uniform(symbols))


def test_counts_from_a_mapping_and_from_a_sequence():
    mapping = Prior.from_counts({"yes": 30, "no": 10})
    assert masses(mapping) == [Fraction(3, 4), Fraction(1, 4)]
    assert mapping == Prior.from_counts([3, 1], ["yes", "no"])
    assert mapping == Prior.from_counts(iter([3, 1]), iter(["yes", "no"]))
    assert Prior.from_counts(np.array([3, 1])).probabilities.tolist() == [0.75, 0.25]
    refused(lambda: Prior.from_counts({"a": 1}, ["a"]), "both", "leave out labels=")
    refused(lambda: Prior.from_counts([0, 0]), "zero mass everywhere")
    refused(lambda: Prior.from_counts({}), "at least one symbol")


# Everything that is refused

BAD_NUMBERS = {
    "negative": ([-0.5, 1.5], "non-negative", "-0.5 at position 0"),
    "nan": ([0.5, math.nan], "finite", "nan at position 1"),
    "text": (["0.5", "0.5"], "finite numbers", "'0.5'"),
    "complex": ([0.5j, 0.5], "0.5j"),
    "matrix": (np.full((2, 2), 0.25), "a vector", "(2, 2)"),
    "scalar": (0.5, "a sequence", "0.5"),
    "nothing": ([], "at least one symbol", "none"),
    "none at all": (None, "a sequence", "None"),
}


@for_each("make", [Prior, Prior.from_counts])
@for_each("case", BAD_NUMBERS)
def test_bad_numbers_are_refused(make, case):
    values, *words = BAD_NUMBERS[case]
    refused(lambda: make(values), *words)


@for_each(
    ("values", "got"),
    [([0.5, 0.4], "sum 0.9"), ([0.0, 0.0], "sum 0"), ([1e308, 1e308], "sum 2"), ([10**400], "sum")],
)
def test_probabilities_that_do_not_sum_to_one_are_refused(values, got):
    refused(lambda: Prior(values), got, "from_counts")


@given(
    st.lists(st.one_of(FLOATS, st.floats(), st.integers(-3, 3), st.none(), st.text()), max_size=4)
)
def test_any_list_gives_a_distribution_or_a_prior_error(values):
    try:
        prior = quiet(Prior, values)
    except PriorError:
        return
    assert sum(masses(prior)) == 1
    assert min(masses(prior)) >= 0


def test_mappings_and_series_bring_their_labels():
    pd = pytest.importorskip("pandas")
    assert Prior({"x": 0.25, "y": 0.75}) == Prior([0.25, 0.75], ["x", "y"])
    series = pd.Series(["y", "x", "y", "y"])
    assert Prior.from_counts(series.value_counts()) == Prior.from_counts({"y": 3, "x": 1})
    assert Prior(series.value_counts(normalize=True))["y"] == 0.75
    with pytest.raises(PriorError, match="both"):
        Prior({"x": 1}, labels=["y"])
