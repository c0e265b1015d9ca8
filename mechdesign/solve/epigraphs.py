"""The programs of notions that keep budgets: epigraphs on HiGHS, exponential cones on Clarabel.

To the sparse program of the bounds on likelihood ratios each budget adds variables for its φ::

    Peak      k_x ≤ t_y,   Σ t ≤ e^ε             Trough        t_y ≤ k_x,   Σ t ≥ e^-ε
    Excess    μᵀk − e^ε νᵀk ≤ s_y,   Σ s ≤ δ     Information   l_a log(l_a/l_c) ≤ e_ay,  Σ p e ≤ ε

with l_a = P(y|a,c) and l_c = P(y|c), by exponential cones. Bounds and repair are in ``average``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..privacy.budgets import Budget, Excess, Information, Peak, Trough
from .average import LARGEST_FACTOR, BudgetDuals, problem_budgets, tables_of
from .cones import inner_factor
from .linear_program import LinearProgram, compile_program
from .methods import Candidate, Duals, Method
from .problem import Problem

# Budgets are solved for with this relative room, so that rounding leaves them kept.
_ROOM = 1e-12
# Masses below which multipliers, accurate to 1e-10 or so, say little per unit of mass.
_TINY_MASS = 1e-6


# Compiling


@dataclass
class _Block:
    """Rows that one budget adds: matrices over the kernel (output-major) and its own variables."""

    size: int
    below: Any  # (rows, kernel + own) ≤ right
    right: NDArray[np.float64]
    cones: Any = None  # (3 · count, kernel + own), each three rows in the exponential cone


def _wide(matrix: Any, outputs: int) -> Any:
    """A matrix over one column of the kernel, repeated for every output."""
    from scipy import sparse

    return sparse.block_diag([matrix] * outputs).tocsr()


def _block(budget: Budget, n: int, m: int) -> _Block:
    from scipy import sparse

    eye = sparse.eye_array
    if isinstance(budget, (Peak, Trough)):
        points = budget.points.matrix
        a = points.shape[0]
        own = sparse.kron(eye(m), np.ones((a, 1)))
        sign = 1.0 if isinstance(budget, Peak) else -1.0
        rows = sparse.hstack([sign * _wide(points, m), -sign * own])
        total = sparse.hstack([sparse.csr_array((1, n * m)), sign * np.ones((1, m))])
        factor = inner_factor(budget.epsilon)
        # Σ_y max_x K[x,y] never exceeds the number of rows; a larger limit only costs digits.
        limit = min(factor, len(budget.points)) if sign > 0 else -1 / factor
        return _Block(m, sparse.vstack([rows, total]), np.r_[np.zeros(a * m), limit])
    if isinstance(budget, Excess):
        factor = min(inner_factor(budget.epsilon), LARGEST_FACTOR)
        pairs = (budget.over.matrix - factor * budget.under.matrix).tocsr()
        count = pairs.shape[0]
        rows = sparse.hstack([_wide(pairs, m), -eye(count * m)])
        sums = sparse.hstack(
            [sparse.csr_array((count, n * m)), sparse.kron(np.ones((1, m)), eye(count))]
        )
        right = np.r_[np.zeros(count * m), np.full(count, budget.delta * (1 - _ROOM))]
        return _Block(count * m, sparse.vstack([rows, sums]), right)
    assert isinstance(budget, Information)
    given, whole, weights, _ = tables_of(budget)
    count = len(weights)
    size = count * m
    # Rows of a cone (x, y, z) with y e^{x/y} ≤ z: x = −e, y = l_a, z = l_c.
    stacked = sparse.hstack(
        [
            _wide(np.vstack([0 * given, given, whole]), m),
            sparse.kron(eye(m), np.vstack([-np.eye(count), np.zeros((2 * count, count))])),
        ]
    )
    order = np.arange(3 * count * m).reshape(m, 3, count).transpose(0, 2, 1).ravel()
    total = sparse.hstack([sparse.csr_array((1, n * m)), np.tile(weights, m)[None, :]])
    return _Block(size, total, np.array([budget.epsilon * (1 - _ROOM)]), stacked.tocsr()[order])


@dataclass
class _Program:
    """The whole conic program; the kernel entries stand first in every column block."""

    base: LinearProgram
    budgets: list[Budget]
    blocks: list[_Block]
    below: Any
    right: NDArray[np.float64]
    cones: Any
    size: int


def _compile(problem: Problem, budgets: list[Budget]) -> _Program:
    from scipy import sparse

    base = compile_program(problem)
    n, m = problem.shape
    width = base.cost.size
    # Positions of the kernel entries among the variables of the base program.
    place = (np.arange(m)[:, None] * base.block + np.arange(n)).ravel()
    pick = sparse.csr_array((np.ones(n * m), (place, np.arange(n * m))), shape=(width, n * m))
    blocks = [_block(budget, n, m) for budget in budgets]
    own = sum(block.size for block in blocks)
    below = [sparse.hstack([base.below, sparse.csr_array((base.below.shape[0], own))])]
    cones: list[Any] = []
    start = 0
    for block in blocks:
        for matrix, store in ((block.below, below), (block.cones, cones)):
            if matrix is not None:
                matrix = matrix.tocsc()
                store.append(
                    sparse.hstack(
                        [
                            matrix[:, : n * m] @ pick.T,
                            sparse.csr_array((matrix.shape[0], start)),
                            matrix[:, n * m :],
                            sparse.csr_array((matrix.shape[0], own - start - block.size)),
                        ]
                    )
                )
        start += block.size
    right = np.concatenate([np.zeros(base.below.shape[0]), *(block.right for block in blocks)])
    return _Program(
        base,
        budgets,
        blocks,
        sparse.vstack(below).tocsr(),
        right,
        sparse.vstack(cones).tocsr() if cones else None,
        width + own,
    )


def _candidate(
    program: _Program,
    point: NDArray[np.float64],
    prices: NDArray[np.float64],
    duals: NDArray[np.float64],
    cone_duals: NDArray[np.float64],
    solver: str,
    details: dict[str, str],
) -> Candidate:
    """Kernel and duals; multipliers of budgets in the form that :func:`minorants` takes."""
    base = program.base
    problem = base.problem
    m = problem.shape[1]
    split = base.below.shape[0]
    kernel, rows, multipliers = base.invert(point[: base.cost.size], prices, duals[:split])
    averages: list[BudgetDuals] = []
    start, cone = split, 0
    for budget, block in zip(program.budgets, program.blocks, strict=True):
        part = np.maximum(duals[start : start + block.below.shape[0]], 0.0) * base.scale
        start += block.below.shape[0]
        if isinstance(budget, (Peak, Trough)):
            averages.append((part[:-1].reshape(m, -1).T,))
        elif isinstance(budget, Excess):
            averages.append((part[: -len(budget.over)].reshape(m, -1).T,))
        elif isinstance(budget, Information):
            count = len(budget.groups)
            z = cone_duals[cone : cone + 3 * count * m].reshape(m, count, 3) * base.scale
            cone += 3 * count * m
            logs = _log_ratios(budget, part[0], z)
            averages.append((part[:1].reshape(1, 1), _steadied(budget, logs, kernel)))
    return Candidate(kernel, Duals(rows, multipliers, tuple(averages)), solver, details)


def _log_ratios(budget: Any, tau: float, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log r of the minorants τ p_a log r_a from the duals of the cones, ``(rows, M)``."""
    _, _, weights, shares = tables_of(budget)
    groups = np.array(budget.groups)
    totals = weights / shares
    if tau <= 0:
        return np.zeros((len(weights), z.shape[0]))
    pulled = np.zeros_like(z[:, :, 2])
    for c in set(budget.groups):
        pulled[:, groups == c] = z[:, groups == c, 2].sum(axis=1, keepdims=True)
    return np.asarray(((-z[:, :, 1] / weights - pulled / totals) / tau).T)


def _steadied(
    budget: Any, logs: NDArray[np.float64], kernel: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Duals of rows of tiny mass are noise over that mass: there, what the kernel's ratios say."""
    given, whole, weights, _ = tables_of(budget)
    least = 1e-200
    ratios = np.log(np.maximum(given @ kernel, least)) - np.log(np.maximum(whole @ kernel, least))
    return np.where((weights < _TINY_MASS)[:, None], ratios, logs)


# Solving


class _BudgetMethod(Method):
    """What the methods for budgets share."""

    def refusal(self, problem: Problem) -> str | None:
        """Applies when all notions outside the likelihood family keep budgets."""
        if not problem.others:
            return "every notion is a bound on likelihood ratios"
        if problem_budgets(problem) is None:
            return problem.not_a_bound
        return None


class EpigraphHighs(_BudgetMethod):
    """Linear epigraphs on HiGHS."""

    name = "epigraph-highs"
    reason = "sums of maxima and positive parts as linear epigraphs; ends at a vertex"
    source = "HuangfuHall2018"

    def refusal(self, problem: Problem) -> str | None:
        """Applies when no budget is a mutual information."""
        why = super().refusal(problem)
        budgets = problem_budgets(problem) or []
        if why is None and any(isinstance(b, Information) for b in budgets):
            return "mutual information needs exponential cones"
        return why

    def solve(self, problem: Problem) -> Candidate:
        """Simplex, then interior point with crossover.

        Raises :class:`SolverError` when both stop without an optimum.
        """
        import highspy
        from scipy import sparse

        program = _compile(problem, problem_budgets(problem) or [])
        base = program.base
        extra = program.size - base.cost.size
        equal = sparse.hstack([base.equal, sparse.csr_array((base.equal.shape[0], extra))])
        matrix = sparse.vstack([equal, program.below]).tocsc()
        n = equal.shape[0]
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.sense_ = highspy.ObjSense.kMaximize
        model.col_cost_ = np.r_[base.cost, np.zeros(extra)]
        model.col_lower_ = np.zeros(program.size)
        model.col_upper_ = np.full(program.size, highspy.kHighsInf)
        model.row_lower_ = np.r_[np.ones(n), np.full(len(program.right), -highspy.kHighsInf)]
        model.row_upper_ = np.r_[np.ones(n), program.right]
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        model.a_matrix_.index_ = matrix.indices.astype(np.int32)
        model.a_matrix_.value_ = matrix.data
        tried = []
        for solver in ("simplex", "ipm"):
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.setOptionValue("solver", solver)
            highs.setOptionValue("small_matrix_value", 1e-12)
            for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
                highs.setOptionValue(option, 1e-10)
            highs.passModel(model)
            highs.run()
            status = highs.getModelStatus()
            tried.append(f"{solver}: {highs.modelStatusToString(status)}")
            if status == highspy.HighsModelStatus.kOptimal:
                solution = highs.getSolution()
                duals = np.array(solution.row_dual)
                point = np.array(solution.col_value)
                empty = np.zeros(0)
                return _candidate(
                    program, point, duals[:n], duals[n:], empty, f"HiGHS {solver}", {}
                )
        raise SolverError(
            f"HiGHS found no optimum for {problem} ({'; '.join(tried)}); "
            "try solver='epigraph-clarabel'"
        )


class EpigraphClarabel(_BudgetMethod):
    """Epigraphs and exponential cones on Clarabel."""

    name = "epigraph-clarabel"
    reason = "sums over outcomes as epigraphs, mutual information by exponential cones"
    source = "GoulartChen2024"

    def solve(self, problem: Problem) -> Candidate:
        """Interior point on the conic program.

        Raises :class:`SolverError` when Clarabel stops without a solution.
        """
        import clarabel
        from scipy import sparse

        program = _compile(problem, problem_budgets(problem) or [])
        base = program.base
        extra = program.size - base.cost.size
        n, inequalities = base.equal.shape[0], len(program.right)
        equal = sparse.hstack([base.equal, sparse.csr_array((n, extra))])
        # Epigraph variables of exponential cones may be negative.
        signs = sparse.eye_array(program.size).tocsr()[_signed(program)]
        parts = [equal, program.below, -signs]
        right = [np.ones(n), program.right, np.zeros(signs.shape[0])]
        cones = [
            clarabel.ZeroConeT(n),
            clarabel.NonnegativeConeT(inequalities + signs.shape[0]),
        ]
        if program.cones is not None:
            parts.append(-program.cones)
            right.append(np.zeros(program.cones.shape[0]))
            cones += [clarabel.ExponentialConeT()] * (program.cones.shape[0] // 3)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix((program.size, program.size)),
            -np.r_[base.cost, np.zeros(extra)],
            sparse.csc_matrix(sparse.vstack(parts)),
            np.concatenate(right),
            cones,
            settings,
        ).solve()
        status = str(solution.status)
        if status not in ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"):
            raise SolverError(f"Clarabel stopped with {status} on {problem}; try other levels")
        z = np.array(solution.z)
        start = n + inequalities + signs.shape[0]
        return _candidate(
            program,
            np.array(solution.x),
            z[:n],
            z[n : n + inequalities],
            z[start:],
            "Clarabel",
            {"iterations": str(solution.iterations), "status": status},
        )


def _signed(program: _Program) -> NDArray[np.bool_]:
    """Which variables are non-negative."""
    signed = np.ones(program.size, dtype=bool)
    start = program.base.cost.size
    for budget, block in zip(program.budgets, program.blocks, strict=True):
        if isinstance(budget, Information):
            signed[start : start + block.size] = False
        start += block.size
    return signed
