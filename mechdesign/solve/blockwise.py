"""Interior point for bounds of any kind, output by output.

Every output has the same few inequalities on its own variables v_y (a column of the kernel and the
auxiliaries of its bounds, see :mod:`.linear_program`), and only the row sums tie outputs together::

    minimise    Σ_y ⟨c_y, v_y⟩
    subject to  Σ_y E v_y = 1,   B v_y + s_y = 0,   v_y ≥ 0,   s_y ≥ 0

so a Newton step needs, per output, one factorisation of diag(z/v) + Bᵀ diag(w/s) B, and one system
in the N prices. Dense bounds, which mixtures of many symbols give, cost no more than sparse ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from .backends.highs import SIMPLEX_ENTRIES
from .interior_point import one_thread
from .linear_program import compile_program
from .method import Candidate, Method, handles_linear
from .program import LinearProgram

Array = NDArray[np.float64]

#: Complementarity and residuals, in units of the utility range, at which the method stops, and at
#: which it counts as converged when rounding lets it come no closer.
TOLERANCE, ACCEPTED = 1e-9, 3e-7
#: Multiplications per Newton step up to which it is used, and entries of one output's rows.
MOST_WORK, MOST_MEMORY = 4e10, 2e7
#: Share of bounds' entries that are not zero from which it is preferred to sparse methods.
DENSE = 0.1
_MOST_STEPS, _SHORT, _REFINED, _WORSE = 100, 1e-6, 5, 3


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


class _Newton:
    """The Newton systems at one point, factorised once and solved for two right-hand sides."""

    def __init__(self, cost: Array, rows: Array, n: int, at: _Point) -> None:
        from scipy.linalg.lapack import dpotrf, dpotri

        self.cost, self.rows, self.n, self.at = cost, rows, n, at
        m, size = at.v.shape
        self.inverses = np.empty((m, size, size))
        diagonal, weight = at.z / at.v, at.w / at.s
        for y in range(m):
            hessian = rows.T @ (weight[y][:, None] * rows)
            hessian.flat[:: size + 1] += diagonal[y]
            scale = 1 / np.sqrt(hessian.diagonal())
            hessian *= scale[:, None] * scale
            ridge = 0.0
            while True:
                factor, failed = dpotrf(hessian + ridge * np.eye(size), lower=1)
                if not failed:
                    break
                ridge = max(ridge * 100, 1e-15)
            inverse, _ = dpotri(factor, lower=1)
            inverse = np.tril(inverse) + np.tril(inverse, -1).T
            self.inverses[y] = inverse * (scale[:, None] * scale)
        total = self.inverses[:, :n, :n].sum(axis=0)
        self.scale = 1 / np.sqrt(total.diagonal())
        self.total = total * (self.scale[:, None] * self.scale)
        self.residual_dual = cost + at.w @ rows - at.z
        self.residual_dual[:, :n] += at.prices
        self.residual_rows = at.v @ rows.T + at.s
        self.residual_sums = at.v[:, :n].sum(axis=0) - 1

    def step(self, near_v: Array, near_s: Array) -> _Point:
        """The step at which v∘z and s∘w change by the given amounts, refined."""
        at, rows, n = self.at, self.rows, self.n
        wanted = self.residual_dual, self.residual_rows, self.residual_sums, near_v, near_s
        step = self._solved(*wanted)
        left = np.inf
        for _ in range(_REFINED):
            dual = wanted[0] + step.w @ rows - step.z
            dual[:, :n] += step.prices
            slack = wanted[1] + step.v @ rows.T + step.s
            sums = wanted[2] + step.v[:, :n].sum(axis=0)
            now = float(max(np.abs(dual).max(), np.abs(slack).max(), np.abs(sums).max()))
            if not now < left / 2:
                break
            left = now
            more = self._solved(
                dual,
                slack,
                sums,
                near_v - at.z * step.v - at.v * step.z,
                near_s - at.w * step.s - at.s * step.w,
            )
            step = step.moved(more, 1.0, 1.0)
        return step

    def _solved(
        self, dual: Array, slack: Array, sums: Array, near_v: Array, near_s: Array
    ) -> _Point:
        at, rows, n = self.at, self.rows, self.n
        pulled = (at.w * slack + near_s) / at.s
        right = near_v / at.v - dual - pulled @ rows
        free = np.matmul(self.inverses, right[:, :, None])[:, :, 0]
        missing = free[:, :n].sum(axis=0) + sums
        prices = self.scale * np.linalg.lstsq(self.total, self.scale * missing, rcond=1e-16)[0]
        v = free - self.inverses[:, :, :n] @ prices
        w = (at.w * (v @ rows.T + slack) + near_s) / at.s
        return _Point(v, (near_s - at.s * w) / at.w, (near_v - at.z * v) / at.v, w, prices)


def _length(values: Array, step: Array) -> float:
    falling = step < 0
    return float(min(1.0, np.min(-values[falling] / step[falling], initial=np.inf)))


def _start(cost: Array, rows: Array, n: int) -> _Point:
    """A constant kernel with slacks as they are, and prices just above every worth."""
    m, size = cost.shape
    v = np.full((m, size), 1 / m)
    s = np.maximum(-(v @ rows.T), 1e-2 / m)
    return _Point(v, s, np.ones((m, size)), np.full((m, len(rows)), 1.0), np.ones(n))


def interior_point(cost: Array, rows: Array, n: int) -> tuple[_Point, int, bool]:
    """Mehrotra's predictor and corrector; the last point, steps taken, and whether it converged."""
    at, count = _start(cost, rows, n), 0
    best, least, worse = at, np.inf, 0
    terms = at.v.size + at.s.size
    for count in range(1, _MOST_STEPS + 1):
        newton = _Newton(cost, rows, n, at)
        gap = at.gap()
        # What the recomputed bound will make of this point: rounding grows in the multipliers.
        off = gap + n * float(np.abs(newton.residual_dual).max())
        off += n * float(
            max(np.abs(newton.residual_sums).max(), np.abs(newton.residual_rows).max())
        )
        worse = 0 if off < least else worse + 1
        if off < least:
            best, least = at, off
        if off < TOLERANCE or worse == _WORSE:
            return best, count, least < ACCEPTED
        mu = gap / terms
        guess = newton.step(-at.v * at.z, -at.s * at.w)
        primal = min(_length(at.v, guess.v), _length(at.s, guess.s))
        dual = min(_length(at.z, guess.z), _length(at.w, guess.w))
        centre = (at.moved(guess, primal, dual).gap() / terms / mu) ** 3 * mu
        step = newton.step(
            centre - at.v * at.z - guess.v * guess.z, centre - at.s * at.w - guess.s * guess.w
        )
        primal = min(_length(at.v, step.v), _length(at.s, step.s))
        dual = min(_length(at.z, step.z), _length(at.w, step.w))
        if max(primal, dual) < _SHORT or not np.isfinite(step.prices).all():
            break
        keep = max(0.9, 1 - mu) if mu < 1 else 0.9
        keep = min(keep, 1 - 1e-4)
        at = at.moved(step, min(1.0, keep * primal), min(1.0, keep * dual))
    return best, count, least < ACCEPTED


class Blockwise(Method):
    """Interior point on the general program, one factorisation per output and step."""

    name = "blockwise"
    handles = handles_linear()
    reason = (
        "the bounds compare mixtures of many symbols: an interior-point method factorises one "
        "dense system per output, where a sparse method would fill up"
    )
    source = "Mehrotra1992"
    is_sharpened = False  # the others take far longer on dense bounds

    def condition(self, problem: LinearProgram) -> str | None:
        """Applies where one output's inequalities are dense and fit in memory."""
        if problem.sides is not None:
            return "the bounds form one two-sided cone, which the structured method exploits"
        rows, entries = problem.cone.terms, problem.cone.entries
        n, m = problem.shape
        if n * m <= SIMPLEX_ENTRIES:
            return "the problem is small, and the simplex method ends at a vertex"
        if entries < DENSE * rows * n:
            return "its bounds are sparse, which other methods exploit"
        if m * rows * n * n > MOST_WORK or m * n * n > MOST_MEMORY:
            return f"{rows} inequalities for each of {m} outputs are too many for dense systems"
        return None

    def solve(self, problem: LinearProgram) -> Candidate:
        """Solve the program of :func:`compile_program` block by block.

        Raises :class:`SolverError` when no point near the optimum was found.
        """
        program = compile_program(problem)
        n, m = problem.shape
        rows = program.below[: program.below.shape[0] // m, : program.block].toarray()
        scale = np.abs(rows).max(axis=1)
        scale[scale == 0] = 1.0
        cost = -program.cost.reshape(m, program.block)
        with one_thread():
            point, steps, converged = interior_point(cost, rows / scale[:, None], n)
        if not np.isfinite(point.v).all():
            raise SolverError(f"the blockwise method broke down on {problem}; try 'clarabel'")
        kernel, duals = program.invert(point.v.ravel(), point.prices, (point.w / scale).ravel())
        facts = {"iterations": str(steps), "converged": str(converged)}
        return Candidate(kernel, duals, "blockwise interior point", facts)
