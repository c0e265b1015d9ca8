"""Results about counting queries, with their checks."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..prior import Prior
from .counting import (
    chernoff_bound,
    laplace_count_bound,
    laplace_count_leakage,
    laplace_count_simple_bound,
    person_leakage,
    threshold_query,
)
from .databases import Database, entry_leakage
from .disclosure import disclosures
from .properties import outcome_leakage
from .theorems import Claim, at_least, at_most, equal, holds, theorem


@theorem(
    "PML-Ex-3.11",
    statement="Answering 'more than m of n?' exactly leaks −log P(count > m) by yes and "
    "−log P(count ≤ m) by no, each with a Chernoff bound.",
    source="SaeidianDisclosure",
    conditions="independent people; bounds for m/n ≤ p (yes) and (m+1)/n ≥ p (no)",
    tight=True,
)
def _threshold(rng: Generator) -> Iterator[Claim]:
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


@theorem(
    "PML-Fig-1",
    statement="The Chernoff bound on ℓ(X→1) falls with n and rises with m/n up to p.",
    source="SaeidianDisclosure",
    conditions="m/n < p",
)
def _figure(rng: Generator) -> Iterator[Claim]:
    share = float(rng.uniform(0.2, 0.8))
    a, b = sorted(rng.uniform(0, share, 2))
    yield at_most(chernoff_bound(200, a, share), chernoff_bound(200, b, share), "rises with m/n")
    yield at_most(chernoff_bound(2000, a, share), chernoff_bound(200, a, share), "falls with n")
    yield holds(chernoff_bound(200, share, share) == math.inf, "no bound at p")


@theorem(
    "D-Counting-1",
    statement="One of the two answers to an exact yes-or-no question leaks at least log 2, so no "
    "such "
    "query keeps max_y ℓ(X→y) below the min-entropy of a binary feature.",
    conditions="deterministic answer, both answers possible",
    tight=True,
)
def _yes_no(rng: Generator) -> Iterator[Claim]:
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
    statement="What an answer to 'more than m of n?' tells about one person is largest at the "
    "end of "
    "the range of p where the answer is rarest.",
    conditions="independent people",
)
def _ends(rng: Generator) -> Iterator[Claim]:
    n = int(rng.integers(2, 60))
    m = int(rng.integers(0, n))
    low, high = sorted(rng.uniform(0.02, 0.98, 2))
    for share in rng.uniform(low, high, 4):
        most = person_leakage(n, m, low, True)
        yield at_most(person_leakage(n, m, share, True), most, "yes")
        most = person_leakage(n, m, high, False)
        yield at_most(person_leakage(n, m, share, False), most, "no")


@theorem(
    "PML-Prop-4.6",
    statement="The Laplace mechanism on a fraction leaks at most 1/(nb) − log(1−c+c·e^{1/(nb)}) "
    "about "
    "an entry when p is between c and 1−c.",
    source="SaeidianDisclosure",
    conditions="independent entries, 0 ≤ c < 1/2; the bound is right and tight, the printed "
    "proof not",
    tight=True,
)
def _laplace(rng: Generator) -> Iterator[Claim]:
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


@theorem(
    "PML-Sec-4.1",
    statement="(1−c)/(nb) + c²/(2n²b²) is a weaker form of the bound for the Laplace mechanism.",
    source="SaeidianDisclosure",
    conditions="0 ≤ c < 1/2",
)
def _simple(rng: Generator) -> Iterator[Claim]:
    n, scale = int(rng.integers(1, 200)), float(rng.uniform(0.01, 1.0))
    margin = float(rng.uniform(0, 0.499))
    exact = laplace_count_bound(n, scale, margin)
    yield at_most(exact, laplace_count_simple_bound(n, scale, margin), "weaker")
    yield at_least(exact, 0.0, "non-negative")
