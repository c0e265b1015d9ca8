"""What tests draw from: priors, kernels, gains and notions, for Hypothesis and for NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray

import mechdesign as md
from mechdesign.privacy import NOTIONS, PrivacyNotion, as_notions
from mechdesign.program.program import Cone

#: Exact kernels in tests are integer weights over two to this power.
BITS = 40
PRIOR_KINDS = ("dirichlet", "zipf", "uniform")


# By a NumPy generator


def random_masses(rng: Generator, n: int, kind: str) -> NDArray[np.float64]:
    """n positive masses that sum to one up to rounding."""
    if kind == "uniform":
        return np.full(n, 1 / n)
    if kind == "zipf":
        weights = 1 / np.arange(1, n + 1) ** rng.uniform(0.5, 2)
        return weights / weights.sum()
    if kind == "dirichlet":
        return rng.dirichlet(np.ones(n))
    if kind.startswith("atom"):
        atom = float(kind.removeprefix("atom "))
        rest = rng.dirichlet(np.ones(n - 1))
        return np.concatenate([[atom], rest * (1 - atom)])
    raise ValueError(kind)


def random_gains(rng: Generator, n: int, m: int) -> NDArray[np.float64]:
    """An (n, m) matrix of gains in [-1, 1]: Hamming where it fits, integers, or reals."""
    kind = rng.integers(3)
    if kind == 0 and n == m:
        return np.eye(n)
    if kind == 1:
        return rng.integers(-1, 2, (n, m)).astype(float)
    return rng.uniform(-1, 1, (n, m))


def random_level(rng: Generator, low: float, high: float) -> float:
    """A level whose logarithm is uniform."""
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def random_kernel(rng: Generator, n: int, m: int) -> NDArray[np.float64]:
    """A positive kernel, from nearly constant to nearly deterministic."""
    common = rng.dirichlet(np.ones(m))
    own = rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 5.0])), n)
    share = rng.uniform(0.02, 0.98)
    return 0.999 * (share * common + (1 - share) * own) + 0.001 / m


def random_mechanism(rng: Generator, n: int, m: int) -> md.Mechanism:
    """An exact mechanism with a positive kernel."""
    return exact_mechanism(random_kernel(rng, n, m))


def exact_mechanism(
    kernel: Any, inputs: Any = None, outputs: Any = None, bits: int = BITS
) -> md.Mechanism:
    """A mechanism whose rows sum to exactly one, near a kernel."""
    rows = np.asarray(kernel, dtype=float)
    weights = np.floor(rows * 2.0**bits).astype(np.int64)
    weights[np.arange(len(rows)), rows.argmax(axis=1)] += (1 << bits) - weights.sum(axis=1)
    found = md.Mechanism.from_weights(weights, bits, inputs, outputs)
    assert found.is_exact
    return found


def plain_notions() -> list[type[PrivacyNotion]]:
    """Registered notions of the likelihood family that levels alone define."""
    return [
        cls for cls in NOTIONS.values() if issubclass(cls, md.LikelihoodBound) and not cls.needs
    ]


def cone_of(privacy: Any, prior: md.Prior) -> Cone:
    """The cone that notions ask of a column, for the whole of a prior."""
    parts = [part for notion in as_notions(privacy) for part in notion.constraints(prior).cone]
    return Cone(prior, tuple(parts))


# By Hypothesis


def sizes(low: int = 2, high: int = 5) -> st.SearchStrategy[int]:
    """Numbers of symbols or outputs."""
    return st.integers(low, high)


def counts(n: int) -> st.SearchStrategy[list[int]]:
    """n positive integer weights of very different or of equal size."""
    skewed = st.integers(0, 30).map(lambda k: 1 << k)
    return st.lists(st.one_of(st.integers(1, 20), skewed), min_size=n, max_size=n)


@st.composite
def priors(draw: Any, low: int = 2, high: int = 5) -> md.Prior:
    """Priors of full support."""
    return md.Prior.from_counts(draw(counts(draw(sizes(low, high)))))


@st.composite
def kernels(draw: Any, n: int, m: int, zeros: bool = True) -> NDArray[np.float64]:
    """Kernels with rows that sum to one up to rounding, zeros and tiny entries among them."""
    entry = st.one_of(
        st.integers(0 if zeros else 1, 9), st.integers(0, 50).map(lambda k: math.ldexp(1.0, -k))
    )
    rows = draw(st.lists(st.lists(entry, min_size=m, max_size=m), min_size=n, max_size=n))
    matrix = np.array(rows, dtype=float)
    matrix[matrix.sum(axis=1) == 0] = 1.0
    return matrix / matrix.sum(axis=1, keepdims=True)


@st.composite
def gain_matrices(draw: Any, n: int, m: int) -> NDArray[np.float64]:
    """Gains between -1 and 1 with few digits."""
    entry = st.integers(-8, 8).map(lambda k: k / 8)
    rows = st.lists(st.lists(entry, min_size=m, max_size=m), min_size=n, max_size=n)
    return np.array(draw(rows))


def levels(low: float = 1e-4, high: float = 30.0) -> st.SearchStrategy[float]:
    """Levels whose logarithms are spread evenly."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@st.composite
def notions(draw: Any, low: float = 1e-4, high: float = 30.0) -> PrivacyNotion:
    """A registered notion at random levels."""
    cls = draw(st.sampled_from(plain_notions()))
    return cls.at(*(draw(levels(low, high)) for _ in cls.level_fields))


@st.composite
def problems(draw: Any, low: float = 1e-4, high: float = 30.0, most: int = 2) -> Any:
    """A stated problem: prior, gains, and one notion or several."""
    from mechdesign.program.problem import state_problem

    prior = draw(priors())
    gains = draw(gain_matrices(len(prior), draw(sizes(1, 5))))
    asked = draw(st.lists(notions(low, high), min_size=1, max_size=most))
    return state_problem(prior, md.utility.Matrix(gains), asked)
