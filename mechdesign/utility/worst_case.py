"""The least of several linear utilities, or of one under several priors of use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UtilityError, listed, quote
from ..labels import Label
from ..mechanism import Mechanism
from ..numeric import finite_number, truth_value
from ..prior import Prior
from .linear import Array, LinearUtility, OutputUtility, checked_matrix

# Weights are changes of unit; others would be a mistake, or lead beyond floats.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-9, 1e9
# Values in a line.
_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Alternative:
    """Σ_i s_i Σ_y u_iy K[x_i, y]: one of the linear functions whose least is maximised.

    Attributes
    ----------
    symbols : ``(R,)`` positions x_i
    gains : ``(R, M)`` floats u
    factors : the R rational numbers s, positive
    label : what it stands for
    """

    symbols: NDArray[np.intp]
    gains: Array
    factors: tuple[Fraction, ...]
    label: str


@dataclass(frozen=True, eq=False)
class Goal:
    """Σ_x q_x Σ_y u_xy K_xy ≥ least.

    Attributes
    ----------
    number : of the utility, from one
    gains : ``(N, M)``, u
    masses : q, ``None`` for the prior of the design
    least : in the units of the utility
    """

    number: int
    gains: Array
    masses: tuple[Fraction, ...] | None
    least: float


@dataclass(frozen=True, eq=False)
class Part:
    """One of the utilities.

    Attributes
    ----------
    utility : a linear utility
    prior : the prior of use, ``None`` for that of the design
    weight : what its value is multiplied by before values are compared
    goal : the least value it must have, in its own units; ``None`` for none
    """

    utility: LinearUtility
    prior: Prior | None = None
    weight: float = 1.0
    goal: float | None = None

    def masses(self, prior: Prior) -> tuple[Fraction, ...]:
        """Masses of the symbols of a design in use; raises :class:`UtilityError`."""
        if self.prior is None:
            return tuple(prior.mass(x) for x in range(len(prior)))
        if set(self.prior.labels) != set(prior.labels):
            raise UtilityError(
                "prior of use",
                expected=f"one over the symbols {list(prior.labels)[:6]} of the design",
                got=f"symbols {list(self.prior.labels)[:6]}",
                remedy="label it as the prior of the design, with zero mass where it never is",
            )
        place = {label: x for x, label in enumerate(self.prior.labels)}
        found = tuple(self.prior.mass(place[label]) for label in prior.labels)
        for x, mass in enumerate(found):
            if mass and not prior.weights[x]:
                raise UtilityError(
                    "prior of use",
                    expected="zero mass wherever the prior of the design has none",
                    got=f"mass {float(mass):.3g} for {quote(prior.labels[x])}",
                    remedy="give the symbol a small mass in the prior of the design",
                )
        return found

    @property
    def label(self) -> str:
        """The utility as text, with its prior of use."""
        if self.prior is None:
            return self.utility.spec
        pairs = zip(self.prior.labels, self.prior.probabilities.tolist(), strict=True)
        return f"{self.utility.spec}@" + ",".join(f"{label}={mass:.12g}" for label, mass in pairs)

    def __str__(self) -> str:
        weight = "" if self.weight == 1 else f"{self.weight:.12g}*"
        goal = "" if self.goal is None else f">={self.goal:.12g}"
        return f"{weight}{self.label}{goal}"


class WorstCase(OutputUtility):
    """min_i w_i E_i[u_i(X, Y)]: the least of several linear utilities, each times its weight.

    Parameters
    ----------
    utilities : linear utility, or list of them or of pairs (utility, prior of use)
        A prior of use takes the place of the prior of the design in the expectation, not in what
        privacy means.
    priors : list of priors, optional
        With one utility: its priors of use, of which the least favourable counts.
    weights : positive numbers, optional
        What each value is multiplied by before values are compared, one when left out: a utility
        of weight 10 counts as the least while its value is below a tenth of the others'.
    goals : numbers or ``None``, optional
        Least value of each, in its own units, which the kernel must reach beside; where no kernel
        does, the design is refused with the proof.
    refine : bool
        Also raise the others: with those that cannot exceed the least held there, the least of the
        rest is maximised, and so on. The certificate proves the first of these optima.

    Raises
    ------
    UtilityError
        For what are no linear utilities, priors, or numbers, one for each.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.6, .3, .1], labels=[0, 1, 2])
    >>> fair = WorstCase.symbols(md.utility.Hamming())
    >>> found = md.design(prior, fair, md.LDP(1))
    >>> round(found.value, 6), found.status
    (0.576117, 'optimal')
    """

    parts: tuple[Part, ...]
    each: bool
    refine: bool

    def __init__(
        self,
        utilities: Any,
        priors: Iterable[Prior] | None = None,
        *,
        weights: Iterable[float] | None = None,
        goals: Iterable[float | None] | None = None,
        refine: bool = False,
    ) -> None:
        pairs = _pairs(utilities, priors)
        scales = _numbers(weights, len(pairs), "weights", 1.0)
        ends = _numbers(goals, len(pairs), "goals", None)
        for weight in scales:
            if weight is None or not _LEAST_WEIGHT <= weight <= _MOST_WEIGHT:
                raise UtilityError(
                    "weights of a worst case",
                    expected=f"numbers from {_LEAST_WEIGHT:g} to {_MOST_WEIGHT:g}",
                    got=quote(weight),
                    remedy="leave the utility out rather than give it no weight",
                )
        self.parts = tuple(
            Part(utility, prior, float(weight or 1.0), goal)
            for (utility, prior), weight, goal in zip(pairs, scales, ends, strict=True)
        )
        self.each = False
        self.refine = truth_value(refine, "refine", error=UtilityError)

    @classmethod
    def symbols(cls, utility: LinearUtility, *, refine: bool = False) -> WorstCase:
        """min_x E[u(x, Y) | x]: the symbol that is served least, of those of positive mass."""
        if not isinstance(utility, LinearUtility):
            raise UtilityError(
                "utility of the symbol that is served least",
                expected="one linear utility, such as Hamming()",
                got=quote(utility),
                remedy="priors of use do not count here; several utilities go into WorstCase([…])",
            )
        found = cls([utility], refine=refine)
        found.each = True
        return found

    def output_labels(self, prior: Prior) -> tuple[Label, ...]:
        """The outputs of the utilities; raises :class:`UtilityError` where they differ."""
        found = [part.utility.output_labels(prior) for part in self.parts]
        other = next((labels for labels in found if labels != found[0]), None)
        if other is not None:
            raise UtilityError(
                "outputs of a worst case",
                expected="utilities of the same outputs",
                got=f"{list(found[0])[:6]} and {list(other)[:6]}",
                remedy="name the outputs of the design with outputs=",
            )
        return found[0]

    def alternatives(self, prior: Prior, outputs: Sequence[Label]) -> tuple[Alternative, ...]:
        """The linear functions of a kernel whose least is maximised."""
        every = [self._gains(part, prior, outputs) for part in self.parts]
        if self.each:
            return tuple(
                Alternative(
                    np.array([x]), every[0][x : x + 1], (Fraction(1),), f"{prior.labels[x]}"
                )
                for x in prior.support.tolist()
            )
        found = []
        for part, gains in zip(self.parts, every, strict=True):
            masses = part.masses(prior)
            symbols = np.array([x for x, mass in enumerate(masses) if mass], dtype=np.intp)
            scales = tuple(Fraction(part.weight) * masses[x] for x in symbols.tolist())
            found.append(Alternative(symbols, gains[symbols], scales, part.label))
        return tuple(found)

    def _gains(self, part: Part, prior: Prior, outputs: Sequence[Label]) -> Array:
        shape, utility = (len(prior), len(outputs)), part.utility
        return checked_matrix(utility.gains(prior, outputs), shape, f"gains of {utility!r}")

    def gains_of(self, x: int, prior: Prior, outputs: Sequence[Label]) -> Array:
        """Weighted gains of each utility at a symbol, ``(K, M)``."""
        rows = [part.weight * part.utility.gains(prior, outputs)[x] for part in self.parts]
        return np.array(rows)

    def goals(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Goal]:
        """What each utility with a goal must reach."""
        for number, part in enumerate(self.parts, 1):
            if part.goal is not None:
                gains = self._gains(part, prior, outputs)
                masses = None if part.prior is None else part.masses(prior)
                yield Goal(number, gains, masses, part.goal)

    def served(self, mechanism: Mechanism, prior: Prior) -> dict[str, float]:
        """The value of each utility in its own units, or of each symbol, by its label."""
        found: dict[str, float] = {}
        weights = [1.0] if self.each else [part.weight for part in self.parts]
        alternatives = self.alternatives(prior, mechanism.outputs)
        for i, one in enumerate(alternatives):
            value = _value(one, mechanism) / (weights[0] if self.each else weights[i])
            label = one.label if one.label not in found else f"{one.label} ({i + 1})"
            found[label] = value
        return found

    def served_text(self, mechanism: Mechanism, prior: Prior) -> str:
        """The values of :meth:`served` in a line, those that are served least if there are many."""
        found = self.served(mechanism, prior)
        shown = sorted(found, key=found.__getitem__)[:_SHOWN] if self.each else list(found)[:_SHOWN]
        more = f", and {len(found) - len(shown)} more" if len(shown) < len(found) else ""
        return ", ".join(f"{label}: {found[label]:.10g}" for label in shown) + more

    def value(self, mechanism: Mechanism, prior: Prior) -> float:
        """The least of the values, each times its weight."""
        mechanism.joint(prior)  # refuses a prior over other symbols
        return min(_value(one, mechanism) for one in self.alternatives(prior, mechanism.outputs))

    @property
    def description(self) -> str:
        """What is maximised, in a line."""
        then = ", then the next" if self.refine else ""
        if self.each:
            return f"{self.parts[0].utility!r} of the symbol that is served least{then}"
        return "the least of " + ", ".join(str(part) for part in self.parts) + then

    @property
    def spec(self) -> str:
        """A text that names it, as on the command line."""
        name = "worst-symbol" if self.each else "worst"
        return f"{name}{'-refined' if self.refine else ''}:" + "+".join(map(str, self.parts))

    def __repr__(self) -> str:
        more = ", refine=True" if self.refine else ""
        if self.each:
            return f"WorstCase.symbols({self.parts[0].utility!r}{more})"
        shown = ", ".join(str(part) for part in self.parts[:4])
        return f"WorstCase({shown}{', …' if len(self.parts) > 4 else ''}{more})"


def _value(one: Alternative, mechanism: Mechanism) -> float:
    rows = (mechanism.kernel[one.symbols] * one.gains).sum(axis=1)
    return float(np.array([float(scale) for scale in one.factors]) @ rows)


def _pairs(utilities: Any, priors: Any) -> list[tuple[LinearUtility, Prior | None]]:
    remedy = "pass for example [Hamming(), Distance('absolute')], or one utility and priors=[…]"
    if isinstance(utilities, LinearUtility):
        given = (
            [None]
            if priors is None
            else listed(priors, "priors of use", "a list of priors", UtilityError, remedy)
        )
        entries: list[Any] = [(utilities, prior) for prior in given]
    elif priors is not None:
        raise UtilityError(
            "priors of use",
            expected="one linear utility that they are all for",
            got=quote(utilities),
            remedy="pass pairs, [(utility, prior), …], for several utilities",
        )
    else:
        entries = listed(
            utilities, "utilities of a worst case", "a list of utilities", UtilityError, remedy
        )
    found = []
    for entry in entries:
        pair = entry if isinstance(entry, (tuple, list)) else (entry, None)
        good = len(pair) == 2 and isinstance(pair[0], LinearUtility)
        if not good or not (pair[1] is None or isinstance(pair[1], Prior)):
            raise UtilityError(
                "utilities of a worst case",
                expected="linear utilities, or pairs of one and a prior of use",
                got=quote(entry),
                remedy="sub-convex utilities have no named outputs to compare; leave them out",
            )
        found.append((pair[0], pair[1]))
    if not found:
        raise UtilityError(
            "utilities of a worst case", expected="at least one", got="none", remedy=remedy
        )
    return found


def _numbers(given: Any, count: int, subject: str, default: float | None) -> list[float | None]:
    """One finite number for each utility; ``None`` where that is the default."""
    if given is None:
        return [default] * count
    remedy = "give one number for each utility"
    subject = f"{subject} of a worst case"
    found = listed(given, subject, "a list of numbers", UtilityError, remedy)
    if len(found) != count:
        raise UtilityError(subject, expected=f"{count} numbers", got=f"{len(found)}", remedy=remedy)
    return [
        None
        if value is None and default is None
        else finite_number(value, subject, error=UtilityError, remedy=remedy)
        for value in found
    ]
