"""Properties that PML and PMC share, each checked for either: PMC with ``risk_averse``."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..theory._composition import additivity, composition
from ..theory.leakage import (
    TwoSides,
    outcome_leakage,
    post_processing,
    pre_processing,
    prior_curvature,
)
from .claims import Claims, at_least, at_most, equal, holds
from .random_instances import (
    another_prior,
    some_feature,
    some_kernel,
    some_masses,
    some_mechanism,
    some_prior,
)


def both_sides(found: TwoSides, about: str) -> Claims:
    """Both sides of a property, entry by entry."""
    compare = {"<=": at_most, ">=": at_least, "==": equal}[found.relation]
    least = math.inf
    for left, right in zip(found.left.ravel(), found.right.ravel(), strict=True):
        yield compare(float(left), float(right), about)
        apart = float(right - left) if left != right else 0.0
        least = min(least, {"<=": apart, ">=": -apart, "==": -abs(apart)}[found.relation])
    yield equal(found.room, least, f"{about}, its room", scale=1.0)


def non_negative(rng: Generator, risk_averse: bool) -> Claims:
    """Leakage is the largest lift or its inverse, and never negative."""
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    lift = mechanism.posterior(prior) / prior.probabilities[:, None]
    direct = np.log(1 / lift.min(axis=0) if risk_averse else lift.max(axis=0))
    found = outcome_leakage(mechanism, prior, risk_averse=risk_averse)
    for own, other in zip(found, direct, strict=True):
        yield equal(float(own), float(other), "largest lift or its inverse", scale=1.0)
        yield at_least(float(own), 0.0, "non-negative")


def zero_when_independent(rng: Generator, risk_averse: bool) -> Claims:
    """Nothing leaks when X and Y are independent."""
    prior = some_prior(rng)
    row = some_masses(rng, 3)
    constant = Mechanism(np.tile(row, (len(prior), 1)), prior.labels)
    found = outcome_leakage(constant, prior, risk_averse=risk_averse)
    yield equal(float(found.max()), 0.0, "independent", scale=1.0)
    found = outcome_leakage(some_mechanism(rng, prior), prior, risk_averse=risk_averse)
    yield holds(float(found.max()) > 1e-6, "a control: not independent")


def additive(rng: Generator, risk_averse: bool) -> Claims:
    """Independent secrets, released independently: leakages add up."""
    parts = []
    for _ in range(int(rng.integers(2, 4))):
        prior = some_prior(rng, 2)
        parts.append((some_mechanism(rng, prior, 2), prior))
    yield from both_sides(additivity(parts, risk_averse=risk_averse), "product")


def curved_in_the_prior(rng: Generator, risk_averse: bool) -> Claims:
    """PMC is concave in the prior, PML convex among priors of one support."""
    first = some_prior(rng)
    second, mechanism = another_prior(rng, first), some_mechanism(rng, first)
    for share in (0.0, float(rng.uniform()), 1.0):
        found = prior_curvature(mechanism, first, second, share, risk_averse=risk_averse)
        yield from both_sides(found, f"share {share}")


def pre_processed(rng: Generator, risk_averse: bool) -> Claims:
    """A feature leaks no more than the secret."""
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior)
    feature = some_feature(rng, prior)
    yield from both_sides(
        pre_processing(mechanism, prior, feature, risk_averse=risk_averse), "feature"
    )
    itself = Mechanism(np.eye(len(prior)), prior.labels)
    found = pre_processing(mechanism, prior, itself, risk_averse=risk_averse)
    for left, right in zip(found.left, found.right, strict=True):
        yield equal(float(left), float(right), "the secret itself", scale=1.0)


def post_processed(rng: Generator, risk_averse: bool) -> Claims:
    """Processing an outcome leaks no more than the outcome."""
    prior = some_prior(rng)
    mechanism = some_mechanism(rng, prior, 3)
    channel = Mechanism(some_kernel(rng, 3, 3, zeros=True), mechanism.outputs)
    found = post_processing(mechanism, channel, prior, risk_averse=risk_averse)
    yield from both_sides(found, "each outcome")
    most = float(outcome_leakage(mechanism, prior, risk_averse=risk_averse).max())
    yield at_most(float(found.left.max()), most, "the largest")
    same = Mechanism(np.eye(3), mechanism.outputs)
    after = outcome_leakage(mechanism @ same, prior, risk_averse=risk_averse)
    yield equal(float(after.max()), most, "no processing", scale=1.0)


def composed(rng: Generator, risk_averse: bool) -> Claims:
    """Two outcomes leak at most the first, and the second given the first."""
    prior = some_prior(rng)
    first = some_mechanism(rng, prior, 3)
    then = {label: some_mechanism(rng, prior) for label in first.outputs}
    found = composition(first, then, prior, risk_averse=risk_averse)
    yield from both_sides(found, "adaptive")
    # The joint leakage from the definition, P(x|y1,y2)/P(x).
    p, place = prior.probabilities, 0
    for y, label in enumerate(first.outputs):
        for z in range(then[label].shape[1]):
            joint = p * first.kernel[:, y] * then[label].kernel[:, z]
            lift = joint / joint.sum() / p
            direct = -math.log(lift.min()) if risk_averse else math.log(lift.max())
            yield equal(float(found.left[place]), direct, "joint leakage", scale=1.0)
            place += 1
    same = composition(first, first, prior, risk_averse=risk_averse)
    # The symbol that is worst at first is so again: equality for two runs of one kernel.
    yield equal(float(same.left[0]), float(same.right[0]), "the same outcome twice", scale=1.0)
