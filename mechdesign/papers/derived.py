"""Results that none of the four papers states: derived in this project, or from other sources."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import ALIP, LDP, LIP, PMC, PML
from ..privacy.features import feature
from ..theory._composition import (
    account,
    account_product,
    adaptive,
    conditional_outcome_leakage,
    repeated,
)
from ..theory.adversaries import (
    Observation,
    guess_leakage,
    worst_guess,
    worst_miss,
)
from ..theory.counting_queries import (
    person_leakage,
    threshold_query,
)
from ..theory.databases import (
    Database,
    entry_leakage,
    free_lunch_as_pml,
    free_lunch_level,
)
from ..theory.disclosure import (
    disclosing_mechanism,
    disclosure_price,
    disclosures,
    least_uncertainty,
    most_entropy_disclosed,
    pick_epsilon,
)
from ..theory.leakage import (
    condition,
    expected_exponential,
    feature_entropy,
    post_processing,
    pre_processing,
    prior_curvature,
)
from ..theory.tight import tight_conversion
from . import shared_properties
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import (
    maximal_leakage,
    measure,
    mutual_information,
    pml_level,
    release_or_draw,
)
from .published_conversions import register_rules
from .random_instances import (
    crossing_priors,
    feature_like,
    mild_prior,
    positive_kernel,
    some_feature,
    some_kernel,
    some_level,
    some_masses,
    some_mechanism,
    some_outcome,
    some_prior,
)
from .shared_properties import both_sides, curved_in_the_prior

# Adversaries


@theorem(
    "D-Guesses-1",
    statement="A feature with at most B values leaks at most log B·G(1/B), G the most posterior "
    "mass in a given prior mass; a feature attains it.",
    conditions="finite alphabets, B ≥ 2",
    tight=True,
)
def _few_guesses(rng: Generator) -> Claims:
    outcome = some_outcome(rng)
    values = int(rng.integers(2, 6))
    attack = worst_guess(outcome, values)
    for _ in range(20):
        feature = feature_like(rng, outcome, int(rng.integers(1, values + 1)))
        yield at_most(guess_leakage(outcome, feature), attack.attained, "random feature")
    yield equal(guess_leakage(outcome, attack.feature), attack.attained, "constructed feature")
    # G by trying every order in which symbols could be taken in.
    best = 0.0
    for mask in product((0, 1), repeat=len(outcome.prior)):
        inside = np.array(mask, dtype=bool)
        mass = outcome.prior[inside].sum()
        left = 1 / values - mass
        edge = [x for x in np.flatnonzero(~inside) if outcome.prior[x] >= left >= 0]
        part = [outcome.lift[x] * left for x in edge] or ([0.0] if abs(left) < 1e-12 else [])
        best = max([best, *(outcome.posterior[inside].sum() + extra for extra in part)])
    # A slack below the scale of the claim keeps instances apart from certainty out of rounding.
    yield equal(attack.attained, math.log(values * best), "greedy against all subsets", scale=1.0)


@theorem(
    "D-Misses-1",
    statement="A feature with two values attains Λ(X→y), and so does the published construction "
    "from k ≥ P(x*)/(1 − P(x*)) on: no limit in k is needed.",
    conditions="finite secret, more than one symbol",
    tight=True,
)
def _finite_misses(rng: Generator) -> Claims:
    heavy = rng.uniform(0.5, 0.9)
    prior = np.append((1 - heavy) * some_masses(rng, 3), heavy)
    likelihood = np.append(rng.uniform(0.5, 1, 3), rng.uniform(0.05, 0.3))
    posterior = prior * likelihood / (prior @ likelihood)
    outcome = Observation("y", (0, 1, 2, 3), prior, likelihood, posterior)
    enough = math.ceil(heavy / (1 - heavy))
    for k in range(1, enough + 2):
        attack = worst_miss(outcome, k)
        if k >= enough:
            yield equal(attack.attained, outcome.cost, f"{k} of {enough} parts")
        else:
            yield at_most(attack.attained, outcome.cost, f"{k} of {enough} parts")
            miss = 1 - max(heavy / k, 1 - heavy), 1 - max(posterior[3] / k, 1 - posterior[3])
            yield equal(attack.attained, math.log(miss[0] / miss[1]), "closed form", scale=1.0)
    yield equal(worst_miss(outcome).attained, outcome.cost, "two values")
    yield at_most(worst_miss(outcome).feature.shape[1], 2, "two values")


# Properties of PML and PMC


theorem(
    "D-PML-1",
    statement="ℓ(X→Y) = 0 when X and Y are independent.",
    tight=True,
)(lambda rng: shared_properties.zero_when_independent(rng, risk_averse=False))


theorem(
    "D-PML-2",
    statement="ℓ of independent secrets, released independently, is the sum of the parts.",
    conditions="finite alphabets, product prior and product mechanism",
    tight=True,
)(lambda rng: shared_properties.additive(rng, risk_averse=False))


@theorem(
    "D-Prior-1",
    statement="ℓ(X→y) is convex in the prior among priors of one support; across supports it need "
    "not be.",
    tight=True,
)
def _convex(rng: Generator) -> Claims:
    yield from curved_in_the_prior(rng, False)
    # Each prior rules out a symbol; their mixture does not, and leaks more than either.
    first, second, mechanism = crossing_priors(rng)
    found = prior_curvature(mechanism, first, second, 0.5)
    yield holds(found.room < -1e-3, "different supports: not convex")


@theorem(
    "D-Conditional-1",
    statement="Conditional PML and PMC have the same properties under P(X|Z=z): non-negative, "
    "zero under independence, closed under pre- and post-processing.",
    conditions="finite alphabets, P(Z=z) > 0",
)
def _conditional(rng: Generator) -> Claims:
    prior = some_prior(rng)
    side = some_mechanism(rng, prior, 2)
    by_side = {z: some_mechanism(rng, prior, 3) for z in side.outputs}
    z = side.outputs[int(rng.integers(2))]
    known = condition(prior, side, z)
    for averse in (False, True):
        found = conditional_outcome_leakage(by_side, prior, side, z, risk_averse=averse)
        yield at_least(float(found.min()), 0.0, "non-negative")
        feature = some_feature(rng, prior)
        yield from both_sides(
            pre_processing(by_side[z], known, feature, risk_averse=averse), "pre-processing"
        )
        channel = Mechanism(some_kernel(rng, 3, 2), by_side[z].outputs)
        yield from both_sides(
            post_processing(by_side[z], channel, known, risk_averse=averse), "post-processing"
        )
        lift = by_side[z].posterior(known) / known.probabilities[:, None]
        direct = -np.log(lift.min(axis=0)) if averse else np.log(lift.max(axis=0))
        for own, other in zip(found, direct, strict=True):
            yield equal(float(own), float(other), "from the posterior", scale=1.0)


@theorem(
    "D-Averages-1",
    statement="Maximal leakage is log E[e^ℓ(X→Y)], maximal cost leakage −log E[e^−Λ(X→Y)].",
    tight=True,
)
def _averages(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    up, down = expected_exponential(mechanism, prior)
    yield equal(up, math.log(mechanism.kernel.max(axis=0).sum()), "maximal leakage", scale=1.0)
    low = -math.log(mechanism.kernel.min(axis=0).sum())
    yield equal(down, low, "maximal cost leakage", scale=1.0)


# Composition


@theorem(
    "D-Composition-1",
    statement="Reports about one secret leak at most one level plus the leakage capacities of the "
    "others, in PML and in PMC; LDP levels add up.",
    conditions="finite alphabets, independent reports",
)
def _bounded(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanisms = [some_mechanism(rng, prior, 2) for _ in range(int(rng.integers(2, 4)))]
    for notion in (PML, PMC, LDP):
        found = account(mechanisms, prior, notion)
        yield at_most(found.level, found.bound, notion.__name__)
        parts = [notion(1.0).measure(m, prior)[0] for m in mechanisms]
        spreads = [LDP(1.0).measure(m, prior)[0] for m in mechanisms]
        claimed = min(part + sum(spreads) - own for part, own in zip(parts, spreads, strict=True))
        if notion is PML:
            claimed = min(claimed, -math.log(prior.pmin))
        yield equal(found.bound, claimed, f"{notion.__name__}, the formula")
        measured = notion(1.0).measure(found.mechanism, prior)[0]
        yield equal(found.level, measured, f"{notion.__name__}, measured afresh", scale=1.0)


@theorem(
    "D-Composition-2",
    statement="PML and PMC levels do not add up: two independent reports may leak more about one "
    "secret than the sum of their levels.",
    conditions="counterexamples for every instance",
)
def _no_sum(rng: Generator) -> Claims:
    rare = float(rng.uniform(0.01, 0.05))
    prior = Prior.from_counts([rare, (1 - rare) / 2, (1 - rare) / 2])
    half = float(rng.uniform(0.3, 0.7))
    noisy = [half, 1 - half]
    one = Mechanism(np.array([noisy, noisy, [0, 1]]))
    two = Mechanism(np.array([noisy, [0, 1], noisy]))
    found = account([one, two], prior, PML)
    yield holds(found.level > found.sum_of_parts + 0.1, "PML")
    yield equal(found.level, -math.log(rare), "everything about the rare symbol")
    keep = float(rng.uniform(0.7, 0.9))
    even = Mechanism([[keep, 1 - keep], [1 - keep, keep]])
    found = account([even, even], Prior.uniform(2), PMC)
    yield holds(found.level > found.sum_of_parts + 1e-3, "PMC")


@theorem(
    "D-Composition-3",
    statement="Levels of independent secrets add up exactly in PML, PMC and LDP.",
    conditions="finite alphabets, product prior and product mechanism",
    tight=True,
)
def _products(rng: Generator) -> Claims:
    parts = []
    for _ in range(2):
        prior = some_prior(rng, int(rng.integers(2, 4)))
        parts.append((some_mechanism(rng, prior, 2), prior))
    for notion in (PML, PMC, LDP):
        found = account_product(parts, notion)
        yield equal(found.level, found.bound, notion.__name__)


@theorem(
    "D-Composition-4",
    statement="The counts of outcomes of repeated runs leak what the runs in order do.",
    conditions="finite alphabets, independent runs",
    tight=True,
)
def _counts(rng: Generator) -> Claims:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior, int(rng.integers(2, 4)))
    runs = int(rng.integers(2, 4))
    counted = repeated(mechanism, runs)
    for notion in (PML, PMC, LDP):
        listed = account([mechanism] * runs, prior, notion)
        found = notion(1.0).measure(counted, prior)[0]
        yield equal(found, listed.level, notion.__name__, scale=1.0)
    orders = list(product(range(mechanism.shape[1]), repeat=runs))
    chance = sum(math.prod(mechanism.kernel[0, list(o)]) for o in orders if len(set(o)) == 1)
    alike = [j for j, c in enumerate(counted.outputs) if max(c) == runs]
    yield equal(float(counted.kernel[0, alike].sum()), chance, "probability of equal runs")


@theorem(
    "D-Composition-5",
    statement="An adaptive second mechanism composes exactly: P(y1,y2|x) = P(y1|x)·P(y2|x,y1).",
    tight=True,
)
def _adaptive(rng: Generator) -> Claims:
    prior = some_prior(rng)
    first = some_mechanism(rng, prior, 2)
    then = {label: some_mechanism(rng, prior, 2) for label in first.outputs}
    both = adaptive(first, then)
    for j, (y, z) in enumerate(both.outputs):
        expected = first.kernel[0, first.outputs.index(y)] * then[y].kernel[0, z]
        yield equal(float(both.kernel[0, j]), float(expected), "entry", scale=1.0)


# Conversions


register_rules(
    "D-PML-Max",
    "D-PML-ML",
    "D-LDP-ML",
    "D-LDP-MCL",
    "D-ML-MI",
    "D-ALIP-MI",
    "D-LDP-MI",
    "D-MI-Max",
    "D-ML-Max",
)


@theorem(
    "D-LIP-LDP",
    statement="What (ε_l, ε_u)-ALIP implies for LDP is the largest, over ordered pairs of the two "
    "rarest symbols, of log min{h, (1 − l(1−p_x))/p_x} − log max{l, (1 − h(1−p_x'))/p_x'}.",
    conditions="finite alphabets, every symbol of positive mass, the inner maximum positive",
    tight=True,
)
def _tight_lift_to_ldp(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    low, high = some_level(rng, 0.05, 1.5), some_level(rng, 0.05, 1.5)
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
    kernel = positive_kernel(rng, len(prior))
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
    prior, level = Prior.uniform(2), some_level(rng)
    kernel = positive_kernel(rng, 2)
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
    prior = mild_prior(rng)
    kernel = positive_kernel(rng, len(prior))
    level = measure("pmc", kernel, prior)[0]
    best = release_or_draw(prior, level)
    p = prior.probabilities
    most = mutual_information(p, best)
    yield equal(measure("pmc", best, prior)[0], level, "PMC")
    star = math.log((1 - math.exp(-level) * (1 - prior.pmin)) / prior.pmin)
    yield equal(measure("pml", best, prior)[0], star, "PML")
    yield at_most(mutual_information(p, kernel), most, "random kernel", scale=most)


@theorem(
    "D-ML-Hamming",
    statement="Under maximal leakage ε the best guess of the secret is right with probability at "
    "most the sum of the ⌊e^ε⌋ largest masses and the fraction e^ε − ⌊e^ε⌋ of the next.",
    tight=True,
)
def _guessing(rng: Generator) -> Claims:
    prior = mild_prior(rng)
    p = np.sort(prior.probabilities)[::-1]
    kernel = positive_kernel(rng, len(prior))

    def most(leakage: float) -> float:
        whole = math.exp(leakage)
        k = min(int(whole + 1e-12), len(p))
        part = (whole - k) * p[k] if k < len(p) else 0.0
        return float(p[:k].sum() + part)

    guess = float((prior.probabilities[:, None] * kernel).max(axis=0).sum())
    yield at_most(guess, most(maximal_leakage(kernel)), "random kernel")
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
    yield at_least(found, most(maximal_leakage(extreme)), "the most likely symbols")


# Disclosure and databases


@theorem(
    "D-Disclosure-1",
    statement="A feature can be disclosed under ε-PML exactly from −log max_u P({x: U=u for "
    "certain}) on; for deterministic features that is H∞(U).",
    conditions="finite alphabets, a value that some but not all symbols fix",
    tight=True,
)
def _price(rng: Generator) -> Claims:
    prior = some_prior(rng)
    channel = some_feature(rng, prior)
    price = disclosure_price(prior, channel)
    yield at_least(price, feature_entropy(prior, channel), "never below the entropy")
    kernel = some_mechanism(rng, prior, zeros=True)
    if disclosures(kernel, prior, channel):
        yield at_least(pml_level(kernel, prior), price, "random mechanism that discloses it")
    sure = feature(prior, [prior.labels[0]])
    yield equal(disclosure_price(prior, sure), feature_entropy(prior, sure), "deterministic")
    made = disclosing_mechanism(prior, sure)
    found = disclosures(made.mechanism, prior, sure)
    yield holds(any(d.value == made.value for d in found), "constructed mechanism discloses it")
    achieved = PML(made.epsilon).check(made.mechanism, prior).achieved[0]
    yield equal(achieved, disclosure_price(prior, sure), "at its price")


@theorem(
    "D-Disclosure-2",
    statement="The least remaining min-entropy of a non-constant deterministic feature is exactly "
    "−log(1 − min P(x|y)).",
    tight=True,
)
def _least(rng: Generator) -> Claims:
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
    "P(S_y), S_y what y leaves possible; this is attained, and at most max_y ℓ(X→y).",
    tight=True,
)
def _most(rng: Generator) -> Claims:
    prior = some_prior(rng)
    kernel = some_kernel(rng, len(prior), 3, zeros=True)
    # An outcome that rules out symbol 0 makes sure that something is disclosed.
    kernel[0] = [0, 0.5, 0.5]
    kernel[1] = [0.4, 0.3, 0.3]
    mechanism = Mechanism(kernel, prior.labels)
    most = most_entropy_disclosed(mechanism, prior)
    yield at_most(most, pml_level(mechanism, prior), "Theorem 3.5")
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
    "D-Picking-1",
    statement="Below the level that theory.pick_epsilon names no feature to hide is disclosed; at "
    "it, one can be.",
    tight=True,
)
def _picking(rng: Generator) -> Claims:
    prior = some_prior(rng, 4)
    hide = [feature(prior, [prior.labels[i]]) for i in rng.permutation(4)[:2]]
    choice = pick_epsilon(prior, hide)
    yield holds(choice.largest < choice.below or choice.below - choice.largest < 1e-15, "below")
    prices = [disclosure_price(prior, f) for f in hide]
    yield equal(choice.below, min(prices), "smallest price")
    yield equal(choice.nothing_below, -math.log1p(-prior.pmin), "nothing is disclosed below")
    yield equal(choice.singling_out, prior.min_entropy(), "symbols are singled out from")
    yield equal(choice.everything_from, -math.log(prior.pmin), "everything may be told from")
    release = Mechanism(np.eye(len(prior)), prior.labels)
    yield equal(pml_level(release, prior), choice.everything_from, "releasing the secret")
    label = prior.labels[int(rng.integers(4))]
    answer = pick_epsilon(prior, {"answer": (feature(prior, [label]), True)})
    yield equal(answer.features[0].entropy, -math.log(prior[label]), "entropy of an answer")
    kept = pick_epsilon(prior, hide, remaining=1e-3)
    least = min(feature_entropy(prior, f) for f in hide)
    yield equal(kept.below, least - 1e-3, "where uncertainty is to remain")
    yield holds(0 < kept.largest < kept.below, "below it where uncertainty is to remain")
    mechanism = some_mechanism(rng, prior, zeros=True)
    if PML(choice.largest).check(mechanism, prior).verdict.value == "yes":
        yield holds(not any(disclosures(mechanism, prior, f) for f in hide), "hidden")
    made = disclosing_mechanism(prior, hide[int(np.argmin(prices))])
    yield equal(pml_level(made.mechanism, prior), choice.below, "disclosed at the level")


@theorem(
    "D-Counting-1",
    statement="One of the two answers to an exact yes-or-no question leaks at least log 2, so no "
    "such query keeps max_y ℓ(X→y) below the min-entropy of a binary feature.",
    conditions="deterministic answer, both answers possible",
    tight=True,
)
def _yes_no(rng: Generator) -> Claims:
    n, share = int(rng.integers(2, 400)), float(rng.uniform(0.05, 0.95))
    query = threshold_query(n, int(rng.integers(0, n)), share)
    yield at_least(query.epsilon, math.log(2), "random threshold")
    yield at_most(query.entropy, math.log(2), "entropy of a bit")
    yield holds(not (query.yes_is_covered and query.no_is_covered), "never both answers")
    # A median question attains it.
    even = threshold_query(2 * n - 1, n - 1, 0.5)
    yield equal(even.epsilon, math.log(2), "median of fair bits")


@theorem(
    "D-Counting-2",
    statement="What an answer to 'more than m of n?' tells about one person is largest at the end "
    "of the range of p where the answer is rarest.",
    conditions="independent people",
)
def _ends(rng: Generator) -> Claims:
    n = int(rng.integers(2, 60))
    m = int(rng.integers(0, n))
    low, high = sorted(rng.uniform(0.02, 0.98, 2))
    for share in (*rng.uniform(low, high, 4), low * (1 + 1e-9), high * (1 - 1e-9)):
        most = person_leakage(n, m, low, True)
        yield at_most(person_leakage(n, m, share, True), most, "yes", scale=most)
        most = person_leakage(n, m, high, False)
        yield at_most(person_leakage(n, m, share, False), most, "no", scale=most)


@theorem(
    "D-Databases-1",
    statement="One entry need not be enough in Theorem 4.5(3): about entry i at most log "
    "max_{d≠d'} max P(y|d)/min P(y|d') leaks, under any prior.",
    conditions="finite alphabets; the printed proof fixes an arbitrary entry",
    tight=True,
)
def _one_entry(rng: Generator) -> Claims:
    # The most and the least likely pair share the first entry.
    high, low, middle = rng.uniform(0.8, 0.95), rng.uniform(0.05, 0.1), rng.uniform(0.3, 0.5)
    column = np.array([high, low, middle, middle])
    rows = list(Database(np.ones((2, 2))).prior.labels)
    mechanism = Mechanism(np.column_stack([column, 1 - column]), rows)
    limit = max(
        math.log(a.max() / b.min())
        for k in (column, 1 - column)
        for a, b in ((k[:2], k[2:]), (k[2:], k[:2]))
    )
    level = free_lunch_level(mechanism, Database(np.ones((2, 2))))
    yield holds(limit < level - 0.1, "below the free-lunch level")
    for _ in range(5):
        database = Database(rng.dirichlet(np.full(4, 0.3)).reshape(2, 2) + 1e-9)
        yield at_most(float(entry_leakage(mechanism, database)[0].max()), limit, "random prior")
    # Both share their first value, so it is the second entry that tells them apart.
    near = free_lunch_as_pml(mechanism, Database(np.ones((2, 2))), 1e-11).approaches[2]
    second = float(entry_leakage(mechanism, near.database)[1].max())
    yield equal(second, level, "the second entry reaches the level")
