"""What bounds() may return, and what is said when it returns something else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import LevelError, UnknownNameError, ZeroMassWarning

PRIOR = md.Prior([0.5, 0.3, 0.2])
POINTS = md.Hypotheses.points(PRIOR)


def notion_with(bounds):
    @dataclass(frozen=True)
    class Odd(md.LikelihoodBound, register=False):
        epsilon: float

        def bounds(self, prior):
            return bounds

        def leakage(self, kernel, prior):
            return np.zeros(kernel.shape[1])

    return Odd(1.0)


@for_each("bounds", [[], None, "none", [3], [md.Bound(POINTS, POINTS, 1.0, parameter=3)]])
def test_bounds_that_are_none_are_refused(bounds):
    odd = notion_with(bounds)
    with pytest.raises(LevelError, match="bounds of Odd"):
        md.design(PRIOR, md.utility.Hamming(), odd)
    with pytest.raises(LevelError, match="bounds of Odd"):
        md.audit(np.eye(3), PRIOR, odd)


def test_a_notion_of_the_command_line_is_written_for_python():
    with pytest.raises(LevelError, match=r"got 'pml:1'; name .* as md.LDP\(1\) for"):
        md.design(PRIOR, md.utility.Hamming(), "pml:1")
    with pytest.raises(LevelError, match=r"with its level\.$"):
        md.design(PRIOR, md.utility.Hamming(), [])


@for_each("epsilon", [-1.0, float("nan"), "1", None])
def test_levels_of_bounds(epsilon):
    with pytest.raises(LevelError, match="level of a bound"):
        md.Bound(POINTS, POINTS, epsilon)


@for_each("other", [PRIOR.probabilities, PRIOR, None, [0.5, 0.5]])
def test_sides_of_bounds_are_hypotheses(other):
    for sides in ((POINTS, other), (other, POINTS)):
        with pytest.raises(LevelError, match=r"expected Hypotheses on both sides.*\.points\(prior"):
            md.Bound(*sides, 1.0)


def test_a_measurement_of_nan_is_called_that():
    @dataclass(frozen=True)
    class Careless(md.LikelihoodBound, register=False):
        epsilon: float

        def bounds(self, prior):
            return [md.Bound(POINTS, POINTS, self.epsilon)]

        def leakage(self, kernel, prior):
            with np.errstate(invalid="ignore"):
                return np.log(kernel.max(axis=0) / kernel.min(axis=0))

    never = np.array([[0.5, 0.5, 0.0]] * 3)
    with pytest.raises(LevelError, match=r"got NaN among them; .* 0 at an outcome"):
        md.audit(never, PRIOR, Careless(1.0))
    assert md.audit(never[:, :2], PRIOR, Careless(1.0)).verdict is md.Verdict.YES


def test_pairings_scales_and_positions():
    with pytest.raises(UnknownNameError, match="matched"):
        md.Bound(POINTS, POINTS, 1.0, pairing="every")
    for scale in (-1.0, float("nan"), float("inf")):
        with pytest.raises(LevelError, match="scales"):
            md.Bound(POINTS, POINTS, 1.0, pairing="matched", scales=(1.0, 1.0, scale))
    for position in (-1, 3):
        with pytest.raises(LevelError, match="positions"):
            md.Hypotheses.points(PRIOR, [0, position])


def with_an_empty_symbol():
    with pytest.warns(ZeroMassWarning):
        return md.Prior({"exams": 0.5, "sleep": 0.3, "debt": 0.2, "never": 0.0})


def test_groups_are_the_prior_given_that_the_secret_is_in_them():
    prior = with_an_empty_symbol()
    found = md.Hypotheses.groups(prior, [["debt", "exams", "debt"], ("sleep", "never")])
    expected = [[0.5 / 0.7, 0, 0.2 / 0.7, 0], [0, 1, 0, 0]]
    np.testing.assert_allclose(found.matrix.toarray(), expected, rtol=1e-15)
    assert tuple(found.names) == ("one of 'exams', 'debt'", "one of 'sleep', 'never'")
    named = md.Hypotheses.groups(prior, {"open": ["exams"], "delicate": {"sleep", "debt"}})
    assert tuple(named.names) == ("open", "delicate")
    numbers = md.Hypotheses.groups(md.Prior.uniform([1, 2, 3]), [range(1, 3)])
    assert numbers.matrix.toarray().tolist() == [[0.5, 0.5, 0.0]]


@for_each(
    ("groups", "said"),
    [
        ([["exams", "slepe"]], "got 'slepe'; did you mean 'sleep'"),
        ({"open": ["Exams"]}, "letter case"),
        ([["exams", 3]], "check the spelling and the type"),
        ([["never"]], "a probability above zero in all"),
        ([[]], "a probability above zero in all"),
        ([], "at least one distribution"),
        (["exams"], "a list of labels such as"),
        ("exams", "lists of labels such as"),
        ([3], "a list of labels such as"),
    ],
)
def test_groups_refuse_what_the_prior_does_not_have(groups, said):
    prior = with_an_empty_symbol()
    with pytest.raises(md.MechdesignError, match=said):
        md.Hypotheses.groups(prior, groups)


def test_a_notion_that_is_no_dataclass_is_named():
    class Plain(md.LikelihoodBound, register=False):
        epsilon = 1.0

        def bounds(self, prior):
            return [md.Bound(POINTS, POINTS, self.epsilon)]

        def leakage(self, kernel, prior):
            return np.zeros(kernel.shape[1])

    with pytest.raises(LevelError, match="frozen dataclass"):
        Plain().with_levels(2.0)
