"""Results about disclosure, with their checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np
from numpy.random import Generator

from ..errors import KernelError
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import PML
from .disclosure import (
    cheapest_disclosure,
    dearest_disclosure,
    disclosing_mechanism,
    disclosure_price,
    disclosures,
    easier_feature,
    hidden_above,
    leakage_capacity,
    least_uncertainty,
    most_entropy_disclosed,
    singles_out,
    uncertainty_bound,
)
from .draws import some_feature, some_kernel, some_masses, some_mechanism, some_prior
from .features import feature, feature_entropy, feature_posterior, is_constant
from .observation import pushforward
from .picking import pick_epsilon, quantised_mean
from .properties import outcome_leakage
from .theorems import Claim, at_least, at_most, equal, holds, theorem


def _entropies(mechanism: Mechanism, prior: Prior, channel: Mechanism) -> np.ndarray:
    """H∞(U|Y=y) for the outcomes that can occur, in floats."""
    q = mechanism.output_distribution(prior)
    top = feature_posterior(mechanism, prior, channel).max(axis=0)[q > 0]
    found: np.ndarray = -np.log(np.minimum(top, 1.0))
    return found


def _level(mechanism: Mechanism, prior: Prior) -> float:
    return float(outcome_leakage(mechanism, prior).max())


@theorem(
    "PML-Def-2.1",
    statement="Min-entropy is at most log N, reached by the uniform distribution only, and zero "
    "for "
    "a certain value only.",
    source="SaeidianDisclosure",
    tight=True,
)
def _min_entropy(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    n = len(prior)
    yield at_most(prior.min_entropy(), math.log(n), "random prior")
    yield at_least(prior.min_entropy(), 0.0, "random prior")
    yield equal(Prior.uniform(n).min_entropy(), math.log(n), "uniform")
    yield holds(prior.min_entropy() > 0, "not certain")
    sure = pushforward(prior, feature(prior, lambda _: "one"))
    yield equal(sure.min_entropy(), 0.0, "constant feature")


@theorem(
    "PML-Sec-2.3.2",
    statement="0 ≤ ℓ(X→y) ≤ log 1/pmin; publishing X reaches the upper end.",
    source="SaeidianDisclosure",
    tight=True,
)
def _range(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    level = _level(some_mechanism(rng, prior, zeros=True), prior)
    yield at_most(level, -math.log(prior.pmin), "random kernel")
    yield at_least(level, 0.0, "random kernel")
    release = Mechanism(np.eye(len(prior)), prior.labels)
    yield equal(_level(release, prior), -math.log(prior.pmin), "the secret itself")


@theorem(
    "PML-Thm-2.8",
    statement="The leakage capacity log max P(y|x)/P(y|x') is the supremum of ℓ(X→y) over all "
    "priors "
    "of full support, and the LDP level.",
    source="Issa2020",
    tight=True,
    also=("PML-Def-2.7",),
)
def _capacity(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    claimed = leakage_capacity(mechanism)
    for _ in range(5):
        other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
        yield at_most(_level(mechanism, other), claimed, "random prior")
    kernel = mechanism.kernel
    y = int((kernel.max(axis=0) / kernel.min(axis=0)).argmax())
    masses = np.full(len(prior), 1e-13)
    masses[kernel[:, y].argmin()] = 1.0
    near = _level(mechanism, Prior.from_counts(masses, prior.labels))
    yield at_least(near, claimed, "prior near the least likely symbol")
    ratio = max(
        np.log(kernel[a] / kernel[b]).max() for a, b in product(range(len(prior)), repeat=2)
    )
    yield equal(claimed, float(ratio), "all pairs")


@theorem(
    "PML-Thm-3.4",
    statement="A feature that is disclosed to one adversary is disclosed to all with the same "
    "support, by the same outcomes.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, priors of full support",
)
def _ubiquity(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism, channel = some_mechanism(rng, prior, zeros=True), some_feature(rng, prior)
    known = {d.outcome for d in disclosures(mechanism, prior, channel)}
    for _ in range(3):
        other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
        entropy = _entropies(mechanism, other, channel)
        live = np.flatnonzero(mechanism.output_distribution(other) > 0)
        found = {mechanism.outputs[y] for y, h in zip(live, entropy, strict=True) if h < 1e-12}
        yield holds(found == known, "posterior entropies of another adversary")


@theorem(
    "PML-Thm-3.5",
    statement="ε-PML discloses no feature with H∞(U) > ε to anyone: H∞(U|Y=y) ≥ H∞(U) − ε.",
    source="SaeidianDisclosure",
    conditions="finite alphabets",
    tight=True,
)
def _prevention(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism, channel = some_mechanism(rng, prior, zeros=True), some_feature(rng, prior)
    entropy, epsilon = feature_entropy(prior, channel), _level(mechanism, prior)
    left = _entropies(mechanism, prior, channel)
    yield at_least(left.min(), entropy - epsilon, "random feature")
    if hidden_above(epsilon * (1 + 1e-9), prior, [channel])[0]:
        yield holds(not disclosures(mechanism, prior, channel), "hidden")
        other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
        yield holds(not disclosures(mechanism, other, channel), "hidden from another adversary")
    # A noisy yes to an event of probability at least ½ leaves no more than the bound.
    least = prior.labels[int(prior.probabilities.argmin())]
    event = feature(prior, [label for label in prior.labels if label != least])
    yes, no = rng.uniform(0.6, 0.9), rng.uniform(0.1, 0.4)
    noisy = event @ Mechanism([[yes, 1 - yes], [no, 1 - no]], [True, False])
    bound = feature_entropy(prior, event) - outcome_leakage(noisy, prior)[0]
    yield equal(_entropies(noisy, prior, event)[0], bound, "a likely event", scale=1.0)


@theorem(
    "D-Disclosure-1",
    statement="A feature can be disclosed under ε-PML exactly from −log max_u P({x: U=u for "
    "certain}) "
    "on; for deterministic features that is H∞(U).",
    conditions="finite alphabets, a value that some but not all symbols fix",
    tight=True,
)
def _price(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    channel = some_feature(rng, prior)
    price = disclosure_price(prior, channel)
    yield at_least(price, feature_entropy(prior, channel), "never below the entropy")
    kernel = some_mechanism(rng, prior, zeros=True)
    if disclosures(kernel, prior, channel):
        yield at_least(_level(kernel, prior), price, "random mechanism that discloses it")
    sure = feature(prior, [prior.labels[0]])
    yield equal(disclosure_price(prior, sure), feature_entropy(prior, sure), "deterministic")
    made = disclosing_mechanism(prior, sure)
    found = disclosures(made.mechanism, prior, sure)
    yield holds(any(d.value == made.value for d in found), "constructed mechanism discloses it")
    achieved = PML(made.epsilon).check(made.mechanism, prior).achieved[0]
    yield equal(achieved, disclosure_price(prior, sure), "at its price")


@theorem(
    "PML-Prop-3.6",
    statement="With a feature of positive min-entropy, another one of lower min-entropy is "
    "disclosed.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, H∞(U) > 0 (missing in print)",
)
def _easier(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    channel = some_feature(rng, prior)
    if is_constant(prior, channel):
        try:
            easier_feature(prior, channel, channel.outputs[0])
        except KernelError as refusal:
            yield holds("H∞(P_U) > 0" in str(refusal), "constant features are refused")
        else:
            yield holds(False, "constant features are refused")
        return
    mechanism = some_mechanism(rng, prior, zeros=True)
    for found in disclosures(mechanism, prior, channel):
        lower = easier_feature(prior, channel, found.value)
        gap = feature_entropy(prior, channel) - feature_entropy(prior, lower)
        yield holds(gap > 0, "lower entropy")
        again = disclosures(mechanism, prior, lower)
        yield holds(found in again, "still disclosed by the same outcome")
    value = channel.outputs[int(pushforward(prior, channel).probabilities.argmax())]
    lower = easier_feature(prior, channel, value)
    yield holds(feature_entropy(prior, lower) < feature_entropy(prior, channel), "lower entropy")


@theorem(
    "PML-Thm-3.7",
    statement="With leakage capacity C no non-constant feature is disclosed, and every "
    "deterministic "
    "one keeps H∞(V|Y=y) ≥ log(1 + e^−C·pmin/(1−pmin)).",
    source="SaeidianDisclosure",
    conditions="finite alphabets, non-constant features (missing in print for the first part)",
    tight=True,
)
def _absolute(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    channel = some_feature(rng, prior)
    if not is_constant(prior, channel):
        yield holds(not disclosures(mechanism, prior, channel), "nothing is disclosed")
    bound = uncertainty_bound(prior, leakage_capacity(mechanism))
    yield at_least(least_uncertainty(mechanism, prior), bound, "random mechanism")
    # Two likelihoods, the smaller one at the least likely symbol.
    high, low = rng.uniform(0.3, 0.5), rng.uniform(0.1, 0.2)
    column = np.full(len(prior), high)
    column[int(prior.probabilities.argmin())] = low
    worst = Mechanism(np.column_stack([column, 1 - column]), prior.labels)
    attained = least_uncertainty(worst, prior)
    yield equal(attained, uncertainty_bound(prior, leakage_capacity(worst)), "attained", scale=1.0)


@theorem(
    "D-Disclosure-2",
    statement="The least remaining min-entropy of a non-constant deterministic feature is exactly "
    "−log(1 − min P(x|y)).",
    conditions="finite alphabets",
    tight=True,
)
def _least(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    n = len(prior)
    posterior = mechanism.posterior(prior)
    best = max(
        float(posterior[list(inside)].sum(axis=0).max())
        for size in range(1, n)
        for inside in combinations(range(n), size)
    )
    yield equal(least_uncertainty(mechanism, prior), -math.log(best), "all events", scale=0.1)


@theorem(
    "D-Disclosure-3",
    statement="The features that a mechanism discloses have min-entropy at most max_y −log "
    "P(S_y), S_y "
    "what y leaves possible; this is attained, and at most max_y ℓ(X→y).",
    conditions="finite alphabets",
    tight=True,
)
def _most(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    kernel = some_kernel(rng, len(prior), 3, zeros=True)
    # An outcome that rules out symbol 0 makes sure that something is disclosed.
    kernel[0] = [0, 0.5, 0.5]
    kernel[1] = [0.4, 0.3, 0.3]
    mechanism = Mechanism(kernel, prior.labels)
    most = most_entropy_disclosed(mechanism, prior)
    yield at_most(most, _level(mechanism, prior), "Theorem 3.5")
    for _ in range(5):
        channel = some_feature(rng, prior)
        if disclosures(mechanism, prior, channel):
            yield at_most(feature_entropy(prior, channel), most, "random feature")
    p = prior.probabilities
    masses = [p[mechanism.kernel[:, y] > 0].sum() for y in range(3)]
    y = int(np.argmin([mass if mass > 0 else 2 for mass in masses]))
    inside = mechanism.kernel[:, y] > 0
    parts = max(1, math.ceil((1 - masses[y]) / masses[y]))
    table = np.zeros((len(prior), parts + 1))
    table[inside, 0] = 1
    table[~inside, 1:] = 1 / parts
    thin = Mechanism(table, prior.labels)
    yield equal(feature_entropy(prior, thin), most, "spread thinly outside S_y", scale=1.0)
    found = disclosures(mechanism, prior, thin)
    yield holds(any(d.outcome == mechanism.outputs[y] for d in found), "disclosed")


@theorem(
    "PML-Prop-3.8",
    statement="Below log 1/(1−pmin) PML makes the leakage capacity finite; from there on a "
    "mechanism "
    "may disclose whether X ≠ x_min.",
    source="SaeidianDisclosure",
    conditions="finite alphabets, N ≥ 2",
    tight=True,
)
def _cheapest(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    threshold = -math.log1p(-prior.pmin)
    mechanism = some_mechanism(rng, prior, zeros=True)
    if leakage_capacity(mechanism) == math.inf:
        yield at_least(_level(mechanism, prior), threshold, "infinite capacity")
    found = cheapest_disclosure(prior)
    check = PML(found.epsilon).check(found.mechanism, prior)
    yield equal(check.achieved[0], threshold, "constructed mechanism")
    yield holds(leakage_capacity(found.mechanism) == math.inf, "its capacity is infinite")
    yield holds(bool(disclosures(found.mechanism, prior, found.feature)), "it discloses X ≠ x_min")
    for _ in range(5):
        channel = some_feature(rng, prior)
        if not is_constant(prior, channel):
            yield at_least(disclosure_price(prior, channel), threshold, "no feature is cheaper")


@theorem(
    "PML-Sec-3.3",
    statement="Yes to 'is X = x_min?' needs log 1/pmin, the largest price of any answer.",
    source="Issa2020",
    conditions="finite alphabets, N ≥ 2",
    tight=True,
)
def _dearest(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    found = dearest_disclosure(prior)
    yield equal(found.epsilon, -math.log(prior.pmin), "price")
    achieved = PML(found.epsilon).check(found.mechanism, prior).achieved[0]
    yield equal(achieved, -math.log(prior.pmin), "measured")
    size = int(rng.integers(1, len(prior)))
    other = feature(prior, [prior.labels[i] for i in rng.permutation(len(prior))[:size]])
    yield at_most(disclosure_price(prior, other, True), found.epsilon, "another answer")


@theorem(
    "PML-Cor-3.10",
    statement="ε-PML with ε < H∞(X) singles nobody out; at ε = H∞(X) a mechanism may.",
    source="SaeidianDisclosure",
    conditions="finite alphabets",
    tight=True,
    also=("PML-Def-3.9",),
)
def _singling_out(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    for _ in range(4):
        mechanism = some_mechanism(rng, prior, zeros=True)
        if singles_out(mechanism, prior):
            yield at_least(_level(mechanism, prior), prior.min_entropy(), "singles out")
    made = disclosing_mechanism(prior, feature(prior, lambda symbol: symbol))
    yield holds(bool(singles_out(made.mechanism, prior)), "at its price")
    yield equal(_level(made.mechanism, prior), prior.min_entropy(), "at its price")


@theorem(
    "D-Picking-1",
    statement="Below the level that theory.pick_epsilon names no feature to hide is disclosed; "
    "at it, "
    "one can be.",
    conditions="finite alphabets",
    tight=True,
)
def _picking(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng, 4)
    hide = [feature(prior, [prior.labels[i]]) for i in rng.permutation(4)[:2]]
    choice = pick_epsilon(prior, hide)
    yield holds(choice.largest < choice.below or choice.below - choice.largest < 1e-15, "below")
    prices = [disclosure_price(prior, f) for f in hide]
    yield equal(choice.below, min(prices), "smallest price")
    mechanism = some_mechanism(rng, prior, zeros=True)
    if PML(choice.largest).check(mechanism, prior).verdict.value == "yes":
        yield holds(not any(disclosures(mechanism, prior, f) for f in hide), "hidden")
    made = disclosing_mechanism(prior, hide[int(np.argmin(prices))])
    yield equal(_level(made.mechanism, prior), choice.below, "disclosed at the level")


@theorem(
    "PML-Ex-3.1",
    statement="The min-entropy of a quantised mean of n independent entries goes to zero with n "
    "(unless the mean is an edge); that of one entry does not.",
    source="SaeidianDisclosure",
    conditions="numbers as symbols, the mean inside a cell",
)
def _mean(rng: Generator) -> Iterator[Claim]:
    share = float(rng.uniform(0.1, 0.3))
    coin = Prior.from_counts([1 - share, share], [0, 1])
    sizes = (1, 5, 25, 125)
    found = [quantised_mean(coin, n, [0, 0.5, 1.5]).min_entropy() for n in sizes]
    yield holds(all(a > b for a, b in pairwise(found)), "falls with n")
    hoeffding = math.exp(-2 * 125 * (0.5 - share) ** 2)
    yield at_most(found[-1], -math.log1p(-hoeffding), "Hoeffding's bound")
    direct = sum(
        math.comb(5, k) * share**k * (1 - share) ** (5 - k) for k in range(6) if k / 5 < 0.5
    )
    yield equal(found[1], -math.log(direct), "binomial sum for n = 5", scale=1.0)
    yield equal(found[0], coin.min_entropy(), "one entry", scale=1.0)
