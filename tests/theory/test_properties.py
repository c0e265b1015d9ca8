"""Properties of PML and PMC, and what several releases leak together."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import counts, kernels, priors, random_kernel, sizes

import mechdesign as md
from mechdesign.errors import KernelError, LevelError
from mechdesign.papers import derived, shared_properties
from mechdesign.papers.catalogue import find_theorem
from mechdesign.theory.leakage import quiet_prior

T = md.theory
BOTH = pytest.mark.parametrize("averse", [False, True])
ZERO_MASS = pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")


@st.composite
def cases(draw, number=1, most=4):
    """A prior and some mechanisms on its symbols."""
    prior = draw(priors(high=4))
    return prior, [
        md.Mechanism(draw(kernels(len(prior), draw(sizes(1, most)))), prior.labels)
        for _ in range(number)
    ]


def exact_lifts(prior, columns):
    """P(x|y)/P(x) as fractions on the support, for one column of likelihoods."""
    q = sum(prior.mass(x) * k for x, k in enumerate(columns))
    return [k / q for x, k in enumerate(columns) if prior.mass(x) > 0] if q else [Fraction(1)]


def exact_leakage(prior, column, averse):
    lifts = exact_lifts(prior, column)
    if averse:
        return math.inf if min(lifts) == 0 else -math.log(min(lifts))
    return math.log(max(lifts))


def column_of(mechanism, y):
    return [Fraction(int(w)) for w in mechanism.weights[:, y]]


@BOTH
@given(case=cases())
def test_leakage_from_exact_posteriors(averse, case):
    prior, (mechanism,) = case
    found = T.outcome_leakage(mechanism, prior, risk_averse=averse)
    for y in range(mechanism.shape[1]):
        wanted = exact_leakage(prior, column_of(mechanism, y), averse)
        assert found[y] == pytest.approx(wanted, abs=1e-9)
    assert (found >= 0).all()


@BOTH
@given(case=cases(), weights=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_independent_outcomes_leak_nothing(averse, case, weights):
    prior, _ = case
    constant = md.Mechanism(
        np.tile(np.array(weights) / sum(weights), (len(prior), 1)), prior.labels
    )
    found = T.outcome_leakage(constant, prior, risk_averse=averse)
    assert found == pytest.approx(0, abs=1e-9)


@BOTH
@given(first=cases(), second=cases())
def test_leakages_of_independent_secrets_add_up(averse, first, second):
    parts = [(m[0], p) for p, m in (first, second)]
    found = T.additivity(parts, risk_averse=averse)
    assert found.left == pytest.approx(found.right, abs=1e-9)
    (m1, p1), (m2, p2) = parts
    joint = [[a * b for a, b in product(column_of(m1, y), column_of(m2, z))]
             for y, z in product(range(m1.shape[1]), range(m2.shape[1]))]  # fmt: skip
    masses = md.Prior.from_counts([a * b for a, b in product(p1.weights, p2.weights)])
    direct = [exact_leakage(masses, column, averse) for column in joint]
    assert found.left == pytest.approx(direct, abs=1e-9)


@given(cases(), st.data(), st.floats(0, 1))
def test_pmc_is_concave_and_pml_convex_in_the_prior(case, data, share):
    first, (mechanism,) = case
    second = md.Prior.from_counts(data.draw(counts(len(first))), first.labels)
    convex = T.prior_curvature(mechanism, first, second, share)
    assert (convex.left <= convex.right + 1e-9).all()
    concave = T.prior_curvature(mechanism, first, second, share, risk_averse=True)
    assert (concave.left >= concave.right - 1e-9).all()


@ZERO_MASS
def test_pml_is_not_convex_across_supports_but_pmc_is_concave():
    first, second = md.Prior([0.5, 0.5, 0]), md.Prior([0, 0, 1.0])
    mechanism = md.Mechanism([[0.1, 0.9], [0.1, 0.9], [0.9, 0.1]])
    found = T.prior_curvature(mechanism, first, second, 0.5)
    assert found.right == pytest.approx([0, 0], abs=1e-12)
    assert found.left == pytest.approx([math.log(0.9 / 0.5), math.log(0.9 / 0.5)])
    assert found.room < -0.5
    assert T.prior_curvature(mechanism, first, second, 0.5, risk_averse=True).room > 0.5


@BOTH
@given(case=cases(number=2))
def test_processing_before_or_after_leaks_no_more(averse, case):
    prior, (mechanism, channel) = case
    before = T.pre_processing(mechanism, prior, channel, risk_averse=averse)
    assert (before.left <= before.right + 1e-9).all()
    step = md.Mechanism(np.resize(channel.kernel, (mechanism.shape[1], channel.shape[1])))
    step = md.Mechanism(step.kernel, mechanism.outputs)
    after = T.post_processing(mechanism, step, prior, risk_averse=averse)
    live = (mechanism @ step).output_distribution(prior) > 0
    assert (after.left <= after.right + 1e-9)[live].all()
    whole = T.outcome_leakage(mechanism, prior, risk_averse=averse).max()
    assert after.left.max() <= whole + 1e-9


@BOTH
@given(case=cases(number=3, most=3))
def test_adaptive_composition_adds_conditional_leakage(averse, case):
    prior, (first, second, third) = case
    then = {label: (second, third)[i % 2] for i, label in enumerate(first.outputs)}
    found = T.composition(first, then, prior, risk_averse=averse)
    assert (found.left <= found.right + 1e-9).all()
    both = T.adaptive(first, lambda label: then[label])
    assert both == T.adaptive(first, then)
    direct = []
    for y, label in enumerate(first.outputs):
        for z in range(then[label].shape[1]):
            pairs = zip(column_of(first, y), column_of(then[label], z), strict=True)
            direct.append(exact_leakage(prior, [a * b for a, b in pairs], averse))
    assert found.left == pytest.approx(direct, abs=1e-9)


@given(cases(number=2, most=3))
def test_a_fixed_second_mechanism_is_parallel_composition(case):
    _, (first, second) = case
    assert T.adaptive(first, second).outputs == first.parallel(second).outputs
    assert T.adaptive(first, second) == first.parallel(second)


@BOTH
@given(case=cases(number=2, most=3))
def test_conditional_leakage_is_leakage_under_the_posterior(averse, case):
    prior, (mechanism, side) = case
    z = int(side.output_distribution(prior).argmax())
    found = T.conditional_outcome_leakage(
        mechanism, prior, side, side.outputs[z], risk_averse=averse
    )
    joint = [prior.mass(x) * int(w) for x, w in enumerate(side.weights[:, z])]
    known = quiet_prior(joint, prior.labels)
    for y in range(mechanism.shape[1]):
        wanted = exact_leakage(known, column_of(mechanism, y), averse)
        assert found[y] == pytest.approx(wanted, abs=1e-9)


@given(cases())
def test_averages_of_the_pointwise_measures(case):
    prior, (mechanism,) = case
    up, down = T.expected_exponential(mechanism, prior)
    assert up == pytest.approx(math.log(mechanism.kernel.max(axis=0).sum()), abs=1e-9)
    assert down == pytest.approx(T.maximal_cost_leakage(mechanism, prior), abs=1e-7)


# Accounting


@pytest.mark.slow
@given(cases(number=3, most=2))
def test_accounts_are_exact_and_their_bounds_hold(case):
    prior, mechanisms = case
    for notion in (md.PML, md.PMC, md.LDP):
        found = T.account(mechanisms, prior, notion)
        triple = mechanisms[0].parallel(mechanisms[1]).parallel(mechanisms[2])
        check = notion(math.inf).check(triple, prior)
        assert found.level == check.achieved[0]
        assert found.parts == tuple(
            notion(math.inf).check(m, prior).achieved[0] for m in mechanisms
        )
        assert found.level <= found.bound * (1 + 1e-12) + 1e-15
    assert T.account(mechanisms, prior, md.LDP).adds_up


def test_pml_levels_do_not_add_up():
    """Two reports that leak .673 nats each tell everything about the rarest symbol together."""
    prior = md.Prior([0.02, 0.49, 0.49])
    one = md.Mechanism([[0.5, 0.5], [0.5, 0.5], [0, 1]])
    two = md.Mechanism([[0.5, 0.5], [0, 1], [0.5, 0.5]])
    found = T.account([one, two], prior)
    assert found.parts == pytest.approx([math.log(0.5 / 0.255)] * 2)
    assert found.level == pytest.approx(math.log(50))
    assert not found.adds_up
    assert "MORE THAN" in str(found)
    even = md.Mechanism([[0.8, 0.2], [0.2, 0.8]])
    costs = T.account([even, even], md.Prior.uniform(2), md.PMC)
    assert costs.level == pytest.approx(math.log(0.34 / 0.04))
    assert costs.sum_of_parts == pytest.approx(2 * math.log(0.5 / 0.2))
    assert not costs.adds_up
    assert "within" in str(T.account([even, even], md.Prior.uniform(2), md.LDP))


@given(cases(most=3), cases(most=2))
def test_levels_of_independent_secrets_add_up(first, second):
    parts = [(m[0], p) for p, m in (first, second)]
    for notion in (md.PML, md.PMC, md.LDP):
        found = T.account_product(parts, notion)
        assert found.level == pytest.approx(found.bound, abs=1e-9)


@pytest.mark.slow
@given(cases(most=3), st.integers(1, 4))
def test_repeated_runs_by_counts(case, times):
    prior, (mechanism,) = case
    counted = T.repeated(mechanism, times)
    listed = mechanism
    for _ in range(times - 1):
        listed = listed.parallel(mechanism)
    for notion in (md.PML, md.PMC, md.LDP):
        mine, theirs = (notion(math.inf).check(m, prior).achieved[0] for m in (counted, listed))
        # Where the rows are off by rounding, both are rounded up by as much.
        assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    assert counted.row_error == listed.row_error
    all_first = (times, *[0] * (mechanism.shape[1] - 1))
    place = counted.outputs.index(all_first)
    assert counted.kernel[:, place] == pytest.approx(mechanism.kernel[:, 0] ** times, abs=1e-12)


def test_designs_compose():
    prior = md.Prior.uniform(3)
    made = [md.design(prior, md.utility.Hamming(), md.LDP(level)) for level in (0.5, 0.25)]
    found = T.account(made, prior, md.LDP)
    assert found.parts == pytest.approx((0.5, 0.25), abs=1e-9)
    assert found.level <= 0.75
    ten = T.repeated(made[0], 10)
    assert ten.shape[0] == 3
    assert md.LDP(5.0).check(ten, prior).verdict is md.Verdict.YES


def test_mistakes_are_told():
    prior = md.Prior([0.5, 0.5])
    flip = md.Mechanism([[0.9, 0.1], [0.1, 0.9]])
    refused(lambda: T.account([], prior), "at least one", error=KernelError)
    refused(lambda: T.account([flip] * 20, prior), "65536", error=KernelError)
    refused(lambda: T.account([flip], prior, md.ALIP), "one level", error=LevelError)
    refused(lambda: T.account([flip], prior, md.PML(1)), "class", error=LevelError)
    refused(lambda: T.repeated(flip, 0), "at least 1", error=KernelError)
    refused(
        lambda: T.repeated(md.Mechanism(np.full((2, 30), 1 / 30)), 9), "counts", error=KernelError
    )
    refused(lambda: T.adaptive(flip, {0: flip}), "outcome 1", error=KernelError)
    other = md.Mechanism([[1], [1], [1]])
    refused(lambda: T.adaptive(flip, other), "same secret", error=KernelError)
    refused(lambda: T.product_of([]), "at least one", error=KernelError)
    three = md.Prior([0.2, 0.3, 0.5])
    refused(lambda: T.mixed_prior(prior, three, 0.5), "same symbols", error=LevelError)
    refused(lambda: T.mixed_prior(prior, prior, 1.5), "share", error=LevelError)
    refused(lambda: T.mixed_prior(prior, prior, math.nan), "share", error=LevelError)


# The checks in the register can fail


@for_each(
    ("name", "broken", "result"),
    [
        (
            "outcome_leakage",
            lambda m, p, risk_averse=False: np.full(m.shape[1], -1.0),
            "PMC-Lem-1.1",
        ),
        (
            "outcome_leakage",
            lambda m, p, risk_averse=False: np.full(m.shape[1], -1.0),
            "PML-Sec-2.3.3",
        ),
        (
            "conditional_outcome_leakage",
            lambda m, p, side, z, risk_averse=False: T.outcome_leakage(
                m[z], p, risk_averse=risk_averse
            ),
            "D-Conditional-1",
        ),
        (
            "account",
            lambda ms, p, notion: T.Account(notion, 1.0, (1.0,), 0.9, ms[0]),
            "D-Composition-1",
        ),
        (
            "account",
            lambda ms, p, notion: T.Account(notion, 1.0, (1.0, 1.0), 2.0, ms[0]),
            "D-Composition-2",
        ),
    ],
)
def test_a_wrong_function_is_found_out(monkeypatch, name, broken, result):
    check = find_theorem(result)
    assert check.check(5, instances=5).ok
    monkeypatch.setattr(shared_properties if name == "outcome_leakage" else derived, name, broken)
    assert not check.check(5, instances=5).ok


@given(priors(2, 5), st.integers(0, 10**6))
def test_bounds_of_accounts_are_rounded_up(prior, seed):
    """Levels are rounded up, so a bound on them has to be as well: no tolerance is left to use."""
    rng = np.random.default_rng(seed)
    mechanisms = [md.Mechanism(random_kernel(rng, len(prior), 2)) for _ in range(2)]
    for notion in (md.PML, md.PMC, md.LDP, md.FreeLunch):
        found = md.theory.account(mechanisms, prior, notion)
        assert found.level <= found.bound
    assert md.theory.account(mechanisms, prior, md.FreeLunch).bound < math.inf
    rare = md.Prior([0.02, 0.49, 0.49])
    one = md.Mechanism([[0.5, 0.5], [0.5, 0.5], [0, 1]])
    two = md.Mechanism([[0.5, 0.5], [0, 1], [0.5, 0.5]])
    whole = md.theory.account([one, two], rare)
    assert whole.level <= whole.bound == pytest.approx(-math.log(0.02))


def test_notions_that_need_more_than_a_level_are_accounted_for_by_an_instance():
    prior = md.Prior.uniform(range(4))
    one = md.design(prior, md.utility.Distance("absolute"), md.DP(0.5, "adjacent")).mechanism
    for notion in (md.DP(1, "adjacent"), md.MetricPrivacy(1, "absolute")):
        found = md.theory.account([one, one], prior, notion)
        assert found.notion is type(notion)
        assert found.level == pytest.approx(1.0)
        assert found.level <= found.bound == pytest.approx(2 * found.parts[0])
    refused(lambda: md.theory.account([one], prior, md.DP), "neighbours", error=LevelError)
    refused(lambda: md.theory.account([one], prior, 3), "md.PML", error=LevelError)
    refused(
        lambda: md.theory.account_product([(one, prior)], md.DP(1, "adjacent")),
        "tuples",
        error=LevelError,
    )
