"""Results about adversaries, with their checks: gains, guesses, costs, misses, guesswork."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from .costs import (
    alpha_leakage,
    alpha_loss,
    average_cost_leakage,
    cost_leakage,
    cost_of_feature,
    expected_cost,
    feature_of_cost,
    maximal_cost_leakage,
    maximal_realizable_cost,
    miss_leakage,
    partition_cost,
    power_leakage,
    reduced_cost,
    worst_cost,
    worst_miss,
)
from .draws import some_feature, some_masses, some_mechanism, some_prior, some_sight
from .features import feature_channel
from .gains import (
    feature_of_gain,
    gain_leakage,
    gain_of_feature,
    guess_leakage,
    worst_gain,
    worst_guess,
)
from .guessing import (
    guesswork,
    guesswork_cost,
    guesswork_error,
    guesswork_leakage,
    worst_guesswork,
)
from .observation import Observation, condition, observe, pushforward
from .theorems import Claim, at_least, at_most, equal, holds, theorem


def _divergence(first: np.ndarray, second: np.ndarray) -> float:
    """D∞(first ‖ second), from its definition."""
    live = first > 0
    if (second[live] == 0).any():
        return math.inf
    return float(np.log(first[live] / second[live]).max())


def _feature_like(rng: Generator, seen: Observation, values: int) -> Mechanism:
    table = rng.dirichlet(np.full(values, rng.choice([0.1, 1.0])), len(seen.prior))
    return Mechanism(table, seen.symbols)


@theorem(
    "PML-Thm-2.4",
    statement="ℓ(X→y) = D∞(P_X|y ‖ P_X): no gain function gains more, and 1{x=w}/P(x) gains as "
    "much.",
    source="Saeidian2023PML",
    conditions="finite alphabets, non-negative gains",
    tight=True,
    also=("PMC-Def-2",),
)
def _gains(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    claimed = _divergence(seen.posterior, seen.prior)
    for _ in range(5):
        gain = rng.random((len(seen.prior), int(rng.integers(1, 5)))) ** 4
        yield at_most(gain_leakage(seen, gain), claimed, "random gain")
    yield equal(gain_leakage(seen, worst_gain(seen)), claimed, "gain 1{x=w}/P(x)")
    yield at_least(claimed, 0.0, "non-negative")


@theorem(
    "PML-Def-2.3",
    statement="ℓ(X→y) is the most that y adds to guessing any feature; finitely many values "
    "suffice.",
    source="SaeidianDisclosure",
    conditions="finite alphabets",
    tight=True,
    also=("PMC-Def-3",),
)
def _guesses(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    claimed = _divergence(seen.posterior, seen.prior)
    for _ in range(5):
        feature = _feature_like(rng, seen, int(rng.integers(2, 8)))
        yield at_most(guess_leakage(seen, feature), claimed, "random feature")
    attack = worst_guess(seen)
    yield equal(guess_leakage(seen, attack.feature), claimed, "constructed feature")
    yield equal(attack.attained, claimed, "its closed form")


@theorem(
    "D-Guesses-1",
    statement="A feature with at most B values leaks at most log B·G(1/B), G the most posterior "
    "mass "
    "in a given prior mass; a feature attains it.",
    conditions="finite alphabets, B ≥ 2",
    tight=True,
)
def _few_guesses(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    values = int(rng.integers(2, 6))
    attack = worst_guess(seen, values)
    for _ in range(20):
        feature = _feature_like(rng, seen, int(rng.integers(1, values + 1)))
        yield at_most(guess_leakage(seen, feature), attack.attained, "random feature")
    yield equal(guess_leakage(seen, attack.feature), attack.attained, "constructed feature")
    # G by trying every order in which symbols could be taken in.
    best = 0.0
    for mask in product((0, 1), repeat=len(seen.prior)):
        inside = np.array(mask, dtype=bool)
        mass = seen.prior[inside].sum()
        left = 1 / values - mass
        edge = [x for x in np.flatnonzero(~inside) if seen.prior[x] >= left >= 0]
        part = [seen.lift[x] * left for x in edge] or ([0.0] if abs(left) < 1e-12 else [])
        best = max([best, *(seen.posterior[inside].sum() + extra for extra in part)])
    # A slack below the scale of the claim keeps instances apart from certainty out of rounding.
    yield equal(attack.attained, math.log(values * best), "greedy against all subsets", scale=1.0)


@theorem(
    "PML-Sec-2.3.1",
    statement="Guessing a feature and maximising a gain function are one: gain P(u|x) for a "
    "feature, "
    "and for every gain a feature with the same leakage.",
    source="Saeidian2023PML",
    conditions="finite alphabets, gain positive after y",
    tight=True,
)
def _gains_and_guesses(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    feature = _feature_like(rng, seen, int(rng.integers(2, 5)))
    leaked = guess_leakage(seen, feature)
    yield equal(
        gain_leakage(seen, gain_of_feature(feature)), leaked, "gain of a feature", scale=1.0
    )
    gain = rng.random((len(seen.prior), int(rng.integers(1, 5)))) + 0.01
    found = guess_leakage(seen, feature_of_gain(seen, gain))
    yield equal(found, gain_leakage(seen, gain), "feature of a gain", scale=1.0)


@theorem(
    "PMC-Thm-1",
    statement="Λ(X→y) = D∞(P_X ‖ P_X|y) = −min_x i(x;y) is the most that y lowers the "
    "probability of "
    "a wrong guess of any feature.",
    source="SaeidianPMC",
    conditions="finite secret",
    tight=True,
    also=("PMC-Def-7",),
)
def _misses(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    claimed = _divergence(seen.prior, seen.posterior)
    for _ in range(5):
        feature = _feature_like(rng, seen, int(rng.integers(2, 8)))
        yield at_most(miss_leakage(seen, feature), claimed, "random feature")
    yield equal(miss_leakage(seen, worst_miss(seen).feature), claimed, "feature with two values")
    star = seen.support[seen.lift.argmin()]
    enough = max(1, math.ceil(seen.prior[star] / (1 - seen.prior[star])))
    split = worst_miss(seen, enough)
    yield equal(miss_leakage(seen, split.feature), claimed, "x* in enough parts")
    yield equal(seen.cost, claimed, "closed form")


@theorem(
    "D-Misses-1",
    statement="A feature with two values attains Λ(X→y), and so does the published construction "
    "from "
    "k ≥ P(x*)/(1 − P(x*)) on: no limit in k is needed.",
    conditions="finite secret, more than one symbol",
    tight=True,
)
def _finite_misses(rng: Generator) -> Iterator[Claim]:
    heavy = rng.uniform(0.5, 0.9)
    prior = np.append((1 - heavy) * some_masses(rng, 3), heavy)
    likelihood = np.append(rng.uniform(0.5, 1, 3), rng.uniform(0.05, 0.3))
    posterior = prior * likelihood / (prior @ likelihood)
    seen = Observation("y", (0, 1, 2, 3), prior, likelihood, posterior)
    enough = math.ceil(heavy / (1 - heavy))
    for k in range(1, enough + 2):
        attack = worst_miss(seen, k)
        if k >= enough:
            yield equal(attack.attained, seen.cost, f"{k} of {enough} parts")
        else:
            yield at_most(attack.attained, seen.cost, f"{k} of {enough} parts")
            miss = 1 - max(heavy / k, 1 - heavy), 1 - max(posterior[3] / k, 1 - posterior[3])
            yield equal(attack.attained, math.log(miss[0] / miss[1]), "closed form", scale=1.0)
    yield equal(worst_miss(seen).attained, seen.cost, "two values")
    yield at_most(worst_miss(seen).feature.shape[1], 2, "two values")


@theorem(
    "PMC-Thm-2",
    statement="Wrong guesses of features and cost functions give one leakage: cost 1 − P(u|x) "
    "for a "
    "feature, and for every cost a feature, which needs two values only.",
    source="SaeidianPMC",
    conditions="finite secret, cost not zero before y",
    tight=True,
    also=("ID-Thm-3",),
)
def _costs_and_misses(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng, zeros=bool(rng.random() < 0.3))
    feature = _feature_like(rng, seen, int(rng.integers(2, 5)))
    table = feature.kernel
    # What the best guess misses, summed from the other values: 1 − max would lose digits.
    before, after = (float(np.sort(d @ table)[:-1].sum()) for d in (seen.prior, seen.posterior))
    found = cost_leakage(seen, cost_of_feature(feature))
    yield equal(found, math.log(before / after), "cost of a feature", scale=1.0)
    cost = rng.random((len(seen.prior), int(rng.integers(1, 5)))) + 0.01
    made = feature_of_cost(seen, cost)
    yield equal(miss_leakage(seen, made), cost_leakage(seen, cost), "feature of a cost", scale=1.0)
    yield at_most(made.shape[1], 2, "two values")


@theorem(
    "PMC-Cor-1",
    statement="Λ(X→y) is the supremum of Λ_c over non-negative costs; 1{x=w}/P(x) attains it.",
    source="SaeidianPMC",
    conditions="finite alphabets, non-negative costs",
    tight=True,
    also=("ID-Cor-5",),
)
def _costs(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    claimed = _divergence(seen.prior, seen.posterior)
    for _ in range(5):
        cost = rng.random((len(seen.prior), int(rng.integers(1, 5)))) ** 4
        yield at_most(cost_leakage(seen, cost), claimed, "random cost")
    yield equal(cost_leakage(seen, worst_cost(seen)), claimed, "cost 1{x=w}/P(x)")


@theorem(
    "PMC-Thm-3",
    statement="Costs on the cells of a partition of P(x)/P(x|y) into steps of e^ε come within ε of "
    "Λ(X→y), for secrets of any kind.",
    source="SaeidianPMC",
    conditions="checked on finite secrets",
)
def _partitions(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    for step in (2.0, 0.3, 0.01):
        found = cost_leakage(seen, partition_cost(seen, step))
        yield at_least(found, seen.cost - step, f"step {step}")
        yield at_most(found, seen.cost, f"step {step}")


@theorem(
    "PMC-Rem-3",
    statement="Λ(X→y) is infinite exactly when y rules a symbol out; ℓ(X→y) is at most log 1/pmin.",
    source="SaeidianPMC",
    conditions="finite alphabets",
)
def _infinite(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior, zeros=True)
    for y in range(mechanism.shape[1]):
        if not mechanism.kernel[:, y].any():
            continue
        seen = observe(mechanism, prior, y)
        ruled_out = bool((mechanism.kernel[:, y] == 0).any())
        yield holds((seen.cost == math.inf) == ruled_out, "infinite when ruled out")
        yield at_most(seen.leakage, -math.log(prior.pmin), "finite leakage")
        if ruled_out:
            yield holds(worst_miss(seen).attained == math.inf, "a feature attains infinity")
            cost = worst_cost(seen)
            yield holds(cost_leakage(seen, cost) == math.inf, "a cost attains infinity")
            yield holds(
                miss_leakage(seen, feature_of_cost(seen, cost)) == math.inf, "and its feature"
            )


@theorem(
    "PMC-Cor-2",
    statement="Given side information Z − X − Y, conditional PML and PMC are divergences between "
    "P(x|z) and P(x|y,z).",
    source="SaeidianPMC",
    conditions="finite alphabets, P(Z=z) > 0",
    tight=True,
    also=("PML-Def-2.5", "PMC-Def-12"),
)
def _conditional(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism, side = some_mechanism(rng, prior), some_mechanism(rng, prior)
    y, z = int(rng.integers(mechanism.shape[1])), int(rng.integers(side.shape[1]))
    seen = observe(mechanism, prior, y, given=(side, z))
    joint = prior.probabilities * side.kernel[:, z]
    before = joint / joint.sum()
    joint = joint * mechanism.kernel[:, y]
    after = joint / joint.sum()
    yield equal(seen.leakage, _divergence(after, before), "PML", scale=1.0)
    yield equal(seen.cost, _divergence(before, after), "PMC", scale=1.0)
    yield equal(
        gain_leakage(seen, worst_gain(seen)), _divergence(after, before), "a gain", scale=1.0
    )
    yield equal(
        cost_leakage(seen, worst_cost(seen)), _divergence(before, after), "a cost", scale=1.0
    )
    known = condition(prior, side, z).probabilities
    yield at_most(np.abs(known - before).max(), 1e-12, "prior given z")


@theorem(
    "PMC-Def-8",
    statement="Maximal cost leakage is −log Σ_y min_x P(y|x): no cost function of a feature "
    "exceeds "
    "it on average, and one cost attains it.",
    source="Issa2020",
    conditions="finite alphabets",
    tight=True,
)
def _maximal_cost(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    claimed = -math.log(mechanism.kernel.min(axis=0).sum())
    for _ in range(5):
        feature = some_feature(rng, prior, 3)
        cost = reduced_cost(feature, rng.random((3, 4)) ** 3)
        yield at_most(average_cost_leakage(mechanism, prior, cost), claimed, "random cost")
    cost = worst_cost(observe(mechanism, prior, 0))
    yield equal(average_cost_leakage(mechanism, prior, cost), claimed, "cost 1{x=w}/P(x)")
    yield equal(maximal_cost_leakage(mechanism, prior), claimed, "closed form")


@theorem(
    "PMC-Prop-2",
    statement="Costs of guessing a feature are costs of guessing the secret: E[c(U,w)|X] has the "
    "same "
    "expectations, so maximal cost leakage needs no features.",
    source="SaeidianPMC",
    conditions="finite alphabets",
    tight=True,
)
def _no_features(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism, feature = some_mechanism(rng, prior), some_feature(rng, prior, 3)
    cost = rng.random((3, 4)) + 0.05
    # The same ratio measured on the feature alone: U is the secret, P(Y|U) the mechanism.
    channel, masses = feature_channel(mechanism, prior, feature), pushforward(prior, feature)
    direct = average_cost_leakage(channel, masses, cost)
    found = average_cost_leakage(mechanism, prior, reduced_cost(feature, cost))
    yield equal(found, direct, "on average", scale=1.0)
    y = int(rng.integers(mechanism.shape[1]))
    one = cost_leakage(observe(channel, masses, y), cost)
    two = cost_leakage(observe(mechanism, prior, y), reduced_cost(feature, cost))
    yield equal(two, one, "at one outcome", scale=1.0)


@theorem(
    "PMC-Sec-III-C.1",
    statement="Maximal cost leakage is −log E[e^−Λ], hence at most E[Λ(X→Y)]; equality is possible "
    "(binary randomised response, uniform prior).",
    source="SaeidianPMC",
    conditions="finite alphabets",
    tight=True,
)
def _averages(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    average = expected_cost(mechanism, prior)
    yield at_most(maximal_cost_leakage(mechanism, prior), average, "random kernel")
    keep = rng.uniform(0.6, 0.95)
    flip = Mechanism([[keep, 1 - keep], [1 - keep, keep]])
    even = some_prior(rng, 2).uniform(2)
    claimed = expected_cost(flip, even)
    yield equal(maximal_cost_leakage(flip, even), claimed, "binary randomised response")


@theorem(
    "PMC-Sec-III-C.2",
    statement="Maximal realizable cost D∞(P_X×P_Y ‖ P_XY) = max_y Λ(X→y) is at least E[Λ(X→Y)], "
    "and that at least maximal cost leakage.",
    source="SaeidianPMC",
    conditions="finite alphabets",
    tight=True,
)
def _realizable(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    joint = mechanism.joint(prior)
    claimed = _divergence(np.outer(joint.sum(axis=1), joint.sum(axis=0)).ravel(), joint.ravel())
    yield equal(maximal_realizable_cost(mechanism, prior), claimed, "divergence")
    costs = [observe(mechanism, prior, y).cost for y in range(mechanism.shape[1])]
    yield equal(max(costs), claimed, "largest over outcomes")
    yield at_most(expected_cost(mechanism, prior), claimed, "at least the average")
    yield at_most(maximal_cost_leakage(mechanism, prior), claimed, "at least on average")


@theorem(
    "PMC-Def-10",
    statement="Pointwise maximal guesswork leakage is Λ(X→y): no feature's guesswork falls more, "
    "and k splits of x* come within log(1 + (P(x*)−P(x*|y))/(P(x*|y)(1+hP(x*)))) of it.",
    source="SaeidianPMC",
    conditions="finite secret, Λ(X→y) finite for the rate",
    tight=True,
)
def _guesswork(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    for moment in (1.0, 0.5, 2.0):
        for _ in range(3):
            feature = _feature_like(rng, seen, int(rng.integers(2, 8)))
            found = guesswork_leakage(seen, feature, moment)
            yield at_most(found, seen.cost, "random feature")
        error = guesswork_error(seen, 256, moment)
        if error < math.inf:
            attack = worst_guesswork(seen, 256, moment=moment)
            yield equal(attack.attained, seen.cost - error, "stated error", scale=1.0)
    yield at_most(guesswork_error(seen, 1 << 40), 1e-6, "the error goes to zero")
    yield equal(guesswork_leakage(seen), guesswork_leakage(seen, moment=1.0), "itself", scale=1.0)


@theorem(
    "PMC-Sec-III-D.1",
    statement="Guesswork is a cost function: the cost of an order of guesses is the rank of the "
    "value.",
    source="SaeidianPMC",
    conditions="finite secret",
    tight=True,
)
def _ranks(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    moment = float(rng.choice([1.0, 2.0, 0.5]))
    cost = guesswork_cost(len(seen.prior), moment)
    yield equal(float((seen.prior @ cost).min()), guesswork(seen.prior, moment), "before")
    found = cost_leakage(seen, cost)
    yield equal(found, guesswork_leakage(seen, moment=moment), "leakage", scale=1.0)
    yield at_most(found, seen.cost, "at most PMC")


@theorem(
    "PMC-Ex-1",
    statement="The least E|X−w|^r of a real-valued secret falls by a factor of at most e^Λ.",
    source="SaeidianPMC",
    conditions="r ≥ 1",
)
def _distances(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    values = np.cumsum(rng.uniform(0.5, 2, len(seen.prior))) * 10.0 ** rng.integers(-3, 4)
    for power in (1.0, 1.5, 2.0, 3.0):
        yield at_most(power_leakage(seen, values, power), seen.cost, f"power {power}")


@theorem(
    "PMC-Ex-2",
    statement="The least expected α-loss is α/(α−1)·(1 − ‖p‖_α), attained by p^α/Σp^α, and falls "
    "by a "
    "factor of at most e^Λ.",
    source="SaeidianPMC",
    conditions="α from 1 to ∞",
    tight=True,
)
def _alpha(rng: Generator) -> Iterator[Claim]:
    seen = some_sight(rng)
    for alpha in (1.0, 1.3, 2.0, 7.0, math.inf):
        yield at_most(alpha_leakage(seen, alpha), seen.cost, f"α = {alpha}")
    p = seen.prior
    alpha = float(rng.uniform(1.1, 6))
    share = 1 - 1 / alpha

    def loss(answer: np.ndarray) -> float:
        return float(p @ (1 - answer**share)) / share

    best = p**alpha / (p**alpha).sum()
    yield equal(loss(best), alpha_loss(p, alpha), "best answer")
    for _ in range(5):
        yield at_least(loss(some_masses(rng, len(p))), alpha_loss(p, alpha), "other answers")
