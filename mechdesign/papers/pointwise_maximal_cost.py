"""Saeidian, Grosse, Sadeghi, Skoglund, Oechtering: pointwise maximal cost, [SaeidianPMC].

In the order of the paper, on finite alphabets; where a statement is about others, finite ones that
grow, or a closed form.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import LDP, PMC, PML
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
from .general_alphabets import (
    CountableOutcome,
    GaussianPosterior,
    TiltedLaw,
    geometric,
    log_ratio,
    release_or_draw_outcome,
)
from .measurements import (
    Array,
    divergence,
    high_privacy_kernel,
    measure,
    randomised_response,
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
    some_tilted,
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
    "PMC-Def-1",
    statement="D∞(P‖Q) is the log of the largest P(A)/Q(A) over events, of the largest density "
    "ratio, and on countable alphabets of the largest ratio of masses; infinite unless P ≪ Q.",
    conditions="finite and countable alphabets, and on an interval atoms, densities, and laws with "
    "neither",
    tight=True,
    also=("PML-Def-2.2",),
)
def _divergence(rng: Generator) -> Claims:
    first, second = some_masses(rng, 5), some_masses(rng, 5)
    claimed = divergence(first, second)
    best = -math.inf
    for mask in range(1, 1 << 5):
        inside = [k for k in range(5) if mask >> k & 1]
        found = math.log(first[inside].sum() / second[inside].sum())
        yield at_most(found, claimed, "an event")
        best = max(best, found)
    yield equal(best, claimed, "all events")
    partly = second * (np.arange(5) > 0)
    yield equal(divergence(first, partly / partly.sum()), math.inf, "not absolutely continuous")
    # Countable: the posterior of an outcome against the prior, over infinitely many symbols.
    y, share = int(rng.integers(0, 40)), Fraction(int(rng.integers(1, 64)), 64)
    outcome = release_or_draw_outcome(share, y)
    ratios = [_posterior_ratio(outcome, x) for x in range(y + 5)]
    yield equal(log_ratio(max(ratios)), log_ratio(outcome.pml_ratio), "countable, P(x|y)/P(x)")
    yield equal(-log_ratio(min(ratios)), log_ratio(outcome.pmc_ratio), "countable, P(x)/P(x|y)")
    # Any law on the interval: cells of finer and finer partitions come near from below, and no
    # union of cells comes nearer.
    law = some_tilted(rng)
    for depth in (1, 3, 7):
        before, after = law.cells(depth)
        some = rng.random((8, len(before))) < 0.5
        some[:, 0] = True
        for upper, lower, limit in ((after, before, law.pml), (before, after, law.pmc)):
            best = float(np.log(upper / lower).max())
            yield at_most(best, limit, f"3^{depth} cells")
            yield at_least(best, limit - law.step(depth), f"3^{depth} cells")
            unions = np.log((some @ upper) / (some @ lower))
            yield at_most(float(unions.max()), best, "unions of cells")


def _posterior_ratio(outcome: CountableOutcome, symbol: int) -> Fraction:
    return outcome.likelihoods.get(symbol, outcome.rest) / outcome.probability


@result(
    "PMC-Def-2",
    statement="ℓ(X→y) is the most that y adds to a gain: gains 1/P(D) on a cell D of a partition "
    "come within the cells' width of it, on any alphabet.",
    source="Saeidian2023PML",
    conditions="finite and countable alphabets, and on an interval atoms, densities, and laws with "
    "neither",
    tight=True,
)
def _gains_on_cells(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    yield equal(gain_leakage(outcome, worst_gain(outcome)), outcome.leakage, "finite", scale=1.0)
    law = some_tilted(rng)
    for depth in (1, 3, 7):
        # The gain 1/P(D) on D has prior mean one for every cell D, so the best answer gains:
        before, after = law.cells(depth)
        found = float(np.log(after / before).max())
        yield at_most(found, law.pml, f"3^{depth} cells of the interval")
        yield at_least(found, law.pml - law.step(depth), f"3^{depth} cells of the interval")
    # A countable alphabet: the gain 1{x=w}/P(w), and answers without end.
    share, y = Fraction(int(rng.integers(1, 64)), 64), int(rng.integers(0, 40))
    countable = release_or_draw_outcome(share, y)
    gains = [_posterior_ratio(countable, w) for w in range(y + 20)]
    yield equal(log_ratio(max(gains)), log_ratio(countable.pml_ratio), "countable")
    normal = _some_normal(rng)
    # The ratio of the densities is that of the likelihoods, largest where x = y.
    best = normal.outcome
    for half in (0.1, 0.01, 0.001):
        found = normal.log_posterior(best - half, best + half)
        found -= normal.log_prior(best - half, best + half)
        yield at_most(found, normal.pml, f"a Gaussian, half-width {half}")
    yield at_least(found, normal.pml - 1e-5, "in the limit of narrow cells")


def _some_normal(rng: Generator) -> GaussianPosterior:
    variance, noise = rng.uniform(0.5, 2, 2).tolist()
    return GaussianPosterior(variance, noise, float(rng.uniform(-2, 2)))


@result(
    "PMC-Rem-1",
    statement="Local differential privacy depends on the prior through its support alone, and "
    "compares no symbol outside of it.",
    conditions="finite alphabets",
    tight=True,
    also=("PMC-Def-6", "ID-Def-4"),
)
def _support(rng: Generator) -> Claims:
    kernel = positive_kernel(rng, 4)
    inside = sorted(rng.permutation(4)[: int(rng.integers(2, 4))].tolist())
    # The definition: the essential supremum over independent draws of two secrets.
    essential = max(
        float(np.log(kernel[a] / kernel[b]).max()) for a, b in product(inside, repeat=2)
    )
    everywhere = measure("ldp", kernel, Prior.uniform(4))[0]
    yield equal(measure("ldp", kernel[inside], Prior.uniform(len(inside)))[0], essential)
    yield at_most(essential, everywhere, "fewer symbols")
    for _ in range(2):
        prior = Prior.from_counts(some_masses(rng, 4))
        yield equal(measure("ldp", kernel, prior)[0], everywhere, "another prior of full support")


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
    tight=True,
)
def _infinite(rng: Generator) -> Claims:
    prior = some_prior(rng)
    release = np.eye(len(prior))
    yield equal(measure("pml", release, prior)[0], -math.log(prior.pmin), "PML of the secret")
    yield equal(measure("pmc", release, prior)[0], math.inf, "PMC of the secret")
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
    for answers in (1, 2, 4, 8):
        cost = rng.random((len(outcome.prior), answers)) ** 3 + 0.01
        made = feature_of_cost(outcome, cost)
        found = miss_leakage(outcome, made)
        yield equal(found, cost_leakage(outcome, cost), "feature of a cost", scale=1.0)
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
            yield equal(attack.error, error, "the error that it says", scale=1.0)
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
    statement="The least E|X−w|^r of a real-valued secret, attained by the mean at r = 2 and by a "
    "median at r = 1, falls by a factor of at most e^Λ.",
    conditions="r ≥ 1; finitely many values, and any law on an interval",
    tight=True,
)
def _distances(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    values = np.cumsum(rng.uniform(0.5, 2, len(outcome.prior))) * 10.0 ** rng.integers(-3, 4)
    for power in (1.0, 1.5, 2.0, 3.0):
        found = power_leakage(outcome, values, power)
        yield at_most(found, outcome.cost, f"power {power}")
        # A convex function of w that is searched between the least and the largest value.
        searched = math.log(
            _least_distance(outcome.prior, values, power)
            / _least_distance(outcome.posterior, values, power)
        )
        yield equal(found, searched, f"power {power}, by search", scale=1.0)
    before, after = (
        float(d @ (values - d @ values) ** 2) for d in (outcome.prior, outcome.posterior)
    )
    yield equal(power_leakage(outcome, values, 2.0), math.log(before / after), "variances")
    # Any law on the interval: what the variance falls by, and the distances of the cells.
    law = some_tilted(rng)
    before, after = (_moments(law, slope)[1] for slope in (0.0, law.slope))
    yield at_most(math.log(before / after), law.pmc, "variances, any law on the interval")
    cells = [law.masses(5, slope) / law.masses(5, slope).sum() for slope in (0.0, law.slope)]
    places = (np.arange(len(cells[0])) + 0.5) / len(cells[0])
    step = law.step(5)
    for power in (1.0, 2.0, 2.5):
        least = [_least_distance(p, places, power) for p in cells]
        found = math.log(least[0] / least[1])
        yield at_most(found, law.pmc, f"power {power}, the middles of the cells")
        if power == 2.0:
            yield at_most(abs(found - math.log(before / after)), 20 * step, "variances", scale=0.0)


def _least_distance(masses: Array, values: Array, power: float) -> float:
    """min_w E|X − w|^power, by a golden section and, for the corners, at the values themselves."""
    from scipy.optimize import minimize_scalar

    span = float(values[-1] - values[0])
    unit = (values - values[0]) / span

    def loss(w: float) -> float:
        return float(masses @ np.abs(unit - w) ** power)

    found = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return min(float(found.fun), *(loss(float(v)) for v in unit)) * span**power


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
    "of Λ(X→y), for secrets of any kind; where Λ is infinite they grow without bound.",
    conditions="finite and countable alphabets, and on an interval atoms, densities, and laws with "
    "neither",
    tight=True,
    also=("PMC-Def-11",),
)
def _partitions(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    for step in (2.0, 0.3, 0.01):
        found = cost_leakage(outcome, partition_cost(outcome, step))
        yield at_least(found, outcome.cost - step, f"step {step}")
        yield at_most(found, outcome.cost, f"step {step}")
    # The cost 1{x∈D}/P(D) has prior mean one for every cell D; the best answer afterwards costs
    # min P(D|y)/P(D).
    law = some_tilted(rng)
    for depth in (1, 3, 7):
        before, after = law.cells(depth)
        found = -math.log(float((after / before).min()))
        yield at_least(found, law.pmc - law.step(depth), f"3^{depth} cells of the interval")
        yield at_most(found, law.pmc, f"3^{depth} cells of the interval")
    share, y = Fraction(int(rng.integers(1, 64)), 64), int(rng.integers(0, 3000))
    countable = release_or_draw_outcome(share, y)
    # Two cells: the symbol that was released, and the infinitely many others.
    unreleased = 1 - geometric(y)
    others = unreleased * countable.rest / countable.probability
    found = log_ratio(unreleased / others)
    yield equal(found, log_ratio(countable.pmc_ratio), "countable, the other symbols")
    normal = _some_normal(rng)
    grown = [normal.log_prior(k, k + 1) - normal.log_posterior(k, k + 1) for k in (10, 40, 160)]
    yield holds(grown[0] > 5 and all(b > 2 * a for a, b in pairwise(grown)), "a Gaussian: no bound")
    gone = CountableOutcome({0: Fraction(1), 7: share}, Fraction(0))
    yield equal(log_ratio(gone.pmc_ratio), math.inf, "countable, symbols ruled out")


@result(
    "PMC-Lem-2",
    statement="Answers that are drawn cost no less than the best answer, before and after y.",
    conditions="finite secrets, any law on an interval with answers on the line, and answers of "
    "which none is best",
    tight=True,
)
def _drawn_answers(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    cost = rng.random((len(outcome.prior), 4))
    for masses in (outcome.prior, outcome.posterior):
        least = float((masses @ cost).min())
        for _ in range(3):
            drawn = rng.dirichlet(np.full(4, 0.3))
            yield at_least(float(masses @ cost @ drawn), least, "a drawn answer")
        best = np.eye(4)[int((masses @ cost).argmin())]
        yield equal(float(masses @ cost @ best), least, "one answer for sure", scale=1.0)
    found = cost_leakage(outcome, cost)
    ratio = math.log((outcome.prior @ cost).min() / (outcome.posterior @ cost).min())
    yield equal(found, ratio, "leakage by answers without chance", scale=1.0)
    # A secret of any law on the interval, answers on the whole line, drawn by any law:
    # E(X − W)² = Var X + E(W − E X)².
    law = some_tilted(rng)
    for slope in (0.0, law.slope):
        mean, variance = _moments(law, slope)
        answers, shares = rng.normal(0.5, 1, 5), some_masses(rng, 5)
        average = variance + float(shares @ (answers - mean) ** 2)
        yield at_least(average, variance, "any law on the interval, answers that are drawn")
        cells = law.masses(8, slope) / law.masses(8, slope).sum()
        places = (np.arange(len(cells)) + 0.5) / len(cells)
        direct = float(shares @ [cells @ (places - w) ** 2 for w in answers])
        yield at_most(abs(direct - average), 1e-2, "by the cells of the interval", scale=0.0)
    # No answer is best: w = 0, 1, 2, … costs 1 + 2^-w times as much as the infimum.
    for masses in (outcome.prior, outcome.posterior):
        least = float(masses @ cost[:, 0])
        average = sum(2.0**-w * least * (1 + 2.0**-w) for w in range(1, 60))
        yield equal(average, least * 4 / 3, "answers without end, drawn")
        yield at_least(average, least, "answers without end, drawn")
        yield equal(least * (1 + 2.0**-60), least, "an answer far out")


def _moments(law: TiltedLaw, slope: float) -> tuple[float, float]:
    """Mean and variance under the law tilted by a slope, from the derivatives of log E e^{sX}."""
    h = 1e-3
    values = [law.log_mean(slope + k * h) for k in (-2, -1, 0, 1, 2)]
    first = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * h)
    second = (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / 12
    return first, second / h**2


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
