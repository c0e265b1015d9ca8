"""HiGHS: linear programs by simplex and interior point ([HuangfuHall2018])."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..program.program import LinearProgram
from ..progress import stage
from .compiled import SparseProgram

Array = NDArray[np.float64]

#: Up to this many kernel entries simplex takes some tens of milliseconds, and what it ends at is a
#: vertex. Faster methods are preferred above (see the group "small" of the benchmarks).
SIMPLEX_ENTRIES = 600
_TOLERANCES = (1e-10, 1e-7)
# Entries below this are zero; the library's own limit would forget what tiny masses say.
_SMALLEST_ENTRY = 1e-12
# Iterations before HiGHS gives up, and more of them for each row and column.
_ITERATIONS, _ITERATIONS_EACH = 10_000, 100


@dataclass(frozen=True, eq=False)
class Answer:
    """What HiGHS found: ``point`` and ``duals`` are ``None`` unless the status is optimal."""

    status: str
    point: Array | None = None
    duals: Array | None = None
    value: float = 0.0
    iterations: int = 0

    @property
    def is_unbounded(self) -> bool:
        """Whether there is no optimum, as far as HiGHS can tell."""
        return self.status in ("Unbounded", "Primal infeasible or unbounded", "Infeasible")


class Model:
    """One linear program, to maximise, that may be solved again with another objective or columns.

    Parameters
    ----------
    tolerance : feasibility, primal and dual
    options : further options of HiGHS by name
    """

    def __init__(self, tolerance: float = _TOLERANCES[0], **options: Any) -> None:
        import highspy

        self._highs = highspy.Highs()
        self._presolves = options.get("presolve") != "off"
        self._set(
            output_flag=False,
            primal_feasibility_tolerance=tolerance,
            dual_feasibility_tolerance=tolerance,
            **{"small_matrix_value": _SMALLEST_ENTRY, **options},
        )
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def _set(self, **options: Any) -> None:
        for name, value in options.items():
            self._highs.setOptionValue(name, value)

    def load(
        self,
        cost: Array,
        matrix: Any,
        lower: Array,
        upper: Array,
        *,
        least: Array | None = None,
        most: Array | None = None,
    ) -> None:
        """Lower ≤ matrix @ v ≤ upper and least (0 when left out) ≤ v ≤ most; a sparse matrix."""
        self._highs.passModel(_lp(cost, matrix, lower, upper, least, most))
        # At tolerances that its arithmetic cannot keep, HiGHS would go on for ever.
        limit = _ITERATIONS + _ITERATIONS_EACH * sum(matrix.shape)
        self._set(simplex_iteration_limit=limit, ipm_iteration_limit=limit)

    def add_rows(self, right: Array) -> None:
        """Equalities without entries."""
        none = np.array([], dtype=np.int32), np.array([], dtype=float)
        for value in right.tolist():
            self._highs.addRow(value, value, 0, *none)

    def add_columns(self, cost: Array, entries: Array) -> None:
        """Non-negative variables with ``(C, rows)`` entries."""
        count = len(entries)
        column, row = np.nonzero(entries)
        self._highs.addCols(
            count,
            cost,
            np.zeros(count),
            np.full(count, np.inf),
            len(row),
            np.searchsorted(column, np.arange(count)).astype(np.int32),
            row.astype(np.int32),
            entries[column, row],
        )

    def set_cost(self, cost: Array) -> None:
        """Another objective."""
        self._highs.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)

    def change(self, cost: Array, right: Array, least: Array, most: Array) -> None:
        """Other numbers for the objective, for rows that are equations and for ends of variables.

        Solved from the last basis.
        """
        self.set_cost(cost)
        rows, columns = (np.arange(len(v), dtype=np.int32) for v in (right, least))
        self._highs.changeRowsBounds(len(rows), rows, right, right)
        self._highs.changeColsBounds(len(columns), columns, least, most)

    def run(self, solver: str | None = None) -> Answer:
        """Solve with ``"simplex"`` or ``"ipm"``, or as HiGHS chooses; from the last basis."""
        import highspy

        if solver is not None:
            self._set(solver=solver)
        self._highs.run()
        status = self._highs.getModelStatus()
        statuses = highspy.HighsModelStatus
        if self._presolves and status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
            # Presolving has called programs with masses of 1e-11 infeasible that were not.
            self._highs.clearSolver()
            self._set(presolve="off")
            self._highs.run()
            self._set(presolve="choose")
            status = self._highs.getModelStatus()
        name = self._highs.modelStatusToString(status)
        if status != statuses.kOptimal:
            return Answer(name)
        solution, info = self._highs.getSolution(), self._highs.getInfo()
        return Answer(
            name,
            np.array(solution.col_value),
            np.array(solution.row_dual),
            float(info.objective_function_value),
            max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0),
        )


def _lp(
    cost: Array,
    matrix: Any,
    lower: Array,
    upper: Array,
    least: Array | None,
    most: Array | None,
) -> Any:
    import highspy

    matrix = matrix.tocsc()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = cost
    model.col_lower_ = np.zeros(matrix.shape[1]) if least is None else least
    model.col_upper_ = np.full(matrix.shape[1], highspy.kHighsInf) if most is None else most
    model.row_lower_, model.row_upper_ = lower, upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = matrix.data
    return model


def highs_model(program: SparseProgram) -> Any:
    """A compiled program as a HiGHS model: equalities, inequalities, limits."""
    return _lp(program.cost, *row_ends(program), variable_ends(program), None)


def variable_ends(program: SparseProgram) -> Array:
    """The least values of the variables."""
    return np.where(program.is_signed, 0.0, -np.inf)


def row_ends(program: SparseProgram, *, merged: bool = True) -> tuple[Any, Array, Array]:
    """All rows as one matrix, with the ends between which they lie; as one number where they are
    ``merged`` and too near to each other for a solver.
    """
    from scipy import sparse

    equalities, inequalities = program.equal.shape[0], program.below.shape[0]
    same = program.is_equation & merged
    middle = (program.low[same] + program.high[same]) / 2
    low, high = program.low.copy(), program.high.copy()
    low[same] = high[same] = middle
    lower = np.concatenate([np.ones(equalities), np.full(inequalities, -np.inf), low])
    upper = np.concatenate([np.ones(equalities), program.right, high])
    return sparse.vstack([program.equal, program.below, program.limits]).tocsc(), lower, upper


def split_rows(
    program: SparseProgram, duals: Array
) -> tuple[Array, Array, tuple[Array, ...], Array]:
    """What :meth:`SparseProgram.invert` takes after the point, from dual variables of all rows."""
    n = program.equal.shape[0]
    prices, below, limits = np.split(duals, [n, n + program.below.shape[0]])
    return prices, below, (), limits


def solve_rows(
    program: SparseProgram, order: Sequence[str] = ("simplex", "ipm"), seconds: float = math.inf
) -> tuple[tuple[Array, Array, Array, tuple[Array, ...], Array], str, dict[str, str]]:
    """A compiled program without cones: what :meth:`SparseProgram.invert` takes, the algorithm
    that found it, and details. At tolerance 1e-10, then at 1e-7, each within ``seconds``.

    Raises :class:`SolverError` when HiGHS stops without an optimum.
    """
    if program.cones:
        raise SolverError(
            f"HiGHS has no {program.cones[0].kind} cones for {program.program}; name them in the "
            "attribute cones of the constraint on a sum that brings them"
        )
    point, found, solver, details = solve_columns(
        program.program, program.cost, row_ends(program), order, variable_ends(program), seconds
    )
    return (point, *split_rows(program, found)), solver, details


def solve_columns(
    program: LinearProgram,
    cost: Array,
    rows: tuple[Any, Array, Array],
    order: Sequence[str],
    least: Array | None = None,
    seconds: float = math.inf,
) -> tuple[Array, Array, str, dict[str, str]]:
    """The optimum over rows of a matrix and its dual variables, the algorithm that found it, and
    details; raises :class:`SolverError` when HiGHS stops without one.
    """
    # On so few entries presolve takes longer than it saves.
    options: dict[str, Any] = {"presolve": "off"} if len(cost) <= SIMPLEX_ENTRIES else {}
    limit = None
    if seconds < math.inf:
        options["time_limit"] = limit = seconds
    tried = []
    for solver in order:
        for tolerance in _TOLERANCES:
            model = Model(tolerance, **options)
            model.load(cost, *rows, least=least)
            with stage(f"HiGHS, {solver}", limit=limit):
                found = model.run(solver)
            tried.append(f"{solver} at {tolerance:g}: {found.status}")
            if found.point is not None and found.duals is not None:
                details = {"iterations": str(found.iterations), "tolerance": f"{tolerance:g}"}
                return found.point, found.duals, solver, details
    why = (
        "what is asked may be impossible, or its numbers"
        if program.is_restricted
        else "every such program has one, so its numbers"
    )
    raise SolverError(
        f"HiGHS found no optimum for {program} ({'; '.join(tried)}); {why} are too extreme "
        "for this solver: try another one with solver="
    )


# The program of one column


def column_model(rows: Any, p: Array, zeros: NDArray[np.bool_] | None = None) -> Model:
    """Columns (k, t) ≥ 0 with rows @ (k, t) ≤ 0 and pᵀk = 1, k zero where ``zeros`` says so."""
    from scipy import sparse

    count, size = rows.shape
    mass = np.zeros((1, size))
    mass[0, : len(p)] = p
    most = np.full(size, np.inf)
    if zeros is not None:
        most[: len(p)][zeros] = 0.0
    model = Model()
    model.load(
        np.zeros(size),
        sparse.vstack([rows, sparse.csr_array(mass)]),
        np.append(np.full(count, -np.inf), 1.0),
        np.append(np.zeros(count), 1.0),
        most=most,
    )
    return model


def column_duals(
    rows: Any, p: Array, residual: Array, zeros: NDArray[np.bool_] | None = None
) -> Array:
    """Dual variables of the rows at the best column for each residual, ``(rows, M)``."""
    count, size = rows.shape
    model, found = column_model(rows, p, zeros), np.zeros((count, residual.shape[1]))
    for y, values in enumerate(residual.T):
        scale = float(np.abs(values).max()) or 1.0
        cost = np.zeros(size)
        cost[: len(p)] = values / scale
        model.set_cost(cost)
        answer = model.run()
        if answer.duals is None:
            raise SolverError(
                f"the program of one column was not solved (HiGHS: {answer.status}), so the prices "
                "of its constraints are not known; design again with solver='highs-simplex', which "
                "finds them itself"
            )
        found[:, y] = np.maximum(answer.duals[:count], 0.0) * scale
    return found
