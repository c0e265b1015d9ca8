"""The kernel whose widest interval is the narrowest: weights of the answers are found by rounds.

With variances s_f(K) of the answers, min_K max_f s_f(K) = max_w min_K Σ w_f s_f(K) over weights
of sum one, as each s_f is convex in the information of K. The inner minimum is the design for
estimates with these weights, whose proved bound holds for the widest answer of every kernel. It is
concave in w, with the variances of its kernel as slope: a level bundle method finds the weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import clock
from ..errors import GapWarning
from ..prior import Prior
from ..solve._design import Design
from ..utility.estimation import Asked, Estimation
from ..utility.questions import Question
from .assurance import Expected, Promise
from .intervals import Vector

# The relative gap that is sought, rounds, and seconds after which none begins.
_TOLERANCE, _ROUNDS, _TIME = 1e-3, 40, 60.0
# The level sought between the best bound and the largest that slopes allow; the least weight.
_LEVEL, _LEAST = 0.5, 1e-7


@dataclass(frozen=True, eq=False)
class Widest:
    """A kernel, and what proves how narrow its widest interval is.

    Attributes
    ----------
    design : for estimates, with the weights that were found
    intervals : what it gives
    bound : the largest variance is at least this for every kernel, but for rounding
    """

    design: Design
    intervals: Expected
    bound: float


def narrowest(
    designed: Callable[[Estimation], Design],
    question: Question,
    truth: Prior,
    asked: Promise,
    of: Asked = None,
) -> Widest:
    """The kernel of the least largest variance, from designs for weights of the answers.

    Where both an error and a number of reports are asked, no more is found out than that a kernel
    keeps them, or that none has the standard errors of normal intervals which do.
    """
    deadline = clock.now() + _TIME
    count = len(question.labels)
    centre = weights = np.full(count, 1 / count)
    low, tried = 0.0, []
    for _ in range(_ROUNDS):
        with warnings.catch_warnings():
            # The bound holds whatever the gap is.
            warnings.simplefilter("ignore", GapWarning)
            made = designed(Estimation(of, weights=weights, truth=truth))
        found, _ = asked.expected(made, question, truth)
        tried.append((made, found))
        best, intervals = min(tried, key=lambda one: one[1].variances.max())
        bound = -made.bound / weights.sum()
        if bound > low:
            low, centre = bound, weights
        near = intervals.variances.max() <= low * (1 + _TOLERANCE) or intervals.keeps
        # One answer has one weight, whatever a design for it could not prove.
        near |= low > asked.largest_variance or count == 1
        near |= not low or not np.isfinite(found.variances).all()
        if near or clock.now() > deadline:
            break
        weights = _next_weights(np.array([one.variances for _, one in tried]) / low, centre)
    return Widest(best, intervals, low)


def _next_weights(slopes: Vector, centre: Vector) -> Vector:
    """The weights next to the best ones at which the slopes allow a larger bound, of one now.

    Their distance is the least by non-negative least squares, as that of any polyhedron is.
    """
    from scipy.optimize import linprog, nnls

    count = len(centre)
    largest = 1 / linprog(np.ones(count), -slopes, -np.ones(len(slopes))).fun
    level = 1 + _LEVEL * (largest - 1)
    faces = np.vstack([slopes, np.eye(count), np.ones(count), -np.ones(count)])
    room = np.concatenate([level - slopes @ centre, -centre, [0, 0]])
    system, last = np.vstack([faces.T, room]), np.eye(count + 1)[-1]
    rest = system @ nnls(system, last)[0] - last
    weights = np.maximum(centre - rest[:-1] / rest[-1], _LEAST / count)
    return np.asarray(weights / weights.sum())
