"""Methods that hand the sparse program to solvers of others: HiGHS, Clarabel, those of cvxpy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..certificate.cuts import Linearisation, linearise
from ..certificate.few_outputs import search_outputs
from ..certificate.repair import clean_kernel
from ..errors import SolverError, quote
from ..linear.compiled import compile_program, too_many_rows
from ..linear.cvxpy_form import inner_kernel, solve_kernel
from ..linear.highs import SIMPLEX_ENTRIES, row_ends, split_rows
from ..linear.refined import REFINED_ENTRIES, is_small, solve_refined
from ..linear.solvers import clarabel_candidate, highs_candidate, solved
from ..program.duals import Candidate, Duals
from ..program.program import LinearProgram
from ..program.worst import LeastProgram
from ..roots import crossings
from .method import EVERY_SUM, GENERAL, Method

Array = NDArray[np.float64]

# A linearised program may exceed the value found by this share of the range of gains.
_TIGHT = 1e-8
_ROUNDS = 60
# How near to the edge of what is allowed the way from inside ends, as a share of it.
_NEAR = 1e-6
# Shares of a kernel inside, at which functions have gradients where they have none at the optimum.
_INWARDS = (0.0, 1e-8, 1e-5)
# Share of entries of bounds that are not zero from which HiGHS is faster than Clarabel.
_DENSE = 0.1
# Rows that sum to less are no rows of a kernel, off by rounding.
_NEAR_A_KERNEL = 0.5


class Cvxpy(Method):
    """The sparse program handed to a solver that cvxpy knows, by name."""

    reason = "asked for by name"
    features = GENERAL | {"convex"}

    def __init__(self, solver: str) -> None:
        self.solver = solver.upper()
        self.name = f"cvxpy-{self.solver}"  # type: ignore[misc]

    def solve(self, program: LinearProgram) -> Candidate:
        """Through cvxpy with the solver's default settings.

        Raises :class:`SolverError` when it stops without a solution.
        """
        import cvxpy

        if program.convex:
            return Linearised(self.solver).solve(program)

        compiled = compile_program(program)
        point = cvxpy.Variable(compiled.cost.size, nonneg=True)
        matrix, low, high = row_ends(compiled)
        matrix, same = matrix.tocsr(), low == high
        asked = []
        for chosen, sign, ends in (
            (same, 1.0, high),
            (np.isfinite(high) & ~same, 1.0, high),
            (np.isfinite(low) & ~same, -1.0, low),
        ):
            if chosen.any():
                values, right = sign * matrix[chosen] @ point, sign * ends[chosen]
                row = values == right if chosen is same else values <= right
                asked.append((chosen, sign, row))
        constraints = [row for *_, row in asked]
        task = cvxpy.Problem(cvxpy.Maximize(compiled.cost @ point), constraints)
        try:
            with warnings.catch_warnings():
                # Inaccurate solutions are judged by the certificate, not by a warning.
                warnings.simplefilter("ignore", UserWarning)
                task.solve(solver=self.solver)
        except cvxpy.error.SolverError as failure:
            raise SolverError(
                f"{self.solver} failed on {program}: {failure}; try another solver"
            ) from failure
        if point.value is None or constraints[0].dual_value is None:
            raise SolverError(
                f"{self.solver} stopped with status {quote(task.status)}; try another solver"
            )
        found = np.zeros(len(low))
        for chosen, sign, row in asked:
            found[chosen] += sign * np.asarray(row.dual_value)
        duals = split_rows(compiled, found)
        kernel = compiled.invert(np.asarray(point.value), *duals)
        return Candidate(*kernel, f"cvxpy {self.solver}", {"status": str(task.status)})


def installed_solvers() -> list[str]:
    """Names of the solvers that cvxpy finds here."""
    import cvxpy

    return list(cvxpy.installed_solvers())


def known_solvers() -> list[str]:
    """Names of all solvers that cvxpy knows, installed or not."""
    from cvxpy import settings

    return list(settings.SOLVERS)


class _Compiled(Method):
    """The compiled program."""

    features: frozenset[str] = GENERAL

    def condition(self, program: LinearProgram) -> str | None:
        """Applies where the rows of all bounds fit into memory."""
        if "sums" in self.features and not program.sums:
            return "there is no constraint on a sum over outcomes"
        return too_many_rows(program)


class Highs(_Compiled):
    """A compiled program on HiGHS, with one algorithm after the other."""

    source = "HuangfuHall2018"
    order: Sequence[str]

    def solve(self, program: LinearProgram) -> Candidate:
        """The compiled program; raises :class:`SolverError` where HiGHS finds no optimum."""
        return highs_candidate(program, self.order)


class HighsSimplex(Highs):
    """The sparse program on the HiGHS simplex method."""

    name = "highs-simplex"
    reason = (
        f"the general sparse linear program; with at most {SIMPLEX_ENTRIES} kernel entries the "
        "simplex method takes milliseconds and ends at a vertex, with a gap of 1e-13"
    )
    order = ("simplex", "ipm")

    def lateness(self, program: LinearProgram) -> int:
        """First for small programs, last for large ones whose rows are many or sparse."""
        n, m = program.shape
        if n * m <= SIMPLEX_ENTRIES:
            return 0
        return 1 if program.cone.count < n else 2


class HighsInteriorPoint(Highs):
    """The sparse program on the HiGHS interior-point method with crossover."""

    name = "highs-ipm"
    reason = (
        f"the general sparse linear program, bounds of any kind; above {SIMPLEX_ENTRIES} kernel "
        "entries interior point with crossover is safer than simplex, which stalls on equal masses"
    )
    order = ("ipm", "simplex")

    def lateness(self, program: LinearProgram) -> int:
        """Behind those made for a kind of bounds."""
        return 1


class EpigraphHighs(Highs):
    """Sums over outcomes with linear epigraphs."""

    name = "epigraph-highs"
    reason = "sums of maxima and positive parts as linear epigraphs; ends at a vertex"
    features = GENERAL | {"sums"}
    order = ("simplex", "ipm")


class Clarabel(_Compiled):
    """Interior point on the sparse program; finds good eliminations for bounds of any kind."""

    name = "clarabel"
    reason = (
        "the general sparse linear program, bounds of any kind: Clarabel called directly is the "
        "fastest general solver above a few hundred kernel entries"
    )
    source = "GoulartChen2024"
    tolerance: ClassVar[float] = 1e-9

    def lateness(self, program: LinearProgram) -> int:
        """Behind those made for a kind of bounds; where rows are dense, behind HiGHS as well."""
        cone = program.cone
        is_dense = cone.entries >= _DENSE * cone.terms * program.shape[0]
        return 2 if is_dense else 1

    def solve(self, program: LinearProgram) -> Candidate:
        """The compiled program, at the tolerance of the method.

        Raises :class:`SolverError` when Clarabel stops without a solution.
        """
        return clarabel_candidate(program, self.tolerance)


class EpigraphClarabel(Clarabel):
    """Sums over outcomes whose epigraphs are any cones."""

    name = "epigraph-clarabel"
    reason = "sums over outcomes as epigraphs, mutual information by exponential cones"
    features = GENERAL | EVERY_SUM
    tolerance = 1e-10

    def solve(self, program: LinearProgram) -> Candidate:
        """The compiled program; the best constant kernel where Clarabel gets near no kernel at all,
        which happens at levels of 1e-10, and the bound says what that costs.
        """
        found = super().solve(program)
        asks_more = bool(program.limits) or program.forbidden is not None or bool(program.convex)
        if asks_more or float(found.kernel.sum(axis=1).min()) >= _NEAR_A_KERNEL:
            return found
        constant = np.zeros_like(found.kernel)
        constant[:, int(np.argmax(program.prior.probabilities @ program.gains))] = 1.0
        return replace(found, kernel=constant)


class HighsRefined(Method):
    """The sparse program on the HiGHS simplex method with refinement in rationals."""

    name = "highs-refined"
    reason = (
        "iterative refinement in rationals around the simplex method, for limits and zeros that "
        "its tolerance of 1e-10 cannot tell from the edge of what is possible"
    )
    source = "GleixnerSteffyWolter2016"
    features = GENERAL | {"sums"}

    def condition(self, program: LinearProgram) -> str | None:
        """Something must be asked of entries or their sums, and the program must be small."""
        if not program.is_restricted:
            return "nothing is asked of entries or their sums"
        if not is_small(program):
            return f"its rows have more than {REFINED_ENTRIES} entries or so"
        return None

    def lateness(self, program: LinearProgram) -> int:
        """Last."""
        return 3

    def solve(self, program: LinearProgram) -> Candidate:
        """The compiled program; raises :class:`SolverError` where it does not converge."""
        compiled = compile_program(program)
        found, rounds = solve_refined(compiled)
        details = {"rounds": str(rounds)}
        return Candidate(*compiled.invert(*found), "HiGHS refined", details)


class OutputSearch(Method):
    """Branch and bound over the outputs that occur."""

    name = "output-search"
    reason = (
        "at most so many outputs may occur, a choice among subsets: branch and bound over linear "
        "programs, whose bounds are proved for every part"
    )
    features = (GENERAL - {"least"}) | EVERY_SUM | {"few outputs"}

    def condition(self, program: LinearProgram) -> str | None:
        """There must be a limit."""
        return "any number of outputs may occur" if program.most_outputs is None else None

    def solve(self, program: LinearProgram) -> Candidate:
        """The best kernel found, with dual variables of all parts.

        Raises :class:`SolverError` where no choice of outputs is found that does what is asked.
        """
        best, duals, details = search_outputs(program)
        if best is None:
            raise SolverError(
                f"no {program.most_outputs} outputs were found that suffice for {program}; allow "
                "more outputs or a larger level"
            )
        return Candidate(best.kernel, duals, f"branch and bound on {best.solver}", details)


class Linearised(Method):
    """The kernel by cvxpy; the linear program with constraints linearised there proves its value.

    Where a function has a kink at the optimum, one gradient is not enough: it is linearised at the
    answers of the linear programs too, and where the way to them from inside leaves the set
    (cutting planes, [Kelley1960]).
    """

    name = "linearised"
    reason = "convex constraints of one's own, solved through cvxpy and bounded by linearisation"
    source = "Kelley1960"
    features = GENERAL | EVERY_SUM | {"convex"}

    def __init__(self, solver: str = "CLARABEL") -> None:
        self.solver = solver

    def condition(self, program: LinearProgram) -> str | None:
        """There must be such constraints."""
        return None if program.convex else "there are no convex constraints of one's own"

    def solve(self, program: LinearProgram) -> Candidate:
        """Raises :class:`SolverError` where cvxpy's solver stops without a kernel."""
        import cvxpy

        kernel = solve_kernel(program, lambda K: _objective(cvxpy, program, K), self.solver)
        cleaned = clean_kernel(kernel)
        name = f"cvxpy {self.solver}"
        try:
            inside = inner_kernel(program)
        except SolverError:
            inside = None  # what is asked has no interior; the repair will see
        duals, rounds = _bounded(program, cleaned, inside)
        return Candidate(kernel, duals, name, {"linear programs": str(rounds)}, inside=inside)


def _objective(cp: Any, program: LinearProgram, kernel: Any) -> Any:
    """What is maximised of a cvxpy expression, scaled to about one."""
    if isinstance(program, LeastProgram):
        scale = program.largest_rise or 1.0
        parts = zip(program.alternatives, program.bases, program.rises, strict=True)
        values = [
            base / scale + cp.sum(cp.multiply(rise / scale, kernel[one.symbols]))
            for one, base, rise in parts
        ]
        return cp.min(cp.hstack(values))
    scale = float(np.abs(program.objective).max()) or 1.0
    return cp.sum(cp.multiply(program.objective / scale, kernel))


def _bounded(program: LinearProgram, best: Array, inside: Array | None) -> tuple[Duals, int]:
    """Dual variables of the best linearisation found, and how many were solved."""
    points = [best]
    if inside is not None:
        points = [(1 - share) * best + share * inside for share in _INWARDS]
    value, width = program.value(best), program.gain_range or 1.0
    cut, found = linearise(program, points), Duals()
    for number in range(1, _ROUNDS + 1):
        try:
            point, duals = _solved(cut)
        except SolverError:
            return found, number  # bounds of earlier ones hold
        found = cut.duals(program.convex, duals)
        kernel = clean_kernel(point)
        if program.value(kernel) - value <= _TIGHT * width + _allowed(program, found):
            return found, number
        if all(requirement.is_kept(kernel) for requirement in program.convex):
            return found, number
        cut = cut.with_point(program.convex, kernel)
        if inside is not None:
            cut = cut.with_point(program.convex, _leaving(program, inside, kernel))
    return found, _ROUNDS


def _allowed(program: LinearProgram, duals: Duals) -> float:
    """What the tolerance of the constraints adds to the bound."""
    pairs = zip(program.convex, duals.convex or (), strict=True)
    return sum(requirement.tolerance * float(eta.sum()) for requirement, (_, eta) in pairs)


def _solved(cut: Linearisation) -> tuple[Array, Duals]:
    compiled = compile_program(cut.program)
    kernel, duals = compiled.invert(*solved(compiled))
    return kernel, duals


def _leaving(program: LinearProgram, inside: Array, outside: Array) -> Array:
    """Where the way from a kernel inside to one outside leaves what the constraints allow."""

    def at(share: float) -> Array:
        return np.asarray((1 - share) * inside + share * outside)

    def room(shares: Array, _: Any) -> Array:
        point = at(shares[0])
        rooms = [c.tolerance - c.values(point).max() for c in program.convex]
        return np.nan_to_num([min(rooms)], nan=-1.0)

    return at(crossings(room, np.zeros(1), np.ones(1), _NEAR)[0])
