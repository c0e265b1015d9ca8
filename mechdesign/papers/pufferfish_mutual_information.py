"""Nuradha, Goldfeld: Pufferfish privacy by mutual information, [NuradhaGoldfeld].

In the order of the paper, on finite alphabets: a private function g of X, one public function w,
one prior. Corrected where the errata at the end say so.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.random import Generator

from .claims import Claims, at_most, equal, theorem
from .measurements import (
    Array,
    gaussian_information,
    mixture_information,
    mutual_information,
)
from .random_instances import (
    positive_kernel,
    some_level,
)

result = partial(theorem, source="NuradhaGoldfeld")


def conditional_information(joint: Array) -> float:
    """I(G; M | W) of a joint distribution with axes (G, M, W)."""
    total = 0.0
    for w in range(joint.shape[2]):
        part = joint[:, :, w]
        mass = float(part.sum())
        if mass > 0:
            p = part.sum(axis=1) / mass
            live = p > 0
            total += mass * mutual_information(p[live], part[live] / mass / p[live, None])
    return total


def worst_ratio(joint: Array) -> float:
    """The (ε, 0) Pufferfish level: the largest log-ratio of laws of M given g = a and g = b."""
    worst = 0.0
    for w in range(joint.shape[2]):
        laws = _laws(joint[:, :, w])
        worst = max(worst, float(np.log(laws.max(axis=0) / laws.min(axis=0)).max()))
    return worst


def _laws(part: Array) -> Array:
    """P(M | g = a) for each a, one row each."""
    return part / part.sum(axis=1, keepdims=True)


def _total_variation(a: Array, b: Array) -> float:
    return float(np.abs(a - b).sum()) / 2


def _some_joint(rng: Generator, outputs: int | None = None) -> Array:
    """A positive joint distribution of (g, M, w)."""
    g, w = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    m = int(rng.integers(2, 5)) if outputs is None else outputs
    prior = rng.dirichlet(np.ones(g * w)).reshape(g, w) + 0.02
    laws = np.stack([positive_kernel(rng, w, m) for _ in range(g)])
    joint = prior[:, None, :] * laws.transpose(0, 2, 1)
    return joint / joint.sum()


# Theorem 1: mutual information beside other guarantees


@result(
    "PP-Thm-1.1",
    statement="(ε, 0)-Pufferfish privacy implies I(g; M | w) ≤ ε.",
)
def _from_ratios(rng: Generator) -> Claims:
    joint = _some_joint(rng)
    yield at_most(conditional_information(joint), worst_ratio(joint), "random mechanism")


@result(
    "PP-Thm-1.2",
    statement="Without public information the laws of M given g = a and g = b are within "
    "√(I/2p_a) + √(I/2p_b) in total variation, I = I(g; M) (corrected, see E8).",
)
def _to_total_variation(rng: Generator) -> Claims:
    joint = _some_joint(rng).sum(axis=2, keepdims=True)
    information = conditional_information(joint)
    laws, masses = _laws(joint[:, :, 0]), joint.sum(axis=(1, 2))
    for a in range(len(laws)):
        for b in range(a):
            bound = math.sqrt(information / (2 * masses[a]))
            bound += math.sqrt(information / (2 * masses[b]))
            yield at_most(_total_variation(laws[a], laws[b]), bound, f"secrets {a} and {b}")


@result(
    "PP-Thm-1.3",
    statement="(ε, δ)-Pufferfish privacy implies I(g; M | w) ≤ 2h(δ') + 2δ' log min{|M|, |g|+1} "
    "with δ' = 1 − 2(1−δ)/(e^ε + 1).",
    conditions="finite alphabets, δ' at most 1/2",
)
def _from_approximate(rng: Generator) -> Claims:
    joint = _some_joint(rng)
    level = float(rng.uniform(0, 0.5))
    while True:
        delta = 0.0
        for w in range(joint.shape[2]):
            laws = _laws(joint[:, :, w])
            for a in laws:
                for b in laws:
                    delta = max(delta, float(np.maximum(a - math.exp(level) * b, 0).sum()))
        moved = 1 - 2 * (1 - delta) / (math.exp(level) + 1)
        if moved <= 0.5:
            break
        average = joint.sum(axis=1, keepdims=True) * joint.sum(axis=(0, 2))[None, :, None]
        joint = 0.7 * joint + 0.3 * average
    entropy = _binary_entropy(moved)
    size = min(joint.shape[1], joint.shape[0] + 1)
    bound = 2 * entropy + 2 * moved * math.log(size)
    yield at_most(conditional_information(joint), bound, f"ε = {level:.3g}, δ = {delta:.3g}")


def _binary_entropy(share: float) -> float:
    return -sum(v * math.log(v) for v in (share, 1 - share) if v > 0)


# Theorem 2: properties


@result(
    "PP-Thm-2.1",
    statement="Choosing between two ε-MI mechanisms by a coin that is not looked at is ε-MI.",
    tight=True,
)
def _convexity(rng: Generator) -> Claims:
    first = _some_joint(rng, 3)
    masses = first.sum(axis=1)
    laws = np.stack([positive_kernel(rng, masses.shape[1], 3) for _ in range(len(masses))])
    second = masses[:, None, :] * laws.transpose(0, 2, 1)
    share = float(rng.uniform(0, 1))
    most = max(conditional_information(first), conditional_information(second))
    mixed = conditional_information(share * first + (1 - share) * second)
    yield at_most(mixed, most, "two random mechanisms", scale=most)
    own = conditional_information(first)
    same = conditional_information(share * first + (1 - share) * first)
    yield equal(same, own, "a mechanism with itself", scale=own)


@result(
    "PP-Thm-2.2",
    statement="Levels of mutual-information Pufferfish privacy add up under adaptive composition.",
    tight=True,
)
def _composition(rng: Generator) -> Claims:
    first = _some_joint(rng)
    g, m, w = first.shape
    later = np.stack([positive_kernel(rng, m * w, 3) for _ in range(g)])
    both = first[:, :, :, None] * later.reshape(g, m, w, 3)
    joined = both.transpose(0, 1, 3, 2).reshape(g, m * 3, w)
    given = both.transpose(0, 3, 2, 1).reshape(g, 3, w * m)
    parts = conditional_information(first) + conditional_information(given)
    yield equal(conditional_information(joined), parts, "the chain rule", scale=parts)


@result(
    "PP-Thm-2.3",
    statement="Post-processing does not raise I(g; M | w).",
    tight=True,
)
def _post_processing(rng: Generator) -> Claims:
    joint = _some_joint(rng)
    before = conditional_information(joint)
    channel = positive_kernel(rng, joint.shape[1])
    after = conditional_information(np.einsum("gmw,mz->gzw", joint, channel))
    yield at_most(after, before, "random processing", scale=before)
    turned = conditional_information(joint[:, ::-1, :])
    yield equal(turned, before, "outputs renamed", scale=before)


# Theorems 3 and 4: noise


@result(
    "PP-Thm-3",
    statement="Gaussian noise of variance E Var(f|w)/(e^{2ε} − 1) makes one query ε-MI; it is all "
    "that is needed when f is Gaussian given w and determined by g and w.",
    conditions="d = 1",
    tight=True,
)
def _gaussian_mechanism(rng: Generator) -> Claims:
    level = some_level(rng, 0.1, 1.0)
    atoms = rng.uniform(-1, 1, 3)
    masses = rng.dirichlet(np.ones(3))
    variance = float(masses @ (atoms - masses @ atoms) ** 2)
    noise = variance / math.expm1(2 * level)
    found = mixture_information(list(atoms), list(masses), noise)
    yield at_most(found, level, "a query with three values")
    yield equal(gaussian_information(variance, 0.0, noise), level, "a Gaussian query")


@result(
    "PP-Cor-1",
    statement="Gaussian noise of variance Δ²/(2d(e^{2ε/d} − 1)) is ε-MI DP for sensitivity Δ.",
    conditions="d = 1; loose, see E10e",
)
def _gaussian_for_dp(rng: Generator) -> Claims:
    level = some_level(rng, 0.1, 1.0)
    reach, p = float(rng.uniform(0.5, 2)), float(rng.uniform(0.05, 0.95))
    noise = reach**2 / (2 * math.expm1(2 * level))
    found = mixture_information([0.0, reach], [p, 1 - p], noise)
    yield at_most(found, level, "one binary entry")


@result(
    "PP-Thm-4",
    statement="Gaussian noise of variance (A − de^{2ε/d}B)/(d(e^{2ε/d} − 1)) is ε-MI, with B = "
    "(1/2π)·exp((2/d)h(f|g,w) − 1) (corrected, see E7); exact for jointly Gaussian f and g.",
    conditions="d = 1, jointly Gaussian",
    tight=True,
)
def _gaussian_with_secret(rng: Generator) -> Claims:
    level = some_level(rng, 0.05, 0.5)
    total = float(rng.uniform(0.1, 2))
    rest = total * math.exp(-2 * level) * float(rng.uniform(0.1, 0.95))
    entropy = 0.5 * math.log(2 * math.pi * math.e * rest)
    b = math.exp(2 * entropy - 1) / (2 * math.pi)
    noise = (total - math.exp(2 * level) * b) / math.expm1(2 * level)
    yield equal(gaussian_information(total, rest, noise), level, "where noise is needed")
    free = total * math.exp(-2 * level) * float(rng.uniform(1.0, 1.0 / math.exp(-2 * level)))
    yield at_most(gaussian_information(total, free, 0.0), level, "where it is not")


@result(
    "PP-Rem-8",
    statement="No noise is needed for jointly Gaussian f and g when |ρ| ≤ √(1 − e^{-2ε}) "
    "(corrected, see E10c).",
    conditions="d = 1, jointly Gaussian",
    tight=True,
)
def _free_privacy(rng: Generator) -> Claims:
    level = some_level(rng, 0.005, 1.0)
    edge = math.sqrt(-math.expm1(-2 * level))
    rho = float(rng.uniform(-edge, edge))
    yield at_most(gaussian_information(1.0, 1 - rho * rho, 0.0), level, "a weaker correlation")
    yield equal(gaussian_information(1.0, 1 - edge * edge, 0.0), level, "at the edge", scale=level)
