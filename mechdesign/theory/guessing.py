"""Guesswork: how many guesses of the form "is it u?" a secret needs, and what y saves.

Pointwise maximal guesswork leakage is the largest saving over all features of the secret; it
equals Λ(X→y) ([SaeidianPMC] Section III-D), as a supremum that no finite feature attains.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UtilityError, quote
from ..mechanism import Mechanism
from .attacks import MOST_VALUES, Attack, check_values, log_ratio, shortfall, too_many
from .features import check_feature
from .inputs import masses, number, whole
from .observation import Observation, as_observation

_LARGEST_ALPHABET = 7
_MOST_SUMMED = 1_000_000
_MOST_SPLITS = 10**300
# Powers of ranks beyond e^this are no floats.
_LARGEST_LOG = 700.0


def guesswork(distribution: ArrayLike, moment: float = 1.0) -> float:
    """min_G E[G(X)^moment]: the most likely value is guessed first, and so on.

    Raises :class:`UtilityError` unless the moment is a positive finite number.

    >>> guesswork([.25, .5, .25])
    1.75
    """
    p = np.sort(masses(distribution))[::-1]
    return float(p @ _ranks(len(p), moment))


def _check_moment(size: int, moment: Any, extra: int = 0) -> float:
    """The moment as a float, for which ranks up to ``size`` have powers that floats can hold."""
    found = number(moment, "moment of guesswork", 0, math.inf, ends="()", error=UtilityError)
    if (found + extra) * math.log(size) > _LARGEST_LOG:
        raise UtilityError(
            "moment of guesswork",
            expected=f"one at which powers of ranks up to {quote(size)} are floats",
            got=f"{found:g}",
            remedy="take a smaller moment",
        )
    return found


def _ranks(size: int, moment: float) -> NDArray[np.float64]:
    moment = _check_moment(size, moment)
    ranks: NDArray[np.float64] = np.arange(1, size + 1, dtype=float) ** moment
    return ranks


def guesswork_leakage(
    seen: Observation, feature: Mechanism | None = None, moment: float = 1.0
) -> float:
    """Log of the guesswork of a feature before y over that after, in nats.

    The secret itself when no feature is named. Never more than Λ(X→y).
    """
    before, after = as_observation(seen).prior, seen.posterior
    if feature is not None:
        table = check_feature(feature, as_observation(seen)).kernel
        before, after = before @ table, after @ table
    return log_ratio(guesswork(before, moment), guesswork(after, moment), "guesswork")


def worst_guesswork(
    seen: Observation,
    splits: int | None = None,
    *,
    moment: float = 1.0,
    tolerance: float = 1e-2,
) -> Attack:
    """A feature whose guesswork y lowers by a factor near e^Λ(X→y).

    The symbol x* of smallest lift is split evenly into k values, and the others share the value 0,
    which is guessed first. With h the mean of (i+1)^moment − 1 over i = 1 … k, the guesswork is
    1 + h·P(x*) before y and 1 + h·P(x*|y) after, from k ≥ P(x*)/(1 − P(x*)) on. The error is
    then log(1 + (P(x*) − P(x*|y)) / (P(x*|y)·(1 + h·P(x*)))), which goes to zero as k grows.

    Parameters
    ----------
    splits : k, optional
        When left out, the smallest power of two (with k large enough for the order of guesses)
        whose error is at most ``tolerance``; raises :class:`KernelError` when that is more than
        10,000, as for an infinite Λ(X→y).
    """
    n = len(as_observation(seen).prior)
    if len(seen.support) == 1:
        return Attack(Mechanism(np.ones((n, 1)), seen.symbols), 0.0, seen.cost, 0.0)
    star = int(seen.support[seen.lift[seen.support].argmin()])
    if splits is None:
        k = 1
        while guesswork_error(seen, k, moment) > tolerance:
            k *= 2
            if k > MOST_VALUES:
                raise too_many(k)
    else:
        k = check_values(splits, "number of splits")
    table = np.zeros((n, k + 1))
    table[:, 0] = 1
    table[star] = [0, *[1 / k] * k]
    feature = Mechanism(table, seen.symbols, normalise=True)
    attained = guesswork_leakage(seen, feature, moment)
    return Attack(feature, attained, seen.cost, shortfall(seen.cost, attained))


def guesswork_error(seen: Observation, splits: int, moment: float = 1.0) -> float:
    """How far the guesswork construction with k splits stays below Λ(X→y), in nats.

    ``inf`` where Λ(X→y) is infinite, or k is too small for the value 0 to be guessed first. Above
    a million splits, an upper bound on it.
    """
    seen = as_observation(seen)
    k = whole(splits, "number of splits", 1, _MOST_SPLITS, error=UtilityError)
    star = int(seen.support[seen.lift[seen.support].argmin()])
    p, after = float(seen.prior[star]), float(seen.posterior[star])
    rest = float(np.delete(seen.prior, star).sum())
    if len(seen.support) == 1:
        return 0.0
    if after == 0 or p / k > rest:
        return math.inf
    if k <= _MOST_SUMMED:
        h = float(_ranks(k + 1, moment)[1:].mean() - 1)
    else:
        # An integral below the sum; a smaller h makes the stated error larger.
        _check_moment(k + 1, moment, extra=1)
        h = (float(k + 1) ** (moment + 1) - 1) / ((moment + 1) * k) - 1
    return math.log1p(max(p - after, 0.0) / (after * (1 + h * p)))


def guesswork_cost(size: int, moment: float = 1.0) -> NDArray[np.float64]:
    """Guesswork as a cost function: rank^moment of a value in each order of guesses, ``(n, n!)``.

    Its least expected cost is the guesswork, which makes guesswork a case of the cost-function view
    ([SaeidianPMC] Section III-D). For at most 7 values; raises :class:`UtilityError` above.
    """
    size = whole(size, "number of values", 1, error=UtilityError)
    if size > _LARGEST_ALPHABET:
        raise UtilityError(
            "guesswork as a cost matrix",
            expected=f"at most {_LARGEST_ALPHABET} values",
            got=f"{quote(size)}, whose orders of guesses are too many",
            remedy="use theory.guesswork, which sorts",
        )
    orders = np.array(list(permutations(range(size))))
    return _ranks(size, moment)[orders.T]
