"""What a method is: it says as data what it handles, and answers with a kernel and its duals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..labels import counted
from ..privacy.rows import Multipliers
from ..privacy.sums import SumDuals
from .program import EstimationProgram, LinearProgram, Objective, Program, Shape

#: Kinds of cones that sums over outcomes may bring.
EVERY_CONE = frozenset({"exponential", "second-order", "power"})


@dataclass(frozen=True, eq=False)
class Duals:
    """Dual variables of a program; any numbers give a valid bound, good ones a tight one.

    Attributes
    ----------
    prices : ``(n,)`` dual of the row sums: by how much the optimum rises per unit added to row x
    multipliers : dual variables of each part of the cone, in their order
    sums : dual variables of each constraint on a sum over outcomes
    limits : ``(J,)`` of each limit, positive for its upper and negative for its lower end
    branches : dual variables of parts of a search that together are all of it
    inverse : ``(n, n)`` what stands for the inverse of the information matrix in the bound on the
        risk of estimates
    mixture : ``(k,)`` of each of several linear functions whose least is maximised; taken as
        shares of their sum
    convex : for each convex constraint of one's own kernels ``(k, n, M)``, at which it is
        linearised, and multipliers of its functions there, ``(k, functions)``
    offset, power : the numbers are those of the gains (u − offset) / 2**power
    """

    prices: NDArray[np.float64] | None = None
    multipliers: tuple[Multipliers, ...] | None = None
    sums: tuple[SumDuals, ...] | None = None
    offset: float = 0.0
    power: int = 0
    limits: NDArray[np.float64] | None = None
    mixture: NDArray[np.float64] | None = None
    branches: tuple[Branch, ...] | None = None
    convex: tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...] | None = None
    inverse: NDArray[np.float64] | None = None

    @property
    def averages(self) -> tuple[SumDuals, ...] | None:
        """The dual variables of sums, under their name of version 0.1."""
        return self.sums

    def in_units_of_gains(self, masses: NDArray[np.float64]) -> Duals:
        """The same numbers for the gains as they are, as far as floats can hold them."""
        if not (self.offset or self.power):
            return self

        def scaled(
            parts: tuple[tuple[NDArray[np.float64], ...], ...] | None,
        ) -> tuple[tuple[NDArray[np.float64], ...], ...] | None:
            if parts is None:
                return None
            return tuple(tuple(np.ldexp(w, self.power) for w in part) for part in parts)

        prices = self.prices
        if prices is not None:
            prices = masses * self.offset + np.ldexp(prices, self.power)
        limits = None if self.limits is None else np.ldexp(self.limits, self.power)
        convex = self.convex
        if convex is not None:
            convex = tuple((points, np.ldexp(eta, self.power)) for points, eta in convex)
        parts = scaled(self.multipliers), scaled(self.sums)
        return Duals(prices, *parts, limits=limits, convex=convex)


@dataclass(frozen=True, eq=False)
class Branch:
    """A part of a search over outputs: the kernels in which some of them do not occur.

    Attributes
    ----------
    excluded : positions of these outputs
    duals : of the program without them
    counted : whether that program limits the sum of column maxima by the number of outputs
    """

    excluded: tuple[int, ...]
    duals: Duals
    counted: bool = False


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method's answer, trusted in nothing: the certificate measures everything afresh.

    Attributes
    ----------
    kernel : ``(n, M)`` kernel on the symbols of the program, feasible up to the method's accuracy
    duals : what the upper bound is recomputed from
    solver : what computed it, for the record
    details : what else is known of the run, such as iterations
    warm_start : where the method may start for nearby levels; means nothing to others
    inside : ``(n, M)`` a kernel well inside of everything that is asked, for the repair to mix in
    """

    kernel: NDArray[np.float64]
    duals: Duals
    solver: str
    details: dict[str, str] = field(default_factory=dict)
    warm_start: object = None
    inside: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Handles:
    """Programs that a method can solve, as data to compare with.

    Attributes
    ----------
    objectives : what may be maximised
    shapes : shapes of the cone; ``None`` for any
    sums : kinds of cones that the epigraphs of sums over outcomes may bring, beside linear rows;
        ``None`` where there may be no sums
    needs_sums : whether there must be some
    forbidden : whether entries may have to be zero
    limits : whether there may be limits on sums over entries
    few_outputs : whether the number of outputs must be limited, else it must not be
    apart : whether two symbols may have to share no output
    convex : whether there may be convex constraints of one's own
    most_symbols : largest number of symbols
    """

    objectives: frozenset[Objective]
    shapes: frozenset[Shape] | None = None
    sums: frozenset[str] | None = None
    needs_sums: bool = False
    forbidden: bool = False
    limits: bool = False
    few_outputs: bool = False
    apart: bool = False
    convex: bool = False
    most_symbols: int | None = None

    def refusal(self, program: Program) -> str | None:
        """Why a program is not among them, or ``None`` when it is."""
        kind = program.objective_kind
        if kind not in self.objectives:
            if kind == "linear":
                return "it does not solve linear utilities"
            if kind == "least":
                return "it does not maximise the least of several utilities"
            if kind == "worst estimation":
                return "it does not minimise the worst risk of several truths"
            if "worst estimation" in self.objectives and len(self.objectives) == 1:
                return "it minimises the worst risk of several truths alone"
            if self.objectives == {"estimation", "worst estimation"}:
                return "it minimises the risk of estimates alone"
            if kind == "estimation":
                return "it does not minimise the risk of estimates"
            if self.objectives == {"estimation"}:
                return "it minimises the risk of estimates alone"
            if self.objectives == {"information"}:
                return "the utility is not an f-information, so columns cannot be priced"
            return "it does not solve sub-convex utilities"
        if program.unexpressed:
            return f"{program.unexpressed[0]} is not a bound on likelihood ratios"
        if isinstance(program, EstimationProgram):
            if program.most_outputs is not None and not self.few_outputs:
                return f"at most {counted(program.most_outputs, 'output')} may occur"
            if program.most_outputs is None and self.few_outputs:
                return "any number of outputs may occur"
            if program.apart and not self.apart:
                return "some symbols share no output"
        if isinstance(program, LinearProgram):
            if program.forbidden is not None and not self.forbidden:
                return "some entries are forbidden"
            if program.limits and not self.limits:
                return "there are limits on entries or their sums"
            if program.most_outputs is not None and not self.few_outputs:
                return f"at most {counted(program.most_outputs, 'output')} may occur"
            if program.most_outputs is None and self.few_outputs:
                return "any number of outputs may occur"
            if program.convex and not self.convex:
                return "there are convex constraints of one's own"
        return self._sums_refusal(program) or self._cone_refusal(program)

    def _sums_refusal(self, program: Program) -> str | None:
        if not program.sums:
            return "there is no constraint on a sum over outcomes" if self.needs_sums else None
        if self.sums is None:
            why = f"{program.sum_labels[0]} is not a bound on likelihood ratios"
            if program.objective_kind == "linear":
                return why
            return (
                f"{why}, which a utility needs whose outputs the design finds; use a linear "
                "utility with it, or a bound such as PML, LDP or Pufferfish"
            )
        for label, constraint in zip(program.sum_labels, program.sums, strict=True):
            missing = frozenset(constraint.cones) - self.sums
            if missing:
                return f"{label} needs {min(missing)} cones"
        return None

    def _cone_refusal(self, program: Program) -> str | None:
        n = len(program.prior)
        if self.most_symbols is not None and n > self.most_symbols:
            return f"{n} symbols are above the {self.most_symbols} that it takes"
        if self.shapes is None or program.cone.shape in self.shapes:
            return None
        return f"it does not handle {_SHAPES[program.cone.shape]}"


_SHAPES: dict[Shape, str] = {
    "free": "the absence of bounds",
    "upper lift": "an upper bound on the lift alone",
    "lower lift": "a lower bound on the lift alone",
    "lift": "bounds on both sides of the lift",
    "ratio": "a bound on the ratios between all symbols",
    "lift and ratio": "bounds on the lift and on ratios together",
    "general": "bounds of another kind than one two-sided cone",
}

_LINEAR: frozenset[Objective] = frozenset({"linear"})
_GENERAL: frozenset[Objective] = frozenset({"linear", "least"})
_SUBLINEAR: frozenset[Objective] = frozenset({"information", "sublinear"})
_INFORMATION: frozenset[Objective] = frozenset({"information"})
_ESTIMATION: frozenset[Objective] = frozenset({"estimation"})


def handles_linear(*shapes: Shape, **more: Any) -> Handles:
    """Linear objectives over cones of the given shapes, or of any when none are given; ``more``
    says what else.
    """
    return Handles(_LINEAR, frozenset(shapes) or None, **more)


def handles_general(**more: Any) -> Handles:
    """Linear objectives and the least of several over any cone, with zeros and limits; ``more``
    says what else.
    """
    return Handles(_GENERAL, forbidden=True, limits=True, **more)


def handles_sublinear(*shapes: Shape) -> Handles:
    """Sublinear objectives, in the same way."""
    return Handles(_SUBLINEAR, frozenset(shapes) or None)


def handles_information(*shapes: Shape) -> Handles:
    """f-informations, in the same way."""
    return Handles(_INFORMATION, frozenset(shapes) or None)


def handles_estimation(*shapes: Shape, **more: Any) -> Handles:
    """Risks of estimates, in the same way; ``more`` says what else."""
    return Handles(_ESTIMATION, frozenset(shapes) or None, **more)


class Method(ABC):
    """A way to solve a program.

    A subclass says in :attr:`handles` what it can solve, adds what numbers decide in
    :meth:`condition`, and answers in :meth:`solve`. An instance of a class of one's own can be
    passed as ``solver=``. Nothing it returns is trusted.
    """

    name: ClassVar[str]
    #: One sentence: what it does and why it would be chosen.
    reason: str = "asked for"
    source: ClassVar[str] = ""
    handles: Handles
    #: Whether its answers are meant to be optimal; those that are not are left out of comparisons.
    is_exact: ClassVar[bool] = True
    #: Whether other methods are asked for more digits where its gap is small, but not tiny.
    is_sharpened: ClassVar[bool] = True
    #: What else its answers are optimal for, where that is more than was asked.
    scope: ClassVar[str] = ""

    def refusal(self, program: Any) -> str | None:
        """Why the method does not apply, or ``None`` when it does. Nothing is solved for it."""
        return self.handles.refusal(program) or self.condition(program)

    def condition(self, program: Any) -> str | None:
        """What else has to hold of a program that is handled: the reason why not, or ``None``."""
        return None

    @abstractmethod
    def solve(self, program: Any) -> Candidate:
        """Solve a program that was not refused. Raises :class:`SolverError`."""

    def warm_solve(self, program: Any, start: Candidate) -> Candidate:
        """Solve with a warm start from the solution for nearby levels, where that helps."""
        return self.solve(program)
