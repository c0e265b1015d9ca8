"""Risks of estimates the slow way: exact inverses by elimination, and dense convex programs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from naive_columns import box_vertices, vertices_of
from scipy.spatial import ConvexHull


def exact_risk(weights, truth, questions):
    """Σ_f fᵀJ⁻¹f − (fᵀπ)² for rows of integer weights and rational masses; J must be regular."""
    n = len(weights)
    total = sum(weights[0])
    columns = [
        [Fraction(int(w), int(total)) for w in column] for column in zip(*weights, strict=True)
    ]
    information = [[Fraction(0)] * n for _ in range(n)]
    for k in columns:
        q = sum(a * b for a, b in zip(truth, k, strict=True))
        for x in range(n):
            for z in range(n):
                information[x][z] += k[x] * k[z] / q if q else 0
    found = Fraction(0)
    for f in questions:
        solved = solve(information, list(map(Fraction, f)))
        found += sum(a * b for a, b in zip(f, solved, strict=True))
        found -= sum(a * b for a, b in zip(f, truth, strict=True)) ** 2
    return found


def solve(matrix, right):
    """Gaussian elimination in rationals."""
    n = len(matrix)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = next(r for r in range(i, n) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(n):
            if r != i and rows[r][i]:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[n] for row in rows]


def float_risk(kernel, truth, loss):
    """tr(A J⁺) − πᵀAπ in floats, whatever can be told."""
    used = kernel[:, kernel.any(axis=0)]
    information = used / (truth @ used) @ used.T
    return float(np.trace(loss @ np.linalg.pinv(information)) - truth @ loss @ truth)


def cut_columns(p, kind, epsilons, rows):
    """Columns r with pᵀr = 1 of a cone cut by aᵀr ≤ 0 for each row a, all extreme ones among them.

    A cut of a polytope has its vertices that are left, and others between two on either side.
    """
    columns = vertices_of(p, kind, epsilons)
    for row in rows:
        value = columns @ row
        inside, outside = columns[value <= 1e-12], columns[value > 1e-12]
        a, b = value[value <= 1e-12][:, None], value[value > 1e-12][None]
        share = (b / (b - a))[..., None]
        between = share * inside[:, None] + (1 - share) * outside[None]
        columns = np.unique(np.round(np.vstack([inside, between.reshape(-1, len(p))]), 13), axis=0)
        if len(columns) > 400:
            # Joggled, as many facets meet in a vertex: few points too many stay.
            columns = columns[ConvexHull(columns[:, 1:], qhull_options="QJ").vertices]
    return columns


def faces_of(p, most, pairs):
    """Columns r with pᵀr = 1 and r ≤ most, zero at one symbol of each pair: extreme ones of every
    face on which some symbols that are no pair may be there, the others not.
    """
    n, found = len(p), []
    for bits in range(1, 1 << n):
        some = [x for x in range(n) if bits >> x & 1]
        if any(x in some and z in some for x, z in pairs):
            continue
        for part in box_vertices(p[some], 0.0, most)[1:]:  # the first is the constant column
            column = np.zeros(n)
            column[some] = part
            found.append(column)
    return np.unique(np.round(np.array(found).reshape(-1, n), 13), axis=0)


def naive_minimax(p, kind, epsilons, truths, root, rows=()):
    """Least of the largest risk over a list of truths, over all mixtures of extreme columns."""
    return best_minimax(cut_columns(p, kind, epsilons, rows), truths, root)[0]


def best_minimax(columns, truths, root):
    """The same over some columns, with the mass of each in the best mixture."""
    import cvxpy as cp

    masses = cp.Variable(len(columns), nonneg=True)
    risks = []
    for truth in truths:
        shares = columns @ truth
        spread = columns / shares[:, None] - 1
        kept = np.delete(np.arange(len(truth)), int(np.argmax(truth)))
        centred = root - np.outer(np.ones(len(truth)), truth @ root)
        points = (np.sqrt(shares)[:, None] * spread)[:, kept]
        matrix = sum(masses[i] * np.outer(g, g) for i, g in enumerate(points))
        risks.append(cp.matrix_frac(centred[kept], matrix))
    problem = cp.Problem(cp.Minimize(cp.maximum(*risks, 0)), [columns.T @ masses == 1])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value), masses.value


def naive_optimum(p, kind, epsilons, truth, root, rows=()):
    """Least tr(RRᵀJ⁻¹) over all mixtures of extreme columns, by cvxpy; A = RRᵀ."""
    return best_mixture(cut_columns(p, kind, epsilons, rows), truth, root)


def best_mixture(columns, truth, root):
    """The same over some columns; infinite where no mixture of them is a kernel."""
    import cvxpy as cp

    p = truth
    shares = columns @ truth
    # In units in which what columns tell is of one size.
    spread = columns / shares[:, None] - 1
    size = np.sqrt((spread**2).mean())
    kept = np.delete(np.arange(len(p)), int(np.argmax(truth)))
    centred = root - np.outer(np.ones(len(p)), truth @ root)
    masses = cp.Variable(len(columns), nonneg=True)
    points = (np.sqrt(shares)[:, None] * spread / size)[:, kept]
    matrix = sum(masses[i] * np.outer(g, g) for i, g in enumerate(points))
    unit = np.abs(centred).max()
    goal = cp.matrix_frac(centred[kept] / unit, matrix)
    problem = cp.Problem(cp.Minimize(goal), [columns.T @ masses == 1])
    problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    if problem.status in ("infeasible", "infeasible_inaccurate"):
        return np.inf
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value) * unit**2 / size**2
