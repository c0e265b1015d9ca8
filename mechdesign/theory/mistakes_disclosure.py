"""Errata of the paper on disclosure prevention, [SaeidianDisclosure]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.pointwise import PMC, PML
from .accounting import account
from .counting import threshold_query
from .databases import Database, entry_leakage, free_lunch_level
from .disclosure import discloses, leakage_capacity, least_uncertainty, uncertainty_bound
from .features import feature
from .mistakes import erratum
from .theorems import Claim, at_least, at_most, equal, holds

Pairs = Iterator[tuple[Claim, Claim]]


def _laplace_average(y: float, entries: int, scale: float, p: float) -> float:
    """E exp(−|y − S/n|/b) for S binomial."""
    total = 0.0
    for k in range(entries + 1):
        mass = math.comb(entries, k) * p**k * (1 - p) ** (entries - k)
        total += mass * math.exp(-abs(y - k / entries) / scale)
    return total


@erratum(
    "E11a",
    source="SaeidianDisclosure",
    place="Proposition 4.6, proof",
    kind="false",
    printed="The density of the noisy count increases up to p and decreases after it.",
    corrected="It can have several peaks. The bound of the proposition holds all the same, because "
    "at every y the two likelihoods of D_i are within a factor e^(1/nb) of each other.",
)
def _unimodal() -> Pairs:
    n, b, p = 2, 0.05, 0.3
    at_zero, later = (_laplace_average(y, n, b, p) for y in (0.0, 0.25))
    yield (
        at_least(later, at_zero, "density at .25 against 0, for n = 2, b = .05, p = .3"),
        at_most(_entry_leakage(n, b, p), 1 / (n * b) - math.log1p(p * math.expm1(1 / (n * b)))),
    )


def _entry_leakage(n: int, b: float, p: float) -> float:
    """The largest PML of one of n binary entries over outcomes on a fine grid."""
    worst = 0.0
    for y in np.linspace(-0.5, 1.5, 2001):
        likelihoods = [
            sum(
                math.comb(n - 1, k)
                * p**k
                * (1 - p) ** (n - 1 - k)
                * math.exp(-abs(y - (k + d) / n) / b)
                for k in range(n)
            )
            for d in (0, 1)
        ]
        average = (1 - p) * likelihoods[0] + p * likelihoods[1]
        worst = max(worst, math.log(max(likelihoods) / average))
    return worst


@erratum(
    "E11b",
    source="SaeidianDisclosure",
    place="Example 3.11",
    kind="incomplete",
    printed="For m much smaller than n it may be safe to answer deterministically whether more "
    "than m people have an attribute.",
    corrected="The answer yes is safe there; the answer no leaks −log P(S ≤ m), and at m = 0 it "
    "discloses everyone. Both answers have to be looked at.",
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


@erratum(
    "E11c",
    source="SaeidianDisclosure",
    place="Proposition 3.6",
    kind="incomplete",
    printed="If a feature U is disclosed, so is a feature W with H∞(W) < H∞(U).",
    corrected="If moreover H∞(U) > 0: a constant feature is always disclosed, and no feature has "
    "negative min-entropy.",
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


@erratum(
    "E14",
    source="SaeidianDisclosure",
    place="Example 3.11, as an application of Theorem 3.5",
    kind="false",
    printed="Theorem 3.5 shows that a yes-or-no query may be answered exactly when m is far "
    "from the middle.",
    corrected="It never covers the whole query: one of two answers leaks at least log 2, and H∞ of "
    "a bit is at most log 2. It covers answers one at a time; and for 1 ≤ m ≤ n−2 neither answer "
    "settles anybody's value.",
)
def _whole_query() -> Pairs:
    for n, m, p in ((200, 40, 0.5), (200, 1, 0.3), (20, 18, 0.7)):
        query = threshold_query(n, m, p)
        certainty = max(_surest_posterior(n, m, Fraction(str(p)), answer) for answer in (0, 1))
        yield (
            at_most(
                query.epsilon, query.entropy, f"level against H∞(S_i), n = {n}, m = {m}, p = {p}"
            ),
            holds(certainty < 1 and query.epsilon >= math.log(2)),
        )


def _surest_posterior(n: int, m: int, p: Fraction, answer: int) -> Fraction:
    """The larger of P(S_i = 0 | y) and P(S_i = 1 | y), by summing over the count."""
    counts = range(m + 1, n + 1) if answer else range(m + 1)
    mass = {k: math.comb(n, k) * Fraction(p**k * (1 - p) ** (n - k)) for k in counts}
    one = sum((mass[k] * Fraction(k, n) for k in counts), Fraction(0)) / sum(mass.values())
    return max(one, 1 - one)


@erratum(
    "E15",
    source="SaeidianDisclosure",
    place="Appendix B.2, proof of Theorem 4.5(3)",
    kind="false",
    printed="For an arbitrary fixed entry i the supremum of ℓ(D_i→y) over all priors is the "
    "free-lunch level.",
    corrected="Only for the best entry: about entry i no more than the ratio between rows that "
    "differ in it can leak. The theorem stands, because it takes the maximum over i.",
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


@erratum(
    "E16",
    source="SaeidianDisclosure",
    place="Section 2.3, on composition",
    kind="incomplete",
    printed="PML increases at most linearly under composition: levels add up.",
    corrected="The second term is conditional, under the posterior of the first outcome; the "
    "levels under the prior do not add up, in PML or in PMC. One level plus the leakage "
    "capacities of the others is a bound.",
)
def _levels_do_not_add() -> Pairs:
    one = Mechanism([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    two = Mechanism([[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]])
    found = account([one, two], Prior([0.02, 0.49, 0.49]), PML)
    yield (
        at_most(found.level, found.sum_of_parts, "PML of two reports, p = (.02, .49, .49)"),
        holds(found.level <= found.bound),
    )
    noisy = Mechanism([[0.8, 0.2], [0.2, 0.8]])
    found = account([noisy, noisy], Prior.uniform(2), PMC)
    yield (
        at_most(found.level, found.sum_of_parts, "PMC of two noisy copies of a fair coin"),
        at_most(found.level, found.bound),
    )


@erratum(
    "E17",
    source="SaeidianDisclosure",
    place="Theorem 3.7, first part",
    kind="incomplete",
    printed="With finite leakage capacity no attribute can be disclosed.",
    corrected="No attribute that is not constant: Definition 3.3 counts a constant one as "
    "disclosed by every mechanism.",
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
