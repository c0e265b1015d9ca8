"""Results of the papers on information density other than the conversions themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple

import numpy as np
from numpy.random import Generator

from ..prior import Prior
from ..privacy.differential import LDP
from ..privacy.pointwise import ALIP, LIP, PMC, PML
from ..solve._design import design
from ..utility.linear import Matrix
from . import instances
from .conversions import convert
from .instances import measure
from .theorems import Claim, at_least, at_most, equal, holds, theorem
from .tight import tight_conversion

Claims = Iterator[Claim]


@theorem(
    "PMC-Ex-3",
    source="SaeidianPMC",
    statement="Randomised response with parameter ε_r has PMC log(1 + p_j (e^ε_r − 1)) at outcome "
    "j, and so at most ε_r.",
    tight=True,
)
def _randomised_response(rng: Generator) -> Claims:
    prior, level = instances.draw_prior(rng), instances.draw_level(rng)
    kernel = instances.randomised_response(len(prior), level)
    found = PMC(1.0).leakage(kernel, prior)
    for j, p in enumerate(prior.probabilities):
        yield equal(found[j], math.log1p(p * math.expm1(level)), f"outcome {j}")
    yield at_most(found.max(), level, "against ε_r")


@theorem(
    "PMC-Ex-4",
    source="SaeidianPMC",
    statement="The optimal PML mechanism of the high-privacy regime keeps the prior as output "
    "distribution, has PML ε_u, and PMC log p_j/(1 − e^ε_u (1−p_j)) at outcome j.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin)",
    tight=True,
    also=("PMC-Rem-6",),
)
def _high_privacy_mechanism(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng)
    level = instances.draw_high_privacy(rng, prior)
    kernel = instances.high_privacy_kernel(prior, level)
    p = prior.probabilities
    yield equal(np.abs(p @ kernel - p).max(), 0.0, "output distribution against the prior")
    yield equal(measure("pml", kernel, prior)[0], level, "PML")
    found = PMC(1.0).leakage(kernel, prior)
    for j in range(len(p)):
        yield equal(found[j], math.log(p[j] / (1 - math.exp(level) * (1 - p[j]))), f"outcome {j}")


@theorem(
    "PMC-Cor-4",
    source="SaeidianPMC",
    statement="For a fair coin ε_u-PML, ε_l*-PMC, (ε_l*, ε_u)-ALIP, ε_l*-LIP and (ε_l* + ε_u)-LDP "
    "are the same guarantee.",
    conditions="N = 2, uniform prior, ε_u < log 2",
    tight=True,
    also=("ID-Ex-1",),
)
def _fair_coin(rng: Generator) -> Claims:
    prior = Prior.uniform(2)
    u = float(rng.uniform(0.02, 0.95) * math.log(2))
    low = math.log(0.5 / (1 - math.exp(u) * 0.5))
    same = (PML(u), PMC(low), ALIP(low, u), LIP(low), LDP(low + u))
    for first in same:
        for second in same:
            found = convert(first, to=type(second), prior=prior)
            for got, level in zip(found.levels, astuple(second), strict=True):
                yield equal(got, level, f"{first} to {type(second).__name__}")
    kernel = instances.draw_kernel(rng, 2)
    verdicts = {
        all(a <= b for a, b in zip(measure(_name(n), kernel, prior), n.levels, strict=True))
        for n in same
    }
    yield holds(len(verdicts) == 1, "a random kernel meets all or none")


def _name(notion: object) -> str:
    return type(notion).__name__.lower()


@theorem(
    "ID-Prop-3",
    source="GrosseID",
    statement="Where ε_l ≥ ε_l*(ε_u), the best (ε_l, ε_u)-ALIP mechanism is the best ε_u-PML one.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin)",
    tight=True,
)
def _same_optimum(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng, 2, 4)
    u = instances.draw_high_privacy(rng, prior)
    low = convert(PML(u), to=PMC, prior=prior).levels[0] + float(rng.uniform(0, 1))
    gains = Matrix(rng.uniform(0, 1, (len(prior), int(rng.integers(2, 5)))))
    wide, narrow = design(prior, gains, PML(u)), design(prior, gains, ALIP(low, u))
    yield equal(narrow.value, wide.value, "expected utility of the two designs", scale=wide.value)


@theorem(
    "PMC-Cor-5",
    source="SaeidianPMC",
    statement="With ε_l ≥ ε_l*(ε_u), no (ε_l, ε_u)-ALIP mechanism releases more mutual information "
    "than e^ε_u p_j off the diagonal and 1 − e^ε_u (1−p_i) on it.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin)",
    tight=True,
    also=("ID-Cor-4",),
)
def _best_for_sub_convex(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng)
    kernel = instances.draw_kernel(rng, len(prior))
    limit = -0.95 * math.log1p(-prior.pmin)
    while measure("pml", kernel, prior)[0] > limit:
        kernel = instances.towards_constant(kernel, 0.3)
    level = measure("pml", kernel, prior)[0]
    p = prior.probabilities
    best = instances.high_privacy_kernel(prior, level)
    most = instances.mutual_information(p, best)
    yield at_most(instances.mutual_information(p, kernel), most, "random kernel", scale=most)
    merged = best @ rng.dirichlet(np.ones(3), len(p))
    yield at_most(instances.mutual_information(p, merged), most, "post-processed", scale=most)
    yield equal(instances.mutual_information(p, best @ np.eye(len(p))[::-1]), most, "relabelled")


@theorem(
    "PMC-Prop-1-Limit",
    source="SaeidianPMC",
    statement="What ε-LDP implies for PMC and PML tends to ε as pmin → 0, and never exceeds it.",
    tight=True,
    also=("PMC-Prop-3-Limit",),
)
def _rare_symbol(rng: Generator) -> Claims:
    level = instances.draw_level(rng)
    rest = instances.draw_prior(rng, 1, 4).probabilities
    prior = Prior.from_counts([1e-13, *rest])
    for to in (PMC, PML):
        found = convert(LDP(level), to=to, prior=prior).levels[0]
        yield at_most(found, level, f"{to.__name__} at pmin = 1e-13")


@theorem(
    "PMC-Thm-5-Finite",
    source="SaeidianPMC",
    statement="On finite alphabets bounded PMC means bounded PML, LDP at a finite level, and the "
    "other way round for LDP (what remains of Theorems 5 and 6).",
    conditions="finite alphabets, every symbol of positive mass",
    also=("PMC-Thm-6-Finite",),
)
def _finite_alphabets(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng)
    kernel = instances.draw_kernel(rng, len(prior))
    if rng.uniform() < 0.5:
        kernel = kernel * (rng.uniform(size=kernel.shape) < 0.8) + 1e-300
        kernel = np.where(kernel > 1e-200, kernel, 0.0)
        kernel[:, 0] += kernel.sum(axis=1) == 0
        kernel /= kernel.sum(axis=1, keepdims=True)
    cost, gain = measure("pmc", kernel, prior)[0], measure("pml", kernel, prior)[0]
    spread = measure("ldp", kernel, prior)[0]
    yield holds(math.isfinite(gain), "PML is finite")
    yield holds(math.isfinite(cost) == math.isfinite(spread), "PMC and LDP are finite together")


@theorem(
    "PMC-Def-9",
    source="SaeidianPMC",
    statement="Maximal realizable cost, D∞(P_X × P_Y ‖ P_XY), is the largest PMC of an outcome.",
    tight=True,
)
def _realizable_cost(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng)
    kernel = instances.draw_kernel(rng, len(prior))
    p = prior.probabilities
    flat = p[:, None] * (p @ kernel)
    found = float(np.log((flat / (p[:, None] * kernel)).max()))
    yield equal(measure("pmc", kernel, prior)[0], found)


@theorem(
    "D-LIP-LDP",
    statement="What (ε_l, ε_u)-ALIP implies for LDP is the largest, over ordered pairs of the two "
    "rarest symbols, of log min{h, (1 − l(1−p_x))/p_x} − log max{l, (1 − h(1−p_x'))/p_x'}.",
    conditions="finite alphabets, every symbol of positive mass, the inner maximum positive",
    tight=True,
)
def _tight_lift_to_ldp(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng)
    low, high = instances.draw_level(rng, 0.05, 1.5), instances.draw_level(rng, 0.05, 1.5)
    least, most = math.exp(-low), math.exp(high)
    rare = sorted(prior.probabilities)[:2]
    closed = max(
        math.log(min(most, (1 - least * (1 - p)) / p))
        - math.log(max(least, (1 - most * (1 - q)) / q))
        for p, q in (rare, rare[::-1])
    )
    found = tight_conversion(ALIP(low, high), LDP, prior)
    witness = found.levels[0].witness
    assert witness is not None
    yield equal(measure("ldp", witness.kernel, prior)[0], closed, "the witness")
    kernel = instances.draw_kernel(rng, len(prior))
    own = measure("alip", kernel, prior)
    bound = tight_conversion(ALIP(*own), LDP, prior).target.levels[0]
    yield at_most(measure("ldp", kernel, prior)[0], bound, "random kernel")


@theorem(
    "D-Coin-LIP",
    statement="For a fair coin ε-LIP implies log(2e^ε − 1)-LDP, and no less.",
    conditions="N = 2, uniform prior",
    tight=True,
)
def _fair_coin_lip(rng: Generator) -> Claims:
    prior, level = Prior.uniform(2), instances.draw_level(rng)
    kernel = instances.draw_kernel(rng, 2)
    own = measure("lip", kernel, prior)[0]
    yield at_most(measure("ldp", kernel, prior)[0], math.log(2 * math.exp(own) - 1), "random")
    witness = tight_conversion(LIP(level), LDP, prior).levels[0].witness
    assert witness is not None
    closed = math.log(2 * math.exp(level) - 1)
    yield equal(measure("ldp", witness.kernel, prior)[0], closed, "witness")


@theorem(
    "D-PMC-Best",
    statement="Releasing the secret with probability 1 − e^-ε, else a draw from the prior, is "
    "ε-PMC, has PML ε_u*(ε), and no ε-PMC mechanism releases more mutual information.",
    tight=True,
)
def _best_pmc(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng)
    kernel = instances.draw_kernel(rng, len(prior))
    level = measure("pmc", kernel, prior)[0]
    best = instances.release_or_draw(prior, level)
    p = prior.probabilities
    most = instances.mutual_information(p, best)
    yield equal(measure("pmc", best, prior)[0], level, "PMC")
    star = math.log((1 - math.exp(-level) * (1 - prior.pmin)) / prior.pmin)
    yield equal(measure("pml", best, prior)[0], star, "PML")
    yield at_most(instances.mutual_information(p, kernel), most, "random kernel", scale=most)


@theorem(
    "D-ML-Hamming",
    statement="Under maximal leakage ε the best guess of the secret is right with probability at "
    "most the sum of the ⌊e^ε⌋ largest masses and the fraction e^ε − ⌊e^ε⌋ of the next.",
    tight=True,
)
def _guessing(rng: Generator) -> Claims:
    prior = instances.draw_prior(rng)
    p = np.sort(prior.probabilities)[::-1]
    kernel = instances.draw_kernel(rng, len(prior))

    def most(leakage: float) -> float:
        whole = math.exp(leakage)
        k = min(int(whole + 1e-12), len(p))
        part = (whole - k) * p[k] if k < len(p) else 0.0
        return float(p[:k].sum() + part)

    guess = float((prior.probabilities[:, None] * kernel).max(axis=0).sum())
    yield at_most(guess, most(instances.maximal_leakage(kernel)), "random kernel")
    k = int(rng.integers(1, len(p) + 1))
    share = float(rng.uniform(0, 1)) if k < len(p) else 0.0
    # The k most likely symbols are released, the next one with a probability, the rest never.
    order = np.argsort(-prior.probabilities, kind="stable")
    extreme = np.zeros((len(p), len(p)))
    for rank, x in enumerate(order):
        keep = 1.0 if rank < k else share if rank == k else 0.0
        extreme[x, x] += keep
        extreme[x, order[0]] += 1 - keep
    found = float((prior.probabilities[:, None] * np.eye(len(p)) * extreme).sum())
    yield at_least(found, most(instances.maximal_leakage(extreme)), "the most likely symbols")
