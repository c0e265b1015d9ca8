"""Saeidian, Grosse, Sadeghi, Skoglund, Oechtering: pointwise maximal cost, [SaeidianPMC].

In the order of the paper, on finite alphabets; where a statement is about others, finite ones that
grow, or a closed form.
"""

from __future__ import annotations

import math
from dataclasses import astuple
from functools import partial

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import ALIP, LDP, LIP, PMC, PML
from ..theory.adversaries import (
    alpha_leakage,
    alpha_loss,
    average_cost_leakage,
    cost_leakage,
    cost_of_feature,
    expected_cost,
    feature_of_cost,
    gain_leakage,
    guesswork,
    guesswork_cost,
    guesswork_error,
    guesswork_leakage,
    maximal_cost_leakage,
    maximal_realizable_cost,
    miss_leakage,
    observe,
    partition_cost,
    power_leakage,
    reduced_cost,
    worst_cost,
    worst_gain,
    worst_guesswork,
    worst_miss,
)
from ..theory.conversions import convert
from ..theory.leakage import (
    condition,
    feature_channel,
    prior_curvature,
    pushforward,
)
from . import shared_properties
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import (
    Array,
    divergence,
    high_privacy_kernel,
    measure,
    mutual_information,
    randomised_response,
    towards_constant,
)
from .published_conversions import register_rules
from .random_instances import (
    crossing_priors,
    feature_like,
    mild_prior,
    positive_kernel,
    some_feature,
    some_high_privacy_level,
    some_level,
    some_masses,
    some_mechanism,
    some_outcome,
    some_prior,
)
from .shared_properties import both_sides, curved_in_the_prior

result = partial(theorem, source="SaeidianPMC")


# Section II: preliminaries


register_rules(
    "PMC-Def-4",
    "PMC-Def-4.2",
    "PMC-Def-5.1",
    "PMC-Def-5.2",
    "PMC-Def-5.3",
    "PMC-Prop-1a",
    "PMC-Prop-1b",
    "PMC-Prop-1c",
)


@result(
    "PMC-Prop-1-Limit",
    statement="What ε-LDP implies for PMC and PML tends to ε as pmin → 0, and never exceeds it.",
    tight=True,
    also=("PMC-Prop-3-Limit",),
)
def _rare_symbol(rng: Generator) -> Claims:
    level = some_level(rng)
    rest = mild_prior(rng, 1, 4).probabilities
    prior = Prior.from_counts([1e-13, *rest])
    for to in (PMC, PML):
        found = convert(LDP(level), to=to, prior=prior).levels[0]
        yield at_most(found, level, f"{to.__name__} at pmin = 1e-13")


# Section III: cost adversaries


@result(
    "PMC-Thm-1",
    statement="Λ(X→y) = D∞(P_X ‖ P_X|y) = −min_x i(x;y) is the most that y lowers the probability "
    "of a wrong guess of any feature.",
    conditions="finite secret",
    tight=True,
    also=("PMC-Def-7",),
)
def _misses(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    claimed = divergence(outcome.prior, outcome.posterior)
    for _ in range(5):
        feature = feature_like(rng, outcome, int(rng.integers(2, 8)))
        yield at_most(miss_leakage(outcome, feature), claimed, "random feature")
    yield equal(
        miss_leakage(outcome, worst_miss(outcome).feature), claimed, "feature with two values"
    )
    star = outcome.support[outcome.lift.argmin()]
    enough = max(1, math.ceil(outcome.prior[star] / (1 - outcome.prior[star])))
    split = worst_miss(outcome, enough)
    yield equal(miss_leakage(outcome, split.feature), claimed, "x* in enough parts")
    yield equal(outcome.cost, claimed, "closed form")


@result(
    "PMC-Rem-3",
    statement="Λ(X→y) is infinite exactly when y rules a symbol out; ℓ(X→y) is at most log 1/pmin.",
)
def _infinite(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior, zeros=True)
    for y in range(mechanism.shape[1]):
        if not mechanism.kernel[:, y].any():
            continue
        outcome = observe(mechanism, prior, y)
        ruled_out = bool((mechanism.kernel[:, y] == 0).any())
        yield holds((outcome.cost == math.inf) == ruled_out, "infinite when ruled out")
        yield at_most(outcome.leakage, -math.log(prior.pmin), "finite leakage")
        if ruled_out:
            yield holds(worst_miss(outcome).attained == math.inf, "a feature attains infinity")
            cost = worst_cost(outcome)
            yield holds(cost_leakage(outcome, cost) == math.inf, "a cost attains infinity")
            yield holds(
                miss_leakage(outcome, feature_of_cost(outcome, cost)) == math.inf, "and its feature"
            )


@result(
    "PMC-Thm-2",
    statement="Wrong guesses of features and cost functions give one leakage: cost 1 − P(u|x) for "
    "a feature, and for every cost a feature, which needs two values only.",
    conditions="finite secret, cost not zero before y",
    tight=True,
    also=("ID-Thm-3",),
)
def _costs_and_misses(rng: Generator) -> Claims:
    outcome = some_outcome(rng, zeros=bool(rng.random() < 0.3))
    feature = feature_like(rng, outcome, int(rng.integers(2, 5)))
    table = feature.kernel
    # What the best guess misses, summed from the other values: 1 − max would lose digits.
    before, after = (
        float(np.sort(d @ table)[:-1].sum()) for d in (outcome.prior, outcome.posterior)
    )
    found = cost_leakage(outcome, cost_of_feature(feature))
    yield equal(found, math.log(before / after), "cost of a feature", scale=1.0)
    cost = rng.random((len(outcome.prior), int(rng.integers(1, 5)))) + 0.01
    made = feature_of_cost(outcome, cost)
    yield equal(
        miss_leakage(outcome, made), cost_leakage(outcome, cost), "feature of a cost", scale=1.0
    )
    yield at_most(made.shape[1], 2, "two values")


@result(
    "PMC-Cor-1",
    statement="Λ(X→y) is the supremum of Λ_c over non-negative costs; 1{x=w}/P(x) attains it.",
    conditions="finite alphabets, non-negative costs",
    tight=True,
    also=("ID-Cor-5",),
)
def _costs(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    claimed = divergence(outcome.prior, outcome.posterior)
    for _ in range(5):
        cost = rng.random((len(outcome.prior), int(rng.integers(1, 5)))) ** 4
        yield at_most(cost_leakage(outcome, cost), claimed, "random cost")
    yield equal(cost_leakage(outcome, worst_cost(outcome)), claimed, "cost 1{x=w}/P(x)")


@result(
    "PMC-Def-8",
    statement="Maximal cost leakage is −log Σ_y min_x P(y|x): no cost function of a feature "
    "exceeds it on average, and one cost attains it.",
    source="Issa2020",
    tight=True,
)
def _maximal_cost(rng: Generator) -> Claims:
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


register_rules("PMC-Eq-9")


@result(
    "PMC-Sec-III-C.1",
    statement="Maximal cost leakage is −log E[e^−Λ], hence at most E[Λ(X→Y)]; equality is "
    "possible (binary randomised response, uniform prior).",
    tight=True,
)
def _averages(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    average = expected_cost(mechanism, prior)
    yield at_most(maximal_cost_leakage(mechanism, prior), average, "random kernel")
    keep = rng.uniform(0.6, 0.95)
    flip = Mechanism([[keep, 1 - keep], [1 - keep, keep]])
    even = some_prior(rng, 2).uniform(2)
    claimed = expected_cost(flip, even)
    yield equal(maximal_cost_leakage(flip, even), claimed, "binary randomised response")


@result(
    "PMC-Prop-2",
    statement="Costs of guessing a feature are costs of guessing the secret: E[c(U,w)|X] has the "
    "same expectations, so maximal cost leakage needs no features.",
    tight=True,
)
def _no_features(rng: Generator) -> Claims:
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


@result(
    "PMC-Def-9",
    statement="Maximal realizable cost, D∞(P_X × P_Y ‖ P_XY), is the largest PMC of an outcome.",
    tight=True,
)
def _realizable_cost(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    kernel = positive_kernel(rng, len(prior))
    p = prior.probabilities
    flat = p[:, None] * (p @ kernel)
    found = float(np.log((flat / (p[:, None] * kernel)).max()))
    yield equal(measure("pmc", kernel, prior)[0], found)


@result(
    "PMC-Sec-III-C.2",
    statement="Maximal realizable cost D∞(P_X×P_Y ‖ P_XY) = max_y Λ(X→y) is at least E[Λ(X→Y)], "
    "and that at least maximal cost leakage.",
    tight=True,
)
def _realizable(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    joint = mechanism.joint(prior)
    claimed = divergence(np.outer(joint.sum(axis=1), joint.sum(axis=0)).ravel(), joint.ravel())
    yield equal(maximal_realizable_cost(mechanism, prior), claimed, "divergence")
    costs = [observe(mechanism, prior, y).cost for y in range(mechanism.shape[1])]
    yield equal(max(costs), claimed, "largest over outcomes")
    yield at_most(expected_cost(mechanism, prior), claimed, "at least the average")
    yield at_most(maximal_cost_leakage(mechanism, prior), claimed, "at least on average")


@result(
    "PMC-Def-10",
    statement="Pointwise maximal guesswork leakage is Λ(X→y): no feature's guesswork falls more, "
    "and k splits of x* come within log(1 + (P(x*)−P(x*|y))/(P(x*|y)(1+hP(x*)))) of it.",
    conditions="finite secret, Λ(X→y) finite for the rate",
    tight=True,
)
def _guesswork(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    for moment in (1.0, 0.5, 2.0):
        for _ in range(3):
            feature = feature_like(rng, outcome, int(rng.integers(2, 8)))
            found = guesswork_leakage(outcome, feature, moment)
            yield at_most(found, outcome.cost, "random feature")
        error = guesswork_error(outcome, 256, moment)
        if error < math.inf:
            attack = worst_guesswork(outcome, 256, moment=moment)
            yield equal(attack.attained, outcome.cost - error, "stated error", scale=1.0)
    yield at_most(guesswork_error(outcome, 1 << 40), 1e-6, "the error goes to zero")
    yield equal(
        guesswork_leakage(outcome), guesswork_leakage(outcome, moment=1.0), "itself", scale=1.0
    )


@result(
    "PMC-Sec-III-D.1",
    statement="Guesswork is a cost function: the cost of an order of guesses is the rank of the "
    "value.",
    conditions="finite secret",
    tight=True,
)
def _ranks(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    moment = float(rng.choice([1.0, 2.0, 0.5]))
    cost = guesswork_cost(len(outcome.prior), moment)
    yield equal(float((outcome.prior @ cost).min()), guesswork(outcome.prior, moment), "before")
    found = cost_leakage(outcome, cost)
    yield equal(found, guesswork_leakage(outcome, moment=moment), "leakage", scale=1.0)
    yield at_most(found, outcome.cost, "at most PMC")


@result(
    "PMC-Ex-1",
    statement="The least E|X−w|^r of a real-valued secret falls by a factor of at most e^Λ.",
    conditions="r ≥ 1",
)
def _distances(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    values = np.cumsum(rng.uniform(0.5, 2, len(outcome.prior))) * 10.0 ** rng.integers(-3, 4)
    for power in (1.0, 1.5, 2.0, 3.0):
        yield at_most(power_leakage(outcome, values, power), outcome.cost, f"power {power}")


@result(
    "PMC-Ex-2",
    statement="The least expected α-loss is α/(α−1)·(1 − ‖p‖_α), attained by p^α/Σp^α, and falls "
    "by a factor of at most e^Λ.",
    conditions="α from 1 to ∞",
    tight=True,
)
def _alpha(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    for alpha in (1.0, 1.3, 2.0, 7.0, math.inf):
        yield at_most(alpha_leakage(outcome, alpha), outcome.cost, f"α = {alpha}")
    p = outcome.prior
    alpha = float(rng.uniform(1.1, 6))
    share = 1 - 1 / alpha

    def loss(answer: Array) -> float:
        return float(p @ (1 - answer**share)) / share

    best = p**alpha / (p**alpha).sum()
    yield equal(loss(best), alpha_loss(p, alpha), "best answer")
    for _ in range(5):
        yield at_least(loss(some_masses(rng, len(p))), alpha_loss(p, alpha), "other answers")


@result(
    "PMC-Thm-3",
    statement="Costs on the cells of a partition of P(x)/P(x|y) into steps of e^ε come within ε "
    "of Λ(X→y), for secrets of any kind.",
    conditions="checked on finite secrets",
)
def _partitions(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    for step in (2.0, 0.3, 0.01):
        found = cost_leakage(outcome, partition_cost(outcome, step))
        yield at_least(found, outcome.cost - step, f"step {step}")
        yield at_most(found, outcome.cost, f"step {step}")


# Section IV: properties and examples


@result(
    "PMC-Cor-2",
    statement="Given side information Z − X − Y, conditional PML and PMC are divergences between "
    "P(x|z) and P(x|y,z).",
    conditions="finite alphabets, P(Z=z) > 0",
    tight=True,
    also=("PML-Def-2.5", "PMC-Def-12"),
)
def _conditional(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism, side = some_mechanism(rng, prior), some_mechanism(rng, prior)
    y, z = int(rng.integers(mechanism.shape[1])), int(rng.integers(side.shape[1]))
    outcome = observe(mechanism, prior, y, given=(side, z))
    joint = prior.probabilities * side.kernel[:, z]
    before = joint / joint.sum()
    joint = joint * mechanism.kernel[:, y]
    after = joint / joint.sum()
    yield equal(outcome.leakage, divergence(after, before), "PML", scale=1.0)
    yield equal(outcome.cost, divergence(before, after), "PMC", scale=1.0)
    yield equal(
        gain_leakage(outcome, worst_gain(outcome)), divergence(after, before), "a gain", scale=1.0
    )
    yield equal(
        cost_leakage(outcome, worst_cost(outcome)), divergence(before, after), "a cost", scale=1.0
    )
    known = condition(prior, side, z).probabilities
    yield at_most(np.abs(known - before).max(), 1e-12, "prior given z")


result(
    "PMC-Lem-1.1",
    statement="Λ(X→y) ≥ 0: no outcome has negative value to the best adversary.",
)(lambda rng: shared_properties.non_negative(rng, risk_averse=True))


result(
    "PMC-Lem-1.2",
    statement="Λ(X→Y) = 0 when X and Y are independent.",
    tight=True,
)(lambda rng: shared_properties.zero_when_independent(rng, risk_averse=True))


result(
    "PMC-Lem-1.3",
    statement="Λ of independent secrets, released independently, is the sum of the parts.",
    conditions="finite alphabets, product prior and product mechanism",
    tight=True,
)(lambda rng: shared_properties.additive(rng, risk_averse=True))


@result(
    "PMC-Lem-1.4",
    statement="Λ(X→y) is concave in the prior, whatever the supports.",
    tight=True,
)
def _concave(rng: Generator) -> Claims:
    yield from curved_in_the_prior(rng, True)
    first, second, mechanism = crossing_priors(rng)
    found = prior_curvature(mechanism, first, second, 0.5, risk_averse=True)
    yield from both_sides(found, "different supports")


result(
    "PMC-Lem-1.5",
    statement="Λ(Z→y) ≤ Λ(X→y) for a feature Z of X.",
    tight=True,
    also=("PMC-Rem-2", "ID-Rem-1"),
)(lambda rng: shared_properties.pre_processed(rng, risk_averse=True))


result(
    "PMC-Lem-1.6",
    statement="Post-processing: max_z Λ(X→z) ≤ max_y Λ(X→y), and outcome by outcome.",
    tight=True,
)(lambda rng: shared_properties.post_processed(rng, risk_averse=True))


result(
    "PMC-Lem-1.7",
    statement="Λ(X→y1,y2) ≤ Λ(X→y1) + Λ(X→y2|y1), with equality when one symbol is worst in both.",
    tight=True,
)(lambda rng: shared_properties.composed(rng, risk_averse=True))


@result(
    "PMC-Ex-3",
    statement="Randomised response with parameter ε_r has PMC log(1 + p_j (e^ε_r − 1)) at outcome "
    "j, and so at most ε_r.",
    tight=True,
)
def _randomised_response(rng: Generator) -> Claims:
    prior, level = mild_prior(rng), some_level(rng)
    kernel = randomised_response(len(prior), level)
    found = PMC(1.0).leakage(kernel, prior)
    for j, p in enumerate(prior.probabilities):
        yield equal(found[j], math.log1p(p * math.expm1(level)), f"outcome {j}")
    yield at_most(found.max(), level, "against ε_r")


@result(
    "PMC-Ex-4",
    statement="The optimal PML mechanism of the high-privacy regime keeps the prior as output "
    "distribution, has PML ε_u, and PMC log p_j/(1 − e^ε_u (1−p_j)) at outcome j.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin)",
    tight=True,
    also=("PMC-Rem-6",),
)
def _high_privacy_mechanism(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    level = some_high_privacy_level(rng, prior)
    kernel = high_privacy_kernel(prior, level)
    p = prior.probabilities
    yield equal(np.abs(p @ kernel - p).max(), 0.0, "output distribution against the prior")
    yield equal(measure("pml", kernel, prior)[0], level, "PML")
    found = PMC(1.0).leakage(kernel, prior)
    for j in range(len(p)):
        yield equal(found[j], math.log(p[j] / (1 - math.exp(level) * (1 - p[j]))), f"outcome {j}")


# Section V: other privacy measures, Figure 1


register_rules(
    "PMC-Prop-3", "PMC-Thm-4.1", "PMC-Thm-4.2", "PMC-Cor-3.2a", "PMC-Cor-3.2b", "PMC-Cor-3.2c"
)


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
    statement="With ε_l ≥ ε_l*(ε_u), no (ε_l, ε_u)-ALIP mechanism releases more mutual "
    "information than e^ε_u p_j off the diagonal and 1 − e^ε_u (1−p_i) on it.",
    conditions="finite alphabets, ε_u < log 1/(1−pmin)",
    tight=True,
    also=("ID-Cor-4",),
)
def _best_for_sub_convex(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    kernel = positive_kernel(rng, len(prior))
    limit = -0.95 * math.log1p(-prior.pmin)
    while measure("pml", kernel, prior)[0] > limit:
        kernel = towards_constant(kernel, 0.3)
    level = measure("pml", kernel, prior)[0]
    p = prior.probabilities
    best = high_privacy_kernel(prior, level)
    most = mutual_information(p, best)
    yield at_most(mutual_information(p, kernel), most, "random kernel", scale=most)
    merged = best @ rng.dirichlet(np.ones(3), len(p))
    yield at_most(mutual_information(p, merged), most, "post-processed", scale=most)
    yield equal(mutual_information(p, best @ np.eye(len(p))[::-1]), most, "relabelled")


@result(
    "PMC-Thm-5-Finite",
    statement="On finite alphabets bounded PMC means bounded PML, LDP at a finite level, and the "
    "other way round for LDP (what remains of Theorems 5 and 6).",
    conditions="finite alphabets, every symbol of positive mass",
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
    yield holds(math.isfinite(gain), "PML is finite")
    yield holds(math.isfinite(cost) == math.isfinite(spread), "PMC and LDP are finite together")
