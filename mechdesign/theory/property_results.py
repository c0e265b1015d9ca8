"""Results about properties of PML and PMC, and about composition, with their checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import LDP, PMC, PML
from .accounting import account, account_product, repeated
from .draws import some_feature, some_kernel, some_masses, some_mechanism, some_prior
from .observation import condition, quiet_prior
from .properties import (
    TwoSides,
    adaptive,
    additivity,
    composition,
    conditional_outcome_leakage,
    expected_exponential,
    outcome_leakage,
    post_processing,
    pre_processing,
    prior_curvature,
)
from .theorems import Claim, at_least, at_most, equal, holds, theorem

Check = Callable[[Generator], Iterator[Claim]]


def _sides(found: TwoSides, about: str) -> Iterator[Claim]:
    compare = {"<=": at_most, ">=": at_least, "==": equal}[found.relation]
    for left, right in zip(found.left.ravel(), found.right.ravel(), strict=True):
        yield compare(float(left), float(right), about)


def _another(rng: Generator, prior: Prior) -> Prior:
    return Prior.from_counts(some_masses(rng, len(prior)), prior.labels)


def _both(
    number: str,
    counterpart: str,
    statement: str,
    check: Callable[[Generator, bool], Iterator[Claim]],
    *,
    conditions: str = "finite alphabets",
    tight: bool = False,
    also: tuple[str, ...] = (),
) -> None:
    """Register a property for PMC, and its counterpart for PML."""

    def cost(rng: Generator) -> Iterator[Claim]:
        yield from check(rng, True)

    def gain(rng: Generator) -> Iterator[Claim]:
        yield from check(rng, False)

    theorem(
        f"PMC-Lem-1.{number}",
        statement=statement.format("Λ"),
        source="SaeidianPMC",
        conditions=conditions,
        tight=tight,
        also=also,
    )(cost)
    theorem(
        counterpart,
        statement=statement.format("ℓ"),
        source="" if counterpart.startswith("D-") else "Saeidian2023PML",
        conditions=conditions,
        tight=tight,
    )(gain)


def _non_negative(rng: Generator, averse: bool) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    lift = mechanism.posterior(prior) / prior.probabilities[:, None]
    direct = np.log(1 / lift.min(axis=0) if averse else lift.max(axis=0))
    found = outcome_leakage(mechanism, prior, risk_averse=averse)
    for own, other in zip(found, direct, strict=True):
        yield equal(float(own), float(other), "largest lift or its inverse", scale=1.0)
        yield at_least(float(own), 0.0, "non-negative")


def _independent(rng: Generator, averse: bool) -> Iterator[Claim]:
    prior = some_prior(rng)
    row = some_masses(rng, 3)
    constant = Mechanism(np.tile(row, (len(prior), 1)), prior.labels)
    found = outcome_leakage(constant, prior, risk_averse=averse)
    yield equal(float(found.max()), 0.0, "independent", scale=1.0)
    found = outcome_leakage(some_mechanism(rng, prior), prior, risk_averse=averse)
    yield holds(float(found.max()) > 1e-6, "a control: not independent")


def _additive(rng: Generator, averse: bool) -> Iterator[Claim]:
    parts = []
    for _ in range(int(rng.integers(2, 4))):
        prior = some_prior(rng, 2)
        parts.append((some_mechanism(rng, prior, 2), prior))
    yield from _sides(additivity(parts, risk_averse=averse), "product")


def _curved(rng: Generator, averse: bool) -> Iterator[Claim]:
    first = some_prior(rng)
    second, mechanism = _another(rng, first), some_mechanism(rng, first)
    for share in (0.0, float(rng.uniform()), 1.0):
        found = prior_curvature(mechanism, first, second, share, risk_averse=averse)
        yield from _sides(found, f"share {share}")


def _pre(rng: Generator, averse: bool) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    feature = some_feature(rng, prior)
    yield from _sides(pre_processing(mechanism, prior, feature, risk_averse=averse), "feature")
    itself = Mechanism(np.eye(len(prior)), prior.labels)
    found = pre_processing(mechanism, prior, itself, risk_averse=averse)
    for left, right in zip(found.left, found.right, strict=True):
        yield equal(float(left), float(right), "the secret itself", scale=1.0)


def _post(rng: Generator, averse: bool) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior, 3)
    channel = Mechanism(some_kernel(rng, 3, 3, zeros=True), mechanism.outputs)
    found = post_processing(mechanism, channel, prior, risk_averse=averse)
    yield from _sides(found, "each outcome")
    most = float(outcome_leakage(mechanism, prior, risk_averse=averse).max())
    yield at_most(float(found.left.max()), most, "the largest")
    same = Mechanism(np.eye(3), mechanism.outputs)
    after = outcome_leakage(mechanism @ same, prior, risk_averse=averse)
    yield equal(float(after.max()), most, "no processing", scale=1.0)


def _composed(rng: Generator, averse: bool) -> Iterator[Claim]:
    prior = some_prior(rng)
    first = some_mechanism(rng, prior, 3)
    then = {label: some_mechanism(rng, prior) for label in first.outputs}
    found = composition(first, then, prior, risk_averse=averse)
    yield from _sides(found, "adaptive")
    # The joint leakage from the definition, P(x|y1,y2)/P(x).
    p, place = prior.probabilities, 0
    for y, label in enumerate(first.outputs):
        for z in range(then[label].shape[1]):
            joint = p * first.kernel[:, y] * then[label].kernel[:, z]
            lift = joint / joint.sum() / p
            direct = -math.log(lift.min()) if averse else math.log(lift.max())
            yield equal(float(found.left[place]), direct, "joint leakage", scale=1.0)
            place += 1
    same = composition(first, first, prior, risk_averse=averse)
    # The symbol that is worst at first is so again: equality for two runs of one kernel.
    yield equal(float(same.left[0]), float(same.right[0]), "the same outcome twice", scale=1.0)


_both(
    "1",
    "PML-Sec-2.3.3",
    "{0}(X→y) ≥ 0: no outcome is worth less than nothing to the best adversary.",
    _non_negative,
)
_both(
    "2",
    "D-PML-1",
    "{0}(X→Y) = 0 when X and Y are independent.",
    _independent,
    tight=True,
)
_both(
    "3",
    "D-PML-2",
    "{0} of independent secrets, released independently, is the sum of the parts.",
    _additive,
    conditions="finite alphabets, product prior and product mechanism",
    tight=True,
)
_both(
    "5",
    "PML-Sec-2.3.4",
    "{0}(Z→y) ≤ {0}(X→y) for a feature Z of X.",
    _pre,
    tight=True,
    also=("PMC-Rem-2", "ID-Rem-1"),
)
_both(
    "6",
    "PML-Sec-2.3.5",
    "Post-processing: max_z {0}(X→z) ≤ max_y {0}(X→y), and outcome by outcome.",
    _post,
    tight=True,
)
_both(
    "7",
    "PML-Sec-2.3.6",
    "{0}(X→y1,y2) ≤ {0}(X→y1) + {0}(X→y2|y1), with equality when one symbol is worst in both.",
    _composed,
    tight=True,
)


@theorem(
    "PMC-Lem-1.4",
    statement="Λ(X→y) is concave in the prior, whatever the supports.",
    source="SaeidianPMC",
    tight=True,
)
def _concave(rng: Generator) -> Iterator[Claim]:
    yield from _curved(rng, True)
    first, second, mechanism = _crossing(rng)
    found = prior_curvature(mechanism, first, second, 0.5, risk_averse=True)
    yield from _sides(found, "different supports")


@theorem(
    "D-Prior-1",
    statement="ℓ(X→y) is convex in the prior among priors of one support; across supports it "
    "need not "
    "be.",
    conditions="finite alphabets",
    tight=True,
)
def _convex(rng: Generator) -> Iterator[Claim]:
    yield from _curved(rng, False)
    # Each prior rules out a symbol; their mixture does not, and leaks more than either.
    first, second, mechanism = _crossing(rng)
    found = prior_curvature(mechanism, first, second, 0.5)
    yield holds(found.room < -1e-3, "different supports: not convex")


def _crossing(rng: Generator) -> tuple[Prior, Prior, Mechanism]:
    """Priors on {0, 1} and on {2}, and a mechanism that tells symbol 2 from the others."""
    share = float(rng.uniform(0.3, 0.7))
    first = quiet_prior([share, 1 - share, 0], (0, 1, 2))
    second = quiet_prior([0, 0, 1], (0, 1, 2))
    low = rng.uniform(0.05, 0.2)
    column = np.array([low, low, 0.9])
    return first, second, Mechanism(np.column_stack([column, 1 - column]))


@theorem(
    "D-Conditional-1",
    statement="Conditional PML and PMC have the same properties under P(X|Z=z): non-negative, zero "
    "under independence, closed under pre- and post-processing.",
    conditions="finite alphabets, P(Z=z) > 0",
)
def _conditional(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    side = some_mechanism(rng, prior, 2)
    by_fact = {z: some_mechanism(rng, prior, 3) for z in side.outputs}
    z = side.outputs[int(rng.integers(2))]
    known = condition(prior, side, z)
    for averse in (False, True):
        found = conditional_outcome_leakage(by_fact, prior, side, z, risk_averse=averse)
        yield at_least(float(found.min()), 0.0, "non-negative")
        feature = some_feature(rng, prior)
        yield from _sides(
            pre_processing(by_fact[z], known, feature, risk_averse=averse), "pre-processing"
        )
        channel = Mechanism(some_kernel(rng, 3, 2), by_fact[z].outputs)
        yield from _sides(
            post_processing(by_fact[z], channel, known, risk_averse=averse), "post-processing"
        )
        lift = by_fact[z].posterior(known) / known.probabilities[:, None]
        direct = -np.log(lift.min(axis=0)) if averse else np.log(lift.max(axis=0))
        yield at_most(float(np.abs(found - direct).max()), 0.0, "from the posterior")


@theorem(
    "D-Averages-1",
    statement="Maximal leakage is log E[e^ℓ(X→Y)], maximal cost leakage −log E[e^−Λ(X→Y)].",
    conditions="finite alphabets",
    tight=True,
)
def _averages(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    up, down = expected_exponential(mechanism, prior)
    yield equal(up, math.log(mechanism.kernel.max(axis=0).sum()), "maximal leakage", scale=1.0)
    low = -math.log(mechanism.kernel.min(axis=0).sum())
    yield equal(down, low, "maximal cost leakage", scale=1.0)


@theorem(
    "D-Composition-1",
    statement="Reports about one secret leak at most one level plus the leakage capacities of the "
    "others, in PML and in PMC; LDP levels add up.",
    conditions="finite alphabets, independent reports",
)
def _bounded(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    mechanisms = [some_mechanism(rng, prior, 2) for _ in range(int(rng.integers(2, 4)))]
    for notion in (PML, PMC, LDP):
        found = account(mechanisms, prior, notion)
        yield at_most(found.level, found.bound, notion.__name__)
        measured = notion(1.0).measure(found.mechanism, prior)[0]
        yield equal(found.level, measured, f"{notion.__name__}, measured afresh", scale=1.0)


@theorem(
    "D-Composition-2",
    statement="PML and PMC levels do not add up: two independent reports may leak more about one "
    "secret than the sum of their levels.",
    conditions="counterexamples for every instance",
)
def _no_sum(rng: Generator) -> Iterator[Claim]:
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
def _products(rng: Generator) -> Iterator[Claim]:
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
def _counts(rng: Generator) -> Iterator[Claim]:
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
    conditions="finite alphabets",
    tight=True,
)
def _adaptive(rng: Generator) -> Iterator[Claim]:
    prior = some_prior(rng)
    first = some_mechanism(rng, prior, 2)
    then = {label: some_mechanism(rng, prior, 2) for label in first.outputs}
    both = adaptive(first, then)
    for j, (y, z) in enumerate(both.outputs):
        expected = first.kernel[0, first.outputs.index(y)] * then[y].kernel[0, z]
        yield equal(float(both.kernel[0, j]), float(expected), "entry", scale=1.0)
