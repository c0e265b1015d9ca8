"""Requirements on every outcome alike: sums over symbols, posteriors, symbols that share none.

Most ask Σ_x a_x P(y | x) ≤ 0 of the column of every outcome y, whatever outcomes there are and
whatever they are called. That is a bound on a likelihood ratio between two hypotheses and cuts the
cone of columns, so that designs that find their outputs can be made with it. Where two symbols
share no outcome, each column lies in one of several faces of the cone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from ..errors import RequirementError, quote
from ..exact import log_level
from ..labels import Label, listing
from ..mechanism import Mechanism
from ..numeric import truth_value
from ..prior import Prior
from ..privacy.constraint import Bound, Hypotheses
from .base import Limit, Requirement, checked_ends, finite, keep, largest, place_of


class _Local(Requirement, register=False):
    """Rows a with Σ_x a_x P(y | x) ≤ 0 at every outcome y."""

    is_local = True

    @abstractmethod
    def _rows(self, prior: Prior) -> list[list[Fraction]]:
        """The rows that ask something, each with an entry above zero and a sum of at most zero."""

    @abstractmethod
    def _check(self, prior: Prior) -> None:
        """Raise :class:`RequirementError` where it does not fit a prior over all symbols."""

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """None: it is part of the cone, see :meth:`bounds`."""
        self._check(prior)
        return iter(())

    def bounds(self, prior: Prior) -> list[Bound]:
        """One for each row: (a⁺ᵀk)/|a⁺| ≤ (|a⁻|/|a⁺|) (a⁻ᵀk)/|a⁻|."""
        return [_bound(row) for row in self._rows(prior)]

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the outcome that breaks it most."""
        return largest(
            (
                sum((a * int(w) for a, w in zip(row, column, strict=True)), Fraction(0))
                / mechanism.denominator,
                f"outcome {label}",
            )
            for row in self._rows(prior)
            for label, column in zip(mechanism.outputs, mechanism.weights.T, strict=True)
        )


def _bound(row: Sequence[Fraction]) -> Bound:
    """The level is the logarithm of the factor."""
    over, under = [max(a, Fraction(0)) for a in row], [max(-a, Fraction(0)) for a in row]
    ratio = sum(under, Fraction(0)) / sum(over, Fraction(0))
    sides = [
        Hypotheses.mixtures([[a / sum(side) for a in side]], [name])
        for side, name in ((over, "positive coefficients"), (under, "negative coefficients"))
    ]
    return Bound(sides[0], sides[1], log_level(ratio))


@dataclass(frozen=True)
class EveryOutput(_Local):
    """Σ_x a_x P(y | x) ≤ 0 at every outcome y, whatever outcomes there are."""

    coefficients: tuple[tuple[Label, float], ...]

    def __post_init__(self) -> None:
        found = tuple((x, finite(a, f"coefficient of {quote(x)}")) for x, a in self.coefficients)
        keep(self, coefficients=found)
        values = [a for _, a in found]
        positive = sum((Fraction(a) for a in values if a > 0), Fraction(0))
        negative = -sum((Fraction(a) for a in values if a < 0), Fraction(0))
        if len(dict(found)) < len(found) or not 0 < positive <= negative:
            raise RequirementError(
                "coefficients of a constraint on every outcome",
                expected="positive and negative ones whose sum is at most zero, as the "
                "probabilities of the outcomes add up to one",
                got=f"positive ones of sum {float(positive):g}, negative ones of sum "
                f"{-float(negative):g}",
                remedy="check the signs",
            )

    def _check(self, prior: Prior) -> None:
        self._rows(prior)

    def _rows(self, prior: Prior) -> list[list[Fraction]]:
        found = [Fraction(0)] * len(prior)
        for label, value in self.coefficients:
            subject = "coefficients of a constraint on every outcome"
            found[place_of(label, prior.labels, subject, "symbols")] += Fraction(value)
        return [found]

    @property
    def description(self) -> str:
        """The sum, cut."""
        parts = [f"{value:+g}·P(y | {quote(label)})" for label, value in self.coefficients[:4]]
        more = " + …" if len(self.coefficients) > 4 else ""
        return f"{' '.join(parts)}{more} ≤ 0 at every outcome y"


@dataclass(frozen=True)
class Apart(Requirement):
    """No output is reported for two of some symbols: P(y | x) P(y | z) = 0 at every outcome y."""

    symbols: tuple[Label, ...]

    def __post_init__(self) -> None:
        symbols = tuple(dict.fromkeys(self.symbols))
        keep(self, symbols=symbols)
        if len(symbols) < 2:
            raise RequirementError(
                "symbols that share no output",
                expected="at least two different ones",
                got=listing(symbols) or "none",
                remedy="such as md.require.apart('a', 'b')",
            )

    def _places(self, labels: Sequence[Label]) -> list[int]:
        return sorted(place_of(x, labels, str(self), "an input symbol") for x in self.symbols)

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """None: that one of two entries is zero is no sum of entries."""
        self._places(prior.labels)
        return iter(())

    def apart(self, prior: Prior) -> frozenset[tuple[int, int]]:
        """Every two of the symbols."""
        return frozenset(combinations(self._places(prior.labels), 2))

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """The smaller probability of two symbols at an outcome that both have, the largest."""
        places = self._places(mechanism.inputs)
        second = np.sort(mechanism.weights[places], axis=0)[-2]
        return largest(
            (Fraction(int(w), mechanism.denominator), f"outcome {label}")
            for w, label in zip(second, mechanism.outputs, strict=True)
        )

    named = "one by which each output leaves out one symbol or another"

    @property
    def description(self) -> str:
        """The symbols."""
        return f"no output is reported for two of {listing(self.symbols)}"


@dataclass(frozen=True)
class Posterior(_Local):
    """low ≤ P(X in a group | y) ≤ high at every outcome y, under the prior of the design.

    With ``relative`` the ends are those of the lift P(X in the group | y) / P(X in the group).
    """

    symbols: tuple[Label, ...]
    low: float | None = None
    high: float | None = None
    relative: bool = False

    def __post_init__(self) -> None:
        subject = self._subject
        relative = truth_value(self.relative, "relative", error=RequirementError)
        if not self.symbols:
            raise RequirementError(
                subject, expected="at least one symbol", got="none", remedy="name the symbols"
            )
        most = math.inf if self.relative else 1.0
        low, high = checked_ends(self.low, self.high, subject, most=most)
        symbols = tuple(dict.fromkeys(self.symbols))
        keep(self, symbols=symbols, low=low, high=high, relative=relative)

    @property
    def _subject(self) -> str:
        return "lift at every outcome" if self.relative else "posterior at every outcome"

    def _ends(self, share: Fraction) -> tuple[Fraction | None, Fraction | None]:
        """Ends of the posterior for a group of a mass."""
        unit = share if self.relative else Fraction(1)
        low, high = (None if v is None else Fraction(v) * unit for v in (self.low, self.high))
        return low, high

    def _check(self, prior: Prior) -> None:
        places = {place_of(x, prior.labels, str(self), "an input symbol") for x in self.symbols}
        share = sum((prior.mass(x) for x in places), Fraction(0))
        if not share:
            raise RequirementError(
                str(self),
                expected="a group of positive mass",
                got=f"zero for {listing(self.symbols)}",
                remedy="leave it out: no outcome can make these symbols likely",
            )
        low, high = self._ends(share)
        if (low or 0) > share or (high is not None and high < share):
            raise RequirementError(
                str(self),
                expected="at_least no larger and at_most no smaller than "
                + ("one" if self.relative else f"the prior probability {float(share):.12g}")
                + ", as the posteriors of all outcomes average to that of the prior",
                got=f"at_least {quote(self.low)}, at_most {quote(self.high)}",
                remedy="move the ends to either side of it",
            )

    def _rows(self, prior: Prior) -> list[list[Fraction]]:
        masses = [prior.mass(x) for x in range(len(prior))]
        inside = [label in self.symbols for label in prior.labels]
        low, high = self._ends(sum((m for m, i in zip(masses, inside, strict=True) if i), _ZERO))
        found = []
        if high is not None:
            found.append([m * (i - high) for m, i in zip(masses, inside, strict=True)])
        if low is not None:
            found.append([m * (low - i) for m, i in zip(masses, inside, strict=True)])
        return [row for row in found if max(row) > 0]

    @property
    def description(self) -> str:
        """The group and the ends."""
        low = "" if self.low is None else f"{self.low:.12g} ≤ "
        high = "" if self.high is None else f" ≤ {self.high:.12g}"
        one = listing(self.symbols)
        name = f"X = {one}" if len(self.symbols) == 1 else f"X one of {one}"
        share = f"P({name} | y)" + (f" / P({name})" if self.relative else "")
        return f"{low}{share}{high} at every outcome y"


_ZERO = Fraction(0)
