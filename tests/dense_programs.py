"""Designs under requirements as dense programs in cvxpy, every pair and every row written out.

Notions come as pairs of hypotheses or as definitions of sums over outcomes, requirements as plain
rows; nothing here imports the package.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
from plain_check import Asked, Row, guesses, pairs_of, point, secret_pairs
from plain_requirements import PlainRow


def _floats(row: Row) -> Any:
    return np.array([float(v) for v in row])


def _peak(K: Any, asked: Asked, p: Row) -> list[Any]:
    kept = [x for x in range(len(p)) if p[x]]
    return [cp.sum(cp.max(K[kept, :], axis=0)) <= math.exp(asked.levels[0])]


def _trough(K: Any, asked: Asked, p: Row) -> list[Any]:
    kept = [x for x in range(len(p)) if p[x]]
    return [cp.sum(cp.min(K[kept, :], axis=0)) >= math.exp(-asked.levels[0])]


def _guess(K: Any, asked: Asked, p: Row) -> list[Any]:
    costs = np.array([_floats(row) for row in guesses(asked, p)])
    return [cp.sum(cp.min(costs @ K, axis=0)) >= math.exp(-asked.levels[0])]


def _told(K: Any, level: float, both: dict[Any, Row], public: dict[Any, Row]) -> Any:
    terms = []
    for (_, c), row in both.items():
        share = float(sum(row) / sum(public[c]))
        terms.append(cp.sum(cp.rel_entr(_floats(row) @ K, share * (_floats(public[c]) @ K))))
    return cp.sum(cp.hstack(terms)) <= level


def _information(K: Any, asked: Asked, p: Row) -> list[Any]:
    both = {(x, 0): [m if i == x else 0 * m for i in range(len(p))] for x, m in enumerate(p) if m}
    return [_told(K, asked.levels[0], both, {0: p})]


def _informations(K: Any, asked: Asked, p: Row) -> list[Any]:
    found = []
    for theta in asked.more["thetas"] or [p]:
        for table in asked.more["tables"]:
            both: dict[Any, Row] = {}
            public: dict[Any, Row] = {}
            for x, (a, c) in enumerate(table):
                if theta[x]:
                    both.setdefault((a, c), [0 * theta[x]] * len(p))[x] += theta[x]
                    public.setdefault(c, [0 * theta[x]] * len(p))[x] += theta[x]
            found.append(_told(K, asked.levels[0], both, public))
    return found


def _excess(K: Any, asked: Asked, pairs: Any) -> list[Any]:
    factor, delta = math.exp(asked.levels[0]), asked.more["delta"]
    return [
        cp.sum(cp.pos((_floats(over) - factor * _floats(under)) @ K)) <= delta
        for over, under in pairs
    ]


def _point_pairs(n: int) -> list[tuple[Row, Row]]:
    return [(point(n, a), point(n, b)) for a in range(n) for b in range(n) if a != b]


SUMS: dict[str, Any] = {
    "MaximalLeakage": _peak,
    "MaximalCostLeakage": _trough,
    "InferenceCost": _guess,
    "MIPrivacy": _information,
    "MIPufferfish": _informations,
    "ApproximateLDP": lambda K, asked, p: _excess(K, asked, _point_pairs(len(p))),
    "ApproximatePufferfish": lambda K, asked, p: _excess(K, asked, secret_pairs(asked, p)),
}
CONIC = {"MIPrivacy", "MIPufferfish"}


def constraints_on(K: Any, p: Row, asked: Any, rows: Any) -> list[Any]:
    """That K is a kernel with what is asked."""
    found = [cp.sum(K, axis=1) == 1]
    for notion in asked:
        pairs = pairs_of(notion, p)
        if pairs is None:
            found += SUMS[notion.name](K, notion, p)
            continue
        both = [math.exp(-level) * _floats(over) - _floats(under) for over, under, level in pairs]
        if both:
            found.append(np.unique(np.array(both), axis=0) @ K <= 0)
    for row in rows:
        table = np.zeros(K.shape)
        for (x, y), a in row.entries.items():
            table[x, y] = float(a)
        scale = np.abs(table).max() or 1.0
        value = cp.sum(cp.multiply(table / scale, K))
        if row.is_equation:
            found.append(value == float(row.low + row.high) / 2 / scale)
            continue
        if row.low is not None:
            found.append(value >= float(row.low) / scale)
        if row.high is not None:
            found.append(value <= float(row.high) / scale)
    return found


def largest(objective: Any, constraints: list[Any], *, is_conic: bool = False) -> float | None:
    """``None`` where nothing satisfies the constraints, or the solver finds nothing."""
    program = cp.Problem(cp.Maximize(objective), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_conic:
            tolerances = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
            program.solve(solver=cp.CLARABEL, max_iter=500, **tolerances)
        else:
            program.solve(
                solver=cp.HIGHS,
                primal_feasibility_tolerance=1e-10,
                dual_feasibility_tolerance=1e-10,
            )
    found = program.status in ("optimal", "optimal_inaccurate")
    return float(program.value) if found else None


def optimum(
    masses: tuple[Any, ...], gains: Any, asked: tuple[Asked, ...], rows: list[PlainRow]
) -> float | None:
    """The best value; ``None`` where there is no kernel, or the solver finds none."""
    p = list(masses)
    K = cp.Variable((len(p), np.shape(gains)[1]), nonneg=True)
    value = cp.sum(cp.multiply(_floats(p)[:, None] * np.asarray(gains), K))
    is_conic = any(notion.name in CONIC for notion in asked)
    return largest(value, constraints_on(K, p, asked, rows), is_conic=is_conic)
