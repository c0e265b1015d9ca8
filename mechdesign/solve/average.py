"""Notions that keep budgets: epigraphs on HiGHS, exponential cones on Clarabel, bounds and repair.

To the sparse program of the bounds on likelihood ratios each budget adds variables for its φ::

    Peak      k_x ≤ t_y,   Σ t ≤ e^ε             Trough        t_y ≤ k_x,   Σ t ≥ e^-ε
    Excess    μᵀk − e^ε νᵀk ≤ s_y,   Σ s ≤ δ     Information   l_a log(l_a/l_c) ≤ e_ay,  Σ p e ≤ ε

with l_a = P(y|a,c) and l_c = P(y|c), by exponential cones. Weak duality: φ is the largest of its
linear minorants, φ(k) ≥ ⟨w, k⟩, so for τ ≥ 0 and any minorants w_y every feasible kernel is worth
at most τ·limit + Σ_x max_y (c_xy − τ w_yx), plus what the other notions price. What makes w a
minorant is a simple inequality for each φ, which is enforced on whatever numbers a solver returns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..exact import DENOMINATOR_BITS, Verdict, exp_upper
from ..mechanism import Mechanism
from ..privacy.averaging import AverageNotion
from ..privacy.budgets import Budget, Excess, Information, Peak, Trough
from .bounds import multiplier_pull, rows_bound
from .cones import inner_factor
from .linear_program import LinearProgram, compile_program
from .methods import Candidate, Duals, Method, constant_kernel
from .problem import Problem
from .repair import repair_kernel, to_weights

# Budgets are solved for with this relative room, so that rounding leaves them kept.
_ROOM = 1e-12
_ROUNDS = 60
# Multipliers below this share of the range of gains may be noise.
_NOISE = 1e-9
# Likelihood ratios above this are designed for as if they were this, at a loss of its inverse.
_LARGEST_FACTOR = 1e7
_UNIT = 2.0**-52

#: Dual numbers of a budget: τ and weights, see :func:`_minorants`.
BudgetDuals = tuple[NDArray[np.float64], ...]


def problem_budgets(problem: Problem) -> list[Budget] | None:
    """Budgets of all notions outside the likelihood family; ``None`` if one has none."""
    found: list[Budget] = []
    for notion in problem.others:
        if not isinstance(notion, AverageNotion):
            return None
        found.extend(b for b in notion.budgets(problem.inner) if not b.is_vacuous)
    return found


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
        limit = factor if sign > 0 else -1 / factor
        return _Block(m, sparse.vstack([rows, total]), np.r_[np.zeros(a * m), limit])
    if isinstance(budget, Excess):
        factor = min(inner_factor(budget.epsilon), _LARGEST_FACTOR)
        pairs = (budget.over.matrix - factor * budget.under.matrix).tocsr()
        count = pairs.shape[0]
        rows = sparse.hstack([_wide(pairs, m), -eye(count * m)])
        sums = sparse.hstack(
            [sparse.csr_array((count, n * m)), sparse.kron(np.ones((1, m)), eye(count))]
        )
        right = np.r_[np.zeros(count * m), np.full(count, budget.delta * (1 - _ROOM))]
        return _Block(count * m, sparse.vstack([rows, sums]), right)
    assert isinstance(budget, Information)
    given, whole, weights, _ = _tables(budget)
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


def _tables(budget: Information) -> tuple[NDArray[np.float64], ...]:
    """P(x|a,c), P(x|c) and P(a,c) for each row, and P(a,c)/P(c)."""
    joint = np.array(budget.joint, dtype=float)
    groups = np.array(budget.groups)
    weights = joint.sum(axis=1)
    totals = np.bincount(groups, weights)
    common = np.stack([joint[groups == c].sum(axis=0) for c in range(len(totals))])
    whole = common[groups] / totals[groups][:, None]
    return joint / weights[:, None], whole, weights, weights / totals[groups]


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
    """Kernel and duals; multipliers of budgets in the form that :func:`_minorants` takes."""
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
            averages.append((part[:1].reshape(1, 1), _log_ratios(budget, part[0], z)))
    return Candidate(kernel, Duals(rows, multipliers, tuple(averages)), solver, details)


def _log_ratios(budget: Any, tau: float, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log r of the minorants τ p_a log r_a from the duals of the cones, ``(rows, M)``."""
    _, _, weights, shares = _tables(budget)
    groups = np.array(budget.groups)
    totals = weights / shares
    if tau <= 0:
        return np.zeros((len(weights), z.shape[0]))
    pulled = np.zeros_like(z[:, :, 2])
    for c in set(budget.groups):
        pulled[:, groups == c] = z[:, groups == c, 2].sum(axis=1, keepdims=True)
    return np.asarray(((-z[:, :, 1] / weights - pulled / totals) / tau).T)


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


# Bounding


def average_bound(problem: Problem, duals: Duals) -> float | None:
    """The Lagrangian with budgets and bounds on ratios priced; ``None`` without duals for it."""
    budgets = problem_budgets(problem)
    if not budgets or duals.averages is None or len(duals.averages) != len(budgets):
        return None
    # A solver's noise on multipliers that should be zero costs a factor e^ε: without it, too.
    return min(
        _priced(problem, budgets, duals, [_above(numbers, floor) for numbers in duals.averages])
        for floor in (0.0, _NOISE * problem.gain_range, math.inf)
    )


def _above(numbers: BudgetDuals, floor: float) -> BudgetDuals:
    """Dual numbers with multipliers up to a floor left out."""
    return (np.where(numbers[0] > floor, numbers[0], 0.0), *numbers[1:])


def _priced(
    problem: Problem, budgets: list[Budget], duals: Duals, averages: list[BudgetDuals]
) -> float:
    pull, size, terms = multiplier_pull(problem, duals.multipliers or ())
    limit = 0.0
    for budget, numbers in zip(budgets, averages, strict=True):
        constant, more, magnitude = _minorants(budget, numbers)
        limit += constant
        pull = pull + more
        size = size + magnitude
        terms += 4 * magnitude.shape[0] + 64
    return rows_bound(problem, pull, size, terms) + limit + 16 * _UNIT * abs(limit)


def _minorants(
    budget: Budget, numbers: BudgetDuals
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """τ·limit, the pull Σ τ w and its size, from dual numbers made into true minorants."""
    first = np.where(np.isfinite(numbers[0]), np.maximum(numbers[0], 0.0), 0.0)
    if isinstance(budget, Peak):
        # ⟨w, k⟩ ≤ τ max k for w ≥ 0 with Σ w ≤ τ.
        tau = float(first.sum(axis=0).max()) * (1 + _UNIT * len(first))
        pull = budget.points.matrix.T @ first
        return tau * exp_upper(budget.epsilon), pull, pull
    if isinstance(budget, Trough):
        # −⟨v, k⟩ ≤ −τ min k for v ≥ 0 with Σ v ≥ τ.
        tau = float(first.sum(axis=0).min()) * (1 - _UNIT * len(first))
        least = math.nextafter(1 / exp_upper(budget.epsilon), 0.0)
        pull = budget.points.matrix.T @ first
        return -tau * least, -pull, pull
    if isinstance(budget, Excess):
        # ⟨s (μ − e^ε ν), k⟩ ≤ τ max((μ − e^ε ν)ᵀk, 0) for 0 ≤ s ≤ τ.
        factor = exp_upper(budget.epsilon)
        if math.isinf(factor):
            first = np.zeros_like(first)
            factor = 1.0
        first = first * min(1.0, inner_factor(budget.epsilon) / factor, _LARGEST_FACTOR / factor)
        over = budget.over.matrix.T @ first
        under = factor * (budget.under.matrix.T @ first)
        return math.fsum(first.max(axis=1)) * budget.delta, over - under, over + under
    assert isinstance(budget, Information)
    # Σ p_a log(r_a) l_a ≤ Σ p_a l_a log(l_a/l_c) for every k just when Σ (p_a/p_c) r_a ≤ 1.
    tau = float(first.ravel()[0])
    given, _, weights, shares = _tables(budget)
    groups = np.array(budget.groups)
    logs = np.clip(np.where(np.isfinite(numbers[1]), numbers[1], 0.0), -600.0, 600.0)
    for c in set(budget.groups):
        part = logs[groups == c]
        top = part.max(axis=0)
        total = np.log((shares[groups == c][:, None] * np.exp(part - top)).sum(axis=0)) + top
        logs[groups == c] = part - total - 1e-14
    scaled = tau * weights[:, None]
    return (
        tau * budget.epsilon,
        given.T @ (scaled * logs),
        given.T @ (scaled * np.abs(logs)),
    )


# Repairing


def keep_budgets(problem: Problem, weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Weights that keep every budget as well, by mixing in a constant kernel; and its share.

    Mixing keeps everything the likelihood family asks and lowers every budget in proportion, as a
    constant kernel spends least. The smallest share that passes is found by doubling and halving.
    """
    if not problem.others:
        return weights, 0.0
    if _kept(problem, weights):
        return weights, 0.0
    kernel = np.ldexp(weights.astype(float), -DENOMINATOR_BITS)
    constant = np.broadcast_to(problem.inner.probabilities @ kernel, kernel.shape)
    share, found = 2.0**-50, None
    for _ in range(_ROUNDS):
        tried = _mixed(problem, kernel, constant, share)
        if tried is not None:
            found = tried
            break
        if share == 1:
            break
        share = min(2 * share, 1.0)
    if found is None:
        return to_weights(constant_kernel(problem)), 1.0
    low, high = share / 2, share
    for _ in range(8):
        middle = (low + high) / 2
        tried = _mixed(problem, kernel, constant, middle)
        if tried is None:
            low = middle
        else:
            high, found = middle, tried
    return found, high


def _mixed(
    problem: Problem, kernel: NDArray[np.float64], constant: NDArray[np.float64], share: float
) -> NDArray[np.int64] | None:
    mixed = (1 - share) * kernel + share * constant
    weights, _ = repair_kernel(mixed, problem.inner, problem.bounds)
    return weights if _kept(problem, weights) else None


def _kept(problem: Problem, weights: NDArray[np.int64]) -> bool:
    mechanism = Mechanism.from_weights(weights, DENOMINATOR_BITS, problem.inner.labels)
    return all(
        notion.check(mechanism, problem.inner).verdict is Verdict.YES for notion in problem.others
    )
