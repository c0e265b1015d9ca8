"""Disclosure prevention with infinitely many outcomes, [SaeidianDisclosure].

The secret is finite, outcomes are 0, 1, 2, … or the real line. An outcome enters by its column of
likelihoods alone, up to a factor, and suprema over outcomes are those of a limit of columns: what
no outcome attains, a disclosure for instance, shows there and nowhere else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.features import feature
from ..theory.databases import (
    Database,
    conditional_leakage,
    dp_as_pml,
    dp_level,
    entry_leakage,
    free_lunch_as_pml,
    free_lunch_level,
)
from ..theory.disclosure import (
    cheapest_disclosure,
    easier_feature,
    leakage_capacity,
    least_uncertainty,
    uncertainty_bound,
)
from ..theory.leakage import feature_entropy, feature_posterior, outcome_leakage
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import Array
from .random_instances import another_prior, some_feature, some_masses, some_prior

result = partial(theorem, source="SaeidianDisclosure")

#: Outcomes that are looked at; the limit is beyond all of them.
_OUTCOMES = (0, 100, 1000, 10_000, 30_000)
_FAR = 600_000


@dataclass(frozen=True)
class _Endless:
    """P(y|x) = u_x(1−a)a^y + (1−u_x)(1−b)b^y on y = 0, 1, 2, … with a > b.

    Attributes
    ----------
    slow, fast : a and b
    shares : u_x; where it is zero for some symbols and not for others, late outcomes tell them
        apart as well as one likes
    """

    slow: float
    fast: float
    shares: Array

    def column(self, outcome: float) -> Array:
        """P(y|x) over a^y, also in the limit of late outcomes, at infinity."""
        fading = (self.fast / self.slow) ** outcome
        found: Array = self.shares * (1 - self.slow) + (1 - self.shares) * (1 - self.fast) * fading
        return found

    def at(self, outcome: float, prior: Prior) -> Mechanism:
        """A mechanism of two outcomes, the first with this column up to a factor."""
        return _with_column(self.column(outcome), prior.labels)


def _with_column(column: Array, labels: tuple[object, ...]) -> Mechanism:
    # A second outcome that leaks next to nothing.
    first = column / column.max() / 128
    return Mechanism(np.column_stack([first, 1 - first]), labels)


def _some_endless(rng: Generator, prior: Prior, silent: list[int]) -> _Endless:
    shares = rng.uniform(0.3, 0.9, len(prior))
    shares[silent] = 0.0
    # Rates so near that the first outcomes leak less than any limit.
    slow = float(rng.uniform(0.3, 0.8))
    return _Endless(slow, slow * (1 - 1e-4), shares)


def _some_part(rng: Generator, prior: Prior) -> list[int]:
    """Some symbols, and not all."""
    size = int(rng.integers(1, len(prior)))
    return sorted(rng.permutation(len(prior))[:size].tolist())


def _missed(mechanism: Mechanism, prior: Prior, channel: Mechanism, value: int) -> float:
    """P(U ≠ value | first outcome), summed from the other values, so that no digit is lost."""
    joint = prior.probabilities * mechanism.kernel[:, 0]
    posterior = joint / joint.sum() @ channel.kernel
    return float(np.delete(posterior, value).sum())


def _left(mechanism: Mechanism, prior: Prior, channel: Mechanism) -> float:
    """H∞(U | first outcome)."""
    return -math.log(min(1.0, float(feature_posterior(mechanism, prior, channel)[:, 0].max())))


def _leaked(mechanism: Mechanism, prior: Prior) -> float:
    return float(outcome_leakage(mechanism, prior)[0])


def _likely_part(rng: Generator, prior: Prior) -> list[int]:
    """Symbols to be silent about: the others have at least half of the mass."""
    part = _some_part(rng, prior)
    if prior.probabilities[part].sum() > 0.5:
        part = sorted(set(range(len(prior))) - set(part))
    return part


def _event(prior: Prior, part: list[int]) -> Mechanism:
    """Whether the secret is outside of a part."""
    return feature(prior, [x for k, x in enumerate(prior.labels) if k not in part])


@result(
    "PML-Thm-3.4-General",
    statement="Disclosure is an infimum over outcomes, which none need attain: what one adversary "
    "misses, others with the same support miss to at most max(q/p)/min(q/p) times as much.",
    conditions="finite secrets, infinitely many outcomes",
    tight=True,
    also=("PML-Def-3.3-General",),
)
def _ubiquity(rng: Generator) -> Claims:
    prior = some_prior(rng)
    part = _some_part(rng, prior)
    endless, event = _some_endless(rng, prior, part), _event(prior, part)
    other = another_prior(rng, prior)
    odds = other.probabilities / prior.probabilities
    most = float(odds.max() / odds.min())
    some = some_feature(rng, prior)
    for y in _OUTCOMES:
        mechanism = endless.at(y, prior)
        for channel in (event, some):
            for value in range(channel.shape[1]):
                mine, theirs = (_missed(mechanism, q, channel, value) for q in (prior, other))
                yield at_most(theirs, most * mine, f"outcome {y}", scale=most * mine + 1e-12)
        yield holds(_missed(mechanism, prior, event, _yes(event)) > 0, "no outcome attains it")
    late = endless.at(math.inf, prior)
    for q in (prior, other):
        yield equal(_left(late, q, event), 0.0, "the infimum, for every adversary", scale=1.0)
    # The worst odds: one on the part, another on the rest.
    ratio = float(rng.uniform(1.5, 4))
    skewed = prior.probabilities * np.where(np.isin(np.arange(len(prior)), part), ratio, 1.0)
    mechanism = endless.at(_FAR, prior)
    value = _yes(event)
    mine = _missed(mechanism, prior, event, value)
    theirs = _missed(mechanism, Prior.from_counts(skewed, prior.labels), event, value)
    yield at_most(abs(theirs / mine - ratio), 1e-6, "attained in the limit", scale=0.0)
    yield at_most(theirs / mine, ratio, "attained in the limit")


def _yes(event: Mechanism) -> int:
    return event.outputs.index(True)


@result(
    "PML-Thm-3.5-General",
    statement="With infinitely many outcomes as well ε-PML leaves H∞(U|Y=y) ≥ H∞(U) − ε; at H∞(U) "
    "= ε a feature may be disclosed, or the secret singled out, though no outcome settles it.",
    conditions="finite secrets, infinitely many outcomes, ε the supremum that none attains",
    tight=True,
    also=("PML-Def-3.9-General", "PML-Cor-3.10-General"),
)
def _prevention(rng: Generator) -> Claims:
    prior = some_prior(rng)
    endless = _some_endless(rng, prior, [])
    late = endless.at(math.inf, prior)
    level = max(_leaked(late, prior), *(_leaked(endless.at(y, prior), prior) for y in _OUTCOMES))
    itself = feature(prior, lambda symbol: symbol)
    for channel in (some_feature(rng, prior), itself):
        bound = feature_entropy(prior, channel) - level
        for y in (*_OUTCOMES, math.inf):
            yield at_least(_left(endless.at(y, prior), prior, channel), bound, f"outcome {y}")
    # Silent about a part of at most half of the mass, and else about nothing.
    part = _likely_part(rng, prior)
    even = _Endless(endless.slow, endless.fast, np.where(_inside(prior, part), 0.0, 0.5))
    event = _event(prior, part)
    level = _leaked(even.at(math.inf, prior), prior)
    yield equal(level, feature_entropy(prior, event), "ε of a likely event, in the limit")
    yield equal(_left(even.at(math.inf, prior), prior, event), 0.0, "it is disclosed", scale=1.0)
    for y in _OUTCOMES:
        mechanism = even.at(y, prior)
        yield holds(_leaked(mechanism, prior) < level, "no outcome has that level")
        yield holds(_missed(mechanism, prior, event, _yes(event)) > 0, "none settles the event")
    # The same with all but the likeliest symbol singles it out at H∞(X).
    top = int(prior.probabilities.argmax())
    rest = [k for k in range(len(prior)) if k != top]
    single = _Endless(endless.slow, endless.fast, np.where(_inside(prior, rest), 0.0, 0.5))
    late = single.at(math.inf, prior)
    yield equal(_leaked(late, prior), prior.min_entropy(), "ε of singling out, in the limit")
    yield equal(_left(late, prior, itself), 0.0, "it is singled out", scale=1.0)


def _inside(prior: Prior, part: list[int]) -> NDArray[np.bool_]:
    return np.isin(np.arange(len(prior)), part)


@result(
    "PML-Prop-3.6-General",
    statement="With a feature that late outcomes disclose, another one of lower min-entropy is "
    "disclosed, by the same outcomes in the limit.",
    conditions="finite secrets, infinitely many outcomes, H∞(U) > 0 (missing in print)",
    tight=True,
)
def _easier(rng: Generator) -> Claims:
    prior = some_prior(rng)
    part = _some_part(rng, prior)
    endless, event = _some_endless(rng, prior, part), _event(prior, part)
    lower = easier_feature(prior, event, True)
    gap = feature_entropy(prior, event) - feature_entropy(prior, lower)
    yield holds(gap > 0, "lower entropy")
    late = endless.at(math.inf, prior)
    yield equal(_left(late, prior, lower), 0.0, "disclosed in the limit", scale=1.0)
    value = int(feature_posterior(late, prior, lower)[:, 0].argmax())
    for y in _OUTCOMES:
        mechanism = endless.at(y, prior)
        missed = _missed(mechanism, prior, lower, value)
        yield at_most(missed, _missed(mechanism, prior, event, _yes(event)), "missed more rarely")
        yield holds(missed > 0, "no outcome settles it")


@result(
    "PML-Thm-3.7-General",
    statement="The leakage capacity is a supremum over outcomes and priors; when it is finite no "
    "non-constant feature is disclosed, and the bound on what is left holds at every outcome.",
    conditions="finite secrets, infinitely many outcomes, the capacity attained by none",
    tight=True,
    also=("PML-Def-2.7-General", "PML-Thm-2.8-General"),
)
def _absolute(rng: Generator) -> Claims:
    prior = some_prior(rng)
    endless = _some_endless(rng, prior, [])
    late = endless.column(math.inf)
    capacity = math.log(float(late.max() / late.min()))
    bound = uncertainty_bound(prior, capacity)
    before = 0.0
    for y in (*_OUTCOMES, math.inf):
        mechanism = endless.at(y, prior)
        column = mechanism.kernel[:, 0]
        ratio = math.log(float(column.max() / column.min()))
        yield at_most(ratio, capacity, f"outcome {y}")
        yield holds(ratio > before or y == 0, "rises with the outcomes")
        before = ratio
        yield at_most(_leaked(mechanism, another_prior(rng, prior)), capacity, "a random prior")
        yield at_least(least_uncertainty(mechanism, prior), bound, f"what outcome {y} leaves")
    masses = np.full(len(prior), 1e-13)
    masses[late.argmin()] = 1.0
    near = Prior.from_counts(masses, prior.labels)
    yield at_least(_leaked(endless.at(_FAR, prior), near), capacity, "a late outcome, a prior")
    yield equal(leakage_capacity(endless.at(math.inf, prior)), capacity, "in the limit")
    # Two likelihoods, the smaller one at the least likely symbol.
    shares = np.full(len(prior), 0.8)
    shares[prior.probabilities.argmin()] = 0.3
    worst = _Endless(endless.slow, endless.fast, shares)
    attained = uncertainty_bound(prior, math.log(0.8 / 0.3))
    found = least_uncertainty(worst.at(math.inf, prior), prior)
    yield equal(found, attained, "attained in the limit", scale=attained)


@result(
    "PML-Prop-3.8-General",
    statement="Infinite capacity takes PML of log 1/(1−pmin) in the supremum; at that level a "
    "mechanism may disclose X ≠ x_min, though every outcome leaks less.",
    conditions="finite secrets, infinitely many outcomes",
    tight=True,
)
def _cheapest(rng: Generator) -> Claims:
    prior = some_prior(rng)
    threshold = -math.log1p(-prior.pmin)
    part = _some_part(rng, prior)
    endless = _some_endless(rng, prior, part)
    yield at_least(_leaked(endless.at(math.inf, prior), prior), threshold, "infinite capacity")
    for y in _OUTCOMES:
        column = endless.at(y, prior).kernel[:, 0]
        yield holds(bool((column > 0).all()), "of finite ratios at every outcome")
    rarest = [int(prior.probabilities.argmin())]
    shares = np.where(_inside(prior, rarest), 0.0, 0.5)
    made = _Endless(endless.slow, endless.fast, shares)
    event = cheapest_disclosure(prior).feature
    levels = [_leaked(made.at(y, prior), prior) for y in _OUTCOMES]
    for level in levels:
        yield holds(level < threshold, "an outcome leaks less")
    late = made.at(math.inf, prior)
    yield equal(_leaked(late, prior), threshold, "the supremum")
    yield equal(_left(late, prior, event), 0.0, "X ≠ x_min is disclosed", scale=1.0)


def _logistic(y: float, scale: float) -> float:
    """The logarithm of the density of logistic noise, up to a constant."""
    return -abs(y) / scale - 2 * math.log1p(math.exp(-abs(y) / scale))


@result(
    "PML-Thm-4.2-General",
    statement="Differential and free-lunch privacy are suprema over outcomes as well: of logistic "
    "noise on a count, which attains neither level, they are the suprema of PML that Theorems 4.2 "
    "and 4.5 say.",
    conditions="finite databases, outcomes on the real line",
    tight=True,
    also=(
        "PML-Def-4.1-General",
        "PML-Def-4.4-General",
        "PML-Thm-4.5-General",
    ),
)
def _on_the_line(rng: Generator) -> Claims:
    scale, n = float(rng.uniform(0.6, 2)), int(rng.integers(2, 4))
    database = Database(some_masses(rng, 2**n).reshape((2,) * n))
    independent = Database.independent(
        [Prior.from_counts(some_masses(rng, 2)) for _ in range(n)],
    )
    counts = np.array([sum(row) for row in database.prior.labels])
    levels = {dp_as_pml: 1 / scale, free_lunch_as_pml: n / scale}
    for y in (1.0, 6.0, 40 * scale + n):
        logs = np.array([_logistic(y - count, scale) for count in counts])
        mechanism = _with_column(np.exp(logs - logs.max()), database.prior.labels)
        for prior in (database, independent):
            found = outcome_leakage(mechanism, prior.prior)[0]
            yield at_most(float(found), n / scale, f"about the database, y = {y:.3g}")
            found = conditional_leakage(mechanism, prior).max()
            yield at_most(float(found), 1 / scale, f"about an entry, given the others, y = {y:.3g}")
        found = entry_leakage(mechanism, independent).max()
        yield at_most(float(found), 1 / scale, f"about an independent entry, y = {y:.3g}")
        steps = dp_level(mechanism, database), free_lunch_level(mechanism, database)
        for step, (as_pml, level) in zip(steps, levels.items(), strict=True):
            yield at_most(step, level, f"ratios at y = {y:.3g}")
            yield holds(y > 20 or step < level - 1e-12, "no outcome attains it")
            for near in as_pml(mechanism, database, 1e-11).approaches:
                yield at_most(near.leakage, level, near.statement)
                if y > 20:
                    yield at_least(near.leakage, level, f"{near.statement}, far out")
