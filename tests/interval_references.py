"""Intervals of one group of reports, and the ends that were derived for some of them.

``rule`` is the module they come from, so that tests can put a wrong one in its place.
"""

from __future__ import annotations

import inspect
import sys
import types
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import special, stats

from mechdesign.inference import intervals as rule
from mechdesign.inference.likelihood import maximise


def response(size, level):
    kernel = np.ones((size, size)) + np.expm1(level) * np.eye(size)
    return kernel / kernel.sum(axis=1, keepdims=True)


def scores_of(kernel, values):
    """Of least variance where secrets are equally likely."""
    seen = kernel.mean(axis=0)
    scaled = np.divide(kernel, seen, out=np.zeros_like(kernel), where=seen > 0).T
    return scaled @ np.linalg.lstsq(kernel @ scaled, values, rcond=None)[0]


def answers(kernel, counts, sampling=None, *, symbol=0, values=None, these=False):
    """Answers of one group of reports."""
    kernel, counts = np.asarray(kernel, float), np.asarray(counts, float)
    frequencies = counts[None] / counts.sum()
    values = np.eye(len(kernel))[:, [symbol]] if values is None else values
    # Scores may be measured from any number.
    origin = 0.3 * values.max(axis=0)
    scores, values = scores_of(kernel, values) - origin, values - origin
    how = sampling or rule.Sampling(counts.sum(), fraction=float(these))
    path = rule.path_of(
        kernel,
        frequencies,
        maximise(kernel, frequencies)[0],
        values,
        rule.matrix_moments(kernel, scores, values),
    )
    means, squares = ((frequencies @ part).ravel() for part in (scores, scores**2))
    return rule.Answers(means + origin, path, how, squares, origin)


def contained(found, t, alpha):
    """Whether intervals hold answers, one for each, without looking for their ends."""
    which = np.arange(len(t))
    tails = found.tails(t, which, t <= found.projected, alpha / 2)
    return (tails >= alpha / 2) | (t == found.projected)


def limits(*arguments, alpha=0.05, **keywords):
    low, high = answers(*arguments, **keywords).limits(alpha)
    return low[0], high[0]


FLIP = [[0.9, 0.1], [0.1, 0.9]]
USELESS = np.array(
    [[0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3], [0.1 / 3, 0.9 + 0.1 / 3, 0.1 / 3], [1 / 3] * 3]
)


def weighted():
    """Thirty reports of weights one and two, in turn."""
    w = np.tile([1 / 45, 2 / 45], 15)
    size = 1 / (w**2).sum()
    return rule.Sampling(size, size**2 * (w**3).sum(), 0.0, np.zeros(1), freedom=29)


def in_pairs(fraction):
    """Ten strata of two reports that agree."""
    return rule.Sampling(20, fraction=fraction, variance=np.zeros(1), freedom=10)


#: What is asked, and the ends that were derived for it once, apart from this code.
REFERENCES = {
    "8 nats, 30 a": (lambda: limits(response(2, 8), [30, 0], symbol=1), (0, 0.116087)),
    "1 nat": (lambda: limits(response(2, 1), [240, 760]), (0, 0.061967)),
    "14 nats": (lambda: limits(response(2, 14), [999, 1], symbol=1), (0.000024, 0.005558)),
    "flip": (lambda: limits([[0.75, 0.25], [0.25, 0.75]], [6000, 4000]), (0.680640, 0.719243)),
    "useless row": (lambda: limits(USELESS, [60, 40, 10]), (0.352877, 0.640003)),
    "these people": (lambda: limits(FLIP, [30, 0], symbol=1, these=True), (0, 0.148438)),
    "strata": (lambda: limits(FLIP, [10, 10], in_pairs(0.0)), (0.292975, 0.707025)),
    # Sampled without replacement, secrets are skewed 1 − 2f times as much.
    "half of them": (lambda: limits(FLIP, [10, 10], in_pairs(0.5)), (0.289680, 0.710320)),
    "weights": (lambda: limits(response(2, 8), [30, 0], weighted(), symbol=1), (0, 0.151542)),
    # Quantiles of one half are nought: their ratio is that of the densities there.
    "one half": (lambda: lower_half(), 0.486203),
    "difference": (lambda: difference(0.0), (0.024378, 0.344387)),
    "paired": (lambda: difference(0.5 * 100 / 104), (0.069956, 0.303217)),
}


def lower_half():
    """The lower limit that misses in one half of all surveys."""
    found = answers(FLIP, [10, 10], in_pairs(0.5))
    return found.limits(0.5, sides=(True, False))[0][0]


def difference(correlation):
    first, second = answers(FLIP, [20, 80]), answers(FLIP, [35, 65])
    arms = [(arm.estimates, *arm.limits()) for arm in (first, second)]
    between = second.projected - first.projected
    low, high = rule.difference_limits(*arms, between, np.ones(1), correlation)
    return low[0], high[0]


def departures():
    """Names of reference values that are not found, those that take least time first."""
    for name, (found, expected) in {**REFERENCES, **BY_HAND}.items():
        wanted = expected() if callable(expected) else expected
        if not np.allclose(found(), wanted, rtol=1e-5, atol=1e-5):
            yield name


def tail_by_hand(kernel, counts, how, t, above, values, scores):
    """P(S ≥ e | t), or P(S ≤ e | t), and how many tosses fall on the rarer side of the coin at e,
    term by term as they were derived, of one group and one question.

    Answers beyond what is possible are compared with the estimate as it is, and scores vary as at
    the end of what is possible.
    """
    f = np.asarray(counts) / np.sum(counts)
    size, n, fixed = len(kernel), how.size, how.fraction
    estimate = sum(f * scores)
    inside, e = (np.clip(one, min(values), max(values)) for one in (t, estimate))
    away = (estimate if inside != t else e) - t
    pairs = [(x, y) for x in range(size) for y in range(len(scores))]

    def spreads(t):
        """Variances of noise and of secrets, third moments and the other side's, at an answer."""
        p = maximise(kernel, f[None], (values - t)[None] / np.ptp(values))[0][0]
        mass = {(x, y): p[x] * kernel[x, y] for x, y in pairs}

        def mean(of):
            return sum(mass[x, y] * of(scores[y], values[x]) for x, y in pairs)

        noise = mean(lambda a, v: (a - v) ** 2)
        spread = mean(lambda a, v: (v - t) ** 2)
        within = mean(lambda a, v: a**2 * (a - v))
        whole = mean(lambda a, v: a**2 * (a - t))
        slope = (within + (1 - fixed) * (whole - within)) / (noise + (1 - fixed) * spread)
        seen = sum(f * scores**2) + slope * (t - estimate)
        more = noise + max(seen - mean(lambda a, v: a**2), 0)
        third = mean(lambda a, v: (a - t) ** 3)
        sides = [mean(lambda a, v, k=k: max(k * (a - v), 0) ** 3) for k in (1, -1)]
        secrets = mean(lambda a, v: (v - t) ** 3)
        return noise, more, spread, third, sides, secrets

    def coin(t, above):
        noise, added, spread, third, sides, own = spreads(t)
        _, at, around, _, _, secrets = spreads(e)
        told = min(e - min(values), max(values) - e) ** 2 * n / at
        people = min(n, 2 * how.freedom * how.clusters) / (4 + secrets**2 / around**3)
        more = 1 + (how.noise - 1) * (1 - (1 + min(people, told) / 2) ** -2)
        variance = more * added + (1 - fixed) * spread
        third = (1 - fixed) * (third - 2 * fixed * own) + fixed * (sides[0] if above else -sides[1])
        third = how.skewness * third
        tosses = n * (stats.norm.ppf(0.025) / stats.t.ppf(0.025, how.freedom)) ** 2
        if how.variance is not None:
            whole = more * at + (1 - fixed) * around
            effect = how.variance[0] * n / whole
            doubt = (1 + min(people, told) / max(effect, 1) / 2) ** -2
            alike = (1 + min(people / how.clusters, told) / 2) ** -4
            alike *= max(how.clusters - max(effect, 1), 0)
            larger = ((1 - doubt) * effect + doubt) * variance + alike * (1 - fixed) * spread
            tosses *= variance / max(larger, more * noise)
        s = np.sqrt(variance)
        g = third / s**3
        return tosses, s, g, (1 - g / np.sqrt(4 + g**2)) / 2

    m, s, g, heads = coin(inside, above)
    x = np.clip(m * away / (s * np.sqrt(4 + g**2)) + m * heads, 0, m)
    chance = (
        special.betainc(x, m - x + 1, heads) if above else special.betainc(m - x, x + 1, 1 - heads)
    )
    coins = [coin(e, side) for side in (True, False)]
    return chance, min(m * min(heads, 1 - heads) for m, _, _, heads in coins)


def random_survey(seed):
    """A kernel, reports, how they came to be, answers to try, and what is asked."""
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.ones(4), size=3)
    values = np.array([[1.0, 0, 0], [-1, 0.5, 3], [0, 1e-7, 1e-7]][seed // 3 % 3])
    scores = scores_of(kernel, values[:, None])
    counts = rng.multinomial((12, 60, 400)[seed % 3], rng.dirichlet(np.full(3, 2)) @ kernel) + 1
    n = counts.sum() * rng.uniform(0.5, 1)
    how = rule.Sampling(
        n,
        rng.uniform(1, 2),
        (0.0, 0.4, 1.0)[seed % 4 // 2 + (seed > 12)],
        freedom=rng.uniform(3, 40),
        noise=rng.uniform(0.4, 2) ** (seed % 2),
    )
    if how.fraction < 1:
        spread = float(counts @ scores.ravel() ** 2 / counts.sum() / n)
        variance = np.array([spread * rng.uniform(0.2, 3)])
        how = replace(how, variance=variance, clusters=rng.choice([1.0, 4.0]))
    t = np.min(values) + np.ptp(values) * np.array([*rng.uniform(0.02, 0.98, 4), -0.1, 1.2])
    return kernel, counts, how, t, values, scores


def compared_by_hand(seed):
    """Tails and events by the rule, and by hand, of which both are functions."""
    kernel, counts, how, t, values, scores = random_survey(seed)

    def found():
        made = answers(kernel, counts, rule.Sampling(**vars(how)), values=values[:, None])
        beyond = (t < made.low) | (t > made.high)
        e = np.where(beyond, made.estimates, made.projected)
        tails = made.tails(t, np.zeros(len(t), int), t <= made.projected, estimates=e)
        return [*tails, *made.events()]

    def expected():
        e = counts @ scores.ravel() / counts.sum()
        e = np.clip(e, min(values), max(values))
        rows = [
            tail_by_hand(kernel, counts, how, one, one <= e, values, scores.ravel()) for one in t
        ]
        return [*(chance for chance, _ in rows), rows[0][1]]

    return found, cache(expected)


#: Random surveys, by hand.
BY_HAND = {f"by hand {seed}": compared_by_hand(seed) for seed in range(16)}


#: Mistakes that are easily made, and what they are made of.
MISTAKES = {
    "sign of the skewness": ("third = how.skewness", "third = -how.skewness"),
    "skewness forgotten": ("third = how.skewness", "third = 0 * how.skewness"),
    "skewness of weights forgotten": ("third = how.skewness", "third = np.sign(how.skewness)"),
    "side of a tail": ("np.where(above, e - t, t - e)", "np.where(above, t - e, e - t)"),
    "side of the skewness of these people": ("above, moments[UP]", "~above, moments[UP]"),
    "quantile of 90 %": ("alpha / sum(sides)", "alpha"),
    "no Student quantile": ("stdtrit(how.freedom, tail)", "ndtri(tail)"),
    "no floor of known noise": ("alike * spread, known)", "alike * spread, 0)"),
    "sign of a quantile": ("ndtri(chance) - ndtri(tail)", "ndtri(chance) + ndtri(tail)"),
    "no doubt of design effects": ("(1 + events / 2) ** -2", "0 * events"),
    "noise of all where some weigh more": (
        "more = np.broadcast_to(self.sampling.noise,",
        "more = np.broadcast_to(1.0,",
    ),
    "no design effects": ("how.variance * how.size / variance, 1.0", "1.0, 1.0"),
    "estimates left where they are": (
        "return np.clip(self.estimates, self.low, self.high)",
        "return self.estimates",
    ),
    "heads left where they are": (
        "np.clip(m * x, 0, m)",
        "m * x",
    ),
    "spread of secrets for these people": (
        "(1 - fraction) * np.maximum(square",
        "np.maximum(square",
    ),
    "noise of secrets left out": ("np.maximum(second - square, 0)", "0 * second"),
    "third moment not central": ("moments[SECOND] + 2 * t**3", "moments[SECOND] + t**3"),
    "one tail for both": ("alpha / sum(sides)", "alpha / 4"),
    "sign of the correlation": ("- 2 * correlation", "+ 2 * correlation"),
    "ends of arms exchanged": ("(y - low2, high1 - x)", "(y - low2, x - low1)"),
}


def mistaken(old: str, new: str) -> types.ModuleType:
    """The module with a mistake in it."""
    source = inspect.getsource(rule)
    assert source.count(old) == 1, old
    return module_of(source.replace(old, new))


def module_of(code) -> types.ModuleType:
    """The module of other code, a text or a parsed one."""
    found = types.ModuleType("mistaken")
    found.__package__ = rule.__package__
    # Where dataclasses look for types.
    sys.modules["mistaken"] = found
    exec(compile(code, "mistaken", "exec"), found.__dict__)
    return found
