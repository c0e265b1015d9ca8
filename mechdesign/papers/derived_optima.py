"""Optima that none of the four papers states, derived in this project: notebook 16 proves them."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
from numpy.random import Generator

from ..prior import Prior
from .claims import Claims, at_least, at_most, equal, holds, theorem
from .measurements import Array, measure, randomised_response, release_or_draw
from .random_instances import mild_prior, some_level, some_masses
from .sub_convex import best_value, some_values, value_of


@theorem(
    "D-Simplex-PMC",
    statement="Releasing the secret with probability 1 − e^-ε, else a sample of the prior, is best "
    "among ε-PMC mechanisms for every sub-convex utility.",
    conditions="finite alphabets; seven families of utilities, against all vertices",
    tight=True,
)
def _best_under_pmc(rng: Generator) -> Claims:
    prior, level = mild_prior(rng, 2, 4), some_level(rng, 0.1, 1.5)
    p, kernel = prior.probabilities, release_or_draw(prior, level)
    yield equal(measure("pmc", kernel, prior)[0], level, "its level")
    for name, value in some_values(rng, p).items():
        most = best_value(p, math.exp(-level), 1 / prior.pmin, value)
        yield equal(value_of(p, kernel, value), most, name, scale=max(abs(most), 1e-3))


@theorem(
    "D-Simplex-LIP",
    statement="The same mechanism is ε-LIP, and best among those for every sub-convex utility, "
    "exactly from ε = log((1−pmin)/pmin) on.",
    conditions="finite alphabets; seven families of utilities, against all vertices",
    tight=True,
)
def _best_under_lip(rng: Generator) -> Claims:
    prior = mild_prior(rng, 2, 4)
    p, edge = prior.probabilities, math.log((1 - prior.pmin) / prior.pmin)
    level = edge + some_level(rng, 0.05, 1.0)
    kernel = release_or_draw(prior, level)
    yield equal(measure("lip", kernel, prior)[0], level, "its level")
    for name, value in some_values(rng, p).items():
        most = best_value(p, math.exp(-level), math.exp(level), value)
        yield equal(value_of(p, kernel, value), most, name, scale=max(abs(most), 1e-3))
    if edge > 0.05:
        below = 0.95 * edge
        kernel = release_or_draw(prior, below)
        yield holds(measure("lip", kernel, prior)[0] > below + 1e-6, "below it is not ε-LIP")
        kernel = release_or_draw(prior, edge)
        yield equal(measure("lip", kernel, prior)[0], edge, "at the edge both sides are attained")


def _information(kernel: Array, truth: Array) -> Array:
    """J(K) = Σ_y k_y k_yᵀ/(πᵀk_y)."""
    found: Array = (kernel / (truth @ kernel)) @ kernel.T
    return found


@theorem(
    "D-Estimation-Duality",
    statement="For every matrix Z the risk tr J(K)⁻¹ − πᵀπ of frequencies is at least 2 tr Z − "
    "max ‖Zᵀr‖² − πᵀπ over private columns r with πᵀr = 1; subset selection attains it for "
    "uniform truths under LDP. For other truths ‖Zᵀr‖² − λᵀr with λᵀ1 = 0 bounds it as well.",
    conditions="finite alphabets, F = W = I, all extreme columns listed, up to 6 symbols",
    tight=True,
)
def _estimation_duality(rng: Generator) -> Claims:
    n, level = int(rng.integers(3, 7)), some_level(rng, 0.3, 2.0)
    truth = np.full(n, 1 / n)
    e = math.exp(level)
    columns = np.array([1 + (e - 1) * np.array(b) for b in product((0.0, 1.0), repeat=n)]).T
    columns = columns / (truth @ columns)

    def bound(z: Array) -> float:
        most = float(((z.T @ columns) ** 2).sum(axis=0).max())
        return 2 * float(np.trace(z)) - most - float(truth @ truth)

    def risk(kernel: Array) -> float:
        return float(np.trace(np.linalg.inv(_information(kernel, truth)))) - float(truth @ truth)

    own = randomised_response(n, level)
    yield at_least(risk(own), bound(rng.normal(size=(n, n))), "a random Z")
    best, chosen = math.inf, own
    for size in range(1, n):
        subsets = list(combinations(range(n), size))
        kernel = np.ones((n, len(subsets)))
        for y, subset in enumerate(subsets):
            kernel[list(subset), y] = e
        kernel /= kernel.sum(axis=1, keepdims=True)
        closed = (n - 1) ** 2 * (size * e + n - size) ** 2
        closed /= n * (e - 1) ** 2 * size * (n - size)
        yield equal(risk(kernel), closed, f"subsets of {size}", scale=closed)
        if closed < best:
            best, chosen = closed, kernel
    optimal: Array = np.asarray(np.linalg.inv(_information(chosen, truth)), dtype=np.float64)
    yield equal(bound(optimal), best, "Z = J⁻¹ of subset selection", scale=best)
    for share in (0.5, 0.9):
        weaker = np.hstack([share * chosen, np.full((n, 1), 1 - share)])
        yield at_least(risk(weaker), best, "reports that are sometimes empty", scale=best)
    yield at_least(risk(own), best, "randomised response", scale=best)
    # Another truth, where columns have prices.
    truth = some_masses(rng, n)
    columns = columns / (truth @ columns)
    z = np.linalg.inv(_information(own, truth)) + rng.normal(size=(n, n))
    prices = rng.normal(size=n)
    prices -= prices.mean()
    most = float((((z.T @ columns) ** 2).sum(axis=0) - prices @ columns).max())
    found = float(np.trace(np.linalg.inv(_information(own, truth))))
    yield at_least(found, 2 * float(np.trace(z)) - most, "another truth, with prices")


@theorem(
    "D-Window",
    statement="C(l, h), the bound on mutual information under lifts between l and h, is the value "
    "of columns with only these two lifts, h on a mass (1−l)/(h−l); equal masses attain it.",
    conditions="N equal masses with (1−l)/(h−l) = k/N",
    tight=True,
)
def _two_lifts(rng: Generator) -> Claims:
    n = int(rng.integers(2, 7))
    k = int(rng.integers(1, n))
    least = float(rng.uniform(0.1, 0.95))
    most = least + (1 - least) * n / k
    top = (most - 1) * least * math.log(least) + (1 - least) * most * math.log(most)
    closed = top / (most - least)
    subsets = list(combinations(range(n), k))
    kernel = np.full((n, len(subsets)), least / len(subsets))
    for y, subset in enumerate(subsets):
        kernel[list(subset), y] = most / len(subsets)
    prior = Prior.uniform(n)
    levels = measure("alip", kernel, prior)
    yield equal(levels[0], -math.log(least), "lower level")
    yield equal(levels[1], math.log(most), "upper level")
    yield equal(measure("miprivacy", kernel, prior)[0], closed, "windows of k symbols")
    other = mild_prior(rng, 2, 4)
    p = other.probabilities
    found = best_value(p, least, most, some_values(rng, p)["mutual information"])
    yield at_most(found, closed, "any other prior", scale=closed)
