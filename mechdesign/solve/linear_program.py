"""The general sparse linear program, compiled once and solved by HiGHS or through cvxpy.

Per output y the variables are the column k = K[:, y] and one auxiliary t per bound that pairs
every μ with every ν::

    maximise    Σ_y ⟨c_y, k_y⟩
    subject to  Σ_y k_y = 1,   k ≥ 0
                μᵀk ≤ t,   e^-ε t ≤ νᵀk       for every μ, every ν of such a bound
                e^-ε μᵀk ≤ νᵀk                for every matched pair

A set of priors in the place of the ν brings the rows and auxiliaries of its own dual.
so the program has O(NM) non-zeros for point masses and the prior, never O(N²M). Multipliers a of
the μ rows and b of the ν rows satisfy Σ a = e^-ε Σ b; they map back to the pairs as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError, quote
from ..privacy.hypotheses import Bound
from ..privacy.prior_sets import PriorSet
from .cones import inner_factors
from .methods import Candidate, Duals, Method, Multipliers
from .problem import Problem

# Up to this many kernel entries simplex takes some tens of milliseconds, and what it ends at is a
# vertex. Faster methods are preferred above (see the group "small" of the benchmarks).
SIMPLEX_ENTRIES = 600


@dataclass(frozen=True)
class LinearProgram:
    """Maximise ``cost · v`` with ``equal @ v = 1``, ``below @ v ≤ 0``, and signs.

    Variables are stacked output by output: the n kernel entries, then the auxiliaries.
    """

    problem: Problem
    cost: NDArray[np.float64]
    equal: Any
    below: Any
    block: int
    scale: float
    shift: NDArray[np.float64]

    def invert(
        self, point: NDArray[np.float64], prices: NDArray[np.float64], duals: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[Multipliers, ...]]:
        """Kernel, prices and multipliers from the program's solution and non-negative duals."""
        n, m = self.problem.shape
        kernel = point.reshape(m, self.block)[:, :n].T
        rows = np.maximum(duals, 0.0).reshape(m, -1).T * self.scale
        multipliers: list[Multipliers] = []
        start = 0
        for bound in self.problem.bounds:
            a, b = len(bound.over), len(bound.under)
            if isinstance(bound.under, PriorSet):
                b = bound.under.rows(1.0)[0].shape[0]
                weights = bound.under.weights(rows[start + a : start + a + b])
                multipliers.append((rows[start : start + a], weights))
                start += a + b
            elif bound.pairing == "all":
                multipliers.append((rows[start : start + a], rows[start + a : start + a + b]))
                start += a + b
            else:
                factors = inner_factors(bound)[:, None]
                multipliers.append((rows[start : start + a] / factors,))
                start += a
        return kernel, prices * self.scale + self.shift, tuple(multipliers)


def compile_program(problem: Problem) -> LinearProgram:
    """The sparse program of a problem; :meth:`LinearProgram.invert` is its way back.

    The objective is shifted per row by its maximum, which no kernel can tell, and scaled to one.
    """
    from scipy import sparse

    n, m = problem.shape
    auxiliaries = sum(_auxiliaries(bound) for bound in problem.bounds)
    block_rows = []
    column = 0
    for bound in problem.bounds:
        over, factors = bound.over.matrix, inner_factors(bound)
        if isinstance(bound.under, PriorSet):
            left, right = bound.under.rows(1 / factors[0])
            aux_over = _auxiliary(len(bound.over), auxiliaries, column, -1.0)
            before = sparse.csr_array((left.shape[0], column))
            after = sparse.csr_array((left.shape[0], auxiliaries - column - right.shape[1]))
            block_rows.append(sparse.hstack([over, aux_over]))
            block_rows.append(sparse.hstack([left, before, right, after]))
            column += right.shape[1]
            continue
        under = bound.under.matrix
        if bound.pairing == "all":
            aux_over = _auxiliary(len(bound.over), auxiliaries, column, -1.0)
            aux_under = _auxiliary(len(bound.under), auxiliaries, column, 1 / factors[0])
            block_rows.append(sparse.hstack([over, aux_over]))
            block_rows.append(sparse.hstack([-under, aux_under]))
            column += 1
        else:
            scaled = sparse.diags_array(np.broadcast_to(1 / factors, len(bound.over))) @ over
            empty = sparse.csr_array((len(bound.over), auxiliaries))
            block_rows.append(sparse.hstack([scaled - under, empty]))
    size = n + auxiliaries
    block = sparse.vstack(block_rows).tocsr() if block_rows else sparse.csr_array((0, size))
    identity = sparse.hstack([sparse.eye_array(n), sparse.csr_array((n, auxiliaries))])
    shift = problem.objective.max(axis=1)
    shifted = problem.objective - shift[:, None]
    scale = float(np.abs(shifted).max()) or 1.0
    cost = np.zeros((m, size))
    cost[:, :n] = shifted.T / scale
    return LinearProgram(
        problem,
        cost.ravel(),
        sparse.hstack([identity] * m).tocsr(),
        sparse.block_diag([block] * m).tocsr(),
        size,
        scale,
        shift,
    )


def _auxiliaries(bound: Bound) -> int:
    if isinstance(bound.under, PriorSet):
        return int(bound.under.rows(1.0)[1].shape[1])
    return int(bound.pairing == "all")


def _auxiliary(rows: int, columns: int, column: int, value: float) -> Any:
    from scipy import sparse

    place = (np.arange(rows), np.full(rows, column))
    return sparse.csr_array((np.full(rows, value), place), shape=(rows, columns))


class LinearMethod(Method):
    """Applies to every list of bounds on likelihood ratios."""

    def refusal(self, problem: Problem) -> str | None:
        """Refuses notions outside the likelihood family."""
        if problem.others:
            return problem.not_a_bound
        return None


class HighsSimplex(LinearMethod):
    """The sparse program on the HiGHS simplex method."""

    name = "highs-simplex"
    reason = (
        f"the general sparse linear program; with at most {SIMPLEX_ENTRIES} kernel entries the "
        "simplex method takes milliseconds and ends at a vertex, with a gap of 1e-13"
    )
    source = "HuangfuHall2018"

    def solve(self, problem: Problem) -> Candidate:
        """Dual simplex at tolerance 1e-10."""
        return _run_highs(problem, ("simplex", "ipm"))


class HighsInteriorPoint(LinearMethod):
    """The sparse program on the HiGHS interior-point method with crossover."""

    name = "highs-ipm"
    reason = (
        f"the general sparse linear program, bounds of any kind; above {SIMPLEX_ENTRIES} kernel "
        "entries interior point with crossover is safer than simplex, which stalls on equal masses"
    )
    source = "HuangfuHall2018"

    def solve(self, problem: Problem) -> Candidate:
        """Interior point, then crossover to a vertex."""
        return _run_highs(problem, ("ipm", "simplex"))


def highs_model(program: LinearProgram) -> Any:
    """The program as a HiGHS model: the equalities first, then the inequalities."""
    import highspy
    from scipy import sparse

    matrix = sparse.vstack([program.equal, program.below]).tocsc()
    equalities = program.equal.shape[0]
    lower = np.full(matrix.shape[0], -highspy.kHighsInf)
    lower[:equalities] = 1.0
    upper = np.zeros(matrix.shape[0])
    upper[:equalities] = 1.0
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = program.cost
    model.col_lower_ = np.zeros(matrix.shape[1])
    model.col_upper_ = np.full(matrix.shape[1], highspy.kHighsInf)
    model.row_lower_, model.row_upper_ = lower, upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = matrix.data
    return model


def _run_highs(problem: Problem, order: tuple[str, ...]) -> Candidate:
    import highspy

    program = compile_program(problem)
    model = highs_model(program)
    equalities = program.equal.shape[0]
    tried = []
    for solver in order:
        for tolerance in (1e-10, 1e-7):
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.setOptionValue("solver", solver)
            highs.setOptionValue("small_matrix_value", 1e-12)
            for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
                highs.setOptionValue(option, tolerance)
            highs.passModel(model)
            highs.run()
            status = highs.getModelStatus()
            tried.append(f"{solver} at {tolerance:g}: {highs.modelStatusToString(status)}")
            if status != highspy.HighsModelStatus.kOptimal:
                continue
            solution, info = highs.getSolution(), highs.getInfo()
            duals = np.array(solution.row_dual)
            kernel, prices, multipliers = program.invert(
                np.array(solution.col_value), duals[:equalities], duals[equalities:]
            )
            iterations = max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0)
            return Candidate(
                kernel,
                Duals(prices, multipliers),
                f"HiGHS {solver}",
                {"iterations": str(iterations), "tolerance": f"{tolerance:g}"},
            )
    raise SolverError(
        f"HiGHS found no optimum for {problem} ({'; '.join(tried)}); every such problem has one, "
        "so its numbers are too extreme for this solver: try another one with solver="
    )


class Cvxpy(LinearMethod):
    """The sparse program handed to a solver that cvxpy knows, by name."""

    reason = "asked for by name"

    def __init__(self, solver: str) -> None:
        self.solver = solver.upper()
        self.name = f"cvxpy-{self.solver}"  # type: ignore[misc]

    def solve(self, problem: Problem) -> Candidate:
        """Through cvxpy with the solver's default settings.

        Raises :class:`SolverError` when it stops without a solution.
        """
        import warnings

        import cvxpy

        solver = self.solver
        program = compile_program(problem)
        point = cvxpy.Variable(program.cost.size, nonneg=True)
        equal = program.equal @ point == 1
        constraints = [equal]
        below = None
        if program.below.shape[0]:
            below = program.below @ point <= 0
            constraints.append(below)
        task = cvxpy.Problem(cvxpy.Maximize(program.cost @ point), constraints)
        try:
            with warnings.catch_warnings():
                # Inaccurate solutions are judged by the certificate, not by a warning.
                warnings.simplefilter("ignore", UserWarning)
                task.solve(solver=solver)
        except cvxpy.error.SolverError as problem_found:
            raise SolverError(
                f"{solver} failed on {problem}: {problem_found}; try another solver"
            ) from problem_found
        if point.value is None or equal.dual_value is None:
            raise SolverError(
                f"{solver} stopped with status {quote(task.status)}; try another solver"
            )
        duals = np.zeros(0) if below is None else np.asarray(below.dual_value)
        kernel, prices, multipliers = program.invert(
            np.asarray(point.value), np.asarray(equal.dual_value), duals
        )
        return Candidate(
            kernel, Duals(prices, multipliers), f"cvxpy {solver}", {"status": str(task.status)}
        )
