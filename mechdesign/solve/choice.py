"""Which method solves a problem, and why: public, inspectable, and without solving anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import takewhile
from typing import Any

from ..errors import InputError, NoMethodError, UnknownNameError
from ..program.features import features_of
from ..program.problem import Problem, state_problem
from ..program.program import Objective, Program
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
    known_solvers,
)
from .closed_form import CLOSED_FORMS, SIMPLICES
from .differences import Differences
from .interior_point import Structured
from .method import Method

_PREFIX = "cvxpy-"


@dataclass(frozen=True)
class Choice:
    """The method chosen and why each method before it refused.

    Attributes
    ----------
    method : the method
    refusals : reasons of the methods that were asked first
    stated : states what is asked once more, for who asks what else would apply
    """

    method: Method
    refusals: dict[str, str]
    stated: Callable[[], Problem] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def also(self) -> tuple[str, ...]:
        """Names of further methods that would apply."""
        if self.stated is None:
            return ()
        return tuple(method.name for method in other_methods(self.stated().program, self))

    def __str__(self) -> str:
        lines = [f"method: {self.method.name}", f"why: {self.method.reason}"]
        if self.method.source:
            lines.append(f"source: {self.method.source}")
        lines += [f"not {name}: {why}" for name, why in self.refusals.items()]
        if self.also:
            lines.append("would also work: " + ", ".join(self.also))
        return "\n".join(lines)


@cache
def methods_for(kind: Objective) -> tuple[Method, ...]:
    """Every method of the package for what is maximised, in the order of preference.

    Modules that linear utilities need not are loaded on first use.
    """
    if kind in ("linear", "least"):
        return (
            *CLOSED_FORMS,
            HighsSimplex(),
            Structured(),
            Differences(),
            Clarabel(),
            HighsInteriorPoint(),
            EpigraphHighs(),
            EpigraphClarabel(),
            HighsRefined(),
            OutputSearch(),
            Linearised(),
        )
    if kind in ("information", "sublinear"):
        from .column_generation.fitted import FittedColumns
        from .column_generation.method import ColumnGeneration
        from .column_generation.vertices import Vertices
        from .column_generation.window import Window

        return (*SIMPLICES, ColumnGeneration(), FittedColumns(), Window(), Vertices())
    from .estimation.at_most import FewOutputs
    from .estimation.method import OptimalExperiment
    from .estimation.orbit import Orbit
    from .estimation.uniform_truth import UniformTruth
    from .estimation.worst_truth import LeastFavourable

    return (Orbit(), OptimalExperiment(), UniformTruth(), LeastFavourable(), FewOutputs())


def ordered_methods(program: Program) -> Iterator[Method]:
    """Every method in the order of preference for a program of this kind and size."""
    methods = methods_for(program.objective_kind)
    first = list(takewhile(lambda m: type(m).lateness is Method.lateness, methods))
    yield from first
    yield from sorted(methods[len(first) :], key=lambda m: m.lateness(program))


def other_methods(program: Program, choice: Choice) -> Iterator[Method]:
    """Methods that apply beside the one that was chosen and those that refused."""
    asked = features_of(program)
    for method in ordered_methods(program):
        known = method.name == choice.method.name or method.name in choice.refusals
        if not known and method.refusal(program, asked) is None:
            yield method


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
    named = solver not in ("auto", "all")
    asked, refusals = features_of(program), dict[str, str]()
    for method in (find_method(solver),) if named else ordered_methods(program):
        why = method.refusal(program, asked)
        if why is None:
            given = problem.prior, problem.utility, problem.notions, problem.outputs or None
            again = partial(state_problem, *given, None, problem.requirements)
            return Choice(method, refusals, again)
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
        kinds = {"name": str, "features": frozenset}
        missing = [k for k, kind in kinds.items() if not isinstance(getattr(solver, k, None), kind)]
        if missing:
            raise InputError(
                f"solver {type(solver).__name__}()",
                expected="a method that has a name and says what it handles",
                got=f"one without {' and '.join(missing)}",
                remedy="set name = 'mine' and features = mechdesign.solve.LINEAR",
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
    if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) in known_solvers():
        return Cvxpy(name.removeprefix(_PREFIX))
    return own_methods().get(name)


def own_methods() -> dict[str, Method]:
    """Every method that is no solver of cvxpy, by name."""
    from .estimation.many_symbols import SubsetMethod

    kinds: tuple[Objective, ...] = ("linear", "information", "estimation")
    found = [method for kind in kinds for method in methods_for(kind)]
    return {method.name: method for method in (*found, SubsetMethod())}
