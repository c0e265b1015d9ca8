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

from ..certificate.shape import outer_factor
from ..exact import log_bounds
from ..privacy.constraint import Distribution, Group
from ..solve.backends.highs import Model
from .exact_cone import ExactCone

Column = list[Fraction]

_STEPS_PER_ROW = 20
_STEPS_OF_IPM = 200

Multipliers = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


@dataclass(frozen=True)
class _Answer:
    """Multipliers and column of one program; ``column`` is None when there is no optimum."""

    multipliers: Multipliers
    column: NDArray[np.float64] | None


@dataclass
class ConeProgram:
    """The programs of one cone, on HiGHS; one model for each ν."""

    cone: ExactCone
    name = "linear program"
    _models: dict[object, Any] = field(default_factory=dict)
    _gauges: dict[object, Fraction | None] = field(default_factory=dict)

    def level(self, mu: Distribution, nu: Distribution) -> Fraction | None:
        """A proved upper bound on sup log μᵀk/νᵀk; ``None`` when infinite (or not proved)."""
        if mu.key == nu.key:
            return Fraction(0)
        target = self._dense(mu)
        answer = self._solve(target, nu)
        if answer.column is None:
            return None
        ratio = self._prove(target, nu, answer.multipliers)
        return None if ratio is None else max(Fraction(0), log_bounds(ratio)[1])

    def column(self, mu: Distribution, nu: Distribution) -> Column:
        """A column in the cone, up to the solver's rounding, that attains the supremum."""
        answer = self._solve(self._dense(mu), nu)
        if answer.column is None:
            return self._ray(mu, nu)
        return [Fraction(float(v)) for v in np.maximum(answer.column, 0.0)]

    def _ray(self, mu: Distribution, nu: Distribution) -> Column:
        """A column with νᵀk = 0 < μᵀk, from levels a little smaller so that rounding is harmless.

        The constant column stands in when there is none.
        """
        answer = self._run(self._dense(mu), np.ones(self.cone.size), nu.support, 1 - 1e-6)
        if answer.column is None or not (answer.column * self._floats(mu)).sum() > 0:
            return [Fraction(1)] * self.cone.size
        column = np.where(answer.column > 1e-12, answer.column, 0.0)
        column[list(nu.support)] = 0.0
        return [Fraction(float(v)) for v in column]

    def _dense(self, hypothesis: Distribution) -> Column:
        row = [Fraction(0)] * self.cone.size
        for x, m in zip(hypothesis.support, hypothesis.masses, strict=True):
            row[x] = m
        return row

    def _floats(self, hypothesis: Distribution) -> NDArray[np.float64]:
        return np.array([float(v) for v in self._dense(hypothesis)])

    def _solve(self, target: Column, nu: Distribution) -> _Answer:
        return self._run([*target], self._floats(nu), (), 1.0)

    def _run(
        self, target: Column, norm: NDArray[np.float64], zeros: tuple[int, ...], share: float
    ) -> _Answer:
        """Maximise target·k with norm·k = 1 and k zero where asked, levels scaled by ``share``."""
        key = (norm.tobytes(), zeros, share)
        if key not in self._models:
            self._models[key] = self._model(norm, zeros, share)
        model, columns = self._models[key]
        cost = np.zeros(columns)
        cost[: len(target)] = [float(v) for v in target]
        model.set_cost(cost)
        for solver in ("simplex", "ipm"):
            found = model.run(solver)
            if found.point is not None and found.duals is not None:
                return _Answer(self._split(found.duals[1:], share), found.point[: self.cone.size])
            if found.is_unbounded:
                break
        # Numbers too extreme for the solver: no answer, so no bound.
        return _Answer([], None)

    def _model(
        self, norm: NDArray[np.float64], zeros: tuple[int, ...], share: float
    ) -> tuple[Model, int]:
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
        most = np.full(matrix.shape[1], np.inf)
        most[list(zeros)] = 0.0
        lower = np.full(matrix.shape[0], -np.inf)
        upper = np.zeros(matrix.shape[0])
        lower[0] = upper[0] = 1.0
        # Numbers too extreme for floats can make a solver go round in circles.
        limit = _STEPS_PER_ROW * sum(matrix.shape) + 1000
        model = Model(simplex_iteration_limit=limit, ipm_iteration_limit=_STEPS_OF_IPM)
        model.load(np.zeros(matrix.shape[1]), matrix, lower, upper, most=most)
        return model, matrix.shape[1]

    def _rows(self, hypotheses: tuple[Distribution, ...], auxiliaries: int) -> Any:
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

    def _prove(self, target: Column, nu: Distribution, multipliers: Multipliers) -> Fraction | None:
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

    def _gauge(self, nu: Distribution) -> Fraction | None:
        """A number R with Σ_x k_x ≤ R νᵀk on the cone, ``None`` when there is none."""
        if nu.key not in self._gauges:
            self._gauges[nu.key] = self._find_gauge(nu)
        return self._gauges[nu.key]

    def _find_gauge(self, nu: Distribution) -> Fraction | None:
        if len(nu.support) == self.cone.size:
            return 1 / min(nu.masses)
        ones = [Fraction(1)] * self.cone.size
        answer = self._solve(ones, nu)
        if answer.column is None:
            return None
        # With c ≤ rν + e: Σk ≤ c·k ≤ r νᵀk + e Σk.
        ratio, excess = _cover(self._combine(ones, answer.multipliers), nu)
        return ratio / (1 - excess) if excess < 1 else None


def _cover(combined: Column, nu: Distribution) -> tuple[Fraction, Fraction]:
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
