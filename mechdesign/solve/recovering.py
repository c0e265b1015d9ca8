"""Optimal multipliers of every bound for a design, whatever its method left as duals.

Methods that never look at pairs of hypotheses leave prices λ of the rows alone. With
s = max_y sup{⟨c_y − λ, k⟩ : k in the cone, pᵀk = 1} the prices λ + s·p leave nothing to gain in any
column, so the dual of each column's own small program gives multipliers z ≥ 0 with
c_y − λ − s·p ≤ Σ_i z_iy (μ_i − e^ε_i ν_i): together with the prices a dual solution of the whole
problem, worth exactly the bound that the certificate states.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from .bounds import clamped_prices, multiplier_pull, price_bound, supports, true_multipliers
from .cones import TwoSided, two_sided
from .linear_program import compile_program
from .methods import Duals
from .problem import Problem

Array = NDArray[np.float64]
#: Weights of the μ and of the ν of each bound, as :func:`.bounds.true_multipliers` gives them.
Weights = list[tuple[Array, Array]]


def given_weights(problem: Problem, duals: Duals) -> tuple[Weights, Array]:
    """The multipliers that a method left, made true, and what they take off the gains."""
    assert duals.multipliers is not None
    weights = [
        true_multipliers(bound, part)
        for bound, part in zip(problem.bounds, duals.multipliers, strict=True)
    ]
    return weights, multiplier_pull(problem, duals.multipliers)[0]


def recovered_weights(
    problem: Problem, prices: Array, outputs: NDArray[np.intp]
) -> tuple[Weights, Array]:
    """Multipliers at some outputs from prices alone, and the prices that leave nothing to gain.

    Raises :class:`SolverError` when a column's program is not solved.
    """
    sides = two_sided(problem.bounds, problem.inner, inner=False)
    assert sides is not None
    prices = _settled(problem, prices, sides)
    residual = (problem.objective - prices[:, None])[:, outputs]
    program = compile_program(problem)
    rows = program.below.shape[0] // problem.shape[1]
    duals = np.zeros((problem.shape[1], rows))
    if rows:
        block = program.below[:rows, : program.block]
        duals[outputs] = _column_duals(block, problem.inner.probabilities, residual)
    size = problem.shape[1] * program.block
    _, _, multipliers = program.invert(np.zeros(size), prices, duals.ravel() / program.scale)
    found = [
        true_multipliers(bound, part)
        for bound, part in zip(problem.bounds, multipliers, strict=True)
    ]
    return found, prices


def _settled(problem: Problem, prices: Array, sides: TwoSided) -> Array:
    """The better of the prices and their clamped form, moved along p until nothing is gained."""
    tried = (prices, clamped_prices(problem, prices))
    best = min(tried, key=lambda some: price_bound(problem, some, sides))
    p = problem.inner.probabilities
    return best + p * float(supports(problem.objective - best[:, None], p, sides).max())


def _column_duals(block: object, p: Array, residual: Array) -> Array:
    """Multipliers of the rows of ``block`` at the best column for each residual, ``(M, rows)``."""
    import highspy
    from scipy import sparse

    rows, size = block.shape  # type: ignore[attr-defined]
    whole = np.zeros((1, size))
    whole[0, : len(p)] = p
    matrix = sparse.vstack([block, sparse.csr_array(whole)]).tocsc()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = np.zeros(size)
    model.col_lower_ = np.zeros(size)
    model.col_upper_ = np.full(size, highspy.kHighsInf)
    model.row_lower_ = np.append(np.full(rows, -highspy.kHighsInf), 1.0)
    model.row_upper_ = np.append(np.zeros(rows), 1.0)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = matrix.data
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("small_matrix_value", 1e-12)
    for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        highs.setOptionValue(option, 1e-10)
    highs.passModel(model)
    found = np.zeros((residual.shape[1], rows))
    places = np.arange(size, dtype=np.int32)
    for y, worth in enumerate(residual.T):
        scale = float(np.abs(worth).max()) or 1.0
        cost = np.zeros(size)
        cost[: len(p)] = worth / scale
        highs.changeColsCost(size, places, cost)
        highs.run()
        status = highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(
                f"the program of one column was not solved (HiGHS: "
                f"{highs.modelStatusToString(status)}), so the prices of its constraints are not "
                "known; design again with solver='highs-simplex', which finds them itself"
            )
        found[y] = np.maximum(np.array(highs.getSolution().row_dual)[:rows], 0.0) * scale
    return found
