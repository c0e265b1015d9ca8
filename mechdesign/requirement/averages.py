"""Requirements on averages: costs, marginals, shares of outputs, errors of groups, unbiasedness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import RequirementError, quote
from ..exact import dot
from ..labels import Label
from ..mechanism import Mechanism
from ..numeric import truth_value
from ..prior import Prior
from .base import (
    TOLERANCE,
    Limit,
    Requirement,
    Table,
    apart,
    checked_ends,
    checked_name,
    checked_tolerance,
    finite,
    fitting,
    keep,
    largest,
    masses_of,
    mean,
    mean_costs,
    over_all,
    place_of,
    rows_of_numbers,
    share,
)


@dataclass(frozen=True)
class Cost(Requirement):
    """E[c(X, Y)] ≤ limit, or E[c(x, Y) | x] ≤ limit for every symbol x."""

    costs: Table
    limit: float
    each: bool = False

    def __post_init__(self) -> None:
        each = truth_value(self.each, "each", error=RequirementError)
        costs, limit = rows_of_numbers(self.costs, "cost"), finite(self.limit, "limit of a cost")
        keep(self, costs=costs, limit=limit, each=each)

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One, or one for each symbol."""
        costs, most = fitting(self.costs, prior, outputs, "cost"), Fraction(self.limit)
        if self.each:
            columns = np.arange(len(outputs))
            for place, row in enumerate(costs):
                label = f"cost of {prior.labels[place]} at most {self.limit:.12g}"
                yield Limit(np.full_like(columns, place), columns, row, None, most, label)
            return
        label = f"expected cost at most {self.limit:.12g}"
        yield over_all(costs, None, most, label, masses_of(prior))

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the expected cost, or of the symbol that costs most."""
        fitting(self.costs, prior, mechanism.outputs, "cost")
        found = mean_costs(mechanism, self.costs)
        most = Fraction(self.limit)
        if self.each:
            names = (f"cost of {label}" for label in mechanism.inputs)
            return largest((c - most, name) for c, name in zip(found, names, strict=True))
        return mean(masses_of(prior), found) - most, "expected cost"

    @property
    def description(self) -> str:
        """The limit."""
        kind = "the expected cost of every symbol" if self.each else "the expected cost"
        return f"{kind} is at most {self.limit:.12g}"


@dataclass(frozen=True)
class LeastGain(Requirement):
    """Σ_x q_x Σ_y u_xy K_xy ≥ least for gains u, with the masses q of the prior or of another."""

    gains: Table
    least: float
    masses: tuple[Fraction, ...] | None = None
    name: str = "the expected gain"

    def __post_init__(self) -> None:
        gains, least = rows_of_numbers(self.gains, "gains"), finite(self.least, "least gain")
        keep(self, gains=gains, least=least, name=checked_name(self.name, "a least gain"))
        if self.masses is not None and len(self.masses) != len(self.gains):
            raise RequirementError(
                "masses of a least gain",
                expected=f"{len(self.gains)}, one for each symbol",
                got=f"{len(self.masses)}",
                remedy="give as many masses as rows of gains",
            )

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One."""
        gains = fitting(self.gains, prior, outputs, "gains")
        scales = masses_of(prior) if self.masses is None else self.masses
        yield over_all(gains, Fraction(self.least), None, self.description, scales)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """By how much the expected gain is too small."""
        fitting(self.gains, prior, mechanism.outputs, "gains")
        masses = masses_of(prior) if self.masses is None else self.masses
        found = mean(masses, mean_costs(mechanism, self.gains))
        return Fraction(self.least) - found, self.name

    @property
    def description(self) -> str:
        """What is meant, and the least."""
        return f"{self.name} is at least {self.least:.12g}"


@dataclass(frozen=True)
class Invariant(Requirement):
    """pᵀK = p: every output is as frequent as the symbol of its label, within a tolerance."""

    tolerance: float | None = None

    def __post_init__(self) -> None:
        keep(self, tolerance=checked_tolerance(self.tolerance, "tolerance of invariance"))

    @property
    def _room(self) -> Fraction:
        return Fraction(TOLERANCE if self.tolerance is None else self.tolerance)

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each output; those without a symbol never occur."""
        mass = dict(zip(prior.labels, masses_of(prior), strict=True))
        if not set(outputs) >= {label for label, share in mass.items() if share}:
            raise RequirementError(
                "invariant marginals",
                expected="an output for every symbol",
                got=f"outputs {quote(list(outputs))}",
                remedy="leave outputs= out, or add the labels that lack",
            )
        n = len(prior)
        for y, label in enumerate(outputs):
            share = mass.get(label, Fraction(0))
            low, high = share - self._room, share + self._room
            if not share:
                low, high = Fraction(0), Fraction(0)
            name = f"P(Y = {label}) equal to P(X = {label})"
            ones = np.ones(n)
            yield Limit(np.arange(n), np.full(n, y), ones, low, high, name, masses_of(prior))

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the output whose frequency is off most."""
        total = prior.total * mechanism.denominator
        found = []
        for label, got in zip(
            mechanism.outputs, dot(prior.weights, mechanism.weights), strict=True
        ):
            asked = prior.mass(prior.index(label)) if label in prior.labels else Fraction(0)
            room = self._room if asked else 0
            found.append((abs(Fraction(got, total) - asked) - room, f"P(Y = {label})"))
        return largest(found)

    @property
    def description(self) -> str:
        """With the tolerance."""
        return f"the marginal is kept: pᵀK = p within {float(self._room):g}"


@dataclass(frozen=True)
class OutputShare(Requirement):
    """low ≤ P(Y = y) ≤ high; ends that agree are moved 1e-12 apart on either side."""

    y: Label
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        subject = "share of an output"
        low, high = (finite(end, subject, 0.0, 1.0) for end in (self.low, self.high))
        checked_ends(low, high, subject, ("low", "high"))
        if low > 0 and high < 1:
            low, high = apart(low, high)
        keep(self, low=low, high=high)

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One."""
        n, y = len(prior), place_of(self.y, outputs, str(self), "an output")
        low = Fraction(self.low) if self.low > 0 else None
        high = Fraction(self.high) if self.high < 1 else None
        columns = np.full(n, y)
        label = self.description
        yield Limit(np.arange(n), columns, np.ones(n), low, high, label, masses_of(prior))

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the share."""
        y = place_of(self.y, mechanism.outputs, str(self), "an output")
        column = (share(w, mechanism) for w in mechanism.weights[:, y])
        found = mean(masses_of(prior), column)
        return max(Fraction(self.low) - found, found - Fraction(self.high)), f"P(Y = {self.y})"

    @property
    def description(self) -> str:
        """The output and the ends."""
        if self.high - self.low < 4 * TOLERANCE:
            middle = (self.low + self.high) / 2
            return f"P(Y = {quote(self.y)}) = {middle:.12g} within {TOLERANCE:g}"
        return f"{self.low:.12g} ≤ P(Y = {quote(self.y)}) ≤ {self.high:.12g}"


@dataclass(frozen=True)
class EqualError(Requirement):
    """|P(Y ≠ X | group) − P(Y ≠ X | other group)| ≤ tolerance for every pair of groups.

    With ``costs`` the mean cost takes the place of the error.
    """

    groups: tuple[tuple[Label, ...], ...]
    tolerance: float
    costs: Table | None = None

    def __post_init__(self) -> None:
        subject, remedy = "tolerance between groups", f"pass {TOLERANCE:g} for groups alike"
        finite(self.tolerance, subject, 0.0)  # it may not be left out
        keep(self, tolerance=checked_tolerance(self.tolerance, subject, remedy))
        once = all(len(set(group)) == len(group) > 0 for group in self.groups)
        if len(self.groups) < 2 or not once:
            raise RequirementError(
                "groups",
                expected="at least two groups of symbols, none of them empty, each symbol once",
                got=quote(self.groups),
                remedy="list the symbols of each group, as in [['a', 'b'], ['c']]",
            )
        if self.costs is not None:
            keep(self, costs=rows_of_numbers(self.costs, "cost"))

    def _costs(self, prior: Prior, outputs: Sequence[Label]) -> Table:
        errors = tuple(tuple(float(x != y) for y in outputs) for x in prior.labels)
        return errors if self.costs is None else self.costs

    def _weights(self, prior: Prior) -> list[dict[int, Fraction]]:
        found = []
        for group in self.groups:
            places = {place_of(x, prior.labels, "groups", "an input symbol") for x in group}
            total = sum((prior.mass(x) for x in places), Fraction(0))
            if not total:
                raise RequirementError(
                    "groups",
                    expected="groups of positive mass",
                    got=f"zero for {quote(list(group))}",
                    remedy="leave the group out",
                )
            found.append({x: prior.mass(x) / total for x in places})
        return found

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each pair of groups."""
        costs = fitting(self._costs(prior, outputs), prior, outputs, "cost")
        weights, room = self._weights(prior), Fraction(self.tolerance)
        for i, first in enumerate(weights):
            for j in range(i):
                second = weights[j]
                places = range(len(prior))
                scales = tuple(first.get(k, Fraction(0)) - second.get(k, 0) for k in places)
                label = f"error of group {i + 1} as that of group {j + 1}"
                yield over_all(costs, -room, room, label, scales)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the two groups that differ most."""
        costs = self._costs(prior, mechanism.outputs)
        fitting(costs, prior, mechanism.outputs, "cost")
        means = mean_costs(mechanism, costs)
        errors = [
            sum((mass * means[x] for x, mass in group.items()), Fraction(0))
            for group in self._weights(prior)
        ]
        most, least = errors.index(max(errors)), errors.index(min(errors))
        where = f"groups {most + 1} and {least + 1}"
        return errors[most] - errors[least] - Fraction(self.tolerance), where

    @property
    def description(self) -> str:
        """The number of groups and the tolerance."""
        kind = "errors" if self.costs is None else "mean costs"
        return f"the {kind} of {len(self.groups)} groups differ by at most {self.tolerance:g}"


@dataclass(frozen=True)
class Unbiased(Requirement):
    """E[value(Y) | x] = value(x) for every symbol, within a tolerance.

    ``values`` holds (label, value) of every symbol and output.
    """

    values: tuple[tuple[Label, float], ...]
    tolerance: float | None = None

    def __post_init__(self) -> None:
        tolerance = checked_tolerance(self.tolerance, "tolerance of unbiasedness")
        values = tuple((x, finite(v, f"value of {quote(x)}")) for x, v in self.values)
        if not values or len(dict(values)) < len(values):
            raise RequirementError(
                "unbiased",
                expected="a value for every symbol and output, one for each",
                got=quote(values) if values else "none",
                remedy="give each label its value (--require unbiased:a=0,b=1)",
            )
        keep(self, tolerance=tolerance, values=values)

    @property
    def _room(self) -> Fraction:
        if self.tolerance is not None:
            return Fraction(self.tolerance)
        return Fraction(TOLERANCE * max(1.0, *(abs(value) for _, value in self.values)))

    def _values(self, labels: Sequence[Label]) -> list[float]:
        known = dict(self.values)
        for label in labels:
            if label not in known:
                raise RequirementError(
                    "unbiased",
                    expected="a value for every symbol and output",
                    got=f"none for {quote(label)}",
                    remedy="give each label its value (--require unbiased:a=0,b=1)",
                )
        return [known[label] for label in labels]

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each symbol."""
        goals, values, m = self._values(prior.labels), self._values(outputs), len(outputs)
        for x, label in enumerate(prior.labels):
            goal = Fraction(goals[x])
            name = f"mean report of {label} equal to {float(goal):.12g}"
            low, high = goal - self._room, goal + self._room
            yield Limit(np.full(m, x), np.arange(m), np.array(values), low, high, name)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the symbol whose mean report is off most."""
        goals, values = self._values(mechanism.inputs), self._values(mechanism.outputs)
        means = mean_costs(mechanism, [values] * len(goals))
        return largest(
            (abs(mean - Fraction(goal)) - self._room, f"mean report of {label}")
            for mean, goal, label in zip(means, goals, mechanism.inputs, strict=True)
        )

    @property
    def description(self) -> str:
        """With the tolerance."""
        return f"E[value(Y) | x] = value(x) for every symbol, within {float(self._room):g}"
