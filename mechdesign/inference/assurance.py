"""How near intervals will be to their estimates, before anything is collected.

An interval is within ± error where both estimate ± error are left out of it. Reports are thought to
come out just as expected, and as in the least favourable surveys that the assurance leaves: with
their frequencies moved towards larger and smaller estimates, and towards a larger spread of scores,
which makes intervals wider. How far is the quantile of the binomial that has the skewness of what
is moved, as events are counted in whole numbers also where few of them are expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from ..roots import crossings
from .intervals import (
    MOST_MAXIMISED,
    SECOND,
    SQUARE,
    THIRD,
    Answers,
    Mixed,
    Path,
    Sampling,
    Vector,
    path_of,
)
from .likelihood import maximise

Positions = NDArray[np.intp]

# The least error that is told from none, relative to what answers can be, and how exactly.
_LEAST, _EXACTLY = 1e-15, 1e-10


@dataclass(frozen=True, eq=False)
class Expected:
    """Intervals of F answers to expect, each at a distribution of its own.

    Attributes
    ----------
    kernel, values, scores : ``(N, M)``, ``(N, F)``, and ``(M, F)`` with K scores = values
    truths : ``(F, N)``
    alpha : how often intervals may miss
    assurance : in what share of surveys they are as narrow as is said; one half stands for reports
        that come out as expected
    """

    kernel: Vector
    values: Vector
    scores: Vector
    truths: Vector
    alpha: float
    assurance: float

    @cached_property
    def variances(self) -> Vector:
        """``(F,)`` n times the variance of each estimate."""
        return np.asarray((self._frequencies * self._centred**2).sum(axis=1))

    @cached_property
    def answers(self) -> Vector:
        """``(F,)``"""
        return np.einsum("fn,nf->f", self.truths, self.values)

    def errors(self, reports: float) -> Vector:
        """``(F,)`` half-widths of the intervals from so many reports."""
        span = np.ptp(self.values, axis=0)
        which = np.flatnonzero(span)
        slack, most = self._slack(reports, which), np.log(span[which])
        found = np.zeros(len(span))
        found[which] = np.exp(
            crossings(lambda t, k: slack(np.exp(t), k), most, most + np.log(_LEAST), _EXACTLY)
        )
        return found

    def keep(self, error: float, reports: float) -> bool:
        """Whether so many reports keep every interval within ± error."""
        return bool(self._spare(error)(reports) >= 0)

    def reports(self, error: float, fewest: int) -> int:
        """The least number, from ``fewest`` on, with which every interval is within ± error."""
        spare, z = self._spare(error), normal_quantile(self.alpha)
        low, n = fewest, max(fewest, math.ceil(z**2 * self.variances.max() / error**2))
        while spare(n) < 0:
            low, n = n, max(n + 1, math.ceil(n * (z / max(spare(n) + z, z / 2)) ** 2))
        if n == fewest or (low == fewest and spare(low) >= 0):
            return fewest
        root = crossings(
            lambda x, _: np.array([spare(round(one)) for one in x.tolist()]),
            np.array([float(n)]),
            np.array([float(low)]),
            max(0.2 / (n - low), _EXACTLY),
        )
        n = round(float(root[0]))
        while spare(n) < 0:
            n += 1
        return n

    def _spare(self, error: float) -> Callable[[float], float]:
        """The least slack of all answers, by numbers of reports that grow from call to call."""
        which = np.flatnonzero(np.ptp(self.values, axis=0) > error)

        @cache
        def spare(n: float) -> float:
            nonlocal which
            found = self._slack(n, which)(np.full(len(which), error), np.arange(len(which)))
            least = float(found.min(initial=np.inf))
            if least < 0:
                # Answers that take far fewer reports than others are asked no more.
                which = which[found < least + 0.5]
            return least

        return spare

    @cached_property
    def _frequencies(self) -> Vector:
        return self.truths @ self.kernel

    @cached_property
    def _centred(self) -> Vector:
        return self.scores.T - self.answers[:, None]

    @cached_property
    def _moments(self) -> Vector:
        """Moments of scores, as far as intervals for a population ask for them."""
        found = np.zeros((6, *self.values.shape))
        found[SECOND] = found[SQUARE] = self.kernel @ self.scores**2
        found[THIRD] = self.kernel @ (self.scores**2 * self.scores)
        return found

    @cached_property
    def _directions(self) -> tuple[Vector, Vector]:
        """Where frequencies are moved, ``(4, F, M)`` of variance one or zero, and the skewness."""
        f, a = self._frequencies, self._centred
        wide = a**2
        if len(self.kernel) <= MOST_MAXIMISED:
            # Likeliest distributions tell the spread as well as anything that has its mean.
            odds = self.kernel / np.where(f > 0, f, np.inf)[:, None]
            system = np.linalg.pinv(odds @ self.kernel.T, hermitian=True)
            wide = np.einsum("fnm,fnk,fk->fm", odds, system, wide @ self.kernel.T, optimize=True)
        wide = wide - (f * wide).sum(axis=1, keepdims=True)
        moved = np.stack([0 * a, a, -a, wide])[: 1 if self.assurance == 0.5 else 4]
        spread = np.sqrt((f * moved**2).sum(axis=2, keepdims=True))
        nothing = spread <= 1e-9 * (self.variances[:, None] + spread)
        moved = np.where(nothing, 0, moved / np.where(nothing, 1, spread))
        return moved, (f * moved**2 * moved).sum(axis=2)

    def _slack(self, n: float, which: Positions) -> Callable[[Vector, Positions], Vector]:
        """By how many standard deviations intervals leave out the estimate ± errors ``(K,)``, of
        some of the answers by their position in ``which``.
        """
        directions, skewness = self._directions
        far = self._quantiles(n, skewness[:, which]) / math.sqrt(n)
        rows = directions[:, which] * far[:, :, None]
        rows += 1
        rows *= self._frequencies[which]
        np.maximum(rows, 0, out=rows)
        rows /= rows.sum(axis=2, keepdims=True)
        path, places = self._path(rows, which)
        means = np.zeros((2, places.max(initial=-1) + 1))
        for mean, power in zip(means, (1, 2), strict=True):
            mean[places] = np.einsum("skm,mk->sk", rows, self.scores[:, which] ** power)
        seen = Answers(means[0], path, Sampling(n), means[1])
        z = normal_quantile(self.alpha)

        def slack(error: Vector, some: Positions) -> Vector:
            from scipy.special import ndtri

            where = np.stack([places[:, some]] * 2)
            t = seen.projected[where] + np.stack([-error, error])[:, None]
            above = np.zeros(t.shape, bool)
            above[0] = True
            inside = (t > path.low[where]) & (t < path.high[where])
            tails = np.zeros(t.shape)
            tails[inside] = seen.tails(t[inside], where[inside], above[inside])
            return np.asarray((-ndtri(tails) - z).min(axis=(0, 1)))

        return slack

    def _quantiles(self, n: float, skewness: Vector) -> Vector:
        """In standard deviations, of the number of heads of n coins, each with a skewness."""
        from scipy.special import bdtrik

        r = np.sqrt(4 + skewness**2)
        small = 2 / (r * (r + np.abs(skewness)))
        heads = np.where(skewness > 0, small, 1 - small)
        spread = np.sqrt(n * small * (1 - small))
        whole = np.ceil(bdtrik(self.assurance, n, heads) - 1e-9)
        return np.asarray((whole - n * heads) / spread)

    def _path(self, rows: Vector, which: Positions) -> tuple[Path, Positions]:
        """A path for each survey of reports, ``(S, K, M)``, and where its question is."""
        moments, values = self._moments[:, :, which], self.values[:, which]
        surveys, count, _ = rows.shape
        if count and len(values) <= MOST_MAXIMISED:
            seen = rows.reshape(surveys * count, -1)
            likely = maximise(self.kernel, seen)[0]
            path = path_of(self.kernel, seen, likely, values, moments)
            places = np.arange(surveys * count) * count + np.tile(np.arange(count), surveys)
            return path, places.reshape(surveys, count)
        scores, ends = self.scores.T[which], []
        centre, second, third = (
            np.einsum("skm,km->sk", rows, part) for part in (scores, scores**2, scores**2 * scores)
        )
        for end in (values.min(axis=0), values.max(axis=0)):
            there = np.where(values == end, self.truths[which].T, 0)
            there = np.where(there.any(axis=0), there, values == end)
            ends.append(np.einsum("nk,xnk->xk", there / there.sum(axis=0), moments))
        base = np.zeros((6, surveys * count))
        base[SECOND] = base[SQUARE] = second.ravel()
        base[THIRD] = third.ravel()
        low, high, bottom, top = (
            np.tile(one, surveys) for one in (values.min(axis=0), values.max(axis=0), *ends)
        )
        path = Mixed(centre.ravel(), low, high, base, bottom, top)
        return path, np.arange(surveys * count).reshape(surveys, count)


def normal_quantile(alpha: float) -> float:
    """The two-sided quantile of the normal distribution."""
    from scipy.special import ndtri

    return float(-ndtri(alpha / 2))
