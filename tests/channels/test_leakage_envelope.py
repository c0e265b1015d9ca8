"""The leakage envelope against a program of its own, random post-processings and exact ends."""

import math
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.errors import LevelError


def naive(kernel, prior, level, risk_averse=False):
    """The largest probability of leaking at least a level, one variable for each share."""
    kernel, prior = kernel[prior > 0], prior[prior > 0]
    n, m = kernel.shape
    q = prior @ kernel
    side = q - math.exp(level) * kernel if risk_averse else kernel - math.exp(level) * q
    rows = [np.tile(np.eye(m)[y], n) for y in range(m)]
    rows += [-np.kron(np.eye(n)[x], side[x]) for x in range(n)]
    found = linprog(np.tile(-q, n), A_ub=rows, b_ub=[1] * m + [0] * n, method="highs")
    assert found.status == 0
    return -found.fun


def tail(kernel, prior, level, risk_averse=False):
    q = prior @ kernel
    used = q > 1e-15
    with np.errstate(divide="ignore"):
        if risk_averse:
            leak = np.log(q[used]) - np.log(kernel[prior > 0][:, used].min(axis=0))
        else:
            leak = np.log(kernel[prior > 0][:, used].max(axis=0)) - np.log(q[used])
    return q[used][leak >= level].sum()


def instance(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 5, 2)
    kernel = rng.dirichlet(np.full(m, 0.7), n)
    return kernel, rng.dirichlet(np.ones(n))


@for_each("risk_averse", [False, True])
@for_each("seed", slow_but(4, range(12)))
def test_both_sides_are_those_of_a_naive_program(seed, risk_averse):
    kernel, prior = instance(seed)
    found = md.leakage_envelope(kernel, prior, [0.05, 0.3, 0.8, 1.5], risk_averse=risk_averse)
    for point in found.points:
        expected = naive(kernel, prior, point.level, risk_averse)
        assert point.at_least <= point.at_most
        assert point.at_least == pytest.approx(expected, abs=1e-7)
        assert point.at_most == pytest.approx(expected, abs=1e-7)
        assert point.before <= point.at_least
    assert (np.diff(found.at_most) <= 1e-9).all()


@pytest.mark.parametrize("risk_averse", [False, True])
def test_no_post_processing_exceeds_it_and_its_own_attains_it(risk_averse):
    rng = np.random.default_rng(5)
    higher = 0
    for seed in range(30):
        kernel, prior = instance(100 + seed)
        level = float(rng.uniform(0.05, 1.0))
        point = md.leakage_envelope(kernel, prior, level, risk_averse=risk_averse).points[0]
        for _ in range(14):
            channel = rng.dirichlet(np.full(3, 0.3), kernel.shape[1])
            after = tail(kernel @ channel, prior, level + 1e-12, risk_averse)
            assert after <= point.at_most + 1e-12
            higher += after > point.before + 1e-9
        own = md.Mechanism(kernel, outputs=point.channel.inputs) @ point.channel
        assert tail(own.kernel, prior, level - 1e-9, risk_averse) >= point.at_least - 1e-9
    assert higher > 20, "the control: without the envelope post-processings would exceed the tail"


def test_what_the_channel_attains_is_exact():
    kernel = md.Mechanism([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]])
    prior = md.Prior([0.25, 0.25, 0.5])
    point = md.leakage_envelope(kernel, prior, 0.4).points[0]
    after = kernel @ point.channel
    reached = Fraction(0)
    for y in range(after.shape[1] - 1):
        column = [Fraction(int(w), 1 << after.bits) for w in after.weights[:, y]]
        total = sum(prior.weights)
        mass = sum(Fraction(w, total) * k for w, k in zip(prior.weights, column, strict=True))
        about = after.outputs[y][1]
        assert column[kernel.inputs.index(about)] >= Fraction(math.exp(0.4)) * mass * (1 - 2**-50)
        reached += mass
    assert float(reached) == pytest.approx(point.at_least, abs=1e-15)
    assert point.at_least == pytest.approx(naive(kernel.kernel, prior.probabilities, 0.4), abs=1e-9)


@pytest.mark.slow
@given(st.integers(2, 6), st.floats(0.1, 3.0))
def test_randomised_response_leaks_its_level_always_and_more_never(n, epsilon):
    """Under equal masses every report leaks the same, before and after any post-processing."""
    prior = md.Prior.uniform(n)
    kernel = md.randomised_response(prior, epsilon)
    found = md.leakage_envelope(kernel, prior, [0.0, 0.5])
    assert found.points[0].at_least == pytest.approx(1, abs=1e-12)
    top = found.largest
    assert found.at(math.nextafter(top, math.inf)).at_most == 0
    assert found.at(top * (1 - 1e-9)).at_least == pytest.approx(1, abs=1e-6)
    assert found.level_at(0.0) == pytest.approx(top, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.3])
def test_the_extremal_mechanism_of_pml_leaks_its_level_always(epsilon):
    prior = md.Prior([0.3, 0.3, 0.4])
    kernel = md.extremal(prior, md.PML(epsilon)).mechanism
    found = md.leakage_envelope(kernel, prior, [epsilon * 0.999, epsilon * 1.001])
    assert found.points[0].at_least == pytest.approx(1, abs=1e-9)
    assert found.points[1].at_most == 0


def response(prior, keep):
    """A randomised response in sixteenths, which is exact: the truth, or any symbol alike."""
    n = len(prior)
    other = Fraction(1, 16 * n) * (16 - keep)
    return md.Mechanism(
        [[float(other + Fraction(keep, 16) * (x == y)) for y in range(n)] for x in range(n)]
    )


RESPONSES = {
    "two": ([0.75, 0.25], 6),
    "two, near": ([0.5625, 0.4375], 2),
    "four": ([0.5, 0.25, 0.125, 0.125], 8),
    "four, weak": ([0.625, 0.125, 0.125, 0.125], 1),
    "four, strong": ([0.4375, 0.3125, 0.1875, 0.0625], 15),
    "eight": ([0.5, 0.125, 0.125, 0.0625, 0.0625, 0.0625, 0.03125, 0.03125], 5),
}


@pytest.mark.slow
@for_each("risk_averse", [False, True])
@for_each("case", RESPONSES)
def test_the_closed_form_of_randomised_response_is_the_linear_program(case, risk_averse):
    masses, keep = RESPONSES[case]
    kernel = response(masses, keep)
    found = md.leakage_envelope(kernel, masses, risk_averse=risk_averse)
    inside = 0
    for point in found.points:
        closed = found.closed_form(point.level)
        assert point.at_least - 1e-9 <= closed <= point.at_most + 1e-9
        inside += point.before + 1e-3 < closed < 1 - 1e-3
    for level in np.linspace(0.0123, 1.9, 12):  # away from jumps, which floats decide either way
        expected = naive(kernel.kernel, np.array(masses), level, risk_averse)
        assert found.closed_form(level) == pytest.approx(expected, abs=1e-7)
    assert inside > 2, "the control: the form is not only what the reports do as they are"


@pytest.mark.parametrize("notion", [md.PML(0.2), md.PMC(0.2)], ids=str)
def test_the_closed_form_of_extremal_mechanisms_is_a_step(notion):
    prior = md.Prior([0.3, 0.3, 0.4])
    kernel = md.extremal(prior, notion).mechanism
    found = md.leakage_envelope(kernel, prior, risk_averse=isinstance(notion, md.PMC))
    for level, expected in ((0.0, 1), (0.1999999, 1), (0.2000001, 0), (5.0, 0)):
        assert found.closed_form(level) == expected
        point = found.at(level)
        assert point.at_least == pytest.approx(expected, abs=1e-9)
        assert point.at_most == pytest.approx(expected, abs=1e-9)


def test_other_kernels_have_no_closed_form():
    found = md.leakage_envelope(*instance(3), [0.1])
    between = found.largest * 0.9
    assert 0 < found.at(between).before < 1
    assert found.closed_form(between) is None
    with pytest.raises(LevelError):
        found.closed_form(math.nan)


def test_levels_for_a_probability_and_back():
    kernel, prior = instance(3)
    found = md.leakage_envelope(kernel, prior)
    for share in (0.05, 0.3, 0.7):
        level = found.level_at(share)
        assert found.at(level).at_most <= share
        assert level == 0 or found.at(level * (1 - 1e-6)).at_most > share - 1e-4
    assert found.level_at(1.0) == 0.0


def test_rare_outcomes_rare_symbols_and_symbols_that_cannot_be():
    kernel = np.array([[1 - 1e-12, 1e-12, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([1 - 1e-12, 1e-12, 0])
    for level in (1e-4, 0.5, 5.0, 20.0):
        point = md.leakage_envelope(kernel, prior, level).points[0]
        assert 0 <= point.at_least <= point.at_most <= 1
        assert point.gap <= 1e-9
    assert md.leakage_envelope(kernel, prior, 40.0).points[0].at_most == 0


def test_infinite_leakage_is_a_curve_up_to_ten():
    found = md.leakage_envelope([[1, 0], [0.5, 0.5]], [0.5, 0.5], risk_averse=True)
    assert found.largest == math.inf
    assert found.levels.max() == 10
    assert found.points[-1].at_least > 0
    assert found.level_at(0.1) == math.inf


@pytest.mark.parametrize("rows", [[[1, 0], [0, 1]], [[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1]]])
def test_a_curve_where_every_outcome_rules_a_symbol_out(rows):
    found = md.leakage_envelope(rows, np.full(len(rows), 1 / len(rows)), risk_averse=True)
    assert found.largest == math.inf
    assert (found.levels[0], found.levels[-1]) == (0, 10)
    assert (found.at_least == 1).all()


@for_each("levels", [[], -1, math.nan, "0.5", [0.1, None], math.inf])
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(LevelError):
        md.leakage_envelope([[0.5, 0.5], [0.4, 0.6]], [0.5, 0.5], levels)
