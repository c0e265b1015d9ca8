"""Suprema of likelihood ratios over any cone of the family, by linear programs.

::

    maximise μᵀk   subject to   νᵀk = 1,   k in the cone,   k ≥ 0

The solver is not believed. Its multipliers, whatever they are, combine the demands of the cone into
μ_x ≤ c_x with cᵀk ≥ μᵀk on the cone; in rationals the smallest r with c ≤ rν is then a bound. Where
rounding leaves c_x > rν_x by a trace e_x, a second program bounds the sum of all entries by R νᵀk,
and r + max e · R is the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import log_bounds
from .columns import Cone, Group, Hypothesis, outer_factor

Column = list[Fraction]

_STEPS_PER_ROW = 20
_STEPS_OF_IPM = 200

_UNBOUNDED = ("Unbounded", "Primal infeasible or unbounded", "Infeasible")
Multipliers = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


@dataclass(frozen=True)
class _Answer:
    """Multipliers and column of one program; ``column`` is None when there is no optimum."""

    multipliers: Multipliers
    column: NDArray[np.float64] | None


@dataclass
class ConeProgram:
    """The programs of one cone, on HiGHS; one model for each ν."""

    cone: Cone
    name = "linear program"
    _models: dict[object, Any] = field(default_factory=dict)
    _gauges: dict[object, Fraction | None] = field(default_factory=dict)

    def level(self, mu: Hypothesis, nu: Hypothesis) -> Fraction | None:
        """A proved upper bound on sup log μᵀk/νᵀk; ``None`` when infinite (or not proved)."""
        if mu.key == nu.key:
            return Fraction(0)
        target = self._dense(mu)
        answer = self._solve(target, nu)
        if answer.column is None:
            return None
        ratio = self._prove(target, nu, answer.multipliers)
        return None if ratio is None else max(Fraction(0), log_bounds(ratio)[1])

    def column(self, mu: Hypothesis, nu: Hypothesis) -> Column:
        """A column in the cone, up to the solver's rounding, that attains the supremum."""
        answer = self._solve(self._dense(mu), nu)
        if answer.column is None:
            return self._ray(mu, nu)
        return [Fraction(float(v)) for v in np.maximum(answer.column, 0.0)]

    def _ray(self, mu: Hypothesis, nu: Hypothesis) -> Column:
        """A column with νᵀk = 0 < μᵀk, from levels a little smaller so that rounding is harmless.

        The constant column stands in when there is none.
        """
        answer = self._run(self._dense(mu), np.ones(self.cone.size), nu.support, 1 - 1e-6)
        if answer.column is None or not (answer.column * self._floats(mu)).sum() > 0:
            return [Fraction(1)] * self.cone.size
        column = np.where(answer.column > 1e-12, answer.column, 0.0)
        column[list(nu.support)] = 0.0
        return [Fraction(float(v)) for v in column]

    def _dense(self, hypothesis: Hypothesis) -> Column:
        row = [Fraction(0)] * self.cone.size
        for x, m in zip(hypothesis.support, hypothesis.masses, strict=True):
            row[x] = m
        return row

    def _floats(self, hypothesis: Hypothesis) -> NDArray[np.float64]:
        return np.array([float(v) for v in self._dense(hypothesis)])

    def _solve(self, target: Column, nu: Hypothesis) -> _Answer:
        return self._run([*target], self._floats(nu), (), 1.0)

    def _run(
        self, target: Column, norm: NDArray[np.float64], zeros: tuple[int, ...], share: float
    ) -> _Answer:
        """Maximise target·k with norm·k = 1 and k zero where asked, levels scaled by ``share``."""
        import highspy

        key = (norm.tobytes(), zeros, share)
        if key not in self._models:
            self._models[key] = self._model(norm, zeros, share)
        highs, columns = self._models[key]
        cost = np.zeros(columns)
        cost[: len(target)] = [float(v) for v in target]
        highs.changeColsCost(columns, np.arange(columns, dtype=np.int32), cost)
        for solver in ("simplex", "ipm"):
            highs.setOptionValue("solver", solver)
            highs.run()
            status = highs.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                solution = highs.getSolution()
                duals = np.array(solution.row_dual)[1:]
                point = np.array(solution.col_value)[: self.cone.size]
                return _Answer(self._split(duals, share), point)
            if highs.modelStatusToString(status) in _UNBOUNDED:
                break
        # Numbers too extreme for the solver: no answer, so no bound.
        return _Answer([], None)

    def _model(
        self, norm: NDArray[np.float64], zeros: tuple[int, ...], share: float
    ) -> tuple[Any, int]:
        import highspy
        from scipy import sparse

        n = self.cone.size
        auxiliaries = sum(not _single(g) for g in self.cone.demands)
        blocks = [sparse.csr_array(np.concatenate([norm, np.zeros(auxiliaries)])[None, :])]
        place = n
        for group in self.cone.demands:
            half = math.exp(-min(float(group.level) * share, 1200.0) / 2)
            over, under = self._rows(group.over, auxiliaries), self._rows(group.under, auxiliaries)
            if _single(group):
                blocks.append(over * half - under / half if half > 1e-150 else -under)
                continue
            top = sparse.csr_array(_unit(len(group.over), n + auxiliaries, place, -1.0))
            low = sparse.csr_array(_unit(len(group.under), n + auxiliaries, place, half))
            blocks += [over * half + top, low - under]
            place += 1
        matrix = sparse.vstack(blocks).tocsc()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.sense_ = highspy.ObjSense.kMaximize
        model.col_cost_ = np.zeros(matrix.shape[1])
        model.col_lower_ = np.zeros(matrix.shape[1])
        most = np.full(matrix.shape[1], highspy.kHighsInf)
        most[list(zeros)] = 0.0
        model.col_upper_ = most
        lower = np.full(matrix.shape[0], -highspy.kHighsInf)
        upper = np.zeros(matrix.shape[0])
        lower[0] = upper[0] = 1.0
        model.row_lower_, model.row_upper_ = lower, upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        model.a_matrix_.index_ = matrix.indices.astype(np.int32)
        model.a_matrix_.value_ = matrix.data
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("small_matrix_value", 1e-12)
        # Numbers too extreme for floats can make a solver go round in circles.
        limit = _STEPS_PER_ROW * sum(matrix.shape) + 1000
        highs.setOptionValue("simplex_iteration_limit", limit)
        highs.setOptionValue("ipm_iteration_limit", _STEPS_OF_IPM)
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(option, 1e-10)
        highs.passModel(model)
        return highs, matrix.shape[1]

    def _rows(self, hypotheses: tuple[Hypothesis, ...], auxiliaries: int) -> Any:
        from scipy import sparse

        rows = [i for i, h in enumerate(hypotheses) for _ in h.support]
        columns = [x for h in hypotheses for x in h.support]
        values = [float(m) for h in hypotheses for m in h.masses]
        shape = (len(hypotheses), self.cone.size + auxiliaries)
        return sparse.csr_array((values, (rows, columns)), shape=shape)

    def _split(self, duals: NDArray[np.float64], share: float) -> Multipliers:
        """Multipliers of the μ and of the ν of each group, only their proportions matter for ν."""
        duals = np.where(np.isfinite(duals), np.maximum(duals, 0.0), 0.0)
        found: Multipliers = []
        start = 0
        for group in self.cone.demands:
            half = math.exp(-min(float(group.level) * share, 1200.0) / 2)
            if _single(group):
                found.append((duals[start : start + 1] * half, np.ones(1)))
                start += 1
                continue
            a, b = len(group.over), len(group.under)
            found.append((duals[start : start + a] * half, duals[start + a : start + a + b]))
            start += a + b
        return found

    def _prove(self, target: Column, nu: Hypothesis, multipliers: Multipliers) -> Fraction | None:
        """A rational r with target·k ≤ r νᵀk on the cone, ``None`` when the numbers give none."""
        combined = self._combine(target, multipliers)
        ratio, excess = _cover(combined, nu)
        if excess == 0:
            return ratio
        gauge = self._gauge(nu)
        return None if gauge is None else ratio + excess * gauge

    def _combine(self, target: Column, multipliers: Multipliers) -> Column:
        """A row c with target·k ≤ c·k on the cone: the demands added with their multipliers."""
        combined = [*target]
        for group, (over, under) in zip(self.cone.demands, multipliers, strict=True):
            before, total = [*combined], Fraction(0)
            for mu, weight in zip(group.over, over, strict=True):
                if weight:
                    share = Fraction(float(weight))
                    total += share
                    for x, m in zip(mu.support, mu.masses, strict=True):
                        combined[x] -= share * m
            above = outer_factor(group.level)
            if not total or above is None:
                combined = before
                continue
            parts = [Fraction(float(v)) for v in under]
            whole = sum(parts, Fraction(0))
            if not whole:
                parts, whole = [Fraction(1)] * len(parts), Fraction(len(parts))
            scale = total * above / whole
            for nu, part in zip(group.under, parts, strict=True):
                if part:
                    for x, m in zip(nu.support, nu.masses, strict=True):
                        combined[x] += scale * part * m
        return combined

    def _gauge(self, nu: Hypothesis) -> Fraction | None:
        """A number R with Σ_x k_x ≤ R νᵀk on the cone, ``None`` when there is none."""
        if nu.key not in self._gauges:
            self._gauges[nu.key] = self._find_gauge(nu)
        return self._gauges[nu.key]

    def _find_gauge(self, nu: Hypothesis) -> Fraction | None:
        if len(nu.support) == self.cone.size:
            return 1 / min(nu.masses)
        ones = [Fraction(1)] * self.cone.size
        answer = self._solve(ones, nu)
        if answer.column is None:
            return None
        # With c ≤ rν + e: Σk ≤ c·k ≤ r νᵀk + e Σk.
        ratio, excess = _cover(self._combine(ones, answer.multipliers), nu)
        return ratio / (1 - excess) if excess < 1 else None


def _cover(combined: Column, nu: Hypothesis) -> tuple[Fraction, Fraction]:
    """The smallest r that covers c on the symbols of ν, and the largest entry of c elsewhere."""
    inside = dict(zip(nu.support, nu.masses, strict=True))
    ratio = max(max(combined[x] / m for x, m in inside.items()), Fraction(0))
    excess = max((c for x, c in enumerate(combined) if x not in inside), default=Fraction(0))
    return ratio, max(excess, Fraction(0))


def _single(group: Group) -> bool:
    return len(group.over) == 1 and len(group.under) == 1


def _unit(rows: int, columns: int, column: int, value: float) -> Any:
    from scipy import sparse

    return sparse.csr_array(
        (np.full(rows, value), (np.arange(rows), np.full(rows, column))), shape=(rows, columns)
    )
