"""Pointwise maximal cost on general alphabets, [SaeidianPMC]: what finite secrets do not show.

Secrets are countable, or on the interval with any kind of law (see ``general_alphabets``). What is
found is read off the masses of cells that are refined, what is claimed are the closed forms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..prior import Prior
from ..theory.adversaries import cost_leakage, gain_leakage, observe, worst_cost, worst_gain
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .general_alphabets import Array, CountableOutcome, TiltedLaw, log_ratio
from .measurements import divergence
from .random_instances import some_masses, some_tilted

result = partial(theorem, source="SaeidianPMC")

_DEPTHS = (2, 4, 7)


@dataclass(frozen=True)
class _Answer:
    """A mechanism on [0, 1] with answers yes, of probability a·e^{s(x−t)}, and no.

    With t the place where that is largest. Both likelihoods move in one direction, so that their
    extremes are at the ends of the support.
    """

    law: TiltedLaw
    most: float

    def likelihoods(self, x: Array) -> Array:
        """P(yes|x) and P(no|x), one row each."""
        slope = self.law.slope
        yes = self.most * np.exp(slope * (x - (1.0 if slope > 0 else 0.0)))
        return np.array([yes, 1 - yes])

    def probabilities(self) -> Array:
        """P(yes) and P(no)."""
        slope = self.law.slope
        yes = self.most * math.exp(self.law.log_mean() - max(slope, 0.0))
        return np.array([yes, 1 - yes])

    def densities(self, x: Array) -> Array:
        """The information densities i(x; yes) and i(x; no), one row each."""
        return np.asarray(np.log(self.likelihoods(x) / self.probabilities()[:, None]))

    def spread(self, ends: tuple[float, float]) -> float:
        """The largest log ratio of the likelihoods of one answer at two places."""
        logs = np.log(self.likelihoods(np.array(ends)))
        return float(np.ptp(logs, axis=1).max())

    def levels(self) -> tuple[Array, Array]:
        """Λ(X→y) and ℓ(X→y) of both answers."""
        ends = self.densities(np.array(self.law.ends))
        return -ends.min(axis=1), ends.max(axis=1)


def _some_answer(rng: Generator) -> _Answer:
    return _Answer(some_tilted(rng), float(rng.uniform(0.2, 0.9)))


@result(
    "PMC-Def-5-General",
    statement="ε-LIP and (ε_l, ε_u)-ALIP bound the information density almost surely: no draw of X "
    "and Y is beyond the largest Λ and ℓ, and draws of positive probability come near both.",
    conditions="countable alphabets, and any law on an interval",
    tight=True,
    also=("PMC-Def-4-General",),
)
def _almost_surely(rng: Generator) -> Claims:
    answer = _some_answer(rng)
    cost, gain = answer.levels()
    low, high = float(cost.max()), float(gain.max())
    x = answer.law.draw(rng, 300)
    said = (rng.random(len(x)) >= answer.likelihoods(x)[0]).astype(int)
    drawn = answer.densities(x)[said, np.arange(len(x))]
    yield at_most(float(drawn.max()), high, "the largest density that was drawn")
    yield at_least(float(drawn.min()), -low, "the smallest one")
    yield at_most(float(np.abs(drawn).max()), max(low, high), "both sides")
    for depth in _DEPTHS:
        before = answer.law.masses(depth, 0.0)
        yes = answer.law.masses(depth, answer.law.slope) * answer.most
        yes *= math.exp(-max(answer.law.slope, 0.0))
        live = before > 0
        joint = np.array([yes, before - yes])[:, live]
        lifts = np.log(joint / before[live] / answer.probabilities()[:, None])
        # P(no|x) moves by more than P(yes|x), in logarithms, where it is smaller.
        step = answer.law.step(depth) * max(1.0, answer.most / (1 - answer.most))
        for found, limit, name in ((lifts.max(), high, "above"), (-lifts.min(), low, "below")):
            yield at_most(float(found), limit, f"3^{depth} cells, {name}")
            yield at_least(float(found), limit - step, f"3^{depth} cells, {name}")
    # Countable, exactly: two outcomes with likelihoods of their own at five symbols.
    listed = {int(k): Fraction(int(v), 1000) for k, v in enumerate(rng.integers(200, 800, 5))}
    yes_of = CountableOutcome(listed, Fraction(int(rng.integers(200, 800)), 1000))
    no_of = CountableOutcome({k: 1 - v for k, v in listed.items()}, 1 - yes_of.rest)
    values = [
        log_ratio(outcome.likelihoods.get(k, outcome.rest) / outcome.probability)
        for outcome in (yes_of, no_of)
        for k in range(30)
    ]
    claimed = max(log_ratio(o.pml_ratio) for o in (yes_of, no_of))
    yield equal(max(values), claimed, "countable, above")
    claimed = max(log_ratio(o.pmc_ratio) for o in (yes_of, no_of))
    yield equal(-min(values), claimed, "countable, below")


@result(
    "PMC-Rem-1-General",
    statement="The level of LDP is the essential supremum of D∞(P_Y|x‖P_Y|x') over independent "
    "draws, hence depends on the prior through its support alone.",
    conditions="any law on an interval; Laplace noise, and answers yes and no",
    tight=True,
    also=("PMC-Def-6-General",),
)
def _independent_draws(rng: Generator) -> Claims:
    answer = _some_answer(rng)
    claimed = answer.spread(answer.law.ends)
    one, two = (np.log(answer.likelihoods(answer.law.draw(rng, 300))) for _ in range(2))
    yield at_most(float(np.abs(one - two).max()), claimed, "independent draws")
    # Cells at both ends of the support, which have positive probability.
    before = answer.law.masses(7, 0.0)
    yes = answer.law.masses(7, answer.law.slope) * answer.most
    yes *= math.exp(-max(answer.law.slope, 0.0))
    mean = np.log(np.array([yes, before - yes])[:, before > 0] / before[before > 0])
    step = answer.law.step(7) * max(1.0, answer.most / (1 - answer.most))
    yield at_least(float(np.ptp(mean, axis=1).max()), claimed - 2 * step, "cells at the ends")
    # Another prior of the same support, and one of smaller support.
    same = replace(answer, law=TiltedLaw(answer.law.slope, 0.5, 0.5))
    whole = replace(answer, law=TiltedLaw(answer.law.slope, 0.2, 0.0, {0.5: 0.8}))
    everywhere = answer.spread((0.0, 1.0))
    for another in (same, whole):
        yield equal(another.spread(another.law.ends), everywhere, "priors of full support")
    yield at_most(claimed, everywhere, "a smaller support")
    # Laplace noise: events are half-lines, beyond both secrets; the ratio of tails is e^{|x−x'|/b}.
    scale = float(rng.uniform(0.3, 2))
    low, high = answer.law.ends
    level = (high - low) / scale
    a, b = answer.law.draw(rng, 2)
    for edge in (*rng.uniform(-2, 3, 4), 1.5):
        found = abs(math.log(_laplace_tail(edge - a, scale) / _laplace_tail(edge - b, scale)))
        yield at_most(found, level, "Laplace noise, a half-line")
    yield equal(found, abs(a - b) / scale, "beyond both secrets", scale=1.0)
    found = math.log(_laplace_tail(1.5 - high, scale) / _laplace_tail(1.5 - low, scale))
    yield equal(found, level, "Laplace noise, the ends of the support")


def _laplace_tail(edge: float, scale: float) -> float:
    """P(noise > edge)."""
    return math.exp(-edge / scale) / 2 if edge > 0 else 1 - math.exp(edge / scale) / 2


@result(
    "PMC-Cor-2-General",
    statement="Λ(X→y|z) = D∞(P_X|z ‖ P_X|y,z): costs on cells of a refined partition come within "
    "their step of it, and the mechanism may depend on z.",
    conditions="any law on an interval; finite alphabets without Z − X − Y",
    tight=True,
    also=("PMC-Def-12-General",),
)
def _given_side_information(rng: Generator) -> Claims:
    law, side = some_tilted(rng), float(rng.uniform(-2, 2))
    known = law.log_mean(side)
    claimed = law.log_mean(side + law.slope) - known - min(law.slope * x for x in law.ends)
    gained = max(law.slope * x for x in law.ends) + known - law.log_mean(side + law.slope)
    for depth in _DEPTHS:
        before = law.masses(depth, side) / math.exp(known)
        after = law.masses(depth, side + law.slope) / math.exp(law.log_mean(side + law.slope))
        live = before > 0
        ratio = np.log(before[live] / after[live])
        for found, limit, name in ((ratio.max(), claimed, "cost"), (-ratio.min(), gained, "gain")):
            yield at_most(float(found), limit, f"{name}, 3^{depth} cells")
            yield at_least(float(found), limit - law.step(depth), f"{name}, 3^{depth} cells")
    # A finite joint law of (Z, X, Y) in which Y depends on Z as well.
    joint = some_masses(rng, 24).reshape(2, 4, 3)
    for z in (0, 1):
        given = joint[z] / joint[z].sum()
        prior = Prior.from_counts(given.sum(axis=1))
        mechanism = Mechanism(given / given.sum(axis=1, keepdims=True), normalise=True)
        for y in range(3):
            outcome = observe(mechanism, prior, y)
            before, after = given.sum(axis=1), given[:, y] / given[:, y].sum()
            cost = cost_leakage(outcome, worst_cost(outcome))
            yield equal(cost, divergence(before, after), "a cost, given z", scale=1.0)
            gain = gain_leakage(outcome, worst_gain(outcome))
            yield equal(gain, divergence(after, before), "a gain, given z", scale=1.0)


def _binary_cost(likelihoods: Array, mean: float) -> float:
    """Λ of an outcome, from the extremes of its likelihood and its probability."""
    return math.log(mean / float(likelihoods.min()))


@result(
    "PMC-Lem-1-General",
    statement="The seven properties of PMC for secrets with atoms, with a density, or with "
    "neither: non-negative, zero when independent, additive, concave in the prior, and closed "
    "under pre-processing, post-processing and composition.",
    conditions="any law on an interval",
    tight=True,
)
def _properties(rng: Generator) -> Claims:
    law = some_tilted(rng)
    yield at_least(law.pmc, 0.0, "1: non-negative")
    yield equal(some_tilted(rng, 0.0).pmc, 0.0, "2: independent", scale=1.0)
    # 3: independent secrets, by the cells of the square.
    other = some_tilted(rng)
    one, two = law.cells(4), other.cells(4)
    joint = np.log(np.outer(one[0], two[0]) / np.outer(one[1], two[1])).max()
    yield at_most(float(joint), law.pmc + other.pmc, "3: the square")
    room = law.step(4) + other.step(4)
    yield at_least(float(joint), law.pmc + other.pmc - room, "3: the square")
    # 4: priors of any kind and any supports, with one mechanism.
    second = some_tilted(rng, law.slope)
    for share in (0.0, float(rng.uniform()), 1.0):
        atoms = {x: (1 - share) * mass for x, mass in law.atoms.items()}
        for x, mass in second.atoms.items():
            atoms[x] = atoms.get(x, 0.0) + share * mass
        mixed = TiltedLaw(
            law.slope,
            (1 - share) * law.uniform + share * second.uniform,
            (1 - share) * law.cantor + share * second.cantor,
            {x: mass for x, mass in atoms.items() if mass > 0},
        )
        bound = (1 - share) * law.pmc + share * second.pmc
        yield at_least(mixed.pmc, bound, f"4: share {share:.2f}", scale=law.pmc + second.pmc)
    # 5: a feature is a function of the cell; every value is taken.
    before, after = law.cells(5)
    values = np.arange(len(before)) % 4
    rng.shuffle(values)
    sums = [(before[values == v].sum(), after[values == v].sum()) for v in set(values.tolist())]
    yield at_most(max(math.log(p / q) for p, q in sums), law.pmc, "5: a feature")
    fine = float(np.log(before / after).max())
    yield at_least(fine, law.pmc - law.step(5), "5: the cell itself")
    # 6: the answer is kept or turned.
    answer = _Answer(law, float(rng.uniform(0.2, 0.9)))
    rows, chances = answer.likelihoods(np.array(law.ends)), answer.probabilities()
    most = max(_binary_cost(row, float(q)) for row, q in zip(rows, chances, strict=True))
    for turned in (rng.dirichlet(np.ones(2), 2), np.eye(2)):
        after_it = [
            _binary_cost(column @ rows, float(column @ chances)) for column in np.array(turned).T
        ]
        yield at_most(max(after_it), most, "6: an answer processed")
    # 7: two outcomes, of slopes of one sign and of both.
    for slope in (law.slope, -0.7 * law.slope):
        both = replace(law, slope=law.slope + slope).pmc
        given = law.log_mean(law.slope + slope) - law.log_mean() - min(slope * x for x in law.ends)
        yield at_most(both, law.pmc + given, "7: two outcomes")
        if slope == law.slope:
            yield equal(both, law.pmc + given, "7: worst at the same place")
    yield holds(law.pmc > 0, "a control: something leaks")
