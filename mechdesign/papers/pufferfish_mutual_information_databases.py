"""Pufferfish privacy of databases of real numbers, [NuradhaGoldfeld].

Some rows of the database are real numbers, with a density; what is claimed are closed forms and
integrals over the line, what is found are levels that the library measures on cells of it. A
framework sees a database by the laws of the outcome given its secrets alone.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np
from numpy.random import Generator

from ..mechanism import Mechanism
from ..noise.additive import information_from_approximate, variation_from_information
from ..prior import Prior
from ..privacy import DP, ApproximatePufferfish, MIPufferfish, Pufferfish
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import Array, gaussian_information, mixture_information
from .random_instances import some_level, some_masses

result = partial(theorem, source="NuradhaGoldfeld")


def _normal_cdf(z: Array | float) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


def _laplace_cdf(z: Array | float) -> Array:
    z = np.asarray(z, float)
    return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)


def _on_cells(places: Array, scale: float, edges: Array, laplace: bool = False) -> Array:
    """P(M in each cell), one row for each place that the noise is added to."""
    z = (edges[None, :] - places[:, None]) / scale
    cdf = _laplace_cdf(z) if laplace else _normal_cdf(z)
    ends = np.zeros((len(places), 1)), np.ones((len(places), 1))
    return np.asarray(np.diff(np.hstack([ends[0], cdf, ends[1]]), axis=1))


def _mechanism(rows: Array, labels: list[tuple[int, int]]) -> Mechanism:
    return Mechanism(rows, labels, normalise=True)


def _some_framework(rng: Generator, secrets: int) -> tuple[Prior, Array]:
    """A prior on (private, public), and the place of the query for each of these pairs."""
    labels = [(g, w) for g in range(secrets) for w in (0, 1)]
    prior = Prior.from_counts(some_masses(rng, len(labels)), labels)
    places = np.sort(rng.uniform(-1, 1, len(labels)))
    return prior, places + 0.3 * np.arange(len(labels))


def _private(x: tuple[int, int]) -> int:
    return x[0]


def _public(x: tuple[int, int]) -> int:
    return x[1]


@result(
    "PP-Def-1-General",
    statement="For a query of real rows the level of (ε, δ)-Pufferfish privacy is a supremum over "
    "all measurable events: cells come near from below, and attain it once they split at the ratio "
    "e^ε.",
    conditions="Gaussian and Laplace rows, one or several private values, with and without public "
    "information; the query is released as it is, the rows are its noise",
    tight=True,
    also=("PP-Def-2-General",),
)
def _measurable_events(rng: Generator) -> Claims:
    # X = (bit, Gaussian row): M is their sum, δ(ε) is known.
    apart, level = float(rng.uniform(0.5, 2)), float(rng.uniform(0.1, 1))
    odds = math.exp(level)
    delta = float(_normal_cdf(apart / 2 - level / apart))
    delta -= odds * float(_normal_cdf(-apart / 2 - level / apart))
    even = Prior.uniform([(0, 0), (1, 0)])
    secrets = {"0": [(0, 0)], "1": [(1, 0)]}
    notion = ApproximatePufferfish(1.0, delta, secrets)
    places = np.array([0.0, apart])
    split = apart / 2 + level / apart
    for count in (3, 9, 40):
        edges = np.sort(rng.uniform(-3, 4, count))
        cells = _mechanism(_on_cells(places, 1.0, edges), list(even.labels))
        yield at_most(notion.measure(cells, even)[0], level, f"{count + 1} cells")
    # The other direction has its worst event at the mirrored place.
    edges = np.sort([split, apart - split, *rng.uniform(-3, 4, 5)])
    cells = _mechanism(_on_cells(places, 1.0, edges), list(even.labels))
    yield equal(notion.measure(cells, even)[0], level, "cells that split at the ratio", scale=1.0)
    exact = Pufferfish(1.0, secrets)
    grown = []
    for reach in (2.0, 4.0, 6.0):
        cells = _mechanism(_on_cells(places, 1.0, np.array([-reach, reach])), list(even.labels))
        grown.append(exact.measure(cells, even)[0])
    yield holds(grown[0] < grown[1] < grown[2] and grown[2] > 2 * apart, "δ = 0: no bound")
    # Laplace rows, several secrets, public information: pairs share the public value.
    prior, places = _some_framework(rng, 3)
    scale = float(rng.uniform(0.5, 2))
    edges = np.linspace(places.min() - 0.1, places.max() + 0.1, 7)
    cells = _mechanism(_on_cells(places, scale, edges, laplace=True), list(prior.labels))
    for public in (_public, None):
        framework = Pufferfish.specialised(1.0, prior.labels, [(_private, public)])
        found = framework.measure(cells, prior)[0]
        if public is None:
            yield at_most(found, float(np.ptp(places)) / scale, "no public information")
        else:
            known = np.array([w for _, w in prior.labels])
            claimed = max(float(np.ptp(places[known == w])) for w in (0, 1)) / scale
            yield equal(found, claimed, "given what is public")
            coarse = _mechanism(
                _on_cells(places, scale, edges[2:5], laplace=True), list(prior.labels)
            )
            yield at_most(framework.measure(coarse, prior)[0], claimed, "fewer cells")


@result(
    "PP-Def-3-General",
    statement="For real rows I(g; M | w) is the limit of what cells of the outcome tell, from "
    "below.",
    conditions="Gaussian rows, sets of two priors",
    tight=True,
)
def _information_on_cells(rng: Generator) -> Claims:
    prior, places = _some_framework(rng, 2)
    other = Prior.from_counts(some_masses(rng, len(prior)), prior.labels)
    scale = float(rng.uniform(0.5, 1.5))
    known = np.array([w for _, w in prior.labels])

    def integral(p: Array) -> float:
        total = 0.0
        for w in (0, 1):
            mass = float(p[known == w].sum())
            inside = list(p[known == w] / mass)
            total += mass * mixture_information(list(places[known == w]), inside, scale**2)
        return total

    claimed = max(integral(q.probabilities) for q in (prior, other))
    notion = MIPufferfish.of_functions(
        1.0, prior.labels, [(_private, _public)], priors=[prior, other]
    )
    before = -1.0
    for count in (2, 8, 32, 512):
        edges = np.linspace(places.min() - 5 * scale, places.max() + 5 * scale, count)
        cells = _mechanism(_on_cells(places, scale, edges), list(prior.labels))
        found = notion.measure(cells, prior)[0]
        yield at_most(found, claimed, f"{count + 1} cells", scale=claimed + 1e-6)
        # A cell of width v loses at most about (v/scale)² of the information.
        width = float(edges[1] - edges[0]) / scale
        yield at_least(found, claimed * (1 - width**2), f"{count + 1} cells")
        yield holds(found > before - 1e-9 or count == 8, "finer cells tell more")
        before = found


@result(
    "PP-Rem-1-General",
    statement="Real rows private and the rest public: Pufferfish privacy is differential privacy, "
    "and ε-MI Pufferfish privacy is I(X_i; M | X_-i).",
    conditions="rows on the unit interval with Laplace noise on their mean; Gaussian rows with "
    "Gaussian noise",
    tight=True,
    also=("PP-Rem-2-General",),
)
def _real_rows(rng: Generator) -> Claims:
    n, scale = 2, float(rng.uniform(0.3, 1.5))
    level = 1 / (n * scale)
    inside = np.sort(rng.uniform(0.05, 0.95, 2))
    for values in (inside, np.array([0.0, *inside, 1.0])):
        labels = list(product(values.tolist(), repeat=n))
        means = np.array([sum(row) / n for row in labels])
        prior = Prior.from_counts(some_masses(rng, len(labels)), labels)
        rows = _on_cells(means, scale, np.array([-0.5, 0.5, 1.5]), laplace=True)
        mechanism = Mechanism(rows, labels, normalise=True)
        framework = Pufferfish.specialised(
            1.0, labels, [(_row(i), _rest(i)) for i in range(n)]
        ).measure(mechanism, prior)[0]
        claimed = float(np.ptp(values)) / (n * scale)
        yield equal(framework, claimed, f"{len(values)} values of a row")
        yield equal(DP(1.0, "hamming").measure(mechanism, prior)[0], claimed, "neighbours")
        yield at_most(claimed, level, "values of the interval")
    yield equal(claimed, level, "with its ends")
    # Gaussian rows: given the others the mean varies with one row, told by cells from below.
    spread, noise = float(rng.uniform(0.3, 2)), float(rng.uniform(0.3, 1))
    claimed = gaussian_information(spread / n**2 + noise, noise, 0.0)
    found = [_quantised_row(cells, math.sqrt(spread) / n, math.sqrt(noise)) for cells in (2, 8, 32)]
    for information in found:
        yield at_most(information, claimed, "cells of a row")
    yield holds(found[0] < found[1] < found[2], "finer cells tell more")
    yield at_least(found[2], 0.97 * claimed, "32 cells of a row")


def _row(i: int) -> partial[float]:
    return partial(lambda k, x: x[k], i)


def _rest(i: int) -> partial[tuple[float, ...]]:
    return partial(lambda k, x: (*x[:k], *x[k + 1 :]), i)


def _quantised_row(count: int, deviation: float, noise: float) -> float:
    """I(cell of X; X + noise) as the library measures it, for equally likely Gaussian cells."""
    from scipy.special import ndtri

    each = 60
    ranks = (np.arange(count * each) + 0.5) / (count * each)
    reach = 5 * math.hypot(deviation, noise)
    edges = np.linspace(-reach, reach, 200)
    rows = _on_cells(deviation * ndtri(ranks), noise, edges)
    laws = rows.reshape(count, each, -1).mean(axis=1)
    prior = Prior.uniform(list(range(count)))
    notion = MIPufferfish.of_functions(1.0, prior.labels, [(lambda x: x, None)])
    return notion.measure(Mechanism(laws, prior.labels, normalise=True), prior)[0]


@result(
    "PP-Thm-1-General",
    statement="The implications of Theorem 1 for real rows: ratios bound the information; the "
    "information bounds total variation (corrected, see E8); and (ε, δ) bounds it with |g| + 1 "
    "where outcomes are uncountable, with their number where secrets are.",
    conditions="Laplace and Gaussian rows; a uniform secret on an interval with two outcomes",
    tight=True,
)
def _implications(rng: Generator) -> Claims:
    from scipy.integrate import quad

    places, masses = np.sort(rng.uniform(-1, 1, 3)), some_masses(rng, 3)
    prior = Prior.from_counts(masses)
    scale = float(rng.uniform(0.5, 2))
    level = float(np.ptp(places)) / scale
    edges = np.linspace(places.min() - 8 * scale, places.max() + 8 * scale, 600)
    edges = np.sort([*edges, *places])
    laws = _on_cells(places, scale, edges, laplace=True)
    cells = Mechanism(laws, prior.labels, normalise=True)
    pairs = {str(x): [x] for x in prior.labels}
    yield equal(Pufferfish(1.0, pairs).measure(cells, prior)[0], level, "Laplace rows, ratios")
    notion = MIPufferfish.of_functions(1.0, prior.labels, [(lambda x: x, None)])
    yield at_most(notion.measure(cells, prior)[0], level, "Laplace rows, information")
    # Gaussian rows: total variation is 2Φ(|a − b|/2σ) − 1.
    information = mixture_information(list(places), list(masses), scale**2)
    widest = 0.0
    for a in range(3):
        for b in range(a):
            half = abs(places[a] - places[b]) / (2 * scale)
            found = 2 * float(_normal_cdf(half)) - 1
            widest = max(widest, found)
            bound = variation_from_information(information, masses[a], masses[b])
            yield at_most(found, bound, "Gaussian rows, total variation")
            pair = [float(places[a]), float(places[b])]
            even = mixture_information(pair, [0.5, 0.5], scale**2)
            yield at_most(found, math.sqrt(2 * even), "masses that may be any")
    for odds in (0.0, 0.3):
        # δ of the widest pair at this level, then δ'.
        wide = float(np.ptp(places)) / scale
        delta = float(_normal_cdf(wide / 2 - odds / wide))
        delta -= math.exp(odds) * float(_normal_cdf(-wide / 2 - odds / wide))
        moved = 1 - 2 * (1 - delta) / (math.exp(odds) + 1)
        bound = 2 * _entropy(moved) + 2 * moved * math.log(4)
        yield at_most(information, bound, "Gaussian rows, outcomes without number")
        found = information_from_approximate(odds, delta, 3, 10**9)
        if moved <= 0.5:
            yield equal(found, min(bound, math.log(3)), "the formula with |g| + 1", scale=bound)
        yield at_most(information, found, "as computed")
    yield equal(widest, 2 * float(_normal_cdf(wide / 2)) - 1, "the widest pair")
    # A secret uniform on [0, 1], told by one bit: |M| = 2.
    low, rise = float(rng.uniform(0.1, 0.5)), float(rng.uniform(0.05, 0.4))
    mean = quad(lambda x: _entropy(low + rise * x), 0, 1)[0]
    told = _entropy(low + rise / 2) - mean
    yield at_most(told, 2 * _entropy(rise) + 2 * rise * math.log(2), "secrets without number")


def _entropy(share: float) -> float:
    return -sum(v * math.log(v) for v in (share, 1 - share) if v > 0)


def _grid_information(weights: Array, densities: Array, cell: float) -> float:
    """I(g; M) from densities on a grid, one row for each value of g."""
    flat = densities.reshape(len(weights), -1)
    mean = weights @ flat
    logs = np.where(flat > 1e-200, np.log(np.maximum(flat, 1e-300) / np.maximum(mean, 1e-300)), 0)
    return float(weights @ (flat * logs).sum(axis=1) * cell)


@result(
    "PP-Thm-2-General",
    statement="Convexity, adaptive composition and post-processing of I(g; M | w) for outcomes on "
    "the line.",
    conditions="Gaussian rows; a second mechanism that looks at the sign of the first outcome; "
    "more noise, rounding to whole numbers",
    tight=True,
)
def _properties(rng: Generator) -> Claims:
    masses = some_masses(rng, 3)
    one, two = (np.sort(rng.uniform(-1.5, 1.5, 3)) for _ in range(2))
    y = np.linspace(-9, 9, 361)
    cell = float(y[1] - y[0])

    def normal(places: Array) -> Array:
        found: Array = np.exp(-((y - places[:, None]) ** 2) / 2) / math.sqrt(2 * math.pi)
        return found

    parts = [_grid_information(masses, normal(places), cell) for places in (one, two)]
    share = float(rng.uniform(0.1, 0.9))
    mixed = share * normal(one) + (1 - share) * normal(two)
    most = max(parts)
    yield at_most(_grid_information(masses, mixed, cell), most, "1: a coin", scale=most)
    same = share * normal(one) + (1 - share) * normal(one)
    yield equal(_grid_information(masses, same, cell), parts[0], "1: alike", scale=parts[0])
    # The second outcome is about other places when the first one is positive.
    other = np.sort(rng.uniform(-1.5, 1.5, 3))
    positive = y > 0
    second = np.where(positive[None, :, None], normal(other)[:, None, :], normal(two)[:, None, :])
    both = _grid_information(masses, normal(one)[:, :, None] * second, cell**2)
    # I(g; M2 | M1) with the posterior of g at each first outcome.
    posterior = masses[:, None] * normal(one)
    later = sum(
        float(posterior[:, k].sum())
        * _grid_information(posterior[:, k] / posterior[:, k].sum(), second[:, k, :], cell)
        for k in range(len(y))
        if posterior[:, k].sum() > 1e-14
    )
    yield equal(both, parts[0] + later * cell, "2: chosen by the first outcome", scale=both)
    # Gaussian secret, two outcomes: ½ log(1 + s/a + s/b), in closed form.
    s, a, b = rng.uniform(0.3, 2, 3).tolist()
    left = 1 / (1 / s + 1 / a)
    added = gaussian_information(s + a, a, 0.0) + gaussian_information(left + b, b, 0.0)
    yield equal(0.5 * math.log(1 + s / a + s / b), added, "2: a Gaussian secret")
    # More noise, and rounding to a whole number, of which there are infinitely many.
    own = mixture_information(list(one), list(masses), 1.0)
    yield equal(own, parts[0], "3: no processing", scale=own)
    noisier = mixture_information(list(one), list(masses), 1.0 + some_level(rng))
    yield at_most(noisier, own, "3: more noise", scale=own)
    rows = _on_cells(one, 1.0, np.arange(-9, 10, dtype=np.float64) + 0.5)
    prior = Prior.from_counts(masses)
    notion = MIPufferfish.of_functions(1.0, prior.labels, [(lambda x: x, None)])
    rounded = notion.measure(Mechanism(rows, prior.labels, normalise=True), prior)[0]
    yield at_most(rounded, own, "3: rounded", scale=own)
