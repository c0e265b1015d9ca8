"""The risk of estimates: exact for any kernel, infinite where an answer cannot be told."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from checks import for_each, slow_but
from naive_estimates import exact_risk, float_risk

import mechdesign as md
from mechdesign.errors import DataError, InputError, RequirementError, UntoldError, UtilityError
from mechdesign.utility import Estimation

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])


def private_kernel(rng, n, m):
    return md.Mechanism(0.3 * rng.dirichlet(np.ones(m), size=n) + 0.7 / m)


@for_each("seed", slow_but(4, range(8)))
def test_the_risk_is_that_of_elimination_in_rationals(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    counts = rng.integers(1, 9, n).tolist()
    weights = rng.integers(1, 50, (n, n + 2))
    weights[:, -1] = 256 - weights[:, :-1].sum(axis=1)
    kernel = md.Mechanism.from_weights(weights, 8)
    questions = rng.integers(-3, 4, (2, n)).tolist()
    truth = [Fraction(c, sum(counts)) for c in counts]
    expected = exact_risk(weights.tolist(), truth, questions)
    found = Estimation(questions, truth=counts).risk(kernel, md.Prior.uniform(n))
    assert found == pytest.approx(float(expected), rel=1e-15)


@pytest.mark.parametrize(("n", "d", "level"), [(4, 1, 1.0), (6, 2, 0.5), (7, 3, math.log(4 / 3))])
def test_subset_selection_has_the_published_risk(n, d, level):
    e = math.exp(level)
    subsets = list(combinations(range(n), d))
    kernel = np.array([[e if x in s else 1.0 for s in subsets] for x in range(n)])
    found = md.Mechanism(kernel / kernel.sum(axis=1, keepdims=True))
    published = (n - 1) ** 2 * (d * e + n - d) ** 2 / (n * (e - 1) ** 2 * d * (n - d))
    prior = md.Prior.uniform(n)
    assert Estimation().risk(found, prior) == pytest.approx(published, rel=1e-12)
    assert Estimation().value(found, prior) == -Estimation().risk(found, prior)


def test_symbols_that_are_not_told_apart_have_an_infinite_risk():
    coarse = md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], ["a", "b", "c"])
    assert Estimation().risk(coarse, ABC) == math.inf
    assert Estimation().value(coarse, ABC) == -math.inf
    assert Estimation({"a": 0, "b": 1, "c": 0}).risk(coarse, ABC) == math.inf
    # What the groups decide can be told: a proportion, of which the kernel is a binary response.
    share = Estimation({"a": 1, "b": 0, "c": 0}).risk(coarse, ABC)
    assert share == pytest.approx(0.5 * 0.5 / 0.6**2, rel=1e-12)
    assert share == pytest.approx(float_risk(coarse.kernel, ABC.probabilities, np.diag([1, 0, 0])))


def test_rows_that_differ_by_one_unit_are_told_apart():
    unit = 1 << 60
    weights = np.array([[unit // 2 + 1, unit // 2 - 1], [unit // 2, unit // 2]])
    kernel = md.Mechanism.from_weights(weights, 60)
    found = Estimation().risk(kernel, md.Prior.uniform(2))
    assert found == pytest.approx(2 * 0.25 * unit**2, rel=1e-12)


def test_more_noise_never_helps():
    rng = np.random.default_rng(5)
    for _ in range(10):
        kernel = private_kernel(rng, 4, 6)
        channel = md.Mechanism(rng.dirichlet(np.ones(6), size=6), kernel.outputs)
        prior = md.Prior(rng.dirichlet(np.ones(4)))
        asked = Estimation(rng.normal(size=(2, 4)))
        assert asked.risk(kernel @ channel, prior) >= asked.risk(kernel, prior) * (1 - 1e-12)


def test_forms_of_one_question_are_the_same():
    rng = np.random.default_rng(2)
    kernel = md.Mechanism(private_kernel(rng, 3, 3).kernel, ["a", "b", "c"])
    forms = [
        {"a": 1, "b": 0, "c": 2},
        {"a": 1, "b": 0, "c": 2}.get,
        [{"a": 1, "b": 0, "c": 2}],
        [[1, 0, 2]],
        np.array([1.0, 0.0, 2.0]),
        [[2, 1, 3]],
    ]
    risks = {round(Estimation(form).risk(kernel, ABC), 12) for form in forms}
    assert len(risks) == 1
    shares = Estimation({"a": "x", "b": "y", "c": "x"})
    assert shares.question(ABC.labels).labels == ("x", "y")
    both = Estimation([{"a": 1, "b": 0, "c": 1}, {"a": 0, "b": 1, "c": 0}])
    assert both.question(ABC.labels).labels == ("mean 1", "mean 2")
    assert both.risk(kernel, ABC) == pytest.approx(shares.risk(kernel, ABC), rel=1e-14)
    named = Estimation([[1, 0, 2]], names=["score"])
    assert named.question(ABC.labels).labels == ("score",)


def test_weights_weigh_errors_and_their_products():
    rng = np.random.default_rng(3)
    kernel = md.Mechanism(private_kernel(rng, 3, 5).kernel, ["a", "b", "c"])
    rows, square = rng.normal(size=(2, 3)), np.array([[2.0, 1.0], [1.0, 3.0]])
    p = ABC.probabilities
    for weights, matrix in (([1.5, 0.25], np.diag([1.5, 0.25])), (square, square)):
        found = Estimation(rows, weights).risk(kernel, ABC)
        assert found == pytest.approx(float_risk(kernel.kernel, p, rows.T @ matrix @ rows), 1e-12)
    rank_one = np.outer([0.1, 0.7], [0.1, 0.7])  # semi-definite up to rounding
    loss = rows.T @ rank_one @ rows
    found = Estimation(rows, rank_one).risk(kernel, ABC)
    assert found == pytest.approx(float_risk(kernel.kernel, p, loss), 1e-10)


def test_the_truth_is_matched_by_label():
    rng = np.random.default_rng(4)
    kernel = md.Mechanism(private_kernel(rng, 3, 4).kernel, ["a", "b", "c"])
    expected = float_risk(kernel.kernel, np.array([0.1, 0.3, 0.6]), np.eye(3))
    for truth in ({"c": 6, "a": 1, "b": 3}, [1, 3, 6], md.Prior([0.6, 0.3, 0.1], ["c", "b", "a"])):
        assert Estimation(truth=truth).risk(kernel, ABC) == pytest.approx(expected, rel=1e-12)
    # Integers name symbols where these are integers.
    mixed = md.Prior([0.2, 0.3, 0.5], [2, 0, 1])
    again = md.Mechanism(kernel.kernel, [2, 0, 1])
    found = Estimation(truth={0: 3, 1: 6, 2: 1}).risk(again, mixed)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "counts",
    [[7, 0, 3], {"c": 3, "b": 0, "a": 7}, pd.Series([7.0, 0.0, 3.0], ["a", "b", "c"])],
    ids=["numbers", "mapping", "series"],
)
def test_counts_of_zero_are_half_a_count(counts):
    found = md.design(ABC, Estimation(truth=counts), md.PML(1))
    same = md.design(ABC, Estimation(truth=[14, 1, 6]), md.PML(1))
    assert found.risk == same.risk
    assert Estimation(truth=counts).truth.weights[ABC.labels.index("b")] == 1
    several = Estimation(truth=[counts, {"a": 1, "b": 1, "c": 0}])
    assert [sorted(one.weights) for one in several.truth] == [[1, 6, 14], [1, 2, 2]]


def test_symbols_without_mass_are_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = md.Prior([0.5, 0.0, 0.5], ["a", "b", "c"])
    kernel = md.Mechanism([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], ["a", "b", "c"])
    two = md.Mechanism([[0.8, 0.2], [0.2, 0.8]], ["a", "c"])
    expected = Estimation().risk(two, md.Prior.uniform(["a", "c"]))
    assert Estimation().risk(kernel, prior) == pytest.approx(expected, rel=1e-14)


@for_each(
    "make",
    [
        lambda: Estimation("a").risk(md.Mechanism(np.eye(3), ABC.labels), ABC),  # no such column
        lambda: Estimation([[1, math.nan]]),
        lambda: Estimation(3 + 1j),
        lambda: Estimation(weights=[1, -1]),
        lambda: Estimation(weights=[[1, 2], [2, 1]]),
        lambda: Estimation(weights=[1e100]),
        lambda: Estimation(truth="all"),
        lambda: Estimation(truth=[0, 0]),
        lambda: Estimation(names="ab"),
    ],
)
def test_what_is_no_question_is_refused(make):
    with pytest.raises(InputError):
        make()


@for_each(
    "asked",
    [
        Estimation([[1, 2]]),
        Estimation([[1, 2, 1e80]]),
        Estimation(weights=[1, 1]),
        Estimation(truth=[1, 1]),
        Estimation(truth={"a": 1, "b": 1, "d": 1}),
        Estimation(truth=[0.5, 0, 0.5]),
        Estimation(truth=[1, 0, 0]),
        Estimation(names=["x"]),
        Estimation({"a": 1, "b": 2}),
    ],
)
def test_what_does_not_fit_the_prior_is_refused(asked):
    with pytest.raises((UtilityError, DataError)):
        asked.survey(ABC)


@pytest.mark.parametrize(("outputs", "error"), [(True, RequirementError), (4.5, RequirementError)])
def test_numbers_of_outputs_that_are_none_are_refused(outputs, error):
    with pytest.raises(error, match="positive whole number"):
        md.design(md.Prior([0.5, 0.3, 0.2]), Estimation(), md.LDP(1), outputs=outputs)
    with pytest.raises(UtilityError, match="how many there may be"):
        md.design(md.Prior([0.5, 0.3, 0.2]), Estimation(), md.LDP(1), outputs="4")


def test_what_no_kernel_answers_is_said_with_proof():
    with pytest.raises(UntoldError, match="no kernel") as caught:
        md.design(md.Prior([0.5, 0.3, 0.2]), Estimation(), md.LDP(0))
    assert caught.value.is_proved
