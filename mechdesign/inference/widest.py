"""The kernel whose widest interval is the narrowest: weights of the answers are found by rounds.

With variances s_f(K) of the answers, min_K max_f s_f(K) = max_w min_K Σ w_f s_f(K) over weights
of sum one, as each s_f is convex in the information of K. The inner minimum is the design for
estimates with these weights, whose proved bound holds for the widest answer of every kernel. It is
concave in w, with the variances of its kernel as slope: a level bundle method finds the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .. import clock
from ..solve._design import Design

Vector = NDArray[np.float64]

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
    variances : ``(F,)`` n times the variance of each answer; infinite where it is not told
    bound : the largest of them is at least this for every kernel
    """

    design: Design
    variances: Vector
    bound: Fraction


def narrowest(
    count: int,
    design: Callable[[Vector], Design],
    variances: Callable[[Design], Vector],
    target: float = np.inf,
    reached: Callable[[Design], bool] = lambda _: False,
) -> Widest:
    """The kernel of the least largest variance, from designs for weights of ``count`` answers.

    No more is found out than that a kernel reaches what is asked, or that none has variances up to
    the target.
    """
    deadline = clock.now() + _TIME
    weights = np.full(count, 1 / count)
    centre, low = weights, Fraction(0)
    slopes: list[Vector] = []
    best: tuple[Design, Vector] | None = None
    for _ in range(_ROUNDS):
        made = design(weights)
        found = variances(made)
        whole = sum((Fraction(w) for w in weights.tolist()), Fraction(0))
        bound = max(-Fraction(made.bound) / whole, Fraction(0))
        if bound > low:
            low, centre = bound, weights
        if best is None or found.max() < best[1].max():
            best = made, found
        slopes.append(found)
        near = best[1].max() <= float(low) * (1 + _TOLERANCE)
        near |= low > target or reached(best[0])
        # One answer has one weight, whatever a design for it could not prove.
        near |= count == 1 or not np.isfinite(found).all()
        if near or not low or clock.now() > deadline:
            break
        weights = _next_weights(np.array(slopes) / float(low), centre)
    assert best is not None
    return Widest(*best, low)


def _next_weights(slopes: Vector, centre: Vector) -> Vector:
    """The weights next to the best ones at which the slopes allow a larger bound, of one now."""
    from scipy.optimize import linprog, minimize

    rounds, count = slopes.shape
    ones = np.ones(count)
    top = linprog(
        np.append(np.zeros(count), -1.0),
        np.column_stack([-slopes, np.ones(rounds)]),
        np.zeros(rounds),
        np.append(ones, 0.0)[None],
        [1.0],
        bounds=[(0, None)] * count + [(None, None)],
    )
    start = top.x[:count]
    level = 1 + _LEVEL * (-top.fun - 1)
    near = minimize(
        lambda w: ((w - centre) ** 2).sum() / 2,
        start,
        jac=lambda w: w - centre,
        bounds=[(0, 1)] * count,
        constraints=[
            {"type": "ineq", "fun": lambda w: slopes @ w - level, "jac": lambda _: slopes},
            {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda _: ones},
        ],
        method="SLSQP",
    )
    weights = near.x if near.success else (start + centre) / 2
    weights = np.maximum(weights, _LEAST / count)
    return np.asarray(weights / weights.sum())
