"""Errata of the paper on disclosure prevention with PML, [SaeidianDisclosure].

The paper was read as LaTeX reconstructed from its PDF: what looks like a misprint may have arisen
there. Displays are cited as they were read.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import PMC, PML
from ..privacy.features import feature
from ..theory._composition import account
from ..theory.counting_queries import (
    laplace_count_bound,
    laplace_count_leakage,
    laplace_count_simple_bound,
    threshold_query,
)
from ..theory.databases import Database, entry_leakage, free_lunch_level
from ..theory.disclosure import (
    discloses,
    leakage_capacity,
    least_uncertainty,
    quantised_mean,
    uncertainty_bound,
)
from .claims import Pairs, at_least, at_most, equal, erratum, holds

mistake = partial(erratum, source="SaeidianDisclosure")


def _laplace_average(y: float, entries: int, scale: float, p: float) -> float:
    """E exp(−|y − S/n|/b) for S binomial."""
    total = 0.0
    for k in range(entries + 1):
        mass = math.comb(entries, k) * p**k * (1 - p) ** (entries - k)
        total += mass * math.exp(-abs(y - k / entries) / scale)
    return total


@mistake(
    "E11a",
    place="Appendix B.3, proof of Proposition 4.6",
    kind="gap",
    quotation="is increasing in (−∞, p] and decreasing in [p, ∞)",
    printed="The density of the noisy count increases up to p and decreases after it.",
    reading="The proposition itself is right, and its bound is attained; it is one step of the "
    "proof that fails.",
    corrected="The density can have several peaks. The bound of the proposition holds all the "
    "same, because at every y the two likelihoods of D_i are within a factor e^(1/nb) of each "
    "other.",
    proof="With L1, L0 the likelihoods of D_i = 1 and 0 at y and t = 1/nb: L1/(pL1 + (1−p)L0) "
    "rises with L1/L0, which is at most e^t by the triangle inequality, and 1/(p + (1−p)e^-t) = "
    "e^t/(1 − p + pe^t); likewise for D_i = 0 with 1 − p. Both fall in the mass, which is ≥ c.",
)
def _unimodal() -> Pairs:
    n, b, p = 2, 0.05, 0.3
    worst = float(laplace_count_leakage(n, b, p, np.linspace(-0.5, 1.5, 2001)).max())
    at_zero, later = (_laplace_average(y, n, b, p) for y in (0.0, 0.25))
    yield (
        at_least(later, at_zero, "density at .25 against 0, for n = 2, b = .05, p = .3"),
        at_most(worst, 1 / (n * b) - math.log1p(p * math.expm1(1 / (n * b)))),
    )


@mistake(
    "E11b",
    place="Example 3.11",
    kind="gap",
    quotation="When m ≪ n or n − m ≪ n it may be safe to answer this query deterministically",
    printed="For m ≪ n the exact answer is safe (“may be” left out, and read of both answers).",
    reading="“May be safe” is a hedge, and the calculation that follows speaks of the answer yes "
    "alone for small m, and of the answer no alone for large m: for those it is right.",
    corrected="The answer yes is safe there; the answer no leaks −log P(S ≤ m), and at m = 0 it "
    "discloses everyone. Both answers have to be looked at.",
    proof="At m = 0 the answer no says S = 0, so every S_i is 0; its leakage is −n log(1 − p).",
)
def _only_one_answer() -> Pairs:
    n, p = 200, Fraction(3, 10)
    entropy = -math.log(0.7)
    no = -n * math.log(0.7)
    yes = -math.log1p(-float((1 - p) ** n))
    yield (
        at_most(no, entropy, "PML of the answer no, n = 200, m = 0, p = .3, against H∞(S_i)"),
        at_most(yes, entropy),
    )


@mistake(
    "E11c",
    place="Proposition 3.6",
    kind="gap",
    quotation="there exists an attribute of X, denoted by W, satisfying H_∞(P_W) < H_∞(P_U)",
    printed="If a feature U is disclosed, so is a feature W with H∞(W) < H∞(U).",
    reading="With attributes understood to be non-constant, as Theorem 3.7 says in its second "
    "part, it holds.",
    corrected="If moreover H∞(U) > 0: a constant feature is always disclosed, and no feature has "
    "negative min-entropy.",
    proof="For H∞(U) > 0 the construction of the proof works, with λ close enough to 1. For "
    "H∞(U) = 0 nothing is below.",
)
def _constant_feature() -> Pairs:
    # Features W of a fair coin by P(W = 1 | x), on a grid that holds the constant ones.
    grid = np.linspace(0.0, 1.0, 21)
    first = (grid[:, None] + grid[None, :]) / 2
    least = float((-np.log(np.maximum(first, 1 - first))).min())
    # The construction of the proof for U = X, released as it is: W = 1 when X = 1, else with 1/2.
    mixed, posterior = 0.5 + 0.5 * 0.5, 1.0
    yield (
        at_most(least, -1e-3, "least min-entropy of a feature, against that of a constant, 0"),
        holds(-math.log(mixed) < math.log(2) and posterior == 1.0),
    )


@mistake(
    "E14",
    place="Example 3.11, as an application of Theorem 3.5",
    kind="gap",
    quotation="by Theorem 3.5, the gender of no individual will be disclosed by the query response "
    "as long as",
    printed="The exact answer meets the premise of Theorem 3.5, ε-PML with ε < H∞(S_i) (read of "
    "the query response, not of the answer yes alone).",
    reading="The text bounds ℓ(X → 1) alone and says “may be safe”: for the answer yes the proof "
    "of the theorem, which goes outcome by outcome, gives just that.",
    corrected="The theorem as stated never covers the whole query: one of two answers leaks at "
    "least log 2, and H∞ of a bit is at most log 2. Its proof covers answers one at a time; and "
    "for 1 ≤ m ≤ n−2 neither answer settles anybody's value, so nothing is disclosed there.",
    proof="One of two answers has probability at most ½ and so leaks at least log 2. Given S > m "
    "with m ≤ n−2, or S ≤ m with m ≥ 1, both values of S_i have positive probability.",
)
def _whole_query() -> Pairs:
    for n, m, p in ((200, 40, 0.5), (200, 1, 0.3), (20, 18, 0.7)):
        query = threshold_query(n, m, p)
        certainty = max(surest_posterior(n, m, Fraction(str(p)), answer) for answer in (0, 1))
        yield (
            at_most(
                query.epsilon, query.entropy, f"level against H∞(S_i), n = {n}, m = {m}, p = {p}"
            ),
            holds(certainty < 1 and query.epsilon >= math.log(2)),
        )


def surest_posterior(n: int, m: int, p: Fraction, answer: int) -> Fraction:
    """The larger of P(S_i = 0 | y) and P(S_i = 1 | y), by summing over the count."""
    counts = range(m + 1, n + 1) if answer else range(m + 1)
    mass = {k: math.comb(n, k) * Fraction(p**k * (1 - p) ** (n - k)) for k in counts}
    one = sum((mass[k] * Fraction(k, n) for k in counts), Fraction(0)) / sum(mass.values())
    return max(one, 1 - one)


@mistake(
    "E15",
    place="Appendix B.2, proof of Theorem 4.5(3)",
    kind="gap",
    quotation="Fix an arbitrary i ∈ [n].",
    printed="For an arbitrary fixed entry i the supremum of ℓ(D_i→y) over all priors is the "
    "free-lunch level.",
    reading="The theorem takes the maximum over i and is right: i is to be an entry in which the "
    "two extreme databases differ.",
    corrected="Only for the best entry: about entry i no more than the ratio between rows that "
    "differ in it can leak. The theorem stands, because it takes the maximum over i.",
    proof="ℓ(D_i→y) compares mixtures of rows with d_i to mixtures of rows with d_i' ≠ d_i: where "
    "d_i = d_i' the two lines that define P* ask for two laws at once. So the last line, (B.6a), "
    "holds with the maximum over d_i ≠ d_i', and rows that share d_i are missing from it.",
)
def _arbitrary_entry() -> Pairs:
    databases = [_nearly(rows) for rows in np.ndindex(4, 4) if rows[0] != rows[1]]
    labels = databases[0].prior.labels
    mechanism = Mechanism([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5]], labels)
    level = free_lunch_level(mechanism, databases[0])
    most = np.max([entry_leakage(mechanism, database).max(axis=1) for database in databases], 0)
    about = "leakage about entry 1 under any prior, P(y|00, 01, 10, 11) = .9, .1, .5, .5"
    yield at_least(float(most[0]), level, about), equal(float(most[0]), math.log(5))
    yield at_least(float(most[0]), level, about), equal(float(most[1]), level)


def _nearly(rows: tuple[int, ...]) -> Database:
    """Two binary entries, nearly always in one row, rarely in another: what the limits approach."""
    masses = np.full(4, 1e-40)
    masses[rows[0]], masses[rows[1]] = 1.0, 1e-12
    return Database(masses.reshape(2, 2))


@mistake(
    "E16",
    place="Section 2.3, on composition",
    kind="gap",
    quotation="increases (at most) linearly under composition",
    printed="k independent uses of an ε-PML mechanism on one secret are kε-PML (“linearly” read "
    "of levels).",
    reading="The lemma that is cited adds a conditional term, ℓ(X→y1) + ℓ(X→y2|y1), taken under "
    "the posterior; in that sense, and for independent secrets, leakages do add up.",
    corrected="Growth that is linear in the number of uses does not follow: the second term is "
    "conditional, and levels under the prior do not add up, in PML or in PMC. One level plus the "
    "leakage capacities of the others is a bound.",
    proof="A mechanism that rules out the second of three symbols or the third, each at random, "
    "has level −log(1 − .49) at p = (.02, .49, .49); when two uses rule out one each, only the "
    "first is left, and −log .02 leaks. The bound: by the lemma, with the conditional PML of a use "
    "at most its leakage capacity under any posterior.",
)
def _levels_do_not_add() -> Pairs:
    # A coin is thrown, and the outcome says which of two symbols may have been ruled out.
    asked = Mechanism(
        [[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.0, 0.5], [0.0, 0.5, 0.25, 0.25]],
        outputs=["not 3", "any, asked of 3", "not 2", "any, asked of 2"],
    )
    found = account([asked, asked], Prior([0.02, 0.49, 0.49]), PML)
    yield (
        at_most(found.level, found.sum_of_parts, "PML of two uses, p = (.02, .49, .49)"),
        holds(found.level <= found.bound),
    )
    noisy = Mechanism([[0.8, 0.2], [0.2, 0.8]])
    found = account([noisy, noisy], Prior.uniform(2), PMC)
    yield (
        at_most(found.level, found.sum_of_parts, "PMC of two noisy copies of a fair coin"),
        at_most(found.level, found.bound),
    )


@mistake(
    "E17",
    place="Theorem 3.7, first part",
    kind="gap",
    quotation="no attribute of X can be disclosed",
    printed="With finite leakage capacity no attribute, a constant one included, is disclosed.",
    reading="The second part of the theorem says “(non-constant)”; read into the first part as "
    "well, it holds.",
    corrected="No attribute that is not constant: Definition 3.3 counts a constant one as "
    "disclosed by every mechanism.",
    proof="A constant has posterior min-entropy zero, whatever the mechanism. For others, finite "
    "capacity keeps every posterior of full support, so no value becomes certain.",
)
def _constant_attribute() -> Pairs:
    prior = Prior([0.5, 0.3, 0.2])
    mechanism = Mechanism([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])
    constant = feature(prior, prior.labels)
    bound = uncertainty_bound(prior, leakage_capacity(mechanism))
    yield (
        holds(
            not discloses(mechanism, prior, constant),
            "a constant stays hidden behind a mechanism with capacity log 3/2",
        ),
        at_least(least_uncertainty(mechanism, prior), bound),
    )


@mistake(
    "E20",
    place="Section 4.1, after Proposition 4.6",
    kind="loose",
    quotation="(1−c)/(nb) + c²/(2n²b²)",
    printed="(1−c)/(nb) + c²/(2n²b²) is the simple form that the bound takes for large nb.",
    reading="True as printed: no mistake, a simpler and sharper bound.",
    corrected="(1−c)/(nb) alone is enough, for every nb.",
    proof="By Jensen's inequality log(1 − c + ce^t) ≥ ct, so t − log(1 − c + ce^t) ≤ (1 − c)t at "
    "t = 1/(nb).",
)
def _second_term() -> Pairs:
    for n, b, c in ((100, 0.1, 0.3), (10, 0.05, 0.45)):
        alone = (1 - c) / (n * b)
        bound = laplace_count_bound(n, b, c)
        yield (
            at_most(bound, laplace_count_simple_bound(n, b, c), f"n = {n}, b = {b}, c = {c}"),
            at_most(bound, alone),
        )


@mistake(
    "E21",
    place="Example 3.1",
    kind="gap",
    quotation="as n → ∞ the sample mean converges in probability to μ; thus, H_∞(μ̂_1) → 0",
    printed="The min-entropy of the quantised mean goes to zero, whatever the cells.",
    reading="Where μ lies inside a cell it does; the edges are free, and almost all choices of "
    "them avoid μ. (That m is large does not help: more edges leave the limit as it is.)",
    corrected="Unless μ is an edge: then the mean falls to either side with a probability that "
    "tends to ½, and the min-entropy tends to log 2.",
    proof="At an edge P(mean ≥ μ) → ½ by the central limit theorem, so the two cells at μ have ½ "
    "each in the limit. For fair bits and odd n it is exactly ½.",
)
def _mean_at_an_edge() -> Pairs:
    coin = Prior([0.5, 0.5], [0, 1])
    for n in (25, 125, 301):
        found = quantised_mean(coin, n, [0, 0.5, 1.5]).min_entropy()
        yield (
            at_most(found, 0.1, f"H∞ of the mean of {n} fair bits, cells [0, ½) and [½, 1½)"),
            equal(found, math.log(2)),
        )
