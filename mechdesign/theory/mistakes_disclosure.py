"""Errata of the paper on disclosure prevention, [SaeidianDisclosure]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from .mistakes import erratum
from .theorems import Claim, at_least, at_most, holds

Pairs = Iterator[tuple[Claim, Claim]]


def _laplace_average(y: float, entries: int, scale: float, p: float) -> float:
    """E exp(−|y − S/n|/b) for S binomial."""
    total = 0.0
    for k in range(entries + 1):
        mass = math.comb(entries, k) * p**k * (1 - p) ** (entries - k)
        total += mass * math.exp(-abs(y - k / entries) / scale)
    return total


@erratum(
    "E11a",
    source="SaeidianDisclosure",
    place="Proposition 4.6, proof",
    kind="false",
    printed="The density of the noisy count increases up to p and decreases after it.",
    corrected="It can have several peaks. The bound of the proposition holds all the same, because "
    "at every y the two likelihoods of D_i are within a factor e^(1/nb) of each other.",
)
def _unimodal() -> Pairs:
    n, b, p = 2, 0.05, 0.3
    at_zero, later = (_laplace_average(y, n, b, p) for y in (0.0, 0.25))
    yield (
        at_least(later, at_zero, "density at .25 against 0, for n = 2, b = .05, p = .3"),
        at_most(_entry_leakage(n, b, p), 1 / (n * b) - math.log1p(p * math.expm1(1 / (n * b)))),
    )


def _entry_leakage(n: int, b: float, p: float) -> float:
    """The largest PML of one of n binary entries over outcomes on a fine grid."""
    worst = 0.0
    for y in np.linspace(-0.5, 1.5, 2001):
        likelihoods = [
            sum(
                math.comb(n - 1, k)
                * p**k
                * (1 - p) ** (n - 1 - k)
                * math.exp(-abs(y - (k + d) / n) / b)
                for k in range(n)
            )
            for d in (0, 1)
        ]
        average = (1 - p) * likelihoods[0] + p * likelihoods[1]
        worst = max(worst, math.log(max(likelihoods) / average))
    return worst


@erratum(
    "E11b",
    source="SaeidianDisclosure",
    place="Example 3.11",
    kind="incomplete",
    printed="For m much smaller than n it may be safe to answer deterministically whether more "
    "than m people have an attribute.",
    corrected="The answer yes is safe there; the answer no leaks −log P(S ≤ m), and at m = 0 it "
    "discloses everyone. Both answers have to be looked at.",
)
def _only_one_answer() -> Pairs:
    n, p = 200, Fraction(3, 10)
    entropy = -math.log(0.7)
    no = -n * math.log(0.7)
    yes = -math.log1p(-float((1 - p) ** n))
    yield (
        at_most(no, entropy, "PML of the answer no, n = 200, m = 0, p = .3, against H∞(S_i)"),
        at_most(yes, entropy),
    )


@erratum(
    "E11c",
    source="SaeidianDisclosure",
    place="Proposition 3.6",
    kind="incomplete",
    printed="If a feature U is disclosed, so is a feature W with H∞(W) < H∞(U).",
    corrected="If moreover H∞(U) > 0: a constant feature is always disclosed, and no feature has "
    "negative min-entropy.",
)
def _constant_feature() -> Pairs:
    # Features W of a fair coin by P(W = 1 | x), on a grid that holds the constant ones.
    grid = np.linspace(0.0, 1.0, 21)
    first = (grid[:, None] + grid[None, :]) / 2
    least = float((-np.log(np.maximum(first, 1 - first))).min())
    # The construction of the proof for U = X, released as it is: W = 1 when X = 1, else with 1/2.
    mixed, posterior = 0.5 + 0.5 * 0.5, 1.0
    yield (
        at_most(least, -1e-3, "least min-entropy of a feature, against that of a constant, 0"),
        holds(-math.log(mixed) < math.log(2) and posterior == 1.0),
    )
