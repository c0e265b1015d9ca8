"""What many reports of one kernel about one secret come to: rates, and bounds at every number.

The kernel of n reports is soon too large to build. What the reports tell still has a rate. Whoever
guesses the secret best is wrong with a probability that falls like e^(−nC), C being the least
Chernoff information of two symbols, and for each n it lies between two bounds that are computed
here. What (ε, δ)-local differential privacy the reports have follows from Rényi divergences, which
add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelError
from ..labels import Label
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from .validation import number, whole

Array = NDArray[np.float64]

# Relative rounding of sums of exponentials and logarithms in floats, generously.
_SLACK = 1e-11
_MOST_REPORTS = 10**15
#: Orders of Rényi divergences above 1 that are tried: every one gives a bound.
_ORDERS = 1 + np.geomspace(1e-3, 1e4, 141)
_STEPS = 60


@dataclass(frozen=True, eq=False)
class GuessingRate:
    """How fast reports of one kernel give the secret away.

    Attributes
    ----------
    rate : the least Chernoff information of two symbols, in nats for each report; 0 where no number
        of reports tells two of them apart, ``inf`` where one report separates all
    pair : the two symbols that are told apart last
    informations : ``(n, n)`` Chernoff information of every two symbols, ``inf`` on the diagonal
    labels : the n symbols of positive mass
    """

    rate: float
    pair: tuple[Label, Label]
    informations: Array
    labels: tuple[Label, ...]
    _masses: Array
    _rows: Array

    def error_after(self, reports: int) -> tuple[float, float]:
        """Bounds on the probability that the best guess of the secret is wrong after n reports.

        Below: of any two symbols of masses a and b, at most one is guessed after each outcome, and
        Σ min ≥ (a + b − √((a + b)² − 4ab B²ⁿ))/2 with their Bhattacharyya coefficient B
        ([Kailath1967]). Above: each wrong symbol is the likelier one with probability at most
        a^(1−s) b^s e^(−nC) at the order s of C ([Chernoff1952]); and no guess is worse than the
        likeliest symbol.
        """
        n = whole(reports, "number of reports", 0, _MOST_REPORTS)
        p, size = self._masses, len(self._masses)
        # What is disjoint separates from the first report on, and not before.
        above, below = (0.0 if n else math.inf), 0.0
        for x in range(size):
            for z in range(x):
                a, b = float(p[x]), float(p[z])
                close = _affinity(self._rows[x], self._rows[z], 0.5)
                affinity = close * math.exp(-_noise(self._rows))
                below = max(below, overlap_at_least(a, b, affinity, n))
                above += _chernoff_error(self._rows[x], self._rows[z], a, b, n)
        above = min(above, 1 - float(p.max()))
        return below, above * (1 + _SLACK) + 1e-300

    def reports_until(self, error: float) -> tuple[float, float]:
        """How many reports it takes until the best guess is wrong with at most this probability.

        Returns
        -------
        Fewer reports than the first number do not suffice, the second number does; ``inf`` where no
        number up to 10^15 does.
        """
        wanted = number(error, "probability of error", 0, 1, ends="()")
        return (
            least_number(lambda n: self.error_after(n)[0] <= wanted),
            least_number(lambda n: self.error_after(n)[1] <= wanted),
        )

    def __str__(self) -> str:
        if self.rate == math.inf:
            return "the best guess is never wrong from the first report on"
        return (
            f"the best guess is wrong with a probability that falls like exp(−{self.rate:.6g} n); "
            f"{self.pair[0]!r} and {self.pair[1]!r} are told apart last"
        )


def guessing_rate(mechanism: Any, prior: Prior) -> GuessingRate:
    """How fast independent reports of one kernel give the secret away.

    Parameters
    ----------
    mechanism : Mechanism or design
    prior : Prior
        Over its inputs; only symbols of positive mass count.

    Raises
    ------
    KernelError
        For fewer than two symbols of positive mass.

    Notes
    -----
    Chernoff information −min_s log Σ_y P(y|x)^(1−s) P(y|x')^s ([Chernoff1952]) in floating point,
    relative to 1e-9. :func:`~mechdesign.theory.repeated` builds the kernel of few reports exactly.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]])
    >>> rate = md.theory.guessing_rate(flip, md.Prior([.5, .5]))
    >>> round(rate.rate, 6), rate.reports_until(.01)
    (0.143841, (12, 28))
    """
    kernel = mechanism_of(mechanism)
    kernel.check_prior(prior)
    used = prior.support
    if len(used) < 2:
        raise KernelError(
            "guessing rate",
            expected="at least two symbols of positive mass",
            got=str(len(used)),
            remedy="ask about a secret that can have two values",
        )
    rows = kernel.kernel[used]
    labels = tuple(prior.labels[x] for x in used.tolist())
    found = np.full((len(rows),) * 2, math.inf)
    for x in range(len(rows)):
        for z in range(x):
            found[x, z] = found[z, x] = _chernoff(rows[x], rows[z])[0]
    x, z = divmod(int(found.argmin()), len(found))
    if x == z:  # all are infinite: every two are told apart by the first report
        x, z = 0, 1
    return GuessingRate(
        float(found[x, z]),
        (labels[min(x, z)], labels[max(x, z)]),
        found,
        labels,
        prior.probabilities[used],
        rows,
    )


def overlap_at_least(a: float, b: float, affinity: float, reports: int) -> float:
    """Σ min(a Pⁿ, b Qⁿ) at least, for distributions with Σ √(PQ) ≥ ``affinity``.

    (a + b − √((a + b)² − 4ab B²ⁿ))/2 ([Kailath1967]), rounded down. Raises :class:`LevelError`
    for what is no number of reports.
    """
    n = whole(reports, "number of reports", 0, _MOST_REPORTS)
    close = min(affinity, 1.0)
    overlap = (math.exp(2 * n * math.log(close)) if close else 0.0) if n else 1.0
    # (s − √(s² − d))/2 without cancellation.
    d, s = 4 * a * b * overlap, a + b
    return d / (s + math.sqrt(max(s * s - d, 0.0))) / 2 * (1 - _SLACK) if d else 0.0


def _affinity(first: Array, second: Array, order: float) -> float:
    """Σ_y P^(1−s) Q^s over the outcomes that both have."""
    both = (first > 0) & (second > 0)
    return float(np.sum(first[both] ** (1 - order) * second[both] ** order))


def _noise(rows: Array) -> float:
    """Rounding of the logarithm of an affinity, generously; it is multiplied by the reports."""
    return 1e-15 * (rows.shape[-1] + 8)


def _chernoff(first: Array, second: Array) -> tuple[float, float]:
    """Chernoff information and its order: a convex minimum, by golden sections."""
    low, high, part = 0.0, 1.0, (math.sqrt(5) - 1) / 2
    for _ in range(_STEPS):
        a, b = high - part * (high - low), low + part * (high - low)
        if _affinity(first, second, a) <= _affinity(first, second, b):
            high = b
        else:
            low = a
    order = (low + high) / 2
    least = _affinity(first, second, order)
    if not least:
        return math.inf, order
    return max(0.0, -math.log(min(least, 1.0))), order


def _chernoff_error(first: Array, second: Array, a: float, b: float, reports: int) -> float:
    """Σ min(a Pⁿ, b Qⁿ) ≤ a^(1−s) b^s (Σ P^(1−s) Q^s)ⁿ; of orders the best of a few."""
    _, best = _chernoff(first, second)
    found = math.inf
    for order in (best, 0.0, 0.25, 0.5, 0.75, 1.0):
        close = _affinity(first, second, order)
        if not close:
            return 0.0
        each = min(math.log(close) + _noise(first), 0.0)
        log = (1 - order) * math.log(a) + order * math.log(b) + reports * each
        found = min(found, math.exp(log))
    return found


def least_number(is_enough: Callable[[int], bool]) -> float:
    """The least n at which a monotone statement holds, ``inf`` where none up to 10^15 does."""
    low, high = -1, 1
    while not is_enough(high):
        low, high = high, high * 2
        if high > _MOST_REPORTS:
            return math.inf
    if is_enough(0):
        return 0
    low = max(low, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


# (ε, δ) of many reports


def approximate_level(reports: list[tuple[Mechanism, int]], delta: float) -> float:
    """An ε at which reports together are (ε, δ)-locally differentially private, rounded up.

    Rényi divergences of independent reports add up ([Mironov2017]), and those of order α above 1
    give ε = D_α + log(1 − 1/α) − log(δ α)/(α − 1) ([Canonne2020], Proposition 12).
    Every order gives a bound; the least is taken for every ordered pair of symbols. ``inf`` where
    an outcome rules a symbol out, or for δ = 0.
    """
    if not delta > 0:
        return math.inf
    size = reports[0][0].shape[0]
    total = np.zeros((size, size, len(_ORDERS)))
    for mechanism, times in reports:
        total += times * _divergences(mechanism.kernel)
    extra = np.log1p(-1 / _ORDERS) - (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1)
    levels = np.maximum(total * (1 + _SLACK) + extra + _SLACK * (1 + np.abs(extra)), 0.0)
    levels[np.isnan(levels)] = math.inf
    each = levels.min(axis=2)
    np.fill_diagonal(each, 0.0)
    return float(each.max(initial=0.0))


def _divergences(kernel: Array) -> Array:
    """D_α(P(·|x)‖P(·|x')) for every ordered pair and order, ``(N, N, orders)``, in nats."""
    from scipy.special import logsumexp

    n = len(kernel)
    found = np.zeros((n, n, len(_ORDERS)))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(kernel)
    for x in range(n):
        used = kernel[x] > 0
        for z in range(n):
            if x == z:
                continue
            if (kernel[z, used] == 0).any():
                found[x, z] = math.inf
                continue
            ratio = logs[x, used] - logs[z, used]
            terms = logs[x, used][:, None] + (_ORDERS - 1) * ratio[:, None]
            found[x, z] = logsumexp(terms, axis=0) / (_ORDERS - 1)
            # The rounding of logarithms is divided by what is small near order 1.
            found[x, z] += _SLACK / (_ORDERS - 1)
    return np.maximum(found, 0.0)
