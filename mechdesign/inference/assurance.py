"""How near intervals will be to their estimates, before anything is collected.

An interval is within ± error where both estimate ± error are left out of it. Reports are thought to
come out just as expected, and as in the least favourable surveys that the assurance leaves: with
their frequencies moved towards larger and smaller estimates, and towards a larger spread of scores,
which makes intervals wider. How far is the quantile of the binomial that has the skewness of what
is moved, as events are counted in whole numbers also where few of them are expected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quote
from ..exact import is_whole
from ..kernel import MatrixKernel
from ..numeric import finite_number
from ..prior import Prior
from ..roots import crossings
from ..utility.questions import Question
from .intervals import (
    MOST_MAXIMISED,
    Answers,
    Sampling,
    Vector,
    matrix_moments,
    path_of,
)
from .likelihood import maximise
from .references import CONFIDENCE, rate_of, reference_of

Positions = NDArray[np.intp]

#: Share of surveys whose intervals are as narrow as is said, where nothing is asked.
ASSURANCE = 0.9
#: More reports than these are a slip; relative rounding of variances and of their bounds.
MOST, ROUNDING = 10**15, 1e-9
# So is an error of this share of how far answers can be apart, as ends of intervals are found to a
# hundredth of that.
_FINEST = 1e-7
# Answers with a variance of this share of the largest have intervals that are about the widest.
NEAR = 0.9
# How much farther intervals reach as surveys of more than two outputs vary in other ways besides.
_MORE = 1.003
# Less than this share of the spread is rounding; to this part of a report their number is found.
_NOTHING, _LITTLE = 1e-9, 0.1
_REMEDY = "pass the half-width that intervals should have, such as 0.01"


@dataclass(frozen=True)
class Promise:
    """An error or a number of reports, or both, and how sure they shall be."""

    error: float | None
    reports: int | None
    confidence: float = CONFIDENCE
    assurance: float = ASSURANCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", rate_of(self.confidence))
        sure = finite_number(self.assurance, "assurance", 0.5, 0.9999, remedy="pass 0.9 for 90 %")
        object.__setattr__(self, "assurance", sure)
        if self.error is not None:
            error = finite_number(self.error, "error of a plan", 0, remedy=_REMEDY)
            object.__setattr__(self, "error", error)
        if self.reports is not None and not is_whole(self.reports, 1, MOST):
            raise InputError(
                "reports of a plan",
                expected=f"a positive integer up to {MOST:g}",
                got=quote(self.reports, 40),
                remedy="pass how many reports there will be, such as 10_000",
            )

    @property
    def quantile(self) -> float:
        """How many standard errors normal intervals reach."""
        from scipy.special import ndtri

        return float(-ndtri((1 - self.confidence) / 2))

    @property
    def largest_variance(self) -> float:
        """With which normal intervals keep the error; infinite where it or the reports are open."""
        if self.error is None or self.reports is None:
            return math.inf
        return self.reports * (self.error / self.quantile) ** 2 * (1 + ROUNDING)

    def expected(
        self, mechanism: Any, question: Question, prior: Prior | None
    ) -> tuple[Expected, Expected]:
        """Intervals from reports of a mechanism, and from answers to an open survey."""
        kernel, v, origin = MatrixKernel.of(mechanism), question.centred, question.origin
        scores = kernel.scores(question, reference_of(mechanism, kernel)) - origin
        untold = kernel.untold(question)
        told = np.array([label not in untold for label in question.labels])
        masses = None if prior is None else prior.probabilities
        return (
            Expected(self, kernel.matrix, v, scores, masses, told),
            Expected(self, np.eye(len(v)), v, v, masses, origin=origin),
        )


@dataclass(frozen=True, eq=False)
class Expected:
    """Intervals of F answers to expect.

    Attributes
    ----------
    asked : how sure they shall be; an assurance of one half stands for reports that come out as
        expected
    kernel, values, scores : ``(N, M)``, ``(N, F)``, and ``(M, F)`` with K scores = values
    masses : ``(N,)``; each answer has the distribution where its variance is the largest, where
        they are left out
    told : ``(F,)`` which answers the reports tell; the others have infinite errors
    origin : ``(F,)`` what was taken off the numbers that are asked for
    alike : how many answers have about the widest intervals, where not all of them are here
    """

    asked: Promise
    kernel: Vector
    values: Vector
    scores: Vector
    masses: Vector | None
    told: NDArray[np.bool_] | bool = True
    origin: Vector | float = 0.0
    alike: int = 0

    def __post_init__(self) -> None:
        error, farthest = self.asked.error, float(np.ptp(self.values, axis=0).max()) or 1.0
        if error is not None and not _FINEST * farthest <= error < farthest:
            raise InputError(
                "error of a plan",
                expected=f"at least {_FINEST * farthest:g}, and less than {farthest:g}, as far "
                "apart as answers can be",
                got=quote(error, 40),
                remedy=_REMEDY,
            )

    @cached_property
    def answers(self) -> Vector:
        """``(F,)``"""
        return np.asarray((self._truths * self.values.T).sum(axis=1))

    @cached_property
    def variances(self) -> Vector:
        """``(F,)`` n times the variance of each estimate."""
        return self._where_told((self._frequencies * self._centred**2).sum(axis=1))

    @cached_property
    def keeps(self) -> bool:
        """Whether so many reports keep every interval within ± error, where both are asked."""
        error, reports = self.asked.error, self.asked.reports
        if error is None or reports is None:
            return False
        return bool(self.errors(reports).max() <= error)

    def errors(self, reports: float) -> Vector:
        """``(F,)`` half-widths of the intervals from so many reports."""
        seen, places = self._surveys(reports)
        lower, upper = seen.limits(1 - self.asked.confidence, places)
        estimates = seen.projected[places]
        reach = np.maximum(upper - estimates, estimates - lower).reshape(-1, len(self.answers))
        is_exact = len(reach) == 1 or self.kernel.shape[1] == 2
        return self._where_told(reach.max(axis=0) * (1 if is_exact else _MORE))

    def reports(self, error: float, fewest: int) -> float:
        """The least number, from ``fewest`` on, with which every interval is within ± error."""
        if not np.all(self.told):
            return math.inf

        normal = (self.asked.quantile / error) ** 2 * self.variances.max()
        low, n = fewest, max(fewest, math.ceil(normal))
        while (widest := self.errors(n).max()) > error:
            low, n = n, math.ceil(1.01 * n * (widest / error) ** 2)
        root = crossings(
            lambda x, _: error - np.array([self.errors(one).max() for one in x]),
            np.array([n]),
            np.array([low]),
            _LITTLE / n + ROUNDING,
        )
        n = math.ceil(root[0] - _LITTLE)
        while self.errors(n).max() > error:
            n += math.ceil(ROUNDING * n)
        return n

    def _where_told(self, found: Vector) -> Vector:
        return np.where(self.told, found, np.inf)

    @cached_property
    def _truths(self) -> Vector:
        """``(1, N)``, or ``(F, N)`` without masses."""
        if self.masses is not None:
            return self.masses[None]
        pairs = zip((self.kernel @ self.scores**2).T, self.values.T, strict=True)
        return np.array([_least_favourable(*pair) for pair in pairs])

    @cached_property
    def _frequencies(self) -> Vector:
        return self._truths @ self.kernel

    @property
    def _centred(self) -> Vector:
        return self.scores.T - self.answers[:, None]

    @cached_property
    def _moments(self) -> Vector:
        return matrix_moments(self.kernel, self.scores, self.values, one_sided=False)

    def _surveys(self, n: float) -> tuple[Answers, Positions]:
        """Surveys of n reports, and where each answer is in each of them."""
        from scipy.special import bdtrik

        # Answers of about the widest intervals share what may fail; two symbols have one.
        v = np.nan_to_num(self.variances, posinf=0)
        near = self.alike or ((v >= NEAR * v.max()).sum() if len(self.values) > 2 else 1)
        # Directions of variance one, or none, that frequencies are moved in.
        f, a = self._frequencies, self._centred / np.sqrt(np.where(v > 0, v, np.inf))[:, None]
        wide = a**2 - (f * a**2).sum(axis=1, keepdims=True)
        moved = np.stack([0 * a, a, -a, wide])[: 1 if self.asked.assurance == 0.5 else 4]
        moved /= np.maximum(np.sqrt((f * moved**2).sum(axis=2, keepdims=True)), _NOTHING)
        skewness = (f * moved**2 * moved).sum(axis=2)
        r = np.sqrt(4 + skewness**2)
        small = 2 / (r * (r + np.abs(skewness)))
        heads = np.where(skewness > 0, small, 1 - small)
        whole = np.ceil(bdtrik(1 - (1 - self.asked.assurance) / near, float(n), heads) - 1e-9)
        rows = f * (1 + ((whole / n - heads) * r)[:, :, None] * moved)
        rows = np.maximum(rows, 0).reshape(heads.size, -1)
        rows /= rows.sum(axis=1, keepdims=True)
        places = np.arange(len(rows))
        grid = places * len(v) + places % len(v)
        means, squares = ((rows @ part).ravel() for part in (self.scores, self.scores**2))
        if len(self.kernel) <= MOST_MAXIMISED:
            likely, places = maximise(self.kernel, rows)[0], grid
        else:
            likely = np.tile(self._truths.mean(axis=0), (len(moved), 1))
            means, squares = means[grid], squares[grid]
        path = path_of(self.kernel, rows, likely, self.values, self._moments)
        return Answers(means, path, Sampling(n), squares), places


def _least_favourable(second: Vector, v: Vector) -> Vector:
    """The p of the largest Σ p_x s_x − (Σ p_x v_x)².

    At a given mean the first part is largest on at most two symbols, so pairs suffice, of the
    largest one for each value.
    """
    order = np.lexsort((second, v))
    some = order[np.append(np.diff(v[order]) != 0, True)]
    (t, s), (w, u) = (np.meshgrid(x, x) for x in (second[some], v[some]))
    slope, square = t - s - 2 * u * (w - u), (w - u) ** 2
    share = np.clip(slope / np.where(square > 0, 2 * square, np.inf), 0, 1)
    value = s - u**2 + share * (slope - share * square)
    pair = np.unravel_index(value.argmax(), value.shape)
    return np.bincount(some[np.array(pair)], [1 - share[pair], share[pair]], len(v)).astype(float)
