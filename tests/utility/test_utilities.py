"""Linear utilities: gain matrices, their outputs, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import checks
import numpy as np
import pytest
from checks import for_each

from mechdesign import Prior
from mechdesign.errors import UnknownNameError, UtilityError
from mechdesign.utility import UTILITIES, BayesGain, Distance, Hamming, LinearUtility, Matrix

ABC = Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
STEPS = Prior([0.5, 0.3, 0.2], [0, 1, 10])
GAINS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


refused = partial(checks.refused, error=UtilityError)


# Hamming


def test_hamming_matches_labels_not_positions():
    assert Hamming().gains(ABC, ABC.labels).tolist() == np.eye(3).tolist()
    assert Hamming().gains(ABC, ["c", "x", "a"]).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert Hamming().output_labels(ABC) == ("a", "b", "c")


def test_hamming_refuses_outputs_that_never_match():
    refused(lambda: Hamming().gains(STEPS, ["0", "1"]), "['0', '1']", "[0, 1, 10]", "text")


# Distance


@for_each(
    ("d", "expected"),
    [
        ("absolute", [[0, -1, -10], [-1, 0, -9], [-10, -9, 0]]),
        ("abs", [[0, -1, -10], [-1, 0, -9], [-10, -9, 0]]),
        ("squared", [[0, -1, -100], [-1, 0, -81], [-100, -81, 0]]),
        ("discrete", [[0, -1, -1], [-1, 0, -1], [-1, -1, 0]]),
        (lambda x, y: 2 * max(x - y, 0), [[0, 0, 0], [-2, 0, 0], [-20, -18, 0]]),
        ([[0, 1, 2], [3, 4, 5], [6, 7, 8]], [[0, -1, -2], [-3, -4, -5], [-6, -7, -8]]),
    ],
)
def test_distances_enter_as_their_negatives(d, expected):
    assert Distance(d).gains(STEPS, STEPS.labels).tolist() == expected


def test_distances_to_other_outputs():
    assert Distance("absolute").gains(STEPS, [0.5, 4]).tolist() == [
        [-0.5, -4],
        [-0.5, -3],
        [-9.5, -6],
    ]
    assert Distance("absolute").output_labels(STEPS) == (0, 1, 10)
    assert Distance(GAINS).output_labels(ABC) == (0, 1)
    halves = Prior([0.5, 0.5], [Fraction(1, 2), Fraction(3, 2)])
    assert Distance("squared").gains(halves, [0]).tolist() == [[-0.25], [-2.25]]


@for_each("name", ["absolute", "squared"])
@for_each(
    ("labels", "outputs"),
    [
        (["a", "b"], ["a", "b"]),
        (["1", "2"], [1, 2]),
        ([1, 2], ["1", "2"]),
        ([True, False], [1, 0]),
        ([(1, 2), (3, 4)], [(1, 2)]),
        ([None, 1], [1]),
        ([10**400, 1], [1]),
        ([math.inf, 1], [1]),
    ],
)
def test_numeric_distances_need_finite_numeric_labels(name, labels, outputs):
    prior = Prior([0.5, 0.5], labels)
    refused(lambda: Distance(name).gains(prior, outputs))


def test_a_distance_too_large_for_floats_is_refused():
    wide = Prior([0.5, 0.5], [1e300, 0])
    refused(lambda: Distance("squared").gains(wide, [0]), "finite")


@for_each(
    ("name", "near"),
    [("absolut", "absolute"), ("Squared ", "squared"), ("discreet", "discrete"), ("hamming", None)],
)
def test_unknown_distances_name_the_nearest(name, near):
    found = refused(
        lambda: Distance(name),
        "absolute, discrete, euclidean, squared",
        repr(name),
        error=UnknownNameError,
    )
    assert found.remedy == (f"did you mean {near!r}?" if near else "choose one of these")


def test_functions_that_give_no_numbers_are_refused():
    refused(lambda: Distance(lambda x, y: "far").gains(ABC, ["a"]), "numbers")
    refused(lambda: Distance(lambda x, y: math.nan).gains(ABC, ["a"]), "nan in row 0, column 0")
    refused(lambda: Distance(lambda x, y: math.inf).gains(ABC, ["a"]), "large loss")


# Matrix


def test_matrix_with_more_or_fewer_outputs_than_symbols():
    assert Matrix(GAINS).output_labels(ABC) == (0, 1)
    assert Matrix(GAINS, ["lo", "hi"]).output_labels(ABC) == ("lo", "hi")
    assert Matrix(np.eye(3)).output_labels(ABC) == ("a", "b", "c")
    assert Matrix(GAINS).gains(ABC, (0, 1)).tolist() == GAINS


def test_named_columns_are_picked_by_name():
    named = Matrix(GAINS, ["lo", "hi"])
    assert named.gains(ABC, ["hi"]).tolist() == [[2], [4], [6]]
    assert named.gains(ABC, ["hi", "lo"]).tolist() == [[2, 1], [4, 3], [6, 5]]
    refused(lambda: named.gains(ABC, ["mid"]), "['lo', 'hi']", "'mid'")


BAD_MATRICES = {
    "vector": ([1, 2, 3], "shape (3,)"),
    "ragged": ([[1], [1, 2]], "rows of equal length"),
    "nan": ([[0, math.nan]], "nan in row 0, column 1"),
    "infinite": ([[0], [-math.inf]], "-inf in row 1, column 0", "large loss"),
}


@for_each("make", [Matrix, Distance, BayesGain])
@for_each("case", BAD_MATRICES)
def test_bad_matrices_are_refused(make, case):
    values, *words = BAD_MATRICES[case]
    refused(lambda: make(values), *words)


@pytest.mark.parametrize("make", [Matrix, Distance, BayesGain])
def test_matrices_of_another_shape_are_refused(make):
    refused(lambda: make(GAINS).gains(STEPS.restricted(), (0, 1, 10)), "3 columns", "2")
    two = Prior([0.5, 0.5])
    refused(lambda: make(GAINS).gains(two, (0, 1)), "2 rows", "got 3")


@pytest.mark.parametrize(
    ("labels", "words"),
    [(["a", "a"], ["distinct"]), (["a"], ["2 labels"]), ("ab", ["single text"])],
)
def test_bad_output_labels_are_refused(labels, words):
    refused(lambda: Matrix(GAINS, labels), *words)
    refused(lambda: BayesGain(GAINS, labels), *words)


# BayesGain


def test_bayes_gain_from_a_function_and_from_a_matrix():
    by_function = BayesGain(lambda x, w: len(x) * w, actions=[1, 2])
    assert by_function.output_labels(ABC) == (1, 2)
    assert by_function.gains(ABC, (1, 2)).tolist() == [[1, 2]] * 3
    by_matrix = BayesGain(GAINS, ["w", "v"])
    assert by_matrix.gains(ABC, ("w", "v")).tolist() == GAINS
    assert by_matrix.output_labels(ABC) == ("w", "v")
    assert by_matrix.references


def test_bayes_gain_refusals():
    refused(lambda: BayesGain(lambda x, w: 1.0), "actions=", "none")
    refused(lambda: BayesGain(lambda x, w: 1.0, ["a", "a"]), "distinct")
    refused(lambda: BayesGain(lambda x, w: math.nan, ["a"]).gains(ABC, ["a"]), "finite")
    refused(lambda: BayesGain(lambda x, w: "no", ["a"]).gains(ABC, ["a"]), "numbers")


# What all share


@pytest.mark.parametrize("goal", [Hamming(), Distance("discrete"), Matrix(np.eye(3))])
def test_outputs_argument(goal):
    assert goal.labels_for(ABC, None) == ("a", "b", "c")
    assert goal.labels_for(ABC, 3) == ("a", "b", "c")
    assert goal.labels_for(ABC, iter(["b", "a"])) == ("b", "a")
    refused(lambda: goal.labels_for(ABC, 2), "the number 3", "the number 2")
    refused(lambda: goal.labels_for(ABC, []), "at least one output")
    refused(lambda: goal.labels_for(ABC, ["b", "b"]), "distinct")
    refused(lambda: goal.labels_for(ABC, 2.5), "list of labels", "2.5")
    refused(lambda: goal.labels_for(ABC, "abc"), "'abc'")
    refused(lambda: goal.labels_for(ABC, [["a"]]), "hashable")


def test_specs_and_looks():
    assert Hamming().spec == "hamming"
    assert Distance("abs").spec == "distance:absolute"
    assert Distance(lambda x, y: 0.0).spec == "distance:function"
    assert Matrix(GAINS).spec == "matrix"
    assert BayesGain(GAINS).spec == "bayesgain"
    assert repr(Hamming()) == "Hamming()"
    assert repr(Distance("squared")) == "Distance(squared)"
    assert repr(Matrix(GAINS)) == "Matrix(3×2)"
    assert repr(BayesGain(GAINS)) == "BayesGain(3×2)"
    assert repr(BayesGain(lambda x, w: 1.0, ["a"])) == "BayesGain(function)"


def test_a_second_utility_of_the_same_name_is_refused():
    def define():
        class Hamming(LinearUtility):
            def gains(self, prior, outputs):
                return np.zeros((len(prior), len(outputs)))

    refused(define, "not taken", "Hamming")
    assert UTILITIES["hamming"] is Hamming


@pytest.mark.parametrize("make", [lambda f: Distance(f), lambda f: BayesGain(f, ["a", "b"])])
def test_functions_that_fail_are_named(make):
    def broken(x, y):
        raise KeyError(x)

    with pytest.raises(UtilityError, match="KeyError"):
        make(broken).gains(ABC, ["a", "b"])


@pytest.mark.parametrize("actions", [3, "ab"])
def test_actions_are_a_list(actions):
    with pytest.raises(UtilityError, match="list of actions"):
        BayesGain(lambda x, w: 1.0, actions)
