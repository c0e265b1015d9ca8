"""What a method is: it says as data what it handles, and answers with a kernel and its duals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from ..labels import counted
from ..program.duals import Candidate
from ..program.program import EstimationProgram, LinearProgram, Objective, Program, Shape

#: Kinds of cones that sums over outcomes may bring.
EVERY_CONE = frozenset({"exponential", "second-order", "power"})


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
