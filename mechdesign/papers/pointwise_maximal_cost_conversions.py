"""Pointwise maximal cost beside other privacy measures, [SaeidianPMC]: Section V, Figure 1.

What one bound on the information density implies for the other, and which mechanisms are best.
"""

from __future__ import annotations

import math
from dataclasses import astuple
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.random import Generator

from ..prior import Prior
from ..privacy import ALIP, LDP, LIP, PMC, PML
from ..theory.conversions import convert
from ..theory.disclosure import cheapest_disclosure
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .general_alphabets import (
    CountableOutcome,
    log_ratio,
)
from .measurements import (
    Array,
    high_privacy_kernel,
    measure,
    towards_constant,
)
from .published_conversions import register_rules
from .random_instances import (
    mild_prior,
    positive_kernel,
    some_high_privacy_level,
    some_level,
)
from .sub_convex import best_value, lift_vertices, some_values, value_of

result = partial(theorem, source="SaeidianPMC")

# How often a kernel is mixed with a constant one until it meets a level.
_MOST_TRIALS = 100


# Section V: other privacy measures, Figure 1


register_rules(
    "PMC-Prop-3", "PMC-Thm-4.1", "PMC-Thm-4.2", "PMC-Cor-3.2a", "PMC-Cor-3.2b", "PMC-Cor-3.2c"
)


@result(
    "PMC-Rem-5",
    statement="From ε_u = log 1/(1−pmin) on a mechanism may be ε_u-PML and of infinite PMC.",
    tight=True,
)
def _needed_condition(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    found = cheapest_disclosure(prior)
    yield equal(measure("pml", found.mechanism.kernel, prior)[0], -math.log1p(-prior.pmin), "PML")
    yield equal(measure("pmc", found.mechanism.kernel, prior)[0], math.inf, "PMC")
    below = -math.log1p(-prior.pmin) * float(rng.uniform(0.1, 0.99))
    yield holds(convert(PML(below), to=PMC, prior=prior).levels[0] < math.inf, "finite below")


@result(
    "PMC-Fig-1",
    statement="The two curves ε_l*(ε_u) and ε_u*(ε_l) of Figure 1 leave a region between them, "
    "which vanishes for a fair coin.",
    conditions="uniform priors on 2 to 6 symbols, as drawn, and others",
    tight=True,
    also=("ID-Fig-1",),
)
def _curves(rng: Generator) -> Claims:
    for prior in (Prior.uniform(2), Prior.uniform(4), mild_prior(rng)):
        least = prior.pmin
        u = some_high_privacy_level(rng, prior)
        low = convert(PML(u), to=PMC, prior=prior).levels[0]
        yield equal(low, math.log(least / (1 - math.exp(u) * (1 - least))), "blue curve")
        again = convert(PMC(low), to=PML, prior=prior).levels[0]
        yield equal(again, math.log((1 - math.exp(-low) * (1 - least)) / least), "orange curve")
        yield at_least(again, u, "orange beyond blue")
        if len(prior) == 2 and least == 0.5:
            yield equal(again, u, "one curve for a fair coin")


@result(
    "PMC-Cor-4",
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
    kernel = positive_kernel(rng, 2)
    verdicts = {
        all(
            a <= b
            for a, b in zip(measure(type(n).__name__.lower(), kernel, prior), n.levels, strict=True)
        )
        for n in same
    }
    yield holds(len(verdicts) == 1, "a random kernel meets all or none")


@result(
    "PMC-Cor-5",
    statement="With ε_l ≥ ε_l*(ε_u), e^ε_u p_j off the diagonal and 1 − e^ε_u (1−p_i) on it is "
    "best among (ε_l, ε_u)-ALIP mechanisms for every sub-convex utility.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin); any utility, as the mechanisms are the "
    "same, and any sub-convex one, as every column is a mixture of those of the best",
    tight=True,
    also=("ID-Cor-4",),
)
def _best_for_sub_convex(rng: Generator) -> Claims:
    prior = mild_prior(rng, 2, 4)
    u = some_high_privacy_level(rng, prior)
    p = prior.probabilities
    low = convert(PML(u), to=PMC, prior=prior).levels[0] + float(rng.uniform(0, 1))
    best = high_privacy_kernel(prior, u)
    # Whatever the utility: both bounds allow the same columns.
    alone, both = (lift_vertices(p, least, math.exp(u)) for least in (0.0, math.exp(-low)))
    yield equal(len(alone), len(p), "columns at the ends, PML", scale=len(p))
    yield at_most(_farthest(both, alone), 1e-9, "ALIP allows what PML does", scale=0.0)
    # Whatever the sub-convex utility: it is convex in a column of lifts, the columns of the best
    # mechanism are linearly independent, every allowed column is a mixture of them, and the
    # mixtures of one mechanism have the weights of the best one in total.
    lifts = (best / (p @ best)).T
    yield at_most(_farthest(alone, lifts), 1e-9, "its columns are all there are", scale=0.0)
    yield holds(np.linalg.matrix_rank(lifts) == len(p), "they are independent")
    kernel = positive_kernel(rng, len(p))
    for _ in range(_MOST_TRIALS):
        if measure("pml", kernel, prior)[0] <= u:
            break
        kernel = towards_constant(kernel, 0.3)
    shares = np.linalg.solve(best, kernel)
    yield at_least(float(shares.min()), 0.0, "a random kernel processes its outcomes", scale=1.0)
    for total in shares.sum(axis=1):
        yield equal(float(total), 1.0, "by a kernel")
    for name, value in some_values(rng, p).items():
        most = value_of(p, best, value)
        for least in (0.0, math.exp(-low)):
            # Vertices are rounded to 13 digits, and the program is solved to as many.
            found = best_value(p, least, math.exp(u), value)
            yield equal(found, most, f"{name}, all vertices", scale=max(abs(most), 1e-3))
        yield at_most(value_of(p, kernel, value), most, f"{name}, random kernel")
    # The same for PMC: a PML level of at least ε_u*(ε_l) is no further restriction.
    level = some_level(rng, 0.1, 1.0)
    high = convert(PMC(level), to=PML, prior=prior).levels[0]
    alone, both = (
        lift_vertices(p, math.exp(-level), most)
        for most in (1 / prior.pmin, math.exp(high) * (1 + 1e-12))
    )
    yield equal(len(alone), len(p), "columns at the ends, PMC", scale=len(p))
    yield at_most(_farthest(both, alone), 1e-9, "ALIP allows what PMC does", scale=0.0)
    for name, value in some_values(rng, p).items():
        free = best_value(p, math.exp(-level), 1 / prior.pmin, value)
        bounded = best_value(p, math.exp(-level), math.exp(high) * (1 + 1e-12), value)
        yield equal(bounded, free, f"{name}, PMC", scale=max(abs(free), 1e-3))


def _farthest(columns: Array, among: Array) -> float:
    """How far the columns, one a row, are from the nearest of others, and those from them."""
    apart = np.abs(columns[:, None, :] - among[None, :, :]).max(axis=2)
    return float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))


@result(
    "PMC-Thm-5-Finite",
    statement="On finite alphabets bounded PMC means bounded PML, LDP at a finite level, and the "
    "other way round for LDP; on infinite ones LDP bounds both (what remains of Theorems 5 and 6).",
    conditions="finite alphabets with every symbol of positive mass, and a countable one",
    tight=True,
    also=("PMC-Thm-6-Finite",),
)
def _finite_alphabets(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    kernel = positive_kernel(rng, len(prior))
    if rng.uniform() < 0.5:
        kernel = kernel * (rng.uniform(size=kernel.shape) < 0.8) + 1e-300
        kernel = np.where(kernel > 1e-200, kernel, 0.0)
        kernel[:, 0] += kernel.sum(axis=1) == 0
        kernel /= kernel.sum(axis=1, keepdims=True)
    cost, gain = measure("pmc", kernel, prior)[0], measure("pml", kernel, prior)[0]
    spread = measure("ldp", kernel, prior)[0]
    yield at_most(gain, -math.log(prior.pmin), "PML is finite")
    yield holds(math.isfinite(cost) == math.isfinite(spread), "PMC and LDP are finite together")
    yield at_most(cost, spread, "LDP bounds PMC")
    # Infinitely many symbols, of which finitely many have likelihoods of their own.
    listed = {int(x): Fraction(int(v), 1000) for x, v in enumerate(rng.integers(1, 1000, 5))}
    outcome = CountableOutcome(listed, Fraction(int(rng.integers(1, 1000)), 1000))
    for ratio, name in ((outcome.pmc_ratio, "PMC"), (outcome.pml_ratio, "PML")):
        yield at_most(log_ratio(ratio), log_ratio(outcome.spread), f"countable, LDP bounds {name}")
    # All but a rare symbol in a row: PMC of an outcome comes near its level of LDP.
    far = CountableOutcome({60: Fraction(1, 1000)}, Fraction(1, 2))
    yield equal(log_ratio(far.pmc_ratio), log_ratio(far.spread), "countable, a rare symbol")
