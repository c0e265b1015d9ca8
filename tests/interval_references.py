"""Intervals of one group of reports, and the ends that were derived for some of them.

``rule`` is the module they come from, so that tests can put a wrong one in its place.
"""

from __future__ import annotations

import inspect
import types

import numpy as np

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
    scores = scores_of(kernel, values)
    how = sampling or rule.Sampling(counts.sum(), fraction=float(these))
    path = rule.path_of(
        kernel,
        frequencies,
        maximise(kernel, frequencies)[0],
        values,
        rule.matrix_moments(kernel, scores, values),
    )
    means, squares = ((frequencies @ part).ravel() for part in (scores, scores**2))
    return rule.Answers(means, path, how, squares)


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
    "half of them": (lambda: limits(FLIP, [10, 10], in_pairs(0.5)), (0.285224, 0.714776)),
    "weights": (lambda: limits(response(2, 8), [30, 0], weighted(), symbol=1), (0, 0.151542)),
    "difference": (lambda: difference(0.0), (0.024378, 0.344387)),
    "paired": (lambda: difference(0.5 * 100 / 104), (0.069956, 0.303217)),
}


def difference(correlation):
    first, second = answers(FLIP, [20, 80]), answers(FLIP, [35, 65])
    arms = [(arm.estimates, *arm.limits()) for arm in (first, second)]
    between = second.projected - first.projected
    low, high = rule.difference_limits(*arms, between, np.ones(1), correlation)
    return low[0], high[0]


def departures():
    """Names of reference values that are not found."""
    return [
        name
        for name, (found, expected) in REFERENCES.items()
        if not np.allclose(found(), expected, rtol=0, atol=1e-5)
    ]


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
    "no design effects": ("how.variance * how.size / variance, 1.0", "1.0, 1.0"),
    "estimates left where they are": (
        "return np.clip(self.estimates, self.path.low, self.path.high)",
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
    "third moment not central": ("+ 2 * t**3", "+ t**3"),
    "one tail for both": ("alpha / sum(sides)", "alpha / 4"),
    "sign of the correlation": ("- 2 * correlation", "+ 2 * correlation"),
    "ends of arms exchanged": ("(y - low2, high1 - x)", "(y - low2, x - low1)"),
}


def mistaken(old: str, new: str) -> types.ModuleType:
    """The module with a mistake in it."""
    source = inspect.getsource(rule)
    assert source.count(old) == 1, old
    found = types.ModuleType(rule.__name__)
    found.__package__ = rule.__package__
    exec(source.replace(old, new), found.__dict__)
    return found
