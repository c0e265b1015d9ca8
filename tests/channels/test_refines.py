"""Refinement against post-processings that are known, and brute force over uses."""

import numpy as np
import pytest
from checks import for_each, slow_but
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.errors import KernelError, LevelError


def value(kernel, joint_gain):
    """The best that a decision after each report gains; gains times prior, ``(N, actions)``."""
    return (kernel.T @ joint_gain).max(axis=1).sum()


def kernels(seed):
    rng = np.random.default_rng(seed)
    n, m, k = rng.integers(2, 5, 3)
    return rng, rng.dirichlet(np.ones(m), n), rng.dirichlet(np.ones(k), n)


@for_each("seed", slow_but(4, range(20)))
def test_a_post_processing_is_found_and_no_use_prefers_it(seed):
    rng, first, other = kernels(seed)
    second = first @ rng.dirichlet(np.ones(other.shape[1]), first.shape[1])
    found = md.refines(first, second)
    assert found
    assert found.at_most < 1e-12
    assert np.abs(first @ found.channel.kernel - second).max() < 1e-12
    for _ in range(50):
        gain = rng.normal(size=(len(first), 4))
        assert value(second, gain) <= value(first, gain) + 1e-12


@for_each("seed", slow_but(4, range(20)))
def test_what_is_no_post_processing_is_refuted_by_a_use(seed):
    _, first, second = kernels(500 + seed)
    first = 0.2 * first + 0.8 * first.mean(axis=0)  # so that the second tells more
    found = md.refines(first, second)
    assert found.verdict is md.Verdict.NO
    assert found.at_most - found.at_least < 1e-9
    gain = found.gain
    assert np.ptp(gain, axis=1).sum() <= 1 + 1e-12
    # The second kernel plays its report as it is; the first one plays as well as it can.
    assert (second * gain).sum() - value(first, gain) == pytest.approx(found.advantage, abs=1e-12)
    assert found.advantage > 0


def test_the_distance_is_that_of_a_naive_program():
    for seed in range(8):
        _, a, b = kernels(900 + seed)
        (n, m), k = a.shape, b.shape[1]
        size = m * k + n * k + 1
        below, right = [], []
        for x in range(n):
            for z in range(k):
                row = np.zeros(size)
                row[[y * k + z for y in range(m)]] = -a[x]
                row[m * k + x * k + z] = -1
                below.append(row)
                right.append(-b[x, z])
            row = np.zeros(size)
            row[m * k + x * k : m * k + (x + 1) * k] = 1
            row[-1] = -1
            below.append(row)
            right.append(0)
        equal = [
            np.concatenate([np.kron(np.eye(m)[y], np.ones(k)), np.zeros(n * k + 1)])
            for y in range(m)
        ]
        found = linprog(np.eye(size)[-1], below, right, equal, np.ones(m), method="highs")
        assert md.refines(a, b).at_most == pytest.approx(found.fun, abs=1e-8)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_verdicts_agree_with_brute_force_over_uses(n):
    """Where the answer is no some use among many prefers the second, where it is yes none does."""
    rng = np.random.default_rng(n)
    answers = set()
    for trial in range(12):
        first = rng.dirichlet(np.ones(3), n)
        second = rng.dirichlet(np.ones(2), n)
        if trial % 2:
            second = first @ rng.dirichlet(np.ones(2), 3)
        found = md.refines(first, second)
        uses = rng.normal(size=(4000, n, 2))
        gains = np.einsum("xy,sxa->sya", first, uses).max(axis=2).sum(axis=1)
        others = np.einsum("xy,sxa->sya", second, uses).max(axis=2).sum(axis=1)
        if found:
            assert (others <= gains + 1e-9).all()
        elif found.at_least > 0.02:
            assert (others > gains).any()
        answers.add(found.verdict)
    assert answers == {md.Verdict.YES, md.Verdict.NO}


def test_symbols_without_mass_do_not_count():
    first = [[0.5, 0.5], [0.5, 0.5], [1, 0]]
    second = [[0.5, 0.5], [0.5, 0.5], [0, 1]]
    useful = [[0.5, 0.5], [0.4, 0.6], [0, 1]]
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([0.5, 0.5, 0])
    assert md.refines(first, second, prior)
    assert not md.refines(first, useful, prior)
    assert md.refines(first, second), "flipping the reports makes one of the other"


def test_inputs_are_matched_by_label():
    first = md.Mechanism([[0.9, 0.1], [0.2, 0.8]], ["a", "b"])
    turned = md.Mechanism([[0.2, 0.8], [0.9, 0.1]], ["b", "a"])
    assert md.refines(first, turned).at_most == 0
    with pytest.raises(KernelError, match="the same inputs"):
        md.refines(first, md.Mechanism([[0.9, 0.1], [0.2, 0.8]], ["a", "c"]))


def test_a_design_for_more_privacy_need_not_be_a_post_processing():
    prior = md.Prior([0.5, 0.3, 0.2])
    strict = md.design(prior, md.utility.Hamming(), md.LDP(0.5))
    loose = md.design(prior, md.utility.Hamming(), md.LDP(1.5))
    assert not md.refines(strict, loose)
    identity = np.eye(3)
    assert md.refines(md.Mechanism(identity, prior.labels), loose)
    assert "post-processing" in str(md.refines(identity, loose.mechanism.kernel))


@for_each("tolerance", [-1, 2, float("nan"), "no"])
def test_tolerances_that_are_none_are_refused(tolerance):
    with pytest.raises(LevelError):
        md.refines([[1, 0], [0, 1]], [[1, 0], [0, 1]], tolerance=tolerance)


def test_exact_zero_is_told_from_nearly_zero():
    first = md.Mechanism.from_weights(np.array([[3, 1], [1, 3]]), 2)
    same = md.refines(first, first, tolerance=0)
    assert same.verdict is md.Verdict.YES
    nearly = md.Mechanism.from_weights(
        np.array([[3 * 2**40 + 1, 2**40 - 1], [2**40, 3 * 2**40]]), 42
    )
    assert md.refines(first, nearly, tolerance=0).verdict is not md.Verdict.YES
    assert md.refines(first, nearly).verdict is md.Verdict.YES
