"""Secrets with infinitely many values: exact on countable alphabets, any law on an interval.

Every standard Borel space is finite, countable, or isomorphic to the interval (Kuratowski), so that
these three kinds are all there are. A countable secret is 0, 1, 2, … with given masses; of an
outcome all likelihoods but finitely many are one number, so that sums and extremes over the whole
infinite alphabet are exact. On the interval and on the line a posterior is known by its density
ratio to the prior and by the masses of cells; the prior has atoms, a density, and a part with
neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..errors import InputError, quote

Array = NDArray[np.float64]


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
class TiltedLaw:
    """A secret on [0, 1] of any kind, and an outcome whose likelihood is proportional to e^{sx}.

    The prior is a mixture of a uniform law, of Cantor's law, which has neither density nor atoms,
    and of atoms: the three kinds of measures of Lebesgue's decomposition. Laplace noise of scale b
    and an outcome above 1 have s = 1/b. Masses of cells, before and after the outcome, and both
    divergences of order ∞ have closed forms.

    Attributes
    ----------
    slope : s
    uniform, cantor : shares of the two laws
    atoms : the other share, by place
    """

    slope: float
    uniform: float = 1.0
    cantor: float = 0.0
    atoms: Mapping[float, float] = field(default_factory=dict)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest point of the support."""
        if self.uniform or self.cantor:
            return 0.0, 1.0
        return min(self.atoms), max(self.atoms)

    def log_mean(self, slope: float | None = None) -> float:
        """Log E e^{sX}, for another slope as well."""
        s = self.slope if slope is None else slope
        mean = sum(mass * math.exp(s * x) for x, mass in self.atoms.items())
        return math.log(mean + self.uniform * _uniform_mean(s) + self.cantor * _cantor_mean(s))

    @property
    def pmc(self) -> float:
        """Λ(X→y) = log E e^{sX} − min sx."""
        return self.log_mean() - min(self.slope * x for x in self.ends)

    @property
    def pml(self) -> float:
        """ℓ(X→y) = max sx − log E e^{sX}."""
        return max(self.slope * x for x in self.ends) - self.log_mean()

    def draw(self, rng: Generator, count: int) -> Array:
        """So many independent values of the secret."""
        places = np.array([*self.atoms, 0.0])
        shares = np.array([*self.atoms.values(), self.uniform, self.cantor])
        kinds = rng.choice(len(shares), count, p=shares / shares.sum())
        found = places[np.minimum(kinds, len(self.atoms))]
        flat, dust = kinds == len(self.atoms), kinds == len(self.atoms) + 1
        found[flat] = rng.random(int(flat.sum()))
        found[dust] = rng.integers(0, 2, (int(dust.sum()), 40)) @ (2.0 / 3.0 ** np.arange(1, 41))
        return found

    def masses(self, depth: int, slope: float) -> Array:
        """E e^{sX} on each of the 3^depth cells of equal length, for a slope s."""
        count = 3**depth
        starts = np.exp(slope / count * np.arange(count))
        found = self.uniform * starts * _uniform_mean(slope / count) / count
        # What Cantor's law has on a cell is a copy of itself where no digit of the place is 1.
        inside = np.ones(1, bool)
        for _ in range(depth):
            inside = np.outer(inside, [True, False, True]).ravel()
        found = found + self.cantor * inside * starts * _cantor_mean(slope / count) / 2**depth
        for x, mass in self.atoms.items():
            found[min(int(x * count), count - 1)] += mass * math.exp(slope * x)
        return np.asarray(found)

    def cells(self, depth: int) -> tuple[Array, Array]:
        """P(X ∈ D) and P(X ∈ D | y) for the cells D of positive mass, of 3^depth."""
        before = self.masses(depth, 0.0)
        after = self.masses(depth, self.slope) / math.exp(self.log_mean())
        return before[before > 0], after[before > 0]

    def step(self, depth: int) -> float:
        """By how much log P(x)/P(x|y) moves on a cell at most."""
        return abs(self.slope) / 3**depth


def _uniform_mean(slope: float) -> float:
    """E e^{sX} for X uniform on [0, 1]."""
    return math.expm1(slope) / slope if slope else 1.0


def _cantor_mean(slope: float) -> float:
    """E e^{sX} for X of Cantor's law: X = Σ 2B_k/3^k for fair bits B_k."""
    product = math.exp(slope / 2)
    for k in range(1, 40):
        product *= math.cosh(slope / 3**k)
    return product


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
