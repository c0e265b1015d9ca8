"""What every requirement has: limits for the program, an exact check, a description; the registry.

A limit is low ≤ Σ_x s_x Σ_y a_xy K_xy ≤ high over the entries of a kernel K, with floats a and
rational s, so that it is evaluated exactly on the integer weights that the sampler uses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import RequirementError, is_iterable, quote, visible
from ..exact import Verdict, are_machine_weights, float_at_least, scaled, sums_of_products
from ..labels import Label
from ..mechanism import Mechanism
from ..numeric import finite_matrix, finite_number
from ..prior import Prior
from ..privacy.constraint import Bound
from ..registry import register as register_class

Array = NDArray[np.float64]
#: A matrix as requirements hold it.
Table = tuple[tuple[float, ...], ...]
#: Positions x and y of entries, two rows or a pair.
Places = NDArray[np.intp]

REQUIREMENTS: dict[str, type[Requirement]] = {}
#: How far an equation may be off where nothing is said, as a share of its largest coefficient:
#: weights over 2**53 hold few equations exactly.
TOLERANCE = 1e-12
#: The least tolerance that rounding to weights over 2**53 can keep.
LEAST_TOLERANCE = 1e-14


@dataclass(frozen=True, eq=False)
class Limit:
    """low ≤ Σ_i s_i a_i K[x_i, y_i] ≤ high.

    Attributes
    ----------
    symbols, outputs : ``(E,)`` positions x_i and y_i of its entries
    values : ``(E,)`` floats a_i
    low, high : exact ends; ``None`` asks nothing
    label : what it stands for
    factors : s of every symbol of the prior, one where left out
    """

    symbols: NDArray[np.intp]
    outputs: NDArray[np.intp]
    values: Array
    low: Fraction | None
    high: Fraction | None
    label: str
    factors: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", visible(self.label))

    @cached_property
    def coefficients(self) -> Array:
        """s_i a_i in floats, ``(E,)``."""
        if self.factors is None:
            return self.values
        scales = np.array([float(s) for s in self.factors])
        found: Array = scales[self.symbols] * self.values
        return found

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Both ends, nearest floats; infinite where nothing is asked."""
        low = -math.inf if self.low is None else float(self.low)
        return low, math.inf if self.high is None else float(self.high)

    @cached_property
    def _by_symbol(self) -> NDArray[np.intp]:
        return np.argsort(self.symbols, kind="stable")

    def exactly(self, weights: NDArray[Any], bits: int) -> Fraction:
        """Σ_i s_i a_i K_i for integer weights over ``2**bits``, exactly."""
        taken = weights[self.symbols, self.outputs]
        if self.factors is None:
            return _total(taken, self.values) / (1 << bits)
        order, count = self._by_symbol, len(self.factors)
        if not are_machine_weights(taken):
            scales = (self.factors[x] for x in self.symbols.tolist())
            terms = zip(taken.tolist(), self.values.tolist(), scales, strict=True)
            return sum((int(w) * Fraction(v) * s for w, v, s in terms), Fraction(0)) / (1 << bits)
        symbols = self.symbols[order]
        totals, unit = sums_of_products(taken[order], self.values[order], symbols, count)
        common = math.lcm(*(s.denominator for s in self.factors))
        weighted = sum(
            total * (s.numerator * (common // s.denominator))
            for total, s in zip(totals, self.factors, strict=True)
            if total
        )
        return scaled(weighted, unit - bits) / common

    def is_kept(self, weights: NDArray[Any], bits: int) -> bool:
        """Whether integer weights over ``2**bits`` satisfy it, exactly."""
        value = self.exactly(weights, bits)
        low, high = self.low, self.high
        return (low is None or value >= low) and (high is None or value <= high)

    @property
    def forbids(self) -> bool:
        """Whether it leaves its entries no value but zero."""
        negative = self.factors is not None and any(s < 0 for s in self.factors)
        if negative or not len(self.values):
            return False
        if self.high == 0 and bool((self.values >= 0).all()):
            return True
        return self.low == 0 and bool((self.values <= 0).all())

    def without_zeros(self) -> Limit:
        """The limit without the entries whose coefficient is zero."""
        kept = self.values != 0
        if self.factors is not None:
            kept &= np.array([s != 0 for s in self.factors])[self.symbols]
        if kept.all():
            return self
        symbols, outputs, values = (a[kept] for a in (self.symbols, self.outputs, self.values))
        return replace(self, symbols=symbols, outputs=outputs, values=values)

    def on(self, symbols: NDArray[np.intp], size: int) -> Limit:
        """The limit over some of the symbols, which hold all its entries."""
        place = np.full(size, -1)
        place[symbols] = np.arange(len(symbols))
        scales = None if self.factors is None else tuple(self.factors[x] for x in symbols)
        return replace(self, symbols=place[self.symbols], factors=scales)


@dataclass(frozen=True)
class RequirementCheck:
    """The exact verdict on one requirement.

    Attributes
    ----------
    requirement : what was checked
    verdict : yes or no
    excess : by how much the kernel breaks it where it does so most, at most 0 where it does not;
        in the units of the requirement, rounded up
    evidence : where that is
    """

    requirement: Requirement
    verdict: Verdict
    excess: float
    evidence: str

    @property
    def shown(self) -> str:
        """Where the kernel breaks it and by how much, or where it is nearest to that."""
        if self.verdict is Verdict.NO:
            return f"broken by {self.excess:.3g} at {self.evidence}"
        return f"room of {abs(min(self.excess, 0.0)):.3g} at {self.evidence}"


class Requirement(ABC):
    """Something a kernel must satisfy beside privacy.

    Subclasses are frozen dataclasses of numbers, labels, text and tuples of these, which stand in
    files as they are. They give :meth:`limits` for the program and :meth:`excess` for the check,
    written so that they share nothing. Subclassing registers the requirement under its class name,
    so that files can name it; pass ``register=False`` as a class keyword to keep a class out.
    """

    #: Whether it is asked of every outcome alike, through :meth:`bounds`, so that the outputs need
    #: no names: sub-convex utilities can be designed with such a requirement.
    is_local: ClassVar[bool] = False
    #: Whether its check and the bounds under it are exact, and do not rest on floats.
    is_exact: ClassVar[bool] = True

    @property
    def most_outputs(self) -> int | None:
        """How many outputs may occur, where that is what it asks; no limit says so."""
        return None

    def apart(self, prior: Prior) -> frozenset[tuple[int, int]]:
        """Positions of two symbols that no output may be reported for both of, where that is what
        it asks: each output may then leave out either, which no limit says.
        """
        return frozenset()

    @property
    def named(self) -> str:
        """What it is, where it is not :attr:`is_local`: why it means nothing before the outputs of
        a kernel are known.
        """
        return "one of entries by the names of their outputs"

    def __init_subclass__(cls, *, register: bool = True, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if register:
            register_class(cls, REQUIREMENTS, "requirement", RequirementError)

    @abstractmethod
    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterable[Limit]:
        """Limits on the entries of a kernel from the prior's symbols to the outputs.

        Raises :class:`RequirementError` where it does not fit them.
        """

    def stated(self, prior: Prior, outputs: Sequence[Label]) -> tuple[Requirement, ...]:
        """What it asks of kernels from the prior's symbols to the outputs, as requirements that are
        known in full; itself, for most.
        """
        return (self,)

    @abstractmethod
    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """By how much a kernel breaks it at most, exactly, and where; at most 0 where it holds."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What it asks, in one line of words."""

    def bounds(self, prior: Prior) -> list[Bound]:
        """What it asks of the column of every outcome, for those that are asked alike."""
        return []

    def check(self, mechanism: Mechanism, prior: Prior) -> RequirementCheck:
        """The exact verdict on a kernel."""
        excess, where = self.excess(mechanism, prior)
        verdict = Verdict.YES if excess <= 0 else Verdict.NO
        return RequirementCheck(self, verdict, float_at_least(excess), visible(where))

    def __str__(self) -> str:
        return visible(self.description)


def requirement_fields(requirement: Requirement) -> dict[str, Any]:
    """The dataclass fields of a requirement, by name; none for a class that is no dataclass."""
    if not is_dataclass(requirement):
        return {}
    return {f.name: getattr(requirement, f.name) for f in fields(requirement) if f.init}


def as_requirements(given: Any) -> tuple[Requirement, ...]:
    """One requirement or a list of them, as a tuple without repetitions.

    Raises :class:`RequirementError` for anything else.
    """
    if given is None:
        return ()
    if isinstance(given, Requirement):
        return (given,)
    text = isinstance(given, (str, bytes, type)) or not is_iterable(given)
    found: list[Any] = [given] if text else list(given)
    for part in found:
        if not isinstance(part, Requirement):
            got = f"the class {part.__name__}" if isinstance(part, type) else quote(part)
            raise RequirementError(
                "subject_to",
                expected="requirements such as md.require.zero('a', 'b')",
                got=got,
                remedy="see md.require; rows takes any linear constraint, cvxpy any convex one",
            )
    return tuple(dict.fromkeys(found))


# What subclasses check their parameters with.


def finite(value: Any, subject: str, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite float from ``least`` to ``most``; raises :class:`RequirementError`."""
    return finite_number(value, subject, least, most, error=RequirementError)


def apart(low: float, high: float) -> tuple[float, float]:
    """Two ends of a share or an entry; where they agree, 1e-12 on either side of them.

    Weights over 2**53 hold few numbers exactly, and none of them may be the one that is asked.
    """
    if high - low >= TOLERANCE:
        return low, high
    middle = (low + high) / 2
    return max(middle - TOLERANCE, 0.0), min(middle + TOLERANCE, 1.0)


def keep(requirement: Requirement, **fields: Any) -> None:
    """Put checked values in the place of those that a frozen requirement was made with."""
    for name, value in fields.items():
        object.__setattr__(requirement, name, value)


def checked_tolerance(
    value: Any, subject: str, remedy: str = f"leave it out for {TOLERANCE:g}"
) -> float | None:
    """A tolerance that weights over 2**53 can keep, or ``None``."""
    if value is None:
        return None
    number = finite(value, subject, 0.0)
    if number < LEAST_TOLERANCE:
        raise RequirementError(
            subject,
            expected=f"at least {LEAST_TOLERANCE:g}, as weights over 2**53 hold few equations "
            "exactly",
            got=quote(value),
            remedy=remedy,
        )
    return number


def checked_ends(
    low: Any,
    high: Any,
    subject: str,
    names: tuple[str, str] = ("at_least", "at_most"),
    most: float = 1.0,
) -> tuple[float | None, float | None]:
    """Two ends from zero on, of which one may be ``None``, the first no larger than the other."""
    if low is None and high is None:
        raise RequirementError(
            subject,
            expected=f"{names[0]}, {names[1]} or both",
            got="neither",
            remedy="give one",
        )
    first, second = (None if v is None else finite(v, subject, 0.0, most) for v in (low, high))
    if first is not None and second is not None and first > second:
        raise RequirementError(
            subject,
            expected=f"{names[0]} no larger than {names[1]}",
            got=f"{first:g} and {second:g}",
            remedy="swap them",
        )
    return first, second


def checked_name(value: Any, subject: str) -> str:
    """What a requirement is called."""
    if not isinstance(value, str):
        raise RequirementError(
            f"name of {subject}", expected="a text", got=quote(value), remedy="leave it out"
        )
    return value


def rows_of_numbers(value: Any, subject: str) -> Table:
    """A matrix as a tuple of rows of finite floats."""
    return tuple(map(tuple, finite_matrix(value, subject, error=RequirementError).tolist()))


def fitting(matrix: Table, prior: Prior, outputs: Sequence[Label], subject: str) -> Array:
    """A matrix as an array, of the shape of a kernel."""
    found = np.array(matrix)
    if found.shape != (len(prior), len(outputs)):
        raise RequirementError(
            subject,
            expected=f"shape {(len(prior), len(outputs))} (inputs × outputs)",
            got=f"{found.shape}",
            remedy="one row per input symbol, one column per output",
        )
    return found


def place_of(label: Label, labels: Sequence[Label], subject: str, kind: str) -> int:
    """The position of a label."""
    for i, known in enumerate(labels):
        if known == label and isinstance(known, bool) == isinstance(label, bool):
            return i
    raise RequirementError(
        subject,
        expected=f"{kind} of the design, such as {quote(labels[0])}",
        got=quote(label),
        remedy="write the label as it stands in the prior (text and numbers differ)",
    )


def over_all(
    values: Array,
    low: Fraction | None,
    high: Fraction | None,
    label: str,
    factors: tuple[Fraction, ...] | None = None,
) -> Limit:
    """Low ≤ Σ_x s_x Σ_y a_xy K_xy ≤ high for a matrix a, of the shape of a kernel."""
    x, y = np.indices(values.shape).reshape(2, -1)
    return Limit(x, y, values.ravel(), low, high, label, factors)


def share(count: Any, mechanism: Mechanism) -> Fraction:
    """An integer weight of a mechanism as a probability."""
    return Fraction(int(count), mechanism.denominator)


def total(mechanism: Mechanism, places: Places, values: Array) -> Fraction:
    """Σ_i a_i K[x_i, y_i], exactly."""
    return _total(mechanism.weights[tuple(places)], values) / mechanism.denominator


def _total(weights: NDArray[Any], values: Array) -> Fraction:
    """Σ_i a_i w_i for integers w, exactly."""
    if not are_machine_weights(weights):
        pairs = zip(weights.tolist(), values.tolist(), strict=True)
        return sum((int(w) * Fraction(v) for w, v in pairs), Fraction(0))
    (found,), unit = sums_of_products(weights, values, np.zeros(len(weights), dtype=int), 1)
    return scaled(found, unit)


def masses_of(prior: Prior) -> tuple[Fraction, ...]:
    """The exact masses of all symbols."""
    return tuple(map(prior.mass, range(len(prior))))


def mean(masses: Iterable[Fraction], values: Iterable[Fraction]) -> Fraction:
    """Σ p v, exactly."""
    return sum((p * v for p, v in zip(masses, values, strict=True)), Fraction(0))


def mean_costs(mechanism: Mechanism, costs: Sequence[Sequence[float]]) -> list[Fraction]:
    """Σ_y c_xy P(y | x) of every symbol, exactly."""
    weights, one = mechanism.weights, mechanism.denominator
    if are_machine_weights(weights):
        n, m = weights.shape
        groups = np.repeat(np.arange(n), m)
        values = np.array(costs, dtype=float).ravel()
        totals, unit = sums_of_products(weights.ravel(), values, groups, n)
        return [scaled(total, unit) / one for total in totals]
    return [
        sum((int(w) * Fraction(c) for w, c in zip(row, cost, strict=True) if w), Fraction(0)) / one
        for row, cost in zip(weights, costs, strict=True)
    ]


def largest_of(mechanism: Mechanism, places: tuple[Places, ...]) -> tuple[Fraction, str]:
    """The largest probability at some places (x, y) of a kernel, and where it is."""
    if not len(places[0]):
        return largest(())
    i = int(np.argmax(mechanism.weights[places]))
    x, y = int(places[0][i]), int(places[1][i])
    where = f"P({mechanism.outputs[y]} | {mechanism.inputs[x]})"
    return share(mechanism.weights[x, y], mechanism), where


def largest(found: Iterable[tuple[Fraction, str]]) -> tuple[Fraction, str]:
    """The largest excess and where it is; no excess where nothing is asked."""
    return max(found, key=lambda pair: pair[0], default=(Fraction(0), "nothing is asked"))
