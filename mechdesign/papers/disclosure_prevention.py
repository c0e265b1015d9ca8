"""Saeidian, Cervia, Oechtering, Skoglund: disclosure prevention with PML, [SaeidianDisclosure].

In the order of the paper. Results that it takes from others name their source.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import partial
from itertools import pairwise, product

import numpy as np
from numpy.random import Generator

from ..errors import KernelError
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import PML, RobustPML
from ..privacy.features import feature
from ..theory.adversaries import (
    feature_of_gain,
    gain_leakage,
    gain_of_feature,
    guess_leakage,
    worst_gain,
    worst_guess,
)
from ..theory.counting_queries import (
    chernoff_bound,
    laplace_count_bound,
    laplace_count_leakage,
    laplace_count_simple_bound,
    threshold_query,
)
from ..theory.databases import (
    Characterisation,
    Database,
    conditional_leakage,
    correlated_database,
    dp_as_pml,
    dp_level,
    entry_leakage,
    free_lunch_as_pml,
)
from ..theory.disclosure import (
    cheapest_disclosure,
    dearest_disclosure,
    disclosing_mechanism,
    disclosure_price,
    disclosures,
    easier_feature,
    hidden_above,
    leakage_capacity,
    least_uncertainty,
    quantised_mean,
    singles_out,
    uncertainty_bound,
)
from ..theory.leakage import (
    feature_entropy,
    feature_leakage,
    is_constant,
    outcome_leakage,
    pushforward,
)
from . import shared_properties
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import (
    Array,
    divergence,
    pml_level,
    posterior_entropies,
)
from .published_conversions import register_rules
from .random_instances import (
    feature_like,
    some_feature,
    some_kernel,
    some_masses,
    some_mechanism,
    some_outcome,
    some_prior,
)

result = partial(theorem, source="SaeidianDisclosure")


# Section 2: pointwise maximal leakage


@result(
    "PML-Def-2.1",
    statement="Min-entropy is at most log N, reached by the uniform distribution only, and zero "
    "for a certain value only.",
    tight=True,
)
def _min_entropy(rng: Generator) -> Claims:
    prior = some_prior(rng)
    n = len(prior)
    yield at_most(prior.min_entropy(), math.log(n), "random prior")
    yield at_least(prior.min_entropy(), 0.0, "random prior")
    yield equal(Prior.uniform(n).min_entropy(), math.log(n), "uniform")
    yield holds(prior.min_entropy() > 0, "not certain")
    sure = pushforward(prior, feature(prior, lambda _: "one"))
    yield equal(sure.min_entropy(), 0.0, "constant feature")


@result(
    "PML-Def-2.3",
    statement="ℓ(X→y) is the most that y adds to guessing any feature; finitely many values "
    "suffice.",
    tight=True,
    also=("PMC-Def-3",),
)
def _guesses(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    claimed = divergence(outcome.posterior, outcome.prior)
    for _ in range(5):
        feature = feature_like(rng, outcome, int(rng.integers(2, 8)))
        yield at_most(guess_leakage(outcome, feature), claimed, "random feature")
    attack = worst_guess(outcome)
    yield equal(guess_leakage(outcome, attack.feature), claimed, "constructed feature")
    yield equal(attack.attained, claimed, "its closed form")


@result(
    "PML-Sec-2.3.1",
    statement="Guessing a feature and maximising a gain function are one: gain P(u|x) for a "
    "feature, and for every gain a feature with the same leakage.",
    source="Saeidian2023PML",
    conditions="finite alphabets, gain positive after y",
    tight=True,
)
def _gains_and_guesses(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    feature = feature_like(rng, outcome, int(rng.integers(2, 5)))
    leaked = guess_leakage(outcome, feature)
    yield equal(
        gain_leakage(outcome, gain_of_feature(feature)), leaked, "gain of a feature", scale=1.0
    )
    for answers in (1, 2, 4, 8):
        gain = rng.random((len(outcome.prior), answers)) ** 3 + 0.01
        found = guess_leakage(outcome, feature_of_gain(outcome, gain))
        yield equal(found, gain_leakage(outcome, gain), "feature of a gain", scale=1.0)


@result(
    "PML-Thm-2.4",
    statement="ℓ(X→y) = D∞(P_X|y ‖ P_X): no gain function gains more, and 1{x=w}/P(x) gains as "
    "much.",
    source="Saeidian2023PML",
    conditions="finite alphabets, non-negative gains",
    tight=True,
)
def _gains(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    claimed = divergence(outcome.posterior, outcome.prior)
    for _ in range(5):
        gain = rng.random((len(outcome.prior), int(rng.integers(1, 5)))) ** 4
        yield at_most(gain_leakage(outcome, gain), claimed, "random gain")
    yield equal(gain_leakage(outcome, worst_gain(outcome)), claimed, "gain 1{x=w}/P(x)")
    yield at_least(claimed, 0.0, "non-negative")


@result(
    "PML-Sec-2.3.2",
    statement="0 ≤ ℓ(X→y) ≤ log 1/pmin; publishing X reaches the upper end.",
    tight=True,
)
def _range(rng: Generator) -> Claims:
    prior = some_prior(rng)
    level = pml_level(some_mechanism(rng, prior, zeros=True), prior)
    yield at_most(level, -math.log(prior.pmin), "random kernel")
    yield at_least(level, 0.0, "random kernel")
    release = Mechanism(np.eye(len(prior)), prior.labels)
    yield equal(pml_level(release, prior), -math.log(prior.pmin), "the secret itself")


result(
    "PML-Sec-2.3.3",
    statement="ℓ(X→y) ≥ 0: no outcome has negative value to the best adversary.",
    source="Saeidian2023PML",
)(lambda rng: shared_properties.non_negative(rng, risk_averse=False))


result(
    "PML-Sec-2.3.4",
    statement="ℓ(Z→y) ≤ ℓ(X→y) for a feature Z of X.",
    source="Saeidian2023PML",
    tight=True,
)(lambda rng: shared_properties.pre_processed(rng, risk_averse=False))


result(
    "PML-Sec-2.3.5",
    statement="Post-processing: max_z ℓ(X→z) ≤ max_y ℓ(X→y), and outcome by outcome.",
    source="Saeidian2023PML",
    tight=True,
)(lambda rng: shared_properties.post_processed(rng, risk_averse=False))


result(
    "PML-Sec-2.3.6",
    statement="ℓ(X→y1,y2) ≤ ℓ(X→y1) + ℓ(X→y2|y1), with equality when one symbol is worst in both.",
    source="Saeidian2023PML",
    tight=True,
)(lambda rng: shared_properties.composed(rng, risk_averse=False))


@result(
    "PML-Thm-2.8",
    statement="The leakage capacity log max P(y|x)/P(y|x') is the supremum of ℓ(X→y) over all "
    "priors of full support, and the LDP level.",
    source="Issa2020",
    tight=True,
    also=("PML-Def-2.7",),
)
def _capacity(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    claimed = leakage_capacity(mechanism)
    for _ in range(5):
        other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
        yield at_most(pml_level(mechanism, other), claimed, "random prior")
    kernel = mechanism.kernel
    y = int((kernel.max(axis=0) / kernel.min(axis=0)).argmax())
    masses = np.full(len(prior), 1e-13)
    masses[kernel[:, y].argmin()] = 1.0
    near = pml_level(mechanism, Prior.from_counts(masses, prior.labels))
    yield at_least(near, claimed, "prior near the least likely symbol")
    ratio = max(
        np.log(kernel[a] / kernel[b]).max() for a, b in product(range(len(prior)), repeat=2)
    )
    yield equal(claimed, float(ratio), "all pairs")


# Section 3: disclosure


@result(
    "PML-Def-2.6",
    statement="(ε, P)-PML bounds ℓ(X→y) for every prior of a set P: the level is the largest over "
    "the set, attained at a vertex of its hull.",
    conditions="sets spanned by finitely many priors, and a disc of priors, by polygons",
    tight=True,
)
def _set_of_priors(rng: Generator) -> Claims:
    first = some_prior(rng)
    priors = [first, *(Prior.from_counts(some_masses(rng, len(first))) for _ in range(2))]
    mechanism = some_mechanism(rng, first)
    claimed = max(pml_level(mechanism, prior) for prior in priors)
    found = RobustPML(1.0, priors).measure(mechanism, first)[0]
    yield equal(found, claimed, "the largest over the vertices")
    for _ in range(3):
        shares = rng.dirichlet(np.ones(3))
        mixed = Prior.from_counts(shares @ np.array([p.probabilities for p in priors]))
        yield at_most(pml_level(mechanism, mixed), found, "a mixture")
    alone = RobustPML(1.0, [first]).measure(mechanism, first)[0]
    yield equal(alone, pml_level(mechanism, first), "one prior")
    # Any set: of a prior only P(y) matters, and its infimum over a set is that over its closed
    # hull. For a disc of priors it has a closed form, and polygons come near from inside.
    middle, radius = np.array([0.4, 0.33, 0.27]), float(rng.uniform(0.05, 0.25))
    kernel = some_kernel(rng, 3, 3)
    plane = kernel - kernel.mean(axis=0)
    least = middle @ kernel - radius * np.sqrt((plane**2).sum(axis=0))
    disc = float(np.log(kernel.max(axis=0) / least).max())
    axes = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    for corners in (5, 20, 80):
        turns = rng.uniform(0, 6) + 2 * math.pi * np.arange(corners) / corners
        around = middle + radius * np.column_stack([np.cos(turns), np.sin(turns)]) @ axes
        polygon = [Prior.from_counts(p) for p in around]
        level = RobustPML(1.0, polygon).measure(Mechanism(kernel, polygon[0].labels), polygon[0])[0]
        yield at_most(level, disc, f"a polygon of {corners} corners in a disc")
        # The polygon holds the disc of radius cos(π/corners).
        shrunk = least + (1 - math.cos(math.pi / corners)) * (middle @ kernel - least)
        inner = float(np.log(kernel.max(axis=0) / shrunk).max())
        yield at_least(level, inner, f"a disc in a polygon of {corners} corners")


@result(
    "PML-Ex-3.1",
    statement="The min-entropy of a quantised mean of n independent entries goes to zero with n; "
    "at an edge between cells it goes to log 2 instead; that of one entry does not depend on n.",
    conditions="laws with two and three values, two to five cells",
    tight=True,
)
def _mean(rng: Generator) -> Claims:
    share = float(rng.uniform(0.1, 0.3))
    coin = Prior.from_counts([1 - share, share], [0, 1])
    sizes = (1, 5, 25, 125)
    found = [quantised_mean(coin, n, [0, 0.5, 1.5]).min_entropy() for n in sizes]
    yield holds(all(a > b for a, b in pairwise(found)), "falls with n")
    for n, entropy in zip(sizes, found, strict=True):
        hoeffding = math.exp(-2 * n * (0.5 - share) ** 2)
        if hoeffding < 0.5:
            yield at_most(entropy, -math.log1p(-hoeffding), "Hoeffding's bound")
    direct = sum(
        math.comb(5, k) * share**k * (1 - share) ** (5 - k) for k in range(6) if k / 5 < 0.5
    )
    yield equal(found[1], -math.log(direct), "binomial sum for n = 5", scale=1.0)
    yield equal(found[0], coin.min_entropy(), "one entry", scale=1.0)
    # Other laws, and several cells.
    masses, cells = some_masses(rng, 3), int(rng.integers(2, 6))
    several = Prior.from_counts(masses, [0, 1, 2])
    mean = float(several.probabilities @ [0, 1, 2])
    edges = np.array([0.0, *np.sort(rng.uniform(0, 2, cells - 1)), 2.5])
    room = float(np.abs(edges[1:-1] - mean).min())
    for n in (3, 60):
        entropy = quantised_mean(several, n, edges).min_entropy()
        hoeffding = 2 * math.exp(-2 * n * room**2 / 4)
        if hoeffding < 0.5:
            yield at_most(entropy, -math.log1p(-hoeffding), f"{cells} cells, Hoeffding's bound")
        if n == 3:
            chances = np.zeros(cells)
            for entries in product(zip((0, 1, 2), several.probabilities, strict=True), repeat=n):
                place = np.searchsorted(edges, sum(v for v, _ in entries) / n, side="right") - 1
                chances[place] += math.prod(float(q) for _, q in entries)
            yield equal(entropy, -math.log(float(chances.max())), "all databases of 3", scale=1.0)
    # The mean on an edge: fair bits and an odd number of them fall to either side alike.
    odd = 2 * int(rng.integers(1, 40)) + 1
    entropy = quantised_mean(Prior.uniform([0, 1]), odd, [0, 0.5, 1.5]).min_entropy()
    yield equal(entropy, math.log(2), "the mean on an edge")


@result(
    "PML-Ex-3.2",
    statement="The quantised shares of the ill among smokers and among the others both have a "
    "min-entropy that goes to zero with n.",
    conditions="independent people, two cells, both shares inside of one",
    tight=True,
)
def _shares_of_groups(rng: Generator) -> Claims:
    smokers = float(rng.uniform(0.3, 0.6))
    for ill, members, name in (
        (float(rng.uniform(0.6, 0.8)), smokers, "smokers"),
        (float(rng.uniform(0.1, 0.3)), 1 - smokers, "others"),
    ):
        found = []
        for n in (3, 30, 300):
            high = _chance_of_a_high_share(n, members, ill)
            found.append(-math.log(max(high, 1 - high)))
        yield holds(found[0] > found[1] > found[2], f"{name}: falls with n")
        # Hoeffding's bound, with the number of members binomial: (1 − q + q e^{−2t²})^n.
        miss = (1 - members + members * math.exp(-2 * (ill - 0.5) ** 2)) ** 300
        yield at_most(found[-1], -math.log1p(-miss), f"{name}: Hoeffding's bound")
        kinds = (members * ill, members * (1 - ill), 1 - members)
        direct = 0.0
        for people in product(range(3), repeat=3):
            counted = people.count(0), people.count(0) + people.count(1)
            if counted[1] and 2 * counted[0] > counted[1]:
                direct += math.prod(kinds[k] for k in people)
        entropy = -math.log(max(direct, 1 - direct))
        yield equal(found[0], entropy, f"{name}: all databases of 3 people", scale=1.0)


def _chance_of_a_high_share(people: int, members: float, ill: float) -> float:
    """P(more than half of the members are ill); of nobody, the share counts as low."""
    from scipy.stats import binom

    sizes = np.arange(1, people + 1)
    return float(binom.pmf(sizes, people, members) @ binom.sf(sizes // 2, sizes, ill))


@result(
    "PML-Thm-3.4",
    statement="A feature that is disclosed to one adversary is disclosed to all with the same "
    "support, by the same outcomes.",
    conditions="finite alphabets, priors of full support",
    tight=True,
    also=("PML-Def-3.3",),
)
def _ubiquity(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism, channel = some_mechanism(rng, prior, zeros=True), some_feature(rng, prior)
    known = {d.outcome for d in disclosures(mechanism, prior, channel)}
    for _ in range(3):
        other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
        entropy = posterior_entropies(mechanism, other, channel)
        live = np.flatnonzero(mechanism.output_distribution(other) > 0)
        found = {mechanism.outputs[y] for y, h in zip(live, entropy, strict=True) if h < 1e-12}
        yield holds(found == known, "posterior entropies of another adversary")
    made = cheapest_disclosure(prior)
    for _ in range(3):
        other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
        least = float(posterior_entropies(made.mechanism, other, made.feature).min())
        yield equal(least, 0.0, "what is left to another adversary", scale=1.0)


@result(
    "PML-Thm-3.5",
    statement="ε-PML discloses no feature with H∞(U) > ε to anyone: H∞(U|Y=y) ≥ H∞(U) − ε.",
    tight=True,
)
def _prevention(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism, channel = some_mechanism(rng, prior, zeros=True), some_feature(rng, prior)
    entropy, epsilon = feature_entropy(prior, channel), pml_level(mechanism, prior)
    left = posterior_entropies(mechanism, prior, channel)
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
    yield equal(posterior_entropies(noisy, prior, event)[0], bound, "a likely event", scale=1.0)


@result(
    "PML-Prop-3.6",
    statement="With a feature of positive min-entropy, another one of lower min-entropy is "
    "disclosed.",
    conditions="finite alphabets, H∞(U) > 0 (missing in print)",
    slack="a strict inequality between entropies, which may be as close as one likes",
)
def _easier(rng: Generator) -> Claims:
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


@result(
    "PML-Thm-3.7",
    statement="With leakage capacity C no non-constant feature is disclosed, and every "
    "deterministic one keeps H∞(V|Y=y) ≥ log(1 + e^−C·pmin/(1−pmin)).",
    conditions="finite alphabets, non-constant features (missing in print for the first part)",
    tight=True,
)
def _absolute(rng: Generator) -> Claims:
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


@result(
    "PML-Prop-3.8",
    statement="Below log 1/(1−pmin) PML makes the leakage capacity finite; from there on a "
    "mechanism may disclose whether X ≠ x_min.",
    conditions="finite alphabets, N ≥ 2",
    tight=True,
)
def _cheapest(rng: Generator) -> Claims:
    prior = some_prior(rng)
    threshold = -math.log1p(-prior.pmin)
    mechanism = some_mechanism(rng, prior, zeros=True)
    if leakage_capacity(mechanism) == math.inf:
        yield at_least(pml_level(mechanism, prior), threshold, "infinite capacity")
    found = cheapest_disclosure(prior)
    check = PML(found.epsilon).check(found.mechanism, prior)
    yield equal(check.achieved[0], threshold, "constructed mechanism")
    yield holds(leakage_capacity(found.mechanism) == math.inf, "its capacity is infinite")
    yield holds(bool(disclosures(found.mechanism, prior, found.feature)), "it discloses X ≠ x_min")
    for _ in range(5):
        channel = some_feature(rng, prior)
        if not is_constant(prior, channel):
            yield at_least(disclosure_price(prior, channel), threshold, "no feature is cheaper")


@result(
    "PML-Sec-3.3",
    statement="Yes to 'is X = x_min?' needs log 1/pmin, the largest price of any answer.",
    source="Issa2020",
    conditions="finite alphabets, N ≥ 2",
    tight=True,
)
def _dearest(rng: Generator) -> Claims:
    prior = some_prior(rng)
    found = dearest_disclosure(prior)
    yield equal(found.epsilon, -math.log(prior.pmin), "price")
    achieved = PML(found.epsilon).check(found.mechanism, prior).achieved[0]
    yield equal(achieved, -math.log(prior.pmin), "measured")
    size = int(rng.integers(1, len(prior)))
    other = feature(prior, [prior.labels[i] for i in rng.permutation(len(prior))[:size]])
    yield at_most(disclosure_price(prior, other, True), found.epsilon, "another answer")


@result(
    "PML-Cor-3.10",
    statement="ε-PML with ε < H∞(X) singles nobody out; at ε = H∞(X) a mechanism may.",
    tight=True,
    also=("PML-Def-3.9",),
)
def _singling_out(rng: Generator) -> Claims:
    prior = some_prior(rng)
    for _ in range(4):
        mechanism = some_mechanism(rng, prior, zeros=True)
        if singles_out(mechanism, prior):
            yield at_least(pml_level(mechanism, prior), prior.min_entropy(), "singles out")
    made = disclosing_mechanism(prior, feature(prior, lambda symbol: symbol))
    yield holds(bool(singles_out(made.mechanism, prior)), "at its price")
    yield equal(pml_level(made.mechanism, prior), prior.min_entropy(), "at its price")


@result(
    "PML-Ex-3.11",
    statement="Answering 'more than m of n?' exactly leaks −log P(count > m) by yes and −log "
    "P(count ≤ m) by no, each with a Chernoff bound.",
    conditions="independent people; bounds for m/n ≤ p (yes) and (m+1)/n ≥ p (no)",
    tight=True,
)
def _threshold(rng: Generator) -> Claims:
    n, share = int(rng.integers(2, 7)), float(rng.uniform(0.2, 0.8))
    m = int(rng.integers(0, n))
    query = threshold_query(n, m, share)
    # All 2^n databases, one by one.
    database = Database.iid(Prior.from_counts([1 - share, share], [0, 1]), n)
    answers = [int(sum(row) > m) for row in database.prior.labels]
    mechanism = Mechanism(np.eye(2)[answers], database.prior.labels, [0, 1])
    no, yes = outcome_leakage(mechanism, database.prior)
    yield equal(query.yes, float(yes), "yes, all databases", scale=1.0)
    yield equal(query.no, float(no), "no, all databases", scale=1.0)
    person_no, person_yes = entry_leakage(mechanism, database)[0]
    yield equal(query.person_yes, float(person_yes), "yes, one person", scale=1.0)
    yield equal(query.person_no, float(person_no), "no, one person", scale=1.0)
    settled = {d.outcome for d in disclosures(mechanism, database.prior, database.entry(0))}
    yield holds((1 in settled) == query.yes_discloses, "yes settles somebody's value")
    yield holds((0 in settled) == query.no_discloses, "no settles somebody's value")
    big = int(rng.integers(50, 500))
    cut = int(rng.integers(0, int(big * share)))
    large = threshold_query(big, cut, share)
    yield at_most(large.yes, large.yes_bound, "Chernoff, yes")
    high = int(rng.integers(math.ceil(big * share), big))
    large = threshold_query(big, high, share)
    yield at_most(large.no, large.no_bound, "Chernoff, no")


@result(
    "PML-Fig-1",
    statement="The bounds −log(1 − exp(−n D(m/n‖p))) on ℓ(X→1), and with 1 − (m+1)/n and 1 − p on "
    "ℓ(X→0), fall with n and rise towards p.",
    conditions="p = .3 and .5, n from 200 to 2000 as drawn, and others; values down to 1e-300",
    tight=True,
)
def _figure(rng: Generator) -> Claims:
    share = float(rng.uniform(0.2, 0.8))
    a, b = sorted(rng.uniform(0, share, 2))
    yield at_most(chernoff_bound(200, a, share), chernoff_bound(200, b, share), "rises with m/n")
    yield at_most(chernoff_bound(2000, a, share), chernoff_bound(200, a, share), "falls with n")
    yield holds(chernoff_bound(200, share, share) == math.inf, "no bound at p")
    for n, p in ((200, 0.3), (500, 0.3), (1000, 0.5), (2000, 0.5), (2000, 0.3), (300, share)):
        m = int(rng.integers(0, int(n * p)))
        yield from _printed_curve(chernoff_bound(n, m / n, p), n, m, n, p, "yes")
        query = threshold_query(n, m, p)
        yield from _printed_curve(query.yes_bound, n, m, n, p, "yes, as a query")
        high = int(rng.integers(math.ceil(n * p), n))
        query = threshold_query(n, high, p)
        yield from _printed_curve(query.no_bound, n, n - high - 1, n, 1 - p, "no, as a query")


def _printed_curve(
    found: float, people: int, count: int, whole: int, share: float, about: str
) -> Claims:
    """A bound beside the printed formula at ``count`` of ``whole``, in sixty digits."""
    with localcontext() as context:
        context.prec = 60
        a, p = Decimal(count) / whole, Decimal(share)
        divergence = (1 - a) * ((1 - a) / (1 - p)).ln()
        if count:
            divergence += a * (a / p).ln()
        near = (-people * divergence).exp()
        printed = -(1 - near).ln() if near > Decimal("1e-50") else near
        logarithm = float(printed.ln())
    if logarithm > math.log(1e-300):
        # In logarithms, as the curves are drawn over many orders of magnitude.
        told = math.log(found) if found > 0 else -math.inf
        yield equal(told, logarithm, f"the formula, {about}", scale=1.0)


# Section 4: differential and free-lunch privacy


# The approaches stay below their suprema by less than the checks' tolerance.
_SHRINK = 1e-11


def _some_release(rng: Generator, independent: bool = False) -> tuple[Mechanism, Database]:
    size, entries = (int(v) for v in ((2, 2), (3, 2), (2, 3))[rng.integers(3)])
    shape = (size,) * entries
    if independent:
        parts = [Prior.from_counts(some_masses(rng, size)) for _ in range(entries)]
        database = Database.independent(parts)
    else:
        database = Database(some_masses(rng, size**entries).reshape(shape))
    kernel = some_kernel(rng, len(database), int(rng.integers(2, 4)))
    return Mechanism(kernel, database.prior.labels), database


def _pairs(mechanism: Mechanism, database: Database, apart: int) -> float:
    """Log of the largest likelihood ratio of databases that differ in at most ``apart`` entries."""
    rows, labels = mechanism.kernel, database.prior.labels
    return max(
        float(np.log(rows[a] / rows[b]).max())
        for a, first in enumerate(labels)
        for b, second in enumerate(labels)
        if sum(d != e for d, e in zip(first, second, strict=True)) <= apart
    )


def _supremum(
    rng: Generator,
    as_pml: Callable[..., Characterisation],
    which: int,
    leakage: Callable[[Mechanism, Database], Array],
    independent: bool = False,
) -> Claims:
    """A privacy level is the supremum of a leakage over priors; limiting priors come near it."""
    mechanism, database = _some_release(rng, independent)
    found = as_pml(mechanism, database, _SHRINK)
    apart = 1 if found.notion == "differential privacy" else database.entries
    claimed, near = _pairs(mechanism, database, apart), found.approaches[which]
    yield equal(found.level, claimed, "level from all pairs of databases")
    yield at_most(float(leakage(mechanism, database).max()), claimed, "random prior")
    yield at_least(near.leakage, claimed, f"limiting prior: {near.statement}")
    yield holds(near.database.prior.has_full_support, "of full support")
    if independent:
        yield holds(_is_product(near.database), "a product prior")


def _secret_leakage(mechanism: Mechanism, database: Database) -> Array:
    return outcome_leakage(mechanism, database.prior)


def _is_product(database: Database) -> bool:
    joint = np.ones(())
    for i in range(database.entries):
        joint = joint[..., None] * database.marginal(i).probabilities
    return bool(np.allclose(joint, database.joint, rtol=1e-9, atol=0))


@result(
    "PML-Thm-4.2.1",
    statement="Differential privacy is the supremum of ℓ(D_i→y|d_-i) over all priors of full "
    "support.",
    conditions="finite alphabets, priors of full support",
    tight=True,
    also=("PML-Def-4.1",),
)
def _dp_conditional(rng: Generator) -> Claims:
    yield from _supremum(rng, dp_as_pml, 0, conditional_leakage)


@result(
    "PML-Thm-4.2.2",
    statement="Differential privacy is the supremum of ℓ(D_i→y|d_-i) over product priors.",
    conditions="finite alphabets, product priors of full support",
    tight=True,
)
def _dp_product(rng: Generator) -> Claims:
    yield from _supremum(rng, dp_as_pml, 1, conditional_leakage, independent=True)


@result(
    "PML-Thm-4.2.3",
    statement="Differential privacy is the supremum of ℓ(D_i→y) over product priors.",
    conditions="finite alphabets, product priors of full support",
    tight=True,
)
def _dp_entries(rng: Generator) -> Claims:
    yield from _supremum(rng, dp_as_pml, 2, entry_leakage, independent=True)


@result(
    "PML-Rem-B.1",
    statement="No prior of full support attains the suprema of Theorem 4.2, unless the mechanism "
    "is constant.",
    conditions="finite alphabets, a mechanism that is not constant",
    slack="a strict inequality: the supremum is approached as closely as one likes",
)
def _not_attained(rng: Generator) -> Claims:
    mechanism, database = _some_release(rng)
    level = dp_level(mechanism, database)
    yield holds(float(conditional_leakage(mechanism, database).max()) < level, "random prior")
    for near in dp_as_pml(mechanism, database, 1e-4).approaches:
        yield holds(near.leakage < level, near.statement)


@result(
    "PML-Thm-4.3",
    statement="An ε-DP mechanism may leak within δ of log 1/min P(D_i) about an entry of a "
    "correlated database, for every ε and δ.",
    conditions="correlated entries",
)
def _correlated(rng: Generator) -> Claims:
    epsilon, delta = float(rng.uniform(0.05, 2)), float(rng.uniform(0.001, 0.5))
    entry = Prior.from_counts(some_masses(rng, int(rng.integers(2, 4))))
    found = correlated_database(epsilon, delta, entry)
    yield holds(found.leakage > found.ceiling - delta, "within δ")
    yield at_most(found.leakage, found.ceiling, "not more than everything")
    rows = found.mechanism.kernel
    steps = np.abs(np.diff(np.log(rows), axis=0)).max()
    yield at_most(float(steps), epsilon, "neighbouring counts")
    small = correlated_database(2.0, 0.5, entry)
    database, mechanism = small.expanded()
    yield at_most(dp_level(mechanism, database), 2.0, "all neighbouring databases")
    leaked = entry_leakage(mechanism, database)[0]
    yield equal(float(leaked.max()), small.leakage, "all databases", scale=1.0)
    alone = Database.iid(entry, small.entries)
    again = float(entry_leakage(mechanism, alone).max())
    yield at_most(again, 2.0, "independent entries keep to ε")


register_rules("PML-Def-4.4a", "PML-Def-4.4b")


@result(
    "PML-Thm-4.5.1",
    statement="Free-lunch privacy is the supremum of ℓ(X→y) over all priors of full support.",
    conditions="finite alphabets, priors of full support",
    tight=True,
    also=("PML-Def-4.4",),
)
def _free_lunch(rng: Generator) -> Claims:
    yield from _supremum(rng, free_lunch_as_pml, 0, _secret_leakage)


@result(
    "PML-Thm-4.5.2",
    statement="Free-lunch privacy is the supremum of ℓ(X→y) over product priors.",
    conditions="finite alphabets, product priors of full support",
    tight=True,
)
def _free_lunch_product(rng: Generator) -> Claims:
    yield from _supremum(rng, free_lunch_as_pml, 1, _secret_leakage, independent=True)


@result(
    "PML-Thm-4.5.3",
    statement="Free-lunch privacy is the supremum of ℓ(D_i→y) over all priors and entries.",
    conditions="finite alphabets, priors of full support, the best entry i",
    tight=True,
)
def _free_lunch_entries(rng: Generator) -> Claims:
    yield from _supremum(rng, free_lunch_as_pml, 2, entry_leakage)


@result(
    "PML-Sec-4",
    statement="ℓ(D_i→y) ≤ ℓ(X→y): an entry is a feature of the database.",
    conditions="finite alphabets, any joint prior",
    tight=True,
)
def _entries(rng: Generator) -> Claims:
    mechanism, database = _some_release(rng)
    found, whole = entry_leakage(mechanism, database), outcome_leakage(mechanism, database.prior)
    for i in range(database.entries):
        same = feature_leakage(mechanism, database.prior, database.entry(i))
        for entry, all_of_it, again in zip(found[i], whole, same, strict=True):
            yield at_most(float(entry), float(all_of_it), "pre-processing")
            yield equal(float(again), float(entry), "measured as a feature", scale=1.0)
    # Where all entries are copies of one, an entry tells as much as the database.
    masses = np.full((2, 2), 1e-14)
    masses[0, 0], masses[1, 1] = some_masses(rng, 2)
    copies = Database(masses)
    mechanism = Mechanism(
        np.column_stack([v := np.array([0.8, 0.5, 0.5, 0.2]), 1 - v]), copies.prior.labels
    )
    one = entry_leakage(mechanism, copies)[0].max()
    yield equal(float(one), float(outcome_leakage(mechanism, copies.prior).max()), "copies")


@result(
    "PML-Prop-4.6",
    statement="The Laplace mechanism on a fraction leaks at most 1/(nb) − log(1−c+c·e^{1/(nb)}) "
    "about an entry when p is between c and 1−c.",
    conditions="independent entries, 0 ≤ c < 1/2; the bound is right and tight, the printed proof "
    "not",
    tight=True,
)
def _laplace(rng: Generator) -> Claims:
    n, scale = int(rng.integers(1, 9)), float(rng.uniform(0.05, 1.0))
    margin = float(rng.uniform(0.01, 0.45))
    bound = laplace_count_bound(n, scale, margin)
    answers = np.concatenate([np.linspace(-1, 2, 61), np.arange(n + 1) / n])
    for share in rng.uniform(margin, 1 - margin, 3):
        most = laplace_count_leakage(n, scale, float(share), answers).max()
        yield at_most(float(most), bound, "random share")
    ends = laplace_count_leakage(n, scale, margin, [2.0])[0]
    yield equal(float(ends), bound, "p = c, an answer above 1")
    ends = laplace_count_leakage(n, scale, 1 - margin, [-1.0])[0]
    yield equal(float(ends), bound, "p = 1 − c, an answer below 0")
    yield equal(laplace_count_bound(n, scale), 1 / (n * scale), "c = 0: differential privacy")


@result(
    "PML-Sec-4.1",
    statement="(1−c)/(nb) + c²/(2n²b²) is a weaker form of the bound for the Laplace mechanism, "
    "and (1−c)/(nb) a simpler one (see E20).",
    conditions="0 ≤ c < 1/2",
    tight=True,
)
def _simple(rng: Generator) -> Claims:
    n, scale = int(rng.integers(1, 200)), float(rng.uniform(0.01, 1.0))
    margin = float(rng.uniform(0, 0.499))
    exact = laplace_count_bound(n, scale, margin)
    simple = laplace_count_simple_bound(n, scale, margin)
    yield at_most(exact, simple, "weaker")
    printed = (1 - margin) / (n * scale) + margin**2 / (2 * n**2 * scale**2)
    yield equal(simple, printed, "the formula", scale=printed)
    yield at_most(exact, (1 - margin) / (n * scale), "the first term alone")
    yield equal(laplace_count_bound(n, scale), 1 / (n * scale), "attained at c = 0", scale=1.0)
    yield at_least(exact, 0.0, "non-negative")
