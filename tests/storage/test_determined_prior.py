"""How many digits of a prior its public kernel gives back, held against attacks that get them.

An attack knows the public form and what was asked, never the prior. It shares nothing with the
measure but the mathematics: a stationary distribution, linear equations, an optimiser from far off.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

import mechdesign as md
from mechdesign.cli import main
from mechdesign.collector.kernels import Collected
from mechdesign.errors import CountsWarning, InputError

COUNTS = [1237, 731, 389]
P = md.Prior.from_counts(COUNTS, list("abc"))
SIX = md.Prior.from_counts([523, 311, 241, 97, 83, 41])
HAMMING, R, U = md.utility.Hamming(), md.require, md.utility
COSTS = np.array([[0.0, 1, 3], [1, 0, 1], [3, 1, 0]])
GAINS = U.Matrix([[1, 0, 0.5], [0, 1, 0.2], [0, 0.3, 1]], list("abc"))


def kernel_of(found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountsWarning)
        return md.public_form(found).kernel


def test_the_stationary_distribution_of_an_invariant_kernel_is_the_counts(tmp_path, capsys):
    """That was not warned of; now it is wherever a public form is made."""
    found = md.design(P, HAMMING, md.LDP(1), subject_to=R.invariant())
    kernel = kernel_of(found)
    null = np.linalg.svd(kernel.T - np.eye(3))[2][-1]
    assert np.round(sum(COUNTS) * null / null.sum(), 5).tolist() == COUNTS
    told = md.determined_prior(found)
    assert (told.equations, told.free, told.is_measured) == (2, 0, True)
    assert min(told.digits) == told.whole == np.log10(sum(COUNTS))
    says = "every share of the prior to 3 digits, which are all that it has, by 'the marginal"
    for publish in (
        lambda: md.save(found, tmp_path / "p.json", public=True),
        lambda: md.export(found, tmp_path / "p.mjs", to="javascript"),
        lambda: Collected.of(found),
    ):
        with pytest.warns(CountsWarning, match=says):
            publish()
    md.save(found, tmp_path / "d.json")
    arguments = ["check", str(tmp_path / "d.json"), "--public", str(tmp_path / "q.json")]
    assert main(arguments) == 0
    err = capsys.readouterr().err
    assert says in err
    assert "[MD809]" in err
    assert "--prior-noise" in err


def test_masses_follow_from_the_bounds_that_bind(tmp_path):
    """Under PML what is largest at an output, over e^ε, is the mass of that output."""
    prior = md.Prior([0.5123456789, 0.2876543211, 0.2])
    found = md.design(prior, U.MutualInformation(), md.PML(0.5))
    kernel = kernel_of(found)
    masses = kernel.max(axis=0) / np.exp(0.5)
    attacked = np.linalg.lstsq(kernel.T, masses, rcond=None)[0]
    told = md.determined_prior(found)
    assert abs(attacked - prior.probabilities).max() < 10.0 ** -min(told.digits)
    assert min(told.digits) > 10
    assert told.sources == ("PML(0.5)",)


def test_masses_follow_from_the_optimum_itself():
    """Under LDP, which is about no prior: more outputs than symbols are best for one prior only."""
    found = md.design(SIX, U.Estimation(), md.LDP(1))
    told = md.determined_prior(found)
    assert (told.sources, told.free) == (("the optimum",), 0)
    assert min(told.digits) == told.whole
    kernel = kernel_of(found)
    columns = kernel / kernel.sum(axis=0)
    combinations = np.linalg.svd(columns)[2][np.linalg.matrix_rank(columns) :]

    def off(logs):
        p = np.exp(logs - np.log(np.exp(logs).sum()))
        information = (kernel / (p @ kernel)) @ kernel.T
        scores = np.linalg.solve(information, columns)
        return np.append(combinations @ ((scores**2).sum(axis=0) / (p @ columns)), logs.sum())

    attacked = np.exp(least_squares(off, np.zeros(6), xtol=1e-15, ftol=1e-15, gtol=1e-15).x)
    counts = attacked / attacked.sum() * sum(SIX.weights)
    assert np.round(counts).astype(int).tolist() == list(SIX.weights)


def test_what_was_chosen_with_the_prior_is_counted():
    """One equation for a cost or a share that binds, for a level by symbol, for an average."""
    free = kernel_of(md.design(P, GAINS, md.LDP(1.5)))
    limit = 0.97 * float((P.probabilities @ (COSTS * free)).sum())
    levels = {"a": 1, "b": 0.5, "c": 2}
    ends = {"at_most": 0.75}
    for least, asked, required in (
        (1, md.LDP(1.5), R.cost(COSTS, limit)),
        (1, md.LDP(1.5), R.output("a", 0, 0.4)),
        (1, md.LDP(1.5), R.posterior("a", **ends)),
        (1, md.SymbolPML(0.4, levels), None),
        (1, md.MIPrivacy(0.05), None),
        (2, md.PMC(0.5), None),
        (2, md.FeaturePML(0.4, {"a": 0, "b": {0: 1, 1: 3}, "c": 1}), None),
        (1, md.Pufferfish(0.5, {"s": ["a"], "t": {"b": 0.5, "c": 1}}), None),
    ):
        told = md.determined_prior(md.design(P, GAINS, asked, subject_to=required))
        assert told.equations >= least, (asked, required)
        assert told.equations + told.free == 2
        assert str(asked if required is None else required) in told.sources


def test_kernels_that_are_best_for_all_priors_nearby_give_no_equation(tmp_path):
    """A control: the same kernel is found for another prior, and nothing is warned of."""
    other = md.Prior.from_counts([1234, 733, 390], list("abc"))
    for utility in (HAMMING, GAINS, U.MutualInformation()):
        found, again = (md.design(one, utility, md.LDP(1)) for one in (P, other))
        np.testing.assert_allclose(found.mechanism.kernel, again.mechanism.kernel, atol=1e-9)
        told = md.determined_prior(found)
        assert (told.equations, told.most, told.sources) == (0, 0.0, ())
        md.save(found, tmp_path / "p.json", public=True, overwrite=True)
    even = md.design(md.Prior.uniform(3), U.MutualInformation(), md.PML(1))
    assert md.determined_prior(even).equations == 0
    for thing in (found.mechanism, md.public_form(found), P, None):
        with pytest.raises(InputError, match="which knows its prior"):
            md.determined_prior(thing)


@given(
    st.lists(st.integers(1, 10**6), min_size=3, max_size=5),
    st.integers(1, 4),
    st.sampled_from(["invariant", "pml", "estimation", "lip"]),
)
@settings(max_examples=12, deadline=None, derandomize=True)
def test_a_rounded_prior_is_all_that_is_given_back(counts, digits, kind):
    """The measure says no more than the rounding, and neither does an attack on the kernel."""
    prior = md.Prior.from_counts(counts).rounded(digits)
    required = R.invariant() if kind == "invariant" else None
    notion = {"pml": md.PML(0.5), "lip": md.LIP(0.5)}.get(kind, md.LDP(1))
    utility = {"invariant": HAMMING, "estimation": U.Estimation()}.get(kind, U.MutualInformation())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = md.design(prior, utility, notion, subject_to=required)
    told = md.determined_prior(found)
    assert told.most <= digits + 1e-9
    assert told.whole <= digits + 1e-9
    if kind == "invariant" and not prior.is_uniform:
        kernel = found.mechanism.kernel
        if np.linalg.matrix_rank(kernel.T - np.eye(len(prior)), tol=1e-6) < len(prior) - 1:
            return  # the identity, or nearly
        null = np.linalg.svd(kernel.T - np.eye(len(prior)))[2][-1]
        attacked = null / null.sum() * 10**digits
        np.testing.assert_allclose(attacked, np.round(attacked), atol=1e-4)


def test_a_prior_with_noise_may_be_given_back(tmp_path):
    """Nothing is warned of, as everything that follows from it is private; also of a marginal."""
    noisy = P.with_noise(0.5, seed=1)
    found = md.design(noisy, HAMMING, md.LDP(1), subject_to=R.invariant())
    assert md.determined_prior(found).free == 0
    md.save(found, tmp_path / "p.json", public=True)
    pairs = md.Prior.from_counts([5001, 3007, 907, 701], [(x, y) for x in "ab" for y in (1, 2)])
    plan = md.plan_columns(pairs.with_schema(["x", "y"]).with_noise(1, seed=2), None, md.PML(1))
    md.save(plan, tmp_path / "plan.json", public=True)
    rounded = md.design(noisy.rounded(2), HAMMING, md.PML(1))
    md.save(rounded, tmp_path / "r.json", public=True)


def test_selections_of_groups_are_measured_where_their_matrix_can_be_written():
    prior = md.Prior.from_counts([373, 373, 112, 112, 112, 59])
    told = md.determined_prior(md.subset_selection(prior, md.LDP(1)))
    assert told.free == 0
    assert min(told.digits) == told.whole
    assert "equal masses" in told.sources
    many = md.subset_selection(md.Prior.from_counts([10] * 10 + [1] * 190), md.PML(1))
    told = md.determined_prior(many)
    assert not told.is_measured
    assert str(told) == "not measured, as the kernel is too large"
    with pytest.warns(CountsWarning, match="which symbols have equal or near masses"):
        md.public_form(many)
