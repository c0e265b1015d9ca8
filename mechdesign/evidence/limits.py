"""Exact confidence limits on likelihoods of outcomes, all at once.

Reports are counted by input: of n_x reports about the symbol x, the outcome y has n_xy. A
hypothesis μ gives y the likelihood q(y) = Σ_x μ_x K[x,y]. Its limits are inverted tests. With the
estimate s(y) = Σ_x μ_x n_xy/n_x, a likelihood q is left out

* for a point mass, where the binomial tail beyond n_xy is at most the error allowed
  ([ClopperPearson1934]);
* for a mixture, where exp(−m·D(s‖q)) is, with m = min_x n_x/μ_x and the divergence D between two
  coins. That this bounds the tail is Theorem 1 of [Hoeffding1963] for strata of unequal weight:
  Z = e^(−λ·coin) has E[Z^a]^(1/a) growing in a, so each stratum may be given the weight of the
  heaviest report, and the mean of logarithms is at most the logarithm of the mean.

The error that a hypothesis is allowed is divided over its outcomes by the very likelihood that is
tested: q is left out at the error α·q. Likelihoods of all outcomes add up to one, so the errors add
up to α, however many outcomes there are, seen or not; nobody has to know them beforehand
(a union bound with weights, [Genovese2006]). Where all M outcomes are known, half of the error is
divided equally: α(q + 1/M)/2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Test = Callable[[Array], NDArray[np.bool_]]

# Halvings of an interval; what is left of it lies on the safe side, however few they are.
STEPS = 56
# Room for the rounding of the special functions: the error allowed is lowered by this part of it.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Weights:
    """A hypothesis: positions of symbols and their masses, which add up to one."""

    support: NDArray[np.intp]
    masses: Array

    def estimate(self, counts: Array, totals: Array) -> Array:
        """Σ_x μ_x n_xy/n_x for each outcome, ``(M,)``."""
        found: Array = (self.masses / totals[self.support]) @ counts[self.support]
        return found

    def effective(self, totals: Array) -> float:
        """min_x n_x/μ_x: as many reports of one coin would be as exact."""
        return float((totals[self.support] / self.masses).min())


@dataclass(frozen=True)
class Error:
    """The error that one side of one hypothesis is allowed, and how outcomes share it.

    Attributes
    ----------
    total : of all outcomes together
    outcomes : how many outcomes there are, ``None`` where that is not known
    """

    total: float
    outcomes: int | None = None

    def at(self, likelihood: Array) -> Array:
        """The error allowed to a test of each likelihood."""
        share = likelihood
        if self.outcomes is not None:
            share = (likelihood + 1 / self.outcomes) / 2
        return self.total * (1 - _ROUNDING) * share


def likelihood_limits(
    counts: Array, totals: Array, hypotheses: Sequence[Weights], error: Error, steps: int = STEPS
) -> tuple[Array, Array]:
    """Lower and upper limits on the likelihood of each outcome, ``(H, M)`` each.

    Parameters
    ----------
    counts : ``(N, M)`` reports of each outcome by input
    totals : ``(N,)`` reports about each input, all positive where a hypothesis needs them
    hypotheses : H hypotheses
    error : allowed to each side of each hypothesis, so that all ``2·H·M`` limits hold at once with
        probability at least ``1 − 2·H·error.total``
    steps : halvings that each limit is found by
    """
    lower = np.zeros((len(hypotheses), counts.shape[1]))
    upper = np.ones_like(lower)
    points = [i for i, found in enumerate(hypotheses) if len(found.support) == 1]
    if points:
        rows = np.array([hypotheses[i].support[0] for i in points])
        lower[points], upper[points] = _binomial_limits(
            counts[rows], totals[rows][:, None], error, steps
        )
    for i, found in enumerate(hypotheses):
        if len(found.support) > 1:
            share = found.estimate(counts, totals)
            lower[i], upper[i] = _coin_limits(share, found.effective(totals), error, steps)
    return lower, upper


def _binomial_limits(counts: Array, totals: Array, error: Error, steps: int) -> tuple[Array, Array]:
    """Clopper-Pearson limits at an error that grows with the likelihood; equal counts once."""
    pairs = np.stack([counts.ravel(), np.broadcast_to(totals, counts.shape).ravel()])
    (seen, size), back = np.unique(pairs, axis=1, return_inverse=True)
    back = back.reshape(counts.shape)
    share = seen / size

    def beyond(q: Array) -> NDArray[np.bool_]:
        tail = special.betainc(np.maximum(seen, 1e-9), size - seen + 1, q)
        return np.asarray((seen > 0) & (tail <= error.at(q)))

    def below(q: Array) -> NDArray[np.bool_]:
        tail = special.betaincc(seen + 1, np.maximum(size - seen, 1e-9), q)
        return np.asarray((seen < size) & (tail <= error.at(q)))

    lower, upper = _left_out(beyond, below, share, steps)
    return lower[back], upper[back]


def _coin_limits(share: Array, size: float, error: Error, steps: int) -> tuple[Array, Array]:
    """Limits from exp(−size·D(share‖q)), at an error that grows with q."""

    def tail(q: Array) -> Array:
        divergence = special.rel_entr(share, q) + special.rel_entr(1 - share, 1 - q)
        return np.asarray(np.exp(-size * divergence))

    return _left_out(
        lambda q: np.asarray((share > 0) & (tail(q) <= error.at(q))),
        lambda q: np.asarray((share < 1) & (tail(q) <= error.at(q))),
        share,
        steps,
    )


def _left_out(is_too_low: Test, is_too_high: Test, share: Array, steps: int) -> tuple[Array, Array]:
    """Ends of what two tests leave: each rejects an interval that begins at 0, or at 1.

    A tail is convex and then concave in q, and the error allowed is affine, so that the one passes
    the other once; halving an interval keeps its rejected end.
    """
    low, inner = np.zeros_like(share), share.copy()
    high, outer = np.ones_like(share), share.copy()
    for _ in range(steps):
        middle = (low + inner) / 2
        rejected = is_too_low(middle)
        low, inner = np.where(rejected, middle, low), np.where(rejected, inner, middle)
        middle = (high + outer) / 2
        rejected = is_too_high(middle)
        high, outer = np.where(rejected, middle, high), np.where(rejected, outer, middle)
    return low, high
