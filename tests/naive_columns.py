"""Sub-convex optima the slow way: every extreme posterior by brute force, one dense program."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog


def information(lifts, p):
    t = np.asarray(lifts)
    return float(sum(pi * ti * np.log(ti) for pi, ti in zip(p, t, strict=True) if ti > 0))


def variation(lifts, p):
    return float(np.abs(np.asarray(lifts) - 1) @ p / 2)


def chi_square(lifts, p):
    return float(np.square(np.asarray(lifts) - 1) @ p)


CURVES = {"MutualInformation": information, "TotalVariation": variation, "ChiSquare": chi_square}


def box_vertices(p, low, high):
    """Lifts in [low, high] of mean one, all but one at a bound."""
    n, found = len(p), [np.ones(len(p))]
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for size in range(n):
            for raised in combinations(others, size):
                t = np.full(n, low, dtype=float)
                t[list(raised)] = high
                rest = 1 - sum(p[i] * t[i] for i in others)
                t[j] = rest / p[j]
                if low - 1e-12 <= t[j] <= high + 1e-12:
                    found.append(np.clip(t, low, high))
    return np.array(found)


def stairs(p, ratio):
    """Lifts of every column with two values, one ``ratio`` times the other."""
    n, found = len(p), [np.ones(len(p))]
    for size in range(1, n):
        for raised in combinations(range(n), size):
            k = np.ones(n)
            k[list(raised)] = ratio
            found.append(k / (p @ k))
    return np.array(found)


def best_value(p, curve, vertices):
    """max Σ q F(t) over mixtures with mean one."""
    worth = np.array([curve(t, p) for t in vertices])
    scale = max(worth.max(), 1e-300)
    rows = np.vstack([vertices.T, np.ones(len(vertices))])
    solved = linprog(
        -worth / scale,
        A_eq=rows,
        b_eq=np.ones(len(rows)),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solved.status == 0
    return -solved.fun * scale


def vertices_of(p, kind, epsilons):
    e = np.exp(np.array(epsilons, dtype=float))
    if kind == "LDP":
        return stairs(p, e[0])
    low, high = {
        "PML": (0.0, e[0]),
        "PMC": (1 / e[0], 1 / p.min()),
        "LIP": (1 / e[0], e[0]),
        "ALIP": (1 / e[0], e[-1]),
    }[kind]
    return box_vertices(p, low, high)
