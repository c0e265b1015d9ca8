"""Errata of the paper on Pufferfish privacy and mutual information, [NuradhaGoldfeld].

The paper was read as LaTeX reconstructed from its PDF: what looks like a misprint may have arisen
there. Displays are cited as they were read.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..noise.additive import (
    classical_gaussian_variance,
    gaussian_variance,
    gaussian_variance_for_dp,
    gaussian_variance_given_secret,
    variation_from_information,
)
from .claims import Pairs, at_least, at_most, equal, erratum, holds
from .measurements import Array, gaussian_information, mixture_information, mutual_information

mistake = partial(erratum, source="NuradhaGoldfeld")


@mistake(
    "E7",
    place="Theorem 4",
    kind="misprint",
    quotation="B = (1/2π) exp((d/2) h(f(X)|g(X), w(X)) − 1)",
    printed="B = (1/2π)·exp((d/2)·h − 1).",
    reading="With 2/d in place of d/2, as the reduction in Remark 7 uses it.",
    corrected="B = (1/2π)·exp((2/d)·h − 1), what the entropy power inequality gives.",
    proof="The entropy power of f is e^(2h/d)/(2πe), and it adds to σ², that of the noise, given "
    "the secret. For a Gaussian with d = 1 it is the conditional variance, as in Remark 7. And in "
    "another unit, cf for f, h grows by d·log c and B must grow by c²; with d/2 it grows by "
    "c^{d²/2}.",
)
def _exponent() -> Pairs:
    total, rest, level = 0.02, 0.01, 0.1
    entropy = 0.5 * math.log(2 * math.pi * math.e * rest)
    b = math.exp(0.5 * entropy - 1) / (2 * math.pi)
    noise = max((total - math.exp(2 * level) * b) / math.expm1(2 * level), 0.0)
    enough = gaussian_variance_given_secret(total, entropy, level)
    yield (
        at_most(
            gaussian_information(total, rest, noise),
            level,
            "I(g; M) at A = .02, Var(f|g) = .01, ε = .1",
        ),
        equal(gaussian_information(total, rest, enough), level),
    )


@mistake(
    "E8",
    place="Theorem 1, second implication",
    kind="false",
    quotation="ε-MI PP ⟹ (ε', √(2ε))-PP",
    printed="ε-MI PP implies (ε', √(2ε))-PP for any set of priors.",
    reading="None that speaks of any set of priors, as the theorem does. It holds for those under "
    "which the law of g(X) given w(X) may be any: the theorem on redundancy and capacity that the "
    "proof cites is about the supremum over all of them. For differential privacy that is so.",
    corrected="Without public information TV ≤ √(I/2p_a) + √(I/2p_b) for secrets of masses p_a "
    "and p_b; √(2ε) needs a set of priors that is closed under changing those masses.",
    proof="Where the secret is released P(M = a|a) = 1 and P(M = a|b) = 0, so that e^ε' times the "
    "second adds nothing: no ε' helps. In general I = Σ_a p_a D(P_a‖P_M) ≥ p_a D(P_a‖P_M), and "
    "Pinsker's inequality with the triangle inequality bounds the total variation of P_a and P_b.",
)
def _disjoint_laws() -> Pairs:
    for rare in (0.01, 0.001):
        information = -rare * math.log(rare) - (1 - rare) * math.log1p(-rare)
        # Releasing the secret makes the two conditional laws disjoint.
        distance = 1.0
        yield (
            at_most(
                distance, math.sqrt(2 * information), f"TV when a Bernoulli({rare:g}) is released"
            ),
            at_most(distance, variation_from_information(information, rare, 1 - rare)),
        )


@mistake(
    "E9",
    place="Remark 5",
    kind="misprint",
    quotation="(e^ε − 1)^{−1} (s/n)^{−1/2}",
    printed="The noise for the mean of n entries of variance s is (e^ε − 1)^-1 (s/n)^-1/2.",
    reading="With exponent +½ it is the scale of Laplace noise for a deviation of √(s/n), that of "
    "the whole mean; given the other rows the deviation is √s/n.",
    corrected="Given the other rows, σ² = s/(n²(e^{2ε} − 1)) for the Gaussian mechanism and b = "
    "√s/(n(e^ε − 1)) for the Laplace mechanism.",
    proof="Given the other rows the mean has the variance s/n² of one entry over n; Theorem 3 and "
    "Remark 6 take it from there. As printed the noise falls when the variance grows.",
)
def _mean_query() -> Pairs:
    n, s, level = 4, 100.0, 0.5
    printed = 1 / (math.expm1(level) * math.sqrt(s / n))
    given_rest = s / (n * n)
    yield (
        at_most(
            gaussian_information(given_rest, 0.0, printed**2),
            level,
            "I for the mean of 4 Gaussian entries of variance 100, ε = .5",
        ),
        equal(gaussian_information(given_rest, 0.0, gaussian_variance(given_rest, level)), level),
    )


@mistake(
    "E10a",
    place="Remark 1",
    kind="gap",
    quotation="As AP includes no public information we further take W = E = ∅",
    printed="Attribute privacy is the case W = E = ∅ of the framework, taken literally.",
    reading="With “∅” for one constant public function joined to every private one, which is what "
    "Remark 7 calculates with, all of it holds.",
    corrected="Taken literally the supremum is over nothing and every mechanism passes; take one "
    "constant public function, joined to every private one.",
    proof="Definition 3 takes the supremum over pairs g ~ w, of which an empty edge set has none. "
    "Conditioning on a constant changes no information.",
)
def _empty_public() -> Pairs:
    pairs: list[Array] = []
    p = np.array([0.5, 0.3, 0.2])
    over_nothing = max((mutual_information(p, k) for k in pairs), default=0.0)
    with_constant = mutual_information(p, np.eye(3))
    yield (
        at_least(over_nothing, 0.1, "the supremum for a mechanism that releases the attribute"),
        at_least(with_constant, 0.1),
    )


@mistake(
    "E10b",
    place="Remark 4",
    kind="gap",
    quotation="whenever ε' < 2((e^{2ε} − 1) log(1.25/√(2ε)))^{1/2}",
    printed="The mechanism of Corollary 1 needs less noise than the classical Gaussian one "
    "whenever ε' < 2√((e^{2ε} − 1) log(1.25/√(2ε))), in any dimension.",
    reading="For d = 1 it is exact.",
    corrected="That is the case d = 1; for d dimensions e^{2ε} − 1 becomes d(e^{2ε/d} − 1).",
    proof="Δ²/(2d(e^{2ε/d} − 1)) < 2 log(1.25/√(2ε))Δ²/ε'² solved for ε'; d(e^{2ε/d} − 1) falls "
    "with d, to 2ε.",
)
def _dimension() -> Pairs:
    level, other, d = 0.49, 0.99, 50
    delta = math.sqrt(2 * level)
    log = math.log(1.25 / delta)
    assert other < 2 * math.sqrt(math.expm1(2 * level) * log)
    classic = classical_gaussian_variance(1.0, other, delta)
    ours = gaussian_variance_for_dp(1.0, level, d)
    edge = 2 * math.sqrt(d * math.expm1(2 * level / d) * log)
    yield (
        at_most(ours, classic, "noise at d = 50, ε = .49, ε' = .99, sensitivity 1"),
        holds((ours < classic) == (other < edge)),
    )


@mistake(
    "E10c",
    place="Remark 8, the condition on the correlation",
    kind="misprint",
    quotation="ρ(f(X), g(X)|w(X) = c) ≤ √((e^{2ε} − 1)e^{−2ε})",
    printed="No noise is needed when ρ ≤ √((e^{2ε} − 1)e^{-2ε}).",
    reading="With bars, |ρ|; “weak correlation”, the words that follow, mean that.",
    corrected="When |ρ| is at most that.",
    proof="I = −½ log(1 − ρ²) for jointly Gaussian variables, at most ε exactly when ρ² ≤ 1 − "
    "e^-2ε.",
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


@mistake(
    "E10d",
    place="Remark 8, on the size of ε",
    kind="gap",
    quotation="corresponds to cases where ε is large compared to d/2",
    printed="Privacy without noise takes an ε that is large compared to d/2.",
    reading="For a query that the secret all but determines it does; and the remark goes on to say "
    "that weak correlation may do as well, which is the case that it leaves out here.",
    corrected="It takes a weak correlation: ρ = .1 is free at ε = .00503.",
    proof="A ≥ dB leaves e^{2ε/d} ≥ A/(dB) ≥ 1, which any ε meets when A is close enough to dB.",
)
def _small_level() -> Pairs:
    rho, level, d = 0.1, 0.00503, 1
    information = -0.5 * math.log1p(-rho * rho)
    assert information <= level
    entropy = 0.5 * math.log(2 * math.pi * math.e * (1 - rho * rho))
    yield (
        at_least(level, d / 2, "ε at which ρ = .1 needs no noise, against d/2"),
        at_most(gaussian_variance_given_secret(1.0, entropy, level), 0.0),
    )


@mistake(
    "E10e",
    place="Corollary 1",
    kind="loose",
    quotation="σ² ≥ Δ_2²(f)/(2d(e^{2ε/d} − 1))",
    printed="σ² ≥ Δ²/(2d(e^{2ε/d} − 1)) is ε-MI DP for a query of sensitivity Δ.",
    reading="True as printed, and only said to be sufficient: no mistake, a smaller constant.",
    corrected="Δ²/(2(d + 1)(e^{2ε/d} − 1)) is enough in every dimension d, half as much for d = 1. "
    "Theorem 3 gives no less, as the corners of a regular simplex have that variance.",
    proof="Given the other rows the values of the query are Δ apart at most. By Jung's theorem "
    "they lie within Δ√(d/(2(d + 1))) of a point, so that their variance, summed over coordinates, "
    "is at most Δ²d/(2(d + 1)), and Theorem 3 applies. Equal masses on the corners of a regular "
    "simplex of side Δ have that variance; for d = 1 the bound is Popoviciu's inequality.",
)
def _variance_of_a_range() -> Pairs:
    level, reach = 0.2, 1.0
    for d in (1, 2, 3, 7):
        printed = gaussian_variance_for_dp(reach, level, d)
        enough = gaussian_variance(reach**2 * d / (2 * (d + 1)), level, d)
        # What log det(I + covariance/σ²)/2, at least the information, is for the regular simplex.
        corners = reach * math.sqrt(0.5) * np.eye(d + 1)
        spread = np.cov(corners.T, bias=True)
        most = float(np.linalg.slogdet(np.eye(d + 1) + spread / enough)[1]) / 2
        yield (
            at_most(enough, printed, f"noise that is enough at ε = .2, d = {d}, Δ = 1"),
            equal(most, level),
        )
    enough = gaussian_variance(reach**2 / 4, level)
    worst = max(mixture_information([0.0, reach], [p, 1 - p], enough) for p in (0.1, 0.3, 0.5, 0.8))
    printed = gaussian_variance_for_dp(reach, level)
    yield at_most(enough, printed, "the same for one binary entry"), at_most(worst, level)
