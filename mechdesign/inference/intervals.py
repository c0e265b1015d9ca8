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

For these people alone, whose secrets are what they are, s² is what the mechanism adds, Σ θ_x ν_x,
and the third moment counts one side only. In a survey n is Kish's effective number of reports, made
smaller by the design effect as far as it was seen, and by whole clusters alike as far as it was not
(:class:`Sampling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..roots import crossings
from .likelihood import maximise

Vector = NDArray[np.float64]

# Rows of the moments of scores: second and third, square and cube of what they stand for, and the
# third central moments of either side given the secret.
SECOND, THIRD, SQUARE, CUBE, UP, DOWN = range(6)
#: More symbols than these have the others' shares scaled, where fewer have them maximised.
MOST_MAXIMISED = 40
# Distance from the end of what is possible at which distributions are maximised, relative to it.
_EDGE = 1e-9
# Free shares per report up to which the likeliest distribution is believed.
_BELIEVED = 0.05


def matrix_moments(
    kernel: Vector, scores: Vector, values: Vector, *, one_sided: bool = True
) -> Vector:
    """Moments ``(6, N, F)`` of scores ``(M, F)`` whose means given the secrets are ``(N, F)``.

    Those of one side are zero where they are not asked for.
    """
    zeros = np.zeros_like(values)
    found = np.stack([kernel @ scores**2, kernel @ scores**3, values**2, values**3, zeros, zeros])
    # The mechanism's own noise is no less than nothing.
    found[SECOND] = np.maximum(found[SECOND], found[SQUARE])
    for value in np.unique(values) if one_sided else ():
        is_it = values == value
        rows = np.flatnonzero(is_it.any(axis=1))
        for row, sign in ((UP, 1), (DOWN, -1)):
            part = kernel[rows] @ np.maximum(sign * (scores - value), 0) ** 3
            found[row, rows] = np.where(is_it[rows], part, found[row, rows])
    return found


class Path(Protocol):
    """Distributions of secrets, one for each answer t of each of F questions.

    Attributes
    ----------
    low, high : ``(F,)`` what answers can be
    """

    @property
    def low(self) -> Vector:
        """``(F,)`` the least that answers can be."""
        ...

    @property
    def high(self) -> Vector:
        """``(F,)`` the most that they can be."""
        ...

    def moments(self, t: Vector, which: NDArray[np.intp]) -> Vector:
        """Moments of scores, ``(6, J)``, at answers ``(J,)`` to the questions ``(J,)``."""
        ...


class Likeliest:
    """The distribution of largest likelihood among those with the answer.

    Where all that scores say of a secret is whether it is asked for, moments are the same at every
    distribution with the answer, and none is looked for.

    Parameters
    ----------
    kernel, frequencies : ``(N, M)``, and ``(G, M)`` of reports of each of G groups
    mixed : of all G·F questions, group by group
    values : ``(N, F)`` of the questions
    moments : ``(6, N, F)`` of :func:`matrix_moments`
    """

    def __init__(
        self, kernel: Vector, frequencies: Vector, mixed: Mixed, values: Vector, moments: Vector
    ) -> None:
        self.kernel, self.frequencies, self.mixed = kernel, frequencies, mixed
        self.values, self.by_symbol = values, moments
        self.low, self.high = mixed.low, mixed.high
        self._varies = np.array([_varies(v, m) for v, m in zip(values.T, moments.T, strict=True)])

    def distributions(self, t: Vector, which: NDArray[np.intp]) -> Vector:
        """``(J, N)``"""
        edge = _EDGE * (self.high - self.low)[which]
        inner = np.clip(t, self.low[which] + edge, self.high[which] - edge)
        group, question = np.divmod(which, self.values.shape[1])
        tilts = self.values.T[question] - inner[:, None]
        tilts = tilts / np.abs(tilts).max(axis=1, keepdims=True)
        found = maximise(self.kernel, self.frequencies[group], tilts)[0]
        # Answers closer to an end are met exactly as well: a third moment of little noise is less
        # than what a billionth at the other end adds to it.
        end = np.where(t < inner, self.low[which], self.high[which])
        there = found * (self.values.T[question] == end[:, None])
        lacking = (np.abs(inner - t) / np.where(edge > 0, edge, 1))[:, None]
        mass = np.maximum(there.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return np.asarray((1 - lacking) * found + lacking * there / mass)

    def moments(self, t: Vector, which: NDArray[np.intp]) -> Vector:
        """Moments of scores, ``(6, J)``."""
        found = self.mixed.moments(t, which)
        question = which % self.values.shape[1]
        far = self._varies[question]
        if far.any():
            likely = self.distributions(t[far], which[far])
            found[:, far] = np.einsum("jn,knj->kj", likely, self.by_symbol[:, :, question[far]])
        return found


def _varies(values: Vector, moments: Vector) -> bool:
    """Whether moments ``(N, 6)`` of a question differ between secrets of the same value."""
    for value in np.unique(values):
        same = moments[values == value]
        if (np.ptp(same, axis=0) > 1e-9 * np.abs(moments).max(axis=0)).any():
            return True
    # Of three values and more, answers are met by different distributions of them.
    return len(np.unique(values)) > 2


@dataclass(frozen=True)
class Mixed:
    """A first distribution mixed with the part of it where answers are largest, or smallest.

    For a share that scales the shares of all others, which is cheap for many symbols.

    Attributes
    ----------
    centre : ``(F,)`` answers of the first distribution
    low, high : ``(F,)``
    base, bottom, top : ``(6, F)`` moments at it, and at the two ends
    """

    centre: Vector
    low: Vector
    high: Vector
    base: Vector
    bottom: Vector
    top: Vector

    def moments(self, t: Vector, which: NDArray[np.intp]) -> Vector:
        """Moments of scores, ``(6, J)``."""
        centre, up = self.centre[which], t >= self.centre[which]
        end = np.where(up, self.high[which], self.low[which])
        share = np.clip((t - centre) / np.where(end == centre, 1, end - centre), 0, 1)
        ends = np.where(up, self.top[:, which], self.bottom[:, which])
        return np.asarray((1 - share) * self.base[:, which] + share * ends)

    @classmethod
    def of(cls, first: Vector, values: Vector, moments: Vector) -> Mixed:
        """From distributions ``(G, N)``, values ``(N, F)`` and moments ``(6, N, F)``."""
        groups = len(first)
        low, high = values.min(axis=0), values.max(axis=0)
        ends = []
        for end in (low, high):
            there = (values == end).astype(float)
            mass = first @ there
            parts = np.einsum("gn,nf,knf->kgf", first, there, moments, optimize=True)
            anywhere = np.einsum("nf,knf->kf", there / there.sum(axis=0), moments)[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                parts = np.where(mass > 0, parts / mass, anywhere)
            ends.append(parts.reshape(len(moments), -1))
        base = np.einsum("gn,knf->kgf", first, moments).reshape(len(moments), -1)
        return cls(
            (first @ values).ravel(), np.tile(low, groups), np.tile(high, groups), base, *ends
        )


@dataclass(frozen=True)
class Cautious:
    """A path mixed with the secrets of which reports say least.

    Few reports are explained best by distributions that fit them too well, and under which scores
    vary less than they do.

    Attributes
    ----------
    path : what is mixed
    doubt : ``(F,)`` how much of the others is taken
    bottom, top : ``(6, F)`` moments where scores vary most among the secrets at either end
    """

    path: Path
    doubt: Vector
    bottom: Vector
    top: Vector

    @property
    def low(self) -> Vector:
        """``(F,)`` the least that answers can be."""
        return self.path.low

    @property
    def high(self) -> Vector:
        """``(F,)`` the most that they can be."""
        return self.path.high

    def moments(self, t: Vector, which: NDArray[np.intp]) -> Vector:
        """Moments of scores, ``(6, J)``."""
        found = self.path.moments(t, which)
        low, room = self.low[which], (self.high - self.low)[which]
        share = np.clip((t - low) / np.where(room > 0, room, 1), 0, 1)
        far = (1 - share) * self.bottom[:, which] + share * self.top[:, which]
        return np.asarray(found + self.doubt[which] * (far - found))


def path_of(
    kernel: Vector,
    frequencies: Vector,
    likely: Vector,
    values: Vector,
    moments: Vector,
    sizes: Vector | float = np.inf,
) -> Path:
    """Paths of F questions to each of G groups, whose frequencies are ``(G, M)``.

    Likeliest distributions where symbols are few, mixtures with the likeliest one of all else; with
    fewer than twenty reports for each share that is free, ``sizes`` of them in a group or all,
    partly the secrets of which reports say least.
    """
    mixed = Mixed.of(likely, values, moments)
    path: Path = mixed
    if len(kernel) <= MOST_MAXIMISED:
        path = Likeliest(kernel, frequencies, mixed, values, moments)
    free = max(len(kernel) - 2, 0) / np.broadcast_to(sizes, len(frequencies))
    doubt = np.clip(free - _BELIEVED, 0, 1)
    if not doubt.any():
        return path
    ends = []
    for end in (values.min(axis=0), values.max(axis=0)):
        worst = np.where(values == end, moments[SECOND], -np.inf).argmax(axis=0)
        ends.append(np.tile(moments[:, worst, np.arange(values.shape[1])], len(frequencies)))
    return Cautious(path, np.repeat(doubt, values.shape[1]), *ends)


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
    freedom : degrees of freedom of the variance

    A number in place of a vector is that of all.
    """

    size: Vector | float
    skewness: Vector | float = 1.0
    fraction: Vector | float = 0.0
    variance: Vector | None = None
    clusters: Vector | float = 1.0
    freedom: float = np.inf

    def of(self, which: Any) -> Sampling:
        """That of some of the questions, by their positions."""
        found = {
            name: value if value is None or np.ndim(value) == 0 else np.asarray(value)[which]
            for name, value in vars(self).items()
        }
        return Sampling(**found)


@dataclass(frozen=True)
class Answers:
    """Estimates of F questions with what says how far off they may be.

    Attributes
    ----------
    estimates : ``(F,)`` unbiased, which may lie outside of what is possible
    path, sampling : as above
    """

    estimates: Vector
    path: Path
    sampling: Sampling

    @property
    def projected(self) -> Vector:
        """``(F,)`` estimates moved into what is possible."""
        return np.clip(self.estimates, self.path.low, self.path.high)

    def limits(
        self, alpha: float = 0.05, which: Any = None, sides: tuple[bool, bool] = (True, True)
    ) -> tuple[Vector, Vector]:
        """Ends ``(F,)`` of the intervals of which each misses with probability at most ``alpha``.

        ``which`` are the positions of the questions, all where left out. Without one of the
        ``sides`` that end is the end of what is possible, and all of ``alpha`` is on the other.
        """
        which = np.arange(len(self.estimates)) if which is None else np.asarray(which)
        tail = alpha / sum(sides)
        low, high, e = self.path.low[which], self.path.high[which], self.projected[which]
        z = self.quantile_ratio(tail)
        points = np.concatenate([low, high])
        count = len(which)

        def kept(t: Vector, places: NDArray[np.intp]) -> Vector:
            above = places < count
            return standing(self.tails(t, which[places % count], above, z), tail)

        ends = crossings(kept, np.concatenate([e, e]), points)
        lower = np.minimum(ends[:count], e) if sides[0] else low
        return lower, np.maximum(ends[count:], e) if sides[1] else high

    def contains(self, t: Vector, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Whether each interval holds an answer ``(F,)``, without looking for its ends."""
        which, z = np.arange(len(t)), self.quantile_ratio(alpha / 2)
        above = np.asarray(t) <= self.projected
        inside = self.tails(np.asarray(t, float), which, above, z) >= alpha / 2
        return np.asarray(inside | (t == self.projected))

    def outside(self) -> Vector:
        """``(F,)`` probabilities of an estimate as far outside of what is possible as this, or
        farther, where the answer is at the end that it is beyond; 1 inside.
        """
        which = np.arange(len(self.estimates))
        e, below = self.estimates, self.estimates < self.path.low
        t = np.where(below, self.path.low, self.path.high)
        found = self.tails(t, which, ~below, self.quantile_ratio(0.025), e)
        return np.where((e < self.path.low) | (e > self.path.high), found, 1.0)

    def tails(
        self,
        t: Vector,
        which: NDArray[np.intp],
        above: NDArray[np.bool_],
        ratio: float = 1.0,
        estimates: Vector | None = None,
    ) -> Vector:
        """P(S ≥ e | t) where ``above``, else P(S ≤ e | t), for answers t ``(J,)`` of questions.

        ``ratio`` is the square of normal over Student quantiles.
        """
        e = self.projected[which] if estimates is None else estimates
        how = self.sampling.of(which)
        moments = self.path.moments(t, which)
        variance, noise = _variances(moments, t, how.fraction)
        spread = np.maximum(moments[SQUARE] - t**2, 0)
        whole = moments[THIRD] - 3 * t * moments[SECOND] + 2 * t**3
        # One side alone, so that the skewness of secrets that are what they are is not overlooked.
        fixed = np.where(above, moments[UP], -moments[DOWN])
        third = how.skewness * ((1 - how.fraction) * whole + how.fraction * fixed)
        m = np.zeros(len(t)) + how.size * ratio
        if how.variance is not None:
            effect, shrink, alike = self._design_effects[:, which]
            full = (1 - how.fraction) * spread
            larger = (1 - shrink) * effect * variance + shrink * variance + alike * full
            with np.errstate(divide="ignore", invalid="ignore"):
                m = m * np.where(variance > 0, variance / np.maximum(larger, noise), 1.0)
        s = np.sqrt(variance)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            g = third / s**3
            r = np.sqrt(4 + g**2)
            # The smaller of the two probabilities without cancellation.
            small = 2 / (r * (r + np.abs(g)))
            heads = np.where(g > 0, small, 1 - small)
            x = np.clip(m * (e - t) / (r * s) + m * heads, 0, m)
        return np.where(s > 0, _tail(x, m, small, g > 0, above), t == e)

    def events(self) -> Vector:
        """``(F,)`` how many tosses of the coin at the estimate fall on its rarer side."""
        which = np.arange(len(self.estimates))
        size = np.zeros(len(which)) + self.sampling.size
        moments = self.path.moments(self.projected, which)
        variance, _ = _variances(moments, self.projected, self.sampling.fraction)
        e = self.projected
        third = moments[THIRD] - 3 * e * moments[SECOND] + 2 * e**3
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            r = np.sqrt(4 + third**2 / variance**3)
            found = size * 2 / (r * (r + np.sqrt(r**2 - 4)))
        return np.where(variance > 0, found, 0.0)

    @cached_property
    def _design_effects(self) -> Vector:
        """Design effects as they were seen, how far not to believe them, and how much of the spread
        of secrets is added as clusters may be alike where hardly any was seen to be, ``(3, F)``.
        """
        how, which = self.sampling, np.arange(len(self.estimates))
        assert how.variance is not None
        e = self.projected
        moments = self.path.moments(e, which)
        variance, noise = _variances(moments, e, how.fraction)
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(variance > 0, how.variance * how.size / variance, 1.0)
            spread = np.maximum(moments[SQUARE] - e**2, 0)
            cubes = moments[CUBE] - 3 * e * moments[SQUARE] + 2 * e**3
            skewness = np.where(spread > 0, cubes**2 / spread**3, np.inf)
            near = np.minimum(e - self.path.low, self.path.high - e)
            told = np.where(noise > 0, near**2 * how.size / noise, np.where(near > 0, np.inf, 0))
            # Where a few make up most of an estimate, freedom says so.
            people = np.minimum(how.size, 2 * how.freedom * how.clusters) / (4 + skewness)
            seen = np.maximum(effect, 1)
            events = np.minimum(people, told) / seen
            # As many clusters at least had some event, were all of a cluster alike.
            groups = np.minimum(people / how.clusters, told)
        alike = (1 + groups / 2) ** -4 * np.maximum(how.clusters - seen, 0)
        return np.stack([effect, (1 + events / 2) ** -2, alike])

    def quantile_ratio(self, tail: float) -> float:
        """The square of normal over Student quantiles, for a tail probability."""
        if np.isinf(self.sampling.freedom):
            return 1.0
        from scipy.special import ndtri, stdtrit

        return float((ndtri(tail) / stdtrit(self.sampling.freedom, tail)) ** 2)


def standing(chance: Vector, tail: float) -> Vector:
    """How far a probability is above another, in quantiles, in which it is nearly a line of t."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(chance, 1e-300, 1 - 1e-16)) - ndtri(tail))


def _variances(moments: Vector, t: Vector, fraction: Vector | float) -> tuple[Vector, Vector]:
    """Variances of a score, and of what the mechanism adds to it."""
    noise = np.maximum(moments[SECOND] - moments[SQUARE], 0)
    return (1 - fraction) * np.maximum(moments[SQUARE] - t**2, 0) + noise, noise


def _tail(
    x: Vector, m: Vector, small: Vector, is_small: NDArray[np.bool_], above: NDArray[np.bool_]
) -> Vector:
    """P(at least x heads of m) where ``above``, else P(at most x).

    The incomplete beta function of 1 − ρ is taken as the complement at the small one.
    """
    from scipy.special import betainc, betaincc

    found = np.ones(len(x))
    x, y = np.where(above, x, m - x), np.where(above, m - x, x)
    inside = x > 0
    part = inside & (above == is_small)
    found[part] = betainc(x[part], y[part] + 1, small[part])
    part = inside & (above != is_small)
    found[part] = betaincc(y[part] + 1, x[part], small[part])
    return found


def difference_limits(
    first: tuple[Vector, Vector, Vector, Vector],
    second: tuple[Vector, Vector, Vector, Vector],
    estimates: Vector,
    correlation: Vector | float = 0.0,
) -> tuple[Vector, Vector]:
    """Ends of intervals of answers of a second arm less those of a first, from each arm's own.

    Parameters
    ----------
    first, second : unprojected estimates, lower and upper ends, and whole widths of what is
        possible, ``(F,)`` each
    estimates : ``(F,)`` projected differences, which intervals hold
    correlation : of the two estimates
    """
    (x, low1, high1, room1), (y, low2, high2, room2) = first, second
    ends = []
    for a, b, sign in ((y - low2, high1 - x, -1), (high2 - y, x - low1, 1)):
        squared = np.maximum(a**2 + b**2 - 2 * correlation * a * b, 0)
        ends.append(y - x + sign * np.sqrt(squared))
    room = np.maximum(room1, room2)
    lower, upper = np.clip(ends[0], -room, room), np.clip(ends[1], -room, room)
    return np.minimum(lower, estimates), np.maximum(upper, estimates)
