"""What reports of one kernel say of linear questions: unbiased answers with their intervals.

With scores a of reports, K a = v, the sum Σ f_y a_y over frequencies of reports is an unbiased
answer to Σ p_x v_x, and any combination of answers is one again. A ratio of two answers u/w is held
at r where the interval of u − r w holds zero [Fieller1954].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .intervals import (
    BOTH,
    SECOND,
    SQUARE,
    Answers,
    Flags,
    Positions,
    Sampling,
    ends_of,
    matrix_moments,
    path_of,
)
from .surveys import at_least

Vector = NDArray[np.float64]


def answers_of(groups: Sequence[Observed], weights: Vector | None = None) -> Answers:
    """Answers of groups with the same scores to weighted sums ``(F, K)``, group by group."""
    one = groups[0]

    def summed(part: Vector) -> Vector:
        return part if weights is None else part @ weights

    scores, values, origin = map(summed, (one.scores, one.values, one.origin))
    is_fixed = any(each.sampling.fraction for each in groups)
    moments = matrix_moments(one.kernel, scores, values, one_sided=is_fixed)
    frequencies, likely, heavy, totals = (
        np.stack([getattr(each, name) for each in groups])
        for name in ("frequencies", "likely", "heavy", "total")
    )
    path = path_of(one.kernel, frequencies, likely, values, moments)
    sampling: dict[str, Any] = {
        name: np.repeat([getattr(each.sampling, name) for each in groups], values.shape[1])
        for name in vars(one.sampling)
    }
    noise = moments[SECOND] - moments[SQUARE]
    of_all, of_heavy = likely @ noise, heavy @ noise
    more = np.divide(of_heavy, of_all, out=np.ones_like(of_all), where=of_all > 0)
    seen = [np.diagonal(summed(summed(each.seen).T)) for each in groups if each.seen is not None]
    variance = np.maximum(np.concatenate(seen), 0.0) if seen else None
    sampling.update(noise=more.ravel(), variance=variance)
    means, squares = (
        (totals[:, None] * (frequencies @ part)).ravel() for part in (scores, scores**2)
    )
    ends = np.tile(origin, len(groups))
    return Answers(means + ends, path, Sampling(**sampling), squares, ends)


def arms_of(groups: Sequence[Observed], alpha: float) -> Vector:
    """Estimates of groups and ends of their intervals, ``(3, G, F)``, as differences need them:
    nothing is moved into what is possible, as what is moved is known better than it seems.
    """
    answers, scores = answers_of(groups), groups[0].scores + groups[0].origin
    within = [np.tile(end, len(groups)) for end in (scores.min(axis=0), scores.max(axis=0))]
    found = answers.estimates, *answers.limits(alpha, within=within)
    return np.reshape(found, (3, len(groups), -1))


def roots(covariance: Vector) -> Vector:
    """Standard errors of a covariance, whose variances rounding may leave below zero."""
    return np.asarray(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))


def _products(masses: Vector, parts: Vector) -> Vector:
    return parts.T @ (masses[:, None] * parts)


@dataclass(frozen=True, eq=False)
class Observed:
    """Reports of one kernel with scores of F questions.

    Attributes
    ----------
    kernel : ``(N, M)``
    frequencies : ``(M,)`` of reports, by weight
    likely, heavy : ``(N,)`` of largest likelihood, by weight and by squared weights: of all, and of
        those whom noise comes from
    scores, values : ``(M, F)`` and their means given the secrets, ``(N, F)``, less the origin
    sampling : how reports came to be, without variances
    origin : ``(F,)`` what is taken off them, zero for totals of weights that are left to chance
    between : ``(F, F)`` covariance of the answers as reports of a survey were seen to vary,
        ``None`` for a simple sample, and where all that is left to chance is what mechanisms draw
    total : sum of the weights over what answers are divided by; 1 but for totals of a population
    spread : ``(F, F)`` covariance of what people count for, that at the likeliest shares if left
        out
    is_likely : whether answers are those of largest likelihood, or unbiased
    """

    kernel: Vector
    frequencies: Vector
    likely: Vector
    heavy: Vector
    scores: Vector
    values: Vector
    sampling: Sampling
    origin: Vector
    between: Vector | None = None
    total: float = 1.0
    spread: Vector | None = None
    is_likely: bool = False

    @cached_property
    def noise(self) -> Vector:
        """``(F, F)`` covariance of the answers that the mechanism alone leaves."""
        found = _products(self.heavy @ self.kernel, self.scores)
        return np.asarray(found - _products(self.heavy, self.values)) / self.sampling.size

    @cached_property
    def covariance(self) -> Vector:
        """``(F, F)`` of the answers, no less than what is known of it."""
        noise, fraction, spread = self.noise, self.sampling.fraction, self.spread
        if self.between is not None:
            return at_least(self.between, (1 - fraction) * noise) + fraction * noise
        if spread is None:
            away = self.values - self.likely @ self.values
            spread = _products(self.likely, away)
        return np.asarray(noise + (1 - fraction) * (spread / self.sampling.size))

    @property
    def seen(self) -> Vector | None:
        """The same as far as reports of a survey were seen to vary."""
        return None if self.between is None else self.between + self.sampling.fraction * self.noise

    @cached_property
    def estimates(self) -> Vector:
        """``(F,)`` answers: unbiased, or those of largest likelihood, which are possible."""
        if self.is_likely:
            return np.asarray(self.likely @ self.values + self.origin)
        return np.asarray(self.total * (self.frequencies @ self.scores) + self.origin)

    def answers(self, weights: Vector | None = None) -> Answers | FromOthers:
        """Answers to weighted sums ``(F, K)`` of the questions, or to these as they are."""
        found = answers_of([self], weights)
        if not self.is_likely:
            return found
        held = self.estimates if weights is None else self.estimates @ weights
        return around(found, held)

    def ratios(self, above: Vector, below: Vector) -> tuple[Vector, Vector]:
        """Ratios of weighted sums ``(F, K)`` of the questions, and their errors.

        Sums below are shares, of which the one above is some part or a mean.
        """
        share = self.estimates @ below
        values = (self.estimates @ above) / share
        slope = (above - values * below) / share
        errors = np.einsum("fk,fg,gk->k", slope, self.covariance, slope, optimize=True)
        return values, np.sqrt(np.maximum(errors, 0.0))

    def ratio_limits(
        self, above: Vector, below: Vector, alpha: float, sides: tuple[bool, bool] = BOTH
    ) -> tuple[Vector, Vector]:
        """Ends of the intervals of ratios, as of :meth:`Answers.limits`."""
        v, w = ((self.values + self.origin) @ part for part in (above, below))
        each = np.divide(v, w, out=np.full_like(v, np.nan), where=w > 0)
        low, high = np.nanmin(each, axis=0), np.nanmax(each, axis=0)
        tail = alpha / sum(sides)

        def tails(r: Vector, one: Positions, is_upper: Flags) -> Vector:
            answers = answers_of([self], above[:, one] - r * below[:, one])
            # A larger ratio has a smaller difference.
            return answers.tails(np.zeros(len(r)), np.arange(len(r)), is_upper, tail)

        middle = np.clip(self.ratios(above, below)[0], low, high)
        lower, upper = ends_of(tails, middle, low, high, tail)
        return lower if sides[0] else low, upper if sides[1] else high


@dataclass(frozen=True, eq=False)
class FromOthers:
    """Answers whose intervals are made of those of others: differences, and conditional shares.

    Attributes
    ----------
    projected : estimates moved into what is possible, which intervals hold
    low, high : the least and the most that answers can be
    both : ends of intervals that miss with a probability, half of it on either side
    arms : what they are made of
    """

    projected: Vector
    low: Vector
    high: Vector
    both: Callable[[float], tuple[Vector, Vector]]
    arms: Sequence[Answers | FromOthers] = ()

    def limits(
        self, alpha: float = 0.05, *, sides: tuple[bool, bool] = BOTH
    ) -> tuple[Vector, Vector]:
        """As :meth:`Answers.limits`."""
        lower, upper = self.both(2 * alpha / sum(sides))
        lower, upper = np.minimum(lower, self.projected), np.maximum(upper, self.projected)
        return (
            np.maximum(lower, self.low) if sides[0] else self.low,
            np.minimum(upper, self.high) if sides[1] else self.high,
        )

    def outside(self) -> Vector:
        """Probabilities that one of the two arms lies as far outside of what is possible."""
        found = [len(self.arms) * arm.outside() for arm in self.arms]
        return np.asarray(np.min([np.ones(len(self.low)), *found], axis=0))


def around(answers: Answers, held: Vector) -> FromOthers:
    """The same intervals, which hold other answers."""
    return FromOthers(held, answers.low, answers.high, answers.limits)
