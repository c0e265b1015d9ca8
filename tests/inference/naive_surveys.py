"""Estimates the slow way: person by person, and by all pairs of people who were drawn alike."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc


def best_scores(kernel, values, reference):
    """Weights a on reports with K a = v, of least variance at a reference: D⁻¹Kᵀ(KD⁻¹Kᵀ)⁺v."""
    shown = reference @ kernel
    scaled = np.divide(kernel, shown, out=np.zeros_like(kernel), where=shown > 0).T
    return scaled @ np.linalg.pinv(kernel @ scaled, 1e-12) @ values


def two_variances(kernel, scores, values, p):
    """Covariances of one report's scores: what the mechanism adds, and how secrets vary."""
    noise = sum(
        p[x] * kernel[x, y] * np.outer(scores[y] - values[x], scores[y] - values[x])
        for x, y in np.ndindex(*kernel.shape)
    )
    away = values - p @ values
    return noise, sum(p[x] * np.outer(away[x], away[x]) for x in range(len(p)))


def answers_of(scores, people, population=None):
    """Answers of each group, and what each person adds to their errors, ``(n, G·F)``.

    ``people`` has positions of reports ``y``, weights ``w`` and positions of groups ``g``.
    Shares of the sums of weights, or totals over a population.
    """
    z, mass, groups = scores[people["y"]], people["w"], people["g"]
    found, added = [], []
    for group in range(groups.max() + 1):
        own = mass * (groups == group)
        share = own / (own.sum() if population is None else population)
        found.append(share @ z)
        added.append(share[:, None] * (z - (found[-1] if population is None else 0)))
    return np.array(found), np.hstack(added)


def between(added, people, sizes):
    """Covariance of who was asked: half of the mean square of differences of all pairs of clusters
    of a stratum, times their number, as far as not all of them were asked.

    ``sizes`` are the populations of the strata, in clusters, infinite ones too.
    """
    found = 0.0
    for stratum in np.unique(people["s"]):
        inside = people["s"] == stratum
        units = np.array(
            [added[inside & (people["c"] == c)].sum(axis=0) for c in set(people["c"][inside])]
        )
        n = len(units)
        apart = (units[:, None] - units[None]).reshape(n * n, -1)
        if n < sizes[stratum]:
            found = found + (1 - n / sizes[stratum]) * apart.T @ apart / (2 * (n - 1))
    return found


def freedom_of(share, people, sizes):
    """Degrees of freedom of units that are alike but for what they weigh (Satterthwaite)."""
    left = lost = 0
    for stratum in np.unique(people["s"]):
        inside, drawn = (people["s"] == stratum) & (share > 0), people["c"][people["s"] == stratum]
        units = np.unique(people["c"][inside], return_inverse=True)[1]
        own = (np.bincount(units, share[inside]) ** 2).sum() * (
            1 - len(set(drawn)) / sizes[stratum]
        )
        left, lost = left + own, lost + own**2 / max(units.max(), 1)
    return max(left**2 / lost, 1) if lost > 0 else np.inf


def fractions(people, sizes):
    """The sampled share of the stratum of each person."""
    n = {s: len(set(people["c"][people["s"] == s])) for s in np.unique(people["s"])}
    return np.array([n[s] / sizes[s] for s in people["s"]])


def no_less(found, floor):
    """A covariance that is no less than another in any direction, nor than what was found."""
    away = found - floor
    _, sizes, axes = np.linalg.svd(away)
    return floor + (away + (axes.T * sizes) @ axes) / 2


def arm_of(estimates, low, high, n, alpha=0.05):
    """Shares that two values of scores estimate, and ends that nothing moves into what is possible.

    The coin of Clopper and Pearson, which beyond 0 and 1 falls as it does there.
    """
    ends = []
    for sign, out in ((1, low), (-1, high)):
        kept = estimates
        for _ in range(60):
            t = (out + kept) / 2
            heads = (np.clip(t, 0, 1) - low) / (high - low)
            x = np.clip(n * ((estimates - t) / (high - low) + heads), 0, n)
            a, b = (x, n - x + 1) if sign > 0 else (n - x, x + 1)
            held = betainc(a, b, heads if sign > 0 else 1 - heads) >= alpha / 2
            kept, out = np.where(held, t, kept), np.where(held, out, t)
        ends.append(kept)
    return estimates, *ends


def difference_ends(first, second, projected, correlation, room=1):
    """Ends for a second answer less a first, from the distances of both to their own ends, around
    the difference of what is possible.
    """
    (x, low1, high1), (y, low2, high2) = first, second
    ends = []
    for sign, a, b in ((-1, y - low2, high1 - x), (1, high2 - y, x - low1)):
        away = y - x + sign * np.sqrt(a**2 + b**2 - 2 * correlation * a * b)
        ends.append(np.clip(sign * np.maximum(sign * away, sign * projected), -room, room))
    return ends
