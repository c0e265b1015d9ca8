"""Adversaries who hope: gain functions, and guesses of randomised functions of the secret.

Both views give pointwise maximal leakage: the largest factor by which outcome y raises what an
adversary can expect is e^ℓ(X→y), ℓ(X→y) = max_x i(x;y). Sources: [Saeidian2023PML] Theorems 1
and 2; [SaeidianPMC] Definitions 2 and 3; [SaeidianDisclosure] Definition 2.3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UtilityError
from ..mechanism import Mechanism
from .attacks import (
    MOST_VALUES,
    Attack,
    check_payoff,
    check_values,
    log_ratio,
    shortfall,
    too_many,
)
from .features import check_feature
from .observation import Observation, as_mechanism, as_observation


def gain_leakage(seen: Observation, gain: ArrayLike) -> float:
    """Log of the best expected gain after y over the best before, in nats.

    Parameters
    ----------
    seen : from :func:`~mechdesign.theory.observe`
    gain : (N, W) array of non-negative numbers, the gain of guess w for symbol x

    Raises
    ------
    UtilityError
        For another shape, negative or infinite gains, or gains that are zero on the support.

    Examples
    --------
    >>> import mechdesign as md
    >>> seen = md.theory.observe(md.Mechanism([[.75, .25], [.25, .75]]), md.Prior([.5, .5]), 0)
    >>> round(gain_leakage(seen, [[1, 0], [0, 1]]), 6) == round(seen.leakage, 6)
    True
    """
    g = check_payoff(gain, seen, "gain function")
    after, before = float((seen.posterior @ g).max()), float((seen.prior @ g).max())
    return log_ratio(after, before, "gain function")


def worst_gain(seen: Observation) -> NDArray[np.float64]:
    """The gain 1{x = w}/P(x), ``(N, N)``: it attains ℓ(X→y) for every outcome y at once.

    Before y every guess is worth 1; after y the best is worth the largest lift.
    """
    seen = as_observation(seen)
    gain = np.zeros((len(seen.prior), len(seen.prior)))
    live = seen.support
    gain[live, live] = 1 / seen.prior[live]
    return gain


def guess_leakage(seen: Observation, feature: Mechanism) -> float:
    """Log P(guess U right | y) − log P(guess U right), for the best guesses ([SaeidianPMC] Def 3).

    Never more than ℓ(X→y); negative where y makes U harder to guess.
    """
    table = check_feature(feature, as_observation(seen)).kernel
    after, before = (seen.posterior @ table).max(), (seen.prior @ table).max()
    return log_ratio(float(after), float(before), "feature")


def worst_guess(seen: Observation, values: int | None = None) -> Attack:
    """The feature with a given number of values whose guessing gains most from y.

    Value 0 takes the symbols of largest lift, up to mass 1/B, the symbol at the edge in part; all
    else is shared evenly among the other B − 1 values, so that before y all guesses are equally
    good. No feature with at most B values leaks more: with G(m) the most posterior mass that
    prior mass m can have, the leakage is log G(m)/m for the largest prior mass m ≥ 1/B of a value
    at best, and G(m)/m does not increase. From B ≥ 1/P(symbols of largest lift) on, the leakage
    ℓ(X→y) itself is attained; no limit is needed.

    Parameters
    ----------
    values : B, optional
        As many as attain ℓ(X→y) when left out; raises :class:`KernelError` when that is more
        than 10,000.

    Examples
    --------
    >>> import mechdesign as md
    >>> seen = md.theory.observe(md.Mechanism([[.9, .1], [.1, .9]]), md.Prior([.75, .25]), 1)
    >>> worst_guess(seen)
    Attack(4 values, attained 1.09861 of 1.09861 nats)
    >>> worst_guess(seen, 2)
    Attack(2 values, attained 0.510826 of 1.09861 nats)
    """
    seen = as_observation(seen)
    lift = seen.lift
    top = np.isclose(lift, lift[seen.support].max(), rtol=1e-12, atol=0) & (seen.prior > 0)
    if values is None:
        need = 1 / float(seen.prior[top].sum())
        if need > MOST_VALUES:
            raise too_many(need)
        # Rounding must not ask for one value more than the mass allows.
        values = max(1, math.ceil(need * (1 - 1e-12)))
    count = check_values(values, "number of values")
    share = _greedy(seen.prior, lift, 1 / count)
    table = np.empty((len(share), count))
    table[:, 0] = share
    if count > 1:
        table[:, 1:] = ((1 - share) / (count - 1))[:, None]
    attained = max(0.0, math.log(float(share @ seen.posterior) / float(share @ seen.prior)))
    feature = Mechanism(table, seen.symbols, normalise=True)
    return Attack(feature, attained, seen.leakage, shortfall(seen.leakage, attained))


def _greedy(prior: NDArray[np.float64], lift: NDArray[np.float64], mass: float) -> Any:
    """Shares of the symbols that fill a prior mass in the order of falling lift."""
    share, left = np.zeros(len(prior)), mass
    for x in np.argsort(-lift, kind="stable"):
        if prior[x] > 0:
            share[x] = min(1.0, left / prior[x])
            left = max(0.0, left - share[x] * prior[x])
    return share


def gain_of_feature(feature: Mechanism) -> NDArray[np.float64]:
    """The gain P(u|x): what it leaks is what guessing U leaks ([Saeidian2023PML] Theorem 2)."""
    return np.array(as_mechanism(feature, "feature").kernel)


def feature_of_gain(seen: Observation, gain: ArrayLike) -> Mechanism:
    """A feature whose guessing leaks exactly as much through y as a gain function does.

    The converse half of [Saeidian2023PML] Theorem 2, at a finite number of values. Between the
    best guess before y and the best after y there is a mixture of the two gains whose ratio of
    expectations is that of the two optima; value 0 of the feature has this gain, scaled, as its
    probability, and the rest is spread so thin that it is never guessed.

    Raises
    ------
    UtilityError
        As :func:`gain_leakage`, and when the gain is zero after y: some value of a feature always
        has positive probability, so no feature has leakage minus infinity.
    KernelError
        When the spread needs more than 10,000 values.
    """
    seen = as_observation(seen)
    g = check_payoff(gain, seen, "gain function")
    target = gain_leakage(seen, g)
    if target == -math.inf:
        raise UtilityError(
            "gain function",
            expected="a positive gain after the outcome",
            got="zero for every guess",
            remedy="no feature has leakage minus infinity",
        )
    first = g[:, int((seen.prior @ g).argmax())]
    last = g[:, int((seen.posterior @ g).argmax())]
    mixed = mixture(seen, first, last, float((seen.posterior @ last) / (seen.prior @ first)))
    mixed = mixed / mixed[seen.support].max()
    mixed[seen.prior == 0] = 0
    least = min(float(seen.prior @ mixed), float(seen.posterior @ mixed))
    spread = max(1.0, math.ceil((1 - least) / least))
    if spread >= MOST_VALUES:
        raise too_many(spread + 1)
    table = np.column_stack([mixed, *[(1 - mixed) / spread] * int(spread)])
    return Mechanism(table, seen.symbols, normalise=True)


def mixture(
    seen: Observation, first: NDArray[np.float64], last: NDArray[np.float64], ratio: float
) -> NDArray[np.float64]:
    """The mixture f of two payoffs with E[f|y]/E[f] equal to a ratio between those of the two."""
    # r(f) = E[f|y] − ratio·E[f] is linear in f and has different signs at the two ends.
    r_first = float(seen.posterior @ first - ratio * (seen.prior @ first))
    r_last = float(seen.posterior @ last - ratio * (seen.prior @ last))
    share = 0.0 if r_last == r_first else min(1.0, max(0.0, r_last / (r_last - r_first)))
    return share * first + (1 - share) * last
