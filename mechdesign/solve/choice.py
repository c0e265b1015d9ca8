"""Which method solves a problem, and why: public, inspectable, and without solving anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import InputError, NoMethodError, UnknownNameError
from ..linear.highs import SIMPLEX_ENTRIES
from ..program.problem import Problem
from ..program.program import EstimationProgram, LinearProgram, Program
from .backends import (
    Clarabel,
    Cvxpy,
    EpigraphClarabel,
    EpigraphHighs,
    HighsInteriorPoint,
    HighsRefined,
    HighsSimplex,
    Linearised,
    OutputSearch,
    installed_solvers,
)
from .closed_form import CLOSED_FORMS, SIMPLICES
from .differences import Differences
from .interior_point import Blockwise, Structured
from .method import Handles, Method

SIMPLEX, INTERIOR, REFINED = HighsSimplex(), HighsInteriorPoint(), HighsRefined()
STRUCTURED, BLOCKWISE, CLARABEL = Structured(), Blockwise(), Clarabel()
DIFFERENCES = Differences()
OUTPUTS = OutputSearch()
#: Different masses above which fitted columns come before a search, and above which windows do.
MANY_MASSES, MOST_SEARCHED = 100, 300
#: For constraints on sums over outcomes.
EPIGRAPHS: tuple[Method, ...] = (EpigraphHighs(), EpigraphClarabel())
#: For convex constraints of one's own.
LINEARISED = Linearised()
# What a solver of cvxpy can be called; which of them there are is asked of cvxpy.
_CVXPY_NAME = re.compile(r"[A-Z][A-Z0-9_]{1,19}")


@dataclass(frozen=True)
class Choice:
    """The method chosen and why each method before it refused.

    Attributes
    ----------
    method : the method
    refusals : reasons of the methods that were asked first
    also : names of further methods that would apply
    """

    method: Method
    refusals: dict[str, str]
    also: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"method: {self.method.name}", f"why: {self.method.reason}"]
        if self.method.source:
            lines.append(f"source: {self.method.source}")
        lines += [f"not {name}: {why}" for name, why in self.refusals.items()]
        if self.also:
            lines.append("would also work: " + ", ".join(self.also))
        return "\n".join(lines)


@cache
def sublinear_methods(masses: int = 0) -> tuple[Method, ...]:
    """Methods for sub-convex utilities, in the order of preference for so many different masses.

    Their modules are loaded on first use: linear utilities need none of them.
    """
    from .column_generation.fitted import FittedColumns
    from .column_generation.method import ColumnGeneration
    from .column_generation.vertices import Vertices
    from .column_generation.window import Window

    columns, fitted, window, vertices = ColumnGeneration(), FittedColumns(), Window(), Vertices()
    if masses > MOST_SEARCHED:
        return (*SIMPLICES, fitted, window, columns, vertices)
    if masses > MANY_MASSES:
        return (*SIMPLICES, fitted, columns, window, vertices)
    return (*SIMPLICES, columns, fitted, window, vertices)


@cache
def estimation_methods() -> tuple[Method, ...]:
    """Methods for the risk of estimates, in the order of preference, loaded on first use."""
    from .estimation.at_most import FewOutputs
    from .estimation.method import OptimalExperiment
    from .estimation.orbit import Orbit
    from .estimation.uniform_truth import UniformTruth
    from .estimation.worst_truth import LeastFavourable

    return (Orbit(), OptimalExperiment(), UniformTruth(), LeastFavourable(), FewOutputs())


def ordered_methods(program: Program) -> tuple[Method, ...]:
    """Every method in the order of preference for a program of this kind and size."""
    if isinstance(program, EstimationProgram):
        return estimation_methods()
    if not isinstance(program, LinearProgram):
        return sublinear_methods(len(set(program.prior.weights)))
    if program.convex:
        return (LINEARISED,)
    n, m = program.shape
    if program.most_outputs is not None:
        return (OUTPUTS,)
    sums = EPIGRAPHS if program.sums else ()
    if program.is_restricted:
        sums = (*sums, REFINED)
    general: tuple[Method, ...] = (STRUCTURED, DIFFERENCES, BLOCKWISE, CLARABEL, INTERIOR)
    if n * m <= SIMPLEX_ENTRIES:
        general = (SIMPLEX, *general)
    elif program.cone.count < n:  # few rows that are dense, so that systems would fill up
        general = (STRUCTURED, DIFFERENCES, SIMPLEX, *general[2:])
    else:
        general = (*general, SIMPLEX)
    return (*CLOSED_FORMS, *general, *sums)


def choose(problem: Problem, solver: str | Method = "auto") -> Choice:
    """What :func:`mechdesign.design` would do with a problem, and why.

    Nothing is solved, no kernel is built.

    Parameters
    ----------
    problem : from :func:`mechdesign.program.problem.state_problem`
    solver : ``"auto"``, the name of a method or of a cvxpy solver, or a :class:`Method`

    Raises
    ------
    NoMethodError
        When the method asked for, or every method, refuses.
    """
    check_solver(solver)
    program = problem.program
    methods = ordered_methods(program)
    candidates = methods if solver in ("auto", "all") else (find_method(solver),)
    refusals: dict[str, str] = {}
    for method in candidates:
        why = method.refusal(program)
        if why is None:
            also = tuple(
                m.name
                for m in methods
                if m.name != method.name and m.name not in refusals and m.refusal(program) is None
            )
            return Choice(method, refusals, also)
        refusals[method.name] = why
    raise NoMethodError(str(problem), refusals)


def check_solver(solver: Any) -> None:
    """Raise :class:`UnknownNameError` for what is neither a name nor a method, and
    :class:`InputError` for a method that does not say what it is.
    """
    if isinstance(solver, type) and issubclass(solver, Method):
        raise UnknownNameError("solver", f"the class {solver.__name__}", [f"{solver.__name__}()"])
    if not isinstance(solver, (str, Method)):
        raise UnknownNameError("solver", solver, [*own_methods(), "auto", "all"])
    if isinstance(solver, Method):
        kinds = {"name": str, "handles": Handles}
        missing = [k for k, kind in kinds.items() if not isinstance(getattr(solver, k, None), kind)]
        if missing:
            raise InputError(
                f"solver {type(solver).__name__}()",
                expected="a method that has a name and says what it handles",
                got=f"one without {' and '.join(missing)}",
                remedy="set name = 'mine' and handles = mechdesign.solve.handles_linear()",
            )


def find_method(solver: str | Method) -> Method:
    """A method by name, else a solver that cvxpy finds here; an instance is itself.

    Raises :class:`UnknownNameError` for any other name.
    """
    check_solver(solver)
    if isinstance(solver, Method):
        return solver
    known = own_methods()
    if solver.lower() in known:
        return known[solver.lower()]
    solvers = installed_solvers()
    if solver.upper() in solvers:
        return Cvxpy(solver)
    raise UnknownNameError("solver", solver, [*known, "auto", "all", *solvers])


def named_method(name: str) -> Method | None:
    """The method that a design may name in a file, whatever cvxpy has here; ``None`` for none."""
    found = own_methods().get(name)
    asked = name.removeprefix("cvxpy-")
    if found is None and asked != name and _CVXPY_NAME.fullmatch(asked):
        return Cvxpy(asked)
    return found


def own_methods() -> dict[str, Method]:
    """Every method that is no solver of cvxpy, by name."""
    from .estimation.many_symbols import SubsetMethod

    general = (
        STRUCTURED,
        DIFFERENCES,
        BLOCKWISE,
        CLARABEL,
        SIMPLEX,
        INTERIOR,
        *EPIGRAPHS,
        REFINED,
        OUTPUTS,
    )
    linear = (LINEARISED, *CLOSED_FORMS, *general)
    every = (*linear, *sublinear_methods(), *estimation_methods(), SubsetMethod())
    return {m.name: m for m in every}
