"""The one interval of every estimate, also at rare answers and few reports.

A report y of a secret x scores a_y, with mean v_x, so that the mean of scores is an unbiased answer
t = Σ θ_x v_x. An answer t is kept where a binomial of the same mean, variance and third moment as
scores have at the likeliest distribution with that answer, θ_t, comes out as far as the estimate
with a probability of at least α/2 on either side. Where scores have two values that is the
interval of [ClopperPearson1934]. The estimate is first moved into the range of possible answers, so
that some answer is always kept.

With s² the variance and m₃ the third central moment at θ_t, g = m₃/s³, r = √(4 + g²) and
ρ = (1 − g/r)/2, the coin falls by steps of c = r s, and the estimate e is X = n(e − t)/c + nρ heads
out of n: P(S ≥ e) = I_ρ(X, n − X + 1) with the incomplete beta function.

Few reports of many symbols are explained best by distributions that fit them too well, and under
which scores vary less than they do. Squares of scores were seen, and their mean Σ f_y a_y² says
without bias what it is at the truth; at an answer t it is that moved by the covariance of squares
and scores at θ_t. The second moment is taken to be no less.

For these people alone, whose secrets are what they are, s² is what the mechanism adds, Σ θ_x ν_x,
and the third moment counts one side only. Where people weigh differently it adds what it adds to
those who weigh most: θ are then shares by squared weights, as far as reports tell them apart. In a
survey n is Kish's effective number of reports, made smaller by the design effect as far as it was
seen, and by whole clusters alike as far as it was not (:class:`Sampling`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..roots import crossings
from .likelihood import maximise

Vector = NDArray[np.float64]
Positions = NDArray[np.intp]
Flags = NDArray[np.bool_]
Numbers = Vector | float

# Rows of the moments of scores: second and third, square and cube of what they stand for, and the
# third central moments of either side given the secret.
SECOND, THIRD, SQUARE, CUBE, UP, DOWN = range(6)
#: The sides of intervals with two ends.
BOTH = (True, True)
#: More symbols than these have the others' shares scaled, where fewer have them maximised.
MOST_MAXIMISED = 40
# Distance from the end of what is possible at which distributions are maximised, relative to it.
_EDGE = 1e-9
# A mass beside which any other is the whole.
_NOBODY = 1e-200
# Moments that differ less, relative to the largest, are the same.
_ROUNDING = 1e-14
_SAME = 1e-9
# The largest probability beyond an end of an interval.
_HALF = 0.5 - 1e-7


def matrix_moments(
    kernel: Vector, scores: Vector, values: Vector, *, one_sided: bool = True
) -> Vector:
    """Moments ``(6, N, F)`` of scores ``(M, F)`` whose means given the secrets are ``(N, F)``.

    Those of one side are zero where they are not asked for.
    """
    found = np.zeros((6, *values.shape))
    found[THIRD], found[SQUARE], found[CUBE] = kernel @ scores**3, values**2, values**3
    # The mechanism's own noise is no less than nothing.
    found[SECOND] = np.maximum(kernel @ scores**2, found[SQUARE])
    for value in np.unique(values) if one_sided else ():
        is_it = values == value
        rows = np.flatnonzero(is_it.any(axis=1))
        for row, sign in ((UP, 1), (DOWN, -1)):
            part = kernel[rows] @ np.maximum(sign * (scores - value), 0) ** 3
            found[row, rows] += is_it[rows] * part
    return found


@dataclass(frozen=True)
class Mixed:
    """Distributions of secrets for each answer to F questions: a first one mixed with the part of
    it where answers are largest, or smallest.

    For a share that scales the shares of all others, which is cheap for many symbols.

    Attributes
    ----------
    centre : ``(F,)`` answers of the first distribution
    low, high : ``(F,)`` the least and the most that answers can be
    base, bottom, top : ``(6, F)`` moments at the first distribution, and at the two ends
    """

    centre: Vector
    low: Vector
    high: Vector
    base: Vector
    bottom: Vector
    top: Vector

    def moments(self, t: Vector, which: Positions) -> Vector:
        """Moments of scores, ``(6, J)``, at answers ``(J,)`` to the questions ``(J,)``."""
        centre, up = self.centre[which], t >= self.centre[which]
        end = np.where(up, self.high[which], self.low[which])
        share = np.clip((t - centre) / np.where(end == centre, 1, end - centre), 0, 1)
        ends = np.where(up, self.top[:, which], self.bottom[:, which])
        return np.asarray((1 - share) * self.base[:, which] + share * ends)

    @classmethod
    def of(cls, first: Vector, values: Vector, moments: Vector) -> Mixed:
        """From distributions ``(G, N)``, values ``(N, F)`` and moments ``(6, N, F)``."""
        groups, low, high = len(first), values.min(axis=0), values.max(axis=0)
        # Where nobody is at an end, all who could be are alike.
        some = first + _NOBODY
        parts = [np.einsum("gn,knf->kgf", first, moments)]
        for there in (1.0 * (values == low), 1.0 * (values == high)):
            part = np.einsum("gn,nf,knf->kgf", some, there, moments, optimize=True)
            parts.append(part / (some @ there))
        ends = np.tile(low, groups), np.tile(high, groups)
        return cls((first @ values).ravel(), *ends, *(part.reshape(6, -1) for part in parts))


@dataclass(frozen=True)
class Likeliest(Mixed):
    """The distribution of largest likelihood among those with the answer.

    Where moments are the same at every distribution with the answer, none is looked for.

    Attributes
    ----------
    kernel, frequencies : ``(N, M)``, and ``(G, M)`` of reports of each of G groups
    values, by_symbol : ``(N, F)`` of the questions, and ``(6, N, F)`` of :func:`matrix_moments`;
        there are G·F questions, group by group
    """

    kernel: Vector
    frequencies: Vector
    values: Vector
    by_symbol: Vector

    @cached_property
    def _varies(self) -> Flags:
        """Which questions' moments are no linear function of the answer."""
        v, m = (part - part.mean(axis=-2, keepdims=True) for part in (self.values, self.by_symbol))
        square = (v**2).sum(axis=0)
        slope = (m * v).sum(axis=1) / np.where(square > 0, square, 1)
        away = np.abs(m - slope[:, None] * v).max(axis=1)
        most = _SAME * np.abs(self.by_symbol).max(axis=1)
        return np.asarray((away > most).any(axis=0) & (square > 0))

    def distributions(self, t: Vector, which: Positions) -> Vector:
        """``(J, N)``"""
        group, question = np.divmod(which, self.values.shape[1])
        values, low, high = self.values.T[question], self.low[which], self.high[which]
        edge = _EDGE * (high - low)
        inner = np.clip(t, low + edge, high - edge)
        tilts = values - inner[:, None]
        tilts /= np.abs(tilts).max(axis=1, keepdims=True)
        found = maximise(self.kernel, self.frequencies[group], tilts)[0]
        # Answers closer to an end are met exactly as well: a third moment of little noise is less
        # than what a billionth at the other end adds to it.
        there = found * (values == np.where(t < inner, low, high)[:, None])
        there /= np.maximum(there.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return found + (np.abs(inner - t) / edge)[:, None] * (there - found)

    def moments(self, t: Vector, which: Positions) -> Vector:
        """Moments of scores, ``(6, J)``."""
        found, question = super().moments(t, which), which % self.values.shape[1]
        far = np.flatnonzero(self._varies[question])
        if far.size:
            likely = self.distributions(t[far], which[far])
            found[:, far] = np.einsum("jn,knj->kj", likely, self.by_symbol[:, :, question[far]])
        return found


#: What says how scores are distributed at each answer.
Path = Mixed


def path_of(
    kernel: Vector, frequencies: Vector, likely: Vector, values: Vector, moments: Vector
) -> Path:
    """Paths of F questions to each of G groups, whose frequencies are ``(G, M)``.

    Likeliest distributions where symbols are few, mixtures with the likeliest one of all else.
    """
    mixed = Mixed.of(likely, values, moments)
    if len(kernel) > MOST_MAXIMISED:
        return mixed
    return Likeliest(
        **vars(mixed), kernel=kernel, frequencies=frequencies, values=values, by_symbol=moments
    )


@dataclass(frozen=True)
class Sampling:
    """How reports came to be, as far as intervals ask.

    Attributes
    ----------
    size : ``(F,)`` n, or Kish's effective number 1/Σ w² of weights that add up to one
    skewness : ``(F,)`` n² Σ w³, which is 1 for equal weights
    fraction : ``(F,)`` sampled share of the population; 1 where answers are about these people
    variance : ``(F,)`` of the estimates by the design, ``None`` for a simple sample
    clusters : ``(F,)`` Σ (sum of weights of a cluster)² · n, which is 1 without clusters
    freedom : ``(F,)`` degrees of freedom of the variance
    noise : ``(F,)`` what the mechanism adds by squared weights, as a multiple of that by weights

    A number in place of a vector is that of all.
    """

    size: Numbers
    skewness: Numbers = 1.0
    fraction: Numbers = 0.0
    variance: Vector | None = None
    clusters: Numbers = 1.0
    freedom: Numbers = np.inf
    noise: Numbers = 1.0

    def of(self, which: Any) -> Sampling:
        """That of some of the questions, by their positions."""
        parts = vars(self).values()
        return Sampling(*(one[which] if isinstance(one, np.ndarray) else one for one in parts))


@dataclass(frozen=True)
class Answers:
    """Estimates of F questions with what says how far off they may be.

    Attributes
    ----------
    estimates : ``(F,)`` unbiased, which may lie outside of what is possible
    path, sampling : as above
    squares : ``(F,)`` means of squares of scores, as estimates are means of scores; ``None`` where
        the path has them
    origin : ``(F,)`` what is taken off the scores of path and squares: moments of numbers far from
        zero would be lost to rounding
    """

    estimates: Vector
    path: Path
    sampling: Sampling
    squares: Vector | None = None
    origin: Numbers = 0.0

    @property
    def low(self) -> Vector:
        """``(F,)`` the least that answers can be."""
        return self.path.low + self.origin

    @property
    def high(self) -> Vector:
        """``(F,)`` the most that answers can be."""
        return self.path.high + self.origin

    @cached_property
    def projected(self) -> Vector:
        """``(F,)`` estimates moved into what is possible."""
        return np.clip(self.estimates, self.low, self.high)

    def limits(
        self,
        alpha: float = 0.05,
        which: Any = None,
        sides: tuple[bool, bool] = BOTH,
        within: Any = None,
    ) -> tuple[Vector, Vector]:
        """Ends ``(F,)`` of the intervals of which each misses with probability at most ``alpha``.

        ``which`` are the positions of the questions, all where left out. Without one of the
        ``sides`` that end is the end of what is possible, and all of ``alpha`` is on the other.
        Answers that are no estimates moved into what is possible lie ``within`` others.
        """
        which = np.arange(len(self.estimates)) if which is None else np.asarray(which)
        low, high = (one[which] for one in within or (self.low, self.high))
        e, tail = (self.estimates if within else self.projected)[which], alpha / sum(sides)
        lower, upper = ends_of(
            lambda t, k, above: self.tails(t, which[k], above, tail, e[k]), e, low, high, tail
        )
        return lower if sides[0] else low, upper if sides[1] else high

    def outside(self) -> Vector:
        """``(F,)`` probabilities of an estimate as far outside of what is possible as this, or
        farther, where the answer is at the end that it is beyond; 1 inside.
        """
        e, low, high = self.estimates, self.low, self.high
        t = np.where(e < low, low, high)
        found = self.tails(t, np.arange(len(e)), e > high, estimates=e)
        return np.where((e < low) | (e > high), found, 1.0)

    def tails(
        self,
        t: Vector,
        which: Positions,
        above: Flags,
        tail: float = 0.025,
        estimates: Vector | None = None,
    ) -> Vector:
        """P(S ≥ e | t) where ``above``, else P(S ≤ e | t), for answers t ``(J,)`` of questions.

        A Student distribution is met by the normal one at the probability ``tail``.
        """
        from scipy.special import betainc, betaincc

        e = self.projected[which] if estimates is None else estimates
        m, s, g = self._coin(t, which, above, tail)
        # The incomplete beta function of 1 − ρ is taken as the complement at the smaller one.
        small, r = _rarer(g)
        rare = (g > 0) == above
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(above, e - t, t - e) / (r * s) + np.where(rare, small, 1 - small)
        x = np.clip(m * x, 0, m)
        found = np.where(rare, betainc(x, m - x + 1, small), betaincc(m - x + 1, x, small))
        return np.where(s > 0, found, t == e)

    def events(self) -> Vector:
        """``(F,)`` how many tosses of the coin at the estimate fall on its rarer side."""
        which = np.arange(len(self.estimates))
        coins = [self._coin(self.projected, which, which >= end) for end in (0, len(which))]
        return np.min([np.where(s > 0, m * _rarer(g)[0], 0.0) for m, s, g in coins], axis=0)

    def _coin(
        self, t: Vector, which: Positions, above: Flags, tail: float = 0.025
    ) -> tuple[Vector, Vector, Vector]:
        """Tosses, standard deviation and skewness of the coin for answers t ``(J,)``."""
        from scipy.special import ndtri, stdtrit

        # Beyond what is possible scores vary as at its end.
        origin = np.broadcast_to(self.origin, self.estimates.shape)[which]
        t = np.clip(t - origin, self.path.low[which], self.path.high[which])
        how = self.sampling.of(which)
        moments, noise, spread = self._moments(t, which)
        more = self._more_noise[which]
        known, variance = more * (moments[SECOND] - moments[SQUARE]), more * noise + spread
        whole = moments[THIRD] - 3 * t * moments[SECOND] + 2 * t**3
        # Of those who were asked out of a few, those who were not are the rest.
        secrets = moments[CUBE] - 3 * t * moments[SQUARE] + 2 * t**3
        whole = whole - 2 * how.fraction * secrets
        # One side alone, so that the skewness of secrets that are what they are is not overlooked.
        fixed = np.where(above, moments[UP], -moments[DOWN])
        third = how.skewness * ((1 - how.fraction) * whole + how.fraction * fixed)
        # Of one half both quantiles are nought, and their ratio that of densities.
        tail = min(tail, _HALF)
        m = how.size * (ndtri(tail) / stdtrit(how.freedom, tail)) ** 2 + np.zeros(len(t))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if how.variance is not None:
                effect, alike = self._design_effects[:, which]
                larger = np.maximum(effect * variance + alike * spread, known)
                m = m * np.where(variance > 0, variance / larger, 1.0)
            s = np.sqrt(variance)
            return m, s, third / s**3

    def _moments(self, t: Vector, which: Positions) -> tuple[Vector, Vector, Vector]:
        """Moments of scores; variances of what the mechanism adds, no less than squares that were
        seen say, and of what secrets do.
        """
        found, fraction = self.path.moments(t, which), self.sampling.of(which).fraction
        second, third, square, cube, up, down = found
        noise = np.maximum(second - square, 0)
        spread = (1 - fraction) * np.maximum(square - t**2, 0)
        # What is less is rounding: the noise of a mechanism of 30 nats is ten times as much.
        noise, spread = (np.where(part > _ROUNDING * second, part, 0.0) for part in (noise, spread))
        if self.squares is not None:
            # Covariances of values with second moments, and of squares with scores.
            between = (third + 2 * cube - up + down) / 3 - t * second
            slope, variance = third - t * second - fraction * between, spread + noise
            told = variance > _SAME * second
            slope = slope / np.where(told, variance, np.inf)
            more = (
                self.squares[which] + slope * (t - (self.estimates - self.origin)[which]) - second
            )
            noise = noise + told * np.maximum(more, 0)
        return found, noise, spread

    @cached_property
    def _at_estimates(self) -> Vector:
        """Variances of what the mechanism adds and of what secrets do, at the estimates, and how
        many people and reports tell of them, ``(4, F)``.
        """
        how, e = self.sampling, self.projected - self.origin
        moments, noise, drawn = self._moments(e, np.arange(len(e)))
        spread = np.maximum(moments[SQUARE] - e**2, 0)
        cubes = moments[CUBE] - 3 * e * moments[SQUARE] + 2 * e**3
        near = np.minimum(e - self.path.low, self.path.high - e)
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.where(near > 0, near**2 * how.size / noise, 0.0)
            # Where a few make up most of an estimate, freedom says so.
            people = np.minimum(how.size, 2 * how.freedom * how.clusters)
            people = np.where(spread > 0, people / (4 + cubes**2 / spread**3), 0.0)
        return np.stack([noise, drawn, people, told])

    @cached_property
    def _more_noise(self) -> Vector:
        """Noise of those who weigh most over that of all, as far as it is believed, ``(F,)``."""
        more = np.broadcast_to(self.sampling.noise, self.estimates.shape)
        if np.any(more != 1):
            more = more + _doubt(np.minimum(*self._at_estimates[2:])) * (1 - more)
        return more

    @cached_property
    def _design_effects(self) -> Vector:
        """Design effects as far as what was seen of them is believed, and how much of the spread of
        secrets is added as clusters may be alike where hardly any was seen to be, ``(2, F)``.
        """
        how = self.sampling
        assert how.variance is not None
        noise, drawn, people, told = self._at_estimates
        variance = self._more_noise * noise + drawn
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(variance > 0, how.variance * how.size / variance, 1.0)
        seen = np.maximum(effect, 1)
        events = np.minimum(people, told) / seen
        # As many clusters at least had some event, were all of a cluster alike.
        groups = np.minimum(people / how.clusters, told)
        alike = _doubt(groups) ** 2 * np.maximum(how.clusters - seen, 0)
        return np.stack([effect + _doubt(events) * (1 - effect), alike])


def ends_of(
    tails: Callable[[Vector, Positions, Flags], Vector],
    e: Vector,
    low: Vector,
    high: Vector,
    tail: float,
) -> tuple[Vector, Vector]:
    """Ends ``(F,)`` of what is kept of answers between ``low`` and ``high``, around ``e``.

    ``tails`` are the probabilities to come out as far as the estimates at answers ``(J,)`` to
    questions ``(J,)``, from above or from below; those below ``tail`` are not kept.
    """
    from scipy.special import ndtri

    count = len(e)

    def kept(t: Vector, places: Positions) -> Vector:
        # Quantiles of probabilities are nearly a line of t.
        chance = np.clip(tails(t, places % count, places < count), 1e-300, 1 - 1e-16)
        return ndtri(chance) - ndtri(tail)

    ends = crossings(kept, np.concatenate([e, e]), np.concatenate([low, high]))
    return np.minimum(ends[:count], e), np.maximum(ends[count:], e)


def _doubt(events: Vector) -> Vector:
    """How little so many events are believed, from 1 to 0."""
    return np.asarray((1 + events / 2) ** -2)


def _rarer(skewness: Vector) -> tuple[Vector, Vector]:
    """Chance of the rarer side of a coin, without cancellation, and its step in deviations."""
    with np.errstate(over="ignore", invalid="ignore"):
        r = np.sqrt(4 + skewness**2)
    return 2 / (r * (r + np.abs(skewness))), r


def difference_limits(
    first: Any,
    second: Any,
    estimates: Vector,
    room: Vector,
    correlation: Numbers = 0.0,
) -> tuple[Vector, Vector]:
    """Ends of intervals of answers of a second arm less those of a first, from each arm's own.

    Parameters
    ----------
    first, second : unprojected estimates, and lower and upper ends of such, ``(F,)`` each
    estimates : ``(F,)`` projected differences, which intervals hold
    room : ``(F,)`` how far answers can lie apart
    correlation : of the two estimates
    """
    (x, low1, high1), (y, low2, high2) = first, second
    down, up = (
        np.sqrt(np.maximum(a**2 + b**2 - 2 * correlation * a * b, 0))
        for a, b in ((y - low2, high1 - x), (high2 - y, x - low1))
    )
    lower, upper = np.minimum(y - x - down, estimates), np.maximum(y - x + up, estimates)
    return np.maximum(lower, -room), np.minimum(upper, room)
