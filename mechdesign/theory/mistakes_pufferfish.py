"""Errata of the paper on mutual-information Pufferfish privacy, [NuradhaGoldfeld]."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from . import instances
from .mistakes import erratum
from .theorems import Claim, at_least, at_most, equal, holds

Pairs = Iterator[tuple[Claim, Claim]]


def gaussian_information(total: float, rest: float, noise: float) -> float:
    """I(g; f + N(0, noise)) for jointly Gaussian f, g: Var f = ``total``, Var(f|g) = ``rest``."""
    return 0.5 * math.log((total + noise) / (rest + noise))


def mixture_information(atoms: list[float], masses: list[float], noise: float) -> float:
    """I(f; f + N(0, noise)) for f on finitely many atoms, by the trapezoidal rule."""
    from scipy.integrate import trapezoid

    spread = math.sqrt(noise)
    y = np.linspace(min(atoms) - 10 * spread, max(atoms) + 10 * spread, 20001)
    likelihoods = [
        np.exp(-((y - a) ** 2) / (2 * noise)) / math.sqrt(2 * math.pi * noise) for a in atoms
    ]
    average = sum(m * d for m, d in zip(masses, likelihoods, strict=True))
    terms = [
        m * trapezoid(np.where(d > 1e-300, d * np.log(np.maximum(d, 1e-300) / average), 0.0), y)
        for m, d in zip(masses, likelihoods, strict=True)
    ]
    return float(sum(terms))


@erratum(
    "E7",
    source="NuradhaGoldfeld",
    place="Theorem 4",
    kind="misprint",
    printed="B = (1/2π)·exp((d/2)·h − 1).",
    corrected="B = (1/2π)·exp((2/d)·h − 1), what the entropy power inequality gives.",
)
def _exponent() -> Pairs:
    total, rest, level = 0.02, 0.01, 0.1
    entropy = 0.5 * math.log(2 * math.pi * math.e * rest)
    information = []
    for exponent in (0.5, 2.0):
        b = math.exp(exponent * entropy - 1) / (2 * math.pi)
        noise = max((total - math.exp(2 * level) * b) / math.expm1(2 * level), 0.0)
        information.append(gaussian_information(total, rest, noise))
    yield (
        at_most(information[0], level, "I(g; M) at A = .02, Var(f|g) = .01, ε = .1"),
        equal(information[1], level),
    )


@erratum(
    "E8",
    source="NuradhaGoldfeld",
    place="Theorem 1, second implication",
    kind="false",
    printed="ε-MI PP implies (ε', √(2ε))-PP for any set of priors.",
    corrected="Without public information TV ≤ √(I/2p_a) + √(I/2p_b) for secrets of masses p_a "
    "and p_b; √(2ε) needs a set of priors that is closed under changing those masses.",
)
def _total_variation() -> Pairs:
    for rare in (0.01, 0.001):
        information = -rare * math.log(rare) - (1 - rare) * math.log1p(-rare)
        # Releasing the secret makes the two conditional laws disjoint.
        distance = 1.0
        bound = math.sqrt(information / (2 * rare)) + math.sqrt(information / (2 * (1 - rare)))
        yield (
            at_most(
                distance, math.sqrt(2 * information), f"TV when a Bernoulli({rare:g}) is released"
            ),
            at_most(distance, bound),
        )


@erratum(
    "E9",
    source="NuradhaGoldfeld",
    place="Remark 5",
    kind="misprint",
    printed="The noise for the mean of n entries of variance s is (e^ε − 1)^-1 (s/n)^-1/2.",
    corrected="Given the other rows, σ² = s/(n²(e^{2ε} − 1)) for the Gaussian mechanism and "
    "b = √s/(n(e^ε − 1)) for the Laplace mechanism.",
)
def _mean_query() -> Pairs:
    n, s, level = 4, 100.0, 0.5
    printed = 1 / (math.expm1(level) * math.sqrt(s / n))
    corrected = s / (n * n * math.expm1(2 * level))
    given_rest = s / (n * n)
    yield (
        at_most(
            gaussian_information(given_rest, 0.0, printed**2),
            level,
            "I for the mean of 4 Gaussian entries of variance 100, ε = .5",
        ),
        equal(gaussian_information(given_rest, 0.0, corrected), level),
    )


@erratum(
    "E10a",
    source="NuradhaGoldfeld",
    place="Remark 1",
    kind="false",
    printed="Attribute privacy is the case W = E = ∅ of the framework.",
    corrected="Then the supremum is over nothing and every mechanism passes; take one constant "
    "public function, joined to every private one.",
)
def _empty_public() -> Pairs:
    pairs: list[np.ndarray] = []
    p = np.array([0.5, 0.3, 0.2])
    over_nothing = max((instances.mutual_information(p, k) for k in pairs), default=0.0)
    with_constant = instances.mutual_information(p, np.eye(3))
    yield (
        at_least(over_nothing, 0.1, "the supremum for a mechanism that releases the attribute"),
        at_least(with_constant, 0.1),
    )


@erratum(
    "E10b",
    source="NuradhaGoldfeld",
    place="Remark 4",
    kind="incomplete",
    printed="The mechanism of Corollary 1 needs less noise than the classical Gaussian one "
    "whenever ε' < 2√((e^{2ε} − 1) log(1.25/√(2ε))).",
    corrected="That is the case d = 1; for d dimensions e^{2ε} − 1 becomes d(e^{2ε/d} − 1).",
)
def _dimension() -> Pairs:
    level, other, d = 0.49, 0.99, 50
    log = math.log(1.25 / math.sqrt(2 * level))
    assert other < 2 * math.sqrt(math.expm1(2 * level) * log)
    classic = 2 * log / other**2
    ours = 1 / (2 * d * math.expm1(2 * level / d))
    edge = 2 * math.sqrt(d * math.expm1(2 * level / d) * log)
    yield (
        at_most(ours, classic, "noise at d = 50, ε = .49, ε' = .99, sensitivity 1"),
        holds((ours < classic) == (other < edge)),
    )


@erratum(
    "E10c",
    source="NuradhaGoldfeld",
    place="Remark 8, the condition on the correlation",
    kind="misprint",
    printed="No noise is needed when ρ ≤ √((e^{2ε} − 1)e^{-2ε}).",
    corrected="When |ρ| is at most that.",
)
def _sign_of_correlation() -> Pairs:
    rho, level = -0.99, 0.1
    information = -0.5 * math.log1p(-rho * rho)
    edge = math.sqrt(-math.expm1(-2 * level))
    assert rho <= edge
    yield (
        at_most(information, level, "I at ρ = −.99, ε = .1, without noise"),
        holds((information <= level) == (abs(rho) <= edge)),
    )


@erratum(
    "E10d",
    source="NuradhaGoldfeld",
    place="Remark 8, on the size of ε",
    kind="false",
    printed="Privacy without noise takes an ε that is large compared to d/2.",
    corrected="It takes a weak correlation: ρ = .1 is free at ε = .00503.",
)
def _small_level() -> Pairs:
    rho, level, d = 0.1, 0.00503, 1
    information = -0.5 * math.log1p(-rho * rho)
    assert information <= level
    yield (
        at_least(level, d / 2, "ε at which ρ = .1 needs no noise, against d/2"),
        at_most(information, level),
    )


@erratum(
    "E10e",
    source="NuradhaGoldfeld",
    place="Corollary 1",
    kind="loose",
    printed="σ² ≥ Δ²/(2d(e^{2ε/d} − 1)) for sensitivity Δ.",
    corrected="In one dimension Δ²/(4(e^{2ε} − 1)) is enough, because a variable with range Δ has "
    "variance at most Δ²/4.",
)
def _variance_of_a_range() -> Pairs:
    level, reach = 0.2, 1.0
    printed = reach**2 / (2 * math.expm1(2 * level))
    enough = reach**2 / (4 * math.expm1(2 * level))
    worst = max(mixture_information([0.0, reach], [p, 1 - p], enough) for p in (0.1, 0.3, 0.5, 0.8))
    yield (
        equal(enough, printed, "noise that is enough at ε = .2, d = 1, Δ = 1"),
        at_most(worst, level),
    )
