"""Databases of n entries, reduced to their counts, and what their entries give away.

A database has n entries from k values: kⁿ symbols, which is out of reach. When prior, utility and
neighbours treat entries alike, some best mechanism does as well (average a best one over the n!
orders of the entries: every notion of the likelihood family is convex), so it depends on the
counts of the values alone and the secret can be the counts: n + 1 symbols for k = 2. In terms of
counts neighbours differ by one entry moved, and given counts t an entry has value v with
probability t_v / n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import comb, factorial, prod
from typing import Any, ClassVar

import numpy as np

from ..errors import LevelError, PriorError, is_iterable, quote
from ..exact import fraction, is_whole
from ..prior import Prior
from .constraint import Array, Bound, Hypotheses
from .notion import LikelihoodBound

#: Counts of a database that are told apart.
MOST_COUNTS = 1_000_000


def counts_of(entries: int, values: int = 2) -> list[Any]:
    """The symbols of a reduced database: 0 … n for two values, else tuples of k counts.

    For two values the count is that of the second one (entries with value 1).

    >>> counts_of(2), counts_of(2, 3)[:3]
    ([0, 1, 2], [(2, 0, 0), (1, 1, 0), (1, 0, 1)])
    """
    if not is_whole(entries, 1) or not is_whole(values, 2):
        raise PriorError(
            "database",
            expected="at least one entry and two values",
            got=f"{quote(entries)} entries of {quote(values)} values",
            remedy="give the number of rows and of values a row can have",
        )
    entries, values = int(entries), int(values)
    # How many counts there are, without the long way to an astronomical number of them.
    if entries > MOST_COUNTS or values > MOST_COUNTS or _ways(entries, values) > MOST_COUNTS:
        raise PriorError(
            "database",
            expected=f"at most {MOST_COUNTS:,} different counts",
            got=f"{quote(entries)} entries of {quote(values)} values",
            remedy="give the number of rows and of values a row can have",
        )
    if values == 2:
        return list(range(entries + 1))
    return [tuple(t) for t in _splits(entries, values)]


def _ways(entries: int, values: int) -> int:
    """The number of tuples of counts, or some number above :data:`MOST_COUNTS`."""
    found = 1
    for k in range(1, min(entries, values - 1) + 1):
        found = found * (entries + values - k) // k
        if found > MOST_COUNTS:
            break
    return found


def _splits(total: int, parts: int) -> Iterator[list[int]]:
    if parts == 1:
        yield [total]
        return
    for first in range(total, -1, -1):
        for rest in _splits(total - first, parts - 1):
            yield [first, *rest]


def counts_prior(entries: int, chances: Any) -> Prior:
    """The law of the counts when entries are drawn independently, exact from the numbers given.

    Parameters
    ----------
    entries : int
        Number n of entries.
    chances : float, or k masses
        P(entry = 1), or the distribution of an entry over k values.

    >>> counts_prior(2, .5).probabilities
    array([0.25, 0.5 , 0.25])
    """
    try:
        if is_iterable(chances):
            masses = [fraction(c) for c in chances]
        else:
            masses = [1 - fraction(chances), fraction(chances)]
    except (TypeError, ValueError, OverflowError):
        masses = [Fraction(-1)]
    total = sum(masses, Fraction(0))
    if min(masses) < 0 or total <= 0 or (not is_iterable(chances) and min(masses) < 0):
        raise PriorError(
            "chances of an entry",
            expected="a probability, or non-negative masses",
            got=quote(chances),
            remedy="give P(entry = 1), or one mass per value",
        )
    labels = counts_of(entries, len(masses))
    n = int(entries)
    weights = []
    for label in labels:
        t = (n - label, label) if len(masses) == 2 else label
        ways = factorial(n) // prod(factorial(v) for v in t)
        weights.append(ways * prod((m / total) ** v for m, v in zip(masses, t, strict=True)))
    return Prior.from_counts(weights, labels)


def neighbouring_counts(entries: int, values: int = 2) -> list[tuple[Any, Any]]:
    """Pairs of counts that one changed entry takes to one another, for :class:`DP`.

    >>> neighbouring_counts(3)
    [(0, 1), (1, 2), (2, 3)]
    """
    labels = counts_of(entries, values)
    if values == 2:
        return [(t, t + 1) for t in range(entries)]
    pairs = []
    for t in labels:
        for a in range(values):
            for b in range(a + 1, values):
                if t[a]:
                    moved = list(t)
                    moved[a], moved[b] = moved[a] - 1, moved[b] + 1
                    pairs.append((t, tuple(moved)))
    return pairs


def entry_of(entries: int, values: int = 2) -> dict[Any, dict[int, Fraction]]:
    """Any one entry of the database as a feature of its counts, P(entry = v | t) = t_v / n.

    For :class:`FeaturePML` and :class:`FeaturePMC`: what an outcome tells about one individual,
    the others drawn as the prior of the counts says.

    >>> entry_of(2)[1]
    {0: Fraction(1, 2), 1: Fraction(1, 2)}
    """
    labels = counts_of(entries, values)
    table = {}
    for label in labels:
        t: Sequence[int] = (entries - label, label) if values == 2 else label
        table[label] = {v: Fraction(c, entries) for v, c in enumerate(t) if c}
    return table


@dataclass(frozen=True)
class EntryPML(LikelihoodBound):
    """ε-PML of every entry of a 0-1 database, whatever the chances in [low, high] of its entries.

    The secret is the count of ones among n independent entries, where entry i is 1 with a
    probability p_i in [low, high] that may differ from entry to entry and is not known. For every
    such choice, entry i, value d and outcome y: P(y | D_i = d) ≤ e^ε P(y).

    Parameters
    ----------
    epsilon : float
        Level in nats.
    entries : int
        Number n of entries; symbols are the counts 0 … n.
    low, high : float
        Range of the chances, ``high`` is 1 − low when left out.

    Notes
    -----
    Contains the class of [SaeidianDisclosure] Proposition 4.6 (entries with equal chances in
    (c, 1 − c)), at the same level for the Laplace mechanism. P(y | D_i = d) − e^ε P(y) is affine in
    each p_j, so it is largest at ends of the range: with j of the other entries at ``high``, the
    rest at ``low`` and p_i where d is least likely, 2n pairs of hypotheses decide. At ``low=0`` the
    range holds every prior of independent entries, and what is asked is DP between adjacent counts.

    Examples
    --------
    >>> import mechdesign as md
    >>> n, c = 10, .3
    >>> counts = md.privacy.databases.counts_prior(n, .5)
    >>> asked = md.privacy.databases.EntryPML(.3, n, c)
    >>> loss = md.utility.Distance("absolute")
    >>> best = md.design(counts, loss, asked)
    >>> -best.value < -md.design(counts, loss, md.DP(.3, "adjacent")).value
    True
    """

    epsilon: float
    entries: int
    low: float
    high: float | None = None
    needs: ClassVar = ("entries", "low")
    written: ClassVar = (int, float)
    references: ClassVar = ("SaeidianDisclosure",)
    promise = (
        "Whatever an adversary wants to know of one of the {0.entries} entries, no report "
        "multiplies what they can expect by more than {factor}, as long as the "
        "entries are independent and their chances lie in the range named."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high is None and isinstance(self.low, (int, float, Fraction)):
            object.__setattr__(self, "high", 1 - self.low)
        numbers = (self.low, self.high)
        good = all(
            isinstance(v, (int, float, Fraction)) and not isinstance(v, bool) for v in numbers
        )
        if not good or not 0 <= self.low <= self.high <= 1:  # type: ignore[operator]
            raise LevelError(
                "chances of an entry",
                expected="numbers 0 ≤ low ≤ high ≤ 1",
                got=f"low {quote(self.low)}, high {quote(self.high)}",
                remedy="give for example low=0.1",
            )
        counts_of(self.entries)

    covers_zero_mass = True

    def _range(self) -> list[Fraction]:
        return [fraction(self.low), fraction(self.high)]

    def _checked(self, prior: Prior) -> None:
        if prior.labels != tuple(range(self.entries + 1)):
            raise PriorError(
                "prior of a count",
                expected=f"the symbols 0 … {self.entries} in order",
                got=f"{len(prior)} symbols such as {quote(prior.labels[0])}",
                remedy="use databases.counts_prior, or Prior.uniform(range(n + 1))",
            )

    def _worst_chances(self) -> list[tuple[int, Fraction]]:
        """Each value d an entry may have, with the p_i at which it stands out most.

        P(y | D_i = d) exceeds P(y) most when d is least likely, in the limit also where the end of
        the range leaves d no chance at all.
        """
        low, high = self._range()
        return [(d, p) for d, p, some in ((0, high, low < 1), (1, low, high > 0)) if some]

    def bounds(self, prior: Prior) -> list[Bound]:
        """(P(T | D_i = d), P(T)) with p_i and the other chances at ends of the range."""
        self._checked(prior)
        n, (low, high) = self.entries, self._range()
        scale = math.lcm(low.denominator, high.denominator)
        over: list[tuple[int, ...]] = []
        under: list[tuple[int, ...]] = []
        names: list[str] = []
        priors: list[str] = []
        laws = _sum_weights(n - 1, int(low * scale), int(high * scale), scale)
        for j, rest in enumerate(islice(laws, n if low < high else 1)):
            given = [*rest, 0], [0, *rest]
            for d, p in self._worst_chances():
                ones = int(p * scale)
                over.append(tuple(scale * v for v in given[d]))
                under.append(
                    tuple((scale - ones) * a + ones * b for a, b in zip(*given, strict=True))
                )
                names.append(f"an entry of {d}, {j} others at {float(high):g}")
                priors.append(f"the prior with p_i at {float(p):g}")
        total = scale**n
        return [
            Bound(
                Hypotheses(n + 1, None, tuple(over), total, tuple(names)),
                Hypotheses(n + 1, None, tuple(under), total, tuple(priors)),
                self.epsilon,
                pairing="matched",
            )
        ]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Largest log P(y | D_i = d)/P(y) over the ends of the range, ``(M,)`` in nats."""
        self._checked(prior)
        n = self.entries
        low, high = (float(end) for end in self._range())
        # The outcome's likelihood given the ones so far, by conditioning on one entry after
        # another: first on entries at low, from n - 1 of them down, then on those at high.
        worst = np.zeros(kernel.shape[1])
        stages = [kernel]
        for _ in range(n - 1):
            stages.append((1 - low) * stages[-1][:-1] + low * stages[-1][1:])
        for j in range(n):
            level = stages[n - 1 - j]
            for _ in range(j):
                level = (1 - high) * level[:-1] + high * level[1:]
            for d, chance in self._worst_chances():
                p = float(chance)
                q = (1 - p) * level[0] + p * level[1]
                with np.errstate(divide="ignore", invalid="ignore"):
                    log = np.where(level[d] > 0, np.log(level[d]) - np.log(q), 0.0)
                worst = np.maximum(worst, log)
        return worst


def _sum_weights(entries: int, a: int, b: int, scale: int) -> Iterator[list[int]]:
    """Laws of sums of 0-1 entries, j of chance b/scale and the rest of a/scale, j = 0 … entries.

    Times scale^entries, in integers: the coefficients of (scale − a + a x)^… (scale − b + b x)^j.
    Each follows from the last one by trading one factor for the other. Needs a < scale for j > 0.
    """
    n = entries
    law = [comb(n, t) * a**t * (scale - a) ** (n - t) for t in range(n + 1)]
    yield law
    for _ in range(n):
        divided, last = [], 0
        for t in range(n):
            last = (law[t] - a * last) // (scale - a)
            divided.append(last)
        law = [(scale - b) * u + b * v for u, v in zip([*divided, 0], [0, *divided], strict=True)]
        yield law
