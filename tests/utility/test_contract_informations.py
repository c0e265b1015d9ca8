"""The contract of sub-convex utilities: what each registered one keeps, and broken ones fail."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from checks import for_each, slow_but
from strategies import exact_mechanism, random_kernel

import mechdesign as md
from mechdesign.errors import UtilityError
from mechdesign.program.problem import state_problem
from mechdesign.utility import UTILITIES, SublinearUtility
from mechdesign.utility.sublinear import check_sublinear

ROUNDS = 20
LEVELS = (0.0, 0.1, 0.5, 2.0)

EXAMPLES = {
    "mutualinformation": md.utility.MutualInformation,
    "totalvariation": md.utility.TotalVariation,
    "chisquare": md.utility.ChiSquare,
    "finformation": lambda: md.utility.FInformation(lambda t: np.maximum(t - 1.3, 0), "stick"),
    "sublinear": lambda: md.utility.Sublinear(lambda k, p: float(np.sqrt(p @ k**2)), "root"),
}


def instances(make, seed):
    for number in range(ROUNDS):
        rng = np.random.default_rng([seed, number])
        n = int(rng.integers(2, 6))
        prior = md.Prior.from_counts(rng.integers(1, 9, n).tolist())
        yield rng, prior, make(), exact_mechanism(random_kernel(rng, n, 5), prior.labels)


def columns_are_convex(make):
    """μ(j + k) ≤ μ(j) + μ(k), also where columns hold zeros."""
    for rng, prior, utility, _ in instances(make, 1):
        first, second = rng.exponential(1, (2, len(prior), 200))
        first[rng.random(first.shape) < 0.3] = 0
        a, b, both = (utility.values(k, prior) for k in (first, second, first + second))
        assert (both <= a + b + 1e-12 * (1 + np.abs(a) + np.abs(b))).all()


def columns_are_homogeneous(make):
    """μ(c k) = c μ(k), and the value of a column of zeros is 0."""
    for rng, prior, utility, _ in instances(make, 2):
        columns, factor = rng.exponential(1, (len(prior), 50)), np.exp(rng.normal(0, 4, 50))
        scaled = utility.values(columns * factor, prior)
        np.testing.assert_allclose(scaled, factor * utility.values(columns, prior), rtol=1e-9)
        assert utility.values(np.zeros((len(prior), 2)), prior) == pytest.approx([0, 0], abs=0)


def processing_outputs_gains_nothing(make):
    """The value of a kernel followed by any channel is at most that of the kernel."""
    for rng, prior, utility, mechanism in instances(make, 3):
        channel = exact_mechanism(random_kernel(rng, 5, 3), mechanism.outputs)
        coarse = mechanism.cascade(channel)
        assert utility.value(coarse, prior) <= utility.value(mechanism, prior) + 1e-12


def constants_have_one_value(make):
    """Every constant kernel has the value of one output; for f-informations that is zero."""
    for rng, prior, utility, _ in instances(make, 4):
        row = rng.integers(1, 9, 4) * 2
        kernel = np.tile(row / row.sum(), (len(prior), 1))
        constant = utility.value(exact_mechanism(kernel, prior.labels), prior)
        alone = utility.value(md.Mechanism(np.ones((len(prior), 1)), prior.labels), prior)
        assert constant == pytest.approx(alone, abs=1e-12)
        if isinstance(utility, md.utility.FInformation):
            assert alone == pytest.approx(0, abs=1e-12)


def relabelling_changes_nothing(make):
    """Symbols and outputs in another order: the same value, and the same optimum."""
    for rng, prior, utility, mechanism in instances(make, 5):
        n = len(prior)
        order, places = rng.permutation(n), rng.permutation(5)
        moved = prior.reordered([prior.labels[i] for i in order])
        table = mechanism.kernel[order][:, places]
        kernel = md.Mechanism(table, moved.labels, [mechanism.outputs[j] for j in places])
        value = utility.value(mechanism, prior)
        assert utility.value(kernel, moved) == pytest.approx(value, abs=1e-12)
        best = [md.design(p, utility, md.LIP(0.6)).value for p in (prior, moved)]
        assert best[1] == pytest.approx(best[0], rel=1e-9, abs=1e-12)


def more_privacy_gains_no_more(make):
    """The optimum grows with the level."""
    for number, (_, prior, utility, _) in enumerate(instances(make, 6)):
        notion = (md.PML, md.PMC, md.LIP, md.LDP)[number % 4]
        values = [md.design(prior, utility, notion(level)).value for level in LEVELS]
        assert all(b >= a - 1e-9 for a, b in pairwise(values))


def designs_report_their_own_value(make):
    """A design reports the utility's own value, between a constant kernel's and the bound,
    and no private kernel met has a value above the bound.
    """
    for rng, prior, utility, mechanism in instances(make, 7):
        found = md.design(prior, utility, md.LDP(0.7))
        assert found.value == pytest.approx(utility.value(found.mechanism, prior), abs=1e-12)
        constant = md.Mechanism(np.ones((len(prior), 1)), prior.labels)
        assert utility.value(constant, prior) - 1e-12 <= found.value <= found.bound
        assert found.gap <= 1e-6
        assert len(found.mechanism.outputs) <= len(prior)
        # Rows drawn to one another until no two differ by more than the level.
        rows = mechanism.kernel
        share = float(rng.uniform(0, 1)) * np.expm1(0.7) * rows.min(axis=0).sum()
        private = (1 - share / 9) * rows.min(axis=0) + share / 9 * rows
        private = private + (1 - private.sum(axis=1, keepdims=True)) * 0.2
        other = exact_mechanism(private, prior.labels)
        if md.audit(other, prior).ldp <= 0.7:
            assert utility.value(other, prior) <= found.bound * (1 + 1e-12)


def the_check_at_the_door_agrees(make):
    """What a design refuses a utility for is not found."""
    for _, prior, utility, _ in instances(make, 8):
        check_sublinear(utility, prior)


CONTRACT = (
    columns_are_convex,
    columns_are_homogeneous,
    processing_outputs_gains_nothing,
    constants_have_one_value,
    relabelling_changes_nothing,
    more_privacy_gains_no_more,
    designs_report_their_own_value,
    the_check_at_the_door_agrees,
)


def test_every_registered_utility_has_an_example():
    informations = {
        name
        for name, cls in UTILITIES.items()
        if issubclass(cls, SublinearUtility) and cls.__module__.startswith("mechdesign.")
    }
    assert informations == set(EXAMPLES)


@for_each("part", CONTRACT)
@for_each("name", slow_but(2, EXAMPLES))
def test_registered_utility(name, part):
    part(EXAMPLES[name])


# Broken on purpose


class _Broken(SublinearUtility, register=False):
    def values(self, columns, prior):
        return np.array([self.one(k, prior.probabilities) for k in columns.T])


class Concave(_Broken, register=False):
    """The least likelihood: merging outputs raises it."""

    def one(self, k, p):
        return float(k.min())


class Squared(_Broken, register=False):
    def one(self, k, p):
        return float(p @ k**2)


class Offset(_Broken, register=False):
    """Pays for each output, even one that never comes."""

    def one(self, k, p):
        return 0.01 + float(k.max())


class PaysForOutputs(_Broken, register=False):
    """Homogeneous in no column of several outputs: more outputs have a larger value."""

    def one(self, k, p):
        return float(np.sqrt(p @ k))


class FirstSymbol(_Broken, register=False):
    """Knows symbols by their place."""

    def one(self, k, p):
        return float(max(k[0] - p @ k, 0))


class Forgets(md.utility.MutualInformation, register=False):
    """Another value for a mechanism than for its columns."""

    def value(self, mechanism, prior):
        return 0.9 * super().value(mechanism, prior)


class Shifted(md.utility.ChiSquare, register=False):
    """An f with f(1) > 0: constant kernels have a positive value."""

    def excess(self, deviations):
        return super().excess(deviations) + 0.1


class Fades(md.utility.TotalVariation, register=False):
    """Each call gives less than the one before."""

    calls = 0

    def values(self, columns, prior):
        Fades.calls += 1
        return super().values(columns, prior) / Fades.calls


@for_each(
    ("cls", "part"),
    [
        (Concave, columns_are_convex),
        (Concave, processing_outputs_gains_nothing),
        (Concave, the_check_at_the_door_agrees),
        (Squared, columns_are_homogeneous),
        (Squared, the_check_at_the_door_agrees),
        (Offset, columns_are_homogeneous),
        (Offset, constants_have_one_value),
        (PaysForOutputs, columns_are_homogeneous),
        (PaysForOutputs, constants_have_one_value),
        (FirstSymbol, relabelling_changes_nothing),
        (Forgets, designs_report_their_own_value),
        (Shifted, constants_have_one_value),
        (Fades, more_privacy_gains_no_more),
    ],
)
def test_broken_utility_fails(cls, part):
    with pytest.raises((AssertionError, md.MechdesignError)):
        part(cls)


def test_a_utility_that_is_not_sublinear_is_refused_at_the_door():
    for cls in (Concave, Squared):
        with pytest.raises(UtilityError, match="column function"):
            state_problem(md.Prior([0.5, 0.3, 0.2]), cls(), md.LDP(1))
