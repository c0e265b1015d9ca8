"""Accuracy under any prior in closed form: duals prove it, and it refuses where it does not hold.

Independent of the package's way: LDP accuracy is the best of k-ary randomised responses on the
likeliest symbols, and accuracy under bounds on the lift lies below a knapsack that treats outputs
one by one, here filled by a generic linear program.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.program.problem import state_problem
from mechdesign.solve.closed_form import Recognition

NOTIONS = {
    "LDP": md.LDP,
    "PML": md.PML,
    "LIP": md.LIP,
    "ALIP": lambda level: md.ALIP(2 * level, level),
    "PML and PMC": lambda level: [md.PML(level), md.PMC(2 * level)],
}
each = for_each("name", NOTIONS)


def refusal(prior, utility, privacy):
    return Recognition().refusal(state_problem(prior, utility, privacy).program)


@st.composite
def tasks(draw):
    """A prior and gains b_x + a_x 1{y = y(x)}: symbols without an output, outputs without one."""
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 12)), int(rng.integers(2, 12))
    kind = draw(st.sampled_from(["dirichlet", "sparse", "zipf", "ties"]))
    p = {
        "dirichlet": lambda: rng.dirichlet(np.ones(n)),
        "sparse": lambda: rng.dirichlet(np.full(n, 0.1)) + 1e-12,
        "zipf": lambda: 1 / np.arange(1, n + 1),
        "ties": lambda: rng.integers(1, 4, n).astype(float),
    }[kind]()
    gains = np.zeros((n, m))
    told = int(rng.integers(1, min(n, m) + 1))
    right = rng.permutation(n)[:told], rng.permutation(m)[:told]
    gains[right] = 1.0 if draw(st.booleans()) else rng.uniform(0.1, 5, told)
    return p / p.sum(), gains + draw(st.sampled_from([0.0, 1.0])) * rng.normal(size=(n, 1))


@each
@given(task=tasks(), level=st.floats(1e-3, 8))
def test_what_it_returns_is_optimal(name, task, level):
    p, gains = task
    prior, utility, privacy = (
        md.Prior.from_counts(p),
        md.utility.Matrix(gains),
        NOTIONS[name](level),
    )
    why = refusal(prior, utility, privacy)
    if name == "LDP":
        assert why is None
    assume(why is None)
    found = md.design(prior, utility, privacy, solver="recognition")
    assert found.gap <= 1e-9
    assert found.certificate.repair_loss <= 1e-9


@given(st.integers(0, 10**6), st.integers(2, 30), st.floats(1e-3, 12))
def test_ldp_accuracy_is_the_best_randomised_response(seed, n, level):
    p = np.sort(np.random.default_rng(seed).dirichlet(np.ones(n)))[::-1]
    e = math.exp(level)
    expected = max(e * p[:k].sum() / (e - 1 + k) for k in range(1, n + 1))
    found = md.design(md.Prior.from_counts(p), md.utility.Hamming(), md.LDP(level))
    assert found.value == pytest.approx(expected, rel=1e-9)


@for_each("name", ["PML", "LIP", "ALIP"])
@for_each("seed", range(6))
def test_reaches_the_knapsack_over_outputs(name, seed):
    """q_y with Σ q = 1 and P(right | y) below three lines in q_y: any private kernel obeys it."""
    rng = np.random.default_rng([4, seed])
    n, level = 60, float(rng.uniform(0.3, 2))
    p = rng.dirichlet(np.ones(n))
    h = math.exp(level)
    low = {"PML": 0.0, "LIP": 1 / h, "ALIP": h**-2}[name]
    # Variables d (right) and q; d ≤ h q, d ≤ 1 − l + l q, p d + l (1 − p) q ≤ q.
    eye = np.eye(n)
    above = np.block([[eye, -h * eye], [eye, -low * eye], [np.diag(p), np.diag(low * (1 - p) - 1)]])
    limits = np.concatenate([np.zeros(n), np.full(n, 1 - low), np.zeros(n)])
    total = np.append(np.zeros(n), np.ones(n))[None, :]
    knapsack = linprog(np.append(-p, np.zeros(n)), above, limits, total, [1.0], method="highs")
    found = md.design(md.Prior.from_counts(p), md.utility.Hamming(), NOTIONS[name](level))
    assert found.method == "recognition"
    assert found.value == pytest.approx(-knapsack.fun, abs=1e-8)
    assert found.gap <= 1e-10


@for_each(
    ("gains", "privacy", "words"),
    [
        (np.eye(3), [md.LDP(1), md.LIP(0.6)], "together"),
        (np.eye(3), md.PMC(1), "a lower bound on the lift alone"),
        (np.eye(3), md.LDP(0), "level of zero"),
        (1 - np.eye(3), md.LDP(1), "two outputs"),
        ([[1, 0, 0], [1, 0, 0], [0, 0, 1]], md.LDP(1), "two symbols"),
    ],
)
def test_refuses_with_a_reason(gains, privacy, words):
    why = refusal(md.Prior([0.5, 0.3, 0.2]), md.utility.Matrix(gains), privacy)
    assert why is not None
    assert words in why
