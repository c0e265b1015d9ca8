"""Counting queries over n independent people: answered by yes or no, or with Laplace noise.

Sources: [SaeidianDisclosure] Example 3.11 and Section 4.1. Nothing here lists the 2^n databases:
the answers depend on them through a binomial count only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact import LARGEST_LEVEL, exp_bounds, float_at_least, log_bounds, log_upper
from .validation import number, whole

_MOST_PEOPLE = 10_000_000


@dataclass(frozen=True)
class ThresholdQuery:
    """What the exact answer to "do more than m of n people have the property?" gives away.

    Everything is the worst over the shares p of people with the property that are thought possible,
    and in nats.

    Attributes
    ----------
    people, threshold : n and m
    shares : smallest and largest p
    yes, no : ℓ(X→1) = −log P(count > m) and ℓ(X→0) = −log P(count ≤ m)
    yes_bound, no_bound : their Chernoff bounds; ``inf`` where they do not apply (m/n ≥ p for yes,
        (m+1)/n ≤ p for no)
    person_yes, person_no : ℓ(S_i→y), what the answer tells about one person
    entropy : H∞(S_i), the smallest over p
    yes_discloses, no_discloses : whether the answer settles anybody's property: yes at m = n − 1,
        no at m = 0
    """

    people: int
    threshold: int
    shares: tuple[float, float]
    yes: float
    no: float
    yes_bound: float
    no_bound: float
    person_yes: float
    person_no: float
    entropy: float
    yes_discloses: bool
    no_discloses: bool

    @property
    def epsilon(self) -> float:
        """The PML level of the query: the larger of the two leakages, never below log 2.

        Of two answers one has probability at most ½, so Theorem 3.5 of [SaeidianDisclosure] never
        covers a yes-or-no query as a whole, whatever n: H∞(S_i) is at most log 2. It covers the
        answers one at a time; see :attr:`yes_is_covered`.
        """
        return max(self.yes, self.no)

    @property
    def yes_is_covered(self) -> bool:
        """Whether ℓ(X→1) < H∞(S_i): the answer yes leaves everybody's property uncertain."""
        return self.yes < self.entropy

    @property
    def no_is_covered(self) -> bool:
        """Whether ℓ(X→0) < H∞(S_i): the answer no leaves everybody's property uncertain."""
        return self.no < self.entropy


def threshold_query(
    people: int, threshold: int, share: float | tuple[float, float]
) -> ThresholdQuery:
    """What answering "more than m of n?" without noise leaks, by each of its answers.

    Parameters
    ----------
    people, threshold : n ≥ 1 and 0 ≤ m < n
    share : probability that a person has the property, or a smallest and a largest one

    Raises
    ------
    LevelError
        For numbers outside these ranges.

    Examples
    --------
    >>> query = threshold_query(200, 40, (.3, .7))
    >>> query.yes < query.entropy < query.no
    True
    >>> query.no_discloses
    False
    """
    n = _people(people)
    m = _threshold(threshold, n)
    low, high = _shares(share)
    return ThresholdQuery(
        n,
        m,
        (low, high),
        # P(count > m) rises with p, so each answer is rarest at one end.
        yes=-_log_tail(n, m, low, above=True),
        no=-_log_tail(n, m, high, above=False),
        yes_bound=chernoff_bound(n, m / n, low),
        no_bound=chernoff_bound(n, 1 - (m + 1) / n, 1 - high),
        person_yes=max(person_leakage(n, m, p, True) for p in (low, high)),
        person_no=max(person_leakage(n, m, p, False) for p in (low, high)),
        entropy=min(-math.log(max(p, 1 - p)) for p in (low, high)),
        yes_discloses=m == n - 1,
        no_discloses=m == 0,
    )


def answer_leakage(people: int, threshold: int, share: float, answer: bool) -> float:
    """ℓ(X→y) of the exact answer to "more than m of n?", in nats; see :func:`threshold_query`."""
    query = threshold_query(people, threshold, share)
    return query.yes if answer else query.no


def chernoff_bound(people: int, fraction: float, share: float) -> float:
    """−log(1 − exp(−n D(a‖p))) for a < p, D between Bernoulli distributions; ``inf`` for a ≥ p.

    The bound of [SaeidianDisclosure] Example 3.11 on the leakage of an answer whose opposite is
    that the count is at most a·n: what its Figure 1 shows.
    """
    n, a = _people(people), number(fraction, "fraction", -math.inf, math.inf, ends="()")
    p = number(share, "share", 0, 1)
    if not 0 <= a < p:
        return math.inf
    if p == 1:
        return 0.0
    divergence = (a * math.log(a / p) if a else 0.0) + (1 - a) * math.log((1 - a) / (1 - p))
    exponent = n * divergence
    return math.inf if exponent <= 0 else _minus_log1mexp(exponent)


def person_leakage(people: int, threshold: int, share: float, answer: bool) -> float:
    """ℓ(S_i→y): what the exact answer to "more than m of n?" tells about one person, in nats."""
    n, p = _people(people), _shares(share)[0]
    m = _threshold(threshold, n)
    every = _log_tail(n, m, p, above=answer)
    # A yes is most likely when the person has the property, a no when not.
    most = _log_tail(n - 1, m - 1, p, above=True) if answer else _log_tail(n - 1, m, p, above=False)
    return max(0.0, most - every)


def _minus_log1mexp(x: float) -> float:
    """−log(1 − e^{−x}) for x > 0, accurate at both ends."""
    return -math.log(-math.expm1(-x)) if x < math.log(2) else -math.log1p(-math.exp(-x))


def _log_tail(n: int, m: int, p: float, *, above: bool) -> float:
    """Log P(S > m) or log P(S ≤ m) for S binomial (n, p), from the smaller of the two tails."""
    from scipy.special import logsumexp
    from scipy.stats import binom

    if m < 0:
        return 0.0 if above else -math.inf
    if m >= n:
        return -math.inf if above else 0.0
    low = float(logsumexp(binom.logpmf(np.arange(m + 1), n, p)))
    high = float(logsumexp(binom.logpmf(np.arange(m + 1, n + 1), n, p)))
    mine, other = (high, low) if above else (low, high)
    return -_minus_log1mexp(-other) if other < -math.log(2) else min(mine, 0.0)


# The Laplace mechanism


def laplace_count_bound(people: int, scale: float, margin: float = 0.0) -> float:
    """Sup of ℓ(D_i→y) over y and shares p in (c, 1−c), in nats ([SaeidianDisclosure] Prop 4.6).

    1/(nb) − log(1 − c + c·e^{1/(nb)}), rounded up, for the Laplace mechanism of scale b on the
    fraction of n independent entries that satisfy a predicate. At c = 0 it is the differential
    privacy level 1/(nb); near c = ½ it is about half of it.

    Parameters
    ----------
    people : n
    scale : b > 0, the scale of the noise on the fraction (not on the count)
    margin : c, at least 0 and below ½

    >>> round(laplace_count_bound(100, .02, .0), 6), round(laplace_count_bound(100, .02, .4), 6)
    (0.5, 0.269294)
    """
    n, b, c = _people(people), Fraction(_scale(scale)), Fraction(_margin(margin))
    level = 1 / (n * b)
    if level > LARGEST_LEVEL:
        # −log((1 − c)·e^{−level} + c) is below −log c and below the level.
        return float_at_least(min(level, log_bounds(1 / c)[1]) if c else level)
    return log_upper(1 / (c + (1 - c) / exp_bounds(level)[1]))


def laplace_count_simple_bound(people: int, scale: float, margin: float = 0.0) -> float:
    """(1 − c)/(nb) + c²/(2n²b²), rounded up: a simpler, weaker :func:`laplace_count_bound`."""
    n, b, c = _people(people), Fraction(_scale(scale)), Fraction(_margin(margin))
    return float_at_least((1 - c) / (n * b) + c**2 / (2 * (n * b) ** 2))


def laplace_count_leakage(
    people: int, scale: float, share: float, answers: ArrayLike
) -> NDArray[np.float64]:
    """ℓ(D_i→y) of the Laplace mechanism on a fraction, at given answers y, in nats.

    From the binomial distribution of the count, without simplification. Largest for y outside
    [0, 1] (the bound of Proposition 4.6 is right), although P(y) need not have a single peak.
    """
    from scipy.special import logsumexp
    from scipy.stats import binom

    n, b, p = _people(people), _scale(scale), _shares(share)[0]
    y = np.array([number(v, "answer", -math.inf, math.inf, ends="()") for v in np.ravel(answers)])
    # Beyond the possible fractions an answer tells what their end tells.
    y = np.clip(y, 0.0, 1.0)
    nearest = np.abs(y[:, None] - np.arange(n + 1) / n).min(axis=1, initial=1.0)

    def log_density(size: int, extra: int) -> NDArray[np.float64]:
        """Log of E exp(−|y − (extra + S)/n|/b) for S binomial (size, p)."""
        counts = np.arange(size + 1)
        with np.errstate(over="ignore"):
            away = (np.abs(y[:, None] - (counts + extra) / n) - nearest[:, None]) / b
        found: NDArray[np.float64] = logsumexp(binom.logpmf(counts, size, p) - away, axis=1)
        return found

    ones, zeros = log_density(n - 1, 1), log_density(n - 1, 0)
    either = np.logaddexp(math.log(p) + ones, math.log1p(-p) + zeros)
    return np.maximum(np.maximum(ones, zeros) - either, 0.0)


def _people(value: Any) -> int:
    return whole(value, "people", 1, _MOST_PEOPLE)


def _threshold(value: Any, people: int) -> int:
    return whole(value, "threshold", 0, people - 1)


def _scale(value: Any) -> float:
    return number(value, "scale", 0, math.inf, ends="()")


def _margin(value: Any) -> float:
    return number(value, "margin", 0, 0.5, ends="[)")


def _shares(share: Any) -> tuple[float, float]:
    ends = share if isinstance(share, (tuple, list)) and len(share) == 2 else (share, share)
    remedy = "give a probability, or two of them in rising order"
    low = number(ends[0], "share", 0, 1, ends="()", remedy=remedy)
    return low, number(ends[1], "share", low, 1, ends="[)", remedy=remedy)
