"""Errata of the paper on pointwise maximal cost, [SaeidianPMC].

The paper was read as text extracted from its PDF, formulas broken across lines: what looks like a
misprint may have arisen there. Displays are cited as they were read.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..noise.bounded import GaussianNoise, LaplaceMean
from ..noise.law import Law
from ..prior import Prior
from ..privacy import LDP, LIP, PMC, PML
from ..theory.conversions import convert
from ..theory.tight import tight_conversion
from .claims import Pairs, at_least, at_most, equal, erratum, holds
from .general_alphabets import geometric, log_ratio, release_or_draw_outcome
from .measurements import high_privacy_kernel, measure, randomised_response
from .measurements import maximal_cost_leakage as plain_maximal_cost_leakage

mistake = partial(erratum, source="SaeidianPMC")


@mistake(
    "E3a",
    place="Theorem 5",
    kind="false",
    quotation="If Λ(X → Y) is essentially bounded, then ℓ(X → Y) is also essentially bounded.",
    printed="On general alphabets, essentially bounded PMC implies essentially bounded PML.",
    reading="On finite alphabets it holds, by Theorem 4. On infinite ones no reading saves it: the "
    "mechanism below has P_XY ≪ P_X × P_Y, as the theorem asks.",
    corrected="False on infinite alphabets; on finite ones ε_l-PMC implies ε_u*(ε_l)-PML, which "
    "grows without bound as pmin → 0.",
    proof="Let P(X = k) = 2^-(k+1) on 0, 1, 2, … and release X with probability ½, else an "
    "independent draw. Then P(y) = p_y and P(y|x) = p_y/2 for every x ≠ y, so e^Λ(X→y) = 2 for "
    "every y, while e^ℓ(X→y) = (p_y/2 + ½)/p_y = ½ + 2^y. The proof (App. G) takes "
    "unbounded PML to mean one set B of secrets on which the likelihoods of a whole sequence of "
    "events fall more slowly than their probability; here each outcome gathers on a secret of its "
    "own, and there is no such B.",
)
def _pmc_bounds_pml() -> Pairs:
    for bound, y in ((3.0, 10), (60.0, 100), (6000.0, 10_000)):
        outcome = release_or_draw_outcome(0.5, y)
        yield (
            at_most(log_ratio(outcome.pml_ratio), bound, f"PML at y = {y}, beside a PMC of log 2"),
            holds(
                outcome.pmc_ratio == 2
                and outcome.probability == geometric(y)
                and outcome.pml_ratio == (1 + 1 / outcome.probability) / 2
            ),
        )


@mistake(
    "E3b",
    place="Theorem 6",
    kind="false",
    quotation="Λ(X → Y ) is essentially bounded if and only if the privacy mechanism P_Y|X "
    "satisfies ε-LDP for some 0 ≤ ε < ∞.",
    printed="PMC is essentially bounded if and only if the mechanism is ε-LDP for a finite ε.",
    reading="The direction from LDP holds on every alphabet, and on finite ones both do. The other "
    "direction fails on infinite alphabets under every reading.",
    corrected="If LDP then PMC; the converse holds on finite alphabets, at a level ε_l + "
    "ε_u*(ε_l) that grows without bound as pmin → 0.",
    proof="With the prior of E3a, draw independently with probability ¼, else release X: e^Λ(X→y) "
    "= 4 for every y, while P(y|y)/P(y|x) = 1 + 3/p_y = 1 + 3·2^(y+1) for every x ≠ y. The step "
    "that fails is footnote 7: a ratio that is finite for every pair of secrets need not be "
    "bounded over all pairs.",
)
def _pmc_bounds_ldp() -> Pairs:
    for bound, y in ((6.0, 10), (60.0, 100), (6000.0, 10_000)):
        outcome = release_or_draw_outcome(0.25, y)
        yield (
            at_most(log_ratio(outcome.spread), bound, f"LDP at y = {y}, beside a PMC of log 4"),
            holds(outcome.pmc_ratio == 4 and outcome.spread == 1 + 3 / outcome.probability),
        )


@mistake(
    "E3c",
    place="Theorem 5, on the unit interval",
    kind="false",
    quotation="If Λ(X → Y) is essentially bounded, then ℓ(X → Y) is also essentially bounded.",
    printed="Bounded PMC implies bounded PML for a secret with a density.",
    reading="None: the joint law has a density, so that P_XY ≪ P_X × P_Y.",
    corrected="X uniform on (0,1) with density ½ + (2/x)·1{3x/4 ≤ y ≤ x} has PMC at most log(1 + "
    "4 log(4/3)) and unbounded PML.",
    proof="The second part has mass (2/x)(x/4) = ½. The density of Y is ½ plus the integral of "
    "2/x over y ≤ x ≤ min(1, 4y/3), at most ½ + 2 log(4/3), while the likelihood is at least ½ "
    "everywhere and ½ + 2/y just above x = y, for every y.",
)
def _pmc_bounds_pml_on_the_interval() -> Pairs:
    from scipy.integrate import trapezoid

    closed = math.log1p(4 * math.log(4 / 3))
    for y in (1e-2, 1e-4, 1e-8):
        # The density of Y, by the trapezoidal rule in log x, and the extremes of the likelihood.
        x = np.exp(np.linspace(math.log(y), math.log(min(1.0, 4 * y / 3)), 2001))
        density = 0.5 + float(trapezoid(2 / x * x, np.log(x)))
        cost = math.log(density / 0.5)
        gain = math.log((0.5 + 2 / y) / density)
        yield (
            at_most(gain, 3.0, f"PML at y = {y:g}, beside a PMC of {cost:.4f}"),
            equal(cost, closed),
        )


@mistake(
    "E4",
    place="Footnote 5",
    kind="misprint",
    quotation="ε_r = ε + log 2/(2−e^ε)",
    printed="ε_r = ε + log 2/(2−e^ε) makes randomised response the binary PML mechanism.",
    reading="With 1 in place of 2 it is what Corollary 4 says: ε_r = ε + ε_l*(ε).",
    corrected="ε_r = ε + log 1/(2−e^ε).",
    proof="For a fair coin the entries of the mechanism are e^ε/2 and 1 − e^ε/2, and the logarithm "
    "of their ratio is ε − log(2 − e^ε).",
)
def _footnote() -> Pairs:
    prior, level = Prior([0.5, 0.5]), 0.3
    kernel = high_privacy_kernel(prior, level)
    found = measure("ldp", kernel, prior)[0]
    yield (
        equal(found, level + math.log(2 / (2 - math.exp(level))), "LDP level at ε = .3"),
        equal(found, level - math.log(2 - math.exp(level))),
    )


def gaussian_tail(level: float) -> float:
    """P(Λ(X → Y) ≥ level) for X uniform on ±1 and Y = X + N(0, 1), in closed form.

    There e^Λ = (1 + e^(2|y|))/2, so the event is |Y| ≥ ½ log(2e^level − 1).
    """
    edge = 0.5 * math.log(2 * math.exp(level) - 1)
    return _upper_tail(edge - 1) + _upper_tail(edge + 1)


def _upper_tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


@mistake(
    "E5",
    place="Example 6, last sentence",
    kind="gap",
    quotation="is dominated by a Gaussian random variable with mean r/2 and variance 4r(r + 1)",
    printed="P(Λ ≥ t) is at most the tail of that Gaussian (dominated read as stochastic order).",
    reading="Read as “has the tail bound that such a Gaussian has by Chernoff's inequality”, the "
    "sentence repeats (18) and holds; only read as stochastic dominance does it fail.",
    corrected="Bounds (15) to (18) hold: P(Λ ≥ β + r/2) ≤ 2·exp(−β²/(8(r²+r))), a Gaussian tail "
    "bound with a factor 2 that stochastic dominance does not have.",
    proof="By (17) the event implies |Y| ≥ σ²β/2A, and Y is sub-Gaussian with proxy A² + σ². For X "
    "= ±1 and σ = 1 the exact tail at 1 is above that of the Gaussian.",
)
def _gaussian_domination() -> Pairs:
    r, level = 1.0, 1.0
    found = gaussian_tail(level)
    normal = _upper_tail((level - r / 2) / math.sqrt(4 * r * (r + 1)))
    bound = 2 * math.exp(-((level - r / 2) ** 2) / (8 * (r * r + r)))
    yield (
        at_most(found, normal, "P(Λ ≥ 1) for X uniform on ±1, σ = 1, against the Gaussian's"),
        at_most(found, bound),
    )


@mistake(
    "E6a",
    place="Section III-C, after (9b); also Section V-B of the earlier paper",
    kind="gap",
    quotation="the strict concavity of log(·) implies that Jensen's inequality is strict",
    printed="Jensen's inequality is strict, so maximal cost leakage underestimates E[Λ].",
    reading="Strict wherever Λ takes more than one value with positive probability.",
    corrected="Maximal cost leakage is at most E[Λ], with equality exactly where Λ(X→Y) is almost "
    "surely constant.",
    proof="Strict concavity gives strictness for random variables that are not constant, and "
    "equality for those that are.",
)
def _jensen() -> Pairs:
    prior = Prior([0.5, 0.5])
    kernel = randomised_response(2, 1.0)
    cost = plain_maximal_cost_leakage(kernel)
    per_outcome = PMC(1.0).leakage(kernel, prior)
    mean = float((prior.probabilities @ kernel) @ per_outcome)
    yield (
        holds(cost < mean - 1e-9, "binary randomised response at ε = 1: strictly less"),
        equal(cost, mean),
    )


@mistake(
    "E13",
    place="Section II-D, after Proposition 1; Section III-C of the earlier paper",
    kind="loose",
    quotation="ε-LIP implies 2ε-LDP",
    printed="ε-LIP implies 2ε-LDP.",
    reading="True as printed, and nobody claims that it is tight: no mistake, a sharper number.",
    corrected="It implies less wherever no two symbols can take both ends of the lift at once; "
    "for a fair coin log(2e^ε − 1), and that is tight.",
    proof="For a fair coin the lifts of the two symbols sum to 2, so that at lift e^ε of one the "
    "other has 2 − e^ε ≥ e^-ε only if ε = 0; at lift e^-ε the other has 2 − e^-ε, and their ratio "
    "is 2e^ε − 1.",
)
def _twice() -> Pairs:
    for level in (0.1, 1.0):
        found = tight_conversion(LIP(level), LDP, Prior([0.5, 0.5]))
        (level_of_some_kernel,) = (one.attained for one in found.levels)
        yield (
            at_most(found.target.levels[0], 2 * level, f"least LDP level under LIP({level:g})"),
            equal(level_of_some_kernel, math.log(2 * math.exp(level) - 1)),
        )


@mistake(
    "E22",
    place="Example 6, (15) to (17), and Example 5, (12) to (14)",
    kind="gap",
    quotation="A|y|/σ² ≤ Λ(X → y) ≤ A(A + |4y|)/2σ², y ∈ R",
    printed="A|y|/σ² ≤ Λ(X→y) for every centred X with |X| ≤ A.",
    reading="Λ is written there with the infimum of the likelihood over all of [−A, A]: of that, "
    "all holds. It is the PMC of Theorem 3 and Remark 4, an essential supremum over the law of X, "
    "where −A and A are in the support of X. The upper bounds and the tail (18) need neither.",
    corrected="So it is where −A and A lie in the support of X. Else, with −c and d its ends, e = "
    "c for y ≥ 0 and e = d for y < 0, Λ(X→y) ≥ e|y|/σ² − (max(c, d)² − e²)/2σ² + K(y/σ²); and in "
    "Example 5 the equalities for sup Λ are upper bounds where c or d is not in the support.",
    proof="The exponent (y + c)² − (y − X)² is 2y(c + X) + c² − X², and X² ≤ max(c, d)². For X = "
    "±½, A = 1, σ = 1 and y = 2 the likelihoods are as 1 to e², so that Λ = log((1 + e²)/2). "
    "In Example 5 one entry ±½ with [c, d] = [−1, 1] and b = 1 has sup Λ = log((1 + e)/2), where "
    "log((e^½ + e^{3/2})/2) is printed.",
)
def _ends_without_mass() -> Pairs:
    inner = Law.finite([-0.5, 0.5], [0.5, 0.5])
    for y in (2.0, -3.0):
        likelihoods = [math.exp(-((y - x) ** 2) / 2) for x in (-0.5, 0.5)]
        cost = math.log(sum(likelihoods) / 2 / min(likelihoods))
        least, _ = GaussianNoise(inner, 1.0).pmc_bounds(y, with_cgf=True)
        yield (
            at_least(cost, abs(y), f"Λ at y = {y:g} for X = ±½ and A = σ = 1"),
            equal(cost, least),
        )
    # One entry with Laplace noise: the printed supremum is that of an entry on all of [−1, 1].
    found = LaplaceMean(inner, 1, 1.0).sup_pmc()
    printed = LaplaceMean(Law.finite([-0.5, 0.5], [0.5, 0.5], -1, 1), 1, 1.0).sup_pmc()
    yield (
        equal(found, printed, "sup Λ for one entry ±½ on [−1, 1] and Lap(1)"),
        at_most(found, printed),
    )


@mistake(
    "E23",
    place="Corollary 3, part 1",
    kind="loose",
    quotation="max{ε*_l, ε_u}-LIP; for an equiprobable Bernoulli variable ε*_l(ε_u) ≥ ε_u",
    printed="ε_u-PML implies max{ε_l*(ε_u), ε_u}-LIP; for a fair coin the first is the larger.",
    reading="True as printed: no mistake. The earlier paper has the level without the maximum "
    "(its Corollary 2).",
    corrected="ε_l*(ε_u) ≥ ε_u for every prior on two symbols or more, so that the level is "
    "ε_l*(ε_u). (On one symbol ε_l* = 0, the level of its only kernels.) In part 2 both happen.",
    proof="With t = e^ε_u and p = pmin, p/(1 − t(1 − p)) ≥ t says (t − 1)((1 − p)t − p) ≥ 0, and "
    "p ≤ ½ ≤ (1 − p)t.",
)
def _maximum() -> Pairs:
    for masses, level in (([0.5, 0.5], 0.3), ([0.4, 0.6], 0.2), ([0.1, 0.2, 0.3, 0.4], 0.05)):
        prior = Prior(masses)
        low = convert(PML(level), to=PMC, prior=prior).levels[0]
        tight = tight_conversion(PML(level), LIP, prior)
        yield (
            at_least(low, level, f"ε_l* at ε_u = {level:g}, pmin = {prior.pmin:g}"),
            equal(max(one.attained for one in tight.levels), low),
        )


@mistake(
    "E24",
    place="Section V-A, on Figure 1a",
    kind="gap",
    quotation="the blue region in Figure 1a represents (ε_u, ε_l) pairs that satisfy ε*_u ≥ ε_u "
    "and ε*_l ≥ ε_l",
    printed="Where ε_u ≤ ε_u*(ε_l) and ε_l ≤ ε_l*(ε_u), neither ε_u-PML nor ε_l-PMC is stronger.",
    reading="Inside of the region it holds: with > in place of ≥.",
    corrected="Neither implies the other exactly where ε_u < ε_u*(ε_l) and ε_l < ε_l*(ε_u). On the "
    "edge ε_l = ε_l*(ε_u) ε_u-PML implies ε_l-PMC, on the edge ε_u = ε_u*(ε_l) the converse.",
    proof="The edges are Theorem 4. Inside, the mechanism of Example 4 has PML ε_u and PMC "
    "ε_l*(ε_u); the one that releases X with probability 1 − e^-ε_l, else an independent draw, has "
    "PMC ε_l and PML ε_u*(ε_l).",
)
def _edges() -> Pairs:
    prior = Prior([0.1, 0.2, 0.3, 0.4])
    for high in (0.05, 0.1):
        low = convert(PML(high), to=PMC, prior=prior).levels[0]
        for first, second, name in (
            (PML(high), PMC(low), "ε_l = ε_l*"),
            (PMC(low), PML(convert(PMC(low), to=PML, prior=prior).levels[0]), "ε_u = ε_u*"),
        ):
            edge, inside = second.levels[0], second.levels[0] * 0.9
            reached = tight_conversion(first, type(second), prior).levels[0].attained
            yield (
                holds(reached > edge + 1e-9, f"{name} at {edge:.4g}: {first} leaves more"),
                at_least(reached, inside),
            )
