"""What reports of one kernel say of linear questions: unbiased answers with their intervals.

With scores a of reports, K a = v, the sum Σ f_y a_y over frequencies of reports is an unbiased
answer to Σ p_x v_x, and any combination of answers is one again. A ratio of two answers u/w is held
at r where the interval of u − r w holds zero [Fieller1954].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .intervals import Answers, Flags, Positions, Sampling, ends_of, matrix_moments, path_of

Vector = NDArray[np.float64]


def answers_of(groups: Sequence[Observed], weights: Vector | None = None) -> Answers:
    """Answers of groups with the same scores to weighted sums ``(F, K)``, group by group."""
    one = groups[0]
    weights = np.eye(one.scores.shape[1]) if weights is None else weights
    scores, values = one.scores @ weights, one.values @ weights
    fixed = any(np.any(each.sampling.fraction) for each in groups)
    moments = matrix_moments(one.kernel, scores, values, one_sided=fixed)
    frequencies, likely, totals = (
        np.stack([getattr(each, name) for each in groups])
        for name in ("frequencies", "likely", "total")
    )
    path = path_of(one.kernel, frequencies, likely, values, moments)
    parts = {
        name: np.repeat([getattr(each.sampling, name) for each in groups], weights.shape[1])
        for name in vars(one.sampling)
        if name != "variance"
    }
    if one.seen is not None:
        seen = np.stack([each.seen for each in groups if each.seen is not None])
        found = np.einsum("fk,nfg,gk->nk", weights, seen, weights, optimize=True)
        parts["variance"] = np.maximum(found.ravel(), 0.0)
    means, squares = (
        (totals[:, None] * (frequencies @ part)).ravel() for part in (scores, scores**2)
    )
    return Answers(means, path, Sampling(**parts), squares)


def arms_of(groups: Sequence[Observed], alpha: float) -> Vector:
    """Estimates of groups and ends of their intervals, ``(3, G, F)``, as differences need them:
    nothing is moved into what is possible, as what is moved is known better than it seems.
    """
    answers, scores = answers_of(groups), groups[0].scores
    within = [np.tile(end, len(groups)) for end in (scores.min(axis=0), scores.max(axis=0))]
    found = answers.estimates, *answers.limits(alpha, within=within)
    return np.reshape(found, (3, len(groups), -1))


@dataclass(frozen=True, eq=False)
class Observed:
    """Reports of one kernel with scores of F questions.

    Attributes
    ----------
    kernel : ``(N, M)``
    frequencies, likely : ``(M,)`` of reports, by weight, and ``(N,)`` of largest likelihood
    scores, values : ``(M, F)`` and their means given the secrets, ``(N, F)``
    sampling : how reports came to be, without variances
    covariance : ``(F, F)`` of the answers
    seen : the same as far as reports of a survey were seen to vary, ``None`` for a simple sample
    total : sum of the weights over what answers are divided by; 1 but for totals of a population
    """

    kernel: Vector
    frequencies: Vector
    likely: Vector
    scores: Vector
    values: Vector
    sampling: Sampling
    covariance: Vector
    seen: Vector | None = None
    total: float = 1.0

    @cached_property
    def estimates(self) -> Vector:
        """``(F,)`` unbiased answers."""
        return np.asarray(self.total * (self.frequencies @ self.scores))

    def answers(self, weights: Vector | None = None) -> Answers:
        """Answers to weighted sums ``(F, K)`` of the questions, the questions where left out."""
        return answers_of([self], weights)

    def ratios(
        self, above: Vector, below: Vector, alpha: float
    ) -> tuple[Vector, Vector, Vector, Vector]:
        """Ratios of weighted sums ``(F, K)`` of the questions, their errors and interval ends.

        Sums below are shares, of which the one above is some part or a mean.
        """
        share = self.estimates @ below
        values = (self.estimates @ above) / share
        slope = (above - values * below) / share
        errors = np.einsum("fk,fg,gk->k", slope, self.covariance, slope, optimize=True)
        v, w = self.values @ above, self.values @ below
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(w > 0, v / w, np.nan)
        low, high = np.nanmin(each, axis=0), np.nanmax(each, axis=0)

        def tails(r: Vector, one: Positions, is_upper: Flags) -> Vector:
            answers = self.answers(above[:, one] - r * below[:, one])
            # A larger ratio has a smaller difference.
            return answers.tails(np.zeros(len(r)), np.arange(len(r)), is_upper, alpha / 2)

        ends = ends_of(tails, np.clip(values, low, high), low, high, alpha / 2)
        return values, np.sqrt(np.maximum(errors, 0.0)), *ends
