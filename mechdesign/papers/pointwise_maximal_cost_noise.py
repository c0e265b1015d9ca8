"""Pointwise maximal cost of noise, [SaeidianPMC]: Remark 4, Examples 5 and 6.

What is claimed are the printed formulas, what is found comes from ``mechdesign.noise`` and from
plain sums and integrals.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np
from numpy.random import Generator

from ..noise.bounded import GaussianNoise, LaplaceMean
from ..noise.law import Law
from .claims import Claims, at_least, at_most, equal, theorem
from .random_instances import some_masses

result = partial(theorem, source="SaeidianPMC")


@result(
    "PMC-Rem-4",
    statement="With densities Λ(X→y) = log sup f_X(x)/f_X|Y(x|y) = log sup f_Y(y)/f_Y|X(y|x).",
    conditions="secrets with a density on an interval, Laplace and Gaussian noise; that y ↦ Λ is "
    "measurable is not checked",
    tight=True,
)
def _densities(rng: Generator) -> Claims:
    from scipy.integrate import quad

    low, high = sorted(rng.uniform(-1, 1, 2).tolist())
    high += 0.3
    scale, y = float(rng.uniform(0.3, 1.5)), float(rng.uniform(-2, 2))
    law = Law.uniform(low, high)

    def laplace(x: float) -> float:
        return math.exp(-abs(y - x) / scale) / (2 * scale)

    def gaussian(x: float) -> float:
        return math.exp(-((y - x) ** 2) / (2 * scale**2)) / (scale * math.sqrt(2 * math.pi))

    middle = [y] if low < y < high else None
    for likelihood, found, name in (
        (laplace, LaplaceMean(law, 1, scale).pmc(y), "Laplace"),
        (gaussian, GaussianNoise(law, scale).pmc(y), "Gaussian"),
    ):
        density = quad(likelihood, low, high, points=middle)[0] / (high - low)
        ends = min(likelihood(low), likelihood(high))
        yield equal(float(found), math.log(density / ends), f"{name}: f_Y/f_Y|X", scale=1.0)
        grid = np.linspace(low, high, 201)
        posterior = np.array([likelihood(x) for x in grid]) / density / (high - low)
        ratio = float((1 / (high - low) / posterior).max())
        yield equal(float(found), math.log(ratio), f"{name}: f_X/f_X|Y", scale=1.0)


@result(
    "PMC-Ex-5",
    statement="The mean of n independent entries on [c, d] plus Lap(b) has sup_y Λ = "
    "max{(μ−c)/(nb) + K(1/(nb)), (d−μ)/(nb) + K(−1/(nb))} ≤ (d−c)/(nb); for uniform entries "
    "log[nb/(d−c)·(e^{(d−c)/(nb)} − 1)].",
    conditions="entries with finitely many values, and uniform ones, c and d in the support (else "
    "what is printed is an upper bound, see E22); single outcomes for n up to 4",
    tight=True,
)
def _laplace_mean(rng: Generator) -> Claims:
    n, scale = int(rng.integers(1, 5)), float(rng.uniform(0.1, 1.0))
    values = np.sort(rng.uniform(-1, 1, int(rng.integers(2, 4))))
    masses = some_masses(rng, len(values))
    noisy = LaplaceMean(Law.finite(values, masses), n, scale)
    t, mean = 1 / (n * scale), float(masses @ values)

    def cgf(s: float) -> float:
        return math.log(float(masses @ np.exp(s * (values - mean))))

    low, high = float(values[0]), float(values[-1])
    claimed = max((mean - low) * t + cgf(t), (high - mean) * t + cgf(-t))
    yield equal(noisy.sup_pmc(), claimed, "(13) and (14)")
    yield at_most(noisy.sup_pmc(), (high - low) * t, "differential privacy")
    yield equal(noisy.dp_level(), (high - low) * t, "its level")
    # Single outcomes, by listing all databases.
    rows = list(product(range(len(values)), repeat=n))
    p = np.array([math.prod(masses[list(row)]) for row in rows])
    means = np.array([values[list(row)].mean() for row in rows])
    for y in rng.uniform(low - 1, high + 1, 3):
        likelihood = np.exp(-np.abs(y - means) / scale)
        given = [
            float(p[mine] @ likelihood[mine] / p[mine].sum())
            for mine in (
                [r for r, row in enumerate(rows) if row[0] == k] for k in range(len(values))
            )
        ]
        direct = math.log(float(p @ likelihood) / min(given))
        yield equal(float(noisy.pmc(y)), direct, f"an outcome, n = {n}", scale=1.0)
        yield at_most(direct, claimed, "at most the supremum")
    for y in (low - 1.0, high + 1.0):
        yield at_most(float(noisy.pmc(y)), claimed, "outside of the domain")
    yield equal(max(float(noisy.pmc(y)) for y in (low - 1, high + 1)), claimed, "attained there")
    # On a wider domain than that of the values the printed supremum is an upper bound.
    wider = LaplaceMean(Law.finite(values, masses, low - 0.2, high + 0.1), n, scale)
    yield at_most(claimed, wider.sup_pmc(), "ends without mass")
    width = float(rng.uniform(0.5, 2))
    uniform = LaplaceMean(Law.uniform(0, width), n, scale)
    printed = math.log(math.expm1(width * t) / (width * t))
    yield equal(uniform.sup_pmc(), printed, "uniform entries", scale=printed)


@result(
    "PMC-Ex-6",
    statement="For E X = 0, |X| ≤ A and Gaussian noise Λ(X→y) ≤ A(A + 4|y|)/2σ², the same with "
    "K(y/σ²) and 2|y|, and P(Λ ≥ β + r/2) ≤ 2exp(−β²/8(r²+r)), r = A²/σ²; Λ(X→y) ≥ A|y|/σ² and "
    "A|y|/σ² + K(y/σ²) where −A and A are in the support of X.",
    conditions="centred laws with finitely many values, with and without mass at −A and A (see "
    "E22), and uniform ones",
    tight=True,
)
def _gaussian_noise(rng: Generator) -> Claims:
    reach, sigma = float(rng.uniform(0.3, 2)), float(rng.uniform(0.5, 2))
    inner = float(rng.uniform(0.1, 0.9)) * reach
    share = float(rng.uniform(0.1, 0.9))
    values = np.array([-reach, -inner, inner, reach])
    masses = np.array([1 - share, share, share, 1 - share]) / 2
    ends = np.array([-reach, reach])
    r = reach**2 / sigma**2
    for law, v, p in (
        (Law.finite(values, masses), values, masses),
        (Law.finite(ends, [0.5, 0.5]), ends, np.array([0.5, 0.5])),
    ):
        noisy = GaussianNoise(law, sigma)
        for y in rng.uniform(-3, 3, 3):
            likelihood = np.exp(-((y - v) ** 2) / (2 * sigma**2))
            direct = math.log(float(p @ likelihood) / likelihood.min())
            yield equal(float(noisy.pmc(y)), direct, "one outcome", scale=1.0)
            extra = math.log(float(p @ np.exp(y * v / sigma**2)))
            plain = reach * abs(y) / sigma**2, reach * (reach + 4 * abs(y)) / (2 * sigma**2)
            finer = (plain[0] + extra, reach * (reach + 2 * abs(y)) / (2 * sigma**2) + extra)
            for ours, printed, name in (
                (noisy.pmc_bounds(y), plain, "(17)"),
                (noisy.pmc_bounds(y, with_cgf=True), finer, "before (15)"),
            ):
                for one, two in zip(ours, printed, strict=True):
                    yield equal(one, two, f"the formulas {name}", scale=abs(two))
                yield at_least(direct, printed[0], f"lower bound {name}")
                yield at_most(direct, printed[1], f"upper bound {name}")
            if len(v) == 2:
                yield equal(direct, finer[0], "attained for X = ±A")
        for beta in rng.uniform(0.1, 4, 2):
            bound = 2 * math.exp(-(beta**2) / (8 * (r**2 + r)))
            level = beta + r / 2
            yield equal(noisy.tail_bound(level), min(1.0, bound), "the formula (18)")
            yield at_most(noisy.tail(level), bound, "the tail (18)")
    yield from _without_ends(rng, reach, sigma)
    # A law that is not symmetric, on a grid of outcomes.
    uneven = np.array([0.0, reach])
    noisy = GaussianNoise(Law.finite(uneven, [0.7, 0.3]), sigma)
    grid = np.linspace(-9 * sigma, reach + 9 * sigma, 20001)
    rows = np.exp(-((grid[:, None] - uneven) ** 2) / (2 * sigma**2))
    mean = rows @ [0.7, 0.3]
    density = mean / (sigma * math.sqrt(2 * math.pi)) * (grid[1] - grid[0])
    level = 0.5 * r + 0.2
    beyond = float(density[np.log(mean / rows.min(axis=1)) >= level].sum())
    yield at_most(abs(noisy.tail(level) - beyond), 0.003, "tail of an uneven law", scale=0.0)
    level = float(rng.uniform(0.1, 3))
    # For X = ±A the event is |Y| ≥ (σ²/2A) log(2e^level − 1).
    edge = sigma**2 / (2 * reach) * math.log(2 * math.exp(level) - 1)
    tail = 0.5 * sum(math.erfc((edge + a) / (sigma * math.sqrt(2))) for a in ends)
    yield equal(GaussianNoise(Law.finite(ends, [0.5, 0.5]), sigma).tail(level), tail, "tail")


def _without_ends(rng: Generator, reach: float, sigma: float) -> Claims:
    """Laws on [−A, A] whose support ends before: with −c and d, of mass d/(c + d) and c/(c + d)."""
    for c, d in (rng.uniform(0.2, 0.9, 2) * reach, np.full(2, 0.5 * reach)):
        v, p = np.array([-c, d]), np.array([d, c]) / (c + d)
        noisy = GaussianNoise(Law.finite(v, p, -reach, reach), sigma)
        for y in rng.uniform(-3, 3, 3):
            likelihood = np.exp(-((y - v) ** 2) / (2 * sigma**2))
            direct = math.log(float(p @ likelihood) / likelihood.min())
            yield equal(GaussianNoise(Law.finite(v, p), sigma).pmc(y), direct, "Λ", scale=1.0)
            yield at_most(direct, float(noisy.pmc(y)), "Λ, ends without mass")
            end = float(c if y >= 0 else d)
            least = (end * abs(y) - (max(c, d) ** 2 - end**2) / 2) / sigma**2
            extra = math.log(float(p @ np.exp(y * v / sigma**2)))
            for finer, more in ((False, 0.0), (True, extra)):
                low, high = noisy.pmc_bounds(y, with_cgf=finer)
                yield equal(low, max(0.0, least + more), "lower bound, ends without mass")
                yield at_least(direct, low, "lower bound, ends without mass")
                yield at_most(direct, high, "upper bound, ends without mass")
            if c == d:
                yield equal(direct, least + extra, "attained for X = ±c, ends without mass")
