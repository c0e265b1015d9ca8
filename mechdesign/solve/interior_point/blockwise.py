"""Interior point for bounds of any kind, output by output.

Every output has the same few inequalities on its own variables v_y (a column of the kernel and the
auxiliaries of its bounds, as in the linear program), and only the row sums tie outputs together::

    minimise    Σ_y ⟨c_y, v_y⟩
    subject to  Σ_y E v_y = 1,   B v_y + s_y = 0,   v_y ≥ 0,   s_y ≥ 0

so a Newton step needs, per output, one factorisation of diag(z/v) + Bᵀ diag(w/s) B, and one system
in the N prices. Dense bounds, which mixtures of many symbols give, cost no more than sparse ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import SolverError
from ...linear.compiled import compile_program
from ...linear.highs import SIMPLEX_ENTRIES
from ...linear.threads import one_thread
from ...program.duals import Candidate
from ...program.program import LinearProgram
from ..method import Method, handles_linear
from .predictor_corrector import Array, Options, centring_parameter, cholesky, follow, longest_step

#: Complementarity and residuals at which it counts as converged when rounding lets it come no
#: closer, in units of the utility range.
ACCEPTED = 3e-7
#: Multiplications per Newton step up to which it is used, and entries of one output's rows.
MOST_WORK, MOST_MEMORY = 4e10, 2e7
#: Share of bounds' entries that are not zero from which it is preferred to sparse methods.
DENSE = 0.1


@dataclass(frozen=True)
class BlockwiseOptions(Options):
    """Heuristics of the method.

    Attributes
    ----------
    refinements : rounds of iterative refinement of a direction, as long as residuals halve
    """

    tolerance: float = 1e-9
    refinements: int = 5


DEFAULTS = BlockwiseOptions()

# Of dual feasibility, of the inequalities and of the row sums.
Residuals = tuple[Array, Array, Array]


@dataclass
class _Point:
    """Variables and slacks with their multipliers, ``(M, ·)``, and the prices ``(N,)``."""

    v: Array
    s: Array
    z: Array
    w: Array
    prices: Array

    def gap(self) -> float:
        return float((self.v * self.z).sum() + (self.s * self.w).sum())

    def moved(self, step: _Point, primal: float, dual: float) -> _Point:
        return _Point(
            self.v + primal * step.v,
            self.s + primal * step.s,
            self.z + dual * step.z,
            self.w + dual * step.w,
            self.prices + dual * step.prices,
        )

    def longest(self, step: _Point) -> tuple[float, float]:
        """Primal and dual steps to the boundary."""
        primal = min((step.v / self.v).min(), (step.s / self.s).min(initial=0.0))
        dual = min((step.z / self.z).min(), (step.w / self.w).min(initial=0.0))
        return longest_step(float(primal)), longest_step(float(dual))


def _images(at: _Point, rows: Array, n: int) -> Residuals:
    """Left-hand sides of dual feasibility, of the inequalities and of the row sums."""
    dual = at.w @ rows - at.z
    dual[:, :n] += at.prices
    return dual, at.v @ rows.T + at.s, at.v[:, :n].sum(axis=0)


class _Newton:
    """The Newton systems at one point, factorised once and solved for two right-hand sides."""

    def __init__(self, rows: Array, at: _Point, options: BlockwiseOptions) -> None:
        from scipy.linalg.lapack import dpotri

        self.rows, self.at, self.n = rows, at, len(at.prices)
        self.refinements, added = options.refinements, options.regularisation
        m, size = at.v.shape
        self.inverses = np.empty((m, size, size))
        diagonal, weight = at.z / at.v, at.w / at.s
        for y in range(m):
            hessian = rows.T @ (weight[y][:, None] * rows)
            hessian.flat[:: size + 1] += diagonal[y]
            scale = 1 / np.sqrt(hessian.diagonal())
            hessian *= scale[:, None] * scale
            inverse, _ = dpotri(cholesky(hessian, added), lower=1)
            inverse = np.tril(inverse) + np.tril(inverse, -1).T
            self.inverses[y] = inverse * (scale[:, None] * scale)
        total = self.inverses[:, : self.n, : self.n].sum(axis=0)
        self.scale = 1 / np.sqrt(total.diagonal())
        self.factor = cholesky(total * (self.scale[:, None] * self.scale), added)

    def direction(self, off: Residuals, change_v: Array, change_s: Array) -> _Point:
        """The step that mends residuals and changes v∘z and s∘w by given amounts, refined."""
        at, rows = self.at, self.rows
        step, least = self._solve(off, change_v, change_s), np.inf
        for _ in range(self.refinements):
            dual, slack, sums = _images(step, rows, self.n)
            left = off[0] + dual, off[1] + slack, off[2] + sums
            size = max(np.abs(part).max(initial=0.0) for part in left)
            if not size < least / 2:
                break
            least = size
            left_v = change_v - at.z * step.v - at.v * step.z
            left_s = change_s - at.w * step.s - at.s * step.w
            step = step.moved(self._solve(left, left_v, left_s), 1.0, 1.0)
        return step

    def _solve(self, off: Residuals, change_v: Array, change_s: Array) -> _Point:
        from scipy.linalg.lapack import dpotrs

        at, rows, n, (dual, slack, sums) = self.at, self.rows, self.n, off
        right = change_v / at.v - dual - ((at.w * slack + change_s) / at.s) @ rows
        free = np.matmul(self.inverses, right[:, :, None])[:, :, 0]
        missing = free[:, :n].sum(axis=0) + sums
        prices = self.scale * dpotrs(self.factor, self.scale * missing, lower=1)[0]
        v = free - self.inverses[:, :, :n] @ prices
        w = (at.w * (v @ rows.T + slack) + change_s) / at.s
        return _Point(v, (change_s - at.s * w) / at.w, (change_v - at.z * v) / at.v, w, prices)


class _Path:
    """Predictor-corrector iterations, of which the best point is kept."""

    def __init__(self, cost: Array, rows: Array, n: int, options: BlockwiseOptions) -> None:
        m, size = cost.shape
        self.cost, self.rows, self.n, self.options = cost, rows, n, options
        # A constant kernel with slacks as they are, and prices just above every gain.
        v = np.full((m, size), 1 / m)
        s = np.maximum(-(v @ rows.T), 1e-2 / m)
        self.at = _Point(v, s, np.ones(v.shape), np.ones(s.shape), np.ones(n))
        self.best, self.least = self.at, np.inf

    def error(self) -> float:
        dual, slack, sums = _images(self.at, self.rows, self.n)
        self.off = self.cost + dual, slack, sums - 1
        # What the recomputed bound makes of this point: rounding grows in the multipliers.
        primal = max(np.abs(part).max(initial=0.0) for part in self.off[1:])
        error = self.at.gap() + self.n * float(np.abs(self.off[0]).max() + primal)
        if error < self.least:
            self.best, self.least = self.at, error
        return error

    def step(self) -> float:
        at, gap, newton = self.at, self.at.gap(), _Newton(self.rows, self.at, self.options)
        mu = gap / (at.v.size + at.s.size)
        affine = newton.direction(self.off, -at.v * at.z, -at.s * at.w)
        lengths = (min(1.0, length) for length in at.longest(affine))
        target = mu * centring_parameter(at.moved(affine, *lengths).gap(), gap)
        step = newton.direction(
            self.off,
            target - at.v * at.z - affine.v * affine.z,
            target - at.s * at.w - affine.s * affine.w,
        )
        if not np.isfinite(step.prices).all():
            raise np.linalg.LinAlgError("the prices are beyond floats")
        share = self.options.step_share
        primal, dual = (min(1.0, share * length) for length in at.longest(step))
        self.at = at.moved(step, primal, dual)
        return min(primal, dual)


class Blockwise(Method):
    """Interior point on the general program, one factorisation per output and step."""

    name = "blockwise"
    handles = handles_linear("general")
    reason = (
        "the bounds compare mixtures of many symbols: an interior-point method factorises one "
        "dense system per output, where a sparse method would fill up"
    )
    source = "Mehrotra1992"
    is_sharpened = False  # the others take far longer on dense bounds

    def __init__(self, options: BlockwiseOptions = DEFAULTS) -> None:
        self.options = options

    def condition(self, program: LinearProgram) -> str | None:
        """Applies where one output's inequalities are dense and fit in memory."""
        rows, entries = program.cone.terms, program.cone.entries
        n, m = program.shape
        if n * m <= SIMPLEX_ENTRIES:
            return "the problem is small, and the simplex method ends at a vertex"
        if entries < DENSE * rows * n:
            return "its bounds are sparse, which other methods exploit"
        if m * rows * n * n > MOST_WORK or m * n * n > MOST_MEMORY:
            return f"{rows} inequalities for each of {m} outputs are too many for dense systems"
        return None

    def solve(self, program: LinearProgram) -> Candidate:
        """Solve the program of :func:`compile_program` block by block.

        Raises :class:`SolverError` when no point near the optimum was found.
        """
        compiled = compile_program(program)
        n, m = program.shape
        rows = compiled.below[: compiled.below.shape[0] // m, : compiled.block].toarray()
        scale = np.abs(rows).max(axis=1)
        scale[scale == 0] = 1.0
        cost = -compiled.cost.reshape(m, compiled.block)
        with one_thread():
            path = _Path(cost, rows / scale[:, None], n, self.options)
            steps, _ = follow(path, self.options)
        point = path.best
        if not np.isfinite(point.v).all():
            raise SolverError(f"the blockwise method broke down on {program}; try 'clarabel'")
        kernel, duals = compiled.invert(point.v.ravel(), point.prices, (point.w / scale).ravel())
        details = {"iterations": str(steps), "converged": str(path.least < ACCEPTED)}
        return Candidate(kernel, duals, "blockwise interior point", details)
