"""Average and approximate notions: contract, naive programs, closed forms, exact checks."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from hypothesis import given
from hypothesis import strategies as st
from notion_contract import CONTRACT, COSTLY, methods_agree
from notion_contract import compiled_program_agrees_with_the_measurement as compiled_agrees
from strategies import random_gains

import mechdesign as md
from mechdesign.certificate.bounds import priced_sums
from mechdesign.errors import GapWarning, LevelError
from mechdesign.exact import Verdict
from mechdesign.privacy.sums import least_factor
from mechdesign.program.problem import ask, state_problem

N = 4
PAIRS = [
    {0: ("a", 0), 1: ("a", 1), 2: ("b", 0), 3: ("b", 1)},
    {0: (0, 0), 1: (1, 0), 2: (1, 0), 3: (2, 0)},
]
PRIORS = [md.Prior([0.4, 0.3, 0.2, 0.1]), md.Prior([0.1, 0.2, 0.3, 0.4])]
SECRETS = {"low": [0, 1], "high": [2, 3], "odd": {1: 1, 3: 0.5}}
WRONG_GUESS = 1 - np.eye(N)
MAKERS = {
    "maximal leakage": md.MaximalLeakage,
    "maximal cost leakage": md.MaximalCostLeakage,
    "inference cost": lambda e: md.InferenceCost(e, WRONG_GUESS),
    "information": md.MIPrivacy,
    "MI Pufferfish": lambda e: md.MIPufferfish(e, PAIRS),
    "MI Pufferfish, two priors": lambda e: md.MIPufferfish(e, PAIRS[:1], PRIORS),
    "approximate LDP": lambda e: md.ApproximateLDP(e, 0.1),
    "approximate Pufferfish": lambda e: md.ApproximatePufferfish(e, 0.05, SECRETS, None, PRIORS),
}
LINEAR = [name for name in MAKERS if "nformation" not in name and "MI" not in name]


# The contract, for levels that are sums

PARTS = [part for part in CONTRACT if part not in (methods_agree, compiled_agrees)]


@for_each("part", slow_but(lambda part: part not in COSTLY, PARTS))
@for_each("name", MAKERS)
def test_contract(name, part, four_symbols):
    part(MAKERS[name])


def instances(seed, rounds):
    for number in range(rounds):
        rng = np.random.default_rng([seed, number])
        counts = rng.integers(1, 20, N) if number % 3 else np.ones(N, dtype=int)
        yield rng, md.Prior.from_counts(counts.tolist()), int(rng.integers(2, 6))


@for_each("name", MAKERS)
def test_designs_keep_their_level_and_methods_agree(name):
    for rng, prior, m in instances(5, 6):
        notion = MAKERS[name](float(rng.choice([0.02, 0.1, 0.5, 1.5])))
        gains = random_gains(rng, N, m)
        found = md.design(prior, md.utility.Matrix(gains), notion, solver="all")
        assert found.certificate.checks[0].verdict is Verdict.YES
        assert found.certificate.checks[0].achieved[0] <= notion.epsilon
        assert found.gap < 1e-6
        # A limit that every kernel keeps is none, so that all methods apply.
        if ask([notion], prior).sums:
            assert len(found.agreement) == (2 if name in LINEAR else 1)
        else:
            assert notion.epsilon == 1.5
            assert len(found.agreement) > 2
        for row in found.agreement:
            assert row.value == pytest.approx(found.value, abs=1e-7)
            assert row.bound == pytest.approx(found.bound, abs=1e-7)


# Naive programs


@for_each("name", MAKERS)
def test_together_with_a_bound_on_ratios(name):
    """A list of both kinds holds at once, and costs at least what each does."""
    prior, utility = md.Prior([0.4, 0.3, 0.2, 0.1]), md.utility.Hamming()
    alone = [md.design(prior, utility, n).value for n in (MAKERS[name](0.2), md.PML(0.4))]
    found = md.design(prior, utility, [MAKERS[name](0.2), md.PML(0.4)])
    assert found.gap < 1e-6
    assert [c.verdict for c in found.certificate.checks] == [Verdict.YES] * 2
    assert found.value <= min(alone) + 1e-8
    loose = md.design(prior, utility, [MAKERS[name](30.0), md.PML(0.4)])
    assert loose.value == pytest.approx(alone[1], abs=1e-7)


# Bounds and exact checks


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from(sorted(MAKERS)))
def test_bounds_hold_for_duals_of_any_quality(seed, name):
    rng = np.random.default_rng(seed)
    prior = md.Prior.from_counts(rng.integers(1, 9, N).tolist())
    gains = random_gains(rng, N, 3)
    notion = MAKERS[name](float(rng.choice([0.05, 0.5])))
    best = md.design(prior, md.utility.Matrix(gains), notion)
    program = state_problem(prior, md.utility.Matrix(gains), notion).program
    duals = best.certificate.duals
    size = rng.choice([0.01, 0.3, 3.0])
    noisy = tuple(
        tuple(part + size * rng.standard_normal(part.shape) for part in numbers)
        for numbers in duals.sums
    )
    assert priced_sums(program, replace(duals, sums=noisy)).bound >= best.value - 1e-12
    assert priced_sums(program, duals).bound == pytest.approx(best.value, abs=1e-6)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=5),
    st.integers(0, 8),
)
def test_least_factor_is_exact(pairs, over):
    a, b = ([Fraction(pair[i], 7) for pair in pairs] for i in (0, 1))
    delta = Fraction(over, 10)

    def excess(factor):
        return sum(max(x - factor * y, 0) for x, y in zip(a, b, strict=True))

    found = least_factor(a, b, delta)
    if found is None:
        assert excess(10**9) > delta
    else:
        assert found >= 1
        assert excess(found) <= delta
        assert found == 1 or excess(found * Fraction(999999, 1000000)) > delta


def test_information_at_its_own_level_is_decided():
    """Levels next to the information are told apart in exact arithmetic."""
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    prior = md.Prior([0.5, 0.5])
    exact = math.log(2) + 0.75 * math.log(0.75) + 0.25 * math.log(0.25)
    (level,) = md.MIPrivacy(1).check(flip, prior).achieved
    assert level == pytest.approx(exact, abs=1e-15)
    assert md.MIPrivacy(level).check(flip, prior).verdict is Verdict.YES
    assert md.MIPrivacy(math.nextafter(level, 0)).check(flip, prior).verdict is Verdict.NO


def test_rows_that_are_off_leave_it_undecided():
    kernel = np.array([[0.7, 0.3], [0.3, 0.7 + 1e-8]])
    for notion in (
        md.MaximalLeakage(1),
        md.MaximalCostLeakage(1),
        md.MIPrivacy(1),
        md.ApproximateLDP(1, 0.1),
    ):
        mechanism, prior = md.Mechanism(kernel), md.Prior([0.5, 0.5])
        (measured,) = notion.measure(mechanism, prior)
        for level, verdict in (
            (measured, Verdict.UNDECIDED),
            (measured + 1e-3, Verdict.YES),
            (measured - 1e-3, Verdict.NO),
        ):
            assert notion.with_levels(level).check(mechanism, prior).verdict is verdict


# Extremes, storage, bad input


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
@for_each("name", MAKERS)
def test_extremes(name):
    utility = md.utility.Hamming()
    for prior in (md.Prior([0.5, 0.5 - 1e-12, 1e-12, 0.0]), md.Prior([0.25] * 4)):
        for level in (0.0, 1e-4, 1.0, 30.0, math.inf):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GapWarning)
                found = md.design(prior, utility, MAKERS[name](level))
            assert level or found.certificate.checks[0].achieved == (0.0,)
            assert found.certificate.checks[0].verdict is Verdict.YES


@for_each("name", MAKERS)
def test_audit_save_and_load(name, tmp_path):
    prior = md.Prior([0.4, 0.3, 0.2, 0.1])
    notion = MAKERS[name](0.3)
    found = md.design(prior, md.utility.Hamming(), notion)
    report = md.audit(found.mechanism, prior, notion)
    assert report.verdict is Verdict.YES
    md.save(found, tmp_path / "d.json")
    again = md.load(tmp_path / "d.json")
    assert again.notions == (notion,)
    assert repr(again.bound) == repr(found.bound)


REFUSED = {
    "delta": (lambda: md.ApproximateLDP(1, 2), "from 0 to 1"),
    "features": (lambda: md.MIPufferfish(1, {"a": 1}), "of_functions"),
    "missing": (
        lambda: md.MIPufferfish(1, [{0: (0, 0)}]).sums(md.Prior([0.5, 0.5])),
        "every symbol",
    ),
    "secrets": (lambda: md.ApproximatePufferfish(1, 0.1, {"a": []}), "list of its symbols"),
    "level": (lambda: md.MaximalLeakage(-1), "non-negative"),
}


@for_each("name", REFUSED)
def test_bad_input(name):
    make, word = REFUSED[name]
    refused(make, word, error=LevelError)
