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

from ..roots import crossings
from .intervals import Answers, Sampling, matrix_moments, path_of, standing

Vector = NDArray[np.float64]


def answers_of(groups: Sequence[Observed], weights: Vector | None = None) -> Answers:
    """Answers of groups with the same scores to weighted sums ``(F, K)``, group by group."""
    one = groups[0]
    weights = np.eye(one.scores.shape[1]) if weights is None else weights
    scores, values = one.scores @ weights, one.values @ weights
    one_sided = any(np.any(each.sampling.fraction) for each in groups)
    moments = matrix_moments(one.kernel, scores, values, one_sided=one_sided)
    frequencies, likely = (
        np.stack([getattr(each, name) for each in groups]) for name in ("frequencies", "likely")
    )
    sizes = np.array([float(each.sampling.size) for each in groups])
    path = path_of(one.kernel, frequencies, likely, values, moments, sizes)
    estimates = np.concatenate([each.estimates @ weights for each in groups])
    variance = None
    if one.seen is not None:
        seen = np.stack([each.seen for each in groups if each.seen is not None])
        found = np.einsum("fk,nfg,gk->nk", weights, seen, weights, optimize=True)
        variance = np.maximum(found.ravel(), 0.0)
    count = weights.shape[1]
    names = ("size", "skewness", "fraction", "clusters")
    parts = {
        name: np.repeat([getattr(each.sampling, name) for each in groups], count).astype(float)
        for name in names
    }
    sampling = Sampling(**parts, variance=variance, freedom=one.sampling.freedom)
    return Answers(estimates, path, sampling)


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
        count = len(values)
        middle = np.clip(values, low, high)

        def kept(r: Vector, places: NDArray[np.intp]) -> Vector:
            one = places % count
            answers = self.answers(above[:, one] - r * below[:, one])
            zero, which = np.zeros(len(r)), np.arange(len(r))
            # A larger ratio has a smaller difference.
            return standing(answers.tails(zero, which, places < count), alpha / 2)

        ends = crossings(kept, np.concatenate([middle] * 2), np.concatenate([low, high]))
        lower, upper = np.minimum(ends[:count], middle), np.maximum(ends[count:], middle)
        return values, np.sqrt(np.maximum(errors, 0.0)), lower, upper
