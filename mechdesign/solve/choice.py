"""Which method solves a problem, and why: public, inspectable, and without solving anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import NoMethodError, SolverError, UnknownNameError, quote
from .blockwise import Blockwise
from .closed_form import CLOSED_FORMS
from .column_generation.method import ColumnGeneration
from .column_generation.vertices import Vertices
from .column_generation.window import Window
from .conic import Clarabel
from .epigraphs import EpigraphClarabel, EpigraphHighs
from .linear_program import SIMPLEX_ENTRIES, Cvxpy, HighsInteriorPoint, HighsSimplex
from .methods import Method
from .problem import AnyProblem, Problem
from .simplex import SIMPLICES
from .structured import Structured

SIMPLEX, INTERIOR = HighsSimplex(), HighsInteriorPoint()
STRUCTURED, BLOCKWISE, CLARABEL = Structured(), Blockwise(), Clarabel()
COLUMNS, WINDOW, VERTICES = ColumnGeneration(), Window(), Vertices()
#: Different masses above which the window mechanism is preferred to a search.
MANY_MASSES = 300
#: Methods for sub-convex utilities, in the order of preference.
SUBLINEAR_METHODS: tuple[Method, ...] = (*SIMPLICES, COLUMNS, WINDOW, VERTICES)
#: For notions that limit a sum over outcomes.
BUDGETS: tuple[Method, ...] = (EpigraphHighs(), EpigraphClarabel())
#: Solvers that cvxpy may have.
CVXPY_SOLVERS = frozenset(
    {
        "CBC",
        "CLARABEL",
        "COPT",
        "CPLEX",
        "CUCLARABEL",
        "CUOPT",
        "CVXOPT",
        "DAQP",
        "ECOS",
        "GLOP",
        "GLPK",
        "GUROBI",
        "HIGHS",
        "MOSEK",
        "MPAX",
        "NAG",
        "OSQP",
        "PDLP",
        "PIQP",
        "PROXQP",
        "QOCO",
        "QPALM",
        "SCIP",
        "SCIPY",
        "SCS",
        "SDPA",
        "XPRESS",
    }
)


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


def ordered_methods(problem: AnyProblem) -> tuple[Method, ...]:
    """Every method in the order of preference for a problem of this kind and size."""
    if not isinstance(problem, Problem):
        many = len(set(problem.inner.weights)) > MANY_MASSES
        return (*SIMPLICES, WINDOW, COLUMNS, VERTICES) if many else SUBLINEAR_METHODS
    n, m = problem.shape
    budgets = BUDGETS if problem.others else ()
    if n * m <= SIMPLEX_ENTRIES:
        return (*CLOSED_FORMS, SIMPLEX, STRUCTURED, BLOCKWISE, CLARABEL, INTERIOR, *budgets)
    return (*CLOSED_FORMS, STRUCTURED, BLOCKWISE, CLARABEL, INTERIOR, SIMPLEX, *budgets)


def choose(problem: AnyProblem, solver: str = "auto") -> Choice:
    """What :func:`design` would do with a problem, and why.

    Parameters
    ----------
    problem : from :func:`state_problem`
    solver : ``"auto"``, the name of a method, or the name of a cvxpy solver

    Raises
    ------
    NoMethodError
        When the method asked for, or every method, refuses.
    """
    check_solver(solver)
    methods = ordered_methods(problem)
    if solver in ("auto", "all"):
        candidates: tuple[Method, ...] = methods
    else:
        candidates = (find_method(solver),)
        linear = isinstance(problem, Problem)
        if linear == (candidates[0] in SUBLINEAR_METHODS):
            kind = "linear" if linear else "sub-convex"
            raise NoMethodError(
                str(problem), {candidates[0].name: f"it does not solve {kind} utilities"}
            )
    refusals: dict[str, str] = {}
    for method in candidates:
        why = method.refusal(problem)
        if why is None:
            also = tuple(
                m.name
                for m in methods
                if m.name != method.name and m.name not in refusals and m.refusal(problem) is None
            )
            return Choice(method, refusals, also)
        refusals[method.name] = why
    raise NoMethodError(str(problem), refusals)


def check_solver(solver: Any) -> None:
    """Raise :class:`UnknownNameError` for what is no name."""
    if not isinstance(solver, str):
        raise UnknownNameError("solver", solver, [*own_methods(), "auto", "all"])


def find_method(name: str) -> Method:
    """A method by name, else a solver that the installed cvxpy has.

    Raises :class:`UnknownNameError`, and :class:`SolverError` for a solver that needs cvxpy where
    it is not installed.
    """
    check_solver(name)
    known = own_methods()
    if name.lower() in known:
        return known[name.lower()]
    solvers = cvxpy_solvers()
    if name.upper() in solvers:
        return Cvxpy(name)
    if not solvers and name.upper() in CVXPY_SOLVERS:
        raise SolverError(
            f"solver {quote(name)} is used through cvxpy, which is not installed; install it with: "
            "pip install 'mechdesign[cvxpy]'"
        )
    raise UnknownNameError("solver", name, [*known, "auto", "all", *solvers])


def own_methods() -> dict[str, Method]:
    """Every method that is no solver of cvxpy, by name."""
    linear = (*CLOSED_FORMS, STRUCTURED, BLOCKWISE, CLARABEL, SIMPLEX, INTERIOR, *BUDGETS)
    return {m.name: m for m in (*linear, *SUBLINEAR_METHODS)}


def cvxpy_solvers() -> list[str]:
    """Names of the solvers that an installed cvxpy has; empty without cvxpy."""
    try:
        import cvxpy
    except ImportError:
        return []
    return list(cvxpy.installed_solvers())
