"""Secrets with infinitely many values: exact on countable alphabets, densities on the line.

A countable secret is 0, 1, 2, … with given masses; of an outcome all likelihoods but finitely many
are one number, so that sums and extremes over the whole infinite alphabet are exact. On the line a
posterior is known by its density ratio to the prior and by the masses of intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ..errors import InputError, quote


def geometric(symbol: int) -> Fraction:
    """P(X = k) = 2^-(k+1) on 0, 1, 2, …: every symbol of an infinite alphabet has mass."""
    return Fraction(1, 1 << (symbol + 1))


@dataclass(frozen=True)
class CountableOutcome:
    """One outcome y of a mechanism on the secrets 0, 1, 2, …, exactly.

    Attributes
    ----------
    likelihoods : P(y|x) of finitely many symbols
    rest : P(y|x) of all the others, infinitely many
    masses : P(X = x), positive for every symbol; their sum is one
    """

    likelihoods: Mapping[int, Fraction]
    rest: Fraction
    masses: Callable[[int], Fraction] = field(default=geometric, repr=False)

    @property
    def probability(self) -> Fraction:
        """P(y), the sum over the infinite alphabet."""
        listed = {x: self.masses(x) for x in self.likelihoods}
        inside = sum((listed[x] * v for x, v in self.likelihoods.items()), Fraction(0))
        return inside + (1 - sum(listed.values(), Fraction(0))) * self.rest

    @property
    def pml_ratio(self) -> Fraction:
        """e^ℓ(X→y): the largest of all likelihoods over P(y)."""
        return max([*self.likelihoods.values(), self.rest]) / self.probability

    @property
    def pmc_ratio(self) -> Fraction | None:
        """e^Λ(X→y): P(y) over the least of all likelihoods; ``None`` when that is zero."""
        least = min([*self.likelihoods.values(), self.rest])
        return self.probability / least if least else None

    @property
    def spread(self) -> Fraction | None:
        """The largest ratio of two likelihoods, e^LDP of this outcome; ``None`` when infinite."""
        values = [*self.likelihoods.values(), self.rest]
        return max(values) / min(values) if min(values) else None


def release_or_draw_outcome(share: Any, outcome: int) -> CountableOutcome:
    """The secret with probability 1 − ``share``, else an independent draw from the geometric prior.

    For every outcome y of the infinite alphabet::

        e^PMC   1/share
        e^PML   share + (1 − share)/p_y           unbounded as y grows
        e^LDP   1 + (1 − share)/(share·p_y)       unbounded as y grows

    Raises
    ------
    InputError
        For a share that is not between 0 and 1, or an outcome that is no symbol.
    """
    try:
        a = Fraction(share)
    except (TypeError, ValueError, OverflowError):
        a = Fraction(0)
    if not 0 < a < 1:
        raise InputError(
            "share of independent samples",
            expected="a number between 0 and 1",
            got=quote(share),
            remedy="pass for example 0.5",
        )
    if isinstance(outcome, bool) or not isinstance(outcome, int) or outcome < 0:
        raise InputError(
            "outcome",
            expected="one of the symbols 0, 1, 2, …",
            got=quote(outcome),
            remedy="pass a whole number",
        )
    drawn = a * geometric(outcome)
    return CountableOutcome({outcome: drawn + 1 - a}, drawn)


def log_ratio(ratio: Fraction | None) -> float:
    """The logarithm of an exact ratio, infinite for ``None``, whatever its size."""
    if ratio is None:
        return math.inf
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@dataclass(frozen=True)
class TiltedInterval:
    """A secret uniform on [0, 1] with Laplace noise of scale b, and an outcome above 1.

    The posterior has density e^{x/b}/Z, so the ratio of the prior to it is Z e^{-x/b}, largest at
    0. Masses of intervals, and both divergences of order ∞, have closed forms.
    """

    scale: float

    @property
    def log_total(self) -> float:
        """Log Z, with Z = b(e^{1/b} − 1)."""
        return math.log(self.scale) + math.log(math.expm1(1 / self.scale))

    @property
    def pmc(self) -> float:
        """Λ(X→y) = log Z."""
        return self.log_total

    @property
    def pml(self) -> float:
        """ℓ(X→y) = 1/b − log Z."""
        return 1 / self.scale - self.log_total

    def prior(self, start: float, end: float) -> float:
        """P(start ≤ X ≤ end)."""
        return end - start

    def posterior(self, start: float, end: float) -> float:
        """P(start ≤ X ≤ end | y)."""
        rise = math.expm1((end - start) / self.scale)
        return math.exp(start / self.scale - self.log_total) * self.scale * rise

    def cells(self, step: float) -> list[tuple[float, float]]:
        """Intervals on which the log of the ratio of the densities moves by ``step`` at most."""
        count = max(1, math.ceil(1 / (self.scale * step) - 1e-12))
        edges = [min(1.0, k * self.scale * step) for k in range(count)] + [1.0]
        return list(pairwise(edges))


@dataclass(frozen=True)
class GaussianPosterior:
    """A Gaussian secret N(0, s²) with Gaussian noise of variance σ², and an outcome y.

    The posterior N(m, v) is narrower, so the ratio of the prior to it is unbounded: PMC is
    infinite, PML is not.
    """

    variance: float
    noise: float
    outcome: float

    @property
    def _moments(self) -> tuple[float, float]:
        total = self.variance + self.noise
        return self.outcome * self.variance / total, self.variance * self.noise / total

    @property
    def pml(self) -> float:
        """ℓ(X→y) = ½ log(1 + s²/σ²) + y²/2(s² + σ²)."""
        total = self.variance + self.noise
        return 0.5 * math.log(total / self.noise) + self.outcome**2 / (2 * total)

    def log_prior(self, start: float, end: float) -> float:
        """Log P(start ≤ X ≤ end)."""
        return _log_normal(start, end, 0.0, self.variance)

    def log_posterior(self, start: float, end: float) -> float:
        """Log P(start ≤ X ≤ end | y)."""
        return _log_normal(start, end, *self._moments)


def _log_normal(start: float, end: float, mean: float, variance: float) -> float:
    """Log of the normal probability of an interval, from the tail that is nearer."""
    from scipy.special import log_ndtr

    a, b = ((x - mean) / math.sqrt(variance) for x in (start, end))
    if a > 0:
        a, b = -b, -a
    upper, lower = float(log_ndtr(b)), float(log_ndtr(a))
    return upper + math.log1p(-math.exp(lower - upper))
